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
use crate::missing::sentinel;
use crate::params::{Bound, Params};
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
    let _fpu = fpu::Guard::standard();
    if let Some(needed) = target.needs() {
        return fail!(InvalidArgument, "{target}: {needed} is needed");
    }
    let bounded = params.clone().with_bound(Bound::Abs(1.0));
    bounded.check()?;
    let dims = bounded.dims.of_count(elements_of(params, src)?)?;
    let found = sentinel::declared(bounded, src)?;
    // Of an array that was searched: pieces are not searched again, and what was found does not count as named.
    let with = Params { dims, bound: params.bound, ..found };
    let fills = with.missing.numbers(with.dtype)?;
    let range = cpu::value_range(&with, &fills, src).filter(|(low, high)| high > low);
    let range = range.map_or(0.0, |(low, high)| sub_down(high, low));
    let sample = sample::pieces(&dims, with.dtype.size(), src)?;
    let quest = Quest { target, params: &with, range, raw_bytes: src.len() as u64 };
    let asked = params;
    let measure = |params: &Params, parts: &[sample::SamplePiece]| {
        let mut m = Measured::new(&target, range);
        // Nothing is searched for in lossless mode.
        let as_asked = Params { missing: asked.missing, ..params.clone() };
        let params = if params.bound == Bound::Lossless { &as_asked } else { params };
        parts.iter().try_for_each(|part| add(&mut m, params, &fills, part, target))?;
        Ok(m)
    };
    let whole = [sample::SamplePiece { dims, bytes: src }];
    match quest.solve(|params| measure(params, &sample), |params| measure(params, &whole)) {
        Ok(Answer { params: found, .. }) => Ok(Params {
            dims: params.dims,
            missing: params.missing,
            find_fill: params.find_fill,
            exact: params.exact,
            parts: params.parts,
            ..found
        }),
        Err(Failed::Unmet(unmet)) => fail!(InvalidArgument, "{unmet}"),
        Err(Failed::Other(error)) => Err(error),
    }
}

/// Takes in what comes of a piece.
fn add(m: &mut Measured, params: &Params, fills: &[f64], piece: &sample::SamplePiece, target: Target) -> Result<()> {
    let params = Params { dims: piece.dims, ..params.clone() };
    let stream = route::cpu::compress(&params, piece.bytes)?;
    m.add(piece.bytes.len(), stream.len());
    if target.is_of_quality() && params.bound != Bound::Lossless {
        let back = restored(&stream, piece.bytes.len())?;
        m.add_errors(&params, fills, piece.dims.lens(), piece.bytes, &back)?;
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
