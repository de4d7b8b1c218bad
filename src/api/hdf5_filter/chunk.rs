//! What the codec is to do to one chunk.

use std::ops::RangeInclusive;

use super::cd_values::{CdValues, lossless};
use super::dataset::element_bits;
use crate::bound;
use crate::codec::{self, Held};
use crate::container::{Dims, Missing};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::host::fpu;
use crate::params::{Mode, Params};
use crate::runtime::cpu;

/// A chunk's length in words.
pub fn told(right: &RangeInclusive<u64>) -> String {
    if right.start() == right.end() { format!("{}", right.end()) } else { format!("{} or more", right.start()) }
}

/// Refuses a stream that holds something else than a chunk, as far as the words tell: HDF5 itself takes what comes for
/// elements of the dataset. A stream of u8 is plain bytes, which may be elements of any type, and any stream may be
/// those of a dataset without numbers.
pub fn expect(values: &CdValues, held: &Held) -> Result<()> {
    let right = values.chunk_bytes();
    if !right.contains(&(held.bytes as u64)) {
        return fail!(Corrupt, "the stream holds {} bytes; a chunk of the dataset has {}", held.bytes, told(&right));
    }
    let Some(element) = &values.element else { return Ok(()) };
    let is_plain = element.dtype == DType::U8 && element.bytes != 1;
    let order = |dtype: DType, big_endian| match (dtype.size(), big_endian) {
        (1, _) => "",
        (_, true) => ", big-endian",
        (_, false) => ", little-endian",
    };
    let stored = (held.dtype, order(held.dtype, held.big_endian));
    let right = (element.dtype, order(element.dtype, element.big_endian));
    if held.dtype == DType::U8 || is_plain || stored == right {
        return Ok(());
    }
    fail!(
        Corrupt,
        "the stream holds elements {}{}; those of the dataset are {}{}",
        stored.0.name(),
        stored.1,
        right.0.name(),
        right.1
    )
}

/// What the codec is to do to chunks of `bytes`. Where nobody can tell the element type, or the bytes are no whole
/// elements, that is to keep every bit: then every bound is kept too.
pub fn params(values: &CdValues, bytes: usize) -> Result<Params> {
    let right = values.chunk_bytes();
    if !right.contains(&(bytes as u64)) {
        return fail!(InvalidArgument, "a chunk of {bytes} bytes; cd_values are those of chunks of {}", told(&right));
    }
    let params = match values.params()? {
        Some(params) if bytes.is_multiple_of(params.dtype.size()) => params,
        _ => return Ok(lossless(Params { dtype: DType::U8, ..values.request.clone() })),
    };
    let dims = if codec::chosen(&params)?.capabilities().rank > 1 {
        dims(values, bytes / params.dtype.size())
    } else {
        Dims::NONE
    };
    Ok(Params { dims, ..params })
}

/// The shape of a chunk of `count` elements; of arrays and complex numbers the parts are the fastest dimension.
fn dims(values: &CdValues, count: usize) -> Dims {
    let mut lens = values.element.as_ref().map_or(Vec::new(), |e| e.chunk.clone());
    let of_chunk = lens.iter().fold(1u64, |n, d| n.saturating_mul(*d)).max(1);
    if count as u64 != of_chunk {
        lens.push(count as u64 / of_chunk);
    }
    Dims::new(&lens).ok().filter(|dims| dims.count() == count as u64).unwrap_or(Dims::NONE)
}

/// Whether each chunk is to be measured.
pub fn measures(params: &Params) -> bool {
    params.mode == Mode::Noa && params.range.is_none()
}

/// The same for the chunk `src`, with the value range that `noa` takes where none is given.
///
/// What is no data must not count. The missing values do not. Where nobody has set a fill value, HDF5 puts zeros into
/// the rim of partial chunks and wherever nothing was written yet, and nothing tells them from data: so zeros do not
/// count either. Where they are data, that only tightens the bound.
pub fn measured(params: Params, src: &[u8]) -> Result<Params> {
    measured_without(params, &[], src)
}

