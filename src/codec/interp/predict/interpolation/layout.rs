//! The levels of a tile, and where their nodes lie. Along an axis nodes are coarse or new; nodes that are new along the
//! same axes are a class, whose codes lie together. A row of a level lies as its nodes with even x, then those with odd
//! ones; the last node of a row of even length, which is coarse, is one of these. A plane has its coarse rows, then the
//! new ones; so lie planes.

use super::weights::{Nodes, WeightKind, Weights, coarse};
use crate::error::Result;
use crate::host::memory::reserve;
use crate::primitives::lorenzo::AXES;
use crate::simd::numbers::{LONGEST, NumberVectors};

/// What stands for a number that does not count. Where some do not, the others are below 2^30.
pub const ABSENT: u32 = 1 << 31;
/// Rows shorter than this are not worth their vectors, unless they are few.
pub const SHORTEST_ROW: usize = 8;
/// Elements of a tile of such rows, at most.
pub const FEW: usize = 2048;

/// Whether tiles with these sides may be interpolated.
pub fn can_interpolate(sides: [usize; AXES]) -> bool {
    sides[0] >= SHORTEST_ROW || sides[0] > 0 && sides.iter().product::<usize>() <= FEW
}

/// The new axes of the classes of a level, in their order.
pub const CLASSES: [u8; 7] = [0b001, 0b010, 0b100, 0b011, 0b101, 0b110, 0b111];
/// The class of nodes that are coarse along all axes.
pub const COARSE: u8 = 0;
/// Levels whose codes may be differences, from the finest on.
pub const DIFFERENCE_LEVELS: usize = 2;

/// Steps by how many axes have inner nodes (0 and 1 alike), from the finest level on; the last one goes on.
const STEPS: [&[u32]; AXES + 1] =
    [&[15, 15, 15, 13, 13, 11], &[15, 15, 15, 13, 13, 11], &[15, 15, 13, 11], &[15, 13, 11]];

/// Layouts that are kept: along each axis tiles are whole or cut.
const LAYOUTS: usize = 1 << AXES;
/// Coarse planes of the finest level that a decoder keeps, and the place of a new one behind them.
const PLANES_HELD: usize = 4;
/// Vectors of a row of new nodes which are told apart: the first one, the last one, and the one before that.
const ENDS: usize = 3;

/// How a new node is made of four coarse ones, and where their rows or planes begin.
#[derive(Clone, Copy)]
pub struct Tap {
    pub kind: WeightKind,
    pub weights: Weights,
    pub at: [usize; 4],
}

/// How new nodes along x of a vector at an end of a row are made.
#[derive(Clone, Copy)]
pub struct End {
    /// That of all, or `Any`.
    pub kind: WeightKind,
    /// The weights of each, of its coarse nodes but the second.
    pub weights: [[u32; LONGEST]; 3],
    /// All bits of those that are made by weights.
    pub any: [u32; LONGEST],
}

impl End {
    /// That of new nodes from `v` on, of vectors of so many lanes.
    fn new(nodes: &Nodes, rough: bool, v: usize, lanes: usize) -> End {
        let there = nodes.new.saturating_sub(v).min(lanes);
        let of = |i: usize| nodes.weights(rough, v + i);
        // A smooth one is the mean of two only where it is alone.
        let first = if there > 0 { WeightKind::of(of(0)) } else { WeightKind::Any };
        let kind = if (1..there).all(|i| WeightKind::of(of(i)) == first) { first } else { WeightKind::Any };
        let mut end = End { kind, weights: [[0; LONGEST]; 3], any: [0; LONGEST] };
        for i in 0..there {
            let [a, _, c, d] = of(i);
            (end.weights[0][i], end.weights[1][i], end.weights[2][i]) = (a, c, d);
            end.any[i] = if WeightKind::of(of(i)) == WeightKind::Any { u32::MAX } else { 0 };
        }
        end
    }
}

/// Whether the nodes of a class are new along an axis.
#[inline(always)]
fn is_new(class: u8, axis: usize) -> bool {
    class >> axis & 1 == 1
}

/// Codes of a row of a class.
#[derive(Clone, Copy)]
pub struct CodeRow {
    /// Where they begin.
    pub at: usize,
    /// Axes along which they are differences.
    pub axes: u8,
    /// How far before them the rows are that they are differences to, along y and z; 0 where there is none.
    pub before: [usize; 2],
    /// Where those of another class begin.
    pub end: usize,
}

