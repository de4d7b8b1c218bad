// No twin in src.
// What a block that compresses keeps of its tiles, and how its threads work together.
#pragma once
#include "../common/plan.cuh"
#include "coder.cuh"
#include "levels.cuh"
#include "stream.cuh"

namespace interp::encoder {

enum : u32 {
    WIDTHS = 65,                  // of magnitudes
    ELEMENTS = 1 << TILE_LOG2,    // of a tile, at most
    MASK_WORDS = ELEMENTS / 32,
    MOST_TOGETHER = 4,    // tiles that a block takes at once, at most: a warp makes words of each
    STATE_WORDS = 34,     // of final states with their lengths
    SIDE_HALVES = 360,    // of a tile's own table and of final states
    OUT_MORE = 4096,      // what a body's words may take beyond its tile, before that is known
    PLANE_ROOM = 10 << 10,
    SPARSE_HALVES = 9728,    // of the codes of a sparse tile
};

// Of all values of a warp's lanes what `op` makes of two.
template <class V, class Op> DEV V warp_fold(V v, Op op) {
    const u32 lane = threadIdx.x & 31;
    for (u32 distance = 16; distance; distance /= 2) v = op(v, __shfl_sync(FULL, v, lane ^ distance));
    return v;
}
// Of those of all warps of a block. `part` is room for one of each. For a whole block.
template <class V, class Op> DEV V block_fold(V v, u64* part, Op op) {
    if ((threadIdx.x & 31) == 0) ((V*)part)[threadIdx.x >> 5] = v;
    __syncthreads();
    V all = ((V*)part)[0];
    for (u32 w = 1; w < blockDim.x / 32; w++) all = op(all, ((V*)part)[w]);
    __syncthreads();
    return all;
}
DEV u32 warp_total(u32 v) { return __reduce_add_sync(FULL, v); }
DEV u64 warp_total(u64 v) { return warp_sum(v); }
DEV u32 warp_least(u32 v) { return __reduce_min_sync(FULL, v); }
template <class V> DEV V warp_least(V v) {
    return warp_fold(v, [](V a, V b) { return a < b ? a : b; });
}
template <class V> DEV V block_sum(V v, u64* part) {
    return block_fold(warp_total(v), part, [](V a, V b) { return a + b; });
}
template <class V> DEV V block_or(V v, u64* part) {
    return block_fold(warp_or(v), part, [](V a, V b) { return a | b; });
}
template <class V> DEV V block_min(V v, u64* part) {
    return block_fold(warp_least(v), part, [](V a, V b) { return a < b ? a : b; });
}
template <class V> DEV V block_max(V v, u64* part) {
    const auto greater = [](V a, V b) { return a > b ? a : b; };
    return block_fold(warp_fold(v, greater), part, greater);
}

// Copies words, whose places are multiples of 16 bytes. By a whole block.
DEV void copy_words(u32* to, const u32* from, u32 n) {
#pragma unroll 4
    for (u32 i = threadIdx.x; i < n / QUAD; i += blockDim.x) ((uint4*)to)[i] = ((const uint4*)from)[i];
    if (threadIdx.x < n % QUAD) to[n / QUAD * QUAD + threadIdx.x] = from[n / QUAD * QUAD + threadIdx.x];
}

// A bit for each element.
DEV bool has_bit(const u32* mask, u32 i) { return mask[i / 32] >> (i % 32) & 1; }
// Bit i of a mask for this thread's `yes`; threads of a warp have the elements of a word. For a whole warp.
DEV void put_bit(u32* mask, u32 i, bool yes) {
    const u32 bits = __ballot_sync(FULL, yes);
    if (i % 32 == 0) mask[i / 32] = bits;
}
// The bit before number i that is set, or ~0.
DEV u32 bit_before(const u32* mask, u32 i) {
    u32 word = i / 32, bits = mask[word] & low_ones(i % 32);
#pragma unroll 1
    while (!bits && word) bits = mask[--word];
    return bits ? 32 * word + top_bit(bits) : ~0u;
}

// Parts of a bit of log2 x, as src/codec/interp/entropy/symbol_costs.rs has it.
DEV u32 log2_of(u32 x) {
    const u32 octave = top_bit(x);
    u64 mantissa = (u64)x << (31 - octave);
    u32 log = octave;
#pragma unroll 1
    for (u32 k = 0; k < 8; k++) {
        mantissa = (mantissa * mantissa) >> 31;
        const u32 carry = (u32)(mantissa >> 32);
        log = log << 1 | carry;
        mantissa >>= carry;
    }
    return log;
}

// Where the elements of a box are.
struct Places {
    u32 lx, ly, lz;

