//! Missing values come back bit for bit, nothing else comes back equal to one, and the bound holds for everything else,
//! also close to them; and they cost little. Every type, mode and set of them is in tests/matrix.

use crate::vectors;

use sleek::bound::sub_down;
use sleek::{Bound, DType, MissingValues, Params, Profile};
use vectors::Random;

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
const MODES: [Bound; 5] = [Bound::Lossless, Bound::Abs(0.05), Bound::noa(1e-3), Bound::noa(0.2), Bound::Rel(1e-2)];

/// The element's bits in the little-endian or big-endian bytes of an array.
fn words(dtype: DType, big_endian: bool, bytes: &[u8]) -> Vec<u64> {
    let word = |b: &[u8]| b.iter().rev().fold(0, |w, byte| w << 8 | u64::from(*byte));
    let swapped = |b: &[u8]| b.iter().fold(0, |w, byte| w << 8 | u64::from(*byte));
    bytes.chunks_exact(dtype.size()).map(|b| if big_endian { swapped(b) } else { word(b) }).collect()
}

fn bytes(dtype: DType, big_endian: bool, words: &[u64]) -> Vec<u8> {
    let of = |w: &u64| {
        let mut element = w.to_le_bytes()[..dtype.size()].to_vec();
        if big_endian {
            element.reverse();
        }
        element
    };
    words.iter().flat_map(of).collect()
}

/// Compresses and restores, and judges every element.
fn judge(params: &Params, words_in: &[u64]) -> usize {
    let (dtype, big_endian) = (params.dtype, params.big_endian);
    let data = bytes(dtype, big_endian, words_in);
    let stream = sleek::compress(params, &data).unwrap();
    let back = words(dtype, big_endian, &sleek::decompress(&stream).unwrap());
    let missing = params.missing.of_type(dtype).unwrap();
    let number = |w: u64| dtype.number(w);
    let equals_missing = |w: u64| missing.bits().iter().any(|m| *m == w || number(*m) == number(w));
    let valid = words_in.iter().filter(|w| !equals_missing(**w)).map(|w| number(*w)).filter(|v| v.is_finite());
    let (lo, hi) = valid.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    let range = if hi >= lo { sub_down(hi, lo) } else { 0.0 };
    for (i, (v, r)) in words_in.iter().zip(&back).enumerate() {
        let said = || format!("{params:?}: element {i}, {v:#x} ({}) came back as {r:#x} ({})", number(*v), number(*r));
        if missing.bits().contains(v) {
            assert_eq!(v, r, "{}", said());
            continue;
        }
        assert!(equals_missing(*v) || !equals_missing(*r), "{}", said());
        let (v, r) = (number(*v), number(*r));
        if !v.is_finite() {
            assert!(v == r || v.is_nan() && r.is_nan(), "{}", said());
            continue;
        }
        // Differences of f32 and narrower are exact in f64; of f64 the values here are small whole numbers of 2^-20.
        let error = (v - r).abs();
        let allowed = match params.bound {
            Bound::Lossless => 0.0,
            Bound::Abs(bound) => bound,
            Bound::Noa { share, .. } => share * range,
            Bound::Rel(bound) => bound * v.abs(),
            Bound::Rate(_) | Bound::Precision(_) => f64::INFINITY,
        };
        assert!(error <= allowed, "{}: error {error:e}, {allowed:e} is allowed", said());
    }
    stream.len()
}

/// A smooth field with some noise; sometimes whole numbers, sometimes all the same.
fn field(random: &mut Random, dtype: DType, kind: u64, n: usize) -> Vec<u64> {
    let offset = [0.0, 280.0, -5.0][(kind % 3) as usize];
    let value = |i: usize, noise: u64| match kind % 4 {
        0 => offset + (i as f64 / 40.0).sin() * 3.0 + (noise % 64) as f64 / 1048576.0,
        1 => ((noise % 7) as f64) + offset,
        2 => offset,
        _ => offset + ((noise % 2000) as f64 - 1000.0) / 64.0,
    };
    (0..n).map(|i| dtype.nearest(value(i, random.next()))).collect()
}

/// Values all around a mark, closer to it than the bound, in every mode.
#[test]
fn values_near_a_mark_stay_apart_from_it() {
    let mut random = Random(9999);
    for dtype in FLOATS {
        for mark in [-9999.0, 0.0, 1.0, 1e20, 0.1, -0.5] {
            let bits = dtype.nearest(mark);
            for bound in MODES {
                for scale in [0.0, 1e-3, 1.0, 30.0] {
                    let near = |r: &mut Random| {
                        let x = dtype.number(bits) + scale * ((r.below(2001) as f64 - 1000.0) / 1024.0);
                        dtype.nearest(x)
                    };
                    let elements: Vec<u64> =
                        (0..5000).map(|i| if i % 11 == 3 { bits } else { near(&mut random) }).collect();
                    for profile in [Profile::Adaptive, Profile::Fast] {
                        let params = Params {
                            missing: MissingValues::number(Some(mark)),
                            profile,
                            ..Params::new(dtype).with_bound(bound)
                        };
                        judge(&params, &elements);
                    }
                }
            }
        }
    }
}

/// Where the bound is half a step, numbers at the edge of a mark's bin are within the bound of the mark and of no
/// number next to it: their chunk stays exact, and no other one does.
#[test]
fn numbers_at_the_edge_of_a_marks_bin_stay_within_the_bound() {
    for (dtype, big_endian) in FLOATS.into_iter().zip([false, true, false, true]) {
        for (mark, profile) in [0.0, 4.0, -6.0].into_iter().flat_map(|m| [(m, Profile::Adaptive), (m, Profile::Fast)]) {
            let missing = MissingValues::number(Some(mark));
            let params = Params { missing, profile, big_endian, ..Params::new(dtype) }.with_bound(Bound::Abs(0.5));
            let per_chunk = 16384 / dtype.size();
            let length = |values: &[f64]| {
                let words: Vec<u64> =
                    (0..per_chunk).map(|i| dtype.nearest(mark + values[i * i % values.len()])).collect();
                judge(&params, &words)
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
    let mut random = Random(5);
    let named = |params: &Params| Params { missing: MissingValues::number(Some(1e20)), ..params.clone() };
    let params = Params::new(DType::F32).with_bound(Bound::Abs(0.01));
    let elements = field(&mut random, DType::F32, 0, 40_000);
    let (without, with) = (judge(&params, &elements), judge(&named(&params), &elements));
    assert_eq!(with, without + 32, "the header's extension");
    let nothing = vec![u64::from(1e20f32.to_bits()); 40_000];
    assert_eq!(judge(&named(&params), &nothing), judge(&params, &vec![0; 40_000]) + 32);
}
