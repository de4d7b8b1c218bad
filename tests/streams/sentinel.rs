//! Missing values that nobody named: they come back bit for bit, nothing else comes back equal to them, and they do not
//! count for the range (docs/reference/format.md §5.1).

use crate::{common, vectors};
use sleek::{Bound, DType, Dims, Mode, Params, Profile};

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
const ZFP: u8 = 3;
const MODES: [Bound; 3] = [Bound::Abs(0.05), Bound::noa(1e-2), Bound::Rel(1e-2)];

fn bytes(dtype: DType, big_endian: bool, values: &[f64]) -> Vec<u8> {
    let words: Vec<u64> = values.iter().map(|v| dtype.nearest(*v)).collect();
    vectors::to_bytes(dtype, &words, big_endian)
}

fn words(dtype: DType, big_endian: bool, bytes: &[u8]) -> Vec<u64> {
    let word = |element: &[u8]| {
        let mut word = [0; 8];
        word[..element.len()].copy_from_slice(element);
        if big_endian {
            word[..element.len()].reverse();
        }
        u64::from_le_bytes(word)
    };
    bytes.chunks_exact(dtype.size()).map(word).collect()
}

/// A field between -3 and 3.
fn field(n: usize) -> Vec<f64> {
    (0..n).map(|i| 2.0 * (i as f64 * 0.003).sin() + (i as f64 * 0.41).cos()).collect()
}

/// A request that searches.
fn searching(dtype: DType, bound: Bound) -> Params {
    Params { find_fill: Some(true), ..Params::new(dtype).with_bound(bound) }
}

/// Everything that asks for a bound of a type.
fn requests(dtype: DType, big_endian: bool) -> Vec<Params> {
    let mut all = Vec::new();
    for bound in MODES {
        for profile in Profile::ALL {
            all.push(Params { profile, big_endian, ..searching(dtype, bound) });
        }
    }
    if matches!(dtype, DType::F32 | DType::F64) {
        all.push(Params { codec: ZFP, big_endian, ..searching(dtype, Bound::Abs(0.05)) });
    }
    all
}

/// What is found, and that it comes back and nothing else does; the rest is within the bound.
fn kept(params: &Params, values: &[f64], expected: &[f64]) {
    let src = bytes(params.dtype, params.big_endian, values);
    let stream = sleek::compress(params, &src).unwrap();
    let info = sleek::inspect(&stream).unwrap();
    let what = format!("{params:?}");
    let bits: Vec<u64> = expected.iter().map(|v| params.dtype.nearest(*v)).collect();
    let found = &info.missing.bits()[info.missing.len() - info.missing.found()..];
    assert!(bits.iter().all(|bits| found.contains(bits)), "{what}: found {found:x?}");
    let back = words(params.dtype, params.big_endian, &sleek::decompress(&stream).unwrap());
    let number = |bits: u64| params.dtype.number(bits);
    let data = || values.iter().map(|v| number(params.dtype.nearest(*v))).filter(|v| v.is_finite());
    let counted = || data().filter(|v| !expected.iter().any(|mark| number(params.dtype.nearest(*mark)) == *v));
    let range = counted().fold(f64::MIN, f64::max) - counted().fold(f64::MAX, f64::min);
    for (v, r) in words(params.dtype, params.big_endian, &src).into_iter().zip(back) {
        let is_mark = bits.iter().any(|mark| number(*mark) == number(v));
        assert!(!is_mark || v == r, "{what}: {v:x} came back as {r:x}");
        assert!(is_mark || !bits.iter().any(|mark| number(*mark) == number(r)), "{what}: {v:x} became a mark");
        let allowed = match params.bound {
            Bound::Abs(bound) => bound,
            Bound::Noa { share, range: given } => share * given.unwrap_or(range),
            other => other.number() * number(v).abs(),
        };
        assert!(v == r || (number(v) - number(r)).abs() <= allowed, "{what}: {} {}", number(v), number(r));
    }
}

