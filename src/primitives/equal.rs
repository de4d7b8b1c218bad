//! Which elements of a run have given bits.

use super::word::Word;

/// Sets bit i of `mask` if element i of `bytes` has the bits of `value`, and clears the bits behind the last element;
/// whether any has. Elements are words of `size` bytes, as they lie in memory; `mask` has a bit for each of them at
/// least.
pub fn equal_mask(size: usize, bytes: &[u8], value: u64, mask: &mut [u64]) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            return unsafe { x86::equal_mask_avx512(size, bytes, value, mask) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { x86::equal_mask_avx2(size, bytes, value, mask) };
        }
    }
    portable(size, bytes, value, mask)
}

fn portable(size: usize, bytes: &[u8], value: u64, mask: &mut [u64]) -> bool {
    match size {
        2 => by_words::<u16>(bytes, value as u16, mask, |block, value| of_block(block, value)),
        4 => by_words::<u32>(bytes, value as u32, mask, |block, value| of_block(block, value)),
        8 => by_words::<u64>(bytes, value, mask, |block, value| of_block(block, value)),
        _ => by_words::<u8>(bytes, value as u8, mask, |block, value| of_block(block, value)),
    }
}

/// The mask of up to 64 elements.
#[inline(always)]
fn of_block<W: Word>(block: &[u8], value: W) -> u64 {
    let words = block.chunks_exact(size_of::<W>()).enumerate();
    words.fold(0, |mask, (i, word)| mask | u64::from(W::load(word) == value) << i)
}

/// Fills `mask`; `whole` tells it for 64 elements.
#[inline(always)]
fn by_words<W: Word>(bytes: &[u8], value: W, mask: &mut [u64], whole: impl Fn(&[u8], W) -> u64) -> bool {
    let blocks = bytes.chunks_exact(64 * size_of::<W>());
    let rest = blocks.remainder();
    let (mut any, mut at) = (0, 0);
    for block in blocks {
        mask[at] = whole(block, value);
        any |= mask[at];
        at += 1;
    }
    if !rest.is_empty() {
        mask[at] = of_block(rest, value);
        any |= mask[at];
        at += 1;
    }
    mask[at..].fill(0);
    any != 0
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::by_words;

    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn equal_mask_avx512(size: usize, bytes: &[u8], value: u64, mask: &mut [u64]) -> bool {
        /// The vector `$k` of a block.
        macro_rules! load {
            ($block:ident, $k:expr) => {
                // SAFETY: a block holds 64 elements, and the slice is taken of them.
                unsafe { _mm512_loadu_si512($block[64 * $k..64 * $k + 64].as_ptr().cast()) }
            };
        }
        match size {
            2 => by_words::<u16>(bytes, value as u16, mask, |block, value| {
                let value = _mm512_set1_epi16(value as i16);
                (0..2).fold(0, |m, k| m | u64::from(_mm512_cmpeq_epi16_mask(load!(block, k), value)) << (32 * k))
            }),
            4 => by_words::<u32>(bytes, value as u32, mask, |block, value| {
                let value = _mm512_set1_epi32(value as i32);
                (0..4).fold(0, |m, k| m | u64::from(_mm512_cmpeq_epi32_mask(load!(block, k), value)) << (16 * k))
            }),
            8 => by_words::<u64>(bytes, value, mask, |block, value| {
                let value = _mm512_set1_epi64(value as i64);
                (0..8).fold(0, |m, k| m | u64::from(_mm512_cmpeq_epi64_mask(load!(block, k), value)) << (8 * k))
            }),
            _ => by_words::<u8>(bytes, value as u8, mask, |block, value| {
                _mm512_cmpeq_epi8_mask(load!(block, 0), _mm512_set1_epi8(value as i8))
            }),
        }
    }

    #[target_feature(enable = "avx2")]
    pub fn equal_mask_avx2(size: usize, bytes: &[u8], value: u64, mask: &mut [u64]) -> bool {
        /// The vector `$k` of a block.
        macro_rules! load {
            ($block:ident, $k:expr) => {
                // SAFETY: a block holds 64 elements, and the slice is taken of them.
                unsafe { _mm256_loadu_si256($block[32 * $k..32 * $k + 32].as_ptr().cast()) }
            };
        }
        match size {
            2 => by_words::<u16>(bytes, value as u16, mask, |block, value| {
                let value = _mm256_set1_epi16(value as i16);
                (0..2).fold(0, |m, k| {
                    let (low, high) = (load!(block, 2 * k), load!(block, 2 * k + 1));
                    let both = _mm256_packs_epi16(_mm256_cmpeq_epi16(low, value), _mm256_cmpeq_epi16(high, value));
                    let bits = _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(both));
                    m | u64::from(bits as u32) << (32 * k)
                })
            }),
            4 => by_words::<u32>(bytes, value as u32, mask, |block, value| {
                let value = _mm256_set1_epi32(value as i32);
                (0..8).fold(0, |m, k| {
                    let equal = _mm256_castsi256_ps(_mm256_cmpeq_epi32(load!(block, k), value));
                    m | (_mm256_movemask_ps(equal) as u64) << (8 * k)
                })
            }),
            8 => by_words::<u64>(bytes, value, mask, |block, value| {
                let value = _mm256_set1_epi64x(value as i64);
                (0..16).fold(0, |m, k| {
                    let equal = _mm256_castsi256_pd(_mm256_cmpeq_epi64(load!(block, k), value));
                    m | (_mm256_movemask_pd(equal) as u64) << (4 * k)
                })
            }),
            _ => by_words::<u8>(bytes, value as u8, mask, |block, value| {
                let value = _mm256_set1_epi8(value as i8);
                (0..2).fold(0, |m, k| {
                    let bits = _mm256_movemask_epi8(_mm256_cmpeq_epi8(load!(block, k), value));
                    m | u64::from(bits as u32) << (32 * k)
                })
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_size_and_instruction_set_agrees() {
        for size in [1, 2, 4, 8] {
            for n in (0..200).chain([1000]) {
                for rare in [1, 2, 5, 90] {
                    let word = |i: usize| {
                        if i * 7 % 11 % rare == 0 { 0x0102_0304_0506_0708u64 } else { 0x0102_0304_0506_0700 }
                    };
                    let bytes: Vec<u8> = (0..n).flat_map(|i| word(i).to_le_bytes()[..size].to_vec()).collect();
                    let mut expected = vec![0u64; n / 64 + 2];
                    (0..n).filter(|i| word(*i) & 0xff == 8).for_each(|i| expected[i / 64] |= 1 << (i % 64));
                    let mut mask = vec![!0; n / 64 + 2];
                    assert_eq!(equal_mask(size, &bytes, word(0), &mut mask), n > 0, "{size} {n}");
                    assert_eq!(mask, expected, "{size} {n}");
                    mask.fill(!0);
                    assert!(portable(size, &bytes, word(0), &mut mask) == (n > 0) && mask == expected, "{size} {n}");
                    #[cfg(target_arch = "x86_64")]
                    if is_x86_feature_detected!("avx2") {
                        mask.fill(!0);
                        // SAFETY: the processor has it.
                        unsafe { x86::equal_mask_avx2(size, &bytes, word(0), &mut mask) };
                        assert_eq!(mask, expected, "{size} {n}");
                    }
                }
            }
        }
    }
}
