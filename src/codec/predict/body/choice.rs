//! How a tile is predicted: by what a part of it costs in each way.

// Iterators and closures may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use crate::codec::predict::code::costs::{self, LOW_COST};
use crate::codec::predict::code::own_table::SYMBOLS;
use crate::codec::predict::code::token_costs::BIT;
use crate::codec::predict::format::{GROUP, LATTICE_STEP, Rule};
use crate::codec::predict::map::survey::{BLOCK, Multiples, Survey};
use crate::codec::predict::predict::axes;
use crate::codec::predict::predict::costs_of_sets::{self, CostOfSets, MARGIN, SETS};
use crate::codec::predict::predict::interpolation;
use crate::codec::predict::simd::lanes::{LONGEST, Lanes};
use crate::codec::predict::simd::{Level, Task};
use crate::error::Result;
use crate::host::memory::{boxed, filled};
use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::word::Word;

/// Tiles of fewer elements are not interpolated.
const FEWEST: usize = 8;
/// Elements of a sample, at most.
const SAMPLE: usize = 1 << 12;
/// What a correction costs.
const CORRECTION_COST: u64 = 16 * BIT;
/// Bins that cost less are far better than interpolation if sums of magnitudes are so much smaller: 256 times the
/// logarithm.
const FAR: u64 = 256;

/// What a predictor is tried on, and with.
pub struct Trial {
    numbers: Vec<u32>,
    counts: Vec<u32>,
    on: Vec<u8>,
    words: Vec<u32>,
    other: Vec<u32>,
    codes: Vec<u32>,
    /// How often tokens occur.
    tokens: Box<costs::Counts>,
}

impl Trial {
    /// Allocates it for tiles of up to `n` elements.
    pub fn new(n: usize) -> Result<Trial> {
        let room = || filled(n + 2 * LONGEST, 0);
        Ok(Trial {
            numbers: room()?,
            counts: room()?,
            on: filled(n, 0)?,
            words: room()?,
            other: room()?,
            codes: room()?,
            tokens: boxed([0; SYMBOLS])?,
        })
    }
}

/// A way to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Bins, and differences along axes.
    Bins,
    /// Interpolation of multiples.
    Interpolated(Rule),
}

/// A tile of multiples.
#[derive(Clone, Copy)]
pub struct Tile<'a> {
    /// Its lengths.
    pub lens: [usize; AXES],
    /// What its elements are.
    pub survey: Survey,
    /// The multiples.
    pub multiples: &'a Multiples,
}

#[cfg(test)]
thread_local! {
    /// How tiles are predicted, in tests that try every way.
    pub static FORCED: std::cell::Cell<Option<Way>> = const { std::cell::Cell::new(None) };
}

/// Chooses for a tile of multiples how it is predicted, by what a part of it costs.
pub fn choose(p: impl Level, tile: Tile, (trial, levels): (&mut Trial, &mut interpolation::Buffers)) -> Way {
    let Tile { lens, survey, .. } = tile;
    let n: usize = lens.iter().product();
    if n < FEWEST || !survey.near || !survey.has_few_wide(n) {
        return Way::Bins;
    }
    #[cfg(test)]
    if let Some(way) = FORCED.get() {
        return way;
    }
    // A part would not come back as the tile did.
    let sides = if survey.is_restored { lens } else { sample(lens) };
    let (way, cost) = take_sample(tile, sides, trial, levels).least(p, None);
    let samples: usize = sides.iter().product();
    if samples == n || cost >= LOW_COST * samples as u64 {
        return way;
    }
    let set = match way {
        Way::Interpolated(rule) => rule.set,
        Way::Bins => 0,
    };
    take_sample(tile, lens, trial, levels).least(p, Some(set)).0
}

/// Chooses for a tile of numbers that must not change how it is predicted.
pub fn choose_exact(
    p: impl Level,
    lens: [usize; AXES],
    numbers: &[u32],
    (trial, levels): (&mut Trial, &mut interpolation::Buffers),
) -> Way {
    if numbers.len() < FEWEST {
        return Way::Bins;
    }
    let sides = sample(lens);
    copy_sample(lens, sides, |from, to, count| {
        trial.numbers[to..to + count].copy_from_slice(&numbers[from..from + count]);
    });
    let share = share(lens, sides);
    let mut case = Case { sides, is_masked: false, corrected: false, base: 0, step: 1, share, trial, levels };
    case.least(p, None).0
}

