//! What AVX-512 does for a warp tile at once: `Simd::extremes` and `Simd::totals`. What is safe to call takes
//! the level's token, which makes its intrinsics sound.
//!
//! Extremes of eight subchunks go into one vector, two by two: their halves are brought together and compared. What
//! lies before a sample is loaded with it, of each subchunk into a place of its own, so that little has to be moved
//! from lane to lane.

use std::arch::x86_64::*;

use crate::codec::sleek::constants::{MODE_SAMPLE, WARP_TILE};
use crate::exec::Avx512;
use crate::simd::avx512::lanes::Lanes;

const _: () = assert!(MODE_SAMPLE == 32 && WARP_TILE == 8, "how samples are loaded");

/// Samples of a warp tile, as many as lanes, with what they are compared to.
#[derive(Clone, Copy)]
struct Samples {
    value: __m512i,
    /// The values before these, and those before them.
    before: __m512i,
    before2: __m512i,
    /// Of their subchunks the first value and the least.
    first: __m512i,
    least: __m512i,
    /// What words of theirs are counted down from.
    top: Option<__m512i>,
}

/// How many samples a warp tile of subchunks of S values has.
const fn samples<const S: usize>() -> u32 {
    (WARP_TILE * S / MODE_SAMPLE) as u32
}

/// Zero bits above the highest one, added up over the lanes, to totals of widths of `bits` bits.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn to_totals<const S: usize>(bits: u32, zeros: [__m512i; 4]) -> [u32; 4] {
    let [a, b, c, d] = zeros;
    let mut sums = [0u32; 4];
    // SAFETY: as the caller promises. Upper halves of 64-bit lanes are zero, so that they may be added up as 32-bit
    // ones.
    unsafe {
        let pairs = |a, b| _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let (ab, cd) = (pairs(a, b), pairs(c, d));
        let all = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
        let all = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64::<1>(all));
        let all = _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all));
        _mm_storeu_si128(sums.as_mut_ptr().cast(), all);
    }
    sums.map(|sum| bits * samples::<S>() - sum)
}

macro_rules! measure {
    ($name:ident, $set1:ident, $add:ident, $sub:ident, $abs:ident, $lzcnt:ident, $sll:ident, $maskz_srl:ident,
     $negative:ident, $test:ident, $mask_or:ident) => {
        /// Adds to `zeros` the zero bits above the highest one of each sample's distances, for offset, zigzag, delta,
        /// special. Words are the bits from `UNUSED` on, and the bits below are zero.
        ///
        /// # Safety
        /// The processor has the level's features.
        #[inline(always)]
        unsafe fn $name<const UNUSED: u32>(s: &Samples, zeros: &mut [__m512i; 4]) {
            // SAFETY: as the caller promises.
            unsafe {
                let step = $sub(s.value, s.before);
                let other = match s.top {
                    // `countdown::half_code`; the bit that is below the word does not matter.
                    Some(top) => {
                        let doubled = $sll::<1>(s.value);
                        let word = $mask_or(doubled, $negative(s.value), doubled, $set1(1 << UNUSED));
                        $maskz_srl::<1>($test(doubled, doubled), $abs($sub(top, word)))
                    }
                    None => $abs($sub(step, $sub(s.before, s.before2))),
                };
                let distances = [$sub(s.value, s.least), $abs($sub(s.value, s.first)), $abs(step), other];
                for (zeros, distance) in zeros.iter_mut().zip(distances) {
                    // No distance has more zero bits than the word has.
                    let distance = _mm512_or_si512(distance, $set1((1 << UNUSED) - 1));
                    *zeros = $add(*zeros, $lzcnt(distance));
                }
            }
        }
    };
}

measure!(
    measure32,
    _mm512_set1_epi32,
    _mm512_add_epi32,
    _mm512_sub_epi32,
    _mm512_abs_epi32,
    _mm512_lzcnt_epi32,
    _mm512_slli_epi32,
    _mm512_maskz_srli_epi32,
    _mm512_movepi32_mask,
    _mm512_test_epi32_mask,
    _mm512_mask_or_epi32
);
measure!(
    measure64,
    _mm512_set1_epi64,
    _mm512_add_epi64,
    _mm512_sub_epi64,
    _mm512_abs_epi64,
    _mm512_lzcnt_epi64,
    _mm512_slli_epi64,
    _mm512_maskz_srli_epi64,
    _mm512_movepi64_mask,
    _mm512_test_epi64_mask,
    _mm512_mask_or_epi64
);

