// The choice of mode and width for a subchunk, by the rules of src/codec/sleek/choose.rs.
#pragma once
#include "element.cuh"

#define SUBCHUNK_VALUES(T) (32 * T::VALUES)

// How a subchunk is to be packed; the same on every lane.
template <class T> struct Choice {
    u32 mode;
    u32 width;     // bits in the payload
    u32 high;      // bits of an exception's high part
    u32 count;     // exceptions
    u32 based;     // whether the base counts
    typename T::Word base;
};

DEV u32 exception_bytes(u32 count, u32 high) { return 2 + count + (count * high + 7) / 8; }

// The sampled words of a lane, of each SAMPLE in the subchunk the last. Of two words a lane only every other lane has one.
template <class T> struct Sample {
    enum { COUNT = T::VALUES >= SAMPLE ? T::VALUES / SAMPLE : 1, FIRST = (T::VALUES >= SAMPLE ? SAMPLE : T::VALUES) - 1 };
    static DEV bool has(u32 lane) { return T::VALUES >= SAMPLE || (lane & (SAMPLE / T::VALUES - 1)) == SAMPLE / T::VALUES - 1; }
    static DEV int place(int i) { return FIRST + i * SAMPLE; }
};

// The width that the sampled codes speak for, where the largest code has `full` bits. Each lane looks at one width, or at two: how many of
// the samples exceed it comes from ballots on the bits of their widths.
template <class T> DEV u32 fitting_width(const typename T::Word (&codes)[T::VALUES], u32 full, u32 lane) {
    enum { PLANES = T::BITS == 64 ? 7 : T::BITS == 32 ? 6 : 5, EACH = T::BITS / 32 > 1 ? T::BITS / 32 : 1 };
    u32 count[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) count[e] = 0;
#pragma unroll
    for (int i = 0; i < Sample<T>::COUNT; i++) {
        const u32 width = Sample<T>::has(lane) ? width_of(codes[Sample<T>::place(i)]) : 0;
        u32 over[EACH], same[EACH];
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            over[e] = 0;
            same[e] = FULL;
        }
#pragma unroll
        for (int bit = PLANES - 1; bit >= 0; bit--) {
            const u32 plane = __ballot_sync(FULL, width >> bit & 1);
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const bool mine = (lane + 32 * e) >> bit & 1;
                over[e] |= mine ? 0 : same[e] & plane;
                same[e] &= mine ? plane : ~plane;
            }
        }
#pragma unroll
        for (int e = 0; e < EACH; e++) count[e] += SAMPLE * __popc(over[e]);
    }
    // The smallest width that leaves few enough; the widest one if none does, which then never pays.
    const u32 few = __ballot_sync(FULL, lane < T::BITS && count[0] <= MAX_EXCEPTIONS);
    u32 narrowest = few ? __ffs((i32)few) - 1 : T::BITS - 1;
    if (EACH > 1 && !few) {
        const u32 wide = __ballot_sync(FULL, count[EACH - 1] <= MAX_EXCEPTIONS);
        narrowest = wide ? 31 + __ffs((i32)wide) : T::BITS - 1;
    }
    // The complement of the width below the bytes: the least has the fewest bytes and, among these, the largest width.
    u32 rank = SUBCHUNK_VALUES(T) / 8 * full << 8 | (0xff - full);
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const u32 width = lane + 32 * e;
        const u32 bytes = SUBCHUNK_VALUES(T) / 8 * width + exception_bytes(count[e], full - width);
        if (width >= narrowest && width < narrowest + 4 && width < full) rank = min_of(rank, bytes << 8 | (0xff - width));
    }
    return 0xff - (__reduce_min_sync(FULL, rank) & 0xff);
}

template <class T> struct Fit {
    u32 bytes, width, full, count;    // bytes of payload and exceptions; bits in the payload, of the largest code; exceptions
};

// The width of `codes`, with or without exceptions.
template <class T> DEV Fit<T> fit(const typename T::Word (&codes)[T::VALUES], u32 lane) {
    typename T::Word any = 0;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) any |= codes[i];
    const u32 full = width_of(warp_or(any));
    const Fit<T> plain = {SUBCHUNK_VALUES(T) / 8 * full, full, full, 0};
    if (T::BITS == 8) return plain;
    const u32 width = fitting_width<T>(codes, full, lane);
    if (width == full) return plain;
    u32 count = 0;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) count += codes[i] >> width != 0;
    count = __reduce_add_sync(FULL, count);
    const u32 bytes = SUBCHUNK_VALUES(T) / 8 * width + exception_bytes(count, full - width);
    const Fit<T> patched = {bytes, width, full, count};
    return count <= MAX_EXCEPTIONS && bytes < plain.bytes ? patched : plain;
}

// Distance from 0 as a signed number.
template <class T> DEV typename T::Word magnitude(typename T::Word x) { return negative<T>(x) ? wrap<T>((typename T::Word)0 - x) : x; }

// The totals of offset, zigzag, delta and special over the samples: this lane's share, offset and delta in the low halves.
template <class T> DEV void totals(u32 special, u32 lane, const typename T::Word (&x)[T::VALUES], typename T::Word first, typename T::Word least,
                                   u32& offset_zigzag, u32& delta_special) {
    typedef typename T::Word Word;
    offset_zigzag = delta_special = 0;
    // Where a lane has two words, the second one before its last is its neighbour's.
    const Word neighbour = T::VALUES < SAMPLE ? __shfl_up_sync(FULL, x[T::VALUES - 1], 1) : 0;
    if (!Sample<T>::has(lane)) return;
#pragma unroll
    for (int i = 0; i < Sample<T>::COUNT; i++) {
        const int at = Sample<T>::place(i);
        const Word before2 = at >= 2 ? x[at - 2 & T::VALUES - 1] : neighbour;
        const Word d = wrap<T>(x[at] - x[at - 1]);
        const Word other = special == SPECIAL_EXPONENT ? to_exponent_code<T>(x[at]) >> 1 : magnitude<T>(wrap<T>(d - (x[at - 1] - before2)));
        offset_zigzag += width_of(wrap<T>(x[at] - least)) | width_of(magnitude<T>(wrap<T>(x[at] - first))) << 16;
        delta_special += width_of(magnitude<T>(d)) | width_of(other) << 16;
    }
}

