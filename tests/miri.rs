//! A little of everything, small enough for an interpreter that watches each access: `make miri` runs it in Miri. Golden
//! streams are read, damaged behind their checksums and read again; arrays of every type make the way there and back.

mod reference;
mod vectors;

use reference::builder::seal;
use sleek::{DType, Kind, Mode, Params};
use vectors::Random;

/// Miri takes many seconds for a packed chunk, so it gets few of them.
const WATCHED: bool = cfg!(miri);

#[test]
fn there_and_back() {
    let dtypes = if WATCHED { &DType::ALL[..1] } else { &DType::ALL[..] };
    for &dtype in dtypes {
        let modes =
            if dtype.is_float() { &[Mode::Abs, Mode::Lossless, Mode::Noa, Mode::Rel][..] } else { &[Mode::Lossless] };
        for &mode in if WATCHED { &modes[..1] } else { modes } {
            let data = vectors::bytes("walk", dtype, 1, 300, false);
            let params = Params::new(dtype).with_bound(mode, 1e-3);
            let stream = sleek::compress(&params, &data).unwrap();
            let back = sleek::decompress(&stream).unwrap();
            let info = sleek::inspect(&stream).unwrap();
            vectors::exact::judge(&params, info.abs_bound, &data, &back).unwrap();
        }
    }
}

/// Golden streams of raw and constant chunks, and one that is packed; in Miri those of a few values only.
fn streams() -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/tests/vectors", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|e| e == "slk"));
    let all = files.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()));
    let short =
        |name: &str, stream: &[u8]| name.ends_with("bf16-abs.slk") || name.contains("length") && stream.len() < 128;
    all.filter(|(name, stream)| !WATCHED || short(name, stream)).collect()
}

#[test]
fn golden_streams() {
    let streams = streams();
    assert!(streams.len() > 5);
    for (name, stream) in streams {
        let whole = sleek::decompress(&stream).unwrap();
        let info = sleek::inspect(&stream).unwrap();
        let count = (info.count / 2).min(100) as usize;
        let mut part = vec![0; count * info.dtype.size()];
        sleek::decompress_range_into(&stream, info.count - count as u64, count, &mut part).unwrap();
        assert!(part == whole[whole.len() - part.len()..], "{name}");
    }
}

#[test]
fn damaged_behind_the_checksum() {
    let mut random = Random(3);
    for (name, golden) in streams() {
        for _ in 0..if WATCHED { 1 } else { 50 } {
            let mut stream = golden.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(stream.len() as u64) as usize;
                stream[at] = random.next() as u8;
            }
            seal(&mut stream);
            if let Err(error) = sleek::decompress(&stream) {
                assert_ne!(error.kind, Kind::Internal, "{name}: {error}");
            }
        }
    }
}
