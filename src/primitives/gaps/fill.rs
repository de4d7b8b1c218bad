//! Elements that are there in the places of missing ones: each takes what comes before it.

use std::hint::select_unpredictable;

use super::WORD;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::exec::Isa;
#[cfg(target_arch = "x86_64")]
use crate::exec::Level;
use crate::primitives::word::Word;

/// Puts other elements into the gaps of `dst`, a copy of `src`, of which the missing elements are those with a bit in
/// `mask`: in each block of so many `words` of the mask the element before them, at its start the first that is there,
/// and in a block of nothing else the first of all. `mask` has a word more than the elements need at least; its bits
/// behind them become set.
pub fn fill(isa: Isa, size: usize, words: usize, mask: &mut [u64], src: &[u8], dst: &mut [u8]) {
    match size {
        2 => fill_words::<u16>(isa, words, mask, src, dst),
        4 => fill_words::<u32>(isa, words, mask, src, dst),
        _ => fill_words::<u64>(isa, words, mask, src, dst),
    }
}

#[inline(always)]
fn fill_words<W: Word>(isa: Isa, words: usize, mask: &mut [u64], src: &[u8], dst: &mut [u8]) {
    let n = src.len() / size_of::<W>();
    assert!(dst.len() == src.len() && mask.len() * WORD >= n + WORD);
    if !n.is_multiple_of(WORD) {
        mask[n / WORD] |= !0 << (n % WORD);
    }
    mask[n.div_ceil(WORD)..].fill(!0);
    let mask = &mask[..n.div_ceil(WORD) + 1];
    let Some(i) = mask.iter().position(|word| *word != !0) else { return };
    let of_all = i * WORD + mask[i].trailing_ones() as usize;
    let mut before = Before { mask, words, of_all, last: of_all };
    #[cfg(target_arch = "x86_64")]
    if isa.level() == Level::Avx512 {
        // SAFETY: the processor has the level, as the consent says.
        return unsafe { avx512::fill::<W>(&mut before, src, dst) };
    }
    #[cfg(target_arch = "x86_64")]
    if isa.level() == Level::Avx2 {
        // SAFETY: as above.
        return unsafe { avx2::fill::<W>(&mut before, src, dst) };
    }
    let _ = isa;
    let missing = mask[..n.div_ceil(WORD)].iter().enumerate().filter(|(_, word)| **word != 0);
    for (i, word) in missing {
        let element = before.word(i);
        fill_word::<W>(*word, element, i, src, dst);
    }
}

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

impl Before<'_> {
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
