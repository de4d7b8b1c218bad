//! Fields within a bound as tiles of residuals, and what is counted of these.

use sleek::DType;

use crate::classes::SORTS;
use crate::fields::Field;

/// Places of a tile and of a group.
const TILE: usize = 16384;
const GROUP: usize = 128;
/// Codes below this are tokens; greater ones are told by their length and the bit behind the highest.
pub const DIRECT: usize = 64;
/// Tokens of codes of 32 bits.
pub const TRAINED: usize = DIRECT + 2 * (32 - 6);
/// Bins are as wide as this part of twice the bound.
const WIDTH: f64 = 0.97;
/// No token: the place has no element.
const ABSENT: usize = usize::MAX;

/// How often each token occurs in the groups of a sort.
pub type Counts = [[u64; TRAINED]; 2 * SORTS];

/// What a field within a bound comes to.
pub struct Seen {
    /// By twice the number of the sort, and 1 more where groups are sparse.
    pub counts: Box<Counts>,
    /// The sort of each group, in the same way, of the tiles that are not constant.
    pub tiles: Vec<Vec<u8>>,
    /// Every field counts alike at every bound: by what its bytes are estimated to be.
    pub weight: f64,
}

/// Cuts a field into tiles, with bins for a bound that is so much of its range.
pub fn look(field: &Field, bound: f64) -> Seen {
    let (bins, lens) = (bins(field, bound), fold(field.dims.lens()));
    let sides = sides(lens);
    let mut seen = Seen { counts: Box::new([[0; TRAINED]; 2 * SORTS]), tiles: Vec::new(), weight: 0.0 };
    let mut bits = 0.0;
    for z in (0..lens[2]).step_by(sides[2]) {
        for y in (0..lens[1]).step_by(sides[1]) {
            for x in (0..lens[0]).step_by(sides[0]) {
                if let Some(tile) = Tile::cut(&bins, lens, sides, [x, y, z]) {
                    bits += tile.count(&mut seen);
                }
            }
        }
    }
    seen.weight = 1e6 / (bits + seen.tiles.len() as f64 * 400.0 + 1.0);
    seen
}

/// The nearest bin of each value; what has none is as what comes before it.
fn bins(field: &Field, bound: f64) -> Vec<i32> {
    let is_missing = |v: f64| !v.is_finite() || field.fill.is_some_and(|fill| v.abs() > fill.abs() / 10.0);
    let values: Vec<f64> = field
        .bytes
        .chunks_exact(field.dtype.size())
        .map(|b| match field.dtype {
            DType::F64 => f64::from_le_bytes(b.try_into().expect("8 bytes")),
            _ => f32::from_le_bytes(b.try_into().expect("4 bytes")).into(),
        })
        .collect();
    let there = || values.iter().copied().filter(|v| !is_missing(*v));
    let step = 2.0 * (bound * (there().fold(f64::MIN, f64::max) - there().fold(f64::MAX, f64::min))) * WIDTH;
    let mut last = 0;
    let bin = |v: &f64| {
        let bin = v / step;
        if bin.is_finite() && bin.abs() <= 1e9 && !is_missing(*v) {
            last = bin.round_ties_even() as i32;
        }
        last
    };
    values.iter().map(bin).collect()
}

/// The lengths along x, y and z: dimensions before the last two are one.
fn fold(lens: &[u64]) -> [usize; 3] {
    let from_the_last = |k: usize| lens.len().checked_sub(k + 1).map_or(1, |k| lens[k] as usize);
    [from_the_last(0), from_the_last(1), lens[..lens.len().saturating_sub(2)].iter().product::<u64>() as usize]
}

/// The sides of tiles: not much longer than the array is.
fn sides([nx, ny, nz]: [usize; 3]) -> [usize; 3] {
    let exceeds = |side: usize, len: usize| side as f64 > len as f64 * 1.34;
    let [mut x, mut y, mut z] = match () {
        () if nz > 1 && ny > 1 => [32, 16, TILE / 512],
        () if ny > 1 => [128, TILE / 128, 1],
        () => [TILE, 1, 1],
    };
    while x > 4 && exceeds(x, nx) && ny > 1 {
        (x, y) = (x / 2, y * 2);
    }
    while nz > 1 && z > 1 && exceeds(z, nz) {
        (z, y) = (z / 2, y * 2);
    }
    while y > 1 && exceeds(y, ny) && nz > 1 && !exceeds(2 * z, nz) {
        (y, z) = (y / 2, z * 2);
    }
    [x, y, z]
}

/// Residuals in their places, with those axes that are estimated to be best.
struct Tile {
    sides: [usize; 3],
    residuals: Vec<i32>,
    present: Vec<bool>,
}

