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
use crate::stage::simd::scalar::put_bits;
use crate::stage::word::Word;

/// How a subchunk is to be packed.
#[derive(Clone, Copy, Debug)]
pub struct Choice<W> {
    /// The mode.
    pub mode: SubMode,
    /// Bits of a code in the payload.
    pub width: u32,
    /// The base, where the mode has one.
    pub base: Option<W>,
}

/// Codes that exceed the width of their subchunk.
#[derive(Clone, Copy, Debug)]
pub struct Exceptions<W> {
    /// How many.
    pub count: usize,
    /// Bits of a high part.
    pub high_width: u32,
    positions: [u8; MAX_EXCEPTIONS],
    highs: [W; MAX_EXCEPTIONS],
}

impl<W: Word> Exceptions<W> {
    /// No exceptions.
    pub const NONE: Self =
        Exceptions { count: 0, high_width: 0, positions: [0; MAX_EXCEPTIONS], highs: [W::ZERO; MAX_EXCEPTIONS] };

    /// Bytes that they take in a chunk's tail.
    pub fn bytes(&self) -> usize {
        exception_bytes(self.count, self.high_width)
    }

    /// Writes positions and high parts into zeroed bytes; returns how many bytes.
    pub fn write(&self, out: &mut [u8]) -> usize {
        out[..self.count].copy_from_slice(&self.positions[..self.count]);
        for i in 0..self.count {
            put_bits(&mut out[self.count..], i * self.high_width as usize, self.high_width, self.highs[i].to_u64());
        }
        self.bytes() - 2
    }

    /// Takes the high parts of the codes from `width` bits on.
    fn split<const S: usize>(&mut self, codes: &mut [W; S], width: u32, full: u32) {
        let low = (W::ONE << width).sub(W::ONE);
        self.high_width = full - width;
        for (i, c) in codes.iter_mut().enumerate() {
            if *c > low {
                self.positions[self.count] = i as u8;
                self.highs[self.count] = *c >> width;
                self.count += 1;
                *c = *c & low;
            }
        }
    }
}

/// Count, high width, positions, high parts.
fn exception_bytes(count: usize, high_width: u32) -> usize {
    2 + count + (count * high_width as usize).div_ceil(8)
}

/// The best way found so far to pack a subchunk in one mode.
#[derive(Clone, Copy)]
struct Fit {
    /// Bytes of payload and exceptions.
    bytes: usize,
    /// Bits in the payload.
    width: u32,
    /// Bits of the largest code.
    full: u32,
}

/// The least bytes that `codes` take in one mode, with or without exceptions.
#[inline(always)]
fn fit<W: Word, const S: usize>(codes: &[W; S]) -> Fit {
    let full = codes.iter().fold(W::ZERO, |a, c| a | *c).width();
    let mut best = Fit { bytes: S * full as usize / 8, width: full, full };
    if W::BITS == 8 {
        return best;
    }
    // Between two widths that occur among the codes a smaller width only saves, so only widths that occur are looked at.
    let mut width = full;
    while width > 0 {
        let limit = W::ONE << (width - 1);
        let mut above = 0u32;
        let mut rest = W::ZERO;
        for c in codes {
            above += (*c >= limit) as u32;
            rest = rest.max(if *c >= limit { W::ZERO } else { *c });
        }
        if above as usize > MAX_EXCEPTIONS {
            break;
        }
        width = rest.width();
        let bytes = S * width as usize / 8 + exception_bytes(above as usize, full - width);
        if bytes < best.bytes {
            best = Fit { bytes, width, full };
        }
    }
    best
}

