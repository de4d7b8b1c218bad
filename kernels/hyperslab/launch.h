// Structs of src/runtime/cuda/launch.rs, made by `SLEEK_UPDATE=1 cargo test --test capi`; do not edit.
#pragma once
#include "../common/launch.h"

#define MAX_DIMS 8u
#define PIECE_ELEMENTS 1024u

// Chunks of a dataset that go to or come from an array.
struct SlabArgs {
    // The array.
    u8* array;
    // Gather: where chunk i of the launch goes, i times `stride` bytes on.
    u8* chunks;
    // Scatter: where chunk i of the launch lies; 0 leaves its elements alone.
    const u64* sources;
    // Bytes from one chunk to the next.
    u64 stride;
    // Number of the first chunk.
    u64 first;
    // How many.
    u64 count;
    // Rows of a chunk.
    u64 rows;
    // Pieces of a row.
    u64 pieces;
    // An element of the rim, as in the file.
    u64 pad;
    // Of the array.
    u64 size[MAX_DIMS];
    // Of a chunk.
    u64 tile[MAX_DIMS];
    // Dimensions.
    u32 rank;
    // Turn the bytes of each element round.
    u32 swap;
};
static_assert(sizeof(SlabArgs) == 208, "SlabArgs");
static_assert(OFFSET_OF(SlabArgs, array) == 0, "SlabArgs.array");
static_assert(OFFSET_OF(SlabArgs, chunks) == 8, "SlabArgs.chunks");
static_assert(OFFSET_OF(SlabArgs, sources) == 16, "SlabArgs.sources");
static_assert(OFFSET_OF(SlabArgs, stride) == 24, "SlabArgs.stride");
static_assert(OFFSET_OF(SlabArgs, first) == 32, "SlabArgs.first");
static_assert(OFFSET_OF(SlabArgs, count) == 40, "SlabArgs.count");
static_assert(OFFSET_OF(SlabArgs, rows) == 48, "SlabArgs.rows");
static_assert(OFFSET_OF(SlabArgs, pieces) == 56, "SlabArgs.pieces");
static_assert(OFFSET_OF(SlabArgs, pad) == 64, "SlabArgs.pad");
static_assert(OFFSET_OF(SlabArgs, size) == 72, "SlabArgs.size");
static_assert(OFFSET_OF(SlabArgs, tile) == 136, "SlabArgs.tile");
static_assert(OFFSET_OF(SlabArgs, rank) == 200, "SlabArgs.rank");
static_assert(OFFSET_OF(SlabArgs, swap) == 204, "SlabArgs.swap");

// Streams that are to lie side by side.
struct PackArgs {
    // Stream i lies i times `stride` bytes on.
    const u8* streams;
    // Bytes from one stream to the next.
    u64 stride;
    // How long they are.
    const Outcome* outcomes;
    // Receives the streams one behind the other, each at a multiple of 16.
    u8* packed;
    // Streams.
    u32 count;
    // Blocks for each.
    u32 parts;
};
static_assert(sizeof(PackArgs) == 40, "PackArgs");
static_assert(OFFSET_OF(PackArgs, streams) == 0, "PackArgs.streams");
static_assert(OFFSET_OF(PackArgs, stride) == 8, "PackArgs.stride");
static_assert(OFFSET_OF(PackArgs, outcomes) == 16, "PackArgs.outcomes");
static_assert(OFFSET_OF(PackArgs, packed) == 24, "PackArgs.packed");
static_assert(OFFSET_OF(PackArgs, count) == 32, "PackArgs.count");
static_assert(OFFSET_OF(PackArgs, parts) == 36, "PackArgs.parts");
