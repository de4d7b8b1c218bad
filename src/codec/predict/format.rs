//! What stands where in a packed tile (docs/reference/codecs/predict.md).

pub use crate::codec::interp::format::{
    CLASSES_OF_LANE, DIRECT, GROUP, GROUPS, Grid, LATTICE_STEP, LENGTH_BITS, NEVER, QUAD, Rule, TILE_LOG2,
    bits_of_state, code, floor, groups, token,
};
use crate::error::{Result, fail};
use crate::primitives::rans::STATE_BITS;

/// The id in the stream header.
pub const CODEC_PREDICT: u8 = 4;
/// Runs of a group.
pub const RUNS: usize = 4;
/// Codes of a run.
pub const RUN: usize = GROUP / RUNS;
/// Bits of the base in the head.
pub const BASE_BITS: u32 = 6;
/// Which of group `g`'s codes there are among `n`: a bit for each code of its runs.
#[inline(always)]
pub fn present_in(n: usize, g: usize) -> [u32; RUNS] {
    std::array::from_fn(|r| {
        let there = n.saturating_sub(g * GROUP + r * RUN).min(RUN);
        ((1u64 << there) - 1) as u32
    })
}

/// How many codes group `g` lacks.
#[inline(always)]
pub fn absent(n: usize, g: usize) -> u32 {
    ((g + 1) * GROUP).saturating_sub(n) as u32
}

/// How numbers are predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Predictor {
    /// Differences along axes.
    #[default]
    Axes,
    /// Interpolation by four nodes.
    Smooth,
    /// Interpolation by two nodes.
    Rough,
}

/// What the numbers of a tile stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Map {
    /// Bins in a stream that has them, elements' bits in one that has none.
    #[default]
    Plain,
    /// Multiples of the fine lattice, some steps from what they were.
    Lattice,
    /// The same multiples.
    Multiples,
    /// Elements' bits, in a stream of bins.
    Exact,
}

/// The first four bytes of a packed tile, and what they say follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The axes along which differences are taken, of interpolated numbers of their codes.
    pub set: u8,
    /// How numbers are predicted.
    pub predictor: Predictor,
    /// What numbers stand for.
    pub map: Map,
    /// The tile brings a table.
    pub has_table: bool,
    /// Some elements are corrected.
    pub has_patches: bool,
    /// One lane has all codes.
    pub is_sparse: bool,
    /// The group before which states change.
    pub switch: usize,
    /// Bits of the longest final state; 0 if all are 1.
    pub longest: u32,
    /// A mask tells which lanes have a final state above 1.
    pub masked: bool,
    /// Further words of the base: 0, 1, 2 or 4.
    pub base_words: usize,
    /// The low bits of the base.
    pub base: u32,
}

/// Bytes of a head.
pub const HEAD_BYTES: usize = 4;

impl Head {
    /// The bytes.
    pub fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let bits = u32::from(self.set)
            | (self.predictor as u32) << 3
            | (self.map as u32) << 5
            | u32::from(self.has_table) << 7
            | u32::from(self.has_patches) << 8
            | u32::from(self.is_sparse) << 9
            | (self.switch as u32) << 10
            | self.longest << 18
            | u32::from(self.masked) << 23
            | (self.base_words as u32).min(3) << 24
            | self.base << (32 - BASE_BITS);
        bits.to_le_bytes()
    }

    /// How its numbers are interpolated.
    pub fn rule(&self) -> Rule {
        Rule { rough: self.predictor == Predictor::Rough, coarse: self.map == Map::Lattice, set: self.set }
    }

    /// Reads the head of a tile of `groups` groups and checks each field on its own.
    pub fn read(bytes: [u8; HEAD_BYTES], groups: usize) -> Result<Head> {
        let bits = u32::from_le_bytes(bytes);
        let Some(predictor) = [Predictor::Axes, Predictor::Smooth, Predictor::Rough].get((bits >> 3 & 3) as usize)
        else {
            return fail!(Corrupt, "a tile has predictor 3");
        };
        let head = Head {
            set: (bits & 7) as u8,
            predictor: *predictor,
            map: [Map::Plain, Map::Lattice, Map::Multiples, Map::Exact][(bits >> 5 & 3) as usize],
            has_table: bits >> 7 & 1 == 1,
            has_patches: bits >> 8 & 1 == 1,
            is_sparse: bits >> 9 & 1 == 1,
            switch: (bits >> 10 & 255) as usize,
            longest: bits >> 18 & 31,
            masked: bits >> 23 & 1 == 1,
            base_words: [0, 1, 2, 4][(bits >> 24 & 3) as usize],
            base: bits >> (32 - BASE_BITS),
        };
        let states = head.longest <= STATE_BITS && (head.longest > 0 || !head.masked);
        let is_plain = !head.is_sparse || head.switch == 0 && head.longest == 0 && !head.has_table;
        if head.switch > groups && head.switch != NEVER || !states || !is_plain {
            return fail!(Corrupt, "head {head:?} of a tile with {groups} groups is not consistent");
        }
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_raw_bits_are_codes() {
        let codes = (0..10_000).chain((0..64).flat_map(|k| [(1u64 << k) - 1, 1 << k, 3 << k >> 1, u64::MAX >> k]));
        for c in codes {
            let (token, raw) = token(c);
            assert!(token < super::super::code::tables::TOKENS as u32);
            assert_eq!((code(token).0, code(token).1 | c & ((1 << raw) - 1)), (raw, c));
        }
    }

    #[test]
    fn the_last_group_may_lack_codes() {
        assert_eq!((groups(256), present_in(256, 1), absent(256, 1)), (2, [u32::MAX; RUNS], 0));
        assert_eq!((groups(257), present_in(257, 2), absent(257, 2)), (3, [1, 0, 0, 0], 127));
        assert_eq!((present_in(40, 0), absent(40, 0)), ([u32::MAX, 255, 0, 0], 88));
    }
}
