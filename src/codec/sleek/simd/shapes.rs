//! What the loops take and give: masks, lists of exceptions, transposed rows, and how far they may touch memory.

use crate::codec::sleek::constants::{MASK_BYTE_VALUES, MAX_EXCEPTIONS, SUBCHUNK_BYTES, SUBCHUNKS};
use crate::simd::stream::{self, Line};

/// Bytes that `Simd::unpack` and `Simd::apply_exceptions` may read behind what they are given: `apply_exceptions` two
/// vectors of high parts, as wide as lanes.
pub const READ_SLACK: usize = 64 + 2 * 64;
/// The most mask bytes of a subchunk: those of words of 16 bits.
pub const MASK_BYTES: usize = SUBCHUNK_BYTES / 2 / MASK_BYTE_VALUES;
/// Mask bytes, and what may be written behind them.
pub type MaskBytes = [u8; MASK_BYTES + 8];
/// For each value of a subchunk a bit, which says whether it is an exception; 0 behind the last one.
pub type Masks = [u64; MASK_BYTES * MASK_BYTE_VALUES / 64];
/// Room for a list of high parts, and what is written behind it.
pub const HIGHS: usize = MAX_EXCEPTIONS + 32;
/// Bytes that `Simd::pack_highs` may write behind the last one that counts: all exceptions, a vector behind the last of
/// them.
pub const HIGHS_SLACK: usize = MAX_EXCEPTIONS * 8 + 64;
/// How many exceptions there are among S values.
#[inline(always)]
pub fn count_of<const S: usize>(masks: &Masks) -> usize {
    masks[..S / 64].iter().map(|m| m.count_ones() as usize).sum()
}

/// In each row a byte for each subchunk of a chunk.
pub type Transposed<const S: usize> = [[u8; SUBCHUNKS]; S];

/// A subchunk on its way to its place.
pub type Staged = [Line; SUBCHUNK_BYTES / 64];

/// The bytes of a subchunk on its way.
#[inline(always)]
pub fn subchunk_of(staged: &mut Staged) -> &mut [u8; SUBCHUNK_BYTES] {
    stream::bytes_of(staged).first_chunk_mut().expect("as many bytes")
}
