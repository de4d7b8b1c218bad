// Twin: src/codec/interp/predict/interpolation/weights.rs
// Nodes of a tile's levels, and how new ones are made of the coarse ones about them (docs/reference/codecs/interp.md
// §6).
#pragma once
#include "sums.cuh"

namespace interp {

enum : u32 { X_AXIS = 1, Y_AXIS = 2, Z_AXIS = 4 };

// Nodes on level k of an axis of so many elements.
DEV u32 nodes_of(u32 n, u32 k) { return n == 1 ? 1 : ((n - 2 + (1u << k)) >> k) + 1; }
// Where node i of level k is.
DEV u32 place_of_node(u32 n, u32 k, u32 i) { return min_of(i << k, n - 1); }

// How a new node is made: weights of coarse nodes 0, 1, −1 and 2 from it. Of a coarse node in its place that alone.
struct alignas(16) FourWeights {
    i32 b, c, a, d;
};

DEV i64 floor_division(i64 a, i64 b) {
    const i64 q = a / b;
    return q * b > a ? q - 1 : q;
}

// Lagrange's weights of new node j of level k on an axis of n elements.
SELDOM FourWeights make_recipe(u32 n, u32 k, u32 j, bool rough) {
    const u32 coarse = nodes_of(n, k + 1);
    const u32 first = rough || j == 0 ? j : j - 1, last = rough || j + 2 >= coarse ? j + 1 : j + 2;
    const i64 x = (i64)(2 * j + 1) << k;
    i32 all[4] = {0, 0, 0, 0};
    i32 sum = 0;
    u32 heaviest = first;
#pragma unroll 1
    for (u32 i = first; i <= last; i++) {
        const i64 place = place_of_node(n, k + 1, i);
        i64 top = 1, bottom = 1;
#pragma unroll 1
        for (u32 h = first; h <= last; h++) {
            if (h == i) continue;
            const i64 other = place_of_node(n, k + 1, h);
            top *= x - other;
            bottom *= place - other;
        }
        if (bottom < 0) {
            top = -top;
            bottom = -bottom;
        }
        const i32 w = (i32)floor_division(top * (1 << (WEIGHT_BITS + 1)) + bottom, 2 * bottom);
        all[i + 1 - j] = w;
        sum += w;
        const i32 most = all[heaviest + 1 - j];
        if ((w < 0 ? -w : w) > (most < 0 ? -most : most)) heaviest = i;
    }
    all[heaviest + 1 - j] += (1 << WEIGHT_BITS) - sum;
    return {all[1], all[2], all[0], all[3]};
}

DEV u32 arithmetic_shift(u32 x, u32 by) { return (u32)((i32)x >> by); }

// The step of multiples in steps on a level of a tile with so many axes of more than two elements.
DEV u32 step_of(u32 axes, u32 k) {
    const u32 lower = axes <= 1 ? k + 0 : axes == 2 ? (k < 2 ? 0 : k + 1) : (k < 1 ? 0 : k + 2);
    return lower < 3 ? 15 : lower == 3 || (lower == 4 && axes <= 1) ? 13 : 11;
}

// Numbers of two neighbours, of which a lane has the next ones to those of the lane below.
struct Pair {
    u32 v[2];
};
DEV Pair load_pair(const u32* p) {
    const uint2 q = *(const uint2*)p;
    return {{q.x, q.y}};
}
DEV void store_pair(u32* p, Pair a) { *(uint2*)p = make_uint2(a.v[0], a.v[1]); }
DEV u32 lane_below(u32 v) { return __shfl_up_sync(FULL, v, 1); }
DEV u32 lane_above(u32 v) { return __shfl_down_sync(FULL, v, 1); }

// Nodes along an axis on a level, and where they are among the numbers.
struct Line {
    u32 coarse, fresh;    // how many
    u32 step, last;       // from one coarse node to the next; that of the last

    DEV u32 of_coarse(u32 i) const { return min_of(i * step, last); }
    DEV u32 of_new(u32 i) const { return i * step + step / 2; }
};

// Where coarse nodes about a new one are along an axis; those that there are not lie on one that is there.
struct Around {
    u32 a, b, c, d;

    DEV Around() {}
    DEV Around(const Line& line, u32 j) {
        b = j * line.step;
        a = j > 0 ? b - line.step : b;
        c = min_of(b + line.step, line.last);
        d = min_of(c + line.step, line.last);
    }
};

// Recipes of an axis on a level that are not as in the middle: of the first new node, the last but one and the last,
// and of the last one if rough.
struct EndRecipes {
    FourWeights of[4];

