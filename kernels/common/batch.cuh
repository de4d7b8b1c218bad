// Many arrays in one launch. Each has a number of seats that goes with its size; blocks take seats, and who has one works on that array
// until nothing is left to do. So a block stays with an array, and small and large ones fill the device alike.
#pragma once
#include "platform.cuh"

// One array; src/runtime/cuda/module.rs has the same layout.
struct Item {
    const u8* src;
    u8* dst;
    u64 count;    // elements
    u64 bytes;    // compress: room at dst; decompress: bytes at src
    u64 first;    // seats of the arrays before it
};

#define LISTED 96

// A part of the table of a batch: it travels in the arguments of a launch, so that the host may forget it at once.
struct ListArgs {
    Item* table;
    u64 count;
    Item items[LISTED];
};

DEV void list_items(const ListArgs& a) {
    if (threadIdx.x < a.count) a.table[threadIdx.x] = a.items[threadIdx.x];
}

// The array that a seat belongs to: the last that begins at it or before. For a whole warp.
DEV u32 item_of(const Item* items, u32 count, u64 seat, u32 lane) {
    u32 low = 0, high = count;    // it is one of low … high − 1, and low has begun
    while (high - low > 1) {
        const u32 step = (high - low + 31) / 32, at = low + lane * step;
        const u32 begun = __ballot_sync(FULL, at < high && items[at].first <= seat);
        low += (__popc(begun) - 1) * step;
        high = min_of(high, low + step);
    }
    return low;
}
