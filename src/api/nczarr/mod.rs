//! The filter in Zarr arrays that netCDF-C writes and reads (NCZarr). It runs HDF5's filters, and asks the library that
//! has one for a table: the codec's name in Zarr's metadata, and what turns its JSON into `cd_values` and back. As with
//! HDF5 nothing is linked: netCDF's functions are those of the library that calls.

mod codec;
mod json;
mod variable;

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::api::hdf5_filter::FILTER_ID;
use crate::api::hdf5_filter::caller::Caller;
use crate::error::fail;
use crate::host::guard::guard;

/// `NCZ_codec_t` of netcdf_filter_build.h, version 1, as 4.9 has it.
#[repr(C)]
struct CodecClass {
    version: c_int,
    sort: c_int,
    name: *const c_char,
    filter_id: c_uint,
    initialize: Option<extern "C" fn()>,
    finalize: Option<extern "C" fn()>,
    to_words: unsafe extern "C" fn(*const c_char, *mut usize, *mut *mut c_uint) -> c_int,
    to_json: unsafe extern "C" fn(usize, *const c_uint, *mut *mut c_char) -> c_int,
    complete: unsafe extern "C" fn(c_int, c_int, *mut usize, *mut *mut c_uint, *mut usize, *mut *mut c_uint) -> c_int,
}

// SAFETY: the one pointer, `name`, leads to a constant string.
unsafe impl Sync for CodecClass {}

/// `NCZ_CODEC_CLASS_VER` and `NCZ_CODEC_HDF5`.
const VERSION: c_int = 1;
const HDF5: c_int = 1;

static CLASS: CodecClass = class(FILTER_ID as c_uint);
/// A table of another filter than its library has is passed over.
static NONE: CodecClass = class(0);

const fn class(filter_id: c_uint) -> CodecClass {
    CodecClass {
        version: VERSION,
        sort: HDF5,
        name: c"sleek".as_ptr(),
        filter_id,
        initialize: None,
        finalize: None,
        to_words: codec::to_words,
        to_json: codec::to_json,
        complete: codec::complete,
    }
}

/// The newest netCDF whose table is known to be this one. netCDF's own development has changed the functions once
/// without another version of the table, and might release that.
const NEWEST: (u32, u32) = (4, 10);

/// The function by which netCDF knows the codec. There must be none called `NCZ_codec_info_defaults` beside it.
#[unsafe(no_mangle)]
extern "C" fn NCZ_get_codec_info() -> *const c_void {
    let place = 0;
    let known = guard(false, || match variable::version(Caller::of(&place)) {
        Some(version) if version <= NEWEST => Ok(true),
        version => fail!(InvalidArgument, "netCDF {version:?}: the codec for its Zarr is known up to {NEWEST:?} only"),
    });
    if known { (&raw const CLASS).cast() } else { (&raw const NONE).cast() }
}
