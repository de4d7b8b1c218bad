//! Streams with an extension: dimensions, and missing values.

use std::ptr::null_mut;

use sleek::route::batch::{self, Item};
use sleek::{Bound, DType, Dims, Kind, MissingValue, MissingValues, Mode, Params, Profile, route};

use crate::both::{Part, compare, enqueue, restores, verdict};
use crate::inputs::{Random, array, data, element, swap};
use crate::reference::builder::seal;
use crate::shim::Shim;

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
    let modes = [Bound::Abs(1e-2), Bound::Lossless, Bound::noa(1e-3), Bound::Rel(1e-2), Bound::Abs(1.0)];
    let mut round = 0;
    for values in VALUES {
        for (one_in, run) in [(0, 1), (1_000_000, 1), (100, 1), (2, 1), (2, 300), (30, 9), (1, 1), (3, 5000)] {
            let bound = modes[round % modes.len()];
            let profile = [Profile::Adaptive, Profile::Fast][round / 2 % 2];
            let count = 16384 / dtype.size() * 2 + [1, 500, 1000, 1333][round % 4];
            let mut bytes = with_missing(dtype, count, values, one_in, run, r);
            let p = Params { profile, missing: named(values), ..Params::new(dtype) };
            let p = p.with_bound(bound);
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
fn missing_values_are_those_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(1234567);
    for dtype in FLOATS {
        let (mut round, mut masked) = (0, 0);
        cases(dtype, &mut r, |p, bytes, what| {
            shim.set(1 + round % 4, round % 5);
            let stream = compare(shim, p, bytes, [0, dtype.size(), 16][round as usize % 3], &what);
            masked += sleek::inspect(&stream).unwrap().chunks[3];
            round += 1;
        });
        assert!(masked > 20, "{masked}");
    }
}

fn named(values: &[f64]) -> MissingValues {
    let named: Vec<MissingValue> = values.iter().map(|v| MissingValue::Number(*v)).collect();
    MissingValues::of(&named).unwrap()
}

/// Numbers around a missing value, closer to it than the bound: some would come back as it is.
#[test]
fn integers_that_would_come_back_as_a_missing_value() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(99);
    let modes = [Bound::Abs(0.05), Bound::noa(1e-3), Bound::noa(0.2), Bound::Rel(1e-2)];
    let (mut round, mut apart) = (0, 0);
    for dtype in FLOATS {
        for mark in [-9999.0, 0.0, 1.0, 0.1] {
            for scale in [0.0, 1e-3, 1.0, 30.0] {
                let bound = modes[round % 4];
                let profile = [Profile::Adaptive, Profile::Fast][round / 3 % 2];
                let number = |r: &mut Random, i: usize| {
                    // The second chunk is far away, and has no such numbers.
                    let x = if i % 11 == 3 { 0.0 } else { scale * (r.unit() - 0.5) };
                    if i % 11 != 3 && i * dtype.size() >= 16384 { 500.0 + x } else { mark + x }
                };
                let missing = named(&[mark, 77.0]);
                let p = Params { profile, missing, big_endian: round % 5 == 1, ..Params::new(dtype) };
                let p = p.with_bound(bound);
                let bytes = array(&p, 16384 / dtype.size() + 77, |i| number(&mut r, i));
                let plain = Params { missing: MissingValues::of(&[]).unwrap(), ..p.clone() };
                let stream = |p: &Params| sleek::decompress(&sleek::compress(p, &bytes).unwrap()).unwrap();
                apart += u32::from(stream(&p) != stream(&plain));
                shim.set(1 + round as u32 % 4, round as u32 % 5);
                compare(shim, &p, &bytes, 0, &format!("{dtype:?} around {mark} by {scale}"));
                round += 1;
            }
        }
    }
    assert!(apart > 10, "{apart} arrays come back otherwise than without a missing value");
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
            let rates = [(2, 1), (1, 1), (1, 1), (0, 1), (100, 40), (3, 7), (1, 1)];
            let arrays: Vec<Vec<u8>> = std::iter::zip(counts, rates)
                .map(|(count, (one_in, run))| with_missing(dtype, count, values, one_in, run, &mut r))
                .collect();
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
            let one_in = if values.is_empty() { 0 } else { 5 };
            let arrays = [(); 3].map(|()| with_missing(dtype, count, values, one_in, 20, &mut r));
            let dims = Dims::new(shape).unwrap();
            let p = Params { dims, missing: named(values), ..Params::new(dtype) }.with_bound(Bound::noa(1e-3));
            let launches = shim.number("shim_launches");
            compare(shim, &p, &arrays[0], 0, &format!("{shape:?} {values:?}"));
            assert!(shim.number("shim_launches") > launches, "{shape:?}");
            enqueue(shim, &p, &arrays);
        }
    }
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
        let sound = sleek::compress(&Params { missing, ..Params::new(dtype) }.with_bound(Bound::Abs(0.5)), &bytes);
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
            seal(&mut stream);
            refused += u32::from(!verdict(shim, &stream, bytes.len(), &format!("{dtype:?} round {round}")));
        }
    }
    assert!((50..450).contains(&refused), "{refused}");
}

