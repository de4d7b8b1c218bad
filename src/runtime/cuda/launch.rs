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
        struct $name:ident { $( $(#[doc = $field_doc:literal])* $field:ident: $ty:ty, )* }
    )*) => {
        $(
            $(#[doc = $doc])*
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name { $( $(#[doc = $field_doc])* pub $field: $ty, )* }
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
                doc: concat!($($field_doc, "\n"),*),
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
        /// Elements, or the stream, which is aligned to 16.
        src: *const u8,
        /// Where the stream goes, aligned to 16, or the elements.
        dst: *mut u8,
        /// Elements of the array.
        count: u64,
        /// Bytes that a stream may take at `dst`, or that are there at `src`.
        bytes: u64,
        /// Work slots of the arrays before it.
        first: u64,
    }

    /// A part of the table of a batch: it travels in the arguments of a launch, so that the host may forget it at once.
    struct ListArgs {
        /// Where it goes.
        table: *mut Item,
        /// How many items it has.
        count: u64,
        /// Whether all are as far from the one before them.
        even: u64,
        /// The first one, if they are.
        item: Item,
        /// How far `src` is from that of the item before, modulo 2^64.
        src_step: u64,
        /// How far `dst` is.
        dst_step: u64,
        /// Work slots of an item.
        slots: u64,
        /// Each item's bytes, two in a word, the first below; or the five words of each item.
        words: [u64; LIST_WORDS],
    }

    /// Of an array, shared by the blocks of a launch; all zero before decompression.
    struct Control {
        /// Chunks handed out, to decompress beside those that blocks begin with. Compress: and WIDE_WARP times warps
        /// whose bins were too far apart for words of 16 bits.
        ticket: u64,
        /// Compress, first array of a batch only: work slots handed out.
        slots: u64,
        /// Compress: bytes of the stream.
        end: u64,
        /// Decompress: of bodies with the groups' checksums. Compress: blocks that put numbers next to missing values.
        disagreement: u64,
        /// Keyed sum of the index; decompress: and of the header, its own checksum left out.
        index_sum: u64,
        /// Value range, all zero before it is measured: largest key, largest inverted key.
        range: [u64; 2],
        /// Compress: chunks that are done; decompress: blocks that are.
        closed: u32,
        /// 0, or why it failed: the largest code that any block found.
        status: u32,
    }

    /// What the host reads after a launch.
    struct Outcome {
        /// Of the stream, or of the array; 0 after an error.
        bytes: u64,
        /// 0, or the C status code.
        status: u32,
        /// 0.
        zero: u32,
    }

    /// What a whole stream needs to be encoded; only kernels read it.
    struct Plan {
        /// Elements.
        count: u64,
        /// Bytes of the array.
        raw_bytes: u64,
        /// Chunks of the array.
        chunks: u64,
        /// Groups of chunks.
        groups: u64,
        /// Where the index has its group records.
        records_at: u64,
        /// Where it has its entries.
        entries_at: u64,
        /// Where the first chunk's payload is.
        bodies_at: u64,
        /// The absolute bound; 0 without one.
        abs_bound: f64,
        /// The value range that the bound was taken of.
        range: f64,
        /// The step's factor; 0 where nothing is quantized.
        step_w: u32,
        /// Its exponent.
        step_j: i32,
        /// Whether elements are to be turned round.
        big_endian: u32,
        /// Whether they are floats.
        is_float: u32,
        /// Whether mode rel is.
        rounded: u32,
        /// Mantissa bits that mode rel rounds off.
        drop: u32,
    }

    /// What a launch keeps of each array; all zero before the first kernel.
    struct Slot {
        /// What its blocks share.
        control: Control,
        /// Compress.
        plan: Plan,
    }

    /// Which arrays a launch works on, and where it leaves what it knows of them.
    struct Batch {
        /// The array, where `items` is null.
        only: Item,
        /// Else all of them.
        items: *const Item,
        /// One for each array.
        slots: *mut Slot,
        /// One for each array.
        outcomes: *mut Outcome,
        /// Work slots of all arrays.
        work_slots: u64,
        /// Arrays.
        count: u32,
        /// 0.
        zero: u32,
    }

    /// Of the kernels that compress.
    struct CompressArgs {
        /// The arrays.
        batch: Batch,
        /// As the user gave it.
        bound: f64,
        /// Where there is one.
        range: f64,
        /// Bits of the missing values.
        missing: [u64; MAX_MISSING],
        /// The header's extension.
        extension: [u64; EXTENSION_WORDS],
        /// The element type's code.
        dtype: u32,
        /// What the bound means.
        mode: u32,
        /// Whether the profile is `fast`.
        fast: u32,
        /// Whether elements are to be turned round.
        big_endian: u32,
        /// Whether `range` is given; else it was measured.
        has_range: u32,
        /// Missing values.
        values: u32,
        /// Whether mode rel rounds off bits.
        rounded: u32,
        /// Mantissa bits that it does.
        drop: u32,
        /// Bytes of the extension.
        extension_bytes: u32,
        /// Of the missing values those that nobody declared.
        found: u32,
        /// Whether every bit is kept, whatever the bound.
        exact: u32,
        /// 0.
        zero: u32,
    }

    /// Of the kernels that decompress.
    struct DecompressArgs {
        /// The streams.
        batch: Batch,
        /// The first element wanted; a batch wants whole arrays.
        first: u64,
        /// Where a box begins.
        start: [u64; MAX_RANK],
        /// Its lengths.
        lens: [u64; MAX_RANK],
        /// Memory that the blocks share among them.
        scratch: *mut u8,
        /// The element type's code.
        dtype: u32,
        /// Whether a box is wanted, not a run of elements.
        boxed: u32,
        /// Of the grid of which level.
        level: u32,
        /// 0.
        zero: u32,
    }
}

launch_structs! {
    /// Of the kernels that copy hyperslabs.
    HYPERSLAB:

    /// Chunks of a dataset that go to or come from an array.
    struct SlabArgs {
        /// The array.
        array: *mut u8,
        /// Gather: where chunk i of the launch goes, i times `stride` bytes on.
        chunks: *mut u8,
        /// Scatter: where chunk i of the launch lies; 0 leaves its elements alone.
        sources: *const u64,
        /// Bytes from one chunk to the next.
        stride: u64,
        /// Number of the first chunk.
        first: u64,
        /// How many.
        count: u64,
        /// Rows of a chunk.
        rows: u64,
        /// Pieces of a row.
        pieces: u64,
        /// An element of the rim, as in the file.
        pad: u64,
        /// Of the array.
        size: [u64; MAX_DIMS],
        /// Of a chunk.
        tile: [u64; MAX_DIMS],
        /// Dimensions.
        rank: u32,
        /// Turn the bytes of each element round.
        swap: u32,
    }

    /// Streams that are to lie side by side.
    struct PackArgs {
        /// Stream i lies i times `stride` bytes on.
        streams: *const u8,
        /// Bytes from one stream to the next.
        stride: u64,
        /// How long they are.
        outcomes: *const Outcome,
        /// Receives the streams one behind the other, each at a multiple of 16.
        packed: *mut u8,
        /// Streams.
        count: u32,
        /// Blocks for each.
        parts: u32,
    }
}

launch_structs! {
    /// Of the kernels that look at an array for undeclared fill values.
    SENTINEL:

    /// What such a look sees of an array, all zero before.
    struct Seen {
        /// Of the numbers that count: the largest key, the largest inverted key.
        ends: [u64; 2],
        /// The same of some between them.
        between: [u64; 2],
        /// What the bits of the least NaN or infinity are less than 2^32 or 2^64; 0 where there is none.
        special: u64,
        /// How often those that do not count are there, at least up to 2.
        counts: [u32; MAX_MISSING],
    }

    /// Of these kernels.
    struct LookArgs {
        /// The array.
        src: *const u8,
        /// Its elements.
        count: u64,
        /// Bits of numbers that do not count.
        fills: [u64; MAX_MISSING],
        /// NaN and infinities up to these bits do not count.
        above: u64,
        /// Where what is seen goes.
        seen: *mut Seen,
        /// Numbers that do not count.
        values: u32,
        /// Whether elements are to be turned round.
        big_endian: u32,
    }
}

launch_structs! {
    /// Of the kernels of codec interp.
    INTERP:

    /// Of the kernels that compress.
    struct InterpCompressArgs {
        /// What is said of every codec's arrays, but for the header's extension.
        common: CompressArgs,
        /// The lengths of the dimensions; of a line each array has its own.
        lens: [u64; MAX_RANK],
        /// The sides of a tile, as powers of two; of a line they follow from its length.
        sides_log2: [u8; MAX_RANK],
        /// Where each block keeps what it knows of its tiles.
        scratch: *mut u8,
        /// What trials of tiles cost, those of each array.
        trials: *mut u8,
        /// Where the stages have the tiles of a wave.
        stages: *mut u8,
        /// The first of these, counted through all arrays.
        first: u64,
        /// For how many there is room.
        room: u64,
        /// How many they are.
        count: u32,
        /// The number of the wave.
        wave: u32,
        /// Whether whole tiles are coded by kernels of their own.
        staged: u32,
        /// Whether tiles are tried.
        trying: u32,
        /// Dimensions.
        rank: u32,
        /// 0.
        zero: u32,
    }

    /// Of the kernels that decompress.
    struct InterpDecompressArgs {
        /// What is said of every codec's streams. In its memory each block keeps the codes of its tiles: for each of
        /// them as many words as it has elements. Of a level each tile of a wave has a slot there.
        common: DecompressArgs,
        /// The tiles that are left to any blocks, zeroed as far as it counts.
        list: *mut u8,
        /// What is known of each tile.
        tiles: *mut u8,
        /// How many tiles both have room for; 0 where nothing is done but by any blocks.
        room: u64,
        /// Of a level the first tile of a wave,
        first_tile: u64,
        /// and the one behind its last, at most.
        end_tile: u64,
        /// Which tiles to restore: 0, or 1 where these take much room, or `IN_SLOT`.
        wide: u32,
        /// Of a level words of a tile's slot, for the codes of its nodes or all elements.
        words: u32,
    }
}

/// Bytes before the numbers of the tiles on a list.
pub const INTERP_LIST_BYTES: usize = 32;
/// What a block that compresses keeps of its tiles: so many times their words, and other things of so many bytes.
pub const INTERP_DESK_WORDS: usize = 11;
/// See there.
pub const INTERP_DESK_BYTES: usize = 320 << 10;
/// What the trials of an array cost, in bytes.
pub const INTERP_TRIALS_BYTES: usize = 128 + 16 * 152;
/// Parts of a trial of a whole tile: along axes, smooth and rough.
pub const INTERP_TRIAL_PARTS: usize = 3;
/// What the stages of compressing tell each other of a tile,
pub const INTERP_STAGE_TILE_BYTES: usize = 40;
/// and of lists of tiles.
pub const INTERP_LISTS_BYTES: usize = 32;
/// Weights of nodes of whole tiles.
pub const INTERP_WEIGHTS_BYTES: usize = 1536;
/// What a block shares that makes codes of 8 bits of a whole tile,
pub const INTERP_PREDICT_BYTES: usize = 42208;
/// or of 16 bits.
pub const INTERP_PREDICT_WIDE_BYTES: usize = 60640;
/// The most warps of a block that makes words of codes.
pub const ENTROPY_WARPS: usize = 32;
/// Bytes that it shares: symbols of all tables that are always there,
pub const ENTROPY_TABLE_BYTES: usize = 23888;
/// and for each warp what is known of its tile.
pub const ENTROPY_WARP_BYTES: usize = 6112;
/// Warps of a block that brings bodies to their places.
pub const PLACE_WARPS: usize = 16;
/// Tiles that it takes.
pub const PLACE_TILES: usize = 32;

/// The most warps of a block that decodes tiles.
pub const DECODE_WARPS: usize = 32;
/// Bytes that it shares: the tables of tokens,
pub const DECODE_TABLE_BYTES: usize = 13 << 12;
/// and for each warp the table of its tile and a ring of words.
pub const DECODE_WARP_BYTES: usize = (4 << 10) + 1280;
/// What is known of a tile, at most.
pub const TILE_BYTES: usize = 192;
/// What a block shares that makes elements of codes: four such have room on a multiprocessor;
pub const RESTORE_BYTES: usize = 53760;
/// and where rows are long.
pub const RESTORE_WIDE_BYTES: usize = 70656;

/// Tiles that are restored in their slots.
pub const IN_SLOT: u32 = 2;
/// What a block shares that restores nodes, at most: of a level of codes words, as many numbers, and errors.
pub const NODES_BYTES: usize = 9 * 8320;
/// Threads of a block of the kernel that decompresses any tiles.
pub const INTERP_THREADS: usize = 256;
/// Tiles that such a block takes at once, at most: the codes of each are decoded by a warp.
pub const INTERP_TOGETHER: usize = 8;
/// Bytes that it shares: the numbers of a tile, or the tables of tokens and rings of words.
pub const INTERP_NUMBER_BYTES: usize = 4 << 14;
/// And for each of these warps: the table of its tile, or errors of nodes.
pub const INTERP_WARP_BYTES: usize = 5 << 10;
/// Errors of nodes that there is room for.
pub const INTERP_ERRORS: usize = INTERP_TOGETHER * INTERP_WARP_BYTES / 4;

launch_structs! {
    /// Of the kernels of codec zfp.
    ZFP:

    /// Of the kernels that compress.
    struct ZfpCompressArgs {
        /// The arrays.
        batch: Batch,
        /// The lengths of the dimensions; of a line each array has its own.
        lens: [u64; MAX_RANK],
        /// The sides of a tile, as powers of two; of a line they follow from its length.
        sides_log2: [u8; MAX_RANK],
        /// What the header states as bound, rate or precision.
        stated: f64,
        /// Where the lanes of each warp stage elements, and behind them a body: `warps` times `room` bytes.
        scratch: *mut u8,
        /// Bytes of the place of both.
        room: u64,
        /// Those of the elements.
        staged_bytes: u64,
        /// How many there are; warps that have none do nothing.
        warps: u64,
        /// Dimensions.
        rank: u32,
        /// The element type's code.
        dtype: u32,
        /// The mode's.
        mode: u32,
        /// How blocks are cut off: the codec's word of the header.
        coding: u32,
        /// Whether elements are to be turned round.
        big_endian: u32,
        /// 0.
        zero: u32,
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
