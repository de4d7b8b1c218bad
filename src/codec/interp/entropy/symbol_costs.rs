//! What symbols cost by their frequencies.

use crate::codec::interp::rules::BIT;
use crate::primitives::rans::TABLE_BITS;

const SLOTS: usize = 1 << TABLE_BITS;

/// Parts of a bit of log2 x, for x > 0.
#[inline(always)]
pub const fn log2(x: u32) -> u32 {
    let octave = x.ilog2();
    let mut mantissa = (x as u64) << (31 - octave);
    let (mut log, mut k) = (octave, 0);
    while k < BIT.ilog2() {
        mantissa = (mantissa * mantissa) >> 31;
        let carry = mantissa >> 32;
        log = log << 1 | carry as u32;
        mantissa >>= carry;
        k += 1;
    }
    log
}

/// What a symbol costs by its frequency.
pub static COST_OF: [u16; SLOTS] = {
    let mut costs = [u16::MAX; SLOTS];
    let mut f = 1;
    while f < SLOTS {
        costs[f] = (TABLE_BITS * BIT as u32 - log2(f as u32)) as u16;
        f += 1;
    }
    costs
};
