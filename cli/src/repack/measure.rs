//! What the chunks of a dataset would take, and what errors they would have.

use sleek::missing::MAX_MISSING;
use sleek::{Bound, Dims, MissingValue, Params};

use crate::hdf5::dataset::{Block, Field};
use crate::hdf5::rim::Rim;
use crate::targets::{Measured, restored};

/// Chunks that are compressed for an estimate.
const SAMPLES: usize = 8;
/// A dataset smaller than this is compressed as a whole for an estimate.
const FEW_BYTES: u64 = 64 << 20;
/// Bytes that are looked at where a rough estimate will do; smaller datasets are compressed as a whole then.
const ROUGH_BYTES: u64 = 4 << 20;
/// So is one of which the chunks that were tried come this near to what is stored.
const CLOSE: f64 = 0.75;

/// The chunks of a dataset, as HDF5 would hand them to the filter.
pub struct Chunks<'a> {
    field: &'a Field<'a>,
    /// Each a chunk.
    blocks: Vec<Block>,
    rim: Rim,
    /// Whether a rough estimate will do.
    is_rough: bool,
}

impl<'a> Chunks<'a> {
    /// Of a dataset.
    pub fn of(field: &'a Field<'a>) -> Result<Chunks<'a>, String> {
        Ok(Chunks { field, blocks: field.blocks_in_chunks()?, rim: Rim::of(field), is_rough: false })
    }

    /// The same, of which some tell enough.
    pub fn rough(self, is_rough: bool) -> Chunks<'a> {
        Chunks { is_rough, ..self }
    }

    /// The step from one chunk to the next that is looked at where all of them tell most.
    pub fn whole_step(&self) -> usize {
        rough_step(self.is_rough, self.field.bytes(), self.blocks.len())
    }

    /// The bytes that they take: of all of them where there are few, or where some do not tell on which side of
    /// `stored` it is.
    pub fn estimated_bytes(&self, params: &Params, stored: u64) -> Result<u64, String> {
        if self.is_rough {
            return self.bytes(params, self.whole_step());
        }
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
    fn shaped(&self, params: &Params) -> Result<Params, String> {
        let mut params = params.clone();
        if sleek::codec::uses_dims(&params) {
            // Of arrays and complex numbers the parts are the fastest dimension.
            let inner = self.field.size / params.dtype.size() as u64;
            let lens = self.field.chunk.iter().copied().chain((inner > 1).then_some(inner));
            params.dims = Dims::new(&lens.collect::<Vec<_>>()).unwrap_or(Dims::NONE);
        }
        // The filter takes them for some by itself.
        if params.dtype.is_float() && params.missing.is_empty() {
            let fills = self.field.fill_values()?;
            if fills.len() > MAX_MISSING {
                return Ok(params.with_bound(Bound::Lossless));
            }
            for fill in fills {
                params.missing.push(MissingValue::Number(fill)).map_err(|e| e.to_string())?;
            }
        }
        Ok(params)
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
        let mut params = self.shaped(params)?;
        if Field::threads(blocks.len()) > 1 {
            params.threads = 1; // each of them has a chunk
        }
        let rim = &self.rim;
        let work = |block: &Block, bytes: Vec<u8>| {
            let (raw, kept) = (bytes.len(), fills.map(|_| bytes.clone()));
            let chunk = rim.filled_up(block, bytes)?;
            let stream = sleek::compress(&params, &chunk).map_err(|e| e.to_string())?;
            // What fills up a chunk does not count.
            let both = kept.map(|kept| Ok::<_, String>((kept, rim.cut_out(block, restored(&stream, chunk.len())?))));
            Ok((raw, stream.len(), both.transpose()?))
        };
        self.field.each_chunk(&blocks, work, |block, (raw, packed, both)| {
            m.add(raw, packed);
            if let (Some(fills), Some((bytes, back))) = (fills, both) {
                m.add_errors(&params, fills, &self.dims_of(&block.count), &bytes, &back).map_err(|e| e.to_string())?;
            }
            Ok(())
        })?;
        Ok(m)
    }

    /// Dimensions in numbers: an array in each element is one more.
    pub fn dims_of(&self, lens: &[u64]) -> Vec<u64> {
        lens.iter().copied().chain((self.inner() > 1).then_some(self.inner())).collect()
    }

    fn inner(&self) -> u64 {
        self.field.size / self.field.stored.dtype.size() as u64
    }
}

/// The step from one to the next of so many chunks, of `bytes` together, that a rough estimate looks at: two at least.
pub fn rough_step(is_rough: bool, bytes: u64, chunks: usize) -> usize {
    match is_rough && bytes > ROUGH_BYTES {
        true => usize::try_from(bytes.div_ceil(ROUGH_BYTES)).unwrap_or(usize::MAX).clamp(1, (chunks / 2).max(1)),
        false => 1,
    }
}
