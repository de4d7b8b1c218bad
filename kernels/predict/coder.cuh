// Twin: src/codec/predict/code/decode.rs
// One warp, one tile: the codes of a packed body (docs/reference/codecs/predict.md §4, §5, §14), group by group, in
// registers.
//
// The words of the body pass through a ring in shared memory, which copies that nobody waits for keep filled:
//
//   ring   PREDICT_RING_BYTES of each warp   its lanes ask for 16 bytes each and take words of 2 from it
//
// Byte p of the body, counted from the multiple of 16 at or before it, is at p modulo the ring's length.
#pragma once
#include "forms.cuh"
#include "geometry.cuh"
#include "tables.h"

namespace predict {

// What the slots of a symbol say, but for the number: bits 0–9 the slot's number within its symbol, 10–15 the raw bits
// of the token, 16–21 the token's residual, or for one with raw bits the top of its code, 22–31 the frequency.
DEV u32 entry_of(u32 symbol, u32 frequency) {
    const u32 raw = symbol < DIRECT ? 0 : 5 + (symbol - DIRECT) / 2;
    const u32 residual = raw ? 2 + (symbol & 1) : (symbol >> 1) ^ (0 - (symbol & 1));
    return frequency << 22 | (residual & 63) << 16 | raw << 10;
}
// The same of a table whose symbols are codes: bits 10–21 the symbol.
DEV u32 direct_entry_of(u32 symbol, u32 frequency) { return frequency << 22 | symbol << 10; }
// The symbol that the slots of a table of tokens are of.
DEV u32 token_of(u32 entry) {
    const u32 raw = entry >> 10 & 63, top = entry >> 16 & 63;
    const i32 residual = (i32)(entry << 10) >> 26;
    return raw ? DIRECT + 2 * (raw - 5) + (top & 1) : (u32)residual << 1 ^ (u32)(residual >> 31);
}
// The decoder's tables, of the classes from 1 on. By a whole block; a barrier has to follow.
DEV void make_tables(u32* slots) {
    const u32 lane = threadIdx.x & 31;
#pragma unroll 1
    for (u32 t = 1 + threadIdx.x / 32; t < TABLES; t += blockDim.x / 32) {
        u32 start = 0;
        u32* const table = slots + ((t - 1) << TABLE_BITS);
#pragma unroll 1
        for (u32 first = FIRSTS[t]; first < FIRSTS[t + 1]; first += 32) {
            const u32 symbol = first - FIRSTS[t] + lane,
                      frequency = first + lane < FIRSTS[t + 1] ? FREQUENCIES[first + lane] : 0;
            const u32 up_to = warp_running_sum(frequency);
            const u32 entry = entry_of(symbol, frequency), at = start + up_to - frequency;
            // A symbol of many slots is written by all lanes.
            const u32 many = __ballot_sync(FULL, frequency > 8);
#pragma unroll 1
            for (u32 left = many; uniform(left); left &= left - 1) {
                const u32 of = __ffs((i32)left) - 1, n = __shfl_sync(FULL, frequency, of),
                          e = __shfl_sync(FULL, entry, of), from = __shfl_sync(FULL, at, of);
                for (u32 k = lane; k < n; k += 32) table[from + k] = e | k;
            }
            if (frequency <= 8)
                for (u32 k = 0; k < frequency; k++) table[at + k] = entry | k;
            start += __shfl_sync(FULL, up_to, 31);
        }
    }
}
// Reads a tile's own table, of which `at` tells where it begins and then where it ends, into slots in shared memory;
// whether it is one. `direct`: its symbols are codes. For a whole warp.
SELDOM bool read_own(const u8*& at, const u8* end, u32 slots, bool direct) {
    const u32 lane = threadIdx.x & 31;
    const u8* p = at;
    const u8* const from = p;
    const u32 symbols = direct ? (u32)MOST_SYMBOLS : (u32)TOKENS;
    u32 sum = 0, symbol = 0;
#pragma unroll 1
    while (uniform(sum < 1u << TABLE_BITS)) {
        // A frequency of one byte or two, and behind 0 how many more there are.
        const u32 there = (u32)min_of((u64)(end - p), (u64)3);
        const u32 first = there > 0 ? p[0] : 0, low = there > 1 ? p[1] : 0, more = there > 2 ? p[2] : 0;
        const bool is_long = first >= 128;
        const u32 frequency = is_long ? (first & 127) << 8 | low : first, bytes = 1 + is_long + (frequency == 0);
        if (there < bytes) return false;
        if (symbol >= symbols || frequency >= 1u << TABLE_BITS || sum + frequency > 1u << TABLE_BITS) return false;
        const u32 entry = direct ? direct_entry_of(symbol, frequency) : entry_of(symbol, frequency);
        for (u32 k = lane; k < frequency; k += 32) store_shared32(slots + 4 * (sum + k), entry | k);
        sum += frequency;
        symbol += frequency ? 1 : 1 + (is_long ? more : low);
        p += bytes;
    }
    if ((p - from) % 2) {
        if (p == end || *p) return false;
        p++;
    }
    at = p;
    return true;
}

// The words of a body, and the state of a lane.
struct Coder {
    u32 x, threshold;
    u32 at, issued;     // the next word's byte; bytes that were asked for
    u32 ring, below;    // where the ring is; the lanes before this one
    const u8* from;     // byte 0
    u32 there;          // bytes that may be read from there on

