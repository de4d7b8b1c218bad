//! The promise of each mode, judged in exact arithmetic on data made to break it: ties, neighbours of ties, the ends of
//! the quantizer's range, subnormal numbers, NaN with payloads, infinities, −0.

use crate::{common, vectors};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use sleek::bound::{Step, step_range};
use sleek::{Bound, DType, Kind, Mode, Params, Profile};
use std::hash::{DefaultHasher, Hash, Hasher};
use vectors::{Random, exact, float_layout, mask, to_bytes, word, words_of};

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
const PROFILES: [Profile; 2] = [Profile::Adaptive, Profile::Fast];

/// Compresses and restores; says what is wrong with what came back. Returns the chunks by kind.
fn round_trip(params: &Params, words: &[u64]) -> Result<[u64; 3], String> {
    let data = to_bytes(params.dtype, words, params.big_endian);
    let stream = sleek::compress(params, &data).map_err(|error| error.to_string())?;
    let back = sleek::decompress(&stream).map_err(|error| error.to_string())?;
    let info = sleek::inspect(&stream).map_err(|error| error.to_string())?;
    if params.bound.mode() == Mode::Noa && info.abs_bound != 0.0 {
        let (lo, hi) = params.bound.range().map_or_else(|| range(params, words), |range| (0.0, range));
        if !exact::within_range(info.abs_bound, params.bound.number(), lo, hi) {
            return Err(format!(
                "the absolute bound {:e} is above {:e} * ({hi:e} - {lo:e})",
                info.abs_bound,
                params.bound.number()
            ));
        }
    }
    exact::judge(params, info.abs_bound, &data, &back)?;
    Ok([info.chunks[0], info.chunks[1], info.chunks[2]])
}

/// Least and greatest finite value that is not the fill value.
fn range(params: &Params, words: &[u64]) -> (f64, f64) {
    let values = words.iter().map(|&w| exact::value(params.dtype, w));
    let counted = values.filter(|v| v.is_finite() && Some(*v) != params.fill_number());
    counted.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)))
}

/// As many copies of a number behind the words as there are words: then the chunks are packed, whatever the words are,
/// and the quantizer is tested instead of the raw chunk.
fn packable(words: &[u64]) -> Vec<u64> {
    let mut words = words.to_vec();
    words.resize(2 * words.len() + 300, 0);
    words
}

fn params(dtype: DType, mode: Mode, bound: f64, profile: Profile) -> Params {
    Params { profile, ..Params::new(dtype).with_bound(Bound::new(mode, bound).unwrap()) }
}

fn next(x: f64) -> f64 {
    f64::from_bits(x.to_bits() + 1)
}

fn previous(x: f64) -> f64 {
    f64::from_bits(x.to_bits() - 1)
}

/// Bounds at every corner of `Step::for_bound`: the least for a factor and the greatest below the next factor.
fn corners(j: i16) -> impl Iterator<Item = f64> {
    (4..=7u32).flat_map(move |w| {
        // The bound half a step; for the smallest steps it may be a subnormal number and then exact all the same.
        let bound = f64::from(w) * exact::power(i32::from(j).max(-1020)) / 2.0;
        [bound, next(bound), previous(f64::from(w + 1) * exact::power(i32::from(j).max(-1020)) / 2.0)]
    })
}

// ---- all values of the small types ----

#[test]
fn every_half_with_every_step() {
    let words: Vec<u64> = (0..1 << 16).collect();
    for dtype in [DType::F16, DType::BF16] {
        let steps = step_range(dtype);
        let every = if common::short() { 4 } else { 1 };
        for j in (*steps.start() - 2..=*steps.end() + 3).step_by(every * if dtype == DType::F16 { 1 } else { 9 }) {
            for bound in corners(j) {
                for profile in PROFILES {
                    round_trip(&params(dtype, Mode::Abs, bound, profile), &words).unwrap();
                }
            }
        }
        for bound in [0.0, 5e-324, f64::MIN_POSITIVE, 1e-45, 0.1, 1e-3, 65504.0, 1e38, f64::MAX] {
            for profile in PROFILES {
                for mode in [Mode::Abs, Mode::Noa, Mode::Rel] {
                    round_trip(&params(dtype, mode, bound, profile), &words).unwrap();
                }
            }
        }
    }
}

