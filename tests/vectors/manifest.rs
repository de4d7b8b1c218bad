//! The golden streams and files that `manifest.json` lists, each with what it was made from.
#![allow(dead_code)] // each test uses its part

use crate::common::root;
use crate::vectors;
use serde_json::Value;
use sleek::{Bound, DType, Dims, MissingValues, Mode, Params, Profile};
use std::path::PathBuf;

pub struct Case {
    pub name: String,
    pub params: Params,
    pub data: Vec<u8>,
    /// Today's encoder writes something else: the stream is there to be read.
    pub only_read: bool,
}

pub fn folder() -> PathBuf {
    root().join("tests/vectors")
}

/// The missing values of an entry, in words as a request has them.
fn missing(entry: &Value) -> MissingValues {
    let words = entry.get("missing").map_or(&[][..], |v| v.as_array().unwrap());
    let values = words.iter().map(|v| sleek::text::missing("missing", v.as_str()).unwrap());
    MissingValues::of(&values.collect::<Vec<_>>()).unwrap()
}

impl Case {
    fn read(entry: &Value) -> Case {
        let text = |key: &str| entry[key].as_str().unwrap_or_else(|| panic!("{key} is missing in {entry}"));
        let whole = |key: &str| entry[key].as_u64().unwrap_or_else(|| panic!("{key} is missing in {entry}"));
        let real = |key: &str| entry.get(key).map(|v| v.as_str().unwrap().parse::<f64>().unwrap());
        let dtype = DType::from_name(text("dtype")).unwrap();
        let modes = [Mode::Lossless, Mode::Abs, Mode::Noa, Mode::Rel];
        let mode = modes.into_iter().find(|mode| mode.name() == text("mode")).unwrap();
        let bound = Bound::new(mode, real("bound").unwrap_or(0.0)).unwrap();
        let profiles = Profile::ALL;
        let params = Params {
            profile: profiles.into_iter().find(|profile| profile.name() == text("profile")).unwrap(),
            big_endian: entry["big_endian"].as_bool().unwrap(),
            missing: missing(entry),
            find_fill: Some(entry.get("no_fill").is_none()),
            dims: entry.get("dims").map_or(Dims::NONE, |v| {
                let lens: Vec<u64> = v.as_array().unwrap().iter().map(|len| len.as_u64().unwrap()).collect();
                Dims::new(&lens).unwrap()
            }),
            ..Params::new(dtype).with_bound(bound.of_range(real("range")))
        };
        let mut words = vectors::words(text("generator"), dtype, whole("seed"), whole("count") as usize);
        if let Some(run) = entry.get("missing_run").map(|v| v.as_u64().unwrap()) {
            let bits = params.missing.of_type(dtype).unwrap();
            vectors::strew(&mut words, bits.bits(), run, whole("seed"));
        }
        Case {
            name: text("name").into(),
            data: vectors::to_bytes(dtype, &words, params.big_endian),
            params,
            only_read: entry.get("only_read").is_some(),
        }
    }

    pub fn path(&self) -> PathBuf {
        folder().join(format!("{}.slk", self.name))
    }

    pub fn golden(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap_or_else(|error| panic!("{}: {error}", self.path().display()))
    }
}

fn manifest() -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join("manifest.json")).unwrap()).unwrap()
}

pub fn cases() -> Vec<Case> {
    manifest()["streams"].as_array().unwrap().iter().map(Case::read).collect()
}

/// Files of several streams, with the bytes of data in each stream.
pub fn files() -> Vec<(Case, usize)> {
    let read = |entry: &Value| {
        let case = Case::read(entry);
        let bytes = entry["stream_elements"].as_u64().unwrap() as usize * case.params.dtype.size();
        (case, bytes)
    };
    manifest()["files"].as_array().unwrap().iter().map(read).collect()
}

/// Where the streams of a file begin, and where the last one ends.
pub fn seams(file: &[u8]) -> Vec<usize> {
    let mut seams = vec![0];
    while seams[seams.len() - 1] < file.len() {
        let at = seams[seams.len() - 1];
        seams.push(at + sleek::inspect(&file[at..]).unwrap().stream_bytes as usize);
    }
    seams
}

pub fn updating() -> bool {
    std::env::var_os("SLEEK_UPDATE").is_some_and(|value| value == "1")
}
