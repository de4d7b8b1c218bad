//! The fuzz targets without a fuzzer: each takes its corpus, those that take streams the short golden ones too, and
//! seeded mutations of them, the same ones every time. An input on which a target failed stays in its corpus, so it is
//! tried on every compiler and machine.

use std::path::Path;

use crate::{common, mutations, reference, targets, vectors};
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

/// The corpus of a target, and for those that take streams the golden ones.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = files(&root.join("fuzz/corpus").join(target));
    assert!(!corpus.is_empty(), "fuzz/corpus/{target} is empty");
    let golden = if targets::OF_STREAMS.contains(&target) { &["", "lossless", "zfp"][..] } else { &[] };
    let mut seeds: Vec<_> = golden.iter().flat_map(|folder| files(&root.join("tests/vectors").join(folder))).collect();
    seeds.extend(corpus);
    seeds.retain(|seed| !seed.is_empty());
    seeds
}

fn replay(target: &str) {
    let (_, run) = *targets::ALL.iter().find(|(name, _)| *name == target).unwrap();
    let seeds = seeds(target);
    let try_one = |bytes: &[u8]| {
        let case = Case { target, bytes };
        run(case.bytes);
    };
    targets::take_counts();
    seeds.iter().for_each(|seed| try_one(seed));
    let counts = targets::take_counts();
    let coded: u64 = counts.coded.iter().sum();
    assert!(coded >= counts.refused, "of the corpus of {target} {coded} were coded, {} refused", counts.refused);

    let cases = if common::short() { 1000 } else { 4000 };
    let mut random = Random(9);
    for _ in 0..cases {
        try_one(&mutated(&mut random, &seeds));
    }
    let counts = targets::take_counts();
    let coded: u64 = counts.coded.iter().sum();
    // Refusals prove little: many requests are such as can be kept.
    // `others` takes each array with every codec of tests.
    let codecs = if target == "others" { sleek::codec::REGISTRY.len() as u64 - 3 } else { 1 };
    assert!(coded + counts.refused == if targets::OF_ARRAYS.contains(&target) { cases * codecs } else { 0 });
    assert!(3 * coded >= counts.refused, "{coded} arrays of {target} were coded, {} requests refused", counts.refused);
}

/// What the targets of streams begin with is of today's format to a good part, for each codec: behind a header that is
/// refused nothing is found.
#[test]
fn seeds_are_of_this_format() {
    for target in ["decode", "sealed"] {
        let mut streams = seeds(target);
        streams.iter_mut().for_each(|stream| reference::builder::seal(stream));
        for codec in [1, 3, 5] {
            let of_codec: Vec<_> = streams.iter().filter(|stream| stream.get(8) == Some(&codec)).collect();
            let taken = of_codec.iter().filter(|stream| sleek::decompress(stream).is_ok()).count();
            assert!(
                3 * taken >= of_codec.len() && taken >= 10,
                "{target}, codec {codec}: {taken} of {}",
                of_codec.len()
            );
        }
    }
}

/// Ours and the reference decoder take or refuse the corpus and mutations of it alike, and restore the same.
#[test]
fn streams_are_judged_by_the_pages() {
    let mut random = Random(10);
    for target in ["decode", "sealed"] {
        let seeds = seeds(target);
        let mut streams: Vec<Vec<u8>> = (0..1000).map(|_| mutated(&mut random, &seeds)).collect();
        streams.extend(seeds);
        for mut bytes in streams {
            reference::builder::seal(&mut bytes);
            let (ours, judged) = (sleek::decompress(&bytes), reference::decode(&bytes));
            // The pages tell of the library's codecs alone.
            if bytes.get(8).is_some_and(|codec| [1, 3, 5].contains(codec)) {
                let case = Case { target, bytes: &bytes };
                assert_eq!(ours.is_ok(), judged.is_ok(), "{:?}, the pages: {:?}", ours.err(), judged.err());
                assert!(ours.ok() == judged.ok(), "restored differently");
                drop(case);
            }
        }
    }
}

macro_rules! each {
    ($($(#[$when:meta])* $target:ident)*) => { $($(#[$when])* #[test] fn $target() { replay(stringify!($target)) })* };
}

each! {
    decode sealed header plane sleek sentinel interp #[cfg(feature = "test-codecs")] others boxes quest arrays roundtrip
    filter capi
}