    // Weights for new node i of so many.
    template <bool ROUGH> DEV FourWeights weights(u32 i, u32 fresh) const {
        FourWeights w = {0, ROUGH ? 512 : 576, ROUGH ? 0 : -64, ROUGH ? 0 : -64};
        const bool last = i + 1 == fresh;
        if (last || (!ROUGH && (i == 0 || i + 2 == fresh))) {
            const uint4 q = *(const uint4*)(of + (ROUGH ? 3 : i == 0 ? 0 : last ? 2 : 1));
            w.c = (i32)q.y;
            w.a = (i32)q.z;
            w.d = (i32)q.w;
        }
        w.b = (1 << WEIGHT_BITS) - w.a - w.c - w.d;
        return w;
    }
};
// How values about a new node make it: small numbers, whose products with weights have 32 bits.
template <bool ROUGH> struct SmallNumbers : FourWeights {
    DEV SmallNumbers() {}
    DEV SmallNumbers(const Line& line, const EndRecipes* recipes, u32 i)
        : FourWeights(recipes->weights<ROUGH>(i, line.fresh)) {}
    DEV u32 make(u32 va, u32 vb, u32 vc, u32 vd) const {
        u32 sum = 32 + (u32)b * vb + (u32)c * vc;
        if (!ROUGH) sum += (u32)a * va + (u32)d * vd;
        return arithmetic_shift(sum, 6);
    }
};
// The same of numbers of any size: what stands amid others takes no products, which would not be the same beyond 32
// bits.
template <bool ROUGH> struct AnyNumbers : SmallNumbers<ROUGH> {
    DEV AnyNumbers() {}
    DEV AnyNumbers(const Line& line, const EndRecipes* recipes, u32 i) : SmallNumbers<ROUGH>(line, recipes, i) {}
    DEV u32 make(u32 va, u32 vb, u32 vc, u32 vd) const {
        const i32 a = this->a, b = this->b, c = this->c;
        if (b == 512 && c == 512 && a == 0) return 8 * (vb + vc);
        if (!ROUGH && b == 576 && c == 576 && a == -64) return 9 * (vb + vc) - (va + vd);
        u32 others = 32 + (u32)c * (vc - vb);
        if (!ROUGH) others += (u32)a * (va - vb) + (u32)this->d * (vd - vb);
        return 16 * vb + arithmetic_shift(others, 6);
    }
};
// Those of the axes of an array's tiles: whole ones, and those that the array's end cuts. In the shared memory of a
// block.
struct AxisRecipes {
    u32 len[2][3], first[3];
    EndRecipes of[2][TILE_LOG2];

    // By one thread; a barrier has to follow.
    DEV void measure(const Grid& g) {
        const u32 dimension[3] = {g.x, g.y, g.z}, side[3] = {g.a, g.b, g.c};
        u32 at = 0;
        for (u32 a = 0; a < 3; a++) {
            const u64 n = dimension[a] < MAX_RANK ? g.len[dimension[a]] : 1;
            len[0][a] = (u32)min_of(n, 1ull << side[a]);
            const u32 cut = (u32)n & low_ones(side[a]);
            len[1][a] = cut ? cut : len[0][a];
            first[a] = at;
            at += side[a];
        }
    }
    // For a whole block; barriers before and behind.
    DEV void make() {
#pragma unroll 1
        for (u32 i = threadIdx.x; i < 8 * TILE_LOG2; i += blockDim.x) {
            const u32 end = i % 4, cut = i / 4 % 2, at = i / 8,
                      axis = at >= first[2]   ? 2
                             : at >= first[1] ? 1
                                              : 0,
                      k = at - first[axis], n = len[cut][axis];
            const u32 fresh = nodes_of(n, k) - nodes_of(n, k + 1);
            if (fresh > (end == 1 ? 1u : 0u))
                of[cut][at].of[end] = make_recipe(n, k, end == 0 ? 0 : end == 1 ? fresh - 2 : fresh - 1, end == 3);
        }
    }
    // Makes them those of a tile with these lengths. For a whole block; a barrier before and behind.
    DEV void make_for(const u32 (&n)[3]) {
        if (len[0][0] == n[0] && len[0][1] == n[1] && len[0][2] == n[2]) return;
        __syncthreads();    // all have looked
        if (threadIdx.x == 0)
            for (u32 a = 0, at = 0; a < 3; a++) {
                len[0][a] = len[1][a] = n[a];
                first[a] = at;
                at += n[a] > 1 ? top_bit(n[a] - 1) + 1 : 0;
            }
        __syncthreads();
        make();
        __syncthreads();
    }
    // Those of an axis on which the tile has so many elements.
    DEV const EndRecipes* operator()(u32 axis, u32 k, u32 n) const { return of[n != len[0][axis]] + first[axis] + k; }
};

}    // namespace interp
