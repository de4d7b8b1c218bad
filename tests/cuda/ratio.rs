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
    Params { profile: Profile::Ratio, dims: Dims::new(lens).unwrap(), ..p.clone() }
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

/// Streams with missing values, which the CPU compresses.
#[test]
fn missing_values_of_tiles_come_back() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(3);
    for (dtype, shape) in [(DType::F32, &[20u64, 90, 35][..]), (DType::F64, &[131, 130]), (DType::F16, &[40000])] {
        let count: u64 = shape.iter().product();
        for kind in ["smooth", "constant"] {
            let mut bytes = data(kind, dtype, count as usize, &mut r);
            let size = dtype.size();
            let nan = data("specials", dtype, 4000, &mut Random(9));
            let value = nan.chunks(size).find(|c| c[size - 1] & 0x7f >= 0x7c).unwrap().to_vec();
            for k in 0..count as usize {
                if k / 700 % 3 == 1 || r.next().is_multiple_of(90) {
                    bytes[k * size..(k + 1) * size].copy_from_slice(&value);
                }
            }
            let bits = value.iter().rev().fold(0, |bits, b| bits << 8 | u64::from(*b));
            let p = tiled(&Params::new(dtype).with_bound(Mode::Abs, 0.01), shape);
            let p = Params { missing: MissingValues::of(&[MissingValue::Bits(bits)]).unwrap(), ..p };
            compare(shim, &p, &bytes, 0, &format!("{dtype:?} {kind}"));
        }
    }
}
