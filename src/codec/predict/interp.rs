//! Interpolation inside a tile, in integers: levels from coarse to fine, on each of which the new nodes are predicted
//! from the restored ones around them (docs/codecs/predict.md §7). What is encoded is what the decoder will restore, so
//! errors do not add up. All arithmetic is modulo 2^32.

use super::simd::Task;
use super::simd::lanes::{LONGEST, Lanes};
use crate::error::Result;
use crate::host::memory::{Aligned, filled, reserve};
use crate::primitives::lorenzo::AXES;

/// Bits of weights.
const WEIGHT_BITS: u32 = 10;
/// Bits of predictions behind the point.
const POINT: u32 = 4;
/// Levels whose codes may be differences, from the finest on.
const DIFFERENCE_LEVELS: usize = 2;
/// Differences from predictions below this become the right code in the arithmetic of f32.
const MOST: u32 = 1 << 20;
/// Codes are below this.
const CODE_LIMIT: u32 = 1 << 22;

/// How a tile is interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Two nodes and a half of the mean instead of four and the boolean sum.
    pub rough: bool,
    /// Codes stand for multiples of a step; otherwise nothing is lost.
    pub coarse: bool,
    /// Axes along which codes of classes with one new axis are differences on the finest levels.
    pub set: u8,
}

/// Steps by how many axes have inner nodes (0 and 1 alike), from the finest level on; the last one goes on.
const STEPS: [&[u32]; AXES + 1] =
    [&[15, 15, 15, 13, 13, 11], &[15, 15, 15, 13, 13, 11], &[15, 15, 13, 11], &[15, 13, 11]];

/// The step of the finest level, and of the lattice's coarse elements.
pub const STEP: u32 = 15;

/// Weights of coarse nodes −1, 0, 1 and 2 from a new one.
type Weights = [u32; 4];

/// Those in the middle, smooth and rough.
const EVEN: [Weights; 2] = [[0u32.wrapping_sub(64), 576, 576, 0u32.wrapping_sub(64)], [0, 512, 512, 0]];

/// Nodes of an axis on a level.
#[derive(Clone, Copy, Debug, Default)]
struct Nodes {
    /// The level's length: new and coarse ones.
    len: usize,
    /// Coarse ones.
    coarse: usize,
    /// New ones.
    new: usize,
    /// How the first new one is made, and the last two, smooth and rough: all others are as far from each other.
    ends: [[Weights; 3]; 2],
}

impl Nodes {
    /// Of a level on which nodes are `stride` apart, of an axis of `n` elements; `len` of them are on it.
    fn new(n: usize, stride: usize, len: usize) -> Nodes {
        let coarse = if len.is_multiple_of(2) { len / 2 + 1 } else { len.div_ceil(2) };
        let mut nodes = Nodes { len, coarse, new: len - coarse, ends: Default::default() };
        for (rough, ends) in nodes.ends.iter_mut().enumerate() {
            for (at, j) in [0, nodes.new.saturating_sub(2), nodes.new.saturating_sub(1)].into_iter().enumerate() {
                if j < nodes.new {
                    ends[at] = weights(n, stride, coarse, j, rough == 1);
                }
            }
        }
        nodes
    }

    /// How new node `j` is made.
    #[inline(always)]
    fn weights(&self, rough: bool, j: usize) -> Weights {
        let ends = &self.ends[usize::from(rough)];
        match j {
            0 => ends[0],
            _ if j + 1 == self.new => ends[2],
            _ if j + 2 == self.new => ends[1],
            _ => EVEN[usize::from(rough)],
        }
    }

    /// The place of a coarse node on the level.
    #[inline(always)]
    fn of_coarse(&self, j: usize) -> usize {
        if j + 1 == self.coarse { self.len - 1 } else { 2 * j }
    }

    /// The place of a node that is new or coarse.
    #[inline(always)]
    fn place(&self, is_new: bool, j: usize) -> usize {
        if is_new { 2 * j + 1 } else { self.of_coarse(j) }
    }

    fn count(&self, is_new: bool) -> usize {
        if is_new { self.new } else { self.coarse }
    }

    /// The rows that make new one `j`, where rows begin at `start` and are `stride` apart.
    #[inline(always)]
    fn across(&self, rough: bool, j: usize, start: usize, stride: usize) -> Across {
        if j > 0 && j + 2 < self.new {
            let at = start + 2 * j * stride;
            let at = [at - 2 * stride, at, at + 2 * stride, at + 4 * stride];
            let kind = if rough { Kind::Mean } else { Kind::Even };
            return Across { kind, weights: EVEN[usize::from(rough)], at };
        }
        self.across_at_end(rough, j, start, stride)
    }

