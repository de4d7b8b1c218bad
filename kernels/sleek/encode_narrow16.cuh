// Twin: src/codec/sleek/encode.rs
// Bins of a warp that lie close together, as words of 16 bits: two in a register and no half ever lets a carry into the
// other, so that one instruction does for two what takes one for each else. The integers stay in the tile, and their
// codes lie behind them.
#pragma once
#include "choose.cuh"

// What words of a type become in such a warp.
template <class T> struct NarrowOf {
    typedef T Type;
};
template <> struct NarrowOf<F32> {
    typedef Narrow32 Type;
};
template <> struct NarrowOf<F64> {
    typedef Narrow64 Type;
};

// Bins of a warp are less than 2^NARROW_BITS apart, and are counted from as much below the first one. So they have one
// bit more, their second differences two and a sign, and the codes of these no more than 15.
#define NARROW_BITS 13
#define NARROW_SPAN (1u << NARROW_BITS)

// The codes of the integers in a warp's tile.
template <class W> DEV Tile<W> narrow16_codes(uint4* words) {
    enum { SIZE = STRIP_VECTORS * Tile<W>::ROW };
    static_assert(2 * SIZE * sizeof(typename Tile<W>::Vector) <= TILE_VECTORS * sizeof(uint4), "fits");
    return Tile<W>((uint4*)(Tile<W>(words).vectors + SIZE));
}

