//! How two sides of an array differ: quickly where an error is clearly within its limit, else in exact arithmetic.

use sleek::advise::elements;
use sleek::{DType, Limits, Mode};

use super::exact::holds;
use crate::quality::squares::{Squares, psnr};

/// Elements that are looked at together; what is quick in vectors is left to the exact way in runs of so many.
const TILE: usize = 1024;
/// Sums that run beside each other, for the compiler to make vectors of.
const LANES: usize = 8;

/// Planes of more elements than this have no figures: both sides, as numbers, are in memory at once.
pub const PLANE_ELEMENTS: u64 = 13 << 19;

pub struct Rule<'a> {
    dtype: DType,
    big_endian: bool,
    pub mode: Mode,
    missing: &'a [u64],
    /// The values of these, where comparing values is as good as comparing bits.
    missing_values: Option<Vec<f64>>,
    valid: Option<Valid>,
}

/// Between which values those lie that programs take for data.
#[derive(Clone, Copy)]
pub struct Valid {
    pub limits: Limits,
    /// Whether what was inside had to stay there.
    pub is_promised: bool,
}

impl<'a> Rule<'a> {
    pub fn new(dtype: DType, big_endian: bool, mode: Mode, missing: &'a [u64]) -> Rule<'a> {
        let values: Vec<f64> =
            missing.iter().map(|bits| dtype.number(*bits)).filter(|number| number.is_finite()).collect();
        let zeros = values.iter().filter(|v| **v == 0.0).count();
        let are_plain = dtype.is_float() && zeros != 1;
        let missing_values = (are_plain || missing.is_empty()).then_some(values);
        Rule { dtype, big_endian, mode, missing, missing_values, valid: None }
    }

    /// The same for data of which only some values are valid.
    pub fn with_valid(self, valid: Option<Valid>) -> Rule<'a> {
        Rule { valid, ..self }
    }

    /// Elements that were valid, and are not any more.
    fn left_valid(&self, original: &[u8], restored: &[u8]) -> u64 {
        let mut left = 0;
        if let Some(Valid { limits: Limits { low, high }, .. }) = self.valid.filter(|_| original != restored) {
            let is_valid = |value: f64| low <= value && value <= high;
            elements::for_each_pair(self.dtype, self.big_endian, original, restored, |v, r| {
                left += u64::from(is_valid(v.1) && !is_valid(r.1));
            });
        }
        left
    }

    /// NaN and infinities are told apart from other missing values: they come back whether they are named or not.
    fn is_missing(&self, bits: u64) -> bool {
        self.missing.contains(&bits) && self.dtype.number(bits).is_finite()
    }

    /// The values of both sides; what does not count is NaN on both.
    pub fn values(&self, original: &[u8], restored: &[u8]) -> (Vec<f64>, Vec<f64>) {
        let count = original.len() / self.dtype.size();
        let (mut v, mut r) = (vec![0.0; count], vec![0.0; count]);
        elements::values(self.dtype, self.big_endian, original, &mut v);
        elements::values(self.dtype, self.big_endian, restored, &mut r);
        for (v, r) in v.iter_mut().zip(&mut r) {
            let is_missing = self.missing_values.iter().flatten().any(|mark| mark == v);
            if is_missing || !v.is_finite() || !r.is_finite() {
                (*v, *r) = (f64::NAN, f64::NAN);
            }
        }
        if self.missing_values.is_none() {
            let mut at = 0;
            elements::for_each_pair(self.dtype, self.big_endian, original, original, |(bits, _), _| {
                if self.is_missing(bits) {
                    (v[at], r[at]) = (f64::NAN, f64::NAN);
                }
                at += 1;
            });
        }
        (v, r)
    }

