//! Codes by vectors: 32 bits hold those of nearly all tiles. What comes out is what `encode` and `decode` say.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::encoding::{Encoding, OwnEncoding};
use super::group::Group;
use super::groups::{Groups, class_beside, encode_groups};
use super::lanes::quads_of;
use super::states::{self, States, Tail, Turn, WordSource};
use super::wide::Wide;
use crate::codec::interp::tile_shape::MARGIN;
use crate::codec::predict::code::counts::TokenCounts;
use crate::codec::predict::code::encode::{Of, Own as Given};
use crate::codec::predict::code::own_table::OWN;
use crate::codec::predict::code::states::{State, check_end, lower, read_classes};
use crate::codec::predict::code::tables::{SLOTS_OF, TABLES};
use crate::codec::predict::format::*;
use crate::error::{Result, fail};
use crate::host::memory::{Aligned, boxed, filled};
use crate::primitives::rans::{self, LANES, LOW, TABLE_BITS, Words};
use crate::simd::lanes::{ByLevel, Lanes};
use crate::simd::vec::Simd;
use crate::simd::word::Word;
use crate::simd::{Level, Task};

/// What an encoder keeps of the codes of a tile.
pub struct Buffers {
    /// The codes.
    pub places: Aligned<u32>,
    groups: Vec<Group>,
    own: OwnEncoding,
    /// The words of the last tile, at the end.
    pub stream: Aligned<u16>,
}

impl Buffers {
    /// For the tiles of a grid, with room for the words of codes of so many bits.
    pub fn new(grid: &Grid, bits: usize) -> Result<Buffers> {
        let n = grid.capacity();
        Ok(Buffers {
            places: Aligned::zeros(grid.groups() * GROUP + MARGIN)?,
            groups: filled(grid.groups(), Group::ZERO)?,
            own: OwnEncoding::new()?,
            // Each symbol takes 10 bits at the most, its raw bits as many as there are.
            stream: Aligned::zeros(n * (bits.max(32) + 10) / 16 + 4 * LANES + MARGIN)?,
        })
    }

    /// Makes the places behind `n` codes 0, up to the end of the last group.
    #[inline(always)]
    pub fn clear_behind(&mut self, n: usize) {
        self.places[n..groups(n) * GROUP].fill(0);
    }
}

/// Encodes so many codes that stand in their places, by a table of the tile's own where that takes less. Tells how
/// coding ended, where the words begin, and whether there is such a table.
pub struct EncodeCodes<'a> {
    /// So many.
    pub n: usize,
    /// Room for counts, and for the table.
    pub counts: &'a mut TokenCounts,
    /// With the codes.
    pub buffers: &'a mut Buffers,
}

impl ByLevel for EncodeCodes<'_> {
    type Done = (State, usize, bool);

    #[inline(always)]
    fn run<P: Simd<M>, const M: usize>(self, p: P) -> Self::Done {
        self.buffers.clear_behind(self.n);
        encode_codes::<P, M>(p, self.n, self.counts, self.buffers)
    }
}

#[inline(always)]
fn encode_codes<P: Simd<M>, const M: usize>(
    p: P,
    n: usize,
    counts: &mut TokenCounts,
    buffers: &mut Buffers,
) -> (State, usize, bool) {
    let Buffers { places, groups: all, own, stream, .. } = buffers;
    let all = &mut all[..groups(n)];
    take::<P, M>(p, places.as_chunks().0, n, all, counts);
    let own = own_table(counts, own);
    let mut words = Words::new(stream);
    let state = encode::<P, M>(p, (places.as_chunks().0, all), n, own, &mut words);
    (state, words.at, own.is_some())
}

/// Codes below this are encoded by vectors.
const LIMIT: u32 = 1 << 25;

/// Codes as numbers of 32 bits; any of their bits.
struct Narrow<'a, W> {
    codes: &'a [W],
    places: &'a mut [u32],
}

