//! Groups of codes to words, by vectors; of codes of more than 31 bits tokens and raw bits are made one by one.

use super::classes;
use super::sums::{Sum, Sums};
use super::tables::{CLASSES, ENCODINGS, Encoding, OWN, PLAIN, TOKEN_COSTS, TOKENS, last_token, sort, table_of};
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
fn has_vectors(sum: &Sum) -> bool {
    sum.most < LIMIT
}
/// Up to so many vector comparisons are no slower than counting tokens one by one.
const FEW: u32 = 60;

/// The codes of a tile, taken apart.
pub struct Codes<'a, N> {
    pub codes: &'a [N],
    /// Low bits of each that stand apart.
    pub low: u32,
    pub sums: &'a Sums,
    /// The same without low bits, in whole groups, as far as vectors code them.
    pub places: &'a [u32],
}

impl<'a, N: Word> Codes<'a, N> {
    /// The codes of group `g`.
    #[inline(always)]
    fn group(&self, g: usize) -> &'a [N] {
        &self.codes[g * GROUP..self.codes.len().min((g + 1) * GROUP)]
    }

    /// What they cost in a class, with the low bits that it leaves apart.
    #[inline(always)]
    fn cost<P: CodeVectors<M>, const M: usize>(&self, p: P, g: usize, class: usize) -> u64 {
        let (own, costs, more, lanes) = (self.group(g), &TOKEN_COSTS[table_of(class)], shift(class), LANES / M);
        let apart = BIT * u64::from(more) * own.len() as u64;
        if !has_vectors(&self.sums[g]) {
            let cost = |c: &N| u64::from(costs[token((*c >> (self.low + more)).to_u64()).0 as usize]);
            return own.iter().map(cost).sum::<u64>() + apart;
        }
        let (codes, most) = (&self.places.as_chunks::<GROUP>().0[g], self.sums[g].most as u32 >> more);
        let (more_v, mut sum) = (p.splat(more), p.splat(0));
        for at in (0..GROUP).step_by(lanes) {
            let code = p.right_by(p.load(&codes[at..]), more_v);
            let cost = match most {
                _ if most < P::FEW => p.look_up_few(costs, code),
                _ if most < DIRECT => p.look_up_direct(costs, code),
                _ => p.look_up(costs, token_of(p, code).0),
            };
            sum = p.add(sum, cost);
        }
        u64::from(p.total(sum)) - (GROUP - own.len()) as u64 * u64::from(costs[0]) + apart
    }
}

/// Gives groups of codes their classes.
pub struct Classify<'a, N> {
    pub of: &'a Codes<'a, N>,
    pub classes: &'a mut [u8],
}

