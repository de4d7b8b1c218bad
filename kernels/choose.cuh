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

template <class T> struct Fit {
    u32 bytes, width, full, count;    // bytes of payload and exceptions; bits in the payload, of the largest code; exceptions
};

// The least bytes that `codes` take, with or without exceptions.
template <class T> DEV Fit<T> fit(const typename T::Word (&codes)[T::VALUES]) {
    typedef typename T::Word Word;
    Word any = 0;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) any |= codes[i];
    const u32 full = width_of(warp_or(any));
    Fit<T> best = {SUBCHUNK_VALUES(T) / 8 * full, full, full, 0};
    if (T::BITS == 8) return best;
    // Only widths that occur among the codes are looked at.
    u32 width = full;
    while (width > 0) {
        const u32 cut = width - 1;
        u32 above = 0;
        Word rest = 0;
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) {
            const bool over = codes[i] >> cut != 0;
            above += over;
            rest |= over ? 0 : codes[i];
        }
        above = __reduce_add_sync(FULL, above);
        if (above > MAX_EXCEPTIONS) break;
        width = width_of(warp_or(rest));
        const u32 bytes = SUBCHUNK_VALUES(T) / 8 * width + exception_bytes(above, full - width);
        if (bytes < best.bytes) {
            best.bytes = bytes;
            best.width = width;
            best.count = above;
        }
    }
    return best;
}

// Σ of the codes' own widths: a measure that a few large codes do not move. This lane's share.
template <class T> DEV u32 total_width(const typename T::Word (&codes)[T::VALUES]) {
    u32 sum = 0;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) sum += width_of(codes[i]);
    return sum;
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

// The codes of a mode; `slope` holds the differences.
template <class T> DEV void codes_of(u32 mode, u32 special, typename T::Word base, u32 lane, const typename T::Word (&x)[T::VALUES],
                                     const typename T::Word (&slope)[T::VALUES], typename T::Word (&codes)[T::VALUES]) {
    if (mode == MODE_OFFSET) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) codes[i] = wrap<T>(x[i] - base);
    } else if (mode == MODE_ZIGZAG) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) codes[i] = to_zigzag<T>(wrap<T>(x[i] - base));
    } else if (mode == MODE_DELTA) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) codes[i] = to_zigzag<T>(slope[i]);
    } else if (special == SPECIAL_EXPONENT) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) codes[i] = to_exponent_code<T>(x[i]);
    } else {
        differences<T>(slope, 0, lane, codes);
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
    Word slope[T::VALUES], codes[T::VALUES];
    differences<T>(x, first, lane, slope);
    u32 total[4];
#pragma unroll
    for (u32 mode = 0; mode < 4; mode++) {
        codes_of<T>(mode, special, mode == MODE_OFFSET ? least : first, lane, x, slope, codes);
        total[mode] = total_width<T>(codes);
    }
    // At most 4096 each: two to a reduction.
    const u32 low_pair = __reduce_add_sync(FULL, total[0] | total[1] << 16), high_pair = __reduce_add_sync(FULL, total[2] | total[3] << 16);
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
    if (other < best && (special == SPECIAL_EXPONENT || delta < offset)) choice.mode = MODE_SPECIAL;
    if (choice.mode != MODE_OFFSET) choice.base = first;
    if (choice.mode == MODE_SPECIAL && special == SPECIAL_EXPONENT) choice.based = choice.base = 0;
    codes_of<T>(choice.mode, special, choice.base, lane, x, slope, codes);
    const Fit<T> f = fit<T>(codes);
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
