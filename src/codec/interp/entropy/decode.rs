//! Words to codes, and the portable code for it, lane by lane. Everything is checked before it is used.

use super::lanes::{Classed, Long, Short, Tail};
use super::low::Bits;
use super::tables::{Slots, TOKENS, shift_of};
use super::{classes, sparse, states};
use crate::codec::interp::entropy::own_table::{SYMBOLS, Table};
use crate::codec::interp::entropy::states::{change, check_end};
use crate::codec::interp::format::*;
use crate::error::{Result, fail};
use crate::host::memory::{boxed, filled};
use crate::primitives::rans::{LANES, LOW, RAW_BITS, Source};
use crate::simd::Level;
use crate::simd::lanes::LONGEST;
use crate::simd::word::Word;

/// What a decoder keeps from tile to tile: the codes of the last one, as signed numbers, or as they are where tokens
/// are numbers.
pub struct Codes<N> {
    own: Box<Slots>,
    tail: Box<Tail>,
    /// Those that fit 16 bits, whole groups and a vector behind them.
    pub short: Vec<u16>,
    /// Others, the same.
    pub long: Vec<N>,
}

impl<N: Word> Codes<N> {
    /// With room for those of tiles of up to `n` elements.
    pub fn new(n: usize) -> Result<Codes<N>> {
        let room = groups(n) * GROUP + LONGEST;
        Ok(Codes { own: boxed(0)?, tail: boxed([0; 2])?, short: filled(room, 0)?, long: filled(room, N::ZERO)? })
    }

    /// Reads those of a tile of `n` elements from what stands behind its patches, to the end. Whether they are short,
    /// which they may be if that is wanted.
    pub fn read(&mut self, p: impl Level, head: &Head, mut rest: &[u8], n: usize, short: bool) -> Result<bool> {
        if head.has_table {
            let most = if head.predictor == Predictor::Symbols { SYMBOLS } else { TOKENS };
            Table::read(&mut rest, most)?.slots(&mut self.own);
        }
        if head.is_sparse {
            if short && sparse::decode(&mut { rest }, &mut self.short[..n])? >> 16 == 0 {
                return Ok(true);
            }
            sparse::decode(&mut rest, &mut self.long[..n])?;
            return Ok(false);
        }
        let mut lanes = states::read(head.longest, &mut rest)?;
        let mut source = Source::new(rest, if head.switch == NEVER { 0 } else { LOW });
        let count = groups(n);
        let classes = &classes::decode(count, &mut lanes, &mut source);
        let bits = |g: usize| shift_of(classes[g].into(), head.low) as usize * (n - g * GROUP).min(GROUP);
        let low_bytes = (0..count).map(bits).sum::<usize>().div_ceil(32) * 4;
        let Some(end) = rest.len().checked_sub(low_bytes) else {
            return fail!(Corrupt, "{} bytes of a tile are less than its {low_bytes} of low bits", rest.len());
        };
        let (words, low) = rest.split_at(end);
        let (own, words, threshold) = (&*self.own, words.as_chunks().0.get(source.at..), source.threshold);
        let tile = Classed { head, n, classes, own, lanes, threshold, words, low };
        if short && tile.may_be_short() {
            let of_level = p.by_vectors(Short { tile, tail: &mut self.tail, codes: &mut self.short });
            if of_level.unwrap_or(Ok(false))? {
                return Ok(true);
            }
        }
        match p.by_vectors(Long { tile, tail: &mut self.tail, codes: &mut self.long }) {
            Some(done) => done?,
            None => lane_by_lane(tile, &mut self.long[..n])?,
        }
        Ok(false)
    }
}

/// What `Long` does, of `n` codes.
fn lane_by_lane<N: Word>(tile: Classed, codes: &mut [N]) -> Result<()> {
    let Classed { head, n, mut lanes, .. } = tile;
    let direct = head.predictor == Predictor::Symbols;
    let Some(words) = tile.words else { return fail!(Corrupt, "a tile's words end early") };
    let mut source = Source::new(words.as_flattened(), tile.threshold);
    let mut low = Bits::new(tile.low);
    for (g, codes) in codes.chunks_mut(GROUP).enumerate() {
        if g == head.switch {
            change(&mut lanes, &mut source)?;
        }
        let Some(slots) = tile.slots(g) else {
            codes.fill(N::ZERO);
            continue;
        };
        group(codes, slots, direct, &mut lanes, &mut source);
        let shift = tile.shift(g);
        for code in codes.iter_mut() {
            if shift > 0 {
                *code = *code << shift | N::from_u64(low.take(shift));
            }
            if !direct {
                *code = code.unzigzag();
            }
        }
    }
    if groups(n) == head.switch {
        change(&mut lanes, &mut source)?;
    }
    if !low.end_in_zeros() {
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
