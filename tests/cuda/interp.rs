//! Codec interp: its kernels restore what the CPU restores, of every kind of tile, and refuse the same bodies.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use sleek::codec::interp::format::CODEC_INTERP;
use sleek::{Bound, DType, Device, MissingValue, MissingValues, Params, route};

use crate::forms;
use crate::inputs::{self, swap};
use crate::reference::{self, builder::seal};
use crate::shim::Shim;
use crate::vectors::{self, Random, requests::dims};

/// Tiles of one to three axes, whole and cut off, narrow ones, several dimensions as one axis, and components.
const SHAPES: [&[u64]; 23] = [
    &[20000],
    &[40, 33, 35],
    &[130, 131],
    &[64, 64, 16],
    &[3, 5, 7, 40],
    &[9000, 2],
    &[17, 17, 17],
    &[700, 3, 13],
    &[1],
    &[2, 1, 9, 1, 30, 31],
    &[32, 32, 16],
    &[33],
    &[16384],
    &[6000],
    &[3, 5000],
    &[64, 3, 200],
    &[5, 6, 7, 8, 9],
    &[2, 3, 5000],
    &[128, 128],
    &[9, 8],
    &[6000, 3],
    &[8, 256, 8],
    &[31, 6, 50],
];

fn params(dtype: DType, bound: Bound, lens: &[u64]) -> Params {
    Params { codec: CODEC_INTERP, dims: dims(lens), ..Params::new(dtype).with_bound(bound) }
}

/// A field that is smooth along its axes but for noise, around a level that a base has to hold.
/// `apart` names axes, from the last one on, along which its rows are apart from each other.
fn field(p: &Params, noise: f64, apart: u32, seed: u64) -> Vec<u8> {
    let random = &mut Random(seed);
    let lens = p.dims.lens();
    let phase: Vec<f64> = lens.iter().map(|_| random.below(100) as f64 * 0.06).collect();
    let value = |mut n: u64, random: &mut Random| {
        let mut v = 0.0;
        for (k, len) in lens.iter().enumerate().rev() {
            let x = n % len;
            let jump = f64::from((x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32 % 997) * 0.01;
            let is_apart = apart >> (lens.len() - 1 - k) & 1 == 1;
            v += if is_apart { jump } else { (phase[k] + x as f64 * (0.02 + 0.03 * k as f64)).sin() };
            n /= len;
        }
        v * 10.0 + 300.0 + noise * (random.below(2001) as f64 / 1000.0 - 1.0)
    };
    let words: Vec<u64> = (0..p.dims.count()).map(|n| p.dtype.nearest(value(n, random))).collect();
    vectors::to_bytes(p.dtype, &words, p.big_endian)
}

/// Data of a kind, another one for each round.
fn made(kind: &str, p: &Params, round: usize) -> Vec<u8> {
    let count = p.dims.count() as usize;
    match kind {
        "field" => field(p, 0.0, round as u32 / 4 % 8, round as u64),
        "rough field" => field(p, [0.01, 0.3, 2.0][round % 3], round as u32 % 8, round as u64),
        kind if vectors::GENERATORS.contains(&kind) => vectors::bytes(kind, p.dtype, round as u64, count, p.big_endian),
        kind => {
            let mut bytes = inputs::data(kind, p.dtype, count, &mut inputs::Random(round as u64 + 99));
            if p.big_endian {
                swap(&mut bytes, p.dtype.size());
            }
            bytes
        }
    }
}

/// Restores a stream on the stand-in, to a place with this offset, and compares every byte with what the CPU restores.
fn restores(shim: &'static Shim, stream: &[u8], offset: usize, what: &str) -> Vec<u8> {
    let expected = sleek::decompress(stream).unwrap();
    let (src, back) = (shim.upload(0, stream, 0), shim.allocate(0, expected.len() + offset + 64));
    let before = shim.number("shim_launches");
    let done = unsafe {
        let (from, to) = (src.at(0), back.at(offset));
        route::decompress(Device::Cuda, from, stream.len(), None, to, expected.len(), null_mut())
    };
    assert_eq!(done.unwrap_or_else(|e| panic!("{what}: {e}")), expected.len());
    assert!(shim.number("shim_launches") > before, "{what}: the CPU did it");
    let got = back.read(offset, expected.len());
    let at = got.iter().zip(&expected).position(|(a, b)| a != b);
    assert!(got == expected, "{what}: restored differently from byte {at:?} on of {}", expected.len());
    assert!(back.read(offset + expected.len(), 64).iter().all(|b| *b == 0xA5), "{what}: written beyond the end");
    expected
}

/// What the tiles of a stream have by their heads (docs/reference/codecs/interp.md §3).
fn features(stream: &[u8]) -> BTreeSet<&'static str> {
    let of = reference::container(stream).unwrap();
    let (mut at, mut found) = (of.bodies_at as usize, BTreeSet::new());
    for chunk in 0..of.chunks {
        let (mut kind, bytes) = of.entry(stream, chunk).unwrap();
        let mut body = &stream[at..];
        at += bytes as usize;
        if kind == 3 {
            found.insert("masked");
            kind = u64::from(body[0] >> 6);
            body = &body[4 * usize::from(u16::from_le_bytes([body[2], body[3]]))..];
        }
        if kind != 0 {
            found.insert(["packed", "raw", "constant"][kind as usize]);
            continue;
        }
        let head = u32::from_le_bytes(body[..4].try_into().unwrap());
        found.insert(["none", "x", "y", "xy", "z", "xz", "yz", "xyz"][(head & 7) as usize]);
        found.insert(["axes", "smooth", "rough", "symbols"][(head >> 3 & 3) as usize]);
        found.insert(["bits", "bins", "steps", "multiples"][(head >> 5 & 3) as usize]);
        let flags = [(7, "table"), (8, "patches"), (9, "sparse")].into_iter().filter(|(bit, _)| head >> bit & 1 == 1);
        found.extend(flags.map(|(_, name)| name));
        if head >> 5 & 3 == 0 {
            let form = 4 + 2 * [0, 1, 2, 4][(head >> 23 & 3) as usize];
            found.insert(["numbers", "decimals", "ranks", ""][usize::from(body[form] >> 6)]);
        }
    }
    found
}

