//! What the encoder's choice looks at, for lanes of 32 and of 64 bits: the same code, by a macro. What is safe to call
//! takes the level's token, which makes its intrinsics sound.

use std::arch::x86_64::*;

use crate::codec::sleek::constants::{MAX_EXCEPTIONS, SAMPLE};
use crate::codec::sleek::simd::{HIGHS, Masks, count_of};
use crate::exec::Avx512;
use crate::simd::avx512::lanes::{Lanes, right32, right64};

/// Of the 64-bit lanes of two vectors, taken in pairs, the second pair of each two.
const SECOND_PAIRS: Lanes<u64, 8> = Lanes([2, 3, 6, 7, 10, 11, 14, 15]);

/// Of 64 values of 32 bits, in four vectors, each fourth.
///
/// # Safety
/// 64 values are readable at `x`.
#[inline(always)]
unsafe fn sample32(x: *const u32) -> __m512i {
    // SAFETY: as the caller promises.
    unsafe {
        let v = |i: usize| _mm512_loadu_ps(x.add(16 * i).cast());
        let high = |i| _mm512_shuffle_ps::<0b11_10_11_10>(v(i), v(i + 1));
        _mm512_castps_si512(_mm512_shuffle_ps::<0b11_01_11_01>(high(0), high(2)))
    }
}

/// Of 32 values of 64 bits, in four vectors, each fourth.
///
/// # Safety
/// 32 values are readable at `x`.
#[inline(always)]
unsafe fn sample64(x: *const u64) -> __m512i {
    // SAFETY: as the caller promises.
    unsafe {
        let v = |i: usize| _mm512_loadu_si512(x.add(8 * i).cast());
        let odd = |i| _mm512_unpackhi_epi64(v(i), v(i + 1));
        _mm512_permutex2var_epi64(odd(0), SECOND_PAIRS.load(), odd(2))
    }
}

macro_rules! choose {
    ($name:ident, $w:ty, $s:literal, $sample:ident, $set1:ident, $sub:ident, $lzcnt:ident, $right:ident, $cmpgt:ident,
     $compress:ident,
     $to_bytes:ident, $store_bytes:ident) => {
        pub mod $name {
            use super::*;

            const BITS: u32 = <$w>::BITS;
            const LANES: usize = 512 / BITS as usize;
            /// Values that a vector of samples stands for.
            const REACH: usize = SAMPLE * LANES;

            /// See `Simd::widths`.
            #[inline(always)]
            pub fn widths(_: Avx512, codes: &[$w; $s], widths: &mut [u8; $s]) {
                // SAFETY: the processor has the level, as the token says; `REACH` codes are read at a time, `LANES`
                // widths stored.
                unsafe {
                    let bits = $set1(BITS as _);
                    for half in 0..2 {
                        let sample = $sample(codes.as_ptr().add(half * REACH));
                        let w = $to_bytes($sub(bits, $lzcnt(sample)));
                        $store_bytes(widths.as_mut_ptr().add(half * LANES).cast(), w);
                    }
                }
            }

            /// See `Simd::extract_exceptions`.
            #[inline(always)]
            pub fn extract_exceptions(_: Avx512, codes: &[$w; $s], width: u32, highs: &mut [$w; HIGHS]) -> Masks {
                let mut masks: Masks = [0; _];
                // SAFETY: the processor has the level, as the token says; `LANES` codes are read at a time; `LANES`
                // places from `at` ≤ count ≤ `MAX_EXCEPTIONS` on are in `highs`.
                unsafe {
                    let limit = $set1(((1u128 << width) - 1) as _);
                    let v = |i: usize| _mm512_loadu_si512(codes.as_ptr().add(i * LANES).cast());
                    for i in 0..8 {
                        let wide = u64::from($cmpgt(v(i), limit));
                        masks[i * LANES / 64] |= wide << (i * LANES % 64);
                    }
                    if count_of::<$s>(&masks) > MAX_EXCEPTIONS {
                        return masks;
                    }
                    const { assert!(HIGHS >= MAX_EXCEPTIONS + LANES) };
                    let shift = $set1(width as _);
                    let mut at = 0;
                    // Each store leaves zeros behind the parts that it brings, the last one behind all of them.
                    for i in 0..8 {
                        let wide = (masks[i * LANES / 64] >> (i * LANES % 64)) as _;
                        let parts = $compress(wide, $right(v(i), shift));
                        _mm512_storeu_si512(highs.as_mut_ptr().add(at).cast(), parts);
                        at += wide.count_ones() as usize;
                    }
                    _mm512_storeu_si512(highs.as_mut_ptr().add(at).cast(), _mm512_setzero_si512());
                    masks
                }
            }
        }
    };
}

choose!(
    lanes32,
    u32,
    128,
    sample32,
    _mm512_set1_epi32,
    _mm512_sub_epi32,
    _mm512_lzcnt_epi32,
    right32,
    _mm512_cmpgt_epu32_mask,
    _mm512_maskz_compress_epi32,
    _mm512_cvtepi32_epi8,
    _mm_storeu_si128
);
choose!(
    lanes64,
    u64,
    64,
    sample64,
    _mm512_set1_epi64,
    _mm512_sub_epi64,
    _mm512_lzcnt_epi64,
    right64,
    _mm512_cmpgt_epu64_mask,
    _mm512_maskz_compress_epi64,
    _mm512_cvtepi64_epi8,
    _mm_storel_epi64
);
