//! `sleek compress --ratio`, `--size`, `--psnr`, `--ssim` and others: the bound that a file needs.

use sleek::bound::sub_down;
use sleek::{Bound, Params};

use super::cut::Cut;
use super::look::{read_through, seen_range};
use super::request::Args;
use super::write::compress_frame;
use crate::io::{Block, Input};
use crate::targets::{self, Measured, Quest, Target, restored};

/// Bytes of the sample, and of a piece of it.
const SAMPLE_BYTES: usize = 8 << 20;
const PIECE_BYTES: usize = 512 << 10;

/// The parameters with which the input meets the target.
pub fn solve(args: &Args, target: &Target, params: &Params, cut: &Cut, input: &mut Input) -> Result<Params, String> {
    let Some(raw_bytes) = input.bytes else {
        let (name, from) = (targets::argument(target), &input.name);
        return Err(format!("{name}: the array is read several times, and {from} can be read only once"));
    };
    let params = &mut params.clone();
    let (pieces, range) = sample(args, params, cut, raw_bytes, input)?;
    let fills = params.missing.numbers(params.dtype).map_err(|e| e.to_string())?;
    let seen = See { cut, fills: &fills, errors: target.is_of_quality() };
    let quest = Quest { target: *target, range, raw_bytes };
    let with = |bound| params.clone().with_bound(bound);
    let on_sample = |bound| {
        let (params, mut m) = (with(bound), Measured::new(target, range));
        pieces.iter().try_for_each(|piece| seen.measure(&params, piece, &mut m))?;
        Ok(m)
    };
    let on_whole = |bound| {
        let (params, mut m) = (with(bound), Measured::new(target, range));
        let mut failed = Ok(());
        read_through(args, input, cut.frame_bytes, |data| {
            let mut block = Block::default();
            if failed.is_ok() {
                failed = block.keep_bytes(data).and_then(|()| seen.measure(&params, &block, &mut m));
            }
        })?;
        failed.map(|()| m)
    };
    let answer = quest.solve(on_sample, on_whole).map_err(targets::reason)?;
    if !args.verbosity.quiet {
        targets::tell_of(&answer, target, &input.name);
    }
    Ok(with(answer.bound))
}

/// Pieces from all over the input and the range of its values; what is found not to be data is added to the missing
/// values.
fn sample(
    args: &Args,
    params: &mut Params,
    cut: &Cut,
    raw_bytes: u64,
    input: &mut Input,
) -> Result<(Vec<Block>, f64), String> {
    let slab = cut.slab_bytes(params.dtype.size());
    let piece = (PIECE_BYTES / slab).max(1).saturating_mul(slab);
    let step = (raw_bytes / SAMPLE_BYTES as u64).max(1);
    let (mut pieces, mut n, mut failed) = (Vec::new(), 0, Ok(()));
    // What the bound will be is not known, only that there will be one.
    let mut bounded = params.clone().with_bound(Bound::Abs(1.0));
    let range = seen_range(args, &mut bounded, input, |data| {
        for part in data.chunks(piece) {
            if n % step == step / 2 {
                let mut block = Block::default();
                failed = std::mem::replace(&mut failed, Ok(())).and_then(|()| block.keep_bytes(part));
                pieces.push(block);
            }
            n += 1;
        }
    })?;
    failed?;
    params.missing = bounded.missing;
    let range = range.filter(|(lo, hi)| hi > lo).map_or(0.0, |(lo, hi)| sub_down(hi, lo));
    Ok((pieces, range))
}

/// How the input is looked at.
struct See<'a> {
    cut: &'a Cut,
    fills: &'a [f64],
    /// Whether errors count.
    errors: bool,
}

impl See<'_> {
    /// Compresses a part as it would be written, or a piece of one.
    fn measure(&self, params: &Params, part: &Block, m: &mut Measured) -> Result<(), String> {
        let data = part.data();
        let dims = self.cut.dims((data.len() / params.dtype.size()) as u64)?;
        let params = Params { dims, ..params.clone() };
        let mut packed = Block::default();
        compress_frame(&params, part, &mut packed).map_err(|e| e.to_string())?;
        m.add(data.len(), packed.data().len());
        match self.errors && params.bound != Bound::Lossless {
            true => {
                let back = restored(packed.data(), data.len())?;
                m.add_errors(&params, self.fills, params.dims.lens(), data, &back).map_err(|e| e.to_string())
            }
            false => Ok(()),
        }
    }
}
