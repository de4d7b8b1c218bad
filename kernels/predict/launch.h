// Structs of src/runtime/cuda/launch.rs, made by `SLEEK_UPDATE=1 cargo test --test kernels`; do not edit.
#pragma once
#include "../common/constants.h"
#include "../common/launch.h"

#define PREDICT_THREADS 256u
#define PREDICT_TOGETHER 8u
#define PREDICT_NUMBER_BYTES 65536u
#define PREDICT_WARP_BYTES 5120u
#define PREDICT_RING_BYTES 1024u
#define PREDICT_ERRORS 10240u
#define BY_WARP_MOST 12u
#define BY_WARP_BYTES 12464u
#define BY_WARP_TABLES 61440u
#define BY_WARP_CODES 65536u
#define BY_WARP_WEIGHTS 16384u
#define LIST_BYTES 16u
#define PREDICT_DESK_WORDS 17u
#define PREDICT_DESK_BYTES 131072u
#define PREDICT_EXACT_THREADS 128u
#define PREDICT_EXACT_BYTES 48128u
#define PREDICT_EXACT_WORDS 12u

// Of the kernels that compress.
struct PredictCompressArgs {
    // What is said of every codec's arrays, but for the header's extension.
    CompressArgs common;
    // The lengths of the dimensions; of a line each array has its own.
    u64 lens[MAX_RANK];
    // The sides of a tile, as powers of two; of a line they follow from its length.
    u8 sides_log2[MAX_RANK];
    // Where each block keeps what it knows of its tile.
    u8* scratch;
    // Dimensions.
    u32 rank;
    // 0.
    u32 zero;
};
static_assert(sizeof(PredictCompressArgs) == 784, "PredictCompressArgs");
static_assert(OFFSET_OF(PredictCompressArgs, common) == 0, "PredictCompressArgs.common");
static_assert(OFFSET_OF(PredictCompressArgs, lens) == 480, "PredictCompressArgs.lens");
static_assert(OFFSET_OF(PredictCompressArgs, sides_log2) == 736, "PredictCompressArgs.sides_log2");
static_assert(OFFSET_OF(PredictCompressArgs, scratch) == 768, "PredictCompressArgs.scratch");
static_assert(OFFSET_OF(PredictCompressArgs, rank) == 776, "PredictCompressArgs.rank");
static_assert(OFFSET_OF(PredictCompressArgs, zero) == 780, "PredictCompressArgs.zero");

// Of the kernel that decompresses.
struct PredictDecompressArgs {
    // What is said of every codec's streams.
    DecompressArgs common;
    // Where a box begins.
    u64 start[MAX_RANK];
    // Its lengths.
    u64 lens[MAX_RANK];
    // Where each block keeps the codes of its tiles: for each of them as many words as it has elements. Or where
    // each has weights, and its warps the codes of a tile.
    u8* scratch;
    // The tiles that warps leave to blocks, zeroed as far as it counts; null where warps do nothing.
    u8* list;
    // How many it has room for.
    u64 list_room;
    // Whether a box is wanted, not a run of elements.
    u32 boxed;
    // Warps of a block that restore tiles, where warps do.
    u32 workers;
};
static_assert(sizeof(PredictDecompressArgs) == 640, "PredictDecompressArgs");
static_assert(OFFSET_OF(PredictDecompressArgs, common) == 0, "PredictDecompressArgs.common");
static_assert(OFFSET_OF(PredictDecompressArgs, start) == 96, "PredictDecompressArgs.start");
static_assert(OFFSET_OF(PredictDecompressArgs, lens) == 352, "PredictDecompressArgs.lens");
static_assert(OFFSET_OF(PredictDecompressArgs, scratch) == 608, "PredictDecompressArgs.scratch");
static_assert(OFFSET_OF(PredictDecompressArgs, list) == 616, "PredictDecompressArgs.list");
static_assert(OFFSET_OF(PredictDecompressArgs, list_room) == 624, "PredictDecompressArgs.list_room");
static_assert(OFFSET_OF(PredictDecompressArgs, boxed) == 632, "PredictDecompressArgs.boxed");
static_assert(OFFSET_OF(PredictDecompressArgs, workers) == 636, "PredictDecompressArgs.workers");
