//! Dimensions of an array, and boxes within them: pure arithmetic on indices.

use crate::error::{Result, fail};

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
        let lens: Vec<String> = self.lens().iter().map(u64::to_string).collect();
        f.write_str(&lens.join("x"))
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

/// A row of a box: elements that follow each other in the array and in the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The number of its first element in the array.
    pub at: u64,
    /// The number of that element in the box.
    pub in_box: u64,
    /// Elements.
    pub len: u64,
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

    /// Shows the lines of the box along its last dimension, in their order, by the numbers that their first elements
    /// have in two others, where those of the first line and the strides are these. The box is not empty.
    pub fn lines(&self, mut at: [u64; 2], strides: &[[u64; MAX_RANK]; 2], mut show: impl FnMut([u64; 2])) {
        let mut place = [0; MAX_RANK];
        loop {
            show(at);
            let mut k = self.rank - 1;
            loop {
                let Some(next) = k.checked_sub(1) else { return };
                k = next;
                if place[k] + 1 < self.lens[k] {
                    place[k] += 1;
                    (0..2).for_each(|i| at[i] += strides[i][k]);
                    break;
                }
                (0..2).for_each(|i| at[i] -= place[k] * strides[i][k]);
                place[k] = 0;
            }
        }
    }

    /// How many lines there are.
    pub fn line_count(&self) -> u64 {
        self.lens[..self.rank - 1].iter().product()
    }

    /// Where a line starts.
    pub fn line(&self, mut line: u64) -> [u64; MAX_RANK] {
        let mut position = self.start;
        for k in (0..self.rank - 1).rev() {
            position[k] += line % self.lens[k];
            line /= self.lens[k];
        }
        position
    }

    /// The rows of the box in an array of `dims`, in their order, from the first that holds an element at number `from`
    /// of the array or behind it.
    pub fn rows(&self, dims: &Dims, from: u64) -> Rows {
        // Dimensions of which all is in the box make its rows longer.
        let whole = (0..self.rank).rev().take_while(|k| *k > 0 && self.lens[*k] == dims.lens[*k]).count();
        let row_axis = self.rank - 1 - whole;
        let stride = dims.lens()[row_axis + 1..].iter().product::<u64>();
        let mut rows = Rows {
            region: *self,
            dims: *dims,
            row_axis,
            stride,
            len: self.lens[row_axis] * stride,
            place: [0; MAX_RANK],
            number: 0,
            place_at: 0,
            done: self.count() == 0,
        };
        if !rows.done {
            rows.seek(from);
        }
        rows
    }
}

/// Rows of a box that begin equally far from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip {
    /// The first one.
    pub first: Row,
    /// How many there are, one behind the other in the box.
    pub rows: u64,
    /// From the beginning of one to that of the next, in elements of the array.
    pub stride: u64,
}

impl Region {
    /// The numbers of its first element in an array of `dims` and of the one behind its last; it has elements.
    pub fn reach(&self, dims: &Dims) -> (u64, u64) {
        let number = |at: &dyn Fn(usize) -> u64| (0..self.rank).fold(0, |n, k| n * dims.lens[k] + at(k));
        (number(&|k| self.start[k]), number(&|k| self.start[k] + self.lens[k] - 1) + 1)
    }

    /// Shows all rows of the box in an array of `dims`, in their order, those along one axis at once.
    pub fn strips(&self, dims: &Dims, mut show: impl FnMut(Strip)) {
        let mut rows = self.rows(dims, 0);
        let (count, stride) = match rows.row_axis.checked_sub(1) {
            Some(k) => (self.lens[k], dims.lens[rows.row_axis] * rows.stride),
            None => (1, 0),
        };
        while !rows.done {
            let first = Row { at: rows.place_at, in_box: rows.number * rows.len, len: rows.len };
            show(Strip { first, rows: count, stride });
            rows.number += count;
            if let Some(k) = rows.row_axis.checked_sub(1) {
                rows.place[k] = count - 1;
            }
            rows.carry();
        }
    }
}

/// The rows of a box.
pub struct Rows {
    region: Region,
    dims: Dims,
    /// The last axis along which rows differ is the one before this one.
    row_axis: usize,
    /// Elements of the array behind each other along all axes after `row_axis`.
    stride: u64,
    len: u64,
    /// The row within the box, along the axes before `row_axis`.
    place: [u64; MAX_RANK],
    /// The number of the row, and where it begins in the array.
    number: u64,
    place_at: u64,
    done: bool,
}

impl Rows {
    fn at(&self) -> u64 {
        let r = &self.region;
        let outer = (0..self.row_axis).fold(0, |n, k| n * self.dims.lens[k] + r.start[k] + self.place[k]);
        (outer * self.dims.lens[self.row_axis] + r.start[self.row_axis]) * self.stride
    }

    /// Goes on to the next row, which mostly is the next along one axis.
    #[inline(always)]
    fn step(&mut self) {
        self.number += 1;
        if let Some(k) = self.row_axis.checked_sub(1)
            && self.place[k] + 1 < self.region.lens[k]
        {
            self.place[k] += 1;
            self.place_at += self.dims.lens[self.row_axis] * self.stride;
            return;
        }
        self.carry();
    }