/// Chooses for the integers `x`; leaves the codes to be packed in `codes` and what exceeds them in `exceptions`.
#[inline(always)]
pub fn adaptive<E: Element, const S: usize>(
    special: Special,
    x: &[E::Word; S],
    codes: &mut [E::Word; S],
    exceptions: &mut Exceptions<E::Word>,
) -> Choice<E::Word> {
    let first = x[0];
    let least = x.iter().map(|w| w.biased()).fold(!E::Word::ZERO, Ord::min).biased();
    let most = x.iter().map(|w| w.biased()).fold(E::Word::ZERO, Ord::max).biased();
    if least == most {
        return Choice { mode: SubMode::Offset, width: 0, base: Some(first) };
    }
    let mut trial = [E::Word::ZERO; S];
    offset(x, least, codes);
    let mut total = total_width(codes);
    let mut choice = Choice { mode: SubMode::Offset, width: 0, base: Some(least) };
    let mut consider = |mode, base, trial: &[E::Word; S], codes: &mut [E::Word; S]| {
        let t = total_width(trial);
        if t < total {
            total = t;
            choice = Choice { mode, width: 0, base };
            *codes = *trial;
        }
        t
    };
    let offset_total = total_width(codes);
    zigzag(x, first, &mut trial);
    consider(SubMode::ZigZag, Some(first), &trial, codes);
    delta(x, &mut trial);
    let dt = consider(SubMode::Delta, Some(first), &trial, codes);
    match special {
        Special::Exponent => {
            exponent_map::<E, S>(x, &mut trial);
            consider(SubMode::Special, None, &trial, codes);
        }
        Special::Delta2 if dt < offset_total => {
            delta2(x, &mut trial);
            consider(SubMode::Special, Some(first), &trial, codes);
        }
        Special::Delta2 => {}
    }
    let mut best = fit(codes);
    let plain = most.sub(least).width();
    if choice.mode != SubMode::Offset && S * plain as usize / 8 <= best.bytes {
        offset(x, least, codes);
        best = Fit { bytes: 0, width: plain, full: plain };
        choice = Choice { mode: SubMode::Offset, width: 0, base: Some(least) };
    }
    choice.width = best.width;
    if best.width < best.full {
        exceptions.split(codes, best.width, best.full);
    }
    choice
}

/// Bits that the codes would take if each had its own width: a measure that a few large codes do not move.
#[inline(always)]
fn total_width<W: Word, const S: usize>(codes: &[W; S]) -> u32 {
    codes.iter().map(|c| c.width()).sum()
}

#[inline(always)]
fn offset<W: Word, const S: usize>(x: &[W; S], least: W, codes: &mut [W; S]) {
    for i in 0..S {
        codes[i] = x[i].sub(least);
    }
}

#[inline(always)]
fn zigzag<W: Word, const S: usize>(x: &[W; S], base: W, codes: &mut [W; S]) {
    for i in 0..S {
        codes[i] = x[i].sub(base).zigzag();
    }
}

#[inline(always)]
fn delta<W: Word, const S: usize>(x: &[W; S], codes: &mut [W; S]) {
    codes[0] = W::ZERO;
    for i in 1..S {
        codes[i] = x[i].sub(x[i - 1]).zigzag();
    }
}

#[inline(always)]
fn delta2<W: Word, const S: usize>(x: &[W; S], codes: &mut [W; S]) {
    codes[0] = W::ZERO;
    codes[1] = x[1].sub(x[0]).zigzag();
    for i in 2..S {
        codes[i] = x[i].sub(x[i - 1]).sub(x[i - 1].sub(x[i - 2])).zigzag();
    }
}

#[inline(always)]
fn exponent_map<E: Element, const S: usize>(x: &[E::Word; S], codes: &mut [E::Word; S]) {
    for i in 0..S {
        codes[i] = exponent::encode(x[i], E::EXPONENT_BITS);
    }
}

/// The paper's transform alone: bins as they are (zigzag), floats through the exponent map; other words by their offset.
#[inline(always)]
pub fn fast<E: Element, const S: usize>(
    plan: &Plan,
    special: Special,
    x: &[E::Word; S],
    codes: &mut [E::Word; S],
) -> Choice<E::Word> {
    let (mode, base) = if plan.quantizer.is_some() {
        for i in 0..S {
            codes[i] = x[i].zigzag();
        }
        (SubMode::ZigZag, None)
    } else if special == Special::Exponent {
        for i in 0..S {
            codes[i] = exponent::encode(x[i], E::EXPONENT_BITS);
        }
        (SubMode::Special, None)
    } else {
        let least = x.iter().map(|w| w.biased()).fold(!E::Word::ZERO, Ord::min).biased();
        for i in 0..S {
            codes[i] = x[i].sub(least);
        }
        (SubMode::Offset, Some(least))
    };
    let width = codes.iter().fold(E::Word::ZERO, |a, c| a | *c).width();
    Choice { mode, width, base }
}