/// The sides of the part of a tile that is looked at: of a large one a quarter.
fn sample(lens: [usize; AXES]) -> [usize; AXES] {
    let mut sides = lens;
    while sides.iter().product::<usize>() > SAMPLE {
        let longest = (0..AXES).max_by_key(|a| sides[*a]).unwrap_or(0);
        sides[longest] = sides[longest].div_ceil(2);
    }
    sides
}

/// A part of a tile, to be tried.
struct Case<'a> {
    sides: [usize; AXES],
    is_masked: bool,
    /// Multiples are so many that they count.
    corrected: bool,
    base: i32,
    /// What bins are apart.
    step: u32,
    /// As many elements of the tile as one stands for.
    share: u64,
    trial: &'a mut Trial,
    levels: &'a mut interpolation::Buffers,
}

/// Shows the rows of the part with these sides in the middle of a tile: where each begins in the tile and in the part,
/// and how long it is.
#[inline(always)]
fn copy_sample(lens: [usize; AXES], sides: [usize; AXES], mut show: impl FnMut(usize, usize, usize)) {
    let first: [usize; AXES] = std::array::from_fn(|a| (lens[a] - sides[a]) / 2);
    for z in 0..sides[2] {
        for y in 0..sides[1] {
            let from = ((first[2] + z) * lens[1] + first[1] + y) * lens[0] + first[0];
            show(from, (z * sides[1] + y) * sides[0], sides[0]);
        }
    }
}

/// Copies the part with these sides from the middle of a tile.
#[inline(always)]
fn take_sample<'a>(
    Tile { lens, survey, multiples }: Tile,
    sides: [usize; AXES],
    trial: &'a mut Trial,
    levels: &'a mut interpolation::Buffers,
) -> Case<'a> {
    let Multiples { numbers, on, counts, .. } = multiples;
    let is_masked = survey.is_masked();
    let corrected = survey.on > lens.iter().product::<usize>() / 64;
    copy_sample(lens, sides, |from, to, count| {
        trial.numbers[to..to + count].copy_from_slice(&numbers[from..from + count]);
        if is_masked {
            trial.counts[to..to + count].copy_from_slice(&counts[from..from + count]);
        }
        if corrected {
            let is_on = |x: usize| (on[x / BLOCK] >> (x % BLOCK) & 1) as u8;
            (0..count).for_each(|x| trial.on[to + x] = is_on(from + x));
        }
    });
    Case {
        sides,
        is_masked,
        corrected,
        base: survey.base,
        step: LATTICE_STEP,
        share: share(lens, sides),
        trial,
        levels,
    }
}

