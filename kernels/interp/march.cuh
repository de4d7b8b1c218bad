// Twin: src/codec/interp/predict/interpolation/march.rs
// The finest level of a whole tile of 32 x 32 x 16 elements, from codes in shared memory to elements in the array, by
// WHOLE_THREADS threads (docs/reference/codecs/interp.md §6). A thread has four neighbours of two rows, x from 4k on
// and y from 2j on, and marches along z: of the last four even planes it has what is needed in registers. Along x
// shuffles tell it of its neighbours, along y two planes' values and errors in shared memory, by turns.
//
// The last node of an axis is coarse, in the place of a new one: x = 31 and y = 31. Its weights are 0 but for itself,
// and its "error" is its value, so that one formula makes every class. x = 29 needs what belongs to x = 31, which is
// made first; y = 29 needs y = 31, so that this face is made before all else (`face`).
//
//   a      nodes of level 1                           written before (interp.cuh), then a barrier; all read
//   codes  of the finest level                        all read
//   turn   values and errors of rows, of two planes   all threads write one, a barrier, all read it
//   face   of y = 31                                  some threads write, two barriers, then all read
#pragma once
#include "restore.cuh"

namespace interp {

enum : u32 {
    WHOLE_THREADS = 128,
    ROW = 18,    // of nodes of level 1, one of which is not used
    PLANE = 17 * ROW,
    // Of codes of a whole tile in shared memory.
    NARROW_BYTES = LONG_CODES + (1u << TILE_LOG2),
    WIDE_BYTES = 2u << TILE_LOG2,
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

// Differences of a whole tile in shared memory, with room for one that is 0 behind them.
template <bool BY16> struct ShortCodes {
    const u8* at;

    DEV u32 operator()(u32 n) const {
        if (BY16 || n < LONG_CODES) return (u32)(i32) * (const short*)(at + 2 * n);
        return (u32)(i32) * (const signed char*)(at + LONG_CODES + n);
    }
    // Of the finest level.
    DEV i32 fine(u32 n) const {
        return BY16 ? (i32) * (const short*)(at + 2 * n) : (i32) * (const signed char*)(at + LONG_CODES + n);
    }
};

// What rows and the face tell each other.
struct Turns {
    i32 x[2][16][16], z[2][16][16], w[2][16][16];
};
struct Face {
    i32 x[9][16], z[7][16], w[7][16];    // class X, errors of Z and XZ
};

struct Pair {
    i32 v[2];
};
DEV Pair load_pair(const i32* p) {
    const uint2 q = *(const uint2*)p;
    return {{(i32)q.x, (i32)q.y}};
}
DEV void store_pair(i32* p, Pair a) { *(uint2*)p = make_uint2((u32)a.v[0], (u32)a.v[1]); }
DEV i32 lane_below(i32 v) { return (i32)__shfl_up_sync(FULL, (u32)v, 1); }
DEV i32 lane_above(i32 v) { return (i32)__shfl_down_sync(FULL, (u32)v, 1); }

// Weights of coarse nodes 0, 1, −1 and 2 from a new one; or those of a coarse node in the place of a new one.
struct alignas(16) FourWeights {
    i32 b, c, a, d;
};
// Those of a whole tile, smooth and rough: of axes of 32, levels 0 to 4, then of one of 16, levels 0 to 3. In the
// shared memory of a block.
struct WholeWeights {
    enum : u32 { OF_SHORT = 32, COUNT = OF_SHORT + 16 };
    FourWeights of[2][COUNT];

