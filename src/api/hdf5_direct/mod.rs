//! Finished chunks between an array and an HDF5 file, past HDF5's filter pipeline: the filter's bytes, made by many
//! threads or on the GPU where the data is. Whatever cannot go so goes through `H5Dwrite` and `H5Dread`, and the caller
//! is told why.
//!
//! `plan` decides, `boxes` knows where each chunk lies, `host` and `device` do the work, `shared` where MPI ranks share
//! the file, `dataset` is all that talks to HDF5.

mod boxes;
mod dataset;
#[cfg(feature = "cuda")]
mod device;
mod host;
mod plan;
#[cfg(feature = "cuda")]
mod shared;

use std::ffi::c_void;

use crate::api::hdf5_filter::abi::Hid;
pub use crate::api::hdf5_filter::resolve::Library;
use crate::error::{Result, fail};
use crate::host::memory::{filled, gathered};
use crate::route;
pub use dataset::Dataset;
use dataset::Direction;
pub use plan::Done;
use plan::{Decision, Plan, SHARED};

/// What a caller wants moved.
pub struct Request<'a> {
    pub dataset: Hid,
    pub mem_type: Hid,
    pub dxpl: Hid,
    /// First element and shape of the box; `None` for the whole dataset.
    pub start: Option<&'a [u64]>,
    pub count: Option<&'a [u64]>,
    /// The CUDA stream, or null.
    pub stream: *mut c_void,
}

/// How data went. The discriminants are those of `sleek_h5d_route`.
#[derive(Clone, Copy)]
pub enum Route {
    Nothing = 0,
    /// `H5Dwrite` or `H5Dread`.
    Ordinary = 1,
    /// Chunks on the CPU's threads.
    Threads = 2,
    /// Chunks on the GPU.
    Gpu = 3,
}

/// What a transfer did.
pub struct Report {
    pub route: Route,
    /// Device memory was copied to or from host memory as a whole.
    pub staged: bool,
    pub reason: String,
    pub done: Done,
    /// Bytes of the selection in memory.
    pub bytes: usize,
}

impl Plan {
    fn report(&self, route: Route, staged: bool, reason: &str, done: Done) -> Report {
        Report { route, staged, reason: reason.to_owned(), done, bytes: self.bytes }
    }

    fn nothing(&self) -> Report {
        self.report(Route::Nothing, false, "nothing is selected", Done::default())
    }
}

/// Writes the array at `src`.
///
/// # Safety
/// The ids belong to the library of `hdf5`; `src` holds the box in elements of the memory type, in host, device or
/// managed memory; `stream` is null or a CUDA stream.
pub unsafe fn write(hdf5: &Library, request: &Request, src: *const u8) -> Result<Report> {
    // SAFETY: the contract, here and below.
    unsafe {
        let (dataset, plan) = prepare(hdf5, Direction::Write, request, src)?;
        let by_hdf5 = |why: &str| by_hdf5(&dataset, &plan, Direction::Write, request, src.cast_mut(), why);
        let direct = match &plan.decision {
            Decision::Nothing => return Ok(plan.nothing()),
            Decision::Ordinary(why) => return by_hdf5(why),
            Decision::Direct(direct) => direct,
        };
        #[cfg_attr(not(feature = "cuda"), expect(unused_mut, reason = "GPUs alone have reasons"))]
        let mut why = String::from(if plan.shared { SHARED } else { "chunks of data in host memory" });
        #[cfg(feature = "cuda")]
        if let Some(gpu) = route::gpu_of(src.cast()) {
            let made = match plan.shared {
                true => shared::write(&dataset, &plan, direct, src, gpu, request.stream)?,
                false => from_gpu(&dataset, &plan, direct, request, src, gpu)?,
            };
            match made {
                Ok(done) => {
                    let why = if plan.shared { shared::REASON } else { "chunks of data in GPU memory" };
                    return Ok(plan.report(Route::Gpu, false, why, done));
                }
                Err(more) if plan.shared => why = format!("{why}; {more}"),
                Err(refused) => why = refused,
            }
        }
        if plan.shared {
            return by_hdf5(&why);
        }
        let copy = staged(src, plan.bytes, request.stream)?;
        let all = gathered(0..direct.boxes.len())?;
        let done = host::write(&dataset, direct, copy.as_ref().map_or(src, |c| c.as_ptr()), &all)?;
        Ok(plan.report(Route::Threads, copy.is_some(), &why, done))
    }
}

/// Writes chunks that the GPU `ordinal` makes; those that HDF5 is to store itself, or that take another form, the host
/// makes. Or says why the GPU makes none.
///
/// # Safety
/// As for [`write`].
#[cfg(feature = "cuda")]
unsafe fn from_gpu(
    dataset: &Dataset,
    plan: &Plan,
    direct: &plan::Direct,
    request: &Request,
    src: *const u8,
    ordinal: i32,
) -> Result<std::result::Result<Done, String>> {
    if let Some(refused) = device::refuses_to_write(direct, src)? {
        return Ok(Err(refused));
    }
    let mut left = Vec::new();
    let mut put = |i, stream: &[u8]| {
        let offset = direct.boxes.offset(i);
        let fits = stream.len() <= direct.longest;
        let is_stored = fits && !dataset.may_hold_plain(&offset, direct.boxes.chunk_bytes());
        match is_stored {
            true => dataset.write_chunk(&offset, stream)?,
            false => left.push(i),
        }
        Ok(is_stored)
    };
    // SAFETY: the contract, here and below.
    unsafe {
        let done = device::write(direct, src, ordinal, request.stream, &mut put)?;
        if left.is_empty() {
            return Ok(Ok(done));
        }
        let copy = staged(src, plan.bytes, request.stream)?;
        Ok(Ok(done.with(host::write(dataset, direct, copy.as_ref().map_or(src, |c| c.as_ptr()), &left)?)))
    }
}

