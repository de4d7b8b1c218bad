//! Golden streams: `tests/vectors/manifest.json` says what each was made from. Our encoder writes exactly these bytes,
//! but for those with `only_read`, which an earlier one wrote. Our decoder and the reference decoder read all of them
//! alike; so with files of several streams, which the command writes (cli/tests/cli/golden.rs). `SLEEK_UPDATE=1`
//! rewrites them; never for a format that was released.

use crate::{manifest, reference, vectors};
use manifest::{cases, files, folder, seams, updating};
use sleek::{Bound, DType, Params};
use std::collections::BTreeSet;
use vectors::exact;

const MOST_BYTES: usize = 340 << 10;

#[test]
fn our_encoder_writes_the_golden_bytes() {
    for case in cases().iter().filter(|case| !case.only_read) {
        let stream = sleek::compress(&case.params, &case.data).unwrap();
        if updating() {
            std::fs::write(case.path(), &stream).unwrap();
        }
        let golden = case.golden();
        let differs = stream.iter().zip(&golden).position(|(a, b)| a != b);
        assert!(stream == golden, "{}: {} bytes, not {}, {differs:?}", case.name, stream.len(), golden.len());
    }
}

/// What is to be judged: while streams are made anew, those.
fn today(case: &manifest::Case) -> Vec<u8> {
    match updating() && !case.only_read {
        true => sleek::compress(&case.params, &case.data).unwrap(),
        false => case.golden(),
    }
}

#[test]
fn both_decoders_restore_the_golden_streams() {
    for case in cases() {
        let golden = today(&case);
        let back = sleek::decompress(&golden).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let judged = reference::decode(&golden).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert!(back == judged, "{}: the decoders differ", case.name);
        let abs_bound = sleek::inspect(&golden).unwrap().abs_bound;
        exact::judge(&case.params, abs_bound, &case.data, &back)
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
}

/// The streams of a file are decoded one after the other, by both decoders alike.
#[test]
fn both_decoders_restore_the_golden_files() {
    for (case, bytes) in files() {
        let golden = case.golden();
        let seams = seams(&golden);
        assert_eq!(seams.len() - 1, case.data.len().div_ceil(bytes), "{}", case.name);
        let ours = seams.windows(2).flat_map(|s| sleek::decompress(&golden[s[0]..s[1]]).unwrap());
        let ours: Vec<u8> = ours.collect();
        assert!(reference::decode_file(&golden).unwrap() == ours, "{}: the decoders differ", case.name);
        let abs_bound = sleek::inspect(&golden).unwrap().abs_bound;
        exact::judge(&case.params, abs_bound, &case.data, &ours).unwrap();
    }
}

/// One bound is promised for the whole array of a file, so its streams agree in what makes it.
#[test]
fn streams_of_different_kinds_are_no_file() {
    let first = Params::new(DType::F32).with_bound(Bound::Noa { share: 1e-3, range: Some(1.0) });
    let values: Vec<u8> = (0..200u8).flat_map(|i| f32::from(i).sqrt().to_le_bytes()).collect();
    let file = |second: &Params| {
        let [mut head, tail] = [&first, second].map(|params| sleek::compress(params, &values).unwrap());
        head[11] |= 4;
        reference::builder::seal(&mut head);
        [head, tail].concat()
    };
    assert_eq!(reference::decode_file(&file(&first)).unwrap().len(), 2 * values.len());
    for second in [
        first.clone().with_bound(Bound::Noa { share: 1e-3, range: Some(50.0) }),
        first.clone().with_bound(Bound::Noa { share: 1e-2, range: Some(1.0) }),
        first.clone().with_bound(Bound::Abs(1e-3)),
        Params { big_endian: true, ..first.clone() },
        Params { dtype: DType::F16, ..first.clone() },
    ] {
        assert!(reference::decode_file(&file(&second)).is_err(), "{second:?}");
    }
}

/// That they reach every line of the reference decoder is tested in python/decoder/tests.
#[test]
fn the_golden_streams_are_few_and_of_every_type() {
    let cases = cases();
    let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
    assert_eq!(names.len(), cases.len(), "a name is there twice");
    let files = files().into_iter().map(|(case, _)| case.golden().len());
    let total = cases.iter().map(|case| today(case).len()).chain(files).sum::<usize>();
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
        vectors::levels::at_lower_levels(&["golden::our_encoder_writes", "golden::both_decoders_restore"]);
    }
}

/// The next number of a missing value may be a missing value itself; ours would not write such a stream, but a decoder
/// reads it: another value's bits in the header of a stream make it.
#[test]
fn the_next_number_may_be_a_missing_value() {
    let cases = cases();
    let case = cases.iter().find(|case| case.name == "f32-missing-next-twice").unwrap();
    let marks = [0.0, 5.0].map(sleek::MissingValue::Number);
    let missing = sleek::MissingValues::of(&marks).unwrap();
    let words = vectors::to_words(DType::F32, &case.data);
    let before = words.iter().map(|word| if *word == 1 { DType::F32.nearest(5.0) } else { *word });
    let before: Vec<u64> = before.collect();
    let data = vectors::to_bytes(DType::F32, &before, false);
    let mut stream = sleek::compress(&Params { missing, ..case.params.clone() }, &data).unwrap();
    assert!(sleek::inspect(&stream).unwrap().missing.has_next());
    let five = DType::F32.nearest(5.0).to_le_bytes();
    let at = stream[64..].windows(8).position(|bytes| bytes == five).unwrap() + 64;
    stream[at..at + 8].copy_from_slice(&1u64.to_le_bytes());
    reference::builder::seal(&mut stream);
    if updating() {
        std::fs::write(case.path(), &stream).unwrap();
    }
    assert!(stream == case.golden());
    let back = vectors::to_words(DType::F32, &sleek::decompress(&stream).unwrap());
    // Two steps from the first one.
    assert!(back.contains(&2) && words.iter().zip(&back).all(|(v, r)| (*v == 1) == (*r == 1)));
}
