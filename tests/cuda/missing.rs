//! Streams with an extension: dimensions, and missing values. Those of the matrix are in matrix.rs.

use std::ptr::null_mut;

use sleek::route::batch::{self, Item};
use sleek::{Bound, DType, Dims, Kind, MissingValue, MissingValues, Mode, Params, Profile, route};

use crate::both::{compare, enqueue};
use crate::shim::Shim;
use crate::vectors::{self, Random};

/// Data of which some elements are missing values, in runs of up to so many; 0 makes all of them such.
fn with_missing(dtype: DType, count: usize, values: &[f64], run: Option<u64>, r: &mut Random) -> Vec<u8> {
    let kind = ["wave", "noise", "spiky"][r.below(3) as usize];
    let mut words = vectors::words(kind, dtype, r.next(), count);
    let values: Vec<u64> = values.iter().map(|v| dtype.nearest(*v)).collect();
    run.iter().for_each(|run| vectors::strew(&mut words, &values, *run, r.below(1000)));
    vectors::to_bytes(dtype, &words, false)
}

const VALUES: [&[f64]; 4] = [&[-999.0], &[1e20, 7.0], &[f64::NAN], &[0.0, -5.0, f64::INFINITY]];

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

fn named(values: &[f64]) -> MissingValues {
    let named: Vec<MissingValue> = values.iter().map(|v| MissingValue::Number(*v)).collect();
    MissingValues::of(&named).unwrap()
}

#[test]
fn asynchronous_calls_and_batches_with_missing_values() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(8642);
    for (round, dtype) in FLOATS.into_iter().enumerate() {
        let per_chunk = 16384 / dtype.size();
        let values = [VALUES[round], &[-999.0, 7.0, 1e4, -2.5][..]][round % 2];
        for (profile, bound) in [
            (Profile::Adaptive, Bound::noa(1e-3)),
            (Profile::Fast, Bound::Abs(0.1)),
            (Profile::Adaptive, Bound::Rel(0.01)),
        ] {
            // Empty ones, and at every rate; one of more chunks than a group has.
            let counts = [per_chunk + 9, 0, 1, 2 * per_chunk, 65 * per_chunk + 100, per_chunk - 1, 300];
            let runs = [Some(1), Some(0), Some(0), None, Some(40), Some(7), Some(0)];
            let array = |(count, run)| with_missing(dtype, count, values, run, &mut r);
            let arrays: Vec<Vec<u8>> = std::iter::zip(counts, runs).map(array).collect();
            shim.set(1 + round as u32, round as u32);
            enqueue(shim, &Params { profile, missing: named(values), ..Params::new(dtype) }.with_bound(bound), &arrays);
        }
    }
}

/// The header's extension in all its lengths, up to the longest.
#[test]
fn dimensions_with_and_without_missing_values() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(9753);
    let deep = [1; 31];
    let shapes: [&[u64]; 5] = [&[6000], &[60, 101], &[3, 50, 40], &[0, 7], &[&deep[..], &[5000]].concat()];
    for (round, shape) in shapes.into_iter().enumerate() {
        for values in [&[][..], &[-999.0], &[-999.0, 7.0, 1e4], &[-999.0, 7.0, 1e4, 3.0]] {
            let dtype = FLOATS[(round + values.len()) % 4];
            let count = shape.iter().product::<u64>() as usize;
            let run = (!values.is_empty()).then_some(20);
            let arrays = [(); 3].map(|()| with_missing(dtype, count, values, run, &mut r));
            let dims = Dims::new(shape).unwrap();
            let p = Params { dims, missing: named(values), ..Params::new(dtype) }.with_bound(Bound::noa(1e-3));
            let launches = shim.number("shim_launches");
            compare(shim, &p, &arrays[0], 0, &format!("{shape:?} {values:?}"));
            assert!(shim.number("shim_launches") > launches, "{shape:?}");
            enqueue(shim, &p, &arrays);
        }
    }
}

/// Missing values that nobody named, in all kinds of arrays; of few values, too.
fn with_marks(dtype: DType, big_endian: bool, count: usize, kind: usize, r: &mut Random) -> Vec<u8> {
    let marks: &[f64] = [
        &[-9999.0][..],
        &[1e20, -999.0],
        &[-77.7],
        &[9.969_209_968_386_869e36, 123.25, -5e4],
        &[0.0],
        &[],
        &[99.0, f64::NAN, f64::INFINITY],
    ][kind % 7];
    let spread = [1.0, 1e-3, 30.0, 0.0][kind / 7 % 4];
    let middle = [0.0, 5000.0, -3.0][kind / 28 % 3];
    let mut values: Vec<f64> =
        (0..count).map(|i| middle + spread * ((i as f64 * 0.003).sin() + 0.1 * r.unit())).collect();
    for (k, mark) in marks.iter().enumerate() {
        for _ in 0..[1, 2, 60][(kind + k) % 3] {
            let at = r.next() as usize % count;
            let run = [1, 1, 300][r.next() as usize % 3].min(count - at);
            values[at..at + run].fill(*mark);
        }
    }
    let words: Vec<u64> = values.into_iter().map(|v| dtype.nearest(v)).collect();
    vectors::to_bytes(dtype, &words, big_endian)
}

