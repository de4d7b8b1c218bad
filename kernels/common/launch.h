// Structs of src/runtime/cuda/launch.rs, made by `SLEEK_UPDATE=1 cargo test --test capi`; do not edit.
#pragma once
#include "constants.h"
#include "platform.cuh"

#define LIST_WORDS 480u
#define PIECE_BYTES 16384u
#define EXTENSION_WORDS 38u
#define UNIT 4u
#define WIDE_ENTRY_BYTES 4u
#define WIDE_KIND_SHIFT 30u
#define WIDE_SIZE_MASK 1073741823u

// One array to be compressed, or one stream to be restored.
struct Item {
    const u8* src;    // Elements, or the stream, which is aligned to 16.
    u8* dst;          // Where the stream goes, aligned to 16, or the elements.
    u64 count;        // Elements of the array.
    u64 bytes;        // Bytes that a stream may take at `dst`, or that are there at `src`.
    u64 first;        // Work slots of the arrays before it.
};
static_assert(sizeof(Item) == 40, "Item");

// A part of the table of a batch: it travels in the arguments of a launch, so that the host may forget it at once.
struct ListArgs {
    Item* table;              // Where it goes.
    u64 count;                // How many items it has.
    u64 even;                 // Whether all are as far from the one before them.
    Item item;                // The first one, if they are.
    u64 src_step;             // How far `src` is from that of the item before, modulo 2^64.
    u64 dst_step;             // How far `dst` is.
    u64 slots;                // Work slots of an item.
    u64 words[LIST_WORDS];    // Each item's bytes, two in a word, the first below; or the five words of each item.
};
static_assert(sizeof(ListArgs) == 3928, "ListArgs");

// Of an array, shared by the blocks of a launch; all zero before decompression.
struct Control {
    // Chunks handed out, to decompress beside those that blocks begin with. Compress: and WIDE_WARP times warps
    // whose bins were too far apart for words of 16 bits.
    u64 ticket;
    u64 slots;           // Compress, first array of a batch only: work slots handed out.
    u64 end;             // Compress: bytes of the stream.
    // Decompress: of bodies with the groups' checksums. Compress: blocks that put numbers next to missing values.
    u64 disagreement;
    u64 index_sum;       // Keyed sum of the index; decompress: and of the header, its own checksum left out.
    u64 range[2];        // Value range, all zero before it is measured: largest key, largest inverted key.
    u32 closed;          // Compress: chunks that are done; decompress: blocks that are.
    u32 status;          // 0, or why it failed: the largest code that any block found.
};
static_assert(sizeof(Control) == 64, "Control");

// What the host reads after a launch.
struct Outcome {
    u64 bytes;     // Of the stream, or of the array; 0 after an error.
    u32 status;    // 0, or the C status code.
    u32 zero;      // 0.
};
static_assert(sizeof(Outcome) == 16, "Outcome");

// What a whole stream needs to be encoded; only kernels read it.
struct Plan {
    u64 count;           // Elements.
    u64 raw_bytes;       // Bytes of the array.
    u64 chunks;          // Chunks of the array.
    u64 groups;          // Groups of chunks.
    u64 records_at;      // Where the index has its group records.
    u64 entries_at;      // Where it has its entries.
    u64 bodies_at;       // Where the first chunk's payload is.
    double abs_bound;    // The absolute bound; 0 without one.
    double range;        // The value range that the bound was taken of.
    u32 step_w;          // The step's factor; 0 where nothing is quantized.
    i32 step_j;          // Its exponent.
    u32 big_endian;      // Whether elements are to be turned round.
    u32 is_float;        // Whether they are floats.
    u32 rounded;         // Whether mode rel is.
    u32 drop;            // Mantissa bits that mode rel rounds off.
};
static_assert(sizeof(Plan) == 96, "Plan");

// What a launch keeps of each array; all zero before the first kernel.
struct Slot {
    Control control;    // What its blocks share.
    Plan plan;          // Compress.
};
static_assert(sizeof(Slot) == 160, "Slot");

// Which arrays a launch works on, and where it leaves what it knows of them.
struct Batch {
    Item only;            // The array, where `items` is null.
    const Item* items;    // Else all of them.
    Slot* slots;          // One for each array.
    Outcome* outcomes;    // One for each array.
    u64 work_slots;       // Work slots of all arrays.
    u32 count;            // Arrays.
    u32 zero;             // 0.
};
static_assert(sizeof(Batch) == 80, "Batch");

// Of the kernels that compress.
struct CompressArgs {
    Batch batch;                       // The arrays.
    double bound;                      // As the user gave it.
    double range;                      // Where there is one.
    u64 missing[MAX_MISSING];          // Bits of the missing values.
    u64 extension[EXTENSION_WORDS];    // The header's extension.
    u32 dtype;                         // The element type's code.
    u32 mode;                          // What the bound means.
    u32 fast;                          // Whether the profile is `fast`.
    u32 big_endian;                    // Whether elements are to be turned round.
    u32 has_range;                     // Whether `range` is given; else it was measured.
    u32 values;                        // Missing values.
    u32 rounded;                       // Whether mode rel rounds off bits.
    u32 drop;                          // Mantissa bits that it does.
    u32 extension_bytes;               // Bytes of the extension.
    u32 found;                         // Of the missing values those that nobody declared.
    u32 exact;                         // Whether every bit is kept, whatever the bound.
    u32 zero;                          // 0.
};
static_assert(sizeof(CompressArgs) == 480, "CompressArgs");

// Of the kernels that decompress.
struct DecompressArgs {
    Batch batch;            // The streams.
    u64 first;              // The first element wanted; a batch wants whole arrays.
    u64 start[MAX_RANK];    // Where a box begins.
    u64 lens[MAX_RANK];     // Its lengths.
    u8* scratch;            // Memory that the blocks share among them.
    u32 dtype;              // The element type's code.
    u32 boxed;              // Whether a box is wanted, not a run of elements.
    u32 level;              // Of the grid of which level.
    u32 zero;               // 0.
};
static_assert(sizeof(DecompressArgs) == 624, "DecompressArgs");
