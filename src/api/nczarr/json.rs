//! The codec in Zarr's metadata, as docs/guide/zarr.md has it: an object of numbers, words and truths.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::error::{Result, fail};
use crate::missing::MissingValue;
use crate::params::{Mode, Params, Profile};
use crate::text;

/// Reads `{"id": "sleek", "abs": 0.001}`. The element type of the answer means nothing.
pub fn read(codec: &str) -> Result<Params> {
    let (mut items, mut words) = (Vec::new(), None);
    let object: Map<String, Value> = match serde_json::from_str(codec) {
        Ok(object) => object,
        Err(error) => {
            let right = r#"{"id": "sleek", "abs": 0.001}"#;
            return fail!(InvalidArgument, "the codec {codec} cannot be read ({error}); it should be like {right}");
        }
    };
    for (key, value) in object {
        match (key.as_str(), value) {
            ("id", Value::String(name)) if name == "sleek" => {}
            ("request", Value::String(text)) => words = Some(text),
            (_, Value::Null) | ("lossless", Value::Bool(false)) => {}
            ("lossless", Value::Bool(true)) => items.push(key),
            ("fill", Value::Bool(false)) => items.push("no-fill".into()),
            ("abs" | "noa" | "rel" | "range" | "fill", Value::Number(number)) => items.push(format!("{key}={number}")),
            ("profile", Value::String(name)) if !name.contains(',') => items.push(format!("profile={name}")),
            _ => {
                return fail!(
                    InvalidArgument,
                    "'{key}' in the codec {codec} is unknown, or has another value than it may have"
                );
            }
        }
    }
    match words {
        Some(words) if items.is_empty() => text::parse(&words),
        Some(_) => fail!(InvalidArgument, "'request' in the codec {codec} goes with no other key"),
        None if items.is_empty() => {
            fail!(InvalidArgument, "the codec {codec} has no mode; abs, noa, rel, lossless or request")
        }
        None => text::parse(&items.join(",")),
    }
}

/// What `read` reads as the same request.
pub fn write(request: &Params) -> String {
    let missing: Vec<MissingValue> = request.missing.iter().collect();
    let fill = match missing[..] {
        [] => None,
        [MissingValue::Number(fill)] if fill.is_finite() => Some(fill),
        _ => return in_words(request),
    };
    let off = request.find_fill == Some(false);
    let mode = request.bound.mode();
    if request.codec != 0
        || request.limits.is_some()
        || off && fill.is_some()
        || !(mode.has_bound() || mode == Mode::Lossless)
    {
        return in_words(request);
    }
    let mut json = String::from(r#"{"id": "sleek""#);
    // Writing into a String does not fail.
    let _ = match mode {
        Mode::Lossless => write!(json, r#", "{}": true"#, mode.name()),
        _ => write!(json, r#", "{}": {:?}"#, mode.name(), request.bound.number()),
    };
    for (key, value) in [("range", request.bound.range()), ("fill", fill)] {
        let _ = value.map_or(Ok(()), |value| write!(json, r#", "{key}": {value:?}"#));
    }
    if off {
        json += r#", "fill": false"#;
    }
    if request.profile != Profile::default() {
        let _ = write!(json, r#", "profile": "{}""#, request.profile.name());
    }
    json + "}"
}

fn in_words(request: &Params) -> String {
    format!(r#"{{"id": "sleek", "request": "{}"}}"#, text::format(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back() {
        for words in [
            "lossless",
            "abs=1e-3",
            "abs=1e-30,profile=small",
            "noa=1e-4,range=50",
            "rel=1e-2,fill=-9999,profile=fast",
            "abs=1e-3,fill=-9999,fill=0x7fc01234",
            "abs=1e-3,fill=nan",
            "rate=8,codec=zfp",
            "abs=5e-324",
            "abs=1e-3,no-fill",
            "abs=1e-3,fill=-9999,no-fill",
            "abs=1e300",
        ] {
            let request = text::parse(words).unwrap();
            let json = write(&request);
            let back = read(&json).unwrap_or_else(|error| panic!("{json}: {error}"));
            // NaN is no number that is equal to itself.
            assert_eq!(format!("{back:?}"), format!("{request:?}"), "{json}");
        }
    }

    #[test]
    fn what_python_writes() {
        let read = |json: &str| text::format(&read(json).unwrap());
        assert_eq!(read(r#"{"id": "sleek", "noa": 0.0001, "range": 50.0}"#), "noa=1e-4,range=5e1");
        assert_eq!(read("{\n  \"abs\": 1,\n  \"fill\": -9999.0,\n  \"id\": \"sleek\"\n}"), "abs=1e0,fill=-9.999e3");
        assert_eq!(read(r#"{"id":"sleek","lossless":true,"profile":"small","abs":null}"#), "lossless,profile=small");
        assert_eq!(read(r#"{"request": "abs=1e-3,profile=fast"}"#), "abs=1e-3,profile=fast");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (json, named) in [
            ("", "EOF"),
            ("{", "line 1 column 1"),
            ("[]", "expected a map"),
            ("{}", "no mode"),
            (r#"{"abs": 1e-3"#, "column 12"),
            (r#"{"abs": 1e-3} x"#, "column 15"),
            (r#"{"abs": 1e-3,}"#, "column 14"),
            (r#"{"abs": "1e-3"}"#, "'abs'"),
            (r#"{"abs": [1]}"#, "'abs'"),
            (r#"{"abs": inf}"#, "column 9"),
            (r#"{"abs": 1e999}"#, "out of range"),
            (r#"{"abs": -1}"#, "bound -1"),
            (r#"{"abs": 1, "rel": 1}"#, "second mode"),
            (r#"{"abs": 1, "bas": 1}"#, "'bas'"),
            (r#"{"abs": 1, "profile": "fast,rel=1"}"#, "'profile'"),
            (r#"{"abs": 1, "request": "abs=1"}"#, "'request'"),
            (r#"{"id": "zlib", "abs": 1}"#, "'id'"),
            (r#"{"é": "ü", "abs": 1}"#, "'é'"),
        ] {
            let error = read(json).expect_err(json);
            assert!(error.message.contains(named), "{json}: {error}");
        }
    }
}
