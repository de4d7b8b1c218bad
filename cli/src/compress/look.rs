//! What of the input is to be known before it is compressed.

use sleek::Params;

use super::request::Args;
use crate::io::{Block, Input};
use crate::npy::Array;
use crate::progress::Progress;
use crate::sentinel::{self, Watch};

/// Refuses an input of `n` bytes that is not the array it is said to be.
pub fn check_size(array: &Array, name: &str, n: u64) -> Result<(), String> {
    if let Some(head) = &array.head {
        return head.check_bytes(n);
    }
    let (size, dtype) = (array.dtype.size() as u64, array.dtype.name());
    if !n.is_multiple_of(size) {
        return Err(format!("{name}: {n} bytes are not a whole number of {dtype} elements of {size} bytes"));
    }
    let Some(dims) = &array.dims else { return Ok(()) };
    let expected = dims.count();
    if n / size != expected {
        return Err(format!("{name}: holds {} {dtype} elements; --dims {dims} says {expected}", n / size));
    }
    Ok(())
}

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
    let mut watch = Watch::new(params.dtype, params.big_endian, fills, searches);
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
