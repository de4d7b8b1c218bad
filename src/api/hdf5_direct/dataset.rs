//! All of HDF5 that reading and writing chunks takes, behind types that close what they opened.

use std::ffi::{c_int, c_uint};
use std::ptr::{null, null_mut};

use crate::api::hdf5_filter::abi::{self, DatasetFunctions, Herr, Hid, check};
use crate::api::hdf5_filter::resolve::Library;
use crate::api::hdf5_filter::{FILTER_ID, sleek_h5_class};
use crate::error::{Result, fail};
use crate::host::memory::filled;

/// An id of HDF5 that is closed when dropped.
pub struct Owned {
    pub id: Hid,
    close: unsafe extern "C" fn(Hid) -> Herr,
}

impl Owned {
    fn new(id: Hid, close: unsafe extern "C" fn(Hid) -> Herr, from: &str) -> Result<Owned> {
        check(id, from).map(|()| Owned { id, close })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: an id that HDF5 gave, closed once.
        unsafe { (self.close)(self.id) };
    }
}

/// Makes a call whose failure HDF5 is not to print.
fn quietly<T>(f: &DatasetFunctions, call: impl FnOnce() -> T) -> T {
    let (mut print, mut data) = (null_mut(), null_mut());
    // SAFETY: live locals; what was set comes back.
    unsafe {
        let saved = (f.H5Eget_auto2)(abi::DEFAULT, &mut print, &mut data) >= 0;
        if saved {
            (f.H5Eset_auto2)(abi::DEFAULT, null_mut(), null_mut());
        }
        let result = call();
        if saved {
            (f.H5Eset_auto2)(abi::DEFAULT, print, data);
        }
        result
    }
}

#[derive(Clone, Copy)]
pub enum Direction {
    Write,
    Read,
}

/// A dataset of the caller, and how it is to be accessed.
pub struct Dataset<'a> {
    pub hdf5: &'a Library,
    pub id: Hid,
    pub dxpl: Hid,
    pub file_type: Owned,
    pub dcpl: Owned,
    pub dims: Vec<u64>,
}

/// A chunk as the file has it.
pub enum Stored {
    Missing,
    /// Bytes, and which filters were not applied.
    Bytes(u32),
}

