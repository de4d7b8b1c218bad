//! A little of everything, small enough for an interpreter that watches each access: `tests/miri.sh` runs it in Miri,
//! each test in a process of its own. Arrays of every type, mode and profile make the way there and back; streams with
//! every feature of the format are read, in part too; they and the golden ones are damaged behind their checksums and
//! read again.

use crate::{forms, reference, vectors};
use reference::builder::{Body, Stream, random_packed, seal};
use sleek::{Bound, DType, Dims, Kind, MissingValues, Mode, Params, Profile};
use vectors::Random;

/// A test for each element type. Signed and unsigned integers share their coders: one will do.
macro_rules! of_types {
    ($name:ident: $($part:ident $dtype:ident),*) => {
        mod $name {
            use sleek::DType;
            $(#[test] fn $part() { super::$name(DType::$dtype) })*
        }
    };
    ($name:ident) => {
        of_types!($name: f16 F16, bf16 BF16, f32 F32, f64 F64, u8 U8, u16 U16, u32 U32, u64 U64);
    };
}

/// A chunk whose first elements are of many kinds and whose rest is one value, which costs Miri little.
fn array(dtype: DType, seed: u64) -> Vec<u8> {
    let subchunk = 512 / dtype.size();
    let mut words = vectors::words("spiky", dtype, seed, subchunk + 5);
    if dtype.is_float() {
        words.extend(vectors::specials(dtype));
    }
    vectors::to_bytes(dtype, &words, false)
}

/// The stream, for those that read it otherwise.
fn there_and_back(params: &Params, data: &[u8]) -> Vec<u8> {
    let stream = sleek::compress(params, data).unwrap();
    let back = sleek::decompress(&stream).unwrap();
    let info = sleek::inspect(&stream).unwrap();
    vectors::exact::judge(params, info.abs_bound, data, &back).unwrap();
    stream
}

of_types!(every_mode_and_profile);

fn every_mode_and_profile(dtype: DType) {
    let modes =
        if dtype.is_float() { &[Mode::Abs, Mode::Noa, Mode::Rel, Mode::Lossless][..] } else { &[Mode::Lossless] };
    for &mode in modes {
        for profile in [Profile::Adaptive, Profile::Fast] {
            if profile == Profile::Fast && matches!(mode, Mode::Noa | Mode::Rel) {
                continue; // as abs and lossless
            }
            let params = Params { profile, ..Params::new(dtype).with_bound(Bound::new(mode, 1e-3).unwrap()) };
            there_and_back(&params, &array(dtype, 1));
        }
    }
}

of_types!(chunks_of_other_kinds);

fn chunks_of_other_kinds(dtype: DType) {
    let params = Params::new(dtype);
    there_and_back(&params, &vectors::bytes("noise", dtype, 3, 40, false));
    there_and_back(&params, &vectors::bytes("constant", dtype, 3, 40, false));
    there_and_back(&params, &[]);
    let big_endian = Params { big_endian: true, ..params };
    there_and_back(&big_endian, &vectors::bytes("noise", dtype, 3, 40, true));
}

of_types!(codec_interp);

/// Codec interp: tiles of one to three axes, differences, wide numbers, missing values, a part, damage.
fn codec_interp(dtype: DType) {
    let k = dtype as usize;
    let shapes: [(&[u64], &str); 4] =
        [(&[700], "walk"), (&[20, 30], "specials"), (&[5, 6, 7], "noise"), (&[512], "wave")];
    let (lens, generator) = shapes[k % 4];
    let mode = if dtype.is_float() { [Mode::Abs, Mode::Lossless, Mode::Rel][k % 3] } else { Mode::Lossless };
    let bound = Bound::new(mode, 1e-3).unwrap();
    let dims = Dims::new(lens).unwrap();
    let missing = MissingValues::number(dtype.is_float().then_some(1.0));
    let params = Params { profile: Profile::Small, dims, missing, ..Params::new(dtype).with_bound(bound) };
    let data = vectors::bytes(generator, dtype, 1, params.dims.count() as usize, false);
    let stream = there_and_back(&params, &data);
    read(dtype.name(), &stream);
    read(dtype.name(), &damage(&mut Random(7), &stream));
}

/// Lossless tiles of codec interp in these forms, there and back, and damaged.
fn lossless_forms(kind: &str, dtype: DType, wanted: &[&str]) {
    let n = 600;
    let params = forms::params(dtype, &[n]);
    let data = vectors::to_bytes(dtype, &forms::words(kind, dtype, n as usize), false);
    let stream = there_and_back(&params, &data);
    let names: Vec<_> = forms::forms(&stream).into_iter().map(forms::form_name).collect();
    assert!(wanted.iter().all(|form| names.iter().any(|name| name.contains(form))), "{kind}: {names:?}");
    let mut random = Random(13);
    for _ in 0..2 {
        read(kind, &damage(&mut random, &stream));
    }
}

#[test]
fn lossless_forms_decimals() {
    lossless_forms("decimals", DType::F32, &["decimals"]);
}

#[test]
fn lossless_forms_levels() {
    lossless_forms("levels", DType::F64, &["ranks"]);
}

#[test]
fn lossless_forms_weights() {
    lossless_forms("weights", DType::BF16, &["symbols table"]);
}

of_types!(codec_zfp: f32 F32, f64 F64, i32 I32, i64 I64);

/// Codec zfp: blocks of one to three axes in every mode, a part, damage. Those of four go to threads, which Miri need
/// not watch.
fn codec_zfp(dtype: DType) {
    let shapes: [&[u64]; 3] = [&[70], &[9, 10], &[5, 6, 7]];
    for (m, mode) in [Mode::Lossless, Mode::Rate, Mode::Precision, Mode::Abs].into_iter().enumerate() {
        if mode == Mode::Abs && !dtype.is_float() {
            continue;
        }
        let bound = Bound::new(mode, if mode == Mode::Abs { 1e-3 } else { 11.0 }).unwrap();
        let dims = Dims::new(shapes[(dtype as usize + m) % 3]).unwrap();
        let params = Params { codec: 3, dims, ..Params::new(dtype).with_bound(bound) };
        let data = vectors::bytes("walk", dtype, 1, dims.count() as usize, false);
        let stream = sleek::compress(&params, &data).unwrap();
        read(dtype.name(), &stream);
        read(dtype.name(), &damage(&mut Random(9), &stream));
    }
}

/// A legal stream of one packed chunk with three subchunks, for each of which Miri takes a second.
fn packed(random: &mut Random, dtype: DType) -> Vec<u8> {
    let bits = 8 * dtype.size() as u32;
    let quantized = dtype.is_float() && random.below(2) == 0;
    let mut packed = random_packed(random, bits, dtype.is_float() && !quantized, !quantized, bits);
    packed.subchunks[2..31].fill(None);
    let mut stream = Stream::lossless(dtype as u8, (16384 / dtype.size() - 3) as u64);
    if quantized {
        (stream.step_w, stream.step_j) = (5, -3);
    }
    stream.bodies = vec![Body::Packed(packed.body())];
    stream.bytes()
}

fn read(name: &str, stream: &[u8]) {
    let whole = sleek::decompress(stream);
    let info = sleek::inspect(stream);
    match whole {
        Ok(whole) => {
            let info = info.unwrap();
            let count = (info.count / 2).min(100) as usize;
            let mut part = vec![0; count * info.dtype.size()];
            sleek::decompress_range_into(stream, info.count - count as u64, count, &mut part).unwrap();
            assert!(part == whole[whole.len() - part.len()..], "{name}");
        }
        Err(error) => assert_ne!(error.kind, Kind::Internal, "{name}: {error}"),
    }
}

fn damage(random: &mut Random, stream: &[u8]) -> Vec<u8> {
    let mut stream = stream.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(stream.len() as u64) as usize;
        stream[at] = random.next() as u8;
    }
    seal(&mut stream);
    stream
}

