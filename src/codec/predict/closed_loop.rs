//! Tiles on the fine lattice: elements become multiples, and these are interpolated.

use super::encode::Bits;
use super::format::{GROUP, TILE_LOG2};
use super::interp::STEP;
use super::interp::{self, Rule};
use super::lattice::{Bins, Lattice, MOST_NUMBER, Multiple};
use super::own_table::{BIT, SYMBOLS, TOKEN_COSTS, class_of, log2};
use super::patches::Patches;
use super::plan::Plan;
use super::predict;
use super::simd::Task;
use super::simd::lanes::{LONGEST, Lanes};
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
    /// How many have none, and how many of these are on the border.
    wide: usize,
    border: usize,
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
        let mut survey = Survey { base, on: 0, wide: 0, border: 0, has_missing: !self.missing.is_empty(), near: true };
        let mut any = 0;
        let mut seen = Bits { any: E::Word::ZERO, largest: E::Word::ZERO };
        for (k, bytes) in self.data.chunks(BLOCK * size).enumerate() {
            let mut bits = [E::Word::ZERO; BLOCK];
            let there = bytes.len() / size;
            for (bits, bytes) in bits.iter_mut().zip(bytes.chunks_exact(size)) {
                *bits = E::Word::load(bytes);
            }
            if self.big_endian {
                bits.iter_mut().for_each(|bits| *bits = bits.swap());
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
            if block.on.iter().fold(0, |any, on| any | on) != 0 {
                on = bits_of(&block.on) & counted;
            }
            if block.wide.iter().fold(0, |any, wide| any | wide) != 0 {
                wide = bits_of(&block.wide) & counted;
                survey.border += (bits_of(&block.border) & counted).count_ones() as usize;
            }
            (self.buffers.on[k], self.buffers.wide[k]) = (on, wide);
            survey.on += on.count_ones() as usize;
            survey.wide += wide.count_ones() as usize;
            let is_whole = counted & !wide == u64::MAX;
            let far = |number: &u32| number ^ (*number as i32 >> 31) as u32;
            if is_whole {
                any |= numbers.iter().map(far).fold(0, |any, far| any | far);
            } else {
                let counts = |(i, _): &(usize, &u32)| (counted & !wide) >> i & 1 == 1;
                any |= numbers
                    .iter()
                    .enumerate()
                    .filter(counts)
                    .map(|(_, number)| far(number))
                    .fold(0, |any, far| any | far);
            }
        }
        survey.near = any < MOST_NUMBER;
        (survey, seen)
    }
}

/// The lowest bits of numbers, side by side.
#[inline(always)]
fn bits_of(ones: &[u32; BLOCK]) -> u64 {
    ones.iter().enumerate().fold(0, |bits, (i, one)| bits | u64::from(*one) << i)
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
pub struct Choose<'a> {
    pub lens: [usize; AXES],
    pub survey: Survey,
    pub buffers: &'a mut Buffers,
}

/// Chooses for a tile of numbers that must not change how it is predicted.
pub struct ChooseExact<'a> {
    pub lens: [usize; AXES],
    pub numbers: &'a [u32],
    pub buffers: &'a mut Buffers,
}

impl Task for ChooseExact<'_> {
    type Done = Way;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Way {
        let ChooseExact { lens, numbers, buffers } = self;
        if numbers.len() < FEWEST {
            return Way::Bins;
        }
        let sides = sample(lens);
        let Buffers { trial, levels, .. } = buffers;
        copy_sample(lens, sides, |from, to, count| {
            trial.numbers[to..to + count].copy_from_slice(&numbers[from..from + count]);
        });
        let mut case = Case { sides, is_masked: false, corrected: false, base: 0, step: 1, share: share(lens, sides), trial, levels };
        case.least(l, None).0
    }
}

