//! A part of a tile that tells which forms are worth trying on all of it: chunks of 128 elements in a row, on diagonals
//! of the tile, so that they have all positions along its axes.

use crate::codec::predict::predict::axes::{difference, sets, sum_cost};
use crate::codec::predict::rules::{SAMPLE_EVERY, SAMPLE_EVERY_OF_SMALL, SAMPLE_FEWEST, SAMPLE_LARGE, SAMPLE_NEAR};
use crate::primitives::lorenzo::AXES;
use crate::simd::Task;
use crate::simd::lanes::Lanes;
use crate::simd::word::Word;

/// Elements of a chunk.
const CHUNK: usize = 128;
/// As many elements as one that is looked at stands for; `None` for a tile that is tried in all forms.
pub fn share(n: usize) -> Option<usize> {
    match n {
        SAMPLE_LARGE.. => Some(SAMPLE_EVERY),
        SAMPLE_FEWEST.. => Some(SAMPLE_EVERY_OF_SMALL),
        _ => None,
    }
}

/// Where the chunks that are looked at begin.
#[inline(always)]
fn chunks(n: usize) -> impl Iterator<Item = usize> {
    let every = share(n).unwrap_or(1);
    (0..n / (every * CHUNK)).map(move |h| CHUNK * (every * h + 5 * h % every))
}

/// Which of the forms that cost so much are tried: the first of the least, and if there may be two of them the next,
/// where it costs little more.
pub fn tried<const N: usize>(costs: [u64; N], two: bool) -> [bool; N] {
    let least = (0..N).min_by_key(|f| costs[*f]).unwrap_or(0);
    let next = (0..N).filter(|f| *f != least).min_by_key(|f| costs[*f]).unwrap_or(least);
    let is_near = two && costs[next] <= costs[least] + costs[least] / SAMPLE_NEAR;
    std::array::from_fn(|f| f == least || f == next && is_near)
}

/// Copies the words that are looked at; how many these are.
pub fn words<W: Word>(words: impl Fn(usize) -> W, n: usize, sample: &mut [W]) -> usize {
    let mut count = 0;
    for from in chunks(n) {
        sample[count..count + CHUNK].iter_mut().enumerate().for_each(|(i, w)| *w = words(from + i));
        count += CHUNK;
    }
    count
}

/// Copies the differences along a set of axes of the words that are looked at; how many these are.
pub struct Differences<'a, W> {
    pub set: u8,
    pub lens: [usize; AXES],
    pub words: &'a [W],
    pub sample: &'a mut [W],
}

impl<W: Word> Task for Differences<'_, W> {
    type Done = usize;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> usize {
        let mut count = 0;
        for from in chunks(self.words.len()) {
            difference(self.set, self.lens, self.words, from, &mut self.sample[count..count + CHUNK]);
            count += CHUNK;
        }
        count
    }
}

/// The set of axes, out of `allowed`, whose differences look shortest.
pub struct Axes<'a, W> {
    pub allowed: u8,
    pub lens: [usize; AXES],
    pub words: &'a [W],
}

impl<W: Word> Task for Axes<'_, W> {
    type Done = u8;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> u8 {
        let (mut costs, mut trial) = ([0; 1 << AXES], [W::ZERO; CHUNK]);
        let all = sets(self.allowed);
        for from in chunks(self.words.len()) {
            for set in (0..1u8 << AXES).filter(|set| all >> set & 1 == 1) {
                difference(set, self.lens, self.words, from, &mut trial);
                costs[usize::from(set)] += sum_cost(&trial);
            }
        }
        (0..1 << AXES).filter(|set| all >> set & 1 == 1).min_by_key(|set| costs[usize::from(*set)]).unwrap_or(0)
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
        for n in [2048, 2049, 8191, 8192, 8193, 12000, 16384] {
            let all: Vec<usize> = chunks(n).collect();
            assert!(all.len() >= 4 && all.iter().all(|from| from + CHUNK <= n), "{n}");
            assert!(all.windows(2).all(|two| two[0] + CHUNK <= two[1]), "{n}");
            let mut sample = vec![0; n];
            assert_eq!(words(|i| i as u32, n, &mut sample), CHUNK * all.len());
        }
    }

    #[test]
    fn no_more_than_two_are_tried() {
        assert_eq!(tried([6400, 6500, 6499, 6501], true), [true, false, true, false]);
        assert_eq!(tried([6501, 6400, 6501, 6501], true), [false, true, false, false]);
        assert_eq!(tried([6400, 6400, 6400, 6400], true), [true, true, false, false]);
        assert_eq!(tried([6400, 6400, 6400, 6400], false), [true, false, false, false]);
    }
}
