//! Elements as numbers: every float type, and integers as far as f64 goes.

use crate::dtype::DType;

/// Calls `each` with the bits and the value of every element, from two arrays at once.
pub fn for_each_pair(dtype: DType, big_endian: bool, a: &[u8], b: &[u8], each: impl FnMut((u64, f64), (u64, f64))) {
    use DType::*;
    match dtype {
        F32 => pairs::<4>(big_endian, a, b, |w| f32::from_bits(w as u32).into(), each),
        F64 => pairs::<8>(big_endian, a, b, f64::from_bits, each),
        F16 => pairs::<2>(big_endian, a, b, |w| half(w as u16), each),
        BF16 => pairs::<2>(big_endian, a, b, |w| f32::from_bits((w as u32) << 16).into(), each),
        I8 => pairs::<1>(big_endian, a, b, |w| f64::from(w as i8), each),
        I16 => pairs::<2>(big_endian, a, b, |w| f64::from(w as i16), each),
        I32 => pairs::<4>(big_endian, a, b, |w| f64::from(w as i32), each),
        I64 => pairs::<8>(big_endian, a, b, |w| w as i64 as f64, each),
        U8 => pairs::<1>(big_endian, a, b, |w| w as f64, each),
        U16 => pairs::<2>(big_endian, a, b, |w| w as f64, each),
        U32 => pairs::<4>(big_endian, a, b, |w| w as f64, each),
        U64 => pairs::<8>(big_endian, a, b, |w| w as f64, each),
    }
}

fn pairs<const N: usize>(
    big_endian: bool,
    a: &[u8],
    b: &[u8],
    value: impl Fn(u64) -> f64,
    mut each: impl FnMut((u64, f64), (u64, f64)),
) {
    for (x, y) in a.as_chunks::<N>().0.iter().zip(b.as_chunks::<N>().0) {
        let (x, y) = (word(big_endian, x), word(big_endian, y));
        each((x, value(x)), (y, value(y)));
    }
}

fn word<const N: usize>(big_endian: bool, bytes: &[u8; N]) -> u64 {
    let mut w = [0; 8];
    w[..N].copy_from_slice(bytes);
    if big_endian {
        w[..N].reverse();
    }
    u64::from_le_bytes(w)
}

/// A binary16 number.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, mantissa) = (bits >> 10 & 31, f64::from(bits & 0x3ff));
    sign * match exponent {
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        0 => mantissa * 2f64.powi(-24),
        e => (mantissa + 1024.0) * 2f64.powi(i32::from(e) - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 2f64.powi(-24)), (0x7bff, 65504.0), (0x7c00, f64::INFINITY)]
        {
            assert_eq!(half(bits), value, "{bits:#x}");
        }
        assert!(half(0x7e00).is_nan());
    }
}
