//! What launches and kernels tell each other: structs whose CUDA form a test makes from this file
//! (`kernels/common/launch.h`, `kernels/hyperslab/launch.h`), with their sizes asserted there.

use crate::container::MAX_RANK;
use crate::container::constants::EXTENSION_BYTES;
use crate::missing::MAX_MISSING;

/// Words of the arguments of a launch that tells of arrays.
pub const LIST_WORDS: usize = 480;
/// Arrays that travel in the arguments of one launch.
pub const LISTED: usize = LIST_WORDS / (size_of::<Item>() / 8);
/// Arrays at even distances of which only the bytes differ travel in so many.
pub const LISTED_EVEN: usize = 2 * LIST_WORDS;
/// Bytes of a piece of work of the kernels that zero the index and measure the range.
pub const PIECE_BYTES: u64 = 16384;

/// Words of 64 bits that the extension of a stream's header takes at most, where there is neither a tile nor a section.
pub const EXTENSION_WORDS: usize = EXTENSION_BYTES / 8 + MAX_RANK + MAX_MISSING;

/// Dimensions that the hyperslab kernels take.
pub const MAX_DIMS: usize = 8;
/// Elements of a row that a warp copies in one go.
pub const PIECE_ELEMENTS: u64 = 1024;

/// A struct as the CUDA sources get it.
pub struct Layout {
    /// Its name there and here.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// In their order.
    pub fields: &'static [Field],
    /// Bytes.
    pub size: usize,
}

/// A field of a struct.
pub struct Field {
    /// Its name there and here.
    pub name: &'static str,
    /// Its type in Rust.
    pub ty: &'static str,
    /// What it is.
    pub doc: &'static str,
}

