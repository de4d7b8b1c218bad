// Twin: src/codec/zfp/tile.rs
// Stream → array. Warps take tiles by ticket, and no warp waits for another one. What steers an address is checked
// before it is used; checksums are compared at the end, so a stream that fails them has been decoded to harmless
// nonsense by then.
//
// Where the blocks of a tile stand is known at a fixed rate: lanes decode them, 32 at a time. Otherwise a block ends
// where the next begins, so the planes of a tile's blocks are read by one lane: as many lanes as the warp has taken
// tiles, each some blocks in a row, so that then all lanes have a block to make elements of. Of blocks with four axes
// eight lanes read the planes, and the whole warp makes elements of them, block by block (warp.cuh).
//
// A block shares
//
//   stream    what is known of the array     thread 0 at the start of an array; all read it
//   columns   planes of blocks               each warp its own
//
//   barrier 1   everyone is done with the array before
//   barrier 2   the stream is known
//   barrier 3   all warps have left the array; then: thread 0 hands in what the block did
#pragma once
#include "warp.cuh"

namespace zfp {

// Lanes that read planes of blocks with four axes: as many as there is shared memory for, with the elements of one.
enum : u32 { WIDE_READERS = 8 };

// What all threads of a block know of the stream that they work on.
struct Stream : OpenStream<Header> {
    u8* dst;
    u64 first, count;              // the run of elements that is wanted
    u64 stride[MAX_RANK];          // of a box, from one element to the next in what is restored
    const u64 *start, *length;     // where it is
    u32 boxed, level, together;    // tiles that a warp takes at once

    DEV u32 most_readers() const { return head.grid.axes == AXES ? (u32)WIDE_READERS : 32; }
    DEV u32 shift_of(u32 k) const { return k + GRID_AXES >= head.grid.rank ? level : 0; }
    // Elements of the grid along dimension k before this place.
    DEV u64 on_grid(u32 k, u64 place) const { return (place + ((1ull << shift_of(k)) - 1)) >> shift_of(k); }
    DEV void open(const DecompressArgs& a, u32 i) {
        const Item item = take(a, i);
        dst = item.dst;
        first = a.first;
        count = item.count;
        start = a.start;
        length = a.lens;
        boxed = a.boxed;
        level = a.level;
        if (status) return;
        const u64 warps = work_slots * (blockDim.x / 32), each = head.grid.chunks / (warps ? warps : 1);
        together = head.coding.kind == RATE || each < 1 ? 1 : (u32)min_of(each, (u64)most_readers());
        if (boxed) {
            u64 step = 1;
            count = 1;
            for (u32 k = head.grid.rank; k-- > 0;) {
                stride[k] = step;
                step *= length[k];
                count *= length[k];
                const u64 len = on_grid(k, head.grid.len[k]);
                if (start[k] > len || length[k] > len - start[k]) status = STATUS_OUT_OF_RANGE;
            }
        } else {
            if (first > head.grid.count || count > head.grid.count - first) status = STATUS_OUT_OF_RANGE;
            if (a.batch.items && count != head.grid.count) status = STATUS_OUT_OF_RANGE;
        }
    }
};

// Where the elements of a tile go.
struct Target {
    u8* dst;
    u64 origin, step[AXES], limit;    // as of a tile, in what is restored; places at and beyond the limit are none
    u32 low[AXES], high[AXES];        // what is wanted along the axes, of every 2^shift-th element
    u32 len[AXES], shift[AXES];       // of the tile
    bool some;                        // whether anything is

