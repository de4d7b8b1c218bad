// Low bits of codes, which stand beside the coder: codec/predict/code/low.rs in CUDA.
#pragma once
#include "forms.cuh"

namespace predict {

// Low bits that say nothing of the lengths of all but a few codes.
template <class T> DEV u32 Forms<T>::low_bits(u32 count) {
    for (u32 i = threadIdx.x; i < 65; i += blockDim.x) f.widths[i] = 0;
    __syncthreads();
#pragma unroll 1
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

// The low bits of codes, which become their high bits, from `at` on; where they end.
template <class T> SELDOM u32 Forms<T>::write_low(const Choice<Word>& choice, u32 at) {
    u8* const side = d.side();
    const u32 bits = choice.low, end = at + 4 + ((n - choice.bare_codes) * bits + 15) / 16 * 2;
    const auto has_low = [&](Word high) { return choice.bare_codes == 0 || high != choice.bare; };
    // How many of them are before each word of a mask.
    const u32 whole = (n + 31) / 32 * 32;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < whole; i += blockDim.x)
        put_bit(d.corrected(), i, i < n && has_low(best()[i] >> bits));
    for (u32 i = at + threadIdx.x; i < end + 4; i += blockDim.x) side[i] = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        u32 before = 0;
        for (u32 first = 0; 32 * first < n; first += 32) {
            const u32 w = first + threadIdx.x, count = 32 * w < n ? __popc(d.corrected()[w]) : 0,
                      up_to = warp_running_sum(count);
            f.before[w] = before + up_to - count;
            before += __shfl_sync(FULL, up_to, 31);
        }
    }
    if (threadIdx.x == 0) {
        side[at] = (u8)bits;
        side[at + 1] = (u8)choice.bare;
        *(u16*)(side + at + 2) = (u16)choice.bare_codes;
    }
    __syncthreads();
    u32* const plane = (u32*)side;
    const u64 first = 8 * (u64)(at + 4);
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        const Word code = best()[i];
        best()[i] = code >> bits;
        if (!has_bit(d.corrected(), i)) continue;
        const u32 rank = f.before[i / 32] + __popc(d.corrected()[i / 32] & low_ones(i % 32));
        const u64 low = (u64)code & (((u64)1 << bits) - 1), place = first + (u64)rank * bits;
        const u32 word = (u32)(place / 32), by = (u32)(place % 32);
        const u64 lower = low << by;
        if ((u32)lower) atomicOr(plane + word, (u32)lower);
        if (lower >> 32) atomicOr(plane + word + 1, (u32)(lower >> 32));
        if (by && low >> (64 - by)) atomicOr(plane + word + 2, (u32)(low >> (64 - by)));
    }
    __syncthreads();
    return end;
}

}    // namespace predict
