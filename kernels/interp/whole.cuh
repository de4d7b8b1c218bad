// Twin: src/codec/interp/body/decode.rs
// Stream → array, whole tiles of 32 x 32 x 16 floats with bins, of an array alone, in two kernels. `decode`: a warp finds,
// checks and decodes a tile, whose codes come to stand where its elements will. `restore`: a block makes elements of
// them (march.cuh). All other tiles come on a list, which decompress.cuh takes behind both.
//
// A block of `decode` shares the tables of tokens, and for each warp the slots of its tile's own table and a ring, as
// long as the host says, and besides
//
//   stream   what is known of the array     thread 0 at the start; all read it
//   own      what is known of a tile        its warp; copied to the table of tiles in global memory
//
//   barrier 1   stream and tables are there
//
// A block of `restore` shares what struct Room says.
#pragma once
#include "decompress.cuh"
#include "march.cuh"

namespace interp {

// Where a tile's codes stand, in units of four bytes: in the places of its elements, in their order.
template <class T> struct Units {
    enum : u32 { SIZE = T::BITS / 8, ROW_LOG2 = WHOLE_X_LOG2 + (SIZE == 8 ? 1 : 0), ON = WHOLE_Y_LOG2 };
    u8* first;
    u64 y_step, z_step;    // bytes

    DEV Units() {}
    DEV explicit Units(const Target& to)
        : first(to.dst + to.origin * SIZE), y_step(to.step[1] * SIZE), z_step(to.step[2] * SIZE) {}
    DEV u8* at(u32 unit) const {
        const u32 row = unit >> ROW_LOG2, x = unit & ((1u << ROW_LOG2) - 1);
        return first + 4 * x + (row & ((1u << ON) - 1)) * y_step + (row >> ON) * z_step;
    }
    DEV u8* of_element(u32 i) const {
        return first + i % 32 * SIZE + i / 32 % 32 * y_step + i / 1024 * z_step;
    }
    DEV bool is_aligned() const { return ((u64)first | y_step | z_step) % 16 == 0; }
};

// Keeps codes in units: the first LONG_CODES with 16 bits, the others with 8 if that is enough (`by16` is 0), else with
// 16.
template <class T> struct InUnits {
    enum : u32 { LONG_GROUPS = LONG_CODES / GROUP, FAR_BITS = 14 };
    Units<T> units;
    u32 by16;
    typename T::Word any_long, any;    // all bits of codes that are kept with 16 bits anyway, and of the others

    // Groups of these classes have some codes of more than 8 bits.
    DEV void learn(u32 classes) {
        bool wide = false;
#pragma unroll
        for (u32 s = 0; s < CLASSES_OF_LANE; s++) {
            const u32 cls = classes >> (8 * s) & 255;
            wide |= CLASSES_OF_LANE * (threadIdx.x & 31) + s >= LONG_GROUPS && cls > PLAIN && cls != WIDE;
        }
        if (__any_sync(FULL, wide)) by16 = 1;
    }
    DEV u32 unit_of(u32 i) const {
        return by16 || i < LONG_CODES ? i / 2 : LONG_CODES / 2 + (i - LONG_CODES) / 4;
    }
    DEV static u32 cut(u32 code) { return code; }
    DEV static u32 cut(u64 code) { return (u32)code; }
    DEV void put(u32 group, u32 lane, const typename T::Word (&code)[QUAD]) {
        const typename T::Word all = code[0] | code[1] | code[2] | code[3];
        const bool is_long = group < LONG_GROUPS;
        if (is_long)
            any_long |= all;
        else
            any |= all;
        u8* const to = units.at(unit_of(group * GROUP + lane * QUAD));
        if (is_long || by16) {
            ((u32*)to)[0] = cut(code[0]) & 0xffff | cut(code[1]) << 16;
            ((u32*)to)[1] = cut(code[2]) & 0xffff | cut(code[3]) << 16;
        } else {
            *(u32*)to = cut(code[0]) & 255 | (cut(code[1]) & 255) << 8 | (cut(code[2]) & 255) << 16 | cut(code[3]) << 24;
        }
    }
    DEV void put_one(u32 i, typename T::Word code) {
        const bool is_long = i < LONG_CODES;
        if (is_long)
            any_long |= code;
        else
            any |= code;
        u8* const to = units.at(unit_of(i));
        if (is_long || by16)
            ((u16*)to)[i % 2] = (u16)code;
        else
            to[i % 4] = (u8)code;
    }
    DEV void clear(u32, u32 lane) {
        const u32 n = by16 ? WIDE_BYTES / 4 : NARROW_BYTES / 4;
#pragma unroll 1
        for (u32 i = lane; i < n; i += 32) *(u32*)units.at(i) = 0;
        __syncwarp();
    }
    // Whether no code was too long for its place; and whether it would be, with 16 bits.
    DEV bool has_kept() const { return !__any_sync(FULL, any_long >> 16 || any >> (by16 ? (u32)FAR_BITS : 8)); }
    DEV bool may_keep() const { return !__any_sync(FULL, any_long >> 16 || any >> FAR_BITS); }
};

// Decodes a tile, if `restore` may have it: says so in `own.state`. False where the body is not valid. For a whole warp.
template <class T>
DEV bool decode_tile(const Stream<T>& s, Own<T>& own, u64 chunk, const Places& places, u64& disagreement) {
    const u32 lane = threadIdx.x & 31;
    u64 more;
    if (!find_tile(s, own, chunk, more)) return false;
    if (!uniform(own.to.whole)) return true;
    u32 state = STORED;
    if (uniform(own.kind == KIND_PACKED)) {
        if (!uniform(is_whole(own.t, own.to))) return true;
        u32 at;
        if (!read_front(s, own, places, at)) return false;
        InUnits<T> keep = {Units<T>(own.to), 0, 0, 0};
        bool good = read_rest(s, own, places, at, keep);
        if (good && keep.by16 == 0 && uniform(!keep.has_kept() && keep.may_keep())) {
            keep.by16 = 1;
            keep.any_long = keep.any = 0;
            good = read_rest(s, own, places, at, keep);
        }
        if (!good) return false;
        if (!uniform(keep.has_kept())) return true;
        state = keep.by16 ? HALVES : BYTES;
    }
    disagreement += more;
    if (lane == 0) own.state = state;
    __syncwarp();
    return true;
}

template <class T> struct DecodeShared {
    Stream<T> stream;
    Own<T> own[DECODE_WARPS];
};
template <class T> DEV void decode_tiles(const InterpDecompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED DecodeShared<T> own;
    static_assert((TABLES - 1) * TABLE_BYTES == DECODE_TABLE_BYTES && TABLE_BYTES + RING_BYTES == DECODE_WARP_BYTES &&
                      sizeof(Own<T>) <= TILE_BYTES && sizeof(List) == LIST_BYTES,
                  "what the host reckons with");
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5), warps = blockDim.x / 32,
              slots = shared_address(shared), mine = slots + DECODE_TABLE_BYTES + warp * DECODE_WARP_BYTES;
    const Places places = {slots, mine, mine + TABLE_BYTES};
    if (threadIdx.x == 0) own.stream.open(a, 0);
    make_tables((u32*)shared);
    __syncthreads();
    const Stream<T>& s = own.stream;
    const Tiles<T> tiles(a);
    if (!tiles.are_for(s)) return;
    u64 disagreement = 0;
    bool good = true;
    // The first tiles are given to all blocks alike.
    u64 chunk = (u64)warp * gridDim.x + blockIdx.x;
    while (uniform(chunk < s.head.grid.chunks)) {
        Own<T>& of_tile = own.own[warp];
        if (lane == 0) of_tile.state = NOTHING;
        const bool valid = decode_tile(s, of_tile, chunk, places, disagreement);
        good &= valid;
        wait_for_copies();
        __syncwarp();
        const bool left = valid && of_tile.state == NOTHING;
        for (u32 i = lane; i < sizeof(Own<T>) / 4; i += 32) ((u32*)(tiles.own + chunk))[i] = ((const u32*)&of_tile)[i];
        u64 next = 0;
        if (lane == 0) {
            if (left) tiles.list->add(chunk, 0);
            next = count_if(true, &tiles.list->ticket) + (u64)gridDim.x * warps;
        }
        __syncwarp();    // all have copied it
        chunk = __shfl_sync(FULL, next, 0);
    }
    if (lane) return;
    if (!good) fail(s.control, STATUS_CORRUPT);
    if (disagreement) add_relaxed(&s.control->disagreement, disagreement);
}

