// One warp, one tile: the differences of its words to a packed body (docs/codecs/ratio.md §3–§5). First their classes
// are found and their tokens counted, and they are kept at their places, where the words were. Then they are encoded,
// from the last group to the first, since what is encoded last is decoded first. The body grows towards lower
// addresses, in memory that is the warp's own.
//
//   symbols   of each table and each token: reciprocal, start, shift and what the frequency leaves of 1024;
//             all warps of a block make them, all read
#pragma once
#include "choose.cuh"
#include "own_table.cuh"

namespace ratio {

// What encodes symbols, and what they cost. By a whole block; a barrier has to follow.
DEV void make_symbols(Symbols& s) {
    const u32 lane = threadIdx.x & 31;
#pragma unroll 1
    for (u32 t = threadIdx.x / 32; t < TABLES; t += blockDim.x / 32) {
        u32 start = 0;
        const u32 from = FIRSTS[t], end = FIRSTS[t + 1];
#pragma unroll 1
        for (u32 first = from; uniform(first < end); first += 32) {
            const u32 frequency = first + lane < end ? FREQUENCIES[first + lane] : 0;
            const u32 up_to = warp_running_sum(frequency), own = start + up_to - frequency;
            if (frequency) {
                s.of[t][first - from + lane] = symbol_of(own, frequency);
                s.costs[first + lane] = (u16)cost_of(frequency);
            }
            start += __shfl_sync(FULL, up_to, 31);
        }
    }
    for (u32 i = threadIdx.x; i < 2 * 128; i += blockDim.x)
        s.classes[i] = (u16)(CLASSES[i] | (FIRSTS[CLASSES[i] + 1] - FIRSTS[CLASSES[i]] - 1) << 8);
}

// The words of a body, the last one first, and the state of a lane.
struct Writer {
    u32 x, used, below;    // used: words; below: the lanes before this one
    u8* end;               // behind the last word

    DEV void emit(bool wanted) {
        const u32 all = __ballot_sync(FULL, wanted);
        used += __popc(all);
        put_word_if(wanted, end, used - __popc(all & below), x);
    }
    // Lanes that do not take part have a symbol of frequency 1024, which leaves a state as it is.
    DEV void symbol(uint2 s) {
        const u32 rest = s.y >> 21;
        emit(x + (rest << (28 - TABLE_BITS)) >= TOP);
        x += (high_product(x, s.x) >> (s.y >> 11 & 31)) * rest + (s.y & 2047);
    }
    DEV void raw(u32 bits, u32 n) {
        emit(x >> (28 - n) != 0);
        x = x << n | bits;
    }
};

DEV u32 width_of_code(u32 code) { return top_bit(code); }
DEV u32 width_of_code(u64 code) { return top_bit(code); }

// What a lane has that does not take part in a step: reciprocal, start, shift and rest are such that nothing happens.
DEV uint2 symbol_at(u32 at, bool has) {
    const uint2 s = load_shared64(at);
    return has ? s : make_uint2(0, 0);
}

// The class of a group of differences, of which the tokens are counted; 0 if all are 0. `has`: which of the places have
// an element, if not all (WHOLE); those that have none are 0. `symbols`, `counts`: where these are in shared memory.
template <bool WHOLE, class Word> DEV u32 classify(u32 symbols, u32 counts, const Word (&d)[QUAD], u32 has) {
    u32 sum = 0;
    Word most = 0, code[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        sum += (u32)min_of(magnitude_of(d[j]), (Word)(1 << 23));
        code[j] = d[j] << 1 ^ (Word)0 - (d[j] >> (8 * sizeof(Word) - 1));
        most = code[j] > most ? code[j] : most;
    }
    const u32 all = __reduce_add_sync(FULL, sum);
    if (!uniform(all)) return 0;
    const u32 small = __popc(__ballot_sync(FULL, sum <= all >> 7)), octave = top_bit(all);
    const u32 quarter = 1 + 4 * octave + (all << (31 - octave) >> 29 & 3);
    const u32 sparse = small > 10 && all > 8;
    const u32 found = load_shared16(symbols + CLASSES_AT + 2 * (128 * sparse + quarter));
    u32 cls = found & 255, token[QUAD], greatest = (u32)most;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) token[j] = (u32)code[j];
    if (!uniform(__all_sync(FULL, most < DIRECT))) {
        greatest = 0;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const u32 top = width_of_code(code[j]);
            if (code[j] >= DIRECT) token[j] = DIRECT + (top - 6) * 2 + (u32)(code[j] >> (top - 1) & 1);
            greatest = token[j] > greatest ? token[j] : greatest;
        }
    }
    if (uniform(__any_sync(FULL, greatest > found >> 8))) cls = sparse ? WIDEST_SPARSE : WIDEST;
    counts += 4 * FIRSTS[cls];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++)
        if (WHOLE || has >> j & 1) count_shared(counts + 4 * token[j]);
    return cls;
}