    #[cold]
    #[inline(never)]
    fn across_at_end(&self, rough: bool, j: usize, start: usize, stride: usize) -> Across {
        let weights = self.weights(rough, j);
        // What has no weight is read where there is something.
        let place = |k: usize| self.of_coarse((j + k).saturating_sub(1).min(self.coarse - 1));
        Across { kind: Kind::of(weights), weights, at: [0, 1, 2, 3].map(|k| start + place(k) * stride) }
    }
}

/// How new node `j` between `coarse` ones of an axis of `n` elements is made.
fn weights(n: usize, stride: usize, coarse: usize, j: usize, rough: bool) -> Weights {
    let (left, right) = (j + 1, coarse - 1 - j);
    let (first, last) = match (left >= 2, right >= 2) {
        _ if rough => (j, j + 1),
        (true, true) => (j - 1, j + 2),
        (true, false) => (j - 1, j + 1),
        (false, true) => (j, j + 2),
        (false, false) => (j, j + 1),
    };
    let place = |j: usize| (if j + 1 == coarse { n - 1 } else { 2 * stride * j }) as i64;
    let places: [i64; 4] = std::array::from_fn(|i| place((first + i).min(last)));
    let all = lagrange(&places[..=last - first], (stride * (2 * j + 1)) as i64);
    let mut weights = [0; 4];
    for (i, weight) in all.into_iter().enumerate().take(last - first + 1) {
        weights[first + i + 1 - j] = weight as u32;
    }
    weights
}

/// Lagrange's weights at `x`, to a sum of 2^`WEIGHT_BITS`: rounded, and the heaviest takes what is left.
fn lagrange(places: &[i64], x: i64) -> [i32; 4] {
    let mut weights = [0; 4];
    for (i, place) in places.iter().enumerate() {
        let others = || places.iter().enumerate().filter(|(h, _)| *h != i).map(|(_, other)| *other);
        let (mut top, mut bottom) = (1, 1);
        others().for_each(|other| {
            top *= x - other;
            bottom *= place - other;
        });
        if bottom < 0 {
            (top, bottom) = (-top, -bottom);
        }
        weights[i] = (((top << (WEIGHT_BITS + 1)) + bottom).div_euclid(2 * bottom)) as i32;
    }
    let rest = (1 << WEIGHT_BITS) - weights.iter().sum::<i32>();
    let heaviest = (0..4).rev().max_by_key(|i| weights[*i].abs()).unwrap_or(0);
    weights[heaviest] += rest;
    weights
}

/// Weights that need no multiplication, or any.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Four nodes as far apart as each other.
    Even,
    /// The mean of two.
    Mean,
    /// Others.
    Any,
}

impl Kind {
    #[inline(always)]
    fn of(weights: Weights) -> Kind {
        match weights {
            _ if weights == EVEN[0] => Kind::Even,
            _ if weights == EVEN[1] => Kind::Mean,
            _ => Kind::Any,
        }
    }
}

/// Vectors at the ends of a row.
const ENDS: usize = 3;
/// None of them.
const MIDDLE: usize = ENDS;

/// A level of a tile: rows of its nodes, the coarse ones of a row before the new ones.
#[derive(Clone, Copy)]
struct Level {
    nodes: [Nodes; AXES],
    /// From row to row, and from plane to plane.
    strides: [usize; 2],
    /// Where the new nodes of a row begin.
    new_at: usize,
    /// Where its rows begin.
    start: usize,
    step: u32,
    /// Whether classes with one new axis may have differences.
    has_differences: bool,
    /// How new nodes along x are made that are in the first vector and the last two, smooth and rough.
    ends: [[End; ENDS]; 2],
}

impl End {
    /// Of a vector without nodes.
    const NONE: End = End { kind: Kind::Any, weights: [[0; LONGEST]; 4], any: [0; LONGEST] };
}

/// How the nodes of a vector at an end of a row are made.
#[derive(Clone, Copy)]
struct End {
    /// That of all, or `Any`.
    kind: Kind,
    weights: [[u32; LONGEST]; 4],
    /// All bits of those that are made by weights.
    any: [u32; LONGEST],
}

impl Level {
    #[inline(always)]
    fn row(&self, y: usize, z: usize) -> usize {
        self.start + y * self.strides[0] + z * self.strides[1]
    }

