// From codes to words, by a warp: src/codec/predict/encode.rs, counts.rs, own_table.rs and sparse.rs in CUDA
// (docs/reference/codecs/predict.md §4 to §6, §12). Tables stand in shared memory meanwhile.
#pragma once
#include "costs.cuh"

namespace predict {

enum : u32 {
    STATIC_SYMBOLS = sizeof(FREQUENCIES) / 2,
    ALL_SYMBOLS = STATIC_SYMBOLS + TABLES * (TABLES + 1),
    TOP = 1u << STATE_BITS,
};

// Which groups a tile's own table is for.
enum Own_of : u32 { NO_TABLE, OF_CLASSES, OF_CHEAPER, OF_ALL, OF_EVERY };

// What a warp that codes has in shared memory.
struct Bench_of_coder {
    uint4 symbols[ALL_SYMBOLS];    // of the tables that are always there, then those of classes
    uint4 own[SYMBOLS];            // of the tile's own table
    u32 frequency[SYMBOLS], cost[SYMBOLS], count[SYMBOLS];
    u32 sums[STATIC_SYMBOLS];          // how often tokens occur in groups of each class, as FREQUENCIES stand
    u8 classes[ELEMENTS / GROUP];      // of groups, among the tables that are always there
    u8 own_group[ELEMENTS / GROUP];    // those that they are coded by
    u32 used, coded;                   // the classes that there are; groups up to the last one that has codes
    u64 own_classes;                   // the class that groups of each class get, four bits each
    u32 own_of;
};
static_assert(sizeof(Bench_of_coder) <= PREDICT_NUMBER_BYTES, "it stands where numbers do");

DEV uint4 symbol_of(u32 start, u32 frequency) {
    if (frequency == 0) return make_uint4(0, start, 0, 0);
    const u32 shift = frequency > 1 ? top_bit(frequency - 1) + 1 : 0;
    return make_uint4(frequency, start, (u32)((((u64)1 << (31 + shift)) + frequency - 1) / frequency), shift);
}
// The symbols of the tables that are always there. For a whole block.
DEV void make_symbols(uint4* symbols) {
#pragma unroll 1
    for (u32 i = threadIdx.x; i < ALL_SYMBOLS; i += blockDim.x) {
        if (i >= STATIC_SYMBOLS) {
            const u32 k = i - STATIC_SYMBOLS;
            const u16* const starts = CLASS_STARTS + k / TABLES * (TABLES + 1) + k % TABLES;
            symbols[i] = symbol_of(starts[0], starts[1] - starts[0]);
            continue;
        }
        u32 table = 0, start = 0;
        while (FIRSTS[table + 1] <= i) table++;
        for (u32 k = FIRSTS[table]; k < i; k++) start += FREQUENCIES[k];
        symbols[i] = symbol_of(start, FREQUENCIES[i]);
    }
}

// Makes the frequencies those that fit the counts, and what symbols cost. For a whole warp.
SELDOM void fit(Bench_of_coder& b) {
    const u32 lane = threadIdx.x & 31;
    u32 total = 0;
    __syncwarp();
#pragma unroll
    for (u32 s = lane; s < SYMBOLS; s += 32) total += b.count[s];
    total = __reduce_add_sync(FULL, total);
    total = total ? total : 1;
    const u64 reciprocal = ((u64)1 << 40) / total + 1;
    u32 sum = 0, frequency[SYMBOLS / 32];
#pragma unroll
    for (u32 k = 0; k < SYMBOLS / 32; k++) {
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
        for (u32 k = 0; k < SYMBOLS / 32; k++) {
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
        for (u32 k = 0; k < SYMBOLS / 32; k++) {
            if (lane + 32 * k == greatest) frequency[k] += more;
            if (lane + 32 * k == other) frequency[k] += one;
        }
    }
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < SYMBOLS / 32; k++) {
        b.frequency[lane + 32 * k] = frequency[k];
        b.cost[lane + 32 * k] = cost_of(frequency[k]);
    }
    __syncwarp();
}

// Bytes of the table in a body. For a whole warp.
SELDOM u32 table_bytes(const Bench_of_coder& b) {
    const u32 lane = threadIdx.x & 31;
    u32 last = 0;
    for (u32 s = lane; s < SYMBOLS; s += 32) last = b.frequency[s] ? s : last;
    last = __reduce_max_sync(FULL, last);
    u32 bytes = 0;
    for (u32 s = lane; s <= last; s += 32) {
        const u32 f = b.frequency[s], before = s ? b.frequency[s - 1] : 1;
        bytes += (f > 0) + (f >= 128) + 2 * (f == 0 && before > 0);
    }
    bytes = __reduce_add_sync(FULL, bytes);
    return bytes + bytes % 2;
}
// Writes it; how many bytes. By one thread.
SELDOM u32 write_table(const Bench_of_coder& b, u8* to) {
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
    return at;
}
// The symbols of the tile's own table. For a whole warp.
DEV void make_own_symbols(Bench_of_coder& b) {
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

// What the tokens of a class cost in its own table, or in the one of class `by`. For a whole warp.
SELDOM u32 cost_of_class(const Bench_of_coder& b, u32 cls, u32 by) {
    const u32 lane = threadIdx.x & 31, first = FIRSTS[cls], tokens = FIRSTS[cls + 1] - first;
    u32 cost = 0;
#pragma unroll 1
    for (u32 t = lane; t < tokens; t += 32)
        cost += b.sums[first + t] * (by == OWN && b.own_of ? b.cost[t] : token_cost(by, t));
    return __reduce_add_sync(FULL, cost);
}
// The same where the tile's own table is for the classes `chosen` alone: that of class OWN has given way.
SELDOM u64 cost_of_classes(Bench_of_coder& b, u32 used, u32 chosen) {
    u64 cost = 0;
#pragma unroll 1
    for (u32 cls = 1; cls < TABLES; cls++) {
        if (!(used >> cls & 1)) continue;
        cost += cost_of_class(b, cls, chosen >> cls & 1 ? OWN : cls == OWN ? OWN - 1 : cls);
    }
    return cost + 8 * BIT * (u64)table_bytes(b);
}
// Fits the table to the tokens of some classes. For a whole warp.
SELDOM void fit_classes(Bench_of_coder& b, u32 chosen) {
    const u32 lane = threadIdx.x & 31;
    __syncwarp();
#pragma unroll 1
    for (u32 s = lane; s < SYMBOLS; s += 32) {
        u32 count = 0;
        for (u32 cls = 1; cls < TABLES; cls++)
            if (chosen >> cls & 1 && s < (u32)FIRSTS[cls + 1] - FIRSTS[cls]) count += b.sums[FIRSTS[cls] + s];
        b.count[s] = count;
    }
    fit(b);
}

// Finds the tile's own table by what tokens occur, and which classes it is for; false if it is better without one. For
// a whole warp.
SELDOM bool choose_table(Bench_of_coder& b, u32 used) {
    const u32 lane = threadIdx.x & 31;
    if (used == 0) return false;
    u64 without = 0;
    u32 all = 0;
    if (lane == 0) b.own_of = NO_TABLE;
    __syncwarp();
#pragma unroll 1
    for (u32 cls = 1; cls < TABLES; cls++)
        if (used >> cls & 1) without += cost_of_class(b, cls, cls);
    for (u32 s = lane; s < STATIC_SYMBOLS; s += 32) all += b.sums[s];
    all = __reduce_add_sync(FULL, all);
    __syncwarp();
    if (lane == 0) b.own_of = OF_CLASSES;
    fit_classes(b, used);
    u32 chosen = 0;
#pragma unroll 1
    for (u32 cls = 1; cls < TABLES; cls++) {
        if (!(used >> cls & 1)) continue;
        const u32 own = cost_of_class(b, cls, OWN), other = cost_of_class(b, cls, cls == OWN ? OWN - 1 : cls);
        if (own < other) chosen |= 1 << cls;
    }
    const u64 for_all = cost_of_classes(b, used, used);
    if (chosen != used) {
        fit_classes(b, chosen);
        // Groups that all have one class say nothing of it.
        if (for_all <= cost_of_classes(b, used, chosen) + BIT * (u64)(all / GROUP)) {
            chosen = used;
            fit_classes(b, used);
        }
    }
    if (cost_of_classes(b, used, chosen) >= without) return false;
    u64 classes = 0;
    for (u32 cls = 1; cls < TABLES; cls++)
        classes |= (u64)(chosen >> cls & 1 ? OWN : cls == OWN ? OWN - 1 : cls) << (4 * cls);
    if (lane == 0) b.own_classes = classes;
    make_own_symbols(b);
    return true;
}

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
        put(has && x >= s.x << (STATE_BITS - TABLE_BITS));
        if (has) x += (u32)(((u64)x * s.z) >> (31 + s.w)) * ((1u << TABLE_BITS) - s.x) + s.y;
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

// A lane's part of a group.
template <class Word> struct Quad {
    Word code[QUAD];
    u32 has, token[QUAD], raw[QUAD];

    DEV void take(const Word* codes, u32 n, u32 group, u32 lane, bool direct) {
        Word own[QUAD];
        const u32 there = take_codes(codes, n, group, lane, own);
        of(own, there, direct);
    }
    DEV void of(const Word (&own)[QUAD], u32 there, bool direct) {
        has = there;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            code[j] = own[j];
            raw[j] = 0;
            token[j] = direct ? (u32)code[j] : token_of_code(code[j], raw[j]);
        }
    }
    DEV u32 bits(u32 j, u32 from, u32 count) const {
        const Word all = raw[j] < 8 * sizeof(Word) ? code[j] & (((Word)1 << raw[j]) - 1) : code[j];
        return from < 8 * sizeof(Word) ? (u32)(all >> from) & low_ones(count) : 0;
    }
    DEV void encode(Writer& w, const uint4* table) const {
        const u32 together = raw[0] + raw[1] + raw[2] + raw[3];
        if (uniform(__any_sync(FULL, together))) {
            if (uniform(!__any_sync(FULL, together > RAW_BITS))) {
                u32 all = 0, n = 0;
#pragma unroll
                for (u32 j = 0; j < QUAD; j++) {
                    all |= bits(j, 0, raw[j]) << n;
                    n += raw[j];
                }
                w.raw(all, n);
            } else {
                u32 most = 0;
#pragma unroll
                for (u32 j = 0; j < QUAD; j++) most = raw[j] > most ? raw[j] : most;
                most = warp_max(most);
#pragma unroll 1
                for (u32 round = (most + RAW_BITS - 1) / RAW_BITS; round-- > 0;) {
                    const u32 from = round * RAW_BITS;
#pragma unroll
                    for (u32 j = QUAD; j-- > 0;) {
                        const u32 n = min_of(raw[j] > from ? raw[j] - from : 0, (u32)RAW_BITS);
                        w.raw(bits(j, from, n), n);
                    }
                }
            }
        }
#pragma unroll
        for (u32 j = QUAD; j-- > 0;) {
            const bool there = has >> j & 1;
            w.symbol(table[there ? token[j] : 0], there);
        }
    }
};

// The class of a group, given that among the tables that are always there. For a whole warp.
template <class Word> DEV u32 own_class(const Bench_of_coder& b, u32 of, u32 cls, const Quad<Word>& quad) {
    if (cls == 0 || of == NO_TABLE) return cls;
    if (of == OF_CLASSES) return (u32)(b.own_classes >> (4 * cls)) & 15;
    if (of != OF_CHEAPER) return OWN;
    u32 own = 0, other = 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        if (!(quad.has >> j & 1)) continue;
        own += b.cost[quad.token[j]];
        other += token_cost(cls, min_of(quad.token[j], (u32)TOKENS - 1));
    }
    own = __reduce_add_sync(FULL, own);
    other = __reduce_add_sync(FULL, other);
    return cls == OWN || own < other ? (u32)OWN : cls;
}

