//! Codec interp: its kernels give the bytes of the CPU and restore what it restores, of every kind of tile.

use std::collections::BTreeSet;

use sleek::codec::interp::format::CODEC_INTERP;
use sleek::{Bound, DType, Params};

use crate::both::compare;
use crate::forms;
use crate::reference;
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
        kind => vectors::bytes(kind, p.dtype, round as u64, count, p.big_endian),
    }
}

/// What the tiles of a stream have by their heads (docs/reference/codecs/interp.md §3).
fn features(stream: &[u8]) -> BTreeSet<&'static str> {
    let of = reference::container(stream).unwrap();
    let (mut at, mut found) = (of.bodies_at as usize, BTreeSet::new());
    for chunk in 0..of.chunks {
        let (kind, bytes) = of.entry(stream, chunk).unwrap();
        let body = &stream[at..];
        at += bytes as usize;
        if kind != 0 {
            found.insert(["packed", "raw", "constant"][kind as usize]);
            continue;
        }
        let head = u32::from_le_bytes(body[..4].try_into().unwrap());
        found.insert(["none", "x", "y", "xy", "z", "xz", "yz", "xyz"][(head & 7) as usize]);
        found.insert(["axes", "smooth", "rough", "symbols"][(head >> 3 & 3) as usize]);
        found.insert(["bits", "bins", "steps", "multiples"][(head >> 5 & 3) as usize]);
        let flags = [(7, "table"), (9, "sparse")].into_iter().filter(|(bit, _)| head >> bit & 1 == 1);
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

/// Every type, mode and shape with smooth fields and other data; every set of axes, predictor and map is met.
#[test]
fn tiles_of_every_type_mode_and_shape_are_those_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let kinds = [&["field", "rough field"][..], &vectors::GENERATORS].concat();
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