#[test]
fn marks_of_every_type_codec_and_mode() {
    for dtype in FLOATS {
        for big_endian in [false, true] {
            for params in requests(dtype, big_endian) {
                for n in [3, 700, 9000, 70_000] {
                    if n == 70_000 && common::short() && (big_endian || dtype == DType::BF16) {
                        continue;
                    }
                    for (k, mark) in [-9999.0, 1e20, -1e34, 9.969_209_968_386_869e36, 99.0].into_iter().enumerate() {
                        if !dtype.number(dtype.nearest(mark)).is_finite() {
                            continue;
                        }
                        let mut values = field(n);
                        let at = (k * 31 + n / 2).min(n - 1);
                        values[at..(at + [1, 7, 400][k % 3]).min(n)].fill(mark);
                        kept(&params, &values, &[mark]);
                    }
                }
            }
        }
    }
}

#[test]
fn other_marks_repeat_and_stand_apart() {
    for params in requests(DType::F32, false) {
        let mut values = field(40_000);
        values[20_000] = -123.456;
        kept(&params, &values, &[]);
        values[33_333] = -123.456;
        kept(&params, &values, &[-123.456]);
        values[7] = f64::INFINITY;
        values[9] = f64::NAN;
        kept(&params, &values, &[-123.456]);
        values[100..110].fill(1e30);
        kept(&params, &values, &[-123.456, 1e30]);
    }
}

#[test]
fn marks_in_the_last_place_of_large_arrays() {
    for params in requests(DType::F64, false) {
        let mut values = field(200_000);
        *values.last_mut().unwrap() = -32768.0;
        kept(&params, &values, &[-32768.0]);
    }
}

#[test]
fn found_beside_what_is_named() {
    let mut values = field(50_000);
    values[1000..2000].fill(9.969_209_968_386_869e36);
    values[30_000..30_100].fill(-9999.0);
    for params in requests(DType::F32, false) {
        let named = sleek::MissingValues::number(Some(9.969_209_968_386_869e36));
        let params = Params { missing: named, ..params };
        let src = bytes(DType::F32, false, &values);
        let info = sleek::inspect(&sleek::compress(&params, &src).unwrap()).unwrap();
        assert_eq!((info.missing.len(), info.missing.found()), (2, 1));
        assert_eq!(info.missing.bits()[1], DType::F32.nearest(-9999.0));
    }
}

#[test]
fn direct_calls_take_what_is_declared_and_lossless_needs_none() {
    let mut values = field(5000);
    values[100] = -9999.0;
    let src = bytes(DType::F32, false, &values);
    for params in requests(DType::F32, false) {
        let off = Params { find_fill: None, ..params.clone() };
        for p in [&off, &params.clone().with_bound(Bound::Lossless), &params.clone().with_bound(Bound::Abs(0.0))] {
            let stream = sleek::compress(p, &src).unwrap();
            assert_eq!(sleek::inspect(&stream).unwrap().missing.len(), 0);
        }
    }
    let named = |text: &str| sleek::text::parse(text).unwrap().find_fill;
    assert_eq!((named("abs=1,no-fill"), named("abs=1")), (Some(false), None));
}