    /// Goes on where the last axis has come to its end.
    #[inline(never)]
    fn carry(&mut self) {
        for k in (0..self.row_axis).rev() {
            self.place[k] += 1;
            if self.place[k] < self.region.lens[k] {
                self.place_at = self.at();
                return;
            }
            self.place[k] = 0;
        }
        self.done = true;
    }

    /// Passes over the rows that end at `from` or before; by bisection, since rows stand in the order of the array.
    fn seek(&mut self, from: u64) {
        let rows: u64 = self.region.lens[..self.row_axis].iter().product();
        let (mut low, mut high) = (0, rows);
        while low < high {
            let middle = low + (high - low) / 2;
            self.go_to(middle);
            if self.at() + self.len <= from { low = middle + 1 } else { high = middle }
        }
        self.done = low == rows;
        if !self.done {
            self.go_to(low);
        }
    }

    fn go_to(&mut self, mut row: u64) {
        self.number = row;
        for k in (0..self.row_axis).rev() {
            self.place[k] = row % self.region.lens[k];
            row /= self.region.lens[k];
        }
        self.place_at = self.at();
    }
}

impl Iterator for Rows {
    type Item = Row;

    #[inline]
    fn next(&mut self) -> Option<Row> {
        if self.done {
            return None;
        }
        let row = Row { at: self.place_at, in_box: self.number * self.len, len: self.len };
        self.step();
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn strips_are_all_rows() {
        let dims = Dims::new(&[3, 4, 5, 6]).unwrap();
        let boxes: [([u64; 4], [u64; 4]); 6] = [
            ([0; 4], [3, 4, 5, 6]),
            ([1, 0, 0, 0], [2, 4, 5, 6]),
            ([0, 1, 2, 3], [3, 2, 2, 3]),
            ([2, 3, 0, 0], [1, 1, 5, 6]),
            ([1, 1, 1, 0], [2, 3, 4, 6]),
            ([0, 0, 4, 5], [1, 1, 1, 1]),
        ];
        for (start, lens) in boxes {
            let region = Region::new(&dims, &start, &lens).unwrap();
            let mut rows = Vec::new();
            region.strips(&dims, |Strip { first, rows: count, stride }| {
                let Row { at, in_box, len } = first;
                rows.extend((0..count).map(|r| Row { at: at + r * stride, in_box: in_box + r * len, len }));
            });
            let expected: Vec<Row> = region.rows(&dims, 0).collect();
            assert_eq!(rows, expected, "{start:?} {lens:?}");
            let last = expected[expected.len() - 1];
            assert_eq!(region.reach(&dims), (expected[0].at, last.at + last.len));
        }
    }

    #[test]
    fn boxes_beyond_the_array_are_refused_by_name() {
        let dims = Dims::new(&[5, 7]).unwrap();
        let error = |start: &[u64], lens: &[u64]| Region::new(&dims, start, lens).unwrap_err();
        assert_eq!(error(&[0, 3], &[5, 5]).kind, Kind::OutOfRange);
        assert_eq!(error(&[0, 3], &[5, 5]).message, "5 elements from 3 on along dimension 1; the array (5x7) has 7");
        assert_eq!(error(&[u64::MAX, 0], &[2, 1]).kind, Kind::OutOfRange);
        assert_eq!(error(&[0], &[1]).kind, Kind::InvalidArgument);
    }

    /// All boxes of small arrays: rows give each element of the box once, in order, from wherever they begin.
    #[test]
    fn rows_are_the_elements_of_the_box() {
        for lens in [&[6u64][..], &[3, 4], &[4, 1], &[1, 5], &[2, 3, 4], &[3, 1, 2, 2]] {
            let dims = Dims::new(lens).unwrap();
            let starts = dims.count();
            for code in 0..starts * starts {
                let (mut a, mut b, mut start, mut len) = (code % starts, code / starts, vec![], vec![]);
                for n in lens.iter().rev() {
                    start.insert(0, a % n);
                    len.insert(0, (b % n + 1).min(n - a % n));
                    (a, b) = (a / n, b / n);
                }
                let region = Region::new(&dims, &start, &len).unwrap();
                let mut expected = vec![];
                for i in 0..dims.count() {
                    let (mut rest, mut position) = (i, vec![0; lens.len()]);
                    for k in (0..lens.len()).rev() {
                        position[k] = rest % lens[k];
                        rest /= lens[k];
                    }
                    if (0..lens.len()).all(|k| (start[k]..start[k] + len[k]).contains(&position[k])) {
                        assert_eq!(region.number_of(&position), expected.len() as u64);
                        expected.push(i);
                    }
                }
                let rows: Vec<Row> = region.rows(&dims, 0).collect();
                let all: Vec<u64> = rows.iter().flat_map(|r| r.at..r.at + r.len).collect();
                assert_eq!(all, expected, "{lens:?} {start:?} {len:?}");
                rows.iter().fold(0, |n, r| {
                    assert_eq!(r.in_box, n);
                    n + r.len
                });
                for from in 0..=dims.count() {
                    let behind: Vec<Row> = rows.iter().copied().filter(|r| r.at + r.len > from).collect();
                    assert_eq!(region.rows(&dims, from).collect::<Vec<_>>(), behind);
                }
            }
        }
    }
}
