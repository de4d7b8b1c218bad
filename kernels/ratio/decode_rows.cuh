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
template <class Word> DEV void sum_rows(Word (&v)[QUAD], Word (&carried)[QUAD], u32 a, u32 lane) {
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

// Where sums are kept of words as wide as a form has them: in the shared memory of the warp, or in its place.
template <class Word> struct KeptAt {
    typedef u32 At;
    DEV static u32 of(u32 shared, void*) { return shared; }
};
template <> struct KeptAt<u64> {
    typedef u64* At;
    DEV static u64* of(u32, void* place) { return (u64*)place; }
};

// Decodes a packed body. It has registers of its own. Form: what its words are decoded into. HAS_FORM: what stands
// before the states is read already (decode_forms.cuh), and the words have all their bits in those of Form. For a whole
// warp; slots, ring and stages are addresses in shared memory, `place` is memory for as many words as a tile has, where
// they are Wide.
template <class T, class Form, bool LINE, bool HAS_FORM>
SELDOM Verdict packed_rows(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 slots, u32 ring,
                           u32 stages, void* place) {
    typedef typename T::Word Word;
    typedef typename Form::Word Residual;
    typedef KeptAt<Residual> Kept;
    enum { SIZE = T::BITS / 8, IS_WIDE = sizeof(Residual) > 4, STAGE_STEP = IS_WIDE ? 0 : 4 * GROUP };
    const Grid& g = s.head.grid;
    const u32 lane = threadIdx.x & 31, groups = g.groups();
    const Prefix<T> p =
        read_prefix<T>(s.head, body, bytes, table_at(ring), lane, HAS_FORM ? uniform(own.side.states_at) : 0);
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
    Sums<Residual, typename Kept::At> add(g, Kept::of(ring + TILE_RING_BYTES, place), lane);
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
    const TileForm form = TileForm::of(HAS_FORM ? uniform(own.side.form) : 0);
    LowBits low;
    bool known = false;
    if (HAS_FORM && uniform(form.low)) {
        low.begin(own.side, body, bytes);
        known = low.all_have(rows.full);
    }
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i++) {
        if (uniform(i == change)) good &= c.change();
        if (!uniform(rows.exists(i))) continue;
        const u32 cls = __shfl_sync(FULL, classes, i / BATCH_GROUPS) >> (4 * (i % BATCH_GROUPS)) & 15;
        const u32 has = rows.quads(i, lane);
        FourNumbers<Residual> numbers;
        if (HAS_FORM && known) numbers.ask(low, i * GROUP + lane * QUAD);
        Residual d[QUAD] = {0, 0, 0, 0};
        if (uniform(cls)) {
            const u32 table = table_of(slots, table_at(ring), has_own, cls);
            if (uniform(__all_sync(FULL, has == 15)))
                decode_group<T, Form, true>(c, table, 15, lane, d, met);
            else
                decode_group<T, Form, false>(c, table, has, lane, d, met);
            if (T::BITS == 64 && !IS_WIDE && uniform(__any_sync(FULL, met.far))) return AGAIN;
        }
        if constexpr (HAS_FORM)
            if (uniform(form.low)) {
#pragma unroll
                for (u32 j = 0; j < QUAD; j++) d[j] = Form::code(d[j]);
                if (known)
                    numbers.template complete<true>(low, i * GROUP + lane * QUAD, 15, d);
                else
                    low.complete(d, has);
#pragma unroll
                for (u32 j = 0; j < QUAD; j++)
                    d[j] = Form::residual(T::BITS < 32 ? d[j] & low_ones(T::BITS & 31) : d[j]);
            }
        const bool begins_plane = rows.begins_plane(i);
        if (!LINE && uniform(set != 0 && set != all)) add.add_on_face(d, set, rows.quad_of(i, lane, has), i, lane);
        if (!LINE && uniform(set & 4))
            add.template add_kept<QUAD>(d, after(add.planes, i & low_ones(rows.plane_log2)), rows.z_of(i) == 0);
        if (uniform(set & 1)) add.along_x(d, i);
        quads_to_strides(d, stages + stage, lane);
        stage ^= STAGE_STEP;
        if (!LINE && uniform(set & 2)) {
            if (uniform(begins_plane)) add.column[0] = add.column[1] = add.column[2] = add.column[3] = 0;
            sum_rows(d, add.column, rows.a, lane);
        }
        Word v[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++)
            v[j] = IS_WIDE ? (Word)d[j] + base : (Word)((i64)(i32)d[j] + (typename T::Signed)base);
        const u32 there = rows.strides(i, lane);
        if (HAS_FORM)
            good &= from_words<T>(form, own.side, body, is_float, there, v);
        else
            restore<T>(quantizer, bins, is_float, shift, v);
        u8* const to = out + rows.start(i) * SIZE;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++)
            if (there >> j & 1) put_aligned(to + at[j], v[j], T());
    }
    if (uniform(change == groups)) good &= c.change();
    if (HAS_FORM && uniform(form.low) && !known) good &= low.taken == own.side.numbers;
    if (!uniform(__all_sync(FULL, good)) || !uniform(ended_well(c, body + bytes))) return BAD;
    const u64 sum = T::BITS == 64 && !IS_WIDE ? warp_sum((u64)met.sum) : 0;
    return uniform(__any_sync(FULL, met.far) || sum >> 31) ? AGAIN : GOOD;
}

}    // namespace ratio
