//! The search for missing values that nobody named, on the CPU (docs/reference/format.md §5.1 has the rule,
//! `primitives::marks` tells it). Most arrays have none: they are watched while they are encoded, in the cache, and
//! encoded anew where there may be one.

use std::sync::{Mutex, PoisonError};

use crate::bound;
use crate::container::MissingValue;
use crate::container::missing::MAX_MISSING;
use crate::error::{Kind, Result};
use crate::exec::{ExecOptions, Isa};
use crate::host::fpu;
use crate::host::memory::Heap;
use crate::params::{Params, Search};
use crate::primitives::marks::{self, Found, MOST_KNOWN};
use crate::primitives::range::{Ends, Watch};
use crate::runtime::cpu::{self, Verdict, Watched};

/// The first so many bytes of each `GLANCED_OF` tell whether it is worth while to look at all of an array before.
const GLANCED: usize = 1 << 10;
const GLANCED_OF: usize = 256 << 10;

/// Whether missing values that nobody named are to be searched for: where a codec searches, it would blur them, and
/// there is room.
pub fn is_wanted(codec_searches: bool, params: &Params) -> Result<bool> {
    let blurs = params.dtype.is_float() && params.bound.number() > 0.0;
    let wanted = blurs && params.search == Search::Wanted && codec_searches;
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
#[inline(never)]
pub fn compress(
    params: &Params,
    src: &[u8],
    options: ExecOptions,
    mut encode: impl FnMut(&Params, cpu::Encoding) -> Result<usize>,
) -> Result<usize> {
    let _fpu = fpu::Guard::standard();
    let measures = params.bound.measures();
    if measures || looks_like_it(params, src)? {
        return encode(&*with_range(params, measures, src)?, options.into());
    }
    let watch = &Mutex::new(Watched::new(params.dtype, params.big_endian));
    let encoded = encode(params, cpu::Encoding { options, watch: Some(watch) });
    let watched = match &encoded {
        Ok(_) => Some(watch),
        // With what is found it may be shorter.
        Err(e) if e.kind == Kind::BufferTooSmall => None,
        Err(_) => return encoded,
    };
    match behind(params, watched, src)? {
        Some(with) => encode(&with, options.into()),
        None => encoded,
    }
}

/// The parameters with what is found in an array, and the range of all else if it is to be measured. Never inlined, as
/// what follows: what they move is not to lie on the stack while an array is encoded.
#[inline(never)]
fn with_range(params: &Params, measures: bool, src: &[u8]) -> Result<Heap<Params>> {
    let (mut params, range) = searched(params, src)?;
    if measures {
        let range = range.map(|(low, high)| bound::sub_down(high, low));
        params.bound = params.bound.of_range(range.filter(|range| *range > 0.0));
    }
    Heap::new(params)
}

/// The parameters with what there is in an array that was watched, if there is anything.
#[inline(never)]
fn behind(params: &Params, watched: Option<&Mutex<Watched>>, src: &[u8]) -> Result<Option<Heap<Params>>> {
    let (numbers, n) = numbers(params)?;
    let known = &numbers[..n];
    let verdict = watched
        .map_or(Verdict::Unknown, |watched| watched.lock().unwrap_or_else(PoisonError::into_inner).verdict(known, src));
    let ends = match verdict {
        Verdict::NoMarks => return Ok(None),
        Verdict::Ends(ends) => Some(ends),
        Verdict::Unknown => cpu::survey(params, known, src).ends(),
    };
    match found(params, known, ends, src) {
        Some(found) if found.is_any() => Heap::new(done(params, &found)?).map(Some),
        _ => Ok(None),
    }
}

/// Whether there seems to be a usual mark, or nothing but two values, in some parts of a large array. Whatever they
/// say, the result is the same.
#[inline(never)]
fn looks_like_it(params: &Params, src: &[u8]) -> Result<bool> {
    if src.len() < GLANCED_OF {
        return Ok(false);
    }
    let (numbers, n) = numbers(params)?;
    let known = &numbers[..n];
    let mut watch = Watch::new(Isa::best(), params.dtype, params.big_endian, known);
    src.chunks(GLANCED_OF).for_each(|part| watch.see(&part[..part.len().min(GLANCED)]));
    let Some(ends) = watch.ends() else { return Ok(false) };
    let are_few = marks::are_few(&ends);
    if !are_few && marks::may_be(params.dtype, &ends, [false; 2]) == [false; 2] {
        return Ok(false);
    }
    let (mut fills, n) = ([0.0; MOST_KNOWN + 2], known.len());
    fills[..n].copy_from_slice(known);
    fills[n..n + 2].copy_from_slice(&[ends.low, ends.high]);
    let others = cpu::sample_without(params, &fills[..n + 2], src);
    Ok(others.is_none_or(|others| !are_few && !marks::are_none(params.dtype, [ends.low, ends.high], others)))
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
