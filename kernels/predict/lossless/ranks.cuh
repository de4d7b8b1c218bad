// Twin: src/codec/predict/map/ranks.rs
// Elements as their places in a list of all that occur.
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

// Where an element is looked for first.
template <class T> DEV u32 Forms<T>::place_of(Word element) { return (u32)((element * KEY64) >> 54); }
// The distinct elements in their order as numbers without sign; false if they are too many. For a whole block; a
// barrier before and behind.
template <class T> SELDOM bool Forms<T>::make_list() {
    const Word* const elements = d.elements();
    static_assert(PLACES_OF_RANKS == 1 << 10 && PLACES_OF_RANKS > 2 * SYMBOLS, "what place_of tells");
    for (u32 p = threadIdx.x; p < PLACES_OF_RANKS; p += blockDim.x) f.first[p] = 0;
    if (threadIdx.x == 0) f.listed = 0;
    __syncthreads();
    // The first thread with an element enters it where no other stands, at its place or behind that.
    u32 is_new = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n && is_new <= SYMBOLS; i += blockDim.x) {
        const Word own = elements[i];
        for (u32 p = place_of(own);; p = (p + 1) % PLACES_OF_RANKS) {
            u32 first = f.first[p];
            if (first == 0) first = atomicCAS(f.first + p, 0u, i + 1);
            if (first == 0) is_new = atomicAdd(&f.listed, 1u) + 1;
            if (first == 0 || elements[first - 1] == own) break;
        }
    }
    __syncthreads();
    const u32 count = f.listed;
    __syncthreads();
    if (count > SYMBOLS) return false;
    if (threadIdx.x == 0) f.listed = 0;
    __syncthreads();
    // First in any order, then each where as many are below as there are before it.
    Word* const any_order = f.list + SYMBOLS;
    for (u32 p = threadIdx.x; p < PLACES_OF_RANKS; p += blockDim.x)
        if (f.first[p]) any_order[atomicAdd(&f.listed, 1u)] = elements[f.first[p] - 1];
    __syncthreads();
    for (u32 p = threadIdx.x; p < PLACES_OF_RANKS; p += blockDim.x) {
        u32 rank = count;
        if (f.first[p]) {
            const Word own = elements[f.first[p] - 1];
            rank = 0;
            for (u32 k = 0; k < count; k++) rank += any_order[k] < own;
            f.list[rank] = own;
        }
        f.ranks[p] = (u16)rank;
    }
    __syncthreads();
    return true;
}
// The place in the list of an element that is there.
template <class T> DEV u32 Forms<T>::rank_of(Word element) const {
    u32 p = place_of(element);
    while (f.list[f.ranks[p]] != element) p = (p + 1) % PLACES_OF_RANKS;
    return f.ranks[p];
}

// Tries ranks, whose list is made.
template <class T> SELDOM void Forms<T>::try_ranks(Choice<Word>& least) {
    __syncthreads();
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) codes()[i] = rank_of(d.elements()[i]);
    Choice<Word> choice = symbols(RANKS << 6, {n, 1}, false);
    choice.cost += BIT * (16 + 8 * (u64)(f.listed * (T::BITS / 8)));
    keep_if_less(least, choice);
}

}    // namespace predict