    DEV void begin(const u8* words, const u8* end, u32 ring_at, u32 lane) {
        const u32 skipped = (u32)(u64)words & 15;
        from = words - skipped;
        there = (u32)min_of((u64)(end - from), (u64)1 << 20);
        at = skipped;
        issued = 0;
        ring = ring_at;
        below = low_ones(lane);
        wait_for_copies();    // those of the tile before
        __syncwarp();
        fill(lane);
        fill(lane);
        close_lot();
        wait_for_copies();
        __syncwarp();
    }
    // Asks for as much as there is room for, 512 bytes at most.
    DEV void fill(u32 lane) {
        const u32 pieces = min_of(((at & ~15u) + PREDICT_RING_BYTES - issued) / 16, 32u), piece = issued + 16 * lane;
        if (lane < pieces && piece < there)
            copy_async(ring + piece % PREDICT_RING_BYTES, from + piece, min_of(there - piece, 16u));
        issued += 16 * pieces;
    }
    // Makes sure that 320 bytes are there, which is as much as is taken between two calls. So one asks for at most 512
    // bytes, and where none are asked for, more than 832 less the last 512 are there.
    DEV void top_up(u32 lane) {
        if (!uniform(issued - at <= PREDICT_RING_BYTES - 192)) return;
        __syncwarp();    // all have taken what is written over
        fill(lane);
        close_lot();
        wait_for_older_lots();
        __syncwarp();
    }
    DEV void refill(bool takes_part) {
        const bool need = takes_part && x < threshold;
        const u32 all = __ballot_sync(FULL, need);
        const u32 word = load_shared16(ring + (at + 2 * __popc(all & below)) % PREDICT_RING_BYTES);
        if (need) x = __byte_perm(word, x, 0x5410);
        at += 2 * __popc(all);
    }
    // What the table at this place in shared memory says.
    template <bool WHOLE> DEV u32 symbol(u32 table, bool has) {
        return pass<WHOLE>(load_shared32(at_word(table, x & ((1u << TABLE_BITS) - 1))), has);
    }
    // The class of a group behind one of class `before`.
    DEV u32 next_class(u32 before, bool has) {
        const u16* const starts = CLASS_STARTS + before * (TABLES + 1);
        const u32 slot = x & ((1u << TABLE_BITS) - 1);
        u32 cls = 0;
#pragma unroll
        for (u32 step = TABLES / 2; step; step /= 2)
            if (starts[cls + step] <= slot) cls += step;
        const u32 start = starts[cls];
        pass<false>((starts[cls + 1] - start) << 22 | (slot - start), has);
        return cls;
    }
    template <bool WHOLE> DEV u32 pass(u32 entry, bool has) {
        const u32 next = (entry >> 22) * (x >> TABLE_BITS) + (entry & ((1u << TABLE_BITS) - 1));
        x = WHOLE || has ? next : x;
        refill(WHOLE || has);
        return WHOLE || has ? entry : 0;
    }
    DEV u32 raw(u32 n) {
        const u32 bits = x & low_ones(n);
        x >>= n;
        refill(n > 0);
        return bits;
    }
    // From here on states take no words; false if one is too small.
    DEV bool change() {
        const bool good = __all_sync(FULL, x > LOW);
        x -= LOW;
        threshold = 0;
        return good;
    }
};

// The difference of a code, and back: zigzag.
DEV u32 difference_of(u32 code) { return (code >> 1) ^ (0 - (code & 1)); }
DEV u64 difference_of(u64 code) { return (code >> 1) ^ (0 - (code & 1)); }
DEV u32 code_of(u32 difference) { return difference << 1 ^ (u32)((i32)difference >> 31); }
DEV u64 code_of(u64 difference) { return difference << 1 ^ (u64)((i64)difference >> 63); }
DEV u32 shifted(u32 top, u32 n, u32) { return __funnelshift_lc(0, top, n); }
DEV u64 shifted(u32 top, u32 n, u64) { return n < 64 ? (u64)top << n : 0; }

// A word's bits, with copies of its sign above them.
template <class T> DEV typename T::Word extended(typename T::Word w) {
    return T::BITS == 8 ? (typename T::Word)(i32)(signed char)w : T::BITS == 16 ? (typename T::Word)(i32)(short)w : w;
}
// The difference of a word's bits alone.
template <class T> DEV typename T::Word extended_difference(typename T::Word code) {
    return extended<T>(difference_of(wrap<T>(code)));
}
// The differences of a group of a class above 0, of words of T; those of fewer bits than a Word come extended.
template <class T, bool WHOLE>
DEV void decode_group(Coder& c, u32 table, u32 has, u32 lane, typename T::Word (&d)[QUAD]) {
    typedef typename T::Word Word;
    c.top_up(lane);
    u32 e[QUAD], all = 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        e[j] = c.symbol<WHOLE>(table, has >> j & 1);
        all |= e[j];
        d[j] = (Word)(i64)((i32)(e[j] << 10) >> 26);
    }
    if (!uniform(__any_sync(FULL, all & 63u << 10))) return;
    u32 n[QUAD], together = 0, most = 0;
    Word bits[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        n[j] = e[j] >> 10 & 63;
        together += n[j];
        most = n[j] > most ? n[j] : most;
        bits[j] = 0;
    }
    if (uniform(!__any_sync(FULL, together > RAW_BITS))) {
        u32 raw = c.raw(together);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            bits[j] = raw & low_ones(n[j]);
            raw >>= n[j];
        }
    } else {
        const u32 longest = __reduce_max_sync(FULL, most);
#pragma unroll 1
        for (u32 from = 0; uniform(from < longest); from += RAW_BITS) {
            c.top_up(lane);
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) {
                const u32 left = n[j] > from ? n[j] - from : 0;
                const Word raw = c.raw(min_of(left, (u32)RAW_BITS));
                if (from < 8 * sizeof(Word)) bits[j] |= raw << from;
            }
        }
    }
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        const Word code = shifted(e[j] >> 16 & 63, n[j], (Word)0) | bits[j];
        d[j] = n[j] ? extended_difference<T>(code) : d[j];
    }
}

