//! Where the information of a field runs out: the size of what its values do not tell about their neighbours.
//!
//! The n-th difference of a smooth signal shrinks as n grows, that of noise does not, once it is divided by √C(2n, n),
//! the factor by which differences amplify independent noise. So the estimates of orders 1, 2, 3 … fall while they see
//! signal, and level off at the noise. (`ladder` then asks the codec: below the floor each halving of the bound must
//! cost a whole bit for each value.) Medians make them blind to shocks and to regions that are rougher than the rest.
//! Values that were once rounded to a grid (packed integers, decimal text) carry nothing below half of its spacing
//! either.

use super::sample::Sample;

/// The highest order of differences.
const ORDERS: usize = 8;
/// From one order to the next, noise keeps its estimate up to the error of a median; signal loses more than this.
const LEVEL: f64 = 0.92;
/// Neighbours that differ nearly as much as values so far apart do not predict each other: nothing can be said then.
const UNRELATED: f64 = 0.5;
const FAR: usize = 256;
/// Values that are looked at.
const ENOUGH: usize = 1 << 20;

/// What is known of the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Floor {
    /// Its standard deviation.
    Noise(f64),
    /// Estimates still fell at the highest order: noise, if any, is below.
    Below(f64),
    /// Every value is a multiple of this, or nearly.
    Grid(f64),
    /// There is no noise above the rounding of the element type.
    Rounding,
    /// Neighbours do not predict each other.
    Unknown,
}

impl Floor {
    /// The absolute bound below which bits may be spent on noise: an error of its standard deviation, or half of the
    /// grid.
    pub fn bound(self) -> Option<f64> {
        match self {
            Floor::Noise(sigma) => Some(sigma),
            Floor::Grid(spacing) => Some(spacing / 2.0),
            Floor::Below(_) | Floor::Rounding | Floor::Unknown => None,
        }
    }
}

/// Estimates the floor of a sample.
pub fn floor(sample: &Sample) -> Floor {
    let share = ENOUGH / sample.pieces.len().max(1);
    let pieces: Vec<Vec<f64>> = sample
        .pieces
        .iter()
        .map(|p| {
            let len = p.len().min(share.max(1024) * sample.dtype.size());
            // The middle of a piece: its start may be a rim.
            let at = (p.len() - len) / 2 / sample.dtype.size() * sample.dtype.size();
            sample.values(&p[at..at + len])
        })
        .collect();
    let rounding = rounding(sample, &pieces);
    estimate(&pieces, rounding)
}

/// `rounding` is the spacing of the element type's numbers at the size of the values.
fn estimate(pieces: &[Vec<f64>], rounding: f64) -> Floor {
    let noise = of_differences(pieces);
    let grid = grid(pieces).filter(|spacing| *spacing > 4.0 * rounding);
    match (noise, grid) {
        (Floor::Unknown, None) => Floor::Unknown,
        // The grid is what noise there is, unless there is much more of it.
        (Floor::Noise(sigma), Some(spacing)) if sigma > spacing => Floor::Noise(sigma),
        (_, Some(spacing)) => Floor::Grid(spacing),
        (Floor::Noise(sigma) | Floor::Below(sigma), None) if sigma <= rounding => Floor::Rounding,
        (noise, None) => noise,
    }
}

fn of_differences(pieces: &[Vec<f64>]) -> Floor {
    let mut previous = f64::INFINITY;
    for order in 1..=ORDERS {
        let Some(sigma) = of_order(pieces, order) else { return Floor::Unknown };
        if sigma >= LEVEL * previous {
            return if unrelated(pieces) { Floor::Unknown } else { Floor::Noise(sigma.min(previous)) };
        }
        previous = sigma;
    }
    Floor::Below(previous)
}

/// Whether neighbours differ by about as much as values that are far apart.
fn unrelated(pieces: &[Vec<f64>]) -> bool {
    let median = |lag: usize| {
        let pairs = pieces.iter().flat_map(|p| p.iter().zip(p.iter().skip(1)).zip(p.iter().skip(lag)));
        let counting = pairs.filter(|((a, b), _)| a != b);
        median(counting.map(|((a, _), far)| (far - a).abs()).filter(|d| d.is_finite()).collect())
    };
    match (median(1), median(FAR)) {
        (Some(near), Some(far)) => near > UNRELATED * far,
        _ => true,
    }
}