impl<W: Word> Task for Narrow<'_, W> {
    type Done = W;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> W {
        let mut any = W::ZERO;
        let n = self.codes.len().min(self.places.len());
        for i in 0..n {
            any = any | self.codes[i];
            self.places[i] = self.codes[i].to_u64() as u32;
        }
        any
    }
}

/// Puts codes to their places; whether all are short.
pub fn place_codes<W: Word>(p: impl Level, codes: &[W], buffers: &mut Buffers) -> bool {
    let any = p.run(Narrow { codes, places: &mut buffers.places });
    if any.to_u64() >= LIMIT.into() {
        return false;
    }
    buffers.clear_behind(codes.len());
    true
}

/// Classes that stay as they are.
static SAME: [u8; TABLES] = {
    let mut classes = [0; TABLES];
    let mut class = 0;
    while class < TABLES {
        classes[class] = class as u8;
        class += 1;
    }
    classes
};

/// Encodes so many codes that were put to their places, by a table of the tile's own if there is one: how coding ended,
/// and where the words begin.
pub struct EncodePlaced<'a> {
    /// So many.
    pub n: usize,
    /// The tile's own table.
    pub own: Option<Given<'a>>,
    /// With the codes.
    pub buffers: &'a mut Buffers,
}

impl ByLevel for EncodePlaced<'_> {
    type Done = (State, usize);

    #[inline(always)]
    fn run<P: Simd<M>, const M: usize>(self, p: P) -> Self::Done {
        encode_placed::<P, M>(p, self.n, self.own, self.buffers)
    }
}

#[inline(always)]
fn encode_placed<P: Simd<M>, const M: usize>(
    p: P,
    n: usize,
    given: Option<Given>,
    buffers: &mut Buffers,
) -> (State, usize) {
    let Buffers { places, groups: all, own, stream, .. } = buffers;
    let all = &mut all[..groups(n)];
    let symbols = given.is_some_and(|given| matches!(given.of, Of::All));
    for (g, (codes, group)) in places.as_chunks().0.iter().zip(&mut *all).enumerate() {
        if symbols {
            group.take_symbols(p, codes);
            continue;
        }
        group.take(p, codes);
        if let Some(given) = given
            && group.class > 0
        {
            group.class = class_beside(&given, group.class, &group.tokens, (n, g));
        }
    }
    let own = given.map(|given| (&SAME, own.fill(given.frequencies)));
    let mut words = Words::new(stream);
    let state = encode::<P, M>(p, (places.as_chunks().0, all), n, own, &mut words);
    (state, words.at)
}

/// What a decoder keeps of the codes of a short tile.
pub struct Codes {
    /// The differences in their places.
    pub places: Aligned<u32>,
    tail: Box<Tail>,
}

impl Codes {
    /// For the tiles of a grid, once there is room.
    pub fn new() -> Result<Codes> {
        Ok(Codes { places: Aligned::zeros(0)?, tail: boxed([0; 2])? })
    }

    /// Makes room for the tiles of a grid.
    pub fn make_room(&mut self, grid: &Grid) -> Result<()> {
        if self.places.is_empty() {
            self.places = Aligned::zeros(grid.groups() * GROUP + MARGIN)?;
        }
        Ok(())
    }
}

/// What a packed tile says of its codes.
pub struct Packed<'a> {
    /// See `Head`.
    pub switch: usize,
    /// The states that the encoder ended with.
    pub lanes: [u32; LANES],
    /// The slots of the tile's own table.
    pub own: Option<&'a [u32; 1 << TABLE_BITS]>,
    /// Tokens are codes.
    pub direct: bool,
    /// The words' bytes.
    pub bytes: &'a [u8],
}

/// A tile that is to be decoded.
#[derive(Clone, Copy)]
pub struct Coded<'a> {
    /// Its elements.
    pub n: usize,
    /// What it says.
    pub packed: &'a Packed<'a>,
    /// The greatest token that there is room for.
    pub last: u32,
}

