// Twin: src/codec/interp/body/decode.rs
// Stream → array, floats with bins, of an array alone, in two kernels. `decode`: a warp finds, checks and decodes a
// tile, whose codes come to stand where its elements will. `restore`: a block makes elements of them (march.cuh) where
// a tile has 32 x 32 x 16. All other tiles come on a list, which decompress.cuh takes behind both.
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

DEV bool is_whole(const Tile& t, const Target& to) {
    return t.lx == 32 && t.ly == 32 && t.lz == 16 && to.step[2] < 1u << 24 && to.step[1] < 1u << 24;
}

// Decodes a tile, if its codes may stand in the place of its elements: says so in `own.state`. False where the body is
// not valid. For a whole warp.
template <class T>
DEV bool decode_tile(const Stream<T>& s, Own<T>& own, u64 chunk, const Places& places, u64& disagreement) {
    const u32 lane = threadIdx.x & 31;
    u64 more;
    if (!find_tile(s, own, chunk, more)) return false;
    if (!uniform(own.to.whole)) return true;
    u32 state = STORED;
    if (uniform(own.kind == KIND_PACKED)) {
        if (!uniform(own.to.step[0] == 1)) return true;
        u32 at;
        if (!read_front(s, own, places, at)) return false;
        InUnits<T> keep = {Units<T>(own.t, own.to), uniform(own.t.count()), 0, 0, 0};
        // Once more with 16 bits where 8 turn out not to be enough.
        for (;;) {
            if (!read_rest(s, own, places, at, keep)) return false;
            if (uniform(keep.by16 || keep.has_kept() || !keep.may_keep())) break;
            keep.by16 = 1;
            keep.any_long = keep.any = 0;
        }
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
                      sizeof(Own<T>) <= TILE_BYTES && sizeof(List) == INTERP_LIST_BYTES && sizeof(Own<T>) % 16 == 0,
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
            const bool whole = is_whole(of_tile.t, of_tile.to),
                       decoded = of_tile.state == BYTES || of_tile.state == HALVES;
            if (left) tiles.list->add(chunk, 0);
            if (decoded && !whole) tiles.list->add(chunk, DECODED | ADDED);
            if (of_tile.state == HALVES && whole) add_relaxed(&tiles.list->wide, (u64)1);
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
        i32 errors[1536];    // of level 1
        i32 edges[2][WHOLE_THREADS / 32][32];
    };
    Face face;
    u8 codes[CODE_BYTES + 16];    // and one that is 0
};
// And besides.
template <class T> struct RestoreShared {
    Stream<T> stream;
    Own<T> own[2];    // of the tile at hand and the next one, by turns
    WholeWeights weights;
};

// Sums lines of differences of a class along an axis, LEN of each, from `first` on; whether all can be kept. HALVES:
// they have 16 bits. For a whole block, with a barrier behind.
template <bool BY16, u32 LEN>
DEV bool sum_lines(u8* codes, u32 first, u32 step, u32 row, u32 on, u32 plane, u32 lines) {
    u32 far = 0;
#pragma unroll 1
    for (u32 line = threadIdx.x; line < lines; line += WHOLE_THREADS) {
        const u32 at = times_within(line, row), n = first + (line - at * row) * on + at * plane;
        u8* const from = BY16 ? codes + 2 * n : codes + LONG_CODES + n;
        const u32 apart = BY16 ? 2 * step : step;
        i32 v[LEN];
#pragma unroll
        for (u32 i = 0; i < LEN; i++)
            v[i] = BY16 ? (i32) * (const short*)(from + i * apart) : (i32) * (const signed char*)(from + i * apart);
#pragma unroll
        for (u32 i = 1; i < LEN; i++) {
            v[i] += v[i - 1];
            far |= (u32)(v[i] + (BY16 ? 1 << 13 : 128));
            if (BY16)
                *(short*)(from + i * apart) = (short)v[i];
            else
                from[i * apart] = (u8)v[i];
        }
    }
    __syncthreads();
    return far >> (BY16 ? 14 : 8) == 0;
}
// The same of the classes X, Y and Z of a level with CX coarse and FX new nodes along x and y, and CZ and FZ along z.
template <bool BY16, u32 CX, u32 FX, u32 CZ, u32 FZ> DEV bool sum_level(u8* codes, u32 of_x, u32 set) {
    enum : u32 { OF_Y = FX * CX * CZ, OF_Z = 2 * OF_Y };
    const u32 of_y = of_x + OF_Y, of_z = of_x + OF_Z;
    bool good = true;
    if (set & X_AXIS) {
        good &= sum_lines<BY16, CX>(codes, of_y, 1, FX * CZ, CX, 0, FX * CZ);
        good &= sum_lines<BY16, CX>(codes, of_z, 1, CX * FZ, CX, 0, CX * FZ);
    }
    if (set & Y_AXIS) {
        good &= sum_lines<BY16, CX>(codes, of_x, FX, FX, 1, FX * CX, FX * CZ);
        good &= sum_lines<BY16, CX>(codes, of_z, CX, CX, 1, CX * CX, CX * FZ);
    }
    if (set & Z_AXIS) {
        good &= sum_lines<BY16, CZ>(codes, of_x, FX * CX, FX * CX, 1, 0, FX * CX);
        good &= sum_lines<BY16, CZ>(codes, of_y, CX * FX, CX * FX, 1, 0, CX * FX);
    }
    return good;
}
template <bool BY16> DEV bool sum_levels(u8* codes, u32 set) {
    bool good = sum_level<BY16, 17, 15, 9, 7>(codes, OF_X, set);
    good &= sum_level<true, 9, 8, 5, 4>(codes, 405, set);
    return good;
}

// What became of a tile.
enum Fate : u32 { DONE, DAMAGED, LEFT, TO_HALVES };

