// Chunks of elements' bits in streams of bins: which may take fewer bytes than their bins, by the rules of
// may_be_smaller in src/codec/sleek/encode.rs. Of most chunks the first subchunk says that they do not; of the others
// a block looks at all words, and where these do not say so either it tries both.
#pragma once
#include "compress.cuh"

// What a block tries at a chunk: what the plan says, which is kept where nothing else can take less; elements' bits,
// where these may; what the plan says again, where they do not.
enum Attempt { BY_PLAN, KEPT, BY_BITS, BY_PLAN_AGAIN };

// What the warps of a block say of a chunk's words.
template <class T> struct WordSurvey {
    typename T::Word any[COMPRESS_WARPS];    // their OR
    u32 exponent[COMPRESS_WARPS];            // the largest
    u32 first;                               // that of the first subchunk
    u32 ramp;                                // whether that has words all as far from each other
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
// The exponent of the distance of neighbouring numbers.
template <class T> DEV i32 spacing(u32 exponent) { return (i32)(exponent ? exponent : 1) - T::BIAS - T::MANTISSA; }

// Whether the words of the first subchunk leave it open that bits take less. For a whole warp.
template <class T> DEV bool is_candidate(uint4 q, i32 step_j) {
    typename T::Word v[T::VALUES], any = 0;
    split(q, v);
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) any |= v[i];
    const bool odd = __any_sync(FULL, (u32)any & 1);
    return !odd || spacing<T>(exponent_of<T>(v)) >= step_j + 2;
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
#pragma unroll 1
    for (u32 k = 0; uniform(k) < SUBCHUNKS_A_WARP; k++) {
        typename T::Word v[T::VALUES];
        split(words(k), v);
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) any |= v[i];
        const u32 exponent = exponent_of<T>(v);
        most = exponent > most ? exponent : most;
        if (uniform(warp == 0 && k == 0)) {
            const bool ramp = is_ramp<T>(v, lane);
            if (lane == 0) {
                survey.first = exponent;
                survey.ramp = ramp;
            }
        }
    }
    any = warp_or(any);
    if (lane == 0) {
        survey.any[warp] = any;
        survey.exponent[warp] = most;
    }
    __syncthreads();
    for (u32 w = 0; w < COMPRESS_WARPS; w++) {
        any |= survey.any[w];
        most = survey.exponent[w] > most ? survey.exponent[w] : most;
    }
    const u32 zeros = any ? top_bit(any & ((typename T::Word)0 - any)) : 0;
    const bool certain = spacing<T>(survey.first) >= step_j + 2, even = any != 0 && zeros > 0;
    const bool may = certain || (even && (survey.ramp || spacing<T>(most) + (i32)zeros >= step_j));
    __syncthreads();
    return may;
}