/// Takes all groups apart, and counts their tokens.
#[inline(always)]
fn take<P: Simd<M>, const M: usize>(
    p: P,
    places: &[[u32; GROUP]],
    n: usize,
    groups: &mut [Group],
    counts: &mut TokenCounts,
) {
    counts.clear();
    for (g, (codes, group)) in places.iter().zip(groups).enumerate() {
        group.take(p, codes);
        if group.class > 0 {
            group.count(p, counts, absent(n, g));
        }
    }
}

/// A tile's own table, for encoding: the classes that groups get.
type Own<'a> = Option<(&'a [u8; TABLES], Encoding<'a>)>;

/// The table that follows from counts, if there is one.
fn own_table<'a>(counts: &'a mut TokenCounts, own: &'a mut OwnEncoding) -> Own<'a> {
    if !counts.choose() {
        return None;
    }
    let encoding = own.fill(counts.frequencies());
    Some((&counts.classes, encoding))
}

/// Groups of short codes that have been taken apart.
struct Short<'a> {
    codes: &'a [[u32; GROUP]],
    groups: &'a [Group],
    n: usize,
    own: Own<'a>,
    table: Encoding<'a>,
}

impl<P: Simd<M>, const M: usize> Groups<P, M> for Short<'_> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.codes.len().min(self.groups.len())
    }

    #[inline(always)]
    fn take(&mut self, _: P, g: usize) -> usize {
        let class = self.groups[g].class;
        let (class, table) = match self.own {
            Some((classes, own)) if usize::from(classes[class]) == OWN => (OWN, own),
            Some((classes, _)) => (classes[class].into(), Encoding::of(classes[class].into())),
            None => (class, Encoding::of(class)),
        };
        self.table = table;
        class
    }

    #[inline(always)]
    fn encode(&self, p: P, g: usize, x: &mut [P::V; M], words: &mut Words) {
        let (group, codes, n) = (&self.groups[g], &self.codes[g], self.n);
        if absent(n, g) == 0 {
            group.encode::<P, M, true>(p, codes, self.table, &[p.splat(0); M], x, words);
        } else {
            group.encode::<P, M, false>(p, codes, self.table, &quads_of(p, &present_in(n, g)), x, words);
        }
    }
}

/// Encodes all groups of `n` short codes.
#[inline(always)]
fn encode<P: Simd<M>, const M: usize>(
    p: P,
    (codes, groups): (&[[u32; GROUP]], &[Group]),
    n: usize,
    own: Own,
    words: &mut Words,
) -> State {
    encode_groups(p, &mut Short { codes, groups, n, own, table: Encoding::of(0) }, words)
}

/// Encodes codes of any length, by a table of the tile's own if there is one: how coding ended, and where the words
/// begin.
pub struct EncodeWide<'a> {
    /// So many.
    pub n: usize,
    /// Those of 64 bits, and zeros up to the end of their last group; otherwise codes stand in their places.
    pub codes: Option<&'a [u64]>,
    /// The tile's own table.
    pub own: Option<Given<'a>>,
    /// What is used meanwhile.
    pub buffers: &'a mut Buffers,
}

impl ByLevel for EncodeWide<'_> {
    type Done = (State, usize);

    #[inline(always)]
    fn run<P: Simd<M>, const M: usize>(self, p: P) -> Self::Done {
        let EncodeWide { n, codes, own, buffers } = self;
        buffers.clear_behind(n);
        let Buffers { places, own: room, stream, .. } = buffers;
        let own = own.map(|given| (given, room.fill(given.frequencies)));
        let (places, wide) = (&places.as_chunks().0[..groups(n)], codes.map(|codes| codes.as_chunks().0));
        let mut words = Words::new(stream);
        let state = encode_groups(p, &mut Wide::new(places, wide, n, own), &mut words);
        (state, words.at)
    }
}

