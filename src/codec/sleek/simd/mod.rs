//! The loops that compilers do not vectorise by themselves, once for each SIMD level.
//!
//! Bit packing is LSB first, values side by side (the paper's horizontal layout, SLEEK §III).

/// Methods of [`Simd`] for subchunks of `$s` words `$w`, each by a function that takes the level's token first.
#[cfg(target_arch = "x86_64")]
macro_rules! by_functions {
    ($w:ty, $s:expr; $($method:tt = $function:path;)+) => {
        $(by_functions!(@ $method, $w, $s, $function);)+
    };
    (@ extremes, $w:ty, $s:expr, $function:path) => {
        #[inline(always)]
        fn extremes(self, x: &[[$w; $s]; WARP_TILE]) -> ([$w; WARP_TILE], [$w; WARP_TILE]) {
            $function(self, x)
        }
    };
    (@ totals, $w:ty, $s:expr, $function:path) => {
        #[inline(always)]
        fn totals(
            self,
            x: &[[$w; $s]; WARP_TILE],
            least: &[$w; WARP_TILE],
            tops: Option<&[$w; WARP_TILE]>,
        ) -> [u32; 4] {
            $function(self, x, least, tops)
        }
    };
    (@ pack, $w:ty, $s:expr, $function:path) => {
        #[inline(always)]
        fn pack(self, codes: &[$w; $s], n: u32, out: &mut [u8]) {
            $function(self, codes, n, out)
        }
    };
    (@ unpack, $w:ty, $s:expr, $function:path) => {
        #[inline(always)]
        fn unpack(self, packed: &[u8], n: u32, codes: &mut [$w; $s]) {
            $function(self, packed, n, codes)
        }
    };
    (@ try_zigzag_delta_decode, $w:ty, $s:expr, $function:path) => {
        #[inline(always)]
        fn try_zigzag_delta_decode(self, second_difference: bool, codes: &mut [$w; $s]) -> bool {
            $function(self, second_difference, codes)
        }
    };
    (@ width, $w:ty, $s:expr, $function:path) => {
        #[inline(always)]
        fn width(self, codes: &[$w; $s]) -> u32 {
            $function(self, codes)
        }
    };
    (@ widths, $w:ty, $s:expr, $function:path) => {
        #[inline(always)]
        fn widths(self, codes: &[$w; $s], widths: &mut [u8; $s]) {
            $function(self, codes, widths)
        }
    };
    (@ extract_exceptions, $w:ty, $s:expr, $function:path) => {
        #[inline(always)]
        fn extract_exceptions(self, codes: &[$w; $s], width: u32, highs: &mut [$w; HIGHS]) -> Masks {
            $function(self, codes, width, highs)
        }
    };
    (@ pack_highs, $w:ty, $s:expr, $function:path) => {
        #[inline(always)]
        fn pack_highs(self, highs: &[$w; HIGHS], count: usize, n: u32, out: &mut [u8]) -> usize {
            $function(self, &highs[..MAX_EXCEPTIONS], n, out);
            (count * n as usize).div_ceil(8)
        }
    };
    (@ apply_exceptions, $w:ty, $s:expr, $function:path) => {
        #[inline(always)]
        fn apply_exceptions(self, codes: &mut [$w; $s], width: u32, masks: &Masks, highs: &[u8], high_width: u32) {
            $function(self, codes, width, masks, highs, high_width)
        }
    };
}

// Vectors of packed bits begin at any byte: a subchunk asks for its room once, not for that of each vector.
#[allow(unsafe_code)]
#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[allow(unsafe_code)]
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[allow(unsafe_code)]
#[cfg(target_arch = "aarch64")]
pub mod neon;
pub mod portable;
mod scalar;
mod shapes;
#[cfg(test)]
mod tests;

use crate::codec::sleek::constants::{SUBCHUNK_BYTES, SUBCHUNKS, WARP_TILE};
use crate::simd::Arithmetic;
use crate::simd::stream::{self, Line, bytes};
use crate::simd::word::Word;
pub use shapes::{
    HIGHS, HIGHS_SLACK, MASK_BYTES, MaskBytes, Masks, READ_SLACK, Staged, Transposed, count_of, subchunk_of,
};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use shapes::{listed, room};

