//! The loops of codec sleek over a level's vectors, once for all levels and widths (`simd::{words, bits, columns}`).

#[allow(unsafe_code)]
#[cfg(target_arch = "aarch64")]
mod neon;
mod shapes;
#[cfg(test)]
mod tests;
#[allow(unsafe_code)]
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::codec::sleek::constants::{MAX_EXCEPTIONS, SAMPLE, SUBCHUNK_BYTES, SUBCHUNKS, WARP_TILE};
use crate::simd::bits::{self, BitVectors, MASKED, bits_at, unpack};
use crate::simd::columns::{self, Columns};
use crate::simd::stream::{self, Line, bytes};
use crate::simd::word::Word;
use crate::simd::words::{self, WordVectors, undo_differences};
use crate::simd::{Arithmetic, Scalar};
pub use shapes::{
    HIGHS, HIGHS_SLACK, MASK_BYTES, MaskBytes, Masks, READ_SLACK, Staged, Transposed, count_of, subchunk_of,
};

/// The loops of one level that are the same for words of every width. All levels give the same results. A value of the
/// level is the right to its instructions: it takes no space, and without one no method can be called.
pub trait SimdLevel: Arithmetic + WordVectors<u16> {
    /// Whether words of 16 bits are faster than wider ones, so that it pays to try whether values fit them.
    const PREFERS_SMALL: bool = false;
    /// Whether `stream` puts lines together that subchunks share; if not, it takes subchunks as well as chunks.
    const JOINS_LINES: bool = false;
    /// Whether codes of 8 bits are decoded faster than those of 16.
    const PREFERS_BYTES: bool = false;

    /// Of eight bytes those of a set, one behind the other, and anything behind them.
    #[inline(always)]
    fn listed(self, bytes: u64, set: u8) -> u64 {
        bits::listed(bytes, set)
    }

    /// The inverse of `listed`; zeros in the other places.
    #[inline(always)]
    fn placed(self, list: u64, set: u8) -> u64 {
        bits::placed(list, set)
    }

    /// The first S / `SAMPLE` numbers of each subchunk side by side, in whatever order.
    #[inline(always)]
    fn transpose<const S: usize>(self, widths: &[[u8; S]; SUBCHUNKS], rows: &mut Transposed<S>) {
        for (k, row) in rows[..S / SAMPLE].iter_mut().enumerate() {
            for (s, width) in row.iter_mut().enumerate() {
                *width = widths[s][k];
            }
        }
    }

    /// For each subchunk how many of the first S / `SAMPLE` numbers exceed its limit; all are below 128.
    #[inline(always)]
    fn wider<const S: usize>(self, rows: &Transposed<S>, limits: &[u8; SUBCHUNKS]) -> [u8; SUBCHUNKS] {
        let mut counts = [0; SUBCHUNKS];
        // A loop, since the compiler leaves a closure as a function of its own here, without vectors.
        for row in &rows[..S / SAMPLE] {
            for ((count, width), limit) in counts.iter_mut().zip(row).zip(limits) {
                *count += u8::from(width > limit);
            }
        }
        counts
    }

    /// Undoes zigzag and differences of codes of 8 bits: for each the sum of `start` and what the codes up to it stand
    /// for; `second_difference`, of these sums (from 0 on) once more.
    #[inline(always)]
    fn zigzag_delta_decode_bytes<const S: usize>(
        self,
        start: u32,
        second_difference: bool,
        codes: &[u8; S],
        sums: &mut [u32; S],
    ) {
        sums.iter_mut().zip(codes).for_each(|(sum, c)| *sum = u32::from(*c));
        undo_differences::<u32, _, false>(Scalar, start, second_difference, sums);
    }

    /// The numbers of the subchunks `of`, one behind the other at the start of `list`, each in its subchunk's place; 0
    /// in the others.
    #[inline(always)]
    fn expand(self, of: u32, list: &[u8]) -> [u8; SUBCHUNKS] {
        let (mut all, mut rest) = ([0; SUBCHUNKS], list);
        for (eight, set) in all.as_chunks_mut::<8>().0.iter_mut().zip(of.to_le_bytes()) {
            *eight = self.placed(next_eight(rest), set).to_le_bytes();
            rest = &rest[set.count_ones() as usize..];
        }
        all
    }

    /// The masks of S values: the mask bytes that have `flags` are the first of `list`.
    #[inline(always)]
    fn masks<const S: usize>(self, flags: u32, list: &[u8]) -> Masks {
        let mut padded: MaskBytes = [0; _];
        let list = list.first_chunk().unwrap_or_else(|| {
            padded[..list.len()].copy_from_slice(list);
            &padded
        });
        let (mut masks, mut at): (Masks, _) = ([0; _], 0);
        for (mask, set) in masks[..S / MASKED].iter_mut().zip(flags.to_le_bytes()) {
            *mask = self.placed(u64::from_le_bytes(*list[at..].first_chunk().expect("eight bytes")), set);
            at += set.count_ones() as usize;
        }
        masks
    }