of_types!(packed_chunks);

fn packed_chunks(dtype: DType) {
    let mut random = Random(11 + dtype as u64);
    let stream = packed(&mut random, dtype);
    read(dtype.name(), &stream);
    assert!(sleek::inspect(&stream).is_ok());
    for _ in 0..2 {
        read(dtype.name(), &damage(&mut random, &stream));
    }
}

/// The golden streams of a folder whose names are such, from one of them on every so many, of few bytes.
/// Of zfp, blocks of four axes go to threads, which Miri need not watch.
fn golden_streams(folder: &str, named: impl Fn(&str) -> bool, most_bytes: usize, (first, every): (usize, usize)) {
    let folder = format!("{}/tests/vectors/{folder}", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "slk")).collect();
    files.sort();
    let mut streams: Vec<_> =
        files.iter().map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect();
    let watchable = |stream: &[u8]| stream.len() < most_bytes && sleek::inspect(stream).unwrap().dims.rank() < 4;
    streams.retain(|(name, stream)| named(name) && watchable(stream));
    let mut random = Random(3);
    for (name, stream) in streams.iter().skip(first).step_by(every) {
        assert!(sleek::inspect(stream).is_ok(), "{name}");
        let start = std::time::Instant::now();
        read(name, stream);
        read(name, &damage(&mut random, stream));
        println!("{name}: {} bytes, {:.0} s", stream.len(), start.elapsed().as_secs_f64());
    }
    assert!(streams.len() >= 3);
}

#[test]
fn golden_streams_of_a_few_values() {
    golden_streams("", |name| name.contains("length"), 128, (0, 1));
}

/// Tests that each read a part of the golden streams of a kind, for which Miri takes long.
macro_rules! parts_of {
    ($name:ident: $folder:expr, $named:expr, $most_bytes:expr; $($part:ident $first:literal),* of $every:literal) => {
        mod $name {
            $(#[test] fn $part() { super::golden_streams($folder, $named, $most_bytes, ($first, $every)) })*
        }
    };
}

// Codec interp, with final states of four-bit lengths.
parts_of!(golden_streams_of_tiles: "", |name| name.contains("-interp-"), 500; first 0, second 1, third 2 of 3);

// Ranks and low bits among them.
parts_of!(golden_streams_of_forms: "lossless", |_| true, 2500; first 0, second 1, third 2 of 3);

parts_of!(golden_streams_of_zfp: "zfp", |_| true, usize::MAX; first 0, second 1, third 2 of 3);
