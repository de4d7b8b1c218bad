// A tile bit for bit, in the form that takes least: codec/predict/body/lossless in CUDA.
#pragma once
#include "body.cuh"

namespace predict {

enum : u32 {
    FEWEST_LOW = 4,
    FASTER = 256,    // low bits beside the coder may cost one part in so many
    OPEN = ~0u,      // low bits are to be found
    SAMPLE_EVERY = 16,    // one group of so many is looked at, of tiles of SAMPLE_LARGE elements and of smaller ones
    SAMPLE_EVERY_OF_SMALL = 4,
    SAMPLE_LARGE = 8192,
    SAMPLE_FEWEST = 2048,
    SAMPLE_NEAR = 64,    // a second form may cost one part in so many more
    PLAIN_FORMS = 4,
    FORM_AXES = 0,
    FORM_NUMBERS = 1,
    FORM_SYMBOLS = 2,
    FORM_MAGNITUDES = 3,
    SAMPLE_ALIKE = 64,    // elements that are compared with each other
    HASHES = 1 << 12,
    CHANGE_COST = 16,
    ASKED = 16,
    ASKED_CHANGE = 8,
    ENTERED = 4,
    SLOPE_FEWEST = 128,    // a slope is for as many elements, and where codes take less by one part in so many
    SLOPE_WORTH = 64,
};

// How a tile is to be coded.
template <class Word> struct Choice {
    u32 form, set, own_table;
    Word base, slope;
    u32 low, bare, bare_codes, digits;
    u64 cost;
};

// What is taken from words that grow along a row, so that codes need no sign, as codec/predict/body/lossless/slope.rs
// has it.
template <class Word> struct Rise {
    bool there, is_line;
    Word slope, first;    // times the number of each; from all, if codes are no differences
    u32 low;              // low bits of codes that stand beside the coder
    u64 cost;
};

// All of a tile, or a part of it, of which each element stands for some.
struct Share_of {
    u32 n;
    u64 share;

    DEV u64 cost(u64 symbols, u32 table_bytes) const { return share * symbols + 8 * BIT * (u64)table_bytes; }
};

// What is counted and found, in shared memory.
template <class Word> struct Bench_of_forms {
    u32 own[SYMBOLS], trial[SYMBOLS], best_count[SYMBOLS];    // frequencies, frequencies, counts
    u64 fixed[ELEMENTS / GROUP];                              // what groups cost by the tables that are always there
    Word list[SYMBOLS + 2];                                   // of ranks
    u32 listed;
    union {
        u32 widths[65];
        u32 seen[HASHES];
        u32 before[MASK_WORDS + 1];
    };
};

template <class T> struct Forms {
    typedef typename T::Word Word;
    Desk<T>& d;
    Bench_of_coder& b;
    Bench_of_forms<Word>& f;
    u32 n;

    static_assert(sizeof(Bench_of_forms<Word>) <= 4 * PREDICT_ERRORS, "it stands where errors do");

    DEV Forms(Desk<T>& d, Shelf shelf)
        : d(d), b(*(Bench_of_coder*)shelf.v), f(*(Bench_of_forms<Word>*)shelf.e), n(d.n) {}
    DEV Word* words() const { return d.numbers_of_bins(); }
    DEV Word* codes() const { return d.trial(); }
    DEV Word* best() const { return d.best(); }

    // Fits the table to the counts, as all threads find behind it; its bytes. A barrier before.
    SELDOM u32 fit_all() {
        if (threadIdx.x < 32) {
            fit(b);
            const u32 bytes = table_bytes(b);
            if (threadIdx.x == 0) d.count = bytes;
        }
        __syncthreads();
        const u32 bytes = d.count;
        __syncthreads();
        return bytes;
    }
    DEV void clear_counts() {
        __syncthreads();
        for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) b.count[s] = 0;
        __syncthreads();
    }
    DEV void copy_table(const u32* from, u32* to) {
        __syncthreads();
        for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) to[s] = from[s];
        __syncthreads();
    }
    // What all that was counted costs by the table.
    DEV u64 cost_of_counts() {
        u64 cost = 0;
        for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x)
            if (b.count[s]) cost += (u64)b.count[s] * b.cost[s];
        return block_sum(cost, d.part);
    }
    static DEV u64 cost_of_low(u32 n, u32 bits, u32 bare_codes) {
        return 32 + 8 * (u64)(((n - bare_codes) * bits + 15) / 16 * 2);
    }

    // Tokens of codes without so many low bits, and their raw bits together. Barriers before and behind.
    DEV u64 make_tokens(const Share_of& part, u32 low) {
        u64 raw = 0;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) {
            u32 bits;
            d.tokens()[i] = (u8)token_of_code((Word)(codes()[i] >> low), bits);
            raw += bits;
        }
        return block_sum(raw, d.part);
    }

    SELDOM Choice<Word> tokens_with_low(Choice<Word> choice, const Share_of& part, u32 bits) {
        const u64 raw = BIT * (make_tokens(part, bits) + cost_of_low(part.n, bits, 0));
        clear_counts();
        for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) atomicAdd(b.count + d.tokens()[i], 1u);
        __syncthreads();
        const u32 bytes = fit_all();
        copy_table(b.frequency, f.own);
        choice.form |= 1 << 10;
        choice.own_table = 1;
        choice.low = bits;
        choice.bare = choice.bare_codes = 0;
        choice.cost = part.cost(cost_of_counts() + raw, bytes);
        return choice;
    }

    // Low bits that say nothing of the lengths of all but a few codes.
    DEV u32 low_bits(u32 count) {
        for (u32 i = threadIdx.x; i < 65; i += blockDim.x) f.widths[i] = 0;
        __syncthreads();
#pragma unroll 1
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) atomicAdd(f.widths + width_of(codes()[i]), 1u);
        __syncthreads();
        u32 left = count / 64, width = 0;
        for (u32 w = 0; w < 65; w++) {
            if (f.widths[w] > left) {
                width = w;
                break;
            }
            left -= f.widths[w];
        }
        __syncthreads();
        return width > 3 ? width - 3 : 0;
    }

    // What the codes cost as tokens, with and without a table of their own.
    SELDOM Choice<Word> tokens(Choice<Word> choice, const Share_of& part, u32 low) {
        if (low != OPEN && low > 0) return tokens_with_low(choice, part, low);
        const u32 lane = threadIdx.x & 31, groups = (part.n + GROUP - 1) / GROUP;
        u64 raw = 0, plain = 0;
        clear_counts();
#pragma unroll 1
        for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
            Quad<Word> quad;
            quad.take(codes(), part.n, g, lane, false);
            const u32 cls = class_of(quad.code);
            u32 cost = 0;
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) {
                if (!(quad.has >> j & 1)) continue;
                raw += quad.raw[j];
                if (cls) cost += token_cost(cls, quad.token[j]);
                d.tokens()[g * GROUP + lane * QUAD + j] = (u8)quad.token[j];
                atomicAdd(b.count + quad.token[j], 1u);
            }
            __syncwarp();
            cost = __reduce_add_sync(FULL, cost);
            if (lane == 0) {
                plain += cost;
                f.fixed[g] = cls == OWN ? ~0ull : cost;
            }
        }
        raw = BIT * block_sum(raw, d.part);
        plain = block_sum(plain, d.part) + raw;
        choice.low = choice.bare = choice.bare_codes = 0;
        choice.own_table = 0;
        choice.cost = part.cost(plain, 0);
        // First for all groups, then for those that cost more by a fixed table; it has all tokens.
        fit_all();
        for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) b.count[s] = b.count[s] > 0;
        __syncthreads();
