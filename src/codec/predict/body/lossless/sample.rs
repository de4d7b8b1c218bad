//! A part of a tile that tells which forms are worth trying on all of it: chunks of 128 elements in a row, on diagonals
//! of the tile, so that they have all positions along its axes.

use crate::codec::predict::predict::axes::{sets, sum_cost};
use crate::primitives::lorenzo::AXES;
use crate::primitives::word::Word;

/// Elements of a chunk.
const CHUNK: usize = 128;
/// One chunk of so many is looked at for axes.
const FOR_AXES: usize = 4;
/// Of these one of so many for forms.
const FOR_FORMS: usize = 2;
/// As many elements as one that is looked at for forms stands for.
pub const SHARE: u64 = (FOR_AXES * FOR_FORMS) as u64;
/// Tiles of fewer elements are tried in all forms.
const FEWEST: usize = 8192;
/// Forms are tried on all of a tile that cost no more than the best one and a part of it.
const NEAR: u64 = 16;
/// The same of axes.
const NEAR_AXES: u64 = 32;

/// Whether a tile of so many elements is looked at.
pub fn is_for(n: usize) -> bool {
    n >= FEWEST
}

/// Where the chunks that are looked at for axes begin.
fn chunks(n: usize) -> impl Iterator<Item = usize> {
    (0..n / (FOR_AXES * CHUNK)).map(|h| CHUNK * (FOR_AXES * h + (h / 2) % FOR_AXES))
}

/// Where those that are looked at for forms begin.
fn chunks_for_forms(n: usize) -> impl Iterator<Item = usize> {
    chunks(n).step_by(FOR_FORMS)
}

/// Whether a form that costs so much, where the best one costs `least`, is tried.
pub fn is_near(cost: u64, least: u64) -> bool {
    cost <= least + least / NEAR
}

/// Copies the words that are looked at for forms; how many these are.
pub fn words<W: Word>(words: impl Fn(usize) -> W, n: usize, sample: &mut [W]) -> usize {
    let mut count = 0;
    for from in chunks_for_forms(n) {
        sample[count..count + CHUNK].iter_mut().enumerate().for_each(|(i, w)| *w = words(from + i));
        count += CHUNK;
    }
    count
}

/// Copies the differences along a set of axes of the words that are looked at for forms; how many these are.
pub fn differences<W: Word>(set: u8, lens: [usize; AXES], words: &[W], sample: &mut [W]) -> usize {
    let mut count = 0;
    for from in chunks_for_forms(words.len()) {
        difference(set, lens, words, from, &mut sample[count..count + CHUNK]);
        count += CHUNK;
    }
    count
}

/// The sets of axes, out of `allowed`, whose differences may be the shortest, as bits: often one alone.
pub fn axes<W: Word>(allowed: u8, lens: [usize; AXES], words: &[W]) -> u8 {
    let mut costs = [0; 1 << AXES];
    let mut trial = [W::ZERO; CHUNK];
    let all = sets(allowed);
    let sets = || (0..1u8 << AXES).filter(|set| all >> set & 1 == 1);
    for from in chunks(words.len()) {
        for set in sets() {
            difference(set, lens, words, from, &mut trial);
            costs[usize::from(set)] += sum_cost(&trial);
        }
    }
    let least = sets().map(|set| costs[usize::from(set)]).min().unwrap_or(0);
    let is_near = |set: &u8| costs[usize::from(*set)] <= least + least / NEAR_AXES;
    sets().filter(is_near).fold(0, |sets, set| sets | 1 << set)
}

/// The differences of words from one on, as `lorenzo::forward` makes them.
fn difference<W: Word>(set: u8, lens: [usize; AXES], words: &[W], from: usize, out: &mut [W]) {
    let end = from + out.len();
    let mut at = from;
    while at < end {
        let row = at / lens[0];
        let (x, y, z) = (at - row * lens[0], row % lens[1], row / lens[1]);
        // The first of a row has no neighbour along x.
        let count = if x == 0 { 1 } else { (lens[0] - x).min(end - at) };
        let within = u8::from(x > 0) | u8::from(y > 0) << 1 | u8::from(z > 0) << 2;
        let along = if set != 0 && set & within == 0 { 7 - set } else { set } & within;
        let out = &mut out[at - from..][..count];
        out.copy_from_slice(&words[at..at + count]);
        for corner in (1..1u8 << AXES).filter(|corner| corner & !along == 0) {
            let is_in = |axis: u8| usize::from(corner >> axis & 1);
            let before = is_in(0) + is_in(1) * lens[0] + is_in(2) * lens[0] * lens[1];
            let neighbours = out.iter_mut().zip(&words[at - before..at - before + count]);
            if corner.count_ones() % 2 == 1 {
                neighbours.for_each(|(d, w)| *d = d.sub(*w));
            } else {
                neighbours.for_each(|(d, w)| *d = d.add(*w));
            }
        }
        at += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::lorenzo;

    #[test]
    fn differences_are_those_of_the_tile() {
        for lens in [[9000, 1, 1], [128, 128, 1], [1, 100, 90], [33, 17, 29], [3, 60, 90], [5, 3, 1000]] {
            let n: usize = lens.iter().product();
            let all: Vec<u32> = (0..n as u32).map(|i| (i + 1).wrapping_mul(0x9e37_79b1) >> (i % 13)).collect();
            for set in 0..1 << AXES {
                let mut expected = all.clone();
                lorenzo::forward(set, lens, &mut expected);
                let mut found = [0; CHUNK];
                for from in chunks(n) {
                    difference(set, lens, &all, from, &mut found);
                    assert_eq!(found, expected[from..from + CHUNK], "{lens:?} {set} {from}");
                }
            }
        }
    }

    #[test]
    fn chunks_lie_within_the_tile() {
        for n in [8192, 8193, 12000, 16384] {
            let all: Vec<usize> = chunks(n).collect();
            assert!(all.len() >= n / 520 && all.iter().all(|from| from + CHUNK <= n));
            assert!(all.windows(2).all(|two| two[0] + CHUNK <= two[1]));
            let mut sample = vec![0; n];
            let count = words(|i| i as u32, n, &mut sample);
            assert_eq!(count, 128 * all.len().div_ceil(2));
        }
    }
}
