// Tiles that are kept bit for bit, in the form that takes least, by the rules of src/codec/ratio/lossless/encode.rs:
// every form is tried, what codes cost in it is counted, and the tile is encoded in the one that is chosen. One warp,
// one tile.
#pragma once
#include "lossless_words.cuh"

namespace ratio {

// The choice that is less, of the two; its table is kept.
template <class T> DEV bool keep_if_less(const Source<T>& s, Chosen<T>& best, const Chosen<T>& choice) {
    if (!uniform(choice.cost < best.cost)) return false;
    best = choice;
    const u32 at = uniform(s.plane);
    copy_table(at + OWN_TABLE, at + BEST, threadIdx.x & 31);
    return true;
}

// Of codes by their differences along axes.
template <class T>
DEV Chosen<T> by_axes(const Source<T>& s, u32 symbols, u32 order, u32 shift, typename T::Word base, u32 set, u32 low) {
    Chosen<T> choice = {{shift, order, BY_AXES, 0}, set, 0, 0, 0, 0, 0, 0, 0, base};
    make_codes(s, BY_AXES, set);
    return cost_of_tokens(s, symbols, choice, {s.t.count(), 1}, low);
}

// Copies words, or those that are looked at, to where codes stand; how many.
template <class T, class WordAt> DEV Part take_words(const Source<T>& s, bool some, WordAt word_at) {
    typedef typename T::Word Word;
    const u32 n = uniform(s.t.count());
    const Part part = {some ? sampled_of(n) : n, some ? (u32)SHARE : 1};
    Word* codes = codes_of(s);
    __syncwarp();
    for_each(part.n, [&](u32 i) { return word_at(some ? sampled_at(i) : i); }, [&](u32 i, Word w) { codes[i] = w; });
    __syncwarp();
    return part;
}

// Of words that stand as codes, where many are zero: these have the shortest code then. NO_COST where they are not.
template <class T> SELDOM Chosen<T> by_numbers(const Source<T>& s, u32 symbols, u32 shift, Part part) {
    typedef typename T::Word Word;
    Chosen<T> choice = {{shift, NUMBERS, BY_AXES, 0}, 0, 0, 0, 0, 0, 0, 0, NO_COST, 0};
    Word* codes = codes_of(s);
    u32 zeros = 0;
    for_each(part.n, [&](u32 i) { return codes[i]; }, [&](u32, Word w) { zeros += w == 0; });
    if (!uniform(ZEROS * __reduce_add_sync(FULL, zeros) >= part.n)) return choice;
    __syncwarp();
    for_each(part.n, [&](u32 i) { return codes[i]; }, [&](u32 i, Word w) { codes[i] = to_zigzag<T>(w); });
    __syncwarp();
    return cost_of_tokens(s, symbols, choice, part, OPEN);
}

// The form that a tile takes, of which `any` is the OR of all elements; its table is left in `BEST`, and what it lists
// in memory. Of a large tile some of the elements tell which forms are tried on all of it. For a whole warp.
template <class T> SELDOM Chosen<T> choose_form(const Source<T>& s, u32 symbols, typename T::Word any) {
    typedef typename T::Word Word;
    const u32 n = uniform(s.t.count()), shift = zeros_below<T>(any),
              zeros = zeros_below<T>(wrap<T>(any << 1 | any >> (T::BITS - 1)));
    const bool is_float = uniform(s.is_float), looks = n >= FEWEST;
    const Word sign = (Word)1 << (T::BITS - 1), base = word_of<T>(elements_of(s)[0], NUMBERS, is_float, shift);
    const Word *words = words_of(s), *elements = elements_of(s);
    const auto number = [&](u32 i) { return wrap<T>(words[i] + base); };
    const auto magnitude = [&](u32 i) { return word_of<T>(elements[i], MAGNITUDES, is_float, zeros); };
    Chosen<T> best, choice;
    best.cost = NO_COST;
    make_words(s, NUMBERS, shift, base);
    const u32 set = uniform(choose_axes(s));
    u32 costs[4] = {0, 0, 0, 0}, least = 0, low = OPEN;
    if (looks) {
        make_codes(s, BY_AXES, set, true);
        const Part part = {sampled_of(n), SHARE};
        choice = {{shift, NUMBERS, BY_AXES, 0}, set, 0, 0, 0, 0, 0, 0, 0, base};
        choice = cost_of_tokens(s, symbols, choice, part, OPEN);
        costs[0] = choice.cost;
        low = choice.bits;
        take_words(s, true, number);
        costs[1] = by_numbers(s, symbols, shift, part).cost;
        take_words(s, true, number);
        costs[2] = cost_of_symbols(s, symbols, {shift, NUMBERS, 0, 0}, codes_of(s), part, (Word)0, sign).cost;
        costs[3] = NO_COST;
        if (is_float) {
            take_words(s, true, magnitude);
            costs[3] = cost_of_symbols(s, symbols, {zeros, MAGNITUDES, 0, 0}, codes_of(s), part, (Word)0, (Word)0).cost;
        }
        least = min_of(min_of(costs[0], costs[1]), min_of(costs[2], costs[3]));
    }
    const u32 limit = least + least / NEAR;
    const Part part = {n, 1};
    if (uniform(costs[0] <= limit)) {
        choice = by_axes(s, symbols, NUMBERS, shift, base, set, low);
        keep_if_less(s, best, choice);
    }
    // The same words by their distances from earlier ones.
    const u32 lags_cost = choose_lags(s);
    if (uniform(lags_cost)) {
        make_codes(s, BY_LAGS, 0);
        choice = {{shift, NUMBERS, BY_LAGS, 0}, 0, 0, 0, 0, 0, 0, 0, 0, base};
        choice = cost_of_tokens(s, symbols, choice, part, OPEN);
        choice.cost += BIT * lags_cost;
        keep_if_less(s, best, choice);
    }
    if (uniform(costs[1] <= limit)) {
        take_words(s, false, number);
        keep_if_less(s, best, by_numbers(s, symbols, shift, part));
    }
    if (uniform(costs[2] <= limit))
        keep_if_less(s, best, cost_of_symbols(s, symbols, {shift, NUMBERS, 0, 0}, words, part, base, sign));
    if (is_float && uniform(costs[3] <= limit)) {
        make_words(s, MAGNITUDES, zeros, (Word)0);
        keep_if_less(s, best, cost_of_symbols(s, symbols, {zeros, MAGNITUDES, 0, 0}, words, part, (Word)0, (Word)0));
    }
    if constexpr (T::BITS > 8) {
        const u32 count = uniform(list_elements(s));
        if (count) {
            make_ranks(s, count, 0);
            choice = cost_of_symbols(s, symbols, {0, RANKS, 0, 0}, words, part, (Word)0, (Word)0);
            choice.cost += BIT * (16 + count * T::BITS);
            choice.listed = count;
            keep_if_less(s, best, choice);
        }
    }
    if constexpr (T::BITS >= 32) {
        const u32 digits = is_float ? digits_of(s) : (u32)NO_COST;
        const u32 odd = uniform(digits) <= MOST_DIGITS ? uniform(make_decimals(s, digits)) : (u32)NO_COST;
        if (odd != NO_COST) {
            const Word first = take_base(s);
            choice = by_axes(s, symbols, DECIMALS, 0, first, uniform(choose_axes(s)), OPEN);
            choice.digits = digits;
            choice.listed = odd;
            choice.cost += BIT * (32 + odd * (16 + T::BITS));
            keep_if_less(s, best, choice);
        }
    }
    return best;
}

// What stands between base and states of a tile in its form.
template <class T> struct FormSide {
    typedef typename T::Word Word;
    enum { SIZE = T::BITS / 8 };
    const Source<T>& s;
    const Chosen<T>& choice;
    u32 bytes, of_lags, of_table;

    DEV FormSide(const Source<T>& source, const Chosen<T>& its) : s(source), choice(its) {
        const u32 lane = threadIdx.x & 31, n = uniform(s.t.count()), order = choice.form.order;
        of_lags = of_table = 0;
        if (uniform(choice.form.prediction == BY_LAGS)) of_lags = put_lags(nullptr);
        if (uniform(choice.own_table)) {
            u32 f[WIDE];
            load_table(s.plane + BEST, lane, f);
            of_table = put_table(f, lane, nullptr);
        }
        bytes = of_lags + of_table + (choice.bits ? 4 + plane_bytes(n, choice.bits, choice.bare_codes) : 0);
        if (order == RANKS) bytes += 2 + SIZE * choice.listed;
        if (order == DECIMALS) bytes += 4 + (2 + SIZE) * choice.listed;
    }
    template <class Source> DEV u32 form(const Source&) const {
        const TileForm form = {choice.form.shift, choice.form.order, choice.form.prediction, choice.bits > 0};
        return form.bits();
    }
    DEV bool has_table() const { return choice.own_table; }
    // Writes elements that are listed.
    DEV static void put_elements(const Word* from, u32 count, u16* to) {
        for (u32 i = threadIdx.x & 31; i < count * (SIZE / 2); i += 32)
            to[i] = (u16)(from[i / (SIZE < 2 ? 1 : SIZE / 2)] >> (16 * (i % (SIZE < 2 ? 1 : SIZE / 2))));
    }
    // Which segments have another lag than the one before, and these; their bytes. Where `to` is null nothing is
    // written.
    DEV u32 put_lags(u16* to) const {
        const u32 lane = threadIdx.x & 31, segments = (s.t.count() + SEGMENT - 1) / SEGMENT,
                  masks = (segments + SEGMENTS - 1) / SEGMENTS;
        const u16* lags = (const u16*)(listed_of(s) + LISTED_LAGS);
        u32 count = masks;
#pragma unroll 1
        for (u32 from = 0; uniform(from < segments); from += 32) {
            const u32 i = from + lane, lag = i < segments ? lags[i] : 0;
            const u32 changed = __ballot_sync(FULL, i < segments && lag != (i ? lags[i - 1] : 1u));
            if (to && lane < 2 && from / SEGMENTS + lane < masks)
                to[from / SEGMENTS + lane] = (u16)(changed >> (16 * lane));
            if (to && changed >> lane & 1) to[count + __popc(changed & low_ones(lane))] = (u16)lag;
            count += __popc(changed);
        }
        return 2 * count;
    }
    // The low bits of codes, which are where the elements were.
    DEV void put_low(u16* to) const {
        const u32 lane = threadIdx.x & 31, r = uniform(choice.bits), count = s.t.count() - choice.bare_codes;
        const Word* low = elements_of(s);
        if (lane < 2) to[lane] = (u16)(lane ? choice.bare_codes : r | choice.bare << 8);
        const u32 halves = (count * r + 15) / 16, by = ~0u / r + 1;
        const auto half = [&](u32 i) {
            u32 k = Box::divided(16 * i, r, by), bits = r - (16 * i - k * r);
            u32 v = (u32)(low[k] >> (r - bits));
            for (; bits < 16 && ++k < count; bits += r) v |= (u32)low[k] << bits;
            return v;
        };
        for_each<4>(halves, half, [&](u32 i, u32 v) { to[2 + i] = (u16)v; });
    }
    DEV void write(u8* place) const {
        const u32 lane = threadIdx.x & 31, order = choice.form.order, listed = choice.listed;
        u16* to = (u16*)place;
        if (uniform(order == RANKS)) {
            if (lane == 0) to[0] = (u16)listed;
            put_elements((const Word*)(listed_of(s) + LISTED_ELEMENTS), listed, to + 1);
            to += 1 + listed * SIZE / 2;
        }
        if (uniform(order == DECIMALS)) {
            const u16* places = (const u16*)(listed_of(s) + ODD_PLACES);
            if (lane < 2) to[lane] = (u16)(lane ? listed : choice.digits);
            for (u32 i = lane; i < listed; i += 32) to[2 + i] = places[i];
            put_elements((const Word*)(listed_of(s) + ODD_ELEMENTS), listed, to + 2 + listed);
            to += 2 + listed + listed * SIZE / 2;
        }
        if (uniform(of_lags)) put_lags(to);
        to += of_lags / 2;
        if (uniform(of_table)) {
            u32 f[WIDE];
            load_table(s.plane + BEST, lane, f);
            put_table(f, lane, (u8*)to);
        }
        to += of_table / 2;
        if (uniform(choice.bits)) put_low(to);
    }
};

// Takes the low bits off the codes; they come to stand where the elements were. For a whole warp.
template <class T> DEV void split_codes(const Source<T>& s, const Chosen<T>& choice) {
    typedef typename T::Word Word;
    const u32 n = uniform(s.t.count()), lane = threadIdx.x & 31, bits = uniform(choice.bits);
    Word *codes = codes_of(s), *low = elements_of(s);
    enum { TOGETHER = 8 };
    u32 count = 0;
#pragma unroll 1
    for (u32 from = 0; uniform(from < n); from += 32 * TOGETHER) {
        Word v[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            const u32 i = from + 32 * k + lane;
            v[k] = i < n ? codes[i] : 0;
        }
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            const u32 i = from + 32 * k + lane;
            const Word high = v[k] >> bits;
            const bool has = i < n && !(choice.bare_codes && high == choice.bare);
            const u32 all = __ballot_sync(FULL, has);
            if (has) low[count + __popc(all & low_ones(lane))] = v[k] & (((Word)1 << bits) - 1);
            if (i < n) codes[i] = high;
            count += __popc(all);
        }
    }
    __syncwarp();
}