impl Case<'_> {
    /// The way that costs least; differences of codes are along `set`, where that is known.
    fn least(&mut self, p: impl Level, set: Option<u8>) -> (Way, u64) {
        self.load(p);
        let (of_bins, about_bins) = self.make_bins(p);
        let rule = Rule { rough: false, coarse: self.step > 1, set: set.unwrap_or(0) };
        let Some([plain, corrections]) = self.cost(p, rule) else {
            return (Way::Bins, self.bins(p, of_bins));
        };
        let mut best = (Way::Interpolated(rule), plain);
        let n: usize = self.sides.iter().product();
        let far = FAR * (n / GROUP) as u64;
        let about_codes = p.run(CostOfSums { codes: &self.trial.codes[..n] });
        let bins = self.bins(p, of_bins);
        if bins <= plain {
            best = (Way::Bins, bins);
            if set.is_none() && about_bins + far < about_codes {
                return best;
            }
        }
        let set = set.unwrap_or_else(|| p.run(Axes { sides: self.sides, trial: self.trial }));
        if set != rule.set {
            p.run(Differ { sides: self.sides, set, codes: &mut self.trial.codes });
            let cost = corrections + p.run(CostOfCodes { codes: &self.trial.codes[..n] });
            if cost < best.1 {
                best = (Way::Interpolated(Rule { set, ..rule }), cost);
            }
        }
        self.try_rule(p, Rule { set, rough: true, ..rule }, &mut best);
        // Where multiples are so many the tile was restored before, at least in part.
        if self.corrected {
            self.try_rule(p, Rule { set, coarse: false, ..rule }, &mut best);
        }
        best
    }

    fn try_rule(&mut self, p: impl Level, rule: Rule, best: &mut (Way, u64)) {
        if let Some([cost, _]) = self.cost(p, rule)
            && cost < best.1
        {
            *best = (Way::Interpolated(rule), cost);
        }
    }

    /// Makes bins: along which axes their differences are shortest, and what these cost about.
    fn make_bins(&mut self, p: impl Level) -> (u8, u64) {
        p.run(BinsOfPart { sides: self.sides, base: self.base, step: self.step, trial: self.trial })
    }

    /// What differences of bins cost, and corrections of what they do not restore.
    fn bins(&mut self, p: impl Level, set: u8) -> u64 {
        let Case { sides, base, share, .. } = *self;
        let mut cost = p.run(CostOfBins { sides, set, share, trial: self.trial });
        if self.corrected {
            let n = sides.iter().product();
            cost +=
                CORRECTION_COST * p.run(OffBins { base, numbers: &self.trial.numbers[..n], on: &self.trial.on[..n] });
        }
        cost
    }

    /// Takes the numbers to interpolate them.
    fn load(&mut self, p: impl Level) {
        let n = self.sides.iter().product();
        let mask = self.is_masked.then_some(&self.trial.counts[..n]);
        let numbers = &self.trial.numbers[..n];
        p.run(interpolation::Load { lens: self.sides, numbers, mask, buffers: self.levels });
    }

    /// What interpolation by a rule costs, and its corrections alone; its codes are there then.
    fn cost(&mut self, p: impl Level, rule: Rule) -> Option<[u64; 2]> {
        let n = self.sides.iter().product();
        let Trial { numbers, on, other, codes, .. } = &mut *self.trial;
        if !p.run(interpolation::Encode { rule, buffers: self.levels, codes }) {
            return None;
        }
        let mut corrections = 0;
        if self.corrected && rule.coarse {
            p.run(interpolation::Restored { buffers: self.levels, numbers: other });
            let (numbers, others, on) = (&numbers[..n], &other[..n], &on[..n]);
            corrections = CORRECTION_COST * p.run(Differences { numbers, others, on });
        }
        Some([corrections + p.run(CostOfCodes { codes: &codes[..n] }), corrections])
    }
}

/// How many of the numbers that are multiples are not those of bins.
struct OffBins<'a> {
    base: i32,
    numbers: &'a [u32],
    on: &'a [u8],
}

impl Task for OffBins<'_> {
    type Done = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> u64 {
        let OffBins { base, numbers, on } = self;
        let mut count = 0;
        for i in 0..numbers.len() {
            let is_off = (numbers[i] as i32).wrapping_add(base) % LATTICE_STEP as i32 != 0;
            count += u32::from(is_off) & u32::from(on[i]);
        }
        count.into()
    }
}

/// How many of the numbers that are multiples differ from others.
struct Differences<'a> {
    numbers: &'a [u32],
    others: &'a [u32],
    on: &'a [u8],
}

impl Task for Differences<'_> {
    type Done = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> u64 {
        let Differences { numbers, others, on } = self;
        let mut count = 0;
        for i in 0..numbers.len() {
            count += u32::from(numbers[i] != others[i]) & u32::from(on[i]);
        }
        count.into()
    }
}

/// What codes cost.
struct CostOfCodes<'a> {
    codes: &'a [u32],
}

impl Task for CostOfCodes<'_> {
    type Done = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> u64 {
        costs::fixed_cost(l, self.codes)
    }
}

/// Makes bins of a part of a tile, from margin to margin of the words: along which axes their differences are
/// shortest, and what these cost about.
struct BinsOfPart<'a> {
    sides: [usize; AXES],
    base: i32,
    step: u32,
    trial: &'a mut Trial,
}

impl Task for BinsOfPart<'_> {
    type Done = (u8, u64);

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> (u8, u64) {
        let BinsOfPart { sides, base, step, trial: Trial { numbers, words, other, .. } } = self;
        let n: usize = sides.iter().product();
        let numbers = &numbers[..n];
        let inverse = 1.0 / f64::from(step);
        let first = bin(numbers[0], base, step, inverse);
        let mut any = 0;
        let bins = &mut words[MARGIN..MARGIN + n];
        for i in 0..n {
            bins[i] = bin(numbers[i], base, step, inverse).wrapping_sub(first) as u32;
            any |= bins[i] ^ (bins[i] as i32 >> 31) as u32;
        }
        let allowed = (0..AXES).filter(|a| sides[*a] > 1).fold(0, |set, a| set | 1 << a);
        let sets = axes::sets(allowed);
        if any >= costs_of_sets::MOST {
            let set = axes::choose(sets, sides, bins, &mut other[..n]);
            return (set, u64::MAX / 2);
        }
        let costs = CostOfSets::<true> { lens: sides, numbers: words }.run(l);
        let set = (0..SETS).filter(|set| sets >> set & 1 == 1).min_by_key(|set| costs[*set]).unwrap_or(0);
        (set as u8, costs[set])
    }
}

