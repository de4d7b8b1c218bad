//! Groups of codes to words, by vectors; of codes of more than 31 bits as they are taken apart before.

use super::classes;
use super::group::Group;
use super::sums::Sum;
use super::tables::{
    CLASSES, FREQUENCIES, OWN, PLACES, PLAIN, TABLES, TOKEN_COSTS, TOKENS, last_token, sort, table_of,
};
use crate::codec::interp::entropy::own_table::SYMBOLS;
use crate::codec::interp::entropy::states::State;
use crate::codec::interp::format::{DIRECT, GROUP, NEVER, QUAD, token};
use crate::codec::interp::rules::BIT;
use crate::primitives::rans::{LANES, RAW_BITS, STATE_BITS, TABLE_BITS, Words};
use crate::simd::Task;
use crate::simd::numbers::CodeVectors;
use crate::simd::word::Word;

/// Codes of groups that vectors code are below this.
const LIMIT: u64 = 1 << 31;

/// Whether a group's codes fit the vector coder.
pub fn has_vectors(sum: &Sum) -> bool {
    sum.most < LIMIT
}
/// Up to so many vector comparisons are no slower than counting tokens one by one.
const FEW: u32 = 60;

/// For each token of a table what encodes it: its frequency's reciprocal, and bits 0–9 what the frequency lacks of
/// 1024, bits 10–20 what is added, bits 21–24 a shift. With q the upper half of state · reciprocal, shifted to the
/// right, the new state is state + q · lack + what is added. A frequency of 1 has q = state − 1, which the sum makes up
/// for.
#[derive(Clone, Copy)]
pub struct Encoding {
    reciprocals: [u32; PLACES],
    rest: [u32; PLACES],
}

impl Encoding {
    /// One of no use yet.
    pub const NONE: Encoding = Encoding { reciprocals: [0; PLACES], rest: [0; PLACES] };

    /// That of a table's frequencies; what tokens without slots get means nothing.
    pub fn fill(&mut self, frequencies: &[u16; SYMBOLS]) {
        let mut start = 0;
        for (s, f) in frequencies.iter().enumerate() {
            let (reciprocal, rest) = BY_FREQUENCY[usize::from(*f) % (1 << TABLE_BITS)];
            (self.reciprocals[s], self.rest[s]) = (reciprocal, rest + (start << TABLE_BITS));
            start += u32::from(*f);
        }
    }
}

/// What encodes by the tables that are always there.
static ENCODINGS: [Encoding; TABLES] = {
    let mut all = [Encoding::NONE; TABLES];
    let mut t = 0;
    while t < TABLES {
        let (mut s, mut start) = (0, 0);
        while s < FREQUENCIES[t].len() {
            let frequency = FREQUENCIES[t][s] as u32;
            (all[t].reciprocals[s], all[t].rest[s]) = encoding(start, frequency);
            start += frequency;
            s += 1;
        }
        t += 1;
    }
    all
};

/// For each frequency its reciprocal, and the rest of a token whose slots are the first ones.
static BY_FREQUENCY: [(u32, u32); 1 << TABLE_BITS] = {
    let mut all = [(0, 0); 1 << TABLE_BITS];
    let mut frequency = 1;
    while frequency < all.len() {
        all[frequency] = encoding(0, frequency as u32);
        frequency += 1;
    }
    all
};

const fn encoding(start: u32, frequency: u32) -> (u32, u32) {
    let lack = (1 << TABLE_BITS) - frequency;
    if frequency == 1 {
        return (u32::MAX, lack | (start + lack) << TABLE_BITS);
    }
    let shift = 31 - (frequency - 1).leading_zeros();
    ((1u64 << (32 + shift)).div_ceil(frequency as u64) as u32, lack | start << TABLE_BITS | shift << 21)
}

/// Puts codes without their low bits to their places; zeros up to the end of the last group.
pub struct Places<'a, W> {
    pub codes: &'a [W],
    pub low: u32,
    pub places: &'a mut [u32],
}

impl<W: Word> Task for Places<'_, W> {
    type Done = ();

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, _: P) {
        let n = self.codes.len();
        let (places, behind) = self.places[..n.next_multiple_of(GROUP)].split_at_mut(n);
        for i in 0..n {
            places[i] = (self.codes[i] >> self.low).to_u64() as u32;
        }
        behind.fill(0);
    }
}

