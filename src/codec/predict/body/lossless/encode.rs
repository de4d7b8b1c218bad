//! The form that a tile takes, by what codes are going to cost.

use super::passes::*;
use super::slope::{self, Ends, Least, Rise, Widths};
use super::{Form, Order, Prediction, sample};
use crate::codec::interp::plan::Plan;
use crate::codec::interp::quantize::{decimals, ordered_bits as order, ranks};
use crate::codec::predict::code::encode::{Of, Own};
use crate::codec::predict::code::low::Low;
use crate::codec::predict::code::own_table::{self as table, Costs, Counts, SYMBOLS, Table};
use crate::codec::predict::code::tables::TOKENS;
use crate::codec::predict::code::token_costs::BIT;
use crate::codec::predict::format::{GROUP, GROUPS, Grid};
use crate::codec::predict::predict::{axes, lags};
use crate::codec::predict::rules::{
    FASTER, FEWEST_LOW, FORM_AXES, FORM_MAGNITUDES, FORM_NUMBERS, FORM_SYMBOLS, PLAIN_FORMS, SLOPE_FEWEST, SLOPE_WORTH,
};
use crate::error::Result;
use crate::host::memory::{boxed, filled, reserve};
use crate::primitives::lorenzo::AXES;
use crate::primitives::quantize::Element;
use crate::primitives::rans::Symbol;
use crate::simd::Level;
use crate::simd::word::Word;

/// One word of so many is zero where words are tried as they are, and one of samples.
const ZEROS: usize = 16;
const ZEROS_OF_SAMPLE: usize = 128;

/// Buffers that an encoder reuses from tile to tile.
pub struct Buffers<W> {
    tokens: Vec<u8>,
    odd: decimals::Odd<W>,
    list: Vec<W>,
    lags: Box<lags::Lags>,
    seen: lags::Seen,
    tables: Tables,
}

/// What forms are tried with: these, and room for the words of a tile, four times.
pub struct Forms<'a, W> {
    /// The words of one order, less the first.
    pub words: &'a mut [W],
    pub trial: &'a mut [W],
    pub codes: &'a mut [W],
    /// The codes of the choice.
    pub best: &'a mut [W],
    pub buffers: &'a mut Buffers<W>,
}

/// Bytes that stand between base and states, at most: low bits of each code, elements apart or lags, a table.
pub fn most_side<W: Word>(n: usize) -> usize {
    let apart = (decimals::most_odd(n) + ranks::MOST) * (size_of::<W>() + 2);
    n * size_of::<W>() + apart + n / 4 + 4 * SYMBOLS + 64
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
    /// Counts of every fourth token.
    parts: Box<[Counts; 3]>,
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
            parts: boxed([0; SYMBOLS])?,
            best_counts: boxed(0)?,
            fixed: boxed(0)?,
            symbols: boxed(Symbol::new(0, 0))?,
        })
    }

    /// Finds the table for those groups of tokens that cost more by a fixed one; what all cost then, and its bytes. It
    /// has all tokens, which are counted.
    fn fit(&mut self, p: impl Level, tokens: &[u8]) -> (u64, usize) {
        let Tables { other: table, costs, counts: all, more_counts: counts, parts, fixed, .. } = self;
        let table = &mut table[0];
        p.run(Count { tokens, counts: all, parts });
        debug_assert!(all[TOKENS..].iter().all(|count| *count == 0));
        p.run(Fit { counts: all, table, costs });
        p.run(CountCheaper { tokens, costs, fixed, all, counts });
        p.run(Fit { counts, table, costs });
        let groups = tokens.chunks(GROUP).zip(fixed.iter());
        (groups.map(|(tokens, fixed)| table::cost(&costs[..], tokens).min(*fixed)).sum(), table.bytes())
    }

    /// The same for all groups; the table is that of the codes at hand.
    fn fit_all(&mut self, p: impl Level, tokens: &[u8]) -> (u64, usize) {
        let Tables { own: table, costs, counts, parts, .. } = self;
        let table = &mut table[0];
        p.run(Count { tokens, counts, parts });
        p.run(Fit { counts, table, costs });
        let symbols = counts.iter().zip(costs.iter()).filter(|(count, _)| **count > 0);
        (symbols.map(|(count, cost)| u64::from(*count) * u64::from(*cost)).sum(), table.bytes())
    }
}

