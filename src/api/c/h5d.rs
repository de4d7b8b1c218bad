//! The part of the C interface that reads and writes HDF5 datasets.

use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::mem::{offset_of, size_of};

use super::memory;
use super::structs::{struct_size, write_struct};
use crate::api::hdf5_direct::{self, Dataset, Library, Report, Request, Route};
use crate::api::hdf5_filter::caller::Caller;
use crate::error::Result;
use crate::host::guard::status;
use crate::host::memory::{DESCRIPTION_BYTES, expect_room};

/// How a dataset was written or read.
#[repr(C)]
#[allow(non_camel_case_types, dead_code)] // C uses them
pub enum sleek_h5d_route {
    /// Nothing was selected.
    SLEEK_H5D_NOTHING = 0,
    /// By H5Dwrite() or H5Dread(); the reason says why.
    SLEEK_H5D_ORDINARY = 1,
    /// Chunk by chunk, on the CPU's threads.
    SLEEK_H5D_THREADS = 2,
    /// Chunk by chunk, on the GPU.
    SLEEK_H5D_GPU = 3,
}

const _: () = {
    assert!(sleek_h5d_route::SLEEK_H5D_GPU as i32 == Route::Gpu as i32);
    assert!(size_of::<usize>() != 8 || size_of::<sleek_h5d_info>() == 256);
};

/// What sleek_h5d_write() or sleek_h5d_read() did.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct sleek_h5d_info {
    /// Bytes of this struct; the caller sets it to sizeof(sleek_h5d_info).
    pub struct_size: usize,
    /// SLEEK_H5D_NOTHING, _ORDINARY, _THREADS or _GPU.
    pub route: i32,
    /// 1 if GPU memory was copied to or from the host uncompressed.
    pub staged: i32,
    /// Chunks of the dataset; 0 on the ordinary route.
    pub chunks: u64,
    /// Bytes of the array.
    pub raw_bytes: u64,
    /// Bytes of its chunks in the file; 0 on the ordinary route.
    pub stored_bytes: u64,
    /// Zero.
    pub reserved: [u64; 3],
    /// Why this route, as a sentence that ends with 0.
    pub reason: [c_char; 192],
}

impl sleek_h5d_info {
    /// What the caller, whose struct has `size` bytes, is told.
    fn new(size: usize, report: &Report) -> sleek_h5d_info {
        let mut info = sleek_h5d_info {
            struct_size: size,
            route: report.route as i32,
            staged: report.staged.into(),
            chunks: report.done.chunks,
            raw_bytes: report.bytes as u64,
            stored_bytes: report.done.stored,
            reserved: [0; 3],
            reason: [0; 192],
        };
        let room = info.reason.len() - 1;
        info.reason[..room].iter_mut().zip(report.reason.bytes()).for_each(|(to, byte)| *to = byte as c_char);
        info
    }
}

/// Writes an array in host, GPU or managed memory to a dataset that has the SLEEK filter, or to any other. Where it
/// can, it makes the chunks on the GPU that has the data or on all threads, and hands them to HDF5. The file is the one
/// that H5Dwrite() would make, but that undeclared missing values are not searched for. Where it cannot it calls
/// H5Dwrite(), after copying the data to the host if need be.
///
/// The chunks are made here if all of this holds. The dataset is chunked, SLEEK is its only filter, and its elements
/// are numbers. mem_type has these elements, in any byte order. The box begins and ends between chunks or at the end of
/// the dataset. dxpl has no data transform. In a file that MPI ranks share, the array is in GPU memory and has the byte
/// order of the file; its chunks go in by the H5Dwrite() of all ranks.
///
/// - dset, mem_type, dxpl: a dataset, the type of the elements in memory and transfer properties (0: the default), as
///   for H5Dwrite(). They are hid_t's of the HDF5, 1.10 or newer, that the calling code is linked to.
/// - start, count: the box to write, as for H5Sselect_hyperslab(), one number for each dimension; NULL for the first
///   element and for everything from start on.
/// - buf: the box, contiguous; NULL only if it is empty.
/// - stream: the CUDA stream that the data is ready on (NULL: the default stream); NULL for host memory.
/// - info: NULL, or a struct with its struct_size set, which tells what was done.
///
/// HDF5 is only called from the calling thread. The call returns when HDF5 has the data, and the stream is idle then.
/// Where MPI ranks share the file, every rank must call, with collective transfer properties; a rank without data
/// passes a count of 0.
///
/// Returns SLEEK_OK or: SLEEK_E_HDF5 (HDF5's error stack says more); SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT;
/// SLEEK_E_OUT_OF_RANGE (the box lies outside the dataset); SLEEK_E_DEVICE; SLEEK_E_OUT_OF_MEMORY; SLEEK_E_INTERNAL.
/// After an error chunks may have been written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_h5d_write(
    dset: i64,
    mem_type: i64,
    start: *const u64,
    count: *const u64,
    dxpl: i64,
    buf: *const c_void,
    stream: *mut c_void,
    info: *mut sleek_h5d_info,
) -> i32 {
    let place = 0;
    let request = Request { dataset: dset, mem_type, dxpl, start: None, count: None, stream };
    // SAFETY: the contract of this function, here and below.
    let work = |hdf5: &Library, request: &Request| unsafe { hdf5_direct::write(hdf5, request, buf.cast()) };
    // SAFETY: as above.
    status(|| unsafe { transfer(request, [start, count], info, Caller::of(&place), work) })
}

