//! What the chunks of a dataset would take, and what errors they would have.

use sleek::{Dims, Params};

use crate::hdf5::dataset::{Block, Field};
use crate::hdf5::rim::Rim;
use crate::target::{Measured, restored};

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
    rim: Rim,
}

impl<'a> Chunks<'a> {
    pub fn of(field: &'a Field<'a>) -> Result<Chunks<'a>, String> {
        Ok(Chunks { field, blocks: field.blocks_of_chunks()?, rim: Rim::of(field) })
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

    /// The parameters with the dimensions of a chunk, as the filter would have them.
    pub fn shaped(&self, params: &Params) -> Params {
        let mut params = params.clone();
        if self.field.stored.scalar && sleek::codec::uses_dims(&params) {
            params.dims = Dims::new(&self.field.chunk).unwrap_or(Dims::NONE);
        }
        params
    }

    /// Whole chunks from all over the dataset, of so many bytes together.
    pub fn sample(&self, bytes: u64) -> Result<Vec<Vec<u8>>, String> {
        let step = self.step_for(bytes);
        let blocks = self.blocks.iter().skip(step / 2).step_by(step);
        blocks.map(|block| Ok(self.rim.filled_up(block, self.read(block)?))).collect()
    }

    fn read(&self, block: &Block) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; self.field.block_bytes(block)];
        self.field.read(block, &mut bytes)?;
        Ok(bytes)
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
        let blocks: Vec<Block> = self.blocks.iter().skip(step / 2).step_by(step).cloned().collect();
        let mut params = self.shaped(params);
        if Field::threads(blocks.len()) > 1 {
            params.threads = 1; // each of them has a chunk
        }
        let rim = &self.rim;
        let work = |block: &Block, bytes: Vec<u8>| {
            let (raw, kept) = (bytes.len(), fills.map(|_| bytes.clone()));
            let chunk = rim.filled_up(block, bytes);
            let stream = sleek::compress(&params, &chunk).map_err(|e| e.to_string())?;
            // What fills up a chunk does not count.
            let both = kept.map(|kept| Ok::<_, String>((kept, rim.cut_out(block, restored(&stream, chunk.len())?))));
            Ok((raw, stream.len(), both.transpose()?))
        };
        self.field.each_chunk(&blocks, work, |block, (raw, packed, both)| {
            m.add(raw, packed);
            if let (Some(fills), Some((bytes, back))) = (fills, both) {
                m.add_errors(&params, fills, &self.dims_of(block), &bytes, &back);
            }
            Ok(())
        })?;
        Ok(m)
    }

    /// The dimensions of a block in numbers: an array in each element is one more.
    fn dims_of(&self, block: &Block) -> Vec<u64> {
        let inner = self.field.size / self.field.stored.dtype.size() as u64;
        block.count.iter().copied().chain((inner > 1).then_some(inner)).collect()
    }
}
