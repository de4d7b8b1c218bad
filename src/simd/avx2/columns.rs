//! Words of eight rows as vectors of AVX2, and of AVX-512, which counts leading zeros: 256 bits are what eight rows
//! take. A sample is loaded with the three words before it; columns of these of four or eight rows become vectors.

use std::arch::x86_64::*;

use super::bits::{width16, width32, width64};
use super::lanes::{load, load_halves};
use crate::exec::{Avx2, Avx512};
use crate::simd::columns::{Columns, ROWS, SAMPLED};

/// The sums of the lanes of each, where upper halves of 64-bit lanes are zero or lanes have 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn sums([a, b, c, d]: [__m256i; 4]) -> [u32; 4] {
    let pairs = |a, b| _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let (ab, cd) = (pairs(a, b), pairs(c, d));
    let all = _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
    let all = _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all));
    let mut sums = [0; 4];
    // SAFETY: four sums are stored.
    unsafe { _mm_storeu_si128(sums.as_mut_ptr().cast(), all) };
    sums
}

#[inline]
#[target_feature(enable = "avx2")]
fn negative32(v: __m256i) -> __m256i {
    _mm256_srai_epi32::<31>(v)
}

#[inline]
#[target_feature(enable = "avx2")]
fn negative64(v: __m256i) -> __m256i {
    _mm256_cmpgt_epi64(_mm256_setzero_si256(), v)
}

#[inline]
#[target_feature(enable = "avx2")]
fn abs64(v: __m256i) -> __m256i {
    _mm256_sub_epi64(_mm256_xor_si256(v, negative64(v)), negative64(v))
}

#[inline]
#[target_feature(enable = "avx2")]
fn upper_width16(v: __m256i) -> __m256i {
    width16(_mm256_srli_epi32::<16>(v))
}

#[inline]
#[target_feature(enable = "avx512cd,avx512vl")]
fn upper_zeros16(v: __m256i) -> __m256i {
    zeros32(_mm256_srli_epi32::<16>(v))
}

#[inline]
#[target_feature(enable = "avx512cd,avx512vl")]
fn zeros32(v: __m256i) -> __m256i {
    _mm256_sub_epi32(_mm256_set1_epi32(32), _mm256_lzcnt_epi32(v))
}

#[inline]
#[target_feature(enable = "avx512cd,avx512vl")]
fn zeros64(v: __m256i) -> __m256i {
    _mm256_sub_epi64(_mm256_set1_epi64x(64), _mm256_lzcnt_epi64(v))
}

/// The four words that end with the sample of row `s`, of those from `at` on.
#[inline(always)]
fn four<W, const S: usize>(x: &[[W; S]; ROWS], s: usize, at: usize) -> *const W {
    const { assert!(SAMPLED == 4 * ROWS) };
    x[s][at + SAMPLED - 4 * (s + 1)..][..4].as_ptr()
}

#[inline]
#[target_feature(enable = "avx2")]
fn samples16<const S: usize>(x: &[[u16; S]; ROWS], _: usize, at: usize) -> [__m256i; 3] {
    // SAFETY: four words of each row.
    let two = |s: usize| unsafe {
        let low = _mm_castsi128_pd(_mm_loadl_epi64(four(x, s, at).cast()));
        _mm_castpd_si128(_mm_loadh_pd(low, four(x, s + 1, at).cast()))
    };
    let low = _mm256_castsi256_ps(_mm256_set_m128i(two(4), two(0)));
    let high = _mm256_castsi256_ps(_mm256_set_m128i(two(6), two(2)));
    let last = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
    let first = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
    let keep = _mm256_set1_epi32(!0xffff);
    [_mm256_and_si256(last, keep), _mm256_slli_epi32::<16>(last), _mm256_and_si256(first, keep)]
}

