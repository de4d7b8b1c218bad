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

#[cfg(test)]
mod tests {
    use super::*;

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
