//! Passes over the elements of a tile that each level compiles for itself.

// Iterators and closures may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use crate::codec::interp::quantize::ordered_bits::ordered;
use crate::codec::predict::code::own_table::{self as table, Costs, Counts, OWN, Table};
use crate::codec::predict::code::token_costs::TOKEN_COSTS;
use crate::codec::predict::format::{GROUP, GROUPS, code};
use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::quantize::Element;
use crate::simd::Task;
use crate::simd::lanes::Lanes;
use crate::simd::word::Word;

/// One code of so many may be so short that low bits lose something of it.
const SHORT: u32 = 64;

/// The bits that any of the elements has.
pub struct AnyBits<'a, W> {
    pub elements: &'a [W],
}

impl<W: Word> Task for AnyBits<'_, W> {
    type Done = W;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> W {
        let mut any = W::ZERO;
        for w in self.elements {
            any = any | *w;
        }
        any
    }
}

/// Words in the order of numbers, less the base.
pub struct Ordered<'a, E: Element> {
    pub elements: &'a [E::Word],
    pub shift: u32,
    pub base: E::Word,
    pub words: &'a mut [E::Word],
}

impl<E: Element> Task for Ordered<'_, E> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let n = self.elements.len().min(self.words.len());
        for i in 0..n {
            self.words[i] = ordered::<E>(self.elements[i]).sar(self.shift).sub(self.base);
        }
    }
}

/// Differences of words along axes, as codes.
pub struct Differences<'a, W> {
    pub set: u8,
    pub lens: [usize; AXES],
    pub words: &'a [W],
    pub codes: &'a mut [W],
}

impl<W: Word> Task for Differences<'_, W> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        self.codes.copy_from_slice(self.words);
        lorenzo::forward(self.set, self.lens, self.codes);
        Zigzag { codes: self.codes }.run(l);
    }
}

/// Signed numbers as codes.
pub struct Zigzag<'a, W> {
    pub codes: &'a mut [W],
}

impl<W: Word> Task for Zigzag<'_, W> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        for c in self.codes {
            *c = c.zigzag();
        }
    }
}

/// The tokens of codes without their low bits, and how many raw bits they have together.
pub struct Tokens<'a, W> {
    pub codes: &'a [W],
    pub low: u32,
    pub tokens: &'a mut [u8],
}

impl<W: Word> Task for Tokens<'_, W> {
    type Done = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> u64 {
        table::tokens(self.codes, self.low, self.tokens)
    }
}

/// How often tokens occur; `parts` is for its own use.
pub struct Count<'a> {
    pub tokens: &'a [u8],
    pub counts: &'a mut Counts,
    pub parts: &'a mut [Counts; 3],
}

impl Task for Count<'_> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let Count { tokens, counts, parts: [a, b, c] } = self;
        for some in [&mut *counts, &mut *a, &mut *b, &mut *c] {
            some.fill(0);
        }
        // Neighbours are often alike: a count would wait for the one before it.
        let (whole, rest) = tokens.as_chunks::<4>();
        for four in whole {
            counts[usize::from(four[0])] += 1;
            a[usize::from(four[1])] += 1;
            b[usize::from(four[2])] += 1;
            c[usize::from(four[3])] += 1;
        }
        for t in rest {
            counts[usize::from(*t)] += 1;
        }
        for s in 0..counts.len() {
            counts[s] += a[s] + b[s] + c[s];
        }
    }
}

/// Fits a table to counts, and what its symbols cost.
pub struct Fit<'a> {
    pub counts: &'a Counts,
    pub table: &'a mut Table,
    pub costs: &'a mut Costs,
}

impl Task for Fit<'_> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        self.table.fit(self.counts);
        self.table.costs(self.costs);
    }
}

/// What groups of codes cost together by the tables that are always there, and each of them; the most for one that has
/// none of these.
pub struct ByFixed<'a, W> {
    pub codes: &'a [W],
    pub tokens: &'a [u8],
    pub fixed: &'a mut [u64; GROUPS],
}

impl<W: Word> Task for ByFixed<'_, W> {
    type Done = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> u64 {
        let ByFixed { codes, tokens, fixed } = self;
        fixed.fill(u64::MAX);
        let mut plain = 0;
        for ((fixed, codes), tokens) in fixed.iter_mut().zip(codes.chunks(GROUP)).zip(tokens.chunks(GROUP)) {
            let class = table::class_of(codes);
            let cost = if class == 0 { 0 } else { table::cost(&TOKEN_COSTS[class], tokens) };
            plain += cost;
            if class != OWN {
                *fixed = cost;
            }
        }
        plain
    }
}

/// Counts the tokens of groups that are cheaper by a table than by a fixed one, and each token that occurs once more.
pub struct CountCheaper<'a> {
    pub tokens: &'a [u8],
    pub costs: &'a Costs,
    pub fixed: &'a [u64; GROUPS],
    pub all: &'a Counts,
    pub counts: &'a mut Counts,
}