/// What an array of some chunks has, whose values and marks are such that the rule is about to change its mind: what is
/// found is what the rule says, whatever the chunks, threads and profiles.
#[test]
fn the_verdict_is_the_rules_wherever_values_lie() {
    let random = &mut vectors::Random(48);
    let (mut with, mut without) = (0, 0);
    for round in 0..if common::short() { 300 } else { 1500 } {
        let dtype = FLOATS[round % 4];
        let bound = MODES[round / 4 % 3];
        let profile = [Profile::Adaptive, Profile::Fast, Profile::Adaptive, Profile::Fast, Profile::Small][round % 5];
        let big_endian = round % 7 == 3;
        let n = [30, 900, 20_000, 50_000][random.below(4) as usize] + random.below(9) as usize;
        // Chunks reach farther and farther, or all the same.
        let (from, grows) = ([-3.0, 0.0, 100.0, -50.0][random.below(4) as usize], random.below(3) == 0);
        let reach = |i: usize| if grows { 1.0 + (i * 40 / n) as f64 } else { 40.0 };
        let mut values: Vec<f64> = (0..n).map(|i| from + reach(i) * (random.below(1001) as f64 / 1000.0)).collect();
        for _ in 0..random.below(3) {
            // Around the distance that makes a mark of what repeats, and usual ones near and far.
            let mark = match random.below(5) {
                0 => from + 80.0 + [-0.5, 0.0, 0.5, 5.0][random.below(4) as usize],
                1 => from - 40.0 + [-0.5, 0.0, 0.5, -5.0][random.below(4) as usize],
                2 => [99.0, 99.9, -99.0, 999.0, -9999.0, 1e20, 65504.0][random.below(7) as usize],
                3 => [0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY][random.below(4) as usize],
                _ => from + random.below(100) as f64,
            };
            for _ in 0..random.below(4) {
                values[random.below(n as u64) as usize] = mark;
            }
            // A slope that leads to it.
            if random.below(3) == 0 {
                let (at, steps) = (random.below(n as u64) as usize, 1 + random.below(12) as usize);
                for (k, v) in values[at..].iter_mut().take(steps).enumerate() {
                    *v += (mark - *v) * (k + 1) as f64 / steps as f64;
                }
            }
        }
        let params = Params { profile, big_endian, ..searching(dtype, bound) };
        let params = Params { threads: 1 + random.below(3) as u32, ..params };
        let src = bytes(dtype, big_endian, &values);
        let counted: Vec<f64> =
            values.iter().map(|v| dtype.number(dtype.nearest(*v))).filter(|v| v.is_finite()).collect();
        let (expected, _) = vectors::sentinel::found(dtype, 0, &counted);
        let stream = sleek::compress(&params, &src).unwrap();
        let missing = sleek::inspect(&stream).unwrap().missing;
        let (mut found, mut specials) = (Vec::new(), Vec::new());
        for bits in missing.bits() {
            match dtype.number(*bits) {
                number if number.is_finite() => found.push(number + 0.0),
                _ => specials.push(*bits),
            }
        }
        // All of NaN and infinities that there is room for, the lowest first.
        let mut all = specials_of(dtype, &values);
        all.truncate(4 - found.len());
        found.dedup();
        assert_eq!(found, expected, "round {round}: {params:?}, {n} values from {from}");
        assert_eq!(specials, all, "round {round}: {params:?}, {n} values from {from}");
        *if missing.is_empty() { &mut without } else { &mut with } += 1;
    }
    assert!(with > 50 && without > 50, "{with} with, {without} without");
}

