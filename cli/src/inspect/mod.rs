//! `sleek inspect`

#[cfg(unix)]
pub mod dataset;
pub mod stream;
#[cfg(unix)]
mod tree;

use std::path::PathBuf;

use crate::Outcome;
use crate::args::check_variables;
#[cfg(unix)]
use crate::hdf5::{LibraryArg, is_hdf5};
use crate::io::Input;

/// Show what a compressed file holds and how, without restoring it: streams, or an HDF5 or netCDF-4 file as a
/// tree
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Of each chunk of a file of streams tell the least and the largest value, exactly, and what is missing
    #[arg(long)]
    ranges: bool,
    #[cfg(unix)]
    #[command(flatten)]
    library: LibraryArg,
    /// The compressed file; - is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    check_variables()?;
    #[cfg(unix)]
    if is_hdf5(&args.input) {
        refuse_ranges(args, "sleek stats --chunks FILE:NAME tells them of a variable")?;
        return tree::run(args);
    }
    stream::run(Input::open(&args.input)?, args.json, args.ranges)
}

fn refuse_ranges(args: &Args, but: &str) -> Result<(), String> {
    if args.ranges { Err(format!("--ranges: is for a file of streams; {but}")) } else { Ok(()) }
}
