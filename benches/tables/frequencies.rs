//! Frequencies that add up to 1024, as near to counts as that allows.

use crate::tiles::{DIRECT, TRAINED};

/// What the frequencies of a table add up to.
pub const SUM: u16 = 1024;

/// Those of `counts`, of which tokens behind the `last` are not needed. A code and the one of the opposite number count
/// alike.
pub fn of(counts: &[f64; TRAINED], last: usize) -> Vec<u16> {
    let mut counts = *counts;
    for pair in counts[1..DIRECT - 1].chunks_exact_mut(2) {
        pair.fill((pair[0] + pair[1]) / 2.0);
    }
    let mut frequencies = nearest(&counts)[..=last].to_vec();
    loop {
        let sum: u16 = frequencies.iter().sum();
        let change: i16 = match sum.cmp(&SUM) {
            std::cmp::Ordering::Equal => return frequencies,
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Greater => -1,
        };
        // The one that costs least to change.
        let mut best = (f64::INFINITY, 0);
        for (t, frequency) in frequencies.iter().enumerate().filter(|(_, f)| change > 0 || **f > 1) {
            let (now, then) = (f64::from(*frequency), f64::from(*frequency) + f64::from(change));
            let loss = counts[t] * (now.log2() - then.log2());
            if loss < best.0 {
                best = (loss, t);
            }
        }
        frequencies[best.1] = frequencies[best.1].wrapping_add_signed(change);
    }
}

/// The same, where all that is left over goes to the first.
pub fn with_the_rest_on_0(counts: &[f64]) -> Vec<u16> {
    let mut frequencies = nearest(counts);
    frequencies[0] = SUM - frequencies[1..].iter().sum::<u16>();
    frequencies
}

/// Each by itself, and none 0.
fn nearest(counts: &[f64]) -> Vec<u16> {
    let all: f64 = counts.iter().sum();
    counts.iter().map(|count| ((count / all * f64::from(SUM) + 0.5).floor() as u16).max(1)).collect()
}

/// Gives tokens up to N, of codes that no field here has, one each, which the most frequent ones give up.
pub fn widen<const N: usize>(table: &mut Vec<u16>) {
    while table.len() < N {
        let most = *table.iter().max().expect("frequencies");
        let at = table.iter().position(|f| *f == most).expect("the greatest of them");
        table[at] -= 1;
        table.push(1);
    }
}
