//! A little of everything, small enough for an interpreter that watches each access: `make miri` runs it in Miri. Golden
//! streams are read, damaged behind their checksums and read again; arrays of every type make the way there and back.

mod reference;
mod vectors;

use reference::builder::seal;
use sleek::{DType, Kind, Mode, Params, Profile};
use vectors::Random;

#[test]
fn there_and_back() {
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        let modes: &[Mode] =
            if dtype.is_float() { &[Mode::Lossless, Mode::Abs, Mode::Noa, Mode::Rel] } else { &[Mode::Lossless] };
        for &mode in modes {
            if cfg!(miri) && i % 3 != mode as usize % 3 {
                continue; // an array takes seconds there
            }
            let data = vectors::bytes("walk", dtype, i as u64, 300, false);
            let mut params = Params::new(dtype).with_bound(mode, 1e-3);
            params.profile = if i % 2 == 0 { Profile::Adaptive } else { Profile::Fast };
            let stream = sleek::compress(&params, &data).unwrap();
            let back = sleek::decompress(&stream).unwrap();
            let info = sleek::inspect(&stream).unwrap();
            vectors::exact::judge(&params, info.abs_bound, &data, &back).unwrap();
            let mut part = vec![0; 100 * dtype.size()];
            sleek::decompress_range_into(&stream, 150, 100, &mut part).unwrap();
            assert!(part == back[150 * dtype.size()..][..part.len()]);
        }
    }
}

#[test]
fn damaged_behind_the_checksum() {
    let mut random = Random(3);
    for name in ["f32-abs", "f64-lossless", "f16-noa-fast", "u8-lossless"] {
        let path = format!("{}/tests/vectors/{name}.slk", env!("CARGO_MANIFEST_DIR"));
        let golden = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        sleek::decompress(&golden).unwrap();
        for _ in 0..if cfg!(miri) { 2 } else { 50 } {
            let mut stream = golden.clone();
            for _ in 0..1 + random.below(3) {
                let at = 64 + random.below(stream.len() as u64 - 64) as usize;
                stream[at] = random.next() as u8;
            }
            seal(&mut stream);
            if let Err(error) = sleek::decompress(&stream) {
                assert_ne!(error.kind, Kind::Internal, "{name}: {error}");
            }
        }
    }
}
