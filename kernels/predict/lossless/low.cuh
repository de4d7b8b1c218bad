// Twin: src/codec/predict/code/low.rs
// Low bits of codes, which stand beside the coder.
#pragma once
#include "forms.cuh"
#include "../sums.cuh"

namespace predict {

// Low bits that say nothing of the lengths of all but a few codes.
template <class T> DEV u32 Forms<T>::low_bits(u32 count) {
    for (u32 i = threadIdx.x; i < 65; i += blockDim.x) f.widths[i] = 0;
    __syncthreads();
#pragma unroll 4
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) atomicAdd(f.widths + width_of(codes()[i]), 1u);
    __syncthreads();
    u32 left = count / 64, width = 0;
    for (u32 w = 0; w < 65; w++) {
        if (f.widths[w] > left) {
            width = w;
            break;
        }
        left -= f.widths[w];
    }
    __syncthreads();
    return width > 3 ? width - 3 : 0;
}

// Copies those codes that have low bits, one behind the other.
template <class T> DEV void Forms<T>::take_out_bare(const Choice<Word>& choice, Word* to) {
    const u32 whole = (n + 31) / 32 * 32;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < whole; i += blockDim.x)
        put_bit(d.corrected(), i, i < n && best()[i] >> choice.low != choice.bare);
    __syncthreads();
    // How many of them are before each word of the mask.
    if (threadIdx.x < 32) {
        u32 before = 0;
        for (u32 first = 0; 32 * first < n; first += 32) {
            const u32 w = first + threadIdx.x, count = 32 * w < n ? __popc(d.corrected()[w]) : 0,
                      up_to = warp_running_sum(count);
            f.before[w] = before + up_to - count;
            before += __shfl_sync(FULL, up_to, 31);
        }
    }
    __syncthreads();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x)
        if (has_bit(d.corrected(), i))
            to[f.before[i / 32] + __popc(d.corrected()[i / 32] & low_ones(i % 32))] = best()[i];
    __syncthreads();
}
// The low bits of codes, which become their high bits, from `at` on; where they end.
template <class T> SELDOM u32 Forms<T>::write_low(const Choice<Word>& choice, u32 at) {
    u16* const side = (u16*)(d.side() + at);
    const u32 bits = choice.low, numbers = n - choice.bare_codes, halves = (numbers * bits + 15) / 16;
    const Word* from = best();
    if (choice.bare_codes) {
        take_out_bare(choice, codes());
        from = codes();
    }
    if (threadIdx.x == 0) {
        side[0] = (u16)(bits | choice.bare << 8);
        side[1] = (u16)choice.bare_codes;
    }
    const Word mask = ((Word)1 << bits) - 1;
    const Divisor number(bits);
    // All 16 bits of what is written, from one number or several.
#pragma unroll 2
    for (u32 h = threadIdx.x; h < halves; h += blockDim.x) {
        u32 k = number.divide(16 * h), there = (k + 1) * bits - 16 * h;
        u32 half = (u32)((from[k] & mask) >> (bits - there));
#pragma unroll 1
        for (; there < 16 && ++k < numbers; there += bits) half |= (u32)(from[k] & mask) << there;
        side[2 + h] = (u16)half;
    }
    __syncthreads();
#pragma unroll 4
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) best()[i] >>= bits;
    __syncthreads();
    return at + 4 + 2 * halves;
}

}    // namespace predict