#pragma unroll 1
        for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32)
            if (cost_by_table(g, part.n) < f.fixed[g])
                for (u32 i = g * GROUP + lane; i < min_of(part.n, (g + 1) * GROUP); i += 32)
                    atomicAdd(b.count + d.tokens()[i], 1u);
        __syncthreads();
        const u32 bytes = fit_all();
        u64 symbols = 0;
#pragma unroll 1
        for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
            const u64 own = cost_by_table(g, part.n);
            if (lane == 0) symbols += min_of(own, f.fixed[g]);
        }
        const u64 own = part.cost(block_sum(symbols, d.part) + raw, bytes);
        copy_table(b.frequency, f.own);
        if (own < choice.cost) {
            choice.own_table = 1;
            choice.cost = own;
        }
        const u32 bits = low == OPEN ? low_bits(part.n) : 0;
        if (bits < FEWEST_LOW) return choice;
        copy_table(f.own, f.trial);
        const Choice<Word> with_low = tokens_with_low(choice, part, bits);
        if (with_low.cost > choice.cost + choice.cost / FASTER) {
            copy_table(f.trial, f.own);
            return choice;
        }
        return with_low;
    }
    // What a group's tokens cost by the table. For a whole warp.
    DEV u64 cost_by_table(u32 g, u32 count) const {
        u32 cost = 0;
        for (u32 i = g * GROUP + (threadIdx.x & 31); i < min_of(count, (g + 1) * GROUP); i += 32)
            cost += b.cost[d.tokens()[i]];
        __syncwarp();
        return __reduce_add_sync(FULL, cost);
    }

    // The symbol that occurs most, and how many codes have it if all of these are without low bits.
    DEV u32 bare_codes_of(const u32* counts, u32 count, u32 bits, u32& symbol) {
        u32 key = 0;
        for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) key = counts[s] << 8 | (SYMBOLS - 1 - s);
        key = block_max(key, d.part);
        symbol = SYMBOLS - 1 - (key & (SYMBOLS - 1));
        const u32 most = key >> 8;
        if (bits == 0 || 16 * most <= count) return 0;
        const Word first = (Word)symbol << bits;
        u32 low = 0;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            const Word code = codes()[i];
            low |= code >> bits == symbol && code != first;
        }
        return block_or(low, d.part) ? 0 : most;
    }
    // What the words that stand as codes cost as symbols.
    SELDOM Choice<Word> symbols(u32 form, const Share_of& part, bool is_signed) {
        const Word sign = is_signed ? (Word)1 << (T::BITS - 1) : 0;
        Word least = ~(Word)0, most = 0;
        __syncthreads();
#pragma unroll 1
        for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) {
            const Word code = codes()[i] ^ sign;
            least = code < least ? code : least;
            most = code > most ? code : most;
        }
        least = block_min(least, d.part);
        most = block_max(most, d.part);
        const u32 width = most > least ? width_of((Word)(most - least)) : 0;
        u32 bits = width > 8 ? width - 8 : 0;
        if ((most - (least >> bits << bits)) >> bits >= SYMBOLS) bits++;
        const Word first = least >> bits << bits;
        clear_counts();
