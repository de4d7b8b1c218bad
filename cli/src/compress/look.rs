//! What of the input is to be known before it is compressed.

use sleek::Params;

use super::request::Args;
use crate::io::{Block, Input};
use crate::progress::Progress;
use crate::sentinel::{self, Watch};

/// The value range of the whole input, which every stream of the result must use. `None` if it is zero or there is
/// none: then it is zero in every part as well. What is found not to be data does not count, and is added to the
/// missing values.
pub fn measure_range(args: &Args, params: &mut Params, input: &mut Input) -> Result<Option<f64>, String> {
    if input.bytes.is_none() {
        return Err(format!(
            "--noa needs the value range of the whole array, and {} can be read only once: give it with --range R",
            input.name
        ));
    }
    let range = seen_range(args, params, input, |_| ())?;
    Ok(range.filter(|(lo, hi)| hi > lo).map(|(lo, hi)| sleek::bound::sub_down(hi, lo)))
}

/// Smallest and largest value of the whole input; what is found not to be data does not count, and is added to the
/// missing values. Shows the input, at least once.
pub fn seen_range(
    args: &Args,
    params: &mut Params,
    input: &mut Input,
    mut show: impl FnMut(&[u8]),
) -> Result<Option<(f64, f64)>, String> {
    let fills = params.missing.numbers(params.dtype).map_err(|e| e.to_string())?;
    let searches = params.find_fill == Some(true) && params.bound.number() > 0.0;
    let mut watch = Watch::new(params, fills, searches);
    read_through(args, input, args.frame_bytes, |data| {
        watch.see(data);
        show(data);
    })?;
    sentinel::add(&mut params.missing, &watch.found())?;
    if let Some(mut behind) = watch.behind() {
        read_through(args, input, args.frame_bytes, |data| behind.see(data))?;
        sentinel::add(&mut params.missing, &behind.found())?;
        watch = behind;
    }
    Ok(watch.range())
}

/// Shows all of a regular file in pieces of so many bytes, from where it is read to its end, and goes back to its
/// start.
pub fn read_through(args: &Args, input: &mut Input, piece: usize, mut look: impl FnMut(&[u8])) -> Result<(), String> {
    let mut progress = Progress::new("measuring", input.bytes, args.verbosity.quiet);
    let mut block = Block::default();
    while input.fill(&mut block, piece)? > 0 {
        look(block.data());
        progress.add(block.data().len() as u64);
    }
    input.rewind()
}
