//! Whole rows of 32 elements within a bound, from the elements to codes: the rows that coarser levels need are read
//! first. The finest level, seven of eight nodes, goes through the tile once, plane by plane, two classes at a time.
//!
//! A row is its even nodes and its odd ones, those one place further: the last node, which is coarse, comes first.

// Iterators and closures may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use std::marker::PhantomData;

use super::levels::{COARSE, NodeLevel};
use super::pass::{Pass, difference, even, half_boolean, weighted};
use super::weights::{Nodes, WeightKind};
use super::{Buffers, MOST};
use crate::codec::interp::format::{LATTICE_STEP, Rule};
use crate::codec::interp::lattice::{Lattice, Multiple};
use crate::codec::interp::rules::{MANY_MULTIPLES, MOST_NUMBER};
use crate::error::Result;
use crate::host::memory::{Aligned, reserve};
use crate::primitives::lorenzo::AXES;
use crate::simd::lanes::{By, ByLevel, LONGEST, Lanes, THERE};
use crate::simd::vec::{LANES, Simd};
use crate::simd::word::Word;

/// Elements of a row.
pub const ROW_LEN: usize = LANES;
/// Those of a half, and new nodes, the first of which is the last one of the row.
const HALF: usize = ROW_LEN / 2;
/// Coarse nodes of a row.
const NODES: usize = HALF + 1;

/// What is restored of the finest level.
pub struct Room {
    /// Rows, even and odd nodes.
    rows: Aligned<u32>,
    /// Of a plane between coarse ones what was restored less what was predicted: along z of odd nodes.
    errors: Aligned<u32>,
    /// Elements that are multiples already: where they are, and these.
    on: Vec<(u16, u32)>,
}

impl Room {
    /// For tiles of a grid with these sides.
    pub fn new(sides: [usize; AXES]) -> Result<Room> {
        let n = if sides[0] == ROW_LEN { sides.iter().product() } else { 0 };
        let mut on = Vec::new();
        reserve(&mut on, n)?;
        Ok(Room { rows: Aligned::zeros(n)?, errors: Aligned::zeros(if n > 0 { sides[1] * ROW_LEN } else { 0 })?, on })
    }
}

/// Encodes a tile with rows of 32 in steps by a rule, from its elements.
pub struct FromElements<'a, E> {
    pub lattice: &'a Lattice,
    pub data: &'a [u8],
    pub lens: [usize; AXES],
    pub rule: Rule,
    pub buffers: &'a mut Buffers,
    pub room: &'a mut Room,
    pub codes: &'a mut [u32],
    /// Gets the multiples of elements that are some, and were not restored, less what was.
    pub corrections: &'a mut Vec<(u16, i32)>,
    pub element: PhantomData<E>,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Encoded {
    /// What is taken from numbers.
    pub base: i32,
    /// How many elements that are multiples are no bins.
    pub off_bins: u64,
}

