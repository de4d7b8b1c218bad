//! What the chunks of a dataset would take, and what errors they would have.

use sleek::{Dims, Params};

use crate::hdf5::dataset::{Block, Field};
use crate::target::Measured;

/// Chunks that are compressed for an estimate.
const SAMPLES: usize = 8;
/// A dataset smaller than this is compressed as a whole for an estimate.
const FEW_BYTES: u64 = 64 << 20;
/// So is one of which the chunks that were tried come this near to what is stored.
const CLOSE: f64 = 0.75;

/// The chunks of a dataset, as HDF5 would hand them to the filter.
pub struct Chunks<'a> {
    field: &'a Field<'a>,
    blocks: Vec<Block>,
    /// What fills up a chunk that the rim cuts off.
    fill: Vec<u8>,
}

impl<'a> Chunks<'a> {
    pub fn of(field: &'a Field<'a>) -> Result<Chunks<'a>, String> {
        Ok(Chunks { field, blocks: field.blocks_of_chunks()?, fill: field.fill_bytes() })
    }

    /// The bytes that they take: of all of them where there are few, or where some do not tell on which side of
    /// `stored` it is.
    pub fn estimated_bytes(&self, params: &Params, stored: u64) -> Result<u64, String> {
        let some = self.blocks.len().div_ceil(SAMPLES).max(1);
        let estimate = self.bytes(params, some)?;
        let is_close = estimate as f64 > CLOSE * stored as f64 && (estimate as f64) < stored as f64 / CLOSE;
        match some > 1 && (is_close || self.field.bytes() < FEW_BYTES) {
            true => self.bytes(params, 1),
            false => Ok(estimate),
        }
    }

    /// What every `step`th chunk takes, for all of them.
    fn bytes(&self, params: &Params, step: usize) -> Result<u64, String> {
        let measured = self.measure(params, step, Measured::default(), None)?;
        let taken = self.blocks.iter().skip(step / 2).step_by(step).count();
        Ok((measured.packed as f64 * self.blocks.len() as f64 / taken.max(1) as f64) as u64)
    }

    /// The bytes that all chunks take, as `bytes_of` some says.
    pub fn estimated_by(&self, bytes_of: impl Fn(&Block) -> Result<u64, String>) -> Result<u64, String> {
        let step = if self.field.bytes() < FEW_BYTES { 1 } else { self.blocks.len().div_ceil(SAMPLES).max(1) };
        let some = self.blocks.iter().skip(step / 2).step_by(step);
        let bytes = some.clone().map(bytes_of).sum::<Result<u64, String>>()?;
        Ok((bytes as f64 * self.blocks.len() as f64 / some.count().max(1) as f64) as u64)
    }

    /// How many steps there may be between chunks that have so many bytes together.
    pub fn step_for(&self, bytes: u64) -> usize {
        (self.field.bytes() / bytes).clamp(1, self.blocks.len().max(1) as u64) as usize
    }

    /// Compresses every `step`th chunk; errors count where the missing values are given.
    pub fn measure(
        &self,
        params: &Params,
        step: usize,
        mut m: Measured,
        fills: Option<&[f64]>,
    ) -> Result<Measured, String> {
        let mut params = params.clone();
        let is_number = self.field.stored.scalar;
        if is_number && sleek::codec::uses_dims(&params) {
            params.dims = Dims::new(&self.field.chunk).unwrap_or(Dims::NONE);
        }
        for block in self.blocks.iter().skip(step / 2).step_by(step) {
            let mut bytes = vec![0; self.field.block_bytes(block)];
            self.field.read(block, &mut bytes)?;
            let raw = bytes.len();
            let bytes = self.filled_up(block, bytes);
            let stream = sleek::compress(&params, &bytes).map_err(|e| e.to_string())?;
            m.add(raw, stream.len());
            if let Some(fills) = fills {
                m.add_errors(&params, fills, &bytes, &stream)?;
            }
        }
        Ok(m)
    }

    /// A whole chunk: one that the rim cuts off has the fill value behind each of its rows.
    pub fn filled_up(&self, block: &Block, bytes: Vec<u8>) -> Vec<u8> {
        let shape = &self.field.chunk;
        if block.count == *shape {
            return bytes;
        }
        let elements = shape.iter().product::<u64>() as usize;
        let mut chunk = self.fill.repeat(elements);
        let row = *block.count.last().unwrap_or(&1) as usize * self.fill.len();
        for (n, data) in bytes.chunks(row.max(1)).enumerate() {
            let (mut rest, mut at, mut stride) = (n as u64, 0, *shape.last().unwrap_or(&1));
            for (len, side) in block.count.iter().zip(shape).rev().skip(1) {
                at += rest % len * stride;
                rest /= len;
                stride *= side;
            }
            let at = at as usize * self.fill.len();
            chunk[at..at + data.len()].copy_from_slice(data);
        }
        chunk
    }
}