#[test]
fn golden_streams_come_back() {
    let (shim, _turn) = Shim::get();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let files = [folder.clone(), folder.join("lossless")].into_iter().flat_map(|f| std::fs::read_dir(f).unwrap());
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let mut streams = 0;
    for path in paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "slk")) {
        let stream = std::fs::read(&path).unwrap();
        if stream[8] != CODEC_INTERP {
            continue;
        }
        shim.set(1 + streams % 3, streams % 5);
        streams += 1;
        restores(shim, &stream, 0, &path.display().to_string());
    }
    assert!(streams > 50, "{streams} streams");
}

/// Bounds of every mode; without one last, which integers take.
const MODES: [Bound; 8] = [
    Bound::noa(1e-3),
    Bound::Abs(0.01),
    Bound::Rel(1e-2),
    Bound::noa(1e-1),
    Bound::Abs(1e-5),
    Bound::noa(1e-6),
    Bound::Abs(3.0),
    Bound::Lossless,
];

/// Compressed on the stand-in: the bytes of the CPU.
fn compresses(shim: &'static Shim, p: &Params, bytes: &[u8], offset: usize, what: &str) {
    let p = Params { device: Device::Cuda, ..p.clone() };
    let cpu = Params { device: Device::Cpu, ..p.clone() };
    let expected = sleek::compress(&cpu, bytes).unwrap();
    let count = bytes.len() / p.dtype.size();
    let room = sleek::compress_bound(&p, count).unwrap();
    let (src, dst) = (shim.upload(0, bytes, offset), shim.allocate(0, room));
    let before = shim.number("shim_launches");
    let done = unsafe { route::compress(&p, src.at(offset), count, dst.at(0), room, null_mut()) };
    let n = done.unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(shim.number("shim_launches") > before + 2, "{what}: the CPU did it");
    let stream = dst.read(0, n);
    let at = stream.iter().zip(&expected).position(|(a, b)| a != b);
    assert!(stream == expected, "{what} {p:?}: {n} bytes of {}, other ones from {at:?} on", expected.len());
}

