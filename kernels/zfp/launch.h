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
    // The arrays.
    Batch batch;
    // The lengths of the dimensions; of a line each array has its own.
    u64 lens[MAX_RANK];
    // The sides of a tile, as powers of two; of a line they follow from its length.
    u8 sides_log2[MAX_RANK];
    // What the header states as bound, rate or precision.
    double stated;
    // Where the lanes of each warp stage elements, and behind them a body: `warps` times `room` bytes.
    u8* scratch;
    // Bytes of the place of both.
    u64 room;
    // Those of the elements.
    u64 staged_bytes;
    // How many there are; warps that have none do nothing.
    u64 warps;
    // Dimensions.
    u32 rank;
    // The element type's code.
    u32 dtype;
    // The mode's.
    u32 mode;
    // How blocks are cut off: the codec's word of the header.
    u32 coding;
    // Whether elements are to be turned round.
    u32 big_endian;
    // 0.
    u32 zero;
};
static_assert(sizeof(ZfpCompressArgs) == 432, "ZfpCompressArgs");
static_assert(OFFSET_OF(ZfpCompressArgs, batch) == 0, "ZfpCompressArgs.batch");
static_assert(OFFSET_OF(ZfpCompressArgs, lens) == 80, "ZfpCompressArgs.lens");
static_assert(OFFSET_OF(ZfpCompressArgs, sides_log2) == 336, "ZfpCompressArgs.sides_log2");
static_assert(OFFSET_OF(ZfpCompressArgs, stated) == 368, "ZfpCompressArgs.stated");
static_assert(OFFSET_OF(ZfpCompressArgs, scratch) == 376, "ZfpCompressArgs.scratch");
static_assert(OFFSET_OF(ZfpCompressArgs, room) == 384, "ZfpCompressArgs.room");
static_assert(OFFSET_OF(ZfpCompressArgs, staged_bytes) == 392, "ZfpCompressArgs.staged_bytes");
static_assert(OFFSET_OF(ZfpCompressArgs, warps) == 400, "ZfpCompressArgs.warps");
static_assert(OFFSET_OF(ZfpCompressArgs, rank) == 408, "ZfpCompressArgs.rank");
static_assert(OFFSET_OF(ZfpCompressArgs, dtype) == 412, "ZfpCompressArgs.dtype");
static_assert(OFFSET_OF(ZfpCompressArgs, mode) == 416, "ZfpCompressArgs.mode");
static_assert(OFFSET_OF(ZfpCompressArgs, coding) == 420, "ZfpCompressArgs.coding");
static_assert(OFFSET_OF(ZfpCompressArgs, big_endian) == 424, "ZfpCompressArgs.big_endian");
static_assert(OFFSET_OF(ZfpCompressArgs, zero) == 428, "ZfpCompressArgs.zero");
