//! Bit packing: values of n bits side by side, LSB first (the paper's horizontal layout, SLEEK §III).

pub mod scalar;

use super::word::Word;

/// Bytes that `Packer::unpack` may read behind the packed ones.
pub const READ_SLACK: usize = 64;
/// Bytes that `Packer::pack` may write behind the packed ones.
pub const WRITE_SLACK: usize = 64;

/// An implementation of packing for a SIMD level. All give the same bytes.
pub trait Packer<W: Word, const S: usize> {
    /// Packs S values below 2^n, 1 ≤ n ≤ BITS, into the first S·n/8 bytes of `out`.
    fn pack(codes: &[W; S], n: u32, out: &mut [u8]);
    /// The S values of n bits, 1 ≤ n ≤ BITS, packed in the first S·n/8 bytes of `packed`.
    fn unpack(packed: &[u8], n: u32, codes: &mut [W; S]);
}