/// Every type, mode and shape with smooth fields and other data gives the bytes of the CPU.
#[test]
fn tiles_of_every_type_mode_and_shape_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let kinds = [vec!["field", "rough field"], inputs::KINDS.to_vec(), vectors::GENERATORS.to_vec()].concat();
    let rounds = if crate::common::short() { 1 } else { 2 };
    let mut round = 0usize;
    for dtype in DType::ALL {
        for (k, kind) in kinds.iter().enumerate() {
            let times = if dtype == DType::F32 || dtype == DType::F64 { 2 * rounds } else { rounds };
            for i in 0..times * if kind.ends_with("field") { 4 } else { 1 } {
                round += 1;
                let bound = MODES[if dtype.is_float() { (k + 3 * i + round / 7) % MODES.len() } else { 7 }];
                let shape = SHAPES[(round + k * 5) % SHAPES.len()];
                let p = Params { big_endian: round % 5 == 3, ..params(dtype, bound, shape) };
                let bytes = made(kind, &p, round);
                shim.set([2, 1, 3][round % 3], round as u32 % 5);
                compresses(shim, &p, &bytes, [0, dtype.size(), 0, 1][round % 4], kind);
            }
        }
    }
}

/// A smooth field in which one plane in 32 is noise: few groups of codes are not 0, and these have low bits that stand
/// apart and take more than the states of the lanes.
#[test]
fn few_groups_of_long_codes_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    for dtype in [DType::F32, DType::F64] {
        let p = params(dtype, Bound::Abs(1.0), &[64, 64, 64]);
        let random = &mut Random(64);
        let words: Vec<u64> = (0..64u64.pow(3))
            .map(|n| {
                let at = [n / 64 / 64, n / 64 % 64, n % 64];
                let smooth: f64 = at.iter().map(|a| 0.5 * (*a as f64).powi(2)).sum();
                let noise = if at[0] % 32 == 5 { random.below(5000) as f64 } else { 0.0 };
                dtype.nearest(smooth + noise)
            })
            .collect();
        let bytes = vectors::to_bytes(dtype, &words, false);
        shim.set(2, 1);
        compresses(shim, &p, &bytes, 0, "few groups");
    }
}

/// Missing values, numbers close to them, and what was restored before.
#[test]
fn masks_and_arrays_that_are_written_again_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    for round in 0..if crate::common::short() { 24 } else { 96 } {
        let dtype = [DType::F32, DType::F64, DType::F32, DType::F16, DType::F64, DType::BF16][round % 6];
        let bound = [Bound::Abs(0.05), Bound::noa(1e-3), Bound::Lossless, Bound::Rel(0.01), Bound::Abs(0.3)][round % 5];
        let missing = match round % 4 {
            0 => MissingValues::default(),
            1 => MissingValues::number(Some(0.0)),
            2 => MissingValues::number(Some(f64::NAN)),
            _ => MissingValues::number(Some(300.1)),
        };
        let p = Params { missing, ..params(dtype, bound, SHAPES[round * 7 % SHAPES.len()]) };
        let mut bytes = field(&p, [0.0, 0.02, 1.0][round % 3], round as u32 % 8, round as u64);
        let size = dtype.size();
        let random = &mut Random(round as u64);
        if round % 4 != 0 {
            let values = [0.0, f64::NAN, 300.1, 300.13, 1e30];
            for element in bytes.chunks_exact_mut(size) {
                if random.below(20) == 0 {
                    let value = dtype.nearest(values[random.below(5) as usize]);
                    element.copy_from_slice(&vectors::to_bytes(dtype, &[value], false));
                }
            }
        }
        compresses(shim, &p, &bytes, 0, "first");
        let mut again = sleek::decompress(&sleek::compress(&p, &bytes).unwrap()).unwrap();
        if p.bound.number() > 0.0 || p.bound == Bound::Lossless {
            let half = again.len() / size / [1, 2, 50][round % 3] * size;
            again[half..].copy_from_slice(&bytes[half..]);
            shim.set([2, 1, 3][round % 3], round as u32 % 5);
            compresses(shim, &p, &again, 0, "again");
        }
    }
}

