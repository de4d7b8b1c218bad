//! A group of codes as what words are made of.

use crate::codec::interp::format::{GROUP, QUAD, token};
use crate::primitives::rans::{LANES, RAW_BITS, Symbol, Words};
use crate::simd::word::Word;

/// A group taken apart: tokens, raw bits, and how many there are.
pub struct Group {
    n: usize,
    pub tokens: [u8; GROUP],
    pub bits: [u64; GROUP],
    pub lens: [u8; GROUP],
    pub longest: u32,
}

impl Group {
    #[inline(always)]
    pub fn of<N: Word>(codes: &[N], shift: u32, direct: bool) -> Group {
        let n = codes.len();
        let mut group = Group { n, tokens: [0; GROUP], bits: [0; GROUP], lens: [0; GROUP], longest: 0 };
        for (i, c) in codes.iter().enumerate() {
            let c = (*c >> shift).to_u64();
            let (token, len) = if direct { (c as u32, 0) } else { token(c) };
            (group.tokens[i], group.lens[i], group.bits[i]) = (token as u8, len as u8, c);
            group.longest = group.longest.max(len);
        }
        group
    }

    /// Encodes it: what is decoded last comes first.
    pub fn encode(&self, symbols: &[Symbol], lanes: &mut [u32; LANES], words: &mut Words) {
        for round in (0..self.longest.div_ceil(RAW_BITS)).rev() {
            let from = round * RAW_BITS;
            for i in self.backwards() {
                let len = u32::from(self.lens[i]).saturating_sub(from).min(RAW_BITS);
                let bits = (self.bits[i] >> from) as u32 & ((1 << len) - 1);
                words.raw(&mut lanes[i / QUAD], bits, len);
            }
        }
        for i in self.backwards() {
            words.symbol(&mut lanes[i / QUAD], &symbols[usize::from(self.tokens[i])]);
        }
    }

    /// Its values, from the last one on.
    fn backwards(&self) -> impl Iterator<Item = usize> {
        let n = self.n;
        (0..QUAD).rev().flat_map(|j| (0..LANES).rev().map(move |lane| QUAD * lane + j)).filter(move |i| *i < n)
    }
}
