// Chunks of elements' bits in streams of bins: which may take fewer bytes than their bins, by the rules of
// may_be_smaller in src/codec/sleek/encode.rs. Of most chunks the first subchunk says that they do not; of the others
// a block looks at all words, and where these say that they may it tries both.
#pragma once
#include "compress.cuh"

// What a block tries at a chunk: what the plan says, which is kept where nothing else can take less; elements' bits,
// where these may; what the plan says again, where they do not.
enum Attempt { BY_PLAN, KEPT, BY_BITS, BY_PLAN_AGAIN };

// What the first subchunk of a warp says that is not all zeros.
template <class T> struct FirstWords {
    typename T::Word any;    // the OR of its words; 0 where a warp has none but zeros
    u32 least, most;         // exponents: the least of what is not 0, NO_EXPONENT where all is; the largest
    u32 ramp;                // whether its words are all as far from each other
};
#define NO_EXPONENT (~0u)

// What the warps of a block say of a chunk's words.
template <class T> struct WordSurvey {
    typename T::Word any[COMPRESS_WARPS];    // their OR
    u32 exponent[COMPRESS_WARPS];            // the largest
    FirstWords<T> first[COMPRESS_WARPS];
};

template <class T> DEV u32 exponent_of(const typename T::Word (&v)[T::VALUES]) {
    u32 most = 0;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) {
        const u32 exponent = (u32)((v[i] & ones<T>(T::BITS - 1)) >> T::MANTISSA);
        most = exponent > most ? exponent : most;
    }
    return __reduce_max_sync(FULL, most);
}
// The least exponent of what is not 0.
template <class T> DEV u32 least_exponent_of(const typename T::Word (&v)[T::VALUES]) {
    u32 least = NO_EXPONENT;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) {
        const typename T::Word magnitude = v[i] & ones<T>(T::BITS - 1);
        const u32 exponent = magnitude ? (u32)(magnitude >> T::MANTISSA) : NO_EXPONENT;
        least = exponent < least ? exponent : least;
    }
    return __reduce_min_sync(FULL, least);
}
// The exponent of the distance of neighbouring numbers.
template <class T> DEV i32 spacing(u32 exponent) { return (i32)(exponent ? exponent : 1) - T::BIAS - T::MANTISSA; }

// Whether neighbours of the least number, but 0, lie no closer than a step.
template <class T> DEV bool is_fine(u32 least, i32 step_j) {
    return least != NO_EXPONENT && spacing<T>(least) >= step_j + 2;
}
// Whether words that have `any` bits, as multiples of what all of them have, lie no closer than a quarter of a step.
template <class T> DEV bool is_coarse(u32 most, typename T::Word any, i32 step_j) {
    return spacing<T>(most) + (i32)top_bit(any & ((typename T::Word)0 - any)) >= step_j;
}

// Whether the words of the first subchunk leave it open that bits take less. For a whole warp.
template <class T> DEV bool is_candidate(uint4 q, i32 step_j) {
    typename T::Word v[T::VALUES], any = 0;
    split(q, v);
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) any |= v[i];
    const bool odd = __any_sync(FULL, (u32)any & 1);
    return !odd || is_fine<T>(least_exponent_of<T>(v), step_j);
}

// Whether the words of a subchunk are all as far from each other. For a whole warp.
template <class T> DEV bool is_ramp(const typename T::Word (&v)[T::VALUES], u32 lane) {
    const typename T::Word step = wrap<T>(v[1] - v[0]),
                           before = __shfl_sync(FULL, v[T::VALUES - 1], lane ? lane - 1 : 0);
    const typename T::Word all = __shfl_sync(FULL, step, 0);
    bool ramp = lane == 0 || wrap<T>(v[0] - before) == all;
#pragma unroll
    for (int i = 1; i < T::VALUES; i++) ramp &= wrap<T>(v[i] - v[i - 1]) == all;
    return __all_sync(FULL, ramp);
}

// Whether elements' bits may take fewer bytes than their bins; `words` gives those of the warp's subchunk k. For a
// whole block, that has the survey to itself before and after it.
template <class T, class F>
DEV bool may_be_smaller(WordSurvey<T>& survey, const F& words, i32 step_j, u32 warp, u32 lane) {
    typename T::Word any = 0;
    u32 most = 0;
    if (lane == 0) survey.first[warp] = {0, NO_EXPONENT, 0, 0};
#pragma unroll 1
    for (u32 k = 0; uniform(k) < SUBCHUNKS_A_WARP; k++) {
        typename T::Word v[T::VALUES], own = 0;
        split(words(k), v);
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) own |= v[i];
        own = warp_or(own);
        const u32 exponent = exponent_of<T>(v);
        if (uniform(any == 0 && own != 0)) {
            const u32 least = least_exponent_of<T>(v);
            const bool ramp = is_ramp<T>(v, lane);
            if (lane == 0) survey.first[warp] = {own, least, exponent, ramp};
        }
        any |= own;
        most = exponent > most ? exponent : most;
    }
    if (lane == 0) {
        survey.any[warp] = any;
        survey.exponent[warp] = most;
    }
    __syncthreads();
    u32 of = COMPRESS_WARPS - 1;
    for (u32 w = COMPRESS_WARPS; w-- > 0;) {
        any |= survey.any[w];
        most = survey.exponent[w] > most ? survey.exponent[w] : most;
        if (survey.any[w] != 0) of = w;
    }
    const FirstWords<T> first = survey.first[of];
    const bool worth = first.ramp || is_coarse<T>(first.most, first.any, step_j);
    const bool even = !((u32)any & 1) && (first.ramp || is_coarse<T>(most, any, step_j));
    const bool may = any != 0 && (is_fine<T>(first.least, step_j) || (worth && even));
    __syncthreads();
    return may;
}
