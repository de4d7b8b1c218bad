//! The class of a group, and which low bits of a tile's codes stand apart.

use super::tables::{NEVER_TAKEN, TOKEN_COSTS, last_token, shift_of, sort, table_of};
use crate::codec::interp::format::{CLASSES_OF_LANE, GROUP, GROUPS, LEAST_ABOVE_LOW, token};
use crate::codec::interp::rules::{FEWEST_LOW, KEPT_BITS, LOW_WORTH, MOST_MAGNITUDE};
use crate::primitives::rans::{LANES, Source, Words};
use crate::simd::word::Word;

/// The magnitude of a code.
#[inline(always)]
pub fn magnitude<N: Word>(code: N) -> u64 {
    (code >> 1).to_u64() + (code & N::ONE).to_u64()
}

/// The class of a group in a tile of which so many low bits of each code stand apart.
pub fn class_of<N: Word>(codes: &[N], low: u32) -> usize {
    let (mut sum, mut nonzeros, mut most, mut any) = (0, 0, N::ZERO, N::ZERO);
    for c in codes {
        let code = *c >> low;
        sum += magnitude(code).min(MOST_MAGNITUDE) as u32;
        nonzeros += u32::from(code != N::ZERO);
        most = most.max(code);
        any = any | *c;
    }
    if any == N::ZERO {
        return 0;
    }
    let [first, second, wide] = sort(sum.max(1), nonzeros);
    let fits = |class: usize| token((most >> shift_of(class, 0)).to_u64()).0 <= last_token(table_of(class));
    match (fits(first), fits(second)) {
        (true, true) if cost(codes, second, low) < cost(codes, first, low) => second,
        (true, _) => first,
        (false, true) => second,
        (false, false) => wide,
    }
}

/// What codes cost in a class, with their low bits.
pub fn cost<N: Word>(codes: &[N], class: usize, low: u32) -> u64 {
    let (costs, shift) = (&TOKEN_COSTS[table_of(class)], shift_of(class, low));
    let cost = |c: &N| u64::from(costs[token((*c >> shift).to_u64()).0 as usize].min(NEVER_TAKEN));
    codes.iter().map(cost).sum::<u64>() + 256 * u64::from(shift) * codes.len() as u64
}

/// Low bits of a tile's codes that stand apart: those that no group misses, unless too many codes are 0. A group's mean
/// tells; of elements' bits, which few great codes make too much of, its mean width.
pub fn low_of<N: Word>(codes: &[N], bits: bool) -> u32 {
    let (mut least, mut zeros, mut count) = (u32::MAX, 0, 0);
    for group in codes.chunks_exact(GROUP).filter(|group| group.iter().any(|c| *c != N::ZERO)) {
        let octave = if bits {
            (group.iter().map(|c| c.width()).sum::<u32>() / GROUP as u32).saturating_sub(1)
        } else {
            (group.iter().map(|c| magnitude(*c) / GROUP as u64).sum::<u64>() | 1).ilog2()
        };
        least = least.min(octave);
        zeros += group.iter().filter(|c| **c == N::ZERO).count() as u64;
        count += GROUP as u64;
    }
    if least == u32::MAX {
        return 0;
    }
    let low = least.saturating_sub(KEPT_BITS).min(N::BITS - LEAST_ABOVE_LOW);
    if low < FEWEST_LOW || zeros * u64::from(low) * LOW_WORTH > count { 0 } else { low }
}

/// Encodes the classes of all groups.
pub fn encode(classes: &[u8], lanes: &mut [u32; LANES], words: &mut Words) {
    use super::tables::{CLASS_SYMBOLS, FIRST};
    for s in (0..CLASSES_OF_LANE).rev() {
        for g in (s..classes.len()).step_by(CLASSES_OF_LANE).rev() {
            let before = if s == 0 { FIRST } else { usize::from(classes[g - 1]) };
            words.symbol(&mut lanes[g / CLASSES_OF_LANE], &CLASS_SYMBOLS[before][usize::from(classes[g])]);
        }
    }
}

/// The class of each group.
pub fn decode(groups: usize, lanes: &mut [u32; LANES], source: &mut Source) -> [u8; GROUPS] {
    use super::tables::{CLASS_SLOTS, FIRST};
    let mut classes = [0; GROUPS];
    for s in 0..CLASSES_OF_LANE {
        for g in (s..groups).step_by(CLASSES_OF_LANE) {
            let before = if s == 0 { FIRST } else { usize::from(classes[g - 1]) };
            let lane = &mut lanes[g / CLASSES_OF_LANE];
            let entry = CLASS_SLOTS[before][Source::slot(*lane)];
            source.pass(lane, entry >> 10 & 1023, entry & 1023);
            classes[g] = (entry >> 20) as u8;
        }
    }
    classes
}
