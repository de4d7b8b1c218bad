//! The choice of mode and width for a subchunk. CPU and GPU follow the same rules, so they write the same bytes:
//!
//! 1. A mode is chosen for each warp tile of a chunk (8 subchunks, a quarter): the one with the least total of widths
//!    over one of each 32 values (of subchunk s of the tile those at 31 − 4s, 63 − 4s, …, so that no period of the
//!    data hides from them): of the offset from the subchunk's least value, of the magnitudes of the distance to its
//!    first value, of the difference and of the second difference, or of half the countdown's code (sign and magnitude
//!    have one bit more than these). On a tie the first of offset, zigzag, delta, special. The countdown's codes are
//!    those below the top of the subchunk's least and greatest value, as signed numbers, and of what lies above that
//!    the distance from it.
//!
//!    But codes take the largest width, not the mean, and those of a countdown have few that are wide. So it replaces
//!    another mode whose total is at most `NEAR_TOTALS` shorter, where the sum of the largest sampled width of each
//!    subchunk is smaller. These count with their signs. Of 64-bit words, which have two samples each, 4 are added to
//!    the other mode's.
//!
//! Then, for each subchunk:
//!
//! 2. The width is the one that seems to take the fewest bytes, exceptions included, among five: that of the largest
//!    code, and the four from the smallest on that seems to leave at most `MAX_EXCEPTIONS` codes wider than itself; on
//!    a tie the larger. What seems so is judged by every fourth code, each counted four times, and as if each mask
//!    byte (of eight values) that is not 0 had two exceptions. If the exceptions then are more than `MAX_EXCEPTIONS`,
//!    or take no fewer bytes than codes of full width, there are none. 8-bit words have no exceptions.
//! 3. Offset without exceptions replaces any other mode if it takes no more bytes than that: where all values are
//!    equal, none.
//!
//! Words that all end in zeros are coded without these, and so without the countdown.
//!
//! What exact sizes, all values, all widths or a mode for each subchunk would gain is in docs/internals/design.md:
//! 1–6 % in all.

use super::plan::Plan;
use crate::codec::sleek::constants::{
    MASK_BYTE_VALUES, MAX_EXCEPTIONS, MODE_SAMPLE, NEAR_TOTALS, SAMPLE, SUBCHUNKS, WARP_TILE,
};
use crate::codec::sleek::format::{Special, SubMode, Subchunks};
use crate::codec::sleek::simd::{self, HIGHS, Masks, Simd, Transposed, count_of};
use crate::codec::sleek::{countdown, exponent_map as exponent};
use crate::primitives::quantize::Element;
use crate::simd::stream::PrefetchQueue;
use crate::simd::word::Word;

/// A number for each subchunk.
pub type PerSubchunk = [u16; SUBCHUNKS];

/// How the subchunks of a chunk are to be packed.
pub struct Choices<W> {
    /// Numbers of the modes.
    pub modes: PerSubchunk,
    /// Bits of a code in the payload.
    pub widths: PerSubchunk,
    /// Bits of the largest code, exceptions included.
    pub full_widths: PerSubchunk,
    /// Codes of more than `widths` bits.
    pub exceptions: PerSubchunk,
    /// Mask bytes that are not 0.
    pub mask_bytes: PerSubchunk,
    /// The bases: words, or bits of a word's upper end, or 0 where a mode has none.
    pub bases: [W; SUBCHUNKS],
    /// Bit s is set where the base of subchunk s is a word.
    pub based: u32,
}

impl<W: Word> Choices<W> {
    /// For zeros.
    pub const NONE: Self = Choices {
        modes: [0; SUBCHUNKS],
        widths: [0; SUBCHUNKS],
        full_widths: [0; SUBCHUNKS],
        exceptions: [0; SUBCHUNKS],
        mask_bytes: [0; SUBCHUNKS],
        bases: [W::ZERO; SUBCHUNKS],
        based: 0,
    };
}

/// Bytes of a payload of S codes.
#[inline(always)]
fn payload<const S: usize>(width: u16) -> u16 {
    (S / 8) as u16 * width
}

/// High width, flags, the `mask_bytes`, and high parts of a subchunk's exceptions.
#[inline(always)]
fn exception_bytes<const S: usize>(count: u16, mask_bytes: u16, high_width: u16) -> u16 {
    1 + (S / MASK_BYTE_VALUES / 8) as u16 + mask_bytes + (count * high_width).div_ceil(8)
}

/// What the steps of a chunk's choice leave for its subchunks: of the codes the sampled widths, and which are
/// exceptions with what high parts.
pub struct Lists<W, const S: usize> {
    widths: [[u8; S]; SUBCHUNKS],
    transposed: Transposed<S>,
    /// Of each subchunk that has exceptions.
    pub masks: [Masks; SUBCHUNKS],
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

