// One warp, one tile: its numbers become codes, with the rows, lanes and registers of march.cuh, which restores them.
// Nodes of the finest level are made of the elements as they are needed.
//
//   v      nodes of level 1, those of all coarser ones among them: numbers, then what is restored of them     a level's
//          new ones are written, then __syncwarp; then the next level reads them
//   sums   codes of the row before     each lane its own
#pragma once
#include "encode.cuh"
#include "march.cuh"
#include "survey.cuh"

namespace predict {

// What the lanes of a warp know of a tile that they encode.
template <class T> struct Rows {
    typedef typename T::Word Word;
    typedef typename T::Float Float;
    u32 lx, ly, lz, set;
    bool z_inside;    // z is in registers, and y is marched along; else the other way round
    bool coarse_steps;
    bool corrects;    // elements that are multiples have to come back as such
    u16* codes;
    u32 v;    // where nodes of level 1 stand in the shared memory, in words; behind them INSIDE sums for each lane
    const uint4* weights;
    const u8* src;           // the tile's first element
    u32 in_step;             // bytes from one element to the next along the axis in registers,
    u64 on_step;             // and along the other
    Float inverse, fine;
    u32 base;
    // Of the elements: a bit for each correction, and by how much.
    u32* corrected;
    signed char* by;
    // What was found: all bits of codes. Where these have 16 bits all differences are near enough (interp.cuh).
    u32 all;

    DEV u32 number(Word bits) const {
        return (u32)Lattice<T>::rounded(Quantizer<T>::number_of_element(bits) * inverse) - base;
    }
    DEV bool is_multiple(Word bits) const {
        const Float v = Quantizer<T>::number_of_element(bits),
                    magic = (Float)(T::BITS == 64 ? 6755399441055744.0 : 12582912.0);
        return ((v * inverse + magic) - magic) * fine == v;
    }
    DEV u32 place(u32 x, u32 in, u32 on) const {
        return ((z_inside ? in : on) * ly + (z_inside ? on : in)) * lx + x;
    }
};

// Notes what an element's number is more than what is restored, if it is a multiple.
template <class T> DEV void correct(const Rows<T>& q, typename T::Word bits, u32 place, u32 by) {
    if (by == 0 || !q.is_multiple(bits)) return;
    atomicOr(q.corrected + place / 32, 1u << (place % 32));
    q.by[place] = (signed char)by;
}

// The numbers of the nodes of level 1. For a whole warp.
template <class T> DEV void fill_level_1(const Rows<T>& q) {
    SHARED_BYTES(shared);
    typedef typename T::Word Word;
    enum : u32 { SIZE = T::BITS / 8, NODES = (INSIDE - 2 + 2) / 2 + 1 };
    const u32 lane = threadIdx.x & 31, length = q.z_inside ? q.ly : q.lz, rows = nodes_of(length, 1),
              row = nodes_of(q.lx, 1), plane = row * nodes_of(q.ly, 1), in_place = q.z_inside ? plane : row,
              on_place = q.z_inside ? row : plane;
    if (lane < row) {
        const u8* const first = q.src + min_of(2 * lane, q.lx - 1) * SIZE;
#pragma unroll 1
        for (u32 h = 0; h < rows; h++) {
            const u8* const from = first + min_of(2 * h, length - 1) * q.on_step;
            u32* const to = (u32*)shared + q.v + h * on_place + lane;
            Word bits[NODES];
#pragma unroll
            for (u32 r = 0; r < NODES; r++)
                bits[r] = *(const Word*)place_behind((u64)from, q.in_step, min_of(2 * r, INSIDE - 1u));
#pragma unroll
            for (u32 r = 0; r < NODES; r++) to[r * in_place] = q.number(bits[r]);
        }
    }
    __syncwarp();
}

// Encodes a level of a tile whose axis in registers has COARSE coarse nodes and FRESH new ones on it; their codes begin
// at `at`, which moves behind them. For a whole warp.
template <class T, bool ROUGH, u32 K, u32 COARSE, u32 FRESH> DEV void encode_level(Rows<T>& q, u32 k, u32& at) {
    SHARED_BYTES(shared);
    typedef typename T::Word Word;
    enum : bool { FINEST = K == 0 };
    enum : u32 { SIZE = T::BITS / 8, ROWS = ROUGH ? 2 : 4, ROOM = FRESH ? FRESH : 1 };
    const u32 lane = threadIdx.x & 31;
    const u32 nx = nodes_of(q.lx, k), cx = nodes_of(q.lx, k + 1), fx = nx - cx, cy = nodes_of(q.ly, k + 1),
              fy = nodes_of(q.ly, k) - cy, cz = nodes_of(q.lz, k + 1), fz = nodes_of(q.lz, k) - cz;
    const u32 of_x = at, of_y = of_x + fx * cy * cz, of_z = of_y + cx * fy * cz, of_xy = of_z + cx * cy * fz,
              of_xz = of_xy + fx * fy * cz, of_yz = of_xz + fx * cy * fz, of_xyz = of_yz + cx * fy * fz;
    at = of_xyz + fx * fy * fz;
    const bool z_inside = q.z_inside;
    const u32 length = z_inside ? q.ly : q.lz, coarse_rows = z_inside ? cy : cz, new_rows = z_inside ? fy : fz;
    // What this lane has of a row, as in march.cuh. Lanes behind the last node do what its lane does, but write
    // nothing.
    const bool there = lane < nx;
    const u32 node = min_of(lane, nx - 1);
    const bool coarse = node % 2 == 0 || node + 1 == nx;
    const u32 i = coarse ? (node + 1) / 2 : node / 2;
    const u32 of_in = z_inside ? (coarse ? of_z : of_xz) : (coarse ? of_y : of_xy),
              of_other = z_inside ? (coarse ? of_y : of_xy) : (coarse ? of_z : of_xz),
              of_both = coarse ? of_yz : of_xyz;
    // Codes of a class: how far the next one is along the axis in registers, and along the other.
    const u32 across = coarse ? cx : fx, step_c = z_inside ? cy * across : across,
              step_n = z_inside ? fy * across : across, on_c = z_inside ? across : cy * across,
              on_n = z_inside ? across : fy * across;
    u16 *code_x = q.codes + of_x + i, *code_in = q.codes + of_in + i, *code_on = q.codes + of_other + i,
        *code_both = q.codes + of_both + i;
    // Nodes of level 1.
    const u32 row = nodes_of(q.lx, 1), plane = row * nodes_of(q.ly, 1), rows = nodes_of(length, 1),
              in_place = z_inside ? plane : row, on_place = z_inside ? row : plane,
              x_coarse = min_of(i << k, row - 1), x_own = FINEST ? 0 : min_of(node << (k - 1), row - 1);
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
    // Codes of classes X, Y and Z become differences: along x, along the axis in registers, and along the other, for
    // which each lane keeps them at `sums`.
    const u32 set = k < DIFFERENCE_LEVELS ? q.set : 0;
    const bool x_sums = set & X_AXIS, in_sums = set & (z_inside ? Z_AXIS : Y_AXIS),
               on_sums = set & (z_inside ? Y_AXIS : Z_AXIS);
    const u32 lane_before = node % 2 ? node - 1 : node - 2;
    const auto differ_along_x = [&](auto& codes) {
        for_each_of<0, sizeof(codes) / sizeof(codes[0])>([&](auto r) {
            enum : u32 { R = decltype(r)::value };
            const u32 before = __shfl_sync(FULL, codes[R], lane_before & 31);
            codes[R] -= coarse && i > 0 ? before : 0;
        });
    };
    const auto differ_inside = [&](auto& codes, bool counts) {
        enum : u32 { N = sizeof(codes) / sizeof(codes[0]) };
        for_each_of<1, N>([&](auto r) {
            enum : u32 { R = N - decltype(r)::value };
            codes[R] -= counts ? codes[R - 1] : 0;
        });
    };
    u32* const sums = (u32*)shared + q.v + COARSE_NODES + 3 + lane;
    const auto differ_on = [&](auto& codes, u32 first, bool counts) {
        for_each_of<0, sizeof(codes) / sizeof(codes[0])>([&](auto r) {
            enum : u32 { R = decltype(r)::value };
            u32& before = sums[32 * (first + R)];
            const u32 own = codes[R];
            codes[R] -= counts ? before : 0;
            before = own;
        });
    };
    if (uniform(on_sums))
        for (u32 r = 0; r < COARSE + FRESH; r++) sums[32 * r] = 0;
    const u32 s = q.coarse_steps ? step_of(3, k) : 1;
    const float inverse = 1.0f / (float)s;
    const auto sixteenth = [](u32 p) { return arithmetic_shift(p + 8, 4); };

    // The numbers of nodes that are coarse or new along the axis in registers, of the row at `on` of the tile, or whose
    // nodes of level 1 stand at `nodes`; and whether any lane has a multiple among them that may need a correction.
    bool has_multiples = false;
    const auto read = [&](auto& own, u32 on, const u32* nodes, auto is_fresh) {
        enum : u32 { N = sizeof(own) / sizeof(own[0]) };
        if constexpr (FINEST) {
            const u8* const from = q.src + on * q.on_step + node * SIZE;
            Word bits[N];
            for_each_of<0, N>([&](auto r) {
                enum : u32 { R = decltype(r)::value };
                const u32 in = is_fresh.value ? 2 * R + 1 : R + 1 < COARSE ? 2 * R : INSIDE - 1u;
                bits[R] = *(const Word*)place_behind((u64)from, q.in_step, in);
            });
            bool any = false;
            for_each_of<0, N>([&](auto r) {
                enum : u32 { R = decltype(r)::value };
                own[R] = q.number(bits[R]);
                any |= q.is_multiple(bits[R]);
            });
            has_multiples = q.corrects && __any_sync(FULL, any);
        } else {
            for_each_of<0, N>([&](auto r) {
                enum : u32 { R = decltype(r)::value };
                own[R] = nodes[(is_fresh.value ? (2 * R + 1) << (k - 1) : place_of(R, k, inside_nodes)) * in_place];
            });
        }
    };
    // Of the finest level: notes what is restored as another number.
    const auto check = [&](u32 own, u32 value, u32 in, u32 on) {
        if (!FINEST || !uniform(has_multiples)) return;
        if (there)
            correct(q, *(const Word*)(q.src + on * q.on_step + node * SIZE + in * (u64)q.in_step),
                    q.place(node, in, on), own - value);
        __syncwarp();
    };
    const auto code_with = [&](u32 own, u32 p) { return nearest_of(own - p, inverse); };
    // Keeps codes, so far apart.
    const auto keep = [&](const auto& codes, u16* to, u32 step, bool wanted) {
        for_each_of<0, sizeof(codes) / sizeof(codes[0])>([&](auto r) {
            enum : u32 { R = decltype(r)::value };
            const u32 kept = code_of(codes[R]);
            q.all |= kept;
            if (wanted) *(u16*)place_behind((u64)to, 2 * step, R) = (u16)kept;
        });
    };

    // Of the last rows that are coarse along the axis marched along, as in march.cuh.
    u32 v[ROWS][COARSE], n[ROWS][ROOM], e[ROUGH ? ROWS : 1][ROOM];
#pragma unroll
    for (u32 r = 0; r < COARSE; r++) {
#pragma unroll
        for (u32 h = 0; h < ROWS; h++) v[h][r] = 0;
    }
#pragma unroll
    for (u32 r = 0; r < ROOM; r++) {
#pragma unroll
        for (u32 h = 0; h < ROWS; h++) n[h][r] = 0;
#pragma unroll
        for (u32 h = 0; h < (ROUGH ? ROWS : 1); h++) e[h][r] = 0;
    }

    const u32 steps = new_rows + ROWS / 2 > coarse_rows ? new_rows + ROWS / 2 : coarse_rows;
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
            const u32* const from = (u32*)shared + q.v + place_of(h, k, rows) * on_place + x_coarse;
            u32* const to = (u32*)shared + q.v + place_of(h, k, rows) * on_place + x_own;
            const u32 on = min_of(2 * h, length - 1);
            {
                u32 own[COARSE];
                read(own, on, to, Constant<0>());
                for_each_of<0, COARSE>([&](auto r) {
                    enum : u32 { R = decltype(r)::value };
                    const u32 known = from[place_of(R, k, inside_nodes) * in_place];
                    const u32 p = sixteenth(along_x(known)), code = coarse ? 0 : code_with(own[R], p),
                              value = coarse ? known : p + s * code;
                    v[ROWS - 1][R] = value;
                    check(own[R], value, R + 1 < COARSE ? 2 * R : INSIDE - 1, on);
                    if (!FINEST && there && !coarse) to[place_of(R, k, inside_nodes) * in_place] = value;
                    own[R] = code;
                });
                if (uniform(in_sums)) differ_inside(own, true);
                if (uniform(on_sums)) differ_on(own, 0, true);
                keep(own, code_x, step_c, there && !coarse);
            }
            if constexpr (FRESH > 0) {
                u32 own[ROOM];
                read(own, on, to, Constant<1>());
                for_each_of<0, FRESH>([&](auto r) {
                    enum : u32 { R = decltype(r)::value };
                    const u32 main = inside<ROUGH, K, R>(v[ROWS - 1]);
                    // Of coarse nodes, on which along x nothing is added.
                    const u32 of_coarse = s * nearest_of(own[R] - sixteenth(main), inverse);
                    u32 p = main + along_x(of_coarse);
                    if (ROUGH) {
                        const u32 of_v = along_x(sixteenth(main) + of_coarse), of_e = p - main;
                        p = coarse ? main : arithmetic_shift(3 * main + of_v + 2 * of_e, 2);
                    }
                    p = sixteenth(p);
                    const u32 code = code_with(own[R], p), value = p + s * code,
                              error = value - sixteenth(main);
                    n[ROWS - 1][R] = ROUGH || !z_inside ? value : error;
                    if (ROUGH) e[ROWS - 1][R] = error;
                    check(own[R], value, 2 * R + 1, on);
                    if (!FINEST && there) to[((2 * R + 1) << (k - 1)) * in_place] = value;
                    own[R] = code;
                });
                if (uniform(x_sums)) differ_along_x(own);
                if (uniform(on_sums)) differ_on(own, COARSE, coarse);
                keep(own, code_in, step_c, there);
            }
            code_x += on_c;
            code_in += on_n;
        }
        if (uniform(makes_row)) {
            const RowWeights on_weights(q.weights[place_of_weights(length, k, new_rows, j, ROUGH)]);
            u32* const to = (u32*)shared + q.v + (FINEST ? 0 : (2 * j + 1) << (k - 1)) * on_place + x_own;
            const u32 on = 2 * j + 1;
            // Of nodes of this row that are coarse along the axis in registers.
            u32 of_row[COARSE], of_row_e[ROUGH ? COARSE : 1];
            const auto along = [&](const auto& rows, u32 r) {
                return ROUGH ? on_weights.make<true>(0, rows[0][r], rows[1][r], 0)
                             : on_weights.make<false>(rows[0][r], rows[1][r], rows[ROWS - 2][r], rows[ROWS - 1][r]);
            };
            {
                u32 own[COARSE];
                read(own, on, to, Constant<0>());
                for_each_of<0, COARSE>([&](auto r) {
                    enum : u32 { R = decltype(r)::value };
                    const u32 main = along(v, R);
                    const u32 of_coarse = s * nearest_of(own[R] - sixteenth(main), inverse);
                    u32 p = main + along_x(of_coarse);
                    if (ROUGH) {
                        const u32 of_v = along_x(sixteenth(main) + of_coarse), of_e = p - main;
                        p = coarse ? main : arithmetic_shift(3 * main + of_v + 2 * of_e, 2);
                    }
                    p = sixteenth(p);
                    const u32 code = code_with(own[R], p), value = p + s * code,
                              error = value - sixteenth(main);
                    of_row[R] = ROUGH || z_inside ? value : error;
                    if (ROUGH) of_row_e[R] = error;
                    check(own[R], value, R + 1 < COARSE ? 2 * R : INSIDE - 1, on);
                    if (!FINEST && there) to[place_of(R, k, inside_nodes) * in_place] = value;
                    own[R] = code;
                });
                if (uniform(in_sums)) differ_inside(own, coarse);
                if (uniform(x_sums)) differ_along_x(own);
                keep(own, code_on, step_n, there);
            }
            if constexpr (FRESH > 0) {
                u32 own[ROOM];
                read(own, on, to, Constant<1>());
                for_each_of<0, FRESH>([&](auto r) {
                    enum : u32 { R = decltype(r)::value };
                    const u32 in = inside<ROUGH, K, R>(of_row), on_v = along(n, R);
                    u32 p;
                    if (ROUGH) {
                        u32 last;
                        if (z_inside)
                            last = on_weights.make<true>(0, e[0][R], e[ROUGH ? 1 : 0][R], 0);
                        else
                            last = inside<true, K, R>(of_row_e);
                        const u32 iz = z_inside ? in : on_v, iy = z_inside ? on_v : in;
                        const u32 main = arithmetic_shift(3 * iz + iy + 2 * last, 2);
                        const u32 of_coarse = s * nearest_of(own[R] - sixteenth(main), inverse);
                        const u32 of_e = along_x(of_coarse), of_v = along_x(sixteenth(main) + of_coarse);
                        p = arithmetic_shift(arithmetic_shift(2 * iz + iy + of_v, 2) + iz + last + of_e, 1);
                        p = coarse ? main : p;
                    } else {
                        const u32 main = in + on_v;
                        p = main + along_x(s * nearest_of(own[R] - sixteenth(main), inverse));
                    }
                    p = sixteenth(p);
                    const u32 code = code_with(own[R], p), value = p + s * code;
                    check(own[R], value, 2 * R + 1, on);
                    if (!FINEST && there) to[((2 * R + 1) << (k - 1)) * in_place] = value;
                    own[R] = code;
                });
                keep(own, code_both, step_n, there);
            }
            code_on += on_c;
            code_both += on_n;
        }
    }
    __syncwarp();
}

