//! Missing values, named and not: they come back bit for bit, nothing else comes back equal to one, the bound holds for
//! everything else, they do not count for the range, and they cost little. What nobody named is found as
//! docs/reference/format.md §5.1 says. Every type, mode and set of named ones is in tests/matrix.

use crate::{common, vectors};
use sleek::{Bound, DType, Dims, MissingValue, MissingValues, Mode, Params, Profile};
use vectors::{Random, exact, words_of};

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
const ZFP: u8 = 3;
const MODES: [Bound; 3] = [Bound::Abs(0.05), Bound::noa(1e-2), Bound::Rel(1e-2)];

fn words(dtype: DType, values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| dtype.nearest(*v)).collect()
}

/// A field between -3 and 3.
fn field(n: usize) -> Vec<f64> {
    (0..n).map(|i| 2.0 * (i as f64 * 0.003).sin() + (i as f64 * 0.41).cos()).collect()
}

fn named(values: &[f64]) -> MissingValues {
    MissingValues::of(&values.iter().map(|v| MissingValue::Number(*v)).collect::<Vec<_>>()).unwrap()
}

/// A request that searches.
fn searching(dtype: DType, bound: Bound) -> Params {
    Params { find_fill: Some(true), ..Params::new(dtype).with_bound(bound) }
}

/// Everything that asks for a bound of a type.
fn requests(dtype: DType, big_endian: bool) -> Vec<Params> {
    let of_bound = |bound| Profile::ALL.map(|profile| Params { profile, big_endian, ..searching(dtype, bound) });
    let mut all: Vec<Params> = MODES.into_iter().flat_map(of_bound).collect();
    if matches!(dtype, DType::F32 | DType::F64) {
        all.push(Params { codec: ZFP, big_endian, ..searching(dtype, Bound::Abs(0.05)) });
    }
    all
}

/// What an array comes to, in the room that is asked for.
struct Kept {
    stream: Vec<u8>,
    back: Vec<u64>,
    missing: sleek::missing::Missing,
}

/// Compresses and restores: missing values, named or found, come back bit for bit and nothing else does, and the rest
/// keeps the bound, which is that of the values that count.
fn kept(params: &Params, words: &[u64]) -> Kept {
    let (dtype, what) = (params.dtype, format!("{params:?}"));
    let data = vectors::to_bytes(dtype, words, params.big_endian);
    let mut stream = vec![0; sleek::compress_bound(params, words.len()).unwrap()];
    let n = sleek::compress_into(params, &data, &mut stream).unwrap();
    stream.truncate(n);
    let info = sleek::inspect(&stream).unwrap();
    let restored = sleek::decompress(&stream).unwrap();
    exact::judge(params, info.abs_bound, &data, &restored).unwrap_or_else(|error| panic!("{error}"));
    let (back, missing) = (words_of(dtype, &restored, params.big_endian), info.missing);
    let number = |bits: u64| dtype.number(bits);
    let is_mark = |bits: u64| missing.bits().iter().any(|mark| *mark == bits || number(*mark) == number(bits));
    for (v, r) in words.iter().zip(&back) {
        assert!(!missing.bits().contains(v) || v == r, "{what}: {v:x} came back as {r:x}");
        assert!(is_mark(*v) || !is_mark(*r), "{what}: {v:x} became {r:x}");
    }
    if let Bound::Noa { share, range } = params.bound {
        let counted = words.iter().filter(|w| !is_mark(**w)).map(|w| number(*w)).filter(|v| v.is_finite());
        let ends = counted.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
        let (lo, hi) = range.map_or(ends, |range| (0.0, range));
        assert!(info.abs_bound == 0.0 || exact::within_range(info.abs_bound, share, lo, hi), "{what}");
    }
    Kept { stream, back, missing }
}

/// The same, where at least these are to be found.
fn found(params: &Params, values: &[f64], expected: &[f64]) -> Kept {
    let kept = kept(params, &words(params.dtype, values));
    let all = &kept.missing.bits()[kept.missing.told().len()..];
    assert!(words(params.dtype, expected).iter().all(|bits| all.contains(bits)), "{params:?}: found {all:x?}");
    kept
}

