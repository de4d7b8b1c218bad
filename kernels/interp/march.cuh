// Twin: src/codec/interp/predict/interpolation/march.rs
// The finest level of a tile, from codes and coarse nodes in shared memory to elements in the array
// (docs/reference/codecs/interp.md §6). A thread has four neighbours of two rows, and marches along z. Of the last four
// even planes it has what is needed in registers. Along x shuffles tell it of its neighbours, along y values and errors
// of two planes in shared memory, by turns. Shape says who has what.
//
// An axis of even length has its last node coarse, in the place of a new one. Its weights are 0 but for itself, and its
// "error" is its value, so that one formula makes every class. The new node before needs what belongs to it, along x
// that of the class at hand. So quads end with the row, and the last node is a lane's last, which is made first. Along
// y this face is made before all else. Of an odd length nothing is in that place, and what is made there goes nowhere.
//
//   a      coarse nodes                               written before (nodes.cuh), then a barrier; all read
//   codes  of the finest level                        all read
//   turns  values and errors of rows, of two planes   all threads write one, a barrier, all read it
//   face   of the last row                            some threads write, two barriers, then all read
#pragma once
#include "restore.cuh"
#include "shape.cuh"

namespace interp {

// Weights of coarse nodes 0, 1, −1 and 2 from a new one; or those of what is in the place of a new one.
struct FourWeights {
    i32 b, c, a, d;

