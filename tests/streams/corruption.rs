//! Damaged streams are refused: never decoded, never a panic. A change within one aligned 32-bit word always changes a
//! checksum (its key is odd and below 2^32, so the product cannot vanish modulo 2^64), so every such test must find an
//! error.

use crate::{common, vectors};
use sleek::codec::REGISTRY;
use sleek::{Bound, DType, Dims, Kind, MissingValue, MissingValues, Mode, Params};
use std::path::PathBuf;

/// Short streams of every codec of the registry, with missing values and with packed, raw and constant chunks.
fn of_codecs() -> Vec<(String, Vec<u8>)> {
    let mut streams = Vec::new();
    for codec in REGISTRY {
        let can = codec.capabilities();
        let types = [DType::F32, DType::F64, DType::I16, DType::I32].into_iter().filter(|d| can.dtypes.contains(d));
        for (k, dtype) in types.enumerate() {
            for (generator, lens) in
                [("walk", &[29, 31][..]), ("specials", &[700]), ("noise", &[3, 40]), ("constant", &[90])]
            {
                let mode = if dtype.is_float() && can.modes.contains(&Mode::Abs) { Mode::Abs } else { Mode::Lossless };
                let mut params =
                    Params { codec: codec.id(), ..Params::new(dtype).with_bound(Bound::new(mode, 1e-3).unwrap()) };
                params.dims = Dims::new(lens).unwrap();
                let mut words = vectors::words(generator, dtype, k as u64, params.dims.count() as usize);
                if dtype.is_float() && generator == "walk" {
                    params.missing = MissingValues::of(&[MissingValue::Number(-9999.0)]).unwrap();
                    vectors::strew(&mut words, &[dtype.nearest(-9999.0)], 40, k as u64);
                }
                let stream = sleek::compress(&params, &vectors::to_bytes(dtype, &words, false)).unwrap();
                streams.push((format!("{} {} {generator}", codec.name(), dtype.name()), stream));
            }
        }
    }
    streams
}

/// The golden streams, which use every feature of the format, and those of all codecs, with their names.
fn streams() -> Vec<(String, Vec<u8>)> {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "vectors"].iter().collect();
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|e| e == "slk"));
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read(&path).unwrap());
    let mut streams: Vec<_> = files.map(read).collect();
    streams.sort();
    assert!(streams.len() > 100, "only {} golden streams were found", streams.len());
    streams.extend(of_codecs());
    streams
}

/// Decodes into a buffer that is used again and again.
fn decode(stream: &[u8], buffer: &mut [u8]) -> sleek::Result<usize> {
    sleek::decompress_into(stream, buffer)
}

fn buffer_for(stream: &[u8]) -> Vec<u8> {
    vec![0; sleek::inspect(stream).unwrap().raw_bytes as usize]
}

#[test]
fn every_changed_byte_is_noticed() {
    let patterns = [0x01, 0x80, 0xff];
    for (name, stream) in streams() {
        let mut buffer = buffer_for(&stream);
        let mut damaged = stream.clone();
        for at in 0..stream.len() {
            for pattern in if common::short() { &patterns[at % 3..][..1] } else { &patterns[..] } {
                damaged[at] = stream[at] ^ pattern;
                let outcome = decode(&damaged, &mut buffer);
                assert!(outcome.is_err(), "{name}: byte {at} xor {pattern:#04x} was not noticed");
                assert_ne!(outcome.unwrap_err().kind, Kind::Internal, "{name}: byte {at} xor {pattern:#04x}");
            }
            damaged[at] = stream[at];
        }
    }
}

#[test]
fn every_other_length_is_noticed() {
    for (name, stream) in streams() {
        let mut buffer = buffer_for(&stream);
        for len in 0..stream.len() {
            let error = decode(&stream[..len], &mut buffer).expect_err(&format!("{name} cut to {len} bytes"));
            let expected = if len < 6 { Kind::NotSleek } else { Kind::Truncated };
            assert_eq!(error.kind, expected, "{name} cut to {len} bytes: {error}");
            assert!(sleek::inspect(&stream[..len]).is_err(), "{name} cut to {len} bytes was inspected");
        }
        for more in [1, 16, 1000] {
            let mut longer = stream.clone();
            longer.resize(stream.len() + more, 0);
            let error = decode(&longer, &mut buffer).expect_err(&format!("{name} with {more} bytes more"));
            assert_eq!(error.kind, Kind::Corrupt);
            assert_eq!(sleek::inspect(&longer).unwrap(), sleek::inspect(&stream).unwrap());
        }
    }
}

