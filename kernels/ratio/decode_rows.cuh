// A packed body of a tile that is decoded by rows (rows.cuh), all of which is wanted: from codes to elements without
// anything of the tile being kept but what sums carry on.
//
//   ring, sums   as decode.cuh and sums.cuh say
//   stages       two of 512 bytes of each warp, which take turns, so that lanes wait for each other once a group
#pragma once
#include "rows.cuh"
#include "sums.cuh"
#include "target.cuh"

namespace ratio {

DEV void put_aligned(u8* at, u32 v, F32) { *(u32*)at = v; }
DEV void put_aligned(u8* at, u64 v, F64) { *(u64*)at = v; }
DEV void put_aligned(u8* at, u32 v, F16) { *(u16*)at = (u16)v; }
DEV void put_aligned(u8* at, u32 v, BF16) { *(u16*)at = (u16)v; }
DEV void put_aligned(u8* at, u32 v, B8) { *at = (u8)v; }

// Sums along y, where rows lie above each other; `carried` is what the rows of the plane before this group came to.
DEV void sum_rows(u32 (&v)[QUAD], u32 (&carried)[QUAD], u32 a, u32 lane) {
    if (uniform(a == 5)) {
        v[0] += carried[0];
        v[1] += v[0];
        v[2] += v[1];
        carried[0] = v[3] += v[2];
    } else if (uniform(a == 6)) {
        v[0] += carried[0];
        v[1] += carried[1];
        carried[0] = v[2] += v[0];
        carried[1] = v[3] += v[1];
    } else if (uniform(a == 7)) {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) carried[j] = v[j] += carried[j];
    } else {
        const u32 last = lane | (31 & ~low_ones(a));
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
#pragma unroll 1
            for (u32 distance = 1u << a; uniform(distance < 32); distance *= 2)
                add_from_below_clamped(v[j], distance, 0);
            v[j] += carried[0];
            carried[0] = __shfl_sync(FULL, v[j], last);
        }
    }
}

// Decodes a packed body. It has registers of its own. FORM: the tile's form is not plain, and what stands before the
// states is read; differences are along axes, without low bits if words have 64. For a whole warp; slots, ring and
// stages are addresses in shared memory.
template <class T, bool LINE, bool FORM>
SELDOM Verdict packed_rows(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 slots, u32 ring,
                           u32 stages) {
    typedef typename T::Word Word;
    enum { SIZE = T::BITS / 8 };
    const Grid& g = s.head.grid;
    const u32 lane = threadIdx.x & 31, groups = g.groups();
    const Prefix<T> p =
        read_prefix<T>(s.head, body, bytes, table_at(ring), lane, FORM ? uniform(own.side.states_at) : 0);
    if (!uniform(p.good)) return BAD;
    Coder c;
    c.x = p.state;
    c.threshold = p.change == NEVER ? 0 : LOW;
    c.begin(p.words, s.src + s.head.stream_bytes, ring, lane);
    const Rows128<LINE> rows(g, own.t, own.to.step, lane);
    u32 some = 0;
#pragma unroll
    for (u32 k = 0; k < BATCH_GROUPS; k++) some |= (u32)rows.exists(BATCH_GROUPS * lane + k) << k;
    const u32 classes = read_classes(c, groups, some, lane);
    Sums add(g, ring + TILE_RING_BYTES, lane);
    const u32 set = uniform(p.set), change = uniform(p.change), shift = uniform(p.shift),
              is_float = uniform(s.head.is_float);
    const bool bins = uniform(s.head.step_w && !p.exact), has_own = uniform(p.own);
    const u32 all = uniform(g.set());
    const Word base = p.base;
    const Quantizer<T> quantizer = s.quantizer;
    u8* const out = own.to.dst + own.to.origin * SIZE;
    u32 at[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) at[j] = rows.offset(j, lane) * SIZE;
    Met met = {0, 0};
    bool good = true;
    u32 stage = 0;
    const TileForm form = TileForm::of(FORM ? uniform(own.side.form) : 0);
    LowBits low;
    if (FORM && uniform(form.low)) low.begin(own.side, body, bytes);
    const double power = FORM ? power_of(own.side.digits) : 1;
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i++) {
        if (uniform(i == change)) good &= c.change();
        if (!uniform(rows.exists(i))) continue;
        const u32 cls = __shfl_sync(FULL, classes, i / BATCH_GROUPS) >> (4 * (i % BATCH_GROUPS)) & 15;
        const u32 has = rows.quads(i, lane);
        u32 d[QUAD] = {0, 0, 0, 0};
        if (uniform(cls)) {
            const u32 table = table_of(slots, table_at(ring), has_own, cls);
            if (uniform(__all_sync(FULL, has == 15)))
                decode_group<T, Narrow, true>(c, table, 15, lane, d, met);
            else
                decode_group<T, Narrow, false>(c, table, has, lane, d, met);
            if (T::BITS == 64 && uniform(__any_sync(FULL, met.far))) return AGAIN;
        }
        if constexpr (FORM && T::BITS <= 32)
            if (uniform(form.low)) {
#pragma unroll
                for (u32 j = 0; j < QUAD; j++) d[j] = Narrow::code(d[j]);
                low.complete(d, has);
#pragma unroll
                for (u32 j = 0; j < QUAD; j++) d[j] = Narrow::residual(wrap<T>(d[j]));
            }
        const bool begins_plane = rows.begins_plane(i);
        if (!LINE && uniform(set != 0 && set != all)) add.add_on_face(d, set, rows.quad_of(i, lane, has), i, lane);
        if (!LINE && uniform(set & 4))
            add.add_kept<QUAD>(d, add.planes + (i & low_ones(rows.plane_log2)) * (4 * GROUP), rows.z_of(i) == 0);
        if (uniform(set & 1)) add.along_x(d, i);
        quads_to_strides(d, stages + stage, lane);
        stage ^= 4 * GROUP;
        if (!LINE && uniform(set & 2)) {
            if (uniform(begins_plane)) add.column[0] = add.column[1] = add.column[2] = add.column[3] = 0;
            sum_rows(d, add.column, rows.a, lane);
        }
        Word v[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = (Word)((i64)(i32)d[j] + (typename T::Signed)base);
        const u32 there = rows.strides(i, lane);
        if (FORM)
            good &= from_words<T>(form, own.side, body, power, is_float, there, v);
        else
            restore<T>(quantizer, bins, is_float, shift, v);
        u8* const to = out + rows.start(i) * SIZE;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++)
            if (there >> j & 1) put_aligned(to + at[j], v[j], T());
    }
    if (uniform(change == groups)) good &= c.change();
    if (FORM && uniform(form.low)) good &= low.taken == own.side.numbers;
    if (!uniform(__all_sync(FULL, good)) || !uniform(ended_well(c, body + bytes))) return BAD;
    const u64 sum = T::BITS == 64 ? warp_sum((u64)met.sum) : 0;
    return uniform(__any_sync(FULL, met.far) || sum >> 31) ? AGAIN : GOOD;
}

}    // namespace ratio
