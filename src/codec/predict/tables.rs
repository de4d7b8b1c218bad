//! The static tables, as docs/codecs/predict.md has them.

/// Classes of groups, and as many tables of tokens; class 0 has no tokens.
pub const TABLES: usize = 16;
/// The table of classes that none is known before.
pub const FIRST: usize = TABLES;
/// Symbols of a class's table, tokens: as many as residuals of 64 bits need.
pub const TOKENS: usize = 180;

/// Frequencies, which add up to 1024 in each table; behind the last one that is there all are 0.
pub static FREQUENCIES: [&[u16]; TABLES] = [
    &[1023, 1],
    &[1006, 7, 7, 1, 1, 1, 1],
    &[
        946, 20, 20, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1,
    ],
    &[
        874, 51, 51, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ],
    &[
        630, 161, 161, 5, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ],
    &[
        778, 83, 83, 6, 6, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ],
    &[
        430, 203, 203, 46, 46, 12, 12, 5, 5, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ],
    &[
        715, 55, 55, 24, 24, 14, 14, 10, 10, 7, 7, 5, 5, 3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 4, 1, 1, 1, 1, 1,
        1,
    ],
    &[
        264, 133, 133, 83, 83, 52, 52, 33, 33, 20, 20, 13, 13, 8, 8, 5, 5, 4, 4, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1,
    ],
    &[
        107, 60, 61, 56, 56, 47, 47, 40, 40, 35, 35, 31, 31, 27, 27, 27, 27, 20, 20, 17, 17, 14, 14, 12, 12, 10, 10, 8,
        8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10,
        3, 2, 1, 1, 1, 1, 1, 1, 1, 1,
    ],
    &[
        586, 52, 52, 20, 20, 13, 13, 9, 9, 7, 7, 7, 7, 5, 5, 5, 5, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
        3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 28, 17, 15, 6, 8, 3,
        4, 3, 4, 1, 1, 1, 1, 1,
    ],
    &[
        81, 23, 23, 20, 20, 18, 18, 16, 16, 15, 15, 14, 14, 14, 14, 13, 13, 12, 12, 12, 12, 11, 11, 11, 11, 10, 10, 10,
        10, 10, 10, 10, 10, 9, 9, 8, 8, 8, 8, 8, 8, 7, 7, 7, 7, 7, 7, 6, 6, 6, 6, 6, 6, 6, 6, 5, 5, 5, 5, 5, 5, 5, 5,
        5, 110, 58, 61, 30, 23, 6, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ],
    &[
        17, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 2, 2, 2, 2,
        2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 49, 45, 84, 75, 132, 109, 151,
        83, 69, 31, 23, 9, 6, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ],
    &[
        97, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 11, 11, 20, 19, 35, 33, 58,
        52, 89, 74, 115, 84, 111, 63, 49, 16, 10, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ],
    &[
        334, 21, 21, 13, 13, 9, 9, 7, 7, 6, 6, 5, 5, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 3, 3, 2, 2,
        2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 29, 21, 31, 23, 33, 24,
        31, 21, 25, 14, 18, 12, 16, 11, 14, 8, 10, 7, 8, 6, 7, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1,
    ],
    &[
        2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 4, 4, 7, 7, 13, 12, 24,
        23, 44, 42, 73, 64, 74, 74, 74, 55, 50, 27, 36, 22, 26, 18, 30, 24, 31, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1,
    ],
];

/// The class that an encoder gives a group, by whether it is sparse and the quarter octave of its sum of magnitudes.
pub static CLASSES: [[u8; 128]; 2] = [
    [
        0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 8, 8, 8, 8, 8, 8, 8,
        9, 9, 9, 9, 9, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 12, 12, 12, 12, 12, 12, 12, 12, 12,
        13, 13, 13, 13, 13, 13, 13, 13, 13, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
        15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
        15, 15, 15, 15, 15, 15,
    ],
    [
        0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 5, 5, 5, 5, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 10,
        10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
        14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
        14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
        14, 14, 14, 14, 14, 14, 14,
    ],
];

/// Frequencies of a group's class by the class of the group before it, or `FIRST`.
pub static CLASS_FREQUENCIES: [[u16; TABLES]; TABLES + 1] = class_frequencies();

const fn class_frequencies() -> [[u16; TABLES]; TABLES + 1] {
    let old = [840, 50, 23, 8, 3, 3, 2, 2, 2, 2, 2, 3, 3, 8, 23, 50];
    let mut all = [[64; TABLES]; TABLES + 1];
    let mut t = 0;
    while t < TABLES {
        let mut s = 0;
        while s < TABLES {
            all[t][s] = old[(s + TABLES - t) % TABLES];
            s += 1;
        }
        t += 1;
    }
    all
}

/// The symbols of classes, for encoding.
pub static CLASS_SYMBOLS: [[Symbol; TABLES]; TABLES + 1] = {
    let mut all = [[Symbol::new(0, 0); TABLES]; TABLES + 1];
    let mut t = 0;
    while t <= TABLES {
        let (mut s, mut start) = (0, 0);
        while s < TABLES {
            all[t][s] = Symbol::new(start, CLASS_FREQUENCIES[t][s] as u32);
            start += CLASS_FREQUENCIES[t][s] as u32;
            s += 1;
        }
        assert!(start as usize == SLOTS);
        t += 1;
    }
    all
};

