//! What an encoder keeps from chunk to chunk.

use super::choose::Lists;
use super::constants::*;
use crate::codec::sleek::simd::{HIGHS, HIGHS_SLACK, MASK_BYTES, Masks};
use crate::container::constants::*;
use crate::error::Result;
use crate::host::memory::filled;
use crate::primitives::range::Ends;
use crate::simd::stream::Line;
use crate::simd::word::Word;

/// Buffers that an encoder reuses from chunk to chunk.
#[derive(Default)]
pub struct Buffers {
    /// The chunk's words, after a row of padding: a subchunk's window begins two words before it.
    pub words: Vec<Line>,
    /// Where its codes are made.
    pub scratch: Scratch,
    /// Chunks to come that are not tried with small integers, after one that did not fit them.
    pub too_wide: u8,
    /// Whether an element of a chunk so far has a bin that comes back as a missing value.
    pub beside: bool,
    /// What the elements of all chunks so far lie between, where somebody asks.
    pub ends: Option<Ends>,
}

/// Where a chunk's codes are made.
#[derive(Default)]
pub struct Scratch {
    /// The chunk's codes.
    pub codes: Vec<Line>,
    /// `Lists`.
    pub lists: Vec<Line>,
    /// Masks and high parts of the chunk's exceptions, as they are stored.
    pub exceptions: Vec<u8>,
}

/// The most that the exceptions of a chunk take: masks and full words, and what is written behind them.
const EXCEPTIONS_BYTES: usize = (SUBCHUNKS + 1) * MASK_BYTES + SUBCHUNKS * MAX_EXCEPTIONS * 8 + HIGHS_SLACK;

/// The most that `Lists` take: the widths of bytes, by subchunk and side by side, or masks and high parts of 64 bits.
const LISTS_BYTES: usize = SUBCHUNKS * (2 * SUBCHUNK_BYTES + size_of::<Masks>() + 8 * HIGHS);

impl Buffers {
    /// Allocates them.
    pub fn new() -> Result<Buffers> {
        let lines = |bytes: usize| filled(bytes.div_ceil(64), Line::ZERO);
        Ok(Buffers {
            words: lines(SUBCHUNK_BYTES + CHUNK_BYTES)?,
            scratch: Scratch {
                codes: lines(CHUNK_BYTES)?,
                lists: lines(LISTS_BYTES)?,
                exceptions: filled(EXCEPTIONS_BYTES, 0)?,
            },
            too_wide: 0,
            beside: false,
            ends: None,
        })
    }
}

/// What is made of words of one width, or of bytes, in a buffer.
pub trait Plain {}
impl<W: Word, const S: usize, const N: usize> Plain for [[W; S]; N] {}
impl<W: Word, const S: usize> Plain for Lists<W, S> {}

/// A buffer as what it is used for.
#[expect(unsafe_code, reason = "one buffer serves words of all widths")]
pub fn view<T: Plain>(buffer: &mut [Line]) -> &mut T {
    const { assert!(align_of::<T>() <= align_of::<Line>()) };
    assert!(size_of_val(buffer) >= size_of::<T>());
    // SAFETY: large enough by the assertion and aligned; every bit pattern is a word, and so a T.
    unsafe { &mut *buffer.as_mut_ptr().cast() }
}
