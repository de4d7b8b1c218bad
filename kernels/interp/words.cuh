// Twin: src/codec/interp/entropy/encode.rs
// From codes to words, by a warp (docs/reference/codecs/interp.md §4, §5, §9): classes of groups, low bits, a table of
// the tile's own, a sparse tile's one state or the states of 32 lanes.
//
//   tables    of a block    all threads make them, then a barrier; all read
//   bench     of a warp     its lanes alone
#pragma once
#include "desk.cuh"

namespace interp::encoder {

enum : u32 {
    STATIC_SYMBOLS = sizeof(FREQUENCIES) / 2,
    CLASS_SYMBOLS = CLASSES * (CLASSES + 1),
    TOP = 1u << STATE_BITS,
    SORT_ROWS = 15,
    SORT_COLUMNS = sizeof(SORTS) / sizeof(SORTS[0]) / SORT_ROWS,
    MOST_GROUPS = ELEMENTS / GROUP,
};

// What encodes symbols of the tables that are always there, and what tokens cost with their raw bits.
struct alignas(16) Tables {
    uint4 tokens[STATIC_SYMBOLS], classes[CLASS_SYMBOLS];
    u16 costs[STATIC_SYMBOLS], sorts[SORT_ROWS * SORT_COLUMNS], firsts[TABLES + 1];

    DEV u32 size(u32 table) const { return firsts[table + 1] - firsts[table]; }
};
// What a warp has that makes words of a tile.
struct Bench {
    union {
        uint4 own[SYMBOLS];
        u32 count[SYMBOLS];    // before there are symbols
    };
    u16 frequency[SYMBOLS], cost[SYMBOLS];
    u8 classes[MOST_GROUPS];
    u32 states[STATE_WORDS];
    u32 has_own;    // the tile has a table of its own
};
// Units of so many elements as they are.
template <class T> DEV u32 units_of(u32 elements) { return (elements * (T::BITS / 8) + UNIT - 1) / UNIT; }
// Halves of a base.
DEV u32 halves_of_base(u64 base) {
    const u64 magnitude = base ^ (u64)((i64)base >> 63);
    const u32 bits = base == 0 ? 0 : magnitude ? top_bit(magnitude) + 2 : 1, halves = (bits + 15) / 16;
    return halves == 3 ? 4 : halves;
}

// Four codes of 8 bits, or two of 16, as codes without signs.
DEV u32 unsigned_bytes(u32 w) { return ((w << 1) & 0xfefefefeu) ^ (w >> 7 & 0x01010101u) * 255u; }
DEV u32 unsigned_halves(u32 w) { return ((w << 1) & 0xfffefffeu) ^ (w >> 15 & 0x00010001u) * 65535u; }

// What stands at the beginning of a sparse tile's codes.
#define SPARSE_HEAD(coded, is_long, is_odd) (((coded) - 1) | (is_long) << 7 | (is_odd) << 8)

// What encodes a symbol: the state from which on it takes a word, where its slots start, the reciprocal of its
// frequency, and how far that is shifted, with what the frequency lacks of all slots from bit 8 on.
DEV uint4 symbol_of(u32 start, u32 frequency) {
    if (frequency == 0) return make_uint4(0, start, 0, 0);
    const u32 shift = frequency > 1 ? top_bit(frequency - 1) + 1 : 0;
    return make_uint4(frequency << (STATE_BITS - TABLE_BITS), start,
                      (u32)((((u64)1 << (31 + shift)) + frequency - 1) / frequency),
                      ((1u << TABLE_BITS) - frequency) << 8 | shift);
}
// The state behind a symbol, of one that takes no word.
DEV u32 state_behind(u32 x, const uint4& s) { return x + (high_product(2 * x, s.z) >> (s.w & 31)) * (s.w >> 8) + s.y; }

DEV u32 raw_bits_of(u32 token) { return token < DIRECT ? 0 : 5 + (token - DIRECT) / 2; }
// What a symbol costs by its frequency.
DEV u32 cost_of(u32 frequency) { return TABLE_BITS * BIT - log2_of(frequency); }
// The token of a code.
template <class Word> DEV u32 token_of_code(Word code) {
    if (code < DIRECT) return (u32)code;
    const u32 octave = top_bit(code);
    return DIRECT + (octave - 6) * 2 + (u32)(code >> (octave - 1) & 1);
}
// The table of a class, and the low bits of its codes that stand apart.
DEV u32 table_of_class(u32 cls) { return cls == WIDE ? TABLES - 1 : min_of(cls, (u32)PLAIN); }
DEV u32 apart_of(u32 cls, u32 low) { return cls == 0 ? 0 : low + (cls > PLAIN ? cls - PLAIN : 0); }

// The symbols of the tables that are always there. For a whole block; a barrier has to follow.
DEV void make_symbols(Tables& t) {
#pragma unroll 1
    for (u32 i = threadIdx.x; i < STATIC_SYMBOLS; i += blockDim.x) {
        u32 table = 0, start = 0;
        while (FIRSTS[table + 1] <= i) table++;
        for (u32 k = FIRSTS[table]; k < i; k++) start += FREQUENCIES[k];
        t.tokens[i] = symbol_of(start, FREQUENCIES[i]);
        t.costs[i] = (u16)(cost_of(FREQUENCIES[i]) + BIT * raw_bits_of(i - FIRSTS[table]));
    }
    for (u32 i = threadIdx.x; i < SORT_ROWS * SORT_COLUMNS; i += blockDim.x) t.sorts[i] = SORTS[i];
    if (threadIdx.x <= TABLES) t.firsts[threadIdx.x] = FIRSTS[threadIdx.x];
#pragma unroll 1
    for (u32 i = threadIdx.x; i < CLASS_SYMBOLS; i += blockDim.x) {
        const u16* const starts = CLASS_STARTS + i / CLASSES * (CLASSES + 1) + i % CLASSES;
        t.classes[i] = symbol_of(starts[0], starts[1] - starts[0]);
    }
}

// Makes the frequencies those that fit the counts, and what symbols cost. For a whole warp.
SELDOM void fit(Bench& b) {
    const u32 lane = threadIdx.x & 31;
    enum : u32 { EACH = SYMBOLS / 32 };
    u32 total = 0, sum = 0, frequency[EACH];
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < EACH; k++) total += b.count[lane + 32 * k];
    total = __reduce_add_sync(FULL, total);
    total = total ? total : 1;
    const u64 reciprocal = ((u64)1 << 40) / total + 1;
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        const u32 count = b.count[lane + 32 * k];
        const u32 part = (u32)(((u64)((count << TABLE_BITS) + total / 2) * reciprocal) >> 40);
        frequency[k] = count ? part < 1 ? 1 : min_of(part, (1u << TABLE_BITS) - 1) : 0;
        sum += frequency[k];
    }
    sum = __reduce_add_sync(FULL, sum);