    DEV Target() {}
    DEV Target(const Stream& s, u64 chunk) {
        const Grid& g = s.head.grid;
        const Tile t = tile_of(g, chunk);
        dst = s.dst;
#pragma unroll
        for (u32 a = 0; a < AXES; a++) {
            step[a] = t.step[a];
            low[a] = shift[a] = 0;
            high[a] = len[a] = t.len[a];
        }
        if (!s.boxed) {
            const u64 last = t.place(t.len[0] - 1, t.len[1] - 1, t.len[2] - 1, t.len[3] - 1);
            origin = t.origin - s.first;
            limit = s.count;
            some = t.origin < s.first + s.count && last >= s.first;
            return;
        }
        origin = 0;
        limit = ~0ull;
        some = s.count > 0;
        u32 a = 0;
#pragma unroll 1
        for (u32 k = g.rank; k-- > 0;) {
            const u64 along = g.tiles(k), begin = chunk % along << g.side[k],
                      behind = min_of(begin + (1ull << g.side[k]), g.len[k]), at = s.on_grid(k, begin),
                      end = s.on_grid(k, behind), from = s.start[k], to = from + s.length[k];
            chunk /= along;
            origin += (at - from) * s.stride[k];
            some &= at < end && at < to && end > from;
            if (g.side[k] == 0) continue;
#pragma unroll
            for (u32 i = 0; i < AXES; i++)
                if (i == a) {
                    step[i] = s.stride[k];
                    low[i] = from > at ? (u32)min_of(from - at, end - at) : 0;
                    high[i] = to > at ? (u32)(min_of(end, to) - at) : 0;
                    // Of an axis that is shorter the first element is one at most.
                    shift[i] = min_of(s.shift_of(k), (u32)ZFP_TILE_LOG2);
                }
            a++;
        }
    }
    DEV u32 blocks(u32 a) const { return (len[a] + 3) / 4; }
    DEV u32 blocks() const { return blocks(0) * blocks(1) * blocks(2) * blocks(3); }
    DEV bool wants(u32 a, u32 i) const {
        return i >> shift[a] >= low[a] && i >> shift[a] < high[a] && !(i & low_ones(shift[a]));
    }
    DEV u64 place(u32 x, u32 y, u32 z, u32 w) const {
        return origin + x * step[0] + y * step[1] + z * step[2] + w * step[3];
    }
};

// Stores an element that may lie across two words.
template <class T> SELDOM void put_bytes(u8* at, typename T::Word v) {
#pragma unroll 1
    for (u32 i = 0; i < T::BITS / 8; i++) at[i] = (u8)(v >> (8 * i));
}
template <class T> DEV void put(u8* at, typename T::Word v) {
    if ((u64)at % (T::BITS / 8) == 0)
        *(typename T::Word*)at = v;
    else
        put_bytes<T>(at, v);
}

// Stores an element of a tile, in the byte order of the array, if it is wanted.
template <class T>
DEV void put_element(const Stream& s, const Target& to, u32 x, u32 y, u32 z, u32 w, typename T::Word v) {
    const u64 at = to.place(x >> to.shift[0], y >> to.shift[1], z >> to.shift[2], w >> to.shift[3]);
    if (to.wants(0, x) && to.wants(1, y) && to.wants(2, z) && to.wants(3, w) && at < to.limit)
        put<T>(to.dst + at * (T::BITS / 8), s.head.big_endian ? swapped<T>(v) : v);
}
// Element i of a block.
template <class T> DEV void put_element(const Stream& s, const Target& to, const Corner& c, u32 i, typename T::Word v) {
    put_element<T>(s, to, c.x + (i & 3), c.y + (i >> 2 & 3), c.z + (i >> 4 & 3), c.w + (i >> 6), v);
}

// How a lane stores the elements of a block; they are staged in its column, each to go where it is wanted.
template <class T> DEV u32 way_to(const Stream& s, const Target& to, const Corner& c, u32 axes) {
    const u32 last = size_of(axes) - 1, x = c.x + (last & 3), y = c.y + (last >> 2 & 3), z = c.z + (last >> 4);
    const u64 first = to.place(c.x, c.y, c.z, 0);
    const bool whole = to.wants(0, c.x) && to.wants(0, x) && to.wants(1, c.y) && to.wants(1, y) && to.wants(2, c.z) &&
                       to.wants(2, z) && to.wants(3, 0) && first < to.limit && to.place(x, y, z, 0) < to.limit;
    const u64 address = (u64)to.dst + first * (T::BITS / 8);
    if (!whole || s.level || s.head.big_endian || address % (T::BITS / 8)) return STAGED;
    const bool aligned = address % 16 == 0 && (to.step[1] | to.step[2]) % (128 / T::BITS) == 0;
    return to.step[0] == 1 && aligned ? VECTORS : ELEMENTS;
}

// The elements of a lane's block, from the planes in its column.
template <class T, u32 D>
DEV void finish(const Target& to, const Corner& corner, u32 way, const Start& start, bool is_float, bool lossy,
                u32* column) {
    typedef typename T::Word Word;
    typedef Numbers<T> Number;
    enum : u32 { SIZE = Block<D>::SIZE, WORDS = T::BITS / 32 };
    Word u[SIZE], v[SIZE];
    load_planes<T, D>(column, u);
#pragma unroll
    for (u32 i = 0; i < SIZE; i++) v[place_of<D>(i)] = from_coefficient<T>(u[i]);
    if (lossy)
        transform<T, Inverse, D>(v);
    else
        transform<T, ReversibleInverse, D>(v);
    const typename T::Float factor = Number::power(start.t - Number::UNIT_EXPONENT);
    if (start.scaled)
#pragma unroll
        for (u32 i = 0; i < SIZE; i++) v[i] = Number::number(v[i], factor);
    else if (is_float)
#pragma unroll
        for (u32 i = 0; i < SIZE; i++) v[i] = Number::reinterpreted(v[i]);
    if (way == STAGED) {
#pragma unroll
        for (u32 i = 0; i < SIZE * WORDS; i++) column[32 * i] = (u32)(v[i / WORDS] >> (32 * (i % WORDS)));
        return;
    }
    Word* first = (Word*)to.dst + to.place(corner.x, corner.y, corner.z, 0);
#pragma unroll
    for (u32 r = 0; r < SIZE / 4; r++) {
        Word* p = first + (r & 3) * to.step[1] + (r >> 2) * to.step[2];
        const Word* row = v + 4 * r;
        if (way == ELEMENTS) {
#pragma unroll
            for (u32 x = 0; x < 4; x++) p[x * to.step[0]] = row[x];
        } else {
#pragma unroll
            for (u32 j = 0; j < WORDS; j++) {
                Word part[T::VALUES];
#pragma unroll
                for (u32 i = 0; i < T::VALUES; i++) part[i] = row[T::VALUES * j + i];
                ((uint4*)p)[j] = join(part);
            }
        }
    }
}

// What a lane decodes of a tile: every `step`th block from `block` on.
struct Share {
    const u32* words;
    u32 units, block, step;
    u64 chunk;
    Coding coding;

