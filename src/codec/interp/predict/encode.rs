//! Numbers to codes, by a rule or along axes, whichever costs less; `rules.rs` tells how.

use crate::codec::interp::choose::{Choice, Limited, NEVER, RULES, Trial};
use crate::codec::interp::entropy::own_table::Table;
use crate::codec::interp::entropy::symbol_costs::COST_OF;
use crate::codec::interp::format::*;
use crate::codec::interp::plan::Plan;
use crate::codec::interp::predict::interpolation;
use crate::codec::interp::predict::sample::{SETS, Sums, best_set, origin};
use crate::codec::interp::predict::widths::{Widths, cost_of_bits};
use crate::codec::interp::quantize::lattice::Multiple;
use crate::codec::interp::quantize::multiples::{self as survey, BLOCK, Survey, ones};
use crate::codec::interp::rules::*;
use crate::primitives::lorenzo::{self, AXES};
use crate::simd::Level;
use crate::simd::word::Word;

use crate::codec::interp::encoder::{Encoder, Tile};

/// Numbers of 32 bits that a rule is tried on.
pub struct Case<'a> {
    pub lens: [usize; AXES],
    pub numbers: &'a [u32],
    pub base: i32,
    /// Multiples in steps; some do not count.
    pub steps: bool,
    /// Elements' bits.
    pub bits: bool,
    pub is_masked: bool,
}

impl Case<'_> {
    /// What axes cost, and which.
    pub fn axes(&self) -> (u8, u64) {
        let number = |i| self.bin(i);
        let of_bits = || best_set::<Widths, _>(self.lens, None, number);
        let (set, cost) = if self.bits { of_bits() } else { best_set::<Sums, _>(self.lens, None, number) };
        (set, with_states(cost, false))
    }

    /// What axes cost in truth; `codes` is room for it.
    fn truth(&self, set: u8, codes: &mut [u32]) -> u64 {
        let codes = &mut codes[..self.numbers.len()];
        let first = self.bin(0);
        codes.iter_mut().enumerate().for_each(|(i, code)| *code = self.bin(i).wrapping_sub(first));
        lorenzo::forward(set, self.lens, codes);
        codes.iter_mut().for_each(|code| *code = code.zigzag());
        self.cost(codes)
    }

    /// What codes cost.
    fn cost(&self, codes: &[u32]) -> u64 {
        if self.bits { cost_of_bits(codes) } else { cost_of_codes(codes) }
    }

    /// The nearest bin of a number: half a step more, rounded down.
    fn bin(&self, i: usize) -> u32 {
        let step = if self.steps { LATTICE_STEP as i32 } else { 1 };
        (self.numbers[i] as i32).wrapping_add(self.base + step / 2).div_euclid(step) as u32
    }
}

/// What numbers are, and how they are predicted.
#[derive(Clone, Copy)]
pub enum Way {
    Axes,
    /// Along axes, or by a rule for numbers that must not change.
    Exact,
    Interpolated(Rule),
}

impl<E: Multiple, N: Word> Encoder<E, N> {
    /// What a tile, or a part of it, costs by each rule; nothing if none is for it.
    pub fn attempt(&mut self, p: impl Level, plan: &Plan, count: usize, tile: Tile) -> Option<Trial> {
        self.patches.clear();
        let n = tile.lens.iter().product();
        let part = part(count, tile.lens);
        let survey = self.survey(p, plan, tile);
        if !interpolation::is_for(plan.grid.sides) || n < FEWEST {
            return None;
        }
        if let Some((survey, true)) = survey {
            let numbers = std::mem::take(&mut self.multiples.numbers);
            let off_bins = self.take_part(tile.lens, part, &numbers, Some(survey));
            self.multiples.numbers = numbers;
            let trial = self.attempt_part(p, plan, part, Some(survey), off_bins);
            // Differences may be too large for steps.
            if trial.rules.iter().any(|cost| *cost < NEVER) {
                return Some(trial);
            }
        }
        match &plan.bins {
            Some(bins) => self.bins(p, plan, bins, tile).then_some(())?,
            None => {
                self.round(p, plan, tile);
                self.plain(plan, n);
            }
        };
        self.shorten(n).then_some(())?;
        let numbers = std::mem::take(&mut self.short);
        self.take_part(tile.lens, part, &numbers, None);
        self.short = numbers;
        Some(self.attempt_part(p, plan, part, None, 0))
    }

