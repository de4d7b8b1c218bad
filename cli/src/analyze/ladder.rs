//! A sample compressed with one bound after another.

use sleek::advise::elements;
use sleek::bound::Step;
use sleek::{Bound, Mode, Params, Profile};

use super::sample::Sample;
use super::seen::Grid;
use crate::progress::Progress;

/// A bound whose ratio is not above the lossless one by this factor is too fine to be of use.
const WORTHWHILE: f64 = 1.05;

/// What a bound gives.
pub struct Rung {
    pub mode: Mode,
    /// The bound as it is asked for.
    pub bound: f64,
    /// The same as an absolute one; 0 for lossless and relative bounds.
    pub abs: f64,
    pub ratio: f64,
    /// The same with profile small; `None` where it cannot be asked for.
    pub smallest: Option<f64>,
    pub max_error: f64,
    pub rms_error: f64,
    /// In dB, of the range of the whole field; infinite without errors.
    pub psnr: f64,
}

/// All bounds that make sense for a field.
pub struct Ladder {
    pub lossless: Rung,
    /// Relative to the value range, falling.
    pub range: Vec<Rung>,
    /// At the bound that the digits give, where all values have but so many.
    pub digits: Option<Rung>,
    /// Relative to each value, falling.
    pub relative: Vec<Rung>,
}

impl Ladder {
    /// Tries the bounds. `grid` is what all values are multiples of.
    pub fn climb(sample: &Sample, grid: Option<Grid>, progress: &mut Progress) -> Result<Ladder, String> {
        let base = Params { big_endian: sample.big_endian, missing: sample.missing, ..Params::new(sample.dtype) };
        let lossless = Rung::of(sample, &base, progress)?;
        let bounded = |bound| base.clone().with_bound(bound);
        let digits = grid.map(|grid| Rung::of(sample, &bounded(Bound::Abs(grid.bound())), progress)).transpose()?;
        let value_range = sample.range();
        let noa = |share| {
            let step = Step::for_bound(sample.dtype, sleek::bound::mul_down(share, value_range), Profile::Adaptive);
            step.filter(|_| value_range > 0.0).map(|_| bounded(Bound::Noa { share, range: Some(value_range) }))
        };
        let range = Ladder::until_lossless(sample, &lossless, noa, progress)?;
        let rel = |share| Some(bounded(Bound::Rel(share)));
        let relative = Ladder::until_lossless(sample, &lossless, rel, progress)?;
        Ok(Ladder { lossless, range, digits, relative })
    }

    /// 1e-1, 1e-2 … until one takes as much as no error at all.
    fn until_lossless(
        sample: &Sample,
        lossless: &Rung,
        params: impl Fn(f64) -> Option<Params>,
        progress: &mut Progress,
    ) -> Result<Vec<Rung>, String> {
        let mut rungs = Vec::new();
        for params in (1..=18).filter_map(|e| format!("1e-{e}").parse().ok()).map_while(params) {
            let rung = Rung::of(sample, &params, progress)?;
            if rung.max_error == 0.0 || rung.ratio < WORTHWHILE * lossless.ratio {
                break;
            }
            rungs.push(rung);
        }
        Ok(rungs)
    }
}

impl Rung {
    /// Compresses the sample, and measures what comes back.
    fn of(sample: &Sample, params: &Params, progress: &mut Progress) -> Result<Rung, String> {
        let words = |e: sleek::Error| e.to_string();
        let (mut packed, mut max_error, mut squares, mut count) = (0, 0f64, 0.0, 0u64);
        for (bytes, _) in &sample.pieces {
            let stream = sleek::compress(params, bytes).map_err(words)?;
            packed += stream.len();
            let back = crate::targets::restored(&stream, bytes.len())?;
            elements::for_each_pair(sample.dtype, sample.big_endian, bytes, &back, |(_, v), (_, r)| {
                if sample.counts(v) {
                    let error = (v - r).abs();
                    (max_error, squares, count) = (max_error.max(error), squares + error * error, count + 1);
                }
            });
        }
        progress.add(sample.bytes() as u64);
        let rms_error = (squares / count.max(1) as f64).sqrt();
        Ok(Rung {
            mode: params.bound.mode(),
            bound: params.bound.number(),
            abs: params.bound.absolute().unwrap_or(0.0),
            ratio: sample.bytes() as f64 / packed as f64,
            smallest: Rung::smallest(sample, params)?,
            max_error,
            rms_error,
            psnr: 20.0 * (sample.range() / rms_error).log10(),
        })
    }

    /// The ratio with profile small.
    fn smallest(sample: &Sample, params: &Params) -> Result<Option<f64>, String> {
        let params = Params { profile: Profile::Small, ..params.clone() };
        if sleek::codec::chosen(&params).is_err() {
            return Ok(None);
        }
        let mut packed = 0;
        for (bytes, dims) in &sample.pieces {
            let params = Params { dims: *dims, ..params.clone() };
            packed += sleek::compress(&params, bytes).map_err(|e| e.to_string())?.len();
        }
        Ok(Some(sample.bytes() as f64 / packed as f64))
    }
}
