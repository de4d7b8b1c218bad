// Twin: src/primitives/lorenzo.rs
// A tile of bins from their differences along axes (docs/reference/codecs/interp.md §6). A thread has four neighbours
// of two rows, and marches along z. Shape says who has what.
//
//   edges    what rows of a warp add up to, by turns     all threads write one, a barrier, all read it
//   so_far   sums of a row's pieces before this one      one thread writes, a barrier, all read
//   corner   elements that are 0 along the set           written before, then a barrier; all read
#pragma once
#include "restore.cuh"
#include "shape.cuh"
#include "sums.cuh"

namespace interp {

template <class T> struct AlongAxes {
    enum : u32 { SIZE = T::BITS / 8, WARPS = RESTORE_THREADS / 32, EDGE = 4 * 32, EDGES = WARPS * EDGE };
    typedef typename T::Word Word;
    const Shape& p;
    ShortCodes codes;
    u32 *edges, *totals, *so_far, *corner;
    Meaning<T> meaning;
    Word base;
    u8* dst;
    u32 y_step, z_step;
    bool is_aligned;

    DEV Box corner_box() const {
        Box box = {{p.len[0], p.len[1], p.len[2]}, {1, 0, 0}};
        for (u32 a = 0; a < 3; a++)
            if (p.set >> a & 1) box.len[a] = 1;
        box.step[1] = box.len[0];
        box.step[2] = box.len[0] * box.len[1];
        return box;
    }
    // Sums the corner along the axes that are not in the set. For a whole block; barriers before and behind.
    DEV void make_corner(Partial<u32>& partial) const {
        const Box box = corner_box();
        const u32 n = box.count();
#pragma unroll 1
        for (u32 i = threadIdx.x; i < n; i += RESTORE_THREADS) {
            const u32 line = times_within(i, box.len[0]), x = i - line * box.len[0], z = times_within(line, box.len[1]),
                      y = line - z * box.len[1];
            corner[i] = codes((z * p.len[1] + y) * p.len[0] + x);
        }
        __syncthreads();
#pragma unroll 1
        for (u32 a = 0; a < 3; a++) {
            if (box.len[a] == 1) continue;
            sum_along(corner, box, a, partial);
            __syncthreads();
        }
    }

    // All planes. For a whole block; barriers before and behind.
    DEV void go() const {
        const u32 lane = threadIdx.x & (p.lanes - 1), of_rows = threadIdx.x >> p.lanes_log2, warp = threadIdx.x / 32,
                  segment = of_rows / p.rows, j = of_rows - segment * p.rows;
        // An axis of one element has no part in it.
        const bool in_x = p.set & X_AXIS && p.len[0] > 1, in_y = p.set & Y_AXIS && p.len[1] > 1,
                   in_z = p.set & Z_AXIS && p.len[2] > 1;
        const u32 begin = min_of(segment, p.segments - 1) * p.each, end = min_of(begin + p.each, p.len[2]);
        const bool mine = segment < p.segments;
        const u32 all = p.len[0] * p.len[1] * p.len[2];
        // Warps that go on along a row, or from rows to rows.
        const u32 of_row = p.lanes > 32 ? warp & (p.lanes / 32 - 1) : 0,
                  first_warp = p.rows * p.lanes > 32 ? warp & ~(p.rows * p.lanes / 32 - 1) : warp;
        const bool meet = p.lanes > 32 || p.rows * p.lanes > 32;
        const Box box = corner_box();
        u32* edge = edges;
#pragma unroll 1
        for (u32 piece = 0; piece < p.pieces; piece++) {
            const u32 x = QUAD * (piece * p.lanes + lane);
            // The differences of a plane.
            const auto read = [&](u32 z, u32(&b)[2][QUAD]) {
#pragma unroll
                for (u32 r = 0; r < 2; r++)
#pragma unroll
                    for (u32 i = 0; i < QUAD; i++) {
                        const u32 y = 2 * j + r;
                        const bool there = x + i < p.len[0] && y < p.len[1];
                        b[r][i] = codes(there ? (z * p.len[1] + y) * p.len[0] + x + i : all);
                        const u32 in_corner =
                            (in_x ? 0 : x + i) + (in_y ? 0 : y * box.step[1]) + (in_z ? 0 : z * box.step[2]);
                        if (p.set && !((in_x && x + i) || (in_y && y) || (in_z && z)) && there)
                            b[r][i] = corner[in_corner];
                    }
            };
            u32 before[2][QUAD];
#pragma unroll
            for (u32 i = 0; i < 2 * QUAD; i++) before[i / QUAD][i % QUAD] = 0;
            if (in_z && p.segments > 1) {
                // What the segments before this one add up to.
                for (u32 z = begin; z < end; z++) {
                    u32 b[2][QUAD];
                    read(z, b);
#pragma unroll
                    for (u32 i = 0; i < 2 * QUAD; i++) before[i / QUAD][i % QUAD] += b[i / QUAD][i % QUAD];
                }
#pragma unroll
                for (u32 i = 0; i < 2 * QUAD; i++) {
                    totals[i * RESTORE_THREADS + threadIdx.x] = before[i / QUAD][i % QUAD];
                    before[i / QUAD][i % QUAD] = 0;
                }
                __syncthreads();
                const u32 apart = p.lanes * p.rows;
#pragma unroll 1
                for (u32 t = threadIdx.x; t >= apart; t -= apart)
#pragma unroll
                    for (u32 i = 0; i < 2 * QUAD; i++)
                        before[i / QUAD][i % QUAD] += totals[i * RESTORE_THREADS + t - apart];
            }
#pragma unroll 1
            for (u32 i = 0; i < p.each; i++) {
                const u32 z = min_of(begin + i, p.len[2] - 1);
                u32 b[2][QUAD];
                read(z, b);
                if (in_z)
#pragma unroll
                    for (u32 i = 0; i < 2 * QUAD; i++)
                        b[i / QUAD][i % QUAD] = before[i / QUAD][i % QUAD] += b[i / QUAD][i % QUAD];
                edge = edge == edges ? edges + EDGES : edges;
                if (in_x) {
                    u32 sum[2];
#pragma unroll
                    for (u32 r = 0; r < 2; r++) {
#pragma unroll
                        for (u32 i = 1; i < QUAD; i++) b[r][i] += b[r][i - 1];
                        sum[r] = b[r][QUAD - 1];
                        for (u32 d = 1; d < p.lanes && d < 32; d *= 2) {
                            const u32 below = __shfl_up_sync(FULL, sum[r], d);
                            if ((lane & 31) >= d) sum[r] += below;
                        }
                        sum[r] -= b[r][QUAD - 1];
                    }
                    if (p.lanes > 32) {
                        // Rows of several warps are tiles' only ones of their planes.
                        if ((threadIdx.x & 31) == 31) edge[warp] = sum[0] + b[0][QUAD - 1];
                        __syncthreads();
                        for (u32 w = 0; w < of_row; w++) sum[0] += edge[warp - of_row + w];
                        if (p.pieces > 1) {
                            sum[0] += piece ? so_far[piece % 2 * p.len[2] + z] : 0;
                            if (threadIdx.x == RESTORE_THREADS - 1)
                                so_far[(piece + 1) % 2 * p.len[2] + z] = sum[0] + b[0][QUAD - 1];
                        }
                    }
#pragma unroll
                    for (u32 i = 0; i < 2 * QUAD; i++) b[i / QUAD][i % QUAD] += sum[i / QUAD];
                }
                if (in_y) {
                    u32 sum[QUAD];
#pragma unroll
                    for (u32 i = 0; i < QUAD; i++) {
                        b[1][i] += b[0][i];
                        sum[i] = b[1][i];
                        for (u32 d = 1; d < p.rows && d * p.lanes < 32; d *= 2) {
                            const u32 below = __shfl_up_sync(FULL, sum[i], d * p.lanes);
                            if (j >= d && (threadIdx.x & 31) >= d * p.lanes) sum[i] += below;
                        }
                        if (meet && (threadIdx.x & 31) >= 32 - p.lanes) edge[warp * EDGE + QUAD * lane + i] = sum[i];
                        sum[i] -= b[1][i];
                    }
                    if (meet) {
                        __syncthreads();
                        for (u32 w = first_warp; w < warp; w++)
#pragma unroll
                            for (u32 i = 0; i < QUAD; i++) sum[i] += edge[w * EDGE + QUAD * lane + i];
                    }
#pragma unroll
                    for (u32 i = 0; i < 2 * QUAD; i++) b[i / QUAD][i % QUAD] += sum[i % QUAD];
                }
                if (begin + i < end && mine) {
#pragma unroll 1
                    for (u32 r = 0; r < 2; r++) {
                        u32 n[QUAD];
#pragma unroll
                        for (u32 i = 0; i < QUAD; i++) n[i] = r ? b[1][i] : b[0][i];
                        if (2 * j + r < p.len[1]) put(x, 2 * j + r, z, n);
                    }
                }
            }
        }
        __syncthreads();
    }
    // Stores four neighbours, as far as they are there.
    DEV void put(u32 x, u32 y, u32 z, const u32 (&n)[QUAD]) const {
        u8* const to = dst + x * SIZE + y * y_step + z * z_step;
        Word v[QUAD];
#pragma unroll
        for (u32 i = 0; i < QUAD; i++) v[i] = meaning.bin((Word)(i64)(i32)n[i] + base);
        if (is_aligned && x + QUAD <= p.len[0]) {
            put_four(to, v, T());
            return;
        }
#pragma unroll
        for (u32 i = 0; i < QUAD; i++)
            if (x + i < p.len[0]) store_element(to + i * SIZE, v[i]);
    }
};

}    // namespace interp