// Finds the classes of groups, and counts their tokens where that is asked for. For a whole block, with barriers before
// and behind.
template <class Word> DEV void take_groups(Bench_of_coder& b, const Word* codes, u32 n, bool counts) {
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
    for (u32 s = threadIdx.x; s < STATIC_SYMBOLS; s += blockDim.x) b.sums[s] = 0;
    if (threadIdx.x == 0) b.used = b.coded = 0;
    __syncthreads();
#pragma unroll 1
    for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
        Word code[QUAD];
        const u32 has = take_codes(codes, n, g, lane, code);
        const u32 cls = class_of(code);
        if (lane == 0) {
            b.classes[g] = (u8)cls;
            if (cls) {
                atomicOr(&b.used, 1u << cls);
                atomicMax(&b.coded, g + 1);
            }
        }
        if (!uniform(cls && counts)) continue;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            u32 raw;
            if (has >> j & 1) atomicAdd(b.sums + FIRSTS[cls] + token_of_code(code[j], raw), 1u);
        }
        __syncwarp();
    }
    __syncthreads();
}

// Encodes n codes, whose groups have the classes at `b.classes`. For a whole warp.
template <class Word> DEV void encode_codes(Bench_of_coder& b, u32 of, const Word* codes, u32 n, Writer& w) {
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
    // The codes of a group are asked for before the one behind it is encoded.
    const auto next_of = [&](u32 g) {
        while (uniform(g > 0) && !uniform(b.classes[g - 1])) g--;
        return g;
    };
    Word next[QUAD] = {0, 0, 0, 0};
    u32 g = next_of(groups);
    if (uniform(g > 0)) take_codes(codes, n, g - 1, lane, next);
    for (u32 i = lane; i < groups; i += 32) b.own_group[i] = 0;
    __syncwarp();
#pragma unroll 1
    while (uniform(g > 0)) {
        Quad<Word> quad;
        quad.of(next, codes_there(n, g - 1, lane), of == OF_ALL);
        const u32 behind = next_of(g - 1);
        if (uniform(behind > 0)) take_codes(codes, n, behind - 1, lane, next);
        const u32 cls = own_class(b, of, b.classes[g - 1], quad);
        if (lane == 0) b.own_group[g - 1] = (u8)cls;
        const uint4* const table = of && cls == OWN ? b.own : b.symbols + FIRSTS[cls];
        w.step(g, [&] { quad.encode(w, table); });
        g = behind;
    }
    __syncwarp();
    w.step(0, [&] {
#pragma unroll 1
        for (u32 s = CLASSES_OF_LANE; s-- > 0;) {
            const u32 g = CLASSES_OF_LANE * lane + s;
            const bool has = g < groups;
            const u32 before = s == 0 || !has ? FIRST : b.own_group[g - 1], cls = has ? b.own_group[g] : 0;
            w.symbol(b.symbols[STATIC_SYMBOLS + before * TABLES + cls], has);
        }
    });
}

