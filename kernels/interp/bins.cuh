// Twin: src/codec/interp/predict/sample.rs, src/primitives/lorenzo.rs
// Bins of a whole tile: what their differences along axes would cost by some rows, and these differences as codes.
#pragma once
#include "quantize.cuh"

namespace interp::encoder {

// What codes cost by the sum of their magnitudes, where that is below 2^25.
DEV u32 cost_of_small_sum(u32 sum, u32 count) {
    if (sum == 0) return 64;
    const u32 scaled = sum * 128 / count, of = scaled ? scaled : 1, octave = top_bit(of),
              part = (octave >= 8 ? of >> (octave - 8) : of << (8 - octave)) & 255,
              cost = MEANS[octave] + ((MEANS[octave + 1] - MEANS[octave]) * part >> 8), all = cost * count / 128;
    return all > 64 ? all : 64;
}

// What the threads of a block share that sample rows.
struct RowSample {
    u32 costs[SETS + 1];    // of sets of axes, and of distances without any
    i32 least[PREDICT_THREADS / 32], most[PREDICT_THREADS / 32];
};

// The best set of axes for bins, and what it costs, by rows of which one in `every` is looked at: all, or one in 16.
// For a whole block; a barrier before and behind.
template <class T> DEV u32 best_axes(const Elements<T>& from, RowSample& r, u32 every, u64& cost) {
    enum : u32 { WARPS = PREDICT_THREADS / 32, SEEN = 31 };
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, rows = every == 1 ? 512 : 32;
    if (threadIdx.x <= SETS) r.costs[threadIdx.x] = 0;
    __syncthreads();
    const u64 x = lane * from.SIZE;
    const auto place = [&](u32 i) {
        const u32 z = every == 1 ? i >> 5 : i >> 1, y = every == 1 ? i & 31 : ((8 - 3 * z) & 15) + 16 * (i & 1);
        return from.row(y ? y : 1, z ? z : 1) + x;
    };
    const i32 first = from.bin(from.element(0));
    i32 least = 0x7fffffff, most = -0x7fffffff - 1;
    u32 own_cost = 0;    // of the set of this lane's number modulo 8
#pragma unroll 1
    for (u32 i = 4 * warp; i < rows; i += 4 * WARPS) {
        u32 sum = 0;
#pragma unroll
        for (u32 h = 0; h < 4; h++) {
            const u64 at = place(i + h);
            const i32 own = from.bin(from.element(at)), by = from.bin(from.element(at - from.y_step)),
                      bz = from.bin(from.element(at - from.z_step)),
                      both = from.bin(from.element(at - from.y_step - from.z_step));
            const i32 of[4] = {own, own - by, own - bz, own - bz - (by - both)};
            if (lane) {
                least = own < least ? own : least;
                most = own > most ? own : most;
            }
#pragma unroll
            for (u32 s = 0; s < 4; s++) {
                const i32 before = (i32)__shfl_up_sync(FULL, (u32)of[s], 1);
                const u32 without = __reduce_add_sync(FULL, lane ? magnitude_of((u32)(s ? of[s] : own - first)) : 0),
                          with = __reduce_add_sync(FULL, lane ? magnitude_of((u32)(of[s] - before)) : 0);
                if (lane == 8 * h + 2 * s) sum = without;
                if (lane == 8 * h + 2 * s + 1) sum = with;
            }
        }
        own_cost += cost_of_small_sum(sum, SEEN);
    }
    atomicAdd(r.costs + lane % SETS, own_cost);
    least = __reduce_min_sync(FULL, least);
    most = __reduce_max_sync(FULL, most);
    if (lane == 0) {
        r.least[warp] = least;
        r.most[warp] = most;
    }
    __syncthreads();
    for (u32 w = 0; w < WARPS; w++) {
        least = r.least[w] < least ? r.least[w] : least;
        most = r.most[w] > most ? r.most[w] : most;
    }
    const i32 middle = least + (most - least) / 2;
    u32 distances = 0;
#pragma unroll 1
    for (u32 i = 4 * warp; i < rows; i += 4 * WARPS) {
        u32 sum = 0;
#pragma unroll
        for (u32 h = 0; h < 4; h++) {
            const i32 own = from.bin(from.element(place(i + h)));
            const u32 all = __reduce_add_sync(FULL, lane ? magnitude_of((u32)(own - middle)) : 0);
            if (lane == h) sum = all;
        }
        if (lane < 4) distances += cost_of_small_sum(sum, SEEN);
    }
    if (lane < 4) atomicAdd(r.costs + SETS, distances);
    __syncthreads();
    u32 best = 0;
    u64 best_cost = min_of(r.costs[0], r.costs[SETS]);
    for (u32 s = 1; s < SETS; s++)
        if (r.costs[s] < best_cost) {
            best = s;
            best_cost = r.costs[s];
        }
    cost = best_cost * ELEMENTS / (rows * SEEN);
    __syncthreads();    // all have seen the costs
    return best;
}
// The same; of a tile that looks cheap all rows are asked.
template <class T> DEV u32 axes_of_bins(const Elements<T>& from, RowSample& r, u64& cost) {
    const u32 best = best_axes(from, r, EVERY, cost);
    return cost >= (u64)LITTLE * ELEMENTS ? best : best_axes(from, r, 1, cost);
}

// Differences of bins along a set of axes that is not empty, as codes; multiples that are no bins are corrected. The
// first bin comes back. `edges`: the last rows of warps, of two planes. For a whole block; a barrier before.
template <class T, bool BY16>
DEV i32 code_bins(const Elements<T>& from, u32 set, TileCodes<BY16>& codes, Corrections& corrections,
                  u32 (*edges)[2][PREDICT_THREADS / 32][32], Found& found) {
    const u32 k = threadIdx.x & 7, j = threadIdx.x >> 3, warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    const i32 base = from.bin(from.element(0));
    struct Rows {
        u32 v[2][4];
    };
    Rows before = {};
#pragma unroll 1
    for (u32 z = 0; z < 16; z++) {
        Rows bins, along_z;
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const Four<T> f = from.four(from.row(2 * j + r, z) + 4 * k * from.SIZE);
            bool on = false;
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                const u32 number = number_of(from, f.v[i], found, on);
                bins.v[r][i] = nearest_multiple<LATTICE_STEP>((i32)(number + from.base)) - base;
                along_z.v[r][i] = bins.v[r][i] - before.v[r][i];
            }
            if (on)
#pragma unroll
                for (u32 i = 0; i < 4; i++)
                    if (from.is_on(f.v[i]))
                        corrections.add((z * 32 + 2 * j + r) * 32 + 4 * k + i,
                                        (bins.v[r][i] + base) * LATTICE_STEP - from.base);
        }
        // Along z if that is one of the axes; and the other way, which elements on the face of the set need.
        const bool in_z = set & 4;
        u32(*const edge)[PREDICT_THREADS / 32][32] = edges[z & 1];
        const auto along = [&](u32 which, u32 axes) {
            const auto value = [&](u32 r, u32 i) { return (which == 0) == in_z ? along_z.v[r][i] : bins.v[r][i]; };
            Rows d;
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                u32 above = __shfl_up_sync(FULL, value(1, i), 8);
                if (lane < 8) above = warp ? edge[which][warp - 1][4 * k + i] : 0;
                d.v[0][i] = axes & 2 ? value(0, i) - above : value(0, i);
                d.v[1][i] = axes & 2 ? value(1, i) - value(0, i) : value(1, i);
            }
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                const u32 left = __shfl_up_sync(FULL, d.v[r][3], 1);
                if (axes & 1) {
#pragma unroll
                    for (u32 i = 3; i > 0; i--) d.v[r][i] -= d.v[r][i - 1];
                    d.v[r][0] -= k ? left : 0;
                }
            }
            return d;
        };
        if (lane >= 24)
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                edge[0][warp][4 * k + i] = in_z ? along_z.v[1][i] : bins.v[1][i];
                edge[1][warp][4 * k + i] = in_z ? bins.v[1][i] : along_z.v[1][i];
            }
        __syncthreads();
        Rows d = along(0, set);
        const Rows all = along(1, ~set);
#pragma unroll
        for (u32 r = 0; r < 2; r++)
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                if (on_face(set, 4 * k + i, 2 * j + r, z)) d.v[r][i] = all.v[r][i];
                codes.template keep<false>((z * 32 + 2 * j + r) * 32 + 4 * k + i, d.v[r][i]);
            }
        before = bins;
    }
    return base;
}

}    // namespace interp::encoder
