//! Parts of a sample that are looked at, and the middle of many numbers.

use super::sample::Sample;

/// Values that are looked at.
const ENOUGH: usize = 1 << 20;

/// Contiguous parts of a sample's pieces, enough to judge by.
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

/// The middle one of enough numbers.
pub fn median(mut numbers: Vec<f64>) -> Option<f64> {
    (numbers.len() >= 64).then(|| quantile(&mut numbers, 0.5))
}

/// The number that such a share of the others, of which there are some, is below.
pub fn quantile(numbers: &mut [f64], share: f64) -> f64 {
    let place = ((numbers.len() - 1) as f64 * share) as usize;
    *numbers.select_nth_unstable_by(place, f64::total_cmp).1
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
    pub fn wave(n: usize) -> Vec<f64> {
        (0..n).map(|i| 10.0 * (i as f64 * 0.05).sin() + 3.0 * (i as f64 * 0.0031).cos()).collect()
    }
}