/// Where the bound is half a step, numbers at the edge of a mark's bin are within the bound of the mark and of no
/// number next to it: their chunk stays exact, and no other one does.
#[test]
fn numbers_at_the_edge_of_a_marks_bin_stay_within_the_bound() {
    for (dtype, big_endian) in FLOATS.into_iter().zip([false, true, false, true]) {
        for (mark, profile) in [0.0, 4.0, -6.0].into_iter().flat_map(|m| [(m, Profile::Adaptive), (m, Profile::Fast)]) {
            let params = Params { missing: named(&[mark]), profile, big_endian, ..Params::new(dtype) };
            let params = params.with_bound(Bound::Abs(0.5));
            let length = |values: &[f64]| {
                let value = |i: usize| dtype.nearest(mark + values[i * i % values.len()]);
                kept(&params, &(0..16384 / dtype.size()).map(value).collect::<Vec<u64>>()).stream.len()
            };
            let (within, at_edge) = (length(&[0.125, -0.25, 1.0, 2.0, 9.0]), length(&[-0.5, -0.25, 1.0, 2.0, 9.0]));
            assert!(mark != 0.0 || 2 * within < at_edge, "{dtype:?} {mark} {profile:?}: {within}, {at_edge}");
            let (constant, other) = (length(&[0.125]), length(&[-0.5]));
            assert!(constant <= other && constant < 200, "{dtype:?} {mark} {profile:?}: {constant}, {other}");
        }
    }
}

/// A chunk of nothing else costs as much as a constant one, and a field without any what it costs without a name.
#[test]
fn marks_that_are_not_there_cost_nothing() {
    let params = Params::new(DType::F32).with_bound(Bound::Abs(0.01));
    let with = Params { missing: named(&[1e20]), ..params.clone() };
    let length = |params: &Params, words: &[u64]| kept(params, words).stream.len();
    let elements = words(DType::F32, &field(40_000));
    assert_eq!(length(&with, &elements), length(&params, &elements) + 32, "the header's extension");
    let nothing = vec![DType::F32.nearest(1e20); 40_000];
    assert_eq!(length(&with, &nothing), length(&params, &vec![0; 40_000]) + 32);
}

/// A zero takes two places; where nothing is lost it needs one, since both zeros come back.
#[test]
fn a_zero_needs_room_for_both() {
    let elements: Vec<u64> = (0..3000).map(|i| u64::from([1e20f32, 0.0, -0.0, 0.3][i % 4].to_bits())).collect();
    let bytes = vectors::to_bytes(DType::F32, &elements, false);
    for zero in [0.0, -0.0] {
        let missing = named(&[1e20, -9999.0, 999.0, zero]);
        let lossless = Params { missing, ..Params::new(DType::F32) };
        assert_eq!(sleek::decompress(&sleek::compress(&lossless, &bytes).unwrap()).unwrap(), bytes);
        for bound in MODES {
            let said = sleek::compress(&lossless.clone().with_bound(bound), &bytes).unwrap_err();
            assert_eq!(said.message, "missing value 0 beside 3 others; 0 takes two places of 4, for 0 and for -0");
            kept(&Params { missing: named(&[1e20, -9999.0, zero]), ..lossless.clone() }.with_bound(bound), &elements);
        }
    }
}

/// Other marks repeat and stand apart; in the last place, beside what is named, in an array with dimensions.
#[test]
fn marks_are_found_wherever_they_are() {
    for params in requests(DType::F32, false) {
        let mut values = field(40_000);
        values[20_000] = -123.456;
        found(&params, &values, &[]);
        values[33_333] = -123.456;
        found(&params, &values, &[-123.456]);
        (values[7], values[9]) = (f64::INFINITY, f64::NAN);
        found(&params, &values, &[-123.456]);
        values[100..110].fill(1e30);
        found(&params, &values, &[-123.456, 1e30]);

        let mut last = field(200_000);
        *last.last_mut().unwrap() = -32768.0;
        found(&params, &last, &[-32768.0]);

        values = field(50_000);
        values[1000..2000].fill(9.969_209_968_386_869e36);
        values[30_000..30_100].fill(-9999.0);
        let missing = named(&[9.969_209_968_386_869e36]);
        let both = found(&Params { missing, ..params.clone() }, &values, &[-9999.0]).missing;
        assert_eq!((both.len(), both.found()), (2, 1));

        values = field(15);
        (values[3], values[4]) = (1e30, -9999.0);
        found(&Params { dims: Dims::new(&[3, 5]).unwrap(), ..params }, &values, &[]);
    }
}

#[test]
fn direct_calls_take_what_is_declared_and_lossless_needs_none() {
    let mut values = field(5000);
    values[100] = -9999.0;
    let values = words(DType::F32, &values);
    for params in requests(DType::F32, false) {
        let off = Params { find_fill: None, ..params.clone() };
        for p in [&off, &params.clone().with_bound(Bound::Lossless), &params.clone().with_bound(Bound::Abs(0.0))] {
            assert_eq!(kept(p, &values).missing.len(), 0);
        }
    }
    let said = |text: &str| sleek::text::parse(text).unwrap().find_fill;
    assert_eq!((said("abs=1,no-fill"), said("abs=1")), (Some(false), None));
}

