// Residuals to numbers (docs/codecs/ratio.md §6): sums along the axes of a tile, group by group as they are decoded.
//
// A place is a number of up to 14 bits: bits 0–1 say which of its lane's values it is, 2–6 the lane, the rest the
// group. An axis has some of these bits. Along those of the lane sums go by shuffles, along those of the group each
// lane adds what it had before: a sum that is carried on, in registers where the axis begins within a group, else in
// the shared memory of the warp:
//
//   sums   TILE_SUM_BYTES of each warp   for each group of a plane (z), then of a row (y), 128 words
//
// Sums of 64 bits are carried on in a place of global memory, which has as many words as a tile.
#pragma once
#include "geometry.cuh"
#include "launch.h"
#include "tables.h"

namespace ratio {

#define SUM_GROUPS (TILE_SUM_BYTES / (4 * GROUP))

// Groups whose sums are kept along y.
DEV u32 row_groups(const Grid& g) { return g.b == 0 || g.a < 7 ? 0 : 1u << (g.a - 7); }
// Whether the sums of tiles can be made so.
DEV bool sums_fit(const Grid& g) { return g.a >= 2 && plane_groups(g) + row_groups(g) <= SUM_GROUPS; }

// Four words of a lane that are carried on, and how far it is to those of the next group.
DEV u32 after(u32 at, u32 groups) { return at + 4 * GROUP * groups; }
DEV void load_kept(u32 at, u32 (&v)[QUAD]) { split(load_shared128(at), v); }
DEV void store_kept(u32 at, const u32 (&v)[QUAD]) { store_shared128(at, make_uint4(v[0], v[1], v[2], v[3])); }
DEV u64* after(u64* at, u32 groups) { return at + GROUP * groups; }
DEV void load_kept(const u64* at, u64 (&v)[QUAD]) {
    const uint4 q = ((const uint4*)at)[0], r = ((const uint4*)at)[1];
    v[0] = q.x | (u64)q.y << 32;
    v[1] = q.z | (u64)q.w << 32;
    v[2] = r.x | (u64)r.y << 32;
    v[3] = r.z | (u64)r.w << 32;
}
DEV void store_kept(u64* at, const u64 (&v)[QUAD]) {
    ((uint4*)at)[0] = make_uint4((u32)v[0], (u32)(v[0] >> 32), (u32)v[1], (u32)(v[1] >> 32));
    ((uint4*)at)[1] = make_uint4((u32)v[2], (u32)(v[2] >> 32), (u32)v[3], (u32)(v[3] >> 32));
}
DEV u32 load_first(u32 at) { return load_shared32(at); }
DEV void store_first(u32 at, u32 v) { store_shared32(at, v); }
DEV u64 load_first(const u64* at) { return *at; }
DEV void store_first(u64* at, u64 v) { *at = v; }
DEV u32 lane_words(u32 at, u32 lane) { return at + 4 * QUAD * lane; }
DEV u64* lane_words(u64* at, u32 lane) { return at + QUAD * lane; }

// At: what tells where words are that are carried on: an address in shared memory, or in a place of 64-bit words.
template <class Word, class At> struct Sums {
    u32 a, b, ab, total;    // sides as powers of two: along x, y, both, all
    u32 clamp;              // of the lanes that have a row together
    Word row;               // the sum of a row of several groups so far
    Word column[QUAD];      // of the rows of a plane so far, where groups have several
    At planes, rows;        // of this lane's words

    DEV Sums(const Grid& g, At kept, u32 lane) {
        a = g.a;
        b = g.b;
        ab = g.a + g.b;
        total = ab + g.c;
        clamp = (32 - min_of(1u << (a - 2 & 31), 32u)) << 8;    // of no use where a < 2
        row = 0;
        for (u32 j = 0; j < QUAD; j++) column[j] = 0;
        planes = lane_words(kept, lane);
        rows = after(planes, plane_groups(g));
    }

    // Sums along x of N values of each lane, from its first on.
    DEV void along_x(Word (&v)[QUAD], u32 g) {
        v[1] += v[0];
        v[2] += v[1];
        v[3] += v[2];
        Word sum = v[3];
        add_from_below_clamped(sum, 1, clamp);
        add_from_below_clamped(sum, 2, clamp);
        add_from_below_clamped(sum, 4, clamp);
        if (uniform(a > 5)) {
            add_from_below_clamped(sum, 8, clamp);
            add_from_below_clamped(sum, 16, clamp);
        }
        Word before = sum - v[3];
        if (uniform(a > 7)) {
            if (uniform((g & low_ones(a - 7)) == 0)) row = 0;
            before += row;
            row += __shfl_sync(FULL, sum, 31);
        }
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] += before;
    }
    // The same along y; N: how many of a lane's values, from the first on, it is about.
    template <u32 N> DEV void along_y(Word (&v)[QUAD], u32 g, u32 lane) {
        if (uniform(a >= 7)) {
            add_kept<N>(v, after(rows, g & low_ones(a - 7)), (g & low_ones(ab - 7)) >> (a - 7) == 0);
            return;
        }
        const u32 lanes = min_of(1u << (ab - 2), 32u), from = 1u << (a - 2), within = (32 - lanes) << 8;
#pragma unroll 1
        for (u32 distance = from; uniform(distance < lanes); distance *= 2)
#pragma unroll
            for (u32 j = 0; j < N; j++) add_from_below_clamped(v[j], distance, within);
        if (uniform(ab > 7)) carry<N>(v, column, (g & low_ones(ab - 7)) == 0, lane | (31 & (0 - from)));
    }
    template <u32 N> DEV void along_z(Word (&v)[QUAD], u32 g, u32 lane) {
        if (uniform(ab >= 7)) {
            add_kept<N>(v, after(planes, g & low_ones(ab - 7)), g >> (ab - 7) == 0);
            return;
        }
        const u32 lanes = min_of(1u << (total - 2), 32u), from = 1u << (ab - 2), within = (32 - lanes) << 8;
#pragma unroll 1
        for (u32 distance = from; uniform(distance < lanes); distance *= 2)
#pragma unroll
            for (u32 j = 0; j < N; j++) add_from_below_clamped(v[j], distance, within);
        if (uniform(total > 7)) {
            Word kept[QUAD];
            load_kept(planes, kept);
            carry<N>(v, kept, g == 0, lane | (31 & (0 - from)));
            store_kept(planes, kept);
        }
    }
    // Adds what was carried on; the last of the lanes that belong together carry on.
    template <u32 N> DEV static void carry(Word (&v)[QUAD], Word (&kept)[QUAD], bool first, u32 last) {
#pragma unroll
        for (u32 j = 0; j < N; j++) {
            v[j] += first ? 0 : kept[j];
            kept[j] = __shfl_sync(FULL, v[j], last);
        }
    }
    template <u32 N> DEV static void add_kept(Word (&v)[QUAD], At kept, bool first) {
        if (N == 1) {
            if (!uniform(first)) v[0] += load_first(kept);
            store_first(kept, v[0]);
            return;
        }
        if (!uniform(first)) {
            Word before[QUAD];
            load_kept(kept, before);
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) v[j] += before[j];
        }
        store_kept(kept, v);
    }

    // Residuals of group g to numbers. `set`: the axes along which differences were taken.
    DEV void add(Word (&v)[QUAD], u32 set, const Quad& q, u32 g, u32 lane) {
        if (uniform(set == 0)) return;
        if (uniform(set != 7)) add_on_face(v, set, q, g, lane);
        if (uniform(set & 1)) along_x(v, g);
        if (uniform(set & 2)) along_y<QUAD>(v, g, lane);
        if (uniform(set & 4)) along_z<QUAD>(v, g, lane);
    }
    // Along the other axes, of the elements whose coordinates along those of the set are 0, and of these alone.
    DEV void add_on_face(Word (&v)[QUAD], u32 set, const Quad& q, u32 g, u32 lane) {
        const bool row = !(set & 2 && q.y) && !(set & 4 && q.z), one = set & 1;
        const bool first = row && !(one && q.x);
        if (uniform(!__any_sync(FULL, first))) return;
        Word face[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) face[j] = first && (j == 0 || !one) ? v[j] : 0;
        if (uniform(one)) {
            if (uniform(!(set & 2) && b)) along_y<1>(face, g, lane);
            if (uniform(!(set & 4) && total > ab)) along_z<1>(face, g, lane);
            v[0] = first ? face[0] : v[0];
            return;
        }
        along_x(face, g);
        if (uniform(!(set & 2) && b)) along_y<QUAD>(face, g, lane);
        if (uniform(!(set & 4) && total > ab)) along_z<QUAD>(face, g, lane);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = first ? face[j] : v[j];
    }
};

