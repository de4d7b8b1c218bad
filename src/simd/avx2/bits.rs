//! Packed words for AVX2.
//!
//! Unpacking: each half of a vector comes from an address of its own, so that the values it wants begin in its first
//! byte; a shuffle brings to each lane the bytes that its value begins in, a shift by (position mod 8) aligns them.
//! Where a value may reach into one byte more than a lane has, the same shuffle of the bytes one lane further on gives
//! the rest. There is no variable shift of lanes of 16 bits, but there are products: the low half of one by 2^k is a
//! shift to the left, the high half of one by 2^(16 − k) a shift to the right.
//!
//! A number's width is the exponent of its floating-point value; with the second highest one cleared no rounding
//! reaches the next.

use std::arch::x86_64::*;

use super::lanes::{Lanes, load, load_halves, low_halves, store};
use super::pack::{self, UNPACK64, Unpack, unpack_table};
use crate::exec::Avx2;
use crate::simd::bits::{BitVectors, InMemory, LISTED, MASKED, MOST, NO_PLACE, PLACES};

/// Of sets of four lanes of 64 bits what a table has for the 32-bit lanes that they are made of.
const fn of_halves(table: &[u64; 256]) -> [u64; 16] {
    let mut halves = [0; 16];
    let mut set = 0;
    while set < 16 {
        let mut k = 0;
        while k < 8 {
            let lane = table[set] >> (k / 2 * 8) & 0xff;
            let half = if lane == NO_PLACE { lane } else { 2 * lane + k % 2 };
            halves[set] |= half << (8 * k);
            k += 1;
        }
        set += 1;
    }
    halves
}

static LISTED_HALVES: [u64; 16] = of_halves(&LISTED);
static PLACES_HALVES: [u64; 16] = of_halves(&PLACES);

static UNPACK32: [Unpack<32>; 33] = unpack_table();

/// For eight values of n bits, which lie in n bytes: in each half of a vector the same.
#[derive(Clone, Copy)]
struct Unpack16 {
    /// The first byte of each value, in the high half of its lane.
    first: Lanes<u8, 32>,
    /// The two bytes that each value is in, or the two behind the first.
    bytes: Lanes<u8, 32>,
    /// What shifts a value to the top of its lane, or by what is left of its first byte.
    factor: Lanes<u16, 16>,
}

/// Values of up to so many bits lie in the two bytes from that on in which they begin.
const TWO_BYTES: u32 = 10;

static UNPACK16: [Unpack16; 17] = {
    let mut table = [Unpack16 { first: Lanes([0x80; 32]), bytes: Lanes([0; 32]), factor: Lanes([0; 16]) }; 17];
    let mut n = 1;
    while n <= 16 {
        let mut i = 0;
        while i < 16 {
            let (byte, shift) = (i % 8 * n / 8, i % 8 * n % 8);
            let wide = n > TWO_BYTES as usize;
            table[n].first.0[2 * i + 1] = byte as u8;
            table[n].bytes.0[2 * i] = (byte + wide as usize) as u8;
            table[n].bytes.0[2 * i + 1] = (byte + 1 + wide as usize) as u8;
            table[n].factor.0[i] = 1 << (if wide { 8 } else { 16 - n } - shift);
            i += 1;
        }
        n += 1;
    }
    table
};

/// The widths of lanes of up to 16 bits, in lanes of 32: none is rounded.
#[inline]
#[target_feature(enable = "avx2")]
pub fn width16(v: __m256i) -> __m256i {
    let float = _mm256_castps_si256(_mm256_cvtepi32_ps(v));
    _mm256_subs_epu16(_mm256_srli_epi32::<23>(float), _mm256_set1_epi32(126))
}

/// The widths of lanes of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
pub fn width32(v: __m256i) -> __m256i {
    // What has the top bit was taken for a negative number, and its sign is in the way: 161 and more.
    _mm256_min_epi16(width16(_mm256_andnot_si256(_mm256_srli_epi32::<1>(v), v)), _mm256_set1_epi32(32))
}

