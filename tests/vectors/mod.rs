//! Deterministic input data for the tests, made of integers alone so that every machine and language makes the same
//! bytes.

#![allow(dead_code)]

pub mod exact;
pub mod levels;
pub mod requests;
pub mod sentinel;

use sleek::DType;

/// SplitMix64: the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number below `end`, which is small against 2^64.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// A number from 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from −`reach` to `reach`.
    pub fn around(&mut self, reach: u64) -> i64 {
        self.below(2 * reach + 1) as i64 - reach as i64
    }
}

/// Mantissa bits and exponent bias of a float type, `None` for integers.
pub fn float_layout(dtype: DType) -> Option<(u32, i32)> {
    match dtype {
        DType::F32 => Some((23, 127)),
        DType::F64 => Some((52, 1023)),
        DType::F16 => Some((10, 15)),
        DType::BF16 => Some((7, 127)),
        _ => None,
    }
}

/// The word of n · 2^j cut off towards zero, `None` if that is neither normal nor zero; of integers n itself, wrapped.
pub fn try_word(dtype: DType, n: i64, j: i32) -> Option<u64> {
    let Some((mantissa, bias)) = float_layout(dtype) else { return Some(n as u64 & mask(dtype)) };
    if n == 0 {
        return Some(0);
    }
    let magnitude = n.unsigned_abs();
    let top = magnitude.ilog2();
    let fraction = magnitude << (63 - top) << 1 >> (64 - mantissa);
    let exponent = top as i32 + j + bias;
    let infinite = (mask(dtype) >> 1 >> mantissa) as i32;
    let sign = u64::from(n < 0) << (8 * dtype.size() - 1);
    (1..infinite).contains(&exponent).then(|| sign | (exponent as u64) << mantissa | fraction)
}

/// [`try_word`] of a number that is normal or zero.
pub fn word(dtype: DType, n: i64, j: i32) -> u64 {
    try_word(dtype, n, j).unwrap_or_else(|| panic!("{n} * 2^{j} is outside the normal numbers of {dtype:?}"))
}

pub fn mask(dtype: DType) -> u64 {
    u64::MAX >> (64 - 8 * dtype.size())
}

/// Zeros, subnormal numbers, extreme numbers, infinities and NaN of a float type; extreme integers.
pub fn specials(dtype: DType) -> Vec<u64> {
    let all = mask(dtype);
    let sign = all ^ all >> 1;
    let positive = match float_layout(dtype) {
        Some((m, _)) => {
            let infinity = all >> 1 >> m << m;
            let smallest = 1 << m;
            vec![
                0,
                1,
                smallest - 1,
                smallest,
                infinity - 1,
                infinity,
                infinity + 1,
                infinity + (1 << (m - 1)) + 5,
                all >> 1,
            ]
        }
        None => vec![0, 1, 2, all >> 1],
    };
    positive.iter().flat_map(|&v| [v, v | sign]).collect()
}

/// Every generator by its name in the manifest.
pub const GENERATORS: [&str; 12] = [
    "constant", "wave", "walk", "noise", "spiky", "steps", "specials", "signed", "decades", "coarse", "planes",
    "parabola",
];

/// Cubes of 16 x 16 x 16 that are sums of functions of two coordinates, and a little noise: of all pairs for a seed
/// that is a multiple of 3, otherwise of the pairs with x, or with y.
fn planes(random: &mut Random, seed: u64, reach: i64, count: usize) -> Vec<i64> {
    let pairs: &[[usize; 2]] =
        [&[[0, 1], [1, 2], [0, 2]][..], &[[0, 1], [0, 2]], &[[0, 1], [1, 2]]][(seed % 3) as usize];
    let part = (reach / 4).max(1) as u64;
    let functions: Vec<Vec<i64>> = pairs.iter().map(|_| (0..256).map(|_| random.around(part)).collect()).collect();
    let of = |i: usize| {
        let at = [i % 16, i / 16 % 16, i / 256 % 16];
        pairs.iter().zip(&functions).map(|(pair, f)| f[at[pair[0]] * 16 + at[pair[1]]]).sum::<i64>()
    };
    (0..count).map(|i| of(i) + random.around(2)).collect()
}

