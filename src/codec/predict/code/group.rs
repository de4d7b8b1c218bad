//! Groups of codes by vectors: what `encode` and `decode` do lane by lane, of codes that fit 32 bits. Codes of more
//! than 25 bits are only decoded.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::counts::TokenCounts;
use super::own_table::{OWN, SYMBOLS};
use super::tables::{self, FREQUENCIES, TABLES};
use super::token_costs::DIRECT_COSTS;
use crate::codec::predict::format::{DIRECT, GROUP, QUAD, RUN, RUNS, present_in};
use crate::codec::predict::simd::lanes::ByLevel;
use crate::codec::predict::simd::vec::Simd;
use crate::error::Result;
use crate::host::memory::boxed;
use crate::primitives::rans::{LANES, RAW_BITS, STATE_BITS, TABLE_BITS, Words};

/// Places of tables of tokens: more than there are tokens, so that any byte is one.
const BYTES: usize = 256;
/// The most words that a group takes: one for each symbol, and for each of up to three rounds of raw bits.
const MOST_WORDS: usize = 4 * GROUP;
/// Comparisons of tokens that take as long as counting them one by one.
const FEW: u32 = 60;
/// What may be read behind the last word that counts.
const READ_SLACK: usize = LANES;

/// For each token what encodes it in a table: its frequency's reciprocal, and bits 0–9 what the frequency lacks of
/// 1024, bits 10–20 what is added, bits 21–24 a shift. With q the upper half of state · reciprocal, shifted to the
/// right, the new state is state + q · lack + what is added. A frequency of 1 has q = state − 1, which the sum makes up
/// for.
#[derive(Clone, Copy)]
pub struct Encoding<'a> {
    reciprocals: &'a [u32; BYTES],
    rest: &'a [u32; BYTES],
}

/// The reciprocals and the rest of the tables that are always there.
static ENCODING: [([u32; BYTES], [u32; BYTES]); TABLES] = {
    let mut all = [([0; BYTES], [0; BYTES]); TABLES];
    let mut t = 0;
    while t < TABLES {
        let (mut s, mut start) = (0, 0);
        while s < FREQUENCIES[t].len() {
            let frequency = FREQUENCIES[t][s] as u32;
            (all[t].0[s], all[t].1[s]) = encoding(start, frequency);
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
        return (u32::MAX, lack | (start + lack) << 10);
    }
    let shift = 31 - (frequency - 1).leading_zeros();
    ((1u64 << (32 + shift)).div_ceil(frequency as u64) as u32, lack | start << 10 | shift << 21)
}

impl Encoding<'static> {
    /// That of a class's table.
    pub fn of(class: usize) -> Encoding<'static> {
        Encoding { reciprocals: &ENCODING[class].0, rest: &ENCODING[class].1 }
    }
}

/// What encodes the tokens of a tile's own table.
pub struct OwnEncoding {
    reciprocals: Box<[u32; BYTES]>,
    rest: Box<[u32; BYTES]>,
}

impl OwnEncoding {
    /// One of no use yet.
    pub fn new() -> Result<OwnEncoding> {
        Ok(OwnEncoding { reciprocals: boxed(0)?, rest: boxed(0)? })
    }

    /// That of a table; what tokens without slots get means nothing.
    #[inline(always)]
    pub fn fill(&mut self, frequencies: &[u16; SYMBOLS]) -> Encoding<'_> {
        let mut start = 0;
        for (s, f) in frequencies.iter().enumerate() {
            let (reciprocal, rest) = BY_FREQUENCY[usize::from(*f) % (1 << TABLE_BITS)];
            (self.reciprocals[s], self.rest[s]) = (reciprocal, rest + (start << 10));
            start += u32::from(*f);
        }
        Encoding { reciprocals: &self.reciprocals, rest: &self.rest }
    }
}

/// A group taken apart: for each lane four tokens and how many raw bits each has, as bytes, and these bits of the four.
/// Vectors of it lie in one line of the cache each.
#[derive(Clone)]
#[repr(align(64))]
pub struct Group {
    /// Of each lane four bytes.
    pub tokens: [u32; LANES],
    lens: [u32; LANES],
    bits: [[u32; LANES]; QUAD],
    /// 0 if all codes are 0.
    pub class: usize,
    /// The greatest code.
    most: u32,
    /// The most raw bits of a value, and of a lane.
    longest: (u32, u32),
}

