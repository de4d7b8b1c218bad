//! How far the values of both sides are spread alike: the distance of Kolmogorov and Smirnov, the largest difference of
//! the shares of values up to any number.

/// Pairs that are kept, one less than a power of two so that no memory is asked for in vain: of more, every second,
/// fourth, … counts.
const MOST: usize = (1 << 20) - 1;

/// The values of both sides.
#[derive(Clone, Debug)]
pub struct Distribution {
    pairs: Vec<(f64, f64)>,
    /// Pairs that pass until the next one is kept.
    until: u64,
    /// Of which each so manieth is kept.
    step: u64,
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution { pairs: Vec::new(), until: 0, step: 1 }
    }
}

impl Distribution {
    /// Takes in a part; what is NaN does not count.
    pub fn add(&mut self, a: &[f64], b: &[f64]) {
        let pairs = a.iter().zip(b).filter(|(a, b)| a.is_finite() && b.is_finite());
        pairs.for_each(|(a, b)| self.take((*a, *b)));
    }

    /// Takes in what another one of a part has, who kept all of it.
    pub fn join(&mut self, part: &Distribution) {
        part.pairs.iter().for_each(|pair| self.take(*pair));
    }

    fn take(&mut self, pair: (f64, f64)) {
        if self.until > 0 {
            self.until -= 1;
            return;
        }
        self.until = self.step - 1;
        self.pairs.push(pair);
        if self.pairs.len() > MOST {
            self.thin_out();
        }
    }

    /// Whether a pair was taken in.
    pub fn any(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// Leaves every second one.
    fn thin_out(&mut self) {
        let mut n = 0;
        self.pairs.retain(|_| {
            n += 1;
            n % 2 == 1
        });
        // The last one stays if their number was odd, and the next goes.
        self.until += if n % 2 == 1 { self.step } else { 0 };
        self.step *= 2;
    }

    /// Between 0 and 1.
    pub fn distance(&self) -> f64 {
        let sorted = |side: fn(&(f64, f64)) -> f64| {
            let mut sorted: Vec<f64> = self.pairs.iter().map(side).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            sorted
        };
        let (a, b) = (sorted(|pair| pair.0), sorted(|pair| pair.1));
        let (mut i, mut j, mut most) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            let at = a[i].min(b[j]);
            while i < a.len() && a[i] <= at {
                i += 1;
            }
            while j < b.len() && b[j] <= at {
                j += 1;
            }
            most = most.max(i.abs_diff(j));
        }
        most as f64 / a.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        let mut both = Distribution::default();
        both.add(a, b);
        both.distance()
    }

    #[test]
    fn by_hand() {
        assert_eq!(distance(&[1.0, 2.0, 3.0, 4.0], &[4.0, 3.0, 2.0, 1.0]), 0.0);
        assert_eq!(distance(&[1.0, 2.0, 3.0, 4.0], &[1.5, 2.5, 3.5, 4.5]), 0.25);
        assert_eq!(distance(&[1.0, 1.0, 1.0, 5.0], &[2.0, 2.0, 2.0, 5.0]), 0.75);
        assert_eq!(distance(&[1.0, f64::NAN], &[2.0, 0.0]), 1.0);
        assert_eq!((distance(&[], &[]), distance(&[-0.0], &[0.0])), (0.0, 0.0));
    }

    #[test]
    fn what_is_thinned_out_is_spread_alike() {
        let mut both = Distribution::default();
        (0..1000).for_each(|i| both.add(&[f64::from(i)], &[f64::from(i + 100)]));
        both.thin_out();
        both.thin_out();
        both.add(&[0.0, 1.0, 2.0, 3.0], &[0.0; 4]);
        assert_eq!((both.pairs.len(), both.step), (251, 4));
        assert!((both.distance() - 0.1).abs() < 0.01);
    }
}
