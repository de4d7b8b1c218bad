//! Portable code, for every width and element type. Packing goes through 64-bit words.

use super::shapes::{HIGHS, MaskBytes, Masks, Transposed};
use crate::codec::sleek::constants::{MODE_SAMPLE, SAMPLE, SUBCHUNKS, WARP_TILE};
use crate::codec::sleek::countdown;
use crate::codec::sleek::format::Subchunks;
use crate::simd::word::Word;

/// See `Simd::pack`.
#[inline(always)]
pub fn pack<W: Word, const S: usize>(codes: &[W; S], n: u32, out: &mut [u8]) {
    // S·n is a multiple of 64, so the last word is full.
    let mut words = out.chunks_exact_mut(8);
    let (mut acc, mut fill) = (0u64, 0);
    let low = u64::MAX >> (64 - n);
    for c in codes {
        let c = c.to_u64() & low;
        acc |= c << fill;
        fill += n;
        if fill >= 64 {
            if let Some(w) = words.next() {
                w.copy_from_slice(&acc.to_le_bytes());
            }
            fill -= 64;
            acc = if fill == 0 { 0 } else { c >> (n - fill) };
        }
    }
}

/// See `Simd::unpack`.
#[inline(always)]
pub fn unpack<W: Word, const S: usize>(packed: &[u8], n: u32, codes: &mut [W; S]) {
    for (i, c) in codes.iter_mut().enumerate() {
        *c = W::from_u64(bits_at(packed, i * n as usize, n));
    }
}

/// See `Simd::zigzag_delta_decode`.
#[inline(always)]
pub fn zigzag_delta_decode<W: Word, const S: usize>(start: W, second_difference: bool, codes: &mut [W; S]) {
    let (mut slope, mut last) = (W::ZERO, start);
    for c in codes {
        let d = c.unzigzag();
        slope = if second_difference { slope.add(d) } else { d };
        last = last.add(slope);
        *c = last;
    }
}

/// See `Simd::try_zigzag_delta_decode`. A sum whose neighbour before is exact cannot come out that small by losing its
/// high bits: what is added takes one bit less than a word.
#[inline(always)]
pub fn try_zigzag_delta_decode<W: Word, const S: usize>(second_difference: bool, codes: &mut [W; S]) -> bool {
    let fits = |x: W| x.add(W::ONE << (W::BITS - 2)) & W::SIGN == W::ZERO;
    let (mut slope, mut last, mut fit) = (W::ZERO, W::ZERO, true);
    for c in codes {
        let d = c.unzigzag();
        slope = if second_difference { slope.add(d) } else { d };
        last = last.add(slope);
        fit &= fits(last) && (!second_difference || fits(slope));
        *c = last;
    }
    fit
}

/// See `SimdLevel::zigzag_delta_decode_bytes`.
#[inline(always)]
pub fn zigzag_delta_decode_bytes<const S: usize>(
    start: u32,
    second_difference: bool,
    codes: &[u8; S],
    sums: &mut [u32; S],
) {
    sums.iter_mut().zip(codes).for_each(|(sum, c)| *sum = u32::from(*c));
    zigzag_delta_decode(start, second_difference, sums);
}

/// Least and largest value, as signed numbers.
#[inline(always)]
pub fn extremes_of<W: Word, const S: usize>(x: &[W; S]) -> (W, W) {
    let (mut least, mut most) = (!W::ZERO, W::ZERO);
    for x in x {
        least = least.min(x.biased());
        most = most.max(x.biased());
    }
    (least.biased(), most.biased())
}

/// See `Simd::extremes`.
#[inline(always)]
pub fn extremes<W: Word, const S: usize>(x: &[[W; S]; WARP_TILE]) -> ([W; WARP_TILE], [W; WARP_TILE]) {
    let (mut least, mut most) = ([W::ZERO; WARP_TILE], [W::ZERO; WARP_TILE]);
    for (s, x) in x.iter().enumerate() {
        (least[s], most[s]) = extremes_of(x);
    }
    (least, most)
}