/// See `costs::direct_cost`.
pub struct DirectCost<'a> {
    /// The codes of a group.
    pub codes: &'a [u32; GROUP],
}

impl ByLevel for DirectCost<'_> {
    type Done = Option<u32>;

    #[inline(always)]
    fn run<P: Simd<M>, const M: usize>(self, p: P) -> Option<u32> {
        direct_cost(p, self.codes)
    }
}

#[inline(always)]
fn direct_cost<P: Simd<M>, const M: usize>(p: P, codes: &[u32; GROUP]) -> Option<u32> {
    let n = LANES / M;
    let mut most = p.load(codes);
    for k in 1..4 * M {
        most = p.max(most, p.load(&codes[k * n..]));
    }
    let most = p.largest(most);
    if most == 0 || most >= DIRECT {
        return (most == 0).then_some(0);
    }
    let (mut tokens, mut sum, mut zeros) = ([p.splat(0); M], p.splat(0), 0);
    for k in 0..M {
        tokens[k] = p.pack_bytes(&codes[k * n * QUAD..(k + 1) * n * QUAD]);
        sum = p.add(sum, p.sums_of_halves(tokens[k]));
        zeros += p.occurrences(tokens[k], 0);
    }
    let (first, second) = tables::classes(p.total(sum), GROUP as u32 - zeros, most.into());
    let mut cost = cost_in_table(p, &tokens, first);
    if let Some(second) = second {
        cost = cost.min(cost_in_table(p, &tokens, second));
    }
    Some(cost.max(1))
}

/// What tokens that are all below `DIRECT` cost in a table.
#[inline(always)]
fn cost_in_table<P: Simd<M>, const M: usize>(p: P, tokens: &[P::V; M], class: usize) -> u32 {
    let mut cost = p.splat(0);
    for k in 0..M {
        cost = p.add(cost, p.direct_costs(tokens[k], &DIRECT_COSTS[class]));
    }
    p.total(cost)
}

impl Group {
    /// One in which all codes are 0.
    pub const ZERO: Group =
        Group { tokens: [0; LANES], lens: [0; LANES], bits: [[0; LANES]; QUAD], class: 0, most: 0, longest: (0, 0) };

    /// Takes codes apart.
    #[inline(always)]
    pub fn take<P: Simd<M>, const M: usize>(&mut self, p: P, codes: &[u32; GROUP]) {
        let n = LANES / M;
        let mut most = p.load(codes);
        for part in codes.chunks_exact(n).skip(1) {
            most = p.max(most, p.load(part));
        }
        if p.bits(p.less(p.splat(0), most)) == 0 {
            self.class = 0;
            return;
        }
        let most = p.largest(most);
        self.most = most;
        let (mut sum, mut zeros) = (p.splat(0), 0);
        if most < DIRECT {
            for k in 0..M {
                let tokens = p.pack_bytes(&codes[k * n * QUAD..(k + 1) * n * QUAD]);
                p.store(tokens, &mut self.tokens[k * n..(k + 1) * n]);
                sum = p.add(sum, p.sums_of_halves(tokens));
                zeros += p.occurrences(tokens, 0);
            }
            self.longest = (0, 0);
        } else {
            (sum, zeros) = self.take_long(p, codes);
        }
        let (first, second) = tables::classes(p.total(sum), GROUP as u32 - zeros, most.into());
        self.class = match second {
            Some(second) if self.direct_cost(p, second) < self.direct_cost(p, first) => second,
            _ => first,
        };
    }

    /// What tokens that are all below `DIRECT` cost in a table.
    #[inline(always)]
    fn direct_cost<P: Simd<M>, const M: usize>(&self, p: P, class: usize) -> u32 {
        let n = LANES / M;
        let mut tokens = [p.splat(0); M];
        for k in 0..M {
            tokens[k] = p.load(&self.tokens[k * n..]);
        }
        cost_in_table(p, &tokens, class)
    }

