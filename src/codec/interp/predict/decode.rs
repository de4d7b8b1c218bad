//! Codes to numbers by interpolation (docs/reference/codecs/interp.md §6): level by level, on each plane by plane, so
//! that what is read again is in the first cache. A row lies as its nodes with even x, then those with odd ones. The
//! last node of a row of even length, which is coarse, is one of these.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use crate::codec::interp::format::Rule;
use crate::codec::interp::predict::interpolation::levels::{
    CLASSES, COARSE, DIFFERENCE_LEVELS, End, STEPS, all_levels, is_new,
};
use crate::codec::interp::predict::interpolation::pass::{POINT, even, half_boolean, weighted};
use crate::codec::interp::predict::interpolation::weights::{Nodes, WeightKind, Weights};
use crate::error::Result;
use crate::host::memory::{Aligned, reserve};
use crate::primitives::lorenzo::AXES;
use crate::simd::Task;
use crate::simd::lanes::{LONGEST, Lanes};
use crate::simd::word::Word;

/// Layouts that are kept: of whole tiles, and of cut ones.
const LAYOUTS: usize = 4;
/// Coarse planes of the finest level that are kept, and the place of a new one behind them.
const PLANES_HELD: usize = 4;
/// Vectors of a row of new nodes which are told apart: the first one, the last one, and the one before that.
const ENDS: usize = 3;

/// How a new node is made of four coarse ones, and where their rows or planes begin.
#[derive(Clone, Copy)]
struct Tap {
    kind: WeightKind,
    weights: Weights,
    at: [usize; 4],
}

/// A level of a tile. The one behind the last has the anchors, of which none is new.
struct Level {
    nodes: [Nodes; AXES],
    /// Where the codes of each class begin; from row to row, and from plane to plane.
    codes: [[usize; 3]; 1 << AXES],
    step: u32,
    /// Numbers of half a row: whole vectors.
    half: usize,
    /// Where its rows begin; from plane to plane.
    first: usize,
    plane: usize,
    /// Few planes are kept.
    is_ring: bool,
    /// Where its taps along y and z begin, and its ends.
    y: usize,
    z: usize,
    ends: usize,
}

impl Level {
    /// Where a coarse row of a plane begins, or one that is new along y.
    #[inline(always)]
    fn row(&self, plane: usize, new: bool, y: usize) -> usize {
        self.first + plane * self.plane + (if new { self.nodes[1].coarse + y } else { y }) * 2 * self.half
    }

    /// The place of a plane.
    #[inline(always)]
    fn place(&self, new: bool, z: usize) -> usize {
        match (self.is_ring, new) {
            (true, false) => z % PLANES_HELD,
            (true, true) => PLANES_HELD,
            (false, false) => z,
            (false, true) => self.nodes[2].coarse + z,
        }
    }

    /// Where codes of a row of a class begin.
    #[inline(always)]
    fn code(&self, class: u8, y: usize, z: usize) -> usize {
        let [first, row, plane] = self.codes[usize::from(class)];
        first + z * plane + y * row
    }

    /// How many nodes of a class there are along each axis.
    #[inline(always)]
    fn counts(&self, class: u8) -> [usize; AXES] {
        [0, 1, 2].map(|a| self.nodes[a].count(is_new(class, a)))
    }
}

/// The levels of a tile, the finest one first.
struct PlaneLayout {
    lens: [usize; AXES],
    levels: Vec<Level>,
    /// Smooth and rough.
    taps: Vec<[Tap; 2]>,
    ends: Vec<[End; 2]>,
    /// Numbers that rows take, and errors.
    rows: usize,
    errors: usize,
}

impl PlaneLayout {
    /// Of no tile.
    const EMPTY: PlaneLayout =
        PlaneLayout { lens: [0; AXES], levels: Vec::new(), taps: Vec::new(), ends: Vec::new(), rows: 0, errors: 0 };

