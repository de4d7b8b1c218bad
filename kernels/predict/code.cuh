// Twin: src/codec/predict/code/encode.rs
// From codes to words, by a warp: src/codec/predict/code in CUDA
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

enum : u32 { IS_DIRECT = 1u << 31 };

// What a warp that codes has in shared memory.
struct Bench_of_coder {
    u32 frequency[SYMBOLS], cost[SYMBOLS], count[SYMBOLS];
    u32 sums[STATIC_SYMBOLS];             // how often tokens occur in groups of each class, as FREQUENCIES stand
    u8 classes[ELEMENTS / GROUP];         // of groups, among the tables that are always there
    u8 own_group[ELEMENTS / GROUP];       // those that they are coded by
    u32 direct[ELEMENTS / GROUP / 32];    // a bit for each whole group of direct tokens alone
    // The groups that have codes, the first one last: where the table of each is among `symbols`, from bit 8 on, with
    // IS_DIRECT where it has direct tokens alone; and how many there are.
    u32 listed[ELEMENTS / GROUP], list_length;
    u32 used, coded;    // the classes that there are; groups up to the last one that has codes
    u64 own_classes;    // the class that groups of each class get, four bits each
    // Of the choice of the own table: what tokens of each class cost in it, and otherwise; its bytes in a body.
    u32 own_cost[TABLES], other_cost[TABLES], table_bytes;
    u32 table_halves, sparse, sparse_head_bytes;    // what was written of the table, and as a sparse tile
    // While codes are made words of: the tables that are always there, then those of classes; the tile's own table.
    uint4 symbols[ALL_SYMBOLS];
    uint4 own[SYMBOLS];
};
static_assert(sizeof(Bench_of_coder) <= PREDICT_NUMBER_BYTES, "it stands where numbers do");
// Where lossless arrays have what forms are chosen by.
enum : u32 { EXACT_FORMS_AT = OFFSET_OF(Bench_of_coder, symbols) };

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

// Fits the table to the tokens of the classes `chosen`, and finds what those cost in it and how long it is; what all
// cost then, if the class of table OWN gives way where that is not chosen. For a whole block; a barrier before and
// behind.
DEV u64 fit_to_classes(Bench_of_coder& b, u32 used, u32 chosen) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) {
        u32 count = 0;
        for (u32 cls = 1; cls < TABLES; cls++)
            if (chosen >> cls & 1 && s < (u32)FIRSTS[cls + 1] - FIRSTS[cls]) count += b.sums[FIRSTS[cls] + s];
        b.count[s] = count;
    }
    __syncthreads();
    if (warp == 0) fit(b);
    __syncthreads();
#pragma unroll 1
    for (u32 cls = 1 + warp; uniform(cls < TABLES); cls += warps) {
        if (!(chosen >> cls & 1)) continue;
        const u32 first = FIRSTS[cls], tokens = FIRSTS[cls + 1] - first;
        u32 cost = 0;
        for (u32 t = lane; t < tokens; t += 32) cost += b.sums[first + t] * b.cost[t];
        cost = __reduce_add_sync(FULL, cost);
        if (lane == 0) b.own_cost[cls] = cost;
    }
    if (warp + 1 == warps) {
        const u32 bytes = table_bytes(b);
        if (lane == 0) b.table_bytes = bytes;
    }
    __syncthreads();
    u64 cost = 8 * BIT * (u64)b.table_bytes;
#pragma unroll 1
    for (u32 cls = 1; cls < TABLES; cls++)
        if (used >> cls & 1) cost += chosen >> cls & 1 ? b.own_cost[cls] : b.other_cost[cls];
    __syncthreads();
    return cost;
}

// Finds the tile's own table by what tokens occur, and which classes it is for; false if it is better without one. For
// a whole block; a barrier before and behind.
SELDOM bool choose_table(Bench_of_coder& b, u64* part) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, used = b.used;
    if (used == 0) return false;
    u32 all = 0, without = 0;
