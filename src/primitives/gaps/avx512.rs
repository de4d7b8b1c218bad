//! AVX-512: the lane that each lane takes is a count of leading zeros.

use std::arch::x86_64::*;
use std::iter::Zip;
use std::slice::{Iter, IterMut};

use super::words::{Before, WORD, fill_rest};
use crate::exec::Avx512;
use crate::simd::avx512::{load, opaque, store, store16, store32, store64};
use crate::simd::given;
use crate::simd::word::Word;

/// Bit i is set where word i of up to 64 is not zero.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn nonzero(words: &[u64]) -> u64 {
    let (vectors, rest) = words.as_chunks::<8>();
    let mut bits = 0;
    for (k, vector) in vectors.iter().enumerate() {
        let vector = load(vector);
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

given! { Avx512,
    /// As `super::fill`. Each lane of a vector takes the lane that the highest bit among its own and those below tells,
    /// which is a count of leading zeros; without a bit the number of zeros leads to the last lane of the vector
    /// before.
    pub fn fill[W: Word][W](_p: Avx512, before: &mut Before, src: &[u8], dst: &mut [u8]) {
        let (mask, block) = (before.mask, WORD * size_of::<W>());
        let whole = src.len() / block;
        each_nonzero(&mask[..whole], |i| {
            let (word, element) = (mask[i], &src[before.word(i) * size_of::<W>()..]);
            let (from, to) = (&src[i * block..][..block], &mut dst[i * block..][..block]);
            fill_word::<W>(word, element, from, to);
        });
        fill_rest::<W>(before, src, dst);
    }
}

/// The 64 elements of a word of a mask; those of `element` come before them.
#[inline]
#[target_feature(enable = "avx512f,avx512cd,avx512bw")]
fn fill_word<W: Word>(word: u64, element: &[u8], from: &[u8], to: &mut [u8]) {
    let element = W::load(element).to_u64();
    let vectors = from.as_chunks().0.iter().zip(to.as_chunks_mut().0);
    match size_of::<W>() {
        2 => block16(word, element, vectors),
        4 => block32(word, element, vectors),
        _ => block64(word, element, vectors),
    }
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

/// Vectors, and where they go.
type Vectors<'a> = Zip<Iter<'a, [u8; 64]>, IterMut<'a, [u8; 64]>>;

/// The elements of these vectors, of which the bits of `word` tell the missing ones; `element` comes before them.
#[inline]
#[target_feature(enable = "avx512f,avx512cd,avx512bw")]
fn block32(mut word: u64, element: u64, vectors: Vectors) {
    let up_to = load(&UP_TO);
    let mut before = _mm512_set1_epi32(element as i32);
    for (from, to) in vectors {
        let missing = opaque(_mm512_set1_epi32(word as i32));
        let zeros = _mm512_lzcnt_epi32(_mm512_andnot_si512(missing, up_to));
        let lanes = _mm512_xor_si512(zeros, _mm512_set1_epi32(31));
        before = _mm512_permutex2var_epi32(load(from), lanes, before);
        store(before, to);
        word >>= 16;
    }
}

/// The same for elements of 64 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512cd,avx512bw")]
fn block64(mut word: u64, element: u64, vectors: Vectors) {
    let up_to = load(&UP_TO_WIDE);
    let mut before = _mm512_set1_epi64(element as i64);
    for (from, to) in vectors {
        let missing = opaque(_mm512_set1_epi64(word as i64));
        let zeros = _mm512_lzcnt_epi64(_mm512_andnot_si512(missing, up_to));
        let lanes = _mm512_xor_si512(zeros, _mm512_set1_epi64(63));
        before = _mm512_permutex2var_epi64(load(from), lanes, before);
        store(before, to);
        word >>= 8;
    }
}

/// The same for elements of 16 bits: the zeros are counted for even and odd lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512cd,avx512bw")]
fn block16(mut word: u64, element: u64, vectors: Vectors) {
    let (even, odd) = (load(&UP_TO_EVEN), load(&UP_TO_ODD));
    let mut before = _mm512_set1_epi16(element as i16);
    for (from, to) in vectors {
        let missing = opaque(_mm512_set1_epi32(word as i32));
        let low = _mm512_lzcnt_epi32(_mm512_andnot_si512(missing, even));
        let high = _mm512_lzcnt_epi32(_mm512_andnot_si512(missing, odd));
        let zeros = _mm512_or_si512(low, _mm512_slli_epi32::<16>(high));
        let lanes = _mm512_xor_si512(zeros, _mm512_set1_epi16(31));
        before = _mm512_permutex2var_epi16(load(from), lanes, before);
        store(before, to);
        word >>= 32;
    }
}

/// `super::take_out` for one width of words: each vector is compared, and its gaps take what the vector has that
/// begins one element before; `$shift` puts that into some of its lanes.
macro_rules! words {
    ($name:ident, $w:ty, $set:ident, $eq:ident, $shift:ident) => {
        pub mod $name {
            use super::super::words::each_word_of_block;
            use super::*;

            /// The vectors of 64 elements, and their bytes.
            const VECTORS: usize = size_of::<$w>();
            const BYTES: usize = 64 * VECTORS;

            given! { Avx512,
                /// Returns the blocks that have nothing but gaps. They are 32 at most.
                pub fn take_out(
                    _p: Avx512, words: usize, value: u64, src: &[u8], mask: &mut [u64], dst: &mut [u8]
                ) -> u32 {
                    let wanted = $set(value as _);
                    let mut empty = 0;
                    let block = words * BYTES;
                    let blocks = src.chunks_exact(block).zip(dst.chunks_exact_mut(block));
                    for (b, (mask, (from, to))) in mask.chunks_exact_mut(words).zip(blocks).enumerate() {
                        let (mut before, mut last, mut runs) = (wanted, 1, 0);
                        let elements = from.as_chunks::<BYTES>().0.iter().zip(to.as_chunks_mut::<BYTES>().0);
                        for (word, (from, to)) in mask.iter_mut().zip(elements) {
                            let mut gaps = 0;
                            let vectors = from.as_chunks::<64>().0.iter().zip(to.as_chunks_mut::<64>().0);
                            for (k, (from, to)) in vectors.enumerate() {
                                let vector = opaque(load(from));
                                let own = $eq(vector, wanted);
                                store($shift(vector, own, before), to);
                                gaps |= u64::from(own) << (64 / VECTORS * k);
                                before = vector;
                            }
                            *word = gaps;
                            runs |= gaps & (gaps << 1 | last);
                            last = gaps >> 63;
                        }
                        if runs != 0 {
                            empty |= u32::from(!fill_block(mask, from, to)) << b;
                        }
                    }
                    empty
                }
            }

            /// Fills a block whose gaps are longer; false if there is nothing else.
            #[inline]
            #[target_feature(enable = "avx512f,avx512cd,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
            fn fill_block(mask: &[u64], from: &[u8], to: &mut [u8]) -> bool {
                each_word_of_block(mask, |i, before| {
                    let element = &from[before * size_of::<$w>()..];
                    let (from, to) = (&from[BYTES * i..][..BYTES], &mut to[BYTES * i..][..BYTES]);
                    fill_word::<$w>(mask[i], element, from, to);
                })
            }
        }
    };
}

words!(words16, u16, _mm512_set1_epi16, _mm512_cmpeq_epi16_mask, shift16);
words!(words32, u32, _mm512_set1_epi32, _mm512_cmpeq_epi32_mask, shift32);
words!(words64, u64, _mm512_set1_epi64, _mm512_cmpeq_epi64_mask, shift64);

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

given! { Avx512,
    /// As `super::put`, for a whole number of blocks.
    pub fn put[W: Word][W](_p: Avx512, mask: &[u64], value: W, dst: &mut [u8]) {
        let (block, value) = (WORD * size_of::<W>(), value.to_u64());
        let value = match size_of::<W>() {
            2 => _mm512_set1_epi16(value as i16),
            4 => _mm512_set1_epi32(value as i32),
            _ => _mm512_set1_epi64(value as i64),
        };
        each_nonzero(mask, |i| {
            let mut word = mask[i];
            for to in dst[i * block..][..block].as_chunks_mut().0 {
                match size_of::<W>() {
                    2 => store16(value, word as u32, to),
                    4 => store32(value, word as u16, to),
                    _ => store64(value, word as u8, to),
                }
                word >>= 64 / size_of::<W>();
            }
        });
    }
}
