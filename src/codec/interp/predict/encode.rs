//! Numbers to codes, by a rule or along axes, whichever costs less; `rules.rs` tells how.

use crate::codec::interp::choose::{Choice, Limited, NEVER, RULES, Trial};
use crate::codec::interp::entropy::own_table::Table;
use crate::codec::interp::entropy::sums::{Sums as GroupSums, sum_up};
use crate::codec::interp::entropy::symbol_costs::COST_OF;
use crate::codec::interp::format::*;
use crate::codec::interp::lattice::Multiple;
use crate::codec::interp::plan::Plan;
use crate::codec::interp::predict::interpolation;
use crate::codec::interp::predict::sample::{Numbers, SETS, Sums, best_set, origin};
use crate::codec::interp::predict::widths::{Widths, cost_of_bits};
use crate::codec::interp::quantize::multiples::{self as survey, BLOCK, Survey, ones};
use crate::codec::interp::rules::*;
use crate::primitives::lorenzo::{self, AXES};
use crate::simd::Level;
use crate::simd::word::Word;

use crate::codec::interp::encoder::{Coded, Encoder, Tile};

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
    /// What steps restore is asked for.
    pub is_restored: bool,
}

impl Case<'_> {
    /// What axes cost, and which.
    pub fn axes(&self, p: impl Level) -> (u8, u64) {
        let bins = self.bins();
        let of_bits = || best_set::<Widths, _>(p, self.lens, None, bins);
        let (set, cost) = if self.bits { of_bits() } else { best_set::<Sums, _>(p, self.lens, None, bins) };
        (set, with_states(cost, false))
    }

    /// What axes cost in truth; `codes` is room for it.
    fn truth(&self, p: impl Level, set: u8, codes: &mut [u32], sums: &mut GroupSums) -> u64 {
        let codes = &mut codes[..self.numbers.len()];
        let bins = self.bins();
        let first = bins.at(0);
        p.loops(|| {
            bins.copy_to(0, codes);
            codes.iter_mut().for_each(|code| *code = code.wrapping_sub(first));
            lorenzo::forward(set, self.lens, codes);
            codes.iter_mut().for_each(|code| *code = code.zigzag());
        });
        self.cost(p, codes, sums)
    }

    /// What codes cost.
    fn cost(&self, p: impl Level, codes: &[u32], sums: &mut GroupSums) -> u64 {
        if self.bits { p.loops(|| cost_of_bits(codes)) } else { cost_of_codes(p, codes, sums) }
    }

    fn bins(&self) -> BinsOf<'_> {
        let step = if self.steps { LATTICE_STEP as i32 } else { 1 };
        BinsOf { numbers: self.numbers, more: self.base.wrapping_add(step / 2), step }
    }
}

/// What codes cost; `sums` becomes what their groups add up to.
pub fn cost_of_codes(p: impl Level, codes: &[u32], sums: &mut GroupSums) -> u64 {
    sum_up(p, codes, 0, sums);
    cost_of_sums(&sums[..groups(codes.len())], codes.len())
}

/// The nearest bins of numbers: so much more, rounded down.
#[derive(Clone, Copy)]
struct BinsOf<'a> {
    numbers: &'a [u32],
    more: i32,
    step: i32,
}

impl Numbers for BinsOf<'_> {
    type N = u32;

    #[inline(always)]
    fn copy_to(&self, at: usize, to: &mut [u32]) {
        let numbers = &self.numbers[at..at + to.len()];
        // Numbers are far from the ends: an even multiple more has none below 0.
        let (more, less) = if self.step == 1 { (0, 0) } else { (LATTICE_STEP << 27, 1 << 27) };
        for i in 0..to.len() {
            let number = numbers[i].wrapping_add(self.more as u32).wrapping_add(more);
            to[i] = if self.step == 1 { number } else { (number / LATTICE_STEP).wrapping_sub(less) };
        }
    }
}

/// What numbers are, and how they are predicted.
#[derive(Clone, Copy)]
pub enum Way {
    Axes,
    /// Along axes, or by a rule for numbers that must not change.
    Exact,
    Interpolated(Interpolation),
}

