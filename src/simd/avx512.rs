//! AVX-512 with VBMI2 and VNNI: two registers have a number for each lane.

mod bits;
pub mod byte_sums;
mod elements;
pub mod extremes;
pub mod lanes;
mod of_words;
mod pack;
pub mod stream;

use std::arch::asm;
use std::arch::x86_64::*;

use super::numbers::{CodeVectors, NumberVectors};
use crate::exec::Avx512;
use crate::host::memory::Integer;

/// The same vector, of which the compiler no longer knows where it comes from. What it is made of stays as it is: one
/// load stays one. A loop that copies it does not become two.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn opaque(mut v: __m512i) -> __m512i {
    // SAFETY: there is no instruction in it.
    unsafe { asm!("/* {0} */", inout(zmm_reg) v, options(pure, nomem, nostack, preserves_flags)) };
    v
}

/// The numbers of an array as a vector.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn load<T: Integer, const N: usize>(from: &[T; N]) -> __m512i {
    const { assert!(N * size_of::<T>() == 64) };
    // SAFETY: they are 64 bytes.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

/// Registers that have the numbers of all lanes.
pub const REGISTERS: usize = 2;

/// For position 4·b + i the lane 4·i + b, and the other way round.
const TURNED: [u32; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];

/// Of two registers with eight quads the first numbers, then the second ones; 2 more: the third and fourth ones.
const FIRST_AND_SECOND: [u32; 16] = [0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29];

/// For byte 8·i + l the byte 8·l + i.
const BYTES_TURNED: [u8; 64] = {
    let mut turned = [0; 64];
    let mut at = 0;
    while at < 64 {
        turned[at] = (at % 8 * 8 + at / 8) as u8;
        at += 1;
    }
    turned
};

/// How many bits each number of four bits has, by how much each of them counts as a power of two.
const BITS_OF: [[u8; 16]; 5] = {
    let mut all = [[0; 16]; 5];
    let mut at = 0;
    while at < 5 * 16 {
        all[at / 16][at % 16] = ((at as u32 % 16).count_ones() << (at / 16)) as u8;
        at += 1;
    }
    all
};

/// Bits of sums, and those that are carried, of three vectors of bits.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn add_bits(a: __m512i, b: __m512i, c: __m512i) -> (__m512i, __m512i) {
    // SAFETY: as the caller promises.
    unsafe { (_mm512_ternarylogic_epi64::<0x96>(a, b, c), _mm512_ternarylogic_epi64::<0xE8>(a, b, c)) }
}

/// Places of the numbers of two vectors: those at even places, and those at odd ones.
const EVEN: &[u32; 16] = &[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
const ODD: &[u32; 16] = &[1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];
/// Those of the first half of both, one by one, and of the second.
const FIRST: &[u32; 16] = &[0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];
const SECOND: &[u32; 16] = &[8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31];

impl NumberVectors for Avx512 {
    const N: usize = 16;
    type V = __m512i;

    instructions! {
        fn splat(number: u32) -> __m512i { _mm512_set1_epi32(number as i32) }
        fn add(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi32(a, b) }
        fn sub(a: __m512i, b: __m512i) -> __m512i { _mm512_sub_epi32(a, b) }
        fn mul(a: __m512i, b: __m512i) -> __m512i { _mm512_mullo_epi32(a, b) }
        fn and(a: __m512i, b: __m512i) -> __m512i { _mm512_and_si512(a, b) }
        fn or(a: __m512i, b: __m512i) -> __m512i { _mm512_or_si512(a, b) }
        fn xor(a: __m512i, b: __m512i) -> __m512i { _mm512_xor_si512(a, b) }
        fn nearest(v: __m512i, factor: f32) -> __m512i {
            _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(v), _mm512_set1_ps(factor)))
        }
        fn unzip(a: __m512i, b: __m512i) -> [__m512i; 2] {
            [_mm512_permutex2var_epi32(a, load(EVEN), b), _mm512_permutex2var_epi32(a, load(ODD), b)]
        }
        fn zip(even: __m512i, odd: __m512i) -> [__m512i; 2] {
            [
                _mm512_permutex2var_epi32(even, load(FIRST), odd),
                _mm512_permutex2var_epi32(even, load(SECOND), odd),
            ]
        }
        fn shifted_in(before: __m512i, v: __m512i) -> __m512i { _mm512_alignr_epi32::<15>(v, before) }
        fn ahead(v: __m512i, behind: __m512i) -> __m512i { _mm512_alignr_epi32::<1>(behind, v) }
        fn two_ahead(v: __m512i, behind: __m512i) -> __m512i { _mm512_alignr_epi32::<2>(behind, v) }
        fn load(from: &[u32]) -> __m512i {{
            assert!(from.len() >= 16);
            _mm512_loadu_si512(from.as_ptr().cast())
        }}
        fn store(v: __m512i, to: &mut [u32]) {{
            assert!(to.len() >= 16);
            _mm512_storeu_si512(to.as_mut_ptr().cast(), v)
        }}
        fn load_short(from: &[u16]) -> __m512i {{
            assert!(from.len() >= 16);
            _mm512_cvtepi16_epi32(_mm256_loadu_si256(from.as_ptr().cast()))
        }}
        fn left<const N: u32>(v: __m512i) -> __m512i { _mm512_slli_epi32::<N>(v) }
        fn right_signed<const N: u32>(v: __m512i) -> __m512i { _mm512_srai_epi32::<N>(v) }
    }
}

