//! What is asked for.

use std::path::PathBuf;

use sleek::{Bound, DType, Dims, Params};

use crate::args::{self, Quality, Sentinels, Threads, Verbosity};
use crate::frames::{FRAME_BYTES, SUFFIX};

const AFTER_HELP: &str = "An NPY file, of NumPy, brings its type, byte order and dimensions along; decompress writes \
one where OUT ends in .npy.";

/// Compress an array, given as the plain bytes of its elements or an NPY file
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, mut_group("BoundArgs", |group| group.required(false)))]
pub struct Args {
    /// Element type: f32, f64, f16, bf16, or (with --lossless) i8, i16, i32, i64, u8, u16, u32, u64 [default: that of
    /// an NPY file, else what the name of IN ends in]
    #[arg(long, value_name = "TYPE", value_parser = args::dtype)]
    pub(super) dtype: Option<DType>,
    #[command(flatten)]
    pub(super) quality: Quality,
    #[command(flatten)]
    pub(super) sentinels: Sentinels,
    /// The elements are big-endian, and come back so
    #[arg(long)]
    pub(super) big_endian: bool,
    /// Dimensions of the array, as 64,64,128 or 64x64x128, the slowest first: stored with it, so that boxes can be
    /// restored [default: those of an NPY file]
    #[arg(long, value_name = "D,D,…", value_parser = args::dims)]
    pub(super) dims: Option<Dims>,
    #[command(flatten)]
    pub(super) threads: Threads,
    /// Replace OUT if it exists
    #[arg(short, long)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) verbosity: Verbosity,
    /// Bytes of data per stream of the result
    #[arg(long, hide = true, default_value_t = FRAME_BYTES)]
    pub(super) frame_bytes: usize,
    /// The array: plain bytes, or an NPY file; - is standard input
    #[arg(value_name = "IN")]
    pub(super) input: PathBuf,
    /// The compressed file; - is standard output [default: IN with .sleek behind it, - of standard input]
    #[arg(value_name = "OUT")]
    output: Option<PathBuf>,
}

impl Args {
    pub(super) fn output(&self) -> PathBuf {
        let mut beside = self.input.clone().into_os_string();
        if beside != "-" {
            beside.push(SUFFIX);
        }
        self.output.clone().unwrap_or(beside.into())
    }
}

/// The parameters for elements of `dtype`, which take a bound.
pub fn params(args: &Args, dtype: DType) -> Result<Params, String> {
    if !args.quality.is_given() {
        return Err("a bound is needed: --abs, --noa, --rel or --lossless".into());
    }
    let params = args.quality.params(dtype)?;
    refuse_own_input(args, &params)?;
    Ok(params)
}

/// Refuses to put a result with errors in the place of the original, which nothing would bring back.
fn refuse_own_input(args: &Args, params: &Params) -> Result<(), String> {
    let [from, to] = [&args.input, &args.output()].map(|path| std::fs::canonicalize(path).ok());
    match from.is_some() && from == to && params.bound != Bound::Lossless {
        true => Err(format!(
            "{}: is the input, which would be lost; give the result another name, or use --lossless",
            args.output().display()
        )),
        false => Ok(()),
    }
}
