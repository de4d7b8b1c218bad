//! The order in which encoder and decoder visit a tile's nodes: level by level, on each plane by plane, so that what is
//! read again is in the first cache. Nodes are predicted from what was restored around them
//! (docs/reference/codecs/interp.md §6), and restored as a direction says. All arithmetic is modulo 2^32.

use super::layout::{AlongX, COARSE, CodeRow, End, Level, NodeLayout, Tap};
use super::weights::{WEIGHT_BITS, WeightKind};
use crate::codec::interp::format::Interpolation;
use crate::primitives::lorenzo::AXES;
use crate::simd::numbers::{LEADING_LANES, LONGEST, NumberVectors};

/// Fraction bits of a prediction: it has 16 times the value.
const FRACTION_BITS: u32 = 4;

/// Encoder or decoder: how a predicted node gets its value. A decoder adds the code's difference, an encoder makes the
/// code first.
pub trait Direction<L: NumberVectors> {
    /// Prediction errors (restored less predicted) of a vector of nodes: those from `at` on, which have codes `v` and
    /// on of a row with so many more.
    ///
    /// # Safety
    /// Rows have a vector there, and codes one from the first on.
    #[expect(unsafe_code, reason = "a march asks for its room once, not each vector")]
    unsafe fn errors(&mut self, l: L, predicted: L::V, at: usize, codes: (&CodeRow, usize, usize), step: u32) -> L::V;

    /// Prediction error of one lane's node, which has code `i` of a row.
    fn error(&mut self, l: L, predicted: (L::V, usize), at: usize, codes: (&CodeRow, usize), step: u32) -> u32;

    /// A plane of the finest level that is wanted is whole.
    #[inline(always)]
    fn show(&mut self, _: L, _: &NodeLayout, _: &[u32], _: usize) {}
}

/// One visit of a tile.
pub struct March<'a, L, D> {
    pub l: L,
    pub layout: &'a NodeLayout,
    pub rule: Interpolation,
    /// The finest level that is wanted.
    pub finest: usize,
    pub rows: &'a mut [u32],
    /// Prediction errors of a plane's rows, which predictions of other classes take.
    pub errors: &'a mut [u32],
    pub direction: D,
}

