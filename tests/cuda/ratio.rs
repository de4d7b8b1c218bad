//! Codec ratio: its kernels give the bytes of the CPU, restore the same values, ranges and boxes, and refuse the same
//! streams.

use std::ptr::null_mut;

use sleek::{DType, Device, Dims, MissingValue, MissingValues, Mode, Params, Profile, route};

use crate::bytes::compare;
use crate::common;
use crate::inputs::{KINDS, Random, data, element, settings, swap};
use crate::shim::Shim;

/// Tiles of one to three axes, whole and cut off, narrow ones, and sums over planes and rows of all lengths.
const SHAPES: [&[u64]; 14] = [
    &[1],
    &[130],
    &[20000],
    &[130, 131],
    &[3, 5000],
    &[40, 33, 35],
    &[3, 5, 7, 40],
    &[2, 1, 9, 1, 30, 31],
    &[9000, 2],
    &[64, 64, 16],
    &[700, 3, 13],
    &[64, 3, 200],
    &[5, 6, 7, 8, 9],
    &[2, 3, 5000],
];

fn tiled(p: &Params, lens: &[u64]) -> Params {
    Params { profile: Profile::Small, dims: Dims::new(lens).unwrap(), ..p.clone() }
}

#[test]
fn tiles_of_every_type_mode_and_shape_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(88172645463325252);
    // Every kind with some settings, and every setting with some kinds: the stand-in takes its time.
    let every = if common::short() { 5 } else { 2 };
    let mut round = 0;
    for dtype in DType::ALL {
        for (i, kind) in KINDS.into_iter().enumerate() {
            for (j, p) in settings(dtype).iter().filter(|p| p.profile != Profile::Fast).enumerate() {
                round += 1;
                if (i + j) % every != 0 {
                    continue;
                }
                let shape = SHAPES[(i * 3 + j + round / 7) % SHAPES.len()];
                let p = tiled(p, shape);
                let mut bytes = data(kind, dtype, p.dims.count() as usize, &mut r);
                if p.big_endian {
                    swap(&mut bytes, dtype.size());
                }
                shim.set([2, 1, 3][(i + j) % 3], (i * 31 + j) as u32 % 5);
                compare(shim, &p, &bytes, if i % 4 == 1 { dtype.size() } else { 0 }, &format!("{kind} {shape:?}"));
            }
        }
    }
}

/// Numbers on both sides of the first one that keeps its bits, of both signs: bins end there.
#[test]
fn numbers_about_the_first_that_keeps_its_bits() {
    let (shim, _turn) = Shim::get();
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let mantissa = match dtype {
            DType::F16 => 10,
            DType::BF16 => 7,
            DType::F32 => 23,
            _ => 52,
        };
        for w in 4..8 {
            // A step of w, so that bits are kept from 2^mantissa on.
            let p = tiled(&Params::new(dtype).with_bound(Mode::Abs, f64::from(w) / 2.0 + 0.1), &[3, 200]);
            for sign in [1.0, -1.0] {
                let first = f64::from(1u32 << 10.min(mantissa)) * 2f64.powi(mantissa - 10.min(mantissa));
                let bytes: Vec<u8> = (0..600u32)
                    .flat_map(|i| element(dtype, sign * (first * (0.9 + f64::from(i / 3) * 0.001)).round()))
                    .collect();
                compare(shim, &p, &bytes, 0, &format!("{dtype:?} step {w} {sign}"));
            }
        }
    }
}

/// Fields whose differences are short along some axes alone, so that every set of axes is chosen.
#[test]
fn every_set_of_axes() {
    let (shim, _turn) = Shim::get();
    for shape in [&[40u64, 33, 35][..], &[34, 16, 40], &[130, 131], &[3, 5000], &[16, 64, 33], &[2, 3, 5000]] {
        for smooth in 0..8 {
            let axes: Vec<u64> = shape.iter().rev().copied().collect();
            let p = tiled(&Params::new(DType::F32).with_bound(Mode::Abs, 0.01), shape);
            let bytes: Vec<u8> = (0..p.dims.count())
                .flat_map(|n| {
                    let (mut v, mut rest) = (0f32, n);
                    for (a, len) in axes.iter().enumerate() {
                        let at = rest % len;
                        rest /= len;
                        let noise = (at.wrapping_mul(2654435761).wrapping_mul(at + 77 + a as u64) >> 7) % 1000;
                        v += if smooth >> a & 1 == 1 { at as f32 * 0.1 } else { noise as f32 };
                    }
                    v.to_le_bytes()
                })
                .collect();
            compare(shim, &p, &bytes, 0, &format!("{shape:?} smooth along {smooth}"));
        }
    }
}

