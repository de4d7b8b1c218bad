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

/// What the words of a tile become.
struct Room {
    own: Box<Slots>,
    tail: Box<Tail>,
    short: Vec<u16>,
}

/// What a decoder keeps from tile to tile: the codes of the last one, as signed numbers, or as they are where tokens
/// are numbers.
pub struct Codes<N> {
    /// Those that fit 16 bits, whole groups and a vector behind them: of the tile, and of one that comes later.
    room: Room,
    later: Room,
    /// Others, the same.
    pub long: Vec<N>,
}

/// What stands behind a tile's patches, to the end.
#[derive(Clone, Copy)]
pub struct Coded<'a> {
    pub head: &'a Head,
    pub bytes: &'a [u8],
    /// So many codes, of which as many are wanted, the first ones.
    pub n: usize,
    pub wanted: usize,
}

impl Room {
    fn new(room: usize) -> Result<Room> {
        Ok(Room { own: boxed(0)?, tail: boxed([0; 2])?, short: filled(room, 0)? })
    }

    /// Reads short codes of a tile; whether it has such.
    fn read(&mut self, p: impl Level, coded: Coded) -> Result<bool> {
        let Room { own, tail, short } = self;
        if coded.head.is_sparse {
            let rest = &mut behind_table(own, coded)?;
            return Ok(sparse::decode(rest, &mut short[..coded.n])? >> 16 == 0);
        }
        let tile = classed(own, coded)?;
        if !tile.may_be_short() {
            return Ok(false);
        }
        p.by_vectors(Short { tile: (tile, tail, short), other: None }).map_or(Ok(false), |(done, _)| done)
    }
}

impl<N: Word> Codes<N> {
    /// With room for those of tiles of up to `n` elements.
    pub fn new(n: usize) -> Result<Codes<N>> {
        let room = groups(n) * GROUP + LONGEST;
        Ok(Codes { room: Room::new(room)?, later: Room::new(room)?, long: filled(room, N::ZERO)? })
    }

    /// The short ones of the tile.
    pub fn short(&mut self) -> &mut [u16] {
        &mut self.room.short
    }

    /// It is the turn of the tile that was to come later.
    pub fn go_on(&mut self) {
        std::mem::swap(&mut self.room, &mut self.later);
    }

    /// Reads short codes of a tile, and meanwhile of one that comes later, as each waits for itself: whether the first
    /// has such, and whether those of the other one are there, of which nothing else is told.
    pub fn read_short(&mut self, p: impl Level, tile: Coded, later: Option<Coded>) -> Result<(bool, bool)> {
        let Codes { room, later: other, .. } = self;
        let Some(later) = later.filter(|later| !tile.head.is_sparse && !later.head.is_sparse && p.has_vectors()) else {
            return Ok((room.read(p, tile)?, false));
        };
        let (first, second) = (classed(&mut room.own, tile)?, classed(&mut other.own, later));
        let Some(second) = second.ok().filter(|second| second.may_be_short() && first.may_be_short()) else {
            return Ok((room.read(p, tile)?, false));
        };
        let short = Short {
            tile: (first, &mut room.tail, &mut room.short),
            other: Some((second, &mut other.tail, &mut other.short)),
        };
        let Some((done, of_later)) = p.by_vectors(short) else { return Ok((false, false)) };
        Ok((done?, matches!(of_later, Some(Ok(true)))))
    }

    /// Reads those of a tile, however long they are.
    pub fn read(&mut self, p: impl Level, coded: Coded) -> Result<()> {
        let Codes { room: Room { own, tail, .. }, long, .. } = self;
        if coded.head.is_sparse {
            let rest = &mut behind_table(own, coded)?;
            return sparse::decode(rest, &mut long[..coded.n]).map(|_| ());
        }
        let tile = classed(own, coded)?;
        match p.by_vectors(Long { tile, tail, codes: long }) {
            Some(done) => done,
            None => lane_by_lane(tile, &mut long[..coded.n]),
        }
    }
}

/// What stands behind the table of a tile, if it has one.
fn behind_table<'a>(own: &mut Slots, Coded { head, mut bytes, .. }: Coded<'a>) -> Result<&'a [u8]> {
    if head.has_table {
        let most = if head.predictor == Predictor::Symbols { SYMBOLS } else { TOKENS };
        Table::read(&mut bytes, most)?.slots(own);
    }
    Ok(bytes)
}

/// Reads what stands before the words.
fn classed<'a>(own: &'a mut Slots, coded: Coded<'a>) -> Result<Classed<'a>> {
    let (mut rest, Coded { head, n, .. }) = (behind_table(own, coded)?, coded);
    let mut lanes = states::read(head.longest, &mut rest)?;
    let mut source = Source::new(rest, if head.switch == NEVER { 0 } else { LOW });
    let count = groups(n);
    let classes = classes::decode(count, &mut lanes, &mut source);
    let bits = |g: usize| shift_of(classes[g].into(), head.low) as usize * (n - g * GROUP).min(GROUP);
    let low_bytes = (0..count).map(bits).sum::<usize>().div_ceil(32) * 4;
    let Some(end) = rest.len().checked_sub(low_bytes) else {
        return fail!(Corrupt, "{} bytes of a tile are less than its {low_bytes} of low bits", rest.len());
    };
    let (words, low) = rest.split_at(end);
    let Some(words) = words.as_chunks().0.get(source.at..) else {
        return fail!(Corrupt, "a tile's words end early");
    };
    let wanted = groups(coded.wanted);
    Ok(Classed { head, n, wanted, classes, own, lanes, threshold: source.threshold, words, low })
}

/// What `Long` does, of `n` codes.
fn lane_by_lane<N: Word>(tile: Classed, codes: &mut [N]) -> Result<()> {
    let Classed { head, n, mut lanes, .. } = tile;
    let direct = head.predictor == Predictor::Symbols;
    let mut source = Source::new(tile.words.as_flattened(), tile.threshold);
    let mut low = Bits::new(tile.low);
    for (g, codes) in codes.chunks_mut(GROUP).enumerate().take(tile.wanted) {
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
    if tile.wanted < groups(n) {
        return Ok(());
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
