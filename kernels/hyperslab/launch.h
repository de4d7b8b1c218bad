// Structs of src/runtime/cuda/launch.rs, made by `SLEEK_UPDATE=1 cargo test --test capi`; do not edit.
#pragma once
#include "../common/launch.h"

#define MAX_DIMS 8u
#define PIECE_ELEMENTS 1024u

// Chunks of a dataset that go to or come from an array.
struct SlabArgs {
    u8* array;             // The array.
    u8* chunks;            // Gather: where chunk i of the launch goes, i times `stride` bytes on.
    const u64* sources;    // Scatter: where chunk i of the launch lies; 0 leaves its elements alone.
    u64 stride;            // Bytes from one chunk to the next.
    u64 first;             // Number of the first chunk.
    u64 count;             // How many.
    u64 rows;              // Rows of a chunk.
    u64 pieces;            // Pieces of a row.
    u64 pad;               // An element of the rim, as in the file.
    u64 size[MAX_DIMS];    // Of the array.
    u64 tile[MAX_DIMS];    // Of a chunk.
    u32 rank;              // Dimensions.
    u32 swap;              // Turn the bytes of each element round.
};
static_assert(sizeof(SlabArgs) == 208, "SlabArgs");

// Streams that are to lie side by side.
struct PackArgs {
    const u8* streams;          // Stream i lies i times `stride` bytes on.
    u64 stride;                 // Bytes from one stream to the next.
    const Outcome* outcomes;    // How long they are.
    u8* packed;                 // Receives the streams one behind the other, each at a multiple of 16.
    u32 count;                  // Streams.
    u32 parts;                  // Blocks for each.
};
static_assert(sizeof(PackArgs) == 40, "PackArgs");
