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
    // Elements, or the stream, which is aligned to 16.
    const u8* src;
    // Where the stream goes, aligned to 16, or the elements.
    u8* dst;
    // Elements of the array.
    u64 count;
    // Bytes that a stream may take at `dst`, or that are there at `src`.
    u64 bytes;
    // Work slots of the arrays before it.
    u64 first;
};
static_assert(sizeof(Item) == 40, "Item");
static_assert(OFFSET_OF(Item, src) == 0, "Item.src");
static_assert(OFFSET_OF(Item, dst) == 8, "Item.dst");
static_assert(OFFSET_OF(Item, count) == 16, "Item.count");
static_assert(OFFSET_OF(Item, bytes) == 24, "Item.bytes");
static_assert(OFFSET_OF(Item, first) == 32, "Item.first");

// A part of the table of a batch: it travels in the arguments of a launch, so that the host may forget it at once.
struct ListArgs {
    // Where it goes.
    Item* table;
    // How many items it has.
    u64 count;
    // Whether all are as far from the one before them.
    u64 even;
    // The first one, if they are.
    Item item;
    // How far `src` is from that of the item before, modulo 2^64.
    u64 src_step;
    // How far `dst` is.
    u64 dst_step;
    // Work slots of an item.
    u64 slots;
    // Each item's bytes, two in a word, the first below; or the five words of each item.
    u64 words[LIST_WORDS];
};
static_assert(sizeof(ListArgs) == 3928, "ListArgs");
static_assert(OFFSET_OF(ListArgs, table) == 0, "ListArgs.table");
static_assert(OFFSET_OF(ListArgs, count) == 8, "ListArgs.count");
static_assert(OFFSET_OF(ListArgs, even) == 16, "ListArgs.even");
static_assert(OFFSET_OF(ListArgs, item) == 24, "ListArgs.item");
static_assert(OFFSET_OF(ListArgs, src_step) == 64, "ListArgs.src_step");
static_assert(OFFSET_OF(ListArgs, dst_step) == 72, "ListArgs.dst_step");
static_assert(OFFSET_OF(ListArgs, slots) == 80, "ListArgs.slots");
static_assert(OFFSET_OF(ListArgs, words) == 88, "ListArgs.words");

// Of an array, shared by the blocks of a launch; all zero before decompression.
struct Control {
    // Chunks handed out, to decompress beside those that blocks begin with. Compress: and WIDE_WARP times warps
    // whose bins were too far apart for words of 16 bits.
    u64 ticket;
    // Compress, first array of a batch only: work slots handed out.
    u64 slots;
    // Compress: bytes of the stream.
    u64 end;
    // Decompress: of bodies with the groups' checksums. Compress: blocks that put numbers next to missing values.
    u64 disagreement;
    // Keyed sum of the index; decompress: and of the header, its own checksum left out.
    u64 index_sum;
    // Value range, all zero before it is measured: largest key, largest inverted key.
    u64 range[2];
    // Compress: chunks that are done; decompress: blocks that are.
    u32 closed;
    // 0, or why it failed: the largest code that any block found.
    u32 status;
};
static_assert(sizeof(Control) == 64, "Control");
static_assert(OFFSET_OF(Control, ticket) == 0, "Control.ticket");
static_assert(OFFSET_OF(Control, slots) == 8, "Control.slots");
static_assert(OFFSET_OF(Control, end) == 16, "Control.end");
static_assert(OFFSET_OF(Control, disagreement) == 24, "Control.disagreement");
static_assert(OFFSET_OF(Control, index_sum) == 32, "Control.index_sum");
static_assert(OFFSET_OF(Control, range) == 40, "Control.range");
static_assert(OFFSET_OF(Control, closed) == 56, "Control.closed");
static_assert(OFFSET_OF(Control, status) == 60, "Control.status");

// What the host reads after a launch.
struct Outcome {
    // Of the stream, or of the array; 0 after an error.
    u64 bytes;
    // 0, or the C status code.
    u32 status;
    // 0.
    u32 zero;
};
static_assert(sizeof(Outcome) == 16, "Outcome");
static_assert(OFFSET_OF(Outcome, bytes) == 0, "Outcome.bytes");
static_assert(OFFSET_OF(Outcome, status) == 8, "Outcome.status");
static_assert(OFFSET_OF(Outcome, zero) == 12, "Outcome.zero");

