// Twin: src/codec/interp/predict/interpolation/weights.rs
// Interpolation of small numbers by an encoder, by a whole block (docs/reference/codecs/interp.md §6): what
// `interpolate` of interp.cuh does, for tiles all of whose elements count. Every node is made by weights, as no
// product is beyond 32 bits, and numbers and errors are words of the shared memory, told by their places in it.
//
//   numbers   in raster order                     all threads write new nodes, then a barrier; all read coarse ones
//   errors    of classes Y, Z, XZ, YZ             all threads write them, then a barrier; all read
#pragma once
#include "desk.cuh"

namespace interp::encoder {

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

// A level of a tile.
template <bool ROUGH> struct SmallMarch {
    Line x, y, z;
    u32* shared;
    u32 v, ey, ez, exz, eyz;    // places in the shared memory
    u32 s;                      // the step
    float inverse;
    u32 carry;    // threads that the classes before have taken
    u32* to;      // where codes of the class at hand go
    bool stay_signed;
    u32 any, any_code;    // all bits of differences, or of their complement, and of codes

    DEV u32 make(const Weights& w, u32 at, u32 a, u32 c, u32 d) const {
        return w.template make<ROUGH>(ROUGH ? 0 : shared[at + a], shared[at], shared[at + c],
                                      ROUGH ? 0 : shared[at + d]);
    }
    // The error of a node of which p is predicted.
    DEV u32 encode(u32 place, u32 p, u32* code_at) {
        const u32 d = shared[place] - p;
        any |= d ^ (u32)((i32)d >> 31);
        const u32 code = nearest_of(d, inverse), error = s * code;
        any_code |= code;
        *code_at = stay_signed ? code : code_of(code);
        shared[place] = p + error;
        return error;
    }

    // Goes through a class, whose codes begin at `codes`.
    template <u32 CLS> DEV void go(u32* codes) {
        enum : bool { IN_X = (CLS & X_AXIS) != 0, IN_Y = (CLS & Y_AXIS) != 0, IN_Z = (CLS & Z_AXIS) != 0 };
        const u32 nx = IN_X ? x.fresh : x.coarse, ny = IN_Y ? y.fresh : y.coarse, nz = IN_Z ? z.fresh : z.coarse;
        const u32 columns = nx * ny;
        if (columns * nz == 0) return;
        // Threads share long columns. The few of coarse levels are for a few warps, those of other classes for others.
        u32 parts_log2 = 0;
#pragma unroll 1
        while (nz >> parts_log2 > LONG_COLUMN && columns << (parts_log2 + 1) <= INTERP_THREADS) parts_log2++;
        const u32 each = (nz + (1u << parts_log2) - 1) >> parts_log2, units = columns << parts_log2;
        u32 unit = (threadIdx.x + INTERP_THREADS - carry) % INTERP_THREADS;
        carry = (carry + units + 31) / 32 * 32 % INTERP_THREADS;
#pragma unroll 1
        for (; unit < units; unit += INTERP_THREADS) {
            const u32 part = times_within(unit, columns), column = unit - part * columns, j = times_within(column, nx),
                      i = column - j * nx;
            const u32 begin = part * each, end = min_of(begin + each, nz);
            if (begin >= end) continue;
            u32* code_at = codes + begin * columns + column;
            // Along x and y: weights, how far the coarse nodes about a new one are from the one before it among the
            // numbers, and among the errors.
            Weights wx, wy;
            u32 px = x.of_coarse(i), py = y.of_coarse(j);
            u32 xa = 0, xc = 0, xd = 0, ya = 0, yc = 0, yd = 0, back_x = 0, on_x = 0, back_y = 0, on_y = 0;
            if (IN_X) {
                wx = Weights(x.recipe(i));
                const Around around(x, i);
                xa = around.a - around.b;
                xc = around.c - around.b;
                xd = around.d - around.b;
                px = around.b;
                back_x = i > 0 ? ~0u : 0;
                on_x = i + 2 < x.coarse ? 2 : 1;
            }
            if (IN_Y) {
                wy = Weights(y.recipe(j));
                const Around around(y, j);
                ya = around.a - around.b;
                yc = around.c - around.b;
                yd = around.d - around.b;
                py = around.b;
                back_y = j > 0 ? 0 - nx : 0;
                on_y = j + 2 < y.coarse ? 2 * nx : nx;
            }
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
                own = (CLS == Z_AXIS              ? ez
                       : CLS == (X_AXIS | Z_AXIS) ? exz
                                                  : eyz) +
                      begin * columns + column;
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

    // The codes of the anchors. By one thread.
    DEV void encode_anchors(u32 ax, u32 ay, u32 az) {
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
    // The codes of a class as their differences along axes. For a whole block, with barriers before and behind.
    DEV void differ(const u32* from, u32* codes, const Box& box, u32 along) {
        const u32 n = box.count();
#pragma unroll 1
        for (u32 i = threadIdx.x; i < n; i += INTERP_THREADS) {
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
            codes[i] = code_of(d);
        }
    }
};

// Encodes the small numbers at a place of the shared memory, with room for errors at another one, into codes; all bits
// of differences of this thread, or of their complement, and above them whether codes are not all 0. `signed_codes`:
// room for those that become differences. For a whole block; a barrier before and behind.
template <bool ROUGH>
SELDOM u32 encode_small(u32 v, u32 e, u32 lx, u32 ly, u32 lz, bool coarse_steps, u32 set, Levels& levels, u32* codes,
                        u32* signed_codes) {
    SHARED_BYTES(shared);
    if (lz == 1) {
        lz = ly;
        ly = 1;
        set = (set & X_AXIS) | (set & Y_AXIS) << 1;
    }
    const u32 axes = (lx > 2) + (ly > 2) + (lz > 2), row = lx, plane = lx * ly;
    u32 k = 0;
    while (nodes_of(lx, k + 1) > 2 || nodes_of(ly, k + 1) > 2 || nodes_of(lz, k + 1) > 2) k++;
    lay_out(levels, lx, ly, lz, k + 1);
    SmallMarch<ROUGH> m;
    m.shared = (u32*)shared;
    m.v = v;
    m.any = m.any_code = 0;
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
    lay_level(k);
    m.stay_signed = false;
    m.to = codes;
    u32 at = m.x.coarse * m.y.coarse * m.z.coarse;
    if (threadIdx.x == 0) m.encode_anchors(m.x.coarse, m.y.coarse, m.z.coarse);
    __syncthreads();
#pragma unroll 1
    for (k++; k-- > 0;) {
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
        m.template go<X_AXIS>(place(X_AXIS, of_x));
        m.template go<Y_AXIS>(place(Y_AXIS, of_y));
        m.template go<Z_AXIS>(place(Z_AXIS, of_z));
        m.stay_signed = false;
        __syncthreads();
        if (along) {
            const Box boxes[3] = {
                {{fx, cy, cz}, {1, fx, fx * cy}}, {{cx, fy, cz}, {1, cx, cx * fy}}, {{cx, cy, fz}, {1, cx, cx * cy}}};
            const u32 of_class[3] = {of_x, of_y, of_z};
#pragma unroll
            for (u32 a = 0; a < 3; a++)
                if (along & ~(1u << a))
                    m.differ(signed_codes + of_class[a], codes + of_class[a], boxes[a], along & ~(1u << a));
        }
        m.template go<X_AXIS | Y_AXIS>(codes + of_xy);
        m.template go<X_AXIS | Z_AXIS>(codes + of_xz);
        m.template go<Y_AXIS | Z_AXIS>(codes + of_yz);
        __syncthreads();
        if (fx * fy * fz) {
            m.template go<X_AXIS | Y_AXIS | Z_AXIS>(codes + of_xyz);
            __syncthreads();
        }
    }
    return m.any | (u32)(m.any_code != 0) << 31;
}

}    // namespace interp::encoder
