//! What differences of elements' bits cost, which are anything from nothing to all bits.

use crate::codec::interp::entropy::symbol_costs::log2;
use crate::codec::interp::rules::{BIT, with_states};

/// How many magnitudes have each width.
#[derive(Clone, Copy)]
pub struct Widths([u32; 65]);

impl Widths {
    /// None yet.
    pub const NONE: Widths = Widths([0; 65]);

    /// Counts a magnitude.
    #[inline(always)]
    pub fn add(&mut self, magnitude: u64) {
        self.0[64 - magnitude.leading_zeros() as usize] += 1;
    }

    /// What they cost: the entropy of widths, and of each as many bits: all below the highest, and a sign.
    pub fn cost(&self) -> u64 {
        let all = log2(self.0.iter().sum::<u32>().max(1));
        let counted = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(width, count)| u64::from(*count) * (BIT * width as u64 + u64::from(all - log2(*count)))).sum()
    }
}

/// What codes cost that differences of elements' bits have.
pub fn cost_of_bits(codes: &[u32]) -> u64 {
    let mut widths = Widths::NONE;
    codes.iter().for_each(|c| widths.add(u64::from((*c >> 1) + (*c & 1))));
    with_states(widths.cost(), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::interp::rules::cost_of_codes;

    #[test]
    fn widths_cost_their_entropy_and_bits() {
        let mut widths = Widths::NONE;
        (0..64).for_each(|i| widths.add(if i % 2 == 0 { 0 } else { 1000 }));
        // One bit each says which, and a magnitude of ten bits takes nine and its sign.
        assert_eq!(widths.cost(), BIT * (64 + 32 * 10));
        let codes: Vec<u32> = (0..10_000u32).map(|i| i.wrapping_mul(0x9e37_79b1) >> 12).collect();
        let of_sums = cost_of_codes(&codes);
        assert!(cost_of_bits(&codes).abs_diff(of_sums) < of_sums / 20);
        // A few that are great leave the others as they are.
        let few: Vec<u32> = codes.iter().map(|c| if c % 30 == 0 { *c } else { c & 15 }).collect();
        assert!(2 * cost_of_bits(&few) < cost_of_codes(&few));
    }
}
