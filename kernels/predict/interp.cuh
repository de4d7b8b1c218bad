// Interpolation inside a tile, by a whole block (docs/codecs/predict.md §7): src/codec/predict/interp.rs in CUDA.
//
// The numbers of a tile stand in shared memory in raster order, its codes in global memory in their own order. Of nodes
// whose error others need it is a step times the code, but for class XZ, whose codes make way for errors.
//
//   numbers   all threads write new nodes, then a barrier; all read coarse ones
//   levels    weights at the ends of axes     some threads write, then a barrier; all read
#pragma once
#include "sums.cuh"

namespace predict {

enum : u32 { X_AXIS = 1, Y_AXIS = 2, Z_AXIS = 4, WEIGHT_BITS = 10, LEVELS = 15, DIFFERENCE_LEVELS = 2 };

// Nodes on level k of an axis of so many elements.
DEV u32 nodes_of(u32 n, u32 k) { return n == 1 ? 1 : ((n - 2 + (1u << k)) >> k) + 1; }
// Where node i of level k is.
DEV u32 place_of_node(u32 n, u32 k, u32 i) { return min_of(i << k, n - 1); }

// Weights of coarse nodes −1, 0, 1 and 2 from a new one.
struct Weights {
    i32 w[4];
};
// Those of an axis on a level: of the first new node, and the last two.
struct Ends {
    Weights ends[3];
};
// What is known of tiles of some lengths, in the shared memory of a block.
struct Levels {
    u32 len[3], rough;    // what it is known of; lengths of 0 before
    Ends of[LEVELS][3];
};

DEV i64 floor_division(i64 a, i64 b) {
    const i64 q = a / b;
    return q * b > a ? q - 1 : q;
}

// Lagrange's weights of new node j of level k on an axis of n elements.
DEV Weights make_weights(u32 n, u32 k, u32 j, bool rough) {
    const u32 coarse = nodes_of(n, k + 1);
    const u32 first = rough || j == 0 ? j : j - 1, last = rough || j + 2 >= coarse ? j + 1 : j + 2;
    const i64 x = (i64)(2 * j + 1) << k;
    Weights all = {{0, 0, 0, 0}};
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
        all.w[i + 1 - j] = w;
        sum += w;
        const i32 most = all.w[heaviest + 1 - j];
        if ((w < 0 ? -w : w) > (most < 0 ? -most : most)) heaviest = i;
    }
    all.w[heaviest + 1 - j] += (1 << WEIGHT_BITS) - sum;
    return all;
}

// Makes them those of a tile. For a whole block; a barrier before and behind.
DEV void lay_out(Levels& levels, u32 lx, u32 ly, u32 lz, bool rough) {
    if (levels.len[0] == lx && levels.len[1] == ly && levels.len[2] == lz && levels.rough == rough) return;
    __syncthreads();    // all have looked
#pragma unroll 1
    for (u32 i = threadIdx.x; i < LEVELS * 9; i += blockDim.x) {
        const u32 k = i / 9, axis = i / 3 % 3, end = i % 3, n = axis == 0 ? lx : axis == 1 ? ly : lz;
        const u32 fresh = nodes_of(n, k) - nodes_of(n, k + 1), j = end == 0 ? 0 : end == 1 ? fresh - 2 : fresh - 1;
        if (fresh > (end == 1 ? 1u : 0u)) levels.of[k][axis].ends[end] = make_weights(n, k, j, rough);
    }
    if (threadIdx.x == 0) {
        levels.len[0] = lx;
        levels.len[1] = ly;
        levels.len[2] = lz;
        levels.rough = rough;
    }
    __syncthreads();
}

// An axis on a level.
struct Axis {
    u32 coarse, fresh;    // nodes
    u32 k, last;          // the level; the last element
    u32 step;             // from one element to the next in the tile
    bool rough;
    const Ends* ends;

    // Where a coarse node is in the tile.
    DEV u32 of_coarse(u32 i) const { return min_of(i << (k + 1), last) * step; }
    DEV u32 of(bool is_new, u32 i) const { return is_new ? (2 * i + 1 << k) * step : of_coarse(i); }
    DEV u32 count(bool is_new) const { return is_new ? fresh : coarse; }
};

