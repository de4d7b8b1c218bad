//! What codes cost about, for a choice between predictors. All levels make the same of it.

// Iterators and closures may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::own_table::{SYMBOLS, class_of};
use super::simd::group::DirectCost;
use super::tables;
use super::token_costs::{DIRECT_COSTS, TOKEN_COSTS, log2};
use crate::codec::predict::format::{DIRECT, GROUP, token};
use crate::codec::predict::rules::{BIT, CLASS_COST, LOW_COST, PARTS, TABLE_COST};
use crate::simd::lanes::Lanes;

/// How often tokens occur, each in one of several places: one that was added to a moment ago is slow to be added to.
pub type Counts = [[u32; SYMBOLS]; COPIES];
const COPIES: usize = 4;

/// What codes cost, of which each stands for so many: in the tables that are always there, or in one of their own.
#[inline(always)]
pub fn code_cost<L: Lanes>(l: L, codes: &[u32], share: u64, counts: &mut Counts) -> u64 {
    let fixed = fixed_cost(l, codes);
    if fixed < LOW_COST * codes.len() as u64 {
        return fixed;
    }
    *counts = [[0; SYMBOLS]; COPIES];
    let mut raw_bits = 0;
    let (parts, rest) = codes.as_chunks::<COPIES>();
    for part in parts {
        for i in 0..COPIES {
            let (token, raw) = token(part[i].into());
            counts[i][token as usize] += 1;
            raw_bits += u64::from(raw);
        }
    }
    for c in rest {
        let (token, raw) = token((*c).into());
        counts[0][token as usize] += 1;
        raw_bits += u64::from(raw);
    }
    let total = log2(codes.len() as u32);
    let (mut own, mut symbols) = (BIT * raw_bits, 0);
    for s in 0..SYMBOLS {
        let count = counts[0][s] + counts[1][s] + counts[2][s] + counts[3][s];
        if count > 0 {
            own += u64::from(count) * u64::from(total - log2(count));
            symbols += 1;
        }
    }
    fixed.min(own + own / 32 + symbols * TABLE_COST / share)
}

/// What codes cost in the tables that are always there.
#[inline(always)]
pub fn fixed_cost<L: Lanes>(l: L, codes: &[u32]) -> u64 {
    let (groups, rest) = codes.as_chunks::<GROUP>();
    let mut cost = 0;
    for codes in groups {
        cost += group_cost(codes, whole_cost(l, codes));
    }
    if !rest.is_empty() {
        cost += group_cost(rest, direct_cost(rest));
    }
    cost
}

/// What `direct_cost` says of a whole group, by a level's vectors where there are some.
#[inline(always)]
pub fn whole_cost<L: Lanes>(l: L, codes: &[u32; GROUP]) -> Option<u32> {
    l.by_level(DirectCost { codes }).unwrap_or_else(|| direct_cost(codes))
}

/// What a group costs, given what it does if all codes are below `DIRECT`.
#[inline(always)]
fn group_cost(codes: &[u32], direct: Option<u32>) -> u64 {
    match direct {
        Some(0) => BIT / 4,
        Some(parts) => CLASS_COST + u64::from(parts) * (BIT / u64::from(PARTS)),
        None => CLASS_COST + long_cost(codes),
    }
}

/// What a group costs in the better one of the tables that its class may have, in `PARTS` of a bit, 0 if all codes are
/// 0; `None` if some are `DIRECT` or above.
#[inline(always)]
fn direct_cost(codes: &[u32]) -> Option<u32> {
    let (mut sum, mut nonzeros, mut most) = (0, 0, 0);
    for c in codes {
        sum += (c & (DIRECT - 1)).div_ceil(2);
        nonzeros += u32::from(*c != 0);
        most = most.max(*c);
    }
    if most == 0 || most >= DIRECT {
        return (most == 0).then_some(0);
    }
    let (first, second) = tables::classes(sum, nonzeros, most.into());
    let in_table = |class: usize| {
        let mut cost = 0;
        for c in codes {
            cost += u32::from(DIRECT_COSTS[class][(*c % DIRECT) as usize]);
        }
        cost
    };
    let cost = in_table(first);
    Some(second.map_or(cost, |second| cost.min(in_table(second))).max(1))
}

/// What a group costs in which some codes are `DIRECT` or above.
#[inline(always)]
fn long_cost(codes: &[u32]) -> u64 {
    let costs = &TOKEN_COSTS[class_of(codes)];
    let mut cost = 0;
    for c in codes {
        let (token, raw) = token((*c).into());
        cost += u64::from(costs[token as usize]) + BIT * u64::from(raw);
    }
    cost
}
