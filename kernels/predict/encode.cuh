// Interpolation of small numbers by an encoder, by a whole block (docs/codecs/predict.md §7): what `interpolate` of
// interp.cuh does, for tiles all of whose elements count. Every node is made by weights, as no product is beyond 32
// bits, and numbers and errors are words of the shared memory, told by their places in it.
//
//   numbers   in raster order                     all threads write new nodes, then a barrier; all read coarse ones
//   errors    of classes Y, Z, XZ, YZ             all threads write them, then a barrier; all read
#pragma once
#include "interp.cuh"

namespace predict {

// Magnitudes of numbers are below this.
enum : u32 { SMALL_NUMBER = 1 << 17 };
// Threads share columns of more nodes.
enum : u32 { LONG_COLUMN = 9 };

// Weights of coarse nodes −1, 1 and 2 from a new one; that of node 0 is what they leave.
struct Weights {
    i32 a, c, d;

    DEV Weights() {}
    DEV explicit Weights(const Recipe& recipe) : a(recipe.a), c(recipe.c), d(recipe.d) {}
    template <bool ROUGH> DEV u32 make(u32 va, u32 vb, u32 vc, u32 vd) const {
        u32 others = (u32)c * (vc - vb) + 32;
        if (!ROUGH) others += (u32)a * (va - vb) + (u32)d * (vd - vb);
        return 16 * vb + (u32)((i32)others >> 6);
    }
};

// Weights of coarse nodes -1 to 2 from a new one.
struct Taps {
    i32 a, b, c, d;

    DEV Taps() {}
    DEV explicit Taps(const Recipe& r) : a(r.a), b((1 << WEIGHT_BITS) - r.a - r.c - r.d), c(r.c), d(r.d) {}
    template <bool ROUGH> DEV u32 make(u32 va, u32 vb, u32 vc, u32 vd) const {
        u32 sum = (u32)b * vb + (u32)c * vc + 32;
        if (!ROUGH) sum += (u32)a * va + (u32)d * vd;
        return arithmetic_shift(sum, 6);
    }
};

// Where the coarse nodes about new node j of an axis of L elements are on a level of step S, from the one before it on.
// What has no weight lies on one that is there.
template <u32 L, u32 S> struct AroundKnown {
    i32 a, c, d;

    DEV AroundKnown() {}
    DEV explicit AroundKnown(u32 j)
        : a(j > 0 ? -(i32)(2 * S) : 0), c(min_of(2 * S, L - 1 - 2 * S * j)), d(min_of(4 * S, L - 1 - 2 * S * j)) {}
};

// The same as `nodes_of`, for compilers.
constexpr u32 nodes_known(u32 n, u32 k) { return n == 1 ? 1 : ((n - 2 + (1u << k)) >> k) + 1; }

// A class of nodes, as a type.
template <u32 CLS> struct Class {
    enum : u32 { OF = CLS };
};

// Sides of a box that is known when kernels are compiled; 0: it is not.
template <u32 X = 0, u32 Y = 0, u32 Z = 0> struct Sides {
    // Levels whose loops know the sides: others have few nodes.
    enum : u32 { LX = X, LY = Y, LZ = Z, LEVELS = X * Y * Z > 1 << 12 ? 3 : 2 };
};

// What a column needs along an axis in which it is new: weights, the coarse node before it, how far those about it are
// from that among the numbers, and among the errors, whose neighbours lie `apart`.
struct Beside {
    Weights weights;
    u32 first, a, c, d, back, on;

