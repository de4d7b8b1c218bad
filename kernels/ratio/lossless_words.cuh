// Words and codes of tiles that are kept bit for bit, in the order of the elements (docs/codecs/ratio.md §6, §8, §9),
// and what our encoder finds out about them: axes, lags, distinct elements, digits. One warp, one tile; lanes have
// neighbours.
#pragma once
#include "lossless_costs.cuh"

namespace ratio {

// Where elements lie in their tile, by their number.
struct Box {
    u32 n, lx, ly;
    u32 by_x, by_y;    // reciprocals, exact for numbers of elements

    DEV explicit Box(const Tile& t) {
        n = uniform(t.count());
        lx = uniform(t.lx);
        ly = uniform(t.ly);
        by_x = ~0u / lx + 1;
        by_y = ~0u / ly + 1;
    }
    DEV static u32 divided(u32 x, u32 by, u32 reciprocal) { return by > 1 ? high_product(x, reciprocal) : x; }
    DEV void place(u32 i, u32& x, u32& y, u32& z) const {
        const u32 row = divided(i, lx, by_x);
        x = i - row * lx;
        z = divided(row, ly, by_y);
        y = row - z * ly;
    }
};

// Copies the elements of a tile; the OR of all, and whether they differ. For a whole warp.
template <class T> SELDOM Survey<T> load_elements(const Source<T>& source) {
    typedef typename T::Word Word;
    const Source<T> s = source;
    const Box box(s.t);
    Word* const elements = elements_of(s);
    const Word first = s.element(0, 0, 0);
    Word any = 0, other = 0;
    const auto take = [&](u32 i, Word v) {
        any |= v;
        other |= v ^ first;
        elements[i] = v;
    };
    const u8* const line = s.src + s.t.origin * (T::BITS / 8);
    if (uniform(box.lx == box.n && s.step[0] == 1 && !s.big_endian && ((u64)line & (T::BITS / 8 - 1)) == 0)) {
        for_each(box.n, [&](u32 i) { return Source<T>::element_at(line + i * (T::BITS / 8)); }, take);
    } else {
        const auto element = [&](u32 i) {
            u32 x, y, z;
            box.place(i, x, y, z);
            return s.element(x, y, z);
        };
        for_each<4>(box.n, element, take);
    }
    any = warp_or(any);
    return {any, first, (u32)__any_sync(FULL, other != 0)};
}

// The part of a tile that tells which forms are worth trying on all of it (src/codec/ratio/lossless/sample.rs): chunks
// of 128 elements in a row. Of those for axes every other one is for forms.
enum : u32 { FEWEST = 8192, FOR_AXES = 4, FOR_FORMS = 2, SHARE = FOR_AXES * FOR_FORMS, NEAR = 16, NEAR_AXES = 32 };
DEV u32 chunks_of(u32 n) { return n / (FOR_AXES * GROUP); }
DEV u32 chunk_at(u32 h) { return GROUP * (FOR_AXES * h + h / 2 % FOR_AXES); }
DEV u32 sampled_of(u32 n) { return GROUP * ((chunks_of(n) + FOR_FORMS - 1) / FOR_FORMS); }
DEV u32 sampled_at(u32 i) { return chunk_at(FOR_FORMS * (i / GROUP)) + i % GROUP; }

// The word of an element in the order of numbers or magnitudes.
template <class T> DEV typename T::Word word_of(typename T::Word bits, u32 order, bool is_float, u32 shift) {
    typedef typename T::Word Word;
    if (order == MAGNITUDES) return wrap<T>(bits << 1 | bits >> (T::BITS - 1)) >> shift;
    if (is_float && negative<T>(bits)) bits ^= ((Word)1 << (T::BITS - 1)) - 1;
    return wrap<T>((Word)(Source<T>::extended(bits) >> shift));
}
// The words of all elements, less `base`. For a whole warp.
template <class T> DEV void make_words(const Source<T>& s, u32 order, u32 shift, typename T::Word base) {
    typedef typename T::Word Word;
    const Word* elements = elements_of(s);
    Word* words = words_of(s);
    const bool is_float = uniform(s.is_float);
    __syncwarp();
    for_each(
        uniform(s.t.count()), [&](u32 i) { return elements[i]; },
        [&](u32 i, Word v) { words[i] = wrap<T>(word_of<T>(v, order, is_float, shift) - base); });
    __syncwarp();
}

template <class T> struct SumOf {
    typedef u64 Type;
};
template <> struct SumOf<F16> {
    typedef u32 Type;
};
template <> struct SumOf<BF16> {
    typedef u32 Type;
};
template <> struct SumOf<B8> {
    typedef u32 Type;
};

// What the differences of all words along the axes of a set cost (src/codec/ratio/predict.rs), or of those that are
// looked at: each lane has it of set lane % 8. For a whole warp.
template <class T> SELDOM u32 cost_of_axes(const Source<T>& s, bool some) {
    typedef typename T::Word Word;
    typedef typename SumOf<T>::Type Sum;
    const Box box(s.t);
    const u32 lane = threadIdx.x & 31, allowed = uniform(s.grid->set()), plane = box.lx * box.ly;
    const bool has_y = allowed & 2, has_z = allowed & 4;
    const Word* words = words_of(s);
    const u32 chunks = some ? chunks_of(box.n) : (box.n + GROUP - 1) / GROUP;
    u32 cost = 0;
#pragma unroll 1
    for (u32 h = 0; uniform(h < chunks); h++) {
        const u32 from = some ? chunk_at(h) : h * GROUP;
        Sum sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        Word v[QUAD][8];    // of each element, and those before it along the axes of each set
        u32 within[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const u32 i = from + 32 * j + lane;
            u32 x, y, z;
            box.place(i, x, y, z);
            within[j] = i < box.n ? (x ? 1 : 0) | (has_y && y ? 2 : 0) | (has_z && z ? 4 : 0) | 8 : 0;
            const Word* p = words + i;
#pragma unroll
            for (u32 set = 0; set < 8; set++) {
                const u32 before = (set & 1) + (set & 2 ? box.lx : 0) + (set & 4 ? plane : 0);
                v[j][set] = (set & ~within[j]) == 0 && within[j] ? *(p - before) : 0;
            }
        }
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            Word d[8];
            const Word(&w)[8] = v[j];
            d[0] = w[0];
            d[1] = w[0] - w[1];
            d[2] = w[0] - w[2];
            d[3] = d[2] - (w[1] - w[3]);
            d[4] = w[0] - w[4];
            d[5] = d[4] - (w[1] - w[5]);
            d[6] = d[4] - (w[2] - w[6]);
            d[7] = d[6] - (w[1] - w[3] - (w[5] - w[7]));
#pragma unroll
            for (u32 set = 0; set < 8; set++) {
                if (set & ~allowed) continue;
                sum[set] += counted<T, Sum>(narrow<T>(set && (set & within[j]) == 0 ? d[7 - set] : d[set]));
            }
        }
        u32 own = 0;
#pragma unroll
        for (u32 set = 0; set < 8; set++) {
            if (uniform(set & ~allowed)) continue;
            const u32 of_set = logarithm_of_all(sum[set]);
            own = lane % 8 == set ? of_set : own;
        }
        cost += own;
    }
    return cost;
}