/// `count` words of a kind of data.
pub fn words(generator: &str, dtype: DType, seed: u64, count: usize) -> Vec<u64> {
    let random = &mut Random(seed);
    let bits = 8 * dtype.size() as u32;
    // Numbers of about 11 to 20 bits, fewer where the type has fewer, and an exponent that makes them about 1.
    let wide = (bits * 5 / 8).min(20);
    let j = -(wide as i32 - 2);
    let reach = 1i64 << (wide - 2);
    let number = |n: i64| word(dtype, n, j);
    match generator {
        "constant" => vec![number(random.around(reach as u64)); count],
        "wave" => wave(random, reach, count).into_iter().map(number).collect(),
        "walk" => walk(random, reach, 3, count).into_iter().map(number).collect(),
        "noise" => (0..count).map(|_| random.next() & mask(dtype)).collect(),
        "spiky" => {
            let smooth = walk(random, reach >> 3, 1, count);
            smooth.into_iter().map(|n| if random.below(97) == 0 { number(n ^ reach) } else { number(n) }).collect()
        }
        "lost" => {
            let specials = specials(dtype);
            let smooth = walk(random, reach, 3, count);
            let mut pick = |n| match random.below(80) {
                0 => specials[random.below(specials.len() as u64) as usize],
                _ => number(n),
            };
            smooth.into_iter().map(&mut pick).collect()
        }
        "steps" => steps(random, reach, count).into_iter().map(number).collect(),
        "specials" => {
            let specials = specials(dtype);
            let mut next = specials.iter().cycle();
            let smooth = wave(random, reach, count);
            let mut pick = |n| match random.below(6) {
                0 => *next.next().unwrap(),
                _ => number(n),
            };
            smooth.into_iter().map(&mut pick).collect()
        }
        "signed" => (0..count).map(|_| number(random.around(9))).collect(),
        "decades" => {
            let m = float_layout(dtype).map_or(bits / 2, |(m, _)| m);
            let mut one = || (1 << m | random.below(1 << m)) as i64 * (1 - 2 * random.below(2) as i64);
            let numbers: Vec<i64> = (0..count).map(|_| one()).collect();
            numbers.into_iter().map(|n| word(dtype, n, random.around(3) as i32 - m as i32)).collect()
        }
        "coarse" => {
            let drop = bits / 4;
            walk(random, reach, 1 + (reach as u64 >> 2), count).into_iter().map(|n| number(n) >> drop << drop).collect()
        }
        "planes" => planes(random, seed, reach, count).into_iter().map(number).collect(),
        // Multiples of the step of a lattice whose multiplier is 67 and whose step_j is 8 more than this exponent.
        "lattice" => walk(random, 7000, 20, count).into_iter().map(|n| word(dtype, 67 * n, -18)).collect(),
        // Rows of 64 that a plane and a parabola make, all above 0.
        "surface" => {
            let at = |i: i64| reach / 2 + (i % 64 - 32).pow(2) * reach / 4096 + i / 64 * reach / 512;
            (0..count as i64).map(|i| number(at(i) + random.around(reach as u64 >> 10))).collect()
        }
        "parabola" => (0..count as i64).map(|i| number((i % 1024 - 512).pow(2) % reach)).collect(),
        "pruned" => {
            let mut of = |_| if random.below(4) > 0 { 0 } else { number(random.around(reach as u64)) };
            (0..count).map(&mut of).collect()
        }
        _ => panic!("no generator is called {generator:?}; there are {GENERATORS:?}"),
    }
}