// Puts codes to their places, 0 where there is no element. For a whole warp.
template <class T> DEV void spread_codes(const Source<T>& s) {
    typedef typename T::Word Word;
    const Box box(s.t);
    const u32 lane = threadIdx.x & 31, places = s.grid->groups() * GROUP, a = s.grid->a, b = s.grid->b;
    const Word* codes = codes_of(s);
    Word* words = words_of(s);
    for (u32 i = QUAD * lane; i < places; i += GROUP) {
        const Word none[QUAD] = {0, 0, 0, 0};
        store_words(words + i, none);
    }
    __syncwarp();
    for_each(
        box.n, [&](u32 i) { return codes[i]; },
        [&](u32 i, Word code) {
            u32 x, y, z;
            box.place(i, x, y, z);
            words[(z << b | y) << a | x] = code;
        });
    __syncwarp();
}

// Codes at their places to a body in front of `end`, of fewer bytes than `limit`; else NO_BODY are its bytes. `exact`:
// whether the stream has bins. It has registers of its own.
template <class T>
SELDOM Made encode_places(const Source<T>& s, u32 symbols, const Chosen<T>& choice, bool whole, bool exact, u8* end,
                          u32 limit) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, groups = uniform(s.grid->groups()), at = uniform(s.plane);
    const bool own = uniform(choice.own_table), direct = uniform(choice.form.prediction == BY_SYMBOLS),
               every = uniform(choice.bits > 0);
    const FormSide<T> side(s, choice);
    Groups all = {choice.set, 0, 0, 0};
    Writer w = {1, 0, low_ones(lane), end};
    if (uniform(side.bytes >= limit)) return {KIND_RAW, NO_BODY, all.set, nullptr};
    if (own) {
        u32 f[WIDE], start = 0;
        load_table(at + BEST, lane, f);
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) {
            const u32 t = 32 * k + lane, up_to = warp_running_sum(f[k]);
            const uint2 symbol = symbol_of(start + up_to - f[k], f[k]);
            store_shared32(at + ENCODING + 8 * t, symbol.x);
            store_shared32(at + ENCODING + 8 * t + 4, symbol.y);
            store_shared32(at + COSTS + 4 * t, load_shared16(symbols + COST_OF + 2 * f[k]));
            start += __shfl_sync(FULL, up_to, 31);
        }
        __syncwarp();
    }
    const Word* places = (whole ? codes_of(s) : words_of(s)) + QUAD * lane;
    u32 change = NEVER;
    Word next[QUAD];
    load_words(places + (groups - 1) * GROUP, next);