// The elements of an interpolated tile whose codes are there. For a whole block.
template <class T, bool ROUGH, bool BY16>
DEV Fate interpolate_whole(const Stream<T>& s, const Own<T>& own, Room<BY16>& room, const WholeWeights& weights) {
    const u32 set = own.head.set();
    const bool in_steps = own.head.numbers() == IN_STEPS;
    if (set && __syncthreads_or(!sum_levels<BY16>(room.codes, set))) return BY16 ? LEFT : TO_HALVES;
    const bool of_bins = own.head.numbers() == OF_BINS;
    const i32 base = (i32)own.base, early = T::BITS == 32 ? base : 0;
    CoarseLevels<ROUGH, ShortCodes<BY16>> coarse = {
        room.a, room.errors, {room.codes}, weights.of[ROUGH], in_steps, early, 0};
    if (!coarse.go()) return LEFT;
    const Units<T> units(own.t, own.to);
    Whole<T, ROUGH, BY16> w;
    w.a = room.a;
    w.codes = {room.codes};
    w.turns = &room.turns;
    w.face = &room.face;
    w.weights = weights.of[ROUGH];
    w.s = in_steps ? LATTICE_STEP : 1;
    w.dst = units.first;
    w.y_step = (u32)units.y_step;
    w.z_step = (u32)units.z_step;
    w.is_aligned = units.is_aligned();
    w.base = base;
    w.fine = of_bins ? 1 : s.meaning.lattice.fine;
    if (!ROUGH) w.make_face();
    w.go();
    if (!of_bins) return DONE;
    // Where bins stand as floats.
    const Meaning<T> meaning = s.meaning;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < 1u << TILE_LOG2; i += WHOLE_THREADS) {
        typename T::Word* const at = (typename T::Word*)units.of_element(i);
        *at = meaning.bin((typename T::Word)(i64)float_of(*at));
    }
    return DONE;
}

// The elements of a tile of bins whose differences along axes are there, plane by plane: a thread has four neighbours
// of two rows. `edges`: what rows of a warp add up to, by turns. For a whole block; a barrier before and behind.
template <class T, bool BY16>
DEV void sum_whole(const Stream<T>& s, const Own<T>& own, const u8* differences,
                   i32 (&edges)[2][WHOLE_THREADS / 32][32]) {
    enum : u32 { SIZE = T::BITS / 8 };
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, k = lane & 7, j = threadIdx.x / 8, set = own.head.set();
    const bool in_x = set & X_AXIS, in_y = set & Y_AXIS, in_z = set & Z_AXIS;
    const ShortCodes<BY16> codes = {differences};
    const Units<T> units(own.t, own.to);
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
DEV Fate restore_whole(const Stream<T>& s, const Own<T>& own, Room<BY16>& room, const WholeWeights& weights) {
    enum : u32 { LONG_UNITS = LONG_CODES / 2, CODE_UNITS = Room<BY16>::CODE_BYTES / 4 };
    typedef typename T::Word Word;
    const Units<T> units(own.t, own.to);
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
                q = make_uint4(four_differences(q.x), four_differences(q.y), four_differences(q.z),
                               four_differences(q.w));
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
        fate = interpolate_whole<T, false, BY16>(s, own, room, weights);
    else if (own.head.predictor() == ROUGH)
        fate = interpolate_whole<T, true, BY16>(s, own, room, weights);
    else
        sum_whole<T, BY16>(s, own, room.codes, room.edges);
    if (fate != DONE || !own.head.has_patches()) return fate;
    bool good = true;
    if (threadIdx.x < 32) {
        const bool of_bins = own.head.numbers() == OF_BINS;
        const Lattice<T>& lattice = s.meaning.lattice;
        const Units<T> units(own.t, own.to);
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
    const Tiles<T> tiles(a);
    if (BY16 && tiles.list->wide == 0) return;
    if (threadIdx.x == 0) own.stream.open(a, 0);
    own.weights.make();
    __syncthreads();
    const Stream<T>& s = own.stream;
    if (!tiles.are_for(s)) return;
    const auto fetch = [&](u64 chunk, u32 turn) {
        if (chunk < s.head.grid.chunks && threadIdx.x < sizeof(Own<T>) / 16)
            copy_async((uint4*)&own.own[turn] + threadIdx.x, (const uint4*)(tiles.own + chunk) + threadIdx.x);
    };
    bool good = true;
    u32 turn = 0;
    fetch(blockIdx.x, turn);
#pragma unroll 1
    for (u64 chunk = blockIdx.x; chunk < s.head.grid.chunks; chunk += gridDim.x, turn ^= 1) {
        wait_for_copies();
        __syncthreads();    // what is known of the tile is there, and everyone is done with the one before
        fetch(chunk + gridDim.x, turn ^ 1);
        const Own<T>& told = own.own[turn];
        const u32 state = told.state;
        if (state == NOTHING || (state == HALVES || state == SUMMED) != BY16) continue;
        if (state != STORED && !is_whole(told.t, told.to)) continue;
        Fate fate = DONE;
        if (state == STORED)
            good &= put_stored(s, told);
        else
            fate = restore_whole(s, told, room, own.weights);
        if (fate == DONE && told.plane) {
            __syncthreads();
            if (threadIdx.x < 32) good &= put_missing(s, told, told.body - told.plane, told.plane);
        }
        if (threadIdx.x) continue;
        if (fate == LEFT) tiles.list->add(chunk, ADDED);
        if (fate == TO_HALVES) {
            tiles.own[chunk].state = SUMMED;
            add_relaxed(&tiles.list->wide, (u64)1);
        }
    }
    if (!good) fail(s.control, STATUS_CORRUPT);
}

}    // namespace interp
