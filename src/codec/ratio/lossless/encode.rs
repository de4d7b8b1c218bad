//! The form that a tile takes, by what codes are going to cost.

use super::super::format::{GROUP, GROUPS, Grid, QUAD};
use super::super::own_table::{self as table, BIT, Costs, Counts, OWN, SYMBOLS, Table};
use super::super::plan::Plan;
use super::super::predict;
use super::super::tables::{TABLES, TOKENS};
use super::low::Low;
use super::{Form, Order, Prediction, decimals, lags, ranks};
use crate::error::Result;
use crate::host::memory::{boxed, filled, reserve};
use crate::primitives::lorenzo::AXES;
use crate::primitives::quantize::Element;
use crate::primitives::rans::{LANES, Symbol};
use crate::primitives::word::Word;

/// Fewer low bits than these are left to the coder.
const FEWEST_LOW: u32 = 4;
/// One code of so many may be so short that low bits lose something of it.
const SHORT: usize = 64;
/// One word of so many is zero where words are tried as they are.
const ZEROS: usize = 16;
/// Low bits beside the coder may cost one part in so many, for they are faster.
const FASTER: u64 = 256;

/// Buffers that an encoder reuses from tile to tile.
pub struct Buffers<W> {
    /// The words of one order, less the first.
    words: Vec<W>,
    trial: Vec<W>,
    differences: Vec<W>,
    codes: Vec<W>,
    /// The codes of the choice.
    best: Vec<W>,
    tokens: Vec<u8>,
    /// What stands between base and states.
    side: Vec<u8>,
    odd: decimals::Odd<W>,
    list: Vec<W>,
    lags: Box<lags::Lags>,
    seen: lags::Seen,
    tables: Tables,
}

/// What tables are found in: none of it on the stack.
struct Tables {
    /// That of the choice.
    best: Box<[Table; 1]>,
    /// That of the codes at hand, one that may be better, and one of no further use.
    own: Box<[Table; 1]>,
    other: Box<[Table; 1]>,
    trial: Box<[Table; 1]>,
    costs: Box<Costs>,
    counts: Box<Counts>,
    more_counts: Box<Counts>,
    best_counts: Box<Counts>,
    /// What groups cost by the tables that are always there.
    fixed: Box<[u64; GROUPS]>,
    symbols: Box<[Symbol; SYMBOLS]>,
}

impl Tables {
    fn new() -> Result<Tables> {
        let table = || boxed(Table::EMPTY);
        Ok(Tables {
            best: table()?,
            own: table()?,
            other: table()?,
            trial: table()?,
            costs: boxed(0)?,
            counts: boxed(0)?,
            more_counts: boxed(0)?,
            best_counts: boxed(0)?,
            fixed: boxed(0)?,
            symbols: boxed(Symbol::new(0, 0))?,
        })
    }

    /// Finds the table for those groups of tokens that cost more by a fixed one, and what all cost then. It has all
    /// tokens. `ALWAYS`: for all groups.
    fn fit<const ALWAYS: bool>(&mut self, tokens: &[u8]) -> u64 {
        let Tables { other: table, costs, counts: all, more_counts: counts, fixed, .. } = self;
        let (table, least) = (&mut table[0], |fixed: &u64| if ALWAYS { u64::MAX } else { *fixed });
        let count = |tokens: &[u8], counts: &mut Counts| tokens.iter().for_each(|t| counts[usize::from(*t)] += 1);
        all.fill(0);
        count(tokens, all);
        debug_assert!(all[TOKENS..].iter().all(|count| *count == 0));
        table.fit(all);
        table.costs(costs);
        counts.iter_mut().zip(all.iter()).for_each(|(some, all)| *some = u32::from(*all > 0));
        for (tokens, fixed) in tokens.chunks(GROUP).zip(fixed.iter()) {
            if table::cost(&costs[..], tokens) < least(fixed) {
                count(tokens, counts);
            }
        }
        table.fit(counts);
        table.costs(costs);
        let groups = tokens.chunks(GROUP).zip(fixed.iter());
        let cost: u64 = groups.map(|(tokens, fixed)| table::cost(&costs[..], tokens).min(least(fixed))).sum();
        cost + 8 * BIT * table.bytes() as u64
    }
}

