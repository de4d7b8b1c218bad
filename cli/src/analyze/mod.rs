//! `sleek analyze`

mod ladder;
mod sample;
mod seen;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use sleek::{DType, Dims};

use crate::Outcome;
use crate::args::{self, Sentinels, Threads, Verbosity};
use crate::hdf5::LibraryArg;
use crate::io::say_json;
use crate::npy::Given;
use crate::progress::Progress;
use ladder::Ladder;
use sample::{Fill, Sample};
use seen::Seen;

const AFTER_HELP: &str = "FILE is HDF5 or netCDF-4, with the dataset behind a colon if there are several; or an NPY \
file, or the plain bytes of floats, with --dtype.";

/// Choose a bound: ratio and errors under many bounds, and the digits that all values have
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Element type of a file of plain bytes: f32, f64, f16 or bf16 [default: as its name ends, or as an
    /// NPY file says]
    #[arg(long, value_name = "TYPE", value_parser = args::dtype)]
    dtype: Option<DType>,
    /// The plain bytes are big-endian
    #[arg(long)]
    big_endian: bool,
    /// Dimensions of the array in a file of plain bytes, as 64,64,128 or 64x64x128, the slowest first, for the
    /// ratio of profile small
    #[arg(long, value_name = "D,D,…", value_parser = args::dims)]
    dims: Option<Dims>,
    /// A missing value besides those that the dataset names, such as -9999, or its bits, such as 0x7fc00000: it does
    /// not count; up to four times
    #[arg(long, value_name = "V", allow_negative_numbers = true)]
    fill: Vec<String>,
    #[command(flatten)]
    sentinels: Sentinels,
    /// Megabytes of data to try the bounds on, taken from all over the field
    #[arg(long, value_name = "MB", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=65536))]
    sample: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    library: LibraryArg,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    verbosity: Verbosity,
    /// The field
    #[arg(value_name = "FILE[:DATASET]")]
    field: PathBuf,
}

/// What was found out about a field.
struct Analysis {
    sample: Sample,
    seen: Seen,
    ladder: Ladder,
}

pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    let wanted = (args.sample << 20) as usize;
    let given = Given { dtype: args.dtype, big_endian: args.big_endian, dims: args.dims };
    let fill = Fill { named: args::missing(&args.fill)?, may_be_data: args.sentinels.no_fill };
    let sample = Sample::take(&args.field, given, fill, wanted, args.library.library.as_deref(), args.verbosity.quiet)?;
    let seen = Seen::new(&sample);
    let ladder = Ladder::climb(&sample, seen.grid, &mut Progress::new("trying bounds", None, args.verbosity.quiet))?;
    let analysis = Analysis { sample, seen, ladder };
    match args.json {
        true => say_json(&table::to_json(&analysis)),
        false => table::print(&analysis),
    }
    Ok(ExitCode::SUCCESS)
}
