//! The levels of a tile: nodes of an axis are coarse or new, and nodes of a level that are new along the same axes are
//! a class. A class lies together, row after row, in the order of its codes. Behind the classes lie the nodes of each
//! level but the finest, row after row: the coarse ones of the next finer level.

use super::weights::{Nodes, WeightKind, coarse};
use crate::error::Result;
use crate::host::memory::reserve;
use crate::primitives::lorenzo::AXES;
use crate::simd::lanes::{LONGEST, Lanes};

/// The new axes of the classes of a level, in their order.
pub const CLASSES: [u8; 7] = [0b001, 0b010, 0b100, 0b011, 0b101, 0b110, 0b111];
/// Those whose errors others look at. They lie before the other ones.
const WITH_ERRORS: [u8; 4] = [0b010, 0b100, 0b101, 0b110];
/// The class of nodes that are coarse along all axes.
pub const COARSE: u8 = 0;
/// What stands for a number that does not count. Where some do not, the others are below 2^30.
pub const ABSENT: u32 = 1 << 31;
/// Levels whose codes may be differences, from the finest on.
pub const DIFFERENCE_LEVELS: usize = 2;

/// Steps by how many axes have inner nodes (0 and 1 alike), from the finest level on; the last one goes on.
pub const STEPS: [&[u32]; AXES + 1] =
    [&[15, 15, 15, 13, 13, 11], &[15, 15, 15, 13, 13, 11], &[15, 15, 13, 11], &[15, 13, 11]];

/// Vectors at the ends of a row, at most.
const ENDS: usize = 3;
/// Numbers of the shortest vector.
const SHORTEST: usize = 4;

/// A level of a tile.
#[derive(Clone, Copy)]
pub struct NodeLevel {
    /// Its nodes along each axis.
    pub nodes: [Nodes; AXES],
    /// Where the numbers of each class begin.
    starts: [usize; 1 << AXES],
    /// Where its codes do.
    codes: [usize; 1 << AXES],
    /// What codes are multiplied by.
    pub step: u32,
    /// Whether classes with one new axis may have differences.
    pub has_differences: bool,
    /// Where errors of the level would begin, if there were any of other ones, and where they end.
    pub errors: usize,
    pub end_of_errors: usize,
    /// Where the last of its classes ends.
    pub end: usize,
    /// Where the ends of its rows are, smooth and rough, and how many of each: they are those of the first vector, the
    /// last one, and the one before that, as far as there are as many.
    ends: usize,
    ends_of_each: usize,
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
    pub fn new(nodes: &Nodes, rough: bool, v: usize, lanes: usize) -> End {
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

/// Vectors that the new nodes of a row take which are told apart.
fn ends_of(new: usize, lanes: usize) -> usize {
    new.div_ceil(lanes).clamp(1, ENDS)
}

/// Whether the nodes of a class are new along an axis.
#[inline(always)]
pub fn is_new(class: u8, axis: usize) -> bool {
    class >> axis & 1 == 1
}

impl NodeLevel {
    /// Of no tile.
    const EMPTY: NodeLevel = NodeLevel {
        nodes: [Nodes::NONE; AXES],
        starts: [0; 1 << AXES],
        codes: [0; 1 << AXES],
        step: 1,
        has_differences: false,
        errors: 0,
        end_of_errors: 0,
        end: 0,
        ends: 0,
        ends_of_each: 0,
    };

    /// How many nodes of a class there are along each axis.
    #[inline(always)]
    pub fn counts(&self, class: u8) -> [usize; AXES] {
        [0, 1, 2].map(|a| self.nodes[a].count(is_new(class, a)))
    }

    /// How far it is from plane to plane of a class: one may be written to a vector behind its end.
    #[inline(always)]
    pub fn plane(&self, class: u8) -> usize {
        let [nx, ny, _] = self.counts(class);
        nx * ny + if class == COARSE { 0 } else { LONGEST }
    }

    /// Where a row of a class begins.
    #[inline(always)]
    pub fn row(&self, class: u8, y: usize, z: usize) -> usize {
        self.starts[usize::from(class)] + z * self.plane(class) + y * self.counts(class)[0]
    }

    /// Where the codes of a row of a class begin.
    #[inline(always)]
    pub fn code(&self, class: u8, y: usize, z: usize) -> usize {
        let [nx, ny, _] = self.counts(class);
        self.codes[usize::from(class)] + (z * ny + y) * nx
    }

    /// Which of the ends the vector at `v` of new nodes is, if any.
    #[inline(always)]
    pub fn end<'a>(&self, ends: &'a [End], rough: bool, v: usize, lanes: usize) -> Option<&'a End> {
        let last = self.nodes[0].new.saturating_sub(1) / lanes * lanes;
        let which = match v {
            0 => 0,
            _ if v == last => 1,
            _ if v + lanes == last => 2,
            _ => return None,
        };
        Some(&ends[self.ends + usize::from(rough) * self.ends_of_each + which])
    }