    DEV u32 count() const { return lx * ly * lz; }
    DEV void of(u32 i, u32& x, u32& y, u32& z) const {
        const u32 row = times_within(i, lx);
        x = i - row * lx;
        z = times_within(row, ly);
        y = row - z * ly;
    }
    DEV u32 len(u32 axis) const { return axis == 0 ? lx : axis == 1 ? ly : lz; }
};

template <class Word> DEV Word magnitude_of(Word d) {
    const Word sign = 0 - (d >> (8 * sizeof(Word) - 1));
    return (d ^ sign) - sign;
}

// What a magnitude counts at most.
DEV u64 limited(u32 x) { return x; }
DEV u64 limited(u64 x) { return min_of(x, (u64)1 << 56); }

// Whether an element lies on the face of a set of axes, on which differences are along all.
DEV bool on_face(u32 set, u32 x, u32 y, u32 z) {
    return set && !((set & 1) && x) && !((set & 2) && y) && !((set & 4) && z);
}
// A number less those before it along two axes, which are so far away; 0 for an axis along which there is none.
template <class Word, class At> DEV Word difference_along(u32 i, u32 a, u32 b, At value) {
    Word d = value(i);
    if (a) d -= value(i - a);
    if (b) {
        d -= value(i - b);
        if (a) d += value(i - a - b);
    }
    return d;
}
// The difference along a set of axes.
template <class Word, class At> DEV Word lorenzo(const Places& box, u32 set, u32 i, At value) {
    if (set == 0) return value(i);
    u32 x, y, z;
    box.of(i, x, y, z);
    const u32 along = on_face(set, x, y, z) ? 7 : set;
    const u32 a = along & 1 && x, b = along & 2 && y ? box.lx : 0, c = along & 4 && z ? box.lx * box.ly : 0;
    const Word d = difference_along<Word>(i, a, b, value);
    return c ? d - difference_along<Word>(i - c, a, b, value) : d;
}

// A word's bits, with copies of its sign above them.
template <class T> DEV typename T::Word extended(typename T::Word w) {
    return T::BITS == 8 ? (typename T::Word)(i32)(signed char)w : T::BITS == 16 ? (typename T::Word)(i32)(short)w : w;
}

// How a tile is interpolated.
struct Rule {
    u32 rough, coarse, set;
};
// A rule, the limit up to which it is taken, and whether there is one.
struct Limited {
    Rule rule;
    u32 limit, there;
};
// What the tiles of an array are encoded by.
struct Choice {
    Limited steps, second, exact;

    // The axes of a rule in steps that is smooth, or rough.
    DEV u32 set_of(u32 rough) const {
        if (steps.there && steps.rule.rough == rough) return steps.rule.set;
        return second.there && second.rule.rough == rough ? second.rule.set : 0;
    }
};

// What the elements of a tile are as multiples.
struct Survey {
    i32 base;
    u32 on, wide;
    u32 masked, steps;    // some do not count; all may be interpolated in steps
};

// What a body says of a tile besides its codes.
struct Coded {
    u32 head;              // set, predictor, numbers, patches
    u32 front_halves;      // of what stands between base and table
    u64 base, constant;    // what numbers are less; the element, if all codes are 0
    u32 low, listed;       // of symbols, low bits that stand apart; whether the front lists elements
};
// A body in the room where a warp made it: where its halves begin and how many there are, and words of low bits at the
// room's end.
struct Body {
    u32 kind, units, first_half, halves, low_words;

