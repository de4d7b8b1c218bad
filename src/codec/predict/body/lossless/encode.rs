//! The form that a tile takes, by what codes are going to cost.

use super::{Form, Order, Prediction, sample};
use crate::codec::predict::code::encode::{Of, Own};
use crate::codec::predict::code::low::Low;
use crate::codec::predict::code::own_table::{self as table, Costs, Counts, OWN, SYMBOLS, Table};
use crate::codec::predict::code::tables::TOKENS;
use crate::codec::predict::code::token_costs::{BIT, TOKEN_COSTS};
use crate::codec::predict::format::{GROUP, GROUPS, Grid};
use crate::codec::predict::map::plan::Plan;
use crate::codec::predict::map::{decimals, order, ranks};
use crate::codec::predict::predict::{axes, lags};
use crate::error::Result;
use crate::host::memory::{boxed, filled, reserve};
use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::quantize::Element;
use crate::primitives::rans::Symbol;
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

    /// Finds the table for those groups of tokens that cost more by a fixed one; what all cost then, and its bytes. It
    /// has all tokens.
    fn fit(&mut self, tokens: &[u8]) -> (u64, usize) {
        let Tables { other: table, costs, counts: all, more_counts: counts, fixed, .. } = self;
        let table = &mut table[0];
        count(tokens, all);
        debug_assert!(all[TOKENS..].iter().all(|count| *count == 0));
        table.fit(all);
        table.costs(costs);
        counts.iter_mut().zip(all.iter()).for_each(|(some, all)| *some = u32::from(*all > 0));
        for (tokens, fixed) in tokens.chunks(GROUP).zip(fixed.iter()) {
            if table::cost(&costs[..], tokens) < *fixed {
                tokens.iter().for_each(|t| counts[usize::from(*t)] += 1);
            }
        }
        table.fit(counts);
        table.costs(costs);
        let groups = tokens.chunks(GROUP).zip(fixed.iter());
        (groups.map(|(tokens, fixed)| table::cost(&costs[..], tokens).min(*fixed)).sum(), table.bytes())
    }

    /// The same for all groups; the table is that of the codes at hand.
    fn fit_all(&mut self, tokens: &[u8]) -> (u64, usize) {
        let Tables { own: table, costs, counts, .. } = self;
        let table = &mut table[0];
        count(tokens, counts);
        table.fit(counts);
        table.costs(costs);
        let symbols = counts.iter().zip(costs.iter()).filter(|(count, _)| **count > 0);
        (symbols.map(|(count, cost)| u64::from(*count) * u64::from(*cost)).sum(), table.bytes())
    }
}

/// Counts tokens.
fn count(tokens: &[u8], counts: &mut Counts) {
    counts.fill(0);
    tokens.iter().for_each(|t| counts[usize::from(*t)] += 1);
}

