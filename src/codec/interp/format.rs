//! What stands where in a packed tile (docs/reference/codecs/interp.md).

pub use crate::codec::predict::format::{
    CLASSES_OF_LANE, DIRECT, GROUP, GROUPS, Grid, LATTICE_STEP, LENGTH_BITS, NEVER, QUAD, Rule, bits_of_state, code,
    floor, groups, token,
};

use crate::error::{Result, fail};
use crate::primitives::rans::STATE_BITS;

/// The id in the stream header.
pub const CODEC_INTERP: u8 = 5;
/// Bytes of a head.
pub const HEAD_BYTES: usize = 4;
/// `Head::low` is so much below the bits of a number, at least: classes add up to 7.
pub const LEAST_ABOVE_LOW: u32 = 8;

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
    /// Codes are the numbers.
    Symbols,
}

/// What the numbers of a tile stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// Elements' bits.
    #[default]
    Bits,
    /// Bins.
    Bins,
    /// Multiples of the lattice, some steps from what they were.
    Steps,
    /// The same multiples.
    Multiples,
}

/// The first four bytes of a packed tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The axes along which differences are taken, of interpolated numbers of their codes.
    pub set: u8,
    /// How numbers are predicted.
    pub predictor: Predictor,
    /// What they stand for.
    pub numbers: Numbers,
    /// The tile brings a table.
    pub has_table: bool,
    /// Some elements are corrected, or exceptions.
    pub has_patches: bool,
    /// One state codes all.
    pub is_sparse: bool,
    /// The group before which states change.
    pub switch: usize,
    /// Bits of the longest final state; 0 if all are 1.
    pub longest: u32,
    /// Words of the base: 0, 1, 2 or 4.
    pub base_words: usize,
    /// Low bits of each code that stand apart.
    pub low: u32,
}

impl Head {
    /// The bytes.
    pub fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let bits = u32::from(self.set)
            | (self.predictor as u32) << 3
            | (self.numbers as u32) << 5
            | u32::from(self.has_table) << 7
            | u32::from(self.has_patches) << 8
            | u32::from(self.is_sparse) << 9
            | (self.switch as u32) << 10
            | self.longest << 18
            | (self.base_words as u32).min(3) << 23
            | self.low << 25;
        bits.to_le_bytes()
    }

    /// That of a tile that is interpolated.
    pub fn interpolated(rule: Rule) -> Head {
        let predictor = if rule.rough { Predictor::Rough } else { Predictor::Smooth };
        Head { predictor, set: rule.set, ..Head::default() }
    }

    /// How its numbers are interpolated.
    pub fn rule(&self) -> Rule {
        Rule { rough: self.predictor == Predictor::Rough, coarse: self.numbers == Numbers::Steps, set: self.set }
    }

    /// Whether numbers are interpolated.
    pub fn is_interpolated(&self) -> bool {
        matches!(self.predictor, Predictor::Smooth | Predictor::Rough)
    }

    /// Reads the head of a tile of `groups` groups, of numbers of so many bits, and checks each field on its own.
    pub fn read(bytes: [u8; HEAD_BYTES], groups: usize, number_bits: u32) -> Result<Head> {
        let bits = u32::from_le_bytes(bytes);
        let head = Head {
            set: (bits & 7) as u8,
            predictor: [Predictor::Axes, Predictor::Smooth, Predictor::Rough, Predictor::Symbols]
                [(bits >> 3 & 3) as usize],
            numbers: [Numbers::Bits, Numbers::Bins, Numbers::Steps, Numbers::Multiples][(bits >> 5 & 3) as usize],
            has_table: bits >> 7 & 1 == 1,
            has_patches: bits >> 8 & 1 == 1,
            is_sparse: bits >> 9 & 1 == 1,
            switch: (bits >> 10 & 255) as usize,
            longest: bits >> 18 & 31,
            base_words: [0, 1, 2, 4][(bits >> 23 & 3) as usize],
            low: bits >> 25 & 63,
        };
        let symbols = head.predictor == Predictor::Symbols;
        let is_legal = bits >> 31 == 0
            && (head.switch <= groups || head.switch == NEVER)
            && head.longest <= STATE_BITS
            && head.low <= number_bits - LEAST_ABOVE_LOW
            && (!head.is_sparse
                || head.switch == 0 && head.longest == 0 && head.low == 0 && !head.has_table && !symbols)
            && (!symbols || head.has_table && head.numbers == Numbers::Bits && head.set == 0);
        if !is_legal {
            return fail!(Corrupt, "head {head:?} of a tile with {groups} groups is not consistent");
        }
        Ok(head)
    }
}
