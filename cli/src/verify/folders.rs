//! `sleek verify -r`: every HDF5 file of a folder with the one of its place in another.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use sleek::printable::printable;

use super::{Args, BROKEN, files};
use crate::csv;
use crate::hdf5::{FileKind, kind_of};
use crate::io::{Model, Output, files_below, say, say_json};
use crate::quality::Figure;
use crate::{ERROR, Outcome};

/// Columns of a table for programs.
const OF_FILE: [&str; 4] = ["file", "verdict", "bytes_before", "bytes_after"];
const OF_DATASET: [&str; 10] = [
    "name",
    "verdict",
    "mode",
    "promise",
    "max_error",
    "error_over_bound",
    "changed",
    "violations",
    "missing_values",
    "missing_violations",
];

/// What may come of a file.
const VERDICTS: [&str; 5] = ["kept", "missed", "broken", "failed", "extra"];

/// Compares and reports.
pub fn run(args: &Args) -> Outcome {
    check(args.report.as_deref())?;
    let [old, new] = [&args.original, &args.compressed].map(|folder| listed(folder));
    let (old, new) = (old?, new?);
    if old.is_empty() {
        return Err(format!("{}: holds no HDF5 file", args.original.display()));
    }
    let mut all: Vec<Value> = old.iter().map(|place| of_place(args, place, new.contains(place))).collect();
    all.extend(new.difference(&old).map(|place| json!({"file": place.to_string_lossy(), "verdict": "extra"})));
    if let Some(path) = &args.report {
        let inputs: Vec<PathBuf> = old.iter().map(|place| args.original.join(place)).collect();
        write(path, &all, Model::of_all(inputs.iter().map(PathBuf::as_path)).as_ref())?;
    }
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

/// Refuses the name of a report of which the form is not known, before any work.
pub fn check(path: Option<&Path>) -> Result<(), String> {
    let is_known = |path: &Path| path.extension().is_some_and(|end| end == "json" || end == "csv");
    match path.filter(|path| !is_known(path)) {
        Some(path) => Err(format!("--report {}: a name that ends in .json or .csv is needed", path.display())),
        None => Ok(()),
    }
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

/// Writes the report, which only those can read who can read `like`.
fn write(path: &Path, all: &[Value], like: Option<&Model>) -> Result<(), String> {
    let text = match path.extension().is_some_and(|end| end == "csv") {
        true => to_csv(all),
        false => format!("{:#}\n", whole(all)),
    };
    let mut output = Output::create(path, true, like)?;
    output.write(text.as_bytes())?;
    output.finish()
}

/// A line for each dataset, and one for each file without any.
fn to_csv(all: &[Value]) -> String {
    let dataset = OF_DATASET.map(|key| format!("dataset_{key}"));
    let figures = Figure::ALL.iter().skip(1).map(|figure| figure.key()).collect::<Vec<_>>();
    let mut text = format!("{},{},{},why\n", OF_FILE.join(","), dataset.join(","), figures.join(","));
    for file in all {
        let none = vec![Value::Null];
        for dataset in file["datasets"].as_array().filter(|d| !d.is_empty()).unwrap_or(&none) {
            let why = if dataset.is_null() { file } else { dataset };
            text += &csv::line(&[
                (file, &OF_FILE),
                (dataset, &OF_DATASET),
                (&dataset["quality"], &figures),
                (why, &["why"]),
            ]);
        }
    }
    text
}
