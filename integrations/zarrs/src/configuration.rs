//! The codec's configuration in Zarr's metadata: `{"noa": 0.0001, "range": 50.0}`.

use serde_json::{Map, Value, json};
use sleek::{Error, Kind, MissingValue, Mode, Params, Profile, Result};
use zarrs::metadata::Configuration;

/// Reads it. The element type of the answer means nothing.
pub fn read(configuration: &Configuration) -> Result<Params> {
    let mut items = Vec::new();
    let mut words = None;
    for (key, value) in configuration.iter() {
        match (key.as_str(), value) {
            ("request", Value::String(request)) => words = Some(request),
            (_, Value::Null) | ("lossless", Value::Bool(false)) => {}
            ("lossless", Value::Bool(true)) => items.push(key.clone()),
            ("fill", Value::Bool(false)) => items.push("no-fill".into()),
            ("range", Value::Number(number)) if !number.as_f64().is_some_and(|n| n > 0.0) => {
                return wrong(format!("'range' is {number}; a number above 0 is needed"));
            }
            ("abs" | "noa" | "rel" | "range" | "fill", Value::Number(number)) => items.push(format!("{key}={number}")),
            ("profile", Value::String(name)) if !name.contains(',') => items.push(format!("profile={name}")),
            ("abs" | "noa" | "rel" | "range" | "fill", _) => {
                return wrong(format!("'{key}' is {value}; a number is needed"));
            }
            ("lossless", _) => return wrong(format!("'lossless' is {value}; true is needed")),
            ("request" | "profile", _) => return wrong(format!("'{key}' is {value}; a text is needed")),
            _ => {
                let known = "abs, noa, rel, lossless, range, fill, profile and request are defined";
                return wrong(format!("'{key}' is unknown; {known}"));
            }
        }
    }
    match words {
        Some(words) if items.is_empty() => of_words(words),
        Some(_) => wrong("'request' goes with no other key: write them into it, as in \"noa=1e-4,range=50\"".into()),
        None if items.is_empty() => wrong("there is no mode; give one of abs, noa, rel, lossless, request".into()),
        None => of_words(&items.join(",")),
    }
}

/// Reads a request in words, as far as other readers of the metadata take it: of missing values, one as a number.
pub fn of_words(words: &str) -> Result<Params> {
    let request = sleek::text::parse(words)?;
    if request.missing.iter().filter(|value| matches!(value, MissingValue::Number(_))).count() > 1 {
        return wrong(format!(
            "'{words}' has two missing values as numbers: name the others by their bits, as in 'fill=0x7fc01234'"
        ));
    }
    Ok(request)
}

/// What `read` reads as the same request.
pub fn write(request: &Params) -> Configuration {
    let missing: Vec<MissingValue> = request.missing.iter().collect();
    let fill = match missing[..] {
        [] => None,
        [MissingValue::Number(fill)] if fill.is_finite() => Some(fill),
        _ => return in_words(request),
    };
    let off = request.find_fill == Some(false);
    let mode = request.bound.mode();
    if request.codec != 0 || off && fill.is_some() || !(mode.has_bound() || mode == Mode::Lossless) {
        return in_words(request);
    }
    let mut map = Map::new();
    let bound = if mode == Mode::Lossless { json!(true) } else { json!(request.bound.number()) };
    map.insert(mode.name().into(), bound);
    for (key, value) in [("range", request.bound.range()), ("fill", fill)] {
        if let Some(value) = value {
            map.insert(key.into(), json!(value));
        }
    }
    if off {
        map.insert("fill".into(), json!(false));
    }
    if request.profile != Profile::default() {
        map.insert("profile".into(), json!(request.profile.name()));
    }
    map.into()
}

fn in_words(request: &Params) -> Configuration {
    Map::from_iter([("request".into(), json!(sleek::text::format(request)))]).into()
}

fn wrong(what: String) -> Result<Params> {
    Err(Error::new(Kind::InvalidArgument, format!("the configuration of the codec: {what}")))
}
