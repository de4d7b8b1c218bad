//! The bound of a score that grows with it: searched for on a sample, which is cheap, and tried on the whole, of which
//! the sample tells most.

use std::io::Write;

/// Halvings of the bounds' logarithms on the sample.
const HALVINGS: u32 = 18;
/// Tries on the whole.
const TRIES: u32 = 16;
/// Bounds that are nearer than this to each other are one.
const NEAR: f64 = 2e-3;

/// The scores that are right: from 0 to this. Where none of them is met, one beyond it is better than one on the other
/// side of 0.
#[derive(Clone, Copy)]
pub struct Slack(pub f64);

impl Slack {
    fn holds(self, score: f64) -> bool {
        self.allows(score) && score.abs() <= self.0.abs()
    }

    fn allows(self, score: f64) -> bool {
        if self.0 > 0.0 { score >= 0.0 } else { score <= 0.0 }
    }

    fn middle(self) -> f64 {
        0.5 * self.0
    }
}

/// A bound, and what the whole says to it.
pub struct FoundBound<T> {
    /// The bound.
    pub bound: f64,
    /// Its score.
    pub score: f64,
    /// What else the whole says to it.
    pub measured: T,
    /// How many bounds were tried on the whole.
    pub tries: u32,
}

/// The bound between two that has a score within the slack, else the nearest to it on the side that is allowed, else
/// the end that is nearest to it.
pub fn search<T, E>(
    (smallest, largest): (f64, f64),
    slack: Slack,
    mut sample: impl FnMut(f64) -> Result<f64, E>,
    mut whole: impl FnMut(f64) -> Result<(f64, T), E>,
) -> Result<FoundBound<T>, E> {
    let (mut low, mut high) = (smallest, largest);
    let mut bound = short(on_sample((low, high), slack.middle(), &mut sample)?);
    let mut best: Option<FoundBound<T>> = None;
    let mut tries = 0;
    loop {
        tries += 1;
        let (score, measured) = whole(bound)?;
        let found = FoundBound { bound, score, measured, tries };
        if slack.holds(score) {
            return Ok(found);
        }
        match score < slack.0.min(0.0) {
            true => low = bound.max(low),
            false => high = bound.min(high),
        }
        let nearest = match best.take() {
            Some(best) if !better(&found, &best, slack) => FoundBound { tries, ..best },
            _ => found,
        };
        if tries == TRIES || high <= low * (1.0 + NEAR) {
            return Ok(nearest);
        }
        best = Some(nearest);
        let next = match tries {
            // The sample, put right by what the whole says here, is near; halving always gets there.
            1..=3 => {
                let shift = score - sample(bound)?;
                short(on_sample((low, high), slack.middle() - shift, &mut sample)?)
            }
            _ => short(between(low, high)),
        };
        bound = if next > low && next < high { next } else { short(between(low, high)) };
        if !(low < bound && bound < high) {
            bound = if slack.0 > 0.0 { high } else { low };
        }
    }
}

/// Whether `a` is the better answer.
fn better<T>(a: &FoundBound<T>, b: &FoundBound<T>, slack: Slack) -> bool {
    match (slack.allows(a.score), slack.allows(b.score)) {
        (true, false) => true,
        (false, true) => false,
        _ => (a.score - slack.middle()).abs() < (b.score - slack.middle()).abs(),
    }
}

/// The bound between two of which the sample has a score.
fn on_sample<E>(
    (mut low, mut high): (f64, f64),
    wanted: f64,
    sample: &mut impl FnMut(f64) -> Result<f64, E>,
) -> Result<f64, E> {
    for _ in 0..HALVINGS {
        let middle = between(low, high);
        match sample(middle)? < wanted {
            true => low = middle,
            false => high = middle,
        }
        if high <= low * (1.0 + NEAR) {
            break;
        }
    }
    Ok(between(low, high))
}

/// The middle of the logarithms.
fn between(low: f64, high: f64) -> f64 {
    low.sqrt() * high.sqrt()
}

/// As many digits as people type.
fn short(bound: f64) -> f64 {
    let mut text = [0; 16];
    let mut rest = &mut text[..];
    let is_written = write!(rest, "{bound:.3e}").is_ok();
    let left = rest.len();
    let len = text.len() - left;
    let parsed = str::from_utf8(&text[..len]).ok().and_then(|text| text.parse().ok());
    parsed.filter(|_| is_written).unwrap_or(bound)
}
