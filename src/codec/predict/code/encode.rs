//! Codes to words, lane by lane.

use super::counts::TokenCounts;
use super::own_table::{self, Costs, OWN};
use super::states::{State, encode_classes};
use super::tables::{SYMBOLS, TABLES};
use super::token_costs::TOKEN_COSTS;
use crate::codec::predict::format::*;
use crate::primitives::rans::{LANES, RAW_BITS, Symbol, Words};
use crate::simd::word::Word;

/// A tile's own table, for encoding.
#[derive(Clone, Copy)]
pub struct Own<'a> {
    /// How often each symbol has a slot.
    pub frequencies: &'a [u16; own_table::SYMBOLS],
    /// The symbols.
    pub symbols: &'a [Symbol; own_table::SYMBOLS],
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
    /// All whose codes are not all 0; codes have tokens.
    Every,
    /// Those of some classes: the class that groups of each get.
    Classes(&'a [u8; TABLES]),
}

impl Own<'_> {
    /// The class of a group that has this one without the table, of the values that are there.
    #[inline(always)]
    pub fn class(&self, class: usize, tokens: &[[u8; QUAD]; LANES], has: impl Fn(usize, usize) -> bool) -> usize {
        self.cheaper(class, |costs| {
            let mut cost = 0;
            for (lane, tokens) in tokens.iter().enumerate() {
                for (_, token) in tokens.iter().enumerate().filter(|(j, _)| has(lane, *j)) {
                    cost += u64::from(costs[usize::from(*token)]);
                }
            }
            cost
        })
    }

    /// The same of a group in which all values are there.
    #[inline(always)]
    pub fn class_of_whole(&self, class: usize, tokens: &[[u8; QUAD]; LANES]) -> usize {
        self.cheaper(class, |costs| own_table::cost(costs, tokens.as_flattened()))
    }

    /// The class of a group, by what it costs in a table.
    #[inline(always)]
    fn cheaper(&self, class: usize, cost: impl Fn(&[u16]) -> u64) -> usize {
        match self.of {
            Of::All | Of::Every => OWN,
            Of::Classes(classes) => classes[class].into(),
            Of::Cheaper(_) if class == OWN => OWN,
            Of::Cheaper(costs) => {
                if cost(costs) < cost(&TOKEN_COSTS[class]) {
                    OWN
                } else {
                    class
                }
            }
        }
    }
}

/// What codes are encoded by, beside the tables that are always there.
pub enum Tables<'a> {
    /// This one.
    Given(Option<Own<'a>>),
    /// The one that follows from how often tokens occur, if any.
    Counted(&'a mut TokenCounts),
}

/// Encodes the codes of a tile; whether by a table of its own.
#[inline(always)]
pub fn code<W: Word>(
    codes: impl ExactSizeIterator<Item = W>,
    tables: Tables,
    places: &mut [W],
    group: &mut Group,
    words: &mut Words,
) -> (State, bool) {
    let n = codes.len();
    let places = &mut places[..groups(n) * GROUP];
    places.iter_mut().zip(codes).for_each(|(place, code)| *place = code);
    places[n..].fill(W::ZERO);
    Coder { codes: places, n, own: None }.encode_by(tables, group, words)
}

/// Codes on their way into words.
struct Coder<'a, W> {
    /// The codes, and zeros up to the end of their last group.
    codes: &'a [W],
    /// How many codes there are.
    n: usize,
    /// The table of class `OWN`, where it is not the one that is always there.
    own: Option<Own<'a>>,
}

/// Never inlined: see `TokenCounts::choose`, which levels compile for themselves.
#[inline(never)]
fn choose(counts: &mut TokenCounts) -> bool {
    counts.choose()
}

/// A group taken apart: by lane and value the token, raw bits, and how many there are.
#[derive(Clone)]
pub struct Group {
    tokens: [[u8; QUAD]; LANES],
    lens: [[u8; QUAD]; LANES],
    bits: [[u64; QUAD]; LANES],
    /// Which values a lane has.
    has: [u8; LANES],
    class: usize,
    /// The most raw bits of a value, and of a lane.
    longest: (u32, u32),
}

impl<'a, W: Word> Coder<'a, W> {
    /// Encodes all groups; whether by a table of their own.
    fn encode_by(mut self, tables: Tables<'a>, group: &mut Group, words: &mut Words) -> (State, bool) {
        self.own = match tables {
            Tables::Given(own) => own,
            Tables::Counted(counts) => {
                self.count(group, counts);
                choose(counts).then(|| counts.for_encoding()).map(|(frequencies, symbols, classes)| Own {
                    frequencies,
                    symbols,
                    of: Of::Classes(classes),
                })
            }
        };
        (self.encode(group, words), self.own.is_some())
    }

