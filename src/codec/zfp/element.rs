//! The element types that zfp has.

use zfp_rs::ZfpScalar;

/// An element, and what has to be known of it besides zfp's own business.
pub trait Element: ZfpScalar + Copy + Default + PartialEq + Send + Sync {
    /// The element of little-endian, or of big-endian bytes.
    fn load(bytes: &[u8], big_endian: bool) -> Self;
    /// Its bytes.
    fn store(self, big_endian: bool, bytes: &mut [u8]);
    /// Its bits.
    fn bits(self) -> u64;
    /// The element with these bits.
    fn of_bits(bits: u64) -> Self;
    /// Whether it is neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// Its value; of integers, which have no bound, the nearest.
    fn value(self) -> f64;
}

macro_rules! element {
    ($type:ty, $word:ty, $bits:expr, $of_bits:expr, $is_finite:expr) => {
        impl Element for $type {
            #[inline(always)]
            fn load(bytes: &[u8], big_endian: bool) -> Self {
                let mut b = [0; size_of::<Self>()];
                b.copy_from_slice(bytes);
                if big_endian { Self::from_be_bytes(b) } else { Self::from_le_bytes(b) }
            }

            #[inline(always)]
            fn store(self, big_endian: bool, bytes: &mut [u8]) {
                bytes.copy_from_slice(&if big_endian { self.to_be_bytes() } else { self.to_le_bytes() });
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from($bits(self))
            }

            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                $of_bits(bits as $word)
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                $is_finite(self)
            }

            #[inline(always)]
            fn value(self) -> f64 {
                self as f64
            }
        }
    };
}

element!(f32, u32, f32::to_bits, f32::from_bits, f32::is_finite);
element!(f64, u64, f64::to_bits, f64::from_bits, f64::is_finite);
element!(i32, u32, i32::cast_unsigned, u32::cast_signed, |_| true);
element!(i64, u64, i64::cast_unsigned, u64::cast_signed, |_| true);

/// Whether |v − r| ≤ bound for all pairs, in exact arithmetic.
pub fn all_within<E: Element>(v: &[E], r: &[E], bound: f64) -> bool {
    // Rounding keeps order: a difference rounded to less than the bound is less, one rounded to more is more, and one
    // with a NaN is neither.
    let below = v.iter().zip(r).fold(true, |all, (v, r)| all & ((v.value() - r.value()).abs() < bound));
    below || v.iter().zip(r).all(|(v, r)| within(v.value(), r.value(), bound))
}

fn within(v: f64, r: f64, bound: f64) -> bool {
    let d = v - r;
    if d.abs() != bound {
        return d.abs() < bound;
    }
    // Two-sum: the error is exactly (v − r) − d.
    let t = d - v;
    let error = (v - (d - t)) - (r + t);
    if d < 0.0 { error >= 0.0 } else { error <= 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_judged_exactly() {
        assert!(all_within(&[1.5, 1.0], &[1.0, 1.5], 0.5) && !all_within(&[1.5f64.next_up()], &[1.0], 0.5));
        assert!(all_within(&[1e16], &[1e-3], 1e16) && !all_within(&[1e16], &[-1e-3], 1e16));
        assert!(all_within(&[-1e16], &[-1e-3], 1e16) && !all_within(&[-1e16], &[1e-3], 1e16));
        assert!(!all_within(&[f32::MAX], &[f32::INFINITY], 1e300) && !all_within(&[0.0], &[f64::NAN], 1.0));
        assert!(!all_within(&[f64::MAX], &[f64::MIN], f64::MAX));
    }
}
