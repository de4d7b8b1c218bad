//! Requests for chunks that are restored, changed and compressed again, as HDF5 and Zarr do.

use super::cpu::Request;
use crate::bound;
use crate::dtype::{DType, element_bits};
use crate::error::Result;
use crate::host::fpu;
use crate::host::memory::{Heap, reserve};
use crate::missing::MAX_MISSING;
use crate::missing::sentinel;
use crate::params::{Bound, Params};
use crate::runtime::cpu;

/// What a request asks of the chunk `src`, with the value range that `noa` takes where none is given; `None` if it is
/// what stands there. Never inlined, so that nothing of it stays on the stack.
///
/// What is no data must not count. The missing values do not. Where nobody has set a fill value, HDF5 puts zeros into
/// the rim of partial chunks and wherever nothing was written yet, and nothing tells them from data: so zeros do not
/// count either. Where they are data, that only tightens the bound.
///
/// What has no bearing on the range is left to the encoder to search for.
#[inline(never)]
pub fn measured(request: Request, src: &[u8]) -> Result<Option<Heap<Params>>> {
    if !request.params.bound.measures() {
        return Ok(None);
    }
    let params = request.params.clone();
    let declared = match sentinel::is_wanted(&params)? && request.sample(src)?.is_some() {
        true => sentinel::declared_but_specials(params, src)?,
        false => sentinel::declared_with_range(params, src)?,
    };
    Heap::new(with_range(declared, &[], src)?).map(Some)
}

/// What `params` ask of `src`, one chunk of an array whose chunks are changed and compressed again, as in Zarr. `Noa`
/// without a range takes the range of this chunk. Missing values and zeros do not count for it, nor do values equal to
/// the last element, which may be padding. The step is a power of two, so the bound holds however often the chunk is
/// written.
pub fn of_chunk(params: Params, src: &[u8]) -> Result<Params> {
    if !params.bound.measures() {
        return sentinel::declared(params, src);
    }
    let last = params.dtype.size().min(src.len());
    with_range(sentinel::declared_with_range(params, src)?, &src[src.len() - last..], src)
}

/// A request of mode noa with the range of what counts. `range` is that of all that is not declared, if it is known;
/// what is equal to `element`, the bytes of one or of none, does not count either.
fn with_range((params, range): (Params, Option<(f64, f64)>), element: &[u8], src: &[u8]) -> Result<Params> {
    let _fpu = fpu::Guard::standard();
    let mut outside = Vec::new();
    reserve(&mut outside, 2 + MAX_MISSING)?;
    outside.push(0.0);
    outside.extend(numbers_of(&params, element));
    // What does not count and lies between others changes nothing.
    let range = match range.filter(|(lo, hi)| !outside.contains(lo) && !outside.contains(hi)) {
        Some(range) => Some(range),
        None => {
            outside.extend(params.missing.numbers(params.dtype)?);
            extremes(&params, &outside, src)?
        }
    };
    let range = range.map_or(0.0, |(lo, hi)| bound::sub_down(hi, lo));
    let bound = steady(params.dtype, params.bound.number(), range);
    Ok(Params { rewritten: true, ..params.with_bound(bound) })
}

/// The numbers of an array's elements.
fn numbers_of(params: &Params, src: &[u8]) -> impl Iterator<Item = f64> {
    let number = |element| params.dtype.number(element_bits(element, params.big_endian));
    src.chunks_exact(params.dtype.size()).map(number)
}

/// Smallest and largest number of `src` that is none of `outside`.
fn extremes(params: &Params, outside: &[f64], src: &[u8]) -> Result<Option<(f64, f64)>> {
    let mut fills: Vec<f64> = Vec::new();
    reserve(&mut fills, outside.len())?;
    for number in outside.iter().filter(|number| number.is_finite()) {
        if !fills.contains(number) {
            fills.push(*number);
        }
    }
    if fills.len() <= MAX_MISSING {
        return Ok(cpu::value_range(params, &fills, src));
    }
    // One more than the fast way takes.
    let counted = numbers_of(params, src).filter(|v| v.is_finite() && !fills.contains(v));
    Ok(counted.fold(None, |range, v| Some(range.map_or((v, v), |(lo, hi): (f64, f64)| (lo.min(v), hi.max(v))))))
}

/// `noa` for a chunk of this range with a step that is a power of two, at most bound × range.
///
/// HDF5 writes a chunk again and again: when it grows, when a part of it changes, when it leaves the cache in between.
/// Each time what it restored is rounded anew. A step that is the largest there was, or finer, changes nothing; of
/// coarser ones each is at least twice the one before, so all errors together, s/2 + s/4 + …, stay below the largest
/// step. That is why the step is at most the bound, rather than twice as much. The range is of restored values, each of
/// which may lie beyond the original by as much: hence the bound is divided by 1 + 2 × bound. Of codec interp a finer
/// step may have no lattice where a coarser one had; [`Params::rewritten`] has it see to that.
fn steady(dtype: DType, share: f64, range: f64) -> Bound {
    let most = bound::mul_down((share / (1.0 + 2.0 * share)).next_down().max(0.0), range);
    // Half of the largest power of two that is at most `most`, and that the type's steps can have.
    let exponent = (most.to_bits() >> 52) as i32 - 1023 - 1;
    let half = bound::exp2(exponent.clamp(-1022, i32::from(*bound::step_range(dtype).end()) + 1));
    // The header's bound times this range gives that.
    let mut range = half / share;
    if most < 4.0 * f64::MIN_POSITIVE || range < f64::MIN_POSITIVE {
        // Every value is the same, or nearly: a bound that no step can have keeps every bit.
        return Bound::Noa { share: share.min(1.0), range: Some(f64::from_bits(1)) };
    }
    while bound::mul_down(share, range) < half {
        range = range.next_up();
    }
    Bound::Noa { share, range: Some(range) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::Step;
    use crate::params::Profile;

    #[test]
    fn steps_are_powers_of_two_and_at_most_the_bound() {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            for profile in [Profile::Adaptive, Profile::Fast] {
                for bound in [0.0, 1e-9, 1e-4, 0.003, 0.1, 0.5, 2.0, 1e6] {
                    let mut range = 0.0;
                    while range < 1e305 {
                        let steady = steady(dtype, bound, range);
                        Params::new(dtype).with_bound(steady).check().unwrap();
                        let abs = bound::mul_down(steady.number(), steady.range().unwrap());
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
        let tiny = 1e6 * steady(DType::F64, 1e6, 0.0).range().unwrap();
        assert!(Step::for_bound(DType::F64, tiny, Profile::Adaptive).is_none());
    }
}
