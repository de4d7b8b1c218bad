//! What encodes tokens by a table, for vectors.

use crate::codec::predict::code::own_table::SYMBOLS;
use crate::codec::predict::code::tables::{FREQUENCIES, TABLES};
use crate::error::Result;
use crate::host::memory::boxed;
use crate::primitives::rans::TABLE_BITS;

/// Places of tables of tokens: more than there are tokens, so that any byte is one.
const BYTES: usize = 256;
/// For each token what encodes it in a table: its frequency's reciprocal, and bits 0–9 what the frequency lacks of
/// 1024, bits 10–20 what is added, bits 21–24 a shift. With q the upper half of state · reciprocal, shifted to the
/// right, the new state is state + q · lack + what is added. A frequency of 1 has q = state − 1, which the sum makes up
/// for.
#[derive(Clone, Copy)]
pub struct Encoding<'a> {
    /// The reciprocals.
    pub reciprocals: &'a [u32; BYTES],
    /// The rest.
    pub rest: &'a [u32; BYTES],
}

/// The reciprocals and the rest of the tables that are always there.
static ENCODING: [([u32; BYTES], [u32; BYTES]); TABLES] = {
    let mut all = [([0; BYTES], [0; BYTES]); TABLES];
    let mut t = 0;
    while t < TABLES {
        let (mut s, mut start) = (0, 0);
        while s < FREQUENCIES[t].len() {
            let frequency = FREQUENCIES[t][s] as u32;
            (all[t].0[s], all[t].1[s]) = encoding(start, frequency);
            start += frequency;
            s += 1;
        }
        t += 1;
    }
    all
};

/// For each frequency its reciprocal, and the rest of a token whose slots are the first ones.
static BY_FREQUENCY: [(u32, u32); 1 << TABLE_BITS] = {
    let mut all = [(0, 0); 1 << TABLE_BITS];
    let mut frequency = 1;
    while frequency < all.len() {
        all[frequency] = encoding(0, frequency as u32);
        frequency += 1;
    }
    all
};

const fn encoding(start: u32, frequency: u32) -> (u32, u32) {
    let lack = (1 << TABLE_BITS) - frequency;
    if frequency == 1 {
        return (u32::MAX, lack | (start + lack) << 10);
    }
    let shift = 31 - (frequency - 1).leading_zeros();
    ((1u64 << (32 + shift)).div_ceil(frequency as u64) as u32, lack | start << 10 | shift << 21)
}

impl Encoding<'static> {
    /// That of a class's table.
    pub fn of(class: usize) -> Encoding<'static> {
        Encoding { reciprocals: &ENCODING[class].0, rest: &ENCODING[class].1 }
    }
}

/// What encodes the tokens of a tile's own table.
pub struct OwnEncoding {
    reciprocals: Box<[u32; BYTES]>,
    rest: Box<[u32; BYTES]>,
}

impl OwnEncoding {
    /// One of no use yet.
    pub fn new() -> Result<OwnEncoding> {
        Ok(OwnEncoding { reciprocals: boxed(0)?, rest: boxed(0)? })
    }

    /// That of a table; what tokens without slots get means nothing.
    #[inline(always)]
    pub fn fill(&mut self, frequencies: &[u16; SYMBOLS]) -> Encoding<'_> {
        let mut start = 0;
        for (s, f) in frequencies.iter().enumerate() {
            let (reciprocal, rest) = BY_FREQUENCY[usize::from(*f) % (1 << TABLE_BITS)];
            (self.reciprocals[s], self.rest[s]) = (reciprocal, rest + (start << 10));
            start += u32::from(*f);
        }
        Encoding { reciprocals: &self.reciprocals, rest: &self.rest }
    }
}