    /// Takes codes that are tokens of a table of all groups.
    #[inline(always)]
    pub fn take_symbols<P: Simd<M>, const M: usize>(&mut self, p: P, codes: &[u32; GROUP]) {
        let n = LANES / M;
        for k in 0..M {
            let tokens = p.pack_bytes(&codes[k * n * QUAD..(k + 1) * n * QUAD]);
            p.store(tokens, &mut self.tokens[k * n..(k + 1) * n]);
        }
        self.class = if codes.iter().fold(0, |any, c| any | c) == 0 { 0 } else { OWN };
        self.most = u32::from(u8::MAX);
        self.longest = (0, 0);
    }

    /// The same where some have raw bits.
    #[inline(always)]
    fn take_long<P: Simd<M>, const M: usize>(&mut self, p: P, codes: &[u32; GROUP]) -> (P::V, u32) {
        let n = LANES / M;
        let (zero, one) = (p.splat(0), p.splat(1));
        let (mut longest, mut longest_lane, mut all, mut zeros) = (zero, zero, zero, 0);
        for k in 0..M {
            let quads = p.load_quads(&codes[k * n * QUAD..(k + 1) * n * QUAD]);
            let (mut tokens, mut lens, mut sum, mut total) = (zero, zero, zero, zero);
            for j in (0..QUAD).rev() {
                let code = quads[j];
                zeros += p.bits(p.less(code, one)).count_ones();
                sum = p.add(sum, p.add(p.right::<1>(code), p.and(code, one)));
                let is_direct = p.less(code, p.splat(DIRECT));
                let octave = p.octave(p.max(code, one));
                let len = p.select(is_direct, zero, p.sub(octave, one));
                let token = p.add(p.add(octave, octave), p.add(p.right_by(code, len), p.splat(50)));
                let token = p.select(is_direct, code, token);
                let bits = p.and(code, p.sub(p.left_by(one, len), one));
                p.store(bits, &mut self.bits[j][k * n..(k + 1) * n]);
                tokens = p.or(p.left::<8>(tokens), token);
                lens = p.or(p.left::<8>(lens), len);
                total = p.add(total, len);
                longest = p.max(longest, len);
            }
            longest_lane = p.max(longest_lane, total);
            all = p.add(all, sum);
            p.store(tokens, &mut self.tokens[k * n..(k + 1) * n]);
            p.store(lens, &mut self.lens[k * n..(k + 1) * n]);
        }
        self.longest = (p.largest(longest), p.largest(longest_lane));
        (all, zeros)
    }

    /// Counts its tokens, of which so many stand for nothing: those are 0.
    #[inline(always)]
    pub fn count<P: Simd<M>, const M: usize>(&self, p: P, counts: &mut TokenCounts, absent: u32) {
        // Of few different tokens each is counted by comparing all with it.
        if self.most * M as u32 > FEW {
            let (ranges, _) = counts.of(self.class)[0].as_chunks_mut();
            if p.count_range(&self.tokens, 0, &mut ranges[0]) {
                if self.most >= DIRECT {
                    p.count_range(&self.tokens, 1, &mut ranges[1]);
                }
                return counts.forget(self.class, absent);
            }
            return counts.add(self.class, &self.tokens.map(u32::to_le_bytes), absent);
        }
        let n = LANES / M;
        let each = &mut counts.of(self.class)[0];
        let mut zeros = GROUP as u32 - absent;
        for token in 1..=self.most {
            let mut count = 0;
            for k in 0..M {
                count += p.occurrences(p.load(&self.tokens[k * n..]), token as u8);
            }
            each[token as usize] += count as u16;
            zeros -= count;
        }
        each[0] = each[0].wrapping_add(zeros as u16);
    }

