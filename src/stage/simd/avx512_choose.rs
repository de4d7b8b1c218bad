//! What the encoder's choice looks at, for lanes of 16 bits, and of 32 and of 64 bits (the same code, by a macro). Only code compiled for
//! `Level::Avx512` may call any of it: that makes the intrinsics sound.

use std::arch::x86_64::*;

use super::avx512::Lanes;
use super::{HIGHS, POSITIONS};
use crate::format::constants::{MAX_EXCEPTIONS, SAMPLE};

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

/// The positions of the set bits of `masks`, 64 a word, at most `MAX_EXCEPTIONS`.
#[inline(always)]
fn list_positions(masks: &[u64], positions: &mut [u8; POSITIONS]) {
    const BYTES: Lanes<u8, 64> = {
        let mut b = [0; 64];
        let mut i = 0;
        while i < 64 {
            b[i] = i as u8;
            i += 1;
        }
        Lanes(b)
    };
    let mut count = 0;
    for (block, mask) in masks.iter().enumerate() {
        assert!(count + 64 <= POSITIONS);
        // SAFETY: 64 bytes from `count` on are in `positions`.
        unsafe {
            let numbers = _mm512_add_epi8(BYTES.load(), _mm512_set1_epi8((64 * block) as i8));
            let listed = _mm512_maskz_compress_epi8(*mask, numbers);
            _mm512_storeu_si512(positions.as_mut_ptr().add(count).cast(), listed);
        }
        count += mask.count_ones() as usize;
    }
}

/// For any number of 16-bit words that fills vectors.
pub mod lanes16 {
    use super::*;

    const LANES: usize = 32;

    /// See `Simd::width`.
    #[inline(always)]
    pub fn width<const S: usize>(codes: &[u16; S]) -> u32 {
        const { assert!(S.is_multiple_of(LANES)) };
        let mut any = [0u64; 8];
        // SAFETY: see above; `LANES` codes are read at a time.
        unsafe {
            let mut all = _mm512_setzero_si512();
            for i in 0..S / LANES {
                all = _mm512_or_si512(all, _mm512_loadu_si512(codes.as_ptr().add(i * LANES).cast()));
            }
            _mm512_storeu_si512(any.as_mut_ptr().cast(), all);
        }
        let any = any.into_iter().fold(0, |a, b| a | b);
        let any = any | any >> 32;
        u16::BITS - ((any | any >> 16) as u16).leading_zeros()
    }

    /// See `Simd::widths`.
    #[inline(always)]
    pub fn widths<const S: usize>(codes: &[u16; S], widths: &mut [u8; S]) {
        const { assert!(SAMPLE == 4 && S.is_multiple_of(2 * LANES)) };
        // SAFETY: see above; `LANES` codes are read at a time, 16 widths stored.
        unsafe {
            let high = _mm512_set1_epi64(0xffff << 32);
            for i in 0..S / (2 * LANES) {
                let v = |k: usize| _mm512_loadu_si512(codes.as_ptr().add((2 * i + k) * LANES).cast());
                // Each fourth of the first vector in the low halves of 64-bit lanes, of the second one in the high halves.
                let sample = _mm512_ternarylogic_epi64::<0xF8>(
                    _mm512_srli_epi64::<48>(v(0)),
                    _mm512_srli_epi64::<16>(v(1)),
                    high,
                );
                let w = _mm512_cvtepi32_epi8(_mm512_sub_epi32(_mm512_set1_epi32(32), _mm512_lzcnt_epi32(sample)));
                _mm_storeu_si128(widths.as_mut_ptr().add(16 * i).cast(), w);
            }
        }
    }

    /// See `Simd::split`.
    #[inline(always)]
    pub fn split<const S: usize>(
        codes: &[u16; S],
        width: u32,
        positions: &mut [u8; POSITIONS],
        highs: &mut [u16; HIGHS],
    ) -> usize {
        const { assert!(S.is_multiple_of(2 * LANES) && S <= 512 && HIGHS >= MAX_EXCEPTIONS + LANES) };
        let mut masks = [0u64; 8];
        // SAFETY: see above; `LANES` codes are read at a time; `LANES` places from `at` ≤ count ≤ `MAX_EXCEPTIONS` on are in `highs`.
        unsafe {
            let limit = _mm512_set1_epi16(((1u32 << width) - 1) as i16);
            let v = |i: usize| _mm512_loadu_si512(codes.as_ptr().add(i * LANES).cast());
            for i in 0..S / LANES {
                masks[i / 2] |= u64::from(_mm512_cmpgt_epu16_mask(v(i), limit)) << (i % 2 * LANES);
            }
            let count = masks.iter().map(|m| m.count_ones() as usize).sum();
            if count > MAX_EXCEPTIONS {
                return count;
            }
            let shift = _mm_cvtsi32_si128(width as i32);
            let mut at = 0;
            // Each store leaves zeros behind the parts that it brings, the last one behind all of them.
            for i in 0..S / LANES {
                let wide = (masks[i / 2] >> (i % 2 * LANES)) as u32;
                let parts = _mm512_maskz_compress_epi16(wide, _mm512_srl_epi16(v(i), shift));
                _mm512_storeu_si512(highs.as_mut_ptr().add(at).cast(), parts);
                at += wide.count_ones() as usize;
            }
            _mm512_storeu_si512(highs.as_mut_ptr().add(at).cast(), _mm512_setzero_si512());
            list_positions(&masks[..S / 64], positions);
            count
        }
    }
}