/// The bits of NaN and infinities, each once.
fn specials_of(dtype: DType, values: &[f64]) -> Vec<u64> {
    let bits = values.iter().map(|v| dtype.nearest(*v));
    let mut all: Vec<u64> = bits.filter(|bits| !dtype.number(*bits).is_finite()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// NaN, of either sign and whatever its other bits are, and infinities cost what a number far from all others costs in
/// the same cells, whether they are found or named.
#[test]
fn what_is_no_number_costs_what_a_mark_costs() {
    let (rows, columns) = (300, 400);
    let dims = Dims::new(&[rows, columns]).unwrap();
    let island = |i: u64| {
        let (y, x) = ((i / columns % 150) as f64 - 75.0, (i % columns % 200) as f64 - 100.0);
        y.hypot(x) < 40.0
    };
    let value = |i: u64| {
        let (y, x) = ((i / columns) as f64, (i % columns) as f64);
        280.0 + 10.0 * (x / 50.0).sin() + 8.0 * (y / 70.0).cos() + 0.05 * (x * y * 0.37).sin()
    };
    for dtype in [DType::F32, DType::F64] {
        let sign = 1u64 << (8 * dtype.size() - 1);
        let nan = dtype.nearest(f64::NAN);
        for (profile, bound) in Profile::ALL.into_iter().flat_map(|p| [(p, Bound::Abs(0.01)), (p, Bound::Rel(1e-4))]) {
            let length = |mark: u64, named: Option<sleek::MissingValue>| {
                let bits: Vec<u64> =
                    (0..rows * columns).map(|i| if island(i) { mark } else { dtype.nearest(value(i)) }).collect();
                let src = vectors::to_bytes(dtype, &bits, false);
                let missing = sleek::MissingValues::of(named.as_slice()).unwrap();
                let find_fill = Some(named.is_none());
                let params = Params { profile, dims, missing, find_fill, ..Params::new(dtype).with_bound(bound) };
                let stream = sleek::compress(&params, &src).unwrap();
                let back = words(dtype, false, &sleek::decompress(&stream).unwrap());
                assert!(bits.iter().zip(back).all(|(v, r)| *v != mark || r == mark), "{params:?} {mark:x}");
                stream.len()
            };
            let number = length(dtype.nearest(-999.9), None);
            for mark in
                [nan, nan | sign, nan | sign | 5, dtype.nearest(f64::INFINITY), dtype.nearest(f64::NEG_INFINITY)]
            {
                assert!(20 * length(mark, None) <= 21 * number, "{dtype:?} {profile:?} {bound:?} {mark:x}");
                let named = Some(sleek::MissingValue::Bits(mark));
                assert!(20 * length(mark, named) <= 21 * number, "{dtype:?} {profile:?} {bound:?} {mark:x}: named");
            }
        }
    }
}

/// What an encoder tells of an array by the way hides nothing that a search before it finds: the bytes are the same.
#[test]
fn searched_while_it_is_encoded_or_before_is_one() {
    let mut random = vectors::Random(7);
    let mut found = 0;
    for round in 0..if common::short() { 1500 } else { 20_000 } {
        let dtype = FLOATS[round % 4];
        let n = 1100 + random.below(9000) as usize;
        let offset = [0.0, 3.0, -40.0, 90.0, 1000.0][random.below(5) as usize];
        let wave = [0.0, 0.003, 0.4][random.below(3) as usize];
        let noise = if wave == 0.0 { 1.0 } else { random.below(3) as f64 / 8.0 };
        let unit = |random: &mut vectors::Random| random.around(1 << 20) as f64 / f64::from(1 << 20);
        let mut values: Vec<f64> =
            (0..n).map(|i| offset + (i as f64 * wave).sin() + noise * unit(&mut random)).collect();
        let [low, high] = [f64::min, f64::max].map(|pick| values.iter().copied().reduce(pick).unwrap());
        let (range, near) = (high - low, 1.0 + random.around(3) as f64 / 64.0);
        let odd = [low - near * range, high + near * range, -9999.0, 99.0, 0.0, f64::NAN, f64::INFINITY];
        for _ in 0..random.below(3) {
            let mark = odd[random.below(odd.len() as u64) as usize];
            for _ in 0..1 + random.below(3) {
                let at = random.below(n as u64) as usize;
                values[at] = mark;
            }
        }
        let share = 0.4 * 2f64.powi(-(random.below(22) as i32));
        let bound =
            if random.below(3) == 0 { Bound::noa(share).of_range(Some(range)) } else { Bound::Abs(share * range) };
        let profile = if random.below(2) == 0 { Profile::Fast } else { Profile::Adaptive };
        let missing = sleek::MissingValues::number((random.below(4) == 0).then_some(values[n / 2]));
        let big_endian = random.below(3) == 0;
        let params = Params { profile, missing, big_endian, ..searching(dtype, bound) };
        let src = bytes(dtype, big_endian, &values);
        let before = sleek::missing::sentinel::declared(params.clone(), &src).unwrap();
        let stream = sleek::compress(&params, &src).unwrap();
        assert!(stream == sleek::compress(&before, &src).unwrap(), "round {round}: {params:?} of {n}");
        found += usize::from(sleek::inspect(&stream).unwrap().missing.found() > 0);
    }
    assert!(found > 300, "{found}");
}

/// With and without the search a field without marks makes the same bytes.
#[test]
fn nothing_changes_where_nothing_is_found() {
    for dtype in FLOATS {
        for params in requests(dtype, false) {
            for n in [1, 2, 100, 5000, 60_000] {
                let src = bytes(dtype, false, &field(n));
                let off = Params { find_fill: None, ..params.clone() };
                let (with, without) = (sleek::compress(&params, &src).unwrap(), sleek::compress(&off, &src).unwrap());
                assert!(with == without || n < 3, "{params:?} of {n}");
            }
        }
    }
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let mut values = field(600_000);
    values[599_000..599_010].fill(-999.0);
    for profile in Profile::ALL {
        for bound in MODES {
            let params = Params { profile, ..searching(DType::F32, bound) };
            let src = bytes(DType::F32, false, &values);
            let of = |threads| sleek::compress(&Params { threads, ..params.clone() }, &src).unwrap();
            let one = of(1);
            assert!(one == of(2) && one == of(5));
            assert_eq!(sleek::inspect(&one).unwrap().missing.found(), 1);
        }
    }
}

#[test]
fn a_constant_array_is_exact_under_any_bound() {
    for dtype in FLOATS {
        for big_endian in [false, true] {
            for bound in [Bound::Abs(1e3), Bound::noa(0.5), Bound::Rel(0.3)] {
                for profile in Profile::ALL {
                    let params = Params { profile, big_endian, ..searching(dtype, bound) };
                    for n in [1, 5, 5000, 90_000] {
                        let some = if common::short() && n > 5000 { 1 } else { 4 };
                        for value in [0.1, -7.3, 1e-5, 250.3].into_iter().take(some) {
                            let mut values = vec![value; n];
                            let src = bytes(dtype, big_endian, &values);
                            let back = sleek::decompress(&sleek::compress(&params, &src).unwrap()).unwrap();
                            assert!(src == back, "{params:?} of {n}");
                            values[n / 2] = f64::NAN;
                            values[n / 3] = -9999.0;
                            let src = bytes(dtype, big_endian, &values);
                            let back = sleek::decompress(&sleek::compress(&params, &src).unwrap()).unwrap();
                            assert!(src == back, "{params:?} of {n} with others");
                        }
                    }
                }
            }
        }
    }
}

/// Room for what is found is asked for.
#[test]
fn there_is_room_for_what_is_found() {
    let dims = Dims::new(&[3, 5]).unwrap();
    for params in requests(DType::F32, false) {
        for dims in [Dims::NONE, dims] {
            let params = Params { dims, ..params.clone() };
            let mut values = field(15);
            values[3] = 1e30;
            values[4] = -9999.0;
            let src = bytes(DType::F32, false, &values);
            let room = sleek::compress_bound(&params, 15).unwrap();
            let mut dst = vec![0; room];
            sleek::compress_into(&params, &src, &mut dst).unwrap();
        }
    }
}

/// A missing value that lies among the data makes a stream a tenth longer at most; everything else keeps the bound and
/// is restored as something else.
#[test]
fn a_missing_value_among_the_data_costs_little() {
    let path = common::root().join("tests/data/navy_uwnd_12x73x144.f32");
    let wind: Vec<f64> = std::fs::read(path)
        .unwrap()
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()).into())
        .collect();
    let dims = Dims::new(&[12, 73, 144]).unwrap();
    // Of 16 bits a number and the next one are so far apart that some elements are within the bound of the first alone.
    for (dtype, big_endian) in FLOATS.into_iter().take(2).zip([false, true]) {
        let src = bytes(dtype, big_endian, &wind);
        let modes = [Bound::Abs(0.3), Bound::Abs(0.01), Bound::noa(1e-2), Bound::noa(1e-3)];
        for (profile, bound) in Profile::ALL.into_iter().flat_map(|profile| modes.map(|bound| (profile, bound))) {
            let plain = Params { profile, big_endian, dims, ..Params::new(dtype) }.with_bound(bound);
            let without = sleek::compress(&plain, &src).unwrap().len();
            for mark in [0.0, 2.5, -7.25] {
                let named = sleek::MissingValues::number(Some(mark));
                let params = Params { missing: named, ..plain.clone() };
                let stream = sleek::compress(&params, &src).unwrap();
                let (what, n) = (format!("{dtype:?} {profile:?} {bound:?} {mark}"), stream.len());
                assert!(10 * n <= 11 * without, "{what}: {n}, {without} without");
                // Codec sleek says so where a bin is the missing value.
                let has_next = sleek::inspect(&stream).unwrap().missing.has_next();
                assert!(has_next || profile != Profile::Small && mark != 0.0, "{what}");
                kept_with(&params, &src, &stream, mark);
                // What was restored restores to itself.
                let back = sleek::decompress(&stream).unwrap();
                let again = sleek::compress(&params, &back).unwrap();
                assert!(bound.mode() == Mode::Noa || sleek::decompress(&again).unwrap() == back, "{what}: again");
            }
        }
    }
}

