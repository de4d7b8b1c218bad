// A tile of bins that is encoded by rows (rows.cuh), from the last group to the first: elements are read once, and of
// their words only differences go to memory. Those along z and y are taken between strides, those along x between
// quads.
//
//   plane    TILE_PLANE_BYTES of each warp   the bins of the plane that is coded, as strides: each lane its own; where
//   a
//                                            group's have been used, those of the plane below take their place
//   stages   TILE_STAGE_BYTES                two groups on their way from strides to quads, which take turns
#pragma once
#include "encode.cuh"
#include "rows.cuh"

namespace ratio {

// Whether a tile is encoded by rows.
template <class T> DEV bool by_rows(const Source<T>& s) {
    return rows_fit(*s.grid, s.step) && plane_groups(*s.grid) <= TILE_PLANE_BYTES / (4 * GROUP) && !s.big_endian &&
           ((u64)s.src & (T::BITS / 8 - 1)) == 0;
}

// What words of a tile that is coded by rows stand for, in registers; differences of such words are numbers of 32 bits.

// Bins of numbers that are below K, as quotients that need no correction.
template <class T> struct NearBins {
    typedef typename T::Word Word;
    typedef FewBins<T> Form;    // whose sums are enough
    typename T::Float inverse, step, bound;
    u32 base, limit;    // of the tile's bins; bins are below this one
    u32 beyond;         // other than 0 once an element has no such bin

    DEV NearBins(const Source<T>& s) {
        const Quantizer<T>& q = s.quantizer;
        const Word most = q.k - 2, short_ones = 1 << 21;
        inverse = q.inverse;
        step = q.step;
        bound = q.bound;
        base = (u32)s.base;
        limit = (u32)(most < short_ones ? most : short_ones);
        beyond = (u64)((i64)(typename T::Signed)s.base + limit) >= 2 * (u64)limit;
    }
    // The bin, from the tile's base on.
    DEV u32 of(Word bits) { return of_number(Quantizer<T>::number_of_element(bits)) - base; }
    DEV u32 of_number(float v) {
        const float biased = v * inverse + 12582912.0f;
        const u32 bin = bits_of(biased) - 0x4B400000u;
        const bool near = fabsf(fused(12582912.0f - biased, step, v)) <= bound;
        beyond |= near && bin + limit < 2 * limit ? 0 : 1;
        return bin;
    }
    DEV u32 of_number(double v) {
        const double biased = v * inverse + 6755399441055744.0;
        const u64 bin = bits_of(biased) - 0x4338000000000000ull;
        const bool near = fabs(fused(6755399441055744.0 - biased, step, v)) <= bound;
        beyond |= near && bin + limit < 2 * (u64)limit ? 0 : 1;
        return (u32)bin;
    }
};

// Elements' bits, of types of up to 32 bits.
template <class T> struct ElementBits {
    typedef typename T::Word Word;
    typedef AnyWords<T> Form;
    u32 base, shift, drop, is_float;
    u32 beyond;

    DEV ElementBits(const Source<T>& s) {
        base = (u32)s.base;
        shift = s.shift;
        drop = s.drop;
        is_float = s.is_float;
        beyond = 0;
    }
    DEV u32 of(Word bits) {
        if (drop) bits = Rounding<T>{drop}.apply(bits);
        if (is_float && negative<T>(bits)) bits ^= ((Word)1 << (T::BITS - 1)) - 1;
        return (u32)(Source<T>::extended(bits) >> shift) - base;
    }
};

// Where `choose` has words from: elements of the array, of a tile that is coded by rows.
template <class T, class Words> struct Fresh {
    const Source<T>& s;
    Words bins;
    DEV void load(Rows<u32>& rows, const Quad& q, u32, u32 axes, u32 lane) {
        enum { SIZE = T::BITS / 8 };
        const u64 up = s.step[1] * SIZE, back = s.step[2] * SIZE;
        const bool by_y = axes & 2 && q.y && q.has, by_z = axes & 4 && q.z && q.has;
        const u8* p = s.place_of_element(q.x, q.y, q.z);
        typename T::Word e[4][QUAD];
        s.elements(p, q.has, e[0]);
        s.elements(p - up, by_y ? q.has : 0, e[1]);
        s.elements(p - back, by_z ? q.has : 0, e[2]);
        s.elements(p - back - up, by_y && by_z ? q.has : 0, e[3]);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const bool has = q.has >> j & 1;
            rows.own[j] = has ? bins.of(e[0][j]) : 0;
            rows.y[j] = has && by_y ? bins.of(e[1][j]) : 0;
            rows.z[j] = has && by_z ? bins.of(e[2][j]) : 0;
            rows.yz[j] = has && by_y && by_z ? bins.of(e[3][j]) : 0;
        }
        rows.before[0] = rows.before[1] = rows.before[2] = rows.before[3] = 0;
        if (s.grid->a > GROUP_LOG2 && lane == 0 && q.x) rows.before[0] = bins.of(s.element_at(p - SIZE));
    }
};