// The set of axes whose differences look shortest: of a large tile of those that do so by what is looked at. For a
// whole warp.
template <class T> DEV u32 choose_axes(const Source<T>& s) {
    const u32 set = threadIdx.x & 31, allowed = uniform(s.grid->set());
    bool among = set < 8 && (set & ~allowed) == 0;
    if (uniform(s.t.count() >= FEWEST)) {
        const u32 cost = cost_of_axes(s, true), least = __reduce_min_sync(FULL, among ? cost : ~0u);
        among = among && cost <= least + least / NEAR_AXES;
        const u32 sets = __ballot_sync(FULL, among);
        if (uniform(__popc(sets) == 1)) return top_bit(sets);
    }
    const u32 cost = cost_of_axes(s, false), least = __reduce_min_sync(FULL, among ? cost : ~0u);
    return (u32)__ffs((i32)__ballot_sync(FULL, among && cost == least)) - 1;
}

// The codes of words: of their differences along a set of axes, or by lags, or the words themselves; or those of the
// words that are looked at.
template <class T> SELDOM void make_codes(const Source<T>& s, u32 prediction, u32 set, bool some = false) {
    typedef typename T::Word Word;
    const Box box(s.t);
    const u32 plane = box.lx * box.ly;
    const Word* words = words_of(s);
    const u16* lags = (const u16*)(listed_of(s) + LISTED_LAGS);
    Word* codes = codes_of(s);
    __syncwarp();
    if (uniform(prediction == BY_AXES)) {
        const auto difference = [&](u32 at) {
            const u32 i = some ? sampled_at(at) : at;
            u32 x, y, z;
            box.place(i, x, y, z);
            const bool face = !(set & 1 && x) && !(set & 2 && y) && !(set & 4 && z);
            const u32 axes = set == 0 ? 0 : face ? 7 - set : set;
            const u32 within = axes & ((x ? 1 : 0) | (y ? 2 : 0) | (z ? 4 : 0));
            const Word* p = words + i;
            Word d = p[0];
#pragma unroll
            for (u32 one = 1; one < 8; one++) {
                const u32 before = (one & 1) + (one & 2 ? box.lx : 0) + (one & 4 ? plane : 0);
                const Word w = (one & ~within) == 0 ? *(p - before) : 0;
                d = one == 1 || one == 2 || one == 4 || one == 7 ? d - w : d + w;
            }
            return d;
        };
        for_each<4>(some ? sampled_of(box.n) : box.n, difference,
                    [&](u32 i, Word d) { codes[i] = to_zigzag<T>(wrap<T>(d)); });
    } else if (uniform(prediction == BY_LAGS)) {
        const auto difference = [&](u32 i) {
            const u32 lag = lags[i / SEGMENT];
            return words[i] - (lag && lag <= i ? words[i - lag] : 0);
        };
        for_each(box.n, difference, [&](u32 i, Word d) { codes[i] = to_zigzag<T>(wrap<T>(d)); });
    } else {
        for_each(box.n, [&](u32 i) { return words[i]; }, [&](u32 i, Word w) { codes[i] = w; });
    }
    __syncwarp();
}

