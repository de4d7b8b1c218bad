//! What a sample looks like before anything is measured: how many digits or bits the values have.

use sleek::DType;

use super::sample::Sample;

/// Digits behind the point that are looked for.
const DECIMALS: i32 = 12;
/// A value tells of a grid if it could lie in so many places between two points of it.
const PLACES: f64 = 32.0;
/// So many bits at the end of all mantissas that tell nothing were rounded away.
const IDLE: u32 = 3;
/// So many such values are asked for.
const FEW: usize = 256;

/// The values are decimals of so many digits behind the point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid(i32);

impl Grid {
    /// A bound under which rounding to the grid brings every value back: 0.4 of the last digit.
    pub fn bound(self) -> f64 {
        format!("4e{}", -self.0 - 1).parse().unwrap_or(f64::NAN)
    }

    /// From one to the next.
    pub fn spacing(self) -> f64 {
        format!("1e{}", -self.0).parse().unwrap_or(f64::NAN)
    }

    pub fn words(self) -> String {
        match self.0 {
            ..0 => format!("multiples of {:e}", self.spacing()),
            0 => "whole numbers".into(),
            1 => "decimals of 1 digit".into(),
            k => format!("decimals of {k} digits"),
        }
    }
}

pub struct Seen {
    pub grid: Option<Grid>,
    /// The share of values that are missing, NaN or infinite.
    missing: f64,
    /// How many bits of each mantissa are in use, of how many there are, if the others were rounded away.
    bits: Option<(u32, u32)>,
}

impl Seen {
    pub fn new(sample: &Sample) -> Seen {
        let (values, count) = sample.values();
        let grid = grid(&values, sample.dtype);
        let changes = values.windows(2).filter(|pair| pair[0] != pair[1]).take(FEW).count();
        let bits = bits_in_use(sample.dtype, &values).filter(|_| grid.is_none() && changes == FEW);
        Seen { grid, missing: 1.0 - values.len() as f64 / count.max(1) as f64, bits }
    }

    /// Why no bound is advised, where there is more to say than that digits tell none.
    pub fn caution(&self) -> Option<String> {
        let (used, all) = self.bits?;
        Some(format!(
            "{used} of {all} bits of each mantissa are in use, so the values were rounded before: lossless \
             compression takes the others for little, with --profile small for the least"
        ))
    }

    pub fn describe(&self) -> Vec<String> {
        let mut words: Vec<String> = self.grid.iter().map(|grid| grid.words()).collect();
        words.extend(self.bits.map(|(used, all)| format!("{used} of {all} bits in use")));
        words.extend((self.missing > 0.0).then(|| format!("{:.2} % missing", 100.0 * self.missing)));
        words
    }
}

/// The bits of mantissas that are in use, and all there are; none where few are idle. Bits that are all set, as bit
/// grooming leaves them in every second value, tell nothing either.
fn bits_in_use(dtype: DType, values: &[f64]) -> Option<(u32, u32)> {
    let all = match dtype {
        DType::F64 => 52,
        DType::F32 => 23,
        _ => return None,
    };
    let idle = |v: &f64| {
        let mantissa = v.to_bits() >> (52 - all);
        mantissa.trailing_zeros().max(mantissa.trailing_ones()).min(all)
    };
    let idle = values.iter().filter(|v| v.is_normal()).map(idle).min()?;
    (idle >= IDLE).then_some((all - idle, all))
}

/// The spacing of the element type's numbers at a value.
fn spacing_at(dtype: DType, value: f64) -> f64 {
    let (mantissa, least) = match dtype {
        DType::F64 => (52, -1074),
        DType::F32 => (23, -149),
        DType::F16 => (10, -24),
        _ => (7, -133),
    };
    if value == 0.0 { 2f64.powi(least) } else { 2f64.powi((value.abs().log2().floor() as i32 - mantissa).max(least)) }
}

/// The fewest decimal digits that every value has, up to the rounding of its type, where enough of the values could be
/// something else.
fn grid(values: &[f64], dtype: DType) -> Option<Grid> {
    let fits = |grid: &Grid| {
        let (unit, mut telling) = (grid.spacing(), 0);
        for v in values.iter().filter(|v| **v != 0.0) {
            let spacing = spacing_at(dtype, *v);
            if spacing * PLACES > unit {
                continue;
            }
            if (v - (v / unit).round() * unit).abs() > 2.0 * spacing {
                return false;
            }
            telling += 1;
        }
        telling >= FEW
    };
    (-3..=DECIMALS).map(Grid).find(fits)
}