#pragma unroll 1
    while (uniform(sum != 1u << TABLE_BITS)) {
        u32 key = 0;
#pragma unroll
        for (u32 k = 0; k < EACH; k++) {
            const u32 own = frequency[k] << 8 | (SYMBOLS - 1 - (lane + 32 * k));
            key = own > key ? own : key;
        }
        key = __reduce_max_sync(FULL, key);
        const u32 greatest = SYMBOLS - 1 - (key & (SYMBOLS - 1)), most = key >> 8;
        u32 more = 0, one = 0;
        if (sum < 1u << TABLE_BITS) {
            more = min_of((1u << TABLE_BITS) - sum, (1u << TABLE_BITS) - 1 - most);
            sum += more;
            one = sum < 1u << TABLE_BITS;
            sum += one;
        } else {
            const u32 less = min_of(sum - (1u << TABLE_BITS), most / 8 ? most / 8 : 1);
            more = 0 - less;
            sum -= less;
        }
        const u32 other = greatest == 0 ? 1 : 0;
#pragma unroll
        for (u32 k = 0; k < EACH; k++) {
            if (lane + 32 * k == greatest) frequency[k] += more;
            if (lane + 32 * k == other) frequency[k] += one;
        }
    }
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        b.frequency[lane + 32 * k] = (u16)frequency[k];
        b.cost[lane + 32 * k] = (u16)(frequency[k] ? cost_of(frequency[k]) : SYMBOL_COST);
    }
    __syncwarp();
}
// Bytes of the table in a body. For a whole warp.
DEV u32 table_bytes(const Bench& b) {
    const u32 lane = threadIdx.x & 31;
    u32 last = 0, bytes = 0;
    for (u32 s = lane; s < SYMBOLS; s += 32) last = b.frequency[s] ? s : last;
    last = __reduce_max_sync(FULL, last);
    for (u32 s = lane; s <= last; s += 32) {
        const u32 f = b.frequency[s], before = s ? b.frequency[s - 1] : 1;
        bytes += (f > 0) + (f >= 128) + 2 * (f == 0 && before > 0);
    }
    bytes = __reduce_add_sync(FULL, bytes);
    return bytes + bytes % 2;
}
// The symbols of the table. For a whole warp.
DEV void make_own_symbols(Bench& b) {
    const u32 lane = threadIdx.x & 31;
    u32 start = 0;
    __syncwarp();
#pragma unroll 1
    for (u32 first = 0; first < SYMBOLS; first += 32) {
        const u32 f = b.frequency[first + lane], up_to = warp_running_sum(f);
        b.own[first + lane] = symbol_of(start + up_to - f, f);
        start += __shfl_sync(FULL, up_to, 31);
    }
    __syncwarp();
}
// Writes the table; how many halves. By one lane.
DEV u32 write_table(const Bench& b, u8* to) {
    u32 at = 0, sum = 0;
#pragma unroll 1
    for (u32 s = 0; sum < 1u << TABLE_BITS;) {
        const u32 f = b.frequency[s++];
        sum += f;
        if (f == 0) {
            u32 more = 0;
            while (s < SYMBOLS && b.frequency[s] == 0) {
                s++;
                more++;
            }
            to[at++] = 0;
            to[at++] = (u8)more;
        } else if (f < 128) {
            to[at++] = (u8)f;
        } else {
            to[at++] = (u8)(128 | f >> 8);
            to[at++] = (u8)f;
        }
    }
    if (at % 2) to[at++] = 0;
    return at / 2;
}

