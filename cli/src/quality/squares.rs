//! Root mean square errors and PSNR of values of any size.

/// A sum of squares that neither overflows nor vanishes: they are counted in that of the largest number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Squares {
    largest: f64,
    sum: f64,
}

impl Squares {
    /// Of some numbers, of which this is the largest, and the sum of their squares a number.
    pub fn of(largest: f64, sum: f64) -> Squares {
        Squares { largest, sum: sum / largest.powi(2) }
    }

    /// One number that is not negative.
    pub fn add(&mut self, number: f64) {
        self.join(&Squares { largest: number, sum: f64::from(number > 0.0) });
    }

    pub fn join(&mut self, other: &Squares) {
        if other.largest > self.largest {
            return *self = Squares { sum: other.sum + moved(self, other.largest), ..*other };
        }
        self.sum += moved(other, self.largest);
    }

    /// Of each of them so many.
    pub fn times(&self, count: u64) -> Squares {
        Squares { sum: self.sum * count as f64, ..*self }
    }

    /// The root of their mean, of so many numbers.
    pub fn root_of_mean(&self, count: u64) -> f64 {
        self.largest * (self.sum / count.max(1) as f64).sqrt()
    }
}

/// A sum in squares of another number that is no smaller.
fn moved(squares: &Squares, largest: f64) -> f64 {
    match squares.largest == largest {
        true => squares.sum,
        false => squares.sum * (squares.largest / largest).powi(2),
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
            let mut all = Squares::default();
            (0..1000).for_each(|i| all.add(by * 1e-3 * f64::from((i % 5 - 2i32).abs())));
            [all.root_of_mean(1000) / by, psnr(2.0 * by, all.root_of_mean(1000))]
        };
        let usual = of(0);
        assert!((usual[0] - 2f64.sqrt() * 1e-3).abs() < 1e-12);
        for power in [-1000, -560, 560, 1000] {
            for (found, usual) in of(power).iter().zip(usual) {
                assert!((found - usual).abs() <= 1e-9 * usual.abs(), "2^{power}: {found} {usual}");
            }
        }
        assert!(psnr(f64::INFINITY, 1.0).is_finite());
    }
}
