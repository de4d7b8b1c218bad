// What a tile costs in the forms of mode lossless, by the rules of src/codec/ratio/lossless/encode.rs: its codes as
// tokens, with and without a table of their own, and its words as symbols. One warp, one tile. All is in parts of a bit
// and in integers, so that CPU and GPU take the same form.
//
// A warp's memory, in front of its words: the elements in their order, and codes in the same order; then what forms
// list (lags, distinct elements, odd ones). Its shared memory has, by what is at work,
//
//   counts, more     how often symbols occur; in the groups that the table is for
//   fixed            what groups cost by the tables that are always there
//   costs            what symbols cost in the table at hand
//   encoding         what encodes the symbols of the tile's table
//   best, own, trial tables: of the choice so far, of the codes at hand, and one that may be better
#pragma once
#include "encode.cuh"
#include "forms.cuh"

namespace ratio {

enum : u32 {
    WIDE = MOST_SYMBOLS / 32,    // symbols of a lane
    FEWEST_LOW = 4,
    SHORT = 64,
    ZEROS = 16,
    FASTER = 256,
    NO_COST = 0xffffffff,
    // Of shared memory.
    COUNTS = 0,
    MORE = 4 * MOST_SYMBOLS,
    FIXED = 2 * MORE,
    COSTS = FIXED + 4 * GROUPS,
    ENCODING = 4096,
    BEST = 8192,
    OWN_TABLE = BEST + 2 * MOST_SYMBOLS,
    TRIAL = OWN_TABLE + 2 * MOST_SYMBOLS,
    // Of what forms list, behind elements and codes.
    LISTED_LAGS = 0,
    LISTED_ELEMENTS = 2 << (TILE_LOG2 - 4),
    ODD_PLACES = LISTED_ELEMENTS + 8 * MOST_RANKS,
    ODD_ELEMENTS = ODD_PLACES + (2 << (TILE_LOG2 - 3)),
    TOKEN_BYTES = ODD_ELEMENTS + (8 << (TILE_LOG2 - 3)),
};
static_assert(COSTS + 4 * MOST_SYMBOLS <= ENCODING && ENCODING + 8 * MOST_SYMBOLS <= BEST, "shared memory of a warp");
static_assert(TRIAL + 2 * MOST_SYMBOLS <= TILE_ENCODE_WARP_BYTES, "what the host reckons with");
static_assert(TOKEN_BYTES + (1 << TILE_LOG2) <= TILE_LISTED_BYTES, "what the host reckons with");

// How a tile is to be coded.
template <class T> struct Chosen {
    TileForm form;
    u32 set, own_table, bits, bare, bare_codes;    // bits: those of a code that stand beside the coder
    u32 digits, listed;                            // listed: distinct elements, or odd ones
    u32 cost;
    typename T::Word base;
};

// All of a tile, or as many of its elements each of which stands for several.
struct Part {
    u32 n, share;
    // What all of the tile costs, if symbols of the part do so much, and its table takes so many bytes.
    DEV u32 cost(u32 symbols, u32 table_bytes) const { return share * symbols + 8 * BIT * table_bytes; }
};
// How many low bits of codes stand beside the coder: as many as are cheaper there, or so many, 0 for none.
enum : u32 { OPEN = 64 };

// Where a warp has what, in memory: the areas in front of the words.
template <class T> DEV u32 lossless_bytes() {
    return 2 * ((u32)sizeof(typename T::Word) << TILE_LOG2) + TILE_LISTED_BYTES;
}
template <class T> DEV typename T::Word* elements_of(const Source<T>& s) {
    return (typename T::Word*)(s.words - lossless_bytes<T>());
}
template <class T> DEV typename T::Word* codes_of(const Source<T>& s) { return elements_of(s) + (1 << TILE_LOG2); }
template <class T> DEV typename T::Word* words_of(const Source<T>& s) { return (typename T::Word*)s.words; }
template <class T> DEV u8* listed_of(const Source<T>& s) { return s.words - TILE_LISTED_BYTES; }

// What symbols cost by their frequency, behind the tables that are always there. By a whole block.
enum : u32 { COST_OF = TILE_SYMBOL_BYTES };
static_assert((2 << TABLE_BITS) <= TILE_COST_BYTES, "what the host reckons with");
DEV void make_costs(u32 symbols) {
    for (u32 f = threadIdx.x; f < 1u << TABLE_BITS; f += blockDim.x)
        store_shared16(symbols + COST_OF + 2 * f, cost_of(f));
}

// Calls `visit` for each of n elements with its number and what `load` has of it; those of several steps are on their
// way together. For a whole warp.
template <u32 TOGETHER = 8, class Load, class Visit> DEV void for_each(u32 n, Load load, Visit visit) {
    const u32 lane = threadIdx.x & 31;
#pragma unroll 1
    for (u32 from = lane; uniform(from - lane < n); from += 32 * TOGETHER) {
        decltype(load(0u)) v[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++)
            if (from + 32 * k < n) v[k] = load(from + 32 * k);
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++)
            if (from + 32 * k < n) visit(from + 32 * k, v[k]);
    }
}