/// The same where what is equal to `element`, the bytes of one or of none, does not count either.
fn measured_without(params: Params, element: &[u8], src: &[u8]) -> Result<Params> {
    if !measures(&params) {
        return Ok(params);
    }
    let (params, range) = codec::searched(params, src)?;
    let mut outside = vec![0];
    if element.len() == params.dtype.size() {
        outside.push(element_bits(element, params.big_endian));
    }
    let _fpu = fpu::Guard::standard();
    let is_outside = |v: f64| outside.iter().any(|bits| params.dtype.number(*bits) == v);
    // What does not count and lies between others changes nothing.
    let range = range.filter(|(lo, hi)| !is_outside(*lo) && !is_outside(*hi)).or_else(|| {
        let missing = params.missing.of_type(params.dtype).ok()?;
        extremes(&params, &[missing.bits(), &outside].concat(), src)
    });
    Ok(steady(&params, range.map_or(0.0, |(lo, hi)| bound::sub_down(hi, lo))))
}

/// See [`crate::of_chunk`].
pub fn of_chunk(params: Params, src: &[u8]) -> Result<Params> {
    let last = params.dtype.size().min(src.len());
    measured_without(params, &src[src.len() - last..], src)
}

/// Smallest and largest element of `src` that is none of `outside`.
fn extremes(params: &Params, outside: &[u64], src: &[u8]) -> Option<(f64, f64)> {
    let mut numbers: Vec<f64> = Vec::new();
    let mut kept: Vec<u64> = Vec::new();
    for bits in outside {
        let number = params.dtype.number(*bits);
        if number.is_finite() && !numbers.contains(&number) {
            numbers.push(number);
            kept.push(*bits);
        }
    }
    if let Some(few) = Missing::stored(params.dtype, &kept, 0) {
        return cpu::range_without(params, &few, src);
    }
    // One more than the fast way takes.
    let elements = src.chunks_exact(params.dtype.size());
    let values = elements.map(|e| params.dtype.number(element_bits(e, params.big_endian)));
    let counted = values.filter(|v| v.is_finite() && !numbers.contains(v));
    counted.fold(None, |range, v| Some(range.map_or((v, v), |(lo, hi): (f64, f64)| (lo.min(v), hi.max(v)))))
}

