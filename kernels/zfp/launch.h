// Structs of src/runtime/cuda/launch.rs, made by `SLEEK_UPDATE=1 cargo test --test capi`; do not edit.
#pragma once
#include "../common/constants.h"
#include "../common/launch.h"

#define CODEC_ZFP 3u
#define ZFP_TILE_LOG2 12u
#define ZFP_BLOCK_LOG2 2u
#define ZFP_MAX_AXES 4u
#define ZFP_MAX_BITS 16658u
#define ZFP_MAX_PRECISION 64u
#define ZFP_DEPTH 1074u
#define ZFP_MODES 5u

// Of the kernels that compress.
struct ZfpCompressArgs {
    Batch batch;                // The arrays.
    u64 lens[MAX_RANK];         // The lengths of the dimensions; of a line each array has its own.
    u8 sides_log2[MAX_RANK];    // The sides of a tile, as powers of two; of a line they follow from its length.
    double stated;              // What the header states as bound, rate or precision.
    // Where the lanes of each warp stage elements, and behind them a body: `warps` times `room` bytes.
    u8* scratch;
    u64 room;                   // Bytes of the place of both.
    u64 staged_bytes;           // Those of the elements.
    u64 warps;                  // How many there are; warps that have none do nothing.
    u32 rank;                   // Dimensions.
    u32 dtype;                  // The element type's code.
    u32 mode;                   // The mode's.
    u32 coding;                 // How blocks are cut off: the codec's word of the header.
    u32 big_endian;             // Whether elements are to be turned round.
    u32 zero;                   // 0.
};
static_assert(sizeof(ZfpCompressArgs) == 432, "ZfpCompressArgs");
