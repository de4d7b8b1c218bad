//! The loops that compilers do not vectorise by themselves, once for each SIMD level.
//!
//! Bit packing is LSB first, values side by side (the paper's horizontal layout, SLEEK §III).

#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod scalar;

use super::word::Word;

/// Bytes that `Simd::unpack` and `Simd::merge` may read behind what they are given: `merge` two vectors of high parts, as wide as lanes.
pub const READ_SLACK: usize = 64 + 2 * 64;
/// Bytes that `Simd::positions` may write behind the last position.
pub const POSITIONS_SLACK: usize = 2 * 64;
/// Bytes that `Simd::pack` may write behind the packed ones.
pub const WRITE_SLACK: usize = 64;

/// The loops for subchunks of S words at one level. All levels give the same results.
pub trait Simd<W: Word, const S: usize> {
    /// Packs the low n bits, 1 ≤ n ≤ BITS, of S values into the first S·n/8 bytes of `out`.
    fn pack(codes: &[W; S], n: u32, out: &mut [u8]);
    /// The S values of n bits, 1 ≤ n ≤ BITS, packed in the first S·n/8 bytes of `packed`.
    fn unpack(packed: &[u8], n: u32, codes: &mut [W; S]);
    /// Replaces every value by the sum of `start` and the values up to it.
    fn running_sum(start: W, values: &mut [W; S]);
    /// The width of every code, and the greatest.
    fn widths(codes: &[W; S]) -> ([u8; S], u32);
    /// How many widths exceed `width`.
    fn wider(widths: &[u8; S], width: u32) -> usize;
    /// Lists at the start of `out`, which has `POSITIONS_SLACK` bytes to spare, the positions of the widths that exceed `width`,
    /// at most the format's `MAX_EXCEPTIONS`; returns how many.
    fn positions(widths: &[u8; S], width: u32, out: &mut [u8]) -> usize;
    /// Whether each of the positions, at least one, is greater than the one before it.
    fn ascend(positions: &[u8]) -> bool;
    /// Adds the high parts to the codes at the positions (ascending, below S), above their low `width` bits.
    fn merge(codes: &mut [W; S], width: u32, positions: &[u8], highs: &[u8], high_width: u32);
}
