//! What differences along each set of axes cost about, of all sets at once.

// Iterators and closures may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::axes::logarithm;
use crate::codec::predict::format::GROUP;
use crate::primitives::lorenzo::AXES;
use crate::simd::Task;
use crate::simd::lanes::{LONGEST, Lanes, THERE};

/// Sets of axes.
pub const SETS: usize = 1 << AXES;
/// Numbers before the first one and behind the last one.
pub const MARGIN: usize = LONGEST;

/// For each set of axes the sum of the logarithms of what the magnitudes of groups add up to. On the face of a set,
/// where the coordinates along its axes are 0, differences are along all axes if `FACES`.
pub struct CostOfSets<'a, const FACES: bool> {
    /// The lengths of a box.
    pub lens: [usize; AXES],
    /// Its numbers, row after row, between margins.
    pub numbers: &'a [u32],
}

/// All lanes but the first one.
static BEHIND_FIRST: [u32; LONGEST] = {
    let mut lanes = [u32::MAX; LONGEST];
    lanes[0] = 0;
    lanes
};

/// The sums of a group, one for each set.
struct Sums<L: Lanes> {
    l: L,
    of_group: [L::V; SETS],
    costs: [u64; SETS],
}

impl<L: Lanes> Sums<L> {
    /// Takes the sums of a group.
    #[inline(always)]
    fn end_group(&mut self) {
        for set in 0..SETS {
            let mut lanes = [0; LONGEST];
            self.l.store(self.of_group[set], &mut lanes);
            let mut sum = 0;
            for lane in lanes {
                sum += u64::from(lane);
            }
            self.costs[set] += logarithm(sum);
            self.of_group[set] = self.l.splat(0);
        }
    }
}

impl<const FACES: bool> Task for CostOfSets<'_, FACES> {
    type Done = [u64; SETS];

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> [u64; SETS] {
        let CostOfSets { lens: [nx, ny, nz], numbers } = self;
        let mut sums = Sums { l, of_group: [l.splat(0); SETS], costs: [0; SETS] };
        let mut left = GROUP;
        for z in 0..nz {
            for y in 0..ny {
                let row = Row::new(l, [nx, ny], y, z);
                let at = MARGIN + (z * ny + y) * nx;
                let mut x = 0;
                while x < nx {
                    let count = (nx - x).min(L::N).min(left);
                    row.add::<FACES>(numbers, at, x, count, &mut sums.of_group);
                    x += count;
                    left -= count;
                    if left == 0 {
                        sums.end_group();
                        left = GROUP;
                    }
                }
            }
        }
        sums.end_group();
        sums.costs
    }
}

/// A row and those before it along y and z.
struct Row<L: Lanes> {
    l: L,
    /// How far they are before it, and their bits that count.
    y: (usize, L::V),
    z: (usize, L::V),
    /// Whether it is the first one along y, or z.
    is_first: [bool; 2],
}

impl<L: Lanes> Row<L> {
    #[inline(always)]
    fn new(l: L, [nx, ny]: [usize; 2], y: usize, z: usize) -> Row<L> {
        let before = |stride: usize, at: usize| if at > 0 { (stride, l.splat(u32::MAX)) } else { (0, l.splat(0)) };
        Row { l, y: before(nx, y), z: before(nx * ny, z), is_first: [y == 0, z == 0] }
    }

    /// Adds the magnitudes of so many differences from `x` on.
    #[inline(always)]
    fn add<const FACES: bool>(&self, numbers: &[u32], at: usize, x: usize, count: usize, sums: &mut [L::V; SETS]) {
        let l = self.l;
        let behind_first = if x == 0 { l.load(&BEHIND_FIRST) } else { l.splat(u32::MAX) };
        let at = at + x;
        let [(y, of_y), (z, of_z)] = [self.y, self.z];
        let along_x = |at: usize| (l.load_at(numbers, at), l.and(l.load_at(numbers, at - 1), behind_first));
        let masked = |(own, before): (L::V, L::V), mask: L::V| (l.and(own, mask), l.and(before, mask));
        let own = along_x(at);
        let of_y_row = masked(along_x(at - y), of_y);
        let of_z_row = masked(along_x(at - z), of_z);
        let both = l.and(of_y, of_z);
        let of_yz_row = masked(along_x(at - y - z), both);
        let minus = |a: (L::V, L::V), b: (L::V, L::V)| (l.sub(a.0, b.0), l.sub(a.1, b.1));
        let (along_y, along_z) = (minus(own, of_y_row), minus(own, of_z_row));
        let along_yz = minus(along_y, minus(of_z_row, of_yz_row));
        let pairs = [own, along_y, along_z, along_yz];
        let there = l.load_at(&THERE, LONGEST - count);
        let magnitude = |v: L::V| {
            let sign = l.right::<31>(v);
            l.and(l.sub(l.xor(v, sign), sign), there)
        };
        let mut of_sets = [l.splat(0); SETS];
        for set in 0..SETS / 2 {
            of_sets[2 * set] = magnitude(pairs[set].0);
            of_sets[2 * set + 1] = magnitude(l.sub(pairs[set].0, pairs[set].1));
        }
        let all = of_sets[SETS - 1];
        let first = l.xor(behind_first, l.splat(u32::MAX));
        let [first_y, first_z] = self.is_first;
        for set in 1..SETS {
            let on_face = FACES && (set & 2 == 0 || first_y) && (set & 4 == 0 || first_z);
            if on_face {
                let lanes = if set & 1 == 1 { first } else { l.splat(u32::MAX) };
                of_sets[set] = l.select(lanes, all, of_sets[set]);
            }
            sums[set] = l.add(sums[set], of_sets[set]);
        }
        sums[0] = l.add(sums[0], of_sets[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::lorenzo;
    use crate::simd::{Level, Scalar};

    /// What differences along each set cost one after the other.
    #[test]
    fn all_sets_at_once_cost_what_each_does() {
        for lens in [[1, 1, 1], [7, 1, 1], [300, 1, 1], [1, 9, 4], [16, 16, 16], [33, 5, 3], [8, 1, 40], [130, 17, 1]] {
            let n: usize = lens.iter().product();
            let words: Vec<u32> = (0..n as u32).map(|i| (i.wrapping_mul(i) % 1009) << (i % 11)).collect();
            let mut numbers = vec![9; n + 2 * MARGIN];
            numbers[MARGIN..MARGIN + n].copy_from_slice(&words);
            let costs = Scalar.run(CostOfSets::<true> { lens, numbers: &numbers });
            for (set, cost) in costs.into_iter().enumerate() {
                let mut differences = words.clone();
                lorenzo::forward(set as u8, lens, &mut differences);
                let sum = |group: &[u32]| group.iter().map(|d| u64::from((*d as i32).unsigned_abs())).sum();
                let expected: u64 = differences.chunks(GROUP).map(|group| logarithm(sum(group))).sum();
                assert_eq!(cost, expected, "{lens:?} {set}");
            }
        }
    }
}