/// Numbers that come back as the next one above a missing value, and chunks that stay exact: one number is too far from
/// that, that is a missing value too, or, under a relative bound, a zero is one. Constant chunks, chunks with gaps and
/// without, parts of arrays. And streams told to have such numbers.
#[test]
fn numbers_next_to_missing_values() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(484848);
    let (abs, rel) = (Bound::Abs, Bound::Rel);
    let near: [(&[f64], Bound); 8] = [
        (&[0.0], abs(0.05)),
        (&[0.0], abs(0.5)),
        (&[4.0, 0.0], abs(0.5)),
        (&[0.0, -6.0, 9.0], abs(0.25)),
        (&[2.5], rel(0.01)),
        (&[-6.0, 1.0], rel(0.02)),
        (&[-6.0, 4.0], rel(0.125)),
        (&[3.0, 0.0], rel(0.01)),
    ];
    let (mut round, mut with_next) = (0usize, [0; 2]);
    for (dtype, (marks, bound)) in FLOATS.into_iter().flat_map(|dtype| near.map(|near| (dtype, near))) {
        let (is_rel, by) = (bound.mode() == Mode::Rel, bound.number());
        for profile in Profile::ALL.into_iter().filter(|profile| is_rel || *profile != Profile::Small) {
            let per_chunk = 16384 / dtype.size();
            // How far the bound reaches around a mark.
            let reach = |mark: f64| if is_rel { mark * by } else { by };
            // Chunks of all numbers near, of one number alone, of numbers at the edge of a bin or here and there; a
            // short one.
            let number = |r: &mut Random, i: usize| {
                let (k, j, mark) = (i / per_chunk % 4, i % 7, marks[i % marks.len()]);
                match (k, j) {
                    (k, 3) if (k + round).is_multiple_of(2) => mark,
                    (0, _) => mark + 3.0 * reach(mark) * (r.unit() - 0.5),
                    (1, _) => marks[0] + 0.25 * reach(marks[0]),
                    (2, j) if !is_rel => mark + [-by, 0.5 * by, 40.0][j % 3],
                    (2, j) => [marks[0], 300.0][j / 6] * (1.0 + r.unit()),
                    (_, j) => 8.0 * by * (r.unit() - 0.5) + [0.0, 300.0][j / 6],
                }
            };
            let p = Params { profile, missing: named(marks), big_endian: round % 3 == 1, ..Params::new(dtype) };
            let p = p.with_bound(bound);
            let bytes = array(&p, 4 * per_chunk + 77, |i| number(&mut r, i));
            let what = format!("{dtype:?} {marks:?} {bound:?} {profile:?}");
            shim.set(1 + round as u32 % 4, round as u32 % 5);
            let mut stream = compare(shim, &p, &bytes, [0, dtype.size()][round % 2], &what);
            round += 1;
            let has_next = stream[74] == 1;
            with_next[usize::from(has_next)] += 1;
            if is_rel {
                assert!(!has_next || !marks.contains(&0.0), "{what}");
                continue;
            }
            assert!(has_next || dtype.size() == 2 && marks.len() > 1, "{what}");
            let range = Part::Range((per_chunk / 2 + round) as u64, 2 * per_chunk + 5);
            restores(shim, &stream, range, 0, &what);
            // The same told otherwise, and of exact chunks.
            for bound in [bound, abs(0.0)] {
                stream = sleek::compress(&Params { bound, ..p.clone() }, &bytes).unwrap();
                for next in [0, 1] {
                    stream[74] = next;
                    seal(&mut stream);
                    assert!(verdict(shim, &stream, bytes.len(), &what), "{what} {next}");
                }
            }
        }
    }
    assert!(with_next[0] > 5 && with_next[1] > 35, "{with_next:?}");
}

/// The threshold of the quantizer as a missing value: the last bin lies there, though elements from there on keep their
/// bits.
#[test]
fn a_missing_value_at_the_threshold_is_kept_apart() {
    let (shim, _turn) = Shim::get();
    for (dtype, top) in [(DType::F16, 1.0), (DType::BF16, 0.125)] {
        let field = |i: usize| ((i * 7919) % 20_003) as f64 / 20_003.0 * 1.2 * top;
        for bound in [1e-3, 2e-3, 5e-3].map(|part| part * top) {
            let p = Params { missing: named(&[top, 2.0, 3.0]), ..Params::new(dtype) }.with_bound(Bound::Abs(bound));
            compare(shim, &p, &array(&p, 20_003, field), 0, "threshold");
        }
    }
}

/// Missing values that nobody named, in all kinds of arrays; of few values, too.
fn with_marks(dtype: DType, count: usize, kind: usize, r: &mut Random) -> Vec<u8> {
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
    values.into_iter().flat_map(|v| element(dtype, v)).collect()
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
            let mut bytes = with_marks(dtype, count, kind, &mut r);
            let big_endian = kind % 4 == 3;
            if big_endian {
                swap(&mut bytes, dtype.size());
            }
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
        let (count, nan) = (131_072 / size, dtype.nearest(f64::NAN));
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
            let mut bytes: Vec<u8> =
                (0..count).flat_map(|i| element(dtype, 1.0 + 6.0 * i as f64 / count as f64)).collect();
            for (k, mark) in marks.iter().enumerate() {
                for n in 0..times {
                    let at = size * (7 * n + 3 + k * (count / 7));
                    bytes[at..at + size].copy_from_slice(&mark.to_le_bytes()[..size]);
                }
            }
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
                counts.iter().enumerate().map(|(k, count)| with_marks(dtype, *count, k, &mut r)).collect();
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
