// Twin: src/missing/collisions.rs
// Numbers that take the place of those which would come back equal to a missing value (docs/reference/format.md §5).
#pragma once
#include "plan.cuh"
#include "quantizer.cuh"

// The next larger number than a finite one, if it is finite; behind both zeros the smallest one above 0.
template <class T> DEV bool next_above(typename T::Word bits, typename T::Word& next) {
    typedef typename T::Word Word;
    const Word sign = (Word)1 << (T::BITS - 1), magnitude = bits & ones<T>(T::BITS - 1);
    const Word infinity = ones<T>(T::BITS - 1) >> T::MANTISSA << T::MANTISSA;
    next = magnitude == 0 ? 1 : bits & sign ? bits - 1 : bits + 1;
    return magnitude < infinity && (next & ones<T>(T::BITS - 1)) < infinity;
}

// The least number within an absolute bound of `next`; a little more, since the difference is rounded.
DEV double least_within(double next, double bound) { return next_up(next - bound); }
// The same for a relative bound, below 1 (bound::least_relative).
DEV double least_relative(double next, double bound) {
    return next_up(next_up(next_up(next / (next > 0.0 ? 1.0 + bound : 1.0 - bound))));
}
// Where no number may take another one's place.
DEV double nowhere() { return float_of(0x7ffull << 52); }