// A lane's part of a group.
template <class Code> struct Quad {
    Code code[QUAD];
    u32 has;

    template <class Show> DEV void each(Show show) const {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++)
            if (has >> j & 1) show(code[j]);
    }
};
// What decides the class of a group: the sum of magnitudes, codes other than 0, the greatest one.
template <class Code> struct GroupSums {
    u32 sum, nonzeros;
    Code most;
};

// Codes of a tile, each in a word. What is loaded is looked at later. ANY: of numbers of all sorts, symbols too.
template <class Word> struct InWords {
    typedef Word Code;
    typedef Quad<Word> Loaded;
    const Word* at;
    u32 n;

    enum : bool { ANY = true };
    DEV Word code(u32 i) const { return at[i]; }
    DEV Loaded load(u32 group, u32 lane) const {
        const u32 first = group * GROUP + lane * QUAD;
        Quad<Word> q;
        q.has = codes_there(n, group, lane);
        if constexpr (sizeof(Word) == 4)
            if (q.has == low_ones(QUAD)) {
                split(*(const uint4*)(at + first), q.code);
                return q;
            }
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) q.code[j] = q.has >> j & 1 ? at[first + j] : 0;
        return q;
    }
    DEV Quad<Word> quad(const Loaded& q, u32) const { return q; }
    DEV GroupSums<Word> sums(const Quad<Word>& q, u32 low) const {
        GroupSums<Word> g = {0, 0, 0};
        q.each([&](Word own) {
            const Word c = own >> low, m = (c >> 1) + (c & 1);
            g.sum += m < MOST_MAGNITUDE ? (u32)m : (u32)MOST_MAGNITUDE;
            g.nonzeros += own != 0;
            g.most = c > g.most ? c : g.most;
        });
        g.sum = __reduce_add_sync(FULL, g.sum);
        g.nonzeros = __reduce_add_sync(FULL, g.nonzeros);
        g.most = warp_max(g.most);
        return g;
    }
};

// The states of the lanes and the words of a tile, the last one first, in a buffer from its end on.
struct Writer {
    u16* stream;
    u32 at, x;
    u32 change;    // NEVER while states take no words
    u32 below;

    DEV void begin(u16* to, u32 halves, u32 lane) {
        stream = to;
        at = halves;
        x = 1;
        change = NEVER;
        below = low_ones(lane);
    }
    DEV void put(bool need) {
        const u32 all = __ballot_sync(FULL, need);
        at -= __popc(all);
        if (need) {
            stream[at + __popc(all & below)] = (u16)x;
            x >>= 16;
        }
    }
    DEV void symbol(const uint4& s, bool has) {
        put(has && x >= s.x);
        if (has) x = state_behind(x, s);
    }
    DEV void raw(u32 bits, u32 n) {
        put(x >> (STATE_BITS - n) != 0);
        x = x << n | bits;
    }
    // Encodes a step by `encode`, again if states have to be larger from here on.
    template <class Encode> DEV void step(u32 before, Encode encode) {
        if (uniform(change != NEVER)) {
            encode();
            return;
        }
        const u32 from = at, began = x;
        encode();
        if (uniform(at == from && __all_sync(FULL, x < TOP - LOW))) return;
        at = from;
        change = before;
        x = began + LOW;
        encode();
    }
};