// Signed numbers of codes, four or two at a time.
DEV u32 four_differences(u32 z) { return (z >> 1 & 0x7f7f7f7fu) ^ (z & 0x01010101u) * 255u; }
DEV u32 two_differences(u32 z) { return (z >> 1 & 0x7fff7fffu) ^ (z & 0x00010001u) * 65535u; }

// What a block of `restore` shares, where the host says.
template <bool BY16> struct Room {
    enum : u32 { CODE_BYTES = BY16 ? WIDE_BYTES : NARROW_BYTES };
    i32 a[9 * PLANE + 2];    // nodes of level 1
    union {
        Turns turns;
        u32 errors[1536];    // of level 1
        i32 edges[2][WHOLE_THREADS / 32][32];
    };
    Face face;
    u8 codes[CODE_BYTES + 16];    // and one that is 0
};
// And besides.
template <class T> struct RestoreShared {
    Stream<T> stream;
    Own<T> own;
    Levels levels;
    Partial<u32> partial;
};

// Sums lines of codes of a class of the finest level along an axis; whether all can be kept. For a whole block, with a
// barrier behind.
template <bool BY16> DEV bool sum_lines(u8* codes, u32 first, const Box& box, u32 axis) {
    const ShortCodes<BY16> of = {codes};
    const u32 b = axis == 0 ? 1 : 0, c = axis == 2 ? 1 : 2, len = box.len[axis], step = box.step[axis],
              lines = box.len[b] * box.len[c];
    const Divisor row(box.len[b]);
    u32 far = 0;
#pragma unroll 1
    for (u32 line = threadIdx.x; line < lines; line += WHOLE_THREADS) {
        const u32 at = row.divide(line);
        u32 n = first + (line - at * row.by) * box.step[b] + at * box.step[c];
        i32 sum = 0;
#pragma unroll 1
        for (u32 i = 0; i < len; i++, n += step) {
            sum += of.fine(n);
            if (BY16)
                *(short*)(codes + 2 * n) = (short)sum;
            else
                codes[LONG_CODES + n] = (u8)sum;
            far |= (u32)(sum + (BY16 ? 1 << 13 : 128));
        }
    }
    __syncthreads();
    return far >> (BY16 ? 14 : 8) == 0;
}
template <bool BY16> DEV bool sum_finest(u8* codes, u32 set) {
    const Box x = {{15, 17, 9}, {1, 15, 255}}, y = {{17, 15, 9}, {1, 17, 255}}, z = {{17, 17, 7}, {1, 17, 289}};
    bool good = true;
#pragma unroll 1
    for (u32 axis = 0; axis < 3; axis++) {
        if (!(set >> axis & 1)) continue;
        if (axis != 0) good &= sum_lines<BY16>(codes, OF_X, x, axis);
        if (axis != 1) good &= sum_lines<BY16>(codes, OF_Y, y, axis);
        if (axis != 2) good &= sum_lines<BY16>(codes, OF_Z, z, axis);
    }
    return good;
}

