//! The shape of the errors: how they are spread, how they hang together, and what they do to the spectrum.

use std::f64::consts::TAU;

use super::figures::Scale;
use crate::fourier::transform;
use crate::verify::pair::Values;

/// Bins of the histogram between the bound's two sides.
pub const BINS: usize = 80;
/// Lags of the autocorrelation.
pub const LAGS: usize = 24;
/// Values of a window of the spectrum, at most and at least.
const WINDOW: usize = 512;
const SMALL_WINDOW: usize = 16;

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

/// Mean power by wavelength, along the fastest dimension: of the field, of its restored form, and of the error.
pub struct Spectra {
    window: usize,
    pub original: Vec<f64>,
    pub restored: Vec<f64>,
    pub error: Vec<f64>,
    windows: u64,
}

impl Spectra {
    /// For a field of this shape.
    pub fn new(dims: &[u64]) -> Spectra {
        let power_of_two = |n: u64| if n == 0 { 0 } else { 1usize << n.ilog2() };
        let row = power_of_two(dims.last().copied().unwrap_or(0).min(WINDOW as u64));
        // Rows too short to tell follow each other.
        let window =
            if row >= SMALL_WINDOW { row } else { power_of_two(dims.iter().product::<u64>().min(WINDOW as u64)) };
        let none = vec![0.0; window / 2];
        Spectra { window, original: none.clone(), restored: none.clone(), error: none, windows: 0 }
    }

    /// Takes in the windows of a part that have no gap.
    pub fn add(&mut self, values: &Values) {
        if self.window < SMALL_WINDOW {
            return;
        }
        let row = values.count.last().map_or(1, |len| *len as usize).max(1);
        let row = if row >= self.window { row } else { values.original.len() };
        for start in (0..values.original.len()).step_by(row) {
            let end = (start + row).min(values.original.len());
            for at in (start..end).step_by(self.window).take_while(|at| at + self.window <= end) {
                let window = at..at + self.window;
                let (v, r) = (&values.original[window.clone()], &values.restored[window]);
                if v.iter().all(|v| v.is_finite()) {
                    let error: Vec<f64> = v.iter().zip(r).map(|(v, r)| r - v).collect();
                    add_power(&mut self.original, v);
                    add_power(&mut self.restored, r);
                    add_power(&mut self.error, &error);
                    self.windows += 1;
                }
            }
        }
    }

    /// Frequencies in cycles per value with the power there; none if no window was without gap.
    pub fn curve(&self, power: &[f64]) -> Vec<(f64, f64)> {
        if self.windows == 0 {
            return Vec::new();
        }
        let each = power.iter().enumerate().skip(1);
        each.map(|(k, p)| (k as f64 / self.window as f64, p / self.windows as f64)).collect()
    }

    /// From which wavelength on, in values, the error has more power than the field; `None` if it has nowhere.
    pub fn lost_below(&self) -> Option<f64> {
        let lost = self.original.iter().zip(&self.error).skip(1).rposition(|(v, e)| e < v);
        match lost {
            _ if self.windows == 0 => None,
            Some(last) if last + 2 >= self.original.len() => None,
            Some(last) => Some(self.window as f64 / (last + 2) as f64),
            None => Some(self.window as f64),
        }
    }
}

fn add_power(bins: &mut [f64], values: &[f64]) {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    // A window that falls to zero at its ends keeps their jump out of the spectrum.
    let taper = |i: usize| 0.5 - 0.5 * (TAU * i as f64 / n as f64).cos();
    let mut re: Vec<f64> = values.iter().enumerate().map(|(i, v)| (v - mean) * taper(i)).collect();
    let mut im = vec![0.0; n];
    transform(&mut re, &mut im);
    for (k, bin) in bins.iter_mut().enumerate().skip(1) {
        *bin += re[k] * re[k] + im[k] * im[k];
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

    #[test]
    fn a_wave_and_noise_have_their_places() {
        let part = values(&[8, 512], |i| (TAU * i / 32.0).sin(), |i| 1e-3 * (TAU * i / 4.0).sin());
        let mut spectra = Spectra::new(&[8, 512]);
        spectra.add(&part);
        let largest = |power: &[f64]| {
            let curve = spectra.curve(power);
            curve.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0
        };
        assert_eq!((largest(&spectra.original), largest(&spectra.error)), (1.0 / 32.0, 0.25));
        let mut short = Spectra::new(&[100, 3]);
        short.add(&values(&[100, 3], |i| i, |_| 0.0));
        assert!(!short.curve(&short.original).is_empty());
        assert!(Spectra::new(&[3]).curve(&[]).is_empty());
    }
}
