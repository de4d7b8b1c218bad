//! Undeclared fill values, such as -9999 among values from 0 to 1: one pass over an array before it is encoded
//! (docs/reference/format.md §5.1). What is found is declared like any other missing value.
//!
//! A codec that tells by the way what all elements lie between spares most arrays that pass: a few lines of an array
//! then say that no mark can lie there.
//!
//! The pass takes the smallest and the largest value, and some between them, which clear both ends in nearly every
//! array without any. Only where an end is not cleared is a closer look taken, as far as it takes to clear it.
//! NaN and infinities are found besides, by their bits.

#[allow(unsafe_code)] // looks at memory of a GPU
#[cfg(feature = "cuda")]
pub mod gpu;
mod non_finite;
pub mod rule;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bound::sub_down;
use crate::dtype::DType;
use crate::error::Result;
use crate::host::fpu;
use crate::missing::MAX_MISSING;
use crate::missing::MissingValue;
use crate::params::{Mode, Params};
use crate::primitives::range::{self, Ends, Extremes};
use crate::runtime::cpu::of_pieces;
use non_finite::Specials;
use rule::{Found, MOST_KNOWN, Others};

/// Whether a call is to search: it is asked to, elements may change, and there is room for what may be found. Under a
/// rate nothing is searched for: that is a size, which masks would exceed.
pub fn is_wanted(params: &Params) -> Result<bool> {
    let mode = params.bound.mode();
    let may_change = matches!(mode, Mode::Abs | Mode::Noa | Mode::Rel | Mode::Precision) && params.bound.number() > 0.0;
    let asked = params.find_fill == Some(true) && params.dtype.is_float();
    Ok(asked && may_change && params.missing.of_type(params.dtype)?.len() <= MOST_KNOWN)
}

/// The request with what is found in an array, whose bytes are `src`, if the call is to search; with the range of all
/// other values where that is to be measured.
pub fn declared(params: Params, src: &[u8]) -> Result<Params> {
    measured(declared_with_range(params, src)?)
}

/// A request whose bound is taken of the range beside it, where that is to be measured.
fn measured((mut params, range): (Params, Option<(f64, f64)>)) -> Result<Params> {
    if params.bound.measures() {
        let range = range.map(|(low, high)| sub_down(high, low));
        params.bound = params.bound.of_range(range.filter(|range| *range > 0.0));
    }
    Ok(params)
}

/// The same, and the smallest and the largest of all other values, if they are known then.
pub fn declared_with_range(params: Params, src: &[u8]) -> Result<(Params, Option<(f64, f64)>)> {
    match is_wanted(&params)? && src.len().is_multiple_of(params.dtype.size()) {
        true => with_found(params, &HostArray::new(src, true), true),
        false => Ok((params, None)),
    }
}

/// The same where an encoder tells whether there is anything but numbers.
pub fn declared_but_specials(params: Params, src: &[u8]) -> Result<(Params, Option<(f64, f64)>)> {
    with_found(params, &HostArray::new(src, false), false)
}

/// The same of an array wherever it lies, for a call that is to search; what is no number may be known to be nowhere.
fn with_found(mut params: Params, array: &impl Searched, specials: bool) -> Result<(Params, Option<(f64, f64)>)> {
    let found = search_in(&params, array)?;
    if specials || found.few || !found.values().is_empty() {
        declare(&mut params, &found, array)?;
    }
    Ok((params, found.range))
}

/// Adds to a request what was found, and what is no number.
fn declare(params: &mut Params, found: &Found, array: &impl Searched) -> Result<()> {
    params.find_fill = Some(false);
    params.exact = found.few;
    for value in found.values() {
        params.missing.push_found(MissingValue::Bits(params.dtype.nearest(*value)))?;
    }
    let known = params.missing.of_type(params.dtype)?;
    let specials = array.specials(params)?;
    let others = specials.bits().iter().filter(|bits| !known.bits().contains(bits));
    for bits in others.take(MAX_MISSING - known.len()) {
        params.missing.push_found(MissingValue::Bits(*bits))?;
    }
    Ok(())
}

