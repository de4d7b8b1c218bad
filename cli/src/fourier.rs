//! The Fourier transform.

use std::f64::consts::TAU;

/// The discrete Fourier transform of as many numbers as a power of two.
pub fn transform(re: &mut [f64], im: &mut [f64]) {
    let n = re.len();
    for i in 0..n {
        let j = i.reverse_bits() >> (usize::BITS - n.ilog2());
        if i < j {
            re.swap(i, j);
            im.swap(i, j);
        }
    }
    let mut half = 1;
    while half < n {
        for k in 0..half {
            let (s, c) = (-TAU * k as f64 / (2 * half) as f64).sin_cos();
            for i in (k..n).step_by(2 * half) {
                let j = i + half;
                let (x, y) = (re[j] * c - im[j] * s, re[j] * s + im[j] * c);
                (re[j], im[j]) = (re[i] - x, im[i] - y);
                (re[i], im[i]) = (re[i] + x, im[i] + y);
            }
        }
        half *= 2;
    }
}

/// The transform of any so many numbers: as a convolution with a chirp (Bluestein), where they are no power of two.
pub struct Fourier {
    n: usize,
    /// e^(-πi k²/n), and the transform of what it is convolved with.
    chirp: Vec<(f64, f64)>,
    kernel: (Vec<f64>, Vec<f64>),
}

impl Fourier {
    pub fn new(n: usize) -> Fourier {
        if n.is_power_of_two() {
            return Fourier { n, chirp: Vec::new(), kernel: Default::default() };
        }
        // k² modulo 2n, so that the angle keeps its digits.
        let angle = |k: usize| TAU / 2.0 * ((k as u128 * k as u128) % (2 * n as u128)) as f64 / n as f64;
        let chirp: Vec<(f64, f64)> = (0..n).map(|k| (angle(k).cos(), -angle(k).sin())).collect();
        let room = (2 * n - 1).next_power_of_two();
        let (mut re, mut im) = (vec![0.0; room], vec![0.0; room]);
        for (k, (x, y)) in chirp.iter().enumerate() {
            for at in [k, (room - k) % room] {
                (re[at], im[at]) = (*x, -y);
            }
        }
        transform(&mut re, &mut im);
        Fourier { n, chirp, kernel: (re, im) }
    }

    /// Of exactly so many numbers.
    pub fn transform(&self, re: &mut [f64], im: &mut [f64]) {
        assert_eq!((re.len(), im.len()), (self.n, self.n));
        if self.n < 2 {
            return;
        }
        if self.chirp.is_empty() {
            return transform(re, im);
        }
        let room = self.kernel.0.len();
        let (mut x, mut y) = (vec![0.0; room], vec![0.0; room]);
        for (k, (c, s)) in self.chirp.iter().enumerate() {
            (x[k], y[k]) = (re[k] * c - im[k] * s, re[k] * s + im[k] * c);
        }
        transform(&mut x, &mut y);
        for k in 0..room {
            let (c, s) = (self.kernel.0[k], self.kernel.1[k]);
            // Its conjugate: the transform back is that of conjugates.
            (x[k], y[k]) = (x[k] * c - y[k] * s, -(x[k] * s + y[k] * c));
        }
        transform(&mut x, &mut y);
        for (k, (c, s)) in self.chirp.iter().enumerate() {
            let (x, y) = (x[k] / room as f64, -y[k] / room as f64);
            (re[k], im[k]) = (x * c - y * s, x * s + y * c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length() {
        for n in [1, 2, 3, 7, 12, 16, 45, 97] {
            let values: Vec<f64> = (0..n).map(|i| f64::from(i * i % 7)).collect();
            let (mut re, mut im) = (values.clone(), values.iter().rev().copied().collect::<Vec<_>>());
            let other = im.clone();
            Fourier::new(n as usize).transform(&mut re, &mut im);
            for k in 0..n as usize {
                let angle = |i: usize| -TAU * (i * k) as f64 / f64::from(n);
                let sum = |of: &dyn Fn(usize) -> f64| (0..n as usize).map(of).sum::<f64>();
                let x = sum(&|i| values[i] * angle(i).cos() - other[i] * angle(i).sin());
                let y = sum(&|i| values[i] * angle(i).sin() + other[i] * angle(i).cos());
                assert!((re[k] - x).abs() < 1e-9 && (im[k] - y).abs() < 1e-9, "{n} {k}");
            }
        }
    }

    #[test]
    fn the_transform_is_the_sum_that_it_stands_for() {
        let values: Vec<f64> = (0..16).map(|i| f64::from(i * i % 7)).collect();
        let (mut re, mut im) = (values.clone(), vec![0.0; 16]);
        transform(&mut re, &mut im);
        for k in 0..16 {
            let angle = |i: usize| -TAU * (i * k) as f64 / 16.0;
            let x: f64 = values.iter().enumerate().map(|(i, v)| v * angle(i).cos()).sum();
            let y: f64 = values.iter().enumerate().map(|(i, v)| v * angle(i).sin()).sum();
            assert!((re[k] - x).abs() < 1e-12 && (im[k] - y).abs() < 1e-12, "{k}");
        }
    }
}