// A table's numbers, of a lane's symbols.
DEV void load_table(u32 table, u32 lane, u32 (&f)[WIDE]) {
#pragma unroll
    for (u32 k = 0; k < WIDE; k++) f[k] = load_shared16(table + 2 * (32 * k + lane));
}
DEV void copy_table(u32 from, u32 to, u32 lane) {
#pragma unroll
    for (u32 k = 0; k < WIDE; k++) store_shared16(to + 2 * (32 * k + lane), load_shared16(from + 2 * (32 * k + lane)));
}
DEV void set_counts(u32 counts, u32 lane, u32 v) {
#pragma unroll
    for (u32 k = 0; k < WIDE; k++) store_shared32(counts + 4 * (32 * k + lane), v);
}

// Finds the table that fits counts, what its symbols cost, and its bytes. For a whole warp; `at`: its shared memory.
SELDOM u32 fit_wide(u32 symbols, u32 at, u32 counts, u32 table) {
    const u32 lane = threadIdx.x & 31;
    u32 n[WIDE], f[WIDE];
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < WIDE; k++) n[k] = load_shared32(at + counts + 4 * (32 * k + lane));
    fit_to(n, lane, f);
#pragma unroll
    for (u32 k = 0; k < WIDE; k++) {
        store_shared16(at + table + 2 * (32 * k + lane), f[k]);
        store_shared32(at + COSTS + 4 * (32 * k + lane), load_shared16(symbols + COST_OF + 2 * f[k]));
    }
    __syncwarp();
    return put_table(f, lane, nullptr);
}
// What all symbols cost that were counted.
DEV u32 cost_of_counts(u32 at, u32 lane) {
    u32 sum = 0;
#pragma unroll
    for (u32 k = 0; k < WIDE; k++) {
        const u32 n = load_shared32(at + COUNTS + 4 * (32 * k + lane));
        sum += n ? n * load_shared32(at + COSTS + 4 * (32 * k + lane)) : 0;
    }
    return __reduce_add_sync(FULL, sum);
}

// Those of four numbers that are there.
template <class Word> DEV void load_some(const Word* p, u32 has, Word (&v)[QUAD]) {
    if (has == 15) {
        load_words(p, v);
    } else {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = has >> j & 1 ? p[j] : 0;
    }
}
DEV u32 there_of(u32 at, u32 n) { return at < n ? low_ones(min_of(n - at, (u32)QUAD)) : 0; }

// Calls `visit` for each 128 of n codes, of which `low` bits are left out: their number, which of a lane's are there,
// these, their tokens, and how many raw bits they have.
template <class Word, class Visit> DEV void for_codes(const Word* codes, u32 n, u32 low, Visit visit) {
    const u32 lane = threadIdx.x & 31;
    u32 at = QUAD * lane, next_has = there_of(at, n);
    Word next[QUAD];
    load_some(codes + at, next_has, next);
#pragma unroll 1
    for (u32 g = 0; uniform(g * GROUP < n); g++) {
        const u32 has = next_has;
        Word c[QUAD];
        u32 token[QUAD], raw = 0;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) c[j] = next[j] >> low;
        at += GROUP;
        next_has = there_of(at, n);
        load_some(codes + at, next_has, next);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            u32 bits;
            token[j] = token_of(c[j], bits);
            raw += bits;
        }
        visit(g, has, c, token, raw);
    }
}

