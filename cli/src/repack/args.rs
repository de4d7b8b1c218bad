//! The arguments of `sleek repack`.

use std::path::PathBuf;

use sleek::{DType, Params};

use super::jobs::Part;
use super::request::{self, Filter, Others, Request, Wish};
use super::rules::Pattern;
use crate::args::{Quality, Sentinels, Threads, Verbosity};
use crate::hdf5::LibraryArg;
use crate::targets::Target;

/// Exit code when the new file does not keep what was promised; there is none then.
pub const BROKEN: u8 = 1;

const NOA_HELP: &str = "Bound relative to the value range: |v − r| ≤ E · (max − min) of each whole dataset";

const AFTER_HELP: &str = "Attributes, links, groups, named types, dimension scales, fill values, chunks and all other \
datasets are \
carried over. OUT may be IN (with --force); it appears whole or not at all.\n\n\
Several files, and folders with -r, go to the folder --to; started again, the batch does what is not there yet.\n\n\
Exit code: 0 done, 1 --verify found a bound broken and nothing was written, 2 an error.";

/// Compress the float datasets of HDF5 or netCDF-4 files, keep the rest as it is
#[derive(clap::Args, Clone)]
#[command(
    after_help = AFTER_HELP,
    mut_group("BoundArgs", |group| group.required(false)),
    mut_arg("noa", |noa| noa.help(NOA_HELP)),
    mut_arg("size", |size| size.hide(true))
)]
pub struct Args {
    #[command(flatten)]
    pub(super) quality: Quality,
    #[command(flatten)]
    pub(super) sentinels: Sentinels,
    /// A request for one dataset (repeatable): /t=abs=1e-3, /p=noa=1e-4,range=50, /x=lossless, /y=keep
    #[arg(long, value_name = "PATH=REQUEST", value_parser = request::named)]
    pub(super) dataset: Vec<(String, Request)>,
    /// The variables that the bound is for, as netCDF's tools name them; all others stay as they are
    #[arg(short, long, value_name = "NAME,…", value_delimiter = ',')]
    pub(super) variables: Vec<String>,
    /// Datasets that stay as they are, by a pattern of their names (repeatable): 'lat*', '/grid/**'
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::new)]
    pub(super) exclude: Vec<Pattern>,
    /// Rules for datasets by patterns of their names and by their types: a TOML file
    #[arg(long, value_name = "FILE")]
    pub(super) rules: Option<PathBuf>,
    /// Coordinates and integers, which a bound is not for: lossless, where that makes them smaller, or keep. Without it
    /// lossless, but for datasets without a request
    #[arg(long, value_enum, value_name = "HOW")]
    pub(super) others: Option<Others>,
    /// Convert datasets also where that makes them no smaller, but for those below 4 KiB that nobody named; without it
    /// they stay
    #[arg(long)]
    pub(super) even_if_larger: bool,
    /// The filter that the datasets get: sleek; none, which undoes ours and puts back what repack found there; deflate
    /// or deflate=N, which undoes ours and puts shuffle and deflate there
    #[arg(long, value_parser = Filter::parse, default_value = "sleek", value_name = "NAME")]
    pub(super) filter: Filter,
    /// Write no attributes that say what was done (sleek_mode, sleek_bound, …), and no line into netCDF's history
    #[arg(long)]
    pub(super) no_attributes: bool,
    /// Show what would be done, with ratios estimated from samples, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Compare every value of the new file with the old one before it takes its place; values in other files are only
    /// named
    #[arg(long)]
    pub(super) verify: bool,
    /// The folder for the new files. A file that is there and no older than its input is not done again without
    /// --force
    #[arg(long, value_name = "DIR")]
    pub(super) to: Option<PathBuf>,
    /// With --to: do part I of N of the files, for the tasks of a job array
    #[arg(long, value_name = "I/N", requires = "to", value_parser = Part::parse)]
    pub(super) part: Option<Part>,
    /// Take the HDF5 files in folders, and in those below
    #[arg(short, long)]
    pub(super) recursive: bool,
    /// How many files at once
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) jobs: Option<u32>,
    /// What was done with each file and its datasets, as JSON
    #[arg(long, value_name = "FILE.json", value_parser = report_name)]
    pub(super) report: Option<PathBuf>,
    /// Print the table of datasets as JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) library: LibraryArg,
    #[command(flatten)]
    pub(super) threads: Threads,
    /// Replace OUT if it exists
    #[arg(short, long)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) verbosity: Verbosity,
    /// In the child process: do the work, with this empty file for the result
    #[arg(long, hide = true)]
    pub(super) child: Option<PathBuf>,
    /// In the child process, of several files: do this one
    #[arg(long, hide = true, num_args = 2, allow_hyphen_values = true)]
    pub(super) only: Vec<PathBuf>,
    /// The file to read
    #[arg(value_name = "IN")]
    pub(super) input: PathBuf,
    /// The new file; with --to one more file to read
    #[arg(value_name = "OUT")]
    pub(super) output: Option<PathBuf>,
    /// With --to: more files
    #[arg(value_name = "IN", hide_short_help = true)]
    pub(super) more: Vec<PathBuf>,
}

/// The name of a report.
fn report_name(name: &str) -> Result<PathBuf, String> {
    match name.ends_with(".json") {
        true => Ok(name.into()),
        false => Err("a name that ends in .json is needed".into()),
    }
}

impl Args {
    /// What is asked for all datasets that are not named.
    pub fn general(&self) -> Result<Option<Wish>, String> {
        if self.filter.restores() {
            if self.quality.is_given() || !self.dataset.is_empty() || self.rules.is_some() {
                return Err("--filter none: restores what is compressed; no bound, --dataset or --rules".into());
            }
            if self.others.is_some() {
                return Err("--others: goes with our own filter, not with --filter none".into());
            }
            return Ok(Some(Wish { params: Params::new(DType::F64), target: None }));
        }
        let wish = self.wish()?;
        self.quality.check_share(self.force)?;
        if !self.quality.is_given() && !self.variables.is_empty() {
            return Err("--variables: a bound is needed for them: --abs, --noa, --rel or --lossless".into());
        }
        if !self.quality.is_given() && self.dataset.is_empty() && self.rules.is_none() {
            return Err(
                "a bound is needed: --abs, --noa, --rel or --lossless for all datasets of floats, or --dataset for \
                 some, or --rules"
                    .into(),
            );
        }
        Ok(self.quality.is_given().then_some(wish))
    }

    /// How all datasets are to be compressed, or losslessly where nothing says how.
    fn wish(&self) -> Result<Wish, String> {
        // The element type comes with each dataset; the widest float lets the bound be checked, and bits of any.
        let params = self.quality.params(DType::F64)?;
        request::check(&params)?;
        match self.quality.target()? {
            Some(Target::Size(_)) => Err("--size: goes with compress; of a file its datasets take --ratio".into()),
            target => Ok(Wish { params, target }),
        }
    }
}
