// Twin: src/codec/predict/body/lossless/encode.rs
// The form that a tile takes, by what its codes are going to cost.
#pragma once
#include "forms.cuh"

namespace predict {

// Words, from which the base is taken, by their differences along the axes of a choice, or with a slope.
template <class T>
DEV Choice<typename T::Word> Forms<T>::differences(const Choice<Word>& choice, const Rise<Word>& rise, u32 low) {
    const Word* const w = words();
    __syncthreads();
    if (rise.there) {
#pragma unroll 1
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) codes()[i] = code_with(rise, i);
        __syncthreads();
        return sloped(choice, rise, {n, 1}, rise.low);
    }
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x)
        codes()[i] = code_of(extended<T>(lorenzo<Word>(d.box, choice.set, i, [=](u32 k) { return w[k]; })));
    __syncthreads();
    return tokens(choice, {n, 1}, low);
}

// The choice that is less, of the two; the codes at hand and their table are kept if it is the other one.
template <class T> DEV void Forms<T>::keep_if_less(Choice<Word>& least, const Choice<Word>& choice) {
    if (!(choice.cost < least.cost)) return;
    least = choice;
    __syncthreads();
#pragma unroll 8
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) best()[i] = codes()[i];
    for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) d.kept_table()[s] = f.own[s];
    __syncthreads();
}

// Words as they are, as codes. Barriers before and behind.
template <class T> DEV void Forms<T>::take_words(Word base) {
    __syncthreads();
#pragma unroll 4
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) codes()[i] = extended<T>(words()[i] + base);
    __syncthreads();
}

// Tries a plain form.
template <class T> SELDOM void Forms<T>::try_plain(const Known& known, u32 form, u32 low, Choice<Word>& least) {
    const Word* const elements = d.elements();
    Choice<Word> choice = known.plain;
    if (form == FORM_AXES) {
        choice.set = known.set;
        choice = differences(choice, known.rise, low);
    } else if (form == FORM_NUMBERS) {
        take_words(known.plain.base);
        choice.base = 0;
        if (!numbers(choice, {n, 1})) return;
    } else if (form == FORM_SYMBOLS) {
        take_words(known.plain.base);
        choice = symbols(known.plain.form, {n, 1}, true);
    } else {
        __syncthreads();
        for (u32 i = threadIdx.x; i < n; i += blockDim.x)
            codes()[i] = magnitude_word(elements[i], known.magnitudes & 63);
        choice = symbols(known.magnitudes, {n, 1}, false);
    }
    keep_if_less(least, choice);
}

// What words cost as symbols, by samples. Codes without low bits take them where any other element has their
// symbol.
template <class T>
template <class Of>
DEV u64 Forms<T>::look_at_symbols(u32 form, const Share_of& part, bool is_signed, Of word) {
    const Word sign = is_signed ? (Word)1 << (T::BITS - 1) : 0;
    take_sample(word);
    const Choice<Word> choice = symbols(form, part, is_signed);
    if (!choice.bare_codes) return choice.cost;
    const u32 bits = choice.low;
    const Word symbol = ((choice.base ^ sign) >> bits) + choice.bare, bare = symbol << bits;
    u32 low = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        const Word code = wrap<T>(word(i)) ^ sign;
        low |= code >> bits == symbol && code != bare;
    }
    const u64 more = part.share * BIT * choice.bare_codes * bits;
    return choice.cost + (block_or(low, d.part) ? more : 0);
}

// What the plain forms cost, by samples, and the low bits of differences.
template <class T> SELDOM u32 Forms<T>::look(const Known& known, u64 (&costs)[PLAIN_FORMS]) {
    const Word* const elements = d.elements();
    const Word* const w = words();
    const Places box = d.box;
    const u32 set = known.set, turned = known.magnitudes & 63;
    const Word base = known.plain.base;
    Share_of part = {0, sample_share()};
    part.n = take_sample(
        [=](u32 i) { return code_of(extended<T>(lorenzo<Word>(box, set, i, [=](u32 k) { return w[k]; }))); });
    const Choice<Word> along = tokens(known.plain, part, OPEN);
    costs[FORM_AXES] = along.cost;
    take_sample([=](u32 i) { return extended<T>(w[i] + base); });
    Choice<Word> as_numbers = known.plain;
    costs[FORM_NUMBERS] = numbers(as_numbers, part) ? as_numbers.cost : ~0ull;
    costs[FORM_SYMBOLS] =
        look_at_symbols(known.plain.form, part, true, [=](u32 i) { return extended<T>(w[i] + base); });
    costs[FORM_MAGNITUDES] = ~0ull;
    if (d.head.is_float)
        costs[FORM_MAGNITUDES] =
            look_at_symbols(known.magnitudes, part, false, [=](u32 i) { return magnitude_word(elements[i], turned); });
    return along.form >> 10 & 1 ? along.low : 0;
}

// Chooses; codes and table of the choice are kept.
template <class T> SELDOM Choice<typename T::Word> Forms<T>::choose() {
    const Word* const elements = d.elements();
    Word any = 0;
#pragma unroll 8
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) any |= elements[i];
    any = block_or(any, d.part);
    const u32 shift = zeros_below(any);
    Known known = {};
    known.magnitudes = zeros_below(rotated<T>(any)) | MAGNITUDES << 6;
    known.plain.form = shift;
    known.plain.base = ordered(d, elements[0], shift);
#pragma unroll 4
    for (u32 i = threadIdx.x; i < n; i += blockDim.x)
        words()[i] = extended<T>(ordered(d, elements[i], shift) - known.plain.base);
    __syncthreads();
    known.set = axes();
    Choice<Word> along = known.plain;
    along.set = known.set;
    known.rise = rise(along);
    Choice<Word> least = known.plain;
    least.cost = ~0ull;
    if (sample_share() == 0) {
        for (u32 form = 0; form < (d.head.is_float ? (u32)PLAIN_FORMS : (u32)FORM_MAGNITUDES); form++)
            try_plain(known, form, OPEN, least);
        try_lags(known, least);
        if (HAS_RANKS && make_list()) try_ranks(least);
        const u32 digits = HAS_DECIMALS ? find_digits(false) : ~0u;
        if (HAS_DECIMALS && digits != ~0u) try_decimals(digits, least);
        return least;
    }
    u64 costs[PLAIN_FORMS];
    const u32 low = look(known, costs);
    const bool are_few = HAS_RANKS && may_be_few() && make_list();
    const u32 digits = are_few || !HAS_DECIMALS ? ~0u : find_digits(true);
    const bool has_digits = digits != ~0u, by_lags = !are_few && !has_digits && may_take_lags(known, costs);
    if (known.rise.there) costs[FORM_AXES] = known.rise.cost;
    const u32 forms = tried(costs, !are_few && !has_digits && !by_lags);
    for (u32 form = 0; form < PLAIN_FORMS; form++)
        if (forms >> form & 1) try_plain(known, form, low, least);
    if (HAS_RANKS && are_few) try_ranks(least);
    if (HAS_DECIMALS && has_digits) try_decimals(digits, least);
    if (by_lags) try_lags(known, least);
    return least;
}

}    // namespace predict
