// Structs of src/runtime/cuda/launch.rs, made by `SLEEK_UPDATE=1 cargo test --test kernels`; do not edit.
#pragma once
#include "../common/constants.h"
#include "../common/launch.h"

#define TILE_BLOCK_BYTES 61440u
#define TILE_TABLE_BYTES 4096u
#define TILE_COUNT_BYTES 4960u
#define TILE_WARP_BYTES 10384u
#define TILE_RING_BYTES 1024u
#define TILE_SUM_BYTES 4096u
#define TILE_STAGE_BYTES 1024u
#define TILE_OWN_BYTES 144u
#define TILE_SYMBOL_BYTES 26032u
#define TILE_ENCODE_WARP_BYTES 10080u
#define TILE_PLANE_BYTES 4096u
#define TILE_BODY_SLACK 2048u
#define TILE_COST_BYTES 2048u
#define TILE_LISTED_BYTES 40960u
#define MAX_TILE_PLANE_BYTES 9264u
#define TILE_PLACE_BYTES 131072u

// How arrays are cut into tiles.
struct Tiling {
    // The lengths of the dimensions; of a line each array has its own.
    u64 lens[MAX_RANK];
    // The sides of a tile, as powers of two; of a line they follow from its length.
    u8 sides_log2[MAX_RANK];
    // Dimensions.
    u32 rank;
    // 0.
    u32 zero;
};
static_assert(sizeof(Tiling) == 296, "Tiling");
static_assert(OFFSET_OF(Tiling, lens) == 0, "Tiling.lens");
static_assert(OFFSET_OF(Tiling, sides_log2) == 256, "Tiling.sides_log2");
static_assert(OFFSET_OF(Tiling, rank) == 288, "Tiling.rank");
static_assert(OFFSET_OF(Tiling, zero) == 292, "Tiling.zero");

// Of the kernels that compress.
struct TileCompressArgs {
    // What is said of every codec's arrays.
    CompressArgs common;
    // How they are cut.
    Tiling tiling;
    // Where each warp has the words of its tile, and behind them makes its bodies, which wait there: `warps` times
    // `room` bytes.
    u8* bodies;
    // Bytes of the place of both.
    u64 room;
    // And of that of the words; where there are missing values, a copy of the tile and a plane are behind them.
    u64 words;
    // How many there are; warps that have none do nothing.
    u64 warps;
};
static_assert(sizeof(TileCompressArgs) == 800, "TileCompressArgs");
static_assert(OFFSET_OF(TileCompressArgs, common) == 0, "TileCompressArgs.common");
static_assert(OFFSET_OF(TileCompressArgs, tiling) == 472, "TileCompressArgs.tiling");
static_assert(OFFSET_OF(TileCompressArgs, bodies) == 768, "TileCompressArgs.bodies");
static_assert(OFFSET_OF(TileCompressArgs, room) == 776, "TileCompressArgs.room");
static_assert(OFFSET_OF(TileCompressArgs, words) == 784, "TileCompressArgs.words");
static_assert(OFFSET_OF(TileCompressArgs, warps) == 792, "TileCompressArgs.warps");

// Of the kernel that decompresses.
struct TileDecompressArgs {
    // What is said of every codec's streams.
    DecompressArgs common;
    // Where a box begins.
    u64 start[MAX_RANK];
    // Its lengths.
    u64 lens[MAX_RANK];
    // Whether a box is wanted, not a run of elements.
    u32 boxed;
    // Places for the words of tiles that are not restored in registers.
    u32 places;
    // For each of them a word that is 0 where it is free, to a multiple of 16 bytes; then the places.
    u8* scratch;
};
static_assert(sizeof(TileDecompressArgs) == 624, "TileDecompressArgs");
static_assert(OFFSET_OF(TileDecompressArgs, common) == 0, "TileDecompressArgs.common");
static_assert(OFFSET_OF(TileDecompressArgs, start) == 96, "TileDecompressArgs.start");
static_assert(OFFSET_OF(TileDecompressArgs, lens) == 352, "TileDecompressArgs.lens");
static_assert(OFFSET_OF(TileDecompressArgs, boxed) == 608, "TileDecompressArgs.boxed");
static_assert(OFFSET_OF(TileDecompressArgs, places) == 612, "TileDecompressArgs.places");
static_assert(OFFSET_OF(TileDecompressArgs, scratch) == 616, "TileDecompressArgs.scratch");
