//! Elements with gaps as vectors of AVX2: the lanes that eight lanes take are an entry of a table.

use std::arch::x86_64::*;

use crate::exec::Avx2;
use crate::simd::elements::ElementVectors;

/// No lane: twice it, as a byte, is as negative.
const NONE: u8 = 0xc0;

/// For every set of 8 lanes, which of them is the last one up to each lane.
static LAST: [[u8; 8]; 256] = {
    let mut last = [[NONE; 8]; 256];
    let mut i = 0;
    while i < 8 * 256 {
        let (set, lane) = (i / 8, i % 8);
        if set >> lane & 1 == 1 {
            last[set][lane] = lane as u8;
        } else if lane > 0 {
            last[set][lane] = last[set][lane - 1];
        }
        i += 1;
    }
    last
};

/// The last lanes that are there for the low 8 bits of `gaps`.
#[inline]
#[target_feature(enable = "avx2")]
fn last(gaps: u64) -> __m128i {
    _mm_cvtsi64_si128(i64::from_le_bytes(LAST[(!gaps & 0xff) as usize]))
}

/// Lanes of 16 bits: each is two bytes of a half, and what no lane of the upper half is before comes from the lower.
#[inline]
#[target_feature(enable = "avx2")]
fn fill16(v: __m256i, gaps: u64, before: __m256i) -> __m256i {
    let half = |v, gaps, before| {
        let low = _mm_add_epi8(last(gaps), last(gaps));
        let bytes = _mm_unpacklo_epi8(low, _mm_or_si128(low, _mm_set1_epi8(1)));
        let last_of_before = _mm_shuffle_epi8(before, _mm_set1_epi16(0x0f0e));
        _mm_blendv_epi8(_mm_shuffle_epi8(v, bytes), last_of_before, bytes)
    };
    let low = half(_mm256_castsi256_si128(v), gaps, _mm256_extracti128_si256::<1>(before));
    let high = half(_mm256_extracti128_si256::<1>(v), gaps >> 8, low);
    _mm256_set_m128i(high, low)
}

#[inline]
#[target_feature(enable = "avx2")]
fn fill32(v: __m256i, gaps: u64, before: __m256i) -> __m256i {
    let lanes = _mm256_cvtepi8_epi32(last(gaps));
    let filled = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(v, lanes));
    let before = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(before, _mm256_set1_epi32(7)));
    _mm256_castps_si256(_mm256_blendv_ps(filled, before, _mm256_castsi256_ps(lanes)))
}

/// Lanes of 64 bits: each is two of 32.
#[inline]
#[target_feature(enable = "avx2")]
fn fill64(v: __m256i, gaps: u64, before: __m256i) -> __m256i {
    let lanes = _mm256_cvtepi8_epi64(last(gaps));
    let low = _mm256_add_epi64(lanes, lanes);
    let high = _mm256_slli_epi64::<32>(_mm256_add_epi64(low, _mm256_set1_epi64x(1)));
    let halves = _mm256_blend_epi32::<0b1010_1010>(low, high);
    let filled = _mm256_castsi256_pd(_mm256_permutevar8x32_epi32(v, halves));
    let before = _mm256_castsi256_pd(_mm256_permute4x64_epi64::<0b11_11_11_11>(before));
    _mm256_castpd_si256(_mm256_blendv_pd(filled, before, _mm256_castsi256_pd(lanes)))
}

macro_rules! gaps {
    ($w:ty, $set1:ident, $equal:ident, $fill:ident, $own:expr, |$mask:ident| $bits:expr) => {
        impl ElementVectors<$w> for Avx2 {
            const N: usize = 32 / size_of::<$w>();
            const FEW: u32 = 12;
            type V = __m256i;
            type Mask = __m256i;

            instructions! {
                fn splat(element: $w) -> __m256i { $set1(element as _) }
                fn equal(a: __m256i, b: __m256i) -> __m256i { $equal(a, b) }
                fn either(a: __m256i, b: __m256i) -> __m256i { _mm256_or_si256(a, b) }
                fn any(mask: __m256i) -> bool { _mm256_testz_si256(mask, mask) == 0 }
                fn bits($mask: __m256i) -> u64 { $bits }
                fn mask(bits: u64) -> __m256i { $equal(_mm256_and_si256($set1(bits as _), $own), $own) }
                fn select(mask: __m256i, a: __m256i, b: __m256i) -> __m256i { _mm256_blendv_epi8(b, a, mask) }
                fn shifted_in(before: __m256i, v: __m256i) -> __m256i {
                    _mm256_alignr_epi8::<{ 16 - size_of::<$w>() as i32 }>(
                        v,
                        _mm256_permute2x128_si256::<0x21>(before, v),
                    )
                }
                fn fill(v: __m256i, gaps: u64, before: __m256i) -> __m256i { $fill(v, gaps, before) }
            }

            #[inline(always)]
            fn load(self, from: &[u8]) -> __m256i {
                assert!(from.len() >= 32);
                // SAFETY: the processor has the level, as the token says; there are 32 bytes.
                unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
            }

            #[inline(always)]
            fn store(self, v: __m256i, to: &mut [u8]) {
                assert!(to.len() >= 32);
                // SAFETY: as above.
                unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), v) }
            }
        }
    };
}

gaps!(
    u16,
    _mm256_set1_epi16,
    _mm256_cmpeq_epi16,
    fill16,
    _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768),
    |mask| {
        let bytes = _mm_packs_epi16(_mm256_castsi256_si128(mask), _mm256_extracti128_si256::<1>(mask));
        _mm_movemask_epi8(bytes) as u64
    }
);
gaps!(u32, _mm256_set1_epi32, _mm256_cmpeq_epi32, fill32, _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), |mask| {
    _mm256_movemask_ps(_mm256_castsi256_ps(mask)) as u64
});
gaps!(u64, _mm256_set1_epi64x, _mm256_cmpeq_epi64, fill64, _mm256_setr_epi64x(1, 2, 4, 8), |mask| {
    _mm256_movemask_pd(_mm256_castsi256_pd(mask)) as u64
});