#pragma unroll 1
    for (u32 i = groups; uniform(i-- > 0);) {
        Word c[QUAD], most = 0;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            c[j] = next[j];
            most = c[j] > most ? c[j] : most;
        }
        if (uniform(i > 0)) load_words(places + (i - 1) * GROUP, next);
        const u32 has = whole ? 15 : quad_of(*s.grid, s.t, i, lane).has;
        if (!uniform(__any_sync(FULL, has))) continue;
        if (i / BATCH_GROUPS == lane) all.some |= 1u << i % BATCH_GROUPS;
        if (!uniform(__any_sync(FULL, most != 0))) continue;
        u32 cls = OWN, token[QUAD], raw;
        // With low bits beside the coder all groups have the tile's table.
        if (!direct && !every) {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) token[j] = token_of(c[j], raw);
            cls = class_of_codes(symbols, c, token);
            if (own && cls != OWN) {
                const u32 by_own = __reduce_add_sync(FULL, cost_in_own(at, has, token)),
                          by_class = __reduce_add_sync(FULL, cost_in_class(symbols, cls, has, token));
                cls = uniform(by_own < by_class) ? (u32)OWN : cls;
            }
        }
        if (i / BATCH_GROUPS == lane) all.classes |= cls << (4 * (i % BATCH_GROUPS));
        const u32 table = own && cls == OWN ? at + ENCODING : symbols + cls * (8 * TOKENS);
        // States begin at 1 and grow; where a word would be needed they are made as large as they have to be.
        const u32 x = w.x, used = w.used;
