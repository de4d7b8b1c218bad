//! What differences along sets of axes cost, by some pieces of a tile's rows.

use crate::codec::interp::format::GROUP;
use crate::codec::interp::predict::widths::Widths;
use crate::codec::interp::rules::{LITTLE, PIECE, cost_of_sum, sample_every};
use crate::primitives::lorenzo::AXES;
use crate::simd::word::Word;

/// Sets of axes.
pub const SETS: usize = 1 << AXES;
/// What a magnitude counts at most in a sum.
const MOST: u64 = 1 << 56;

/// What magnitudes cost, group by group.
pub trait Magnitudes: Copy {
    /// None yet.
    const NONE: Self;
    /// Adds one to the group.
    fn add(&mut self, magnitude: u64);
    /// Ends a group of so many.
    fn end(&mut self, count: u64);
    /// What all cost.
    fn cost(&self) -> u64;
}

/// Magnitudes of bins, by the sums of groups.
#[derive(Clone, Copy)]
pub struct Sums {
    sum: u64,
    cost: u64,
}

impl Magnitudes for Sums {
    const NONE: Sums = Sums { sum: 0, cost: 0 };

    #[inline(always)]
    fn add(&mut self, magnitude: u64) {
        self.sum += magnitude.min(MOST);
    }

    fn end(&mut self, count: u64) {
        self.cost += cost_of_sum(self.sum, count);
        self.sum = 0;
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}

impl Magnitudes for Widths {
    const NONE: Widths = Widths::NONE;

    #[inline(always)]
    fn add(&mut self, magnitude: u64) {
        Widths::add(self, magnitude);
    }

    fn end(&mut self, _: u64) {}