// What a whole stream needs to be encoded; only kernels read it.
struct Plan {
    // Elements.
    u64 count;
    // Bytes of the array.
    u64 raw_bytes;
    // Chunks of the array.
    u64 chunks;
    // Groups of chunks.
    u64 groups;
    // Where the index has its group records.
    u64 records_at;
    // Where it has its entries.
    u64 entries_at;
    // Where the first chunk's payload is.
    u64 bodies_at;
    // The absolute bound; 0 without one.
    double abs_bound;
    // The value range that the bound was taken of.
    double range;
    // The step's factor; 0 where nothing is quantized.
    u32 step_w;
    // Its exponent.
    i32 step_j;
    // Whether elements are to be turned round.
    u32 big_endian;
    // Whether they are floats.
    u32 is_float;
    // Whether mode rel is.
    u32 rounded;
    // Mantissa bits that mode rel rounds off.
    u32 drop;
};
static_assert(sizeof(Plan) == 96, "Plan");
static_assert(OFFSET_OF(Plan, count) == 0, "Plan.count");
static_assert(OFFSET_OF(Plan, raw_bytes) == 8, "Plan.raw_bytes");
static_assert(OFFSET_OF(Plan, chunks) == 16, "Plan.chunks");
static_assert(OFFSET_OF(Plan, groups) == 24, "Plan.groups");
static_assert(OFFSET_OF(Plan, records_at) == 32, "Plan.records_at");
static_assert(OFFSET_OF(Plan, entries_at) == 40, "Plan.entries_at");
static_assert(OFFSET_OF(Plan, bodies_at) == 48, "Plan.bodies_at");
static_assert(OFFSET_OF(Plan, abs_bound) == 56, "Plan.abs_bound");
static_assert(OFFSET_OF(Plan, range) == 64, "Plan.range");
static_assert(OFFSET_OF(Plan, step_w) == 72, "Plan.step_w");
static_assert(OFFSET_OF(Plan, step_j) == 76, "Plan.step_j");
static_assert(OFFSET_OF(Plan, big_endian) == 80, "Plan.big_endian");
static_assert(OFFSET_OF(Plan, is_float) == 84, "Plan.is_float");
static_assert(OFFSET_OF(Plan, rounded) == 88, "Plan.rounded");
static_assert(OFFSET_OF(Plan, drop) == 92, "Plan.drop");

// What a launch keeps of each array; all zero before the first kernel.
struct Slot {
    // What its blocks share.
    Control control;
    // Compress.
    Plan plan;
};
static_assert(sizeof(Slot) == 160, "Slot");
static_assert(OFFSET_OF(Slot, control) == 0, "Slot.control");
static_assert(OFFSET_OF(Slot, plan) == 64, "Slot.plan");

// Which arrays a launch works on, and where it leaves what it knows of them.
struct Batch {
    // The array, where `items` is null.
    Item only;
    // Else all of them.
    const Item* items;
    // One for each array.
    Slot* slots;
    // One for each array.
    Outcome* outcomes;
    // Work slots of all arrays.
    u64 work_slots;
    // Arrays.
    u32 count;
    // 0.
    u32 zero;
};
static_assert(sizeof(Batch) == 80, "Batch");
static_assert(OFFSET_OF(Batch, only) == 0, "Batch.only");
static_assert(OFFSET_OF(Batch, items) == 40, "Batch.items");
static_assert(OFFSET_OF(Batch, slots) == 48, "Batch.slots");
static_assert(OFFSET_OF(Batch, outcomes) == 56, "Batch.outcomes");
static_assert(OFFSET_OF(Batch, work_slots) == 64, "Batch.work_slots");
static_assert(OFFSET_OF(Batch, count) == 72, "Batch.count");
static_assert(OFFSET_OF(Batch, zero) == 76, "Batch.zero");

