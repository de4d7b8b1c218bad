//! Streams with an extension: dimensions, and missing values.

use sleek::container::checksum;
use sleek::{DType, Device, MissingValue, MissingValues, Mode, Params, Profile};

use crate::bytes::compare;
use crate::inputs::{Random, data, element, swap};
use crate::shim::Shim;

/// Restores a stream on both paths: the same verdict, and the same bytes.
fn restore(shim: &'static Shim, stream: &[u8], bytes: usize, offset: usize, what: &str) -> bool {
    let (src, dst) = (shim.upload(0, stream, 0), shim.allocate(0, bytes + offset + 64));
    let null = std::ptr::null_mut();
    let gpu =
        unsafe { sleek::route::decompress(Device::Auto, src.at(0), stream.len(), None, dst.at(offset), bytes, null) };
    let cpu = sleek::decompress(stream);
    assert_eq!(gpu.is_ok(), cpu.is_ok(), "{what}: {gpu:?}, {:?}", cpu.err());
    if let Ok(restored) = &cpu {
        assert!(dst.read(offset, restored.len()) == *restored, "{what}: restored differently");
    }
    assert!(dst.read(bytes + offset, 64).iter().all(|b| *b == 0xA5), "{what}: written beyond the end");
    cpu.is_ok()
}

/// Data of which some elements are missing values, one in so many, alone or in runs.
fn with_missing(dtype: DType, count: usize, values: &[f64], one_in: usize, run: usize, r: &mut Random) -> Vec<u8> {
    let kind = ["smooth", "noise", "spikes"][r.next() as usize % 3];
    let (mut bytes, size) = (data(kind, dtype, count, r), dtype.size());
    let mut left = (0, 0.0);
    for at in 0..count {
        if left.0 == 0 && one_in > 0 && (r.next() % (one_in * run) as u64) < 1 {
            left = (run, values[r.next() as usize % values.len()]);
        }
        if left.0 > 0 || one_in == 1 {
            let value = if left.0 > 0 { left.1 } else { values[0] };
            bytes[at * size..(at + 1) * size].copy_from_slice(&element(dtype, value));
            left.0 = left.0.saturating_sub(1);
        }
    }
    bytes
}

const VALUES: [&[f64]; 4] = [&[-999.0], &[1e20, 7.0], &[f64::NAN], &[0.0, -5.0, f64::INFINITY]];

fn cases(dtype: DType, r: &mut Random, mut check: impl FnMut(&Params, &mut Vec<u8>, String)) {
    let modes = [(Mode::Abs, 1e-2), (Mode::Lossless, 0.0), (Mode::Noa, 1e-3), (Mode::Rel, 1e-2), (Mode::Abs, 1.0)];
    let mut round = 0;
    for values in VALUES {
        for (one_in, run) in [(0, 1), (1_000_000, 1), (100, 1), (2, 1), (2, 300), (30, 9), (1, 1), (3, 5000)] {
            let (mode, bound) = modes[round % modes.len()];
            let profile = [Profile::Adaptive, Profile::Fast][round / 2 % 2];
            let count = 16384 / dtype.size() * 2 + [1, 500, 1000, 1333][round % 4];
            let mut bytes = with_missing(dtype, count, values, one_in, run, r);
            let named: Vec<MissingValue> = values.iter().map(|v| MissingValue::Number(*v)).collect();
            let missing = MissingValues::of(&named).unwrap();
            let p = Params { profile, missing, ..Params::new(dtype) };
            let p = if mode == Mode::Lossless { p } else { p.with_bound(mode, bound) };
            let big_endian = round % 3 == 1;
            if big_endian {
                swap(&mut bytes, dtype.size());
            }
            let p = Params { big_endian, ..p };
            check(&p, &mut bytes, format!("{dtype:?} {values:?} one in {one_in} by {run}"));
            round += 1;
        }
    }
}

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

#[test]
fn missing_values_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(1234567);
    for dtype in FLOATS {
        let mut round = 0;
        cases(dtype, &mut r, |p, bytes, what| {
            shim.set(1 + round % 4, round % 5);
            compare(shim, p, bytes, [0, dtype.size()][round as usize % 2], &what);
            round += 1;
        });
    }
}

#[test]
fn masked_streams_come_back() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(7654321);
    for dtype in FLOATS {
        let mut masked = 0;
        cases(dtype, &mut r, |p, bytes, what| {
            let stream = sleek::compress(p, bytes).unwrap();
            masked += sleek::inspect(&stream).unwrap().chunks[3];
            assert!(restore(shim, &stream, bytes.len(), [0, 16, dtype.size()][masked as usize % 3], &what));
        });
        assert!(masked > 20, "{masked}");
    }
}

/// Makes the checksums of a stream of one group fit, as a hostile writer would.
fn reseal(stream: &mut [u8]) {
    let layout = sleek::container::Header::peek(stream, stream.len() as u64).unwrap().layout;
    let (mut at, mut sum) = (layout.bodies_at(), 0u64);
    for c in 0..layout.chunks {
        let entry = layout.entries_at() + 2 * c;
        let bytes = (usize::from(u16::from_le_bytes([stream[entry], stream[entry + 1]])) & 0x3fff) * 16;
        sum = sum.wrapping_add(checksum::of_chunk(&stream[at..at + bytes], c));
        at += bytes;
    }
    stream[layout.header_bytes + 8..layout.header_bytes + 16].copy_from_slice(&sum.to_le_bytes());
    let sum = checksum::of_index(&stream[..layout.bodies_at()]);
    stream[56..64].copy_from_slice(&sum.to_le_bytes());
}

/// Planes that were changed, in streams whose checksums fit, get the verdict of the CPU.
#[test]
fn hostile_planes_are_refused_as_on_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(424242);
    let mut refused = 0;
    for (i, dtype) in FLOATS.into_iter().enumerate() {
        let values = [-999.0, 7.0];
        let count = 16384 / dtype.size() + 300;
        let bytes = with_missing(dtype, count, &values, 10, [1, 30, 5, 60][i], &mut r);
        let missing = MissingValues::of(&values.map(MissingValue::Number)).unwrap();
        let sound = sleek::compress(&Params { missing, ..Params::new(dtype) }.with_bound(Mode::Abs, 0.5), &bytes);
        let sound = sound.unwrap();
        let layout = sleek::container::Header::read(&sound).unwrap().layout;
        assert_eq!(sound[layout.entries_at() + 1] >> 6, 3, "the first chunk is masked");
        let bodies_at = layout.bodies_at();
        let plane = usize::from(u16::from_le_bytes([sound[bodies_at + 2], sound[bodies_at + 3]])) * 16;
        for round in 0..120 {
            let mut stream = sound.clone();
            for _ in 0..=round % 2 {
                let within = if round % 5 == 0 { 16 } else { plane + 16 };
                stream[bodies_at + r.next() as usize % within] ^= 1 << (r.next() % 8);
            }
            reseal(&mut stream);
            refused += u32::from(!restore(shim, &stream, bytes.len(), 0, &format!("{dtype:?} round {round}")));
        }
    }
    assert!((50..450).contains(&refused), "{refused}");
}
