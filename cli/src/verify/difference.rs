//! How two sides of an array differ, in exact arithmetic.

use sleek::advise::elements;
use sleek::range::join;
use sleek::{DType, Limits, Mode};

use super::exact::holds;
use crate::quality::squares::{Squares, psnr};

/// Planes of more elements than this have no figures: both sides, as numbers, are in memory at once.
pub const PLANE_ELEMENTS: u64 = 13 << 19;

pub struct Rule {
    dtype: DType,
    big_endian: bool,
    pub mode: Mode,
    /// The bits of missing values. NaN and infinities come back whether they are named or not, and are told apart.
    missing: Vec<u64>,
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
        let missing = missing.iter().copied().filter(|bits| dtype.number(*bits).is_finite()).collect();
        Rule { dtype, big_endian, mode, missing, valid: None }
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
        let mut all = Difference::default();
        elements::for_each_pair(rule.dtype, rule.big_endian, original, restored, |v, r| {
            let is_missing = rule.missing.contains(&v.0);
            let masks_agree = v.0 == r.0 || !(is_missing || rule.missing.contains(&r.0));
            let kept = masks_agree && holds(rule.mode, limit, v, r);
            all.changed += u64::from(v.0 != r.0);
            all.missing_violations += u64::from(!masks_agree);
            let error = match (is_missing, v.1.is_finite()) {
                (false, true) => all.measure(rule.mode, v.1, r.1),
                (true, _) => {
                    all.missing += 1;
                    0.0
                }
                _ => {
                    all.special += 1;
                    0.0
                }
            };
            let share = if limit > 0.0 && rule.mode.has_bound() { error / limit } else { error };
            all.of_bound = all.of_bound.max(if limit > 0.0 { share } else { 0.0 });
            let at = all.count;
            all.take_worst(share, kept, || ComparedElement { index: index(at), original: v.1, restored: r.1 });
            all.count += 1;
            all.violations += u64::from(!kept);
            if let Some(Valid { limits: Limits { low, high }, .. }) = rule.valid {
                let is_valid = |value: f64| low <= value && value <= high;
                all.left_valid += u64::from(is_valid(v.1) && !is_valid(r.1));
            }
        });
        if rule.valid.is_some_and(|valid| valid.is_promised) {
            all.violations += all.left_valid;
        }
        all
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts make the whole, whatever is in them: the worst element, its place, and every count.
    #[test]
    fn parts_are_joined() {
        let special = [f64::NAN, f64::INFINITY, -0.0, 0.0, -9999.0, 1e300];
        let values: Vec<f64> = (0..6000).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let back = values.iter().enumerate().map(|(i, v)| match i % 1000 {
            n @ 0..6 => special[n],
            6 => v + 0.6,
            n => v + 0.5 * (n as f64 / 1000.0 - 0.5),
        });
        let bytes = |x: Vec<f64>| -> Vec<u8> { x.iter().flat_map(|v| v.to_be_bytes()).collect() };
        let (a, b) = (bytes(values.clone()), bytes(back.collect()));
        let marks = [(-9999.0f64).to_bits(), f64::NAN.to_bits()];
        for mode in [Mode::Abs, Mode::Rel, Mode::Lossless, Mode::Rate] {
            let rule = Rule::new(DType::F64, true, mode, &marks);
            let whole = Difference::of(&rule, 0.5, &a, &b, |n| vec![n]);
            let mut parts = Difference::default();
            for (n, (a, b)) in a.chunks(800).zip(b.chunks(800)).enumerate() {
                parts.join(&Difference::of(&rule, 0.5, a, b, |i| vec![100 * n as u64 + i]));
            }
            let numbers = |d: &Difference| [d.count, d.changed, d.missing_violations, d.violations];
            assert_eq!((numbers(&whole), whole.missing_violations), (numbers(&parts), 6), "{mode:?}");
            let sizes = |d: &Difference| (d.max_error, d.of_bound, d.ends);
            assert_eq!((sizes(&whole), &whole.worst), (sizes(&parts), &parts.worst), "{mode:?}");
            assert!(whole.violations >= 12 && whole.rms() == f64::INFINITY, "{mode:?}");
        }
    }

    #[test]
    fn what_leaves_the_valid_range_is_counted() {
        let bytes = |value: f32| (0..2000).flat_map(|_| value.to_le_bytes()).collect::<Vec<u8>>();
        let limits = Limits::new(0.0, 1.0).unwrap().unwrap();
        for (is_promised, violations) in [(false, 0), (true, 2000)] {
            let rule = Rule::new(DType::F32, false, Mode::Abs, &[]).with_valid(Some(Valid { limits, is_promised }));
            let of = |v: f32, r: f32| Difference::of(&rule, 1e-3, &bytes(v), &bytes(r), |n| vec![n]);
            let left = of(1.0, 1.0001);
            assert_eq!((left.left_valid, left.violations, left.times(3).left_valid), (2000, violations, 6000));
            let others = [(1.0, 0.9999), (1.0005, 1.0), (-0.1, -0.1001)];
            assert_eq!(others.map(|(v, r)| of(v, r).left_valid), [0, 0, 0]);
        }
    }

    #[test]
    fn bits_of_what_is_no_number_count() {
        let (quiet, other) = (f32::NAN.to_bits(), f32::NAN.to_bits() ^ 1);
        let bytes = |bits: u32| (0..2000u32).flat_map(|_| bits.to_le_bytes()).collect::<Vec<u8>>();
        let rule = Rule::new(DType::F32, false, Mode::Abs, &[]);
        let of = Difference::of(&rule, 1.0, &bytes(quiet), &bytes(other), |n| vec![n]);
        assert_eq!((of.violations, of.special, of.changed), (2000, 2000, 2000));
        assert_eq!(of.clone().times(3).violations, 6000);
    }
}
