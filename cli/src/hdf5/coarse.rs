//! Every so many-th element of a dataset, chunk by chunk: of a chunk that is a stream of ours no more is decoded than
//! that takes.

use super::abi::DEFAULT;
use super::dataset::{Block, Field, cut};
use super::filters::pipeline;
use super::{h5, h5_id};
use crate::grid::{of_stream, off_grid, on_grid};
use crate::io::zeroed;
use crate::pipeline::in_order;

/// What is read of a chunk.
enum Reading {
    Elements(Vec<u8>),
    Stream(Vec<u8>),
}

/// Where a box ends.
fn ends(block: &Block) -> Vec<u64> {
    block.start.iter().zip(&block.count).map(|(at, len)| at + len).collect()
}

impl Field<'_> {
    /// What a box has of each chunk that is in the file, and whether some are not.
    fn parts(&self, whole: &Block) -> Result<(Box<dyn Iterator<Item = Block>>, bool), String> {
        let (start, end) = (whole.start.clone(), ends(whole));
        let inside = move |chunk: Block| {
            let first: Vec<u64> = chunk.start.iter().zip(&start).map(|(a, b)| *a.max(b)).collect();
            let past = ends(&chunk).into_iter().zip(&end).map(|(a, b)| a.min(*b));
            let count: Vec<u64> = past.zip(&first).map(|(past, first)| past.saturating_sub(*first)).collect();
            (!count.contains(&0)).then_some(Block { start: first, count })
        };
        if let Some(chunks) = self.some_chunks()? {
            let are_all = chunks.len() as u64 == self.blocks_of_all_chunks().total();
            return Ok((Box::new(chunks.into_iter().filter_map(inside)), !are_all));
        }
        let first: Vec<u64> = whole.start.iter().zip(&self.chunk).map(|(at, side)| at / side * side).collect();
        let covered: Vec<u64> = ends(whole).iter().zip(&first).map(|(end, first)| end - first).collect();
        let moved =
            move |part: Block| Block { start: part.start.iter().zip(&first).map(|(a, b)| a + b).collect(), ..part };
        Ok((Box::new(cut(&covered, &self.chunk).map(moved).filter_map(inside)), false))
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
        let is_ours = self.is_chunked && matches!(&pipeline(&self.properties)?[..], [filter] if filter.is_sleek());
        let on_grid = |part: &Block| {
            let (start, count) = on_grid(&part.start, &part.count, level);
            Block { start, count }
        };
        let (sides, size) = (self.chunk.clone(), self.size as usize);
        let chunk_of =
            |part: &Block| -> Vec<u64> { part.start.iter().zip(&sides).map(|(at, side)| at / side * side).collect() };
        let read = |part: &Block| {
            let stored =
                if is_ours && self.is_of_numbers() { self.chunk(&self.block_at(&chunk_of(part)))? } else { None };
            // A stream without the chunk's dimensions has another grid.
            let has_dims = |bytes: &[u8]| sleek::inspect(bytes).is_ok_and(|info| info.dims.lens() == self.chunk);
            match stored.filter(|stored| stored.skipped & 1 == 0 && has_dims(&stored.bytes)) {
                Some(stored) => Ok(Reading::Stream(stored.bytes)),
                None => self.read_on_grid(&on_grid(part), level).map(Reading::Elements),
            }
        };
        let work = |part: &Block, read| match read {
            Reading::Elements(bytes) => Ok(bytes),
            Reading::Stream(stream) => {
                let Block { start, count } = on_grid(part);
                of_stream(&stream, &chunk_of(part), (&start, &count), level, size)
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