    // Goes to a block of the tile, and reads what stands before its planes.
    template <class T> DEV Start begin(Reader& in, u32 block, bool is_float, u32 axes) const {
        if (coding.kind == RATE) in.seek(block * (u32)coding.parameter);
        return get_start<T>(in, is_float, coding, axes);
    }
    // Where its planes end at last.
    DEV u32 limit(u32 block) const { return coding.kind == RATE ? (block + 1) * (u32)coding.parameter : ~0u; }
    // Whether the stream ends where it should, all blocks having been read.
    DEV bool is_whole(const Reader& in, u32 blocks) const {
        const u32 bits = coding.kind == RATE ? blocks * (u32)coding.parameter : in.at;
        return (bits + 63) / 64 * 2 == units;
    }
};

// What lanes decode, those below `readers`, a power of two, reading planes. Of blocks with up to three axes; false
// where a lane's stream does not end where it should. For a whole warp.
template <class T> DEV bool restore_shares(const Stream& s, Share& mine, u32 readers, u32* columns) {
    const u32 lane = threadIdx.x & 31, reader = lane & (readers - 1), round = lane / readers, rounds = 32 / readers;
    const u32 axes = s.head.grid.axes, size = size_of(axes);
    const bool is_float = s.head.is_float;
    mine.words = (const u32*)__shfl_sync(FULL, (u64)mine.words, reader);
    mine.chunk = __shfl_sync(FULL, mine.chunk, reader);
    mine.coding.kind = __shfl_sync(FULL, mine.coding.kind, reader);
    if (uniform(rounds > 1)) {
        mine.block = round;
        mine.step = rounds;
    }
    Target to;
    u32 blocks = 0;
    Reader in = {mine.words, mine.units};
    if (mine.words) {
        to = Target(s, mine.chunk);
        blocks = to.blocks();
        in.seek(0);
    }
    for (; uniform(__any_sync(FULL, mine.block < blocks)); mine.block += mine.step) {
        Start start = {0, 0, 0, 0, false, true, false};
#pragma unroll 1
        for (u32 r = 0; uniform(r < rounds); r++) {
            Start read = start;
            if (lane < readers && mine.block + r < blocks) {
                u32* column = columns + lane + readers * r;
#pragma unroll 4
                for (u32 i = 0; i < words_of_planes<T>(axes); i++) column[32 * i] = 0;
                read = mine.begin<T>(in, mine.block + r, is_float, axes);
                get_planes<T>(in, column, 32, axes, read.planes, mine.limit(mine.block + r));
            }
            const u32 t = __shfl_sync(FULL, (u32)read.t, reader), scaled = __shfl_sync(FULL, (u32)read.scaled, reader);
            if (r == round) {
                start.t = (i32)t;
                start.scaled = scaled;
            }
        }
        __syncwarp();
        if (mine.block < blocks) {
            u32* column = columns + lane;
            const bool lossy = mine.coding.kind != REVERSIBLE;
            const Corner corner = corner_of(to, mine.block);
            const u32 way = way_to<T>(s, to, corner, axes);
            if (axes == 1)
                finish<T, 1>(to, corner, way, start, is_float, lossy, column);
            else if (axes == 2)
                finish<T, 2>(to, corner, way, start, is_float, lossy, column);
            else
                finish<T, 3>(to, corner, way, start, is_float, lossy, column);
            if (way == STAGED)
#pragma unroll 1
                for (u32 i = 0; i < size; i++) {
                    u64 v = column[32 * i];
                    if (T::BITS == 64) v = column[64 * i] | (u64)column[64 * i + 32] << 32;
                    put_element<T>(s, to, corner, i, (typename T::Word)v);
                }
        }
        __syncwarp();
    }
    return lane >= readers || !mine.words || mine.is_whole(in, blocks);
}

// Of blocks with four, a share of each of some lanes; false where one of them does not end where it should. For a whole
// warp.
template <class T> DEV bool restore_wide_shares(const Stream& s, Share& mine, u32* columns) {
    const u32 lane = threadIdx.x & 31, all = words_of_planes<T>(4) * WIDE_READERS;
    const bool is_float = s.head.is_float;
    u32 blocks = mine.words ? Target(s, mine.chunk).blocks() : 0;
    typename T::Word* q = (typename T::Word*)(columns + all);
    Reader in = {mine.words, mine.units};
    if (mine.words) in.seek(0);
    while (uniform(__any_sync(FULL, mine.block < blocks))) {
        const bool some = mine.block < blocks;
        Start start = {0, 0, 0, 0, false, true, false};
#pragma unroll 4
        for (u32 i = lane; i < all; i += 32) columns[i] = 0;
        __syncwarp();
        if (some) {
            start = mine.begin<T>(in, mine.block, is_float, AXES);
            get_planes<T>(in, columns + lane, WIDE_READERS, AXES, start.planes, mine.limit(mine.block));
        }
        __syncwarp();
#pragma unroll 1
        for (u32 k = 0; uniform(k < WIDE_READERS); k++) {
            if (!uniform(__shfl_sync(FULL, (u32)some, k))) continue;
            const u32 kind = __shfl_sync(FULL, mine.coding.kind, k), scaled = __shfl_sync(FULL, (u32)start.scaled, k);
            restore_wide<T>(columns + k, WIDE_READERS, q, is_float, kind != REVERSIBLE, scaled,
                            (i32)__shfl_sync(FULL, (u32)start.t, k));
            const Target to(s, __shfl_sync(FULL, mine.chunk, k));
            const Corner corner = corner_of(to, __shfl_sync(FULL, mine.block, k));
#pragma unroll 1
            for (u32 i = lane; i < WIDE_SIZE; i += 32) put_element<T>(s, to, corner, i, q[i]);
            __syncwarp();
        }
        if (some) mine.block += mine.step;
    }
    return !mine.words || mine.is_whole(in, blocks);
}

// A raw body, or a constant one. For a whole warp.
template <class T> DEV void stored(const Stream& s, const Target& to, const u32* body, u32 kind) {
    enum : u32 { WORDS = T::BITS / 32 };
    const u32 count = to.len[0] * to.len[1] * to.len[2] * to.len[3];
#pragma unroll 1
    for (u32 n = threadIdx.x & 31; n < count; n += 32) {
        const u32* at = body + (kind == KIND_RAW ? n * WORDS : 0);
        const u32 y = n / to.len[0], z = y / to.len[1];
        put_element<T>(s, to, n % to.len[0], y % to.len[1], z % to.len[2], z / to.len[2],
                       (typename T::Word)(at[0] | (u64)at[WORDS - 1] << 32));
    }
}

// Whether anything of a group of tiles is wanted. For a whole warp.
DEV bool group_is_wanted(const Stream& s, u64 group, u32 lane) {
    bool some = false;
    for (u32 k = lane; k < GROUP_CHUNKS; k += 32) {
        const u64 chunk = group * GROUP_CHUNKS + k;
        if (chunk < s.head.grid.chunks) some |= Target(s, chunk).some;
    }
    return __any_sync(FULL, some);
}

// Works from one of an array's work slots. For a whole block.
template <class T> DEV void decompress_one(const Stream& s, u64* disagreements, u64 work_slot, u32* columns) {
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5);
    const u64 chunks = s.head.grid.chunks;
    const bool all = !s.boxed && s.count == s.head.grid.count;
    bool good = check_index(s.src, s.head, s.control, work_slot, s.work_slots), is_wanted = true;
    u64 disagreement = 0, group = ~0ull;
    for (;;) {
        const u64 ticket = __shfl_sync(FULL, count_if(lane == 0, &s.control->ticket), 0), begin = ticket * s.together;
        if (uniform(begin >= chunks || s.count == 0)) break;
        Share mine = {nullptr, 0, 0, 1, 0, s.head.coding};
        u32 readers = s.together == 1 ? 1 : 2u << top_bit(s.together - 1);
#pragma unroll 1
        for (u32 k = 0; uniform(k < s.together && begin + k < chunks); k++) {
            const u64 chunk = begin + k;
            if (!uniform(all) && chunk / GROUP_CHUNKS != group) {
                group = chunk / GROUP_CHUNKS;
                is_wanted = group_is_wanted(s, group, lane);
            }
            if (!uniform(is_wanted)) continue;
            const WideBody body = locate(s.src, s.head, chunk, lane);
            if (!uniform(body.bytes)) {
                good = false;
                continue;
            }
            const u32* words = (const u32*)(s.src + body.at);
            const u64 sum = warp_sum(keyed_sum(s.src + body.at, body.bytes, lane));
            disagreement += disagreement_of(s.src + s.head.bytes, chunk, sum);
            if (!uniform(all) && !uniform(Target(s, chunk).some)) continue;
            if (uniform(body.kind != KIND_PACKED)) {
                stored<T>(s, Target(s, chunk), words, body.kind);
                continue;
            }
            const u32 own = body.bytes % 8 / UNIT;
            Coding c = s.head.coding;
            if (uniform(own && !c.read(words[0], s.head.dtype))) {
                good = false;
                continue;
            }
            const bool shared = s.together == 1 && c.kind == RATE;
            if (uniform(shared)) readers = s.most_readers();
            if (lane == k || (shared && lane < readers))
                mine = {words + own, body.bytes / UNIT - own, shared ? lane : 0, shared ? readers : 1, chunk, c};
            __syncwarp();
        }
        if (uniform(s.head.grid.axes == AXES))
            good &= restore_wide_shares<T>(s, mine, columns);
        else
            good &= restore_shares<T>(s, mine, readers, columns);
        __syncwarp();
    }
    if (!good) fail(s.control, STATUS_CORRUPT);
    if (lane == 0) disagreements[warp] = disagreement;
    __syncthreads();
    if (threadIdx.x) return;
    for (u32 w = 1; w < blockDim.x / 32; w++) disagreement += disagreements[w];
    const u64 bytes = s.boxed ? 0 : s.count * s.head.element_bytes;
    close(s.control, s.src, s.head, bytes, disagreement, s.outcome, s.work_slots);
}

template <class T> DEV void decompress(const DecompressArgs& a) {
    SHARED Stream stream;
    SHARED u64 disagreements[32], columns[ZFP_THREADS(T) / 32 * Column<T>::OF_WARP / 2];
    u32* const own = (u32*)columns + uniform(threadIdx.x >> 5) * Column<T>::OF_WARP;
    each_work_slot(
        a.batch, stream, [&](u32 i) { stream.open(a, i); },
        [&](u64 slot) { decompress_one<T>(stream, disagreements, slot, own); });
}

}    // namespace zfp