impl<W: Word> Buffers<W> {
    /// Allocates them for the tiles of a grid, or none where no tile has a form.
    pub fn new(grid: &Grid, forms: bool) -> Result<Buffers<W>> {
        let n = if forms { grid.capacity() } else { 0 };
        let words = || filled(n, W::ZERO);
        let mut odd = decimals::Odd::new();
        reserve(&mut odd, decimals::most_odd(n))?;
        let mut list = Vec::new();
        reserve(&mut list, ranks::MOST)?;
        let mut side = Vec::new();
        // More than any form takes, so that it never grows.
        reserve(&mut side, n * (size_of::<W>() + 2) + 4096)?;
        Ok(Buffers {
            words: words()?,
            trial: words()?,
            differences: words()?,
            codes: words()?,
            best: words()?,
            tokens: filled(n, 0)?,
            side,
            odd,
            list,
            lags: boxed(0)?,
            seen: lags::Seen::new()?,
            tables: Tables::new()?,
        })
    }
}

/// How a tile is to be coded.
#[derive(Clone, Copy, Debug)]
pub struct Choice<W> {
    /// Its form.
    pub form: Form,
    /// The axes of its differences.
    pub set: u8,
    /// What is taken from its words.
    pub base: W,
    /// It brings a table.
    pub own_table: bool,
    low: Low,
    digits: u8,
    /// Parts of a bit that it costs.
    pub cost: u64,
}

/// A tile's own table, for encoding.
#[derive(Clone, Copy)]
pub struct Own<'a> {
    /// The symbols.
    pub symbols: &'a [Symbol; SYMBOLS],
    /// Which groups it is for.
    pub of: Of<'a>,
}

/// Which groups a table is for.
#[derive(Clone, Copy)]
pub enum Of<'a> {
    /// Those whose tokens are cheaper, by what symbols cost.
    Cheaper(&'a Costs),
    /// All; codes are symbols.
    All,
    /// Those of some classes: the class that groups of each get.
    Classes(&'a [u8; TABLES]),
}

impl Own<'_> {
    /// The class of a group that has this one without the table, of the values that are there.
    #[inline(always)]
    pub fn class(&self, class: usize, tokens: &[[u8; QUAD]; LANES], has: impl Fn(usize, usize) -> bool) -> usize {
        let costs = match self.of {
            Of::All => return OWN,
            Of::Classes(classes) => return classes[class].into(),
            Of::Cheaper(costs) => costs,
        };
        let (fixed, mut own, mut other) = (&table::TOKEN_COSTS[class], 0, 0);
        for (lane, tokens) in tokens.iter().enumerate() {
            for (_, token) in tokens.iter().enumerate().filter(|(j, _)| has(lane, *j)) {
                own += u32::from(costs[usize::from(*token)]);
                other += u32::from(fixed[usize::from(*token).min(TOKENS - 1)]);
            }
        }
        if class == OWN || own < other { OWN } else { class }
    }
}

impl<W: Word> Choice<W> {
    /// Writes what stands between base and states; the codes become what the coder gets of them.
    pub fn write_side(&self, n: usize, buffers: &mut Buffers<W>) {
        let Buffers { side, odd, list, lags, best, tables, .. } = buffers;
        side.clear();
        if self.form.order == Order::Ranks {
            ranks::write(list, side);
        }
        if self.form.order == Order::Decimals {
            decimals::write(self.digits, odd, side);
        }
        if self.form.prediction == Prediction::Lags {
            lags::write(n, lags, side);
        }
        if self.own_table {
            tables.best[0].write(side);
        }
        if self.form.low {
            self.low.write(&mut best[..n], side);
        }
    }
}

