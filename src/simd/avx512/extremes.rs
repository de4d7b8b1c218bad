//! The least and the largest word of each of eight rows, as signed numbers, for AVX-512: those of eight rows go into
//! one vector, two by two, as their halves are brought together and compared. A loop over rows would do that for each.

use std::arch::x86_64::*;

use crate::exec::Avx512;
use crate::simd::columns::ROWS;

macro_rules! extremes {
    ($name:ident, $w:ty, $min:ident, $max:ident, $store:path) => {
        /// See `Simd::extremes`.
        #[inline(always)]
        pub fn $name<const S: usize>(_: Avx512, x: &[[$w; S]; ROWS]) -> ([$w; ROWS], [$w; ROWS]) {
            const LANES: usize = 64 / size_of::<$w>();
            const { assert!(S.is_multiple_of(LANES)) };
            let (mut least, mut most) = ([0; ROWS], [0; ROWS]);
            // SAFETY: the processor has the level, as the token says; `LANES` of a subchunk's S values are read at a
            // time, and `ROWS` are stored.
            unsafe {
                let (mut lows, mut highs) = ([_mm512_setzero_si512(); ROWS], [_mm512_setzero_si512(); ROWS]);
                for (s, x) in x.iter().enumerate() {
                    let v = |i: usize| _mm512_loadu_si512(x.as_ptr().add(i * LANES).cast());
                    (lows[s], highs[s]) = (v(0), v(0));
                    for i in 1..S / LANES {
                        (lows[s], highs[s]) = ($min(lows[s], v(i)), $max(highs[s], v(i)));
                    }
                }
                macro_rules! all {
                    ($of:ident, $v:ident) => {{
                        let quarters =
                            |a, b| $of(_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b));
                        let eighths =
                            |a, b| $of(_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b));
                        let even = eighths(quarters($v[0], $v[2]), quarters($v[4], $v[6]));
                        let odd = eighths(quarters($v[1], $v[3]), quarters($v[5], $v[7]));
                        let mut v = $of(_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd));
                        // The words of a 64-bit lane are a subchunk's.
                        if LANES > 8 {
                            v = $of(v, _mm512_srli_epi64::<32>(v));
                        }
                        if LANES > 16 {
                            v = $of(v, _mm512_srli_epi64::<16>(v));
                        }
                        v
                    }};
                }
                $store(least.as_mut_ptr(), all!($min, lows));
                $store(most.as_mut_ptr(), all!($max, highs));
            }
            (least, most)
        }
    };
}

extremes!(extremes16, u16, _mm512_min_epi16, _mm512_max_epi16, store16);
extremes!(extremes32, u32, _mm512_min_epi32, _mm512_max_epi32, store32);
extremes!(extremes64, u64, _mm512_min_epi64, _mm512_max_epi64, store64);

/// Stores the lowest words of 64-bit lanes.
///
/// # Safety
/// The processor has the level's features; as many words are writable at `to`.
#[inline(always)]
unsafe fn store16(to: *mut u16, v: __m512i) {
    // SAFETY: as the caller promises.
    unsafe { _mm_storeu_si128(to.cast(), _mm512_cvtepi64_epi16(v)) }
}

/// See `store16`.
///
/// # Safety
/// As above.
#[inline(always)]
unsafe fn store32(to: *mut u32, v: __m512i) {
    // SAFETY: as the caller promises.
    unsafe { _mm256_storeu_si256(to.cast(), _mm512_cvtepi64_epi32(v)) }
}

/// See `store16`.
///
/// # Safety
/// As above.
#[inline(always)]
unsafe fn store64(to: *mut u64, v: __m512i) {
    // SAFETY: as the caller promises.
    unsafe { _mm512_storeu_si512(to.cast(), v) }
}