// The same for tokens that are kept, four in a word: the number of the group, which of a lane's are there, and these.
template <class Visit> DEV void for_tokens(const u32* tokens, u32 n, Visit visit) {
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
    u32 at = QUAD * lane, next = at < n ? tokens[lane] : 0;
#pragma unroll 2
    for (u32 g = 0; uniform(g < groups); g++) {
        const u32 has = there_of(at, n), four = next;
        at += GROUP;
        next = at < n ? tokens[at / QUAD] : 0;
        const u32 token[QUAD] = {four & 255, four >> 8 & 255, four >> 16 & 255, four >> 24};
        visit(g, has, token);
    }
}

// The class of a group of codes among the tables that are always there; 0 if all are 0.
template <class Word> DEV u32 class_of_codes(u32 symbols, const Word (&c)[QUAD], const u32 (&token)[QUAD]) {
    u32 sum = 0, greatest = 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        sum += (u32)min_of((c[j] >> 1) + (c[j] & 1), (Word)(1 << 23));
        greatest = token[j] > greatest ? token[j] : greatest;
    }
    const u32 all = __reduce_add_sync(FULL, sum);
    if (!uniform(all)) return 0;
    const u32 small = __popc(__ballot_sync(FULL, sum <= all >> 7)), octave = top_bit(all);
    const u32 quarter = 1 + 4 * octave + (all << (31 - octave) >> 29 & 3), sparse = small > 10 && all > 8;
    const u32 found = load_shared16(symbols + CLASSES_AT + 2 * (128 * sparse + quarter));
    return uniform(__any_sync(FULL, greatest > found >> 8)) ? (sparse ? WIDEST_SPARSE : WIDEST) : found & 255;
}
// What a lane's tokens cost in the table of a class.
DEV u32 cost_in_class(u32 symbols, u32 cls, u32 has, const u32 (&token)[QUAD]) {
    const u32 costs = symbols + COSTS_AT + 2 * FIRSTS[cls];
    u32 sum = 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) sum += has >> j & 1 ? load_shared16(costs + 2 * token[j]) : 0;
    return sum;
}
DEV u32 cost_in_own(u32 at, u32 has, const u32 (&token)[QUAD]) {
    u32 sum = 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) sum += has >> j & 1 ? load_shared32(at + COSTS + 4 * token[j]) : 0;
    return sum;
}

// Bytes of the plane of low bits of n codes, and bits of what tells of it.
DEV u32 plane_bytes(u32 n, u32 bits, u32 bare_codes) { return ((n - bare_codes) * bits + 15) / 16 * 2; }
DEV u32 low_cost(u32 n, u32 bits, u32 bare_codes) { return 32 + 8 * plane_bytes(n, bits, bare_codes); }

// Low bits that say nothing of the lengths of all but a few codes, by how often their tokens occur.
DEV u32 low_bits_of_counts(u32 at, u32 n, u32 lane) {
    u32 before = 0, found = NO_COST;
#pragma unroll 1
    for (u32 k = 0; k < PARTS; k++) {
        const u32 up_to = before + warp_running_sum(load_shared32(at + COUNTS + 4 * (32 * k + lane)));
        const u32 beyond = __ballot_sync(FULL, up_to > n / SHORT);
        if (found == NO_COST && beyond) found = 32 * k + __ffs((i32)beyond) - 1;
        before = __shfl_sync(FULL, up_to, 31);
    }
    const u32 width = found < DIRECT ? top_bit(found) + 1 : 7 + (found - DIRECT) / 2;
    return width > 3 ? width - 3 : 0;
}

