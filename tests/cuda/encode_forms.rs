//! Mode lossless of codec predict: kernels take the form of each tile that the CPU takes, and give its bytes.

use std::collections::BTreeSet;
use std::ptr::null_mut;

use sleek::{DType, MissingValue, MissingValues, Mode, Params, Profile, route};

use crate::common;
use crate::forms::{KINDS, form_name, forms, params, words};
use crate::inputs::{self, swap};
use crate::ratio::put_missing;
use crate::shim::Shim;
use crate::vectors;

/// Lines and boxes, whole tiles and cut ones, narrow ones, several dimensions as one axis; tiny ones.
const SHAPES: [&[u64]; 16] = [
    &[1],
    &[5000],
    &[9, 30, 17],
    &[2],
    &[128, 128],
    &[3, 2100],
    &[31],
    &[20000],
    &[33],
    &[3, 5, 7, 40],
    &[130],
    &[900, 3],
    &[32, 32, 16],
    &[2, 1, 9, 1, 30, 31],
    &[800],
    &[16384],
];

/// The stream that the kernels make, which is to be the CPU's.
fn stream(shim: &'static Shim, p: &Params, bytes: &[u8], offset: usize, what: &str) -> Vec<u8> {
    let (count, expected) = (bytes.len() / p.dtype.size(), sleek::compress(p, bytes).unwrap());
    let room = sleek::compress_bound(p, count).unwrap();
    let (src, dst) = (shim.upload(0, bytes, offset), shim.allocate(0, room));
    let n = unsafe { route::compress(p, src.at(offset), count, dst.at(0), room, null_mut()) }.unwrap();
    let made = dst.read(0, n);
    let at = made.iter().zip(&expected).position(|(a, b)| a != b);
    let names: BTreeSet<String> = forms(&expected).into_iter().map(form_name).collect();
    assert!(made == expected, "{what} {p:?}: {n} bytes, {} expected, {at:?} differs; {names:?}", expected.len());
    expected
}

/// Every type with every kind of data, in shapes that change with both; all forms are met.
#[test]
fn every_form_has_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut seen = BTreeSet::new();
    let rounds = if common::short() { 1 } else { 3 };
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        for (k, kind) in KINDS.into_iter().enumerate() {
            if kind == "decimals" && !dtype.is_float() {
                continue;
            }
            for round in 0..rounds {
                let at = 5 * d + k + 3 * round;
                let shape = SHAPES[at % SHAPES.len()];
                let p = Params { big_endian: at % 3 == 0, ..params(dtype, shape) };
                let bytes = vectors::to_bytes(dtype, &words(kind, dtype, p.dims.count() as usize), p.big_endian);
                shim.set([2, 1, 3][at % 3], at as u32 % 5);
                let offset = if at % 4 == 1 { dtype.size() } else { 0 };
                let stream = stream(shim, &p, &bytes, offset, &format!("{kind} {shape:?}"));
                seen.extend(forms(&stream).into_iter().map(form_name));
            }
        }
    }
    for form in [
        "numbers axes",
        "numbers axes table",
        "numbers axes table low",
        "numbers symbols table",
        "numbers symbols table low",
        "magnitudes symbols table low",
        "numbers lags",
        "numbers lags table low",
        "decimals axes table",
        "decimals axes table low",
        "ranks symbols table",
        "ranks symbols table low",
    ] {
        assert!(seen.contains(form), "no {form:?} among {seen:?}");
    }
}

/// How many of a stream's tiles are coded by their elements' bits in a stream of bins, and how many by their bins.
fn exact_tiles(stream: &[u8]) -> [usize; 2] {
    let container = crate::reference::container(stream).unwrap();
    let (mut at, mut found) = (container.bodies_at, [0; 2]);
    for chunk in 0..container.chunks {
        let (kind, bytes) = container.entry(stream, chunk).unwrap();
        if kind == 0 {
            found[usize::from(stream[at as usize] >> 3 & 1 == 0)] += 1;
        }
        at += bytes;
    }
    found
}

