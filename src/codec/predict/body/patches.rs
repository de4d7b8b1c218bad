//! Elements of a tile that its predictor does not restore as they must be: a list of corrections, in fine steps, and
//! one of exceptions, bit for bit (docs/reference/codecs/predict.md §8).

use crate::codec::interp::reader::{take, take16};
use crate::error::{Result, fail};
use crate::host::memory::reserve;
use crate::simd::word::Word;

/// A byte that stands for as many elements more, and none of them.
const SKIP: u8 = 255;
/// Corrections are no more than this.
pub const MOST_CORRECTION: u8 = 7;
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
    fn write(&self, size: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend((self.corrections.len() as u16).to_le_bytes());
        out.extend((self.exceptions.len() as u16).to_le_bytes());
        write_numbers(self.corrections.iter().map(|(number, _)| *number), out);
        out.extend(self.corrections.iter().map(|(_, correction)| *correction as u8));
        write_numbers(self.exceptions.iter().map(|(number, _)| *number), out);
        if let [(_, first), others @ ..] = &self.exceptions[..] {
            let differ = others.iter().any(|(_, bits)| bits != first);
            out.push(u8::from(differ));
            let different = if differ { &self.exceptions[..] } else { &self.exceptions[..1] };
            different.iter().for_each(|(_, bits)| out.extend(&bits.to_le_bytes()[..size]));
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
        read_numbers(rest, n, corrections, |number| self.corrections.push((number, 0)))?;
        for (correction, byte) in self.corrections.iter_mut().zip(take(rest, corrections)?) {
            let by = *byte as i8;
            if by == 0 || by.unsigned_abs() > MOST_CORRECTION {
                return fail!(Corrupt, "element {} has the correction {by}", correction.0);
            }
            correction.1 = by;
        }
        read_numbers(rest, n, exceptions, |number| self.exceptions.push((number, 0)))?;
        if exceptions > 0 {
            let differ = take(rest, 1)?[0];
            if differ > 1 {
                return fail!(Corrupt, "exceptions have the flag {differ}");
            }
            let size = size_of::<W>();
            let mut bits = 0;
            for (i, exception) in self.exceptions.iter_mut().enumerate() {
                if i == 0 || differ == 1 {
                    bits = W::load(take(rest, size)?).to_u64();
                }
                exception.1 = bits;
            }
        }
        if !(all - rest.len()).is_multiple_of(2) && take(rest, 1)?[0] != 0 {
            return fail!(Corrupt, "padding bytes are not zero");
        }
        Ok(())
    }
}

/// Writes numbers of elements, which rise, by how many elements are between them.
fn write_numbers(numbers: impl Iterator<Item = u16>, out: &mut Vec<u8>) {
    let mut next = 0;
    for number in numbers {
        let mut gap = number - next;
        while gap >= u16::from(SKIP) {
            out.push(SKIP);
            gap -= u16::from(SKIP);
        }
        out.push(gap as u8);
        next = number + 1;
    }
}

/// Reads `count` numbers below `n`.
fn read_numbers(rest: &mut &[u8], n: usize, count: usize, mut show: impl FnMut(u16)) -> Result<()> {
    let mut next = 0;
    for _ in 0..count {
        let mut number = next;
        loop {
            let gap = take(rest, 1)?[0];
            number += usize::from(gap);
            if number >= n {
                return fail!(Corrupt, "element {number} of {n} has a patch");
            }
            if gap != SKIP {
                break;
            }
        }
        show(number as u16);
        next = number + 1;
    }
    Ok(())
}
