// Twin: src/codec/interp/predict/interpolation/mod.rs
// Levels of a tile of any lengths from its codes, or these from its numbers, by a whole block
// (docs/reference/codecs/interp.md §6). A thread goes along z through a part of a column of nodes of a class. What they
// need along x and y is at hand, and the coarse nodes about them are in registers.
//
//   v        numbers                  all threads write new nodes, then a barrier; all read coarse ones
//   exz      errors of class XZ       all threads write them, then a barrier; all read
//   errors   of others                the same of an encoder; a decoder's are codes
//   codes    differences, or sums     all read; an encoder's threads write them
//
// Classes of one new axis need coarse nodes alone, those of two need these, XYZ needs all: three barriers a level.
#pragma once
#include "coder.cuh"
#include "levels.cuh"

namespace interp {

// A level of a tile. Codes::ENCODES: numbers stand in the places of nodes, which become what is restored of them.
template <bool ROUGH, class Weights, class Codes> struct LevelNodes {
    Line x, y, z;
    const EndRecipes *along_x, *along_y, *along_z;
    u32 *v, *exz, *errors;
    Codes codes;
    u32 of_y, of_z, of_yz;    // the first codes of classes, or the first errors
    u32 s;                    // the step
    u32 carry;                // threads that the classes before have taken
    u32 all;                  // all bits of numbers, and so much; an encoder's of differences, or of their complement

    enum : u32 { TOO_FAR = 1u << 19, LONG_COLUMN = 3 };
    // Of the values f from `at` on, which are so far apart; those that are not there are not read.
    template <class F> DEV static u32 make(const Weights& w, i32 a, i32 c, i32 d, F f) {
        return w.make(ROUGH ? 0 : f(a), f(0), f(c), ROUGH ? 0 : f(d));
    }

    // An error of a class.
    DEV u32 error(u32 n) const {
        if constexpr (Codes::ENCODES)
            return errors[n];
        else
            return s * codes(n);
    }
    // An encoder's number of a node, from its prediction.
    DEV u32 encoded(u32 p, const u32* place, u32 n) {
        const u32 d = codes.counts((u32)(place - v)) ? *place - p : 0;
        all |= d ^ (u32)((i32)d >> 31);
        return p + s * codes.encode(n, d, s);
    }
    // Where errors of a class that others need begin.
    template <u32 CLS> DEV u32 of() const { return CLS == Y_AXIS ? of_y : CLS == Z_AXIS ? of_z : of_yz; }
    // The anchors of an encoder: each without those before it. By one thread.
    DEV void encode_anchors() {
        const auto place = [&](u32 i, u32 j, u32 k) { return v + x.of_coarse(i) + y.of_coarse(j) + z.of_coarse(k); };
        u32 n = 0;
#pragma unroll 1
        for (u32 k = 0; k < z.coarse; k++)
            for (u32 j = 0; j < y.coarse; j++)
                for (u32 i = 0; i < x.coarse; i++) {
                    u32 p = 0;
                    for (u32 c = 1; c < 8; c++) {
                        const u32 a = c & 1, b = c >> 1 & 1, e = c >> 2;
                        if (a > i || b > j || e > k) continue;
                        const u32 other = *place(i - a, j - b, k - e);
                        p = __popc(c) & 1 ? p + other : p - other;
                    }
                    u32* const at = place(i, j, k);
                    *at = encoded(p, at, n++);
                }
    }
    // The codes of an encoder's nodes of a class that do not count: those that the nodes before them along y and z, or
    // one of them, have. For a whole block; barriers before and behind.
    template <u32 CLS> DEV void follow(u32 first, bool in_y, bool in_z) {
        const u32 nx = CLS & X_AXIS ? x.fresh : x.coarse, ny = CLS & Y_AXIS ? y.fresh : y.coarse,
                  nz = CLS & Z_AXIS ? z.fresh : z.coarse, lines = nx * (in_y ? 1 : ny) * (in_z ? 1 : nz);
        if (!in_y && !in_z) return;
#pragma unroll 1
        for (u32 line = threadIdx.x; line < lines; line += blockDim.x) {
            const u32 rest = line / nx, i = line - rest * nx,
                      j0 = in_y   ? 0
                           : in_z ? rest
                                  : rest % ny,
                      k0 = in_z   ? 0
                           : in_y ? rest
                                  : rest / ny;
#pragma unroll 1
            for (u32 k = k0; k < (in_z ? nz : k0 + 1); k++)
#pragma unroll 1
                for (u32 j = j0; j < (in_y ? ny : j0 + 1); j++) {
                    const u32 place = (CLS & X_AXIS ? x.of_new(i) : x.of_coarse(i)) +
                                      (CLS & Y_AXIS ? y.of_new(j) : y.of_coarse(j)) +
                                      (CLS & Z_AXIS ? z.of_new(k) : z.of_coarse(k));
                    if (codes.counts(place)) continue;
                    const u32 n = i + j * nx + k * nx * ny,
                              code = codes.follow(first + n, in_y && j ? nx : 0, in_z && k ? nx * ny : 0);
                    v[place] += s * code;
                    if (CLS != X_AXIS) errors[of<CLS>() + n] = s * code;
                }
        }
    }

    // Goes through a class, whose codes begin at `first`.
    template <u32 CLS> DEV void go(u32 first) {
        enum : bool { IN_X = (CLS & X_AXIS) != 0, IN_Y = (CLS & Y_AXIS) != 0, IN_Z = (CLS & Z_AXIS) != 0 };
        const u32 nx = IN_X ? x.fresh : x.coarse, ny = IN_Y ? y.fresh : y.coarse, nz = IN_Z ? z.fresh : z.coarse,
                  columns = nx * ny, threads = blockDim.x;
        if (columns * nz == 0) return;
        // Threads share long columns. The few of coarse levels are for a few warps, those of other classes for others.
        u32 parts_log2 = 0;
#pragma unroll 1
        while (nz >> parts_log2 > LONG_COLUMN && columns << (parts_log2 + 1) <= threads) parts_log2++;
        const u32 each = (nz + (1u << parts_log2) - 1) >> parts_log2, units = columns << parts_log2;
        u32 unit = (threadIdx.x + threads - carry) % threads;
        carry = (carry + (units + 31) / 32 * 32) % threads;
#pragma unroll 1
        for (; unit < units; unit += threads) {
            const u32 part = times_within(unit, columns), column = unit - part * columns, j = times_within(column, nx),
                      i = column - j * nx;
            const u32 begin = part * each, end = min_of(begin + each, nz);
            if (begin >= end) continue;
            // Along x and y: weights, and how far the nodes about a new one are from the coarse one before it.
            Weights wx, wy;
            i32 xa = 0, xc = 0, xd = 0, ya = 0, yc = 0, yd = 0;
            u32 px = x.of_coarse(i), py = y.of_coarse(j);
            if (IN_X) {
                wx = Weights(x, along_x, i);
                const Around around(x, i);
                px = around.b;
                xa = (i32)(around.a - px);
                xc = (i32)(around.c - px);
                xd = (i32)(around.d - px);
            }
            if (IN_Y) {
                wy = Weights(y, along_y, j);
                const Around around(y, j);
                py = around.b;
                ya = (i32)(around.a - py);
                yc = (i32)(around.c - py);
                yd = (i32)(around.d - py);
            }
            const i32 back_x = i > 0 ? -1 : 0, on_x = i + 2 < x.coarse ? 2 : 1, back_y = j > 0 ? -(i32)nx : 0,
                      on_y = (i32)(j + 2 < y.coarse ? 2 * nx : nx);
            // A new node is half a step behind the coarse one before it.
            const u32 hx = IN_X ? x.step / 2 : 0, hy = IN_Y ? y.step / 2 : 0;
            u32 n = begin * columns + column;
            // Errors about a node along x are those of a class whose rows have a node more, along y of the same rows.
            u32 ex = (begin * ny + j) * x.coarse + i, ey = (begin * y.coarse + j) * nx + i;
            const u32* const at = v + px + py;
            u32* const line = v + px + py + hx + hy;
            u32 va = 0, vb = 0, vc = 0;
            if (IN_Z) {
                vb = line[z.of_coarse(begin)];
                vc = line[z.of_coarse(begin + 1)];
                va = begin > 0 ? line[z.of_coarse(begin - 1)] : vb;
            }
#pragma unroll 1
            for (u32 k = begin; k < end; k++, n += columns) {
                const u32 pz = IN_Z ? z.of_new(k) : z.of_coarse(k);
                const u32* const here = at + pz;
                u32 code = 0;
                if constexpr (!Codes::ENCODES) code = codes(first + n);
                const auto of_x = [&] { return make(wx, xa, xc, xd, [&](i32 o) { return here[(i32)hy + o]; }); };
                const auto of_y_axis = [&] { return make(wy, ya, yc, yd, [&](i32 o) { return here[(i32)hx + o]; }); };
                const auto errors_x = [&](u32 of) {
                    return make(wx, back_x, 1, on_x, [&](i32 o) { return error(of + ex + o); });
                };
                u32 p, main = 0;
                if (IN_Z) {
                    const u32 vd = line[z.of_coarse(k + 2)];
                    main = Weights(z, along_z, k).make(va, vb, vc, vd);
                    va = vb;
                    vb = vc;
                    vc = vd;
                } else if (IN_Y) {
                    main = of_y_axis();
                }
                p = CLS == X_AXIS ? of_x() : main;
                if (CLS == 3 || CLS == 5) {
                    const u32 e = errors_x(IN_Z ? of_z : of_y);
                    p = ROUGH ? arithmetic_shift(3 * main + of_x() + 2 * e, 2) : main + e;
                }
                if (CLS == 6) {
                    const u32 e = make(wy, back_y, (i32)nx, on_y, [&](i32 o) { return error(of_z + ey + o); });
                    p = ROUGH ? arithmetic_shift(3 * main + of_y_axis() + 2 * e, 2) : main + e;
                }
                if (CLS == 7) {
                    p = main + make(wy, back_y, (i32)nx, on_y, [&](i32 o) { return exz[ey + o]; }) + errors_x(of_yz);
                    if (ROUGH) p = arithmetic_shift(arithmetic_shift(2 * main + of_y_axis() + of_x(), 2) + p, 1);
                }
                p = arithmetic_shift(p + 8, 4);
                u32 number = p + s * code;
                if constexpr (Codes::ENCODES) {
                    number = encoded(p, line + pz, first + n);
                    if (CLS == Y_AXIS || CLS == Z_AXIS || CLS == 6) errors[of<CLS>() + n] = number - p;
                } else {
                    all |= number + TOO_FAR;
                }
                line[pz] = number;
                if (CLS == 5 && y.fresh) exz[n] = number - arithmetic_shift(main + 8, 4);
                ex += ny * x.coarse;
                ey += y.coarse * nx;
            }
        }
    }
};

// Nodes of a tile: lengths, how far neighbours on level `base` are apart, and recipes of an axis on a level.
template <class Of> struct TileNodes {
    u32 len[3], row, plane, base;
    Of recipes;

    DEV u32 count(u32 a, u32 k) const { return nodes_of(len[a], k); }
    DEV u32 last_level() const {
        u32 k = 0;
        while (count(0, k + 1) > 2 || count(1, k + 1) > 2 || count(2, k + 1) > 2) k++;
        return k;
    }
    DEV Line line(u32 a, u32 k) const {
        const u32 step = a == 0 ? 1 : a == 1 ? row : plane, coarse = count(a, k + 1);
        return {coarse, count(a, k) - coarse, step << (k + 1 - base), (count(a, base) - 1) * step};
    }
};

// Levels `base` and above; what anchors get besides is `add`. At `e` is room for errors. `set`: the axes along which an
// encoder's codes become differences. What `LevelNodes` says of all nodes. For a whole block; barriers before and
// behind.
template <bool ROUGH, class Weights, class Codes, class Of>
DEV u32 make_levels(const TileNodes<Of>& t, u32* v, u32* e, Codes codes, bool in_steps, u32 add, u32 set = 0) {
    LevelNodes<ROUGH, Weights, Codes> m;
    m.codes = codes;
    m.v = v;
    m.exz = m.errors = e;
    m.all = 0;
    u32 k = t.last_level();
    const u32 axes = (t.len[0] > 2) + (t.len[1] > 2) + (t.len[2] > 2);
    const u32 ax = t.count(0, k + 1), ay = t.count(1, k + 1), az = t.count(2, k + 1);
    u32 at = ax * ay * az;
    if constexpr (Codes::ENCODES) {
        m.x = t.line(0, k);
        m.y = t.line(1, k);
        m.z = t.line(2, k);
        m.s = in_steps ? step_of(axes, k) : 1;
        if (threadIdx.x == 0) m.encode_anchors();
    } else if (threadIdx.x < at) {
        // Anchors: each is the sum of the differences of those before it.
        const u32 x = threadIdx.x % ax, y = threadIdx.x / ax % ay, z = threadIdx.x / ax / ay;
        u32 sum = 0;
        for (u32 i = 0; i <= z; i++)
            for (u32 j = 0; j <= y; j++)
                for (u32 h = 0; h <= x; h++) sum += codes((i * ay + j) * ax + h);
        sum = sum * (in_steps ? step_of(axes, k) : 1) + add;
        v[x * (t.count(0, t.base) - 1) + y * (t.count(1, t.base) - 1) * t.row +
          z * (t.count(2, t.base) - 1) * t.plane] = sum;
        m.all = sum + m.TOO_FAR;
    }
    __syncthreads();
#pragma unroll 1
    for (k++; k-- > t.base;) {
        m.x = t.line(0, k);
        m.y = t.line(1, k);
        m.z = t.line(2, k);
        m.along_x = t.recipes(0, k);
        m.along_y = t.recipes(1, k);
        m.along_z = t.recipes(2, k);
        m.s = in_steps ? step_of(axes, k) : 1;
        m.carry = 0;
        const u32 cx = m.x.coarse, cy = m.y.coarse, cz = m.z.coarse, fx = m.x.fresh, fy = m.y.fresh, fz = m.z.fresh;
        const u32 of_x = at, of_xy = of_x + fx * cy * cz + cx * fy * cz + cx * cy * fz, of_xz = of_xy + fx * fy * cz;
        const u32 of_y = of_x + fx * cy * cz, of_z = of_y + cx * fy * cz, of_yz = of_xz + fx * cy * fz;
        m.of_y = of_y;
        m.of_z = of_z;
        m.of_yz = of_yz;
        at = of_yz + cx * fy * fz;
        const u32 along = k < DIFFERENCE_LEVELS ? set : 0;
        if constexpr (Codes::ENCODES) {
            // One behind the other.
            m.of_y = 0;
            m.of_z = of_z - of_y;
            m.of_yz = of_xy - of_y;
            m.exz = e + m.of_yz + at - of_yz;
        }
        const auto waits = [&](u32 axis) {
            if constexpr (Codes::ENCODES) m.codes.wait = (along & ~axis) != 0;
        };
        waits(X_AXIS);
        m.template go<X_AXIS>(of_x);
        waits(Y_AXIS);
        m.template go<Y_AXIS>(of_y);
        waits(Z_AXIS);
        m.template go<Z_AXIS>(of_z);
        waits(7);
        __syncthreads();
        if constexpr (Codes::ENCODES)
            if (along) {
                if (codes.absent) {
                    m.template follow<X_AXIS>(of_x, along & Y_AXIS, along & Z_AXIS);
                    m.template follow<Y_AXIS>(of_y, false, along & Z_AXIS);
                    m.template follow<Z_AXIS>(of_z, along & Y_AXIS, false);
                    __syncthreads();
                }
                codes.differ(of_x, fx, cy, cz, along & ~X_AXIS);
                codes.differ(of_y, cx, fy, cz, along & ~Y_AXIS);
                codes.differ(of_z, cx, cy, fz, along & ~Z_AXIS);
            }
        if (at > of_xy) {
            m.template go<X_AXIS | Y_AXIS>(of_xy);
            m.template go<X_AXIS | Z_AXIS>(of_xz);
            m.template go<Y_AXIS | Z_AXIS>(of_yz);
            __syncthreads();
        }
        if (fx * fy * fz) {
            m.template go<7>(at);
            __syncthreads();
            at += fx * fy * fz;
        }
    }
    return m.all;
}

// Differences of the classes X, Y and Z of level k, summed up within each along the axes of a set but its own; all bits
// of sums, and so much. For a whole block; barriers before and behind.
template <class Codes, class Of> DEV u32 sum_classes(const TileNodes<Of>& t, Codes codes, u32 k, u32 set) {
    enum : u32 { TOGETHER = 4 };
    u32 first = t.count(0, k + 1) * t.count(1, k + 1) * t.count(2, k + 1), all = 0;
#pragma unroll 1
    for (u32 c = 0; c < 3; c++) {
        u32 n[3];
        for (u32 a = 0; a < 3; a++) n[a] = t.count(a, k + 1);
        n[c] = t.count(c, k) - n[c];
        const u32 count = n[0] * n[1] * n[2];
#pragma unroll 1
        for (u32 a = 0; a < 3 && count; a++) {
            const u32 len = n[a];
            if (a == c || !(set >> a & 1) || len == 1) continue;
            const u32 step = a == 0 ? 1 : a == 1 ? n[0] : n[0] * n[1], lines = times_within(count, len);
            // Lines of neighbours first.
            const u32 along = a == 0 ? n[1] : n[0], on = a == 0 ? n[0] : 1, plane = a == 2 ? n[0] : n[0] * n[1];
#pragma unroll 1
            for (u32 line = threadIdx.x; line < lines; line += blockDim.x) {
                const u32 q = times_within(line, along);
                u32 at = first + (line - q * along) * on + q * plane, sum = 0, i = 0;
#pragma unroll 1
                for (; i + TOGETHER <= len; i += TOGETHER) {
                    u32 d[TOGETHER];
#pragma unroll
                    for (u32 h = 0; h < TOGETHER; h++) d[h] = codes(at + h * step);
#pragma unroll
                    for (u32 h = 0; h < TOGETHER; h++) {
                        sum += d[h];
                        all |= codes.keep(at + h * step, sum);
                    }
                    at += TOGETHER * step;
                }
                for (; i < len; i++, at += step) {
                    sum += codes(at);
                    all |= codes.keep(at, sum);
                }
            }
            __syncthreads();
        }
        first += count;
    }
    return all;
}

}    // namespace interp
