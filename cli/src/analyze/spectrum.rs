//! How much compression changes the power spectrum along the fastest dimension.

use std::f64::consts::TAU;

use crate::fourier::transform;

/// Values of a window.
const WINDOW: usize = 512;
/// Windows that are looked at in each piece.
const WINDOWS: usize = 32;
/// Octaves of wavelengths that a window resolves, from two values to half of the window.
const OCTAVES: usize = 8;

/// Power in each octave, before and after.
#[derive(Default)]
pub struct Spectrum {
    before: [f64; OCTAVES],
    after: [f64; OCTAVES],
}

impl Spectrum {
    /// Takes in a piece. Windows with a value that does not count are left out.
    pub fn add(&mut self, before: &[f64], after: &[f64]) {
        let windows = before.len() / WINDOW;
        let step = windows.div_ceil(WINDOWS).max(1);
        for w in (0..windows).step_by(step) {
            let at = w * WINDOW..(w + 1) * WINDOW;
            let (a, b) = (&before[at.clone()], &after[at]);
            if a.iter().all(|v| v.is_finite()) && b.iter().all(|v| v.is_finite()) {
                add_power(&mut self.before, a);
                add_power(&mut self.after, b);
            }
        }
    }

    /// The largest relative change of power in an octave; `None` if there was no window.
    pub fn change(&self) -> Option<f64> {
        let octaves = self.before.iter().zip(&self.after).filter(|(b, _)| **b > 0.0);
        octaves.map(|(b, a)| (a / b - 1.0).abs()).reduce(f64::max)
    }
}

fn add_power(octaves: &mut [f64; OCTAVES], values: &[f64]) {
    let mean = values.iter().sum::<f64>() / WINDOW as f64;
    // A window that falls to zero at its ends keeps their jump out of the spectrum.
    let taper = |i: usize| 0.5 - 0.5 * (TAU * i as f64 / WINDOW as f64).cos();
    let mut re: Vec<f64> = values.iter().enumerate().map(|(i, v)| (v - mean) * taper(i)).collect();
    let mut im = vec![0.0; WINDOW];
    transform(&mut re, &mut im);
    for k in 1..WINDOW / 2 {
        octaves[k.ilog2() as usize] += re[k] * re[k] + im[k] * im[k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_shows_where_it_is() {
        let signal: Vec<f64> = (0..4096).map(|i| (i as f64 * 0.1).sin()).collect();
        let louder: Vec<f64> = signal.iter().map(|v| v * 1.1).collect();
        let mut same = Spectrum::default();
        same.add(&signal, &signal);
        assert_eq!(same.change(), Some(0.0));
        let mut changed = Spectrum::default();
        changed.add(&signal, &louder);
        assert!((changed.change().unwrap() - 0.21).abs() < 1e-9);
        assert_eq!(Spectrum::default().change(), None);
    }
}
