// Twin: src/codec/interp/entropy/decode.rs
// One warp, one tile: the codes of a packed body (docs/reference/codecs/interp.md §4, §5, §9), group by group, in
// registers.
//
// The words of the body pass through a ring in shared memory, which copies that nobody waits for keep filled:
//
//   ring   RING_BYTES of each warp   its lanes ask for 16 bytes each and take words of 2 from it
//
// Byte p of the body, counted from the multiple of 16 at or before it, is at p modulo RING; the first bytes stand once
// more behind the last ones.
#pragma once
#include "geometry.cuh"
#include "tables.h"

namespace interp {

enum : u32 { RING = 1024, RING_MORE = 256, RING_BYTES = RING + RING_MORE, TABLE_BYTES = 4u << TABLE_BITS };

// What the slots of a symbol say, but for the number: bits 0–9 the slot's number within its symbol, 10–15 the raw bits
// of the token, 16–21 the token, or for one with raw bits the top of its code, 22–31 the frequency.
DEV u32 entry_of(u32 symbol, u32 frequency) {
    const u32 raw = symbol < DIRECT ? 0 : 5 + (symbol - DIRECT) / 2;
    return frequency << 22 | (raw ? 2 + (symbol & 1) : symbol) << 16 | raw << 10;
}
DEV u32 raw_of(u32 entry) { return entry >> 10 & 63; }
DEV u32 top_of(u32 entry) { return entry >> 16 & 63; }
// The same of a table whose symbols are codes: bits 10–21 the symbol.
DEV u32 direct_entry_of(u32 symbol, u32 frequency) { return frequency << 22 | symbol << 10; }
// The symbol that the slots of a table of tokens are of.
DEV u32 token_of(u32 entry) {
    const u32 raw = raw_of(entry), top = top_of(entry);
    return raw ? DIRECT + 2 * (raw - 5) + (top & 1) : top;
}
// The decoder's tables of tokens, from the first one on. By a whole block; a barrier has to follow.
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
// Reads a tile's own table, from byte `at` of its body on, which moves behind it, into slots in shared memory; whether
// it is one. `direct`: its symbols are codes. For a whole warp.
SELDOM bool read_own(const u8* body, u32 bytes, u32& at, u32 slots, bool direct) {
    const u32 lane = threadIdx.x & 31, from = at, symbols = direct ? (u32)MOST_SYMBOLS : (u32)TOKENS;
    u32 sum = 0, symbol = 0;
#pragma unroll 1
    while (uniform(sum < 1u << TABLE_BITS)) {
        // A frequency of one byte or two, and behind 0 how many more there are.
        const u8* const p = body + at;
        const u32 there = bytes - at, first = there > 0 ? p[0] : 0, low = there > 1 ? p[1] : 0,
                  more = there > 2 ? p[2] : 0;
        const bool is_long = first >= 128;
        const u32 frequency = is_long ? (first & 127) << 8 | low : first, used = 1 + is_long + (frequency == 0);
        if (there < used || symbol >= symbols || frequency >= 1u << TABLE_BITS || sum + frequency > 1u << TABLE_BITS)
            return false;
        const u32 entry = direct ? direct_entry_of(symbol, frequency) : entry_of(symbol, frequency);
        for (u32 k = lane; k < frequency; k += 32) store_shared32(slots + 4 * (sum + k), entry | k);
        sum += frequency;
        symbol += frequency ? 1 : 1 + (is_long ? more : low);
        at += used;
    }
    if ((at - from) % 2) return at < bytes && body[at++] == 0;
    return true;
}

DEV u32 read16(const u8* p) { return *(const u16*)p; }
// Whether so many bytes of a body are there from `at` on.
DEV bool has_bytes(u32 at, u32 bytes, u32 wanted) { return at <= bytes && bytes - at >= wanted; }

// The slot that a state has in the table of classes behind one of class `before`: its class, and the state behind it.
DEV u32 class_behind(u32 before, u32& x) {
    const u16* const starts = CLASS_STARTS + before * (CLASSES + 1);
    const u32 slot = x & ((1u << TABLE_BITS) - 1);
    u32 cls = 0;
#pragma unroll
    for (u32 step = 16; step; step /= 2)
        if (cls + step < CLASSES && starts[cls + step] <= slot) cls += step;
    const u32 start = starts[cls];
    x = (starts[cls + 1] - start) * (x >> TABLE_BITS) + slot - start;
    return cls;
}

// The words of a body, and the state of a lane.
struct Coder {
    u32 x, threshold;
    u32 at, end, issued;    // the next word, as an address in the ring; where its turn ends; bytes that were asked for
    u32 below;              // the lanes before this one
    u32 passed;             // bytes of all turns before
    const u8* from;         // byte 0
    u32 there;              // bytes that may be read from there on