// What codes cost as tokens with so many low bits of each beside the coder, and a table for all groups, which is left
// in `table`.
template <class T>
SELDOM Chosen<T> cost_with_low(const Source<T>& s, u32 symbols, Chosen<T> choice, Part part, u32 bits, u32 table) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, at = uniform(s.plane);
    u32 raw = 0;
    __syncwarp();
    set_counts(at + COUNTS, lane, 0);
    __syncwarp();
    for_codes(codes_of(s), part.n, bits, [&](u32, u32 has, const Word(&)[QUAD], const u32(&token)[QUAD], u32 more) {
        raw += more;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++)
            if (has >> j & 1) count_shared(at + COUNTS + 4 * token[j]);
    });
    const u32 bytes = fit_wide(symbols, at, COUNTS, table);
    raw = __reduce_add_sync(FULL, raw) + low_cost(part.n, bits, 0);
    choice.cost = part.cost(cost_of_counts(at, lane) + BIT * raw, bytes);
    choice.own_table = 1;
    choice.bits = bits;
    choice.bare = choice.bare_codes = 0;
    return choice;
}

// What the codes of a tile cost as tokens, with and without a table of their own, which is left in `OWN_TABLE`; `low`:
// of which how many low bits stand beside the coder.
template <class T>
SELDOM Chosen<T> cost_of_tokens(const Source<T>& s, u32 symbols, Chosen<T> choice, Part part, u32 low) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, n = uniform(part.n), at = uniform(s.plane);
    if (uniform(low - 1 < OPEN - 1)) return cost_with_low(s, symbols, choice, part, low, OWN_TABLE);
    const Word* codes = codes_of(s);
    u32* const tokens = (u32*)(listed_of(s) + TOKEN_BYTES);
    u32 raw = 0, plain = 0, own = 0;    // of this lane, but for `plain` and `own`
    __syncwarp();
    set_counts(at + COUNTS, lane, 0);
    __syncwarp();
    for_codes(codes, n, 0, [&](u32 g, u32 has, const Word(&c)[QUAD], const u32(&token)[QUAD], u32 bits) {
        raw += bits;
        if (has) tokens[g * (GROUP / QUAD) + lane] = token[0] | token[1] << 8 | token[2] << 16 | token[3] << 24;
        const u32 cls = class_of_codes(symbols, c, token);
        const u32 cost = cls ? __reduce_add_sync(FULL, cost_in_class(symbols, cls, has, token)) : 0;
        plain += cost;
        if (lane == 0) store_shared32(at + FIXED + 4 * g, cls == OWN ? NO_COST : cost);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++)
            if (has >> j & 1) count_shared(at + COUNTS + 4 * token[j]);
    });
    raw = BIT * __reduce_add_sync(FULL, raw);
    fit_wide(symbols, at, COUNTS, TRIAL);
    const auto one_each = [&] {
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) {
            const u32 place = 4 * (32 * k + lane);
            store_shared32(at + MORE + place, load_shared32(at + COUNTS + place) ? 1 : 0);
        }
        __syncwarp();
    };
    one_each();
    for_tokens(tokens, n, [&](u32 g, u32 has, const u32(&token)[QUAD]) {
        if (!uniform(__reduce_add_sync(FULL, cost_in_own(at, has, token)) < load_shared32(at + FIXED + 4 * g))) return;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++)
            if (has >> j & 1) count_shared(at + MORE + 4 * token[j]);
    });
    u32 bytes = fit_wide(symbols, at, MORE, OWN_TABLE);
    for_tokens(tokens, n, [&](u32 g, u32 has, const u32(&token)[QUAD]) {
        own += min_of(__reduce_add_sync(FULL, cost_in_own(at, has, token)), load_shared32(at + FIXED + 4 * g));
    });
    choice.cost = part.cost(own + raw, bytes);
    plain = part.cost(plain + raw, 0);
    choice.own_table = choice.cost < plain;
    choice.cost = min_of(choice.cost, plain);
    choice.bits = choice.bare = choice.bare_codes = 0;
    const u32 bits = low == OPEN ? low_bits_of_counts(at, n, lane) : 0;
    if (uniform(bits < FEWEST_LOW)) return choice;
    const Chosen<T> other = cost_with_low(s, symbols, choice, part, bits, TRIAL);
    if (uniform(other.cost > choice.cost + choice.cost / FASTER)) return choice;
    copy_table(at + TRIAL, at + OWN_TABLE, lane);
    return other;
}

