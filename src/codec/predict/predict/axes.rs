//! Along which axes differences are taken.

use std::ops::Range;

use crate::codec::predict::format::{GROUP, GROUPS, Grid};
use crate::codec::predict::rules::{SAMPLED_GROUPS, SMALL_COST};
use crate::primitives::lorenzo::{self, AXES};
use crate::simd::word::Word;

/// Words whose magnitudes are added up.
const SAMPLE: usize = 128;
/// Rounds of groups. The second is for tiles of differences so small that few groups tell little of them.
pub const ROUNDS: usize = 2;
/// What is added to each sum, so that small differences between small sums mean little.
const NOISE: u64 = 16;
/// What a magnitude counts at most.
const MOST: u64 = 1 << 56;

/// The sets of these axes, as bits.
#[inline(always)]
pub fn sets(allowed: u8) -> u8 {
    (0..1u8 << AXES).filter(|set| set & !allowed == 0).fold(0, |sets, set| sets | 1 << set)
}

/// The set of axes, out of these, whose differences of `words` look shortest.
#[inline(always)]
pub fn choose<W: Word>(sets: u8, lens: [usize; AXES], words: &[W], trial: &mut [W]) -> u8 {
    if sets.is_power_of_two() {
        return sets.trailing_zeros() as u8;
    }
    let mut chosen = (u64::MAX, 0);
    for set in (0..1u8 << AXES).filter(|set| sets >> set & 1 == 1) {
        trial.copy_from_slice(words);
        lorenzo::forward(set, lens, trial);
        chosen = chosen.min((words_cost(trial), set));
    }
    chosen.1
}

/// Whether group `g` of a tile of so many is one of those that are looked at in a round: they lie on diagonals, so that
/// they have all positions along the axes.
#[inline(always)]
pub fn is_sampled(g: usize, groups: usize, round: usize) -> bool {
    let every = (groups / SAMPLED_GROUPS).max(1);
    // A power of two, as tiles have groups.
    (g ^ (g >> every.ilog2()) ^ (round * every / 2)) & (every - 1) == 0
}

/// Whether there is a second round for a tile of so many groups, of which sets of axes cost so much in the first: not
/// if all words that were met are the same.
#[inline(always)]
pub fn looks_again(costs: &[u64], seen: &Seen, groups: usize) -> bool {
    let least = costs.iter().fold(u64::MAX, |least, cost| least.min(*cost));
    groups > SAMPLED_GROUPS && seen.ends.0 < seen.ends.1 && least < SMALL_COST * seen.groups
}

/// What words were met in the groups that were looked at.
pub struct Seen {
    /// The least word and the greatest one, signed.
    pub ends: (i64, i64),
    /// Groups that have an element.
    pub groups: u64,
}

impl Seen {
    /// None yet.
    pub const NONE: Seen = Seen { ends: (i64::MAX, i64::MIN), groups: 0 };
}

/// What an encoder does with a tile's words.
pub struct Choice {
    /// The axes along which differences are taken.
    pub set: u8,
    /// What is subtracted from the words before, modulo 2^64; 0 if differences are taken.
    pub middle: u64,
}

/// The set of axes that costs the least, and of such the first, by what each costs; or no differences, but distances
/// from the middle of the words, if these look shorter: words of any order that lie anywhere between two ends are a
/// quarter of what is between these from the middle, and a third from each other.
#[inline(always)]
pub fn decide(costs: &[u64], seen: &Seen) -> Choice {
    let set = (0..costs.len()).min_by_key(|s| costs[*s]).unwrap_or(0);
    let (first, last) = seen.ends;
    let length = last.wrapping_sub(first) as u64;
    let from_middle = seen.groups * logarithm(length.min(MOST) * (GROUP / 4) as u64);
    if from_middle < costs[set] {
        return Choice { set: 0, middle: (first as u64).wrapping_add(length / 2) };
    }
    Choice { set: set as u8, middle: 0 }
}

