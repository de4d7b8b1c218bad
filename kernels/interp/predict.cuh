// Twin: src/codec/interp/predict/interpolation/march.rs
// Interpolation of a whole tile of 32 x 32 x 16 elements by PREDICT_THREADS threads of an encoder, from elements in the
// array to codes in shared memory. Numbers are less the tile's first one. Coarse levels are made in shared memory. For
// the finest one, predicted by finest.cuh, a thread has x from 4k on and y from 2j on. The last node of an axis is
// coarse: x = 31 and y = 31.
//
//   a      nodes of level 1                           all threads write numbers, a barrier, then what is restored
//   odd    numbers between them on their rows         each thread writes and reads its own
//   codes                                             all threads write
//   turns  values and errors of rows, of two planes   all threads write one, a barrier, all read it
//   face   of y = 31                                  some threads write, two barriers, then all read
#pragma once
#include "quantize.cuh"

namespace interp::encoder {

enum : u32 {
    ROW = 18,    // of nodes of level 1, one of which is not used
    PLANE = 17 * ROW,
    // Where the codes of the finest level's classes begin.
    OF_X = 2601,
    OF_Y = OF_X + 15 * 17 * 9,
    OF_Z = OF_Y + 17 * 15 * 9,
    OF_XY = OF_Z + 17 * 17 * 7,
    OF_XZ = OF_XY + 15 * 15 * 9,
    OF_YZ = OF_XZ + 15 * 17 * 7,
    OF_XYZ = OF_YZ + 17 * 15 * 7,
    NO_CODE = 1u << TILE_LOG2,    // which is 0
};

// What rows and the face tell each other.
struct Turns {
    u32 x[2][16][16], z[2][16][16], w[2][16][16];
};
struct Face {
    u32 x[9][16], z[7][16], w[7][16];    // class X, errors of Z and XZ
};

// The levels above the finest one: nodes of level 1 from those of level 4 on, where all places and counts are known to
// the compiler. Errors of a class stand behind each other.
template <bool ROUGH, bool BY16> struct CoarseCodes {
    u32 *a, *errors;
    TileCodes<BY16>& codes;
    const FourWeights* weights;

    template <u32 L> DEV static constexpr u32 fresh(u32 axis) { return (axis == 2 ? 8 : 16) >> L; }
    template <u32 L> DEV static constexpr u32 coarse(u32 axis) { return axis == 2 && L == 4 ? 2 : fresh<L>(axis) + 1; }
    template <u32 L, u32 CLS> DEV static constexpr u32 along(u32 axis) {
        return CLS >> axis & 1 ? fresh<L>(axis) : coarse<L>(axis);
    }
    template <u32 L, u32 CLS> DEV static constexpr u32 count() {
        return along<L, CLS>(0) * along<L, CLS>(1) * along<L, CLS>(2);
    }
    // The first code of a class: X, Y, Z, XY, XZ, YZ, XYZ.
    template <u32 L> DEV static constexpr u32 first_of_level() { return L == 4 ? 8 : L == 3 ? 18 : L == 2 ? 75 : 405; }
    template <u32 L, u32 CLS> DEV static constexpr u32 first() {
        constexpr u32 x = first_of_level<L>(), y = x + count<L, 1>(), z = y + count<L, 2>(), xy = z + count<L, 4>(),
                      xz = xy + count<L, 3>(), yz = xz + count<L, 5>(), xyz = yz + count<L, 6>();
        return CLS == 1 ? x : CLS == 2 ? y : CLS == 4 ? z : CLS == 3 ? xy : CLS == 5 ? xz : CLS == 6 ? yz : xyz;
    }
    // Where errors of classes Y, Z, XZ and YZ begin.
    template <u32 L, u32 CLS> DEV static constexpr u32 errors_of() {
        constexpr u32 z = count<L, 2>(), xz = z + count<L, 4>(), yz = xz + count<L, 5>();
        return CLS == 2 ? 0 : CLS == 4 ? z : CLS == 5 ? xz : yz;
    }
    // Sixteen times what nodes `step` apart make of the one between the second and the third, which `v` is.
    template <u32 L, u32 AXIS> DEV u32 make(const u32* v, i32 step, u32 node) const {
        const FourWeights w = weights[WholeWeights::first(AXIS, L) + node];
        u32 sum = (1 << (WEIGHT_BITS - 5)) + w.b * v[0] + w.c * v[step];
        if (!ROUGH && coarse<L>(AXIS) > 2) sum += w.a * v[w.a ? -step : 0] + w.d * v[w.d ? 2 * step : 0];
        return arithmetic_shift(sum, WEIGHT_BITS - 4);
    }
    template <u32 L, u32 CLS> DEV void node(u32 i) {
        constexpr u32 CX = along<L, CLS>(0), CY = along<L, CLS>(1), STEP = 1u << (L - 1);
        const u32 row = i / CX, x = i - row * CX, z = row / CY, y = row - z * CY;
        // The node, and the coarse one before it along each axis.
        u32* const here = a +
                          (CLS & 4  ? (2 * z + 1) * STEP
                           : L == 4 ? 8 * z
                                    : 2 * z * STEP) *
                              PLANE +
                          (2 * y + (CLS >> 1 & 1)) * STEP * ROW + (2 * x + (CLS & 1)) * STEP;
        const auto of_x = [&] { return make<L, 0>(here - STEP, 2 * STEP, x); };
        const auto of_y = [&] { return make<L, 1>(here - STEP * ROW, 2 * STEP * ROW, y); };
        const auto of_z = [&] { return make<L, 2>(here - STEP * PLANE, 2 * STEP * PLANE, z); };
        // Errors along x: of a class whose rows have one node more; along y: of one with the same rows.
        const auto errors_x = [&](u32 at) { return make<L, 0>(errors + at + row * coarse<L>(0) + x, 1, x); };
        const auto errors_y = [&](u32 at) { return make<L, 1>(errors + at + (z * coarse<L>(1) + y) * CX + x, CX, y); };
        u32 sum, main = 0;
        if constexpr (CLS == 1) sum = of_x();
        if constexpr (CLS == 2) sum = of_y();
        if constexpr (CLS == 4) sum = of_z();
        if constexpr (CLS == 3 || CLS == 5 || CLS == 6) {
            main = CLS == 3 ? of_y() : of_z();
            const u32 e = CLS == 3   ? errors_x(errors_of<L, 2>())
                          : CLS == 5 ? errors_x(errors_of<L, 4>())
                                     : errors_y(errors_of<L, 4>());
            sum = main + e;
            if (ROUGH) sum = arithmetic_shift(3 * main + (CLS == 6 ? of_y() : of_x()) + 2 * e, 2);
        }
        if constexpr (CLS == 7) {
            main = of_z();
            sum = main + errors_y(errors_of<L, 5>()) + errors_x(errors_of<L, 6>());
            if (ROUGH) sum = arithmetic_shift(arithmetic_shift(2 * main + of_y() + of_x(), 2) + sum, 1);
        }
        constexpr u32 FIRST_CODE = first<L, CLS>();
        constexpr bool LONG = FIRST_CODE + count<L, CLS>() <= LONG_CODES;
        const u32 p = arithmetic_shift(sum + 8, 4),
                  v = p + codes.template put<L == 1 ? 13 : 11, LONG>(FIRST_CODE + i, *here - p);
        *here = v;
        if constexpr (CLS == 2 || CLS == 4 || CLS == 6) errors[errors_of<L, CLS>() + i] = v - p;
        if constexpr (CLS == 5) errors[errors_of<L, CLS>() + i] = v - arithmetic_shift(main + 8, 4);
    }
    template <u32 L, u32 CLS, u32 THREADS> DEV void nodes() {
        const u32 own = optimisation_barrier(threadIdx.x);    // so that places are not kept from class to class
#pragma unroll
        for (u32 i = 0; i < count<L, CLS>(); i += THREADS)
            if (i + own < count<L, CLS>()) node<L, CLS>(i + own);
    }
    // A level, by one warp or by all.
    template <u32 L, u32 THREADS> DEV void level() {
        const auto meet = [] {
            if (THREADS == 32)
                __syncwarp();
            else
                __syncthreads();
        };
        nodes<L, 1, THREADS>();
        nodes<L, 2, THREADS>();
        nodes<L, 4, THREADS>();
        meet();
        nodes<L, 3, THREADS>();
        nodes<L, 5, THREADS>();
        nodes<L, 6, THREADS>();
        meet();
        nodes<L, 7, THREADS>();
        meet();
    }
    // For a whole block; barriers before and behind.
    DEV void go() {
        if (threadIdx.x < 32) {
            // Anchors: each of those before it along the axes.
            const auto at = [&](u32 i) { return a + (i >> 2) * 8 * PLANE + (i >> 1 & 1) * 16 * ROW + (i & 1) * 16; };
            u32 v[8];
#pragma unroll
            for (u32 i = 0; i < 8; i++) {
                u32 p = 0;
#pragma unroll
                for (u32 c = 1; c < 8; c++)
                    if ((c & i) == c) p += __popc(c) & 1 ? v[i ^ c] : -v[i ^ c];
                v[i] = p + codes.template put<11, true>(i, *at(i) - p);
            }
            __syncwarp();    // all have read
            if (threadIdx.x == 0)
#pragma unroll
                for (u32 i = 0; i < 8; i++) *at(i) = v[i];
            __syncwarp();
            level<4, 32>();
            level<3, 32>();
        }
        __syncthreads();
        level<2, PREDICT_THREADS>();
        level<1, PREDICT_THREADS>();
    }
};

// The finest level.
template <class T, bool ROUGH, bool BY16> struct FinestCodes {
    const u32* a;
    const u32* odd;
    TileCodes<BY16>& codes;
    Turns* turns;
    Face* face;
    const FourWeights* weights;
    const Elements<T>& from;
    Found& found;
    Corrections& corrections;
    u32 odd_on;    // which numbers of `odd` are equal to elements: two bits for each even plane

    DEV u32 put(u32 v, u32 p, u32 n) { return p + codes.template put_fine<15>(n, v - p); }

    // The face y = 31, of which 16 threads have a plane each. For a whole block; a barrier behind.
    DEV void make_face() {
        const u32 k = threadIdx.x & 7, z = threadIdx.x >> 3, n = z == 15 ? 8 : z >> 1, m = min_of(z >> 1, 6u),
                  q = 2 * k;
        const bool last = k == 7, even = !(z & 1) || z == 15;
        const AlongRow along = {weights[q], weights[q + 1], last};
        const auto v = from.four(from.row(31, z) + 4 * k * from.SIZE);
        // Their codes are written when all planes are.
        const auto restored = [&](u32 i, u32 p) { return p + 15u * nearest_multiple<15>(from.number(v.v[i]) - p); };
        {
            const u32* const row = a + n * PLANE + 16 * ROW;
            const Pair e = load_pair(row + q);
            const u32 end = row[16];
            const Pair p = along.smooth_x(e, lane_above(e.v[0]), end);
            if (even) store_pair(&face->x[n][q], {{restored(1, p.v[0]), last ? end : restored(3, p.v[1])}});
        }
        __syncthreads();
        const FourWeights w = weights[WholeWeights::OF_SHORT + m];
        const u32 at[4] = {w.a ? m - 1 : m, m, m + 1, w.d ? m + 2 : m};
        const u32* const row = a + 16 * ROW + q;
        Pair c[4], x[4], ze, zxe;
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            c[i] = load_pair(row + at[i] * PLANE);
            x[i] = load_pair(&face->x[at[i]][q]);
        }
        along.face(
            w, c, x, ze, zxe, [&](u32 i, u32 p) { return restored(2 * i, p); },
            [&](u32 i, u32 p) { return restored(2 * i + 1, p); });
        if (!even) {
            store_pair(&face->z[m][q], ze);
            store_pair(&face->w[m][q], zxe);
        }
        __syncthreads();
    }

