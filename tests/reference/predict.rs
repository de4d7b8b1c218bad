//! Packed tiles of codec 4, written from `docs/reference/codecs/predict.md`, whose tables it reads: slow, plain and
//! strict.

use std::sync::OnceLock;

use super::{Geometry, Header, Outcome, ensure, ensure_zero, mask, number, slice, unquantize};

/// A list of frequencies, in which n×f is n times f.
fn frequencies(list: &str) -> Vec<u64> {
    let runs = list.split(',').map(str::trim);
    runs.flat_map(|run| match run.split_once('×') {
        Some((n, frequency)) => vec![frequency.parse().unwrap(); n.parse().unwrap()],
        None => vec![run.parse().unwrap()],
    })
    .collect()
}

/// Frequencies of symbols, by table, as the page has them: of tokens by class, and of classes.
fn tables() -> &'static [Vec<Vec<u64>>; 2] {
    static TABLES: OnceLock<[Vec<Vec<u64>>; 2]> = OnceLock::new();
    TABLES.get_or_init(|| {
        let page = include_str!("../../docs/reference/codecs/predict.md");
        let head = "| class | frequencies of tokens | frequencies of the class behind it |";
        let rows: Vec<&str> =
            page.split(head).nth(1).unwrap().lines().skip(2).take_while(|line| line.starts_with('|')).collect();
        [2, 3].map(|column| {
            let cells = rows.iter().map(|row| row.split('|').nth(column).unwrap().trim()).filter(|cell| *cell != "–");
            let tables: Vec<Vec<u64>> = cells.map(frequencies).collect();
            assert!(tables.len() >= 16 && tables.iter().all(|t| t.iter().sum::<u64>() == 1024));
            tables
        })
    })
}

/// Takes numbers from the front of a body.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: u64) -> Outcome<&'a [u8]> {
        let taken = slice(self.0, 0, count)?;
        self.0 = &self.0[taken.len()..];
        Ok(taken)
    }

    fn next(&mut self, bytes: u64) -> Outcome<u64> {
        number(self.take(bytes)?, 0, bytes)
    }

    fn list(&mut self, count: u64, bytes: u64) -> Outcome<Vec<u64>> {
        (0..count).map(|_| self.next(bytes)).collect()
    }

    /// A byte that is zero, if so many bytes were odd.
    fn even(&mut self, bytes: usize) -> Outcome<()> {
        ensure(bytes.is_multiple_of(2) || self.next(1)? == 0, || "padding".into())
    }
}

/// Lengths along x, y and z, and the side along each (§2).
fn axes(sides: &[u32], lens: &[u64]) -> ([usize; 3], [usize; 3]) {
    let (mut own, mut side, mut axis) = ([1; 3], [1; 3], 0);
    for k in (0..sides.len()).rev().filter(|k| sides[*k] > 0) {
        own[axis] *= lens[k] as usize;
        side[axis] <<= sides[k];
        axis = (axis + 1).min(2);
    }
    (own, side)
}

fn zz(c: u64) -> u64 {
    (c >> 1) ^ (c & 1).wrapping_neg()
}

/// A word of so many bits with copies of its sign.
fn extend(w: u64, bits: u32) -> u64 {
    ((w << (64 - bits)) as i64 >> (64 - bits)) as u64
}

fn raw_bits(token: u64) -> (u64, u64) {
    if token < 64 { (0, token) } else { (5 + (token - 64) / 2, 2 + token % 2) }
}

/// States, and the words behind them (§5).
struct Coder<'a> {
    x: Vec<u64>,
    words: Bytes<'a>,
    threshold: u64,
}