/// Gives groups of codes their classes, of which so many low bits of each stand apart.
pub struct Classify<'a, W> {
    pub codes: &'a [W],
    pub low: u32,
    pub places: &'a [u32],
    pub sums: &'a [Sum],
    pub classes: &'a mut [u8],
}

impl<W: Word> Classify<'_, W> {
    /// What group `g` costs in a class.
    #[inline(always)]
    fn cost<P: CodeVectors<M>, const M: usize>(&self, p: P, g: usize, class: usize) -> u64 {
        let (codes, sum) = (&self.codes[g * GROUP..], &self.sums[g]);
        if has_vectors(sum) {
            return cost::<P, M>(p, &self.places.as_chunks().0[g], codes.len(), sum.most as u32, class);
        }
        classes::cost(&codes[..codes.len().min(GROUP)], class, self.low)
    }
}

impl<W: Word> Task for Classify<'_, W> {
    type Done = ();

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, p: P) {
        for g in 0..self.classes.len() {
            let sum = &self.sums[g];
            if !sum.any {
                continue;
            }
            let [first, second, wide] = sort(sum.magnitudes.max(1), sum.nonzeros);
            let fits = |class: usize| token(sum.most >> shift(class)).0 <= last_token(table_of(class));
            self.classes[g] = match (fits(first), fits(second)) {
                (true, true) if first != second && self.cost(p, g, second) < self.cost(p, g, first) => second,
                (true, _) => first,
                (false, true) => second,
                (false, false) => wide,
            } as u8;
        }
    }
}

/// Low bits that codes of a class leave apart, beside those of the tile.
#[inline(always)]
fn shift(class: usize) -> u32 {
    class.saturating_sub(PLAIN) as u32
}

/// What the first `n` codes of a group cost in a class, with the low bits that it leaves apart.
#[inline(always)]
fn cost<P: CodeVectors<M>, const M: usize>(p: P, codes: &[u32; GROUP], n: usize, most: u32, class: usize) -> u64 {
    let (costs, more, len) = (&TOKEN_COSTS[table_of(class)], shift(class), n.min(GROUP) as u64);
    let (most, more_v, lanes) = (most >> more, p.splat(more), LANES / M);
    let mut sum = p.splat(0);
    for at in (0..GROUP).step_by(lanes) {
        let code = p.right_by(p.load(&codes[at..]), more_v);
        let cost = match most {
            _ if most < P::FEW => p.look_up_few(costs, code),
            _ if most < DIRECT => p.look_up_direct(costs, code),
            _ => p.look_up(costs, token_of(p, code).0),
        };
        sum = p.add(sum, cost);
    }
    let absent = GROUP as u64 - len;
    u64::from(p.total(sum)) - absent * u64::from(costs[0]) + BIT * u64::from(more) * len
}

/// The tokens of codes, and how many raw bits each has.
#[inline(always)]
fn token_of<P: CodeVectors<M>, const M: usize>(p: P, code: P::V) -> (P::V, P::V) {
    let (zero, one) = (p.splat(0), p.splat(1));
    let is_direct = p.less(code, p.splat(DIRECT));
    let octave = p.octave(p.max(code, one));
    let len = p.select(is_direct, zero, p.sub(octave, one));
    let token = p.add(p.add(octave, octave), p.add(p.right_by(code, len), p.splat(50)));
    (p.select(is_direct, code, token), len)
}

/// Counts the tokens of the groups that are asked for by class, and what they cost.
pub struct Count<'a, F> {
    pub places: &'a [u32],
    pub n: usize,
    pub sums: &'a [Sum],
    pub classes: &'a [u8],
    pub asked: &'a dyn Fn(usize) -> bool,
    pub counts: &'a mut [[u32; TOKENS]; CLASSES],
    pub costs: &'a mut [u64; CLASSES],
    /// A group with longer codes, taken apart without so many low bits.
    pub long: F,
}

