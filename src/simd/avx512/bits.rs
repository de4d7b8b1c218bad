//! Packed words for AVX-512: byte permutes gather what a lane needs, variable shifts align it.
//!
//! Unpacking a vector of L-bit lanes: lane i wants the bits from i·n on. One permute fetches its L/8 bytes from byte
//! ⌊i·n/8⌋ on, a second one the L/8 bytes behind, and a funnel shift by i·n mod 8 joins them.

use std::arch::x86_64::*;

use super::lanes::{Lanes, left32, left64, right32, right64};
use super::{opaque, pack};
use crate::exec::Avx512;
use crate::simd::bits::{BitVectors, MASKED, MOST, begins, first_bits};

/// Constants of unpacking n-bit values into lanes.
#[derive(Clone, Copy)]
struct Unpack {
    low: Lanes<u8, 64>,
    high: Lanes<u8, 64>,
    shift: Lanes<u8, 64>,
}

const fn unpack_table<const ROWS: usize>(lane_bytes: usize) -> [Unpack; ROWS] {
    let mut table = [Unpack { low: Lanes([0; 64]), high: Lanes([0; 64]), shift: Lanes([0; 64]) }; ROWS];
    let mut n = 1;
    while n < ROWS {
        table[n].low = Lanes(begins(n, lane_bytes, 64));
        table[n].high = table[n].low;
        let mut i = 0;
        while i < 64 {
            // Bytes beyond the vector are not wanted.
            table[n].high.0[i] = (table[n].low.0[i] as usize + lane_bytes) as u8;
            i += 1;
        }
        table[n].shift = Lanes(first_bits(n, lane_bytes));
        n += 1;
    }
    table
}

static UNPACK16: [Unpack; 17] = unpack_table(2);
static UNPACK32: [Unpack; 33] = unpack_table(4);
static UNPACK64: [Unpack; 65] = unpack_table(8);

#[inline]
#[target_feature(enable = "avx512bw")]
fn right16(v: __m512i, bits: __m512i) -> __m512i {
    opaque(_mm512_srlv_epi16(v, bits))
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn left16(v: __m512i, bits: __m512i) -> __m512i {
    opaque(_mm512_sllv_epi16(v, bits))
}

/// Stores the widths of each fourth of 64 words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd")]
unsafe fn widths16(words: &[u16; 64], to: *mut u8) {
    // SAFETY: 32 words at a time; 16 widths are stored.
    unsafe {
        let v = |k: usize| _mm512_loadu_si512(words.as_ptr().add(32 * k).cast());
        // Each fourth of the first vector in the low halves of 64-bit lanes, of the second one in the high halves.
        let high = _mm512_set1_epi64(0xffff << 32);
        let sample =
            _mm512_ternarylogic_epi64::<0xF8>(_mm512_srli_epi64::<48>(v(0)), _mm512_srli_epi64::<16>(v(1)), high);
        let widths = _mm512_sub_epi32(_mm512_set1_epi32(32), _mm512_lzcnt_epi32(sample));
        _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(widths));
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512cd")]
unsafe fn widths32(words: &[u32; 64], to: *mut u8) {
    // SAFETY: as above, 16 words at a time.
    unsafe {
        let v = |i: usize| _mm512_loadu_ps(words.as_ptr().add(16 * i).cast());
        let high = |i| _mm512_shuffle_ps::<0b11_10_11_10>(v(i), v(i + 1));
        let sample = _mm512_castps_si512(_mm512_shuffle_ps::<0b11_01_11_01>(high(0), high(2)));
        let widths = _mm512_sub_epi32(_mm512_set1_epi32(32), _mm512_lzcnt_epi32(sample));
        _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(widths));
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512cd")]
unsafe fn widths64(words: &[u64; 64], to: *mut u8) {
    /// Of the 64-bit lanes of two vectors, taken in pairs, the second pair of each two.
    const SECOND_PAIRS: Lanes<u64, 8> = Lanes([2, 3, 6, 7, 10, 11, 14, 15]);
    // SAFETY: as above, 8 words at a time.
    unsafe {
        for half in 0..2 {
            let v = |i: usize| _mm512_loadu_si512(words.as_ptr().add(32 * half + 8 * i).cast());
            let odd = |i| _mm512_unpackhi_epi64(v(i), v(i + 1));
            let sample = _mm512_permutex2var_epi64(odd(0), SECOND_PAIRS.load(), odd(2));
            let widths = _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_lzcnt_epi64(sample));
            _mm_storel_epi64(to.add(8 * half).cast(), _mm512_cvtepi64_epi8(widths));
        }
    }
}

/// Numbers from 0 on, of which a vector from any part on is looked up.
static ASCENDING: [u8; MOST + 64] = {
    let mut numbers = [0; MOST + 64];
    let mut i = 0;
    while i < numbers.len() {
        numbers[i] = i as u8;
        i += 1;
    }
    numbers
};

/// Parts in vectors, and how many there are.
pub struct PartVectors<const VECTORS: usize>([__m512i; VECTORS], usize);

impl<const VECTORS: usize> Default for PartVectors<VECTORS> {
    #[inline(always)]
    fn default() -> Self {
        // SAFETY: any bits are vectors.
        PartVectors(unsafe { std::mem::zeroed() }, 0)
    }
}

/// For each word of a set its part, by a number for each word.
#[inline]
#[target_feature(enable = "avx512bw")]
fn from16(set: __mmask32, parts: &PartVectors<1>, numbers: &[u8; 32]) -> __m512i {
    // SAFETY: they are 32.
    let numbers = _mm512_cvtepu8_epi16(unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) });
    _mm512_maskz_permutexvar_epi16(set, numbers, parts.0[0])
}

