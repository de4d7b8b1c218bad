//! Elements as numbers: every float type, and integers as far as f64 goes.

use crate::dtype::{DType, with_numbers};

/// Calls `each` with the bits and the value of every element, from two arrays at once.
#[allow(clippy::useless_conversion)] // u64 is one of the words
pub fn for_each_pair(dtype: DType, big_endian: bool, a: &[u8], b: &[u8], mut each: impl FnMut((u64, f64), (u64, f64))) {
    with_numbers!(dtype, |number: W| {
        let element = |bytes: &[u8; size_of::<W>()]| {
            let word = if big_endian { W::from_be_bytes(*bytes) } else { W::from_le_bytes(*bytes) };
            (u64::from(word), number(word))
        };
        a.as_chunks().0.iter().zip(b.as_chunks().0).for_each(|(a, b)| each(element(a), element(b)));
    })
}

/// Puts the values of all elements into `out`, which has a place for each.
pub fn values(dtype: DType, big_endian: bool, bytes: &[u8], out: &mut [f64]) {
    with_numbers!(dtype, |number: W| {
        let pairs = bytes.as_chunks().0.iter().zip(out);
        match big_endian {
            false => pairs.for_each(|(word, out)| *out = number(W::from_le_bytes(*word))),
            true => pairs.for_each(|(word, out)| *out = number(W::from_be_bytes(*word))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
