// Twin: src/codec/sleek/doubt.rs
// Chunks of elements' bits in streams of bins: which may take fewer bytes than their bins, by the rules of
// may_be_smaller in src/codec/sleek/doubt.rs. Of most chunks samples say that they do not; of few others a block looks
// at all words, and where these say that they may it tries both.
#pragma once
#include "choose.cuh"
#include "compress.cuh"

// What a block tries at a chunk: what the plan says, which is kept where nothing else can take less; elements' bits, or
// these by a countdown alone, where they may; what the plan says again, where they do not.
enum Attempt { BY_PLAN, KEPT, BY_BITS, BY_PLAN_AGAIN };

// The least that a chunk takes that is not constant: bits of one that takes no more by bins do not take less.
enum { LEAST_PACKED_UNITS = CHUNK_HEADER_BYTES / ALIGN + 1 };

// What a sample, the first subchunk of a warp, says: bits take no less; nothing, as its words are all equal; that bits
// may take less where all words of the chunk are even, and as coarse as these are; where all are even; that they may.
enum Sample { NO, EQUAL, IF_COARSE, IF_EVEN, MAY };

// What the warps of a block say of a chunk's words.
template <class T> struct WordSurvey {
    u32 samples;                             // a byte of each warp
    u32 exponent[COMPRESS_WARPS];            // the largest
    typename T::Word any[COMPRESS_WARPS];    // their OR
};

// The largest exponent of a lane's words, and of a subchunk's.
template <class T> DEV u32 own_exponent_of(const typename T::Word (&v)[T::VALUES]) {
    u32 most = 0;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) most = max_of(most, (u32)((v[i] & ones<T>(T::BITS - 1)) >> T::MANTISSA));
    return most;
}
template <class T> DEV u32 exponent_of(const typename T::Word (&v)[T::VALUES]) {
    return __reduce_max_sync(FULL, own_exponent_of<T>(v));
}
#define NO_EXPONENT (~0u)
// The least exponent of what is not 0; NO_EXPONENT where all is.
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

template <class T> DEV typename T::Word any_of(const typename T::Word (&v)[T::VALUES]) {
    typename T::Word any = 0;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) any |= v[i];
    return any;
}

// What a sample says. For a whole warp.
template <class T> DEV u32 sample_of(uint4 q, i32 step_j, u32 lane) {
    typename T::Word v[T::VALUES];
    split(q, v);
    const typename T::Word any = any_of<T>(v);
    const bool odd = __any_sync(FULL, (u32)any & 1), fine = is_fine<T>(least_exponent_of<T>(v), step_j);
    if (uniform(odd && !fine)) return NO;
    const typename T::Word first = __shfl_sync(FULL, v[0], 0);
    bool equal = true;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) equal &= v[i] == first;
    if (uniform(__all_sync(FULL, equal))) return EQUAL;
    if (uniform(fine)) return MAY;
    if (uniform(is_ramp<T>(v, lane))) return IF_EVEN;
    return is_coarse<T>(exponent_of<T>(v), warp_or(any), step_j) ? IF_COARSE : NO;
}
DEV void tell_sample(u32& samples, u32 warp, u32 sample) { ((u8*)&samples)[warp] = (u8)sample; }
// Of the samples the first one decides whose words are not all equal.
DEV u32 decision_of(u32 samples) {
    const u32 others = samples ^ EQUAL * 0x01010101u;
    return others ? ((others >> (__ffs((i32)others) - 1) / 8 * 8) & 255) ^ EQUAL : NO;
}

// Whether elements' bits may take fewer bytes than their bins, where the samples say `decision`; `words` gives those of
// the warp's subchunk k. For a whole block, that has the survey to itself before and after it.
template <class T, class F>
DEV bool may_be_smaller(WordSurvey<T>& survey, u32 decision, const F& words, i32 step_j, u32 warp, u32 lane) {
    if (uniform(decision <= EQUAL || decision == MAY)) return decision == MAY;
    typename T::Word any = 0;
    u32 most = 0;
#pragma unroll 1
    for (u32 k = 0; uniform(k) < SUBCHUNKS_A_WARP; k++) {
        typename T::Word v[T::VALUES];
        split(words(k), v);
        any |= any_of<T>(v);
        most = max_of(most, own_exponent_of<T>(v));
    }
    any = warp_or(any);
    most = __reduce_max_sync(FULL, most);
    if (lane == 0) {
        survey.any[warp] = any;
        survey.exponent[warp] = most;
    }
    __syncthreads();
    for (u32 w = 0; w < COMPRESS_WARPS; w++) {
        any |= survey.any[w];
        most = max_of(most, survey.exponent[w]);
    }
    __syncthreads();
    return !((u32)any & 1) && (decision == IF_EVEN || is_coarse<T>(most, any, step_j));
}
