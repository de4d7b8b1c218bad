//! One way of an encoder through a tile, from the coarsest level to the finest one: nodes are predicted, encoded, and
//! restored as a decoder does (`predict/decode.rs`).

use super::levels::{ABSENT, CLASSES, COARSE, End, LevelLayout, NodeLevel, is_new};
use super::weights::{Across, WEIGHT_BITS, WeightKind};
use crate::codec::interp::format::Rule;
use crate::primitives::lorenzo::AXES;
use crate::simd::lanes::{LONGEST, Lanes, THERE};

/// Bits of predictions behind the point.
pub const POINT: u32 = 4;

/// What goes through a tile. Numbers and what is restored have the places of a [`LevelLayout`]: rows are written to a
/// vector behind their ends.
pub struct Pass<'a, L: Lanes> {
    pub l: L,
    pub rule: Rule,
    /// The numbers that are encoded.
    pub numbers: &'a [u32],
    /// Some of them are `ABSENT`.
    pub is_masked: bool,
    /// What is restored.
    pub restored: &'a mut [u32],
    /// What was restored less what was predicted: of a level at a time, from its `errors` on.
    pub errors: &'a mut [u32],
    /// The codes, signed: of a class at a time.
    pub signed: &'a mut [u32],
    /// The codes, in their order, with room for a vector behind them.
    pub codes: &'a mut [u32],
    /// All bits of what was coded, or of its complement, without loss.
    pub any: L::V,
}

/// Rows of some planes of a class that are predicted alike.
struct Rows<'a> {
    /// Planes.
    planes: usize,
    /// Rows of each, one behind the other, and their length.
    count: usize,
    len: usize,
    /// Where the first row begins, and the first one of the class; from plane to plane.
    at: usize,
    first: usize,
    plane: usize,
    /// Where the coarse nodes of the first row are, along x; from row to row, and from plane to plane.
    x: usize,
    x_row: usize,
    x_plane: usize,
    /// The rows that make the first one of a plane along y, and how far behind them those are that make the first one
    /// here; from plane to plane.
    y: &'a Across,
    y_first: usize,
    y_plane: usize,
    /// The same along z, of the first one of all planes.
    z: &'a Across,
    z_first: usize,
    z_plane: usize,
    /// How far before them, if any, the rows of the same class are that codes are differences to: along y and z.
    before: [usize; 2],
}

/// Rows, or planes, of a class that are predicted alike: the first one, and the one behind the last.
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    end: usize,
    across: Across,
}

/// Parts that the new nodes of an axis have, at most: all but the first one and the last two are alike.
const PARTS: usize = 4;

/// The parts of the new nodes of an axis, and how many there are.
#[inline(always)]
fn parts(nodes: &super::weights::Nodes, rough: bool, start: usize, stride: usize) -> ([Part; PARTS], usize) {
    let mut parts = [Part { first: 0, end: 0, across: Across::NONE }; PARTS];
    let (mut count, mut j) = (0, 0);
    while j < nodes.new && count < PARTS {
        let end = nodes.alike(j);
        parts[count] = Part { first: j, end, across: nodes.across(rough, j, start, stride) };
        (count, j) = (count + 1, end);
    }
    (parts, count)
}