fn kept_with(params: &Params, src: &[u8], stream: &[u8], mark: f64) {
    let of = |bytes: &[u8]| words(params.dtype, params.big_endian, bytes);
    let number = |bits: u64| params.dtype.number(bits);
    let (mark, bound) = (number(params.dtype.nearest(mark)), sleek::inspect(stream).unwrap().abs_bound);
    for (v, r) in of(src).into_iter().zip(of(&sleek::decompress(stream).unwrap())) {
        let (v, r) = (number(v), number(r));
        assert!((v == mark) == (r == mark) && (v == r || (v - r).abs() <= bound), "{v} came back as {r}");
    }
}

/// The same under a relative bound, with codec sleek.
#[test]
fn a_missing_value_among_the_data_costs_little_under_a_relative_bound() {
    let path = common::root().join("tests/data/navy_uwnd_12x73x144.f32");
    let wind: Vec<f64> = std::fs::read(path)
        .unwrap()
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()).into())
        .collect();
    for (dtype, big_endian) in FLOATS.into_iter().take(2).zip([false, true]) {
        let src = bytes(dtype, big_endian, &wind);
        for (profile, bound) in [(Profile::Adaptive, 1e-2), (Profile::Fast, 1e-3), (Profile::Adaptive, 1e-3)] {
            let plain = Params { profile, big_endian, ..Params::new(dtype) }.with_bound(Bound::Rel(bound));
            let without = sleek::compress(&plain, &src).unwrap().len();
            for mark in [2.5, -7.25, 8.0] {
                let params = Params { missing: sleek::MissingValues::number(Some(mark)), ..plain.clone() };
                let stream = sleek::compress(&params, &src).unwrap();
                let (what, n) = (format!("{dtype:?} {profile:?} {bound} {mark}"), stream.len());
                assert!(10 * n <= 11 * without, "{what}: {n}, {without} without");
                assert!(sleek::inspect(&stream).unwrap().missing.has_next(), "{what}");
                let back = sleek::decompress(&stream).unwrap();
                vectors::exact::judge(&params, 0.0, &src, &back).unwrap_or_else(|error| panic!("{what}: {error}"));
                let number = |bits: u64| dtype.number(bits);
                for (v, r) in words(dtype, big_endian, &src).into_iter().zip(words(dtype, big_endian, &back)) {
                    assert!((number(v) == mark) == (number(r) == mark), "{what}: {v:x} came back as {r:x}");
                }
                assert!(sleek::decompress(&sleek::compress(&params, &back).unwrap()).unwrap() == back, "{what}: again");
            }
        }
    }
}

