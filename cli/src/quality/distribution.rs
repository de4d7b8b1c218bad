//! How far the values of both sides are spread alike: the distance of Kolmogorov and Smirnov, the largest difference of
//! the shares of values up to any number.

/// Pairs that are kept, about: of more some count, from all over the field.
const MOST: u64 = 1 << 20;

/// The values of both sides.
#[derive(Clone, Debug)]
pub struct Distribution {
    pairs: Vec<(f64, f64)>,
    /// Of which each so manieth is kept.
    step: usize,
}

impl Distribution {
    /// Nothing yet, of a field of so many values.
    pub fn new(count: u64) -> Distribution {
        Distribution { pairs: Vec::new(), step: count.div_ceil(MOST).max(1) as usize }
    }

    /// Takes in a part; what is NaN does not count.
    pub fn add(&mut self, a: &[f64], b: &[f64]) {
        let pairs = a.iter().copied().zip(b.iter().copied()).filter(|(a, b)| a.is_finite() && b.is_finite());
        self.pairs.extend(pairs.step_by(self.step));
    }

    /// Takes in what another one of a part has.
    pub fn join(&mut self, part: &Distribution) {
        self.pairs.extend_from_slice(&part.pairs);
    }

    /// Between 0 and 1; none without a pair.
    pub fn distance(&self) -> Option<f64> {
        let sorted = |side: fn(&(f64, f64)) -> f64| {
            let mut sorted: Vec<f64> = self.pairs.iter().map(side).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            sorted
        };
        let (a, b) = (sorted(|pair| pair.0), sorted(|pair| pair.1));
        let up_to = |sorted: &[f64], v: f64| sorted.partition_point(|x| *x <= v);
        let gaps = a.iter().chain(&b).map(|v| up_to(&a, *v).abs_diff(up_to(&b, *v)));
        gaps.max().map(|most| most as f64 / a.len() as f64)
    }
}
