//! AVX-512: the lane that each lane takes is a count of leading zeros.

use std::arch::x86_64::*;

use super::words::{Before, WORD, fill_rest};
use crate::simd::avx512::opaque;
use crate::simd::word::Word;

/// Bit i is set where word i of up to 64 is not zero.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn nonzero(words: &[u64]) -> u64 {
    let (vectors, rest) = words.as_chunks::<8>();
    let mut bits = 0;
    for (k, vector) in vectors.iter().enumerate() {
        // SAFETY: 64 bytes are a vector.
        let vector = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
        bits |= u64::from(_mm512_test_epi64_mask(vector, vector)) << (8 * k);
    }
    rest.iter().enumerate().fold(bits, |bits, (i, word)| bits | u64::from(*word != 0) << (8 * vectors.len() + i))
}

/// Calls `each` with the number of every word that is not zero. Most words are or are not in no order that a branch
/// for each could foresee.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
fn each_nonzero(words: &[u64], mut each: impl FnMut(usize)) {
    for (k, words) in words.chunks(64).enumerate() {
        let mut bits = nonzero(words);
        while bits != 0 {
            each(64 * k + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

/// As `super::fill`. Each lane of a vector takes the lane that the highest bit among its own and those below tells,
/// which is a count of leading zeros; without a bit the number of zeros leads to the last lane of the vector
/// before.
#[target_feature(enable = "avx512f,avx512cd,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
pub fn fill<W: Word>(before: &mut Before, src: &[u8], dst: &mut [u8]) {
    let (mask, block) = (before.mask, WORD * size_of::<W>());
    let bits = mask.as_ptr().cast::<u8>();
    let whole = src.len() / block;
    assert!(mask.len() > whole && dst.len() == src.len());
    each_nonzero(&mask[..whole], |i| {
        let element = before.word(i);
        assert!((element + 1) * size_of::<W>() <= src.len());
        // SAFETY: the block's bytes are within both slices, which are of one length, and so is the element before
        // them; the mask has another word behind this one.
        unsafe {
            let (from, to) = (src.as_ptr().add(i * block), dst.as_mut_ptr().add(i * block));
            let (bits, element) = (bits.add(8 * i), src.as_ptr().add(element * size_of::<W>()));
            match size_of::<W>() {
                2 => block16(bits, element, from, to),
                4 => block32(bits, element, from, to),
                _ => block64(bits, element, from, to),
            }
        }
    });
    fill_rest::<W>(before, src, dst);
}

/// For each of N lanes of 32 bits the bits up to that of its element: of `first`, and of every `step`-th behind it.
const fn up_to<const N: usize>(first: u32, step: u32) -> [u32; N] {
    let mut lanes = [0; N];
    let mut i = 0;
    while i < N {
        lanes[i] = (2u64.wrapping_shl(first + step * i as u32)).wrapping_sub(1) as u32;
        i += 1;
    }
    lanes
}

static UP_TO: [u32; 16] = up_to(0, 1);
static UP_TO_EVEN: [u32; 16] = up_to(0, 2);
static UP_TO_ODD: [u32; 16] = up_to(1, 2);
static UP_TO_WIDE: [u64; 8] = [1, 3, 7, 15, 31, 63, 127, 255];

/// The 64 elements from `from` on to `to`; `bits` are those of a mask, `element` comes before them.
///
/// # Safety
/// There are as many elements, and 8 bytes more behind the 8 of the mask.
#[inline]
#[target_feature(enable = "avx512f,avx512cd,avx512bw")]
unsafe fn block32(bits: *const u8, element: *const u8, from: *const u8, to: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        let up_to = _mm512_loadu_si512(UP_TO.as_ptr().cast());
        let mut before = _mm512_set1_epi32(element.cast::<i32>().read_unaligned());
        for k in 0..4 {
            let missing = opaque(_mm512_set1_epi32(bits.add(2 * k).cast::<i32>().read_unaligned()));
            let zeros = _mm512_lzcnt_epi32(_mm512_andnot_si512(missing, up_to));
            let lanes = _mm512_xor_si512(zeros, _mm512_set1_epi32(31));
            let vector = _mm512_loadu_si512(from.add(64 * k).cast());
            before = _mm512_permutex2var_epi32(vector, lanes, before);
            _mm512_storeu_si512(to.add(64 * k).cast(), before);
        }
    }
}

/// The same for elements of 64 bits.
///
/// # Safety
/// As there.
#[inline]
#[target_feature(enable = "avx512f,avx512cd,avx512bw")]
unsafe fn block64(bits: *const u8, element: *const u8, from: *const u8, to: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        let up_to = _mm512_loadu_si512(UP_TO_WIDE.as_ptr().cast());
        let mut before = _mm512_set1_epi64(element.cast::<i64>().read_unaligned());
        for k in 0..8 {
            let missing = opaque(_mm512_set1_epi64(bits.add(k).cast::<i64>().read_unaligned()));
            let zeros = _mm512_lzcnt_epi64(_mm512_andnot_si512(missing, up_to));
            let lanes = _mm512_xor_si512(zeros, _mm512_set1_epi64(63));
            let vector = _mm512_loadu_si512(from.add(64 * k).cast());
            before = _mm512_permutex2var_epi64(vector, lanes, before);
            _mm512_storeu_si512(to.add(64 * k).cast(), before);
        }
    }
}

/// The same for elements of 16 bits: the zeros are counted for even and odd lanes.
///
/// # Safety
/// As there.
#[inline]
#[target_feature(enable = "avx512f,avx512cd,avx512bw")]
unsafe fn block16(bits: *const u8, element: *const u8, from: *const u8, to: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        let even = _mm512_loadu_si512(UP_TO_EVEN.as_ptr().cast());
        let odd = _mm512_loadu_si512(UP_TO_ODD.as_ptr().cast());
        let mut before = _mm512_set1_epi16(element.cast::<i16>().read_unaligned());
        for k in 0..2 {
            let missing = opaque(_mm512_set1_epi32(bits.add(4 * k).cast::<i32>().read_unaligned()));
            let low = _mm512_lzcnt_epi32(_mm512_andnot_si512(missing, even));
            let high = _mm512_lzcnt_epi32(_mm512_andnot_si512(missing, odd));
            let zeros = _mm512_or_si512(low, _mm512_slli_epi32::<16>(high));
            let lanes = _mm512_xor_si512(zeros, _mm512_set1_epi16(31));
            let vector = _mm512_loadu_si512(from.add(64 * k).cast());
            before = _mm512_permutex2var_epi16(vector, lanes, before);
            _mm512_storeu_si512(to.add(64 * k).cast(), before);
        }
    }
}

/// `super::take_out` for one width of words: each vector is compared, and its gaps take what the vector has that
/// begins one element before; `$shift` puts that into some of its lanes.
macro_rules! words {
    ($name:ident, $w:ty, $set:ident, $eq:ident, $shift:ident, $block:ident) => {
        pub mod $name {
            use super::super::words::{MOST_WORDS, each_word_of_block};
            use super::*;

            /// The vectors of 64 elements, and their bytes.
            const VECTORS: usize = size_of::<$w>();
            const BYTES: usize = 64 * VECTORS;

            /// Returns the blocks that have nothing but gaps.
            ///
            /// # Safety
            /// `src` and `dst` have 64 elements for each word of `mask`, and these are whole blocks, 32 at most.
            #[target_feature(enable = "avx512f,avx512cd,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
            pub unsafe fn take_out(words: usize, value: u64, src: &[u8], mask: &mut [u64], dst: &mut [u8]) -> u32 {
                let wanted = $set(value as _);
                let mut empty = 0;
                for (b, mask) in mask.chunks_exact_mut(words).enumerate() {
                    let at = b * words * BYTES;
                    // SAFETY: as the caller promises.
                    let (from, to) = unsafe { (src.as_ptr().add(at), dst.as_mut_ptr().add(at)) };
                    let (mut before, mut last, mut runs) = (wanted, 1, 0);
                    for (i, word) in mask.iter_mut().enumerate() {
                        *word = 0;
                        for k in 0..VECTORS {
                            // SAFETY: the vectors of a block are within it.
                            unsafe {
                                let at = BYTES * i + 64 * k;
                                let vector = opaque(_mm512_loadu_si512(from.add(at).cast()));
                                let gaps = $eq(vector, wanted);
                                _mm512_storeu_si512(to.add(at).cast(), $shift(vector, gaps, before));
                                *word |= (gaps as u64) << (64 / VECTORS * k);
                                before = vector;
                            }
                        }
                        runs |= *word & (*word << 1 | last);
                        last = *word >> 63;
                    }
                    if runs != 0 {
                        // SAFETY: as the caller promises.
                        empty |= u32::from(!unsafe { fill_block(mask, from, to) }) << b;
                    }
                }
                empty
            }

            /// Fills a block whose gaps are longer; false if there is nothing else.
            ///
            /// # Safety
            /// There are 64 elements for each word of `mask`.
            #[inline]
            #[target_feature(enable = "avx512f,avx512cd,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
            unsafe fn fill_block(mask: &[u64], from: *const u8, to: *mut u8) -> bool {
                let mut bits = [0; MOST_WORDS + 1];
                bits[..mask.len()].copy_from_slice(mask);
                each_word_of_block(mask, |i, before| {
                    // SAFETY: as the caller promises; there is a word more.
                    unsafe {
                        let bits = bits.as_ptr().add(i).cast();
                        $block(bits, from.add(before * size_of::<$w>()), from.add(BYTES * i), to.add(BYTES * i));
                    }
                })
            }
        }
    };
}

words!(words16, u16, _mm512_set1_epi16, _mm512_cmpeq_epi16_mask, shift16, block16);
words!(words32, u32, _mm512_set1_epi32, _mm512_cmpeq_epi32_mask, shift32, block32);
words!(words64, u64, _mm512_set1_epi64, _mm512_cmpeq_epi64_mask, shift64, block64);

/// The lanes of `vector`, but for `lanes` each the one below; the lowest follows the highest of `before`.
#[inline]
#[target_feature(enable = "avx512f")]
fn shift32(vector: __m512i, lanes: __mmask16, before: __m512i) -> __m512i {
    _mm512_mask_alignr_epi32::<15>(vector, lanes, vector, before)
}

/// The same for lanes of 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn shift64(vector: __m512i, lanes: __mmask8, before: __m512i) -> __m512i {
    _mm512_mask_alignr_epi64::<7>(vector, lanes, vector, before)
}

