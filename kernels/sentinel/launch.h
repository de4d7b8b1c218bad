// Structs of src/runtime/cuda/launch.rs, made by `SLEEK_UPDATE=1 cargo test --test capi`; do not edit.
#pragma once
#include "../common/launch.h"


// What such a look sees of an array, all zero before.
struct Seen {
    u64 ends[2];                // Of the numbers that count: the largest key, the largest inverted key.
    u64 between[2];             // The same of some between them.
    // What the bits of the least NaN or infinity are less than 2^32 or 2^64; 0 where there is none.
    u64 special;
    u32 counts[MAX_MISSING];    // How often those that do not count are there, at least up to 2.
};
static_assert(sizeof(Seen) == 56, "Seen");

// Of these kernels.
struct LookArgs {
    const u8* src;             // The array.
    u64 count;                 // Its elements.
    u64 fills[MAX_MISSING];    // Bits of numbers that do not count.
    u64 above;                 // NaN and infinities up to these bits do not count.
    Seen* seen;                // Where what is seen goes.
    u32 values;                // Numbers that do not count.
    u32 big_endian;            // Whether elements are to be turned round.
};
static_assert(sizeof(LookArgs) == 72, "LookArgs");
