// No twin in src.
// What a block that compresses keeps of its tile, and how its threads work together.
#pragma once
#include "../common/lookback.cuh"
#include "../common/plan.cuh"
#include "coder.cuh"
#include "interp.cuh"
#include "stream.cuh"

namespace predict {

enum : u32 {
    ELEMENTS = 1 << TILE_LOG2,    // of a tile, at most
    MASK_WORDS = ELEMENTS / 32,
    BODIES = 2,           // within the bound, and bit for bit
    PREFIX_HALVES = 7,    // of a body: head, form and base
    STATE_WORDS = 34,     // of final states with their mask and lengths
    WAITING = 16,         // bodies that may wait for those before them
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
DEV i32 warp_least(i32 v) { return __reduce_min_sync(FULL, v); }
DEV u32 warp_greatest(u32 v) { return __reduce_max_sync(FULL, v); }
DEV i32 warp_greatest(i32 v) { return __reduce_max_sync(FULL, v); }
template <class V> DEV V warp_least(V v) {
    return warp_fold(v, [](V a, V b) { return a < b ? a : b; });
}
template <class V> DEV V warp_greatest(V v) {
    return warp_fold(v, [](V a, V b) { return a > b ? a : b; });
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
    return block_fold(warp_greatest(v), part, [](V a, V b) { return a > b ? a : b; });
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
// Shows the numbers of the bits that are set, with how many are before. For a whole warp.
template <class Show> DEV u32 each_bit(const u32* mask, u32 n, Show show) {
    const u32 lane = threadIdx.x & 31;
    u32 before = 0;
#pragma unroll 1
    for (u32 first = 0; uniform(first < n); first += 32 * 32) {
        const u32 at = first + 32 * lane;
        u32 bits = at < n ? mask[at / 32] : 0;
        const u32 count = __popc(bits), up_to = warp_running_sum(count);
        u32 rank = before + up_to - count;
#pragma unroll 1
        for (; bits; bits &= bits - 1) show(rank++, at + __ffs((i32)bits) - 1);
        before += __shfl_sync(FULL, up_to, 31);
    }
    return before;
}
// The bit before number i that is set, or ~0.
DEV u32 bit_before(const u32* mask, u32 i) {
    u32 word = i / 32, bits = mask[word] & low_ones(i % 32);
#pragma unroll 1
    while (!bits && word) bits = mask[--word];
    return bits ? 32 * word + top_bit(bits) : ~0u;
}

// 256 times the logarithm of a sum, as src/codec/predict/predict/axes.rs has it.
DEV u64 logarithm(u64 sum) {
    sum += 16;
    const u32 octave = top_bit(sum);
    const u64 below = octave >= 8 ? sum >> (octave - 8) : sum << (8 - octave);
    return ((u64)octave << 8 | (below & 255)) - (4 << 8);
}
// Parts of a bit of log2 x, as src/codec/predict/code/token_costs.rs has it.
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

// Goes through the elements of a box, always as many on.
struct Walk {
    u32 x, y, z, dx, dy, dz, lx, ly;

    DEV Walk(const Places& box, u32 first, u32 step) : lx(box.lx), ly(box.ly) {
        box.of(first, x, y, z);
        box.of(step, dx, dy, dz);
    }
    DEV void next() {
        x += dx;
        const bool row = x >= lx;
        x -= row ? lx : 0;
        y += dy + row;
        const bool plane = y >= ly;
        y -= plane ? ly : 0;
        z += dz + plane;
    }
};

template <class Word> DEV Word magnitude_of(Word d) {
    const Word sign = 0 - (d >> (8 * sizeof(Word) - 1));
    return (d ^ sign) - sign;
}

// What a magnitude counts at most.
DEV u64 magnitude_limited(u32 x) { return x; }
DEV u64 magnitude_limited(u64 x) { return min_of(x, (u64)1 << 56); }

// An element less some of those before it along axes; what is outside is 0.
template <class Word> struct Corners {
    Word at[SETS];

    template <class At> DEV Corners(const Places& box, u32 x, u32 y, u32 z, At value) {
        const u32 i = (z * box.ly + y) * box.lx + x;
#pragma unroll
        for (u32 c = 0; c < SETS; c++) {
            const bool inside = (!(c & 1) || x) && (!(c & 2) || y) && (!(c & 4) || z);
            at[c] = inside ? value(i - (c & 1) - (c & 2 ? box.lx : 0) - (c & 4 ? box.lx * box.ly : 0)) : 0;
        }
    }
    // The differences along every set of axes, in place.
    DEV void differ() {
#pragma unroll
        for (u32 a = 1; a < SETS; a *= 2)
#pragma unroll
            for (u32 c = 0; c < SETS; c++)
                if (c & a) at[c] = at[c ^ a] - at[c];
    }
};
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
template <class Word, class At> DEV Word lorenzo(const Places& box, u32 set, u32 i, u32 x, u32 y, u32 z, At value);
template <class Word, class At> DEV Word lorenzo(const Places& box, u32 set, u32 i, At value) {
    if (set == 0) return value(i);
    u32 x, y, z;
    box.of(i, x, y, z);
    return lorenzo<Word>(box, set, i, x, y, z, value);
}
template <class Word, class At> DEV Word lorenzo(const Places& box, u32 set, u32 i, u32 x, u32 y, u32 z, At value) {
    const u32 along = on_face(set, x, y, z) ? 7 : set;
    const u32 a = along & 1 && x, b = along & 2 && y ? box.lx : 0, c = along & 4 && z ? box.lx * box.ly : 0;
    const Word d = difference_along<Word>(i, a, b, value);
    return c ? d - difference_along<Word>(i - c, a, b, value) : d;
}

// How a tile is interpolated.
struct Rule {
    u32 rough, coarse, set;
};

// What the elements of a tile are as multiples.
struct Survey {
    i32 base;
    u32 on, wide;
    u32 has_missing, near, is_restored;
    u32 small;    // all count, and are near enough for encode.cuh
};

// A part of a body.
struct Piece {
    const u16* at;
    u32 halves;
};

// A body, in parts that have not come together yet.
struct Body {
    u32 kind, bytes;    // KIND_RAW: there is none that takes less
    u64 constant;       // the element, of KIND_CONSTANT
    u16 prefix[PREFIX_HALVES + 1];
    u16 sparse_head[4];
    u32 states[STATE_WORDS];
    Piece pieces[5];    // prefix, patches, side, states, words

    DEV u32 half(u32 i) const {
#pragma unroll
        for (u32 k = 0; k < 5; k++) {
            if (i < pieces[k].halves) return pieces[k].at[i];
            i -= pieces[k].halves;
        }
        return 0;
    }
};

// A body that waits for those before it.
struct Waiting {
    u64 chunk, sum;    // its number, and the keyed sum of its words
    u32 units, at;     // where it is staged, in words
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
    u32 drop;                   // mantissa bits that mode rel rounds off
    double abs_bound, bound;    // the latter as it was asked for
    u32 lossless;
    Word colliding[MAX_MISSING];    // bins, or rounded bits, of missing values
    u32 collisions;
    Word next[MAX_MISSING];    // the numbers next to missing values that are multiples, which stand for these
    u32 nexts;
    u32 aligned;
    // The tile.
    u64 chunk;
    Tile t;
    Places box;
    u32 n, masked, which;    // whether there are missing values among the elements, and which ones
    u32 beside;              // whether elements that come back as one become the next larger number
    u32 plane_bytes;
    Survey survey;
    Word any, largest;    // all bits of the elements, and the largest magnitude
    Body body[BODIES];
    u32 patch_halves, exceptions, corrections;
    // What is asked of all threads.
    u64 part[MOST_WARPS];
    u64 costs[SETS];
    u64 found;
    u32 count, flag, has_codes;
    Levels levels;
    // Bodies that are to go to their places, from number `first` on; where the next one is staged.
    Waiting waiting[WAITING];
    u32 first, behind, staged_to;
    // Places in the memory of the block: of as many words as a tile has elements.
    u8* at;

    enum : u32 { WORD_BYTES = sizeof(Word) << TILE_LOG2 };
    template <class P> DEV P* words(u32 k) const { return (P*)(at + PREDICT_DESK_BYTES + (u64)k * WORD_BYTES); }
    DEV Word* elements() const { return words<Word>(0); }
    DEV Word* numbers_of_bins() const { return words<Word>(1); }
    DEV Word* trial() const { return words<Word>(2); }
    DEV Word* best() const { return words<Word>(3); }
    DEV u32* staging() const { return words<u32>(4); }
    enum : u32 { STAGING = 4 * WORD_BYTES / UNIT };
    DEV u8* side() const { return words<u8>(8); }
    DEV u16* stream(u32 k) const { return words<u16>(k ? 15 : 10); }
    enum : u32 { STREAM_HALVES = WORD_BYTES };    // two places, in halves of words
    // Those that are not there where arrays are lossless, from PREDICT_EXACT_WORDS on.
    DEV u32* numbers() const { return words<u32>(12); }
    DEV Word* codes() const { return words<Word>(13); }
    DEV u32* differences() const { return words<u32>(14); }
    // And others.
    DEV u8* others() const { return at; }
    DEV u32* mask(u32 k) const { return (u32*)others() + k * MASK_WORDS; }
    DEV u32* missing() const { return mask(0); }
    DEV u32* on() const { return mask(1); }
    DEV u32* wide() const { return mask(2); }
    DEV u32* near_border() const { return mask(3); }
    DEV u32* not_counted() const { return mask(4); }
    DEV u32* part_not_counted() const { return mask(5); }
    DEV u32* corrected() const { return mask(6); }
    DEV u32* spare_mask() const { return mask(7); }
    DEV signed char* by() const { return (signed char*)(others() + 8 * 4 * MASK_WORDS); }
    DEV u8* patches() const { return others() + 8 * 4 * MASK_WORDS + ELEMENTS; }
    DEV u8* table(u32 k) const { return others() + (56 << 10) + (k << 10); }
    DEV u16* lags() const { return (u16*)(others() + (58 << 10)); }
    DEV u8* tokens() const { return others() + (60 << 10); }
    DEV uint4* symbols() const { return (uint4*)(others() + (76 << 10)); }
    DEV u32* kept_table() const { return (u32*)(others() + (98 << 10)); }
    DEV u8* plane() const { return others() + (100 << 10); }
    DEV Levels& levels_of_parts() const { return *(Levels*)(others() + (120 << 10)); }
    DEV u32* value_mask(u32 k) const { return (u32*)(others() + (112 << 10)) + k * MASK_WORDS; }

    // Bytes of the elements as they are.
    DEV u32 raw_bytes() const { return head.raw_bytes(n); }
};

}    // namespace predict