impl<L: Lanes> Pass<'_, L> {
    /// Goes through all levels.
    #[inline(always)]
    pub fn run(&mut self, layout: &LevelLayout) {
        self.run_to(layout, 0);
    }

    /// Goes through all levels down to this one.
    #[inline(always)]
    pub fn run_to(&mut self, layout: &LevelLayout, finest: usize) {
        for l in (finest..layout.levels.len()).rev() {
            let (level, ends) = (&layout.levels[l], &layout.ends[..]);
            if l + 1 == layout.levels.len() {
                self.anchors(level);
            }
            for class in CLASSES {
                match class {
                    0b001 => self.class::<0b001>(level, ends),
                    0b010 => self.class::<0b010>(level, ends),
                    0b100 => self.class::<0b100>(level, ends),
                    0b011 => self.class::<0b011>(level, ends),
                    0b101 => self.class::<0b101>(level, ends),
                    0b110 => self.class::<0b110>(level, ends),
                    _ => self.class::<0b111>(level, ends),
                }
            }
            if l > 0 {
                layout.join(self.l, l, self.restored);
            }
        }
    }

    /// The nodes that no level makes: Lorenzo along all axes.
    #[inline(always)]
    fn anchors(&mut self, level: &NodeLevel) {
        let [nx, ny, nz] = level.counts(COARSE);
        let step = if self.rule.coarse { level.step } else { 1 };
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    let mut p = 0u32;
                    for axes in 1..1 << AXES {
                        let [a, b, c] = [axes & 1, axes >> 1 & 1, axes >> 2 & 1];
                        if a <= x && b <= y && c <= z {
                            let other = self.restored[level.row(COARSE, y - b, z - c) + x - a];
                            let odd = axes.count_ones() % 2 == 1;
                            p = if odd { p.wrapping_add(other) } else { p.wrapping_sub(other) };
                        }
                    }
                    self.anchor(level.row(COARSE, y, z) + x, level.code(COARSE, y, z) + x, p, step);
                }
            }
        }
    }

    #[inline(always)]
    fn anchor(&mut self, at: usize, code: usize, p: u32, step: u32) {
        let code = &mut self.codes[code];
        let number = self.numbers[at];
        let d = if self.is_masked && number == ABSENT { 0 } else { number.wrapping_sub(p) };
        self.any = self.l.or(self.any, self.l.splat(d ^ (d as i32 >> 31) as u32));
        let own = if step == 1 { d } else { (d as i32 as f32 * (1.0 / step as f32)).round_ties_even() as i32 as u32 };
        *code = own << 1 ^ (own as i32 >> 31) as u32;
        self.restored[at] = p.wrapping_add(own.wrapping_mul(step));
    }

    /// All nodes of a class.
    #[inline(always)]
    fn class<const NEW: u8>(&mut self, level: &NodeLevel, ends: &[End]) {
        let [nx, ny, nz] = level.counts(NEW);
        if nx * ny * nz == 0 {
            return;
        }
        let [x, y, z] = &level.nodes;
        let rough = self.rule.rough;
        let differences = if level.has_differences && NEW.is_power_of_two() { self.rule.set & !NEW } else { 0 };
        // Where not all count, differences are to what the rows before have become.
        let one_by_one = if self.is_masked { differences } else { 0 };
        assert!(self.holds(level, nz * level.plane(NEW)));
        let plane_z = level.plane(NEW & !4);
        let (y_parts, y_count) = match is_new(NEW, 1) {
            true => parts(y, rough, level.row(NEW & !2, 0, 0), nx),
            false => ([Part { first: 0, end: ny, across: Across::NONE }; PARTS], 1),
        };
        let (z_parts, z_count) = match is_new(NEW, 2) {
            true => parts(z, rough, level.row(NEW & !4, 0, 0), plane_z),
            false => ([Part { first: 0, end: nz, across: Across::NONE }; PARTS], 1),
        };
        for z in &z_parts[..z_count] {
            let mut k = z.first;
            while k < z.end {
                // Only the first plane has none before it.
                let next_k = if one_by_one & 4 != 0 && k == 0 { 1 } else { z.end };
                for y in &y_parts[..y_count] {
                    let mut j = y.first;
                    while j < y.end {
                        let next_j = if one_by_one & 2 != 0 { j + 1 } else { y.end };
                        let mut rows = Rows {
                            planes: next_k - k,
                            count: next_j - j,
                            len: nx,
                            at: level.row(NEW, j, k),
                            first: level.row(NEW, 0, 0),
                            plane: level.plane(NEW),
                            x: level.row(NEW & !1, j, k),
                            x_row: x.coarse,
                            x_plane: level.plane(NEW & !1),
                            y: &y.across,
                            y_first: k * level.plane(NEW & !2),
                            y_plane: level.plane(NEW & !2),
                            z: &z.across,
                            z_first: j * nx,
                            z_plane: plane_z,
                            before: [0; 2],
                        };
                        if !is_new(NEW, 0) {
                            // Rows that need nothing along x are as one.
                            (rows.count, rows.len) = (1, rows.count * nx);
                        }
                        if one_by_one & 2 != 0 && j > 0 {
                            rows.before[0] = nx;
                        }
                        if one_by_one & 4 != 0 && k > 0 {
                            rows.before[1] = level.plane(NEW);
                        }
                        self.rows::<NEW>(level, ends, &rows);
                        j = next_j;
                    }
                }
                k = next_k;
            }
        }
        self.put_codes::<NEW>(level, differences);
    }

    /// Puts the codes of a class to their places: differences along axes, if any.
    #[inline(always)]
    fn put_codes<const NEW: u8>(&mut self, level: &NodeLevel, differences: u8) {
        let l = self.l;
        let [nx, ny, nz] = level.counts(NEW);
        for k in 0..nz {
            let (from, to) = (k * level.plane(NEW), level.code(NEW, 0, k));
            let mut i = 0;
            while i < nx * ny {
                let code = l.load_at(self.signed, from + i);
                l.store_at(if differences == 0 { l.zigzag(code) } else { code }, self.codes, to + i);
                i += L::N;
            }
        }
        if differences != 0 {
            let first = level.code(NEW, 0, 0);
            difference(&mut self.codes[first..first + nx * ny * nz], differences, [nx, ny, nz]);
        }
    }

    /// Whether all that is read and written for a class of the level is there. These are numbers of its classes, errors
    /// of those that have some, and signed codes of all of its planes.
    #[inline(always)]
    fn holds(&self, level: &NodeLevel, planes: usize) -> bool {
        level.end <= self.restored.len()
            && level.end_of_errors - level.errors <= self.errors.len()
            && level.end <= self.numbers.len()
            && planes + LONGEST <= self.signed.len()
    }

    /// Whether what is read and written for some rows is what `holds` looks at.
    fn are_there<const NEW: u8>(level: &NodeLevel, rows: &Rows) -> bool {
        let (planes, span) = (rows.planes - 1, rows.count * rows.len + LONGEST);
        let of =
            |at: &Across, first: usize, plane: usize| at.at.map(|at| [at + first, at + first + planes * plane + span]);
        let own = [rows.at, rows.at + planes * rows.plane + span];
        let x = [rows.x - 1, rows.x + planes * rows.x_plane + rows.count * rows.x_row + LONGEST + 2];
        let (y, z) = (of(rows.y, rows.y_first, rows.y_plane), of(rows.z, rows.z_first, rows.z_plane));
        let is_there = |[_, end]: [usize; 2]| end <= level.end;
        let has_error = |[first, end]: [usize; 2]| first >= level.errors && end <= level.end_of_errors;
        let (errors_of_x, errors_of_y) = (matches!(NEW, 0b011 | 0b101 | 0b111), matches!(NEW, 0b110 | 0b111));
        is_there(own)
            && (!is_new(NEW, 0) || is_there(x))
            && (!is_new(NEW, 1) || y.into_iter().all(is_there))
            && (!is_new(NEW, 2) || z.into_iter().all(is_there))
            && (!matches!(NEW, 0b010 | 0b100 | 0b101 | 0b110) || has_error(own))
            && (!errors_of_x || has_error(x))
            && (!errors_of_y || y.into_iter().all(has_error))
    }

    /// Rows that are predicted alike.
    #[inline(always)]
    #[expect(unsafe_code, reason = "a row asks for its room once, not each vector")]
    fn rows<const NEW: u8>(&mut self, level: &NodeLevel, ends: &[End], rows: &Rows) {
        debug_assert!(Self::are_there::<NEW>(level, rows));
        let (l, rough) = (self.l, self.rule.rough);
        let step = if self.rule.coarse { level.step } else { 1 };
        let (step_v, inverse, half) = (l.splat(step), 1.0 / step as f32, l.splat(1 << (POINT - 1)));
        let tail = rows.len % L::N;
        let (tail_at, tail) = (rows.len - tail, l.load_at(&THERE, LONGEST - tail));
        let (restored, errors, signed) = (&mut *self.restored, &mut *self.errors, &mut *self.signed);
        let (numbers, is_masked) = (self.numbers, self.is_masked);
        let mut any = self.any;
        for k in 0..rows.planes {
            for r in 0..rows.count {
                let row = r * rows.len;
                let row_x = rows.x + k * rows.x_plane + r * rows.x_row;
                let mut v = 0;
                while v < rows.len {
                    let at = rows.at + k * rows.plane + row + v;
                    let y = rows.y_first + k * rows.y_plane + row + v;
                    let (z, x) = (rows.z_first + k * rows.z_plane + row + v, row_x + v);
                    let nodes = Nodes { l, level, ends, rows, rough, restored, errors, y, z, x, v };
                    let (p16, apart) = nodes.predict::<NEW>();
                    let p = l.right::<POINT>(l.add(p16, half));
                    // SAFETY: the slices hold all rows of the class, and a vector behind them, as was asserted; these
                    // are some of them, and v is less than the length of a row.
                    unsafe {
                        let number = l.load_in(numbers, at);
                        let mut d = l.sub(number, p);
                        if v == tail_at {
                            d = l.and(d, tail);
                        }
                        // Of numbers that count the upper two bits are alike.
                        let absent = match is_masked {
                            true => l.right::<31>(l.xor(number, l.left::<1>(number))),
                            false => l.splat(0),
                        };
                        if is_masked {
                            d = l.select(absent, l.splat(0), d);
                        }
                        any = l.or(any, l.xor(d, l.right::<31>(d)));
                        let mut code = if step == 1 { d } else { l.nearest(d, inverse) };
                        if is_masked && rows.before != [0; 2] {
                            code = l.select(absent, before(l, signed, rows, at - rows.first), code);
                        }
                        l.store_in(code, signed, at - rows.first);
                        let error = if step == 1 { code } else { l.mul(code, step_v) };
                        let sum = l.add(p, error);
                        l.store_in(sum, restored, at);
                        if NEW == 0b101 {
                            let alone = l.right::<POINT>(l.add(apart, half));
                            l.store_in(l.sub(sum, alone), errors, at - level.errors);
                        } else if NEW == 0b010 || NEW == 0b100 || NEW == 0b110 {
                            l.store_in(error, errors, at - level.errors);
                        }
                    }
                    v += L::N;
                }
            }
        }
        self.any = any;
    }
}

