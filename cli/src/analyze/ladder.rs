//! A sample compressed with one bound after another.

use std::time::Instant;

use sleek::bound::Step;
use sleek::{Bound, Mode, Params, Profile};

use super::sample::Sample;
use super::seen::Grid;
use crate::progress::Progress;
use crate::quality::{Figures, Quality, Wanted};
use sleek::advise::elements;

/// Each bound is tried so often, and the fastest counts.
const ROUNDS: usize = 3;
/// A bound whose ratio is not above the lossless one by this factor is too fine to be of use.
const WORTHWHILE: f64 = 1.05;
/// What a bound gives.
#[derive(Clone, Debug)]
pub struct Rung {
    pub mode: Mode,
    /// The bound as it is asked for.
    pub bound: f64,
    /// The same as an absolute one; 0 for lossless and relative bounds.
    pub abs: f64,
    pub ratio: f64,
    /// The same with profile small; `None` where it cannot be asked for.
    pub smallest: Option<f64>,
    /// Of the compressed sample, for each value.
    pub bits: f64,
    pub max_error: f64,
    /// The largest |v − r| / |v|.
    pub max_relative: f64,
    pub rms_error: f64,
    /// In dB, of the range of the whole field; infinite without errors.
    pub psnr: f64,
    /// If they are asked for.
    pub figures: Option<Figures>,
    /// Bytes of data in a second.
    pub compress_speed: f64,
    pub decompress_speed: f64,
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
    /// Tries the bounds. `grid` is what all values are multiples of. If it is to be `brief` only what the advice needs
    /// is tried.
    pub fn climb(
        sample: &Sample,
        grid: Option<Grid>,
        (brief, takes_figures): (bool, bool),
        progress: &mut Progress,
    ) -> Result<Ladder, String> {
        let before: Vec<Vec<f64>> = sample.pieces.iter().map(|p| sample.values(p)).collect();
        let mut trial = RungTrial { sample, before, takes_figures, progress };
        let base = Params { big_endian: sample.big_endian, missing: sample.missing, ..Params::new(sample.dtype) };
        let lossless = trial.run(&base)?;
        let at_digits = |grid: Grid| trial.run(&base.clone().with_bound(Bound::Abs(to_a_digit(grid.bound()))));
        let digits = grid.map(at_digits).transpose()?;
        if brief {
            return Ok(Ladder { lossless, range: Vec::new(), digits, relative: Vec::new() });
        }
        let range = sample.range();
        let mut rungs = Vec::new();
        if range > 0.0 {
            let noa = |share| base.clone().with_bound(Bound::Noa { share, range: Some(range) });
            rungs = trial.until_lossless(&lossless, |bound| {
                let abs = sleek::bound::mul_down(bound, range);
                Step::for_bound(sample.dtype, abs, Profile::Adaptive).map(|_| noa(bound))
            })?;
        }
        let relative = trial.until_lossless(&lossless, |bound| Some(base.clone().with_bound(Bound::Rel(bound))))?;
        Ok(Ladder { lossless, range: rungs, digits, relative })
    }
}

/// To a number of one digit.
fn to_a_digit(bound: f64) -> f64 {
    // By way of text, so that 3 · 0.001 is 0.003.
    format!("{bound:.0e}").parse().unwrap_or(bound)
}

/// 1e-1, 3e-2, 1e-2, 3e-3 … as precisely as f64 has them.
fn rungs() -> impl Iterator<Item = f64> {
    let texts = (1..=18).flat_map(|e| [format!("1e-{e}"), format!("3e-{}", e + 1)]);
    texts.filter_map(|t| t.parse().ok())
}

struct RungTrial<'a> {
    sample: &'a Sample,
    before: Vec<Vec<f64>>,
    takes_figures: bool,
    progress: &'a mut Progress,
}