impl<N: Word> Task for Classify<'_, N> {
    type Done = ();

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, p: P) {
        for g in 0..self.classes.len() {
            let sum = &self.of.sums[g];
            if !sum.any {
                continue;
            }
            let [first, second, wide] = sort(sum.magnitudes.max(1), sum.nonzeros);
            let fits = |class: usize| token(sum.most >> shift(class)).0 <= last_token(table_of(class));
            self.classes[g] = match (fits(first), fits(second)) {
                (true, true) if first != second && self.of.cost(p, g, second) < self.of.cost(p, g, first) => second,
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
pub struct Count<'a, N> {
    pub of: &'a Codes<'a, N>,
    pub classes: &'a [u8],
    pub asked: &'a dyn Fn(usize) -> bool,
    pub counts: &'a mut [[u32; TOKENS]; CLASSES],
    pub costs: &'a mut [u64; CLASSES],
}

impl<N: Word> Task for Count<'_, N> {
    type Done = ();

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, p: P) {
        let groups = self.of.places.as_chunks::<GROUP>().0.iter().zip(self.classes).enumerate();
        for (g, (codes, class)) in groups {
            let (class, own, sum) = (usize::from(*class), self.of.group(g), &self.of.sums[g]);
            if class == 0 || !(self.asked)(g) {
                continue;
            }
            let counts = &mut self.counts[class];
            self.costs[class] += self.of.cost(p, g, class);
            if has_vectors(sum) {
                let most = sum.most as u32;
                Tokens::<P, M>::of(p, codes, most).count(p, most, counts);
            } else {
                Tokens::<P, M>::of_long(p, own, self.of.low).count(p, u32::MAX, counts);
            }
            counts[0] -= (GROUP - own.len()) as u32;
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

    /// Those of codes of any length, without so many low bits.
    #[inline(always)]
    fn of_long<N: Word>(p: P, codes: &[N], low: u32) -> Self {
        let (mut tokens, mut lens, mut longest) = ([0u32; GROUP], [0u32; GROUP], 0);
        for (i, code) in codes.iter().enumerate() {
            (tokens[i], lens[i]) = token((*code >> low).to_u64());
            longest = longest.max(lens[i]);
        }
        let n = LANES / M * QUAD;
        let mut all = Tokens { tokens: [p.splat(0); M], lens: [p.splat(0); M], longest };
        for k in 0..M {
            all.tokens[k] = p.pack_bytes(&tokens[k * n..(k + 1) * n]);
            all.lens[k] = p.pack_bytes(&lens[k * n..(k + 1) * n]);
        }
        all
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

    /// Encodes the raw bits of codes, of long ones without so many low bits: what is decoded last comes first.
    #[inline(always)]
    fn encode_raw<N: Word>(
        &self,
        p: P,
        codes: &[u32; GROUP],
        long: Option<(&[N], u32)>,
        x: &mut [P::V; M],
        words: &mut Words,
    ) {
        let n = LANES / M;
        let (zero, one, byte) = (p.splat(0), p.splat(1), p.splat(255));
        for round in (0..self.longest.div_ceil(RAW_BITS)).rev() {
            let (from, mut part, mut quads) = (round * RAW_BITS, [0; GROUP], [[zero; QUAD]; M]);
            if let Some((long, low)) = long {
                for i in 0..long.len() {
                    part[i] = ((long[i] >> low).to_u64() >> from) as u32;
                }
            } else {
                for at in (0..GROUP).step_by(n) {
                    p.store(p.right_by(p.load(&codes[at..]), p.splat(from)), &mut part[at..]);
                }
            }
            for k in 0..M {
                quads[k] = p.load_quads(&part[k * n * QUAD..(k + 1) * n * QUAD]);
            }
            let from = p.splat(from);
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

/// Encodes groups by 32 lanes, the last one first. States begin at 1 and grow; where a word would be needed they are
/// made as large as they have to be from there on. How coding ended.
pub struct Encode<'a, 'w, N> {
    pub of: &'a Codes<'a, N>,
    pub classes: &'a [u8],
    /// What encodes by the tile's own table.
    pub own: Option<&'a Encoding>,
    /// Tokens are codes.
    pub direct: bool,
    pub words: &'a mut Words<'w>,
}

impl<N: Word> Task for Encode<'_, '_, N> {
    type Done = State;

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, p: P) -> State {
        let words = self.words;
        let Codes { low, sums, places, .. } = *self.of;
        let (mut state, mut x) = (State::new(), [p.splat(1); M]);
        for (g, codes) in places.as_chunks::<GROUP>().0.iter().enumerate().take(self.classes.len()).rev() {
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
            let own = self.of.group(g);
            let long = (!has_vectors(&sums[g])).then_some((own, low + more));
            // Codes that are tokens have no raw bits.
            let most = if self.direct { 0 } else { sums[g].most as u32 >> more };
            let group = match long {
                Some((long, low)) => Tokens::<P, M>::of_long(p, long, low),
                None => Tokens::of(p, codes, most),
            };
            let most = if self.direct || long.is_some() { DIRECT } else { most };
            let before = (x, words.at);
            loop {
                group.encode_raw(p, codes, long, &mut x, words);
                match own.len() {
                    GROUP if most < P::FEW => {
                        encode_tokens::<P, M, true, FEWER>(p, table, GROUP, &group.tokens, &mut x, words)
                    }
                    GROUP if most < DIRECT => {
                        encode_tokens::<P, M, true, 2>(p, table, GROUP, &group.tokens, &mut x, words)
                    }
                    GROUP => encode_tokens::<P, M, true, ANY>(p, table, GROUP, &group.tokens, &mut x, words),
                    n => encode_tokens::<P, M, false, ANY>(p, table, n, &group.tokens, &mut x, words),
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

/// Tokens that are looked up: any; below `Simd::FEW`; others are below `DIRECT`.
const ANY: u8 = 0;
const FEWER: u8 = 1;

/// Encodes the tokens of a group of `n` codes.
#[inline(always)]
fn encode_tokens<P: CodeVectors<M>, const M: usize, const WHOLE: bool, const TOKENS: u8>(
    p: P,
    table: &Encoding,
    n: usize,
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
            let lanes = (n + QUAD - 1 - j) / QUAD;
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
