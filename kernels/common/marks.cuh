// Twin: src/primitives/marks.rs
// Marks of missing values that nobody named (docs/reference/format.md §5.1; src/primitives/marks.rs has the same rule).
// Nobody waits for the host: kernels look at an array as often as it takes, and the one before compression settles what
// was found.
#pragma once
#include "container.cuh"
#include "element.cuh"

#define SEEN_NEAR 0      // in Slot::seen: the keys next to those of the range
#define SEEN_LOOK 2      // from there on four numbers of each round, see below
#define SEEN_WHILE 10    // what a codec sees while it compresses: four numbers of its own
#define SEEN_OTHERS 0    // keys as of the range, of all values but the known ones and the ends
#define SEEN_COUNTS 2    // how often the smallest and the largest value are there
#define SEEN_LOOKED 4

// Key of a float whose order is the order of the numbers; never 0.
DEV u64 order_of(float v) {
    const u32 b = bits_of(v);
    return b >> 31 ? (u32)~b : b | 1u << 31;
}
DEV u64 order_of(double v) {
    const u64 b = bits_of(v);
    return b >> 63 ? ~b : b | 1ull << 63;
}
DEV double value_of_order(u64 key, bool is_double) {
    if (is_double) return float_of(key >> 63 ? key & ~(1ull << 63) : ~key);
    return (double)float_of((u32)key >> 31 ? (u32)key & ~(1u << 31) : ~(u32)key);
}
// Of an inverted key.
DEV double value_of_inverted(u64 key, bool is_double) {
    return value_of_order((is_double ? ~0ull : 0xffffffffull) - key, is_double);
}

// Takes two keys to those that several have met, `none` being below all. Of two that met there the smaller one is not
// the largest of all.
template <class Key> DEV void keep_two(Key* largest, Key* near, Key top, Key next, Key none) {
    const Key before = atomicMax(largest, top);
    const Key second = before > top ? top : before < top && before > next ? before : next;
    if (near && second != none) atomicMax(near, second);
}

// Two keys of several: the largest one and the next one, 0 where there is none.
struct Two {
    u64 top, next;
    DEV void take(u64 key) {
        if (key > top) {
            next = top;
            top = key;
        } else if (key < top && key > next) {
            next = key;
        }
    }
    // To those of an array, of which `near` may be null.
    DEV void keep(u64* largest, u64* near) const { keep_two(largest, near, top, next, (u64)0); }
};

// The number that the bits of a float are.
DEV double number_of(u64 bits, u32 dtype) {
    if (dtype == DTYPE_F64) return float_of(bits);
    if (dtype == DTYPE_F16) return (double)float_of_half((u32)bits);
    return (double)float_of(dtype == DTYPE_BF16 ? (u32)bits << 16 : (u32)bits);
}
// The bits of a float that is this number.
DEV u64 bits_of_number(double v, u32 dtype) {
    if (dtype == DTYPE_F64) return bits_of(v);
    const u32 bits = bits_of((float)v);
    return dtype == DTYPE_F16 ? halves_of((float)v, 0.0f) & 0xffff : dtype == DTYPE_BF16 ? bits >> 16 : bits;
}

// What is known of an array so far.
struct Marks {
    double low, high;             // its ends, beside what is known
    double known[MAX_MISSING];    // what was named, then what was found
    u32 values, found;            // how many there are; how many of them were found
    bool any, few, open;          // whether there are numbers; two at most, beside what is known; whether another look
                                  // is wanted

    // Nothing but what was named.
    static DEV Marks none(const CompressArgs& a) {
        Marks m;
        m.values = a.values;
        m.found = 0;
        m.low = m.high = 0.0;
        m.any = m.few = m.open = false;
#pragma unroll
        for (u32 k = 0; k < MAX_MISSING; k++) m.known[k] = k < a.values ? number_of(a.missing[k], a.dtype) : 0.0;
        return m;
    }
};

