//! AVX2: four registers have a number for each lane. Words go to states and come from them by a permutation for each
//! set of eight states.

mod bits;
mod columns;
mod elements;
pub mod lanes;
mod of_words;
mod pack;
pub mod stream;

use std::arch::x86_64::*;

use super::bits::{LISTED, PLACES};
use super::numbers::{CodeVectors, NumberVectors};
use crate::exec::Avx2;
use crate::host::memory::Integer;

/// The numbers of an array as a vector.
#[inline]
#[target_feature(enable = "avx2")]
pub fn load<T: Integer, const N: usize>(from: &[T; N]) -> __m256i {
    const { assert!(N * size_of::<T>() == 32) };
    // SAFETY: they are 32 bytes.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

/// Registers that have the numbers of all lanes.
pub const REGISTERS: usize = 4;

/// For each set of eight states which of them gives each of eight words, the last of which are taken.
static COMPRESS: [u64; 256] = {
    let mut all = [0; 256];
    let mut set = 1usize;
    while set < 256 {
        all[set] = LISTED[set] << (64 - 8 * set.count_ones());
        set += 1;
    }
    all
};

/// For position 4·b + i the lane 2·i + b.
const TURNED: [u32; 8] = [0, 2, 4, 6, 1, 3, 5, 7];
/// For lane 2·i + b the position 4·b + i.
const TURNED_BACK: [u32; 8] = [0, 4, 1, 5, 2, 6, 3, 7];

/// A permutation as a vector.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn permutation(bytes: u64) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe { _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes as i64)) }
}

/// In each half four vectors of four numbers as columns instead of rows.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn transposed([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    // SAFETY: as the caller promises.
    unsafe {
        let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
        [
            _mm256_unpacklo_epi64(ab, cd),
            _mm256_unpackhi_epi64(ab, cd),
            _mm256_unpacklo_epi64(ab_high, cd_high),
            _mm256_unpackhi_epi64(ab_high, cd_high),
        ]
    }
}

impl NumberVectors for Avx2 {
    const N: usize = 8;
    type V = __m256i;

    instructions! {
        fn splat(number: u32) -> __m256i { _mm256_set1_epi32(number as i32) }
        fn add(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi32(a, b) }
        fn sub(a: __m256i, b: __m256i) -> __m256i { _mm256_sub_epi32(a, b) }
        fn mul(a: __m256i, b: __m256i) -> __m256i { _mm256_mullo_epi32(a, b) }
        fn and(a: __m256i, b: __m256i) -> __m256i { _mm256_and_si256(a, b) }
        fn or(a: __m256i, b: __m256i) -> __m256i { _mm256_or_si256(a, b) }
        fn xor(a: __m256i, b: __m256i) -> __m256i { _mm256_xor_si256(a, b) }
        fn nearest(v: __m256i, factor: f32) -> __m256i {
            _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(v), _mm256_set1_ps(factor)))
        }
        fn unzip(a: __m256i, b: __m256i) -> [__m256i; 2] {{
            // In each half first the even places, then the odd ones.
            let (a, b) = (_mm256_shuffle_epi32::<0b11_01_10_00>(a), _mm256_shuffle_epi32::<0b11_01_10_00>(b));
            let (even, odd) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
            [_mm256_permute4x64_epi64::<0b11_01_10_00>(even), _mm256_permute4x64_epi64::<0b11_01_10_00>(odd)]
        }}
        fn zip(even: __m256i, odd: __m256i) -> [__m256i; 2] {{
            let (low, high) = (_mm256_unpacklo_epi32(even, odd), _mm256_unpackhi_epi32(even, odd));
            [_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high)]
        }}
        fn shifted_in(before: __m256i, v: __m256i) -> __m256i {
            _mm256_alignr_epi8::<12>(v, _mm256_permute2x128_si256::<0x21>(before, v))
        }
        fn ahead(v: __m256i, behind: __m256i) -> __m256i {
            _mm256_alignr_epi8::<4>(_mm256_permute2x128_si256::<0x21>(v, behind), v)
        }
        fn two_ahead(v: __m256i, behind: __m256i) -> __m256i {
            _mm256_alignr_epi8::<8>(_mm256_permute2x128_si256::<0x21>(v, behind), v)
        }
        fn load(from: &[u32]) -> __m256i {{
            assert!(from.len() >= 8);
            _mm256_loadu_si256(from.as_ptr().cast())
        }}
        fn store(v: __m256i, to: &mut [u32]) {{
            assert!(to.len() >= 8);
            _mm256_storeu_si256(to.as_mut_ptr().cast(), v)
        }}
        fn load_short(from: &[u16]) -> __m256i {{
            assert!(from.len() >= 8);
            _mm256_cvtepi16_epi32(_mm_loadu_si128(from.as_ptr().cast()))
        }}
        // Counts of immediate shifts are signed here; a constant count becomes the same instruction.
        fn left<const N: u32>(v: __m256i) -> __m256i { _mm256_sll_epi32(v, _mm_cvtsi32_si128(N as i32)) }
        fn right_signed<const N: u32>(v: __m256i) -> __m256i { _mm256_sra_epi32(v, _mm_cvtsi32_si128(N as i32)) }
    }
}

