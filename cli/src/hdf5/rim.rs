//! Chunks at the rim of a dataset, of which only a part lies in it.

use super::dataset::{Block, Field};
use crate::io::zeroed;

/// What there is to know of them.
pub struct Rim {
    shape: Vec<u64>,
    /// The bytes of an element that fills them up.
    fill: Vec<u8>,
}

impl Rim {
    pub fn of(field: &Field) -> Rim {
        Rim { shape: field.chunk.clone(), fill: field.fill_bytes() }
    }

    pub fn bytes(&self) -> usize {
        let bytes = self.shape.iter().fold(self.fill.len() as u64, |n, len| n.saturating_mul(*len));
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// A whole chunk: one that the rim cuts off has the fill value behind each of its rows.
    pub fn filled_up(&self, block: &Block, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        if block.count == self.shape {
            return Ok(bytes);
        }
        let mut chunk = self.filled()?;
        let (row, places) = self.rows(block);
        for (data, at) in bytes.chunks(row.max(1)).zip(places) {
            chunk[at..at + data.len()].copy_from_slice(data);
        }
        Ok(chunk)
    }

    /// A chunk of the fill value alone.
    fn filled(&self) -> Result<Vec<u8>, String> {
        let mut chunk = zeroed(self.bytes())?;
        if self.fill.iter().any(|byte| *byte != 0) {
            chunk.chunks_exact_mut(self.fill.len()).for_each(|element| element.copy_from_slice(&self.fill));
        }
        Ok(chunk)
    }

    /// What the rim leaves of a chunk.
    pub fn cut_out(&self, block: &Block, chunk: Vec<u8>) -> Vec<u8> {
        if block.count == self.shape {
            return chunk;
        }
        let (row, places) = self.rows(block);
        places.into_iter().flat_map(|at| chunk[at..at + row].iter().copied()).collect()
    }

    /// The bytes of a row of a block, and where in its chunk each one lies.
    fn rows(&self, block: &Block) -> (usize, Vec<usize>) {
        let size = self.fill.len();
        let row = *block.count.last().unwrap_or(&1);
        let rows = block.count.iter().product::<u64>() / row.max(1);
        let place = |n: u64| {
            let (mut rest, mut at, mut stride) = (n, 0, *self.shape.last().unwrap_or(&1));
            for (len, side) in block.count.iter().zip(&self.shape).rev().skip(1) {
                at += rest % len * stride;
                rest /= len;
                stride *= side;
            }
            at as usize * size
        };
        (row as usize * size, (0..rows).map(place).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let rim = Rim { shape: vec![2, 3, 4], fill: vec![9, 8] };
        for count in [[2, 3, 4], [1, 2, 3], [2, 1, 4], [1, 1, 1]] {
            let block = Block { start: vec![0; 3], count: count.to_vec() };
            let bytes: Vec<u8> = (0..count.iter().product::<u64>() as u8 * 2).map(|i| i + 100).collect();
            let chunk = rim.filled_up(&block, bytes.clone()).unwrap();
            assert_eq!(chunk.len(), rim.bytes());
            assert_eq!(chunk.iter().filter(|b| **b < 100).count(), rim.bytes() - bytes.len());
            assert_eq!(rim.cut_out(&block, chunk), bytes, "{count:?}");
        }
        let block = Block { start: vec![0; 3], count: vec![1, 2, 1] };
        let chunk = rim.filled_up(&block, vec![1, 2, 3, 4]).unwrap();
        assert_eq!((&chunk[..4], &chunk[8..12]), (&[1, 2, 9, 8][..], &[3, 4, 9, 8][..]));
    }
}
