//! The structural similarity of two arrays (SSIM): the mean over windows of how well means, variances and covariance
//! agree, as Wang and others have it (2004), with the constants 0.01 and 0.03 of the value range.

/// Values along each side of a window; where an array is lower, the window is longer.
const SIDE: usize = 8;

/// Takes in two arrays part by part.
#[derive(Clone, Debug, Default)]
pub struct Ssim {
    range: f64,
    /// What every value is multiplied by, the range too.
    scale: f64,
    sum: f64,
    count: u64,
}

/// Sums over a window, of differences from its first value.
#[derive(Default)]
struct Window {
    count: f64,
    from: f64,
    a: f64,
    b: f64,
    aa: f64,
    bb: f64,
    ab: f64,
}

impl Ssim {
    /// Nothing yet, of a field of this value range.
    pub fn new(range: f64) -> Ssim {
        let scale = scale_of(range);
        Ssim { range: range * scale, scale, ..Ssim::default() }
    }

    /// Takes in a part of these dimensions, the slowest first, in windows of its two fastest. What is not finite on one
    /// side does not count.
    pub fn add(&mut self, dims: &[u64], a: &[f64], b: &[f64]) {
        let (height, width) = match dims {
            [.., height, width] => (*height as usize, *width as usize),
            _ => (1, a.len()),
        };
        let tall = SIDE.min(height.max(1));
        let wide = SIDE * SIDE / tall;
        for plane in (0..a.len()).step_by((height * width).max(1)) {
            for top in (0..height).step_by(tall) {
                for left in (0..width).step_by(wide) {
                    let mut window = Window::default();
                    for y in top..(top + tall).min(height) {
                        let row = plane + y * width;
                        let values = row + left..row + (left + wide).min(width);
                        let pairs = a[values.clone()].iter().zip(&b[values]);
                        pairs.for_each(|(a, b)| window.take(*a * self.scale, *b * self.scale));
                    }
                    self.sum += window.count * window.similarity(self.range);
                    self.count += window.count as u64;
                }
            }
        }
    }

    /// Takes in what another one of the same value range has.
    pub fn join(&mut self, part: &Ssim) {
        self.sum += part.sum;
        self.count += part.count;
    }

    /// Whether a value was taken in.
    pub fn any(&self) -> bool {
        self.count > 0
    }

    /// Up to 1, which is what equal arrays have, and those without a value.
    pub fn value(&self) -> f64 {
        if self.count == 0 { 1.0 } else { self.sum / self.count as f64 }
    }
}

impl Window {
    fn take(&mut self, a: f64, b: f64) {
        if !(a.is_finite() && b.is_finite()) {
            return;
        }
        if self.count == 0.0 {
            self.from = a;
        }
        let (a, b) = (a - self.from, b - self.from);
        self.count += 1.0;
        self.a += a;
        self.b += b;
        self.aa += a * a;
        self.bb += b * b;
        self.ab += a * b;
    }

    fn similarity(&self, range: f64) -> f64 {
        if self.count == 0.0 {
            return 1.0;
        }
        let mean = |sum: f64| sum / self.count;
        let (a, b) = (mean(self.a), mean(self.b));
        let spread = |squares: f64, a: f64, b: f64| mean(squares) - a * b;
        let (aa, bb, ab) = (spread(self.aa, a, a).max(0.0), spread(self.bb, b, b).max(0.0), spread(self.ab, a, b));
        let (a, b) = (a + self.from, b + self.from);
        let [c1, c2] = [0.01, 0.03].map(|k: f64| (k * range).powi(2));
        ratio(2.0 * a * b + c1, a * a + b * b + c1) * ratio(2.0 * ab + c2, aa + bb + c2)
    }
}

/// The power of two that brings a range near to 1, so that squares of values neither overflow nor vanish: exact for all
/// but the smallest.
pub fn scale_of(range: f64) -> f64 {
    match range > 0.0 {
        true => 2f64.powi(-(range.log2() as i32).clamp(-1000, 1000)),
        false => 1.0,
    }
}

/// Of two sums that are both zero, as in a field without a range, nothing differs.
fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { 1.0 } else { a / b }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ssim(dims: &[u64], range: f64, a: &[f64], b: &[f64]) -> f64 {
        let mut ssim = Ssim::new(range);
        ssim.add(dims, a, b);
        ssim.value()
    }

    #[test]
    fn one_for_the_same_and_less_for_others() {
        let a: Vec<f64> = (0..900).map(|i| (f64::from(i) * 0.3).sin()).collect();
        for dims in [&[900][..], &[30, 30], &[3, 30, 10], &[900, 1]] {
            assert_eq!(ssim(dims, 2.0, &a, &a), 1.0, "{dims:?}");
            let noisy = |size: f64| a.iter().zip(0..).map(|(v, i)| v + size * f64::from(i % 7 - 3)).collect::<Vec<_>>();
            let [near, far] = [0.01, 0.1].map(|size| ssim(dims, 2.0, &a, &noisy(size)));
            assert!(1.0 > near && near > far && far > 0.0, "{dims:?}: {near} {far}");
        }
        let mut gaps = a.clone();
        gaps[100] = f64::NAN;
        assert_eq!(ssim(&[30, 30], 2.0, &gaps, &a), 1.0);
        assert_eq!(ssim(&[3], 0.0, &[5.0; 3], &[5.0; 3]), 1.0);
        assert_eq!(Ssim::default().value(), 1.0);
        // Squares of these are no f64.
        let twice: Vec<f64> = a.iter().map(|v| 1.1 * v).collect();
        let usual = ssim(&[30, 30], 2.0, &a, &twice);
        for power in [-1000, -600, 600, 1000] {
            let times = |x: &[f64]| x.iter().map(|v| v * 2f64.powi(power)).collect::<Vec<_>>();
            assert_eq!(ssim(&[30, 30], 2f64.powi(power + 1), &times(&a), &times(&twice)), usual, "{power}");
        }
    }

    /// By the formula, of one window.
    #[test]
    fn a_window_by_hand() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 2.0, 5.0]);
        let (ma, mb) = (2.5, 2.625);
        let cov = (1.5 + 4.0 + 6.0 + 20.0) / 4.0 - ma * mb;
        let (va, vb) = (30.0 / 4.0 - ma * ma, (2.25 + 4.0 + 4.0 + 25.0) / 4.0 - mb * mb);
        let (c1, c2) = (0.0009, 0.0081);
        let wanted = (2.0 * ma * mb + c1) / (ma * ma + mb * mb + c1) * (2.0 * cov + c2) / (va + vb + c2);
        assert!((ssim(&[4], 3.0, &a, &b) - wanted).abs() < 1e-12);
    }
}