// The leading bits of two words, so few that words which are near each other share them.
enum : u32 { HASH_LOG2 = 12, PROBES = 4, CHANGE = 16, ASKED = 8, FEW = 8 * ASKED, WORTH = 1024 };
template <class T> DEV u32 hash_of(typename T::Word word, typename T::Word next) {
    enum { LEADING = T::BITS == 64 ? 22 : T::BITS == 32 ? 12 : T::BITS < 10 ? T::BITS : 10, AWAY = T::BITS - LEADING };
    const u64 both = (u64)(word >> AWAY) << 22 | (u64)(next >> AWAY);
    return (u32)(both * 0x9E3779B97F4A7C15ull >> (64 - HASH_LOG2));
}
template <class T> DEV u32 difference_bits(typename T::Word a, typename T::Word b) {
    return width_of(magnitude_of((typename T::Word)Source<T>::extended(wrap<T>(a - b))));
}

// Nothing was seen yet; the place of what a word and the next one have been seen at last. Positions count from 1.
DEV void clear_seen(u32 seen) {
    __syncwarp();
    for (u32 i = threadIdx.x & 31; i < (2u << HASH_LOG2) / 16; i += 32)
        store_shared128(seen + 16 * i, make_uint4(0, 0, 0, 0));
    __syncwarp();
}
// Enters where words are: of several at one place the last one, as lanes follow each other. For a whole warp.
DEV void enter_seen(u32 place, u32 position, bool there) {
    const u32 lane = threadIdx.x & 31, same = __match_any_sync(FULL, there ? place : ~lane);
    __syncwarp();    // all have read
    if (there && same >> lane == 1) store_shared16(place, position);
    __syncwarp();
}
// How far word i is behind the like of it, if lags of its segment may be so far; else 0.
DEV u32 lag_at(u32 place, u32 i, u32 from) {
    const u32 position = load_shared16(place), lag = i + 1 - position;
    return position && lag >= SEGMENT && lag <= from ? lag : 0;
}

