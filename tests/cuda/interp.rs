//! Codec interp: its kernels restore what the CPU restores, of every kind of tile, and refuse the same bodies.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sleek::codec::interp::format::CODEC_INTERP;
use sleek::{Bound, DType, MissingValue, MissingValues, Params};

use crate::both::{Part, compare, restores, verdict};
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
        if stream[8] == CODEC_INTERP {
            shim.set(1 + streams % 3, streams % 5);
            streams += 1;
            assert!(restores(shim, &stream, Part::Whole, 0, &path.display().to_string()).0 > 0);
        }
    }
    assert!(streams > 50, "{streams} streams");
}

/// Every type, mode and shape with smooth fields and other data; every set of axes, predictor and map is met.
#[test]
fn tiles_of_every_type_mode_and_shape_are_those_of_the_cpu() {
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
                shim.set([2, 1, 3][round % 3], round as u32 % 5);
                met.extend(features(&compare(shim, &p, &bytes, [0, dtype.size(), 0, 1][round % 4], kind)));
            }
        }
    }
    let sets = ["none", "x", "y", "xy", "z", "xz", "yz", "xyz"];
    let others = ["steps", "bins", "bits", "axes", "smooth", "rough", "raw", "constant", "sparse", "table"];
    for feature in sets.iter().chain(&others) {
        assert!(met.contains(feature), "no {feature} among {met:?}");
    }
}

/// A smooth field in which one plane in 32 is noise: few groups of codes are not 0, and these have low bits that stand
/// apart and take more than the states of the lanes.
#[test]
fn few_groups_of_long_codes() {
    let (shim, _turn) = Shim::get();
    for dtype in [DType::F32, DType::F64] {
        let p = params(dtype, Bound::Abs(1.0), &[64, 64, 64]);
        let random = &mut Random(64);
        let mut value = |n: u64| {
            let at = [n / 64 / 64, n / 64 % 64, n % 64];
            let smooth: f64 = at.iter().map(|a| 0.5 * (*a as f64).powi(2)).sum();
            smooth + if at[0] % 32 == 5 { random.below(5000) as f64 } else { 0.0 }
        };
        let words: Vec<u64> = (0..64u64.pow(3)).map(|n| dtype.nearest(value(n))).collect();
        shim.set(2, 1);
        compare(shim, &p, &vectors::to_bytes(dtype, &words, false), 0, "few groups");
    }
}

/// Missing values of all rates, alone and in runs, numbers close to them, and what was restored before, alone and with
/// new data beside it: multiples, corrections and exceptions.
#[test]
fn masks_and_arrays_that_are_written_again() {
    let (shim, _turn) = Shim::get();
    let mut met = BTreeSet::new();
    for round in 0..if crate::common::short() { 30 } else { 120 } {
        let dtype = [DType::F32, DType::F64, DType::F32, DType::F16, DType::F64, DType::BF16][round % 6];
        let bound = [Bound::Abs(0.05), Bound::noa(1e-3), Bound::Lossless, Bound::Rel(0.01), Bound::Abs(0.3)][round % 5];
        let named: &[f64] = [&[][..], &[0.0], &[f64::NAN, -999.0], &[300.1]][round % 4];
        let missing = MissingValues::of(&named.iter().map(|v| MissingValue::Number(*v)).collect::<Vec<_>>()).unwrap();
        let shape = SHAPES[round * 7 % SHAPES.len()];
        let p = Params { missing, big_endian: round % 7 == 2, ..params(dtype, bound, shape) };
        let little = Params { big_endian: false, ..p.clone() };
        let fresh = field(&little, [0.0, 0.02, 1.0][round % 3], round as u32 % 8, round as u64);
        let mut words = vectors::to_words(dtype, &fresh);
        let strewn = [0.0, f64::NAN, 300.1, 300.13, 1e30, -999.0].map(|v| dtype.nearest(v));
        if round % 4 != 0 {
            vectors::strew(&mut words, &strewn, [1, 40, 900][round % 3], round as u64);
        }
        let bytes = vectors::to_bytes(dtype, &words, p.big_endian);
        let (mut again, size) = (bytes.clone(), dtype.size());
        for part in [0, 0, again.len() / size / 16 * size, again.len() / size / 2 * size] {
            // Some of it is new, and some elements have no multiple.
            again[..part].copy_from_slice(&bytes[..part]);
            for at in (0..again.len() / size).step_by(1571).skip(1).filter(|_| part > 0) {
                let odd = vectors::to_bytes(dtype, &[strewn[4]], p.big_endian);
                again[at * size..][..size].copy_from_slice(&odd);
            }
            shim.set([2, 1, 3][round % 3], round as u32 % 5);
            let stream = compare(shim, &p, &again, 0, "again");
            met.extend(features(&stream));
            again = sleek::decompress(&stream).unwrap();
        }
    }
    for feature in ["patches", "steps", "masked"] {
        assert!(met.contains(feature), "no {feature} among {met:?}");
    }
}