impl Task for Choose<'_> {
    type Done = Way;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Way {
        let Choose { lens, survey, buffers } = self;
        let n: usize = lens.iter().product();
        if n < FEWEST || !survey.near || !survey.has_few_wide(n) {
            return Way::Bins;
        }
        let sides = sample(lens);
        let mut case = take_sample(lens, sides, survey, buffers);
        let (way, cost) = case.least(l, None);
        let samples: usize = sides.iter().product();
        if samples < n && cost < LOW_COST * samples as u64 {
            let rule = match way {
                Way::Interpolated(rule) => Some(rule),
                Way::Bins => None,
            };
            let mut case = take_sample(lens, lens, survey, buffers);
            return case.least(l, Some(rule.map_or(0, |rule| rule.set))).0;
        }
        way
    }
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
    #[inline(always)]
    fn least<L: Lanes>(&mut self, l: L, set: Option<u8>) -> (Way, u64) {
        let rule = Rule { rough: false, coarse: self.step > 1, set: 0 };
        let mut best = (Way::Bins, self.bins());
        let set = match set {
            Some(set) => set,
            None => {
                let plain = self.cost(l, rule);
                if plain < best.1 {
                    best = (Way::Interpolated(rule), plain);
                }
                self.axes(plain)
            }
        };
        for rough in [false, true] {
            let rule = Rule { rough, set, ..rule };
            let cost = self.cost(l, rule);
            if cost < best.1 {
                best = (Way::Interpolated(rule), cost);
            }
        }
        // An exact tile is one that was restored before, at least in part.
        if self.corrected {
            let rule = Rule { coarse: false, ..rule };
            let cost = self.cost(l, rule);
            if cost < best.1 {
                best = (Way::Interpolated(rule), cost);
            }
        }
        best
    }

    /// What bins cost, and corrections of what they do not restore.
    #[inline(always)]
    fn bins(&mut self) -> u64 {
        let n = self.sides.iter().product();
        let Trial { numbers, words, other, on, tokens: counts_of_tokens, .. } = &mut *self.trial;
        let (numbers, words, other) = (&numbers[..n], &mut words[..n], &mut other[..n]);
        let (base, step) = (self.base, self.step);
        let nearest = |number: i32| (f64::from(number) * (1.0 / f64::from(step))).round_ties_even() as i32;
        let bin = |number: &u32| {
            let number = (*number as i32).wrapping_add(base);
            if step == 1 { number } else { nearest(number) }
        };
        let first = bin(&numbers[0]);
        words.iter_mut().zip(numbers).for_each(|(w, number)| *w = bin(number).wrapping_sub(first) as u32);
        let allowed = (0..AXES).filter(|a| self.sides[*a] > 1).fold(0, |set, a| set | 1 << a);
        let set = predict::choose(predict::sets(allowed), self.sides, words, other);
        lorenzo::forward(set, self.sides, words);
        let zigzag = |words: &[u32], to: &mut [u32], middle: u32| {
            to.iter_mut().zip(words).for_each(|(to, w)| *to = w.wrapping_sub(middle).zigzag());
        };
        zigzag(words, other, 0);
        let mut cost = code_cost(other, self.share, counts_of_tokens);
        if set == 0 {
            let ends = words.iter().map(|w| *w as i32).fold((i32::MAX, i32::MIN), |(a, b), w| (a.min(w), b.max(w)));
            zigzag(words, other, ends.0.wrapping_add(ends.1.wrapping_sub(ends.0) / 2) as u32);
            cost = cost.min(code_cost(other, self.share, counts_of_tokens));
        }
        if self.corrected {
            let off = |number: &u32| (*number as i32).wrapping_add(base) % STEP as i32 != 0;
            cost +=
                CORRECTION_COST * numbers.iter().zip(on).filter(|(number, on)| **on == 1 && off(number)).count() as u64;
        }
        cost
    }

    /// What interpolation by a rule costs; its codes are there then.
    #[inline(always)]
    fn cost<L: Lanes>(&mut self, l: L, rule: Rule) -> u64 {
        let n = self.sides.iter().product();
        let Trial { numbers, counts, on, words, codes, tokens, .. } = &mut *self.trial;
        let mask = self.is_masked.then_some(&counts[..n]);
        if !interp::encode(l, rule, self.sides, &numbers[..n], mask, self.levels, codes) {
            return u64::MAX;
        }
        let mut cost = code_cost(&codes[..n], self.share, tokens);
        if self.corrected && rule.coarse {
            restored(self.levels, self.sides, words);
            let differ = words[..n].iter().zip(&numbers[..n]).zip(on);
            cost += CORRECTION_COST * differ.filter(|((a, b), on)| **on == 1 && a != b).count() as u64;
        }
        cost
    }

    /// The axes along which codes of classes with one new axis differ least, by the codes at hand.
    #[inline(always)]
    fn axes(&mut self, plain: u64) -> u8 {
        if plain == u64::MAX {
            return 0;
        }
        let n = self.sides.iter().product();
        let Trial { codes, words, other, .. } = &mut *self.trial;
        words[..n].iter_mut().zip(&codes[..n]).for_each(|(w, c)| *w = c.unzigzag());
        let mut costs = [0u64; 1 << AXES];
        for (new, at, lens) in interp::single_classes(self.sides) {
            let count: usize = lens.iter().product();
            let of_class = &words[at..at + count];
            for set in (0..1u8 << AXES).filter(|set| set & new == 0) {
                let trial = &mut other[..count];
                trial.copy_from_slice(of_class);
                lorenzo_of_codes(set, lens, trial);
                let cost = trial.chunks(GROUP).map(|codes| predict::sum_cost(codes)).sum::<u64>();
                // Sets that differ in the new axis alone mean the same to it.
                costs[usize::from(set)] += cost;
                costs[usize::from(set | new)] += cost;
            }
        }
        (0..costs.len()).min_by_key(|set| costs[*set]).unwrap_or(0) as u8
    }
}

