//! Sorts of groups put together to classes, neighbours with the least loss first.

use crate::frequencies::{self, SUM};
use crate::tiles::{Seen, TRAINED, token};

/// Sorts by quarter octaves of the sum of magnitudes; those of sparse groups are others.
pub const SORTS: usize = 128;

/// Sorts that have one table.
struct Class {
    is_sparse: bool,
    first: usize,
    last: usize,
    counts: [f64; TRAINED],
    cost: f64,
}

/// Which class each sort has, dense ones and sparse ones.
pub struct Classes {
    each: Vec<Class>,
    pub of_sorts: [[u8; SORTS]; 2],
}

impl Classes {
    /// So many classes of all that was seen, numbered by their sums of magnitudes from 1 on; 0 are groups of zeros.
    pub fn of(seen: &[Seen], count: usize) -> Classes {
        let mut each = sorts(seen);
        while each.len() > count {
            put_two_together(&mut each);
        }
        each.sort_by(|a, b| a.middle().total_cmp(&b.middle()));
        let mut classes = Classes { each, of_sorts: [[0; SORTS]; 2] };
        for k in 0..classes.each.len() {
            let (is_sparse, first, last) = (classes.each[k].is_sparse, classes.each[k].first, classes.end(k));
            classes.of_sorts[usize::from(is_sparse)][first..=last].fill(k as u8 + 1);
        }
        classes.of_sorts.iter_mut().for_each(fill_gaps);
        classes
    }

    /// The class of groups of a sort, numbered as in `Seen`.
    pub fn class_of(&self, sort: usize) -> u8 {
        self.of_sorts[sort & 1][sort >> 1]
    }

    /// The frequencies of each.
    pub fn tables(&self) -> impl Iterator<Item = Vec<u16>> {
        (0..self.each.len()).map(|k| frequencies::of(&self.each[k].counts, self.last_token(k)))
    }

    /// The last sort before the next class.
    fn end(&self, k: usize) -> usize {
        let this = &self.each[k];
        let behind = self.each.iter().filter(|class| class.is_sparse == this.is_sparse && class.first > this.first);
        behind.map(|class| class.first).min().unwrap_or(SORTS) - 1
    }

    /// The greatest token that a value of the class may have: that of all its sum.
    fn last_token(&self, k: usize) -> usize {
        let end = self.end(k);
        // The least sum of the sort behind.
        let sum = (1.0 + ((end - 1) % 4 + 1) as f64 / 4.0) * 2f64.powi(((end - 1) / 4) as i32);
        if end + 1 == SORTS || end >= 100 || 2.0 * sum > 4e9 { TRAINED - 1 } else { token((2.0 * sum) as u32) }
    }
}

impl Class {
    /// What classes are numbered by.
    fn middle(&self) -> f64 {
        (self.first + self.last) as f64 / 2.0 + f64::from(u8::from(self.is_sparse)) * 0.1
    }
}

/// A class for each sort that occurs, dense ones first.
fn sorts(seen: &[Seen]) -> Vec<Class> {
    let mut each = Vec::new();
    for is_sparse in [false, true] {
        for sort in 1..SORTS {
            let mut counts = [0.0; TRAINED];
            for seen in seen {
                let of_field = &seen.counts[2 * sort + usize::from(is_sparse)];
                counts.iter_mut().zip(of_field).for_each(|(sum, count)| *sum += *count as f64 * seen.weight);
            }
            if counts.iter().sum::<f64>() > 0.0 {
                each.push(Class { is_sparse, first: sort, last: sort, cost: bits(&counts), counts });
            }
        }
    }
    each
}

/// Puts the two neighbours together that lose least.
fn put_two_together(each: &mut Vec<Class>) {
    let mut best = (f64::INFINITY, 0, [0.0; TRAINED]);
    for (k, pair) in each.windows(2).enumerate().filter(|(_, pair)| pair[0].is_sparse == pair[1].is_sparse) {
        let both: [f64; TRAINED] = std::array::from_fn(|t| pair[0].counts[t] + pair[1].counts[t]);
        let loss = bits(&both) - pair[0].cost - pair[1].cost;
        if loss < best.0 {
            best = (loss, k, both);
        }
    }
    let (_, k, both) = best;
    let last = each.remove(k + 1).last;
    each[k] = Class { last, cost: bits(&both), counts: both, ..each[k] };
}

/// What tokens cost with frequencies as they are, but for those that are rarer than a table can tell.
fn bits(counts: &[f64; TRAINED]) -> f64 {
    let all: f64 = counts.iter().sum();
    let least = 1.0 / f64::from(SUM);
    counts.iter().filter(|count| **count > 0.0).map(|count| -count * (count / all).max(least).log2()).sum()
}

/// Sorts that do not occur have the class of the one before; those before all, of the one behind.
fn fill_gaps(classes: &mut [u8; SORTS]) {
    for sort in 2..SORTS {
        if classes[sort] == 0 {
            classes[sort] = classes[sort - 1];
        }
    }
    for sort in (1..SORTS - 1).rev() {
        if classes[sort] == 0 {
            classes[sort] = classes[sort + 1];
        }
    }
}
