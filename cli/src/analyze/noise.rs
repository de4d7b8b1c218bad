//! Where the information of a field runs out: the size of what its values do not tell about their neighbours.
//!
//! Two estimates are made that share nothing but the data, and count only where they agree. In the line of the values:
//! the n-th difference of a smooth signal shrinks as n grows, that of noise does not, once it is divided by √C(2n, n),
//! the factor by which differences amplify independent noise. So the estimates of orders 1, 2, 3 … fall while they see
//! signal, and level off at the noise. Medians make them blind to shocks and to regions that are rougher than the rest.
//! In the spectrum: the power of white noise is the same at every wavelength, so among the shortest it must be flat
//! (that of a random walk falls by a third there), and its mean must give the same standard deviation as the medians,
//! which it does for noise that is near normal. Last, the noise must have one size: where some parts have much less of
//! it than others, no absolute bound is right for both. (`ladder` then asks the codec: below the floor each halving of
//! the bound must cost a whole bit for each value.)

use super::sample::Sample;
use super::spectrum::white_power;

/// The highest order of differences.
const ORDERS: usize = 8;
/// From one order to the next, noise keeps its estimate up to the error of a median; signal loses more than this.
const LEVEL: f64 = 0.92;
/// By so much may power differ among the shortest wavelengths and be called flat. A random walk has 1.4.
const FLAT: f64 = 1.2;
/// The two estimates agree within this factor.
const AGREE: f64 = 1.25;
/// Noise of one size differs by less than this between the quietest tenth and the loudest tenth of the windows.
const EVEN: f64 = 4.0;
/// Values of a window, in which noise is measured by itself.
pub const WINDOW: usize = 256;
/// So many windows at least.
const FEW_WINDOWS: usize = 8;
/// Values that are looked at.
const ENOUGH: usize = 1 << 20;

/// What is known of the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Floor {
    /// Its standard deviation.
    Noise(f64),
    /// Estimates still fell at the highest order: noise, if any, is below.
    Below(f64),
    /// Differences level off, but power among the shortest wavelengths differs by this factor: it is no white noise.
    Coloured(f64),
    /// The estimates of differences and of the spectrum.
    Disputed(f64, f64),
    /// The noise of the quietest and of the loudest tenth.
    Uneven(f64, f64),
    /// There is no noise above the rounding of the element type.
    Rounding,
    /// There are too few values that vary.
    Unknown,
}

impl Floor {
    /// The standard deviation of noise that is sure.
    pub fn sigma(self) -> Option<f64> {
        match self {
            Floor::Noise(sigma) => Some(sigma),
            _ => None,
        }
    }
}

/// Contiguous parts of a sample's pieces, enough to estimate from.
pub fn parts(sample: &Sample) -> Vec<Vec<f64>> {
    let share = ENOUGH / sample.pieces.len().max(1);
    let part = |p: &Vec<u8>| {
        let len = p.len().min(share.max(1024) * sample.dtype.size());
        // The middle of a piece: its start may be a rim.
        let at = (p.len() - len) / 2 / sample.dtype.size() * sample.dtype.size();
        sample.values(&p[at..at + len])
    };
    sample.pieces.iter().map(part).collect()
}

/// Estimates the floor. `rounding` is the spacing of the element type's numbers at the size of the values.
pub fn floor(parts: &[Vec<f64>], rounding: f64) -> Floor {
    match of_differences(parts) {
        Floor::Noise(sigma) | Floor::Below(sigma) if sigma <= 2.0 * rounding => Floor::Rounding,
        Floor::Noise(sigma) => confirmed(parts, sigma),
        other => other,
    }
}

/// Holds what the differences say against the spectrum, and the windows against each other.
fn confirmed(parts: &[Vec<f64>], sigma: f64) -> Floor {
    let windows = parts.iter().flat_map(|p| p.as_chunks::<WINDOW>().0);
    let varying = windows.filter(|w| w.iter().all(|v| v.is_finite()) && w.iter().any(|v| *v != w[0]));
    let (mut bands, mut in_spectrum, mut in_line) = ([0.0; 4], Vec::new(), Vec::new());
    for window in varying {
        let power = white_power(window);
        let mean = power.iter().sum::<f64>() / 4.0;
        let Some(local) = of_order(&[window.to_vec()], ORDERS) else { continue };
        if mean <= 0.0 {
            continue;
        }
        // Each window counts the same, however loud it is.
        bands.iter_mut().zip(power).for_each(|(band, p)| *band += p / mean);
        in_spectrum.push(mean.sqrt());
        in_line.push(local);
    }
    if in_line.len() < FEW_WINDOWS {
        return Floor::Unknown;
    }
    let tilt = bands.iter().copied().fold(0.0, f64::max) / bands.iter().copied().fold(f64::INFINITY, f64::min);
    let spectral = quantile(&mut in_spectrum, 0.5);
    let (quiet, loud) = (quantile(&mut in_line, 0.1), quantile(&mut in_line, 0.9));
    if tilt > FLAT {
        Floor::Coloured(tilt)
    } else if loud > EVEN * quiet {
        Floor::Uneven(quiet, loud)
    } else if !(1.0 / AGREE..AGREE).contains(&(spectral / sigma)) {
        Floor::Disputed(sigma, spectral)
    } else {
        Floor::Noise(sigma.min(spectral))
    }
}