// The token of a code, and how many raw bits it has.
template <class Word> DEV u32 token_of(Word code, u32& raw) {
    const u32 top = width_of_code(code);
    const bool far = code >= DIRECT;
    raw = far ? top - 1 : 0;
    return far ? DIRECT + (top - 6) * 2 + (u32)(code >> (top - 1) & 1) : (u32)code;
}

// A group of codes, not all 0, to symbols of a table and raw bits; `direct`: codes are symbols.
template <bool WHOLE, class Word>
DEV void encode_codes_of_group(Writer& w, u32 table, const Word (&code)[QUAD], Word most, u32 has, bool direct) {
    u32 token[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) token[j] = (u32)code[j];
    if (!uniform(direct || __all_sync(FULL, most < DIRECT))) {
        u32 raw[QUAD], together = 0, longest = 0;
        Word bits[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            token[j] = token_of(code[j], raw[j]);
            bits[j] = code[j] & (((Word)1 << raw[j]) - 1);
            together += raw[j];
            longest = raw[j] > longest ? raw[j] : longest;
        }
        if (uniform(__all_sync(FULL, together <= RAW_BITS))) {
            u32 string = 0;
#pragma unroll
            for (u32 j = QUAD; j-- > 0;) string = string << raw[j] | (u32)bits[j];
            w.raw(string, together);
        } else {
            longest = __reduce_max_sync(FULL, longest);
#pragma unroll 1
            for (u32 round = (longest + RAW_BITS - 1) / RAW_BITS; uniform(round-- > 0);) {
                const u32 from = round * RAW_BITS;
#pragma unroll
                for (u32 j = QUAD; j-- > 0;) {
                    const u32 n = raw[j] > from ? min_of(raw[j] - from, (u32)RAW_BITS) : 0;
                    w.raw((u32)(from < 8 * sizeof(Word) ? bits[j] >> from : 0) & low_ones(n), n);
                }
            }
        }
    }
#pragma unroll
    for (u32 j = QUAD; j-- > 0;) w.symbol(symbol_at(table + 8 * token[j], WHOLE || has >> j & 1));
}

// A group of differences, not all 0.
template <bool WHOLE, class Word> DEV void encode_group(Writer& w, u32 table, const Word (&d)[QUAD], u32 has) {
    Word most = 0, code[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        code[j] = d[j] << 1 ^ (Word)0 - (d[j] >> (8 * sizeof(Word) - 1));
        most = code[j] > most ? code[j] : most;
    }
    encode_codes_of_group<WHOLE>(w, table, code, most, has, false);
}

// How a tile was encoded.
struct Made {
    u32 kind, bytes, set;    // set: the axes along which differences were taken
    u8* body;                // where it begins, a multiple of 2
};
#define NO_BODY 0xffffffffu

// What stands between base and states of a tile that has no form but its shift: its own table, if it has `bytes`.
struct OwnSide {
    u32 counts, bytes;

    template <class T> DEV u32 form(const Source<T>& s) const { return s.shift; }
    DEV bool has_table() const { return bytes > 0; }
    DEV void write(u8* to) const { write_own(counts, to); }
};

// Of bits that begin at bit `from` of a row of words of 32 those in word `number`.
DEV u32 part_of_word(u32 bits, u32 from, u32 number) {
    const i32 at = (i32)from - 32 * (i32)number;
    if (at >= 0) return at < 32 ? bits << at : 0;
    return at > -32 ? bits >> -at : 0;
}

