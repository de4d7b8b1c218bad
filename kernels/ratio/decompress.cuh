// Stream → array. Warps take tiles by ticket, and each restores its own from end to end, so that no warp waits for
// another one. What steers an address is checked before it is used; checksums are compared at the end, so a stream that
// fails them has been decoded to harmless nonsense by then.
//
// A block shares TILE_BLOCK_BYTES and TILE_WARP_BYTES of each warp, as long as the host says:
//
//   slots    the tables of classes (decode.cuh)     all warps make them, all read
//   stream   what is known of the array             thread 0 at the start of an array; all read it
//   ring     words of a body on their way (decode.cuh)     each warp its own
//   sums     sums over planes or rows (sums.cuh)           each warp its own
//   stages   a group on its way between lanes (rows.cuh)   each warp its own
//   own      what is known of its tile                     lane 0 writes it, the warp reads
//   table    the slots of its tile's own table             each warp its own
//
//   barrier 1   everyone is done with the array before
//   barrier 2   the stream is known, and the tables
//   barrier 3   all warps have left the array; then: thread 0 hands in what the block did
//
// A tile whose sums need more than 32 bits, or more memory than a warp shares, is decoded anew into a place of memory
// that the warp takes for so long (scratch).
#pragma once
#include "../common/plan.cuh"
#include "decode_rows.cuh"

namespace ratio {

// Where the slots of a tile's own table are, in the shared memory of its warp, which begins with the ring.
DEV u32 table_at(u32 ring) { return ring + TILE_WARP_BYTES - TILE_TABLE_BYTES; }

// Where elements of an array go: a run of them, or those in a box.
struct Wanted {
    u8* dst;
    u64 first, count;             // of a run
    const u64 *start, *length;    // of a box, for each dimension; null for a run
    u64 stride[MAX_RANK];         // from one element of the box to the next in what is restored
    u32 boxed;
};

// What all threads of a block know of the stream that they work on.
template <class T> struct Stream {
    const u8* src;
    Control* control;
    Outcome* outcome;
    u64 first, work_slots;    // of all arrays' work slots, those of this one
    Header head;
    Quantizer<T> quantizer;
    Wanted wanted;
    u32* busy;    // of each place in the scratch memory whether someone has it
    u8* places;
    u32 place_count;
    u32 status;

    DEV void open(const TileDecompressArgs& args, u32 i) {
        const DecompressArgs& a = args.common;
        const Item item = item_of(a.batch, i);
        src = item.src;
        control = &a.batch.slots[i].control;
        outcome = a.batch.outcomes + i;
        first = item.first;
        work_slots = (i + 1 < a.batch.count ? a.batch.items[i + 1].first : a.batch.work_slots) - first;
        busy = (u32*)args.scratch;
        place_count = args.places;
        places = args.scratch + (place_count * 4 + 15) / 16 * 16;
        status = head.read(src, item.bytes);
        if (!status && head.dtype != a.dtype) status = STATUS_INVALID_ARGUMENT;
        if (status) return;
        wanted.dst = item.dst;
        wanted.boxed = args.boxed;
        wanted.start = args.start;
        wanted.length = args.lens;
        wanted.first = a.first;
        wanted.count = item.count;
        if (args.boxed) {
            u64 step = 1;
            for (u32 k = head.grid.rank; k-- > 0;) {
                wanted.stride[k] = step;
                step *= args.lens[k];
                if (args.start[k] > head.grid.len[k] || args.lens[k] > head.grid.len[k] - args.start[k])
                    status = STATUS_OUT_OF_RANGE;
            }
        } else {
            if (a.first > head.grid.count || item.count > head.grid.count - a.first) status = STATUS_OUT_OF_RANGE;
            if (a.batch.items && item.count != head.grid.count) status = STATUS_OUT_OF_RANGE;
        }
        if (!status) quantizer.set(head.step_w, head.step_j);
    }
};

// Where the elements of a tile go.
struct Target {
    u8* dst;
    u64 origin;         // the number of its first element in what is restored
    u64 step[3];        // from one element to the next along the axes
    u32 whole, some;    // whether all of it is wanted, or anything
    u32 together;       // whether all is, and lanes have places in a row of neighbours