#pragma unroll 1
    for (u32 cls = 1 + warp; uniform(cls < TABLES); cls += blockDim.x / 32) {
        if (!(used >> cls & 1)) continue;
        const u32 first = FIRSTS[cls], tokens = FIRSTS[cls + 1] - first;
        u32 cost = 0, other = 0;
        for (u32 t = lane; t < tokens; t += 32) {
            const u32 sum = b.sums[first + t];
            all += sum;
            cost += sum * TOKEN_COSTS[first + t];
            if (cls == OWN) other += sum * token_cost(OWN - 1, t);
        }
        without += cost;
        cost = __reduce_add_sync(FULL, cls == OWN ? other : cost);
        if (lane == 0) b.other_cost[cls] = cost;
    }
    all = block_sum(all, part);
    const u64 plain = block_sum((u64)without, part);
    const u64 for_all = fit_to_classes(b, used, used);
    u32 chosen = 0;
#pragma unroll 1
    for (u32 cls = 1; cls < TABLES; cls++)
        if (used >> cls & 1 && b.own_cost[cls] < b.other_cost[cls]) chosen |= 1 << cls;
    u64 cost = for_all;
    __syncthreads();    // all have seen them
    if (chosen != used) {
        cost = fit_to_classes(b, used, chosen);
        // Groups that all have one class say nothing of it.
        if (for_all <= cost + BIT * (u64)(all / GROUP)) {
            chosen = used;
            cost = fit_to_classes(b, used, used);
        }
    }
    if (cost >= plain) return false;
    if (threadIdx.x == 0) {
        u64 classes = 0;
        for (u32 cls = 1; cls < TABLES; cls++)
            classes |= (u64)(chosen >> cls & 1 ? OWN : cls == OWN ? OWN - 1 : cls) << (4 * cls);
        b.own_classes = classes;
    }
    // The symbols, one for each thread.
    static_assert(SYMBOLS == PREDICT_THREADS, "one for each thread");
    const u32 f = b.frequency[threadIdx.x], up_to = warp_running_sum(f);
    if (lane == 31) ((u32*)part)[warp] = up_to;
    __syncthreads();
    u32 start = up_to - f;
    for (u32 w = 0; w < warp; w++) start += ((u32*)part)[w];
    b.own[threadIdx.x] = symbol_of(start, f);
    __syncthreads();
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

// Finds the classes of groups, and counts their tokens. For a whole block, with barriers before and behind.
template <class Word> DEV void take_groups(Bench_of_coder& b, const Word* codes, u32 n) {
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
    for (u32 s = threadIdx.x; s < STATIC_SYMBOLS; s += blockDim.x) b.sums[s] = 0;
    if (threadIdx.x < sizeof(b.direct) / 4) b.direct[threadIdx.x] = 0;
    make_direct_costs();
    if (threadIdx.x == 0) b.used = b.coded = 0;
    __syncthreads();
#pragma unroll 1
    for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
        Word code[QUAD];
        const u32 has = take_codes(codes, n, g, lane, code);
        bool are_direct;
        const u32 cls = class_of(code, are_direct);
        if (lane == 0) {
            b.classes[g] = (u8)cls;
            if (cls) {
                atomicOr(&b.used, 1u << cls);
                atomicMax(&b.coded, g + 1);
                if (are_direct && (g + 1) * GROUP <= n) atomicOr(b.direct + g / 32, 1u << (g % 32));
            }
        }
        if (!uniform(cls)) continue;
        u32* const sums = b.sums + FIRSTS[cls];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            u32 raw;
            if (has >> j & 1) atomicAdd(sums + (are_direct ? (u32)code[j] : token_of_code(code[j], raw)), 1u);
        }
        __syncwarp();
    }
    __syncthreads();
}