#[inline]
#[target_feature(enable = "avx2")]
fn samples32<const S: usize>(x: &[[u32; S]; ROWS], _: usize, at: usize) -> [__m256i; 3] {
    // SAFETY: four words of each row.
    let two = |s: usize| unsafe { load_halves(four(x, s, at), four(x, s + 4, at)) };
    let (a, b, c, d) = (two(0), two(1), two(2), two(3));
    let (high_ab, high_cd) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpackhi_epi64(high_ab, high_cd),
        _mm256_unpacklo_epi64(high_ab, high_cd),
        _mm256_unpackhi_epi64(_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d)),
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
fn samples64<const S: usize>(x: &[[u64; S]; ROWS], s: usize, at: usize) -> [__m256i; 3] {
    // SAFETY: four words of each row.
    let four = |i: usize| unsafe { load(four(x, s + i, at)) };
    let (a, b, c, d) = (four(0), four(1), four(2), four(3));
    let (even_ab, even_cd) = (_mm256_unpacklo_epi64(a, b), _mm256_unpacklo_epi64(c, d));
    let (odd_ab, odd_cd) = (_mm256_unpackhi_epi64(a, b), _mm256_unpackhi_epi64(c, d));
    [
        _mm256_permute2x128_si256::<0x31>(odd_ab, odd_cd),
        _mm256_permute2x128_si256::<0x31>(even_ab, even_cd),
        _mm256_permute2x128_si256::<0x20>(odd_ab, odd_cd),
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
fn each16(of: &[u16; ROWS], _: usize) -> __m256i {
    // SAFETY: eight words.
    _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(unsafe { _mm_loadu_si128(of.as_ptr().cast()) }))
}

#[inline]
#[target_feature(enable = "avx2")]
fn each32(of: &[u32; ROWS], _: usize) -> __m256i {
    // SAFETY: eight words.
    unsafe { load(of.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn each64(of: &[u64; ROWS], s: usize) -> __m256i {
    // SAFETY: four words.
    unsafe { load(of[s..][..4].as_ptr()) }
}

macro_rules! columns {
    ($level:ident, $w:ty, $rows:literal, $unused:literal, $each:ident, $samples:ident, $set1:ident, $add:ident,
     $sub:ident, $sll:ident, $srl:ident, $negative:ident, $equal:ident, $abs:ident, $width:ident) => {
        impl Columns<$w> for $level {
            type V = __m256i;
            const N: usize = $rows;

            instructions! {
                fn each(of: &[$w; ROWS], s: usize) -> __m256i { $each(of, s) }
                fn add(a: __m256i, b: __m256i) -> __m256i { $add(a, b) }
                fn sub(a: __m256i, b: __m256i) -> __m256i { $sub(a, b) }
                fn magnitude(v: __m256i) -> __m256i { $abs(v) }
                fn half_code(word: __m256i, top: __m256i) -> __m256i {{
                    let doubled = $sll::<1>(word);
                    // The bit that is below the word does not matter.
                    let sign = _mm256_and_si256($negative(word), $set1(1 << $unused));
                    let code = $abs($sub(top, _mm256_or_si256(doubled, sign)));
                    _mm256_andnot_si256($equal(doubled, _mm256_setzero_si256()), $srl::<1>(code))
                }}
                fn width(v: __m256i) -> __m256i { $width(v) }
                fn sums(of: [__m256i; 4]) -> [u32; 4] { sums(of) }
            }

            #[inline(always)]
            fn samples<const S: usize>(self, x: &[[$w; S]; ROWS], s: usize, at: usize) -> [__m256i; 3] {
                // SAFETY: the processor has the level, as the token says.
                unsafe { $samples(x, s, at) }
            }
        }
    };
    ($w:ty, $rows:literal, $unused:literal, $avx2:tt, $avx512:tt, $shared:tt) => {
        columns!(@ Avx2, $w, $rows, $unused, $shared, $avx2);
        columns!(@ Avx512, $w, $rows, $unused, $shared, $avx512);
    };
    (@ $level:ident, $w:ty, $rows:literal, $unused:literal, ($($shared:ident),*), ($($own:ident),*)) => {
        columns!($level, $w, $rows, $unused, $($shared),*, $($own),*);
    };
}

columns!(
    u16,
    8,
    16,
    (_mm256_abs_epi32, upper_width16),
    (_mm256_abs_epi32, upper_zeros16),
    (
        each16,
        samples16,
        _mm256_set1_epi32,
        _mm256_add_epi32,
        _mm256_sub_epi32,
        _mm256_slli_epi32,
        _mm256_srli_epi32,
        negative32,
        _mm256_cmpeq_epi32
    )
);
columns!(
    u32,
    8,
    0,
    (_mm256_abs_epi32, width32),
    (_mm256_abs_epi32, zeros32),
    (
        each32,
        samples32,
        _mm256_set1_epi32,
        _mm256_add_epi32,
        _mm256_sub_epi32,
        _mm256_slli_epi32,
        _mm256_srli_epi32,
        negative32,
        _mm256_cmpeq_epi32
    )
);
columns!(
    u64,
    4,
    0,
    (abs64, width64),
    (_mm256_abs_epi64, zeros64),
    (
        each64,
        samples64,
        _mm256_set1_epi64x,
        _mm256_add_epi64,
        _mm256_sub_epi64,
        _mm256_slli_epi64,
        _mm256_srli_epi64,
        negative64,
        _mm256_cmpeq_epi64
    )
);
