//! The level that every processor has.

use super::{HIGHS, MaskBytes, Masks, Simd, SimdLevel, Transposed, portable};
use crate::codec::sleek::constants::{SUBCHUNKS, WARP_TILE};
use crate::simd::Scalar;
use crate::simd::word::Word;

/// Loops are functions of their own: the compiler makes much of each, and where the encoder and the decoder call them
/// they would be there many times.
impl SimdLevel for Scalar {
    #[inline(never)]
    fn transpose<const S: usize>(self, widths: &[[u8; S]; SUBCHUNKS], rows: &mut Transposed<S>) {
        portable::transpose(widths, rows);
    }

    #[inline(never)]
    fn wider<const S: usize>(self, rows: &Transposed<S>, limits: &[u8; SUBCHUNKS]) -> [u8; SUBCHUNKS] {
        portable::wider(rows, limits)
    }

    #[inline(never)]
    fn expand(self, of: u32, list: &[u8]) -> [u8; SUBCHUNKS] {
        portable::expand(of, list)
    }

    #[inline(never)]
    fn running_sums(self, numbers: &[u16; SUBCHUNKS], start: u16) -> [u16; SUBCHUNKS] {
        portable::running_sums(numbers, start)
    }

    #[inline(never)]
    fn flags(self, masks: &Masks) -> u32 {
        portable::flags(masks)
    }

    #[inline(never)]
    fn compress<const S: usize>(self, masks: &Masks, flags: u32, out: &mut MaskBytes) {
        portable::compress(masks, flags, out);
    }
}

impl<W: Word, const S: usize> Simd<W, S> for Scalar {
    #[inline(never)]
    fn pack(self, codes: &[W; S], n: u32, out: &mut [u8]) {
        portable::pack(codes, n, out);
    }

    #[inline(never)]
    fn unpack(self, packed: &[u8], n: u32, codes: &mut [W; S]) {
        portable::unpack(packed, n, codes);
    }

    #[inline(never)]
    fn unpack_bases(self, packed: &[u8], n: u32, bases: &mut [W; SUBCHUNKS]) {
        portable::unpack(packed, n, bases);
    }

    #[inline(never)]
    fn zigzag_delta_decode(self, start: W, second_difference: bool, codes: &mut [W; S]) {
        portable::zigzag_delta_decode(start, second_difference, codes);
    }

    #[inline(never)]
    fn try_zigzag_delta_decode(self, second_difference: bool, codes: &mut [W; S]) -> bool {
        portable::try_zigzag_delta_decode(second_difference, codes)
    }

    #[inline(never)]
    fn extremes(self, x: &[[W; S]; WARP_TILE]) -> ([W; WARP_TILE], [W; WARP_TILE]) {
        portable::extremes(x)
    }

    #[inline(never)]
    fn totals(self, x: &[[W; S]; WARP_TILE], least: &[W; WARP_TILE], tops: Option<&[W; WARP_TILE]>) -> [u32; 4] {
        portable::totals(x, least, tops)
    }

    #[inline(never)]
    fn width(self, codes: &[W; S]) -> u32 {
        portable::width(codes)
    }

    #[inline(never)]
    fn widths(self, codes: &[W; S], to: &mut [u8; S]) {
        portable::widths(codes, to);
    }

    #[inline(never)]
    fn extract_exceptions(self, codes: &[W; S], width: u32, highs: &mut [W; HIGHS]) -> Masks {
        portable::extract_exceptions(codes, width, highs)
    }

    #[inline(never)]
    fn pack_highs(self, highs: &[W; HIGHS], count: usize, n: u32, out: &mut [u8]) -> usize {
        portable::pack_highs(highs, count, n, out)
    }

    #[inline(never)]
    fn apply_exceptions(self, codes: &mut [W; S], width: u32, masks: &Masks, highs: &[u8], high_width: u32) {
        portable::apply_exceptions(codes, width, masks, highs, high_width);
    }
}