    DEV Target() {}
    template <class T> DEV Target(const Stream<T>& s, const Tile& t) {
        const Grid& g = s.head.grid;
        const Wanted& w = s.wanted;
        dst = w.dst;
        const u64* stride = w.boxed ? w.stride : g.stride;
        step[0] = stride[g.x];
        step[1] = g.y < MAX_RANK ? stride[g.y] : 0;
        step[2] = g.z < MAX_RANK ? stride[g.z] : 0;
        if (!w.boxed) {
            const u64 last =
                t.origin + (t.lx - 1) * step[0] + (t.ly - 1) * step[1] + z_offset(g, stride, t.chunk, t.lz - 1);
            origin = t.origin - w.first;
            whole = t.origin >= w.first && last - w.first < w.count;
            some = t.origin < w.first + w.count && last >= w.first;
            together = whole && g.a >= 2 && step[0] == 1;
            return;
        }
        whole = some = 1;
        origin = 0;
        u64 rest = t.chunk;
#pragma unroll 1
        for (u32 k = g.rank; k-- > 0;) {
            const u64 at = take_place(rest, g.tiles(k)) << g.side[k], end = min_of(at + (1ull << g.side[k]), g.len[k]);
            const u64 from = w.start[k], to = from + w.length[k];
            origin += (at - from) * stride[k];
            whole &= at >= from && end <= to;
            some &= at < to && end > from;
        }
        together = whole && g.a >= 2 && step[0] == 1;
    }
};

// Where an element goes, if it is wanted at all.
template <class T> DEV u64 number_of(const Stream<T>& s, const Target& to, const Tile& t, u32 x, u32 y, u32 z) {
    const Grid& g = s.head.grid;
    const Wanted& w = s.wanted;
    return to.origin + x * to.step[0] + y * to.step[1] +
           (g.z == MANY ? z_offset_of_many(g, w.boxed ? w.stride : g.stride, t.chunk, z) : z * to.step[2]);
}
template <class T> SELDOM bool find(const Stream<T>& s, const Target& to, const Tile& t, u32 x, u32 y, u32 z, u64& at) {
    const Grid& g = s.head.grid;
    const Wanted& w = s.wanted;
    at = number_of(s, to, t, x, y, z);
    if (to.whole) return true;
    if (!w.boxed) return at < w.count;
    u64 rest = t.chunk;
#pragma unroll 1
    for (u32 k = g.rank; k-- > 0;) {
        u64 c = take_place(rest, g.tiles(k)) << g.side[k];
        if (k == g.x)
            c += x;
        else if (k == g.y)
            c += y;
        else if (g.is_z(k)) {
            const u32 len = (u32)min_of(1ull << g.side[k], g.len[k] - c);
            c += z % len;
            z /= len;
        }
        if (c - w.start[k] >= w.length[k]) return false;
    }
    return true;
}

template <class T> DEV void put(u8* at, typename T::Word v) {
    enum { SIZE = T::BITS / 8 };
    if (((u64)at & (SIZE - 1)) == 0) {
        if (SIZE == 8) *(u64*)at = v;
        if (SIZE == 4) *(u32*)at = (u32)v;
        if (SIZE == 2) *(u16*)at = (u16)v;
        if (SIZE == 1) *at = (u8)v;
        return;
    }
#pragma unroll 1
    for (u32 i = 0; i < SIZE; i++) at[i] = (u8)(v >> (8 * i));
}
DEV void put_four(u8* at, const u32 (&v)[QUAD], F32) {
    store_streaming((uint4*)at, make_uint4(v[0], v[1], v[2], v[3]));
}
DEV void put_four(u8* at, const u64 (&v)[QUAD], F64) {
    store_streaming((uint4*)at, make_uint4((u32)v[0], (u32)(v[0] >> 32), (u32)v[1], (u32)(v[1] >> 32)));
    store_streaming((uint4*)at + 1, make_uint4((u32)v[2], (u32)(v[2] >> 32), (u32)v[3], (u32)(v[3] >> 32)));
}
DEV void put_four_halves(u8* at, const u32 (&v)[QUAD]) {
    *(uint2*)at = make_uint2(__byte_perm(v[0], v[1], 0x5410), __byte_perm(v[2], v[3], 0x5410));
}
DEV void put_four(u8* at, const u32 (&v)[QUAD], F16) { put_four_halves(at, v); }
DEV void put_four(u8* at, const u32 (&v)[QUAD], BF16) { put_four_halves(at, v); }
DEV void put_four(u8* at, const u32 (&v)[QUAD], B8) {
    *(u32*)at = (v[0] & 0xff) | (v[1] & 0xff) << 8 | (v[2] & 0xff) << 16 | v[3] << 24;
}

// Stores the elements of a lane's places, wherever they go.
template <class T>
SELDOM void put_each(const Stream<T>& s, const Target& to, const Tile& t, Quad q, u32 place, typename T::Word v0,
                     typename T::Word v1, typename T::Word v2, typename T::Word v3) {
    const Grid& g = s.head.grid;
    const typename T::Word v[QUAD] = {v0, v1, v2, v3};
    const bool in_row = g.a >= 2;
    u64 at = 0;
    if (in_row && to.whole) at = number_of(s, to, t, q.x, q.y, q.z);
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        if (!(q.has >> j & 1)) continue;
        if (in_row && to.whole) {
            put<T>(to.dst + (at + j * to.step[0]) * (T::BITS / 8), v[j]);
            continue;
        }
        Quad one = q;
        one.x += j;
        if (!in_row) one = place_of(g, t, place + j);
        u64 found;
        if (find(s, to, t, one.x, one.y, one.z, found)) put<T>(to.dst + found * (T::BITS / 8), v[j]);
    }
}
// The same, together where that can be done.
template <class T>
DEV void put_quad(const Stream<T>& s, const Target& to, const Tile& t, const Quad& q, u32 group, u32 lane,
                  typename T::Word (&v)[QUAD]) {
    enum { SIZE = T::BITS / 8, TOGETHER = QUAD * SIZE < 16 ? QUAD * SIZE : 16 };
    if (s.head.big_endian) {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = swapped<T>(v[j]);
    }
    if (q.has == 15 && to.together) {
        u8* p = to.dst + number_of(s, to, t, q.x, q.y, q.z) * SIZE;
        if (((u64)p & (TOGETHER - 1)) == 0) {
            put_four(p, v, T());
            return;
        }
    }
    if (q.has) put_each<T>(s, to, t, q, group * GROUP + lane * QUAD, v[0], v[1], v[2], v[3]);
}