// An element where it belongs; `copied`: of a tile that this warp has copied.
DEV u32 element_of(const u8* p, bool copied, F32) { return copied ? *(const u32*)p : load_once((const u32*)p); }
DEV u64 element_of(const u8* p, bool copied, F64) { return copied ? *(const u64*)p : load_once((const u64*)p); }
DEV u32 element_of(const u8* p, bool copied, F16) { return copied ? *(const u16*)p : load_once((const u16*)p); }
DEV u32 element_of(const u8* p, bool copied, BF16) { return copied ? *(const u16*)p : load_once((const u16*)p); }

// The elements of a group as strides, on their way.
template <class T> struct Strides {
    typename T::Word v[QUAD];
    u32 there;    // which of them there are

    // From a tile that begins at `tile`; `at`: how far its strides are from where a group begins.
    template <bool LINE>
    DEV void load(const u8* tile, bool copied, const Rows128<LINE>& rows, const u32 (&at)[QUAD], u32 group, u32 lane) {
        const u8* p = tile + rows.start(group) * (T::BITS / 8);
        there = uniform(rows.exists(group)) ? rows.strides(group, lane) : 0;
        if (uniform(copied)) {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) v[j] = there >> j & 1 ? element_of(p + at[j], true, T()) : 0;
            return;
        }
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = there >> j & 1 ? element_of(p + at[j], false, T()) : 0;
    }
    // Their bins, 0 where there is none.
    template <class Words> DEV void bins(Words& bins, Survey<T>& all, u32 (&w)[QUAD]) const {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const typename T::Word magnitude = v[j] & ones<T>(T::BITS - 1);
            all.any |= v[j];
            all.most = magnitude > all.most ? magnitude : all.most;
            const u32 bin = bins.of(v[j]);
            w[j] = there >> j & 1 ? bin : 0;
        }
    }
};

// Differences along y of strides: `before` are those of the group before, 0 where a plane begins.
DEV void subtract_rows(u32 (&v)[QUAD], const u32 (&before)[QUAD], u32 a, u32 lane) {
    if (uniform(a == 5)) {
        v[3] -= v[2];
        v[2] -= v[1];
        v[1] -= v[0];
        v[0] -= before[3];
    } else if (uniform(a == 6)) {
        v[3] -= v[1];
        v[2] -= v[0];
        v[1] -= before[3];
        v[0] -= before[2];
    } else if (uniform(a == 7)) {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] -= before[j];
    } else {
        const u32 side = 1u << a;
#pragma unroll
        for (u32 j = QUAD; j-- > 0;) {
            const u32 other = lane >= 32 - side ? (j ? v[j ? j - 1 : 0] : before[3]) : v[j];
            v[j] -= __shfl_sync(FULL, other, (lane - side) & 31);
        }
    }
}