// Finds the classes that groups are coded by, where the tile's own table is for some or all, whose symbols have costs.
// For a whole block, with barriers before and behind.
template <class Word> DEV void choose_classes(Bench_of_coder& b, u32 of, const Word* codes, u32 n) {
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
    if (threadIdx.x < sizeof(b.direct) / 4) b.direct[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 1
    for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
        Quad<Word> quad;
        quad.take(codes, n, g, lane, of == OF_ALL);
        const u32 cls = own_class(b, of, class_of(quad.code), quad);
        bool are_direct = true;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) are_direct &= of == OF_ALL || quad.code[j] < DIRECT;
        are_direct = __all_sync(FULL, are_direct);
        if (lane) continue;
        b.own_group[g] = (u8)cls;
        if (are_direct && (g + 1) * GROUP <= n) atomicOr(b.direct + g / 32, 1u << (g % 32));
    }
    __syncthreads();
}

// Encodes the classes that groups are coded by. For a whole warp.
DEV void encode_classes(const Bench_of_coder& b, u32 n, Writer& w) {
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
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

// Lists the groups that have codes, which are of a class above 0; `cls_of` tells that of each. `own`: the tile has its
// own table. For a whole warp.
template <class Of> DEV void list_groups(Bench_of_coder& b, u32 n, bool own, Of cls_of) {
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
    u32 length = 0;
    __syncwarp();
#pragma unroll 1
    for (u32 first = (groups + 31) / 32 * 32; uniform(first > 0); first -= 32) {
        const u32 g = first - 1 - lane, cls = g < groups ? cls_of(g) : 0;
        if (g < groups) b.own_group[g] = (u8)cls;
        const u32 table = own && cls == OWN ? (u32)ALL_SYMBOLS : FIRSTS[cls],
                  is_direct = b.direct[(first - 1) / 32] >> (g % 32) & 1, there = __ballot_sync(FULL, cls != 0);
        if (cls) b.listed[length + __popc(there & low_ones(lane))] = g | table << 8 | (is_direct ? (u32)IS_DIRECT : 0);
        length += __popc(there);
    }
    if (lane == 0) b.list_length = length;
    __syncwarp();
}

// Encodes n codes of which the groups are listed; `direct`: all of them are symbols. For a whole warp.
template <class Word> DEV void encode_listed(Bench_of_coder& b, const Word* codes, u32 n, bool direct, Writer& w) {
    const u32 lane = threadIdx.x & 31, length = b.list_length;
    // Codes are asked for two groups before they are needed.
    Word next[QUAD] = {0, 0, 0, 0}, later[QUAD] = {0, 0, 0, 0};
    u32 item = 0, next_item = length > 0 ? b.listed[0] : 0, later_item = length > 1 ? b.listed[1] : 0;
    if (uniform(length > 0)) take_codes(codes, n, next_item & 255, lane, next);
    if (uniform(length > 1)) take_codes(codes, n, later_item & 255, lane, later);
#pragma unroll 1
    for (u32 k = 0; uniform(k < length); k++) {
        Word code[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            code[j] = next[j];
            next[j] = later[j];
        }
        item = next_item;
        next_item = later_item;
        if (uniform(k + 2 < length)) {
            later_item = b.listed[k + 2];
            take_codes(codes, n, later_item & 255, lane, later);
        }
        const uint4* const table = b.symbols + (item >> 8 & 0xffff);
        if (uniform(w.change != NEVER && item & IS_DIRECT)) {
            uint4 s[QUAD];
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) s[j] = table[(u32)code[j]];
#pragma unroll
            for (u32 j = QUAD; j-- > 0;) w.symbol(s[j], true);
            continue;
        }
        Quad<Word> quad;
        quad.of(code, codes_there(n, item & 255, lane), direct);
        w.step((item & 255) + 1, [&] { quad.encode(w, table); });
    }
    encode_classes(b, n, w);
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
            if (x >= s.x) put();
            x = state_behind(x, s);
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