#[inline]
#[target_feature(enable = "avx512f")]
fn from32(set: __mmask16, parts: &PartVectors<2>, numbers: &[u8; 16]) -> __m512i {
    // SAFETY: they are 16.
    let numbers = _mm512_cvtepu8_epi32(unsafe { _mm_loadu_si128(numbers.as_ptr().cast()) });
    _mm512_maskz_permutex2var_epi32(set, parts.0[0], numbers, parts.0[1])
}

#[inline]
#[target_feature(enable = "avx512f")]
fn from64(set: __mmask8, PartVectors([a, b, c, d], count): &PartVectors<4>, numbers: &[u8; 8]) -> __m512i {
    let numbers = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(i64::from_le_bytes(*numbers)));
    let parts = _mm512_maskz_permutex2var_epi64(set, *a, numbers, *b);
    if *count <= MOST / 2 {
        return parts;
    }
    let beyond = set & _mm512_test_epi64_mask(numbers, _mm512_set1_epi64(16));
    _mm512_mask_mov_epi64(parts, beyond, _mm512_permutex2var_epi64(*c, numbers, *d))
}

/// For each word of a set how many parts come before it.
#[inline]
#[target_feature(enable = "avx512vbmi2")]
fn numbers_of(set: u64, at: usize) -> [u8; MASKED] {
    assert!(at <= MOST);
    let mut numbers = [0; MASKED];
    // SAFETY: 64 numbers from there on are loaded, and as many stored.
    unsafe {
        let own = _mm512_maskz_expand_epi8(set, _mm512_loadu_si512(ASCENDING.as_ptr().add(at).cast()));
        _mm512_storeu_si512(numbers.as_mut_ptr().cast(), own);
    }
    numbers
}

