// Twin: src/codec/predict/body/lossless/bounded.rs
// Whether a tile within the bound may take fewer bytes bit for bit.
#pragma once
#include "decimals.cuh"
#include "ranks.cuh"

namespace predict {

// Whether a tile within the bound, of so many bytes, may take fewer bit for bit: body/lossless/bounded.rs.
template <class T> struct Probe {
    typedef typename T::Word Word;
    const Desk<T>& d;
    const Word* elements;
    u32 n, row, lane;

    DEV explicit Probe(const Desk<T>& d)
        : d(d), elements(d.elements()), n(d.n), row(d.box.lx), lane(threadIdx.x & 31) {}

    static DEV u32 mixed(u32 i, u32 part) {
        u32 x = i * KEY32;
        x = (x ^ x >> 15) * 0x85EBCA77u;
        return (u32)(((u64)(x >> 16) * part) >> 16);
    }
    static DEV u32 logarithm_of(u32 x) {
        const u32 octave = top_bit(x);
        return octave << 8 | (((x << 8) >> octave) & 255);
    }
    static DEV u32 exponent_of(Word bits) { return (u32)((bits & ~((Word)1 << (T::BITS - 1))) >> T::MANTISSA); }
    static DEV u32 zeros_of(Word bits) {
        const u32 zeros = bits ? top_bit((Word)(bits & (0 - bits))) : T::BITS;
        return min_of(zeros, (u32)T::MANTISSA);
    }
    // Whether elements are multiples of a power of two, or neighbouring numbers, that are as far apart as bins.
    DEV bool are_as_far_apart_as_bins(Word own, bool there) const {
        if (!d.head.step_w) return false;
        const i32 none = -(i32)T::BIAS - (i32)T::MANTISSA - d.head.step_j;
        const u32 largest = exponent_of(d.largest);
        if ((i32)(largest ? largest : 1) + (i32)zeros_of(d.any) + none <= 0) return false;
        const Word magnitude = own & ~((Word)1 << (T::BITS - 1));
        const bool tells = there && magnitude && (i32)exponent_of(own) <= 2 * (i32)T::BIAS;
        i32 above = 0;
        if (tells) {
            const u32 exponent = exponent_of(own);
            above = (i32)(exponent ? exponent : 1) + (i32)zeros_of(own) + none;
            above = above < -8 ? -8 : above > 8 ? 8 : above;
        }
        const i32 all = (i32)__reduce_add_sync(FULL, (u32)above), count = __popc(__ballot_sync(FULL, tells));
        return count > 0 && all >= count * (i32)(STEP_BITS + 1);
    }
    // Whether elements are multiples of a power of two, where these are rounded off, or of ten, that are as far apart
    // as what comes back.
    DEV bool are_multiples(Word own, bool there) const {
        double grain;
        if (d.head.step_w) {
            grain = (double)d.meaning.quantizer.step;
        } else {
            const Word any = warp_or(there ? own : 0);
            if (any && 4 * top_bit((Word)(any & (0 - any))) >= 3 * d.drop) return true;
            const Word magnitude = own & ~((Word)1 << (T::BITS - 1));
            const bool tells = there && magnitude;
            const i32 sum = (i32)__reduce_add_sync(FULL, tells ? exponent_of(own) : 0),
                      count = __popc(__ballot_sync(FULL, tells));
            i32 exponent = sum / (count > 1 ? count : 1) - (i32)T::BIAS - ((i32)T::MANTISSA - (i32)d.drop);
            exponent = exponent > -1022 ? exponent : -1022;
            grain = float_of((u64)(exponent + 1023) << 52);
        }
        if (!Forms<T>::HAS_DECIMALS) return false;
        const double near = T::BITS == 64 ? 1.0 / 2251799813685248.0 : 1.0625 / 16777216.0,
                     far = T::BITS == 64 ? 2251799813685248.0 : 4194304.0, round = 6755399441055744.0;
        bool any = false;
#pragma unroll 1
        for (u32 digits = 0; digits <= MOST_DIGITS; digits++) {
            const double power = power_of(digits), product = Forms<T>::value_of(own) * power,
                         whole = (product + round) - round;
            const bool close = fabs(product - whole) <= fabs(whole) * near && fabs(whole) < far;
            const u32 good = __popc(__ballot_sync(FULL, there && close && whole != 0.0)),
                      odd = __popc(__ballot_sync(FULL, there && !close));
            any |= power * grain < 2.0 && odd <= MOST_ODD && good > odd;
        }
        return any;
    }
    // Whether elements go on alike, and differ, from two places on.
    DEV bool is_run(u32 a, u32 b) const {
        enum : u32 { NOISE = T::MANTISSA / 8 };
        if (b + RUN > n) return false;
        bool same = true, differ = false;
        for (u32 i = 1; i < RUN; i++) {
            const Word one = elements[a + i] >> NOISE;
            same &= one == elements[b + i] >> NOISE;
            differ |= one != elements[a] >> NOISE;
        }
        return same && differ;
    }
    // 0: no; 1: yes; 2: if few are distinct. For a whole warp.
    DEV u32 ask(u32 bytes) const {
        enum : u32 { NOISE = T::MANTISSA / 8 };
        if (32 * (u64)bytes < n) return 0;
        const u32 per = 8 * bytes / n, sets = per < 1 ? 1 : min_of(per, (u32)MOST_SETS);
        u32 repeats = 0, samples = 0;
        u64 cost = 0;
#pragma unroll 1
        for (u32 s = 0; s < sets; s++) {
            const u32 part = n / (SET_ELEMENTS * sets),
                      place =
                          part == 0 ? s * SET_ELEMENTS + lane : (lane * sets + s) * part + mixed(lane * sets + s, part);
            const bool there = place < n;
            const u32 len = __popc(__ballot_sync(FULL, there));
            const Word own = there ? elements[place] : 0, key = own >> NOISE;
            if (s == 0 && (are_as_far_apart_as_bins(own, there) || are_multiples(own, there))) return 1;
            u32 first = 32, count = 0;
            for (u32 k = 0; k < SET_ELEMENTS; k++) {
                const Word other = __shfl_sync(FULL, key, k);
                const bool alike = k < len && other == key;
                if (alike && first == 32) first = k;
                count += alike;
            }
            if (!there || first != lane) count = 0;
            const u32 a = __shfl_sync(FULL, place, first & 31);
            const bool is_above = row < n && (place - a) % row == 0;
            const bool repeated = there && a < place && !is_above && is_run(a, place);
            const u32 who = __ballot_sync(FULL, repeated);
            if (uniform(who)) {
                const u32 of = __ffs((i32)who) - 1, lag = __shfl_sync(FULL, place - a, of);
                const u32 at = (u32)((u64)lane * (n - lag) / 32);
                const Word changed = elements[at] ^ elements[at + lag];
                const u32 bits = __reduce_add_sync(FULL, changed ? width_of(changed) : 0);
                if ((u64)bits * n <= 8 * (u64)bytes * 32) return 1;
            }
            const u32 kinds = __popc(__ballot_sync(FULL, count > 0)), most = warp_max(count > 1 ? count : 1);
            if (len) cost += warp_sum((u64)(count ? count * (logarithm_of(len) - logarithm_of(count)) : 0));
            samples += len;
            repeats += len + 1 > kinds + most ? len + 1 - kinds - most : 0;
        }
        const u64 of_body = 8 * 256 * 4 * (u64)bytes * samples;
        return repeats > sets / 4 && of_body >= 3 * (u64)n * cost ? 2 : 0;
    }
};

// For a whole block; a barrier before and behind.
template <class T> SELDOM bool may_be_smaller(Desk<T>& d, Shelf shelf, u32 bytes) {
    if (threadIdx.x < 32) {
        const u32 verdict = Probe<T>(d).ask(bytes);
        if (threadIdx.x == 0) d.count = verdict;
    }
    __syncthreads();
    const u32 verdict = d.count;
    __syncthreads();
    if (verdict == 2) return Forms<T>(d, shelf).make_list();
    return verdict == 1;
}

}    // namespace predict