/// With a bound every type of floats takes forms where these take less, by the same samples: every kind of data under
/// fine and coarse bounds of every mode, and what no bins are left of.
#[test]
fn bounded_tiles_take_the_forms_that_the_cpu_takes() {
    let (shim, _turn) = Shim::get();
    let bounds = [
        (Mode::Abs, 1e-5),
        (Mode::Noa, 1e-3),
        (Mode::Rel, 1e-3),
        (Mode::Abs, 0.04),
        (Mode::Noa, 1e-6),
        (Mode::Rel, 0.03),
        (Mode::Abs, 0.3),
        (Mode::Abs, 1e-44),
    ];
    let rounds = if common::short() { 2 } else { 6 };
    let mut seen = [0; 2];
    for (d, dtype) in [DType::F32, DType::F64, DType::F16, DType::BF16].into_iter().enumerate() {
        for (k, kind) in KINDS.into_iter().enumerate() {
            for round in 0..rounds {
                let at = 5 * d + 3 * k + round;
                let (mode, bound) = bounds[(at + k + 3 * round) % bounds.len()];
                let shape = SHAPES[(at + round) % SHAPES.len()];
                let p = Params { big_endian: at % 3 == 0, ..params(dtype, shape).with_bound(mode, bound) };
                let bytes = vectors::to_bytes(dtype, &words(kind, dtype, p.dims.count() as usize), p.big_endian);
                shim.set([2, 1, 3][at % 3], at as u32 % 5);
                let offset = if at % 4 == 1 { dtype.size() } else { 0 };
                let stream = stream(shim, &p, &bytes, offset, &format!("{kind} {shape:?}"));
                if sleek::inspect(&stream).unwrap().step > 0.0 {
                    let found = exact_tiles(&stream);
                    seen.iter_mut().zip(found).for_each(|(all, some)| *all += some);
                }
            }
        }
    }
    assert!(seen[0] > 10 && seen[1] > 20, "{seen:?}");
}

/// Forms and bins tile by tile in one array, with missing values between them, and in a batch.
#[test]
fn forms_and_bins_in_one_array() {
    let (shim, _turn) = Shim::get();
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let kinds = ["decimals", "smooth", "few", "repeats", "constant", "weights", "levels", "flat", "table"];
        let tiles: Vec<u64> = kinds.iter().flat_map(|kind| words(kind, dtype, 1 << 14)).collect();
        let bytes = vectors::to_bytes(dtype, &tiles, false);
        for (mode, bound) in [(Mode::Abs, 1e-3), (Mode::Rel, 1e-4)] {
            let p = params(dtype, &[tiles.len() as u64]).with_bound(mode, bound);
            let named = [words("few", dtype, 2)[1], dtype.nearest(5.3)].map(MissingValue::Bits);
            for missing in [&[][..], &named] {
                let p = Params { missing: MissingValues::of(missing).unwrap(), ..p.clone() };
                shim.set(1, 0);
                stream(shim, &p, &bytes, 0, "all kinds");
            }
        }
    }
}

/// Words of one tile after another, so that a warp takes forms of all kinds in turn, and nothing is left of the last.
#[test]
fn tiles_of_all_forms_in_one_array() {
    let (shim, _turn) = Shim::get();
    for (dtype, kinds) in [
        (DType::F32, &["repeats", "constant", "decimals", "few", "noise", "smooth", "levels", "pruned", "weights"][..]),
        (DType::F64, &["decimals", "noise", "repeats", "weights", "levels"]),
        (DType::BF16, &["weights", "few", "repeats", "noise", "pruned"]),
    ] {
        let tiles: Vec<u64> = kinds.iter().flat_map(|kind| words(kind, dtype, 1 << 14)).collect();
        let bytes = vectors::to_bytes(dtype, &tiles, false);
        shim.set(1, 0);
        stream(shim, &params(dtype, &[tiles.len() as u64]), &bytes, 0, "all kinds");
    }
}

/// Tiles of just so many elements that a part of them tells which forms are tried, and boxes of such, whole and cut
/// ones.
#[test]
fn tiles_of_which_a_part_is_looked_at() {
    let (shim, _turn) = Shim::get();
    let shapes: [&[u64]; 6] = [&[8191], &[8192], &[100, 90], &[31, 17, 16], &[8705], &[120, 127]];
    for (k, kind) in KINDS.into_iter().enumerate() {
        for (d, dtype) in [DType::F32, DType::F64, DType::BF16, DType::I32].into_iter().enumerate() {
            if kind == "decimals" && !dtype.is_float() {
                continue;
            }
            let shape = shapes[(k + d) % shapes.len()];
            let p = params(dtype, shape);
            let bytes = vectors::to_bytes(dtype, &words(kind, dtype, p.dims.count() as usize), false);
            stream(shim, &p, &bytes, 0, &format!("{kind} {shape:?}"));
        }
    }
}

/// Edges of the rules: bits of every pattern, numbers of both signs around powers of ten, and what is just one too many
/// for a list of distinct elements or of odd ones.
#[test]
fn edges_of_forms() {
    let (shim, _turn) = Shim::get();
    for (dtype, bits) in [(DType::F32, 32), (DType::F64, 64), (DType::U16, 16), (DType::I8, 8)] {
        let mask = u64::MAX >> (64 - bits);
        let mix = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        // 256 distinct elements and 257, of which the last is seen at the end.
        for distinct in [2u64, 255, 256, 257] {
            let word = |i: u64| mix(if i == 1999 { distinct - 1 } else { i * i % (distinct - 1) }) & mask;
            let elements: Vec<u64> = (0..2000).map(word).collect();
            let bytes = vectors::to_bytes(dtype, &elements, false);
            stream(shim, &params(dtype, &[2000]), &bytes, 0, &format!("{distinct} distinct elements"));
        }
        // All bits but a few are zero, at either end.
        for shift in [0, 3, bits - 2] {
            let elements: Vec<u64> = (0..1000).map(|i| (mix(i) & 3) << shift & mask).collect();
            let bytes = vectors::to_bytes(dtype, &elements, false);
            stream(shim, &params(dtype, &[1000]), &bytes, 0, &format!("two bits from {shift} on"));
        }
        if dtype.is_float() {
            // So many that are no decimals: as many as may be, and one more.
            for odd in [0, 124, 125, 126] {
                let number = |i: u64| (mix(i) % 2_000_001) as f64 / 100.0 - 10_000.0;
                let element = |i: u64| if i * 7 % 1000 < odd { mix(i) & mask >> 2 } else { dtype.nearest(number(i)) };
                let elements: Vec<u64> = (0..1000).map(element).collect();
                let bytes = vectors::to_bytes(dtype, &elements, false);
                stream(shim, &params(dtype, &[1000]), &bytes, 0, &format!("{odd} of 1000 are no decimals"));
            }
        }
    }
}