    DEV void begin(const u8* words, const u8* last, u32 ring, u32 lane) {
        const u32 skipped = (u32)(u64)words & 15;
        from = words - skipped;
        there = (u32)min_of((u64)(last - from), (u64)1 << 20);
        at = ring + skipped;
        end = ring + RING;
        issued = passed = 0;
        below = low_ones(lane);
        wait_for_copies();    // those of the tile before
        __syncwarp();
        fill(lane);
        fill(lane);
        wait_for_copies();
        __syncwarp();
    }
    // Asks for as much as there is room for, 512 bytes at most.
    DEV void fill(u32 lane) {
        const u32 pieces = min_of((byte() / 16 * 16 + RING - issued) / 16, 32u), piece = issued + 16 * lane;
        if (lane < pieces && piece < there) {
            const u32 n = min_of(there - piece, 16u), place = end - RING + piece % RING;
            copy_async(place, from + piece, n);
            if (piece % RING < RING_MORE) copy_async(place + RING, from + piece, n);
        }
        issued += 16 * pieces;
        close_lot();
    }
    // The next word's byte.
    DEV u32 byte() const { return passed + at - (end - RING); }
    // Makes sure that 256 bytes are there, which is as much as is taken between two calls. One asks for at most 512
    // bytes, and where none are asked for, more than 768 less the last 512 are there.
    DEV void top_up(u32 lane) {
        if (at >= end) {
            at -= RING;
            passed += RING;
        }
        if (!uniform(issued - byte() <= RING - RING_MORE)) return;
        __syncwarp();    // all have taken what is written over
        fill(lane);
        wait_for_older_lots();
        __syncwarp();
    }
    DEV void refill(bool takes_part) {
        const bool need = takes_part && x < threshold;
        const u32 all = __ballot_sync(FULL, need);
        const u32 word = load_shared16(at + 2 * __popc(all & below));
        if (need) x = __byte_perm(word, x, 0x5410);
        at += 2 * __popc(all);
    }
    // What the table at this place in shared memory says.
    template <bool WHOLE> DEV u32 symbol(u32 table, bool has) {
        const u32 entry = load_shared32(at_word(table, x & ((1u << TABLE_BITS) - 1)));
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
    // The classes of the groups 4·lane … 4·lane + 3 of so many, eight bits each.
    DEV u32 read_classes(u32 groups, u32 lane) {
        u32 cls = FIRST, classes = 0;
        top_up(lane);
#pragma unroll
        for (u32 s = 0; s < CLASSES_OF_LANE; s++) {
            const bool has = CLASSES_OF_LANE * lane + s < groups;
            u32 next = x;
            cls = class_behind(has ? cls : FIRST, next);
            x = has ? next : x;
            refill(has);
            if (has) classes |= cls << (8 * s);
        }
        return classes;
    }
    // Whether decoding ended as encoding began, and all words were taken, up to this byte of the body.
    DEV bool ended_well(const u8* last) const {
        const u32 all = (u32)(last - from), next = byte();
        const bool rest = next == all || (next + 2 == all && read16(from + next) == 0);
        return __all_sync(FULL, x == 1) && rest;
    }
};

// The difference of a code, and back: zigzag. The code that `top` begins.
DEV u32 difference_of(u32 code) { return (code >> 1) ^ (0 - (code & 1)); }
DEV u64 difference_of(u64 code) { return (code >> 1) ^ (0 - (code & 1)); }
DEV u32 code_of(u32 difference) { return difference << 1 ^ (u32)((i32)difference >> 31); }
DEV u64 code_of(u64 difference) { return difference << 1 ^ (u64)((i64)difference >> 63); }
DEV u32 shifted(u32 top, u32 n, u32) { return __funnelshift_lc(0, top, n); }
DEV u64 shifted(u32 top, u32 n, u64) { return n < 64 ? (u64)top << n : 0; }

// The codes of a group of a class above 0, without their low bits. A lane has those that `has` says.
template <class Word, bool WHOLE> DEV void decode_group(Coder& c, u32 table, u32 has, u32 lane, Word (&code)[QUAD]) {
    c.top_up(lane);
    u32 e[QUAD], all = 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        e[j] = c.symbol<WHOLE>(table, has >> j & 1);
        all |= e[j];
        code[j] = top_of(e[j]);
    }
    if (!uniform(__any_sync(FULL, raw_of(all)))) return;
    u32 n[QUAD], most = 0;
    Word bits[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        n[j] = raw_of(e[j]);
        most = n[j] > most ? n[j] : most;
        bits[j] = 0;
    }
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
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) code[j] = shifted(top_of(e[j]), n[j], (Word)0) | bits[j];
}