// What a warp keeps of its tile, in shared memory, since registers are short.
template <class T> struct Own {
    Tile t;
    Target to;
};

// Decodes a packed body. STREAMING: in registers, else into `place`; slots, ring and sums are addresses in shared
// memory. For a whole warp.
template <class T, class Form, bool STREAMING>
DEV Verdict packed(const Stream<T>& s, const Tile& t, const Target& to, const u8* body, u32 bytes, u32 slots, u32 ring,
                   typename Form::Word* place) {
    typedef typename T::Word Word;
    const Grid& g = s.head.grid;
    const u32 lane = threadIdx.x & 31;
    const Prefix<T> p = read_prefix<T>(s.head, body, bytes, table_at(ring), lane);
    if (!uniform(p.good)) return BAD;
    const u32 groups = g.groups();
    Coder c;
    c.x = p.state;
    c.threshold = p.change == NEVER ? 0 : LOW;
    c.begin(p.words, s.src + s.head.stream_bytes, ring, lane);
    u32 some = 15;
    const bool full = t.count() == g.capacity() && g.capacity() % BATCH == 0;
    if (!uniform(full)) {
        // Lane l learns of groups 4·l … 4·l + 3 from all lanes.
        some = 0;
#pragma unroll 1
        for (u32 i = 0; uniform(i < groups); i++) {
            const bool any = __any_sync(FULL, quad_of(g, t, i, lane).has);
            if (i / BATCH_GROUPS == lane) some |= any << i % BATCH_GROUPS;
        }
    }
    const u32 classes = read_classes(c, groups, some, lane);
    Sums add(g, ring + TILE_RING_BYTES, lane);
    Met met = {0, 0};
    bool good = true;
    const bool bins = s.head.step_w && !p.exact, has_own = uniform(p.own);
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i++) {
        if (uniform(i == p.change)) good &= c.change();
        const u32 cls = __shfl_sync(FULL, classes, i / BATCH_GROUPS) >> (4 * (i % BATCH_GROUPS)) & 15;
        const Quad q = quad_of(g, t, i, lane);
        typename Form::Word d[QUAD] = {0, 0, 0, 0};
        if (uniform(cls)) {
            const u32 table = table_of(slots, table_at(ring), has_own, cls);
            if (uniform(__all_sync(FULL, q.has == 15)))
                decode_group<T, Form, true>(c, table, 15, lane, d, met);
            else
                decode_group<T, Form, false>(c, table, q.has, lane, d, met);
            if (STREAMING && T::BITS == 64 && uniform(__any_sync(FULL, met.far))) return AGAIN;
        }
        if constexpr (STREAMING) {
            add.add(d, p.set, q, i, lane);
            Word v[QUAD];
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) v[j] = (Word)((i64)(i32)d[j] + (typename T::Signed)p.base);
            restore<T>(s.quantizer, bins, s.head.is_float, p.shift, v);
            put_quad<T>(s, to, t, q, i, lane, v);
        } else {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++)
                if (i * GROUP + lane * QUAD + j < g.capacity()) place[i * GROUP + lane * QUAD + j] = d[j];
        }
    }
    if (uniform(p.change == groups)) good &= c.change();
    if (!uniform(good) || !uniform(ended_well(c, body + bytes))) return BAD;
    if constexpr (STREAMING) {
        const u64 sum = T::BITS == 64 ? warp_sum((u64)met.sum) : 0;
        return uniform(__any_sync(FULL, met.far) || sum >> 31) ? AGAIN : GOOD;
    } else {
        __syncwarp();
        add_all(g, place, p.set, lane);
#pragma unroll 1
        for (u32 i = 0; uniform(i < groups); i++) {
            const Quad q = quad_of(g, t, i, lane);
            Word v[QUAD];
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) {
                const u32 at = i * GROUP + lane * QUAD + j;
                v[j] = (Word)(at < g.capacity() ? place[at] : 0) + p.base;
            }
            restore<T>(s.quantizer, bins, s.head.is_float, p.shift, v);
            put_quad<T>(s, to, t, q, i, lane, v);
        }
        __syncwarp();
        return GOOD;
    }
}