/// Bytes of an array that are looked at together.
const PART: usize = 4 << 10;
/// From one of these to the next one, since values far from each other are likelier to differ.
const STRIDE: usize = 16;

/// What some elements say of an array, from all over it and without a sign of what is searched for.
pub struct ElementSample {
    /// Smallest and largest of some of them that are at no end.
    between: (f64, f64),
}

impl ElementSample {
    /// Elements that are looked at, in rows, for the compiler to make vectors of.
    const COUNT: usize = 64;
    const ROW: usize = 8;

    /// Of an array; `None` if it has a sign of what is searched for, or is so short that a search costs no more.
    pub fn of(params: &Params, src: &[u8]) -> Result<Option<ElementSample>> {
        if src.len() < 8 << 10 {
            return Ok(None);
        }
        let _fpu = fpu::Guard::standard();
        let (dtype, big_endian) = (params.dtype, params.big_endian);
        let mut values = match dtype {
            DType::F32 => some_of(src, big_endian, |bytes| f32::from_le_bytes(bytes).into()),
            DType::F64 => some_of(src, big_endian, f64::from_le_bytes),
            _ => some_of(src, big_endian, |bytes| dtype.number(u16::from_le_bytes(bytes).into())),
        };
        if values.iter().any(|v| !v.is_finite()) {
            return Ok(None);
        }
        let (known, n) = known(params)?;
        for known in &known[..n] {
            // No comparison is true of NaN.
            values.iter_mut().for_each(|v| *v = if v == known { f64::NAN } else { *v });
        }
        let [least, most] = columns(&values);
        let low = least.into_iter().fold(f64::INFINITY, f64::min);
        let high = most.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let inner = || least.into_iter().chain(most).filter(|v| low < *v && *v < high);
        let between = (inner().fold(f64::INFINITY, f64::min), inner().fold(f64::NEG_INFINITY, f64::max));
        if rule::are_cleared(dtype, [low, high], between) {
            return Ok(Some(ElementSample { between }));
        }
        Ok(ElementSample::of_parts(params, &known[..n], src))
    }

    /// The same by parts from all over an array: of few elements the ends often lie apart from the others.
    fn of_parts(params: &Params, known: &[f64], src: &[u8]) -> Option<ElementSample> {
        const PARTS: usize = 64;
        let stride = (src.len() / (PARTS * PART)).max(STRIDE);
        let mut seen = Seen::default();
        src.chunks(PART).step_by(stride).for_each(|part| seen.add(params, known, true, part));
        let Extremes { ends, between } = seen.extremes.filter(|_| seen.specials.bits().is_empty())?;
        let between = between.filter(|some| rule::are_cleared(params.dtype, ends.into(), *some))?;
        Some(ElementSample { between })
    }