// The same where codes are symbols: those of the tile's own table, or tokens.
template <class Word> DEV void decode_symbols(Coder& c, u32 table, bool own, u32 has, u32 lane, Word (&code)[QUAD]) {
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

// The states of the lanes, from `at` on, which moves behind them. For a whole warp.
DEV bool read_states(const u8* body, u32 bytes, u32& at, u32 longest, u32& state) {
    enum : u32 { LENGTHS = 32 * LENGTH_BITS };
    const u32 lane = threadIdx.x & 31, floor = floor_of(longest);
    state = 1;
    if (longest == 0) return true;
    // First the lengths of the lanes' states, then these.
    if (!has_bytes(at, bytes, LENGTHS / 8)) return false;
    const u8* const from_here = body + at;
    const u32 above = from_here[lane / 2] >> (lane % 2 * LENGTH_BITS) & 15, n = bits_of_state(floor, above),
              up_to = warp_running_sum(n), all = LENGTHS + __shfl_sync(FULL, up_to, 31), states = (all + 15) / 16 * 2;
    if (!has_bytes(at, bytes, states)) return false;
    const u32 from = LENGTHS + up_to - n;
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

// The place of the table of a class above 0. `slots`: the tables of all tiles; `own`: that of this one.
DEV u32 table_of(u32 slots, u32 own, bool has_own, u32 cls) {
    if (has_own && cls == OWN) return own;
    const u32 table = cls < PLAIN ? cls : cls == WIDE ? TABLES - 1 : PLAIN;
    return slots + (table - 1) * TABLE_BYTES;
}
// Low bits of codes of a class above 0 that stand apart.
DEV u32 shift_of(u32 cls, u32 low) { return low + (cls > PLAIN ? cls - PLAIN : 0); }

// Bits side by side, of a body from byte `at` on, which is a multiple of 4.
DEV u32 take_bits(const u8* body, u32 at, u32 bit, u32 count, u32) {
    const u32* const words = (const u32*)(body + at) + bit / 32;
    const u32 low = words[0], high = bit % 32 + count > 32 ? words[1] : 0;
    return __funnelshift_r(low, high, bit % 32) & low_ones(count);
}
DEV u64 take_bits(const u8* body, u32 at, u32 bit, u32 count, u64) {
    const u32 first = min_of(count, 32u);
    const u32 low = take_bits(body, at, bit, first, 0u);
    return count > 32 ? low | (u64)take_bits(body, at, bit + 32, count - 32, 0u) << 32 : low;
}

}    // namespace interp