// The same in registers.
template <class T>
SELDOM Verdict packed_in_pieces(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 slots, u32 ring) {
    return packed<T, Narrow, true>(s, own.t, own.to, body, bytes, slots, ring, nullptr);
}

// The same in a place of memory, which is this warp's until it is done.
template <class T>
SELDOM Verdict packed_in_memory(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 slots, u32 ring) {
    const u32 lane = threadIdx.x & 31;
    u32 mine = (u32)(own.t.chunk % s.place_count);
    if (lane == 0)
        while (!take_word(&s.busy[mine])) {
            mine = (mine + 1) % s.place_count;
            YIELD();
            hold_back();
        }
    mine = __shfl_sync(FULL, mine, 0);
    __syncwarp();
    u64* place = (u64*)(s.places + (u64)mine * TILE_PLACE_BYTES);
    const Verdict verdict = packed<T, Wide, false>(s, own.t, own.to, body, bytes, slots, ring, place);
    __syncwarp();
    if (lane == 0) give_word(&s.busy[mine]);
    return verdict;
}

// An element that lies at a multiple of 4, or of its own size.
template <class T> DEV typename T::Word element_at(const u8* p) {
    if (T::BITS == 64) return *(const u32*)p | (typename T::Word)(*(const u32*)(p + 4)) << (T::BITS / 2);
    return T::BITS == 32 ? *(const u32*)p : T::BITS == 16 ? *(const u16*)p : *p;
}

// A raw body, or a constant one. For a whole warp.
template <class T> SELDOM bool stored(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 kind) {
    enum { SIZE = T::BITS / 8 };
    const Grid& g = s.head.grid;
    const Tile& t = own.t;
    const u32 lane = threadIdx.x & 31, used = kind == KIND_RAW ? t.count() * SIZE : SIZE, at = used + lane;
    const bool good = __all_sync(FULL, at >= bytes || body[at] == 0);
    if (!uniform(own.to.some)) return good;
#pragma unroll 1
    for (u32 i = 0; uniform(i < g.groups()); i++) {
        const Quad q = quad_of(g, t, i, lane);
        typename T::Word v[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            Quad one = q;
            one.x += j;
            if (g.a < 2) one = place_of(g, t, i * GROUP + lane * QUAD + j);
            const u32 n = kind == KIND_RAW ? (one.z * t.ly + one.y) * t.lx + one.x : 0;
            v[j] = q.has >> j & 1 ? element_at<T>(body + n * SIZE) : 0;
        }
        put_quad<T>(s, own.to, t, q, i, lane, v);
    }
    return good;
}

DEV u32 read32(const u8* p) { return p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24; }
template <class T> DEV void put_value(const Stream<T>& s, const Own<T>& own, u32 n, u64 mask, u64 bits) {
    const Tile& t = own.t;
    if (!own.to.some) return;
    typename T::Word v = (typename T::Word)bits;
    if (s.head.big_endian) v = swapped<T>(v);
#pragma unroll 1
    for (; mask && n < t.count(); mask >>= 1, n++) {
        if (!(mask & 1)) continue;
        u64 place;
        const u32 x = n % t.lx, y = n / t.lx % t.ly, z = n / t.lx / t.ly;
        if (find(s, own.to, t, x, y, z, place)) put<T>(own.to.dst + place * (T::BITS / 8), v);
    }
}