/// The widths of lanes of 64 bits. The number as the sum of its halves, each made a double by an exponent put above it.
#[inline]
#[target_feature(enable = "avx2")]
pub fn width64(v: __m256i) -> __m256i {
    const TWO52: f64 = 4503599627370496.0;
    const TWO84: f64 = TWO52 * 4294967296.0;
    let (above_low, above_high) = (_mm256_set1_pd(TWO52), _mm256_set1_pd(TWO84));
    let cleared = _mm256_andnot_si256(_mm256_srli_epi64::<1>(v), v);
    let low = _mm256_blend_epi32::<0b10101010>(cleared, _mm256_castpd_si256(above_low));
    let high = _mm256_or_si256(_mm256_srli_epi64::<32>(cleared), _mm256_castpd_si256(above_high));
    let high = _mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(TWO84 + TWO52));
    let double = _mm256_castpd_si256(_mm256_add_pd(high, _mm256_castsi256_pd(low)));
    _mm256_subs_epu16(_mm256_srli_epi64::<52>(double), _mm256_set1_epi64x(1022))
}

/// The lanes that are not zero, as bits.
#[inline]
#[target_feature(enable = "avx2")]
fn nonzero32(v: __m256i) -> u32 {
    !_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(v, _mm256_setzero_si256()))) as u32 & 0xff
}

#[inline]
#[target_feature(enable = "avx2")]
fn nonzero64(v: __m256i) -> u32 {
    !_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(v, _mm256_setzero_si256()))) as u32 & 0xf
}

/// Which of 32 words from `at` on have more than `width` bits.
#[inline]
#[target_feature(enable = "avx2")]
fn nonzero16(words: &[u16; MASKED], at: usize, width: u32) -> u32 {
    let words = &words[at..at + 32];
    let is_zero = |i: usize| {
        // SAFETY: 16 of the words.
        let v = unsafe { load(words[16 * i..][..16].as_ptr()) };
        _mm256_cmpeq_epi16(_mm256_srl_epi16(v, _mm_cvtsi32_si128(width as i32)), _mm256_setzero_si256())
    };
    let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(is_zero(0), is_zero(1)));
    !_mm256_movemask_epi8(bytes) as u32
}

/// A row of a table as lanes of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn lanes_of(row: u64) -> __m256i {
    _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(row as i64))
}

/// For lanes of 16 bits, of which a half of a vector has eight, both bytes of each of two rows of a table; of
/// `NO_PLACE` such as find nothing.
#[inline]
#[target_feature(enable = "avx2")]
fn both_bytes(low: u64, high: u64) -> __m256i {
    let lanes = _mm_set_epi64x(high as i64, low as i64);
    let bytes = _mm256_mullo_epi16(_mm256_cvtepu8_epi16(lanes), _mm256_set1_epi16(0x0202));
    _mm256_add_epi16(bytes, _mm256_set1_epi16(0x0100))
}

impl BitVectors<u16> for Avx2 {
    const UNPACKED: usize = 16;
    const WITHIN: u32 = TWO_BYTES;
    type Parts = InMemory<u16, { MOST + 16 }>;

    #[inline(always)]
    fn unpack_parts(self, packed: &[u8], _: usize, n: u32, width: u32, parts: &mut Self::Parts) {
        parts.unpack(self, packed, MOST, n, width);
    }

