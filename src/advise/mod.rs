//! Advice on a request: the bound that meets a target.

pub mod elements;
mod measured;
mod quest;
mod sample;
mod search;
pub mod ssim;
mod target;

pub use measured::{Measured, restored};
pub use quest::{Answer, Failed, Quest, Unmet};
pub use target::Target;

use crate::bound::sub_down;
use crate::error::{Result, fail};
use crate::host::fpu;
use crate::host::memory::Heap;
use crate::missing::sentinel;
use crate::params::{Bound, MissingValues, Params};
use crate::route;
use crate::runtime::cpu;

/// The request with the bound that meets a target on the array `src`: absolute, or lossless.
///
/// Of `params` count all but mode, bound and range. The bound is searched for on a sample, then tried on the whole
/// array. A ratio or a size is exceeded by 2 % at most, where a bound gives that. A PSNR is 20 log10 of value range
/// over root mean square error. An SSIM is the mean over windows of 8 × 8 values. NaN, infinities and missing values do
/// not count.
///
/// A target that no bound meets is an error, which names the nearest one that can be met.
pub fn find_bound(params: &Params, src: &[u8], target: Target) -> Result<Params> {
    Ok(params.clone().with_bound(bound_for(params, src, target)?))
}

/// The same bound alone.
pub fn bound_for(params: &Params, src: &[u8], target: Target) -> Result<Bound> {
    let _fpu = fpu::Guard::standard();
    if let Some(needed) = target.needs() {
        return fail!(InvalidArgument, "{target}: {needed} is needed");
    }
    let with = &*declared(params, src)?;
    let fills = with.missing.numbers(with.dtype)?;
    let range = cpu::value_range(with, &fills, src).filter(|(low, high)| high > low);
    let range = range.map_or(0.0, |(low, high)| sub_down(high, low));
    let sample = sample::pieces(&with.dims, with.dtype.size(), src)?;
    let quest = Quest { target, range, raw_bytes: src.len() as u64 };
    let measure = |bound, parts: &[sample::SamplePiece]| {
        let mut m = Measured::new(&target, range);
        // Nothing is searched for in lossless mode.
        let missing = if bound == Bound::Lossless { &params.missing } else { &with.missing };
        parts.iter().try_for_each(|part| add(&mut m, &*of_piece(with, missing, bound, part)?, &fills, part, target))?;
        Ok(m)
    };
    let whole = [sample::SamplePiece { dims: with.dims, bytes: src }];
    match quest.solve(|bound| measure(bound, &sample), |bound| measure(bound, &whole)) {
        Ok(answer) => Ok(answer.bound),
        Err(Failed::Unmet(unmet)) => fail!(InvalidArgument, "{unmet}"),
        Err(Failed::Other(error)) => Err(error),
    }
}

/// The request with what is found in the array. Takes nothing of the caller's stack; never inlined, so that nothing of
/// the way there stays either.
#[inline(never)]
fn declared(params: &Params, src: &[u8]) -> Result<Heap<Params>> {
    let bounded = params.clone().with_bound(Bound::Abs(1.0));
    bounded.check()?;
    let dims = bounded.dims.of_count(elements_of(params, src)?)?;
    // Of an array that was searched: pieces are not searched again, and what was found does not count as named.
    Heap::new(Params { dims, ..sentinel::declared(bounded, src)? })
}

/// The request for a piece; never inlined, as `declared`.
#[inline(never)]
fn of_piece(
    params: &Params,
    missing: &MissingValues,
    bound: Bound,
    piece: &sample::SamplePiece,
) -> Result<Heap<Params>> {
    Heap::new(Params { dims: piece.dims, missing: *missing, ..params.clone() }.with_bound(bound))
}

/// Takes in what comes of a piece.
fn add(m: &mut Measured, params: &Params, fills: &[f64], piece: &sample::SamplePiece, target: Target) -> Result<()> {
    let stream = route::cpu::compress(params, piece.bytes)?;
    m.add(piece.bytes.len(), stream.len());
    if target.is_of_quality() && params.bound != Bound::Lossless {
        let back = restored(&stream, piece.bytes.len())?;
        m.add_errors(params, fills, piece.dims.lens(), piece.bytes, &back)?;
    }
    Ok(())
}

/// How many elements an array has.
fn elements_of(params: &Params, src: &[u8]) -> Result<u64> {
    let size = params.dtype.size();
    if !src.len().is_multiple_of(size) {
        return fail!(InvalidArgument, "{} bytes; elements of {} have {size}", src.len(), params.dtype.name());
    }
    Ok((src.len() / size) as u64)
}
