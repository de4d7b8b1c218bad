// Words that are near those at a distance, which each segment names: codec/predict/predict/lags.rs in CUDA.
#pragma once
#include "forms.cuh"

namespace predict {

template <class T> DEV u32 Forms<T>::hash(const Word* w, u32 i, u32 n) {
    enum : u32 { MOST_LEADING = 22, LEADING = T::BITS == 64 ? MOST_LEADING : 12 };
    const Word next = w[min_of(i + 1, n - 1)];
    const u64 both = (u64)(w[i] >> (T::BITS - LEADING)) << MOST_LEADING | (u64)(next >> (T::BITS - LEADING));
    return (u32)((both * KEY64) >> 52);
}

// Bits that the differences of a segment take. For a whole warp.
template <class T> DEV u32 Forms<T>::bits_of_lag(const Word* w, u32 from, u32 to, u32 lag) {
    const u32 i = from + (threadIdx.x & 31);
    u32 bits = 0;
    if (i < to) {
        const Word d = w[i] - (lag == 0 || lag > i ? 0 : w[i - lag]);
        bits = d ? width_of(magnitude_of(d)) : 0;
    }
    return __reduce_add_sync(FULL, bits);
}

// Goes through the segments: shows each, and the distances at which the like of its words has been. For a whole
// warp.
template <class T> template <class Show> DEV void Forms<T>::each_segment(Show show) {
    const u32 lane = threadIdx.x & 31;
    const Word* const w = words();
    for (u32 i = lane; i < HASHES; i += 32) f.seen[i] = 0;
    __syncwarp();
#pragma unroll 1
    for (u32 from = 0; uniform(from < n); from += SEGMENT) {
        const u32 to = min_of(n, from + SEGMENT), i = from + 4 * lane;
        u32 lag = 0;
        if (lane < SEGMENT / 4 && i < to) {
            const u32 at = f.seen[hash(w, i, n)], distance = i + 1 - at;
            if (at && distance >= SEGMENT && distance <= from) lag = distance;
        }
        show(from, to, lag);
        __syncwarp();
        if (from + lane < to) atomicMax(f.seen + hash(w, from + lane, n), from + lane + 1);
        __syncwarp();
    }
}

// Whether distances may cost less than the least plain form, by the bits of some segments beside those of
// differences along a set of axes, which cost so much. For a whole warp.
template <class T> DEV bool Forms<T>::lags_may_pay(u32 set, u64 of_axes, u64 least) {
    const u32 lane = threadIdx.x & 31;
    const Word* const w = words();
    for (u32 i = lane; i < HASHES; i += 32) f.seen[i] = 0;
    __syncwarp();
    u32 along = 0, far = 0, last = 1;
#pragma unroll 1
    for (u32 from = 0; uniform(from + SEGMENT <= n); from += SEGMENT) {
        const u32 to = from + SEGMENT;
        if (uniform(from / SEGMENT % ASKED == ASKED - 1)) {
            u32 bits = 0, lag = 0;
            if (lane < SEGMENT) {
                const Word one = lorenzo<Word>(d.box, set, from + lane, [=](u32 k) { return w[k]; });
                bits = one ? width_of(magnitude_of(one)) : 0;
            }
            along += __reduce_add_sync(FULL, bits);
            if (lane < SEGMENT / 2) {
                const u32 i = from + lane + (lane & 4), at = f.seen[hash(w, i, n)], distance = i + 1 - at;
                if (at && distance >= SEGMENT && distance <= from) lag = distance;
            }
            u32 best = last, cost = bits_of_lag(w, from, to, last);
            const auto consider = [&](u32 other) {
                const u32 of_other = bits_of_lag(w, from, to, other) + (other == last ? 0 : (u32)ASKED_CHANGE);
                if (of_other < cost || (of_other == cost && other < best)) {
                    cost = of_other;
                    best = other;
                }
            };
            consider(0);
            consider(1);
            for (u32 k = 0; k < SEGMENT / 2; k++) {
                const u32 one = __shfl_sync(FULL, lag, k);
                if (uniform(one)) consider(one);
            }
            far += cost;
            last = best;
        }
        if (lane < SEGMENT / ENTERED) {
            const u32 i = from + ENTERED * lane;
            atomicMax(f.seen + hash(w, i, n), i + 1);
        }
        __syncwarp();
    }
    return far * of_axes < along * least;
}

// Chooses distances; whether any is worth more than the word before. For a whole warp.
template <class T> DEV bool Forms<T>::choose_lags() {
    const u32 lane = threadIdx.x & 31;
    const Word* const w = words();
    u32 last = 1;
    bool any = false;
    each_segment([&](u32 from, u32 to, u32 lag) {
        u32 bits = bits_of_lag(w, from, to, last), best = last;
        const auto consider = [&](u32 other) {
            const u32 cost = bits_of_lag(w, from, to, other) + CHANGE_COST;
            if (cost < bits || (cost == bits && other < best)) {
                bits = cost;
                best = other;
            }
        };
        if (uniform(last != 1)) consider(1);
        if (uniform(last != 0)) consider(0);
        for (u32 k = 0; k < SEGMENT / 4; k++) {
            const u32 one = __shfl_sync(FULL, lag, k);
            if (uniform(one && one != best && one != last)) consider(one);
        }
        last = best;
        any |= last > 1;
        if (lane == 0) d.lags()[from / SEGMENT] = (u16)last;
    });
    return any;
}

template <class T> DEV u32 Forms<T>::changed_lags() const {
    u32 changes = 0;
    for (u32 s = threadIdx.x; s < (n + SEGMENT - 1) / SEGMENT; s += blockDim.x)
        changes += d.lags()[s] != (s ? d.lags()[s - 1] : 1);
    return block_sum(changes, d.part);
}

// The words by their distances from earlier ones; false if that is worth nothing.
template <class T> SELDOM bool Forms<T>::lags(Choice<Word>& choice) {
    __syncthreads();
    if (threadIdx.x < 32) {
        const bool any = choose_lags();
        if (threadIdx.x == 0) d.flag = any;
    }
    __syncthreads();
    const bool any = d.flag;
    __syncthreads();
    if (!any) return false;
    const Word* const w = words();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        const u32 lag = d.lags()[i / SEGMENT];
        codes()[i] = code_of((Word)(w[i] - (lag == 0 || lag > i ? 0 : w[i - lag])));
    }
    __syncthreads();
    choice.form |= BY_LAGS << 8;
    choice = tokens(choice, {n, 1}, OPEN);
    const u32 segments = (n + SEGMENT - 1) / SEGMENT;
    choice.cost += BIT * 16 * (u64)((segments + 15) / 16 + changed_lags());
    return true;
}

template <class T> SELDOM void Forms<T>::try_lags(const Known& known, Choice<Word>& least) {
    Choice<Word> choice = known.plain;
    if (lags(choice)) keep_if_less(least, choice);
}

template <class T> SELDOM bool Forms<T>::may_take_lags(const Known& known, const u64 (&costs)[PLAIN_FORMS]) {
    const u32 set = known.set;
    u64 least = known.rise.there ? min_of(known.rise.cost, costs[0]) : costs[0];
    for (u32 f = 1; f < PLAIN_FORMS; f++) least = min_of(least, costs[f]);
    __syncthreads();
    if (threadIdx.x < 32) {
        const bool may_pay = lags_may_pay(set, costs[FORM_AXES], least);
        if (threadIdx.x == 0) d.flag = may_pay;
    }
    __syncthreads();
    const bool may_pay = d.flag;
    __syncthreads();
    return may_pay;
}

}    // namespace predict
