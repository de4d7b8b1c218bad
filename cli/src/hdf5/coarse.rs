//! Every so many-th element of a dataset, chunk by chunk: of a chunk that is a stream of ours no more is decoded than
//! that takes.

use sleek::hdf5::bytes_of_chunk;

use super::abi::DEFAULT;
use super::chunk::Chunk;
use super::dataset::{Block, Field};
use super::filters::pipeline;
use super::parallel::Decoder;
use super::{h5, h5_id};
use crate::grid::{cut_out, of_stream, off_grid, on_grid, thin};
use crate::io::zeroed;
use crate::pipeline::in_order;

/// What is read of a chunk.
enum Reading {
    Elements(Vec<u8>),
    Stream(Vec<u8>),
    Stored(Chunk),
}

impl Field<'_> {
    /// What a box has of each chunk that is in the file, and whether some are not.
    fn parts(&self, whole: &Block) -> Result<(Box<dyn Iterator<Item = Block>>, bool), String> {
        let (of, sides) = (whole.clone(), self.chunk.clone());
        let inside = move |chunk: Block| Some(chunk.common(&of)).filter(|common| !common.count.contains(&0));
        if let Some(chunks) = self.some_chunks()? {
            let are_all = chunks.len() as u64 == self.blocks_of_all_chunks().total();
            return Ok((Box::new(chunks.into_iter().filter_map(inside)), !are_all));
        }
        let chunks = self.starts_over(whole).map(move |start| Block { start, count: sides.clone() });
        Ok((Box::new(chunks.filter_map(inside)), false))
    }

    /// Takes what of a box is on the grid of a level, chunk by chunk: a box of the grid, and the bytes of its elements.
    /// What is not in the file is passed over: it has the fill value, which `fill` is told before.
    pub fn each_on_grid(
        &self,
        whole: &Block,
        level: u32,
        fill: impl FnOnce(&[u8]) -> Result<(), String>,
        mut take: impl FnMut(&Block, Vec<u8>) -> Result<(), String>,
    ) -> Result<(), String> {
        let (decoder, filters) = (Decoder::of(self)?, pipeline(&self.properties)?);
        let words = match &filters[..] {
            [filter] if filter.is_sleek() && self.is_of_numbers() => Some(&filter.words),
            _ => None,
        };
        let on_grid = |part: &Block| {
            let (start, count) = on_grid(&part.start, &part.count, level);
            Block { start, count }
        };
        let (sides, size) = (self.chunk.clone(), self.size as usize);
        let chunk_of =
            |part: &Block| -> Vec<u64> { part.start.iter().zip(&sides).map(|(at, side)| at / side * side).collect() };
        let read = |part: &Block| {
            // A stream without the chunk's dimensions has another grid.
            let has_dims = |bytes: &[u8]| sleek::inspect(bytes).is_ok_and(|info| info.dims.lens() == self.chunk);
            let is_right = |words: &[u32], bytes: &[u8]| bytes_of_chunk(words, bytes).is_ok() && has_dims(bytes);
            Ok(match decoder.stored(self, &self.block_at(&chunk_of(part)))? {
                None => Reading::Elements(self.read_on_grid(&on_grid(part), level)?),
                Some(Chunk { bytes, skipped })
                    if skipped & 1 == 0 && words.is_some_and(|words| is_right(words, &bytes)) =>
                {
                    Reading::Stream(bytes)
                }
                Some(stored) => Reading::Stored(stored),
            })
        };
        let work = |part: &Block, read| match read {
            Reading::Elements(bytes) => Ok(bytes),
            Reading::Stream(stream) => {
                let Block { start, count } = on_grid(part);
                of_stream(&stream, &chunk_of(part), (&start, &count), level, size)
            }
            Reading::Stored(stored) => {
                let Block { start, count } = on_grid(part);
                let (start, reach) = off_grid(&start, &count, level);
                let at: Vec<u64> = start.iter().zip(&chunk_of(part)).map(|(at, first)| at - first).collect();
                let chunk = decoder.decode(stored)?;
                let mut bytes = if reach == sides { chunk } else { cut_out(&chunk, &sides, &at, &reach, size) };
                thin(&mut bytes, &reach, &count, level, size);
                Ok(bytes)
            }
        };
        let (parts, has_holes) = self.parts(whole)?;
        if has_holes {
            fill(&self.fill_bytes())?;
        }
        let parts = parts.filter(|part| !on_grid(part).count.contains(&0));
        in_order(parts, read, work, |part, done| {
            take(&on_grid(part), done.map_err(|e| format!("{}: {e}, at {:?}", self.name, part.start))?)
        })
    }

    /// Reads a box of the grid as HDF5 does it.
    fn read_on_grid(&self, part: &Block, level: u32) -> Result<Vec<u8>, String> {
        let hdf5 = self.dataset.hdf5;
        let (start, _) = off_grid(&part.start, &part.count, level);
        let (stride, _) = off_grid(&vec![1; start.len()], &part.count, level);
        let mut bytes = zeroed(self.block_bytes(part))?;
        let none = std::ptr::null();
        let rank = start.len() as std::ffi::c_int;
        let memory = h5_id!(hdf5, H5Screate_simple(rank, part.count.as_ptr(), none))?;
        let file = h5_id!(hdf5, H5Dget_space(self.dataset.id))?;
        let (count, out) = (part.count.as_ptr(), bytes.as_mut_ptr().cast());
        h5!(hdf5, H5Sselect_hyperslab(file.id, 0, start.as_ptr(), stride.as_ptr(), count, none))?;
        h5!(hdf5, H5Dread(self.dataset.id, self.file_type.id, memory.id, file.id, DEFAULT, out))
            .map_err(|e| format!("{}: {e}", self.name))?;
        Ok(bytes)
    }
}