/// A tile on its way.
struct Course<'a, P: Simd<M>, const M: usize> {
    states: States<'a, P, M>,
    classes: [u8; GROUPS],
    tile: Coded<'a>,
    words: &'a [[u8; 2]],
}

impl<'a, P: Simd<M>, const M: usize> Course<'a, P, M> {
    /// Reads the classes of the groups.
    #[inline(always)]
    fn begin(p: P, tile: Coded<'a>, tail: &'a mut Tail) -> Course<'a, P, M> {
        let packed = tile.packed;
        let mut lanes = packed.lanes;
        let threshold = if packed.switch == NEVER { 0 } else { LOW };
        let mut source = rans::Source::new(packed.bytes, threshold);
        let classes = read_classes(groups(tile.n), &mut lanes, &mut source);
        let words = packed.bytes.as_chunks().0;
        let states = States::new(p, &lanes, threshold, WordSource::new(words, source.at, tail));
        Course { states, classes, tile, words }
    }

    /// What comes before group `g`.
    #[inline(always)]
    fn reach(&mut self, g: usize) -> Result<()> {
        if g == self.tile.packed.switch {
            let mut lanes = self.states.lanes();
            lower(&mut lanes)?;
            self.states.change(&lanes);
        }
        Ok(())
    }

    /// What group `g` is decoded by; nothing if its codes, or differences, are 0, as those `out` are then.
    #[inline(always)]
    fn turn<N: Copy + Default>(&self, g: usize, out: &mut [N; GROUP]) -> Option<Turn<'a>> {
        let class = usize::from(self.classes[g]);
        if class == 0 {
            out.fill(N::default());
            return None;
        }
        let packed = self.tile.packed;
        let slots = packed.own.filter(|_| class == OWN).unwrap_or(&SLOTS_OF[class]);
        Some(Turn { slots, place: (self.tile.n, g), direct: packed.direct })
    }

    /// Decodes group `g`; `None` if words have ended before, otherwise whether its differences fit 32 bits.
    #[inline(always)]
    fn decode(&mut self, p: P, g: usize, out: &mut [u32; GROUP]) -> Option<bool> {
        let Some(turn) = self.turn(g, out) else { return Some(true) };
        let last = self.tile.last;
        if absent(self.tile.n, g) == 0 {
            states::decode::<P, M, 1, true>(p, &mut [&mut self.states], &[turn], &mut [out], last)
        } else {
            states::decode::<P, M, 1, false>(p, &mut [&mut self.states], &[turn], &mut [out], last)
        }
    }

    /// Decodes group `g` to codes; `None` if words have ended before.
    #[inline(always)]
    fn decode_wide(&mut self, p: P, g: usize, out: &mut [u64; GROUP]) -> Option<()> {
        let Some(turn) = self.turn(g, out) else { return Some(()) };
        states::decode_wide::<P, M>(p, &mut self.states, turn, out)
    }

    /// Checks how it ended.
    #[inline(always)]
    fn end(mut self) -> Result<()> {
        self.reach(groups(self.tile.n))?;
        check_end(&self.states.lanes(), self.words.get(self.states.source.at..))
    }
}

/// Decodes a packed tile to its differences; `false` if some are too long for 32 bits. Verdicts are those of `decode`.
pub struct DecodeShort<'a> {
    /// The tile.
    pub tile: Coded<'a>,
    /// Where the differences go.
    pub codes: &'a mut Codes,
}

impl ByLevel for DecodeShort<'_> {
    type Done = Result<bool>;

    #[inline(always)]
    fn run<P: Simd<M>, const M: usize>(self, p: P) -> Result<bool> {
        decode_tile::<P, M>(p, self.tile, self.codes)
    }
}