    /// Which of the ends the vector at `v` is, or `MIDDLE`.
    #[inline(always)]
    fn end(&self, v: usize, lanes: usize) -> usize {
        let last = self.nodes[0].new.saturating_sub(1) / lanes * lanes;
        match v {
            0 => 0,
            _ if v == last => 2,
            _ if v + lanes == last => 1,
            _ => MIDDLE,
        }
    }

    /// Makes `ends` for vectors of so many lanes.
    fn make_ends(&mut self, lanes: usize) {
        let nodes = self.nodes[0];
        let last = nodes.new.saturating_sub(1) / lanes * lanes;
        for (rough, ends) in self.ends.iter_mut().enumerate() {
            for (end, v) in ends.iter_mut().zip([0, last.saturating_sub(lanes), last]) {
                let there = nodes.new.saturating_sub(v).min(lanes);
                let of = |i: usize| nodes.weights(rough == 1, v + i);
                *end = End::NONE;
                for i in 0..there {
                    (0..4).for_each(|k| end.weights[k][i] = of(i)[k]);
                    end.any[i] = if Kind::of(of(i)) == Kind::Any { u32::MAX } else { 0 };
                }
                // A smooth one is the mean of two only where it is alone.
                let first = if there > 0 { Kind::of(of(0)) } else { Kind::Any };
                end.kind = if (1..there).all(|i| Kind::of(of(i)) == first) { first } else { Kind::Any };
            }
        }
    }
}

/// The levels of a tile, the finest one first.
struct Layout {
    lens: [usize; AXES],
    levels: Vec<Level>,
}

/// Levels of a tile, at most.
const LEVELS: usize = 16;
/// Numbers before the first row, and behind the last one.
const MARGIN: usize = 2 * LONGEST;

impl Layout {
    fn empty() -> Result<Layout> {
        let mut levels = Vec::new();
        reserve(&mut levels, LEVELS)?;
        Ok(Layout { lens: [0; AXES], levels })
    }

    /// Becomes that of a tile with these lengths, for vectors of so many lanes; how many numbers its levels have.
    fn lay_out(&mut self, lens: [usize; AXES], lanes: usize) -> usize {
        self.lens = lens;
        self.levels.clear();
        let steps = STEPS[lens.iter().filter(|n| **n > 2).count()];
        let (mut here, mut at) = (lens, MARGIN);
        while self.levels.is_empty() || here.iter().any(|n| *n > 2) {
            let l = self.levels.len();
            let nodes: [Nodes; AXES] = std::array::from_fn(|a| Nodes::new(lens[a], 1 << l, here[a]));
            let new_at = nodes[0].coarse.next_multiple_of(LONGEST);
            let pitch = new_at + nodes[0].new.next_multiple_of(LONGEST);
            // A row more from plane to plane, since lines a page apart drive each other out of the cache.
            let strides = [pitch, pitch * (nodes[1].len + 1)];
            let start = at;
            at += strides[1] * nodes[2].len;
            here = nodes.map(|nodes| nodes.coarse);
            let (step, has_differences) = (steps[l.min(steps.len() - 1)], l < DIFFERENCE_LEVELS);
            let ends = [[End::NONE; ENDS]; 2];
            let mut level = Level { nodes, strides, new_at, start, step, has_differences, ends };
            level.make_ends(lanes);
            self.levels.push(level);
        }
        at + MARGIN
    }
}

/// Where a tile is interpolated: what its levels are, and the numbers on them.
pub struct Buffers {
    /// That of a tile, and that of a part of it.
    layouts: [Layout; 2],
    /// The one in use.
    layout: usize,
    /// Numbers that are to be coded, then restored ones.
    restored: Aligned<u32>,
    /// What was restored less what was predicted.
    errors: Aligned<u32>,
    /// Bits of numbers that count, where some do not.
    mask: Vec<u32>,
}

/// Rows shorter than this are not worth their vectors, unless they are few.
pub const SHORTEST_ROW: usize = 8;
/// Elements of a tile of such rows, at most.
pub const FEW: usize = 2048;

/// Whether tiles with these sides may be interpolated.
pub fn is_for(sides: [usize; AXES]) -> bool {
    sides[0] >= SHORTEST_ROW || sides[0] > 0 && sides.iter().product::<usize>() <= FEW
}

/// Which vectors of a row count.
static THERE: [u32; 2 * LONGEST] = {
    let mut there = [0; 2 * LONGEST];
    let mut i = 0;
    while i < LONGEST {
        there[i] = u32::MAX;
        i += 1;
    }
    there
};

