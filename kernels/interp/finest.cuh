// Twin: src/codec/interp/predict/interpolation/march.rs
// How the finest level of a tile is predicted, for who makes elements of codes (march.cuh) and who makes codes of
// elements (predict.cuh), by docs/reference/codecs/interp.md §6. A thread has four neighbours of two rows, and marches
// along z. Of the last four even planes it has what is needed in registers. Along x shuffles tell it of its neighbours,
// along y values and errors of two planes in shared memory, by turns.
//
// An axis of even length has its last node coarse, in the place of a new one. Its weights are 0 but for itself, and its
// "error" is its value, so that one formula makes every class. The new node before needs what belongs to it, along x
// that of the class at hand. So the last node is a lane's last, which is made first. Along y this face is made before
// all else.
//
// Numbers are signed, but their sums wrap around, as those of a damaged stream may.
//
// A function that is given a `put` asks that for what is restored of node i of a pair, by its prediction.
#pragma once
#include "levels.cuh"

namespace interp {

enum : i32 {
    SUM_SHIFT = WEIGHT_BITS - 4,    // sums are sixteen times what they are of
    SUM_HALF = 1 << (SUM_SHIFT - 1),
    FULL_SHIFT = SUM_SHIFT + 4,
    FULL_HALF = SUM_HALF + (8 << SUM_SHIFT)
};
DEV u32 weighted(const FourWeights& w, u32 b, u32 c, u32 a, u32 d) { return w.b * b + w.c * c + w.a * a + w.d * d; }
DEV Pair weighted(const FourWeights& w, u32 half, u32 shift, Pair b, Pair c, Pair a, Pair d) {
    return {{arithmetic_shift(half + weighted(w, b.v[0], c.v[0], a.v[0], d.v[0]), shift),
             arithmetic_shift(half + weighted(w, b.v[1], c.v[1], a.v[1], d.v[1]), shift)}};
}

// Sums along x, before they are divided. The second one of a pair comes first. `r0`: the first of the next lane; `end`:
// what belongs to the last node.
struct AlongRow {
    FourWeights first_of, second_of;
    bool last;    // the lane has the last node

