//! The choice of mode and width for a subchunk. CPU and GPU follow the same rules, so they write the same bytes:
//!
//! 1. A mode is chosen for each quarter of a chunk (8 subchunks): the one with the least total of widths over one of each 32 values
//!    (of subchunk s of the quarter those at 31 − 4s, 63 − 4s, …, so that no period of the data hides from them): of the offset from
//!    the subchunk's least value, of the magnitudes of the distance to its first value, of the difference and of the second
//!    difference, or of half the exponent map's code (sign and magnitude have one bit more than these). On a tie the first of
//!    offset, zigzag, delta, special.
//!
//! Then, for each subchunk:
//!
//! 2. The width is the one that seems to take the fewest bytes, exceptions included, among five: that of the largest code, and the
//!    four from the smallest on that seems to leave at most `MAX_EXCEPTIONS` codes wider than itself; on a tie the larger. What
//!    seems so is judged by every fourth code, each counted four times. If the exceptions then are more than `MAX_EXCEPTIONS`, or
//!    take no fewer bytes than codes of full width, there are none. 8-bit words have no exceptions.
//! 3. Offset without exceptions replaces any other mode if it takes no more bytes than that: where all values are equal, none.
//!
//! What exact sizes, all values, all widths or a mode for each subchunk would gain is in docs/experiments.md: 1–6 % in all.

use super::plan::Plan;
use crate::format::constants::{MAX_EXCEPTIONS, QUARTER, SAMPLE, SUBCHUNKS};
use crate::format::{Special, SubMode, Subchunks};
use crate::stage::exponent;
use crate::stage::quantize::Element;
use crate::stage::simd::{HIGHS, POSITIONS, Simd};
use crate::stage::stream::Ahead;
use crate::stage::word::Word;

/// How a subchunk is to be packed.
#[derive(Clone, Copy, Debug)]
pub struct Choice<W> {
    /// The mode.
    pub mode: SubMode,
    /// The base, where the mode has one.
    pub base: Option<W>,
    /// Bits of a code in the payload.
    pub width: u32,
    /// Bits of the largest code.
    pub full: u32,
    /// Codes of more than `width` bits.
    pub exceptions: usize,
}

impl<W: Word> Choice<W> {
    /// For zeros.
    pub const NONE: Self = Choice { mode: SubMode::Offset, base: None, width: 0, full: 0, exceptions: 0 };

    /// Without exceptions.
    #[inline(always)]
    fn plain(mode: SubMode, base: Option<W>, full: u32) -> Self {
        Choice { mode, base, width: full, full, exceptions: 0 }
    }

    /// Bytes of payload and exceptions.
    #[inline(always)]
    fn bytes<const S: usize>(&self) -> usize {
        let high_width = self.full - self.width;
        let exceptions = if self.exceptions > 0 { exception_bytes(self.exceptions as u32, high_width) } else { 0 };
        S * self.width as usize / 8 + exceptions as usize
    }

    /// Takes `count` exceptions above `width` bits, if that is allowed and saves bytes.
    #[inline(always)]
    fn take_exceptions<const S: usize>(&mut self, count: usize, width: u32) {
        let with = Choice { width, exceptions: count, ..*self };
        if count <= MAX_EXCEPTIONS && with.bytes::<S>() < self.bytes::<S>() {
            *self = with;
        }
    }
}

/// What the steps of a chunk's choice leave for its subchunks: of the codes the sampled widths, and the positions and high parts of
/// the exceptions.
pub struct Lists<W, const S: usize> {
    widths: [[u8; S]; SUBCHUNKS],
    /// Of each subchunk that has exceptions.
    pub positions: [[u8; POSITIONS]; SUBCHUNKS],
    /// Of each subchunk that has exceptions.
    pub highs: [[W; HIGHS]; SUBCHUNKS],
}

/// A subchunk's integers with the two before it, which are somebody else's and only there to be read.
#[derive(Clone, Copy)]
pub struct Window<'a, W>(pub &'a [W]);

impl<'a, W: Word> Window<'a, W> {
    /// The value `back` places before value i; for i < `back` one that does not belong to the subchunk.
    #[inline(always)]
    fn at(self, i: usize, back: usize) -> W {
        self.0[i + 2 - back]
    }

