//! Tiles whose words are short numbers, so that 32 bits hold all their differences, whatever the type: nearly all tiles
//! of bins. What comes out is what `predict`, `encode` and `decode` say.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use std::sync::atomic::AtomicU32;

use super::group::{self, Encoding, Group, OwnEncoding, Source, States, Tail, Turn, lanes_of, quads_of};
use super::{Level, Simd};
use crate::codec::predict::counts::TokenCounts;
use crate::codec::predict::decode::{check_end, lower, read_classes};
use crate::codec::predict::encode::{State, encode_classes};
use crate::codec::predict::format::*;
use crate::codec::predict::lattice::{Bins, Multiple};
use crate::codec::predict::lossless::encode::{Of, Own as Given};
use crate::codec::predict::lossless::passes::Narrow;
use crate::codec::predict::own_table::OWN;
use crate::codec::predict::plan::Plan;
use crate::codec::predict::predict::{Choice, ROUNDS, Seen, decide, is_sampled, logarithm, looks_again};
use crate::codec::predict::survey::Bits;
use crate::codec::predict::tables::{SLOTS_OF, TABLES};
use crate::error::{Result, fail};
use crate::host::memory::{Aligned, boxed, filled};
use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::rans::{self, LANES, LOW, TABLE_BITS, Words};
use crate::primitives::word::Word;

/// Numbers in front of those of a tile, and behind them, that are read with them.
pub const MARGIN: usize = 32;
/// Words of a tile, and of a row.
const MOST: usize = 1 << TILE_LOG2;
/// Neighbours where there are none. Nobody writes these, but as they might be written they take no room in the file.
#[used]
static ZEROS: [AtomicU32; MARGIN + MOST + MARGIN] = [const { AtomicU32::new(0) }; _];

#[inline(always)]
fn zeros() -> &'static [u32] {
    // SAFETY: an AtomicU32 lies in memory as a u32 does, and these are never written.
    unsafe { std::slice::from_raw_parts(ZEROS.as_ptr().cast(), ZEROS.len()) }
}

/// Bits of the magnitudes of short words: eight of them, and 128 such sums, must fit 32 bits; and eight of them a word.
const fn short_bits<W: Word>() -> u32 {
    if W::BITS < 32 { W::BITS - 5 } else { 21 }
}

/// The words as short numbers behind a margin; whether they are.
#[inline(always)]
pub fn shorten<W: Word>(words: &[W], buffers: &mut ShortBuffers) -> bool {
    let bits = short_bits::<W>();
    let limit = W::ONE << bits;
    let mut any = W::ZERO;
    for (short, w) in buffers.short[MARGIN..].iter_mut().zip(words) {
        *short = w.extend() as u32;
        any = any | (w.add(limit) >> (bits + 1));
    }
    any == W::ZERO
}

/// What the elements of a tile are as bins.
pub struct ShortBins<W> {
    /// The elements.
    pub seen: Bits<W>,
    /// The bin of the first one.
    pub base: W,
    /// The others, less this one, are short.
    pub are_short: bool,
    /// One is a bin that no element may become.
    pub collides: bool,
}

/// Elements that are quantized at once.
const BLOCK: usize = 64;

/// The bins of elements, less the first one, as short numbers behind a margin, if they are.
#[inline(always)]
pub fn shorten_bins<E: Multiple>(
    plan: &Plan,
    bins: &Bins,
    data: &[u8],
    buffers: &mut ShortBuffers,
) -> ShortBins<E::Word> {
    // Asked before the loop: within it whatever is loaded is turned around with a mask.
    if plan.big_endian {
        shorten_bins_of::<E, true>(plan, bins, data, &mut buffers.short)
    } else {
        shorten_bins_of::<E, false>(plan, bins, data, &mut buffers.short)
    }
}