    fn cost(&self) -> u64 {
        Widths::cost(self)
    }
}

/// The best set of axes, of those that have more than one element, and what its differences cost in all. Of a tile that
/// looks cheap all pieces are asked: few say little of it. Without axes numbers are distances: from the tile's first
/// one, from the middle of those that are sampled, or from `zero`, where that is told.
pub fn best_set<M: Magnitudes, N: Word>(
    lens: [usize; AXES],
    zero: Option<N>,
    number: impl Fn(usize) -> N,
) -> (u8, u64) {
    let every = sample_every(lens, axis_of(lens));
    let best = best_of::<M, N>(lens, every, zero, &number);
    let is_cheap = best.1 < LITTLE * lens.iter().product::<usize>() as u64;
    if is_cheap && every > 1 { best_of::<M, N>(lens, 1, zero, &number) } else { best }
}

/// The same by one piece of so many.
fn best_of<M: Magnitudes, N: Word>(
    lens: [usize; AXES],
    every: usize,
    zero: Option<N>,
    number: &impl Fn(usize) -> N,
) -> (u8, u64) {
    let mut seen = Seen::<M> { sets: [M::NONE; SETS], count: 0, ends: (i64::MAX, i64::MIN) };
    each_piece(lens, every, |piece| seen.add(piece, number));
    let (least, most) = seen.ends;
    let middle = N::from_u64(least.wrapping_add((most.wrapping_sub(least) as u64 / 2) as i64) as u64);
    let mut costs = seen.sets.map(|of_set| of_set.cost());
    for from in [Some(middle), zero].into_iter().flatten() {
        let mut distances = M::NONE;
        each_piece(lens, every, |Stretch { at, stride, count, .. }| {
            (0..count).for_each(|k| distances.add(number(at + k * stride).sub(from).magnitude().to_u64()));
            distances.end(count as u64);
        });
        costs[0] = costs[0].min(distances.cost());
    }
    let allowed = |set: &usize| (0..AXES).all(|a| set >> a & 1 == 0 || lens[a] > 1);
    let set = (0..SETS).filter(allowed).min_by_key(|set| costs[*set]).unwrap_or(0);
    (set as u8, costs[set] * lens.iter().product::<usize>() as u64 / seen.count.max(1))
}

/// Whether numbers cost less without axes if they are distances from the middle of all, or from `zero`, than from the
/// first one: from which, else 0.
pub fn origin<M: Magnitudes, N: Word>(numbers: &[N], zero: Option<N>) -> N {
    let signed = || numbers.iter().map(|v| v.extend() as i64);
    let (least, most) = (signed().min().unwrap_or(0), signed().max().unwrap_or(0));
    let middle = N::from_u64(least.wrapping_add((most.wrapping_sub(least) as u64 / 2) as i64) as u64);
    let cost = |from: &N| {
        let mut distances = M::NONE;
        for group in numbers.chunks(GROUP) {
            group.iter().for_each(|v| distances.add(v.sub(*from).magnitude().to_u64()));
            distances.end(group.len() as u64);
        }
        distances.cost()
    };
    [Some(N::ZERO), Some(middle), zero].into_iter().flatten().min_by_key(cost).unwrap_or(N::ZERO)
}

/// Rows of fewer elements are not sampled, but columns: their elements are unlike each other.
const SHORT: usize = 16;

/// The axis along which pieces lie.
fn axis_of([nx, ny, nz]: [usize; AXES]) -> usize {
    if nx >= SHORT { 0 } else { 1 + usize::from(nz > ny) }
}

/// A piece of a row or column: where it begins, how far its elements are from each other, and how many; how far their
/// neighbours are before them, and whether they are the first ones of rows. The first element of an axis, which has no
/// neighbour before it, gives way to the second one, but that of a short row.
struct Stretch {
    at: usize,
    stride: usize,
    count: usize,
    before: [usize; AXES],
    is_first: bool,
}

/// Shows the pieces that are sampled: along rows one of so many by y + 3·z + 5·p, along columns by the other axes.
fn each_piece(lens: [usize; AXES], every: usize, mut show: impl FnMut(Stretch)) {
    let (axis, strides) = (axis_of(lens), [1, lens[0], lens[0] * lens[1]]);
    let others = [[1, 2], [0, 2], [0, 1]][axis];
    let second = |k: usize, a: usize| if a == 0 { k } else { k.max(1).min(lens[a] - 1) };
    for far in 0..lens[others[1]] {
        for near in 0..lens[others[0]] {
            for p in (0..lens[axis].div_ceil(PIECE)).filter(|p| (near + 3 * far + 5 * p) % every == every / 2) {
                let mut at = [0; AXES];
                at[others[0]] = second(near, others[0]);
                at[others[1]] = second(far, others[1]);
                at[axis] = (p * PIECE).max(1).min(lens[axis] - 1);
                let count = lens[axis].min((p + 1) * PIECE) - at[axis];
                let before = [0, 1, 2].map(|a| if at[a] > 0 { strides[a] } else { 0 });
                let place = (0..AXES).map(|a| at[a] * strides[a]).sum();
                show(Stretch { at: place, stride: strides[axis], count, before, is_first: at[0] == 0 });
            }
        }
    }
}

/// What pieces say.
struct Seen<M> {
    /// The differences along each set.
    sets: [M; SETS],
    count: u64,
    /// The least number and the greatest one.
    ends: (i64, i64),
}

impl<M: Magnitudes> Seen<M> {
    fn add<N: Word>(&mut self, piece: Stretch, number: &impl Fn(usize) -> N) {
        let Stretch { at, stride, count, before: [x, y, z], is_first } = piece;
        let first = number(0);
        for i in (at..at + count * stride).step_by(stride) {
            let own = [i, i - x].map(number);
            let of_y = [0, x].map(|x| number(i - x).sub(number(i - x - y)));
            let of_z = [0, x].map(|x| number(i - x).sub(number(i - x - z)));
            let both = [0, 1].map(|k| of_z[k].sub(number(i - k * x - y).sub(number(i - k * x - y - z))));
            for (set, [here, before]) in [own, of_y, of_z, both].into_iter().enumerate() {
                let alone = if set == 0 { here.sub(first) } else { here };
                self.sets[2 * set].add(alone.magnitude().to_u64());
                // The first of a row has no neighbour along x, and along x alone those along y and z.
                let along_x = if !is_first {
                    here.sub(before)
                } else if set == 0 {
                    both[0]
                } else {
                    here
                };
                self.sets[2 * set + 1].add(along_x.magnitude().to_u64());
            }
            let signed = own[0].extend() as i64;
            self.ends = (self.ends.0.min(signed), self.ends.1.max(signed));
        }
        self.sets.iter_mut().for_each(|of_set| of_set.end(count as u64));
        self.count += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_without_axes_are_from_where_they_cost_least() {
        // Of words that are 0 or far from it, and a first one that is neither.
        let words: Vec<u64> = (0..512u64).map(|i| if i % 3 > 0 { 0 } else { (i + 7) << 40 }).collect();
        let numbers: Vec<u64> = words.iter().map(|w| w.wrapping_sub(words[0])).collect();
        let zero = 0u64.wrapping_sub(words[0]);
        assert_eq!(origin::<Widths, _>(&numbers, Some(zero)), zero);
        let without = best_set::<Widths, _>([512, 1, 1], None, |i| numbers[i]).1;
        assert!(best_set::<Widths, _>([512, 1, 1], Some(zero), |i| numbers[i]).1 < without);
        // Numbers that are spread evenly are nearest to their middle.
        let spread: Vec<u32> = (0..512u32).map(|i| i.wrapping_mul(0x9e37_79b1) >> 8).collect();
        assert!(origin::<Sums, _>(&spread, None).abs_diff(1 << 23) < 1 << 16);
    }

    #[test]
    fn the_right_axes_are_found() {
        let lens = [32, 32, 16];
        let place = |i: usize| [i % 32, i / 32 % 32, i / 1024];
        let noise = |i: usize| (i.wrapping_mul(2_654_435_761) >> 7 & 1) as u32;
        let along = |axis: usize| move |i: usize| (place(i)[axis] * 100 * place(i)[axis]) as u32 + noise(i);
        // What changes along one axis alone is the same along the others.
        assert_eq!(best_set::<Sums, _>(lens, None, along(0)).0 & 1, 0b0);
        let mixed = |i: usize| ((i * i) as u32).wrapping_mul(0x9e37_79b1) >> 20;
        assert_eq!(best_set::<Sums, _>(lens, None, mixed).0, 0);
        assert_eq!(best_set::<Sums, _>([1, 1, 1], None, |_| 5u32), (0, 64));
        assert_eq!(best_set::<Sums, _>([500, 1, 1], None, |i| 7u64 * i as u64).0, 1);
    }
}
