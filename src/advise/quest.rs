//! The quest for the absolute bound that meets a target: searched for on a sample, and tried on the whole until that
//! meets it.

use std::fmt::{self, Display, Write};

use super::measured::Measured;
use super::search::{FoundBound, Slack, search};
use super::target::{Digits, EXACT, Target};
use crate::params::Bound;

/// What a result may have beyond what was asked for: 2 % of its size.
const SLACK: f64 = 0.02;
/// The same for a PSNR, in dB.
const PSNR_SLACK: f64 = 0.1;
/// The same for an SSIM, of what it lacks to 1.
const SSIM_SLACK: f64 = 0.05;
/// The smallest bound that is tried, relative to the value range: no f64 has more digits.
const SMALLEST: f64 = 1e-17;
/// The smallest bound at all, that of the filter too. It is for a field of which one value is so far from all others
/// that a bound of its range is coarse for these.
const TINIEST: f64 = f64::MIN_POSITIVE;

impl Target {
    /// How far something is beyond the target; it grows with the bound. What cannot be told is beyond any.
    fn score(&self, m: &Measured) -> f64 {
        match self {
            Target::Ratio(ratio) => (m.ratio() / ratio).ln(),
            Target::Size(size) => (*size as f64 / m.packed.max(1) as f64).ln(),
            Target::Psnr(_) if m.psnr().is_nan() => f64::INFINITY,
            Target::Psnr(db) => db - m.psnr().min(EXACT),
            Target::Ssim(_) if m.ssim().is_nan() => f64::INFINITY,
            Target::Ssim(least) => ((1.0 - m.ssim()).max(f64::MIN_POSITIVE) / (1.0 - least)).ln(),
        }
    }

    /// What was measured as a target, of a ratio or a size.
    fn nearest(&self, m: &Measured) -> Target {
        match self {
            Target::Size(_) => Target::Size(m.packed),
            _ => Target::Ratio((m.ratio() * 100.0).floor() / 100.0),
        }
    }

    /// The scores that meet it.
    fn slack(&self) -> Slack {
        Slack(match self {
            Target::Ratio(_) | Target::Size(_) => (1.0 + SLACK).ln(),
            Target::Psnr(_) => -PSNR_SLACK,
            Target::Ssim(_) => -SSIM_SLACK,
        })
    }

    /// A size as a ratio, which a part of it can have too.
    fn as_ratio(self, raw_bytes: u64) -> Target {
        match self {
            Target::Size(size) => Target::Ratio(raw_bytes as f64 / size as f64),
            target => target,
        }
    }
}

/// What is to meet a target.
pub struct Quest {
    /// The target.
    pub target: Target,
    /// Of the values that count, in the whole of it.
    pub range: f64,
    /// Bytes of the whole of it.
    pub raw_bytes: u64,
}

impl Quest {
    /// The bound that meets the target, and what it gives on the whole. One that no bound meets is an error.
    pub fn solve<E>(
        &self,
        mut sample: impl FnMut(Bound) -> Result<Measured, E>,
        mut whole: impl FnMut(Bound) -> Result<Measured, E>,
    ) -> Result<Answer, Failed<E>> {
        let answer = |whole: &mut dyn FnMut(Bound) -> Result<Measured, E>, bound, tries| {
            Ok::<_, E>(Answer { measured: whole(bound)?, bound, tries: tries + 1 })
        };
        if self.range < TINIEST {
            let answer = answer(&mut whole, Bound::Lossless, 0)?;
            return if self.is_met_by(&answer) { Ok(answer) } else { Err(self.unmet(None, &answer.measured)) };
        }
        let (smallest, is_of_quality) = ((SMALLEST * self.range).max(TINIEST), self.target.is_of_quality());
        let mut found = self.search((smallest, self.range), &mut sample, &mut whole)?;
        let is_at_the_end = found.bound <= 2.0 * smallest;
        if found.score > self.target.slack().0.max(0.0) && (is_at_the_end || is_of_quality) {
            // A bound below the last bit of every value loses nothing, and says so better without a number.
            let exact = answer(&mut whole, Bound::Lossless, found.tries)?;
            if self.is_met_by(&exact) {
                return Ok(exact);
            }
            found = self.search((TINIEST, smallest), &mut sample, &mut whole)?;
            found.tries += exact.tries;
        }
        if found.score < 0.0 && !is_of_quality {
            // The search ends a little below the largest bound.
            let largest = answer(&mut whole, Bound::Abs(self.range), found.tries)?;
            if self.is_met_by(&largest) {
                return Ok(largest);
            }
            // What a bound keeps of missing values may take more than it spares.
            let exact = answer(&mut whole, Bound::Lossless, largest.tries)?;
            let is_met = self.is_met_by(&exact);
            return if is_met { Ok(exact) } else { Err(self.unmet(Some(self.range), &largest.measured)) };
        }
        Ok(Answer { bound: Bound::Abs(found.bound), measured: found.measured, tries: found.tries })
    }