/// `noa` for a chunk of this range with a step that is a power of two, at most bound × range.
///
/// HDF5 writes a chunk again and again: when it grows, when a part of it changes, when it leaves the cache in between.
/// Each time what it restored is rounded anew. A step that is the largest there was, or finer, changes nothing; of
/// coarser ones each is at least twice the one before, so all errors together, s/2 + s/4 + …, stay below the largest
/// step. That is why the step is at most the bound, rather than twice as much. The range is of restored values, each of
/// which may lie beyond the original by as much: hence the bound is divided by 1 + 2 × bound.
fn steady(params: &Params, range: f64) -> Params {
    let share = (params.bound / (1.0 + 2.0 * params.bound)).next_down().max(0.0);
    let most = bound::mul_down(share, range);
    // Half of the largest power of two that is at most `most`, and that the type's steps can have.
    let exponent = (most.to_bits() >> 52) as i32 - 1023 - 1;
    let half = bound::exp2(exponent.clamp(-1022, i32::from(*bound::step_range(params.dtype).end()) + 1));
    // The header's bound times this range gives that.
    let mut range = half / params.bound;
    if most < 4.0 * f64::MIN_POSITIVE || range < f64::MIN_POSITIVE {
        // Every value is the same, or nearly: a bound that no step can have keeps every bit.
        return Params { bound: params.bound.min(1.0), range: Some(f64::from_bits(1)), ..params.clone() };
    }
    while bound::mul_down(params.bound, range) < half {
        range = range.next_up();
    }
    Params { range: Some(range), ..params.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::Step;
    use crate::params::{MissingValues, Profile};

    fn noa(dtype: DType, bound: f64) -> Params {
        Params::new(dtype).with_bound(Mode::Noa, bound)
    }

    #[test]
    fn steps_are_powers_of_two_and_at_most_the_bound() {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            for profile in [Profile::Adaptive, Profile::Fast] {
                for bound in [0.0, 1e-9, 1e-4, 0.003, 0.1, 0.5, 2.0, 1e6] {
                    let mut range = 0.0;
                    while range < 1e305 {
                        let params = steady(&Params { profile, ..noa(dtype, bound) }, range);
                        params.check().unwrap();
                        let abs = bound::mul_down(params.bound, params.range.unwrap());
                        if let Some(step) = Step::for_bound(dtype, abs, profile) {
                            assert!(
                                step.w == 4 && step.value() <= bound * range,
                                "{dtype:?} {bound} {range:e} {step:?}"
                            );
                            assert!(abs * (1.0 - 1e-12) <= step.value() / 2.0, "{bound} {range:e}: {abs:e} {step:?}");
                        }
                        range = range * 37.7 + f64::from_bits(1);
                    }
                }
            }
        }
        assert!(
            Step::for_bound(DType::F64, 1e6 * steady(&noa(DType::F64, 1e6), 0.0).range.unwrap(), Profile::Adaptive)
                .is_none()
        );
    }

    #[test]
    fn what_is_no_data_does_not_count() {
        let values = [300.5f32, 0.0, 301.0, 1e20, f32::NAN, 300.0, 0.0, -0.0, 7.0, -9999.0, 0.0];
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
        let missing = |numbers: &[f64]| {
            let values: Vec<_> = numbers.iter().map(|n| crate::MissingValue::Number(*n)).collect();
            MissingValues::of(&values).unwrap()
        };
        let of = |numbers: &[f64]| {
            let params = Params { big_endian: true, missing: missing(numbers), ..noa(DType::F32, 0.25) };
            let found = measured(params.clone(), &bytes).unwrap();
            assert_eq!(found.missing, params.missing);
            found.range.unwrap()
        };
        let expected = |range| steady(&noa(DType::F32, 0.25), range).range.unwrap();
        assert_eq!(of(&[1e20, -9999.0, 7.0]), expected(1.0));
        assert_eq!(of(&[1e20, -9999.0, 7.0, 301.0]), expected(0.5));
        // Nor does what is equal to an element that is named, beside four that are missing.
        let params =
            Params { big_endian: true, missing: missing(&[1e20, -9999.0, 7.0, 301.0]), ..noa(DType::F32, 0.25) };
        let without = |v: f32| measured_without(params.clone(), &v.to_be_bytes(), &bytes).unwrap().range.unwrap();
        assert_eq!((without(300.0), without(300.5)), (expected(0.0), expected(0.0)));
        let given = Params { range: Some(9.0), ..noa(DType::F32, 0.25) };
        assert_eq!(measured(given.clone(), &bytes).unwrap(), given);
        assert!(measured(noa(DType::F32, 0.25), &[]).is_ok());
    }

    /// What the dataset cannot tell is kept bit for bit; dimensions go to codecs that use them, of any kind of element.
    #[test]
    fn chunks_of_unknown_elements_are_lossless() {
        let request = noa(DType::F32, 1e-3);
        let values = CdValues { request, element: None };
        let found = params(&values, 100).unwrap();
        assert_eq!((found.mode, found.dtype), (Mode::Lossless, DType::U8));
        let shape = |chunk: &[u64], count| {
            let chunk = chunk.to_vec();
            let element = super::super::cd_values::Element {
                dtype: DType::F32,
                big_endian: false,
                fills: vec![],
                bytes: 0,
                lossless: false,
                chunk,
            };
            dims(&CdValues { element: Some(element), ..values.clone() }, count).lens().to_vec()
        };
        assert_eq!((shape(&[4, 5], 20), shape(&[4, 5], 60)), (vec![4, 5], vec![4, 5, 3]));
        assert_eq!((shape(&[4, 5], 21), shape(&[], 7)), (vec![], vec![7]));
    }
}
