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

/// What encodes a symbol of a table: its frequency's reciprocal, and bits 0–9 what the frequency lacks of 1024, bits
/// 10–20 what is added, bits 21–24 a shift. With q the upper half of state · reciprocal, shifted to the right, the new
/// state is state + q · lack + what is added. A frequency of 1 has q = state − 1, which the sum makes up for.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    pub reciprocal: u32,
    pub rest: u32,
}

impl Symbol {
    /// One that has the slots `start .. start + frequency` of a table, at least one.
    pub const fn new(start: u32, frequency: u32) -> Symbol {
        let lack = (1 << TABLE_BITS) - frequency;
        if frequency == 1 {
            return Symbol { reciprocal: u32::MAX, rest: lack | (start + lack) << TABLE_BITS };
        }
        // 2^(32 + shift) / frequency, rounded up: exact for what is below 2^28.
        let shift = 31 - (frequency - 1).leading_zeros();
        let reciprocal = (1u64 << (32 + shift)).div_ceil(frequency as u64) as u32;
        Symbol { reciprocal, rest: lack | start << TABLE_BITS | shift << 21 }
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
    pub fn symbol(&mut self, state: &mut u32, Symbol { reciprocal, rest }: Symbol) {
        let lack = rest & ((1 << TABLE_BITS) - 1);
        if *state >= ((1 << TABLE_BITS) - lack) << (STATE_BITS - TABLE_BITS) {
            self.put(state);
        }
        let quotient = ((u64::from(*state) * u64::from(reciprocal)) >> 32) as u32 >> (rest >> 21);
        *state += quotient * lack + (rest >> TABLE_BITS & 2047);
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
    fn symbols_have_their_slots() {
        for frequency in 1..1024u32 {
            let (symbol, start) = (Symbol::new(1024 - frequency, frequency), 1024 - frequency);
            let most = frequency << (STATE_BITS - TABLE_BITS);
            for before in (1..2000.min(most)).chain((1..most).step_by(99_991)).chain(most - 1000..most) {
                let mut state = before;
                Words::new(&mut []).symbol(&mut state, symbol);
                assert_eq!(state, ((before / frequency) << TABLE_BITS) + start + before % frequency, "{before}");
            }
        }
    }
}