/// Words of any order between two ends, which are measured from their middle, and so few words other than 0 that
/// groups are looked at twice.
#[test]
fn words_of_any_order_and_few_words() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(3);
    for (k, dtype) in [DType::F32, DType::F64, DType::F16, DType::BF16].into_iter().enumerate() {
        for shape in [&[20000u64][..], &[130, 131], &[64, 64, 16], &[64, 3, 200], &[9000, 2]] {
            for (bound, one_in, most) in [(0.4, 1, 90), (0.4, 300, 5), (1e-9, 1, 1 << 20)] {
                let big_endian = (k + shape.len()) % 4 == 0;
                let p = Params { big_endian, ..Params::new(dtype).with_bound(Mode::Abs, bound) };
                let p = tiled(&p, shape);
                let mut number = || if r.next().is_multiple_of(one_in) { (r.next() % most) as f64 - 60.0 } else { 0.0 };
                let mut bytes: Vec<u8> = (0..p.dims.count()).flat_map(|_| element(dtype, number())).collect();
                if big_endian {
                    swap(&mut bytes, dtype.size());
                }
                compare(shim, &p, &bytes, 0, &format!("{shape:?} {bound} one in {one_in}"));
            }
        }
    }
}

/// Words from one end of all 64 bits to the other and with one lower half, so that their middle, from one of them on,
/// has zeros in its own.
#[test]
fn words_around_a_middle_of_long_numbers() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(5);
    for shape in [[5u64, 256]; 4].iter().chain([&[70, 300], &[3, 100]]) {
        let p = tiled(&Params::new(DType::F64).with_bound(Mode::Abs, 0.37), shape);
        let word = |_| (r.next() << 32 | 0xc3e8_fc13).to_le_bytes();
        let bytes: Vec<u8> = (0..p.dims.count()).flat_map(word).collect();
        compare(shim, &p, &bytes, 0, &format!("{shape:?}"));
    }
}

#[test]
fn ranges_and_boxes_of_tiles() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(5);
    for (dtype, shape) in [(DType::F32, &[40u64, 33, 35][..]), (DType::F64, &[130, 131]), (DType::I16, &[3, 5, 7, 40])]
    {
        let p = tiled(&Params::new(dtype), shape);
        let count = p.dims.count();
        let bytes = data("smooth", dtype, count as usize, &mut r);
        let stream = sleek::compress(&p, &bytes).unwrap();
        let src = shim.upload(0, &stream, 0);
        let size = dtype.size();
        for round in 0..6 {
            let first = r.next() % count;
            let n = (r.next() % (count - first + 1)) as usize;
            let back = shim.allocate(0, n * size + 64);
            let done = unsafe {
                route::decompress(
                    Device::Auto,
                    src.at(0),
                    stream.len(),
                    Some((first, n)),
                    back.at(0),
                    n * size,
                    null_mut(),
                )
            };
            assert_eq!(done.unwrap(), n * size);
            let at = first as usize * size;
            assert!(back.read(0, n * size) == bytes[at..at + n * size], "{dtype:?} {first} {n}");
            assert!(back.read(n * size, 64).iter().all(|b| *b == 0xA5), "{round}");
            let start: Vec<u64> = shape.iter().map(|len| r.next() % len).collect();
            let lens: Vec<u64> = shape.iter().zip(&start).map(|(len, s)| r.next() % (len - s) + 1).collect();
            let mut expected = vec![0; lens.iter().product::<u64>() as usize * size];
            sleek::decompress_box_into(&stream, &start, &lens, &mut expected).unwrap();
            let back = shim.allocate(0, expected.len() + 64);
            let done = unsafe {
                route::decompress_box(src.at(0), stream.len(), &start, &lens, back.at(0), expected.len(), null_mut())
            };
            assert_eq!(done.unwrap(), expected.len());
            assert!(back.read(0, expected.len()) == expected, "{dtype:?} {start:?} {lens:?}");
            assert!(back.read(expected.len(), 64).iter().all(|b| *b == 0xA5), "{start:?} {lens:?}");
        }
    }
}

