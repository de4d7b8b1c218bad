//! What AVX2 and AVX-512 have of their own for codec sleek.

use std::arch::x86_64::*;

use super::{Masks, Simd, SimdLevel, Staged, Transposed};
use crate::codec::sleek::constants::{SAMPLE, SUBCHUNKS, WARP_TILE};
use crate::exec::{Avx2, Avx512};
use crate::simd::avx2::lanes::{load, store};
use crate::simd::avx2::stream::{self, prefetchw};
use crate::simd::avx512::{self, byte_sums, extremes};
use crate::simd::bits::{LISTED, PLACES};
use crate::simd::stream::Line;
use crate::simd::{Scalar, words};

/// The bytes of eight that a row of a table tells.
#[inline(always)]
fn shuffled(_: Avx2, bytes: u64, row: u64) -> u64 {
    // pdep and pext, made for this, are microcode on AMD's Zen 1 and 2, of up to 19 cycles and more.
    // SAFETY: the processor has the level, as the token says.
    unsafe {
        _mm_cvtsi128_si64(_mm_shuffle_epi8(_mm_cvtsi64_si128(bytes as i64), _mm_cvtsi64_si128(row as i64))) as u64
    }
}

/// A row of pairs of lines that are half of the block apart. Four times that, and every line is where it belongs.
#[inline]
#[target_feature(enable = "avx2")]
fn interleaved(from: [__m256i; 16]) -> [__m256i; 16] {
    let mut to = from;
    for i in 0..8 {
        to[2 * i] = _mm256_unpacklo_epi8(from[i], from[i + 8]);
        to[2 * i + 1] = _mm256_unpackhi_epi8(from[i], from[i + 8]);
    }
    to
}

/// See `SimdLevel::wider`. By hand: of the portable loop compilers make vectors across its rows.
#[inline(always)]
fn wider<const S: usize>(_: Avx2, rows: &Transposed<S>, limits: &[u8; SUBCHUNKS]) -> [u8; SUBCHUNKS] {
    const { assert!(SUBCHUNKS == 32) };
    let mut counts = [0; SUBCHUNKS];
    // SAFETY: the processor has the level, as the token says; 32 bytes each are read and stored.
    unsafe {
        let limits = load(limits.as_ptr());
        let mut all = _mm256_setzero_si256();
        for row in &rows[..S / SAMPLE] {
            // What exceeds its limit is −1.
            all = _mm256_sub_epi8(all, _mm256_cmpgt_epi8(load(row.as_ptr()), limits));
        }
        store(counts.as_mut_ptr(), all);
    }
    counts
}

/// See `SimdLevel::transpose`: blocks of 16 × 16 numbers, of subchunks 0 … 15 in the low halves of vectors, of the
/// others in the high ones.
#[inline(always)]
fn transpose<const S: usize>(_: Avx2, widths: &[[u8; S]; SUBCHUNKS], rows: &mut Transposed<S>) {
    const { assert!(SUBCHUNKS == 32 && (S / SAMPLE).is_multiple_of(16)) };
    for block in (0..S / SAMPLE).step_by(16) {
        // SAFETY: the processor has the level, as the token says; 16 of a subchunk's S numbers are read at a time, and
        // a row of 32 is stored.
        unsafe {
            let mut lines = [_mm256_setzero_si256(); 16];
            for (i, line) in lines.iter_mut().enumerate() {
                let half = |s: usize| _mm_loadu_si128(widths[s].as_ptr().add(block).cast());
                *line = _mm256_set_m128i(half(i + 16), half(i));
            }
            let lines = interleaved(interleaved(interleaved(interleaved(lines))));
            for (row, line) in rows[block..].iter_mut().zip(lines) {
                store(row.as_mut_ptr(), line);
            }
        }
    }
}