impl Buffers {
    /// For tiles of a grid with these sides; with a mask if `masked`.
    pub fn new(sides: [usize; AXES], masked: bool) -> Result<Buffers> {
        let mut layouts = [Layout::empty()?, Layout::empty()?];
        let n = if is_for(sides) { layouts[0].lay_out(sides, LONGEST) } else { 0 };
        layouts[0].lens = [0; AXES];
        Ok(Buffers {
            layouts,
            layout: 0,
            restored: Aligned::filled(n, 0)?,
            errors: Aligned::filled(n, 0)?,
            mask: filled(if masked { n } else { 0 }, 0)?,
        })
    }

    /// Makes them those of a tile with these lengths, none longer than the sides of the grid.
    fn fit(&mut self, lens: [usize; AXES], lanes: usize) {
        if let Some(known) = self.layouts.iter().position(|layout| layout.lens == lens) {
            self.layout = known;
            return;
        }
        self.layout ^= 1;
        let n = self.layouts[self.layout].lay_out(lens, lanes);
        debug_assert!(n <= self.restored.len());
    }

    #[inline(always)]
    fn levels(&self) -> &[Level] {
        &self.layouts[self.layout].levels
    }

    /// Puts the numbers of a tile, row after row, to their places on the finest level.
    #[inline(always)]
    fn load(&mut self, numbers: &[u32], mask: Option<&[u32]>) {
        let Layout { lens: [x, y, z], levels } = &self.layouts[self.layout];
        let (level, x, y, z) = (&levels[0], *x, *y, *z);
        for (r, row) in numbers.chunks_exact(x).take(y * z).enumerate() {
            let at = level.row(r % y, r / y);
            split(row, &mut self.restored[at..], level.new_at);
            if let Some(mask) = mask {
                split(&mask[r * x..(r + 1) * x], &mut self.mask[at..], level.new_at);
            }
        }
    }

    /// Puts the coarse nodes of level `l` to their places on the next one.
    #[inline(always)]
    fn down(&mut self, l: usize, masked: bool) {
        let [level, next] = self.layouts[self.layout].levels[l..].first_chunk().expect("two levels");
        for z in 0..level.nodes[2].coarse {
            for y in 0..level.nodes[1].coarse {
                let from = level.row(level.nodes[1].of_coarse(y), level.nodes[2].of_coarse(z));
                let to = next.row(y, z);
                let count = level.nodes[0].coarse;
                let places = [from, to, count];
                copy_down(&mut self.restored, next, places);
                if masked {
                    copy_down(&mut self.mask, next, places);
                }
            }
        }
    }

    /// Puts what was restored on level `l` to its places on the finer one.
    #[inline(always)]
    fn up(&mut self, l: usize) {
        let [finer, level] = self.layouts[self.layout].levels[l - 1..].first_chunk().expect("two levels");
        for z in 0..finer.nodes[2].coarse {
            for y in 0..finer.nodes[1].coarse {
                let to = finer.row(finer.nodes[1].of_coarse(y), finer.nodes[2].of_coarse(z));
                let from = level.row(y, z);
                let count = finer.nodes[0].coarse;
                let (before, behind) = self.restored.split_at_mut(level.start);
                join(&behind[from - level.start..], level.new_at, &mut before[to..to + count]);
            }
        }
    }

    /// What was restored, row after row.
    #[inline(always)]
    fn rows(&self, numbers: &mut [u32]) {
        let Layout { lens: [x, y, z], levels } = &self.layouts[self.layout];
        for r in 0..y * z {
            let at = levels[0].row(r % y, r / y);
            join(&self.restored[at..], levels[0].new_at, &mut numbers[r * x..(r + 1) * x]);
        }
    }
}

/// Splits `count` coarse nodes of a row from place `from` on to place `to` of the next level.
#[inline(always)]
fn copy_down(numbers: &mut [u32], next: &Level, [from, to, count]: [usize; 3]) {
    let (before, behind) = numbers.split_at_mut(next.start);
    split(&before[from..from + count], &mut behind[to - next.start..], next.new_at);
}

/// Splits a row into coarse nodes, those with an even place and the last one, and new ones, from `new_at` on.
#[inline(always)]
fn split(row: &[u32], to: &mut [u32], new_at: usize) {
    let (coarse, new) = to.split_at_mut(new_at);
    let pairs = row.as_chunks::<2>().0;
    for (pair, (coarse, new)) in pairs.iter().zip(coarse.iter_mut().zip(&mut *new)) {
        [*coarse, *new] = *pair;
    }
    // The last node is a coarse one; where it was taken for a new one nobody reads that.
    coarse[row.len() / 2] = row[row.len() - 1];
}