    /// The subchunk's own values.
    #[inline(always)]
    fn own<const S: usize>(self) -> &'a [W; S] {
        self.0[2..].first_chunk().expect("S values behind two")
    }

    /// Tells the compiler that the window holds S values and two more.
    #[inline(always)]
    fn check<const S: usize>(self) -> Self {
        assert!(self.0.len() == S + 2);
        self
    }
}

/// Count, high width, positions, high parts of a subchunk's exceptions.
#[inline(always)]
fn exception_bytes(count: u32, high_width: u32) -> u32 {
    2 + count + (count * high_width).div_ceil(8)
}

/// The subchunk's codes in `mode`.
#[inline(always)]
fn encode<E: Element, const S: usize>(
    mode: SubMode,
    special: Special,
    x: Window<E::Word>,
    base: E::Word,
    codes: &mut [E::Word; S],
) {
    let x = x.check::<S>();
    match (mode, special) {
        (SubMode::Offset, _) => (0..S).for_each(|i| codes[i] = x.at(i, 0).sub(base)),
        (SubMode::ZigZag, _) => (0..S).for_each(|i| codes[i] = x.at(i, 0).sub(base).zigzag()),
        (SubMode::Delta, _) => {
            (0..S).for_each(|i| codes[i] = x.at(i, 0).sub(x.at(i, 1)).zigzag());
            codes[0] = E::Word::ZERO;
        }
        (SubMode::Special, Special::Exponent) => {
            (0..S).for_each(|i| codes[i] = exponent::encode(x.at(i, 0), E::EXPONENT_BITS));
        }
        (SubMode::Special, Special::Delta2) => {
            (0..S).for_each(|i| {
                let d = x.at(i, 0).sub(x.at(i, 1));
                codes[i] = d.sub(x.at(i, 1).sub(x.at(i, 2))).zigzag();
            });
            codes[0] = E::Word::ZERO;
            codes[1] = x.at(1, 0).sub(x.at(0, 0)).zigzag();
        }
    }
}

/// The least and the largest value of each subchunk, as signed numbers.
pub struct Extremes<W> {
    pub least: [W; SUBCHUNKS],
    pub most: [W; SUBCHUNKS],
}

impl<W: Word> Extremes<W> {
    /// Of the subchunks of a chunk.
    #[inline(always)]
    pub fn of<const S: usize>(words: &Words<W, S>, ahead: &mut Ahead) -> Self {
        let mut all = Extremes { least: [W::ZERO; SUBCHUNKS], most: [W::ZERO; SUBCHUNKS] };
        for (s, x) in words[1..].iter().enumerate() {
            ahead.fetch(2);
            (all.least[s], all.most[s]) = extremes(x);
        }
        all
    }

    /// Whether all values are the same.
    #[inline(always)]
    pub fn is_constant(&self) -> bool {
        (0..SUBCHUNKS).all(|s| self.least[s] == self.least[0] && self.most[s] == self.least[0])
    }

    /// Whether all values are signed numbers of `bits` bits.
    #[inline(always)]
    pub fn fit(&self, bits: u32) -> bool {
        let beyond = |x: W| (x ^ x.sar(W::BITS - 1)) >> (bits - 1);
        self.least.iter().chain(&self.most).fold(W::ZERO, |any, x| any | beyond(*x)) == W::ZERO
    }
}

/// Least and largest value, as signed numbers.
#[inline(always)]
fn extremes<W: Word, const S: usize>(x: &[W; S]) -> (W, W) {
    let (mut least, mut most) = (!W::ZERO, W::ZERO);
    for x in x {
        least = least.min(x.biased());
        most = most.max(x.biased());
    }
    (least.biased(), most.biased())
}

/// The mode of step 1, by the totals of offset, zigzag, delta and special.
#[inline(always)]
fn mode_of(totals: [u32; 4]) -> SubMode {
    let [offset, zigzag, delta, special] = totals.map(|total| 4 * total);
    let best = offset.min(zigzag + 1).min(delta + 2).min(special + 3) % 4;
    SubMode::of((best << 6) as u8)
}

