// No twin in src.
// Two 16-bit words in a register, the first in its lower half: what F16 and BF16 do to both at once. No half lets a
// carry into the other.
#pragma once
#include "../common/bitpack.cuh"
#include "modes.cuh"
#include "../common/quantizer.cuh"

#define LOWEST 0x00010001u     // of each half: the lowest bit
#define HIGHEST 0x80008000u    // and the highest

DEV u32 both(u32 half) { return half * LOWEST; }
DEV u32 doubled(u32 x) { return x << 1 & ~LOWEST; }
DEV u32 halved(u32 x) { return x >> 1 & ~HIGHEST; }
DEV u32 chosen(u32 mask, u32 a, u32 b) { return (a & mask) | (b & ~mask); }
// Halves of a less those of b: `low` and `high` are b as it counts for the one and for the other, `high` with nothing
// in its lower half.
DEV u32 less(u32 a, u32 low, u32 high) { return __byte_perm(a - low, a - high, 0x7610); }
// Of each half, all bits as its lowest one.
DEV u32 spread_lowest_ones(u32 x) { return spread_highest(x << 15); }

// The same done to each register.
template <class F> DEV uint4 each(uint4 q, F f) { return make_uint4(f(q.x), f(q.y), f(q.z), f(q.w)); }

// M and its inverse, see to_exponent_code: rotated by one, a word of exponent 1 to the middle counts from `first` on.
template <class T> DEV u32 to_exponent_codes(u32 x) {
    const u32 first = both(1u << (16 - T::EXPONENT));
    const u32 rotated = chosen(LOWEST, x >> 15, x << 1), lowered = (rotated | HIGHEST) - first,
              middle = spread_highest(rotated ^ lowered);
    return doubled(chosen(middle, lowered, rotated)) ^ middle;
}
template <class T> DEV u32 from_exponent_codes(u32 c) {
    const u32 first = both(1u << (16 - T::EXPONENT));
    const u32 middle = spread_lowest_ones(c), h = (c >> 1 ^ middle) & ~HIGHEST;
    const u32 rotated = chosen(middle, h + first, h | ((h + (HIGHEST - first)) & HIGHEST));
    return chosen(HIGHEST, rotated << 15, rotated >> 1);
}

// The countdown of pairs, see Countdown: of halves other than 0 and 1 the distance below the top, rotated once before
// or after.
DEV u32 counted_down(u32 x, u32 top) {
    const u32 above = x & ~LOWEST, some = ((above & ~HIGHEST) + ~HIGHEST) | above;
    return chosen(spread_highest(some), less(both(top), x, x & 0xffff0000u), x);
}
DEV u32 rotated_left(u32 x) { return chosen(LOWEST, x >> 15, x << 1); }
DEV u32 rotated_right(u32 x) { return chosen(HIGHEST, x << 15, x >> 1); }

