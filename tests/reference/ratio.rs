//! Packed tiles of codec 2, written from `docs/codecs/ratio.md`, whose tables it reads: slow, plain and strict.

use std::sync::OnceLock;

use super::{Geometry, Header, Outcome, ensure, ensure_zero, mask, number, slice, unquantize};

/// Frequencies of symbols, by table, as the page has them.
fn tables() -> &'static [Vec<u64>] {
    static TABLES: OnceLock<Vec<Vec<u64>>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let page = include_str!("../../docs/codecs/ratio.md");
        let rows = page.split("| table | frequencies |").nth(1).unwrap().lines().skip(2);
        let frequencies = |row: &str| {
            let runs = row.split('|').nth(2).unwrap().split(',').map(str::trim);
            runs.flat_map(|run| match run.split_once('×') {
                Some((n, frequency)) => vec![frequency.parse().unwrap(); n.parse().unwrap()],
                None => vec![run.parse().unwrap()],
            })
            .collect()
        };
        let tables: Vec<Vec<u64>> = rows.take_while(|line| line.starts_with('|')).map(frequencies).collect();
        assert!(tables.len() == 16 && tables.iter().all(|t| t.iter().sum::<u64>() == 1024));
        tables
    })
}

/// Sides X, Y, Z and lengths lx, ly, lz (§1).
fn axes(sides: &[u32], lens: &[u64]) -> ([u64; 3], [u64; 3]) {
    let (mut big, mut own) = ([1; 3], [1; 3]);
    let mut axis = 0;
    for k in (0..sides.len()).rev().filter(|k| sides[*k] > 0) {
        big[axis] *= 1 << sides[k];
        own[axis] *= lens[k];
        axis = (axis + 1).min(2);
    }
    (big, own)
}

fn zz(c: u64) -> u64 {
    (c >> 1) ^ (c & 1).wrapping_neg()
}

/// The 32 states, and the words behind them (§5).
struct Coder<'a> {
    x: [u64; 32],
    words: &'a [u8],
    threshold: u64,
}

impl Coder<'_> {
    fn refill(&mut self, l: usize) -> Outcome<()> {
        if self.x[l] < self.threshold {
            self.x[l] = self.x[l] * 65536 + number(self.words, 0, 2)?;
            self.words = &self.words[2..];
        }
        Ok(())
    }

    fn symbol(&mut self, l: usize, table: &[u64]) -> Outcome<u64> {
        let slot = self.x[l] % 1024;
        let (mut s, mut start) = (0, 0);
        while slot >= start + table[s] {
            start += table[s];
            s += 1;
        }
        self.x[l] = table[s] * (self.x[l] / 1024) + slot - start;
        self.refill(l)?;
        Ok(s as u64)
    }

    fn raw(&mut self, l: usize, n: u64) -> Outcome<u64> {
        let bits = self.x[l] % (1 << n);
        self.x[l] >>= n;
        if n > 0 {
            self.refill(l)?;
        }
        Ok(bits)
    }

    fn change(&mut self) -> Outcome<()> {
        ensure(self.x.iter().all(|x| *x > 4096), || "a change of small states".into())?;
        self.x.iter_mut().for_each(|x| *x -= 4096);
        self.threshold = 0;
        Ok(())
    }
}

/// Numbers of digits of four bits (§4).
fn digits(bytes: &[u8], at: &mut u64, count: u64) -> u64 {
    (0..count).fold(0, |x, k| {
        let digit = u64::from(bytes[(*at / 2) as usize]) >> (4 * (*at % 2)) & 15;
        *at += 1;
        x | digit << (4 * k)
    })
}