    /// Tells the compiler that the window holds S values and two more.
    #[inline(always)]
    fn check<const S: usize>(self) -> Self {
        assert!(self.0.len() == S + 2);
        self
    }
}

/// The subchunk's codes in `mode`. A countdown's base is told by the words themselves.
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
        (SubMode::Special, Special::Countdown) => {
            let top = countdown::top(base, E::EXPONENT_BITS);
            (0..S).for_each(|i| codes[i] = countdown::encode(x.at(i, 0), top));
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
    /// The least value of each subchunk.
    pub least: [W; SUBCHUNKS],
    /// The greatest.
    pub most: [W; SUBCHUNKS],
}

impl<W: Word> Extremes<W> {
    /// Of the subchunks of a chunk.
    #[inline(always)]
    pub fn of<const S: usize, P: Simd<W, S>>(p: P, words: &Words<W, S>, prefetch: &mut PrefetchQueue) -> Self {
        let mut all = Extremes { least: [W::ZERO; SUBCHUNKS], most: [W::ZERO; SUBCHUNKS] };
        for (q, tile) in words[1..].as_chunks().0.iter().enumerate() {
            prefetch.fetch(2 * WARP_TILE);
            let (least, most) = p.extremes(tile);
            all.least[q * WARP_TILE..][..WARP_TILE].copy_from_slice(&least);
            all.most[q * WARP_TILE..][..WARP_TILE].copy_from_slice(&most);
        }
        all
    }

