//! Codec interp, judged by its page: the reference decoder, written from docs/reference/codecs/interp.md alone, reads
//! what our encoder makes, and what the page allows besides; it refuses damage that our decoder refuses. That the bound
//! holds, also for what is written again or in parts, is in tests/matrix.

use crate::cases::{Case, Coded};
use crate::{common, forms, reference, vectors};
use reference::builder::seal;
use reference::{agreed, container};
use sleek::{Bound, DType, Dims, MissingValue, MissingValues, Mode, Params, Profile};
use std::hash::{DefaultHasher, Hash, Hasher};
use vectors::{Random, exact};

const SHAPES: [&[u64]; 9] =
    [&[1], &[130], &[700], &[20000], &[130, 131], &[3, 5000], &[40, 33, 35], &[3, 5, 7, 40], &[2, 1, 9, 1, 30, 31]];
const KINDS: [&str; 7] = ["decimals", "few", "smooth", "table", "sparse", "parabola", "spiky"];

fn params(dtype: DType, bound: Bound, lens: &[u64]) -> Params {
    let dims = Dims::new(lens).unwrap();
    Params { profile: Profile::Small, dims, ..Params::new(dtype).with_bound(bound) }
}

fn modes(dtype: DType) -> Vec<Bound> {
    match dtype.is_float() {
        true => vec![Bound::Lossless, Bound::Abs(0.05), Bound::noa(1e-5), Bound::noa(1e-2), Bound::Rel(0.01)],
        false => vec![Bound::Lossless],
    }
}

/// The stream of an array, and what both decoders restore, within the bound.
fn checked(params: &Params, data: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let stream = sleek::compress(params, data).unwrap();
    let info = sleek::inspect(&stream).unwrap();
    assert_eq!((info.codec, info.profile), (5, Profile::Small));
    let back = agreed(&stream, &format!("{params:?}")).unwrap_or_else(|| panic!("{params:?}: both refuse it"));
    exact::judge(params, info.abs_bound, data, &back).unwrap_or_else(|error| panic!("{params:?}: {error}"));
    (stream, back)
}

/// Every type, mode and shape; and what came back compresses to itself.
#[test]
fn the_page_says_the_same() {
    let mut all = DefaultHasher::new();
    for dtype in DType::ALL {
        for bound in modes(dtype) {
            for (k, shape) in SHAPES.into_iter().enumerate() {
                let generator = ["walk", "signed", "specials", "noise"][(k + dtype as usize) % 4];
                let params = Params { big_endian: k % 3 == 1, ..params(dtype, bound, shape) };
                let data = vectors::bytes(generator, dtype, k as u64, params.dims.count() as usize, params.big_endian);
                let (stream, back) = checked(&params, &data);
                stream.hash(&mut all);
                let abs = params.clone().with_bound(Bound::Abs(sleek::inspect(&stream).unwrap().abs_bound));
                let again = if bound.mode() == Mode::Noa { abs } else { params };
                assert!(checked(&again, &back).1 == back, "{again:?} {generator}");
            }
        }
    }
    println!("streams: {:x}", all.finish());
}

/// Arrays of the matrix, of every codec, and damage to their streams; what came back and mixes of it with new data too.
#[test]
fn the_pages_read_arrays_of_the_matrix() {
    let random = &mut Random(17);
    let mut outcomes = [0, 0];
    for seed in 0..if common::short() { 250 } else { 2000 } {
        let case = Case::new(seed);
        let result = case.run(&mut |params, data| {
            let what = format!("array {seed}, {}", case.name());
            let stream = sleek::compress(params, data).map_err(|e| e.to_string())?;
            let back = agreed(&stream, &what).ok_or("is refused")?;
            // NaN that arithmetic of damaged blocks makes have no certain bits.
            if stream[8] != 3 && container(&stream).unwrap().chunks > 0 {
                for damaged in damaged(&stream, random, 3) {
                    outcomes[usize::from(agreed(&damaged, &what).is_some())] += 1;
                }
            }
            Ok(Coded { back, abs_bound: sleek::inspect(&stream).unwrap().abs_bound })
        });
        result.unwrap_or_else(|what| panic!("array {seed}, {}: {what}", case.name()));
    }
    assert!(outcomes.into_iter().all(|n| n > 100), "{outcomes:?} are refused, and restored");
}

