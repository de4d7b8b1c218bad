//! What a batch did, for people and programs.

use std::path::Path;

use serde_json::{Value, json};
use sleek::printable::printable;

use super::super::Args;
use super::page;
use crate::csv;
use crate::io::{Model, Output, say};
use crate::progress::{bytes, ratio};

/// Refuses the name of a report of which the form is not known, before any work.
pub fn check(path: Option<&Path>) -> Result<(), String> {
    match path {
        Some(path) if form(path).is_none() => {
            Err(format!("--report {}: a name that ends in .json, .csv or .html is needed", path.display()))
        }
        _ => Ok(()),
    }
}

/// What is made of the files.
#[derive(PartialEq)]
enum Form {
    Json,
    Csv,
    Html,
}

fn form(path: &Path) -> Option<Form> {
    match path.extension()?.to_str()? {
        "json" => Some(Form::Json),
        "csv" => Some(Form::Csv),
        "html" => Some(Form::Html),
        _ => None,
    }
}

/// Writes the report, which only those can read who can read `like`.
pub fn write(path: &Path, files: &[Value], args: &Args, like: Option<&Model>) -> Result<(), String> {
    let text = match form(path) {
        Some(Form::Csv) => to_csv(files),
        Some(Form::Html) => page::page(files, args),
        _ => format!("{:#}\n", json!({"files": files, "totals": totals(files)})),
    };
    let mut output = Output::create(path, true, like)?;
    output.write(text.as_bytes())?;
    output.finish()
}

/// A line for each file, and one for all.
pub fn print(files: &[Value], is_estimate: bool) {
    let name = |file: &Value| printable(file["input"].as_str().unwrap_or_default()).into_owned();
    let widest = files.iter().map(|f| name(f).chars().count()).max().unwrap_or(0).clamp(5, 60);
    let label = if is_estimate { "estimate" } else { "ratio" };
    say!("{:<widest$} {:<9}{:>11}{:>11}{label:>10}", "file", "", "before", "after");
    for file in files {
        let (before, after) = (file["bytes_before"].as_u64().unwrap_or(0), file["bytes_after"].as_u64());
        let status = file["status"].as_str().unwrap_or_default();
        let (shown, times) = match after {
            Some(after) => (bytes(after), ratio(before, after)),
            None => (String::new(), String::new()),
        };
        let line = format!("{:<widest$} {status:<9}{:>11}{shown:>11}{times:>10}", name(file), bytes(before));
        say!("{}", line.trim_end());
    }
    say!("{}", in_all(files));
}

/// All files in a line.
pub fn in_all(files: &[Value]) -> String {
    let totals = totals(files);
    let number = |key: &str| totals[key].as_u64().unwrap_or(0);
    let (before, after) = (number("bytes_before"), number("bytes_after"));
    let counts = ["done", "again", "elsewhere", "broken", "failed"].map(|s| (s, number(s)));
    let counts: Vec<String> =
        counts.iter().filter(|(_, n)| *n > 0).map(|(status, n)| format!("{n} {status}")).collect();
    format!("{}: {} -> {}, ratio {}", counts.join(", "), bytes(before), bytes(after), ratio(before, after))
}

/// Of the files that have a result.
fn totals(files: &[Value]) -> Value {
    let with_result = files.iter().filter(|f| !f["bytes_after"].is_null());
    let sum = |key: &str| with_result.clone().filter_map(|f| f[key].as_u64()).sum::<u64>();
    let count = |status: &str| files.iter().filter(|f| f["status"] == status).count();
    json!({
        "files": files.len(),
        "done": count("done"),
        "again": count("again"),
        "elsewhere": count("elsewhere"),
        "broken": count("broken"),
        "failed": count("failed"),
        "bytes_before": sum("bytes_before"),
        "bytes_after": sum("bytes_after"),
    })
}

/// A line for each dataset, and one for each file without any.
fn to_csv(files: &[Value]) -> String {
    let of_file = ["input", "output", "status", "message", "bytes_before", "bytes_after"];
    let of_dataset = ["dataset", "type", "raw_bytes", "stored_before", "stored_after", "what"];
    let mut text = [&of_file[..], &of_dataset].concat().join(",") + "\n";
    for file in files {
        let none = vec![Value::Null];
        let datasets = file["datasets"].as_array().filter(|d| !d.is_empty()).unwrap_or(&none);
        for dataset in datasets {
            text += &csv::line(&[(file, &of_file), (dataset, &of_dataset)]);
        }
    }
    text
}
