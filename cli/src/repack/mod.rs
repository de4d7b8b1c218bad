//! `sleek repack`

mod attributes;
mod batch;
mod check;
mod child;
mod copy;
mod decide;
mod elsewhere;
mod jobs;
mod measure;
mod plan;
pub mod provenance;
mod rechunk;
mod request;
mod requests;
mod rules;
mod size;
mod survey;
mod table;
mod work;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use sleek::{DType, Params};

use crate::Outcome;
use crate::args::{Quality, Sentinels, Threads, Verbosity};
use crate::hdf5::{LibraryArg, expect_hdf5};
use crate::io::{Model, Staging, check_place, say, tell};
use crate::progress::{Array, bytes, summary};
use jobs::Part;
use request::{Request, Wish};
use requests::{Filter, Others};
use rules::{Pattern, Rules};

/// Exit code when the new file does not keep what was promised; there is none then.
const BROKEN: u8 = 1;

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
    mut_arg("noa", |noa| noa.help(NOA_HELP))
)]
pub struct Args {
    #[command(flatten)]
    quality: Quality,
    #[command(flatten)]
    sentinels: Sentinels,
    /// A request for one dataset (repeatable): /t=abs=1e-3, /p=noa=1e-4,range=50, /x=lossless, /y=keep
    #[arg(long, value_name = "PATH=REQUEST", value_parser = request::named)]
    dataset: Vec<(String, Request)>,
    /// Choose profile and codec for each dataset by trying them on a sample: ratio, the smallest; speed, the fastest; a
    /// number, the smallest of those that reach so many MB/s both ways
    #[arg(long, value_name = "HOW", value_parser = crate::auto::parse, conflicts_with_all = ["profile", "codec"])]
    auto: Option<crate::auto::Aim>,
    /// The variables that the bound is for, as netCDF's tools name them; all others stay as they are
    #[arg(short, long, value_name = "NAME,…", value_delimiter = ',')]
    variables: Vec<String>,
    /// Datasets that stay as they are, by a pattern of their names (repeatable): 'lat*', '/grid/**'
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::new)]
    exclude: Vec<Pattern>,
    /// Rules for datasets by patterns of their names and by their types: a TOML file
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Coordinates and integers, which a bound is not for: lossless, where that makes them smaller, or keep. Without it
    /// lossless, but for datasets without a request
    #[arg(long, value_enum, value_name = "HOW")]
    others: Option<Others>,
    /// Convert datasets also where that makes them no smaller; without this they stay as they are
    #[arg(long)]
    even_if_larger: bool,
    /// The filter that the datasets get
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    filter: Filter,
    /// Give compressed datasets chunks of another shape where that makes them smaller: whole tiles of the codec, up to
    /// 1 MiB
    #[arg(long)]
    rechunk: bool,
    /// Write no attributes that say what was done (sleek_mode, sleek_bound, …), and no line into netCDF's history
    #[arg(long)]
    no_attributes: bool,
    /// Show what would be done, with ratios estimated from samples, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Compare every value of the new file with the old one before it takes its place; values in other files are only
    /// named
    #[arg(long)]
    verify: bool,
    /// The folder for the new files. A file that is there and no older than its input is not done again without
    /// --force
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// With --to: do part I of N of the files, for the tasks of a job array
    #[arg(long, value_name = "I/N", requires = "to", value_parser = Part::parse)]
    part: Option<Part>,
    /// Take the HDF5 files in folders, and in those below
    #[arg(short, long)]
    recursive: bool,
    /// How many files at once
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// What was done with each file and its datasets, as JSON
    #[arg(long, value_name = "FILE.json", value_parser = report_name)]
    report: Option<PathBuf>,
    /// Print the table of datasets as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    library: LibraryArg,
    #[command(flatten)]
    threads: Threads,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    verbosity: Verbosity,
    /// In the child process: do the work, with this empty file for the result
    #[arg(long, hide = true)]
    child: Option<PathBuf>,
    /// In the child process: aim at so many bytes less than --size says
    #[arg(long, hide = true, default_value_t = 0)]
    less: u64,
    /// Of several files: do this one
    #[arg(long, hide = true, num_args = 2, allow_hyphen_values = true)]
    only: Vec<PathBuf>,
    /// In the process for one of several files, or for another subcommand: the command as it was given
    #[arg(long, hide = true)]
    typed: Option<String>,
    /// The file to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The new file; with --to one more file to read
    #[arg(value_name = "OUT")]
    output: Option<PathBuf>,
    /// With --to: more files
    #[arg(value_name = "IN", hide_short_help = true)]
    more: Vec<PathBuf>,
}

/// The name of a report.
fn report_name(name: &str) -> Result<PathBuf, String> {
    match name.ends_with(".json") {
        true => Ok(name.into()),
        false => Err("a name that ends in .json is needed".into()),
    }
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    let general = general_request(args)?;
    let rules = args.rules.as_deref().map(Rules::read).transpose()?.unwrap_or_default();
    let args = &match &args.only[..] {
        [input, output] => Args { input: input.clone(), output: Some(output.clone()), ..args.clone() },
        _ => args.clone(),
    };
    if let Some(new) = &args.child {
        work::run(args, general, &rules, new);
    }
    let is_single = !args.only.is_empty() || (args.to.is_none() && !args.recursive && args.more.is_empty());
    if args.dry_run && args.input.is_dir() && !args.recursive {
        return batch::run(&Args { recursive: true, ..args.clone() });
    }
    if !is_single {
        return batch::run(args);
    }
    one(args)
}

