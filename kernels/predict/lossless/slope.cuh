// Twin: src/codec/predict/body/lossless/slope.rs
// What is taken from words that grow along a row.
#pragma once
#include "forms.cuh"

namespace predict {

// The least and the greatest, signed, of what `value` says of some numbers. For a whole block.
template <class T> template <class Of> DEV void Forms<T>::ends(u32 from, u32 to, Of value, Word& least, Word& most) {
    const Word sign = (Word)1 << (T::BITS - 1);
    least = ~(Word)0;
    most = 0;
#pragma unroll 1
    for (u32 i = from + threadIdx.x; i < to; i += blockDim.x) {
        const Word v = wrap<T>(value(i)) ^ sign;
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    least = extended<T>(block_min(least, d.part) ^ sign);
    most = extended<T>(block_max(most, d.part) ^ sign);
}

// The bits of what stands as codes, less one of these.
template <class T> DEV u64 Forms<T>::widths(u32 from, u32 to, Word least) {
    u64 bits = 0;
#pragma unroll 1
    for (u32 i = from + threadIdx.x; i < to; i += blockDim.x) {
        const Word v = wrap<T>(codes()[i] - least);
        bits += v ? width_of(v) : 0;
    }
    return block_sum(bits, d.part);
}

// The step from the first word, which is 0, to the last one, rounded.
template <class T> DEV typename T::Word Forms<T>::step_of_row() const {
    const i64 steps = n - 1, last = (i64)(extended_word<T>(words()[n - 1]) + (u64)(steps / 2)), step = last / steps;
    return extended<T>((Word)(step - (last % steps < 0)));
}

// The slope of words that rise along a row, or fall, where samples take less with one.
template <class T> SELDOM Rise<typename T::Word> Forms<T>::rise(const Choice<Word>& choice) {
    const Word* const w = words();
    const Word sign = (Word)1 << (T::BITS - 1);
    Rise<Word> rise = {};
    if (choice.set != 1 || d.box.lx != n || n < SLOPE_FEWEST) return rise;
    const auto along = [=](u32 i) { return extended<T>(i ? w[i] - w[i - 1] : w[i]); };
    Share_of part = {0, sample_share()};
    if (part.share == 0) part.share = 1;
    part.n = take_sample(along);
    const Word* const sample = codes();
    Word least, most, all, unused;
    ends(1, part.n, [=](u32 i) { return sample[i]; }, least, most);
    if ((least ^ most) & sign || (code_of(least) < DIRECT && code_of(most) < DIRECT)) return rise;
    ends(1, n, along, all, unused);
    const Word steps = wrap<T>(least - all) <= wrap<T>(most - least) ? all : least;
    const u64 of_steps = widths(1, part.n, least);
    take_sample([=](u32 i) { return code_of(along(i)); });
    const u64 as_signed = tokens(choice, part, OPEN).cost;
    const Word step = step_of_row();
    const auto beside = [=](u32 i) { return extended<T>(w[i] - step * i); };
    take_sample(beside);
    ends(0, part.n, [=](u32 i) { return sample[i]; }, least, unused);
    rise.is_line = widths(0, part.n, least) < of_steps;
    if (rise.is_line) {
        rise.slope = step;
        ends(0, n, beside, rise.first, unused);
    } else {
        rise.slope = steps;
    }
    take_sample([=](u32 i) { return code_with(rise, i); });
    const Choice<Word> with = sloped(choice, rise, part, OPEN);
    rise.there = with.cost + with.cost / SLOPE_WORTH < as_signed;
    rise.low = with.form >> 10 & 1 ? with.low : 0;
    rise.cost = with.cost;
    return rise;
}

// The code of a word of a row with a slope.
template <class T> DEV typename T::Word Forms<T>::code_with(const Rise<Word>& rise, u32 i) const {
    const Word* const w = words();
    return wrap<T>(rise.is_line ? w[i] - rise.slope * i - rise.first : i ? w[i] - w[i - 1] - rise.slope : w[i]);
}

// What such codes cost as tokens.
template <class T>
SELDOM Choice<typename T::Word> Forms<T>::sloped(Choice<Word> choice, const Rise<Word>& rise, const Share_of& part,
                                                 u32 low) {
    const u64 slope = extended_word<T>(rise.slope);
    const u32 length = (slope + (1ull << 15)) >> 16 == 0 ? 1 : (slope + (1ull << 31)) >> 32 == 0 ? 2 : 3;
    choice.form |= length << 11;
    choice.set = !rise.is_line;
    choice.base += rise.first;
    choice.slope = rise.slope;
    choice = tokens(choice, part, low);
    choice.cost += BIT * (u64)(8u << length);
    return choice;
}

}    // namespace predict
