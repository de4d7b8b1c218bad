//! Range asymmetric numeral systems (Duda) with 32 states side by side, as many as a warp has lanes: symbols of static
//! tables, and raw bits. The words of all states stand in one row: in a step the states that need one take them in the
//! order of the lanes. What is encoded last is decoded first.

/// States that work side by side.
pub const LANES: usize = 32;
const _: () = assert!(LANES == crate::simd::numbers::LANES);
/// Bits of a table: its frequencies add up to 2^`TABLE_BITS`.
pub const TABLE_BITS: u32 = 10;
/// A state below this takes a word.
pub const LOW: u32 = 1 << 12;
/// Bits of a state.
pub const STATE_BITS: u32 = 28;
/// All states are below this.
pub const TOP: u32 = 1 << STATE_BITS;
/// The most raw bits of a step.
pub const RAW_BITS: u32 = 12;

/// A symbol of a table, for encoding.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    frequency: u32,
    start: u32,
    /// 2^(31 + shift) / frequency, rounded up: exact for what is below 2^28.
    reciprocal: u32,
    shift: u32,
}

impl Symbol {
    /// One that has the slots `start .. start + frequency` of a table; without any it cannot be encoded.
    pub const fn new(start: u32, frequency: u32) -> Symbol {
        if frequency == 0 {
            return Symbol { frequency, start, reciprocal: 0, shift: 0 };
        }
        let shift = 32 - (frequency - 1).leading_zeros();
        let reciprocal = (1u64 << (31 + shift)).div_ceil(frequency as u64);
        Symbol { frequency, start, reciprocal: reciprocal as u32, shift }
    }
}

/// The words of an encoder, the last one first, in a buffer from its end on.
pub struct Words<'a> {
    /// Where they are put.
    pub buffer: &'a mut [u16],
    /// Where the last one stands that was written.
    pub at: usize,
}

impl<'a> Words<'a> {
    /// None yet.
    pub fn new(buffer: &'a mut [u16]) -> Words<'a> {
        let at = buffer.len();
        Words { buffer, at }
    }

    /// They, in the order in which they are decoded.
    pub fn all(&self) -> &[u16] {
        &self.buffer[self.at..]
    }

    /// The same, for as long as the buffer is there.
    pub fn into_all(self) -> &'a [u16] {
        &self.buffer[self.at..]
    }

    #[inline(always)]
    fn put(&mut self, state: &mut u32) {
        self.at -= 1;
        self.buffer[self.at] = *state as u16;
        *state >>= 16;
    }

    /// Encodes a symbol.
    #[inline(always)]
    pub fn symbol(&mut self, state: &mut u32, symbol: &Symbol) {
        if *state >= symbol.frequency << (STATE_BITS - TABLE_BITS) {
            self.put(state);
        }
        let quotient = ((u64::from(*state) * u64::from(symbol.reciprocal)) >> (31 + symbol.shift)) as u32;
        *state += quotient * ((1 << TABLE_BITS) - symbol.frequency) + symbol.start;
    }

    /// Encodes `n` ≤ `RAW_BITS` bits.
    #[inline(always)]
    pub fn raw(&mut self, state: &mut u32, bits: u32, n: u32) {
        if *state >> (STATE_BITS - n) != 0 {
            self.put(state);
        }
        *state = *state << n | bits;
    }
}

/// The words of a decoder.
pub struct Source<'a> {
    words: &'a [[u8; 2]],
    /// The next one.
    pub at: usize,
    /// States below this take words.
    pub threshold: u32,
}

impl<'a> Source<'a> {
    /// These bytes; an odd one at the end is no word.
    pub fn new(bytes: &'a [u8], threshold: u32) -> Source<'a> {
        Source { words: bytes.as_chunks().0, at: 0, threshold }
    }

    /// The words that were not taken; `None` if more were taken than there are.
    pub fn rest(&self) -> Option<&'a [[u8; 2]]> {
        self.words.get(self.at..)
    }

    /// Behind the end there are zeros.
    #[inline(always)]
    fn refill(&mut self, state: &mut u32) {
        if *state < self.threshold {
            let word = self.words.get(self.at).map_or(0, |bytes| u16::from_le_bytes(*bytes));
            *state = *state << 16 | u32::from(word);
            self.at += 1;
        }
    }

    /// The slot of the table that a state points to.
    #[inline(always)]
    pub fn slot(state: u32) -> usize {
        (state & ((1 << TABLE_BITS) - 1)) as usize
    }

    /// Leaves a symbol behind that has `frequency` slots, of which the state points to the one with this number.
    #[inline(always)]
    pub fn pass(&mut self, state: &mut u32, frequency: u32, number: u32) {
        *state = frequency * (*state >> TABLE_BITS) + number;
        self.refill(state);
    }

    /// Decodes `n` ≤ `RAW_BITS` bits.
    #[inline(always)]
    pub fn raw(&mut self, state: &mut u32, n: u32) -> u32 {
        let bits = *state & ((1 << n) - 1);
        *state >>= n;
        if n > 0 {
            self.refill(state);
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_divide() {
        for frequency in 1..1024u32 {
            let symbol = Symbol::new(0, frequency);
            for state in (0..2000).chain((0..TOP).step_by(99_991)).chain(TOP - 2000..TOP) {
                let quotient = (u64::from(state) * u64::from(symbol.reciprocal)) >> (31 + symbol.shift);
                assert_eq!(quotient as u32, state / frequency, "{state} / {frequency}");
            }
        }
    }
}