// Words of other sizes have none.
template <class T, int BITS = T::BITS> struct Swar16Quantizer {
    DEV explicit Swar16Quantizer(const Quantizer<T>&) {}
    static DEV typename T::Word offset() { return Quantizer<T>::offset(); }
};
// The quantizer for pairs: the same results as Quantizer's any_code, bin_of, restore_code and restore_any.
template <class T> struct Swar16Quantizer<T, 16> {
    float inverse, step, shift_back, far;    // shift_back: −step · (MIDDLE − 2^15); far: above all that is below T
    u32 top, below_far, raise, far_code;     // of each half: T, T − K, what makes the highest bit of numbers from T on,
                                             // and the first of their codes

    DEV explicit Swar16Quantizer(const Quantizer<T>& quantizer)
        : inverse(quantizer.inverse),
          step(quantizer.step),
          shift_back(fused(32768.0f, quantizer.step, quantizer.shift_back)),
          far(((float)quantizer.k - 0.5f) * quantizer.step),
          top(optimisation_barrier(both(quantizer.top))),
          below_far(optimisation_barrier(both(quantizer.top - quantizer.k))),
          raise(optimisation_barrier(HIGHEST - top)),
          far_code(optimisation_barrier(both(2 * quantizer.k - 1))) {}

    // Adding 1.5·2^23 + 2^15 rounds to a whole number, which is then in the lower half, its sign inverted.
    DEV u32 bin(u32 word) const { return bits_of(fused(Quantizer<T>::number_of_element(word), inverse, 12615680.0f)); }

    // Whether most subchunks have numbers from T on, which is but 32 steps away.
    enum { FAR_IS_USUAL = T::MANTISSA == 7 };

    // Of a lane's words below T what `near` gives, of the others what `far` gives. For a whole warp.
    template <class Near, class Far> DEV uint4 by_size(uint4 q, const Near& near, const Far& far) const {
        u32 x[4], c[4], beyond = 0;
        split(q, x);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            c[i] = near(x[i]);
            beyond |= (x[i] | HIGHEST) - top;
        }
        if (FAR_IS_USUAL || __any_sync(FULL, beyond & HIGHEST)) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const u32 sign = x[i] >> 15 & LOWEST, magnitude = x[i] | HIGHEST;
                c[i] = chosen(spread_highest(magnitude - top), far(magnitude - below_far - sign, x[i], sign), c[i]);
            }
        }
        return join(c);
    }
    // Codes for profile `fast`.
    DEV uint4 codes(uint4 q) const {
        return by_size(
            q,
            [&](u32 x) {
                const u32 bins = __byte_perm(bin(x & 0xffff), bin(x >> 16), 0x5410);
                return doubled(bins) ^ ~spread_highest(bins);
            },
            [&](u32 distance, u32, u32 sign) { return doubled(distance) | sign; });
    }
    // Integers. The quotient is not exact, but rounded it is the bin, whatever the step: a number of 16 bits that is
    // not midway between two multiples of the step is further from there, by 2^-12 of itself at least, than the
    // quotient is off; and one midway is half a step from both, as far as any bound allows.
    DEV uint4 integers(uint4 q) const {
        return by_size(
            q, [&](u32 x) { return __byte_perm(rounded(x & 0xffff), rounded(x >> 16), 0x5410); },
            [&](u32 distance, u32 x, u32) { return (distance & ~HIGHEST) ^ spread_highest(x); });
    }
    DEV u32 rounded(u32 word) const { return bits_of(Quantizer<T>::number_of_element(word) * inverse + 12582912.0f); }

    // Integers, their signs inverted, times the step: the bits of MIDDLE − 2^16 and the half are those of MIDDLE − 2^15
    // and the integer.
    DEV float low(u32 raised) const {
        return fused(float_of(__byte_perm(raised, 0x4B0F0000u, 0x7610)), step, shift_back);
    }
    DEV float high(u32 raised) const {
        return fused(float_of(__byte_perm(raised, 0x4B0F0000u, 0x7632)), step, shift_back);
    }

    // Words of codes that stand for numbers below T.
    DEV u32 near_words(u32 c) const {
        const u32 raised = halved(c) ^ spread_lowest_ones(c) ^ HIGHEST;
        return words_of(low(raised), high(raised));
    }
    // Words of a lane's codes. For a whole warp.
    DEV uint4 words(uint4 q) const {
        u32 c[4], x[4], beyond = 0;
        split(q, c);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            x[i] = near_words(c[i]);
            beyond |= c[i] | ((c[i] | HIGHEST) - far_code);
        }
        if (FAR_IS_USUAL || __any_sync(FULL, beyond & HIGHEST)) {
#pragma unroll
            for (int i = 0; i < 4; i++) x[i] = with_far(halved(c[i]) + (c[i] & LOWEST) + below_far, c[i] << 15, x[i]);
        }
        return join(x);
    }
    DEV u32 with_far(u32 far, u32 signs, u32 near) const {
        return chosen(spread_highest(far + raise), far | (signs & HIGHEST), near);
    }
    static DEV u32 words_of(float low, float high);

    // What is added to the words of a lane before `restore` gets them: it inverts their signs.
    static DEV u32 offset() { return 1u << 15; }

    // Words of a lane's integers, to which `offset` was added. For a whole warp.
    DEV uint4 restore(uint4 q) const {
        u32 raised[4];
        split(q, raised);
        float v[8], most = 0.0f;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            v[i] = i & 1 ? high(raised[i / 2]) : low(raised[i / 2]);
            most = fmaxf(most, fabsf(v[i]));
        }
        u32 words[4];
#pragma unroll
        for (int i = 0; i < 4; i++) words[i] = words_of(v[2 * i], v[2 * i + 1]);
        if (!__all_sync(FULL, most < far)) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const u32 x = raised[i] ^ HIGHEST;
                words[i] = with_far((x ^ spread_highest(x)) + (x >> 15 & LOWEST) + below_far, x, words[i]);
            }
        }
        return join(words);
    }
};

template <> DEV u32 Swar16Quantizer<F16, 16>::words_of(float low, float high) { return halves_of(low, high); }
template <> DEV u32 Swar16Quantizer<BF16, 16>::words_of(float low, float high) {
    return __byte_perm(bits_of(low), bits_of(high), 0x7632);
}

DEV u32 width_of_swar16(u32 x) { return width_of((x | x >> 16) & 0xffff); }