    /// Encodes it by a table; a bit of `has` tells for each value of a lane whether it is there. What is decoded last
    /// comes first.
    #[inline(always)]
    pub fn encode<P: Simd<M>, const M: usize, const WHOLE: bool>(
        &self,
        p: P,
        table: Encoding,
        has: &[P::V; M],
        x: &mut [P::V; M],
        words: &mut Words,
    ) {
        let n = LANES / M;
        let mut tokens = *x;
        for k in 0..M {
            tokens[k] = p.load(&self.tokens[k * n..]);
        }
        if self.longest.0 > 0 {
            self.encode_raw(p, x, words);
            encode_tokens::<P, M, WHOLE, ANY>(p, table, has, &tokens, x, words);
        } else if self.most >= DIRECT {
            encode_tokens::<P, M, WHOLE, ANY>(p, table, has, &tokens, x, words);
        } else if self.most >= P::FEW {
            encode_tokens::<P, M, WHOLE, { DIRECT as u8 }>(p, table, has, &tokens, x, words);
        } else {
            encode_tokens::<P, M, WHOLE, FEWER>(p, table, has, &tokens, x, words);
        }
    }

    #[inline(always)]
    fn encode_raw<P: Simd<M>, const M: usize>(&self, p: P, x: &mut [P::V; M], words: &mut Words) {
        let n = LANES / M;
        let (zero, byte) = (p.splat(0), p.splat(255));
        let mut lens = [zero; M];
        for k in 0..M {
            lens[k] = p.load(&self.lens[k * n..]);
        }
        let (mut bits, mut len) = ([zero; M], [zero; M]);
        if self.longest.1 <= RAW_BITS {
            for k in 0..M {
                for j in 0..QUAD {
                    bits[k] = p.or(bits[k], p.left_by(p.load(&self.bits[j][k * n..]), len[k]));
                    len[k] = p.add(len[k], p.and(p.right_by(lens[k], p.splat(8 * j as u32)), byte));
                }
            }
            return put_raw(p, x, &bits, &len, words);
        }
        for round in (0..self.longest.0.div_ceil(RAW_BITS)).rev() {
            let from = p.splat(round * RAW_BITS);
            for j in (0..QUAD).rev() {
                for k in 0..M {
                    let own = p.and(p.right_by(lens[k], p.splat(8 * j as u32)), byte);
                    len[k] = p.min(p.sub(p.max(own, from), from), p.splat(RAW_BITS));
                    let all = p.right_by(p.load(&self.bits[j][k * n..]), from);
                    bits[k] = p.and(all, p.sub(p.left_by(p.splat(1), len[k]), p.splat(1)));
                }
                put_raw(p, x, &bits, &len, words);
            }
        }
    }
}

/// Where the bits of a lane's four values stand among those of a run.
static IN_RUN: [u32; LANES] = {
    let mut shifts = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        shifts[lane] = (QUAD * (lane % (RUN / QUAD))) as u32;
        lane += 1;
    }
    shifts
};

/// For each lane a bit for each of its values, from a bit for each place of the four runs of a group.
#[inline(always)]
pub fn quads_of<P: Simd<M>, const M: usize>(p: P, runs: &[u32; RUNS]) -> [P::V; M] {
    let n = LANES / M;
    let mut quads = [p.splat(0); M];
    for k in 0..M {
        let first = k * RUNS / M;
        let mut bits = p.splat(runs[first]);
        if M < RUNS {
            bits = p.select(p.mask(0xFF), bits, p.splat(runs[first + 1]));
        }
        quads[k] = p.right_by(bits, p.load(&IN_RUN[k * n..]));
    }
    quads
}

/// The lanes that have value j.
#[inline(always)]
fn has_value<P: Simd<M>, const M: usize>(p: P, quads: P::V, j: u32) -> P::Mask {
    p.less(p.splat(0), p.and(quads, p.splat(1 << j)))
}

/// Tokens that `encode_tokens` looks up: any; below `DIRECT`; below `Simd::FEW`.
const ANY: u8 = 0;
const FEWER: u8 = 1;