#[test]
fn every_half_with_every_relative_bound() {
    let ordered: Vec<u64> = (0..1 << 16).collect();
    // The same values in an order that puts numbers of every kind into each chunk.
    let mixed: Vec<u64> = (0..1 << 16).map(|i| (i * 40503) & 0xFFFF).collect();
    for dtype in [DType::F16, DType::BF16] {
        for e in -14..2 {
            for bound in [exact::power(e), next(exact::power(e)), previous(exact::power(e)), 1.37 * exact::power(e)] {
                for profile in PROFILES {
                    round_trip(&params(dtype, Mode::Rel, bound, profile), &ordered).unwrap();
                    round_trip(&params(dtype, Mode::Rel, bound, profile), &mixed).unwrap();
                }
            }
        }
    }
}

#[test]
fn every_half_lossless() {
    for dtype in [DType::F16, DType::BF16, DType::I16, DType::U16] {
        for profile in PROFILES {
            for big_endian in [false, true] {
                for factor in [1u64, 3, 129, 40503] {
                    let words: Vec<u64> = (0..1 << 16).map(|i| (i * factor) & 0xFFFF).collect();
                    let params = Params { big_endian, ..params(dtype, Mode::Lossless, 0.0, profile) };
                    round_trip(&params, &words).unwrap();
                }
            }
        }
    }
}

// ---- structured values of every type ----

/// Values at which quantizing with `step` can go wrong, each moved by a few units in its last place.
fn delicate(random: &mut Random, dtype: DType, step: Step, count: usize) -> Vec<u64> {
    let (m, _) = float_layout(dtype).unwrap();
    let specials = vectors::specials(dtype);
    let all = mask(dtype);
    let sign = all ^ all >> 1;
    let factor = u64::from(step.w);
    // Half steps up to the magnitude from which values keep their bits.
    let limit = (2 << m) / factor;
    let one = |random: &mut Random| {
        let half_steps = match random.below(5) {
            0 => random.below(40),
            1 => random.next() >> (63 - random.below(u64::from(m))),
            2 => limit.saturating_sub(3) + random.below(7),
            _ => random.below(limit),
        };
        let base = match random.below(12) {
            0 => specials[random.below(specials.len() as u64) as usize],
            1 => random.next(),
            2 => random.next() & all >> random.below(u64::from(m)),
            _ => vectors::try_word(dtype, (half_steps * factor) as i64, i32::from(step.j) - 1).unwrap_or(1),
        };
        (base.wrapping_add(random.around(3) as u64) ^ (sign * random.below(2))) & all
    };
    (0..count).map(|_| one(random)).collect()
}

fn bound_strategy() -> impl Strategy<Value = f64> {
    prop_oneof![
        // Any positive finite number; numbers near 1; corners.
        any::<u64>().prop_map(|bits| f64::from_bits((bits & (u64::MAX >> 1)).min(f64::MAX.to_bits()))),
        (-40i32..40, any::<u64>()).prop_map(|(e, f)| f64::from_bits(exact::power(e).to_bits() | f >> 12)),
        (-150i32..130, 0usize..12).prop_map(|(j, i)| corners(j as i16).nth(i).unwrap()),
        (-1024i32..964, 0usize..12).prop_map(|(j, i)| corners(j as i16).nth(i).unwrap()),
        (-30i32..10, 0usize..12).prop_map(|(j, i)| corners(j as i16).nth(i).unwrap()),
    ]
}