/// Reads a dataset into an array in host, GPU or managed memory: sleek_h5d_write() the other way round, on the same
/// terms.
///
/// Chunks that were stored without the filter are read as they are, chunks that were never written as the fill value,
/// as by H5Dread(). Damage to a chunk is an error, after which the contents of buf are undefined.
///
/// Returns SLEEK_OK, SLEEK_E_NOT_SLEEK, SLEEK_E_UNSUPPORTED_FORMAT, SLEEK_E_TRUNCATED, SLEEK_E_CORRUPT, or an error as
/// of sleek_h5d_write().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_h5d_read(
    dset: i64,
    mem_type: i64,
    start: *const u64,
    count: *const u64,
    dxpl: i64,
    buf: *mut c_void,
    stream: *mut c_void,
    info: *mut sleek_h5d_info,
) -> i32 {
    let place = 0;
    let request = Request { dataset: dset, mem_type, dxpl, start: None, count: None, stream };
    // SAFETY: the contract of this function, here and below.
    let work = |hdf5: &Library, request: &Request| unsafe { hdf5_direct::read(hdf5, request, buf.cast()) };
    // SAFETY: as above.
    status(|| unsafe { transfer(request, [start, count], info, Caller::of(&place), work) })
}

thread_local! {
    /// What `sleek_h5d_user` was given.
    static USER: Cell<*const c_void> = const { Cell::new(std::ptr::null()) };
}

/// Tells sleek_h5d_write() and sleek_h5d_read() which HDF5 to use, for calls from this thread. It is that of the
/// program or library that holds `address`, such as a function of it. NULL, as at first: that of the code that calls.
///
/// For foreign-function interfaces, whose calls come from a library of their own that is linked to no HDF5, in
/// processes that hold several HDF5s. Where there is none at `address` those calls return SLEEK_E_HDF5.
#[unsafe(no_mangle)]
pub extern "C" fn sleek_h5d_user(address: *const c_void) {
    USER.set(address);
}

/// # Safety
/// As of the C functions.
unsafe fn transfer(
    request: Request,
    place: [*const u64; 2],
    info: *mut sleek_h5d_info,
    caller: Caller,
    work: impl FnOnce(&Library, &Request) -> Result<Report>,
) -> Result<()> {
    expect_room(DESCRIPTION_BYTES)?;
    // SAFETY: the contract: the struct's first field, one number for each dimension, and a struct of that size.
    unsafe {
        let size = match info.is_null() {
            true => 0,
            false => struct_size("sleek_h5d_info", info, offset_of!(sleek_h5d_info, reserved))?,
        };
        let hdf5 = match USER.get() {
            user if user.is_null() => Library::of_user(caller.address())?,
            user => Library::linked_to(user)?,
        };
        let rank = Dataset::new(&hdf5, request.dataset, request.dxpl)?.dims.len();
        let numbers = |name: &str, at: *const u64| (!at.is_null()).then(|| memory::list(name, at, rank)).transpose();
        let (start, count) = (numbers("start", place[0])?, numbers("count", place[1])?);
        let report = work(&hdf5, &Request { start, count, ..request })?;
        if size > 0 {
            write_struct(&sleek_h5d_info::new(size, &report), info, size);
        }
    }
    Ok(())
}