/// The inverse of [`split`].
#[inline(always)]
fn join(from: &[u32], new_at: usize, row: &mut [u32]) {
    let (coarse, new) = from.split_at(new_at);
    for (pair, (coarse, new)) in row.as_chunks_mut::<2>().0.iter_mut().zip(coarse.iter().zip(new)) {
        *pair = [*coarse, *new];
    }
    let last = row.len() - 1;
    row[last] = coarse[row.len() / 2];
}

/// The new axes of the classes of a level, in their order.
const CLASSES: [u8; 7] = [0b001, 0b010, 0b100, 0b011, 0b101, 0b110, 0b111];

/// What goes through a tile.
struct Pass<'a, L: Lanes> {
    l: L,
    rule: Rule,
    restored: &'a mut [u32],
    errors: &'a mut [u32],
    mask: Option<&'a [u32]>,
    /// The codes: of a decoder their differences from 0, signed.
    codes: &'a mut [u32],
    /// The next one.
    at: usize,
    /// All bits of what was coded, as codes without loss.
    any: L::V,
}

/// Encodes the numbers of a tile, row after row, into codes; of those whose bits in `mask` are 0 whatever costs least.
/// Whether codes stand for them: differences may be too large.
pub struct Encode<'a> {
    /// How it is interpolated.
    pub rule: Rule,
    /// Its lengths.
    pub lens: [usize; AXES],
    /// The numbers.
    pub numbers: &'a [u32],
    /// All bits of those that count, where some do not.
    pub mask: Option<&'a [u32]>,
    /// Where it is done.
    pub buffers: &'a mut Buffers,
    /// The codes, with room for a vector behind them.
    pub codes: &'a mut [u32],
}

impl Task for Encode<'_> {
    type Done = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> bool {
        let Encode { rule, lens, numbers, mask, buffers, codes } = self;
        buffers.fit(lens, L::N);
        buffers.load(numbers, mask);
        for level in 0..buffers.levels().len() - 1 {
            buffers.down(level, mask.is_some());
        }
        let any = run::<L, true>(l, rule, buffers, mask.is_some(), codes);
        any < if rule.coarse { MOST } else { CODE_LIMIT }
    }
}

/// Restores the numbers of a tile, row after row, from its codes, as signed differences from 0.
pub struct Decode<'a> {
    /// How it is interpolated.
    pub rule: Rule,
    /// Its lengths.
    pub lens: [usize; AXES],
    /// Where it is done.
    pub buffers: &'a mut Buffers,
    /// The codes.
    pub codes: &'a mut [u32],
    /// The numbers.
    pub numbers: &'a mut [u32],
}

impl Task for Decode<'_> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let Decode { rule, lens, buffers, codes, numbers } = self;
        buffers.fit(lens, L::N);
        run::<L, false>(l, rule, buffers, false, codes);
        buffers.rows(numbers);
    }
}

/// Copies the numbers that were restored last, row after row.
pub struct Restored<'a> {
    /// Where they are.
    pub buffers: &'a Buffers,
    /// The numbers.
    pub numbers: &'a mut [u32],
}

impl Task for Restored<'_> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        self.buffers.rows(self.numbers);
    }
}

#[inline(always)]
fn run<L: Lanes, const ENCODE: bool>(l: L, rule: Rule, buffers: &mut Buffers, masked: bool, codes: &mut [u32]) -> u32 {
    let mut any = l.splat(0);
    let mut at = 0;
    for k in (0..buffers.levels().len()).rev() {
        let Buffers { layouts, layout, restored, errors, mask } = &mut *buffers;
        let levels = &layouts[*layout].levels[..];
        let mask = masked.then_some(&mask[..]);
        let mut pass = Pass { l, rule, restored, errors, mask, codes: &mut *codes, at, any };
        let level = &levels[k];
        if k + 1 == levels.len() {
            pass.anchors::<ENCODE>(level);
        }
        for class in CLASSES {
            if (0..AXES).any(|a| class >> a & 1 == 1 && level.nodes[a].new == 0) {
                continue;
            }
            match class {
                0b001 => pass.class::<ENCODE, 0b001>(level),
                0b010 => pass.class::<ENCODE, 0b010>(level),
                0b100 => pass.class::<ENCODE, 0b100>(level),
                0b011 => pass.class::<ENCODE, 0b011>(level),
                0b101 => pass.class::<ENCODE, 0b101>(level),
                0b110 => pass.class::<ENCODE, 0b110>(level),
                _ => pass.class::<ENCODE, 0b111>(level),
            }
        }
        (at, any) = (pass.at, pass.any);
        if k > 0 {
            buffers.up(k);
        }
    }
    l.any(any) >> 1
}