/// What codes are differences to that stand at `at`: those of the rows before them.
#[inline(always)]
fn before<L: Lanes>(l: L, codes: &[u32], rows: &Rows, at: usize) -> L::V {
    match rows.before {
        [y, 0] => l.load_at(codes, at - y),
        [0, z] => l.load_at(codes, at - z),
        [y, z] => {
            let both = l.add(l.load_at(codes, at - y), l.load_at(codes, at - z));
            l.sub(both, l.load_at(codes, at - y - z))
        }
    }
}

/// Replaces the codes of a class, as signed numbers, by their differences along axes.
#[inline(always)]
pub fn difference(codes: &mut [u32], axes: u8, [nx, ny, _]: [usize; AXES]) {
    if axes & 4 != 0 {
        difference_rows(codes, nx * ny);
    }
    if axes & 2 != 0 {
        for plane in codes.chunks_exact_mut(nx * ny) {
            difference_rows(plane, nx);
        }
    }
    for row in codes.chunks_exact_mut(nx) {
        let mut before = 0u32;
        for code in row {
            let own = *code;
            let d = if axes & 1 != 0 { own.wrapping_sub(before) } else { own };
            *code = d << 1 ^ (d as i32 >> 31) as u32;
            before = own;
        }
    }
}

/// Takes from each row of this length but the first one the one before it.
#[inline(always)]
fn difference_rows(codes: &mut [u32], len: usize) {
    for at in (len..codes.len()).step_by(len).rev() {
        let (before, row) = codes[at - len..at + len].split_at_mut(len);
        for i in 0..len {
            row[i] = row[i].wrapping_sub(before[i]);
        }
    }
}