    #[inline(always)]
    unsafe fn unpack<const WITHIN: bool>(self, packed: &[u8], at: usize, n: u32, to: *mut u16) {
        let row = &UNPACK16[n as usize];
        // SAFETY: the processor has the level, as the token says; n + 16 bytes from byte `at` and 16 words.
        unsafe {
            let from = packed.as_ptr().add(at);
            let x = load_halves(from, from.add(n as usize));
            let (bytes, factor) = (_mm256_shuffle_epi8(x, row.bytes.load(0)), row.factor.load(0));
            let shifted = _mm256_mullo_epi16(bytes, factor);
            if WITHIN {
                return store(to, _mm256_srl_epi16(shifted, _mm_cvtsi32_si128(16 - n as i32)));
            }
            let first = _mm256_mulhi_epu16(_mm256_shuffle_epi8(x, row.first.load(0)), factor);
            let keep = _mm256_set1_epi16((u32::MAX >> (32 - n)) as i16);
            store(to, _mm256_and_si256(_mm256_or_si256(shifted, first), keep));
        }
    }

    #[inline(always)]
    fn pack(self, words: &[u16], n: u32, out: &mut [u8]) {
        pack::pack16(self, words, n, out);
    }

    #[inline(always)]
    fn wider(self, words: &[u16; MASKED], width: u32) -> u64 {
        // SAFETY: the processor has the level, as the token says.
        unsafe { u64::from(nonzero16(words, 0, width)) | u64::from(nonzero16(words, 32, width)) << 32 }
    }

    #[inline(always)]
    fn take(self, words: &[u16; MASKED], width: u32, set: u64, to: &mut [u16]) {
        assert!(to.len() >= set.count_ones() as usize + 16);
        // SAFETY: the processor has the level, as the token says; eight places from each that a word takes on.
        unsafe {
            let (shift, mut at) = (_mm_cvtsi32_si128(width as i32), to.as_mut_ptr());
            for (k, sets) in set.to_le_bytes().as_chunks::<2>().0.iter().enumerate() {
                let v = _mm256_srl_epi16(load(words.as_ptr().add(16 * k)), shift);
                let [low, high] = sets.map(|set| LISTED[set as usize]);
                let v = _mm256_shuffle_epi8(v, both_bytes(low, high));
                let middle = at.add(sets[0].count_ones() as usize);
                _mm_storeu_si128(at.cast(), _mm256_castsi256_si128(v));
                _mm_storeu_si128(middle.cast(), _mm256_extracti128_si256::<1>(v));
                at = middle.add(sets[1].count_ones() as usize);
            }
        }
    }

    #[inline(always)]
    fn put(self, words: &mut [u16; MASKED], set: u64, parts: &Self::Parts, at: usize) {
        assert!(at + set.count_ones() as usize <= MOST);
        // SAFETY: as above.
        unsafe {
            let (shift, mut at) = (_mm_cvtsi32_si128(parts.1 as i32), parts.0.as_ptr().add(at));
            for (k, sets) in set.to_le_bytes().as_chunks::<2>().0.iter().enumerate() {
                let [low, high] = sets.map(|set| PLACES[set as usize]);
                let middle = at.add(sets[0].count_ones() as usize);
                let v = _mm256_shuffle_epi8(load_halves(at, middle), both_bytes(low, high));
                let to = words.as_mut_ptr().add(16 * k);
                store(to, _mm256_or_si256(load(to), _mm256_sll_epi16(v, shift)));
                at = middle.add(sets[1].count_ones() as usize);
            }
        }
    }

    #[inline(always)]
    fn sampled_widths(self, words: &[u16], widths: &mut [u8]) {
        assert!(4 * widths.len() >= words.len());
        for (i, words) in words.as_chunks::<64>().0.iter().enumerate() {
            // SAFETY: the processor has the level, as the token says; 16 widths are stored.
            unsafe { widths16(words, widths.as_mut_ptr().add(16 * i)) };
        }
    }
}

