//! Packing with 64-bit words, for every width and element type.

use super::Packer;
use crate::stage::word::Word;

/// The portable implementation.
pub struct Scalar;

impl<W: Word, const S: usize> Packer<W, S> for Scalar {
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
}

/// `n` ≤ 64 bits from bit `at` on; zeros follow the end.
#[inline(always)]
pub fn bits_at(packed: &[u8], at: usize, n: u32) -> u64 {
    let (byte, bit) = (at / 8, (at % 8) as u32);
    let tail;
    let window = match packed.get(byte..byte + 8) {
        Some(w) => w,
        None => {
            let mut w = [0; 8];
            let rest = packed.get(byte..).unwrap_or(&[]);
            let len = rest.len().min(8);
            w[..len].copy_from_slice(&rest[..len]);
            tail = w;
            &tail
        }
    };
    let mut word = 0u64;
    for (i, b) in window.iter().enumerate() {
        word |= u64::from(*b) << (8 * i);
    }
    word >>= bit;
    if n + bit > 64 {
        word |= u64::from(packed.get(byte + 8).copied().unwrap_or(0)) << (64 - bit);
    }
    if n == 64 { word } else { word & ((1 << n) - 1) }
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
