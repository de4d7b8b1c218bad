//! Portable code, for every width and element type. Packing goes through 64-bit words.

use super::Simd;
use crate::stage::word::Word;

/// The portable implementation.
pub struct Scalar;

impl<W: Word, const S: usize> Simd<W, S> for Scalar {
    #[inline(always)]
    fn pack(codes: &[W; S], n: u32, out: &mut [u8]) {
        // S·n is a multiple of 64, so the last word is full.
        let mut words = out.chunks_exact_mut(8);
        let (mut acc, mut fill) = (0u64, 0);
        for c in codes {
            let c = c.to_u64();
            acc |= c << fill;
            fill += n;
            if fill >= 64 {
                if let Some(w) = words.next() {
                    w.copy_from_slice(&acc.to_le_bytes());
                }
                fill -= 64;
                acc = if fill == 0 { 0 } else { c >> (n - fill) };
            }
        }
    }

    #[inline(always)]
    fn unpack(packed: &[u8], n: u32, codes: &mut [W; S]) {
        for (i, c) in codes.iter_mut().enumerate() {
            *c = W::from_u64(bits_at(packed, i * n as usize, n));
        }
    }

    #[inline(always)]
    fn running_sum(start: W, values: &mut [W; S]) {
        let mut last = start;
        for v in values {
            last = last.add(*v);
            *v = last;
        }
    }
}

/// `n` ≤ 64 bits from bit `at` on; zeros follow the end.
#[inline(always)]
pub fn bits_at(packed: &[u8], at: usize, n: u32) -> u64 {
    let (byte, bit) = (at / 8, (at % 8) as u32);
    let rest = packed.get(byte..).unwrap_or(&[]);
    let (low, high) = match rest.first_chunk::<9>() {
        Some([window @ .., next]) => (u64::from_le_bytes(*window), *next),
        None => near_end(rest),
    };
    let word = low >> bit | if bit > 0 { u64::from(high) << (64 - bit) } else { 0 };
    word & (u64::MAX >> (64 - n))
}

/// The first eight bytes and the ninth, zeros where there are fewer.
#[cold]
fn near_end(rest: &[u8]) -> (u64, u8) {
    let mut window = [0; 8];
    let len = rest.len().min(8);
    window[..len].copy_from_slice(&rest[..len]);
    (u64::from_le_bytes(window), rest.get(8).copied().unwrap_or(0))
}

/// ORs `value` of `n` bits into zeroed bytes from bit `at` on.
#[inline]
pub fn put_bits(out: &mut [u8], at: usize, n: u32, value: u64) {
    let mut wide = u128::from(value) << (at % 8);
    for b in out[at / 8..].iter_mut().take((at % 8 + n as usize).div_ceil(8)) {
        *b |= wide as u8;
        wide >>= 8;
    }
}
