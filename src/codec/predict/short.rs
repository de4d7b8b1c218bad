//! Words that are short numbers, so that 32 bits hold all their differences, whatever the type: those of nearly all
//! tiles of bins.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use std::marker::PhantomData;

use crate::codec::interp::plan::Plan;
use crate::codec::interp::quantize::lattice::{Bins, Multiple};
use crate::codec::interp::quantize::multiples::Bits;
use crate::codec::interp::tile_shape::MARGIN;
use crate::simd::Task;
use crate::simd::lanes::{ByLevel, Lanes};
use crate::simd::vec::Simd;
use crate::simd::word::Word;

/// Bits of the magnitudes of short words: eight of them, and 128 such sums, must fit 32 bits; and eight of them a word.
const fn short_bits<W: Word>() -> u32 {
    if W::BITS < 32 { W::BITS - 5 } else { 21 }
}

/// The words as short numbers behind a margin; whether they are.
pub struct Shorten<'a, W> {
    /// The words.
    pub words: &'a [W],
    /// Where the numbers go.
    pub short: &'a mut [u32],
}

impl<W: Word> Task for Shorten<'_, W> {
    type Done = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> bool {
        let bits = short_bits::<W>();
        let limit = W::ONE << bits;
        let mut any = W::ZERO;
        for (number, w) in self.short[MARGIN..].iter_mut().zip(self.words) {
            *number = w.extend() as u32;
            any = any | (w.add(limit) >> (bits + 1));
        }
        any == W::ZERO
    }
}

/// What the elements of a tile are as bins.
pub struct ShortBins<W> {
    /// The elements.
    pub seen: Bits<W>,
    /// The bin of the first one.
    pub base: W,
    /// The others, less this one, are short.
    pub are_short: bool,
    /// One is a bin that no element may become.
    pub collides: bool,
}

/// Elements that are quantized at once.
const BLOCK: usize = 64;

/// The bins of elements, less the first one, as short numbers behind a margin, if they are.
pub struct ShortenBins<'a, E> {
    /// What there is to know of them.
    pub plan: &'a Plan,
    /// The bins.
    pub bins: &'a Bins,
    /// The elements.
    pub data: &'a [u8],
    /// Where the numbers go.
    pub short: &'a mut [u32],
    /// Their type.
    pub element: PhantomData<E>,
}

impl<E: Multiple> ByLevel for ShortenBins<'_, E> {
    type Done = ShortBins<E::Word>;

    #[inline(always)]
    fn run<P: Simd<M>, const M: usize>(self, _: P) -> ShortBins<E::Word> {
        // Copied, so that the compiler knows that nothing written changes them.
        let bins = *self.bins;
        // Asked before the loop: within it whatever is loaded is turned around with a mask.
        match self.plan.big_endian {
            true => shorten_bins::<E, true>(self.plan, &bins, self.data, self.short),
            false => shorten_bins::<E, false>(self.plan, &bins, self.data, self.short),
        }
    }
}

#[inline(always)]
fn shorten_bins<E: Multiple, const BIG_ENDIAN: bool>(
    plan: &Plan,
    bins: &Bins,
    data: &[u8],
    short: &mut [u32],
) -> ShortBins<E::Word> {
    let (zero, size) = (E::Word::ZERO, size_of::<E::Word>());
    let bits = short_bits::<E::Word>();
    let limit = E::Word::ONE << bits;
    let (mut any, mut largest, mut beyond) = (zero, zero, zero);
    let (mut base, mut collides) = (zero, false);
    for (k, bytes) in data.chunks(BLOCK * size).enumerate() {
        let mut words = [zero; BLOCK];
        let count = bytes.len() / size;
        if count == BLOCK {
            for i in 0..BLOCK {
                words[i] = E::Word::load(&bytes[i * size..(i + 1) * size]);
            }
        } else {
            for i in 0..count {
                words[i] = E::Word::load(&bytes[i * size..(i + 1) * size]);
            }
            let last = words[count - 1];
            words[count..].fill(last);
        }
        if BIG_ENDIAN {
            for w in &mut words {
                *w = w.swap();
            }
        }
        for w in &words {
            any = any | *w;
            largest = largest.max(*w & !E::Word::SIGN);
        }
        bins.encode::<E, BLOCK>(&mut words);
        if k == 0 {
            base = words[0];
        }
        for bin in plan.collisions() {
            collides |= words.iter().fold(false, |any, w| any | (w.to_u64() == *bin));
        }
        let mut numbers = [0; BLOCK];
        for (number, w) in numbers.iter_mut().zip(&words) {
            let w = w.sub(base);
            *number = w.extend() as u32;
            beyond = beyond | (w.add(limit) >> (bits + 1));
        }
        let to = &mut short[MARGIN + k * BLOCK..];
        let room = to.len().min(BLOCK);
        match to.first_chunk_mut() {
            Some(to) => *to = numbers,
            None => to.copy_from_slice(&numbers[..room]),
        }
    }
    ShortBins { seen: Bits { any, largest }, base, are_short: beyond == zero, collides }
}