    /// Below this an error is within `limit` without a closer look.
    fn allowed(&self, limit: f64) -> f64 {
        match self.mode {
            Mode::Lossless => 0.0,
            Mode::Rate | Mode::Precision => f64::INFINITY,
            Mode::Rel if limit >= 1.0 => 0.0, // the sign may be lost
            Mode::Rel => limit * (1.0 - 2f64.powi(-50)),
            // A difference that is rounded to less than the limit is no larger than it.
            _ => limit,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ComparedElement {
    pub index: Vec<u64>,
    pub original: f64,
    pub restored: f64,
}

/// How two sides differ.
#[derive(Clone, Debug)]
pub struct Difference {
    pub count: u64,
    pub changed: u64,
    pub special: u64,
    pub missing: u64,
    /// Elements of which one side only is missing.
    pub missing_violations: u64,
    /// Elements that were valid, and are not any more.
    pub left_valid: u64,
    pub violations: u64,
    pub max_error: f64,
    /// The largest share of the limit; 0 where there is none.
    pub of_bound: f64,
    pub minimum: f64,
    pub maximum: f64,
    /// Of the errors, with their signs.
    sum: f64,
    squares: Squares,
    /// The worst by its share of the limit, else by its error: of those that are not as promised if there are any.
    pub worst: Option<ComparedElement>,
    worst_share: f64,
}

impl Default for Difference {
    fn default() -> Difference {
        Difference {
            count: 0,
            changed: 0,
            special: 0,
            missing: 0,
            missing_violations: 0,
            left_valid: 0,
            violations: 0,
            max_error: 0.0,
            of_bound: 0.0,
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            sum: 0.0,
            squares: Squares::default(),
            worst: None,
            worst_share: 0.0,
        }
    }
}

/// What is known of a tile whose elements are all as promised.
struct Tile {
    max_error: f64,
    max_relative: f64,
    minimum: f64,
    maximum: f64,
    sum: f64,
    squares: Squares,
    uncounted: u64,
    missing: u64,
}

impl Difference {
    /// Of the bytes of some elements, whose errors are held against `limit`; `index` tells the indices of the nth.
    pub fn of(
        rule: &Rule,
        limit: f64,
        original: &[u8],
        restored: &[u8],
        index: &dyn Fn(u64) -> Vec<u64>,
    ) -> Difference {
        let bytes = TILE * rule.dtype.size();
        let mut difference = Difference::default();
        let (mut v, mut r) = ([0.0; TILE], [0.0; TILE]);
        for (n, (a, b)) in original.chunks(bytes).zip(restored.chunks(bytes)).enumerate() {
            let at = |i: u64| index((n * TILE) as u64 + i);
            match Tile::of(rule, limit, a, b, (&mut v, &mut r)) {
                Some(tile) => difference.take_tile(rule, limit, &tile, (a, b), (&v, &r), &at),
                None => difference.take_exactly(rule, limit, a, b, &at),
            }
            difference.left_valid += rule.left_valid(a, b);
        }
        if rule.valid.is_some_and(|valid| valid.is_promised) {
            difference.violations += difference.left_valid;
        }
        difference
    }

    pub fn join(&mut self, part: &Difference) {
        self.count += part.count;
        self.changed += part.changed;
        self.special += part.special;
        self.missing += part.missing;
        self.missing_violations += part.missing_violations;
        self.left_valid += part.left_valid;
        self.max_error = self.max_error.max(part.max_error);
        self.of_bound = self.of_bound.max(part.of_bound);
        self.minimum = self.minimum.min(part.minimum);
        self.maximum = self.maximum.max(part.maximum);
        self.sum += part.sum;
        self.squares.join(&part.squares);
        if let Some(worst) = &part.worst {
            self.take_worst(part.worst_share, part.violations == 0, &|| worst.clone());
        }
        self.violations += part.violations;
    }

    /// The same of so many elements that differ in the same way, as those that nobody wrote.
    pub fn times(mut self, count: u64) -> Difference {
        let numbers = [&mut self.count, &mut self.changed, &mut self.special, &mut self.missing];
        numbers.into_iter().for_each(|n| *n = n.saturating_mul(count));
        let violations = [&mut self.missing_violations, &mut self.left_valid, &mut self.violations];
        violations.into_iter().for_each(|n| *n = n.saturating_mul(count));
        self.sum *= count as f64;
        self.squares = self.squares.times(count);
        self
    }

    fn take_tile(
        &mut self,
        rule: &Rule,
        limit: f64,
        tile: &Tile,
        (a, b): (&[u8], &[u8]),
        (v, r): (&[f64; TILE], &[f64; TILE]),
        index: &dyn Fn(u64) -> Vec<u64>,
    ) {
        let count = a.len() / rule.dtype.size();
        self.count += count as u64;
        self.changed += if a == b { 0 } else { differing(rule.dtype.size(), a, b) };
        self.missing += tile.missing;
        self.special += tile.uncounted - tile.missing;
        self.max_error = self.max_error.max(tile.max_error);
        self.minimum = self.minimum.min(tile.minimum);
        self.maximum = self.maximum.max(tile.maximum);
        self.sum += tile.sum;
        self.squares.join(&tile.squares);
        let measured = if rule.mode == Mode::Rel { tile.max_relative } else { tile.max_error };
        let share = share(rule.mode, limit, measured);
        self.of_bound = self.of_bound.max(if limit > 0.0 { share } else { 0.0 });
        if share > self.worst_share && self.violations == 0 {
            let size = |i: &usize| match rule.mode {
                Mode::Rel => (v[*i] - r[*i]).abs() / v[*i].abs(),
                _ => (v[*i] - r[*i]).abs(),
            };
            let at = (0..count).find(|i| size(i) == measured).unwrap_or(0);
            self.worst = Some(ComparedElement { index: index(at as u64), original: v[at], restored: r[at] });
            self.worst_share = share;
        }
    }

    /// Takes in elements one by one.
    fn take_exactly(
        &mut self,
        rule: &Rule,
        limit: f64,
        original: &[u8],
        restored: &[u8],
        index: &dyn Fn(u64) -> Vec<u64>,
    ) {
        let mut at = 0;
        elements::for_each_pair(rule.dtype, rule.big_endian, original, restored, |v, r| {
            let is_missing = rule.is_missing(v.0);
            let masks_agree = v.0 == r.0 || !(is_missing || rule.is_missing(r.0));
            let kept = masks_agree && holds(rule.mode, limit, v, r);
            self.count += 1;
            self.changed += u64::from(v.0 != r.0);
            self.missing_violations += u64::from(!masks_agree);
            let measured = match (is_missing, v.1.is_finite()) {
                (false, true) => self.measure(rule.mode, v.1, r.1),
                (true, _) => {
                    self.missing += 1;
                    0.0
                }
                _ => {
                    self.special += 1;
                    0.0
                }
            };
            let share = share(rule.mode, limit, measured);
            self.of_bound = self.of_bound.max(if limit > 0.0 { share } else { 0.0 });
            self.take_worst(share, kept, &|| ComparedElement { index: index(at), original: v.1, restored: r.1 });
            self.violations += u64::from(!kept);
            at += 1;
        });
    }

    /// Takes in a value that counts; its error, which is a share of the value where the bound is one.
    fn measure(&mut self, mode: Mode, v: f64, r: f64) -> f64 {
        let error = if r.is_nan() { f64::INFINITY } else { (v - r).abs() };
        self.max_error = self.max_error.max(error);
        self.minimum = self.minimum.min(v);
        self.maximum = self.maximum.max(v);
        self.sum += if error.is_finite() { r - v } else { 0.0 };
        self.squares.join(&Squares::of(error, |by| (error * by).powi(2)));
        if mode == Mode::Rel && error > 0.0 { error / v.abs() } else { error }
    }

    /// One that breaks its bound, in its mask too, is worse than any that keeps it.
    fn take_worst(&mut self, share: f64, kept: bool, element: &dyn Fn() -> ComparedElement) {
        let is_worse = match (kept, self.violations == 0) {
            (false, true) => true,
            (true, false) => false,
            _ => share > self.worst_share,
        };
        if is_worse {
            self.worst = Some(element());
            self.worst_share = share;
        }
    }

    /// Values that count.
    fn counted(&self) -> u64 {
        (self.count - self.special - self.missing).max(1)
    }

    /// The value range of the original; of one that is no number the largest that is one.
    pub fn range(&self) -> f64 {
        if self.maximum > self.minimum { (self.maximum - self.minimum).min(f64::MAX) } else { 0.0 }
    }

    pub fn rms(&self) -> f64 {
        self.squares.root_of_mean(self.counted())
    }

    /// The mean of all errors, with their signs.
    pub fn bias(&self) -> f64 {
        self.sum / self.counted() as f64
    }

    /// Largest error, root of the mean squared one, and PSNR; none without a value that counts.
    pub fn figures(&self) -> Option<[f64; 3]> {
        let has_values = self.count > self.special + self.missing;
        has_values.then(|| [self.max_error, self.rms(), self.psnr(self.range())])
    }

    /// In dB, of this range; infinite without errors.
    pub fn psnr(&self, range: f64) -> f64 {
        psnr(range, self.rms())
    }
}

/// The share of its limit that an error takes; the error where there is none.
fn share(mode: Mode, limit: f64, measured: f64) -> f64 {
    if limit > 0.0 && mode.has_bound() { measured / limit } else { measured }
}

fn differing(size: usize, a: &[u8], b: &[u8]) -> u64 {
    fn count<const N: usize>(a: &[u8], b: &[u8]) -> u64 {
        let pairs = a.as_chunks::<N>().0.iter().zip(b.as_chunks::<N>().0);
        pairs.map(|(a, b)| u32::from(a != b)).sum::<u32>().into()
    }
    match size {
        1 => count::<1>(a, b),
        2 => count::<2>(a, b),
        4 => count::<4>(a, b),
        _ => count::<8>(a, b),
    }
}

/// Whether an element differs in a bit that is no number on the first side, or missing.
fn differs_without_value(size: usize, a: &[u8], b: &[u8], v: &[f64; TILE]) -> bool {
    let pairs = a.chunks_exact(size).zip(b.chunks_exact(size)).zip(v);
    pairs.into_iter().any(|((a, b), v)| !v.is_finite() && a != b)
}

impl Tile {
    /// `None` where an element needs a closer look. What does not count is NaN in `v` afterwards.
    fn of(rule: &Rule, limit: f64, a: &[u8], b: &[u8], (v, r): (&mut [f64; TILE], &mut [f64; TILE])) -> Option<Tile> {
        let size = rule.dtype.size();
        let count = a.len() / size;
        let is_same = a == b;
        let missing_values = rule.missing_values.as_ref().filter(|_| is_same || rule.mode != Mode::Lossless)?;
        elements::values(rule.dtype, rule.big_endian, a, &mut v[..count]);
        elements::values(rule.dtype, rule.big_endian, b, &mut r[..count]);
        let padded = count.next_multiple_of(LANES);
        v[count..padded].fill(f64::NAN);
        let mut missing = 0;
        for mark in missing_values {
            missing += v[..count].iter().map(|v| u32::from(v == mark)).sum::<u32>();
            v[..count].iter_mut().for_each(|v| *v = if *v == *mark { f64::NAN } else { *v });
            // One that is missing on this side alone has an error that is within no limit.
            r[..count].iter_mut().for_each(|r| *r = if *r == *mark { f64::NAN } else { *r });
        }
        let (v_lanes, r_lanes) = (v[..padded].as_chunks::<LANES>().0, r[..padded].as_chunks::<LANES>().0);
        let sums = Sums::of(rule, rule.allowed(limit), is_same, v_lanes, r_lanes)?;
        let uncounted = (sums.uncounted as usize - (padded - count)) as u64;
        if uncounted > 0 && !is_same && differs_without_value(size, a, b, v) {
            return None;
        }
        let squares = Squares::of(sums.max_error, |by| match by == 1.0 {
            true => sums.squares,
            false => v[..count].iter().zip(&r[..count]).map(|(v, r)| ((v - r) * by).powi(2)).filter(|x| *x > 0.0).sum(),
        });
        Some(Tile {
            max_error: sums.max_error,
            max_relative: sums.max_relative,
            minimum: sums.minimum,
            maximum: sums.maximum,
            sum: sums.sum,
            squares,
            uncounted,
            missing: missing.into(),
        })
    }
}

/// What a quick look at a tile finds.
struct Sums {
    max_error: f64,
    max_relative: f64,
    minimum: f64,
    maximum: f64,
    sum: f64,
    squares: f64,
    uncounted: u64,
}

impl Sums {
    /// `None` where an error is not clearly within what is allowed.
    fn of(rule: &Rule, allowed: f64, is_same: bool, v: &[[f64; LANES]], r: &[[f64; LANES]]) -> Option<Sums> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return unsafe { Sums::by_avx2(rule, allowed, is_same, v, r) };
        }
        Sums::by_any(rule, allowed, is_same, v, r)
    }

    /// The same code, compiled for longer vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn by_avx2(rule: &Rule, allowed: f64, is_same: bool, v: &[[f64; LANES]], r: &[[f64; LANES]]) -> Option<Sums> {
        Sums::by_any(rule, allowed, is_same, v, r)
    }

