// Structs of src/runtime/cuda/launch.rs, made by `SLEEK_UPDATE=1 cargo test --test capi`; do not edit.
#pragma once
#include "../common/launch.h"


// What such a look sees of an array, all zero before.
struct Seen {
    // Of the numbers that count: the largest key, the largest inverted key.
    u64 ends[2];
    // The same of some between them.
    u64 between[2];
    // What the bits of the least NaN or infinity are less than 2^32 or 2^64; 0 where there is none.
    u64 special;
    // How often those that do not count are there, at least up to 2.
    u32 counts[MAX_MISSING];
};
static_assert(sizeof(Seen) == 56, "Seen");
static_assert(OFFSET_OF(Seen, ends) == 0, "Seen.ends");
static_assert(OFFSET_OF(Seen, between) == 16, "Seen.between");
static_assert(OFFSET_OF(Seen, special) == 32, "Seen.special");
static_assert(OFFSET_OF(Seen, counts) == 40, "Seen.counts");

// Of these kernels.
struct LookArgs {
    // The array.
    const u8* src;
    // Its elements.
    u64 count;
    // Bits of numbers that do not count.
    u64 fills[MAX_MISSING];
    // NaN and infinities up to these bits do not count.
    u64 above;
    // Where what is seen goes.
    Seen* seen;
    // Numbers that do not count.
    u32 values;
    // Whether elements are to be turned round.
    u32 big_endian;
};
static_assert(sizeof(LookArgs) == 72, "LookArgs");
static_assert(OFFSET_OF(LookArgs, src) == 0, "LookArgs.src");
static_assert(OFFSET_OF(LookArgs, count) == 8, "LookArgs.count");
static_assert(OFFSET_OF(LookArgs, fills) == 16, "LookArgs.fills");
static_assert(OFFSET_OF(LookArgs, above) == 48, "LookArgs.above");
static_assert(OFFSET_OF(LookArgs, seen) == 56, "LookArgs.seen");
static_assert(OFFSET_OF(LookArgs, values) == 64, "LookArgs.values");
static_assert(OFFSET_OF(LookArgs, big_endian) == 68, "LookArgs.big_endian");