/// Repacks a single file.
fn one(args: &Args) -> Outcome {
    let for_several = [("--jobs", args.jobs.is_some()), ("--report", args.report.is_some())];
    if let Some((name, _)) = for_several.iter().find(|(_, given)| *given && args.only.is_empty()) {
        return Err(format!("{name} goes with --to DIR, for several files"));
    }
    if args.output.is_none() && !args.dry_run {
        return Err("the required arguments were not provided: <OUT>, or --to DIR, or --dry-run".into());
    }
    [Some(&args.input), args.output.as_ref()].into_iter().flatten().try_for_each(|path| expect_name(path))?;
    expect_hdf5(&args.input)?;
    match &args.output {
        Some(output) if !args.dry_run => repack(args, output),
        _ => {
            // Nothing is written, so any name will do.
            let table = child::run(Path::new("-"), &args.input, 0)?.unwrap_or_default();
            table.lines().for_each(|line| say!("{line}"));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Refuses `-`, which is a stream everywhere else.
fn expect_name(path: &Path) -> Result<(), String> {
    match path.as_os_str() == "-" {
        true => Err("-: an HDF5 file cannot be read from or written to a stream; name a file".into()),
        false => Ok(()),
    }
}

/// What is asked for all datasets that are not named.
fn general_request(args: &Args) -> Result<Option<Wish>, String> {
    if args.filter == Filter::None {
        if args.quality.is_given() || !args.dataset.is_empty() || args.rules.is_some() || args.rechunk {
            return Err("--filter none: restores what is compressed; no bound, --dataset, --rules or --rechunk".into());
        }
        if args.others.is_some() {
            return Err("--others: goes with our own filter, not with --filter none".into());
        }
        return Ok(Some(Wish { params: Params::new(DType::F64), target: None }));
    }
    let wish = wish(args)?;
    let target = wish.target;
    args.quality.check_share(args.force)?;
    if let (Some(target), true) = (&target, args.rechunk) {
        let name = crate::targets::argument(target);
        return Err(format!("--rechunk: needs a bound or --lossless; it does not go with {name}"));
    }
    if !args.quality.is_given() && !args.variables.is_empty() {
        return Err("--variables: a bound is needed for them: --abs, --noa, --rel or --lossless".into());
    }
    if !args.quality.is_given() && args.dataset.is_empty() && args.rules.is_none() {
        return Err(
            "a bound is needed: --abs, --noa, --rel or --lossless for all datasets of floats, or --dataset for some, \
             or --rules"
                .into(),
        );
    }
    Ok(args.quality.is_given().then_some(wish))
}

/// How all datasets are to be compressed, or losslessly where nothing says how.
fn wish(args: &Args) -> Result<Wish, String> {
    // The element type comes with each dataset; the widest float lets the bound be checked, and bits of any of them.
    let params = args.quality.params(DType::F64)?;
    Ok(Wish { params, target: args.quality.target()? })
}

/// Has the new file written beside its place and puts it there.
fn repack(args: &Args, output: &Path) -> Outcome {
    let start = Instant::now();
    let blame = |e: std::io::Error| format!("{}: {e}", output.display());
    let target = check_place(output, args.force)?;
    let before = fs::metadata(&args.input).map_err(|e| format!("{}: {e}", args.input.display()))?.len();
    let name = output.display().to_string();
    let (new, staging) = Staging::named(&name, target, args.force, Model::at(&args.input).as_ref()).map_err(blame)?;
    let Some((table, after)) = written(args, output, &new, staging.file())? else {
        return Ok(ExitCode::from(BROKEN));
    };
    size::check(args, output, after)?;
    staging.finish()?;
    table.lines().for_each(|line| say!("{line}"));
    if !args.verbosity.quiet && args.only.is_empty() {
        let (from, to) = (args.input.display().to_string(), output.display().to_string());
        tell(&summary(Array::In, &from, &to, before, after, start.elapsed()));
        if after > before && args.filter != Filter::None {
            let words = |n| if bytes(after) == bytes(before) { format!("{n} bytes") } else { bytes(n) };
            tell(&format!("sleek: {to} is larger than {from} was: {}, not {}", words(after), words(before)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Has the new file written, once more where it is larger than it is to be; the table and its bytes.
fn written(args: &Args, output: &Path, new: &Path, file: &fs::File) -> Result<Option<(String, u64)>, String> {
    let blame = |e: std::io::Error| format!("{}: {e}", output.display());
    let (mut less, mut tries) = (0, 1);
    loop {
        let Some(table) = child::run(new, output, less)? else { return Ok(None) };
        let after = file.metadata().map_err(blame)?.len();
        let excess = size::excess(args, after)?;
        if excess == 0 || tries == size::TRIES {
            return Ok(Some((table, after)));
        }
        file.set_len(0).map_err(blame)?;
        (less, tries) = (less + excess, tries + 1);
    }
}