/// Chooses for the tile with these elements and lengths; its codes are left in the buffers.
pub fn choose<E: Element>(
    plan: &Plan,
    lens: [usize; AXES],
    elements: &[E::Word],
    buffers: &mut Buffers<E::Word>,
) -> Choice<E::Word> {
    let n = elements.len();
    let any = elements.iter().fold(E::Word::ZERO, |any, w| any | *w);
    let shift = if any == E::Word::ZERO { 0 } else { any.trailing_zeros() };
    let ordered = |w: &E::Word| super::super::encode::ordered::<E>(*w).sar(shift);
    let words = buffers.words[..n].iter_mut().zip(elements);
    words.for_each(|(word, bits)| *word = ordered(bits));
    let mut best = buffers.differences(plan.grid.set(), lens, Form::plain(shift), n);
    buffers.keep(n);
    if let Some(choice) = buffers.lags(&best, n).filter(|choice| choice.cost < best.cost) {
        best = choice;
        buffers.keep(n);
    }
    let base = best.base;
    if let Some(choice) = buffers.numbers(Form::plain(shift), base, n).filter(|choice| choice.cost < best.cost) {
        best = choice;
        buffers.keep(n);
    }
    let symbols = buffers.symbols(Form::plain(shift), base, n, true);
    if symbols.cost < best.cost {
        best = symbols;
        buffers.keep(n);
    }
    if E::EXPONENT_BITS > 0 {
        let shift = if any == E::Word::ZERO { 0 } else { any.rotl(1).trailing_zeros() };
        let words = buffers.words[..n].iter_mut().zip(elements);
        words.for_each(|(word, bits)| *word = bits.rotl(1) >> shift);
        let form = Form { order: Order::Magnitudes, ..Form::plain(shift) };
        let symbols = buffers.symbols(form, E::Word::ZERO, n, false);
        if symbols.cost < best.cost {
            best = symbols;
            buffers.keep(n);
        }
    }
    if E::Word::BITS > 8 && ranks::list(elements, &mut buffers.list) {
        ranks::words(elements, &buffers.list, &mut buffers.words[..n]);
        let form = Form { order: Order::Ranks, ..Form::plain(0) };
        let mut symbols = buffers.symbols(form, E::Word::ZERO, n, false);
        symbols.cost += BIT * ranks::cost(&buffers.list);
        if symbols.cost < best.cost {
            best = symbols;
            buffers.keep(n);
        }
    }
    if let Some(digits) = decimals::digits::<E>(elements)
        && decimals::integers::<E>(elements, digits, &mut buffers.words[..n], &mut buffers.odd)
    {
        let form = Form { order: Order::Decimals, ..Form::plain(0) };
        let mut choice = buffers.differences(plan.grid.set(), lens, form, n);
        choice.digits = digits;
        choice.cost += BIT * decimals::cost(&buffers.odd);
        if choice.cost < best.cost {
            best = choice;
            buffers.keep(n);
        }
    }
    best
}

impl<W: Word> Buffers<W> {
    /// The codes at hand are the best, and their table.
    fn keep(&mut self, n: usize) {
        self.best[..n].copy_from_slice(&self.codes[..n]);
        std::mem::swap(&mut self.tables.best, &mut self.tables.own);
    }

    /// What `Choice::write_side` left of the choice: the table, where it has one, `n` codes, and what stands before them.
    pub fn written(&mut self, choice: &Choice<W>, n: usize) -> (Option<Own<'_>>, &[W], &[u8]) {
        let Tables { best, costs, symbols, .. } = &mut self.tables;
        let own = choice.own_table.then(|| {
            best[0].costs(costs);
            best[0].symbols(symbols);
            let is_direct = choice.form.prediction == Prediction::Symbols;
            Own { symbols, of: if is_direct { Of::All } else { Of::Cheaper(costs) } }
        });
        (own, &self.best[..n], &self.side)
    }