/// Small streams of arrays that one or the other predictor, form and table is for.
fn small_streams() -> Vec<(String, Vec<u8>)> {
    let shapes: [&[u64]; 6] = [&[700], &[50, 45], &[19, 17, 18], &[5, 4, 9, 10], &[9], &[300, 9]];
    let mut streams = Vec::new();
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        for (m, bound) in modes(dtype).into_iter().enumerate() {
            for (k, kind) in KINDS.into_iter().enumerate() {
                let params = Params { big_endian: k % 3 == 1, ..params(dtype, bound, shapes[(d + m + k) % 6]) };
                let mut words = forms::compared(kind, dtype, params.dims.count() as usize);
                let marks = &words[3..4].to_vec()[..usize::from(k % 2 == 0 && dtype.is_float())];
                if !marks.is_empty() {
                    vectors::strew(&mut words, marks, 30, 7);
                }
                let missing: Vec<_> = marks.iter().map(|&bits| MissingValue::Bits(bits)).collect();
                let params = Params { missing: MissingValues::of(&missing).unwrap(), ..params };
                let data = vectors::to_bytes(dtype, &words, params.big_endian);
                streams.push((format!("{params:?} {kind}"), sleek::compress(&params, &data).unwrap()));
            }
        }
    }
    streams
}

/// What the heads of packed tiles say that there is.
fn parts(stream: &[u8]) -> Vec<&'static str> {
    let layout = container(stream).unwrap();
    let (mut at, mut found) = (layout.bodies_at as usize, Vec::new());
    for c in 0..layout.chunks {
        let (kind, bytes) = layout.entry(stream, c).unwrap();
        if kind == 0 {
            let head = u32::from_le_bytes(stream[at..at + 4].try_into().unwrap()) as usize;
            found.push(["axes", "smooth", "rough", "symbols"][head >> 3 & 3]);
            found.push(["bits", "bins", "steps", "multiples"][head >> 5 & 3]);
            let flags = ["table", "patches", "sparse"].into_iter().enumerate();
            found.extend(flags.filter(|(k, _)| head >> (7 + k) & 1 == 1).map(|(_, part)| part));
        }
        at += bytes as usize;
    }
    found
}

/// Flips bits of header, head, front, end or any place of the body of the first chunk, `times` times.
fn damaged(stream: &[u8], random: &mut Random, times: usize) -> Vec<Vec<u8>> {
    let first = container(stream).unwrap().bodies_at as usize;
    let behind = stream.len() - first;
    let mut copy = || {
        let mut damaged = stream.to_vec();
        let at = match random.below(8) {
            0 => 12 + random.below(4) as usize,
            1..4 => first + random.below(4) as usize,
            4 | 5 => first + random.below(behind.min(60) as u64) as usize,
            6 => stream.len() - 1 - random.below(behind.min(24) as u64) as usize,
            _ => first + random.below(behind as u64) as usize,
        };
        damaged[at] ^= if random.below(4) == 0 { 1 + random.below(255) as u8 } else { 1 << random.below(8) };
        seal(&mut damaged);
        damaged
    };
    (0..times).map(|_| copy()).collect()
}

/// The page is enough to write a decoder: it restores what ours does, of damaged streams too, or refuses them both.
#[test]
fn the_reference_decoder_agrees() {
    let random = &mut Random(3);
    let (mut found, mut outcomes) = (std::collections::BTreeSet::new(), [0, 0]);
    for (what, stream) in small_streams() {
        assert!(agreed(&stream, &what).is_some(), "{what}: both refuse it");
        found.extend(parts(&stream));
        for (round, damaged) in damaged(&stream, random, 8).iter().enumerate() {
            outcomes[usize::from(agreed(damaged, &format!("{what}, round {round}")).is_some())] += 1;
        }
    }
    let all = ["axes", "bins", "bits", "patches", "rough", "smooth", "sparse", "steps", "symbols", "table"];
    assert!(all.iter().all(|part| found.contains(part)), "{found:?}");
    assert!(outcomes.into_iter().all(|n| n > 200), "{outcomes:?} are refused, and restored");
}

