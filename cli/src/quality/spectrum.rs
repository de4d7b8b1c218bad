//! What compression does to the spectrum, as ClimateBenchPress has it: the mean squared difference of the radially
//! averaged power spectra of both sides' planes.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

use super::plane::Plane;

/// Elements of planes that are transformed, about: of more planes each so manieth is.
const ENOUGH: u64 = 1 << 26;

/// Of all planes without a gap.
#[derive(Clone, Debug, Default)]
pub struct SpectralError {
    step: u64,
    seen: u64,
    sum: f64,
    count: u64,
}

impl SpectralError {
    /// Nothing yet, of so many planes of so many elements.
    pub fn new(planes: u64, elements: u64) -> SpectralError {
        let step = (planes.saturating_mul(elements) / ENOUGH).clamp(1, planes.max(1));
        SpectralError { step, ..SpectralError::default() }
    }

    /// The same for the planes from this one on.
    pub fn from(&self, plane: u64) -> SpectralError {
        SpectralError { step: self.step, seen: plane, ..SpectralError::default() }
    }

    /// Takes in what another one has.
    pub fn join(&mut self, part: &SpectralError) {
        self.sum += part.sum;
        self.count += part.count;
    }

    pub fn add(&mut self, plane: &Plane) {
        self.seen += 1;
        let has_gaps = || plane.original.iter().chain(plane.restored).any(|v| !v.is_finite());
        if !(self.seen - 1).is_multiple_of(self.step) || plane.height.min(plane.width) < 2 || has_gaps() {
            return;
        }
        let [a, b] = spectra(plane);
        if plane.original == plane.restored {
            self.count += a.len() as u64; // without the rounding of the transform
            return;
        }
        self.sum += a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        self.count += a.len() as u64;
    }

    /// None where no plane was looked at.
    pub fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// The mean power of both sides at each distance from the middle, in waves along the longer side.
fn spectra(plane: &Plane) -> [Vec<f64>; 2] {
    let (height, width) = (plane.height, plane.width);
    // Two real planes are one complex one.
    let both = plane.original.iter().zip(plane.restored);
    let mut rows: Vec<Complex<f64>> = both.map(|(v, r)| Complex::new(*v, *r)).collect();
    let mut planner = FftPlanner::new();
    planner.plan_fft_forward(width).process(&mut rows);
    let mut columns: Vec<Complex<f64>> = (0..height * width).map(|n| rows[n % height * width + n / height]).collect();
    planner.plan_fft_forward(height).process(&mut columns);
    let at = |i: usize, j: usize| columns[j * height + i];
    let longer = height.max(width);
    let mut sums = [vec![0.0; longer.div_ceil(2)], vec![0.0; longer.div_ceil(2)]];
    let mut counts = vec![0u64; longer.div_ceil(2)];
    for i in 0..height {
        for j in 0..width {
            let ring = distance(signed(i, height), signed(j, width)).round() as usize;
            if ring >= counts.len() {
                continue;
            }
            let (here, there) = (at(i, j), at((height - i) % height, (width - j) % width).conj());
            let power = |x: Complex<f64>| (0.5 * x).norm_sqr() / (height * width) as f64;
            sums[0][ring] += power(here + there);
            sums[1][ring] += power(here - there);
            counts[ring] += 1;
        }
    }
    sums.map(|side| side.iter().zip(&counts).map(|(sum, n)| sum / (*n).max(1) as f64).collect())
}

/// From 0 to two whole numbers. `hypot` would ask for glibc 2.35.
fn distance(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

/// A frequency, which is negative in the upper half.
fn signed(k: usize, n: usize) -> f64 {
    if k < n.div_ceil(2) { k as f64 } else { k as f64 - n as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn a_wave_has_its_ring_on_its_side() {
        let (height, width) = (12, 30);
        let wave = |waves: f64, size: f64| -> Vec<f64> {
            (0..height * width).map(|n| size * (TAU * waves * (n % width) as f64 / width as f64).cos()).collect()
        };
        let (original, restored) = (wave(3.0, 2.0), wave(7.0, 1.0));
        let plane = Plane { height, width, original: &original, restored: &restored };
        let [a, b] = spectra(&plane);
        let largest = |s: &[f64]| (0..s.len()).max_by(|i, j| s[*i].total_cmp(&s[*j])).unwrap();
        assert_eq!((a.len(), largest(&a), largest(&b)), (15, 3, 7));
        // All power is in two of the elements: N · size² / 4 each.
        let ring = |r: usize| {
            (0..height)
                .flat_map(|i| (0..width).map(move |j| (i, j)))
                .filter(|(i, j)| distance(signed(*i, height), signed(*j, width)).round() as usize == r)
                .count() as f64
        };
        assert!((a[3] - 2.0 * 360.0 / ring(3)).abs() < 1e-9, "{}", a[3]);
        let mut error = SpectralError::new(1, 360);
        error.add(&plane);
        assert!((error.value().unwrap() - (a[3] * a[3] + b[7] * b[7]) / 15.0).abs() < 1e-6);
        error = SpectralError::new(1, 360);
        error.add(&Plane { height, width, original: &original, restored: &original });
        assert_eq!((error.value(), SpectralError::new(0, 0).value()), (Some(0.0), None));
    }
}
