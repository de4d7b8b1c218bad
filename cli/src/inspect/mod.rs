//! `sleek inspect`

pub mod dataset;
pub mod stream;
mod tree;

use std::path::PathBuf;

use crate::Outcome;
use crate::args::check_variables;
use crate::hdf5::{LibraryArg, is_hdf5};
use crate::io::Input;

/// Show what a compressed file holds and how, without restoring it: streams, or an HDF5 or netCDF-4 file as a
/// tree
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    library: LibraryArg,
    /// The compressed file; - is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    check_variables()?;
    match is_hdf5(&args.input) {
        true => tree::run(args),
        false => stream::run(Input::open(&args.input)?, args.json),
    }
}
