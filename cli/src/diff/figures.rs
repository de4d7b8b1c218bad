//! What differs, in figures: of all elements.

use sleek::Mode;

use crate::verify::exact::holds;
use crate::verify::pair::{Pair, PairPart};
use sleek::advise::elements;

/// What a first look at all of both sides finds.
pub struct Figures {
    pub mode: Mode,
    pub count: u64,
    /// NaN and infinities, and missing values: they count for nothing else.
    pub special: u64,
    pub missing: u64,
    pub violations: u64,
    pub minimum: f64,
    pub maximum: f64,
    pub max_error: f64,
    /// The largest share of the bound; 0 where there is none.
    pub of_bound: f64,
    sum: f64,
    squares: f64,
    /// The worst element by its share of the bound, else by its error: where it is, and what became of it.
    pub worst: Option<(Vec<u64>, f64, f64)>,
    worst_size: f64,
    worst_breaks: bool,
}

impl Figures {
    pub fn new(mode: Mode) -> Figures {
        Figures {
            mode,
            count: 0,
            special: 0,
            missing: 0,
            violations: 0,
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            max_error: 0.0,
            of_bound: 0.0,
            sum: 0.0,
            squares: 0.0,
            worst: None,
            worst_size: -1.0,
            worst_breaks: false,
        }
    }

    pub fn add(&mut self, pair: &Pair, part: &PairPart) {
        let mut at = 0;
        elements::for_each_pair(pair.dtype, pair.big_endian, part.original, part.restored, |v, r| {
            let is_missing = pair.marks.contains(&v.0);
            let masks_agree = v.0 == r.0 || !(is_missing || pair.marks.contains(&r.0));
            let kept = masks_agree && holds(self.mode, part.limit, v, r);
            self.violations += u64::from(!kept);
            self.count += 1;
            let size = match (is_missing, v.1.is_finite()) {
                (false, true) => self.measure(v.1, r.1, part.limit),
                (true, _) => {
                    self.missing += 1;
                    0.0
                }
                _ => {
                    self.special += 1;
                    0.0
                }
            };
            // One that breaks the bound, in its mask too, is worse than any that keeps it.
            if (!kept && !self.worst_breaks) || (kept != self.worst_breaks && size > self.worst_size) {
                self.worst = Some((place(part, at), v.1, r.1));
                self.worst_size = size;
                self.worst_breaks = !kept;
            }
            at += 1;
        });
    }

    /// Takes in a value that counts; how bad its error is.
    fn measure(&mut self, v: f64, r: f64, limit: f64) -> f64 {
        let error = if r.is_finite() { (r - v).abs() } else { f64::INFINITY };
        self.minimum = self.minimum.min(v);
        self.maximum = self.maximum.max(v);
        self.max_error = self.max_error.max(error);
        self.squares += error * error;
        self.sum += if r.is_finite() { r - v } else { 0.0 };
        let measured = if self.mode == Mode::Rel && error > 0.0 { error / v.abs() } else { error };
        if limit > 0.0 {
            self.of_bound = self.of_bound.max(measured / limit);
            return measured / limit;
        }
        measured
    }

    /// Values that count.
    fn counted(&self) -> f64 {
        (self.count - self.special - self.missing).max(1) as f64
    }

    pub fn range(&self) -> f64 {
        if self.maximum > self.minimum { self.maximum - self.minimum } else { 0.0 }
    }

    pub fn rms(&self) -> f64 {
        (self.squares / self.counted()).sqrt()
    }

    /// The mean of all errors.
    pub fn bias(&self) -> f64 {
        self.sum / self.counted()
    }

    /// Of the errors.
    pub fn variance(&self) -> f64 {
        (self.squares / self.counted() - self.bias().powi(2)).max(0.0)
    }

    /// In dB; infinite without errors.
    pub fn psnr(&self) -> f64 {
        20.0 * (self.range() / self.rms()).log10()
    }

    /// What a share of 1 is of.
    pub fn scale(&self) -> Scale {
        Scale::new(self.mode, self.max_error)
    }
}

/// The indices of the element that is the `n`th of a part.
fn place(part: &PairPart, mut n: u64) -> Vec<u64> {
    let mut index = part.start.clone();
    for (i, len) in part.count.iter().enumerate().rev() {
        index[i] += n % len;
        n /= len;
    }
    index
}

/// What errors are shown as shares of: of the bound, or of the largest error where there is none.
#[derive(Clone, Copy)]
pub struct Scale {
    mode: Mode,
    largest: f64,
}

impl Scale {
    /// Of a mode; `largest` is the largest error.
    pub fn new(mode: Mode, largest: f64) -> Scale {
        Scale { mode, largest }
    }

    /// Whether it is a bound.
    pub fn is_bound(&self) -> bool {
        self.mode.has_bound()
    }

    /// The error of a value by its share, with its sign; NaN if it does not count.
    pub fn share(&self, v: f64, r: f64, limit: f64) -> f64 {
        let error = r - v;
        let of = match self.mode {
            Mode::Rel => limit * v.abs(),
            mode if mode.has_bound() => limit,
            _ => self.largest,
        };
        if error == 0.0 { 0.0 } else { error / of }
    }
}