    /// Becomes that of a tile with these lengths, for vectors of so many lanes.
    fn lay_out(&mut self, lens: [usize; AXES], lanes: usize) -> Result<()> {
        self.levels.clear();
        self.taps.clear();
        self.ends.clear();
        (self.rows, self.errors, self.lens) = (0, 0, [0; AXES]);
        let count = all_levels(lens).count();
        let anchors =
            all_levels(lens).last().unwrap_or(lens).map(crate::codec::interp::predict::interpolation::weights::coarse);
        reserve(&mut self.levels, count + 1)?;
        reserve(&mut self.ends, ENDS * count)?;
        reserve(&mut self.taps, lens[1] + lens[2])?;
        let steps = STEPS[lens.iter().filter(|n| **n > 2).count()];
        for (l, here) in all_levels(lens).chain([anchors]).enumerate() {
            let nodes: [Nodes; AXES] = std::array::from_fn(|a| Nodes::new(lens[a], 1 << l, here[a]));
            let half = here[0].div_ceil(2).next_multiple_of(lanes);
            let (row, is_ring) = (2 * half, l == 0 && here[2] > PLANES_HELD + 1);
            let level = Level {
                codes: [[0; 3]; 1 << AXES],
                step: steps[l.min(count - 1).min(steps.len() - 1)],
                half,
                first: self.rows,
                // A vector more, so that planes do not lie on the same lines of the cache.
                plane: here[1] * row + LONGEST,
                is_ring,
                y: self.taps.len(),
                z: self.taps.len() + nodes[1].new,
                ends: self.ends.len(),
                nodes,
            };
            self.add_taps(&level.nodes[1], |y| y * row);
            self.add_taps(&level.nodes[2], |z| level.place(false, z) * level.plane);
            let last = level.nodes[0].new.saturating_sub(1) / lanes * lanes;
            if l < count {
                for v in [0, last, last.saturating_sub(lanes)] {
                    self.ends.push([false, true].map(|rough| End::new(&level.nodes[0], rough, v, lanes)));
                }
            }
            self.rows += if is_ring { PLANES_HELD + 1 } else { here[2] } * level.plane;
            if level.nodes[1].new + level.nodes[2].new > 0 {
                self.errors = self.errors.max((level.nodes[1].coarse + 1) * row);
            }
            self.levels.push(level);
        }
        let mut code = 0;
        for (l, level) in self.levels.iter_mut().enumerate().rev() {
            let classes = if l == count { &[COARSE][..] } else { &CLASSES };
            for class in classes {
                let [nx, ny, nz] = level.counts(*class);
                level.codes[usize::from(*class)] = [code, nx, nx * ny];
                code += nx * ny * nz;
            }
        }
        self.lens = lens;
        Ok(())
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
}

/// Where tiles are restored.
pub struct Buffers {
    layouts: [PlaneLayout; LAYOUTS],
    /// The one that gives way to the next one.
    next: usize,
    rows: Aligned<u32>,
    /// What was restored less what was predicted, of rows of a plane that others look at.
    errors: Aligned<u32>,
    /// The numbers of a plane, in raster order.
    plane: Aligned<u32>,
}

impl Buffers {
    /// For tiles of a grid with these sides, or for none.
    pub fn new(sides: [usize; AXES]) -> Result<Buffers> {
        let mut layouts = [PlaneLayout::EMPTY; LAYOUTS];
        layouts[0].lay_out(sides, LONGEST)?;
        layouts[0].lens = [0; AXES];
        Ok(Buffers {
            rows: Aligned::zeros(layouts[0].rows)?,
            errors: Aligned::zeros(layouts[0].errors)?,
            plane: Aligned::zeros(sides[0] * sides[1] + 2 * LONGEST)?,
            layouts,
            next: 0,
        })
    }

    /// The layout of a tile with these lengths, none longer than the sides of the grid.
    fn fit(&mut self, lens: [usize; AXES], lanes: usize) -> Result<usize> {
        if let Some(known) = self.layouts.iter().position(|layout| layout.lens == lens) {
            return Ok(known);
        }
        let layout = self.next;
        self.next = (self.next + 1) % LAYOUTS;
        self.layouts[layout].lay_out(lens, lanes)?;
        Ok(layout)
    }
}

/// Codes as signed numbers.
trait Codes {
    /// A vector of them.
    ///
    /// # Safety
    /// There are as many.
    #[expect(unsafe_code, reason = "a level asks for its room once, not each vector")]
    unsafe fn load<L: Lanes>(&self, l: L, at: usize) -> L::V;
    /// One.
    fn one(&self, at: usize) -> u32;
}

impl Codes for [u16] {
    #[inline(always)]
    #[expect(unsafe_code, reason = "as above")]
    unsafe fn load<L: Lanes>(&self, l: L, at: usize) -> L::V {
        // SAFETY: as the caller promises.
        l.load_short(unsafe { self.get_unchecked(at..at + L::N) })
    }

