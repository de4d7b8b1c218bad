//! Codec interp, judged by its page: the reference decoder, written from docs/reference/codecs/interp.md, reads what
//! our encoder makes of random arrays, of arrays that were restored before, and of mixes of both; it refuses damage
//! that our decoder refuses.

use crate::{reference, vectors};
use sleek::{Bound, DType, Dims, MissingValues, Mode, Params, Profile};
use std::hash::{DefaultHasher, Hash, Hasher};
use vectors::{Random, exact, mask, to_bytes, to_words};

/// Rounds of a test, each with another array; `SLEEK_ROUNDS` makes it more.
fn rounds(usual: u64) -> u64 {
    std::env::var("SLEEK_ROUNDS").ok().map_or(usual, |rounds| rounds.parse().unwrap())
}

/// Lengths of one to four dimensions, of which tiles are whole, cut off, or tiny.
fn lens(random: &mut Random) -> Vec<u64> {
    let rank = 1 + random.below(4);
    let most: u64 = [40_000, 220, 34, 14][rank as usize - 1];
    let most = if random.below(3) == 0 { 5.max(most / 8) } else { most };
    (0..rank).map(|_| 1 + if random.below(6) == 0 { random.below(3) } else { random.below(most) }).collect()
}

/// Numbers of a field with these lengths, of some kind.
fn numbers(random: &mut Random, lens: &[u64]) -> Vec<f64> {
    let count: u64 = lens.iter().product();
    let unit = |random: &mut Random| random.below(1 << 30) as f64 / (1u64 << 30) as f64;
    let waves: Vec<[f64; 6]> = (0..3).map(|_| std::array::from_fn(|_| unit(random) * 0.4)).collect();
    let (kind, offset) = (random.below(10), (unit(random) - 0.5) * [0.0, 1.0, 300.0][random.below(3) as usize]);
    let noise = [0.0, 1e-4, 1e-2, 0.3][random.below(4) as usize];
    let rare = 1 + random.below(400);
    let mut sum = 0.0;
    (0..count)
        .map(|mut i| {
            let (first, mut at) = (i, [0.0; 4]);
            for (at, len) in at.iter_mut().zip(lens.iter().rev()) {
                *at = (i % len) as f64;
                i /= len;
            }
            let wave = |w: &[f64; 6]| (0..4).map(|k| w[k] * at[k]).sum::<f64>() + 9.0 * w[4];
            let smooth: f64 = waves.iter().map(|w| wave(w).sin() * (0.1 + w[5])).sum();
            let smooth = smooth + offset + noise * (unit(random) - 0.5);
            match kind {
                0 => unit(random) - 0.5,
                1 => (smooth * 64.0).round() / 64.0,
                2 if random.below(rare) == 0 => {
                    [f64::NAN, f64::INFINITY, -0.0, 1e30, -1e300, 1e-42, f64::NEG_INFINITY][random.below(7) as usize]
                }
                3 if random.below(rare) == 0 => smooth * 1e5,
                4 => waves[0][0] * at[0] - waves[1][1] * at[1] + offset,
                5 => 1e4 * ((at[0] - 9.0) * 0.3 * waves[0][0]).tanh() + smooth,
                6 => offset,
                7 => {
                    sum += noise * (unit(random) - 0.5);
                    sum
                }
                8 if first % (8 * rare) < rare => 0.0,
                9 => smooth.exp() * if random.below(50 * rare) == 0 { 1e7 } else { 1.0 },
                _ => smooth,
            }
        })
        .collect()
}

fn word(dtype: DType, x: f64) -> u64 {
    match dtype {
        DType::F32 => (x as f32).to_bits().into(),
        DType::F64 => x.to_bits(),
        DType::BF16 => ((x as f32).to_bits() >> 16).into(),
        DType::F16 => vectors::try_word(dtype, (x * 1048576.0) as i64, -20).unwrap_or(0),
        _ => (x * 1000.0) as i64 as u64 & mask(dtype),
    }
}