/// Where a row is that is coded, and the rows that make it along y and z.
struct Row {
    at: usize,
    count: usize,
    y: Across,
    z: Across,
    /// How far before it, if any, the rows of the same class are that its codes are differences to: along y and z.
    before: [usize; 2],
}

/// The rows that make a new one.
#[derive(Clone, Copy)]
struct Across {
    kind: Kind,
    weights: Weights,
    at: [usize; 4],
}

impl Across {
    /// Where nothing is made across rows.
    const NONE: Across = Across { kind: Kind::Mean, weights: [0; 4], at: [0; 4] };
}

impl<L: Lanes> Pass<'_, L> {
    /// The nodes that no level makes: Lorenzo along all axes.
    #[inline(never)]
    fn anchors<const ENCODE: bool>(&mut self, level: &Level) {
        let lens: [usize; AXES] = std::array::from_fn(|a| level.nodes[a].coarse);
        let step = if self.rule.coarse { level.step } else { 1 };
        let place =
            |x: usize, y: usize, z: usize| level.row(level.nodes[1].of_coarse(y), level.nodes[2].of_coarse(z)) + x;
        for z in 0..lens[2] {
            for y in 0..lens[1] {
                for x in 0..lens[0] {
                    let mut p = 0u32;
                    for axes in 1..8 {
                        let [a, b, c] = [axes & 1, axes >> 1 & 1, axes >> 2 & 1];
                        if a <= x && b <= y && c <= z {
                            let other = self.restored[place(x - a, y - b, z - c)];
                            let odd = axes.count_ones() % 2 == 1;
                            p = if odd { p.wrapping_add(other) } else { p.wrapping_sub(other) };
                        }
                    }
                    self.anchor::<ENCODE>(place(x, y, z), p, step);
                }
            }
        }
    }

    #[inline(always)]
    fn anchor<const ENCODE: bool>(&mut self, place: usize, p: u32, step: u32) {
        let number = &mut self.restored[place];
        let code = if ENCODE {
            let d = number.wrapping_sub(p) & self.mask.map_or(u32::MAX, |mask| mask[place]);
            self.any = self.l.or(self.any, self.l.splat((d as i32).unsigned_abs() << 1));
            let code =
                if step == 1 { d } else { (d as i32 as f32 * (1.0 / step as f32)).round_ties_even() as i32 as u32 };
            self.codes[self.at] = code << 1 ^ (code as i32 >> 31) as u32;
            code
        } else {
            self.codes[self.at]
        };
        *number = p.wrapping_add(code.wrapping_mul(step));
        self.at += 1;
    }

    /// All nodes of a class.
    #[inline(always)]
    fn class<const ENCODE: bool, const NEW: u8>(&mut self, level: &Level) {
        let is_new = |a: usize| NEW >> a & 1 == 1;
        let [x, y, z] = &level.nodes;
        let [row_stride, plane] = level.strides;
        let start = level.start + if is_new(0) { level.new_at } else { 0 };
        let differences = if level.has_differences && NEW.is_power_of_two() { self.rule.set & !NEW } else { 0 };
        let mut row = Row { at: 0, count: x.count(is_new(0)), y: Across::NONE, z: Across::NONE, before: [0; 2] };
        for k in 0..z.count(is_new(2)) {
            let at_z = start + z.place(is_new(2), k) * plane;
            for j in 0..y.count(is_new(1)) {
                let at_y = y.place(is_new(1), j);
                row.at = at_z + at_y * row_stride;
                if is_new(1) {
                    row.y = y.across(self.rule.rough, j, at_z, row_stride);
                }
                if is_new(2) {
                    row.z = z.across(self.rule.rough, k, start + at_y * row_stride, plane);
                }
                if differences & 6 != 0 {
                    let before_y = if differences & 2 != 0 && j > 0 { y.place(is_new(1), j - 1) } else { at_y };
                    let before_z = if differences & 4 != 0 && k > 0 { z.place(is_new(2), k - 1) } else { usize::MAX };
                    let of_z = if before_z == usize::MAX { 0 } else { at_z - start - before_z * plane };
                    row.before = [(at_y - before_y) * row_stride, of_z];
                }
                self.row::<ENCODE, NEW>(level, &row, differences);
            }
        }
    }

    /// What codes of a row are differences to, from `v` on: errors of the rows before it.
    #[inline(always)]
    fn before(&self, row: &Row, v: usize) -> L::V {
        let l = self.l;
        let [y, z] = row.before;
        let at = row.at + v;
        match (y > 0, z > 0) {
            (false, false) => l.splat(0),
            (true, false) => l.load(&self.errors[at - y..]),
            (false, true) => l.load(&self.errors[at - z..]),
            (true, true) => {
                let both = l.add(l.load(&self.errors[at - y..]), l.load(&self.errors[at - z..]));
                l.sub(both, l.load(&self.errors[at - y - z..]))
            }
        }
    }

    /// The nodes of a row.
    #[inline(always)]
    fn row<const ENCODE: bool, const NEW: u8>(&mut self, level: &Level, row: &Row, differences: u8) {
        let l = self.l;
        let step = if self.rule.coarse { level.step } else { 1 };
        let (step_v, inverse) = (l.splat(step), 1.0 / step as f32);
        let half = l.splat(1 << (POINT - 1));
        if !ENCODE && differences & 1 != 0 {
            let mut sum = 0u32;
            for code in &mut self.codes[self.at..self.at + row.count] {
                sum = sum.wrapping_add(*code);
                *code = sum;
            }
        }
        let mut v = 0;
        while v < row.count {
            let (p16, apart) = self.predict::<NEW>(level, row, v);
            let p = l.right::<POINT>(l.add(p16, half));
            let other = if differences & 6 != 0 { self.before(row, v) } else { l.splat(0) };
            let code = if ENCODE {
                let mut d = l.sub(l.sub(l.load(&self.restored[row.at + v..]), p), other);
                if row.count - v < L::N {
                    d = l.and(d, l.load(&THERE[LONGEST - (row.count - v)..]));
                }
                if let Some(mask) = self.mask {
                    d = l.and(d, l.load(&mask[row.at + v..]));
                }
                self.any = l.or(self.any, l.zigzag(d));
                let code = if step == 1 { d } else { l.nearest(d, inverse) };
                l.store(l.zigzag(code), &mut self.codes[self.at + v..]);
                code
            } else {
                l.load(&self.codes[self.at + v..])
            };
            let error = l.add(other, if step == 1 { code } else { l.mul(code, step_v) });
            let restored = l.add(p, error);
            l.store(restored, &mut self.restored[row.at + v..]);
            if NEW == 0b101 {
                l.store(l.sub(restored, l.right::<POINT>(l.add(apart, half))), &mut self.errors[row.at + v..]);
            } else if NEW != 0b011 && NEW != 0b111 && (NEW != 0b001 || differences & 6 != 0) {
                l.store(error, &mut self.errors[row.at + v..]);
            }
            v += L::N;
        }
        if ENCODE && differences & 1 != 0 {
            let mut before = 0u32;
            for code in &mut self.codes[self.at..self.at + row.count] {
                let own = *code >> 1 ^ 0u32.wrapping_sub(*code & 1);
                let d = own.wrapping_sub(before);
                *code = d << 1 ^ (d as i32 >> 31) as u32;
                before = own;
            }
        }
        self.at += row.count;
    }

    /// 16 times the prediction of nodes from the one at `v` of a row on, and of the part of it that class XZ has apart.
    #[inline(always)]
    fn predict<const NEW: u8>(&self, level: &Level, row: &Row, v: usize) -> (L::V, L::V) {
        let l = self.l;
        let (r, e, rough) = (&*self.restored, &*self.errors, self.rule.rough);
        let first = match NEW {
            0b001 => self.along_x(level, r, row, v),
            0b010 | 0b011 => self.across(r, &row.y, v),
            _ => self.across(r, &row.z, v),
        };
        let p16 = match NEW {
            0b011 | 0b101 => {
                let of_errors = self.along_x(level, e, row, v);
                if rough {
                    half_boolean(l, first, self.along_x(level, r, row, v), of_errors)
                } else {
                    l.add(first, of_errors)
                }
            }
            0b110 => {
                let of_errors = self.across(e, &row.y, v);
                if rough {
                    half_boolean(l, first, self.across(r, &row.y, v), of_errors)
                } else {
                    l.add(first, of_errors)
                }
            }
            0b111 => {
                let boolean = l.add(first, l.add(self.across(e, &row.y, v), self.along_x(level, e, row, v)));
                if rough {
                    let others = l.add(self.across(r, &row.y, v), self.along_x(level, r, row, v));
                    let mean = l.right::<2>(l.add(l.left::<1>(first), others));
                    l.right::<1>(l.add(mean, boolean))
                } else {
                    boolean
                }
            }
            _ => first,
        };
        (p16, first)
    }

    /// 16 times what coarse nodes of a row make of the new ones between them.
    #[inline(always)]
    fn along_x(&self, level: &Level, numbers: &[u32], row: &Row, v: usize) -> L::V {
        let l = self.l;
        let rough = usize::from(self.rule.rough);
        let at = row.at - level.new_at + v;
        let (b, c) = (l.load(&numbers[at..]), l.load(&numbers[at + 1..]));
        let end = level.end(v, L::N);
        if end == MIDDLE && rough == 0 {
            return even(l, l.load(&numbers[at - 1..]), b, c, l.load(&numbers[at + 2..]));
        }
        if end == MIDDLE {
            return l.left::<3>(l.add(b, c));
        }
        let End { kind, weights, any } = &level.ends[rough][end];
        if *kind == Kind::Mean {
            return l.left::<3>(l.add(b, c));
        }
        let middle = match rough {
            0 => even(l, l.load(&numbers[at - 1..]), b, c, l.load(&numbers[at + 2..])),
            _ => l.left::<3>(l.add(b, c)),
        };
        if *kind == Kind::Even {
            return middle;
        }
        let nodes = [l.load(&numbers[at - 1..]), b, c, l.load(&numbers[at + 2..])];
        let by_weights = weighted(l, nodes, [l.load(&weights[0]), l.load(&weights[2]), l.load(&weights[3])]);
        l.select(l.load(any), by_weights, middle)
    }

    /// 16 times what the nodes of four rows make.
    #[inline(always)]
    fn across(&self, numbers: &[u32], rows: &Across, v: usize) -> L::V {
        let l = self.l;
        let [a, b, c, d] = rows.at;
        let (b, c) = (l.load(&numbers[b + v..]), l.load(&numbers[c + v..]));
        match rows.kind {
            Kind::Even => even(l, l.load(&numbers[a + v..]), b, c, l.load(&numbers[d + v..])),
            Kind::Mean => l.left::<3>(l.add(b, c)),
            Kind::Any => {
                let nodes = [l.load(&numbers[a + v..]), b, c, l.load(&numbers[d + v..])];
                let [w0, _, w2, w3] = rows.weights;
                weighted(l, nodes, [l.splat(w0), l.splat(w2), l.splat(w3)])
            }
        }
    }
}