// The codes of a group of a class above 0, where they are symbols: those of the tile's own table, or tokens.
DEV void decode_symbols(Coder& c, u32 table, bool own, u32 has, u32 lane, u32 (&code)[QUAD]) {
    c.top_up(lane);
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        const u32 entry = c.symbol<false>(table, has >> j & 1);
        code[j] = uniform(own) ? entry >> 10 & 0xfff : token_of(entry);
    }
}

// What lengths of final states are counted from, where the longest has so many bits.
DEV u32 floor_of(u32 longest) { return longest >= 1 << LENGTH_BITS ? longest - ((1 << LENGTH_BITS) - 1) : 0; }
// Bits that are there of a state whose length is so much above that.
DEV u32 bits_of_state(u32 floor, u32 above) { return above ? floor + above - 1 : floor; }

DEV u32 read16(const u8* p) { return *(const u16*)p; }
// Whether so many bytes of a body are there from `at` on.
DEV bool has_bytes(u32 at, u32 bytes, u32 wanted) { return at <= bytes && bytes - at >= wanted; }

// The states of the lanes, from `at` on, which moves behind them. For a whole warp.
DEV bool read_states(const u8* body, u32 bytes, u32& at, u32 longest, bool masked, u32& state) {
    const u32 lane = threadIdx.x & 31;
    state = 1;
    if (longest == 0) return true;
    u32 mask = FULL;
    if (masked) {
        if (!has_bytes(at, bytes, 4)) return false;
        mask = read16(body + at) | read16(body + at + 2) << 16;
        at += 4;
    }
    // First the lengths of the lanes' states, then these.
    const u32 lengths = LENGTH_BITS * __popc(mask), number = __popc(mask & low_ones(lane)), has = mask >> lane & 1,
              floor = floor_of(longest);
    if (!has_bytes(at, bytes, (lengths + 7) / 8)) return false;
    const u8* const from_here = body + at;
    const u32 above = has ? from_here[number / 2] >> (number % 2 * LENGTH_BITS) & 15 : 0,
              n = has ? bits_of_state(floor, above) : 0, up_to = warp_running_sum(n),
              all = lengths + __shfl_sync(FULL, up_to, 31), states = (all + 15) / 16 * 2;
    if (!has_bytes(at, bytes, states)) return false;
    const u32 from = lengths + up_to - n;
    u64 there = 0;
#pragma unroll
    for (u32 k = 0; k < 3; k++) {
        const u32 word = from / 16 + k;
        if (16 * word < from + n) there |= (u64)read16(from_here + 2 * word) << (16 * k);
    }
    const u32 x = (u32)(there >> from % 16) & low_ones(n) | (above ? 1u << n : 0);
    at += states;
    state = x ? x : 1;
    return !(all % 16 && read16(from_here + states - 2) >> all % 16);
}

