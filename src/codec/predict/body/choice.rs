//! How a tile is predicted: by what a part of it costs in each way.

// Iterators and closures may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use crate::codec::interp::predict::interpolation;
use crate::codec::interp::quantize::multiples::{self as survey, BLOCK, Multiples, Survey};
use crate::codec::predict::code::costs;
use crate::codec::predict::code::own_table::SYMBOLS;
use crate::codec::predict::format::{GROUP, LATTICE_STEP, Rule};
use crate::codec::predict::predict::axes;
use crate::codec::predict::predict::costs_of_sets::{CostOfSets, MARGIN, SETS};
use crate::codec::predict::rules::{CORRECTION_COST, FAR, FEWEST, LITTLE_COST, MOST_BIN, SAMPLE_ELEMENTS};
use crate::error::Result;
use crate::host::memory::{Aligned, boxed, filled};
use crate::primitives::lorenzo::{self, AXES};
use crate::simd::lanes::{LONGEST, Lanes};
use crate::simd::word::Word;
use crate::simd::{Level, Task};

/// What a predictor is tried with.
pub struct Trial {
    /// A part of a tile.
    part: Vec<u32>,
    on: Vec<u8>,
    /// What nobody needs when the choice is made.
    pub words: Aligned<u32>,
    pub other: Aligned<u32>,
    /// How often tokens occur.
    tokens: Box<costs::Counts>,
}

impl Trial {
    /// Allocates it for tiles of up to `n` elements, with room for so many bytes in words.
    pub fn new(n: usize, lent: usize) -> Result<Trial> {
        Ok(Trial {
            part: filled(n.min(SAMPLE_ELEMENTS), 0)?,
            on: filled(n, 0)?,
            words: Aligned::zeros_in(n + 2 * LONGEST, lent)?,
            other: Aligned::zeros(n + 2 * LONGEST)?,
            tokens: boxed([0; SYMBOLS])?,
        })
    }
}

/// Where a choice is made.
pub struct Desk<'a> {
    pub trial: &'a mut Trial,
    pub levels: &'a mut interpolation::Buffers,
    /// Room for the codes of a tile.
    pub codes: &'a mut [u32],
}

/// A way to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Bins, and differences along axes.
    Bins,
    /// Interpolation of multiples.
    Interpolated(Rule),
}

/// What a desk has of a whole tile when its way is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// Nothing.
    Nothing,
    /// Its numbers are taken, to interpolate them.
    Numbers,
    /// It is encoded by the way that was chosen.
    Codes,
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

/// Chooses for a tile of multiples how it is predicted, by what a part of it costs; what the desk has of it then.
pub fn choose(p: impl Level, tile: Tile, desk: &mut Desk) -> (Way, Ready) {
    let Tile { lens, survey, .. } = tile;
    let n: usize = lens.iter().product();
    if n < FEWEST || !survey.near || !survey.has_few_wide(n) {
        return (Way::Bins, Ready::Nothing);
    }
    #[cfg(test)]
    if let Some(way) = FORCED.get() {
        return (way, Ready::Nothing);
    }
    // A part would not come back as the tile did.
    let sides = if survey.is_restored { lens } else { sample(lens) };
    let (way, cost) = with_part(p, tile, sides, desk, None);
    let samples: usize = sides.iter().product();
    if samples == n {
        return (way, Ready::Numbers);
    }
    if cost >= LITTLE_COST * samples as u64 {
        return (way, Ready::Nothing);
    }
    let set = match way {
        Way::Interpolated(rule) => rule.set,
        Way::Bins => 0,
    };
    let way = with_part(p, tile, lens, desk, Some(set)).0;
    let is_last = way == Way::Interpolated(last_rule(LATTICE_STEP, set));
    (way, if is_last { Ready::Codes } else { Ready::Numbers })
}

/// Chooses for a tile of numbers that must not change how it is predicted.
pub fn choose_exact(p: impl Level, lens: [usize; AXES], numbers: &[u32], desk: &mut Desk) -> Way {
    if numbers.len() < FEWEST {
        return Way::Bins;
    }
    let (sides, mut part) = (sample(lens), std::mem::take(&mut desk.trial.part));
    let numbers = if sides == lens { numbers } else { copy_part(lens, sides, numbers, &mut part) };
    let share = share(lens, sides);
    let mut case = Case { sides, numbers, is_masked: false, corrected: false, base: 0, step: 1, share, desk };
    case.load(p);
    let way = case.search(p).0;
    desk.trial.part = part;
    way
}

/// The sides of the part of a tile that is looked at: of a large one a quarter.
fn sample(lens: [usize; AXES]) -> [usize; AXES] {
    let mut sides = lens;
    while sides.iter().product::<usize>() > SAMPLE_ELEMENTS {
        let longest = (0..AXES).max_by_key(|a| sides[*a]).unwrap_or(0);
        sides[longest] = sides[longest].div_ceil(2);
    }
    sides
}

