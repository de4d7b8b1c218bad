// Twin: src/missing/collisions.rs
// Elements that would come back equal to a missing value which they are not: the next larger number takes its place
// (docs/reference/format.md §5).
#pragma once
#include "../common/beside.cuh"
#include "desk.cuh"

namespace interp::encoder {

// The numbers just beside one; behind infinity there is none.
DEV float just_above(float x) {
    const u32 bits = bits_of(x);
    if (bits == 0x7f800000u) return x;
    return float_of(bits << 1 == 0 ? 1u : bits >> 31 ? bits - 1 : bits + 1);
}
DEV double just_above(double x) { return is_infinite(x) ? x : next_up(x); }
template <class Float> DEV Float just_below(Float x) { return -just_above(-x); }

// The number next to missing value k, if it is none itself.
template <class T> DEV bool next_beside(const Header& head, u32 k, double& number) {
    typename T::Word next;
    bool there = next_above<T>((typename T::Word)head.missing[k], next);
    for (u32 j = 0; j < head.values; j++) there &= next != (typename T::Word)head.missing[j];
    number = (double)Quantizer<T>::number_of_element(next);
    return there;
}

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
        const double m = (double)Quantizer<T>::number_of_element((typename T::Word)d.head.missing[k]);
        any = m - m == 0.0;
        low = just_below(m - d.abs_bound);
        high = just_above(m + d.abs_bound);
        double next;
        far = next_beside<T>(d.head, k, next) ? least_within(next, d.abs_bound) : nowhere();
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

// Whether all elements whose rounded words are missing values are within the relative bound of the next larger numbers,
// too; tells tile and array. For a whole block; a barrier before and behind.
template <class T> SELDOM bool all_come_beside(Desk<T>& d, const typename T::Word* rounded) {
    // A zero that is not a missing value, but equal to one, must not become another number.
    bool has_zero = false;
    for (u32 k = 0; k < d.head.values; k++) has_zero |= (d.head.missing[k] & ones<T>(T::BITS - 1)) == 0;
    u32 too_far = 0;
#pragma unroll 1
    for (u32 k = 0; k < d.head.values; k++) {
        double next;
        const bool there = next_beside<T>(d.head, k, next) && !has_zero && d.bound < 1.0;
        const double least = there ? least_relative(next, d.bound) : nowhere();
#pragma unroll 1
        for (u32 i = threadIdx.x; i < d.n; i += blockDim.x)
            too_far |= rounded[i] == (typename T::Word)d.head.missing[k] &&
                       !((double)Quantizer<T>::number_of_element(d.elements()[i]) >= least);    // NaN is
    }
    if (block_or(too_far, d.part)) return false;
    if (threadIdx.x == 0) {
        d.beside = 1;
        add_relaxed(&d.control->disagreement, (u64)1);
    }
    __syncthreads();
    return true;
}

}    // namespace interp::encoder
