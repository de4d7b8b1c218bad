//! What stands where in a packed tile (docs/reference/codecs/interp.md).

use crate::container::{Geometry, Layout};
use crate::error::{Result, fail};
use crate::primitives::lorenzo::AXES;
use crate::primitives::rans::{LANES, STATE_BITS};

/// The id in the stream header.
pub const CODEC_INTERP: u8 = 5;
/// Bytes of a head.
pub const HEAD_BYTES: usize = 4;
/// `Head::low` is so much below the bits of a number, at least: classes add up to 7.
pub const LEAST_ABOVE_LOW: u32 = 8;
/// Elements of a tile, at most, as a power of two.
pub const TILE_LOG2: u32 = 14;
/// Elements that the lanes decode between two classes.
pub const GROUP: usize = QUAD * LANES;
/// What bins are apart in steps of the fine lattice, and the step of interpolation on the finest level.
pub const LATTICE_STEP: u32 = 15;
/// Neighbours that a lane has of a group.
pub const QUAD: usize = 4;
/// Groups that follow each other whose classes one lane decodes.
pub const CLASSES_OF_LANE: usize = 4;
/// Groups of a tile, at most.
pub const GROUPS: usize = (1 << TILE_LOG2) / GROUP;
/// `Head::switch` where the states never change.
pub const NEVER: usize = 255;
/// Bits that tell how long a final state is.
pub const LENGTH_BITS: u32 = 4;

/// What is subtracted from the lengths of final states of which the longest has so many bits, where they are longer.
#[inline(always)]
pub const fn floor(longest: u32) -> u32 {
    longest.saturating_sub((1 << LENGTH_BITS) - 1)
}

/// Bits that are there of a state whose length is so much above the floor: all but the highest, which is set; those of
/// the floor if it is not above it.
#[inline(always)]
pub const fn bits_of_state(floor: u32, above: u32) -> u32 {
    if above == 0 { floor } else { floor + above - 1 }
}

/// Tokens below this are codes themselves.
pub const DIRECT: u32 = 64;
const DIRECT_LOG2: u32 = DIRECT.trailing_zeros();

/// The token of a code, and its raw bits.
#[inline(always)]
pub fn token(code: u64) -> (u32, u32) {
    if code < DIRECT.into() {
        return (code as u32, 0);
    }
    let octave = 63 - code.leading_zeros();
    let raw = octave - 1;
    (DIRECT + (octave - DIRECT_LOG2) * 2 + (code >> raw & 1) as u32, raw)
}

/// The raw bits of a token, and its code where they are 0.
pub const fn code(token: u32) -> (u32, u64) {
    if token < DIRECT {
        return (0, token as u64);
    }
    let raw = DIRECT_LOG2 - 1 + (token - DIRECT) / 2;
    (raw, (2 + (token as u64 & 1)) << raw)
}

/// Groups of so many codes.
#[inline(always)]
pub fn groups(n: usize) -> usize {
    n.div_ceil(GROUP)
}

/// The tiles of a stream, as boxes of up to three axes.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Sides of a whole tile along x, y and z.
    pub sides: [usize; AXES],
    /// Which dimensions are x and y; all before them are z.
    axes: [usize; 2],
}

impl Grid {
    /// Of a layout; an error where the codec has no such streams.
    pub fn new(layout: &Layout) -> Result<Grid> {
        let Geometry::Tile { sides_log2 } = &layout.shape.geometry else {
            return fail!(Corrupt, "codec interp has no streams in runs");
        };
        let sides_log2 = &sides_log2[..layout.shape.dims.rank()];
        let total: u32 = sides_log2.iter().map(|s| u32::from(*s)).sum();
        if total > TILE_LOG2 {
            return fail!(Corrupt, "tiles of 2^{total} elements; codec interp has up to 2^{TILE_LOG2}");
        }
        let mut longer = (0..sides_log2.len()).rev().filter(|k| sides_log2[*k] > 0);
        let x = longer.next().unwrap_or(sides_log2.len() - 1);
        let y = longer.next().unwrap_or(x);
        let side = |k: usize| 1 << sides_log2[k];
        let x_side: usize = side(x);
        let y_side = if y < x { side(y) } else { 1 };
        Ok(Grid { sides: [x_side, y_side, (1 << total) / x_side / y_side], axes: [x, y] })
    }

    /// Lengths along x, y and z of a tile with these lengths.
    pub fn lens(&self, lens: &[u64]) -> [usize; AXES] {
        let [x, y] = self.axes;
        let count: u64 = lens.iter().product();
        let x_len = lens[x];
        let y_len = if y < x { lens[y] } else { 1 };
        [x_len as usize, y_len as usize, (count / x_len / y_len) as usize]
    }

    /// Places of a tile.
    pub fn capacity(&self) -> usize {
        self.sides.iter().product()
    }

    /// The axes along which tiles have more than one element.
    pub fn axes(&self) -> u8 {
        (0..AXES).filter(|a| self.sides[*a] > 1).fold(0, |set, a| set | 1 << a)
    }
}

/// How a tile is interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpolation {
    /// Two nodes and a half of the mean instead of four and the boolean sum.
    pub rough: bool,
    /// Codes stand for multiples of a step; otherwise nothing is lost.
    pub in_steps: bool,
    /// A bit for each axis along which, on the finest two levels, codes of classes X, Y and Z are differences.
    pub axes: u8,
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
    pub axes: u8,
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
        let bits = u32::from(self.axes)
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
    pub fn interpolated(rule: Interpolation) -> Head {
        let predictor = if rule.rough { Predictor::Rough } else { Predictor::Smooth };
        Head { predictor, axes: rule.axes, ..Head::default() }
    }

    /// How its numbers are interpolated.
    pub fn rule(&self) -> Interpolation {
        Interpolation {
            rough: self.predictor == Predictor::Rough,
            in_steps: self.numbers == Numbers::Steps,
            axes: self.axes,
        }
    }

    /// Whether numbers are interpolated.
    pub fn is_interpolated(&self) -> bool {
        matches!(self.predictor, Predictor::Smooth | Predictor::Rough)
    }

    /// Reads the head of a tile of `groups` groups, of numbers of so many bits, and checks each field on its own.
    pub fn read(bytes: [u8; HEAD_BYTES], groups: usize, number_bits: u32) -> Result<Head> {
        let bits = u32::from_le_bytes(bytes);
        let head = Head {
            axes: (bits & 7) as u8,
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
            && (!symbols || head.has_table && head.numbers == Numbers::Bits && head.axes == 0);
        if !is_legal {
            return fail!(Corrupt, "head {head:?} of a tile with {groups} groups is not consistent");
        }
        Ok(head)
    }
}
