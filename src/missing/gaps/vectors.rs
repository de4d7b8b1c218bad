//! The loops over elements with gaps, once for the vectors of all levels and widths.

use super::words::{Before, WORD, fill_rest, of_block};
use crate::simd::elements::{ElementVectors, element_loops};
use crate::simd::word::Word;

/// The numbers of the words that are not zero. Most words are or are not in no order that a branch for each could
/// foresee.
struct Nonzero<'a> {
    words: &'a [u64],
    /// Those that are asked for next, 64 at a time, and which of these are left.
    at: usize,
    bits: u64,
}

impl Iterator for Nonzero<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            let words = self.words.get(self.at..).filter(|words| !words.is_empty())?;
            for (i, word) in words.iter().take(64).enumerate() {
                self.bits |= u64::from(*word != 0) << i;
            }
            self.at += 64;
        }
        let i = self.at - 64 + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(i)
    }
}

fn nonzero(words: &[u64]) -> Nonzero<'_> {
    Nonzero { words, at: 0, bits: 0 }
}

/// The elements of a word of a mask that is not 0; `element` comes before them.
#[inline(always)]
fn fill_word<W: Word, P: ElementVectors<W>>(p: P, gaps: u64, element: W, from: &[u8], to: &mut [u8]) {
    let size = size_of::<W>();
    if P::FEW > 0 && gaps == !0 {
        return to.chunks_exact_mut(size).for_each(|place| element.store(place));
    }
    if gaps.count_ones() < P::FEW {
        let mut bits = gaps;
        while bits != 0 {
            let i = bits.trailing_zeros() as usize;
            let before = if i == 0 { element } else { W::load(&to[(i - 1) * size..]) };
            before.store(&mut to[i * size..][..size]);
            bits &= bits - 1;
        }
        return;
    }
    let (mut before, vector) = (p.splat(element), P::N * size);
    for (k, (from, to)) in from.chunks_exact(vector).zip(to.chunks_exact_mut(vector)).enumerate() {
        before = p.fill(p.load(from), gaps >> (P::N * k), before);
        p.store(before, to);
    }
}

/// See `super::fill`.
#[inline(always)]
fn fill<W: Word, P: ElementVectors<W>>(p: P, before: &mut Before, src: &[u8], dst: &mut [u8]) {
    let (mask, block) = (before.mask, WORD * size_of::<W>());
    for i in nonzero(&mask[..src.len() / block]) {
        let element = W::load(&src[before.word(i) * size_of::<W>()..]);
        fill_word(p, mask[i], element, &src[i * block..][..block], &mut dst[i * block..][..block]);
    }
    fill_rest::<W>(before, src, dst);
}

/// See `super::take_out`: returns the blocks that have nothing but gaps. They are 32 at most. Each vector is compared,
/// and its gaps take what comes before them; a block whose gaps are longer is filled then.
#[inline(always)]
fn take_out<W: Word, P: ElementVectors<W>>(
    p: P,
    words: usize,
    value: u64,
    src: &[u8],
    mask: &mut [u64],
    dst: &mut [u8],
) -> u32 {
    let (size, bytes) = (size_of::<W>(), WORD * size_of::<W>());
    let (wanted, mut empty, block) = (p.splat(W::from_u64(value)), 0u32, words * bytes);
    let blocks = src.chunks_exact(block).zip(dst.chunks_exact_mut(block));
    for (b, (mask, (from, to))) in mask.chunks_exact_mut(words).zip(blocks).enumerate() {
        let (mut before, mut last, mut runs) = (wanted, 1, 0);
        let of_words = from.chunks_exact(bytes).zip(to.chunks_exact_mut(bytes));
        for (word, (from, to)) in mask.iter_mut().zip(of_words) {
            let mut gaps = 0;
            let vectors = from.chunks_exact(P::N * size).zip(to.chunks_exact_mut(P::N * size));
            for (k, (from, to)) in vectors.enumerate() {
                let v = p.load(from);
                let own = p.equal(v, wanted);
                p.store(p.select(own, p.shifted_in(before, v), v), to);
                gaps |= p.bits(own) << (P::N * k);
                before = v;
            }
            runs |= gaps & (gaps << 1 | last);
            (*word, last) = (gaps, gaps >> 63);
        }
        if runs != 0 {
            let Some(words) = of_block(mask) else {
                empty |= 1 << b;
                continue;
            };
            for (i, before) in words {
                let element = W::load(&from[before * size..]);
                fill_word(p, mask[i], element, &from[bytes * i..][..bytes], &mut to[bytes * i..][..bytes]);
            }
        }
    }
    empty
}

/// See `super::put`, for a whole number of words.
#[inline(always)]
fn put<W: Word, P: ElementVectors<W>>(p: P, mask: &[u64], value: u64, dst: &mut [u8]) {
    let (block, value) = (WORD * size_of::<W>(), W::from_u64(value));
    for i in nonzero(mask) {
        let dst = &mut dst[i * block..][..block];
        if mask[i].count_ones() < P::FEW {
            let mut bits = mask[i];
            while bits != 0 {
                value.store(&mut dst[bits.trailing_zeros() as usize * size_of::<W>()..]);
                bits &= bits - 1;
            }
            continue;
        }
        let vectors = dst.chunks_exact_mut(P::N * size_of::<W>());
        if P::FEW > 0 && mask[i] == !0 {
            for vector in vectors {
                p.store(p.splat(value), vector);
            }
            continue;
        }
        for (k, vector) in vectors.enumerate() {
            p.store(p.select(p.mask(mask[i] >> (P::N * k)), p.splat(value), p.load(vector)), vector);
        }
    }
}

element_loops! {
    fn fill(before: &mut Before, src: &[u8], dst: &mut [u8]);
    fn take_out(words: usize, value: u64, src: &[u8], mask: &mut [u64], dst: &mut [u8]) -> u32;
    fn put(mask: &[u64], value: u64, dst: &mut [u8]);
}