/// Words of 32 and of 64 bits: the same but for the instructions' names.
macro_rules! bits {
    ($w:ty, $table:ident, $within:literal, $pack:path, $set1:ident, $srlv:ident, $sllv:ident, $sub:ident, $srl:ident,
     $sll:ident, $nonzero:ident, $listed:ident, $places:ident, $widths:expr) => {
        impl BitVectors<$w> for Avx2 {
            const UNPACKED: usize = 8;
            const WITHIN: u32 = $within;
            type Parts = InMemory<$w, { MOST + 32 / size_of::<$w>() }>;

            #[inline(always)]
            fn unpack_parts(self, packed: &[u8], count: usize, n: u32, width: u32, parts: &mut Self::Parts) {
                // Numbers of words that the compiler knows.
                match count {
                    0..=16 => parts.unpack(self, packed, MOST / 2, n, width),
                    _ => parts.unpack(self, packed, MOST, n, width),
                }
            }

            #[inline(always)]
            unsafe fn unpack<const WITHIN: bool>(self, packed: &[u8], at: usize, n: u32, to: *mut $w) {
                const LANES: usize = 256 / <$w>::BITS as usize;
                let row = &$table[n as usize];
                // SAFETY: the processor has the level, as the token says; n + 24 bytes from byte `at` and eight words.
                unsafe {
                    for v in 0..8 / LANES {
                        let start = |i: usize| packed.as_ptr().add(at + (v * LANES + i) * n as usize / 8);
                        let (low, high) = (start(0), start(LANES / 2));
                        let (bytes, shift) = (row.bytes.load(v), row.shift.load(v));
                        let mut words = $srlv(_mm256_shuffle_epi8(load_halves(low, high), bytes), shift);
                        if !WITHIN {
                            let [low, high] = [low, high].map(|half| half.add(size_of::<$w>()));
                            let rest = _mm256_shuffle_epi8(load_halves(low, high), bytes);
                            let left = $sub($set1(<$w>::BITS as _), shift);
                            words = _mm256_or_si256(words, $sllv(rest, left));
                        }
                        let keep = $set1((<$w>::MAX >> (<$w>::BITS - n)) as _);
                        store(to.add(v * LANES), _mm256_and_si256(words, keep));
                    }
                }
            }

            #[inline(always)]
            fn pack(self, words: &[$w], n: u32, out: &mut [u8]) {
                $pack(self, words, n, out);
            }

            #[inline(always)]
            fn wider(self, words: &[$w; MASKED], width: u32) -> u64 {
                const LANES: usize = 256 / <$w>::BITS as usize;
                let mut set = 0;
                // SAFETY: the processor has the level, as the token says; `LANES` words at a time.
                unsafe {
                    let shift = _mm_cvtsi32_si128(width as i32);
                    for i in (0..MASKED).step_by(LANES) {
                        set |= u64::from($nonzero($srl(load(words.as_ptr().add(i)), shift))) << i;
                    }
                }
                set
            }

            #[inline(always)]
            fn take(self, words: &[$w; MASKED], width: u32, set: u64, to: &mut [$w]) {
                const LANES: usize = 256 / <$w>::BITS as usize;
                assert!(to.len() >= set.count_ones() as usize + LANES);
                // SAFETY: the processor has the level, as the token says; `LANES` places from each that a word takes.
                unsafe {
                    let (shift, mut at) = (_mm_cvtsi32_si128(width as i32), to.as_mut_ptr());
                    for i in (0..MASKED).step_by(LANES) {
                        let own = (set >> i) as usize & ((1 << LANES) - 1);
                        let v = $srl(load(words.as_ptr().add(i)), shift);
                        store(at, _mm256_permutevar8x32_epi32(v, lanes_of($listed[own])));
                        at = at.add(own.count_ones() as usize);
                    }
                }
            }

            #[inline(always)]
            fn put(self, words: &mut [$w; MASKED], set: u64, parts: &Self::Parts, at: usize) {
                const LANES: usize = 256 / <$w>::BITS as usize;
                assert!(at + set.count_ones() as usize <= MOST);
                // SAFETY: as above.
                unsafe {
                    let (shift, mut at) = (_mm_cvtsi32_si128(parts.1 as i32), parts.0.as_ptr().add(at));
                    for i in (0..MASKED).step_by(LANES) {
                        let own = (set >> i) as usize & ((1 << LANES) - 1);
                        let places = lanes_of($places[own]);
                        let none = _mm256_cmpeq_epi32(places, _mm256_set1_epi32(NO_PLACE as i32));
                        let v = _mm256_andnot_si256(none, _mm256_permutevar8x32_epi32(load(at), places));
                        let to = words.as_mut_ptr().add(i);
                        store(to, _mm256_or_si256(load(to), $sll(v, shift)));
                        at = at.add(own.count_ones() as usize);
                    }
                }
            }

            #[inline(always)]
            fn sampled_widths(self, words: &[$w], widths: &mut [u8]) {
                assert!(4 * widths.len() >= words.len());
                const SAMPLES: usize = 4 * 256 / <$w>::BITS as usize;
                for (i, words) in words.as_chunks::<{ 4 * SAMPLES }>().0.iter().enumerate() {
                    // SAFETY: the processor has the level, as the token says; `SAMPLES` widths are stored.
                    unsafe { $widths(words, widths.as_mut_ptr().add(SAMPLES * i)) };
                }
            }
        }
    };
}