// The symbol that occurs most, and how many codes have it if all of these are without low bits. `code_at`: which code
// an element has.
template <class Word, class CodeAt> DEV uint2 bare_of(u32 at, u32 n, u32 bits, u32 lane, CodeAt code_at) {
    u32 key = 0;
#pragma unroll
    for (u32 k = 0; k < WIDE; k++) {
        const u32 own = load_shared32(at + COUNTS + 4 * (32 * k + lane)) << 8 | (255 - (32 * k + lane));
        key = own > key ? own : key;
    }
    key = __reduce_max_sync(FULL, key);
    const u32 symbol = 255 - (key & 255), count = key >> 8;
    if (!uniform(bits && 16 * count > n)) return make_uint2(0, 0);
    Word low = 0;
    for_each(n, code_at,
             [&](u32, Word code) { low |= (u32)(code >> bits) == symbol ? code ^ (Word)symbol << bits : 0; });
    return uniform(__any_sync(FULL, low != 0)) ? make_uint2(0, 0) : make_uint2(symbol, count);
}

// What words, to which `taken` belongs, cost as symbols; `sign`: what makes numbers from 0 on of them. The table is
// left in `OWN_TABLE`.
template <class T>
SELDOM Chosen<T> cost_of_symbols(const Source<T>& s, u32 symbols, TileForm form, const typename T::Word* words,
                                 Part part, typename T::Word taken, typename T::Word sign) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, n = uniform(part.n), at = uniform(s.plane);
    const auto number = [&](u32 i) { return wrap<T>(words[i] + taken) ^ sign; };
    Word least = ~(Word)0, most = 0;
    __syncwarp();
    for_each(n, number, [&](u32, Word v) {
        least = v < least ? v : least;
        most = v > most ? v : most;
    });
    least = warp_min(least);
    most = warp_max_of(most);
    // Symbols begin at a multiple of what one of them stands for, so that 0 has no low bits.
    const u32 width = width_of((Word)(most - least));
    u32 bits = width > 8 ? width - 8 : 0;
    if (((most - (least >> bits << bits)) >> bits) >= MOST_SYMBOLS) bits++;
    bits = uniform(bits);
    const Word first = least >> bits << bits;
    set_counts(at + COUNTS, lane, 0);
    __syncwarp();
    for_each(n, number, [&](u32, Word v) { count_shared(at + COUNTS + 4 * (u32)((v - first) >> bits)); });
    __syncwarp();
    Chosen<T> choice = {form, 0, 1, bits, 0, 0, 0, 0, 0, (Word)(first ^ sign)};
    choice.form.prediction = BY_SYMBOLS;
    // The cost with so many low bits; the table goes to `table`.
    const auto cost = [&](u32 table) {
        const u32 bytes = fit_wide(symbols, at, COUNTS, table);
        const uint2 bare = bare_of<Word>(at, n, bits, lane, [&](u32 i) { return number(i) - first; });
        const u32 low = bits ? low_cost(n, bits, bare.y) : 0,
                  sum = part.cost(cost_of_counts(at, lane) + BIT * low, bytes);
        if (table == OWN_TABLE || sum < choice.cost) {
            choice.bits = bits;
            choice.bare = bare.x;
            choice.bare_codes = bare.y;
            choice.cost = sum;
            return true;
        }
        return false;
    };
    cost(OWN_TABLE);
#pragma unroll 1
    while (uniform(bits + 1 < T::BITS)) {
        u32 two[WIDE], others = 0;
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) {
            const u32 symbol = 32 * k + lane;
            const uint2 pair = symbol < MOST_SYMBOLS / 2 ? load_shared64(at + COUNTS + 8 * symbol) : make_uint2(0, 0);
            two[k] = pair.x + pair.y;
            others |= symbol ? two[k] : pair.y;
        }
        if (!uniform(__any_sync(FULL, others != 0))) break;
        __syncwarp();
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) store_shared32(at + COUNTS + 4 * (32 * k + lane), two[k]);
        bits++;
        if (!uniform(cost(TRIAL))) break;
        copy_table(at + TRIAL, at + OWN_TABLE, lane);
    }
    return choice;
}

}    // namespace ratio
