//! How two sides of an array differ: by vectors where all errors are clearly within their limit, else in exact
//! arithmetic.

use sleek::advise::elements;
use sleek::range::join;
use sleek::{DType, Limits, Mode};

use super::exact::holds;
use crate::quality::squares::{Squares, psnr};

/// Elements that are looked at together.
const TILE: usize = 1024;
/// Sums that run beside each other, for the compiler to make vectors of.
const LANES: usize = 8;

/// Planes of more elements than this have no figures: both sides, as numbers, are in memory at once.
pub const PLANE_ELEMENTS: u64 = 13 << 19;

pub struct Rule {
    dtype: DType,
    big_endian: bool,
    pub mode: Mode,
    /// The bits of missing values. NaN and infinities come back whether they are named or not, and are told apart.
    missing: Vec<u64>,
    /// Their values, where comparing these is as good as comparing bits.
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

impl Rule {
    pub fn new(dtype: DType, big_endian: bool, mode: Mode, missing: &[u64]) -> Rule {
        let missing: Vec<u64> = missing.iter().copied().filter(|bits| dtype.number(*bits).is_finite()).collect();
        let values: Vec<f64> = missing.iter().map(|bits| dtype.number(*bits)).collect();
        let are_plain = dtype.is_float() && values.iter().filter(|value| **value == 0.0).count() != 1;
        let missing_values = (are_plain || missing.is_empty()).then_some(values);
        Rule { dtype, big_endian, mode, missing, missing_values, valid: None }
    }

    /// The same for data of which only some values are valid.
    pub fn with_valid(self, valid: Option<Valid>) -> Rule {
        Rule { valid, ..self }
    }