// Writes final states and what stands before them in front of the words; returns the whole body. For a whole warp.
template <class T, class Side>
DEV Made finish(const Source<T>& s, const Writer& w, u32 set, u32 change, bool exact, const Side& side) {
    const u32 lane = threadIdx.x & 31, length = w.x == 1 ? 0 : top_bit(w.x) + 1,
              longest = __reduce_max_sync(FULL, length), floor = floor_of(longest),
              above = length > floor ? length - floor : 0, own_bits = bits_of_state(floor, above);
    // Lanes whose state is 1 are left out where a mask of them takes less.
    u32 mask = __ballot_sync(FULL, length > 0);
    const u32 left_out = __reduce_add_sync(FULL, length ? 0 : LENGTH_BITS + own_bits);
    const bool masked = longest && left_out > 32;
    if (!masked) mask = longest ? FULL : 0;
    const u32 lengths = LENGTH_BITS * __popc(mask),
              all_bits = lengths + __reduce_add_sync(FULL, mask >> lane & 1 ? own_bits : 0),
              of_states = (all_bits + 15) / 16, fewest = 4 * masked + 2 * of_states;
    const i64 base = (i64)(typename T::Signed)Source<T>::extended(s.base);
    const u64 folded = (u64)(base ^ base >> 63);
    const u32 bits = folded ? top_bit(folded) + 2 : 1, needed = bits > BASE_BITS ? (bits - BASE_BITS + 15) / 16 : 0,
              base_words = needed < 3 ? needed : 4;
    const bool has_shift = s.meaning == BITS;
    const u32 before = HEAD_BYTES + 2 * has_shift + 2 * base_words, bytes = before + side.bytes + fewest + 2 * w.used;
    u8* body = w.end - bytes;
    u16* at = (u16*)body;
    const u32 head = set | (u32)exact << 3 | min_of(base_words, 3u) << 4 | (u32)side.has_table() << 6 | change << 7 |
                     longest << 15 | (u32)masked << 20 | ((u32)base & ((1u << BASE_BITS) - 1)) << (32 - BASE_BITS);
    if (lane < before / 2) {
        u32 word = lane == 0 ? head & 0xffff : head >> 16;
        if (lane >= 2)
            word = has_shift && lane == 2 ? side.form(s) : (u32)((base >> BASE_BITS) >> (16 * (lane - 2 - has_shift)));
        at[lane] = (u16)word;
    }
    at += before / 2;
    if (uniform(side.bytes)) side.write((u8*)at);
    at += side.bytes / 2;
    if (uniform(masked)) {
        if (lane < 2) at[lane] = (u16)(mask >> (16 * lane));
        at += 2;
    }
    // Lengths and states, no more than 31 words of 32 bits: each lane has one of these.
    const u32 both = (w.x & low_ones(own_bits)) << LENGTH_BITS | above;
    u32 word = 0, number = 0, from = lengths;
#pragma unroll 1
    for (u32 rest = mask; uniform(rest); rest &= rest - 1) {
        const u32 of = __shfl_sync(FULL, both, __ffs((i32)rest) - 1), part = of & ((1 << LENGTH_BITS) - 1);
        word |= part_of_word(part, number, lane) | part_of_word(of >> LENGTH_BITS, from, lane);
        number += LENGTH_BITS;
        from += bits_of_state(floor, part);
    }
    if (2 * lane < of_states) at[2 * lane] = (u16)word;
    if (2 * lane + 1 < of_states) at[2 * lane + 1] = (u16)(word >> 16);
    if (lane == 0 && bytes % UNIT) *(u16*)w.end = 0;
    __syncwarp();
    const Made made = {KIND_PACKED, (bytes + UNIT - 1) / UNIT * UNIT, set, body};
    return made;
}

// What is known of the groups of a tile: their classes, those of groups 4·lane … 4·lane + 3 with four bits each, and of
// these which have an element; a bit for each class that one has.
struct Groups {
    u32 set, classes, some, used;
};