/// Words of 16, 32 and 64 bits: the same but for the instructions' names.
macro_rules! bits {
    ($w:ty, $table:ident, $within:literal, $pack:path, $set1:ident, $funnel:ident, $right:ident, $left:ident,
     $above:ident, $compress:ident, $widths:ident, $unpack:ident, $vectors:literal, $from:ident) => {
        /// The values of `n` bits that are packed at `packed`, as many as lanes.
        ///
        /// # Safety
        /// 64 bytes at `packed` are readable.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
        unsafe fn $unpack<const WITHIN: bool>(packed: *const u8, n: u32) -> __m512i {
            let row = &$table[n as usize];
            // SAFETY: as the caller promises.
            unsafe {
                let x = _mm512_loadu_si512(packed.cast());
                let low = _mm512_permutexvar_epi8(row.low.load(), x);
                let v = if WITHIN {
                    $right(low, row.shift.load())
                } else {
                    $funnel(low, _mm512_permutexvar_epi8(row.high.load(), x), row.shift.load())
                };
                _mm512_and_si512(v, $set1((u64::MAX >> (64 - n)) as _))
            }
        }

        impl BitVectors<$w> for Avx512 {
            const UNPACKED: usize = 512 / <$w>::BITS as usize;
            const WITHIN: u32 = $within;
            type Parts = PartVectors<$vectors>;

            #[inline(always)]
            unsafe fn unpack<const WITHIN: bool>(self, packed: &[u8], at: usize, n: u32, to: *mut $w) {
                // SAFETY: the processor has the level, as the token says; 64 bytes from `at` on and at `to`.
                unsafe { _mm512_storeu_si512(to.cast(), $unpack::<WITHIN>(packed.as_ptr().add(at), n)) }
            }

            #[inline(always)]
            fn pack(self, words: &[$w], n: u32, out: &mut [u8]) {
                $pack(self, words, n, out);
            }

            #[inline(always)]
            fn wider(self, words: &[$w; MASKED], width: u32) -> u64 {
                const LANES: usize = 512 / <$w>::BITS as usize;
                let mut set = 0;
                // SAFETY: the processor has the level, as the token says; `LANES` words at a time.
                unsafe {
                    let limit = $set1(((1u128 << width) - 1) as _);
                    for i in (0..MASKED).step_by(LANES) {
                        set |= u64::from($above(_mm512_loadu_si512(words.as_ptr().add(i).cast()), limit)) << i;
                    }
                }
                set
            }

            #[inline(always)]
            fn take(self, words: &[$w; MASKED], width: u32, set: u64, to: &mut [$w]) {
                const LANES: usize = 512 / <$w>::BITS as usize;
                assert!(to.len() >= set.count_ones() as usize + LANES);
                // SAFETY: the processor has the level, as the token says; `LANES` places from each that a word takes.
                unsafe {
                    let (shift, mut at) = ($set1(width as _), to.as_mut_ptr());
                    for i in (0..MASKED).step_by(LANES) {
                        let own = (set >> i) as _;
                        let v = $right(_mm512_loadu_si512(words.as_ptr().add(i).cast()), shift);
                        _mm512_storeu_si512(at.cast(), $compress(own, v));
                        at = at.add(own.count_ones() as usize);
                    }
                }
            }

            #[inline(always)]
            fn unpack_parts(self, packed: &[u8], count: usize, n: u32, width: u32, parts: &mut Self::Parts) {
                let vector = 8 * n as usize / size_of::<$w>();
                let many = if $vectors > 2 && count <= MOST / 2 { 2 } else { $vectors };
                assert!(packed.len() >= (many - 1) * vector + 64);
                parts.1 = count;
                // SAFETY: the processor has the level, as the token says; 64 bytes from each place on.
                unsafe {
                    // Not up to `many`: then vectors would stay in memory.
                    for (i, parts) in parts.0.iter_mut().enumerate() {
                        if i < many {
                            let v = $unpack::<false>(packed.as_ptr().add(vector * i), n);
                            *parts = $left(v, $set1(width as _));
                        }
                    }
                }
            }

            // Of what is stored as vectors and loaded from another place on each load would wait for the cache.
            #[inline(always)]
            fn put(self, words: &mut [$w; MASKED], set: u64, parts: &PartVectors<{ $vectors }>, at: usize) {
                const LANES: usize = 64 / size_of::<$w>();
                // SAFETY: the processor has the level, as the token says; `LANES` words at a time.
                unsafe {
                    let numbers = numbers_of(set, at);
                    for (i, numbers) in numbers.as_chunks::<LANES>().0.iter().enumerate() {
                        let v = $from((set >> (LANES * i)) as _, parts, numbers);
                        let to = words.as_mut_ptr().add(LANES * i).cast();
                        _mm512_storeu_si512(to, _mm512_or_si512(_mm512_loadu_si512(to), v));
                    }
                }
            }

            #[inline(always)]
            fn sampled_widths(self, words: &[$w], widths: &mut [u8]) {
                assert!(4 * widths.len() >= words.len());
                for (i, words) in words.as_chunks::<64>().0.iter().enumerate() {
                    // SAFETY: the processor has the level, as the token says; 16 widths are stored.
                    unsafe { $widths(words, widths.as_mut_ptr().add(16 * i)) };
                }
            }
        }
    };
}

