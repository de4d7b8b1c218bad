//! Codec interp: the bound in exact arithmetic over types, modes, shapes and kinds of data; compression again, in parts
//! too; hostile bodies. What the reference decoder, written
//! from docs/reference/codecs/interp.md alone, makes of the same.

use crate::{common, forms, reference, vectors};
use reference::builder::seal;
use reference::{agreed, container};
use sleek::{Bound, DType, Dims, MissingValue, MissingValues, Mode, Params};
use vectors::{Random, exact};

/// The codec's id.
const ID: u8 = 5;
const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
const SHAPES: [&[u64]; 9] =
    [&[1], &[130], &[700], &[20000], &[130, 131], &[3, 5000], &[40, 33, 35], &[3, 5, 7, 40], &[2, 1, 9, 1, 30, 31]];
const KINDS: [&str; 7] = ["decimals", "few", "smooth", "table", "sparse", "parabola", "spiky"];

fn params(dtype: DType, bound: Bound, lens: &[u64]) -> Params {
    Params { codec: ID, dims: Dims::new(lens).unwrap(), ..Params::new(dtype).with_bound(bound) }
}

fn checked(params: &Params, data: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let stream = sleek::compress(params, data).unwrap();
    let back = sleek::decompress(&stream).unwrap();
    let info = sleek::inspect(&stream).unwrap();
    assert_eq!(info.codec, ID);
    exact::judge(params, info.abs_bound, data, &back).unwrap_or_else(|error| panic!("{params:?}: {error}"));
    (stream, back)
}

fn modes(dtype: DType) -> Vec<Bound> {
    match dtype.is_float() {
        true => vec![Bound::Lossless, Bound::Abs(0.05), Bound::noa(1e-5), Bound::noa(1e-2), Bound::Rel(0.01)],
        false => vec![Bound::Lossless],
    }
}

/// Every type, mode, shape and kind of data: within the bound, and what came back compresses to itself.
#[test]
fn the_bound_holds_and_what_came_back_stays() {
    for dtype in DType::ALL {
        for bound in modes(dtype) {
            for (k, shape) in SHAPES.into_iter().enumerate() {
                // Where time matters every kind with every third shape.
                let every = if common::short() { 3 } else { 1 };
                let kinds = vectors::GENERATORS.into_iter().enumerate().filter(|(g, _)| (k + g) % every == 0);
                for (g, generator) in kinds {
                    let params = Params { big_endian: (k / 3 + g) % 3 == 1, ..params(dtype, bound, shape) };
                    let count = params.dims.count() as usize;
                    let data = vectors::bytes(generator, dtype, k as u64, count, params.big_endian);
                    let (stream, back) = checked(&params, &data);
                    let abs = params.clone().with_bound(Bound::Abs(sleek::inspect(&stream).unwrap().abs_bound));
                    let again = if bound.mode() == Mode::Noa && bound.number() > 0.0 { abs } else { params };
                    if again.bound.number() > 0.0 || again.bound.mode() == Mode::Lossless {
                        let twice = checked(&again, &back).1;
                        let size = dtype.size();
                        let i = (0..count).find(|i| twice[i * size..][..size] != back[i * size..][..size]);
                        let of = |bytes: &[u8], i: usize| bytes[i * size..][..size].to_vec();
                        let all = i.map(|i| [of(&data, i), of(&back, i), of(&twice, i)]);
                        assert!(i.is_none(), "{again:?} {generator}: element {i:?}, first, second, third: {all:x?}");
                    }
                }
            }
        }
    }
}

/// Lengths around groups, pieces and tiles, and of narrow types, whose codes are longer than their elements.
#[test]
fn lengths_do_not_matter() {
    let lengths = (1..70).chain(120..140).chain((1..5).flat_map(|k| 2048 * k - 2..2048 * k + 60)).chain(16380..16390);
    for (k, n) in lengths.enumerate() {
        let dtype = FLOATS[k % 4];
        let number = |i: u64| (i as f64 * 0.05).sin() * 3.0;
        let words: Vec<u64> = (0..n).map(|i| dtype.nearest(number(i))).collect();
        let data = vectors::to_bytes(dtype, &words, false);
        for bound in [Bound::Abs(0.002), Bound::Abs(0.3), Bound::Lossless] {
            checked(&params(dtype, bound, &[n]), &data);
        }
    }
}