fn length_strategy(chunk: usize) -> impl Strategy<Value = usize> {
    prop_oneof![
        1 => prop::sample::select(vec![0, 1, 2]),
        2 => prop::sample::select(vec![chunk - 1, chunk, chunk + 1]),
        6 => 1..700usize,
    ]
}

fn mode_strategy() -> impl Strategy<Value = Mode> {
    prop::sample::select(vec![Mode::Abs, Mode::Abs, Mode::Noa, Mode::Rel, Mode::Lossless])
}

/// The words whose values lie between −1/2 and 1/2 or are not finite, and those two: data of value range 1.
fn of_range_one(dtype: DType, words: &[u64]) -> Vec<u64> {
    let ends = [word(dtype, 1, -1), word(dtype, -1, -1)];
    let fits = |w: &u64| !exact::value(dtype, *w).is_finite() || exact::value(dtype, *w).abs() <= 0.5;
    words.iter().copied().filter(fits).chain(ends).collect()
}

/// One case: data for the step that the bound leads to, and the same padded so that it is packed.
fn delicate_case(params: &Params, seed: u64, count: usize) -> TestCaseResult {
    let mut random = Random(seed);
    let mut params = params.clone();
    let dtype = params.dtype;
    if params.bound.mode() == Mode::Noa && random.below(2) == 0 {
        let range = exact::power(random.around(20) as i32) * (1.0 + random.below(1000) as f64 / 1000.0);
        params.bound = params.bound.of_range(Some(range));
    }
    let abs = params.bound.number() * params.bound.range().unwrap_or(1.0);
    let step = Step::for_bound(dtype, abs, params.profile).unwrap_or(Step { w: 5, j: -5 });
    let mut words = delicate(&mut random, dtype, step, count);
    if params.bound.measures() && count > 0 {
        words = of_range_one(dtype, &words);
    }
    for words in [packable(&words), words] {
        if let Err(error) = round_trip(&params, &words) {
            return Err(TestCaseError::fail(error));
        }
    }
    Ok(())
}

macro_rules! delicate_values {
    ($($name:ident: $dtype:expr;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig {
                cases: if common::short() { 600 } else { 1500 },
                failure_persistence: None,
                ..ProptestConfig::default()
            })]
            $(
                #[test]
                fn $name(
                    bound in bound_strategy(), mode in mode_strategy(), fast: bool, big_endian: bool, seed: u64,
                    count in length_strategy(16384 / $dtype.size()),
                ) {
                    let params = params($dtype, mode, bound, PROFILES[usize::from(fast)]);
                    delicate_case(&Params { big_endian, ..params }, seed, count)?;
                }
            )*
        }
    };
}

delicate_values! {
    delicate_f32: DType::F32;
    delicate_f64: DType::F64;
    delicate_f16: DType::F16;
    delicate_bf16: DType::BF16;
}

/// Every step that the two large types can have, with values around its ties and its threshold.
#[test]
fn every_step_of_the_large_types() {
    let mut random = Random(4);
    for dtype in [DType::F32, DType::F64] {
        let steps = step_range(dtype);
        // Where time matters every third step, and each corner of a step with it.
        for j in (*steps.start() - 2..=*steps.end() + 3).step_by(if common::short() { 3 } else { 1 }) {
            for bound in corners(j) {
                let Some(step) = Step::for_bound(dtype, bound, Profile::Adaptive) else {
                    assert!(j < *steps.start() || bound < exact::power(i32::from(j).max(-1020)) * 2.0);
                    continue;
                };
                let words = packable(&delicate(&mut random, dtype, step, 300));
                for profile in PROFILES {
                    round_trip(&params(dtype, Mode::Abs, bound, profile), &words).unwrap();
                }
            }
        }
    }
}

