//! Groups of codes by vectors: what `encode` does lane by lane, of codes of at most 25 bits.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::encoding::Encoding;
use super::lanes::has_value;
use crate::codec::predict::code::counts::TokenCounts;
use crate::codec::predict::code::own_table::OWN;
use crate::codec::predict::code::tables;
use crate::codec::predict::code::token_costs::DIRECT_COSTS;
use crate::codec::predict::format::{DIRECT, GROUP, QUAD};
use crate::primitives::rans::{LANES, RAW_BITS, STATE_BITS, TABLE_BITS, Words};
use crate::simd::lanes::ByLevel;
use crate::simd::vec::Simd;

/// Comparisons of tokens that take as long as counting them one by one.
const FEW: u32 = 60;
/// A group taken apart: for each lane four tokens and how many raw bits each has, as bytes. Vectors of it lie in one
/// line of the cache each.
#[derive(Clone)]
#[repr(align(64))]
pub struct Group {
    /// Of each lane four bytes.
    pub tokens: [u32; LANES],
    lens: [u32; LANES],
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
    pub const ZERO: Group = Group { tokens: [0; LANES], lens: [0; LANES], class: 0, most: 0, longest: (0, 0) };

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
        codes: &[u32; GROUP],
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
            self.encode_raw(p, codes, x, words);
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
    fn encode_raw<P: Simd<M>, const M: usize>(&self, p: P, codes: &[u32; GROUP], x: &mut [P::V; M], words: &mut Words) {
        let n = LANES / M;
        let (zero, one, byte) = (p.splat(0), p.splat(1), p.splat(255));
        let (mut lens, mut quads) = ([zero; M], [[zero; QUAD]; M]);
        for k in 0..M {
            lens[k] = p.load(&self.lens[k * n..]);
            quads[k] = p.load_quads(&codes[k * n * QUAD..(k + 1) * n * QUAD]);
        }
        let (mut bits, mut len) = ([zero; M], [zero; M]);
        if self.longest.1 <= RAW_BITS {
            for k in 0..M {
                for j in 0..QUAD {
                    let own = p.and(p.right_by(lens[k], p.splat(8 * j as u32)), byte);
                    let raw = p.and(quads[k][j], p.sub(p.left_by(one, own), one));
                    bits[k] = p.or(bits[k], p.left_by(raw, len[k]));
                    len[k] = p.add(len[k], own);
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
                    let all = p.right_by(quads[k][j], from);
                    bits[k] = p.and(all, p.sub(p.left_by(one, len[k]), one));
                }
                put_raw(p, x, &bits, &len, words);
            }
        }
    }
}

/// Tokens that `encode_tokens` looks up: any; below `DIRECT`; below `Simd::FEW`.
pub const ANY: u8 = 0;
const FEWER: u8 = 1;

/// Encodes the tokens of a group.
#[inline(always)]
pub fn encode_tokens<P: Simd<M>, const M: usize, const WHOLE: bool, const TOKENS: u8>(
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
pub fn put_raw<P: Simd<M>, const M: usize>(
    p: P,
    x: &mut [P::V; M],
    bits: &[P::V; M],
    len: &[P::V; M],
    words: &mut Words,
) {
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