/// The rule that is tried last where the axes are known: most tiles take it.
fn last_rule(step: u32, set: u8) -> Rule {
    Rule { rough: false, coarse: step > 1, set }
}

/// A part of a tile, to be tried.
struct Case<'a, 'b> {
    sides: [usize; AXES],
    numbers: &'a [u32],
    is_masked: bool,
    /// Multiples are so many that they count.
    corrected: bool,
    base: i32,
    /// What bins are apart.
    step: u32,
    /// As many elements of the tile as one stands for.
    share: u64,
    desk: &'a mut Desk<'b>,
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

/// Copies the numbers of the part with these sides from the middle of a tile.
fn copy_part<'a>(lens: [usize; AXES], sides: [usize; AXES], numbers: &[u32], part: &'a mut [u32]) -> &'a [u32] {
    copy_sample(lens, sides, |from, to, count| part[to..to + count].copy_from_slice(&numbers[from..from + count]));
    &part[..sides.iter().product()]
}

/// Which elements of a part of a tile are multiples.
struct CopyOn<'a> {
    lens: [usize; AXES],
    sides: [usize; AXES],
    on: &'a survey::Mask,
    to: &'a mut [u8],
}

impl Task for CopyOn<'_> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        const MANY: usize = 16;
        let CopyOn { lens, sides, on, to } = self;
        copy_sample(lens, sides, |from, at, count| {
            for first in (0..count).step_by(MANY) {
                let bits = survey::bits_from(on, from + first) as u32;
                let to = &mut to[at + first..at + count.min(first + MANY)];
                if let Some(all) = to.first_chunk_mut::<MANY>() {
                    for i in 0..MANY {
                        all[i] = (bits >> i) as u8 & 1;
                    }
                } else {
                    for i in 0..to.len() {
                        to[i] = (bits >> i) as u8 & 1;
                    }
                }
            }
        });
    }
}

/// The numbers of a part of a tile, without those that do not count.
struct LeaveOut<'a> {
    tile: Tile<'a>,
    sides: [usize; AXES],
    to: &'a mut [u32],
}

impl Task for LeaveOut<'_> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let LeaveOut { tile: Tile { lens, multiples: Multiples { numbers, absent, .. }, .. }, sides, to } = self;
        copy_sample(lens, sides, |from, at, count| {
            for first in (0..count).step_by(BLOCK) {
                let to = &mut to[at + first..at + count.min(first + BLOCK)];
                to.copy_from_slice(&numbers[from + first..from + first + to.len()]);
                survey::leave_out(to, survey::bits_from(absent, from + first), interpolation::ABSENT);
            }
        });
    }
}

/// The way to predict the part with these sides in the middle of a tile that costs least, and what it costs;
/// differences of codes are along `set`, where that is known.
fn with_part(p: impl Level, tile: Tile, sides: [usize; AXES], desk: &mut Desk, set: Option<u8>) -> (Way, u64) {
    let Tile { lens, survey, multiples } = tile;
    let n: usize = lens.iter().product();
    let corrected = survey.on > n / 64;
    if corrected {
        p.run(CopyOn { lens, sides, on: &multiples.on, to: &mut desk.trial.on });
    }
    let mut part = std::mem::take(&mut desk.trial.part);
    let all = &multiples.numbers[..n];
    let numbers = if sides == lens { all } else { copy_part(lens, sides, all, &mut part) };
    let is_masked = survey.is_masked();
    if is_masked {
        p.run(LeaveOut { tile, sides, to: &mut desk.trial.other });
    }
    let (base, step, share) = (survey.base, LATTICE_STEP, share(lens, sides));
    let mut case = Case { sides, numbers, is_masked, corrected, base, step, share, desk };
    case.load(p);
    let way = match set {
        Some(set) => case.compare(p, set),
        None => case.search(p),
    };
    desk.trial.part = part;
    way
}

impl Case<'_, '_> {
    /// The way that costs least.
    fn search(&mut self, p: impl Level) -> (Way, u64) {
        let (of_bins, about_bins) = self.make_bins(p);
        let rule = last_rule(self.step, 0);
        let Some([plain, corrections]) = self.cost(p, rule) else {
            return (Way::Bins, self.bins(p, of_bins));
        };
        let mut best = (Way::Interpolated(rule), plain);
        let n: usize = self.sides.iter().product();
        let far = FAR * (n / GROUP) as u64;
        let about_codes = p.run(CostOfSums { codes: &self.desk.codes[..n] });
        let bins = self.bins(p, of_bins);
        if bins <= plain {
            best = (Way::Bins, bins);
            if about_bins + far < about_codes {
                return best;
            }
        }
        let set = p.run(Axes { sides: self.sides, desk: self.desk });
        if set != rule.set {
            p.run(Differ { sides: self.sides, set, codes: self.desk.codes });
            let cost = corrections + p.run(CostOfCodes { codes: &self.desk.codes[..n] });
            if cost < best.1 {
                best = (Way::Interpolated(Rule { set, ..rule }), cost);
            }
        }
        self.try_others(p, Rule { set, ..rule }, &mut best);
        best
    }