    /// Whether there is nothing to be found in the array, of which no number lies beyond `ends`: by the sample, or by a
    /// part of the array.
    pub fn clears(&self, params: &Params, ends: Ends, src: &[u8]) -> Result<bool> {
        let _fpu = fpu::Guard::standard();
        let is_clear = |between| rule::are_too_near(params.dtype, ends, between);
        if !ends.are_numbers() || is_clear(self.between) {
            return Ok(ends.are_numbers());
        }
        let ((known, n), mut seen) = (known(params)?, None);
        for part in src.chunks(PART).step_by(STRIDE) {
            seen = Extremes::join(seen, range::extremes(params.dtype, params.big_endian, &known[..n], part));
            if seen.and_then(|seen| seen.between).is_some_and(is_clear) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Elements from all over an array.
fn some_of<const N: usize>(
    src: &[u8],
    big_endian: bool,
    number: impl Fn([u8; N]) -> f64,
) -> [f64; ElementSample::COUNT] {
    let elements = src.as_chunks::<N>().0;
    // Odd, or all would come from one column of an array whose rows have a power of two.
    let stride = (elements.len() / ElementSample::COUNT).saturating_sub(1) | 1;
    std::array::from_fn(|k| {
        let mut element = elements[k * stride];
        if big_endian {
            element.reverse();
        }
        number(element)
    })
}

/// Smallest and largest number of each column of a sample.
fn columns(values: &[f64; ElementSample::COUNT]) -> [[f64; ElementSample::ROW]; 2] {
    let [mut least, mut most] = [[f64::INFINITY; ElementSample::ROW], [f64::NEG_INFINITY; ElementSample::ROW]];
    for row in values.as_chunks::<{ ElementSample::ROW }>().0 {
        for k in 0..ElementSample::ROW {
            least[k] = if row[k] < least[k] { row[k] } else { least[k] };
            most[k] = if row[k] > most[k] { row[k] } else { most[k] };
        }
    }
    [least, most]
}

/// The missing values that are declared, as numbers, and how many they are.
fn known(params: &Params) -> Result<([f64; MAX_MISSING], usize)> {
    let missing = params.missing.of_type(params.dtype)?;
    let mut known = [0.0; MAX_MISSING];
    known.iter_mut().zip(missing.bits()).for_each(|(number, bits)| *number = params.dtype.number(*bits));
    Ok((known, missing.len()))
}

/// An array that is searched, wherever it lies; a request says what its elements are.
trait Searched {
    /// Smallest and largest number beside those that are `known`, and some between.
    fn extremes(&self, params: &Params, known: &[f64]) -> Result<Option<Extremes>>;
    /// What there is beside `fills`, of which two are the ends: no more than it takes to clear them. The range of some
    /// of it may be known.
    fn others(&self, params: &Params, fills: &[f64], ends: [f64; 2], some: Option<(f64, f64)>) -> Result<Others>;
    /// The NaN and infinities, which are no data wherever they stand.
    fn specials(&self, params: &Params) -> Result<Specials>;
}

/// The undeclared fill values of an array.
pub fn search(params: &Params, src: &[u8]) -> Result<Found> {
    search_in(params, &HostArray::new(src, false))
}

fn search_in(params: &Params, array: &impl Searched) -> Result<Found> {
    let _fpu = fpu::Guard::standard();
    let (known, n) = known(params)?;
    let known = &known[..n];
    let Some(Extremes { ends, between }) = array.extremes(params, known)? else { return Ok(Found::default()) };
    if between.is_some_and(|some| rule::are_cleared(params.dtype, ends.into(), some)) {
        return Ok(Found::nothing(ends));
    }
    rule::search(params.dtype, params.bound, known, ends, |fills, of| {
        let some = between.filter(|_| of == <[f64; 2]>::from(ends));
        array.others(params, fills, of, some)
    })
}

/// What a look at elements tells.
#[derive(Clone, Copy, Default)]
struct Seen {
    extremes: Option<Extremes>,
    specials: Specials,
}

impl Seen {
    /// With these, beside numbers that are `known`; with NaN and infinities only where they are asked for.
    fn add(&mut self, params: &Params, known: &[f64], with_specials: bool, bytes: &[u8]) {
        /// What the second cache holds besides other things, so that memory is read once.
        const PIECE: usize = 64 << 10;
        for piece in bytes.chunks(PIECE) {
            let extremes = range::extremes(params.dtype, params.big_endian, known, piece);
            self.extremes = Extremes::join(self.extremes, extremes);
            if with_specials {
                self.specials.add(params.dtype, params.big_endian, piece);
            }
        }
    }

    fn join(&mut self, others: &Seen) {
        self.extremes = Extremes::join(self.extremes, others.extremes);
        self.specials.join(&others.specials);
    }
}

/// In host memory.
struct HostArray<'a> {
    bytes: &'a [u8],
    /// Whether the first look asks for NaN and infinities.
    with_specials: bool,
    /// They, once a look told.
    specials: Cell<Option<Specials>>,
}

impl HostArray<'_> {
    fn new(bytes: &[u8], with_specials: bool) -> HostArray<'_> {
        HostArray { bytes, with_specials, specials: Cell::new(None) }
    }
}

