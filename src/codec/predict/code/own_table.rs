//! A table that a tile brings itself: frequencies that fit its symbols.

use super::tables::{self, TABLES};
use super::token_costs::DIRECT_COSTS;
pub use crate::codec::interp::entropy::own_table::*;
use crate::codec::predict::format::{GROUP, token};
use crate::codec::predict::rules::MOST_MAGNITUDE;
use crate::simd::word::Word;

/// The class that stands for the tile's own table where there is one.
pub const OWN: usize = TABLES - 1;

/// The class that a group gets among the tables that are always there.
#[inline(always)]
pub fn class_of<W: Word>(codes: &[W]) -> usize {
    let (mut sum, mut nonzeros, mut most) = (0u32, 0, W::ZERO);
    for c in codes {
        sum += ((*c >> 1).to_u64() + (*c & W::ONE).to_u64()).min(MOST_MAGNITUDE) as u32;
        nonzeros += u32::from(*c != W::ZERO);
        most = most.max(*c);
    }
    if sum == 0 {
        return 0;
    }
    let (first, second) = tables::classes(sum, nonzeros, most.to_u64());
    let Some(second) = second else { return first };
    // A part of a group costs as if zeros filled it.
    let absent = (GROUP - codes.len()) as u32;
    let [costs, others] = [&DIRECT_COSTS[first], &DIRECT_COSTS[second]];
    let (mut cost, mut other) = (absent * u32::from(costs[0]), absent * u32::from(others[0]));
    for c in codes {
        let token = c.to_u64() as usize % costs.len();
        cost += u32::from(costs[token]);
        other += u32::from(others[token]);
    }
    if other < cost { second } else { first }
}

/// What tokens cost in a table, without their raw bits.
#[inline(always)]
pub fn cost(costs: &[u16], tokens: &[u8]) -> u64 {
    u64::from(tokens.iter().map(|t| u32::from(costs[usize::from(*t)])).sum::<u32>())
}

/// The tokens of codes, and how many raw bits they have together.
#[inline(always)]
pub fn tokens<W: Word>(codes: &[W], low: u32, tokens: &mut [u8]) -> u64 {
    let mut raw = 0;
    for (t, c) in tokens.iter_mut().zip(codes) {
        let (token, bits) = token((*c >> low).to_u64());
        *t = token as u8;
        raw += u64::from(bits);
    }
    raw
}