/// See `Simd::totals`. The subchunks side by side, so that a vector has a value of each.
#[inline(always)]
pub fn totals<W: Word, const S: usize>(
    x: &[[W; S]; WARP_TILE],
    least: &[W; WARP_TILE],
    tops: Option<&[W; WARP_TILE]>,
) -> [u32; 4] {
    let mut totals = [[0; WARP_TILE]; 4];
    for of_each in (0..S).step_by(MODE_SAMPLE) {
        for s in 0..WARP_TILE {
            let at = of_each + MODE_SAMPLE - 1 - s * (MODE_SAMPLE / WARP_TILE);
            let (before2, before, value) = (x[s][at - 2], x[s][at - 1], x[s][at]);
            let d = value.sub(before);
            let other = match tops {
                Some(tops) => countdown::half_code(value, tops[s]),
                None => d.sub(before.sub(before2)).magnitude(),
            };
            totals[0][s] += value.sub(least[s]).width();
            totals[1][s] += value.sub(x[s][0]).magnitude().width();
            totals[2][s] += d.magnitude().width();
            totals[3][s] += other.width();
        }
    }
    totals.map(|of_mode| of_mode.iter().sum())
}

/// See `Simd::width`.
#[inline(always)]
pub fn width<W: Word, const S: usize>(codes: &[W; S]) -> u32 {
    codes.iter().fold(W::ZERO, |a, c| a | *c).width()
}

/// See `Simd::widths`.
#[inline(always)]
pub fn widths<W: Word, const S: usize>(codes: &[W; S], widths: &mut [u8; S]) {
    for (w, four) in widths.iter_mut().zip(codes.as_chunks::<SAMPLE>().0) {
        *w = four[SAMPLE - 1].width() as u8;
    }
}

/// See `SimdLevel::transpose`.
#[inline(always)]
pub fn transpose<const S: usize>(widths: &[[u8; S]; SUBCHUNKS], rows: &mut Transposed<S>) {
    for (k, row) in rows[..S / SAMPLE].iter_mut().enumerate() {
        for (s, width) in row.iter_mut().enumerate() {
            *width = widths[s][k];
        }
    }
}

/// See `SimdLevel::wider`. A loop, since the compiler leaves a closure as a function of its own here, without vectors.
#[inline(always)]
pub fn wider<const S: usize>(rows: &Transposed<S>, limits: &[u8; SUBCHUNKS]) -> [u8; SUBCHUNKS] {
    let mut counts = [0; SUBCHUNKS];
    for row in &rows[..S / SAMPLE] {
        for ((count, width), limit) in counts.iter_mut().zip(row).zip(limits) {
            *count += u8::from(width > limit);
        }
    }
    counts
}

/// The positions of exceptions.
#[inline(always)]
pub fn positions(masks: &Masks) -> impl Iterator<Item = usize> {
    (0..).zip(masks).flat_map(|(k, mask)| {
        let mut rest = *mask;
        std::iter::from_fn(move || {
            let at = (rest != 0).then(|| 64 * k + rest.trailing_zeros() as usize);
            rest &= rest.wrapping_sub(1);
            at
        })
    })
}

/// See `Simd::extract_exceptions`.
#[inline(always)]
pub fn extract_exceptions<W: Word, const S: usize>(codes: &[W; S], width: u32, highs: &mut [W; HIGHS]) -> Masks {
    let mut masks: Masks = [0; _];
    codes.iter().enumerate().for_each(|(i, c)| masks[i / 64] |= u64::from(*c >> width != W::ZERO) << (i % 64));
    positions(&masks).zip(highs).for_each(|(i, high)| *high = codes[i] >> width);
    masks
}

/// See `Simd::pack_highs`.
#[inline(always)]
pub fn pack_highs<W: Word>(highs: &[W; HIGHS], count: usize, n: u32, out: &mut [u8]) -> usize {
    let mut packed = BitWriter::new(out);
    highs[..count].iter().for_each(|h| packed.push(h.to_u64(), n));
    packed.finish()
}