/// The nodes around those of a vector, of rows that a pass holds.
struct Nodes<'a, L> {
    l: L,
    level: &'a NodeLevel,
    ends: &'a [End],
    rows: &'a Rows<'a>,
    rough: bool,
    restored: &'a [u32],
    errors: &'a [u32],
    /// How far the vector is behind where the rows begin that make the first one along y and z.
    y: usize,
    z: usize,
    /// Where the coarse node before its first one is, along x.
    x: usize,
    /// How far it is behind where its row begins.
    v: usize,
}

impl<L: Lanes> Nodes<'_, L> {
    /// 16 times the prediction of a vector's nodes, and of the part of it that class XZ has apart.
    #[inline(always)]
    fn predict<const NEW: u8>(&self) -> (L::V, L::V) {
        let (l, r, e, rough) = (self.l, self.restored, self.errors, self.rough);
        let first_error = self.level.errors;
        let Rows { y, z, .. } = self.rows;
        let first = match NEW {
            0b001 => self.along_x(r, 0),
            0b010 | 0b011 => self.across(r, y, self.y, 0),
            _ => self.across(r, z, self.z, 0),
        };
        let p16 = match NEW {
            0b011 | 0b101 => {
                let of_errors = self.along_x(e, first_error);
                if rough { half_boolean(l, first, self.along_x(r, 0), of_errors) } else { l.add(first, of_errors) }
            }
            0b110 => {
                let of_errors = self.across(e, y, self.y, first_error);
                if rough {
                    half_boolean(l, first, self.across(r, y, self.y, 0), of_errors)
                } else {
                    l.add(first, of_errors)
                }
            }
            0b111 => {
                let of_errors = l.add(self.across(e, y, self.y, first_error), self.along_x(e, first_error));
                let boolean = l.add(first, of_errors);
                if rough {
                    let others = l.add(self.across(r, y, self.y, 0), self.along_x(r, 0));
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

    /// 16 times what coarse nodes of a row make of the new ones between them; `numbers` are those from `first` on.
    #[inline(always)]
    #[expect(unsafe_code, reason = "a row asks for its room once, not each vector")]
    fn along_x(&self, numbers: &[u32], first: usize) -> L::V {
        let (l, rough) = (self.l, self.rough);
        // SAFETY: the pass holds the rows of coarse nodes, one before them and a vector from the second one behind.
        let node = |k: usize| unsafe { l.load_in(numbers, self.x + k - 1 - first) };
        let (b, c) = (node(1), node(2));
        let Some(End { kind, weights, any }) = self.level.end(self.ends, rough, self.v, L::N) else {
            return if rough { l.left::<3>(l.add(b, c)) } else { even(l, node(0), b, c, node(3)) };
        };
        if *kind == WeightKind::Mean {
            return l.left::<3>(l.add(b, c));
        }
        let (a, d) = (node(0), node(3));
        let middle = if rough { l.left::<3>(l.add(b, c)) } else { even(l, a, b, c, d) };
        if *kind == WeightKind::Even {
            return middle;
        }
        let by_weights = weighted(l, [a, b, c, d], weights.each_ref().map(|weights| l.load(weights)));
        l.select(l.load(any), by_weights, middle)
    }

    /// 16 times what the nodes of four rows make; `numbers` are those from `first` on.
    #[inline(always)]
    #[expect(unsafe_code, reason = "a row asks for its room once, not each vector")]
    fn across(&self, numbers: &[u32], rows: &Across, shift: usize, first: usize) -> L::V {
        let l = self.l;
        // SAFETY: the pass holds as many numbers from where each of these rows begins.
        let node = |k: usize| unsafe { l.load_in(numbers, rows.at[k] + shift - first) };
        let (b, c) = (node(1), node(2));
        match rows.kind {
            WeightKind::Even => even(l, node(0), b, c, node(3)),
            WeightKind::Mean => l.left::<3>(l.add(b, c)),
            WeightKind::Any => {
                let (a, d) = (node(0), node(3));
                let [w0, _, w2, w3] = rows.weights;
                weighted(l, [a, b, c, d], [l.splat(w0), l.splat(w2), l.splat(w3)])
            }
        }
    }
}

/// Of two axes half of the boolean sum and half of the mean, of what they make and what the errors along the other
/// make.
#[inline(always)]
pub fn half_boolean<L: Lanes>(l: L, first: L::V, second: L::V, of_errors: L::V) -> L::V {
    let three = l.add(l.left::<1>(first), first);
    l.right::<2>(l.add(l.add(three, second), l.left::<1>(of_errors)))
}

/// 16 times the cubic through four evenly spaced nodes, in the middle.
#[inline(always)]
pub fn even<L: Lanes>(l: L, a: L::V, b: L::V, c: L::V, d: L::V) -> L::V {
    let inner = l.add(b, c);
    l.sub(l.add(l.left::<3>(inner), inner), l.add(a, d))
}

/// 16 times what four nodes make, of which the second has what the weights of the others leave of 2^`WEIGHT_BITS`.
#[inline(always)]
pub fn weighted<L: Lanes>(l: L, [a, b, c, d]: [L::V; 4], [wa, wc, wd]: [L::V; 3]) -> L::V {
    let sum = l.add(l.mul(l.sub(a, b), wa), l.add(l.mul(l.sub(c, b), wc), l.mul(l.sub(d, b), wd)));
    let rest = l.right::<{ WEIGHT_BITS - POINT }>(l.add(sum, l.splat(1 << (WEIGHT_BITS - POINT - 1))));
    l.add(l.left::<POINT>(b), rest)
}