#[inline(always)]
fn shorten_bins_of<E: Multiple, const BIG_ENDIAN: bool>(
    plan: &Plan,
    bins: &Bins,
    data: &[u8],
    short: &mut [u32],
) -> ShortBins<E::Word> {
    let (zero, size) = (E::Word::ZERO, size_of::<E::Word>());
    let bits = short_bits::<E::Word>();
    let limit = E::Word::ONE << bits;
    let (mut any, mut largest, mut beyond) = (zero, zero, zero);
    let (mut base, mut collides) = (zero, false);
    for (k, bytes) in data.chunks(BLOCK * size).enumerate() {
        let mut words = [zero; BLOCK];
        let count = bytes.len() / size;
        if count == BLOCK {
            for i in 0..BLOCK {
                words[i] = E::Word::load(&bytes[i * size..(i + 1) * size]);
            }
        } else {
            for i in 0..count {
                words[i] = E::Word::load(&bytes[i * size..(i + 1) * size]);
            }
            let last = words[count - 1];
            words[count..].fill(last);
        }
        if BIG_ENDIAN {
            for w in &mut words {
                *w = w.swap();
            }
        }
        for w in &words {
            any = any | *w;
            largest = largest.max(*w & !E::Word::SIGN);
        }
        bins.encode::<E, BLOCK>(&mut words);
        if k == 0 {
            base = words[0];
        }
        for bin in plan.collisions() {
            collides |= words.iter().fold(false, |any, w| any | (w.to_u64() == *bin));
        }
        let mut numbers = [0; BLOCK];
        for (number, w) in numbers.iter_mut().zip(&words) {
            let w = w.sub(base);
            *number = w.extend() as u32;
            beyond = beyond | (w.add(limit) >> (bits + 1));
        }
        let to = &mut short[MARGIN + k * BLOCK..];
        let room = to.len().min(BLOCK);
        match to.first_chunk_mut() {
            Some(to) => *to = numbers,
            None => to.copy_from_slice(&numbers[..room]),
        }
    }
    ShortBins { seen: Bits { any, largest }, base, are_short: beyond == zero, collides }
}

/// What an encoder keeps for short tiles.
pub struct ShortBuffers {
    short: Aligned<u32>,
    /// The codes.
    pub places: Aligned<u32>,
    groups: Vec<Group>,
    own: OwnEncoding,
    /// The words of the last tile, at the end.
    pub stream: Aligned<u16>,
}

impl ShortBuffers {
    /// For the tiles of a grid.
    pub fn new(grid: &Grid) -> Result<ShortBuffers> {
        let n = grid.capacity();
        Ok(ShortBuffers {
            short: Aligned::filled(MARGIN + n + MARGIN, 0)?,
            places: Aligned::filled(grid.groups() * GROUP + MARGIN, 0)?,
            groups: filled(grid.groups(), Group::ZERO)?,
            own: OwnEncoding::new()?,
            // Each symbol takes 10 bits at the most, its raw bits as many as there are.
            stream: Aligned::filled(n * (32 + 10) / 16 + 4 * LANES + MARGIN, 0)?,
        })
    }
}

impl ShortBuffers {
    /// The short numbers.
    pub fn numbers(&self) -> &[u32] {
        &self.short[MARGIN..]
    }

    /// Makes the places behind `n` codes 0, up to the end of the last group.
    #[inline(always)]
    pub fn clear_behind(&mut self, n: usize) {
        self.places[n..groups(n) * GROUP].fill(0);
    }
}

/// A tile of short words, encoded.
pub struct ShortTile {
    /// What was subtracted from words.
    pub choice: Choice,
    /// How coding ended, and where the words begin; nothing if all differences are 0.
    pub coded: Option<(State, usize)>,
    /// It has the table of the counts.
    pub has_table: bool,
}

/// See `Level::encode_short`.
#[inline(always)]
pub fn encode_tile<P: Simd<M>, const M: usize>(
    p: P,
    grid: &Grid,
    lens: [usize; AXES],
    n: usize,
    counts: &mut TokenCounts,
    buffers: &mut ShortBuffers,
) -> ShortTile {
    let choice = choose(p, grid, lens, &buffers.short);
    if choice.middle != 0 {
        let words = &mut buffers.short[MARGIN..MARGIN + n];
        words.iter_mut().for_each(|w| *w = w.wrapping_sub(choice.middle as u32));
    }
    buffers.clear_behind(n);
    if !codes(p, (grid.set(), choice.set), lens, &buffers.short, &mut buffers.places) {
        return ShortTile { choice, coded: None, has_table: false };
    }
    let (state, at, has_table) = encode_codes(p, n, counts, buffers);
    ShortTile { choice, coded: Some((state, at)), has_table }
}