/// See `SimdLevel::expand`.
#[inline(always)]
pub fn expand(of: u32, list: &[u8]) -> [u8; SUBCHUNKS] {
    let mut all = [0; SUBCHUNKS];
    if of == u32::MAX {
        all.copy_from_slice(&list[..SUBCHUNKS]);
    } else {
        Subchunks(of).zip(list).for_each(|(s, n)| all[s] = *n);
    }
    all
}

/// See `SimdLevel::running_sums`.
#[inline(always)]
pub fn running_sums(numbers: &[u16; SUBCHUNKS], start: u16) -> [u16; SUBCHUNKS] {
    let mut sum = start;
    numbers.map(|n| {
        let before = sum;
        sum = sum.wrapping_add(n);
        before
    })
}

/// See `SimdLevel::flags`.
#[inline(always)]
pub fn flags(masks: &Masks) -> u32 {
    let bytes = masks.iter().flat_map(|m| m.to_le_bytes());
    bytes.enumerate().fold(0, |flags, (j, mask)| flags | u32::from(mask != 0) << j)
}

/// See `SimdLevel::compress`.
#[inline(always)]
pub fn compress(masks: &Masks, flags: u32, out: &mut MaskBytes) {
    Subchunks(flags).zip(out).for_each(|(j, byte)| *byte = (masks[j / 8] >> (j % 8 * 8)) as u8);
}

/// See `Simd::apply_exceptions`.
#[inline(always)]
pub fn apply_exceptions<W: Word, const S: usize>(
    codes: &mut [W; S],
    width: u32,
    masks: &Masks,
    highs: &[u8],
    high_width: u32,
) {
    for (k, i) in positions(masks).enumerate() {
        let high = W::from_u64(bits_at(highs, k * high_width as usize, high_width));
        codes[i] = codes[i] | high << width;
    }
}

/// `n` ≤ 64 bits from bit `at` on; zeros follow the end.
#[inline(always)]
pub fn bits_at(packed: &[u8], at: usize, n: u32) -> u64 {
    let (byte, bit) = (at / 8, (at % 8) as u32);
    let rest = packed.get(byte..).unwrap_or(&[]);
    let (low, high) = match rest.first_chunk::<9>() {
        Some([window @ .., next]) => (u64::from_le_bytes(*window), *next),
        None => near_end(rest),
    };
    let word = low >> bit | if bit > 0 { u64::from(high) << (64 - bit) } else { 0 };
    word & (u64::MAX >> (64 - n))
}

/// The first eight bytes and the ninth, zeros where there are fewer.
#[cold]
fn near_end(rest: &[u8]) -> (u64, u8) {
    let mut window = [0; 8];
    let len = rest.len().min(8);
    window[..len].copy_from_slice(&rest[..len]);
    (u64::from_le_bytes(window), rest.get(8).copied().unwrap_or(0))
}

/// Writes numbers of any widths one behind the other, LSB first.
pub struct BitWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    word: u64,
    fill: u32,
}

impl<'a> BitWriter<'a> {
    /// Writes from the start of `out`.
    pub fn new(out: &'a mut [u8]) -> Self {
        BitWriter { out, at: 0, word: 0, fill: 0 }
    }

    /// Appends `value` < 2^n, n ≤ 64.
    #[inline(always)]
    pub fn push(&mut self, value: u64, n: u32) {
        self.word |= value << self.fill;
        self.fill += n;
        if self.fill >= 64 {
            self.out[self.at..self.at + 8].copy_from_slice(&self.word.to_le_bytes());
            self.at += 8;
            self.fill -= 64;
            self.word = if self.fill == 0 { 0 } else { value >> (n - self.fill) };
        }
    }

    /// Completes the last byte with zeros; returns the bytes written.
    #[inline(always)]
    pub fn finish(self) -> usize {
        let rest = self.fill.div_ceil(8) as usize;
        self.out[self.at..self.at + rest].copy_from_slice(&self.word.to_le_bytes()[..rest]);
        self.at + rest
    }
}
