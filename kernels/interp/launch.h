// Structs of src/runtime/cuda/launch.rs, made by `SLEEK_UPDATE=1 cargo test --test capi`; do not edit.
#pragma once
#include "../common/constants.h"
#include "../common/launch.h"

#define INTERP_LIST_BYTES 32u
#define DECODE_WARPS 32u
#define DECODE_TABLE_BYTES 53248u
#define DECODE_WARP_BYTES 5376u
#define TILE_BYTES 192u
#define RESTORE_BYTES 53760u
#define RESTORE_WIDE_BYTES 70656u
#define IN_SLOT 2u
#define INTERP_THREADS 256u
#define INTERP_TOGETHER 8u
#define INTERP_NUMBER_BYTES 65536u
#define INTERP_WARP_BYTES 5120u
#define INTERP_ERRORS 10240u
#define INTERP_DESK_WORDS 11u
#define INTERP_DESK_BYTES 327680u
#define INTERP_TRIALS_BYTES 2560u
#define INTERP_TRIAL_PARTS 3u
#define INTERP_STAGE_TILE_BYTES 40u
#define INTERP_LISTS_BYTES 32u
#define INTERP_WEIGHTS_BYTES 1536u
#define INTERP_PREDICT_BYTES 42208u
#define INTERP_PREDICT_WIDE_BYTES 60640u
#define ENTROPY_WARPS 32u
#define ENTROPY_TABLE_BYTES 23888u
#define ENTROPY_WARP_BYTES 6112u
#define PLACE_WARPS 16u
#define PLACE_TILES 32u

// Of the kernels that compress.
struct InterpCompressArgs {
    CompressArgs common;        // What is said of every codec's arrays, but for the header's extension.
    u64 lens[MAX_RANK];         // The lengths of the dimensions; of a line each array has its own.
    u8 sides_log2[MAX_RANK];    // The sides of a tile, as powers of two; of a line they follow from its length.
    u8* scratch;                // Where each block keeps what it knows of its tiles.
    u8* trials;                 // What trials of tiles cost, those of each array.
    u8* stages;                 // Where the stages have the tiles of a wave.
    u64 first;                  // The first of these, counted through all arrays.
    u64 room;                   // For how many there is room.
    u32 count;                  // How many they are.
    u32 wave;                   // The number of the wave.
    u32 staged;                 // Whether whole tiles are coded by kernels of their own.
    u32 trying;                 // Whether tiles are tried.
    u32 rank;                   // Dimensions.
    u32 zero;                   // 0.
};
static_assert(sizeof(InterpCompressArgs) == 832, "InterpCompressArgs");

// Of the kernels that decompress.
struct InterpDecompressArgs {
    // What is said of every codec's streams. In its memory each block keeps the codes of its tiles: for each of
    // them as many words as it has elements. Of a level each tile of a wave has a slot there.
    DecompressArgs common;
    u8* list;                 // The tiles that are left to any blocks, zeroed as far as it counts.
    u8* tiles;                // What is known of each tile.
    u64 room;                 // How many tiles both have room for; 0 where nothing is done but by any blocks.
    u64 first_tile;           // Of a level the first tile of a wave,
    u64 end_tile;             // and the one behind its last, at most.
    u32 wide;                 // Which tiles to restore: 0, or 1 where these take much room, or `IN_SLOT`.
    u32 words;                // Of a level words of a tile's slot, for the codes of its nodes or all elements.
};
static_assert(sizeof(InterpDecompressArgs) == 672, "InterpDecompressArgs");
