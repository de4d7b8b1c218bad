//! Errors as shares of what they are shown by.

use sleek::Mode;

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