impl<L: NumberVectors, D: Direction<L>> March<'_, L, D> {
    /// Goes through all levels that are wanted.
    #[inline(always)]
    pub fn go(&mut self) {
        // All that a level reads and writes is there: places come from the tile's lengths alone.
        assert!(self.layout.rows <= self.rows.len() && self.layout.errors <= self.errors.len());
        if self.rule.rough { self.levels::<true>() } else { self.levels::<false>() }
    }

    #[inline(always)]
    fn levels<const ROUGH: bool>(&mut self) {
        let (levels, finest) = (&self.layout.levels[..], self.finest);
        let last = &levels[levels.len() - 1];
        self.anchors(last);
        if finest + 1 == levels.len() {
            (0..last.nodes[2].len).for_each(|z| self.direction.show(self.l, self.layout, self.rows, z));
        }
        for l in (finest..levels.len() - 1).rev() {
            self.level::<ROUGH>(&levels[l], &levels[l + 1], l == finest);
        }
    }

    /// What codes of a level stand for.
    #[inline(always)]
    fn step(&self, level: &Level) -> u32 {
        if self.rule.in_steps { level.step } else { 1 }
    }

    /// The nodes that no level makes: Lorenzo along all axes.
    #[inline(always)]
    fn anchors(&mut self, level: &Level) {
        let [nx, ny, nz] = level.counts(COARSE);
        let mut nodes = [0u32; 1 << AXES];
        for i in 0..nx * ny * nz {
            let [x, y, z] = [i % nx, i / nx % ny, i / nx / ny];
            let mut p = 0u32;
            // Those before it along each set of axes, an odd number of them added.
            for axes in 1..1 << AXES {
                let [a, b, c] = [axes & 1, axes >> 1 & 1, axes >> 2 & 1];
                if a <= x && b <= y && c <= z {
                    let other = nodes[(x - a) | (y - b) << 1 | (z - c) << 2];
                    let odd = axes.count_ones() % 2 == 1;
                    p = if odd { p.wrapping_add(other) } else { p.wrapping_sub(other) };
                }
            }
            let at = level.row(z, false, y) + x * level.half;
            let (p_v, codes) = (self.l.splat(p), level.codes(COARSE, 0, y, z));
            let node = p.wrapping_add(self.direction.error(self.l, (p_v, 0), at, (&codes, x), self.step(level)));
            (nodes[x | y << 1 | z << 2], self.rows[at]) = (node, node);
        }
    }

    /// All new nodes of a level.
    #[inline(always)]
    fn level<const ROUGH: bool>(&mut self, level: &Level, coarser: &Level, is_finest: bool) {
        let [_, _, nodes] = &level.nodes;
        let (mut z, mut k) = (0, 0);
        while z < nodes.coarse || k < nodes.new {
            // A new plane is made of two coarse ones on each side.
            let is_new = z == nodes.coarse || k < nodes.new && z == k + 3;
            let at = if is_new {
                self.new_plane::<ROUGH>(level, k);
                k += 1;
                2 * k - 1
            } else {
                self.coarse_plane::<ROUGH>(level, coarser, z);
                z += 1;
                if z == nodes.coarse { nodes.len - 1 } else { 2 * z - 2 }
            };
            if is_finest {
                self.direction.show(self.l, self.layout, self.rows, at);
            }
        }
    }

    #[inline(always)]
    fn coarse_plane<const ROUGH: bool>(&mut self, level: &Level, coarser: &Level, z: usize) {
        let (plane, from) = (level.place(false, z), coarser.plane_at(z));
        for y in 0..level.nodes[1].coarse {
            // Of the coarser level these nodes are all.
            let from = (coarser, coarser.row_at(from, y));
            self.along_x::<ROUGH>(level, from, level.row(plane, false, y), (y, z));
        }
        self.pairs::<0b010, ROUGH>(level, level.row(plane, true, 0), z);
    }

    #[inline(always)]
    fn new_plane<const ROUGH: bool>(&mut self, level: &Level, z: usize) {
        let plane = level.place(true, z);
        self.pairs::<0b100, ROUGH>(level, level.row(plane, false, 0), z);
        self.pairs::<0b110, ROUGH>(level, level.row(plane, true, 0), z);
    }

    /// All bits of the lane of the last node, which stands behind so many new ones.
    #[inline(always)]
    fn lane_of_last(&self, new: usize) -> L::V {
        static LANE: [u32; 2 * LONGEST] = {
            let mut lanes = [0; 2 * LONGEST];
            lanes[LONGEST] = u32::MAX;
            lanes
        };
        self.l.load(&LANE[LONGEST - new % L::N..])
    }

    /// A row of nodes that are coarse along y and z, with those between them.
    #[inline(always)]
    #[expect(unsafe_code, reason = "a march asks for its room once, not each vector")]
    fn along_x<const ROUGH: bool>(
        &mut self,
        level: &Level,
        (coarser, from): (&Level, usize),
        row: usize,
        (y, z): (usize, usize),
    ) {
        let (l, nodes) = (self.l, &level.nodes[0]);
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
        let (has_last, last) = last_of(level);
        let of_x = self.layout.along_x(level);
        let behind = l.splat(self.rows[from + coarser.last_of(level)]);
        let (codes, step) = (level.codes(0b001, self.rule.axes, y, z), self.step(level));
        v = 0;
        while v < nodes.len / 2 {
            let p = half(l, self.taps_x::<ROUGH>(of_x, self.rows, row, v, behind));
            let codes = (&codes, v, nodes.new.saturating_sub(v));
            // SAFETY: as above; there is room for a vector behind all codes.
            unsafe {
                let mut node = l.add(p, self.direction.errors(l, p, row + level.half + v, codes, step));
                if has_last && v + L::N > last {
                    node = l.blend(self.lane_of_last(last), behind, node);
                }
                l.store_in(node, self.rows, row + level.half + v);
            }
            v += L::N;
        }
    }

    /// The rows from one on of nodes that are new along y, z or both, `NEW`, and those between them, which are new
    /// along x, too. What all rows of a plane share is asked of the level once.
    #[inline(always)]
    fn pairs<const NEW: u8, const ROUGH: bool>(&mut self, level: &Level, first: usize, z: usize) {
        let (layout, set, half) = (self.layout, self.rule.axes, level.half);
        let rows = Rows {
            half,
            len: level.nodes[0].len,
            coarse: level.nodes[0].coarse,
            new: level.nodes[0].new,
            step: self.step(level),
            of_x: layout.along_x(level),
        };
        // Errors of coarse rows lie row by row, those of others behind them.
        let (coarse, count) = (level.nodes[1].coarse, level.nodes[1].count(NEW & 0b010 != 0));
        let (codes, codes_x) = (level.code_rows(NEW, set, z), level.code_rows(NEW | 1, set, z));
        let (plane, in_plane) = (level.plane(level.place(NEW & 0b100 != 0, z)), level.plane(0));
        let (taps_y, tap_z) =
            (layout.taps_y(level), if NEW == 0b010 { None } else { Some(layout.tap_z(level, ROUGH, z)) });
        for y in 0..count {
            let row = first + y * 2 * half;
            let errors = if NEW == 0b100 { y } else { coarse } * 2 * half;
            let of_y = if NEW == 0b100 { None } else { Some(&taps_y[y][usize::from(ROUGH)]) };
            let across = match (tap_z, of_y) {
                (Some(first), y) => Across { first, in_plane: row - plane + in_plane, y, plane },
                (None, Some(first)) => Across { first, in_plane: plane, y: None, plane },
                (None, None) => return,
            };
            self.pair::<NEW, ROUGH>(&rows, across, [row, errors], [&codes.row(y), &codes_x.row(y)]);
        }
    }

    /// One of them.
    #[inline(always)]
    #[expect(unsafe_code, reason = "as above")]
    fn pair<const NEW: u8, const ROUGH: bool>(
        &mut self,
        &Rows { half: half_row, len, coarse, new, step, of_x }: &Rows,
        across: Across,
        [row, errors]: [usize; 2],
        [codes, codes_x]: [&CodeRow; 2],
    ) {
        let l = self.l;
        let mut v = 0;
        while v < half_row {
            let [_, p16, ..] = across.made::<L, ROUGH>(l, self.rows, self.errors, v);
            // SAFETY: half a row is whole vectors; there is room for a vector behind all codes.
            unsafe {
                let p = half(l, p16);
                let codes = (codes, v, len.div_ceil(2).saturating_sub(v));
                let error = self.direction.errors(l, p, row + v, codes, step);
                l.store_in(l.add(p, error), self.rows, row + v);
                l.store_in(error, self.errors, errors + v);
            }
            v += L::N;
        }
        let (has_last, last) = (len.is_multiple_of(2), new);
        let (mut error_behind, mut behind) = (l.splat(0), l.splat(0));
        v = (len / 2).next_multiple_of(L::N);
        while v > 0 {
            v -= L::N;
            let [first, p16, of_y, second] = across.made::<L, ROUGH>(l, self.rows, self.errors, half_row + v);
            let is_last = has_last && v + L::N > last;
            let (mut last_node, at) = (p16, coarse - 1);
            if is_last {
                let p = half(l, p16);
                let place = row + half_row + last;
                let error = self.direction.error(l, (p, last - v), place, (codes, at), step);
                error_behind = l.splat(error);
                last_node = l.add(p, error_behind);
                if at < half_row {
                    self.errors[errors + at] = error;
                }
            }
            if ROUGH && is_last {
                // SAFETY: as above.
                unsafe { l.store_in(last_node, self.rows, row + half_row + v) };
                let node = self.rows[row + half_row + last];
                behind = l.splat(node);
                if at < half_row {
                    self.rows[row + at] = node;
                }
            }
            let along_x = self.taps_x::<ROUGH>(of_x, self.errors, errors, v, error_behind);
            let p16 = if ROUGH {
                let third = self.taps_x::<ROUGH>(of_x, self.rows, row, v, behind);
                if NEW == 0b110 {
                    let mean = l.right_signed::<2>(l.add(l.left::<1>(first), l.add(second, third)));
                    l.right_signed::<1>(l.add(mean, l.add(first, l.add(of_y, along_x))))
                } else {
                    half_boolean(l, first, third, along_x)
                }
            } else {
                l.add(p16, along_x)
            };
            // SAFETY: as above.
            unsafe {
                let p = half(l, p16);
                let codes = (codes_x, v, new.saturating_sub(v));
                let mut node = l.add(p, self.direction.errors(l, p, row + half_row + v, codes, step));
                let mut apart = if NEW == 0b100 { l.sub(node, half(l, first)) } else { node };
                if is_last {
                    let lane = self.lane_of_last(last);
                    node = l.blend(lane, last_node, node);
                    apart = l.blend(lane, error_behind, apart);
                }
                l.store_in(node, self.rows, row + half_row + v);
                if NEW == 0b100 {
                    l.store_in(apart, self.errors, errors + half_row + v);
                }
            }
        }
    }

    /// 16 times what nodes with even x of a row make of the odd ones between them; `behind` stands behind the last.
    #[inline(always)]
    #[expect(unsafe_code, reason = "as above")]
    fn taps_x<const ROUGH: bool>(&self, of_x: AlongX, numbers: &[u32], row: usize, v: usize, behind: L::V) -> L::V {
        let l = self.l;
        // SAFETY: half a row is whole vectors.
        let (before, b, next) = unsafe {
            let b = l.load_in(numbers, row + v);
            let before = if v > 0 { l.load_in(numbers, row + v - L::N) } else { b };
            (before, b, of_x.next(v, L::N).map_or(behind, |v| l.load_in(numbers, row + v)))
        };
        let c = l.ahead(b, next);
        let (a, d) = if ROUGH { (b, b) } else { (l.shifted_in(before, b), l.two_ahead(b, next)) };
        let middle = if ROUGH { l.left::<3>(l.add(b, c)) } else { even(l, a, b, c, d) };
        let Some(End { kind, weights, any }) = of_x.end(ROUGH, v, L::N) else { return middle };
        match kind {
            WeightKind::Mean => l.left::<3>(l.add(b, c)),
            WeightKind::Even => middle,
            WeightKind::Any => {
                let [wa, wc, wd] = weights;
                let by_weights = weighted(l, [a, b, c, d], [l.load(wa), l.load(wc), l.load(wd)]);
                l.blend(l.load(any), by_weights, middle)
            }
        }
    }
}

