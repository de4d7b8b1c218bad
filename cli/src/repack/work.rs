//! What the child process of `sleek repack` does: all that is done through HDF5.

use std::fs;
use std::path::Path;

use super::args::{Args, BROKEN};
use super::check::Checked;
use super::plan::Item;
use super::request::Wish;
use super::requests::Requests;
use super::rules::Rules;
use super::{check, child, copy, table};
use crate::ERROR;
use crate::hdf5::object::{Contents, ObjectKind};
use crate::hdf5::{Hdf5, Id};
use crate::io::{remove_on_signal, say, tell};
use crate::progress::Progress;

/// Prints the table, or as a single line what went wrong, for the parent process to read.
pub fn run(args: &Args, general: Option<Wish>, rules: &Rules, new: &Path) -> ! {
    if !args.dry_run {
        remove_on_signal(new);
    }
    let done = child::listen().and_then(|()| work(args, general, rules, new));
    let code = done.unwrap_or_else(|message| {
        say!("{message}");
        ERROR
    });
    // SAFETY: ends the process at once. The usual end would run HDF5's own, which crashes after some errors.
    unsafe { libc::_exit(code.into()) }
}

fn work(args: &Args, general: Option<Wish>, rules: &Rules, new: &Path) -> Result<u8, String> {
    let blame = |e: String| format!("{}: {e}", args.input.display());
    let hdf5 = Hdf5::for_file(args.library.library.as_deref(), &args.input)?;
    let file = hdf5.open(&args.input)?;
    let contents = Contents::read(&file).map_err(blame)?;
    let requests = Requests::new(args, general, rules, &file, &contents).map_err(blame)?;
    let mut items = decide(args, &requests, &file, &contents)?;
    let quiet = args.verbosity.quiet;
    // Of many files each need not have all.
    if args.only.is_empty() {
        let fields = items.iter().enumerate();
        let fields = fields.filter_map(|(place, item)| Some((place, item.as_ref()?.field.as_ref()?.stored.dtype)));
        for idle in requests.rules.without_match(&fields.collect::<Vec<_>>()).iter().chain(&requests.idle) {
            tell(&format!("sleek: warning: {idle} matches no dataset of {}", args.input.display()));
        }
    }
    match &args.output {
        Some(output) if !args.dry_run => {
            let checked = write(args, output, new, &file, &contents, &mut items)?;
            if checked.as_ref().is_some_and(|checked| !checked.violations.is_empty()) {
                return Ok(BROKEN);
            }
            show(args, &items, "ratio");
            match checked {
                Some(checked) if !quiet && !is_json(args) => say!("{}", checked.words()),
                Some(checked) if !checked.others.is_empty() => tell(&format!("sleek: {}", checked.words())),
                _ => {}
            }
        }
        _ => show(args, &items, "estimate"),
    }
    Ok(0)
}

/// Whether the table is for a program, as that of one of several files is.
fn is_json(args: &Args) -> bool {
    args.json || !args.only.is_empty()
}

fn show(args: &Args, items: &[Option<Item>], ratio_label: &str) {
    match (is_json(args), args.verbosity.quiet) {
        (true, _) => table::print_json(items),
        (false, true) => {}
        (false, false) => table::print(items, ratio_label),
    }
}

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
            ObjectKind::Dataset => Some(Item::decide(file, contents, place, requests, args.dry_run)?),
            _ => None,
        };
        progress.add(item.as_ref().map_or(0, |i| i.stored_bytes));
        items.push(item);
    }
    Ok(items)
}

/// Writes the new file; what came of its comparison with the old one, if that is asked for.
fn write(
    args: &Args,
    output: &Path,
    new: &Path,
    file: &Id,
    contents: &Contents,
    items: &mut [Option<Item>],
) -> Result<Option<Checked>, String> {
    copy::file(args, file, new, contents, items)
        .map_err(|e| format!("{} -> {}: {e}", args.input.display(), output.display()))?;
    if !args.verify {
        return Ok(None);
    }
    let checked = check::compare(file, new, contents, items, args.verbosity.quiet)
        .map_err(|e| format!("{}: {e}", output.display()))?;
    checked.violations.iter().for_each(|line| tell(&format!("sleek: BROKEN: {line}")));
    if !checked.violations.is_empty() {
        tell(&format!("sleek: {} was not written", output.display()));
    }
    Ok(Some(checked))
}