impl CodeVectors<REGISTERS> for Avx2 {
    type Mask = __m256i;

    instructions! {
        fn mul_high(a: __m256i, b: __m256i) -> __m256i {{
            let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(a, b));
            let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
            _mm256_blend_epi32::<0xAA>(even, odd)
        }}
        fn max(a: __m256i, b: __m256i) -> __m256i { _mm256_max_epu32(a, b) }
        fn min(a: __m256i, b: __m256i) -> __m256i { _mm256_min_epu32(a, b) }
        fn left_by(v: __m256i, bits: __m256i) -> __m256i { _mm256_sllv_epi32(v, bits) }
        fn right_by(v: __m256i, bits: __m256i) -> __m256i { _mm256_srlv_epi32(v, bits) }
        fn octave(v: __m256i) -> __m256i {{
            // The exponent of the number as a float, which must not be rounded up.
            let cut = _mm256_andnot_si256(_mm256_srli_epi32::<1>(v), v);
            let bits = _mm256_castps_si256(_mm256_cvtepi32_ps(cut));
            _mm256_sub_epi32(_mm256_srli_epi32::<23>(bits), _mm256_set1_epi32(127))
        }}
        fn less(a: __m256i, b: __m256i) -> __m256i { _mm256_cmpgt_epi32(b, a) }
        fn both(a: __m256i, b: __m256i) -> __m256i { _mm256_and_si256(a, b) }
        fn mask(bits: u32) -> __m256i {{
            let own = load(&[1u32, 2, 4, 8, 16, 32, 64, 128]);
            _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits as i32), own), own)
        }}
        fn bits(mask: __m256i) -> u32 { _mm256_movemask_ps(_mm256_castsi256_ps(mask)) as u32 }
        fn select(mask: __m256i, a: __m256i, b: __m256i) -> __m256i { _mm256_blendv_epi8(b, a, mask) }
        fn total(v: __m256i) -> u32 {{
            let v = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
            let v = _mm_add_epi32(v, _mm_shuffle_epi32::<0x4E>(v));
            _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32::<0xB1>(v))) as u32
        }}
        fn largest(v: __m256i) -> u32 {{
            let v = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
            let v = _mm_max_epu32(v, _mm_shuffle_epi32::<0x4E>(v));
            _mm_cvtsi128_si32(_mm_max_epu32(v, _mm_shuffle_epi32::<0xB1>(v))) as u32
        }}
        fn occurrences(bytes: __m256i, byte: u8) -> u32 {
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8))).count_ones()
        }
        fn right<const N: u32>(v: __m256i) -> __m256i { _mm256_srl_epi32(v, _mm_cvtsi32_si128(N as i32)) }
    }

    #[inline(always)]
    fn look_up<const L: usize>(self, table: &[u32; L], index: __m256i) -> __m256i {
        const { assert!(L.is_power_of_two()) };
        // SAFETY: the processor has the level, as the token says; indices are below L.
        unsafe {
            let index = _mm256_and_si256(index, _mm256_set1_epi32(L as i32 - 1));
            _mm256_i32gather_epi32::<4>(table.as_ptr().cast(), index)
        }
    }

    #[inline(always)]
    fn pack_bytes(self, from: &[u32]) -> __m256i {
        let v: [__m256i; 4] = [self.load(from), self.load(&from[8..]), self.load(&from[16..]), self.load(&from[24..])];
        // SAFETY: the processor has the level, as the token says.
        unsafe {
            let bytes = _mm256_packus_epi16(_mm256_packus_epi32(v[0], v[1]), _mm256_packus_epi32(v[2], v[3]));
            _mm256_permutevar8x32_epi32(bytes, load(&TURNED_BACK))
        }
    }

    #[inline(always)]
    fn unpack_short(self, bytes: __m256i, to: &mut [u16]) {
        assert!(to.len() >= 32);
        // SAFETY: as above; there are 32 numbers.
        unsafe {
            let low = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(bytes));
            let high = _mm256_cvtepi8_epi16(_mm256_extracti128_si256::<1>(bytes));
            _mm256_storeu_si256(to.as_mut_ptr().cast(), low);
            _mm256_storeu_si256(to.as_mut_ptr().add(16).cast(), high);
        }
    }

    #[inline(always)]
    fn load_quads(self, from: &[u32]) -> [__m256i; 4] {
        let v: [__m256i; 4] = [self.load(from), self.load(&from[8..]), self.load(&from[16..]), self.load(&from[24..])];
        // SAFETY: the processor has the level, as the token says.
        unsafe {
            let back = load(&TURNED_BACK);
            let [a, b, c, d] = transposed(v);
            [
                _mm256_permutevar8x32_epi32(a, back),
                _mm256_permutevar8x32_epi32(b, back),
                _mm256_permutevar8x32_epi32(c, back),
                _mm256_permutevar8x32_epi32(d, back),
            ]
        }
    }

    #[inline(always)]
    fn store_quads(self, v: [__m256i; 4], to: &mut [u32]) {
        // SAFETY: the processor has the level, as the token says.
        let quads = unsafe {
            let turned = load(&TURNED);
            transposed([
                _mm256_permutevar8x32_epi32(v[0], turned),
                _mm256_permutevar8x32_epi32(v[1], turned),
                _mm256_permutevar8x32_epi32(v[2], turned),
                _mm256_permutevar8x32_epi32(v[3], turned),
            ])
        };
        for i in 0..4 {
            self.store(quads[i], &mut to[8 * i..]);
        }
    }

    #[inline(always)]
    fn put(self, states: &mut [__m256i; 4], masks: [__m256i; 4], words: &mut [u16], at: &mut usize) {
        for k in (0..4).rev() {
            let set = self.bits(masks[k]);
            // The last of the eight words are those that count; what lies before them is written over by the next.
            let place = &mut words[*at - 8..*at];
            *at -= set.count_ones() as usize;
            // SAFETY: the processor has the level, as the token says; there is place for eight words.
            unsafe {
                let low = _mm256_and_si256(states[k], _mm256_set1_epi32(0xFFFF));
                let taken = _mm256_permutevar8x32_epi32(low, permutation(COMPRESS[set as usize]));
                let taken = _mm_packus_epi32(_mm256_castsi256_si128(taken), _mm256_extracti128_si256::<1>(taken));
                _mm_storeu_si128(place.as_mut_ptr().cast(), taken);
                states[k] = self.select(masks[k], _mm256_srli_epi32::<16>(states[k]), states[k]);
            }
        }
    }

    #[inline(always)]
    fn refill(self, states: &mut [__m256i; 4], masks: [__m256i; 4], words: &[[u8; 2]], at: &mut usize) {
        for k in 0..4 {
            let set = self.bits(masks[k]);
            let next = &words[*at..*at + 8];
            *at += set.count_ones() as usize;
            // SAFETY: the processor has the level, as the token says; 16 bytes are loaded of eight words.
            unsafe {
                let next = _mm256_cvtepu16_epi32(_mm_loadu_si128(next.as_ptr().cast()));
                let taken = _mm256_permutevar8x32_epi32(next, permutation(PLACES[set as usize]));
                let longer = _mm256_or_si256(_mm256_slli_epi32::<16>(states[k]), taken);
                states[k] = self.select(masks[k], longer, states[k]);
            }
        }
    }

    const FEW: u32 = 16;

    #[inline(always)]
    fn look_up_few<const L: usize>(self, table: &[u32; L], index: __m256i) -> __m256i {
        const { assert!(L >= 16) };
        // SAFETY: the processor has the level, as the token says; 16 entries are there.
        unsafe {
            let low = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(table.as_ptr().cast()), index);
            let high = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(table.as_ptr().add(8).cast()), index);
            // Bit 3 of the index as the sign.
            let is_high = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(index));
            _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), is_high))
        }
    }
}
