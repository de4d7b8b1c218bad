//! Tables for programs, as RFC 4180 has them, but that line breaks are written out: each row is a line.

use serde_json::Value;
use sleek::printable::printable;

/// A line of the values that these keys have.
pub fn line(of: &[(&Value, &[&str])]) -> String {
    let cells = of.iter().flat_map(|(value, keys)| keys.iter().map(|key| cell(&value[*key])));
    cells.collect::<Vec<_>>().join(",") + "\n"
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(s) if s.contains(['"', ',']) => format!("\"{}\"", printable(s).replace('"', "\"\"")),
        Value::String(s) => printable(s).into_owned(),
        other => other.to_string(),
    }
}