#pragma unroll 1
        for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) {
            const Word code = (codes()[i] ^ sign) - first;
            codes()[i] = code;
            atomicAdd(b.count + (u32)(code >> bits), 1u);
        }
        __syncthreads();
        u32 symbol;
        const auto cost = [&](u32 bits) {
            const u32 bytes = fit_all();
            const u32 bare = bare_codes_of(b.count, part.n, bits, symbol);
            const u64 low = bits ? cost_of_low(part.n, bits, bare) : 0;
            return part.cost(cost_of_counts() + BIT * low, bytes);
        };
        u64 least_cost = cost(bits);
        u32 best_bits = bits;
        copy_table(b.frequency, f.own);
        copy_table(b.count, f.best_count);
        for (;;) {
            u32 others = 0;
            for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) others |= s > 0 && b.count[s];
            if (bits + 1 >= T::BITS || !block_or(others, d.part)) break;
            const u32 s = threadIdx.x, two = s < SYMBOLS / 2 ? b.count[2 * s] + b.count[2 * s + 1] : 0;
            __syncthreads();
            if (s < SYMBOLS) b.count[s] = two;
            __syncthreads();
            bits++;
            const u64 one = cost(bits);
            if (one >= least_cost) break;
            least_cost = one;
            best_bits = bits;
            copy_table(b.frequency, f.own);
            copy_table(b.count, f.best_count);
        }
        Choice<Word> choice = {};
        choice.low = best_bits;
        choice.bare_codes = bare_codes_of(f.best_count, part.n, best_bits, symbol);
        choice.bare = choice.bare_codes ? symbol : 0;
        choice.form = form | BY_SYMBOLS << 8 | (u32)(best_bits > 0) << 10;
        choice.base = first ^ sign;
        choice.own_table = 1;
        choice.cost = least_cost;
        return choice;
    }

    // The words that stand as codes, where many are zero; false if not.
    DEV bool numbers(Choice<Word>& choice, const Share_of& part) {
        u32 zeros = 0;
        __syncthreads();
        for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) zeros += codes()[i] == 0;
        zeros = block_sum(zeros, d.part);
        if ((part.share == 1 ? 16 : 128) * zeros < part.n) return false;
        for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) codes()[i] = code_of(codes()[i]);
        __syncthreads();
        choice = tokens(choice, part, OPEN);
        return true;
    }

    // As many elements as one that is looked at stands for; 0 for a tile that is tried in all forms.
    DEV u32 sample_share() const {
        if (n < SAMPLE_FEWEST) return 0;
        return n >= SAMPLE_LARGE ? SAMPLE_EVERY : SAMPLE_EVERY_OF_SMALL;
    }
    // Which group is looked at as number k.
    static DEV u32 sampled_group(u32 k, u32 every) { return every * k + 5 * k % every; }
    // Copies what `word` says of the elements that are looked at; how many these are.
    template <class Of> DEV u32 take_sample(Of word) {
        const u32 share = sample_share(), every = share ? share : 1, count = n / (every * GROUP) * GROUP;
        __syncthreads();
#pragma unroll 1
        for (u32 i = threadIdx.x; i < count; i += blockDim.x)
            codes()[i] = word(sampled_group(i / GROUP, every) * GROUP + i % GROUP);
        __syncthreads();
        return count;
    }

    // The set of axes whose differences of the words look shortest: by samples, but of a small tile.
    SELDOM u32 axes() {
        const Word* const w = words();
        const auto value = [=](u32 i) { return w[i]; };
        const u32 allowed = d.head.grid.set(), every = sample_share();
        if (threadIdx.x < SETS) d.costs[threadIdx.x] = 0;
        __syncthreads();
        add_costs_of_sets<true, u64, T, Word>(d, d.box, 0, value, every ? n / (every * GROUP) : ~0u,
                                              [=](u32 k) { return every ? sampled_group(k, every) : k; });
        __syncthreads();
        u32 best = 0;
        for (u32 s = 0; s < SETS; s++)
            if (!(s & ~allowed) && d.costs[s] < d.costs[best]) best = s;
        __syncthreads();
        return best;
    }

    // The least and the greatest, signed, of what `value` says of some numbers. For a whole block.
    template <class Of> DEV void ends(u32 from, u32 to, Of value, Word& least, Word& most) {
        const Word sign = (Word)1 << (T::BITS - 1);
        least = ~(Word)0;
        most = 0;
#pragma unroll 1
        for (u32 i = from + threadIdx.x; i < to; i += blockDim.x) {
            const Word v = value(i) ^ sign;
            least = v < least ? v : least;
            most = v > most ? v : most;
        }
        least = block_min(least, d.part) ^ sign;
        most = block_max(most, d.part) ^ sign;
    }
    // The bits of what stands as codes, less one of these.
    DEV u64 widths(u32 from, u32 to, Word least) {
        u64 bits = 0;
#pragma unroll 1
        for (u32 i = from + threadIdx.x; i < to; i += blockDim.x) {
            const Word v = codes()[i] - least;
            bits += v ? width_of(v) : 0;
        }
        return block_sum(bits, d.part);
    }
    // The step from the first word, which is 0, to the last one, rounded.
    DEV Word step_of_row() const {
        const i64 steps = n - 1, last = (i64)(extended_word<T>(words()[n - 1]) + (u64)(steps / 2)), step = last / steps;
        return (Word)(step - (last % steps < 0));
    }
    // The slope of words that rise along a row, or fall, where samples take less with one.
    SELDOM Rise<Word> rise(const Choice<Word>& choice) {
        const Word* const w = words();
        const Word sign = (Word)1 << (T::BITS - 1);
        Rise<Word> rise = {};
        if (choice.set != 1 || d.box.lx != n || n < SLOPE_FEWEST) return rise;
        const auto along = [=](u32 i) { return (Word)(i ? w[i] - w[i - 1] : w[i]); };
        Share_of part = {0, sample_share()};
        if (part.share == 0) part.share = 1;
        part.n = take_sample(along);
        const Word* const sample = codes();
        Word least, most, all, unused;
        ends(1, part.n, [=](u32 i) { return sample[i]; }, least, most);
        if ((least ^ most) & sign || (code_of(least) < DIRECT && code_of(most) < DIRECT)) return rise;
        ends(1, n, along, all, unused);
        const Word steps = (Word)(least - all) <= (Word)(most - least) ? all : least;
        const u64 of_steps = widths(1, part.n, least);
        take_sample([=](u32 i) { return code_of(along(i)); });
        const u64 as_signed = tokens(choice, part, OPEN).cost;
        const Word step = step_of_row();
        const auto beside = [=](u32 i) { return (Word)(w[i] - step * i); };
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
    DEV Word code_with(const Rise<Word>& rise, u32 i) const {
        const Word* const w = words();
        if (rise.is_line) return w[i] - rise.slope * i - rise.first;
        return i ? w[i] - w[i - 1] - rise.slope : w[i];
    }
    // What such codes cost as tokens.
    SELDOM Choice<Word> sloped(Choice<Word> choice, const Rise<Word>& rise, const Share_of& part, u32 low) {
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

    // Words, from which the base is taken, by their differences along the axes of a choice, or with a slope.
    DEV Choice<Word> differences(const Choice<Word>& choice, const Rise<Word>& rise, u32 low) {
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
            codes()[i] = code_of(lorenzo<Word>(d.box, choice.set, i, [=](u32 k) { return w[k]; }));
        __syncthreads();
        return tokens(choice, {n, 1}, low);
    }

    static DEV u32 hash(const Word* w, u32 i, u32 n) {
        enum : u32 { MOST_LEADING = 22, LEADING = T::BITS == 64 ? MOST_LEADING : 12 };
        const Word next = w[min_of(i + 1, n - 1)];
        const u64 both = (u64)(w[i] >> (T::BITS - LEADING)) << MOST_LEADING | (u64)(next >> (T::BITS - LEADING));
        return (u32)((both * KEY64) >> 52);
    }
    // Bits that the differences of a segment take. For a whole warp.
    static DEV u32 bits_of_lag(const Word* w, u32 from, u32 to, u32 lag) {
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
    template <class Show> DEV void each_segment(Show show) {
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
    DEV bool lags_may_pay(u32 set, u64 of_axes, u64 least) {
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
    DEV bool choose_lags() {
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
    DEV u32 changed_lags() const {
        u32 changes = 0;
        for (u32 s = threadIdx.x; s < (n + SEGMENT - 1) / SEGMENT; s += blockDim.x)
            changes += d.lags()[s] != (s ? d.lags()[s - 1] : 1);
        return block_sum(changes, d.part);
    }
    // The words by their distances from earlier ones; false if that is worth nothing.
    SELDOM bool lags(Choice<Word>& choice) {
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

    // Whether the tile may have few distinct elements, by some of them. For a whole block.
    DEV bool may_be_few() {
        const u32 step = (n + SAMPLE_ALIKE - 1) / SAMPLE_ALIKE, t = threadIdx.x;
        u32 is_alike = 0;
        if (t < SAMPLE_ALIKE && t * step < n)
            for (u32 k = 0; k < t; k++) is_alike |= d.elements()[k * step] == d.elements()[t * step];
        return block_sum(is_alike, d.part) >= 2;
    }
    // The distinct elements in their order as numbers without sign; false if they are too many. For a whole block.
    SELDOM bool make_list() {
        const u32 whole = (n + blockDim.x - 1) / blockDim.x * blockDim.x;
        if (threadIdx.x == 0) f.listed = 0;
        __syncthreads();
#pragma unroll 1
        for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
            const Word own = i < n ? d.elements()[i] : 0;
            for (;;) {
                const bool lacks = i < n && find(own) == ~0u;
                const u32 who = block_min(lacks ? threadIdx.x : ~0u, d.part);
                if (who == ~0u) break;
                if (f.listed == SYMBOLS) return false;
                if (threadIdx.x == who) d.found = own;
                __syncthreads();
                const Word more = (Word)d.found;
                const u32 t = threadIdx.x, count = f.listed;
                const Word here = t < count ? f.list[t] : 0;
                u32 below = t < count && here < more;
                const u32 place = block_sum(below, d.part);
                if (t < count && here > more) f.list[t + 1] = here;
                if (t == 0) {
                    f.list[place] = more;
                    f.listed = count + 1;
                }
                __syncthreads();
            }
        }
        __syncthreads();
        return true;
    }
    // The place of an element in the list, or ~0.
    DEV u32 find(Word own) const {
        u32 low = 0, high = f.listed;
        while (low < high) {
            const u32 middle = (low + high) / 2;
            if (f.list[middle] < own)
                low = middle + 1;
            else
                high = middle;
        }
        return low < f.listed && f.list[low] == own ? low : ~0u;
    }

    static DEV double value_of(u32 bits) { return (double)float_of(bits); }
    static DEV double value_of(u64 bits) { return float_of(bits); }
    // The integer of an element times 10^digits, if that gives it back.
    static DEV bool integer_of(Word bits, u32 digits, Word& k) {
        const double round = 6755399441055744.0, power = power_of(digits),
                     most = T::BITS == 64 ? 2251799813685248.0 : 2147483648.0;
        const double whole = (value_of(bits) * power + round) - round;
        k = 0;
        if (!(fabs(whole) < most)) return false;
        k = (Word)(i64)whole;
        return seldom_decimal(k, digits) == bits;
    }
    // How many digits the elements may have; ~0 if they are no decimals. For a whole warp.
    DEV u32 digits_of() const {
        const u32 step = (n + 31) / 32, i = (threadIdx.x & 31) * step;
#pragma unroll 1
        for (u32 digits = 0; digits <= MOST_DIGITS; digits++) {
            Word k;
            const bool odd = i < n && !integer_of(d.elements()[i], digits, k);
            if (uniform(__popc(__ballot_sync(FULL, odd)) <= MOST_ODD)) return digits;
        }
        return ~0u;
    }
    // Whether the integers of neighbours are nearer to each other than their words are, by some of them. For a whole
    // warp.
    DEV bool are_nearer(u32 digits) const {
        const u32 i = (threadIdx.x & 31) * ((n + 31) / 32);
        u32 of_integers = 0, of_words = 0;
        Word a, b;
        if (i + 1 < n && integer_of(d.elements()[i], digits, a) && integer_of(d.elements()[i + 1], digits, b)) {
            const Word by = b - a, word = words()[i + 1] - words()[i];
            of_integers = by ? width_of(magnitude_of(by)) : 0;
            of_words = word ? width_of(magnitude_of(word)) : 0;
        }
        __syncwarp();
        return __reduce_add_sync(FULL, of_integers) < __reduce_add_sync(FULL, of_words);
    }
    // The elements as integers over 10^digits; false if too many are none, of which `spare_mask` tells.
    DEV bool make_integers(u32 digits, u32& odd) {
        const u32 whole = (n + 31) / 32 * 32;
        odd = 0;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
            Word k = 0;
            const bool good = i < n && integer_of(d.elements()[i], digits, k);
            put_bit(d.spare_mask(), i, good);
            if (i < n) words()[i] = k;
            odd += i < n && !good;
        }
        odd = block_sum(odd, d.part);
        if (odd > n / 8) return false;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            if (has_bit(d.spare_mask(), i)) continue;
            const u32 from = bit_before(d.spare_mask(), i);
            words()[i] = from == ~0u ? 0 : words()[from];
        }
        __syncthreads();
        return true;
    }

    // The choice that is less, of the two; the codes at hand and their table are kept if it is the other one.
    DEV void keep_if_less(Choice<Word>& least, const Choice<Word>& choice) {
        if (!(choice.cost < least.cost)) return;
        least = choice;
        __syncthreads();
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) best()[i] = codes()[i];
        for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) d.kept_table()[s] = f.own[s];
        __syncthreads();
    }

    static DEV Word magnitude_word(Word bits, u32 shift) { return (bits << 1 | bits >> (T::BITS - 1)) >> shift; }
    DEV Word ordered(Word w, u32 shift) const {
        const Word sign = (Word)1 << (T::BITS - 1);
        const Word number = negative<T>(w) && d.head.is_float ? w ^ (sign - 1) : w;
        return T::BITS == 64 ? (Word)((i64)number >> shift) : (Word)((i32)number >> shift);
    }
    static DEV u32 zeros_below(Word any) { return any ? top_bit((Word)(any & (0 - any))) : 0; }

    // A tile, and what is known of it before any form is tried.
    struct Known {
        Choice<Word> plain;     // its shift, and the base that is taken from its words
        u32 set, magnitudes;    // the axes along which differences look shortest; the form of magnitudes
        Rise<Word> rise;
    };
    // Words as they are, as codes. Barriers before and behind.
    DEV void take_words(Word base) {
        __syncthreads();
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) codes()[i] = words()[i] + base;
        __syncthreads();
    }
    // Tries a plain form.
    SELDOM void try_plain(const Known& known, u32 form, u32 low, Choice<Word>& least) {
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
    template <class Of> DEV u64 look_at_symbols(u32 form, const Share_of& part, bool is_signed, Of word) {
        const Word sign = is_signed ? (Word)1 << (T::BITS - 1) : 0;
        take_sample(word);
        const Choice<Word> choice = symbols(form, part, is_signed);
        if (!choice.bare_codes) return choice.cost;
        const u32 bits = choice.low;
        const Word symbol = ((choice.base ^ sign) >> bits) + choice.bare, bare = symbol << bits;
        u32 low = 0;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            const Word code = word(i) ^ sign;
            low |= code >> bits == symbol && code != bare;
        }
        const u64 more = part.share * BIT * choice.bare_codes * bits;
        return choice.cost + (block_or(low, d.part) ? more : 0);
    }
    // What the plain forms cost, by samples, and the low bits of differences.
    SELDOM u32 look(const Known& known, u64 (&costs)[PLAIN_FORMS]) {
        const Word* const elements = d.elements();
        const Word* const w = words();
        const Places box = d.box;
        const u32 set = known.set, turned = known.magnitudes & 63;
        const Word base = known.plain.base;
        Share_of part = {0, sample_share()};
        part.n = take_sample([=](u32 i) { return code_of(lorenzo<Word>(box, set, i, [=](u32 k) { return w[k]; })); });
        const Choice<Word> along = tokens(known.plain, part, OPEN);
        costs[FORM_AXES] = along.cost;
        take_sample([=](u32 i) { return (Word)(w[i] + base); });
        Choice<Word> as_numbers = known.plain;
        costs[FORM_NUMBERS] = numbers(as_numbers, part) ? as_numbers.cost : ~0ull;
        costs[FORM_SYMBOLS] =
            look_at_symbols(known.plain.form, part, true, [=](u32 i) { return (Word)(w[i] + base); });
        costs[FORM_MAGNITUDES] = ~0ull;
        if (d.head.is_float)
            costs[FORM_MAGNITUDES] = look_at_symbols(known.magnitudes, part, false,
                                                     [=](u32 i) { return magnitude_word(elements[i], turned); });
        return along.form >> 10 & 1 ? along.low : 0;
    }
    // Of the forms that cost so much the first of the least, and as bits this and the next one, where it costs little
    // more.
    static DEV u32 tried(const u64 (&costs)[PLAIN_FORMS], bool two) {
        u32 least = 0, next = PLAIN_FORMS;
        for (u32 f = 1; f < PLAIN_FORMS; f++)
            if (costs[f] < costs[least]) least = f;
        for (u32 f = 0; f < PLAIN_FORMS; f++)
            if (f != least && (next == PLAIN_FORMS || costs[f] < costs[next])) next = f;
        const bool is_near = two && costs[next] <= costs[least] + costs[least] / SAMPLE_NEAR;
        return 1u << least | (u32)is_near << next;
    }
    // Tries ranks, whose list is made.
    SELDOM void try_ranks(Choice<Word>& least) {
        __syncthreads();
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) codes()[i] = find(d.elements()[i]);
        Choice<Word> choice = symbols(RANKS << 6, {n, 1}, false);
        choice.cost += BIT * (16 + 8 * (u64)(f.listed * (T::BITS / 8)));
        keep_if_less(least, choice);
    }
    SELDOM void try_lags(const Known& known, Choice<Word>& least) {
        Choice<Word> choice = known.plain;
        if (lags(choice)) keep_if_less(least, choice);
    }
    // How many digits the elements may have, if their integers are nearer to each other where that is asked; otherwise
    // ~0.
    SELDOM u32 find_digits(bool nearer) {
        __syncthreads();
        if (threadIdx.x < 32) {
            u32 digits = digits_of();
            if (nearer && uniform(digits != ~0u) && !are_nearer(digits)) digits = ~0u;
            if (threadIdx.x == 0) d.count = digits;
        }
        __syncthreads();
        const u32 digits = d.head.is_float ? d.count : ~0u;
        __syncthreads();
        return digits;
    }
    // Tries decimals of so many digits; the words are theirs then.
    SELDOM void try_decimals(u32 digits, Choice<Word>& least) {
        u32 odd;
        if (!make_integers(digits, odd)) return;
        Choice<Word> choice = {};
        choice.form = DECIMALS << 6;
        choice.base = words()[0];
        choice.digits = digits;
        __syncthreads();
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) words()[i] -= choice.base;
        __syncthreads();
        choice.set = axes();
        const Rise<Word> risen = rise(choice);
        choice = differences(choice, risen, OPEN);
        choice.cost += BIT * (32 + (u64)odd * (16 + T::BITS));
        keep_if_less(least, choice);
    }
    SELDOM bool may_take_lags(const Known& known, const u64 (&costs)[PLAIN_FORMS]) {
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

    // Chooses; codes and table of the choice are kept.
    SELDOM Choice<Word> choose() {
        const Word* const elements = d.elements();
        Word any = 0;
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) any |= elements[i];
        any = block_or(any, d.part);
        const u32 shift = zeros_below(any);
        Known known = {};
        known.magnitudes = zeros_below((Word)(any << 1 | any >> (T::BITS - 1))) | MAGNITUDES << 6;
        known.plain.form = shift;
        known.plain.base = ordered(elements[0], shift);
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) words()[i] = ordered(elements[i], shift) - known.plain.base;
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
            if (make_list()) try_ranks(least);
            const u32 digits = find_digits(false);
            if (digits != ~0u) try_decimals(digits, least);
            return least;
        }
        u64 costs[PLAIN_FORMS];
        const u32 low = look(known, costs);
        const bool are_few = may_be_few() && make_list();
        const u32 digits = are_few ? ~0u : find_digits(true);
        const bool has_digits = digits != ~0u, by_lags = !are_few && !has_digits && may_take_lags(known, costs);
        if (known.rise.there) costs[FORM_AXES] = known.rise.cost;
        const u32 forms = tried(costs, !are_few && !has_digits && !by_lags);
        for (u32 form = 0; form < PLAIN_FORMS; form++)
            if (forms >> form & 1) try_plain(known, form, low, least);
        if (are_few) try_ranks(least);
        if (has_digits) try_decimals(digits, least);
        if (by_lags) try_lags(known, least);
        return least;
    }

    // Writes what stands between base and states; the codes become what the coder gets of them. How many bytes.
    SELDOM u32 write_side(const Choice<Word>& choice) {
        u8* const side = d.side();
        const u32 order = choice.form >> 6 & 3, halves = (1u << (choice.form >> 11 & 3)) / 2;
        if (threadIdx.x < halves)
            ((u16*)side)[threadIdx.x] = (u16)(extended_word<T>(choice.slope) >> (16 * threadIdx.x));
        u32 at = 2 * halves;
        if (order == RANKS) {
            if (threadIdx.x == 0) *(u16*)side = (u16)f.listed;
            for (u32 i = threadIdx.x; i < f.listed; i += blockDim.x) put_word(side + 2 + i * (T::BITS / 8), f.list[i]);
            at = 2 + f.listed * (T::BITS / 8);
        }
        if (order == DECIMALS) {
            // Those that are none have no bit.
            u32* const odd = d.corrected();
            for (u32 w = threadIdx.x; 32 * w < n; w += blockDim.x)
                odd[w] = ~d.spare_mask()[w] & low_ones(min_of(n - 32 * w, 32u));
            __syncthreads();
            if (threadIdx.x < 32) {
                const u32 count = each_bit(odd, n, [](u32, u32) {});
                u8* const to = side + at;
                each_bit(odd, n, [&](u32 k, u32 i) {
                    *(u16*)(to + 4 + 2 * k) = (u16)i;
                    put_word(to + 4 + 2 * count + k * (T::BITS / 8), d.elements()[i]);
                });
                if (threadIdx.x == 0) {
                    to[0] = (u8)choice.digits;
                    to[1] = 0;
                    ((u16*)to)[1] = (u16)count;
                    d.count = count;
                }
            }
            __syncthreads();
            at += 4 + d.count * (2 + T::BITS / 8);
        }
        if ((choice.form >> 8 & 3) == BY_LAGS) {
            const u32 segments = (n + SEGMENT - 1) / SEGMENT;
            if (threadIdx.x == 0) {
                u32 next = at + (segments + 15) / 16 * 2, mask = 0;
#pragma unroll 1
                for (u32 s = 0; s < segments; s++) {
                    const u32 lag = d.lags()[s];
                    if (lag != (s ? d.lags()[s - 1] : 1)) {
                        mask |= 1 << (s % 16);
                        *(u16*)(side + next) = (u16)lag;
                        next += 2;
                    }
                    if (s % 16 == 15 || s + 1 == segments) {
                        *(u16*)(side + at + s / 16 * 2) = (u16)mask;
                        mask = 0;
                    }
                }
                d.count = next;
            }
            __syncthreads();
            at = d.count;
        }
        __syncthreads();
        if (choice.own_table) {
            for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) b.frequency[s] = d.kept_table()[s];
            __syncthreads();
            if (threadIdx.x == 0) d.count = at + write_table(b, side + at);
            __syncthreads();
            at = d.count;
            __syncthreads();
        }
        if (choice.form >> 10 & 1) at = write_low(choice, at);
        return at;
    }
    static DEV void put_word(u8* to, Word word) {
        for (u32 k = 0; k < T::BITS / 16; k++) ((u16*)to)[k] = (u16)(word >> (16 * k));
    }
    // The low bits of codes, which become their high bits, from `at` on; where they end.
    SELDOM u32 write_low(const Choice<Word>& choice, u32 at) {
        u8* const side = d.side();
        const u32 bits = choice.low, end = at + 4 + ((n - choice.bare_codes) * bits + 15) / 16 * 2;
        const auto has_low = [&](Word high) { return choice.bare_codes == 0 || high != choice.bare; };
        // How many of them are before each word of a mask.
        const u32 whole = (n + 31) / 32 * 32;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < whole; i += blockDim.x)
            put_bit(d.corrected(), i, i < n && has_low(best()[i] >> bits));
        for (u32 i = at + threadIdx.x; i < end + 4; i += blockDim.x) side[i] = 0;
        __syncthreads();
        if (threadIdx.x < 32) {
            u32 before = 0;
            for (u32 first = 0; 32 * first < n; first += 32) {
                const u32 w = first + threadIdx.x, count = 32 * w < n ? __popc(d.corrected()[w]) : 0,
                          up_to = warp_running_sum(count);
                f.before[w] = before + up_to - count;
                before += __shfl_sync(FULL, up_to, 31);
            }
        }
        if (threadIdx.x == 0) {
            side[at] = (u8)bits;
            side[at + 1] = (u8)choice.bare;
            *(u16*)(side + at + 2) = (u16)choice.bare_codes;
        }
        __syncthreads();
        u32* const plane = (u32*)side;
        const u64 first = 8 * (u64)(at + 4);