    /// Takes the part from the middle of a tile: its numbers, as codes those that count, and marks of those that are
    /// multiples; how many of these are no bins.
    fn take_part(&mut self, lens: [usize; AXES], part: [usize; AXES], numbers: &[u32], survey: Option<Survey>) -> u64 {
        let Encoder { multiples, part: of_part, codes, marks, .. } = self;
        let bit = |mask: &survey::Mask, i: usize| mask[i / BLOCK] >> (i % BLOCK) & 1 == 1;
        let first: [usize; AXES] = std::array::from_fn(|a| (lens[a] - part[a]) / 2);
        let (mut len, mut off_bins) = (0, 0);
        for z in 0..part[2] {
            for y in 0..part[1] {
                let row = ((z + first[2]) * lens[1] + y + first[1]) * lens[0] + first[0];
                for (i, number) in numbers.iter().enumerate().skip(row).take(part[0]) {
                    (of_part[len], codes[len], marks[len]) = (*number, *number, false);
                    if let Some(survey) = survey {
                        let multiple = (*number as i32).wrapping_add(survey.base);
                        marks[len] = bit(&multiples.on, i);
                        off_bins += u64::from(marks[len] && multiple % LATTICE_STEP as i32 != 0);
                        if survey.is_masked() && bit(&multiples.absent, i) {
                            codes[len] = interpolation::ABSENT;
                        }
                    }
                    len += 1;
                }
            }
        }
        off_bins
    }

    /// What the part that was taken costs by each rule.
    fn attempt_part(
        &mut self,
        p: impl Level,
        plan: &Plan,
        lens: [usize; AXES],
        survey: Option<Survey>,
        off_bins: u64,
    ) -> Trial {
        let (steps, n) = (survey.is_some(), lens.iter().product());
        let (base, is_masked) = survey.map_or((0, false), |survey| (survey.base, survey.is_masked()));
        let of_part = std::mem::take(&mut self.part);
        let bits = plan.bins.is_none();
        let case = Case { lens, numbers: &of_part[..n], base, steps, bits, is_masked };
        let (set, sampled) = case.axes();
        let off_bins = CORRECTION_COST * off_bins;
        let axes = case.truth(set, &mut self.short) + off_bins;
        let mut trial = Trial { steps, rules: [NEVER; RULES], axes, sampled: sampled + off_bins };
        let Encoder { levels, codes, restored, marks, .. } = self;
        p.run(interpolation::Load { lens, numbers: &codes[..n], is_masked, buffers: levels });
        for rough in [false, true] {
            let rule = Rule { rough, coarse: steps, set: 0 };
            if !p.run(interpolation::Encode { rule, buffers: levels, codes }) && steps {
                continue;
            }
            p.run(interpolation::Restored { buffers: levels, numbers: &mut restored[..n] });
            let corrections = (0..n).filter(|i| marks[*i] && case.numbers[*i] != restored[*i]).count();
            let cost = case.cost(&codes[..n]) + CORRECTION_COST * corrections as u64;
            let of_sets = costs_of_sets(lens, &codes[..n]);
            for (set, of_set) in of_sets.into_iter().enumerate() {
                if set as u8 & !plan.grid.set() == 0 {
                    let changed = (cost + of_set).saturating_sub(of_sets[0]).max(cost / 4);
                    trial.rules[if rough { SETS + set } else { set }] = changed;
                }
            }
        }
        self.part = of_part;
        trial
    }

    /// Chooses for numbers that must not change; their codes.
    pub fn exact(&mut self, p: impl Level, plan: &Plan, limited: Option<Limited>, lens: [usize; AXES]) -> Head {
        let n: usize = lens.iter().product();
        let (numbers, bits) = (&self.numbers[..n], plan.bins.is_none());
        let zero = bits.then_some(N::ZERO.sub(self.base));
        let (set, cost) = if bits {
            best_set::<Widths, _>(lens, zero, |i| numbers[i])
        } else {
            best_set::<Sums, _>(lens, zero, |i| numbers[i])
        };
        self.cost = with_states(cost, false);
        if let Some(Limited { rule, limit }) = limited.filter(|_| n >= FEWEST && interpolation::is_for(plan.grid.sides))
            && self.shorten(n)
        {
            let short = std::mem::take(&mut self.short);
            let case = Case { lens, numbers: &short[..n], base: 0, steps: false, bits, is_masked: false };
            self.load(p, &case);
            let of_rule = self.run(p, rule, &case).unwrap_or(NEVER);
            self.short = short;
            if is_taken(of_rule, self.cost, if bits { LIMIT_OF_BITS } else { limit }) {
                self.cost = of_rule;
                self.widen(n);
                return Head::interpolated(rule);
            }
        }
        self.differ(set, lens, zero);
        Head { set, ..Head::default() }
    }

