//! Chunks as they are stored.

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
    /// A chunk as it is stored; `None` if it was never written.
    pub fn chunk(&self, chunk: &Block) -> Result<Option<Chunk>, String> {
        if !self.is_chunked {
            return Ok(None);
        }
        let (hdf5, dataset, start) = (self.dataset.hdf5, self.dataset.id, chunk.start.as_ptr());
        let (mut skipped, mut address, mut size) = (0, 0, 0);
        let (mask, address_at) = (&raw mut skipped, &raw mut address);
        h5!(hdf5, H5Dget_chunk_info_by_coord(dataset, start, mask, address_at, &raw mut size))?;
        if address == u64::MAX {
            return Ok(None);
        }
        let mut bytes = zeroed(size as usize)?;
        let out = bytes.as_mut_ptr().cast();
        // SAFETY: the id is alive, a chunk's start has the dataset's rank, and there is room for all that is stored.
        let answer = unsafe { (hdf5.read_chunk)(dataset, DEFAULT, start, &mut skipped, out) };
        if answer < 0 { Err(hdf5.complaint("H5Dread_chunk")) } else { Ok(Some(Chunk { bytes, skipped })) }
    }

    /// Whether a part is one chunk.
    pub fn is_chunk(&self, part: &Block) -> bool {
        let sides = self.chunk.iter().zip(&self.dims).zip(part.start.iter().zip(&part.count));
        self.is_chunked
            && sides
                .into_iter()
                .all(|((side, len), (at, count))| at.is_multiple_of(*side) && *count == (*side).min(len - at))
    }

    /// Writes a chunk to another dataset of this shape as it is to be stored.
    pub fn write_chunk_to(&self, other: &Id, chunk: &Block, bytes: &[u8]) -> Result<(), String> {
        let (start, data, passed_all) = (chunk.start.as_ptr(), bytes.as_ptr().cast(), 0);
        h5!(other.hdf5, H5Dwrite_chunk(other.id, DEFAULT, passed_all, start, bytes.len(), data)).map(drop)
    }
}