#[test]
fn found_missing_values_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(424242);
    let modes = [Bound::Abs(1e-2), Bound::noa(1e-3), Bound::Rel(1e-2), Bound::Abs(1e3)];
    let (mut found, mut rounds) = ([0; 5], 0);
    for dtype in FLOATS {
        for kind in 0..84 {
            if crate::common::short() && kind % 3 != dtype as usize % 3 {
                continue;
            }
            let bound = modes[(kind + kind / 4) % 4];
            let profile = [Profile::Adaptive, Profile::Fast, Profile::Small][kind / 2 % 3];
            let count = [1, 2, 40, 16384 / dtype.size(), 40_000 / dtype.size() + 3][kind % 5];
            let big_endian = kind % 4 == 3;
            let bytes = with_marks(dtype, big_endian, count, kind, &mut r);
            let values: &[f64] = [&[][..], &[], &[-999.0], &[7.0, 1e20], &[1.0, 2.0, 3.0]][kind % 5];
            let dims = [Dims::NONE, Dims::new(&[1, count as u64]).unwrap()][kind / 3 % 2];
            let find_fill = Some(true);
            let p = Params { profile, big_endian, missing: named(values), dims, find_fill, ..Params::new(dtype) };
            let p = p.with_bound(bound);
            let p =
                if kind % 6 == 5 && bound.mode() == Mode::Noa { p.with_bound(bound.of_range(Some(9.0))) } else { p };
            found[sleek::inspect(&sleek::compress(&p, &bytes).unwrap()).unwrap().missing.found()] += 1;
            shim.set(1 + rounds % 4, rounds % 5);
            compare(shim, &p, &bytes, [0, dtype.size()][kind / 5 % 2], &format!("{dtype:?}, kind {kind}"));
            rounds += 1;
        }
    }
    assert!(found[..3].iter().all(|n| *n > 3), "{found:?}");
}

/// A search in GPU memory looks at the array where it lies, once where nothing is found, and brings a few words back;
/// the CPU finds the same.
#[test]
fn a_search_copies_no_array() {
    let (shim, _turn) = Shim::get();
    for dtype in FLOATS {
        let size = dtype.size();
        let (count, nan) = (32_768 / size, dtype.nearest(f64::NAN));
        let number = |v: f64| dtype.nearest(v);
        let specials = [nan | 1, nan | 3, number(f64::INFINITY), nan, number(f64::NEG_INFINITY), nan | 2];
        // What stands among the numbers, how often each, and the looks that it takes.
        for (marks, times, looks) in [
            (&[][..], 0, 1),
            (&[number(-999.0)], 1, 3),
            (&[number(-70.0)], 1, 2),
            (&[number(-70.0)], 2, 3),
            (&[number(-999.0), number(123.0)], 2, 3),
            (&[nan], 5, 2),
            (&specials, 1, 4),
        ] {
            let mut words: Vec<u64> = (0..count).map(|i| number(1.0 + 6.0 * i as f64 / count as f64)).collect();
            for (k, mark) in marks.iter().enumerate() {
                (0..times).for_each(|n| words[7 * n + 3 + k * (count / 7)] = *mark);
            }
            let bytes = vectors::to_bytes(dtype, &words, false);
            let p = Params { find_fill: Some(true), ..Params::new(dtype).with_bound(Bound::Abs(0.1)) };
            let what = format!("{dtype:?}, {marks:x?} {times} times");
            for offset in [0, size, 1] {
                compare(shim, &p, &bytes, offset, &what);
            }
            let (src, dst) = (shim.upload(0, &bytes, 0), shim.allocate(0, 2 * bytes.len()));
            let before = ["shim_launches", "shim_copied"].map(|name| shim.number(name));
            unsafe { route::compress(&p, src.at(0), count, dst.at(0), 2 * bytes.len(), null_mut()) }.unwrap();
            let after = ["shim_launches", "shim_copied"].map(|name| shim.number(name));
            assert_eq!(after[0] - before[0], 2 + looks, "{what}");
            assert!(after[1].wrapping_sub(before[1]) <= 16 + 64 * looks, "{what}");
        }
    }
}

/// Asynchronous calls and batches take what is declared, whatever lies in the arrays, and refuse to search.
#[test]
fn asynchronous_calls_and_batches_take_what_is_declared() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(97531);
    for dtype in FLOATS {
        let per_chunk = 16384 / dtype.size();
        for (profile, bound) in [
            (Profile::Adaptive, Bound::noa(1e-3)),
            (Profile::Fast, Bound::Abs(0.1)),
            (Profile::Adaptive, Bound::Rel(0.01)),
            (Profile::Small, Bound::noa(1e-3)),
        ] {
            // Of 16 bits there are no kernels of this profile.
            if profile == Profile::Small && dtype.size() == 2 {
                continue;
            }
            let p = Params { profile, ..Params::new(dtype) }.with_bound(bound);
            let counts = [per_chunk + 9, 1, 1, 2 * per_chunk, 65 * per_chunk + 100, per_chunk - 1, 300];
            let mut arrays: Vec<Vec<u8>> =
                counts.iter().enumerate().map(|(k, count)| with_marks(dtype, false, *count, k, &mut r)).collect();
            arrays.insert(2, vec![]);
            enqueue(shim, &p, &arrays);
            arrays.reverse();
            enqueue(shim, &p, &arrays);
        }
    }
    let search = Params { find_fill: Some(true), ..Params::new(DType::F32).with_bound(Bound::Abs(0.1)) };
    let memory = shim.allocate(0, 1 << 16);
    let (at, w) = (memory.at(0), memory.at(1 << 15));
    let alone = unsafe { route::compress_async(&search, at, 9, at, 1 << 12, at, w, null_mut()) };
    let many = unsafe { batch::compress_async(&search, &[Item::new(at, at, 9, 1 << 12)], at, w, null_mut()) };
    for refused in [alone, many] {
        let error = refused.unwrap_err();
        assert!(error.kind == Kind::InvalidArgument && error.message.contains("find_fill"), "{error:?}");
    }
}