/// For words of 16 bits. Two vectors have a sample of each subchunk with the three words before it in a 64-bit lane,
/// the one of subchunk s in lane 7 − s; each 32-bit lane is for one of these.
#[inline(always)]
pub fn totals16<const S: usize>(
    _: Avx512,
    x: &[[u16; S]; WARP_TILE],
    least: &[u16; WARP_TILE],
    tops: Option<&[u16; WARP_TILE]>,
) -> [u32; 4] {
    const { assert!(S.is_multiple_of(2 * MODE_SAMPLE)) };
    const SUBCHUNK: Lanes<u16, 32> = {
        let mut from = [0; 32];
        let mut i = 0;
        while i < 32 {
            from[i] = 7 - i as u16 / 4;
            i += 1;
        }
        Lanes(from)
    };
    const UPPER_HALVES: __mmask32 = 0xaaaa_aaaa;
    const EVEN_LANES: __mmask16 = 0x5555;
    // SAFETY: the processor has the level, as the token says; eight words of `least` and `tops` are read, and 2 or 32
    // of a subchunk's S.
    unsafe {
        let of_each = |words: &[u16; WARP_TILE]| {
            let words = _mm512_castsi128_si512(_mm_loadu_si128(words.as_ptr().cast()));
            _mm512_maskz_permutexvar_epi16(UPPER_HALVES, SUBCHUNK.load(), words)
        };
        let (least, top) = (of_each(least), tops.map(of_each));
        let mut first = _mm512_setzero_si512();
        for (s, x) in x.iter().enumerate() {
            first = _mm512_mask_set1_epi32(first, 3 << (2 * (7 - s)), x.as_ptr().cast::<i32>().read_unaligned());
        }
        let upper = |v| _mm512_slli_epi32::<16>(v);
        let first = upper(first);
        let mut zeros = [_mm512_setzero_si512(); 4];
        for at in (0..S).step_by(2 * MODE_SAMPLE) {
            let mut v =
                [x[0].as_ptr().add(at), x[0].as_ptr().add(at + MODE_SAMPLE)].map(|x| _mm512_loadu_si512(x.cast()));
            for (s, x) in x.iter().enumerate().skip(1) {
                for (i, v) in v.iter_mut().enumerate() {
                    *v = _mm512_mask_loadu_epi64(*v, 1 << (7 - s), x.as_ptr().add(at + i * MODE_SAMPLE).cast());
                }
            }
            let last = _mm512_castps_si512(_mm512_mask_movehdup_ps(
                _mm512_castsi512_ps(v[1]),
                EVEN_LANES,
                _mm512_castsi512_ps(v[0]),
            ));
            let first_two = _mm512_mask_shuffle_epi32::<0b10_10_00_00>(v[0], !EVEN_LANES, v[1]);
            let keep = _mm512_set1_epi32(!0xffff);
            let samples = Samples {
                value: _mm512_and_si512(last, keep),
                before: upper(last),
                before2: _mm512_and_si512(first_two, keep),
                first,
                least,
                top,
            };
            measure32::<16>(&samples, &mut zeros);
        }
        to_totals::<S>(16, zeros)
    }
}

/// For words of 32 bits. A sample is loaded with the three words before it into 128 bits, then these of four vectors
/// are turned. In 128 bits there are then samples of two subchunks, 7 − i and 3 − i in the i-th, second_difference.
#[inline(always)]
pub fn totals32<const S: usize>(
    _: Avx512,
    x: &[[u32; S]; WARP_TILE],
    least: &[u32; WARP_TILE],
    tops: Option<&[u32; WARP_TILE]>,
) -> [u32; 4] {
    const { assert!(S.is_multiple_of(2 * MODE_SAMPLE)) };
    const SUBCHUNK: Lanes<u32, 16> = Lanes([7, 3, 7, 3, 6, 2, 6, 2, 5, 1, 5, 1, 4, 0, 4, 0]);
    // SAFETY: the processor has the level, as the token says; eight words of `least` and `tops` are read, and one or 16
    // of a subchunk's S.
    unsafe {
        let of_each = |words: &[u32; WARP_TILE]| {
            let words = _mm512_castsi256_si512(_mm256_loadu_si256(words.as_ptr().cast()));
            _mm512_permutexvar_epi32(SUBCHUNK.load(), words)
        };
        let (least, top) = (of_each(least), tops.map(of_each));
        let mut first = _mm512_setzero_si512();
        for (s, x) in x.iter().enumerate() {
            let lanes = if s < 4 { 0b1010 << (4 * (3 - s)) } else { 0b0101 << (4 * (7 - s)) };
            first = _mm512_mask_set1_epi32(first, lanes, x[0] as i32);
        }
        let mut zeros = [_mm512_setzero_si512(); 4];
        for at in (0..S).step_by(2 * MODE_SAMPLE) {
            // Of subchunks 7, 6, 5, 4 and 3, 2, 1, 0, second_difference.
            let mut v = [_mm512_setzero_si512(); 4];
            for (i, v) in v.iter_mut().enumerate() {
                let (last, at) = (4 - i % 2 * 4, at + 16 * i);
                *v = _mm512_loadu_si512(x[last].as_ptr().add(at).cast());
                for k in 1..4 {
                    *v = _mm512_mask_loadu_epi64(*v, 3 << (2 * (3 - k)), x[last + k].as_ptr().add(at).cast());
                }
            }
            let [l01, l23] = [(v[0], v[1]), (v[2], v[3])].map(|(a, b)| _mm512_unpacklo_epi32(a, b));
            let [h01, h23] = [(v[0], v[1]), (v[2], v[3])].map(|(a, b)| _mm512_unpackhi_epi32(a, b));
            let samples = Samples {
                value: _mm512_unpackhi_epi64(h01, h23),
                before: _mm512_unpacklo_epi64(h01, h23),
                before2: _mm512_unpackhi_epi64(l01, l23),
                first,
                least,
                top,
            };
            measure32::<0>(&samples, &mut zeros);
        }
        to_totals::<S>(32, zeros)
    }
}