/// Codes of the rows of a class that lie one behind the other.
#[derive(Clone, Copy)]
pub struct CodeRows {
    first: CodeRow,
    len: usize,
}

impl CodeRows {
    /// Those of one of them.
    #[inline(always)]
    pub fn row(&self, y: usize) -> CodeRow {
        let CodeRow { at, before: [along_y, along_z], .. } = self.first;
        CodeRow { at: at + y * self.len, before: [if y > 0 { along_y } else { 0 }, along_z], ..self.first }
    }
}

/// How new nodes along x of a level are made.
#[derive(Clone, Copy)]
pub struct AlongX<'a> {
    /// Numbers of half a row.
    half: usize,
    /// Where the last vector of new nodes begins.
    last: usize,
    ends: &'a [[End; 2]],
}

impl<'a> AlongX<'a> {
    /// Where the vector behind the one at `v` begins, if there is one.
    #[inline(always)]
    pub fn next(&self, v: usize, lanes: usize) -> Option<usize> {
        (v + lanes < self.half).then_some(v + lanes)
    }

    /// Which of the ends the vector at `v` of new nodes is, if any.
    #[inline(always)]
    pub fn end(&self, rough: bool, v: usize, lanes: usize) -> Option<&'a End> {
        let which = match v {
            0 => 0,
            _ if v == self.last => 1,
            _ if v + lanes == self.last => 2,
            _ => return None,
        };
        self.ends.get(which).map(|end| &end[usize::from(rough)])
    }
}

/// A level of a tile. The one behind the last has the anchors, of which none is new.
pub struct Level {
    pub nodes: [Nodes; AXES],
    /// Where the codes of each class begin; from row to row, from plane to plane, and where they end.
    codes: [[usize; 4]; 1 << AXES],
    pub step: u32,
    /// Codes of classes with one new axis may be differences.
    pub has_differences: bool,
    /// Numbers of half a row: whole vectors.
    pub half: usize,
    /// Where its rows begin; from plane to plane.
    first: usize,
    plane: usize,
    /// Few planes are kept.
    is_ring: bool,
    /// Where its taps along y and z begin, and its ends.
    y: usize,
    z: usize,
    ends: usize,
    /// Where its last vector of new nodes along x begins.
    last: usize,
}

impl Level {
    /// Where a coarse row of a plane begins, or one that is new along y.
    #[inline(always)]
    pub fn row(&self, plane: usize, new: bool, y: usize) -> usize {
        self.plane(plane) + (if new { self.nodes[1].coarse + y } else { y }) * 2 * self.half
    }

    /// Where the plane at a place begins.
    #[inline(always)]
    pub fn plane(&self, place: usize) -> usize {
        self.first + place * self.plane
    }

    /// The place of a plane.
    #[inline(always)]
    pub fn place(&self, new: bool, z: usize) -> usize {
        match (self.is_ring, new) {
            (true, false) => z % PLANES_HELD,
            (true, true) => PLANES_HELD,
            (false, false) => z,
            (false, true) => self.nodes[2].coarse + z,
        }
    }

    /// The place of the plane whose nodes have this z, in their order.
    #[inline(always)]
    pub fn plane_at(&self, z: usize) -> usize {
        let (is_new, z) = self.nodes[2].kind(z);
        self.place(is_new, z)
    }

    /// Where the row of a plane begins whose nodes have this y, in their order.
    #[inline(always)]
    pub fn row_at(&self, plane: usize, y: usize) -> usize {
        let (is_new, y) = self.nodes[1].kind(y);
        self.row(plane, is_new, y)
    }

    /// How far behind where its row begins the last coarse node of the finer level is, which is the last one here.
    #[inline(always)]
    pub fn last_of(&self, finer: &Level) -> usize {
        let last = finer.nodes[0].coarse - 1;
        last / 2 + if last % 2 == 1 { self.half } else { 0 }
    }

    /// The codes of a row of a class, where a rule has differences along the axes of a set.
    #[inline(always)]
    pub fn codes(&self, class: u8, set: u8, y: usize, z: usize) -> CodeRow {
        self.code_rows(class, set, z).row(y)
    }

