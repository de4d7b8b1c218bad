//! Rounding off mantissa bits: the point-wise relative bound.
//!
//! Keeping k mantissa bits, rounded to nearest with ties to even, changes a normal number by at most 2^−(k+1) of
//! itself.

use crate::simd::word::Word;

/// The magnitude of a word without so many bits, at least one.
#[inline(always)]
fn magnitude<W: Word>(v: W, drop: u32) -> W {
    let (a, half, low) = (v & !W::SIGN, W::ONE << (drop - 1), (W::ONE << drop).sub(W::ONE));
    a.add(half.sub(W::ONE)).add(a >> drop & W::ONE) & !low
}

/// A word that is rounded to `keep` of its `mantissa` bits, fewer than all.
#[inline(always)]
pub fn word<W: Word>(v: W, mantissa: u32, keep: u32) -> W {
    magnitude(v, mantissa - keep) | v & W::SIGN
}

/// Rounds every word of a chunk to `keep` of its `mantissa` bits, or none: a chunk with a subnormal number, with a NaN
/// whose low bits would be lost, or with a number that would round up to infinity stays exact. Whether it is rounded.
pub fn encode<W: Word>(words: &mut [W], mantissa: u32, keep: u32) -> bool {
    let drop = mantissa - keep.min(mantissa);
    if drop == 0 {
        return false;
    }
    let low = (W::ONE << drop).sub(W::ONE);
    let infinity = (!W::ZERO & !W::SIGN) >> mantissa << mantissa;
    let smallest = W::ONE << mantissa;
    let round = |v: W| magnitude(v, drop);
    let exact = words.iter().any(|v| {
        let a = *v & !W::SIGN;
        let special = a >= infinity;
        (special && a & low != W::ZERO) || (!special && round(*v) >= infinity) || (a < smallest && a != W::ZERO)
    });
    if !exact {
        for v in words {
            // Infinities, NaN and zeros have no bits to lose here, and rounding leaves them as they are.
            *v = round(*v) | *v & W::SIGN;
        }
    }
    !exact
}