/// The loops of one level that are the same for words of every width. All levels give the same results; what a level
/// does not have it takes from the portable code. A value of the level is the right to its instructions: it takes no
/// space, and without one no method can be called.
pub trait SimdLevel: Arithmetic + Copy {
    /// Whether words of 16 bits are faster than wider ones, so that it pays to try whether values fit them.
    const PREFERS_SMALL: bool = false;
    /// Whether `stream` puts lines together that subchunks share; if not, it takes subchunks as well as chunks.
    const JOINS_LINES: bool = false;
    /// Whether codes of 8 bits are decoded faster than those of 16.
    const PREFERS_BYTES: bool = false;

    /// The first S / `SAMPLE` numbers of each subchunk side by side, in whatever order.
    #[inline(always)]
    fn transpose<const S: usize>(self, widths: &[[u8; S]; SUBCHUNKS], rows: &mut Transposed<S>) {
        portable::transpose(widths, rows);
    }

    /// For each subchunk how many of the first S / `SAMPLE` numbers exceed its limit; all are below 128.
    #[inline(always)]
    fn wider<const S: usize>(self, rows: &Transposed<S>, limits: &[u8; SUBCHUNKS]) -> [u8; SUBCHUNKS] {
        portable::wider(rows, limits)
    }

    /// Undoes zigzag and differences of codes of 8 bits: for each the sum of `start` and what the codes up to it stand
    /// for; `second_difference`, of these sums (from 0 on) once more.
    #[inline(always)]
    fn zigzag_delta_decode_bytes<const S: usize>(
        self,
        start: u32,
        second_difference: bool,
        codes: &[u8; S],
        sums: &mut [u32; S],
    ) {
        portable::zigzag_delta_decode_bytes(start, second_difference, codes, sums);
    }

    /// The numbers of the subchunks `of`, one behind the other at the start of `list`, each in its subchunk's place; 0
    /// in the others.
    #[inline(always)]
    fn expand(self, of: u32, list: &[u8]) -> [u8; SUBCHUNKS] {
        portable::expand(of, list)
    }

    /// The masks of S values: the mask bytes that have `flags` are the first of `list`, behind which `READ_SLACK` bytes
    /// are readable, but for the portable level.
    #[inline(always)]
    fn masks<const S: usize>(self, flags: u32, list: &[u8]) -> Masks {
        let bytes = self.expand(flags, list);
        let mut masks: Masks = [0; _];
        masks.iter_mut().zip(bytes.as_chunks().0).for_each(|(mask, bytes)| *mask = u64::from_le_bytes(*bytes));
        masks
    }

    /// For each number the sum of `start` and those before it; no sum takes more than 16 bits.
    #[inline(always)]
    fn running_sums(self, numbers: &[u16; SUBCHUNKS], start: u16) -> [u16; SUBCHUNKS] {
        portable::running_sums(numbers, start)
    }

    /// Bit j says whether mask byte j is other than 0.
    #[inline(always)]
    fn flags(self, masks: &Masks) -> u32 {
        portable::flags(masks)
    }

    /// Puts the mask bytes of S values that have `flags` at the start of `out`, one behind the other, and anything
    /// behind them.
    #[inline(always)]
    fn compress<const S: usize>(self, masks: &Masks, flags: u32, out: &mut MaskBytes) {
        portable::compress(masks, flags, out);
    }

    /// Copies a subchunk from `staged` to its place `at` in `chunk`, as `simd::stream` does; to be called for all
    /// subchunks in their order. `last` is of use from one to the next.
    #[inline(always)]
    fn stream(self, staged: &Staged, chunk: &mut [u8], at: usize, _last: &mut Line) {
        stream::copy(bytes(staged), &mut chunk[at..at + SUBCHUNK_BYTES]);
    }

    /// Has the processor fetch the lines of a subchunk that will be written at `at`, whatever is there.
    #[inline(always)]
    fn prefetchw(self, _at: *const u8) {}
}