    /// The bound between two that comes nearest to the target.
    fn search<E>(
        &self,
        ends: (f64, f64),
        sample: &mut impl FnMut(Bound) -> Result<Measured, E>,
        whole: &mut impl FnMut(Bound) -> Result<Measured, E>,
    ) -> Result<FoundBound<Measured>, E> {
        let target = self.target.as_ratio(self.raw_bytes);
        search(
            ends,
            self.target.slack(),
            |bound| sample(Bound::Abs(bound)).map(|m| target.score(&m)),
            |bound| whole(Bound::Abs(bound)).map(|m| (target.score(&m), m)),
        )
    }

    /// Whether an answer meets a target of size; one without loss meets every quality. Of nothing all is met.
    fn is_met_by(&self, answer: &Answer) -> bool {
        self.target.is_of_quality()
            || self.raw_bytes == 0
            || self.target.as_ratio(self.raw_bytes).score(&answer.measured) >= 0.0
    }

    fn unmet<E>(&self, range: Option<f64>, m: &Measured) -> Failed<E> {
        let nearest = self.target.nearest(m);
        Failed::Unmet(Unmet { target: self.target, range, packed: m.packed, ratio: m.ratio(), nearest })
    }
}

/// Why there is no bound that meets a target.
pub enum Failed<E> {
    /// No bound meets it.
    Unmet(Unmet),
    /// Something could not be measured.
    Other(E),
}

impl<E> From<E> for Failed<E> {
    fn from(error: E) -> Failed<E> {
        Failed::Other(error)
    }
}

/// A target that no bound meets.
#[derive(Clone, Copy, Debug)]
pub struct Unmet {
    /// The target.
    pub target: Target,
    /// The largest bound, which is the value range; `None` where values have none, and lossless is all that there is.
    pub range: Option<f64>,
    /// Bytes with that bound.
    pub packed: u64,
    /// The ratio with it.
    pub ratio: f64,
    /// The nearest target that can be met.
    pub nearest: Target,
}

impl Unmet {
    /// Writes it in words, where `word` says a target.
    pub fn write<D: Display>(&self, to: &mut impl Write, word: impl Fn(Target) -> D) -> fmt::Result {
        write!(to, "{}: cannot be met: ", word(self.target))?;
        match self.range {
            Some(range) => write!(to, "a bound as large as the value range, {},", Digits(range))?,
            None => to.write_str("its values have no range, of which a bound could be a part, and lossless")?,
        }
        match self.target {
            Target::Size(_) => write!(to, " gives {} bytes", self.packed)?,
            _ => write!(to, " gives ratio {:.2}", self.ratio)?,
        }
        write!(to, "; the nearest that can be met is {}", word(self.nearest))
    }
}

impl Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.write(f, |target| target)
    }
}

/// The bound that meets a target.
pub struct Answer {
    /// Absolute, or lossless.
    pub bound: Bound,
    /// What it gives on the whole.
    pub measured: Measured,
    /// How often the whole was compressed.
    pub tries: u32,
}
