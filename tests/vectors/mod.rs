//! Deterministic input data for the tests.

#![allow(dead_code)]

/// SplitMix64: the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number below `end`, which is small against 2^64.
    pub fn below(&mut self, end: u64) -> u64 {
        (u128::from(self.next()) * u128::from(end) >> 64) as u64
    }
}