    /// Counts the tokens of all groups.
    fn count(&self, group: &mut Group, counts: &mut TokenCounts) {
        counts.clear();
        for g in 0..groups(self.n) {
            self.take(g, group);
            if group.class > 0 {
                counts.add(group.class, &group.tokens, absent(self.n, g));
            }
        }
    }

    /// Encodes all groups. States begin at 1 and grow; where a word would be needed they are made as large as they have
    /// to be from there on.
    fn encode(&self, group: &mut Group, words: &mut Words) -> State {
        let groups = groups(self.n);
        let mut state = State::new();
        let mut classes = [0u8; GROUPS];
        for g in (0..groups).rev() {
            self.take(g, group);
            classes[g] = group.class as u8;
            if group.class > 0 {
                let symbols = self.symbols(group.class);
                state.step(words, g + 1, |lanes, words| group.encode(symbols, lanes, words));
            }
        }
        encode_classes(&mut state, &classes[..groups], words);
        state
    }

    /// The symbols of a class.
    fn symbols(&self, class: usize) -> &[Symbol] {
        match self.own {
            Some(own) if class == OWN => own.symbols,
            _ => &SYMBOLS[class],
        }
    }

    /// Takes group `g` apart.
    fn take(&self, g: usize, group: &mut Group) {
        let codes = &self.codes[g * GROUP..(g + 1) * GROUP];
        let present = present_in(self.n, g);
        for (lane, has) in group.has.iter_mut().enumerate() {
            *has = (present[lane / (LANES / RUNS)] >> (lane % (LANES / RUNS) * QUAD) & 15) as u8;
        }
        group.class = own_table::class_of(codes);
        if group.class == 0 {
            return;
        }
        let most = codes.iter().fold(W::ZERO, |m, c| m.max(*c));
        let direct = self.own.is_some_and(|own| matches!(own.of, Of::All));
        group.longest = (0, 0);
        for (i, c) in codes.iter().enumerate() {
            let (lane, j) = (i / QUAD, i % QUAD);
            let (token, len) = if direct { (c.to_u64() as u32, 0) } else { token(c.to_u64()) };
            group.tokens[lane][j] = token as u8;
            group.lens[lane][j] = len as u8;
            group.bits[lane][j] = c.to_u64() & ((1 << len) - 1);
        }
        if let Some(own) = self.own {
            let has = group.has;
            group.class = own.class(group.class, &group.tokens, |lane, j| has[lane] >> j & 1 == 1);
        }
        if most.to_u64() >= DIRECT.into() && !direct {
            for lens in &group.lens {
                let (longest, total) = group.longest;
                let own: u32 = lens.iter().map(|len| u32::from(*len)).sum();
                group.longest = (lens.iter().fold(longest, |m, len| m.max((*len).into())), total.max(own));
            }
        }
    }
}

impl Group {
    /// One of no use yet.
    pub const EMPTY: Group = Group {
        tokens: [[0; QUAD]; LANES],
        lens: [[0; QUAD]; LANES],
        bits: [[0; QUAD]; LANES],
        has: [0; LANES],
        class: 0,
        longest: (0, 0),
    };

    /// Encodes the group: what is decoded last comes first.
    fn encode(&self, symbols: &[Symbol], lanes: &mut [u32; LANES], words: &mut Words) {
        if self.longest.0 > 0 {
            self.encode_raw(lanes, words);
        }
        for j in (0..QUAD).rev() {
            for lane in (0..LANES).rev() {
                if self.has[lane] >> j & 1 == 1 {
                    words.symbol(&mut lanes[lane], &symbols[usize::from(self.tokens[lane][j])]);
                }
            }
        }
    }

    fn encode_raw(&self, lanes: &mut [u32; LANES], words: &mut Words) {
        if self.longest.1 <= RAW_BITS {
            for lane in (0..LANES).rev() {
                let (mut bits, mut len) = (0, 0);
                for j in 0..QUAD {
                    bits |= (self.bits[lane][j] as u32) << len;
                    len += u32::from(self.lens[lane][j]);
                }
                words.raw(&mut lanes[lane], bits, len);
            }
            return;
        }
        for round in (0..self.longest.0.div_ceil(RAW_BITS)).rev() {
            let from = round * RAW_BITS;
            for j in (0..QUAD).rev() {
                for lane in (0..LANES).rev() {
                    let len = u32::from(self.lens[lane][j]).saturating_sub(from).min(RAW_BITS);
                    let bits = (self.bits[lane][j] >> from) as u32 & ((1 << len) - 1);
                    words.raw(&mut lanes[lane], bits, len);
                }
            }
        }
    }
}