/// The tests above are about the quantizer, so chunks that are stored raw would prove nothing.
#[test]
fn delicate_values_are_packed() {
    for dtype in FLOATS {
        for mode in [Mode::Abs, Mode::Rel, Mode::Lossless] {
            let words = packable(&delicate(&mut Random(9), dtype, Step { w: 7, j: -7 }, 3000));
            let params = params(dtype, mode, 3.5 / 128.0, Profile::Adaptive);
            let [packed, raw, constant] = round_trip(&Params { find_fill: None, ..params }, &words).unwrap();
            let told = format!("{dtype:?} {mode:?}: {packed} chunks packed, {raw} raw, {constant} constant");
            assert!(packed > 0 && packed + constant > raw, "{told}");
        }
    }
}

// ---- integers, refusals ----

#[test]
fn integers_come_back_whatever_they_are() {
    let mut random = Random(41);
    for dtype in DType::ALL {
        for round in 0..200 {
            let count = random.below(3000) as usize;
            let keep = random.below(8 * dtype.size() as u64) as u32;
            let base = random.next();
            // Any mix of width, sign, base and trailing zeros.
            let zeros = random.below(u64::from(keep) + 1) as u32;
            let words: Vec<u64> = (0..count)
                .map(|_| (base ^ random.next() >> 1 >> (63 - keep)) >> zeros << zeros & mask(dtype))
                .collect();
            let params =
                Params { big_endian: round % 3 == 0, ..params(dtype, Mode::Lossless, 0.0, PROFILES[round % 2]) };
            round_trip(&params, &words).unwrap();
            round_trip(&params, &packable(&words)).unwrap();
        }
    }
}

#[test]
fn what_cannot_be_promised_is_refused() {
    for bound in [-1.0, -0.0 - 5e-324, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for mode in [Mode::Abs, Mode::Noa, Mode::Rel] {
            let error = sleek::compress(&params(DType::F32, mode, bound, Profile::Adaptive), &[0; 8]).unwrap_err();
            assert_eq!(error.kind, Kind::InvalidBound, "{bound}");
        }
    }
    for dtype in DType::ALL.into_iter().filter(|dtype| !dtype.is_float()) {
        let error = sleek::compress(&params(dtype, Mode::Abs, 1.0, Profile::Adaptive), &[0; 8]).unwrap_err();
        assert_eq!(error.kind, Kind::UnsupportedType);
    }
    for range in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let params = Params::new(DType::F64).with_bound(Bound::Noa { share: 1e-3, range: Some(range) });
        assert_eq!(sleek::compress(&params, &[0; 8]).unwrap_err().kind, Kind::InvalidArgument);
    }
    let odd = sleek::compress(&Params::new(DType::F64), &[0; 9]).unwrap_err();
    assert_eq!(odd.kind, Kind::InvalidArgument);
}

// ---- what words of 16 bits hold, and what not ----

/// A smooth wave around `base`, in which second differences are the smallest codes, with three spikes now and then,
/// `height` above, below and above the base: as second differences four times as large. Nothing is a whole number.
fn spikes(base: i64, height: i64, count: usize) -> Vec<f64> {
    let wave = |i: usize| (3000.0 * (i as f64 * std::f64::consts::TAU / 1024.0).sin()) as i64;
    let number = |i: usize| match i % 257 {
        100 | 102 => height,
        101 => -height,
        _ => wave(i),
    };
    (0..count).map(|i| (base + number(i)) as f64 + (i * 37 % 101) as f64 / 101.0 - 0.5).collect()
}

