//! Countdown: magnitudes of floats counted down from a top that all of a subchunk are below, the sign at the low end,
//! so that the largest numbers get the shortest codes; zeros get shorter ones still (docs/reference/codecs/sleek.md
//! §5).

use crate::simd::word::Word;

/// Bits of the mantissa that a base has.
const MANTISSA_BITS: u32 = 2;

/// Bits of a base, of words with `e` exponent bits.
#[inline(always)]
pub const fn base_bits(e: u32) -> u32 {
    e + MANTISSA_BITS
}

/// The base of words of which `largest`, rotated left by one bit, is the largest.
#[inline(always)]
pub fn base<W: Word>(largest: W, e: u32) -> W {
    largest >> (W::BITS - base_bits(e))
}

/// What words are counted down from.
#[inline(always)]
pub fn top<W: Word>(base: W, e: u32) -> W {
    (base.add(W::ONE) << (W::BITS - base_bits(e))).add(W::ONE)
}

/// The top that is nearest above two words.
#[inline(always)]
pub fn top_of<W: Word>(a: W, b: W, e: u32) -> W {
    top(base(a.rotl(1).max(b.rotl(1)), e), e)
}

/// The code of a word below `top`.
#[inline(always)]
pub fn encode<W: Word>(x: W, top: W) -> W {
    let y = x.rotl(1);
    if y >> 1 == W::ZERO { y } else { top.sub(y) }
}

/// The word of a code.
#[inline(always)]
pub fn decode<W: Word>(code: W, top: W) -> W {
    (if code >> 1 == W::ZERO { code } else { top.sub(code) }).rotr(1)
}

/// Half of what a code may be, of a word that may lie above `top`.
#[inline(always)]
pub fn half_code<W: Word>(x: W, top: W) -> W {
    if x << 1 == W::ZERO { W::ZERO } else { top.sub(x.rotl(1)).magnitude() >> 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All words that lie below the tops of others, and whether the codes of those are theirs alone.
    fn check<W: Word>(words: &[W], e: u32) {
        for others in words.chunks(64) {
            let largest = others.iter().fold(W::ZERO, |m, x| m.max(x.rotl(1)));
            let top = top(base(largest, e), e);
            for x in others {
                let code = encode(*x, top);
                assert_eq!(decode(code, top), *x, "{x:x?} below {top:x?}");
                assert_eq!(code >> 1 == W::ZERO, *x << 1 == W::ZERO, "{x:x?} below {top:x?}");
                assert!(code >> 1 == W::ZERO || half_code(*x, top) == code >> 1 || code & W::SIGN != W::ZERO);
            }
        }
    }

    #[test]
    fn is_reversible() {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        let mut r = 1u64;
        let mut next = || {
            r = r.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            r ^ r >> 29
        };
        let wide: Vec<u64> = (0..1 << 18).map(|i| if i % 3 == 0 { next() } else { next() >> (i % 64) }).collect();
        let mixed: Vec<u16> = all.iter().map(|x| x.wrapping_mul(40503)).collect();
        for e in [5, 8] {
            check(&all, e);
            check(&mixed, e);
        }
        check(&wide.iter().map(|x| *x as u32).collect::<Vec<_>>(), 8);
        check(&wide.iter().map(|x| *x as u32 & 0x8000_0003).collect::<Vec<_>>(), 8);
        check(&wide, 11);
    }
}
