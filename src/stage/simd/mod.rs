//! The loops that compilers do not vectorise by themselves, once for each SIMD level.
//!
//! Bit packing is LSB first, values side by side (the paper's horizontal layout, SLEEK §III).

#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod scalar;

use super::word::Word;
use crate::format::constants::MAX_EXCEPTIONS;

/// Bytes that `Simd::unpack` and `Simd::merge` may read behind what they are given: `merge` up to 32 high parts of 64 bits.
pub const READ_SLACK: usize = 64 + 8 * MAX_EXCEPTIONS;
/// Bytes that `Simd::pack` may write behind the packed ones.
pub const WRITE_SLACK: usize = 64;

/// The loops for subchunks of S words at one level. All levels give the same results.
pub trait Simd<W: Word, const S: usize> {
    /// Packs S values below 2^n, 1 ≤ n ≤ BITS, into the first S·n/8 bytes of `out`.
    fn pack(codes: &[W; S], n: u32, out: &mut [u8]);
    /// The S values of n bits, 1 ≤ n ≤ BITS, packed in the first S·n/8 bytes of `packed`.
    fn unpack(packed: &[u8], n: u32, codes: &mut [W; S]);
    /// Replaces every value by the sum of `start` and the values up to it.
    fn running_sum(start: W, values: &mut [W; S]);
    /// The width of every code, and the greatest.
    fn widths(codes: &[W; S]) -> ([u8; S], u32);
    /// How many widths exceed `width`.
    fn wider(widths: &[u8; S], width: u32) -> usize;
    /// Moves what exceeds `width` bits out of the codes whose `widths` do, at most `MAX_EXCEPTIONS`; returns how many.
    fn split(codes: &mut [W; S], widths: &[u8; S], width: u32, exceptions: &mut Exceptions<W>) -> usize;
    /// Adds the high parts to the codes at the positions (ascending, below S), above their low `width` bits.
    fn merge(codes: &mut [W; S], width: u32, positions: &[u8], highs: &[u8], high_width: u32);
}

/// Positions and high parts of a subchunk's exceptions, with room for whole vectors to be stored behind the last one.
pub struct Exceptions<W> {
    /// Positions in the subchunk, ascending.
    pub positions: [u8; MAX_EXCEPTIONS + 64],
    /// What exceeds the width.
    pub highs: [W; MAX_EXCEPTIONS + 16],
}

impl<W: Word> Exceptions<W> {
    /// Room for a subchunk's.
    pub fn new() -> Self {
        Exceptions { positions: [0; MAX_EXCEPTIONS + 64], highs: [W::ZERO; MAX_EXCEPTIONS + 16] }
    }
}
