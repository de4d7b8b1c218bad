// Twin: src/codec/interp/predict/interpolation/weights.rs
// Nodes of a tile's levels, and how new ones are made of the coarse ones about them (docs/reference/codecs/interp.md
// §6).
#pragma once
#include "sums.cuh"

namespace interp {

enum : u32 { X_AXIS = 1, Y_AXIS = 2, Z_AXIS = 4, LEVELS = 14 };

// Nodes on level k of an axis of so many elements.
DEV u32 nodes_of(u32 n, u32 k) { return n == 1 ? 1 : ((n - 2 + (1u << k)) >> k) + 1; }
// Where node i of level k is.
DEV u32 place_of_node(u32 n, u32 k, u32 i) { return min_of(i << k, n - 1); }

// How a new node is made of the coarse ones about it.
enum Kind : u32 { BY_WEIGHTS, REGULAR, MEAN };
// Weights of coarse nodes −1, 1 and 2 from a new one; that of node 0 is what they leave.
struct Recipe {
    u32 kind;
    i32 a, c, d;

    template <bool ROUGH> DEV u32 make(u32 va, u32 vb, u32 vc, u32 vd) const {
        const u32 sum = vb + vc;
        if (kind == BY_WEIGHTS) {
            const u32 others = (u32)a * (va - vb) + (u32)c * (vc - vb) + (u32)d * (vd - vb);
            return 16 * vb + (u32)((i32)(others + 32) >> 6);
        }
        return !ROUGH && kind == REGULAR ? 9 * sum - (va + vd) : 8 * sum;
    }
};
// Those of an axis on a level: of the first new node, the last but one, the last, and all others.
struct alignas(16) Recipes {
    Recipe of[4];
};
// What is known of tiles of some lengths, in the shared memory of a block.
struct Levels {
    u32 len[3];                  // what it is known of; lengths of 0 before
    Recipes of[2][LEVELS][3];    // of predictors 1 and 2
};

DEV i64 floor_division(i64 a, i64 b) {
    const i64 q = a / b;
    return q * b > a ? q - 1 : q;
}

// Lagrange's weights of new node j of level k on an axis of n elements.
SELDOM Recipe make_recipe(u32 n, u32 k, u32 j, bool rough) {
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
    const bool even = all[0] == -64 && all[1] == 576 && all[2] == 576, mean = all[1] == 512 && all[2] == 512;
    return {even ? REGULAR : mean && all[0] == 0 ? MEAN : BY_WEIGHTS, all[0], all[2], all[3]};
}

// Makes them those of a tile with so many levels. For a whole block; a barrier before and behind.
DEV void lay_out(Levels& levels, u32 lx, u32 ly, u32 lz, u32 count) {
    if (levels.len[0] == lx && levels.len[1] == ly && levels.len[2] == lz) return;
    __syncthreads();    // all have looked
#pragma unroll 1
    for (u32 i = threadIdx.x; i < 24 * count; i += blockDim.x) {
        const u32 rough = i & 1, k = i / 24, axis = i / 8 % 3, end = i / 2 % 4,
                  n = axis == 0   ? lx
                      : axis == 1 ? ly
                                  : lz;
        const u32 fresh = nodes_of(n, k) - nodes_of(n, k + 1), j = end == 0 ? 0 : end == 1 ? fresh - 2 : fresh - 1;
        Recipe recipe = rough ? Recipe{MEAN, 0, 512, 0} : Recipe{REGULAR, -64, 576, -64};
        if (end < 3 && fresh > (end == 1 ? 1u : 0u)) recipe = make_recipe(n, k, j, rough);
        levels.of[rough][k][axis].of[end] = recipe;
    }
    if (threadIdx.x == 0) {
        levels.len[0] = lx;
        levels.len[1] = ly;
        levels.len[2] = lz;
    }
    __syncthreads();
}

DEV u32 arithmetic_shift(u32 x, u32 by) { return (u32)((i32)x >> by); }

// The step of multiples in steps on a level of a tile with so many axes of more than two elements.
DEV u32 step_of(u32 axes, u32 k) {
    const u32 lower = axes <= 1 ? k + 0 : axes == 2 ? (k < 2 ? 0 : k + 1) : (k < 1 ? 0 : k + 2);
    return lower < 3 ? 15 : lower == 3 || (lower == 4 && axes <= 1) ? 13 : 11;
}

// Nodes along an axis on a level, and where they are among the numbers.
struct Line {
    u32 coarse, fresh;    // how many
    u32 step, last;       // from one coarse node to the next; that of the last
    const Recipe* recipes;

    DEV u32 of_coarse(u32 i) const { return min_of(i * step, last); }
    DEV u32 of_new(u32 i) const { return i * step + step / 2; }
    DEV Recipe recipe(u32 j) const {
        const uint4 q = *(const uint4*)(recipes + (j == 0 ? 0 : j + 1 == fresh ? 2 : j + 2 == fresh ? 1 : 3));
        return {q.x, (i32)q.y, (i32)q.z, (i32)q.w};
    }
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
    template <bool ROUGH> DEV u32 make(const Recipe& recipe, const u32* at) const {
        return recipe.template make<ROUGH>(at[a], at[b], at[c], at[d]);
    }
};

}    // namespace interp