macro_rules! of_avx2 {
    (|$p:ident| $avx2:expr) => {
        const PREFERS_SMALL: bool = true;
        const JOINS_LINES: bool = true;

        #[inline(always)]
        fn listed(self, bytes: u64, set: u8) -> u64 {
            let $p = self;
            shuffled($avx2, bytes, LISTED[set as usize])
        }

        #[inline(always)]
        fn placed(self, list: u64, set: u8) -> u64 {
            let $p = self;
            shuffled($avx2, list, PLACES[set as usize])
        }

        #[inline(always)]
        fn transpose<const S: usize>(self, widths: &[[u8; S]; SUBCHUNKS], rows: &mut Transposed<S>) {
            let $p = self;
            transpose($avx2, widths, rows);
        }

        #[inline(always)]
        fn wider<const S: usize>(self, rows: &Transposed<S>, limits: &[u8; SUBCHUNKS]) -> [u8; SUBCHUNKS] {
            let $p = self;
            wider($avx2, rows, limits)
        }

        #[inline(always)]
        fn prefetchw(self, at: *const u8) {
            let $p = self;
            prefetchw::<{ size_of::<Staged>() }>($avx2, at);
        }
    };
}

impl SimdLevel for Avx2 {
    of_avx2!(|p| p);

    #[inline(always)]
    fn stream(self, staged: &Staged, chunk: &mut [u8], at: usize, last: &mut Line) {
        stream::stream_lines(self, staged, chunk, at, last);
    }
}

impl SimdLevel for Avx512 {
    const PREFERS_BYTES: bool = true;
    of_avx2!(|p| p.avx2());

    #[inline(always)]
    fn stream(self, staged: &Staged, chunk: &mut [u8], at: usize, last: &mut Line) {
        avx512::stream::stream_lines(self, staged, chunk, at, last);
    }

    #[inline(always)]
    fn expand(self, of: u32, list: &[u8]) -> [u8; SUBCHUNKS] {
        const { assert!(SUBCHUNKS == 32) };
        let count = of.count_ones();
        assert!(list.len() >= count as usize);
        let mut all = [0; SUBCHUNKS];
        // SAFETY: the processor has the level, as the token says; the masked load touches what is asserted, and as many
        // bytes as `all` has are stored.
        unsafe {
            let list = _mm256_maskz_loadu_epi8(_bzhi_u32(u32::MAX, count), list.as_ptr().cast());
            _mm256_storeu_si256(all.as_mut_ptr().cast(), _mm256_maskz_expand_epi8(of, list));
        }
        all
    }

    #[inline(always)]
    fn masks<const S: usize>(self, flags: u32, list: &[u8]) -> Masks {
        let bytes = self.expand(flags, list);
        std::array::from_fn(|k| u64::from_le_bytes(bytes.as_chunks().0[k]))
    }

    #[inline(always)]
    fn zigzag_delta_decode_bytes<const S: usize>(
        self,
        start: u32,
        second_difference: bool,
        codes: &[u8; S],
        sums: &mut [u32; S],
    ) {
        match S {
            64 => byte_sums::undo_differences::<1>(self, start, second_difference, codes, sums),
            128 => byte_sums::undo_differences::<2>(self, start, second_difference, codes, sums),
            _ => {
                sums.iter_mut().zip(codes).for_each(|(sum, c)| *sum = u32::from(*c));
                words::undo_differences::<u32, _, false>(self, start, second_difference, sums);
            }
        }
    }
}

impl<const S: usize> Simd<u8, S> for Avx2 {
    type Words = Scalar;
    type Bits = Scalar;
    type Columns = Scalar;
}

impl<const S: usize> Simd<u8, S> for Avx512 {
    type Words = Scalar;
    type Bits = Avx512;
    type Columns = Scalar;
}

macro_rules! simd {
    ($($w:ty, $extremes:ident);*) => {$(
        impl<const S: usize> Simd<$w, S> for Avx2 {
            type Words = Avx2;
            type Bits = Avx2;
            type Columns = Avx2;
        }

        impl<const S: usize> Simd<$w, S> for Avx512 {
            type Words = Avx512;
            type Bits = Avx512;
            type Columns = Avx512;

            #[inline(always)]
            fn extremes(self, x: &[[$w; S]; WARP_TILE]) -> ([$w; WARP_TILE], [$w; WARP_TILE]) {
                extremes::$extremes(self, x)
            }
        }
    )*};
}

simd!(u16, extremes16; u32, extremes32; u64, extremes64);
