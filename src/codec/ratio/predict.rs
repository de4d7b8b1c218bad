//! Along which axes differences are taken.

use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::word::Word;

/// Words whose magnitudes are added up.
pub const SAMPLE: usize = 128;
/// What is added to each sum, so that small differences between small sums mean little.
const NOISE: u64 = 16;
/// What a magnitude counts at most.
const MOST: u64 = 1 << 56;

/// The set of axes, out of `allowed`, whose differences of `words` look shortest; they are left in `best`.
#[inline(always)]
pub fn choose<W: Word>(allowed: u8, lens: [usize; AXES], words: &[W], trial: &mut [W], best: &mut [W]) -> u8 {
    let mut chosen = (u64::MAX, 0);
    for set in (0..1u8 << AXES).filter(|set| set & !allowed == 0) {
        trial.copy_from_slice(words);
        lorenzo::forward(set, lens, trial);
        let cost = cost(trial);
        if cost < chosen.0 {
            chosen = (cost, set);
            best.copy_from_slice(trial);
        }
    }
    chosen.1
}

/// The sum of the logarithms of sums of magnitudes.
#[inline(always)]
fn cost<W: Word>(words: &[W]) -> u64 {
    let of = |sample: &[W]| logarithm(sample.iter().map(|w| w.magnitude().to_u64().min(MOST)).sum::<u64>());
    words.chunks(SAMPLE).map(of).sum()
}

/// 256 times the logarithm of `sum`, rounded to what is easily computed.
#[inline(always)]
pub fn logarithm(sum: u64) -> u64 {
    let sum = sum + NOISE;
    let octave = u64::from(sum.ilog2());
    octave << 8 | ((u128::from(sum) << 8 >> octave) as u64 & 255)
}