/// The elements of a packed tile with these lengths.
pub fn packed(s: &Header, lens: &[u64], body: &[u8]) -> Outcome<Vec<u64>> {
    let bits = 8 * s.elem_bytes as u32;
    let Geometry::Tiles(sides) = &s.geometry else { return Err("no tiles".into()) };
    let (big, own) = axes(sides, lens);
    let tables = tables();
    let capacity: u64 = big.iter().product();
    let groups = 4 * capacity.div_ceil(512);
    let head = number(body, 0, 4)?;
    let field = |from: u32, width: u32| head >> from & ((1 << width) - 1);
    let (set, exact, base_words) = (field(0, 3), field(3, 1), field(4, 3));
    let (switch, low, high) = (field(7, 8), field(15, 3), field(18, 3));
    ensure((0..3).all(|a| set >> a & 1 == 0 || big[a] > 1), || "an axis of one element".into())?;
    ensure(exact == 0 || s.step_w > 0, || "exact without bins".into())?;
    ensure(base_words <= 4 && low <= high && (switch <= groups || switch == 255), || format!("head {head:x}"))?;
    let bins = s.step_w > 0 && exact == 0;
    let mut at = 4;
    let shift = if bins { 0 } else { number(body, at, 2)? };
    at += if bins { 0 } else { 2 };
    ensure(shift < bits.into(), || format!("shift {shift}"))?;
    let mut base = u128::from(field(21, 11));
    for k in 0..base_words {
        base |= u128::from(number(body, at, 2)?) << (11 + 16 * k);
        at += 2;
    }
    let sign = 1u128 << (10 + 16 * base_words);
    let base = base.wrapping_sub((base & sign) << 1) as u64;

    let mut longer = 0;
    if low < high {
        longer = number(body, at, 4)?;
        at += 4;
    }
    let mut x = [0; 32];
    let (bytes, mut digit) = (slice(body, at, 16 * low)?, 0);
    x.iter_mut().for_each(|x| *x = digits(bytes, &mut digit, low));
    at += 16 * low;
    let len = (u64::from(longer.count_ones()) * (high - low) * 4).div_ceil(16) * 2;
    let (bytes, mut digit) = (slice(body, at, len)?, 0);
    for l in (0..32).filter(|l| longer >> l & 1 == 1) {
        x[l] |= digits(bytes, &mut digit, high - low) << (4 * low);
    }
    while digit < 2 * len {
        ensure(digits(bytes, &mut digit, 1) == 0, || "digits behind the last".into())?;
    }
    at += len;
    let x = x.map(|x| x.max(1));
    let mut coder = Coder { x, words: &body[at as usize..], threshold: if switch == 255 { 0 } else { 4096 } };

    // Places, and which of them have an element.
    let place = |g: u64, l: u64, j: u64| 128 * g + 4 * l + j;
    let has = |p: u64| {
        let c = [p % big[0], p / big[0] % big[1], p / big[0] / big[1]];
        p < capacity && (0..3).all(|a| c[a] < own[a])
    };
    let mut class = vec![0; groups as usize];
    for step in 0..4 {
        for l in (0..32).filter(|l| 4 * l + step < groups) {
            let g = 4 * l + step;
            if (0..32).any(|l| (0..4).any(|j| has(place(g, l, j)))) {
                class[g as usize] = coder.symbol(l as usize, &tables[0])?;
            }
        }
    }
    (1..groups as usize).for_each(|g| class[g] = (class[g] + class[g - 1]) % 16);
    let mut codes = vec![0; 128 * groups as usize];
    for g in 0..groups {
        if g == switch {
            coder.change()?;
        }
        if class[g as usize] > 0 {
            group(&mut coder, &tables[class[g as usize] as usize], |l, j| place(g, l, j), has, &mut codes)?;
        }
    }
    if switch == groups {
        coder.change()?;
    }
    ensure(coder.x == [1; 32], || format!("states {:?}", coder.x))?;
    ensure(coder.words.len() <= 2, || format!("{} bytes behind the last word", coder.words.len()))?;
    ensure_zero(coder.words, "padding")?;

    codes.iter_mut().for_each(|code| *code &= mask(bits));
    let words = integrate(set, big, own, &codes);
    let element = |a: u64| {
        let w = a.wrapping_add(base) & mask(bits);
        match s.float {
            Some(_) if bins => unquantize(s, w),
            Some(_) => {
                let negative = w >> (bits - 1) == 1;
                let v = if negative { w ^ mask(bits - 1) } else { w };
                (v << shift) & mask(bits - 1) | v & 1 << (bits - 1)
            }
            None => (w << shift) & mask(bits),
        }
    };
    Ok(words.into_iter().map(element).collect())
}

/// Step 3 of §5 for one group.
#[allow(clippy::needless_range_loop)]
fn group(
    coder: &mut Coder,
    table: &[u64],
    place: impl Fn(u64, u64) -> u64,
    has: impl Fn(u64) -> bool,
    codes: &mut [u64],
) -> Outcome<()> {
    let (mut n, mut lead) = ([[0; 4]; 32], [[0; 4]; 32]);
    for j in 0..4 {
        for l in (0..32).filter(|l| has(place(*l, j))) {
            let t = coder.symbol(l as usize, table)?;
            let (l, j) = (l as usize, j as usize);
            (n[l][j], lead[l][j]) = if t < 64 { (0, t) } else { (5 + (t - 64) / 2, 2 + t % 2) };
        }
    }
    let mut raw = [[0u64; 4]; 32];
    if n.iter().all(|n| n.iter().sum::<u64>() <= 12) {
        for l in 0..32 {
            let mut bits = coder.raw(l, n[l].iter().sum())?;
            for j in 0..4 {
                raw[l][j] = bits % (1 << n[l][j]);
                bits >>= n[l][j];
            }
        }
    } else {
        for k in 0..n.as_flattened().iter().max().unwrap().div_ceil(12) {
            for j in 0..4 {
                for l in 0..32 {
                    raw[l][j] |= coder.raw(l, n[l][j].saturating_sub(12 * k).min(12))? << (12 * k);
                }
            }
        }
    }
    for l in 0..32 {
        for j in 0..4 {
            codes[place(l as u64, j as u64) as usize] = lead[l][j] << n[l][j] | raw[l][j];
        }
    }
    Ok(())
}

/// §6: the sums of the differences.
fn integrate(set: u64, big: [u64; 3], own: [u64; 3], codes: &[u64]) -> Vec<u64> {
    let count = own.iter().product::<u64>();
    let at = |i: u64| [i % own[0], i / own[0] % own[1], i / own[0] / own[1]];
    let mut words: Vec<u64> = (0..count)
        .map(|i| {
            let [x, y, z] = at(i);
            zz(codes[((z * big[1] + y) * big[0] + x) as usize])
        })
        .collect();
    let stride = [1, own[0], own[0] * own[1]];
    let is_in = |a: &usize| set >> a & 1 == 1;
    if set != 0 {
        for a in (0..3).filter(|a| !is_in(a)) {
            for i in (0..count).filter(|i| (0..3).filter(is_in).all(|b| at(*i)[b] == 0) && at(*i)[a] > 0) {
                words[i as usize] = words[i as usize].wrapping_add(words[(i - stride[a]) as usize]);
            }
        }
    }
    for a in (0..3).filter(is_in) {
        for i in (0..count).filter(|i| at(*i)[a] > 0) {
            words[i as usize] = words[i as usize].wrapping_add(words[(i - stride[a]) as usize]);
        }
    }
    words
}