/// Stores the widths of each fourth of 64 words.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn widths16(words: &[u16; 64], to: *mut u8) {
    // SAFETY: twice 16 words at a time; as many widths are stored as the caller promises.
    unsafe {
        // Of two vectors one's samples in the low halves of 64-bit lanes, the other's in the high halves.
        let of = |k: usize| {
            let low = _mm256_srli_epi64::<48>(load(words.as_ptr().add(k)));
            let high = _mm256_srli_epi64::<16>(load(words.as_ptr().add(k + 16)));
            width16(_mm256_blend_epi16::<0b0100_0100>(low, high))
        };
        let words = _mm256_packus_epi32(of(0), of(32));
        let bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        _mm_storeu_si128(to.cast(), bytes);
    }
}

/// The same of 128 words.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn widths32(words: &[u32; 128], to: *mut u8) {
    // SAFETY: 32 words at a time; as many widths are stored as the caller promises.
    unsafe {
        let width = |i: usize| {
            let v = |k: usize| _mm256_loadu_ps(words.as_ptr().add(32 * i + 8 * k).cast());
            let high = |k| _mm256_shuffle_ps::<0b11_10_11_10>(v(k), v(k + 1));
            width32(_mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(high(0), high(2))))
        };
        let [low, high] = [0, 2].map(|i| _mm256_packus_epi32(width(i), width(i + 1)));
        store(to, _mm256_packus_epi16(low, high));
    }
}

/// The same of 64 words.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn widths64(words: &[u64; 64], to: *mut u8) {
    // SAFETY: as above, 16 words at a time.
    unsafe {
        let width = |i: usize| {
            let v = |k: usize| load(words.as_ptr().add(16 * i + 4 * k));
            let odd = |k| _mm256_unpackhi_epi64(v(k), v(k + 1));
            width64(_mm256_permute2x128_si256::<0x31>(odd(0), odd(2)))
        };
        let [low, high] = [0, 2].map(|i| low_halves(width(i), width(i + 1)));
        let words = _mm256_packus_epi32(low, high);
        let bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        _mm_storeu_si128(to.cast(), bytes);
    }
}

bits!(
    u32,
    UNPACK32,
    25,
    pack::pack32,
    _mm256_set1_epi32,
    _mm256_srlv_epi32,
    _mm256_sllv_epi32,
    _mm256_sub_epi32,
    _mm256_srl_epi32,
    _mm256_sll_epi32,
    nonzero32,
    LISTED,
    PLACES,
    widths32
);
bits!(
    u64,
    UNPACK64,
    57,
    pack::pack64,
    _mm256_set1_epi64x,
    _mm256_srlv_epi64,
    _mm256_sllv_epi64,
    _mm256_sub_epi64,
    _mm256_srl_epi64,
    _mm256_sll_epi64,
    nonzero64,
    LISTED_HALVES,
    PLACES_HALVES,
    widths64
);