impl CodeVectors<REGISTERS> for Avx512 {
    type Mask = __mmask16;

    instructions! {
        fn mul_high(a: __m512i, b: __m512i) -> __m512i {{
            let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(a, b));
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            _mm512_mask_blend_epi32(0xAAAA, even, odd)
        }}
        fn max(a: __m512i, b: __m512i) -> __m512i { _mm512_max_epu32(a, b) }
        fn min(a: __m512i, b: __m512i) -> __m512i { _mm512_min_epu32(a, b) }
        fn left_by(v: __m512i, bits: __m512i) -> __m512i { _mm512_sllv_epi32(v, bits) }
        fn right_by(v: __m512i, bits: __m512i) -> __m512i { _mm512_srlv_epi32(v, bits) }
        fn octave(v: __m512i) -> __m512i { _mm512_sub_epi32(_mm512_set1_epi32(31), _mm512_lzcnt_epi32(v)) }
        fn less(a: __m512i, b: __m512i) -> __mmask16 { _mm512_cmplt_epu32_mask(a, b) }
        fn select(mask: __mmask16, a: __m512i, b: __m512i) -> __m512i { _mm512_mask_blend_epi32(mask, b, a) }
        fn total(v: __m512i) -> u32 { _mm512_reduce_add_epi32(v) as u32 }
        fn largest(v: __m512i) -> u32 { _mm512_reduce_max_epu32(v) }
        fn occurrences(bytes: __m512i, byte: u8) -> u32 {
            _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8)).count_ones()
        }
        fn right<const N: u32>(v: __m512i) -> __m512i { _mm512_srli_epi32::<N>(v) }
        fn both(a: __mmask16, b: __mmask16) -> __mmask16 { a & b }
        fn mask(bits: u32) -> __mmask16 { bits as u16 }
        fn bits(mask: __mmask16) -> u32 { mask.into() }
    }

    #[inline(always)]
    fn look_up<const L: usize>(self, table: &[u32; L], index: __m512i) -> __m512i {
        const { assert!(L.is_power_of_two()) };
        // SAFETY: the processor has the level, as the token says; indices are below L.
        unsafe {
            let index = _mm512_and_si512(index, _mm512_set1_epi32(L as i32 - 1));
            _mm512_i32gather_epi32::<4>(index, table.as_ptr().cast())
        }
    }

    #[inline(always)]
    fn pack_bytes(self, from: &[u32]) -> __m512i {
        let v: [__m512i; 4] = [self.load(from), self.load(&from[16..]), self.load(&from[32..]), self.load(&from[48..])];
        // SAFETY: the processor has the level, as the token says.
        unsafe {
            let bytes = _mm512_packus_epi16(_mm512_packus_epi32(v[0], v[1]), _mm512_packus_epi32(v[2], v[3]));
            _mm512_permutexvar_epi32(load(&TURNED), bytes)
        }
    }

    #[inline(always)]
    fn unpack_short(self, bytes: __m512i, to: &mut [u16]) {
        assert!(to.len() >= 64);
        // SAFETY: as above; there are 64 numbers.
        unsafe {
            let low = _mm512_cvtepi8_epi16(_mm512_castsi512_si256(bytes));
            let high = _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64::<1>(bytes));
            _mm512_storeu_si512(to.as_mut_ptr().cast(), low);
            _mm512_storeu_si512(to.as_mut_ptr().add(32).cast(), high);
        }
    }

    #[inline(always)]
    fn load_quads(self, from: &[u32]) -> [__m512i; 4] {
        let v: [__m512i; 4] = [self.load(from), self.load(&from[16..]), self.load(&from[32..]), self.load(&from[48..])];
        // SAFETY: the processor has the level, as the token says.
        unsafe {
            let first = load(&FIRST_AND_SECOND);
            let third = _mm512_add_epi32(first, _mm512_set1_epi32(2));
            let (a, b) = (_mm512_permutex2var_epi32(v[0], first, v[1]), _mm512_permutex2var_epi32(v[2], first, v[3]));
            let (c, d) = (_mm512_permutex2var_epi32(v[0], third, v[1]), _mm512_permutex2var_epi32(v[2], third, v[3]));
            [
                _mm512_shuffle_i64x2::<0x44>(a, b),
                _mm512_shuffle_i64x2::<0xEE>(a, b),
                _mm512_shuffle_i64x2::<0x44>(c, d),
                _mm512_shuffle_i64x2::<0xEE>(c, d),
            ]
        }
    }

    #[inline(always)]
    fn store_quads(self, v: [__m512i; 4], to: &mut [u32]) {
        // SAFETY: the processor has the level, as the token says.
        let quads = unsafe {
            let turned = load(&TURNED);
            let [a, b, c, d] = v;
            let (a, b) = (_mm512_permutexvar_epi32(turned, a), _mm512_permutexvar_epi32(turned, b));
            let (c, d) = (_mm512_permutexvar_epi32(turned, c), _mm512_permutexvar_epi32(turned, d));
            let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
            let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
            [
                _mm512_unpacklo_epi64(ab, cd),
                _mm512_unpackhi_epi64(ab, cd),
                _mm512_unpacklo_epi64(ab_high, cd_high),
                _mm512_unpackhi_epi64(ab_high, cd_high),
            ]
        };
        for i in 0..4 {
            self.store(quads[i], &mut to[16 * i..]);
        }
    }

    #[inline(always)]
    fn put(self, states: &mut [__m512i; 2], masks: [__mmask16; 2], words: &mut [u16], at: &mut usize) {
        let mask = u32::from(masks[0]) | u32::from(masks[1]) << 16;
        let count = mask.count_ones() as usize;
        *at -= count;
        let place = &mut words[*at..*at + count];
        // SAFETY: the processor has the level, as the token says; as many words are stored as there is place for.
        unsafe {
            let low = _mm512_castsi256_si512(_mm512_cvtepi32_epi16(states[0]));
            let all = _mm512_inserti64x4::<1>(low, _mm512_cvtepi32_epi16(states[1]));
            let all = _mm512_maskz_compress_epi16(mask, all);
            _mm512_mask_storeu_epi16(place.as_mut_ptr().cast(), ((1u64 << count) - 1) as u32, all);
            states[0] = _mm512_mask_srli_epi32::<16>(states[0], masks[0], states[0]);
            states[1] = _mm512_mask_srli_epi32::<16>(states[1], masks[1], states[1]);
        }
    }

    #[inline(always)]
    fn refill(self, states: &mut [__m512i; 2], masks: [__mmask16; 2], words: &[[u8; 2]], at: &mut usize) {
        let mask = u32::from(masks[0]) | u32::from(masks[1]) << 16;
        let words = &words[*at..*at + 32];
        *at += mask.count_ones() as usize;
        // SAFETY: the processor has the level, as the token says; 64 bytes are loaded of 32 words.
        unsafe {
            let taken = _mm512_maskz_expand_epi16(mask, _mm512_loadu_si512(words.as_ptr().cast()));
            let low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(taken));
            let high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64::<1>(taken));
            states[0] = _mm512_or_si512(_mm512_mask_slli_epi32::<16>(states[0], masks[0], states[0]), low);
            states[1] = _mm512_or_si512(_mm512_mask_slli_epi32::<16>(states[1], masks[1], states[1]), high);
        }
    }

    #[inline(always)]
    fn look_up_direct<const L: usize>(self, table: &[u32; L], index: __m512i) -> __m512i {
        const { assert!(L >= 64) };
        // SAFETY: the processor has the level, as the token says; 64 entries are there.
        unsafe {
            let at = table.as_ptr();
            let (a, b) = (_mm512_loadu_si512(at.cast()), _mm512_loadu_si512(at.add(16).cast()));
            let (c, d) = (_mm512_loadu_si512(at.add(32).cast()), _mm512_loadu_si512(at.add(48).cast()));
            let low = _mm512_permutex2var_epi32(a, index, b);
            let high = _mm512_permutex2var_epi32(c, index, d);
            _mm512_mask_blend_epi32(_mm512_test_epi32_mask(index, _mm512_set1_epi32(32)), low, high)
        }
    }

    const FEW: u32 = 32;

    #[inline(always)]
    fn look_up_few<const L: usize>(self, table: &[u32; L], index: __m512i) -> __m512i {
        const { assert!(L >= 32) };
        // SAFETY: the processor has the level, as the token says; 32 entries are there.
        unsafe {
            let at = table.as_ptr();
            let (a, b) = (_mm512_loadu_si512(at.cast()), _mm512_loadu_si512(at.add(16).cast()));
            _mm512_permutex2var_epi32(a, index, b)
        }
    }

    // Each token becomes a bit of a word of 64. Of 16 vectors of these words the bits are added up as binary numbers
    // whose digits are vectors, and what the eight words of a digit have for each bit is counted.
    #[inline(always)]
    fn count_range(self, tokens: &[u32; 32], range: u32, counts: &mut [u16; 64]) -> bool {
        // SAFETY: the processor has the level, as the token says; 128 bytes of tokens, and 64 counts.
        unsafe {
            let (zero, one) = (_mm512_setzero_si512(), _mm512_set1_epi64(1));
            // Shifts of less than 0 or more than 63 bits leave nothing.
            let first = _mm512_set1_epi64(64 * i64::from(range));
            let mut digits = [zero; 5];
            let mut carried = [zero; 4];
            for pair in 0..8 {
                let at = tokens.as_ptr().add(4 * pair);
                let a = _mm512_cvtepu8_epi64(_mm_loadl_epi64(at.cast()));
                let b = _mm512_cvtepu8_epi64(_mm_loadl_epi64(at.add(2).cast()));
                let a = _mm512_sllv_epi64(one, _mm512_sub_epi64(a, first));
                let b = _mm512_sllv_epi64(one, _mm512_sub_epi64(b, first));
                let mut more;
                (digits[0], more) = add_bits(digits[0], a, b);
                // Two carries of a digit go into the next one.
                let mut digit = 1;
                while pair >> (digit - 1) & 1 == 1 {
                    (digits[digit], more) = add_bits(digits[digit], carried[digit - 1], more);
                    digit += 1;
                }
                if digit == 4 {
                    digits[4] = more;
                } else {
                    carried[digit - 1] = more;
                }
            }
            let turned = _mm512_loadu_si512(BYTES_TURNED.as_ptr().cast());
            let columns = _mm512_set1_epi64(0x8040_2010_0804_0201u64 as i64);
            let low = _mm512_set1_epi8(15);
            let mut sums = zero;
            for digit in 0..5 {
                let words = _mm512_permutexvar_epi8(turned, digits[digit]);
                let bits = _mm512_gf2p8affine_epi64_epi8::<0>(columns, words);
                let table = _mm512_broadcast_i32x4(_mm_loadu_si128(BITS_OF[digit].as_ptr().cast()));
                let high = _mm512_and_si512(_mm512_srli_epi16::<4>(bits), low);
                sums = _mm512_add_epi8(sums, _mm512_shuffle_epi8(table, _mm512_and_si512(bits, low)));
                sums = _mm512_add_epi8(sums, _mm512_shuffle_epi8(table, high));
            }
            let (at, behind) = (counts.as_mut_ptr(), counts.as_mut_ptr().add(32));
            let first = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(sums));
            let second = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(sums));
            let first = _mm512_add_epi16(first, _mm512_loadu_si512(at.cast()));
            let second = _mm512_add_epi16(second, _mm512_loadu_si512(behind.cast()));
            _mm512_storeu_si512(at.cast(), first);
            _mm512_storeu_si512(behind.cast(), second);
        }
        true
    }
}
