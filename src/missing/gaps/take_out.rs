//! Gaps found and filled at once, by the value that stands in them.

#[cfg(target_arch = "x86_64")]
use super::vectors;
use super::words::{MOST_WORDS, WORD, fill_word, of_block};
use crate::exec::Isa;
use crate::missing::equal;
use crate::simd::elements::by_vectors;
use crate::simd::word::{Word, by_size};

/// Whether `take_out` takes `bytes` of elements of `size` bytes in blocks of so many `words`: whole blocks, no more
/// than a plane has.
pub fn can_take_out(size: usize, words: usize, bytes: usize) -> bool {
    let block = words * WORD * size;
    words <= MOST_WORDS && bytes.is_multiple_of(block) && (1..=32).contains(&(bytes / block))
}

/// Marks the elements of `src` with the bits of `value` in `mask`, which has room for a bit each, and copies all to
/// `dst`, with others in their places as `fill` has it: one pass where a gap is a single element that does not begin a
/// block. `can_take_out` has to hold. False if there is nothing else than gaps.
pub fn take_out(isa: Isa, size: usize, words: usize, value: u64, src: &[u8], mask: &mut [u64], dst: &mut [u8]) -> bool {
    assert!(can_take_out(size, words, src.len()) && dst.len() == src.len());
    let mask = &mut mask[..src.len() / (WORD * size)];
    // Bit b is set where block b has nothing but gaps.
    let empty = by_blocks(isa, size, words, value, src, mask, dst);
    if empty == 0 {
        return true;
    }
    let Some(i) = mask.iter().position(|word| *word != !0) else { return false };
    let of_all = i * WORD + mask[i].trailing_ones() as usize;
    let element = &src[of_all * size..][..size];
    for (_, block) in dst.chunks_exact_mut(words * WORD * size).enumerate().filter(|(b, _)| empty >> b & 1 == 1) {
        by_size!(size, fill_with(element, block));
    }
    true
}

/// Marks and fills block by block; bit b of what it returns is set where block b has nothing but gaps.
fn by_blocks(isa: Isa, size: usize, words: usize, value: u64, src: &[u8], mask: &mut [u64], dst: &mut [u8]) -> u32 {
    by_vectors!(isa, size, vectors::take_out(words, value, src, mask, dst));
    by_size!(size, take_out_words(isa, words, value, src, mask, dst))
}

/// Fills `place` with one element.
#[inline(always)]
fn fill_with<W: Word>(element: &[u8], place: &mut [u8]) {
    let element = W::load(element);
    place.chunks_exact_mut(size_of::<W>()).for_each(|place| element.store(place));
}

/// `take_out` without instructions of its own.
fn take_out_words<W: Word>(isa: Isa, words: usize, value: u64, src: &[u8], mask: &mut [u64], dst: &mut [u8]) -> u32 {
    let (size, mut empty) = (size_of::<W>(), 0u32);
    equal::mark(isa, size, src, value, mask, dst);
    let block = words * WORD * size;
    let blocks = src.chunks_exact(block).zip(dst.chunks_exact_mut(block)).zip(mask.chunks_exact(words));
    for (b, ((from, to), mask)) in blocks.enumerate().filter(|(_, (_, mask))| mask.iter().any(|word| *word != 0)) {
        match of_block(mask) {
            Some(words) => words.for_each(|(i, before)| fill_word::<W>(mask[i], before, i, from, to)),
            None => empty |= 1 << b,
        }
    }
    empty
}
