// Elements that would come back equal to a missing value which they are not: the next larger number takes its place
// (docs/reference/format.md §5): src/runtime/cpu/besides.rs in CUDA.
#pragma once
#include "desk.cuh"

namespace predict {

// The numbers just beside one; an infinity stays.
DEV float just_above(float x) {
    const u32 bits = bits_of(x);
    if (bits << 1 >= 0xffu << 24) return x;
    return float_of(bits << 1 == 0 ? 1u : bits >> 31 ? bits - 1 : bits + 1);
}
DEV double just_above(double x) { return bits_of(x) << 1 >= 0x7ffull << 53 ? x : next_up(x); }
template <class Float> DEV Float just_below(Float x) { return -just_above(-x); }

// Whether the number of an element lies from `low` to `high`; of f32 one just beside may count.
DEV bool reaches(float v, double low, double high) {
    return v >= just_below((float)low) && v <= just_above((float)high);
}
DEV bool reaches(double v, double low, double high) { return v >= low && v <= high; }

// Of a missing value: what may be restored as it, and up to where that may be too far from the next larger number.
// Without a number there is none.
struct Nearness {
    double low, high, far;
    bool any;

    template <class T> DEV Nearness(const Desk<T>& d, u32 k, T) {
        const Header& head = d.head;
        const u64 bits = head.missing[k], sign = 1ull << (T::BITS - 1), magnitude = bits & (sign - 1),
                  infinity = T::BITS == 64 ? 0x7ffull << 52 : 0xffull << 23,
                  next = magnitude == 0 ? 1 : bits & sign ? bits - 1 : bits + 1;
        any = magnitude < infinity;
        const double m = ::number_of(bits, head.dtype);
        low = just_below(m - d.abs_bound);
        high = just_above(m + d.abs_bound);
        bool there = (next & (sign - 1)) < infinity;
        for (u32 j = 0; j < head.values; j++) there &= next != head.missing[j];
        far = there ? just_above(::number_of(next, head.dtype) - d.abs_bound) : high;
        far = far < high ? far : high;
    }
};

// Whether the next larger numbers may be used for a tile's elements; tells the array if any may come to be one. For a
// whole block; a barrier before and behind.
template <class T> SELDOM void look_beside(Desk<T>& d) {
    const typename T::Word* const elements = d.elements();
    u32 met = 0, too_far = 0;
    bool any = false;
#pragma unroll 1
    for (u32 k = 0; k < d.head.values; k++) {
        const Nearness near(d, k, T());
        if (!near.any) continue;
        any = true;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) {
            const auto v = Quantizer<T>::number_of_element(elements[i]);
            met |= reaches(v, near.low, near.high);
            too_far |= (double)v >= near.low && (double)v <= near.far;
        }
    }
    const u32 both = block_or(met | too_far << 1, d.part);
    if (threadIdx.x == 0) {
        d.beside = any && !(both >> 1);
        if (d.beside && both) add_relaxed(&d.control->disagreement, (u64)1);
    }
    __syncthreads();
}

// The least number that is within the relative bound of the next one above missing value k, which then takes its place;
// infinite where no number may do so. A zero that is not a missing value, but equal to one, must not become another.
template <class T> DEV double least_beside(const Desk<T>& d, u32 k) {
    const Header& head = d.head;
    const u64 bits = head.missing[k], sign = 1ull << (T::BITS - 1), magnitude = bits & (sign - 1),
              infinity = T::BITS == 64 ? 0x7ffull << 52 : 0xffull << 23, next = bits & sign ? bits - 1 : bits + 1;
    bool there = magnitude < infinity && (next & (sign - 1)) < infinity && d.bound < 1.0;
    for (u32 j = 0; j < head.values; j++) there &= next != head.missing[j] && (head.missing[j] & (sign - 1)) != 0;
    if (!there) return float_of(0x7ffull << 52);
    const double number = ::number_of(next, head.dtype);
    return just_above(just_above(just_above(number / (number > 0.0 ? 1.0 + d.bound : 1.0 - d.bound))));
}

// Whether all elements whose rounded words are missing values are within the relative bound of the next larger numbers,
// too; tells tile and array. For a whole block; a barrier before and behind.
template <class T> SELDOM bool all_come_beside(Desk<T>& d, const typename T::Word* rounded) {
    u32 too_far = 0;
#pragma unroll 1
    for (u32 k = 0; k < d.head.values; k++) {
        const double least = least_beside(d, k);
#pragma unroll 1
        for (u32 i = threadIdx.x; i < d.n; i += blockDim.x)
            too_far |= rounded[i] == (typename T::Word)d.head.missing[k] &&
                       (double)Quantizer<T>::number_of_element(d.elements()[i]) < least;
    }
    if (block_or(too_far, d.part)) return false;
    if (threadIdx.x == 0) {
        d.beside = 1;
        add_relaxed(&d.control->disagreement, (u64)1);
    }
    __syncthreads();
    return true;
}

}    // namespace predict