/// Encodes the tokens of a group.
#[inline(always)]
fn encode_tokens<P: Simd<M>, const M: usize, const WHOLE: bool, const TOKENS: u8>(
    p: P,
    table: Encoding,
    has: &[P::V; M],
    tokens: &[P::V; M],
    x: &mut [P::V; M],
    words: &mut Words,
) {
    let Encoding { reciprocals, rest } = table;
    let low = p.splat((1 << TABLE_BITS) - 1);
    for j in (0..QUAD as u32).rev() {
        let (mut reciprocal, mut other, mut full) = (*x, *x, [p.mask(0); M]);
        for k in 0..M {
            let token = p.right_by(tokens[k], p.splat(8 * j));
            (reciprocal[k], other[k]) = match TOKENS {
                ANY => (p.look_up(reciprocals, token), p.look_up(rest, token)),
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
                full[k] = p.both(full[k], has_value(p, has[k], j));
            }
        }
        p.put(x, full, words.buffer, &mut words.at);
        for k in 0..M {
            let q = p.right_by(p.mul_high(x[k], reciprocal[k]), p.right::<21>(other[k]));
            let more = p.and(p.right::<10>(other[k]), p.splat(2047));
            let next = p.add(p.add(x[k], more), p.mul(q, p.and(other[k], low)));
            x[k] = if WHOLE { next } else { p.select(has_value(p, has[k], j), next, x[k]) };
        }
    }
}

/// Encodes as many raw bits on each lane.
#[inline(always)]
fn put_raw<P: Simd<M>, const M: usize>(p: P, x: &mut [P::V; M], bits: &[P::V; M], len: &[P::V; M], words: &mut Words) {
    let mut full = [p.mask(0); M];
    for k in 0..M {
        let most = p.sub(p.right_by(p.splat(1 << STATE_BITS), len[k]), p.splat(1));
        full[k] = p.less(most, x[k]);
    }
    p.put(x, full, words.buffer, &mut words.at);
    for k in 0..M {
        x[k] = p.or(p.left_by(x[k], len[k]), bits[k]);
    }
}

/// The numbers of all lanes.
#[inline(always)]
pub fn lanes_of<P: Simd<M>, const M: usize>(p: P, x: &[P::V; M]) -> [u32; LANES] {
    let mut lanes = [0; LANES];
    for k in 0..M {
        p.store(x[k], &mut lanes[k * (LANES / M)..]);
    }
    lanes
}

/// The last words of a tile, and zeros behind them.
pub type Tail = [[u8; 2]; 2 * MOST_WORDS + READ_SLACK];

/// The words of a decoder, behind whose end there are zeros.
pub struct Source<'a> {
    words: &'a [[u8; 2]],
    /// The next one.
    pub at: usize,
    tail: &'a mut Tail,
    /// Where the tail begins, once it is read from.
    tail_at: Option<usize>,
}

impl<'a> Source<'a> {
    /// These words, from the one at `at` on; `tail` is of use meanwhile.
    pub fn new(words: &'a [[u8; 2]], at: usize, tail: &'a mut Tail) -> Source<'a> {
        Source { words, at, tail, tail_at: None }
    }

    /// Words, and where the next one is among them, which as many follow as a group may take; `None` if more were taken
    /// than there are.
    #[inline(always)]
    fn window(&mut self) -> Option<(&[[u8; 2]], usize)> {
        let rest = self.words.get(self.at..)?;
        if rest.len() >= MOST_WORDS + READ_SLACK {
            return Some((self.words, self.at));
        }
        let tail_at = match self.tail_at {
            Some(at) => at,
            None => {
                self.tail[..rest.len()].copy_from_slice(rest);
                self.tail[rest.len()..].fill([0; 2]);
                *self.tail_at.insert(self.at)
            }
        };
        Some((&self.tail[..], self.at - tail_at))
    }
}

/// States at work, and the words that they take.
pub struct States<'a, P: Simd<M>, const M: usize> {
    p: P,
    x: [P::V; M],
    threshold: P::V,
    /// The words.
    pub source: Source<'a>,
}

impl<'a, P: Simd<M>, const M: usize> States<'a, P, M> {
    /// These, which take words below the threshold.
    #[inline(always)]
    pub fn new(p: P, lanes: &[u32; LANES], threshold: u32, source: Source<'a>) -> Self {
        let mut states = States { p, x: [p.splat(0); M], threshold: p.splat(threshold), source };
        states.set(lanes);
        states
    }