macro_rules! choose {
    ($name:ident, $w:ty, $s:literal, $sample:ident, $set1:ident, $sub:ident, $lzcnt:ident, $srl:ident, $cmpgt:ident, $compress:ident,
     $to_bytes:ident, $store_bytes:ident) => {
        pub mod $name {
            use super::*;

            const BITS: u32 = <$w>::BITS;
            const LANES: usize = 512 / BITS as usize;
            /// Values that a vector of samples stands for.
            const REACH: usize = SAMPLE * LANES;

            /// See `Simd::width`.
            #[inline(always)]
            pub fn width(codes: &[$w; $s]) -> u32 {
                let mut any = [0 as $w; LANES];
                // SAFETY: see above; `LANES` codes are read at a time.
                unsafe {
                    let v = |i: usize| _mm512_loadu_si512(codes.as_ptr().add(i * LANES).cast());
                    let four =
                        |i| _mm512_or_si512(_mm512_or_si512(v(i), v(i + 1)), _mm512_or_si512(v(i + 2), v(i + 3)));
                    _mm512_storeu_si512(any.as_mut_ptr().cast(), _mm512_or_si512(four(0), four(4)));
                }
                BITS - any.into_iter().fold(0, |a, b| a | b).leading_zeros()
            }

            /// See `Simd::widths`.
            #[inline(always)]
            pub fn widths(codes: &[$w; $s], widths: &mut [u8; $s]) {
                // SAFETY: see above; `REACH` codes are read at a time, `LANES` widths stored.
                unsafe {
                    let bits = $set1(BITS as _);
                    for half in 0..2 {
                        let sample = $sample(codes.as_ptr().add(half * REACH));
                        let w = $to_bytes($sub(bits, $lzcnt(sample)));
                        $store_bytes(widths.as_mut_ptr().add(half * LANES).cast(), w);
                    }
                }
            }

            /// See `Simd::split`.
            #[inline(always)]
            pub fn split(
                codes: &[$w; $s],
                width: u32,
                positions: &mut [u8; POSITIONS],
                highs: &mut [$w; HIGHS],
            ) -> usize {
                let mut masks = [0u64; $s / 64];
                let mut count = 0;
                // SAFETY: see above; `LANES` codes are read at a time; `LANES` places from `at` ≤ count ≤ `MAX_EXCEPTIONS` on are in `highs`.
                unsafe {
                    let limit = $set1(((1u128 << width) - 1) as _);
                    let v = |i: usize| _mm512_loadu_si512(codes.as_ptr().add(i * LANES).cast());
                    for i in 0..8 {
                        let wide = u64::from($cmpgt(v(i), limit));
                        masks[i * LANES / 64] |= wide << (i * LANES % 64);
                    }
                    count += masks.iter().map(|m| m.count_ones() as usize).sum::<usize>();
                    if count > MAX_EXCEPTIONS {
                        return count;
                    }
                    const { assert!(HIGHS >= MAX_EXCEPTIONS + LANES) };
                    let shift = _mm_cvtsi32_si128(width as i32);
                    let mut at = 0;
                    // Each store leaves zeros behind the parts that it brings, the last one behind all of them.
                    for i in 0..8 {
                        let wide = (masks[i * LANES / 64] >> (i * LANES % 64)) as _;
                        let parts = $compress(wide, $srl(v(i), shift));
                        _mm512_storeu_si512(highs.as_mut_ptr().add(at).cast(), parts);
                        at += wide.count_ones() as usize;
                    }
                    _mm512_storeu_si512(highs.as_mut_ptr().add(at).cast(), _mm512_setzero_si512());
                }
                list_positions(&masks, positions);
                count
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
    _mm512_srl_epi32,
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
    _mm512_srl_epi64,
    _mm512_cmpgt_epu64_mask,
    _mm512_maskz_compress_epi64,
    _mm512_cvtepi64_epi8,
    _mm_storel_epi64
);
