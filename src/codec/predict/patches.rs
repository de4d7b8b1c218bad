//! Elements of a tile that its predictor does not restore as they must be: a list of corrections, in fine steps, and one
//! of exceptions, bit for bit (docs/codecs/predict.md §7).

use super::lossless::{take, take16};
use crate::error::{Result, fail};
use crate::host::memory::reserve;
use crate::primitives::word::Word;

/// A byte that stands for as many elements more, and none of them.
const SKIP: u8 = 255;
/// Corrections are no more than this.
const MOST_CORRECTION: u8 = 16;
/// A tile has no more corrections than this.
pub const MOST_CORRECTIONS: usize = 4096;
/// A tile has no more exceptions than this.
pub const MOST_EXCEPTIONS: usize = 1024;

/// The lists of a tile.
pub struct Patches {
    /// Numbers of elements, rising, and what is added to their multiples.
    pub corrections: Vec<(u16, i8)>,
    /// Numbers of elements, rising, and their bits.
    pub exceptions: Vec<(u16, u64)>,
}

impl Patches {
    /// None, with room for all that there may be.
    pub fn new() -> Result<Patches> {
        let mut patches = Patches { corrections: Vec::new(), exceptions: Vec::new() };
        reserve(&mut patches.corrections, MOST_CORRECTIONS)?;
        reserve(&mut patches.exceptions, MOST_EXCEPTIONS)?;
        Ok(patches)
    }

    /// Adds a correction, if there is room.
    #[inline(always)]
    pub fn correct(&mut self, number: usize, by: i32) -> bool {
        let has_room = self.corrections.len() < MOST_CORRECTIONS;
        if has_room {
            self.corrections.push((number as u16, by as i8));
        }
        has_room
    }

    /// Adds an exception, if there is room.
    #[inline(always)]
    pub fn except(&mut self, number: usize, bits: u64) -> bool {
        let has_room = self.exceptions.len() < MOST_EXCEPTIONS;
        if has_room {
            self.exceptions.push((number as u16, bits));
        }
        has_room
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.corrections.is_empty() && self.exceptions.is_empty()
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.corrections.clear();
        self.exceptions.clear();
    }

    /// Writes them for elements of `size` bytes, if there are any.
    pub fn write_if_any(&self, size: usize, out: &mut Vec<u8>) {
        if !self.is_empty() {
            self.write(size, out);
        }
    }

    /// Writes them for elements of `size` bytes.
    pub fn write(&self, size: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend((self.corrections.len() as u16).to_le_bytes());
        out.extend((self.exceptions.len() as u16).to_le_bytes());
        let mut next = 0;
        for (number, _) in &self.corrections {
            let mut gap = number - next;
            while gap >= u16::from(SKIP) {
                out.push(SKIP);
                gap -= u16::from(SKIP);
            }
            out.push(gap as u8);
            next = number + 1;
        }
        out.extend(self.corrections.iter().map(|(_, correction)| *correction as u8));
        for (number, _) in &self.exceptions {
            out.extend(number.to_le_bytes());
        }
        for (_, bits) in &self.exceptions {
            out.extend(&bits.to_le_bytes()[..size]);
        }
        if !(out.len() - start).is_multiple_of(2) {
            out.push(0);
        }
    }

    /// Reads those of `n` elements of a word's size.
    pub fn read<W: Word>(&mut self, rest: &mut &[u8], n: usize) -> Result<()> {
        self.clear();
        let all = rest.len();
        let (corrections, exceptions) = (usize::from(take16(rest)?), usize::from(take16(rest)?));
        let (most, most_exceptions) = (n.min(MOST_CORRECTIONS), n.min(MOST_EXCEPTIONS));
        if corrections == 0 && exceptions == 0 || corrections > most || exceptions > most_exceptions {
            return fail!(Corrupt, "a tile of {n} elements has {corrections} corrections and {exceptions} exceptions");
        }
        let mut next = 0;
        for _ in 0..corrections {
            let mut number = next;
            loop {
                let gap = take(rest, 1)?[0];
                number += usize::from(gap);
                if number >= n {
                    return fail!(Corrupt, "element {number} of {n} has a correction");
                }
                if gap != SKIP {
                    break;
                }
            }
            self.corrections.push((number as u16, 0));
            next = number + 1;
        }
        for (correction, byte) in self.corrections.iter_mut().zip(take(rest, corrections)?) {
            let by = *byte as i8;
            if by == 0 || by.unsigned_abs() > MOST_CORRECTION {
                return fail!(Corrupt, "element {} has the correction {by}", correction.0);
            }
            correction.1 = by;
        }
        for bytes in take(rest, 2 * exceptions)?.as_chunks::<2>().0 {
            let number = u16::from_le_bytes(*bytes);
            if usize::from(number) >= n || self.exceptions.last().is_some_and(|last| last.0 >= number) {
                return fail!(Corrupt, "element {number} of {n} is an exception out of turn");
            }
            self.exceptions.push((number, 0));
        }
        let bits = take(rest, size_of::<W>() * exceptions)?.chunks_exact(size_of::<W>());
        self.exceptions.iter_mut().zip(bits).for_each(|(exception, bytes)| exception.1 = W::load(bytes).to_u64());
        if !(all - rest.len()).is_multiple_of(2) && take(rest, 1)?[0] != 0 {
            return fail!(Corrupt, "padding bytes are not zero");
        }
        Ok(())
    }
}