fn of_differences(parts: &[Vec<f64>]) -> Floor {
    let mut previous = f64::INFINITY;
    for order in 1..=ORDERS {
        let Some(sigma) = of_order(parts, order) else { return Floor::Unknown };
        if sigma >= LEVEL * previous {
            return Floor::Noise(sigma.min(previous));
        }
        previous = sigma;
    }
    Floor::Below(previous)
}

/// The middle one of enough numbers.
pub fn median(mut numbers: Vec<f64>) -> Option<f64> {
    (numbers.len() >= 64).then(|| quantile(&mut numbers, 0.5))
}

/// The number that such a share of the others, of which there are some, is below.
pub fn quantile(numbers: &mut [f64], share: f64) -> f64 {
    let place = ((numbers.len() - 1) as f64 * share) as usize;
    *numbers.select_nth_unstable_by(place, f64::total_cmp).1
}

/// The share of all values that count and are not what the one before them is.
pub fn active_share(pieces: &[Vec<f64>]) -> f64 {
    let count: usize = pieces.iter().map(Vec::len).sum();
    let changes = |p: &Vec<f64>| p.windows(2).filter(|w| w[1].is_finite() && w[0] != w[1]).count();
    pieces.iter().map(changes).sum::<usize>() as f64 / count.max(1) as f64
}

/// The standard deviation of noise that would make the median difference of this order. Differences of zero are left
/// out, since fields have regions where they are constant.
fn of_order(parts: &[Vec<f64>], order: usize) -> Option<f64> {
    let weights = weights(order);
    let mut differences = Vec::new();
    for values in parts {
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

/// The spacing of the element type's numbers at the median size of the values.
pub fn rounding(sample: &Sample, parts: &[Vec<f64>]) -> f64 {
    let sizes = parts.iter().flatten().map(|v| v.abs()).filter(|v| *v > 0.0).collect();
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
pub mod tests {
    use super::*;

    /// Noise of standard deviation 1, or nearly normal: the sum of twelve uniform numbers.
    pub fn noise(n: usize) -> Vec<f64> {
        let mut state = 1u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..n).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect()
    }

    pub fn wave(n: usize) -> Vec<f64> {
        (0..n).map(|i| 10.0 * (i as f64 * 0.05).sin() + 3.0 * (i as f64 * 0.0031).cos()).collect()
    }

    fn noisy(n: usize, sigma: f64) -> Vec<f64> {
        wave(n).iter().zip(noise(n)).map(|(s, e)| s + sigma * e).collect()
    }

    #[test]
    fn noise_on_a_signal_is_measured() {
        for sigma in [1e-1, 1e-3, 1e-6] {
            let Floor::Noise(found) = floor(&[noisy(50_000, sigma)], 0.0) else { panic!("no noise of {sigma}") };
            assert!((0.8..1.25).contains(&(found / sigma)), "{found} for {sigma}");
        }
    }

    #[test]
    fn what_is_no_noise() {
        let smooth = wave(50_000);
        assert!(matches!(floor(std::slice::from_ref(&smooth), 0.0), Floor::Below(x) if x < 1e-6));
        let single: Vec<f64> = smooth.iter().map(|v| f64::from(*v as f32)).collect();
        assert_eq!(floor(&[single], 2f64.powi(-20)), Floor::Rounding);
        assert_eq!(floor(&[vec![1.0; 1000]], 1e-7), Floor::Unknown);
        assert_eq!(active_share(&[vec![1.0, 1.0, 2.0, f64::NAN]]), 0.25);
        assert_eq!(floor(&[], 0.0), Floor::Unknown);
    }

    #[test]
    fn what_is_no_noise_of_one_size() {
        let steps = noise(50_000);
        let walk: Vec<f64> = steps
            .iter()
            .scan(0.0, |sum, step| {
                *sum += step;
                Some(*sum)
            })
            .collect();
        assert!(matches!(floor(&[walk], 0.0), Floor::Coloured(tilt) if (1.3..1.6).contains(&tilt)));
        let two = [noisy(25_000, 1e-3), noisy(25_000, 1e-1)].concat();
        assert!(matches!(floor(&[two], 0.0), Floor::Uneven(quiet, loud) if quiet < 2e-3 && loud > 5e-2));
        // Rare and large, instead of normal.
        let rare: Vec<f64> = wave(50_000).iter().zip(&steps).map(|(s, e)| s + 1e-4 * e * e * e * e * e).collect();
        assert!(matches!(floor(&[rare], 0.0), Floor::Disputed(..)));
    }

    #[test]
    fn differences_have_binomial_weights() {
        assert_eq!(weights(1), [1.0, -1.0]);
        assert_eq!(weights(3), [1.0, -3.0, 3.0, -1.0]);
    }
}