    DEV u32 second(Pair f, u32 r0, u32 end) const {
        return SUM_HALF + weighted(second_of, f.v[1], last ? end : r0, f.v[0], lane_above(f.v[1]));
    }
    DEV u32 first(Pair f, u32 r0, u32 end) const {
        return SUM_HALF + weighted(first_of, f.v[0], f.v[1], lane_below(f.v[1]), last ? end : r0);
    }
    // Adds errors of a class to sums of another one.
    template <class Put> DEV Pair add(Pair t, Pair error, u32 f0, u32 end, u32 own, Put put) const {
        Pair r;
        const u32 p1 = arithmetic_shift(t.v[1] + arithmetic_shift(second(error, f0, end), SUM_SHIFT) + 8, 4);
        r.v[1] = put(1, p1);
        const u32 p0 =
            arithmetic_shift(t.v[0] + arithmetic_shift(first(error, f0, r.v[1] - own * p1), SUM_SHIFT) + 8, 4);
        r.v[0] = put(0, p0);
        return r;
    }
    // Class X of a smooth tile, from coarse nodes of a row.
    DEV Pair smooth_x(Pair c, u32 e0, u32 end) const {
        const u32 p1 = arithmetic_shift(second(c, e0, end) + (8 << SUM_SHIFT), FULL_SHIFT);
        return {{arithmetic_shift(first(c, e0, end) + (8 << SUM_SHIFT), FULL_SHIFT), p1}};
    }
    // The errors of Z and XZ on the face of the last row, from four coarse nodes along z and their class X.
    template <class PutZ, class PutX>
    DEV void face(const FourWeights& w, const Pair (&c)[4], const Pair (&x)[4], Pair& ze, Pair& zxe, PutZ put_z,
                  PutX put_x) const {
        const Pair p = weighted(w, FULL_HALF, FULL_SHIFT, c[1], c[2], c[0], c[3]),
                   t = weighted(w, SUM_HALF, SUM_SHIFT, x[1], x[2], x[0], x[3]);
#pragma unroll
        for (u32 i = 0; i < 2; i++) ze.v[i] = put_z(i, p.v[i]) - p.v[i];
        const Pair r = add(t, ze, lane_above(ze.v[0]), 0, 1, put_x);
#pragma unroll
        for (u32 i = 0; i < 2; i++) zxe.v[i] = r.v[i] - arithmetic_shift(t.v[i] + 8, 4);
    }
};

template <bool ROUGH> struct March {
    AlongRow x;
    FourWeights wy;
    bool last_y, before_last_y;
    u32 own, on, back, beyond;    // places of rows that tell; what is not there has no weight, but is read
    // Of the last four even planes: coarse nodes, classes X, Y and XY. The errors of Y; class XZ, and the errors of Z
    // and XZ.
    Pair e[4], xo[4], yo[4], w[4], ye, zx, ze, zxe;
    u32 corner;

    DEV void begin() {
        corner = 0;
        ye = zx = ze = zxe = {{0, 0}};
#pragma unroll
        for (u32 i = 0; i < 4; i++) e[i] = xo[i] = yo[i] = w[i] = ye;
    }
    DEV void next() {
#pragma unroll
        for (u32 i = 0; i < 3; i++) {
            e[i] = e[i + 1];
            xo[i] = xo[i + 1];
            yo[i] = yo[i + 1];
            w[i] = w[i + 1];
        }
    }
    DEV u32 own_y() const { return last_y ? 0 : 1; }
    DEV Pair along_y(const u32* rows, const u32* of_face, Pair f) const {
        const FourWeights of = {wy.b, last_y ? 0 : wy.c, wy.a, wy.d};
        return weighted(of, SUM_HALF, SUM_SHIFT, f, load_pair(rows + on), load_pair(rows + back),
                        load_pair(before_last_y ? of_face : rows + beyond));
    }
    static DEV Pair along_z(const FourWeights& z, const Pair (&f)[4]) {
        return weighted(z, SUM_HALF, SUM_SHIFT, f[1], f[2], f[0], f[3]);
    }

    // Of an even plane classes X and Y.
    template <class Put> DEV void even_x(const u32* plane, Put put) {
        const Pair c = load_pair(plane);
        const u32 end = plane[2], e0 = lane_above(c.v[0]);
        Pair r;
        if (ROUGH) {
            r.v[0] = arithmetic_shift(c.v[0] + c.v[1] + 1, 1);
            r.v[1] = x.last ? end : arithmetic_shift(c.v[1] + e0 + 1, 1);
        } else {
            r = x.smooth_x(c, e0, end);
        }
        e[3] = c;
        xo[3].v[1] = put(1, r.v[1]);
        xo[3].v[0] = put(0, r.v[0]);
    }
    template <class Put> DEV void even_y(const u32* plane, i32 row_back, i32 row_on, i32 row_beyond, Put put) {
        const Pair c = e[3], on_y = load_pair(plane + row_on);
        corner = last_y ? plane[row_on + 2] : 0;
        Pair r;
        if (ROUGH) {
#pragma unroll
            for (u32 i = 0; i < 2; i++) r.v[i] = last_y ? on_y.v[i] : arithmetic_shift(c.v[i] + on_y.v[i] + 1, 1);
        } else {
            r = weighted(wy, FULL_HALF, FULL_SHIFT, c, on_y, load_pair(plane + row_back),
                         load_pair(plane + row_beyond));
        }
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            const u32 y = yo[3].v[i] = put(i, r.v[i]);
            ye.v[i] = !ROUGH ? y - own_y() * r.v[i] : last_y ? y : 3 * y - 2 * r.v[i];
        }
    }
    // Class XY, once all rows have told of their class X.
    template <class Put> DEV void even_xy(const u32* rows, const u32* of_face, Put put) {
        const u32 f0 = lane_above(ye.v[0]);
        if (ROUGH) {
            const u32 a = last_y ? 0 : 3, b = last_y ? 4 : 1, a1 = x.last ? 4 : a, b1 = x.last ? 0 : b;
            const Pair d = load_pair(rows + on);
            const u32 p0 = arithmetic_shift(a * (xo[3].v[0] + d.v[0]) + b * (ye.v[0] + ye.v[1]) + 4, 3),
                      p1 = arithmetic_shift(a1 * (xo[3].v[1] + d.v[1]) + b1 * (ye.v[1] + f0) + 4, 3);
            w[3].v[1] = put(1, x.last && last_y ? corner : p1);
            w[3].v[0] = put(0, p0);
        } else {
            w[3] = x.add(along_y(rows, of_face, xo[3]), ye, f0, corner, own_y(), put);
        }
    }
    // Of an odd plane between the middle ones of the four classes Z, which comes back, and XZ.
    template <class PutZ, class PutX> DEV Pair odd_z(const FourWeights& z, PutZ put_z, PutX put_x) {
        Pair zo;
        if (ROUGH) {
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                const u32 p = arithmetic_shift(e[1].v[i] + e[2].v[i] + 1, 1);
                zo.v[i] = put_z(i, p);
                ze.v[i] = 3 * zo.v[i] - 2 * p;
            }
            const u32 f0 = lane_above(ze.v[0]), d0 = xo[1].v[0] + xo[2].v[0], d1 = xo[1].v[1] + xo[2].v[1];
            zx.v[1] = put_x(1, arithmetic_shift((x.last ? 4 : 3) * d1 + (x.last ? 0 : ze.v[1] + f0) + 4, 3));
            zx.v[0] = put_x(0, arithmetic_shift(3 * d0 + ze.v[0] + ze.v[1] + 4, 3));
            zxe.v[0] = 5 * zx.v[0] - 4 * arithmetic_shift(d0 + 1, 1);
            zxe.v[1] =
                x.last ? 3 * zx.v[1] - 2 * arithmetic_shift(d1 + 1, 1) : 5 * zx.v[1] - 4 * arithmetic_shift(d1 + 1, 1);
        } else {
            const Pair t = along_z(z, e), tx = along_z(z, xo);
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                const u32 p = arithmetic_shift(t.v[i] + 8, 4);
                zo.v[i] = put_z(i, p);
                ze.v[i] = zo.v[i] - p;
            }
            zx = x.add(tx, ze, lane_above(ze.v[0]), 0, 1, put_x);
#pragma unroll
            for (u32 i = 0; i < 2; i++) zxe.v[i] = zx.v[i] - arithmetic_shift(tx.v[i] + 8, 4);
        }
        return zo;
    }
    // Classes YZ and XYZ, once all rows have told of the errors of Z and XZ.
    template <class PutY, class PutX>
    DEV void odd_yz(const FourWeights& z, const u32* of_ze, const u32* of_zxe, const u32* face_ze, const u32* face_zxe,
                    Pair& zy, Pair& zyx, PutY put_y, PutX put_x) {
        Pair f;
        if (ROUGH) {
            const u32 a = last_y ? 4 : 3, b = last_y ? 0 : 1;
            const Pair d = load_pair(of_ze + on), dw = load_pair(of_zxe + on);
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                const u32 p = arithmetic_shift(a * (yo[1].v[i] + yo[2].v[i]) + b * (ze.v[i] + d.v[i]) + 4, 3);
                zy.v[i] = put_y(i, p);
                f.v[i] = zy.v[i] + (last_y ? 2 : 4) * (zy.v[i] - p);
            }
            const u32 f0 = lane_above(f.v[0]), z0 = w[1].v[0] + w[2].v[0], z1 = w[1].v[1] + w[2].v[1],
                      y0 = zxe.v[0] + dw.v[0], y1 = zxe.v[1] + dw.v[1];
            const u32 by_y = last_y ? 0 : x.last ? 2 : 1, by_x = x.last ? 0 : last_y ? 2 : 1;
            const u32 p0 = arithmetic_shift(6 * z0 + (last_y ? 0 : y0) + (last_y ? 2 : 1) * (f.v[0] + f.v[1]) + 8, 4),
                      p1 = arithmetic_shift((x.last && last_y ? 8 : 6) * z1 + by_y * y1 + by_x * (f.v[1] + f0) + 8, 4);
            zyx.v[1] = put_x(1, p1);
            zyx.v[0] = put_x(0, p0);
        } else {
            const Pair t = along_z(z, yo), u = along_y(of_ze, face_ze, ze);
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                const u32 p = arithmetic_shift(t.v[i] + u.v[i] + 8, 4);
                zy.v[i] = put_y(i, p);
                f.v[i] = zy.v[i] - p;
            }
            const Pair tw = along_z(z, w), y = along_y(of_zxe, face_zxe, zxe);
            zyx = x.add({{tw.v[0] + y.v[0], tw.v[1] + y.v[1]}}, f, lane_above(f.v[0]), 0, 1, put_x);
        }
    }
};

}    // namespace interp