/// Whether the last node of a row lies among those with odd x, and behind how many others.
#[inline(always)]
fn last_of(level: &Level) -> (bool, usize) {
    (level.nodes[0].len.is_multiple_of(2), level.nodes[0].new)
}

/// What rows of a level share.
struct Rows<'a> {
    /// Numbers of half a row, and nodes along x: all, coarse and new ones.
    half: usize,
    len: usize,
    coarse: usize,
    new: usize,
    step: u32,
    of_x: AlongX<'a>,
}

/// How a row is made of others across it.
#[derive(Clone, Copy)]
struct Across<'a> {
    /// The tap along z, or that along y; what it names is so far off.
    first: &'a Tap,
    in_plane: usize,
    /// Of a row that is new along both that along y, and where its plane begins.
    y: Option<&'a Tap>,
    plane: usize,
}

impl Across<'_> {
    /// 16 times what the first tap makes; nodes but for the axis x; what errors along y make, and numbers.
    #[inline(always)]
    fn made<L: NumberVectors, const ROUGH: bool>(&self, l: L, rows: &[u32], errors: &[u32], at: usize) -> [L::V; 4] {
        let first = tapped::<L, ROUGH>(l, rows, self.first, self.in_plane + at);
        let Some(y) = self.y else { return [first; 4] };
        let of_errors = tapped::<L, ROUGH>(l, errors, y, at);
        if ROUGH {
            let second = tapped::<L, ROUGH>(l, rows, y, self.plane + at);
            return [first, half_boolean(l, first, second, of_errors), of_errors, second];
        }
        [first, l.add(first, of_errors), of_errors, first]
    }
}

