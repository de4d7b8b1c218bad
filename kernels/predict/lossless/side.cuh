// Twin: src/codec/predict/body/lossless/encode.rs
// What stands between base and states.
#pragma once
#include "forms.cuh"

namespace predict {

// Writes what stands between base and states; the codes become what the coder gets of them. How many bytes.
template <class T> SELDOM u32 Forms<T>::write_side(const Choice<Word>& choice) {
    u8* const side = d.side();
    const u32 order = choice.form >> 6 & 3, halves = (1u << (choice.form >> 11 & 3)) / 2;
    if (threadIdx.x < halves) ((u16*)side)[threadIdx.x] = (u16)(extended_word<T>(choice.slope) >> (16 * threadIdx.x));
    u32 at = 2 * halves;
    if (order == RANKS) {
        if (threadIdx.x == 0) *(u16*)side = (u16)f.listed;
        for (u32 i = threadIdx.x; i < f.listed; i += blockDim.x) put_word(side + 2 + i * (T::BITS / 8), f.list[i]);
        at = 2 + f.listed * (T::BITS / 8);
    }
    if (order == DECIMALS) {
        // Those that are none have no bit.
        u32* const odd = d.corrected();
        for (u32 w = threadIdx.x; 32 * w < n; w += blockDim.x)
            odd[w] = ~d.spare_mask()[w] & low_ones(min_of(n - 32 * w, 32u));
        __syncthreads();
        if (threadIdx.x < 32) {
            const u32 count = each_bit(odd, n, [](u32, u32) {});
            u8* const to = side + at;
            each_bit(odd, n, [&](u32 k, u32 i) {
                *(u16*)(to + 4 + 2 * k) = (u16)i;
                put_word(to + 4 + 2 * count + k * (T::BITS / 8), d.elements()[i]);
            });
            if (threadIdx.x == 0) {
                to[0] = (u8)choice.digits;
                to[1] = 0;
                ((u16*)to)[1] = (u16)count;
                d.count = count;
            }
        }
        __syncthreads();
        at += 4 + d.count * (2 + T::BITS / 8);
    }
    if ((choice.form >> 8 & 3) == BY_LAGS) {
        if (threadIdx.x < 32) {
            const u32 end = write_lags(side, at);
            if (threadIdx.x == 0) d.count = end;
        }
        __syncthreads();
        at = d.count;
    }
    __syncthreads();
    if (choice.own_table) {
        for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) b.frequency[s] = d.kept_table()[s];
        __syncthreads();
        if (threadIdx.x == 0) d.count = at + write_table(b, side + at);
        __syncthreads();
        at = d.count;
        __syncthreads();
    }
    if (choice.form >> 10 & 1) at = write_low(choice, at);
    return at;
}

}    // namespace predict
