//! The body of a tile to its codes. Everything is checked before it is used.

use super::decode_groups::{Classed, One, Tail, Two};
use super::own_table::{SYMBOLS, Table};
use super::tables::{OWN, Slots, TOKENS, fill_slots, shift_of};
use super::{classes, sparse, states};
use crate::codec::interp::format::*;
use crate::error::{Result, fail};
use crate::host::memory::{boxed, filled};
use crate::primitives::rans::{LOW, Source};
use crate::simd::Level;
use crate::simd::numbers::LONGEST;
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
}

/// Reads the codes of a tile; whether they fit numbers of 16 bits, where those are asked for.
fn read<W: Word>(p: impl Level, coded: Coded, own: &mut Slots, tail: &mut Tail, codes: &mut [W]) -> Result<bool> {
    if coded.head.is_sparse {
        let rest = &mut table(coded)?.1;
        return sparse::decode(rest, coded.n, &mut codes[..coded.wanted]);
    }
    let tile = classed(own, coded)?;
    if W::BITS == 16 && !tile.may_be_short() {
        return Ok(false);
    }
    p.run(One((tile, tail, codes)))
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
        let Codes { room: Room { own, tail, short }, later: other, .. } = self;
        if let Some(later) = later.filter(|later| !tile.head.is_sparse && !later.head.is_sparse) {
            let (first, second) = (classed(own, tile)?, classed(&mut other.own, later));
            if let Some(second) = second.ok().filter(|second| second.may_be_short() && first.may_be_short()) {
                let jobs = [(first, &mut **tail, &mut short[..]), (second, &mut *other.tail, &mut other.short[..])];
                let [done, of_later] = p.run(Two(jobs));
                return Ok((done?, matches!(of_later, Ok(true))));
            }
        }
        Ok((read(p, tile, own, tail, short)?, false))
    }

    /// Reads those of a tile, however long they are.
    pub fn read(&mut self, p: impl Level, coded: Coded) -> Result<()> {
        let Codes { room: Room { own, tail, .. }, long, .. } = self;
        read(p, coded, own, tail, long).map(|_| ())
    }
}

/// The table of a tile, if it has one, and what stands behind it.
fn table<'a>(Coded { head, mut bytes, .. }: Coded<'a>) -> Result<(Option<Table>, &'a [u8])> {
    let most = if head.predictor == Predictor::Symbols { SYMBOLS } else { TOKENS };
    let table = if head.has_table { Some(Table::read(&mut bytes, most)?) } else { None };
    Ok((table, bytes))
}

/// Reads what stands before the words.
fn classed<'a>(own: &'a mut Slots, coded: Coded<'a>) -> Result<Classed<'a>> {
    let ((table, mut rest), Coded { head, n, .. }) = (table(coded)?, coded);
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
    if let Some(table) = table.filter(|_| classes[..wanted].contains(&(OWN as u8))) {
        fill_slots(table.frequencies(), own);
    }
    Ok(Classed { head, n, wanted, classes, own, lanes, threshold: source.threshold, words, low })
}