impl<E: Multiple> ByLevel for FromElements<'_, E> {
    /// Nothing if some elements have no multiple, too many are some already, or differences are too large.
    type Done = Option<Encoded>;

    #[inline(always)]
    fn run<P: Simd<M>, const M: usize>(self, p: P) -> Option<Encoded> {
        let FromElements { lattice, data, lens, rule, buffers, room, codes, corrections, .. } = self;
        let n = lens.iter().product::<usize>();
        buffers.fit(lens, lanes::<M>());
        buffers.is_masked = false;
        let Buffers { layouts, layout, numbers, restored, errors, signed, .. } = buffers;
        let layout = &layouts[*layout];
        let level = &layout.levels[0];
        let l: By<P, M> = By(p);
        let coarse = level.row(COARSE, 0, 0);
        room.on.clear();
        let first: [E::Word; 1] = [E::Word::load(data)];
        let base = E::block(lattice, &first).numbers[0];
        let (element, on) = (PhantomData::<E>, &mut room.on);
        let mut read = Read { p, lattice, data, base, any: p.splat(0), is_wide: 0, on, element };
        let [_, y, z] = &level.nodes;
        for k in 0..z.coarse {
            for j in 0..y.coarse {
                let at = place(level, z.place(k), y.place(j));
                let row = read.row(at);
                let node = coarse + (k * y.coarse + j) * NODES;
                for i in 0..M / 2 {
                    p.store(row[i], &mut numbers[node + i * lanes::<M>()..]);
                    p.store(row[M / 2 + i], &mut room.rows[at + HALF + i * lanes::<M>()..]);
                }
                numbers[node + HALF] = room.rows[at + HALF];
            }
        }
        let most_on = n / MANY_MULTIPLES;
        if read.is_wide != 0 || read.on.len() > most_on {
            return None;
        }
        layout.split_coarse(l, numbers);
        let mut pass = Pass { l, rule, numbers, is_masked: false, restored, errors, signed, codes, any: l.splat(0) };
        pass.run_to(layout, 1);
        let (any, mut ends) = (pass.any, [[0; HALF]; 4]);
        for j in 0..level.nodes[0].new {
            let weights = level.nodes[0].weights(rule.rough, j);
            if WeightKind::of(weights) == WeightKind::Any {
                (ends[0][j + 1], ends[1][j + 1], ends[2][j + 1]) = (weights[0], weights[2], weights[3]);
                ends[3][j + 1] = u32::MAX;
            }
        }
        let (nodes, rows, of_plane) = (&restored[coarse..], &mut room.rows[..], &mut room.errors[..]);
        let mut finest = Finest { l, level, rule, nodes, rows, errors: of_plane, codes, any, ends };
        for k in 0..z.new {
            // The coarse planes that make this one.
            let from = if k == 0 { 0 } else { (k + 2).min(z.coarse) };
            for a in from..(k + 3).min(z.coarse) {
                finest.even_plane(&mut read, a);
            }
            finest.odd_plane(&mut read, k);
        }
        let from = if z.new == 0 { 0 } else { (z.new + 2).min(z.coarse) };
        for a in from..z.coarse {
            finest.even_plane(&mut read, a);
        }
        finest.differ();
        let many = read.on.len() > most_on;
        let is_near = l.any(read.any) < MOST_NUMBER && read.is_wide == 0;
        if many || !is_near || l.any(finest.any) >= MOST {
            return None;
        }
        let mut off_bins = 0;
        corrections.clear();
        for (i, number) in room.on.iter() {
            let x = usize::from(*i) % ROW_LEN;
            let at = usize::from(*i) - x + if x.is_multiple_of(2) { x / 2 } else { HALF + (x / 2 + 1) % HALF };
            off_bins += u64::from((*number as i32).wrapping_add(base) % LATTICE_STEP as i32 != 0);
            if room.rows[at] != *number {
                corrections.push((*i, number.wrapping_sub(room.rows[at]) as i32));
            }
        }
        corrections.sort_unstable_by_key(|(i, _)| *i);
        Some(Encoded { base, off_bins })
    }
}

/// Where a row begins, by its places along z and y.
#[inline(always)]
fn place(level: &NodeLevel, z: usize, y: usize) -> usize {
    (z * level.nodes[1].len + y) * ROW_LEN
}

/// Elements on their way to numbers.
struct Read<'a, E, P: Simd<M>, const M: usize> {
    p: P,
    lattice: &'a Lattice,
    data: &'a [u8],
    base: i32,
    /// All bits of numbers, or of their complements.
    any: P::V,
    is_wide: u32,
    on: &'a mut Vec<(u16, u32)>,
    element: PhantomData<E>,
}

