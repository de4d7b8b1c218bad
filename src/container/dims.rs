//! Dimensions of an array, and boxes within them: pure arithmetic on indices.

use crate::error::{List, Result, fail};

/// The most dimensions that an array can have; HDF5's limit too.
pub const MAX_RANK: usize = 32;
/// Elements of a grid are some way apart along these axes, the last ones; along others they are neighbours.
pub const GRID_AXES: usize = 3;
/// The greatest level of a grid.
pub const MAX_LEVEL: u32 = 63;

/// The dimensions of an array, slowest first; or none, where a caller names none.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dims {
    rank: u8,
    lens: [u64; MAX_RANK],
}

impl std::fmt::Debug for Dims {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_list().entries(self.lens()).finish()
    }
}

impl std::fmt::Display for Dims {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        List(self.lens().iter(), "x").fmt(f)
    }
}

impl Dims {
    /// Not given.
    pub const NONE: Dims = Dims { rank: 0, lens: [0; MAX_RANK] };

    /// These lengths; an error unless there are 1 to 32 whose product is a number of elements.
    pub fn new(lens: &[u64]) -> Result<Dims> {
        if lens.is_empty() || lens.len() > MAX_RANK {
            return fail!(InvalidArgument, "rank {}; 1 to {MAX_RANK} dimensions are possible", lens.len());
        }
        let mut dims = Dims { rank: lens.len() as u8, lens: [0; MAX_RANK] };
        dims.lens[..lens.len()].copy_from_slice(lens);
        // A length of 0 makes the array empty, but must not hide that the others are beyond all memory.
        let of_others = lens.iter().try_fold(1u64, |n, len| n.checked_mul((*len).max(1)));
        match of_others.filter(|n| *n <= isize::MAX as u64) {
            Some(_) => Ok(dims),
            None => fail!(InvalidArgument, "dimensions {dims} have more elements than fit in memory"),
        }
    }

    /// One dimension.
    pub fn line(count: u64) -> Dims {
        let mut dims = Dims { rank: 1, lens: [0; MAX_RANK] };
        dims.lens[0] = count;
        dims
    }

    /// How many there are; 0 where none are given.
    pub fn rank(&self) -> usize {
        self.rank.into()
    }

    /// The lengths, slowest first.
    pub fn lens(&self) -> &[u64] {
        &self.lens[..self.rank()]
    }

    /// Elements of the array.
    pub fn count(&self) -> u64 {
        self.lens().iter().product()
    }

    /// The same without the last one, unless it is alone.
    pub fn without_last(self) -> Dims {
        let mut dims = self;
        if self.rank > 1 {
            dims.rank -= 1;
            dims.lens[dims.rank()] = 0;
        }
        dims
    }

    /// The same, or the line of `count` elements where none are given; an error where they do not make up `count`.
    pub fn of_count(self, count: u64) -> Result<Dims> {
        match self.rank() {
            0 => Ok(Dims::line(count)),
            _ if self.count() == count => Ok(self),
            _ => fail!(InvalidArgument, "dimensions {self} are {} elements; the array has {count}", self.count()),
        }
    }
}

/// A box of elements of an array: along each dimension `lens[k]` from `start[k]` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    rank: usize,
    start: [u64; MAX_RANK],
    lens: [u64; MAX_RANK],
}

impl Region {
    /// The box; an error where it does not lie in `dims`.
    pub fn new(dims: &Dims, start: &[u64], lens: &[u64]) -> Result<Region> {
        if start.len() != dims.rank() || lens.len() != dims.rank() {
            return fail!(
                InvalidArgument,
                "a box of rank {} in an array of rank {} ({dims})",
                start.len().max(lens.len()),
                dims.rank()
            );
        }
        for (k, len) in dims.lens().iter().enumerate() {
            if start[k].checked_add(lens[k]).is_none_or(|end| end > *len) {
                return fail!(
                    OutOfRange,
                    "{} elements from {} on along dimension {k}; the array ({dims}) has {len}",
                    lens[k],
                    start[k]
                );
            }
        }
        let mut region = Region { rank: dims.rank(), start: [0; MAX_RANK], lens: [0; MAX_RANK] };
        region.start[..start.len()].copy_from_slice(start);
        region.lens[..lens.len()].copy_from_slice(lens);
        Ok(region)
    }