/// For words of 64 bits. A sample is loaded with the three words before it into 256 bits, then these of four vectors
/// are turned.
#[inline(always)]
pub fn totals64<const S: usize>(
    _: Avx512,
    x: &[[u64; S]; WARP_TILE],
    least: &[u64; WARP_TILE],
    tops: Option<&[u64; WARP_TILE]>,
) -> [u32; 4] {
    const { assert!(S.is_multiple_of(MODE_SAMPLE)) };
    /// The subchunks of the samples.
    const ORDER: Lanes<u64, 8> = Lanes([7, 5, 6, 4, 3, 1, 2, 0]);
    // SAFETY: the processor has the level, as the token says; eight words of `least` and `tops` are read, and one or 8
    // of a subchunk's S.
    unsafe {
        let of_each = |words: &[u64; WARP_TILE]| {
            _mm512_permutexvar_epi64(ORDER.load(), _mm512_loadu_si512(words.as_ptr().cast()))
        };
        let (least, top) = (of_each(least), tops.map(of_each));
        let mut first = _mm512_setzero_si512();
        for (lane, s) in ORDER.0.into_iter().enumerate() {
            first = _mm512_mask_set1_epi64(first, 1 << lane, x[s as usize][0] as i64);
        }
        let mut zeros = [_mm512_setzero_si512(); 4];
        for at in (0..S).step_by(MODE_SAMPLE) {
            let mut v = [_mm512_setzero_si512(); 4];
            for (i, v) in v.iter_mut().enumerate() {
                let place = |x: &[u64; S]| x.as_ptr().add(at + 8 * i);
                *v = _mm512_loadu_si512(place(&x[6 - 2 * i]).cast());
                *v = _mm512_mask_loadu_epi64(*v, 0x0f, place(&x[7 - 2 * i]).cast());
            }
            let [l01, l23] = [(v[0], v[1]), (v[2], v[3])].map(|(a, b)| _mm512_unpacklo_epi64(a, b));
            let [h01, h23] = [(v[0], v[1]), (v[2], v[3])].map(|(a, b)| _mm512_unpackhi_epi64(a, b));
            let samples = Samples {
                value: _mm512_shuffle_i64x2::<0b11_01_11_01>(h01, h23),
                before: _mm512_shuffle_i64x2::<0b11_01_11_01>(l01, l23),
                before2: _mm512_shuffle_i64x2::<0b10_00_10_00>(h01, h23),
                first,
                least,
                top,
            };
            measure64::<0>(&samples, &mut zeros);
        }
        to_totals::<S>(64, zeros)
    }
}

macro_rules! extremes {
    ($name:ident, $w:ty, $min:ident, $max:ident, $store:path) => {
        /// See `Simd::extremes`.
        #[inline(always)]
        pub fn $name<const S: usize>(_: Avx512, x: &[[$w; S]; WARP_TILE]) -> ([$w; WARP_TILE], [$w; WARP_TILE]) {
            const LANES: usize = 64 / size_of::<$w>();
            const { assert!(S.is_multiple_of(LANES)) };
            let (mut least, mut most) = ([0; WARP_TILE], [0; WARP_TILE]);
            // SAFETY: the processor has the level, as the token says; `LANES` of a subchunk's S values are read at a
            // time, and `WARP_TILE` are stored.
            unsafe {
                let (mut lows, mut highs) = ([_mm512_setzero_si512(); WARP_TILE], [_mm512_setzero_si512(); WARP_TILE]);
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