// Whether lags may pay, by one segment of eight: these are compared, of the others it is noted where they are. For a
// whole warp.
template <class T> SELDOM bool lags_may_pay(const Source<T>& s) {
    typedef typename T::Word Word;
    enum { LIKE = 2 };
    const u32 n = uniform(s.t.count()), seen = uniform(s.plane), lane = threadIdx.x & 31, half = lane / SEGMENT;
    const Word* words = words_of(s);
    if (uniform((n + SEGMENT - 1) / SEGMENT < FEW)) return true;
    clear_seen(seen);
    u32 all = 0, less = 0;
#pragma unroll 1
    for (u32 first = 0; uniform(first < n); first += ASKED * SEGMENT) {
        u32 place[QUAD];
        Word own[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const u32 i = first + 32 * j + lane;
            own[j] = i < n ? words[i] : 0;
            place[j] = seen + 2 * hash_of<T>(own[j], i < n ? words[min_of(i + 1, n - 1)] : 0);
        }
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const u32 i = first + 32 * j + lane;
            enter_seen(place[j], i + 1, i < n && (j < 3 || half == 0));
        }
        const u32 from = first + 7 * SEGMENT, i = from + lane % SEGMENT;
        if (!uniform(from < n)) break;
        const u32 far = half && i < n ? lag_at(place[3], i, from) : 0;
        const Word word = __shfl_sync(FULL, own[3], SEGMENT + lane % SEGMENT);
        u32 lag[LIKE];
        Word like[LIKE];
#pragma unroll
        for (u32 r = 0; r < LIKE; r++) {
            lag[r] = __shfl_sync(FULL, far, SEGMENT + PROBES * (LIKE * half + r));
            like[r] = lag[r] && i < n ? words[i - lag[r]] : 0;
        }
        const Word before = half == 0 && i < n ? words[i - 1] : 0;
        const u32 side = 16 * half,
                  two = __reduce_add_sync(FULL, (i < n ? difference_bits<T>(word, before) : 0) << side),
                  near = two & 0xffff;
        u32 best = min_of(near, (two >> 16) + CHANGE);
#pragma unroll
        for (u32 r = 0; r < LIKE; r++) {
            const u32 bits = __reduce_add_sync(FULL, (i < n ? difference_bits<T>(word, like[r]) : 0) << side);
            const u32 there = __ballot_sync(FULL, lag[r] != 0);
            if (there & 0xffff) best = min_of(best, (bits & 0xffff) + CHANGE);
            if (there >> 16) best = min_of(best, (bits >> 16) + CHANGE);
        }
        all += near;
        less += near - best;
        enter_seen(place[3], first + 96 + lane + 1, i < n && half);
    }
    return WORTH * less > all;
}