    /// Words by their differences along axes.
    fn differences(&mut self, allowed: u8, lens: [usize; AXES], form: Form, n: usize) -> Choice<W> {
        let words = &mut self.words[..n];
        let base = words[0];
        words.iter_mut().for_each(|w| *w = w.sub(base));
        let (trial, differences) = (&mut self.trial[..n], &mut self.differences[..n]);
        let set = predict::choose(allowed, lens, words, trial, differences, predict::full_cost);
        self.codes[..n].iter_mut().zip(differences).for_each(|(c, d)| *c = d.zigzag());
        self.tokens(Choice { form, set, base, own_table: false, low: Low::default(), digits: 0, cost: 0 }, n)
    }

    /// The same words by their distances from earlier ones.
    fn lags(&mut self, choice: &Choice<W>, n: usize) -> Option<Choice<W>> {
        let words = &self.words[..n];
        if !lags::choose(words, &mut self.seen, &mut self.lags) {
            return None;
        }
        lags::forward(words, &self.lags, &mut self.codes[..n]);
        self.codes[..n].iter_mut().for_each(|c| *c = c.zigzag());
        let form = Form { prediction: Prediction::Lags, ..Form::plain(choice.form.shift) };
        let mut choice = self.tokens(Choice { form, set: 0, ..*choice }, n);
        choice.cost += BIT * lags::cost(n, &self.lags);
        Some(choice)
    }

    /// The words as they are, to which `taken` belongs, where many are zero: these have the shortest code then.
    fn numbers(&mut self, form: Form, taken: W, n: usize) -> Option<Choice<W>> {
        let words = self.words[..n].iter().map(|w| w.add(taken));
        if ZEROS * words.clone().filter(|w| *w == W::ZERO).count() < n {
            return None;
        }
        self.codes[..n].iter_mut().zip(words).for_each(|(c, w)| *c = w.zigzag());
        let low = Low::default();
        Some(self.tokens(Choice { form, set: 0, base: W::ZERO, own_table: false, low, digits: 0, cost: 0 }, n))
    }

    /// What the codes cost as tokens, with and without a table of their own.
    fn tokens(&mut self, choice: Choice<W>, n: usize) -> Choice<W> {
        let (codes, tokens) = (&self.codes[..n], &mut self.tokens[..n]);
        let raw = BIT * table::tokens(codes, 0, tokens);
        let tables = &mut self.tables;
        tables.fixed.fill(u64::MAX);
        let mut plain = raw;
        for ((fixed, codes), tokens) in tables.fixed.iter_mut().zip(codes.chunks(GROUP)).zip(tokens.chunks(GROUP)) {
            let class = table::class_of(codes);
            let cost = if class == 0 { 0 } else { table::cost(&table::TOKEN_COSTS[class], tokens) };
            plain += cost;
            if class != OWN {
                *fixed = cost;
            }
        }
        let plain = Choice { own_table: false, cost: plain, ..choice };
        let cost = tables.fit::<false>(tokens) + raw;
        let own = Choice { own_table: true, cost, ..choice };
        let best = if own.cost < plain.cost { own } else { plain };
        std::mem::swap(&mut tables.own, &mut tables.other);
        let bits = low_bits(codes);
        if bits < FEWEST_LOW {
            return best;
        }
        let low = Low { bits, ..Low::default() };
        let raw = BIT * (table::tokens(codes, bits, tokens) + low.cost(n));
        let cost = tables.fit::<true>(tokens) + raw;
        if cost > best.cost + best.cost / FASTER {
            return best;
        }
        std::mem::swap(&mut tables.own, &mut tables.other);
        let form = Form { low: true, ..best.form };
        Choice { form, own_table: true, low, cost, ..best }
    }