// Encodes the classes and puts what comes first in front. For a whole warp.
template <class T, class Side>
SELDOM Made end_tile(const Source<T>& s, u32 symbols, Writer w, const Groups& all, u32 change, bool exact, Side side,
                     u32 limit) {
    const u32 lane = threadIdx.x & 31, classes = all.classes, some = all.some;
    // Differences of classes. A group without elements has the class of the one before it.
    u32 own[BATCH_GROUPS], of = 0;
#pragma unroll
    for (u32 k = 0; k < BATCH_GROUPS; k++)
        if (some >> k & 1) of = classes >> (4 * k) & 15;
    const u32 there = __ballot_sync(FULL, some != 0) & low_ones(lane);
    u32 before = __shfl_sync(FULL, of, there ? top_bit(there) : 0);
    if (!there) before = 0;
#pragma unroll
    for (u32 k = 0; k < BATCH_GROUPS; k++) {
        const u32 cls = classes >> (4 * k) & 15;
        own[k] = cls - before & 15;
        if (some >> k & 1) before = cls;
    }
    const u32 x = w.x, words = w.used;
#pragma unroll 1
    for (u32 again = 0; uniform(again < 2); again++) {
#pragma unroll
        for (u32 k = BATCH_GROUPS; k-- > 0;) w.symbol(symbol_at(symbols + 8 * own[k], some >> k & 1));
        if (!uniform(change == NEVER && (w.used != words || __any_sync(FULL, w.x >= TOP - LOW)))) break;
        w.x = x + LOW;
        w.used = words;
        change = 0;
    }
    const Made made = finish(s, w, all.set, change, exact, side);
    return uniform(made.bytes < limit) ? made : Made{KIND_RAW, NO_BODY, all.set, nullptr};
}

// A tile of which all differences are 0, as a constant where that is not longer. For a whole warp.
template <class T>
SELDOM Made flat_tile(const Source<T>& s, u32 symbols, const Groups& all, Writer w, bool exact, u32 limit) {
    const u32 lane = threadIdx.x & 31;
    u8* const end = w.end;
    const Made none = {KIND_RAW, NO_BODY, all.set, nullptr};
    const OwnSide side = {s.counts, 0};
    Made made = finish(s, w, all.set, NEVER, exact, side);    // for the length of what stands before the states
    const u32 size = (T::BITS / 8 + UNIT - 1) / UNIT * UNIT, base = *(const u16*)made.body >> 4 & 3;
    const u32 before = HEAD_BYTES + 2 * (s.meaning == BITS) + 2 * (base < 3 ? base : 4);
    if (size <= (before + UNIT - 1) / UNIT * UNIT) {
        typename T::Word v[QUAD] = {s.base, 0, 0, 0};
        restore<T>(s.quantizer, s.meaning == BINS, s.is_float, s.shift, v);
        made.kind = KIND_CONSTANT;
        made.bytes = size;
        made.body = end - size;
        if (lane < size / 2) ((u16*)made.body)[lane] = lane < (T::BITS + 15) / 16 ? (u16)((u64)v[0] >> (16 * lane)) : 0;
        __syncwarp();
        return uniform(size < limit) ? made : none;
    }
    return end_tile(s, symbols, w, all, NEVER, exact, side, limit);
}

