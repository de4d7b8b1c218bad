//! Lossless tiles of codec interp: arrays that its forms are made for, and which forms a stream has.

#![allow(dead_code)]

use sleek::{Bound, DType, Dims, Params, Profile};

use crate::reference;
use crate::vectors::{self, Random};

/// A lossless request of profile `small`.
pub fn params(dtype: DType, lens: &[u64]) -> Params {
    let dims = Dims::new(lens).unwrap();
    Params { profile: Profile::Small, dims, ..Params::new(dtype).with_bound(Bound::Lossless) }
}

/// Numbers that nobody else has, from −1 to 1, most near 0.
pub fn bell(random: &mut Random) -> f64 {
    (0..6).map(|_| random.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0).sum::<f64>() / 6.0
}

/// Elements that a form is made for.
pub fn words(kind: &str, dtype: DType, n: usize) -> Vec<u64> {
    let random = &mut Random(n as u64 + 7);
    let nearest = |x: f64| if dtype.is_float() { dtype.nearest(x) } else { (x * 100.0) as i64 as u64 };
    let top = 8 * dtype.size() as u32;
    let noise = |random: &mut Random| random.next() >> (64 - top);
    match kind {
        "decimals" => {
            let odd = [dtype.nearest(f64::NAN), dtype.nearest(-0.0), dtype.nearest(0.123_456_789)];
            (0..n)
                .map(|i| match i % 97 {
                    96 => odd[i / 97 % 3],
                    _ => dtype.nearest(f64::from(random.below(900_000) as u32) / 1e3),
                })
                .collect()
        }
        "repeats" => {
            let row: Vec<u64> = (0..331).map(|_| noise(random)).collect();
            (0..n).map(|i| row[i % 331] ^ random.below(4)).collect()
        }
        "weights" => (0..n).map(|_| nearest(bell(random))).collect(),
        "pruned" => (0..n).map(|_| if random.below(3) > 0 { 0 } else { nearest(bell(random)) }).collect(),
        "few" => (0..n).map(|_| nearest(f64::from(1 + random.below(4).pow(2) as u32))).collect(),
        "smooth" => (0..n).map(|i| nearest((i as f64 * 0.01).sin() + bell(random) * 1e-4)).collect(),
        "table" => {
            // Rows and columns, which no row predicts alone.
            let columns: Vec<f64> = (0..17).map(|_| 9.0 * bell(random)).collect();
            let rows: Vec<f64> = (0..n / 17 + 1).map(|_| 9.0 * bell(random)).collect();
            (0..n).map(|i| nearest(90.0 + rows[i / 17] + columns[i % 17] + bell(random) * 1e-2)).collect()
        }
        // Of an even step, more or less; and of any steps, all of which go up.
        "even" => (0..n).map(|i| nearest(-300.0 + 7.25 * i as f64)).collect(),
        "leaps" => (0..n).map(|i| nearest(3e6 * i as f64)).collect(),
        "late" => (0..n).map(|i| nearest(9e3 + 8.0 * i as f64 + 5.0 * bell(random))).collect(),
        "rising" | "falling" => {
            let mut at = 1e5;
            let sign = if kind == "rising" { 1.0 } else { -1.0 };
            (0..n).map(|_| (at += sign * 60.0 * bell(random).powi(2), nearest(at)).1).collect()
        }
        "levels" => (0..n).map(|_| nearest(5.3 * (bell(random) * 50.0).round())).collect(),
        "flat" => (0..n).map(|i| nearest(f64::from((i / 300) as u32))).collect(),
        _ => vectors::words(kind, dtype, n as u64, n),
    }
}

/// All of these.
pub const KINDS: [&str; 17] = [
    "decimals", "repeats", "weights", "pruned", "few", "levels", "smooth", "table", "flat", "even", "late", "rising",
    "falling", "noise", "specials", "walk", "signed",
];

/// Those of them that grow along a row, so that a slope is taken from them.
pub const ROWS: [&str; 4] = ["even", "late", "rising", "falling"];

