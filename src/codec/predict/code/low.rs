//! Low bits of codes beside the coder: a plane of numbers with the same few bits each. Codes whose high bits are those
//! of one symbol may be left out; their low bits are zero.

use crate::codec::interp::reader::take;
use crate::error::{Result, fail};
use crate::simd::word::Word;

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

/// A plane that is written.
struct Numbers<'a> {
    plane: &'a mut [u8],
    /// Bytes that are written, and so many bits behind them.
    at: usize,
    word: u64,
    count: u32,
}

impl Numbers<'_> {
    /// Puts so many bits.
    #[inline(always)]
    fn put(&mut self, bits: u64, count: u32) {
        self.word |= bits << self.count;
        self.count += count;
        if self.count >= 64 {
            self.plane[self.at..self.at + 8].copy_from_slice(&self.word.to_le_bytes());
            self.at += 8;
            self.count -= 64;
            // What did not fit: nothing, where a shift by all bits of it says so.
            self.word = bits >> (count - self.count - 1) >> 1;
        }
    }

    /// Puts what is left.
    fn end(self) {
        self.plane[self.at..self.at + 8].copy_from_slice(&self.word.to_le_bytes());
    }
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
        let (start, bytes) = (out.len(), plane_bytes(self, codes.len()));
        // Room for a word more than there is.
        out.resize(start + bytes + 8, 0);
        let (plane, mask) = (&mut out[start..], (1u64 << self.bits) - 1);
        let mut numbers = Numbers { plane, at: 0, word: 0, count: 0 };
        let (pairs, rest) = if self.bare_codes == 0 && 2 * self.bits <= u64::BITS {
            codes.as_chunks_mut::<2>()
        } else {
            (&mut [][..], codes)
        };
        for pair in pairs {
            let [low, next] = pair.map(|code| code.to_u64() & mask);
            numbers.put(low | next << self.bits, 2 * self.bits);
            *pair = pair.map(|code| code >> self.bits);
        }
        for code in rest {
            let high = *code >> self.bits;
            if self.has(high) {
                numbers.put(code.to_u64() & mask, self.bits);
            }
            *code = high;
        }
        numbers.end();
        out.truncate(start + bytes);
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
    #[inline(always)]
    pub fn complete<W: Word>(&self, plane: &[u8], codes: &mut [W]) -> Result<()> {
        let numbers = if self.bare_codes == 0 { codes.len() } else { codes.iter().filter(|c| self.has(**c)).count() };
        if codes.len() - numbers != self.bare_codes {
            return fail!(Corrupt, "{} codes have no low bits, not {}", codes.len() - numbers, self.bare_codes);
        }
        let (bits, mask) = (self.bits as usize, (1u64 << self.bits) - 1);
        let (mut at, mut rest) = (0, codes);
        if self.bare_codes == 0 && bits <= MOST_AT_ONCE {
            at = complete_sixteen(bits, mask, plane, &mut rest);
        }
        for code in rest {
            let has = self.has(*code);
            *code = *code << self.bits;
            if has {
                *code = *code | W::from_u64(bits_at(plane, at) & mask);
                at += bits;
            }
        }
        // Less than a u16 is left.
        if at < 8 * plane.len() && bits_at(plane, at) != 0 {
            return fail!(Corrupt, "padding bits are not zero");
        }
        Ok(())
    }
}

/// Bits of a number that eight bytes have from any bit of the first one on.
const MOST_AT_ONCE: usize = 57;

/// Completes codes by sixteen, which begin at a byte each time, while there are bytes; leaves the rest, and tells where
/// its bits begin. Never inlined: it is one for all types and levels that have such words.
#[inline(never)]
fn complete_sixteen<W: Word>(bits: usize, mask: u64, plane: &[u8], rest: &mut &mut [W]) -> usize {
    let (mut offsets, mut shifts) = ([0; 16], [0; 16]);
    (0..16).for_each(|i| (offsets[i], shifts[i]) = (i * bits / 8, (i * bits % 8) as u32));
    let reach = offsets[15] + 8;
    let steps = (rest.len() / 16).min((plane.len() + 2 * bits).saturating_sub(reach) / (2 * bits));
    let (codes, behind) = std::mem::take(rest).split_at_mut(16 * steps);
    for (step, codes) in codes.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let bytes = &plane[step * 2 * bits..][..reach];
        for i in 0..16 {
            let low = u64::load(&bytes[offsets[i]..offsets[i] + 8]) >> shifts[i];
            codes[i] = codes[i] << bits as u32 | W::from_u64(low & mask);
        }
    }
    *rest = behind;
    16 * steps * bits
}

/// The bits of a plane from one on: at least 64, or all that are left.
#[inline(always)]
fn bits_at(plane: &[u8], at: usize) -> u64 {
    let (byte, by) = (at / 8, at as u32 % 8);
    if let Some(nine) = plane.get(byte..byte + 9) {
        let low = u64::load(nine);
        return low >> by | u64::from(nine[8]) << 1 << (63 - by);
    }
    let mut bytes = [0; 16];
    let rest = &plane[byte..];
    bytes[..rest.len()].copy_from_slice(rest);
    (u128::from_le_bytes(bytes) >> by) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_come_back() {
        let whole = [(1, 1, 0), (16, 3, 0), (100, 7, 0), (100, 23, 0), (1000, 57, 0), (1000, 58, 0), (333, 63, 0)];
        for (n, bits, bare_codes) in whole.into_iter().chain([(1000, 24, 250), (4, 9, 1)]) {
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