// Of the kernels that compress.
struct CompressArgs {
    // The arrays.
    Batch batch;
    // As the user gave it.
    double bound;
    // Where there is one.
    double range;
    // Bits of the missing values.
    u64 missing[MAX_MISSING];
    // The header's extension.
    u64 extension[EXTENSION_WORDS];
    // The element type's code.
    u32 dtype;
    // What the bound means.
    u32 mode;
    // Whether the profile is `fast`.
    u32 fast;
    // Whether elements are to be turned round.
    u32 big_endian;
    // Whether `range` is given; else it was measured.
    u32 has_range;
    // Missing values.
    u32 values;
    // Whether mode rel rounds off bits.
    u32 rounded;
    // Mantissa bits that it does.
    u32 drop;
    // Bytes of the extension.
    u32 extension_bytes;
    // Of the missing values those that nobody declared.
    u32 found;
    // Whether every bit is kept, whatever the bound.
    u32 exact;
    // 0.
    u32 zero;
};
static_assert(sizeof(CompressArgs) == 480, "CompressArgs");
static_assert(OFFSET_OF(CompressArgs, batch) == 0, "CompressArgs.batch");
static_assert(OFFSET_OF(CompressArgs, bound) == 80, "CompressArgs.bound");
static_assert(OFFSET_OF(CompressArgs, range) == 88, "CompressArgs.range");
static_assert(OFFSET_OF(CompressArgs, missing) == 96, "CompressArgs.missing");
static_assert(OFFSET_OF(CompressArgs, extension) == 128, "CompressArgs.extension");
static_assert(OFFSET_OF(CompressArgs, dtype) == 432, "CompressArgs.dtype");
static_assert(OFFSET_OF(CompressArgs, mode) == 436, "CompressArgs.mode");
static_assert(OFFSET_OF(CompressArgs, fast) == 440, "CompressArgs.fast");
static_assert(OFFSET_OF(CompressArgs, big_endian) == 444, "CompressArgs.big_endian");
static_assert(OFFSET_OF(CompressArgs, has_range) == 448, "CompressArgs.has_range");
static_assert(OFFSET_OF(CompressArgs, values) == 452, "CompressArgs.values");
static_assert(OFFSET_OF(CompressArgs, rounded) == 456, "CompressArgs.rounded");
static_assert(OFFSET_OF(CompressArgs, drop) == 460, "CompressArgs.drop");
static_assert(OFFSET_OF(CompressArgs, extension_bytes) == 464, "CompressArgs.extension_bytes");
static_assert(OFFSET_OF(CompressArgs, found) == 468, "CompressArgs.found");
static_assert(OFFSET_OF(CompressArgs, exact) == 472, "CompressArgs.exact");
static_assert(OFFSET_OF(CompressArgs, zero) == 476, "CompressArgs.zero");

// Of the kernels that decompress.
struct DecompressArgs {
    // The streams.
    Batch batch;
    // The first element wanted; a batch wants whole arrays.
    u64 first;
    // Where a box begins.
    u64 start[MAX_RANK];
    // Its lengths.
    u64 lens[MAX_RANK];
    // Memory that the blocks share among them.
    u8* scratch;
    // The element type's code.
    u32 dtype;
    // Whether a box is wanted, not a run of elements.
    u32 boxed;
    // Of the grid of which level.
    u32 level;
    // 0.
    u32 zero;
};
static_assert(sizeof(DecompressArgs) == 624, "DecompressArgs");
static_assert(OFFSET_OF(DecompressArgs, batch) == 0, "DecompressArgs.batch");
static_assert(OFFSET_OF(DecompressArgs, first) == 80, "DecompressArgs.first");
static_assert(OFFSET_OF(DecompressArgs, start) == 88, "DecompressArgs.start");
static_assert(OFFSET_OF(DecompressArgs, lens) == 344, "DecompressArgs.lens");
static_assert(OFFSET_OF(DecompressArgs, scratch) == 600, "DecompressArgs.scratch");
static_assert(OFFSET_OF(DecompressArgs, dtype) == 608, "DecompressArgs.dtype");
static_assert(OFFSET_OF(DecompressArgs, boxed) == 612, "DecompressArgs.boxed");
static_assert(OFFSET_OF(DecompressArgs, level) == 616, "DecompressArgs.level");
static_assert(OFFSET_OF(DecompressArgs, zero) == 620, "DecompressArgs.zero");
