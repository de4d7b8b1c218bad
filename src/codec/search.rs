//! The search for missing values that nobody named, on the CPU (docs/format.md §5.1 has the rule, `primitives::marks`
//! tells it). Most arrays have none: they are watched while they are encoded, in the cache, and encoded anew where
//! there may be one.

use std::sync::{Mutex, PoisonError};

use super::Codec;
use crate::bound;
use crate::container::MissingValue;
use crate::container::missing::MAX_MISSING;
use crate::error::{Kind, Result};
use crate::exec::{ExecOptions, Isa};
use crate::host::fpu;
use crate::host::memory::on_heap;
use crate::params::{Mode, Params, Search};
use crate::primitives::marks::{self, Found, MOST_KNOWN};
use crate::primitives::range::{Ends, Watch};
use crate::runtime::cpu;

/// Arrays up to this many bytes are looked at before.
const SMALL: usize = 32 << 10;
/// Of larger ones the first so many bytes of each `GLANCED_OF` tell whether that is worth while.
const GLANCED: usize = 2 << 10;
const GLANCED_OF: usize = 256 << 10;

/// Whether missing values that nobody named are to be searched for: where a bound would blur them, and there is room.
pub fn is_wanted(codec: &dyn Codec, params: &Params) -> Result<bool> {
    let blurs = params.dtype.is_float() && params.mode.has_bound() && params.bound > 0.0;
    let wanted = blurs && params.search == Search::Wanted && codec.finds_marks();
    Ok(wanted && params.missing.of_type(params.dtype)?.len() <= MOST_KNOWN)
}

/// The parameters with what is found in an array, whose bytes are `src`, and the range of all other values; looks at
/// all of it.
pub fn searched(params: &Params, src: &[u8]) -> Result<(Params, Option<(f64, f64)>)> {
    let _fpu = fpu::Guard::standard();
    let (numbers, n) = numbers(params)?;
    let known = &numbers[..n];
    let Some(found) = found(params, known, cpu::survey(params, known, src).ends(), src) else {
        return Ok((done(params, &Found::default())?, None));
    };
    Ok((done(params, &found)?, Some(found.range)))
}

/// Encodes an array, `src`, by `encode`, with what is found in it, and if need be twice.
pub fn compress(
    params: &Params,
    src: &[u8],
    options: ExecOptions,
    mut encode: impl FnMut(&Params, cpu::Encoding) -> Result<usize>,
) -> Result<usize> {
    let _fpu = fpu::Guard::standard();
    let measures = params.mode == Mode::Noa && params.range.is_none();
    if measures || src.len() <= SMALL || looks_like_it(params, src)? {
        let (mut params, range) = searched(params, src)?;
        if measures {
            let range = range.map(|(low, high)| bound::sub_down(high, low));
            params.range = range.filter(|range| *range > 0.0);
        }
        return encode(&params, options.into());
    }
    let watch = &on_heap(Mutex::new(Watch::new(Isa::best(), params.dtype, params.big_endian, &[])))?[0];
    let encoded = encode(params, cpu::Encoding { options, watch: Some(watch) });
    let (numbers, n) = numbers(params)?;
    let known = &numbers[..n];
    let ends = match &encoded {
        Ok(_) => watch.lock().unwrap_or_else(PoisonError::into_inner).ends(),
        // With what is found it may be shorter.
        Err(e) if e.kind == Kind::BufferTooSmall => cpu::survey(params, known, src).ends(),
        Err(_) => return encoded,
    };
    match found(params, known, ends, src) {
        Some(found) if found.is_any() => encode(&done(params, &found)?, options.into()),
        _ => encoded,
    }
}

/// Whether a part of the array makes one expect that all of it has something. Whatever it says, the result is the same.
#[inline(never)]
fn looks_like_it(params: &Params, src: &[u8]) -> Result<bool> {
    let (numbers, n) = numbers(params)?;
    let mut watch = Watch::new(Isa::best(), params.dtype, params.big_endian, &numbers[..n]);
    src.chunks(GLANCED_OF).for_each(|part| watch.see(&part[..part.len().min(GLANCED)]));
    let Some(ends) = watch.ends().filter(|ends| marks::suspects(params.dtype, ends)) else { return Ok(false) };
    let mut fills = [0.0; MOST_KNOWN + 2];
    fills[..n].copy_from_slice(&numbers[..n]);
    fills[n..n + 2].copy_from_slice(&[ends.low, ends.high]);
    Ok(cpu::refutation(params, &fills[..n + 2], src).is_none())
}

/// The missing values that are known, as numbers, and how many there are.
fn numbers(params: &Params) -> Result<([f64; MAX_MISSING], usize)> {
    let missing = params.missing.of_type(params.dtype)?;
    let mut all = [0.0; MAX_MISSING];
    all.iter_mut().zip(missing.bits()).for_each(|(number, bits)| *number = params.dtype.number(*bits));
    Ok((all, missing.len()))
}

/// The parameters with what was found.
fn done(params: &Params, found: &Found) -> Result<Params> {
    let mut with = Params { search: Search::Done { few: found.few }, ..params.clone() };
    for value in found.values() {
        with.missing.push_found(MissingValue::Bits(params.dtype.nearest(*value)))?;
    }
    Ok(with)
}

/// What there is in an array that has these `ends`, where infinities may hide others; `None` if it has no numbers.
#[inline(never)]
fn found(params: &Params, known: &[f64], ends: Option<Ends>, src: &[u8]) -> Option<Found> {
    let (ends, dtype) = (ends?, params.dtype);
    let largest = dtype.number(dtype.nearest(f64::INFINITY) - 1);
    let hidden = ends.low < -largest || ends.high > largest;
    let range = if hidden { cpu::value_range(params, known, src)? } else { (ends.low, ends.high) };
    match hidden || marks::suspects(dtype, &ends) {
        true => Some(marks::search(dtype, known, range, |fills| cpu::look(params, fills, src))),
        false => Some(Found::none(range)),
    }
}