// For a whole warp, of which each lane compares some.
DEV bool is_usual(const CompressArgs& a, double v) {
    const double magnitude = v < 0.0 ? -v : v;
    bool is = false;
#pragma unroll 1
    for (u32 i = threadIdx.x & 31; i < USUAL; i += 32) is |= a.usual[i] == magnitude;
    return __any_sync(FULL, is);
}

// Whether an array with these ends, and elements next to them, may have a mark.
DEV bool suspects(const CompressArgs& a, double low, double high, double above_low, double below_high) {
    const double others = below_high - above_low;
    if (high - below_high > others || above_low - low > others) return true;
    return is_usual(a, low) || is_usual(a, high);    // the same on all lanes
}

// Takes what a look at the array told: whether the ends are marks.
DEV void settle(const CompressArgs& a, Marks& m, const u64* look, bool is_double) {
    m.open = false;
    if (look[SEEN_OTHERS] == 0) {
        m.few = true;
        return;
    }
    const double most = value_of_order(look[SEEN_OTHERS], is_double),
                 least = value_of_inverted(look[SEEN_OTHERS + 1], is_double), low = m.low, high = m.high;
    const double below = least - low, above = high - most, gap = (most - least) / MARKS_GAP;
    bool first = is_usual(a, low) && below > gap, last = is_usual(a, high) && above > gap;
    if (least != most) {
        const bool may_first = first || (look[SEEN_COUNTS] > 1 && below > most - least),
                   may_last = last || (look[SEEN_COUNTS + 1] > 1 && above > most - least);
        const double range = (may_last ? most : high) - (may_first ? least : low);
        first |= may_first && below > range;
        last |= may_last && above > range;
    }
    if (first) m.known[m.values++] = low;
    if (last) m.known[m.values++] = high;
    m.found += first + last;
    if (first) m.low = least;
    if (last) m.high = most;
    m.few = m.low == m.high;
    m.open = (first || last) && !m.few && m.values <= MOST_KNOWN;
}

// What so many rounds found.
DEV Marks marks_after(const CompressArgs& a, const Slot& slot, u32 rounds) {
    const bool is_double = a.dtype == DTYPE_F64;
    const u64* range = slot.control.range;
    Marks m = Marks::none(a);
    // Nobody measures the range, nor zeroes its place, where it is not asked for.
    m.any = (a.search || (a.mode == MODE_NOA && !a.has_range)) && range[0] != 0;
    if (!m.any) return m;
    m.high = value_of_order(range[0], is_double);
    m.low = value_of_inverted(range[1], is_double);
    if (!a.search) return m;
    m.few = m.low == m.high;
    if (m.few) return m;
    const u64* near = slot.seen + SEEN_NEAR;
    const double below_high = near[0] ? value_of_order(near[0], is_double) : m.low,
                 above_low = near[1] ? value_of_inverted(near[1], is_double) : m.high;
    m.open = suspects(a, m.low, m.high, above_low, below_high);
#pragma unroll 1
    for (u32 round = 0; round < rounds && m.open; round++)
        settle(a, m, slot.seen + SEEN_LOOK + round * SEEN_LOOKED, is_double);
    return m;
}

// All missing values, of which there may be one more for each zero.
DEV Known missing_of(const CompressArgs& a, const Marks& m) {
    Known all;
    u32 values = a.values;
    for (u32 k = 0; k < a.values; k++) all.missing[k] = a.missing[k];
    for (u32 k = a.values; k < m.values; k++) all.missing[values++] = bits_of_number(m.known[k], a.dtype);
    const u64 sign = 1ull << (8 * bytes_of(a.dtype) - 1);
    for (u32 turn = 0; turn < 2 && m.found; turn++) {
        bool zero = false, other = false;
        for (u32 k = 0; k < values; k++) {
            zero |= all.missing[k] == (turn ? sign : 0);
            other |= all.missing[k] == (turn ? 0 : sign);
        }
        if (zero && !other && values < MAX_MISSING) all.missing[values++] = turn ? 0 : sign;
    }
    for (u32 k = values; k < MAX_MISSING; k++) all.missing[k] = 0;
    all.values = values;
    all.found = values - a.values;
    return all;
}