/// Lengths of arrays of such kinds, and of others.
pub fn lens<'a>(kind: &str, at: usize, shapes: &[&'a [u64]]) -> &'a [u64] {
    let rows: [&[u64]; 3] = [&[20_000], &[3000], &[1300]];
    if ROWS.contains(&kind) { rows[at % 3] } else { shapes[at % shapes.len()] }
}

/// Arrays whose lossless streams are compared: where exponents are shorter than differences, where bases take
/// more than they save, and where many or few low bits are zero in all words.
pub fn compared(kind: &str, dtype: DType, n: usize) -> Vec<u64> {
    let random = &mut Random(n as u64 + 3);
    let nearest = |x: f64| if dtype.is_float() { dtype.nearest(x) } else { (x * 1000.0) as i64 as u64 };
    match kind {
        "random walk" => {
            let mut at = 0.0;
            (0..n).map(|_| (at += bell(random), nearest(at)).1).collect()
        }
        "gaussian" => (0..n).map(|_| nearest(1e3 * bell(random))).collect(),
        "small gaussian" => (0..n).map(|_| nearest(0.02 * bell(random))).collect(),
        "log1p of counts" => {
            (0..n).map(|_| nearest((random.below(6) as f64 * random.below(9) as f64).ln_1p())).collect()
        }
        "halves" => {
            let drop = [0, 0, 13, 42][dtype.size().ilog2() as usize];
            (0..n).map(|_| nearest(bell(random)) >> drop << drop).collect()
        }
        "even" => (0..n).map(|_| nearest(bell(random)) & !1).collect(),
        // A few ones, whose codes are short, among equal subchunks with bases far apart.
        "ones among zeros" => (0..n).map(|i| nearest(f64::from(u8::from(i / 600 % 7 == 3)))).collect(),
        "squares" => (0..n).map(|_| nearest(1e-6 * bell(random).powi(2))).collect(),
        "sparse" => (0..n).map(|_| if random.below(40) > 0 { 0 } else { nearest(bell(random)) }).collect(),
        // A wave with places of noise, so that some warp tiles are better off one way and some the other.
        "patches" => {
            let patch = |i: usize| if (i / 1000).is_multiple_of(3) { 1.0 } else { 1e-4 };
            (0..n).map(|i| nearest((i as f64 * 0.01).sin() * 4.0 + bell(random) * patch(i))).collect()
        }
        _ => words(kind, dtype, n),
    }
}

/// All of these.
pub const COMPARED: [&str; 10] = [
    "random walk",
    "gaussian",
    "small gaussian",
    "log1p of counts",
    "halves",
    "even",
    "ones among zeros",
    "squares",
    "sparse",
    "patches",
];

/// The heads of a stream's packed tiles of elements' bits, and their forms.
pub fn forms(stream: &[u8]) -> Vec<(u32, u16)> {
    let container = reference::container(stream).unwrap();
    let (mut at, mut forms) = (container.bodies_at, Vec::new());
    for chunk in 0..container.chunks {
        let (kind, bytes) = container.entry(stream, chunk).unwrap();
        let tile = &stream[at as usize..];
        if kind == 0 && tile[0] >> 5 & 3 == 0 {
            let head = u32::from_le_bytes(tile[..4].try_into().unwrap());
            let form = 4 + 2 * [0, 1, 2, 4][(head >> 23 & 3) as usize];
            forms.push((head, u16::from_le_bytes([tile[form], tile[form + 1]])));
        }
        at += bytes;
    }
    forms
}

/// In words.
pub fn form_name((head, form): (u32, u16)) -> String {
    let order = ["numbers", "decimals", "ranks", "?"][usize::from(form >> 6 & 3)];
    let predictor = ["axes", "smooth", "rough", "symbols"][(head >> 3 & 3) as usize];
    let with = |has: bool, part: &'static str| if has { part } else { "" };
    let parts = [
        with(head >> 7 & 1 == 1, " table"),
        with(head >> 9 & 1 == 1, " sparse"),
        with(head >> 25 & 63 > 0, " low"),
        with(form & 63 > 0, " shifted"),
    ];
    format!("{order} {predictor}{}", parts.concat())
}