/// Of two axes half of the boolean sum and half of the mean, of what they make and what the errors along the other
/// make.
#[inline(always)]
fn half_boolean<L: Lanes>(l: L, first: L::V, second: L::V, of_errors: L::V) -> L::V {
    let three = l.add(l.left::<1>(first), first);
    l.right::<2>(l.add(l.add(three, second), l.left::<1>(of_errors)))
}

/// 16 times the cubic through four evenly spaced nodes, in the middle.
#[inline(always)]
fn even<L: Lanes>(l: L, a: L::V, b: L::V, c: L::V, d: L::V) -> L::V {
    let inner = l.add(b, c);
    l.sub(l.add(l.left::<3>(inner), inner), l.add(a, d))
}

/// 16 times what four nodes make, of which the second has what the weights of the others leave of 2^`WEIGHT_BITS`.
#[inline(always)]
fn weighted<L: Lanes>(l: L, [a, b, c, d]: [L::V; 4], [wa, wc, wd]: [L::V; 3]) -> L::V {
    let sum = l.add(l.mul(l.sub(a, b), wa), l.add(l.mul(l.sub(c, b), wc), l.mul(l.sub(d, b), wd)));
    let rest = l.right::<{ WEIGHT_BITS - POINT }>(l.add(sum, l.splat(1 << (WEIGHT_BITS - POINT - 1))));
    l.add(l.left::<POINT>(b), rest)
}

/// Of a tile with these lengths the classes of the finest level with one new axis: which one, where their codes begin,
/// and their lengths.
pub fn single_classes(lens: [usize; AXES]) -> impl Iterator<Item = (u8, usize, [usize; AXES])> {
    let coarse = lens.map(|n| if n.is_multiple_of(2) { n / 2 + 1 } else { n.div_ceil(2) });
    let mut at: usize = coarse.iter().product();
    CLASSES.into_iter().filter(|class| class.is_power_of_two()).filter_map(move |class| {
        let of = |a: usize| if class >> a & 1 == 1 { lens[a] - coarse[a] } else { coarse[a] };
        let lens: [usize; AXES] = std::array::from_fn(of);
        let count: usize = lens.iter().product();
        let begin = at;
        at += count;
        (count > 0).then_some((class, begin, lens))
    })
}
