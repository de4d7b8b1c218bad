//! What choice, class and table ask of a group: one pass over its codes.

use crate::codec::interp::format::{GROUP, GROUPS};
use crate::simd::Level;
use crate::simd::word::Word;

/// Magnitudes count no more than this for a class.
pub const MOST_MAGNITUDE: u64 = 1 << 23;

/// A group's codes without their low bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// Their magnitudes, none above `MOST_MAGNITUDE`.
    pub magnitudes: u32,
    /// How many are not 0.
    pub nonzeros: u32,
    /// The greatest one.
    pub most: u64,
    /// Whether any is not 0, with its low bits.
    pub any: bool,
}

/// Those of all groups of a tile.
pub type Sums = [Sum; GROUPS];

/// Sums up codes without `low` bits each.
pub fn sum_up<W: Word>(p: impl Level, codes: &[W], low: u32, sums: &mut Sums) {
    p.loops(|| {
        let (whole, rest) = codes.as_chunks::<GROUP>();
        for (codes, sum) in whole.iter().zip(&mut *sums) {
            *sum = sum_of(codes, low);
        }
        if !rest.is_empty() {
            let mut last = [W::ZERO; GROUP];
            last[..rest.len()].copy_from_slice(rest);
            sums[whole.len()] = sum_of(&last, low);
        }
    });
}

#[inline(always)]
fn sum_of<W: Word>(codes: &[W; GROUP], low: u32) -> Sum {
    let limit = W::from_u64(MOST_MAGNITUDE);
    let (mut magnitudes, mut nonzeros, mut most, mut any) = (0u32, 0, W::ZERO, W::ZERO);
    for i in 0..GROUP {
        let code = codes[i] >> low;
        magnitudes += (code >> 1).add(code & W::ONE).min(limit).to_u64() as u32;
        nonzeros += u32::from(code != W::ZERO);
        most = most.max(code);
        any = any | codes[i];
    }
    Sum { magnitudes, nonzeros, most: most.to_u64(), any: any != W::ZERO }
}