bits!(
    u16,
    UNPACK16,
    0,
    pack::pack16,
    _mm512_set1_epi16,
    _mm512_shrdv_epi16,
    right16,
    left16,
    _mm512_cmpgt_epu16_mask,
    _mm512_maskz_compress_epi16,
    widths16,
    unpack16,
    1,
    from16
);
bits!(
    u32,
    UNPACK32,
    25,
    pack::pack32,
    _mm512_set1_epi32,
    _mm512_shrdv_epi32,
    right32,
    left32,
    _mm512_cmpgt_epu32_mask,
    _mm512_maskz_compress_epi32,
    widths32,
    unpack32,
    2,
    from32
);
bits!(
    u64,
    UNPACK64,
    57,
    pack::pack64,
    _mm512_set1_epi64,
    _mm512_shrdv_epi64,
    right64,
    left64,
    _mm512_cmpgt_epu64_mask,
    _mm512_maskz_compress_epi64,
    widths64,
    unpack64,
    4,
    from64
);

/// Constants of unpacking n-bit values into bytes: for each 64-bit lane the bytes that hold its eight values, and the
/// bit at which each of these begins.
struct Unpack8 {
    bytes: Lanes<u8, 64>,
    first_bits: Lanes<u8, 64>,
}

static UNPACK8: [Unpack8; 9] = {
    let mut table = [const { Unpack8 { bytes: Lanes([0; 64]), first_bits: Lanes([0; 64]) } }; 9];
    let mut n = 1;
    while n < 9 {
        let mut i = 0;
        while i < 64 {
            table[n].bytes.0[i] = (i / 8 * n + i % 8) as u8 & 63;
            table[n].first_bits.0[i] = (i % 8 * n) as u8;
            i += 1;
        }
        n += 1;
    }
    table
};

/// The 64 values of `n` bits, 1 ≤ n ≤ 8, that are packed at `packed`: an instruction takes any eight bits of a 64-bit
/// lane.
///
/// # Safety
/// 64 bytes at `packed` are readable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn unpack8(packed: *const u8, n: u32) -> __m512i {
    let row = &UNPACK8[n as usize];
    // SAFETY: as the caller promises.
    unsafe {
        let eights = _mm512_permutexvar_epi8(row.bytes.load(), _mm512_loadu_si512(packed.cast()));
        let v = _mm512_multishift_epi64_epi8(row.first_bits.load(), eights);
        _mm512_and_si512(v, _mm512_set1_epi8((0xffu32 >> (8 - n)) as i8))
    }
}

/// Words of 8 bits. Encoders give them no exceptions.
impl BitVectors<u8> for Avx512 {
    const UNPACKED: usize = 64;
    const WITHIN: u32 = 0;

    type Parts = PartVectors<1>;

    #[inline(always)]
    unsafe fn unpack<const WITHIN: bool>(self, packed: &[u8], at: usize, n: u32, to: *mut u8) {
        // SAFETY: the processor has the level, as the token says; 64 bytes from `at` on and at `to`.
        unsafe { _mm512_storeu_si512(to.cast(), unpack8(packed.as_ptr().add(at), n)) }
    }

    #[inline(always)]
    fn pack(self, words: &[u8], n: u32, out: &mut [u8]) {
        pack::pack8(self, words, n, out);
    }

    #[inline(always)]
    fn unpack_parts(self, packed: &[u8], _count: usize, n: u32, width: u32, parts: &mut PartVectors<1>) {
        assert!(packed.len() >= 64);
        // SAFETY: the processor has the level, as the token says; 64 bytes. High part and width are a byte at most, so
        // nothing is shifted into the next one.
        parts.0[0] = unsafe { _mm512_sll_epi16(unpack8(packed.as_ptr(), n), _mm_cvtsi32_si128(width as i32)) };
    }

    #[inline(always)]
    fn put(self, words: &mut [u8; MASKED], set: u64, parts: &PartVectors<1>, at: usize) {
        // SAFETY: the processor has the level, as the token says; 64 bytes each.
        unsafe {
            let numbers = _mm512_loadu_si512(numbers_of(set, at).as_ptr().cast());
            let v = _mm512_maskz_permutexvar_epi8(set, numbers, parts.0[0]);
            let to = words.as_mut_ptr().cast();
            _mm512_storeu_si512(to, _mm512_or_si512(_mm512_loadu_si512(to), v));
        }
    }
}
