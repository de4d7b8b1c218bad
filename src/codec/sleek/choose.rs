//! The choice of mode and width for a subchunk. CPU and GPU follow the same rules, so they write the same bytes:
//!
//! 1. If all values are equal, the subchunk needs no codes.
//! 2. The mode is the one whose codes have the least total of widths, each code counted with its own; on a tie the first of offset,
//!    zigzag, delta, special. The second difference takes part only where delta's total is below offset's.
//! 3. The width is the one that takes the fewest bytes, exceptions included; on a tie the larger. At most `MAX_EXCEPTIONS` codes may
//!    exceed it; 8-bit words have no exceptions.
//! 4. Offset without exceptions replaces any other mode if it takes no more bytes than that.
//!
//! The total in step 2 stands for the size that a mode reaches with exceptions; computing that size for every mode gains
//! 0.3–1 % and costs three more searches (docs/experiments.md).

use super::plan::Plan;
use crate::format::constants::MAX_EXCEPTIONS;
use crate::format::{Special, SubMode};
use crate::stage::exponent;
use crate::stage::quantize::Element;
use crate::stage::simd::Simd;
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
    /// Bits of the largest code; above `width` where there are exceptions.
    pub full: u32,
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

/// Count, high width, positions, high parts of a subchunk's exceptions.
fn exception_bytes(count: usize, high_width: u32) -> usize {
    2 + count + (count * high_width as usize).div_ceil(8)
}

/// Total widths of a subchunk's codes in each mode.
struct Totals {
    offset: u32,
    zigzag: u32,
    delta: u32,
    special: u32,
}

#[inline(always)]
fn totals<E: Element, const S: usize>(special: Special, x: Window<E::Word>, least: E::Word) -> Totals {
    let x = x.check::<S>();
    let first = x.at(0, 0);
    let mut t = Totals { offset: 0, zigzag: 0, delta: 0, special: 0 };
    // Without the first values in delta and second difference: those have neighbours of another subchunk.
    for i in 0..S {
        let d = x.at(i, 0).sub(x.at(i, 1));
        t.offset += x.at(i, 0).sub(least).width();
        t.zigzag += x.at(i, 0).sub(first).zigzag().width();
        t.delta += d.zigzag().width();
        t.special += match special {
            Special::Exponent => exponent::encode(x.at(i, 0), E::EXPONENT_BITS).width(),
            Special::Delta2 => d.sub(x.at(i, 1).sub(x.at(i, 2))).zigzag().width(),
        };
    }
    let d = |i: usize| x.at(i, 0).sub(x.at(i, 1));
    t.delta -= d(0).zigzag().width();
    if special == Special::Delta2 {
        let d2 = |i: usize| d(i).sub(x.at(i, 1).sub(x.at(i, 2)));
        t.special -= d2(0).zigzag().width() + d2(1).zigzag().width();
        t.special += d(1).zigzag().width();
    }
    t
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

/// Least and largest value, as signed numbers.
#[inline(always)]
fn extremes<W: Word, const S: usize>(x: Window<W>) -> (W, W) {
    let x = x.check::<S>();
    let (mut least, mut most) = (!W::ZERO, W::ZERO);
    for i in 0..S {
        least = least.min(x.at(i, 0).biased());
        most = most.max(x.at(i, 0).biased());
    }
    (least.biased(), most.biased())
}

/// The mode of step 2 and its base.
#[inline(always)]
fn mode_of<W: Word>(t: &Totals, special: Special, first: W, least: W) -> (SubMode, Option<W>) {
    let (mut total, mut best) = (t.offset, (SubMode::Offset, Some(least)));
    if t.zigzag < total {
        (total, best) = (t.zigzag, (SubMode::ZigZag, Some(first)));
    }
    if t.delta < total {
        (total, best) = (t.delta, (SubMode::Delta, Some(first)));
    }
    match special {
        Special::Exponent if t.special < total => best = (SubMode::Special, None),
        Special::Delta2 if t.special < total && t.delta < t.offset => best = (SubMode::Special, Some(first)),
        _ => {}
    }
    best
}

/// The width of step 3, the bits of the largest code, and the bytes of payload and exceptions; leaves each code's width.
#[inline(always)]
fn fit<W: Word, const S: usize, P: Simd<W, S>>(codes: &[W; S], widths: &mut [u8; S]) -> (u32, u32, usize) {
    let full;
    (*widths, full) = P::widths(codes);
    let mut best = (full, full, S * full as usize / 8);
    if W::BITS == 8 {
        return best;
    }
    for width in (0..full).rev() {
        let above = P::wider(widths, width);
        if above > MAX_EXCEPTIONS {
            break;
        }
        let bytes = S * width as usize / 8 + exception_bytes(above, full - width);
        if bytes < best.2 {
            best = (width, full, bytes);
        }
    }
    best
}

/// What is known of a subchunk once its values were surveyed.
#[derive(Clone, Copy, Debug)]
pub struct Survey<W> {
    mode: SubMode,
    base: Option<W>,
    least: W,
    /// Width of the subchunk's offsets; 0 if all values are equal.
    plain: u32,
}

impl<W: Word> Survey<W> {
    /// Of a subchunk of zeros.
    pub const NONE: Self = Survey { mode: SubMode::Offset, base: None, least: W::ZERO, plain: 0 };
}

/// Steps 1 and 2 for the integers `x`. Surveys do not depend on each other, so the processor overlaps those of a chunk.
#[inline(always)]
pub fn survey<E: Element, const S: usize>(special: Special, x: Window<E::Word>) -> Survey<E::Word> {
    let first = x.at(0, 0);
    let (least, most) = extremes::<E::Word, S>(x);
    let (mode, base) = mode_of(&totals::<E, S>(special, x, least), special, first, least);
    Survey { mode, base, least, plain: most.sub(least).width() }
}

/// Steps 3 and 4; leaves the codes in `codes` and their widths in `widths`.
#[inline(always)]
pub fn adaptive<E: Element, const S: usize, P: Simd<E::Word, S>>(
    special: Special,
    x: Window<E::Word>,
    survey: &Survey<E::Word>,
    codes: &mut [E::Word; S],
    widths: &mut [u8; S],
) -> Choice<E::Word> {
    let Survey { mode, base, least, plain } = *survey;
    if plain == 0 {
        return Choice { mode: SubMode::Offset, base: Some(least), width: 0, full: 0 };
    }
    encode::<E, S>(mode, special, x, base.unwrap_or(E::Word::ZERO), codes);
    let (width, full, bytes) = fit::<E::Word, S, P>(codes, widths);
    if mode != SubMode::Offset && S * plain as usize / 8 <= bytes {
        encode::<E, S>(SubMode::Offset, special, x, least, codes);
        return Choice { mode: SubMode::Offset, base: Some(least), width: plain, full: plain };
    }
    Choice { mode, base, width, full }
}

/// The paper's transform alone: bins as they are (zigzag), floats through the exponent map; other words by their offset.
#[inline(always)]
pub fn fast<E: Element, const S: usize>(
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
        (SubMode::Offset, Some(extremes::<E::Word, S>(x).0))
    };
    encode::<E, S>(mode, special, x, base.unwrap_or(E::Word::ZERO), codes);
    let full = codes.iter().fold(E::Word::ZERO, |a, c| a | *c).width();
    Choice { mode, base, width: full, full }
}