// A lane's eight codes of n bits are four of 2n bits: a register's half above the other.
DEV void pack_swar16(u32* words, uint4 q, u32 n, u32 lane) {
    u32 v[4];
    split(closed_up(q, n), v);
    pack<F32>(words, v, 2 * n, lane);
}
DEV uint4 unpack_swar16(const u32* words, u32 n, u32 lane) {
    u32 v[4];
    unpack<F32>(words, 2 * n, lane, v);
    const u32 gap = 0x10000u - (1u << n);
    return each(join(v), [&](u32 x) { return (x >> n) * gap + x; });
}

DEV u32 sum_of(u32 a, u32 b) { return ((a & ~HIGHEST) + (b & ~HIGHEST)) ^ ((a ^ b) & HIGHEST); }

// Words to their differences to the words before; `before` is the one before them, and becomes the last of them.
DEV uint4 differences(uint4 q, u32& before) {
    const u32 first = before;
    before = q.w >> 16;
    return make_uint4(less(q.x, first, q.x << 16), less(q.y, q.x >> 16, q.y << 16), less(q.z, q.y >> 16, q.z << 16),
                      less(q.w, q.z >> 16, q.w << 16));
}

// Words → codes, see codes_of.
template <class T> DEV uint4 codes_of_swar16(u32 mode, u32 special, u32 base, Before<T>& before, uint4 q) {
    if (mode == SUBMODE_SPECIAL && special == SPECIAL_EXPONENT)
        return each(q, [&](u32 x) { return to_exponent_codes<T>(x); });
    if (mode == SUBMODE_SPECIAL && special == SPECIAL_COUNTDOWN)
        return each(q, [&](u32 x) { return counted_down(rotated_left(x), base); });
    if (mode <= SUBMODE_ZIGZAG)
        q = each(q, [&](u32 x) { return less(x, base, base << 16); });
    else
        q = differences(q, before.word);
    if (mode == SUBMODE_SPECIAL) q = differences(q, before.difference);
    return mode == SUBMODE_OFFSET ? q : each(q, [&](u32 x) { return doubled(x) ^ spread_highest(x); });
}

// Least and largest of a subchunk's words, as signed numbers: the upper one of two tells by itself, the other where
// that was.
DEV void extremes_of_swar16(uint4 q, u32& least, u32& most) {
    const i32 x[8] = {(i32)q.x,         (i32)q.y,         (i32)q.z,         (i32)q.w,
                      (i32)(q.x << 16), (i32)(q.y << 16), (i32)(q.z << 16), (i32)(q.w << 16)};
    i32 low = x[0], high = low;
#pragma unroll
    for (int i = 1; i < 8; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    least = (u32)__reduce_min_sync(FULL, low) >> 16;
    most = (u32)__reduce_max_sync(FULL, high) >> 16;
}

// Which of a lane's codes have no bits outside of `mask`, some lowest bits of each half but the highest: the first
// tells by the lowest of 8 bits. 2^7 of that.
DEV u32 codes_within(uint4 q, u32 mask) {
    const uint4 fits = each(q, [&](u32 c) { return ((mask | HIGHEST) - (c & ~HIGHEST)) & ~c & HIGHEST; });
    return sum_of_products(__byte_perm(fits.x, fits.y, 0x7531), 0x08040201u,
                           sum_of_products(__byte_perm(fits.z, fits.w, 0x7531), 0x80402010u, 0u));
}

// Running sums of a subchunk's words, from `base` on.
DEV uint4 running_sums(uint4 q, u32 base) {
    const u32 one = add_halves(q.x, 0), two = add_halves(q.y, one), three = add_halves(q.z, two),
              all = add_halves(q.w, three);
    const u32 start = base + warp_running_sum(all) - all;
    return make_uint4(
        __byte_perm(start + q.x, start + one, 0x5410), __byte_perm(start + one + q.y, start + two, 0x5410),
        __byte_perm(start + two + q.z, start + three, 0x5410), __byte_perm(start + three + q.w, start + all, 0x5410));
}

// Codes → words, see restore_words.
template <class T> DEV uint4 restore_swar16(u32 mode, u32 special, u32 base, uint4 q) {
    mode = uniform(mode);
    special = uniform(special);
    const u32 bases = both(base);
    if (mode == SUBMODE_OFFSET) return each(q, [&](u32 c) { return sum_of(c, bases); });
    if (mode == SUBMODE_SPECIAL && special != SPECIAL_DELTA2) {
        if (special == SPECIAL_EXPONENT) return each(q, [&](u32 c) { return from_exponent_codes<T>(c); });
        const u32 top = Countdown<T>::top(base);
        return each(q, [&](u32 c) { return rotated_right(counted_down(c, top)); });
    }
    q = each(q, [&](u32 c) { return halved(c) ^ spread_lowest_ones(c); });
    if (mode == SUBMODE_ZIGZAG) return each(q, [&](u32 x) { return sum_of(x, bases); });
    if (mode == SUBMODE_SPECIAL) q = running_sums(q, 0);
    return running_sums(q, base);
}
