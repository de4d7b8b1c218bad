//! Low bits of codes beside the coder: a plane of numbers with the same few bits each. Codes whose high bits are those
//! of one symbol may be left out; their low bits are zero.

use crate::codec::predict::rest::take;
use crate::error::{Result, fail};
use crate::primitives::word::Word;

/// How many bits, and which codes have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Low {
    /// Bits of each number.
    pub bits: u32,
    /// The high bits of codes that have none, if `bare_codes` > 0.
    pub bare: u8,
    /// How many codes these are.
    pub bare_codes: usize,
}

/// Bytes of the plane of `n` codes.
fn plane_bytes(low: &Low, n: usize) -> usize {
    ((n - low.bare_codes) * low.bits as usize).div_ceil(16) * 2
}

impl Low {
    /// Whether a code with these high bits has low bits.
    #[inline(always)]
    pub fn has<W: Word>(&self, high: W) -> bool {
        self.bare_codes == 0 || high != W::from_u64(self.bare.into())
    }

    /// Bits that `write` adds.
    pub fn cost(&self, n: usize) -> u64 {
        32 + 8 * plane_bytes(self, n) as u64
    }

    /// Writes the low bits of codes, which become their high bits.
    pub fn write<W: Word>(&self, codes: &mut [W], out: &mut Vec<u8>) {
        out.extend([self.bits as u8, self.bare]);
        out.extend((self.bare_codes as u16).to_le_bytes());
        let end = out.len() + plane_bytes(self, codes.len());
        let (mut bits, mut count) = (0u128, 0);
        let mask = (1u64 << self.bits) - 1;
        for code in codes {
            let high = *code >> self.bits;
            if self.has(high) {
                bits |= u128::from(code.to_u64() & mask) << count;
                count += self.bits;
                if count >= 64 {
                    out.extend((bits as u64).to_le_bytes());
                    bits >>= 64;
                    count -= 64;
                }
            }
            *code = high;
        }
        out.extend(&bits.to_le_bytes()[..end - out.len()]);
    }

    /// Reads what `write` wrote of `n` codes of `width` bits, and where their plane is.
    pub fn read<'a>(rest: &mut &'a [u8], n: usize, width: u32) -> Result<(Low, &'a [u8])> {
        let bytes = take(rest, 4)?;
        let low = Low {
            bits: bytes[0].into(),
            bare: bytes[1],
            bare_codes: usize::from(u16::from_le_bytes([bytes[2], bytes[3]])),
        };
        if low.bits == 0 || low.bits >= width || low.bare_codes > n || low.bare_codes == 0 && low.bare > 0 {
            return fail!(Corrupt, "{low:?} of {n} codes of {width} bits");
        }
        let plane = take(rest, plane_bytes(&low, n))?;
        Ok((low, plane))
    }

    /// Completes codes by their low bits.
    pub fn complete<W: Word>(&self, plane: &[u8], codes: &mut [W]) -> Result<()> {
        let numbers = codes.iter().filter(|high| self.has(**high)).count();
        if codes.len() - numbers != self.bare_codes {
            return fail!(Corrupt, "{} codes have no low bits, not {}", codes.len() - numbers, self.bare_codes);
        }
        let (mut bits, mut count, mut words) = (0u128, 0, plane.chunks(8));
        let mask = (1u64 << self.bits) - 1;
        for code in codes {
            let has = self.has(*code);
            *code = *code << self.bits;
            if has {
                if count < self.bits {
                    let mut bytes = [0; 8];
                    let word = words.next().unwrap_or_default();
                    bytes[..word.len()].copy_from_slice(word);
                    bits |= u128::from(u64::from_le_bytes(bytes)) << count;
                    count += 64;
                }
                *code = *code | W::from_u64(bits as u64 & mask);
                bits >>= self.bits;
                count -= self.bits;
            }
        }
        if bits != 0 {
            return fail!(Corrupt, "padding bits are not zero");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_come_back() {
        for (n, bits, bare_codes) in [(1, 1, 0), (100, 7, 0), (100, 23, 0), (333, 63, 0), (1000, 24, 250), (4, 9, 1)] {
            let code =
                |i: u64| if i % 4 == 3 && bare_codes > 0 { 5 << bits } else { i.wrapping_mul(0x1234_5678_9abc_def1) };
            let codes: Vec<u64> = (0..n as u64).map(code).collect();
            let low = Low { bits, bare: if bare_codes > 0 { 5 } else { 0 }, bare_codes };
            let (mut own, mut bytes) = (codes.clone(), Vec::new());
            low.write(&mut own, &mut bytes);
            assert_eq!(low.cost(n), 8 * bytes.len() as u64);
            bytes.push(7);
            let rest = &mut &bytes[..];
            let (read, plane) = Low::read(rest, n, 64).unwrap();
            assert_eq!((read, *rest), (low, &[7][..]));
            low.complete(plane, &mut own).unwrap();
            assert_eq!(own, codes);
        }
    }
}
