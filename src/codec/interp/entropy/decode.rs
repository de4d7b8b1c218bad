//! Words to codes, lane by lane. Everything is checked before it is used.

use super::tables::{OWN, Slots, TOKEN_SLOTS, TOKENS, shift_of, table_of};
use super::{classes, low, sparse, states};
use crate::codec::interp::entropy::own_table::{SYMBOLS, Table};
use crate::codec::interp::entropy::states::{change, check_end};
use crate::codec::interp::format::*;
use crate::error::{Result, fail};
use crate::host::memory::boxed;
use crate::primitives::rans::{LANES, LOW, RAW_BITS, Source};
use crate::simd::word::Word;

/// What a decoder keeps from tile to tile.
pub struct Room {
    own: Box<Slots>,
}

impl Room {
    /// With room for what a tile needs.
    pub fn new() -> Result<Room> {
        Ok(Room { own: boxed(0)? })
    }
}

/// Reads the codes of a tile from what stands behind its patches, to the end.
pub fn read<N: Word>(head: &Head, mut rest: &[u8], room: &mut Room, codes: &mut [N]) -> Result<()> {
    let direct = head.predictor == Predictor::Symbols;
    if head.has_table {
        Table::read(&mut rest, if direct { SYMBOLS } else { TOKENS })?.slots(&mut room.own);
    }
    if head.is_sparse {
        return sparse::decode(&mut rest, codes);
    }
    let mut lanes = states::read(head.longest, &mut rest)?;
    let mut source = Source::new(rest, if head.switch == NEVER { 0 } else { LOW });
    let count = groups(codes.len());
    let classes = classes::decode(count, &mut lanes, &mut source);
    let bits = |g: usize| shift_of(classes[g].into(), head.low) as usize * (codes.len() - g * GROUP).min(GROUP);
    let low_bytes = (0..count).map(bits).sum::<usize>().div_ceil(32) * 4;
    let Some(end) = rest.len().checked_sub(low_bytes) else {
        return fail!(Corrupt, "{} bytes of a tile are less than its {low_bytes} of low bits", rest.len());
    };
    let (words, low) = rest.split_at(end);
    let (at, threshold) = (source.at, source.threshold);
    let mut source = Source::new(words, threshold);
    source.at = at;
    let mut low = low::LowReader::new(low);
    for (g, codes) in codes.chunks_mut(GROUP).enumerate() {
        if g == head.switch {
            change(&mut lanes, &mut source)?;
        }
        let class = usize::from(classes[g]);
        if class == 0 {
            codes.fill(N::ZERO);
            continue;
        }
        let slots = if head.has_table && class == OWN { &room.own } else { &TOKEN_SLOTS[table_of(class)] };
        let shift = shift_of(class, head.low);
        group(codes, slots, direct, &mut lanes, &mut source);
        for c in codes.iter_mut().filter(|_| shift > 0) {
            *c = *c << shift | N::from_u64(low.take(shift));
        }
    }
    if count == head.switch {
        change(&mut lanes, &mut source)?;
    }
    if !low.ends_in_zeros() {
        return fail!(Corrupt, "bits behind a tile's last low bits are not zero");
    }
    check_end(&lanes, source.rest())
}

/// Decodes the codes of a group without their low bits.
fn group<N: Word>(codes: &mut [N], slots: &Slots, direct: bool, lanes: &mut [u32; LANES], source: &mut Source) {
    let (n, mut lens, mut longest) = (codes.len(), [0u8; GROUP], 0);
    let all = || (0..QUAD).flat_map(|j| (0..LANES).map(move |lane| QUAD * lane + j)).filter(|i| *i < n);
    let mut least = [0u64; GROUP];
    for i in all() {
        let entry = slots[Source::slot(lanes[i / QUAD])];
        source.pass(&mut lanes[i / QUAD], entry >> 10 & 1023, entry & 1023);
        let (len, code) = if direct { (0, (entry >> 20).into()) } else { code(entry >> 20) };
        (lens[i], least[i]) = (len as u8, code);
        longest = longest.max(len);
    }
    for from in (0..longest).step_by(RAW_BITS as usize) {
        for i in all() {
            let len = u32::from(lens[i]).saturating_sub(from).min(RAW_BITS);
            least[i] |= u64::from(source.raw(&mut lanes[i / QUAD], len)) << from;
        }
    }
    codes.iter_mut().zip(least).for_each(|(place, code)| *place = N::from_u64(code));
}