// 16 times what the values of coarse nodes make at new node j; `value` tells that of a node.
template <class Value> DEV u32 interpolated(const Axis& a, u32 j, Value value) {
    if (j > 0 && j + 2 < a.fresh) {
        const u32 sum = value(j) + value(j + 1);
        return a.rough ? 8 * sum : 9 * sum - (value(j - 1) + value(j + 2));
    }
    const i32* const w = a.ends->ends[j == 0 ? 0 : j + 1 == a.fresh ? 2 : 1].w;
    const u32 from = j > 0 ? value(j - 1) : 0, b = value(j), c = value(j + 1),
              d = j + 2 < a.coarse ? value(j + 2) : 0;
    if (w[0] == -64 && w[1] == 576 && w[2] == 576 && w[3] == -64) return 9 * (b + c) - (from + d);
    if (w[0] == 0 && w[1] == 512 && w[2] == 512 && w[3] == 0) return 8 * (b + c);
    const u32 sum = (u32)w[0] * (from - b) + (u32)w[2] * (c - b) + (u32)w[3] * (d - b);
    return 16 * b + (u32)((i32)(sum + 32) >> 6);
}
DEV u32 arithmetic_shift(u32 x, u32 by) { return (u32)((i32)x >> by); }

// Where the classes of a level begin among the codes, and their lengths along x and y.
struct Class {
    u32 first, nx, ny;

    DEV u32 at(u32 x, u32 y, u32 z) const { return first + (z * ny + y) * nx + x; }
};

// The step of a level of a tile with so many axes of more than two elements.
DEV u32 step_of(u32 axes, u32 k) {
    const u32 lower = axes <= 1 ? k + 0 : axes == 2 ? (k < 2 ? 0 : k + 1) : (k < 1 ? 0 : k + 2);
    return lower < 3 ? 15 : lower == 3 || (lower == 4 && axes <= 1) ? 13 : 11;
}