// The plane of a masked body (docs/format.md §5), and the missing values over what was restored. Lane b has block b of
// the plane, and goes through its bits 64 by 64, of all values at a time. For a whole warp.
template <class T> SELDOM bool put_missing(const Stream<T>& s, const Own<T>& own, const u8* body, u32 plane) {
    const u32 lane = threadIdx.x & 31, which = body[0] & 15, capacity = s.head.grid.capacity();
    const u32 block = capacity / 32 > 64 ? capacity / 32 : 64, words = block / 64,
              blocks = (capacity + block - 1) / block;
    u32 at = 4, first[MAX_MISSING], flags[MAX_MISSING], changes[MAX_MISSING];
    bool good = true;
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < MAX_MISSING; k++) {
        first[k] = flags[k] = changes[k] = 0;
        if (!uniform(which >> k & 1)) continue;
        if (at + 8 > plane) return false;
        const u32 starts = read32(body + at), mixed = read32(body + at + 4), beyond = ~low_ones(blocks);
        at += 8;
        if ((starts | mixed) == 0 || (starts | mixed) & beyond || at + words * __popc(mixed) > plane) return false;
        first[k] = starts >> lane & 1;
        u32 own_bytes = 0;
        if (mixed >> lane & 1) {
            flags[k] = at + words * __popc(mixed & low_ones(lane));
            for (u32 w = 0; w < words; w++) own_bytes += __popc((u32)body[flags[k] + w]);
            good &= own_bytes != 0;
        }
        at += words * __popc(mixed);
        const u32 up_to = warp_running_sum(own_bytes);
        changes[k] = at + up_to - own_bytes;
        at += __shfl_sync(FULL, up_to, 31);
        if (at > plane) return false;
    }
    good &= plane - at < UNIT && (at + lane >= plane || body[at + lane] == 0);
    if (lane < blocks)
#pragma unroll 1
        for (u32 w = 0; w < words; w++) {
            u64 seen = 0;
#pragma unroll
            for (u32 k = 0; k < MAX_MISSING; k++) {
                if (!(which >> k & 1)) continue;
                u64 mask = 0;
                const u32 flag = flags[k] ? body[flags[k] + w] : 0;
#pragma unroll 1
                for (u32 j = 0; j < 8; j++)
                    if (flag >> j & 1) {
                        const u32 change = body[changes[k]++];
                        good &= change != 0;
                        mask |= (u64)change << (8 * j);
                    }
                if (w == 0) good &= !(mask & 1);
#pragma unroll
                for (u32 j = 1; j < 64; j *= 2) mask ^= mask << j;
                if (first[k]) mask = ~mask;
                first[k] = (u32)(mask >> 63);
                good &= !(mask & seen);
                seen |= mask;
                put_value(s, own, lane * block + w * 64, mask, s.head.missing[k]);
            }
        }
    return __all_sync(FULL, good);
}
// Restores a tile from its body; false if that is not valid. For a whole warp.
template <class T>
DEV bool restore_tile(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 kind, u32 slots, u32 ring) {
    u32 plane = 0;
    if (T::EXPONENT && uniform(kind == KIND_MASKED)) {
        const u32 head = *(const u32*)body, which = head & 15, element = (T::BITS / 8 + UNIT - 1) / UNIT * UNIT;
        plane = (head >> 16) * UNIT;
        kind = head >> 6 & 3;
        if (which == 0 || which >> s.head.values || head & 0xff30 || plane < UNIT || plane >= bytes) return false;
        if (kind != KIND_PACKED && (kind != KIND_CONSTANT || bytes - plane != element)) return false;
    }
    bool good;
    if (uniform(kind == KIND_PACKED)) {
        Verdict verdict = AGAIN;
        const Grid& g = s.head.grid;
        const bool by_rows = own.to.whole && sums_fit(g) && rows_fit(g, own.to.step) && !s.head.big_endian &&
                             ((u64)own.to.dst & (T::BITS / 8 - 1)) == 0;
        const u32 stages = ring + TILE_RING_BYTES + TILE_SUM_BYTES;
        if (uniform(by_rows && g.a > GROUP_LOG2))
            verdict = packed_rows<T, true>(s, own, body + plane, bytes - plane, slots, ring, stages);
        else if (uniform(by_rows))
            verdict = packed_rows<T, false>(s, own, body + plane, bytes - plane, slots, ring, stages);
        else if (uniform(sums_fit(g) && own.to.some))
            verdict = packed_in_pieces<T>(s, own, body + plane, bytes - plane, slots, ring);
        if (uniform(verdict == AGAIN))
            verdict = own.to.some ? packed_in_memory<T>(s, own, body + plane, bytes - plane, slots, ring) : GOOD;
        good = verdict == GOOD;
    } else {
        good = stored<T>(s, own, body + plane, bytes - plane, kind);
    }
    if (T::EXPONENT && uniform(plane && good && own.to.some)) good = put_missing<T>(s, own, body, plane);
    return good;
}