/// Encodes the `n` codes, by a table of the tile's own where that takes less: how coding ended, where the words begin,
/// and whether there is such a table.
#[inline(always)]
pub fn encode_codes<P: Simd<M>, const M: usize>(
    p: P,
    n: usize,
    counts: &mut TokenCounts,
    buffers: &mut ShortBuffers,
) -> (State, usize, bool) {
    let ShortBuffers { places, groups: all, own, stream, .. } = buffers;
    let all = &mut all[..groups(n)];
    take::<P, M>(p, places.as_chunks().0, n, all, counts);
    let own = own_table(counts, own);
    let mut words = Words::new(stream);
    let state = encode::<P, M>(p, all, n, own, &mut words);
    (state, words.at, own.is_some())
}

/// Codes below this are encoded by vectors.
const LIMIT: u32 = 1 << 25;

/// Puts codes to their places; whether all are short.
pub fn place_codes<W: Word>(p: impl Level, codes: &[W], buffers: &mut ShortBuffers) -> bool {
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

/// See `Level::encode_placed`.
#[inline(always)]
pub fn encode_placed<P: Simd<M>, const M: usize>(
    p: P,
    n: usize,
    given: Option<Given>,
    buffers: &mut ShortBuffers,
) -> (State, usize) {
    let ShortBuffers { places, groups: all, own, stream, .. } = buffers;
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
            let has = present_in(n, g);
            let has = |lane: usize, j: usize| has[lane / 8] >> (lane % 8 * QUAD + j) & 1 == 1;
            group.class = given.class(group.class, &group.tokens.map(u32::to_le_bytes), has);
        }
    }
    let own = given.map(|given| (&SAME, own.fill(given.frequencies)));
    let mut words = Words::new(stream);
    let state = encode::<P, M>(p, all, n, own, &mut words);
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
        Ok(Codes { places: Aligned::filled(0, 0)?, tail: boxed([0; 2])? })
    }

    /// Makes room for the tiles of a grid.
    pub fn make_room(&mut self, grid: &Grid) -> Result<()> {
        if self.places.is_empty() {
            self.places = Aligned::filled(grid.groups() * GROUP + MARGIN, 0)?;
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

/// A row of a tile, and those before it along y, z and both; each begins behind a margin.
struct Rows<'a> {
    own: &'a [u32],
    y: &'a [u32],
    z: &'a [u32],
    yz: &'a [u32],
    /// Whether the others, and whether the last two, are other than zeros.
    has: (bool, bool),
}

impl<'a> Rows<'a> {
    #[inline(always)]
    fn of(short: &'a [u32], lens: [usize; AXES], set: u8, y: usize, z: usize) -> Rows<'a> {
        let own = (z * lens[1] + y) * lens[0];
        let (has_y, has_z) = (set & 2 != 0 && y > 0, set & 4 != 0 && z > 0);
        let plane = lens[0] * lens[1];
        Rows {
            own: &short[own..],
            y: if has_y { &short[own - lens[0]..] } else { zeros() },
            z: if has_z { &short[own - plane..] } else { zeros() },
            yz: if has_y && has_z { &short[own - plane - lens[0]..] } else { zeros() },
            has: (has_y || has_z, has_z),
        }
    }
}

/// Differences along y and z, from place `at` of the rows on.
#[inline(always)]
fn across<P: Simd<M>, const M: usize>(p: P, rows: &Rows, at: usize) -> P::V {
    let mut d = p.load(&rows.own[at..]);
    if rows.has.0 {
        d = p.sub(d, p.load(&rows.y[at..]));
    }
    if rows.has.1 {
        d = p.sub(d, p.sub(p.load(&rows.z[at..]), p.load(&rows.yz[at..])));
    }
    d
}

/// The neighbours along x of the elements of a row from `x` on; the first of a row has none.
#[inline(always)]
fn left<P: Simd<M>, const M: usize>(p: P, row: &[u32], x: usize) -> P::V {
    let v = p.load(&row[MARGIN + x - 1..]);
    if x == 0 { p.select(p.mask(!1), v, p.splat(0)) } else { v }
}

/// What makes short words positive.
const BIAS: u32 = 1 << 24;

/// For each set of axes the cost of the differences along them, in a round: see `predict`. The sets are those of the
/// first AXES.
#[inline(always)]
pub fn costs<P: Simd<M>, const M: usize, const SETS: usize>(
    p: P,
    grid: &Grid,
    lens: [usize; AXES],
    short: &[u32],
    round: usize,
    seen: &mut Seen,
) -> [u64; SETS] {
    let (n, groups, zero) = (LANES / M, grid.groups(), p.splat(0));
    let (x_side, y_side) = (grid.sides[0], grid.sides[1]);
    let mut costs = [0; SETS];
    // The greatest word, and the least one as the greatest of what is below it.
    let (bias, twice, mut above, mut below) = (p.splat(BIAS), p.splat(2 * BIAS), zero, zero);
    for g in (0..groups).filter(|g| is_sampled(*g, groups, round)) {
        // The rows that have places of the group, or the part of a row.
        let (from, rows) = (g * GROUP % x_side, (GROUP / x_side).max(1));
        let first = g * GROUP / x_side;
        let mut sums = [zero; SETS];
        let mut has_element = false;
        for row in first..first + rows {
            let (y, z) = (row % y_side, row / y_side);
            if y >= lens[1] || z >= lens[2] {
                continue;
            }
            has_element |= from < lens[0];
            let rows = Rows::of(short, lens, SETS as u8 - 1, y, z);
            for x in (from..lens[0].min(from + GROUP)).step_by(n) {
                let d = differences::<P, M, SETS>(p, &rows, [x, y, z]);
                let count = lens[0] - x;
                let is_there = p.mask(if count < n { low_bits(count) } else { u32::MAX });
                for s in 0..SETS {
                    sums[s] = p.add(sums[s], p.select(is_there, p.magnitude(d[s]), zero));
                }
                let word = p.add(d[0], bias);
                above = p.max(above, p.select(is_there, word, zero));
                below = p.max(below, p.select(is_there, p.sub(twice, word), zero));
            }
        }
        add_up(p, &sums, &mut costs);
        seen.groups += u64::from(has_element);
    }
    let (above, below) = (p.largest(above), p.largest(below));
    if above > 0 {
        let (first, last) = (i64::from(BIAS) - i64::from(below), i64::from(above) - i64::from(BIAS));
        seen.ends = (seen.ends.0.min(first), seen.ends.1.max(last));
    }
    costs
}

/// The differences along each set of axes of the elements of a row from `x` on.
#[inline(always)]
fn differences<P: Simd<M>, const M: usize, const SETS: usize>(
    p: P,
    rows: &Rows,
    [x, y, z]: [usize; AXES],
) -> [P::V; SETS] {
    let first = p.mask(1);
    let mut d = [p.splat(0); SETS];
    d[0] = p.load(&rows.own[MARGIN + x..]);
    let own_left = left(p, rows.own, x);
    d[1] = p.sub(d[0], own_left);
    if SETS > 2 {
        d[2] = p.sub(d[0], p.load(&rows.y[MARGIN + x..]));
        let y_left = p.sub(own_left, left(p, rows.y, x));
        d[3] = p.sub(d[2], y_left);
        if SETS > 4 {
            let (other, other_left) = (p.load(&rows.z[MARGIN + x..]), left(p, rows.z, x));
            d[4] = p.sub(d[0], other);
            d[5] = p.sub(d[4], p.sub(own_left, other_left));
            d[6] = p.sub(d[2], p.sub(other, p.load(&rows.yz[MARGIN + x..])));
            d[7] = p.sub(d[6], p.sub(y_left, p.sub(other_left, left(p, rows.yz, x))));
            if z == 0 {
                d[4] = d[7];
            }
            if y == 0 && z == 0 {
                d[6] = d[7];
            }
        }
        // On the face there are the differences along all axes.
        if y == 0 {
            d[2] = d[SETS - 1];
        }
        if x == 0 {
            d[1] = p.select(first, d[SETS - 1], d[1]);
            if y == 0 {
                d[3] = p.select(first, d[SETS - 1], d[3]);
            }
            if SETS > 4 && z == 0 {
                d[5] = p.select(first, d[SETS - 1], d[5]);
            }
        }
    }
    d
}

#[inline(always)]
fn low_bits(n: usize) -> u32 {
    ((1u64 << n) - 1) as u32
}

#[inline(always)]
fn add_up<P: Simd<M>, const M: usize, const SETS: usize>(p: P, sums: &[P::V; SETS], costs: &mut [u64; SETS]) {
    for s in 0..SETS {
        costs[s] += logarithm(p.total(sums[s]).into());
    }
}

/// What is to be subtracted from words; see `predict`.
#[inline(always)]
pub fn choose<P: Simd<M>, const M: usize>(p: P, grid: &Grid, lens: [usize; AXES], short: &[u32]) -> Choice {
    match grid.set() {
        0 => Choice { set: 0, middle: 0 },
        1 => choose_of::<P, M, 2>(p, grid, lens, short),
        3 => choose_of::<P, M, 4>(p, grid, lens, short),
        _ => choose_of::<P, M, 8>(p, grid, lens, short),
    }
}

#[inline(always)]
fn choose_of<P: Simd<M>, const M: usize, const SETS: usize>(
    p: P,
    grid: &Grid,
    lens: [usize; AXES],
    short: &[u32],
) -> Choice {
    let (mut all, mut seen) = ([0; SETS], Seen::NONE);
    for round in 0..ROUNDS {
        let costs = costs::<P, M, SETS>(p, grid, lens, short, round, &mut seen);
        for s in 0..SETS {
            all[s] += costs[s];
        }
        if !looks_again(&all, &seen, grid.groups()) {
            break;
        }
    }
    decide(&all, &seen)
}

/// Writes the codes of the differences along the axes of `set`, row after row; whether any is other than 0. Places
/// behind the last one may become 0.
#[inline(always)]
pub fn codes<P: Simd<M>, const M: usize>(
    p: P,
    (allowed, set): (u8, u8),
    lens: [usize; AXES],
    short: &[u32],
    places: &mut [u32],
) -> bool {
    let n = LANES / M;
    let (zero, mut any) = (p.splat(0), p.splat(0));
    for z in 0..lens[2] {
        for y in 0..lens[1] {
            let on_face = set != 0 && (set & 2 == 0 || y == 0) && (set & 4 == 0 || z == 0);
            let along = if on_face && set & 1 == 0 { allowed } else { set };
            let rows = Rows::of(short, lens, along, y, z);
            let place = (z * lens[1] + y) * lens[0];
            let mut before = zero;
            for x in (0..lens[0]).step_by(n) {
                let mut d = across(p, &rows, MARGIN + x);
                if along & 1 != 0 {
                    let own = d;
                    d = p.sub(own, p.shifted_in(before, own));
                    before = own;
                }
                let code = p.xor(p.left::<1>(d), p.sub(zero, p.right::<31>(d)));
                let count = lens[0] - x;
                let code = if count < n { p.select(p.mask(low_bits(count)), code, zero) } else { code };
                any = p.or(any, code);
                p.store(code, &mut places[place + x..]);
            }
            if on_face && set & 1 != 0 && set != allowed {
                let rows = Rows::of(short, lens, allowed, y, z);
                let [own, y, z, yz] = [rows.own, rows.y, rows.z, rows.yz].map(|row| row[MARGIN]);
                let code = own.wrapping_sub(y).wrapping_sub(z.wrapping_sub(yz)).zigzag();
                any = p.or(any, p.splat(code | places[place]));
                places[place] = code;
            }
        }
    }
    p.bits(p.less(zero, any)) != 0
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

/// Encodes all groups of `n` codes; see `encode`.
#[inline(always)]
fn encode<P: Simd<M>, const M: usize>(p: P, groups: &[Group], n: usize, own: Own, words: &mut Words) -> State {
    let mut state = State::new();
    let mut x = [p.splat(1); M];
    let mut classes = [0u8; GROUPS];
    for (g, group) in groups.iter().enumerate().rev() {
        let (class, table) = match own {
            Some((classes, own)) if usize::from(classes[group.class]) == OWN => (OWN, own),
            Some((classes, _)) => (classes[group.class].into(), Encoding::of(classes[group.class].into())),
            None => (group.class, Encoding::of(group.class)),
        };
        classes[g] = class as u8;
        if class == 0 {
            continue;
        }
        let before = (x, words.at);
        encode_group(p, group, table, (n, g), &mut x, words);
        if state.is_small() {
            let lanes = [lanes_of(p, &before.0), lanes_of(p, &x)];
            state.lanes = lanes[1];
            if !state.holds((lanes[0], before.1), words, g + 1) {
                for k in 0..M {
                    x[k] = p.load(&state.lanes[k * (LANES / M)..]);
                }
                encode_group(p, group, table, (n, g), &mut x, words);
            }
        }
    }
    state.lanes = lanes_of(p, &x);
    encode_classes(&mut state, &classes[..groups.len()], words);
    state
}

/// Encodes group `g` of `n` codes.
#[inline(always)]
fn encode_group<P: Simd<M>, const M: usize>(
    p: P,
    group: &Group,
    table: Encoding,
    (n, g): (usize, usize),
    x: &mut [P::V; M],
    words: &mut Words,
) {
    if absent(n, g) == 0 {
        group.encode::<P, M, true>(p, table, &[p.splat(0); M], x, words);
    } else {
        group.encode::<P, M, false>(p, table, &quads_of(p, &present_in(n, g)), x, words);
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
        let states = States::new(p, &lanes, threshold, Source::new(words, source.at, tail));
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

    /// What group `g` is decoded by; its differences if all are 0.
    #[inline(always)]
    fn turn<'b>(&self, g: usize, out: &'b mut [u32; GROUP]) -> Option<Turn<'b, M>>
    where
        'a: 'b,
    {
        let class = usize::from(self.classes[g]);
        if class == 0 {
            out.fill(0);
            return None;
        }
        let packed = self.tile.packed;
        let slots = packed.own.filter(|_| class == OWN).unwrap_or(&SLOTS_OF[class]);
        Some(Turn { slots, place: (self.tile.n, g), direct: packed.direct, out })
    }

    /// Decodes group `g`; `None` if words have ended before, otherwise whether its differences fit 32 bits.
    #[inline(always)]
    fn decode(&mut self, p: P, g: usize, out: &mut [u32; GROUP]) -> Option<bool> {
        let Some(turn) = self.turn(g, out) else { return Some(true) };
        let last = self.tile.last;
        if absent(self.tile.n, g) == 0 {
            group::decode::<P, M, 1, true>(p, &mut [&mut self.states], &mut [turn], last)
        } else {
            group::decode::<P, M, 1, false>(p, &mut [&mut self.states], &mut [turn], last)
        }
    }

    /// Checks how it ended.
    #[inline(always)]
    fn end(mut self) -> Result<()> {
        self.reach(groups(self.tile.n))?;
        check_end(&self.states.lanes(), self.words.get(self.states.source.at..))
    }
}

/// See `Level::decode_short`. Verdicts are those of `decode`.
#[inline(always)]
pub fn decode_tile<P: Simd<M>, const M: usize>(p: P, tile: Coded, codes: &mut Codes) -> Result<bool> {
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

/// See `Level::decode_two`.
#[inline(always)]
pub fn decode_tiles<P: Simd<M>, const M: usize>(p: P, tiles: [Coded; 2], codes: &mut [Codes; 2]) -> bool {
    matches!(decode_two::<P, M>(p, tiles, codes), Ok(true))
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
            (Some(turn), Some(other)) if whole => {
                group::decode::<P, M, 2, true>(p, &mut [&mut a.states, &mut b.states], &mut [turn, other], last)
            }
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

/// Buffers of sums.
pub struct Sums<W> {
    /// Of the row before.
    row: Aligned<W>,
    /// Of the plane before.
    plane: Aligned<W>,
    /// Of the face.
    face: Aligned<W>,
}

impl<W: Word> Sums<W> {
    /// For the tiles of a grid.
    pub fn new(grid: &Grid) -> Result<Sums<W>> {
        let [x, y, z] = grid.sides;
        let plane = if z > 1 { x.next_multiple_of(STEP) * y } else { 0 };
        Ok(Sums {
            row: Aligned::filled(x + MARGIN, W::ZERO)?,
            plane: Aligned::filled(plane, W::ZERO)?,
            face: Aligned::filled(grid.capacity() + MARGIN, W::ZERO)?,
        })
    }
}

/// Words that are shown at once.
pub const STEP: usize = 16;

/// Shows the words, less the base, that the differences in `places` lead to, row after row: where they begin among the
/// tile's elements, 16 of them, and how many count; those behind them may be written over what comes later.
#[inline(always)]
pub fn restore<W: Word, P: Simd<M>, const M: usize>(
    p: P,
    set: u8,
    lens: [usize; AXES],
    places: &[u32],
    sums: &mut Sums<W>,
    mut show: impl FnMut(usize, &[W; STEP], usize),
) {
    let Sums { row, plane, face } = sums;
    let stride = lens[0].next_multiple_of(STEP);
    let in_set = |axis: usize| set >> axis & 1 == 1;
    let mut face_lens = lens;
    (0..AXES).filter(|axis| in_set(*axis)).for_each(|axis| face_lens[axis] = 1);
    if set != 0 {
        let (mut at, [x_len, y_len, z_len]) = (0, face_lens);
        for z in 0..z_len {
            for y in 0..y_len {
                let from = &places[(z * lens[1] + y) * lens[0]..][..x_len];
                face[at..at + x_len].iter_mut().zip(from).for_each(|(w, d)| *w = W::from_u64(d.extend()));
                at += x_len;
            }
        }
        lorenzo::inverse(!set & 7, face_lens, &mut face[..at]);
    }
    for z in 0..lens[2] {
        for y in 0..lens[1] {
            let on_face = set != 0 && (!in_set(1) || y == 0) && (!in_set(2) || z == 0);
            let face_at = (if in_set(2) { 0 } else { z * face_lens[1] } + if in_set(1) { 0 } else { y }) * face_lens[0];
            let start = (z * lens[1] + y) * lens[0];
            let from = &places[start..];
            let (mut sum, mut carry) = (W::ZERO, p.splat(0));
            for x in (0..lens[0]).step_by(STEP) {
                let count = (lens[0] - x).min(STEP);
                let mut v = [W::ZERO; STEP];
                let d = from[x..].first_chunk::<STEP>().expect("a margin");
                for i in 0..STEP {
                    v[i] = W::from_u64(d[i].extend());
                }
                if on_face {
                    if !in_set(0) {
                        v = *face[face_at + x..].first_chunk().expect("a margin");
                    } else if x == 0 {
                        v[0] = face[face_at];
                    }
                }
                if in_set(0) {
                    if W::BITS >= 32 {
                        p.running_sums(&mut v, &mut carry);
                    } else {
                        for w in &mut v {
                            sum = sum.add(*w);
                            *w = sum;
                        }
                    }
                }
                if in_set(1) {
                    let before: &mut [W; STEP] = row[x..].first_chunk_mut().expect("a margin");
                    if y > 0 {
                        add(&mut v, before);
                    }
                    *before = v;
                }
                if in_set(2) {
                    let before = plane[y * stride + x..].first_chunk_mut().expect("whole steps");
                    if z > 0 {
                        add(&mut v, before);
                    }
                    *before = v;
                }
                show(start + x, &v, count);
            }
        }
    }
}

#[inline(always)]
fn add<W: Word>(words: &mut [W; STEP], others: &[W; STEP]) {
    for i in 0..STEP {
        words[i] = words[i].add(others[i]);
    }
}
