//! Judges restored values by the promise, without rounding: a difference that is only nearly within the bound is found
//! out.

use super::{float_layout, mask, to_words};
use sleek::{Bound, DType, Mode, Params};

/// A float's value as f64; exact for all four types.
pub fn value(dtype: DType, word: u64) -> f64 {
    match dtype {
        DType::F32 => f32::from_bits(word as u32).into(),
        DType::BF16 => f32::from_bits((word as u32) << 16).into(),
        DType::F64 => f64::from_bits(word),
        DType::F16 => {
            let (exponent, fraction) = (word >> 10 & 31, (word & 1023) as f64);
            let magnitude = match exponent {
                0 => fraction * power(-24),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                e => (1024.0 + fraction) * power(e as i32 - 25),
            };
            if word >> 15 == 1 { -magnitude } else { magnitude }
        }
        _ => panic!("{dtype:?} is no float type"),
    }
}

/// 2^e, e in the range of normal numbers.
pub fn power(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// a − b as an unevaluated sum: the rounded difference and its error, exact unless the difference overflows.
pub fn difference(a: f64, b: f64) -> (f64, f64) {
    let d = a - b;
    let t = d - a;
    (d, (a - (d - t)) - (b + t))
}

/// |v − r| ≤ bound, in exact arithmetic, for finite numbers.
pub fn within(v: f64, r: f64, bound: f64) -> bool {
    let (d, error) = difference(v, r);
    let (d, error) = if d < 0.0 { (-d, -error) } else { (d, error) };
    // Rounding keeps order: a difference rounded to less than the bound is less, and one rounded to more is more.
    d < bound || (d == bound && error <= 0.0)
}

/// |v − r| ≤ bound · |v|, in exact arithmetic, for normal v and r of its sign.
pub fn within_relative(v: f64, r: f64, bound: f64) -> bool {
    // Scaling by a power of two keeps the error of the product clear of the subnormal numbers.
    let scale = if v.abs() < 1.0 { power(500) } else { power(-500) };
    let (v, r) = (v * scale, r * scale);
    let (d, error) = difference(v, r);
    assert!(error == 0.0 || d.abs() > v.abs() / 4.0, "the difference of neighbours {v:e} and {r:e} is not exact");
    let limit = bound * v.abs();
    let excess = bound.mul_add(v.abs(), -limit);
    d.abs() < limit || (d.abs() == limit && excess >= 0.0)
}

/// abs ≤ bound · (hi − lo), in exact arithmetic but for the last bit of a product of rounding errors.
pub fn within_range(abs: f64, bound: f64, lo: f64, hi: f64) -> bool {
    let (range, error) = difference(hi, lo);
    let product = bound * range;
    if product == f64::INFINITY {
        return true;
    }
    let excess = bound.mul_add(range, -product) + bound * error;
    abs < product && product - abs >= -excess || abs == product && excess >= 0.0
}

/// What an array came back as against what `params` promise; `abs_bound` is the one of the stream's header.
pub fn judge(params: &Params, abs_bound: f64, data: &[u8], back: &[u8]) -> Result<(), String> {
    let dtype = params.dtype;
    if data.len() != back.len() {
        return Err(format!("{} bytes came back as {}", data.len(), back.len()));
    }
    if data == back {
        return Ok(());
    }
    if params.big_endian {
        let swap = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
            bytes
        };
        let little = Params { big_endian: false, ..params.clone() };
        return judge(&little, abs_bound, &swap(data), &swap(back));
    }
    let (data, back) = (to_words(dtype, data), to_words(dtype, back));
    match data.iter().zip(&back).position(|(&v, &r)| !keeps(params, abs_bound, v, r)) {
        Some(i) => Err(format!("element {i}: {:#x} came back as {:#x} with {params:?}", data[i], back[i])),
        None => Ok(()),
    }
}

/// Whether `r` may stand for `v`, both words of an element.
pub fn keeps(params: &Params, abs_bound: f64, v: u64, r: u64) -> bool {
    if v == r {
        return true;
    }
    let Some((mantissa, _)) = float_layout(params.dtype) else { return !promises(params.bound.mode()) };
    let infinity = mask(params.dtype) >> 1 >> mantissa << mantissa;
    let magnitude = |w: u64| w & mask(params.dtype) >> 1;
    // NaN and infinities come back as they were, and nothing else becomes one.
    if magnitude(v) >= infinity || magnitude(r) >= infinity {
        return magnitude(v) < infinity && !promises(params.bound.mode());
    }
    let (a, b) = (value(params.dtype, v), value(params.dtype, r));
    match params.bound {
        Bound::Lossless => false,
        Bound::Rate(_) | Bound::Precision(_) => true,
        Bound::Abs(bound) => within(a, b, bound),
        Bound::Noa { .. } => within(a, b, abs_bound),
        Bound::Rel(bound) => {
            let subnormal = |w: u64| magnitude(w) >> mantissa == 0;
            !subnormal(v) && a.is_sign_negative() == b.is_sign_negative() && within_relative(a, b, bound)
        }
    }
}

/// Whether a mode says how far values may be off, or that they may not.
fn promises(mode: Mode) -> bool {
    !matches!(mode, Mode::Rate | Mode::Precision)
}

#[test]
fn the_judge_sees_one_bit() {
    let next = |x: f64| f64::from_bits(x.to_bits() + 1);
    assert!(within(1.5, 1.0, 0.5) && !within(next(1.5), 1.0, 0.5) && !within(1.0, next(1.5), 0.5));
    // The rounded difference equals the bound, the exact one is above or below it.
    assert!(!within(1e16, -1e-3, 1e16) && within(1e16, 1e-3, 1e16));
    assert!(within_relative(1024.0, 1023.0, 1.0 / 1024.0) && !within_relative(1023.0, 1024.0, 1.0 / 1024.0));
    assert!(!within_range(next(0.5), 0.5, 0.0, 1.0) && within_range(0.5, 0.5, 0.0, 1.0));
    // 0.1 · 3 is below its rounded product.
    assert!(!within_range(0.1 * 3.0, 0.1, 0.0, 3.0));
    assert_eq!(value(DType::F16, 1), power(-24));
    assert_eq!(value(DType::F16, 0xfbff), -65504.0);
    assert_eq!(value(DType::BF16, 0x3fc0), 1.5);
}
