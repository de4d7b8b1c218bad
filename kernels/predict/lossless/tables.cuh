// Twin: src/codec/predict/code/own_table.rs
// The table of a tile's own that fits what was counted.
#pragma once
#include "forms.cuh"

namespace predict {

// Fits the table to the counts, as all threads find behind it; its bytes. A barrier before.
template <class T> SELDOM u32 Forms<T>::fit_all() {
    if (threadIdx.x < 32) {
        fit(b);
        const u32 bytes = table_bytes(b);
        if (threadIdx.x == 0) d.count = bytes;
    }
    __syncthreads();
    const u32 bytes = d.count;
    __syncthreads();
    return bytes;
}

template <class T> DEV void Forms<T>::clear_counts() {
    __syncthreads();
    for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) b.count[s] = 0;
    __syncthreads();
}

template <class T> DEV void Forms<T>::copy_table(const u32* from, u32* to) {
    __syncthreads();
    for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) to[s] = from[s];
    __syncthreads();
}

// What all that was counted costs by the table.
template <class T> DEV u64 Forms<T>::cost_of_counts() {
    u64 cost = 0;
    for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x)
        if (b.count[s]) cost += (u64)b.count[s] * b.cost[s];
    return block_sum(cost, d.part);
}

}    // namespace predict