/// Parameters and elements of an array.
fn array(random: &mut Random) -> (Params, Vec<u64>) {
    let dtypes = [DType::F32, DType::F64];
    let dtype =
        if random.below(4) == 0 { DType::ALL[random.below(12) as usize] } else { dtypes[random.below(2) as usize] };
    let lens = lens(random);
    let mut words: Vec<u64> = numbers(random, &lens).into_iter().map(|x| word(dtype, x)).collect();
    let modes = [Mode::Abs, Mode::Abs, Mode::Abs, Mode::Noa, Mode::Rel, Mode::Lossless];
    let mode = if dtype.is_float() { modes[random.below(6) as usize] } else { Mode::Lossless };
    let bound = 10f64.powi(-(random.below(9) as i32)) * (1.0 + random.below(100) as f64 / 31.0) * 0.3;
    let bound = if mode == Mode::Noa || mode == Mode::Rel { bound * 0.1 } else { bound };
    let mut params = Params {
        profile: Profile::Small,
        big_endian: random.below(4) == 0,
        dims: Dims::new(&lens).unwrap(),
        ..Params::new(dtype).with_bound(Bound::new(mode, bound).unwrap())
    };
    if dtype.is_float() && random.below(4) == 0 {
        let fill = [word(dtype, 0.0), word(dtype, f64::NAN), words[0]];
        let fill = if dtype == DType::F16 { [0, 0x7E00, words[0]] } else { fill };
        let fill = fill[random.below(3) as usize];
        let text = format!("{fill:#x}");
        params.missing = MissingValues::of(&[sleek::text::missing("missing", Some(&text)).unwrap()]).unwrap();
        vectors::strew(&mut words, &[fill], 1 + random.below(90), random.next());
    }
    (params, words)
}

/// Compresses and restores by both decoders; the restored elements.
fn restored(params: &Params, words: &[u64]) -> Vec<u64> {
    let data = to_bytes(params.dtype, words, params.big_endian);
    let stream = sleek::compress(params, &data).unwrap();
    let back = sleek::decompress(&stream).unwrap_or_else(|error| panic!("{params:?}: {error}"));
    let judged = reference::decode(&stream).unwrap_or_else(|error| panic!("{params:?}: {error}"));
    let differs = back.chunks(params.dtype.size()).zip(judged.chunks(params.dtype.size())).position(|(a, b)| a != b);
    assert!(back == judged, "{params:?}: the decoders differ at {differs:?}");
    let abs_bound = sleek::inspect(&stream).unwrap().abs_bound;
    exact::judge(params, abs_bound, &data, &back).unwrap_or_else(|error| panic!("{params:?}: {error}"));
    to_words(params.dtype, &back)
        .into_iter()
        .map(|word| if params.big_endian { word.swap_bytes() >> (64 - 8 * params.dtype.size()) } else { word })
        .collect()
}

#[test]
fn both_decoders_read_random_arrays() {
    let first = std::env::var("SLEEK_SEED").map_or(0, |seed| seed.parse().unwrap());
    for round in first..first + rounds(150) {
        let mut random = Random(round);
        let (params, words) = array(&mut random);
        let said = format!("round {round}, {params:?}");
        let restored_once = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let once = restored(&params, &words);
            if params.bound.mode() != Mode::Noa {
                let again = restored(&params, &once);
                if params.bound.mode() == Mode::Abs {
                    let moved = (0..once.len()).find(|i| again[*i] != once[*i]);
                    assert!(moved.is_none(), "element {moved:?} moves when it is written again");
                }
            }
            // Of both, by blocks of some length.
            let block = 1 + random.below(600) as usize;
            let one_in = 2 + random.below(9);
            let mut mixed = once;
            for (mixed, new) in mixed.chunks_mut(block).zip(words.chunks(block)) {
                if random.below(one_in) == 0 {
                    mixed.copy_from_slice(new);
                }
            }
            restored(&params, &mixed);
        }));
        assert!(restored_once.is_ok(), "{said}");
    }
}

