//! Axes: where a value lies in the picture, and which round numbers stand beside it.

/// From one place of the picture to another.
#[derive(Clone, Copy)]
pub struct Axis {
    /// The values at its ends, or their logarithms.
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    is_log: bool,
}

impl Axis {
    /// A logarithmic one that has room for these values, as far as they are positive.
    pub fn logarithmic(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let logs = values.filter(|v| *v > 0.0 && v.is_finite()).map(f64::log10);
        let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
        let margin = 0.04 * (high - low).max(0.1);
        Axis { low: low - margin, high: high + margin, from, to, is_log: true }
    }

    /// A linear one with these values at its ends.
    pub fn linear((low, high): (f64, f64), from: f64, to: f64) -> Axis {
        // Values that are all the same lie in the middle.
        let margin = if high > low { 0.0 } else { low.abs().max(1.0) * 0.5 };
        Axis { low: low - margin, high: high + margin, from, to, is_log: false }
    }

    /// The same places for values of another unit, `by` of which are one of the new.
    pub fn divided(&self, by: f64) -> Axis {
        let shift = by.log10();
        Axis { low: self.low - shift, high: self.high - shift, ..*self }
    }

    fn scaled(&self, value: f64) -> f64 {
        if self.is_log { value.log10() } else { value }
    }

    pub fn at(&self, value: f64) -> f64 {
        let share = (self.scaled(value) - self.low) / (self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round numbers on the axis.
    pub fn ticks(&self) -> Vec<f64> {
        let inside = |v: &f64| (self.low..=self.high).contains(&self.scaled(*v));
        if self.is_log { self.powers().into_iter().filter(inside).collect() } else { self.steps() }
    }

    /// Powers of ten, with 2 and 5 between them if there are few.
    fn powers(&self) -> Vec<f64> {
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let step = ((self.high - self.low) / 10.0).ceil().max(1.0) as i32;
        let digits: &[u8] = match self.high - self.low {
            span if span < 1.2 => &[1, 2, 3, 5, 7],
            span if span < 3.0 => &[1, 2, 5],
            _ => &[1],
        };
        let numbers = powers.filter(|p| p.rem_euclid(step) == 0);
        let numbers = numbers.flat_map(|p| digits.iter().map(move |d| format!("{d}e{p}")));
        numbers.filter_map(|t| t.parse().ok()).collect()
    }

    /// Multiples of 1, 2 or 5 times a power of ten: three to seven of them.
    fn steps(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 4.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= 0.8 * rough).unwrap_or(rough);
        let (first, last) = ((self.low / step - 1e-9).ceil(), (self.high / step + 1e-9).floor());
        if !(step.is_finite() && step > 0.0 && last - first < 100.0) {
            return Vec::new();
        }
        (0..=(last - first) as i32).map(|i| (first + f64::from(i)) * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes() {
        let axis = Axis::logarithmic([1e-6, 1e-1].into_iter(), 0.0, 100.0);
        assert!(axis.at(1e-6) > 0.0 && axis.at(1e-6) < 5.0 && axis.at(1e-1) > 95.0);
        assert_eq!(axis.ticks(), [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]);
        assert_eq!(Axis::logarithmic([1.0, 4.0].into_iter(), 0.0, 1.0).ticks(), [1.0, 2.0, 3.0]);
        let axis = Axis::linear((-1.0, 1.0), 0.0, 10.0);
        assert_eq!((axis.at(-1.0), axis.at(0.0), axis.at(7.0)), (0.0, 5.0, 10.0));
        assert_eq!(axis.ticks(), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        assert_eq!(Axis::linear((3.0, 3.0), 0.0, 10.0).at(3.0), 5.0);
        assert!(Axis::logarithmic([0.0].into_iter(), 0.0, 1.0).ticks().contains(&1.0));
    }
}