// Whether anything of a group of tiles is wanted. For a whole warp.
template <class T> DEV bool group_is_wanted(const Stream<T>& s, u64 group, u32 lane) {
    bool some = false;
    for (u32 k = lane; k < GROUP_CHUNKS; k += 32) {
        const u64 chunk = group * GROUP_CHUNKS + k;
        if (chunk < s.head.grid.chunks) some |= Target(s, tile_of(s.head.grid, chunk)).some != 0;
    }
    return __any_sync(FULL, some);
}

// Works from one of an array's work slots. For a whole block; shared: what warps have of their own.
template <class T>
DEV void decompress_one(const Stream<T>& s, Own<T>& own, u32 slots, u32 ring, u64* disagreements, u64 work_slot) {
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5);
    const u64 chunks = s.head.grid.chunks;
    const bool all = !s.wanted.boxed && s.wanted.count == s.head.grid.count;
    bool good = check_index(s.src, s.head, s.control, work_slot, s.work_slots);
    u64 disagreement = 0;
    u64 group = ~0ull;
    bool is_wanted = true;
    const bool any = s.wanted.boxed || s.wanted.count > 0;
    for (;;) {
        const u64 chunk = __shfl_sync(FULL, count_if(lane == 0, &s.control->ticket), 0);
        if (uniform(chunk >= chunks || !any)) break;
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
        const u8* at = s.src + body.at;
        const u64 sum = warp_sum(keyed_sum(at, body.bytes, lane));
        disagreement += disagreement_of(s.src, s.head, chunk, sum);
        if (lane == 0) {
            own.t = tile_of(s.head.grid, chunk);
            own.to = Target(s, own.t);
        }
        __syncwarp();
        good &= restore_tile<T>(s, own, at, body.bytes, body.kind, slots, ring);
        __syncwarp();    // all are done with what is kept of the tile
    }
    if (!good && lane == 0) fail(s.control, STATUS_CORRUPT);
    if (lane == 0) disagreements[warp] = disagreement;
    __syncthreads();
    if (threadIdx.x) return;
    for (u32 w = 1; w < blockDim.x / 32; w++) disagreement += disagreements[w];
    const u64 bytes = s.wanted.boxed ? 0 : s.wanted.count * s.head.element_bytes;
    close(s.control, s.src, s.head, bytes, disagreement, s.outcome, s.work_slots);
}

template <class T> DEV void decompress(const TileDecompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED Stream<T> stream;
    SHARED u64 disagreements[32];
    u8* own = (u8*)shared + TILE_BLOCK_BYTES + uniform(threadIdx.x >> 5) * TILE_WARP_BYTES;
    static_assert(sizeof(Own<T>) <= TILE_OWN_BYTES && TILE_TABLE_BYTES == 4u << TABLE_BITS,
                  "what the host reckons with");
    make_tables((u32*)shared);
    const u32 lane = threadIdx.x & 31;
    const Batch& batch = a.common.batch;
    for (u64 work_slot = blockIdx.x; uniform(work_slot < batch.work_slots); work_slot += gridDim.x) {
        __syncthreads();    // everyone is done with the array before
        if (threadIdx.x < 32) {
            const u32 i = array_of(batch, work_slot, lane);
            if (lane == 0) stream.open(a, i);
        }
        __syncthreads();
        if (stream.status == 0)
            decompress_one(stream, *(Own<T>*)(own + TILE_RING_BYTES + TILE_SUM_BYTES + TILE_STAGE_BYTES),
                           shared_address(shared), shared_address(own), disagreements, work_slot - stream.first);
        else if (work_slot == stream.first && threadIdx.x == 0)
            report(stream.outcome, 0, stream.status);
    }
}

}    // namespace ratio
