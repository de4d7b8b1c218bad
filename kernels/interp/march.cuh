// Twin: src/codec/interp/predict/interpolation/march.rs
// The finest level of a tile, from codes and coarse nodes in shared memory to elements in the array, predicted by
// finest.cuh. Shape says who has what. Quads end with the row; of an odd length nothing is in the place of the last
// node, and what is made there goes nowhere.
//
//   a      coarse nodes                               written before (nodes.cuh), then a barrier; all read
//   codes  of the finest level                        all read
//   turns  values and errors of rows, of two planes   all threads write one, a barrier, all read it
//   face   of the last row                            some threads write, two barriers, then all read
#pragma once
#include "finest.cuh"
#include "restore.cuh"
#include "shape.cuh"

namespace interp {

// Weights of new node i of so many; `ends`: the last node follows them.
DEV FourWeights weights_of(const EndRecipes* recipes, u32 i, u32 fresh, bool ends) {
    if (i < fresh) return recipes->weights<false>(i, fresh);
    const i32 end = ends && i == fresh ? 1 << WEIGHT_BITS : 0;
    return {(1 << WEIGHT_BITS) - end, end, 0, 0};
}

// What a block knows of a tile whose finest level it restores.
template <class T, bool ROUGH> struct Finest {
    enum : u32 { SIZE = T::BITS / 8 };
    const Shape& p;
    const EndRecipes *along_x, *along_y, *along_z;
    const u32* a;    // pair k of a row begins with number 2k
    ShortCodes codes;
    u32 *turns, *face;
    u32 s;                 // the step
    u8* dst;               // of the tile's first element
    u32 y_step, z_step;    // bytes from one row to the next, and from one plane to the next
    bool is_aligned;       // all rows begin at a multiple of 16 bytes
    u32 base;              // of F64; numbers of F32 have it
    typename T::Float fine;

    // The element of a number.
    DEV u32 element(u32 number, F32) const { return bits_of((float)(i32)number * fine); }
    DEV u64 element(u32 number, F64) const {
        // As a double without a conversion, which is slow: 2^52 + 2^31 + a number of 32 bits is exact.
        const double of = float_of((u64)0x43300000 << 32 | ((number + base) ^ 0x80000000u)) - 4503601774854144.0;
        return bits_of(of * fine);
    }
    // Stores those of four neighbours that are there.
    DEV void put_at(u32 at, Pair even, Pair odd, u32 there) const {
        const typename T::Word v[QUAD] = {element(even.v[0], T()), element(odd.v[0], T()), element(even.v[1], T()),
                                          element(odd.v[1], T())};
        u8* const to = dst + (i32)at;
        if (is_aligned && there == 15) {
            put_four(to, v, T());
            return;
        }
#pragma unroll
        for (u32 i = 0; i < QUAD; i++)
            if (there >> i & 1) store_element(to + i * SIZE, v[i]);
    }
    // The same of an even or an odd plane.
    DEV void put_even(u32 to, u32 n, Pair even, Pair odd, u32 there) const {
        put_at(to + min_of(2 * n, p.len[2] - 1) * z_step, even, odd, there);
    }
    DEV void put_odd(u32 to, u32 m, Pair even, Pair odd, u32 there) const {
        put_at(to + (2 * m + 1) * z_step, even, odd, there);
    }
    // A node's number, from its prediction and the byte where its code is.
    DEV u32 restored(u32 p, u32 code) const { return restored(p, code, s); }
    DEV u32 restored(u32 p, u32 code, u32 step) const { return p + *(const short*)(codes.at + code) * step; }

    // The face of the last row, whose planes groups of lanes share. For a whole block; a barrier behind.
    DEV void make_face() const {
        const u32 lanes = p.lanes, k = min_of(threadIdx.x & (lanes - 1), p.quads - 1), y = p.coarse[1] - 1,
                  fx = p.fresh[0], cx = p.coarse[0], cy = p.coarse[1], size = 2 * lanes;
        const i32 x = 2 * (i32)k - (i32)p.odd;
        const bool ends = !(p.len[0] & 1), last = k == p.quads - 1 && ends;
        const AlongRow along = {weights_of(along_x, (u32)x, fx, ends), weights_of(along_x, (u32)x + 1, fx, ends), last};
        u32* const own = face + 2 * (threadIdx.x & (lanes - 1));
        const u32* const row = a + y * p.row + 2 * k;
        const u32 each = RESTORE_THREADS >> p.lanes_log2, own_plane = threadIdx.x >> p.lanes_log2;
#pragma unroll 1
        for (u32 from = 0; from < p.coarse[2]; from += each) {
            const u32 n = min_of(from + own_plane, p.coarse[2] - 1);
            const u32* const here = row + n * p.plane;
            const Pair e = load_pair(here);
            const u32 end = last ? here[2] : 0;
            const Pair r = along.smooth_x(e, lane_above(e.v[0]), end);
            const u32 at = 2 * (p.first[0] + (n * cy + y) * fx + (u32)x);
            store_pair(own + n * size, {{restored(r.v[0], at), last ? end : restored(r.v[1], at + 2)}});
        }
        __syncthreads();
        u32 *const of_z = own + p.coarse[2] * size, *const of_w = of_z + p.fresh[2] * size;
#pragma unroll 1
        for (u32 from = 0; from < p.fresh[2]; from += each) {
            const u32 m = min_of(from + own_plane, p.fresh[2] - 1);
            const FourWeights w = weights_of(along_z, m, p.fresh[2], false);
            const u32 at[4] = {w.a ? m - 1 : m, m, m + 1, w.d ? m + 2 : m};
            Pair c[4], x_class[4], ze, zxe;
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                c[i] = load_pair(row + at[i] * p.plane);
                x_class[i] = load_pair(own + at[i] * size);
            }
            const u32 z_code = 2 * (p.first[2] + (m * cy + y) * cx + (u32)x),
                      x_code = 2 * (p.first[4] + (m * cy + y) * fx + (u32)x);
            along.face(
                w, c, x_class, ze, zxe, [&](u32 i, u32 r) { return restored(r, z_code + 2 * i); },
                [&](u32 i, u32 r) { return restored(r, i ? (last ? z_code + 4 : x_code + 2) : x_code); });
            store_pair(of_z + m * size, ze);
            store_pair(of_w + m * size, zxe);
        }
        __syncthreads();
    }

