// Whether a tile within a bound may take fewer bytes bit for bit, by the rules of src/codec/ratio/lossless/bounded.rs.
// One warp, one tile; each lane has a sample of a set.
#pragma once
#include "lossless_encode.cuh"

namespace ratio {

enum : u32 { MOST_SETS = 8, RUN_LENGTH = 8 };
enum : i32 { STEP_BITS = 2 };    // bins are w * 2^j apart, w = 4 ... 7

// 256 times the logarithm of a number, between powers of two as if it were straight.
DEV u32 straight_logarithm(u32 x) {
    const u32 octave = top_bit(x);
    return octave << 8 | (x << 8 >> octave & 255);
}
// A number below `part`, another one for each i.
DEV u32 mixed(u32 i, u32 part) {
    u32 x = i * 0x9E3779B1u;
    x = (x ^ x >> 15) * 0x85EBCA77u;
    return (x >> 16) * part >> 16;
}
// The lanes that have the same number.
DEV u32 same_lanes(u32 v) { return __match_any_sync(FULL, v); }
DEV u32 same_lanes(u64 v) { return __match_any_sync(FULL, (u32)v) & __match_any_sync(FULL, (u32)(v >> 32)); }

// Whether nearly all samples, and not zeros alone, are as near to whole numbers over a power of ten as any elements,
// where these are as far apart as what comes back. For a whole warp.
template <class T> DEV bool are_decimals(typename T::Word bits, bool there, double grain) {
    const double middle = 6755399441055744.0, near = T::BITS == 64 ? 1.0 / (1ull << 51) : 1.0625 / (1u << 24),
                 far = T::BITS == 64 ? (double)(1ull << 51) : (double)(1u << 22);
    const double value = T::BITS == 64 ? float_of((u64)bits) : (double)float_of((u32)bits);
    double power = 1;
#pragma unroll 1
    for (u32 digits = 0; digits <= MOST_DIGITS && uniform(power * grain < 2.0); digits++) {
        const double product = value * power, whole = (product + middle) - middle;
        const bool good = there && fabs(product - whole) <= fabs(whole) * near && fabs(whole) < far;
        const u32 odd = __popc(__ballot_sync(FULL, there && !good));
        if (uniform(odd <= MOST_ODD_IN_SAMPLE && (u32)__popc(__ballot_sync(FULL, good && whole != 0.0)) > odd))
            return true;
        power *= 10;
    }
    return false;
}

// Whether samples are multiples of a power of two, where these are rounded off, or of ten, that are as far apart as
// what comes back. For a whole warp.
template <class T> DEV bool are_multiples(const Source<T>& s, typename T::Word bits, bool there, u32 drop) {
    typedef typename T::Word Word;
    double grain = s.quantizer.on ? (double)s.quantizer.step : 0.0;
    if (uniform(drop)) {
        const Word any = warp_or(there ? bits : (Word)0), magnitude = there ? bits & ones<T>(T::BITS - 1) : (Word)0;
        // Most of what is rounded off: of small numbers that is more than what is between them.
        if (any && 4 * zeros_below<T>(any) >= 3 * drop) return true;
        // What one of the bits that are left stands for, on average.
        const u32 sum = __reduce_add_sync(FULL, (u32)(magnitude >> T::MANTISSA)),
                  count = __popc(__ballot_sync(FULL, magnitude != 0));
        const i32 exponent = (i32)(sum / (count ? count : 1)) - (i32)T::BIAS - (i32)T::MANTISSA + (i32)drop;
        grain = float_of((u64)((exponent > -1022 ? exponent : -1022) + 1023) << 52);
    }
    if constexpr (T::BITS >= 32) return are_decimals<T>(bits, there, grain);
    return false;
}

// Whether elements are multiples of a power of two, or neighbouring numbers, that are as far apart as bins: the largest
// ones by what `all` have in common, and samples on average, each as a multiple of the largest power that it is one of,
// which is twice the one of all or of its neighbours. For a whole warp.
template <class T>
DEV bool are_as_far_apart_as_bins(const Survey<T>& all, i32 step_j, typename T::Word bits, bool there) {
    typedef typename T::Word Word;
    const Word magnitude = ones<T>(T::BITS - 1);
    const auto exponent = [&](Word v) { return (i32)(u32)((v & magnitude) >> T::MANTISSA); };
    const auto above = [&](Word v, Word any) {
        const u32 zeros = min_of(any ? zeros_below<T>(any) : (u32)T::BITS, (u32)T::MANTISSA);
        return (exponent(v) ? exponent(v) : 1) + (i32)zeros - T::BIAS - T::MANTISSA - step_j;
    };
    if (!uniform(above(all.most, all.any) > 0)) return false;
    // Zeros, infinities and NaN tell nothing of the others.
    const bool tells = there && (bits & magnitude) && exponent(bits) <= 2 * (i32)T::BIAS;
    const i32 own = tells ? above(bits, bits) : 0, cut = own < -8 ? -8 : own > 8 ? 8 : own;
    const i32 count = __popc(__ballot_sync(FULL, tells));
    return uniform(count > 0 && (i32)__reduce_add_sync(FULL, (u32)cut) >= count * (STEP_BITS + 1));
}

// Whether more elements of a tile are distinct than a list may have, for sure: more hashes are, of its first elements.
// Saves the list of most tiles that have none. For a whole warp.
template <class T, class F> SELDOM bool surely_have_no_list(const Source<T>& s, u32 n, const F& element) {
    enum : u32 { HASHES_LOG2 = PLACES_LOG2 + 1, HASHES = 1 << HASHES_LOG2, TOGETHER = 8 };
    static_assert(4 * HASHES <= BEST, "shared memory of a warp");
    const u32 at = uniform(s.plane), lane = threadIdx.x & 31;
    for (u32 h = lane; h < HASHES; h += 32) store_shared32(at + 4 * h, 0);
    __syncwarp();
#pragma unroll 1
    for (u32 from = 0; uniform(from < n); from += 32 * TOGETHER) {
#pragma unroll 1
        for (u32 k = 0; k < TOGETHER; k++) {
            const u32 i = from + 32 * k + lane;
            const u64 v = i < n ? (u64)element(i) : 0;
            if (i < n) store_shared32(at + 4 * (u32)(v * 0x9E3779B97F4A7C15ull >> (64 - HASHES_LOG2)), 1);
        }
        __syncwarp();
        u32 seen = 0;
        for (u32 h = lane; h < HASHES; h += 32) seen += load_shared32(at + 4 * h);
        if (uniform(__reduce_add_sync(FULL, seen) > MOST_RANKS)) return true;
        __syncwarp();
    }
    return false;
}

// Element i of a tile. A function of its own: code that is longer than the caches for instructions costs every tile.
template <class T> SELDOM typename T::Word element_of(const Source<T>& s, Box box, u32 i) {
    u32 x, y, z;
    box.place(i, x, y, z);
    return s.element(x, y, z);
}

// Whether the forms of mode lossless are tried on a tile that takes so many bytes within the bound; `all`: what its
// elements have in common, if it has bins. For a whole warp.
template <class T>
SELDOM bool forms_may_be_smaller(const Source<T>& source, const Survey<T>& common, const Plan& plan, u32 bytes) {
    typedef typename T::Word Word;
    const Source<T>& s = source;
    const u32 drop = plan.rounded ? plan.drop : 0;
    const Box box(s.t);
    const u32 n = box.n, lane = threadIdx.x & 31;
    if (uniform(32 * bytes < n)) return false;
    const auto element = [&](u32 i) { return element_of(s, box, i); };
    enum { NOISE_BITS = T::MANTISSA / 8 };    // what is told apart; the last bits may be noise
    const u32 most = 8 * bytes / n, sets = most < 1 ? 1 : min_of(most, (u32)MOST_SETS), part = n / (32 * sets);
    const auto place_in = [&](u32 set) {
        const u32 of_all = lane * sets + set;
        return part ? of_all * part + mixed(of_all, part) : set * 32 + lane;
    };
    u32 repeats = 0, cost = 0, samples = 0;
    Word next = place_in(0) < n ? element(place_in(0)) : 0;
#pragma unroll 1
    for (u32 set = 0; uniform(set < sets); set++) {
        const u32 place = place_in(set), following = place_in(set + 1);
        const bool there = place < n;
        const Word bits = next;
        next = set + 1 < sets && following < n ? element(following) : 0;
        if (uniform(set == 0 && s.quantizer.on) && are_as_far_apart_as_bins(common, plan.step_j, bits, there))
            return true;
        if (uniform(set == 0) && uniform(are_multiples(s, bits, there, drop))) return true;
        const Word v = bits >> NOISE_BITS;
        const u32 all = __ballot_sync(FULL, there), len = __popc(all);
        if (!uniform(all)) break;
        const u32 same = same_lanes(v) & all;
        if (!uniform(__any_sync(FULL, there && __popc(same) > 1))) {
            cost += len * straight_logarithm(len);
            samples += len;
            continue;
        }
        const u32 first = there ? __ffs((i32)same) - 1 : lane, count = there ? __popc(same) : 1;
        const u32 before = __shfl_sync(FULL, place, first);
        // What is alike above each other has no differences along an axis.
        const bool is_above = box.lx < n && (place - before) % box.lx == 0;
        bool alike = there && first < lane && !is_above && place + RUN_LENGTH <= n, differs = false;
#pragma unroll 1
        for (u32 i = 1; i < RUN_LENGTH && uniform(__any_sync(FULL, alike)); i++) {
            const Word own = alike ? element(place + i) >> NOISE_BITS : v,
                       other = alike ? element(before + i) >> NOISE_BITS : v;
            alike = alike && own == other;
            differs = differs || other != v;
        }
        const u32 runs = __ballot_sync(FULL, alike && differs);
        if (uniform(runs)) {
            // Whether the bits in which elements differ from those so far before are fewer than those of the body.
            const u32 lag = __shfl_sync(FULL, place - before, __ffs((i32)runs) - 1), at = lane * (n - lag) / 32;
            const u32 bits = __reduce_add_sync(FULL, width_of((Word)(element(at) ^ element(at + lag))));
            if (uniform((u64)bits * n <= (u64)8 * bytes * 32)) return true;
        }
        cost += __reduce_add_sync(FULL, there ? straight_logarithm(len) - straight_logarithm(count) : 0);
        samples += len;
        const u32 others = len + 1,
                  taken = __popc(__ballot_sync(FULL, there && first == lane)) + __reduce_max_sync(FULL, count);
        repeats += others > taken ? others - taken : 0;
    }
    // Numbers of which few are distinct take no less than what their frequencies tell.
    if (!uniform(repeats > sets / 4 && (u64)bytes * 8 * 256 * samples * 4 >= (u64)3 * n * cost)) return false;
    if constexpr (T::EXPONENT > 0) {
        if (uniform(surely_have_no_list(s, n, element))) return false;
        load_elements(s);
        __syncwarp();
        return list_elements(s) > 0;
    }
    return false;
}

}    // namespace ratio
