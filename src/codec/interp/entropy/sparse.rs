//! Tiles of which few groups have codes other than 0: one state codes them, as the final states of 32 would be most of
//! the tile.

use super::tables::{CLASS_ENCODINGS, CLASS_SLOTS, ENCODINGS, FIRST, TOKEN_SLOTS, shift_of, table_of};
use crate::codec::interp::format::{GROUP, GROUPS, code, groups, token};
use crate::codec::interp::rules::SPARSE_NONZERO;
use crate::codec::shared::reader::{take, take16, zero};
use crate::error::{Result, fail};
use crate::host::memory::{filled, reserve};
use crate::primitives::rans::{LOW, RAW_BITS, Source, Words};
use crate::simd::word::Word;

/// Bits of the head: one less than how many groups are coded, the state has four bytes instead of two, and the number
/// of words is odd.
const COUNT: u16 = GROUPS as u16 - 1;
const IS_LONG: u16 = 1 << 7;
const IS_ODD: u16 = 1 << 8;

/// What an encoder keeps.
pub struct Room {
    stream: Vec<u16>,
    bytes: Vec<u8>,
}

impl Room {
    /// With room for what a tile needs.
    pub fn new() -> Result<Room> {
        let most = SPARSE_NONZERO * GROUP * (10 + 64) / 16 + GROUPS + 8;
        let mut bytes = Vec::new();
        reserve(&mut bytes, 2 * most + 8)?;
        Ok(Room { stream: filled(most, 0)?, bytes })
    }

    /// Encodes codes of these classes; `None` if too many groups have codes.
    pub fn encode<N: Word>(&mut self, codes: &[N], classes: &[u8]) -> Option<&[u8]> {
        let coded = classes.iter().rposition(|class| *class > 0).map_or(1, |last| last + 1);
        if classes.iter().filter(|class| **class > 0).count() > SPARSE_NONZERO {
            return None;
        }
        let (mut words, mut state) = (Words::new(&mut self.stream), 1);
        for g in (0..coded).rev() {
            let class = usize::from(classes[g]);
            let shift = shift_of(class, 0);
            for c in codes[g * GROUP..codes.len().min((g + 1) * GROUP)].iter().rev().filter(|_| class > 0) {
                let (token, raw) = token((*c >> shift).to_u64());
                let raw = raw + shift;
                for round in (0..raw.div_ceil(RAW_BITS)).rev() {
                    let count = (raw - round * RAW_BITS).min(RAW_BITS);
                    words.raw(&mut state, (c.to_u64() >> (round * RAW_BITS)) as u32 & ((1 << count) - 1), count);
                }
                words.symbol(&mut state, ENCODINGS[table_of(class)].symbol(token as usize));
            }
            let before = if g == 0 { FIRST } else { classes[g - 1].into() };
            words.symbol(&mut state, CLASS_ENCODINGS[before].symbol(class));
        }
        let (words, is_long) = (words.into_all(), state >> 16 != 0);
        let flags = if is_long { IS_LONG } else { 0 } | if words.len() % 2 == 1 { IS_ODD } else { 0 };
        self.bytes.clear();
        self.bytes.extend(((coded as u16 - 1) | flags).to_le_bytes());
        self.bytes.extend(&state.to_le_bytes()[..if is_long { 4 } else { 2 }]);
        words.iter().for_each(|word| self.bytes.extend(word.to_le_bytes()));
        Some(&self.bytes)
    }
}

/// The words of a sparse tile: as many as are left are taken.
struct Sparse<'a> {
    state: u32,
    source: Source<'a>,
    count: usize,
}

impl Sparse<'_> {
    #[inline(always)]
    fn symbol(&mut self, slots: &[u32; 1024]) -> usize {
        self.source.threshold = if self.source.at < self.count { LOW } else { 0 };
        let entry = slots[Source::slot(self.state)];
        self.source.pass(&mut self.state, entry >> 10 & 1023, entry & 1023);
        (entry >> 20) as usize
    }

    #[inline(always)]
    fn raw(&mut self, n: u32) -> u32 {
        self.source.threshold = if self.source.at < self.count { LOW } else { 0 };
        self.source.raw(&mut self.state, n)
    }
}

/// Decodes the first ones of `n` codes as signed numbers; whether they fit, where numbers have 16 bits.
pub fn decode<N: Word>(rest: &mut &[u8], n: usize, codes: &mut [N]) -> Result<bool> {
    let head = take16(rest)?;
    let (coded, flags) = (usize::from(head & COUNT) + 1, head & !COUNT);
    if coded > groups(n) || flags > IS_LONG | IS_ODD {
        return fail!(Corrupt, "a sparse tile of {n} codes has {coded} groups and flags {flags}");
    }
    let mut bytes = [0; 4];
    let len = if flags & IS_LONG != 0 { 4 } else { 2 };
    bytes[..len].copy_from_slice(take(rest, len)?);
    let mut count = rest.len() / 2;
    if (count % 2 == 1) != (flags & IS_ODD != 0) {
        let Some(left) = count.checked_sub(1) else { return fail!(Corrupt, "a sparse tile lacks a word") };
        count = left;
    }
    let (words, padding) = rest.split_at(2 * count);
    zero(padding)?;
    let mut sparse = Sparse { state: u32::from_le_bytes(bytes), source: Source::new(words, LOW), count };
    codes.fill(N::ZERO);
    let (mut before, mut any) = (FIRST, 0);
    for codes in codes.chunks_mut(GROUP).take(coded) {
        let class = sparse.symbol(&CLASS_SLOTS[before]);
        before = class;
        for place in codes.iter_mut().filter(|_| class > 0) {
            let (raw, least) = code(sparse.symbol(&TOKEN_SLOTS[table_of(class)]) as u32);
            let (shift, mut bits) = (shift_of(class, 0), 0u128);
            for round in 0..(raw + shift).div_ceil(RAW_BITS) {
                let part = sparse.raw((raw + shift - round * RAW_BITS).min(RAW_BITS));
                bits |= u128::from(part) << (round * RAW_BITS);
            }
            let code = (u128::from(least) << shift | bits) as u64;
            any |= code;
            *place = N::from_u64(code).unzigzag();
        }
    }
    if codes.len() == n && (sparse.state != 1 || sparse.source.at != count) {
        return fail!(Corrupt, "the state of a sparse tile ends as {}, not as 1", sparse.state);
    }
    Ok(N::BITS > 16 || any >> 16 == 0)
}