/// The loops of one level for subchunks of S words.
pub trait Simd<W: Word, const S: usize>: SimdLevel {
    /// Packs the low n bits, 1 ≤ n ≤ BITS, of S values into the first S·n/8 bytes of `out`.
    #[inline(always)]
    fn pack(self, codes: &[W; S], n: u32, out: &mut [u8]) {
        portable::pack(codes, n, out);
    }

    /// The S values of n bits, 1 ≤ n ≤ BITS, packed in the first S·n/8 bytes of `packed`.
    #[inline(always)]
    fn unpack(self, packed: &[u8], n: u32, codes: &mut [W; S]) {
        portable::unpack(packed, n, codes);
    }

    /// The values of n bits, 1 ≤ n ≤ BITS, packed in the first 4·n bytes of `packed`, behind which `READ_SLACK` are
    /// readable.
    #[inline(always)]
    fn unpack_bases(self, packed: &[u8], n: u32, bases: &mut [W; SUBCHUNKS]) {
        portable::unpack(packed, n, bases);
    }

    /// Undoes zigzag and differences: replaces every code by the sum of `start` and what the codes up to it stand for;
    /// `second_difference`, of these sums (from 0 on) once more.
    #[inline(always)]
    fn zigzag_delta_decode(self, start: W, second_difference: bool, codes: &mut [W; S]) {
        portable::zigzag_delta_decode(start, second_difference, codes);
    }

    /// The same from 0 on, of sums that take two bits less than a word; `false` if one might take more, and then the
    /// codes are used up for nothing.
    #[inline(always)]
    fn try_zigzag_delta_decode(self, second_difference: bool, codes: &mut [W; S]) -> bool {
        portable::try_zigzag_delta_decode(second_difference, codes)
    }

    /// The least and the largest value of each subchunk of a warp tile, as signed numbers.
    #[inline(always)]
    fn extremes(self, x: &[[W; S]; WARP_TILE]) -> ([W; WARP_TILE], [W; WARP_TILE]) {
        portable::extremes(x)
    }

    /// Totals of the widths that the sampled values of a warp tile have as distances: to the `least` of their subchunk;
    /// in magnitude to its first; to the value before; as second difference, or, with `tops`, of half their code in a
    /// countdown from that of their subchunk. One of each `MODE_SAMPLE` values is sampled: of subchunk 0 the last, of
    /// each further one the fourth before that.
    #[inline(always)]
    fn totals(self, x: &[[W; S]; WARP_TILE], least: &[W; WARP_TILE], tops: Option<&[W; WARP_TILE]>) -> [u32; 4] {
        portable::totals(x, least, tops)
    }

    /// The width of the largest code.
    #[inline(always)]
    fn width(self, codes: &[W; S]) -> u32 {
        portable::width(codes)
    }

    /// The widths of the sampled codes, in whatever order in the first S / `SAMPLE` places.
    #[inline(always)]
    fn widths(self, codes: &[W; S], widths: &mut [u8; S]) {
        portable::widths(codes, widths);
    }

    /// Finds the codes that have more than `width` bits: returns which these are, and leaves what they hold above the
    /// low `width` bits, if they are not more than `MAX_EXCEPTIONS`.
    #[inline(always)]
    fn extract_exceptions(self, codes: &[W; S], width: u32, highs: &mut [W; HIGHS]) -> Masks {
        portable::extract_exceptions(codes, width, highs)
    }

    /// Packs `count` ≤ `MAX_EXCEPTIONS` high parts of `n` bits, as `extract_exceptions` left them, at the start of
    /// `out`, which has `HIGHS_SLACK` bytes to spare; returns their bytes.
    #[inline(always)]
    fn pack_highs(self, highs: &[W; HIGHS], count: usize, n: u32, out: &mut [u8]) -> usize {
        portable::pack_highs(highs, count, n, out)
    }

    /// Adds the high parts to the codes that `masks` tell, above their low `width` bits.
    #[inline(always)]
    fn apply_exceptions(self, codes: &mut [W; S], width: u32, masks: &Masks, highs: &[u8], high_width: u32) {
        portable::apply_exceptions(codes, width, masks, highs, high_width);
    }
}