/// The base of a subchunk in `mode`, where that has one.
#[inline(always)]
fn base_of<W: Word>(mode: SubMode, special: Special, first: W, least: W) -> Option<W> {
    match (mode, special) {
        (SubMode::Offset, _) => Some(least),
        (SubMode::Special, Special::Exponent) => None,
        _ => Some(first),
    }
}

/// A number for each subchunk.
type PerSubchunk = [u16; SUBCHUNKS];

/// For each subchunk how many codes seem to be wider than its `limits` says.
#[inline(always)]
fn wider<W: Word, const S: usize, P: Simd<W, S>>(widths: &[[u8; S]; SUBCHUNKS], limits: &PerSubchunk) -> PerSubchunk {
    let mut counts = [0; SUBCHUNKS];
    for s in 0..SUBCHUNKS {
        counts[s] = (SAMPLE * P::wider(&widths[s], limits[s].into())) as u16;
    }
    counts
}

/// For each subchunk the smallest width below BITS that seems to leave at most `MAX_EXCEPTIONS` codes wider than itself (BITS − 1 if
/// there is none: that never pays). A bisection without branches, step by step for all subchunks, since a step has to wait for the
/// one before.
#[inline(always)]
fn narrowest<W: Word, const S: usize, P: Simd<W, S>>(widths: &[[u8; S]; SUBCHUNKS]) -> PerSubchunk {
    let mut narrowest = [0; SUBCHUNKS];
    let mut step = W::BITS as u16 / 2;
    while step > 0 {
        let counts = wider::<W, S, P>(widths, &narrowest.map(|n| n + step - 1));
        for (n, count) in narrowest.iter_mut().zip(counts) {
            *n += if count > MAX_EXCEPTIONS as u16 { step } else { 0 };
        }
        step /= 2;
    }
    narrowest
}

/// For each subchunk the width that the sampled `widths` speak for, where the largest codes have `full` bits.
#[inline(always)]
fn fit<W: Word, const S: usize, P: Simd<W, S>>(widths: &[[u8; S]; SUBCHUNKS], full: &PerSubchunk) -> PerSubchunk {
    // Bytes above the complement of the width: the least of these numbers has the fewest bytes and, among these, the largest width.
    let rank = |bytes: u32, width: u16| bytes << 8 | (0xff - u32::from(width));
    let payload = |width: u16| S as u32 * u32::from(width) / 8;
    let mut best = full.map(|full| rank(payload(full), full));
    let mut width = narrowest::<W, S, P>(widths);
    for _ in 0..4 {
        let counts = wider::<W, S, P>(widths, &width);
        for s in 0..SUBCHUNKS {
            // From `full` on the two bytes of a list of exceptions rule a width out.
            let bytes = exception_bytes(counts[s].into(), full[s].saturating_sub(width[s]).into());
            best[s] = best[s].min(rank(payload(width[s]) + bytes, width[s]));
            width[s] += 1;
        }
    }
    best.map(|best| 0xff - (best & 0xff) as u16)
}

/// A subchunk of padding, then the subchunks of the chunk.
pub type Words<W, const S: usize> = [[W; S]; SUBCHUNKS + 1];

/// Subchunk `s` of a chunk, with what is before it.
#[inline(always)]
pub fn window<W: Word, const S: usize>(words: &Words<W, S>, s: usize) -> Window<'_, W> {
    Window(&words.as_flattened()[(s + 1) * S - 2..(s + 2) * S])
}

/// The codes of the subchunks of quarter `q` of a chunk, in the mode that is chosen for them.
#[inline(always)]
fn encode_quarter<E: Element, const S: usize, P: Simd<E::Word, S>>(
    special: Special,
    words: &Words<E::Word, S>,
    q: usize,
    least: &[E::Word; QUARTER],
    codes: &mut [[E::Word; S]],
    ahead: &mut Ahead,
) -> SubMode {
    let own = words[1 + q * QUARTER..].first_chunk().expect("a quarter");
    let exponent_bits = (special == Special::Exponent).then_some(E::EXPONENT_BITS);
    let mode = mode_of(P::totals(own, least, exponent_bits));
    // The mode is asked for once, not for each subchunk: nobody could predict it.
    macro_rules! each {
        ($mode:expr) => {
            for (i, codes) in codes.iter_mut().enumerate() {
                ahead.fetch(1);
                let base = base_of($mode, special, own[i][0], least[i]).unwrap_or(E::Word::ZERO);
                encode::<E, S>($mode, special, window(words, q * QUARTER + i), base, codes);
            }
        };
    }
    match mode {
        SubMode::Offset => each!(SubMode::Offset),
        SubMode::ZigZag => each!(SubMode::ZigZag),
        SubMode::Delta => each!(SubMode::Delta),
        SubMode::Special => each!(SubMode::Special),
    }
    mode
}