// Elements of a lane's quad on the face of a set have their differences along the other axes instead. They are words as
// yet, since no neighbour has been subtracted from them. For a whole warp; no function of its own, as a call in the
// encoder's loop would put what it keeps into memory.
template <class T, bool LINE, class Words>
DEV void face_differences(const u8* tile, bool copied, const Rows128<LINE>& rows, Words& bins, u32 set, u32 others,
                          const Quad& q, u32 lane, u32 (&d)[QUAD]) {
    enum { SIZE = T::BITS / 8 };
    const bool one = set & 1, mine = q.has && on_face(set, q);
    const u64 up = rows.pitch * SIZE, back = (u64)rows.plane_pitch * SIZE;
    const u8* p = tile + q.x * SIZE + q.y * up + q.z * back;
    u32 r[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) r[j] = d[j];
    if (uniform(one)) {
        const bool by_y = mine && others & 2 && q.y, by_z = mine && others & 4 && q.z;
        const typename T::Word y = by_y ? element_of(p - up, copied, T()) : 0,
                               z = by_z ? element_of(p - back, copied, T()) : 0,
                               yz = by_y && by_z ? element_of(p - back - up, copied, T()) : 0;
        const u32 of_y = bins.of(y), of_z = bins.of(z), of_yz = bins.of(yz);
        r[0] -= (by_y ? of_y : 0) + (by_z ? of_z : 0) - (by_y && by_z ? of_yz : 0);
        d[0] = mine ? r[0] : d[0];
        return;
    }
    // Faces of others have one axis besides x.
    const bool has_other = others & 4 ? q.z : others & 2 && q.y;
    p -= others & 4 ? back : up;
    typename T::Word e[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++)
        e[j] = mine && has_other && q.has >> j & 1 ? element_of(p + j * SIZE, copied, T()) : 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        const u32 bin = bins.of(e[j]);
        r[j] -= mine && has_other && q.has >> j & 1 ? bin : 0;
    }
    const u32 before = __shfl_sync(FULL, r[3], (lane - 1) & 31);
#pragma unroll
    for (u32 j = QUAD; j-- > 0;) {
        r[j] -= j ? r[j ? j - 1 : 0] : q.x ? before : 0;
        d[j] = mine ? r[j] : d[j];
    }
}

// What became of it: `beyond` where an element has no such word; nothing else is told then.
template <class T> struct ByRows {
    Made made;
    Survey<T> all;
    u32 beyond;
};

// The body of a tile's words, as `encode` makes it. It has registers of its own.
template <class T, bool LINE, class Words>
SELDOM ByRows<T> encode_rows(Source<T>& s, u32 symbols, Words bins, u32 plane, u8* end, u32 limit) {
    Survey<T> all;
    enum { SIZE = T::BITS / 8 };
    const Grid& g = *s.grid;
    const u32 lane = threadIdx.x & 31, groups = uniform(g.groups()), allowed = uniform(g.set());
    const Fresh<T, Words> fresh = {s, bins};
    const Choice<u32> choice = choose<T, typename Words::Form>(s, fresh);
    const u32 set = uniform(choice.set);
    bins.base += choice.middle;
    const Rows128<LINE> rows(g, s.t, s.step, lane);
    const u32 below = uniform(set & 4) ? 1u << rows.plane_log2 : 0, stages = plane + TILE_PLANE_BYTES;
    u32 at[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) at[j] = rows.offset(j, lane) * SIZE;
    plane += 4 * lane;
    const u8* const tile = s.src + s.t.origin * SIZE;
    const bool copied = uniform(s.copied);
    const auto kept = [&](u32 group) { return plane + (group & (below - 1)) * (4 * GROUP); };
    Strides<T> elements;
    // The bins of the last plane, of which the one below is subtracted from.
    all.any = all.most = 0;
#pragma unroll 1
    for (u32 k = 0; !LINE && uniform(k < below); k++) {
        u32 w[QUAD];
        elements.load(tile, copied, rows, at, groups - 1 - k, lane);
        elements.bins(bins, all, w);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) store_shared32(kept(groups - 1 - k) + 128 * j, w[j]);
    }
    // Bins of a group, less those of the plane below; the elements that the next one needs are asked for.
    const auto next_group = [&](u32 group, u32(&w)[QUAD]) {
        u32 other[QUAD] = {0, 0, 0, 0};
        if (uniform(group >= below)) elements.bins(bins, all, other);
        if (uniform(group > below)) elements.load(tile, copied, rows, at, group - 1 - below, lane);
        if (LINE || !uniform(below)) {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) w[j] = other[j];
            return;
        }
        const u32 place = kept(group);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            w[j] = load_shared32(place + 128 * j) - other[j];
            store_shared32(place + 128 * j, other[j]);
        }
    };
    Groups found = {set, 0, 0, 0};
    u32* const kept_codes = (u32*)s.words + lane * QUAD;
    clear_counts(s.counts);
    all.exact = 0;
    u32 now[QUAD], stage = 0;
    elements.load(tile, copied, rows, at, groups - 1 - below, lane);
    next_group(groups - 1, now);
