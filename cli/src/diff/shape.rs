//! The shape of the errors: how they are spread, and how they hang together.

use super::scale::Scale;
use crate::verify::pair::Values;

/// Bins of the histogram between the bound's two sides.
pub const BINS: usize = 80;
/// Lags of the autocorrelation.
pub const LAGS: usize = 24;
/// How many errors have which share of the bound.
pub struct Histogram {
    pub bins: [u64; BINS],
    pub beyond: u64,
}

impl Histogram {
    pub fn new() -> Histogram {
        Histogram { bins: [0; BINS], beyond: 0 }
    }

    pub fn add(&mut self, values: &Values, scale: &Scale) {
        for (v, r) in values.original.iter().zip(&values.restored) {
            let share = scale.share(*v, *r, values.limit);
            if share.abs() <= 1.0 + 1e-9 {
                let bin = (0.5 * (share + 1.0) * BINS as f64) as usize;
                self.bins[bin.min(BINS - 1)] += 1;
            } else if !share.is_nan() {
                self.beyond += 1;
            }
        }
    }
}

/// How much the errors of values some way from each other have in common, along one axis.
pub struct Correlation {
    pub axis: usize,
    sums: [f64; LAGS],
    counts: [u64; LAGS],
    mean: f64,
    variance: f64,
}

impl Correlation {
    pub fn new(axis: usize, mean: f64, variance: f64) -> Correlation {
        Correlation { axis, sums: [0.0; LAGS], counts: [0; LAGS], mean, variance }
    }

    pub fn add(&mut self, values: &Values) {
        let len = values.count[self.axis] as usize;
        let step: usize = values.count[self.axis + 1..].iter().product::<u64>() as usize;
        let error = |i: usize| values.restored[i] - values.original[i] - self.mean;
        for outer in (0..values.original.len()).step_by((len * step).max(1)) {
            for lag in 1..=LAGS.min(len.saturating_sub(1)) {
                let (mut sum, mut count) = (0.0, 0);
                for i in outer..outer + (len - lag) * step {
                    let product = error(i) * error(i + lag * step);
                    if product.is_finite() {
                        sum += product;
                        count += 1;
                    }
                }
                self.sums[lag - 1] += sum;
                self.counts[lag - 1] += count;
            }
        }
    }

    /// For lag 1, 2, …; none if there are no errors.
    pub fn values(&self) -> Vec<f64> {
        let lags = self.sums.iter().zip(&self.counts).take_while(|(_, count)| **count > 0);
        let values = lags.map(|(sum, count)| sum / *count as f64 / self.variance);
        if self.variance > 0.0 { values.collect() } else { Vec::new() }
    }

    /// What of it chance may give: two standard deviations if neighbours had nothing in common.
    pub fn chance(&self) -> f64 {
        2.0 / (self.counts[0].max(1) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(count: &[u64], v: impl Fn(f64) -> f64, e: impl Fn(f64) -> f64) -> Values {
        let n = count.iter().product::<u64>();
        let original: Vec<f64> = (0..n).map(|i| v(i as f64)).collect();
        let restored = original.iter().zip(0..).map(|(v, i)| v + e(f64::from(i))).collect();
        Values { start: vec![0; count.len()], count: count.to_vec(), original, restored, limit: 1.0 }
    }

    #[test]
    fn errors_that_repeat_are_seen_along_their_axis() {
        // The error changes its sign from row to row, and not within one.
        let sign = |i: f64| if (i / 50.0).floor() % 2.0 == 0.0 { 0.5 } else { -0.5 };
        let part = values(&[40, 50], |_| 0.0, sign);
        let correlation = |axis| {
            let mut c = Correlation::new(axis, 0.0, 0.25);
            c.add(&part);
            c.values()
        };
        assert_eq!(correlation(1)[..3], [1.0, 1.0, 1.0]);
        assert_eq!(correlation(0)[..3], [-1.0, 1.0, -1.0]);
        assert!(Correlation::new(0, 0.0, 0.0).values().is_empty());
    }
}
