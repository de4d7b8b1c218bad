//! Which chunks a dataset has in the file. Only these are listed: a sparse dataset may have room for billions.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint, c_void};

use super::abi::{NOT_STORED, WHOLLY_STORED};
use super::dataset::{Block, Field};
use super::filters::filters;
use super::{Hid, h5, h5_id};

/// `H5D_chunk_iter_op_t`. Some versions give the bytes, which are not used, as 32 bits.
pub type ChunkVisit = extern "C" fn(*const u64, c_uint, u64, u64, *mut c_void) -> c_int;

/// `HADDR_UNDEF`: a chunk that has no place in the file.
const NOWHERE: u64 = u64::MAX;

/// So many places at most are looked at for each chunk, where that spares a slow list.
const PLACES_PER_CHUNK: u64 = 64;

/// What a walk over the chunks finds.
struct StoredChunks {
    rank: usize,
    /// Where each chunk starts, one behind the other.
    starts: Vec<u64>,
    is_short_of_memory: bool,
}

extern "C" fn take(start: *const u64, _mask: c_uint, address: u64, _bytes: u64, found: *mut c_void) -> c_int {
    // SAFETY: what `walk` handed over, which nobody else uses meanwhile.
    let found = unsafe { &mut *found.cast::<StoredChunks>() };
    if address == NOWHERE {
        return 0;
    }
    if found.starts.try_reserve(found.rank).is_err() {
        found.is_short_of_memory = true;
        return 1;
    }
    // SAFETY: HDF5 gives a number for each dimension.
    found.starts.extend_from_slice(unsafe { std::slice::from_raw_parts(start, found.rank) });
    0
}

