// No twin in src.
// Many arrays in one launch. Each has a number of work slots that goes with its size; blocks take slots, and who has
// one works on that array until nothing is left to do. So a block stays with an array, and small and large ones fill
// the device alike.
#pragma once
#include "launch.h"
#include "platform.cuh"

// Writes a part of the table of a batch.
DEV void list_items(const ListArgs& a) {
    for (u32 i = threadIdx.x; i < a.count; i += blockDim.x) {
        Item item = a.item;
        if (a.even) {
            item.src += i * a.src_step;
            item.dst += i * a.dst_step;
            item.bytes = (u32)(a.words[i / 2] >> (i % 2 * 32));
            item.first += i * a.slots;
        } else {
            const u64* const words = a.words + i * (sizeof(Item) / sizeof(u64));
            item.src = (const u8*)words[0];
            item.dst = (u8*)words[1];
            item.count = words[2];
            item.bytes = words[3];
            item.first = words[4];
        }
        a.table[i] = item;
    }
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

// A block's share of an array, in launches whose blocks are divided evenly among the arrays.
struct Share {
    u32 item, rank, of;    // block `rank` of `of`
    DEV Share(const Batch& batch) {
        of = gridDim.x / batch.count;
        item = blockIdx.x / of;
        rank = blockIdx.x % of;
    }
    // Clears the bytes from one multiple of 16 to another one.
    DEV void clear(u8* dst, u64 from, u64 to) const {
        for (u64 i = from / 16 + (u64)rank * blockDim.x + threadIdx.x; i < to / 16; i += (u64)of * blockDim.x)
            ((uint4*)dst)[i] = make_uint4(0, 0, 0, 0);
    }
};
