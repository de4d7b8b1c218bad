//! What the elements of a tile are as multiples of the fine lattice.

use crate::codec::interp::format::TILE_LOG2;
use crate::codec::interp::lattice::{Block, Lattice, Multiple};
use crate::codec::interp::rules::{MOST_NUMBER, ONE_EXCEPTION_OF};
use crate::codec::interp::tile_shape::MARGIN;
use crate::error::Result;
use crate::host::memory::{Aligned, boxed};
use crate::simd::Task;
use crate::simd::numbers::CodeVectors;
use crate::simd::word::Word;

/// Elements that are taken at once: a word of a mask has a bit for each.
pub const BLOCK: usize = 64;
/// Words of a mask of a tile.
const MASK_WORDS: usize = (1 << TILE_LOG2) / BLOCK;

/// A bit for each element of a tile.
pub type Mask = Box<[u64; MASK_WORDS]>;

/// The multiples of a tile.
pub struct Multiples {
    /// Less the base. Short numbers are made here, too, where nobody needs these any more.
    pub numbers: Aligned<u32>,
    /// Elements that do not count.
    pub absent: Mask,
    /// Elements that are multiples.
    pub on: Mask,
    /// Elements that have none.
    pub wide: Mask,
    /// Those of them that are on the border.
    pub border: Mask,
}

impl Multiples {
    /// Those of tiles of up to `n` elements.
    pub fn new(n: usize) -> Result<Multiples> {
        Ok(Multiples {
            numbers: Aligned::zeros(MARGIN + n + MARGIN + BLOCK)?,
            absent: boxed(0)?,
            on: boxed(0)?,
            wide: boxed(0)?,
            border: boxed(0)?,
        })
    }
}

/// What the elements of a tile are as multiples.
#[derive(Clone, Copy, Debug)]
pub struct Survey {
    /// What is taken from them.
    pub base: i32,
    /// How many are multiples.
    pub on: usize,
    /// How many have none.
    pub wide: usize,
    /// How many of those are not on the border.
    pub far: usize,
    /// Some are missing.
    pub has_missing: bool,
    /// Distances from the base are small enough.
    pub near: bool,
}

impl Survey {
    /// Whether those of `n` elements that have no multiple are so few that all are exceptions. Those on the border do
    /// not count: more may come there when an array is written again, and exceptions are to stay exceptions.
    pub fn has_few_wide(&self, n: usize) -> bool {
        self.far <= n / ONE_EXCEPTION_OF
    }

    /// Whether some elements do not count: they are missing, or have no multiple.
    pub fn is_masked(&self) -> bool {
        self.has_missing || self.wide > 0
    }
}

/// Makes multiples of elements.
pub struct Map<'a, E> {
    pub lattice: &'a Lattice,
    pub big_endian: bool,
    pub data: &'a [u8],
    /// A bit for each element that is missing, or nothing.
    pub missing: &'a [u64],
    pub multiples: &'a mut Multiples,
    pub element: std::marker::PhantomData<E>,
}

impl<E: Multiple> Map<'_, E> {
    /// What becomes of the elements from one on, as many as there are.
    #[inline(always)]
    fn block(&self, bytes: &[u8], bits: &mut [E::Word; BLOCK], block: &mut Block<BLOCK>) {
        let size = size_of::<E::Word>();
        if bytes.len() == BLOCK * size {
            for i in 0..BLOCK {
                bits[i] = E::Word::load(&bytes[i * size..(i + 1) * size]);
            }
        } else {
            for i in 0..bytes.len() / size {
                bits[i] = E::Word::load(&bytes[i * size..(i + 1) * size]);
            }
        }
        if self.big_endian {
            for i in 0..BLOCK {
                bits[i] = bits[i].swap();
            }
        }
        E::block(self.lattice, bits, block);
    }

    /// The first multiple that counts.
    #[inline(always)]
    fn base(&self) -> i32 {
        let size = size_of::<E::Word>();
        let (mut bits, mut block) = ([E::Word::ZERO; BLOCK], Block::NONE);
        for (k, bytes) in self.data.chunks(BLOCK * size).enumerate() {
            self.block(bytes, &mut bits, &mut block);
            let missing = self.missing.get(k).copied().unwrap_or(0);
            for i in 0..bytes.len() / size {
                if block.wide[i] == 0 && missing >> i & 1 == 0 {
                    return block.numbers[i];
                }
            }
        }
        0
    }
}

