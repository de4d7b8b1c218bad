//! A little of everything, small enough for an interpreter that watches each access: `make miri` runs it in Miri.
//! Arrays of every type, mode and profile make the way there and back; streams with every feature of the format are
//! read, in part too; they and the golden ones are damaged behind their checksums and read again.

mod reference;
mod vectors;

use reference::builder::{Body, Stream, random_packed, seal};
use sleek::{DType, Dims, Kind, MissingValues, Mode, Params, Profile};
use vectors::Random;

/// Miri takes seconds for a packed chunk.
const WATCHED: bool = cfg!(miri);

/// One element type for each coder: signed and unsigned integers share theirs.
fn types() -> Vec<DType> {
    let signed = [DType::I8, DType::I16, DType::I32, DType::I64];
    DType::ALL.into_iter().filter(|dtype| !(WATCHED && signed.contains(dtype))).collect()
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

#[test]
fn every_type_mode_and_profile() {
    for dtype in types() {
        let modes =
            if dtype.is_float() { &[Mode::Abs, Mode::Noa, Mode::Rel, Mode::Lossless][..] } else { &[Mode::Lossless] };
        for &mode in modes {
            for profile in [Profile::Adaptive, Profile::Fast] {
                if WATCHED && profile == Profile::Fast && matches!(mode, Mode::Noa | Mode::Rel) {
                    continue; // as abs and lossless
                }
                let params = Params { profile, ..Params::new(dtype).with_bound(mode, 1e-3) };
                there_and_back(&params, &array(dtype, 1));
            }
        }
    }
}

#[test]
fn chunks_of_other_kinds() {
    for dtype in if WATCHED { vec![DType::F32, DType::U8] } else { DType::ALL.to_vec() } {
        let params = Params::new(dtype);
        there_and_back(&params, &vectors::bytes("noise", dtype, 3, 40, false));
        there_and_back(&params, &vectors::bytes("constant", dtype, 3, 40, false));
        there_and_back(&params, &[]);
        let big_endian = Params { big_endian: true, ..params };
        there_and_back(&big_endian, &vectors::bytes("noise", dtype, 3, 40, true));
    }
}

/// Codec ratio: whole and partial tiles of one to three axes, differences, wide numbers, missing values, a part,
/// damage.
#[test]
fn codec_ratio() {
    let mut random = Random(7);
    let shapes: [&[u64]; 4] = [&[700], &[20, 30], &[5, 6, 7], &[512]];
    for (k, dtype) in types().into_iter().enumerate() {
        for (lens, generator) in
            shapes.iter().zip(["walk", "specials", "noise", "wave"]).skip(if WATCHED { k % 4 } else { 0 })
        {
            let mode = if dtype.is_float() { [Mode::Abs, Mode::Lossless, Mode::Rel][k % 3] } else { Mode::Lossless };
            let mut params = Params { profile: Profile::Ratio, ..Params::new(dtype).with_bound(mode, 1e-3) };
            params.dims = Dims::new(lens).unwrap();
            if dtype.is_float() {
                params.missing = MissingValues::number(Some(1.0));
            }
            let data = vectors::bytes(generator, dtype, 1, params.dims.count() as usize, false);
            let stream = there_and_back(&params, &data);
            // Each tile is decoded whole, which takes Miri long: of the watched ones every other is read in part, the
            // rest damaged.
            if !WATCHED || k % 2 == 0 {
                read(dtype.name(), &stream);
            }
            for _ in 0..if WATCHED { k % 2 } else { 20 } {
                read(dtype.name(), &damage(&mut random, &stream));
            }
            if WATCHED {
                break;
            }
        }
    }
}

/// Codec zfp: blocks of one to three axes in every mode, a part, damage. Those of four go to threads, which Miri need
/// not watch.
#[test]
fn codec_zfp() {
    let mut random = Random(9);
    let shapes: [&[u64]; 3] = [&[70], &[9, 10], &[5, 6, 7]];
    for (k, dtype) in [DType::F32, DType::F64, DType::I32, DType::I64].into_iter().enumerate() {
        for (m, mode) in [Mode::Lossless, Mode::Rate, Mode::Precision, Mode::Abs].into_iter().enumerate() {
            if mode == Mode::Abs && !dtype.is_float() {
                continue;
            }
            for lens in shapes.iter().skip(if WATCHED { (k + m) % 3 } else { 0 }).take(if WATCHED { 1 } else { 3 }) {
                let bound = if mode == Mode::Abs { 1e-3 } else { 11.0 };
                let mut params = Params { codec: 3, ..Params::new(dtype).with_bound(mode, bound) };
                params.dims = Dims::new(lens).unwrap();
                let data = vectors::bytes("walk", dtype, 1, params.dims.count() as usize, false);
                let stream = sleek::compress(&params, &data).unwrap();
                read(dtype.name(), &stream);
                for _ in 0..if WATCHED { 1 } else { 20 } {
                    read(dtype.name(), &damage(&mut random, &stream));
                }
            }
        }
    }
}

/// A legal stream of one packed chunk, of which Miri gets three subchunks only.
fn packed(random: &mut Random, dtype: DType) -> Vec<u8> {
    let bits = 8 * dtype.size() as u32;
    let quantized = dtype.is_float() && random.below(2) == 0;
    let mut packed = random_packed(random, bits, dtype.is_float() && !quantized, !quantized, bits);
    if WATCHED {
        packed.subchunks[2..31].fill(None);
    }
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

#[test]
fn packed_chunks() {
    let mut random = Random(11);
    for dtype in types() {
        for _ in 0..if WATCHED { 1 } else { 30 } {
            let stream = packed(&mut random, dtype);
            read(dtype.name(), &stream);
            assert!(sleek::inspect(&stream).is_ok());
            for _ in 0..if WATCHED { 2 } else { 10 } {
                read(dtype.name(), &damage(&mut random, &stream));
            }
        }
    }
}

/// The golden streams; in Miri those of a few values only.
#[test]
fn golden_streams() {
    let folder = format!("{}/tests/vectors", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|e| e == "slk"));
    let (mut random, mut streams) = (Random(3), 0);
    for path in files {
        let (name, stream) = (path.display().to_string(), std::fs::read(&path).unwrap());
        if WATCHED && !(name.contains("length") && stream.len() < 128) {
            continue;
        }
        streams += 1;
        assert!(sleek::inspect(&stream).is_ok(), "{name}");
        read(&name, &stream);
        for _ in 0..if WATCHED { 2 } else { 50 } {
            read(&name, &damage(&mut random, &stream));
        }
    }
    assert!(streams > 5);
}