    #[inline(always)]
    fn set(&mut self, lanes: &[u32; LANES]) {
        for k in 0..M {
            self.x[k] = self.p.load(&lanes[k * (LANES / M)..]);
        }
    }

    /// From here on they are these, and take no words.
    #[inline(always)]
    pub fn change(&mut self, lanes: &[u32; LANES]) {
        self.set(lanes);
        self.threshold = self.p.splat(0);
    }

    /// The states.
    #[inline(always)]
    pub fn lanes(&self) -> [u32; LANES] {
        lanes_of(self.p, &self.x)
    }
}

/// What a group is decoded by: the slots of its table, which one it is of how many codes, and where its differences go.
pub struct Turn<'a, const M: usize> {
    /// The slots.
    pub slots: &'a [u32; 1 << TABLE_BITS],
    /// The codes of the tile, and the group.
    pub place: (usize, usize),
    /// Tokens are codes.
    pub direct: bool,
    /// The differences.
    pub out: &'a mut [u32; GROUP],
}

/// Decodes the differences of a group each of N tiles: while the states of one wait for their slots those of the others
/// work. `None` if words have ended before; otherwise whether no token is above `last`, for which there is no room in
/// 32 bits, or in the words.
#[inline(always)]
pub fn decode<P: Simd<M>, const M: usize, const N: usize, const WHOLE: bool>(
    p: P,
    states: &mut [&mut States<P, M>; N],
    turns: &mut [Turn<M>; N],
    last: u32,
) -> Option<bool> {
    let n = LANES / M;
    let low = p.splat((1 << TABLE_BITS) - 1);
    let (mut x, mut tokens, mut thresholds) = ([[low; M]; N], [[p.splat(0); M]; N], [low; N]);
    let (mut windows, mut at): ([&[[u8; 2]]; N], _) = ([&[]; N], [0; N]);
    for t in 0..N {
        (x[t], thresholds[t]) = (states[t].x, states[t].threshold);
    }
    for (t, states) in states.iter_mut().enumerate() {
        (windows[t], at[t]) = states.source.window()?;
    }
    let first = at;
    let mut has = [[p.splat(0); M]; N];
    if !WHOLE {
        for t in 0..N {
            let (n, g) = turns[t].place;
            has[t] = quads_of(p, &present_in(n, g));
        }
    }
    for j in 0..QUAD as u32 {
        let mut takes = [[p.mask(0); M]; N];
        for t in 0..N {
            for k in 0..M {
                let entry = p.look_up(turns[t].slots, x[t][k]);
                let frequency = p.and(p.right::<TABLE_BITS>(entry), low);
                let next = p.add(p.mul(frequency, p.right::<TABLE_BITS>(x[t][k])), p.and(entry, low));
                takes[t][k] = p.less(next, thresholds[t]);
                let mut symbol = p.right::<{ 2 * TABLE_BITS }>(entry);
                if WHOLE {
                    x[t][k] = next;
                } else {
                    let has = has_value(p, has[t][k], j);
                    x[t][k] = p.select(has, next, x[t][k]);
                    takes[t][k] = p.both(takes[t][k], has);
                    symbol = p.select(has, symbol, p.splat(0));
                }
                tokens[t][k] = p.or(tokens[t][k], p.left_by(symbol, p.splat(8 * j)));
            }
        }
        for t in 0..N {
            p.refill(&mut x[t], takes[t], windows[t], &mut at[t]);
        }
    }
    let mut fits = true;
    for t in 0..N {
        let mut any = tokens[t][0];
        for other in &tokens[t][1..] {
            any = p.or(any, *other);
        }
        let is_long = p.and(p.or(p.right::<1>(any), any), p.splat(0x4040_4040));
        let direct = turns[t].direct;
        let out = &mut *turns[t].out;
        if direct || p.bits(p.less(p.splat(0), is_long)) == 0 {
            let (ones, halves) = (p.splat(0x0101_0101), p.splat(0x7F7F_7F7F));
            for k in 0..M {
                // Of each byte the bits above the lowest one, turned if that is set: no byte takes from another.
                let sign = p.and(tokens[t][k], ones);
                let turn = p.sub(p.left::<8>(sign), sign);
                let half = p.and(p.right::<1>(tokens[t][k]), halves);
                p.unpack_bytes(p.xor(half, turn), &mut out[k * n * QUAD..(k + 1) * n * QUAD]);
            }
        } else {
            fits &= raw(p, thresholds[t], &mut x[t], &tokens[t], last, windows[t], &mut at[t], out);
        }
    }
    for t in 0..N {
        states[t].x = x[t];
        states[t].source.at += at[t] - first[t];
    }
    Some(fits)
}

