//! How far the values of both sides are spread alike: the distance of Kolmogorov and Smirnov, the largest difference of
//! the shares of values up to any number.

/// Pairs that are kept: of more, every second, fourth, … counts.
const MOST: usize = 1 << 24;

/// The values of both sides.
#[derive(Clone, Debug)]
pub struct Distribution {
    a: Vec<f64>,
    b: Vec<f64>,
    /// Pairs that were seen.
    seen: u64,
    /// Of which each so manieth is kept.
    step: u64,
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution { a: Vec::new(), b: Vec::new(), seen: 0, step: 1 }
    }
}

impl Distribution {
    /// Takes in a part; what is NaN does not count.
    pub fn add(&mut self, a: &[f64], b: &[f64]) {
        for (a, b) in a.iter().zip(b).filter(|(a, b)| a.is_finite() && b.is_finite()) {
            if self.seen.is_multiple_of(self.step) {
                self.a.push(*a);
                self.b.push(*b);
            }
            self.seen += 1;
            if self.a.len() > MOST {
                self.thin_out();
            }
        }
    }

    fn thin_out(&mut self) {
        for side in [&mut self.a, &mut self.b] {
            let mut n = 0;
            side.retain(|_| {
                n += 1;
                n % 2 == 1
            });
        }
        self.step *= 2;
    }

    /// Between 0 and 1.
    pub fn distance(&self) -> f64 {
        let [a, b] = [&self.a, &self.b].map(|side| {
            let mut sorted = side.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            sorted
        });
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
        assert_eq!((both.a.len(), both.step), (251, 4));
        assert!((both.distance() - 0.1).abs() < 0.01);
    }
}