// Chooses the lags of all segments (src/codec/ratio/lossless/lags.rs); bits that they take in the body, 0 where none is
// worth more than the word before. Which words are alike does not depend on what is chosen, so that those of several
// segments are on their way together. For a whole warp, of which each half has a segment's words.
template <class T> SELDOM u32 choose_lags(const Source<T>& s) {
    typedef typename T::Word Word;
    enum { TOGETHER = 4, LIKE = 2 };    // LIKE: how many of the words to compare with a half of the warp has
    const u32 n = uniform(s.t.count()), seen = uniform(s.plane), lane = threadIdx.x & 31, half = lane / SEGMENT;
    const Word* words = words_of(s);
    u16* lags = (u16*)(listed_of(s) + LISTED_LAGS);
    if (!uniform(lags_may_pay(s))) return 0;
    clear_seen(seen);
    u32 last = 1, any = 0, changes = 0;
#pragma unroll 1
    for (u32 first = 0; uniform(first < n); first += TOGETHER * SEGMENT) {
        Word own[TOGETHER], next[TOGETHER], like[TOGETHER][LIKE], before[TOGETHER];
        u32 lag[TOGETHER][LIKE];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            const u32 i = first + SEGMENT * k + lane % SEGMENT;
            own[k] = i < n ? words[i] : 0;
            next[k] = i < n ? words[min_of(i + 1, n - 1)] : 0;
            before[k] = i < n && i && half == 0 ? words[i - 1] : 0;
        }
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            const u32 from = first + SEGMENT * k, i = from + lane % SEGMENT,
                      place = seen + 2 * hash_of<T>(own[k], next[k]);
            const u32 mine = i < n ? lag_at(place, i, from) : 0;
#pragma unroll
            for (u32 r = 0; r < LIKE; r++) {
                lag[k][r] = __shfl_sync(FULL, mine, PROBES * (LIKE * half + r));
                like[k][r] = lag[k][r] && i < n ? words[i - lag[k][r]] : 0;
            }
            enter_seen(place, i + 1, i < n && half == 0);
        }
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            const u32 from = first + SEGMENT * k, i = from + lane % SEGMENT;
            if (!uniform(from < n)) break;
            // Bits by the word before, and by themselves.
            const u32 side = 16 * half, near = __reduce_add_sync(FULL, difference_bits<T>(own[k], before[k]) << side);
            const u32 by_one = near & 0xffff, by_none = near >> 16;
            u32 of_last = last == 1 ? by_one : by_none, known = last < 2, best = NO_COST;
            if (last != 1) best = min_of(best, by_one + CHANGE << 16 | 1);
            if (last != 0) best = min_of(best, by_none + CHANGE << 16);
#pragma unroll
            for (u32 r = 0; r < LIKE; r++) {
                const u32 bits = __reduce_add_sync(FULL, (i < n ? difference_bits<T>(own[k], like[k][r]) : 0) << side);
#pragma unroll
                for (u32 h = 0; h < 2; h++) {
                    const u32 other = __shfl_sync(FULL, lag[k][r], SEGMENT * h), of_other = bits >> (16 * h) & 0xffff;
                    if (other == last && other) {
                        of_last = of_other;
                        known = 1;
                    } else if (other) {
                        best = min_of(best, of_other + CHANGE << 16 | other);
                    }
                }
            }
            if (!uniform(known)) {
                const u32 bits = i < n && half == 0 ? difference_bits<T>(own[k], words[i - last]) : 0;
                of_last = __reduce_add_sync(FULL, bits);
            }
            best = min_of(best, of_last << 16 | last) & 0xffff;
            changes += best != last;
            last = best;
            any |= last > 1;
            if (lane == 0) lags[from / SEGMENT] = (u16)last;
        }
    }
    __syncwarp();
    const u32 segments = (n + SEGMENT - 1) / SEGMENT;
    return any ? 16 * ((segments + SEGMENTS - 1) / SEGMENTS + changes) : 0;
}