// Eight words of a strip, in four registers.
enum { NARROW_SWAR16 = 4 };
template <class W> struct NarrowRow {
    enum { VECTORS = 2 * NARROW_SWAR16 / W::VALUES, NEXT = VECTORS * Strip<W>::NEXT };
    u32 x[NARROW_SWAR16];

    DEV void load(const Strip<W>& strip, u32 at) {
#pragma unroll
        for (u32 i = 0; i < VECTORS; i++) get(strip[at + i * Strip<W>::NEXT], i);
    }
    DEV void store(const Strip<W>& strip, u32 at) const {
#pragma unroll
        for (u32 i = 0; i < VECTORS; i++) put(strip[at + i * Strip<W>::NEXT], i);
    }
    DEV void get(const uint2& v, u32 i) {
        x[2 * i] = v.x;
        x[2 * i + 1] = v.y;
    }
    DEV void get(const u32& v, u32 i) { x[i] = v; }
    DEV void put(uint2& v, u32 i) const { v = make_uint2(x[2 * i], x[2 * i + 1]); }
    DEV void put(u32& v, u32 i) const { v = x[i]; }
};
// A whole strip.
template <class W> struct NarrowStrip {
    enum { ROWS = STRIP_VECTORS / NarrowRow<W>::VECTORS };
    NarrowRow<W> row[ROWS];
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

// The strip's integers to their codes in MODE, of which the sampled ones are counted. Returns the OR of the codes,
// which are stored too.
template <class W, u32 MODE>
DEV u32 encode_narrow16(const Strip<W>& integers, const Strip<W>& tile, u32 base, Wider<W>& samples,
                        NarrowStrip<W>& codes) {
    u32 before = 0, difference = HIGHEST, all = 0;
    if (MODE == SUBMODE_DELTA || MODE == SUBMODE_SPECIAL) {
        const auto vector = integers.before();
        const u32 last = last_pair(vector);
        before = integers.is_first() ? first_pair(vector) << 16 : last;
        if (!integers.is_first()) difference = raised_differences(last, last << 16);
    }
    const u32 bases = both(base);
#pragma unroll
    for (u32 r = 0; r < NarrowStrip<W>::ROWS; r++) {
        NarrowRow<W>& row = codes.row[r];
        row.load(integers, r * NarrowRow<W>::NEXT);
#pragma unroll
        for (u32 i = 0; i < NARROW_SWAR16; i++) {
            const u32 x = row.x[i];
            u32& code = row.x[i];
            if (MODE == SUBMODE_OFFSET) {
                code = x - bases;
            } else if (MODE == SUBMODE_ZIGZAG) {
                code = to_zigzags(raised_differences(x, bases));
            } else {
                u32 d = raised_differences(x, shifted(before, x));
                before = x;
                if (MODE == SUBMODE_SPECIAL) {
                    const u32 now = d;
                    d = raised_differences(now, shifted(difference, now));
                    difference = now;
                }
                code = to_zigzags(d);
            }
        }
        row.store(tile, r * NarrowRow<W>::NEXT);
        all |= row.x[0] | row.x[1] | row.x[2] | row.x[3];
        // The samples are in the upper halves: what fills these up fills the lower ones too.
        samples.count(__byte_perm(filled_up(row.x[1]), filled_up(row.x[3]), 0x7632));
    }
    return all;
}
template <class W>
DEV u32 encode_narrow16_as(u32 mode, const Strip<W>& integers, const Strip<W>& tile, u32 base, Wider<W>& samples,
                           NarrowStrip<W>& codes) {
    if (mode == SUBMODE_OFFSET) return encode_narrow16<W, SUBMODE_OFFSET>(integers, tile, base, samples, codes);
    if (mode == SUBMODE_ZIGZAG) return encode_narrow16<W, SUBMODE_ZIGZAG>(integers, tile, base, samples, codes);
    if (mode == SUBMODE_DELTA) return encode_narrow16<W, SUBMODE_DELTA>(integers, tile, base, samples, codes);
    return encode_narrow16<W, SUBMODE_SPECIAL>(integers, tile, base, samples, codes);
}

// The strip's codes as offsets from `least`, where they are `wanted`.
template <class W>
DEV void to_narrow16_offsets(const Strip<W>& integers, const Strip<W>& codes, u32 least, bool wanted) {
    const u32 bases = both(least);
#pragma unroll 1
    for (u32 at = 0; uniform(at) < Strip<W>::END; at = optimisation_barrier(at + NarrowRow<W>::NEXT)) {
        NarrowRow<W> row;
        row.load(integers, at);
#pragma unroll
        for (u32 i = 0; i < NARROW_SWAR16; i++) row.x[i] -= bases;
        if (wanted) row.store(codes, at);
    }
}

// Which of the strip's codes have more bits than `width`: a bit for each, the lowest for the first.
template <class W> DEV u32 wide_narrow16(const NarrowStrip<W>& codes, u32 width) {
    const u32 rest = both(0x7fff - low_ones(width));    // with it wider codes, and only these, have the highest bit
    u32 places = 0;
#pragma unroll
    for (u32 r = 0; r < NarrowStrip<W>::ROWS; r++) {
        const u32* const x = codes.row[r].x;
        const u32 low = __byte_perm(x[0] + rest, x[1] + rest, 0x7531) & 0x80808080u,
                  high = __byte_perm(x[2] + rest, x[3] + rest, 0x7531) & 0x80808080u;
        const u32 eight = sum_of_products(low, 0x08040201u, sum_of_products(high, 0x80402010u, 0u));    // times 2^7
        places |= r ? eight << (8 * r - 7 & 31) : eight >> 7;
    }
    return places;
}

// The strip's codes of n bits, of which MOST is the most that a lane has: up to 4, 5, 8 or 16.
template <class W, u32 MOST> DEV void append_narrow16(Appender& to, const Strip<W>& codes, u32 n) {
    const u32 mask = both(low_ones(n)), square = optimisation_barrier(1u << 2 * n);
#pragma unroll 1
    for (u32 at = 0; uniform(at) < Strip<W>::END; at = optimisation_barrier(at + NarrowRow<W>::NEXT)) {
        NarrowRow<W> row;
        row.load(codes, at);
        u32 x[NARROW_SWAR16];
#pragma unroll
        for (u32 i = 0; i < NARROW_SWAR16; i++) x[i] = row.x[i] & mask;
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
            for (u32 i = 0; i < NARROW_SWAR16; i++) x[i] = closed_up(x[i], n);
            if (MOST <= 8) {
                to.add(x[1] * square + x[0], 4 * n);
                to.add(x[3] * square + x[2], 4 * n);
            } else {
#pragma unroll
                for (u32 i = 0; i < NARROW_SWAR16; i++) to.add(x[i], 2 * n);
            }
        }
    }
}
template <class W> DEV void append_narrow16(Appender& to, const Strip<W>& codes, u32 n, u32 widest) {
    if (widest <= 4)
        append_narrow16<W, 4>(to, codes, n);
    else if (widest <= 5)
        append_narrow16<W, 5>(to, codes, n);
    else if (widest <= 8)
        append_narrow16<W, 8>(to, codes, n);
    else
        append_narrow16<W, 16>(to, codes, n);
}
