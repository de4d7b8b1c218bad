//! `sleek repack`

mod args;
mod attributes;
mod batch;
mod check;
mod child;
mod copy;
mod decide;
mod elsewhere;
mod jobs;
mod measure;
mod new_file;
mod plan;
pub mod provenance;
mod request;
mod requests;
mod rules;
mod survey;
mod table;
mod work;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::Outcome;
use crate::hdf5::expect_hdf5;
use crate::io::{Model, Staging, check_place, say, tell};
use crate::progress::{Array, bytes, summary};
pub use args::Args;
use args::BROKEN;
use rules::Rules;

pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    let general = args.general()?;
    let rules = args.rules.as_deref().map(Rules::read).transpose()?.unwrap_or_default();
    let args = &match &args.only[..] {
        [input, output] => {
            if args.child.is_none() {
                child::listen()?;
            }
            Args { input: input.clone(), output: Some(output.clone()), ..args.clone() }
        }
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
            let table = child::run(Path::new("-"), &args.input)?.unwrap_or_default();
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

/// Has the new file written beside its place and puts it there.
fn repack(args: &Args, output: &Path) -> Outcome {
    let start = Instant::now();
    let blame = |e: std::io::Error| format!("{}: {e}", output.display());
    let target = check_place(output, args.force)?;
    let before = fs::metadata(&args.input).map_err(|e| format!("{}: {e}", args.input.display()))?.len();
    let name = output.display().to_string();
    let staging = Staging::new(&name, target, args.force, Model::at(&args.input).as_ref()).map_err(blame)?;
    let Some(table) = child::run(staging.path(), output)? else { return Ok(ExitCode::from(BROKEN)) };
    let after = staging.file().metadata().map_err(blame)?.len();
    staging.finish()?;
    table.lines().for_each(|line| say!("{line}"));
    if !args.verbosity.quiet && args.only.is_empty() {
        let (from, to) = (args.input.display().to_string(), output.display().to_string());
        tell(&summary(Array::In, &from, &to, before, after, start.elapsed()));
        if after > before && !args.filter.restores() {
            let words = |n| if bytes(after) == bytes(before) { format!("{n} bytes") } else { bytes(n) };
            tell(&format!("sleek: {to} is larger than {from} was: {}, not {}", words(after), words(before)));
        }
    }
    Ok(ExitCode::SUCCESS)
}