    /// The numbers' differences along axes as codes. Without any they are distances: of elements' bits `zero` is told.
    pub fn differ(&mut self, set: u8, lens: [usize; AXES], zero: Option<N>) {
        let n: usize = lens.iter().product();
        let Encoder { numbers, all, middle, .. } = self;
        let (numbers, all) = (&numbers[..n], &mut all[..n]);
        all.copy_from_slice(numbers);
        if set == 0 {
            *middle =
                if zero.is_some() { origin::<Widths, N>(numbers, zero) } else { origin::<Sums, N>(numbers, zero) };
            all.iter_mut().for_each(|v| *v = v.sub(*middle));
        }
        lorenzo::forward(set, lens, all);
        all.iter_mut().for_each(|d| *d = d.zigzag());
    }

    /// Chooses for multiples how they are predicted; their codes are there then.
    pub fn way_of_multiples(&mut self, p: impl Level, choice: &Choice, survey: Survey, case: &Case) -> Way {
        let n = case.numbers.len();
        let many = survey.on > n / MANY_MULTIPLES;
        let Some(Limited { rule, limit }) = choice.steps.filter(|_| !many) else {
            return if many { self.way_of_many(p, choice, survey, case) } else { Way::Exact };
        };
        self.load(p, case);
        let Some(mut cost) = self.run(p, rule, case) else { return Way::Exact };
        let mut taken = rule;
        if cost < LITTLE * n as u64
            && let Some(second) = choice.second
        {
            match self.run(p, second, case) {
                Some(other) if other < cost => (cost, taken) = (other, second),
                _ => _ = self.run(p, rule, case),
            }
        }
        if cost > FREE && !is_taken(cost, case.axes().1 + self.cost_of_bins(survey, case), limit) {
            return Way::Axes;
        }
        Way::Interpolated(taken)
    }

    /// The same of a tile with many elements that are multiples already.
    pub fn way_of_many(&mut self, p: impl Level, choice: &Choice, survey: Survey, case: &Case) -> Way {
        self.load(p, case);
        let rule = |rough, coarse| Some(Rule { rough, coarse, set: choice.set_of(rough) });
        let ways = [rule(false, true), rule(true, true), None, rule(false, false), rule(true, false)];
        let costs = ways.map(|rule| match rule {
            Some(rule) => self.run(p, rule, case).unwrap_or(NEVER),
            None => case.axes().1 + self.cost_of_bins(survey, case),
        });
        let best = (0..ways.len()).min_by_key(|k| costs[*k]).and_then(|k| ways[k]);
        let Some(rule) = best else { return Way::Axes };
        self.run(p, rule, case);
        Way::Interpolated(rule)
    }

    /// Takes the numbers of a case.
    pub fn load(&mut self, p: impl Level, case: &Case) {
        let n = case.numbers.len();
        let numbers = match case.is_masked {
            true => {
                self.part[..n].copy_from_slice(case.numbers);
                let (numbers, absent) = (&mut self.part[..n], &self.multiples.absent);
                p.run(survey::LeaveOut { numbers, absent, by: interpolation::ABSENT });
                &self.part[..n]
            }
            false => case.numbers,
        };
        let (lens, is_masked, buffers) = (case.lens, case.is_masked, &mut self.levels);
        p.run(interpolation::Load { lens, numbers, is_masked, buffers });
    }

    /// Encodes by a rule; what it costs with corrections, `None` if it cannot be.
    pub fn run(&mut self, p: impl Level, rule: Rule, case: &Case) -> Option<u64> {
        let n = case.numbers.len();
        let Encoder { levels, codes, restored, multiples, .. } = self;
        if !p.run(interpolation::Encode { rule, buffers: levels, codes }) && rule.coarse {
            return None;
        }
        let cost = case.cost(&codes[..n]);
        if !case.steps || !rule.coarse {
            return Some(cost);
        }
        p.run(interpolation::Restored { buffers: levels, numbers: &mut restored[..n] });
        let differ = |i: &usize| case.numbers[*i] != restored[*i];
        let corrections = ones(&multiples.on[..n.div_ceil(BLOCK)]).filter(differ).count();
        Some(cost + CORRECTION_COST * corrections as u64)
    }

