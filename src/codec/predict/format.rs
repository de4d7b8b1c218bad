//! What stands where in a packed tile (docs/reference/codecs/predict.md).

use crate::container::{Geometry, Layout};
use crate::error::{Result, fail};
use crate::primitives::lorenzo::AXES;
use crate::primitives::rans::{LANES, STATE_BITS};

/// The id in the stream header.
pub const CODEC_PREDICT: u8 = 4;
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
/// Runs of a group.
pub const RUNS: usize = 4;
/// Groups of a tile, at most.
pub const GROUPS: usize = (1 << TILE_LOG2) / GROUP;
/// Codes of a run.
pub const RUN: usize = GROUP / RUNS;
/// Bits of the base in the head.
pub const BASE_BITS: u32 = 6;
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
            return fail!(Corrupt, "codec predict has no streams in runs");
        };
        let sides_log2 = &sides_log2[..layout.shape.dims.rank()];
        let total: u32 = sides_log2.iter().map(|s| u32::from(*s)).sum();
        if total > TILE_LOG2 {
            return fail!(Corrupt, "tiles of 2^{total} elements; codec predict has up to 2^{TILE_LOG2}");
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

    /// Groups of a whole tile.
    pub fn groups(&self) -> usize {
        groups(self.capacity())
    }

    /// The axes along which tiles have more than one element.
    pub fn set(&self) -> u8 {
        (0..AXES).filter(|a| self.sides[*a] > 1).fold(0, |set, a| set | 1 << a)
    }

    /// Shows the rows of a tile: where each starts among its elements, and its place.
    #[inline(always)]
    pub fn rows(&self, lens: [usize; AXES], mut show: impl FnMut(usize, usize)) {
        for z in 0..lens[2] {
            for y in 0..lens[1] {
                show((z * lens[1] + y) * lens[0], (z * self.sides[1] + y) * self.sides[0]);
            }
        }
    }
}

/// How a tile is interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Two nodes and a half of the mean instead of four and the boolean sum.
    pub rough: bool,
    /// Codes stand for multiples of a step; otherwise nothing is lost.
    pub coarse: bool,
    /// Axes along which codes of classes with one new axis are differences on the finest levels.
    pub set: u8,
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