/// The same for lanes of 16 bits: of the pairs of lanes, each with its lower neighbour's upper one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn shift16(vector: __m512i, lanes: __mmask32, before: __m512i) -> __m512i {
    let below = _mm512_alignr_epi32::<15>(vector, before);
    let shifted = _mm512_or_si512(_mm512_slli_epi32::<16>(vector), _mm512_srli_epi32::<16>(below));
    _mm512_mask_mov_epi16(vector, lanes, shifted)
}

/// As `super::put`, for a whole number of blocks.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
pub fn put<W: Word>(mask: &[u64], value: W, dst: &mut [u8]) {
    let block = WORD * size_of::<W>();
    assert!(dst.len() == mask.len() * block);
    each_nonzero(mask, |i| {
        let word = mask[i];
        // SAFETY: the block's bytes are within the slice.
        unsafe {
            let to = dst.as_mut_ptr().add(i * block);
            match size_of::<W>() {
                2 => (0..2).for_each(|k| {
                    let value = _mm512_set1_epi16(value.to_u64() as i16);
                    _mm512_mask_storeu_epi16(to.add(64 * k).cast(), (word >> (32 * k)) as u32, value);
                }),
                4 => (0..4).for_each(|k| {
                    let value = _mm512_set1_epi32(value.to_u64() as i32);
                    _mm512_mask_storeu_epi32(to.add(64 * k).cast(), (word >> (16 * k)) as u16, value);
                }),
                _ => (0..8).for_each(|k| {
                    let value = _mm512_set1_epi64(value.to_u64() as i64);
                    _mm512_mask_storeu_epi64(to.add(64 * k).cast(), (word >> (8 * k)) as u8, value);
                }),
            }
        }
    });
}