// What lanes below this one have, those at multiples of `distance` from it, which is a power of two; for a whole warp.
template <class Word> DEV Word sum_below(Word v, u32 distance, u32 lane) {
    Word sum = v;
#pragma unroll 1
    for (u32 d = distance; uniform(d < 32); d *= 2) {
        const Word other = __shfl_sync(FULL, sum, (lane - d) & 31);
        sum += lane >= d ? other : 0;
    }
    return sum - v;
}

// The same in a place of memory that has a word for each place of a tile. Where there are fewer lines than lanes,
// several lanes have a part of a line each, and first add it up. For a whole warp.
template <class Word> DEV void add_along(const Grid& g, Word* words, u32 set, u32 axis, bool on_face, u32 lane) {
    enum { TOGETHER = 8 };
    const u32 lo = axis == 0 ? 0 : axis == 1 ? g.a : g.a + g.b, len = axis == 0 ? g.a : axis == 1 ? g.b : g.c;
    const u32 lines_log2 = g.a + g.b + g.c - len, lines = 1u << lines_log2;
    const u32 parts_log2 = lines_log2 < 5 && len >= 5 - lines_log2 ? 5 - lines_log2 : 0,
              steps = 1u << (len - parts_log2);
#pragma unroll 1
    for (u32 i = lane; uniform(i - lane < lines << parts_log2); i += 32) {
        const u32 line = i & (lines - 1), part = i >> lines_log2;
        const u32 start = (line & low_ones(lo)) | line >> lo << (lo + len);
        const u32 x = start & low_ones(g.a), y = start >> g.a & low_ones(g.b), z = start >> (g.a + g.b);
        const bool wanted =
            part >> parts_log2 == 0 && !(on_face && ((set & 1 && x) || (set & 2 && y) || (set & 4 && z)));
        Word* p = words + start + (part * steps << lo);
        Word sum = 0;
        if (uniform(parts_log2)) {
            if (wanted)
#pragma unroll 8
                for (u32 k = 0; k < steps; k++) sum += p[k << lo];
            sum = sum_below(sum, lines, lane);
        }
        if (!wanted) continue;
        u32 k = 0;
#pragma unroll 1
        for (; k + TOGETHER <= steps; k += TOGETHER) {
            Word v[TOGETHER];
#pragma unroll
            for (u32 j = 0; j < TOGETHER; j++) v[j] = p[(k + j) << lo];
#pragma unroll
            for (u32 j = 0; j < TOGETHER; j++) p[(k + j) << lo] = sum += v[j];
        }
#pragma unroll 1
        for (; k < steps; k++) p[k << lo] = sum += p[k << lo];
    }
    __syncwarp();
}
template <class Word> DEV void add_all(const Grid& g, Word* words, u32 set, u32 lane) {
    if (set == 0) return;
#pragma unroll 1
    for (u32 axis = 0; axis < 3; axis++)
        if (!(set >> axis & 1)) add_along(g, words, set, axis, true, lane);
#pragma unroll 1
    for (u32 axis = 0; axis < 3; axis++)
        if (set >> axis & 1) add_along(g, words, set, axis, false, lane);
}

}    // namespace ratio
