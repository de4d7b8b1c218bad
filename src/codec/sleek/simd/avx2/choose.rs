//! What the encoder's choice looks at, for lanes of 32 and of 64 bits (the same code, by a macro). What is safe to call
//! takes the level's token, which makes its intrinsics sound.
//!
//! A number's width is the exponent of its floating-point value; with the second highest one cleared no rounding
//! reaches the next.

use std::arch::x86_64::*;

use crate::codec::sleek::constants::{MAX_EXCEPTIONS, SAMPLE, SUBCHUNKS};
use crate::codec::sleek::simd::{HIGHS, Masks, Transposed, listed};
use crate::exec::Avx2;
use crate::simd::avx2::lanes::{Lanes, load, store};

/// See `listed`.
pub static LISTED: Lanes<[u8; 8], 256> = Lanes(listed());

/// A shuffle finds nothing there, and neither does one of words that `both_bytes` makes of it.
pub const NO_PLACE: u8 = 0xc0;

/// For each set of eight lanes how many of it come before each of them; `NO_PLACE` for a lane that is not of it.
pub static PLACES: Lanes<[u8; 8], 256> = {
    let mut table = [[NO_PLACE; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let mut k = 0;
        while k < (set as u32).count_ones() as usize {
            table[set][LISTED.0[set][k] as usize] = k as u8;
            k += 1;
        }
        set += 1;
    }
    Lanes(table)
};

/// For each set of four 64-bit lanes the 32-bit lanes that they are made of, a byte each; zeros follow.
static LISTED_HALVES: Lanes<[u8; 8], 16> = {
    let mut table = [[0; 8]; 16];
    let mut set = 0;
    while set < 16 {
        let mut k = 0;
        while k < 8 {
            let lane = LISTED.0[set][k / 2];
            table[set][k] = 2 * lane + (k % 2) as u8;
            k += 1;
        }
        set += 1;
    }
    Lanes(table)
};

/// For each set of four 64-bit lanes the halves of those of `PLACES`, each two numbers of 32 bits.
pub static PLACES_HALVES: Lanes<[u8; 8], 16> = {
    let mut table = [[NO_PLACE; 8]; 16];
    let mut set = 0;
    while set < 16 {
        let mut k = 0;
        while k < 8 {
            if PLACES.0[set][k / 2] != NO_PLACE {
                table[set][k] = 2 * PLACES.0[set][k / 2] + (k % 2) as u8;
            }
            k += 1;
        }
        set += 1;
    }
    Lanes(table)
};

/// The widths of the lanes.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
pub unsafe fn width32(x: __m256i) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        let cleared = _mm256_andnot_si256(_mm256_srli_epi32::<1>(x), x);
        let float = _mm256_castps_si256(_mm256_cvtepi32_ps(cleared));
        let width = _mm256_subs_epu16(_mm256_srli_epi32::<23>(float), _mm256_set1_epi32(126));
        // What has the top bit was taken for a negative number, and its sign is in the way: 161 and more.
        _mm256_min_epi16(width, _mm256_set1_epi32(32))
    }
}

/// The widths of the lanes. The number as the sum of its halves, each made a double by an exponent put above it.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
pub unsafe fn width64(x: __m256i) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        let (above_low, above_high) = (_mm256_set1_pd(TWO52), _mm256_set1_pd(TWO84));
        let cleared = _mm256_andnot_si256(_mm256_srli_epi64::<1>(x), x);
        let low = _mm256_blend_epi32::<0b10101010>(cleared, _mm256_castpd_si256(above_low));
        let high = _mm256_or_si256(_mm256_srli_epi64::<32>(cleared), _mm256_castpd_si256(above_high));
        let high = _mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(TWO84 + TWO52));
        let double = _mm256_castpd_si256(_mm256_add_pd(high, _mm256_castsi256_pd(low)));
        _mm256_subs_epu16(_mm256_srli_epi64::<52>(double), _mm256_set1_epi64x(1022))
    }
}

const TWO52: f64 = 4503599627370496.0;
const TWO84: f64 = TWO52 * 4294967296.0;

/// The lanes that are not zero, as bits.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn nonzero32(x: __m256i) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { !_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x, _mm256_setzero_si256()))) as u32 & 0xff }
}

/// The lanes that are not zero, as bits.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn nonzero64(x: __m256i) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { !_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(x, _mm256_setzero_si256()))) as u32 & 0xf }
}

/// Of 32 values of 32 bits, in four vectors, each fourth.
///
/// # Safety
/// 32 values are readable at `x`.
#[inline(always)]
unsafe fn sample32(x: *const u32) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        let v = |i: usize| _mm256_loadu_ps(x.add(8 * i).cast());
        let high = |i| _mm256_shuffle_ps::<0b11_10_11_10>(v(i), v(i + 1));
        _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(high(0), high(2)))
    }
}

