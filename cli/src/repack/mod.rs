//! `sleek repack`

mod args;
mod attributes;
mod batch;
mod check;
mod child;
mod copy;
mod decide;
mod jobs;
mod measure;
mod new_file;
mod plan;
mod provenance;
pub mod request;
mod requests;
mod rules;
mod survey;
mod table;
mod views;
mod work;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::Outcome;
use crate::hdf5::expect_hdf5;
use crate::io::{Staging, check_place, say, tell};
use crate::progress::{Array, bytes, summary};
pub use args::Args;
use args::BROKEN;
use child::Done;
use rules::Rules;

pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    let general = args.general()?;
    let rules = args.rules.as_deref().map(Rules::read).transpose()?.unwrap_or_default();
    if let Some(new) = &args.child {
        let mut args = args.clone();
        if let [input, output] = &args.only[..] {
            (args.input, args.output) = (input.clone(), Some(output.clone()));
        }
        work::run(&args, general, &rules, new);
    }
    let is_folder = args.dry_run && args.input.is_dir();
    match args.to.is_some() || args.recursive || !args.more.is_empty() || is_folder {
        true => batch::run(args),
        false => one(args),
    }
}

fn one(args: &Args) -> Outcome {
    let for_several = [("--jobs", args.jobs.is_some()), ("--report", args.report.is_some())];
    if let Some((name, _)) = for_several.iter().find(|(_, given)| *given) {
        return Err(format!("{name} goes with --to DIR, for several files"));
    }
    if args.output.is_none() && !args.dry_run {
        return Err("the required arguments were not provided: <OUT>, or --to DIR, or --dry-run".into());
    }
    [Some(&args.input), args.output.as_ref()].into_iter().flatten().try_for_each(|path| expect_name(path))?;
    expect_hdf5(&args.input)?;
    let start = Instant::now();
    let before = fs::metadata(&args.input).map_err(|e| format!("{}: {e}", args.input.display()))?.len();
    let (done, after) = repack(args, &args.input, args.output.as_deref(), None)?;
    let Done::Table(table) = done else { return Ok(ExitCode::from(BROKEN)) };
    table.lines().for_each(|line| say!("{line}"));
    if let (Some(output), Some(after), false) = (&args.output, after, args.verbosity.quiet) {
        let (from, to) = (args.input.display().to_string(), output.display().to_string());
        tell(&summary(Array::In, &from, &to, before, after, start.elapsed()));
        if after > before && !args.filter.restores() {
            let words = |n| if bytes(after) == bytes(before) { format!("{n} bytes") } else { bytes(n) };
            tell(&format!("sleek: {to} is larger than {from} was: {}, not {}", words(after), words(before)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses `-`, which is a stream everywhere else.
fn expect_name(path: &Path) -> Result<(), String> {
    match path.as_os_str() == "-" {
        true => Err("-: an HDF5 file cannot be read from or written to a stream; name a file".into()),
        false => Ok(()),
    }
}

/// Has the new file written beside its place, if one is to be, and puts it there; its bytes. Of several files it is
/// done by so many threads.
fn repack(
    args: &Args,
    input: &Path,
    output: Option<&Path>,
    threads: Option<usize>,
) -> Result<(Done, Option<u64>), String> {
    let Some(place) = output.filter(|_| !args.dry_run) else {
        // Nothing is written, so any name will do.
        return Ok((child::run(Path::new("-"), input, output, threads)?, None));
    };
    let blame = |e: std::io::Error| format!("{}: {e}", place.display());
    let target = check_place(place, args.force)?;
    let like = fs::metadata(input).ok();
    let staging = Staging::new(&place.display().to_string(), target, args.force, like).map_err(blame)?;
    let done = child::run(staging.path(), input, output, threads)?;
    let after = staging.file().metadata().map_err(blame)?.len();
    if matches!(done, Done::Table(_)) {
        staging.finish()?;
    }
    Ok((done, Some(after)))
}