    #[inline(always)]
    fn by_any(rule: &Rule, allowed: f64, is_same: bool, v: &[[f64; LANES]], r: &[[f64; LANES]]) -> Option<Sums> {
        match rule.mode {
            Mode::Rel => Sums::looped::<true>(allowed, is_same, v, r),
            _ => Sums::looped::<false>(allowed, is_same, v, r),
        }
    }

    /// Without a branch in it, in lanes that are independent.
    #[inline(always)]
    fn looped<const BY_VALUE: bool>(
        allowed: f64,
        is_same: bool,
        v: &[[f64; LANES]],
        r: &[[f64; LANES]],
    ) -> Option<Sums> {
        // Near the smallest numbers a product is rounded by more than its share.
        const SMALLEST: f64 = 1e-290;
        let (mut errors, mut relatives) = ([0.0f64; LANES], [0.0f64; LANES]);
        let (mut low, mut high) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
        let (mut sums, mut squares) = ([0.0f64; LANES], [0.0f64; LANES]);
        let (mut uncounted, mut doubts) = ([0u64; LANES], [false; LANES]);
        for (v, r) in v.iter().zip(r) {
            for k in 0..LANES {
                let (v, r) = (v[k], r[k]);
                let counts = v.abs() <= f64::MAX;
                let error = (v - r).abs();
                let is_near = match BY_VALUE {
                    false => error < allowed,
                    true => {
                        let most = allowed * v.abs();
                        (error < most && most > SMALLEST) || v.to_bits() == r.to_bits()
                    }
                };
                doubts[k] |= counts & !is_near;
                uncounted[k] += u64::from(!counts);
                let error = if counts { error } else { 0.0 };
                errors[k] = if error > errors[k] { error } else { errors[k] };
                if BY_VALUE {
                    let relative = error / v.abs();
                    relatives[k] = if relative > relatives[k] { relative } else { relatives[k] };
                }
                low[k] = if counts & (v < low[k]) { v } else { low[k] };
                high[k] = if counts & (v > high[k]) { v } else { high[k] };
                sums[k] += if counts { r - v } else { 0.0 };
                squares[k] += error * error;
            }
        }
        if !is_same && doubts.iter().any(|doubt| *doubt) {
            return None;
        }
        let largest = |lanes: [f64; LANES]| lanes.into_iter().fold(0.0, f64::max);
        Some(Sums {
            max_error: largest(errors),
            max_relative: largest(relatives),
            minimum: low.into_iter().fold(f64::INFINITY, f64::min),
            maximum: high.into_iter().fold(f64::NEG_INFINITY, f64::max),
            sum: sums.iter().sum(),
            squares: squares.iter().sum(),
            uncounted: uncounted.iter().sum(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same one by one, whatever is quick.
    fn slowly(rule: &Rule, limit: f64, a: &[u8], b: &[u8]) -> Difference {
        let mut all = Difference::default();
        all.take_exactly(rule, limit, a, b, &|n| vec![n]);
        all
    }

    /// Values and what became of them: some equal, some within the limit, at it, beyond it, and what is no number.
    fn sides(seed: u64, limit: f64, worst: u64) -> (Vec<f64>, Vec<f64>) {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        let special = [f64::NAN, f64::INFINITY, -0.0, 0.0, -9999.0, 1e300];
        let pairs = (0..140_000).map(|_| {
            let v = (next() % 2001) as f64 - 1000.0;
            match next() % 2000 {
                n @ 0..6 => (special[n as usize], special[n as usize]),
                n @ 6..12 if worst > 0 => (special[n as usize - 6], v),
                n @ 12..18 if worst > 1 => (v, special[n as usize - 12]),
                18 => (v, v + limit),
                19 if worst > 0 => (v, v + 1.001 * limit),
                n => (v, v + limit * 0.99 * (n as f64 / 2000.0 - 0.5)),
            }
        });
        pairs.unzip()
    }

    #[test]
    fn quick_is_as_exact_as_slow() {
        let bytes = |x: &[f64], big: bool| -> Vec<u8> {
            x.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }).collect()
        };
        let marks = [(-9999.0f64).to_bits(), f64::NAN.to_bits(), f64::INFINITY.to_bits()];
        for (n, mode) in [Mode::Abs, Mode::Rel, Mode::Noa, Mode::Lossless, Mode::Rate].into_iter().enumerate() {
            for (worst, big_endian, missing) in
                [(0, false, &marks[..]), (1, true, &marks[..]), (2, false, &[][..]), (0, true, &[][..])]
            {
                for limit in [1e-3, 0.5, 2.0] {
                    let (v, r) = sides(n as u64 + 17 * worst, if mode == Mode::Rel { 0.1 } else { limit }, worst);
                    let (a, b) = (bytes(&v, big_endian), bytes(&r, big_endian));
                    let rule = Rule::new(DType::F64, big_endian, mode, missing);
                    let (quick, slow) =
                        (Difference::of(&rule, limit, &a, &b, &|n| vec![n]), slowly(&rule, limit, &a, &b));
                    let mut parts = Difference::default();
                    for (n, (a, b)) in a.chunks(1 << 16).zip(b.chunks(1 << 16)).enumerate() {
                        parts.join(&Difference::of(&rule, limit, a, b, &|i| vec![(n << 13) as u64 + i]));
                    }
                    for found in [&quick, &parts] {
                        let numbers = |d: &Difference| {
                            [d.count, d.changed, d.special, d.missing, d.missing_violations, d.violations]
                        };
                        assert_eq!(numbers(found), numbers(&slow), "{mode:?} {limit} {worst}");
                        let sizes = |d: &Difference| [d.max_error, d.of_bound, d.minimum, d.maximum];
                        assert_eq!(sizes(found), sizes(&slow), "{mode:?} {limit} {worst}");
                        let near = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-9 * a.abs().max(1e-3);
                        assert!(near(found.rms(), slow.rms()) && near(found.bias(), slow.bias()), "{mode:?}");
                        let shown = |e: &Option<ComparedElement>| e.as_ref().map(|e| e.index.clone());
                        assert_eq!(shown(&found.worst), shown(&slow.worst), "{mode:?} {limit} {worst}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_leaves_the_valid_range_is_counted() {
        let bytes = |value: f32| (0..2000).flat_map(|_| value.to_le_bytes()).collect::<Vec<u8>>();
        let limits = Limits::new(0.0, 1.0).unwrap().unwrap();
        for (is_promised, violations) in [(false, 0), (true, 2000)] {
            let rule = Rule::new(DType::F32, false, Mode::Abs, &[]).with_valid(Some(Valid { limits, is_promised }));
            let of = |v: f32, r: f32| Difference::of(&rule, 1e-3, &bytes(v), &bytes(r), &|n| vec![n]);
            let left = of(1.0, 1.0001);
            assert_eq!((left.left_valid, left.violations, left.times(3).left_valid), (2000, violations, 6000));
            assert_eq!(
                (of(1.0, 0.9999).left_valid, of(1.0005, 1.0).left_valid, of(-0.1, -0.1001).left_valid),
                (0, 0, 0)
            );
        }
    }

    #[test]
    fn bits_of_what_is_no_number_count() {
        let (quiet, other) = (f32::NAN.to_bits(), f32::NAN.to_bits() ^ 1);
        let bytes = |bits: u32| (0..2000u32).flat_map(|_| bits.to_le_bytes()).collect::<Vec<u8>>();
        let rule = Rule::new(DType::F32, false, Mode::Abs, &[]);
        let of = Difference::of(&rule, 1.0, &bytes(quiet), &bytes(other), &|n| vec![n]);
        assert_eq!((of.violations, of.special, of.changed), (2000, 2000, 2000));
        assert_eq!(of.clone().times(3).violations, 6000);
    }
}
