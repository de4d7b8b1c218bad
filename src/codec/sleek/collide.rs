//! Whether an element of a chunk would come back as a missing value.

use super::choose::Extremes;
use super::constants::*;
use super::integers::{Domain, Integers, first_of};
use super::plan::Plan;
use crate::dtype::DType;
use crate::primitives::quantize::{Element, mantissa_and_bias};
use crate::primitives::round;
use crate::simd::word::Word;

/// Whether an integer of the chunk is `x`, which stands for a missing value. Few chunks are asked.
#[cold]
#[inline(never)]
pub fn collision<W: Word, const S: usize>(x: u64, domain: &Domain<W>, integers: &Integers<W, S>) -> bool {
    let x = W::from_u64(x);
    // What is rounded (mode rel) is compared as an element, without the bits that all drop.
    let dropped = (W::ONE << domain.shift).sub(W::ONE);
    if x & dropped != W::ZERO {
        return false;
    }
    let x = x.sar(domain.shift);
    let is_within = |extremes: &Extremes<W>| {
        let within = |s: usize| extremes.least[s].biased() <= x.biased() && x.biased() <= extremes.most[s].biased();
        (0..SUBCHUNKS).any(within)
    };
    integers.extremes.as_ref().is_none_or(is_within) && integers.words[1..].iter().any(|words| contains(words, x))
}

/// Never inlined: of rows of a known length the compiler would make as many pieces of code.
#[inline(never)]
fn contains<W: Word>(words: &[W], x: W) -> bool {
    words.iter().fold(false, |any, w| any | (*w == x))
}

/// [`collision`] of 16-bit integers, which are exact distances from the domain's reference.
#[cold]
#[inline(never)]
pub fn small_collision<W: Word, const S: usize>(x: u64, domain: &Domain<W>, integers: &Integers<u16, S>) -> bool {
    let distance = W::from_u64(x).sub(domain.reference);
    let small = distance.saturate16();
    W::from_u64(small.extend()) == distance
        && collision(small.into(), &Domain { shift: 0, special: domain.special, reference: 0u16 }, integers)
}

/// Whether all elements whose integers come back as missing values are within the bound of the next larger numbers,
/// too, which then take their places.
#[cold]
#[inline(never)]
pub fn all_come_beside<E: Element>(plan: &Plan, src: &[u8]) -> bool {
    let mantissa = mantissa_and_bias(plan.dtype).0;
    let integer = |word: E::Word| match (&plan.quantizer, plan.keep_bits) {
        (Some(q), _) => (word & !E::Word::SIGN < E::Word::from_u64(q.threshold)).then(|| E::bin(q, word)),
        (None, keep) => keep.map(|keep| round::word(word, mantissa, keep)),
    };
    src.chunks_exact(size_of::<E::Word>()).all(|bytes| {
        let word: E::Word = first_of(plan, bytes);
        let number = number_of(plan.dtype, word.to_u64());
        let is_too_far = |x: E::Word| plan.colliding.iter().any(|c| c.integer == x.to_u64() && number < c.least);
        !integer(word).is_some_and(is_too_far)
    })
}

/// The number that a float's bits are: most are f32 or f64.
#[inline(always)]
fn number_of(dtype: DType, bits: u64) -> f64 {
    match dtype {
        DType::F32 => f32::from_bits(bits as u32).into(),
        DType::F64 => f64::from_bits(bits),
        _ => dtype.number(bits),
    }
}