impl<E: Multiple, P: Simd<M>, const M: usize> Read<'_, E, P, M> {
    /// The numbers of the row whose first element is this one.
    #[inline(always)]
    fn row(&mut self, at: usize) -> [P::V; M] {
        let (p, size, n) = (self.p, size_of::<E::Word>(), lanes::<M>());
        let bytes = &self.data[at * size..(at + ROW_LEN) * size];
        let mut bits = [E::Word::ZERO; ROW_LEN];
        for i in 0..ROW_LEN {
            bits[i] = E::Word::load(&bytes[i * size..(i + 1) * size]);
        }
        let block = E::block(self.lattice, &bits);
        let (mut numbers, mut any_on) = ([0u32; ROW_LEN], 0);
        for i in 0..ROW_LEN {
            numbers[i] = block.numbers[i].wrapping_sub(self.base) as u32;
            any_on |= block.on[i];
            self.is_wide |= block.wide[i];
        }
        if any_on != 0 {
            self.note(at, &numbers, &block.on);
        }
        let mut row = [p.splat(0); M];
        for i in 0..M / 2 {
            let both = [p.load(&numbers[2 * i * n..]), p.load(&numbers[(2 * i + 1) * n..])];
            for v in both {
                self.any = p.or(self.any, p.xor(v, p.right_signed::<31>(v)));
            }
            [row[i], row[M / 2 + i]] = p.unzip(both[0], both[1]);
        }
        let mut before = row[M - 1];
        for i in M / 2..M {
            (row[i], before) = (p.shifted_in(before, row[i]), row[i]);
        }
        row
    }

    #[cold]
    #[inline(never)]
    fn note(&mut self, at: usize, numbers: &[u32; ROW_LEN], on: &[u32; ROW_LEN]) {
        let ons = (0..ROW_LEN).filter(|i| on[*i] != 0);
        self.on.extend(ons.map(|i| ((at + i) as u16, numbers[i])));
    }
}

/// The finest level on its way.
struct Finest<'a, P: Simd<M>, const M: usize> {
    l: By<P, M>,
    level: &'a NodeLevel,
    rule: Rule,
    /// What coarser levels restored, row after row.
    nodes: &'a [u32],
    rows: &'a mut [u32],
    errors: &'a mut [u32],
    codes: &'a mut [u32],
    any: P::V,
    /// Of the new nodes along x that are not made as the others the weights of their coarse nodes but the second; all
    /// bits of these.
    ends: [[u32; HALF]; 4],
}

/// Numbers of a vector.
const fn lanes<const M: usize>() -> usize {
    LANES / M
}