impl<W: Word> Buffers<W> {
    /// Allocates them for the tiles of a grid.
    pub fn new(grid: &Grid) -> Result<Buffers<W>> {
        let n = grid.capacity();
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

impl<W: Word> Choice<W> {
    /// One of which nothing but form and base is known.
    fn new(form: Form, base: W) -> Choice<W> {
        Choice { form, set: 0, base, own_table: false, low: Low::default(), digits: 0, cost: 0 }
    }

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

/// Which forms are tried on all of a tile, and what is known of them before.
struct Tries {
    axes: bool,
    numbers: bool,
    symbols: bool,
    magnitudes: bool,
    /// Low bits of codes of differences.
    low: LowBits,
}

/// Which low bits of codes stand beside the coder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LowBits {
    /// Those that are cheaper there.
    Open,
    /// So many; 0 for none.
    Known(u32),
}

impl Tries {
    /// All that there is.
    const ALL: Tries = Tries { axes: true, numbers: true, symbols: true, magnitudes: true, low: LowBits::Open };
}

/// All of a tile, or a part of it.
#[derive(Clone, Copy)]
struct Part {
    /// Elements.
    n: usize,
    /// As many as one of them stands for.
    share: u64,
}

impl Part {
    fn all(n: usize) -> Part {
        Part { n, share: 1 }
    }

    /// What all of the tile costs, if symbols of the part do so much, and its table takes so many bytes.
    fn cost(self, symbols: u64, table_bytes: usize) -> u64 {
        self.share * symbols + 8 * BIT * table_bytes as u64
    }
}

/// The words of elements' bits in the order of numbers.
fn ordered<E: Element>(bits: E::Word, shift: u32) -> E::Word {
    order::ordered::<E>(bits).sar(shift)
}

/// The words of elements' bits in the order of magnitudes.
fn magnitude<W: Word>(bits: W, shift: u32) -> W {
    bits.rotl(1) >> shift
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
    let zeros_below = |any: E::Word| if any == E::Word::ZERO { 0 } else { any.trailing_zeros() };
    let shift = zeros_below(any);
    let numbers = Form::plain(shift);
    let magnitudes = Form { order: Order::Magnitudes, ..Form::plain(zeros_below(any.rotl(1))) };
    let base = ordered::<E>(elements[0], shift);
    let words = buffers.words[..n].iter_mut().zip(elements);
    words.for_each(|(word, bits)| *word = ordered::<E>(*bits, shift).sub(base));
    let is_float = E::EXPONENT_BITS > 0;
    let set = buffers.axes(plan.grid.set(), lens, n);
    let tries = if sample::is_for(n) {
        buffers.look(set, lens, base, elements, is_float.then_some(magnitudes), numbers)
    } else {
        Tries::ALL
    };
    let mut best = Choice { cost: u64::MAX, ..Choice::new(numbers, base) };
    if tries.axes {
        let choice = Choice { set, ..Choice::new(numbers, base) };
        let choice = buffers.differences(lens, choice, n, tries.low);
        buffers.keep_if_less(&mut best, choice, n);
    }
    if let Some(choice) = buffers.lags(Choice::new(numbers, base), n) {
        buffers.keep_if_less(&mut best, choice, n);
    }
    if tries.numbers {
        let words = buffers.words[..n].iter();
        buffers.codes[..n].iter_mut().zip(words).for_each(|(c, w)| *c = w.add(base));
        if let Some(choice) = buffers.numbers(Choice::new(numbers, E::Word::ZERO), Part::all(n)) {
            buffers.keep_if_less(&mut best, choice, n);
        }
    }
    if tries.symbols {
        let words = buffers.words[..n].iter();
        buffers.codes[..n].iter_mut().zip(words).for_each(|(c, w)| *c = w.add(base));
        let choice = buffers.symbols(numbers, Part::all(n), true);
        buffers.keep_if_less(&mut best, choice, n);
    }
    if is_float && tries.magnitudes {
        let words = buffers.codes[..n].iter_mut().zip(elements);
        words.for_each(|(c, bits)| *c = magnitude(*bits, magnitudes.shift));
        let choice = buffers.symbols(magnitudes, Part::all(n), false);
        buffers.keep_if_less(&mut best, choice, n);
    }
    if E::Word::BITS > 8 && ranks::list(elements, &mut buffers.list) {
        ranks::words(elements, &buffers.list, &mut buffers.codes[..n]);
        let form = Form { order: Order::Ranks, ..Form::plain(0) };
        let mut choice = buffers.symbols(form, Part::all(n), false);
        choice.cost += BIT * ranks::cost(&buffers.list);
        buffers.keep_if_less(&mut best, choice, n);
    }
    if let Some(digits) = decimals::digits::<E>(elements)
        && decimals::integers::<E>(elements, digits, &mut buffers.words[..n], &mut buffers.odd)
    {
        let form = Form { order: Order::Decimals, ..Form::plain(0) };
        let base = buffers.words[0];
        buffers.words[..n].iter_mut().for_each(|w| *w = w.sub(base));
        let choice = Choice { set: buffers.axes(plan.grid.set(), lens, n), digits, ..Choice::new(form, base) };
        let mut choice = buffers.differences(lens, choice, n, LowBits::Open);
        choice.cost += BIT * decimals::cost(&buffers.odd);
        buffers.keep_if_less(&mut best, choice, n);
    }
    best
}

impl<W: Word> Buffers<W> {
    /// The codes at hand are the best, and their table.
    fn keep(&mut self, n: usize) {
        self.best[..n].copy_from_slice(&self.codes[..n]);
        std::mem::swap(&mut self.tables.best, &mut self.tables.own);
    }

    /// What `Choice::write_side` left of the choice: the table, where it has one, `n` codes, and what stands before
    /// them.
    pub fn written(&mut self, choice: &Choice<W>, n: usize) -> (Option<Own<'_>>, &[W], &[u8]) {
        let Tables { best, costs, symbols, .. } = &mut self.tables;
        let own = choice.own_table.then(|| {
            best[0].costs(costs);
            best[0].symbols(symbols);
            let of = match choice.form {
                Form { prediction: Prediction::Symbols, .. } => Of::All,
                Form { low: true, .. } => Of::Every,
                _ => Of::Cheaper(costs),
            };
            Own { frequencies: best[0].frequencies(), symbols, of }
        });
        (own, &self.best[..n], &self.side)
    }

    /// The choice that is less, of the two; the codes at hand and their table are kept if it is the other one.
    fn keep_if_less(&mut self, best: &mut Choice<W>, choice: Choice<W>, n: usize) {
        if choice.cost < best.cost {
            *best = choice;
            self.keep(n);
        }
    }

    /// The set of axes, out of `allowed`, whose differences look shortest: of a large tile of those that do so by a
    /// part.
    fn axes(&mut self, allowed: u8, lens: [usize; AXES], n: usize) -> u8 {
        let words = &self.words[..n];
        let sets = if sample::is_for(n) { sample::axes(allowed, lens, words) } else { axes::sets(allowed) };
        axes::choose(sets, lens, words, &mut self.trial[..n])
    }

    /// Looks at a part of a tile, which has the words, less `base`.
    fn look(
        &mut self,
        set: u8,
        lens: [usize; AXES],
        base: W,
        elements: &[W],
        magnitudes: Option<Form>,
        numbers: Form,
    ) -> Tries {
        let n = elements.len();
        let count = sample::differences(set, lens, &self.words[..n], &mut self.codes);
        let part = Part { n: count, share: sample::SHARE };
        self.codes[..count].iter_mut().for_each(|c| *c = c.zigzag());
        let choice = Choice::new(numbers, base);
        let axes = self.tokens(choice, part, LowBits::Open);
        sample::words(|i| self.words[i].add(base), n, &mut self.codes);
        let of_numbers = self.numbers(choice, part).map_or(u64::MAX, |choice| choice.cost);
        sample::words(|i| self.words[i].add(base), n, &mut self.codes);
        let of_symbols = self.symbols(numbers, part, true).cost;
        let of_magnitudes = magnitudes.map_or(u64::MAX, |form| {
            sample::words(|i| magnitude(elements[i], form.shift), n, &mut self.codes);
            self.symbols(form, part, false).cost
        });
        let least = axes.cost.min(of_numbers).min(of_symbols).min(of_magnitudes);
        Tries {
            axes: sample::is_near(axes.cost, least),
            numbers: sample::is_near(of_numbers, least),
            symbols: sample::is_near(of_symbols, least),
            magnitudes: sample::is_near(of_magnitudes, least),
            low: LowBits::Known(axes.low.bits),
        }
    }

    /// Words, from which the base is taken, by their differences along the axes of a choice.
    fn differences(&mut self, lens: [usize; AXES], choice: Choice<W>, n: usize, low: LowBits) -> Choice<W> {
        let differences = &mut self.differences[..n];
        differences.copy_from_slice(&self.words[..n]);
        lorenzo::forward(choice.set, lens, differences);
        self.codes[..n].iter_mut().zip(differences).for_each(|(c, d)| *c = d.zigzag());
        self.tokens(choice, Part::all(n), low)
    }

    /// The same words by their distances from earlier ones.
    fn lags(&mut self, choice: Choice<W>, n: usize) -> Option<Choice<W>> {
        let words = &self.words[..n];
        if !lags::choose(words, &mut self.seen, &mut self.lags) {
            return None;
        }
        let differences = &mut self.differences[..n];
        lags::forward(words, &self.lags, differences);
        self.codes[..n].iter_mut().zip(differences).for_each(|(c, d)| *c = d.zigzag());
        let form = Form { prediction: Prediction::Lags, ..choice.form };
        let mut choice = self.tokens(Choice { form, ..choice }, Part::all(n), LowBits::Open);
        choice.cost += BIT * lags::cost(n, &self.lags);
        Some(choice)
    }

    /// The words that stand as codes, where many are zero: these have the shortest code then.
    fn numbers(&mut self, choice: Choice<W>, part: Part) -> Option<Choice<W>> {
        let codes = &mut self.codes[..part.n];
        if ZEROS * codes.iter().filter(|w| **w == W::ZERO).count() < part.n {
            return None;
        }
        codes.iter_mut().for_each(|c| *c = c.zigzag());
        Some(self.tokens(choice, part, LowBits::Open))
    }

    /// What the codes cost as tokens, with and without a table of their own.
    fn tokens(&mut self, choice: Choice<W>, part: Part, low: LowBits) -> Choice<W> {
        if let LowBits::Known(bits) = low
            && bits > 0
        {
            return self.tokens_with_low(choice, part, bits);
        }
        let (codes, tokens) = (&self.codes[..part.n], &mut self.tokens[..part.n]);
        let raw = BIT * table::tokens(codes, 0, tokens);
        let tables = &mut self.tables;
        tables.fixed.fill(u64::MAX);
        let mut plain = raw;
        for ((fixed, codes), tokens) in tables.fixed.iter_mut().zip(codes.chunks(GROUP)).zip(tokens.chunks(GROUP)) {
            let class = table::class_of(codes);
            let cost = if class == 0 { 0 } else { table::cost(&TOKEN_COSTS[class], tokens) };
            plain += cost;
            if class != OWN {
                *fixed = cost;
            }
        }
        let plain = Choice { own_table: false, cost: part.cost(plain, 0), ..choice };
        let (symbols, bytes) = tables.fit(tokens);
        let own = Choice { own_table: true, cost: part.cost(symbols + raw, bytes), ..choice };
        let best = if own.cost < plain.cost { own } else { plain };
        std::mem::swap(&mut tables.own, &mut tables.other);
        let bits = if low == LowBits::Open { low_bits(codes) } else { 0 };
        if bits < FEWEST_LOW {
            return best;
        }
        std::mem::swap(&mut tables.own, &mut tables.trial);
        let with_low = self.tokens_with_low(choice, part, bits);
        if with_low.cost > best.cost + best.cost / FASTER {
            std::mem::swap(&mut self.tables.own, &mut self.tables.trial);
            return best;
        }
        with_low
    }

    /// What the codes cost with so many low bits of each beside the coder, and a table for all groups.
    fn tokens_with_low(&mut self, choice: Choice<W>, part: Part, bits: u32) -> Choice<W> {
        let tokens = &mut self.tokens[..part.n];
        let low = Low { bits, ..Low::default() };
        let raw = BIT * (table::tokens(&self.codes[..part.n], bits, tokens) + low.cost(part.n));
        let (symbols, bytes) = self.tables.fit_all(tokens);
        let form = Form { low: true, ..choice.form };
        Choice { form, own_table: true, low, cost: part.cost(symbols + raw, bytes), ..choice }
    }

    /// What the words that stand as codes cost as symbols.
    fn symbols(&mut self, form: Form, part: Part, signed: bool) -> Choice<W> {
        let codes = &mut self.codes[..part.n];
        // In an order of numbers from 0 on.
        let sign = if signed { W::SIGN } else { W::ZERO };
        codes.iter_mut().for_each(|c| *c = *c ^ sign);
        let least = codes.iter().copied().min().unwrap_or(W::ZERO);
        let most = codes.iter().copied().max().unwrap_or(W::ZERO);
        // Symbols begin at a multiple of what one of them stands for, so that 0 has no low bits.
        let first = |bits: u32| least >> bits << bits;
        let mut bits = most.sub(least).width().saturating_sub(SYMBOLS.ilog2());
        if (most.sub(first(bits)) >> bits).to_u64() >= SYMBOLS as u64 {
            bits += 1;
        }
        let first = first(bits);
        let Tables { own: table, trial, costs, counts, best_counts, .. } = &mut self.tables;
        counts.fill(0);
        for code in codes.iter_mut() {
            *code = code.sub(first);
            counts[(*code >> bits).to_u64() as usize] += 1;
        }
        let mut cost = |counts: &Counts, bits: u32, table: &mut Table| {
            table.fit(counts);
            table.costs(costs);
            let low = Low { bits, bare: 0, bare_codes: bare(codes, bits, counts).1 };
            let low = if bits > 0 { low.cost(part.n) } else { 0 };
            let symbols = counts.iter().zip(costs.iter()).filter(|(count, _)| **count > 0);
            let symbols: u64 = symbols.map(|(count, cost)| u64::from(*count) * u64::from(*cost)).sum();
            part.cost(symbols + BIT * low, table.bytes())
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
    if bits == 0 || 16 * count <= codes.len() {
        return (most as u8, 0);
    }
    let symbol = W::from_u64(most as u64);
    let low = codes.iter().fold(W::ZERO, |low, c| if *c >> bits == symbol { low | *c ^ symbol << bits } else { low });
    (most as u8, if low == W::ZERO { count } else { 0 })
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
