//! Groups of codes of up to 64 bits by vectors: what `encode` does lane by lane.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::encoding::Encoding;
use super::group::{ANY, encode_tokens, put_raw};
use super::groups::{Groups, class_beside};
use super::lanes::quads_of;
use crate::codec::predict::code::encode::Own;
use crate::codec::predict::code::own_table::{OWN, class_of};
use crate::codec::predict::format::{GROUP, QUAD, present_in, token};
use crate::primitives::rans::{LANES, RAW_BITS, Words};
use crate::simd::vec::Simd;
use crate::simd::word::Word;

/// The groups of a tile, one of which is taken apart. A lane has four tokens as bytes, and as many lengths of raw bits.
/// A code has the lower and the upper 32 of these bits.
pub struct Wide<'a> {
    codes: &'a [[u32; GROUP]],
    /// Codes of 64 bits in their place.
    wide: Option<&'a [[u64; GROUP]]>,
    n: usize,
    own: Option<(Own<'a>, Encoding<'a>)>,
    table: Encoding<'a>,
    tokens: [u32; LANES],
    lens: [u32; LANES],
    low: [u32; GROUP],
    high: [u32; GROUP],
    /// The most raw bits of a value, and of a lane.
    longest: (u32, u32),
}

impl<'a> Wide<'a> {
    /// Of `n` codes, with zeros behind them; none is taken apart yet.
    #[inline(always)]
    pub fn new(
        codes: &'a [[u32; GROUP]],
        wide: Option<&'a [[u64; GROUP]]>,
        n: usize,
        own: Option<(Own<'a>, Encoding<'a>)>,
    ) -> Wide<'a> {
        let (lanes, places) = ([0; LANES], [0; GROUP]);
        let table = Encoding::of(0);
        Wide { codes, wide, n, own, table, tokens: lanes, lens: lanes, low: places, high: places, longest: (0, 0) }
    }

    /// Takes codes apart, and tells the class of their group.
    #[inline(always)]
    fn take_codes<W: Word>(&mut self, codes: &[W; GROUP]) -> usize {
        let class = class_of(codes);
        if class == 0 {
            return 0;
        }
        let (mut tokens, mut lens) = ([0u8; GROUP], [0u8; GROUP]);
        for i in 0..GROUP {
            let (token, len) = token(codes[i].to_u64());
            let raw = codes[i].to_u64() & ((1 << len) - 1);
            (tokens[i], lens[i]) = (token as u8, len as u8);
            (self.low[i], self.high[i]) = (raw as u32, (raw >> 32) as u32);
        }
        self.longest = (0, 0);
        for (lane, (tokens, lens)) in tokens.as_chunks::<QUAD>().0.iter().zip(lens.as_chunks::<QUAD>().0).enumerate() {
            self.tokens[lane] = u32::from_le_bytes(*tokens);
            self.lens[lane] = u32::from_le_bytes(*lens);
            let (mut longest, mut total) = (self.longest.0, 0);
            for len in lens {
                longest = longest.max((*len).into());
                total += u32::from(*len);
            }
            self.longest = (longest, self.longest.1.max(total));
        }
        class
    }

    #[inline(always)]
    fn encode_raw<P: Simd<M>, const M: usize>(&self, p: P, x: &mut [P::V; M], words: &mut Words) {
        let n = LANES / M;
        let (zero, one, byte) = (p.splat(0), p.splat(1), p.splat(255));
        let (mut lens, mut lows, mut highs) = ([zero; M], [[zero; QUAD]; M], [[zero; QUAD]; M]);
        for k in 0..M {
            let places = k * n * QUAD..(k + 1) * n * QUAD;
            lens[k] = p.load(&self.lens[k * n..]);
            lows[k] = p.load_quads(&self.low[places.clone()]);
            highs[k] = p.load_quads(&self.high[places]);
        }
        let (mut bits, mut len) = ([zero; M], [zero; M]);
        if self.longest.1 <= RAW_BITS {
            for k in 0..M {
                for j in 0..QUAD {
                    bits[k] = p.or(bits[k], p.left_by(lows[k][j], len[k]));
                    len[k] = p.add(len[k], p.and(p.right_by(lens[k], p.splat(8 * j as u32)), byte));
                }
            }
            return put_raw(p, x, &bits, &len, words);
        }
        for round in (0..self.longest.0.div_ceil(RAW_BITS)).rev() {
            let from = round * RAW_BITS;
            let first = p.splat(from);
            for j in (0..QUAD).rev() {
                for k in 0..M {
                    let own = p.and(p.right_by(lens[k], p.splat(8 * j as u32)), byte);
                    len[k] = p.min(p.sub(p.max(own, first), first), p.splat(RAW_BITS));
                    let all = if from < 32 {
                        p.or(p.right_by(lows[k][j], first), p.left_by(highs[k][j], p.splat(32 - from)))
                    } else {
                        p.right_by(highs[k][j], p.splat(from - 32))
                    };
                    bits[k] = p.and(all, p.sub(p.left_by(one, len[k]), one));
                }
                put_raw(p, x, &bits, &len, words);
            }
        }
    }
}

impl<P: Simd<M>, const M: usize> Groups<P, M> for Wide<'_> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.codes.len()
    }

    #[inline(always)]
    fn take(&mut self, _: P, g: usize) -> usize {
        let mut class = match self.wide {
            Some(wide) => self.take_codes(&wide[g]),
            None => self.take_codes(&self.codes[g]),
        };
        if class == 0 {
            return 0;
        }
        self.table = Encoding::of(class);
        if let Some((own, table)) = self.own {
            class = class_beside(&own, class, &self.tokens, (self.n, g));
            self.table = if class == OWN { table } else { Encoding::of(class) };
        }
        class
    }

    #[inline(always)]
    fn encode(&self, p: P, g: usize, x: &mut [P::V; M], words: &mut Words) {
        let n = LANES / M;
        let mut tokens = *x;
        for k in 0..M {
            tokens[k] = p.load(&self.tokens[k * n..]);
        }
        if self.longest.0 > 0 {
            self.encode_raw(p, x, words);
        }
        // Once for whole groups and others: such tiles are few.
        encode_tokens::<P, M, false, ANY>(p, self.table, &quads_of(p, &present_in(self.n, g)), &tokens, x, words);
    }
}