    // All planes. For a whole block; barriers before and behind.
    DEV void go() {
        const u32 own_thread = optimisation_barrier(threadIdx.x), k = own_thread & 7, j = own_thread >> 3, q = 2 * k;
        const bool last_x = k == 7, last_y = j == 15;
        const u32* const row = a + j * ROW + q;
        March<ROUGH> it;
        it.x = {weights[q], weights[q + 1], last_x};
        it.wy = weights[j];
        it.last_y = last_y;
        it.before_last_y = j == 14;
        const u32 own = j * 16 + q;
        it.on = last_y ? own : own + 16;
        it.back = j > 0 ? own - 16 : own;
        it.beyond = j < 14 ? own + 32 : own;
        it.begin();
        const i32 row_back = j > 0 ? -(i32)ROW : 0, row_beyond = j < 15 ? 2 * (i32)ROW : 0;
        // Running places: of codes of rows of 15 and 17 in planes of 255, 289 and 225; of coarse planes.
        const u32 r15 = 15 * j + q, r17 = 17 * j + q;
        u32 e15 = r15, e17 = r17, e225 = r15, m289 = r17, turn = 0;
        const u32* plane = row;
        const u32* of_odd = odd + (BY16 ? own : own_thread);
        // Elements: of the second row of the next even plane, of both rows of the next odd one; the number of the first
        // one in the tile.
        const u64 even_row = from.row(2 * j, 0) + 4 * k * from.SIZE, y_step = from.y_step, z_step = from.z_step;
        u64 to_even = even_row + y_step, to_odd = even_row + z_step;
        Four<T> a1, b0, b1;
        Pair vw, vzy, vzyx;
        u32 n = 0;    // the even plane
        bool on_even = false, on_odd0 = false, on_odd1 = false;

        const auto load_even = [&](bool last) {
            a1 = from.four(to_even);
            to_even += last ? z_step : 2 * z_step;
        };
        const auto load_odd = [&] {
            b0 = from.four(to_odd);
            b1 = from.four(to_odd + y_step);
            to_odd += 2 * z_step;
        };
        const auto pair_of = [&](const Four<T>& f, u32 i, bool& is_on) -> Pair {
            return {{number_of(from, f.v[i], found, is_on), number_of(from, f.v[i + 2], found, is_on)}};
        };
        // The multiples of a row of four, but for those that `skip` tells.
        const auto note = [&](u32 y, u32 z, Pair even, Pair odd, u32 skip) {
            const u64 at = from.row(y, z) + 4 * k * from.SIZE;
#pragma unroll 1
            for (u32 i = 0; i < 4; i++)
                if (!(skip >> i & 1) && from.is_on(from.element(at + i * from.SIZE)))
                    corrections.add((z * 32 + y) * 32 + 4 * k + i, i == 0   ? even.v[0]
                                                                   : i == 1 ? odd.v[0]
                                                                   : i == 2 ? even.v[1]
                                                                            : odd.v[1]);
        };
        // An even plane: classes X and Y.
        const auto even_sides = [&] {
            const Pair c = load_pair(plane);
            Pair vo;
            if (BY16) {
                vo = load_pair(of_odd);
            } else {
                const u32 o = *of_odd;
                vo = {{c.v[0] + (i32)(short)(o - c.v[0]), c.v[1] + arithmetic_shift(o - (c.v[1] << 16), 16)}};
            }
            of_odd += BY16 ? 256 : (u32)PREDICT_THREADS;
            on_even = false;
            const Pair vy = pair_of(a1, 0, on_even);
            vw = pair_of(a1, 1, on_even);
            const u32 of_x = OF_X + e15, of_y = OF_Y + e17;
            it.even_x(plane, [&](u32 i, u32 p) { return put(vo.v[i], p, i && last_x ? (u32)NO_CODE : of_x + i); });
            store_pair(&turns->x[0][0][0] + turn + own, it.xo[3]);
            it.even_y(plane, row_back, ROW, row_beyond,
                      [&](u32 i, u32 p) { return put(vy.v[i], p, last_y ? (u32)NO_CODE : of_y + i); });
            plane += PLANE;
            if (odd_on & 3) note(2 * j, n == 8 ? 15 : 2 * n, c, it.xo[3], ~(odd_on << 1 & 2 | odd_on << 2 & 8));
            odd_on >>= 2;
        };
        // The same: class XY.
        const auto even_middle = [&](u32 turn) {
            const u32 a0 = last_y ? OF_X + 15 + e15 : OF_XY + e225,
                      a1 = last_x ? (last_y ? (u32)NO_CODE : OF_Y + 2 + e17) : a0 + 1;
            it.even_xy(&turns->x[0][0][0] + turn, face->x[n] + q,
                       [&](u32 i, u32 p) { return put(vw.v[i], p, i ? a1 : a0); });
            if (on_even) note(2 * j + 1, n == 8 ? 15 : 2 * n, it.yo[3], it.w[3], last_y ? (last_x ? 13u : 5u) : 0u);
            e15 += 255;
            e17 += 255;
            e225 += 225;
            n++;
        };
        // An odd plane: classes Z and XZ. Running places are three planes ahead.
        const auto odd_sides = [&](const FourWeights& z, u32 m) {
            const u32 of_z = OF_Z + m289, a0 = OF_XZ + e15 - 2 * 255, a1 = last_x ? of_z + 2 : a0 + 1;
            on_odd0 = on_odd1 = false;
            const Pair v0 = pair_of(b0, 0, on_odd0), v1 = pair_of(b0, 1, on_odd0);
            vzy = pair_of(b1, 0, on_odd1);
            vzyx = pair_of(b1, 1, on_odd1);
            const Pair zo = it.odd_z(
                z, [&](u32 i, u32 p) { return put(v0.v[i], p, of_z + i); },
                [&](u32 i, u32 p) { return put(v1.v[i], p, i ? a1 : a0); });
            store_pair(&turns->z[0][0][0] + turn + own, it.ze);
            store_pair(&turns->w[0][0][0] + turn + own, it.zxe);
            if (on_odd0) note(2 * j, 2 * m + 1, zo, it.zx, 0);
        };
        // The same: classes YZ and XYZ.
        const auto odd_middle = [&](const FourWeights& z, u32 turn, u32 m) {
            const u32 of_z = OF_Z + m289, of_y = OF_YZ + e17 - 3 * 255, a0 = last_y ? of_z + 17 : of_y,
                      b0 = last_y ? OF_XZ + 15 + e15 - 3 * 255 : OF_XYZ + e225 - 3 * 225,
                      b1 = last_x ? (last_y ? of_z + 19 : of_y + 2) : b0 + 1;
            Pair zy, r;
            it.odd_yz(
                z, &turns->z[0][0][0] + turn, &turns->w[0][0][0] + turn, face->z[m] + q, face->w[m] + q, zy, r,
                [&](u32 i, u32 p) { return put(vzy.v[i], p, a0 + i); },
                [&](u32 i, u32 p) { return put(vzyx.v[i], p, i ? b1 : b0); });
            if (on_odd1) note(2 * j + 1, 2 * m + 1, zy, r, 0);
            m289 += 289;
        };
        load_even(false);
#pragma unroll 1
        for (u32 i = 0; i < 2; i++) {
            even_sides();
            load_even(false);
            if (i) load_odd();
            __syncthreads();
            even_middle(turn);
            it.next();
            turn ^= 256;
        }
#pragma unroll 1
        for (u32 m = 0; m < 7; m++) {
            const FourWeights z = weights[WholeWeights::OF_SHORT + m];
            even_sides();
            odd_sides(z, m);
            if (m < 6) {
                load_even(m == 4);
                load_odd();
            }
            __syncthreads();
            even_middle(turn);
            odd_middle(z, turn, m);
            it.next();
            turn ^= 256;
        }
        __syncthreads();
    }
};

}    // namespace interp::encoder