// Restores the numbers of a tile from the differences at `codes`, of which it uses the lower 32 bits. For a whole block;
// a barrier before and behind.
template <class Word>
DEV void interpolate(u32* v, Word* codes, u32 lx, u32 ly, u32 lz, bool coarse_steps, bool rough, u32 set,
                     Levels& levels, Partial<Word>& partial) {
    lay_out(levels, lx, ly, lz, rough);
    const u32 len[3] = {lx, ly, lz}, raster[3] = {1, lx, lx * ly};
    const u32 axes = (lx > 2) + (ly > 2) + (lz > 2);
    u32 k = 0;
    while (nodes_of(lx, k + 1) > 2 || nodes_of(ly, k + 1) > 2 || nodes_of(lz, k + 1) > 2) k++;
    u32 at;
    {
        // Anchors: each is the sum of the differences of those before it.
        const u32 nx = nodes_of(lx, k + 1), ny = nodes_of(ly, k + 1), nz = nodes_of(lz, k + 1);
        const u32 s = coarse_steps ? step_of(axes, k) : 1;
        at = nx * ny * nz;
        if (threadIdx.x < at) {
            const u32 x = threadIdx.x % nx, y = threadIdx.x / nx % ny, z = threadIdx.x / nx / ny;
            u32 sum = 0;
            for (u32 i = 0; i <= z; i++)
                for (u32 j = 0; j <= y; j++)
                    for (u32 h = 0; h <= x; h++) sum += (u32)codes[(i * ny + j) * nx + h];
            v[(x ? lx - 1 : 0) + (y ? ly - 1 : 0) * raster[1] + (z ? lz - 1 : 0) * raster[2]] = s * sum;
        }
        __syncthreads();
    }
#pragma unroll 1
    for (k++; k-- > 0;) {
        const u32 s = coarse_steps ? step_of(axes, k) : 1;
        Axis axis[3];
#pragma unroll
        for (u32 a = 0; a < 3; a++) {
            const u32 coarse = nodes_of(len[a], k + 1);
            axis[a] = {coarse, nodes_of(len[a], k) - coarse, k, len[a] - 1, raster[a], rough, &levels.of[k][a]};
        }
        const Axis &ax = axis[0], &ay = axis[1], &az = axis[2];
        Class of[8];    // by the axes along which nodes are new
#pragma unroll 1
        for (u32 i = 0; i < 7; i++) {
            // X, Y, Z, XY, XZ, YZ, XYZ.
            const u32 cls = 0x7653421u >> (4 * i) & 7;
            const bool in_x = cls & X_AXIS, in_y = cls & Y_AXIS, in_z = cls & Z_AXIS;
            const u32 nx = ax.count(in_x), ny = ay.count(in_y), nz = az.count(in_z), count = nx * ny * nz;
            of[cls] = {at, nx, ny};
            if (count == 0) continue;
            const u32 sums = set & ~cls;
            if (i < 3 && k < DIFFERENCE_LEVELS && sums) {
                const Box box = {{nx, ny, nz}, {1, nx, nx * ny}};
#pragma unroll 1
                for (u32 a = 0; a < 3; a++) {
                    if (!(sums >> a & 1) || box.len[a] <= 1) continue;
                    sum_along(codes + at, box, a, partial);
                    __syncthreads();
                }
            }
            const Divisor by_row(nx), by_plane(nx * ny);
            const Class of_y = of[Y_AXIS], of_z = of[Z_AXIS], of_xz = of[X_AXIS | Z_AXIS], of_yz = of[Y_AXIS | Z_AXIS];
#pragma unroll 1
            for (u32 n = threadIdx.x; n < count; n += blockDim.x) {
                const u32 z = by_plane.divide(n), rest = n - z * by_plane.by, y = by_row.divide(rest),
                          x = rest - y * nx;
                const u32 px = ax.of(in_x, x), py = ay.of(in_y, y), pz = az.of(in_z, z);
                const auto along_x = [&] {
                    return interpolated(ax, x, [&](u32 i) { return v[ax.of_coarse(i) + py + pz]; });
                };
                const auto along_y = [&] {
                    return interpolated(ay, y, [&](u32 i) { return v[px + ay.of_coarse(i) + pz]; });
                };
                const auto along_z = [&] {
                    return interpolated(az, z, [&](u32 i) { return v[px + py + az.of_coarse(i)]; });
                };
                // Errors: of Y, Z and YZ along x, of Z and XZ along y.
                const auto errors_x = [&](const Class& c) {
                    return interpolated(ax, x, [&](u32 i) { return s * (u32)codes[c.at(i, y, z)]; });
                };
                const auto errors_y = [&](const Class& c, u32 s) {
                    return interpolated(ay, y, [&](u32 i) { return s * (u32)codes[c.at(x, i, z)]; });
                };
                u32 p, of_coarse = 0;
                switch (cls) {
                    case X_AXIS: p = along_x(); break;
                    case Y_AXIS: p = along_y(); break;
                    case Z_AXIS: p = along_z(); break;
                    case X_AXIS | Y_AXIS: {
                        const u32 i = along_y(), e = errors_x(of_y);
                        p = rough ? arithmetic_shift(3 * i + along_x() + 2 * e, 2) : i + e;
                        break;
                    }
                    case X_AXIS | Z_AXIS: {
                        of_coarse = along_z();
                        const u32 e = errors_x(of_z);
                        p = rough ? arithmetic_shift(3 * of_coarse + along_x() + 2 * e, 2) : of_coarse + e;
                        break;
                    }
                    case Y_AXIS | Z_AXIS: {
                        const u32 i = along_z(), e = errors_y(of_z, s);
                        p = rough ? arithmetic_shift(3 * i + along_y() + 2 * e, 2) : i + e;
                        break;
                    }
                    default: {
                        const u32 i = along_z(), sum = i + errors_y(of_xz, 1) + errors_x(of_yz);
                        p = rough ? arithmetic_shift(arithmetic_shift(2 * i + along_y() + along_x(), 2) + sum, 1) : sum;
                    }
                }
                const u32 value = arithmetic_shift(p + 8, 4) + s * (u32)codes[at + n];
                v[px + py + pz] = value;
                if (cls == (X_AXIS | Z_AXIS)) codes[at + n] = value - arithmetic_shift(of_coarse + 8, 4);
            }
            at += count;
            __syncthreads();
        }
    }
}

}    // namespace predict