// What became of a tile.
enum Fate : u32 { DONE, DAMAGED, LEFT, TO_HALVES };

// The elements of an interpolated tile whose codes are there. For a whole block.
template <class T, bool ROUGH, bool BY16>
DEV Fate interpolate_whole(const Stream<T>& s, const Own<T>& own, Room<BY16>& room, Levels& levels, Partial<u32>* partial) {
    enum : u32 { SIZE = T::BITS / 8, FAR = 1u << 19 };
    const u32 set = own.head.set();
    const bool in_steps = own.head.numbers() == IN_STEPS;
    if (set && __syncthreads_or(!sum_finest<BY16>(room.codes, set))) return BY16 ? LEFT : TO_HALVES;
    interpolate_to<ROUGH, false, WHOLE_THREADS>(1, (u32*)room.a, ROW, PLANE, room.errors, ShortCodes<BY16>{room.codes}, 32u,
                                                32u, 16u, in_steps, set, levels, partial);
    // Sums with weights have 32 bits.
    u32 far = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < 9 * 17 * 17; i += WHOLE_THREADS) {
        const u32 line = i / 17, x = i - line * 17;
        far |= (u32)room.a[line / 17 * PLANE + line % 17 * ROW + x] + FAR;
    }
    if (__syncthreads_or(far >= 2 * FAR)) return LEFT;
    const Units<T> units(own.to);
    Whole<T, ROUGH, BY16> w;
    w.a = room.a;
    w.codes = {room.codes};
    w.turns = &room.turns;
    w.face = &room.face;
    w.recipes = levels.of[ROUGH][0];
    w.s = in_steps ? LATTICE_STEP : 1;
    w.dst = units.first;
    w.y_step = (u32)units.y_step;
    w.z_step = (u32)units.z_step;
    w.is_aligned = units.is_aligned();
    w.of_bins = own.head.numbers() == OF_BINS;
    w.base = (i32)own.base;
    w.fine = s.meaning.lattice.fine;
    if (!ROUGH) w.make_face();
    w.go();
    if (!w.of_bins) return DONE;
    const Meaning<T> meaning = s.meaning;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < 1u << TILE_LOG2; i += WHOLE_THREADS) {
        typename T::Word* const at = (typename T::Word*)units.of_element(i);
        *at = meaning.bin(*at + own.base);
    }
    return DONE;
}

