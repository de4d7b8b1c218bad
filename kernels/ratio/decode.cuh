// One warp, one tile: the codes of a packed body (docs/codecs/ratio.md §3–§5), group by group, in registers.
//
// The words of the body pass through a ring in shared memory, which copies that nobody waits for keep filled:
//
//   ring   TILE_RING_BYTES of each warp   its lanes ask for 16 bytes each and take words of 2 from it
//
// Byte p of the body, counted from the multiple of 16 at or before it, is at p modulo the ring's length.
#pragma once
#include "forms.cuh"
#include "stream.cuh"
#include "tables.h"

namespace ratio {

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
        const u32 first = p < end ? p[0] : 0, bytes = first == 0 || first >= 128 ? 2 : 1;
        if (end - p < (i64)bytes) return false;
        const u32 second = bytes > 1 ? p[1] : 0, frequency = first < 128 ? first : (first & 127) << 8 | second;
        if (symbol >= symbols || frequency >= 1u << TABLE_BITS || sum + frequency > 1u << TABLE_BITS) return false;
        const u32 entry = direct ? direct_entry_of(symbol, frequency) : entry_of(symbol, frequency);
        for (u32 k = lane; k < frequency; k += 32) store_shared32(slots + 4 * (sum + k), entry | k);
        sum += frequency;
        symbol += frequency ? 1 : 1 + second;
        p += bytes;
    }
    if ((p - from) % 2) {
        if (p == end || *p) return false;
        p++;
    }
    at = p;
    return true;
}

// How the body of a tile was decoded: it was; it is not valid; 32 bits are not enough.
enum Verdict { GOOD, BAD, AGAIN };

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
        const u32 pieces = min_of(((at & ~15u) + TILE_RING_BYTES - issued) / 16, 32u), piece = issued + 16 * lane;
        if (lane < pieces && piece < there)
            copy_async(ring + piece % TILE_RING_BYTES, from + piece, min_of(there - piece, 16u));
        issued += 16 * pieces;
    }
    // Makes sure that 320 bytes are there, which is as much as is taken between two calls. So one asks for at most 512
    // bytes, and where none are asked for, more than 832 less the last 512 are there.
    DEV void top_up(u32 lane) {
        if (!uniform(issued - at <= TILE_RING_BYTES - 192)) return;
        __syncwarp();    // all have taken what is written over
        fill(lane);
        close_lot();
        wait_for_older_lots();
        __syncwarp();
    }
    DEV void refill(bool takes_part) {
        const bool need = takes_part && x < threshold;
        const u32 all = __ballot_sync(FULL, need);
        const u32 word = load_shared16(ring + (at + 2 * __popc(all & below)) % TILE_RING_BYTES);
        if (need) x = __byte_perm(word, x, 0x5410);
        at += 2 * __popc(all);
    }
    // What the table at this place in shared memory says.
    template <bool WHOLE> DEV u32 symbol(u32 table, bool has) {
        return pass<WHOLE>(load_shared32(at_word(table, x & ((1u << TABLE_BITS) - 1))), has);
    }
    // A difference of classes: table 0 is no more than its frequencies.
    DEV u32 difference(bool has) {
        const u32 slot = x & ((1u << TABLE_BITS) - 1);
        u32 up_to = 0, entry = 0;
#pragma unroll
        for (u32 k = 0; k < TABLES; k++) {
            const u32 frequency = FREQUENCIES[k];
            entry = slot >= up_to ? frequency << 22 | k << 16 | (slot - up_to) : entry;
            up_to += frequency;
        }
        return pass<false>(entry, has) >> 16 & 63;
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
        refill(true);
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

// What words of a tile are decoded into: residuals modulo 2^32, or all of their 64 bits. Codes are their zigzag.
struct Narrow {
    typedef u32 Word;
    enum { MOST_RAW = 30 };
    DEV static u32 residual(u32 code) { return (code >> 1) ^ (0 - (code & 1)); }
    DEV static u32 code(u32 residual) { return residual << 1 ^ (u32)((i32)residual >> 31); }
    DEV static u32 above(u32 top, u32 n) { return __funnelshift_lc(0, top, n); }
};
struct Wide {
    typedef u64 Word;
    enum { MOST_RAW = 62 };
    DEV static u64 residual(u64 code) { return (code >> 1) ^ (0 - (code & 1)); }
    DEV static u64 code(u64 residual) { return residual << 1 ^ (u64)((i64)residual >> 63); }
    DEV static u64 above(u32 top, u32 n) { return (u64)top << n; }
};
// That which has all bits of a type's words.
template <u32 BITS> struct AllBits {
    typedef Narrow Form;
};
template <> struct AllBits<64> {
    typedef Wide Form;
};

// What was met on the way of a tile's codes.
struct Met {
    u32 sum;    // of codes with raw bits; and whether one of them did not fit
    u32 far;
};

// The residuals of a group of a class above 0. Of streams of 64 bits `met` tells whether 32 are enough.
template <class T, class Form, bool WHOLE>
DEV void decode_group(Coder& c, u32 table, u32 has, u32 lane, typename Form::Word (&d)[QUAD], Met& met) {
    typedef typename Form::Word Word;
    c.top_up(lane);
    u32 e[QUAD], all = 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        e[j] = c.symbol<WHOLE>(table, has >> j & 1);
        all |= e[j];
        d[j] = (Word)(typename Form::Word)((i64)((i32)(e[j] << 10) >> 26));
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
    if (T::BITS > 8 * sizeof(Word) && most > Form::MOST_RAW) met.far = 1;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        Word code = Form::above(e[j] >> 16 & 63, n[j]) | bits[j];
        if (T::BITS < 32) code &= ((Word)1 << (T::BITS & 31)) - 1;
        if (T::BITS > 8 * sizeof(Word) && n[j]) {
            met.sum += (u32)code;
            met.far |= (u32)code >> 22;
        }
        d[j] = n[j] ? Form::residual(code) : d[j];
    }
}