/// What the page allows and our encoder never writes, and damage to it.
#[test]
fn the_reference_decoder_agrees_on_random_legal_streams() {
    let random = &mut Random(4);
    let mut restored = 0;
    for seed in 0..500 {
        let Some(stream) = reference::random_interp(seed) else { continue };
        restored += usize::from(agreed(&stream, &format!("seed {seed}")).is_some());
        for (round, damaged) in damaged(&stream, random, 4).iter().enumerate() {
            agreed(damaged, &format!("seed {seed}, round {round}"));
        }
    }
    assert!(restored > 200, "{restored}");
}

/// What comes of streams of all kinds, and of damaged ones: elements, or a refusal.
#[test]
fn verdicts() {
    let random = &mut Random(5);
    let mut streams: Vec<_> = small_streams().into_iter().map(|(_, stream)| stream).collect();
    streams.extend((500..700).filter_map(reference::random_interp));
    let (mut all, mut restored) = (DefaultHasher::new(), 0);
    for stream in &streams {
        for stream in damaged(stream, random, 6).iter().chain([stream]) {
            let back = sleek::decompress(stream).unwrap_or_default();
            restored += usize::from(!back.is_empty());
            back.hash(&mut all);
        }
    }
    assert!(restored > 300, "{restored}");
    println!("streams: {:016x}", all.finish());
}

/// A thread keeps its buffers from array to array, of damaged streams too: they change no byte.
#[test]
fn buffers_that_a_thread_keeps_change_nothing() {
    for (k, dtype) in DType::ALL.into_iter().enumerate() {
        for (bound, shape) in modes(dtype).into_iter().flat_map(|bound| SHAPES.map(|shape| (bound, shape))) {
            let params = params(dtype, bound, shape);
            let data = vectors::bytes("walk", dtype, k as u64, params.dims.count() as usize, false);
            let code = move |data: &[u8]| {
                let stream = sleek::compress(&params, data).unwrap();
                let back = sleek::decompress(&stream).unwrap();
                (stream, back)
            };
            let (stream, back) = code(&data);
            let mut damaged = stream.clone();
            let at = damaged.len() * 3 / 4;
            damaged[at] ^= 0x55;
            seal(&mut damaged);
            let _ = sleek::decompress(&damaged);
            let fresh = std::thread::spawn(move || code(&data)).join().unwrap();
            assert!(fresh == (stream.clone(), back.clone()), "{dtype:?} {bound:?} {shape:?}");
            assert!(sleek::decompress(&stream).unwrap() == back, "{dtype:?} {bound:?} {shape:?}");
        }
    }
}

/// What is predicted takes few bytes: planes, zeros, few bins in an order, words of any order (of 40 that are as
/// frequent 5.3 bits, not the 6 of differences), and rows of which a first look at a tile sees nothing.
#[test]
fn what_is_predicted_takes_few_bytes() {
    let plane = |i: u64, _: u64| (i % 64) as f32 + (i / 64 % 64) as f32 * 3.0 - (i / 4096) as f32;
    let wave = |i: u64, _: u64| 1.5 * ((i % 256) as f32 / 40.0).sin() * ((i / 256) as f32 / 30.0).cos();
    let row = |i: u64, _: u64| match i / 128 % 8 == (i / 1024 % 8) ^ 4 {
        true => (i % 128 / 4) as f32,
        false => f32::from(u8::from(i == 5)),
    };
    type Value = fn(u64, u64) -> f32;
    let cases: [(&[u64], f64, Value, usize); 5] = [
        // Whole numbers that are multiples of the fine lattice, one of 67 here, have to stay what they are.
        (&[64, 64, 64], 0.25, plane, (4 << 18) / 140),
        (&[64, 64, 64], 0.25, |_, _| 0.0, 500),
        (&[256, 256], 0.5, wave, 2500),
        (&[40_000], 0.5, |_, any| any as f32, 28_000),
        // Without differences 16 rows would take 5 bits a value, which are 1280 bytes.
        (&[128, 128], 0.25, row, 900),
    ];
    for (k, (lens, bound, value, most)) in cases.into_iter().enumerate() {
        let random = &mut Random(5);
        let count = lens.iter().product::<u64>();
        let data: Vec<u8> = (0..count).flat_map(|i| value(i, random.below(40)).to_le_bytes()).collect();
        let (stream, _) = checked(&params(DType::F32, Bound::Abs(bound), lens), &data);
        assert!(stream.len() < most, "case {k}: {} bytes", stream.len());
    }
}