/// What differences of such bins along a set of axes cost.
struct CostOfBins<'a> {
    sides: [usize; AXES],
    set: u8,
    share: u64,
    trial: &'a mut Trial,
}

impl Task for CostOfBins<'_> {
    type Done = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> u64 {
        let CostOfBins { sides, set, share, trial } = self;
        let n = sides.iter().product();
        let Trial { words, other, tokens, .. } = trial;
        let (words, other) = (&mut words[MARGIN..MARGIN + n], &mut other[..n]);
        lorenzo::forward(set, sides, words);
        zigzag_from(words, other, 0);
        let cost = costs::code_cost(l, other, share, tokens);
        if set != 0 {
            return cost;
        }
        let mut ends = (i32::MAX, i32::MIN);
        for w in &*words {
            ends = (ends.0.min(*w as i32), ends.1.max(*w as i32));
        }
        zigzag_from(words, other, ends.0.wrapping_add(ends.1.wrapping_sub(ends.0) / 2) as u32);
        cost.min(costs::code_cost(l, other, share, tokens))
    }
}

/// The sum of the logarithms of what the magnitudes of groups of codes add up to.
struct CostOfSums<'a> {
    codes: &'a [u32],
}

impl Task for CostOfSums<'_> {
    type Done = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> u64 {
        let mut cost = 0;
        for codes in self.codes.chunks(GROUP) {
            let mut sum = 0;
            for code in codes {
                // Codes are below 2^22.
                sum += (code >> 1) + (code & 1);
            }
            cost += axes::logarithm(sum.into());
        }
        cost
    }
}

/// The axes along which codes of classes with one new axis differ least, by the codes of a part of a tile.
struct Axes<'a> {
    sides: [usize; AXES],
    trial: &'a mut Trial,
}

impl Task for Axes<'_> {
    type Done = u8;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> u8 {
        let Axes { sides, trial: Trial { codes, other, .. } } = self;
        let n: usize = sides.iter().product();
        let signed = &mut other[MARGIN..MARGIN + n];
        for i in 0..n {
            signed[i] = codes[i].unzigzag();
        }
        let mut costs = [0; SETS];
        for (new, at, lens) in interpolation::single_classes(sides) {
            let of_class = CostOfSets::<false> { lens, numbers: &other[at..] }.run(l);
            for set in 0..SETS {
                // Sets that differ in the new axis alone mean the same to it.
                costs[set] += of_class[set & !usize::from(new)];
            }
        }
        (0..SETS).min_by_key(|set| costs[*set]).unwrap_or(0) as u8
    }
}

/// Replaces the codes of classes with one new axis by their differences along axes, on the finest levels.
struct Differ<'a> {
    sides: [usize; AXES],
    set: u8,
    codes: &'a mut [u32],
}

impl Task for Differ<'_> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let Differ { sides, set, codes } = self;
        for lens in interpolation::with_differences(sides) {
            for (new, at, lens) in interpolation::single_classes(lens) {
                let codes = &mut codes[at..at + lens.iter().product::<usize>()];
                for code in &mut *codes {
                    *code = code.unzigzag();
                }
                interpolation::difference(codes, set & !new, lens);
            }
        }
    }
}

/// The bin of a multiple.
#[inline(always)]
fn bin(number: u32, base: i32, step: u32, inverse: f64) -> i32 {
    let number = (number as i32).wrapping_add(base);
    if step == 1 { number } else { (f64::from(number) * inverse).round_ties_even() as i32 }
}

/// Codes of distances from a number.
#[inline(always)]
fn zigzag_from(words: &[u32], to: &mut [u32], middle: u32) {
    for (to, w) in to.iter_mut().zip(words) {
        *to = w.wrapping_sub(middle).zigzag();
    }
}

/// As many elements of a tile as one of a part of it stands for.
fn share(lens: [usize; AXES], sides: [usize; AXES]) -> u64 {
    let [all, part]: [usize; 2] = [lens, sides].map(|lens| lens.iter().product());
    (all / part) as u64
}