/// 16 times what the nodes of four rows make.
#[inline(always)]
#[expect(unsafe_code, reason = "as above")]
fn tapped<L: NumberVectors, const ROUGH: bool>(l: L, numbers: &[u32], tap: &Tap, shift: usize) -> L::V {
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

/// A prediction without its fraction, rounded.
#[inline(always)]
fn half<L: NumberVectors>(l: L, p16: L::V) -> L::V {
    l.right_signed::<FRACTION_BITS>(l.add(p16, l.splat(1 << (FRACTION_BITS - 1))))
}

/// Of two axes half of the boolean sum and half of the mean, of what they make and what the errors along the other
/// make.
#[inline(always)]
fn half_boolean<L: NumberVectors>(l: L, first: L::V, second: L::V, of_errors: L::V) -> L::V {
    let three = l.add(l.left::<1>(first), first);
    l.right_signed::<2>(l.add(l.add(three, second), l.left::<1>(of_errors)))
}

/// 16 times the cubic through four evenly spaced nodes, in the middle.
#[inline(always)]
fn even<L: NumberVectors>(l: L, a: L::V, b: L::V, c: L::V, d: L::V) -> L::V {
    let inner = l.add(b, c);
    l.sub(l.add(l.left::<3>(inner), inner), l.add(a, d))
}

/// 16 times what four nodes make, of which the second has what the weights of the others leave of 2^`WEIGHT_BITS`.
#[inline(always)]
fn weighted<L: NumberVectors>(l: L, [a, b, c, d]: [L::V; 4], [wa, wc, wd]: [L::V; 3]) -> L::V {
    let sum = l.add(l.mul(l.sub(a, b), wa), l.add(l.mul(l.sub(c, b), wc), l.mul(l.sub(d, b), wd)));
    let rest =
        l.right_signed::<{ WEIGHT_BITS - FRACTION_BITS }>(l.add(sum, l.splat(1 << (WEIGHT_BITS - FRACTION_BITS - 1))));
    l.add(l.left::<FRACTION_BITS>(b), rest)
}

/// All bits of the first `count` numbers of a vector.
#[inline(always)]
pub fn there<L: NumberVectors>(l: L, count: usize) -> L::V {
    l.load(&LEADING_LANES[LONGEST - count..])
}