impl<P: Simd<M>, const M: usize> Finest<'_, P, M> {
    /// A coarse plane.
    #[inline(always)]
    fn even_plane<E: Multiple>(&mut self, read: &mut Read<E, P, M>, a: usize) {
        let level = self.level;
        let [_, y, z] = &level.nodes;
        let plane = place(level, z.place(a), 0);
        for b in 0..y.coarse {
            self.x_row(plane + y.place(b) * ROW_LEN, (a * y.coarse + b) * NODES, level.code(0b001, b, a));
        }
        for j in 0..y.new {
            let at = plane + (2 * j + 1) * ROW_LEN;
            let numbers = read.row(at);
            let from_y = self.across(y, j, self.rows, plane, ROW_LEN);
            let codes = [level.code(0b010, j, a), level.code(0b011, j, a)];
            self.pair::<false>(at, &numbers, &from_y, [&from_y; 2], (codes, self.is_raw(0b010)));
        }
    }

    /// A plane between two coarse ones.
    #[inline(always)]
    fn odd_plane<E: Multiple>(&mut self, read: &mut Read<E, P, M>, k: usize) {
        let level = self.level;
        let [_, y, z] = &level.nodes;
        let (plane, stride) = (place(level, 2 * k + 1, 0), place(level, 1, 0));
        for b in 0..y.coarse {
            let row = y.place(b) * ROW_LEN;
            let numbers = read.row(plane + row);
            let from_z = self.across(z, k, self.rows, row, stride);
            let codes = [level.code(0b100, b, k), level.code(0b101, b, k)];
            let errors = self.pair::<false>(plane + row, &numbers, &from_z, [&from_z; 2], (codes, self.is_raw(0b100)));
            for i in 0..M {
                self.l.store_at(errors[i], self.errors, row + i * lanes::<M>());
            }
        }
        for j in 0..y.new {
            let row = (2 * j + 1) * ROW_LEN;
            let numbers = read.row(plane + row);
            let from_z = self.across(z, k, self.rows, row, stride);
            let of_errors = self.across(y, j, self.errors, 0, ROW_LEN);
            let from_y = if self.rule.rough { self.across(y, j, self.rows, plane, ROW_LEN) } else { from_z };
            let codes = [level.code(0b110, j, k), level.code(0b111, j, k)];
            self.pair::<true>(plane + row, &numbers, &from_z, [&from_y, &of_errors], (codes, false));
        }
    }

    /// Codes of a class are signed, as they become differences.
    #[inline(always)]
    fn is_raw(&self, class: u8) -> bool {
        self.level.has_differences && self.rule.set & !class != 0
    }

    /// The new nodes of a row whose others coarser levels restored.
    #[inline(always)]
    fn x_row(&mut self, at: usize, node: usize, code: usize) {
        let (l, n) = (self.l, lanes::<M>());
        let mut row = [l.splat(0); M];
        for i in 0..M / 2 {
            row[i] = l.load_at(self.nodes, node + i * n);
            row[M / 2 + i] = l.load_at(self.rows, at + HALF + i * n);
        }
        row[M / 2] = l.select(self.first(), l.splat(self.nodes[node + HALF]), row[M / 2]);
        let from_x = self.along_x(&row);
        let mut codes = row;
        for i in M / 2..M {
            let mut p = half(l, from_x[i]);
            if i == M / 2 {
                p = l.select(self.first(), row[i], p);
            }
            (codes[i], row[i]) = self.node(row[i], p);
        }
        self.put_odd(code, &codes, self.is_raw(0b001));
        self.put_row(at, &row);
    }

    /// Two classes of a row: its even nodes and the last one, made by `from`, and its odd ones, made by these and along
    /// x. With BOTH `others` are what the row is made of along y: nodes, and errors. Errors as others ask for them.
    #[inline(always)]
    fn pair<const BOTH: bool>(
        &mut self,
        at: usize,
        numbers: &[P::V; M],
        from: &[P::V; M],
        [from_y, of_errors]: [&[P::V; M]; 2],
        (codes, is_raw): ([usize; 2], bool),
    ) -> [P::V; M] {
        let (l, rough) = (self.l, self.rule.rough);
        let (mut row, mut errors, mut signed) = (*numbers, *numbers, *numbers);
        let mut last = from[0];
        for i in 0..M / 2 + 1 {
            let p = match (BOTH, rough) {
                (false, _) => from[i],
                (true, false) => l.add(from[i], of_errors[i]),
                (true, true) => half_boolean(l, from[i], from_y[i], of_errors[i]),
            };
            let p = half(l, p);
            if i < M / 2 {
                (signed[i], row[i]) = self.node(numbers[i], p);
            } else {
                // Of these the first one alone is there: it is looked at with the odd nodes.
                let any = self.any;
                (_, row[i]) = self.node(numbers[i], p);
                (self.any, last) = (any, p);
            }
            errors[i] = l.sub(row[i], p);
        }
        let along_errors = self.along_x(&errors);
        let along_nodes = if rough { self.along_x(&row) } else { along_errors };
        for i in M / 2..M {
            let p = match (BOTH, rough) {
                (false, false) => l.add(from[i], along_errors[i]),
                (false, true) => half_boolean(l, from[i], along_nodes[i], along_errors[i]),
                (true, _) => {
                    let boolean = l.add(from[i], l.add(of_errors[i], along_errors[i]));
                    if rough {
                        let others = l.add(from_y[i], along_nodes[i]);
                        let mean = l.right::<2>(l.add(l.left::<1>(from[i]), others));
                        l.right::<1>(l.add(mean, boolean))
                    } else {
                        boolean
                    }
                }
            };
            let mut p = half(l, p);
            if i == M / 2 {
                p = l.select(self.first(), last, p);
            }
            (signed[i], row[i]) = self.node(numbers[i], p);
            errors[i] = l.sub(row[i], half(l, from[i]));
        }
        let last = self.put_odd(codes[1], &signed, false);
        for i in 0..M / 2 {
            let code = if is_raw { signed[i] } else { l.zigzag(signed[i]) };
            l.store_at(code, self.codes, codes[0] + i * lanes::<M>());
        }
        self.codes[codes[0] + HALF] = if is_raw { last >> 1 ^ 0u32.wrapping_sub(last & 1) } else { last };
        self.put_row(at, &row);
        errors
    }

    /// The signed codes of numbers, and what they restore of them.
    #[inline(always)]
    fn node(&mut self, numbers: P::V, p: P::V) -> (P::V, P::V) {
        let (l, step) = (self.l, self.level.step);
        let d = l.sub(numbers, p);
        self.any = l.or(self.any, l.xor(d, l.right::<31>(d)));
        let code = l.nearest(d, 1.0 / step as f32);
        (code, l.add(p, l.mul(code, l.splat(step))))
    }

    /// Stores the codes of a row's odd nodes from `at` on; the one of its last node.
    #[inline(always)]
    fn put_odd(&mut self, at: usize, signed: &[P::V; M], is_raw: bool) -> u32 {
        let (l, at) = (self.l, at - 1);
        let before = self.codes[at];
        for i in 0..M / 2 {
            let code = signed[M / 2 + i];
            l.store_at(if is_raw { code } else { l.zigzag(code) }, self.codes, at + i * lanes::<M>());
        }
        std::mem::replace(&mut self.codes[at], before)
    }

    #[inline(always)]
    fn put_row(&mut self, at: usize, row: &[P::V; M]) {
        for i in 0..M {
            self.l.store_at(row[i], self.rows, at + i * lanes::<M>());
        }
    }

    /// All bits of the first number.
    #[inline(always)]
    fn first(&self) -> P::V {
        self.l.load_at(&THERE, LONGEST - 1)
    }

    /// 16 times what a row's even nodes and its last one make of the odd ones.
    #[inline(always)]
    fn along_x(&self, row: &[P::V; M]) -> [P::V; M] {
        let (l, p) = (self.l, self.l.0);
        let mut made = *row;
        let (mut b_before, mut c_before) = (row[0], row[0]);
        for i in 0..M / 2 {
            let c = row[i];
            let b = p.shifted_in(c_before, c);
            if self.rule.rough {
                made[M / 2 + i] = l.left::<3>(l.add(b, c));
            } else {
                let (a, d) = (p.shifted_in(b_before, b), p.ahead(c, row[i + 1]));
                let by_weights = {
                    let of = |k: usize| l.load_at(&self.ends[k], i * lanes::<M>());
                    weighted(l, [a, b, c, d], [of(0), of(1), of(2)])
                };
                let is_end = l.load_at(&self.ends[3], i * lanes::<M>());
                made[M / 2 + i] = l.select(is_end, by_weights, even(l, a, b, c, d));
            }
            (b_before, c_before) = (b, c);
        }
        made
    }

    /// 16 times what the coarse rows of an axis make of new one `j`; they begin at `start`, those of its nodes `stride`
    /// apart.
    #[inline(always)]
    fn across(&self, nodes: &Nodes, j: usize, from: &[u32], start: usize, stride: usize) -> [P::V; M] {
        let (l, rough) = (self.l, self.rule.rough);
        let weights = nodes.weights(rough, j);
        let mut at = [start; 4];
        for k in 0..4 {
            at[k] += nodes.place((j + k).saturating_sub(1).min(nodes.coarse - 1)) * stride;
        }
        let kind = if j > 0 && j + 2 < nodes.new { WeightKind::regular(rough) } else { WeightKind::of(weights) };
        let mut made = [l.splat(0); M];
        for i in 0..M {
            let node = |k: usize| l.load_at(from, at[k] + i * lanes::<M>());
            let (b, c) = (node(1), node(2));
            made[i] = match kind {
                WeightKind::Even => even(l, node(0), b, c, node(3)),
                WeightKind::Mean => l.left::<3>(l.add(b, c)),
                WeightKind::Any => {
                    let [w0, _, w2, w3] = weights;
                    weighted(l, [node(0), b, c, node(3)], [l.splat(w0), l.splat(w2), l.splat(w3)])
                }
            };
        }
        made
    }

    /// Makes differences of the codes that are to be some.
    #[inline(always)]
    fn differ(&mut self) {
        for class in [0b001, 0b010, 0b100] {
            let lens = self.level.counts(class);
            let (first, count) = (self.level.code(class, 0, 0), lens.iter().product::<usize>());
            if self.is_raw(class) && count > 0 {
                difference(&mut self.codes[first..first + count], self.rule.set & !class, lens);
            }
        }
    }
}

/// Half a sixteenth more, in whole numbers.
#[inline(always)]
fn half<L: Lanes>(l: L, p16: L::V) -> L::V {
    l.right::<4>(l.add(p16, l.splat(8)))
}