impl<F: Fn(usize, u32) -> Group> Task for Count<'_, F> {
    type Done = ();

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, p: P) {
        let groups = self.places.as_chunks::<GROUP>().0.iter().zip(self.classes).enumerate();
        for (g, (codes, class)) in groups {
            let class = usize::from(*class);
            if class == 0 || !(self.asked)(g) {
                continue;
            }
            let left = self.n - g * GROUP;
            let counts = &mut self.counts[class];
            if has_vectors(&self.sums[g]) {
                let most = self.sums[g].most as u32;
                self.costs[class] += cost::<P, M>(p, codes, left, most, class);
                Tokens::<P, M>::of(p, codes, most).count(p, most, counts);
            } else {
                let tokens = |shift: u32| Tokens::<P, M>::of_group(p, &(self.long)(g, shift));
                let costs = &TOKEN_COSTS[table_of(class)];
                self.costs[class] += tokens(shift(class)).cost(p, costs, left, shift(class));
                tokens(0).count(p, u32::MAX, counts);
            }
            counts[0] -= (GROUP - left.min(GROUP)) as u32;
        }
    }
}

/// The tokens of a group, four bytes a lane, and how many raw bits each has.
struct Tokens<P: CodeVectors<M>, const M: usize> {
    tokens: [P::V; M],
    lens: [P::V; M],
    /// The most raw bits of a value.
    longest: u32,
}

impl<P: CodeVectors<M>, const M: usize> Tokens<P, M> {
    /// Those of codes of which this is the greatest one.
    #[inline(always)]
    fn of(p: P, codes: &[u32; GROUP], most: u32) -> Self {
        let n = LANES / M;
        let zero = p.splat(0);
        let mut all = Tokens { tokens: [zero; M], lens: [zero; M], longest: 0 };
        if most < DIRECT {
            for k in 0..M {
                all.tokens[k] = p.pack_bytes(&codes[k * n * QUAD..(k + 1) * n * QUAD]);
            }
            return all;
        }
        for k in 0..M {
            let quads = p.load_quads(&codes[k * n * QUAD..(k + 1) * n * QUAD]);
            for j in (0..QUAD).rev() {
                let (token, len) = token_of(p, quads[j]);
                all.tokens[k] = p.or(p.left::<8>(all.tokens[k]), token);
                all.lens[k] = p.or(p.left::<8>(all.lens[k]), len);
            }
        }
        all.longest = token(most.into()).1;
        all
    }

    /// Those of a group.
    #[inline(always)]
    fn of_group(p: P, group: &Group) -> Self {
        let zero = p.splat(0);
        let mut all = Tokens { tokens: [zero; M], lens: [zero; M], longest: group.longest };
        let (tokens, lens) = (group.tokens.as_chunks().0, group.lens.as_chunks().0);
        let (mut token_quads, mut len_quads) = ([0; LANES], [0; LANES]);
        for i in 0..LANES {
            (token_quads[i], len_quads[i]) = (u32::from_le_bytes(tokens[i]), u32::from_le_bytes(lens[i]));
        }
        for k in 0..M {
            all.tokens[k] = p.load(&token_quads[k * (LANES / M)..]);
            all.lens[k] = p.load(&len_quads[k * (LANES / M)..]);
        }
        all
    }

    /// What the first `n` cost, each with so many bits more.
    #[inline(always)]
    fn cost(&self, p: P, costs: &[u32; PLACES], n: usize, more: u32) -> u64 {
        let (mut sum, len) = (p.splat(0), n.min(GROUP) as u64);
        for k in 0..M {
            for j in 0..QUAD {
                let token = p.and(p.right_by(self.tokens[k], p.splat(8 * j as u32)), p.splat(255));
                sum = p.add(sum, p.look_up(costs, token));
            }
        }
        u64::from(p.total(sum)) - (GROUP as u64 - len) * u64::from(costs[0]) + BIT * u64::from(more) * len
    }

    /// Counts them.
    #[inline(always)]
    fn count(&self, p: P, most: u32, counts: &mut [u32; TOKENS]) {
        let n = LANES / M;
        // Of few different tokens each is counted by comparing all with it.
        if most.saturating_mul(M as u32) <= FEW {
            let mut zeros = GROUP as u32;
            for token in 1..=most {
                let mut count = 0;
                for k in 0..M {
                    count += p.occurrences(self.tokens[k], token as u8);
                }
                counts[token as usize] += count;
                zeros -= count;
            }
            counts[0] += zeros;
            return;
        }
        let mut tokens = [0; LANES];
        for k in 0..M {
            p.store(self.tokens[k], &mut tokens[k * n..]);
        }
        let mut ranges = [[0u16; 64]; 3];
        if !p.count_range(&tokens, 0, &mut ranges[0]) {
            tokens.iter().flat_map(|quad| quad.to_le_bytes()).for_each(|token| counts[usize::from(token)] += 1);
            return;
        }
        if most >= DIRECT {
            p.count_range(&tokens, 1, &mut ranges[1]);
        }
        if u64::from(most) >= LIMIT {
            p.count_range(&tokens, 2, &mut ranges[2]);
        }
        counts.iter_mut().zip(ranges.as_flattened()).for_each(|(all, count)| *all += u32::from(*count));
    }
}

