//! Whether an element came back as promised, in exact arithmetic.

use sleek::Mode;

/// Whether an element, given by bits and value, came back as promised.
pub fn holds(mode: Mode, limit: f64, (v_bits, v): (u64, f64), (r_bits, r): (u64, f64)) -> bool {
    if v_bits == r_bits {
        return true;
    }
    // From a rate or a precision follows no bound, but what is no number comes back.
    if matches!(mode, Mode::Rate | Mode::Precision) {
        return v.is_finite();
    }
    if mode == Mode::Lossless || !v.is_finite() || !r.is_finite() {
        return false;
    }
    match mode {
        Mode::Rel => v.is_sign_negative() == r.is_sign_negative() && within_relative(v, r, limit),
        _ => within(v, r, (limit, 0.0)),
    }
}

/// |v − r| ≤ bound · |v|, exactly.
fn within_relative(v: f64, r: f64, bound: f64) -> bool {
    // The rounding error of a product near the smallest numbers is no number any more, so they are moved up.
    let scale = if v.abs() < 1e-150 { 2f64.powi(500) } else { 1.0 };
    within(v * scale, r * scale, product(bound, v * scale))
}

/// |v − r| ≤ high + low, exactly, for a limit given as a rounded number and its rounding error.
fn within(v: f64, r: f64, (high, low): (f64, f64)) -> bool {
    let d = v - r;
    d.abs() < high || (d.abs() == high && rounding(v, -r, d) * d.signum() <= low)
}

/// (a + b) − sum, exactly, for `sum` = a + b rounded.
fn rounding(a: f64, b: f64, sum: f64) -> f64 {
    let bb = sum - a;
    (a - (sum - bb)) + (b - bb)
}

/// bound · |v| as a rounded number and its rounding error.
fn product(bound: f64, v: f64) -> (f64, f64) {
    let v = v.abs();
    let high = bound * v;
    (high, bound.mul_add(v, -high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_is_exact() {
        // 1 − 2^-60 is not a double: the difference rounds to the bound, only its rounding error tells.
        let tiny = 2f64.powi(-60);
        assert!(within(1.0, tiny, (1.0, 0.0)));
        assert!(!within(1.0, -tiny, (1.0, 0.0)));
        assert!(within(-tiny, 1.0, (1.0, tiny)));
        // 0.1 · 3 is above the double 0.30000000000000004 by nothing and below it in truth.
        assert!(!within(0.1 * 3.0, 0.0, product(0.1, 3.0)));
        assert!(within(0.3, 0.0, product(0.1, 3.0)));
    }

    #[test]
    fn specials_and_signs() {
        let bits = |x: f64| (x.to_bits(), x);
        assert!(!holds(Mode::Abs, 1.0, bits(f64::NAN), bits(0.0)));
        assert!(!holds(Mode::Abs, 1.0, bits(f64::INFINITY), bits(f64::MAX)));
        assert!(holds(Mode::Abs, 1.0, bits(-0.0), bits(0.0)));
        assert!(!holds(Mode::Lossless, 0.0, bits(-0.0), bits(0.0)));
        assert!(!holds(Mode::Rel, 2.0, bits(-0.0), bits(0.0)));
        assert!(!holds(Mode::Rel, 3.0, bits(1.0), bits(-1.0)));
        assert!(holds(Mode::Rate, 0.0, bits(1.0), bits(-7.0)) && !holds(Mode::Rate, 0.0, bits(f64::NAN), bits(0.0)));
    }
}
