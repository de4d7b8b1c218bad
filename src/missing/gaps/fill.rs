//! Elements that are there in the places of missing ones: each takes what comes before it.

#[cfg(target_arch = "x86_64")]
use super::vectors;
use super::words::{Before, WORD, fill_word};
use crate::exec::Isa;
use crate::simd::elements::by_vectors;
use crate::simd::word::{Word, by_size};

/// Puts other elements into the gaps of `dst`, a copy of `src`, of which the missing elements are those with a bit in
/// `mask`: in each block of so many `words` of the mask the element before them, at its start the first that is there,
/// and in a block of nothing else the first of all. `mask` has a word more than the elements need at least; its bits
/// behind them become set.
pub fn fill(isa: Isa, size: usize, words: usize, mask: &mut [u64], src: &[u8], dst: &mut [u8]) {
    by_size!(size, fill_words(isa, words, mask, src, dst));
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
    let mut before = Before::new(mask, words, of_all);
    by_vectors!(isa, size_of::<W>(), vectors::fill(&mut before, src, dst));
    let missing = mask[..n.div_ceil(WORD)].iter().enumerate().filter(|(_, word)| **word != 0);
    for (i, word) in missing {
        let element = before.word(i);
        fill_word::<W>(*word, element, i, src, dst);
    }
}
