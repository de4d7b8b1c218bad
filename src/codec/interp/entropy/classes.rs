//! The class of a group, and which low bits of a tile's codes stand apart.

use super::sums::Sums;
use super::tables::{CLASS_ENCODINGS, CLASS_SLOTS, FIRST};
use crate::codec::interp::format::{CLASSES_OF_LANE, GROUP, GROUPS, LEAST_ABOVE_LOW};
use crate::codec::interp::rules::{FEWEST_LOW, KEPT_BITS, LOW_WORTH};
use crate::primitives::rans::{LANES, Source, Words};
use crate::simd::word::Word;

/// The magnitude of a code.
#[inline(always)]
pub fn magnitude<N: Word>(code: N) -> u64 {
    (code >> 1).to_u64() + (code & N::ONE).to_u64()
}

/// Low bits of a tile's codes that stand apart: those that no group misses, unless too many codes are 0. A group's mean
/// tells; of elements' bits, which few great codes make too much of, its mean width. By the sums of all groups.
#[inline(always)]
pub fn low_of<N: Word>(codes: &[N], bits: bool, sums: &Sums) -> u32 {
    // A mean width w has a mean magnitude of 2^(w − 2) or more.
    let few = (GROUP as u32) << (KEPT_BITS + FEWEST_LOW - u32::from(bits));
    if sums[..codes.len() / GROUP].iter().any(|sum| sum.any && sum.magnitudes < few) {
        return 0;
    }
    let (mut least, mut zeros, mut count) = (u32::MAX, 0, 0);
    for (group, sum) in codes.chunks_exact(GROUP).zip(sums).filter(|(_, sum)| sum.any) {
        let octave = if bits {
            (group.iter().map(|c| c.width()).sum::<u32>() / GROUP as u32).saturating_sub(1)
        } else {
            (group.iter().map(|c| magnitude(*c) / GROUP as u64).sum::<u64>() | 1).ilog2()
        };
        least = least.min(octave);
        zeros += u64::from(GROUP as u32 - sum.nonzeros);
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
    for s in (0..CLASSES_OF_LANE).rev() {
        for g in (s..classes.len()).step_by(CLASSES_OF_LANE).rev() {
            let before = if s == 0 { FIRST } else { usize::from(classes[g - 1]) };
            words.symbol(&mut lanes[g / CLASSES_OF_LANE], CLASS_ENCODINGS[before].symbol(classes[g].into()));
        }
    }
}

/// The class of each group.
pub fn decode(groups: usize, lanes: &mut [u32; LANES], source: &mut Source) -> [u8; GROUPS] {
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
