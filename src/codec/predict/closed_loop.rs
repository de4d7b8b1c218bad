//! Tiles on the fine lattice: elements become multiples, and these are interpolated.

// Iterators and closures may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::encode::Bits;
use super::format::{GROUP, TILE_LOG2};
use super::interp::STEP;
use super::interp::{self, Rule};
use super::lattice::{Bins, Lattice, MOST_NUMBER, Multiple, multiple_of};
use super::own_table::{BIT, SYMBOLS, TOKEN_COSTS, class_of, log2};
use super::patches::Patches;
use super::plan::Plan;
use super::predict;
use super::simd::lanes::{LONGEST, Lanes};
use super::simd::{Level, Task};
use super::tables::TOKENS;
use crate::error::Result;
use crate::host::memory::{Aligned, boxed, filled};
use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::word::Word;

/// Elements that are taken at once: a word of a mask has a bit for each.
const BLOCK: usize = 64;
/// Words of a mask of a tile.
const MASK_WORDS: usize = (1 << TILE_LOG2) / BLOCK;
/// Tiles of fewer elements are not interpolated.
const FEWEST: usize = 8;
/// Elements of a sample, at most.
const SAMPLE: usize = 1 << 12;
/// One element of so many may be an exception.
const EXCEPTIONS: usize = 64;
/// What a correction costs.
const CORRECTION_COST: u64 = 16 * BIT;
/// What telling the class of a group costs.
const CLASS_COST: u64 = BIT;
/// Samples that cost less than this for each of their elements say little of their tile.
const LOW_COST: u64 = BIT / 8;

/// A bit for each element of a tile.
type Mask = Box<[u64; MASK_WORDS]>;

/// What an encoder keeps for such tiles.
pub struct Buffers {
    /// Multiples less the base.
    numbers: Aligned<u32>,
    /// All bits of those that count.
    counts: Vec<u32>,
    /// Elements that are multiples.
    on: Mask,
    /// Elements that have none.
    wide: Mask,
    levels: interp::Buffers,
    /// The elements with others in the places of those that have no multiple.
    filled: Vec<u8>,
    trial: Trial,
    /// What the predictor does not restore.
    pub patches: Patches,
}

/// What a predictor is tried on, and with.
struct Trial {
    numbers: Vec<u32>,
    counts: Vec<u32>,
    on: Vec<u8>,
    words: Vec<u32>,
    other: Vec<u32>,
    codes: Vec<u32>,
    /// How often tokens occur.
    tokens: Box<[u32; SYMBOLS]>,
}

impl Buffers {
    /// Allocates them for the tiles of a plan.
    pub fn new(plan: &Plan) -> Result<Buffers> {
        let sides = plan.grid.sides;
        let n = if plan.lattice().is_some() || is_for(plan) { plan.grid.capacity() } else { 0 };
        let room = || filled(n + LONGEST, 0);
        Ok(Buffers {
            numbers: Aligned::filled(n + BLOCK, 0)?,
            counts: room()?,
            on: boxed(0)?,
            wide: boxed(0)?,
            levels: interp::Buffers::new(if is_for(plan) { sides } else { [0; AXES] }, true)?,
            filled: filled(n * plan.layout.dtype.size(), 0)?,
            trial: Trial {
                numbers: room()?,
                counts: room()?,
                on: filled(n, 0)?,
                words: room()?,
                other: room()?,
                codes: room()?,
                tokens: boxed(0)?,
            },
            patches: Patches::new()?,
        })
    }
}

/// Whether the tiles of a plan may be interpolated.
pub fn is_for(plan: &Plan) -> bool {
    interp::is_for(plan.grid.sides)
}

/// What the elements of a tile are as multiples.
#[derive(Clone, Copy, Debug)]
pub struct Survey {
    /// What is taken from them.
    pub base: i32,
    /// How many are multiples.
    on: usize,
    /// How many have none.
    wide: usize,
    /// Some are missing.
    has_missing: bool,
    /// Distances from the base are small enough.
    near: bool,
}

impl Survey {
    /// Whether those of `n` elements that have no multiple are so few that all are exceptions.
    fn has_few_wide(&self, n: usize) -> bool {
        self.wide <= n / EXCEPTIONS
    }
}