    /// Puts the mask bytes of S values that have `flags` at the start of `out`, one behind the other, and anything
    /// behind them.
    #[inline(always)]
    fn compress<const S: usize>(self, masks: &Masks, flags: u32, out: &mut MaskBytes) {
        let mut at = 0;
        for (mask, set) in masks[..S / MASKED].iter().zip(flags.to_le_bytes()) {
            out[at..at + 8].copy_from_slice(&self.listed(*mask, set).to_le_bytes());
            at += set.count_ones() as usize;
        }
    }

    /// For each number the sum of `start` and those before it; no sum takes more than 16 bits.
    #[inline(always)]
    fn sums_before(self, numbers: &[u16; SUBCHUNKS], start: u16) -> [u16; SUBCHUNKS] {
        words::sums_before(self, numbers, start)
    }

    /// Copies a subchunk from `staged` to its place `at` in `chunk`, as `simd::stream` does; to be called for all
    /// subchunks in their order. `last` is of use from one to the next.
    #[inline(always)]
    fn stream(self, staged: &Staged, chunk: &mut [u8], at: usize, _last: &mut Line) {
        stream::copy(bytes(staged), &mut chunk[at..at + SUBCHUNK_BYTES]);
    }

    /// Has the processor fetch the lines of a subchunk that will be written at `at`, whatever is there.
    #[inline(always)]
    fn prefetchw(self, _at: *const u8) {}
}

/// The next eight numbers of a list; zeros follow its end.
#[inline(always)]
fn next_eight(list: &[u8]) -> u64 {
    match list.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => list.iter().rev().fold(0, |all, n| all << 8 | u64::from(*n)),
    }
}

/// Which mask bytes of S values are other than 0, a bit for each.
#[inline(always)]
pub fn flags<const S: usize>(masks: &Masks) -> u32 {
    let mut flags = 0;
    for (k, mask) in masks[..S / MASKED].iter().enumerate() {
        flags |= bits::nonzero_bytes(*mask) << (8 * k);
    }
    flags as u32
}

/// The least and the largest value of a subchunk, as signed numbers.
#[inline(always)]
pub fn extremes_of<W: Word, const S: usize>(x: &[W; S]) -> (W, W) {
    let (mut least, mut most) = (!W::ZERO, W::ZERO);
    for x in x {
        least = least.min(x.biased());
        most = most.max(x.biased());
    }
    (least.biased(), most.biased())
}

/// The loops of one level for subchunks of S words.
pub trait Simd<W: Word, const S: usize>: SimdLevel {
    /// Its vectors of such words.
    type Words: WordVectors<W> + From<Self>;
    /// The same for packed words.
    type Bits: BitVectors<W> + From<Self>;
    /// The same for words of several subchunks.
    type Columns: Columns<W> + From<Self>;

    /// Packs the low n bits, 1 ≤ n ≤ BITS, of S values into the first S·n/8 bytes of `out`.
    #[inline(always)]
    fn pack(self, codes: &[W; S], n: u32, out: &mut [u8]) {
        Self::Bits::from(self).pack(codes, n, out);
    }

    /// The S values of n bits, 1 ≤ n ≤ BITS, packed in the first S·n/8 bytes of `packed`.
    #[inline(always)]
    fn unpack(self, packed: &[u8], n: u32, codes: &mut [W; S]) {
        unpack(Self::Bits::from(self), packed, n, codes);
    }

    /// The values of n bits, 1 ≤ n ≤ BITS, packed in the first 4·n bytes of `packed`.
    #[inline(always)]
    fn unpack_bases(self, packed: &[u8], n: u32, bases: &mut [W; SUBCHUNKS]) {
        if Self::Bits::UNPACKED > SUBCHUNKS {
            return unpack(Scalar, packed, n, bases);
        }
        unpack(Self::Bits::from(self), packed, n, bases);
    }

    /// Undoes zigzag and differences: replaces every code by the sum of `start` and what the codes up to it stand for;
    /// `second_difference`, of these sums (from 0 on) once more.
    #[inline(always)]
    fn zigzag_delta_decode(self, start: W, second_difference: bool, codes: &mut [W; S]) {
        undo_differences::<W, Self::Words, false>(self.into(), start, second_difference, codes);
    }

    /// The same from 0 on, of sums that take two bits less than a word; `false` if one might take more, and then the
    /// codes are used up for nothing. A sum whose neighbour before is exact cannot come out that small by losing its
    /// high bits: what is added takes one bit less than a word.
    #[inline(always)]
    fn try_zigzag_delta_decode(self, second_difference: bool, codes: &mut [W; S]) -> bool {
        undo_differences::<W, Self::Words, true>(self.into(), W::ZERO, second_difference, codes)
    }

