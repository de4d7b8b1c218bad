//! Every number of SLEEK's chunks. The CUDA sources take theirs from here (`kernels/common/constants.h` is generated).

use crate::container::constants::{ALIGN, CHUNK_BYTES};

/// Bytes of data in a subchunk.
pub const SUBCHUNK_BYTES: usize = 512;
/// Subchunks of a chunk.
pub const SUBCHUNKS: usize = CHUNK_BYTES / SUBCHUNK_BYTES;
/// Bytes of a packed chunk's header.
pub const CHUNK_HEADER_BYTES: usize = 16;
/// The id in the stream header.
pub const CODEC_SLEEK: u8 = 1;
/// Values of a mask byte, which says which of them are exceptions.
pub const MASK_BYTE_VALUES: usize = 8;
/// Most exceptions that our encoder gives a subchunk (a decoder takes them all for it).
pub const MAX_EXCEPTIONS: usize = 32;
/// Subchunks that our encoder gives one mode, unless offsets alone are as short: a quarter of a chunk, which is a
/// warp's work on a GPU.
pub const WARP_TILE: usize = SUBCHUNKS / 4;
/// Where the choice of a mode looks at some values only, one of each so many (no decoder needs this).
pub const MODE_SAMPLE: usize = 32;
/// Where the choice of a width does, the last of each so many.
pub const SAMPLE: usize = 4;
/// By how much the total of a countdown may exceed another mode's that it replaces.
pub const NEAR_TOTALS: u32 = 48;
/// Missing values, at most, that an encoder of their own on GPUs takes.
pub const FEW_MISSING: usize = 2;
/// Bits of an index entry that the size of a body of SLEEK can have; the kernels use the ones above for themselves.
pub const ENTRY_UNITS_MASK: u16 = 0x07ff;

const _: () = assert!(CHUNK_BYTES / ALIGN <= ENTRY_UNITS_MASK as usize);