/// Of 16 values of 64 bits, in four vectors, each fourth.
///
/// # Safety
/// 16 values are readable at `x`.
#[inline(always)]
unsafe fn sample64(x: *const u64) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        let odd = |i: usize| _mm256_unpackhi_epi64(load(x.add(4 * i)), load(x.add(4 * i + 4)));
        _mm256_permute2x128_si256::<0x31>(odd(0), odd(2))
    }
}

/// See `SimdLevel::transpose`: blocks of 16 × 16 numbers, of subchunks 0 … 15 in the low halves of vectors, of the
/// others in the high ones.
#[inline(always)]
pub fn transpose<const S: usize>(_: Avx2, widths: &[[u8; S]; SUBCHUNKS], rows: &mut Transposed<S>) {
    const { assert!(SUBCHUNKS == 32 && (S / SAMPLE).is_multiple_of(16)) };
    // A row of pairs of lines that are half of the block apart; four times that, and every line is where it belongs.
    macro_rules! interleave {
        ($rows:expr) => {{
            let from = $rows;
            let mut to = from;
            for i in 0..8 {
                to[2 * i] = _mm256_unpacklo_epi8(from[i], from[i + 8]);
                to[2 * i + 1] = _mm256_unpackhi_epi8(from[i], from[i + 8]);
            }
            to
        }};
    }
    for block in 0..S / SAMPLE / 16 {
        // SAFETY: the processor has the level, as the token says; 16 of a subchunk's S numbers are read at a time, and
        // a row of 32 is stored.
        unsafe {
            let mut lines = [_mm256_setzero_si256(); 16];
            for (i, line) in lines.iter_mut().enumerate() {
                let half = |s: usize| _mm_loadu_si128(widths[s].as_ptr().add(16 * block).cast());
                *line = _mm256_set_m128i(half(i + 16), half(i));
            }
            let lines = interleave!(interleave!(interleave!(interleave!(lines))));
            for (row, line) in rows[16 * block..].iter_mut().zip(lines) {
                store(row.as_mut_ptr(), line);
            }
        }
    }
}

/// See `SimdLevel::wider`.
#[inline(always)]
pub fn wider<const S: usize>(_: Avx2, rows: &Transposed<S>, limits: &[u8; SUBCHUNKS]) -> [u8; SUBCHUNKS] {
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

macro_rules! choose {
    ($name:ident, $w:ty, $s:literal, $sample:ident, $width:ident, $srl:ident, $nonzero:ident, $listed:ident) => {
        pub mod $name {
            use super::*;

            const BITS: u32 = <$w>::BITS;
            const LANES: usize = 256 / BITS as usize;
            /// Values that a vector of samples stands for.
            const REACH: usize = SAMPLE * LANES;

            /// The widths of the sampled codes.
            #[inline(always)]
            pub fn sampled_widths(_: Avx2, codes: &[$w; $s]) -> [__m256i; 4] {
                const { assert!($s == 4 * REACH) };
                let at = codes.as_ptr();
                // SAFETY: the processor has the level, as the token says; `REACH` codes are read at a time.
                unsafe {
                    [
                        $width($sample(at)),
                        $width($sample(at.add(REACH))),
                        $width($sample(at.add(2 * REACH))),
                        $width($sample(at.add(3 * REACH))),
                    ]
                }
            }

            /// See `Simd::extract_exceptions`.
            #[inline(always)]
            pub fn extract_exceptions(_: Avx2, codes: &[$w; $s], width: u32, highs: &mut [$w; HIGHS]) -> Masks {
                const { assert!(HIGHS >= MAX_EXCEPTIONS + 2 * LANES.next_multiple_of(8)) };
                let shift = width as i32;
                let mut count = 0;
                let mut masks: Masks = [0; _];
                // SAFETY: the processor has the level, as the token says; `LANES` codes are read at a time; eight
                // places from `at` ≤ `MAX_EXCEPTIONS` on are in `highs`.
                unsafe {
                    let shift = _mm_cvtsi32_si128(shift);
                    for i in 0..$s / LANES {
                        let parts = $srl(load(codes.as_ptr().add(i * LANES)), shift);
                        let wide = $nonzero(parts);
                        let at = count.min(MAX_EXCEPTIONS);
                        let lanes = _mm_loadl_epi64($listed.0[wide as usize].as_ptr().cast());
                        let parts = _mm256_permutevar8x32_epi32(parts, _mm256_cvtepu8_epi32(lanes));
                        store(highs.as_mut_ptr().add(at), parts);
                        masks[i * LANES / 64] |= u64::from(wide as u8) << (i * LANES % 64);
                        count += wide.count_ones() as usize;
                    }
                    // Zeros behind the last: packed, they complete its byte.
                    let at = highs.as_mut_ptr().add(count.min(MAX_EXCEPTIONS));
                    store(at, _mm256_setzero_si256());
                    store(at.add(8 - LANES), _mm256_setzero_si256());
                }
                masks
            }
        }
    };
}

choose!(lanes32, u32, 128, sample32, width32, _mm256_srl_epi32, nonzero32, LISTED);
choose!(lanes64, u64, 64, sample64, width64, _mm256_srl_epi64, nonzero64, LISTED_HALVES);