/// Every type and mode with smooth fields and other data, in shapes that change with both; every set of axes, predictor
/// and map is met.
#[test]
fn tiles_of_every_type_mode_and_shape_come_back() {
    let (shim, _turn) = Shim::get();
    let kinds = [vec!["field", "rough field"], inputs::KINDS.to_vec(), vectors::GENERATORS.to_vec()].concat();
    let rounds = if crate::common::short() { 1 } else { 2 };
    let (mut round, mut met) = (0usize, BTreeSet::new());
    for dtype in DType::ALL {
        for (k, kind) in kinds.iter().enumerate() {
            // The lattice of f32 and f64 is what most arrays take.
            let times = if dtype == DType::F32 || dtype == DType::F64 { 2 * rounds } else { rounds };
            for i in 0..times * if kind.ends_with("field") { 4 } else { 1 } {
                round += 1;
                let bound = MODES[if dtype.is_float() { (k + 3 * i + round / 7) % MODES.len() } else { 7 }];
                let shape = SHAPES[(round + k * 5) % SHAPES.len()];
                let p = Params { big_endian: round % 5 == 3, ..params(dtype, bound, shape) };
                let bytes = made(kind, &p, round);
                let stream = sleek::compress(&p, &bytes).unwrap();
                shim.set([2, 1, 3][round % 3], round as u32 % 5);
                let offset = [0, dtype.size(), 0, 1][round % 4];
                restores(shim, &stream, offset, &format!("{kind} {p:?}"));
                met.extend(features(&stream));
            }
        }
    }
    let sets = ["none", "x", "y", "xy", "z", "xz", "yz", "xyz"];
    let others = ["steps", "bins", "bits", "axes", "smooth", "rough", "raw", "constant", "sparse", "table"];
    for feature in sets.iter().chain(&others) {
        assert!(met.contains(feature), "no {feature} among {met:?}");
    }
}

/// What was restored is written again, alone and with new data beside it: multiples, corrections and exceptions.
#[test]
fn arrays_that_are_written_again_come_back() {
    let (shim, _turn) = Shim::get();
    let mut met = BTreeSet::new();
    for (k, shape) in
        [&[40u64, 33, 35][..], &[130, 131], &[20000], &[3, 5, 7, 40], &[33, 32, 16]].into_iter().enumerate()
    {
        for dtype in [DType::F32, DType::F64] {
            let p = Params { big_endian: k == 2, ..params(dtype, Bound::Abs([0.01, 0.3][k % 2]), shape) };
            let fresh = field(&p, 0.02, 0, 5);
            let mut again = sleek::decompress(&sleek::compress(&p, &fresh).unwrap()).unwrap();
            let half = again.len() / 16 * 8;
            for part in [0, half / 8, half] {
                // Some of it is new, and some elements have no multiple.
                again[..part].copy_from_slice(&fresh[..part]);
                let size = dtype.size();
                let odd = [dtype.nearest(f64::NAN), dtype.nearest(1e30)];
                for (i, at) in (0..again.len() / size).step_by(1571).enumerate().skip(k % 2) {
                    let element = vectors::to_bytes(dtype, &odd[i * (part % 3) % 2..][..1], p.big_endian);
                    again[at * size..][..size].copy_from_slice(&element);
                }
                let stream = sleek::compress(&p, &again).unwrap();
                shim.set(1 + k as u32 % 3, k as u32);
                again = restores(shim, &stream, 0, &format!("{part} of {p:?}"));
                met.extend(features(&stream));
            }
        }
    }
    for feature in ["patches", "steps"] {
        assert!(met.contains(feature), "no {feature} among {met:?}");
    }
}