impl<E: Multiple, N: Word> Encoder<E, N> {
    /// What a tile, or a part of it, costs by each rule; nothing if none is for it.
    pub fn attempt(&mut self, p: impl Level, plan: &Plan, tile: Tile) -> Option<Trial> {
        self.patches.clear();
        let n = tile.lens.iter().product();
        let part = part(plan.layout.chunks, tile.lens);
        let survey = self.survey(p, plan, tile);
        if !interpolation::can_interpolate(plan.grid.sides) || n < FEWEST {
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
                self.plain(p, plan, n);
            }
        };
        self.shorten(p, n).then_some(())?;
        let numbers = std::mem::take(&mut self.short);
        self.take_part(tile.lens, part, &numbers, None);
        self.short = numbers;
        Some(self.attempt_part(p, plan, part, None, 0))
    }

    /// Takes the part from the middle of a tile: its numbers, as codes those that count, and marks of those that are
    /// multiples; how many of these are no bins.
    fn take_part(&mut self, lens: [usize; AXES], part: [usize; AXES], numbers: &[u32], survey: Option<Survey>) -> u64 {
        let Encoder { multiples, part: of_part, coded, marks, .. } = self;
        let codes = &mut coded.codes;
        let bit = |mask: &survey::Mask, i: usize| mask[i / BLOCK] >> (i % BLOCK) & 1 == 1;
        let first: [usize; AXES] = std::array::from_fn(|a| (lens[a] - part[a]) / 2);
        let mut off_bins = 0;
        for (z, y) in (0..part[2]).flat_map(|z| (0..part[1]).map(move |y| (z, y))) {
            let (from, to) =
                (((z + first[2]) * lens[1] + y + first[1]) * lens[0] + first[0], (z * part[1] + y) * part[0]);
            let row = &numbers[from..from + part[0]];
            let (codes, marks) = (&mut codes[to..to + part[0]], &mut marks[to..to + part[0]]);
            of_part[to..to + part[0]].copy_from_slice(row);
            codes.copy_from_slice(row);
            marks.fill(false);
            let Some(survey) = survey else { continue };
            for i in 0..if survey.on > 0 { part[0] } else { 0 } {
                let multiple = (row[i] as i32).wrapping_add(survey.base);
                marks[i] = bit(&multiples.on, from + i);
                off_bins += u64::from(marks[i] && multiple % LATTICE_STEP as i32 != 0);
            }
            for i in 0..if survey.is_masked() { part[0] } else { 0 } {
                if bit(&multiples.absent, from + i) {
                    codes[i] = interpolation::ABSENT;
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
        let case = Case { lens, numbers: &of_part[..n], base, steps, bits, is_masked, is_restored: steps };
        let (set, sampled) = case.axes(p);
        let off_bins = CORRECTION_COST * off_bins;
        let axes = case.truth(p, set, &mut self.short, &mut self.coded.sums) + off_bins;
        let mut trial = Trial { steps, rules: [NEVER; RULES], axes, sampled: sampled + off_bins };
        let Encoder { levels, coded, marks, .. } = self;
        let Coded { codes, restored, sums, .. } = coded;
        p.run(interpolation::Load { lens, numbers: &codes[..n], is_masked, buffers: levels });
        for rough in [false, true] {
            let rule = Interpolation { rough, in_steps: steps, axes: 0 };
            if !p.run(interpolation::Encode { rule, buffers: levels, codes }) && steps {
                continue;
            }
            p.run(interpolation::Restored { buffers: levels, numbers: &mut restored[..n] });
            let corrections = (0..n).filter(|i| marks[*i] && case.numbers[*i] != restored[*i]).count();
            let cost = case.cost(p, &codes[..n], sums) + CORRECTION_COST * corrections as u64;
            let of_sets = costs_of_sets(p, lens, levels, &codes[..n], &mut restored[..n]);
            for (set, of_set) in of_sets.into_iter().enumerate() {
                if set as u8 & !plan.grid.axes() == 0 {
                    let changed = (cost + of_set).saturating_sub(of_sets[0]).max(cost / 4);
                    trial.rules[if rough { SETS + set } else { set }] = changed;
                }
            }
        }
        self.part = of_part;
        trial
    }

    /// Chooses for numbers that must not change, whose best axes these are and cost so much; their codes.
    pub fn exact(
        &mut self,
        p: impl Level,
        plan: &Plan,
        limited: Option<Limited>,
        lens: [usize; AXES],
        (set, cost): (u8, u64),
    ) -> Head {
        let (n, bits): (usize, bool) = (lens.iter().product(), plan.bins.is_none());
        self.cost = with_states(cost, false);
        if let Some(Limited { rule, limit }) =
            limited.filter(|_| n >= FEWEST && interpolation::can_interpolate(plan.grid.sides))
            && self.shorten(p, n)
        {
            let short = std::mem::take(&mut self.short);
            let numbers = &short[..n];
            let case = Case { lens, numbers, base: 0, steps: false, bits, is_masked: false, is_restored: false };
            self.load(p, &case);
            let of_rule = self.run(p, rule, &case).unwrap_or(NEVER);
            self.short = short;
            if is_taken(of_rule, self.cost, if bits { LIMIT_OF_BITS } else { limit }) {
                self.cost = of_rule;
                self.are_short = true;
                return Head::interpolated(rule);
            }
        }
        self.differ(p, set, lens, bits.then_some(N::ZERO.sub(self.base)));
        Head { axes: set, ..Head::default() }
    }

    /// The numbers' differences along axes as codes. Without any they are distances: of elements' bits `zero` is told.
    fn differ(&mut self, p: impl Level, set: u8, lens: [usize; AXES], zero: Option<N>) {
        let n: usize = lens.iter().product();
        self.are_short = false;
        let Encoder { numbers, all, middle, .. } = self;
        let (numbers, all) = (&numbers[..n], &mut all[..n]);
        if set == 0 {
            *middle = p.loops(|| match zero {
                Some(_) => origin::<Widths, N>(numbers, zero),
                None => origin::<Sums, N>(numbers, zero),
            });
        }
        let middle = *middle;
        p.loops(|| {
            all.iter_mut().zip(numbers).for_each(|(code, number)| *code = number.sub(middle));
            lorenzo::forward(set, lens, all);
            all.iter_mut().for_each(|d| *d = d.zigzag());
        });
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
            && cost > least_cost(n)
            && let Some(second) = choice.second
        {
            std::mem::swap(&mut self.coded, &mut self.aside);
            match self.run(p, second, case) {
                Some(other) if other < cost => (cost, taken) = (other, second),
                _ => std::mem::swap(&mut self.coded, &mut self.aside),
            }
        }
        if cost > FREE && !is_taken(cost, case.axes(p).1 + self.cost_of_bins(survey, case), limit) {
            return Way::Axes;
        }
        Way::Interpolated(taken)
    }

    /// The same of a tile with many elements that are multiples already.
    pub fn way_of_many(&mut self, p: impl Level, choice: &Choice, survey: Survey, case: &Case) -> Way {
        self.load(p, case);
        let rule = |rough, coarse| Some(Interpolation { rough, in_steps: coarse, axes: choice.set_of(rough) });
        let ways = [rule(false, true), rule(true, true), None, rule(false, false), rule(true, false)];
        let (mut best, mut least) = (None, u64::MAX);
        for way in ways {
            let cost = match way {
                Some(rule) => self.run(p, rule, case).unwrap_or(NEVER),
                None => case.axes(p).1 + self.cost_of_bins(survey, case),
            };
            if cost < least {
                (best, least) = (way, cost);
                std::mem::swap(&mut self.coded, &mut self.aside);
            }
            // Nothing costs less than codes that are all 0.
            if cost <= least_cost(case.numbers.len()) {
                break;
            }
        }
        std::mem::swap(&mut self.coded, &mut self.aside);
        best.map_or(Way::Axes, Way::Interpolated)
    }

    /// Takes the numbers of a case.
    pub fn load(&mut self, p: impl Level, case: &Case) {
        let n = case.numbers.len();
        let numbers = match case.is_masked {
            true => {
                self.part[..n].copy_from_slice(case.numbers);
                let (numbers, absent) = (&mut self.part[..n], &self.multiples.absent);
                p.loops(|| survey::leave_out(numbers, absent, interpolation::ABSENT));
                &self.part[..n]
            }
            false => case.numbers,
        };
        let (lens, is_masked, buffers) = (case.lens, case.is_masked, &mut self.levels);
        p.run(interpolation::Load { lens, numbers, is_masked, buffers });
    }

    /// Encodes by a rule; what it costs with corrections, `None` if it cannot be.
    pub fn run(&mut self, p: impl Level, rule: Interpolation, case: &Case) -> Option<u64> {
        let n = case.numbers.len();
        let Encoder { levels, coded, multiples, .. } = self;
        let Coded { codes, restored, sums, .. } = coded;
        if !p.run(interpolation::Encode { rule, buffers: levels, codes }) && rule.in_steps {
            return None;
        }
        let cost = case.cost(p, &codes[..n], sums);
        if !case.is_restored || !rule.in_steps {
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
    pub fn symbols_are_better(&mut self, p: impl Level, n: usize) -> bool {
        let Encoder { numbers, other, counts, .. } = self;
        let signed = || numbers[..n].iter().map(|v| v.extend() as i64);
        let (least, most) = p.loops(|| (signed().min().unwrap_or(0), signed().max().unwrap_or(0)));
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
        self.are_short = false;
        true
    }

    /// Whether 32 bits hold the numbers; they are there then.
    pub fn shorten(&mut self, p: impl Level, n: usize) -> bool {
        let Encoder { short, numbers, .. } = self;
        p.loops(|| {
            let mut beyond = 0;
            for (short, number) in short.iter_mut().zip(&numbers[..n]) {
                let number = number.extend();
                *short = number as u32;
                beyond |= number.wrapping_add(1 << 31) >> 32;
            }
            beyond == 0
        })
    }
}

/// What the classes cost whose codes may be differences along axes, by each set of these; `room` is as long as codes.
fn costs_of_sets<P: Level>(
    p: P,
    lens: [usize; AXES],
    buffers: &mut interpolation::Buffers,
    codes: &[u32],
    room: &mut [u32],
) -> [u64; SETS] {
    p.loops(|| {
        let mut costs = [0; SETS];
        for (begin, lens, axes) in buffers.differences(lens, P::N) {
            let count: usize = lens.iter().product();
            let (signed, row) = room.split_at_mut(count);
            for i in 0..count {
                signed[i] = codes[begin + i].unzigzag();
            }
            for set in (0..SETS).filter(|set| *set as u8 & !axes == 0) {
                let cost = cost_of_sum(sum_of_differences(signed, set as u8, lens, row), count as u64);
                costs[set] += cost;
                costs[set | (SETS - 1) & !usize::from(axes)] += cost;
            }
        }
        costs
    })
}

/// The magnitudes of differences of signed codes along axes within their class; `row` has room for a row.
#[inline(always)]
fn sum_of_differences(codes: &[u32], set: u8, [nx, ny, nz]: [usize; AXES], row: &mut [u32]) -> u64 {
    let (mut sum, row) = (0, &mut row[..nx]);
    for z in 0..nz {
        for y in 0..ny {
            let at = (z * ny + y) * nx;
            let (along_y, along_z) = (set & 2 != 0 && y > 0, set & 4 != 0 && z > 0);
            row.copy_from_slice(&codes[at..at + nx]);
            if along_y {
                take_row(row, &codes[at - nx..at]);
            }
            if along_z {
                take_row(row, &codes[at - nx * ny..at - nx * ny + nx]);
            }
            if along_y && along_z {
                let other = &codes[at - nx * ny - nx..at - nx * ny];
                for i in 0..nx {
                    row[i] = row[i].wrapping_add(other[i]);
                }
            }
            let along_x = set & 1 != 0;
            sum += u64::from((row[0] as i32).unsigned_abs());
            for i in 1..nx {
                let d = if along_x { row[i].wrapping_sub(row[i - 1]) } else { row[i] };
                sum += u64::from((d as i32).unsigned_abs());
            }
        }
    }
    sum
}

/// Takes a row from another.
#[inline(always)]
fn take_row(row: &mut [u32], other: &[u32]) {
    let other = &other[..row.len()];
    for i in 0..row.len() {
        row[i] = row[i].wrapping_sub(other[i]);
    }
}