// The elements of a tile of bins whose differences along axes are there, plane by plane: a thread has four neighbours of
// two rows. `edges`: what rows of a warp add up to, by turns. For a whole block; a barrier before and behind.
template <class T, bool BY16>
DEV void sum_whole(const Stream<T>& s, const Own<T>& own, const u8* differences, i32 (&edges)[2][WHOLE_THREADS / 32][32]) {
    enum : u32 { SIZE = T::BITS / 8 };
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, k = lane & 7, j = threadIdx.x / 8, set = own.head.set();
    const bool in_x = set & X_AXIS, in_y = set & Y_AXIS, in_z = set & Z_AXIS;
    const ShortCodes<BY16> codes = {differences};
    const Units<T> units(own.to);
    const bool is_aligned = units.is_aligned();
    const Meaning<T> meaning = s.meaning;
    const Word base = own.base;
    i32 b[2][QUAD], before[2][QUAD];
#pragma unroll
    for (u32 i = 0; i < QUAD; i++) before[0][i] = before[1][i] = 0;
    // Sums along x, or along y: of all, or of those alone that `first` says.
    const auto along_x = [&](auto counts) {
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            i32 sum[QUAD];
            sum[0] = b[r][0];
#pragma unroll
            for (u32 i = 1; i < QUAD; i++) sum[i] = sum[i - 1] + b[r][i];
            u32 up_to = (u32)sum[QUAD - 1];
            up_to = running_sum<8>(up_to);
#pragma unroll
            for (u32 i = 0; i < QUAD; i++)
                if (counts(r, i)) b[r][i] = sum[i] + (i32)up_to - sum[QUAD - 1];
        }
    };
    const auto along_y = [&](u32 turn, auto counts) {
        i32 rows[QUAD], up_to[QUAD];
#pragma unroll
        for (u32 i = 0; i < QUAD; i++) {
            i32 sum = rows[i] = b[0][i] + b[1][i];
            i32 below = (i32)__shfl_up_sync(FULL, (u32)sum, 8);
            if (lane >= 8) sum += below;
            below = (i32)__shfl_up_sync(FULL, (u32)sum, 16);
            if (lane >= 16) sum += below;
            up_to[i] = sum;
            if (lane >= 24) edges[turn][warp][4 * k + i] = sum;
        }
        __syncthreads();
#pragma unroll
        for (u32 i = 0; i < QUAD; i++) {
            i32 sum = up_to[i] - rows[i];
            for (u32 w = 0; w < warp; w++) sum += edges[turn][w][4 * k + i];
            const i32 low = b[0][i], high = b[1][i];
            if (counts(0, i)) b[0][i] = sum + low;
            if (counts(1, i)) b[1][i] = sum + low + high;
        }
    };
