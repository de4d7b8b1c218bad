//! Elements' bits as numbers in the order of elements.

use crate::primitives::quantize::Element;
use crate::simd::word::Word;

/// A float's bits as a number in the order of floats; its own inverse. An integer as it is.
#[inline(always)]
pub fn ordered<E: Element>(w: E::Word) -> E::Word {
    if E::EXPONENT_BITS == 0 { w } else { w ^ (w.sar(E::Word::BITS - 1) & !E::Word::SIGN) }
}

/// The element of a word of bits.
#[inline(always)]
pub fn from_bits<E: Element>(word: E::Word, shift: u32) -> E::Word {
    let bits = ordered::<E>(word);
    if E::EXPONENT_BITS == 0 { bits << shift } else { (bits << shift) & !E::Word::SIGN | bits & E::Word::SIGN }
}