// Writes the final states, the shorter way; what the head says of them, and how many halves there are. For a whole
// warp; words of `to` are those of shared memory.
DEV u32 write_states(u32 x, u32* to, u32& longest, u32& is_masked) {
    const u32 lane = threadIdx.x & 31, length = x == 1 ? 0 : width_of(x);
    longest = warp_max(length);
    is_masked = 0;
    if (!uniform(longest)) return 0;
    const u32 floor = floor_of(longest), part = length > floor ? length - floor : 0, bits = bits_of_state(floor, part);
    const u32 mask = __ballot_sync(FULL, length > 0);
    is_masked = 32 < __reduce_add_sync(FULL, length ? 0 : LENGTH_BITS + bits);
    const bool there = !is_masked || length;
    const u32 listed = __ballot_sync(FULL, there), own = there ? bits : 0, up_to = warp_running_sum(own);
    const u32 first = is_masked ? 32 : 0, lengths = LENGTH_BITS * __popc(listed),
              all = first + lengths + __shfl_sync(FULL, up_to, 31);
    for (u32 i = lane; i < STATE_WORDS; i += 32) to[i] = i == 0 && is_masked ? mask : 0;
    __syncwarp();
    if (there) {
        const u32 at = first + LENGTH_BITS * __popc(listed & low_ones(lane));
        atomicOr(to + at / 32, part << (at % 32));
        const u32 behind = first + lengths + up_to - own;
        const u64 shifted = (u64)(x & low_ones(own)) << (behind % 32);
        atomicOr(to + behind / 32, (u32)shifted);
        if (shifted >> 32) atomicOr(to + behind / 32 + 1, (u32)(shifted >> 32));
    }
    __syncwarp();
    return (all + 15) / 16;
}

