// Stream → array. Warps take tiles by ticket, and no warp waits for another one. What steers an address is checked
// before it is used; checksums are compared at the end, so a stream that fails them has been decoded to harmless
// nonsense by then.
//
// Where the blocks of a tile stand is known at a fixed rate: lanes decode them, 32 at a time. Otherwise a block ends
// where the next begins, so a lane decodes a tile, and a warp several of them at once.
//
// A block shares
//
//   stream   what is known of the array     thread 0 at the start of an array; all read it
//
//   barrier 1   everyone is done with the array before
//   barrier 2   the stream is known
//   barrier 3   all warps have left the array; then: thread 0 hands in what the block did
#pragma once
#include "block.cuh"

namespace zfp {

// What all threads of a block know of the stream that they work on.
struct Stream {
    const u8* src;
    u8* dst;
    Control* control;
    Outcome* outcome;
    u64 first_slot, work_slots;    // of all arrays' work slots, those of this one
    u64 first, count;              // the run of elements that is wanted
    u64 stride[MAX_RANK];          // of a box, from one element to the next in what is restored
    const u64 *start, *length;     // where it is
    Header head;
    u32 boxed, together, status;    // tiles that a warp takes at once

    DEV void open(const ZfpDecompressArgs& a, u32 i) {
        const Item item = item_of(a.batch, i);
        src = item.src;
        dst = item.dst;
        control = &a.batch.slots[i].control;
        outcome = a.batch.outcomes + i;
        first_slot = item.first;
        work_slots = (i + 1 < a.batch.count ? a.batch.items[i + 1].first : a.batch.work_slots) - item.first;
        first = a.first;
        count = item.count;
        start = a.start;
        length = a.lens;
        boxed = a.boxed;
        status = head.read(src, item.bytes);
        if (!status && head.dtype != a.dtype) status = STATUS_INVALID_ARGUMENT;
        if (status) return;
        const u64 warps = work_slots * (blockDim.x / 32), each = head.grid.chunks / (warps ? warps : 1);
        together = head.coding.kind == RATE || each < 1 ? 1 : (u32)min_of(each, 32ull);
        if (boxed) {
            u64 step = 1;
            count = 1;
            for (u32 k = head.grid.rank; k-- > 0;) {
                stride[k] = step;
                step *= length[k];
                count *= length[k];
                const u64 len = head.grid.len[k];
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
    u32 low[AXES], high[AXES];        // what is wanted along the axes
    u32 len[AXES];                    // of the tile
    bool some;                        // whether anything is

    DEV Target() {}
    DEV Target(const Stream& s, u64 chunk) {
        const Grid& g = s.head.grid;
        const Tile t = tile_of(g, chunk);
        dst = s.dst;
#pragma unroll
        for (u32 a = 0; a < AXES; a++) {
            step[a] = t.step[a];
            low[a] = 0;
            high[a] = len[a] = t.len[a];
        }
        if (!s.boxed) {
            const u64 last = t.place(t.len[0] - 1, t.len[1] - 1, t.len[2] - 1);
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
            const u64 along = g.tiles(k), at = chunk % along << g.side[k],
                      end = min_of(at + (1ull << g.side[k]), g.len[k]), from = s.start[k], to = from + s.length[k];
            chunk /= along;
            origin += (at - from) * s.stride[k];
            some &= at < to && end > from;
            if (g.side[k] == 0) continue;
#pragma unroll
            for (u32 i = 0; i < AXES; i++)
                if (i == a) {
                    step[i] = s.stride[k];
                    low[i] = from > at ? (u32)min_of(from - at, end - at) : 0;
                    high[i] = to > at ? (u32)(min_of(end, to) - at) : 0;
                }
            a++;
        }
    }
    DEV u32 blocks(u32 a) const { return (len[a] + 3) / 4; }
    DEV bool wants(u32 a, u32 i) const { return i >= low[a] && i < high[a]; }
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

// Stores N elements along x, if they are wanted.
template <class T, u32 N> DEV void put_row(const Target& to, u32 x, u32 y, u32 z, const typename T::Word* v) {
    if (!to.wants(1, y) || !to.wants(2, z)) return;
    const u64 place = to.origin + x * to.step[0] + y * to.step[1] + z * to.step[2];
#pragma unroll
    for (u32 i = 0; i < N; i++) {
        const u64 at = place + i * to.step[0];
        if (to.wants(0, x + i) && at < to.limit) put<T>(to.dst + at * (T::BITS / 8), v[i]);
    }
}

// Decodes every `step`th block of a tile, from `block` on; false if the stream does not end where it should.
template <class T, u32 D>
DEV bool restore_blocks(const Stream& s, const Target& to, const Coding& c, const u32* words, u32 units, u32 block,
                        u32 step) {
    const u32 along_x = to.blocks(0), along_y = to.blocks(1), blocks = along_x * along_y * to.blocks(2);
    const bool is_float = s.head.is_float, big_endian = s.head.big_endian;
    Reader in(words, units);
#pragma unroll 1
    for (; block < blocks; block += step) {
        if (c.kind == RATE) in.seek(block * (u32)c.parameter);
        Values<T, D> v;
        decode_block<T, D>(in, v, is_float, c);
        if (big_endian)
#pragma unroll
            for (u32 i = 0; i < Block<D>::SIZE; i++) v[i] = swapped<T>(v[i]);
        const u32 x = 4 * (block % along_x), y = 4 * (block / along_x % along_y), z = 4 * (block / along_x / along_y);
#pragma unroll
        for (u32 row = 0; row < Block<D>::SIZE / 4; row++)
            put_row<T, 4>(to, x, y + (row & 3), z + (row >> 2), v + 4 * row);
    }
    const u32 bits = c.kind == RATE ? blocks * (u32)c.parameter : in.read;
    return (bits + 63) / 64 * 2 == units;
}

template <class T>
DEV bool restore_blocks(const Stream& s, const Target& to, const Coding& c, const u32* words, u32 units, u32 block,
                        u32 step) {
    const u32 axes = s.head.grid.axes;
    return axes == 1   ? restore_blocks<T, 1>(s, to, c, words, units, block, step)
           : axes == 2 ? restore_blocks<T, 2>(s, to, c, words, units, block, step)
                       : restore_blocks<T, 3>(s, to, c, words, units, block, step);
}

// A raw body, or a constant one. For a whole warp.
template <class T> DEV void stored(const Stream& s, const Target& to, const u32* body, u32 kind) {
    enum : u32 { WORDS = T::BITS / 32 };
    const u32 count = to.len[0] * to.len[1] * to.len[2];
#pragma unroll 1
    for (u32 n = threadIdx.x & 31; n < count; n += 32) {
        const u32* at = body + (kind == KIND_RAW ? n * WORDS : 0);
        const typename T::Word word = (typename T::Word)(at[0] | (u64)at[WORDS - 1] << 32),
                               v = s.head.big_endian ? swapped<T>(word) : word;
        put_row<T, 1>(to, n % to.len[0], n / to.len[0] % to.len[1], n / to.len[0] / to.len[1], &v);
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
template <class T> DEV void decompress_one(const Stream& s, u64* disagreements, u64 work_slot) {
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5);
    const u64 chunks = s.head.grid.chunks;
    const bool all = !s.boxed && s.count == s.head.grid.count;
    bool good = check_index(s.src, s.head, s.control, work_slot, s.work_slots), is_wanted = true;
    u64 disagreement = 0, group = ~0ull;
    for (;;) {
        const u64 ticket = __shfl_sync(FULL, count_if(lane == 0, &s.control->ticket), 0), begin = ticket * s.together;
        if (uniform(begin >= chunks || s.count == 0)) break;
        // The part of a tile that is this lane's to decode.
        const u32* mine = nullptr;
        u32 units = 0, block = 0, step = 1;
        u64 tile = 0;
        Coding coding = s.head.coding;
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
            disagreement += disagreement_of(s.src, s.head, chunk, sum);
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
            if (lane == k || shared) {
                mine = words + own;
                units = body.bytes / UNIT - own;
                coding = c;
                tile = chunk;
                block = shared ? lane : 0;
                step = shared ? 32 : 1;
            }
            __syncwarp();
        }
        if (mine && !restore_blocks<T>(s, Target(s, tile), coding, mine, units, block, step)) good = false;
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

template <class T> DEV void decompress(const ZfpDecompressArgs& a) {
    SHARED Stream stream;
    SHARED u64 disagreements[32];
    const u32 lane = threadIdx.x & 31;
    for (u64 work_slot = blockIdx.x; uniform(work_slot < a.batch.work_slots); work_slot += gridDim.x) {
        __syncthreads();    // everyone is done with the array before
        if (threadIdx.x < 32) {
            const u32 i = array_of(a.batch, work_slot, lane);
            if (lane == 0) stream.open(a, i);
        }
        __syncthreads();
        if (stream.status == 0)
            decompress_one<T>(stream, disagreements, work_slot - stream.first_slot);
        else if (work_slot == stream.first_slot && threadIdx.x == 0)
            report(stream.outcome, 0, stream.status);
    }
}

}    // namespace zfp
