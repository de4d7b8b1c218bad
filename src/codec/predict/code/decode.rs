//! Words to codes, lane by lane.

use super::own_table::OWN;
use super::states::{change, check_end, read_classes};
use super::tables::{CODES, SLOTS_OF};
use crate::codec::predict::format::*;
use crate::error::Result;
use crate::primitives::rans::{LANES, LOW, RAW_BITS, Source, TABLE_BITS};
use crate::simd::word::Word;

/// A tile's own table, for decoding.
#[derive(Clone, Copy)]
pub struct Own<'a> {
    /// As `tables::SLOTS_OF`.
    pub slots: &'a [u32; 1 << TABLE_BITS],
    /// Symbols are codes.
    pub direct: bool,
}

/// Decodes all `n` codes of final states `lanes`, which change before group `switch`, and of the words' bytes; those
/// behind them become 0 up to the end of the last group.
pub fn codes<W: Word>(
    n: usize,
    switch: usize,
    mut lanes: [u32; LANES],
    own: Option<Own>,
    words: &[u8],
    codes: &mut [W],
) -> Result<()> {
    let groups = groups(n);
    let mut source = Source::new(words, if switch == NEVER { 0 } else { LOW });
    let classes = read_classes(groups, &mut lanes, &mut source);
    for (g, class) in classes[..groups].iter().enumerate() {
        if g == switch {
            change(&mut lanes, &mut source)?;
        }
        let codes = &mut codes[g * GROUP..(g + 1) * GROUP];
        group::<W>((*class).into(), own, present_in(n, g), &mut lanes, &mut source, codes);
    }
    if switch == groups {
        change(&mut lanes, &mut source)?;
    }
    check_end(&lanes, source.rest())
}

/// Decodes a group of this class.
#[inline(always)]
fn group<W: Word>(
    class: usize,
    own: Option<Own>,
    has: [u32; RUNS],
    lanes: &mut [u32; LANES],
    source: &mut Source,
    out: &mut [W],
) {
    let mut tokens = [[0u8; QUAD]; LANES];
    let mut most = 0;
    if class > 0 {
        let slots = own.filter(|_| class == OWN).map_or(&SLOTS_OF[class], |own| own.slots);
        for j in 0..QUAD {
            for ((lane, state), tokens) in lanes.iter_mut().enumerate().zip(&mut tokens) {
                if has[lane / 8] >> (lane % 8 * QUAD + j) & 1 == 1 {
                    let entry = slots[Source::slot(*state)];
                    source.pass(state, entry >> 10 & 1023, entry & 1023);
                    tokens[j] = (entry >> 20) as u8;
                    most = most.max(entry >> 20);
                }
            }
        }
    }
    let mut codes = tokens.map(|quad| quad.map(u64::from));
    if most >= DIRECT && !own.is_some_and(|own| own.direct) {
        raw_bits(&tokens, lanes, source, &mut codes);
    }
    out.as_chunks_mut::<QUAD>().0.iter_mut().zip(&codes).for_each(|(quad, codes)| *quad = codes.map(W::from_u64));
}

/// Completes the codes of tokens by their raw bits.
#[inline(never)]
fn raw_bits(
    tokens: &[[u8; QUAD]; LANES],
    lanes: &mut [u32; LANES],
    source: &mut Source,
    codes: &mut [[u64; QUAD]; LANES],
) {
    let lens = tokens.map(|quad| quad.map(|token| CODES[usize::from(token)].0));
    *codes = tokens.map(|quad| quad.map(|token| CODES[usize::from(token)].1));
    let longest = lens.as_flattened().iter().fold(0, |m, len| m.max(*len));
    let together = lens.iter().map(|quad| quad.iter().sum()).fold(0, u32::max);
    if together <= RAW_BITS {
        for (lane, state) in lanes.iter_mut().enumerate() {
            let mut bits = source.raw(state, lens[lane].iter().sum());
            for j in 0..QUAD {
                codes[lane][j] |= u64::from(bits & ((1 << lens[lane][j]) - 1));
                bits >>= lens[lane][j];
            }
        }
        return;
    }
    for round in 0..longest.div_ceil(RAW_BITS) {
        let from = round * RAW_BITS;
        for j in 0..QUAD {
            for (lane, state) in lanes.iter_mut().enumerate() {
                let bits = source.raw(state, lens[lane][j].saturating_sub(from).min(RAW_BITS));
                codes[lane][j] |= u64::from(bits) << from;
            }
        }
    }
}