    // All planes. For a whole block; barriers before and behind.
    DEV void go() const {
        const bool exchange = p.rows > 1;
        u32 unit = optimisation_barrier(threadIdx.x);
        // Tiles in one or two axes may take threads more than once.
        const u32 units = exchange ? 0 : (p.lanes * p.pieces * p.segments + 31) / 32 * 32;
        do {
            march(unit, exchange);
            unit += RESTORE_THREADS;
        } while (unit < units);
        __syncthreads();
    }
    DEV void march(u32 unit, bool exchange) const {
        // Which quad of which rows and planes. Threads that have none do what others do.
        const u32 lane = unit & (p.lanes - 1), of_rows = unit >> p.lanes_log2, rest = times_within(of_rows, p.rows),
                  j = of_rows - rest * p.rows, own_segment = times_within(rest, p.pieces),
                  piece = rest - own_segment * p.pieces;
        const u32 segment = min_of(own_segment, p.segments - 1);
        const i32 asked = p.pieces > 1 ? (i32)(piece * PIECE_LANES + lane) - 1 : (i32)lane;
        const u32 k = (u32)(asked < 0 ? 0 : asked >= (i32)p.quads ? (i32)p.quads - 1 : asked);
        const i32 x = 2 * (i32)k - (i32)p.odd;
        const u32 fx = p.fresh[0], fy = p.fresh[1], fz = p.fresh[2];
        const bool ends_x = !(p.len[0] & 1), ends_y = !(p.len[1] & 1);
        const bool last_x = k == p.quads - 1 && ends_x, last_y = j + 1 == p.rows;
        const bool mine = own_segment < p.segments && (i32)k == asked && (p.pieces == 1 || (lane > 0 && lane < 31));
        const u32 there = !mine ? 0 : (x < 0 ? 12 : 3 | 12) & (k == p.quads - 1 && !ends_x ? 7 : 15);
        const bool has_second = p.len[1] > 1 && 2 * j + 1 < p.len[1];
        const u32 there_second = has_second ? there : 0;
        const u32* const row = a + j * p.row + 2 * k;
        March<ROUGH> it;
        it.x = {weights_of(along_x, (u32)x, fx, ends_x), weights_of(along_x, (u32)x + 1, fx, ends_x), last_x};
        it.wy = weights_of(along_y, j, fy, ends_y);
        it.last_y = last_y;
        it.before_last_y = j + 2 == p.rows && ends_y;
        const u32 own = 2 * threadIdx.x, apart = 2 * p.lanes;
        it.on = last_y ? own : own + apart;
        it.back = j > 0 ? own - apart : own;
        it.beyond = j + 2 < p.rows ? own + 2 * apart : own;
        it.begin();
        const i32 row_back = j > 0 ? -(i32)p.row : 0, row_on = (i32)p.row,
                  row_beyond = j + 1 < p.rows ? 2 * (i32)p.row : 0;
        const u32 cx = p.coarse[0], cy = p.coarse[1];
        const u32 s_corner = last_x && last_y ? 0 : s;
        const u32 to = 2 * j * y_step + (u32)(2 * x) * SIZE;
        // Planes: this segment's new ones from `begin` to `end`.
        const u32 begin = segment * p.each, end = min_of(begin + p.each, fz), first_even = begin > 1 ? begin - 1 : 0,
                  steps = p.segments == 1 ? fz + 2 : p.each + 3,
                  evens_end = segment + 1 == p.segments ? p.coarse[2] : begin + p.each;
        // Running places of codes, in bytes, as long as there is another plane.
        const u32 by_new = j * fx + (u32)x, by_coarse = j * cx + (u32)x;
        const u32 fx2 = 2 * fx, cx2 = 2 * cx, by_x = fx2 * cy, by_y = cx2 * fy, by_xy = fx2 * fy, by_z = cx2 * cy;
        u32 code_x = 2 * (p.first[0] + by_new) + first_even * by_x,
            code_y = 2 * (p.first[1] + by_coarse) + first_even * by_y,
            code_xy = 2 * (p.first[3] + by_new) + first_even * by_xy,
            code_z = 2 * (p.first[2] + by_coarse) + first_even * by_z,
            code_xz = 2 * (p.first[4] + by_new) + first_even * by_x,
            code_yz = 2 * (p.first[5] + by_coarse) + first_even * by_y,
            code_xyz = 2 * (p.first[6] + by_new) + first_even * by_xy;
        const u32* plane = row + first_even * p.plane;
        u32 turn = 0;
        // Even plane n: classes X and Y.
        const auto even_sides = [&](u32 n, u32 there) {
            it.even_x(plane, [&](u32 i, u32 r) { return restored(r, code_x + 2 * i, i && last_x ? 0 : s); });
            put_even(to, n, it.e[3], it.xo[3], there);
            if (p.len[1] == 1) return;
            if (exchange) store_pair(turns + turn + own, it.xo[3]);
            it.even_y(plane, row_back, row_on, row_beyond,
                      [&](u32 i, u32 r) { return restored(r, code_y + 2 * i, last_y ? 0 : s); });
        };
        // The same: class XY.
        const auto even_middle = [&](u32 n, u32 there) {
            const u32 a0 = last_y ? code_x + fx2 : code_xy, a1 = last_x ? code_y + 4 : a0 + 2;
            it.even_xy(turns + turn, face + n * apart + 2 * lane,
                       [&](u32 i, u32 r) { return restored(r, i ? a1 : a0, i ? s_corner : s); });
            put_even(to + y_step, n, it.yo[3], it.w[3], there);
        };
        // Odd plane m: classes Z and XZ.
        const auto odd_sides = [&](const FourWeights& z, u32 m, u32 there) {
            const u32 a0 = code_xz, a1 = last_x ? code_z + 4 : a0 + 2;
            const Pair zo = it.odd_z(
                z, [&](u32 i, u32 r) { return restored(r, code_z + 2 * i); },
                [&](u32 i, u32 r) { return restored(r, i ? a1 : a0); });
            if (exchange) {
                store_pair(turns + 2 * TURN + turn + own, it.ze);
                store_pair(turns + 4 * TURN + turn + own, it.zxe);
            }
            put_odd(to, m, zo, it.zx, there);
        };
        // The same: classes YZ and XYZ.
        const auto odd_middle = [&](const FourWeights& z, u32 m, u32 there) {
            const u32 a0 = last_y ? code_z + cx2 : code_yz, b0 = last_y ? code_xz + fx2 : code_xyz,
                      b1 = last_x ? a0 + 4 : b0 + 2;
            const u32* const of_face = face + (p.coarse[2] + m) * apart + 2 * lane;
            Pair zy, r;
            it.odd_yz(
                z, turns + 2 * TURN + turn, turns + 4 * TURN + turn, of_face, of_face + fz * apart, zy, r,
                [&](u32 i, u32 r) { return restored(r, a0 + 2 * i); },
                [&](u32 i, u32 r) { return restored(r, i ? b1 : b0); });
            put_odd(to + y_step, m, zy, r, there);
        };
#pragma unroll 1
        for (u32 i = 0; i < steps; i++) {
            // What is beyond the last plane, and before the first one of a segment, is made of others and goes nowhere.
            const u32 asked_even = first_even + i, n = min_of(asked_even, p.coarse[2] - 1);
            const bool has_even = p.segments > 1 || asked_even < p.coarse[2], has_odd = i >= 2 && fz > 0;
            const bool keep_even = asked_even >= begin && asked_even < evens_end;
            const u32 m = has_odd ? min_of(asked_even - 2, fz - 1) : 0;
            const bool keep_odd = has_odd && asked_even - 2 >= begin && asked_even - 2 < end;
            const FourWeights z = weights_of(along_z, m, has_odd ? fz : 0, false);
            if (has_even) even_sides(n, keep_even ? there : 0);
            if (has_odd) odd_sides(z, m, keep_odd ? there : 0);
            if (exchange) __syncthreads();
            if (p.len[1] > 1) {
                if (has_even) even_middle(n, keep_even ? there_second : 0);
                if (has_odd) odd_middle(z, m, keep_odd ? there_second : 0);
            }
            it.next();
            turn ^= TURN;
            if (asked_even + 1 < p.coarse[2]) {
                plane += p.plane;
                code_x += by_x;
                code_y += by_y;
                code_xy += by_xy;
            }
            if (has_odd && m + 1 < fz) {
                code_z += by_z;
                code_xz += by_x;
                code_yz += by_y;
                code_xyz += by_xy;
            }
        }
    }
};

}    // namespace interp
