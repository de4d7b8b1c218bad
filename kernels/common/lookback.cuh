// No twin in src.
// Where a chunk goes: the sum of the sizes of all chunks before it. The index entries of the output, zero before the
// launch and never zero afterwards, are where blocks publish those sizes, and a group's record, where its first body
// is. A block adds the sizes since the nearest chunk whose place is known.
#pragma once
#include "platform.cuh"
#include "constants.h"

DEV u32 at_least_0(i32 x) { return x > 0 ? x : 0; }

// Top bits of both halves of a word.
#define TOPS 0x80008000u
// Eight entries: none of the top bits of its halves is set if all are there, as a 16-bit half is zero exactly where
// subtracting 1 borrows into its top bit.
DEV u32 missing_sizes(const uint4& q) {
    const u32 one = 0x00010001u;
    return ((q.x - one) & ~q.x) | ((q.y - one) & ~q.y) | ((q.z - one) & ~q.z) | ((q.w - one) & ~q.w);
}
// Σ of their sizes, in two halves.
DEV u32 swar16_of_sizes(const uint4& q) {
    const u32 size = ENTRY_SIZE_MASK * 0x00010001u;
    return (q.x & size) + (q.y & size) + (q.z & size) + (q.w & size);
}

// Σ of the sizes of the eight entries of q, the first of which is entry `at`, that lie in [first, last); clears `there`
// where one of those is missing.
DEV u32 sizes_of(uint4 q, u32 at, u32 first, u32 last, bool& there) {
    if (at < first || at + 8 > last) {
        // Entries outside count as there, with size 0: their bits 11 to 13 are zero in every entry.
        u32 w[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
        for (i32 j = 0; j < 4; j++) {
            const u32 before = low_ones(16 * at_least_0((i32)(first - at) - 2 * j)),
                      up_to = low_ones(16 * at_least_0((i32)(last - at) - 2 * j));
            w[j] = (w[j] & up_to & ~before) | (0x20002000u & ~(up_to & ~before));
        }
        q = make_uint4(w[0], w[1], w[2], w[3]);
    }
    there &= (missing_sizes(q) & TOPS) == 0;
    const u32 pairs = swar16_of_sizes(q);
    return (pairs & 0xffff) + (pairs >> 16);
}

// Units of the chunks begin … end − 1; waits for those that are not published yet. For a whole warp.
DEV u64 units_between(const u16* entries, u64 begin, u64 end, u32 lane) {
    const u64 aligned = begin & ~7ull;
    const uint4* base = (const uint4*)(entries + aligned) + lane;
    const u32 first = (u32)(begin - aligned), last = (u32)(end - aligned);
    u64 total = 0;
    for (u32 at = 8 * lane; uniform(at - 8 * lane < last); at += 256) {
        bool there;
        u32 sum;
        for (;;) {
            YIELD();
            there = true;
            sum = 0;
            if (at < last) sum = sizes_of(load_relaxed(base + (at - 8 * lane) / 8), at, first, last, there);
            if (__all_sync(FULL, there)) break;
            hold_back();
        }
        total += __reduce_add_sync(FULL, sum);
    }
    return total;
}

// The same by one warp that asks for 1024 sizes at once.
DEV u64 units_between_at_once(const u16* entries, u64 begin, u64 end, u32 lane) {
    const u64 aligned = begin & ~7ull;
    const u32 first = (u32)(begin - aligned), last = (u32)(end - aligned), from = (first + 7) & ~7u, to = last & ~7u;
    entries += aligned;
    // A lane has one of the entries before the first whole eight, or behind the last.
    u32 edge = (lane < 8 ? first : (from < to ? to : from) - 8) + lane;
    const u32 limit = lane < 8 ? min_of(from, last) : lane < 16 ? last : 0;
    u64 total = 0;
    u32 at = from + 8 * lane, sum;
    bool there;
    do {
        do {
            YIELD();
            uint4 q[4];
            u32 single = ENTRY_ZERO_MASK, pairs = 0,
                missing = 0;    // who has none counts as if it were there, of size 0
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                q[j] = make_uint4(0, 0, 0, 0);
                if (at + 256 * j < to) q[j] = load_relaxed((const uint4*)(entries + at) + 32 * j);
            }
            if (edge < limit) single = load_relaxed(entries + edge);
#pragma unroll
            for (u32 j = 0; j < 4; j++)
                if (at + 256 * j < to) {
                    missing |= missing_sizes(q[j]);
                    pairs += swar16_of_sizes(q[j]);
                }
            there = (missing & TOPS) == 0 && single;
            sum = add_halves(pairs, single & ENTRY_SIZE_MASK);
        } while (!__all_sync(FULL, there));
        total += __reduce_add_sync(FULL, sum);
        at += 1024;
        edge = limit;
    } while (uniform(at - 8 * lane < to));
    return total;
}

// Where a chunk's body is, in units from the first one on.
struct Mark {
    u64 chunk, units;
};

// Units of all chunks before `chunk`, of which the mark `known` is one: counted from the nearest group whose record
// says where it begins, if one behind `known` does. Records and the sizes of the last groups are asked for together.
// For a whole warp.
DEV u64 units_before(const uint4* records, const u16* entries, u64 bodies_at, Mark known, u64 chunk, u32 lane) {
    const u64 group = chunk / GROUP_CHUNKS, mine = (group - lane) * GROUP_CHUNKS,
              window = (group < 3 ? 0 : group - 3) * GROUP_CHUNKS;
    const u32 at = 8 * lane, end = (u32)(chunk - window);
    u64 place = 0;
    uint4 sizes = make_uint4(0, 0, 0, 0);
    if (mine <= chunk && mine > known.chunk) place = load_relaxed((const u64*)(records + (group - lane)));
    if (at < end) sizes = load_relaxed((const uint4*)(entries + window) + lane);
    const u32 told = __ballot_sync(FULL, place != 0);
    if (uniform(told != 0)) {
        const u32 nearest = __ffs((i32)told) - 1;
        known = {(group - nearest) * GROUP_CHUNKS, (__shfl_sync(FULL, place, nearest) - bodies_at) / ALIGN};
    }
    const u32 begin = known.chunk > window ? (u32)(known.chunk - window) : 0;
    bool there = true;
    u32 sum = 0;
    if (at < end) sum = sizes_of(sizes, at, begin, end, there);
    u64 units = known.units;
    if (uniform(__all_sync(FULL, there))) {
        units += __reduce_add_sync(FULL, sum);
        chunk = window;
    }
    if (uniform(known.chunk < chunk)) units += units_between(entries, known.chunk, chunk, lane);
    return units;
}
