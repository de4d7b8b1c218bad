//! NaN and infinities of an array, by their bits.

use crate::dtype::DType;
use crate::exec::Isa;
use crate::simd::by;
use crate::simd::word::{Word, by_size};

/// The most that are told.
pub const MOST: usize = 4;

/// Bits of NaN and infinities, each once; of more than there is room for the lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Specials {
    bits: [u64; MOST],
    count: usize,
}

impl Specials {
    /// They, the lowest first.
    pub fn bits(&self) -> &[u64] {
        &self.bits[..self.count]
    }

    /// With those of others.
    pub fn join(&mut self, others: &Specials) {
        others.bits().iter().for_each(|bits| self.push(*bits));
    }

    /// With those among elements of a float type.
    pub fn add(&mut self, dtype: DType, big_endian: bool, bytes: &[u8]) {
        match dtype {
            DType::F32 => self.add_words::<u32>(0x7f80_0000, big_endian, bytes),
            DType::F64 => self.add_words::<u64>(0x7ff0_0000_0000_0000, big_endian, bytes),
            DType::F16 => self.add_words::<u16>(0x7c00, big_endian, bytes),
            DType::BF16 => self.add_words::<u16>(0x7f80, big_endian, bytes),
            _ => {}
        }
    }

    /// With these, which are special.
    pub fn push(&mut self, bits: u64) {
        let at = self.bits().partition_point(|known| *known < bits);
        if self.bits().get(at) == Some(&bits) || at == MOST {
            return;
        }
        self.count = MOST.min(self.count + 1);
        self.bits[at..self.count].rotate_right(1);
        self.bits[at] = bits;
    }

    /// The same where an element is special if it has all bits of `exponent`.
    fn add_words<W: Word>(&mut self, exponent: W, big_endian: bool, bytes: &[u8]) {
        const PIECE: usize = 4096;
        let turned = |word: W| if big_endian { word.swap() } else { word };
        for piece in bytes.chunks(PIECE) {
            // What is known is no news; nor is a number, 0, where less is known.
            let known = self.bits.map(|bits| turned(W::from_u64(bits)).to_u64());
            if has_news(size_of::<W>(), turned(exponent).to_u64(), known, piece) {
                let words = piece.chunks_exact(size_of::<W>()).map(|element| turned(W::load(element)));
                words.filter(|word| *word & exponent == exponent).for_each(|word| self.push(word.to_u64()));
            }
        }
    }
}

/// Whether an element of `size` bytes has all bits of `exponent` and is none of the `known`.
fn has_news(size: usize, exponent: u64, known: [u64; MOST], bytes: &[u8]) -> bool {
    let done = by!(Avx2, Isa::best(), |size: usize, exponent: u64, known: [u64; MOST], bytes: &[u8]| -> bool {
        any_of(size, exponent, known, bytes)
    });
    done.unwrap_or_else(|| any_of(size, exponent, known, bytes))
}

#[inline(always)]
fn any_of(size: usize, exponent: u64, known: [u64; MOST], bytes: &[u8]) -> bool {
    by_size!(size, any(exponent, known, bytes))
}

#[inline(always)]
fn any<W: Word>(exponent: u64, known: [u64; MOST], bytes: &[u8]) -> bool {
    let (exponent, known) = (W::from_u64(exponent), known.map(W::from_u64));
    let is_special = |word: W| word & exponent == exponent;
    let is_new = |word: W| known.iter().fold(is_special(word), |is_new, known| is_new & (word != *known));
    let words = || bytes.chunks_exact(size_of::<W>()).map(W::load);
    // Few arrays have any.
    words().fold(false, |any, word| any | is_special(word)) && words().fold(false, |any, word| any | is_new(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(dtype: DType, big_endian: bool, bits: &[u64]) -> Vec<u64> {
        let element = |bits: &u64| {
            let mut element = bits.to_le_bytes()[..dtype.size()].to_vec();
            if big_endian {
                element.reverse();
            }
            element
        };
        let mut all = Specials::default();
        all.add(dtype, big_endian, &bits.iter().flat_map(element).collect::<Vec<u8>>());
        all.bits().to_vec()
    }

    #[test]
    fn each_once_wherever_they_are() {
        for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
            let sign = 1u64 << (8 * dtype.size() - 1);
            let (infinite, nan) = (dtype.nearest(f64::INFINITY), dtype.nearest(f64::NAN));
            let numbers = |n: usize| [dtype.nearest(1.5), sign, dtype.nearest(-3e4)].repeat(n);
            for big_endian in [false, true] {
                assert!(told(dtype, big_endian, &numbers(5000)).is_empty());
                for at in [1, 7, 4100, 14_999] {
                    let mut elements = numbers(5000);
                    elements[at] = nan | sign;
                    elements[at / 2] = nan | sign;
                    assert_eq!(told(dtype, big_endian, &elements), [nan | sign]);
                    elements[at / 3] = infinite;
                    elements[5000] = nan | 1;
                    assert!(told(dtype, big_endian, &elements).ends_with(&[nan | 1, nan | sign]));
                    // Of five the lowest four, in whatever order they come.
                    elements[6000..6002].copy_from_slice(&[infinite | sign, infinite | 1]);
                    elements[at] = infinite;
                    let lowest = [infinite, infinite | 1, nan | 1, infinite | sign];
                    assert_eq!(told(dtype, big_endian, &elements), lowest);
                    elements.reverse();
                    assert_eq!(told(dtype, big_endian, &elements), lowest);
                }
            }
        }
    }
}
