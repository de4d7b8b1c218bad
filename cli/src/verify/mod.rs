//! `sleek verify`

pub mod difference;
mod exact;
pub mod files;
pub mod pair;
pub mod promise;
pub mod report;
pub mod stream;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::args::{Threads, Verbosity};
use crate::hdf5::{LibraryArg, is_hdf5, split};
use crate::io::Input;
use crate::quality::{Wanted, limits::Limits};
use crate::{ERROR, Outcome};

/// Exit code when the bound does not hold.
pub const BROKEN: u8 = 1;

/// Compare an array with its compressed file, or two HDF5 files dataset by dataset: is the bound kept?
#[derive(clap::Args)]
#[command(after_help = "Exit code: 0 the bound is kept, 1 it is broken, 2 an error, or it is not known.")]
pub struct Args {
    /// Also take all figures of --help's Limits, each of which may be held to one; a limit alone takes its own figure
    #[arg(long)]
    quality: bool,
    #[command(flatten)]
    limits: Limits,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    library: LibraryArg,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    verbosity: Verbosity,
    /// The array (plain bytes or an NPY file), or the HDF5 or netCDF-4 file, as it was; - is standard input.
    /// FILE.nc:NAME is a variable of an HDF5 file
    original: PathBuf,
    /// The compressed file; - is standard input
    compressed: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    if args.original == args.compressed {
        return Err(format!(
            "{}: is named twice; the original and the compressed file are needed",
            args.original.display()
        ));
    }
    if args.original.is_dir() || args.compressed.is_dir() {
        return Err("a folder is named; repack -r --verify compares files before they take their places".into());
    }
    Ok(ExitCode::from(compare(args)?.map_or(ERROR, |kept| if kept { 0 } else { BROKEN })))
}

/// Whether everything is as promised, if that is known.
fn compare(args: &Args) -> Result<Option<bool>, String> {
    match [&args.original, &args.compressed].map(|path| is_hdf5(&split(path).0)) {
        [_, true] => files::run(args),
        [true, false] => {
            let other = Input::open(&split(&args.compressed).0)?.name;
            let original = args.original.display();
            Err(format!(
                "{other}: is not an HDF5 file, as {original} is; two of them can be compared, or an array and its \
                 compressed file"
            ))
        }
        _ => stream::run(args, Input::open(&args.original)?, Input::open(&args.compressed)?).map(Some),
    }
}

impl Args {
    /// The figures that are to be taken.
    fn wanted(&self) -> Wanted {
        self.limits.wanted(self.quality)
    }
}
