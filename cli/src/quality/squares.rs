//! Root mean square errors and PSNR of values of any size.

/// A sum of squares that neither overflows nor vanishes: the numbers are divided by a power of two before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Squares {
    sum: f64,
    exponent: i32,
}

impl Squares {
    /// Numbers of this size have squares that are numbers, and so have many of them together.
    const USUAL: std::ops::Range<f64> = 1e-140..1e140;

    /// Of some numbers, of which `largest` is the largest without its sign; `sum_by` adds up their squares, each number
    /// times a factor.
    pub fn of(largest: f64, sum_by: impl Fn(f64) -> f64) -> Squares {
        if largest == 0.0 || !largest.is_finite() || Squares::USUAL.contains(&largest) {
            return Squares { sum: sum_by(1.0), exponent: 0 };
        }
        let exponent = (largest.log2() as i32).clamp(-1000, 1000);
        Squares { sum: sum_by(2f64.powi(-exponent)), exponent }
    }

    /// Adds others.
    pub fn join(&mut self, other: &Squares) {
        if other.sum == 0.0 {
            return;
        }
        if self.sum == 0.0 {
            *self = *other;
            return;
        }
        let exponent = self.exponent.max(other.exponent);
        let moved = |s: &Squares| s.sum * 2f64.powi(2 * (s.exponent - exponent).max(-500));
        *self = Squares { sum: moved(self) + moved(other), exponent };
    }

    /// Of each of them so many.
    pub fn times(&self, count: u64) -> Squares {
        Squares { sum: self.sum * count as f64, ..*self }
    }

    /// The root of their mean, of so many numbers.
    pub fn root_of_mean(&self, count: u64) -> f64 {
        (self.sum / count.max(1) as f64).sqrt() * 2f64.powi(self.exponent)
    }
}

/// PSNR in dB; infinite without errors.
pub fn psnr(range: f64, rms: f64) -> f64 {
    // The range of values at both ends of f64 is no number, and a quotient may be none.
    if rms == 0.0 { f64::INFINITY } else { 20.0 * (range.min(f64::MAX).log10() - rms.log10()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_size_of_errors_changes_a_figure() {
        let of = |power: i32| {
            let by = 2f64.powi(power);
            let errors: Vec<f64> = (0..1000).map(|i| by * 1e-3 * f64::from(i % 5 - 2)).collect();
            let mut all = Squares::default();
            for part in errors.chunks(300) {
                all.join(&Squares::of(2e-3 * by, |factor| part.iter().map(|e| (e * factor).powi(2)).sum()));
            }
            [all.root_of_mean(1000) / by, psnr(2.0 * by, all.root_of_mean(1000))]
        };
        let usual = of(0);
        for power in [-1000, -560, 560, 1000] {
            for (found, usual) in of(power).iter().zip(usual) {
                assert!((found - usual).abs() <= 1e-9 * usual.abs(), "2^{power}: {found} {usual}");
            }
        }
        assert!(psnr(f64::INFINITY, 1.0).is_finite());
    }
}