    #[inline(always)]
    fn one(&self, at: usize) -> u32 {
        self[at].extend() as u32
    }
}

impl Codes for [u32] {
    #[inline(always)]
    #[expect(unsafe_code, reason = "as above")]
    unsafe fn load<L: Lanes>(&self, l: L, at: usize) -> L::V {
        // SAFETY: as the caller promises.
        unsafe { l.load_in(self, at) }
    }

    #[inline(always)]
    fn one(&self, at: usize) -> u32 {
        self[at]
    }
}

/// The codes of a tile, signed, with room for a vector behind them.
pub enum Signed<'a> {
    Short(&'a mut [u16]),
    Long(&'a mut [u32]),
}

/// Restores the numbers of a tile, from 0 on, and shows them plane by plane, in whatever order: the first element, and
/// the numbers. Whether codes were long enough for their sums.
pub struct Decode<'a> {
    pub rule: Rule,
    pub lens: [usize; AXES],
    pub buffers: &'a mut Buffers,
    pub codes: Signed<'a>,
    pub show: &'a mut dyn FnMut(usize, &[u32]),
}

impl Task for Decode<'_> {
    type Done = Result<bool>;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Result<bool> {
        let Decode { rule, lens, buffers, codes, show } = self;
        let layout = buffers.fit(lens, L::N)?;
        let Buffers { layouts, rows, errors, plane, .. } = buffers;
        let layout = &layouts[layout];
        Ok(match codes {
            Signed::Short(codes) => {
                if !sum_up(layout, rule.set, codes) {
                    return Ok(false);
                }
                let mut march = March { l, layout, coarse: rule.coarse, codes: &*codes, rows, errors, plane, show };
                if rule.rough {
                    march.run::<true>()
                } else {
                    march.run::<false>()
                }
                true
            }
            Signed::Long(codes) => {
                sum_up(layout, rule.set, codes);
                let mut march = March { l, layout, coarse: rule.coarse, codes: &*codes, rows, errors, plane, show };
                if rule.rough {
                    march.run::<true>()
                } else {
                    march.run::<false>()
                }
                true
            }
        })
    }
}

/// Replaces codes that are differences along axes of a set by what they lead to; whether all fit.
#[inline(always)]
fn sum_up<W: Word>(layout: &PlaneLayout, set: u8, codes: &mut [W]) -> bool {
    let mut beyond = W::ZERO;
    let anchors = layout.levels.len() - 1;
    for level in &layout.levels[..anchors.min(DIFFERENCE_LEVELS)] {
        for class in CLASSES.into_iter().filter(|class| class.is_power_of_two() && set & !class != 0) {
            let [nx, ny, nz] = level.counts(class);
            let first = level.code(class, 0, 0);
            let codes = &mut codes[first..first + nx * ny * nz];
            let axes = set & !class;
            if codes.is_empty() {
                continue;
            }
            if axes & 1 != 0 {
                for row in codes.chunks_exact_mut(nx) {
                    let mut sum = W::ZERO;
                    for code in row {
                        sum = add(sum, *code, &mut beyond);
                        *code = sum;
                    }
                }
            }
            if axes & 2 != 0 {
                codes.chunks_exact_mut(nx * ny).for_each(|plane| sum_rows(plane, nx, &mut beyond));
            }
            if axes & 4 != 0 {
                sum_rows(codes, nx * ny, &mut beyond);
            }
        }
    }
    beyond & W::SIGN == W::ZERO
}

