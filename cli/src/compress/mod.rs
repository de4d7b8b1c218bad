//! `sleek compress`

mod auto;
mod cut;
mod kind;
mod target;

use std::path::PathBuf;
use std::process::ExitCode;

use sleek::container::Header;
use sleek::range::{join, value_range};
use sleek::{DType, Dims, Mode, Params, Profile, Search};

use cut::Cut;

use crate::args::{self, Quality, Sentinels, Threads, Verbosity};
use crate::auto::{Aim, arguments};
use crate::frames::FRAME_BYTES;
use crate::io::{Block, Input, Output, tell};
use crate::npy::{self, Array, Given};
use crate::progress::{self, Progress, summary};
use crate::sentinel::{self, Watch, flattens};
use crate::tensors::{self, Wish};
use crate::{Outcome, pipeline};

const AFTER_HELP: &str = "An NPY file, of NumPy, brings its type, byte order and dimensions along; decompress writes \
one where OUT ends in .npy.\n\n\
A safetensors file needs no --dtype and no bound: each tensor is compressed by itself, losslessly and with --profile \
small unless something else is asked for. --abs, --noa (of the range of each tensor) and --rel are for its tensors of \
F32, F64, F16 and BF16; all others come back bit for bit.";

/// Compress an array, given as the plain bytes of its elements or an NPY file, or a safetensors file
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, mut_group("Bound", |group| group.required(false)))]
pub struct Args {
    /// Element type: f32, f64, f16, bf16, or (with --lossless) i8, i16, i32, i64, u8, u16, u32, u64 [default: that of
    /// an NPY file, else what the name of IN ends in]
    #[arg(long, value_name = "TYPE", value_parser = args::dtype)]
    dtype: Option<DType>,
    #[command(flatten)]
    quality: Quality,
    /// Choose profile and codec by trying all of them on 8 MB of the array: the smallest (ratio), the fastest (speed),
    /// or the smallest of those that reach so many MB/s both ways
    #[arg(long, value_name = "HOW", value_parser = crate::auto::parse, conflicts_with_all = ["profile", "codec"])]
    auto: Option<Aim>,
    #[command(flatten)]
    sentinels: Sentinels,
    /// The elements are big-endian, and come back so
    #[arg(long)]
    big_endian: bool,
    /// Dimensions of the array, as 64,64,128 or 64x64x128, the slowest first: stored with it, so that boxes can be
    /// restored [default: those of an NPY file]
    #[arg(long, value_name = "D,D,…", value_parser = args::dims)]
    dims: Option<Dims>,
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
    /// The array: plain bytes, or an NPY file; - is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The compressed file; - is standard output
    #[arg(value_name = "OUT")]
    output: PathBuf,
}

/// Bytes of each block whose values are looked at for a warning.
const SOME_BYTES: usize = 4 << 20;

/// Runs the subcommand.
pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    args.quality.check_share(args.force)?;
    let dtype = args.dtype.or_else(|| args::dtype_of_name(&args.input));
    if let Some(dtype) = dtype {
        // Before anything is read.
        params(args, dtype)?;
    }
    let mut input = Input::open(&args.input)?;
    // A pipe may let us wait for the bytes that tell what it is: what is wrong with the place of the result is told
    // first.
    let output = match (dtype, input.bytes) {
        (Some(_), None) => Some(create(args, &input)?),
        _ => None,
    };
    let given = Given { dtype: args.dtype, big_endian: args.big_endian, dims: args.dims };
    let plain = dtype.map(|dtype| Array { dtype, big_endian: args.big_endian, dims: args.dims, head: None });
    match npy::array(&mut input, &given)?.or(plain) {
        Some(of) => array(args, &of, input, output),
        None => tensors(args, input),
    }
    .map(|()| ExitCode::SUCCESS)
}

/// The parameters for elements of `dtype`, which take a bound.
fn params(args: &Args, dtype: DType) -> Result<Params, String> {
    if !args.quality.is_given() {
        return Err("a bound is needed: --abs, --noa, --rel or --lossless".into());
    }
    let params = args.quality.params(dtype)?;
    refuse_own_input(args, &params)?;
    Ok(params)
}

/// The place for the result.
fn create(args: &Args, input: &Input) -> Result<Output, String> {
    Output::create(&args.output, args.force, input.rights.as_ref())
}

