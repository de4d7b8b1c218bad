//! What is inside of limits comes back inside, whatever else is asked for; and which profiles keep signs and order by
//! themselves.

use crate::{common, vectors};

use sleek::{Bound, DType, Dims, MissingValue, MissingValues, Mode, Params, Profile};
use vectors::Random;

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
const ZFP: u8 = 3;
const DIMS: [u64; 2] = [150, 170];

/// Numbers of elements.
fn numbers(params: &Params, bytes: &[u8]) -> Vec<f64> {
    let words = vectors::words_of(params.dtype, bytes, params.big_endian);
    words.into_iter().map(|word| params.dtype.number(word)).collect()
}

fn bytes(params: &Params, values: &[f64]) -> Vec<u8> {
    let bits: Vec<u64> = values.iter().map(|v| params.dtype.nearest(*v)).collect();
    vectors::to_bytes(params.dtype, &bits, params.big_endian)
}

/// A cloud fraction: many cells of 0 and 1, and all between; some cells are outside, and some are missing.
fn fraction(r: &mut Random) -> Vec<f64> {
    let cell = |i: u64, r: &mut Random| {
        let (y, x) = ((i / DIMS[1]) as f64, (i % DIMS[1]) as f64);
        let wave = 0.5 + 0.7 * (x / 23.0).sin() * (y / 31.0).cos() + 0.02 * (r.below(1000) as f64 / 1000.0 - 0.5);
        match r.below(900) {
            0 => -999.0,
            1 => 1.25,
            2 => f64::NAN,
            _ => wave.clamp(0.0, 1.0),
        }
    };
    (0..DIMS[0] * DIMS[1]).map(|i| cell(i, r)).collect()
}

fn requests(dtype: DType) -> Vec<Params> {
    let mut all = Vec::new();
    for bound in [Bound::Abs(3e-3), Bound::noa(1e-3), Bound::Rel(2e-2), Bound::Abs(0.7)] {
        for profile in Profile::ALL {
            let big_endian = profile == Profile::Fast;
            for find_fill in [None, Some(true)] {
                let dims = Dims::new(&DIMS).unwrap();
                all.push(Params { profile, big_endian, find_fill, dims, ..Params::new(dtype).with_bound(bound) });
            }
        }
    }
    if matches!(dtype, DType::F32 | DType::F64) {
        all.push(Params {
            codec: ZFP,
            dims: Dims::new(&DIMS).unwrap(),
            ..Params::new(dtype).with_bound(Bound::Abs(3e-3))
        });
    }
    all
}

/// How many values leave the limits, of those that were inside; whatever the bound is must hold.
fn leave(params: &Params, values: &[f64], (low, high): (f64, f64)) -> usize {
    let src = bytes(params, values);
    let mut room = vec![0; sleek::compress_bound(params, values.len()).unwrap()];
    let n = sleek::compress_into(params, &src, &mut room).unwrap();
    let back = sleek::decompress(&room[..n]).unwrap();
    let (before, after) = (numbers(params, &src), numbers(params, &back));
    let info = sleek::inspect(&room[..n]).unwrap();
    let is_inside = |v: f64| low <= v && v <= high;
    let mut left = 0;
    for (v, r) in before.into_iter().zip(after) {
        let allowed = if let Bound::Rel(share) = params.bound { share * v.abs() } else { info.abs_bound };
        assert!(v.to_bits() == r.to_bits() || v == r || (v - r).abs() <= allowed, "{params:?}: {v} {r}");
        left += usize::from(is_inside(v) && !is_inside(r));
    }
    left
}

#[test]
fn what_is_inside_stays_inside() {
    let r = &mut Random(69);
    let mut left_without = 0;
    // Where time matters each request with a third of the limits.
    let every = if common::short() { 3 } else { 1 };
    for dtype in FLOATS {
        for (k, params) in requests(dtype).into_iter().enumerate() {
            // A limit that elements do not have, one end alone, a far one, and none that binds.
            for text in
                ["0:1", "0:", ":1", "0.1:0.9", "-5:0.333333333", "-1e300:2"].into_iter().skip(k % every).step_by(every)
            {
                let asked = sleek::text::parse(&format!("abs=1,limits={text}")).unwrap().limits;
                let limits = asked.unwrap();
                let values = fraction(r);
                left_without += leave(&params, &values, (limits.low, limits.high));
                let with = Params { limits: asked, ..params.clone() };
                assert_eq!(leave(&with, &values, (limits.low, limits.high)), 0, "{with:?}");
            }
        }
    }
    assert!(left_without > 1000, "{left_without}");
}

