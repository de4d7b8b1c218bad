//! The fuzz targets without a fuzzer: each takes its corpus, those that take streams the short golden ones too, and
//! seeded mutations of them, the same ones every time. What the fuzzer (`make fuzz`) ever found lies in its corpus, so it is tried on every
//! compiler and machine.
//! `SLEEK_FUZZ_CASES` says how many mutations.

mod reference;
#[path = "../fuzz/src/targets/mod.rs"]
mod targets;
mod vectors;

use std::path::{Path, PathBuf};

use vectors::Random;

/// The longest input; the fuzzer has the same limit (fuzz/run.sh).
const MOST_BYTES: usize = 8192;

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    paths.sort();
    let read = |path: &PathBuf| std::fs::read(path).unwrap();
    paths.iter().map(read).filter(|bytes| bytes.len() <= MOST_BYTES).collect()
}

/// Leaves the input that a target failed on where the fuzzer can take it up.
struct Case<'a> {
    target: &'a str,
    bytes: &'a [u8],
}

impl Drop for Case<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let path = std::env::temp_dir().join(format!("sleek-fuzz-{}", self.target));
            std::fs::write(&path, self.bytes).expect("the temporary folder can be written");
            eprintln!("the input is in {}: move it to fuzz/corpus/{}", path.display(), self.target);
        }
    }
}

/// One of the edits that fuzzers make.
fn edit(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    const NUMBERS: [u64; 8] = [0, 1, 0x7f, 0x80, 0xff, 1 << 15, u32::MAX as u64, u64::MAX];
    let len = bytes.len() as u64;
    let (from, to) = (random.below(len) as usize, random.below(len) as usize);
    let run = (1 + random.below(24) as usize).min(bytes.len() - from.max(to));
    match random.below(9) {
        0 => bytes[from] = random.next() as u8,
        1 => bytes[from] ^= 1 << random.below(8),
        2 => bytes[from] = bytes[from].wrapping_add(random.around(3) as u8),
        3 => {
            let number = NUMBERS[random.below(8) as usize].wrapping_add(random.around(1) as u64).to_le_bytes();
            let width = (1 << random.below(4)).min(bytes.len() - from);
            bytes[from..from + width].copy_from_slice(&number[..width]);
        }
        4 => bytes.copy_within(from..from + run, to),
        5 if run < bytes.len() => drop(bytes.drain(from..from + run)),
        6 => {
            let piece = bytes[from..from + run].to_vec();
            bytes.splice(to..to, piece);
        }
        7 if from > 0 => bytes.truncate(from),
        _ => {
            let run = (1 + random.below(64) as usize).min(other.len().saturating_sub(from));
            bytes.splice(from..from, other.iter().skip(from).take(run).copied());
        }
    }
    bytes.truncate(MOST_BYTES);
}

/// Targets that take streams; the others take what arrays and requests are made of.
const OF_STREAMS: [&str; 5] = ["decode", "sealed", "header", "filter", "capi"];

fn replay(target: &str, run: fn(&[u8])) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = files(&root.join("fuzz/corpus").join(target));
    assert!(!corpus.is_empty(), "fuzz/corpus/{target} is empty");
    let mut seeds = if OF_STREAMS.contains(&target) { files(&root.join("tests/vectors")) } else { Vec::new() };
    seeds.extend(corpus);
    seeds.retain(|seed| !seed.is_empty());
    let try_one = |bytes: &[u8]| {
        let case = Case { target, bytes };
        run(case.bytes);
    };
    seeds.iter().for_each(|seed| try_one(seed));

    let cases: u64 =
        std::env::var("SLEEK_FUZZ_CASES").map_or(1000, |n| n.parse().expect("SLEEK_FUZZ_CASES is a number"));
    let mut random = Random(9);
    for _ in 0..cases {
        let mut pick = || &seeds[random.below(seeds.len() as u64) as usize];
        let (mut bytes, other) = (pick().clone(), pick());
        for _ in 0..1 + random.below(4) {
            if !bytes.is_empty() {
                edit(&mut random, &mut bytes, other);
            }
        }
        try_one(&bytes);
    }
}

#[test]
fn decode() {
    replay("decode", targets::stream::decode);
}

#[test]
fn sealed() {
    replay("sealed", targets::stream::sealed);
}

#[test]
fn header() {
    replay("header", targets::header::run);
}

#[test]
fn plane() {
    replay("plane", targets::plane::run);
}

#[test]
fn sleek() {
    replay("sleek", targets::codec::sleek);
}

#[test]
fn ratio() {
    replay("ratio", targets::codec::ratio);
}

#[cfg(feature = "test-codecs")]
#[test]
fn toy() {
    replay("toy", targets::codec::toy);
}

#[test]
fn boxes() {
    replay("boxes", targets::boxes::run);
}

#[test]
fn roundtrip() {
    replay("roundtrip", targets::roundtrip::run);
}

#[test]
fn filter() {
    replay("filter", targets::filter::run);
}

#[test]
fn capi() {
    replay("capi", targets::capi::run);
}