/// Bits and bytes of bodies changed at random, and sealed again: either both decoders refuse or both restore the same.
#[test]
fn both_decoders_judge_damage_alike() {
    let (mut alike, mut refused) = (0, 0);
    let first = std::env::var("SLEEK_SEED").map_or(0, |seed| seed.parse().unwrap());
    for round in first..first + rounds(60) {
        let mut random = Random(round ^ 0x5EED << 20);
        let (params, words) = array(&mut random);
        if words.len() > 9000 {
            continue;
        }
        let stream = sleek::compress(&params, &to_bytes(params.dtype, &words, params.big_endian)).unwrap();
        let bodies = reference::container(&stream).unwrap().bodies_at as usize;
        for _ in 0..25 {
            let mut damaged = stream.clone();
            let front = random.below(3) > 0;
            for _ in 0..1 + random.below(2) {
                let most = stream.len() - bodies;
                let at = bodies + random.below(if front { most.min(24) } else { most } as u64) as usize;
                damaged[at] ^= 1 << random.below(8);
            }
            if random.below(8) == 0 {
                damaged[15] = random.below(70) as u8;
            }
            reference::builder::seal(&mut damaged);
            let (ours, judged) = (sleek::decompress(&damaged), reference::decode(&damaged));
            match (&ours, &judged) {
                (Ok(ours), Ok(judged)) => {
                    let differs = ours.iter().zip(judged).position(|(a, b)| a != b);
                    assert!(ours == judged, "round {round}: at {differs:?}, {params:?}");
                    alike += 1;
                }
                (Err(_), Err(_)) => refused += 1,
                (Ok(_), Err(error)) => panic!("round {round}: ours accepts what the page refuses: {error}, {params:?}"),
                (Err(error), Ok(_)) => panic!("round {round}: ours refuses what the page accepts: {error}, {params:?}"),
            }
        }
    }
    println!("{alike} alike, {refused} refused");
}

/// What a multiple of the fine lattice stands for.
fn fine_step(stream: &[u8]) -> f64 {
    f64::from(stream[15]) * 2f64.powi(i32::from(i16::from_le_bytes([stream[12], stream[13]])) - 8)
}

/// Multiples that are as far apart as codes allow: what is interpolated turns over at 2^32, at the end of a row as in
/// its middle, whatever the length of vectors.
#[test]
fn numbers_that_turn_over_are_restored_alike() {
    let count = 1u64 << 14;
    let params = Params {
        profile: Profile::Small,
        dims: Dims::new(&[count]).unwrap(),
        ..Params::new(DType::F64).with_bound(Bound::Abs(15.6))
    };
    let any = to_bytes(DType::F64, &(0..count).map(|i| (i as f64).to_bits()).collect::<Vec<_>>(), false);
    let fine = fine_step(&sleek::compress(&params, &any).unwrap());
    let mut all = DefaultHasher::new();
    for round in 0..rounds(60) {
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
        restored(&params, &words);
        let stream = sleek::compress(&params, &to_bytes(DType::F64, &words, false)).unwrap();
        stream.hash(&mut all);
    }
    println!("streams: {:x}", all.finish());
}

/// Of elements next to the border of the lattice none comes back as a missing value that lies on it.
#[test]
fn no_element_at_the_border_goes_missing() {
    for (dtype, border) in [(DType::F32, 124_000.0), (DType::F64, f64::from(1 << 28))] {
        for (below, dims) in (1..18).flat_map(|below| [(below, vec![4096]), (below, vec![64, 64])]) {
            let mut params = Params {
                profile: Profile::Small,
                dims: Dims::new(&dims).unwrap(),
                ..Params::new(dtype).with_bound(Bound::Abs(0.5))
            };
            let some = to_bytes(dtype, &[word(dtype, 1.0), word(dtype, 2.0)].repeat(2048), false);
            let fine = fine_step(&sleek::compress(&params, &some).unwrap());
            let number = border - f64::from(below);
            let missing = word(dtype, number * fine);
            let text = format!("{missing:#x}");
            params.missing = MissingValues::of(&[sleek::text::missing("missing", Some(&text)).unwrap()]).unwrap();
            let mut random = Random(below as u64);
            let mut element = |i: u64| {
                let v = if i / 37 % 2 == 1 { number + 12.0 } else { number - 31.0 };
                let v = v + random.around(300) as f64 / 1000.0;
                if i % 7 == 5 { missing } else { word(dtype, v.min(border - 17.6) * fine) }
            };
            let words: Vec<u64> = (0..4096).map(&mut element).collect();
            let again = restored(&params, &words);
            let lost = (0..words.len()).filter(|i| again[*i] == missing && words[*i] != missing).count();
            assert!(lost == 0, "{dtype:?} {dims:?}: {lost} elements become the multiple {below} below the border");
        }
    }
}

#[test]
fn lower_levels_do_the_same() {
    vectors::levels::at_lower_levels(&["interp_page::both_decoders", "interp_page::numbers_that_turn_over"]);
    vectors::levels::alike_at_all_levels("interp_page::numbers_that_turn_over_are_restored_alike");
}
