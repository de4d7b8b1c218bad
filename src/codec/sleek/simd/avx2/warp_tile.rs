//! What AVX2 does for a warp tile at once: `Simd::totals`. What is safe to call takes the level's token, which makes
//! its intrinsics sound.
//!
//! A sample is loaded with the three words before it; columns of these of four or eight subchunks become vectors.

use std::arch::x86_64::*;

use super::choose::{width32, width64};
use crate::codec::sleek::constants::{MODE_SAMPLE, WARP_TILE};
use crate::exec::Avx2;
use crate::simd::avx2::lanes::{Lanes, load, load_halves};

const _: () = assert!(MODE_SAMPLE == 32 && WARP_TILE == 8, "how samples are loaded");

/// Samples of a warp tile, as many as lanes, with what they are compared to.
struct Samples {
    value: __m256i,
    /// The values before these, and those before them.
    before: __m256i,
    before2: __m256i,
    /// Of their subchunks the first value and the least.
    first: __m256i,
    least: __m256i,
    /// What words of theirs are counted down from.
    top: Option<__m256i>,
}

/// The sums of the lanes of each, where upper halves of 64-bit lanes are zero or lanes have 32 bits.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn sums([a, b, c, d]: [__m256i; 4]) -> [u32; 4] {
    let mut sums = [0; 4];
    // SAFETY: as the caller promises; four sums are stored.
    unsafe {
        let pairs = |a, b| _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let (ab, cd) = (pairs(a, b), pairs(c, d));
        let all = _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
        let all = _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all));
        _mm_storeu_si128(sums.as_mut_ptr().cast(), all);
    }
    sums
}

/// A distance from 0 as a signed number.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn abs64(x: __m256i) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        let sign = negative64(x);
        _mm256_sub_epi64(_mm256_xor_si256(x, sign), sign)
    }
}

/// All ones where a lane is negative.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn negative32(x: __m256i) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe { _mm256_srai_epi32::<31>(x) }
}

/// The same of lanes of 64 bits.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn negative64(x: __m256i) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe { _mm256_cmpgt_epi64(_mm256_setzero_si256(), x) }
}

/// The widths of lanes of 32 bits without `UNUSED` ones, 0 or 16, below.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn width32_from<const UNUSED: u32>(x: __m256i) -> __m256i {
    const { assert!(UNUSED == 0 || UNUSED == 16) };
    // SAFETY: as the caller promises.
    unsafe {
        if UNUSED == 0 {
            return width32(x);
        }
        // No number of 16 bits is rounded.
        let float = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_srli_epi32::<16>(x)));
        _mm256_subs_epu16(_mm256_srli_epi32::<23>(float), _mm256_set1_epi32(126))
    }
}

/// The widths of lanes of 64 bits.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn width64_from<const UNUSED: u32>(x: __m256i) -> __m256i {
    const { assert!(UNUSED == 0) };
    // SAFETY: as the caller promises.
    unsafe { width64(x) }
}

macro_rules! measure {
    (
        $name:ident, $set1:ident, $add:ident, $sub:ident, $abs:ident, $sll:ident, $srl:ident, $negative:ident,
        $equal:ident, $width:ident
    ) => {
        /// Adds to `totals` the width of each sample's distances, for offset, zigzag, delta, special. Words are the
        /// bits from `UNUSED` on, and the bits below are zero.
        ///
        /// # Safety
        /// The processor has the level's features.
        #[inline(always)]
        unsafe fn $name<const UNUSED: u32>(s: &Samples, totals: &mut [__m256i; 4]) {
            // SAFETY: as the caller promises.
            unsafe {
                let step = $sub(s.value, s.before);
                let other = match s.top {
                    // `countdown::half_code`; the bit that is below the word does not matter.
                    Some(top) => {
                        let doubled = $sll::<1>(s.value);
                        let sign = _mm256_and_si256($negative(s.value), $set1(1 << UNUSED));
                        let code = $abs($sub(top, _mm256_or_si256(doubled, sign)));
                        _mm256_andnot_si256($equal(doubled, _mm256_setzero_si256()), $srl::<1>(code))
                    }
                    None => $abs($sub(step, $sub(s.before, s.before2))),
                };
                let distances = [$sub(s.value, s.least), $abs($sub(s.value, s.first)), $abs(step), other];
                for i in 0..4 {
                    totals[i] = $add(totals[i], $width::<UNUSED>(distances[i]));
                }
            }
        }
    };
}

measure!(
    measure32,
    _mm256_set1_epi32,
    _mm256_add_epi32,
    _mm256_sub_epi32,
    _mm256_abs_epi32,
    _mm256_slli_epi32,
    _mm256_srli_epi32,
    negative32,
    _mm256_cmpeq_epi32,
    width32_from
);
measure!(
    measure64,
    _mm256_set1_epi64x,
    _mm256_add_epi64,
    _mm256_sub_epi64,
    abs64,
    _mm256_slli_epi64,
    _mm256_srli_epi64,
    negative64,
    _mm256_cmpeq_epi64,
    width64_from
);