    // The first of those of a level.
    DEV static constexpr u32 first(u32 axis, u32 level) {
        return axis == 2 ? OF_SHORT + 16 - (16 >> level) : 32 - (32 >> level);
    }
    // For a whole block; a barrier behind.
    DEV void make() {
#pragma unroll 1
        for (u32 i = threadIdx.x; i < 2 * COUNT; i += WHOLE_THREADS) {
            const bool rough = i >= COUNT;
            const u32 at = rough ? i - COUNT : i, n = at < OF_SHORT ? 32 : 16,
                      rest = (at < OF_SHORT ? (u32)OF_SHORT : (u32)COUNT) - at;
            FourWeights& w = of[rough][at];
            w = {0, 1 << WEIGHT_BITS, 0, 0};
            if (rest == 1) continue;
            const u32 level = top_bit(n) - 1 - top_bit(rest - 1), j = (n >> level) - rest;
            if (j >= nodes_of(n, level) - nodes_of(n, level + 1)) continue;
            const Recipe r = make_recipe(n, level, j, rough);
            w = {(1 << WEIGHT_BITS) - r.a - r.c - r.d, r.c, r.a, r.d};
        }
    }
};

// The levels above the finest one of a whole tile: nodes of level 1 from those of level 4 on, where all places and
// counts are known to the compiler. Errors of a class stand behind each other.
template <bool ROUGH, class Codes> struct CoarseLevels {
    i32 *a, *errors;
    Codes codes;
    const FourWeights* weights;
    bool in_steps;
    i32 base;    // which numbers get
    u32 far;     // all bits of numbers, and so much

    enum : u32 { TOO_FAR = 1u << 19 };
    template <u32 L> DEV static constexpr u32 fresh(u32 axis) { return (axis == 2 ? 8 : 16) >> L; }
    template <u32 L> DEV static constexpr u32 coarse(u32 axis) { return axis == 2 && L == 4 ? 2 : fresh<L>(axis) + 1; }
    template <u32 L, u32 CLS> DEV static constexpr u32 along(u32 axis) {
        return CLS >> axis & 1 ? fresh<L>(axis) : coarse<L>(axis);
    }
    template <u32 L, u32 CLS> DEV static constexpr u32 count() {
        return along<L, CLS>(0) * along<L, CLS>(1) * along<L, CLS>(2);
    }
    // The first code of a class: X, Y, Z, XY, XZ, YZ, XYZ.
    template <u32 L> DEV static constexpr u32 first_of_level() {
        return L == 4 ? 8 : L == 3 ? 18 : L == 2 ? 75 : L == 1 ? 405 : OF_X;
    }
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
    template <u32 L, u32 AXIS> DEV i32 make(const i32* v, i32 step, u32 node) const {
        const FourWeights w = weights[WholeWeights::first(AXIS, L) + node];
        i32 sum = (1 << (WEIGHT_BITS - 5)) + w.b * v[0] + w.c * v[step];
        if (!ROUGH && coarse<L>(AXIS) > 2) sum += w.a * v[w.a ? -step : 0] + w.d * v[w.d ? 2 * step : 0];
        return sum >> (WEIGHT_BITS - 4);
    }
    template <u32 L, u32 CLS> DEV void node(u32 i) {
        constexpr u32 CX = along<L, CLS>(0), CY = along<L, CLS>(1), STEP = 1u << (L - 1);
        const u32 row = i / CX, x = i - row * CX, z = row / CY, y = row - z * CY;
        // The node, and the coarse one before it along each axis.
        i32* const here = a +
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
        i32 sum, main = 0;
        if constexpr (CLS == 1) sum = of_x();
        if constexpr (CLS == 2) sum = of_y();
        if constexpr (CLS == 4) sum = of_z();
        if constexpr (CLS == 3 || CLS == 5 || CLS == 6) {
            main = CLS == 3 ? of_y() : of_z();
            const i32 e = CLS == 3   ? errors_x(errors_of<L, 2>())
                          : CLS == 5 ? errors_x(errors_of<L, 4>())
                                     : errors_y(errors_of<L, 4>());
            sum = main + e;
            if (ROUGH) sum = (3 * main + (CLS == 6 ? of_y() : of_x()) + 2 * e) >> 2;
        }
        if constexpr (CLS == 7) {
            main = of_z();
            sum = main + errors_y(errors_of<L, 5>()) + errors_x(errors_of<L, 6>());
            if (ROUGH) sum = (((2 * main + of_y() + of_x()) >> 2) + sum) >> 1;
        }
        const i32 p = (sum + 8) >> 4, step = in_steps ? L == 1 ? 13 : 11 : 1,
                  v = p + (i32)codes(first<L, CLS>() + i) * step;
        *here = v;
        far |= (u32)v + TOO_FAR;
        if constexpr (CLS == 2 || CLS == 4 || CLS == 6) errors[errors_of<L, CLS>() + i] = v - p;
        if constexpr (CLS == 5) errors[errors_of<L, CLS>() + i] = v - ((main + 8) >> 4);
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
    // Whether all numbers are small, as sums with weights have 32 bits. For a whole block; barriers before and behind.
    DEV bool go() {
        if (threadIdx.x < 32) {
            if (threadIdx.x < 8) {
                // Anchors: each is the sum of the differences of those before it.
                i32 sum = 0;
                for (u32 i = 0; i < 8; i++)
                    if (!(i & ~threadIdx.x)) sum += (i32)codes(i);
                const i32 v = sum * (in_steps ? 11 : 1) + base;
                far |= (u32)v + TOO_FAR;
                a[(threadIdx.x >> 2) * 8 * PLANE + (threadIdx.x >> 1 & 1) * 16 * ROW + (threadIdx.x & 1) * 16] = v;
            }
            __syncwarp();
            level<4, 32>();
            level<3, 32>();
        }
        __syncthreads();
        level<2, WHOLE_THREADS>();
        level<1, WHOLE_THREADS>();
        return !__syncthreads_or(far >= 2 * TOO_FAR);
    }
};

// What a block knows of a whole tile that it restores.
template <class T, bool ROUGH, bool BY16> struct Whole {
    enum : u32 { SIZE = T::BITS / 8 };
    enum : i32 {
        SHIFT = WEIGHT_BITS - 4,
        HALF = 1 << (SHIFT - 1),
        FULL_SHIFT = SHIFT + 4,
        FULL_HALF = HALF + (8 << SHIFT)
    };
    const i32* a;
    ShortCodes<BY16> codes;
    Turns* turns;
    Face* face;
    const FourWeights* weights;
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
    // Stores four neighbours.
    DEV void put(u32 at, Pair even, Pair odd) const {
        const typename T::Word v[QUAD] = {element(even.v[0], T()), element(odd.v[0], T()), element(even.v[1], T()),
                                          element(odd.v[1], T())};
        u8* const to = dst + at;
        if (is_aligned) {
            put_four(to, v, T());
            return;
        }
#pragma unroll
        for (u32 i = 0; i < QUAD; i++) store_element(to + i * SIZE, v[i]);
    }
    DEV i32 restored(i32 p, u32 code) const { return p + codes.fine(code) * s; }

    // The face y = 31, of which 16 threads have a plane each. For a whole block; a barrier behind.
    DEV void make_face() const {
        const u32 k = threadIdx.x & 7, z = threadIdx.x >> 3, n = z == 15 ? 8 : z >> 1, m = min_of(z >> 1, 6u),
                  q = 2 * k;
        const bool last = k == 7, even = !(z & 1) || z == 15;
        const FourWeights wx0 = weights[q], wx1 = weights[q + 1];
        const auto second = [&](Pair f, i32 end) {
            const i32 r0 = lane_above(f.v[0]), r1 = lane_above(f.v[1]);
            return HALF + wx1.b * f.v[1] + wx1.c * (last ? end : r0) + wx1.a * f.v[0] + wx1.d * r1;
        };
        const auto first = [&](Pair f, i32 end) {
            const i32 r0 = lane_above(f.v[0]), l1 = lane_below(f.v[1]);
            return HALF + wx0.b * f.v[0] + wx0.c * f.v[1] + wx0.a * l1 + wx0.d * (last ? end : r0);
        };
        {
            const i32* const row = a + n * PLANE + 16 * ROW;
            const Pair e = load_pair(row + q);
            const i32 end = row[16], p1 = (second(e, end) + (8 << SHIFT)) >> FULL_SHIFT,
                      p0 = (first(e, end) + (8 << SHIFT)) >> FULL_SHIFT;
            const u32 at = OF_X + 255 * n + 240 + q;
            if (even) store_pair(&face->x[n][q], {{restored(p0, at), last ? end : restored(p1, at + 1)}});
        }
        __syncthreads();
        const FourWeights w = weights[WholeWeights::OF_SHORT + m];
        const u32 ma = w.a ? m - 1 : m, md = w.d ? m + 2 : m;
        const i32* const row = a + 16 * ROW + q;
        const Pair b = load_pair(row + m * PLANE), c = load_pair(row + (m + 1) * PLANE),
                   e = load_pair(row + ma * PLANE), d = load_pair(row + md * PLANE), xb = load_pair(&face->x[m][q]),
                   xc = load_pair(&face->x[m + 1][q]), xa = load_pair(&face->x[ma][q]), xd = load_pair(&face->x[md][q]);
        Pair ze, t;
        const u32 of_z = OF_Z + 289 * m + 272 + q, of_x = OF_XZ + 255 * m + 240 + q;
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            const i32 p = (FULL_HALF + w.b * b.v[i] + w.c * c.v[i] + w.a * e.v[i] + w.d * d.v[i]) >> FULL_SHIFT;
            ze.v[i] = restored(p, of_z + i) - p;
            t.v[i] = (HALF + w.b * xb.v[i] + w.c * xc.v[i] + w.a * xa.v[i] + w.d * xd.v[i]) >> SHIFT;
        }
        const i32 p1 = (t.v[1] + (second(ze, 0) >> SHIFT) + 8) >> 4, r1 = restored(p1, last ? of_z + 2 : of_x + 1),
                  p0 = (t.v[0] + (first(ze, r1 - p1) >> SHIFT) + 8) >> 4, r0 = restored(p0, of_x);
        if (!even) {
            store_pair(&face->z[m][q], ze);
            store_pair(&face->w[m][q], {{r0 - ((t.v[0] + 8) >> 4), r1 - ((t.v[1] + 8) >> 4)}});
        }
        __syncthreads();
    }

    // All planes. For a whole block; barriers before and behind.
    DEV void go() const {
        const u32 own_thread = optimisation_barrier(threadIdx.x), k = own_thread & 7, j = own_thread >> 3, q = 2 * k;
        const bool last_x = k == 7, last_y = j == 15, before_last_y = j == 14;
        const i32 own_y = last_y ? 0 : 1;
        const FourWeights wx0 = weights[q], wx1 = weights[q + 1], wy = weights[j];
        const i32 wy_c = last_y ? 0 : wy.c;
        const i32* const row = a + j * ROW;
        // Places of rows; what is not there has no weight, but is read.
        const u32 own = j * 16 + q, on = last_y ? own : own + 16, back = j > 0 ? own - 16 : own,
                  beyond = j < 14 ? own + 32 : own;
        const i32 row_back = j > 0 ? -(i32)ROW : 0, row_beyond = j < 15 ? 2 * (i32)ROW : 0;
        // Running places: of codes of rows of 15 and 17 in planes of 255, 289 and 225; of coarse planes.
        const u32 r15 = 15 * j + q, r17 = 17 * j + q;
        u32 e15 = r15, e17 = r17, e225 = r15, m289 = r17, turn = 0;
        const i32* plane = row;
        u32 to_even = 2 * j * y_step + 4 * k * SIZE, to_odd = to_even + z_step;
        // Of the last four even planes: coarse nodes, classes X, Y and XY; the errors of Y.
        Pair e[4], xo[4], yo[4], w[4], ye = {{0, 0}}, zx = ye, ze = ye, zxe = ye;
#pragma unroll
        for (u32 i = 0; i < 4; i++) e[i] = xo[i] = yo[i] = w[i] = ye;
        i32 corner = 0;
        u32 n = 0;    // the even plane

        // Sums along an axis, before they are divided. The second one of a pair comes first.
        const auto second = [&](Pair f, i32 r0, i32 end) {
            return HALF + wx1.b * f.v[1] + wx1.c * (last_x ? end : r0) + wx1.a * f.v[0] + wx1.d * lane_above(f.v[1]);
        };
        const auto first = [&](Pair f, i32 r0, i32 end) {
            return HALF + wx0.b * f.v[0] + wx0.c * f.v[1] + wx0.a * lane_below(f.v[1]) + wx0.d * (last_x ? end : r0);
        };
        const auto along_y = [&](const i32* rows, const i32* of_face, Pair f) {
            const Pair c = load_pair(rows + on), b = load_pair(rows + back),
                       d = load_pair(before_last_y ? of_face + q : rows + beyond);
            Pair p;
#pragma unroll
            for (u32 i = 0; i < 2; i++)
                p.v[i] = (HALF + wy.b * f.v[i] + wy_c * c.v[i] + wy.a * b.v[i] + wy.d * d.v[i]) >> SHIFT;
            return p;
        };
        const auto along_z = [&](const FourWeights& z, const Pair(&f)[4]) {
            Pair p;
#pragma unroll
            for (u32 i = 0; i < 2; i++)
                p.v[i] = (HALF + z.b * f[1].v[i] + z.c * f[2].v[i] + z.a * f[0].v[i] + z.d * f[3].v[i]) >> SHIFT;
            return p;
        };
        // Rough: weights of sums along y, x and z.
        const i32 ra = last_y ? 0 : 3, rb = last_y ? 4 : 1, ra1 = last_x ? 4 : ra, rb1 = last_x ? 0 : rb,
                  rz = last_y ? 4 : 3, rzb = last_y ? 0 : 1;

        // An even plane: classes X and Y.
        const auto even_sides = [&] {
            const Pair c = load_pair(plane + q);
            const i32 end = plane[16];
            corner = last_y ? plane[ROW + 16] : 0;
            e[3] = c;
            const u32 of_x = OF_X + e15, of_y = last_y ? (u32)NO_CODE : OF_Y + e17;
            const Pair on_y = load_pair(plane + ROW + q);
            Pair x, y, p;
            const i32 e0 = lane_above(c.v[0]);
            if (ROUGH) {
                p.v[0] = (c.v[0] + c.v[1] + 1) >> 1;
                p.v[1] = last_x ? end : (c.v[1] + e0 + 1) >> 1;
            } else {
                p.v[1] = (second(c, e0, end) + (8 << SHIFT)) >> FULL_SHIFT;
                p.v[0] = (first(c, e0, end) + (8 << SHIFT)) >> FULL_SHIFT;
            }
            x.v[1] = restored(p.v[1], last_x ? (u32)NO_CODE : of_x + 1);
            x.v[0] = restored(p.v[0], of_x);
            xo[3] = x;
            store_pair(&turns->x[0][0][0] + turn + own, x);
            if (ROUGH) {
#pragma unroll
                for (u32 i = 0; i < 2; i++) p.v[i] = last_y ? on_y.v[i] : (c.v[i] + on_y.v[i] + 1) >> 1;
            } else {
                const Pair b = load_pair(plane + row_back + q), d = load_pair(plane + row_beyond + q);
#pragma unroll
                for (u32 i = 0; i < 2; i++)
                    p.v[i] =
                        (FULL_HALF + wy.b * c.v[i] + wy.c * on_y.v[i] + wy.a * b.v[i] + wy.d * d.v[i]) >> FULL_SHIFT;
            }
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                y.v[i] = restored(p.v[i], last_y ? (u32)NO_CODE : of_y + i);
                ye.v[i] = !ROUGH ? y.v[i] - own_y * p.v[i] : last_y ? y.v[i] : 3 * y.v[i] - 2 * p.v[i];
            }
            yo[3] = y;
            plane += PLANE;
            put(to_even, c, x);
        };
        // The same: class XY, once all rows have told of theirs.
        const auto even_middle = [&](u32 turn, u32 step) {
            const u32 a0 = last_y ? OF_X + 15 + e15 : OF_XY + e225,
                      a1 = last_x ? (last_y ? (u32)NO_CODE : OF_Y + 2 + e17) : a0 + 1;
            const i32* const rows = &turns->x[0][0][0] + turn;
            const i32 f0 = lane_above(ye.v[0]);
            Pair r;
            if (ROUGH) {
                const Pair d = load_pair(rows + on);
                const i32 p0 = (ra * (xo[3].v[0] + d.v[0]) + rb * (ye.v[0] + ye.v[1]) + 4) >> 3,
                          p1 = (ra1 * (xo[3].v[1] + d.v[1]) + rb1 * (ye.v[1] + f0) + 4) >> 3;
                r.v[1] = restored(last_x && last_y ? corner : p1, a1);
                r.v[0] = restored(p0, a0);
            } else {
                const Pair t = along_y(rows, face->x[n], xo[3]);
                const i32 p1 = (t.v[1] + (second(ye, f0, corner) >> SHIFT) + 8) >> 4;
                r.v[1] = restored(p1, a1);
                const i32 p0 = (t.v[0] + (first(ye, f0, r.v[1] - own_y * p1) >> SHIFT) + 8) >> 4;
                r.v[0] = restored(p0, a0);
            }
            w[3] = r;
            put(to_even + y_step, yo[3], r);
            to_even += step;
            e15 += 255;
            e17 += 255;
            e225 += 225;
            n++;
        };
        // The odd plane between the middle ones of the four: classes Z and XZ. Running places are three planes ahead.
        const auto odd_sides = [&](const FourWeights& z) {
            const u32 of_z = OF_Z + m289, a0 = OF_XZ + e15 - 2 * 255, a1 = last_x ? of_z + 2 : a0 + 1;
            Pair zo;
            if (ROUGH) {
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    const i32 p = (e[1].v[i] + e[2].v[i] + 1) >> 1;
                    zo.v[i] = restored(p, of_z + i);
                    ze.v[i] = 3 * zo.v[i] - 2 * p;
                }
                const i32 f0 = lane_above(ze.v[0]), d0 = xo[1].v[0] + xo[2].v[0], d1 = xo[1].v[1] + xo[2].v[1];
                zx.v[1] = restored(((last_x ? 4 : 3) * d1 + (last_x ? 0 : ze.v[1] + f0) + 4) >> 3, a1);
                zx.v[0] = restored((3 * d0 + ze.v[0] + ze.v[1] + 4) >> 3, a0);
                zxe.v[0] = 5 * zx.v[0] - 4 * ((d0 + 1) >> 1);
                zxe.v[1] = last_x ? 3 * zx.v[1] - 2 * ((d1 + 1) >> 1) : 5 * zx.v[1] - 4 * ((d1 + 1) >> 1);
            } else {
                const Pair t = along_z(z, e), tx = along_z(z, xo);
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    const i32 p = (t.v[i] + 8) >> 4;
                    zo.v[i] = restored(p, of_z + i);
                    ze.v[i] = zo.v[i] - p;
                }
                const i32 f0 = lane_above(ze.v[0]), p1 = (tx.v[1] + (second(ze, f0, 0) >> SHIFT) + 8) >> 4;
                zx.v[1] = restored(p1, a1);
                const i32 p0 = (tx.v[0] + (first(ze, f0, zx.v[1] - p1) >> SHIFT) + 8) >> 4;
                zx.v[0] = restored(p0, a0);
#pragma unroll
                for (u32 i = 0; i < 2; i++) zxe.v[i] = zx.v[i] - ((tx.v[i] + 8) >> 4);
            }
            store_pair(&turns->z[0][0][0] + turn + own, ze);
            store_pair(&turns->w[0][0][0] + turn + own, zxe);
            put(to_odd, zo, zx);
        };
        // The same: classes YZ and XYZ.
        const auto odd_middle = [&](const FourWeights& z, u32 turn, u32 m) {
            const u32 of_z = OF_Z + m289, of_y = OF_YZ + e17 - 3 * 255, a0 = last_y ? of_z + 17 : of_y,
                      b0 = last_y ? OF_XZ + 15 + e15 - 3 * 255 : OF_XYZ + e225 - 3 * 225,
                      b1 = last_x ? (last_y ? of_z + 19 : of_y + 2) : b0 + 1;
            const i32 *const of_ze = &turns->z[0][0][0] + turn, *const of_zxe = &turns->w[0][0][0] + turn;
            Pair zy, r, f;
            if (ROUGH) {
                const Pair d = load_pair(of_ze + on), dw = load_pair(of_zxe + on);
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    const i32 p = (rz * (yo[1].v[i] + yo[2].v[i]) + rzb * (ze.v[i] + d.v[i]) + 4) >> 3;
                    zy.v[i] = restored(p, a0 + i);
                    f.v[i] = zy.v[i] + (last_y ? 2 : 4) * (zy.v[i] - p);
                }
                const i32 f0 = lane_above(f.v[0]), z0 = w[1].v[0] + w[2].v[0], z1 = w[1].v[1] + w[2].v[1],
                          y0 = zxe.v[0] + dw.v[0], y1 = zxe.v[1] + dw.v[1];
                const i32 p0 = (6 * z0 + (last_y ? 0 : y0) + (last_y ? 2 : 1) * (f.v[0] + f.v[1]) + 8) >> 4,
                          p1 = ((last_x && last_y ? 8 : 6) * z1 +
                                (last_y   ? 0
                                 : last_x ? 2
                                          : 1) *
                                    y1 +
                                (last_x   ? 0
                                 : last_y ? 2
                                          : 1) *
                                    (f.v[1] + f0) +
                                8) >>
                               4;
                r.v[1] = restored(p1, b1);
                r.v[0] = restored(p0, b0);
            } else {
                const Pair t = along_z(z, yo), u = along_y(of_ze, face->z[m], ze);
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    const i32 p = (t.v[i] + u.v[i] + 8) >> 4;
                    zy.v[i] = restored(p, a0 + i);
                    f.v[i] = zy.v[i] - p;
                }
                const Pair tw = along_z(z, w), y = along_y(of_zxe, face->w[m], zxe);
                const i32 f0 = lane_above(f.v[0]), p1 = (tw.v[1] + y.v[1] + (second(f, f0, 0) >> SHIFT) + 8) >> 4;
                r.v[1] = restored(p1, b1);
                const i32 p0 = (tw.v[0] + y.v[0] + (first(f, f0, r.v[1] - p1) >> SHIFT) + 8) >> 4;
                r.v[0] = restored(p0, b0);
            }
            put(to_odd + y_step, zy, r);
            to_odd += 2 * z_step;
            m289 += 289;
        };
        const auto shift = [&] {
#pragma unroll
            for (u32 i = 0; i < 3; i++) {
                e[i] = e[i + 1];
                xo[i] = xo[i + 1];
                yo[i] = yo[i + 1];
                w[i] = w[i + 1];
            }
        };
#pragma unroll 1
        for (u32 i = 0; i < 2; i++) {
            even_sides();
            __syncthreads();
            even_middle(turn, 2 * z_step);
            shift();
            turn ^= 256;
        }
#pragma unroll 1
        for (u32 m = 0; m < 7; m++) {
            const FourWeights z = weights[WholeWeights::OF_SHORT + m];
            even_sides();
            odd_sides(z);
            __syncthreads();
            even_middle(turn, m == 5 ? z_step : 2 * z_step);
            odd_middle(z, turn, m);
            shift();
            turn ^= 256;
        }
        __syncthreads();
    }
};

}    // namespace interp