// Distinct elements in shared memory: the low and the high halves, and whether a place is taken.
enum : u32 { PLACES_LOG2 = 9, HIGH_HALVES = 4 << PLACES_LOG2, TAKEN = 8 << PLACES_LOG2 };
static_assert((12 << PLACES_LOG2) <= BEST, "shared memory of a warp");
DEV u32 place_of_element(u64 v) { return (u32)(v * 0x9E3779B97F4A7C15ull >> (64 - PLACES_LOG2)); }
DEV bool is_at(u32 at, u32 v) { return load_shared32(at) == v; }
DEV bool is_at(u32 at, u64 v) {
    return load_shared32(at) == (u32)v && load_shared32(at + HIGH_HALVES) == (u32)(v >> 32);
}
DEV void put_at(u32 at, u32 v) { store_shared32(at, v); }
DEV void put_at(u32 at, u64 v) {
    store_shared32(at, (u32)v);
    store_shared32(at + HIGH_HALVES, (u32)(v >> 32));
}
DEV u32 value_at(u32 at, u32) { return load_shared32(at); }
DEV u64 value_at(u32 at, u64) { return load_shared32(at) | (u64)load_shared32(at + HIGH_HALVES) << 32; }
// The place that has an element, or would; whether it is there.
template <class Word> DEV bool find_element(u32 at, Word v, u32& place) {
#pragma unroll 1
    for (place = place_of_element(v); load_shared32(at + TAKEN + 4 * place); place = (place + 1) % (1 << PLACES_LOG2))
        if (is_at(at + 4 * place, v)) return true;
    return false;
}

// Lists the distinct elements of a tile in their order as numbers without sign; how many, or 0 if there are too many.
// For a whole warp.
template <class T> SELDOM u32 list_elements(const Source<T>& s) {
    typedef typename T::Word Word;
    const u32 n = uniform(s.t.count()), at = uniform(s.plane), lane = threadIdx.x & 31;
    const Word* elements = elements_of(s);
    Word* list = (Word*)(listed_of(s) + LISTED_ELEMENTS);
    __syncwarp();
    for (u32 i = lane; i < 1u << PLACES_LOG2; i += 32) store_shared32(at + TAKEN + 4 * i, 0);
    __syncwarp();
    u32 count = 0;
    Word next = elements[min_of(lane, n - 1)];
#pragma unroll 1
    for (u32 i = 0; uniform(i < n); i += 32) {
        const Word v = next;
        next = elements[min_of(i + 32 + lane, n - 1)];
        u32 place;
        bool is_new = !find_element(at, v, place);
        __syncwarp();
        for (;;) {
            const u32 left = __ballot_sync(FULL, is_new);
            if (!uniform(left)) break;
            if (uniform(count == MOST_RANKS)) return 0;
            const Word one = __shfl_sync(FULL, v, __ffs((i32)left) - 1);
            if (lane == 0) {
                find_element(at, one, place);
                put_at(at + 4 * place, one);
                store_shared32(at + TAKEN + 4 * place, 1);
                list[count] = one;
            }
            count++;
            is_new = is_new && v != one;
            __syncwarp();
        }
    }
    Word own[WIDE];
    u32 rank[WIDE];
#pragma unroll
    for (u32 k = 0; k < WIDE; k++) {
        own[k] = 32 * k + lane < count ? list[32 * k + lane] : 0;
        rank[k] = 0;
    }
#pragma unroll 1
    for (u32 i = 0; uniform(i < count); i++) {
        const Word other = list[i];
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) rank[k] += other < own[k];
    }
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < WIDE; k++)
        if (32 * k + lane < count) list[rank[k]] = own[k];
    __syncwarp();
    return count;
}

// Words that are the numbers of elements in the list, less `base`. For a whole warp.
template <class T> SELDOM void make_ranks(const Source<T>& s, u32 count, typename T::Word base) {
    typedef typename T::Word Word;
    const u32 n = uniform(s.t.count()), at = uniform(s.plane), lane = threadIdx.x & 31;
    const Word* elements = elements_of(s);
    const Word* list = (const Word*)(listed_of(s) + LISTED_ELEMENTS);
    Word* words = words_of(s);
    __syncwarp();
    for (u32 i = lane; i < count; i += 32) put_at(at + 4 * i, list[i]);
    __syncwarp();
    for_each(
        n, [&](u32 i) { return elements[i]; },
        [&](u32 i, Word v) {
            u32 rank = 0;
#pragma unroll
            for (u32 step = MOST_RANKS / 2; step; step /= 2)
                if (rank + step < count && value_at(at + 4 * (rank + step), v) <= v) rank += step;
            words[i] = rank - base;
        });
    __syncwarp();
}

