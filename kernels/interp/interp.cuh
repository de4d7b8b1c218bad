// Twin: src/codec/interp/predict/interpolation/mod.rs
// Interpolation inside a tile, by a whole block (docs/reference/codecs/interp.md §6). A thread goes along z through a
// column of nodes of a class, with what they need along x and y at hand and the coarse nodes about it in registers. Of
// tiles in two axes y takes the place of z.
//
//   v        numbers in raster order           all threads write new nodes, then a barrier; all read coarse ones
//   e        errors of classes Y, Z, XZ, YZ    all threads write them, then a barrier; all read
//   levels   weights at the ends of axes       some threads write, then a barrier; all read
//
// Classes of one new axis need coarse nodes alone, those of two need these, XYZ needs all: three barriers a level.
#pragma once
#include "coder.cuh"
#include "levels.cuh"

namespace interp {

// What an encoder does with a tile: `v` has the numbers to be encoded, which become what is restored of them.
struct Encoding {
    const u32* not_counted;    // a bit for each element of which anything may be restored; null if there is none
    u32* codes;
    u32* signed_codes;    // those of classes whose codes become differences
    u64* part;
    u32 any;    // all bits of what was coded without loss, or of its complement
};

// The whole number nearest to d / s, of two such the even one; small ones alone.
DEV u32 nearest_of(u32 d, float inverse) { return bits_of((float)(i32)d * inverse + 12582912.0f) - 0x4B400000u; }

// Codes of a tile as they are kept in words: the difference of code n.
struct WordCodes {
    const u32* at;