/// Makes multiples of elements.
pub struct Map<'a, E> {
    pub lattice: &'a Lattice,
    pub big_endian: bool,
    pub data: &'a [u8],
    /// A bit for each element that is missing, or nothing.
    pub missing: &'a [u64],
    pub buffers: &'a mut Buffers,
    pub element: std::marker::PhantomData<E>,
}

impl<E: Multiple> Map<'_, E> {
    fn bits(&self, i: usize) -> E::Word {
        let word = E::Word::load(&self.data[i * size_of::<E::Word>()..]);
        if self.big_endian { word.swap() } else { word }
    }

    /// The first multiple that counts.
    fn base(&self, n: usize) -> i32 {
        let there = |i: &usize| self.missing.get(i / BLOCK).is_none_or(|word| word >> (i % BLOCK) & 1 == 0);
        let multiples = (0..n).filter(there).map(|i| E::block(self.lattice, &[self.bits(i)]));
        multiples.into_iter().find(|block| block.wide[0] == 0).map_or(0, |block| block.numbers[0])
    }
}

impl<E: Multiple> Task for Map<'_, E> {
    type Done = (Survey, Bits<E::Word>);

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> (Survey, Bits<E::Word>) {
        let size = size_of::<E::Word>();
        let n = self.data.len() / size;
        let base = self.base(n);
        let mut survey = Survey { base, on: 0, wide: 0, has_missing: !self.missing.is_empty(), near: true };
        let mut any = 0;
        let mut seen = Bits { any: E::Word::ZERO, largest: E::Word::ZERO };
        for (k, bytes) in self.data.chunks(BLOCK * size).enumerate() {
            let mut bits = [E::Word::ZERO; BLOCK];
            let there = bytes.len() / size;
            if there == BLOCK {
                for i in 0..BLOCK {
                    bits[i] = E::Word::load(&bytes[i * size..(i + 1) * size]);
                }
            } else {
                for i in 0..there {
                    bits[i] = E::Word::load(&bytes[i * size..(i + 1) * size]);
                }
            }
            if self.big_endian {
                for bits in &mut bits {
                    *bits = bits.swap();
                }
            }
            for bits in &bits {
                seen.any = seen.any | *bits;
                seen.largest = seen.largest.max(*bits & !E::Word::SIGN);
            }
            let block = E::block(self.lattice, &bits);
            let numbers: &mut [u32; BLOCK] = self.buffers.numbers[k * BLOCK..].first_chunk_mut().expect("whole blocks");
            for i in 0..BLOCK {
                numbers[i] = block.numbers[i].wrapping_sub(base) as u32;
            }
            let counted = !self.missing.get(k).copied().unwrap_or(0) & u64::MAX >> (BLOCK - there);
            let (mut on, mut wide) = (0, 0);
            let (mut any_on, mut any_wide) = (0, 0);
            for i in 0..BLOCK {
                any_on |= block.on[i];
                any_wide |= block.wide[i];
            }
            if any_on != 0 {
                on = bits_of(&block.on) & counted;
            }
            if any_wide != 0 {
                wide = bits_of(&block.wide) & counted;
            }
            (self.buffers.on[k], self.buffers.wide[k]) = (on, wide);
            survey.on += on.count_ones() as usize;
            survey.wide += wide.count_ones() as usize;
            let counts = counted & !wide;
            if counts == u64::MAX {
                for number in numbers {
                    any |= *number ^ (*number as i32 >> 31) as u32;
                }
            } else {
                for (i, number) in numbers.iter().enumerate() {
                    any |= (*number ^ (*number as i32 >> 31) as u32) & 0u32.wrapping_sub((counts >> i & 1) as u32);
                }
            }
        }
        survey.near = any < MOST_NUMBER;
        (survey, seen)
    }
}

/// The lowest bits of numbers, side by side.
#[inline(always)]
fn bits_of(ones: &[u32; BLOCK]) -> u64 {
    let mut bits = 0;
    for i in 0..BLOCK {
        bits |= u64::from(ones[i]) << i;
    }
    bits
}

/// A way to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Bins, and differences along axes.
    Bins,
    /// Interpolation of multiples.
    Interpolated(Rule),
}

