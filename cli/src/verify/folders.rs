//! `sleek verify -r`: every HDF5 file of a folder with the one of its place in another.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use sleek::printable::printable;

use super::{Args, BROKEN, files};
use crate::hdf5::{FileKind, kind_of};
use crate::io::{files_below, say, say_json};
use crate::{ERROR, Outcome};

/// What may come of a file.
const VERDICTS: [&str; 5] = ["kept", "missed", "broken", "failed", "extra"];

pub fn run(args: &Args) -> Outcome {
    let [old, new] = [&args.original, &args.compressed].map(|folder| listed(folder));
    let (old, new) = (old?, new?);
    if old.is_empty() {
        return Err(format!("{}: holds no HDF5 file", args.original.display()));
    }
    let mut all: Vec<Value> = old.iter().map(|place| of_place(args, place, new.contains(place))).collect();
    all.extend(new.difference(&old).map(|place| json!({"file": place.to_string_lossy(), "verdict": "extra"})));
    match args.json {
        true => say_json(&whole(&all)),
        false => print(&all, args.verbosity.quiet),
    }
    let any = |verdict: &str| all.iter().any(|file| file["verdict"] == verdict);
    Ok(ExitCode::from(match (any("failed"), any("broken") || any("missed")) {
        (true, _) => ERROR,
        (false, true) => BROKEN,
        _ => 0,
    }))
}

/// The HDF5 files below a folder; hidden ones are what is being written.
fn listed(folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let is_hdf5 = |path: &PathBuf| matches!(kind_of(&folder.join(path)), Ok(FileKind::Hdf5));
    Ok(files_below(folder)?.into_iter().filter(|path| !is_hidden(path) && is_hdf5(path)).collect())
}

/// What came of a file.
fn of_place(args: &Args, place: &Path, is_there: bool) -> Value {
    let [old, new] = [&args.original, &args.compressed].map(|folder| folder.join(place));
    let bytes = |path: &Path| std::fs::metadata(path).map(|m| m.len()).ok();
    let mut file = json!({
        "file": place.to_string_lossy(),
        "bytes_before": bytes(&old),
        "bytes_after": bytes(&new),
    });
    if !is_there {
        (file["verdict"], file["why"]) = (json!("broken"), json!("is not in the second folder"));
        return file;
    }
    match files::compare_files(args, [&old, &new]) {
        Ok(report) => {
            file["verdict"] = json!(match (report.kept(), report.met()) {
                (false, _) => "broken",
                (true, false) => "missed",
                (true, true) => "kept",
            });
            file["datasets"] = report.to_json()["datasets"].take();
        }
        Err(why) => (file["verdict"], file["why"]) = (json!("failed"), json!(why)),
    }
    file
}

fn whole(all: &[Value]) -> Value {
    let count = |verdict: &str| all.iter().filter(|file| file["verdict"] == verdict).count();
    let mut totals = json!({"files": all.len()});
    VERDICTS.iter().for_each(|verdict| totals[verdict] = json!(count(verdict)));
    json!({"kept": count("broken") + count("failed") == 0, "files": all, "totals": totals})
}

/// A line for each file, those for datasets that broke something below it, and one for all.
fn print(all: &[Value], quiet: bool) {
    let text = |value: &Value| printable(value.as_str().unwrap_or_default()).into_owned();
    for file in all {
        let datasets = || file["datasets"].as_array().into_iter().flatten();
        let said = match datasets().count() {
            0 => text(&file["why"]),
            n => format!("{n} datasets"),
        };
        if !quiet || file["verdict"] != "kept" {
            say!("{}", format!("{:<7} {}  {said}", text(&file["verdict"]), text(&file["file"])).trim_end());
        }
        for dataset in datasets() {
            let missed = dataset["missed"].as_array().into_iter().flatten();
            for why in missed.chain(Some(&dataset["why"]).filter(|_| dataset["verdict"] == "broken")) {
                say!("        {}: {}", text(&dataset["name"]), text(why));
            }
        }
    }
    let totals = &whole(all)["totals"];
    let counts = VERDICTS.map(|verdict| (verdict, totals[verdict].as_u64().unwrap_or(0)));
    let counts: Vec<String> =
        counts.iter().filter(|(_, n)| *n > 0).map(|(verdict, n)| format!("{n} {verdict}")).collect();
    let verdict = match (whole(all)["kept"] == true, totals["missed"] == 0) {
        (false, _) => "BROKEN",
        (true, false) => "MISSED",
        (true, true) => "kept",
    };
    say!("verdict {verdict}: {}", counts.join(", "));
}
