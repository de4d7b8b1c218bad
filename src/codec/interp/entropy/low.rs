//! Low bits of codes, side by side at the end of a body.

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

    /// All bytes, up to a multiple of 4.
    pub fn end(&mut self) -> &[u8] {
        let bytes = self.bits.div_ceil(32) as usize * 4;
        self.bytes.extend(&(self.next as u64).to_le_bytes()[..bytes]);
        (self.next, self.bits) = (0, 0);
        &self.bytes
    }
}

/// The inverse of [`LowWriter`].
pub struct LowReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> LowReader<'a> {
    /// Of these bytes.
    pub fn new(bytes: &'a [u8]) -> LowReader<'a> {
        LowReader { bytes, at: 0 }
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

    /// Whether all bits behind those that were taken are zero.
    pub fn ends_in_zeros(&mut self) -> bool {
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
        let mut reader = LowReader::new(bytes);
        numbers.iter().for_each(|(bits, count)| assert_eq!(reader.take(*count), bits & ((1 << count) - 1)));
        assert!(reader.ends_in_zeros());
    }
}