impl RungTrial<'_> {
    /// Finer and finer bounds, until one takes as much as no error at all.
    fn until_lossless(&mut self, lossless: &Rung, params: impl Fn(f64) -> Option<Params>) -> Result<Vec<Rung>, String> {
        let mut rows = Vec::new();
        for params in rungs().map_while(params) {
            let row = self.run(&params)?;
            if row.max_error == 0.0 || row.ratio < WORTHWHILE * lossless.ratio {
                break;
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn run(&mut self, params: &Params) -> Result<Rung, String> {
        let error = |e: sleek::Error| e.to_string();
        let size = params.dtype.size();
        let mut streams = Vec::new();
        for piece in &self.sample.pieces {
            streams.push(vec![0u8; sleek::compress_bound(params, piece.len() / size).map_err(error)?]);
        }
        let mut restored: Vec<Vec<u8>> = self.sample.pieces.iter().map(|p| vec![0u8; p.len()]).collect();
        let mut lengths = vec![0; streams.len()];
        let (mut compress, mut decompress) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for ((piece, stream), n) in self.sample.pieces.iter().zip(&mut streams).zip(&mut lengths) {
                *n = sleek::compress_into(params, piece, stream).map_err(error)?;
            }
            compress = compress.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            for ((out, stream), n) in restored.iter_mut().zip(&streams).zip(&lengths) {
                sleek::decompress_into(&stream[..*n], out).map_err(error)?;
            }
            decompress = decompress.min(start.elapsed().as_secs_f64());
        }
        let raw = self.sample.bytes();
        self.progress.add(raw as u64);
        let packed: usize = lengths.iter().sum();
        let mut row = Rung {
            mode: params.bound.mode(),
            bound: params.bound.number(),
            abs: params.bound.absolute().unwrap_or(0.0),
            ratio: raw as f64 / packed as f64,
            smallest: self.smallest(params)?,
            bits: 8.0 * packed as f64 / (raw / size) as f64,
            max_error: 0.0,
            max_relative: 0.0,
            rms_error: 0.0,
            psnr: f64::INFINITY,
            figures: None,
            compress_speed: raw as f64 / compress,
            decompress_speed: raw as f64 / decompress,
        };
        self.measure(&mut row, &restored);
        Ok(row)
    }

    /// The ratio with profile small.
    fn smallest(&self, params: &Params) -> Result<Option<f64>, String> {
        let params = Params { profile: Profile::Small, ..params.clone() };
        if sleek::codec::chosen(&params).is_err() {
            return Ok(None);
        }
        let mut packed = 0;
        for (piece, dims) in self.sample.pieces.iter().zip(&self.sample.shapes) {
            let params = Params { dims: *dims, ..params.clone() };
            packed += sleek::compress(&params, piece).map_err(|e| e.to_string())?.len();
        }
        Ok(Some(self.sample.bytes() as f64 / packed as f64))
    }

    fn measure(&self, row: &mut Rung, restored: &[Vec<u8>]) {
        let (mut squares, mut count) = (0.0, 0u64);
        let mut after = Vec::new();
        let mut quality = self.takes_figures.then(|| Quality::new(Wanted::ALL, self.sample.range()));
        for ((before, bytes), shape) in self.before.iter().zip(restored).zip(&self.sample.shapes) {
            after.clear();
            let (dtype, big_endian) = (self.sample.dtype, self.sample.big_endian);
            elements::for_each_pair(dtype, big_endian, bytes, bytes, |(_, r), _| after.push(r));
            for (v, r) in before.iter().zip(&after).filter(|(v, _)| v.is_finite()) {
                let error = (v - r).abs();
                squares += error * error;
                count += 1;
                row.max_error = row.max_error.max(error);
                if error > 0.0 {
                    row.max_relative = row.max_relative.max(error / v.abs());
                }
            }
            if let Some(quality) = &mut quality {
                after.iter_mut().zip(before).filter(|(_, v)| !v.is_finite()).for_each(|(r, _)| *r = f64::NAN);
                let line = [before.len() as u64];
                let count = if shape.lens().len() > 1 { shape.lens() } else { &line };
                quality.add_alone(count, before, &after);
            }
        }
        row.figures = quality.map(Quality::figures);
        row.rms_error = (squares / count.max(1) as f64).sqrt();
        row.psnr = 20.0 * (self.sample.range() / row.rms_error).log10();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_few_digits() {
        for (bound, rounded) in [(0.00346, 0.003), (1.0, 1.0), (9.99e-8, 1e-7), (123.0, 100.0)] {
            assert_eq!(to_a_digit(bound), rounded, "{bound}");
        }
        assert_eq!(rungs().take(4).collect::<Vec<_>>(), [1e-1, 3e-2, 1e-2, 3e-3]);
    }
}
