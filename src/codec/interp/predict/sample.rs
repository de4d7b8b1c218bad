//! What differences along sets of axes cost, by some pieces of a tile's rows.

use crate::codec::interp::rules::{LITTLE, PIECE, cost_of_sum, sample_every};
use crate::primitives::lorenzo::AXES;
use crate::simd::word::Word;

/// Sets of axes.
pub const SETS: usize = 1 << AXES;
/// What a magnitude counts at most.
pub const MOST: u64 = 1 << 56;

/// The best set of axes, of those that have more than one element, and what its differences cost in all. Of a tile that
/// looks cheap all pieces are asked: few say little of it.
pub fn best_set<N: Word>(lens: [usize; AXES], number: impl Fn(usize) -> N) -> (u8, u64) {
    let every = sample_every(lens, axis_of(lens));
    let best = best_of(lens, every, &number);
    let is_cheap = best.1 < LITTLE * lens.iter().product::<usize>() as u64;
    if is_cheap && every > 1 { best_of(lens, 1, &number) } else { best }
}

/// The same by one piece of so many. Without axes numbers are distances from the tile's first one, or from the middle
/// of those that are sampled.
fn best_of<N: Word>(lens: [usize; AXES], every: usize, number: &impl Fn(usize) -> N) -> (u8, u64) {
    let mut seen = Seen { costs: [0; SETS], count: 0, ends: (i64::MAX, i64::MIN) };
    each_piece(lens, every, |piece| seen.add(piece, number));
    let (least, most) = seen.ends;
    let middle = N::from_u64(least.wrapping_add((most.wrapping_sub(least) as u64 / 2) as i64) as u64);
    let mut from_middle = 0;
    each_piece(lens, every, |Stretch { at, stride, count, .. }| {
        let distance = |k: usize| number(at + k * stride).sub(middle).magnitude().to_u64().min(MOST);
        from_middle += cost_of_sum((0..count).map(distance).sum(), count as u64);
    });
    let costs = &mut seen.costs;
    costs[0] = costs[0].min(from_middle);
    let allowed = |set: &usize| (0..AXES).all(|a| set >> a & 1 == 0 || lens[a] > 1);
    let set = (0..SETS).filter(allowed).min_by_key(|set| costs[*set]).unwrap_or(0);
    (set as u8, costs[set] * lens.iter().product::<usize>() as u64 / seen.count.max(1))
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
struct Seen {
    /// What differences along each set cost.
    costs: [u64; SETS],
    count: u64,
    /// The least number and the greatest one.
    ends: (i64, i64),
}

impl Seen {
    fn add<N: Word>(&mut self, piece: Stretch, number: &impl Fn(usize) -> N) {
        let Stretch { at, stride, count, before: [x, y, z], is_first } = piece;
        let (first, mut sums) = (number(0), [0u64; SETS]);
        for i in (at..at + count * stride).step_by(stride) {
            let own = [i, i - x].map(number);
            let of_y = [0, x].map(|x| number(i - x).sub(number(i - x - y)));
            let of_z = [0, x].map(|x| number(i - x).sub(number(i - x - z)));
            let both = [0, 1].map(|k| of_z[k].sub(number(i - k * x - y).sub(number(i - k * x - y - z))));
            for (set, [here, before]) in [own, of_y, of_z, both].into_iter().enumerate() {
                let alone = if set == 0 { here.sub(first) } else { here };
                sums[2 * set] += alone.magnitude().to_u64().min(MOST);
                // The first of a row has no neighbour along x, and along x alone those along y and z.
                let along_x = if !is_first {
                    here.sub(before)
                } else if set == 0 {
                    both[0]
                } else {
                    here
                };
                sums[2 * set + 1] += along_x.magnitude().to_u64().min(MOST);
            }
            let signed = own[0].extend() as i64;
            self.ends = (self.ends.0.min(signed), self.ends.1.max(signed));
        }
        self.costs.iter_mut().zip(sums).for_each(|(cost, sum)| *cost += cost_of_sum(sum, count as u64));
        self.count += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_axes_are_found() {
        let lens = [32, 32, 16];
        let place = |i: usize| [i % 32, i / 32 % 32, i / 1024];
        let noise = |i: usize| (i.wrapping_mul(2_654_435_761) >> 7 & 1) as u32;
        let along = |axis: usize| move |i: usize| (place(i)[axis] * 100 * place(i)[axis]) as u32 + noise(i);
        // What changes along one axis alone is the same along the others.
        assert_eq!(best_set(lens, along(0)).0 & 1, 0b0);
        let mixed = |i: usize| ((i * i) as u32).wrapping_mul(0x9e37_79b1) >> 20;
        assert_eq!(best_set(lens, mixed).0, 0);
        assert_eq!(best_set([1, 1, 1], |_| 5u32), (0, 64));
        assert_eq!(best_set([500, 1, 1], |i| 7u64 * i as u64).0, 1);
    }
}
