//! Arrays of the matrix: each is made of its number alone, in IEEE arithmetic, so that every machine makes the same.

use crate::vectors::{Random, exact, float_layout, mask, strew, to_bytes, words_of};
use sleek::codec::zfp::format::CODEC_ZFP;
use sleek::{Bound, DType, Dims, MissingValue, MissingValues, Mode, Params, Profile};

/// The types, profiles and modes, each with all others; numbers of arrays go through them. Profile `small` comes twice,
/// as it has the most ways to code a tile, and a `noa` that measures its range comes besides one that is given it.
const TYPES: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
const PROFILES: [Profile; 4] = [Profile::Small, Profile::Adaptive, Profile::Small, Profile::Fast];
const MODES: [Mode; 6] = [Mode::Abs, Mode::Noa, Mode::Rel, Mode::Noa, Mode::Lossless, Mode::Abs];
const OF_PROFILES: u64 = (TYPES.len() * PROFILES.len() * MODES.len()) as u64;
/// Codec zfp has no profile, no types of 16 bits, and other modes.
const OF_ZFP: u64 = 8;

/// How an array comes to be written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum History {
    /// Once.
    Fresh,
    /// What came back is written again, and again.
    Whole,
    /// Parts are written, some of them twice, each into what came back.
    Parts,
    /// The same from the first element on, as an array that grows.
    Grown,
}

/// What a coder makes of an array.
pub struct Coded {
    /// The array that came back.
    pub back: Vec<u8>,
    /// The absolute bound that its stream tells.
    pub abs_bound: f64,
}

/// Compresses an array and restores it.
pub type Coder<'a> = dyn FnMut(&Params, &[u8]) -> Result<Coded, String> + 'a;

/// An array, and how it is written.
pub struct Case {
    /// What is asked for.
    pub params: Params,
    /// The elements.
    words: Vec<u64>,
    kind: &'static str,
    history: History,
    random: Random,
}

impl Case {
    /// Array number `seed`.
    pub fn new(seed: u64) -> Case {
        let random = &mut Random(seed.wrapping_mul(0x5851_F42D_4C95_7F2D));
        let which = seed % (OF_PROFILES + OF_ZFP);
        let of_zfp = which.checked_sub(OF_PROFILES);
        let k = which as usize;
        let (dtype, profile, mode) = match of_zfp {
            Some(k) => (
                TYPES[k as usize % 2],
                Profile::default(),
                [Mode::Abs, Mode::Lossless, Mode::Rate, Mode::Precision][k as usize / 2],
            ),
            None => (TYPES[k % 4], PROFILES[k / 4 % 4], MODES[k / 16]),
        };
        let lens = lens(random);
        let count = lens.iter().product::<u64>() as usize;
        let (kind, mut words) = data(random, dtype, count);
        let bound = bound(random, dtype, mode, &words, k / 16 == 1);
        let history = match (of_zfp, random.below(6)) {
            (Some(_), _) | (_, 0 | 1) => History::Fresh,
            (_, 2) => History::Whole,
            (_, 3 | 4) => History::Parts,
            _ => History::Grown,
        };
        let mut params = Params {
            profile,
            dims: if lens.len() == 1 && random.below(2) == 0 { Dims::NONE } else { Dims::new(&lens).unwrap() },
            big_endian: random.below(3) == 0,
            codec: if of_zfp.is_some() { CODEC_ZFP } else { 0 },
            threads: 1,
            ..Params::new(dtype).with_bound(bound)
        };
        if random.below(8) == 0 {
            sprinkle(random, dtype, &mut words);
        }
        params.missing = missing(random, &params, &mut words);
        // What one write finds another one may not.
        params.find_fill = (seed / (OF_PROFILES + OF_ZFP) % 4 == 2).then_some(true);
        let random = random.clone();
        Case { params, words, kind, history, random }
    }

    /// What it is.
    pub fn name(&self) -> String {
        format!("{:?} of {} elements, {}: {:?}", self.history, self.words.len(), self.kind, self.params)
    }