    DEV u32 word(const u16* room, u32 room_halves, u32 i) const {
        // Halves may begin amid a word; they end with one.
        const u32* const from = (const u32*)room + first_half / 2;
        const u32 of_halves = (halves + 1) / 2;
        if (i >= of_halves) return ((const u32*)(room + room_halves) - low_words)[i - of_halves];
        if (first_half % 2 == 0) return from[i];
        return from[i] >> 16 | (2 * i + 1 < halves ? from[i + 1] << 16 : 0);
    }
};
// What is known of a tile between its codes and its body, in the shared memory of a block.
struct Slip {
    u64 chunk;
    u32 tile;    // its number within the wave
    Tile t;
    u32 n, kind;                 // KIND_RAW: there is nothing that takes less; KIND_CONSTANT: all are a missing value
    u32 plane_units;             // of the plane of missing values before the body
    u32 set, predictor, wide;    // codes have 64 bits
    Coded coded;
    Body body;
};

// What the threads of a block share.
template <class T> struct Desk {
    typedef typename T::Word Word;
    // The array.
    Item item;
    Control* control;
    Outcome* outcome;
    Header head;
    Meaning<T> meaning;
    typename T::Float border;
    Choice choice;
    u32 drop;                       // mantissa bits that mode rel rounds off
    double abs_bound, bound;        // the latter as it was asked for
    Word colliding[MAX_MISSING];    // bins, or rounded bits, of missing values
    u32 collisions;
    Word next[MAX_MISSING];    // the numbers next to missing values
    u32 nexts;
    u32 aligned;
    // Tiles that are taken at once, and the one at hand.
    Slip slips[MOST_TOGETHER];
    u32 slip;
    Tile t;
    Places box;
    u32 n, masked, which;    // whether there are missing values among the elements, and which ones
    u32 beside;              // whether elements that come back as one become the next larger number
    Survey survey;
    u32 patches;    // how many there are
    Word base, middle;
    u64 cost;    // of codes along axes, or of the rule in their place
    u32 digits, odd, listed;
    // What is asked of all threads.
    u64 part[MOST_WARPS];
    u64 costs[SETS], sums[4];
    u32 of_groups[ELEMENTS / GROUP];
    u64 found;
    u32 count, flag;
    AxisRecipes recipes;
    u32 (*widths)[WIDTHS];    // how many magnitudes have each, of each set of axes
    // Places in the memory of the block.
    u8* at;

    enum : u32 {
        WORD_BYTES = sizeof(Word) << TILE_LOG2,
        OUT_BYTES = (T::BITS / 8 << TILE_LOG2) + OUT_MORE + 2 * SPARSE_HALVES,
        // Of each tile: codes, the front and the body, the plane, table and states.
        SLIP_BYTES = WORD_BYTES + OUT_BYTES + PLANE_ROOM + 2 * SIDE_HALVES,
        MASKS = 12,
        BYTES = MASKS * 4 * MASK_WORDS + ELEMENTS + 3 * WORD_BYTES + 2 * (4 << TILE_LOG2) + MOST_TOGETHER * SLIP_BYTES,
    };
    DEV u32* mask(u32 k) const { return (u32*)at + k * MASK_WORDS; }
    DEV u32* missing() const { return mask(0); }
    DEV u32* on() const { return mask(1); }
    DEV u32* wide() const { return mask(2); }
    DEV u32* near_border() const { return mask(3); }
    DEV u32* absent() const { return mask(4); }
    DEV u32* patched() const { return mask(5); }
    DEV u32* spare_mask() const { return mask(6); }
    DEV u32* part_absent() const { return mask(7); }
    DEV u32* value_mask(u32 k) const { return mask(8 + k); }
    DEV signed char* by() const { return (signed char*)mask(MASKS); }
    DEV Word* elements() const { return (Word*)(mask(MASKS) + ELEMENTS / 4); }
    DEV Word* numbers() const { return elements() + ELEMENTS; }
    DEV Word* other() const { return numbers() + ELEMENTS; }
    DEV u32* multiples() const { return (u32*)(other() + ELEMENTS); }
    DEV u32* differences() const { return multiples() + ELEMENTS; }
    DEV u8* of_slip(u32 k) const { return (u8*)(differences() + ELEMENTS) + (u64)k * SLIP_BYTES; }
    DEV u32* codes(u32 k) const { return (u32*)of_slip(k); }
    DEV u16* out(u32 k) const { return (u16*)(of_slip(k) + WORD_BYTES); }
    DEV u8* plane_of(u32 k) const { return (u8*)out(k) + OUT_BYTES; }
    DEV u16* side(u32 k) const { return (u16*)(plane_of(k) + PLANE_ROOM); }
    // Of the tile at hand.
    DEV Slip& own() { return slips[slip]; }
    DEV u32* short_codes() const { return codes(slip); }
    DEV Word* all_codes() const { return (Word*)codes(slip); }
    DEV u16* front() const { return out(slip); }
    DEV u8* plane() const { return plane_of(slip); }

    // Whether the stream has a lattice.
    DEV bool has_lattice() const { return head.multiplier != 0; }
    // Bytes of the elements as they are.
    DEV u32 raw_bytes() const { return head.raw_bytes(n); }
};

}    // namespace interp::encoder