/// The middle one of enough numbers.
fn median(mut numbers: Vec<f64>) -> Option<f64> {
    if numbers.len() < 64 {
        return None;
    }
    let middle = numbers.len() / 2;
    Some(*numbers.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// The share of all values that count and are not what the one before them is.
pub fn active_share(pieces: &[Vec<f64>]) -> f64 {
    let count: usize = pieces.iter().map(Vec::len).sum();
    let changes = |p: &Vec<f64>| p.windows(2).filter(|w| w[1].is_finite() && w[0] != w[1]).count();
    pieces.iter().map(changes).sum::<usize>() as f64 / count.max(1) as f64
}

/// The standard deviation of noise that would make the median difference of this order. Differences of zero are left
/// out, since fields have regions where they are constant.
fn of_order(pieces: &[Vec<f64>], order: usize) -> Option<f64> {
    let weights = weights(order);
    let mut differences = Vec::new();
    for values in pieces {
        let windows = values.windows(order + 1).filter(|w| w.iter().any(|v| *v != w[0]));
        let of = |w: &[f64]| w.iter().zip(&weights).map(|(v, c)| v * c).sum::<f64>().abs();
        differences.extend(windows.map(of).filter(|d| d.is_finite()));
    }
    let amplification = weights.iter().map(|c| c * c).sum::<f64>().sqrt();
    Some(median(differences)? / (0.674_489_75 * amplification))
}

/// The coefficients of a difference: those of binomials, with alternating signs.
fn weights(order: usize) -> Vec<f64> {
    let mut weights = vec![1.0];
    for _ in 0..order {
        let shifted = std::iter::once(0.0).chain(weights.iter().copied());
        weights = weights.iter().copied().chain([0.0]).zip(shifted).map(|(a, b)| a - b).collect();
    }
    weights
}

/// The spacing of the values, if they lie on a grid: far fewer different values than values, and their gaps multiples
/// of one.
fn grid(pieces: &[Vec<f64>]) -> Option<f64> {
    let mut values: Vec<f64> = pieces.iter().flatten().copied().filter(|v| v.is_finite()).collect();
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len();
    values.dedup();
    if values.len() < 3 || values.len() * 4 > count {
        return None;
    }
    let mut gaps: Vec<f64> = values.windows(2).map(|w| w[1] - w[0]).collect();
    gaps.sort_unstable_by(f64::total_cmp);
    // Rounding of the element type makes gaps uneven, so a small one stands for the smallest.
    let small = gaps[gaps.len() / 20];
    let single: Vec<f64> = gaps.iter().copied().filter(|g| *g < 1.5 * small).collect();
    let spacing = single.iter().sum::<f64>() / single.len() as f64;
    let fits = |gap: &&f64| (*gap / spacing - (*gap / spacing).round()).abs() < 0.1;
    let near = gaps.iter().take_while(|g| **g < 8.0 * spacing);
    let (fitting, all) = (near.clone().filter(fits).count(), near.count());
    (fitting * 10 >= all * 9).then_some(spacing)
}

/// The spacing of the element type's numbers at the median size of the values.
fn rounding(sample: &Sample, pieces: &[Vec<f64>]) -> f64 {
    let sizes = pieces.iter().flatten().map(|v| v.abs()).filter(|v| *v > 0.0).collect();
    let Some(size) = median(sizes) else { return 0.0 };
    let mantissa = match sample.dtype {
        sleek::DType::F64 => 52,
        sleek::DType::F32 => 23,
        sleek::DType::F16 => 10,
        _ => 7,
    };
    2f64.powi(size.log2().floor() as i32 - mantissa)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise of standard deviation 1, or nearly normal: the sum of twelve uniform numbers.
    fn noise(n: usize) -> Vec<f64> {
        let mut state = 1u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..n).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect()
    }

    fn wave(n: usize) -> Vec<f64> {
        (0..n).map(|i| 10.0 * (i as f64 * 0.05).sin() + 3.0 * (i as f64 * 0.0031).cos()).collect()
    }

    #[test]
    fn noise_on_a_signal_is_measured() {
        for sigma in [1e-1, 1e-3, 1e-6] {
            let values: Vec<f64> = wave(50_000).iter().zip(noise(50_000)).map(|(s, e)| s + sigma * e).collect();
            let Floor::Noise(found) = estimate(&[values], 0.0) else { panic!("no noise of {sigma}") };
            assert!((0.8..1.25).contains(&(found / sigma)), "{found} for {sigma}");
        }
    }

    #[test]
    fn what_is_no_noise() {
        let smooth = wave(50_000);
        assert!(matches!(estimate(std::slice::from_ref(&smooth), 0.0), Floor::Below(x) if x < 1e-6));
        assert_eq!(estimate(&[noise(50_000)], 0.0), Floor::Unknown);
        let single: Vec<f64> = smooth.iter().map(|v| f64::from(*v as f32)).collect();
        assert_eq!(estimate(&[single], 2f64.powi(-20)), Floor::Rounding);
        assert_eq!(estimate(&[vec![1.0; 1000]], 1e-7), Floor::Unknown);
        assert_eq!(active_share(&[vec![1.0, 1.0, 2.0, f64::NAN]]), 0.25);
        assert_eq!(estimate(&[], 0.0), Floor::Unknown);
    }

    #[test]
    fn a_grid_is_found() {
        let rounded: Vec<f64> = wave(50_000).iter().map(|v| (v / 0.01).round() * 0.01).collect();
        let Floor::Grid(spacing) = estimate(&[rounded], 1e-15) else { panic!("no grid") };
        assert!((spacing - 0.01).abs() < 1e-9, "{spacing}");
    }

    #[test]
    fn differences_have_binomial_weights() {
        assert_eq!(weights(1), [1.0, -1.0]);
        assert_eq!(weights(3), [1.0, -3.0, 3.0, -1.0]);
    }
}
