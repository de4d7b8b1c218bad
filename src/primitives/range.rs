//! The value range of an array, for bounds relative to it.

use super::quantize::widen_f16;
use crate::dtype::DType;
use crate::exec::Isa;
use crate::simd::by;
use crate::simd::word::Word;

/// Smallest and largest element of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremes {
    pub ends: (f64, f64),
    /// Smallest and largest of some elements between the two.
    pub between: Option<(f64, f64)>,
}

impl Extremes {
    /// Those of two arrays together.
    pub fn join(a: Option<Extremes>, b: Option<Extremes>) -> Option<Extremes> {
        let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
        let all = [a, b].into_iter().flat_map(|e| [Some(e.ends), e.between]).flatten().flat_map(|(lo, hi)| [lo, hi]);
        let ends = (a.ends.0.min(b.ends.0), a.ends.1.max(b.ends.1));
        let between = all.filter(|v| ends.0 < *v && *v < ends.1).map(|v| Some((v, v))).fold(None, join);
        Some(Extremes { ends, between })
    }
}

/// Two numbers that nothing lies beyond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    pub low: f64,
    pub high: f64,
}

impl Ends {
    /// Of nothing.
    pub const NONE: Ends = Ends { low: f64::INFINITY, high: f64::NEG_INFINITY };
    /// Of what nobody looked at.
    pub const UNKNOWN: Ends = Ends { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Whether all are finite.
    pub fn are_numbers(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// With what lies from `low` to `high`; beyond all where one of them is no number.
    pub fn add(&mut self, low: f64, high: f64) {
        match low.is_nan() || high.is_nan() {
            true => *self = Ends::UNKNOWN,
            false => *self = Ends { low: self.low.min(low), high: self.high.max(high) },
        }
    }
}

/// Smallest and largest finite element other than `fills`, up to four numbers of the type; `None` if there is no such
/// element or the type is no float.
pub fn value_range(dtype: DType, big_endian: bool, fills: &[f64], bytes: &[u8]) -> Option<(f64, f64)> {
    extremes(dtype, big_endian, fills, bytes).map(|extremes| extremes.ends)
}

/// The same, and what is seen by the way.
pub fn extremes(dtype: DType, big_endian: bool, fills: &[f64], bytes: &[u8]) -> Option<Extremes> {
    extremes_with(Isa::best(), dtype, big_endian, fills, bytes)
}

/// The same with the instructions that `isa` consents to. AVX2 keeps pace with the second cache, so AVX-512 has no
/// loop of its own.
fn extremes_with(isa: Isa, dtype: DType, big_endian: bool, fills: &[f64], bytes: &[u8]) -> Option<Extremes> {
    let done = by!(Avx2, isa, |dtype: DType, big_endian: bool, fills: &[f64], bytes: &[u8]| -> Option<Extremes> {
        portable_extremes(dtype, big_endian, fills, bytes)
    });
    done.unwrap_or_else(|| portable_extremes(dtype, big_endian, fills, bytes))
}

/// The range of two arrays from the range of each.
pub fn join(a: Option<(f64, f64)>, b: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        _ => a.or(b),
    }
}

/// The extremes as the compiler vectorises them for the function that this is inlined into.
#[inline(always)]
fn portable_extremes(dtype: DType, big_endian: bool, fills: &[f64], bytes: &[u8]) -> Option<Extremes> {
    match dtype {
        DType::F32 => ordered::<4, u32, f32>(bytes, big_endian, f32::NEG_INFINITY, f32::from_bits, fills, |f| f as f32),
        DType::F64 => ordered::<8, u64, f64>(bytes, big_endian, f64::NEG_INFINITY, f64::from_bits, fills, |f| f),
        DType::F16 => {
            let finite = |b: u16| if b & 0x7c00 == 0x7c00 { f32::NAN } else { widen_f16(b) };
            ordered::<2, u16, f32>(bytes, big_endian, f32::NEG_INFINITY, finite, fills, |f| f as f32)
        }
        DType::BF16 => {
            let widen = |b: u16| f32::from_bits(u32::from(b) << 16);
            ordered::<2, u16, f32>(bytes, big_endian, f32::NEG_INFINITY, widen, fills, |f| f as f32)
        }
        _ => None,
    }
}

/// The extremes of elements other than `fills`. That with few of them in the machine's byte order, which most arrays
/// have, is a loop of its own.
#[inline(always)]
fn ordered<const N: usize, W: Word, F: Float>(
    bytes: &[u8],
    big_endian: bool,
    low: F,
    float: impl Fn(W) -> F,
    fills: &[f64],
    narrow: impl Fn(f64) -> F,
) -> Option<Extremes> {
    let high = -low;
    // Where there are fewer fill values a NaN stands for them: it does not count either.
    let fill = |k: usize| fills.get(k).map_or(low + high, |f| narrow(*f));
    let word = |b: &[u8; N]| if big_endian { W::load(b).swap() } else { W::load(b) };
    let mut seen = match (big_endian, fills.len()) {
        (false, 0) => scan::<N, F>(bytes, low, |b| float(W::load(b)), []),
        (false, 1) => scan::<N, F>(bytes, low, |b| float(W::load(b)), [fill(0)]),
        (false, 2) => scan::<N, F>(bytes, low, |b| float(W::load(b)), [fill(0), fill(1)]),
        _ => scan::<N, F>(bytes, low, |b| float(word(b)), [0, 1, 2, 3].map(fill)),
    }?;
    if seen.0[0] <= low || seen.0[1] >= high {
        // Infinities do not count either, but few arrays have any.
        seen = scan::<N, F>(bytes, low, |b| float(word(b)), [fill(0), fill(1), fill(2), fill(3), low, high])?;
    }
    // Of −0 and +0 the lanes keep whichever came first; the sum makes both +0, so that no header depends on that.
    let pair = |[lo, hi]: [F; 2]| (lo.into() + 0.0, hi.into() + 0.0);
    let between = (seen.1[0] <= seen.1[1]).then(|| pair(seen.1));
    Some(Extremes { ends: pair(seen.0), between })
}

/// f32 or f64.
trait Float: Copy + PartialOrd + Into<f64> + std::ops::Neg<Output = Self> + std::ops::Add<Output = Self> {}

impl Float for f32 {}
impl Float for f64 {}

/// Independent running extremes, so that the loop is not one chain of dependent comparisons. As many of f64 fill the
/// registers of AVX2.
const LANES: usize = 32;

/// What `pick` leaves of all lanes, vectors at a time.
#[inline(always)]
fn by_halves<T: Copy, const N: usize>(mut lanes: [T; N], pick: impl Fn(T, T) -> T) -> T {
    const { assert!(N.is_power_of_two()) };
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = pick(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// NaN in place of fill values.
#[inline(always)]
fn without<F: Float>(v: F, nan: F, fills: impl IntoIterator<Item = F>) -> F {
    fills.into_iter().fold(v, |v, fill| if v == fill { nan } else { v })
}

/// A NaN fails both comparisons.
#[inline(always)]
fn see<F: Float>(v: F, min: &mut F, max: &mut F) {
    *min = if v < *min { v } else { *min };
    *max = if v > *max { v } else { *max };
}

/// Smallest and largest element that is neither NaN nor one of `fills`, and the same of those elements between the two
/// that are the extremes of a lane; `low` is negative infinity.
#[inline(always)]
fn scan<const N: usize, F: Float>(
    bytes: &[u8],
    low: F,
    float: impl Fn(&[u8; N]) -> F,
    fills: impl IntoIterator<Item = F> + Copy,
) -> Option<([F; 2], [F; 2])> {
    let (high, nan) = (-low, low + -low);
    let (mut min, mut max) = ([high; LANES], [low; LANES]);
    let (rows, rest) = bytes.as_chunks::<N>().0.as_chunks::<LANES>();
    // By twos, so that extremes which do not stay in a register are fetched half as often.
    let (pairs, odd) = rows.as_chunks::<2>();
    for [one, other] in pairs {
        for lane in 0..LANES {
            see(without(float(&one[lane]), nan, fills), &mut min[lane], &mut max[lane]);
            see(without(float(&other[lane]), nan, fills), &mut min[lane], &mut max[lane]);
        }
    }
    for (i, b) in odd.as_flattened().iter().chain(rest).enumerate() {
        see(without(float(b), nan, fills), &mut min[i % LANES], &mut max[i % LANES]);
    }
    let least = |lanes: [F; LANES]| by_halves(lanes, |a, b| if b < a { b } else { a });
    let most = |lanes: [F; LANES]| by_halves(lanes, |a, b| if b > a { b } else { a });
    let (lo, hi) = (least(min), most(max));
    let is_between = |v: F| lo < v && v < hi;
    let or = |lanes: [F; LANES], none: F| lanes.map(|v| if is_between(v) { v } else { none });
    let (a, b) = (least(or(min, high)), least(or(max, high)));
    let (y, z) = (most(or(min, low)), most(or(max, low)));
    let between = [if b < a { b } else { a }, if z > y { z } else { y }];
    (lo <= hi).then_some(([lo, hi], between))
}

/// Whether any element lies from `low` to `high`, of floats; of types below f64 one just beside may count.
pub fn reaches(isa: Isa, dtype: DType, big_endian: bool, (low, high): (f64, f64), bytes: &[u8]) -> bool {
    let done = by!(Avx2, isa, |dtype: DType, big_endian: bool, low: f64, high: f64, bytes: &[u8]| -> bool {
        portable_reaches(dtype, big_endian, (low, high), bytes)
    });
    done.unwrap_or_else(|| portable_reaches(dtype, big_endian, (low, high), bytes))
}

/// The same by f64 alone, to the last bit: slower.
pub fn reaches_exactly(dtype: DType, big: bool, limits: (f64, f64), bytes: &[u8]) -> bool {
    match dtype {
        DType::F64 => any_within(bytes, big, limits, |b: u64| f64::from_bits(b)),
        DType::F16 => any_within(bytes, big, limits, |b: u16| f64::from(widen_f16(b))),
        DType::BF16 => any_within(bytes, big, limits, |b: u16| f64::from(f32::from_bits(u32::from(b) << 16))),
        _ => any_within(bytes, big, limits, |b: u32| f64::from(f32::from_bits(b))),
    }
}

#[inline(always)]
fn portable_reaches(dtype: DType, big: bool, (low, high): (f64, f64), bytes: &[u8]) -> bool {
    // Numbers of f32 from the one below to the one above: no element between is left out.
    let single = ((low as f32).next_down(), (high as f32).next_up());
    match dtype {
        DType::F64 => any_within(bytes, big, (low, high), |b: u64| f64::from_bits(b)),
        DType::F16 => any_within(bytes, big, single, widen_f16),
        DType::BF16 => any_within(bytes, big, single, |b: u16| f32::from_bits(u32::from(b) << 16)),
        _ => any_within(bytes, big, single, |b: u32| f32::from_bits(b)),
    }
}

#[inline(always)]
fn any_within<W: Word, F: Float>(bytes: &[u8], big_endian: bool, (low, high): (F, F), float: impl Fn(W) -> F) -> bool {
    let is = |b: &[u8]| {
        let word = W::load(b);
        let v = float(if big_endian { word.swap() } else { word });
        (v >= low) & (v <= high)
    };
    bytes.chunks(1024).any(|piece| piece.chunks_exact(size_of::<W>()).fold(false, |any, b| any | is(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Level;

    #[test]
    fn specials_and_fill_do_not_count() {
        let values = [3.0f32, f32::NAN, -2.0, f32::INFINITY, 1e36, f32::NEG_INFINITY, 7.5];
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(value_range(DType::F32, false, &[1e36f32.into()], &bytes), Some((-2.0, 7.5)));
        assert_eq!(value_range(DType::F32, false, &[], &bytes), Some((-2.0, f64::from(1e36f32))));
        let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
        assert_eq!(value_range(DType::F32, true, &[5.0, 1e36], &big), Some((-2.0, 7.5)));
        assert_eq!(value_range(DType::F64, false, &[], &f64::NAN.to_le_bytes()), None);
        let half: Vec<u8> = [0x3c00u16, 0xc000, 0x7c00, 0x0001].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(value_range(DType::F16, false, &[], &half), Some((-2.0, 1.0)));
    }

    #[test]
    fn every_length_and_instruction_set_agrees() {
        let value = |i: usize| match i * i % 11 {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => 99.0,
            _ => ((i * 37) % 101) as f32 - 50.0,
        };
        for n in (0..300).chain([4096]) {
            let values: Vec<f32> = (0..n).map(value).collect();
            let counted = values.iter().filter(|v| v.is_finite() && **v != 99.0).map(|v| f64::from(*v));
            let expected = counted.map(|v| Some((v, v))).fold(None, join);
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let wide: Vec<u8> = values.iter().flat_map(|v| f64::from(*v).to_be_bytes()).collect();
            for isa in Level::ALL.into_iter().filter_map(Isa::of) {
                let of = |dtype, big_endian, bytes| extremes_with(isa, dtype, big_endian, &[99.0], bytes);
                let (narrow, wide) = (of(DType::F32, false, &bytes), of(DType::F64, true, &wide));
                assert_eq!(narrow.map(|e| e.ends), expected, "{n}, {isa:?}");
                assert_eq!(wide, narrow, "{n}, {isa:?}");
                // Few are told all; of many some are told, and none that is an end or none of them.
                let between =
                    |v: &f32| expected.is_some_and(|(lo, hi)| (lo..hi).contains(&f64::from(*v)) && *v != lo as f32);
                let inner = values.iter().filter(|v| **v != 99.0 && between(v)).map(|v| f64::from(*v));
                let all = inner.clone().map(|v| Some((v, v))).fold(None, join);
                let some = narrow.and_then(|e| e.between);
                assert!(n > LANES || some == all, "{n}, {isa:?}: {some:?}, {all:?}");
                let is_one = |v: f64| inner.clone().any(|one| one == v);
                assert!(some.is_none_or(|(lo, hi)| is_one(lo) && is_one(hi)), "{n}, {isa:?}: {some:?}");
                assert!(n < 200 || some.is_some());
            }
        }
    }

    #[test]
    fn a_zero_is_positive_whatever_comes_first() {
        for zeros in [[0.0f64, -0.0], [-0.0, 0.0], [-0.0, -0.0]] {
            let bytes: Vec<u8> = zeros.iter().flat_map(|v| v.to_le_bytes()).collect();
            let (lo, hi) = value_range(DType::F64, false, &[], &bytes).unwrap();
            assert_eq!((lo.to_bits(), hi.to_bits()), (0, 0));
        }
    }
}
