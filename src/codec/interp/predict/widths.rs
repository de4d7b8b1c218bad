//! What differences of elements' bits cost, which are anything from nothing to all bits.

// Iterators and closures may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use crate::codec::interp::entropy::symbol_costs::log2;
use crate::codec::interp::rules::{BIT, PIECE, with_states};
use crate::simd::word::Word;

/// Numbers of a strip. Strips are taken whole, so that none of them is taken by itself; the last ones may not count.
pub const STRIP: usize = 16;

/// So many numbers up to the end of a strip.
#[inline(always)]
pub fn in_strips(count: usize) -> usize {
    (count + STRIP - 1) & !(STRIP - 1)
}

/// How many magnitudes have each width: a place that was added to a moment ago is slow to be added to again, so there
/// are some of each.
#[derive(Clone, Copy)]
pub struct Widths([[u32; 65]; COPIES]);
const COPIES: usize = 4;

impl Widths {
    /// None yet.
    pub const NONE: Widths = Widths([[0; 65]; COPIES]);

    /// Counts a magnitude.
    #[inline(always)]
    pub fn add(&mut self, magnitude: u64) {
        self.0[0][64 - magnitude.leading_zeros() as usize] += 1;
    }

    /// Counts those of the first numbers of a piece.
    #[inline(always)]
    pub fn add_all<N: Word>(&mut self, numbers: &[N; PIECE], count: usize) {
        let (mut widths, mut any) = ([0u8; PIECE], 0);
        let strips = in_strips(count);
        for (i, (width, number)) in widths[..strips].iter_mut().zip(&numbers[..strips]).enumerate() {
            let number = if (i as u32) < count as u32 { *number } else { N::ZERO };
            *width = number.magnitude().width() as u8;
            any |= *width;
        }
        if any == 0 {
            self.0[0][0] += count as u32;
            return;
        }
        let (whole, rest) = widths[..count].as_chunks::<COPIES>();
        for widths in whole {
            for k in 0..COPIES {
                self.0[k][usize::from(widths[k])] += 1;
            }
        }
        for width in rest {
            self.0[0][usize::from(*width)] += 1;
        }
    }

    /// What they cost: the entropy of widths, and of each as many bits: all below the highest, and a sign.
    #[inline(always)]
    pub fn cost(&self) -> u64 {
        let (mut counts, mut all) = ([0u32; 65], 0);
        for width in 0..65 {
            for of in &self.0 {
                counts[width] += of[width];
            }
            all += counts[width];
        }
        let (all, mut cost) = (log2(all.max(1)), 0);
        for width in 0..65 {
            let of_one = BIT * width as u64 + u64::from(all.wrapping_sub(log2(counts[width].max(1))));
            cost += u64::from(counts[width]) * of_one;
        }
        cost
    }
}

/// What codes cost that differences of elements' bits have.
#[inline(always)]
pub fn cost_of_bits(codes: &[u32]) -> u64 {
    let mut widths = Widths::NONE;
    for codes in codes.chunks(PIECE) {
        let mut magnitudes = [0u32; PIECE];
        magnitudes.iter_mut().zip(codes).for_each(|(m, c)| *m = (*c >> 1) + (*c & 1));
        widths.add_all(&magnitudes, codes.len());
    }
    with_states(widths.cost(), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::interp::entropy::sums::Sum;
    use crate::codec::interp::format::GROUPS;
    use crate::codec::interp::predict::encode::cost_of_codes;
    use crate::simd::Scalar;

    #[test]
    fn widths_cost_their_entropy_and_bits() {
        let mut widths = Widths::NONE;
        (0..64).for_each(|i| widths.add(if i % 2 == 0 { 0 } else { 1000 }));
        // One bit each says which, and a magnitude of ten bits takes nine and its sign.
        assert_eq!(widths.cost(), BIT * (64 + 32 * 10));
        let codes: Vec<u32> = (0..10_000u32).map(|i| i.wrapping_mul(0x9e37_79b1) >> 12).collect();
        let of_sums = cost_of_codes(Scalar, &codes, &mut [Sum::default(); GROUPS]);
        assert!(cost_of_bits(&codes).abs_diff(of_sums) < of_sums / 20);
        // A few that are great leave the others as they are.
        let few: Vec<u32> = codes.iter().map(|c| if c % 30 == 0 { *c } else { c & 15 }).collect();
        assert!(2 * cost_of_bits(&few) < cost_of_codes(Scalar, &few, &mut [Sum::default(); GROUPS]));
    }
}