/// Dimensions of one element change nothing but their own entries, and rank 32 is as good as any.
#[test]
fn dimensions_of_one_element_are_passed_over() {
    let data = vectors::bytes("walk", DType::F64, 3, 40 * 50 * 20, false);
    let bodies = |lens: &[u64]| {
        let stream = checked(&params(DType::F64, Bound::Abs(1e-3), lens), &data).0;
        stream[container(&stream).unwrap().bodies_at as usize..].to_vec()
    };
    let plain = bodies(&[40, 50, 20]);
    assert!(bodies(&[1, 40, 1, 1, 50, 20, 1]) == plain);
    let mut deep = [1; 32];
    (deep[3], deep[17], deep[31]) = (40, 50, 20);
    assert!(bodies(&deep) == plain);
}

/// What a multiple of the fine lattice stands for.
fn fine_step(params: &Params) -> f64 {
    let any: Vec<u64> = (0..params.dims.count()).map(|i| params.dtype.nearest(1.0 + (i % 2) as f64)).collect();
    let stream = sleek::compress(params, &vectors::to_bytes(params.dtype, &any, false)).unwrap();
    f64::from(stream[15]) * 2f64.powi(i32::from(i16::from_le_bytes([stream[12], stream[13]])) - 8)
}

/// Multiples that are as far apart as codes allow: what is interpolated turns over at 2^32, at the end of a row as in
/// its middle, whatever the length of vectors.
#[test]
fn numbers_that_turn_over_are_restored_alike() {
    let count = 1u64 << 14;
    let params = params(DType::F64, Bound::Abs(15.6), &[count]);
    let fine = fine_step(&params);
    let mut all = DefaultHasher::new();
    for round in 0..60 {
        let mut random = Random(round);
        let last_wild = [256, 128, 512][round as usize % 3];
        let difference = |i: u64| match i {
            0..2 => 0,
            _ if i <= last_wild && i > last_wild / 32 => [1_950_000, -1_950_000][random.below(2) as usize],
            _ if i < count / 4 => random.around(2) as i32,
            _ => 0,
        };
        let numbers = reference::interpolated(&(0..count).map(difference).collect::<Vec<i32>>());
        let words: Vec<u64> = numbers.into_iter().map(|v| (f64::from(v) * fine).to_bits()).collect();
        checked(&params, &vectors::to_bytes(DType::F64, &words, false)).0.hash(&mut all);
    }
    println!("streams: {:x}", all.finish());
}

/// Of elements next to the border of the lattice none comes back as a missing value that lies on it.
#[test]
fn no_element_at_the_border_goes_missing() {
    for (dtype, border) in [(DType::F32, 124_000.0), (DType::F64, f64::from(1 << 28))] {
        for (below, lens) in (1..18).flat_map(|below| [(below, &[4096][..]), (below, &[64, 64])]) {
            let mut params = params(dtype, Bound::Abs(0.5), lens);
            let fine = fine_step(&params);
            let number = border - f64::from(below);
            let missing = dtype.nearest(number * fine);
            params.missing = MissingValues::of(&[MissingValue::Bits(missing)]).unwrap();
            let mut random = Random(below as u64);
            let mut element = |i: u64| {
                let v = if i / 37 % 2 == 1 { number + 12.0 } else { number - 31.0 };
                let v = v + random.around(300) as f64 / 1000.0;
                if i % 7 == 5 { missing } else { dtype.nearest(v.min(border - 17.6) * fine) }
            };
            let words: Vec<u64> = (0..4096).map(&mut element).collect();
            let back = vectors::to_words(dtype, &checked(&params, &vectors::to_bytes(dtype, &words, false)).1);
            let lost = (0..words.len()).filter(|i| back[*i] == missing && words[*i] != missing).count();
            assert!(lost == 0, "{dtype:?} {lens:?}: {lost} elements become the multiple {below} below the border");
        }
    }
}

#[test]
fn every_level_says_the_same() {
    for name in ["the_page_says_the_same", "verdicts", "numbers_that_turn_over_are_restored_alike"] {
        vectors::levels::alike_at_all_levels(&format!("interp::{name}"));
    }
}