    /// Those of all rows of a class that have this z.
    #[inline(always)]
    pub fn code_rows(&self, class: u8, set: u8, z: usize) -> CodeRows {
        let [first, len, plane, end] = self.codes[usize::from(class)];
        let axes = if self.has_differences && class.is_power_of_two() { set & !class } else { 0 };
        let before = [if axes & 2 != 0 { len } else { 0 }, if axes & 4 != 0 && z > 0 { plane } else { 0 }];
        CodeRows { first: CodeRow { at: first + z * plane, axes, before, end }, len }
    }

    /// How many nodes of a class there are along each axis.
    #[inline(always)]
    pub fn counts(&self, class: u8) -> [usize; AXES] {
        let [x, y, z] = &self.nodes;
        [x.count(is_new(class, 0)), y.count(is_new(class, 1)), z.count(is_new(class, 2))]
    }

    /// Its classes whose codes are differences, where the codes of each begin, and along which axes.
    pub fn differences(&self, set: u8) -> impl Iterator<Item = (usize, [usize; AXES], u8)> {
        CLASSES.into_iter().filter_map(move |class| {
            let (lens, row) = (self.counts(class), self.codes(class, set, 0, 0));
            (row.axes != 0 && !lens.contains(&0)).then_some((row.at, lens, row.axes))
        })
    }
}

/// The lengths of the levels of a tile, the finest one first.
fn all_levels(lens: [usize; AXES]) -> impl Iterator<Item = [usize; AXES]> {
    let next = |lens: &[usize; AXES]| {
        let coarse = lens.map(coarse);
        coarse.iter().any(|n| *n > 2).then_some(coarse)
    };
    std::iter::successors(Some(lens), next)
}

/// The levels of a tile, the finest one first.
pub struct NodeLayout {
    pub lens: [usize; AXES],
    pub levels: Vec<Level>,
    /// Smooth and rough.
    taps: Vec<[Tap; 2]>,
    ends: Vec<[End; 2]>,
    /// Numbers that rows take, and errors.
    pub rows: usize,
    pub errors: usize,
}

impl NodeLayout {
    /// Of no tile, with room for those of tiles that are no longer than these sides.
    fn empty(sides: [usize; AXES]) -> Result<NodeLayout> {
        let mut layout =
            NodeLayout { lens: [0; AXES], levels: Vec::new(), taps: Vec::new(), ends: Vec::new(), rows: 0, errors: 0 };
        let count = all_levels(sides).count();
        reserve(&mut layout.levels, count + 1)?;
        reserve(&mut layout.ends, ENDS * count)?;
        reserve(&mut layout.taps, sides[1] + sides[2])?;
        Ok(layout)
    }

    /// Becomes that of a tile with these lengths, for vectors of so many lanes. Never inlined, for the sake of the
    /// stack.
    #[inline(never)]
    fn lay_out(&mut self, lens: [usize; AXES], lanes: usize, few_planes: bool) {
        self.levels.clear();
        self.taps.clear();
        self.ends.clear();
        (self.rows, self.errors, self.lens) = (0, 0, lens);
        let count = all_levels(lens).count();
        let anchors = all_levels(lens).last().unwrap_or(lens).map(coarse);
        let steps = STEPS[lens.iter().filter(|n| **n > 2).count()];
        for (l, here) in all_levels(lens).chain([anchors]).enumerate() {
            let nodes: [Nodes; AXES] = std::array::from_fn(|a| Nodes::new(lens[a], 1 << l, here[a]));
            let half = here[0].div_ceil(2).next_multiple_of(lanes);
            let (row, is_ring) = (2 * half, few_planes && l == 0 && here[2] > PLANES_HELD + 1);
            let level = Level {
                codes: [[0; 4]; 1 << AXES],
                step: steps[l.min(count - 1).min(steps.len() - 1)],
                has_differences: l < DIFFERENCE_LEVELS.min(count),
                half,
                first: self.rows,
                // A vector more, so that planes do not lie on the same lines of the cache.
                plane: here[1] * row + LONGEST,
                is_ring,
                y: self.taps.len(),
                z: self.taps.len() + nodes[1].new,
                ends: self.ends.len(),
                last: nodes[0].new.saturating_sub(1) / lanes * lanes,
                nodes,
            };
            self.add_taps(&level.nodes[1], |y| y * row);
            self.add_taps(&level.nodes[2], |z| level.place(false, z) * level.plane);
            if l < count {
                self.add_ends(&level, lanes);
            }
            self.rows += if is_ring { PLANES_HELD + 1 } else { here[2] } * level.plane;
            if level.nodes[1].new + level.nodes[2].new > 0 {
                self.errors = self.errors.max((level.nodes[1].coarse + 1) * row);
            }
            self.levels.push(level);
        }
        self.number_codes();
    }

