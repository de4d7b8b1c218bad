//! A search of an array in GPU memory: each look at it is a reduction (`kernels/sentinel`), of which the host reads a
//! few words. One look clears nearly every array that has no undeclared fill value.

use std::cell::Cell;

use super::non_finite::{MOST, Specials};
use super::rule::Others;
use super::{Searched, measured, with_found};
use crate::dtype::DType;
use crate::error::Result;
use crate::exec::WORKSPACE_BYTES;
use crate::params::Params;
use crate::primitives::range::Extremes;
use crate::runtime::cuda::Session;
use crate::runtime::cuda::driver::DeviceScratch;
use crate::runtime::cuda::launch::{LookArgs, PIECE_BYTES, Seen};
use crate::runtime::cuda::module::{Kernel, Loaded, shared};

const _: () = assert!(size_of::<Seen>() <= WORKSPACE_BYTES);

/// The request with what is found in an array ([`super::declared`]), for a call that is to search.
///
/// # Safety
/// `src` holds `count` elements of the request's type in memory of the session's GPU.
pub unsafe fn declared(session: &Session, params: Params, src: *const u8, count: usize) -> Result<Params> {
    let look = kernel(session, params.dtype)?;
    let array = DeviceArray { session, look, src, count: count as u64, least_special: Cell::new(None) };
    measured(with_found(params, &array, true)?)
}

/// The kernel that looks at elements of a float type.
fn kernel(session: &Session, dtype: DType) -> Result<Kernel> {
    const TYPES: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
    static LOADED: Loaded<[Kernel; 4]> = Loaded::none();
    let kernels = LOADED.get(session, shared("sentinel")?, |module| {
        let [a, b, c, d] = TYPES.map(|dtype| module.kernel(dtype.name()));
        Ok([a?, b?, c?, d?])
    })?;
    Ok(kernels[TYPES.iter().position(|of| *of == dtype).unwrap_or_default()])
}

/// An array in GPU memory.
struct DeviceArray<'a> {
    session: &'a Session,
    look: Kernel,
    src: *const u8,
    count: u64,
    /// Bits of the least NaN or infinity, 0 where there is none; once a look told.
    least_special: Cell<Option<u64>>,
}

impl DeviceArray<'_> {
    /// A look beside numbers that do not count, and NaN and infinities up to the bits `above`.
    fn look(&self, params: &Params, fills: &[f64], above: u64) -> Result<Seen> {
        let mut seen = Seen::ZERO;
        if self.count > 0 {
            let mut workspace = DeviceScratch::take(self.session, WORKSPACE_BYTES)?;
            let args = LookArgs {
                src: self.src,
                count: self.count,
                fills: std::array::from_fn(|k| fills.get(k).map_or(0, |fill| params.dtype.nearest(*fill))),
                above,
                seen: workspace.start().cast(),
                values: fills.len() as u32,
                big_endian: params.big_endian.into(),
            };
            let pieces = (self.count * params.dtype.size() as u64).div_ceil(PIECE_BYTES);
            // SAFETY: the contract of `declared`; workspace and local live until the wait is over.
            unsafe {
                self.session.clear(workspace.start(), size_of::<Seen>())?;
                self.look.launch(self.session, self.look.blocks_each(1, pieces), &args)?;
                self.session.copy((&raw mut seen).cast(), workspace.start(), size_of::<Seen>())?;
            }
            self.session.wait()?;
            workspace.done();
        }
        if above == 0 {
            self.least_special.set(Some(special(params.dtype, &seen)));
        }
        Ok(seen)
    }
}

/// The number of a key of `plan.cuh`.
fn number(dtype: DType, key: u64) -> f64 {
    match dtype {
        DType::F64 => f64::from_bits(if key >> 63 == 1 { key ^ 1 << 63 } else { !key }),
        _ => {
            let key = key as u32;
            f32::from_bits(if key >> 31 == 1 { key ^ 1 << 31 } else { !key }).into()
        }
    }
}

/// Smallest and largest number that two keys tell of, if there is one.
fn range(dtype: DType, [largest, inverted]: [u64; 2]) -> Option<(f64, f64)> {
    let all = if dtype == DType::F64 { u64::MAX } else { u32::MAX.into() };
    (largest > 0 && inverted > 0).then(|| (number(dtype, all - inverted), number(dtype, largest)))
}

/// Bits of the least NaN or infinity that was seen, 0 for none.
fn special(dtype: DType, seen: &Seen) -> u64 {
    seen.special.wrapping_neg() & (u64::MAX >> (64 - 8 * dtype.size()))
}

impl Searched for DeviceArray<'_> {
    fn extremes(&self, params: &Params, known: &[f64]) -> Result<Option<Extremes>> {
        let seen = self.look(params, known, 0)?;
        let Some(ends) = range(params.dtype, seen.ends) else { return Ok(None) };
        let is_between = |v: f64| ends.0 < v && v < ends.1;
        let between = range(params.dtype, seen.between).filter(|(low, high)| is_between(*low) && is_between(*high));
        Ok(Some(Extremes { ends, between: between.map(|(low, high)| (low.min(high), low.max(high))) }))
    }

    fn others(&self, params: &Params, fills: &[f64], ends: [f64; 2], _: Option<(f64, f64)>) -> Result<Others> {
        let seen = self.look(params, fills, 0)?;
        let count = |end: f64| fills.iter().position(|fill| *fill == end).map_or(0, |k| seen.counts[k]);
        Ok(Others { range: range(params.dtype, seen.ends), repeats: ends.map(|end| count(end) > 1) })
    }

    fn specials(&self, params: &Params) -> Result<Specials> {
        let next_above = |bits: u64| Ok(special(params.dtype, &self.look(params, &[], bits)?));
        let mut all = Specials::default();
        let mut next = self.least_special.get().map_or_else(|| next_above(0), Ok)?;
        while next > 0 {
            all.push(next);
            next = if all.bits().len() < MOST { next_above(next)? } else { 0 };
        }
        Ok(all)
    }
}
