// Twin: src/codec/zfp/tile.rs
// Array → stream. Warps take tiles by ticket, and each makes the body of its own from end to end. Its lanes code
// blocks, 32 at a time, each into a column of its own; the lengths are added up over the warp, and the bits shifted to
// their place in the body. A block of four axes is the work of the whole warp, whose lanes code a plane each
// (warp.cuh). A body's size is published as soon as it is known, and it goes to its place when the sizes of all before
// it are: tickets are in the order of the bodies, so that a warp waits for such alone as have begun before it.
//
// A block shares
//
//   job       what is known of the array     thread 0 at the start of an array; all read it
//   columns   planes and bits of blocks      each warp its own
//
//   barrier 1   everyone is done with the array before
//   barrier 2   the array is known
#pragma once
#include "warp.cuh"

namespace zfp {

// How arrays are cut, and what follows for a stream; by one thread.
DEV void lay_out(Header& head, const ZfpCompressArgs& a, u64 count) {
    head.dtype = a.dtype;
    head.big_endian = a.big_endian;
    head.values = 0;
    head.coding.read(a.coding, a.dtype);
    const u32 side = count < 2 ? 0 : top_bit(min_of(count, 1ull << 20) - 1) + 1;
    head.lay_out(a, count, side < ZFP_BLOCK_LOG2 ? (u32)ZFP_BLOCK_LOG2 : min_of(side, ZFP_TILE_LOG2));
}

// Before the tiles: an empty index, the header but for its length and checksum.
DEV void begin_compress(const ZfpCompressArgs& a) {
    SHARED Header head;
    const ::Share share(a.batch);
    const Item item = item_of(a.batch, share.item);
    if (threadIdx.x == 0) lay_out(head, a, item.count);
    __syncthreads();
    const bool room = item.bytes >= head.bodies_at;
    if (room) share.clear(item.dst, head.bytes, head.bodies_at);
    if (share.rank || threadIdx.x) return;
    const u32 status = room ? 0 : STATUS_BUFFER_TOO_SMALL;
    begin(a.batch.slots[share.item].control, head.bodies_at, status);
    if (room) {
        head.write(item.dst, CODEC_ZFP | a.mode << 16 | (u64)a.coding << 32, item.count, 0);
        ((u64*)item.dst)[4] = bits_of(a.stated);
        if (head.coding.kind == ACCURACY) ((u64*)item.dst)[6] = bits_of(a.stated);
    }
    if (!room || head.grid.chunks == 0)
        close_stream(item.dst, head.bytes, head.bodies_at, head.bodies_at, 0, status, a.batch.outcomes + share.item);
}

// The array that a block works on.
struct Job {
    Item item;
    Control* control;
    Outcome* outcome;
    Header head;

