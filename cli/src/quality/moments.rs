//! How both sides go together: Pearson's correlation, and the mean of all errors.

use sleek::advise::ssim::scale_of;

/// Sums over all pairs, taken together part by part, so that nothing is lost to large means.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    /// What values are multiplied by, so that their squares are numbers.
    scale: f64,
    /// The first pair, from which means are counted: those of a constant are zero without rounding.
    from: Option<(f64, f64)>,
    count: f64,
    errors: f64,
    is_same: bool,
    mean_a: f64,
    mean_b: f64,
    /// Sums of products of differences from the means.
    aa: f64,
    bb: f64,
    ab: f64,
}

impl Moments {
    /// Nothing yet, of a field of this value range.
    pub fn new(range: f64) -> Moments {
        Moments { scale: scale_of(range), is_same: true, ..Moments::default() }
    }

    /// Takes in a part; what is NaN does not count.
    pub fn add(&mut self, a: &[f64], b: &[f64]) {
        let pairs = || a.iter().zip(b).filter(|(a, b)| a.is_finite() && b.is_finite()).map(|(a, b)| (*a, *b));
        let Some((first_a, first_b)) = pairs().next() else { return };
        let scale = self.scale;
        let moved = |a: f64, b: f64| (a * scale - first_a * scale, b * scale - first_b * scale);
        let mut part = Moments { scale, from: Some((first_a, first_b)), ..Moments::new(0.0) };
        for (a, b) in pairs() {
            part.count += 1.0;
            part.is_same &= a == b;
            part.errors += (a - b).abs() * scale;
            let (a, b) = moved(a, b);
            part.mean_a += a;
            part.mean_b += b;
        }
        part.mean_a /= part.count;
        part.mean_b /= part.count;
        for (a, b) in pairs() {
            let (a, b) = moved(a, b);
            let (a, b) = (a - part.mean_a, b - part.mean_b);
            part.aa += a * a;
            part.bb += b * b;
            part.ab += a * b;
        }
        self.join(&part);
    }

    /// Takes in what another one of the same value range has.
    pub fn join(&mut self, part: &Moments) {
        let Some((first_a, first_b)) = part.from else { return };
        let from = *self.from.get_or_insert((first_a, first_b));
        let moved = |mean: f64, first: f64, from: f64| mean + (first * self.scale - from * self.scale);
        let mean_a = moved(part.mean_a, first_a, from.0);
        let mean_b = moved(part.mean_b, first_b, from.1);
        let count = self.count + part.count;
        let (a, b) = (mean_a - self.mean_a, mean_b - self.mean_b);
        let weight = self.count * part.count / count;
        self.aa += part.aa + a * a * weight;
        self.bb += part.bb + b * b * weight;
        self.ab += part.ab + a * b * weight;
        self.mean_a += a * part.count / count;
        self.mean_b += b * part.count / count;
        self.errors += part.errors;
        self.is_same &= part.is_same;
        self.count = count;
    }

    /// Whether there were numbers.
    pub fn any(&self) -> bool {
        self.count > 0.0
    }

    /// The mean of |v − r|.
    pub fn mean_error(&self) -> f64 {
        self.errors / self.count / self.scale
    }

    /// 1 where nothing differs; NaN, by which no limit is met, where one side is constant.
    pub fn pearson(&self) -> f64 {
        match self.is_same {
            true => 1.0,
            // Rounding may lead past the ends.
            false => (self.ab / (self.aa.sqrt() * self.bb.sqrt())).clamp(-1.0, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_size_of_values_changes_a_figure() {
        let of = |power: i32| {
            let by = 2f64.powi(power);
            let a: Vec<f64> = (0..1000).map(|i| by * (f64::from(i) * 0.7).sin()).collect();
            let b: Vec<f64> = a.iter().zip(0..).map(|(a, i)| a + by * 1e-3 * f64::from(i % 5 - 2)).collect();
            let mut moments = Moments::new(2.0 * by);
            a.chunks(300).zip(b.chunks(300)).for_each(|(a, b)| moments.add(a, b));
            [moments.pearson(), moments.mean_error() / by]
        };
        let usual = of(0);
        for power in [-1000, -560, 560, 1000] {
            for (found, usual) in of(power).iter().zip(usual) {
                assert!((found - usual).abs() <= 1e-9 * usual.abs(), "2^{power}: {found} {usual}");
            }
        }
    }
}