/// Encodes groups, the last one first: see `encode::lanes`. How coding ended.
pub struct Encode<'a, 'w, F> {
    pub places: &'a [u32],
    pub n: usize,
    pub sums: &'a [Sum],
    pub classes: &'a [u8],
    /// What encodes by the tile's own table.
    pub own: Option<&'a Encoding>,
    /// Tokens are codes.
    pub direct: bool,
    pub words: &'a mut Words<'w>,
    /// See `Count`.
    pub long: F,
}

impl<F: Fn(usize, u32) -> Group> Task for Encode<'_, '_, F> {
    type Done = State;

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, p: P) -> State {
        let words = self.words;
        let (mut state, mut x) = (State::new(), [p.splat(1); M]);
        for (g, codes) in self.places.as_chunks::<GROUP>().0.iter().enumerate().take(self.classes.len()).rev() {
            let class = usize::from(self.classes[g]);
            if class == 0 {
                continue;
            }
            let table = match self.own {
                Some(own) if class == OWN => own,
                _ => &ENCODINGS[table_of(class)],
            };
            let (mut shifted, mut codes, more) = ([0; GROUP], codes, shift(class));
            if more > 0 {
                for at in (0..GROUP).step_by(LANES / M) {
                    p.store(p.right_by(p.load(&codes[at..]), p.splat(more)), &mut shifted[at..]);
                }
                codes = &shifted;
            }
            // Codes that are tokens have no raw bits.
            let (is_long, most) = (!has_vectors(&self.sums[g]), self.sums[g].most as u32 >> more);
            let long = is_long.then(|| (self.long)(g, more));
            let group = match &long {
                Some(long) => Tokens::<P, M>::of_group(p, long),
                None => Tokens::of(p, codes, if self.direct { 0 } else { most }),
            };
            let most = if self.direct || is_long { DIRECT } else { most };
            let left = self.n - g * GROUP;
            let before = (x, words.at);
            loop {
                match &long {
                    Some(long) => group.encode_raw(
                        p,
                        |from, part| {
                            for i in 0..GROUP {
                                part[i] = (long.bits[i] >> from) as u32;
                            }
                        },
                        &mut x,
                        words,
                    ),
                    None => group.encode_raw(
                        p,
                        |from, part| {
                            for at in (0..GROUP).step_by(LANES / M) {
                                p.store(p.right_by(p.load(&codes[at..]), p.splat(from)), &mut part[at..]);
                            }
                        },
                        &mut x,
                        words,
                    ),
                }
                match left {
                    GROUP.. if most < P::FEW => {
                        encode_tokens::<P, M, true, FEWER>(p, table, left, &group.tokens, &mut x, words)
                    }
                    GROUP.. if most < DIRECT => {
                        encode_tokens::<P, M, true, 2>(p, table, left, &group.tokens, &mut x, words)
                    }
                    GROUP.. => encode_tokens::<P, M, true, ANY>(p, table, left, &group.tokens, &mut x, words),
                    _ => encode_tokens::<P, M, false, ANY>(p, table, left, &group.tokens, &mut x, words),
                }
                if state.switch != NEVER {
                    break;
                }
                state.lanes = lanes_of(p, &x);
                if state.holds((lanes_of(p, &before.0), before.1), words, g + 1) {
                    break;
                }
                for k in 0..M {
                    x[k] = p.load(&state.lanes[k * (LANES / M)..]);
                }
            }
        }
        state.lanes = lanes_of(p, &x);
        state.step(words, 0, |lanes, words| classes::encode(self.classes, lanes, words));
        state
    }
}

/// The numbers of all lanes.
#[inline(always)]
fn lanes_of<P: CodeVectors<M>, const M: usize>(p: P, x: &[P::V; M]) -> [u32; LANES] {
    let mut lanes = [0; LANES];
    for k in 0..M {
        p.store(x[k], &mut lanes[k * (LANES / M)..]);
    }
    lanes
}

