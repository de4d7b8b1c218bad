//! Targets: a ratio, a size, a PSNR, an SSIM. The absolute bound that meets one is searched for on a sample, and tried
//! on the whole until that meets it.

mod measured;
mod search;

use sleek::{Mode, Params};

pub use measured::{Measured, restored};
use search::{Found, Side, Window, search};

use crate::io::tell;
use crate::progress::{bytes, number};
use crate::ssim::similarity;

/// What a result may have beyond what was asked for: 2 % of its size.
const SLACK: f64 = 0.02;
/// The same for a PSNR, in dB.
const PSNR_SLACK: f64 = 0.1;
/// The same for an SSIM, of what it lacks to 1.
const SSIM_SLACK: f64 = 0.05;
/// The smallest bound that is tried, relative to the value range: no f64 has more digits.
const SMALLEST: f64 = 1e-17;
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
}

impl Target {
    /// As the argument says it.
    pub fn name(&self) -> String {
        match self {
            Target::Ratio(ratio) => format!("--ratio {}", number(*ratio)),
            Target::Size(size) => format!("--size {size}"),
            Target::Psnr(db) => format!("--psnr {}", number(*db)),
            Target::Ssim(ssim) => format!("--ssim {}", number(*ssim)),
        }
    }

    /// An error if nothing could ever meet it.
    pub fn check(&self) -> Result<(), String> {
        let wanted = match self {
            Target::Ratio(ratio) if !(*ratio > 0.0 && ratio.is_finite()) => "a number above 0 is needed",
            Target::Size(0) => "a number above 0 is needed",
            Target::Psnr(db) if !(*db > 0.0 && *db < EXACT) => "a number of dB above 0 is needed",
            Target::Ssim(ssim) if !(*ssim > 0.0 && *ssim < 1.0) => "a number between 0 and 1 is needed",
            _ => return Ok(()),
        };
        Err(format!("{}: {wanted}", self.name()))
    }

    /// Whether errors are to be measured, not bytes alone.
    pub fn is_of_quality(&self) -> bool {
        matches!(self, Target::Psnr(_) | Target::Ssim(_))
    }

    /// How far something is beyond the target; it grows with the bound.
    fn score(&self, m: &Measured) -> f64 {
        match self {
            Target::Ratio(ratio) => (m.ratio() / ratio).ln(),
            Target::Size(size) => (*size as f64 / m.packed.max(1) as f64).ln(),
            Target::Psnr(db) => db - m.psnr().min(EXACT),
            Target::Ssim(ssim) => ((1.0 - m.ssim()).max(f64::MIN_POSITIVE) / (1.0 - ssim)).ln(),
        }
    }

    /// The scores that meet it.
    fn window(&self) -> Window {
        match self {
            Target::Ratio(_) | Target::Size(_) => Window { low: 0.0, high: (1.0 + SLACK).ln(), side: Side::NotBelow },
            Target::Psnr(_) => Window { low: -PSNR_SLACK, high: 0.0, side: Side::NotAbove },
            Target::Ssim(_) => Window { low: -SSIM_SLACK, high: 0.0, side: Side::NotAbove },
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
    /// The parameters that meet the target, and what they give on the whole.
    pub fn solve(
        &self,
        mut sample: impl FnMut(&Params) -> Result<Measured, String>,
        mut whole: impl FnMut(&Params) -> Result<Measured, String>,
    ) -> Result<Answer, String> {
        let exact = self.params.clone().with_bound(Mode::Lossless, 0.0);
        if self.range <= 0.0 {
            return Ok(Answer { measured: whole(&exact)?, params: exact, tries: 1 });
        }
        let (target, window) = (self.target.as_ratio(self.raw_bytes), self.target.window());
        let found = search(
            (SMALLEST * self.range, self.range),
            &window,
            |bound| sample(&self.with(bound)).map(|m| target.score(&m)),
            |bound| whole(&self.with(bound)).map(|m| (target.score(&m), m)),
        )?;
        let Found { bound, score, measured, tries } = found;
        // A bound below the last bit of every value loses nothing, and says so better without a number.
        if score > window.high && bound <= 2.0 * SMALLEST * self.range {
            return Ok(Answer { measured: whole(&exact)?, params: exact, tries: tries + 1 });
        }
        if score < window.low && window.side == Side::NotBelow {
            return Err(format!(
                "{}: cannot be met: a bound as large as the value range, {}, gives {}",
                self.target.name(),
                number(self.range),
                match self.target {
                    Target::Size(_) => format!("{} bytes", measured.packed),
                    _ => format!("ratio {:.2}", measured.ratio()),
                }
            ));
        }
        Ok(Answer { params: self.with(bound), measured, tries })
    }

    fn with(&self, bound: f64) -> Params {
        Params { range: None, ..self.params.clone().with_bound(Mode::Abs, bound) }
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
            Target::Psnr(_) | Target::Ssim(_) if m.squares == 0.0 => "every bit comes back".into(),
            Target::Psnr(_) => format!("PSNR {:.2} dB, ratio {:.2}", m.psnr(), m.ratio()),
            Target::Ssim(_) => format!("SSIM {}, ratio {:.2}", similarity(m.ssim()), m.ratio()),
            _ => format!("ratio {:.2}, {}", m.ratio(), bytes(m.packed)),
        };
        let tries = if self.tries == 1 { "1 try".into() } else { format!("{} tries", self.tries) };
        tell(&format!("sleek: {of}: {} is met by {}: {came_to}, {tries}", target.name(), self.request()));
    }
}
