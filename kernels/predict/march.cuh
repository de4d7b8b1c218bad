// Twin: src/codec/predict/predict/interpolation/mod.rs
// One warp, one tile: interpolation of tiles whose rows fit a warp (docs/reference/codecs/predict.md §7), with one of
// the two other axes in registers. Levels are as in interp.cuh, which restores all other tiles.
//
// Lane t has node t of a row. Of the INSIDE elements along the axis in registers it has all nodes, and along the other
// one it marches, row of nodes after row: after the coarse row j + 2 comes the new row j, between j and j + 1. Nodes
// that are coarse along x are made first, and shuffles bring what the new ones between them need. Nobody waits.
//
//   v      nodes of level 1, those of all coarser ones among them     a level's new ones are written, then __syncwarp;
//                                                                      then the next level reads them
//   sums   of codes     each lane its own
#pragma once
#include "interp.cuh"

namespace predict {

// Lengths of tiles that a warp restores: of a row and of the axis that it marches along, at most; of the axis in
// registers. Levels of the longest ones, and nodes of their level 1.
enum : u32 { LONGEST_ROW = 32, INSIDE = 16, ROW_LEVELS = 5, COARSE_NODES = 17 * 17 * 9 };

// How a new node is made of the coarse ones about it, as one formula: `whole` is 16 where the weights are those of
// differences, and 0 where a, b, c and d are all there is.
struct RowWeights {
    u32 a, b, c, d, whole, shift;

    DEV RowWeights() {}
    DEV RowWeights(const uint4& q) : a(q.x), b(q.y), c(q.z), d(q.w) {
        whole = 16 - (a + b + c + d);
        shift = whole ? 6 : 0;
    }
    // No node: 0 is made of any others.
    DEV void clear() { a = b = c = d = whole = shift = 0; }
    template <bool ROUGH> DEV u32 make(u32 va, u32 vb, u32 vc, u32 vd) const {
        u32 sum = b * vb + 2 * whole;
        sum += c * vc;
        if (!ROUGH) sum += a * va;
        if (!ROUGH) sum += d * vd;
        return whole * vb + arithmetic_shift(sum, shift);
    }
};
DEV uint4 weights_of(const Recipe& r, bool rough) {
    if (r.kind == BY_WEIGHTS) return make_uint4((u32)r.a, 0 - (u32)(r.a + r.c + r.d), (u32)r.c, (u32)r.d);
    const u32 outer = rough || r.kind == MEAN ? 0 : ~0u, inner = rough || r.kind == MEAN ? 8 : 9;
    return make_uint4(outer, inner, inner, outer);
}
// Those of axes up to LONGEST_ROW long: of the first new node, the last but one, and the last. The usual ones stand
// where those of an axis of length 0 would.
enum : u32 { ROW_WEIGHTS = (LONGEST_ROW + 1) * ROW_LEVELS * 6 };
DEV u32 place_of_weights(u32 n, u32 k, u32 fresh, u32 j, bool rough) {
    const u32 end = j == 0 ? 0 : j + 1 == fresh ? 2 : 1;
    return j == 0 || j + 2 >= fresh ? ((n * ROW_LEVELS + k) * 3 + end) * 2 + rough : rough;
}
// For a whole block; a barrier behind.
DEV void lay_out_rows(uint4* weights) {
#pragma unroll 1
    for (u32 i = threadIdx.x; i < ROW_WEIGHTS; i += blockDim.x) {
        const bool rough = i & 1;
        const u32 end = i / 2 % 3, k = i / 6 % ROW_LEVELS, n = i / 6 / ROW_LEVELS;
        Recipe recipe = rough ? Recipe{MEAN, 0, 512, 0} : Recipe{REGULAR, -64, 576, -64};
        if (n > 1) {
            const u32 fresh = nodes_of(n, k) - nodes_of(n, k + 1), j = end == 0 ? 0 : fresh - (end == 1 ? 2 : 1);
            if (fresh > (end == 1 ? 1u : 0u)) recipe = make_recipe(n, k, j, rough);
        }
        weights[i] = weights_of(recipe, rough);
    }
}

// The same of the axis in registers, known to the compiler: of new node j of level k.
struct Fixed {
    i32 w[4];    // of nodes j − 1 … j + 2