#pragma unroll 1
        for (;;) {
            if (uniform(whole))
                encode_codes_of_group<true>(w, table, c, most, 15, direct);
            else
                encode_codes_of_group<false>(w, table, c, most, has, direct);
            if (!uniform(change == NEVER && (w.used != used || __any_sync(FULL, w.x >= TOP - LOW)))) break;
            w.x = x + LOW;
            w.used = used;
            change = i + 1;
        }
        if (uniform(side.bytes + 2 * w.used >= limit)) return {KIND_RAW, NO_BODY, all.set, nullptr};
    }
    return end_tile(s, symbols, w, all, change, exact, side, limit);
}

// Parts of a bit that a form may be estimated to cost that is to take less than so many bytes: a little more.
DEV u32 most_cost(u32 bytes) { return 8 * BIT * (bytes + bytes / 64); }

// The body of a tile in the form that takes least, in front of `end` and of fewer bytes than `limit`; else, or if it
// costs more than `most` parts of a bit, NO_BODY are its bytes. `exact`: whether the stream has bins. For a whole warp;
// it has registers of its own.
template <class T> SELDOM Made lossless_body(Source<T>& s, u32 symbols, bool exact, u8* end, u32 limit, u32 most) {
    const u32 lane = threadIdx.x & 31, n = s.t.count();
    const Survey<T> all = load_elements(s);
    mean(s, BITS, zeros_below<T>(all.any), 0);
    if (!uniform(all.exact)) {
        const Writer w = {1, 0, low_ones(lane), end};
        return flat_tile(s, symbols, Groups{0, 0, 0, 0}, w, exact, limit);
    }
    const Chosen<T> choice = choose_form(s, symbols, all.any);
    const Made none = {KIND_RAW, NO_BODY, 0, nullptr};
    if (uniform(choice.cost > min_of(most, BIT * n * T::BITS))) return none;
    if (uniform(choice.form.order < DECIMALS)) make_words(s, choice.form.order, choice.form.shift, choice.base);
    if (uniform(choice.form.order == RANKS)) make_ranks(s, choice.listed, choice.base);
    make_codes(s, choice.form.prediction, choice.set);
    if (uniform(choice.bits)) split_codes(s, choice);
    const bool whole = uniform(n == s.grid->capacity() && n % BATCH == 0);
    if (!whole) spread_codes(s);
    __syncwarp();
    if (lane == 0) s.base = choice.base;
    __syncwarp();
    return encode_places(s, symbols, choice, whole, exact, end, limit);
}

}    // namespace ratio