    fn add_taps(&mut self, nodes: &Nodes, place: impl Fn(usize) -> usize) {
        for j in 0..nodes.new {
            // What has no weight is read where there is something.
            let at = [0, 1, 2, 3].map(|k: usize| place((j + k).saturating_sub(1).min(nodes.coarse - 1)));
            self.taps.push([false, true].map(|rough| {
                let weights = nodes.weights(rough, j);
                Tap { kind: WeightKind::of(weights), weights, at }
            }));
        }
    }

    fn add_ends(&mut self, Level { nodes, last, .. }: &Level, lanes: usize) {
        for v in [0, *last, last.saturating_sub(lanes)] {
            self.ends.push([false, true].map(|rough| End::new(&nodes[0], rough, v, lanes)));
        }
    }

    /// Gives all codes their places: those of the coarsest level first.
    fn number_codes(&mut self) {
        let (mut code, anchors) = (0, self.levels.len() - 1);
        for (l, level) in self.levels.iter_mut().enumerate().rev() {
            let classes = if l == anchors { &[COARSE][..] } else { &CLASSES };
            for class in classes {
                let [nx, ny, nz] = level.counts(*class);
                let end = code + nx * ny * nz;
                level.codes[usize::from(*class)] = [code, nx, nx * ny, end];
                code = end;
            }
        }
    }

    /// How the new rows of a level are made along y, smooth and rough.
    #[inline(always)]
    pub fn taps_y(&self, level: &Level) -> &[[Tap; 2]] {
        &self.taps[level.y..level.z]
    }

    /// How a new plane of a level is made along z.
    #[inline(always)]
    pub fn tap_z(&self, level: &Level, rough: bool, z: usize) -> &Tap {
        &self.taps[level.z + z][usize::from(rough)]
    }

    /// How new nodes along x of a level are made.
    #[inline(always)]
    pub fn along_x(&self, level: &Level) -> AlongX<'_> {
        AlongX { half: level.half, last: level.last, ends: &self.ends[level.ends..][..ENDS] }
    }

    /// Takes numbers, row after row, apart into the nodes of all levels.
    #[inline(always)]
    pub fn split<L: NumberVectors>(&self, l: L, numbers: &[u32], rows: &mut [u32]) {
        let ([x, y, z], level) = (self.lens, &self.levels[0]);
        for k in 0..z {
            let plane = level.plane_at(k);
            for j in 0..y {
                let row = level.row_at(plane, j);
                split(l, numbers, (k * y + j) * x, x, rows, [row, row + level.half]);
            }
        }
        for pair in self.levels.windows(2) {
            coarsen(l, &pair[0], &pair[1], rows);
        }
    }

    /// Puts the first nodes of plane `z` of a level together, so many along x and y.
    #[inline(always)]
    pub fn join<L: NumberVectors>(
        &self,
        l: L,
        level: usize,
        rows: &[u32],
        z: usize,
        [x, y]: [usize; 2],
        numbers: &mut [u32],
    ) {
        let level = &self.levels[level];
        let place = level.plane_at(z);
        for j in 0..y {
            let row = level.row_at(place, j);
            join(l, rows, [row, row + level.half], numbers, j * x, x);
        }
    }
}

/// Takes a row of so many numbers apart into those at even places and at odd ones. What stands behind both is written
/// later.
#[inline(always)]
#[expect(unsafe_code, reason = "a row asks for its room once, not each vector")]
fn split<L: NumberVectors>(l: L, numbers: &[u32], at: usize, len: usize, rows: &mut [u32], [even, odd]: [usize; 2]) {
    assert!(at + len <= numbers.len() && even.max(odd) + len.div_ceil(2).next_multiple_of(L::N) <= rows.len());
    let mut i = 0;
    while i < len {
        // SAFETY: so it was asked; numbers behind the row may be there or not.
        unsafe {
            let [a, b] = if at + i + 2 * L::N <= numbers.len() {
                [l.load_in(numbers, at + i), l.load_in(numbers, at + i + L::N)]
            } else {
                let mut part = [0; 2 * LONGEST];
                part[..len - i].copy_from_slice(&numbers[at + i..at + len]);
                [l.load(&part), l.load(&part[L::N..])]
            };
            let [a, b] = l.unzip(a, b);
            l.store_in(a, rows, even + i / 2);
            l.store_in(b, rows, odd + i / 2);
        }
        i += 2 * L::N;
    }
}

