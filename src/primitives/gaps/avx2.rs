//! AVX2: the lanes that eight lanes take are an entry of a table.

use std::arch::x86_64::*;

use super::words::{Before, WORD, each_word_of_block, fill_rest, put_bits};
use crate::exec::Avx2;
use crate::simd::avx2::{load, load_half, store, store_half};
use crate::simd::given;
use crate::simd::word::Word;

/// No lane: twice it, as a byte, is as negative.
const NONE: u8 = 0xc0;

/// For every set of 8 lanes, which of them is the last one up to each lane.
static LAST: [[u8; 8]; 256] = {
    let mut last = [[NONE; 8]; 256];
    let mut i = 0;
    while i < 8 * 256 {
        let (set, lane) = (i / 8, i % 8);
        if set >> lane & 1 == 1 {
            last[set][lane] = lane as u8;
        } else if lane > 0 {
            last[set][lane] = last[set][lane - 1];
        }
        i += 1;
    }
    last
};

given! { Avx2,
    /// As `super::fill`.
    pub fn fill[W: Word][W](_p: Avx2, before: &mut Before, src: &[u8], dst: &mut [u8]) {
        let (mask, block) = (before.mask, WORD * size_of::<W>());
        let blocks = src.chunks_exact(block).zip(dst.chunks_exact_mut(block));
        for (i, (from, to)) in blocks.enumerate().filter(|(i, _)| mask[*i] != 0) {
            fill_block(mask[i], W::load(&src[before.word(i) * size_of::<W>()..]), from, to);
        }
        fill_rest::<W>(before, src, dst);
    }
}

/// The elements of a word that is not 0; `element` comes before them.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn fill_block<W: Word>(word: u64, element: W, from: &[u8], to: &mut [u8]) {
    let bits = element.to_u64();
    match size_of::<W>() {
        _ if word == !0 => to.chunks_exact_mut(size_of::<W>()).for_each(|place| element.store(place)),
        _ if word.count_ones() < MANY => fill_bits(word, element, to),
        2 => block16(!word, bits as i16, from, to),
        4 => block32(!word, bits as i32, from, to),
        _ => block64(!word, bits as i64, from, to),
    }
}

/// The elements of a word, `bits`, of which few are missing.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn fill_bits<W: Word>(mut bits: u64, element: W, to: &mut [u8]) {
    let size = size_of::<W>();
    while bits != 0 {
        let i = bits.trailing_zeros() as usize;
        let before = if i == 0 { element } else { W::load(&to[(i - 1) * size..]) };
        before.store(&mut to[i * size..][..size]);
        bits &= bits - 1;
    }
}

/// The last lanes for the low 8 bits of `valid`.
#[inline]
#[target_feature(enable = "avx2")]
fn last(valid: u64) -> __m128i {
    _mm_cvtsi64_si128(i64::from_le_bytes(LAST[(valid & 0xff) as usize]))
}

/// 64 elements; `valid` are those that are there.
#[inline]
#[target_feature(enable = "avx2")]
fn block32(valid: u64, element: i32, from: &[u8], to: &mut [u8]) {
    let mut before = _mm256_set1_epi32(element);
    for (k, (from, to)) in from.as_chunks::<32>().0.iter().zip(to.as_chunks_mut::<32>().0).enumerate() {
        let lanes = _mm256_cvtepi8_epi32(last(valid >> (8 * k)));
        let vector = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(load(from), lanes));
        let both = _mm256_blendv_ps(vector, _mm256_castsi256_ps(before), _mm256_castsi256_ps(lanes));
        before = _mm256_permutevar8x32_epi32(_mm256_castps_si256(both), _mm256_set1_epi32(7));
        store(_mm256_castps_si256(both), to);
    }
}

/// The same for elements of 64 bits: each lane is two of 32.
#[inline]
#[target_feature(enable = "avx2")]
fn block64(valid: u64, element: i64, from: &[u8], to: &mut [u8]) {
    let mut before = _mm256_set1_epi64x(element);
    for (k, (from, to)) in from.as_chunks::<32>().0.iter().zip(to.as_chunks_mut::<32>().0).enumerate() {
        let lanes = _mm256_cvtepi8_epi64(last(valid >> (4 * k)));
        let low = _mm256_add_epi64(lanes, lanes);
        let high = _mm256_slli_epi64::<32>(_mm256_add_epi64(low, _mm256_set1_epi64x(1)));
        let halves = _mm256_blend_epi32::<0b1010_1010>(low, high);
        let vector = _mm256_castsi256_pd(_mm256_permutevar8x32_epi32(load(from), halves));
        let both = _mm256_blendv_pd(vector, _mm256_castsi256_pd(before), _mm256_castsi256_pd(lanes));
        before = _mm256_permute4x64_epi64::<0b11_11_11_11>(_mm256_castpd_si256(both));
        store(_mm256_castpd_si256(both), to);
    }
}