/// Lossless tiles of every form.
#[test]
fn every_form() {
    let (shim, _turn) = Shim::get();
    let mut met = BTreeSet::new();
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        let kinds = forms::KINDS.into_iter().enumerate();
        for (k, kind) in kinds.filter(|(_, kind)| dtype.is_float() || *kind != "decimals") {
            let at = 5 * d + k;
            let lens = forms::lens(kind, at, &SHAPES);
            let p = Params { big_endian: at % 3 == 0, ..params(dtype, Bound::Lossless, lens) };
            let words = forms::words(kind, dtype, p.dims.count() as usize);
            let bytes = vectors::to_bytes(dtype, &words, p.big_endian);
            shim.set([2, 1, 3][at % 3], at as u32 % 5);
            met.extend(features(&compare(shim, &p, &bytes, if at % 4 == 1 { dtype.size() } else { 0 }, kind)));
        }
    }
    for form in ["symbols", "decimals", "ranks", "numbers", "table"] {
        assert!(met.contains(form), "no {form} among {met:?}");
    }
}

/// Behind valid checksums a body may say anything: the verdict is that of the CPU, and what is taken is the same.
#[test]
fn hostile_bodies_get_the_verdict_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let random = &mut Random(77);
    let rounds = if crate::common::short() { 60 } else { 250 };
    let mut outcomes = [0, 0];
    let mut streams = Vec::new();
    for (dtype, lens, bound) in
        [(DType::F32, &[20u64, 23, 25][..], 0.01), (DType::F64, &[60, 70], 0.01), (DType::F32, &[3000], 3.0)]
    {
        let p = params(dtype, Bound::Abs(bound), lens);
        streams.push(sleek::compress(&p, &field(&p, 0.0, 0, 1)).unwrap());
        // Of what is written again, with patches.
        let fresh = field(&p, 0.02, 0, 5);
        let mut again = sleek::decompress(&sleek::compress(&p, &fresh).unwrap()).unwrap();
        let (half, size) = (again.len() / 16 * 8, dtype.size());
        again[..half].copy_from_slice(&fresh[..half]);
        again[5 * size..6 * size].copy_from_slice(&dtype.nearest(1e30).to_le_bytes()[..size]);
        streams.push(sleek::compress(&p, &again).unwrap());
    }
    for kind in ["decimals", "few", "repeats", "weights", "smooth"] {
        let words = forms::words(kind, DType::F32, 3000);
        let bytes = vectors::to_bytes(DType::F32, &words, false);
        streams.push(sleek::compress(&params(DType::F32, Bound::Lossless, &[3000]), &bytes).unwrap());
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
            outcomes[usize::from(verdict(shim, &damaged, bytes, &format!("round {round}")))] += 1;
        }
    }
    assert!(outcomes[1] > 10 && outcomes[0] > 300, "{outcomes:?} are refused, and taken");
}

/// Ranges, boxes and previews of arrays of many tiles.
#[test]
fn parts_of_large_arrays() {
    let (shim, _turn) = Shim::get();
    let random = &mut Random(5);
    for (dtype, shape) in [(DType::F32, &[70u64, 66, 50][..]), (DType::F64, &[300, 131]), (DType::F32, &[40, 3, 900])] {
        let p = params(dtype, Bound::noa(1e-3), shape);
        let stream = sleek::compress(&p, &field(&p, 0.01, 0, 9)).unwrap();
        for round in 0..6 {
            shim.set(1 + round, round);
            let first = random.below(p.dims.count());
            let range = Part::Range(first, random.below(p.dims.count() - first + 1) as usize);
            let start: Vec<u64> = shape.iter().map(|len| random.below(*len)).collect();
            let lens: Vec<u64> = shape.iter().zip(&start).map(|(len, s)| 1 + random.below(len - s)).collect();
            let of_box = Some((&start[..], &lens[..]));
            for part in [range, Part::Grid(0, of_box), Part::Grid(1 + round % 5, of_box), Part::Grid(1 + round, None)] {
                restores(shim, &stream, part, 0, "a part");
            }
        }
    }
}