    /// Writes it by `code`, and judges what came back.
    pub fn run(&self, code: &mut Coder) -> Result<(), String> {
        let (dtype, big_endian) = (self.params.dtype, self.params.big_endian);
        let mut params = self.params.clone();
        let mut write = |words: &[u64]| {
            let data = to_bytes(dtype, words, big_endian);
            if self.history != History::Fresh {
                params = sleek::of_chunk(self.params.clone(), &data).map_err(|e| e.to_string())?;
            }
            let Coded { back, abs_bound } = code(&params, &data)?;
            match back.len() == data.len() {
                true => Ok((words_of(dtype, &back, big_endian), abs_bound)),
                false => Err(format!("{} bytes came back as {}", data.len(), back.len())),
            }
        };
        if self.history == History::Fresh {
            let (back, abs_bound) = write(&self.words)?;
            self.check_range(abs_bound)?;
            return self.judge(abs_bound, &self.words, &back);
        }
        let abs = self.params.bound.number() * self.params.bound.range().unwrap_or_else(|| self.range());
        let random = &mut self.random.clone();
        if self.history == History::Whole {
            let mut back = write(&self.words)?.0;
            for _ in 0..1 + random.below(3) {
                let again = write(&back)?.0;
                if let Some(i) = self.stays().then(|| (0..back.len()).find(|i| again[*i] != back[*i])).flatten() {
                    return Err(format!("element {i} came back as {:#x}, and then as {:#x}", back[i], again[i]));
                }
                back = again;
            }
            return self.judge(abs.next_up(), &self.words, &back);
        }
        // What was not written yet is the first missing value, or 0.
        let none = self.params.missing.of_type(dtype).unwrap().bits().first().copied().unwrap_or(0);
        let n = self.words.len();
        let (mut now, mut written) = (vec![none; n], vec![false; n]);
        let (writes, growth) = (2 + random.below(3), 1 + random.below(4));
        for k in 0..writes {
            let part = match self.history {
                History::Grown => 0..n >> (growth * (writes - 1 - k)),
                _ if k + 1 == writes => 0..n,
                _ => {
                    let from = random.below(n as u64 + 1) as usize;
                    from..n.min(from + 1 + random.below(n as u64 / 4 + 1) as usize)
                }
            };
            // Of what is there already some is written again, the rest is as it came back.
            let again = random.below(4) == 0;
            for i in part {
                if !written[i] || again && i % 3 == 0 {
                    (now[i], written[i]) = (self.words[i], true);
                }
            }
            now = write(&now)?.0;
        }
        self.judge(abs.next_up(), &self.words, &now)
    }

    /// Whether what came back comes back again: of codec interp, unless its bound or missing values are others then.
    fn stays(&self) -> bool {
        let Params { profile, bound, find_fill, .. } = self.params;
        profile == Profile::Small && !bound.measures() && find_fill != Some(true)
    }

    /// The difference of the greatest and the smallest value that count.
    fn range(&self) -> f64 {
        let [lo, hi] = self.ends();
        if hi >= lo { hi - lo } else { 0.0 }
    }

    fn ends(&self) -> [f64; 2] {
        let marks = self.params.missing.of_type(self.params.dtype).unwrap();
        let number = |w: &u64| exact::value(self.params.dtype, *w);
        let is_mark = |v: f64| marks.bits().iter().any(|mark| number(mark) == v);
        let counted = self.words.iter().map(number).filter(|v| v.is_finite() && !is_mark(*v));
        counted.fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], v| [lo.min(v), hi.max(v)])
    }

    /// The bound that a stream tells is no more than was asked for.
    fn check_range(&self, abs_bound: f64) -> Result<(), String> {
        let Bound::Noa { share, range } = self.params.bound else { return Ok(()) };
        let [lo, hi] = range.map_or_else(|| self.ends(), |range| [0.0, range]);
        match abs_bound == 0.0 || exact::within_range(abs_bound, share, lo, hi) {
            true => Ok(()),
            false => Err(format!("the absolute bound {abs_bound:e} is above {share:e} * ({hi:e} - {lo:e})")),
        }
    }

    /// Missing values come back bit for bit, nothing else equal to one, and everything else within the bound.
    fn judge(&self, abs_bound: f64, words: &[u64], back: &[u64]) -> Result<(), String> {
        let dtype = self.params.dtype;
        let number = |w: u64| exact::value(dtype, w);
        let marks = self.params.missing.of_type(dtype).unwrap();
        let equals = |w: u64| marks.bits().iter().any(|mark| *mark == w || number(*mark) == number(w));
        let holds = |v: u64, r: u64| match marks.bits().contains(&v) {
            true => v == r,
            false => (equals(v) || !equals(r)) && exact::keeps(&self.params, abs_bound, v, r),
        };
        let wrong: Vec<usize> = (0..words.len()).filter(|i| !holds(words[*i], back[*i])).collect();
        let Some(i) = wrong.first() else { return Ok(()) };
        let (v, r) = (words[*i], back[*i]);
        let (a, b) = (number(v), number(r));
        Err(format!("{} elements; the first is {i}: {a:e} ({v:#x}) came back as {b:e} ({r:#x})", wrong.len()))
    }
}