/// Has HDF5 write or read the array, for the reason `why`.
///
/// # Safety
/// As for [`write`] or [`read`].
unsafe fn by_hdf5(
    dataset: &Dataset,
    plan: &Plan,
    way: Direction,
    request: &Request,
    array: *mut u8,
    why: &str,
) -> Result<Report> {
    // SAFETY: the contract.
    unsafe {
        // What HDF5 leaves alone on reading, unwritten chunks without a fill value say, must come back as it was.
        let mut copy = staged(array, plan.bytes, request.stream)?;
        let is_staged = copy.is_some();
        dataset.make_filter_known();
        let own = copy.as_mut().map_or(array, |c| c.as_mut_ptr());
        dataset.transfer(way, plan.mem_type, (&plan.start, &plan.count), plan.shared, own)?;
        if let Direction::Read = way {
            put_back(copy, array, request.stream)?;
        }
        Ok(plan.report(Route::Ordinary, is_staged, why, Done::default()))
    }
}

/// Reads into the array at `dst`.
///
/// # Safety
/// As for [`write`], and `dst` is writable.
pub unsafe fn read(hdf5: &Library, request: &Request, dst: *mut u8) -> Result<Report> {
    // SAFETY: the contract, here and below.
    unsafe {
        let (dataset, plan) = prepare(hdf5, Direction::Read, request, dst)?;
        match &plan.decision {
            Decision::Nothing => Ok(plan.nothing()),
            Decision::Ordinary(why) => by_hdf5(&dataset, &plan, Direction::Read, request, dst, why),
            Decision::Direct(direct) => {
                #[cfg_attr(not(feature = "cuda"), expect(unused_mut, reason = "GPUs alone have reasons"))]
                let mut why = String::from("chunks to host memory");
                #[cfg(feature = "cuda")]
                if let Some(d) = route::gpu_of(dst.cast_const().cast()) {
                    match device::refuses(direct, dst) {
                        Some(refused) => why = refused,
                        None => {
                            let done = device::read(&dataset, direct, dst, d, request.stream)?;
                            return Ok(plan.report(Route::Gpu, false, "chunks to GPU memory", done));
                        }
                    }
                }
                let mut copy = staged(dst, plan.bytes, request.stream)?;
                let done = host::read(&dataset, direct, copy.as_mut().map_or(dst, |c| c.as_mut_ptr()))?;
                let is_staged = put_back(copy, dst, request.stream)?;
                Ok(plan.report(Route::Threads, is_staged, &why, done))
            }
        }
    }
}

/// What HDF5 tells of the dataset, and what is to be done.
///
/// # Safety
/// The ids belong to the library of `hdf5`.
unsafe fn prepare<'a>(
    hdf5: &'a Library,
    way: Direction,
    request: &Request,
    array: *const u8,
) -> Result<(Dataset<'a>, Plan)> {
    // SAFETY: the contract.
    let dataset = unsafe { Dataset::new(hdf5, request.dataset, request.dxpl)? };
    // SAFETY: as above.
    let plan = unsafe { Plan::new(&dataset, way, request.mem_type, request.start, request.count)? };
    if array.is_null() && plan.bytes > 0 {
        return fail!(NullPointer, "buf is NULL; the selection takes {} bytes", plan.bytes);
    }
    if !request.stream.is_null() && route::gpu_of(array.cast()).is_none() && plan.bytes > 0 {
        return fail!(InvalidArgument, "a stream was given; it must be NULL for data in host memory");
    }
    Ok((dataset, plan))
}

/// A copy in host memory of what the host cannot reach, or may not before the stream has passed.
///
/// # Safety
/// `array` is readable for `bytes`.
unsafe fn staged(array: *const u8, bytes: usize, stream: *mut c_void) -> Result<Option<Vec<u8>>> {
    if route::gpu_of(array.cast()).is_none() {
        return Ok(None);
    }
    let mut copy = filled(bytes, 0u8)?;
    // SAFETY: the contract.
    unsafe { route::copy(copy.as_mut_ptr(), array, bytes, stream) }.map(|()| Some(copy))
}

/// Copies what was read back to where the caller wants it; whether there was anything to copy.
///
/// # Safety
/// `array` is writable for the bytes of `copy`.
unsafe fn put_back(copy: Option<Vec<u8>>, array: *mut u8, stream: *mut c_void) -> Result<bool> {
    let Some(copy) = copy else { return Ok(false) };
    // SAFETY: the contract.
    unsafe { route::copy(array, copy.as_ptr(), copy.len(), stream) }.map(|()| true)
}
