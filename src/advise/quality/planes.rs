//! Whole planes of the two fastest dimensions, put together from parts.

/// Elements of a plane of more than this are not put together.
const LARGE: u64 = 1 << 28;

/// Where a part of a field lies.
#[derive(Clone, Copy, Debug)]
pub struct Extent<'a> {
    /// Where it begins along each dimension.
    pub start: &'a [u64],
    /// Lengths, the slowest first.
    pub count: &'a [u64],
}

/// A plane of both sides; what does not count is NaN.
pub struct Plane<'a> {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// One side.
    pub original: &'a [f64],
    /// The other side.
    pub restored: &'a [f64],
}

/// Puts planes together. Parts come as chunks do: those of some planes before those of the next.
#[derive(Clone, Debug)]
pub struct Planes {
    dims: Vec<u64>,
    /// The planes that are on their way: where they start and how many they are along each slower dimension.
    start: Vec<u64>,
    count: Vec<u64>,
    original: Vec<f64>,
    restored: Vec<f64>,
}

impl Planes {
    /// Of a field of these dimensions. Those of length 1 are no dimensions.
    pub fn new(dims: &[u64]) -> Planes {
        let dims = dims.to_vec();
        Planes { dims, start: Vec::new(), count: Vec::new(), original: Vec::new(), restored: Vec::new() }
    }

    /// How long a plane is along its dimensions; 0 where there are none.
    fn sides(&self) -> [u64; 2] {
        match self.dims[..] {
            [.., height, width] if height.saturating_mul(width) <= LARGE => [height, width],
            _ => [0, 0],
        }
    }

    /// Elements of a plane.
    pub fn elements(&self) -> u64 {
        self.sides().iter().product()
    }

    /// How many planes there are.
    pub fn total(&self) -> u64 {
        match self.elements() {
            0 => 0,
            _ => self.dims.iter().rev().skip(2).product(),
        }
    }

    /// Takes in a part, and shows the planes that are whole then.
    pub fn add(&mut self, place: Extent, a: &[f64], b: &[f64], each: &mut dyn FnMut(&Plane)) {
        if self.elements() == 0 || a.is_empty() {
            return;
        }
        let outer = self.dims.len() - 2;
        if self.original.is_empty() || self.start != place.start[..outer] {
            self.finish(each);
            self.start = place.start[..outer].to_vec();
            self.count = place.count[..outer].to_vec();
            let elements = (self.count.iter().product::<u64>() * self.elements()) as usize;
            self.original = vec![f64::NAN; elements];
            self.restored = vec![f64::NAN; elements];
        }
        let [height, width] = self.sides().map(|n| n as usize);
        let [rows, columns] = [place.count[outer] as usize, place.count[outer + 1] as usize];
        let [top, left] = [place.start[outer] as usize, place.start[outer + 1] as usize];
        let rows_of_part = (0..a.len() / columns).map(|n| (n / rows, n % rows));
        for (n, (plane, row)) in rows_of_part.enumerate() {
            let to = (plane * height + top + row) * width + left;
            self.original[to..to + columns].copy_from_slice(&a[n * columns..(n + 1) * columns]);
            self.restored[to..to + columns].copy_from_slice(&b[n * columns..(n + 1) * columns]);
        }
    }

    /// Shows the planes that are left.
    pub fn finish(&mut self, each: &mut dyn FnMut(&Plane)) {
        let [height, width] = self.sides().map(|n| n as usize);
        if self.original.is_empty() {
            return;
        }
        let both = self.original.chunks(height * width).zip(self.restored.chunks(height * width));
        for (original, restored) in both {
            each(&Plane { height, width, original, restored });
        }
        self.original = Vec::new();
        self.restored = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_become_planes() {
        let dims = [3, 4, 6];
        let at = |z: u64, y: u64, x: u64| (z * 100 + y * 10 + x) as f64;
        for chunk in [[1, 4, 6], [2, 3, 4], [3, 1, 6], [1, 1, 1]] {
            let mut planes = Planes::new(&dims);
            let mut seen = Vec::new();
            let mut keep = |plane: &Plane| {
                assert_eq!((plane.height, plane.width, plane.original), (4, 6, plane.restored));
                seen.extend_from_slice(plane.original);
            };
            for z in (0..3).step_by(chunk[0] as usize) {
                for y in (0..4).step_by(chunk[1] as usize) {
                    for x in (0..6).step_by(chunk[2] as usize) {
                        let start = [z, y, x];
                        let count: Vec<u64> = (0..3).map(|i| chunk[i].min(dims[i] - start[i])).collect();
                        let mut part = Vec::new();
                        for k in 0..count.iter().product::<u64>() {
                            let (dz, dy, dx) = (k / (count[1] * count[2]), k / count[2] % count[1], k % count[2]);
                            part.push(at(z + dz, y + dy, x + dx));
                        }
                        planes.add(Extent { start: &start, count: &count }, &part, &part, &mut keep);
                    }
                }
            }
            planes.finish(&mut keep);
            let wanted: Vec<f64> = (0..72).map(|k| at(k / 24, k / 6 % 4, k % 6)).collect();
            assert_eq!(seen, wanted, "{chunk:?}");
        }
        let mut line = Planes::new(&[9]);
        line.add(Extent { start: &[0], count: &[9] }, &[1.0; 9], &[1.0; 9], &mut |_| panic!("a line is no plane"));
        assert_eq!(line.total(), 0);
    }
}
