//! Packed tiles of codec 4, written from `docs/codecs/predict.md`, whose tables it reads: slow, plain and strict.

use std::sync::OnceLock;

use super::{Geometry, Header, Outcome, ensure, ensure_zero, mask, number, slice, unquantize};

/// Frequencies of symbols, by table, as the page has them.
fn tables() -> &'static [Vec<u64>] {
    static TABLES: OnceLock<Vec<Vec<u64>>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let page = include_str!("../../docs/codecs/predict.md");
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

/// The final states (§4).
fn states(body: &[u8], at: &mut u64, longest: u64, masked: bool) -> Outcome<[u64; 32]> {
    let mut x = [1; 32];
    if longest == 0 {
        return Ok(x);
    }
    let mut mask = u64::from(u32::MAX);
    if masked {
        mask = number(body, *at, 4)?;
        *at += 4;
    }
    let mut end = 8 * *at;
    let bits = |end: &mut u64, count: u64| {
        (0..count).try_fold(0, |number, k| {
            let byte = *body.get((*end / 8) as usize).ok_or("states end early")?;
            let bit = byte >> (*end % 8) & 1;
            *end += 1;
            Ok::<u64, String>(number | u64::from(bit) << k)
        })
    };
    let lanes: Vec<usize> = (0..32).filter(|l| mask >> l & 1 == 1).collect();
    let lengths = lanes.iter().map(|_| bits(&mut end, 4)).collect::<Outcome<Vec<u64>>>()?;
    let floor = longest.saturating_sub(15);
    for (l, length) in lanes.into_iter().zip(lengths) {
        x[l] = match length {
            0 => bits(&mut end, floor)?.max(1),
            _ => bits(&mut end, floor + length - 1)? | 1 << (floor + length - 1),
        };
    }
    while end % 16 != 8 * *at % 16 {
        ensure(bits(&mut end, 1)? == 0, || "bits behind the last state".into())?;
    }
    *at = end / 8;
    Ok(x)
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
    let (set, exact, has_table) = (field(0, 3), field(3, 1), field(6, 1) == 1);
    let base_words = [0, 1, 2, 4][field(4, 2) as usize];
    let (switch, longest, masked) = (field(7, 8), field(15, 5), field(20, 1) == 1);
    ensure((0..3).all(|a| set >> a & 1 == 0 || big[a] > 1), || "an axis of one element".into())?;
    ensure(exact == 0 || s.step_w > 0, || "exact without bins".into())?;
    ensure(switch <= groups || switch == 255, || format!("head {head:x}"))?;
    ensure(longest <= 28 && !(masked && longest == 0), || format!("states of {longest} bits, {masked}"))?;
    let bins = s.step_w > 0 && exact == 0;
    let mut at = 4;
    let form = if bins { 0 } else { number(body, at, 2)? };
    at += if bins { 0 } else { 2 };
    let form = Form::read(s, form, set, has_table)?;
    let mut base = u128::from(field(21, 11));
    for k in 0..base_words {
        base |= u128::from(number(body, at, 2)?) << (11 + 16 * k);
        at += 2;
    }
    let sign = 1u128 << (10 + 16 * base_words);
    let base = base.wrapping_sub((base & sign) << 1) as u64;

    let count: u64 = own.iter().product();
    let side = Side::read(s, &form, count, body, &mut at)?;

    let x = states(body, &mut at, longest, masked)?;
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
        let table = match (class[g as usize], &side.table) {
            (0, _) => continue,
            (15, Some(table)) => table,
            (class, _) => &tables[class as usize],
        };
        group(&mut coder, table, form.symbols(), |l, j| place(g, l, j), has, &mut codes)?;
    }
    if switch == groups {
        coder.change()?;
    }
    ensure(coder.x == [1; 32], || format!("states {:?}", coder.x))?;
    ensure(coder.words.len() <= 2, || format!("{} bytes behind the last word", coder.words.len()))?;
    ensure_zero(coder.words, "padding")?;

    // Codes of elements, in their order.
    let at = |n: u64| [n % own[0], n / own[0] % own[1], n / own[0] / own[1]];
    let code = |n: u64| codes[((at(n)[2] * big[1] + at(n)[1]) * big[0] + at(n)[0]) as usize] & mask(bits);
    let codes = side.complete((0..count).map(code).collect(), bits)?;
    let words = match form.prediction {
        0 => integrate(set, own, codes.into_iter().map(zz).collect()),
        1 => codes,
        _ => codes.iter().enumerate().fold(Vec::new(), |mut a: Vec<u64>, (n, code)| {
            let lag = side.lags[n / 16];
            a.push(zz(*code).wrapping_add(if lag == 0 || lag > n { 0 } else { a[n - lag] }));
            a
        }),
    };
    let shift = form.shift;
    let element = |(n, a): (usize, u64)| {
        let w = a.wrapping_add(base) & mask(bits);
        if form.order == 3 {
            let element = side.list.get(w as usize).copied();
            return element.ok_or_else(|| format!("element {w} of {}", side.list.len()));
        }
        Ok(match s.float {
            Some(_) if bins => unquantize(s, w),
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
    words.into_iter().enumerate().map(element).collect()
}

/// Step 3 of §5 for one group.
#[allow(clippy::needless_range_loop)]
fn group(
    coder: &mut Coder,
    table: &[u64],
    symbols: bool,
    place: impl Fn(u64, u64) -> u64,
    has: impl Fn(u64) -> bool,
    codes: &mut [u64],
) -> Outcome<()> {
    let (mut n, mut lead) = ([[0; 4]; 32], [[0; 4]; 32]);
    for j in 0..4 {
        for l in (0..32).filter(|l| has(place(*l, j))) {
            let t = coder.symbol(l as usize, table)?;
            let (l, j) = (l as usize, j as usize);
            (n[l][j], lead[l][j]) = if t < 64 || symbols { (0, t) } else { (5 + (t - 64) / 2, 2 + t % 2) };
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

/// The number behind a head (§3).
struct Form {
    shift: u64,
    order: u64,
    prediction: u64,
    table: bool,
    low: bool,
}

impl Form {
    fn read(s: &Header, bits: u64, axes: u64, table: bool) -> Outcome<Form> {
        let field = |from: u32, width: u32| bits >> from & ((1 << width) - 1);
        let form =
            Form { shift: field(0, 6), order: field(6, 2), prediction: field(8, 2), table, low: field(10, 1) == 1 };
        ensure(field(11, 5) == 0 && form.prediction < 3, || format!("form {bits:x}"))?;
        ensure(form.shift < 8 * s.elem_bytes as u64, || format!("shift {}", form.shift))?;
        ensure(form.order != 2 || s.float.is_some() && s.elem_bytes >= 4, || "decimals".into())?;
        ensure(form.order < 2 || form.shift == 0, || format!("order and shift {}", form.shift))?;
        ensure(form.prediction == 0 || axes == 0, || format!("axes {axes}"))?;
        ensure(!form.symbols() || form.table, || "symbols without a table".into())?;
        Ok(form)
    }

    fn symbols(&self) -> bool {
        self.prediction == 1
    }
}

/// What stands between base and states (§8 to §11).
#[derive(Default)]
struct Side {
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
    fn read(s: &Header, form: &Form, n: u64, body: &[u8], at: &mut u64) -> Outcome<Side> {
        let mut next = |bytes: u64| {
            *at += bytes;
            number(body, *at - bytes, bytes)
        };
        let mut side = Side::default();
        if form.order == 2 {
            let size = s.elem_bytes as u64;
            side.digits = next(1)?;
            ensure(side.digits < 16 && next(1)? == 0, || format!("{} digits", side.digits))?;
            let count = next(2)?;
            let places = (0..count).map(|_| next(2)).collect::<Outcome<Vec<u64>>>()?;
            ensure(places.is_sorted_by(|a, b| a < b), || "places do not rise".into())?;
            ensure(places.last().is_none_or(|p| *p < n), || "places behind the last".into())?;
            side.odd = places.into_iter().map(|p| Ok((p, next(size)?))).collect::<Outcome<_>>()?;
        }
        if form.order == 3 {
            let size = s.elem_bytes as u64;
            let count = next(2)?;
            ensure((1..=256).contains(&count), || format!("{count} distinct elements"))?;
            side.list = (0..count).map(|_| next(size)).collect::<Outcome<_>>()?;
            ensure((count * size).is_multiple_of(2) || next(1)? == 0, || "padding".into())?;
        }
        if form.prediction == 2 {
            let segments = n.div_ceil(16);
            let masks = (0..segments.div_ceil(16)).map(|_| next(2)).collect::<Outcome<Vec<u64>>>()?;
            let mut lag = 1;
            for k in 0..16 * masks.len() as u64 {
                if masks[k as usize / 16] >> (k % 16) & 1 == 1 {
                    ensure(k < segments, || "lags behind the last".into())?;
                    lag = next(2)?;
                    ensure(lag < 2 || (16..=16 * k).contains(&lag), || format!("lag {lag} of segment {k}"))?;
                }
                side.lags.push(lag as usize);
            }
        }
        if form.table {
            let (mut table, mut bytes) = (Vec::new(), 0);
            while table.iter().sum::<u64>() < 1024 {
                let first = next(1)?;
                bytes += 1;
                if first >= 128 {
                    bytes += 1;
                    table.push((first - 128) * 256 + next(1)?);
                } else {
                    table.push(first);
                }
                let limit = if form.symbols() { 256 } else { 180 };
                ensure(table.len() <= limit && table[table.len() - 1] < 1024, || format!("table {table:?}"))?;
                if table[table.len() - 1] == 0 {
                    bytes += 1;
                    let more = next(1)?;
                    table.extend((0..more).map(|_| 0));
                }
            }
            ensure(table.iter().sum::<u64>() == 1024, || format!("table {table:?}"))?;
            ensure(bytes % 2 == 0 || next(1)? == 0, || "padding".into())?;
            side.table = Some(table);
        }
        if form.low {
            (side.low, side.bare, side.bare_codes) = (next(1)?, next(1)?, next(2)?);
            ensure((1..8 * s.elem_bytes as u64).contains(&side.low), || format!("{} low bits", side.low))?;
            ensure(side.bare_codes <= n, || format!("{} bare codes", side.bare_codes))?;
            ensure(side.bare_codes > 0 || side.bare == 0, || format!("bare {}", side.bare))?;
            let bytes = ((n - side.bare_codes) * side.low).div_ceil(16) * 2;
            side.plane = slice(body, *at, bytes)?.to_vec();
            *at += bytes;
        }
        Ok(side)
    }

    /// §11.
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

    /// §8.
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

/// §6: the sums of the differences.
fn integrate(set: u64, own: [u64; 3], mut words: Vec<u64>) -> Vec<u64> {
    let count = words.len() as u64;
    let at = |i: u64| [i % own[0], i / own[0] % own[1], i / own[0] / own[1]];
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

/// The features of the codec that a valid body uses, by name.
pub fn features(s: &Header, kind: u64, body: &[u8]) -> Outcome<Vec<&'static str>> {
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
    found.push(if head >> 7 & 255 == 255 { "predict: no words" } else { "predict: words" });
    found.push(match (head >> 20 & 1, head >> 15 & 31) {
        (1, _) => "predict: states of a mask",
        (_, 0) => "predict: no states",
        _ => "predict: states",
    });
    match head >> 3 & 1 {
        1 => found.push("predict: exact"),
        _ if s.step_w > 0 => found.push("predict: bins"),
        _ => {}
    }
    Ok(found)
}
