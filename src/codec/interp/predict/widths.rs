//! What differences of elements' bits cost, which are anything from nothing to all bits.

use crate::codec::interp::entropy::symbol_costs::log2;
use crate::codec::interp::predict::sample::{Magnitudes, STRIP};
use crate::codec::interp::rules::{BIT, with_states};
use crate::simd::word::Word;

/// How many magnitudes have each width: a place that was added to a moment ago is slow to be added to again, so there
/// are some of each.
#[derive(Clone, Copy)]
pub struct Widths([[u32; 65]; COPIES]);
const COPIES: usize = 4;

impl Magnitudes for Widths {
    const NONE: Widths = Widths([[0; 65]; COPIES]);
    const ASKS_ALL: bool = false;

    #[inline(always)]
    fn add<N: Word>(&mut self, numbers: &[N; STRIP], count: usize) {
        let (mut widths, mut any) = ([0u8; STRIP], 0);
        for i in 0..STRIP {
            let number = if (i as u32) < count as u32 { numbers[i] } else { N::ZERO };
            widths[i] = number.magnitude().width() as u8;
            any |= widths[i];
        }
        let count = count.min(STRIP);
        if any == 0 {
            self.0[0][0] += count as u32;
            return;
        }
        for (i, width) in widths[..count].iter().enumerate() {
            self.0[i % COPIES][usize::from(*width)] += 1;
        }
    }

    fn end(&mut self, _: u64) {}

    /// The entropy of widths, and of each as many bits: all below the highest, and a sign.
    #[inline(always)]
    fn cost(&self) -> u64 {
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
    for codes in codes.chunks(STRIP) {
        let mut magnitudes = [0u32; STRIP];
        magnitudes.iter_mut().zip(codes).for_each(|(m, c)| *m = (*c >> 1) + (*c & 1));
        widths.add(&magnitudes, codes.len());
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
        widths.add::<u32>(&std::array::from_fn(|i| if i % 2 == 0 { 0 } else { 1000 }), STRIP);
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
