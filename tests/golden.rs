//! Golden streams: `tests/vectors/manifest.json` says what each was made from. Our encoder writes exactly these bytes,
//! and our decoder and the reference decoder read them alike; so with files of several streams, which the command
//! writes. `SLEEK_UPDATE=1` rewrites them; never for a format that was released.

mod reference;
mod vectors;

use serde_json::Value;
use sleek::{DType, Dims, MissingValues, Mode, Params, Profile};
use std::collections::BTreeSet;
use std::path::PathBuf;
use vectors::exact;
use vectors::levels::program;

/// What the streams together must make use of.
const FEATURES: [&str; 53] = [
    "another follows",
    "big-endian",
    "bases",
    "constant",
    "delta",
    "dimensions",
    "exact",
    "exact chunk",
    "exponent map",
    "found missing values",
    "groups",
    "inactive",
    "masked",
    "masked constant",
    "no bases",
    "offset",
    "patched",
    "quantized",
    "raw",
    "second difference",
    "several missing values",
    "shift",
    "zigzag",
    "special numbers",
    "predict",
    "predict: packed",
    "predict: raw",
    "predict: constant",
    "predict: masked",
    "predict: bins",
    "predict: exact",
    "predict: words",
    "predict: next",
    "predict: no words",
    "predict: states of a mask",
    "predict: no states",
    "predict: states",
    "predict: differences none",
    "predict: differences x",
    "predict: differences y",
    "predict: differences xy",
    "predict: differences z",
    "predict: differences xz",
    "predict: differences yz",
    "predict: differences xyz",
    "predict: axes",
    "predict: bits",
    "predict: lattice",
    "predict: patches",
    "predict: rough",
    "predict: smooth",
    "predict: sparse",
    "predict: table",
];
const MOST_BYTES: usize = 320 << 10;

struct Case {
    name: String,
    params: Params,
    data: Vec<u8>,
    covers: Vec<String>,
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "vectors"].iter().collect()
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
        let profiles = Profile::ALL;
        let params = Params {
            profile: profiles.into_iter().find(|profile| profile.name() == text("profile")).unwrap(),
            big_endian: entry["big_endian"].as_bool().unwrap(),
            range: real("range"),
            missing: missing(entry),
            dims: entry.get("dims").map_or(Dims::NONE, |v| {
                let lens: Vec<u64> = v.as_array().unwrap().iter().map(|len| len.as_u64().unwrap()).collect();
                Dims::new(&lens).unwrap()
            }),
            ..Params::new(dtype).with_bound(mode, real("bound").unwrap_or(0.0))
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

fn manifest() -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join("manifest.json")).unwrap()).unwrap()
}

fn cases() -> Vec<Case> {
    manifest()["streams"].as_array().unwrap().iter().map(Case::read).collect()
}

/// Files of several streams, with the bytes of data in each stream.
fn files() -> Vec<(Case, usize)> {
    let read = |entry: &Value| {
        let case = Case::read(entry);
        let bytes = entry["stream_elements"].as_u64().unwrap() as usize * case.params.dtype.size();
        (case, bytes)
    };
    manifest()["files"].as_array().unwrap().iter().map(read).collect()
}

/// Where the streams of a file begin, and where the last one ends.
fn seams(file: &[u8]) -> Vec<usize> {
    let mut seams = vec![0];
    while seams[seams.len() - 1] < file.len() {
        let at = seams[seams.len() - 1];
        seams.push(at + sleek::inspect(&file[at..]).unwrap().stream_bytes as usize);
    }
    seams
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

/// Runs the command in a folder with the files `in` and `packed`; returns what it left as `out`, if it was content.
fn command(args: &[&str], input: &[u8], packed: &[u8]) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let path = |name| dir.path().join(name);
    std::fs::write(path("in"), input).unwrap();
    std::fs::write(path("packed"), packed).unwrap();
    let run = program(env!("CARGO_BIN_EXE_sleek")).args(args).current_dir(dir.path()).output().unwrap();
    run.status.success().then(|| std::fs::read(path("out")).unwrap_or_default())
}

#[test]
fn the_command_writes_the_golden_files() {
    for (case, bytes) in files() {
        let (mode, bound) = (format!("--{}", case.params.mode.name()), case.params.bound.to_string());
        let (dtype, bytes) = (case.params.dtype.name(), bytes.to_string());
        let args = ["compress", "--dtype", dtype, &mode, &bound, "--frame-bytes", &bytes, "in", "out"];
        let file = command(&args, &case.data, b"").unwrap();
        if updating() {
            std::fs::write(case.path(), &file).unwrap();
        }
        assert!(file == case.golden(), "{}: {} bytes, not {}", case.name, file.len(), case.golden().len());
    }
}

