//! Which elements of a run have given bits. Elements are words of 2, 4 or 8 bytes, as they lie in memory.

use crate::exec::Isa;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Avx2, Avx512};
use crate::simd::word::Word;

/// Whether any element of `bytes`, words of `size` bytes, has the bits of `value`.
#[inline]
pub fn contains(isa: Isa, size: usize, bytes: &[u8], value: u64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Some(p) = Avx512::of(isa) {
        return match size {
            2 => avx512::words16::contains(p, bytes, value),
            4 => avx512::words32::contains(p, bytes, value),
            _ => avx512::words64::contains(p, bytes, value),
        };
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(p) = Avx2::of(isa) {
        return match size {
            2 => avx2::contains::<u16>(p, bytes, value),
            4 => avx2::contains::<u32>(p, bytes, value),
            _ => avx2::contains::<u64>(p, bytes, value),
        };
    }
    let _ = isa;
    match size {
        2 => contains_word::<u16>(bytes, value),
        4 => contains_word::<u32>(bytes, value),
        _ => contains_word::<u64>(bytes, value),
    }
}

/// Sets bit i of `mask` if element i of `bytes`, words of `size` bytes, has the bits of `value`, and clears the bits
/// behind the last element; `mask` has a bit for each element at least. The bytes are copied to `copy`, as many,
/// meanwhile.
#[inline]
pub fn mark(isa: Isa, size: usize, bytes: &[u8], value: u64, mask: &mut [u64], copy: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(p) = Avx512::of(isa) {
        return match size {
            2 => avx512::words16::mark(p, bytes, value, mask, copy),
            4 => avx512::words32::mark(p, bytes, value, mask, copy),
            _ => avx512::words64::mark(p, bytes, value, mask, copy),
        };
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(p) = Avx2::of(isa) {
        return match size {
            2 => avx2::mark16(p, bytes, value, mask, copy),
            4 => avx2::mark32(p, bytes, value, mask, copy),
            _ => avx2::mark64(p, bytes, value, mask, copy),
        };
    }
    let _ = isa;
    copy.copy_from_slice(bytes);
    match size {
        2 => by_words::<u16>(bytes, value, mask, of_block),
        4 => by_words::<u32>(bytes, value, mask, of_block),
        _ => by_words::<u64>(bytes, value, mask, of_block),
    }
}

/// As `contains`, piece by piece: within one there is no branch, so that a compiler may use vectors.
#[inline(always)]
fn contains_word<W: Word>(bytes: &[u8], value: u64) -> bool {
    let value = W::from_u64(value);
    let equal = |word: &[u8]| W::load(word) == value;
    bytes.chunks(512).any(|piece| piece.chunks_exact(size_of::<W>()).fold(false, |any, word| any | equal(word)))
}

/// The mask of up to 64 elements.
#[inline(always)]
fn of_block<W: Word>(block: &[u8], value: W) -> u64 {
    let words = block.chunks_exact(size_of::<W>()).enumerate();
    words.fold(0, |mask, (i, word)| mask | u64::from(W::load(word) == value) << i)
}

/// Fills `mask`; `whole` tells it for 64 elements.
#[inline(always)]
fn by_words<W: Word>(bytes: &[u8], value: u64, mask: &mut [u64], whole: impl Fn(&[u8], W) -> u64) {
    let value = W::from_u64(value);
    let blocks = bytes.chunks_exact(64 * size_of::<W>());
    let (rest, mut at) = (blocks.remainder(), 0);
    for block in blocks {
        mask[at] = whole(block, value);
        at += 1;
    }
    if !rest.is_empty() {
        mask[at] = of_block(rest, value);
        at += 1;
    }
    mask[at..].fill(0);
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::{contains_word, of_block};
    use crate::exec::Avx512;
    use crate::simd::avx512::{load, opaque, store};
    use crate::simd::given;

    /// Vectors that are compared before one branch asks for the results.
    const PIECE: usize = 16;

    /// The two functions for one width of words.
    macro_rules! words {
        ($name:ident, $w:ty, $mask:ty, $set:ident, $eq:ident, $ne:ident) => {
            pub mod $name {
                use super::*;

                /// The vectors of 64 elements.
                const BLOCK: usize = size_of::<$w>();

                given! { Avx512,
                    pub fn contains(_p: Avx512, bytes: &[u8], value: u64) -> bool {
                        let wanted = $set(value as _);
                        let (pieces, rest) = bytes.as_chunks::<{ 64 * PIECE }>();
                        for piece in pieces {
                            let mut others = [<$mask>::MAX; 4];
                            for (k, vector) in piece.as_chunks::<64>().0.iter().enumerate() {
                                others[k % 4] = $ne(others[k % 4], load(vector), wanted);
                            }
                            if others[0] & others[1] & others[2] & others[3] != <$mask>::MAX {
                                return true;
                            }
                        }
                        contains_word::<$w>(rest, value)
                    }
                }

                given! { Avx512,
                    pub fn mark(_p: Avx512, bytes: &[u8], value: u64, mask: &mut [u64], copy: &mut [u8]) {
                        let wanted = $set(value as _);
                        let (blocks, rest) = bytes.as_chunks::<{ 64 * BLOCK }>();
                        let (copies, copy_of_rest) = copy.as_chunks_mut::<{ 64 * BLOCK }>();
                        let (words, tail) = mask.split_at_mut(blocks.len());
                        for ((block, copy), word) in blocks.iter().zip(copies).zip(words) {
                            let vectors = block.as_chunks::<64>().0.iter().zip(copy.as_chunks_mut::<64>().0);
                            let mut equal = 0;
                            for (k, (from, to)) in vectors.enumerate() {
                                let vector = opaque(load(from));
                                store(vector, to);
                                equal |= u64::from($eq(vector, wanted)) << (64 / BLOCK * k);
                            }
                            *word = equal;
                        }
                        copy_of_rest.copy_from_slice(rest);
                        tail.fill(0);
                        if !rest.is_empty() {
                            tail[0] = of_block(rest, value as $w);
                        }
                    }
                }
            }
        };
    }

    words!(words16, u16, u32, _mm512_set1_epi16, _mm512_cmpeq_epi16_mask, _mm512_mask_cmpneq_epi16_mask);
    words!(words32, u32, u16, _mm512_set1_epi32, _mm512_cmpeq_epi32_mask, _mm512_mask_cmpneq_epi32_mask);
    words!(words64, u64, u8, _mm512_set1_epi64, _mm512_cmpeq_epi64_mask, _mm512_mask_cmpneq_epi64_mask);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Word, by_words, contains_word};
    use crate::exec::Avx2;
    use crate::simd::avx2::load;
    use crate::simd::given;

    given! { Avx2,
        pub fn contains[W: Word][W](_p: Avx2, bytes: &[u8], value: u64) -> bool {
            let wanted = match size_of::<W>() {
                2 => _mm256_set1_epi16(value as i16),
                4 => _mm256_set1_epi32(value as i32),
                _ => _mm256_set1_epi64x(value as i64),
            };
            let (pieces, rest) = bytes.as_chunks::<512>();
            for piece in pieces {
                let mut found = [_mm256_setzero_si256(); 4];
                for (k, vector) in piece.as_chunks::<32>().0.iter().enumerate() {
                    let equal = match size_of::<W>() {
                        2 => _mm256_cmpeq_epi16(load(vector), wanted),
                        4 => _mm256_cmpeq_epi32(load(vector), wanted),
                        _ => _mm256_cmpeq_epi64(load(vector), wanted),
                    };
                    found[k % 4] = _mm256_or_si256(found[k % 4], equal);
                }
                let found = _mm256_or_si256(_mm256_or_si256(found[0], found[1]), _mm256_or_si256(found[2], found[3]));
                if _mm256_testz_si256(found, found) == 0 {
                    return true;
                }
            }
            contains_word::<W>(rest, value)
        }
    }

    given! { Avx2,
        pub fn mark16(_p: Avx2, bytes: &[u8], value: u64, mask: &mut [u64], copy: &mut [u8]) {
            copy.copy_from_slice(bytes);
            by_words::<u16>(bytes, value, mask, |block, value| {
                let (vectors, value) = (block.as_chunks::<32>().0, _mm256_set1_epi16(value as i16));
                let equal = |k: usize| _mm256_cmpeq_epi16(load(&vectors[k]), value);
                (0..2).fold(0, |m, k| {
                    let both = _mm256_packs_epi16(equal(2 * k), equal(2 * k + 1));
                    let bits = _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(both));
                    m | u64::from(bits as u32) << (32 * k)
                })
            });
        }
    }

    given! { Avx2,
        pub fn mark32(_p: Avx2, bytes: &[u8], value: u64, mask: &mut [u64], copy: &mut [u8]) {
            copy.copy_from_slice(bytes);
            by_words::<u32>(bytes, value, mask, |block, value| {
                let (vectors, value) = (block.as_chunks::<32>().0, _mm256_set1_epi32(value as i32));
                (0..8).fold(0, |m, k| {
                    let equal = _mm256_castsi256_ps(_mm256_cmpeq_epi32(load(&vectors[k]), value));
                    m | (_mm256_movemask_ps(equal) as u64) << (8 * k)
                })
            });
        }
    }

    given! { Avx2,
        pub fn mark64(_p: Avx2, bytes: &[u8], value: u64, mask: &mut [u64], copy: &mut [u8]) {
            copy.copy_from_slice(bytes);
            by_words::<u64>(bytes, value, mask, |block, value| {
                let (vectors, value) = (block.as_chunks::<32>().0, _mm256_set1_epi64x(value as i64));
                (0..16).fold(0, |m, k| {
                    let equal = _mm256_castsi256_pd(_mm256_cmpeq_epi64(load(&vectors[k]), value));
                    m | (_mm256_movemask_pd(equal) as u64) << (4 * k)
                })
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Level;

    #[test]
    fn every_length_size_and_level_agrees() {
        for isa in Level::ALL.into_iter().filter_map(Isa::of) {
            for size in [2, 4, 8] {
                for n in (0..200).chain([512, 1000, 4096]) {
                    for rare in [1, 2, 5, 90, usize::MAX] {
                        let equal =
                            |i: usize| if rare == usize::MAX { i + 1 == n } else { (i * 7 % 11).is_multiple_of(rare) };
                        let word = |i| 0x0102_0304_0506_0700u64 + if equal(i) { 8 } else { 0 };
                        let bytes: Vec<u8> = (0..n).flat_map(|i| word(i).to_le_bytes()[..size].to_vec()).collect();
                        let mut expected = vec![0u64; n / 64 + 2];
                        (0..n).filter(|i| equal(*i)).for_each(|i| expected[i / 64] |= 1 << (i % 64));
                        let (mut mask, mut copy) = (vec![!0; n / 64 + 2], vec![0xaa; bytes.len()]);
                        mark(isa, size, &bytes, 0x0102_0304_0506_0708, &mut mask, &mut copy);
                        assert!(mask == expected && copy == bytes, "{isa:?} {size} {n}");
                        assert_eq!(contains(isa, size, &bytes, 0x0102_0304_0506_0708), n > 0, "{isa:?} {size} {n}");
                        assert!(!contains(isa, size, &bytes, 0x0202_0304_0606_0808), "{isa:?} {size} {n}");
                    }
                }
            }
        }
    }
}