    /// Adds its ends to the others, for vectors of so many lanes. Never inlined, for the sake of the stack.
    #[inline(never)]
    fn make_ends(&mut self, lanes: usize, ends: &mut Vec<End>) {
        let nodes = &self.nodes[0];
        (self.ends, self.ends_of_each) = (ends.len(), ends_of(nodes.new, lanes));
        let last = nodes.new.saturating_sub(1) / lanes * lanes;
        let all = [0, last, last.saturating_sub(lanes)];
        for rough in [false, true] {
            ends.extend(all[..self.ends_of_each].iter().map(|v| End::new(nodes, rough, *v, lanes)));
        }
    }

    /// Where the rows at place `z` along z begin that are coarse and new along y, each coarse and new along x.
    #[inline(always)]
    fn plane_places(&self, z: usize) -> [[usize; 2]; 2] {
        let (new_z, z) = self.nodes[2].kind(z);
        let class = u8::from(new_z) << 2;
        [class, class | 2].map(|class| [class, class | 1].map(|class| self.row(class, 0, z)))
    }

    /// Takes the nodes of the level, row after row, apart into its classes.
    #[inline(always)]
    fn split<L: Lanes>(&self, l: L, rows: &[u32], classes: &mut [u32]) {
        let [x, y, z] = self.nodes.map(|nodes| nodes.len);
        let (rows, lens) = (&rows[..(x * y * z + 2 * LONGEST).min(rows.len())], self.row_lens());
        for k in 0..z {
            let places = self.plane_places(k);
            for j in 0..y {
                split(l, rows, (k * y + j) * x, x, classes, place(&self.nodes[1], places, lens, j));
            }
        }
    }

    /// Puts the classes of the level together, row after row.
    #[inline(always)]
    fn join<L: Lanes>(&self, l: L, classes: &[u32], rows: &mut [u32]) {
        let [x, y, z] = self.nodes.map(|nodes| nodes.len);
        let lens = self.row_lens();
        for k in 0..z {
            let places = self.plane_places(k);
            for j in 0..y {
                join(l, classes, place(&self.nodes[1], places, lens, j), rows, (k * y + j) * x, x);
            }
        }
    }

    /// How long rows are, coarse and new along x.
    #[inline(always)]
    fn row_lens(&self) -> [usize; 2] {
        [self.nodes[0].coarse, self.nodes[0].new]
    }
}

/// Where the rows at place `y` along y begin, coarse and new along x, of a plane.
#[inline(always)]
fn place(nodes: &Nodes, places: [[usize; 2]; 2], lens: [usize; 2], y: usize) -> [usize; 2] {
    let (is_new, y) = nodes.kind(y);
    let [a, b] = if is_new { places[1] } else { places[0] };
    [a + y * lens[0], b + y * lens[1]]
}

/// Takes a row of so many nodes apart into coarse ones, those with an even place and the last one, and new ones. What
/// stands behind both is written later.
#[inline(always)]
fn split<L: Lanes>(l: L, rows: &[u32], at: usize, len: usize, to: &mut [u32], [coarse, new]: [usize; 2]) {
    if len <= 2 {
        // None is new.
        to[coarse..coarse + len].copy_from_slice(&rows[at..at + len]);
        return;
    }
    let mut i = 0;
    while i < len {
        let [a, b] = match rows.len() >= at + i + 2 * L::N {
            true => [l.load_at(rows, at + i), l.load_at(rows, at + i + L::N)],
            false => {
                let mut part = [0; 2 * LONGEST];
                part[..len - i].copy_from_slice(&rows[at + i..at + len]);
                [l.load(&part), l.load(&part[L::N..])]
            }
        };
        let [even, odd] = l.unzip(a, b);
        l.store_at(even, to, coarse + i / 2);
        l.store_at(odd, to, new + i / 2);
        i += 2 * L::N;
    }
    to[coarse + len / 2] = rows[at + len - 1];
}