/// Lengths: every one to 300; about every multiple of a power of two; odd ones in up to four dimensions.
fn lens(random: &mut Random) -> Vec<u64> {
    let mut near = |most: u64| {
        let power = 1 << (6 + random.below(8).max(random.below(8)));
        let multiple = power * (1 + random.below(1 + most / power));
        // Also a small part of the power above it: then the last nodes of an interpolation are close to each other.
        let off = match random.below(4) {
            0 => random.around(2),
            1 => random.around(8),
            2 => random.around(70),
            _ => (power >> (4 + random.below(4))) as i64 + random.around(power >> 7),
        };
        multiple.saturating_add_signed(off).clamp(1, most)
    };
    let line = near(9000);
    let long = near(40_000);
    match random.below(20) {
        0..4 => vec![random.below(301)],
        4..14 => vec![line],
        14 => vec![long],
        kind => {
            let rank = if kind < 18 { 2 } else { 3 + kind as u32 % 2 };
            let most = [100, 300, 4000, 12_000][random.below(4) as usize];
            let mut left: u64 = most;
            let mut lens: Vec<u64> = (1..rank)
                .map(|k| {
                    let side = (left as f64).powf(1.0 / f64::from(rank - k + 1)) as u64;
                    let len = 1 + random.below(2 * side.max(1));
                    left = (left / len).max(1);
                    len
                })
                .collect();
            lens.push(left);
            let turns = random.below(rank.into()) as usize;
            lens.rotate_left(turns);
            lens
        }
    }
}

/// Values of a kind, from −1 to 1, and its name.
fn signal(random: &mut Random, n: usize) -> (&'static str, Vec<f64>) {
    let unit = |random: &mut Random| random.around(1 << 30) as f64 / f64::from(1 << 30);
    let turning = |random: &mut Random| {
        // A rotation by a rational angle.
        let t = exact::power(-(1 + random.below(9) as i32)) * (1.0 + unit(random) / 2.0);
        let (c, s) = ((1.0 - t * t) / (1.0 + t * t), 2.0 * t / (1.0 + t * t));
        let (mut x, mut y) = (0.0, 1.0);
        move || {
            (x, y) = (c * x + s * y, c * y - s * x);
            x
        }
    };
    match random.below(8) {
        0 | 1 => {
            let mut wave = turning(random);
            ("smooth", (0..n).map(|_| wave()).collect())
        }
        2 => {
            let mut wave = turning(random);
            let noise = exact::power(-(2 + random.below(12) as i32));
            ("smooth with noise", (0..n).map(|_| (wave() + noise * unit(random)) / 2.0).collect())
        }
        3 => ("rough", (0..n).map(|_| unit(random)).collect()),
        4 | 5 => {
            let stride = exact::power(-(2 + random.below(10) as i32));
            let mut at = unit(random) / 4.0;
            let mut walk = |random: &mut Random| {
                at = (at + stride * unit(random)).clamp(-1.0, 1.0);
                at
            };
            ("walk", (0..n).map(|_| walk(random)).collect())
        }
        6 => {
            let digits = [10.0, 100.0, 1000.0, 4096.0][random.below(4) as usize];
            let mut wave = turning(random);
            ("decimals", (0..n).map(|_| ((wave() + unit(random) / 8.0) * digits).round() / digits / 2.0).collect())
        }
        _ => {
            let (base, one_in) = (unit(random), 2 + random.below(200));
            let spiky = |random: &mut Random| if random.below(one_in) == 0 { unit(random) } else { base };
            ("constant with spikes", (0..n).map(|_| spiky(random)).collect())
        }
    }
}

/// Elements of a kind, and its name: mostly about 1, sometimes among the smallest or the largest of the type.
fn data(random: &mut Random, dtype: DType, n: usize) -> (&'static str, Vec<u64>) {
    let (kind, values) = signal(random, n);
    let (mantissa, bias) = float_layout(dtype).unwrap();
    let (kind, exponent) = match random.below(12) {
        0 => ("denormals", 1 - bias - random.below(u64::from(mantissa)) as i32),
        1 => ("near the largest", bias),
        _ => (kind, random.around(6) as i32),
    };
    // A power of two that is not a normal f64 is made of two.
    let scale = |v: f64| v * exact::power(exponent / 2) * exact::power(exponent - exponent / 2);
    let offset = match random.below(6) {
        0 if exponent < bias => [1.5, -3.0, 100.0][random.below(3) as usize],
        _ => 0.0,
    };
    (kind, values.into_iter().map(|v| dtype.nearest(scale(v + offset))).collect())
}

