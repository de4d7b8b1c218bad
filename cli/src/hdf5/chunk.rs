//! Chunks as they are stored.

use super::Id;
use super::abi::DEFAULT;
use super::dataset::{Block, Field};
use crate::io::zeroed;

/// A chunk of a dataset in the file.
pub struct Chunk {
    pub bytes: Vec<u8>,
    /// A bit for each filter of the dataset that this chunk did not pass.
    pub skipped: u32,
}

/// What HDF5 says of a chunk.
struct Stored {
    address: u64,
    bytes: u64,
}

impl Field<'_> {
    /// A chunk as it is stored; `None` if it was never written, or where HDF5 does not tell.
    pub fn chunk(&self, chunk: &Block) -> Result<Option<Chunk>, String> {
        let hdf5 = self.dataset.hdf5;
        let (Some(place), Some(read_chunk), true) = (self.place(chunk)?, hdf5.read_chunk, self.is_chunked) else {
            return Ok(None);
        };
        if place.address == u64::MAX {
            return Ok(None);
        }
        let (mut bytes, mut skipped) = (zeroed(place.bytes as usize)?, 0);
        let out = bytes.as_mut_ptr().cast();
        // SAFETY: the id is alive, a chunk's start has the dataset's rank, and there is room for all that is stored.
        let answer = unsafe { read_chunk(self.dataset.id, DEFAULT, chunk.start.as_ptr(), &mut skipped, out) };
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

    /// Whether this HDF5 writes chunks as they are.
    pub fn writes_chunks(&self) -> bool {
        self.dataset.hdf5.write_chunk.is_some()
    }

    /// Writes a chunk to another dataset of this shape as it is to be stored; with a bit in `skipped` for each filter
    /// that it did not pass.
    pub fn write_chunk_to(&self, other: &Id, chunk: &Block, bytes: &[u8], skipped: u32) -> Result<(), String> {
        let hdf5 = self.dataset.hdf5;
        let Some(write_chunk) = hdf5.write_chunk else {
            return Err(format!("{} does not write chunks as they are; 1.10.3 and newer do", hdf5.name()));
        };
        let (start, data) = (chunk.start.as_ptr(), bytes.as_ptr().cast());
        // SAFETY: the id is alive, a chunk's start has the dataset's rank, and HDF5 reads so many bytes.
        let answer = unsafe { write_chunk(other.id, DEFAULT, skipped, start, bytes.len(), data) };
        if answer < 0 { Err(hdf5.complaint("H5Dwrite_chunk")) } else { Ok(()) }
    }

    /// Where a chunk is stored; `None` where HDF5 does not tell.
    fn place(&self, chunk: &Block) -> Result<Option<Stored>, String> {
        let hdf5 = self.dataset.hdf5;
        let Some(chunk_info) = hdf5.chunk_info.filter(|_| self.is_chunked) else { return Ok(None) };
        let (mut mask, mut address, mut bytes) = (0, 0, 0);
        let start = chunk.start.as_ptr();
        // SAFETY: the id is alive, a chunk's start has the dataset's rank, and the rest are numbers to be written.
        let answer = unsafe { chunk_info(self.dataset.id, start, &mut mask, &mut address, &mut bytes) };
        if answer < 0 { Err(hdf5.complaint("H5Dget_chunk_info_by_coord")) } else { Ok(Some(Stored { address, bytes })) }
    }
}
