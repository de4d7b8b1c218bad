//! Words of a mask, each of which tells 64 elements: what is done for one of them, or for those of a block.

use std::hint::select_unpredictable;

use crate::simd::word::Word;

/// Elements of a mask's word.
pub const WORD: usize = 64;

/// The most words of a block that `take_out` takes.
pub const MOST_WORDS: usize = 8;

/// The elements of word `i` of a mask: what comes before them is element `before`.
#[inline(always)]
pub fn fill_word<W: Word>(word: u64, before: usize, i: usize, src: &[u8], dst: &mut [u8]) {
    let size = size_of::<W>();
    let mut last = W::load(&src[before * size..]);
    let (from, to) = (i * WORD * size, ((i + 1) * WORD * size).min(src.len()));
    let elements = dst[from..to].chunks_exact_mut(size);
    if word == !0 {
        return elements.for_each(|element| last.store(element));
    }
    for (j, (element, source)) in elements.zip(src[from..to].chunks_exact(size)).enumerate() {
        last = select_unpredictable(word >> j & 1 == 1, last, W::load(source));
        last.store(element);
    }
}

/// The elements behind the last whole word.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
pub fn fill_rest<W: Word>(before: &mut Before, src: &[u8], dst: &mut [u8]) {
    let i = src.len() / (WORD * size_of::<W>());
    if !src.len().is_multiple_of(WORD * size_of::<W>()) && before.mask[i] != 0 {
        let element = before.word(i);
        fill_word::<W>(before.mask[i], element, i, src, dst);
    }
}

/// Which element comes before those of a mask's word.
pub struct Before<'a> {
    /// All of it.
    pub mask: &'a [u64],
    /// Of a block.
    words: usize,
    /// The first element that is there.
    of_all: usize,
    /// Of the word asked for last.
    last: usize,
}

impl<'a> Before<'a> {
    /// Of a mask in blocks of so many `words`, whose first element that is there is `of_all`.
    pub fn new(mask: &'a [u64], words: usize, of_all: usize) -> Before<'a> {
        Before { mask, words, of_all, last: of_all }
    }

    /// Of word `i`; each that has gaps is asked for, in their order. Whether a word begins a block is as good as random
    /// where gaps are: a branch would often go wrong.
    #[inline(always)]
    pub fn word(&mut self, i: usize) -> usize {
        let starts = i & (self.words - 1) == 0;
        let (here, prior) = (!self.mask[i], !self.mask[i.saturating_sub(1)]);
        let there = select_unpredictable(starts, here, prior);
        let in_block = i * WORD + here.trailing_zeros() as usize;
        let in_prior = (i * WORD).wrapping_sub(1 + prior.leading_zeros() as usize);
        self.last = if there != 0 {
            select_unpredictable(starts, in_block, in_prior)
        } else if starts {
            self.first_behind(i)
        } else {
            self.last
        };
        self.last
    }

    /// The first element of the block whose first word is `i`, which has none.
    fn first_behind(&self, i: usize) -> usize {
        let block = self.mask[i..].iter().take(self.words);
        let first = block.enumerate().find(|(_, word)| **word != !0);
        first.map_or(self.of_all, |(k, word)| (i + k) * WORD + word.trailing_ones() as usize)
    }
}

/// Bit by bit, but for whole words.
#[inline(always)]
pub fn put_bits<W: Word>(mask: &[u64], value: W, dst: &mut [u8]) {
    let size = size_of::<W>();
    for (word, block) in mask.iter().zip(dst.chunks_mut(WORD * size)).filter(|(word, _)| **word != 0) {
        if *word == !0 {
            block.chunks_exact_mut(size).for_each(|element| value.store(element));
            continue;
        }
        let mut bits = *word;
        while bits != 0 {
            value.store(&mut block[bits.trailing_zeros() as usize * size..][..size]);
            bits &= bits - 1;
        }
    }
}

/// The words of a block's mask that are not zero, each with the element of the block that comes before its gaps; `None`
/// if the block has no element.
#[inline(always)]
pub fn of_block(mask: &[u64]) -> Option<OfBlock<'_>> {
    let first = mask.iter().position(|word| *word != !0)?;
    Some(OfBlock { mask, before: first * WORD + mask[first].trailing_ones() as usize, i: 0 })
}

/// See `of_block`. No function that takes a closure: a level's instructions in one would be calls.
pub struct OfBlock<'a> {
    mask: &'a [u64],
    before: usize,
    i: usize,
}

impl Iterator for OfBlock<'_> {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, usize)> {
        while self.i < self.mask.len() {
            let (i, word, before) = (self.i, self.mask[self.i], self.before);
            let last = (i * WORD + WORD - 1).wrapping_sub((!word).leading_zeros() as usize);
            self.before = select_unpredictable(word == !0, before, last);
            self.i += 1;
            if word != 0 {
                return Some((i, before));
            }
        }
        None
    }
}
