//! Estimated cost of a tile's differences along each set of axes, from a sample of pieces of its rows.

use std::marker::PhantomData;

use crate::codec::interp::rules::{LITTLE, PIECE, cost_of_sum, sample_every};
use crate::primitives::lorenzo::AXES;
use crate::simd::numbers::CodeVectors;
use crate::simd::word::Word;
use crate::simd::{Level, Task};

/// Sets of axes.
pub const SETS: usize = 1 << AXES;
/// A magnitude is clamped to this before it is summed, so that sums do not overflow.
const MAX_MAGNITUDE: u64 = 1 << 56;
/// Numbers that are taken at once, so many that compilers use vectors for them; the last ones may not count.
pub const STRIP: usize = 64;

/// The strips of a piece, and of a neighbour before it.
type Strips<N> = [[N; STRIP]; PIECE / STRIP + 1];

/// An estimate of what differences cost, fed group by group.
pub trait Magnitudes: Copy {
    /// None yet.
    const NONE: Self;
    /// A tile that the sample finds cheap is estimated again from all its pieces: a few of them say little of it.
    const ASKS_ALL: bool;
    /// Adds those of the first numbers to the group, all if so many are left.
    fn add<N: Word>(&mut self, numbers: &[N; STRIP], count: usize);
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
    const ASKS_ALL: bool = true;

    #[inline(always)]
    fn add<N: Word>(&mut self, numbers: &[N; STRIP], count: usize) {
        let mut sum = 0;
        for i in 0..STRIP {
            let number = if (i as u32) < count as u32 { numbers[i] } else { N::ZERO };
            sum += number.magnitude().to_u64().min(MAX_MAGNITUDE);
        }
        self.sum += sum;
    }

    #[inline(always)]
    fn end(&mut self, count: u64) {
        self.cost += cost_of_sum(self.sum, count);
        self.sum = 0;
    }

    #[inline(always)]
    fn cost(&self) -> u64 {
        self.cost
    }
}

/// Numbers of a tile.
pub trait Numbers: Copy {
    type N: Word;
    /// Copies those from `at` on.
    fn copy_to(&self, at: usize, to: &mut [Self::N]);
    /// One of them.
    #[inline(always)]
    fn at(&self, i: usize) -> Self::N {
        let mut number = [Self::N::ZERO];
        self.copy_to(i, &mut number);
        number[0]
    }
}

impl<N: Word> Numbers for &[N] {
    type N = N;

    #[inline(always)]
    fn copy_to(&self, at: usize, to: &mut [N]) {
        to.copy_from_slice(&self[at..at + to.len()]);
    }
}

/// The best set of axes, of those that have more than one element, and what its differences cost in all. Of a tile that
/// looks cheap all pieces may be asked, and of one whose few rows have none that is sampled. Without axes numbers are
/// distances: from the tile's first one, from the middle of those that are sampled, or from `zero`, where that is told.
pub fn best_set<M: Magnitudes, S: Numbers>(
    p: impl Level,
    lens: [usize; AXES],
    zero: Option<S::N>,
    numbers: S,
) -> (u8, u64) {
    let every = sample_every(lens, axis_of(lens));
    let of = |every| p.run(Sample { lens, every, zero, numbers, of: PhantomData::<M> });
    let is_cheap = |cost| M::ASKS_ALL && cost < LITTLE * lens.iter().product::<usize>() as u64;
    let sampled = of(every).filter(|(_, cost)| every == 1 || !is_cheap(*cost));
    sampled.or_else(|| of(1)).unwrap_or_default()
}

/// The same by one piece of so many; `None` where there is none.
struct Sample<M, S: Numbers> {
    lens: [usize; AXES],
    every: usize,
    zero: Option<S::N>,
    numbers: S,
    of: PhantomData<M>,
}

impl<M: Magnitudes, S: Numbers> Task for Sample<M, S> {
    type Done = Option<(u8, u64)>;