impl Searched for HostArray<'_> {
    fn extremes(&self, params: &Params, known: &[f64]) -> Result<Option<Extremes>> {
        let with_specials = self.with_specials;
        let add = |own: &mut Seen, piece: &[u8]| own.add(params, known, with_specials, piece);
        let seen = of_pieces(params.threads, self.bytes, Seen::default(), add, Seen::join);
        self.specials.set(with_specials.then_some(seen.specials));
        Ok(seen.extremes)
    }

    fn others(&self, params: &Params, fills: &[f64], ends: [f64; 2], some: Option<(f64, f64)>) -> Result<Others> {
        let (dtype, big_endian) = (params.dtype, params.big_endian);
        let are_cleared = AtomicBool::new(false);
        let see = |own: &mut Option<_>, piece: &[u8]| {
            let parts = (0..STRIDE).flat_map(|first| piece.chunks(PART).skip(first).step_by(STRIDE));
            for part in parts.take_while(|_| !are_cleared.load(Ordering::Relaxed)) {
                *own = range::join(*own, range::value_range(dtype, big_endian, fills, part));
                if own.is_some_and(|range| rule::are_cleared(dtype, ends, range)) {
                    are_cleared.store(true, Ordering::Relaxed);
                }
            }
        };
        let range = of_pieces(params.threads, self.bytes, some, see, |whole, own| *whole = range::join(*whole, *own));
        let may_repeat = range.is_some_and(|range| rule::asks_for_repeats(dtype, ends, range));
        Ok(Others { range, repeats: if may_repeat { repeats(params, ends, self.bytes) } else { [true; 2] } })
    }

    fn specials(&self, params: &Params) -> Result<Specials> {
        let add = |own: &mut Specials, piece: &[u8]| own.add(params.dtype, params.big_endian, piece);
        let all = || of_pieces(params.threads, self.bytes, Specials::default(), add, Specials::join);
        Ok(self.specials.get().unwrap_or_else(all))
    }
}

/// Whether each of two values is there more than once.
fn repeats(params: &Params, values: [f64; 2], src: &[u8]) -> [bool; 2] {
    let count = |piece: &[u8]| values.map(|value| rule::count(params.dtype, params.big_endian, value, piece));
    let sum = |a: &mut [usize; 2], b: [usize; 2]| (0..2).for_each(|k| a[k] += b[k]);
    let counts =
        of_pieces(params.threads, src, [0; 2], |own, piece| sum(own, count(piece)), |whole, own| sum(whole, *own));
    counts.map(|count| count > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(dtype: DType, values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|v| dtype.nearest(*v).to_le_bytes()[..dtype.size()].to_vec()).collect()
    }

    #[test]
    fn a_doubt_of_few_elements_is_cleared_by_parts() {
        let sample = |values: &[f64]| {
            let params = Params::new(DType::F64);
            let src = bytes(DType::F64, values);
            let sample = ElementSample::of(&params, &src).unwrap()?;
            let (low, high) = range::value_range(DType::F64, false, &[], &src).unwrap();
            Some(sample.clears(&params, Ends { low, high }, &src).unwrap())
        };
        // Most are 0; of 64 elements one may be far from the others, of all none is.
        let rare = |i: usize| if i.is_multiple_of(61) { (i % 1000) as f64 } else { 0.0 };
        let mut values: Vec<f64> = (0..200_000).map(rare).collect();
        assert_eq!(sample(&values), Some(true));
        values[98_304..99_304].fill(-9999.0);
        assert_eq!(sample(&values), None);
        values[98_304..99_304].fill(f64::NAN);
        assert_eq!(sample(&values), None);
        values[98_304..99_304].fill(0.0);
        values[150_001] = 1e20;
        assert_eq!(sample(&values), Some(false));
    }

    #[test]
    fn a_constant_column_is_not_all_of_a_sample() {
        let value = |i: usize| if i.is_multiple_of(1024) { 0.0 } else { (i as f64 * 0.001).sin() };
        let array = bytes(DType::F32, &(0..128 << 10).map(value).collect::<Vec<_>>());
        assert!(ElementSample::of(&Params::new(DType::F32), &array).unwrap().is_some());
    }
}
