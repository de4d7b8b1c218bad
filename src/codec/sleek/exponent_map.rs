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

#[cfg(test)]
mod tests {
    use super::*;

    /// M as docs/reference/format.md prints it.
    fn plain<W: Word>(v: W, e: u32) -> W {
        let mut x = v.rotl(1);
        let one = W::ONE << (W::BITS - e);
        if x >> (W::BITS - e) != W::ZERO {
            x = x.sub(W::SIGN);
            if x >> (W::BITS - e) == W::ZERO || x >= W::SIGN {
                x = x.sub(one);
            }
        }
        x.zigzag()
    }

    fn check<W: Word>(v: W, e: u32) {
        assert_eq!(encode(v, e), plain(v, e), "{v:x?}");
        assert_eq!(decode(encode(v, e), e), v, "{v:x?}");
    }

    #[test]
    fn is_the_papers_map_and_reversible() {
        for v in 0..=u16::MAX {
            check(v, 5);
            check(v, 8);
        }
        let mut r = 1u64;
        for i in 0..2_000_000u64 {
            r = r.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            check((r >> 32) as u32, 8);
            check(r ^ i << 60, 11);
        }
        for exponent in 0..=255u32 {
            for low in [0, 1, 0x7fffff] {
                check(exponent << 23 | low, 8);
                check(1 << 31 | exponent << 23 | low, 8);
            }
        }
    }
}