impl Coder<'_> {
    fn refill(&mut self, l: usize) -> Outcome<()> {
        let is_sparse = self.x.len() == 1;
        if self.x[l] < self.threshold && !(is_sparse && self.words.0.is_empty()) {
            self.x[l] = self.x[l] * 65536 + self.words.next(2)?;
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

    /// §5, from the classes on.
    fn codes(mut self, n: usize, switch: u64, own: Option<&Vec<u64>>, symbols: bool) -> Outcome<Vec<u64>> {
        let [tokens, classes] = tables();
        let groups = n.div_ceil(128);
        let mut class = vec![0; groups];
        for s in 0..4 {
            for l in (0..32).filter(|l| 4 * l + s < groups) {
                let before = if s == 0 { 16 } else { class[4 * l + s - 1] };
                class[4 * l + s] = self.symbol(l, &classes[before])? as usize;
            }
        }
        let mut codes = vec![0; n];
        for (g, codes) in codes.chunks_mut(128).enumerate() {
            if g as u64 == switch {
                self.change()?;
            }
            if class[g] > 0 {
                let table = own.filter(|_| class[g] == 15).unwrap_or(&tokens[class[g]]);
                self.group(table, symbols, codes)?;
            }
        }
        if groups as u64 == switch {
            self.change()?;
        }
        ensure(self.x.iter().all(|x| *x == 1), || format!("states {:?}", self.x))?;
        ensure(self.words.0.len() <= 2, || format!("{} bytes behind the last word", self.words.0.len()))?;
        ensure_zero(self.words.0, "padding")?;
        Ok(codes)
    }

    /// §5, step 2, for one group.
    fn group(&mut self, table: &[u64], symbols: bool, codes: &mut [u64]) -> Outcome<()> {
        let mut n = [0; 128];
        for j in 0..4 {
            for i in (j..codes.len()).step_by(4) {
                codes[i] = self.symbol(i / 4, table)?;
                if !symbols {
                    (n[i], codes[i]) = raw_bits(codes[i]);
                }
            }
        }
        if n.chunks(4).all(|n| n.iter().sum::<u64>() <= 12) {
            for (l, codes) in codes.chunks_mut(4).enumerate() {
                let mut bits = self.raw(l, n[4 * l..4 * l + 4].iter().sum())?;
                for (code, n) in codes.iter_mut().zip(&n[4 * l..]) {
                    *code = (*code << n) | (bits % (1 << n));
                    bits >>= n;
                }
            }
            return Ok(());
        }
        codes.iter_mut().zip(n).for_each(|(code, n)| *code <<= n);
        for k in 0..n.iter().max().unwrap().div_ceil(12) {
            for j in 0..4 {
                for i in (j..codes.len()).step_by(4) {
                    codes[i] |= self.raw(i / 4, n[i].saturating_sub(12 * k).min(12))? << (12 * k);
                }
            }
        }
        Ok(())
    }
}

/// The final states (§4).
fn states(rest: &mut Bytes, longest: u64, masked: bool) -> Outcome<Vec<u64>> {
    let mut x = vec![1; 32];
    if longest == 0 {
        return Ok(x);
    }
    let listed = if masked { rest.next(4)? } else { u64::from(u32::MAX) };
    let (body, mut end) = (rest.0, 0);
    let mut bits = |count: u64| {
        end += count;
        (end - count..end).rev().try_fold(0, |number, k| Ok::<u64, String>(number << 1 | number_bit(body, k)?))
    };
    let lanes: Vec<usize> = (0..32).filter(|l| listed >> l & 1 == 1).collect();
    let lengths = lanes.iter().map(|_| bits(4)).collect::<Outcome<Vec<u64>>>()?;
    let floor = longest.saturating_sub(15);
    for (l, k) in lanes.into_iter().zip(lengths) {
        x[l] = if k == 0 { bits(floor)?.max(1) } else { bits(floor + k - 1)? | 1 << (floor + k - 1) };
    }
    let padding = (16 - end % 16) % 16;
    ensure((end..end + padding).all(|k| number_bit(body, k) == Ok(0)), || "behind the last state".into())?;
    rest.take((end + padding) / 8)?;
    Ok(x)
}

fn number_bit(bytes: &[u8], k: u64) -> Outcome<u64> {
    Ok(number(bytes, k / 8, 1)? >> (k % 8) & 1)
}

/// §6: differences.
fn sparse(rest: &mut Bytes, n: usize) -> Outcome<Vec<u64>> {
    let [tokens, classes] = tables();
    let (coded, flags) = (rest.next(1)? as usize, rest.next(1)?);
    ensure(coded <= n.div_ceil(128).min(16) && flags < 4, || format!("{coded} groups, flags {flags}"))?;
    let state = rest.next(2 + 2 * (flags & 1))?;
    let mut words = rest.0;
    if words.len() as u64 / 2 % 2 != flags >> 1 {
        let (before, last) = words.split_at_checked(words.len().wrapping_sub(2)).ok_or("no word")?;
        ensure_zero(last, "padding")?;
        words = before;
    }
    let mut coder = Coder { x: vec![state], words: Bytes(words), threshold: 4096 };
    let (mut codes, mut class) = (vec![0; n], 16);
    for codes in codes.chunks_mut(128).take(coded) {
        class = coder.symbol(0, &classes[class])? as usize;
        for code in codes.iter_mut().filter(|_| class > 0) {
            let (n, lead) = raw_bits(coder.symbol(0, &tokens[class])?);
            *code = lead << n;
            for k in 0..n.div_ceil(12) {
                *code |= coder.raw(0, (n - 12 * k).min(12))? << (12 * k);
            }
        }
    }
    ensure(coder.x == [1] && coder.words.0.is_empty(), || format!("state {:?}", coder.x))?;
    Ok(codes.into_iter().map(|code| extend(zz(code & mask(32)), 32)).collect())
}

/// The elements of a packed tile with these lengths.
pub fn packed(s: &Header, lens: &[u64], body: &[u8]) -> Outcome<Vec<u64>> {
    let (bits, size) = (8 * s.elem_bytes as u32, s.elem_bytes as u64);
    let Geometry::Tiles(sides) = &s.geometry else { return Err("no tiles".into()) };
    let (own, big) = axes(sides, lens);
    let n: usize = own.iter().product();
    let mut rest = Bytes(body);

    // §3.
    let head = rest.next(4)?;
    let field = |from: u32, width: u32| head >> from & mask(width);
    let (set, predictor, map) = (field(0, 3), field(3, 2), field(5, 2));
    let (has_table, has_patches, is_sparse) = (field(7, 1) == 1, field(8, 1) == 1, field(9, 1) == 1);
    let (switch, longest, masked) = (field(10, 8), field(18, 5), field(23, 1) == 1);
    let lattice = s.multiplier > 0;
    ensure((0..3).all(|a| set >> a & 1 == 0 || big[a] > 1), || "an axis of one element".into())?;
    let may_interpolate = big[0] >= 8 || big.iter().product::<usize>() <= 2048;
    ensure(predictor == 0 || predictor < 3 && may_interpolate, || format!("predictor {predictor}"))?;
    ensure(!has_patches || lattice && map != 3, || "patches".into())?;
    ensure(!(is_sparse && (has_table || switch > 0 || longest > 0)), || "sparse".into())?;
    ensure(switch <= n.div_ceil(128) as u64 || switch == 255, || format!("head {head:x}"))?;
    ensure(longest <= 28 && !(masked && longest == 0), || format!("states of {longest} bits, {masked}"))?;
    ensure([true, lattice && predictor > 0, lattice && predictor > 0, s.step_w > 0][map as usize], || "map".into())?;
    let of_bits = map == 3 || s.step_w == 0;
    let form = Form::read(s, if of_bits { rest.next(2)? } else { 0 }, set, has_table)?;
    let is_plain = form.order == 0 && form.prediction == 0 && !form.low && form.slope == 0;
    let words = [0, 1, 2, 4][field(24, 2) as usize];
    let base = rest.list(words, 2)?.iter().rev().fold(0, |base, word| base << 16 | u128::from(*word));
    let base = base << 6 | u128::from(field(26, 6));
    let base = base.wrapping_sub((base >> (5 + 16 * words) & 1) << (6 + 16 * words)) as u64;

    let patches = if has_patches { Patches::read(&mut rest, n as u64, size)? } else { Patches::default() };
    let side = Side::read(s, &form, n as u64, &mut rest)?;
    ensure(is_plain || predictor == 0 && !is_sparse, || "the form is not plain".into())?;
    let differences = if is_sparse {
        sparse(&mut rest, n)?
    } else {
        let x = states(&mut rest, longest, masked)?;
        let coder = Coder { x, words: rest, threshold: if switch == 255 { 0 } else { 4096 } };
        let codes = coder.codes(n, switch, side.table.as_ref(), form.prediction == 1)?;
        let codes = side.complete(codes.into_iter().map(|code| code & mask(bits)).collect(), bits)?;
        let is_number = form.prediction == 1 || form.slope > 0;
        codes.into_iter().map(|code| if is_number { code } else { extend(zz(code), bits) }).collect()
    };

    // §7.
    let numbers: Vec<u64> = match (predictor, form.prediction) {
        (1.., _) => interpolate(predictor == 2, map == 1, set, own, differences),
        (_, 0) => integrate(set, own, differences),
        (_, 1) => differences,
        _ => differences.into_iter().enumerate().fold(Vec::new(), |mut a: Vec<u64>, (n, d)| {
            let lag = side.lags[n / 16];
            a.push(d.wrapping_add(if lag == 0 || lag > n { 0 } else { a[n - lag] }));
            a
        }),
    };

    // §9.
    let shift = form.shift;
    let element = |(n, a): (usize, u64)| {
        let a = a.wrapping_add(side.slope.wrapping_mul(n as u64));
        let w = a.wrapping_add(base) & mask(bits);
        if form.order == 3 {
            let element = side.list.get(w as usize).copied();
            return element.ok_or_else(|| format!("element {w} of {}", side.list.len()));
        }
        Ok(match s.float {
            _ if map == 1 || map == 2 => multiple(s, a.wrapping_add(base) as i32),
            Some(_) if !of_bits => bin(s, w),
            _ if form.order == 1 => {
                let x = (w << shift) & mask(bits);
                x >> 1 | (x & 1) << (bits - 1)
            }
            _ if form.order == 2 => side.decimal(n as u64, w, bits),
            Some(_) => {
                let negative = w >> (bits - 1) == 1;
                let v = if negative { w ^ mask(bits - 1) } else { w };
                (v << shift) & mask(bits - 1) | v & 1 << (bits - 1)
            }
            None => (w << shift) & mask(bits),
        })
    };
    let mut elements = numbers.into_iter().enumerate().map(element).collect::<Outcome<Vec<u64>>>()?;
    patches.apply(s, &mut elements)?;
    Ok(elements)
}

/// The finest step of the lattice (§1).
fn fine(s: &Header) -> f64 {
    s.multiplier as f64 * 2f64.powi(s.step_j - 8)
}

fn multiple(s: &Header, i: i32) -> u64 {
    if s.elem_bytes == 4 { (i as f32 * fine(s) as f32).to_bits().into() } else { (f64::from(i) * fine(s)).to_bits() }
}

fn border(s: &Header) -> u64 {
    if s.elem_bytes == 4 { 124_000 } else { 1 << 28 }
}

fn bin(s: &Header, x: u64) -> u64 {
    if s.multiplier == 0 {
        return unquantize(s, x);
    }
    let bits = s.bits();
    let first = border(s) / 15 + 1;
    let offset = first.wrapping_sub(border(s) * s.multiplier / (256 * s.step_w));
    let signed = extend(x, bits) as i64;
    if signed.unsigned_abs() < first {
        return multiple(s, 15 * signed as i32);
    }
    unquantize(s, if signed < 0 { x.wrapping_add(offset) } else { x.wrapping_sub(offset) } & mask(bits))
}

/// §8.
#[derive(Default)]
struct Patches {
    corrections: Vec<(usize, i8)>,
    exceptions: Vec<(usize, u64)>,
}

impl Patches {
    fn read(rest: &mut Bytes, n: u64, size: u64) -> Outcome<Patches> {
        let (before, corrections, exceptions) = (rest.0.len(), rest.next(2)?, rest.next(2)?);
        ensure(corrections + exceptions > 0, || "no patches".into())?;
        ensure(corrections <= n.min(4096) && exceptions <= n.min(1024), || "too many patches".into())?;
        let mut patches = Patches::default();
        let places = Patches::places(rest, corrections, n)?;
        for (place, byte) in places.into_iter().zip(rest.take(corrections)?) {
            ensure((1..=7).contains(&(*byte as i8).unsigned_abs()), || format!("correction {}", *byte as i8))?;
            patches.corrections.push((place, *byte as i8));
        }
        let places = Patches::places(rest, exceptions, n)?;
        if exceptions > 0 {
            let differ = rest.next(1)?;
            ensure(differ <= 1, || format!("flag {differ} of exceptions"))?;
            let mut bits = 0;
            for (i, place) in places.into_iter().enumerate() {
                bits = if i == 0 || differ == 1 { rest.next(size)? } else { bits };
                patches.exceptions.push((place, bits));
            }
        }
        rest.even(before - rest.0.len())?;
        Ok(patches)
    }

    /// The places that gaps tell.
    fn places(rest: &mut Bytes, count: u64, n: u64) -> Outcome<Vec<usize>> {
        let (mut places, mut next) = (Vec::new(), 0);
        for _ in 0..count {
            let mut gap = 255;
            while gap == 255 {
                gap = rest.next(1)?;
                next += gap;
            }
            places.push(next as usize);
            next += 1;
        }
        ensure(next <= n, || "a patch behind the last element".into())?;
        Ok(places)
    }

    fn apply(&self, s: &Header, elements: &mut [u64]) -> Outcome<()> {
        for (n, by) in &self.corrections {
            let u = if s.elem_bytes == 4 {
                f64::from(f32::from_bits(elements[*n] as u32) * (1.0 / fine(s) as f32))
            } else {
                f64::from_bits(elements[*n]) * (1.0 / fine(s))
            };
            ensure(u.abs() < 2.0 * border(s) as f64, || format!("element {n} is no multiple"))?;
            elements[*n] = multiple(s, u.round_ties_even() as i32 + i32::from(*by));
        }
        self.exceptions.iter().for_each(|(n, bits)| elements[*n] = *bits);
        Ok(())
    }
}

/// The coarse and the new nodes of a level along an axis: where they are in the tile.
type Nodes = [Vec<usize>; 2];

/// The weights of coarse nodes j − 1 … j + 2 (§7).
fn weights(coarse: &[usize], t: usize, j: usize, rough: bool) -> [i32; 4] {
    let from = j.saturating_sub(usize::from(!rough));
    let to = (j + if rough { 1 } else { 2 }).min(coarse.len() - 1);
    let mut weights = [0; 4];
    for i in from..=to {
        let product = |f: &dyn Fn(i64) -> i64| (from..=to).filter(|h| *h != i).map(|h| f(coarse[h] as i64)).product();
        let (top, bottom): (i64, i64) = (product(&|c| t as i64 - c), product(&|c| coarse[i] as i64 - c));
        let (top, bottom) = (top * bottom.signum(), bottom.abs());
        weights[i + 1 - j] = (2048 * top + bottom).div_euclid(2 * bottom) as i32;
    }
    let most = weights.iter().map(|w| w.abs()).max();
    let first = weights.iter().position(|w| Some(w.abs()) == most).unwrap();
    weights[first] += 1024 - weights.iter().sum::<i32>();
    weights
}

/// §7: the numbers of interpolated differences.
pub fn interpolate(rough: bool, coarse: bool, set: u64, own: [usize; 3], differences: Vec<u64>) -> Vec<u64> {
    let mut levels: Vec<[Nodes; 3]> = Vec::new();
    let mut here = own.map(|n| (0..n).collect::<Vec<usize>>());
    while levels.is_empty() || here.iter().any(|nodes| nodes.len() > 2) {
        let split = |nodes: Vec<usize>| {
            let is_coarse = |i: &usize| i.is_multiple_of(2) || i + 1 == nodes.len();
            let (coarse, new): (Vec<usize>, Vec<usize>) = (0..nodes.len()).partition(is_coarse);
            [coarse, new].map(|of| of.into_iter().map(|i| nodes[i]).collect())
        };
        levels.push(here.map(split));
        here = levels.last().unwrap().each_ref().map(|nodes| nodes[0].clone());
    }
    let steps: &[i32] = match own.iter().filter(|n| **n > 2).count() {
        _ if !coarse => &[1],
        0 | 1 => &[15, 15, 15, 13, 13, 11],
        2 => &[15, 15, 13, 11],
        _ => &[15, 13, 11],
    };
    let step = |k: usize| steps[k.min(steps.len() - 1)];
    let mut differences = differences.into_iter().map(|d| d as i32);
    let n = own.iter().product();
    let (mut v, mut e) = (vec![0i32; n], vec![0i32; n]);
    let at = |c: [usize; 3]| (c[2] * own[1] + c[1]) * own[0] + c[0];
    for (k, level) in levels.iter().enumerate().rev() {
        for class in [0, 1, 2, 4, 3, 5, 6, 7] {
            if class == 0 && k + 1 < levels.len() {
                continue;
            }
            let lists: [&[usize]; 3] = std::array::from_fn(|a| &level[a][class >> a & 1][..]);
            // How they differ from their like.
            let set = match class {
                1 | 2 | 4 if k < 2 => set as usize & !class,
                _ => 0,
            };
            let mut sum = 0i32;
            for i in 0..lists.iter().map(|list| list.len()).product() {
                let index =
                    [i % lists[0].len(), i / lists[0].len() % lists[1].len(), i / lists[0].len() / lists[1].len()];
                let place: [usize; 3] = std::array::from_fn(|a| lists[a][index[a]]);
                // The sum over neighbours before it along the axes of a set, with the sign of Lorenzo.
                let lorenzo = |f: &[i32], set: usize| {
                    (1..8).fold(0i32, |sum, axes| {
                        let is_there = axes & !set == 0 && (0..3).all(|a| index[a] >= axes >> a & 1);
                        let other: [usize; 3] =
                            std::array::from_fn(|a| lists[a][index[a].saturating_sub(axes >> a & 1)]);
                        match (is_there, axes.count_ones() % 2) {
                            (false, _) => sum,
                            (_, 1) => sum.wrapping_add(f[at(other)]),
                            _ => sum.wrapping_sub(f[at(other)]),
                        }
                    })
                };
                let make = |a: usize, f: &[i32]| {
                    let (coarse, j) = (&level[a][0], index[a]);
                    let w = weights(coarse, place[a], j, rough);
                    let [x0, x1, x2, x3] = std::array::from_fn(|i| {
                        let other = coarse[(j + i).saturating_sub(1).min(coarse.len() - 1)];
                        f[at(std::array::from_fn(|b| if a == b { other } else { place[b] }))]
                    });
                    let inner = x1.wrapping_add(x2);
                    let apart = |x: i32, w: i32| x.wrapping_sub(x1).wrapping_mul(w);
                    match w {
                        [-64, 576, 576, -64] => inner.wrapping_mul(9).wrapping_sub(x0.wrapping_add(x3)),
                        [0, 512, 512, 0] => inner.wrapping_mul(8),
                        [a, _, c, d] => {
                            let all = apart(x0, a).wrapping_add(apart(x2, c)).wrapping_add(apart(x3, d));
                            x1.wrapping_mul(16).wrapping_add(all.wrapping_add(32) >> 6)
                        }
                    }
                };
                let sum_of =
                    |terms: &[(i32, i32)]| terms.iter().fold(0i32, |sum, (n, x)| sum.wrapping_add(n.wrapping_mul(*x)));
                // The axes whose boolean sum it is: the first one's numbers, the other one's errors.
                let two = |a: usize, b: usize| match rough {
                    false => sum_of(&[(1, make(a, &v)), (1, make(b, &e))]),
                    true => sum_of(&[(3, make(a, &v)), (1, make(b, &v)), (2, make(b, &e))]) >> 2,
                };
                let p16 = match class {
                    0 => 0,
                    1 => make(0, &v),
                    2 => make(1, &v),
                    4 => make(2, &v),
                    3 => two(1, 0),
                    5 => two(2, 0),
                    6 => two(2, 1),
                    _ => {
                        let of_z = make(2, &v);
                        let all = sum_of(&[(1, of_z), (1, make(1, &e)), (1, make(0, &e))]);
                        let mean = sum_of(&[(2, of_z), (1, make(1, &v)), (1, make(0, &v))]) >> 2;
                        if rough { mean.wrapping_add(all) >> 1 } else { all }
                    }
                };
                let round = |p16: i32| p16.wrapping_add(8) >> 4;
                let p = if class == 0 { lorenzo(&v, 7) } else { round(p16) };
                let d = differences.next().unwrap();
                sum = if index[0] == 0 || set & 1 == 0 { d } else { sum.wrapping_add(d) };
                let q = lorenzo(&e, set & 6);
                let number = p.wrapping_add(sum.wrapping_mul(step(k))).wrapping_add(q);
                let less = if class == 5 { round(make(2, &v)) } else { p };
                e[at(place)] = number.wrapping_sub(less);
                v[at(place)] = number;
            }
        }
    }
    v.into_iter().map(|number| number as u64).collect()
}

/// The number behind a head (§3).
struct Form {
    shift: u64,
    order: u64,
    prediction: u64,
    table: bool,
    low: bool,
    slope: u64,
}

impl Form {
    fn read(s: &Header, bits: u64, axes: u64, table: bool) -> Outcome<Form> {
        let field = |from: u32, width: u32| bits >> from & ((1 << width) - 1);
        let [shift, order, prediction, slope] = [field(0, 6), field(6, 2), field(8, 2), field(11, 2)];
        let form = Form { shift, order, prediction, table, low: field(10, 1) == 1, slope };
        ensure(slope == 0 || prediction == 0, || format!("a slope with prediction {prediction}"))?;
        ensure(field(13, 3) == 0 && form.prediction < 3, || format!("form {bits:x}"))?;
        ensure(form.shift < 8 * s.elem_bytes as u64, || format!("shift {}", form.shift))?;
        ensure(form.order != 2 || s.float.is_some() && s.elem_bytes >= 4, || "decimals".into())?;
        ensure(form.order < 2 || form.shift == 0, || format!("order and shift {}", form.shift))?;
        ensure(form.prediction == 0 || axes == 0, || format!("axes {axes}"))?;
        ensure(form.prediction != 1 || form.table, || "symbols without a table".into())?;
        Ok(form)
    }
}

/// What stands between base and states (§10 to §13).
#[derive(Default)]
struct Side {
    slope: u64,
    digits: u64,
    odd: Vec<(u64, u64)>,
    list: Vec<u64>,
    lags: Vec<usize>,
    table: Option<Vec<u64>>,
    low: u64,
    bare: u64,
    bare_codes: u64,
    plane: Vec<u8>,
}

impl Side {
    fn read(s: &Header, form: &Form, n: u64, rest: &mut Bytes) -> Outcome<Side> {
        let (mut side, size) = (Side::default(), s.elem_bytes as u64);
        if form.slope > 0 {
            let bytes = 1 << form.slope;
            side.slope = extend(rest.next(bytes)?, 8 * bytes as u32);
        }
        if form.order == 2 {
            side.digits = rest.next(2)?;
            ensure(side.digits < 16, || format!("{} digits", side.digits))?;
            let count = rest.next(2)?;
            let places = rest.list(count, 2)?;
            ensure(places.is_sorted_by(|a, b| a < b), || "places do not rise".into())?;
            ensure(places.last().is_none_or(|p| *p < n), || "places behind the last".into())?;
            side.odd = places.into_iter().zip(rest.list(count, size)?).collect();
        }
        if form.order == 3 {
            let count = rest.next(2)?;
            ensure((1..=256).contains(&count), || format!("{count} distinct elements"))?;
            side.list = rest.list(count, size)?;
            rest.even((count * size) as usize)?;
        }
        if form.prediction == 2 {
            let segments = n.div_ceil(16);
            let masks = rest.list(segments.div_ceil(16), 2)?;
            let mut lag = 1;
            for k in 0..16 * masks.len() as u64 {
                if masks[k as usize / 16] >> (k % 16) & 1 == 1 {
                    ensure(k < segments, || "lags behind the last".into())?;
                    lag = rest.next(2)?;
                    ensure(lag < 2 || (16..=16 * k).contains(&lag), || format!("lag {lag} of segment {k}"))?;
                }
                side.lags.push(lag as usize);
            }
        }
        if form.table {
            let (mut table, before) = (Vec::new(), rest.0.len());
            while table.iter().sum::<u64>() < 1024 {
                let first = rest.next(1)?;
                let frequency = if first < 128 { first } else { (first - 128) * 256 + rest.next(1)? };
                table.push(frequency);
                let limit = if form.prediction == 1 { 256 } else { 180 };
                ensure(table.len() <= limit && frequency < 1024, || format!("table {table:?}"))?;
                if frequency == 0 {
                    let more = rest.next(1)?;
                    table.extend((0..more).map(|_| 0));
                }
            }
            ensure(table.iter().sum::<u64>() == 1024, || format!("table {table:?}"))?;
            rest.even(before - rest.0.len())?;
            side.table = Some(table);
        }
        if form.low {
            (side.low, side.bare, side.bare_codes) = (rest.next(1)?, rest.next(1)?, rest.next(2)?);
            ensure((1..8 * size).contains(&side.low), || format!("{} low bits", side.low))?;
            ensure(side.bare_codes <= n, || format!("{} bare codes", side.bare_codes))?;
            ensure(side.bare_codes > 0 || side.bare == 0, || format!("bare {}", side.bare))?;
            side.plane = rest.take(((n - side.bare_codes) * side.low).div_ceil(16) * 2)?.to_vec();
        }
        Ok(side)
    }

    /// §13.
    fn complete(&self, mut codes: Vec<u64>, bits: u32) -> Outcome<Vec<u64>> {
        if self.low == 0 {
            return Ok(codes);
        }
        let (mut at, mut bare) = (0, 0);
        let mut bit = || {
            at += 1;
            u64::from(self.plane.get((at - 1) / 8).map_or(0, |byte| byte >> ((at - 1) % 8) & 1))
        };
        for code in &mut codes {
            let number = if self.bare_codes > 0 && *code == self.bare {
                bare += 1;
                0
            } else {
                (0..self.low).fold(0, |number, k| number | bit() << k)
            };
            *code = (*code << self.low | number) & mask(bits);
        }
        ensure(bare == self.bare_codes, || format!("{bare} bare codes"))?;
        ensure((0..16).all(|_| bit() == 0), || "padding bits".into())?;
        Ok(codes)
    }

    /// §10.
    fn decimal(&self, n: u64, w: u64, bits: u32) -> u64 {
        if let Some((_, element)) = self.odd.iter().find(|(place, _)| *place == n) {
            return *element;
        }
        let power: f64 = format!("1e{}", self.digits).parse().unwrap();
        if bits == 64 {
            (w as i64 as f64 / power).to_bits()
        } else {
            ((w as i32 as f64 / power) as f32).to_bits().into()
        }
    }
}

/// §7, predictor 0: the sums of the differences.
fn integrate(set: u64, own: [usize; 3], mut words: Vec<u64>) -> Vec<u64> {
    let at = |i: usize| [i % own[0], i / own[0] % own[1], i / own[0] / own[1]];
    let stride = [1, own[0], own[0] * own[1]];
    let is_in = |a: &usize| set >> a & 1 == 1;
    if set != 0 {
        for a in (0..3).filter(|a| !is_in(a)) {
            for i in (0..words.len()).filter(|i| (0..3).filter(is_in).all(|b| at(*i)[b] == 0) && at(*i)[a] > 0) {
                words[i] = words[i].wrapping_add(words[i - stride[a]]);
            }
        }
    }
    for a in (0..3).filter(is_in) {
        for i in (0..words.len()).filter(|i| at(*i)[a] > 0) {
            words[i] = words[i].wrapping_add(words[i - stride[a]]);
        }
    }
    words
}

/// The features of the codec that a valid body uses, by name.
pub fn features(s: &Header, lens: &[u64], kind: u64, body: &[u8]) -> Outcome<Vec<&'static str>> {
    let mut found = Vec::new();
    let (kind, body) = match kind {
        3 => {
            found.push("predict: masked");
            (u64::from(body[0] >> 6), &body[4 * number(body, 2, 2)? as usize..])
        }
        _ => (kind, body),
    };
    found.push(["predict: packed", "predict: raw", "predict: constant"][kind as usize]);
    if kind > 0 {
        return Ok(found);
    }
    let head = number(body, 0, 4)?;
    let differences = ["none", "x", "y", "xy", "z", "xz", "yz", "xyz"];
    let names = differences.map(|axes| format!("predict: differences {axes}").leak() as &'static str);
    found.push(names[(head & 7) as usize]);
    found.push(if head >> 10 & 255 == 255 { "predict: no words" } else { "predict: words" });
    found.push(match (head >> 23 & 1, head >> 18 & 31) {
        (1, _) => "predict: states of a mask",
        (_, 0) => "predict: no states",
        _ => "predict: states",
    });
    found.push(match head >> 5 & 3 {
        0 if s.step_w > 0 => "predict: bins",
        0 => "predict: bits",
        1 => "predict: lattice",
        2 => "predict: multiples",
        _ => "predict: exact",
    });
    let predictors = ["predict: axes", "predict: smooth", "predict: rough"];
    found.push(predictors[(head >> 3 & 3) as usize]);
    match (head >> 3 & 3, head >> 5 & 3) {
        (1.., 0) if s.step_w > 0 => found.push("predict: interpolated bins"),
        (1.., 0) => found.push("predict: interpolated bits"),
        _ => (),
    }
    let Geometry::Tiles(sides) = &s.geometry else { return Err("no tiles".into()) };
    if head >> 3 & 3 == 2 && axes(sides, lens).0.iter().all(|len| *len > 2) {
        found.push("predict: rough xyz");
    }
    let words = [0, 1, 2, 4][(head >> 24 & 3) as usize];
    let form = if head >> 5 & 3 == 3 || s.step_w == 0 { 2 } else { 0 };
    if head >> 8 & 1 == 1 && number(body, 4 + form + 2 * words + 2, 2)? > 0 {
        found.push("predict: exceptions");
    }
    if form > 0 {
        let n = lens.iter().product();
        found.extend(features_of_form(s, head, n, &body[4..])?);
    }
    let flags = [(7, "predict: table"), (8, "predict: patches"), (9, "predict: sparse")];
    found.extend(flags.into_iter().filter(|(bit, _)| head >> bit & 1 == 1).map(|(_, name)| name));
    Ok(found)
}

/// Those of a form, which begins what follows a head.
fn features_of_form(s: &Header, head: u64, n: u64, behind: &[u8]) -> Outcome<Vec<&'static str>> {
    let form = Form::read(s, number(behind, 0, 2)?, head & 7, head >> 7 & 1 == 1)?;
    let of_order = ["predict: numbers", "predict: magnitudes", "predict: decimals", "predict: ranks"];
    let of_prediction = ["predict: along axes", "predict: symbols", "predict: lags"];
    let mut found = vec![of_order[form.order as usize], of_prediction[form.prediction as usize]];
    found.extend((form.slope > 0).then_some("predict: slope"));
    if form.low && head >> 8 & 1 == 0 {
        let words = [0, 1, 2, 4][(head >> 24 & 3) as usize];
        let side = Side::read(s, &form, n, &mut Bytes(&behind[2 + 2 * words..]))?;
        found.push(if side.bare_codes > 0 { "predict: bare codes" } else { "predict: low bits" });
    }
    Ok(found)
}