/// The inverse of [`split`]. What stands behind the row is written later.
#[inline(always)]
fn join<L: Lanes>(l: L, from: &[u32], [coarse, new]: [usize; 2], rows: &mut [u32], at: usize, len: usize) {
    if len <= 2 {
        rows[at..at + len].copy_from_slice(&from[coarse..coarse + len]);
        return;
    }
    let mut i = 0;
    while i < len {
        let [a, b] = l.zip(l.load_at(from, coarse + i / 2), l.load_at(from, new + i / 2));
        if rows.len() >= at + i + 2 * L::N {
            l.store_at(a, rows, at + i);
            l.store_at(b, rows, at + i + L::N);
        } else {
            let mut part = [0; 2 * LONGEST];
            l.store(a, &mut part);
            l.store(b, &mut part[L::N..]);
            rows[at + i..at + len].copy_from_slice(&part[..len - i]);
        }
        i += 2 * L::N;
    }
    rows[at + len - 1] = from[coarse + len / 2];
}

/// The levels of a tile, the finest one first.
pub struct LevelLayout {
    /// The tile's lengths.
    pub lens: [usize; AXES],
    /// The levels.
    pub levels: Vec<NodeLevel>,
    /// The ends of their rows.
    pub ends: Vec<End>,
}

/// As many numbers as a tile's levels need.
#[derive(Clone, Copy, Default)]
pub struct Room {
    /// In the places of all classes.
    pub numbers: usize,
    /// In those of a level's classes whose errors others look at.
    pub errors: usize,
    /// In those of a class.
    pub class: usize,
}

/// Numbers before the first class, and behind the last one.
const MARGIN: usize = 2 * LONGEST;
/// Those behind each class: a vector, from the second coarse node behind the last one on.
const GAP: usize = LONGEST + 2;

/// The lengths of the levels of a tile, the finest one first.
pub fn all_levels(lens: [usize; AXES]) -> impl Iterator<Item = [usize; AXES]> {
    let next = |lens: &[usize; AXES]| {
        let coarse = lens.map(coarse);
        coarse.iter().any(|n| *n > 2).then_some(coarse)
    };
    std::iter::successors(Some(lens), next)
}

impl LevelLayout {
    /// Of no tile, with room for those of tiles that are no longer than these sides.
    pub fn empty(sides: [usize; AXES]) -> Result<LevelLayout> {
        let (mut levels, mut ends) = (Vec::new(), Vec::new());
        reserve(&mut levels, all_levels(sides).count())?;
        let of_level = |lens: [usize; AXES]| 2 * ends_of(lens[0] - coarse(lens[0]).min(lens[0]), SHORTEST);
        reserve(&mut ends, all_levels(sides).map(of_level).sum())?;
        Ok(LevelLayout { lens: [0; AXES], levels, ends })
    }

    /// Becomes that of a tile with these lengths, for vectors of so many lanes; the room that its levels need.
    pub fn lay_out(&mut self, lens: [usize; AXES], lanes: usize) -> Room {
        self.lens = lens;
        self.levels.clear();
        self.ends.clear();
        let steps = STEPS[lens.iter().filter(|n| **n > 2).count()];
        for (l, here) in all_levels(lens).enumerate() {
            self.levels.push(NodeLevel::EMPTY);
            let level = &mut self.levels[l];
            level.nodes = std::array::from_fn(|a| Nodes::new(lens[a], 1 << l, here[a]));
            level.step = steps[l.min(steps.len() - 1)];
            level.has_differences = l < DIFFERENCE_LEVELS;
            level.make_ends(lanes, &mut self.ends);
        }
        self.place()
    }

