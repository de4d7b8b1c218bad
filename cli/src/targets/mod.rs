//! Targets: a ratio, a size, a PSNR, an SSIM and other figures. The absolute bound that meets one is searched for on a
//! sample, and tried on the whole until that meets it.

mod measured;
mod search;

use sleek::{Mode, Params};

pub use measured::{Measured, restored};
use search::{Found, Side, Window, search};

use crate::io::tell;
use crate::progress::{bytes, number};
use crate::quality::Figure;

/// What a result may have beyond what was asked for: 2 % of its size.
const SLACK: f64 = 0.02;
/// The same for a PSNR, in dB.
const PSNR_SLACK: f64 = 0.1;
/// The same for a likeness, of what it lacks to 1, and for a distance.
const LIKENESS_SLACK: f64 = 0.05;
/// The smallest bound that is tried, relative to the value range: no f64 has more digits.
const SMALLEST: f64 = 1e-17;
/// The smallest bound at all, for a field of which one value is so far from all others that a bound of its range is
/// coarse for these.
const TINIEST: f64 = f64::MIN_POSITIVE;
/// A PSNR of what came back bit for bit, for arithmetic.
const EXACT: f64 = 1e4;

/// What a result is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// So many times smaller, at least.
    Ratio(f64),
    /// So many bytes, at most.
    Size(u64),
    /// So many dB, at least.
    Psnr(f64),
    /// Such a structural similarity, at least.
    Ssim(f64),
    /// The same for floating-point data.
    Dssim(f64),
    /// Such a correlation, at least.
    Pearson(f64),
    /// Such a distance of the distributions, at most.
    Ks(f64),
}

impl Target {
    /// As the argument says it.
    pub fn name(&self) -> String {
        match self {
            Target::Ratio(ratio) => format!("--ratio {}", number(*ratio)),
            Target::Size(size) => format!("--size {size}"),
            Target::Psnr(db) => format!("--psnr {}", number(*db)),
            Target::Ssim(least) | Target::Dssim(least) | Target::Pearson(least) | Target::Ks(least) => {
                let argument = self.likeness().map_or("", |(figure, _)| figure.argument());
                format!("{argument} {}", number(*least))
            }
        }
    }

    /// The figure that is to be met, but for a PSNR, and how well.
    pub fn likeness(&self) -> Option<(Figure, f64)> {
        match self {
            Target::Ssim(least) => Some((Figure::Ssim, *least)),
            Target::Dssim(least) => Some((Figure::Dssim, *least)),
            Target::Pearson(least) => Some((Figure::Pearson, *least)),
            Target::Ks(most) => Some((Figure::Ks, *most)),
            _ => None,
        }
    }

    /// An error if nothing could ever meet it.
    pub fn check(&self) -> Result<(), String> {
        let wanted = match self {
            Target::Ratio(ratio) if !(*ratio > 0.0 && ratio.is_finite()) => "a number above 0 is needed",
            Target::Size(0) => "a number above 0 is needed",
            Target::Psnr(db) if !(*db > 0.0 && *db < EXACT) => "a number of dB above 0 is needed",
            target if target.likeness().is_some_and(|(_, share)| !(share > 0.0 && share < 1.0)) => {
                "a number between 0 and 1 is needed"
            }
            _ => return Ok(()),
        };
        Err(format!("{}: {wanted}", self.name()))
    }

    /// Whether errors are to be measured, not bytes alone.
    pub fn is_of_quality(&self) -> bool {
        !matches!(self, Target::Ratio(_) | Target::Size(_))
    }

    /// How far something is beyond the target; it grows with the bound. What cannot be told is beyond any.
    fn score(&self, m: &Measured) -> f64 {
        match self {
            Target::Ratio(ratio) => (m.ratio() / ratio).ln(),
            Target::Size(size) => (*size as f64 / m.packed.max(1) as f64).ln(),
            Target::Psnr(_) if m.psnr().is_nan() => f64::INFINITY,
            Target::Psnr(db) => db - m.psnr().min(EXACT),
            _ if m.likeness().is_nan() => f64::INFINITY,
            Target::Ks(most) => (m.likeness().max(f64::MIN_POSITIVE) / most).ln(),
            Target::Ssim(least) | Target::Dssim(least) | Target::Pearson(least) => {
                ((1.0 - m.likeness()).max(f64::MIN_POSITIVE) / (1.0 - least)).ln()
            }
        }
    }

    /// What was measured of a quality, in words.
    pub fn reached(&self, m: &Measured) -> String {
        match self.likeness() {
            Some((figure, _)) => format!("{} {}", figure.title(), figure.words(m.likeness())),
            None => format!("PSNR {:.2} dB", m.psnr()),
        }
    }

    /// What was measured as a target, of a ratio or a size.
    fn nearest(&self, m: &Measured) -> String {
        match self {
            Target::Size(_) => Target::Size(m.packed).name(),
            _ => format!("--ratio {:.2}", (m.ratio() * 100.0).floor() / 100.0),
        }
    }

