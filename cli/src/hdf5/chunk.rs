//! Chunks as they are stored.

use std::ffi::c_uint;

use super::abi::DEFAULT;
use super::dataset::{Block, Field};
use super::{Id, h5};
use crate::io::zeroed;

/// A chunk of a dataset in the file.
pub struct Chunk {
    pub bytes: Vec<u8>,
    /// A bit for each filter of the dataset that this chunk did not pass.
    pub skipped: u32,
}

impl Field<'_> {
    /// A chunk as it is stored; `None` if it was never written, or has no filter to pass.
    pub fn chunk(&self, chunk: &Block) -> Result<Option<Chunk>, String> {
        let (hdf5, dataset, start) = (self.dataset.hdf5, self.dataset.id, &chunk.start);
        if !self.is_chunked || h5!(hdf5, H5Pget_nfilters(self.properties.id))? == 0 {
            return Ok(None);
        }
        let mut size = self.told_bytes(start);
        if size.is_none() {
            // Never written, unless it is damage: the count reads all of the index.
            self.count_stored()?;
            size = self.told_bytes(start);
        }
        let Some(size) = size else { return Ok(None) };
        let (mut skipped, mut bytes) = (0, zeroed(size as usize)?);
        let out = bytes.as_mut_ptr().cast();
        // SAFETY: the id is alive, a chunk's start has the dataset's rank, and there is room for all that is stored.
        let answer = unsafe { (hdf5.read_chunk)(dataset, DEFAULT, start.as_ptr(), &mut skipped, out) };
        if answer < 0 {
            return Err(hdf5.complaint("H5Dread_chunk"));
        }
        if chunk.count != self.chunk && self.has_plain_rim()? {
            skipped = u32::MAX; // which HDF5 does not say of it
        }
        Ok(Some(Chunk { bytes, skipped }))
    }

    /// Bytes of a chunk in the file; `None` where HDF5 cannot tell, as of one that was never written. Of a dataset
    /// without filters one that was only read counts as written.
    pub(super) fn told_bytes(&self, start: &[u64]) -> Option<u64> {
        let (hdf5, mut bytes) = (self.dataset.hdf5, 0);
        hdf5.forgive(h5!(hdf5, H5Dget_chunk_storage_size(self.dataset.id, start.as_ptr(), &raw mut bytes)))?;
        (bytes > 0).then_some(bytes)
    }

    /// Whether chunks of which only a part lies in the dataset pass no filter.
    pub fn has_plain_rim(&self) -> Result<bool, String> {
        const DONT_FILTER_PARTIAL_CHUNKS: c_uint = 2;
        let mut options = 0;
        if self.is_chunked {
            h5!(self.dataset.hdf5, H5Pget_chunk_opts(self.properties.id, &raw mut options))?;
        }
        Ok(options & DONT_FILTER_PARTIAL_CHUNKS != 0)
    }

    /// Whether a part is one chunk.
    pub fn is_chunk(&self, part: &Block) -> bool {
        let sides = self.chunk.iter().zip(&self.dims).zip(part.start.iter().zip(&part.count));
        self.is_chunked
            && sides
                .into_iter()
                .all(|((side, len), (at, count))| at.is_multiple_of(*side) && *count == (*side).min(len - at))
    }

    /// Writes a chunk to another dataset of this shape as it is to be stored, with a bit for each filter that it did
    /// not pass.
    pub fn write_chunk_to(&self, other: &Id, chunk: &Block, bytes: &[u8], skipped: u32) -> Result<(), String> {
        let (start, data) = (chunk.start.as_ptr(), bytes.as_ptr().cast());
        h5!(other.hdf5, H5Dwrite_chunk(other.id, DEFAULT, skipped, start, bytes.len(), data)).map(drop)
    }
}
