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

/// Puts the values of all elements into `out`, which has a place for each.
pub fn values(dtype: DType, big_endian: bool, bytes: &[u8], out: &mut [f64]) {
    use DType::*;
    match dtype {
        F32 => convert::<4>(big_endian, bytes, out, |w| f32::from_bits(u32::from_le_bytes(w)).into()),
        F64 => convert::<8>(big_endian, bytes, out, f64::from_le_bytes),
        F16 => convert::<2>(big_endian, bytes, out, |w| half(u16::from_le_bytes(w))),
        BF16 => convert::<2>(big_endian, bytes, out, |w| f32::from_bits(u32::from(u16::from_le_bytes(w)) << 16).into()),
        I8 => convert::<1>(big_endian, bytes, out, |w| i8::from_le_bytes(w).into()),
        I16 => convert::<2>(big_endian, bytes, out, |w| i16::from_le_bytes(w).into()),
        I32 => convert::<4>(big_endian, bytes, out, |w| i32::from_le_bytes(w).into()),
        I64 => convert::<8>(big_endian, bytes, out, |w| i64::from_le_bytes(w) as f64),
        U8 => convert::<1>(big_endian, bytes, out, |w| u8::from_le_bytes(w).into()),
        U16 => convert::<2>(big_endian, bytes, out, |w| u16::from_le_bytes(w).into()),
        U32 => convert::<4>(big_endian, bytes, out, |w| u32::from_le_bytes(w).into()),
        U64 => convert::<8>(big_endian, bytes, out, |w| u64::from_le_bytes(w) as f64),
    }
}

fn convert<const N: usize>(big_endian: bool, bytes: &[u8], out: &mut [f64], value: impl Fn([u8; N]) -> f64) {
    let pairs = bytes.as_chunks::<N>().0.iter().zip(out);
    match big_endian {
        false => pairs.for_each(|(word, out)| *out = value(*word)),
        true => pairs.for_each(|(word, out)| {
            let mut word = *word;
            word.reverse();
            *out = value(word);
        }),
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
    const FROM_F32: f32 = f32::from_bits(0x7780_0000); // 2^112, between the biases of both types
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let value = match bits & 0x7c00 {
        0x7c00 => f32::from_bits(0x7f80_0000 | magnitude & 0x007f_ffff),
        _ => f32::from_bits(magnitude) * FROM_F32,
    };
    f64::from(if bits >> 15 == 1 { -value } else { value })
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
        // Subnormal numbers, and the first that is none.
        for bits in 0..=0x400 {
            assert_eq!(half(bits), f64::from(bits) * 2f64.powi(-24), "{bits:#x}");
        }
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn values_are_those_of_pairs() {
        let bytes: Vec<u8> = (0..=255).chain(0..64).map(|i: u8| i.wrapping_mul(37).wrapping_add(11)).collect();
        for dtype in DType::ALL {
            for big_endian in [false, true] {
                let mut out = vec![0.0; bytes.len() / dtype.size()];
                values(dtype, big_endian, &bytes, &mut out);
                let mut wanted = Vec::new();
                for_each_pair(dtype, big_endian, &bytes, &bytes, |(_, v), _| wanted.push(v));
                let bits = |x: &[f64]| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&out), bits(&wanted), "{}", dtype.name());
            }
        }
    }
}