/// Encoder and decoder use words of 16 bits where quantized numbers are close to the first one. Here they are that, are
/// just not, or are no quantized numbers at all, since the base is beyond the quantizer's range. In steps of exactly
/// and of a little less than twice the bound.
#[test]
fn spikes_around_what_small_words_hold() {
    let mut hasher = DefaultHasher::new();
    for dtype in [DType::F32, DType::F64] {
        let (m, _) = float_layout(dtype).unwrap();
        let word = |x: f64| if dtype == DType::F32 { (x as f32).to_bits().into() } else { x.to_bits() };
        let bases = [0, m / 2, m - 4, m - 3, m - 2, m - 1, m, m + 1, m + 4].map(|e| 1i64 << e);
        for base in bases.into_iter().flat_map(|b| [b - 1, -b]) {
            for height in [1 << 12, (1 << 13) - 1, 1 << 13, (1 << 14) - 1, 1 << 14, 1 << 15] {
                for (w, share) in (4..8).flat_map(|w| [(w, 0.5), (w, 0.55)]) {
                    let step = f64::from(w) / 4.0;
                    let words: Vec<u64> = spikes(base, height, 5000).into_iter().map(|x| word(x * step)).collect();
                    let params = params(dtype, Mode::Abs, share * step, Profile::Adaptive);
                    round_trip(&params, &words)
                        .unwrap_or_else(|e| panic!("{dtype:?}, {base} ± {height}, w = {w}: {e}"));
                    sleek::compress(&params, &to_bytes(dtype, &words, false)).unwrap().hash(&mut hasher);
                }
            }
        }
    }
    println!("streams: {:016x}", hasher.finish());
}

#[test]
fn small_words_change_no_byte() {
    vectors::levels::alike_at_all_levels("bound::spikes_around_what_small_words_hold");
}

/// A chunk of which one half is written once, and the other one with a wide and a narrow range by turns. The lattice of
/// codec interp ends between.
#[test]
fn a_range_that_shrinks_and_grows_moves_nothing_twice() {
    let random = &mut Random(75);
    let (share, half) = (0.001, 200);
    for round in 0..if common::short() { 48 } else { 480 } {
        let dtype = [DType::F32, DType::F64, DType::F32, DType::BF16][round % 4];
        let profile = [Profile::Small, Profile::Adaptive, Profile::Small, Profile::Fast][round / 4 % 4];
        let border = if dtype == DType::F64 { f64::from(1 << 28) } else { 124_000.0 };
        // Elements lie between the borders of the lattices of both ranges.
        let wide = 16.2;
        let level = border / 7.6 * share * wide / 4.0 * (1.0 + random.below(100) as f64 / 100.0);
        let params = Params { profile, ..Params::new(dtype).with_bound(Bound::noa(share)) };
        let wave = |range: f64, at: f64, i: usize| level + range / 2.0 * (at + i as f64 * 0.05).sin();
        let mut values: Vec<f64> = (0..2 * half).map(|i| wave(wide / 2.0, 0.0, i)).collect();
        let mut now = to_bytes(dtype, &values.iter().map(|v| dtype.nearest(*v)).collect::<Vec<_>>(), false);
        let (size, first) = (dtype.size(), now.clone());
        for write in 0..12 {
            let range = if write % 2 == 0 { wide } else { wide / 2.0 };
            (half..2 * half).for_each(|i| values[i] = wave(range, random.below(600) as f64 / 100.0, i));
            let other: Vec<u64> = values[half..].iter().map(|v| dtype.nearest(*v)).collect();
            now[half * size..].copy_from_slice(&to_bytes(dtype, &other, false));
            let given = sleek::of_chunk(params.clone(), &now).unwrap();
            now = sleek::decompress(&sleek::compress(&given, &now).unwrap()).unwrap();
        }
        let number = |bytes: &[u8]| words_of(dtype, bytes, false).into_iter().map(|word| dtype.number(word));
        let error = number(&first[..half * size]).zip(number(&now[..half * size])).map(|(v, r)| (v - r).abs());
        let (most, error) = (share * wide, error.fold(0.0, f64::max));
        assert!(error <= most, "round {round}, {params:?}: around {level} an error of {error}, allowed are {most}");
    }
}

#[test]
fn every_simd_level_keeps_the_bound() {
    vectors::levels::at_lower_levels(&["bound::delicate_f", "bound::every_half_lossless", "bound::integers_come_back"]);
}