    #[inline(always)]
    fn run<P: CodeVectors<V>, const V: usize>(self, _: P) -> Option<(u8, u64)> {
        let Sample { lens, every, zero, numbers, .. } = self;
        let mut seen = SampledRows {
            sets: [M::NONE; SETS],
            count: 0,
            ends: (i64::MAX, i64::MIN),
            numbers,
            rows: [[[S::N::ZERO; STRIP]; PIECE / STRIP + 1]; 4],
        };
        each_piece(lens, every, &mut seen);
        if seen.count == 0 {
            return None;
        }
        let (least, most) = seen.ends;
        let middle = S::N::from_u64(least.wrapping_add((most.wrapping_sub(least) as u64 / 2) as i64) as u64);
        let mut costs = [0; SETS];
        for set in 0..SETS {
            costs[set] = seen.sets[set].cost();
        }
        for from in [middle, zero.unwrap_or(middle)] {
            let mut distances = Distances { of: M::NONE, from, numbers, all: &mut seen.rows[0] };
            each_piece(lens, every, &mut distances);
            costs[0] = costs[0].min(distances.of.cost());
            if zero.is_none() {
                break;
            }
        }
        let allowed = |set: &usize| (0..AXES).all(|a| set >> a & 1 == 0 || lens[a] > 1);
        let set = (0..SETS).filter(allowed).min_by_key(|set| costs[*set]).unwrap_or(0);
        Some((set as u8, costs[set] * lens.iter().product::<usize>() as u64 / seen.count))
    }
}