/// Differences along axes, one after the other, from 0 on.
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

/// The numbers that were restored, row after row.
pub fn restored(levels: &interp::Buffers, lens: [usize; AXES], numbers: &mut [u32]) {
    for (r, row) in numbers.chunks_exact_mut(lens[0]).take(lens[1] * lens[2]).enumerate() {
        levels.row(r % lens[1], r / lens[1], row);
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
    counts.fill(0);
    let mut raw_bits = 0;
    let fixed: u64 = codes.chunks(GROUP).map(|codes| group_cost(codes, counts, &mut raw_bits)).sum();
    let total = codes.len() as u32;
    let (mut own, mut symbols) = (BIT * raw_bits, 0);
    for count in counts.iter().filter(|count| **count > 0) {
        own += u64::from(*count) * u64::from(log2(total) - log2(*count));
        symbols += 1;
    }
    fixed.min(own + own / 32 + symbols * TABLE_COST / share)
}

/// What a symbol of a tile's own table costs.
const TABLE_COST: u64 = 10 * BIT;

#[inline(always)]
fn group_cost(codes: &[u32], counts: &mut [u32; SYMBOLS], raw_bits: &mut u64) -> u64 {
    let any = codes.iter().fold(0, |any, c| any | c);
    if any == 0 {
        counts[0] += codes.len() as u32;
        return BIT / 4;
    }
    let costs: &[u16; TOKENS] = &TOKEN_COSTS[class_of(codes)];
    let mut cost = CLASS_COST;
    if any < super::format::DIRECT {
        for c in codes {
            counts[*c as usize] += 1;
            cost += u64::from(costs[*c as usize]);
        }
        return cost;
    }
    for c in codes {
        let (token, raw) = super::format::token((*c).into());
        counts[token as usize] += 1;
        *raw_bits += u64::from(raw);
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
pub struct Encode<'a> {
    pub lens: [usize; AXES],
    pub survey: Survey,
    pub rule: Rule,
    pub buffers: &'a mut Buffers,
    pub codes: &'a mut [u32],
}

impl Task for Encode<'_> {
    type Done = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> bool {
        let Encode { lens, survey, rule, buffers, codes } = self;
        let n: usize = lens.iter().product();
        let Buffers { numbers, counts, on, levels, trial, patches, .. } = buffers;
        let mask = (survey.has_missing || survey.wide > 0).then_some(&counts[..n]);
        if !interp::encode(l, rule, lens, &numbers[..n], mask, levels, codes) {
            return false;
        }
        if !rule.coarse || survey.on == 0 {
            return true;
        }
        let words = &mut trial.words;
        restored(levels, lens, words);
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
pub fn collides<E: Multiple>(plan: &Plan, lens: [usize; AXES], survey: Survey, buffers: &mut Buffers) -> bool {
    let Some(lattice) = plan.lattice() else { return false };
    let n: usize = lens.iter().product();
    let multiple = |bits: &u64| {
        let block = E::block(lattice, &[E::Word::from_u64(*bits)]);
        (block.on[0] == 1).then(|| block.numbers[0].wrapping_sub(survey.base) as u32)
    };
    plan.layout.shape.missing.bits().iter().filter_map(multiple).any(|number| {
        let Buffers { counts, levels, trial, .. } = &mut *buffers;
        restored(levels, lens, &mut trial.words);
        let is_masked = survey.has_missing || survey.wide > 0;
        let there = |i: usize| !is_masked || counts[i] != 0;
        trial.words[..n].iter().enumerate().any(|(i, word)| *word == number && there(i))
    })
}

/// Encodes numbers that must not change by a rule into codes; `false` where it cannot be.
pub struct EncodeExact<'a> {
    pub lens: [usize; AXES],
    pub numbers: &'a [u32],
    pub rule: Rule,
    pub buffers: &'a mut Buffers,
    pub codes: &'a mut [u32],
}

impl Task for EncodeExact<'_> {
    type Done = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> bool {
        let EncodeExact { lens, numbers, rule, buffers, codes } = self;
        interp::encode(l, rule, lens, numbers, None, &mut buffers.levels, codes)
    }
}