#pragma unroll 1
    for (u32 i = groups; uniform(i-- > 0);) {
        u32 d[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) d[j] = now[j];
        if (uniform(i > 0)) next_group(i - 1, now);
        if (!uniform(rows.exists(i))) continue;
        if (i / BATCH_GROUPS == lane) found.some |= 1u << i % BATCH_GROUPS;
        if (!LINE && uniform(set & 2)) {
            const u32 same = rows.begins_plane(i) ? 0 : ~0u;
            const u32 before[QUAD] = {now[0] & same, now[1] & same, now[2] & same, now[3] & same};
            subtract_rows(d, before, rows.a, lane);
        }
        strides_to_quads(d, stages + stage, lane);
        stage ^= 4 * GROUP;
        const u32 has = rows.quads(i, lane);
        if (uniform(set & 1)) {
            const u32 in_line = LINE ? __shfl_sync(FULL, now[3], 31) : 0;
            u32 before = __shfl_sync(FULL, d[3], (lane - 1) & 31);
            if (LINE)
                before = lane == 0 ? (i ? in_line : 0) : before;
            else
                before = 4 * lane & low_ones(rows.a) ? before : 0;
            d[3] -= d[2];
            d[2] -= d[1];
            d[1] -= d[0];
            d[0] -= before;
        }
        if (!LINE && uniform(set != 0 && set != allowed)) {
            const Quad q = rows.quad_of(i, lane, has);
            if (uniform(__any_sync(FULL, has && on_face(set, q))))
                face_differences<T>(tile, copied, rows, bins, set, allowed & ~set, q, lane, d);
        }
        const bool whole = uniform(rows.full) || __all_sync(FULL, has == 15);
        if (!uniform(whole)) {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) d[j] = has >> j & 1 ? d[j] : 0;
        }
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) d[j] = T::BITS < 32 ? (u32)Source<T>::extended((typename T::Word)d[j]) : d[j];
        const u32 cls =
            uniform(whole) ? classify<true>(symbols, s.counts, d, 15) : classify<false>(symbols, s.counts, d, has);
        if (uniform(cls)) store_words(kept_codes + i * GROUP, d);
        if (i / BATCH_GROUPS == lane) found.classes |= cls << (4 * (i % BATCH_GROUPS));
        found.used |= cls ? 1u << cls : 0;
    }
    if (uniform(__any_sync(FULL, bins.beyond))) return {{KIND_RAW, NO_BODY, set, nullptr}, all, 1};
    all.any = warp_or(all.any);
    all.most = warp_max_of(all.most);
    measure_from(s, choice.middle);
    return {encode_codes<T, u32>(s, symbols, found, end, limit), all, 0};
}

}    // namespace ratio
