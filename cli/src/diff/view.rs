//! What is shown of a field: a line as curves, anything else as the slice that holds one element.

use super::scale::Scale;
use crate::verify::pair::Values;

/// Cells of a map along each side, at most.
const CELLS: u64 = 96;
/// Columns of a curve, at most.
const COLUMNS: usize = 900;
/// Values of the close-up of a curve.
const CLOSE: u64 = 96;

pub enum View {
    Curves(Curves),
    Maps(Maps),
}

impl View {
    /// Of a field of this shape; the element `at` is to be seen.
    pub fn new(dims: &[u64], at: &[u64]) -> View {
        let long: Vec<usize> = (0..dims.len()).filter(|i| dims[*i] > 1).collect();
        match long[..] {
            [.., y, x] => View::Maps(Maps::new(dims, at, [y, x])),
            _ => View::Curves(Curves::new(dims, at, long.first().copied().unwrap_or(dims.len().saturating_sub(1)))),
        }
    }

    /// Whether a box has something of it.
    pub fn reaches(&self, start: &[u64], count: &[u64]) -> bool {
        match self {
            View::Curves(_) => true,
            View::Maps(maps) => maps.reaches(start, count),
        }
    }

    pub fn add(&mut self, values: &Values, scale: &Scale) {
        match self {
            View::Curves(curves) => curves.add(values, scale),
            View::Maps(maps) => maps.add(values, scale),
        }
    }
}

/// The smallest and the largest value of each column.
#[derive(Clone)]
pub struct Envelope(pub Vec<Option<(f64, f64)>>);

impl Envelope {
    fn take(&mut self, column: usize, value: f64) {
        let entry = &mut self.0[column];
        *entry = Some(entry.map_or((value, value), |(low, high)| (low.min(value), high.max(value))));
    }
}

/// A line of values.
pub struct Curves {
    pub axis: usize,
    pub len: u64,
    pub original: Envelope,
    pub restored: Envelope,
    pub error: Envelope,
    /// Values near the element that is to be seen: index, both, and the largest error that was allowed.
    pub close: Vec<(u64, f64, f64)>,
    from: u64,
}

impl Curves {
    fn new(dims: &[u64], at: &[u64], axis: usize) -> Curves {
        let len = dims.get(axis).copied().unwrap_or(0);
        let none = Envelope(vec![None; (len as usize).clamp(1, COLUMNS)]);
        let from = at.get(axis).map_or(0, |at| at.saturating_sub(CLOSE / 2)).min(len.saturating_sub(CLOSE));
        Curves { axis, len, original: none.clone(), restored: none.clone(), error: none, close: Vec::new(), from }
    }

    fn add(&mut self, values: &Values, scale: &Scale) {
        let start = values.start.get(self.axis).copied().unwrap_or(0);
        let end = start + values.original.len() as u64;
        for at in self.from.max(start)..(self.from + CLOSE).min(end) {
            let i = (at - start) as usize;
            self.close.push((at, values.original[i], values.restored[i]));
        }
        let columns = self.original.0.len() as u64;
        let mut at = start;
        while at < end {
            let column = at * columns / self.len;
            // Where the next column begins.
            let next = ((column + 1) * self.len).div_ceil(columns).min(end);
            let part = (at - start) as usize..(next - start) as usize;
            for (v, r) in values.original[part.clone()].iter().zip(&values.restored[part]) {
                if v.is_finite() {
                    self.original.take(column as usize, *v);
                    self.restored.take(column as usize, *r);
                    self.error.take(column as usize, scale.share(*v, *r, values.limit));
                }
            }
            at = next;
        }
    }
}

/// A slice along two axes.
pub struct Maps {
    /// Down and to the right.
    pub axes: [usize; 2],
    /// The elements along them.
    pub lens: [u64; 2],
    /// Where it lies along the others.
    pub at: Vec<u64>,
    /// Cells down and to the right.
    pub cells: [usize; 2],
    original: Vec<f64>,
    restored: Vec<f64>,
    counts: Vec<u32>,
    /// The error of each cell that takes the largest share of the bound; NaN without any.
    pub error: Vec<f64>,
}

