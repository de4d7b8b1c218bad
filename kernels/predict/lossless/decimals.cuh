// Twin: src/codec/predict/map/decimals.rs
// Elements as integers over a power of ten.
#pragma once
#include "forms.cuh"

namespace predict {

// The integer of an element times 10^digits, if that gives it back.
template <class T> DEV bool Forms<T>::integer_of(Word bits, u32 digits, Word& k) {
    const double round = 6755399441055744.0, power = power_of(digits),
                 most = T::BITS == 64 ? 2251799813685248.0 : 2147483648.0;
    const double whole = (value_of(bits) * power + round) - round;
    k = 0;
    if (!(fabs(whole) < most)) return false;
    k = (Word)(i64)whole;
    return seldom_decimal(k, digits) == bits;
}

// How many digits the elements may have; ~0 if they are no decimals. For a whole warp.
template <class T> DEV u32 Forms<T>::digits_of() const {
    const u32 step = (n + 31) / 32, i = (threadIdx.x & 31) * step;
#pragma unroll 1
    for (u32 digits = 0; digits <= MOST_DIGITS; digits++) {
        Word k;
        const bool odd = i < n && !integer_of(d.elements()[i], digits, k);
        if (uniform(__popc(__ballot_sync(FULL, odd)) <= MOST_ODD)) return digits;
    }
    return ~0u;
}

// Whether the integers of neighbours are nearer to each other than their words are, by some of them. For a whole
// warp.
template <class T> DEV bool Forms<T>::are_nearer(u32 digits) const {
    const u32 i = (threadIdx.x & 31) * ((n + 31) / 32);
    u32 of_integers = 0, of_words = 0;
    Word a, b;
    if (i + 1 < n && integer_of(d.elements()[i], digits, a) && integer_of(d.elements()[i + 1], digits, b)) {
        const Word by = b - a, word = words()[i + 1] - words()[i];
        of_integers = by ? width_of(magnitude_of(by)) : 0;
        of_words = word ? width_of(magnitude_of(word)) : 0;
    }
    __syncwarp();
    return __reduce_add_sync(FULL, of_integers) < __reduce_add_sync(FULL, of_words);
}

// The elements as integers over 10^digits; false if too many are none, of which `spare_mask` tells.
template <class T> DEV bool Forms<T>::make_integers(u32 digits, u32& odd) {
    const u32 whole = (n + 31) / 32 * 32;
    odd = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
        Word k = 0;
        const bool good = i < n && integer_of(d.elements()[i], digits, k);
        put_bit(d.spare_mask(), i, good);
        if (i < n) words()[i] = k;
        odd += i < n && !good;
    }
    odd = block_sum(odd, d.part);
    if (odd > n / 8) return false;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        if (has_bit(d.spare_mask(), i)) continue;
        const u32 from = bit_before(d.spare_mask(), i);
        words()[i] = from == ~0u ? 0 : words()[from];
    }
    __syncthreads();
    return true;
}

// How many digits the elements may have, if their integers are nearer to each other where that is asked; otherwise
// ~0.
template <class T> SELDOM u32 Forms<T>::find_digits(bool nearer) {
    __syncthreads();
    if (threadIdx.x < 32) {
        u32 digits = digits_of();
        if (nearer && uniform(digits != ~0u) && !are_nearer(digits)) digits = ~0u;
        if (threadIdx.x == 0) d.count = digits;
    }
    __syncthreads();
    const u32 digits = d.head.is_float ? d.count : ~0u;
    __syncthreads();
    return digits;
}

// Tries decimals of so many digits; the words are theirs then.
template <class T> SELDOM void Forms<T>::try_decimals(u32 digits, Choice<Word>& least) {
    u32 odd;
    if (!make_integers(digits, odd)) return;
    Choice<Word> choice = {};
    choice.form = DECIMALS << 6;
    choice.base = words()[0];
    choice.digits = digits;
    __syncthreads();
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) words()[i] -= choice.base;
    __syncthreads();
    choice.set = axes();
    const Rise<Word> risen = rise(choice);
    choice = differences(choice, risen, OPEN);
    choice.cost += BIT * (32 + (u64)odd * (16 + T::BITS));
    keep_if_less(least, choice);
}

}    // namespace predict
