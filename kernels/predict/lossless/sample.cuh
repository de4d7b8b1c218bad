// Twin: src/codec/predict/body/lossless/sample.rs
// The part of a tile that tells which forms are worth trying.
#pragma once
#include "forms.cuh"

namespace predict {

// As many elements as one that is looked at stands for; 0 for a tile that is tried in all forms.
template <class T> DEV u32 Forms<T>::sample_share() const {
    if (n < SAMPLE_FEWEST) return 0;
    return n >= SAMPLE_LARGE ? SAMPLE_EVERY : SAMPLE_EVERY_OF_SMALL;
}

// Copies what `word` says of the elements that are looked at; how many these are.
template <class T> template <class Of> DEV u32 Forms<T>::take_sample(Of word) {
    const u32 share = sample_share(), every = share ? share : 1, count = n / (every * GROUP) * GROUP;
    __syncthreads();
#pragma unroll 2
    for (u32 i = threadIdx.x; i < count; i += blockDim.x)
        codes()[i] = word(sampled_group(i / GROUP, every) * GROUP + i % GROUP);
    __syncthreads();
    return count;
}

// The set of axes whose differences of the words look shortest: by samples, but of a small tile.
template <class T> SELDOM u32 Forms<T>::axes() {
    const Word* const w = words();
    const auto value = [=](u32 i) { return w[i]; };
    const u32 allowed = d.head.grid.set(), every = sample_share();
    if (threadIdx.x < SETS) d.costs[threadIdx.x] = 0;
    __syncthreads();
    add_costs_of_sets<true, u64, T, Word>(d, d.box, 0, value, every ? n / (every * GROUP) : ~0u,
                                          [=](u32 k) { return every ? sampled_group(k, every) : k; });
    __syncthreads();
    u32 best = 0;
    for (u32 s = 0; s < SETS; s++)
        if (!(s & ~allowed) && d.costs[s] < d.costs[best]) best = s;
    __syncthreads();
    return best;
}

// Of the forms that cost so much the first of the least, and as bits this and the next one, where it costs little
// more.
template <class T> DEV u32 Forms<T>::tried(const u64 (&costs)[PLAIN_FORMS], bool two) {
    u32 least = 0, next = PLAIN_FORMS;
    for (u32 f = 1; f < PLAIN_FORMS; f++)
        if (costs[f] < costs[least]) least = f;
    for (u32 f = 0; f < PLAIN_FORMS; f++)
        if (f != least && (next == PLAIN_FORMS || costs[f] < costs[next])) next = f;
    const bool is_near = two && costs[next] <= costs[least] + costs[least] / SAMPLE_NEAR;
    return 1u << least | (u32)is_near << next;
}

}    // namespace predict