    /// The scores that meet it.
    fn window(&self) -> Window {
        match self {
            Target::Ratio(_) | Target::Size(_) => Window { low: 0.0, high: (1.0 + SLACK).ln(), side: Side::NotBelow },
            Target::Psnr(_) => Window { low: -PSNR_SLACK, high: 0.0, side: Side::NotAbove },
            _ => Window { low: -LIKENESS_SLACK, high: 0.0, side: Side::NotAbove },
        }
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
pub struct Quest<'a> {
    pub target: Target,
    /// Whose bound is looked for.
    pub params: &'a Params,
    /// Of the values that count, in the whole of it.
    pub range: f64,
    /// Bytes of the whole of it.
    pub raw_bytes: u64,
}

impl Quest<'_> {
    /// The parameters that meet the target, and what they give on the whole. One that no bound meets is an error.
    pub fn solve(
        &self,
        mut sample: impl FnMut(&Params) -> Result<Measured, String>,
        mut whole: impl FnMut(&Params) -> Result<Measured, String>,
    ) -> Result<Answer, Failed> {
        let exact = self.params.clone().with_bound(Mode::Lossless, 0.0);
        if self.range <= 0.0 {
            let answer = Answer { measured: whole(&exact)?, params: exact, tries: 1 };
            let why = "its values have no range, of which a bound could be a part, and lossless";
            return if self.is_met_by(&answer) { Ok(answer) } else { Err(self.unmet(why, &answer.measured)) };
        }
        let (smallest, window) = (SMALLEST * self.range, self.target.window());
        let mut found = self.search((smallest, self.range), &mut sample, &mut whole)?;
        let is_at_the_end = found.bound <= 2.0 * smallest;
        if found.score > window.high && (is_at_the_end || window.side == Side::NotAbove) {
            // A bound below the last bit of every value loses nothing, and says so better without a number.
            let answer = Answer { measured: whole(&exact)?, params: exact, tries: found.tries + 1 };
            if self.is_met_by(&answer) {
                return Ok(answer);
            }
            let tries = answer.tries;
            found = self.search((TINIEST, smallest), &mut sample, &mut whole)?;
            found.tries += tries;
        }
        if found.score < window.low && window.side == Side::NotBelow {
            let why = format!("a bound as large as the value range, {},", number(self.range));
            return Err(self.unmet(&why, &found.measured));
        }
        Ok(Answer { params: self.with(found.bound), measured: found.measured, tries: found.tries })
    }

    /// The bound between two that comes nearest to the target.
    fn search(
        &self,
        ends: (f64, f64),
        sample: &mut impl FnMut(&Params) -> Result<Measured, String>,
        whole: &mut impl FnMut(&Params) -> Result<Measured, String>,
    ) -> Result<Found<Measured>, String> {
        let target = self.target.as_ratio(self.raw_bytes);
        search(
            ends,
            &self.target.window(),
            |bound| sample(&self.with(bound)).map(|m| target.score(&m)),
            |bound| whole(&self.with(bound)).map(|m| (target.score(&m), m)),
        )
    }

    /// Whether an answer without loss meets the target: every quality, but not every size. Of nothing all is met.
    fn is_met_by(&self, exact: &Answer) -> bool {
        self.target.is_of_quality()
            || self.raw_bytes == 0
            || self.target.as_ratio(self.raw_bytes).score(&exact.measured) >= 0.0
    }

    fn unmet(&self, by: &str, m: &Measured) -> Failed {
        let gives = match self.target {
            Target::Size(_) => format!("{} bytes", m.packed),
            _ => format!("ratio {:.2}", m.ratio()),
        };
        let (name, nearest) = (self.target.name(), self.target.nearest(m));
        let why = format!("{name}: cannot be met: {by} gives {gives}; the nearest that can be met is {nearest}");
        Failed { why, ratio: Some(m.ratio()) }
    }

    fn with(&self, bound: f64) -> Params {
        Params { range: None, ..self.params.clone().with_bound(Mode::Abs, bound) }
    }
}

/// Why there are no parameters that meet a target.
pub struct Failed {
    pub why: String,
    /// The largest ratio that there is, where that is too small.
    pub ratio: Option<f64>,
}

impl From<String> for Failed {
    fn from(why: String) -> Failed {
        Failed { why, ratio: None }
    }
}

impl From<Failed> for String {
    fn from(failed: Failed) -> String {
        failed.why
    }
}

/// The parameters that meet a target.
pub struct Answer {
    pub params: Params,
    pub measured: Measured,
    /// How often the whole was compressed.
    pub tries: u32,
}

impl Answer {
    /// The request in the words of the command.
    pub fn request(&self) -> String {
        match self.params.mode {
            Mode::Lossless => "--lossless".into(),
            mode => format!("--{} {:e}", mode.name(), self.params.bound),
        }
    }

    /// Says what the target came to.
    pub fn tell(&self, target: &Target, of: &str) {
        let m = &self.measured;
        let came_to = match target {
            Target::Ratio(_) | Target::Size(_) => format!("ratio {:.2}, {}", m.ratio(), bytes(m.packed)),
            _ if m.squares == 0.0 => "every bit comes back".into(),
            target => format!("{}, ratio {:.2}", target.reached(m), m.ratio()),
        };
        let tries = if self.tries == 1 { "1 try".into() } else { format!("{} tries", self.tries) };
        tell(&format!("sleek: {of}: {} is met by {}: {came_to}, {tries}", target.name(), self.request()));
    }
}