// The codes of a group of a class above 0, where they are symbols; `direct`: of a table that says these, not tokens.
DEV void decode_symbols(Coder& c, u32 table, bool direct, u32 has, u32 lane, u32 (&code)[QUAD]) {
    c.top_up(lane);
    if (uniform(__all_sync(FULL, has == 15))) {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) code[j] = c.symbol<true>(table, true);
    } else {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) code[j] = c.symbol<false>(table, has >> j & 1);
    }
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) code[j] = uniform(direct) ? code[j] >> 10 & 0xfff : token_of(code[j]);
}

// What stands before the words of a packed body, the same on all lanes but for the state.
template <class T> struct Prefix {
    typename T::Word base;
    u32 set, exact, own, change, shift, state;    // own: it has a table of its own
    const u8* words;
    bool good;
};

DEV u32 read16(const u8* p) { return *(const u16*)p; }

// Reads and checks it. For a whole warp.
// `own`: where the slots of its own table are to be. `states_at`: of a tile whose form is not plain, where the states
// are (decode_forms.cuh): what stands between base and states is read then; else 0.
template <class T>
DEV Prefix<T> read_prefix(const Header& head, const u8* body, u32 bytes, u32 own, u32 lane, u32 states_at = 0) {
    Prefix<T> p;
    const u8* end = body + bytes;
    const u32 bits = *(const u32*)body, few = bits >> 4 & 3, base_words = few < 3 ? few : 4, longest = bits >> 15 & 31,
              masked = bits >> 20 & 1;
    p.set = bits & 7;
    p.exact = bits >> 3 & 1;
    p.own = bits >> 6 & 1;
    p.change = bits >> 7 & 255;
    p.good = (p.change <= head.grid.groups() || p.change == NEVER) && longest <= STATE_BITS && longest >= masked &&
             !(p.exact && !head.step_w) && !(p.set & ~head.grid.set());
    p.shift = 0;
    p.base = 0;
    p.state = 1;
    const u8* at = body + HEAD_BYTES;
    const bool has_shift = p.exact || !head.step_w;
    p.words = at;
    if (!p.good || (u32)(end - at) < 2 * has_shift + 2 * base_words) {
        p.good = false;
        return p;
    }
    if (has_shift) {
        p.shift = states_at ? 0 : read16(at);
        at += 2;
    }
    if (p.shift >= T::BITS) p.good = false;
    u64 base = bits >> (32 - BASE_BITS);
#pragma unroll 1
    for (u32 k = 0; k < base_words; k++) {
        const u32 shift = BASE_BITS + 16 * k;
        base |= (u64)read16(at) << shift;
        at += 2;
    }
    const u32 width = BASE_BITS + 16 * base_words;
    if (width < 64) base = (u64)((i64)(base << (64 - width)) >> (64 - width));
    p.base = (typename T::Word)base;
    if (states_at)
        at = body + states_at;
    else if (uniform(p.own && p.good))
        p.good = read_own(at, end, own, false);
    if (!p.good) return p;
    u32 mask = longest ? FULL : 0;
    if (masked) {
        if (end - at < 4) p.good = false;
        if (!p.good) return p;
        mask = read16(at) | read16(at + 2) << 16;
        at += 4;
    }
    // First the lengths of the lanes' states, then these.
    const u32 lengths = LENGTH_BITS * __popc(mask), number = __popc(mask & low_ones(lane)), has = mask >> lane & 1,
              floor = floor_of(longest);
    if ((u32)(end - at) < (lengths + 7) / 8) p.good = false;
    if (!p.good) return p;
    const u32 above = has ? at[number / 2] >> (number % 2 * LENGTH_BITS) & 15 : 0,
              n = has ? bits_of_state(floor, above) : 0, up_to = warp_running_sum(n),
              all = lengths + __shfl_sync(FULL, up_to, 31), states = (all + 15) / 16 * 2;
    if ((u32)(end - at) < states) p.good = false;
    if (!p.good) return p;
    const u32 from = lengths + up_to - n;
    u64 there = 0;
#pragma unroll
    for (u32 k = 0; k < 3; k++) {
        const u32 word = from / 16 + k;
        if (16 * word < from + n) there |= (u64)read16(at + 2 * word) << (16 * k);
    }
    const u32 x = (u32)(there >> from % 16) & low_ones(n) | (above ? 1u << n : 0);
    if (all % 16 && read16(at + states - 2) >> all % 16) p.good = false;
    p.words = at + states;
    p.state = x ? x : 1;
    p.good = __all_sync(FULL, p.good);
    return p;
}

