// Many arrays in one launch. Each has a number of work slots that goes with its size; blocks take slots, and who has
// one works on that array until nothing is left to do. So a block stays with an array, and small and large ones fill
// the device alike.
#pragma once
#include "launch.h"
#include "platform.cuh"

DEV void list_items(const ListArgs& a) {
    if (threadIdx.x < a.count) a.table[threadIdx.x] = a.items[threadIdx.x];
}

// The array that a work slot belongs to: the last that begins at it or before. For a whole warp.
DEV u32 array_of(const Item* items, u32 count, u64 work_slot, u32 lane) {
    u32 low = 0, high = count;    // it is one of low … high − 1, and low has begun
    while (high - low > 1) {
        const u32 step = (high - low + 31) / 32, at = low + lane * step;
        const u32 begun = __ballot_sync(FULL, at < high && items[at].first <= work_slot);
        low += (__popc(begun) - 1) * step;
        high = min_of(high, low + step);
    }
    return low;
}

// The array of this number.
DEV Item item_of(const Batch& batch, u32 i) { return batch.items ? batch.items[i] : batch.only; }
// The number of the array that a work slot belongs to. For a whole warp.
DEV u32 array_of(const Batch& batch, u64 work_slot, u32 lane) {
    return batch.items ? array_of(batch.items, batch.count, work_slot, lane) : 0;
}