    /// The values of both sides; what does not count is NaN on both.
    pub fn values(&self, original: &[u8], restored: &[u8]) -> (Vec<f64>, Vec<f64>) {
        let count = original.len() / self.dtype.size();
        let (mut values, mut back) = (Vec::with_capacity(count), Vec::with_capacity(count));
        elements::for_each_pair(self.dtype, self.big_endian, original, restored, |v, r| {
            let counts = v.1.is_finite() && r.1.is_finite() && !self.missing.contains(&v.0);
            values.push(if counts { v.1 } else { f64::NAN });
            back.push(if counts { r.1 } else { f64::NAN });
        });
        (values, back)
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

    /// Whether a value was valid, and what came of it is not.
    fn leaves(&self, v: f64, r: f64) -> bool {
        let is_valid = |Valid { limits: Limits { low, high }, .. }: &Valid, value: f64| *low <= value && value <= *high;
        self.valid.as_ref().is_some_and(|valid| is_valid(valid, v) && !is_valid(valid, r))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ComparedElement {
    pub index: Vec<u64>,
    pub original: f64,
    pub restored: f64,
}

/// How two sides differ.
#[derive(Clone, Debug, Default)]
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
    /// The least and the largest value of the original.
    ends: Option<(f64, f64)>,
    /// Of the errors, with their signs.
    sum: f64,
    squares: Squares,
    /// The worst by its share of the limit, else by its error: of those that are not as promised if there are any.
    pub worst: Option<ComparedElement>,
    worst_share: f64,
}

impl Difference {
    /// Of the bytes of some elements, whose errors are held against `limit`; `index` tells the indices of the nth.
    pub fn of(
        rule: &Rule,
        limit: f64,
        original: &[u8],
        restored: &[u8],
        index: impl Fn(u64) -> Vec<u64>,
    ) -> Difference {
        let (mut all, mut buffers) = (Difference::default(), ([0.0; TILE], [0.0; TILE]));
        let bytes = TILE * rule.dtype.size();
        for (a, b) in original.chunks(bytes).zip(restored.chunks(bytes)) {
            if !all.take_tile(rule, limit, (a, b), &mut buffers, &index) {
                all.take_exactly(rule, limit, a, b, &index);
            }
        }
        if rule.valid.is_some_and(|valid| valid.is_promised) {
            all.violations += all.left_valid;
        }
        all
    }

    /// Takes in elements one by one.
    fn take_exactly(
        &mut self,
        rule: &Rule,
        limit: f64,
        original: &[u8],
        restored: &[u8],
        index: impl Fn(u64) -> Vec<u64>,
    ) {
        elements::for_each_pair(rule.dtype, rule.big_endian, original, restored, |v, r| {
            let is_missing = rule.missing.contains(&v.0);
            let masks_agree = v.0 == r.0 || !(is_missing || rule.missing.contains(&r.0));
            let kept = masks_agree && holds(rule.mode, limit, v, r);
            self.changed += u64::from(v.0 != r.0);
            self.missing_violations += u64::from(!masks_agree);
            let error = match (is_missing, v.1.is_finite()) {
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
            let share = self.take_share(rule.mode, limit, error);
            let at = self.count;
            self.take_worst(share, kept, || ComparedElement { index: index(at), original: v.1, restored: r.1 });
            self.count += 1;
            self.violations += u64::from(!kept);
            self.left_valid += u64::from(rule.leaves(v.1, r.1));
        });
    }

    /// Takes in a tile whose errors are all clearly within their limit; false, and nothing is taken, where one needs a
    /// closer look.
    fn take_tile(
        &mut self,
        rule: &Rule,
        limit: f64,
        (a, b): (&[u8], &[u8]),
        (v, r): &mut ([f64; TILE], [f64; TILE]),
        index: impl Fn(u64) -> Vec<u64>,
    ) -> bool {
        let Some(marks) = rule.missing_values.as_ref().filter(|_| rule.mode != Mode::Lossless || a == b) else {
            return false;
        };
        let count = a.len() / rule.dtype.size();
        let padded = count.next_multiple_of(LANES);
        elements::values(rule.dtype, rule.big_endian, a, &mut v[..count]);
        elements::values(rule.dtype, rule.big_endian, b, &mut r[..count]);
        v[count..padded].fill(f64::NAN);
        let mut missing = 0;
        for mark in marks {
            missing += v[..count].iter().map(|v| u64::from(v == mark)).sum::<u64>();
            // One that is missing on the second side alone has an error that is within no limit.
            v[..count].iter_mut().chain(&mut r[..count]).for_each(|x| *x = if *x == *mark { f64::NAN } else { *x });
        }
        let (v, r) = (&v[..padded], &r[..padded]);
        let sums = Sums::of(rule, rule.allowed(limit), v, r);
        let (changed, is_lost) = differing(rule.dtype.size(), a, b, v);
        let leaves = rule.valid.is_some() && v.iter().zip(r).any(|(v, r)| rule.leaves(*v, *r));
        if is_lost || leaves || (sums.in_doubt && changed > 0) {
            return false;
        }
        let measured = if rule.mode == Mode::Rel { sums.relative } else { sums.error };
        let share = self.take_share(rule.mode, limit, measured);
        let size = |i: usize| if rule.mode == Mode::Rel { ((v[i] - r[i]) / v[i]).abs() } else { (v[i] - r[i]).abs() };
        let first = self.count;
        self.take_worst(share, true, || {
            let i = (0..count).find(|i| size(*i) == measured).unwrap_or(0);
            ComparedElement { index: index(first + i as u64), original: v[i], restored: r[i] }
        });
        self.count += count as u64;
        self.changed += changed;
        self.missing += missing;
        self.special += sums.uncounted - (padded - count) as u64 - missing;
        self.max_error = self.max_error.max(sums.error);
        self.ends = join(self.ends, (sums.least <= sums.most).then_some((sums.least, sums.most)));
        self.sum += sums.sum;
        self.squares.join(&sums.squares(v, r));
        true
    }

    /// Takes in the share of its limit that an error takes; the error where there is none.
    fn take_share(&mut self, mode: Mode, limit: f64, error: f64) -> f64 {
        let share = if limit > 0.0 && mode.has_bound() { error / limit } else { error };
        self.of_bound = self.of_bound.max(if limit > 0.0 { share } else { 0.0 });
        share
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
        self.ends = join(self.ends, part.ends);
        self.sum += part.sum;
        self.squares.join(&part.squares);
        if let Some(worst) = &part.worst {
            self.take_worst(part.worst_share, part.violations == 0, || worst.clone());
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

    /// Takes in a value that counts; its error, which is a share of the value where the bound is one.
    fn measure(&mut self, mode: Mode, v: f64, r: f64) -> f64 {
        let error = if r.is_nan() { f64::INFINITY } else { (v - r).abs() };
        self.max_error = self.max_error.max(error);
        self.ends = join(self.ends, Some((v, v)));
        self.sum += if error.is_finite() { r - v } else { 0.0 };
        self.squares.add(error);
        if mode == Mode::Rel && error > 0.0 { error / v.abs() } else { error }
    }

    /// One that breaks its bound, in its mask too, is worse than any that keeps it.
    fn take_worst(&mut self, share: f64, kept: bool, element: impl Fn() -> ComparedElement) {
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
        self.ends.map_or(0.0, |(least, most)| (most - least).min(f64::MAX))
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
        has_values.then(|| [self.max_error, self.rms(), self.psnr()])
    }

    /// In dB; infinite without errors.
    pub fn psnr(&self) -> f64 {
        psnr(self.range(), self.rms())
    }
}

/// How many elements differ in a bit, and whether one does that has no value on the first side.
fn differing(size: usize, a: &[u8], b: &[u8], v: &[f64]) -> (u64, bool) {
    fn count<const N: usize>(a: &[u8], b: &[u8], v: &[f64]) -> (u64, bool) {
        a.as_chunks::<N>()
            .0
            .iter()
            .zip(b.as_chunks::<N>().0)
            .zip(v)
            .fold((0, false), |(changed, is_lost), ((a, b), v)| {
                (changed + u64::from(a != b), is_lost | ((a != b) & !v.is_finite()))
            })
    }
    match size {
        _ if a == b => (0, false),
        1 => count::<1>(a, b, v),
        2 => count::<2>(a, b, v),
        4 => count::<4>(a, b, v),
        _ => count::<8>(a, b, v),
    }
}

/// What is found of a tile by vectors. What does not count is NaN or infinite on the first side.
struct Sums {
    error: f64,
    relative: f64,
    least: f64,
    most: f64,
    sum: f64,
    squares: f64,
    uncounted: u64,
    /// Whether an error is not clearly within what is allowed.
    in_doubt: bool,
}

impl Sums {
    fn of(rule: &Rule, allowed: f64, v: &[f64], r: &[f64]) -> Sums {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return unsafe { Sums::by_avx2(rule, allowed, v, r) };
        }
        Sums::by_any(rule, allowed, v, r)
    }

    /// The same code, compiled for longer vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn by_avx2(rule: &Rule, allowed: f64, v: &[f64], r: &[f64]) -> Sums {
        Sums::by_any(rule, allowed, v, r)
    }

    #[inline(always)]
    fn by_any(rule: &Rule, allowed: f64, v: &[f64], r: &[f64]) -> Sums {
        match rule.mode {
            Mode::Rel => Sums::looped::<true>(allowed, v, r),
            _ => Sums::looped::<false>(allowed, v, r),
        }
    }

    /// Without a branch in it, in lanes that are independent.
    #[inline(always)]
    fn looped<const BY_VALUE: bool>(allowed: f64, v: &[f64], r: &[f64]) -> Sums {
        // Near the smallest numbers a product is rounded by more than its share.
        const SMALLEST: f64 = 1e-290;
        let (mut errors, mut relatives) = ([0.0f64; LANES], [0.0f64; LANES]);
        let (mut low, mut high) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
        let (mut sums, mut squares) = ([0.0f64; LANES], [0.0f64; LANES]);
        let (mut uncounted, mut doubts) = ([0u64; LANES], [false; LANES]);
        for (v, r) in v.as_chunks::<LANES>().0.iter().zip(r.as_chunks::<LANES>().0) {
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
        let largest = |lanes: [f64; LANES]| lanes.into_iter().fold(0.0, f64::max);
        Sums {
            error: largest(errors),
            relative: largest(relatives),
            least: low.into_iter().fold(f64::INFINITY, f64::min),
            most: high.into_iter().fold(f64::NEG_INFINITY, f64::max),
            sum: sums.iter().sum(),
            squares: squares.iter().sum(),
            uncounted: uncounted.iter().sum(),
            in_doubt: doubts.iter().any(|doubt| *doubt),
        }
    }

    /// Those of the errors; one by one where a square may be no number.
    fn squares(&self, v: &[f64], r: &[f64]) -> Squares {
        if (1e-140..1e140).contains(&self.error) {
            return Squares::of(self.error, self.squares);
        }
        let mut all = Squares::default();
        v.iter().zip(r).map(|(v, r)| (v - r).abs()).filter(|error| *error > 0.0).for_each(|error| all.add(error));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the worst element is.
    fn place(difference: &Difference) -> Option<Vec<u64>> {
        difference.worst.as_ref().map(|worst| worst.index.clone())
    }

    /// Vectors find what exact arithmetic does.
    #[test]
    fn quick_is_as_exact_as_slow() {
        let special = [f64::NAN, f64::INFINITY, -0.0, 0.0, -9999.0, 1e300];
        for (mode, worst) in
            [(Mode::Abs, 0), (Mode::Abs, 1), (Mode::Rel, 0), (Mode::Noa, 2), (Mode::Lossless, 0), (Mode::Rate, 2)]
        {
            let mut state = 7u64;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                state >> 33
            };
            let sides: (Vec<f64>, Vec<f64>) = (0..40_000)
                .map(|_| match ((next() % 2001) as f64 - 1000.0, next() % 4000) {
                    (_, n @ 0..6) => (special[n as usize], special[n as usize]),
                    (v, n @ 6..12) if worst > 0 => (special[n as usize - 6], v),
                    (v, n @ 12..18) if worst > 1 => (v, special[n as usize - 12]),
                    (v, 18) if worst > 0 => (v, v + 0.501),
                    (v, n) => (v, v + 0.49 * (n as f64 / 4000.0 - 0.5)),
                })
                .unzip();
            let bytes = |side: &[f64]| side.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
            let (a, b) = (bytes(&sides.0), bytes(&sides.1));
            let limit = if mode == Mode::Rel { 0.9 } else { 0.5 };
            for missing in [&[][..], &[(-9999.0f64).to_bits(), f64::NAN.to_bits()][..]] {
                let rule = Rule::new(DType::F64, false, mode, missing);
                let (quick, mut slow) = (Difference::of(&rule, limit, &a, &b, |n| vec![n]), Difference::default());
                slow.take_exactly(&rule, limit, &a, &b, |n| vec![n]);
                let numbers =
                    |d: &Difference| [d.count, d.changed, d.special, d.missing, d.missing_violations, d.violations];
                assert_eq!(numbers(&quick), numbers(&slow), "{mode:?} {worst}");
                let exact = |d: &Difference| (d.max_error, d.of_bound, d.ends, place(d));
                assert_eq!(exact(&quick), exact(&slow), "{mode:?} {worst}");
                let near = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-9 * a.abs().max(1e-3);
                assert!(near(quick.rms(), slow.rms()) && near(quick.bias(), slow.bias()), "{mode:?} {worst}");
            }
        }
    }
}
