//! An array in Fortran's order, read in C's.

use std::io::{self, Read};

/// The bytes of an array whose first dimension is the fastest, which are read with the last one as the fastest.
pub struct Turned {
    bytes: Vec<u8>,
    /// Bytes of an element.
    size: usize,
    /// The lengths of the dimensions, all above 0.
    lens: Vec<usize>,
    /// The byte that is read next.
    at: usize,
}

impl Turned {
    /// `bytes` has as many elements as `lens` says.
    pub fn new(bytes: Vec<u8>, size: usize, lens: &[u64]) -> Turned {
        let lens: Vec<usize> = lens.iter().map(|len| *len as usize).collect();
        debug_assert_eq!(lens.iter().product::<usize>() * size, bytes.len());
        Turned { bytes, size, lens, at: 0 }
    }

    /// Back to the first byte.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    /// Passes the next `n` bytes, or as many as are left.
    pub fn pass(&mut self, n: u64) {
        let rest = self.bytes.len() - self.at;
        self.at += usize::try_from(n).unwrap_or(rest).min(rest);
    }

    /// Where an element stands, by its number in C's order.
    fn place(&self, mut element: usize) -> usize {
        let (mut place, mut stride) = (0, self.lens.iter().product::<usize>());
        for len in self.lens.iter().rev() {
            stride /= len;
            place += element % len * stride;
            element /= len;
        }
        place
    }

    /// Reads whole elements, as many as there is room for until the end of a row.
    fn row(&self, room: &mut [u8]) -> usize {
        let element = self.at / self.size;
        let last = self.lens.last().copied().unwrap_or(1);
        let stride = self.bytes.len() / last;
        let count = (last - element % last).min(room.len() / self.size);
        let mut from = self.place(element) * self.size;
        for to in room.chunks_exact_mut(self.size).take(count) {
            match self.size {
                4 => to.copy_from_slice(&self.bytes[from..from + 4]),
                8 => to.copy_from_slice(&self.bytes[from..from + 8]),
                size => to.copy_from_slice(&self.bytes[from..from + size]),
            }
            from += stride;
        }
        count * self.size
    }

    /// Reads of one element what is left of it, or as much as there is room for.
    fn part(&self, room: &mut [u8]) -> usize {
        let (element, within) = (self.at / self.size, self.at % self.size);
        let n = (self.size - within).min(room.len());
        let from = self.place(element) * self.size + within;
        room[..n].copy_from_slice(&self.bytes[from..from + n]);
        n
    }
}

impl Read for Turned {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < room.len() && self.at < self.bytes.len() {
            let room = &mut room[done..];
            let is_whole = self.at.is_multiple_of(self.size) && room.len() >= self.size;
            let n = if is_whole { self.row(room) } else { self.part(room) };
            done += n;
            self.at += n;
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element is where C's order has it, whatever pieces it is read in.
    #[test]
    fn read_in_pieces_of_any_length() {
        let (lens, size) = ([3u64, 4, 5], 4usize);
        let (mut bytes, mut expected) = (vec![0; 240], Vec::new());
        for (i, j, k) in (0..60).map(|n| (n / 20, n / 5 % 4, n % 5)) {
            let element = u32::to_le_bytes((100 * i + 10 * j + k) as u32);
            let at = (i + 3 * (j + 4 * k)) * size;
            bytes[at..at + size].copy_from_slice(&element);
            expected.extend(element);
        }
        for piece in [1, 3, 4, 7, 17, 20, 64, 240, 1000] {
            let mut turned = Turned::new(bytes.clone(), size, &lens);
            let mut found = Vec::new();
            let mut room = vec![0; piece];
            loop {
                match turned.read(&mut room).unwrap() {
                    0 => break,
                    n => found.extend_from_slice(&room[..n]),
                }
            }
            assert_eq!(found, expected, "{piece}");
            turned.rewind();
            turned.pass(237);
            let n = turned.read(&mut room).unwrap();
            assert_eq!(room[..n], expected[237..][..n]);
            turned.pass(1000);
            assert_eq!(turned.read(&mut room).unwrap(), 0);
            turned.rewind();
            assert_eq!(turned.read(&mut room[..1]).unwrap(), 1);
        }
    }
}