/// For each slot of classes what `SLOTS_OF` has for tokens.
pub static CLASS_SLOTS: [[u32; SLOTS]; TABLES + 1] = {
    let mut all = [[0; SLOTS]; TABLES + 1];
    let mut t = 0;
    while t <= TABLES {
        let (mut s, mut slot) = (0, 0);
        while s < TABLES {
            let mut number = 0;
            while number < CLASS_FREQUENCIES[t][s] as u32 {
                all[t][slot] = (s as u32) << 20 | (CLASS_FREQUENCIES[t][s] as u32) << TABLE_BITS | number;
                number += 1;
                slot += 1;
            }
            s += 1;
        }
        t += 1;
    }
    all
};

use super::format::{DIRECT, code, token};
use crate::primitives::rans::{Symbol, TABLE_BITS};

const SLOTS: usize = 1 << TABLE_BITS;

/// How many symbols the tables before each have together.
pub static FIRSTS: [u16; TABLES + 1] = {
    let mut firsts = [0; TABLES + 1];
    let mut t = 0;
    while t < TABLES {
        firsts[t + 1] = firsts[t] + FREQUENCIES[t].len() as u16;
        t += 1;
    }
    firsts
};

/// For each table its symbols, for encoding.
pub static SYMBOLS: [[Symbol; TOKENS]; TABLES] = symbols();
/// For each table and each slot: bits 0–9 the number of the slot within its symbol, bits 10–19 the frequency, bits
/// 20–27 the symbol.
pub static SLOTS_OF: [[u32; SLOTS]; TABLES] = slots();
/// The greatest token of each table.
static LAST: [u8; TABLES] = last();
/// Raw bits of each token, and its code where they are 0.
pub static CODES: [(u32, u64); TOKENS] = codes();

const fn symbols() -> [[Symbol; TOKENS]; TABLES] {
    let mut all = [[Symbol::new(0, 0); TOKENS]; TABLES];
    let mut t = 0;
    while t < TABLES {
        let (mut s, mut start) = (0, 0);
        while s < FREQUENCIES[t].len() {
            all[t][s] = Symbol::new(start, FREQUENCIES[t][s] as u32);
            start += FREQUENCIES[t][s] as u32;
            s += 1;
        }
        assert!(start as usize == SLOTS);
        t += 1;
    }
    all
}

const fn slots() -> [[u32; SLOTS]; TABLES] {
    let mut all = [[0; SLOTS]; TABLES];
    let mut t = 0;
    while t < TABLES {
        let (mut s, mut slot) = (0, 0);
        while s < FREQUENCIES[t].len() {
            let mut number = 0;
            while number < FREQUENCIES[t][s] as u32 {
                all[t][slot] = (s as u32) << 20 | (FREQUENCIES[t][s] as u32) << TABLE_BITS | number;
                number += 1;
                slot += 1;
            }
            s += 1;
        }
        t += 1;
    }
    all
}

const fn last() -> [u8; TABLES] {
    let mut all = [0; TABLES];
    let mut t = 0;
    while t < TABLES {
        all[t] = (FREQUENCIES[t].len() - 1) as u8;
        t += 1;
    }
    all
}

const fn codes() -> [(u32, u64); TOKENS] {
    let mut all = [(0, 0); TOKENS];
    let mut t = 0;
    while t < TOKENS {
        all[t] = code(t as u32);
        t += 1;
    }
    all
}

/// The class of a group with this sum of magnitudes, of which `small` quads of 32 have a 128th or less each, and whose
/// greatest code is `most`. A table that does not have its token gives way to the one that has all.
#[inline(always)]
pub fn class(sum: u32, small: u32, most: u64) -> usize {
    let is_sparse = small > 10 && sum > 8;
    let class = usize::from(CLASSES[usize::from(is_sparse)][quarter_octave(sum)]);
    let fits = most < DIRECT.into() && most <= LAST[class].into() || token(most).0 <= LAST[class].into();
    if fits { class } else { WIDEST[usize::from(is_sparse)] }
}

/// The classes, dense and sparse, whose tables have all tokens.
pub const WIDEST: [usize; 2] = [15, 14];

/// 1 for 1, and 4 more for each octave; 0 for 0.
fn quarter_octave(sum: u32) -> usize {
    match sum {
        0 => 0,
        _ => {
            let octave = sum.ilog2();
            let quarter = (u64::from(sum) << 2 >> octave & 3) as u32;
            (1 + 4 * octave + quarter) as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_have_all_tokens() {
        WIDEST.iter().for_each(|class| assert_eq!(FREQUENCIES[*class].len(), TOKENS));
        assert!(FREQUENCIES.iter().all(|table| table.iter().all(|f| *f > 0)));
    }

    #[test]
    fn quarter_octaves() {
        assert_eq!([0, 1, 2, 3, 4, 5, 8, 9, 10].map(quarter_octave), [0, 1, 5, 7, 9, 10, 13, 13, 14]);
        assert!(quarter_octave(u32::MAX) < CLASSES[0].len() + 1);
    }
}
