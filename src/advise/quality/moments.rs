//! Errors, and how both sides go together (Pearson's correlation).

/// Sums over all pairs, taken together part by part, so that nothing is lost to large means.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    count: f64,
    max_error: f64,
    errors: f64,
    squares: f64,
    mean_a: f64,
    mean_b: f64,
    /// Sums of products of differences from the means.
    aa: f64,
    bb: f64,
    ab: f64,
}

impl Moments {
    /// Takes in a part; what is NaN does not count.
    pub fn add(&mut self, a: &[f64], b: &[f64]) {
        let pairs = || a.iter().zip(b).filter(|(a, b)| a.is_finite() && b.is_finite());
        let mut part = Moments::default();
        for (a, b) in pairs() {
            let error = (a - b).abs();
            part.count += 1.0;
            part.max_error = part.max_error.max(error);
            part.errors += error;
            part.squares += error * error;
            part.mean_a += a;
            part.mean_b += b;
        }
        if part.count == 0.0 {
            return;
        }
        part.mean_a /= part.count;
        part.mean_b /= part.count;
        for (a, b) in pairs() {
            let (a, b) = (a - part.mean_a, b - part.mean_b);
            part.aa += a * a;
            part.bb += b * b;
            part.ab += a * b;
        }
        self.join(&part);
    }

    fn join(&mut self, part: &Moments) {
        let count = self.count + part.count;
        let (a, b) = (part.mean_a - self.mean_a, part.mean_b - self.mean_b);
        let weight = self.count * part.count / count;
        self.aa += part.aa + a * a * weight;
        self.bb += part.bb + b * b * weight;
        self.ab += part.ab + a * b * weight;
        self.mean_a += a * part.count / count;
        self.mean_b += b * part.count / count;
        self.max_error = self.max_error.max(part.max_error);
        self.errors += part.errors;
        self.squares += part.squares;
        self.count = count;
    }

    /// Pairs of numbers that were taken in.
    pub fn count(&self) -> u64 {
        self.count as u64
    }

    /// The largest error.
    pub fn max_error(&self) -> f64 {
        self.max_error
    }

    /// The mean of |v − r|.
    pub fn mean_error(&self) -> f64 {
        self.errors / self.count
    }

    /// The root of the mean square error.
    pub fn rms_error(&self) -> f64 {
        (self.squares / self.count).sqrt()
    }

    /// In dB; infinite without errors.
    pub fn psnr(&self, range: f64) -> f64 {
        if self.squares == 0.0 { f64::INFINITY } else { 20.0 * (range / self.rms_error()).log10() }
    }

    /// 1 where nothing differs; NaN where one side alone is constant.
    pub fn pearson(&self) -> f64 {
        match self.squares == 0.0 {
            true => 1.0,
            false => self.ab / (self.aa.sqrt() * self.bb.sqrt()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_the_whole() {
        let a: Vec<f64> = (0..1000).map(|i| 1e6 + (f64::from(i) * 0.7).sin()).collect();
        let b: Vec<f64> = a.iter().zip(0..).map(|(a, i)| a + 0.1 * f64::from(i % 5 - 2)).collect();
        let mut whole = Moments::default();
        whole.add(&a, &b);
        let mut parts = Moments::default();
        for n in [0..1, 1..400, 400..400, 400..1000] {
            parts.add(&a[n.clone()], &b[n]);
        }
        parts.add(&[f64::NAN], &[f64::NAN]);
        assert!((whole.pearson() - parts.pearson()).abs() < 1e-13 && whole.count() == parts.count());
        // By the plain formula.
        let mean = |x: &[f64]| x.iter().sum::<f64>() / 1000.0;
        let of = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean(&a)) * (y - mean(&b))).sum::<f64>();
        let own = |x: &[f64]| x.iter().map(|v| (v - mean(x)).powi(2)).sum::<f64>();
        assert!((whole.pearson() - of(&a, &b) / (own(&a) * own(&b)).sqrt()).abs() < 1e-9);
        assert!((whole.mean_error() - 0.12).abs() < 1e-9 && (whole.max_error() - 0.2).abs() < 1e-9);
        assert_eq!(Moments::default().pearson(), 1.0);
    }
}