    /// Gives all classes their places; the room that they take.
    fn place(&mut self) -> Room {
        let mut room = Room { numbers: MARGIN, ..Room::default() };
        let mut put = |level: &mut NodeLevel, class: u8| {
            level.starts[usize::from(class)] = room.numbers;
            let counts = level.counts(class);
            let own = if counts.contains(&0) { 0 } else { counts[2] * level.plane(class) + GAP };
            room.numbers += own;
            if class != COARSE {
                room.class = room.class.max(own);
            }
            room.numbers
        };
        let mut errors = 0;
        let mut put_all = |level: &mut NodeLevel, put: &mut dyn FnMut(&mut NodeLevel, u8) -> usize| {
            let (mut first, mut end) = (0, 0);
            for class in WITH_ERRORS {
                end = put(level, class);
                if class == WITH_ERRORS[0] {
                    first = level.starts[usize::from(class)];
                }
            }
            // Nodes before the first one are read, but not looked at.
            (level.errors, level.end_of_errors) = (first - LONGEST, end);
            errors = errors.max(end - level.errors);
            for class in CLASSES.into_iter().filter(|class| !WITH_ERRORS.contains(class)) {
                end = put(level, class);
            }
            level.end = level.end.max(end);
        };
        let (top, finer) = self.levels.split_last_mut().expect("a tile has a level");
        top.end = put(top, COARSE);
        put_all(top, &mut put);
        for level in finer.iter_mut().rev() {
            put_all(level, &mut put);
        }
        for level in finer.iter_mut().rev() {
            level.end = put(level, COARSE);
        }
        room.numbers += MARGIN;
        room.errors = errors;
        self.number_codes();
        room
    }

    /// Gives all codes their places: those of the coarsest level first.
    fn number_codes(&mut self) {
        let mut code = 0;
        let mut put = |level: &mut NodeLevel, class: u8| {
            level.codes[usize::from(class)] = code;
            code += level.counts(class).iter().product::<usize>();
        };
        for (l, level) in self.levels.iter_mut().rev().enumerate() {
            if l == 0 {
                put(level, COARSE);
            }
            CLASSES.into_iter().for_each(|class| put(level, class));
        }
    }

    /// Takes the numbers of a tile, row after row, apart into the classes of all levels.
    #[inline(always)]
    pub fn split<L: Lanes>(&self, l: L, rows: &[u32], numbers: &mut [u32]) {
        self.levels[0].split(l, rows, numbers);
        self.split_coarse(l, numbers);
    }

    /// The same of the coarse nodes of the finest level, which are in their places.
    #[inline(always)]
    pub fn split_coarse<L: Lanes>(&self, l: L, numbers: &mut [u32]) {
        for pair in self.levels.windows(2) {
            let (classes, rows) = numbers.split_at_mut(pair[0].row(COARSE, 0, 0));
            pair[1].split(l, rows, classes);
        }
    }

    /// Puts the numbers of level `level` together, which are the coarse nodes of the finer one.
    #[inline(always)]
    pub fn join<L: Lanes>(&self, l: L, level: usize, numbers: &mut [u32]) {
        let (classes, rows) = numbers.split_at_mut(self.levels[level - 1].row(COARSE, 0, 0));
        self.levels[level].join(l, classes, rows);
    }

    /// Puts the numbers of the finest level together, row after row.
    #[inline(always)]
    pub fn rows<L: Lanes>(&self, l: L, numbers: &[u32], rows: &mut [u32]) {
        self.levels[0].join(l, numbers, rows);
    }
}

/// The lengths of the levels of a tile whose codes may be differences, the finest one first.
pub fn with_differences(lens: [usize; AXES]) -> impl Iterator<Item = [usize; AXES]> {
    let next = |lens: &[usize; AXES]| {
        let is_last = lens.iter().all(|n| coarse(*n) <= 2);
        (!is_last).then(|| lens.map(coarse))
    };
    std::iter::successors(Some(lens), next).take(DIFFERENCE_LEVELS)
}

/// Of a tile with these lengths the classes of the finest level with one new axis: which one, where their codes begin,
/// and their lengths.
pub fn single_classes(lens: [usize; AXES]) -> impl Iterator<Item = (u8, usize, [usize; AXES])> {
    let coarse = lens.map(coarse);
    let mut at: usize = coarse.iter().product();
    CLASSES.into_iter().filter(|class| class.is_power_of_two()).filter_map(move |class| {
        let of = |a: usize| if is_new(class, a) { lens[a] - coarse[a] } else { coarse[a] };
        let lens: [usize; AXES] = std::array::from_fn(of);
        let count: usize = lens.iter().product();
        let begin = at;
        at += count;
        (count > 0).then_some((class, begin, lens))
    })
}