impl Tile {
    /// The tile at a corner; none if it is constant.
    fn cut(bins: &[i32], lens: [usize; 3], sides: [usize; 3], at: [usize; 3]) -> Option<Tile> {
        let place = |x: usize, y: usize, z: usize| (z * lens[1] + y) * lens[0] + x;
        let (mut numbers, mut present) = (vec![0i32; TILE], vec![false; TILE]);
        let base = bins[place(at[0], at[1], at[2])];
        for z in 0..sides[2].min(lens[2] - at[2]) {
            for y in 0..sides[1].min(lens[1] - at[1]) {
                for x in 0..sides[0].min(lens[0] - at[0]) {
                    let k = (z * sides[1] + y) * sides[0] + x;
                    numbers[k] = bins[place(at[0] + x, at[1] + y, at[2] + z)].wrapping_sub(base);
                    present[k] = true;
                }
            }
        }
        if numbers.iter().all(|n| *n == 0) {
            return None;
        }
        let axes = (0..3).fold(0, |axes, a| axes | usize::from(sides[a] > 1) << a);
        let sets = (0..8).filter(|set| set & !axes == 0);
        let residuals = sets
            .map(|set| differences(&numbers, sides, set))
            .min_by_key(|residuals| estimate(residuals, &present))
            .expect("the empty set of axes");
        Some(Tile { sides, residuals, present })
    }

    /// Adds its groups; returns an estimate of its bits.
    fn count(&self, seen: &mut Seen) -> f64 {
        let (mut bits, mut sorts) = (0.0, Vec::with_capacity(TILE / GROUP));
        for g in 0..TILE / GROUP {
            let tokens_and_sizes: [(usize, u32); GROUP] = std::array::from_fn(|i| self.token(g, i));
            let quads = tokens_and_sizes.as_chunks::<4>().0;
            let quads: Vec<u32> = quads.iter().map(|quad| quad.iter().map(|(_, size)| size).sum()).collect();
            let sum: u32 = quads.iter().sum();
            let is_sparse = quads.iter().filter(|size| **size <= sum >> 7).count() > 10 && sum > 8;
            let sort = 2 * quarter_octave(sum) + usize::from(is_sparse);
            sorts.push(sort as u8);
            if sum > 0 {
                let tokens = tokens_and_sizes.iter().filter(|(token, _)| *token != ABSENT);
                tokens.for_each(|(token, _)| seen.counts[sort][*token] += 1);
                bits += 128.0 * (1.0 + f64::from(sum) / 128.0 * 2.0).log2() + 8.0;
            }
        }
        seen.tiles.push(sorts);
        bits
    }

    /// The token of value `i` of group `g`, and its magnitude, 2^23 at most. In tiles of three axes a group had every
    /// fourth row of 32.
    fn token(&self, g: usize, i: usize) -> (usize, u32) {
        let is_cube = self.sides[..2] == [32, 16];
        let k = if is_cube { (g >> 2) * 512 + ((i >> 5) * 4 + (g & 3)) * 32 + (i & 31) } else { g * GROUP + i };
        if !self.present[k] {
            return (ABSENT, 0);
        }
        (token_of(self.residuals[k]), self.residuals[k].unsigned_abs().min(1 << 23))
    }
}

/// The token of a residual's code.
fn token_of(residual: i32) -> usize {
    token((residual as u32) << 1 ^ (residual >> 31) as u32)
}

/// The token of a code.
pub fn token(code: u32) -> usize {
    match code as usize {
        code @ ..DIRECT => code,
        _ => {
            let top = code.ilog2();
            DIRECT + 2 * (top as usize - 6) + (code >> (top - 1) & 1) as usize
        }
    }
}

/// 1 for 1, and 4 more for each octave of the nearest f32; 0 for 0.
fn quarter_octave(sum: u32) -> usize {
    if sum == 0 { 0 } else { 1 + ((sum as f32).to_bits() as usize >> 21) - (127 << 2) }
}

/// Differences along a set of axes; along the others the first values of rows and planes are predicted too.
fn differences(numbers: &[i32], [x, y, z]: [usize; 3], set: usize) -> Vec<i32> {
    let (mut d, rows) = (numbers.to_vec(), y * z);
    if set & 4 != 0 {
        (x * y..TILE).rev().for_each(|i| d[i] = numbers[i].wrapping_sub(numbers[i - x * y]));
    }
    let firsts: Vec<i32> = (0..rows).map(|row| d[row * x]).collect();
    if set & 1 != 0 {
        for row in d.chunks_exact_mut(x) {
            (1..x).rev().for_each(|i| row[i] = row[i].wrapping_sub(row[i - 1]));
        }
    }
    if set & 3 == 1 {
        for row in 1..rows {
            match row % y {
                0 if set != 1 => {}
                0 => d[row * x] = firsts[row].wrapping_sub(firsts[row - y]),
                _ => d[row * x] = firsts[row].wrapping_sub(firsts[row - 1]),
            }
        }
    }
    if set & 2 != 0 {
        for plane in d.chunks_exact_mut(x * y) {
            (x..x * y).rev().for_each(|i| plane[i] = plane[i].wrapping_sub(plane[i - x]));
        }
    }
    d
}

/// What residuals are estimated to cost: logarithms of the sums of magnitudes of pieces of 128.
fn estimate(residuals: &[i32], present: &[bool]) -> u64 {
    let groups = residuals.chunks_exact(GROUP).zip(present.chunks_exact(GROUP));
    let cost = |(residuals, present): (&[i32], &[bool])| {
        let there = residuals.iter().zip(present).filter(|(_, present)| **present);
        let sum = there.fold(0u32, |sum, (d, _)| sum.wrapping_add(d.unsigned_abs()));
        u64::from((sum.wrapping_add(16) as f32).to_bits() >> 15) - (131 << 8)
    };
    groups.map(cost).sum()
}
