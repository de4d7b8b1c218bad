//! What a sample looks like before anything is measured: how many digits the values have, and how far magnitudes reach.

use super::parts::quantile;
use super::sample::Sample;

/// Magnitudes (without the smallest and the largest twentieth) further apart than this are coefficients that decay.
const DECADES: f64 = 1e4;
/// Digits behind the point that are looked for.
const DECIMALS: i32 = 12;
/// A value tells of a grid if it could lie in so many places between two points of it.
const PLACES: f64 = 32.0;
/// So many bits at the end of all mantissas that tell nothing were rounded away.
const IDLE: u32 = 3;
/// So many such values are asked for.
const FEW: usize = 256;

/// The values are multiples of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    pub spacing: f64,
    /// The digits behind the point, where that is why.
    pub decimals: Option<i32>,
}

impl Grid {
    /// A bound under which rounding to the grid brings every value back.
    pub fn bound(self) -> f64 {
        0.4 * self.spacing
    }
}

#[derive(Clone, Debug)]
pub struct Seen {
    pub grid: Option<Grid>,
    /// The largest by the smallest of the magnitudes, without a twentieth of them at either end.
    pub decades: f64,
    /// The share of values that are missing, NaN or infinite.
    pub missing: f64,
    /// How many bits of each mantissa are in use, of how many there are, if the others were rounded away.
    pub bits: Option<(u32, u32)>,
}

impl Seen {
    /// Looks at the sample and at `parts` of it; `rounding` is the spacing of its type's numbers at their size.
    pub fn new(sample: &Sample, parts: &[Vec<f64>], rounding: f64) -> Seen {
        let whole: Vec<Vec<f64>> = sample.pieces.iter().map(|p| sample.values(p)).collect();
        let count: usize = whole.iter().map(Vec::len).sum();
        let finite = whole.iter().flatten().filter(|v| v.is_finite()).count();
        let grid = grid(&whole, |v| spacing_at(sample.dtype, v), rounding);
        let changes = parts.iter().flat_map(|part| part.windows(2)).filter(|pair| pair[0] != pair[1]);
        let bits = bits_in_use(sample.dtype, &whole)
            .filter(|_| grid.is_none_or(|grid| grid.decimals.is_none()) && changes.take(FEW).count() == FEW);
        Seen { grid, bits, decades: decades(parts), missing: 1.0 - finite as f64 / count.max(1) as f64 }
    }

    /// What is to be said of values that were rounded before.
    pub fn rounded(&self) -> Option<String> {
        let (used, all) = self.bits?;
        Some(format!(
            "{used} of {all} bits of each mantissa are in use, so the values were rounded before: lossless compression \
             takes the others for little, with --profile small for the least"
        ))
    }

    /// Why one absolute bound may not suit all values.
    pub fn caution(&self) -> Option<String> {
        (self.decades > DECADES).then(|| {
            format!(
                "magnitudes reach over {:.0} decades, where small values may matter as much as large ones; look at \
                 the bounds relative to each value",
                self.decades.log10()
            )
        })
    }

    pub fn describe(&self) -> Vec<String> {
        let mut words = Vec::new();
        match self.grid {
            Some(Grid { decimals: Some(0), .. }) => words.push("whole numbers".into()),
            Some(Grid { decimals: Some(1), .. }) => words.push("decimals of 1 digit".into()),
            Some(Grid { decimals: Some(k), .. }) if k > 0 => words.push(format!("decimals of {k} digits")),
            Some(Grid { spacing, .. }) => words.push(format!("multiples of {spacing:.4e}")),
            None => {}
        }
        if let Some((used, all)) = self.bits {
            words.push(format!("{used} of {all} bits in use"));
        }
        if self.decades > DECADES {
            words.push(format!("magnitudes over {:.0} decades", self.decades.log10()));
        }
        if self.missing > 0.0 {
            words.push(format!("{:.2} % missing", 100.0 * self.missing));
        }
        words
    }
}

/// The bits of mantissas that are in use, and all there are; none where few are idle. Bits that are all set, as bit
/// grooming leaves them in every second value, tell nothing either.
fn bits_in_use(dtype: sleek::DType, parts: &[Vec<f64>]) -> Option<(u32, u32)> {
    let all = match dtype {
        sleek::DType::F64 => 52,
        sleek::DType::F32 => 23,
        _ => return None,
    };
    let idle = |v: &f64| {
        let mantissa = v.to_bits() >> (52 - all);
        mantissa.trailing_zeros().max(mantissa.trailing_ones()).min(all)
    };
    let idle = parts.iter().flatten().filter(|v| v.is_normal()).map(idle).min()?;
    (idle >= IDLE).then_some((all - idle, all))
}

fn decades(parts: &[Vec<f64>]) -> f64 {
    let magnitudes = parts.iter().flatten().map(|v| v.abs());
    let mut magnitudes: Vec<f64> = magnitudes.filter(|m| *m > 0.0 && m.is_finite()).collect();
    if magnitudes.len() < FEW {
        return 1.0;
    }
    quantile(&mut magnitudes, 0.95) / quantile(&mut magnitudes, 0.05)
}

