//! What an encoder keeps from tile to tile, which its stages share.

use super::body::patches::{self, Patches};
use super::entropy::encode as entropy;
use super::entropy::sums::{Sum, Sums};
use crate::codec::interp::entropy::own_table::SYMBOLS;
use crate::codec::interp::format::GROUP;
use crate::codec::interp::lattice::Multiple;
use crate::codec::interp::plan::Plan;
use crate::codec::interp::predict::interpolation;
use crate::codec::interp::quantize::multiples::{BLOCK, Multiples};
use crate::codec::interp::quantize::{decimals, ranks};
use crate::error::Result;
use crate::host::memory::{Aligned, boxed, filled, reserve};
use crate::primitives::lorenzo::AXES;
use crate::simd::numbers::LONGEST;
use crate::simd::word::Word;

/// What an encoder keeps from tile to tile, for elements of a type and numbers of 32 or 64 bits.
pub struct Encoder<E: Multiple, N: Word> {
    pub elements: Aligned<E::Word>,
    /// Numbers of any map, less the base, and another choice of them.
    pub numbers: Vec<N>,
    pub other: Vec<N>,
    pub base: N,
    /// What is taken from them beside the base where they are codes.
    pub middle: N,
    /// The same, if 32 bits hold them; a part of a tile.
    pub short: Vec<u32>,
    pub part: Vec<u32>,
    /// What interpolation by a rule made, and by the best one before it.
    pub coded: Coded,
    pub aside: Coded,
    /// Other codes; whether those of interpolation are the tile's.
    pub all: Vec<N>,
    pub are_short: bool,
    pub marks: Vec<bool>,
    pub multiples: Multiples,
    pub levels: interpolation::Buffers,
    pub patches: Patches,
    pub digits: u8,
    pub odd: decimals::Odd<E::Word>,
    pub words: Vec<E::Word>,
    pub list: Vec<E::Word>,
    /// What stands between head and table.
    pub front: Vec<u8>,
    pub room: entropy::Room,
    /// Of numbers that are symbols, without `low` bits, how often each occurs.
    pub counts: Box<[u32; SYMBOLS]>,
    pub low: u32,
    /// What axes, or the rule in their place, cost.
    pub cost: u64,
    /// Whether an element of the tile comes back as the number next to a missing value.
    pub came_beside: bool,
}

/// What interpolation by a rule made of a tile.
pub struct Coded {
    /// Codes, and what their groups add up to.
    pub codes: Vec<u32>,
    pub sums: Box<Sums>,
    /// What decoders restore, where that is asked for.
    pub restored: Vec<u32>,
}

impl Coded {
    /// For tiles of so many elements.
    fn new(n: usize) -> Result<Coded> {
        Ok(Coded {
            codes: filled((n + LONGEST).next_multiple_of(GROUP), 0)?,
            sums: boxed(Sum::default())?,
            restored: filled(n, 0)?,
        })
    }
}

/// A tile: its lengths, its elements, and a bit for each that is missing, or nothing.
#[derive(Clone, Copy)]
pub struct Tile<'a> {
    pub lens: [usize; AXES],
    pub data: &'a [u8],
    pub missing: &'a [u64],
    /// Elements may be restored as a missing value.
    pub beside: bool,
}

impl<E: Multiple, N: Word> Encoder<E, N> {
    /// For the tiles of a plan.
    pub fn new(plan: &Plan) -> Result<Encoder<E, N>> {
        let n = plan.grid.capacity();
        let (mut front, mut odd, mut list) = (Vec::new(), Vec::new(), Vec::new());
        reserve(&mut front, 64 + n * (2 + size_of::<E::Word>()) + 256 * size_of::<E::Word>())?;
        reserve(&mut odd, decimals::most_odd(n))?;
        reserve(&mut list, ranks::MOST)?;
        Ok(Encoder {
            elements: Aligned::zeros(n.next_multiple_of(BLOCK))?,
            numbers: filled(n, N::ZERO)?,
            other: filled(n, N::ZERO)?,
            base: N::ZERO,
            middle: N::ZERO,
            short: filled(n, 0)?,
            part: filled(n, 0)?,
            coded: Coded::new(n)?,
            aside: Coded::new(n)?,
            all: filled(n, N::ZERO)?,
            are_short: false,
            marks: filled(n, false)?,
            multiples: Multiples::new(n)?,
            levels: interpolation::Buffers::new(plan.grid.sides)?,
            patches: patches::none(n)?,
            digits: 0,
            odd,
            words: filled(n, E::Word::ZERO)?,
            list,
            front,
            room: entropy::Room::new(n, N::BITS)?,
            counts: boxed(0)?,
            low: 0,
            cost: 0,
            came_beside: false,
        })
    }
}
