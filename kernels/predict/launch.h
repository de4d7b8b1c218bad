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
#define PREDICT_DESK_WORDS 17u
#define PREDICT_DESK_BYTES 131072u
#define PREDICT_NOTE_BYTES 64u
#define PREDICT_SLOT_BYTES 66240u
#define PREDICT_CHOOSE_BYTES 57344u
#define PREDICT_WORDS_BYTES 92624u

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
    // Slots of the tiles of a wave, where kernels of stages have seen them; else null.
    u8* stages;
    // The first tile of the wave.
    u64 first;
    // Tiles of the wave.
    u64 tiles;
    // Dimensions.
    u32 rank;
    // 0.
    u32 zero;
};
static_assert(sizeof(PredictCompressArgs) == 1632, "PredictCompressArgs");
static_assert(OFFSET_OF(PredictCompressArgs, common) == 0, "PredictCompressArgs.common");
static_assert(OFFSET_OF(PredictCompressArgs, lens) == 1304, "PredictCompressArgs.lens");
static_assert(OFFSET_OF(PredictCompressArgs, sides_log2) == 1560, "PredictCompressArgs.sides_log2");
static_assert(OFFSET_OF(PredictCompressArgs, scratch) == 1592, "PredictCompressArgs.scratch");
static_assert(OFFSET_OF(PredictCompressArgs, stages) == 1600, "PredictCompressArgs.stages");
static_assert(OFFSET_OF(PredictCompressArgs, first) == 1608, "PredictCompressArgs.first");
static_assert(OFFSET_OF(PredictCompressArgs, tiles) == 1616, "PredictCompressArgs.tiles");
static_assert(OFFSET_OF(PredictCompressArgs, rank) == 1624, "PredictCompressArgs.rank");
static_assert(OFFSET_OF(PredictCompressArgs, zero) == 1628, "PredictCompressArgs.zero");

// Of the kernel that decompresses.
struct PredictDecompressArgs {
    // What is said of every codec's streams.
    DecompressArgs common;
    // Where a box begins.
    u64 start[MAX_RANK];
    // Its lengths.
    u64 lens[MAX_RANK];
    // Where each block keeps the codes of its tiles: for each of them as many words as it has elements.
    u8* scratch;
    // Whether a box is wanted, not a run of elements.
    u32 boxed;
    // 0.
    u32 zero;
};
static_assert(sizeof(PredictDecompressArgs) == 624, "PredictDecompressArgs");
static_assert(OFFSET_OF(PredictDecompressArgs, common) == 0, "PredictDecompressArgs.common");
static_assert(OFFSET_OF(PredictDecompressArgs, start) == 96, "PredictDecompressArgs.start");
static_assert(OFFSET_OF(PredictDecompressArgs, lens) == 352, "PredictDecompressArgs.lens");
static_assert(OFFSET_OF(PredictDecompressArgs, scratch) == 608, "PredictDecompressArgs.scratch");
static_assert(OFFSET_OF(PredictDecompressArgs, boxed) == 616, "PredictDecompressArgs.boxed");
static_assert(OFFSET_OF(PredictDecompressArgs, zero) == 620, "PredictDecompressArgs.zero");