    /// What the words, less `taken`, cost as symbols.
    fn symbols(&mut self, form: Form, taken: W, n: usize, signed: bool) -> Choice<W> {
        let (words, codes) = (&self.words[..n], &mut self.codes[..n]);
        // In an order of numbers from 0 on.
        let sign = if signed { W::SIGN } else { W::ZERO };
        let number = |w: &W| w.add(taken) ^ sign;
        let least = words.iter().map(number).min().unwrap_or(W::ZERO);
        let most = words.iter().map(number).max().unwrap_or(W::ZERO);
        // Symbols begin at a multiple of what one of them stands for, so that 0 has no low bits.
        let first = |bits: u32| least >> bits << bits;
        let mut bits = most.sub(least).width().saturating_sub(SYMBOLS.ilog2());
        if (most.sub(first(bits)) >> bits).to_u64() >= SYMBOLS as u64 {
            bits += 1;
        }
        let first = first(bits);
        let Tables { own: table, trial, costs, counts, best_counts, .. } = &mut self.tables;
        counts.fill(0);
        for (code, word) in codes.iter_mut().zip(words) {
            *code = number(word).sub(first);
            counts[(*code >> bits).to_u64() as usize] += 1;
        }
        let mut cost = |counts: &Counts, bits: u32, table: &mut Table| {
            table.fit(counts);
            table.costs(costs);
            let low = Low { bits, bare: 0, bare_codes: bare(codes, bits, counts).1 };
            let low = if bits > 0 { low.cost(n) } else { 0 };
            let symbols = counts.iter().zip(costs.iter()).filter(|(count, _)| **count > 0);
            let symbols: u64 = symbols.map(|(count, cost)| u64::from(*count) * u64::from(*cost)).sum();
            symbols + BIT * (low + 8 * table.bytes() as u64)
        };
        let (mut least_cost, mut best_bits) = (cost(counts, bits, &mut table[0]), bits);
        best_counts.copy_from_slice(&counts[..]);
        while bits + 1 < W::BITS && counts[1..].iter().any(|count| *count > 0) {
            (0..SYMBOLS).for_each(|s| counts[s] = counts.get(2 * s..2 * s + 2).map_or(0, |two| two[0] + two[1]));
            bits += 1;
            let cost = cost(counts, bits, &mut trial[0]);
            if cost >= least_cost {
                break;
            }
            (least_cost, best_bits) = (cost, bits);
            best_counts.copy_from_slice(&counts[..]);
            std::mem::swap(table, trial);
        }
        let bits = best_bits;
        let (symbol, bare_codes) = bare(codes, bits, best_counts);
        let low = Low { bits, bare: if bare_codes > 0 { symbol } else { 0 }, bare_codes };
        let form = Form { prediction: Prediction::Symbols, low: bits > 0, ..form };
        let base = first ^ sign;
        Choice { form, set: 0, base, own_table: true, low, digits: 0, cost: least_cost }
    }
}

/// The symbol that occurs most, and how many codes have it if all of these are without low bits.
fn bare<W: Word>(codes: &[W], bits: u32, counts: &Counts) -> (u8, usize) {
    let most = (0..SYMBOLS).max_by_key(|s| (counts[*s], SYMBOLS - s)).unwrap_or(0);
    let count = counts[most] as usize;
    let symbol = W::from_u64(most as u64);
    let low = codes.iter().fold(W::ZERO, |low, c| if *c >> bits == symbol { low | *c ^ symbol << bits } else { low });
    let is_bare = bits > 0 && 16 * count > codes.len() && low == W::ZERO;
    (most as u8, if is_bare { count } else { 0 })
}

/// Low bits that say nothing of the lengths of all but a few codes.
fn low_bits<W: Word>(codes: &[W]) -> u32 {
    let mut widths = [0usize; 65];
    codes.iter().for_each(|c| widths[c.width() as usize] += 1);
    let mut left = codes.len() / SHORT;
    let width = widths.iter().position(|count| {
        let enough = *count > left;
        left = left.saturating_sub(*count);
        enough
    });
    (width.unwrap_or(0) as u32).saturating_sub(3)
}