// The classes of the groups 4·lane … 4·lane + 3, four bits each. `some` has a bit for each of these that has an
// element.
DEV u32 read_classes(Coder& c, u32 groups, u32 some, u32 lane) {
    u32 sum = 0, classes = 0;
    c.top_up(lane);
#pragma unroll
    for (u32 s = 0; s < BATCH_GROUPS; s++) {
        const bool has = lane < groups / BATCH_GROUPS && some >> s & 1;
        sum += c.difference(has);
        classes |= (sum & 15) << (4 * s);
    }
    const u32 before = warp_running_sum(sum) - sum;
    u32 all = 0;
#pragma unroll
    for (u32 s = 0; s < BATCH_GROUPS; s++) all |= ((classes >> (4 * s)) + before & 15) << (4 * s);
    return all;
}

// Where the table of a class above 0 is. `slots`: the tables of all tiles; `own`: that of this one.
DEV u32 table_of(u32 slots, u32 own, bool has_own, u32 cls) {
    return has_own && cls == TABLES - 1 ? own : slots + ((cls - 1) << (TABLE_BITS + 2));
}

// Whether decoding ended as encoding began, and all words were taken.
DEV bool ended_well(const Coder& c, const u8* end) {
    const u32 all = (u32)(end - c.from);
    const bool rest = c.at == all || (c.at + 2 == all && read16(c.from + c.at) == 0);
    return __all_sync(FULL, c.x == 1) && rest;
}

}    // namespace ratio