/// Damage is found, wherever it is, and nothing is written beyond the array.
#[test]
fn damaged_tiles_are_refused_as_on_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(77);
    for (dtype, shape, bound) in [(DType::F32, &[20u64, 33, 35][..], 0.01), (DType::F64, &[100, 131], 1e-9)] {
        let p = tiled(&Params::new(dtype).with_bound(Mode::Abs, bound), shape);
        let bytes = data("widths", dtype, p.dims.count() as usize, &mut r);
        let sound = sleek::compress(&p, &bytes).unwrap();
        for round in 0..if common::short() { 60 } else { 200 } {
            let mut stream = sound.clone();
            let at = r.next() as usize % if round % 3 == 0 { 250 } else { stream.len() };
            stream[at] ^= 1 << (r.next() % 8);
            let cut = round % 10 == 9;
            if cut {
                stream.truncate(at);
            }
            let src = shim.upload(0, &stream, 0);
            let back = shim.allocate(0, bytes.len() + 4096);
            let gpu = unsafe {
                route::decompress(Device::Auto, src.at(0), stream.len(), None, back.at(0), bytes.len(), null_mut())
            };
            let cpu = sleek::decompress(&stream);
            assert_eq!(gpu.map_err(|e| e.kind).err(), cpu.map_err(|e| e.kind).err(), "byte {at}");
            assert!(back.read(bytes.len(), 4096).iter().all(|b| *b == 0xA5), "byte {at}: written beyond the end");
        }
    }
}

/// Missing values of tests: as numbers, NaN with a payload, infinity, zeros, and one as large as any.
fn named(dtype: DType, which: usize) -> Vec<u64> {
    let bits = |x: f64| MissingValue::Number(x).bits(dtype).unwrap();
    match which % 5 {
        0 => vec![bits(-999.0)],
        1 => vec![bits(f64::NAN) | 5],
        2 => vec![bits(0.0), bits(7.25)],
        3 => vec![bits(f64::INFINITY), bits(f64::NAN), bits(f64::NAN) | 3],
        _ => vec![bits(30.0), bits(1e20), bits(f64::NAN) | 1, bits(-5.0)],
    }
}

/// Puts missing values into `bytes`, one in so many, alone or in runs; all are one where `one_in` is 1.
pub fn put_missing(bytes: &mut [u8], size: usize, values: &[u64], one_in: usize, run: usize, r: &mut Random) {
    let (mut left, mut value) = (0, values[0]);
    for element in bytes.chunks_exact_mut(size).filter(|_| one_in > 0) {
        if left == 0 && one_in > 1 && r.next().is_multiple_of((one_in * run) as u64) {
            (left, value) = (run, values[r.next() as usize % values.len()]);
        }
        if left > 0 || one_in == 1 {
            element.copy_from_slice(&value.to_le_bytes()[..size]);
            left = left.saturating_sub(1);
        }
    }
}

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
const GAPS: [(usize, usize); 9] =
    [(100, 1), (2, 1), (0, 1), (2, 300), (1000, 1), (30, 9), (1, 1), (3, 5000), (1_000_000, 1)];