    /// All of an array.
    pub fn all(dims: &Dims) -> Region {
        Region { rank: dims.rank(), start: [0; MAX_RANK], lens: dims.lens }
    }

    /// The tile with this number of an array that is cut into such with these sides, as powers of two.
    pub fn tile(dims: &Dims, sides_log2: &[u8; MAX_RANK], mut number: u64) -> Region {
        let mut tile = Region { rank: dims.rank(), start: [0; MAX_RANK], lens: [0; MAX_RANK] };
        for k in (0..tile.rank).rev() {
            let (len, side) = (dims.lens[k], 1u64 << sides_log2[k]);
            let along = len.div_ceil(side);
            tile.start[k] = (number % along) * side;
            tile.lens[k] = side.min(len - tile.start[k]);
            number /= along;
        }
        tile
    }

    /// Where it starts along each dimension.
    pub fn start(&self) -> &[u64] {
        &self.start[..self.rank]
    }

    /// Its lengths.
    pub fn lens(&self) -> &[u64] {
        &self.lens[..self.rank]
    }

    /// The positions of its first element and of its last one. The box is not empty.
    pub fn corners(&self) -> [[u64; MAX_RANK]; 2] {
        let mut last = self.start;
        (0..self.rank).for_each(|k| last[k] += self.lens[k] - 1);
        [self.start, last]
    }

    /// Elements of the box.
    pub fn count(&self) -> u64 {
        self.lens().iter().product()
    }

    /// What it has in common with another box of the same array, if anything.
    pub fn intersection(&self, other: &Region) -> Option<Region> {
        let mut both = *self;
        for k in 0..self.rank {
            let start = self.start[k].max(other.start[k]);
            let end = (self.start[k] + self.lens[k]).min(other.start[k] + other.lens[k]);
            if end <= start {
                return None;
            }
            (both.start[k], both.lens[k]) = (start, end - start);
        }
        Some(both)
    }

    /// The box of the grid of a level, whose elements are those at multiples of 2^level along the last axes, that has
    /// what lies in this one.
    pub fn on_grid(&self, level: u32) -> Region {
        let mut thin = *self;
        for k in self.rank.saturating_sub(GRID_AXES)..self.rank {
            let [start, end] = [self.start[k], self.start[k] + self.lens[k]].map(|at| at.div_ceil(1 << level));
            (thin.start[k], thin.lens[k]) = (start, end - start);
        }
        thin
    }

    /// Where an element of the grid of a level is in the array.
    pub fn off_grid(&self, level: u32, mut position: [u64; MAX_RANK]) -> [u64; MAX_RANK] {
        position[self.rank.saturating_sub(GRID_AXES)..self.rank].iter_mut().for_each(|at| *at <<= level);
        position
    }

    /// The number that the element at `position` of the array has in this box, which holds it.
    pub fn number_of(&self, position: &[u64]) -> u64 {
        (0..self.rank).fold(0, |n, k| n * self.lens[k] + (position[k] - self.start[k]))
    }

    /// How far apart the numbers of elements of this box are that are neighbours along each dimension.
    pub fn strides(&self) -> [u64; MAX_RANK] {
        let mut strides = [1; MAX_RANK];
        (1..self.rank).rev().for_each(|k| strides[k - 1] = strides[k] * self.lens[k]);
        strides
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn boxes_beyond_the_array_are_refused_by_name() {
        let dims = Dims::new(&[5, 7]).unwrap();
        let error = |start: &[u64], lens: &[u64]| Region::new(&dims, start, lens).unwrap_err();
        assert_eq!(error(&[0, 3], &[5, 5]).kind, Kind::OutOfRange);
        assert_eq!(error(&[0, 3], &[5, 5]).message, "5 elements from 3 on along dimension 1; the array (5x7) has 7");
        assert_eq!(error(&[u64::MAX, 0], &[2, 1]).kind, Kind::OutOfRange);
        assert_eq!(error(&[0], &[1]).kind, Kind::InvalidArgument);
    }
}