/// Chooses by some groups; what is left of the words is in `best`.
#[inline(always)]
pub fn choose_by_some<W: Word>(
    grid: &Grid,
    lens: [usize; AXES],
    words: &[W],
    trial: &mut [W],
    best: &mut [W],
) -> Choice {
    let (groups, sets) = (grid.groups(), grid.set() + 1);
    let (mut costs, mut of_second, mut seen) = ([0; 1 << AXES], [0; 1 << AXES], Seen::NONE);
    let mut kept = (u64::MAX, 0);
    for set in 0..sets {
        trial.copy_from_slice(words);
        lorenzo::forward(set, lens, trial);
        // Both rounds at once: what is dear is to take differences.
        let of_set = sampled_costs(grid, lens, trial);
        [costs[usize::from(set)], of_second[usize::from(set)]] = of_set;
        if of_set[0] < kept.0 {
            kept = (of_set[0], set);
            best.copy_from_slice(trial);
        }
    }
    see(grid, lens, words, 0, &mut seen);
    if looks_again(&costs[..sets.into()], &seen, groups) {
        costs.iter_mut().zip(of_second).for_each(|(cost, more)| *cost += more);
        see(grid, lens, words, 1, &mut seen);
    }
    let choice = decide(&costs[..sets.into()], &seen);
    if choice.set != kept.1 || choice.middle != 0 {
        let middle = W::from_u64(choice.middle);
        best.iter_mut().zip(words).for_each(|(best, w)| *best = w.sub(middle));
        lorenzo::forward(choice.set, lens, best);
    }
    choice
}

/// For each round the sum of the logarithms of sums of magnitudes, of the groups that are looked at in it.
#[inline(always)]
fn sampled_costs<W: Word>(grid: &Grid, lens: [usize; AXES], words: &[W]) -> [u64; ROUNDS] {
    let mut sums = [0u64; GROUPS];
    pieces(grid, lens, |group, elements| {
        sums[group] += words[elements].iter().map(|w| w.magnitude().to_u64().min(MOST)).sum::<u64>();
    });
    let groups = grid.groups();
    let of_round = |round| (0..groups).filter(|g| is_sampled(*g, groups, round)).map(|g| logarithm(sums[g])).sum();
    std::array::from_fn(of_round)
}

/// Looks at the words of a round's groups.
#[inline(always)]
fn see<W: Word>(grid: &Grid, lens: [usize; AXES], words: &[W], round: usize, seen: &mut Seen) {
    let (groups, mut last) = (grid.groups(), GROUPS);
    pieces(grid, lens, |group, elements| {
        if is_sampled(group, groups, round) {
            for w in &words[elements] {
                let word = w.extend() as i64;
                seen.ends = (seen.ends.0.min(word), seen.ends.1.max(word));
            }
            seen.groups += u64::from(group != last);
            last = group;
        }
    });
}

/// Shows the pieces of a tile's rows that lie in one group each: which group, and which elements.
#[inline(always)]
fn pieces(grid: &Grid, lens: [usize; AXES], mut show: impl FnMut(usize, Range<usize>)) {
    grid.rows(lens, |at, place| {
        let mut x = 0;
        while x < lens[0] {
            let group = (place + x) / GROUP;
            let end = lens[0].min((group + 1) * GROUP - place);
            show(group, at + x..at + end);
            x = end;
        }
    });
}

/// The sum of the logarithms of sums of magnitudes, of all words.
#[inline(always)]
fn words_cost<W: Word>(words: &[W]) -> u64 {
    words.chunks(SAMPLE).map(sum_cost).sum()
}

/// The logarithm of the sum of magnitudes.
#[inline(always)]
pub fn sum_cost<W: Word>(words: &[W]) -> u64 {
    logarithm(words.iter().map(|w| w.magnitude().to_u64().min(MOST)).sum::<u64>())
}

/// 256 times the logarithm of `sum`, rounded to what is easily computed; 0 for 0.
#[inline(always)]
pub fn logarithm(sum: u64) -> u64 {
    let sum = sum + NOISE;
    let octave = u64::from(sum.ilog2());
    (octave << 8 | ((u128::from(sum) << 8 >> octave) as u64 & 255)) - (u64::from(NOISE.ilog2()) << 8)
}

/// The differences of words from one on, as `lorenzo::forward` makes them.
#[inline(always)]
pub fn difference<W: Word>(set: u8, lens: [usize; AXES], words: &[W], from: usize, out: &mut [W]) {
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
