//! The loops that compilers do not vectorise by themselves, once for each SIMD level.
//!
//! Bit packing is LSB first, values side by side (the paper's horizontal layout, SLEEK §III).

#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod scalar;

use super::word::Word;

/// Bytes that `Simd::unpack` may read behind the packed ones.
pub const READ_SLACK: usize = 64;
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
    /// How many codes are at least `limit`, and the others ORed together.
    fn above(codes: &[W; S], limit: W) -> (u32, W);
    /// Calls `f` with the position of each code that is at least `limit`, in order.
    fn each_above(codes: &[W; S], limit: W, f: impl FnMut(usize));
}