// The integer of an element, and whether that gives it back (src/codec/ratio/lossless/decimals.rs).
template <class T> DEV bool integer_of(typename T::Word bits, double power, typename T::Word& integer) {
    const double most = T::BITS == 64 ? 2251799813685248.0 : 2147483648.0, middle = 6755399441055744.0;
    const double value = T::BITS == 64 ? float_of((u64)bits) : (double)float_of((u32)bits);
    const double k = (value * power + middle) - middle;
    integer = 0;
    if (!(fabs(k) < most)) return false;
    integer = (typename T::Word)(i64)k;
    return decimal_of(integer, power) == bits;
}

enum : u32 { DECIMAL_SAMPLE = 32, MOST_ODD_IN_SAMPLE = 3 };
// How many digits the elements may have; more than MOST_DIGITS where they are no decimals.
template <class T> DEV u32 digits_of(const Source<T>& s) {
    const u32 n = uniform(s.t.count()), lane = threadIdx.x & 31, i = (n + DECIMAL_SAMPLE - 1) / DECIMAL_SAMPLE * lane;
    const typename T::Word bits = i < n ? elements_of(s)[i] : 0;
    double power = 1;
    u32 digits = 0;
#pragma unroll 1
    for (; digits <= MOST_DIGITS; digits++) {
        typename T::Word integer;
        const bool is_odd = i < n && !integer_of<T>(bits, power, integer);
        if (uniform(__popc(__ballot_sync(FULL, is_odd)) <= MOST_ODD_IN_SAMPLE)) break;
        power *= 10;
    }
    return uniform(digits);
}
// Words that are the integers of elements; of those that have none, which are listed, the one before. How many these
// are; NO_COST if there are too many. For a whole warp.
template <class T> SELDOM u32 make_decimals(const Source<T>& s, u32 digits) {
    typedef typename T::Word Word;
    const u32 n = uniform(s.t.count()), lane = threadIdx.x & 31;
    const Word* elements = elements_of(s);
    Word *words = words_of(s), *odd = (Word*)(listed_of(s) + ODD_ELEMENTS), before = 0;
    u16* places = (u16*)(listed_of(s) + ODD_PLACES);
    const double power = power_of(digits);
    u32 count = 0;
    Word next = elements[min_of(lane, n - 1)];
#pragma unroll 1
    for (u32 i = 0; uniform(i < n); i += 32) {
        const Word bits = next;
        next = elements[min_of(i + 32 + lane, n - 1)];
        const bool there = i + lane < n;
        Word integer;
        const bool is_it = there && integer_of<T>(bits, power, integer);
        const u32 good = __ballot_sync(FULL, is_it), bad = __ballot_sync(FULL, there && !is_it);
        if (uniform(count + __popc(bad) > n / 8)) return NO_COST;
        if (bad >> lane & 1) {
            const u32 at = count + __popc(bad & low_ones(lane));
            places[at] = (u16)(i + lane);
            odd[at] = bits;
        }
        count += __popc(bad);
        const u32 up_to = good & low_ones(lane + 1);
        const Word nearest = __shfl_sync(FULL, is_it ? integer : (Word)0, up_to ? top_bit(up_to) : 0);
        const Word word = up_to ? nearest : before;
        if (there) words[i + lane] = word;
        before = __shfl_sync(FULL, word, 31);
    }
    __syncwarp();
    return count;
}

// The same less the first one, which is returned.
template <class T> DEV typename T::Word take_base(const Source<T>& s) {
    typedef typename T::Word Word;
    const u32 n = uniform(s.t.count());
    Word* words = words_of(s);
    const Word base = words[0];
    __syncwarp();
    for_each(n, [&](u32 i) { return words[i]; }, [&](u32 i, Word w) { words[i] = wrap<T>(w - base); });
    __syncwarp();
    return base;
}

}    // namespace ratio