/// Lossless tiles of every form.
#[test]
fn every_form_comes_back() {
    let (shim, _turn) = Shim::get();
    let mut met = BTreeSet::new();
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        for (k, kind) in
            forms::KINDS.into_iter().enumerate().filter(|(_, kind)| dtype.is_float() || *kind != "decimals")
        {
            let at = 5 * d + k;
            let p =
                Params { big_endian: at % 3 == 0, ..params(dtype, Bound::Lossless, forms::lens(kind, at, &SHAPES)) };
            let words = forms::words(kind, dtype, p.dims.count() as usize);
            let stream = sleek::compress(&p, &vectors::to_bytes(dtype, &words, p.big_endian)).unwrap();
            shim.set([2, 1, 3][at % 3], at as u32 % 5);
            restores(shim, &stream, if at % 4 == 1 { dtype.size() } else { 0 }, &format!("{kind} {p:?}"));
            met.extend(features(&stream));
        }
    }
    for form in ["symbols", "decimals", "ranks", "numbers", "table"] {
        assert!(met.contains(form), "no {form} among {met:?}");
    }
}

/// Missing values of all rates, alone and in runs.
#[test]
fn tiles_with_missing_values_come_back() {
    let (shim, _turn) = Shim::get();
    let mut masked = 0;
    for (d, dtype) in [DType::F32, DType::F64, DType::F16, DType::BF16].into_iter().enumerate() {
        for round in 0..if crate::common::short() { 8 } else { 16 } {
            let shape = SHAPES[(7 * d + 3 * round) % SHAPES.len()];
            let bound = [Bound::noa(1e-3), Bound::Lossless, Bound::Abs(0.5), Bound::Rel(1e-3)][round % 4];
            let marks = [dtype.nearest(-999.0), dtype.nearest(f64::NAN)];
            let missing = MissingValues::of(&marks.map(MissingValue::Bits)).unwrap();
            let p = Params { missing, big_endian: round % 5 == 1, ..params(dtype, bound, shape) };
            let mut words = vectors::to_words(dtype, &field(&Params { big_endian: false, ..p.clone() }, 0.01, 0, 3));
            vectors::strew(&mut words, &marks[..1 + round % 2], [1, 40, 900, 5000][round / 4 % 4], round as u64);
            let stream = sleek::compress(&p, &vectors::to_bytes(dtype, &words, p.big_endian)).unwrap();
            shim.set(1 + round as u32 % 3, round as u32 % 5);
            restores(shim, &stream, 0, &format!("{p:?}"));
            masked += usize::from(features(&stream).contains("masked"));
        }
    }
    assert!(masked > 10, "{masked} arrays with masked tiles");
}

/// Behind valid checksums a body may say anything: the verdict is that of the CPU, and what is taken is the same.
#[test]
fn hostile_bodies_get_the_verdict_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let random = &mut Random(77);
    let rounds = if crate::common::short() { 60 } else { 250 };
    let (mut taken, mut refused) = (0, 0);
    let patched = |p: &Params| {
        let fresh = field(p, 0.02, 0, 5);
        let mut again = sleek::decompress(&sleek::compress(p, &fresh).unwrap()).unwrap();
        let (half, size) = (again.len() / 16 * 8, p.dtype.size());
        again[..half].copy_from_slice(&fresh[..half]);
        again[5 * size..6 * size].copy_from_slice(&p.dtype.nearest(1e30).to_le_bytes()[..size]);
        again
    };
    let mut streams = Vec::new();
    for (dtype, lens, bound) in
        [(DType::F32, &[20u64, 23, 25][..], 0.01), (DType::F64, &[60, 70], 0.01), (DType::F32, &[3000], 3.0)]
    {
        let p = params(dtype, Bound::Abs(bound), lens);
        streams.push(sleek::compress(&p, &field(&p, 0.0, 0, 1)).unwrap());
        streams.push(sleek::compress(&p, &patched(&p)).unwrap());
    }
    for kind in ["decimals", "few", "repeats", "weights", "smooth"] {
        let p = params(DType::F32, Bound::Lossless, &[3000]);
        let words = forms::words(kind, DType::F32, 3000);
        streams.push(sleek::compress(&p, &vectors::to_bytes(DType::F32, &words, false)).unwrap());
    }
    for stream in streams {
        let head = reference::container(&stream).unwrap().bodies_at as usize;
        let body = (stream.len() - head) as u64;
        let bytes = sleek::inspect(&stream).unwrap().raw_bytes as usize;
        for round in 0..rounds {
            let mut damaged = stream.clone();
            // The first bytes of a body say the most.
            let room = if round % 2 == 0 { body.min(40) } else { body };
            for _ in 0..1 + random.below(3) {
                damaged[head + random.below(room) as usize] ^= 1 << random.below(8);
            }
            seal(&mut damaged);
            let (src, back) = (shim.upload(0, &damaged, 0), shim.allocate(0, bytes + 4096));
            let ours = unsafe {
                route::decompress(Device::Cuda, src.at(0), damaged.len(), None, back.at(0), bytes, null_mut())
            };
            let cpu = sleek::decompress(&damaged);
            assert!(back.read(bytes, 4096).iter().all(|b| *b == 0xA5), "{round}: written beyond the end");
            match (ours, cpu) {
                (Ok(_), Ok(cpu)) => {
                    assert!(back.read(0, bytes) == cpu, "{round}: {}", features(&stream).len());
                    taken += 1;
                }
                (Err(ours), Err(cpu)) => {
                    assert_eq!(ours.kind, cpu.kind, "{round}: {ours}, {cpu}");
                    refused += 1;
                }
                (ours, cpu) => panic!("{round} {:?}: {ours:?}, {:?}", features(&stream), cpu.map(|_| ())),
            }
        }
    }
    assert!(taken > 10 && refused > 300, "{taken} taken, {refused} refused");
}

