// Bins of a warp that lie close together, as words of 16 bits: two in a register and no half ever lets a carry into the other, so that one instruction
// does for two what takes one for each else. The integers stay on the stage, and their codes lie behind them.
#pragma once
#include "choose.cuh"

// What words of a type become in such a warp.
template <class T> struct TightOf { typedef T Type; };
template <> struct TightOf<F32> { typedef Tight32 Type; };
template <> struct TightOf<F64> { typedef Tight64 Type; };

// Bins of a warp are less than 2^TIGHT_BITS apart, and are counted from as much below the first one. So they have one bit more, their second differences two and a
// sign, and the codes of these no more than 15.
#define TIGHT_BITS 13
#define TIGHT_SPAN (1u << TIGHT_BITS)

// The codes of the integers on a warp's stage.
template <class W> DEV Stage<W> tight_codes(uint4* words) {
    enum { SIZE = STRIP_VECTORS * Stage<W>::ROW };
    static_assert(2 * SIZE * sizeof(typename Stage<W>::Vector) <= STAGE_VECTORS * sizeof(uint4), "fits");
    return Stage<W>((uint4*)(Stage<W>(words).vectors + SIZE));
}

// Eight words of a strip, in four registers.
enum { TIGHT_PAIRS = 4 };
template <class W> struct TightRow {
    enum { VECTORS = 2 * TIGHT_PAIRS / W::VALUES, NEXT = VECTORS * Strip<W>::NEXT };
    u32 x[TIGHT_PAIRS];

    DEV void load(const Strip<W>& strip, u32 at) {
#pragma unroll
        for (u32 i = 0; i < VECTORS; i++) get(strip[at + i * Strip<W>::NEXT], i);
    }
    DEV void store(const Strip<W>& strip, u32 at) const {
#pragma unroll
        for (u32 i = 0; i < VECTORS; i++) put(strip[at + i * Strip<W>::NEXT], i);
    }
    DEV void get(const uint2& v, u32 i) { x[2 * i] = v.x; x[2 * i + 1] = v.y; }
    DEV void get(const u32& v, u32 i) { x[i] = v; }
    DEV void put(uint2& v, u32 i) const { v = make_uint2(x[2 * i], x[2 * i + 1]); }
    DEV void put(u32& v, u32 i) const { v = x[i]; }
};
// A whole strip.
template <class W> struct TightStrip {
    enum { ROWS = STRIP_VECTORS / TightRow<W>::VECTORS };
    TightRow<W> row[ROWS];
};
// First and last pair of a vector.
DEV u32 first_pair(uint2 v) { return v.x; }
DEV u32 first_pair(u32 v) { return v; }
DEV u32 last_pair(uint2 v) { return v.y; }
DEV u32 last_pair(u32 v) { return v; }

// Differences of words less than 2^15 apart, plus 2^15: so they tell by their highest bits which are not below 0.
DEV u32 raised_differences(u32 x, u32 before) { return x - before + HIGHEST; }
DEV u32 to_zigzags(u32 raised) { return doubled(raised) ^ ~spread_highest(raised); }
// Each word's neighbour below, of which the first is the last one of the pair before.
DEV u32 shifted(u32 before, u32 x) { return __byte_perm(before, x, 0x5432); }

// The strip's integers to their codes in MODE, of which the sampled ones are counted. Returns the OR of the codes, which are stored too.
template <class W, u32 MODE> DEV u32 encode_tight(const Strip<W>& integers, const Strip<W>& stage, u32 base, Wider<W>& samples, TightStrip<W>& codes) {
    u32 before = 0, difference = HIGHEST, all = 0;
    if (MODE == MODE_DELTA || MODE == MODE_SPECIAL) {
        const auto vector = integers.before();
        const u32 last = last_pair(vector);
        before = integers.is_first() ? first_pair(vector) << 16 : last;
        if (!integers.is_first()) difference = raised_differences(last, last << 16);
    }
    const u32 bases = both(base);
#pragma unroll
    for (u32 r = 0; r < TightStrip<W>::ROWS; r++) {
        TightRow<W>& row = codes.row[r];
        row.load(integers, r * TightRow<W>::NEXT);
#pragma unroll
        for (u32 i = 0; i < TIGHT_PAIRS; i++) {
            const u32 x = row.x[i];
            u32& code = row.x[i];
            if (MODE == MODE_OFFSET) {
                code = x - bases;
            } else if (MODE == MODE_ZIGZAG) {
                code = to_zigzags(raised_differences(x, bases));
            } else {
                u32 d = raised_differences(x, shifted(before, x));
                before = x;
                if (MODE == MODE_SPECIAL) {
                    const u32 now = d;
                    d = raised_differences(now, shifted(difference, now));
                    difference = now;
                }
                code = to_zigzags(d);
            }
        }
        row.store(stage, r * TightRow<W>::NEXT);
        all |= row.x[0] | row.x[1] | row.x[2] | row.x[3];
        // The samples are in the upper halves: what fills these up fills the lower ones too.
        samples.count(__byte_perm(filled_up(row.x[1]), filled_up(row.x[3]), 0x7632));
    }
    return all;
}
template <class W> DEV u32 encode_tight_as(u32 mode, const Strip<W>& integers, const Strip<W>& stage, u32 base, Wider<W>& samples, TightStrip<W>& codes) {
    if (mode == MODE_OFFSET) return encode_tight<W, MODE_OFFSET>(integers, stage, base, samples, codes);
    if (mode == MODE_ZIGZAG) return encode_tight<W, MODE_ZIGZAG>(integers, stage, base, samples, codes);
    if (mode == MODE_DELTA) return encode_tight<W, MODE_DELTA>(integers, stage, base, samples, codes);
    return encode_tight<W, MODE_SPECIAL>(integers, stage, base, samples, codes);
}