/// The inverse of [`split`]. What stands behind the row is written later.
#[inline(always)]
#[expect(unsafe_code, reason = "as above")]
fn join<L: NumberVectors>(l: L, rows: &[u32], [even, odd]: [usize; 2], numbers: &mut [u32], at: usize, len: usize) {
    assert!(at + len <= numbers.len() && even.max(odd) + len.div_ceil(2).next_multiple_of(L::N) <= rows.len());
    let mut i = 0;
    while i < len {
        // SAFETY: as above.
        unsafe {
            let [a, b] = l.zip(l.load_in(rows, even + i / 2), l.load_in(rows, odd + i / 2));
            if at + i + 2 * L::N <= numbers.len() {
                l.store_in(a, numbers, at + i);
                l.store_in(b, numbers, at + i + L::N);
            } else {
                let mut part = [0; 2 * LONGEST];
                l.store(a, &mut part);
                l.store(b, &mut part[L::N..]);
                numbers[at + i..at + len].copy_from_slice(&part[..len - i]);
            }
        }
        i += 2 * L::N;
    }
}

/// The coarse nodes of a level become all of the next one.
#[inline(always)]
fn coarsen<L: NumberVectors>(l: L, finer: &Level, level: &Level, rows: &mut [u32]) {
    let nodes = &finer.nodes;
    for z in 0..nodes[2].coarse {
        let (from_plane, to_plane) = (finer.place(false, z), level.plane_at(z));
        for y in 0..nodes[1].coarse {
            let (from, to) = (finer.row(from_plane, false, y), level.row_at(to_plane, y));
            let mut v = 0;
            while v < level.half {
                let [a, b] = l.unzip(l.load_at(rows, from + 2 * v), l.load_at(rows, from + 2 * v + L::N));
                l.store_at(a, rows, to + v);
                l.store_at(b, rows, to + level.half + v);
                v += L::N;
            }
            if nodes[0].len.is_multiple_of(2) {
                rows[to + level.last_of(finer)] = rows[from + finer.half + nodes[0].new];
            }
        }
    }
}

/// The layouts of the last tiles.
pub struct NodeLayouts {
    all: Vec<NodeLayout>,
    /// The one that gives way to the next one.
    next: usize,
    few_planes: bool,
}

impl NodeLayouts {
    /// For tiles that are no longer than these sides, of which a decoder keeps few planes; as many numbers as rows
    /// take, and errors.
    pub fn new(sides: [usize; AXES], few_planes: bool) -> Result<(NodeLayouts, [usize; 2])> {
        let mut all = Vec::new();
        reserve(&mut all, LAYOUTS)?;
        for _ in 0..LAYOUTS {
            all.push(NodeLayout::empty(sides)?);
        }
        all[0].lay_out(sides, LONGEST, few_planes);
        let room = [all[0].rows, all[0].errors];
        all[0].lens = [0; AXES];
        Ok((NodeLayouts { all, next: 0, few_planes }, room))
    }

    /// That of a tile with these lengths, none longer than the sides.
    pub fn fit(&mut self, lens: [usize; AXES], lanes: usize) -> &NodeLayout {
        let known = self.all.iter().position(|layout| layout.lens == lens);
        let at = known.unwrap_or_else(|| {
            let at = self.next;
            self.next = (at + 1) % LAYOUTS;
            self.all[at].lay_out(lens, lanes, self.few_planes);
            at
        });
        &self.all[at]
    }
}

/// How many codes of a tile are of this level and above: its first ones.
pub fn codes_from(lens: [usize; AXES], level: u32) -> usize {
    // A level behind the last one has as many nodes as that.
    let all = |n: usize| (0..level).try_fold(n, |n, _| if n > 2 { Ok(coarse(n)) } else { Err(n) });
    lens.map(|n| all(n).unwrap_or_else(|n| n)).iter().product()
}
