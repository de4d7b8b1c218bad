//! Low bits of codes, side by side at the end of a body.

use crate::codec::interp::format::GROUP;
use crate::simd::word::Word;

/// Bits that eight bytes have wherever in a byte they begin.
const MOST_AT_ONCE: u32 = 57;

/// Bits one behind the other, from the lowest of each byte on.
#[derive(Default)]
pub struct LowWriter {
    pub bytes: Vec<u8>,
    next: u128,
    bits: u32,
}

impl LowWriter {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.next, self.bits) = (0, 0);
    }

    /// Adds the lowest `count` < 64 bits.
    pub fn put(&mut self, bits: u64, count: u32) {
        self.next |= u128::from(bits & ((1 << count) - 1)) << self.bits;
        self.bits += count;
        if self.bits >= 64 {
            self.bytes.extend((self.next as u64).to_le_bytes());
            self.next >>= 64;
            self.bits -= 64;
        }
    }

    /// Adds the lowest `count` < 64 bits of each.
    pub fn put_all<N: Word>(&mut self, codes: &[N], count: u32) {
        if count == 0 || count > 32 {
            return codes.iter().filter(|_| count > 0).for_each(|c| self.put(c.to_u64(), count));
        }
        // Fewer than 32 bits wait, as in `put` fewer than 64.
        if self.bits >= 32 {
            self.bytes.extend((self.next as u32).to_le_bytes());
            (self.next, self.bits) = (self.next >> 32, self.bits - 32);
        }
        let (mut next, mut bits, mask) = (self.next as u64, self.bits, u64::MAX >> (64 - count));
        for c in codes {
            next |= (c.to_u64() & mask) << bits;
            bits += count;
            if bits >= 32 {
                self.bytes.extend((next as u32).to_le_bytes());
                (next, bits) = (next >> 32, bits - 32);
            }
        }
        (self.next, self.bits) = (next.into(), bits);
    }

    /// All bytes, up to a multiple of 4.
    pub fn end(&mut self) -> &[u8] {
        let bytes = self.bits.div_ceil(32) as usize * 4;
        self.bytes.extend(&(self.next as u64).to_le_bytes()[..bytes]);
        (self.next, self.bits) = (0, 0);
        &self.bytes
    }
}

/// The inverse of [`LowWriter`].
pub struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    /// Of these bytes.
    pub fn new(bytes: &'a [u8]) -> Bits<'a> {
        Bits { bytes, at: 0 }
    }

    /// The next `count` < 64 bits; zeros behind the end.
    pub fn take(&mut self, count: u32) -> u64 {
        let (byte, shift) = (self.at / 8, self.at % 8);
        let mut room = [0; 16];
        let there = self.bytes.get(byte..).unwrap_or(&[]);
        let there = &there[..there.len().min(16)];
        room[..there.len()].copy_from_slice(there);
        self.at += count as usize;
        (u128::from_le_bytes(room) >> shift) as u64 & ((1 << count) - 1)
    }

    /// Appends the next `count` < 64 bits each to the first `n` codes of a group; those behind are 0.
    #[inline(always)]
    pub fn append<N: Word>(&mut self, count: u32, n: usize, codes: &mut [N; GROUP]) {
        // Groups begin with a byte: all before the last one are whole.
        let there = self.bytes.get(self.at / 8..).unwrap_or(&[]);
        if n == GROUP && 2 * count <= MOST_AT_ONCE && there.len() >= 16 * count as usize + 8 {
            let mask = (1 << count) - 1;
            for (i, [first, second]) in codes.as_chunks_mut().0.iter_mut().enumerate() {
                let at = 2 * i * count as usize;
                let mut eight = [0; 8];
                eight.copy_from_slice(&there[at / 8..at / 8 + 8]);
                let bits = u64::from_le_bytes(eight) >> (at % 8);
                *first = *first << count | N::from_u64(bits & mask);
                *second = *second << count | N::from_u64(bits >> count & mask);
            }
            self.at += GROUP * count as usize;
            return;
        }
        for code in &mut codes[..n] {
            *code = *code << count | N::from_u64(self.take(count));
        }
    }

    /// Whether all bits behind those that were taken are zero.
    pub fn end_in_zeros(&mut self) -> bool {
        let mut is_zero = true;
        while self.at < 8 * self.bytes.len() {
            let count = (8 - self.at % 8) as u32;
            is_zero &= self.take(count) == 0;
        }
        is_zero
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back() {
        let mut writer = LowWriter::default();
        let numbers: Vec<(u64, u32)> = (0..500u64).map(|i| (i * i * 0x9e37_79b9, (i * 7 % 64) as u32)).collect();
        numbers.iter().for_each(|(bits, count)| writer.put(*bits, *count));
        let bytes = writer.end();
        assert_eq!(bytes.len() % 4, 0);
        let mut reader = Bits::new(bytes);
        numbers.iter().for_each(|(bits, count)| assert_eq!(reader.take(*count), bits & ((1 << count) - 1)));
        assert!(reader.end_in_zeros());
    }

    /// A group at a time or code by code: the same bits.
    #[test]
    fn groups_take_what_codes_do() {
        for count in 1..64 {
            let mut writer = LowWriter::default();
            let numbers: Vec<u64> = (0..300u64).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            numbers.iter().for_each(|bits| writer.put(*bits, count));
            let bytes = writer.end();
            let mut bits = Bits::new(bytes);
            for part in numbers.chunks(GROUP) {
                let mut codes = [0u64; GROUP];
                bits.append(count, part.len(), &mut codes);
                assert!(codes.iter().zip(part).all(|(code, bits)| *code == bits & ((1 << count) - 1)), "{count}");
            }
            assert!(bits.end_in_zeros());
        }
    }
}