impl<'a> Dataset<'a> {
    /// # Safety
    /// The ids belong to the library, and are open for as long as the value lives.
    pub unsafe fn new(hdf5: &'a Library, id: Hid, dxpl: Hid) -> Result<Dataset<'a>> {
        let f = &hdf5.data;
        // SAFETY: the contract, for all calls below.
        unsafe {
            let space = Owned::new((f.H5Dget_space)(id), f.H5Sclose, "H5Dget_space")?;
            let file_type = Owned::new((f.H5Dget_type)(id), f.H5Tclose, "H5Dget_type")?;
            let dcpl = Owned::new((f.H5Dget_create_plist)(id), f.H5Pclose, "H5Dget_create_plist")?;
            let rank = (f.H5Sget_simple_extent_ndims)(space.id);
            check(rank, "H5Sget_simple_extent_ndims")?;
            let mut dims = vec![0; rank as usize];
            if rank > 0 {
                let status = (f.H5Sget_simple_extent_dims)(space.id, dims.as_mut_ptr(), null_mut());
                check(status, "H5Sget_simple_extent_dims")?;
            }
            Ok(Dataset { hdf5, id, dxpl, file_type, dcpl, dims })
        }
    }

    /// Whether the ranks of an MPI program share the file; `None` if this HDF5 cannot tell.
    ///
    /// Of a file by subfiling that was opened without an `MPI_Info` HDF5 (2.2.0) gives no access properties, as it
    /// cannot copy that. An HDF5 without MPI has no such files, and gives them always.
    pub fn shared_by_ranks(&self) -> Result<Option<bool>> {
        let f = &self.hdf5.data;
        let (Some(query), Some(file_of)) = (f.H5FDdriver_query, f.H5Iget_file_id) else {
            return Ok(if f.H5Pset_fapl_mpio.is_none() { Some(false) } else { None });
        };
        // SAFETY: ids of this library; a live local.
        unsafe {
            let file = Owned::new(file_of(self.id), f.H5Fclose, "H5Iget_file_id")?;
            let fapl = quietly(f, || (f.H5Fget_access_plist)(file.id));
            if fapl < 0 && f.H5Pset_fapl_mpio.is_some() {
                return Ok(Some(true));
            }
            let fapl = Owned::new(fapl, f.H5Pclose, "H5Fget_access_plist")?;
            let (driver, mut features) = ((f.H5Pget_driver)(fapl.id), 0);
            if driver < 0 || query(driver, &mut features) < 0 {
                return fail!(Hdf5, "the file's driver cannot be asked for what it is");
            }
            Ok(Some(features & abi::H5FD_FEAT_HAS_MPI != 0))
        }
    }

    pub fn chunked(&self) -> bool {
        // SAFETY: ids of this library.
        unsafe { (self.hdf5.data.H5Pget_layout)(self.dcpl.id) == abi::H5D_CHUNKED }
    }

    /// Whether the transfer properties change the values on their way.
    pub fn transformed(&self) -> bool {
        let f = &self.hdf5.data;
        let Some(expression) = f.H5Pget_data_transform.filter(|_| self.dxpl != abi::DEFAULT) else { return false };
        // It fails where there is none.
        // SAFETY: an id of this library; null asks for the length.
        quietly(f, || unsafe { expression(self.dxpl, null_mut(), 0) }) > 0
    }

    /// Options of the chunked layout; bit 1 leaves partial chunks without filters.
    pub fn chunk_options(&self) -> Result<c_uint> {
        let Some(options) = self.hdf5.data.H5Pget_chunk_opts else { return Ok(0) };
        let mut bits = 0;
        // SAFETY: an id of this library; a live local.
        check(unsafe { options(self.dcpl.id, &mut bits) }, "H5Pget_chunk_opts").map(|()| bits)
    }

    /// The element that unwritten places have, of `size` bytes as in the file; `None` if HDF5 writes and reads none.
    pub fn fill_element(&self, size: usize) -> Result<Option<Vec<u8>>> {
        let (f, dcpl) = (self.hdf5, self.dcpl.id);
        let (mut time, mut status) = (0 as c_int, abi::H5D_FILL_VALUE_UNDEFINED);
        let mut element = filled(size, 0u8)?;
        // SAFETY: ids of this library; live locals, and room for an element of the dataset's type.
        unsafe {
            check((f.data.H5Pget_fill_time)(dcpl, &mut time), "H5Pget_fill_time")?;
            check((f.filter.H5Pfill_value_defined)(dcpl, &mut status), "H5Pfill_value_defined")?;
            if time == abi::H5D_FILL_TIME_NEVER || status == abi::H5D_FILL_VALUE_UNDEFINED {
                return Ok(None);
            }
            let place = element.as_mut_ptr().cast();
            check((f.filter.H5Pget_fill_value)(dcpl, self.file_type.id, place), "H5Pget_fill_value")?;
        }
        Ok(Some(element))
    }

    /// Makes sure that HDF5 has the filter: it loads plugins on opening for reading, not on writing to a dataset that
    /// exists.
    pub fn make_filter_known(&self) {
        let f = &self.hdf5.data;
        // SAFETY: the class lives for ever. A failure shows in the transfer that follows.
        unsafe {
            if (f.H5Zfilter_avail)(FILTER_ID) <= 0 {
                (f.H5Zregister)(sleek_h5_class());
            }
        }
    }

    /// Makes the filter that of this library, also where HDF5 has another copy of it: what the one has prepared the
    /// other does not know.
    #[cfg(feature = "cuda")]
    pub fn make_filter_ours(&self) {
        // SAFETY: the class lives for ever. A failure shows in the transfer that follows.
        unsafe { (self.hdf5.data.H5Zregister)(sleek_h5_class()) };
    }

    /// A space with the box selected in the dataset, and one of its shape; nothing selected in both where it is empty.
    fn spaces(&self, start: &[u64], count: &[u64]) -> Result<(Owned, Owned)> {
        let f = &self.hdf5.data;
        // SAFETY: ids of this library; start and count have the dataset's rank.
        unsafe {
            let file = Owned::new((f.H5Dget_space)(self.id), f.H5Sclose, "H5Dget_space")?;
            let empty = count.contains(&0);
            let shape: Vec<u64> = count.iter().map(|n| if empty { 1 } else { *n }).collect();
            let memory = self.simple(&shape)?;
            let status = match empty {
                true => (f.H5Sselect_none)(memory.id).min((f.H5Sselect_none)(file.id)),
                false => self.select(&file, start, count),
            };
            check(status, "selecting a box").map(|()| (memory, file))
        }
    }

    /// A space of this shape.
    fn simple(&self, shape: &[u64]) -> Result<Owned> {
        let f = &self.hdf5.data;
        // SAFETY: so many lengths.
        let id = unsafe { (f.H5Screate_simple)(shape.len() as c_int, shape.as_ptr(), null()) };
        Owned::new(id, f.H5Sclose, "H5Screate_simple")
    }

    /// # Safety
    /// `start` and `count` have the rank of the space.
    unsafe fn select(&self, space: &Owned, start: &[u64], count: &[u64]) -> Herr {
        let (select, start, count) = (self.hdf5.data.H5Sselect_hyperslab, start.as_ptr(), count.as_ptr());
        // SAFETY: the contract, and an id of this library.
        unsafe { select(space.id, abi::H5S_SELECT_SET, start, null(), count, null()) }
    }

    /// `H5Dwrite` or `H5Dread` of a box, in a file that ranks share or not.
    ///
    /// # Safety
    /// `array` holds, or has room for, the box in host memory, in elements of `mem_type`.
    pub unsafe fn transfer(
        &self,
        way: Direction,
        mem_type: Hid,
        (start, count): (&[u64], &[u64]),
        shared: bool,
        array: *mut u8,
    ) -> Result<()> {
        let spaces = if start.is_empty() { None } else { Some(self.spaces(start, count)?) };
        let (memory, file) = spaces.as_ref().map_or((abi::DEFAULT, abi::DEFAULT), |(m, f)| (m.id, f.id));
        let (f, id, dxpl, array) = (&self.hdf5.data, self.id, self.dxpl, array.cast());
        // SAFETY: the contract; ids of the dataset's library.
        let (status, name) = unsafe {
            match way {
                Direction::Write => ((f.H5Dwrite)(id, mem_type, memory, file, dxpl, array), "H5Dwrite"),
                Direction::Read => ((f.H5Dread)(id, mem_type, memory, file, dxpl, array), "H5Dread"),
            }
        };
        match (status, shared) {
            (0.., _) => Ok(()),
            (_, true) => fail!(
                Hdf5,
                "{name} failed; a file shared by MPI ranks needs transfer properties with H5FD_MPIO_COLLECTIVE, and \
                every rank must call"
            ),
            _ => fail!(Hdf5, "{name} failed; HDF5's error stack says why"),
        }
    }

    /// Whether HDF5 takes chunks as they are in the file.
    pub fn takes_chunks(&self) -> bool {
        self.hdf5.data.H5Dwrite_chunk.is_some()
    }

    /// Whether HDF5 gives chunks as they are in the file.
    pub fn gives_chunks(&self) -> bool {
        let f = &self.hdf5.data;
        let read = f.H5Dread_chunk.is_some() || f.H5Dread_chunk2.is_some();
        read && f.H5Dget_chunk_storage_size.is_some() && f.H5Dget_num_chunks.is_some()
    }

    /// Writes the stream of a chunk, which holds none, or one that is a stream too.
    pub fn write_chunk(&self, offset: &[u64], stream: &[u8]) -> Result<()> {
        let Some(write) = self.hdf5.data.H5Dwrite_chunk else { return fail!(Internal, "H5Dwrite_chunk was not found") };
        // SAFETY: ids of this library; the offset has the dataset's rank.
        if unsafe { write(self.id, self.dxpl, 0, offset.as_ptr(), stream.len(), stream.as_ptr().cast()) } < 0 {
            return fail!(Hdf5, "H5Dwrite_chunk failed for the chunk at {offset:?}, {} bytes", stream.len());
        }
        Ok(())
    }

    /// Whether the file may hold this chunk of `bytes` without the filter: where it may, a stream is shorter.
    ///
    /// `H5Dwrite_chunk` cannot change that: HDF5 goes by what it knew before, until the dataset is opened again.
    pub fn may_hold_plain(&self, offset: &[u64], bytes: usize) -> bool {
        let f = &self.hdf5.data;
        let Some(size) = f.H5Dget_chunk_storage_size else { return true };
        let mut stored = 0;
        // It fails for chunks that were never written. SAFETY: ids of this library; the offset has the dataset's rank;
        // a live local.
        quietly(f, || unsafe { size(self.id, offset.as_ptr(), &mut stored) }) >= 0 && stored == bytes as u64
    }

    /// Has HDF5 write a chunk, whose bytes are as in the file, through the filter.
    pub fn write_by_filter(&self, offset: &[u64], chunk: &[u64], bytes: &[u8]) -> Result<()> {
        self.make_filter_known();
        let inside: Vec<u64> = (0..chunk.len()).map(|d| chunk[d].min(self.dims[d] - offset[d])).collect();
        let ((_, file), memory) = (self.spaces(offset, &inside)?, self.simple(chunk)?);
        let bytes = bytes.as_ptr().cast();
        // SAFETY: ids of this library, which live; all lists have the dataset's rank, and `bytes` are a chunk's.
        let status = unsafe {
            let selected = self.select(&memory, &vec![0; chunk.len()], &inside);
            let write = self.hdf5.data.H5Dwrite;
            selected.min(write(self.id, self.file_type.id, memory.id, file.id, self.dxpl, bytes))
        };
        if status < 0 {
            return fail!(Hdf5, "H5Dwrite failed for the chunk at {offset:?}; HDF5's error stack says why");
        }
        Ok(())
    }

    /// Bytes of a chunk in the file; 0 if it was never written.
    pub fn chunk_size(&self, offset: &[u64]) -> Result<usize> {
        let f = &self.hdf5.data;
        let (Some(size), Some(count)) = (f.H5Dget_chunk_storage_size, f.H5Dget_num_chunks) else {
            return fail!(Internal, "H5Dget_chunk_storage_size was not found");
        };
        let (mut bytes, mut chunks) = (0, 0);
        // SAFETY: ids of this library; the offset has the dataset's rank; a live local.
        let mut is_told = || quietly(f, || unsafe { size(self.id, offset.as_ptr(), &mut bytes) }) >= 0;
        // It fails for chunks that were never written, too. That it is no damage tells the count, which reads all of
        // the index: of some datasets H5Dget_chunk_info_by_coord takes one chunk for another (1.10 to 2.2).
        if !is_told() {
            // SAFETY: ids of this library, here and below.
            let space = Owned::new(unsafe { (f.H5Dget_space)(self.id) }, f.H5Sclose, "H5Dget_space")?;
            // SAFETY: a live local.
            check(unsafe { count(self.id, space.id, &mut chunks) }, "H5Dget_num_chunks")?;
            is_told();
        }
        Ok(bytes as usize)
    }

    /// Reads a chunk as it is in the file into `to`, which has its `chunk_size`.
    pub fn read_chunk(&self, offset: &[u64], to: &mut [u8]) -> Result<Stored> {
        if to.is_empty() {
            return Ok(Stored::Missing);
        }
        let (f, mut mask, mut bytes) = (&self.hdf5.data, 0, to.len());
        let at = to.as_mut_ptr().cast();
        // SAFETY: ids of this library; the offset has the dataset's rank; the chunk's size was asked for, and nobody
        // else writes it meanwhile.
        let status = unsafe {
            match (f.H5Dread_chunk2, f.H5Dread_chunk) {
                (Some(read), _) => read(self.id, self.dxpl, offset.as_ptr(), &mut mask, at, &mut bytes),
                (None, Some(read)) => read(self.id, self.dxpl, offset.as_ptr(), &mut mask, at),
                (None, None) => return fail!(Internal, "H5Dread_chunk was not found"),
            }
        };
        if status < 0 {
            return fail!(Hdf5, "H5Dread_chunk failed for the chunk at {offset:?}");
        }
        Ok(Stored::Bytes(mask))
    }
}
