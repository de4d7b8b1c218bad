//! Datasets of filter 32013, H5Z-ZFP, are read and written without its plugin.

use std::ffi::{c_int, c_uint, c_void};

use sleek::codec::zfp::h5z::{self, Chunks};

use super::abi::{CLASS_VERSION, FLAG_REVERSE, FilterClass};

/// The filter's number.
pub const ID: c_int = h5z::ID as c_int;

/// For `H5Zregister`. What is written passes the filter by, but HDF5 makes no dataset with one that only reads.
pub static CLASS: FilterClass = FilterClass {
    version: CLASS_VERSION,
    id: ID,
    encoder_present: 1,
    decoder_present: 1,
    name: c"H5Z-ZFP".as_ptr(),
    can_apply: None,
    set_local: None,
    filter: Some(filter),
};

/// `H5Z_func_t`.
///
/// # Safety
/// As HDF5 calls it: `*buf` holds `nbytes` bytes and comes from `malloc`.
unsafe extern "C" fn filter(
    flags: c_uint,
    cd_nelmts: usize,
    cd_values: *const c_uint,
    nbytes: usize,
    buf_size: *mut usize,
    buf: *mut *mut c_void,
) -> usize {
    if flags & FLAG_REVERSE == 0 || cd_nelmts == 0 || nbytes == 0 {
        return 0;
    }
    // SAFETY: HDF5 gives `cd_nelmts` words at `cd_values` and `nbytes` bytes at `*buf`.
    let (words, chunk) = unsafe {
        (std::slice::from_raw_parts(cd_values, cd_nelmts), std::slice::from_raw_parts((*buf).cast::<u8>(), nbytes))
    };
    let decoded = std::panic::catch_unwind(|| Chunks::read(words).and_then(|chunks| chunks.decode(chunk)));
    let Ok(Ok(bytes)) = decoded else { return 0 };
    // SAFETY: at least a byte, so that null is failure.
    let out = unsafe { libc::malloc(bytes.len().max(1)) };
    if out.is_null() {
        return 0;
    }
    // SAFETY: `out` has room for the bytes; HDF5 hands its buffer over, to be freed, and takes ours in its place.
    unsafe {
        out.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        libc::free(*buf);
        *buf = out;
        *buf_size = bytes.len();
    }
    bytes.len()
}