    /// The way that costs least, where differences of codes are along `set`. The part is encoded by `last_rule` then,
    /// unless none can be.
    fn compare(&mut self, p: impl Level, set: u8) -> (Way, u64) {
        let of_bins = self.make_bins(p).0;
        let rule = last_rule(self.step, set);
        let (bins, mut others) = (self.bins(p, of_bins), (Way::Bins, u64::MAX));
        self.try_others(p, rule, &mut others);
        let plain = match self.cost(p, rule) {
            Some([cost, _]) if cost < bins => (Way::Interpolated(rule), cost),
            Some(_) => (Way::Bins, bins),
            None => return (Way::Bins, bins),
        };
        if others.1 < plain.1 { others } else { plain }
    }

    /// Tries the rules beside this one.
    fn try_others(&mut self, p: impl Level, rule: Rule, best: &mut (Way, u64)) {
        self.try_rule(p, Rule { rough: true, ..rule }, best);
        // Where multiples are so many the tile was restored before, at least in part.
        if self.corrected {
            self.try_rule(p, Rule { coarse: false, ..rule }, best);
        }
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
        let Case { sides, numbers, base, step, .. } = *self;
        p.run(BinsOfPart { sides, numbers, base, step, trial: self.desk.trial })
    }

    /// What differences of bins cost, and corrections of what they do not restore.
    fn bins(&mut self, p: impl Level, set: u8) -> u64 {
        let Case { sides, numbers, base, share, .. } = *self;
        let mut cost = p.run(CostOfBins { sides, set, share, trial: self.desk.trial });
        if self.corrected {
            cost += CORRECTION_COST * p.run(OffBins { base, numbers, on: &self.desk.trial.on[..numbers.len()] });
        }
        cost
    }

    /// Takes the numbers to interpolate them: those of `other` where some do not count.
    fn load(&mut self, p: impl Level) {
        let Case { sides: lens, numbers, is_masked, .. } = *self;
        let Desk { trial, levels, .. } = &mut *self.desk;
        let numbers = if is_masked { &trial.other[..numbers.len()] } else { numbers };
        p.run(interpolation::Load { lens, numbers, is_masked, buffers: levels });
    }

    /// What interpolation by a rule costs, and its corrections alone; its codes are there then.
    fn cost(&mut self, p: impl Level, rule: Rule) -> Option<[u64; 2]> {
        let n = self.numbers.len();
        let Desk { trial: Trial { on, other, .. }, levels, codes } = &mut *self.desk;
        if !p.run(interpolation::Encode { rule, buffers: levels, codes }) {
            return None;
        }
        let mut corrections = 0;
        if self.corrected && rule.coarse {
            p.run(interpolation::Restored { buffers: levels, numbers: other });
            let (others, on) = (&other[..n], &on[..n]);
            corrections = CORRECTION_COST * p.run(Differences { numbers: self.numbers, others, on });
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
    numbers: &'a [u32],
    base: i32,
    step: u32,
    trial: &'a mut Trial,
}

impl Task for BinsOfPart<'_> {
    type Done = (u8, u64);

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> (u8, u64) {
        let BinsOfPart { sides, numbers, base, step, trial: Trial { words, other, .. } } = self;
        let n = numbers.len();
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
        if any >= MOST_BIN {
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
struct Axes<'a, 'b> {
    sides: [usize; AXES],
    desk: &'a mut Desk<'b>,
}

impl Task for Axes<'_, '_> {
    type Done = u8;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> u8 {
        let Axes { sides, desk: Desk { trial: Trial { other, .. }, codes, .. } } = self;
        let n: usize = sides.iter().product();
        let (codes, signed) = (&codes[..n], &mut other[MARGIN..MARGIN + n]);
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

/// What turns a number into an integer: the low bits of the sum are those of the nearest one, of two such the even one.
const ROUND: f64 = 1.5 * (1u64 << 52) as f64;

/// The bin of a multiple.
#[inline(always)]
fn bin(number: u32, base: i32, step: u32, inverse: f64) -> i32 {
    let number = (number as i32).wrapping_add(base);
    if step == 1 { number } else { (f64::from(number) * inverse + ROUND).to_bits() as i32 }
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
