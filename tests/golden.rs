//! Golden streams: `tests/vectors/manifest.json` says what each was made from. Our encoder writes exactly these bytes, and our
//! decoder and the reference decoder read them alike. `SLEEK_UPDATE=1` rewrites them; never for a format that was released.

mod reference;
mod vectors;

use serde_json::Value;
use sleek::{DType, Mode, Params, Profile};
use std::collections::BTreeSet;
use std::path::PathBuf;
use vectors::exact;

/// What the streams together must make use of.
const FEATURES: [&str; 17] = [
    "big-endian",
    "bases",
    "constant",
    "delta",
    "exact",
    "exponent map",
    "groups",
    "inactive",
    "no bases",
    "offset",
    "patched",
    "quantized",
    "raw",
    "second difference",
    "shift",
    "zigzag",
    "special numbers",
];
const MOST_BYTES: usize = 300 << 10;

struct Case {
    name: String,
    params: Params,
    data: Vec<u8>,
    covers: Vec<String>,
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "vectors"].iter().collect()
}

impl Case {
    fn read(entry: &Value) -> Case {
        let text = |key: &str| entry[key].as_str().unwrap_or_else(|| panic!("{key} is missing in {entry}"));
        let whole = |key: &str| entry[key].as_u64().unwrap_or_else(|| panic!("{key} is missing in {entry}"));
        let real = |key: &str| entry.get(key).map(|v| v.as_str().unwrap().parse::<f64>().unwrap());
        let dtype = DType::from_name(text("dtype")).unwrap();
        let modes = [Mode::Lossless, Mode::Abs, Mode::Noa, Mode::Rel];
        let mode = modes.into_iter().find(|mode| mode.name() == text("mode")).unwrap();
        let profiles = [Profile::Adaptive, Profile::Fast];
        let params = Params {
            profile: profiles.into_iter().find(|profile| profile.name() == text("profile")).unwrap(),
            big_endian: entry["big_endian"].as_bool().unwrap(),
            range: real("range"),
            fill_value: real("fill_value"),
            ..Params::new(dtype).with_bound(mode, real("bound").unwrap_or(0.0))
        };
        Case {
            name: text("name").into(),
            data: vectors::bytes(text("generator"), dtype, whole("seed"), whole("count") as usize, params.big_endian),
            params,
            covers: entry["covers"].as_array().unwrap().iter().map(|v| v.as_str().unwrap().into()).collect(),
        }
    }

    fn path(&self) -> PathBuf {
        folder().join(format!("{}.slk", self.name))
    }

    fn golden(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap_or_else(|error| panic!("{}: {error}", self.path().display()))
    }
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(folder().join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    manifest["streams"].as_array().unwrap().iter().map(Case::read).collect()
}

fn updating() -> bool {
    std::env::var_os("SLEEK_UPDATE").is_some_and(|value| value == "1")
}

#[test]
fn our_encoder_writes_the_golden_bytes() {
    for case in cases() {
        let stream = sleek::compress(&case.params, &case.data).unwrap();
        if updating() {
            std::fs::write(case.path(), &stream).unwrap();
        }
        let golden = case.golden();
        let differs = stream.iter().zip(&golden).position(|(a, b)| a != b);
        assert!(stream == golden, "{}: {} bytes, not {}, {differs:?}", case.name, stream.len(), golden.len());
    }
}

#[test]
fn both_decoders_restore_the_golden_streams() {
    for case in cases() {
        let golden = if updating() { sleek::compress(&case.params, &case.data).unwrap() } else { case.golden() };
        let back = sleek::decompress(&golden).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let judged = reference::decode(&golden).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert!(back == judged, "{}: the decoders differ", case.name);
        let abs_bound = sleek::inspect(&golden).unwrap().abs_bound;
        exact::judge(&case.params, abs_bound, &case.data, &back)
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
}

#[test]
fn the_golden_streams_cover_the_format() {
    let cases = cases();
    let mut names = BTreeSet::new();
    let mut used = BTreeSet::new();
    let mut total = 0;
    for case in &cases {
        assert!(names.insert(case.name.clone()), "{} is there twice", case.name);
        let golden = if updating() { sleek::compress(&case.params, &case.data).unwrap() } else { case.golden() };
        total += golden.len();
        let mut found = reference::features(&golden).unwrap();
        let special = vectors::specials(case.params.dtype);
        if case.params.dtype.is_float()
            && special.iter().all(|w| vectors::to_words(case.params.dtype, &case.data).contains(w))
        {
            found.insert("special numbers");
        }
        for feature in &case.covers {
            assert!(found.contains(feature.as_str()), "{} does not use {feature}, but {found:?}", case.name);
        }
        used.extend(found);
    }
    assert_eq!(used, BTreeSet::from(FEATURES));
    assert!(total <= MOST_BYTES, "the golden streams take {total} bytes, more than {MOST_BYTES}");
    for dtype in DType::ALL {
        assert!(cases.iter().any(|case| case.params.dtype == dtype), "no golden stream of {}", dtype.name());
    }
}

#[test]
fn every_file_is_in_the_manifest() {
    let listed: BTreeSet<_> = cases().iter().map(Case::path).collect();
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let there: BTreeSet<_> = files.filter(|path| path.extension().is_some_and(|e| e == "slk")).collect();
    assert_eq!(there, listed);
}

#[test]
fn every_simd_level_writes_and_reads_them() {
    // While the files are being rewritten no other process may judge them.
    if !updating() {
        vectors::levels::at_lower_levels(&["our_encoder_writes", "both_decoders_restore"]);
    }
}
