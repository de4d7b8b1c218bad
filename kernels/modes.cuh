// The modes of a subchunk, docs/format.md §3.2: words to codes and back.
#pragma once
#include "element.cuh"

// Differences to the words before; the first of the subchunk is 0.
template <class T> DEV void differences(const typename T::Word (&x)[T::VALUES], u32 lane, typename T::Word (&d)[T::VALUES]) {
    const typename T::Word before = __shfl_up_sync(FULL, x[T::VALUES - 1], 1);
    d[0] = lane ? wrap<T>(x[0] - before) : 0;
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
        differences<T>(x, lane, codes);
        if (mode == MODE_SPECIAL) {
            typename T::Word slope[T::VALUES];
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) slope[i] = codes[i];
            differences<T>(slope, lane, codes);
        }
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) codes[i] = to_zigzag<T>(codes[i]);
    }
}

// Running sums of a subchunk's words, from `base` on.
template <class T> DEV void prefix_sum(typename T::Word (&v)[T::VALUES], typename T::Word base) {
    typename T::Word all = v[0];
#pragma unroll
    for (int i = 1; i < T::VALUES; i++) all += v[i];
    typename T::Word sum = base + warp_running_sum(all) - all;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) v[i] = wrap<T>(sum += v[i]);
}

// Codes → words x, docs/format.md §3.2.
template <class T> DEV void restore_words(u32 mode, u32 special, typename T::Word base, typename T::Word (&v)[T::VALUES]) {
    mode = uniform(mode);
    special = uniform(special);
    if (mode == MODE_OFFSET) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) v[i] = wrap<T>(v[i] + base);
        return;
    }
    if (mode == MODE_SPECIAL && special == SPECIAL_EXPONENT) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) v[i] = from_exponent_code<T>(v[i]);
        return;
    }
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) v[i] = from_zigzag<T>(v[i]);
    if (mode == MODE_ZIGZAG) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) v[i] = wrap<T>(v[i] + base);
        return;
    }
    if (mode == MODE_SPECIAL) prefix_sum<T>(v, 0);
    prefix_sum<T>(v, base);
}
