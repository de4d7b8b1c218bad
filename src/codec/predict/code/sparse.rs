//! Tiles of which few groups have codes other than 0, and these come first: one state codes them, as the final states
//! of 32 would be most of the tile (docs/reference/codecs/predict.md §6).

use super::own_table::class_of;
use super::tables::{CLASS_SLOTS, CLASS_SYMBOLS, FIRST, SLOTS_OF, SYMBOLS};
use crate::codec::interp::reader::take;
use crate::codec::predict::format::{GROUP, code, groups, token};
use crate::error::{Result, fail};
use crate::primitives::rans::{LOW, RAW_BITS, Source, Words};
use crate::simd::word::Word;

/// Groups of such a tile that have codes, at most.
pub const MOST_GROUPS: usize = 16;
/// Words that codes take, at most: each has a token of 10 bits, and up to 32 raw bits.
pub const MOST_WORDS: usize = MOST_GROUPS * (GROUP * (10 + 32) + 10) / 16 + 8;
/// Bits of the second byte: the state has four bytes instead of two, and there is an odd number of words.
const IS_LONG: u8 = 1;
const IS_ODD: u8 = 2;

/// Encodes codes; what stands before their words is added to `side`. `None` if too many groups have codes.
pub fn encode<'a>(codes: &[u32], side: &mut Vec<u8>, stream: &'a mut [u16]) -> Option<&'a [u16]> {
    if codes.iter().skip(MOST_GROUPS * GROUP).any(|c| *c != 0) {
        return None;
    }
    let coded = codes.iter().rposition(|c| *c != 0).map_or(0, |last| last / GROUP + 1);
    let mut classes = [0u8; MOST_GROUPS];
    classes.iter_mut().zip(codes.chunks(GROUP)).for_each(|(class, codes)| *class = class_of(codes) as u8);
    let mut words = Words::new(stream);
    let mut state = 1;
    for g in (0..coded).rev() {
        let (class, codes) = (usize::from(classes[g]), &codes[g * GROUP..codes.len().min((g + 1) * GROUP)]);
        if class > 0 {
            for c in codes.iter().rev() {
                let (token, raw) = token((*c).into());
                for round in (0..raw.div_ceil(RAW_BITS)).rev() {
                    let count = (raw - round * RAW_BITS).min(RAW_BITS);
                    words.raw(&mut state, c >> (round * RAW_BITS) & ((1 << count) - 1), count);
                }
                words.symbol(&mut state, &SYMBOLS[class][token as usize]);
            }
        }
        let before = if g == 0 { FIRST } else { classes[g - 1].into() };
        words.symbol(&mut state, &CLASS_SYMBOLS[before][class]);
    }
    let count = words.all().len();
    let is_long = state >> 16 != 0;
    side.push(coded as u8);
    side.push(if is_long { IS_LONG } else { 0 } | if count % 2 == 1 { IS_ODD } else { 0 });
    side.extend(&state.to_le_bytes()[..if is_long { 4 } else { 2 }]);
    Some(words.into_all())
}

/// Decodes codes as signed differences from 0.
pub fn decode(rest: &mut &[u8], codes: &mut [u32]) -> Result<()> {
    let head = take(rest, 2)?;
    let (coded, flags) = (usize::from(head[0]), head[1]);
    if coded > MOST_GROUPS.min(groups(codes.len())) || flags > IS_LONG | IS_ODD {
        return fail!(Corrupt, "a sparse tile of {} codes has {coded} groups and flags {flags}", codes.len());
    }
    let mut bytes = [0; 4];
    let len = if flags & IS_LONG != 0 { 4 } else { 2 };
    bytes[..len].copy_from_slice(take(rest, len)?);
    let mut state = u32::from_le_bytes(bytes);
    let mut count = rest.len() / 2;
    if (count % 2 == 1) != (flags & IS_ODD != 0) {
        let Some(left) = count.checked_sub(1) else { return fail!(Corrupt, "a sparse tile lacks a word") };
        count = left;
        if rest[2 * count..].iter().any(|byte| *byte != 0) {
            return fail!(Corrupt, "padding bytes are not zero");
        }
    }
    let mut source = Source::new(&rest[..2 * count], LOW);
    codes.fill(0);
    let mut before = FIRST;
    for codes in codes.chunks_mut(GROUP).take(coded) {
        let class = symbol(&CLASS_SLOTS[before], &mut state, &mut source, count);
        before = class;
        if class > 0 {
            for c in codes {
                let (raw, least) = code(symbol(&SLOTS_OF[class], &mut state, &mut source, count) as u32);
                let mut bits = 0u64;
                for round in 0..raw.div_ceil(RAW_BITS) {
                    source.threshold = if source.at < count { LOW } else { 0 };
                    let part = source.raw(&mut state, (raw - round * RAW_BITS).min(RAW_BITS));
                    bits |= u64::from(part) << (round * RAW_BITS);
                }
                *c = ((least | bits) as u32).unzigzag();
            }
        }
    }
    if state != 1 || source.at != count {
        return fail!(Corrupt, "the state of a sparse tile ends as {state}, {} of its {count} words taken", source.at);
    }
    Ok(())
}

/// Decodes a symbol by the slots of a table.
#[inline(always)]
fn symbol(slots: &[u32; 1024], state: &mut u32, source: &mut Source, count: usize) -> usize {
    source.threshold = if source.at < count { LOW } else { 0 };
    let entry = slots[Source::slot(*state)];
    source.pass(state, entry >> 10 & 1023, entry & 1023);
    (entry >> 20) as usize
}