    // Of new node i of so many; `ends`: the last node follows them.
    DEV FourWeights(const EndRecipes* recipes, u32 i, u32 fresh, bool ends) {
        if (i < fresh) {
            recipes->weights<false>(i, fresh, a, b, c, d);
            return;
        }
        const bool is_end = ends && i == fresh;
        b = is_end ? 0 : 1 << WEIGHT_BITS;
        c = is_end ? 1 << WEIGHT_BITS : 0;
        a = d = 0;
    }
};

// What a block knows of a tile whose finest level it restores.
template <class T, bool ROUGH> struct Finest {
    enum : u32 { SIZE = T::BITS / 8 };
    enum : i32 {
        SHIFT = WEIGHT_BITS - 4,
        HALF = 1 << (SHIFT - 1),
        FULL_SHIFT = SHIFT + 4,
        FULL_HALF = HALF + (8 << SHIFT)
    };
    const Shape& p;
    const EndRecipes *along_x, *along_y, *along_z;
    const i32* a;    // pair k of a row begins with number 2k
    ShortCodes codes;
    i32 *turns, *face;
    i32 s;                 // the step
    u8* dst;               // of the tile's first element
    u32 y_step, z_step;    // bytes from one row to the next, and from one plane to the next
    bool is_aligned;       // all rows begin at a multiple of 16 bytes
    i32 base;              // of F64; numbers of F32 have it
    typename T::Float fine;

    // The element of a number.
    DEV u32 element(i32 number, F32) const { return bits_of((float)number * fine); }
    DEV u64 element(i32 number, F64) const {
        // As a double without a conversion, which is slow: 2^52 + 2^31 + a number of 32 bits is exact.
        const double of = float_of((u64)0x43300000 << 32 | ((u32)(number + base) ^ 0x80000000u)) - 4503601774854144.0;
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
    DEV i32 restored(i32 p, u32 code) const { return restored(p, code, s); }
    DEV i32 restored(i32 p, u32 code, i32 step) const { return p + *(const short*)(codes.at + code) * step; }

    // The face of the last row, whose planes groups of lanes share. For a whole block; a barrier behind.
    DEV void make_face() const {
        const u32 lanes = p.lanes, k = min_of(threadIdx.x & (lanes - 1), p.quads - 1), y = p.coarse[1] - 1,
                  fx = p.fresh[0], cx = p.coarse[0], cy = p.coarse[1], size = 2 * lanes;
        const i32 x = 2 * (i32)k - (i32)p.odd;
        const bool ends = !(p.len[0] & 1), last = k == p.quads - 1 && ends;
        const FourWeights wx0(along_x, (u32)x, fx, ends), wx1(along_x, (u32)x + 1, fx, ends);
        i32* const own = face + 2 * (threadIdx.x & (lanes - 1));
        const auto second = [&](Pair f, i32 end) {
            const i32 r0 = lane_above(f.v[0]), r1 = lane_above(f.v[1]);
            return HALF + wx1.b * f.v[1] + wx1.c * (last ? end : r0) + wx1.a * f.v[0] + wx1.d * r1;
        };
        const auto first = [&](Pair f, i32 end) {
            const i32 r0 = lane_above(f.v[0]), l1 = lane_below(f.v[1]);
            return HALF + wx0.b * f.v[0] + wx0.c * f.v[1] + wx0.a * l1 + wx0.d * (last ? end : r0);
        };
        const i32* const row = a + y * p.row + 2 * k;
        const u32 each = RESTORE_THREADS >> p.lanes_log2, own_plane = threadIdx.x >> p.lanes_log2;
#pragma unroll 1
        for (u32 from = 0; from < p.coarse[2]; from += each) {
            const u32 n = min_of(from + own_plane, p.coarse[2] - 1);
            const i32* const here = row + n * p.plane;
            const Pair e = load_pair(here);
            const i32 end = last ? here[2] : 0, p1 = (second(e, end) + (8 << SHIFT)) >> FULL_SHIFT,
                      p0 = (first(e, end) + (8 << SHIFT)) >> FULL_SHIFT;
            const u32 at = 2 * (p.first[0] + (n * cy + y) * fx + (u32)x);
            store_pair(own + n * size, {{restored(p0, at), last ? end : restored(p1, at + 2)}});
        }
        __syncthreads();
        i32 *const of_z = own + p.coarse[2] * size, *const of_w = of_z + p.fresh[2] * size;
#pragma unroll 1
        for (u32 from = 0; from < p.fresh[2]; from += each) {
            const u32 m = min_of(from + own_plane, p.fresh[2] - 1);
            const FourWeights w(along_z, m, p.fresh[2], false);
            const u32 ma = w.a ? m - 1 : m, md = w.d ? m + 2 : m;
            const Pair b = load_pair(row + m * p.plane), c = load_pair(row + (m + 1) * p.plane),
                       e = load_pair(row + ma * p.plane), d = load_pair(row + md * p.plane),
                       xb = load_pair(own + m * size), xc = load_pair(own + (m + 1) * size),
                       xa = load_pair(own + ma * size), xd = load_pair(own + md * size);
            Pair ze, t;
            const u32 z_code = 2 * (p.first[2] + (m * cy + y) * cx + (u32)x),
                      x_code = 2 * (p.first[4] + (m * cy + y) * fx + (u32)x);
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                const i32 p = (FULL_HALF + w.b * b.v[i] + w.c * c.v[i] + w.a * e.v[i] + w.d * d.v[i]) >> FULL_SHIFT;
                ze.v[i] = restored(p, z_code + 2 * i) - p;
                t.v[i] = (HALF + w.b * xb.v[i] + w.c * xc.v[i] + w.a * xa.v[i] + w.d * xd.v[i]) >> SHIFT;
            }
            const i32 p1 = (t.v[1] + (second(ze, 0) >> SHIFT) + 8) >> 4,
                      r1 = restored(p1, last ? z_code + 4 : x_code + 2),
                      p0 = (t.v[0] + (first(ze, r1 - p1) >> SHIFT) + 8) >> 4, r0 = restored(p0, x_code);
            store_pair(of_z + m * size, ze);
            store_pair(of_w + m * size, {{r0 - ((t.v[0] + 8) >> 4), r1 - ((t.v[1] + 8) >> 4)}});
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
        const bool last_x = k == p.quads - 1 && ends_x, last_y = j + 1 == p.rows,
                   before_last_y = j + 2 == p.rows && ends_y;
        const bool mine = own_segment < p.segments && (i32)k == asked && (p.pieces == 1 || (lane > 0 && lane < 31));
        const u32 there = !mine ? 0 : (x < 0 ? 12 : 3 | 12) & (k == p.quads - 1 && !ends_x ? 7 : 15);
        const bool has_second = p.len[1] > 1 && 2 * j + 1 < p.len[1];
        const u32 there_second = has_second ? there : 0;
        const i32 own_y = last_y ? 0 : 1;
        const FourWeights wx0(along_x, (u32)x, fx, ends_x), wx1(along_x, (u32)x + 1, fx, ends_x),
            wy(along_y, j, fy, ends_y);
        const i32 wy_c = last_y ? 0 : wy.c;
        const i32* const row = a + j * p.row + 2 * k;
        // Places of rows; what is not there has no weight, but is read.
        const u32 own = 2 * threadIdx.x, apart = 2 * p.lanes, on = last_y ? own : own + apart,
                  back = j > 0 ? own - apart : own, beyond = j + 2 < p.rows ? own + 2 * apart : own;
        const i32 row_back = j > 0 ? -(i32)p.row : 0, row_on = (i32)p.row,
                  row_beyond = j + 1 < p.rows ? 2 * (i32)p.row : 0;
        const u32 cx = p.coarse[0], cy = p.coarse[1];
        const i32 s_corner = last_x && last_y ? 0 : s;
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
        const i32* plane = row + first_even * p.plane;
        // Of the last four even planes: coarse nodes, classes X, Y and XY; the errors of Y.
        Pair e[4], xo[4], yo[4], w[4], ye = {{0, 0}}, zx = ye, ze = ye, zxe = ye;
#pragma unroll
        for (u32 i = 0; i < 4; i++) e[i] = xo[i] = yo[i] = w[i] = ye;
        i32 corner = 0;
        u32 turn = 0;

        // Sums along an axis, before they are divided. The second one of a pair comes first.
        const auto second = [&](Pair f, i32 r0, i32 end) {
            return HALF + wx1.b * f.v[1] + wx1.c * (last_x ? end : r0) + wx1.a * f.v[0] + wx1.d * lane_above(f.v[1]);
        };
        const auto first = [&](Pair f, i32 r0, i32 end) {
            return HALF + wx0.b * f.v[0] + wx0.c * f.v[1] + wx0.a * lane_below(f.v[1]) + wx0.d * (last_x ? end : r0);
        };
        const auto sum_along_y = [&](const i32* rows, const i32* of_face, Pair f) {
            const Pair c = load_pair(rows + on), b = load_pair(rows + back),
                       d = load_pair(before_last_y ? of_face + 2 * lane : rows + beyond);
            Pair r;
#pragma unroll
            for (u32 i = 0; i < 2; i++)
                r.v[i] = (HALF + wy.b * f.v[i] + wy_c * c.v[i] + wy.a * b.v[i] + wy.d * d.v[i]) >> SHIFT;
            return r;
        };
        const auto sum_along_z = [&](const FourWeights& z, const Pair(&f)[4]) {
            Pair r;
#pragma unroll
            for (u32 i = 0; i < 2; i++)
                r.v[i] = (HALF + z.b * f[1].v[i] + z.c * f[2].v[i] + z.a * f[0].v[i] + z.d * f[3].v[i]) >> SHIFT;
            return r;
        };
        // Rough: weights of sums along y, x and z.
        const i32 ra = last_y ? 0 : 3, rb = last_y ? 4 : 1, ra1 = last_x ? 4 : ra, rb1 = last_x ? 0 : rb,
                  rz = last_y ? 4 : 3, rzb = last_y ? 0 : 1;

        // Even plane n: classes X and Y.
        const auto even_sides = [&](u32 n, u32 there) {
            const Pair c = load_pair(plane);
            const i32 end = plane[2];
            e[3] = c;
            Pair x, r;
            const i32 e0 = lane_above(c.v[0]);
            if (ROUGH) {
                r.v[0] = (c.v[0] + c.v[1] + 1) >> 1;
                r.v[1] = last_x ? end : (c.v[1] + e0 + 1) >> 1;
            } else {
                r.v[1] = (second(c, e0, end) + (8 << SHIFT)) >> FULL_SHIFT;
                r.v[0] = (first(c, e0, end) + (8 << SHIFT)) >> FULL_SHIFT;
            }
            x.v[1] = restored(r.v[1], code_x + 2, last_x ? 0 : s);
            x.v[0] = restored(r.v[0], code_x);
            xo[3] = x;
            put_even(to, n, c, x, there);
            if (p.len[1] == 1) return;
            if (exchange) store_pair(turns + turn + own, x);
            const Pair on_y = load_pair(plane + row_on);
            corner = last_y ? plane[row_on + 2] : 0;
            if (ROUGH) {
#pragma unroll
                for (u32 i = 0; i < 2; i++) r.v[i] = last_y ? on_y.v[i] : (c.v[i] + on_y.v[i] + 1) >> 1;
            } else {
                const Pair b = load_pair(plane + row_back), d = load_pair(plane + row_beyond);
#pragma unroll
                for (u32 i = 0; i < 2; i++)
                    r.v[i] =
                        (FULL_HALF + wy.b * c.v[i] + wy.c * on_y.v[i] + wy.a * b.v[i] + wy.d * d.v[i]) >> FULL_SHIFT;
            }
            Pair y;
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                y.v[i] = restored(r.v[i], code_y + 2 * i, last_y ? 0 : s);
                ye.v[i] = !ROUGH ? y.v[i] - own_y * r.v[i] : last_y ? y.v[i] : 3 * y.v[i] - 2 * r.v[i];
            }
            yo[3] = y;
        };
        // The same: class XY, once all rows have told of theirs.
        const auto even_middle = [&](u32 n, u32 there) {
            const u32 a0 = last_y ? code_x + fx2 : code_xy, a1 = last_x ? code_y + 4 : a0 + 2;
            const i32* const rows = turns + turn;
            const i32 f0 = lane_above(ye.v[0]);
            Pair r;
            if (ROUGH) {
                const Pair d = load_pair(rows + on);
                const i32 p0 = (ra * (xo[3].v[0] + d.v[0]) + rb * (ye.v[0] + ye.v[1]) + 4) >> 3,
                          p1 = (ra1 * (xo[3].v[1] + d.v[1]) + rb1 * (ye.v[1] + f0) + 4) >> 3;
                r.v[1] = restored(last_x && last_y ? corner : p1, a1, s_corner);
                r.v[0] = restored(p0, a0);
            } else {
                const Pair t = sum_along_y(rows, face + n * apart, xo[3]);
                const i32 p1 = (t.v[1] + (second(ye, f0, corner) >> SHIFT) + 8) >> 4;
                r.v[1] = restored(p1, a1, s_corner);
                const i32 p0 = (t.v[0] + (first(ye, f0, r.v[1] - own_y * p1) >> SHIFT) + 8) >> 4;
                r.v[0] = restored(p0, a0);
            }
            w[3] = r;
            put_even(to + y_step, n, yo[3], r, there);
        };
        // Odd plane m between the middle ones of the four: classes Z and XZ.
        const auto odd_sides = [&](const FourWeights& z, u32 m, u32 there) {
            const u32 a0 = code_xz, a1 = last_x ? code_z + 4 : a0 + 2;
            Pair zo;
            if (ROUGH) {
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    const i32 r = (e[1].v[i] + e[2].v[i] + 1) >> 1;
                    zo.v[i] = restored(r, code_z + 2 * i);
                    ze.v[i] = 3 * zo.v[i] - 2 * r;
                }
                const i32 f0 = lane_above(ze.v[0]), d0 = xo[1].v[0] + xo[2].v[0], d1 = xo[1].v[1] + xo[2].v[1];
                zx.v[1] = restored(((last_x ? 4 : 3) * d1 + (last_x ? 0 : ze.v[1] + f0) + 4) >> 3, a1);
                zx.v[0] = restored((3 * d0 + ze.v[0] + ze.v[1] + 4) >> 3, a0);
                zxe.v[0] = 5 * zx.v[0] - 4 * ((d0 + 1) >> 1);
                zxe.v[1] = last_x ? 3 * zx.v[1] - 2 * ((d1 + 1) >> 1) : 5 * zx.v[1] - 4 * ((d1 + 1) >> 1);
            } else {
                const Pair t = sum_along_z(z, e), tx = sum_along_z(z, xo);
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    const i32 r = (t.v[i] + 8) >> 4;
                    zo.v[i] = restored(r, code_z + 2 * i);
                    ze.v[i] = zo.v[i] - r;
                }
                const i32 f0 = lane_above(ze.v[0]), p1 = (tx.v[1] + (second(ze, f0, 0) >> SHIFT) + 8) >> 4;
                zx.v[1] = restored(p1, a1);
                const i32 p0 = (tx.v[0] + (first(ze, f0, zx.v[1] - p1) >> SHIFT) + 8) >> 4;
                zx.v[0] = restored(p0, a0);
#pragma unroll
                for (u32 i = 0; i < 2; i++) zxe.v[i] = zx.v[i] - ((tx.v[i] + 8) >> 4);
            }
            if (exchange) {
                store_pair(turns + 2 * TURN + turn + own, ze);
                store_pair(turns + 4 * TURN + turn + own, zxe);
            }
            put_odd(to, m, zo, zx, there);
        };
        // The same: classes YZ and XYZ.
        const auto odd_middle = [&](const FourWeights& z, u32 m, u32 there) {
            const u32 a0 = last_y ? code_z + cx2 : code_yz, b0 = last_y ? code_xz + fx2 : code_xyz,
                      b1 = last_x ? a0 + 4 : b0 + 2;
            const i32 *const of_ze = turns + 2 * TURN + turn, *const of_zxe = turns + 4 * TURN + turn;
            Pair zy, r, f;
            if (ROUGH) {
                const Pair d = load_pair(of_ze + on), dw = load_pair(of_zxe + on);
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    const i32 p = (rz * (yo[1].v[i] + yo[2].v[i]) + rzb * (ze.v[i] + d.v[i]) + 4) >> 3;
                    zy.v[i] = restored(p, a0 + 2 * i);
                    f.v[i] = zy.v[i] + (last_y ? 2 : 4) * (zy.v[i] - p);
                }
                const i32 f0 = lane_above(f.v[0]), z0 = w[1].v[0] + w[2].v[0], z1 = w[1].v[1] + w[2].v[1],
                          y0 = zxe.v[0] + dw.v[0], y1 = zxe.v[1] + dw.v[1];
                const i32 by_y = last_y ? 0 : last_x ? 2 : 1, by_x = last_x ? 0 : last_y ? 2 : 1;
                const i32 p0 = (6 * z0 + (last_y ? 0 : y0) + (last_y ? 2 : 1) * (f.v[0] + f.v[1]) + 8) >> 4,
                          p1 = ((last_x && last_y ? 8 : 6) * z1 + by_y * y1 + by_x * (f.v[1] + f0) + 8) >> 4;
                r.v[1] = restored(p1, b1);
                r.v[0] = restored(p0, b0);
            } else {
                const i32* const of_face = face + p.coarse[2] * apart + m * apart;
                const Pair t = sum_along_z(z, yo), u = sum_along_y(of_ze, of_face, ze);
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    const i32 p = (t.v[i] + u.v[i] + 8) >> 4;
                    zy.v[i] = restored(p, a0 + 2 * i);
                    f.v[i] = zy.v[i] - p;
                }
                const Pair tw = sum_along_z(z, w), y = sum_along_y(of_zxe, of_face + fz * apart, zxe);
                const i32 f0 = lane_above(f.v[0]), p1 = (tw.v[1] + y.v[1] + (second(f, f0, 0) >> SHIFT) + 8) >> 4;
                r.v[1] = restored(p1, b1);
                const i32 p0 = (tw.v[0] + y.v[0] + (first(f, f0, r.v[1] - p1) >> SHIFT) + 8) >> 4;
                r.v[0] = restored(p0, b0);
            }
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
            const FourWeights z(along_z, m, has_odd ? fz : 0, false);
            if (has_even) even_sides(n, keep_even ? there : 0);
            if (has_odd) odd_sides(z, m, keep_odd ? there : 0);
            if (exchange) __syncthreads();
            if (p.len[1] > 1) {
                if (has_even) even_middle(n, keep_even ? there_second : 0);
                if (has_odd) odd_middle(z, m, keep_odd ? there_second : 0);
            }
#pragma unroll
            for (u32 i = 0; i < 3; i++) {
                e[i] = e[i + 1];
                xo[i] = xo[i + 1];
                yo[i] = yo[i + 1];
                w[i] = w[i + 1];
            }
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
