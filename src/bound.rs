//! From what a user asks for to the quantizer's exact step. A bound is only ever tightened, in exact arithmetic.

use crate::dtype::DType;
use crate::mode::Profile;

/// Step of a quantizer: w · 2^j with w = 4 … 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The factor w.
    pub w: u8,
    /// The exponent j.
    pub j: i16,
}

/// The exponents j that the format allows for a float type (docs/reference/codecs/sleek.md §1).
pub fn step_range(dtype: DType) -> std::ops::RangeInclusive<i16> {
    match dtype {
        DType::F64 => -1022..=960,
        DType::F16 => -24..=5,
        _ => -126..=100,
    }
}

impl Step {
    /// The largest step with step / 2 ≤ `abs`, or `None` if the type cannot have one so small: then only lossless will
    /// do.
    ///
    /// With abs = f · 2^k, 1 ≤ f < 2, it is floor(4f) · 2^(k−1). `Fast` takes the power of two below, 4 · 2^(k−1).
    pub fn for_bound(dtype: DType, abs: f64, profile: Profile) -> Option<Step> {
        let range = step_range(dtype);
        if abs.is_nan() || abs < f64::MIN_POSITIVE {
            return None;
        }
        let k = (abs.to_bits() >> 52) as i32 - 1023;
        let w = 4 + (abs.to_bits() >> 50 & 3) as u8;
        let (w, j) = match k - 1 {
            j if j > i32::from(*range.end()) => (7, *range.end()),
            j if j < i32::from(*range.start()) => return None,
            j => (w, j as i16),
        };
        Some(Step { w: if profile == Profile::Fast { 4 } else { w }, j })
    }

    /// The step as a number; exact.
    pub fn value(self) -> f64 {
        // 2^j as a product of two normal powers, since j may be as low as −1022 and w · 2^j is normal.
        f64::from(self.w) * exp2(self.j.into())
    }
}

/// 2^e for −1022 ≤ e ≤ 1023.
pub fn exp2(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// The next number below a positive one.
pub fn next_down(x: f64) -> f64 {
    f64::from_bits(x.to_bits() - 1)
}

/// a · b for a, b ≥ 0, rounded down; at most `f64::MAX`.
pub fn mul_down(a: f64, b: f64) -> f64 {
    let p = a * b;
    if p == f64::INFINITY {
        return f64::MAX;
    }
    // The residual a·b − p is exact in a fused multiply-add unless it underflows; then one step down is taken to be
    // safe.
    let inexact_up = a.mul_add(b, -p) < 0.0 || (p < 1e-290 && p > 0.0);
    if inexact_up { next_down(p) } else { p }
}

/// hi − lo for hi ≥ lo, rounded down; at most `f64::MAX`.
pub fn sub_down(hi: f64, lo: f64) -> f64 {
    let (d, error) = difference(hi, lo);
    if d == f64::INFINITY || error < 0.0 { next_down(d) } else { d }
}

/// hi − lo for hi ≥ lo, rounded up.
pub fn sub_up(hi: f64, lo: f64) -> f64 {
    let (d, error) = difference(hi, lo);
    if error > 0.0 { d.next_up() } else { d }
}

/// hi − lo, rounded to nearest, and what is missing of it, by a two-sum.
fn difference(hi: f64, lo: f64) -> (f64, f64) {
    let d = hi - lo;
    let bb = d - hi;
    (d, (hi - (d - bb)) + (-lo - bb))
}

/// Mantissa bits that `Rel` must keep: the least k with 2^−(k+1) ≤ bound.
pub fn rel_mantissa_bits(bound: f64, mantissa: u32) -> u32 {
    (0..mantissa).find(|k| exp2(-(*k as i32) - 1) <= bound).unwrap_or(mantissa)
}

/// The least number below `next` that is within the relative bound of it; or a little more, since it is rounded.
pub fn least_relative(next: f64, bound: f64) -> f64 {
    match bound {
        _ if bound >= 1.0 => f64::INFINITY,
        _ if next > 0.0 => (next / (1.0 + bound)).next_up().next_up().next_up(),
        _ => (next / (1.0 - bound)).next_up().next_up().next_up(),
    }
}

/// The absolute bound of `Noa`, and the range it is of: `share` of the caller's range, else of that of `measure()`.
pub fn noa(share: f64, range: Option<f64>, measure: impl FnOnce() -> Option<(f64, f64)>) -> (f64, f64) {
    let range = range.unwrap_or_else(|| measure().map_or(0.0, |(lo, hi)| sub_down(hi, lo)));
    (mul_down(share, range), range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_step_never_exceeds_the_bound() {
        for (dtype, tiny) in [(DType::F32, 1e-37), (DType::F64, 1e-300), (DType::F16, 1e-7), (DType::BF16, 1e-37)] {
            let mut abs = tiny;
            while abs < 1e38 {
                for profile in [Profile::Adaptive, Profile::Fast] {
                    if let Some(step) = Step::for_bound(dtype, abs, profile) {
                        assert!(step.value() / 2.0 <= abs, "{dtype:?} {abs} {step:?}");
                        assert!(step_range(dtype).contains(&step.j) && (4..8).contains(&step.w));
                    }
                }
                abs *= 1.37;
            }
        }
    }

    #[test]
    fn odd_bounds() {
        for abs in [0.0, -1.0, f64::NAN, 5e-324, 1e-310] {
            assert_eq!(Step::for_bound(DType::F64, abs, Profile::Adaptive), None, "{abs}");
        }
        assert_eq!(Step::for_bound(DType::F32, 1e300, Profile::Adaptive), Some(Step { w: 7, j: 100 }));
        assert_eq!(Step::for_bound(DType::F32, 1.75, Profile::Adaptive), Some(Step { w: 7, j: -1 }));
        assert_eq!(Step::for_bound(DType::F32, 1.99, Profile::Fast), Some(Step { w: 4, j: -1 }));
    }

    #[test]
    fn rounding_is_downward() {
        assert_eq!(mul_down(0.1, 3.0), 0.30000000000000004_f64.next_down());
        assert_eq!(mul_down(0.5, 3.0), 1.5);
        assert_eq!(mul_down(1e200, 1e200), f64::MAX);
        assert_eq!(sub_down(1e16, -1.0), 1e16);
        assert_eq!(sub_down(1.0, -1e-30), 1.0);
        assert_eq!(sub_down(f64::MAX, -f64::MAX), f64::MAX);
        assert_eq!(rel_mantissa_bits(1e-3, 23), 9);
        assert_eq!(rel_mantissa_bits(0.5, 23), 0);
        assert_eq!(rel_mantissa_bits(1e-30, 23), 23);
    }
}