/// Random bytes at 2 to 64 random places, half of the time within a few words; bytes swapped, blocks zeroed, moved or
/// taken from another place. `SLEEK_DAMAGE` says how many streams.
#[test]
fn random_damage_is_noticed() {
    let rounds: u64 = std::env::var("SLEEK_DAMAGE").map_or(20_000, |n| n.parse().expect("SLEEK_DAMAGE is a number"));
    let streams = streams();
    let mut buffers: Vec<Vec<u8>> = streams.iter().map(|(_, stream)| buffer_for(stream)).collect();
    let mut random = vectors::Random(77);
    let (mut damaged_streams, mut by_kind) = (0u64, std::collections::BTreeMap::<i32, u64>::new());
    let mut damaged = Vec::new();
    for round in 0..rounds {
        let i = random.below(streams.len() as u64) as usize;
        let (name, stream) = &streams[i];
        damaged.clear();
        damaged.extend_from_slice(stream);
        let len = stream.len() as u64;
        let reach = if random.below(2) == 0 { len } else { len.min(32) };
        let start = random.below(len - reach + 1);
        let (from, to) = (random.below(len) as usize, random.below(len) as usize);
        let run = (1 + random.below(64) as usize).min(stream.len() - from.max(to));
        match random.below(8) {
            0 => damaged.swap(from, to),
            1 => damaged[from..from + run].fill(0),
            2 => damaged.copy_within(from..from + run, to),
            3 => damaged[from..from + run].iter_mut().for_each(|byte| *byte = random.next() as u8),
            _ => {
                let places = 2 + random.below(63);
                (0..places).for_each(|_| damaged[(start + random.below(reach)) as usize] = random.next() as u8);
            }
        }
        if damaged == *stream {
            continue;
        }
        damaged_streams += 1;
        let error = decode(&damaged, &mut buffers[i]).expect_err(&format!("{name}: round {round} was not noticed"));
        assert_ne!(error.kind, Kind::Internal, "{name}: round {round}: {error}");
        *by_kind.entry(error.kind.code()).or_default() += 1;
    }
    println!("{damaged_streams} damaged streams, all refused; by status code {by_kind:?}");
}

/// The sums are made otherwise at each level.
#[test]
fn every_simd_level_notices() {
    vectors::levels::at_lower_levels(&["corruption::every_other_length_is_noticed", "corruption::random_damage"]);
}

/// Only the groups that are read are verified, so damage elsewhere does no harm to a range.
#[test]
fn a_range_is_read_past_damage_in_other_groups() {
    let count = 3 * 64 * 4096;
    let data = vectors::bytes("walk", DType::F32, 3, count, false);
    let stream = sleek::compress(&Params::new(DType::F32).with_bound(Bound::Abs(1e-3)), &data).unwrap();
    let whole = sleek::decompress(&stream).unwrap();
    let mut damaged = stream.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    assert_eq!(sleek::decompress(&damaged).unwrap_err().kind, Kind::Corrupt);
    let group = 64 * 4096;
    let mut part = vec![0; 4 * 1000];
    sleek::decompress_range_into(&damaged, group as u64 - 500, 1000, &mut part).unwrap();
    assert!(part == whole[4 * (group - 500)..][..4000]);
    assert_eq!(
        sleek::decompress_range_into(&damaged, 2 * group as u64 - 1, 2, &mut part).unwrap_err().kind,
        Kind::Corrupt
    );
}

/// An array that is written past the caches, of which each group is verified while the one before is decoded: damage in
/// any group, and at either end of it, is noticed, and nothing of that group is decoded.
#[test]
fn damage_in_any_group_of_a_large_array_is_noticed() {
    let (group, groups) = (64 * 4096, 18);
    let data = vectors::bytes("walk", DType::F32, 3, groups * group - 5000, false);
    let stream = sleek::compress(&Params::new(DType::F32).with_bound(Bound::Abs(1e-3)), &data).unwrap();
    let whole = sleek::decompress(&stream).unwrap();
    let number = |at: usize| u64::from_le_bytes(stream[at..at + 8].try_into().unwrap()) as usize;
    let start = |g: usize| if g < groups { number(64 + 16 * g) } else { stream.len() };
    let untouched = 0x5a;
    for g in 0..groups {
        for at in [start(g), start(g + 1) - 1] {
            let mut damaged = stream.clone();
            damaged[at] ^= 0x10;
            for threads in [1, 2] {
                let mut dst = vec![untouched; whole.len()];
                let error = sleek::decompress_into_with(&damaged, &mut dst, threads).unwrap_err();
                assert_eq!(error.kind, Kind::Corrupt, "{g} {at} {threads}");
                assert!(error.to_string().contains(&format!("chunk group {g} ")), "{error}");
                let end = whole.len().min(4 * group * (g + 1));
                assert!(dst[4 * group * g..end].iter().all(|b| *b == untouched), "group {g} was decoded");
            }
        }
    }
    for threads in [1, 2] {
        let mut dst = vec![untouched; whole.len()];
        sleek::decompress_into_with(&stream, &mut dst, threads).unwrap();
        assert!(dst == whole, "{threads}");
    }
}
