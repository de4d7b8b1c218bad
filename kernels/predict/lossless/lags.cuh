// Twin: src/codec/predict/predict/lags.rs
// Words that are near those at a distance, which each segment names.
//
// What is chosen depends on the segments before in two ways: where the like of a word has been, and which distance was
// chosen last. So all threads find distances and what they cost, and a warp chooses by these.
#pragma once
#include "forms.cuh"

namespace predict {

// The leading bits of two words, so few that words which are near each other share them.
template <class T> DEV u32 Forms<T>::hash(Word word, Word next) {
    enum : u32 { LEADING = T::BITS == 64 ? MOST_LEADING : T::BITS == 32 ? 12 : T::BITS < 10 ? T::BITS : 10 };
    enum : u32 { OTHERS = T::BITS - LEADING };
    const u64 both = (u64)(wrap<T>(word) >> OTHERS) << MOST_LEADING | (u64)(wrap<T>(next) >> OTHERS);
    return (u32)((both * KEY64) >> 52);
}
template <class T> DEV u32 Forms<T>::hash(u32 i) const {
    const Word* const w = words();
    return hash(w[i], w[min_of(i + 1, n - 1)]);
}

// Bits of a word less the one so far before.
template <class T> DEV u32 Forms<T>::bits_at(u32 i, u32 lag) const {
    const Word* const w = words();
    const Word one = extended<T>(w[i] - (lag == 0 || lag > i ? 0 : w[i - lag]));
    return one ? width_of(magnitude_of(one)) : 0;
}
// What the lanes of each half of a warp have together, as all of that half find. For a whole warp.
DEV u32 sum_of_half(u32 bits) {
    const u32 half = threadIdx.x & 16;
    return __reduce_add_sync(FULL, bits << half) >> half & 0xffff;
}
// The distance of word i from the like of it at number `at` less 1, if the segment from `from` on may have it; else 0.
DEV u32 distance_from(u32 i, u32 from, u32 at) {
    const u32 distance = i + 1 - at;
    return at && distance >= SEGMENT && distance <= from ? distance : 0;
}

// Enters where some words are, those before the asked segments' ends, and notes distances for these. For a whole warp.
template <class T> DEV void Forms<T>::ask(u32 asked) {
    const u32 lane = threadIdx.x & 31;
#pragma unroll 1
    for (u32 a = 0; uniform(a < asked); a++) {
        const auto enter = [&](u32 k) {
            const u32 number = a * ENTERED_OF_ASKED + k;
            atomicMax(f.lags.seen + f.lags.entered[number], ENTERED * number + 1);
        };
        const u32 last = ENTERED_OF_ASKED - SEGMENT / ENTERED;    // of what is entered before the segment is asked
        enter(lane);
        if (lane + 32 < last) enter(lane + 32);
        __syncwarp();
        if (lane < ASKED_WORDS) {
            const u32 from = ((a + 1) * ASKED - 1) * SEGMENT, i = from + lane + (lane & 4);
            f.lags.distances[a * ASKED_WORDS + lane] =
                (u16)distance_from(i, from, f.lags.seen[f.lags.probed[a * ASKED_WORDS + lane]]);
        }
        __syncwarp();
        if (lane < SEGMENT / ENTERED) enter(last + lane);
        __syncwarp();
    }
}
// Bits that the asked segments take with the distance that is least for each. For a whole warp.
template <class T> DEV u32 Forms<T>::bits_of_asked(u32 asked) {
    const u32 lane = threadIdx.x & 31;
    u32 far = 0, last = 1;
#pragma unroll 1
    for (u32 a = 0; uniform(a < asked); a++) {
        const u32 from = ((a + 1) * ASKED - 1) * SEGMENT;
        u32 key = __reduce_add_sync(FULL, lane < SEGMENT ? bits_at(from + lane, last) : 0) << 16 | last;
        if (lane < ASKED_WORDS + 2) {
            const u32 lag = lane < ASKED_WORDS ? f.lags.distances[a * ASKED_WORDS + lane] : lane - ASKED_WORDS,
                      own = (u32)f.lags.bits[a][lane] + (lag == last ? 0 : (u32)ASKED_CHANGE);
            key = min_of(key, own << 16 | lag);
        }
        key = __reduce_min_sync(FULL, key);
        far += key >> 16;
        last = key & 0xffff;
    }
    return far;
}
// Whether distances may cost less than the least plain form, by the bits of some segments beside those of differences
// along a set of axes, which cost so much. For a whole block; a barrier before and behind.
template <class T> SELDOM bool Forms<T>::lags_may_pay(u32 set, u64 of_axes, u64 least) {
    const Word* const w = words();
    const u32 lane = threadIdx.x & 31, asked = n / (ASKED * SEGMENT);
    for (u32 i = threadIdx.x; i < HASHES; i += blockDim.x) f.lags.seen[i] = 0;
#pragma unroll 2
    for (u32 k = threadIdx.x; k < asked * ENTERED_OF_ASKED; k += blockDim.x) f.lags.entered[k] = (u16)hash(ENTERED * k);
#pragma unroll 1
    for (u32 k = threadIdx.x; k < asked * ASKED_WORDS; k += blockDim.x) {
        const u32 probe = k % ASKED_WORDS;
        f.lags.probed[k] = (u16)hash(((k / ASKED_WORDS + 1) * ASKED - 1) * SEGMENT + probe + (probe & 4));
    }
    __syncthreads();
    if (threadIdx.x < 32) ask(asked);
    __syncthreads();
    u32 along = 0;
    // A segment for each half of a warp.
#pragma unroll 1
    for (u32 first = threadIdx.x / 32 * 2; uniform(first < asked); first += blockDim.x / 32 * 2) {
        const u32 a = first + lane / SEGMENT;
        const bool has = a < asked;
        const u32 i = ((has ? a + 1 : 1) * ASKED - 1) * SEGMENT + lane % SEGMENT;
        const Word one = extended<T>(lorenzo<Word>(d.box, set, i, [=](u32 k) { return w[k]; }));
        along += has && one ? width_of(magnitude_of(one)) : 0;
        u32 own = 0;
#pragma unroll
        for (u32 k = 0; k < ASKED_WORDS + 2; k++) {
            const u32 lag = k < ASKED_WORDS ? has ? f.lags.distances[a * ASKED_WORDS + k] : 0 : k - ASKED_WORDS,
                      bits = sum_of_half(bits_at(i, lag));
            if (lane % SEGMENT == k) own = bits;
        }
        if (has && lane % SEGMENT < ASKED_WORDS + 2) f.lags.bits[a][lane % SEGMENT] = (u16)own;
    }
    along = block_sum(along, d.part);
    if (threadIdx.x < 32) {
        const u32 far = bits_of_asked(asked);
        if (threadIdx.x == 0) d.flag = far * of_axes < along * least;
    }
    __syncthreads();
    const bool may_pay = d.flag;
    __syncthreads();
    return may_pay;
}

// Notes of every fourth word the distance at which the like of it has been. For a whole block, with a barrier before
// and behind.
template <class T> DEV void Forms<T>::find_distances(u16* distances) {
    const Word* const w = words();
    const u32 t = threadIdx.x, probe = t / PROBED_EVERY * PROBED_EVERY, segment = probe / SEGMENT * SEGMENT;
    for (u32 i = t; i < HASHES; i += blockDim.x) f.lags.seen[i] = 0;
    // Words are asked for before those of the round before are looked at.
    Word own_word = w[min_of(t, n - 1)], next_word = w[min_of(t + 1, n - 1)];
#pragma unroll 1
    for (u32 first = 0; first < n; first += blockDim.x) {
        const u32 i = first + t, later = i + blockDim.x;
        f.lags.hashes[t] = i < n ? hash(own_word, next_word) : (u32)HASHES;
        own_word = w[min_of(later, n - 1)];
        next_word = w[min_of(later + 1, n - 1)];
        __syncthreads();
        // Four threads look for the like of one word among those that have not been entered yet.
        const u32 own = f.lags.hashes[probe];
        u32 at = 0;
#pragma unroll 1
        for (u32 k = segment + t % PROBED_EVERY; k >= PROBED_EVERY && !at; k -= PROBED_EVERY)
            if (f.lags.hashes[k - PROBED_EVERY] == own) at = first + k - PROBED_EVERY + 1;
        __syncwarp();
#pragma unroll
        for (u32 other = 1; other < PROBED_EVERY; other *= 2) {
            const u32 theirs = __shfl_xor_sync(FULL, at, other);
            at = theirs > at ? theirs : at;
        }
        if (t == probe && i < n)
            distances[i / PROBED_EVERY] = (u16)distance_from(i, first + segment, at ? at : f.lags.seen[own]);
        __syncthreads();
        if (i < n) atomicMax(f.lags.seen + f.lags.hashes[t], i + 1);
    }
    __syncthreads();
}
// What segments take with distances 0 and 1, and what the least one of these and of the distances that were found takes
// as another one than that before. For a whole block.
template <class T> DEV void Forms<T>::cost_distances(const u16* distances) {
    const u32 lane = threadIdx.x & 31, segments = (n + SEGMENT - 1) / SEGMENT;
    // A segment for each half of a warp.
#pragma unroll 1
    for (u32 first = threadIdx.x / 32 * 2; uniform(first < segments); first += blockDim.x / 32 * 2) {
        const u32 s = first + lane / SEGMENT, i = s * SEGMENT + lane % SEGMENT;
        const bool has = i < n;
        u32 least = ~0u;
#pragma unroll
        for (u32 k = 0; k < SEGMENT / PROBED_EVERY + 2; k++) {
            const u32 word = s * SEGMENT + (k - 2) * PROBED_EVERY,
                      lag = k < 2      ? k
                            : word < n ? distances[word / PROBED_EVERY]
                                       : 0,
                      bits = sum_of_half(has ? bits_at(i, lag) : 0);
            if (k < 2 && lane % SEGMENT == 0) f.lags.costs.of_near[k][s] = (u16)bits;
            least = min_of(least, (bits + CHANGE_COST) << 16 | lag);
        }
        if (lane % SEGMENT == 0) f.lags.costs.least[s] = least;
    }
}
// Chooses distances by these; whether any is worth more than the word before. Segments are looked at as if the last
// distance went on, up to the first that has another one. For a whole warp.
template <class T> DEV bool Forms<T>::choose_lags() {
    const u32 lane = threadIdx.x & 31, segments = (n + SEGMENT - 1) / SEGMENT;
    u32 last = 1;
    bool any = false;
#pragma unroll 1
    for (u32 at = 0; uniform(at < segments);) {
        // A segment for each lane, or for each four.
        const u32 each = uniform(last > 1) ? SEGMENT / PROBED_EVERY : 1, s = at + lane / each;
        const bool has = s < segments;
        u32 bits = 0;
        if (uniform(last > 1)) {
#pragma unroll
            for (u32 k = 0; k < PROBED_EVERY; k++) {
                const u32 i = s * SEGMENT + lane % each * PROBED_EVERY + k;
                bits += i < n ? bits_at(i, last) : 0;
            }
            bits += __shfl_xor_sync(FULL, bits, 1);
            bits += __shfl_xor_sync(FULL, bits, 2);
        } else if (has) {
            bits = f.lags.costs.of_near[last][s];
        }
        const u32 lag = has ? min_of(bits << 16 | last, f.lags.costs.least[s]) & 0xffff : last;
        const u32 other = __ballot_sync(FULL, lag != last), count = other ? (u32)__ffs((i32)other) : 32u;
        if (has && lane < count && lane % each == 0) d.lags()[s] = (u16)lag;
        any |= uniform(last > 1);
        if (uniform(other)) last = __shfl_sync(FULL, lag, count - 1);
        at += (count + each - 1) / each;
    }
    return any || last > 1;
}
template <class T> DEV u32 Forms<T>::changed_lags() const {
    u32 changes = 0;
    for (u32 s = threadIdx.x; s < (n + SEGMENT - 1) / SEGMENT; s += blockDim.x)
        changes += d.lags()[s] != (s ? d.lags()[s - 1] : 1);
    return block_sum(changes, d.part);
}

// The words by their distances from earlier ones; false if that is worth nothing.
template <class T> SELDOM bool Forms<T>::lags(Choice<Word>& choice) {
    u16* const distances = (u16*)d.tokens();
    __syncthreads();
    find_distances(distances);
    cost_distances(distances);
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
#pragma unroll 4
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        const u32 lag = d.lags()[i / SEGMENT];
        codes()[i] = code_of(extended<T>(w[i] - (lag == 0 || lag > i ? 0 : w[i - lag])));
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
    u64 least = known.rise.there ? min_of(known.rise.cost, costs[0]) : costs[0];
    for (u32 f = 1; f < PLAIN_FORMS; f++) least = min_of(least, costs[f]);
    __syncthreads();
    return lags_may_pay(known.set, costs[FORM_AXES], least);
}

// Writes distances, from `at` on; where they end. For a whole warp.
template <class T> DEV u32 Forms<T>::write_lags(u8* side, u32 at) {
    const u32 lane = threadIdx.x & 31, segments = (n + SEGMENT - 1) / SEGMENT;
    u32 next = at + (segments + MASK_SEGMENTS - 1) / MASK_SEGMENTS * 2;
#pragma unroll 1
    for (u32 first = 0; uniform(first < segments); first += 32) {
        const u32 s = first + lane, lag = s < segments ? d.lags()[s] : 0,
                  before = s == 0         ? 1
                           : s < segments ? d.lags()[s - 1]
                                          : lag,
                  changes = __ballot_sync(FULL, lag != before);
        if (lag != before) *(u16*)(side + next + 2 * __popc(changes & low_ones(lane))) = (u16)lag;
        if (lane % MASK_SEGMENTS == 0 && s < segments)
            *(u16*)(side + at + s / MASK_SEGMENTS * 2) = (u16)(changes >> (lane / MASK_SEGMENTS * MASK_SEGMENTS));
        next += 2 * __popc(changes);
    }
    return next;
}

}    // namespace predict