    /// The least and the largest value of each subchunk of a warp tile, as signed numbers.
    #[inline(always)]
    fn extremes(self, x: &[[W; S]; WARP_TILE]) -> ([W; WARP_TILE], [W; WARP_TILE]) {
        let (mut least, mut most) = ([W::ZERO; WARP_TILE], [W::ZERO; WARP_TILE]);
        for (s, x) in x.iter().enumerate() {
            (least[s], most[s]) = extremes_of(x);
        }
        (least, most)
    }

    /// See `columns::totals`.
    #[inline(always)]
    fn totals(self, x: &[[W; S]; WARP_TILE], least: &[W; WARP_TILE], tops: Option<&[W; WARP_TILE]>) -> [u32; 4] {
        columns::totals::<W, Self::Columns, S>(self.into(), x, least, tops)
    }

    /// The width of the largest code.
    #[inline(always)]
    fn width(self, codes: &[W; S]) -> u32 {
        words::width::<W, Self::Words, S>(self.into(), codes)
    }

    /// The widths of the sampled codes, in whatever order in the first S / `SAMPLE` places.
    #[inline(always)]
    fn widths(self, codes: &[W; S], widths: &mut [u8; S]) {
        const { assert!(SAMPLE == 4) };
        Self::Bits::from(self).sampled_widths(codes, &mut widths[..S / SAMPLE]);
    }

    /// Finds the codes that have more than `width` bits: returns which these are, and leaves what they hold above the
    /// low `width` bits, if they are not more than `MAX_EXCEPTIONS`.
    #[inline(always)]
    fn extract_exceptions(self, codes: &[W; S], width: u32, highs: &mut [W; HIGHS]) -> Masks {
        let (p, mut masks): (_, Masks) = (Self::Bits::from(self), [0; _]);
        let words = codes.as_chunks::<MASKED>().0;
        for (mask, words) in masks.iter_mut().zip(words) {
            *mask = p.wider(words, width);
        }
        if count_of::<S>(&masks) > MAX_EXCEPTIONS {
            return masks;
        }
        let mut at = 0;
        for (mask, words) in masks.iter().zip(words) {
            p.take(words, width, *mask, &mut highs[at..]);
            at += mask.count_ones() as usize;
        }
        // Zeros behind the last: packed, they complete its byte.
        highs[at..at + 8].fill(W::ZERO);
        masks
    }

    /// Packs `count` ≤ `MAX_EXCEPTIONS` high parts of `n` bits, as `extract_exceptions` left them, at the start of
    /// `out`, which has `HIGHS_SLACK` bytes to spare; returns their bytes.
    #[inline(always)]
    fn pack_highs(self, highs: &[W; HIGHS], count: usize, n: u32, out: &mut [u8]) -> usize {
        Self::Bits::from(self).pack(&highs[..MAX_EXCEPTIONS], n, out);
        (count * n as usize).div_ceil(8)
    }

    /// Adds the high parts to the codes that `masks` tell, above their low `width` bits.
    #[inline(always)]
    fn apply_exceptions(self, codes: &mut [W; S], width: u32, masks: &Masks, highs: &[u8], high_width: u32) {
        let (p, count) = (Self::Bits::from(self), count_of::<S>(masks));
        // More than our encoder writes.
        if count > MAX_EXCEPTIONS {
            return apply_many(codes, width, masks, highs, high_width);
        }
        const { assert!(MAX_EXCEPTIONS == bits::MOST) };
        let (mut parts, mut at) = (<Self::Bits as BitVectors<W>>::Parts::default(), 0);
        p.unpack_parts(highs, count, high_width, width, &mut parts);
        for (mask, words) in masks.iter().zip(codes.as_chunks_mut::<MASKED>().0) {
            p.put(words, *mask, &parts, at);
            at += mask.count_ones() as usize;
        }
    }
}

/// `Simd::apply_exceptions` for any number of them.
#[cold]
fn apply_many<W: Word>(codes: &mut [W], width: u32, masks: &Masks, highs: &[u8], high_width: u32) {
    for (k, i) in positions(masks).enumerate() {
        let high = W::from_u64(bits_at(highs, k * high_width as usize, high_width));
        codes[i] = codes[i] | high << width;
    }
}

/// The positions of exceptions.
fn positions(masks: &Masks) -> impl Iterator<Item = usize> {
    (0..MASKED * masks.len()).filter(|i| masks[i / MASKED] >> (i % MASKED) & 1 == 1)
}

impl SimdLevel for Scalar {}

impl<W: Word, const S: usize> Simd<W, S> for Scalar {
    type Words = Scalar;
    type Bits = Scalar;
    type Columns = Scalar;
}