/// For words of 16 bits, which are the upper halves of lanes.
#[inline(always)]
pub fn totals16<const S: usize>(
    _: Avx2,
    x: &[[u16; S]; WARP_TILE],
    least: &[u16; WARP_TILE],
    tops: Option<&[u16; WARP_TILE]>,
) -> [u32; 4] {
    const { assert!(S.is_multiple_of(MODE_SAMPLE)) };
    /// The subchunks of the samples.
    const ORDER: [usize; WARP_TILE] = [0, 1, 4, 5, 2, 3, 6, 7];
    let none = Lanes([0; WARP_TILE]);
    let (mut firsts, mut leasts, mut all_tops) = (none, none, none);
    for i in 0..WARP_TILE {
        firsts.0[i] = u32::from(x[ORDER[i]][0]) << 16;
        leasts.0[i] = u32::from(least[ORDER[i]]) << 16;
        all_tops.0[i] = u32::from(tops.map_or(0, |tops| tops[ORDER[i]])) << 16;
    }
    // SAFETY: the processor has the level, as the token says; 4 of a subchunk's S words are read at a time.
    unsafe {
        let (first, least, top) = (firsts.load(0), leasts.load(0), tops.map(|_| all_tops.load(0)));
        let mut totals = [_mm256_setzero_si256(); 4];
        for at in (0..S).step_by(MODE_SAMPLE) {
            let four = |s: usize| x[s].as_ptr().add(at + MODE_SAMPLE - 4 - 4 * s);
            let two = |s: usize| {
                let low = _mm_castsi128_pd(_mm_loadl_epi64(four(s).cast()));
                _mm_castpd_si128(_mm_loadh_pd(low, four(s + 1).cast()))
            };
            let low = _mm256_castsi256_ps(_mm256_set_m128i(two(2), two(0)));
            let high = _mm256_castsi256_ps(_mm256_set_m128i(two(6), two(4)));
            let last = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
            let first_two = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
            let keep = _mm256_set1_epi32(!0xffff);
            let samples = Samples {
                value: _mm256_and_si256(last, keep),
                before: _mm256_slli_epi32::<16>(last),
                before2: _mm256_and_si256(first_two, keep),
                first,
                least,
                top,
            };
            measure32::<16>(&samples, &mut totals);
        }
        sums(totals)
    }
}

/// For words of 32 bits.
#[inline(always)]
pub fn totals32<const S: usize>(
    _: Avx2,
    x: &[[u32; S]; WARP_TILE],
    least: &[u32; WARP_TILE],
    tops: Option<&[u32; WARP_TILE]>,
) -> [u32; 4] {
    const { assert!(S.is_multiple_of(MODE_SAMPLE)) };
    let firsts = Lanes(x.each_ref().map(|subchunk| subchunk[0]));
    // SAFETY: the processor has the level, as the token says; 4 of a subchunk's S words are read at a time, and the
    // eight of `least` and `tops`.
    unsafe {
        let (first, least, top) = (firsts.load(0), load(least.as_ptr()), tops.map(|tops| load(tops.as_ptr())));
        let mut totals = [_mm256_setzero_si256(); 4];
        for at in (0..S).step_by(MODE_SAMPLE) {
            let four = |s: usize| x[s].as_ptr().add(at + MODE_SAMPLE - 4 - 4 * s);
            let two = |s: usize| load_halves(four(s), four(s + 4));
            let (a, b, c, d) = (two(0), two(1), two(2), two(3));
            let (high_ab, high_cd) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
            let samples = Samples {
                value: _mm256_unpackhi_epi64(high_ab, high_cd),
                before: _mm256_unpacklo_epi64(high_ab, high_cd),
                before2: _mm256_unpackhi_epi64(_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d)),
                first,
                least,
                top,
            };
            measure32::<0>(&samples, &mut totals);
        }
        sums(totals)
    }
}

/// For words of 64 bits.
#[inline(always)]
pub fn totals64<const S: usize>(
    _: Avx2,
    x: &[[u64; S]; WARP_TILE],
    least: &[u64; WARP_TILE],
    tops: Option<&[u64; WARP_TILE]>,
) -> [u32; 4] {
    const { assert!(S.is_multiple_of(MODE_SAMPLE)) };
    // SAFETY: the processor has the level, as the token says; 4 of a subchunk's S words are read at a time, and four
    // of `least` and `tops`.
    unsafe {
        let mut totals = [_mm256_setzero_si256(); 4];
        for s in (0..WARP_TILE).step_by(4) {
            let first = |i: usize| x[s + i][0] as i64;
            let first = _mm256_set_epi64x(first(3), first(2), first(1), first(0));
            let (least, top) = (load(least.as_ptr().add(s)), tops.map(|tops| load(tops.as_ptr().add(s))));
            for at in (0..S).step_by(MODE_SAMPLE) {
                let four = |i: usize| load(x[s + i].as_ptr().add(at + MODE_SAMPLE - 4 - 4 * (s + i)));
                let (a, b, c, d) = (four(0), four(1), four(2), four(3));
                let (even_ab, even_cd) = (_mm256_unpacklo_epi64(a, b), _mm256_unpacklo_epi64(c, d));
                let (odd_ab, odd_cd) = (_mm256_unpackhi_epi64(a, b), _mm256_unpackhi_epi64(c, d));
                let samples = Samples {
                    value: _mm256_permute2x128_si256::<0x31>(odd_ab, odd_cd),
                    before: _mm256_permute2x128_si256::<0x31>(even_ab, even_cd),
                    before2: _mm256_permute2x128_si256::<0x20>(odd_ab, odd_cd),
                    first,
                    least,
                    top,
                };
                measure64::<0>(&samples, &mut totals);
            }
        }
        sums(totals)
    }
}