#[inline(always)]
fn decode_tile<P: Simd<M>, const M: usize>(p: P, tile: Coded, codes: &mut Codes) -> Result<bool> {
    let mut course = Course::<P, M>::begin(p, tile, &mut codes.tail);
    for (g, out) in codes.places.as_chunks_mut().0[..groups(tile.n)].iter_mut().enumerate() {
        course.reach(g)?;
        match course.decode(p, g, out) {
            Some(true) => (),
            Some(false) => return Ok(false),
            None => return fail!(Corrupt, "a tile's words end early"),
        }
    }
    course.end()?;
    Ok(true)
}

/// Decodes a packed tile to its codes, of 64 bits; those behind them become 0 up to the end of the last group.
pub struct DecodeWide<'a> {
    /// The tile.
    pub tile: Coded<'a>,
    /// Room that is of use meanwhile.
    pub buffers: &'a mut Codes,
    /// The codes, whole groups.
    pub codes: &'a mut [u64],
}

impl ByLevel for DecodeWide<'_> {
    type Done = Result<()>;

    #[inline(always)]
    fn run<P: Simd<M>, const M: usize>(self, p: P) -> Result<()> {
        let DecodeWide { tile, buffers, codes } = self;
        let mut course = Course::<P, M>::begin(p, tile, &mut buffers.tail);
        for (g, out) in codes.as_chunks_mut().0[..groups(tile.n)].iter_mut().enumerate() {
            course.reach(g)?;
            if course.decode_wide(p, g, out).is_none() {
                return fail!(Corrupt, "a tile's words end early");
            }
        }
        course.end()
    }
}

/// Decodes two at once, which takes less time than one after the other; `false` if both have to be decoded alone.
pub struct DecodeTwo<'a> {
    /// The tiles.
    pub tiles: [Coded<'a>; 2],
    /// Where their differences go.
    pub codes: &'a mut [Codes; 2],
}

impl ByLevel for DecodeTwo<'_> {
    type Done = bool;

    #[inline(always)]
    fn run<P: Simd<M>, const M: usize>(self, p: P) -> bool {
        matches!(decode_two::<P, M>(p, self.tiles, self.codes), Ok(true))
    }
}

/// The same, with what is wrong.
#[inline(always)]
fn decode_two<P: Simd<M>, const M: usize>(p: P, tiles: [Coded; 2], codes: &mut [Codes; 2]) -> Result<bool> {
    let last = tiles[0].last.min(tiles[1].last);
    let [one, other] = codes;
    let mut a = Course::<P, M>::begin(p, tiles[0], &mut one.tail);
    let mut b = Course::<P, M>::begin(p, tiles[1], &mut other.tail);
    let [ours, others] = [one.places.as_chunks_mut().0, other.places.as_chunks_mut().0];
    let both = groups(tiles[0].n).min(groups(tiles[1].n));
    for (g, (out, other_out)) in ours.iter_mut().zip(others.iter_mut()).enumerate().take(both) {
        a.reach(g)?;
        b.reach(g)?;
        let whole = absent(tiles[0].n.min(tiles[1].n), g) == 0;
        let fits = match (a.turn(g, out), b.turn(g, other_out)) {
            (Some(turn), Some(other)) if whole => states::decode::<P, M, 2, true>(
                p,
                &mut [&mut a.states, &mut b.states],
                &[turn, other],
                &mut [out, other_out],
                last,
            ),
            _ => match a.decode(p, g, out) {
                Some(true) => b.decode(p, g, other_out),
                verdict => verdict,
            },
        };
        if fits != Some(true) {
            return Ok(false);
        }
    }
    for (course, places) in [(&mut a, ours), (&mut b, others)] {
        let end = groups(course.tile.n);
        for (g, out) in places.iter_mut().enumerate().take(end).skip(both) {
            course.reach(g)?;
            if course.decode(p, g, out) != Some(true) {
                return Ok(false);
            }
        }
    }
    a.end()?;
    b.end()?;
    Ok(true)
}