/// Whether numbers cost less without axes if they are distances from the middle of all, or from `zero`, than from the
/// first one: from which, else 0.
#[inline(always)]
pub fn origin<M: Magnitudes, N: Word>(numbers: &[N], zero: Option<N>) -> N {
    let signed = || numbers.iter().map(|v| v.extend() as i64);
    let (least, most) = (signed().min().unwrap_or(0), signed().max().unwrap_or(0));
    let middle = N::from_u64(least.wrapping_add((most.wrapping_sub(least) as u64 / 2) as i64) as u64);
    let cost = |from: &N| {
        let mut distances = M::NONE;
        for group in numbers.chunks(PIECE) {
            for strip in group.chunks(STRIP) {
                let mut all = [N::ZERO; STRIP];
                all.iter_mut().zip(strip).for_each(|(distance, v)| *distance = v.sub(*from));
                distances.add(&all, strip.len());
            }
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

/// A run of elements along a row or column: where it begins, how far its elements are from each other, and how many;
/// how far their neighbours are before them, and whether they are the first ones of rows. The first element of an axis,
/// which has no neighbour before it, gives way to the second one, but that of a short row.
struct Piece {
    at: usize,
    stride: usize,
    count: usize,
    before: [usize; AXES],
    is_first: bool,
}

/// What is called for each sampled piece.
trait PieceVisitor {
    fn show(&mut self, piece: Piece);
}

/// Shows the pieces that are sampled: along rows one of so many by y + 3·z + 5·p, along columns by the other axes.
#[inline(always)]
fn each_piece(lens: [usize; AXES], every: usize, to: &mut impl PieceVisitor) {
    let (axis, strides) = (axis_of(lens), [1, lens[0], lens[0] * lens[1]]);
    let others = [[1, 2], [0, 2], [0, 1]][axis];
    let second = |k: usize, a: usize| if a == 0 { k } else { k.max(1).min(lens[a] - 1) };
    for far in 0..lens[others[1]] {
        for p in 0..lens[axis].div_ceil(PIECE) {
            let first = (every / 2 + every - (3 * far + 5 * p) % every) % every;
            for near in (first..lens[others[0]]).step_by(every) {
                let mut at = [0; AXES];
                at[others[0]] = second(near, others[0]);
                at[others[1]] = second(far, others[1]);
                at[axis] = (p * PIECE).max(1).min(lens[axis] - 1);
                let count = lens[axis].min((p + 1) * PIECE) - at[axis];
                let before = [0, 1, 2].map(|a| if at[a] > 0 { strides[a] } else { 0 });
                let place = (0..AXES).map(|a| at[a] * strides[a]).sum();
                to.show(Piece { at: place, stride: strides[axis], count, before, is_first: at[0] == 0 });
            }
        }
    }
}

/// Estimates of all sets, from the pieces visited so far.
struct SampledRows<M, S: Numbers> {
    /// The differences along each set.
    sets: [M; SETS],
    count: u64,
    /// The least number and the greatest one.
    ends: (i64, i64),
    numbers: S,
    /// Room for a piece and its neighbours along y, along z and along both, or for differences along each set.
    rows: [Strips<S::N>; 4],
}

impl<M: Magnitudes, S: Numbers> PieceVisitor for SampledRows<M, S> {
    #[inline(always)]
    fn show(&mut self, piece: Piece) {
        if piece.stride == 1 {
            self.row(&piece);
        } else {
            self.column(&piece);
        }
        for of_set in &mut self.sets {
            of_set.end(piece.count as u64);
        }
        self.count += piece.count as u64;
    }
}

impl<M: Magnitudes, S: Numbers> SampledRows<M, S> {
    /// A piece of a row, all of which have a number before them.
    #[inline(always)]
    fn row(&mut self, piece: &Piece) {
        let Piece { at, count, before: [x, y, z], .. } = *piece;
        let (first, at, len) = (self.numbers.at(0), at - x, count + x);
        for (row, from) in self.rows.iter_mut().zip([at, at - y, at - z, at - y - z]) {
            self.numbers.copy_to(from, &mut row.as_flattened_mut()[..len]);
        }
        let [own, of_y, of_z, both] = &mut self.rows;
        let counted = own[0][x];
        let (mut least, mut most) = ([counted.biased(); STRIP], [counted.biased(); STRIP]);
        for s in 0..len.div_ceil(STRIP) {
            let (own, of_y, of_z, both) = (&own[s], &mut of_y[s], &mut of_z[s], &mut both[s]);
            for i in 0..STRIP {
                let at = (s * STRIP + i) as u32;
                let number = if at >= x as u32 && at < len as u32 { own[i] } else { counted }.biased();
                (least[i], most[i]) = (least[i].min(number), most[i].max(number));
                both[i] = own[i].sub(of_z[i]).sub(of_y[i].sub(both[i]));
                of_y[i] = own[i].sub(of_y[i]);
                of_z[i] = own[i].sub(of_z[i]);
            }
        }
        let signed = |biased: &S::N| biased.biased().extend() as i64;
        self.ends.0 = least.iter().map(signed).fold(self.ends.0, i64::min);
        self.ends.1 = most.iter().map(signed).fold(self.ends.1, i64::max);
        for set in 0..SETS / 2 {
            let none = if set == 0 { first } else { S::N::ZERO };
            for s in 0..count.div_ceil(STRIP) {
                let Some(here) = self.rows[set].as_flattened()[s * STRIP + x..].first_chunk::<STRIP>() else {
                    continue;
                };
                let before = &self.rows[set][s];
                let (mut alone, mut along_x) = ([S::N::ZERO; STRIP], [S::N::ZERO; STRIP]);
                for i in 0..STRIP {
                    (alone[i], along_x[i]) = (here[i].sub(none), here[i].sub(before[i]));
                }
                self.sets[2 * set].add(&alone, count - s * STRIP);
                self.sets[2 * set + 1].add(&along_x, count - s * STRIP);
            }
        }
    }

    /// A piece of a column.
    #[inline(always)]
    fn column(&mut self, piece: &Piece) {
        let Piece { at, stride, count, before: [x, y, z], is_first } = *piece;
        let first = self.numbers.at(0);
        let Some(sets) = self.rows.as_flattened_mut().first_chunk_mut::<SETS>() else { return };
        for from in (0..count).step_by(STRIP) {
            for k in 0..STRIP.min(count - from) {
                // Less what is so far before: the number itself, and by one along y, along z and along both.
                let of = |i: usize| {
                    let number = |before: usize| self.numbers.at(i - before);
                    let own = number(0);
                    let along_z = own.sub(number(z));
                    [own, own.sub(number(y)), along_z, along_z.sub(number(y).sub(number(y + z)))]
                };
                let i = at + (from + k) * stride;
                let (all, before) = (of(i), of(i - x));
                for set in 0..SETS / 2 {
                    let here = all[set];
                    sets[2 * set][k] = if set == 0 { here.sub(first) } else { here };
                    // The first of a row has no neighbour along x, and along x alone those along y and z.
                    sets[2 * set + 1][k] = match set {
                        _ if !is_first => here.sub(before[set]),
                        0 => all[3],
                        _ => here,
                    };
                }
                let signed = all[0].extend() as i64;
                self.ends = (self.ends.0.min(signed), self.ends.1.max(signed));
            }
            for set in 0..SETS {
                self.sets[set].add(&sets[set], count - from);
            }
        }
    }
}

/// Distances from a number.
struct Distances<'a, M, S: Numbers> {
    of: M,
    from: S::N,
    numbers: S,
    /// Room for a piece.
    all: &'a mut Strips<S::N>,
}

impl<M: Magnitudes, S: Numbers> PieceVisitor for Distances<'_, M, S> {
    #[inline(always)]
    fn show(&mut self, piece: Piece) {
        let Piece { at, stride, count, .. } = piece;
        let all = &mut self.all.as_flattened_mut()[..count];
        if stride == 1 {
            self.numbers.copy_to(at, all);
        } else {
            (0..count).for_each(|k| all[k] = self.numbers.at(at + k * stride));
        }
        for s in 0..count.div_ceil(STRIP) {
            for i in 0..STRIP {
                self.all[s][i] = self.all[s][i].sub(self.from);
            }
            self.of.add(&self.all[s], count - s * STRIP);
        }
        self.of.end(count as u64);
    }
}