#[test]
fn missing_values_of_tiles_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(3);
    let modes =
        [(Mode::Abs, 0.01), (Mode::Noa, 1e-3), (Mode::Rel, 1e-2), (Mode::Abs, 3.0), (Mode::Abs, 0.0), (Mode::Noa, 0.3)];
    let kinds = ["smooth", "noise", "constant", "widths", "spikes", "specials", "bits", "steps"];
    let rounds = if common::short() { 27 } else { 270 };
    let mut met = [0; 4];
    for (d, dtype) in FLOATS.into_iter().enumerate() {
        for round in 0..rounds {
            let at = round + d * 7;
            let (one_in, run) = GAPS[round % GAPS.len()];
            let (mode, bound) = modes[(at + round / GAPS.len()) % modes.len()];
            let (shape, kind) = (SHAPES[(5 * at + 1) % SHAPES.len()], kinds[(at + round / 3) % kinds.len()]);
            let values = named(dtype, at / 2);
            let p = tiled(&Params::new(dtype).with_bound(mode, bound), shape);
            let mut bytes = data(kind, dtype, p.dims.count() as usize, &mut r);
            put_missing(&mut bytes, dtype.size(), &values, one_in, run, &mut r);
            let big_endian = at % 4 == 3;
            if big_endian {
                swap(&mut bytes, dtype.size());
            }
            let named: Vec<MissingValue> = values.iter().map(|bits| MissingValue::Bits(*bits)).collect();
            let range = if mode == Mode::Noa && round % 2 == 1 { Some(250.0) } else { None };
            let p = Params { missing: MissingValues::of(&named).unwrap(), big_endian, range, ..p };
            shim.set([2, 1, 3][round % 3], round as u32 % 5);
            let offset = if at % 5 == 2 { dtype.size() } else { 0 };
            compare(shim, &p, &bytes, offset, &format!("{kind} {shape:?} {values:x?} one in {one_in} by {run}"));
            let chunks = sleek::inspect(&sleek::compress(&p, &bytes).unwrap()).unwrap().chunks;
            met.iter_mut().zip(chunks).for_each(|(met, n)| *met += n);
        }
    }
    assert!(met.iter().all(|n| *n > 10), "packed, raw, constant and masked tiles: {met:?}");
}

/// Numbers around a missing value, closer to it than the bound: some would come back as it is, in tiles that have it
/// and in such that do not.
#[test]
fn tiles_whose_elements_would_come_back_as_a_missing_value() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(99);
    let modes = [(Mode::Abs, 0.05), (Mode::Noa, 1e-3), (Mode::Rel, 1e-2), (Mode::Noa, 0.2)];
    let (mut round, mut apart) = (0, 0);
    for dtype in FLOATS {
        for mark in [-9999.0, 0.0, 1.0, 0.1] {
            for scale in [1e-3, 1.0, 30.0] {
                round += 1;
                if common::short() && round % 2 == 0 {
                    continue;
                }
                let (mode, bound) = modes[(round + round / 4) % 4];
                let shape = [&[300u64, 70][..], &[18000], &[20, 33, 35], &[3, 5, 7, 40], &[9000, 2]][round % 5];
                let p = tiled(&Params::new(dtype).with_bound(mode, bound), shape);
                let count = p.dims.count();
                let number = |r: &mut Random, i: u64| match i % 11 {
                    // Tiles at the end have none that is missing.
                    3 if i < count / 2 => mark,
                    4 => mark + scale * (r.unit() - 0.5),
                    _ => 500.0 + scale * (r.unit() - 0.5),
                };
                let mut bytes: Vec<u8> = (0..count).flat_map(|i| element(dtype, number(&mut r, i))).collect();
                let big_endian = round % 5 == 1;
                if big_endian {
                    swap(&mut bytes, dtype.size());
                }
                let values = [MissingValue::Number(mark), MissingValue::Number(77.0)];
                let plain = Params { big_endian, ..p };
                let p = Params { missing: MissingValues::of(&values).unwrap(), ..plain.clone() };
                let back = |p: &Params| sleek::decompress(&sleek::compress(p, &bytes).unwrap()).unwrap();
                apart += u32::from(back(&p) != back(&plain));
                shim.set(1 + round as u32 % 3, round as u32 % 5);
                compare(shim, &p, &bytes, 0, &format!("{dtype:?} around {mark} by {scale}"));
            }
        }
    }
    assert!(apart > 8, "{apart} arrays come back otherwise than without a missing value");
}