#pragma unroll 1
    for (u32 z = 0; z < 16; z++) {
        const auto all = [](u32, u32) { return true; };
        const auto first = [=](u32 r, u32 i) { return !((in_x && 4 * k + i) || (in_y && 2 * j + r) || (in_z && z)); };
#pragma unroll
        for (u32 r = 0; r < 2; r++)
#pragma unroll
            for (u32 i = 0; i < QUAD; i++) b[r][i] = (i32)codes((z * 32 + 2 * j + r) * 32 + 4 * k + i);
        if (set) {
            // Those that are 0 along the set are summed along the other axes, then all along the set.
#pragma unroll
            for (u32 r = 0; r < 2; r++)
#pragma unroll
                for (u32 i = 0; i < QUAD; i++)
                    if (!in_z && first(r, i)) before[r][i] = b[r][i] += before[r][i];
            if (!in_y) along_y(z % 2, first);
            if (!in_x) along_x(first);
            if (in_x) along_x(all);
            if (in_y) along_y(z % 2, all);
#pragma unroll
            for (u32 r = 0; r < 2; r++)
#pragma unroll
                for (u32 i = 0; i < QUAD; i++)
                    if (in_z) before[r][i] = b[r][i] += before[r][i];
        }
#pragma unroll 1
        for (u32 r = 0; r < 2; r++) {
            u8* const to = units.of_element((z * 32 + 2 * j + r) * 32 + 4 * k);
            Word v[QUAD];
#pragma unroll
            for (u32 i = 0; i < QUAD; i++) v[i] = meaning.bin((Word)(i64)(r ? b[1][i] : b[0][i]) + base);
            if (is_aligned) {
                put_four(to, v, T());
            } else {
#pragma unroll
                for (u32 i = 0; i < QUAD; i++) store_element(to + i * SIZE, v[i]);
            }
        }
    }
    __syncthreads();
}

