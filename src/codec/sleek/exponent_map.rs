//! The exponent map: common exponents to small codes, bit for bit reversible (SLEEK, Algorithm 1;
//! docs/reference/codecs/sleek.md §4).
//!
//! The branch-free form: with t = 2x − 2^(W−e) taken as signed and u = 2·rotl(x, 1), M(x) = t ≥ 0 ? 2^(W−e+1) − 1 − u :
//! u.

use crate::simd::word::Word;

/// M of docs/reference/format.md for words with `e` exponent bits.
#[inline(always)]
pub fn encode<W: Word>(x: W, e: u32) -> W {
    let t = (x << 1).sub(W::ONE << (W::BITS - e));
    let u = x.rotl(1) << 1;
    let low = W::ONE << (W::BITS - e + 1);
    if t & W::SIGN == W::ZERO { low.sub(W::ONE).sub(u) } else { u }
}

/// The inverse of M.
#[inline(always)]
pub fn decode<W: Word>(code: W, e: u32) -> W {
    let half = code >> 1;
    let one = W::ONE << (W::BITS - e);
    let even = if half >= one { half.add(W::SIGN) } else { half };
    let odd = W::SIGN.add(one).sub(W::ONE).sub(half);
    (if code & W::ONE != W::ZERO { odd } else { even }).rotr(1)
}