/// Values of an array of some chunks, and marks such that the rule is about to change its mind.
fn about_to_change(random: &mut Random) -> Vec<f64> {
    let n = [1, 30, 300, 900, 9000, 20_000, 50_000][random.below(7) as usize] + random.below(9) as usize;
    // Chunks reach farther and farther, or all the same; or not at all.
    let (from, kind) = ([-3.0, 0.0, 100.0, -50.0][random.below(4) as usize], random.below(7));
    let reach = |i: usize| match kind {
        0 | 1 => 1.0 + (i * 40 / n) as f64,
        2 => 0.0,
        _ => 40.0,
    };
    let value = |i: usize, random: &mut Random| match kind {
        5 | 6 => 20.0 + 20.0 * (i as f64 * [0.003, 0.4][kind as usize - 5]).sin() * (random.below(9) as f64 / 8.0),
        _ => reach(i) * (random.below(1001) as f64 / 1000.0),
    };
    let mut values: Vec<f64> = (0..n).map(|i| from + value(i, random)).collect();
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
    values
}

/// What is found is what the rule says, whatever the chunks, threads and profiles; few values are kept exactly; and
/// what an encoder tells of an array by the way hides nothing that a search before it finds.
#[test]
fn the_verdict_is_the_rules_wherever_values_lie() {
    let random = &mut Random(48);
    let (mut with, mut without, mut exact) = (0, 0, 0);
    for round in 0..if common::short() { 700 } else { 6000 } {
        let dtype = FLOATS[round % 4];
        let mut bound = [MODES[round / 4 % 3], Bound::noa(1e-3).of_range(Some(40.0))][random.below(2) as usize];
        if let Bound::Abs(_) = bound {
            bound = Bound::Abs(16.0 * exact::power(-(random.below(22) as i32)));
        }
        let profile = [Profile::Adaptive, Profile::Fast, Profile::Adaptive, Profile::Fast, Profile::Small][round % 5];
        let (big_endian, threads) = (round % 7 == 3, 1 + random.below(3) as u32);
        let values = about_to_change(random);
        let params = Params { profile, big_endian, threads, ..searching(dtype, bound) };
        let counted = values.iter().map(|v| dtype.number(dtype.nearest(*v))).filter(|v| v.is_finite());
        let (expected, few) = vectors::sentinel::found(dtype, params.bound, 0, &counted.collect::<Vec<f64>>());
        let all = words(dtype, &values);
        let Kept { stream, back, missing } = kept(&params, &all);
        assert!(!few || back == all, "round {round}: {params:?}: few values");
        exact += u32::from(few);
        let (numbers, specials): (Vec<u64>, Vec<u64>) =
            missing.bits().iter().partition(|bits| dtype.number(**bits).is_finite());
        // All of NaN and infinities that there is room for, the lowest first.
        let mut odd: Vec<u64> = all.iter().copied().filter(|bits| !dtype.number(*bits).is_finite()).collect();
        odd.sort_unstable();
        odd.dedup();
        odd.truncate(4 - numbers.len());
        let mut numbers: Vec<f64> = numbers.into_iter().map(|bits| dtype.number(bits) + 0.0).collect();
        numbers.dedup();
        assert_eq!((numbers, specials), (expected, odd), "round {round}: {params:?}, {} values", values.len());
        *if missing.is_empty() { &mut without } else { &mut with } += 1;
        let data = vectors::to_bytes(dtype, &all, big_endian);
        let before = sleek::missing::sentinel::declared(params.clone(), &data).unwrap();
        let alone = sleek::compress(&Params { threads: 1, ..before }, &data).unwrap();
        assert!(stream == alone, "round {round}: {params:?}: declared before, by one thread");
    }
    assert!(with > 50 && without > 50 && exact > 20, "{with} with, {without} without, {exact} exact");
}