/// Ranges and boxes of arrays of many tiles, and streams that restore without the host having seen them.
#[test]
fn parts_of_large_arrays() {
    let (shim, _turn) = Shim::get();
    let random = &mut Random(5);
    for (dtype, shape) in [(DType::F32, &[70u64, 66, 50][..]), (DType::F64, &[300, 131]), (DType::F32, &[40, 3, 900])] {
        let p = params(dtype, Bound::noa(1e-3), shape);
        let stream = sleek::compress(&p, &field(&p, 0.01, 0, 9)).unwrap();
        let (src, size) = (shim.upload(0, &stream, 0), dtype.size());
        for round in 0..6 {
            let first = random.below(p.dims.count());
            let count = random.below(p.dims.count() - first + 1) as usize;
            let mut part = vec![0; count * size];
            sleek::decompress_range_into(&stream, first, count, &mut part).unwrap();
            let back = shim.allocate(0, part.len() + 64);
            let (from, to) = (src.at(0), back.at(0));
            shim.set(1 + round, round);
            let n = unsafe {
                let range = Some((first, count));
                route::decompress(Device::Cuda, from, stream.len(), range, to, part.len(), null_mut()).unwrap()
            };
            assert!(n == part.len() && back.read(0, n) == part, "{p:?}: {count} from {first}");
            assert!(back.read(n, 64).iter().all(|b| *b == 0xA5), "{p:?}: written beyond the range");
            let start: Vec<u64> = shape.iter().map(|len| random.below(*len)).collect();
            let lens: Vec<u64> = shape.iter().zip(&start).map(|(len, s)| 1 + random.below(len - s)).collect();
            let all = vec![0; shape.len()];
            for (level, start, lens) in
                [(0, &start, &lens), (1 + round % 5, &start, &lens), (1 + round, &all, &p.dims.lens().to_vec())]
            {
                let mut part = vec![0; p.dims.count() as usize * size];
                let n = sleek::decompress_coarse_into(&stream, level, Some((start, lens)), &mut part).unwrap();
                let back = shim.allocate(0, n + 64);
                let to = (back.at(0), n);
                unsafe {
                    let from = (from.cast_const(), stream.len());
                    route::decompress_coarse(from, level, Some((start, lens)), to, null_mut()).unwrap()
                };
                assert!(back.read(0, n) == part[..n], "{p:?}: level {level} of {lens:?} from {start:?}");
                assert!(back.read(n, 64).iter().all(|b| *b == 0xA5), "{p:?}: written beyond the box");
            }
        }
    }
}
