//! The fuzz targets without a fuzzer: each takes its corpus, those that take streams the short golden ones too, and
//! seeded mutations of them, the same ones every time. What the fuzzer (`make fuzz`) ever found lies in its corpus, so
//! it is tried on every compiler and machine.
//! `SLEEK_FUZZ_CASES` says how many mutations.

#[path = "../fuzz/src/mutations.rs"]
mod mutations;
mod reference;
#[path = "../fuzz/src/targets/mod.rs"]
mod targets;
mod vectors;

use std::path::Path;

use mutations::{files, mutated};
use vectors::Random;

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

fn replay(target: &str) {
    let (_, run) = *targets::ALL.iter().find(|(name, _)| *name == target).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = files(&root.join("fuzz/corpus").join(target));
    assert!(!corpus.is_empty(), "fuzz/corpus/{target} is empty");
    let mut seeds = if targets::OF_STREAMS.contains(&target) { files(&root.join("tests/vectors")) } else { Vec::new() };
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
    targets::take_counts();
    for _ in 0..cases {
        try_one(&mutated(&mut random, &seeds));
    }
    let counts = targets::take_counts();
    let coded: u64 = counts.coded.iter().sum();
    // Refusals prove little: many requests are such as can be kept.
    assert!(coded + counts.refused == if targets::OF_ARRAYS.contains(&target) { cases } else { 0 });
    assert!(3 * coded >= counts.refused, "{coded} arrays of {target} were coded, {} requests refused", counts.refused);
}

#[test]
fn decode() {
    replay("decode");
}

#[test]
fn sealed() {
    replay("sealed");
}

#[test]
fn header() {
    replay("header");
}

#[test]
fn plane() {
    replay("plane");
}

#[test]
fn sleek() {
    replay("sleek");
}

#[test]
fn ratio() {
    replay("ratio");
}

#[cfg(feature = "test-codecs")]
#[test]
fn toy() {
    replay("toy");
}

#[test]
fn boxes() {
    replay("boxes");
}

#[test]
fn roundtrip() {
    replay("roundtrip");
}

#[test]
fn filter() {
    replay("filter");
}

#[test]
fn capi() {
    replay("capi");
}