    DEV Beside() : first(0), a(0), c(0), d(0), back(0), on(0) {}
    DEV Beside(const Line& line, u32 j, u32 apart) : weights(line.recipe(j)) {
        const Around around(line, j);
        first = around.b;
        a = around.a - first;
        c = around.c - first;
        d = around.d - first;
        back = j > 0 ? 0 - apart : 0;
        on = j + 2 < line.coarse ? 2 * apart : apart;
    }
};

// A level of a tile, by so many threads.
template <bool ROUGH, class Code, u32 THREADS> struct SmallMarch {
    Line x, y, z;
    u32* shared;
    u32 v, ey, ez, exz, eyz;    // places in the shared memory
    u32 s;                      // the step
    float inverse;
    u32 carry;    // threads that the classes before have taken
    bool stay_signed;     // codes of the class at hand
    u32 any, any_code;    // all bits of differences, or of their complement, and of codes

    DEV u32 make(const Weights& w, u32 at, u32 a, u32 c, u32 d) const {
        return w.template make<ROUGH>(ROUGH ? 0 : shared[at + a], shared[at], shared[at + c],
                                      ROUGH ? 0 : shared[at + d]);
    }
    // The error of a node of which p is predicted.
    DEV u32 encode(u32 place, u32 p, Code* code_at) {
        const u32 d = shared[place] - p;
        any |= d ^ (u32)((i32)d >> 31);
        const u32 code = nearest_of(d, inverse), error = s * code, folded = code_of(code);
        any_code |= folded;
        *code_at = (Code)(stay_signed ? code : folded);
        shared[place] = p + error;
        return error;
    }

    // Goes through a class, whose codes begin at `codes`.
    template <u32 CLS> DEV void go(Code* codes) {
        enum : bool { IN_X = (CLS & X_AXIS) != 0, IN_Y = (CLS & Y_AXIS) != 0, IN_Z = (CLS & Z_AXIS) != 0 };
        const u32 nx = IN_X ? x.fresh : x.coarse, ny = IN_Y ? y.fresh : y.coarse, nz = IN_Z ? z.fresh : z.coarse;
        const u32 columns = nx * ny;
        if (columns * nz == 0) return;
        // Threads share long columns. The few of coarse levels are for a few warps, those of other classes for others.
        u32 parts_log2 = 0;
#pragma unroll 1
        while (nz >> parts_log2 > LONG_COLUMN && columns << (parts_log2 + 1) <= THREADS) parts_log2++;
        const u32 each = (nz + (1u << parts_log2) - 1) >> parts_log2, units = columns << parts_log2;
        u32 unit = (threadIdx.x + THREADS - carry) % THREADS;
        carry = (carry + units + 31) / 32 * 32 % THREADS;
#pragma unroll 1
        for (; unit < units; unit += THREADS) {
            const u32 part = times_within(unit, columns), column = unit - part * columns, j = times_within(column, nx),
                      i = column - j * nx;
            const u32 begin = part * each, end = min_of(begin + each, nz);
            if (begin >= end) continue;
            Code* code_at = codes + begin * columns + column;
            // Along x and y: weights, how far the coarse nodes about a new one are from the one before it among the
            // numbers, and among the errors.
            Beside x_side, y_side;
            if (IN_X) x_side = Beside(x, i, 1);
            if (IN_Y) y_side = Beside(y, j, nx);
            const auto &wx = x_side.weights, &wy = y_side.weights;
            const u32 px = IN_X ? x_side.first : x.of_coarse(i), py = IN_Y ? y_side.first : y.of_coarse(j);
            const u32 xa = x_side.a, xc = x_side.c, xd = x_side.d, ya = y_side.a, yc = y_side.c, yd = y_side.d,
                      back_x = x_side.back, on_x = x_side.on, back_y = y_side.back, on_y = y_side.on;
            // A new node is half a step behind the coarse one before it.
            const u32 hx = IN_X ? x.step / 2 : 0, hy = IN_Y ? y.step / 2 : 0, at = v + px + py;
            if (!IN_Z) {
                u32 of_x = ey + (begin * ny + j) * x.coarse + i,
                    own = (CLS == Y_AXIS ? ey : 0) + begin * columns + column;
#pragma unroll 1
                for (u32 k = begin; k < end; k++, code_at += columns) {
                    const u32 here = at + z.of_coarse(k);
                    u32 p;
                    if (CLS == X_AXIS) p = make(wx, here, xa, xc, xd);
                    if (CLS == Y_AXIS) p = make(wy, here, ya, yc, yd);
                    if (CLS == (X_AXIS | Y_AXIS)) {
                        const u32 main = make(wy, here + hx, ya, yc, yd), e = make(wx, of_x, back_x, 1, on_x);
                        p = ROUGH ? arithmetic_shift(3 * main + make(wx, here + hy, xa, xc, xd) + 2 * e, 2) : main + e;
                        of_x += ny * x.coarse;
                    }
                    const u32 error = encode(here + hx + hy, arithmetic_shift(p + 8, 4), code_at);
                    if (CLS == Y_AXIS) {
                        shared[own] = error;
                        own += columns;
                    }
                }
                continue;
            }
            const u32 line = at + hx + hy, hz = z.step / 2;
            u32 vb = shared[line + z.of_coarse(begin)], vc = shared[line + z.of_coarse(begin + 1)],
                va = begin > 0 ? shared[line + z.of_coarse(begin - 1)] : vb;
            // Errors about this node: of classes Z, or YZ, along x, and of Z, or XZ, along y.
            u32 of_x = (CLS == 7 ? eyz : ez) + (begin * ny + j) * x.coarse + i,
                of_y = (CLS == 7 ? exz : ez) + (begin * y.coarse + j) * nx + i,
                own = (CLS == Z_AXIS ? ez : CLS == (X_AXIS | Z_AXIS) ? exz : eyz) + begin * columns + column;
            Weights wz;
#pragma unroll 1
            for (u32 k = begin; k < end; k++, code_at += columns) {
                if (k == begin || k <= 1 || k + 2 >= nz) wz = Weights(z.recipe(k));
                const u32 vd = shared[line + z.of_coarse(k + 2)], pz = z.of_new(k), here = at + pz;
                const u32 main = wz.template make<ROUGH>(va, vb, vc, vd);
                va = vb;
                vb = vc;
                vc = vd;
                u32 p = main;
                if (CLS == (X_AXIS | Z_AXIS)) {
                    const u32 e = make(wx, of_x, back_x, 1, on_x);
                    p = ROUGH ? arithmetic_shift(3 * main + make(wx, here, xa, xc, xd) + 2 * e, 2) : main + e;
                }
                if (CLS == (Y_AXIS | Z_AXIS)) {
                    const u32 e = make(wy, of_y, back_y, nx, on_y);
                    p = ROUGH ? arithmetic_shift(3 * main + make(wy, here, ya, yc, yd) + 2 * e, 2) : main + e;
                }
                if (CLS == (X_AXIS | Y_AXIS | Z_AXIS)) {
                    const u32 sum = main + make(wy, of_y, back_y, nx, on_y) + make(wx, of_x, back_x, 1, on_x);
                    p = sum;
                    if (ROUGH) {
                        const u32 of_v = make(wy, here + hx, ya, yc, yd) + make(wx, here + hy, xa, xc, xd);
                        p = arithmetic_shift(arithmetic_shift(2 * main + of_v, 2) + sum, 1);
                    }
                }
                p = arithmetic_shift(p + 8, 4);
                const u32 error = encode(line + pz, p, code_at);
                if (IN_X) of_x += ny * x.coarse;
                if (IN_Y) of_y += y.coarse * nx;
                if (CLS != 7) {
                    shared[own] = CLS == (X_AXIS | Z_AXIS) ? p + error - arithmetic_shift(main + 8, 4) : error;
                    own += columns;
                }
            }
        }
    }

    // The same as `go` on level K of a box whose sides are known.
    template <u32 CLS, u32 K, class Of> DEV void go_known(Code* codes) {
        enum : bool { IN_X = (CLS & X_AXIS) != 0, IN_Y = (CLS & Y_AXIS) != 0, IN_Z = (CLS & Z_AXIS) != 0 };
        enum : u32 { LX = Of::LX, LY = Of::LY, LZ = Of::LZ, S = 1 << K, CX = nodes_known(LX, K + 1),
                     CY = nodes_known(LY, K + 1), CZ = nodes_known(LZ, K + 1), FX = nodes_known(LX, K) - CX,
                     FY = nodes_known(LY, K) - CY, FZ = nodes_known(LZ, K) - CZ, NX = IN_X ? FX : CX,
                     NY = IN_Y ? FY : CY, NZ = IN_Z ? FZ : CZ, COLUMNS = NX * NY, ROW = LX, PLANE = LX * LY };
        if (COLUMNS * NZ == 0) return;
        // Threads share columns where these are long, or few.
        enum : u32 { LONG = NZ > LONG_COLUMN, FEW_COLUMNS = CLS == 7,
                     PARTS = !(LONG || FEW_COLUMNS) || 2 * COLUMNS > THREADS ? 1
                             : 4 * COLUMNS > THREADS                         ? 2
                             : 8 * COLUMNS > THREADS || NZ <= LONG_COLUMN    ? 4
                                                                             : 8,
                     EACH = (NZ + PARTS - 1) / PARTS, UNITS = COLUMNS * PARTS };
        u32 unit = (threadIdx.x + THREADS - carry) % THREADS;
        carry = (carry + UNITS + 31) / 32 * 32 % THREADS;
#pragma unroll 1
        for (; unit < UNITS; unit += THREADS) {
            const u32 part = unit / COLUMNS, column = unit % COLUMNS, j = column / NX, i = column % NX,
                      begin = part * EACH;
            Taps wx, wy;
            AroundKnown<LX, S> ax;
            AroundKnown<LY, S> ay;
            if (IN_X) {
                wx = Taps(x.recipe(i));
                ax = AroundKnown<LX, S>(i);
            }
            if (IN_Y) {
                wy = Taps(y.recipe(j));
                ay = AroundKnown<LY, S>(j);
            }
            const u32 px = IN_X ? 2 * S * i : min_of(2 * S * i, LX - 1),
                      py = IN_Y ? 2 * S * j : min_of(2 * S * j, LY - 1), hx = IN_X ? S : 0, hy = IN_Y ? S * ROW : 0;
            // From the coarse node before it along x and y.
            u32* const at = shared + v + px + py * ROW;
            const auto along_x = [&](const u32* p) {
                return wx.template make<ROUGH>(ROUGH ? 0 : p[ax.a], p[0], p[ax.c], ROUGH ? 0 : p[ax.d]);
            };
            const auto along_y = [&](const u32* p) {
                return wy.template make<ROUGH>(ROUGH ? 0 : p[ay.a * (i32)ROW], p[0], p[ay.c * (i32)ROW],
                                               ROUGH ? 0 : p[ay.d * (i32)ROW]);
            };
            // The same of errors.
            const i32 back_x = i > 0 ? -1 : 0, on_x = i + 2 < CX ? 2 : 1, back_y = j > 0 ? -(i32)NX : 0,
                      on_y = j + 2 < CY ? 2 * NX : NX;
            const auto errors_along_x = [&](const u32* p) {
                return wx.template make<ROUGH>(ROUGH ? 0 : p[back_x], p[0], p[1], ROUGH ? 0 : p[on_x]);
            };
            const auto errors_along_y = [&](const u32* p) {
                return wy.template make<ROUGH>(ROUGH ? 0 : p[back_y], p[0], p[NX], ROUGH ? 0 : p[on_y]);
            };
            const u32* const of_x =
                shared + (CLS == 3 ? ey : CLS == 5 ? ez : eyz) + (begin * NY + j) * CX + i;    // XY, XZ, XYZ
            const u32* const of_y = shared + (CLS == 6 ? ez : exz) + (begin * CY + j) * NX + i;    // YZ, XYZ
            u32* const own = shared + (CLS == 2 ? ey : CLS == 4 ? ez : CLS == 5 ? exz : eyz) + begin * COLUMNS + column;
            Code* const code_at = codes + begin * COLUMNS + column;
            u32 va = 0, vb = 0, vc = 0;
            u32* const line = at + hx + hy;
            if (IN_Z) {
                vb = line[2 * S * begin * PLANE];
                vc = line[min_of(2 * S * (begin + 1), LZ - 1) * PLANE];
                va = begin > 0 ? line[2 * S * (begin - 1) * PLANE] : vb;
            }
#pragma unroll 1
            for (u32 n = 0; n < EACH; n++) {
                const u32 k = begin + n;
                if (PARTS * EACH > NZ && k >= NZ) break;
                u32 p, main = 0;
                u32* const here = at + (IN_Z ? (2 * k + 1) * S : min_of(2 * S * k, LZ - 1)) * PLANE;
                if (CLS == X_AXIS) p = along_x(here);
                if (CLS == Y_AXIS) p = along_y(here);
                if (CLS == (X_AXIS | Y_AXIS)) {
                    main = along_y(here + hx);
                    const u32 e = errors_along_x(of_x + n * NY * CX);
                    p = ROUGH ? arithmetic_shift(3 * main + along_x(here + hy) + 2 * e, 2) : main + e;
                }
                if (IN_Z) {
                    const u32 vd = line[min_of(2 * S * (k + 2), LZ - 1) * PLANE];
                    if (ROUGH ? k + 1 < NZ : k > 0 && k + (K ? 2 : 1) < NZ)
                        main = ROUGH ? 8 * (vb + vc) : 9 * (vb + vc) - (va + vd);
                    else
                        main = Taps(z.recipe(k)).template make<ROUGH>(va, vb, vc, vd);
                    va = vb;
                    vb = vc;
                    vc = vd;
                    p = main;
                }
                if (CLS == (X_AXIS | Z_AXIS)) {
                    const u32 e = errors_along_x(of_x + n * NY * CX);
                    p = ROUGH ? arithmetic_shift(3 * main + along_x(here) + 2 * e, 2) : main + e;
                }
                if (CLS == (Y_AXIS | Z_AXIS)) {
                    const u32 e = errors_along_y(of_y + n * CY * NX);
                    p = ROUGH ? arithmetic_shift(3 * main + along_y(here) + 2 * e, 2) : main + e;
                }
                if (CLS == (X_AXIS | Y_AXIS | Z_AXIS)) {
                    const u32 sum = main + errors_along_y(of_y + n * CY * NX) + errors_along_x(of_x + n * NY * CX);
                    p = sum;
                    if (ROUGH) {
                        const u32 of_v = along_y(here + hx) + along_x(here + hy);
                        p = arithmetic_shift(arithmetic_shift(2 * main + of_v, 2) + sum, 1);
                    }
                }
                p = arithmetic_shift(p + 8, 4);
                const u32 error = encode((u32)(here + hx + hy - shared), p, code_at + n * COLUMNS);
                if (CLS == Y_AXIS || CLS == Z_AXIS || CLS == (Y_AXIS | Z_AXIS)) own[n * COLUMNS] = error;
                if (CLS == (X_AXIS | Z_AXIS)) own[n * COLUMNS] = p + error - arithmetic_shift(main + 8, 4);
            }
        }
    }

    // The codes of the anchors. By one thread.
    DEV void encode_anchors(u32 ax, u32 ay, u32 az, Code* to) {
        u32 restored[8], n = 0;
#pragma unroll
        for (u32 of = 0; of < 8; of++) {
            const u32 i = of & 1, j = of >> 1 & 1, k = of >> 2;
            if (i >= ax || j >= ay || k >= az) continue;
            u32 p = 0;
#pragma unroll
            for (u32 c = 1; c < 8; c++)
                if ((c & of) == c) p = __popc(c) & 1 ? p + restored[of ^ c] : p - restored[of ^ c];
            const u32 place = v + x.of_coarse(i) + y.of_coarse(j) + z.of_coarse(k);
            restored[of] = p + encode(place, p, to + n++);
        }
    }
};

// Encodes the small numbers at a place of the shared memory, with room for errors at another one, into codes; all bits
// of differences of this thread, or of their complement, and above them whether codes are not all 0, and whether one
// has more than 16 bits. `signed_codes`: room for those that become differences. Of a box whose sides are known numbers
// are below half of what others may have, so that weights may be those of all four nodes. For a whole block; a barrier
// before and behind.
enum : u32 { ANY_CODE = 1u << 31, LONG_CODE = 1u << 30 };
template <bool ROUGH, class Code, u32 THREADS, class Of>
SELDOM u32 encode_small_by(u32 v, u32 e, u32 lx, u32 ly, u32 lz, bool coarse_steps, u32 set, Levels& levels,
                           Code* codes, Code* signed_codes) {
    SHARED_BYTES(shared);
    if (lz == 1) {
        lz = ly;
        ly = 1;
        set = (set & X_AXIS) | (set & Y_AXIS) << 1;
    }
    if (Of::LX) {
        lx = Of::LX;
        ly = Of::LY;
        lz = Of::LZ;
    }
    lay_out(levels, lx, ly, lz);
    const u32 axes = (lx > 2) + (ly > 2) + (lz > 2), row = lx, plane = lx * ly;
    u32 k = 0;
    while (nodes_of(lx, k + 1) > 2 || nodes_of(ly, k + 1) > 2 || nodes_of(lz, k + 1) > 2) k++;
    SmallMarch<ROUGH, Code, THREADS> m;
    m.shared = (u32*)shared;
    m.v = v;
    m.any = m.any_code = 0;
    m.stay_signed = false;
    const auto lay_level = [&](u32 k) {
        const auto along = [&](u32 n, u32 step, u32 axis) {
            const u32 coarse = nodes_of(n, k + 1);
            const Line line = {coarse, nodes_of(n, k) - coarse, step << (k + 1), (n - 1) * step,
                               levels.of[ROUGH][k][axis].of};
            return line;
        };
        m.x = along(lx, 1, 0);
        m.y = along(ly, row, 1);
        m.z = along(lz, plane, 2);
        m.s = coarse_steps ? step_of(axes, k) : 1;
        m.inverse = 1.0f / (float)m.s;
    };
    const u32 known = Of::LX ? (u32)Of::LEVELS : 0;
    lay_level(k);
    u32 at = m.x.coarse * m.y.coarse * m.z.coarse;
    if (threadIdx.x == 0) m.encode_anchors(m.x.coarse, m.y.coarse, m.z.coarse, codes);
    const auto level = [&](u32 k, auto march) {
        lay_level(k);
        const u32 cx = m.x.coarse, cy = m.y.coarse, cz = m.z.coarse, fx = m.x.fresh, fy = m.y.fresh, fz = m.z.fresh;
        const u32 of_x = at, of_y = of_x + fx * cy * cz, of_z = of_y + cx * fy * cz, of_xy = of_z + cx * cy * fz,
                  of_xz = of_xy + fx * fy * cz, of_yz = of_xz + fx * cy * fz, of_xyz = of_yz + cx * fy * fz;
        at = of_xyz + fx * fy * fz;
        m.ey = e;
        m.ez = m.ey + cx * fy * cz;
        m.exz = m.ez + cx * cy * fz;
        m.eyz = m.exz + fx * cy * fz;
        m.carry = 0;
        const u32 along = k < DIFFERENCE_LEVELS ? set : 0;
        const auto place = [&](u32 axis, u32 first) {
            m.stay_signed = (along & ~axis) != 0;
            return (m.stay_signed ? signed_codes : codes) + first;
        };
        march(Class<X_AXIS>(), place(X_AXIS, of_x));
        march(Class<Y_AXIS>(), place(Y_AXIS, of_y));
        march(Class<Z_AXIS>(), place(Z_AXIS, of_z));
        m.stay_signed = false;
        __syncthreads();
        if (along) {
            const Box boxes[3] = {{{fx, cy, cz}, {1, fx, fx * cy}},
                                  {{cx, fy, cz}, {1, cx, cx * fy}},
                                  {{cx, cy, fz}, {1, cx, cx * cy}}};
            const u32 of_class[3] = {of_x, of_y, of_z};
#pragma unroll
            for (u32 a = 0; a < 3; a++)
                if (along & ~(1u << a))
                    m.any_code |= differ_in_class(signed_codes + of_class[a], codes + of_class[a], boxes[a],
                                                  along & ~(1u << a), THREADS);
        }
        march(Class<X_AXIS | Y_AXIS>(), codes + of_xy);
        march(Class<X_AXIS | Z_AXIS>(), codes + of_xz);
        march(Class<Y_AXIS | Z_AXIS>(), codes + of_yz);
        __syncthreads();
        if (fx * fy * fz) {
            march(Class<X_AXIS | Y_AXIS | Z_AXIS>(), codes + of_xyz);
            __syncthreads();
        }
    };
    __syncthreads();
#pragma unroll 1
    for (k++; k-- > known;) level(k, [&](auto cls, Code* to) { m.template go<decltype(cls)::OF>(to); });
    if constexpr (Of::LX != 0) {
        if constexpr (Of::LEVELS > 2)
            level(2, [&](auto cls, Code* to) { m.template go_known<decltype(cls)::OF, 2, Of>(to); });
        level(1, [&](auto cls, Code* to) { m.template go_known<decltype(cls)::OF, 1, Of>(to); });
        level(0, [&](auto cls, Code* to) { m.template go_known<decltype(cls)::OF, 0, Of>(to); });
    }
    return m.any | (m.any_code ? ANY_CODE : 0) | (m.any_code >> 16 ? LONG_CODE : 0);
}
template <bool ROUGH>
SELDOM u32 encode_small(u32 v, u32 e, u32 lx, u32 ly, u32 lz, bool coarse_steps, u32 set, Levels& levels, u32* codes,
                        u32* signed_codes) {
    return encode_small_by<ROUGH, u32, PREDICT_THREADS, Sides<>>(v, e, lx, ly, lz, coarse_steps, set, levels, codes,
                                                                signed_codes) &
           ~(u32)LONG_CODE;
}

}    // namespace predict
