//! Cost of differences of elements' bits, by the entropy of their widths: they are anything from nothing to all bits.

use crate::codec::interp::entropy::symbol_costs::log2;
use crate::codec::interp::predict::sample::{Magnitudes, STRIP};
use crate::codec::interp::rules::{BIT, with_states};
use crate::simd::word::Word;

/// How many magnitudes have each width: a place that was added to a moment ago is slow to be added to again, so there
/// are some of each. A tile has fewer than 2^16 numbers.
#[derive(Clone, Copy)]
pub struct Widths([[u16; 65]; COPIES]);
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
            self.0[0][0] += count as u16;
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
                counts[width] += u32::from(of[width]);
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

/// Estimated cost of a group's codes, where numbers are elements' bits.
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
