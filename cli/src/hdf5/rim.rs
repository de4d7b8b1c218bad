//! Chunks at the rim of a dataset, of which only a part lies in it.

use super::dataset::{Block, Field};
use crate::grid::{cut_out, put_in};
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
        let (mut chunk, size) = (zeroed(self.bytes())?, self.fill.len());
        chunk.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(&self.fill));
        put_in(&mut chunk, &self.shape, &vec![0; self.shape.len()], &block.count, size, &bytes);
        Ok(chunk)
    }

    /// What the rim leaves of a chunk.
    pub fn cut_out(&self, block: &Block, chunk: Vec<u8>) -> Vec<u8> {
        match block.count == self.shape {
            true => chunk,
            false => cut_out(&chunk, &self.shape, &vec![0; self.shape.len()], &block.count, self.fill.len()),
        }
    }
}