    DEV u32 operator()(u32 n) const { return difference_of(at[n]); }
};

// A level of a tile, and what its classes need.
template <bool ROUGH, bool ENCODE = false, class Codes = WordCodes> struct March {
    enum : u32 { THREADS = INTERP_THREADS };
    Line x, y, z;
    u32* v;
    u32 *ey, *ez, *exz, *eyz;
    Codes codes;
    u32 s;             // the step
    u32 parts_log2;    // of a column, that threads share
    u32 carry;         // threads that the classes before have taken
    // Of an encoder: what it does, 1 / s, where the codes of the class at hand go, and whether these stay signed.
    Encoding* encoding;
    float inverse;
    u32* to;
    bool stay_signed;

    DEV explicit March(const Codes& codes) : codes(codes) {}

    // The code of a node as its number comes to be `place`, for which the prediction stands then.
    DEV u32 encode(u32 p, const u32* place, u32 n) {
        const u32 i = (u32)(place - v);
        const bool counts = !encoding->not_counted || !(encoding->not_counted[i / 32] >> (i % 32) & 1);
        const u32 d = counts ? *place - p : 0;
        encoding->any |= d ^ (u32)((i32)d >> 31);
        const u32 code = s == 1 ? d : nearest_of(d, inverse);
        to[n] = stay_signed ? code : code << 1 ^ (u32)((i32)code >> 31);
        return code;
    }
    // The codes, where they wait, of nodes that do not count: those that the nodes before them along axes `along` of
    // the class have, which are then restored; their errors stand at `e`, if at all. For a whole block, with barriers
    // before and behind.
    DEV void encode_waiting(u32 cls, u32 along, u32* e) {
        const Line* const lines[3] = {&x, &y, &z};
        u32 len[3], at_step[3];
        u32 threads = 1;
        for (u32 a = 0; a < 3; a++) {
            len[a] = cls >> a & 1 ? lines[a]->fresh : lines[a]->coarse;
            if (!(along >> a & 1)) threads *= len[a];
        }
        at_step[0] = 1;
        at_step[1] = len[0];
        at_step[2] = len[0] * len[1];
        const bool in_y = along & Y_AXIS, in_z = along & Z_AXIS;
#pragma unroll 1
        for (u32 line = threadIdx.x; line < threads; line += THREADS) {
            const u32 i = line % len[0], rest = line / len[0],
                      j0 = in_y   ? 0
                           : in_z ? rest
                                  : rest % len[1],
                      k0 = in_z   ? 0
                           : in_y ? rest
                                  : rest / len[1];
#pragma unroll 1
            for (u32 k = k0; k < (in_z ? len[2] : k0 + 1); k++)
#pragma unroll 1
                for (u32 j = j0; j < (in_y ? len[1] : j0 + 1); j++) {
                    const u32 place = (cls & 1 ? x.of_new(i) : x.of_coarse(i)) +
                                      (cls & 2 ? y.of_new(j) : y.of_coarse(j)) +
                                      (cls & 4 ? z.of_new(k) : z.of_coarse(k));
                    if (!(encoding->not_counted[place / 32] >> (place % 32) & 1)) continue;
                    const u32 n = i + j * at_step[1] + k * at_step[2];
                    const u32 by_y = in_y && j ? to[n - at_step[1]] : 0, by_z = in_z && k ? to[n - at_step[2]] : 0,
                              by_both = in_y && j && in_z && k ? to[n - at_step[1] - at_step[2]] : 0;
                    const u32 code = by_y + by_z - by_both;
                    to[n] = code;
                    v[place] += s * code;
                    if (e) e[n] = s * code;
                }
        }
    }
    // The codes of a class as their differences along axes. For a whole block, with barriers before and behind.
    DEV void differ(const u32* from, u32* codes, const Box& box, u32 along) {
        const u32 n = box.count();
#pragma unroll 1
        for (u32 i = threadIdx.x; i < n; i += THREADS) {
            const u32 row = times_within(i, box.len[0]), x = i - row * box.len[0], z = times_within(row, box.len[1]),
                      y = row - z * box.len[1];
            // Two axes at most.
            const u32 by_x = along & 1 && x, by_y = along & 2 && y ? box.step[1] : 0,
                      by_z = along & 4 && z ? box.step[2] : 0, one = along & 1 ? by_x : by_y,
                      other = along & 1 && along & 2 ? by_y : by_z;
            u32 d = from[i];
            if (one) d -= from[i - one];
            if (other) d -= from[i - other];
            if (one && other) d += from[i - one - other];
            codes[i] = d << 1 ^ (u32)((i32)d >> 31);
        }
    }

    // Goes through a class, whose codes begin at `first`; those of one new axis may be summed up at `sums` already.
    template <u32 CLS> DEV void go(u32 first, const u32* sums = nullptr) {
        const auto difference_at = [&](u32 n) { return sums ? sums[n] : codes(first + n); };
        if (ENCODE) to = (stay_signed ? encoding->signed_codes : encoding->codes) + first;
        enum : bool { IN_X = (CLS & X_AXIS) != 0, IN_Y = (CLS & Y_AXIS) != 0, IN_Z = (CLS & Z_AXIS) != 0 };
        const u32 nx = IN_X ? x.fresh : x.coarse, ny = IN_Y ? y.fresh : y.coarse, nz = IN_Z ? z.fresh : z.coarse;
        const u32 columns = nx * ny;
        if (columns * nz == 0) return;
        const u32 each = (nz + (1u << parts_log2) - 1) >> parts_log2, units = columns << parts_log2;
        u32 unit = (threadIdx.x + THREADS - carry) % THREADS;
        carry = (carry + units) % THREADS;
#pragma unroll 1
        for (; unit < units; unit += THREADS) {
            const u32 part = times_within(unit, columns), column = unit - part * columns, j = times_within(column, nx),
                      i = column - j * nx;
            const u32 begin = part * each, end = min_of(begin + each, nz);
            if (begin >= end) continue;
            const u32 px = IN_X ? x.of_new(i) : x.of_coarse(i), py = IN_Y ? y.of_new(j) : y.of_coarse(j);
            u32 n = begin * columns + column;
            // Each code is asked for two steps before it is needed.
            u32 next = 0, later = 0;
            if (!ENCODE) {
                next = difference_at(n);
                if (begin + 1 < end) later = difference_at(n + columns);
            }
            Recipe rx, ry;
            Around ax, ay;
            if (IN_X) {
                rx = x.recipe(i);
                ax = Around(x, i);
            }
            if (IN_Y) {
                ry = y.recipe(j);
                ay = Around(y, j);
            }
            u32* const here = v + px + py;
            // Errors: of Y, Z and YZ along x, of Z and XZ along y. What has no weight is read where there is something.
            const i32 back_x = i > 0 ? -1 : 0, on_x = i + 2 < x.coarse ? 2 : 1;
            const auto along_x = [&](const u32* e, u32 at) {
                e += at;
                return rx.make<ROUGH>(e[back_x], e[0], e[1], e[on_x]);
            };
            const i32 back_y = j > 0 ? -(i32)nx : 0, on_y = j + 2 < y.coarse ? 2 * nx : nx;
            const auto along_y = [&](const u32* e, u32 at) {
                e += at;
                return ry.make<ROUGH>(e[back_y], e[0], e[nx], e[on_y]);
            };
            if (!IN_Z) {
#pragma unroll 1
                for (u32 k = begin; k < end; k++, n += columns) {
                    const u32 pz = z.of_coarse(k);
                    u32 difference = next;
                    next = later;
                    if (!ENCODE && k + 2 < end) later = difference_at(n + 2 * columns);
                    const u32* const plane = v + pz;
                    u32 p;
                    if (CLS == X_AXIS) p = ax.make<ROUGH>(rx, plane + py);
                    if (CLS == Y_AXIS) p = ay.make<ROUGH>(ry, plane + px);
                    if (CLS == (X_AXIS | Y_AXIS)) {
                        const u32 main = ay.make<ROUGH>(ry, plane + px), e = along_x(ey, (k * ny + j) * x.coarse + i);
                        p = ROUGH ? arithmetic_shift(3 * main + ax.make<ROUGH>(rx, plane + py) + 2 * e, 2) : main + e;
                    }
                    p = arithmetic_shift(p + 8, 4);
                    if (ENCODE) difference = encode(p, here + pz, n);
                    const u32 error = s * difference;
                    here[pz] = p + error;
                    if (CLS == Y_AXIS) ey[n] = error;
                }
                continue;
            }
            u32 vb = here[z.of_coarse(begin)], vc = here[z.of_coarse(begin + 1)],
                va = begin > 0 ? here[z.of_coarse(begin - 1)] : vb;
#pragma unroll 1
            for (u32 k = begin; k < end; k++, n += columns) {
                const u32 vd = here[z.of_coarse(k + 2)];
                u32 difference = next;
                next = later;
                if (!ENCODE && k + 2 < end) later = difference_at(n + 2 * columns);
                const u32 main = z.recipe(k).template make<ROUGH>(va, vb, vc, vd), pz = z.of_new(k);
                va = vb;
                vb = vc;
                vc = vd;
                u32 p = main;
                if (CLS == (X_AXIS | Z_AXIS)) {
                    const u32 e = along_x(ez, (k * ny + j) * x.coarse + i);
                    p = ROUGH ? arithmetic_shift(3 * main + ax.make<ROUGH>(rx, v + py + pz) + 2 * e, 2) : main + e;
                }
                if (CLS == (Y_AXIS | Z_AXIS)) {
                    const u32 e = along_y(ez, (k * y.coarse + j) * nx + i);
                    p = ROUGH ? arithmetic_shift(3 * main + ay.make<ROUGH>(ry, v + px + pz) + 2 * e, 2) : main + e;
                }
                if (CLS == (X_AXIS | Y_AXIS | Z_AXIS)) {
                    const u32 sum =
                        main + along_y(exz, (k * y.coarse + j) * nx + i) + along_x(eyz, (k * ny + j) * x.coarse + i);
                    p = sum;
                    if (ROUGH) {
                        const u32 of_v = ay.make<ROUGH>(ry, v + px + pz) + ax.make<ROUGH>(rx, v + py + pz);
                        p = arithmetic_shift(arithmetic_shift(2 * main + of_v, 2) + sum, 1);
                    }
                }
                p = arithmetic_shift(p + 8, 4);
                if (ENCODE) difference = encode(p, here + pz, n);
                const u32 error = s * difference, value = p + error;
                here[pz] = value;
                if (CLS == Z_AXIS) ez[n] = error;
                if (CLS == (X_AXIS | Z_AXIS)) exz[n] = value - arithmetic_shift(main + 8, 4);
                if (CLS == (Y_AXIS | Z_AXIS)) eyz[n] = error;
            }
        }
    }
    // The differences of a class of one new axis, summed up along axes, where errors will stand. For a whole block.
    DEV const u32* summed(u32* to, u32 first, const Box& box, u32 sums, Partial<u32>* partial) {
        const u32 count = box.count();
        if (!sums || count == 0) return nullptr;
#pragma unroll 4
        for (u32 n = threadIdx.x; n < count; n += THREADS) to[n] = codes(first + n);
        __syncthreads();
#pragma unroll 1
        for (u32 a = 0; a < 3; a++) {
            if (!(sums >> a & 1) || box.len[a] <= 1) continue;
            sum_along(to, box, a, *partial);
            __syncthreads();
        }
        return to;
    }
};

// The codes of the anchors. By one thread.
template <bool ROUGH, class M> DEV void encode_anchors(M& m, u32 ax, u32 ay, u32 az, u32 lx, u32 ly, u32 lz, u32 step) {
    const u32 row = lx, plane = lx * ly;
    const auto place = [&](u32 x, u32 y, u32 z) {
        return m.v + (x ? lx - 1 : 0) + (y ? ly - 1 : 0) * row + (z ? lz - 1 : 0) * plane;
    };
    m.s = step;
    m.inverse = 1.0f / (float)step;
    m.to = m.encoding->codes;
    u32 n = 0;
#pragma unroll 1
    for (u32 z = 0; z < az; z++)
        for (u32 y = 0; y < ay; y++)
            for (u32 x = 0; x < ax; x++) {
                u32 p = 0;
                for (u32 c = 1; c < 8; c++) {
                    const u32 a = c & 1, b = c >> 1 & 1, e = c >> 2;
                    if (a > x || b > y || e > z) continue;
                    const u32 other = *place(x - a, y - b, z - e);
                    p = __popc(c) & 1 ? p + other : p - other;
                }
                u32* const at = place(x, y, z);
                const u32 code = m.encode(p, at, n++);
                *at = p + step * code;
            }
}

// Restores the numbers of a tile from its codes; or encodes those at `v`. At `e` is room for INTERP_ERRORS errors;
// `partial` is for who restores. For a whole block; a barrier before and behind.
template <bool ROUGH, bool ENCODE = false, class Codes>
DEV void interpolate(u32* v, u32* e, Codes codes, u32 lx, u32 ly, u32 lz, bool in_steps, u32 set, Levels& levels,
                     Partial<u32>* partial, Encoding* encoding = nullptr) {
    if (lz == 1) {
        lz = ly;
        ly = 1;
        set = (set & X_AXIS) | (set & Y_AXIS) << 1;
    }
    const u32 row = lx, plane = lx * ly;
    u32 k = 0;
    while (nodes_of(lx, k + 1) > 2 || nodes_of(ly, k + 1) > 2 || nodes_of(lz, k + 1) > 2) k++;
    lay_out(levels, lx, ly, lz, k + 1);
    const u32 axes = (lx > 2) + (ly > 2) + (lz > 2);
    March<ROUGH, ENCODE, Codes> m(codes);
    m.v = v;
    m.encoding = encoding;
    m.stay_signed = false;
    const u32 ax = nodes_of(lx, k + 1), ay = nodes_of(ly, k + 1), az = nodes_of(lz, k + 1);
    u32 at = ax * ay * az;
    if (ENCODE) {
        if (threadIdx.x == 0) encode_anchors<ROUGH>(m, ax, ay, az, lx, ly, lz, in_steps ? step_of(axes, k) : 1);
    } else if (threadIdx.x < at) {
        // Anchors: each is the sum of the differences of those before it.
        const u32 x = threadIdx.x % ax, y = threadIdx.x / ax % ay, z = threadIdx.x / ax / ay;
        u32 sum = 0;
        for (u32 i = 0; i <= z; i++)
            for (u32 j = 0; j <= y; j++)
                for (u32 h = 0; h <= x; h++) sum += codes((i * ay + j) * ax + h);
        v[(x ? lx - 1 : 0) + (y ? ly - 1 : 0) * row + (z ? lz - 1 : 0) * plane] =
            (in_steps ? step_of(axes, k) : 1) * sum;
    }
    __syncthreads();
#pragma unroll 1
    for (k++; k-- > 0;) {
        const auto along = [&](u32 n, u32 step, u32 axis) {
            const u32 coarse = nodes_of(n, k + 1);
            const Line line = {coarse, nodes_of(n, k) - coarse, step << (k + 1), (n - 1) * step,
                               levels.of[ROUGH][k][axis].of};
            return line;
        };
        m.x = along(lx, 1, 0);
        m.y = along(ly, row, 1);
        m.z = along(lz, plane, 2);
        m.s = in_steps ? step_of(axes, k) : 1;
        if (ENCODE) m.inverse = 1.0f / (float)m.s;
        const u32 cx = m.x.coarse, cy = m.y.coarse, cz = m.z.coarse, fx = m.x.fresh, fy = m.y.fresh, fz = m.z.fresh;
        const u32 of_x = at, of_y = of_x + fx * cy * cz, of_z = of_y + cx * fy * cz, of_xy = of_z + cx * cy * fz,
                  of_xz = of_xy + fx * fy * cz, of_yz = of_xz + fx * cy * fz, of_xyz = of_yz + cx * fy * fz;
        at = of_xyz + fx * fy * fz;
        m.ey = e;
        m.ez = m.ey + cx * fy * cz;
        m.exz = m.ez + cx * cy * fz;
        m.eyz = m.exz + fx * cy * fz;
        // So many that all threads have some to do.
        const u32 columns = nodes_of(lx, k) * nodes_of(ly, k);
        m.parts_log2 = fz == 0 || columns >= 8 * INTERP_THREADS ? 0
                       : columns >= 2 * INTERP_THREADS          ? 1
                       : columns >= INTERP_THREADS / 2          ? 2
                                                                : 4;
        m.carry = 0;
        const bool differences = set && k < DIFFERENCE_LEVELS;
        const u32* sums = nullptr;
        if constexpr (ENCODE) {
            const Box box_x = {{fx, cy, cz}, {1, fx, fx * cy}}, box_y = {{cx, fy, cz}, {1, cx, cx * fy}},
                      box_z = {{cx, cy, fz}, {1, cx, cx * cy}};
            const u32 of_class[3] = {of_x, of_y, of_z};
            m.stay_signed = differences && (set & ~X_AXIS);
            m.template go<X_AXIS>(of_x);
            m.stay_signed = differences && (set & ~Y_AXIS);
            m.template go<Y_AXIS>(of_y);
            m.stay_signed = differences && (set & ~Z_AXIS);
            m.template go<Z_AXIS>(of_z);
            m.stay_signed = false;
            if (differences) {
                __syncthreads();
#pragma unroll 1
                for (u32 a = 0; a < 3; a++) {
                    const u32 cls = 1 << a, along = set & ~cls;
                    const Box& box = a == 0 ? box_x : a == 1 ? box_y : box_z;
                    if (!along || box.count() == 0) continue;
                    m.to = encoding->signed_codes + of_class[a];
                    if (encoding->not_counted && (along & ~X_AXIS)) {
                        m.encode_waiting(cls, along & ~X_AXIS, a == 0 ? nullptr : a == 1 ? m.ey : m.ez);
                        __syncthreads();
                    }
                    m.differ(m.to, encoding->codes + of_class[a], box, along);
                }
            }
        } else {
            if (differences) { sums = m.summed(e, of_x, {{fx, cy, cz}, {1, fx, fx * cy}}, set & ~X_AXIS, partial); }
            m.template go<X_AXIS>(of_x, sums);
            if (differences) {
                __syncthreads();    // all are done with what stands where errors will
                sums = m.summed(m.ey, of_y, {{cx, fy, cz}, {1, cx, cx * fy}}, set & ~Y_AXIS, partial);
            }
            m.template go<Y_AXIS>(of_y, sums);
            if (differences) sums = m.summed(m.ez, of_z, {{cx, cy, fz}, {1, cx, cx * cy}}, set & ~Z_AXIS, partial);
            m.template go<Z_AXIS>(of_z, sums);
        }
        __syncthreads();
        m.template go<X_AXIS | Y_AXIS>(of_xy);
        m.template go<X_AXIS | Z_AXIS>(of_xz);
        m.template go<Y_AXIS | Z_AXIS>(of_yz);
        __syncthreads();
        if (fx * fy * fz) {
            m.template go<X_AXIS | Y_AXIS | Z_AXIS>(of_xyz);
            __syncthreads();
        }
    }
}

}    // namespace interp