#[test]
fn all_decoders_restore_the_golden_files() {
    for (case, bytes) in files() {
        let golden = case.golden();
        let seams = seams(&golden);
        assert_eq!(seams.len() - 1, case.data.len().div_ceil(bytes), "{}", case.name);
        let ours = seams.windows(2).flat_map(|s| sleek::decompress(&golden[s[0]..s[1]]).unwrap());
        let ours: Vec<u8> = ours.collect();
        assert!(reference::decode_file(&golden).unwrap() == ours, "{}: the decoders differ", case.name);
        let restored = command(&["decompress", "packed", "out"], b"", &golden).unwrap();
        assert!(restored == ours, "{}: the command restores something else", case.name);
        let abs_bound = sleek::inspect(&golden).unwrap().abs_bound;
        exact::judge(&case.params, abs_bound, &case.data, &ours).unwrap();
    }
}

/// What is left of such a file is whole streams; the flag in the last one tells that others are missing, or too many.
#[test]
fn golden_files_that_are_cut_or_go_on_are_refused() {
    let tries = [&["decompress", "packed", "out"][..], &["verify", "in", "packed"], &["inspect", "packed"]];
    for (case, _) in files() {
        let golden = case.golden();
        for len in 0..golden.len() {
            assert!(reference::decode_file(&golden[..len]).is_err(), "{}, cut to {len} bytes", case.name);
        }
        let seams = seams(&golden);
        let ends = &seams[..seams.len() - 1];
        let cut = ends.iter().map(|&end| golden[..end].to_vec());
        let long = ends.iter().map(|&from| [&golden, &golden[from..]].concat());
        for wrong in cut.chain(long) {
            assert!(reference::decode_file(&wrong).is_err(), "{} with {} bytes", case.name, wrong.len());
            for args in tries {
                assert!(
                    command(args, &case.data, &wrong).is_none(),
                    "{}: {args:?} takes {} bytes",
                    case.name,
                    wrong.len()
                );
            }
        }
        for args in tries {
            assert!(command(args, &case.data, &golden).is_some(), "{}: {args:?} refuses the file itself", case.name);
        }
    }
}

/// One bound is promised for the whole array of a file, so its streams agree in what makes it.
#[test]
fn streams_of_different_kinds_are_no_file() {
    let first = Params { range: Some(1.0), ..Params::new(DType::F32).with_bound(Mode::Noa, 1e-3) };
    let values: Vec<u8> = (0..200u8).flat_map(|i| f32::from(i).sqrt().to_le_bytes()).collect();
    let file = |second: &Params| {
        let [mut head, tail] = [&first, second].map(|params| sleek::compress(params, &values).unwrap());
        head[11] |= 4;
        reference::builder::seal(&mut head);
        [head, tail].concat()
    };
    assert_eq!(reference::decode_file(&file(&first)).unwrap().len(), 2 * values.len());
    for second in [
        Params { range: Some(50.0), ..first.clone() },
        Params { bound: 1e-2, ..first.clone() },
        Params { mode: Mode::Abs, ..first.clone() },
        Params { big_endian: true, ..first.clone() },
        Params { dtype: DType::F16, ..first.clone() },
    ] {
        assert!(reference::decode_file(&file(&second)).is_err(), "{second:?}");
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
    for (case, _) in files() {
        let golden = case.golden();
        total += golden.len();
        let seams = seams(&golden);
        let found = seams.windows(2).flat_map(|s| reference::features(&golden[s[0]..s[1]]).unwrap());
        let found: BTreeSet<_> = found.collect();
        assert!(case.covers.iter().all(|feature| found.contains(feature.as_str())), "{}: {found:?}", case.name);
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
    let all = cases().into_iter().chain(files().into_iter().map(|(case, _)| case));
    let listed: BTreeSet<_> = all.map(|case| case.path()).collect();
    let folders = [folder(), folder().join("files")];
    let files = folders.iter().flat_map(|at| std::fs::read_dir(at).unwrap()).map(|entry| entry.unwrap().path());
    let there: BTreeSet<_> = files.filter(|path| path.extension().is_some_and(|e| e == "slk")).collect();
    assert_eq!(there, listed);
}

#[test]
fn every_simd_level_writes_and_reads_them() {
    // While the files are being rewritten no other process may judge them.
    if !updating() {
        vectors::levels::at_lower_levels(&[
            "our_encoder_writes",
            "both_decoders_restore",
            "the_command_writes",
            "all_decoders_restore",
        ]);
    }
}