    /// What corrections of bins cost.
    pub fn cost_of_bins(&self, survey: Survey, case: &Case) -> u64 {
        let multiple = |i: usize| (case.numbers[i] as i32).wrapping_add(survey.base);
        let on = &self.multiples.on[..case.numbers.len().div_ceil(BLOCK)];
        CORRECTION_COST * ones(on).filter(|i| multiple(*i) % LATTICE_STEP as i32 != 0).count() as u64
    }

    /// Whether numbers as symbols, of which low bits stand apart, cost less than what was chosen; they are codes then.
    pub fn symbols_are_better(&mut self, n: usize) -> bool {
        let Encoder { numbers, other, counts, .. } = self;
        let signed = || numbers[..n].iter().map(|v| v.extend() as i64);
        let (least, most) = (signed().min().unwrap_or(0), signed().max().unwrap_or(0));
        let range = most.wrapping_sub(least) as u64;
        let low = (64 - range.leading_zeros()).saturating_sub(8);
        if low > N::BITS - LEAST_ABOVE_LOW {
            return false;
        }
        counts.fill(0);
        let least = N::from_u64(least as u64);
        for (to, number) in other[..n].iter_mut().zip(&numbers[..n]) {
            *to = number.sub(least);
            counts[(to.to_u64() >> low) as usize] += 1;
        }
        let mut table = Table::EMPTY;
        table.fit(counts);
        let of_symbols = counts
            .iter()
            .zip(table.frequencies())
            .map(|(count, f)| u64::from(*count) * u64::from(COST_OF[usize::from(*f)]));
        let cost = of_symbols.sum::<u64>() + BIT * (8 * table.bytes() as u64 + u64::from(low) * n as u64);
        if with_states(cost, false) >= self.cost {
            return false;
        }
        (self.low, self.middle) = (low, least);
        std::mem::swap(&mut self.all, &mut self.other);
        true
    }

    /// Whether 32 bits hold the numbers; they are there then.
    pub fn shorten(&mut self, n: usize) -> bool {
        let mut beyond = 0;
        for (short, number) in self.short.iter_mut().zip(&self.numbers[..n]) {
            let number = number.extend();
            *short = number as u32;
            beyond |= number.wrapping_add(1 << 31) >> 32;
        }
        beyond == 0
    }

    /// The codes of interpolation as all codes.
    pub fn widen(&mut self, n: usize) {
        self.all.iter_mut().zip(&self.codes[..n]).for_each(|(all, code)| *all = N::from_u64((*code).into()));
    }
}

/// What the classes cost whose codes may be differences along axes, by each set of these.
fn costs_of_sets(lens: [usize; AXES], codes: &[u32]) -> [u64; SETS] {
    let mut costs = [0; SETS];
    for lens in interpolation::with_differences(lens) {
        for (class, begin, lens) in interpolation::single_classes(lens) {
            let count: usize = lens.iter().product();
            let codes = &codes[begin..begin + count];
            for (set, cost) in costs.iter_mut().enumerate() {
                let sum = sum_of_differences(codes, set as u8 & !class, lens);
                *cost += cost_of_sum(sum, count as u64);
            }
        }
    }
    costs
}

/// The magnitudes of differences of codes along axes within their class.
fn sum_of_differences(codes: &[u32], set: u8, [nx, ny, nz]: [usize; AXES]) -> u64 {
    let signed = |i: usize| (codes[i] >> 1) as i32 ^ -((codes[i] & 1) as i32);
    let mut sum = 0;
    for z in 0..nz {
        for y in 0..ny {
            let within = set & (u8::from(y > 0) << 1 | u8::from(z > 0) << 2 | 1);
            for x in 0..nx {
                let within = if x == 0 { within & 6 } else { within };
                let at = (z * ny + y) * nx + x;
                let mut d = signed(at);
                for corner in (1..8u8).filter(|corner| corner & !within == 0) {
                    let is_in = |a: u8| usize::from(corner >> a & 1);
                    let before = signed(at - is_in(0) - is_in(1) * nx - is_in(2) * nx * ny);
                    d = if corner.count_ones() % 2 == 1 { d.wrapping_sub(before) } else { d.wrapping_add(before) };
                }
                sum += u64::from(d.unsigned_abs());
            }
        }
    }
    sum
}