// Encodes the codes of a sparse tile from the end of `stream` on; what stands before their words goes to `head`, and
// how many words there are: ~0 if too many groups have codes. Codes have no more than 32 bits. For a whole warp, of
// which one lane does it.
template <class Word>
SELDOM u32 encode_sparse(Bench_of_coder& b, const Word* codes, u32 n, u16* stream, u32 halves, u8* head,
                         u32& head_bytes) {
    const u32 lane = threadIdx.x & 31, coded = b.coded;
    if (coded > MOST_SPARSE_GROUPS) return ~0u;
    u32 at = halves, x = 1;
    if (lane == 0) {
        const auto put = [&] {
            stream[--at] = (u16)x;
            x >>= 16;
        };
        const auto symbol = [&](const uint4& s) {
            if (x >= s.x << (STATE_BITS - TABLE_BITS)) put();
            x += (u32)(((u64)x * s.z) >> (31 + s.w)) * ((1u << TABLE_BITS) - s.x) + s.y;
        };
#pragma unroll 1
        for (u32 g = coded; g-- > 0;) {
            const u32 cls = b.classes[g];
            if (cls)
#pragma unroll 1
                for (u32 i = min_of(n, (g + 1) * GROUP); i-- > g * GROUP;) {
                    const u32 code = (u32)codes[i];
                    u32 raw;
                    const u32 token = token_of_code(code, raw);
#pragma unroll 1
                    for (u32 round = (raw + RAW_BITS - 1) / RAW_BITS; round-- > 0;) {
                        const u32 count = min_of(raw - round * RAW_BITS, (u32)RAW_BITS);
                        if (x >> (STATE_BITS - count)) put();
                        x = x << count | ((code >> (round * RAW_BITS)) & low_ones(count));
                    }
                    symbol(b.symbols[FIRSTS[cls] + token]);
                }
            symbol(b.symbols[STATIC_SYMBOLS + (g ? b.classes[g - 1] : FIRST) * TABLES + cls]);
        }
        const u32 count = halves - at, is_long = x >> 16 != 0;
        head[0] = (u8)coded;
        head[1] = (u8)(is_long | (count & 1) << 1);
        ((u16*)head)[1] = (u16)x;
        if (is_long) ((u16*)head)[2] = (u16)(x >> 16);
    }
    __syncwarp();
    head_bytes = __shfl_sync(FULL, x >> 16 ? 6 : 4, 0);
    return __shfl_sync(FULL, halves - at, 0);
}

}    // namespace predict