/// Takes as many raw bits from each state.
#[inline(always)]
fn take_raw<P: Simd<M>, const M: usize>(
    p: P,
    threshold: P::V,
    x: &mut [P::V; M],
    len: &[P::V; M],
    words: &[[u8; 2]],
    at: &mut usize,
) -> [P::V; M] {
    let (one, zero) = (p.splat(1), p.splat(0));
    let (mut bits, mut takes) = (*x, [p.mask(0); M]);
    for k in 0..M {
        bits[k] = p.and(x[k], p.sub(p.left_by(one, len[k]), one));
        x[k] = p.right_by(x[k], len[k]);
        takes[k] = p.both(p.less(x[k], threshold), p.less(zero, len[k]));
    }
    p.refill(x, takes, words, at);
    bits
}

/// The differences of tokens with raw bits; whether no token is above `last`.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // What a group has at hand.
fn raw<P: Simd<M>, const M: usize>(
    p: P,
    threshold: P::V,
    x: &mut [P::V; M],
    tokens: &[P::V; M],
    last: u32,
    words: &[[u8; 2]],
    at: &mut usize,
    out: &mut [u32; GROUP],
) -> bool {
    let (zero, one) = (p.splat(0), p.splat(1));
    let (mut lens, mut codes) = ([[zero; M]; QUAD], [[zero; M]; QUAD]);
    let (mut largest, mut total) = (zero, [zero; M]);
    for j in 0..QUAD {
        for k in 0..M {
            let token = p.and(p.right_by(tokens[k], p.splat(8 * j as u32)), p.splat(255));
            let is_direct = p.less(token, p.splat(DIRECT));
            let len = p.select(is_direct, zero, p.sub(p.right::<1>(token), p.splat(27)));
            let code = p.left_by(p.add(p.and(token, one), p.splat(2)), len);
            codes[j][k] = p.select(is_direct, token, code);
            lens[j][k] = len;
            total[k] = p.add(total[k], len);
            largest = p.max(largest, token);
        }
    }
    let largest = p.largest(largest);
    if largest > last {
        return false;
    }
    let mut most = total[0];
    for other in &total[1..] {
        most = p.max(most, *other);
    }
    if p.largest(most) <= RAW_BITS {
        let mut bits = take_raw(p, threshold, x, &total, words, at);
        for j in 0..QUAD {
            for k in 0..M {
                let len = lens[j][k];
                codes[j][k] = p.or(codes[j][k], p.and(bits[k], p.sub(p.left_by(one, len), one)));
                bits[k] = p.right_by(bits[k], len);
            }
        }
    } else {
        let longest = (largest >> 1) - 27;
        for round in 0..longest.div_ceil(RAW_BITS) {
            let from = p.splat(round * RAW_BITS);
            for j in 0..QUAD {
                let mut len = [zero; M];
                for k in 0..M {
                    len[k] = p.min(p.sub(p.max(lens[j][k], from), from), p.splat(RAW_BITS));
                }
                let bits = take_raw(p, threshold, x, &len, words, at);
                for k in 0..M {
                    codes[j][k] = p.or(codes[j][k], p.left_by(bits[k], from));
                }
            }
        }
    }
    let n = LANES / M;
    for k in 0..M {
        let mut quads = [zero; QUAD];
        for j in 0..QUAD {
            let code = codes[j][k];
            quads[j] = p.xor(p.right::<1>(code), p.sub(zero, p.and(code, one)));
        }
        p.store_quads(quads, &mut out[k * n * QUAD..(k + 1) * n * QUAD]);
    }
    true
}