/// A place for a limit is worth more than one for NaN, which comes back without. Beside two numbers there is none for
/// 0, which takes two, and 1.
#[test]
fn limits_take_the_places_of_nan() {
    let values = fraction(&mut Random(71));
    let asked = |marks: &str| {
        let text = format!("abs=3e-3,profile=small,{marks}");
        let params = Params { dims: Dims::new(&DIMS).unwrap(), ..sleek::text::parse(&text).unwrap() };
        assert_eq!(leave(&params, &values, (0.0, 1.0)) == 0, params.limits.is_some(), "{text}");
        let stream = sleek::compress(&params, &bytes(&params, &values)).unwrap();
        (sleek::inspect(&stream).unwrap().mode, stream.len())
    };
    let (without, with) = (asked("fill=-999,fill=nan"), asked("fill=-999,fill=nan,limits=0:1"));
    assert!(with.0 == Mode::Abs && with.1 < without.1 * 3 / 2, "{with:?}, without limits {without:?}");
    assert_eq!(asked("fill=-999,fill=1.25,limits=0:1").0, Mode::Lossless);
}

/// What leaves limits does not become a missing value, which a limit may be.
#[test]
fn a_limit_may_be_a_missing_value() {
    let r = &mut Random(72);
    let mut left_without = 0;
    for dtype in FLOATS {
        for asked in requests(dtype) {
            let values = fraction(r);
            for marks in [&[0.0, 1.0][..], &[1.0, dtype.number(dtype.nearest(1.0) - 1)]] {
                let named: Vec<_> = marks.iter().map(|mark| MissingValue::Number(*mark)).collect();
                let params = Params { missing: MissingValues::of(&named).unwrap(), ..asked.clone() };
                left_without += leave(&params, &values, (0.0, 1.0));
                let params = Params { limits: sleek::text::parse("abs=1,limits=0:1").unwrap().limits, ..params };
                assert_eq!(leave(&params, &values, (0.0, 1.0)), 0, "{params:?}");
                let src = bytes(&params, &values);
                let back = sleek::decompress(&sleek::compress(&params, &src).unwrap()).unwrap();
                for (v, r) in numbers(&params, &src).into_iter().zip(numbers(&params, &back)) {
                    assert!(marks.contains(&v) == marks.contains(&r), "{params:?}: {v} became {r}");
                }
            }
        }
    }
    assert!(left_without > 1000, "{left_without}");
}

/// Limits that do not bind change no byte, and written again and again nothing drifts.
#[test]
fn limits_cost_nothing_where_they_do_not_bind_and_nothing_drifts() {
    let r = &mut Random(70);
    for params in requests(DType::F32).into_iter().filter(|params| params.codec != ZFP) {
        let values = fraction(r);
        let far = sleek::text::parse("abs=1,limits=-2000:20").unwrap().limits;
        let src = bytes(&params, &values);
        let of = |params: &Params| sleek::compress(params, &src).unwrap();
        assert!(of(&params) == of(&Params { limits: far, ..params.clone() }), "{params:?}");
        // Of codec interp what comes back may change when it is written again, limits or not.
        if matches!(params.bound, Bound::Noa { .. }) || params.profile == Profile::Small {
            continue;
        }
        let near = Params { limits: sleek::text::parse("abs=1,limits=0:1").unwrap().limits, ..params.clone() };
        let once = sleek::decompress(&of(&near)).unwrap();
        let again = sleek::decompress(&sleek::compress(&near, &once).unwrap()).unwrap();
        assert!(once == again, "{near:?}");
    }
}

/// An array of which parts are written, each into what came back, keeps limits and bound. What was put at a limit, or
/// next to it, is not rounded once more.
#[test]
fn limits_hold_over_any_number_of_writes() {
    let r = &mut Random(73);
    let (len, part) = (100, 10);
    let mut at_the_limit = 0;
    for round in 0..if common::short() { 2000 } else { 20_000 } {
        let dtype = FLOATS[round % 4];
        let bound = [0.125, 0.5, 1.0][round % 3];
        let limits = sleek::text::parse(["abs=1,limits=0:", "abs=1,limits=:0", "abs=1,limits=-0.2:0.7"][round / 3 % 3]);
        let limits = limits.unwrap().limits;
        let params = Params { profile: Profile::Small, limits, ..Params::new(dtype).with_bound(Bound::Abs(bound)) };
        let params = Params { find_fill: Some(round % 2 == 0), ..params };
        let sign = if round / 3 % 3 == 1 { -1.0 } else { 1.0 };
        let value = |_| sign * bound * (r.below(3000) as f64 / 1000.0 - 1.0);
        let values = numbers(&params, &bytes(&params, &(0..len).map(value).collect::<Vec<_>>()));
        let (mut now, mut n) = (vec![0.0; len], 0);
        while n < len {
            let end = len.min(n + part);
            now[n..end].copy_from_slice(&values[n..end]);
            now = numbers(
                &params,
                &sleek::decompress(&sleek::compress(&params, &bytes(&params, &now)).unwrap()).unwrap(),
            );
            n = end;
        }
        let (low, high) = limits.map(|limits| (limits.low, limits.high)).unwrap();
        let is_inside = |v: f64| low <= v && v <= high;
        for (v, r) in values.into_iter().zip(now) {
            assert!((v - r).abs() <= bound, "round {round}, {params:?}: {v} came back as {r}");
            assert!(!is_inside(v) || is_inside(r), "round {round}, {params:?}: {v} left as {r}");
            at_the_limit += usize::from(r == low || r == high);
        }
    }
    assert!(at_the_limit > 1000, "{at_the_limit}");
}