    constexpr Fixed(u32 k, u32 j, bool rough) : w{0, 0, 0, 0} {
        const i32 coarse = ((i32)(INSIDE - 2 + (2u << k)) >> (k + 1)) + 1, new_one = (i32)j;
        const i32 first = rough || j == 0 ? new_one : new_one - 1,
                  last = rough || new_one + 2 >= coarse ? new_one + 1 : new_one + 2;
        const i32 x = (2 * new_one + 1) << k;
        i32 sum = 0, heaviest = first;
        for (i32 i = first; i <= last; i++) {
            const i32 place = i << (k + 1) < (i32)INSIDE - 1 ? i << (k + 1) : (i32)INSIDE - 1;
            i32 top = 1, bottom = 1;
            for (i32 h = first; h <= last; h++) {
                if (h == i) continue;
                const i32 other = h << (k + 1) < (i32)INSIDE - 1 ? h << (k + 1) : (i32)INSIDE - 1;
                top *= x - other;
                bottom *= place - other;
            }
            if (bottom < 0) {
                top = -top;
                bottom = -bottom;
            }
            const i32 p = 2048 * top + bottom, q = 2 * bottom, weight = p / q - (p % q < 0);
            w[i + 1 - new_one] = weight;
            sum += weight;
            const i32 most = w[heaviest + 1 - new_one];
            if ((weight < 0 ? -weight : weight) > (most < 0 ? -most : most)) heaviest = i;
        }
        w[heaviest + 1 - new_one] += 1024 - sum;
    }
    constexpr bool is_regular() const { return w[0] == -64 && w[1] == 576 && w[2] == 576 && w[3] == -64; }
    constexpr bool is_mean() const { return w[0] == 0 && w[1] == 512 && w[2] == 512 && w[3] == 0; }
};
template <bool ROUGH, u32 K, u32 J> DEV u32 make_inside(u32 va, u32 vb, u32 vc, u32 vd) {
    constexpr Fixed f(K, J, ROUGH);
    if constexpr (f.is_regular()) return 9 * (vb + vc) - (va + vd);
    if constexpr (f.is_mean()) return 8 * (vb + vc);
    constexpr u32 a = (u32)f.w[0], b = 0 - (u32)(f.w[0] + f.w[2] + f.w[3]), c = (u32)f.w[2], d = (u32)f.w[3];
    u32 sum = b * vb + c * vc + 32;
    if constexpr (a != 0) sum += a * va;
    if constexpr (d != 0) sum += d * vd;
    return 16 * vb + arithmetic_shift(sum, 6);
}
// Of row `at`, the values of coarse nodes; new node J.
template <bool ROUGH, u32 K, u32 J, u32 COARSE> DEV u32 inside(const u32 (&at)[COARSE]) {
    return make_inside<ROUGH, K, J>(at[J > 0 ? J - 1 : 0], at[J], at[J + 1], at[J + 2 < COARSE ? J + 2 : J + 1]);
}

// For j = FROM … TO − 1, known to the compiler.
template <u32 J> struct Constant {
    static constexpr u32 value = J;
};
template <u32 FROM, u32 TO, class F> DEV void for_each_of(F f) {
    if constexpr (FROM < TO) {
        f(Constant<FROM>());
        for_each_of<FROM + 1, TO>(f);
    }
}

// What the lanes of a warp know of a tile that they restore.
template <class T> struct Field {
    u32 lx, ly, lz, set;
    bool z_inside;    // z is in registers, and y is marched along; else the other way round
    bool coarse_steps, plain;
    const u8* codes;
    bool narrow;      // they have 16 bits each, not 32
    u32 *v, *sums;    // nodes of level 1; INSIDE for each lane
    const uint4* weights;
    u8* dst;        // of the tile's first element
    u32 in_step;    // bytes from one element to the next along the axis in registers,
    u64 on_step;    // and along the other
    u32 base;
    Lattice<T> lattice;

    // The element of a number; a number alone where bins are to be made of it.
    DEV u32 element(u32 number, F32) const {
        const u32 bits = lattice.multiple((i32)(number + base));
        return plain ? number : bits;
    }
    DEV u64 element(u32 number, F64) const {
        // As a double without a conversion, which is slow: 2^52 + 2^31 + a number of 32 bits is exact.
        const double of = float_of((u64)0x43300000 << 32 | ((number + base) ^ 0x80000000u)) - 4503601774854144.0;
        const u64 bits = bits_of(of * lattice.fine);
        return plain ? (u64)(i64)(i32)number : bits;
    }
    // Stores the element of a number, so many elements along the axis in registers.
    DEV void put(u8* row, u32 along, u32 number) const {
        store_element((u8*)place_behind((u64)row, in_step, along), element(number, T()));
    }
};

// A level of a tile whose axis in registers has COARSE coarse nodes and FRESH new ones on it; their codes begin at
// `at`, which moves behind them. For a whole warp.
template <class T, bool ROUGH, u32 K, u32 COARSE, u32 FRESH> DEV void go_on(const Field<T>& q, u32 k, u32& at) {
    enum : bool { FINEST = K == 0 };
    enum : u32 { SIZE = T::BITS / 8, ROWS = ROUGH ? 2 : 4 };
    const u32 lane = threadIdx.x & 31;
    const u32 nx = nodes_of(q.lx, k), cx = nodes_of(q.lx, k + 1), fx = nx - cx, cy = nodes_of(q.ly, k + 1),
              fy = nodes_of(q.ly, k) - cy, cz = nodes_of(q.lz, k + 1), fz = nodes_of(q.lz, k) - cz;
    const u32 of_x = at, of_y = of_x + fx * cy * cz, of_z = of_y + cx * fy * cz, of_xy = of_z + cx * cy * fz,
              of_xz = of_xy + fx * fy * cz, of_yz = of_xz + fx * cy * fz, of_xyz = of_yz + cx * fy * fz;
    at = of_xyz + fx * fy * fz;
    const bool z_inside = q.z_inside;
    const u32 length = z_inside ? q.ly : q.lz, coarse_rows = z_inside ? cy : cz, new_rows = z_inside ? fy : fz;
    // What this lane has of a row: a coarse node or a new one, and its number among these. Lanes behind the last node
    // do what its lane does.
    const u32 node = min_of(lane, nx - 1);
    const bool coarse = node % 2 == 0 || node + 1 == nx;
    const u32 i = coarse ? (node + 1) / 2 : node / 2;
    // Codes of nodes that are coarse or new along the axis in registers and along the other: the first one, how far
    // the next one is along the former, and along the latter.
    const u32 of_in = z_inside ? (coarse ? of_z : of_xz) : (coarse ? of_y : of_xy),
              of_other = z_inside ? (coarse ? of_y : of_xy) : (coarse ? of_z : of_xz),
              of_both = coarse ? of_yz : of_xyz;
    const u32 bytes = (coarse ? cx : fx) * (q.narrow ? 2 : 4), step_c = z_inside ? cy * bytes : bytes,
              step_n = z_inside ? fy * bytes : bytes, on_c = z_inside ? bytes : cy * bytes,
              on_n = z_inside ? bytes : fy * bytes;
    const u32 size = q.narrow ? 2 : 4;
    const u64 codes = (u64)q.codes;
    u64 code_x = codes + (of_x + i) * size, code_in = codes + (of_in + i) * size,
        code_on = codes + (of_other + i) * size, code_both = codes + (of_both + i) * size;
    // Nodes of level 1.
    const u32 row = nodes_of(q.lx, 1), plane = row * nodes_of(q.ly, 1), rows = nodes_of(length, 1),
              in_place = z_inside ? plane : row, on_place = z_inside ? row : plane, x_coarse = min_of(i << k, row - 1),
              x_own = FINEST ? 0 : min_of(node << (k - 1), row - 1);
    const auto place_of = [](u32 node, u32 level, u32 n) { return min_of(node << level, n - 1); };
    const u32 inside_nodes = nodes_of(INSIDE, 1);

    RowWeights wx;
    wx.clear();
    if (!coarse) wx = RowWeights(q.weights[place_of_weights(q.lx, k, fx, i, ROUGH)]);
    const u32 lane_a = node > 3 ? node - 3 : 0, lane_b = node > 1 ? node - 1 : 0,
              lane_c = node + 1 < nx ? node + 1 : nx - 1, lane_d = node + 3 < nx ? node + 3 : nx - 1;
    const auto along_x = [&](u32 of_coarse) {
        const u32 b = __shfl_sync(FULL, of_coarse, lane_b), c = __shfl_sync(FULL, of_coarse, lane_c);
        if (ROUGH) return wx.make<true>(0, b, c, 0);
        const u32 a = __shfl_sync(FULL, of_coarse, lane_a), d = __shfl_sync(FULL, of_coarse, lane_d);
        return wx.make<false>(a, b, c, d);
    };
    // Differences of errors: codes of classes X, Y and Z become sums, along x, along the axis in registers, and along
    // the other, for which each lane keeps them at `sums`.
    const u32 set = k < DIFFERENCE_LEVELS ? q.set : 0;
    const bool x_sums = set & X_AXIS, in_sums = set & (z_inside ? Z_AXIS : Y_AXIS),
               on_sums = set & (z_inside ? Y_AXIS : Z_AXIS);
    const auto sum_along_x = [&](auto& codes) {
        for_each_of<0, sizeof(codes) / sizeof(codes[0])>([&](auto r) {
            enum : u32 { R = decltype(r)::value };
            const u32 sum = warp_running_sum(coarse && lane < nx ? (u32)codes[R] : 0);
            codes[R] = coarse ? (i32)sum : codes[R];
        });
    };
    const auto sum_inside = [&](auto& codes, bool counts) {
        for_each_of<1, sizeof(codes) / sizeof(codes[0])>([&](auto r) {
            enum : u32 { R = decltype(r)::value };
            codes[R] = (i32)((u32)codes[R] + (counts ? (u32)codes[R - 1] : 0));
        });
    };
    u32* const sums = q.sums + lane;
    const auto sum_on = [&](auto& codes, u32 first, bool counts) {
        for_each_of<0, sizeof(codes) / sizeof(codes[0])>([&](auto r) {
            enum : u32 { R = decltype(r)::value };
            u32& sum = sums[32 * (first + R)];
            codes[R] = (i32)((u32)codes[R] + (counts ? sum : 0));
            sum = (u32)codes[R];
        });
    };
    if (uniform(on_sums))
        for (u32 r = 0; r < COARSE + FRESH; r++) sums[32 * r] = 0;
    const u32 s = q.coarse_steps ? step_of(3, k) : 1;
    const auto sixteenth = [](u32 p) { return arithmetic_shift(p + 8, 4); };

    // Of the last rows that are coarse along the axis marched along: values of coarse nodes; of new ones the values,
    // or with z in registers their errors, and for ROUGH both.
    u32 v[ROWS][COARSE], n[ROWS][FRESH ? FRESH : 1], e[ROUGH ? ROWS : 1][FRESH ? FRESH : 1];
#pragma unroll
    for (u32 r = 0; r < COARSE; r++) {
#pragma unroll
        for (u32 h = 0; h < ROWS; h++) v[h][r] = 0;
    }
#pragma unroll
    for (u32 r = 0; r < (FRESH ? FRESH : 1); r++) {
#pragma unroll
        for (u32 h = 0; h < ROWS; h++) n[h][r] = 0;
#pragma unroll
        for (u32 h = 0; h < (ROUGH ? ROWS : 1); h++) e[h][r] = 0;
    }

    // Codes are asked for one kind of nodes ahead.
    i32 of_known[COARSE], of_inside[FRESH ? FRESH : 1], of_on[COARSE], of_all[FRESH ? FRESH : 1];
    const auto ask = [narrow = q.narrow](auto& codes, u64 at, u32 step) {
        if (uniform(narrow))
            for_each_of<0, sizeof(codes) / sizeof(codes[0])>([&](auto r) {
                enum : u32 { R = decltype(r)::value };
                codes[R] = load_narrow_code(place_behind(at, step, R));
            });
        else
            for_each_of<0, sizeof(codes) / sizeof(codes[0])>([&](auto r) {
                enum : u32 { R = decltype(r)::value };
                codes[R] = load_code(place_behind(at, step, R));
            });
    };
    const u32 steps = new_rows + ROWS / 2 > coarse_rows ? new_rows + ROWS / 2 : coarse_rows;
    ask(of_known, code_x, step_c);
#pragma unroll 1
    for (u32 h = 0; uniform(h < steps); h++) {
        const u32 j = h - ROWS / 2;    // the new row
        const bool makes_row = j < new_rows;
#pragma unroll
        for (u32 g = 0; g + 1 < ROWS; g++) {
#pragma unroll
            for (u32 r = 0; r < COARSE; r++) v[g][r] = v[g + 1][r];
#pragma unroll
            for (u32 r = 0; r < FRESH; r++) {
                n[g][r] = n[g + 1][r];
                if (ROUGH) e[g][r] = e[g + 1][r];
            }
        }
        if (uniform(h < coarse_rows)) {
            if (FRESH) ask(of_inside, code_in, step_c);
            const u32* const from = q.v + place_of(h, k, rows) * on_place + x_coarse;
            u32* const to = q.v + place_of(h, k, rows) * on_place + x_own;
            u8* const out = q.dst + (u64)min_of(2 * h, length - 1) * q.on_step + node * SIZE;
            if (uniform(on_sums)) sum_on(of_known, 0, true);
            if (uniform(in_sums)) sum_inside(of_known, true);
            for_each_of<0, COARSE>([&](auto r) {
                enum : u32 { R = decltype(r)::value };
                const u32 known = from[place_of(R, k, inside_nodes) * in_place];
                const u32 p = along_x(known), value = coarse ? known : sixteenth(p) + s * (u32)of_known[R];
                v[ROWS - 1][R] = value;
                if constexpr (FINEST)
                    q.put(out, R + 1 < COARSE ? 2 * R : INSIDE - 1, value);
                else
                    to[place_of(R, k, inside_nodes) * in_place] = value;
            });
            if (uniform(makes_row)) ask(of_on, code_on, step_n);
            if (FRESH && uniform(on_sums)) sum_on(of_inside, COARSE, coarse);
            if (FRESH && uniform(x_sums)) sum_along_x(of_inside);
            for_each_of<0, FRESH>([&](auto r) {
                enum : u32 { R = decltype(r)::value };
                const u32 main = inside<ROUGH, K, R>(v[ROWS - 1]);
                const u32 by_code = s * (u32)of_inside[R];
                u32 p = main + along_x(by_code);
                if (ROUGH) {
                    const u32 of_v = along_x(sixteenth(main) + by_code), of_e = p - main;
                    p = coarse ? main : arithmetic_shift(3 * main + of_v + 2 * of_e, 2);
                }
                const u32 value = sixteenth(p) + by_code, error = value - sixteenth(main);
                n[ROWS - 1][R] = ROUGH || !z_inside ? value : error;
                if (ROUGH) e[ROWS - 1][R] = error;
                if constexpr (FINEST)
                    q.put(out, 2 * R + 1, value);
                else
                    to[((2 * R + 1) << (k - 1)) * in_place] = value;
            });
            code_x += on_c;
            code_in += on_n;
        } else if (uniform(makes_row)) {
            ask(of_on, code_on, step_n);
        }
        if (uniform(makes_row)) {
            if (FRESH) ask(of_all, code_both, step_n);
            const RowWeights on(q.weights[place_of_weights(length, k, new_rows, j, ROUGH)]);
            u32* const to = q.v + (FINEST ? 0 : (2 * j + 1) << (k - 1)) * on_place + x_own;
            u8* const out = q.dst + (u64)(2 * j + 1) * q.on_step + node * SIZE;
            // Of nodes of this row that are coarse along the axis in registers.
            u32 own[COARSE], own_e[ROUGH ? COARSE : 1];
            const auto along = [&](const auto& rows, u32 r) {
                return ROUGH ? on.make<true>(0, rows[0][r], rows[1][r], 0)
                             : on.make<false>(rows[0][r], rows[1][r], rows[ROWS - 2][r], rows[ROWS - 1][r]);
            };
            if (uniform(x_sums)) sum_along_x(of_on);
            if (uniform(in_sums)) sum_inside(of_on, coarse);
            for_each_of<0, COARSE>([&](auto r) {
                enum : u32 { R = decltype(r)::value };
                const u32 main = along(v, R);
                const u32 by_code = s * (u32)of_on[R];
                u32 p = main + along_x(by_code);
                if (ROUGH) {
                    const u32 of_v = along_x(sixteenth(main) + by_code), of_e = p - main;
                    p = coarse ? main : arithmetic_shift(3 * main + of_v + 2 * of_e, 2);
                }
                const u32 value = sixteenth(p) + by_code, error = value - sixteenth(main);
                own[R] = ROUGH || z_inside ? value : error;
                if (ROUGH) own_e[R] = error;
                if constexpr (FINEST)
                    q.put(out, R + 1 < COARSE ? 2 * R : INSIDE - 1, value);
                else
                    to[place_of(R, k, inside_nodes) * in_place] = value;
            });
            if (uniform(h + 1 < coarse_rows)) ask(of_known, code_x, step_c);
            for_each_of<0, FRESH>([&](auto r) {
                enum : u32 { R = decltype(r)::value };
                const u32 by_code = s * (u32)of_all[R];
                const u32 in = inside<ROUGH, K, R>(own), on_v = along(n, R);
                u32 p;
                if (ROUGH) {
                    // I_z and I_y of values, I_y of errors.
                    u32 last;
                    if (z_inside)
                        last = on.make<true>(0, e[0][R], e[ROUGH ? 1 : 0][R], 0);
                    else
                        last = inside<true, K, R>(own_e);
                    const u32 iz = z_inside ? in : on_v, iy = z_inside ? on_v : in;
                    const u32 of_coarse = arithmetic_shift(3 * iz + iy + 2 * last, 2);
                    const u32 of_e = along_x(by_code), of_v = along_x(sixteenth(of_coarse) + by_code);
                    p = arithmetic_shift(arithmetic_shift(2 * iz + iy + of_v, 2) + iz + last + of_e, 1);
                    p = coarse ? of_coarse : p;
                } else {
                    p = in + on_v + along_x(by_code);
                }
                const u32 value = sixteenth(p) + by_code;
                if constexpr (FINEST)
                    q.put(out, 2 * R + 1, value);
                else
                    to[((2 * R + 1) << (k - 1)) * in_place] = value;
            });
            code_on += on_c;
            code_both += on_n;
        } else if (uniform(h + 1 < coarse_rows)) {
            ask(of_known, code_x, step_c);
        }
    }
    __syncwarp();
}

// Restores a tile from the differences at its codes. For a whole warp.
template <class T, bool ROUGH> DEV void interpolate_rows(const Field<T>& q) {
    const u32 lane = threadIdx.x & 31;
    u32 k = 0;
    while (nodes_of(q.lx, k + 1) > 2 || nodes_of(q.ly, k + 1) > 2 || nodes_of(q.lz, k + 1) > 2) k++;
    // Anchors: two along each axis, and each is the sum of the differences of those before it.
    u32 at = 8;
    if (lane < at) {
        const u32 x = lane % 2, y = lane / 2 % 2, z = lane / 4;
        u32 sum = 0;
        for (u32 i = 0; i < at; i++)
            if (!(i & ~lane)) sum += Codes{q.codes, q.narrow ? 1u : 2u}[i];
        const u32 row = nodes_of(q.lx, 1), column = nodes_of(q.ly, 1), planes = nodes_of(q.lz, 1);
        q.v[((z ? planes - 1 : 0) * column + (y ? column - 1 : 0)) * row + (x ? row - 1 : 0)] =
            (q.coarse_steps ? step_of(3, k) : 1) * sum;
    }
    __syncwarp();
#pragma unroll 1
    for (; uniform(k > 3); k--) go_on<T, ROUGH, 4, 2, 0>(q, k, at);
    go_on<T, ROUGH, 3, 2, 1>(q, 3, at);
    go_on<T, ROUGH, 2, 3, 2>(q, 2, at);
    go_on<T, ROUGH, 1, 5, 4>(q, 1, at);
    go_on<T, ROUGH, 0, 9, 7>(q, 0, at);
}

}    // namespace predict
