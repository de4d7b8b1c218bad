// Twin: src/codec/predict/body/lossless/mod.rs
// A tile bit for bit, in the form that takes least.
#pragma once
#include "lossless/bounded.cuh"
#include "lossless/choose.cuh"
#include "lossless/decimals.cuh"
#include "lossless/lags.cuh"
#include "lossless/low.cuh"
#include "lossless/ranks.cuh"
#include "lossless/sample.cuh"
#include "lossless/side.cuh"
#include "lossless/slope.cuh"
#include "lossless/symbols.cuh"
#include "lossless/tables.cuh"
#include "lossless/tokens.cuh"

namespace predict {

// Encodes every bit in the form that takes least; false if it costs more than `most` parts of a bit, or the elements
// themselves take less. For a whole block; a barrier before and behind.
template <class T> SELDOM bool code_exactly(Desk<T>& d, Shelf shelf, Body& body, u64 most) {
    typedef typename T::Word Word;
    u32 differ = 0;
    const Word* const elements = d.elements();
    const Word one = elements[0];
#pragma unroll 8
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) differ |= elements[i] != one;
    if (!block_or(differ, d.part)) {
        if (threadIdx.x == 0) {
            body.kind = KIND_CONSTANT;
            body.bytes = T::BITS == 64 ? 8 : 4;
            body.constant = d.elements()[0];
        }
        __syncthreads();
        return true;
    }
    Forms<T> forms(d, shelf);
    const Choice<Word> choice = forms.choose();
    if (choice.cost > min_of(most, (u64)BIT * d.n * T::BITS)) return false;
    __syncthreads();
    const u32 side = forms.write_side(choice);
    Bench_of_coder& b = forms.b;
    for (u32 i = threadIdx.x; i < ALL_SYMBOLS; i += blockDim.x) b.symbols[i] = d.symbols()[i];
    if (choice.own_table)
        for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) {
            b.frequency[s] = d.kept_table()[s];
            b.cost[s] = cost_of(b.frequency[s]);
        }
    const Word* const codes = d.best();
    const u32 prediction = choice.form >> 8 & 3, of = !choice.own_table          ? NO_TABLE
                                                      : prediction == BY_SYMBOLS ? OF_ALL
                                                      : choice.form >> 10 & 1    ? OF_EVERY
                                                                                 : OF_CHEAPER;
    choose_classes(b, of, codes, d.n);
    if (threadIdx.x < 32) {
        const u32 lane = threadIdx.x, halves = Desk<T>::STREAM_HALVES;
        u16* const stream = d.stream((u32)(&body - d.body));
        if (choice.own_table) make_own_symbols(b);
        list_groups(b, d.n, choice.own_table, [&](u32 g) { return (u32)b.own_group[g]; });
        Writer w;
        w.begin(stream, halves, lane);
        encode_listed(b, codes, d.n, of == OF_ALL, w);
        u32 longest, is_masked;
        const u32 state_halves = write_states(w.x, body.states, longest, is_masked);
        if (lane == 0) {
            const Said said = {choice.set,       0,           d.head.step_w ? (u32)EXACT : (u32)PLAIN,
                               choice.own_table, choice.form, extended_word<T>(choice.base)};
            make_body(body, said, 0, w.change, longest, is_masked, {nullptr, 0}, {(const u16*)d.side(), side / 2},
                      state_halves, {stream + w.at, halves - w.at});
        }
    }
    __syncthreads();
    return true;
}

}    // namespace predict