// Encodes a tile, or a part of one. For a whole warp.
template <class T, bool ROUGH> SELDOM void encode_rows(Rows<T>& rows) {
    SHARED_BYTES(shared);
    const u32 lane = threadIdx.x & 31;
    Rows<T> q = rows;    // in registers
    q.all = 0;
    fill_level_1(q);
    u32 k = 0;
    while (nodes_of(q.lx, k + 1) > 2 || nodes_of(q.ly, k + 1) > 2 || nodes_of(q.lz, k + 1) > 2) k++;
    // Anchors: two along each axis, and each is predicted by those before it.
    if (lane == 0) {
        const u32 row = nodes_of(q.lx, 1), column = nodes_of(q.ly, 1), planes = nodes_of(q.lz, 1),
                  s = q.coarse_steps ? step_of(3, k) : 1;
        u32 restored[8];
#pragma unroll
        for (u32 of = 0; of < 8; of++) {
            u32 p = 0;
#pragma unroll
            for (u32 c = 1; c < 8; c++)
                if ((c & of) == c) p = __popc(c) & 1 ? p + restored[of ^ c] : p - restored[of ^ c];
            u32& at = ((u32*)shared)[q.v + ((of & 4 ? planes - 1 : 0) * column + (of & 2 ? column - 1 : 0)) * row +
                          (of & 1 ? row - 1 : 0)];
            const u32 code = nearest_of(at - p, 1.0f / (float)s), kept = code_of(code);
            q.all |= kept;
            q.codes[of] = (u16)kept;
            at = restored[of] = p + s * code;
        }
    }
    __syncwarp();
    u32 at = 8;
#pragma unroll 1
    for (; uniform(k > 3); k--) encode_level<T, ROUGH, 4, 2, 0>(q, k, at);
    encode_level<T, ROUGH, 3, 2, 1>(q, 3, at);
    encode_level<T, ROUGH, 2, 3, 2>(q, 2, at);
    encode_level<T, ROUGH, 1, 5, 4>(q, 1, at);
    encode_level<T, ROUGH, 0, 9, 7>(q, 0, at);
    rows.all = warp_or(q.all);
}

}    // namespace predict
