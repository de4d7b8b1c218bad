// Twin: src/primitives/lorenzo.rs
// Sums along the axes of a box of numbers, in place, by a whole block (docs/reference/codecs/interp.md §7).
//
//   partial   of the warps that share a line     each its own piece of it; all read
#pragma once
#include "geometry.cuh"

namespace interp {

// The most warps of a block.
enum : u32 { MOST_WARPS = INTERP_THREADS / 32 };

// Division of numbers below 2^16 by one of up to 2^14.
struct Divisor {
    u32 by, factor;

    DEV explicit Divisor(u32 by) : by(by), factor(by > 1 ? ~0u / by + 1 : 0) {}
    DEV u32 divide(u32 n) const { return by > 1 ? high_product(n, factor) : n; }
};

// A box of numbers: lengths, and how far neighbours along the axes are from each other.
struct Box {
    u32 len[3], step[3];

    DEV u32 count() const { return len[0] * len[1] * len[2]; }
};

template <class Word> struct Partial {
    Word sum[MOST_WARPS];
};

// Each number becomes the sum of those up to it along an axis. For a whole block, before and behind a barrier.
template <class Word> DEV void sum_along(Word* p, const Box& box, u32 axis, Partial<Word>& partial) {
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5), warps = blockDim.x / 32;
    const u32 len = box.len[axis], step = box.step[axis];
    if (len <= 1) return;
    // The two other axes, the one whose neighbours are closer first.
    const u32 b = axis == 0 ? 1 : 0, c = axis == 2 ? 1 : 2, lines = box.len[b] * box.len[c];
    const Divisor row(box.len[b]);
    if (axis > 0 && lines >= 2 * warps) {
        // A thread for each line, so that those of a warp are neighbours.
#pragma unroll 1
        for (u32 line = threadIdx.x; line < lines; line += blockDim.x) {
            const u32 at = row.divide(line);
            Word* q = p + (line - at * row.by) * box.step[b] + at * box.step[c];
            Word sum = 0;
#pragma unroll 4
            for (u32 i = 0; i < len; i++, q += step) *q = sum += *q;
        }
        return;
    }
    if (lines >= warps) {
#pragma unroll 1
        for (u32 line = warp; uniform(line < lines); line += warps) {
            const u32 at = row.divide(line);
            Word* const q = p + (line - at * row.by) * box.step[b] + at * box.step[c];
            Word before = 0;
#pragma unroll 1
            for (u32 first = 0; uniform(first < len); first += 32) {
                const u32 i = first + lane;
                const Word sum = warp_running_sum(i < len ? q[i * step] : (Word)0) + before;
                if (i < len) q[i * step] = sum;
                before = __shfl_sync(FULL, sum, 31);
            }
        }
        return;
    }
    // All warps share each of few lines: first what each piece adds up to, then its sums.
    const u32 piece = (len + 32 * warps - 1) / (32 * warps) * 32, begin = warp * piece,
              end = min_of(begin + piece, len);
#pragma unroll 1
    for (u32 line = 0; uniform(line < lines); line++) {
        const u32 at = row.divide(line);
        Word* const q = p + (line - at * row.by) * box.step[b] + at * box.step[c];
        Word sum = 0;
        for (u32 i = begin + lane; i < end; i += 32) sum += q[i * step];
        sum = warp_running_sum(sum);
        if (lane == 31) partial.sum[warp] = sum;
        __syncthreads();
        Word before = 0;
        for (u32 w = 0; w < warp; w++) before += partial.sum[w];
#pragma unroll 1
        for (u32 first = begin; uniform(first < end); first += 32) {
            const u32 i = first + lane;
            const Word up_to = warp_running_sum(i < end ? q[i * step] : (Word)0) + before;
            if (i < end) q[i * step] = up_to;
            before = __shfl_sync(FULL, up_to, 31);
        }
        __syncthreads();
    }
}

// The numbers of a tile from their differences along a set of axes. For a whole block; a barrier before and behind.
template <class Word> DEV void sum_box(Word* p, const Box& box, u32 set, Partial<Word>& partial) {
    if (set == 0) return;
    Box corner = box;
#pragma unroll
    for (u32 a = 0; a < 3; a++)
        if (set >> a & 1) corner.len[a] = 1;
#pragma unroll 1
    for (u32 a = 0; a < 6; a++) {
        const bool is_first = a < 3;
        const u32 axis = is_first ? a : a - 3;
        if ((set >> axis & 1) == is_first || box.len[axis] <= 1) continue;
        sum_along(p, is_first ? corner : box, axis, partial);
        __syncthreads();
    }
}

}    // namespace interp