/// Chooses for every subchunk of a chunk and leaves its codes and its exceptions. Step by step for the whole chunk: the subchunks do not
/// depend on each other, so the processor overlaps them, and steps without branches are kept apart from those with. Of `ahead` half is fetched.
#[inline(always)]
pub fn adaptive<E: Element, const S: usize, P: Simd<E::Word, S>>(
    special: Special,
    words: &Words<E::Word, S>,
    Extremes { least, most }: &Extremes<E::Word>,
    codes: &mut [[E::Word; S]; SUBCHUNKS],
    lists: &mut Lists<E::Word, S>,
    ahead: &mut Ahead,
) -> [Choice<E::Word>; SUBCHUNKS] {
    // Loops, since closures as long as these are compiled on their own, without the level's instructions.
    let (mut choices, mut offsets) = ([Choice::NONE; SUBCHUNKS], [Choice::NONE; SUBCHUNKS]);
    let quarters = codes.chunks_exact_mut(QUARTER).zip(least.as_chunks().0).enumerate();
    for (q, (codes, least)) in quarters {
        let mode = encode_quarter::<E, S, P>(special, words, q, least, codes, ahead);
        choices[q * QUARTER..][..QUARTER].iter_mut().for_each(|choice| choice.mode = mode);
    }
    let mut fulls = [0; SUBCHUNKS];
    for (full, codes) in fulls.iter_mut().zip(&*codes) {
        *full = P::width(codes) as u16;
    }
    let mut widths = fulls;
    if E::Word::BITS > 8 {
        for (widths, codes) in lists.widths.iter_mut().zip(&*codes) {
            ahead.fetch(1);
            P::widths(codes, widths);
        }
        widths = fit::<E::Word, S, P>(&lists.widths, &fulls);
    }
    for s in 0..SUBCHUNKS {
        let mode = choices[s].mode;
        choices[s] = Choice::plain(mode, base_of(mode, special, words[1 + s][0], least[s]), fulls[s].into());
        offsets[s] = Choice::plain(SubMode::Offset, Some(least[s]), most[s].sub(least[s]).width());
    }
    for s in Subchunks::which(|s| widths[s] < fulls[s]) {
        ahead.fetch(1);
        let width = widths[s].into();
        let count = P::split(&codes[s], width, &mut lists.positions[s], &mut lists.highs[s]);
        choices[s].take_exceptions::<S>(count, width);
    }
    let prefers_offset =
        |s: usize| (choices[s].mode != SubMode::Offset) & (offsets[s].bytes::<S>() <= choices[s].bytes::<S>());
    for s in Subchunks::which(prefers_offset) {
        choices[s] = offsets[s];
        encode::<E, S>(SubMode::Offset, special, window(words, s), least[s], &mut codes[s]);
    }
    choices
}

/// The paper's transform alone: bins as they are (zigzag), floats through the exponent map; other words by their offset.
#[inline(always)]
pub fn fast<E: Element, const S: usize, P: Simd<E::Word, S>>(
    plan: &Plan,
    special: Special,
    x: Window<E::Word>,
    codes: &mut [E::Word; S],
) -> Choice<E::Word> {
    let (mode, base) = if plan.quantizer.is_some() {
        (SubMode::ZigZag, None)
    } else if special == Special::Exponent {
        (SubMode::Special, None)
    } else {
        (SubMode::Offset, Some(extremes::<E::Word, S>(x.own()).0))
    };
    encode::<E, S>(mode, special, x, base.unwrap_or(E::Word::ZERO), codes);
    let full = P::width(codes);
    Choice { mode, base, width: full, full, exceptions: 0 }
}
