//! Differences of short numbers by vectors, and back. What comes out is what `axes` and `primitives::lorenzo` say.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::axes::{Choice, ROUNDS, Seen, decide, is_sampled, logarithm, looks_again};
use crate::codec::interp::tile_shape::MARGIN;
use crate::codec::predict::format::{GROUP, Grid, TILE_LOG2};
use crate::error::Result;
use crate::host::memory::{Aligned, Zeros};
use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::rans::LANES;
use crate::simd::Level;
use crate::simd::lanes::ByLevel;
use crate::simd::vec::Simd;
use crate::simd::word::Word;

/// Words of a tile, and of a row.
const MOST: usize = 1 << TILE_LOG2;
/// Neighbours where there are none.
#[used]
static ZEROS: Zeros<{ MARGIN + MOST + MARGIN }> = Zeros::new();

/// The codes of short numbers of a tile, which stand behind a margin. They are differences along the axes that are
/// chosen, or distances from what was subtracted; and whether any is other than 0.
pub struct Differ<'a> {
    /// How the array is cut.
    pub grid: &'a Grid,
    /// The lengths of the tile.
    pub lens: [usize; AXES],
    /// The numbers.
    pub short: &'a mut [u32],
    /// Where the codes go.
    pub places: &'a mut [u32],
}

impl ByLevel for Differ<'_> {
    type Done = (Choice, bool);

    #[inline(always)]
    fn run<P: Simd<M>, const M: usize>(self, p: P) -> (Choice, bool) {
        differ(p, self.grid, self.lens, self.short, self.places)
    }
}

#[inline(always)]
fn differ<P: Simd<M>, const M: usize>(
    p: P,
    grid: &Grid,
    lens: [usize; AXES],
    short: &mut [u32],
    places: &mut [u32],
) -> (Choice, bool) {
    let choice = choose(p, grid, lens, short);
    if choice.middle != 0 {
        let words = &mut short[MARGIN..MARGIN + lens.iter().product::<usize>()];
        words.iter_mut().for_each(|w| *w = w.wrapping_sub(choice.middle as u32));
    }
    let differ = codes(p, (grid.set(), choice.set), lens, short, places);
    (choice, differ)
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
            y: if has_y { &short[own - lens[0]..] } else { ZEROS.numbers() },
            z: if has_z { &short[own - plane..] } else { ZEROS.numbers() },
            yz: if has_y && has_z { &short[own - plane - lens[0]..] } else { ZEROS.numbers() },
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

/// For each set of axes the cost of the differences along them, in a round: see `axes`. The sets are those of the
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

/// What is to be subtracted from words; see `axes`.
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
            row: Aligned::zeros(x + MARGIN)?,
            plane: Aligned::zeros(plane)?,
            face: Aligned::zeros(grid.capacity() + MARGIN)?,
        })
    }
}

/// Words that are shown at once.
pub const STEP: usize = 16;

/// Shows the words, less the base, that the differences in `places` lead to, row after row: where they begin among the
/// tile's elements, 16 of them, and how many count; those behind them may be written over what comes later. Nothing
/// without vectors.
#[inline(always)]
pub fn restore<W: Word>(
    p: impl Level,
    set: u8,
    lens: [usize; AXES],
    places: &[u32],
    sums: &mut Sums<W>,
    show: impl FnMut(usize, &[W; STEP], usize),
) {
    p.by_vectors(Restore { set, lens, places, sums, show });
}

struct Restore<'a, W, S> {
    set: u8,
    lens: [usize; AXES],
    places: &'a [u32],
    sums: &'a mut Sums<W>,
    show: S,
}

impl<W: Word, S: FnMut(usize, &[W; STEP], usize)> ByLevel for Restore<'_, W, S> {
    type Done = ();

    #[inline(always)]
    fn run<P: Simd<M>, const M: usize>(self, p: P) {
        restored(p, self.set, self.lens, self.places, self.sums, self.show);
    }
}

#[inline(always)]
fn restored<W: Word, P: Simd<M>, const M: usize>(
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