/// Missing values at all rates, NaN with payloads among them.
#[test]
fn missing_values_beside_forms() {
    let (shim, _turn) = Shim::get();
    let mut r = inputs::Random(41);
    for (d, dtype) in [DType::F32, DType::F64, DType::F16, DType::BF16].into_iter().enumerate() {
        for (k, (one_in, run)) in [(50, 1), (2, 1), (2, 300), (30, 9), (1, 1), (1000, 1)].into_iter().enumerate() {
            let at = d + k;
            let kind = ["weights", "smooth", "decimals", "few", "repeats", "pruned"][(at + d) % 6];
            let shape = SHAPES[(3 * at + 1) % SHAPES.len()];
            let nan = MissingValue::Number(f64::NAN).bits(dtype).unwrap();
            let all = [vec![dtype.nearest(-9999.0)], vec![nan | 5, nan], vec![0, nan | 1, dtype.nearest(7.25)]];
            let values = &all[at % 3];
            let p = params(dtype, shape);
            let mut bytes = vectors::to_bytes(dtype, &words(kind, dtype, p.dims.count() as usize), false);
            put_missing(&mut bytes, dtype.size(), values, one_in, run, &mut r);
            let big_endian = at % 2 == 1;
            if big_endian {
                swap(&mut bytes, dtype.size());
            }
            let named: Vec<MissingValue> = values.iter().map(|bits| MissingValue::Bits(*bits)).collect();
            let p = Params { missing: MissingValues::of(&named).unwrap(), big_endian, ..p };
            shim.set(1 + at as u32 % 3, at as u32 % 5);
            stream(shim, &p, &bytes, 0, &format!("{kind} {shape:?} {values:x?} one in {one_in} by {run}"));
        }
    }
}

/// A batch of lines of many lengths, without waiting.
#[test]
fn batches_of_tensors() {
    let (shim, _turn) = Shim::get();
    let lossless = (Mode::Lossless, 0.0);
    for (dtype, kind, (mode, bound)) in [
        (DType::BF16, "weights", lossless),
        (DType::F32, "pruned", lossless),
        (DType::F32, "decimals", (Mode::Noa, 1e-5)),
        (DType::F64, "few", (Mode::Rel, 1e-5)),
    ] {
        let p = Params { profile: Profile::Small, ..Params::new(dtype).with_bound(mode, bound) };
        let lens = [0, 1, 700, 16384, 3, 20000, 129, 4096, 511];
        let arrays: Vec<Vec<u8>> =
            lens.iter().map(|n| vectors::to_bytes(dtype, &words(kind, dtype, *n), false)).collect();
        let room = |i: usize| sleek::compress_bound(&p, lens[i]).unwrap();
        let src: Vec<_> = arrays.iter().map(|bytes| shim.upload(0, bytes, 0)).collect();
        let dst: Vec<_> = (0..lens.len()).map(|i| shim.allocate(0, room(i))).collect();
        let items: Vec<_> = (0..lens.len())
            .map(|i| route::batch::Item::new(src[i].at(0), dst[i].at(0), lens[i] as u64, room(i) as u64))
            .collect();
        let results = shim.allocate(0, 16 * lens.len());
        let workspace = shim.allocate(0, route::batch::workspace_bytes(lens.len()));
        route::prepare(&p, 0, null_mut()).unwrap();
        let waits = shim.number("shim_waits");
        unsafe { route::batch::compress_async(&p, &items, results.at(0), workspace.at(0), null_mut()) }.unwrap();
        assert_eq!(shim.number("shim_waits"), waits);
        for (i, bytes) in arrays.iter().enumerate() {
            let expected = sleek::compress(&p, bytes).unwrap();
            let outcome = results.read(16 * i, 16);
            assert_eq!(u64::from_le_bytes(outcome[..8].try_into().unwrap()), expected.len() as u64, "{i}");
            assert_eq!(outcome[8..], [0; 8], "{i}");
            assert!(dst[i].read(0, expected.len()) == expected, "{dtype:?} {i}: streams differ");
        }
    }
}