fn array(args: &Args, array: &Array, mut input: Input, output: Option<Output>) -> Result<(), String> {
    let mut params = params(args, array.dtype)?;
    params.big_endian = array.big_endian;
    let cut = Cut::new(args, array)?;
    if let Some(n) = input.bytes {
        check_size(array, &input.name, n)?;
    }
    if args.sentinels.no_fill {
        params.search = Search::Off;
    }
    if let Some(target) = args.quality.target()? {
        if args.auto.is_some() {
            // Which one is best depends on the bound, and the bound on which one it is.
            let found = target::solve(args, true, &target, &params, &cut, &mut input)?;
            let best = suit(args, found, &cut, &mut input)?;
            (params.profile, params.codec) = (best.profile, best.codec);
        }
        params = target::solve(args, args.verbosity.quiet, &target, &params, &cut, &mut input)?;
        return compress(args, array, &params, &cut, input, output);
    }
    if params.mode == Mode::Noa && params.range.is_none() {
        params.range = measure_range(args, &mut params, &mut input)?;
    }
    params = suit(args, params, &cut, &mut input)?;
    compress(args, array, &params, &cut, input, output)
}

/// The parameters with the profile and codec that suit the input, if that is asked for; tells which these are.
fn suit(args: &Args, params: Params, cut: &Cut, input: &mut Input) -> Result<Params, String> {
    let Some(how) = args.auto else { return Ok(params) };
    let best = auto::choose(how, &params, cut, input)?;
    if !args.verbosity.quiet {
        tell(&format!("{}: --auto chose {}", input.name, arguments(&best)));
    }
    Ok(best)
}

/// Compresses what has no element type: a safetensors file, or nothing.
fn tensors(args: &Args, mut input: Input) -> Result<(), String> {
    kind::expect_safetensors(&args.input, &mut input)?;
    let given = [
        ("--dims", args.dims.is_some()),
        ("--big-endian", args.big_endian),
        ("--fill", !args.quality.missing()?.is_empty()),
        ("--no-fill", args.sentinels.no_fill),
        ("--auto", args.auto.is_some()),
    ];
    if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
        return Err(format!("{name}: goes with an array, and {} is a safetensors file, which has many", input.name));
    }
    if let Some(target) = args.quality.target()? {
        let name = crate::targets::argument(&target);
        return Err(format!(
            "{name}: a safetensors file takes a bound, --abs, --noa or --rel, or none: it is lossless then"
        ));
    }
    // The element type comes with each tensor; the widest float lets the bound be checked.
    let mut params = args.quality.params(DType::F64)?;
    if matches!(params.mode, Mode::Rate | Mode::Precision) {
        return Err(format!(
            "--{}: a safetensors file takes --abs, --noa or --rel, or none of them",
            params.mode.name()
        ));
    }
    params.profile = args.quality.profile().unwrap_or(Profile::Small);
    refuse_own_input(args, &params)?;
    let wish = Wish { params, frame_bytes: args.frame_bytes, quiet: args.verbosity.quiet };
    tensors::compress(&wish, input, |input| create(args, input))
}

/// Refuses to put a result with errors in the place of the original, which nothing would bring back.
fn refuse_own_input(args: &Args, params: &Params) -> Result<(), String> {
    let [from, to] = [&args.input, &args.output].map(|path| std::fs::canonicalize(path).ok());
    match from.is_some() && from == to && params.mode != Mode::Lossless {
        true => Err(format!(
            "{}: is the input, which would be lost; give the result another name, or use --lossless",
            args.output.display()
        )),
        false => Ok(()),
    }
}

/// Refuses an input of `n` bytes that is not the array it is said to be.
fn check_size(array: &Array, name: &str, n: u64) -> Result<(), String> {
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
fn measure_range(args: &Args, params: &mut Params, input: &mut Input) -> Result<Option<f64>, String> {
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
fn seen_range(
    args: &Args,
    params: &mut Params,
    input: &mut Input,
    mut show: impl FnMut(&[u8]),
) -> Result<Option<(f64, f64)>, String> {
    let fills = params.missing.numbers(params.dtype).map_err(|e| e.to_string())?;
    let searches = params.search == Search::Wanted && params.bound > 0.0;
    let mut watch = Watch::new(params.dtype, params.big_endian, fills.clone());
    let mut range = None;
    read_through(args, input, args.frame_bytes, |data| {
        match searches {
            true => watch.see(data),
            false => range = join(range, value_range(params.dtype, params.big_endian, &fills, data)),
        }
        show(data);
    })?;
    if !searches {
        return Ok(range);
    }
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
fn read_through(args: &Args, input: &mut Input, piece: usize, mut look: impl FnMut(&[u8])) -> Result<(), String> {
    let mut progress = Progress::new("measuring", input.bytes, args.verbosity.quiet);
    pipeline::run(
        |block| Ok(input.fill(block, piece)? > 0),
        |block, _| {
            look(block.data());
            progress.add(block.data().len() as u64);
            Ok(())
        },
        |_| Ok(()),
    )?;
    input.rewind()
}

fn compress(
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
            if params.mode == Mode::Abs {
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
        _ => check_size(array, &from, bytes_in)?,
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