macro_rules! launch_structs {
    ($(#[$about:meta])* $layouts:ident: $(
        $(#[doc = $doc:literal])*
        struct $name:ident { $( $field:ident: $ty:ty, $($field_doc:literal)+; )* }
    )*) => {
        $(
            $(#[doc = $doc])*
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name { $( $(#[doc = $field_doc])+ pub $field: $ty, )* }
            impl $name {
                /// With nothing in it.
                // SAFETY: numbers and pointers, for which zeros are values.
                pub const ZERO: $name = unsafe { std::mem::zeroed() };
            }
            // No gaps, of which the two compilers might think differently.
            const _: () = assert!(size_of::<$name>() == 0 $( + size_of::<$ty>() )*);
        )*
        $(#[$about])*
        pub const $layouts: &[Layout] = &[$( Layout {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            fields: &[$( Field {
                name: stringify!($field),
                ty: stringify!($ty),
                doc: concat!($(" ", $field_doc, "\n"),+),
            } ),*],
            size: size_of::<$name>(),
        } ),*];
    };
}

launch_structs! {
    /// Of the kernels of every codec.
    COMMON:

    /// One array to be compressed, or one stream to be restored.
    struct Item {
        src: *const u8, "Elements, or the stream, which is aligned to 16.";
        dst: *mut u8, "Where the stream goes, aligned to 16, or the elements.";
        count: u64, "Elements of the array.";
        bytes: u64, "Bytes that a stream may take at `dst`, or that are there at `src`.";
        first: u64, "Work slots of the arrays before it.";
    }

    /// A part of the table of a batch: it travels in the arguments of a launch, so that the host may forget it at once.
    struct ListArgs {
        table: *mut Item, "Where it goes.";
        count: u64, "How many items it has.";
        even: u64, "Whether all are as far from the one before them.";
        item: Item, "The first one, if they are.";
        src_step: u64, "How far `src` is from that of the item before, modulo 2^64.";
        dst_step: u64, "How far `dst` is.";
        slots: u64, "Work slots of an item.";
        words: [u64; LIST_WORDS], "Each item's bytes, two in a word, the first below; or the five words of each item.";
    }

    /// Of an array, shared by the blocks of a launch; all zero before decompression.
    struct Control {
        ticket: u64,
            "Chunks handed out, to decompress beside those that blocks begin with. Compress: and WIDE_WARP times warps"
            "whose bins were too far apart for words of 16 bits.";
        slots: u64, "Compress, first array of a batch only: work slots handed out.";
        end: u64, "Compress: bytes of the stream.";
        disagreement: u64,
        "Decompress: of bodies with the groups' checksums. Compress: blocks that put numbers next to missing values.";
        index_sum: u64, "Keyed sum of the index; decompress: and of the header, its own checksum left out.";
        range: [u64; 2], "Value range, all zero before it is measured: largest key, largest inverted key.";
        closed: u32, "Compress: chunks that are done; decompress: blocks that are.";
        status: u32, "0, or why it failed: the largest code that any block found.";
    }

    /// What the host reads after a launch.
    struct Outcome {
        bytes: u64, "Of the stream, or of the array; 0 after an error.";
        status: u32, "0, or the C status code.";
        zero: u32, "0.";
    }

    /// What a whole stream needs to be encoded; only kernels read it.
    struct Plan {
        count: u64, "Elements.";
        raw_bytes: u64, "Bytes of the array.";
        chunks: u64, "Chunks of the array.";
        groups: u64, "Groups of chunks.";
        records_at: u64, "Where the index has its group records.";
        entries_at: u64, "Where it has its entries.";
        bodies_at: u64, "Where the first chunk's payload is.";
        abs_bound: f64, "The absolute bound; 0 without one.";
        range: f64, "The value range that the bound was taken of.";
        step_w: u32, "The step's factor; 0 where nothing is quantized.";
        step_j: i32, "Its exponent.";
        big_endian: u32, "Whether elements are to be turned round.";
        is_float: u32, "Whether they are floats.";
        rounded: u32, "Whether mode rel is.";
        drop: u32, "Mantissa bits that mode rel rounds off.";
    }

    /// What a launch keeps of each array; all zero before the first kernel.
    struct Slot {
        control: Control, "What its blocks share.";
        plan: Plan, "Compress.";
    }

    /// Which arrays a launch works on, and where it leaves what it knows of them.
    struct Batch {
        only: Item, "The array, where `items` is null.";
        items: *const Item, "Else all of them.";
        slots: *mut Slot, "One for each array.";
        outcomes: *mut Outcome, "One for each array.";
        work_slots: u64, "Work slots of all arrays.";
        count: u32, "Arrays.";
        zero: u32, "0.";
    }

    /// Of the kernels that compress.
    struct CompressArgs {
        batch: Batch, "The arrays.";
        bound: f64, "As the user gave it.";
        range: f64, "Where there is one.";
        missing: [u64; MAX_MISSING], "Bits of the missing values.";
        extension: [u64; EXTENSION_WORDS], "The header's extension.";
        dtype: u32, "The element type's code.";
        mode: u32, "What the bound means.";
        fast: u32, "Whether the profile is `fast`.";
        big_endian: u32, "Whether elements are to be turned round.";
        has_range: u32, "Whether `range` is given; else it was measured.";
        values: u32, "Missing values.";
        rounded: u32, "Whether mode rel rounds off bits.";
        drop: u32, "Mantissa bits that it does.";
        extension_bytes: u32, "Bytes of the extension.";
        found: u32, "Of the missing values those that nobody declared.";
        exact: u32, "Whether every bit is kept, whatever the bound.";
        zero: u32, "0.";
    }

    /// Of the kernels that decompress.
    struct DecompressArgs {
        batch: Batch, "The streams.";
        first: u64, "The first element wanted; a batch wants whole arrays.";
        start: [u64; MAX_RANK], "Where a box begins.";
        lens: [u64; MAX_RANK], "Its lengths.";
        scratch: *mut u8, "Memory that the blocks share among them.";
        dtype: u32, "The element type's code.";
        boxed: u32, "Whether a box is wanted, not a run of elements.";
        level: u32, "Of the grid of which level.";
        zero: u32, "0.";
    }
}

launch_structs! {
    /// Of the kernels that copy hyperslabs.
    HYPERSLAB:

    /// Chunks of a dataset that go to or come from an array.
    struct SlabArgs {
        array: *mut u8, "The array.";
        chunks: *mut u8, "Gather: where chunk i of the launch goes, i times `stride` bytes on.";
        sources: *const u64, "Scatter: where chunk i of the launch lies; 0 leaves its elements alone.";
        stride: u64, "Bytes from one chunk to the next.";
        first: u64, "Number of the first chunk.";
        count: u64, "How many.";
        rows: u64, "Rows of a chunk.";
        pieces: u64, "Pieces of a row.";
        pad: u64, "An element of the rim, as in the file.";
        size: [u64; MAX_DIMS], "Of the array.";
        tile: [u64; MAX_DIMS], "Of a chunk.";
        rank: u32, "Dimensions.";
        swap: u32, "Turn the bytes of each element round.";
    }

    /// Streams that are to lie side by side.
    struct PackArgs {
        streams: *const u8, "Stream i lies i times `stride` bytes on.";
        stride: u64, "Bytes from one stream to the next.";
        outcomes: *const Outcome, "How long they are.";
        packed: *mut u8, "Receives the streams one behind the other, each at a multiple of 16.";
        count: u32, "Streams.";
        parts: u32, "Blocks for each.";
    }
}

launch_structs! {
    /// Of the kernels that look at an array for undeclared fill values.
    SENTINEL:

    /// What such a look sees of an array, all zero before.
    struct Seen {
        ends: [u64; 2], "Of the numbers that count: the largest key, the largest inverted key.";
        between: [u64; 2], "The same of some between them.";
        special: u64, "What the bits of the least NaN or infinity are less than 2^32 or 2^64; 0 where there is none.";
        counts: [u32; MAX_MISSING], "How often those that do not count are there, at least up to 2.";
    }

    /// Of these kernels.
    struct LookArgs {
        src: *const u8, "The array.";
        count: u64, "Its elements.";
        fills: [u64; MAX_MISSING], "Bits of numbers that do not count.";
        above: u64, "NaN and infinities up to these bits do not count.";
        seen: *mut Seen, "Where what is seen goes.";
        values: u32, "Numbers that do not count.";
        big_endian: u32, "Whether elements are to be turned round.";
    }
}

launch_structs! {
    /// Of the kernels of codec interp.
    INTERP:

    /// Of the kernels that compress.
    struct InterpCompressArgs {
        common: CompressArgs, "What is said of every codec's arrays, but for the header's extension.";
        lens: [u64; MAX_RANK], "The lengths of the dimensions; of a line each array has its own.";
        sides_log2: [u8; MAX_RANK], "The sides of a tile, as powers of two; of a line they follow from its length.";
        scratch: *mut u8, "Where each block keeps what it knows of its tiles.";
        trials: *mut u8, "What trials of tiles cost, those of each array.";
        stages: *mut u8, "Where the stages have the tiles of a wave.";
        first: u64, "The first of these, counted through all arrays.";
        room: u64, "For how many there is room.";
        count: u32, "How many they are.";
        wave: u32, "The number of the wave.";
        staged: u32, "Whether whole tiles are coded by kernels of their own.";
        trying: u32, "Whether tiles are tried.";
        rank: u32, "Dimensions.";
        zero: u32, "0.";
    }

    /// Of the kernels that decompress.
    struct InterpDecompressArgs {
        common: DecompressArgs,
            "What is said of every codec's streams. In its memory each block keeps the codes of its tiles: for each of"
            "them as many words as it has elements. Of a level each tile of a wave has a slot there.";
        list: *mut u8, "The tiles that are left to any blocks, zeroed as far as it counts.";
        tiles: *mut u8, "What is known of each tile.";
        room: u64, "How many tiles both have room for; 0 where nothing is done but by any blocks.";
        first_tile: u64, "Of a level the first tile of a wave,";
        end_tile: u64, "and the one behind its last, at most.";
        wide: u32, "Which tiles to restore: 0, or 1 where these take much room, or `IN_SLOT`.";
        words: u32, "Of a level words of a tile's slot, for the codes of its nodes or all elements.";
    }
}

/// Numbers that launches and kernels share, and a table of them by name.
macro_rules! launch_numbers {
    ($table:ident: $( $name:ident = $value:expr, $doc:literal; )*) => {
        $( #[doc = $doc] pub const $name: usize = $value; )*
        /// Numbers that the CUDA sources get.
        pub const $table: &[(&str, u64)] = &[$( (stringify!($name), $name as u64) ),*];
    };
}

launch_numbers! {
    INTERP_NUMBERS:
    INTERP_LIST_BYTES = 32, "Bytes before the numbers of the tiles on a list.";
    DECODE_WARPS = 32, "The most warps of a block that decodes tiles.";
    DECODE_TABLE_BYTES = 13 << 12, "Bytes that it shares: the tables of tokens,";
    DECODE_WARP_BYTES = (4 << 10) + 1280, "and for each warp the table of its tile and a ring of words.";
    TILE_BYTES = 192, "What is known of a tile, at most.";
    RESTORE_BYTES = 53760, "What a block shares that makes elements of codes: four such have room on a multiprocessor;";
    RESTORE_WIDE_BYTES = 70656, "and where rows are long.";
    IN_SLOT = 2, "Tiles that are restored in their slots.";
    INTERP_THREADS = 256, "Threads of a block of the kernel that decompresses any tiles.";
    INTERP_TOGETHER = 8, "Tiles that such a block takes at once, at most: the codes of each are decoded by a warp.";
    INTERP_NUMBER_BYTES = 4 << 14,
        "Bytes that it shares: the numbers of a tile, or the tables of tokens and rings of words.";
    INTERP_WARP_BYTES = 5 << 10, "And for each of these warps: the table of its tile, or errors of nodes.";
    INTERP_ERRORS = INTERP_TOGETHER * INTERP_WARP_BYTES / 4, "Errors of nodes that there is room for.";
    INTERP_DESK_WORDS = 11,
        "What a block that compresses keeps of its tiles: so many times their words, and so many bytes besides.";
    INTERP_DESK_BYTES = 320 << 10, "See there.";
    INTERP_TRIALS_BYTES = 128 + 16 * 152, "What the trials of an array cost, in bytes.";
    INTERP_TRIAL_PARTS = 3, "Parts of a trial of a whole tile: along axes, smooth and rough.";
    INTERP_STAGE_TILE_BYTES = 40, "What the stages of compressing tell each other of a tile,";
    INTERP_LISTS_BYTES = 32, "and of lists of tiles.";
    INTERP_WEIGHTS_BYTES = 1536, "Weights of nodes of whole tiles.";
    INTERP_PREDICT_BYTES = 42208, "What a block shares that makes codes of 8 bits of a whole tile,";
    INTERP_PREDICT_WIDE_BYTES = 60640, "or of 16 bits.";
    ENTROPY_WARPS = 32, "The most warps of a block that makes words of codes.";
    ENTROPY_TABLE_BYTES = 23888, "Bytes that it shares: symbols of all tables that are always there,";
    ENTROPY_WARP_BYTES = 6112, "and for each warp what is known of its tile.";
    PLACE_WARPS = 16, "Warps of a block that brings bodies to their places.";
    PLACE_TILES = 32, "Tiles that it takes.";
}

/// What a block shares that restores nodes, at most: of a level of codes words, as many numbers, and errors.
pub const NODES_BYTES: usize = 9 * 8320;

launch_structs! {
    /// Of the kernels of codec zfp.
    ZFP:

    /// Of the kernels that compress.
    struct ZfpCompressArgs {
        batch: Batch, "The arrays.";
        lens: [u64; MAX_RANK], "The lengths of the dimensions; of a line each array has its own.";
        sides_log2: [u8; MAX_RANK], "The sides of a tile, as powers of two; of a line they follow from its length.";
        stated: f64, "What the header states as bound, rate or precision.";
        scratch: *mut u8,
            "Where the lanes of each warp stage elements, and behind them a body: `warps` times `room` bytes.";
        room: u64, "Bytes of the place of both.";
        staged_bytes: u64, "Those of the elements.";
        warps: u64, "How many there are; warps that have none do nothing.";
        rank: u32, "Dimensions.";
        dtype: u32, "The element type's code.";
        mode: u32, "The mode's.";
        coding: u32, "How blocks are cut off: the codec's word of the header.";
        big_endian: u32, "Whether elements are to be turned round.";
        zero: u32, "0.";
    }
}

impl Item {
    /// An array of its own, or part of a batch, which numbers it.
    pub fn new(src: *const u8, dst: *mut u8, count: u64, bytes: u64) -> Item {
        Item { src, dst, count, bytes, first: 0 }
    }

    /// The same, behind arrays of `first` work slots.
    pub fn behind(self, first: u64) -> Item {
        Item { first, ..self }
    }
}