/// An array that grows, and is written again in parts at the same bound: no value ever leaves its first bound, with a
/// missing value among the data or without.
#[test]
fn partial_rewrites_do_not_add_up() {
    for (k, dtype) in [DType::F32, DType::F64].into_iter().cycle().take(8).enumerate() {
        let random = &mut Random(k as u64 + 5);
        let lens: &[u64] = [&[20_000][..], &[150, 130], &[20, 33, 35]][k % 3];
        let missing = if k % 2 == 0 { MissingValues::number(Some(0.0)) } else { MissingValues::default() };
        let params = Params { missing, ..params(dtype, Bound::Abs(0.1), lens) };
        let count = params.dims.count() as usize;
        let mut walk = 0.0f64;
        let first: Vec<u64> = (0..count)
            .map(|_| {
                walk += (random.below(2001) as f64 - 1000.0) * [2e-4, 1e-5][k % 2];
                dtype.nearest(if random.below(50) == 0 { 0.0 } else { walk })
            })
            .collect();
        let mut held = first.clone();
        for round in 0..6 {
            let stream = sleek::compress(&params, &vectors::to_bytes(dtype, &held, false)).unwrap();
            let back = vectors::to_words(dtype, &sleek::decompress(&stream).unwrap());
            exact::judge(
                &params,
                0.1,
                &vectors::to_bytes(dtype, &first, false),
                &vectors::to_bytes(dtype, &back, false),
            )
            .unwrap_or_else(|error| panic!("{params:?}, round {round}: {error}"));
            // A part is written anew with what it held at first.
            let from = random.below(count as u64) as usize;
            let every = 1 + random.below(3) as usize;
            held = back;
            (from..count.min(from + count / 3)).step_by(every).for_each(|i| held[i] = first[i]);
        }
    }
}

/// Smooth fields with values among them that have no bin: each of these comes back bit for bit.
#[test]
fn values_without_a_bin_come_back() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, -3e38, 1e-40];
    for dtype in FLOATS {
        for rate in [2, 50, 1000] {
            let params = params(dtype, Bound::Abs(1e-3), &[37, 50, 41]);
            let random = &mut Random(rate);
            let words: Vec<u64> = (0..params.dims.count())
                .map(|i| match random.below(rate) {
                    0 => dtype.nearest(odd[random.below(6) as usize]),
                    _ => dtype.nearest((i as f64 * 0.01).sin()),
                })
                .collect();
            checked(&params, &vectors::to_bytes(dtype, &words, false));
        }
    }
}

/// Values that came back as the number next to a missing one, and missing values of any kind.
#[test]
fn missing_values_stay_apart() {
    for (k, dtype) in DType::ALL.into_iter().enumerate() {
        for (m, bound) in modes(dtype).into_iter().enumerate() {
            let params = params(dtype, bound.of_range(Some(2.5)), SHAPES[(k + m) % 4 + 3]);
            let mut words = vectors::words("walk", dtype, k as u64, params.dims.count() as usize);
            let marks = [words[0], words[words.len() / 2]];
            vectors::strew(&mut words, &marks, [1, 40][k % 2], 7);
            let data = vectors::to_bytes(dtype, &words, false);
            let missing = MissingValues::of(&marks.map(MissingValue::Bits)).unwrap();
            let params = Params { missing, ..params };
            let back = checked(&params, &data).1;
            assert!(checked(&params, &back).1 == back, "{params:?}");
        }
    }
}

/// No byte of a packed body makes the decoder panic or read elsewhere, whatever it is.
#[test]
fn hostile_bodies_are_refused_or_restored() {
    let mut refused = 0;
    for (k, dtype) in [DType::F32, DType::F64, DType::F16, DType::U8, DType::I64].into_iter().enumerate() {
        for bound in modes(dtype) {
            let params = params(dtype, bound, [&[3000][..], &[40, 50], &[12, 13, 14]][k % 3]);
            let data = vectors::bytes("walk", dtype, 3, params.dims.count() as usize, false);
            let stream = sleek::compress(&params, &data).unwrap();
            for at in (stream.len() / 20..stream.len()).step_by(1 + stream.len() / 300) {
                for change in [0x01, 0x10, 0x80, 0xff] {
                    let mut damaged = stream.clone();
                    damaged[at] ^= change;
                    seal(&mut damaged);
                    refused += usize::from(sleek::decompress(&damaged).is_err());
                }
            }
        }
    }
    assert!(refused > 1000, "{refused}");
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
            found.extend(
                ["table", "patches", "sparse"]
                    .into_iter()
                    .enumerate()
                    .filter(|(k, _)| head >> (7 + k) & 1 == 1)
                    .map(|(_, part)| part),
            );
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
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    let mut restored = 0;
    for stream in &streams {
        for stream in damaged(stream, random, 6).iter().chain([stream]) {
            let back = sleek::decompress(stream).unwrap_or_default();
            restored += usize::from(!back.is_empty());
            back.iter().chain(&[7]).for_each(|byte| sum = (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
        }
    }
    assert!(restored > 300, "{restored}");
    println!("streams: {sum:016x}");
}

#[test]
fn every_level_restores_the_same() {
    vectors::levels::alike_at_all_levels("interp::verdicts");
}
