// Where a chunk goes: the sum of the sizes of all chunks before it. The index entries of the output, zero before the launch and
// never zero afterwards, are where blocks publish those sizes; each block adds the ones since its chunk before.
#pragma once
#include "platform.cuh"
#include "format.h"

// Σ of the sizes of the two entries in w that lie in [begin, end), entry w's own place being at; clears `there` where one is missing.
DEV u32 sizes_of(u32 w, u64 at, u64 begin, u64 end, bool& there) {
    u32 sum = 0;
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        const u32 entry = w >> (16 * i) & 0xffff;
        if (at + i < begin || at + i >= end) continue;
        there &= entry != 0;
        sum += entry & ENTRY_SIZE_MASK;
    }
    return sum;
}

// Units of the chunks begin … end − 1; waits for those that are not published yet. For a whole warp.
DEV u32 units_between(const u16* entries, u64 begin, u64 end, u32 lane) {
    u32 total = 0;
    for (u64 b = begin & ~7ull; b < end; b += 256) {
        const u64 at = b + 8 * lane;
        const bool inside = at >= begin && at + 8 <= end;
        u32 sum;
        bool there;
        do {
            there = true;
            sum = 0;
            if (at < end) {
                const uint4 q = load_relaxed((const uint4*)(entries + at));
                if (inside) {
                    // A 16-bit half is zero exactly where subtracting 1 borrows into its top bit.
                    const u32 one = 0x00010001u, top = 0x80008000u, size = ENTRY_SIZE_MASK * one;
                    const u32 missing = ((q.x - one) & ~q.x) | ((q.y - one) & ~q.y) | ((q.z - one) & ~q.z) | ((q.w - one) & ~q.w);
                    there = (missing & top) == 0;
                    const u32 pairs = (q.x & size) + (q.y & size) + (q.z & size) + (q.w & size);
                    sum = (pairs & 0xffff) + (pairs >> 16);
                } else {
                    sum = sizes_of(q.x, at, begin, end, there) + sizes_of(q.y, at + 2, begin, end, there) +
                          sizes_of(q.z, at + 4, begin, end, there) + sizes_of(q.w, at + 6, begin, end, there);
                }
            }
            YIELD();
        } while (__any_sync(FULL, !there));
        total += sum;
    }
    return __reduce_add_sync(FULL, total);
}