/// A series that grows, each part into what came back, keeps its bound: what one write finds, and another one does not,
/// changes no other value twice.
#[test]
fn a_mark_that_is_found_for_a_while_moves_nothing() {
    let random = &mut Random(50);
    let mut marked = 0;
    for round in 0..if common::short() { 1000 } else { 10_000 } {
        let dtype = FLOATS[round % 4];
        let profile = [Profile::Small, Profile::Adaptive, Profile::Small, Profile::Fast][round / 4 % 4];
        let level = [1013.25, 20.5, 0.5, 273.15][round / 16 % 4];
        let bound = level / 16f64.powi(1 + random.below(3) as i32);
        let spread = bound * [0.1, 0.5, 1.0, 2.0][random.below(4) as usize];
        let params = Params { profile, ..searching(dtype, Bound::Abs(bound)) };
        let (len, part) = (8 << random.below(6), 1 + random.below(20) as usize);
        let values: Vec<f64> = (0..len).map(|_| level + spread * (random.below(2001) as f64 / 1000.0 - 1.0)).collect();
        let values = words(dtype, &values);
        let (mut now, mut written) = (vec![[0, dtype.nearest(-9999.0)][round / 64 % 2]; len], 0);
        while written < len {
            let end = len.min(written + part);
            now[written..end].copy_from_slice(&values[written..end]);
            let stream = sleek::compress(&params, &vectors::to_bytes(dtype, &now, false)).unwrap();
            marked += usize::from(sleek::inspect(&stream).unwrap().missing.found() > 0);
            now = vectors::words_of(dtype, &sleek::decompress(&stream).unwrap(), false);
            written = end;
        }
        for (v, r) in values.into_iter().zip(now) {
            assert!(exact::keeps(&params, bound, v, r), "round {round}, {params:?}: {v:#x} came back as {r:#x}");
        }
    }
    assert!(marked > 500, "{marked}");
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
            let length = |mark: u64, named: Option<MissingValue>| {
                let element = |i: u64| if island(i) { mark } else { dtype.nearest(value(i)) };
                let missing = MissingValues::of(named.as_slice()).unwrap();
                let find_fill = Some(named.is_none());
                let params = Params { profile, dims, missing, find_fill, ..Params::new(dtype).with_bound(bound) };
                kept(&params, &(0..rows * columns).map(element).collect::<Vec<u64>>()).stream.len()
            };
            let number = length(dtype.nearest(-999.9), None);
            let infinities = [f64::INFINITY, f64::NEG_INFINITY].map(|v| dtype.nearest(v));
            for mark in [nan, nan | sign, nan | sign | 5].into_iter().chain(infinities) {
                for named in [None, Some(MissingValue::Bits(mark))] {
                    assert!(20 * length(mark, named) <= 21 * number, "{dtype:?} {profile:?} {bound:?} {named:x?}");
                }
            }
        }
    }
}

/// A missing value that lies among the data makes a stream a tenth longer at most, also under a relative bound with
/// codec sleek; what was restored restores to itself.
#[test]
fn a_missing_value_among_the_data_costs_little() {
    let wind = std::fs::read(common::root().join("tests/data/navy_uwnd_12x73x144.f32")).unwrap();
    let wind: Vec<f64> = vectors::to_words(DType::F32, &wind).into_iter().map(|w| DType::F32.number(w)).collect();
    let dims = Dims::new(&[12, 73, 144]).unwrap();
    let bounds = [Bound::Abs(0.3), Bound::Abs(0.01), Bound::noa(1e-2), Bound::noa(1e-3)];
    let all = Profile::ALL.into_iter().flat_map(|profile| bounds.map(|bound| (profile, bound)));
    let relative = [(Profile::Adaptive, 1e-2), (Profile::Fast, 1e-3), (Profile::Adaptive, 1e-3)];
    let all: Vec<_> = all.chain(relative.map(|(profile, bound)| (profile, Bound::Rel(bound)))).collect();
    // Of 16 bits a number and the next one are so far apart that some elements are within the bound of the first alone.
    for (dtype, big_endian) in [(DType::F32, false), (DType::F64, true)] {
        let wind = words(dtype, &wind);
        for (profile, bound) in &all {
            let plain = Params { profile: *profile, big_endian, dims, ..Params::new(dtype) }.with_bound(*bound);
            let without = kept(&plain, &wind).stream.len();
            let is_relative = bound.mode() == Mode::Rel;
            for mark in [if is_relative { 8.0 } else { 0.0 }, 2.5, -7.25] {
                let params = Params { missing: named(&[mark]), ..plain.clone() };
                let Kept { stream, back, missing } = kept(&params, &wind);
                let (what, n) = (format!("{dtype:?} {profile:?} {bound:?} {mark}"), stream.len());
                assert!(10 * n <= 11 * without, "{what}: {n}, {without} without");
                // Codec sleek says so where a bin is the missing value.
                assert!(missing.has_next() || *profile != Profile::Small && mark != 0.0 && !is_relative, "{what}");
                assert!(bound.mode() == Mode::Noa || kept(&params, &back).back == back, "{what}: again");
            }
        }
    }
}
