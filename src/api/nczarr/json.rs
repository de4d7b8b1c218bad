//! The codec in Zarr's metadata, as docs/guide/zarr.md has it: an object of numbers, words and truths.

use std::fmt::Write;

use crate::error::{Result, fail};
use crate::missing::MissingValue;
use crate::params::{Mode, Params, Profile};
use crate::text;

/// Reads `{"id": "sleek", "abs": 0.001}`. The element type of the answer means nothing.
pub fn read(codec: &str) -> Result<Params> {
    let mut items = Vec::new();
    let mut words = None;
    let mut reader = Reader { text: codec, at: 0 };
    for (key, value) in reader.object()? {
        match (key.as_str(), value) {
            ("id", Value::Text(name)) if name == "sleek" => {}
            ("request", Value::Text(text)) => words = Some(text),
            (_, Value::Null) | ("lossless", Value::False) => {}
            ("lossless", Value::True) => items.push(key),
            ("fill", Value::False) => items.push("no-fill".into()),
            ("abs" | "noa" | "rel" | "range" | "fill", Value::Number(number)) => items.push(format!("{key}={number}")),
            ("profile", Value::Text(name)) if !name.contains(',') => items.push(format!("profile={name}")),
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

#[derive(Debug, PartialEq)]
enum Value {
    Text(String),
    /// As it is written.
    Number(String),
    True,
    False,
    Null,
}

/// Reads JSON as far as the codec has it: no object in an object, and no list.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn object(&mut self) -> Result<Vec<(String, Value)>> {
        let mut items = Vec::new();
        self.sign('{')?;
        if !self.has('}') {
            loop {
                let key = self.string()?;
                self.sign(':')?;
                items.push((key, self.value()?));
                if !self.has(',') {
                    break;
                }
            }
            self.sign('}')?;
        }
        self.space();
        if self.at == self.text.len() { Ok(items) } else { self.wrong() }
    }

    fn value(&mut self) -> Result<Value> {
        self.space();
        if self.rest().starts_with('"') {
            return self.string().map(Value::Text);
        }
        let word = self.rest().split([',', '}', ' ', '\t', '\n', '\r']).next().unwrap_or_default();
        let value = match word {
            "true" => Value::True,
            "false" => Value::False,
            "null" => Value::Null,
            // JSON has no other words that are numbers, Rust has.
            _ if word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && word.parse::<f64>().is_ok() => {
                Value::Number(word.to_string())
            }
            _ => return self.wrong(),
        };
        self.at += word.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<String> {
        self.sign('"')?;
        let mut text = String::new();
        let mut letters = self.rest().char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at += at + 1;
                    return Ok(text);
                }
                '\\' => match letters.next() {
                    Some((_, escaped @ ('"' | '\\' | '/'))) => text.push(escaped),
                    _ => return self.wrong(),
                },
                _ => text.push(letter),
            }
        }
        self.wrong()
    }

    fn sign(&mut self, sign: char) -> Result<()> {
        if self.has(sign) { Ok(()) } else { self.wrong() }
    }

    fn has(&mut self, sign: char) -> bool {
        self.space();
        let found = self.rest().starts_with(sign);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn wrong<T>(&self) -> Result<T> {
        fail!(
            InvalidArgument,
            "the codec {} cannot be read from byte {} on; it should be like {}",
            self.text,
            self.at,
            r#"{"id": "sleek", "abs": 0.001}"#
        )
    }
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
            ("", "from byte 0"),
            ("{", "from byte 1"),
            ("[]", "from byte 0"),
            ("{}", "no mode"),
            (r#"{"abs": 1e-3"#, "from byte 12"),
            (r#"{"abs": 1e-3} x"#, "from byte 14"),
            (r#"{"abs": 1e-3,}"#, "from byte 13"),
            (r#"{"abs": "1e-3"}"#, "'abs'"),
            (r#"{"abs": [1]}"#, "from byte 8"),
            (r#"{"abs": inf}"#, "from byte 8"),
            (r#"{"abs": -1}"#, "bound -1"),
            (r#"{"abs": 1, "rel": 1}"#, "second mode"),
            (r#"{"abs": 1, "bas": 1}"#, "'bas'"),
            (r#"{"abs": 1, "profile": "fast,rel=1"}"#, "'profile'"),
            (r#"{"abs": 1, "request": "abs=1"}"#, "'request'"),
            (r#"{"id": "zlib", "abs": 1}"#, "'id'"),
            (r#"{"abs": 1, "x\n": 1}"#, "from byte"),
            (r#"{"é": "ü", "abs": 1}"#, "'é'"),
        ] {
            let error = read(json).expect_err(json);
            assert!(error.message.contains(named), "{json}: {error}");
        }
    }
}