/// Values outside of limits keep the bound too: next to a limit that is no multiple of the lattice may be one that is.
#[test]
fn what_is_outside_is_not_moved_twice() {
    let r = &mut Random(74);
    let bound = 0.5;
    for round in 0..if common::short() { 3000 } else { 30_000 } {
        // The lattice of this bound has the multiples of 67 / 1024.
        let multiple = (4000 + r.below(4000)) as f32 * (67.0 / 1024.0);
        let limit = f64::from(multiple.next_down());
        let limits = sleek::text::parse(&format!("abs=1,limits={limit}:")).unwrap().limits;
        let params =
            Params { profile: Profile::Small, limits, ..Params::new(DType::F32).with_bound(Bound::Abs(bound)) };
        let far = 1 + r.below(8);
        let value = |i: u64| match i < 64 && r.below(far) == 0 {
            true => limit + bound * (r.below(2000) as f64 / 1000.0 - 1.0),
            false => limit + bound * (3.0 + r.below(1000) as f64 / 1000.0),
        };
        let values = numbers(&params, &bytes(&params, &(0..128).map(value).collect::<Vec<_>>()));
        let mut now = vec![limit + 3.0 * bound; values.len()];
        for half in [0..64, 64..128] {
            now[half.clone()].copy_from_slice(&values[half]);
            let stream = sleek::compress(&params, &bytes(&params, &now)).unwrap();
            now = numbers(&params, &sleek::decompress(&stream).unwrap());
        }
        let wrong = values.iter().zip(&now).find(|(v, r)| (*v - *r).abs() > bound);
        assert!(wrong.is_none(), "round {round}, {params:?}: {wrong:?}");
    }
}

/// Profiles fast and adaptive keep signs, so that no fraction becomes negative; of f32 and f64 they keep order too, so
/// that no sorted time goes back.
#[test]
fn fast_and_adaptive_keep_order_and_signs() {
    let r = &mut Random(71);
    for dtype in FLOATS {
        for round in 0..if common::short() { 18 } else { 40 } {
            let mut value = [0.0, -3.0, 250.0][round % 3];
            let step = [1e-4, 1e-2, 3.0][round / 3 % 3];
            let values: Vec<f64> = (0..40_000)
                .map(|_| {
                    value += [0.0, step, step * 7.3][r.below(3) as usize] * (r.below(1000) as f64 / 1000.0);
                    value
                })
                .collect();
            // In any place: what keeps order there has it when it is sorted.
            let mut mixed: Vec<usize> = (0..values.len()).collect();
            (0..mixed.len()).for_each(|i| mixed.swap(i, r.below(values.len() as u64) as usize));
            let order = if round % 2 == 0 { (0..values.len()).collect() } else { mixed };
            for bound in [Bound::Abs(0.05), Bound::noa(1e-3), Bound::Rel(1e-2)] {
                for profile in [Profile::Fast, Profile::Adaptive] {
                    let params = Params { profile, ..Params::new(dtype).with_bound(bound) };
                    let src = bytes(&params, &order.iter().map(|i| values[*i]).collect::<Vec<f64>>());
                    let back = sleek::decompress(&sleek::compress(&params, &src).unwrap()).unwrap();
                    let mut pairs: Vec<(f64, f64)> =
                        numbers(&params, &src).into_iter().zip(numbers(&params, &back)).collect();
                    assert!(
                        pairs.iter().all(|(v, r)| (*v < 0.0 || *r >= 0.0) && (*v > 0.0 || *r <= 0.0)),
                        "{params:?}"
                    );
                    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
                    assert!(
                        dtype.size() < 4 || pairs.windows(2).all(|p| p[0].1 <= p[1].1),
                        "{params:?}: sorted values out of order"
                    );
                }
            }
        }
    }
}