impl Maps {
    fn new(dims: &[u64], at: &[u64], axes: [usize; 2]) -> Maps {
        let lens = axes.map(|axis| dims[axis]);
        let cells = lens.map(|len| len.min(CELLS) as usize);
        let n = cells[0] * cells[1];
        let zero = vec![0.0; n];
        let (original, restored, counts, error) = (zero.clone(), zero, vec![0; n], vec![f64::NAN; n]);
        Maps { axes, lens, at: at.to_vec(), cells, original, restored, counts, error }
    }

    fn reaches(&self, start: &[u64], count: &[u64]) -> bool {
        let is_in = |i: usize| (start[i]..start[i] + count[i]).contains(&self.at[i]);
        (0..start.len()).filter(|i| !self.axes.contains(i)).all(is_in)
    }

    fn add(&mut self, values: &Values, scale: &Scale) {
        let Values { start, count, .. } = values;
        if !self.reaches(start, count) {
            return;
        }
        let mut strides = vec![1; count.len()];
        for i in (1..count.len()).rev() {
            strides[i - 1] = strides[i] * count[i] as usize;
        }
        let others = (0..start.len()).filter(|i| !self.axes.contains(i));
        let base: usize = others.map(|i| (self.at[i] - start[i]) as usize * strides[i]).sum();
        let [y, x] = self.axes;
        for j in 0..count[y] {
            let row = (start[y] + j) * self.cells[0] as u64 / self.lens[0];
            for i in 0..count[x] {
                let column = (start[x] + i) * self.cells[1] as u64 / self.lens[1];
                let at = base + j as usize * strides[y] + i as usize * strides[x];
                self.take(
                    row as usize * self.cells[1] + column as usize,
                    (values.original[at], values.restored[at]),
                    |v, r| scale.share(v, r, values.limit),
                );
            }
        }
    }

    fn take(&mut self, cell: usize, (v, r): (f64, f64), share: impl Fn(f64, f64) -> f64) {
        if !v.is_finite() {
            return;
        }
        self.original[cell] += v;
        self.restored[cell] += r;
        self.counts[cell] += 1;
        let (share, old) = (share(v, r), &mut self.error[cell]);
        if old.is_nan() || share.abs() > old.abs() {
            *old = share;
        }
    }

    /// The mean of each cell of the field and of its restored form; NaN without a value.
    pub fn fields(&self) -> [Vec<f64>; 2] {
        [&self.original, &self.restored].map(|sums| {
            let cells = sums.iter().zip(&self.counts);
            cells.map(|(sum, count)| if *count > 0 { sum / f64::from(*count) } else { f64::NAN }).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sleek::Mode;

    fn part(start: &[u64], count: &[u64], first: f64) -> Values {
        let n = count.iter().product::<u64>();
        let original: Vec<f64> = (0..n).map(|i| first + i as f64).collect();
        let restored = original.iter().map(|v| v + 0.5).collect();
        Values { start: start.to_vec(), count: count.to_vec(), original, restored, limit: 1.0 }
    }

    #[test]
    fn a_slice_is_put_together_from_parts() {
        let scale = Scale::new(Mode::Abs, 0.0);
        let mut view = View::new(&[2, 3, 4], &[1, 2, 3]);
        for z in 0..2 {
            for (y, height) in [(0, 2), (2, 1)] {
                view.add(&part(&[z, y, 0], &[1, height, 4], (12 * z + 4 * y) as f64), &scale);
            }
        }
        let View::Maps(maps) = view else { panic!("a slice") };
        assert_eq!((maps.axes, maps.cells), ([1, 2], [3, 4]));
        assert_eq!(maps.fields()[0], (12..24).map(f64::from).collect::<Vec<_>>());
        assert!(maps.error.iter().all(|e| *e == 0.5));
    }

    #[test]
    fn a_line_keeps_its_extremes() {
        let scale = Scale::new(Mode::Abs, 0.0);
        let mut view = View::new(&[1, 100_000], &[0, 99_999]);
        view.add(&part(&[0, 0], &[1, 60_000], 0.0), &scale);
        view.add(&part(&[0, 60_000], &[1, 40_000], 60_000.0), &scale);
        let View::Curves(curves) = view else { panic!("curves") };
        let ends = [curves.original.0[0], *curves.original.0.last().unwrap()].map(Option::unwrap);
        assert_eq!((ends[0].0, ends[1].1), (0.0, 99_999.0));
        assert!(curves.error.0.iter().all(|e| *e == Some((0.5, 0.5))));
        assert_eq!((curves.close.len(), curves.close[95].0), (96, 99_999));
    }
}