impl<W: Word> Buffers<W> {
    /// Allocates them for the tiles of a grid.
    pub fn new(grid: &Grid) -> Result<Buffers<W>> {
        let n = grid.capacity();
        let mut odd = decimals::Odd::new();
        reserve(&mut odd, decimals::most_odd(n))?;
        let mut list = Vec::new();
        reserve(&mut list, ranks::MOST)?;
        Ok(Buffers {
            tokens: filled(n, 0)?,
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
    slope: W,
    low: Low,
    digits: u8,
    /// Parts of a bit that it costs.
    pub cost: u64,
}

impl<W: Word> Choice<W> {
    /// One of which nothing but form and base is known.
    fn new(form: Form, base: W) -> Choice<W> {
        Choice { form, set: 0, base, own_table: false, slope: W::ZERO, low: Low::default(), digits: 0, cost: 0 }
    }

    /// Writes what stands between base and states; the codes become what the coder gets of them.
    pub fn write_side(&self, n: usize, forms: &mut Forms<W>, side: &mut Vec<u8>) {
        let Forms { best, buffers: Buffers { odd, list, lags, tables, .. }, .. } = forms;
        side.clear();
        slope::write(self.slope, self.form.slope, side);
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

/// The forms beside those, one of which is tried at most where samples tell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    Ranks,
    /// Of so many digits.
    Decimals(u8),
    Lags,
}

/// Which low bits of codes stand beside the coder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LowBits {
    /// Those that are cheaper there.
    Open,
    /// So many; 0 for none.
    Known(u32),
}

/// A slope that is worth while: which low bits of its codes stand beside the coder, and what these cost.
#[derive(Clone, Copy)]
struct Risen<W> {
    rise: Rise<W>,
    low: LowBits,
    cost: u64,
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

/// A tile, and what is known of it before any form is tried.
struct Tile<'a, E: Element> {
    elements: &'a [E::Word],
    lens: [usize; AXES],
    /// The axes that it has, and those along which differences look shortest.
    allowed: u8,
    set: u8,
    numbers: Form,
    magnitudes: Form,
    /// Taken from its words.
    base: E::Word,
    /// Their slope.
    rise: Option<Risen<E::Word>>,
}

/// Chooses for the tile with these elements and lengths; its codes are left in `best`.
pub fn choose<E: Element>(
    p: impl Level,
    plan: &Plan,
    lens: [usize; AXES],
    elements: &[E::Word],
    forms: &mut Forms<E::Word>,
) -> Choice<E::Word> {
    let n = elements.len();
    let any = p.run(AnyBits { elements });
    let zeros_below = |any: E::Word| if any == E::Word::ZERO { 0 } else { any.trailing_zeros() };
    let numbers = Form::plain(zeros_below(any));
    let magnitudes = Form { order: Order::Magnitudes, ..Form::plain(zeros_below(any.rotl(1))) };
    let base = ordered::<E>(elements[0], numbers.shift);
    p.run(Ordered::<E> { elements, shift: numbers.shift, base, words: &mut forms.words[..n] });
    let allowed = plan.grid.set();
    let set = forms.axes(p, allowed, lens, n);
    let rise = forms.rise(p, lens, Choice { set, ..Choice::new(numbers, base) }, n);
    let tile = Tile::<E> { elements, lens, allowed, set, numbers, magnitudes, base, rise };
    let mut best = Choice { cost: u64::MAX, ..Choice::new(numbers, base) };
    match sample::share(n) {
        Some(share) => {
            let (mut costs, low) = forms.look(p, &tile, share as u64);
            let special = forms.special(p, &tile, &costs);
            costs[FORM_AXES] = tile.rise.map_or(costs[FORM_AXES], |risen| risen.cost);
            let tried = sample::tried(costs, special.is_none());
            (0..PLAIN_FORMS).filter(|f| tried[*f]).for_each(|f| forms.plain(p, &tile, f, low, &mut best));
            if let Some(special) = special {
                forms.try_special(p, &tile, special, &mut best);
            }
        }
        None => {
            let of_floats = if E::EXPONENT_BITS > 0 { PLAIN_FORMS } else { FORM_MAGNITUDES };
            (0..of_floats).for_each(|f| forms.plain(p, &tile, f, LowBits::Open, &mut best));
            forms.try_special(p, &tile, Special::Lags, &mut best);
            if E::Word::BITS > 8 && ranks::list(elements, &mut forms.buffers.list) {
                forms.try_special(p, &tile, Special::Ranks, &mut best);
            }
            if let Some(digits) = decimals::digits::<E>(elements) {
                forms.try_special(p, &tile, Special::Decimals(digits), &mut best);
            }
        }
    }
    best
}

impl<W: Word> Buffers<W> {
    /// The table of the choice, where it has one.
    pub fn own(&mut self, choice: &Choice<W>) -> Option<Own<'_>> {
        let Tables { best, costs, symbols, .. } = &mut self.tables;
        choice.own_table.then(|| {
            best[0].costs(costs);
            best[0].symbols(symbols);
            let of = match choice.form {
                Form { prediction: Prediction::Symbols, .. } => Of::All,
                Form { low: true, .. } => Of::Every,
                _ => Of::Cheaper(costs),
            };
            Own { frequencies: best[0].frequencies(), symbols: &*symbols, of }
        })
    }
}

impl<W: Word> Forms<'_, W> {
    /// The codes at hand are the best, and their table.
    fn keep(&mut self) {
        std::mem::swap(&mut self.best, &mut self.codes);
        let tables = &mut self.buffers.tables;
        std::mem::swap(&mut tables.best, &mut tables.own);
    }

    /// The choice that is less, of the two; the codes at hand and their table are kept if it is the other one.
    fn keep_if_less(&mut self, best: &mut Choice<W>, choice: Choice<W>) {
        if choice.cost < best.cost {
            *best = choice;
            self.keep();
        }
    }

    /// The set of axes, out of `allowed`, whose differences look shortest: by samples, but of a small tile.
    fn axes(&mut self, p: impl Level, allowed: u8, lens: [usize; AXES], n: usize) -> u8 {
        let words = &self.words[..n];
        if sample::share(n).is_some() {
            return p.run(sample::Axes { allowed, lens, words });
        }
        axes::choose(axes::sets(allowed), lens, words, &mut self.trial[..n])
    }

    /// The form beside the plain ones, which cost so much, that samples speak for.
    fn special<E: Element<Word = W>>(
        &mut self,
        p: impl Level,
        tile: &Tile<E>,
        costs: &[u64; PLAIN_FORMS],
    ) -> Option<Special> {
        let Tile { elements, lens, set, .. } = *tile;
        let words = &self.words[..elements.len()];
        if W::BITS > 8 && ranks::may_be_few(elements) && ranks::list(elements, &mut self.buffers.list) {
            return Some(Special::Ranks);
        }
        if let Some(digits) = decimals::digits::<E>(elements)
            && decimals::are_nearer::<E>(elements, words, digits)
        {
            return Some(Special::Decimals(digits));
        }
        let [far, along] = p.run(lags::Ask { words, set, lens, seen: &mut self.buffers.seen }).map(u64::from);
        // Differences at distances are as much shorter than those along axes as their bits are fewer.
        let risen = tile.rise.map_or(u64::MAX, |risen| risen.cost);
        let least = costs.iter().fold(risen, |least, cost| least.min(*cost));
        (far * costs[FORM_AXES] < along * least).then_some(Special::Lags)
    }

    /// What the plain forms cost, by samples of which each stands for so many, and the low bits of differences.
    fn look<E: Element<Word = W>>(
        &mut self,
        p: impl Level,
        tile: &Tile<E>,
        share: u64,
    ) -> ([u64; PLAIN_FORMS], LowBits) {
        let Tile { elements, lens, set, base, numbers, magnitudes, .. } = *tile;
        let n = elements.len();
        let mut costs = [u64::MAX; PLAIN_FORMS];
        let count = p.run(sample::Differences { set, lens, words: &self.words[..n], sample: self.codes });
        let part = Part { n: count, share };
        p.run(Zigzag { codes: &mut self.codes[..count] });
        let choice = Choice::new(numbers, base);
        let along = self.tokens(p, choice, part, LowBits::Open);
        costs[FORM_AXES] = along.cost;
        sample::words(|i| self.words[i].add(base), n, self.codes);
        if let Some(choice) = self.numbers(p, choice, part) {
            costs[FORM_NUMBERS] = choice.cost;
        }
        sample::words(|i| self.words[i].add(base), n, self.codes);
        costs[FORM_SYMBOLS] = self.look_at_symbols(p, tile, numbers, part);
        if E::EXPONENT_BITS > 0 {
            sample::words(|i| magnitude(elements[i], magnitudes.shift), n, self.codes);
            costs[FORM_MAGNITUDES] = self.look_at_symbols(p, tile, magnitudes, part);
        }
        (costs, LowBits::Known(along.low.bits))
    }

    /// What samples cost as symbols in an order, which stand as codes. Codes without low bits take them where any other
    /// element of the tile has their symbol.
    fn look_at_symbols<E: Element<Word = W>>(&mut self, p: impl Level, tile: &Tile<E>, form: Form, part: Part) -> u64 {
        let is_signed = form.order == Order::Numbers;
        let choice = self.symbols(p, form, part, is_signed);
        let Low { bits, bare, bare_codes } = choice.low;
        if bare_codes == 0 {
            return choice.cost;
        }
        let sign = if is_signed { W::SIGN } else { W::ZERO };
        let codes = &mut self.codes[..tile.elements.len()];
        if is_signed {
            codes.iter_mut().zip(&*self.words).for_each(|(code, w)| *code = w.add(tile.base) ^ sign);
        } else {
            codes.iter_mut().zip(tile.elements).for_each(|(code, bits)| *code = magnitude(*bits, form.shift));
        }
        let symbol = ((choice.base ^ sign) >> bits).add(W::from_u64(bare.into()));
        let is_bare = p.run(LowOf { codes, bits, symbol }) == W::ZERO;
        choice.cost + if is_bare { 0 } else { part.share * BIT * bare_codes as u64 * u64::from(bits) }
    }

    /// Tries a plain form.
    fn plain<E: Element<Word = W>>(
        &mut self,
        p: impl Level,
        tile: &Tile<E>,
        form: usize,
        low: LowBits,
        best: &mut Choice<W>,
    ) {
        let Tile { elements, lens, set, base, numbers, magnitudes, .. } = *tile;
        let n = elements.len();
        let choice = match form {
            FORM_AXES => {
                let choice = Choice { set, ..Choice::new(numbers, base) };
                Some(self.differences(p, lens, choice, tile.rise, n, low))
            }
            FORM_MAGNITUDES => {
                let codes = self.codes[..n].iter_mut().zip(elements);
                codes.for_each(|(c, bits)| *c = magnitude(*bits, magnitudes.shift));
                Some(self.symbols(p, magnitudes, Part::all(n), false))
            }
            _ => {
                let codes = self.codes[..n].iter_mut().zip(&self.words[..n]);
                codes.for_each(|(c, w)| *c = w.add(base));
                if form == FORM_NUMBERS {
                    self.numbers(p, Choice::new(numbers, W::ZERO), Part::all(n))
                } else {
                    Some(self.symbols(p, numbers, Part::all(n), true))
                }
            }
        };
        if let Some(choice) = choice {
            self.keep_if_less(best, choice);
        }
    }

    /// Tries another one. The words are those of decimals then, if it is these.
    fn try_special<E: Element<Word = W>>(
        &mut self,
        p: impl Level,
        tile: &Tile<E>,
        special: Special,
        best: &mut Choice<W>,
    ) {
        let Tile { elements, lens, allowed, numbers, base, .. } = *tile;
        let n = elements.len();
        let choice = match special {
            Special::Ranks => {
                ranks::words(elements, &self.buffers.list, &mut self.codes[..n]);
                let form = Form { order: Order::Ranks, ..Form::plain(0) };
                let mut choice = self.symbols(p, form, Part::all(n), false);
                choice.cost += BIT * ranks::cost(&self.buffers.list);
                Some(choice)
            }
            Special::Decimals(digits) => self.decimals::<E>(p, elements, digits, lens, allowed),
            Special::Lags => self.lags(p, Choice::new(numbers, base), n),
        };
        if let Some(choice) = choice {
            self.keep_if_less(best, choice);
        }
    }

    /// Elements as integers over a power of ten, by differences along axes.
    fn decimals<E: Element<Word = W>>(
        &mut self,
        p: impl Level,
        elements: &[W],
        digits: u8,
        lens: [usize; AXES],
        allowed: u8,
    ) -> Option<Choice<W>> {
        let n = elements.len();
        let (words, odd) = (&mut self.words[..n], &mut self.buffers.odd);
        if !p.run(decimals::Integers::<E> { elements, digits, words, odd }) {
            return None;
        }
        let base = self.words[0];
        self.words[..n].iter_mut().for_each(|w| *w = w.sub(base));
        let form = Form { order: Order::Decimals, ..Form::plain(0) };
        let set = self.axes(p, allowed, lens, n);
        let choice = Choice { set, digits, ..Choice::new(form, base) };
        let rise = self.rise(p, lens, choice, n);
        let mut choice = self.differences(p, lens, choice, rise, n, LowBits::Open);
        choice.cost += BIT * decimals::cost(&self.buffers.odd);
        Some(choice)
    }

    /// Words, from which the base is taken, by their differences along the axes of a choice, or with a slope.
    fn differences(
        &mut self,
        p: impl Level,
        lens: [usize; AXES],
        choice: Choice<W>,
        risen: Option<Risen<W>>,
        n: usize,
        low: LowBits,
    ) -> Choice<W> {
        if let Some(Risen { rise, low, .. }) = risen {
            let (words, codes) = (&self.words[..n], &mut self.codes[..n]);
            p.run(slope::Codes { rise, words, codes });
            return self.sloped(p, choice, rise, Part::all(n), low);
        }
        p.run(Differences { set: choice.set, lens, words: &self.words[..n], codes: &mut self.codes[..n] });
        self.tokens(p, choice, Part::all(n), low)
    }

    /// The slope of words that rise along a row, or fall, where samples take less with one.
    fn rise(&mut self, p: impl Level, lens: [usize; AXES], choice: Choice<W>, n: usize) -> Option<Risen<W>> {
        if choice.set != 1 || lens[0] != n || n < SLOPE_FEWEST {
            return None;
        }
        let share = sample::share(n).unwrap_or(1) as u64;
        let words = &self.words[..n];
        let part = Part { n: p.run(sample::Differences { set: 1, lens, words, sample: self.codes }), share };
        let ends = p.run(Ends { words: &self.codes[1..part.n] });
        let steps = slope::steps(ends, || p.run(Least { words, line: None }))?;
        let of_steps = p.run(Widths { words: &self.codes[1..part.n], least: ends.0 });
        p.run(Zigzag { codes: &mut self.codes[..part.n] });
        let signed = self.tokens(p, choice, part, LowBits::Open).cost;
        let words = &self.words[..n];
        let step = slope::step(words);
        sample::words(|i| words[i].sub(slope::times(step, i)), n, self.codes);
        let least = p.run(Ends { words: &self.codes[..part.n] }).0;
        let of_line = p.run(Widths { words: &self.codes[..part.n], least });
        let rise = if of_line < of_steps {
            let first = p.run(Least { words, line: Some(step) });
            self.codes[..part.n].iter_mut().for_each(|code| *code = code.sub(first));
            Rise { slope: step, line: Some(first) }
        } else {
            p.run(sample::Differences { set: 1, lens, words, sample: self.codes });
            self.codes[1..part.n].iter_mut().for_each(|code| *code = code.sub(steps));
            Rise { slope: steps, line: None }
        };
        let Choice { low, cost, .. } = self.sloped(p, choice, rise, part, LowBits::Open);
        (cost + cost / SLOPE_WORTH < signed).then_some(Risen { rise, low: LowBits::Known(low.bits), cost })
    }

    /// What the codes of a row with a slope cost as tokens.
    fn sloped(&mut self, p: impl Level, choice: Choice<W>, rise: Rise<W>, part: Part, low: LowBits) -> Choice<W> {
        let length = slope::length(rise.slope);
        let form = Form { slope: length, ..choice.form };
        let base = choice.base.add(rise.line.unwrap_or(W::ZERO));
        let choice = Choice { form, set: rise.set(), base, slope: rise.slope, ..choice };
        let choice = self.tokens(p, choice, part, low);
        Choice { cost: choice.cost + BIT * slope::cost(length), ..choice }
    }

    /// The same words by their distances from earlier ones.
    fn lags(&mut self, p: impl Level, choice: Choice<W>, n: usize) -> Option<Choice<W>> {
        let words = &self.words[..n];
        if !p.run(lags::Choose { words, seen: &mut self.buffers.seen, lags: &mut self.buffers.lags }) {
            return None;
        }
        let codes = &mut self.codes[..n];
        p.run(lags::Forward { words, lags: &self.buffers.lags, differences: codes });
        p.run(Zigzag { codes });
        let form = Form { prediction: Prediction::Lags, ..choice.form };
        let mut choice = self.tokens(p, Choice { form, ..choice }, Part::all(n), LowBits::Open);
        choice.cost += BIT * lags::cost(n, &self.buffers.lags);
        Some(choice)
    }

    /// The words that stand as codes, where many are zero: these have the shortest code then.
    fn numbers(&mut self, p: impl Level, choice: Choice<W>, part: Part) -> Option<Choice<W>> {
        let codes = &mut self.codes[..part.n];
        let one_of = if part.share == 1 { ZEROS } else { ZEROS_OF_SAMPLE };
        if one_of * codes.iter().filter(|w| **w == W::ZERO).count() < part.n {
            return None;
        }
        p.run(Zigzag { codes });
        Some(self.tokens(p, choice, part, LowBits::Open))
    }

    /// What the codes cost as tokens, with and without a table of their own.
    fn tokens(&mut self, p: impl Level, choice: Choice<W>, part: Part, low: LowBits) -> Choice<W> {
        if let LowBits::Known(bits) = low
            && bits > 0
        {
            return self.tokens_with_low(p, choice, part, bits);
        }
        let (codes, tokens) = (&self.codes[..part.n], &mut self.buffers.tokens[..part.n]);
        let raw = BIT * p.run(Tokens { codes, low: 0, tokens });
        let tables = &mut self.buffers.tables;
        let plain = raw + p.run(ByFixed { codes, tokens, fixed: &mut tables.fixed });
        let plain = Choice { own_table: false, cost: part.cost(plain, 0), ..choice };
        let (symbols, bytes) = tables.fit(p, tokens);
        let own = Choice { own_table: true, cost: part.cost(symbols + raw, bytes), ..choice };
        let best = if own.cost < plain.cost { own } else { plain };
        std::mem::swap(&mut tables.own, &mut tables.other);
        let bits = if low == LowBits::Open { low_bits(&tables.counts) } else { 0 };
        if bits < FEWEST_LOW {
            return best;
        }
        std::mem::swap(&mut tables.own, &mut tables.trial);
        let with_low = self.tokens_with_low(p, choice, part, bits);
        if with_low.cost > best.cost + best.cost / FASTER {
            std::mem::swap(&mut self.buffers.tables.own, &mut self.buffers.tables.trial);
            return best;
        }
        with_low
    }

    /// What the codes cost with so many low bits of each beside the coder, and a table for all groups.
    fn tokens_with_low(&mut self, p: impl Level, choice: Choice<W>, part: Part, bits: u32) -> Choice<W> {
        let tokens = &mut self.buffers.tokens[..part.n];
        let low = Low { bits, ..Low::default() };
        let raw = BIT * (p.run(Tokens { codes: &self.codes[..part.n], low: bits, tokens }) + low.cost(part.n));
        let (symbols, bytes) = self.buffers.tables.fit_all(p, tokens);
        let form = Form { low: true, ..choice.form };
        Choice { form, own_table: true, low, cost: part.cost(symbols + raw, bytes), ..choice }
    }

    /// What the words that stand as codes cost as symbols.
    fn symbols(&mut self, p: impl Level, form: Form, part: Part, signed: bool) -> Choice<W> {
        let codes = &mut self.codes[..part.n];
        // In an order of numbers from 0 on.
        let sign = if signed { W::SIGN } else { W::ZERO };
        let (least, most) = p.run(Turn { sign, codes });
        // Symbols begin at a multiple of what one of them stands for, so that 0 has no low bits.
        let first = |bits: u32| least >> bits << bits;
        let mut bits = most.sub(least).width().saturating_sub(SYMBOLS.ilog2());
        if (most.sub(first(bits)) >> bits).to_u64() >= SYMBOLS as u64 {
            bits += 1;
        }
        let first = first(bits);
        let Tables { own: table, trial, costs, counts, best_counts, parts, .. } = &mut self.buffers.tables;
        p.run(CountSymbols { codes, first, bits, symbols: &mut self.buffers.tokens[..part.n] });
        p.run(Count { tokens: &self.buffers.tokens[..part.n], counts, parts });
        let mut cost = |counts: &Counts, bits: u32, table: &mut Table| {
            p.run(Fit { counts, table, costs });
            let low = Low { bits, bare: 0, bare_codes: bare(p, codes, bits, counts).1 };
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
        let (symbol, bare_codes) = bare(p, codes, bits, best_counts);
        let low = Low { bits, bare: if bare_codes > 0 { symbol } else { 0 }, bare_codes };
        let form = Form { prediction: Prediction::Symbols, low: bits > 0, ..form };
        let base = first ^ sign;
        Choice { set: 0, own_table: true, low, cost: least_cost, ..Choice::new(form, base) }
    }
}

/// The symbol that occurs most, and how many codes have it if all of these are without low bits.
fn bare<W: Word>(p: impl Level, codes: &[W], bits: u32, counts: &Counts) -> (u8, usize) {
    let count = counts.iter().fold(0, |most, count| most.max(*count));
    if bits == 0 || 16 * count as usize <= codes.len() {
        return (0, 0);
    }
    let most = counts.iter().position(|c| *c == count).unwrap_or(0);
    let symbol = W::from_u64(most as u64);
    let low = p.run(LowOf { codes, bits, symbol });
    (most as u8, if low == W::ZERO { count as usize } else { 0 })
}