impl Task for CountCheaper<'_> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let CountCheaper { tokens, costs, fixed, all, counts } = self;
        let (mut cheaper, mut count) = ([false; GROUPS], 0);
        for ((tokens, fixed), cheaper) in tokens.chunks(GROUP).zip(fixed).zip(&mut cheaper) {
            *cheaper = *fixed == u64::MAX || table::cost(&costs[..], tokens) < *fixed;
            count += usize::from(*cheaper);
        }
        // Those are counted that are fewer: the others are what is left.
        let most = 2 * count > tokens.len() / GROUP;
        for s in 0..counts.len() {
            counts[s] = u32::from(all[s] > 0) + if most { all[s] } else { 0 };
        }
        for (tokens, _) in tokens.chunks(GROUP).zip(cheaper).filter(|(_, cheaper)| *cheaper != most) {
            for t in tokens {
                let count = &mut counts[usize::from(*t)];
                *count = if most { *count - 1 } else { *count + 1 };
            }
        }
    }
}

/// Low bits that say nothing of the lengths of all but a few codes, whose tokens occur so often.
pub fn low_bits(counts: &Counts) -> u32 {
    let mut left = counts.iter().sum::<u32>() / SHORT;
    for (token, count) in counts.iter().enumerate() {
        if *count > left {
            // All codes of a token are as wide.
            return code(token as u32).1.width().saturating_sub(3);
        }
        left -= count;
    }
    0
}

/// Turns the signs of codes; the least one then, and the greatest.
pub struct Turn<'a, W> {
    pub sign: W,
    pub codes: &'a mut [W],
}

impl<W: Word> Task for Turn<'_, W> {
    type Done = (W, W);

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> (W, W) {
        let first = self.codes.first().map_or(W::ZERO, |c| *c ^ self.sign);
        let (mut least, mut most) = (first, first);
        for c in self.codes {
            *c = *c ^ self.sign;
            least = least.min(*c);
            most = most.max(*c);
        }
        (least, most)
    }
}

/// Codes as distances from `first`, and the symbols of their high bits.
pub struct CountSymbols<'a, W> {
    pub codes: &'a mut [W],
    pub first: W,
    pub bits: u32,
    pub symbols: &'a mut [u8],
}

impl<W: Word> Task for CountSymbols<'_, W> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let n = self.codes.len().min(self.symbols.len());
        for i in 0..n {
            let code = self.codes[i].sub(self.first);
            self.codes[i] = code;
            self.symbols[i] = (code >> self.bits).to_u64() as u8;
        }
    }
}

/// Which low bits any of the codes has whose high bits are those of a symbol.
pub struct LowOf<'a, W> {
    pub codes: &'a [W],
    pub bits: u32,
    pub symbol: W,
}

impl<W: Word> Task for LowOf<'_, W> {
    type Done = W;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> W {
        let (mut low, high) = (W::ZERO, self.symbol << self.bits);
        for c in self.codes {
            low = low | if *c >> self.bits == self.symbol { *c ^ high } else { W::ZERO };
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::lanes::Portable;

    /// One code of 64 may be shorter than what is left after the low bits and three more.
    #[test]
    fn low_bits_follow_from_tokens() {
        for (short, bits) in [(0, 17), (15, 17), (16, 2)] {
            let codes: Vec<u64> = (0..1000).map(|i| if i < short { 17 } else { (1 << 19) + i * 1000 }).collect();
            let (mut tokens, mut counts, mut parts) = (vec![0; 1000], [0; 256], [[0; 256]; 3]);
            Tokens { codes: &codes, low: 0, tokens: &mut tokens }.run(Portable);
            Count { tokens: &tokens, counts: &mut counts, parts: &mut parts }.run(Portable);
            assert_eq!(low_bits(&counts), bits, "{short}");
        }
    }

    /// What is counted is the same whether most groups are cheaper or few.
    #[test]
    fn cheaper_groups_are_counted() {
        let tokens: Vec<u8> = (0..5 * GROUP).map(|i| (i % 7 + i / GROUP) as u8).collect();
        let (mut all, mut parts, mut counts) = ([0; 256], [[0; 256]; 3], [0; 256]);
        Count { tokens: &tokens, counts: &mut all, parts: &mut parts }.run(Portable);
        for cheaper in 0..32u32 {
            let is_cheaper = |g: usize| g < 5 && cheaper >> g & 1 == 1;
            let fixed: [u64; GROUPS] = std::array::from_fn(|g| if is_cheaper(g) { u64::MAX - g as u64 } else { 0 });
            CountCheaper { tokens: &tokens, costs: &[1; 256], fixed: &fixed, all: &all, counts: &mut counts }
                .run(Portable);
            for s in 0..256 {
                let of = |g: usize| tokens[g * GROUP..(g + 1) * GROUP].iter().filter(|t| usize::from(**t) == s).count();
                let own: usize = (0..5).filter(|g| is_cheaper(*g)).map(of).sum();
                assert_eq!(counts[s] as usize, usize::from(all[s] > 0) + own, "{cheaper} {s}");
            }
        }
    }
}
