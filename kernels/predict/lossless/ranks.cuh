// Elements as their places in a list of all that occur: codec/predict/map/ranks.rs in CUDA.
#pragma once
#include "forms.cuh"

namespace predict {

// Whether the tile may have few distinct elements, by some of them. For a whole block.
template <class T> DEV bool Forms<T>::may_be_few() {
    const u32 step = (n + SAMPLE_ALIKE - 1) / SAMPLE_ALIKE, t = threadIdx.x;
    u32 is_alike = 0;
    if (t < SAMPLE_ALIKE && t * step < n)
        for (u32 k = 0; k < t; k++) is_alike |= d.elements()[k * step] == d.elements()[t * step];
    return block_sum(is_alike, d.part) >= 2;
}

// The distinct elements in their order as numbers without sign; false if they are too many. For a whole block.
template <class T> SELDOM bool Forms<T>::make_list() {
    const u32 whole = (n + blockDim.x - 1) / blockDim.x * blockDim.x;
    if (threadIdx.x == 0) f.listed = 0;
    __syncthreads();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
        const Word own = i < n ? d.elements()[i] : 0;
        for (;;) {
            const bool lacks = i < n && find(own) == ~0u;
            const u32 who = block_min(lacks ? threadIdx.x : ~0u, d.part);
            if (who == ~0u) break;
            if (f.listed == SYMBOLS) return false;
            if (threadIdx.x == who) d.found = own;
            __syncthreads();
            const Word more = (Word)d.found;
            const u32 t = threadIdx.x, count = f.listed;
            const Word here = t < count ? f.list[t] : 0;
            u32 below = t < count && here < more;
            const u32 place = block_sum(below, d.part);
            if (t < count && here > more) f.list[t + 1] = here;
            if (t == 0) {
                f.list[place] = more;
                f.listed = count + 1;
            }
            __syncthreads();
        }
    }
    __syncthreads();
    return true;
}

// The place of an element in the list, or ~0.
template <class T> DEV u32 Forms<T>::find(Word own) const {
    u32 low = 0, high = f.listed;
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (f.list[middle] < own)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f.listed && f.list[low] == own ? low : ~0u;
}

// Tries ranks, whose list is made.
template <class T> SELDOM void Forms<T>::try_ranks(Choice<Word>& least) {
    __syncthreads();
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) codes()[i] = find(d.elements()[i]);
    Choice<Word> choice = symbols(RANKS << 6, {n, 1}, false);
    choice.cost += BIT * (16 + 8 * (u64)(f.listed * (T::BITS / 8)));
    keep_if_less(least, choice);
}

}    // namespace predict