impl<P: CodeVectors<M>, const M: usize> Tokens<P, M> {
    /// Encodes the raw bits of codes, which `part` gives from a bit on: what is decoded last comes first.
    #[inline(always)]
    fn encode_raw(&self, p: P, part: impl Fn(u32, &mut [u32; GROUP]), x: &mut [P::V; M], words: &mut Words) {
        let n = LANES / M;
        let (zero, one, byte) = (p.splat(0), p.splat(1), p.splat(255));
        for round in (0..self.longest.div_ceil(RAW_BITS)).rev() {
            let (mut codes, mut quads) = ([0; GROUP], [[zero; QUAD]; M]);
            part(round * RAW_BITS, &mut codes);
            for k in 0..M {
                quads[k] = p.load_quads(&codes[k * n * QUAD..(k + 1) * n * QUAD]);
            }
            let from = p.splat(round * RAW_BITS);
            for j in (0..QUAD).rev() {
                let (mut bits, mut len, mut full) = ([zero; M], [zero; M], [p.mask(0); M]);
                for k in 0..M {
                    let own = p.and(p.right_by(self.lens[k], p.splat(8 * j as u32)), byte);
                    len[k] = p.min(p.sub(p.max(own, from), from), p.splat(RAW_BITS));
                    bits[k] = p.and(quads[k][j], p.sub(p.left_by(one, len[k]), one));
                    full[k] = p.less(p.sub(p.right_by(p.splat(1 << STATE_BITS), len[k]), one), x[k]);
                }
                p.put(x, full, words.buffer, &mut words.at);
                for k in 0..M {
                    x[k] = p.or(p.left_by(x[k], len[k]), bits[k]);
                }
            }
        }
    }
}

/// Tokens that are looked up: any; below `Simd::FEW`; others are below `DIRECT`.
const ANY: u8 = 0;
const FEWER: u8 = 1;

/// Encodes the tokens of a group of which so many codes are left.
#[inline(always)]
fn encode_tokens<P: CodeVectors<M>, const M: usize, const WHOLE: bool, const TOKENS: u8>(
    p: P,
    table: &Encoding,
    left: usize,
    tokens: &[P::V; M],
    x: &mut [P::V; M],
    words: &mut Words,
) {
    let Encoding { reciprocals, rest } = table;
    let low = p.splat((1 << TABLE_BITS) - 1);
    for j in (0..QUAD).rev() {
        let (mut reciprocal, mut other, mut full) = (*x, *x, [p.mask(0); M]);
        // Lanes that have value j.
        let has = |k: usize| {
            let lanes = (left.min(GROUP) + QUAD - 1 - j) / QUAD;
            p.mask((((1u64 << lanes) - 1) >> (k * (LANES / M))) as u32)
        };
        for k in 0..M {
            let token = p.right_by(tokens[k], p.splat(8 * j as u32));
            (reciprocal[k], other[k]) = match TOKENS {
                ANY => {
                    let token = p.and(token, p.splat(255));
                    (p.look_up(reciprocals, token), p.look_up(rest, token))
                }
                FEWER => {
                    let token = p.and(token, p.splat(P::FEW - 1));
                    (p.look_up_few(reciprocals, token), p.look_up_few(rest, token))
                }
                _ => {
                    let token = p.and(token, p.splat(DIRECT - 1));
                    (p.look_up_direct(reciprocals, token), p.look_up_direct(rest, token))
                }
            };
            // frequency · 2^18 − 1
            let lack = p.and(other[k], low);
            let most = p.sub(p.splat((1 << STATE_BITS) - 1), p.left::<{ STATE_BITS - TABLE_BITS }>(lack));
            full[k] = p.less(most, x[k]);
            if !WHOLE {
                full[k] = p.both(full[k], has(k));
            }
        }
        p.put(x, full, words.buffer, &mut words.at);
        for k in 0..M {
            let q = p.right_by(p.mul_high(x[k], reciprocal[k]), p.right::<21>(other[k]));
            let more = p.and(p.right::<10>(other[k]), p.splat(2047));
            let next = p.add(p.add(x[k], more), p.mul(q, p.and(other[k], low)));
            x[k] = if WHOLE { next } else { p.select(has(k), next, x[k]) };
        }
    }
}