/// Adds to each row of this length but the first one the one before it.
#[inline(always)]
fn sum_rows<W: Word>(codes: &mut [W], len: usize, beyond: &mut W) {
    let mut any = *beyond;
    for at in (len..codes.len()).step_by(len) {
        let (before, row) = codes[at - len..at + len].split_at_mut(len);
        for i in 0..len {
            row[i] = add(before[i], row[i], &mut any);
        }
    }
    *beyond = any;
}

/// The sum; the top bit of `beyond` tells whether one had no room.
#[inline(always)]
fn add<W: Word>(a: W, b: W, beyond: &mut W) -> W {
    let sum = a.add(b);
    *beyond = *beyond | (a ^ sum) & (b ^ sum);
    sum
}

/// What goes through a tile.
struct March<'a, L, C: ?Sized> {
    l: L,
    layout: &'a PlaneLayout,
    /// Codes stand for steps.
    coarse: bool,
    codes: &'a C,
    rows: &'a mut [u32],
    errors: &'a mut [u32],
    plane: &'a mut [u32],
    show: &'a mut dyn FnMut(usize, &[u32]),
}

impl<L: Lanes, C: Codes + ?Sized> March<'_, L, C> {
    #[inline(always)]
    fn run<const ROUGH: bool>(&mut self) {
        let PlaneLayout { rows, errors, levels, lens, .. } = self.layout;
        // All that a level reads and writes is there: places come from the tile's lengths alone.
        assert!(*rows <= self.rows.len() && *errors <= self.errors.len());
        assert!(lens[0] * lens[1] + 2 * L::N <= self.plane.len());
        self.anchors(&levels[levels.len() - 1]);
        for l in (0..levels.len() - 1).rev() {
            self.level::<ROUGH>(&levels[l], &levels[l + 1], l == 0);
        }
    }

    /// The nodes that no level makes: sums along all axes.
    #[inline(always)]
    fn anchors(&mut self, level: &Level) {
        let step = if self.coarse { level.step } else { 1 };
        let [nx, ny, nz] = level.counts(COARSE);
        let mut sums = [0u32; 1 << AXES];
        for i in 0..nx * ny * nz {
            let [x, y, z] = [i % nx, i / nx % ny, i / nx / ny];
            let mut sum = self.codes.one(i).wrapping_mul(step);
            // Those before it along each set of axes, an odd number of them added.
            for axes in 1..1 << AXES {
                let [a, b, c] = [axes & 1, axes >> 1 & 1, axes >> 2 & 1];
                if a <= x && b <= y && c <= z {
                    let other = sums[(x - a) | (y - b) << 1 | (z - c) << 2];
                    let odd = axes.count_ones() % 2 == 1;
                    sum = if odd { sum.wrapping_add(other) } else { sum.wrapping_sub(other) };
                }
            }
            sums[x | y << 1 | z << 2] = sum;
            self.rows[level.row(z, false, y) + x * level.half] = sum;
        }
    }

    /// All new nodes of a level. Never inlined: a level is a loop of its own.
    #[inline(always)]
    fn level<const ROUGH: bool>(&mut self, level: &Level, coarser: &Level, is_finest: bool) {
        let [_, _, nodes] = &level.nodes;
        let (mut z, mut k) = (0, 0);
        while z < nodes.coarse || k < nodes.new {
            // A new plane is made of two coarse ones on each side.
            let is_new = z == nodes.coarse || k < nodes.new && z == k + 3;
            let place = if is_new {
                self.new_plane::<ROUGH>(level, k);
                k += 1;
                2 * k - 1
            } else {
                self.coarse_plane::<ROUGH>(level, coarser, z);
                z += 1;
                if z == nodes.coarse { nodes.len - 1 } else { 2 * z - 2 }
            };
            if is_finest {
                self.show_plane(level, place, level.place(is_new, if is_new { k - 1 } else { z - 1 }));
            }
        }
    }

    #[inline(always)]
    fn coarse_plane<const ROUGH: bool>(&mut self, level: &Level, coarser: &Level, z: usize) {
        let plane = level.place(false, z);
        // Of the coarser level these nodes are all.
        let (new_z, at) = coarser.nodes[2].kind(z);
        let from = coarser.place(new_z, at);
        for y in 0..level.nodes[1].coarse {
            let (new_y, at) = coarser.nodes[1].kind(y);
            self.along_x::<ROUGH>(level, (coarser, coarser.row(from, new_y, at)), level.row(plane, false, y), (y, z));
        }
        for y in 0..level.nodes[1].new {
            self.pair::<0b010, ROUGH>(level, level.row(plane, true, y), (y, z));
        }
    }

    #[inline(always)]
    fn new_plane<const ROUGH: bool>(&mut self, level: &Level, z: usize) {
        let plane = level.place(true, z);
        for y in 0..level.nodes[1].coarse {
            self.pair::<0b100, ROUGH>(level, level.row(plane, false, y), (y, z));
        }
        for y in 0..level.nodes[1].new {
            self.pair::<0b110, ROUGH>(level, level.row(plane, true, y), (y, z));
        }
    }

    /// Whether the last node of a row lies among those with odd x, and behind how many others.
    #[inline(always)]
    fn last(level: &Level) -> (bool, usize) {
        (level.nodes[0].len.is_multiple_of(2), level.nodes[0].new)
    }

    /// All bits of the lane of the last node.
    #[inline(always)]
    fn lane_of_last(&self, level: &Level) -> L::V {
        static LANE: [u32; 2 * LONGEST] = {
            let mut lanes = [0; 2 * LONGEST];
            lanes[LONGEST] = u32::MAX;
            lanes
        };
        self.l.load(&LANE[LONGEST - level.nodes[0].new % L::N..])
    }

    /// A row of nodes that are coarse along y and z, with those between them.
    #[inline(always)]
    #[expect(unsafe_code, reason = "a level asks for its room once, not each vector")]
    fn along_x<const ROUGH: bool>(
        &mut self,
        level: &Level,
        (coarser, from): (&Level, usize),
        row: usize,
        (y, z): (usize, usize),
    ) {
        let (l, nodes) = (self.l, &level.nodes[0]);
        let step = l.splat(if self.coarse { level.step } else { 1 });
        let mut v = 0;
        while v < level.half {
            // SAFETY: half a row is whole vectors, and so is that of the coarser level, which has half as many.
            unsafe {
                let [even, odd] =
                    [l.load_in(self.rows, from + v / 2), l.load_in(self.rows, from + coarser.half + v / 2)];
                let [first, second] = l.zip(even, odd);
                l.store_in(first, self.rows, row + v);
                if v + L::N < level.half {
                    l.store_in(second, self.rows, row + v + L::N);
                }
            }
            v += 2 * L::N;
        }
        let (has_last, last) = Self::last(level);
        let behind = nodes.coarse - 1;
        let behind = l.splat(self.rows[from + behind / 2 + if behind % 2 == 1 { coarser.half } else { 0 }]);
        let code = level.code(0b001, y, z);
        let mut v = 0;
        while v < nodes.len / 2 {
            // SAFETY: as above; there is room for a vector behind all codes.
            unsafe {
                let p = l.right::<POINT>(l.add(self.taps_x::<ROUGH>(level, self.rows, row, v, behind), l.splat(8)));
                let mut number = l.add(p, l.mul(self.codes.load(l, code + v), step));
                if has_last && v + L::N > last {
                    number = l.select(self.lane_of_last(level), behind, number);
                }
                l.store_in(number, self.rows, row + level.half + v);
            }
            v += L::N;
        }
    }

    /// A row of nodes that are new along y, z or both, `NEW`, and those between them, which are new along x, too.
    #[inline(always)]
    #[expect(unsafe_code, reason = "as above")]
    fn pair<const NEW: u8, const ROUGH: bool>(&mut self, level: &Level, row: usize, (y, z): (usize, usize)) {
        let (l, nodes, half) = (self.l, &level.nodes[0], level.half);
        let step = if self.coarse { level.step } else { 1 };
        let (taps, rough) = (&self.layout.taps[..], usize::from(ROUGH));
        let of_y = if NEW & 0b010 != 0 { Some(&taps[level.y + y][rough]) } else { None };
        let of_z = if NEW & 0b100 != 0 { Some(&taps[level.z + z][rough]) } else { None };
        let plane = level.first + level.place(NEW & 0b100 != 0, z) * level.plane;
        // Errors of coarse rows lie row by row, those of others behind them.
        let coarse_rows = level.nodes[1].coarse;
        let own_errors = if NEW == 0b100 { y } else { coarse_rows } * 2 * half;
        let (first_of, in_plane) = match (of_y, of_z) {
            (_, Some(tap)) => (tap, row - plane + level.first),
            (Some(tap), None) => (tap, plane),
            (None, None) => return,
        };
        let (code, code_x) = (level.code(NEW, y, z), level.code(NEW | 1, y, z));
        let step_v = l.splat(step);
        let eight = l.splat(8);
        let (has_last, last) = Self::last(level);
        let across = Row { first: first_of, in_plane, y: of_y.filter(|_| NEW == 0b110), plane };
        let mut v = 0;
        while v < half {
            let [_, p16, ..] = across.alone::<L, ROUGH>(l, self.rows, self.errors, v);
            // SAFETY: half a row is whole vectors; there is room for a vector behind all codes.
            unsafe {
                let error = l.mul(self.codes.load(l, code + v), step_v);
                l.store_in(l.add(l.right::<POINT>(l.add(p16, eight)), error), self.rows, row + v);
                l.store_in(error, self.errors, own_errors + v);
            }
            v += L::N;
        }
        let error_behind = if has_last { self.codes.one(code + nodes.coarse - 1).wrapping_mul(step) } else { 0 };
        let behind = nodes.coarse - 1;
        if has_last && behind < half {
            self.errors[own_errors + behind] = error_behind;
        }
        let error_behind = l.splat(error_behind);
        let mut number_behind = l.splat(0);
        let mut v = (nodes.len / 2).next_multiple_of(L::N);
        while v > 0 {
            v -= L::N;
            let [first, p16, of_y, second] = across.alone::<L, ROUGH>(l, self.rows, self.errors, half + v);
            let is_last = has_last && v + L::N > last;
            let coarse_number = l.add(l.right::<POINT>(l.add(p16, eight)), error_behind);
            if ROUGH && is_last {
                // SAFETY: as above.
                unsafe { l.store_in(coarse_number, self.rows, row + half + v) };
                let number = self.rows[row + half + last];
                number_behind = l.splat(number);
                if behind < half {
                    self.rows[row + behind] = number;
                }
            }
            let of_x = self.taps_x::<ROUGH>(level, self.errors, own_errors, v, error_behind);
            let p16 = if ROUGH {
                let third = self.taps_x::<ROUGH>(level, self.rows, row, v, number_behind);
                if NEW == 0b110 {
                    let mean = l.right::<2>(l.add(l.left::<1>(first), l.add(second, third)));
                    l.right::<1>(l.add(mean, l.add(first, l.add(of_y, of_x))))
                } else {
                    half_boolean(l, first, third, of_x)
                }
            } else {
                l.add(p16, of_x)
            };
            // SAFETY: as above.
            unsafe {
                let error = l.mul(self.codes.load(l, code_x + v), step_v);
                let mut number = l.add(l.right::<POINT>(l.add(p16, eight)), error);
                let mut apart = number;
                if NEW == 0b100 {
                    apart = l.sub(number, l.right::<POINT>(l.add(first, eight)));
                }
                if is_last {
                    let lane = self.lane_of_last(level);
                    number = l.select(lane, coarse_number, number);
                    apart = l.select(lane, error_behind, apart);
                }
                l.store_in(number, self.rows, row + half + v);
                if NEW == 0b100 {
                    l.store_in(apart, self.errors, own_errors + half + v);
                }
            }
        }
    }

    /// 16 times what nodes with even x of a row make of the odd ones between them; `behind` stands behind the last.
    #[inline(always)]
    #[expect(unsafe_code, reason = "as above")]
    fn taps_x<const ROUGH: bool>(&self, level: &Level, numbers: &[u32], row: usize, v: usize, behind: L::V) -> L::V {
        let l = self.l;
        // SAFETY: half a row is whole vectors.
        let (before, b, next) = unsafe {
            let b = l.load_in(numbers, row + v);
            let before = if v > 0 { l.load_in(numbers, row + v - L::N) } else { b };
            (before, b, if v + L::N < level.half { l.load_in(numbers, row + v + L::N) } else { behind })
        };
        let c = l.ahead(b, next);
        let (a, d) = if ROUGH { (b, b) } else { (l.shifted_in(before, b), l.two_ahead(b, next)) };
        let middle = if ROUGH { l.left::<3>(l.add(b, c)) } else { even(l, a, b, c, d) };
        let last = level.nodes[0].new.saturating_sub(1) / L::N * L::N;
        let which = match v {
            0 => 0,
            _ if v == last => 1,
            _ if v + L::N == last => 2,
            _ => return middle,
        };
        let End { kind, weights, any } = &self.layout.ends[level.ends + which][usize::from(ROUGH)];
        if *kind == WeightKind::Mean {
            return l.left::<3>(l.add(b, c));
        }
        if *kind == WeightKind::Even {
            return middle;
        }
        let [wa, wc, wd] = weights;
        let by_weights = weighted(l, [a, b, c, d], [l.load(wa), l.load(wc), l.load(wd)]);
        l.select(l.load(any), by_weights, middle)
    }

    /// Shows the numbers of a plane, which lies at `from`, row after row.
    #[inline(always)]
    #[expect(unsafe_code, reason = "as above")]
    fn show_plane(&mut self, level: &Level, z: usize, from: usize) {
        let (l, [x, y, _]) = (self.l, self.layout.lens);
        for j in 0..y {
            let (new_y, at) = level.nodes[1].kind(j);
            let row = level.row(from, new_y, at);
            let mut v = 0;
            while 2 * v < x {
                // SAFETY: half a row is whole vectors; behind the plane is room for two.
                unsafe {
                    let [even, odd] = [l.load_in(self.rows, row + v), l.load_in(self.rows, row + level.half + v)];
                    let [first, second] = l.zip(even, odd);
                    l.store_in(first, self.plane, j * x + 2 * v);
                    l.store_in(second, self.plane, j * x + 2 * v + L::N);
                }
                v += L::N;
            }
        }
        (self.show)(z * x * y, &self.plane[..x * y]);
    }
}

