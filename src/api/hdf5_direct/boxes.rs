//! Where the chunks of a selection lie: in the file, and as boxes in the caller's array.

use crate::error::Result;
use crate::host::memory::filled;

/// A selection that begins on a chunk's first element and ends on a chunk's last or at the dataset's end, cut into
/// chunks. They are numbered with the last dimension fastest.
pub struct Boxes {
    start: Vec<u64>,
    /// Lengths of a chunk.
    pub chunk: Vec<u64>,
    /// Chunks in each dimension.
    grid: Vec<u64>,
    /// Bytes of an element.
    pub element: usize,
    /// The array and the chunk, with dimensions that a chunk spans from end to end counted to the one before.
    pub array: Vec<u64>,
    pub tile: Vec<u64>,
}

/// Bytes that follow each other in the array and in the chunk, where they begin there.
pub struct BoxRow {
    pub array: usize,
    pub chunk: usize,
    pub len: usize,
}

impl Boxes {
    /// The boxes of `count` elements from `start` on. No dimension is 0.
    pub fn new(start: &[u64], count: &[u64], chunk: &[u64], element: usize) -> Boxes {
        let (mut array, mut tile) = (count.to_vec(), chunk.to_vec());
        while array.len() > 1 && array.last() == tile.last() {
            for dims in [&mut array, &mut tile] {
                let last = dims.pop().unwrap_or(1);
                if let Some(d) = dims.last_mut() {
                    *d *= last;
                }
            }
        }
        let grid = count.iter().zip(chunk).map(|(n, c)| n.div_ceil(*c)).collect();
        Boxes { start: start.to_vec(), chunk: chunk.to_vec(), grid, element, array, tile }
    }

    pub fn len(&self) -> usize {
        self.grid.iter().product::<u64>() as usize
    }

    /// Bytes of a chunk.
    pub fn chunk_bytes(&self) -> usize {
        self.tile.iter().product::<u64>() as usize * self.element
    }

    /// The first element of chunk `i` in the dataset.
    pub fn offset(&self, i: usize) -> Vec<u64> {
        let at = coordinates(i as u64, &self.grid);
        at.iter().zip(&self.chunk).zip(&self.start).map(|((a, c), s)| a * c + s).collect()
    }

    /// First element and extent of chunk `i` in the array.
    fn part(&self, i: usize) -> (Vec<u64>, Vec<u64>) {
        let origin: Vec<u64> = coordinates(i as u64, &self.grid).iter().zip(&self.tile).map(|(a, t)| a * t).collect();
        let extent = origin.iter().zip(&self.tile).zip(&self.array).map(|((o, t), n)| *t.min(&(n - o))).collect();
        (origin, extent)
    }

    /// Where chunk `i` begins in the array, in bytes, if all of it lies there in one piece.
    pub fn whole(&self, i: usize) -> Option<usize> {
        let (origin, extent) = self.part(i);
        let last = self.tile.len() - 1;
        (extent == self.tile && self.tile[..last].iter().all(|t| *t == 1)).then(|| self.place(&origin))
    }

    fn place(&self, at: &[u64]) -> usize {
        at.iter().zip(&self.array).fold(0, |place, (a, n)| place * n + a) as usize * self.element
    }

    /// The rows of chunk `i` that lie in the array, in the order of the chunk; the rest of it is its rim.
    pub fn rows(&self, i: usize) -> impl Iterator<Item = BoxRow> {
        let (origin, extent) = self.part(i);
        let last = self.tile.len() - 1;
        let outer = extent[..last].to_vec();
        (0..outer.iter().product::<u64>()).map(move |r| {
            let (mut at, within) = (origin.clone(), coordinates(r, &outer));
            at.iter_mut().zip(&within).for_each(|(at, w)| *at += w);
            let row = within.iter().zip(&self.tile).fold(0, |row, (w, t)| row * t + w);
            BoxRow {
                array: self.place(&at),
                chunk: (row * self.tile[last]) as usize * self.element,
                len: extent[last] as usize * self.element,
            }
        })
    }

    /// Copies chunk `i` from the array into `out`, its rim filled with `pad`, an element in the file's byte order;
    /// `swap` is the size of the numbers to be turned round, or 1.
    ///
    /// # Safety
    /// `array` holds the whole selection.
    pub unsafe fn gather(&self, i: usize, array: *const u8, pad: &[u8], swap: usize, out: &mut [u8]) {
        if self.part(i).1 != self.tile {
            repeat(pad, out);
        }
        for row in self.rows(i) {
            let to = &mut out[row.chunk..row.chunk + row.len];
            // SAFETY: the row lies in the array.
            to.copy_from_slice(unsafe { std::slice::from_raw_parts(array.add(row.array), row.len) });
            turn(to, swap);
        }
    }

    /// Copies what of chunk `i` lies in the array from `chunk` to it.
    ///
    /// # Safety
    /// `array` has room for the whole selection, and nobody else uses the elements of chunk `i`.
    pub unsafe fn scatter(&self, i: usize, chunk: &[u8], swap: usize, array: *mut u8) {
        for row in self.rows(i) {
            // SAFETY: the row lies in the array, and is ours.
            let to = unsafe { std::slice::from_raw_parts_mut(array.add(row.array), row.len) };
            to.copy_from_slice(&chunk[row.chunk..row.chunk + row.len]);
            turn(to, swap);
        }
    }

    /// A chunk of nothing but `pad`.
    pub fn filled_with(&self, pad: &[u8]) -> Result<Vec<u8>> {
        let mut chunk = filled(self.chunk_bytes(), 0)?;
        repeat(pad, &mut chunk);
        Ok(chunk)
    }
}

/// The coordinates of box `i` in a grid.
fn coordinates(mut i: u64, grid: &[u64]) -> Vec<u64> {
    let mut at = vec![0; grid.len()];
    for (a, n) in at.iter_mut().zip(grid).rev() {
        (*a, i) = (i % n, i / n);
    }
    at
}

fn repeat(element: &[u8], out: &mut [u8]) {
    if element.iter().all(|b| *b == 0) {
        return out.fill(0);
    }
    out.chunks_exact_mut(element.len()).for_each(|e| e.copy_from_slice(element));
}

/// Reverses the bytes of every number.
fn turn(bytes: &mut [u8], size: usize) {
    match size {
        2 => bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse),
        4 => bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse),
        8 => bytes.chunks_exact_mut(8).for_each(<[u8]>::reverse),
        _ => (),
    }
}
