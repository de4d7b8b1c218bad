// Twin: src/codec/sleek/integers.rs
// The modes of a subchunk, docs/reference/codecs/sleek.md §3: words to codes and back.
#pragma once
#include "../common/element.cuh"

// Words to their differences to the words before; `before` is the one before them, and becomes the last of them.
template <class T> DEV void differences(typename T::Word (&x)[T::VALUES], typename T::Word& before) {
    const typename T::Word last = x[T::VALUES - 1];
#pragma unroll
    for (int i = T::VALUES - 1; i > 0; i--) x[i] = wrap<T>(x[i] - x[i - 1]);
    x[0] = wrap<T>(x[0] - before);
    before = last;
}

// What was before some words of a subchunk: the last word, and the last difference.
template <class T> struct Before {
    typename T::Word word, difference;

    // The differences of the first word are 0: `x` begins with it, or ends with the words before.
    DEV void set(const typename T::Word (&x)[T::VALUES], bool is_first) {
        word = is_first ? x[0] : x[T::VALUES - 1];
        difference = is_first ? 0 : wrap<T>(x[T::VALUES - 1] - x[T::VALUES - 2]);
    }
};

// The codes of a mode; of a countdown `base` is the top.
template <class T>
DEV void codes_of(u32 mode, u32 special, typename T::Word base, Before<T>& before, typename T::Word (&x)[T::VALUES]) {
    typedef typename T::Word Word;
    if (mode == SUBMODE_OFFSET) {
        change<T>(x, [&](Word v) { return wrap<T>(v - base); });
    } else if (mode == SUBMODE_ZIGZAG) {
        change<T>(x, [&](Word v) { return to_zigzag<T>(wrap<T>(v - base)); });
    } else if (mode == SUBMODE_SPECIAL && special == SPECIAL_EXPONENT) {
        change<T>(x, [](Word v) { return to_exponent_code<T>(v); });
    } else if (T::EXPONENT > 0 && mode == SUBMODE_SPECIAL && special == SPECIAL_COUNTDOWN) {
        change<T>(x, [&](Word v) { return Countdown<T>::code(v, base); });
    } else {
        differences<T>(x, before.word);
        if (mode == SUBMODE_SPECIAL) differences<T>(x, before.difference);
        change<T>(x, [](Word v) { return to_zigzag<T>(v); });
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

// Codes → words x, docs/reference/codecs/sleek.md §3.
template <class T>
DEV void restore_words(u32 mode, u32 special, typename T::Word base, typename T::Word (&v)[T::VALUES]) {
    typedef typename T::Word Word;
    mode = uniform(mode);
    special = uniform(special);
    const auto add_base = [&](Word x) { return wrap<T>(x + base); };
    if (mode == SUBMODE_OFFSET) return change<T>(v, add_base);
    if (T::EXPONENT > 0 && mode == SUBMODE_SPECIAL && special != SPECIAL_DELTA2) {
        if (special == SPECIAL_EXPONENT) return change<T>(v, [](Word c) { return from_exponent_code<T>(c); });
        const Word top = Countdown<T>::top(base);
        return change<T>(v, [&](Word c) { return Countdown<T>::word(c, top); });
    }
    change<T>(v, [](Word c) { return from_zigzag<T>(c); });
    if (mode == SUBMODE_ZIGZAG) return change<T>(v, add_base);
    if (mode == SUBMODE_SPECIAL) prefix_sum<T>(v, 0);
    prefix_sum<T>(v, base);
}
