//! Along which axes differences are taken.

use super::format::{GROUP, GROUPS, Grid};
use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::word::Word;

/// Words whose magnitudes are added up.
const SAMPLE: usize = 128;
/// Groups that are looked at where a tile is to be chosen for quickly, at most.
const SAMPLED_GROUPS: usize = 16;
/// What is added to each sum, so that small differences between small sums mean little.
const NOISE: u64 = 16;
/// What a magnitude counts at most.
const MOST: u64 = 1 << 56;

/// The set of axes, out of `allowed`, whose differences of `words` look shortest; they are left in `best`.
#[inline(always)]
pub fn choose<W: Word>(
    allowed: u8,
    lens: [usize; AXES],
    words: &[W],
    trial: &mut [W],
    best: &mut [W],
    cost: impl Fn(&[W]) -> u64,
) -> u8 {
    let mut chosen = (u64::MAX, 0);
    for set in (0..1u8 << AXES).filter(|set| set & !allowed == 0) {
        trial.copy_from_slice(words);
        lorenzo::forward(set, lens, trial);
        let cost = cost(trial);
        if cost < chosen.0 {
            chosen = (cost, set);
            best.copy_from_slice(trial);
        }
    }
    chosen.1
}

/// Whether group `g` of a tile of so many is one of those that are looked at: they lie on diagonals, so that they
/// have all positions along the axes.
#[inline(always)]
pub fn is_sampled(g: usize, groups: usize) -> bool {
    let every = (groups / SAMPLED_GROUPS).max(1);
    // A power of two, as tiles have groups.
    (g ^ (g >> every.ilog2())) & (every - 1) == 0
}

/// The sum of the logarithms of sums of magnitudes, of the groups that are looked at.
#[inline(always)]
pub fn sampled_cost<W: Word>(grid: &Grid, lens: [usize; AXES], words: &[W]) -> u64 {
    let mut sums = [0u64; GROUPS];
    grid.rows(lens, |at, place| {
        for (x, w) in words[at..at + lens[0]].iter().enumerate() {
            sums[(place + x) / GROUP] += w.magnitude().to_u64().min(MOST);
        }
    });
    let groups = grid.groups();
    (0..groups).filter(|g| is_sampled(*g, groups)).map(|g| logarithm(sums[g])).sum()
}

/// The sum of the logarithms of sums of magnitudes, of all words.
#[inline(always)]
pub fn full_cost<W: Word>(words: &[W]) -> u64 {
    let of = |sample: &[W]| logarithm(sample.iter().map(|w| w.magnitude().to_u64().min(MOST)).sum::<u64>());
    words.chunks(SAMPLE).map(of).sum()
}

/// 256 times the logarithm of `sum`, rounded to what is easily computed.
#[inline(always)]
pub fn logarithm(sum: u64) -> u64 {
    let sum = sum + NOISE;
    let octave = u64::from(sum.ilog2());
    octave << 8 | ((u128::from(sum) << 8 >> octave) as u64 & 255)
}