// A warp that makes words of the codes of a tile.
template <class Source> struct Coding {
    typedef typename Source::Code Code;
    const Tables& t;
    Bench& b;
    Source codes;
    u32 n, groups, lane, number_bits, low;
    u32 least_sum;    // of magnitudes of a group that is not 0

    DEV Coding(const Tables& t, Bench& b, const Source& codes, u32 n, u32 number_bits)
        : t(t),
          b(b),
          codes(codes),
          n(n),
          groups((n + GROUP - 1) / GROUP),
          lane(threadIdx.x & 31),
          number_bits(number_bits),
          low(0),
          least_sum(~0u) {}
    DEV Quad<Code> quad(u32 g) const { return codes.quad(codes.load(g, lane), g); }
    // Shows one group of so many, while the next one comes.
    template <class Show> DEV void each_group(u32 every, Show show) const {
        u32 g = every / 2;
        typename Source::Loaded next = codes.load(g, lane);
#pragma unroll 1
        for (; uniform(g < groups); g += every) {
            const typename Source::Loaded own = next;
            next = codes.load(g + every, lane);
            show(g, own);
        }
    }
    DEV u32 len(u32 g) const { return min_of(n - g * GROUP, (u32)GROUP); }
    static DEV Code magnitude(Code c) { return (c >> 1) + (c & 1); }

    // Low bits of all codes that stand apart; `bits`: of elements' bits, by the widths of codes.
    DEV void find_low(bool bits) {
        u32 least = ~0u, zeros = 0, count = 0;
#pragma unroll 1
        for (u32 g = 0; uniform(g < n / GROUP); g++) {
            const Quad<Code> q = quad(g);
            u64 sum = 0;
            u32 none = 0;
            q.each([&](Code c) {
                sum += bits ? (c ? top_bit(c) + 1 : 0) : (u64)(magnitude(c) / GROUP);
                none += c == 0;
            });
            none = __reduce_add_sync(FULL, none);
            if (uniform(none == GROUP)) continue;
            sum = sizeof(Code) == 4 ? (u64)__reduce_add_sync(FULL, (u32)sum) : warp_sum(sum);
            const u32 width = (u32)sum / GROUP, octave = !bits ? top_bit(sum | 1) : width ? width - 1 : 0;
            least = min_of(least, octave);
            zeros += none;
            count += GROUP;
            // It only falls from here on.
            if (uniform(least < KEPT_BITS + FEWEST_LOW)) return;
        }
        if (uniform(least == ~0u)) return;
        const u32 own = min_of(least - KEPT_BITS, number_bits - LEAST_ABOVE_LOW);
        low = own < FEWEST_LOW || (u64)zeros * own * LOW_WORTH > count ? 0 : own;
    }

    // What codes of a group cost in a class, but for low bits apart. For a whole warp.
    DEV u32 cost_in(const Quad<Code>& q, u32 cls, u32 low) const {
        const u16* const costs = t.costs + t.firsts[table_of_class(cls)];
        const u32 shift = apart_of(cls, low);
        u32 cost = 0;
        q.each([&](Code c) { cost += costs[token_of_code((Code)(c >> shift))]; });
        return __reduce_add_sync(FULL, cost);
    }
    // The class of a group. For a whole warp.
    DEV u32 class_of(const Quad<Code>& q, u32 g) {
        const GroupSums<Code> sums = codes.sums(q, low);
        if (!uniform(sums.nonzeros)) return 0;
        const u32 sum = sums.sum ? sums.sum : 1;
        least_sum = min_of(least_sum, sum);
        // Those that low bits are all of count as one.
        const u32 nonzeros = low ? nonzeros_above(q) : sums.nonzeros, octave = top_bit(nonzeros), of_sum = top_bit(sum),
                  row = 2 * octave + (nonzeros * nonzeros >> (2 * octave + 1) != 0),
                  column = min_of(1 + 4 * of_sum + (u32)(((u64)sum << 2) >> of_sum & 3), (u32)SORT_COLUMNS - 1),
                  cell = t.sorts[row * SORT_COLUMNS + column], first = cell & 31, second = cell >> 5 & 31;
        const auto fits = [&](u32 cls) {
            return token_of_code((Code)(sums.most >> apart_of(cls, 0))) < t.size(table_of_class(cls));
        };
        const bool one = fits(first), other = fits(second);
        if (uniform(one && other && first != second)) {
            const i32 apart = (i32)(256 * len(g)) * (i32)(apart_of(second, low) - apart_of(first, low));
            return (i32)(cost_in(q, second, low) - cost_in(q, first, low)) + apart < 0 ? second : first;
        }
        return one ? first : other ? second : cell >> 10;
    }
    DEV u32 nonzeros_above(const Quad<Code>& q) const {
        u32 count = 0;
        q.each([&](Code c) { count += c >> low != 0; });
        count = __reduce_add_sync(FULL, count);
        return count ? count : 1;
    }
    // Whether any code is not 0.
    DEV bool find_classes() {
        u32 any = 0;
        least_sum = ~0u;
        each_group(1, [&](u32 g, const typename Source::Loaded& own) {
            const u32 cls = class_of(codes.quad(own, g), g);
            if (lane == 0) b.classes[g] = (u8)cls;
            any |= cls;
        });
        __syncwarp();
        return any;
    }

    // The table and classes of codes that are symbols; whether any is not 0.
    DEV bool take_symbols() {
        bool any = false;
        for (u32 i = lane; i < SYMBOLS; i += 32) b.count[i] = 0;
        __syncwarp();
#pragma unroll 1
        for (u32 g = 0; uniform(g < groups); g++) {
            Code all = 0;
            quad(g).each([&](Code code) {
                all |= code;
                atomicAdd(b.count + (u32)(code >> low), 1u);
            });
            const bool some = __any_sync(FULL, all != 0);
            any |= some;
            if (lane == 0) b.classes[g] = (u8)(some ? (u32)OWN : 0);
        }
        fit(b);
        make_own_symbols(b);
        return any;
    }

    // ---- A table of the tile's own.

    // Counts tokens of the groups of some classes, one of so many, for which a table is fitted then.
    DEV void fit_to(u32 chosen, u32 every) {
        for (u32 s = lane; s < SYMBOLS; s += 32) b.count[s] = 0;
        __syncwarp();
        each_group(every, [&](u32 g, const typename Source::Loaded& own) {
            if (!uniform(chosen >> b.classes[g] & 1)) return;
            codes.quad(own, g).each([&](Code c) { atomicAdd(b.count + token_of_code((Code)(c >> low)), 1u); });
        });
        fit(b);
    }
    // What groups cost by the table, each lane that of the class of its number.
    DEV u32 costs_by_table(u32 chosen, u32 every) const {
        u32 costs = 0;
        each_group(every, [&](u32 g, const typename Source::Loaded& own) {
            const u32 cls = b.classes[g];
            if (!uniform(chosen >> cls & 1)) return;
            u32 cost = 0;
            codes.quad(own, g).each([&](Code c) {
                const u32 token = token_of_code((Code)(c >> low));
                cost += b.cost[token] + BIT * raw_bits_of(token);
            });
            cost = __reduce_add_sync(FULL, cost);
            if (lane == cls) costs += cost;
        });
        return costs;
    }
    // What counted codes cost without a table and with the best one, and the classes that it is for.
    struct Fit {
        u64 before, after;
        u32 chosen;
    };
    DEV Fit fit_best(u32 every) {
        u32 used = 0, costs = 0;
        each_group(every, [&](u32 g, const typename Source::Loaded& own) {
            const u32 cls = b.classes[g];
            if (!uniform(cls)) return;
            used |= 1u << cls;
            const u32 cost = cost_in(codes.quad(own, g), cls, low) + 256 * len(g) * apart_of(cls, 0);
            if (lane == cls) costs += cost;
        });
        const u64 before = warp_sum((u64)costs);
        if (!uniform(used)) return {before, before, 0};
        fit_to(used, every);
        const u32 by_all = costs_by_table(used, every);
        const u32 chosen = __ballot_sync(FULL, by_all < costs);
        const u64 for_all = warp_sum((u64)by_all) + 8 * BIT * (u64)table_bytes(b) / every;
        if (uniform(chosen != used && chosen)) {
            fit_to(chosen, every);
            const u32 by_some = costs_by_table(chosen, every);
            const u64 for_some =
                warp_sum((u64)(chosen >> lane & 1 ? by_some : costs)) + 8 * BIT * (u64)table_bytes(b) / every;
            if (uniform(for_some < for_all)) return {before, for_some, chosen};
            fit_to(used, every);
        }
        return {before, for_all, used};
    }
    // Gives groups for which a table of their own is better the class of that; whether there are any.
    DEV bool choose_table() {
        const u32 every = groups > MANY_GROUPS ? COUNTED_EVERY : 1;
        if (uniform(every > 1)) {
            const Fit sampled = fit_best(every);
            if (uniform(sampled.after + sampled.before / TABLE_WORTH >= sampled.before)) return false;
        }
        const Fit all = fit_best(1);
        if (uniform(all.after >= all.before)) return false;
        __syncwarp();
        for (u32 g = lane; g < groups; g += 32) {
            const u32 cls = b.classes[g];
            if (cls) b.classes[g] = (u8)(all.chosen >> cls & 1 ? (u32)OWN : cls == OWN ? (u32)WIDE : cls);
        }
        make_own_symbols(b);
        return true;
    }
    // ---- Words.

    // Encodes the codes of a sparse tile from the end of `stream` on, with what stands before them; how many halves: ~0
    // if too many groups have codes. All lanes do the same.
    DEV u32 write_sparse(u16* stream) const {
        u32 nonzero = 0, coded = 1;
        for (u32 g = lane; g < groups; g += 32)
            if (b.classes[g]) {
                nonzero++;
                coded = g + 1;
            }
        nonzero = __reduce_add_sync(FULL, nonzero);
        coded = __reduce_max_sync(FULL, coded);
        if (uniform(nonzero > SPARSE_NONZERO)) return ~0u;
        u32 at = SPARSE_HALVES, x = 1;
        const auto store = [&](u32 half) {
            at--;
            if (lane == 0) stream[at] = (u16)half;
        };
        const auto put = [&] {
            store(x);
            x >>= 16;
        };
        const auto symbol = [&](const uint4& s) {
            if (x >= s.x) put();
            x = state_behind(x, s);
        };
#pragma unroll 1
        for (u32 g = coded; uniform(g > 0);) {
            const u32 cls = b.classes[--g], shift = apart_of(cls, 0);
            const uint4* const tokens = t.tokens + t.firsts[table_of_class(cls)];
            if (uniform(cls)) {
                const Quad<Code> q = quad(g);
#pragma unroll 1
                for (u32 of = (len(g) + QUAD - 1) / QUAD; uniform(of > 0);) {
                    const u32 has = __shfl_sync(FULL, q.has, --of);
#pragma unroll
                    for (u32 j = QUAD; j-- > 0;) {
                        const Code code = __shfl_sync(FULL, q.code[j], of);
                        if (!(has >> j & 1)) continue;
                        const u32 token = token_of_code((Code)(code >> shift)), raw = raw_bits_of(token) + shift;
#pragma unroll 1
                        for (u32 round = (raw + RAW_BITS - 1) / RAW_BITS; round-- > 0;) {
                            const u32 count = min_of(raw - round * RAW_BITS, (u32)RAW_BITS);
                            if (x >> (STATE_BITS - count)) put();
                            x = x << count | ((u32)(code >> (round * RAW_BITS)) & low_ones(count));
                        }
                        symbol(tokens[token]);
                    }
                }
            }
            symbol(t.classes[(g ? b.classes[g - 1] : (u32)FIRST) * CLASSES + cls]);
        }
        const u32 is_odd = SPARSE_HALVES - at & 1, is_long = x >> 16 != 0;
        if (is_long) store(x >> 16);
        store(x);
        store(SPARSE_HEAD(coded, is_long, is_odd));
        return SPARSE_HALVES - at;
    }

    // Encodes a group. For a whole warp.
    DEV void encode(Writer& w, const Quad<Code>& q, u32 shift, const uint4* symbols, bool direct) const {
        u32 token[QUAD];
        Code any = 0;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const Code c = q.code[j] >> shift;
            token[j] = (u32)c;
            any |= c;
        }
        if (!direct && uniform(__any_sync(FULL, any >= DIRECT))) {
            u32 raw[QUAD], most = 0;
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) {
                token[j] = token_of_code((Code)(q.code[j] >> shift));
                raw[j] = raw_bits_of(token[j]);
                most = raw[j] > most ? raw[j] : most;
            }
            most = __reduce_max_sync(FULL, most);
#pragma unroll 1
            for (u32 round = (most + RAW_BITS - 1) / RAW_BITS; round-- > 0;) {
                const u32 from = round * RAW_BITS;
#pragma unroll
                for (u32 j = QUAD; j-- > 0;) {
                    const u32 count = min_of(raw[j] > from ? raw[j] - from : 0, (u32)RAW_BITS);
                    w.raw((u32)(q.code[j] >> shift >> from) & low_ones(count), count);
                }
            }
        }