/// Numbers around a missing value, to the last place, under relative bounds that are hardly or not at all half of what
/// is rounded off; zeros among missing values.
#[test]
fn numbers_next_to_a_missing_value_keep_a_relative_bound() {
    let random = &mut vectors::Random(53);
    for round in 0..if common::short() { 200 } else { 2000 } {
        let dtype = FLOATS[round % 4];
        let bound = [0.5, 0.4999, 0.25, 0.1, 1e-2, 0.00390625, 1e-3][random.below(7) as usize];
        let marks = [[2.5, -1.0], [-6.0, 0.0], [1.0, 1.5], [-0.5, 4096.0]][random.below(4) as usize];
        let missing = sleek::MissingValues::of(&marks.map(sleek::MissingValue::Number)).unwrap();
        let profile = [Profile::Adaptive, Profile::Fast, Profile::Small][random.below(3) as usize];
        let params = Params { profile, missing, big_endian: round % 3 == 0, ..Params::new(dtype) };
        let params = params.with_bound(Bound::Rel(bound));
        let near = |random: &mut vectors::Random| {
            let reach = 1 << (2 + random.below(12));
            let bits = dtype.nearest(marks[random.below(2) as usize]);
            match random.below(8) {
                0 => 1 << (8 * dtype.size() - 1),
                1 => bits,
                2 => dtype.nearest(random.below(9000) as f64 / 1000.0 - 4.5),
                _ => bits.wrapping_add(random.below(reach)).wrapping_sub(reach / 2),
            }
        };
        let mask = vectors::mask(dtype);
        let all = (0..3000).map(|_| near(random) & mask);
        let elements: Vec<u64> = all.filter(|bits| dtype.number(*bits).is_finite()).collect();
        let src = vectors::to_bytes(dtype, &elements, params.big_endian);
        let stream = sleek::compress(&params, &src).unwrap();
        let back = sleek::decompress(&stream).unwrap();
        vectors::exact::judge(&params, 0.0, &src, &back).unwrap_or_else(|error| panic!("{params:?}: {error}"));
        for (v, r) in elements.iter().zip(words(dtype, params.big_endian, &back)) {
            let is = |bits: u64| marks.contains(&dtype.number(bits));
            assert!(is(*v) == is(r), "{params:?}: {v:x} came back as {r:x}");
        }
    }
}