    /// The least and the greatest of all.
    #[inline(always)]
    pub fn of_all(&self) -> (W, W) {
        let least = self.least.iter().fold(!W::ZERO, |least, x| least.min(x.biased()));
        let most = self.most.iter().fold(W::ZERO, |most, x| most.max(x.biased()));
        (least.biased(), most.biased())
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

/// The mode of step 1, by the totals of offset, zigzag, delta and special.
#[inline(always)]
fn mode_of(totals: [u32; 4]) -> SubMode {
    let [offset, zigzag, delta, special] = totals.map(|total| 4 * total);
    let best = offset.min(zigzag + 1).min(delta + 2).min(special + 3) % 4;
    SubMode::of((best << 6) as u8)
}

/// For each subchunk how many codes seem to be wider than its `limits` says.
#[inline(always)]
fn wider<W: Word, const S: usize, P: Simd<W, S>>(p: P, widths: &Transposed<S>, limits: &PerSubchunk) -> PerSubchunk {
    let (mut bytes, mut counts) = ([0; SUBCHUNKS], [0; SUBCHUNKS]);
    for s in 0..SUBCHUNKS {
        bytes[s] = limits[s] as u8;
    }
    let seen = p.wider(widths, &bytes);
    for s in 0..SUBCHUNKS {
        counts[s] = SAMPLE as u16 * u16::from(seen[s]);
    }
    counts
}

/// For each subchunk the smallest width below BITS that seems to leave at most `MAX_EXCEPTIONS` codes wider than itself
/// (BITS − 1 if there is none: that never pays). A bisection for all subchunks at once.
#[inline(always)]
fn narrowest<W: Word, const S: usize, P: Simd<W, S>>(p: P, widths: &Transposed<S>) -> PerSubchunk {
    let (mut narrowest, mut limits) = ([0; SUBCHUNKS], [0; SUBCHUNKS]);
    let mut step = W::BITS as u16 / 2;
    while step > 0 {
        for s in 0..SUBCHUNKS {
            limits[s] = narrowest[s] + step - 1;
        }
        let counts = wider::<W, S, P>(p, widths, &limits);
        for s in 0..SUBCHUNKS {
            narrowest[s] += if counts[s] > MAX_EXCEPTIONS as u16 { step } else { 0 };
        }
        step /= 2;
    }
    narrowest
}

/// For each subchunk the width that the sampled `widths` speak for, where the largest codes have `full_widths` bits.
#[inline(always)]
fn fit<W: Word, const S: usize, P: Simd<W, S>>(p: P, widths: &Transposed<S>, full_widths: &PerSubchunk) -> PerSubchunk {
    let (mut best, mut least) = (*full_widths, [0; SUBCHUNKS]);
    for s in 0..SUBCHUNKS {
        least[s] = payload::<S>(full_widths[s]);
    }
    let mut width = narrowest::<W, S, P>(p, widths);
    for _ in 0..4 {
        let counts = wider::<W, S, P>(p, widths, &width);
        for s in 0..SUBCHUNKS {
            // From `full` on the bytes that any exceptions take rule a width out.
            let mask_bytes = (counts[s] / 2).min((S / MASK_BYTE_VALUES) as u16);
            let bytes = payload::<S>(width[s])
                + exception_bytes::<S>(counts[s], mask_bytes, full_widths[s].saturating_sub(width[s]));
            // A later width is a larger one, but than the full one it is smaller.
            let better = bytes < least[s] || bytes == least[s] && best[s] < full_widths[s];
            best[s] = if better { width[s] } else { best[s] };
            least[s] = least[s].min(bytes);
            width[s] += 1;
        }
    }
    best
}

/// Whether a countdown from `tops` takes the place of `mode` in a warp tile, by what samples say of their widths.
#[inline(always)]
fn by_countdown<W: Word, const S: usize>(
    x: &[[W; S]; WARP_TILE],
    least: &[W; WARP_TILE],
    tops: &[W; WARP_TILE],
    mode: SubMode,
) -> bool {
    let sign = u32::from(mode != SubMode::Offset);
    let unseen = if S == 2 * MODE_SAMPLE { 4 } else { 0 };
    let (mut own, mut by_countdown) = (WARP_TILE as u32 * sign + unseen, WARP_TILE as u32);
    for s in 0..WARP_TILE {
        let (mut any, mut any_half) = (W::ZERO, W::ZERO);
        for of_each in (0..S).step_by(MODE_SAMPLE) {
            let at = of_each + MODE_SAMPLE - 1 - s * (MODE_SAMPLE / WARP_TILE);
            any_half = any_half | countdown::half_code(x[s][at], tops[s]);
            any = any
                | match mode {
                    SubMode::Offset => x[s][at].sub(least[s]),
                    SubMode::ZigZag => x[s][at].sub(x[s][0]).magnitude(),
                    _ => x[s][at].sub(x[s][at - 1]).magnitude(),
                };
        }
        own += any.width();
        by_countdown += any_half.width();
    }
    by_countdown < own
}

/// The largest of the words rotated left by one bit: that of `most`, the largest one as signed numbers, or, where both
/// signs are there, of the largest as unsigned ones.
#[inline(always)]
fn largest<W: Word, const S: usize>(x: &[W; S], least: W, most: W) -> W {
    if (least ^ most) & W::SIGN == W::ZERO {
        return most.rotl(1);
    }
    let largest = x.iter().fold(W::ZERO, |largest, x| largest.max(*x));
    largest.rotl(1).max(most.rotl(1))
}

/// A subchunk of padding, then the subchunks of the chunk.
pub type Words<W, const S: usize> = [[W; S]; SUBCHUNKS + 1];

/// Subchunk `s` of a chunk, with what is before it.
#[inline(always)]
pub fn window<W: Word, const S: usize>(words: &Words<W, S>, s: usize) -> Window<'_, W> {
    Window(&words.as_flattened()[(s + 1) * S - 2..(s + 2) * S])
}

/// The codes of the subchunks of warp tile `q` of a chunk, in the mode that is chosen for them.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "those of `adaptive`")]
fn encode_warp_tile<E: Element, const S: usize, P: Simd<E::Word, S>>(
    p: P,
    special: Special,
    words: &Words<E::Word, S>,
    q: usize,
    (least, most): (&[E::Word; WARP_TILE], &[E::Word; WARP_TILE]),
    codes: &mut [[E::Word; S]],
    bases: &mut [E::Word],
    prefetch: &mut PrefetchQueue,
) -> SubMode {
    let own = words[1 + q * WARP_TILE..].first_chunk().expect("a warp tile");
    let mode = if E::EXPONENT_BITS > 0 && special == Special::Countdown {
        let mut tops = [E::Word::ZERO; WARP_TILE];
        for s in 0..WARP_TILE {
            tops[s] = countdown::top_of(least[s], most[s], E::EXPONENT_BITS);
        }
        let totals = p.totals(own, least, Some(&tops));
        let mode = mode_of(totals);
        let is_near = mode != SubMode::Special && totals[3] <= totals[mode as usize] + NEAR_TOTALS;
        if is_near && by_countdown(own, least, &tops, mode) { SubMode::Special } else { mode }
    } else {
        mode_of(p.totals(own, least, None))
    };
    // The mode is asked for once, not for each subchunk: nobody could predict it.
    macro_rules! each {
        ($mode:expr) => {
            for (i, codes) in codes.iter_mut().enumerate() {
                prefetch.fetch(1);
                bases[i] = match $mode {
                    SubMode::Offset => least[i],
                    SubMode::Special if E::EXPONENT_BITS > 0 && special == Special::Countdown => {
                        countdown::base(largest(&own[i], least[i], most[i]), E::EXPONENT_BITS)
                    }
                    _ => own[i][0],
                };
                encode::<E, S>($mode, special, window(words, q * WARP_TILE + i), bases[i], codes);
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

/// Chooses for every subchunk of a chunk and leaves its codes and its exceptions. Step by step for the whole chunk: the
/// subchunks do not depend on each other, so the processor overlaps them, and what is one number a subchunk is done for
/// all at once. Half of `prefetch` is fetched.
#[inline(always)]
pub fn adaptive<E: Element, const S: usize, P: Simd<E::Word, S>>(
    p: P,
    special: Special,
    words: &Words<E::Word, S>,
    Extremes { least, most }: &Extremes<E::Word>,
    codes: &mut [[E::Word; S]; SUBCHUNKS],
    lists: &mut Lists<E::Word, S>,
    prefetch: &mut PrefetchQueue,
) -> Choices<E::Word> {
    // Loops, since closures as long as these are compiled on their own, without the level's instructions.
    let mut c = Choices::NONE;
    let extremes = least.as_chunks().0.iter().zip(most.as_chunks().0);
    for (q, (codes, extremes)) in codes.chunks_exact_mut(WARP_TILE).zip(extremes).enumerate() {
        let bases = &mut c.bases[q * WARP_TILE..][..WARP_TILE];
        let mode = encode_warp_tile::<E, S, P>(p, special, words, q, extremes, codes, bases, prefetch);
        c.modes[q * WARP_TILE..][..WARP_TILE].fill(mode as u16);
    }
    for (full, codes) in c.full_widths.iter_mut().zip(&*codes) {
        *full = p.width(codes) as u16;
    }
    c.widths = c.full_widths;
    if E::Word::BITS > 8 {
        for (widths, codes) in lists.widths.iter_mut().zip(&*codes) {
            prefetch.fetch(1);
            p.widths(codes, widths);
        }
        p.transpose(&lists.widths, &mut lists.transposed);
        c.widths = fit::<E::Word, S, P>(p, &lists.transposed, &c.full_widths);
        for s in Subchunks::which(|s| c.widths[s] < c.full_widths[s]) {
            prefetch.fetch(1);
            let masks = p.extract_exceptions(&codes[s], c.widths[s].into(), &mut lists.highs[s]);
            c.exceptions[s] = count_of::<S>(&masks) as u16;
            c.mask_bytes[s] = simd::flags::<S>(&masks).count_ones() as u16;
            lists.masks[s] = masks;
        }
    }
    for s in c.settle::<S>(least, most) {
        encode::<E, S>(SubMode::Offset, special, window(words, s), least[s], &mut codes[s]);
    }
    let without = if special == Special::Countdown { SubMode::Special as u16 } else { u16::MAX };
    c.based = Subchunks::which(|s| c.modes[s] != without).0;
    c
}

impl<W: Word> Choices<W> {
    /// Takes exceptions where they are allowed and save bytes; step 3. Returns the subchunks of which the offsets are
    /// still to be coded.
    #[inline(always)]
    fn settle<const S: usize>(&mut self, least: &[W; SUBCHUNKS], most: &[W; SUBCHUNKS]) -> Subchunks {
        let mut changed = [false; SUBCHUNKS];
        for s in 0..SUBCHUNKS {
            let (width, full, count) = (self.widths[s], self.full_widths[s], self.exceptions[s]);
            let with = payload::<S>(width) + exception_bytes::<S>(count, self.mask_bytes[s], full - width);
            let patched = count > 0 && count <= MAX_EXCEPTIONS as u16 && with < payload::<S>(full);
            let bytes = if patched { with } else { payload::<S>(full) };
            let plain = most[s].sub(least[s]).width() as u16;
            changed[s] = self.modes[s] != SubMode::Offset as u16 && payload::<S>(plain) <= bytes;
            let keep = !changed[s];
            self.bases[s] = if keep { self.bases[s] } else { least[s] };
            self.modes[s] = if keep { self.modes[s] } else { SubMode::Offset as u16 };
            self.exceptions[s] = if keep && patched { count } else { 0 };
            self.full_widths[s] = if keep { full } else { plain };
            self.widths[s] = if keep && patched { width } else { self.full_widths[s] };
        }
        Subchunks::which(|s| changed[s])
    }
}

/// The paper's transform alone, for subchunk `s`: bins as they are (zigzag), floats through the exponent map; other
/// words by their offset.
#[inline(always)]
pub fn fast<E: Element, const S: usize, P: Simd<E::Word, S>>(
    p: P,
    plan: &Plan,
    special: Special,
    words: &Words<E::Word, S>,
    s: usize,
    codes: &mut [E::Word; S],
    choices: &mut Choices<E::Word>,
) {
    let mode = if plan.quantizer.is_some() {
        SubMode::ZigZag
    } else if special == Special::Exponent {
        SubMode::Special
    } else {
        choices.bases[s] = simd::extremes_of(&words[1 + s]).0;
        choices.based |= 1 << s;
        SubMode::Offset
    };
    encode::<E, S>(mode, special, window(words, s), choices.bases[s], codes);
    let full = p.width(codes) as u16;
    (choices.modes[s], choices.widths[s], choices.full_widths[s]) = (mode as u16, full, full);
}
