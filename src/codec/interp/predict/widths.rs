//! What differences of elements' bits cost, which are anything from nothing to all bits.

use crate::codec::interp::entropy::symbol_costs::log2;
use crate::codec::interp::format::GROUP;
use crate::codec::interp::rules::{BIT, with_states};
use crate::simd::word::Word;

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

    /// Counts those of numbers.
    #[inline(always)]
    pub fn add_all<N: Word>(&mut self, numbers: &[N]) {
        let mut any = N::ZERO;
        for number in numbers {
            any = any | *number;
        }
        if any == N::ZERO {
            self.0[0][0] += numbers.len() as u32;
            return;
        }
        let (whole, rest) = numbers.as_chunks::<COPIES>();
        for numbers in whole {
            for (counts, number) in self.0.iter_mut().zip(numbers) {
                counts[number.magnitude().width() as usize] += 1;
            }
        }
        for number in rest {
            self.add(number.magnitude().to_u64());
        }
    }

    /// What they cost: the entropy of widths, and of each as many bits: all below the highest, and a sign.
    pub fn cost(&self) -> u64 {
        let counts: [u32; 65] = std::array::from_fn(|width| self.0.iter().map(|of| of[width]).sum());
        let all = log2(counts.iter().sum::<u32>().max(1));
        let counted = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(width, count)| u64::from(*count) * (BIT * width as u64 + u64::from(all - log2(*count)))).sum()
    }
}

/// What codes cost that differences of elements' bits have.
pub fn cost_of_bits(codes: &[u32]) -> u64 {
    let mut widths = Widths::NONE;
    for codes in codes.chunks(GROUP) {
        let mut magnitudes = [0u32; GROUP];
        magnitudes.iter_mut().zip(codes).for_each(|(m, c)| *m = (*c >> 1) + (*c & 1));
        widths.add_all(&magnitudes[..codes.len()]);
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