/// The spacing of the element type's numbers at a value.
pub fn spacing_at(dtype: sleek::DType, value: f64) -> f64 {
    let (mantissa, least) = match dtype {
        sleek::DType::F64 => (52, -1074),
        sleek::DType::F32 => (23, -149),
        sleek::DType::F16 => (10, -24),
        _ => (7, -133),
    };
    if value == 0.0 { 2f64.powi(least) } else { 2f64.powi((value.abs().log2().floor() as i32 - mantissa).max(least)) }
}

/// The coarsest grid that all values lie on: fractions of decimal digits, or multiples of some other number.
fn grid(parts: &[Vec<f64>], spacing_at: impl Fn(f64) -> f64, rounding: f64) -> Option<Grid> {
    let other = lattice(parts, rounding).map(|spacing| Grid { spacing, decimals: None });
    let decimal = (-3..=DECIMALS).find(|k| fits(parts, *k, &spacing_at));
    let decimal = decimal.map(|k| Grid { spacing: power_of_ten(-k), decimals: Some(k) });
    match (decimal, other) {
        // Multiples of 0.002 are decimals too.
        (Some(d), Some(o)) if o.spacing > 1.5 * d.spacing => Some(o),
        (Some(d), _) => Some(d),
        (None, other) => other,
    }
}

fn power_of_ten(k: i32) -> f64 {
    format!("1e{k}").parse().unwrap_or(f64::NAN)
}

/// Whether every value is a decimal of `k` digits behind the point, up to the rounding of its type, and enough of them
/// could be something else.
fn fits(parts: &[Vec<f64>], k: i32, spacing_at: &impl Fn(f64) -> f64) -> bool {
    let unit = power_of_ten(-k);
    let mut telling = 0;
    for v in parts.iter().flatten().filter(|v| v.is_finite() && **v != 0.0) {
        let spacing = spacing_at(*v);
        if spacing * PLACES > unit {
            continue;
        }
        if (v - (v / unit).round() * unit).abs() > 2.0 * spacing {
            return false;
        }
        telling += 1;
    }
    telling >= FEW
}

/// The spacing of the values, if all lie on a grid: far fewer different values than values, and all of them a whole
/// number of steps from the smallest.
fn lattice(parts: &[Vec<f64>], rounding: f64) -> Option<f64> {
    let mut values: Vec<f64> = parts.iter().flatten().copied().filter(|v| v.is_finite()).collect();
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len();
    values.dedup();
    if values.len() < 3 || values.len() * 4 > count {
        return None;
    }
    let mut gaps: Vec<f64> = values.windows(2).map(|w| w[1] - w[0]).filter(|g| *g > 4.0 * rounding).collect();
    if gaps.len() < 2 {
        return None;
    }
    gaps.sort_unstable_by(f64::total_cmp);
    let small = gaps[gaps.len() / 20];
    let single: Vec<f64> = gaps.iter().copied().take_while(|g| *g < 1.5 * small).collect();
    let (first, last) = (values[0], values[values.len() - 1]);
    let rough = single.iter().sum::<f64>() / single.len() as f64;
    // From longer and longer stretches, since a small error of the spacing adds up.
    let mut spacing = rough;
    for v in &values {
        let steps = ((v - first) / spacing).round();
        let stretch = (v - first) / steps;
        if steps > 0.0 && (stretch / spacing - 1.0).abs() < 0.2 / steps.max(1.0) {
            spacing = stretch;
        }
    }
    let is_on = |v: &f64| ((v - first) / spacing - ((v - first) / spacing).round()).abs() < 0.2;
    let whole = (last - first) / spacing;
    (spacing > 4.0 * rounding && whole < 1e9 && values.iter().all(is_on)).then_some(spacing)
}

#[cfg(test)]
mod tests {
    use super::super::parts::tests::wave;
    use super::*;
    use sleek::DType;

    fn grid_of(values: Vec<f64>, dtype: DType) -> Option<Grid> {
        grid(&[values], |v| spacing_at(dtype, v), 1e-15)
    }

    #[test]
    fn digits_are_counted() {
        for k in 1..=6 {
            let unit = power_of_ten(-k);
            let decimals: Vec<f64> = wave(20_000).iter().map(|v| (v / unit).round() / unit.recip()).collect();
            let found = grid_of(decimals, DType::F64).unwrap();
            assert_eq!(found.decimals, Some(k));
        }
        let whole: Vec<f64> = wave(20_000).iter().map(|v| (100.0 * v).round()).collect();
        assert_eq!(grid_of(whole, DType::F32).unwrap().decimals, Some(0));
        assert_eq!(grid_of(wave(20_000), DType::F64), None);
        let single: Vec<f64> = wave(20_000).iter().map(|v| f64::from(*v as f32)).collect();
        assert_eq!(grid_of(single, DType::F32), None);
        let packed: Vec<f64> = wave(20_000).iter().map(|v| 271.3 + (v / 0.0437219).round() * 0.0437219).collect();
        let found = grid_of(packed, DType::F64).unwrap();
        assert!(found.decimals.is_none() && (found.spacing / 0.0437219 - 1.0).abs() < 1e-6, "{found:?}");
    }
}