/// Chooses for a tile of multiples how it is predicted, by what a part of it costs.
pub fn choose(p: impl Level, lens: [usize; AXES], survey: Survey, buffers: &mut Buffers) -> Way {
    let n: usize = lens.iter().product();
    if n < FEWEST || !survey.near || !survey.has_few_wide(n) {
        return Way::Bins;
    }
    let sides = sample(lens);
    let (way, cost) = take_sample(lens, sides, survey, buffers).least(p, None);
    let samples: usize = sides.iter().product();
    if samples == n || cost >= LOW_COST * samples as u64 {
        return way;
    }
    let set = match way {
        Way::Interpolated(rule) => rule.set,
        Way::Bins => 0,
    };
    take_sample(lens, lens, survey, buffers).least(p, Some(set)).0
}

/// Chooses for a tile of numbers that must not change how it is predicted.
pub fn choose_exact(p: impl Level, lens: [usize; AXES], numbers: &[u32], buffers: &mut Buffers) -> Way {
    if numbers.len() < FEWEST {
        return Way::Bins;
    }
    let sides = sample(lens);
    let Buffers { trial, levels, .. } = buffers;
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
    levels: &'a mut interp::Buffers,
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
fn take_sample(lens: [usize; AXES], sides: [usize; AXES], survey: Survey, buffers: &mut Buffers) -> Case<'_> {
    let Buffers { numbers, on, counts, trial, levels, .. } = buffers;
    let is_masked = survey.has_missing || survey.wide > 0;
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
    Case { sides, is_masked, corrected, base: survey.base, step: STEP, share: share(lens, sides), trial, levels }
}

impl Case<'_> {
    /// The way that costs least; differences of codes are along `set`, where that is known.
    fn least(&mut self, p: impl Level, set: Option<u8>) -> (Way, u64) {
        let rule = Rule { rough: false, coarse: self.step > 1, set: 0 };
        let mut best = (Way::Bins, self.bins(p));
        let is_known = set.is_some();
        let set = match set {
            Some(set) => set,
            None => {
                let plain = self.cost(p, rule);
                if plain < best.1 {
                    best = (Way::Interpolated(rule), plain);
                }
                if plain == u64::MAX { 0 } else { p.run(Axes { sides: self.sides, trial: self.trial }) }
            }
        };
        let mut ways = [Some(Rule { set, ..rule }), Some(Rule { set, rough: true, ..rule }), None];
        if set == 0 && !is_known {
            // It has been tried.
            ways[0] = None;
        }
        // An exact tile is one that was restored before, at least in part.
        if self.corrected {
            ways[2] = Some(Rule { coarse: false, set, ..rule });
        }
        for rule in ways.into_iter().flatten() {
            let cost = self.cost(p, rule);
            if cost < best.1 {
                best = (Way::Interpolated(rule), cost);
            }
        }
        best
    }

    /// What bins cost, and corrections of what they do not restore.
    fn bins(&mut self, p: impl Level) -> u64 {
        let Case { sides, base, step, share, .. } = *self;
        let mut cost = p.run(CostOfBins { sides, base, step, share, trial: self.trial });
        if self.corrected {
            let off = |number: &u32| (*number as i32).wrapping_add(base) % STEP as i32 != 0;
            let Trial { numbers, on, .. } = &*self.trial;
            let numbers = numbers[..sides.iter().product()].iter().zip(on);
            cost += CORRECTION_COST * numbers.filter(|(number, on)| **on == 1 && off(number)).count() as u64;
        }
        cost
    }

    /// What interpolation by a rule costs; its codes are there then.
    fn cost(&mut self, p: impl Level, rule: Rule) -> u64 {
        let n = self.sides.iter().product();
        let Trial { numbers, counts, on, words, codes, .. } = &mut *self.trial;
        let mask = self.is_masked.then_some(&counts[..n]);
        let (lens, numbers) = (self.sides, &numbers[..n]);
        if !p.run(interp::Encode { rule, lens, numbers, mask, buffers: self.levels, codes }) {
            return u64::MAX;
        }
        let mut cost = p.run(CostOfCodes { codes: &codes[..n] });
        if self.corrected && rule.coarse {
            p.run(interp::Restored { buffers: self.levels, numbers: words });
            let differ = words[..n].iter().zip(numbers).zip(on);
            cost += CORRECTION_COST * differ.filter(|((a, b), on)| **on == 1 && a != b).count() as u64;
        }
        cost
    }
}

