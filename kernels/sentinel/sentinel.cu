// Twin: src/missing/sentinel/mod.rs
// A look at an array for undeclared fill values: its smallest and its largest number beside some that do not count, and
// some between; how often those that do not count are there; and the least NaN or infinity, by its bits.
//
// Nothing is shared and there is no barrier: a warp tells what it saw by atomics.
#include "../common/range.cuh"
#include "launch.h"

// What a thread saw. FILLS: how many numbers do not count.
template <class T, u32 FILLS> struct Sight {
    typedef typename T::Word Word;
    Extremes<T, FILLS> extremes;
    u32 counts[FILLS ? FILLS : 1];
    Word above, special;    // the least one above those bits, as what is to be added to it to make it 0

    DEV explicit Sight(const LookArgs& a) : extremes(a.values, a.fills), above((Word)a.above), special(0) {
#pragma unroll
        for (u32 k = 0; k < FILLS; k++) counts[k] = 0;
    }
    DEV void take(Word v) {
        const Word infinity = ones<T>(T::BITS - 1) >> T::MANTISSA << T::MANTISSA;
        const Word told = (v & infinity) == infinity && v > above ? 0 - v : 0;
        special = told > special ? told : special;
        const auto x = Quantizer<T>::number_of_element(v);
#pragma unroll
        for (u32 k = 0; k < FILLS; k++) counts[k] += x == extremes.missing[k];
        extremes.take(v);
    }
    // A key to the array's largest, and of two that differ the smaller one to what lies between the ends.
    static DEV void tell(u64 key, u64* end, u64* between) {
        if (key <= load_relaxed(between)) return;
        const u64 before = atomicMax(end, key);
        if (before != key) atomicMax(between, min_of(before, key));
    }
    // The warp's to those of the array. −0 counts as 0.
    DEV void tell(Seen& seen) const {
        typedef typename T::Float Float;
        const u64 inverted = sizeof(Float) == 8 ? ~0ull : 0xffffffffull;
        const Float low = extremes.low, high = extremes.high;
        const bool any = low <= high;
        const u64 top = warp_max(any ? order_of(high + (Float)0) : 0),
                  bottom = warp_max(any ? inverted - order_of(low + (Float)0) : 0), special = warp_max(this->special);
        const bool tells = threadIdx.x % 32 == 0;
        if (tells) {
            tell(top, seen.ends, seen.between);
            tell(bottom, seen.ends + 1, seen.between + 1);
            if (special) atomicMax(&seen.special, special);
        }
#pragma unroll
        for (u32 k = 0; k < FILLS; k++) {
            // More than two do not matter.
            const u32 count = __reduce_add_sync(FULL, counts[k] < 2 ? counts[k] : 2);
            if (tells && count) atomicAdd(seen.counts + k, count);
        }
    }
};

template <class T, u32 FILLS> DEV void look_beside(const LookArgs& a) {
    Sight<T, FILLS> sight(a);
    look_at<T>(sight, a.src, a.count, blockIdx.x, gridDim.x, a.big_endian);
    sight.tell(*a.seen);
}
template <class T> DEV void look(const LookArgs& a) {
    if (a.values == 0)
        look_beside<T, 0>(a);
    else
        look_beside<T, MAX_MISSING>(a);
}

GRID_KERNEL(sleek_look_f32, LookArgs, RANGE_THREADS) { look<F32>(a); }
GRID_KERNEL(sleek_look_f64, LookArgs, RANGE_THREADS) { look<F64>(a); }
GRID_KERNEL(sleek_look_f16, LookArgs, RANGE_THREADS) { look<F16>(a); }
GRID_KERNEL(sleek_look_bf16, LookArgs, RANGE_THREADS) { look<BF16>(a); }