#pragma unroll
        for (u32 j = QUAD; j-- > 0;) {
            const bool there = q.has >> j & 1;
            w.symbol(symbols[there ? token[j] : 0], there);
        }
    }
    // Encodes all groups and their classes; false if words would pass half `limit`.
    DEV bool encode_all(Writer& w, bool direct, u32 limit) const {
        typename Source::Loaded next = codes.load(groups - 1, lane);
#pragma unroll 1
        for (u32 g = groups; uniform(g > 0);) {
            const u32 cls = b.classes[--g];
            const typename Source::Loaded own = next;
            next = codes.load(g ? g - 1 : 0, lane);
            if (!uniform(cls)) continue;
            if (uniform(w.at < limit)) return false;
            const Quad<Code> q = codes.quad(own, g);
            const uint4* const symbols = b.has_own && cls == OWN ? b.own : t.tokens + t.firsts[table_of_class(cls)];
            w.step(g + 1, [&] { encode(w, q, apart_of(cls, low), symbols, direct); });
        }
        w.step(0, [&] {
#pragma unroll 1
            for (u32 s = CLASSES_OF_LANE; s-- > 0;) {
                const u32 g = CLASSES_OF_LANE * lane + s;
                const bool has = g < groups;
                const u32 before = s == 0 || !has ? (u32)FIRST : b.classes[g - 1], cls = has ? b.classes[g] : 0;
                w.symbol(t.classes[before * CLASSES + cls], has);
            }
        });
        return true;
    }

    // Bits of all codes that stand apart.
    DEV u32 low_bits() const {
        u32 bits = 0;
        for (u32 g = lane; g < groups; g += 32) bits += len(g) * apart_of(b.classes[g], low);
        return __reduce_add_sync(FULL, bits);
    }
    // Writes them, in words that nobody else writes: a whole group has its own.
    DEV void write_low(u32* to) const {
        u32 at = 0;
#pragma unroll 1
        for (u32 g = 0; uniform(g < groups); g++) {
            const u32 shift = apart_of(b.classes[g], low);
            if (!uniform(shift)) continue;
            const u32 words = (len(g) * shift + 31) / 32, first = g * GROUP, count = len(g);
            const Code mask = ((Code)1 << shift) - 1;
#pragma unroll 1
            for (u32 k = lane; k < words; k += 32) {
                u32 word = 0;
                for (u32 i = 32 * k / shift; i < count && i * shift < 32 * (k + 1); i++) {
                    const i32 place = (i32)(i * shift) - (i32)(32 * k);
                    const u64 bits = codes.code(first + i) & mask;
                    word |= place >= 0 ? (u32)(bits << place) : (u32)(bits >> -place);
                }
                to[at + k] = word;
            }
            at += words;
        }
    }

    // Writes the final states; the bits of the longest one, and how many halves there are.
    DEV u32 write_states(u32 x, u16* to, u32& longest) {
        const u32 length = x == 1 ? 0 : top_bit(x) + 1;
        longest = __reduce_max_sync(FULL, length);
        if (!uniform(longest)) return 0;
        const u32 floor = floor_of(longest), above = length > floor ? length - floor : 0,
                  bits = bits_of_state(floor, above), up_to = warp_running_sum(bits),
                  all = LENGTH_BITS * 32 + __shfl_sync(FULL, up_to, 31);
        for (u32 i = lane; i < STATE_WORDS; i += 32) b.states[i] = 0;
        __syncwarp();
        atomicOr(b.states + lane / 8, above << (lane % 8 * LENGTH_BITS));
        const u32 at = LENGTH_BITS * 32 + up_to - bits;
        const u64 shifted = (u64)(x & low_ones(bits)) << (at % 32);
        atomicOr(b.states + at / 32, (u32)shifted);
        if (shifted >> 32) atomicOr(b.states + at / 32 + 1, (u32)(shifted >> 32));
        __syncwarp();
        const u32 halves = (all + 15) / 16;
        for (u32 i = lane; i < halves; i += 32) to[i] = (u16)(b.states[i / 2] >> (i % 2 * 16));
        __syncwarp();
        return halves;
    }
};

