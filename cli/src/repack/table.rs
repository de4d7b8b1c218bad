//! What `sleek repack` says it did, or would do.

use serde_json::{Value, json};
use sleek::printable::printable;

use super::decide::Decision;
use super::plan::Item;
use crate::io::{say, say_json_line};
use crate::progress::{bytes, ratio};

/// A line for each dataset.
pub fn print(items: &[Option<Item>], ratio_label: &str) {
    let widest = items.iter().flatten().map(|i| printable(&i.name).chars().count()).max().unwrap_or(0).clamp(7, 40);
    let head = ["size", ratio_label, "before", "after"].map(|title| format!("{title:>11}")).concat();
    say!("{:<widest$} {:<5}{head}  what is done", "dataset", "type");
    for item in items.iter().flatten() {
        let kind = kind(item);
        let shown = match &item.decision {
            Decision::Keep(_) => String::new(),
            Decision::Compress(_) => ratio(item.raw_bytes, item.new_bytes),
        };
        let size = if item.raw_bytes > 0 { bytes(item.raw_bytes) } else { String::new() };
        let [before, after] = [item.stored_bytes, item.new_bytes].map(bytes);
        let what = what(item);
        let what = printable(&what);
        say!("{:<widest$} {kind:<5}{size:>11}{shown:>11}{before:>11}{after:>11}  {what}", printable(&item.name));
    }
}

/// The same for a program, on one line.
pub fn print_json(items: &[Option<Item>]) {
    let each = items.iter().flatten().map(|item| {
        json!({
            "dataset": item.name,
            "type": kind(item),
            "raw_bytes": item.raw_bytes,
            "stored_before": item.stored_bytes,
            "stored_after": item.new_bytes,
            "compressed": matches!(item.decision, Decision::Compress(_)),
            "what": what(item),
        })
    });
    say_json_line(&Value::Array(each.collect()));
}

fn kind(item: &Item) -> &'static str {
    item.field.as_ref().map_or("", |f| f.stored.dtype.name())
}

fn what(item: &Item) -> String {
    match &item.decision {
        Decision::Keep(why) => format!("kept: {why}"),
        Decision::Compress(params) => item.note(params),
    }
}
