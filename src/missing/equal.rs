//! Which elements of a run have given bits. Elements are words of 2, 4 or 8 bytes, as they lie in memory.

use crate::exec::Isa;
use crate::simd::elements::by_vectors;
use crate::simd::word::{Word, by_size};

/// Whether any element of `bytes`, words of `size` bytes, has the bits of `value`.
#[inline]
pub fn contains(isa: Isa, size: usize, bytes: &[u8], value: u64) -> bool {
    by_vectors!(isa, size, vectors::contains(bytes, value));
    by_size!(size, contains_word(bytes, value))
}

/// Sets bit i of `mask` if element i of `bytes`, words of `size` bytes, has the bits of `value`, and clears the bits
/// behind the last element; `mask` has a bit for each element at least. The bytes are copied to `copy`, as many,
/// meanwhile.
#[inline]
pub fn mark(isa: Isa, size: usize, bytes: &[u8], value: u64, mask: &mut [u64], copy: &mut [u8]) {
    by_vectors!(isa, size, vectors::mark(bytes, value, mask, copy));
    copy.copy_from_slice(bytes);
    by_size!(size, by_words(bytes, value, mask));
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

/// Fills `mask`.
#[inline(always)]
fn by_words<W: Word>(bytes: &[u8], value: u64, mask: &mut [u64]) {
    let blocks = bytes.chunks_exact(64 * size_of::<W>());
    let (rest, (words, behind)) = (blocks.remainder(), mask.split_at_mut(blocks.len()));
    words.iter_mut().zip(blocks).for_each(|(word, block)| *word = of_block(block, W::from_u64(value)));
    behind.fill(0);
    if !rest.is_empty() {
        behind[0] = of_block(rest, W::from_u64(value));
    }
}

/// The same over vectors.
#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::{by_words, contains_word};
    use crate::simd::elements::{ElementVectors, element_loops};
    use crate::simd::word::Word;

    /// Vectors that are compared before one branch asks for the results.
    const PIECE: usize = 16;

    #[inline(always)]
    fn contains<W: Word, P: ElementVectors<W>>(p: P, bytes: &[u8], value: u64) -> bool {
        let (wanted, vector) = (p.splat(W::from_u64(value)), P::N * size_of::<W>());
        let pieces = bytes.chunks_exact(PIECE * vector);
        let rest = pieces.remainder();
        for piece in pieces {
            let mut found = [p.mask(0); 4];
            for (k, v) in piece.chunks_exact(vector).enumerate() {
                found[k % 4] = p.either(found[k % 4], p.equal(p.load(v), wanted));
            }
            if p.any(p.either(p.either(found[0], found[1]), p.either(found[2], found[3]))) {
                return true;
            }
        }
        contains_word::<W>(rest, value)
    }

    #[inline(always)]
    fn mark<W: Word, P: ElementVectors<W>>(p: P, bytes: &[u8], value: u64, mask: &mut [u64], copy: &mut [u8]) {
        let (wanted, vector) = (p.splat(W::from_u64(value)), P::N * size_of::<W>());
        let (blocks, copies) = (bytes.chunks_exact(64 * size_of::<W>()), copy.chunks_exact_mut(64 * size_of::<W>()));
        let (rest, (words, behind)) = (blocks.remainder(), mask.split_at_mut(blocks.len()));
        for ((from, to), word) in blocks.zip(copies).zip(words) {
            let mut equal = 0;
            for (k, (from, to)) in from.chunks_exact(vector).zip(to.chunks_exact_mut(vector)).enumerate() {
                let v = p.load(from);
                p.store(v, to);
                equal |= p.bits(p.equal(v, wanted)) << (P::N * k);
            }
            *word = equal;
        }
        copy[bytes.len() - rest.len()..].copy_from_slice(rest);
        by_words::<W>(rest, value, behind);
    }

    element_loops! {
        fn contains(bytes: &[u8], value: u64) -> bool;
        fn mark(bytes: &[u8], value: u64, mask: &mut [u64], copy: &mut [u8]);
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
