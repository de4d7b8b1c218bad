//! The array, compressed and written.

use sleek::container::Header;
use sleek::range::{join, value_range};
use sleek::{Mode, Params};

use super::cut::Cut;
use super::request::Args;
use crate::io::{Block, Input, Output, tell};
use crate::npy::Array;
use crate::pipeline;
use crate::progress::{self, Progress, summary};
use crate::sentinel::flattens;

/// Bytes of each block whose values are looked at for a warning.
const SOME_BYTES: usize = 4 << 20;

pub fn create(args: &Args, input: &Input) -> Result<Output, String> {
    Output::create(&args.output(), args.force, input.rights.clone())
}

/// Compresses the input into the place for the result.
pub fn compress(
    args: &Args,
    array: &Array,
    params: &Params,
    cut: &Cut,
    mut input: Input,
    output: Option<Output>,
) -> Result<(), String> {
    let mut output = output.map_or_else(|| create(args, &input), Ok)?;
    let mut progress = Progress::new("compressing", input.bytes, args.verbosity.quiet);
    let (from, to, promised) = (input.name.clone(), output.name.clone(), input.bytes);
    let (mut bytes_in, mut bytes_out) = (0, 0);
    let (fills, mut extremes) = (params.missing.numbers(params.dtype).map_err(|e| e.to_string())?, None);
    let mut started = false;
    pipeline::run(
        |block| {
            let n = input.fill(block, cut.frame_bytes)?;
            block.more = input.more()?;
            // An empty input still makes one stream, of an empty array.
            let first = !std::mem::replace(&mut started, true);
            Ok(n > 0 || first)
        },
        |block, outlet| {
            let mut packed = outlet.block()?;
            if params.bound.mode() == Mode::Abs {
                extremes = join(extremes, value_range(params.dtype, params.big_endian, &fills, some(block.data())));
            }
            let dims = cut.dims((block.data().len() / params.dtype.size()) as u64)?;
            let params = &Params { dims, ..params.clone() };
            compress_frame(params, block, &mut packed).map_err(|e| format!("{from}: {e}"))?;
            bytes_in += block.data().len() as u64;
            bytes_out += packed.data().len() as u64;
            progress.add(block.data().len() as u64);
            outlet.send(packed)
        },
        |data| output.write(data),
    )?;
    match promised {
        Some(n) if n != bytes_in => {
            return Err(format!("{from}: changed from {n} to {bytes_in} bytes while it was read"));
        }
        _ => array.check_size(&from, bytes_in)?,
    }
    output.finish()?;
    let time = progress.finish();
    if !args.verbosity.quiet {
        tell(&summary(progress::Array::In, &from, &to, bytes_in, bytes_out, time));
    }
    if let Some(warning) = flattens(params, extremes) {
        tell(&format!("sleek: warning: {from}: {warning}"));
    }
    Ok(())
}

/// A part of a block that tells enough of its values for a warning: missing values stand out there as well.
fn some(block: &[u8]) -> &[u8] {
    &block[..block.len().min(SOME_BYTES)]
}

pub fn compress_frame(params: &Params, block: &Block, packed: &mut Block) -> sleek::Result<()> {
    let room = sleek::compress_bound(params, block.data().len() / params.dtype.size())?;
    let stream = packed.room(room).map_err(|e| sleek::Error::new(sleek::Kind::OutOfMemory, e))?;
    let n = sleek::compress_into(params, block.data(), stream)?;
    if block.more {
        Header::mark_more(&mut stream[..n])?;
    }
    packed.keep(n);
    Ok(())
}