impl Field<'_> {
    /// The chunks that were written, in the order of the elements.
    fn stored_chunks(&self) -> Result<Vec<Block>, String> {
        // A chunk may be left of what a dataset had before it was shrunk to nothing.
        if self.dims.contains(&0) {
            return Ok(Vec::new());
        }
        let (rank, all) = (self.dims.len().max(1), self.blocks_of_all_chunks());
        let count = self.count_stored()?;
        let each = if filters(&self.properties)?.is_empty() { self.chunk_bytes()? } else { None };
        if let Some(right) = each.map(|each| count.saturating_mul(each as u64))
            && right != self.stored_bytes()
        {
            let (name, bytes) = (&self.name, self.stored_bytes());
            return Err(format!("{name}: its {count} chunks have {bytes} bytes, where {right} are right"));
        }
        // Without a walk a list is made chunk by chunk, each of which takes as long as all chunks before it.
        let is_slow = self.dataset.hdf5.iterate_chunks.is_none() && all.total() / PLACES_PER_CHUNK <= count;
        let starts = match count == all.total() || is_slow || self.has_wrong_places()? {
            true => self.found(all.map(|block| block.start), count)?,
            false => {
                let listed = match self.walk()? {
                    Some(starts) if self.are_starts(&starts, count) => starts,
                    _ => self.ask_for_each(count)?,
                };
                let each: BTreeSet<&[u64]> = listed.chunks(rank).collect();
                self.found(each.into_iter().map(<[u64]>::to_vec), (listed.len() / rank) as u64)?
            }
        };
        check_room(starts.len() as u64, rank)?;
        Ok(starts.iter().map(|start| self.block_at(start)).collect())
    }

    /// The chunks that are stored; `None` where that is all of them, or there are none.
    pub(super) fn some_chunks(&self) -> Result<Option<Vec<Block>>, String> {
        match self.space_status()? {
            NOT_STORED => Ok(Some(Vec::new())),
            _ if !self.is_chunked => Ok(None),
            status => self.stored_chunks().map(|chunks| (status != WHOLLY_STORED).then_some(chunks)),
        }
    }

    /// An error if HDF5 lists chunks that it does not find.
    pub fn expect_found(&self) -> Result<(), String> {
        if self.is_chunked { self.some_chunks().map(drop) } else { Ok(()) }
    }

    /// The chunks of this dataset of which another one of its shape, or it itself, has something in the file; `None`
    /// where that is all of them.
    pub fn chunks_with(&self, other: &Field) -> Result<Option<Vec<Block>>, String> {
        let (Some(own), Some(others)) = (self.some_chunks()?, other.some_chunks()?) else { return Ok(None) };
        if other.chunk == self.chunk && own == others {
            return Ok(Some(own));
        }
        let mut starts = BTreeSet::new();
        for block in own.iter().chain(&others) {
            let covered = self.starts_over(block);
            let total = covered.size_hint().1.unwrap_or(usize::MAX);
            check_room(total.saturating_add(starts.len()) as u64, block.start.len())?;
            starts.extend(covered);
        }
        Ok(Some(starts.iter().map(|start: &Vec<u64>| self.block_at(start)).collect()))
    }

    /// The chunk that starts there, as far as it lies in the dataset.
    pub(super) fn block_at(&self, start: &[u64]) -> Block {
        let lens = start.iter().zip(&self.dims).zip(&self.chunk);
        Block { start: start.to_vec(), count: lens.map(|((at, len), side)| (*side).min(len - at)).collect() }
    }

    /// Where chunks start, by one walk over the index (1.12.3, 1.14 and newer).
    fn walk(&self) -> Result<Option<Vec<u64>>, String> {
        let hdf5 = self.dataset.hdf5;
        let Some(iterate) = hdf5.iterate_chunks else { return Ok(None) };
        let mut found = StoredChunks { rank: self.dims.len(), starts: Vec::new(), is_short_of_memory: false };
        // SAFETY: the id is alive, `take` has the type that is asked for, and `found` outlives the call.
        let answer = unsafe { iterate(self.dataset.id, super::abi::DEFAULT, take, (&raw mut found).cast()) };
        if found.is_short_of_memory {
            return Err(format!("{}: no memory for the places of its chunks", self.name));
        }
        if answer < 0 { Err(hdf5.complaint("H5Dchunk_iter")) } else { Ok(Some(found.starts)) }
    }

    /// Whether a chunk may have passed not all filters; HDF5 before 1.12.3 does not tell.
    pub(super) fn has_passed_over(&self) -> Result<bool, String> {
        extern "C" fn look(_: *const u64, mask: c_uint, _: u64, _: u64, found: *mut c_void) -> c_int {
            // SAFETY: the variable below, which nobody else uses meanwhile.
            unsafe { *found.cast::<bool>() |= mask != 0 };
            c_int::from(mask != 0)
        }
        let hdf5 = self.dataset.hdf5;
        let (Some(iterate), mut found) = (hdf5.iterate_chunks, false) else { return Ok(true) };
        // SAFETY: the id is alive, `look` has the type that is asked for, and `found` outlives the call.
        let answer = unsafe { iterate(self.dataset.id, super::abi::DEFAULT, look, (&raw mut found).cast()) };
        if answer < 0 { Err(hdf5.complaint("H5Dchunk_iter")) } else { Ok(found) }
    }

    /// Whether these are starts of chunks in elements: some versions count in chunks.
    fn are_starts(&self, starts: &[u64], count: u64) -> bool {
        let fits = |start: &[u64]| start.iter().zip(&self.chunk).all(|(at, side)| at.is_multiple_of(*side));
        let rank = self.dims.len().max(1);
        starts.chunks(rank).all(fits) && count == (starts.len() / rank) as u64
    }

    /// Whether HDF5 lists its chunks at wrong places (1.10 to 2.2): those of an extensible array whose unlimited
    /// dimension is not the first.
    fn has_wrong_places(&self) -> Result<bool, String> {
        const EXTENSIBLE_ARRAY: c_int = 4;
        let (hdf5, rank) = (self.dataset.hdf5, self.dims.len());
        let space = h5_id!(hdf5, H5Dget_space(self.dataset.id))?;
        let (mut index, mut dims, mut most) = (0, vec![0; rank], vec![0; rank]);
        h5!(hdf5, H5Sget_simple_extent_dims(space.id, dims.as_mut_ptr(), most.as_mut_ptr()))?;
        h5!(hdf5, H5Dget_chunk_index_type(self.dataset.id, &raw mut index))?;
        Ok(index == EXTENSIBLE_ARRAY && most.first() != Some(&u64::MAX))
    }

    /// Whether HDF5's copy takes chunks at the rim, which are plain, for others, as it sees them at wrong places.
    pub fn has_lost_rim(&self) -> Result<bool, String> {
        Ok(self.has_plain_rim()? && !filters(&self.properties)?.is_empty() && self.has_wrong_places()?)
    }

    /// Where HDF5 finds a chunk, of the places of `count`: an error where it finds fewer. What a damaged index lists
    /// and does not find would read as never written.
    fn found(&self, places: impl Iterator<Item = Vec<u64>>, count: u64) -> Result<Vec<Vec<u64>>, String> {
        check_room(count, self.dims.len())?;
        let starts: Vec<_> = places.filter(|start| self.told_bytes(start).is_some()).collect();
        match starts.len() as u64 >= count {
            true => Ok(starts),
            false => Err(format!("{}: HDF5 finds {} of its {count} chunks", self.name, starts.len())),
        }
    }

    /// How many chunks are stored: an error if the index cannot be read.
    pub(super) fn count_stored(&self) -> Result<u64, String> {
        let hdf5 = self.dataset.hdf5;
        let (space, mut count) = (h5_id!(hdf5, H5Dget_space(self.dataset.id))?, 0);
        h5!(hdf5, H5Dget_num_chunks(self.dataset.id, space.id, &raw mut count)).map(|_| count)
    }

    /// Where chunks start, asked for one by one.
    fn ask_for_each(&self, count: u64) -> Result<Vec<u64>, String> {
        let (hdf5, rank) = (self.dataset.hdf5, self.dims.len());
        check_room(count, rank)?;
        let space = h5_id!(hdf5, H5Dget_space(self.dataset.id))?;
        let (mut starts, mut start) = (Vec::new(), vec![0; rank]);
        for n in 0..count {
            let (mut mask, mut address, mut bytes) = (0, NOWHERE, 0);
            let (dataset, place) = (self.dataset.id, start.as_mut_ptr());
            let (mask, address_at, bytes) = (&raw mut mask, &raw mut address, &raw mut bytes);
            h5!(hdf5, H5Dget_chunk_info(dataset, space.id, n, place, mask, address_at, bytes))?;
            if address != NOWHERE {
                starts.extend_from_slice(&start);
            }
        }
        Ok(starts)
    }

    /// What HDF5 says of the room that a dataset has in the file: `abi::NOT_STORED` and the like.
    fn space_status(&self) -> Result<c_int, String> {
        let mut status = 0;
        h5!(self.dataset.hdf5, H5Dget_space_status(self.dataset.id, &raw mut status))?;
        Ok(status)
    }
}

/// Refuses a list of blocks that memory has no room for: making it would end the process.
pub(super) fn check_room(blocks: u64, rank: usize) -> Result<(), String> {
    // Two vectors of numbers, each with what the allocator adds.
    let each = size_of::<Block>() + 2 * (rank * size_of::<u64>()).next_multiple_of(16) + 32;
    let bytes = usize::try_from(blocks).ok().and_then(|blocks| blocks.checked_mul(each));
    match bytes.is_some_and(crate::io::is_there) {
        true => Ok(()),
        false => Err(format!("there is no memory for a list of {blocks} chunks or blocks; larger chunks may help")),
    }
}

/// A function that came late.
pub type IterateChunks = unsafe extern "C" fn(Hid, Hid, ChunkVisit, *mut c_void) -> c_int;
