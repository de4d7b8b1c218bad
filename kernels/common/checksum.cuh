// Twin: src/container/checksum.rs
// The stream's checksums, docs/reference/format.md §7.
#pragma once
#include "platform.cuh"
#include "constants.h"

DEV u64 mix(u64 x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

// Key of word i.
DEV u32 key_of(u32 i) { return (2 * i + 1) * KEY32; }

// Share of the four words that start at a word of this key.
DEV u64 keyed(uint4 q, u32 key) {
    return (u64)q.x * key + (u64)q.y * (key + 2 * KEY32) + (u64)q.z * (key + 4 * KEY32) + (u64)q.w * (key + 6 * KEY32);
}

// What a body adds to its group's checksum; k is the chunk's place in the group.
DEV u64 body_checksum(u64 keyed_sum, u32 k) { return mix(keyed_sum + (k + 1) * KEY64); }