// Differences that are kept at their places, and whose tokens are counted, to a body that ends at `end` and has fewer
// bytes than `limit`; else NO_BODY are its bytes. It has registers of its own.
template <class T, class Word>
SELDOM Made encode_codes(const Source<T>& s, u32 symbols, Groups all, u8* end, u32 limit) {
    const u32 lane = threadIdx.x & 31, groups = uniform(s.grid->groups()), classes = all.classes;
    Writer w = {1, 0, low_ones(lane), end};
    if (!uniform(all.used)) return flat_tile(s, symbols, all, w, false, limit);
    const OwnTable own = choose_own(symbols, s.counts, uniform(all.used));
    const bool whole = uniform(s.t.count() == s.grid->capacity() && s.grid->capacity() % BATCH == 0);
    const Word* const kept = (const Word*)s.words + lane * QUAD;
    const auto class_at = [&](u32 i) {
        return __shfl_sync(FULL, classes, i / BATCH_GROUPS) >> (4 * (i % BATCH_GROUPS)) & 15;
    };
    u32 change = NEVER, next_cls = class_at(groups - 1);
    Word next[QUAD];
    load_words_if(next_cls, kept + (groups - 1) * GROUP, next);
#pragma unroll 1
    for (u32 i = groups; uniform(i-- > 0);) {
        const u32 cls = next_cls;
        Word d[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) d[j] = next[j];
        if (uniform(i > 0)) {
            next_cls = class_at(i - 1);
            load_words_if(next_cls, kept + (i - 1) * GROUP, next);
        }
        if (!uniform(cls)) continue;
        const u32 to = own.class_of(cls);
        const u32 table = uniform(own.bytes && to == OWN) ? s.counts : symbols + to * (8 * TOKENS);
        const u32 has = whole ? 15 : quad_of(*s.grid, s.t, i, lane).has;
        // States begin at 1 and grow; where a word would be needed they are made as large as they have to be.
        const u32 x = w.x, used = w.used;
#pragma unroll 1
        for (;;) {
            if (uniform(whole))
                encode_group<true>(w, table, d, 15);
            else
                encode_group<false>(w, table, d, has);
            if (!uniform(change == NEVER && (w.used != used || __any_sync(FULL, w.x >= TOP - LOW)))) break;
            w.x = x + LOW;
            w.used = used;
            change = i + 1;
        }
        if (uniform(2 * w.used >= limit)) return {KIND_RAW, NO_BODY, all.set, nullptr};
    }
    all.classes = 0;
#pragma unroll
    for (u32 k = 0; k < BATCH_GROUPS; k++) all.classes |= own.class_of(classes >> (4 * k) & 15) << (4 * k);
    return end_tile(s, symbols, w, all, change, false, OwnSide{s.counts, own.bytes}, limit);
}

// A tile's words, of which it is known what is subtracted from them, to a body that ends at `end` and has fewer bytes
// than `limit`; else NO_BODY are its bytes.
template <class T, class Word>
SELDOM Made encode(const Source<T>& s, u32 symbols, Choice<Word> choice, u8* end, u32 limit) {
    const u32 lane = threadIdx.x & 31, groups = s.grid->groups(), set = choice.set;
    Groups all = {set, 0, 0, 0};
    clear_counts(s.counts);
    // What differences along the set need, and those along the other axes where a group has some of its face.
    const auto is_on_face = [&](const Quad& q) {
        return set && __any_sync(FULL, q.has && (s.grid->a < 2 || on_face(set, q)));
    };
    Word* const words = (Word*)s.words;
    Rows<Word> next;
    Quad q = quad_of(*s.grid, s.t, groups - 1, lane), next_q = q;
    bool next_face = is_on_face(q);
    next.load(*s.grid, words, q, (groups - 1) * GROUP + lane * QUAD, uniform(next_face) ? 7 : set, lane);
#pragma unroll 1
    for (u32 i = groups; uniform(i-- > 0);) {
        q = next_q;
        Rows<Word> rows = next;
        const bool any_face = next_face;
        if (uniform(i > 0)) {
            next_q = quad_of(*s.grid, s.t, i - 1, lane);
            next_face = is_on_face(next_q);
            next.load(*s.grid, words, next_q, (i - 1) * GROUP + lane * QUAD, uniform(next_face) ? 7 : set, lane);
        }
        if (!uniform(__any_sync(FULL, q.has))) continue;
        if (i / BATCH_GROUPS == lane) all.some |= 1u << i % BATCH_GROUPS;
        const u32 place = i * GROUP + lane * QUAD;
        Word d[QUAD];
        rows.subtract();
        differences(rows, q, s.grid->a, set, lane, d);
        if (uniform(any_face)) {
            Word other[QUAD];
            differences(rows, q, s.grid->a, 7 - set, lane, other);
#pragma unroll
            for (u32 j = 0; j < QUAD; j++)
                if (on_face(set, s.one_of(q, place, j))) d[j] = other[j];
        }
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) d[j] = q.has >> j & 1 ? narrow<T>(d[j] - choice.middle) : 0;
        // Nobody needs the words of these places any more.
        store_words(words + place, d);
        const u32 cls = classify<false>(symbols, s.counts, d, q.has);
        if (i / BATCH_GROUPS == lane) all.classes |= cls << (4 * (i % BATCH_GROUPS));
        all.used |= cls ? 1u << cls : 0;
    }
    return encode_codes<T, Word>(s, symbols, all, end, limit);
}

}    // namespace ratio