// The word before each of this lane's, `first` before the subchunk's first.
template <class T> DEV typename T::Word word_before(const typename T::Word (&x)[T::VALUES], typename T::Word first, u32 lane) {
    const typename T::Word before = __shfl_up_sync(FULL, x[T::VALUES - 1], 1);
    return lane ? before : first;
}

// Differences to the words before; the first of the subchunk is 0.
template <class T> DEV void differences(const typename T::Word (&x)[T::VALUES], typename T::Word first, u32 lane, typename T::Word (&d)[T::VALUES]) {
    d[0] = wrap<T>(x[0] - word_before<T>(x, first, lane));
#pragma unroll
    for (int i = 1; i < T::VALUES; i++) d[i] = wrap<T>(x[i] - x[i - 1]);
}

// The codes of a mode.
template <class T> DEV void codes_of(u32 mode, u32 special, typename T::Word base, u32 lane, const typename T::Word (&x)[T::VALUES],
                                     typename T::Word (&codes)[T::VALUES]) {
    if (mode == MODE_OFFSET) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) codes[i] = wrap<T>(x[i] - base);
    } else if (mode == MODE_ZIGZAG) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) codes[i] = to_zigzag<T>(wrap<T>(x[i] - base));
    } else if (mode == MODE_SPECIAL && special == SPECIAL_EXPONENT) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) codes[i] = to_exponent_code<T>(x[i]);
    } else {
        // The base is the first word, so the first difference is 0, and the first second difference too.
        differences<T>(x, base, lane, codes);
        if (mode == MODE_SPECIAL) {
            typename T::Word slope[T::VALUES];
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) slope[i] = codes[i];
            differences<T>(slope, 0, lane, codes);
        }
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) codes[i] = to_zigzag<T>(codes[i]);
    }
}

// Chooses for the integers in `x` and leaves the codes there.
template <class T> DEV Choice<T> choose_adaptive(u32 special, u32 lane, typename T::Word (&x)[T::VALUES]) {
    typedef typename T::Word Word;
    const Word first = __shfl_sync(FULL, x[0], 0);
    Word low = biased<T>(x[0]), high = low;
#pragma unroll
    for (int i = 1; i < T::VALUES; i++) {
        const Word b = biased<T>(x[i]);
        low = b < low ? b : low;
        high = b > high ? b : high;
    }
    const Word all = ones<T>(T::BITS);
    const Word least = biased<T>(warp_min(low)), most = biased<T>(warp_min((Word)(all - high)) ^ all);
    Choice<T> choice = {MODE_OFFSET, 0, 0, 0, 1, first};
    if (least == most) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) x[i] = 0;
        return choice;
    }
    u32 low_pair, high_pair;
    totals<T>(special, lane, x, first, least, low_pair, high_pair);
    low_pair = __reduce_add_sync(FULL, low_pair);
    high_pair = __reduce_add_sync(FULL, high_pair);
    const u32 offset = low_pair & 0xffff, zigzag = low_pair >> 16, delta = high_pair & 0xffff, other = high_pair >> 16;
    choice.base = least;
    u32 best = offset;
    if (zigzag < best) {
        best = zigzag;
        choice.mode = MODE_ZIGZAG;
    }
    if (delta < best) {
        best = delta;
        choice.mode = MODE_DELTA;
    }
    if (other < best) choice.mode = MODE_SPECIAL;
    if (choice.mode != MODE_OFFSET) choice.base = first;
    if (choice.mode == MODE_SPECIAL && special == SPECIAL_EXPONENT) choice.based = choice.base = 0;
    Word codes[T::VALUES];
    codes_of<T>(choice.mode, special, choice.base, lane, x, codes);
    const Fit<T> f = fit<T>(codes, lane);
    const u32 plain = width_of(wrap<T>(most - least));
    if (choice.mode != MODE_OFFSET && SUBCHUNK_VALUES(T) / 8 * plain <= f.bytes) {
        choice = {MODE_OFFSET, plain, 0, 0, 1, least};
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) x[i] = wrap<T>(x[i] - least);
        return choice;
    }
    choice.width = f.width;
    choice.count = f.count;
    choice.high = f.full - f.width;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) x[i] = codes[i];
    return choice;
}

// The paper's transform alone.
template <class T> DEV Choice<T> choose_fast(bool quantized, u32 special, typename T::Word (&x)[T::VALUES]) {
    typedef typename T::Word Word;
    Choice<T> choice = {MODE_OFFSET, 0, 0, 0, 0, 0};
    if (quantized) {
        choice.mode = MODE_ZIGZAG;
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) x[i] = to_zigzag<T>(x[i]);
    } else if (special == SPECIAL_EXPONENT) {
        choice.mode = MODE_SPECIAL;
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) x[i] = to_exponent_code<T>(x[i]);
    } else {
        Word low = biased<T>(x[0]);
#pragma unroll
        for (int i = 1; i < T::VALUES; i++) low = biased<T>(x[i]) < low ? biased<T>(x[i]) : low;
        choice.base = biased<T>(warp_min(low));
        choice.based = 1;
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) x[i] = wrap<T>(x[i] - choice.base);
    }
    Word any = 0;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) any |= x[i];
    choice.width = width_of(warp_or(any));
    return choice;
}
