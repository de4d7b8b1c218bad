//! `sleek repack`

mod attributes;
mod check;
mod copy;
mod plan;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use sleek::hdf5::text;
use sleek::{DType, Params};

use crate::Outcome;
use crate::args::{Quality, Threads, Verbosity};
use crate::hdf5::object::{Contents, Kind};
use crate::hdf5::{Hdf5, Id, LibraryArg, expect_hdf5};
use crate::io::{Staging, check_place, say, tell};
use crate::progress::{Array, Progress, bytes, ratio, summary};
use plan::{Decision, Item, Request, Requests};

/// Exit code when the new file does not keep what was promised; there is none then.
const BROKEN: u8 = 1;

const NOA_HELP: &str = "Bound relative to the value range: |v − r| ≤ E · (max − min) of each whole dataset";

const AFTER_HELP: &str = "Attributes, links, groups, named types, dimension scales, fill values, chunks and all other datasets are \
carried over. OUT may be IN (with --force); it appears whole or not at all.\n\n\
Exit code: 0 done, 1 --verify found a bound broken and nothing was written, 2 an error.";

/// Compress the float datasets of an HDF5 or netCDF-4 file, keep the rest as it is
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, mut_group("Bound", |group| group.required(false)), mut_arg("noa", |noa| noa.help(NOA_HELP)))]
pub struct Args {
    #[command(flatten)]
    quality: Quality,
    /// A request for one dataset (repeatable): /t=abs=1e-3, /p=noa=1e-4,range=50, /x=lossless, /y=keep
    #[arg(long, value_name = "PATH=REQUEST", value_parser = named_request)]
    dataset: Vec<(String, Request)>,
    /// Show what would be done, with ratios estimated from samples, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Read the new file and compare every value with the old one before it takes its place
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    library: LibraryArg,
    #[command(flatten)]
    threads: Threads,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    verbosity: Verbosity,
    /// The file as it is
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file as it shall be
    #[arg(value_name = "OUT", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
}

/// Reads `PATH=REQUEST`.
fn named_request(argument: &str) -> Result<(String, Request), String> {
    let Some((path, request)) = argument.split_once('=') else {
        return Err("a path and a request are needed, such as /t=abs=1e-3".into());
    };
    let path = format!("/{}", path.trim_start_matches('/'));
    match request {
        "keep" => Ok((path, Request::Keep)),
        request => Ok((path, Request::Compress(text::parse(request).map_err(|e| e.message)?))),
    }
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    // The variable is for programs that have no such arguments.
    // SAFETY: the process has one thread at this point, so nobody reads the environment meanwhile.
    unsafe { std::env::remove_var("SLEEK_PARAMS") };
    let general = general_request(args)?;
    [Some(&args.input), args.output.as_ref()].into_iter().flatten().try_for_each(|path| expect_name(path))?;
    expect_hdf5(&args.input)?;
    if let (Some(output), false) = (&args.output, args.dry_run) {
        check_place(output, args.force)?;
    }
    let hdf5 = Hdf5::find(args.library.library.as_deref())?;
    let file = hdf5.open(&args.input)?;
    let contents = Contents::read(&file).map_err(|e| format!("{}: {e}", args.input.display()))?;
    let requests = Requests::new(general, &args.dataset, &file, &contents)
        .map_err(|e| format!("{}: {e}", args.input.display()))?;
    let items = decide(args, &requests, &file, &contents)?;
    let quiet = args.verbosity.quiet;
    match &args.output {
        Some(output) if !args.dry_run => repack(args, output, &file, &contents, items),
        _ if quiet => Ok(ExitCode::SUCCESS),
        _ => {
            print_table(&items, "estimate");
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
fn general_request(args: &Args) -> Result<Option<Params>, String> {
    // The element type comes with each dataset; any float lets the bound be checked.
    let general = args.quality.params(DType::F32)?;
    if !args.quality.is_given() && args.dataset.is_empty() {
        return Err(
            "a bound is needed: --abs, --noa, --rel or --lossless for all datasets of floats, or --dataset for some"
                .into(),
        );
    }
    Ok(args.quality.is_given().then_some(general))
}

/// Decides on every dataset.
fn decide<'a>(
    args: &Args,
    requests: &Requests,
    file: &Id<'a>,
    contents: &Contents,
) -> Result<Vec<Option<Item<'a>>>, String> {
    let quiet = args.verbosity.quiet;
    let total = fs::metadata(&args.input).map(|m| m.len()).ok();
    let mut progress = Progress::new("looking", total, quiet);
    let mut items = Vec::new();
    for (place, object) in contents.objects.iter().enumerate() {
        let item = match object.kind {
            Kind::Dataset => Some(Item::decide(file, contents, place, requests, args.dry_run)?),
            _ => None,
        };
        progress.add(item.as_ref().map_or(0, |i| i.stored_bytes));
        items.push(item);
    }
    Ok(items)
}

fn repack(args: &Args, output: &Path, file: &Id, contents: &Contents, mut items: Vec<Option<Item>>) -> Outcome {
    let start = Instant::now();
    let quiet = args.verbosity.quiet;
    let blame = |e: std::io::Error| format!("{}: {e}", output.display());
    let (empty, staging) = Staging::new(output, args.force).map_err(blame)?;
    drop(empty);
    copy::file(file, &args.input, staging.path(), contents, &mut items, quiet)
        .map_err(|e| format!("{}: {e}", args.input.display()))?;
    if args.verify {
        let violations = check::compare(file, staging.path(), contents, &items, quiet)?;
        if !violations.is_empty() {
            violations.iter().for_each(|line| tell(&format!("sleek: BROKEN: {line}")));
            tell(&format!("sleek: {} was not written", output.display()));
            return Ok(ExitCode::from(BROKEN));
        }
    }
    // The old file may be the only copy, so the new one must be on the disk before it takes its place.
    let new = fs::File::open(staging.path()).map_err(blame)?;
    new.sync_all().map_err(blame)?;
    let size = |path: &Path| fs::metadata(path).map(|m| m.len()).unwrap_or(0);
    let (before, after) = (size(&args.input), size(staging.path()));
    let permissions = fs::metadata(&args.input).map(|m| m.permissions());
    permissions.and_then(|p| fs::set_permissions(staging.path(), p)).map_err(blame)?;
    staging.finish()?;
    if !quiet {
        print_table(&items, "ratio");
        if args.verify {
            say!("verified: every value of the new file was compared with the old one");
        }
        let (from, to) = (args.input.display().to_string(), output.display().to_string());
        tell(&summary(Array::In, &from, &to, before, after, start.elapsed()));
        if after > before {
            tell(&format!("sleek: {to} is larger than {from} was: {}, not {}", bytes(after), bytes(before)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A line for each dataset.
fn print_table(items: &[Option<Item>], ratio_label: &str) {
    let widest = items.iter().flatten().map(|i| i.name.chars().count()).max().unwrap_or(0).clamp(7, 40);
    say!("{:<widest$} {:<5}{:>10}{ratio_label:>10}  what is done", "dataset", "type", "size");
    for item in items.iter().flatten() {
        let kind = item.field.as_ref().map_or("", |f| f.stored.dtype.name());
        let (shown, what) = match &item.decision {
            Decision::Keep(why) => (String::new(), format!("kept: {why}")),
            Decision::Compress(params) => (ratio(item.raw_bytes, item.new_bytes), item.note(params)),
        };
        let size = if item.raw_bytes > 0 { bytes(item.raw_bytes) } else { String::new() };
        say!("{:<widest$} {kind:<5}{size:>10}{shown:>10}  {what}", item.name);
    }
}