/// What codes cost.
struct CostOfCodes<'a> {
    codes: &'a [u32],
}

impl Task for CostOfCodes<'_> {
    type Done = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> u64 {
        fixed_cost(self.codes)
    }
}

/// What bins of a part of a tile cost.
struct CostOfBins<'a> {
    sides: [usize; AXES],
    base: i32,
    step: u32,
    share: u64,
    trial: &'a mut Trial,
}

impl Task for CostOfBins<'_> {
    type Done = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> u64 {
        let CostOfBins { sides, base, step, share, trial } = self;
        let n = sides.iter().product();
        let Trial { numbers, words, other, tokens, .. } = trial;
        let (numbers, words, other) = (&numbers[..n], &mut words[..n], &mut other[..n]);
        let inverse = 1.0 / f64::from(step);
        let first = bin(numbers[0], base, step, inverse);
        for i in 0..n {
            words[i] = bin(numbers[i], base, step, inverse).wrapping_sub(first) as u32;
        }
        let allowed = (0..AXES).filter(|a| sides[*a] > 1).fold(0, |set, a| set | 1 << a);
        let set = predict::choose(predict::sets(allowed), sides, words, other);
        lorenzo::forward(set, sides, words);
        zigzag_from(words, other, 0);
        let cost = code_cost(other, share, tokens);
        if set != 0 {
            return cost;
        }
        let mut ends = (i32::MAX, i32::MIN);
        for w in &*words {
            ends = (ends.0.min(*w as i32), ends.1.max(*w as i32));
        }
        zigzag_from(words, other, ends.0.wrapping_add(ends.1.wrapping_sub(ends.0) / 2) as u32);
        cost.min(code_cost(other, share, tokens))
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
    fn run<L: Lanes>(self, _: L) -> u8 {
        let Axes { sides, trial: Trial { codes, words, other, .. } } = self;
        let n = sides.iter().product();
        for (w, c) in words[..n].iter_mut().zip(&codes[..n]) {
            *w = c.unzigzag();
        }
        let mut costs = [0u64; 1 << AXES];
        for (new, at, lens) in interp::single_classes(sides) {
            let count: usize = lens.iter().product();
            for set in 0..1u8 << AXES {
                if set & new != 0 {
                    continue;
                }
                let trial = &mut other[..count];
                trial.copy_from_slice(&words[at..at + count]);
                lorenzo_of_codes(set, lens, trial);
                let mut cost = 0;
                for codes in trial.chunks(GROUP) {
                    let mut sum = 0u64;
                    for code in codes {
                        sum += u64::from(code.magnitude());
                    }
                    cost += predict::logarithm(sum);
                }
                // Sets that differ in the new axis alone mean the same to it.
                costs[usize::from(set)] += cost;
                costs[usize::from(set | new)] += cost;
            }
        }
        (0..costs.len()).min_by_key(|set| costs[*set]).unwrap_or(0) as u8
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

/// Differences along axes, one after the other, from 0 on.
#[inline(always)]
fn lorenzo_of_codes(set: u8, lens: [usize; AXES], codes: &mut [u32]) {
    let strides = [1, lens[0], lens[0] * lens[1]];
    for axis in (0..AXES).filter(|a| set >> a & 1 == 1) {
        for block in codes.chunks_exact_mut(strides[axis] * lens[axis]) {
            for i in (strides[axis]..block.len()).rev() {
                block[i] = block[i].wrapping_sub(block[i - strides[axis]]);
            }
        }
    }
}

/// As many elements of a tile as one of a part of it stands for.
fn share(lens: [usize; AXES], sides: [usize; AXES]) -> u64 {
    let [all, part]: [usize; 2] = [lens, sides].map(|lens| lens.iter().product());
    (all / part) as u64
}

/// What codes cost, of which each stands for so many: in the tables that are always there, or in one of their own.
#[inline(always)]
fn code_cost(codes: &[u32], share: u64, counts: &mut [u32; SYMBOLS]) -> u64 {
    let fixed = fixed_cost(codes);
    if fixed < LOW_COST * codes.len() as u64 {
        return fixed;
    }
    counts.fill(0);
    let mut raw_bits = 0;
    for c in codes {
        let (token, raw) = super::format::token((*c).into());
        counts[token as usize] += 1;
        raw_bits += u64::from(raw);
    }
    let total = codes.len() as u32;
    let (mut own, mut symbols) = (BIT * raw_bits, 0);
    for count in counts.iter() {
        if *count == 0 {
            continue;
        }
        own += u64::from(*count) * u64::from(log2(total) - log2(*count));
        symbols += 1;
    }
    fixed.min(own + own / 32 + symbols * TABLE_COST / share)
}

/// What a symbol of a tile's own table costs.
const TABLE_COST: u64 = 10 * BIT;

/// What codes cost in the tables that are always there.
#[inline(always)]
fn fixed_cost(codes: &[u32]) -> u64 {
    let mut cost = 0;
    for codes in codes.chunks(GROUP) {
        cost += group_cost(codes);
    }
    cost
}

#[inline(always)]
fn group_cost(codes: &[u32]) -> u64 {
    let mut any = 0;
    for c in codes {
        any |= *c;
    }
    if any == 0 {
        return BIT / 4;
    }
    let costs: &[u16; TOKENS] = &TOKEN_COSTS[class_of(codes)];
    if any < super::format::DIRECT {
        let mut cost = 0;
        for c in codes {
            cost += u32::from(costs[*c as usize]);
        }
        return CLASS_COST + u64::from(cost);
    }
    let mut cost = CLASS_COST;
    for c in codes {
        let (token, raw) = super::format::token((*c).into());
        cost += u64::from(costs[token as usize]) + BIT * u64::from(raw);
    }
    cost
}

/// Marks which elements count, where some do not.
pub fn mark(n: usize, survey: Survey, missing: &[u64], buffers: &mut Buffers) {
    if !survey.has_missing && survey.wide == 0 {
        return;
    }
    for (k, counts) in buffers.counts[..n].chunks_mut(BLOCK).enumerate() {
        let not = missing.get(k).copied().unwrap_or(0) | buffers.wide[k];
        counts.iter_mut().enumerate().for_each(|(i, counts)| *counts = ((not >> i & 1) as u32).wrapping_sub(1));
    }
}

/// Encodes a tile by a rule into codes; `false` where it cannot be.
pub fn encode(
    p: impl Level,
    lens: [usize; AXES],
    survey: Survey,
    rule: Rule,
    buffers: &mut Buffers,
    codes: &mut [u32],
) -> bool {
    let n: usize = lens.iter().product();
    let Buffers { numbers, counts, on, levels, trial, patches, .. } = buffers;
    let mask = (survey.has_missing || survey.wide > 0).then_some(&counts[..n]);
    if !p.run(interp::Encode { rule, lens, numbers: &numbers[..n], mask, buffers: levels, codes }) {
        return false;
    }
    if !rule.coarse || survey.on == 0 {
        return true;
    }
    let words = &mut trial.words;
    p.run(interp::Restored { buffers: levels, numbers: words });
    for (k, on) in on.iter().enumerate().take(n.div_ceil(BLOCK)).filter(|(_, on)| **on != 0) {
        let mut left = *on;
        while left != 0 {
            let i = k * BLOCK + left.trailing_zeros() as usize;
            left &= left - 1;
            let by = numbers[i].wrapping_sub(words[i]) as i32;
            if by != 0 && !patches.correct(i, by) {
                return false;
            }
        }
    }
    true
}

/// Encodes numbers that must not change by a rule into codes; `false` where it cannot be.
pub fn encode_exact(
    p: impl Level,
    lens: [usize; AXES],
    numbers: &[u32],
    rule: Rule,
    buffers: &mut Buffers,
    codes: &mut [u32],
) -> bool {
    p.run(interp::Encode { rule, lens, numbers, mask: None, buffers: &mut buffers.levels, codes })
}

/// Lists the exceptions of a tile: those that have no multiple, where they are few, otherwise those on the border; of
/// these alone `wide` tells then. `false` if they are too many.
pub fn except<E: Multiple>(
    lattice: &Lattice,
    big_endian: bool,
    data: &[u8],
    survey: Survey,
    buffers: &mut Buffers,
) -> bool {
    if survey.wide == 0 {
        return true;
    }
    let size = size_of::<E::Word>();
    let n = data.len() / size;
    let Buffers { wide, patches, .. } = buffers;
    for (k, wide) in wide.iter_mut().enumerate().take(n.div_ceil(BLOCK)).filter(|(_, wide)| **wide != 0) {
        let mut left = *wide;
        while left != 0 {
            let i = k * BLOCK + left.trailing_zeros() as usize;
            left &= left - 1;
            let word = E::Word::load(&data[i * size..]);
            let bits = if big_endian { word.swap() } else { word };
            if !survey.has_few_wide(n) && E::block(lattice, &[bits]).border[0] == 0 {
                *wide &= !(1 << (i % BLOCK));
            } else if !patches.except(i, bits.to_u64()) {
                return false;
            }
        }
    }
    true
}

/// Lists the multiples that bins do not restore; `false` if they are too many.
pub fn correct_bins<E: Multiple>(
    bins: &Bins,
    big_endian: bool,
    data: &[u8],
    survey: Survey,
    buffers: &mut Buffers,
) -> bool {
    if survey.on == 0 {
        return true;
    }
    let size = size_of::<E::Word>();
    let n = data.len() / size;
    for (k, on) in buffers.on.iter().enumerate().take(n.div_ceil(BLOCK)).filter(|(_, on)| **on != 0) {
        let mut left = *on;
        while left != 0 {
            let i = k * BLOCK + left.trailing_zeros() as usize;
            left &= left - 1;
            let number = (buffers.numbers[i] as i32).wrapping_add(survey.base);
            if number % STEP as i32 == 0 {
                continue;
            }
            let word = E::Word::load(&data[i * size..]);
            let mut bin = [if big_endian { word.swap() } else { word }];
            bins.encode::<E, 1>(&mut bin);
            let by = number.wrapping_sub((bin[0].extend() as i32).wrapping_mul(STEP as i32));
            if !buffers.patches.correct(i, by) {
                return false;
            }
        }
    }
    true
}

/// The elements with others in the places of those that have no multiple, which are few.
pub fn fill<E: Multiple>(data: &[u8], buffers: &mut Buffers) -> Vec<u8> {
    let size = size_of::<E::Word>();
    let mut filled = std::mem::take(&mut buffers.filled);
    let wide = &buffers.wide;
    filled[..data.len()].copy_from_slice(data);
    let is_wide = |i: usize| wide[i / BLOCK] >> (i % BLOCK) & 1 == 1;
    let n = data.len() / size;
    let mut last = (0..n).find(|i| !is_wide(*i)).unwrap_or(0);
    for i in 0..n {
        if is_wide(i) {
            filled.copy_within(last * size..(last + 1) * size, i * size);
        } else {
            last = i;
        }
    }
    filled
}

impl Buffers {
    /// Takes back what [`fill`] gave.
    pub fn keep(&mut self, filled: Vec<u8>) {
        self.filled = filled;
    }
}

/// Whether an element that is there would come back as a missing value.
pub fn collides<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    lens: [usize; AXES],
    survey: Survey,
    buffers: &mut Buffers,
) -> bool {
    let Some(lattice) = plan.lattice() else { return false };
    let n: usize = lens.iter().product();
    let multiple = |bits: &u64| {
        let number = multiple_of::<E>(lattice, E::Word::from_u64(*bits))?;
        Some(number.wrapping_sub(survey.base) as u32)
    };
    plan.layout.shape.missing.bits().iter().filter_map(multiple).any(|number| {
        let Buffers { counts, levels, trial, .. } = &mut *buffers;
        p.run(interp::Restored { buffers: levels, numbers: &mut trial.words });
        let is_masked = survey.has_missing || survey.wide > 0;
        let there = |i: usize| !is_masked || counts[i] != 0;
        trial.words[..n].iter().enumerate().any(|(i, word)| *word == number && there(i))
    })
}