/// How a row is made of others across it.
#[derive(Clone, Copy)]
struct Row<'a> {
    /// The tap along z, or that along y; what it names is so far off.
    first: &'a Tap,
    in_plane: usize,
    /// Of a row that is new along both that along y, and where its plane begins.
    y: Option<&'a Tap>,
    plane: usize,
}

impl Row<'_> {
    /// 16 times what the first tap makes; nodes but for the axis x; what errors along y make, and numbers.
    #[inline(always)]
    fn alone<L: Lanes, const ROUGH: bool>(&self, l: L, rows: &[u32], errors: &[u32], at: usize) -> [L::V; 4] {
        let first = across::<L, ROUGH>(l, rows, self.first, self.in_plane + at);
        let Some(y) = self.y else { return [first; 4] };
        let of_errors = across::<L, ROUGH>(l, errors, y, at);
        if ROUGH {
            let second = across::<L, ROUGH>(l, rows, y, self.plane + at);
            return [first, half_boolean(l, first, second, of_errors), of_errors, second];
        }
        [first, l.add(first, of_errors), of_errors, first]
    }
}

/// 16 times what the nodes of four rows make.
#[inline(always)]
#[expect(unsafe_code, reason = "as above")]
fn across<L: Lanes, const ROUGH: bool>(l: L, numbers: &[u32], tap: &Tap, shift: usize) -> L::V {
    // SAFETY: rows that taps name are there, and so are whole vectors of them.
    unsafe {
        let (b, c) = (l.load_in(numbers, tap.at[1] + shift), l.load_in(numbers, tap.at[2] + shift));
        if tap.kind == WeightKind::Mean {
            return l.left::<3>(l.add(b, c));
        }
        let (a, d) = (l.load_in(numbers, tap.at[0] + shift), l.load_in(numbers, tap.at[3] + shift));
        if !ROUGH && tap.kind == WeightKind::Even {
            return even(l, a, b, c, d);
        }
        let [w0, _, w2, w3] = tap.weights;
        weighted(l, [a, b, c, d], [l.splat(w0), l.splat(w2), l.splat(w3)])
    }
}