// The room for a body: its halves, and where words must not go below; what the front is before, and room for the side.
struct BodyRoom {
    u16* at;
    u32 halves, limit;
    const u16* front;
    u16* side;
};

// A body that is an element. For a whole warp.
DEV Body write_constant(const BodyRoom& room, u32 units, u64 element) {
    u32* const to = (u32*)(room.at + room.halves) - units;
    if ((threadIdx.x & 31) == 0)
        for (u32 i = 0; i < units; i++) to[i] = (u32)(element >> (32 * i));
    return {KIND_CONSTANT, units, room.halves - 2 * units, 2 * units, 0};
}
// Makes the body of a tile from the room's end on downwards: low bits, words, final states, a table, the front, base
// and head. Whether it takes less than the elements. `tile`: what `Coded` has. For a whole warp.
template <class T, class Source, class Tile>
DEV bool write_body(Coding<Source>& c, const Tile& tile, const BodyRoom& room, Body& body) {
    if (Source::ANY && room.limit >= room.halves) return false;    // the front alone takes more
    Bench& b = c.b;
    u16* const out = room.at;
    const u32 lane = c.lane, head = uniform(tile.head), front = uniform(tile.front_halves),
              base_halves = halves_of_base((u64)(i64)tile.base);
    const bool of_bits = Source::ANY && (head >> 5 & 3) == OF_BITS,
               direct = Source::ANY && (head >> 3 & 3) == BY_SYMBOLS;
    if (lane == 0) b.has_own = direct;
    __syncwarp();
    bool any, listed = false;
    if constexpr (Source::ANY) {
        listed = tile.listed;
        if (direct) c.low = tile.low;
    }
    if (uniform(direct)) {
        any = c.take_symbols();
    } else {
        any = c.find_classes();
        // Few tiles have groups all of whose codes are so long.
        const bool may_be_long = c.least_sum >> (KEPT_BITS + FEWEST_LOW) >= GROUP;
        if (uniform(any && (of_bits || (Source::ANY && c.n % GROUP) || may_be_long))) {
            c.find_low(of_bits);
            if (uniform(c.low)) any = c.find_classes();
        }
    }
    u32 at = room.halves, end = room.halves, low_words = 0, bits = head;
    if (!uniform(any)) {
        const u32 element_units = T::BITS < 32 ? 1 : T::BITS / 32;
        if (!uniform((head >> 8 & 1) | listed) && 2 + base_halves + front > 2 * element_units - 2) {
            body = write_constant(room, element_units, tile.constant);
            return !Source::ANY || body.units < units_of<T>(c.n);
        }
        // The set of axes says nothing, nor whether it is smooth.
        bits = (head & ~31u) | ((head >> 5 & 3) >= IN_STEPS) << 3 | NEVER << 10;
    } else {
        u32 sparse = ~0u;
        if (!uniform(c.low || direct)) sparse = c.write_sparse(out + room.halves - SPARSE_HALVES);
        if (uniform(sparse == ~0u && !direct)) {
            const bool own = c.choose_table();
            if (lane == 0) b.has_own = own;
            __syncwarp();
        }
        low_words = (c.low_bits() + 31) / 32;
        if (uniform(room.limit + 2 * low_words >= room.halves)) return false;
        at = end = room.halves - (uniform(sparse != ~0u) ? (u32)SPARSE_HALVES : 2 * low_words);
        Writer w;
        w.begin(out, end, lane);
        const bool good = c.encode_all(w, direct, room.limit), has_own = b.has_own;
        if (!uniform(good || sparse != ~0u)) return false;
        u32 side = 0, longest = 0;
        if (uniform(has_own)) {
            if (lane == 0) side = write_table(b, (u8*)room.side);
            side = __shfl_sync(FULL, side, 0);
        }
        side += c.write_states(w.x, room.side + side, longest);
        at = w.at;
        if (uniform(sparse != ~0u && (!good || sparse <= side + end - at))) {
            end = room.halves;
            at = end - sparse;
            low_words = 0;
            bits |= 1u << 9;
        } else {
            if (low_words) c.write_low((u32*)(out + room.halves) - low_words);
            at -= side;
            for (u32 i = lane; i < side; i += 32) out[at + i] = room.side[i];
            bits |= (u32)has_own << 7 | w.change << 10 | longest << 18 | c.low << 25;
        }
    }
    bits |= min_of(base_halves, 3u) << 23;
    at -= front;
    // Its places may be some of those where it is.
#pragma unroll 1
    for (u32 k = (front + 31) / 32 * 32; uniform(k > 0);) {
        const u32 i = (k -= 32) + lane, half = i < front ? room.front[i] : 0;
        __syncwarp();
        if (i < front) out[at + i] = (u16)half;
        __syncwarp();
    }
    at -= 2 + base_halves;
    body = {KIND_PACKED, (end - at + 1) / 2 + low_words, at, end - at, low_words};
    if (uniform(body.units >= units_of<T>(c.n))) return false;
    if (lane == 0) {
        if (at % 2) out[at - 1] = 0;    // is read with the first half
        out[at] = (u16)bits;
        out[at + 1] = (u16)(bits >> 16);
        for (u32 k = 0; k < base_halves; k++) out[at + 2 + k] = (u16)((u64)(i64)tile.base >> (16 * k));
    }
    return true;
}

}    // namespace interp::encoder
