//! The structural similarity of floating-point data (data SSIM) of Baker, Pinard and Hammerling, "On a Structural
//! Similarity Index Approach for Floating-Point Data" (IEEE TVCG), as ldcpy and ClimateBenchPress have it: each plane
//! is scaled to [0, 1] by what both sides span, rounded to 256 levels, and compared in Gaussian windows of 11 by 11
//! values, σ 1.5, both constants 1e-8. Windows that reach over the rim do not count.

/// Values from the middle of a window to its rim.
const REACH: usize = 5;
const WINDOW: usize = 2 * REACH + 1;
const SIGMA: f64 = 1.5;
/// Steps between the levels.
const STEPS: f64 = 255.0;
const CONSTANT: f64 = 1e-8;
/// Rows of windows that are looked at together, so that a large plane needs little memory besides its own.
const BAND: usize = 64;

/// A plane of both sides; what does not count is NaN.
struct Plane<'a> {
    height: usize,
    width: usize,
    original: &'a [f64],
    restored: &'a [f64],
}

/// Of all planes.
#[derive(Clone, Debug, Default)]
pub struct Dssim {
    worst: Option<f64>,
}

impl Dssim {
    /// Takes in the planes that an array of these dimensions, the slowest first, consists of.
    pub fn add(&mut self, dims: &[u64], original: &[f64], restored: &[f64]) {
        let [.., height, width] = *dims else { return };
        let (height, width) = (height as usize, width as usize);
        let elements = (height * width).max(1);
        for (original, restored) in original.chunks_exact(elements).zip(restored.chunks_exact(elements)) {
            let value = of_plane(&Plane { height, width, original, restored });
            self.worst = self.worst.into_iter().chain(value).reduce(f64::min);
        }
    }

    /// Takes in what another one has.
    pub fn join(&mut self, part: &Dssim) {
        self.worst = self.worst.into_iter().chain(part.worst).reduce(f64::min);
    }

    /// That of the worst plane; none where no plane has a window with a value in its middle.
    pub fn value(&self) -> Option<f64> {
        self.worst
    }
}

fn of_plane(plane: &Plane) -> Option<f64> {
    let (height, width) = (plane.height, plane.width);
    if height < WINDOW || width < WINDOW {
        return None;
    }
    let levels = Levels::of(plane);
    let (mut sum, mut count) = (0.0, 0u64);
    for top in (0..height - 2 * REACH).step_by(BAND) {
        let rows = top * width..(top + BAND + 2 * REACH).min(height) * width;
        let of_band = of_band(&levels, width, &plane.original[rows.clone()], &plane.restored[rows]);
        sum += of_band.0;
        count += of_band.1;
    }
    (count > 0).then(|| sum / count as f64)
}

/// The similarities of all windows of some rows, added up, and how many windows there are.
fn of_band(levels: &Levels, width: usize, original: &[f64], restored: &[f64]) -> (f64, u64) {
    let [a, b] = [original, restored].map(|side| side.iter().map(|v| levels.of_value(*v)).collect::<Vec<f64>>());
    let valid: Vec<f64> = a.iter().zip(&b).map(|(a, b)| f64::from(a.is_finite() && b.is_finite())).collect();
    let times = |x: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
        let pairs = a.iter().zip(&b).zip(&valid);
        smoothed(pairs.map(|((a, b), valid)| if *valid > 0.0 { x(*a, *b) } else { 0.0 }).collect(), width)
    };
    let all = [times(&|a, _| a), times(&|_, b| b), times(&|a, _| a * a), times(&|_, b| b * b), times(&|a, b| a * b)];
    let weight = smoothed(valid.clone(), width);
    let (mut sum, mut count) = (0.0, 0u64);
    let inner = width - 2 * REACH;
    for (n, weight) in weight.iter().enumerate() {
        if valid[(n / inner + REACH) * width + n % inner + REACH] == 0.0 {
            continue;
        }
        // Values that are missing in a window are left out of its means.
        let [ma, mb, aa, bb, ab] = [0, 1, 2, 3, 4].map(|i| all[i][n] / weight);
        let luminance = (2.0 * ma * mb + CONSTANT) / (ma * ma + mb * mb + CONSTANT);
        let structure = (2.0 * (ab - ma * mb) + CONSTANT) / (aa - ma * ma + bb - mb * mb + CONSTANT);
        sum += luminance * structure;
        count += 1;
    }
    (sum, count)
}

/// The levels from the smallest to the largest value of both sides of a plane.
struct Levels {
    from: f64,
    by: f64,
}

impl Levels {
    fn of(plane: &Plane) -> Levels {
        let finite = plane.original.iter().chain(plane.restored).filter(|v| v.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        match high > low {
            true => Levels { from: low, by: high - low },
            false if high != 0.0 => Levels { from: 0.0, by: high },
            false => Levels { from: 0.0, by: 1.0 },
        }
    }

    fn of_value(&self, v: f64) -> f64 {
        ((v - self.from) / self.by * STEPS).round_ties_even() / STEPS
    }
}

/// The weighted sums over all windows that lie inside.
fn smoothed(plane: Vec<f64>, width: usize) -> Vec<f64> {
    let weights: [f64; WINDOW] = std::array::from_fn(|i| {
        let x = i as f64 - REACH as f64;
        (-x * x / (2.0 * SIGMA * SIGMA)).exp()
    });
    let total: f64 = weights.iter().sum();
    let weights = weights.map(|w| w / total);
    let height = plane.len() / width;
    let inner = width - 2 * REACH;
    let mut across = vec![0.0; height * inner];
    for (row, out) in plane.chunks(width).zip(across.chunks_mut(inner)) {
        for (k, w) in weights.iter().enumerate() {
            out.iter_mut().zip(&row[k..]).for_each(|(out, v)| *out += w * v);
        }
    }
    let mut down = vec![0.0; (height - 2 * REACH) * inner];
    for (y, out) in down.chunks_mut(inner).enumerate() {
        for (k, w) in weights.iter().enumerate() {
            let row = &across[(y + k) * inner..(y + k + 1) * inner];
            out.iter_mut().zip(row).for_each(|(out, v)| *out += w * v);
        }
    }
    down
}