// The classes of the groups 4·lane … 4·lane + 3 of so many, four bits each.
DEV u32 read_classes(Coder& c, u32 groups, u32 lane) {
    u32 cls = FIRST, classes = 0;
    c.top_up(lane);
#pragma unroll
    for (u32 s = 0; s < CLASSES_OF_LANE; s++) {
        const bool has = CLASSES_OF_LANE * lane + s < groups;
        cls = c.next_class(cls, has);
        if (has) classes |= cls << (4 * s);
    }
    return classes;
}

// Where the table of a class above 0 is. `slots`: the tables of all tiles; `own`: that of this one.
DEV u32 table_of(u32 slots, u32 own, bool has_own, u32 cls) {
    return has_own && cls == OWN ? own : slots + ((cls - 1) << (TABLE_BITS + 2));
}

// Four codes of a lane to where they are kept.
DEV void put_codes(u32* at, const u32 (&d)[QUAD]) { *(uint4*)at = make_uint4(d[0], d[1], d[2], d[3]); }
DEV void put_codes(u64* at, const u64 (&d)[QUAD]) {
#pragma unroll
    for (u32 j = 0; j < QUAD; j += 2)
        ((uint4*)at)[j / 2] = make_uint4((u32)d[j], (u32)(d[j] >> 32), (u32)d[j + 1], (u32)(d[j + 1] >> 32));
}

// The same of 16 bits each.
DEV void put_narrow_codes(u8* at, u32 a, u32 b, u32 c, u32 d) {
    *(uint2*)at = make_uint2(__byte_perm(a, b, 0x5410), __byte_perm(c, d, 0x5410));
}

// Whether decoding ended as encoding began, and all words were taken.
DEV bool ended_well(const Coder& c, const u8* end) {
    const u32 all = (u32)(end - c.from);
    const bool rest = c.at == all || (c.at + 2 == all && read16(c.from + c.at) == 0);
    return __all_sync(FULL, c.x == 1) && rest;
}

}    // namespace predict
