//! A table that a tile brings itself: frequencies that fit its symbols.

use super::tables::{PLACES, SLOTS};
use crate::codec::shared::reader::{take, zero};
use crate::error::{Result, fail};
use crate::primitives::rans::TABLE_BITS;

/// Symbols of such a table, at most.
pub const SYMBOLS: usize = PLACES;
/// 2 · 14 bits of counts, and a little more than the 10 of a table.
const RECIPROCAL_BITS: u32 = 40;

/// How often each symbol occurs.
pub type Counts = [u32; SYMBOLS];

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    frequencies: [u16; SYMBOLS],
}

impl Table {
    /// One of no use yet.
    pub const EMPTY: Table = Table { frequencies: [0; SYMBOLS] };

    /// Becomes the one that fits symbols which occur so often, at least one.
    #[inline(always)]
    pub fn fit(&mut self, counts: &Counts) {
        let frequencies = &mut self.frequencies;
        let total = counts.iter().sum::<u32>().max(1);
        // No tile has more than 2^14 elements, so that n / total is the upper part of n · reciprocal for n up to
        // 1025 · total.
        let reciprocal = (1 << RECIPROCAL_BITS) / u64::from(total) + 1;
        for (f, count) in frequencies.iter_mut().zip(counts) {
            let part = (u64::from((*count << TABLE_BITS) + total / 2) * reciprocal) >> RECIPROCAL_BITS;
            let part = part.clamp(1, SLOTS as u64 - 1) as u16;
            *f = if *count > 0 { part } else { 0 };
        }
        let mut sum: usize = frequencies.iter().map(|f| usize::from(*f)).sum();
        while sum != SLOTS {
            let most = frequencies.iter().fold(0, |most, f| most.max(*f));
            let greatest = frequencies.iter().position(|f| *f == most).unwrap_or(0);
            if sum < SLOTS {
                // The greatest may have no more; a symbol that does not occur takes what is left.
                let more = (SLOTS - sum).min(SLOTS - 1 - usize::from(frequencies[greatest]));
                frequencies[greatest] += more as u16;
                sum += more;
                if sum < SLOTS {
                    frequencies[if greatest == 0 { 1 } else { 0 }] += 1;
                    sum += 1;
                }
            } else {
                let less = (sum - SLOTS).min(usize::from(frequencies[greatest] / 8).max(1));
                frequencies[greatest] -= less as u16;
                sum -= less;
            }
        }
    }

    /// The frequencies.
    pub fn frequencies(&self) -> &[u16; SYMBOLS] {
        &self.frequencies
    }

    /// Writes the frequencies up to the last that is not 0: numbers below 128 as a byte, others as two; behind a 0 a
    /// byte tells how many more follow. A byte may stand behind them, for an even number.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let (mut s, mut sum) = (0, 0);
        while sum < SLOTS {
            let f = self.frequencies[s];
            s += 1;
            sum += usize::from(f);
            match f {
                0 => {
                    let more = self.frequencies[s..].iter().take_while(|f| **f == 0).count();
                    out.extend([0, more as u8]);
                    s += more;
                }
                1..128 => out.push(f as u8),
                _ => out.extend([128 | (f >> 8) as u8, f as u8]),
            }
        }
        if (out.len() - start) % 2 == 1 {
            out.push(0);
        }
    }

    /// Bytes that `write` adds.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        let last = self.frequencies.iter().rposition(|f| *f > 0).unwrap_or(0);
        let (mut bytes, mut before) = (0, 1);
        for f in &self.frequencies[..=last] {
            // One byte; another one for a great one; two for the first of several zeros.
            bytes += u16::from(*f > 0) + u16::from(*f >= 128) + 2 * u16::from(*f == 0 && before > 0);
            before = *f;
        }
        usize::from(bytes + bytes % 2)
    }

    /// Reads what `write` wrote, with symbols below `limit`.
    pub fn read(rest: &mut &[u8], limit: usize) -> Result<Table> {
        let mut frequencies = [0; SYMBOLS];
        let (mut s, mut sum, start) = (0, 0, rest.len());
        let byte = |rest: &mut &[u8]| take(rest, 1).map(|b| u16::from(b[0]));
        while sum < SLOTS {
            let first = byte(rest)?;
            let f = if first < 128 { first } else { (first & 127) << 8 | byte(rest)? };
            if s >= limit || f as usize >= SLOTS {
                return fail!(Corrupt, "a tile's table gives symbol {s} of {limit} the frequency {f}");
            }
            frequencies[s] = f;
            sum += usize::from(f);
            s += if f == 0 { 1 + usize::from(byte(rest)?) } else { 1 };
        }
        if sum > SLOTS {
            return fail!(Corrupt, "the frequencies of a tile's table add up to {sum}");
        }
        zero(take(rest, (start - rest.len()) % 2)?)?;
        Ok(Table { frequencies })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::interp::entropy::tables::TOKENS;

    #[test]
    fn tables_add_up_and_come_back() {
        let mut random = 1u32;
        for round in 0..300 {
            let mut counts = [0; SYMBOLS];
            for count in &mut counts {
                random = random.wrapping_mul(0x9e37_79b1).rotate_left(11).wrapping_add(1);
                *count = if random % 7 < round % 8 { 0 } else { (random >> 8) % (1 << (random % 15)) };
            }
            counts[round as usize % SYMBOLS] += 1;
            if round < 3 {
                counts = [0; SYMBOLS];
                counts[[0, 1, 255][round as usize]] = 5;
            }
            let mut table = Table::EMPTY;
            table.fit(&counts);
            assert_eq!(table.frequencies.iter().sum::<u16>(), 1024);
            assert!(counts.iter().zip(table.frequencies).all(|(c, f)| f < 1024 && (*c == 0 || f > 0)));
            let mut bytes = Vec::new();
            table.write(&mut bytes);
            assert_eq!(bytes.len(), table.bytes());
            bytes.push(9);
            let rest = &mut &bytes[..];
            assert_eq!(Table::read(rest, SYMBOLS).unwrap().frequencies, table.frequencies);
            assert_eq!(rest, &[9]);
            assert!(Table::read(&mut &bytes[..bytes.len() - 2], SYMBOLS).is_err());
        }
        assert!(Table::read(&mut &[131, 255, 2][..], SYMBOLS).is_err());
        assert!(Table::read(&mut &[132, 0, 0, 0][..], SYMBOLS).is_err());
        assert!(Table::read(&mut &[131, 255, 0, 200, 1, 0][..], TOKENS).is_err());
    }
}
