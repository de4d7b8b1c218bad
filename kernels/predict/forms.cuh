// Twin: src/codec/predict/format.rs
// Forms of tiles of elements' bits (docs/reference/codecs/predict.md §3, §9 to §13).
#pragma once
#include "../common/element.cuh"
#include "machine.cuh"
#include "tables.h"

namespace predict {

// Which words stand for elements, and what codes stand for.
enum Order : u32 { NUMBERS, MAGNITUDES, DECIMALS, RANKS };
enum Prediction : u32 { BY_AXES, BY_SYMBOLS, BY_LAGS };
enum : u32 {
    MASK_SEGMENTS = 16,    // of which a number of 16 bits tells whether their lag changes
};

// The number behind a tile's head.
struct TileForm {
    u32 shift, order, prediction, low, slope;

    DEV u32 bits() const { return shift | order << 6 | prediction << 8 | low << 10 | slope << 11; }
    DEV static TileForm of(u32 bits) {
        const TileForm form = {bits & 63, bits >> 6 & 3, bits >> 8 & 3, bits >> 10 & 1, bits >> 11 & 3};
        return form;
    }
    // Whether elements may have it: of T::BITS bits, floats or not, in a tile that takes differences along these axes
    // and has a table or not.
    template <class T> DEV static bool is_legal(u32 bits, bool is_float, u32 set, bool has_table) {
        const TileForm form = of(bits);
        return bits >> 13 == 0 && form.prediction <= BY_LAGS && form.shift < T::BITS &&
               (form.order != DECIMALS || (is_float && T::BITS >= 32)) && (form.order < DECIMALS || form.shift == 0) &&
               (form.prediction != BY_SYMBOLS || has_table) && (form.prediction == BY_AXES || (set | form.slope) == 0);
    }
};

// 10^digits, which is exact for all that tiles have.
DEV double power_of(u32 digits) {
    double power = 1;
#pragma unroll 1
    for (u32 k = 0; k < digits; k++) power *= 10;
    return power;
}

// The element next to w / power, as bits: each step rounds to nearest, of two such to even.
DEV u32 decimal_of(u32 w, double power) { return bits_of((float)((double)(i32)w / power)); }
DEV u64 decimal_of(u64 w, double power) { return bits_of((double)(i64)w / power); }

// A word's bits, turned right by one: its lowest bit becomes the element's top one.
template <class T> DEV typename T::Word turned(typename T::Word w) {
    return wrap<T>(w) >> 1 | (w & 1) << (T::BITS - 1);
}

}    // namespace predict