    DEV u32* entries() const { return (u32*)(item.dst + head.entries_at); }
    DEV u64* record(u64 group) const { return (u64*)(item.dst + head.bytes + group * GROUP_BYTES); }
};

// The element of a block that stands for its element i along an axis where it has n.
DEV u32 inside(u32 i, u32 n) { return i < n ? i : i == 3 ? 0 : n - 1; }

// A tile that is compressed.
template <class T> struct Source {
    typedef typename T::Word Word;
    enum : u32 { BYTES = T::BITS / 8 };
    const u8* src;
    Tile t;
    bool big_endian, aligned;

    // The element at a place of the array.
    DEV Word at(u64 place) const {
        const u8* p = src + place * BYTES;
        const Word word = aligned ? *(const Word*)p : joined<T>(p);
        return big_endian ? swapped<T>(word) : word;
    }
    // Element n.
    DEV Word element(u32 n) const { return at(t.place(n)); }
    // Element i of a block; beyond the tile one of its own. Blocks have four axes here, tiles one element along those
    // that they have not.
    DEV Word element_of(const Corner& c, u32 i) const {
        return at(t.place(c.x + inside(i & 3, t.len[0] - c.x), c.y + inside(i >> 2 & 3, t.len[1] - c.y),
                          c.z + inside(i >> 4 & 3, t.len[2] - c.z), c.w + inside(i >> 6, t.len[3] - c.w)));
    }
    // Whether it is in the tile.
    DEV bool has(const Corner& c, u32 i) const {
        return c.x + (i & 3) < t.len[0] && c.y + (i >> 2 & 3) < t.len[1] && c.z + (i >> 4 & 3) < t.len[2] &&
               c.w + (i >> 6) < t.len[3];
    }
    // Of a block with up to three axes.
    DEV u32 way_to(const Corner& c, u32 axes) const {
        const u32 last = size_of(axes) - 1;
        if (!aligned || big_endian || !has(c, last)) return STAGED;
        const u64 steps = t.step[1] | t.step[2] | (u64)(src + t.place(c.x, c.y, c.z, 0) * BYTES) / BYTES;
        return t.step[0] == 1 && steps % (16 / BYTES) == 0 ? VECTORS : ELEMENTS;
    }
    // Row r of a block.
    DEV void row(const Word* first, u32 way, u32 r, const Word* staged, Word (&v)[4]) const {
        if (way == STAGED) {
#pragma unroll
            for (u32 x = 0; x < 4; x++) v[x] = staged[32 * (4 * r + x)];
            return;
        }
        const Word* p = first + (r & 3) * t.step[1] + (r >> 2) * t.step[2];
        if (way == ELEMENTS) {
#pragma unroll
            for (u32 x = 0; x < 4; x++) v[x] = p[x * t.step[0]];
            return;
        }
#pragma unroll
        for (u32 j = 0; j < T::BITS / 32; j++) {
            Word part[T::VALUES];
            split(((const uint4*)p)[j], part);
#pragma unroll
            for (u32 i = 0; i < T::VALUES; i++) v[T::VALUES * j + i] = part[i];
        }
    }
};

// Of a lane's block, what goes before its planes, which go to their column; the elements are staged at `staged`, if
// they are at all, and what came back of those whose bound is in doubt goes behind them.
template <class T, u32 D>
DEV Start draft(const Source<T>& s, const Corner& corner, u32 way, bool is_float, const Coding& c, double bound,
                typename T::Word* staged, u32* column) {
    typedef typename T::Word Word;
    typedef Numbers<T> Number;
    enum : u32 { SIZE = Block<D>::SIZE };
    const Word* first = (const Word*)s.src + s.t.place(corner.x, corner.y, corner.z, 0);
    Word v[SIZE], largest = 0, any = 0;
#pragma unroll
    for (u32 r = 0; r < SIZE / 4; r++) {
        Word row[4];
        s.row(first, way, r, staged, row);
#pragma unroll
        for (u32 x = 0; x < 4; x++) v[4 * r + x] = row[x];
    }
#pragma unroll
    for (u32 i = 0; i < SIZE; i++) {
        const Word magnitude = Number::magnitude(v[i]);
        largest = magnitude > largest ? magnitude : largest;
        any |= v[i];
    }
    const i32 t = Number::exponent(largest);
    const Scale<T> scale(t);
    const typename T::Float factor = Number::power(t - Number::UNIT_EXPONENT);
    const bool lossy = c.kind != REVERSIBLE;
    bool exact = is_float && !lossy && Number::is_finite(largest);
    if (exact)
#pragma unroll
        for (u32 i = 0; i < SIZE; i++) exact &= Number::number(scale.fixed(v[i]), factor) == v[i];
    Start start = start_of<T>(largest, any, exact, is_float, c, D);
    if (start.planes == 0) {
        // All come back as 0, which padding changes nothing of.
        if (c.kind == ACCURACY) start.is_kept &= (double)float_of(largest) <= bound;
        return start;
    }
    if (start.scaled)
#pragma unroll
        for (u32 i = 0; i < SIZE; i++) v[i] = scale.fixed(v[i]);
    else if (is_float)
#pragma unroll
        for (u32 i = 0; i < SIZE; i++) v[i] = Number::reinterpreted(v[i]);
    if (lossy)
        transform<T, Forward, D>(v);
    else
        transform<T, ReversibleForward, D>(v);
    Word u[SIZE];
#pragma unroll
    for (u32 i = 0; i < SIZE; i++) u[i] = to_coefficient<T>(v[place_of<D>(i)]);
    if (!lossy) {
        Word used = 0;
#pragma unroll
        for (u32 i = 0; i < SIZE; i++) used |= u[i];
        count_planes<T>(start, used);
    }
    store_planes<T, D>(u, column + 32 * planes_at<T>(D));
    if (c.kind != ACCURACY) return start;
    const Word upper = upper_bits<T>(start.planes);
#pragma unroll
    for (u32 i = 0; i < SIZE; i++) v[place_of<D>(i)] = from_coefficient<T>(u[i] & upper);
    transform<T, Inverse, D>(v);
    // What a difference is rounded to is below a number of the type if the difference is not above it.
    const typename T::Float below = rounded_down(bound, typename T::Float());
    bool good = true;
#pragma unroll
    for (u32 r = 0; r < SIZE / 4; r++) {
        Word row[4];
        s.row(first, way, r, staged, row);
#pragma unroll
        for (u32 x = 0; x < 4; x++) {
            v[4 * r + x] = Number::number(v[4 * r + x], factor);
            good &= size_of_difference(float_of(row[x]), float_of(v[4 * r + x])) < below;
        }
    }
    if (!good) {
        start.in_doubt = true;
#pragma unroll
        for (u32 i = 0; i < SIZE; i++) staged[32 * (SIZE + i)] = v[i];
    }
    return start;
}

// Shifts the bits of a lane's block to bit `at` of the body, whose words are 0 from there on but for the bits of other
// blocks.
DEV void put_bits(u32* body, u32 at, const u32* words, u32 bits) {
    const u32 shift = at % 32, last = (at + bits - 1) / 32;
    u32 to = at / 32;
    u64 pending = 0;
#pragma unroll 1
    for (u32 i = 0; 32 * i < bits; i++, to++) {
        pending |= (u64)(words[32 * i] & low_ones(bits - 32 * i)) << shift;
        if (i == 0 || to == last)
            atomicOr(body + to, (u32)pending);
        else
            body[to] = (u32)pending;
        pending >>= 32;
    }
    if (to == last) atomicOr(body + to, (u32)pending);
}

// What a warp has to code with: its columns, and where its lanes stage elements.
template <class T> struct Desk {
    u32* columns;
    typename T::Word* staged;
};

// Codes a lane's block into its column; the bits. `good` is false where the promise is not kept.
template <class T>
DEV u32 coded(const Source<T>& s, u32 axes, u32 block, bool is_float, const Coding& c, double bound,
              typename T::Word* staged, u32* column, bool& good) {
    const Corner corner = corner_of(s.t, block);
    const u32 way = s.way_to(corner, axes), size = size_of(axes);
    if (way == STAGED)
#pragma unroll 1
        for (u32 i = 0; i < size; i++) staged[32 * i] = s.element_of(corner, i);
    const Start start = axes == 1   ? draft<T, 1>(s, corner, way, is_float, c, bound, staged, column)
                        : axes == 2 ? draft<T, 2>(s, corner, way, is_float, c, bound, staged, column)
                                    : draft<T, 3>(s, corner, way, is_float, c, bound, staged, column);
    good = start.is_kept;
    if (start.in_doubt)
#pragma unroll 1
        for (u32 i = 0; i < size; i++)
            if (s.has(corner, i))
                good &= is_within((double)float_of(s.element_of(corner, i)), (double)float_of(staged[32 * (size + i)]),
                                  bound);
    return put_planes<T>(column, axes, start, c.kind == RATE ? (u32)c.parameter : ~0u);
}

// The body of a tile, in units; 0 where there is none in at most `limit` bits that keeps the promise. For a whole warp.
template <class T>
DEV u32 packed(const Source<T>& s, u32 axes, bool is_float, const Coding& c, double bound, u32 from, u32 limit,
               const Desk<T>& desk, u32* body) {
    const u32 lane = threadIdx.x & 31, blocks = s.t.blocks();
    u32 end = from;
    if (lane == 0 && from) body[0] = 0;    // parameters of its own: kind REVERSIBLE
    __syncwarp();
    if (uniform(axes == AXES)) {
#pragma unroll 1
        for (u32 block = 0; uniform(block < blocks); block++) {
            const u32 bits = put_block<T>(s, block, is_float, c, bound, end, limit, desk.columns, body);
            if (!uniform(bits)) return 0;
            end += bits;
        }
    } else {
#pragma unroll 1
        for (u32 first = 0; uniform(first < blocks); first += 32) {
            u32 bits = 0, used = 0;
            bool good = true;
            u32* column = desk.columns + lane;
            if (first + lane < blocks) {
                used = coded<T>(s, axes, first + lane, is_float, c, bound, desk.staged + lane, column, good);
                bits = c.kind == RATE ? (u32)c.parameter : used;
                used = min_of(used, bits);
            }
            const u32 up_to = warp_running_sum(bits), all = __shfl_sync(FULL, up_to, 31);
            if (uniform(!__all_sync(FULL, good) || all > limit - end)) return 0;
            for (u32 i = (end + 31) / 32 + lane; i < (end + all + 31) / 32; i += 32) body[i] = 0;
            __syncwarp();
            if (used) put_bits(body, end + up_to - bits, column, used);
            end += all;
            __syncwarp();
        }
    }
    const u32 units = from / 32 + (end - from + 63) / 64 * 2;
    if (lane == 0 && units > (end + 31) / 32) body[units - 1] = 0;
    __syncwarp();
    return units;
}

// Whether all elements of a tile are the same. For a whole warp.
template <class T> DEV bool is_constant(const Source<T>& s) {
    const u32 count = s.t.count();
    const typename T::Word one = s.element(0);
#pragma unroll 1
    for (u32 first = 0; uniform(first < count); first += 32) {
        const u32 n = first + (threadIdx.x & 31);
        if (!uniform(__all_sync(FULL, n >= count || s.element(n) == one))) return false;
    }
    return true;
}

struct Made {
    u32 kind, units;
};

// The body of a tile, by the rules of src/codec/zfp/tile.rs. For a whole warp.
template <class T>
DEV Made encode(const Source<T>& s, const Header& head, double bound, const Desk<T>& desk, u32* body) {
    const u32 bytes = s.t.count() * head.element_bytes;
    if (is_constant(s)) return {KIND_CONSTANT, head.element_bytes / UNIT};
    Coding c = head.coding;
    u32 own = 0;    // bytes of parameters
#pragma unroll 1
    for (;;) {
        // What does not take less room than the elements themselves is not wanted.
        const u32 whole = bytes - 1 > own ? (bytes - 1 - own) / 8 : 0;
        const u32 from = 8 * own, limit = from + 64 * whole;
        const u32 units = packed(s, head.grid.axes, head.is_float, c, bound, from, limit, desk, body);
        if (uniform(units)) return {KIND_PACKED, units};
        if (uniform(c.kind == REVERSIBLE)) return {KIND_RAW, bytes / UNIT};
        c = {REVERSIBLE, 0};
        own = UNIT;
    }
}

// Word i of a body.
template <class T> DEV u32 word_of(const Source<T>& s, const Made& made, const u32* body, u32 i) {
    if (made.kind == KIND_PACKED) return body[i];
    const typename T::Word v = s.element(made.kind == KIND_RAW ? i / (T::BITS / 32) : 0);
    return (u32)(v >> (32 * (i % (T::BITS / 32))));
}

// Brings a body to its place in the stream and enters it there. For a whole warp.
template <class T>
DEV void enter(const Job& job, const Source<T>& s, u64 chunk, const Made& made, const u32* body, Mark& known) {
    const u32 lane = threadIdx.x & 31, entry = made.units | made.kind << WIDE_KIND_SHIFT;
    if (lane == 0) store_relaxed(job.entries() + chunk, entry);
    const u64 before = units_before(job, known, chunk, lane), at = job.head.bodies_at + before * UNIT,
              end = at + (u64)made.units * UNIT;
    known = {chunk + 1, before + made.units};
    Control& control = *job.control;
    const u32 k = (u32)(chunk % GROUP_CHUNKS);
    u64* record = job.record(chunk / GROUP_CHUNKS);
    if (lane == 0 && k == 0) store_relaxed(&record[0], at);
    u64 sum = 0;
    if (uniform(end <= job.item.bytes)) {
        u32* to = (u32*)(job.item.dst + at);
#pragma unroll 1
        for (u32 i = lane; i < made.units; i += 32) {
            const u32 word = word_of(s, made, body, i);
            to[i] = word;
            sum += (u64)word * key_of(i);
        }
        sum = warp_sum(sum);
    } else {
        fail(&control, STATUS_BUFFER_TOO_SMALL);
    }
    bool last = false;
    if (lane == 0)
        last = enter_body(control, record, job.head.entries_at, entry, chunk, job.head.grid.chunks, sum, end);
    if (uniform(__any_sync(FULL, last)))
        close_index(job.item.dst, job.head.bytes, job.head.grid.chunks, job.head.bodies_at, control, job.outcome, lane);
}

template <class T> DEV void compress(const ZfpCompressArgs& a) {
    SHARED Job job;
    SHARED u64 columns[ZFP_THREADS(T) / 32 * Column<T>::OF_WARP / 2];
    const Batch& batch = a.batch;
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5);
    const u64 own = (u64)blockIdx.x * (blockDim.x / 32) + warp;
    u8* scratch = a.scratch + own * a.room;
    const Desk<T> desk = {(u32*)columns + warp * Column<T>::OF_WARP, (typename T::Word*)scratch};
    u32* body = (u32*)(scratch + a.staged_bytes);
    for (u64 work_slot = blockIdx.x; uniform(work_slot < batch.work_slots); work_slot += gridDim.x) {
        __syncthreads();
        if (threadIdx.x < 32) {
            const u32 i = array_of(batch, work_slot, lane);
            if (lane == 0) {
                job.item = item_of(batch, i);
                job.control = &batch.slots[i].control;
                job.outcome = batch.outcomes + i;
                lay_out(job.head, a, job.item.count);
            }
        }
        __syncthreads();
        // Without room for the index there is nothing to do, and the outcome says so.
        if (job.item.bytes < job.head.bodies_at) continue;
        Mark known = {0, 0};
        for (;;) {
            const u64 chunk = __shfl_sync(FULL, count_if(lane == 0, &job.control->ticket), 0);
            if (uniform(chunk >= job.head.grid.chunks || own >= a.warps)) break;
            const Source<T> s = {job.item.src, tile_of(job.head.grid, chunk), job.head.big_endian != 0,
                                 (u64)job.item.src % (T::BITS / 8) == 0};
            const Made made = encode(s, job.head, a.stated, desk, body);
            enter(job, s, chunk, made, body, known);
            __syncwarp();    // all are done with the body
        }
    }
}

}    // namespace zfp
