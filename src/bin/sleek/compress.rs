//! `sleek compress`

use std::path::PathBuf;
use std::process::ExitCode;

use sleek::container::Header;
use sleek::primitives::range::value_range;
use sleek::{DType, Dims, Mode, Params};

use crate::args::{self, Quality, Threads, Verbosity};
use crate::frames::FRAME_BYTES;
use crate::io::{Block, Input, Output, tell};
use crate::progress::{Array, Progress, summary};
use crate::{Outcome, pipeline};

/// Compress an array, given as the plain bytes of its elements
#[derive(clap::Args)]
pub struct Args {
    /// Element type: f32, f64, f16, bf16, or (with --lossless) i8, i16, i32, i64, u8, u16, u32, u64
    #[arg(long, value_name = "TYPE", value_parser = args::dtype)]
    dtype: DType,
    #[command(flatten)]
    quality: Quality,
    /// The elements are big-endian, and come back so
    #[arg(long)]
    big_endian: bool,
    /// Lengths of the array, as 64,64,128 or 64x64x128: refuses input of another size. The profile ratio predicts
    /// along them; with others they change nothing and are not stored
    #[arg(long, value_name = "D,D,…", value_parser = args::dims)]
    dims: Option<std::vec::Vec<u64>>,
    #[command(flatten)]
    threads: Threads,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    verbosity: Verbosity,
    /// Bytes of data per stream of the result
    #[arg(long, hide = true, default_value_t = FRAME_BYTES)]
    frame_bytes: usize,
    /// The array; - is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The compressed file; - is standard output
    #[arg(value_name = "OUT")]
    output: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    let mut params = args.quality.params(args.dtype)?;
    params.big_endian = args.big_endian;
    check_frame(args)?;
    let mut input = Input::open(&args.input)?;
    if let Some(n) = input.bytes {
        check_size(args, &input.name, n)?;
    }
    if params.mode == Mode::Noa && params.range.is_none() {
        params.range = measure_range(args, &params, &mut input)?;
    }
    compress(args, &params, input)?;
    Ok(ExitCode::SUCCESS)
}

fn check_frame(args: &Args) -> Result<(), String> {
    let (n, size) = (args.frame_bytes, args.dtype.size());
    if n == 0 || n % size != 0 {
        return Err(format!("--frame-bytes {n}: a multiple of the {size} bytes of an element is needed"));
    }
    Ok(())
}

/// Bytes of what is behind each other along all dimensions but the first, where the codec makes use of dimensions.
fn slab_bytes(args: &Args, params: &Params) -> Option<usize> {
    let dims = args.dims.as_ref().filter(|_| sleek::codec::uses_dims(params))?;
    let slab = dims[1..].iter().product::<u64>() as usize * args.dtype.size();
    (slab > 0).then_some(slab)
}

/// Bytes of data per stream: whole slabs, if it has room for one.
fn frame_bytes(args: &Args, params: &Params) -> usize {
    let slab = slab_bytes(args, params).filter(|slab| *slab <= args.frame_bytes).unwrap_or(1);
    args.frame_bytes / slab * slab
}

/// The dimensions of a frame of `bytes`, if it is whole slabs.
fn frame_dims(args: &Args, params: &Params, bytes: usize) -> Dims {
    let (Some(slab), Some(dims)) = (slab_bytes(args, params), &args.dims) else { return Dims::NONE };
    let mut lens = dims.clone();
    lens[0] = (bytes / slab) as u64;
    Dims::new(&lens).ok().filter(|_| bytes.is_multiple_of(slab)).unwrap_or(Dims::NONE)
}

/// Refuses an input of `n` bytes that is not the array it is said to be.
fn check_size(args: &Args, name: &str, n: u64) -> Result<(), String> {
    let size = args.dtype.size() as u64;
    let dtype = args.dtype.name();
    if !n.is_multiple_of(size) {
        return Err(format!("{name}: {n} bytes are not a whole number of {dtype} elements of {size} bytes"));
    }
    let Some(dims) = &args.dims else { return Ok(()) };
    let expected: u64 = dims.iter().product();
    if n / size != expected {
        let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
        let dims = dims.join("x");
        return Err(format!("{name}: holds {} {dtype} elements; --dims {dims} says {expected}", n / size));
    }
    Ok(())
}

/// The value range of the whole input, which every stream of the result must use. `None` if it is zero or there is
/// none: then it is zero in every part as well.
fn measure_range(args: &Args, params: &Params, input: &mut Input) -> Result<Option<f64>, String> {
    let Some(total) = input.bytes else {
        return Err(format!(
            "--noa needs the value range of the whole array, and {} can be read only once: give it with --range R",
            input.name
        ));
    };
    let fills = params.missing.numbers(params.dtype).map_err(|e| e.to_string())?;
    let mut progress = Progress::new("measuring", Some(total), args.verbosity.quiet);
    let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
    pipeline::run(
        |block| Ok(input.fill(block, args.frame_bytes)? > 0),
        |block, _| {
            let data = block.data();
            if let Some((l, h)) = value_range(params.dtype, params.big_endian, &fills, data) {
                (lo, hi) = (lo.min(l), hi.max(h));
            }
            progress.add(data.len() as u64);
            Ok(())
        },
        |_| Ok(()),
    )?;
    input.rewind()?;
    Ok((hi > lo).then(|| sleek::bound::sub_down(hi, lo)))
}

fn compress(args: &Args, params: &Params, mut input: Input) -> Result<(), String> {
    let mut output = Output::create(&args.output, args.force, input.rights.as_ref())?;
    let mut progress = Progress::new("compressing", input.bytes, args.verbosity.quiet);
    let (from, to, promised) = (input.name.clone(), output.name.clone(), input.bytes);
    let (mut bytes_in, mut bytes_out) = (0, 0);
    let frame = frame_bytes(args, params);
    let mut started = false;
    pipeline::run(
        |block| {
            let n = input.fill(block, frame)?;
            block.more = input.more()?;
            // An empty input still makes one stream, of an empty array.
            let first = !std::mem::replace(&mut started, true);
            Ok(n > 0 || first)
        },
        |block, outlet| {
            let mut packed = outlet.block()?;
            let params = Params { dims: frame_dims(args, params, block.data().len()), ..params.clone() };
            compress_frame(&params, block, &mut packed).map_err(|e| format!("{from}: {e}"))?;
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
        _ => check_size(args, &from, bytes_in)?,
    }
    output.finish()?;
    let time = progress.finish();
    if !args.verbosity.quiet {
        tell(&summary(Array::In, &from, &to, bytes_in, bytes_out, time));
    }
    Ok(())
}

fn compress_frame(params: &Params, block: &Block, packed: &mut Block) -> sleek::Result<()> {
    let room = sleek::compress_bound(params, block.data().len() / params.dtype.size())?;
    let stream = packed.room(room);
    let n = sleek::compress_into(params, block.data(), stream)?;
    if block.more {
        Header::mark_more(&mut stream[..n])?;
    }
    packed.keep(n);
    Ok(())
}