/// A bound from below an ulp of the largest value to half of the range.
fn bound(random: &mut Random, dtype: DType, mode: Mode, words: &[u64], with_range: bool) -> Bound {
    let finite = words.iter().map(|w| exact::value(dtype, *w)).filter(|v| v.is_finite());
    let (lo, hi) = finite.fold((0.0, 0.0f64), |(lo, hi): (f64, f64), v| (lo.min(v), hi.max(v)));
    let range = (hi / 2.0 - lo / 2.0) * 2.0;
    let range = if range.is_finite() { range } else { f64::MAX };
    let mantissa = u64::from(float_layout(dtype).unwrap().0);
    let most = (mantissa + 2).min([5, 12, u64::MAX][random.below(3) as usize]);
    let fraction = if random.below(2) == 0 { 0.0 } else { random.below(1 << 20) as f64 / f64::from(1 << 20) };
    let share = exact::power(-2 - random.below(most) as i32) * (1.0 + fraction);
    match mode {
        Mode::Lossless => Bound::Lossless,
        Mode::Abs => Bound::Abs(share * range),
        Mode::Noa if with_range && range > 0.0 => Bound::noa(share).of_range(Some(range)),
        Mode::Noa => Bound::noa(share),
        Mode::Rel => Bound::Rel(share),
        Mode::Rate => Bound::Rate(1.0 + random.below(40) as f64 / 2.0),
        Mode::Precision => Bound::Precision(1 + random.below(mantissa) as u32),
    }
}

/// Puts NaN of both signs with payloads, infinities and zeros into an array.
fn sprinkle(random: &mut Random, dtype: DType, words: &mut [u64]) {
    let (all, mantissa) = (mask(dtype), float_layout(dtype).unwrap().0);
    let (infinity, sign) = (all >> 1 >> mantissa << mantissa, all ^ all >> 1);
    let odd = [infinity, infinity | 1, infinity | 1 << (mantissa - 1), 0, infinity | 5, 1];
    let one_in = 1 + random.below(300);
    for word in words {
        if random.below(one_in) == 0 {
            *word = odd[random.below(odd.len() as u64) as usize] | (sign * random.below(2));
        }
    }
}

/// Missing values: none, outside the data, among them, NaN of both signs. Most are put into the array.
fn missing(random: &mut Random, params: &Params, words: &mut [u64]) -> MissingValues {
    let dtype = params.dtype;
    let nan = dtype.nearest(f64::NAN);
    let sign = mask(dtype) ^ mask(dtype) >> 1;
    let any = |random: &mut Random, words: &[u64]| words.get(random.below(words.len().max(1) as u64) as usize).copied();
    let mut values: Vec<u64> = match random.below(10) {
        0 => vec![dtype.nearest(-9999.0)],
        1 => vec![dtype.nearest(1e20)],
        2..5 => vec![0],
        5 => any(random, words).into_iter().collect(),
        // What comes back is what a value that is next to it may come back as.
        6 => {
            let data = to_bytes(dtype, words, params.big_endian);
            let back = sleek::decompress(&sleek::compress(params, &data).unwrap()).unwrap();
            any(random, &words_of(dtype, &back, params.big_endian)).into_iter().collect()
        }
        7 => vec![nan, nan | sign | 1],
        _ => vec![],
    };
    if random.below(8) == 0 {
        values.extend([any(random, words).unwrap_or(0), nan | 2]);
    }
    values.dedup();
    // The other zero needs the fourth place.
    let zeros = values.iter().filter(|bits| **bits & !sign == 0).count();
    values.truncate(if zeros == 1 { 3 } else { 4 });
    if !values.is_empty() {
        let run = [0, 1, 30, 300][random.below(4) as usize];
        let part = words.len() * random.below(5) as usize / 4;
        // Nowhere, in places, or as far as the part goes.
        if run > 0 {
            strew(&mut words[..part], &values, run, random.next() >> 1);
        }
    }
    let named: Vec<MissingValue> = values.into_iter().map(MissingValue::Bits).collect();
    MissingValues::of(&named).unwrap()
}
