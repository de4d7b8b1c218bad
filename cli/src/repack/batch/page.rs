//! The report of a batch as a page: a table, with a small picture of each dataset that was compressed and of its
//! errors.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::super::Args;
use super::pictures::{Files, Pictures};
use super::report::in_all;
use crate::hdf5::Hdf5;
use crate::plot::page;
use crate::plot::picture::escaped;
use crate::progress::{bytes, ratio};

const HEAD: &str = "<tr><th class=\"l\">file and dataset</th><th \
class=\"l\">type</th><th>before</th><th>after</th><th>ratio</th>\
<th class=\"l\">bound</th><th class=\"l\">verdict</th><th class=\"l\">why</th><th class=\"l\">field</th><th \
class=\"l\">error</th></tr>";

/// The whole page. What is shown in pictures is read from the files as they are now.
pub fn page(files: &[Value], args: &Args) -> String {
    let hdf5 = if args.dry_run { None } else { Hdf5::find(args.library.library.as_deref()).ok() };
    let mut body = format!("<h2>sleek repack</h2>\n<p>{}</p>\n", escaped(&in_all(files)));
    if args.dry_run {
        body += "<p>Sizes after are estimates: nothing was written.</p>\n";
    } else {
        body += "<p>Pictures: a slice through the middle, and its errors from blue (- bound) over white to orange (+ \
                 bound); grey has no value. Of a line: its course, and its errors between the bounds.</p>\n";
    }
    let _ = writeln!(body, "<table>\n{HEAD}");
    for file in files {
        file_rows(&mut body, file, args, hdf5.as_ref());
    }
    body += "</table>\n";
    page::page("sleek repack", &body)
}

fn file_rows(body: &mut String, file: &Value, args: &Args, hdf5: Option<&Hdf5>) {
    let text = |key: &str| file[key].as_str().unwrap_or_default();
    let status = text("status");
    let class = if matches!(status, "failed" | "broken") { " class=\"bad\"" } else { "" };
    let sizes = sizes(&file["bytes_before"], &file["bytes_after"]);
    let _ = writeln!(
        body,
        "<tr{class}><td class=\"l\"><b>{}</b></td><td></td>{sizes}<td></td><td class=\"l\">{status}</td>\
         <td class=\"l\" colspan=\"3\">{}</td></tr>",
        escaped(text("input")),
        escaped(text("message"))
    );
    let opened = hdf5.and_then(|hdf5| Files::open(hdf5, Path::new(text("input")), Path::new(text("output"))));
    for dataset in file["datasets"].as_array().into_iter().flatten() {
        let is_compressed = dataset["compressed"] == true;
        let name = dataset["dataset"].as_str().unwrap_or_default();
        let shown = opened.as_ref().filter(|_| is_compressed).and_then(|files| files.pictures(name));
        dataset_row(body, dataset, name, verdict(is_compressed, args), shown);
    }
}

fn dataset_row(body: &mut String, dataset: &Value, name: &str, verdict: &str, shown: Option<Pictures>) {
    let what = dataset["what"].as_str().unwrap_or_default();
    let (bound, why) = match what.strip_prefix("kept: ") {
        Some(why) => ("", why),
        None => what.split_once(": ").unwrap_or((what, "")),
    };
    let kind = dataset["type"].as_str().unwrap_or_default();
    let sizes = sizes(&dataset["stored_before"], &dataset["stored_after"]);
    let picture =
        |address: &str| format!("<td class=\"l\"><img width=\"96\" height=\"64\" alt=\"\" src=\"{address}\"></td>");
    let pictures = match shown {
        Some(Pictures { field, error }) => picture(&field) + &picture(&error),
        None => "<td></td><td></td>".into(),
    };
    let _ = writeln!(
        body,
        "<tr><td class=\"l\">{}</td><td class=\"l\">{kind}</td>{sizes}<td class=\"l\">{}</td><td \
        class=\"l\">{verdict}</td>\
         <td class=\"l\">{}</td>{pictures}</tr>",
        escaped(name),
        escaped(bound),
        escaped(why)
    );
}

/// Cells of both sizes and their ratio.
fn sizes(before: &Value, after: &Value) -> String {
    match (before.as_u64(), after.as_u64()) {
        (Some(before), Some(after)) => {
            let times = if before > 0 { ratio(before, after) } else { String::new() };
            format!("<td>{}</td><td>{}</td><td>{times}</td>", bytes(before), bytes(after))
        }
        (Some(before), None) => format!("<td>{}</td><td></td><td></td>", bytes(before)),
        _ => "<td></td><td></td><td></td>".into(),
    }
}

fn verdict(is_compressed: bool, args: &Args) -> &'static str {
    match (is_compressed, args.dry_run, args.verify) {
        (false, ..) => "as it was",
        (true, true, _) => "",
        (true, false, true) => "every value compared: kept",
        (true, false, false) => "not compared",
    }
}