// The strip's codes as offsets from `least`, where they are `wanted`.
template <class W> DEV void to_tight_offsets(const Strip<W>& integers, const Strip<W>& codes, u32 least, bool wanted) {
    const u32 bases = both(least);
#pragma unroll 1
    for (u32 at = 0; uniform(at) < Strip<W>::END; at = settled(at + TightRow<W>::NEXT)) {
        TightRow<W> row;
        row.load(integers, at);
#pragma unroll
        for (u32 i = 0; i < TIGHT_PAIRS; i++) row.x[i] -= bases;
        if (wanted) row.store(codes, at);
    }
}

// Which of the strip's codes have more bits than `width`: a bit for each, the lowest for the first.
template <class W> DEV u32 wide_tight(const TightStrip<W>& codes, u32 width) {
    const u32 rest = both(0x7fff - low_ones(width));    // with it wider codes, and only these, have the highest bit
    u32 places = 0;
#pragma unroll
    for (u32 r = 0; r < TightStrip<W>::ROWS; r++) {
        const u32* const x = codes.row[r].x;
        const u32 low = __byte_perm(x[0] + rest, x[1] + rest, 0x7531) & 0x80808080u, high = __byte_perm(x[2] + rest, x[3] + rest, 0x7531) & 0x80808080u;
        const u32 eight = sum_of_products(low, 0x08040201u, sum_of_products(high, 0x80402010u, 0u));    // times 2^7
        places |= r ? eight << (8 * r - 7 & 31) : eight >> 7;
    }
    return places;
}

// The strip's codes of n bits, of which MOST is the most that a lane has: up to 4, 5, 8 or 16.
template <class W, u32 MOST> DEV void append_tight(Appender& to, const Strip<W>& codes, u32 n) {
    const u32 mask = both(low_ones(n)), square = settled(1u << 2 * n);
#pragma unroll 1
    for (u32 at = 0; uniform(at) < Strip<W>::END; at = settled(at + TightRow<W>::NEXT)) {
        TightRow<W> row;
        row.load(codes, at);
        u32 x[TIGHT_PAIRS];
#pragma unroll
        for (u32 i = 0; i < TIGHT_PAIRS; i++) x[i] = row.x[i] & mask;
        if (MOST <= 5) {
            // Two pairs as one of 3n bits, at most, a half.
            const u32 low = closed_up(x[1] * square + x[0], n), high = closed_up(x[3] * square + x[2], n);
            if (MOST <= 4) {
                to.add(high * (square * square) + low, 8 * n);
            } else {
                to.add(low, 4 * n);
                to.add(high, 4 * n);
            }
        } else {
#pragma unroll
            for (u32 i = 0; i < TIGHT_PAIRS; i++) x[i] = closed_up(x[i], n);
            if (MOST <= 8) {
                to.add(x[1] * square + x[0], 4 * n);
                to.add(x[3] * square + x[2], 4 * n);
            } else {
#pragma unroll
                for (u32 i = 0; i < TIGHT_PAIRS; i++) to.add(x[i], 2 * n);
            }
        }
    }
}
template <class W> DEV void append_tight(Appender& to, const Strip<W>& codes, u32 n, u32 widest) {
    if (widest <= 4) append_tight<W, 4>(to, codes, n);
    else if (widest <= 5) append_tight<W, 5>(to, codes, n);
    else if (widest <= 8) append_tight<W, 8>(to, codes, n);
    else append_tight<W, 16>(to, codes, n);
}
