//! The value range of an array, for bounds relative to it.

use super::quantize::widen_f16;
use super::word::Word;
use crate::dtype::DType;

/// Smallest and largest finite element other than `fill`; `None` if there is no such element or the type is no float.
pub fn value_range(dtype: DType, big_endian: bool, fill: Option<f64>, bytes: &[u8]) -> Option<(f64, f64)> {
    match dtype {
        DType::F32 => scan::<u32, _>(bytes, big_endian, f32::NEG_INFINITY, f32::from_bits, fill.map(|f| f as f32)),
        DType::F64 => scan::<u64, _>(bytes, big_endian, f64::NEG_INFINITY, f64::from_bits, fill),
        DType::F16 => {
            let finite = |b: u16| if b & 0x7c00 == 0x7c00 { f32::NAN } else { widen_f16(b) };
            scan::<u16, _>(bytes, big_endian, f32::NEG_INFINITY, finite, fill.map(|f| f as f32))
        }
        DType::BF16 => {
            let widen = |b: u16| f32::from_bits(u32::from(b) << 16);
            scan::<u16, _>(bytes, big_endian, f32::NEG_INFINITY, widen, fill.map(|f| f as f32))
        }
        _ => None,
    }
}

/// Independent running extremes, so that the loop is not one chain of dependent comparisons.
const LANES: usize = 32;

#[inline(always)]
fn scan<W: Word, F>(
    bytes: &[u8],
    big_endian: bool,
    low: F,
    float: impl Fn(W) -> F,
    fill: Option<F>,
) -> Option<(f64, f64)>
where
    F: Copy + PartialOrd + Into<f64> + std::ops::Neg<Output = F>,
{
    let high = -low;
    let (mut min, mut max) = ([high; LANES], [low; LANES]);
    let mut step = |lane: usize, b: &[u8]| {
        let w = W::load(b);
        let v = float(if big_endian { w.swap() } else { w });
        // A NaN fails both comparisons; infinities and the fill value are kept out by these.
        let counts = v < high && v > low && fill.is_none_or(|f| v != f);
        min[lane] = if counts && v < min[lane] { v } else { min[lane] };
        max[lane] = if counts && v > max[lane] { v } else { max[lane] };
    };
    let size = size_of::<W>();
    let mut blocks = bytes.chunks_exact(size * LANES);
    for block in &mut blocks {
        for lane in 0..LANES {
            step(lane, &block[lane * size..(lane + 1) * size]);
        }
    }
    for (lane, b) in blocks.remainder().chunks_exact(size).enumerate() {
        step(lane, b);
    }
    let lo = min.into_iter().fold(high, |a, b| if b < a { b } else { a });
    let hi = max.into_iter().fold(low, |a, b| if b > a { b } else { a });
    // Of −0 and +0 the lanes keep whichever came first; the sum makes both +0, so that no header depends on that.
    (lo <= hi).then(|| (lo.into() + 0.0, hi.into() + 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specials_and_fill_do_not_count() {
        let values = [3.0f32, f32::NAN, -2.0, f32::INFINITY, 1e36, f32::NEG_INFINITY, 7.5];
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(value_range(DType::F32, false, Some(1e36f32.into()), &bytes), Some((-2.0, 7.5)));
        assert_eq!(value_range(DType::F32, false, None, &bytes), Some((-2.0, f64::from(1e36f32))));
        let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
        assert_eq!(value_range(DType::F32, true, Some(1e36), &big), Some((-2.0, 7.5)));
        assert_eq!(value_range(DType::F64, false, None, &f64::NAN.to_le_bytes()), None);
        let half: Vec<u8> = [0x3c00u16, 0xc000, 0x7c00, 0x0001].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(value_range(DType::F16, false, None, &half), Some((-2.0, 1.0)));
    }

    #[test]
    fn zeros_of_either_sign_are_one_value() {
        for values in [[0.0f32, -0.0], [-0.0, 0.0], [-0.0, -0.0]] {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let (lo, hi) = value_range(DType::F32, false, None, &bytes).unwrap();
            assert_eq!((lo.to_bits(), hi.to_bits()), (0, 0), "{values:?}");
        }
    }
}
