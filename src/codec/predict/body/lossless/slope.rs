//! Numbers that grow along a row: a slope is taken from them once for each step, so that no code stands for a negative
//! number, and codes need no sign.

use super::passes::Zigzag;
use crate::codec::interp::reader::take;
use crate::codec::predict::format::DIRECT;
use crate::error::Result;
use crate::simd::Task;
use crate::simd::lanes::Lanes;
use crate::simd::word::Word;

/// Bytes that a slope takes, by what forms say of it.
const BYTES: [usize; 4] = [0, 2, 4, 8];

/// What a form says of a slope's length.
pub fn length<W: Word>(slope: W) -> u32 {
    let signed = slope.extend() as i64;
    match () {
        _ if i16::try_from(signed).is_ok() => 1,
        _ if i32::try_from(signed).is_ok() => 2,
        _ => 3,
    }
}

/// Bits that a slope of such a length takes.
pub fn cost(length: u32) -> u64 {
    8 * BYTES[length as usize] as u64
}

/// Writes a slope of such a length.
pub fn write<W: Word>(slope: W, length: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&slope.extend().to_le_bytes()[..BYTES[length as usize]]);
}

/// Reads it.
pub fn read<W: Word>(length: u32, rest: &mut &[u8]) -> Result<W> {
    let (count, mut bytes) = (BYTES[length as usize], [0; 8]);
    bytes[..count].copy_from_slice(take(rest, count)?);
    let unused = 64 - 8 * count as u32;
    Ok(W::from_u64(if unused < 64 { ((u64::from_le_bytes(bytes) << unused) as i64 >> unused) as u64 } else { 0 }))
}

/// Times a number below 2^32.
#[inline(always)]
pub fn times<W: Word>(slope: W, n: usize) -> W {
    W::from_u64(slope.to_u64().wrapping_mul(n as u64))
}

/// What is taken from the words of a row, beside the base.
#[derive(Clone, Copy, Debug)]
pub struct Rise<W> {
    /// From each, times its number.
    pub slope: W,
    /// Codes are what is left of words themselves, less this, not their differences.
    pub line: Option<W>,
}

impl<W: Word> Rise<W> {
    /// The axes of its differences.
    pub fn set(&self) -> u8 {
        u8::from(self.line.is_none())
    }
}

/// The step from the first word of a row, which is 0, to the last one, rounded.
pub fn step<W: Word>(words: &[W]) -> W {
    let steps = words.len() as i64 - 1;
    let last = words[words.len() - 1].extend() as i64;
    W::from_u64(last.wrapping_add(steps / 2).div_euclid(steps) as u64)
}

/// The slope of steps by the ends of some of them, which have one sign, and are not all so short that tokens are codes;
/// `all` tells the least of all of them.
pub fn steps<W: Word>((least, most): (W, W), all: impl FnOnce() -> W) -> Option<W> {
    let has_one_sign = (least ^ most) & W::SIGN == W::ZERO;
    let is_long = least.zigzag().max(most.zigzag()) >= W::from_u64(DIRECT.into());
    (has_one_sign && is_long).then(|| bounded(all(), least, most))
}

/// The least of all steps, unless it is farther below the least of some than that is from the greatest of them.
fn bounded<W: Word>(all: W, least: W, most: W) -> W {
    if least.sub(all) <= most.sub(least) { all } else { least }
}

/// The least and the greatest of signed words.
pub struct Ends<'a, W> {
    pub words: &'a [W],
}

impl<W: Word> Task for Ends<'_, W> {
    type Done = (W, W);

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> (W, W) {
        let (mut least, mut most) = (!W::ZERO, W::ZERO);
        for w in self.words {
            least = least.min(w.biased());
            most = most.max(w.biased());
        }
        (least.biased(), most.biased())
    }
}

/// The least step, signed, between neighbours of a row; or with a slope the least word without it.
pub struct Least<'a, W> {
    pub words: &'a [W],
    pub line: Option<W>,
}

impl<W: Word> Task for Least<'_, W> {
    type Done = W;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> W {
        let (words, mut least) = (self.words, !W::ZERO);
        match self.line {
            None => {
                for (a, b) in words.iter().zip(&words[1..]) {
                    least = least.min(b.sub(*a).biased());
                }
            }
            Some(slope) => {
                let mut at = W::ZERO;
                for w in words {
                    least = least.min(w.sub(at).biased());
                    at = at.add(slope);
                }
            }
        }
        least.biased()
    }
}

/// The bits of words less one of them.
pub struct Widths<'a, W> {
    pub words: &'a [W],
    pub least: W,
}

impl<W: Word> Task for Widths<'_, W> {
    type Done = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> u64 {
        self.words.iter().map(|w| u64::from(w.sub(self.least).width())).sum()
    }
}

/// The codes of a row.
pub struct Codes<'a, W> {
    pub rise: Rise<W>,
    pub words: &'a [W],
    pub codes: &'a mut [W],
}

impl<W: Word> Task for Codes<'_, W> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let Codes { rise: Rise { slope, line }, words, codes } = self;
        match line {
            None => {
                codes[0] = words[0];
                let n = words.len().min(codes.len());
                for i in 1..n {
                    codes[i] = words[i].sub(words[i - 1]).sub(slope);
                }
            }
            Some(first) => {
                let mut at = first;
                for (code, w) in codes.iter_mut().zip(words) {
                    *code = w.sub(at);
                    at = at.add(slope);
                }
            }
        }
    }
}

/// Adds a slope to numbers.
pub struct Add<'a, W> {
    pub slope: W,
    pub words: &'a mut [W],
}

impl<W: Word> Task for Add<'_, W> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let mut at = W::ZERO;
        for w in self.words {
            *w = w.add(at);
            at = at.add(self.slope);
        }
    }
}

/// Short differences become the codes that they are of; whether all of these are below 2^31.
pub struct AsCodes<'a> {
    pub differences: &'a mut [u32],
}

impl Task for AsCodes<'_> {
    type Done = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> bool {
        Zigzag { codes: &mut *self.differences }.run(l);
        self.differences.iter().fold(0, |any, code| any | code) >> 31 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_take_the_bytes_that_they_need() {
        for (slope, bytes) in [(0, 2), (32767, 2), (-32768, 2), (32768, 4), (1 << 31, 8), (i64::MIN, 8), (-1 << 31, 4)]
        {
            let (length, mut out) = (length(slope as u64), Vec::new());
            write(slope as u64, length, &mut out);
            assert_eq!((out.len(), cost(length)), (bytes, 8 * bytes as u64));
            assert_eq!(read::<u64>(length, &mut &out[..]).unwrap(), slope as u64);
            assert_eq!(read::<u16>(length, &mut &out[..]).unwrap(), slope as u16);
            assert!(read::<u64>(length, &mut &out[1..]).is_err());
        }
    }

    #[test]
    fn a_step_is_rounded() {
        assert_eq!(step(&[0u32, 5, 9, 10]), 3);
        assert_eq!(step(&[0u32, 5, 9, 11]), 4);
        assert_eq!(step(&[0u32, 0, 0, 0u32.wrapping_sub(11)]), 4u32.wrapping_neg());
        assert_eq!(step(&[0u64, 0, u64::MAX]), 0);
    }

    #[test]
    fn differences_far_below_the_others_do_not_count() {
        assert_eq!(bounded(7u32, 8, 9), 7);
        assert_eq!(bounded(6u32, 8, 9), 8);
        assert_eq!(bounded(u64::MAX, 8, 1 << 40), u64::MAX);
        assert_eq!(bounded(1u64 << 63, 0, (1 << 63) - 1), 0);
    }
}