// Restores a tile whose codes stand in its place. For a whole block; a barrier before and behind.
template <class T, bool BY16>
DEV Fate restore_whole(const Stream<T>& s, const Own<T>& own, Room<BY16>& room, Levels& levels, Partial<u32>* partial) {
    enum : u32 { LONG_UNITS = LONG_CODES / 2, CODE_UNITS = Room<BY16>::CODE_BYTES / 4 };
    typedef typename T::Word Word;
    const Units<T> units(own.to);
    u32* const to = (u32*)room.codes;
    if (BY16 && own.state == SUMMED) {
        for (u32 i = threadIdx.x; i < NARROW_BYTES / 4; i += WHOLE_THREADS) {
            const u32 q = *(const u32*)units.at(i);
            if (i < LONG_UNITS) {
                to[i] = two_differences(q);
            } else {
                const u32 n = 2 * i - LONG_UNITS;
                to[n] = two_differences(__byte_perm(q, 0, 0x4140));
                to[n + 1] = two_differences(__byte_perm(q, 0, 0x4342));
            }
        }
    } else if (units.is_aligned()) {
#pragma unroll 4
        for (u32 i = threadIdx.x; i < CODE_UNITS / 4; i += WHOLE_THREADS) {
            uint4 q = *(const uint4*)units.at(4 * i);
            if (BY16 || 4 * i < LONG_UNITS)
                q = make_uint4(two_differences(q.x), two_differences(q.y), two_differences(q.z), two_differences(q.w));
            else
                q = make_uint4(four_differences(q.x), four_differences(q.y), four_differences(q.z), four_differences(q.w));
            ((uint4*)to)[i] = q;
        }
    } else {
#pragma unroll 4
        for (u32 i = threadIdx.x; i < CODE_UNITS; i += WHOLE_THREADS) {
            const u32 q = *(const u32*)units.at(i);
            to[i] = BY16 || i < LONG_UNITS ? two_differences(q) : four_differences(q);
        }
    }
    if (threadIdx.x < 4) to[CODE_UNITS + threadIdx.x] = 0;
    __syncthreads();
    Fate fate = DONE;
    if (own.head.predictor() == SMOOTH)
        fate = interpolate_whole<T, false, BY16>(s, own, room, levels, partial);
    else if (own.head.predictor() == ROUGH)
        fate = interpolate_whole<T, true, BY16>(s, own, room, levels, partial);
    else
        sum_whole<T, BY16>(s, own, room.codes, room.edges);
    if (fate != DONE || !own.head.has_patches()) return fate;
    bool good = true;
    if (threadIdx.x < 32) {
        const bool of_bins = own.head.numbers() == OF_BINS;
        const Lattice<T>& lattice = s.meaning.lattice;
        put_patches(s, own, [&](u32 i) {
            i32 multiple;
            good &= lattice.number_of(*(const Word*)units.of_element(i), multiple);
            if (!of_bins) return (Word)(i64)multiple;
            const i32 x = multiple / (i32)LATTICE_STEP;
            good &= lattice.has_bin((Word)(i64)x);
            return (Word)(i64)x;
        });
    }
    return __syncthreads_or(!good) ? LEFT : DONE;
}

// BY16: the tiles whose codes have 16 bits, or need them; else all others.
template <class T, bool BY16> DEV void restore_tiles(const InterpDecompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED RestoreShared<T> own;
    static_assert(sizeof(Room<false>) <= RESTORE_BYTES && sizeof(Room<true>) <= RESTORE_WIDE_BYTES, "as the host says");
    Room<BY16>& room = *(Room<BY16>*)shared;
    if (threadIdx.x == 0) {
        own.stream.open(a, 0);
        own.levels.len[0] = 0;
    }
    __syncthreads();
    const Stream<T>& s = own.stream;
    const Tiles<T> tiles(a);
    if (!tiles.are_for(s)) return;
    bool good = true;
#pragma unroll 1
    for (u64 chunk = blockIdx.x; chunk < s.head.grid.chunks; chunk += gridDim.x) {
        Own<T>* const told = tiles.own + chunk;
        const u32 state = told->state;
        if (state == NOTHING || (state == HALVES || state == SUMMED) != BY16) continue;
        __syncthreads();    // everyone is done with the tile before
        for (u32 i = threadIdx.x; i < sizeof(Own<T>) / 4; i += WHOLE_THREADS) ((u32*)&own.own)[i] = ((const u32*)told)[i];
        __syncthreads();
        Fate fate = DONE;
        if (state == STORED)
            good &= put_stored(s, own.own);
        else
            fate = restore_whole(s, own.own, room, own.levels, &own.partial);
        if (fate == DONE && own.own.plane) {
            __syncthreads();
            if (threadIdx.x < 32) good &= put_missing(s, own.own, own.own.body - own.own.plane, own.own.plane);
        }
        if (threadIdx.x == 0 && fate == LEFT) tiles.list->add(chunk, ADDED);
        if (threadIdx.x == 0 && fate == TO_HALVES) told->state = SUMMED;
    }
    if (!good) fail(s.control, STATUS_CORRUPT);
}

}    // namespace interp
