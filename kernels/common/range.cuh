// Twin: src/primitives/range.rs
// The value range of an array: smallest and largest finite element other than the missing values. What takes time is to
// read the array, so several loads of a thread are on their way at once, and an element takes four to six instructions.
// It is read from behind: whoever compresses it then finds its beginning in the second-level cache.
//
// A block of 8 warps shares most[8] and least[8], the extremes of each warp.
//
//   barrier     each warp has written its own; then: thread 0 takes most, thread 1 least to the array's, by atomics
#pragma once
#include "plan.cuh"
#include "quantizer.cuh"

#define RANGE_THREADS 256
#define RANGE_LOADS (PIECE_BYTES / 16 / RANGE_THREADS)    // of a thread at once; a block's together are a piece

// Extremes of what a thread met, as floats.
template <class T, u32 MISSING> struct Extremes {
    typedef typename T::Float Float;
    Float low, high, missing[MISSING ? MISSING : 1];

    // Where fewer are named a NaN, which nothing equals, stands for them.
    DEV Extremes(u32 values, const u64* bits) : low((Float)float_of(0x7f800000u)), high(-low) {
#pragma unroll
        for (u32 k = 0; k < MISSING; k++)
            missing[k] =
                k < values ? Quantizer<T>::number_of_element((typename T::Word)bits[k]) : (Float)float_of(0x7fffffffu);
    }

    // No comparison below is true of a NaN, and infinities become such.
    DEV void take(typename T::Word v) {
        Float x = Quantizer<T>::number_of_element(v);
        x = fused(x, (Float)0, x);
#pragma unroll
        for (u32 k = 0; k < MISSING; k++) x = x == missing[k] ? (Float)float_of(0x7fffffffu) : x;
        low = least_of(x, low);
        high = most_of(x, high);
    }
    static DEV float least_of(float x, float y) { return fminf(x, y); }
    static DEV float most_of(float x, float y) { return fmaxf(x, y); }
    static DEV double least_of(double x, double y) { return x < y ? x : y; }
    static DEV double most_of(double x, double y) { return x > y ? x : y; }
};

// Shows 16 bytes of an array to what looks at its elements, and an element wherever it lies.
template <class T, class Seen> DEV void show(Seen& seen, uint4 q, bool big_endian) {
    if (big_endian) q = swap_bytes<T>(q);
    typename T::Word v[T::VALUES];
    split(q, v);
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) seen.take(v[i]);
}
template <class T, class Seen> DEV void show_one(Seen& seen, const u8* p, bool big_endian) {
    enum { SIZE = T::BITS / 8 };
    typename T::Word v = 0;
    for (int i = 0; i < SIZE; i++) v = v << 8 | p[big_endian ? i : SIZE - 1 - i];
    seen.take(v);
}

// Looks at the share of an array that block `rank` of `blocks` has.
template <class T, class Seen>
DEV void look_at(Seen& seen, const u8* src, u64 count, u32 rank, u32 blocks, bool big_endian) {
    enum { SIZE = T::BITS / 8, PIECE = RANGE_LOADS * RANGE_THREADS };
    const u32 off =
        0 - (u32)(u64)src & 15;    // so far from there is the first vector, if elements do not lie across vectors
    const u64 before = off % SIZE ? count : min_of(count, (u64)(off / SIZE)), vectors = (count - before) / T::VALUES;
    const uint4* from = (const uint4*)(src + before * SIZE) + threadIdx.x;
    const u64 pieces = vectors / PIECE;
    for (u64 piece = rank; piece < pieces; piece += blocks) {
        uint4 q[RANGE_LOADS];
#pragma unroll
        for (int i = 0; i < RANGE_LOADS; i++) q[i] = from[(pieces - 1 - piece) * PIECE + i * RANGE_THREADS];
#pragma unroll
        for (int i = 0; i < RANGE_LOADS; i++) show<T>(seen, q[i], big_endian);
    }
    const u64 first = (u64)rank * RANGE_THREADS + threadIdx.x, all = (u64)blocks * RANGE_THREADS;
#pragma unroll 1
    for (u64 i = pieces * PIECE + first; i < vectors; i += all) show<T>(seen, from[i - threadIdx.x], big_endian);
    const u64 rest = count - vectors * T::VALUES;    // elements that are in no vector
#pragma unroll 1
    for (u64 i = first; i < rest; i += all) {
        const u64 element = i < before ? i : i + vectors * T::VALUES;
        show_one<T>(seen, src + element * SIZE, big_endian);
    }
}

// The extremes of a block's threads to those of the array, which are keys: the largest, and the largest inverted one.
// −0 counts as 0.
template <class Float> DEV void keep_range(Float low, Float high, u64* range) {
    SHARED u64 most[RANGE_THREADS / 32], least[RANGE_THREADS / 32];
    const u64 inverted = sizeof(Float) == 8 ? ~0ull : 0xffffffffull;
    const bool any = low <= high;
    const u64 top = warp_max(any ? order_of(high + (Float)0) : 0),
              bottom = warp_max(any ? inverted - order_of(low + (Float)0) : 0);
    if (threadIdx.x % 32 == 0) {
        most[threadIdx.x / 32] = top;
        least[threadIdx.x / 32] = bottom;
    }
    __syncthreads();
    if (threadIdx.x >= 2) return;
    const u64* keys = threadIdx.x == 0 ? most : least;
    u64 largest = keys[0];
    for (int i = 1; i < RANGE_THREADS / 32; i++) largest = keys[i] > largest ? keys[i] : largest;
    if (largest) atomicMax(range + threadIdx.x, largest);
}

template <class T, u32 MISSING> DEV void measure_without(const CompressArgs& a) {
    const Share share(a.batch);
    const Item item = item_of(a.batch, share.item);
    Extremes<T, MISSING> extremes(a.values, a.missing);
    look_at<T>(extremes, item.src, item.count, share.rank, share.of, a.big_endian);
    keep_range(extremes.low, extremes.high, a.batch.slots[share.item].control.range);
}
template <class T> DEV void measure_range(const CompressArgs& a) {
    if (a.values == 0)
        measure_without<T, 0>(a);
    else if (a.values == 1)
        measure_without<T, 1>(a);
    else
        measure_without<T, MAX_MISSING>(a);
}