/// Puts missing values into `words`, in runs of up to `run` elements with as much between them; 0 puts one everywhere.
pub fn strew(words: &mut [u64], values: &[u64], run: u64, seed: u64) {
    let random = &mut Random(seed + 1);
    let mut at = 0;
    while at < words.len() {
        let here = if run == 0 { words.len() } else { 1 + random.below(run) as usize };
        let end = words.len().min(at + here);
        words[at..end].fill(values[random.below(values.len() as u64) as usize]);
        at = end + random.below(run + 1) as usize;
    }
}

/// [`words`] as the bytes of an array.
pub fn bytes(generator: &str, dtype: DType, seed: u64, count: usize, big_endian: bool) -> Vec<u8> {
    to_bytes(dtype, &words(generator, dtype, seed, count), big_endian)
}

pub fn to_bytes(dtype: DType, words: &[u64], big_endian: bool) -> Vec<u8> {
    let size = dtype.size();
    let mut bytes = Vec::with_capacity(words.len() * size);
    for word in words {
        match big_endian {
            true => bytes.extend_from_slice(&word.to_be_bytes()[8 - size..]),
            false => bytes.extend_from_slice(&word.to_le_bytes()[..size]),
        }
    }
    bytes
}

pub fn to_words(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    fn words<const N: usize>(bytes: &[u8]) -> Vec<u64> {
        let word = |b: &[u8; N]| b.iter().rev().fold(0, |w, &byte| w << 8 | u64::from(byte));
        bytes.as_chunks().0.iter().map(word).collect()
    }
    match dtype.size() {
        1 => words::<1>(bytes),
        2 => words::<2>(bytes),
        4 => words::<4>(bytes),
        _ => words::<8>(bytes),
    }
}

/// The words of elements in either byte order.
pub fn words_of(dtype: DType, bytes: &[u8], big_endian: bool) -> Vec<u64> {
    let mut bytes = bytes.to_vec();
    if big_endian {
        bytes.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
    }
    to_words(dtype, &bytes)
}

/// The elements of a box at multiples of 2^level along the last three dimensions, by plain arithmetic.
pub fn part(whole: &[u8], size: usize, shape: &[u64], (start, lens): (&[u64], &[u64]), level: u32) -> Vec<u8> {
    // Its other dimensions may be as long as they like.
    if lens.contains(&0) {
        return Vec::new();
    }
    let is_meant = |k: usize, at: &u64| k + 3 < shape.len() || at.is_multiple_of(1 << level);
    let places = |k: usize| (start[k]..start[k] + lens[k]).filter(|at| is_meant(k, at)).collect();
    let places: Vec<Vec<u64>> = (0..shape.len()).map(places).collect();
    let mut out = Vec::new();
    for mut i in 0..places.iter().map(Vec::len).product() {
        let (mut at, mut stride) = (0, 1);
        for (places, len) in places.iter().zip(shape).rev() {
            at += places[i % places.len()] * stride;
            (i, stride) = (i / places.len(), stride * len);
        }
        out.extend_from_slice(&whole[at as usize * size..][..size]);
    }
    out
}

/// A harmonic oscillation by shifts and additions.
fn wave(random: &mut Random, reach: i64, count: usize) -> Vec<i64> {
    let (mut x, mut y) = (random.around(reach as u64) << 8, reach << 7);
    (0..count)
        .map(|_| {
            x += y >> 6;
            y -= x >> 6;
            x >> 10
        })
        .collect()
}

/// A random walk that turns back at the ends of its range.
fn walk(random: &mut Random, reach: i64, stride: u64, count: usize) -> Vec<i64> {
    let mut at = random.around(reach as u64);
    (0..count)
        .map(|_| {
            at += random.around(stride);
            at = at.clamp(-reach, reach);
            at
        })
        .collect()
}

/// Values that stay for 300 to 2300 elements.
fn steps(random: &mut Random, reach: i64, count: usize) -> Vec<i64> {
    let mut values = Vec::new();
    while values.len() < count {
        let (value, run) = (random.around(reach as u64), 300 + random.below(2000) as usize);
        values.resize(count.min(values.len() + run), value);
    }
    values
}