#pragma unroll 1
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            const Word code = best()[i];
            best()[i] = code >> bits;
            if (!has_bit(d.corrected(), i)) continue;
            const u32 rank = f.before[i / 32] + __popc(d.corrected()[i / 32] & low_ones(i % 32));
            const u64 low = (u64)code & (((u64)1 << bits) - 1), place = first + (u64)rank * bits;
            const u32 word = (u32)(place / 32), by = (u32)(place % 32);
            const u64 lower = low << by;
            if ((u32)lower) atomicOr(plane + word, (u32)lower);
            if (lower >> 32) atomicOr(plane + word + 1, (u32)(lower >> 32));
            if (by && low >> (64 - by)) atomicOr(plane + word + 2, (u32)(low >> (64 - by)));
        }
        __syncthreads();
        return end;
    }
};

// Encodes every bit in the form that takes least; false if it costs more than `most` parts of a bit, or the elements
// themselves take less. For a whole block; a barrier before and behind.
template <class T> SELDOM bool code_exactly(Desk<T>& d, Shelf shelf, Body& body, u64 most) {
    typedef typename T::Word Word;
    u32 differ = 0;
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) differ |= d.elements()[i] != d.elements()[0];
    if (!block_or(differ, d.part)) return by_bits(d, shelf, body, 0);
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
    take_groups<false>(b, codes, d.n);
    if (threadIdx.x < 32) {
        const u32 lane = threadIdx.x, halves = Desk<T>::STREAM_HALVES, prediction = choice.form >> 8 & 3;
        u16* const stream = d.stream((u32)(&body - d.body));
        u32 of = NO_TABLE;
        if (choice.own_table) {
            make_own_symbols(b);
            of = prediction == BY_SYMBOLS ? OF_ALL : choice.form >> 10 & 1 ? OF_EVERY : OF_CHEAPER;
        }
        Writer w;
        w.begin(stream, halves, lane);
        encode_codes(b, of, codes, d.n, w);
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

// Whether a tile within the bound, of so many bytes, may take fewer bit for bit: body/lossless/bounded.rs.
template <class T> struct Probe {
    typedef typename T::Word Word;
    enum : u32 { SET = 32, MOST_SETS = 8, RUN = 8, STEP_BITS = 2 };
    const Desk<T>& d;
    const Word* elements;
    u32 n, row, lane;

    DEV explicit Probe(const Desk<T>& d)
        : d(d), elements(d.elements()), n(d.n), row(d.box.lx), lane(threadIdx.x & 31) {}

    static DEV u32 mixed(u32 i, u32 part) {
        u32 x = i * KEY32;
        x = (x ^ x >> 15) * 0x85EBCA77u;
        return (u32)(((u64)(x >> 16) * part) >> 16);
    }
    static DEV u32 logarithm_of(u32 x) {
        const u32 octave = top_bit(x);
        return octave << 8 | (((x << 8) >> octave) & 255);
    }
    static DEV u32 exponent_of(Word bits) { return (u32)((bits & ~((Word)1 << (T::BITS - 1))) >> T::MANTISSA); }
    static DEV u32 zeros_of(Word bits) {
        const u32 zeros = bits ? top_bit((Word)(bits & (0 - bits))) : T::BITS;
        return min_of(zeros, (u32)T::MANTISSA);
    }
    // Whether elements are multiples of a power of two, or neighbouring numbers, that are as far apart as bins.
    DEV bool are_as_far_apart_as_bins(Word own, bool there) const {
        if (!d.head.step_w) return false;
        const i32 none = -(i32)T::BIAS - (i32)T::MANTISSA - d.head.step_j;
        const u32 largest = exponent_of(d.largest);
        if ((i32)(largest ? largest : 1) + (i32)zeros_of(d.any) + none <= 0) return false;
        const Word magnitude = own & ~((Word)1 << (T::BITS - 1));
        const bool tells = there && magnitude && (i32)exponent_of(own) <= 2 * (i32)T::BIAS;
        i32 above = 0;
        if (tells) {
            const u32 exponent = exponent_of(own);
            above = (i32)(exponent ? exponent : 1) + (i32)zeros_of(own) + none;
            above = above < -8 ? -8 : above > 8 ? 8 : above;
        }
        const i32 all = (i32)__reduce_add_sync(FULL, (u32)above), count = __popc(__ballot_sync(FULL, tells));
        return count > 0 && all >= count * (i32)(STEP_BITS + 1);
    }
    // Whether elements are multiples of a power of two, where these are rounded off, or of ten, that are as far apart
    // as what comes back.
    DEV bool are_multiples(Word own, bool there) const {
        double grain;
        if (d.head.step_w) {
            grain = (double)d.meaning.quantizer.step;
        } else {
            const Word any = warp_or(there ? own : 0);
            if (any && 4 * top_bit((Word)(any & (0 - any))) >= 3 * d.drop) return true;
            const Word magnitude = own & ~((Word)1 << (T::BITS - 1));
            const bool tells = there && magnitude;
            const i32 sum = (i32)__reduce_add_sync(FULL, tells ? exponent_of(own) : 0),
                      count = __popc(__ballot_sync(FULL, tells));
            i32 exponent = sum / (count > 1 ? count : 1) - (i32)T::BIAS - ((i32)T::MANTISSA - (i32)d.drop);
            exponent = exponent > -1022 ? exponent : -1022;
            grain = float_of((u64)(exponent + 1023) << 52);
        }
        const double near = T::BITS == 64 ? 1.0 / 2251799813685248.0 : 1.0625 / 16777216.0,
                     far = T::BITS == 64 ? 2251799813685248.0 : 4194304.0, round = 6755399441055744.0;
        bool any = false;
#pragma unroll 1
        for (u32 digits = 0; digits <= MOST_DIGITS; digits++) {
            const double power = power_of(digits), product = Forms<T>::value_of(own) * power,
                         whole = (product + round) - round;
            const bool close = fabs(product - whole) <= fabs(whole) * near && fabs(whole) < far;
            const u32 good = __popc(__ballot_sync(FULL, there && close && whole != 0.0)),
                      odd = __popc(__ballot_sync(FULL, there && !close));
            any |= power * grain < 2.0 && odd <= MOST_ODD && good > odd;
        }
        return any;
    }
    // Whether elements go on alike, and differ, from two places on.
    DEV bool is_run(u32 a, u32 b) const {
        enum : u32 { NOISE = T::MANTISSA / 8 };
        if (b + RUN > n) return false;
        bool same = true, differ = false;
        for (u32 i = 1; i < RUN; i++) {
            const Word one = elements[a + i] >> NOISE;
            same &= one == elements[b + i] >> NOISE;
            differ |= one != elements[a] >> NOISE;
        }
        return same && differ;
    }
    // 0: no; 1: yes; 2: if few are distinct. For a whole warp.
    DEV u32 ask(u32 bytes) const {
        enum : u32 { NOISE = T::MANTISSA / 8 };
        if (32 * (u64)bytes < n) return 0;
        const u32 per = 8 * bytes / n, sets = per < 1 ? 1 : min_of(per, (u32)MOST_SETS);
        u32 repeats = 0, samples = 0;
        u64 cost = 0;
#pragma unroll 1
        for (u32 s = 0; s < sets; s++) {
            const u32 part = n / (SET * sets),
                      place = part == 0 ? s * SET + lane : (lane * sets + s) * part + mixed(lane * sets + s, part);
            const bool there = place < n;
            const u32 len = __popc(__ballot_sync(FULL, there));
            const Word own = there ? elements[place] : 0, key = own >> NOISE;
            if (s == 0 && (are_as_far_apart_as_bins(own, there) || are_multiples(own, there))) return 1;
            u32 first = 32, count = 0;
            for (u32 k = 0; k < SET; k++) {
                const Word other = __shfl_sync(FULL, key, k);
                const bool alike = k < len && other == key;
                if (alike && first == 32) first = k;
                count += alike;
            }
            if (!there || first != lane) count = 0;
            const u32 a = __shfl_sync(FULL, place, first & 31);
            const bool is_above = row < n && (place - a) % row == 0;
            const bool repeated = there && a < place && !is_above && is_run(a, place);
            const u32 who = __ballot_sync(FULL, repeated);
            if (uniform(who)) {
                const u32 of = __ffs((i32)who) - 1, lag = __shfl_sync(FULL, place - a, of);
                const u32 at = (u32)((u64)lane * (n - lag) / 32);
                const Word changed = elements[at] ^ elements[at + lag];
                const u32 bits = __reduce_add_sync(FULL, changed ? width_of(changed) : 0);
                if ((u64)bits * n <= 8 * (u64)bytes * 32) return 1;
            }
            const u32 kinds = __popc(__ballot_sync(FULL, count > 0)), most = warp_max(count > 1 ? count : 1);
            if (len) cost += warp_sum((u64)(count ? count * (logarithm_of(len) - logarithm_of(count)) : 0));
            samples += len;
            repeats += len + 1 > kinds + most ? len + 1 - kinds - most : 0;
        }
        const u64 of_body = 8 * 256 * 4 * (u64)bytes * samples;
        return repeats > sets / 4 && of_body >= 3 * (u64)n * cost ? 2 : 0;
    }
};

// For a whole block; a barrier before and behind.
template <class T> SELDOM bool may_be_smaller(Desk<T>& d, Shelf shelf, u32 bytes) {
    if (threadIdx.x < 32) {
        const u32 verdict = Probe<T>(d).ask(bytes);
        if (threadIdx.x == 0) d.count = verdict;
    }
    __syncthreads();
    const u32 verdict = d.count;
    __syncthreads();
    if (verdict == 2) return Forms<T>(d, shelf).make_list();
    return verdict == 1;
}

}    // namespace predict