impl<E: Multiple> Task for Map<'_, E> {
    type Done = Survey;

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, _: P) -> Survey {
        let size = size_of::<E::Word>();
        let base = self.base();
        let mut survey = Survey { base, on: 0, wide: 0, far: 0, has_missing: !self.missing.is_empty(), near: true };
        let (mut any, mut bits, mut block) = (0, [E::Word::ZERO; BLOCK], Block::NONE);
        for (k, bytes) in self.data.chunks(BLOCK * size).enumerate() {
            let there = bytes.len() / size;
            self.block(bytes, &mut bits, &mut block);
            let numbers: &mut [u32; BLOCK] =
                self.multiples.numbers[k * BLOCK..].first_chunk_mut().expect("whole blocks");
            for i in 0..BLOCK {
                numbers[i] = block.numbers[i].wrapping_sub(base) as u32;
            }
            let counted = !self.missing.get(k).copied().unwrap_or(0) & u64::MAX >> (BLOCK - there);
            let (mut on, mut wide, mut border) = (0, 0, 0);
            let (mut any_on, mut any_wide, mut any_border) = (0, 0, 0);
            for i in 0..BLOCK {
                any_on |= block.on[i];
                any_wide |= block.wide[i];
                any_border |= block.border[i];
            }
            if any_on != 0 {
                on = bits_of(&block.on) & counted;
            }
            if any_wide != 0 {
                wide = bits_of(&block.wide) & counted;
            }
            if any_border != 0 {
                border = bits_of(&block.border) & counted;
            }
            (self.multiples.on[k], self.multiples.wide[k], self.multiples.border[k]) = (on, wide, border);
            survey.on += on.count_ones() as usize;
            survey.wide += wide.count_ones() as usize;
            survey.far += (wide & !border).count_ones() as usize;
            let counts = counted & !wide;
            if counts == u64::MAX {
                for number in numbers {
                    any |= *number ^ (*number as i32 >> 31) as u32;
                }
            } else {
                for (i, number) in numbers.iter().enumerate() {
                    any |= (*number ^ (*number as i32 >> 31) as u32) & 0u32.wrapping_sub((counts >> i & 1) as u32);
                }
            }
        }
        survey.near = any < MOST_NUMBER;
        survey
    }
}

/// The lowest bits of numbers, side by side.
#[inline(always)]
fn bits_of(ones: &[u32; BLOCK]) -> u64 {
    let mut bits = 0;
    for i in 0..BLOCK {
        bits |= u64::from(ones[i]) << i;
    }
    bits
}

/// Marks which elements count, where some do not.
pub fn mark(n: usize, survey: Survey, missing: &[u64], multiples: &mut Multiples) {
    if !survey.is_masked() {
        return;
    }
    let Multiples { absent, wide, .. } = multiples;
    for (k, absent) in absent.iter_mut().enumerate().take(n.div_ceil(BLOCK)) {
        *absent = missing.get(k).copied().unwrap_or(0) | wide[k];
    }
}

/// Has another number stand for the elements that do not count, which a mask tells.
#[inline(always)]
pub fn leave_out(numbers: &mut [u32], absent: &Mask, by: u32) {
    for (numbers, absent) in numbers.chunks_mut(BLOCK).zip(&**absent).filter(|(_, absent)| **absent != 0) {
        for i in 0..numbers.len() {
            let is_absent = 0u32.wrapping_sub((absent >> i) as u32 & 1);
            numbers[i] = numbers[i] & !is_absent | by & is_absent;
        }
    }
}

/// The places of the bits of masks that are 1.
pub fn ones(masks: &[u64]) -> impl Iterator<Item = usize> {
    masks.iter().enumerate().flat_map(|(k, mask)| {
        std::iter::successors(Some(*mask), |left| Some(left & left.wrapping_sub(1)))
            .take_while(|left| *left != 0)
            .map(move |left| k * BLOCK + left.trailing_zeros() as usize)
    })
}

/// The bits of an element.
pub fn element_bits<W: Word>(big_endian: bool, data: &[u8], i: usize) -> W {
    let word = W::load(&data[i * size_of::<W>()..]);
    if big_endian { word.swap() } else { word }
}