/// The same for elements of 16 bits, eight at a time: each is two bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn block16(valid: u64, element: i16, from: &[u8], to: &mut [u8]) {
    let mut before = _mm_set1_epi16(element);
    for (k, (from, to)) in from.as_chunks().0.iter().zip(to.as_chunks_mut().0).enumerate() {
        let lanes = last(valid >> (8 * k));
        let low = _mm_add_epi8(lanes, lanes);
        let bytes = _mm_unpacklo_epi8(low, _mm_or_si128(low, _mm_set1_epi8(1)));
        let both = _mm_blendv_epi8(_mm_shuffle_epi8(load_half(from), bytes), before, bytes);
        before = _mm_shuffle_epi8(both, _mm_set1_epi16(0x0f0e));
        store_half(both, to);
    }
}

given! { Avx2,
    /// As `super::avx512::words32::take_out`.
    pub fn take_out[W: Word][W](
        _p: Avx2, words: usize, value: u64, src: &[u8], mask: &mut [u64], dst: &mut [u8]
    ) -> u32 {
        let (size, bytes) = (size_of::<W>(), WORD * size_of::<W>());
        let wanted = match size {
            2 => _mm256_set1_epi16(value as i16),
            4 => _mm256_set1_epi32(value as i32),
            _ => _mm256_set1_epi64x(value as i64),
        };
        let (mut empty, block) = (0, words * bytes);
        let blocks = src.chunks_exact(block).zip(dst.chunks_exact_mut(block)).zip(mask.chunks_exact_mut(words));
        for (b, ((from, to), mask)) in blocks.enumerate() {
            let (mut last, mut runs) = (1, 0);
            for (i, word) in mask.iter_mut().enumerate() {
                let (mut bits, mut before) = (0, wanted);
                for k in 0..2 * size {
                    let at = bytes * i + 32 * k;
                    let [vector, shifted] =
                        [at, at.saturating_sub(size)].map(|at| load(from[at..].first_chunk::<32>().expect("a vector")));
                    let equal = match size {
                        2 => _mm256_cmpeq_epi16(vector, wanted),
                        4 => _mm256_cmpeq_epi32(vector, wanted),
                        _ => _mm256_cmpeq_epi64(vector, wanted),
                    };
                    let to = to[at..].first_chunk_mut::<32>().expect("a vector");
                    store(_mm256_blendv_epi8(vector, shifted, equal), to);
                    bits |= match size {
                        2 if k % 2 == 0 => 0,
                        2 => {
                            let both = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(before, equal));
                            u64::from(_mm256_movemask_epi8(both) as u32) << (16 * (k - 1))
                        }
                        4 => (_mm256_movemask_ps(_mm256_castsi256_ps(equal)) as u64) << (8 * k),
                        _ => (_mm256_movemask_pd(_mm256_castsi256_pd(equal)) as u64) << (4 * k),
                    };
                    before = equal;
                }
                // What is before the first vector is not there to be taken.
                let first = if i == 0 { (1 << (32 / size)) - 1 } else { 0 };
                runs |= bits & (bits << 1 | last | first);
                (*word, last) = (bits, bits >> 63);
            }
            if runs != 0 {
                let each = |i: usize, before: usize| {
                    if mask[i] == 0 {
                        return;
                    }
                    let element = W::load(&from[before * size..]);
                    fill_block(mask[i], element, &from[bytes * i..][..bytes], &mut to[bytes * i..][..bytes]);
                };
                empty |= u32::from(!each_word_of_block(mask, each)) << b;
            }
        }
        empty
    }
}

/// Words with fewer bits are gone through bit by bit.
const MANY: u32 = 12;

given! { Avx2,
    /// As `super::put`, for a whole number of blocks.
    pub fn put[W: Word][W](_p: Avx2, mask: &[u64], value: W, dst: &mut [u8]) {
        let block = WORD * size_of::<W>();
        for (word, dst) in mask.iter().zip(dst.chunks_exact_mut(block)).filter(|(word, _)| **word != 0) {
            if word.count_ones() < MANY || *word == !0 {
                put_bits(&[*word], value, dst);
                continue;
            }
            let lanes = 32 / size_of::<W>();
            for (k, vector) in dst.as_chunks_mut::<32>().0.iter_mut().enumerate() {
                let bits = word >> (lanes * k);
                let (chosen, value) = match size_of::<W>() {
                    2 => {
                        let each =
                            _mm256_setr_epi16(
                                1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768
                            );
                        let bits = _mm256_and_si256(_mm256_set1_epi16(bits as i16), each);
                        (_mm256_cmpeq_epi16(bits, each), _mm256_set1_epi16(value.to_u64() as i16))
                    }
                    4 => {
                        let each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
                        let bits = _mm256_and_si256(_mm256_set1_epi32(bits as i32), each);
                        (_mm256_cmpeq_epi32(bits, each), _mm256_set1_epi32(value.to_u64() as i32))
                    }
                    _ => {
                        let each = _mm256_setr_epi64x(1, 2, 4, 8);
                        let bits = _mm256_and_si256(_mm256_set1_epi64x(bits as i64), each);
                        (_mm256_cmpeq_epi64(bits, each), _mm256_set1_epi64x(value.to_u64() as i64))
                    }
                };
                store(_mm256_blendv_epi8(load(vector), value, chosen), vector);
            }
        }
    }
}
