//! The HDF5 filter. It is not linked to HDF5: reading needs none of HDF5's functions, and `set_local` takes those of
//! the library that calls it (`resolve`).

/// cbindgen:ignore
#[doc(hidden)]
pub mod abi;
pub mod cd_values;
pub(crate) mod chunk;
pub(crate) mod dataset;
#[doc(hidden)]
pub mod datatype; // for the command
pub(crate) mod filter;
pub(crate) mod neighbours;
pub(crate) mod report;
pub(crate) mod resolve;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod symtab;

use std::ffi::c_void;

pub use crate::text;
pub use cd_values::cd_values_of;
pub(crate) use chunk::of_chunk;
#[doc(hidden)]
pub use filter::filter as filter_of_caller; // for the fuzz targets
#[doc(hidden)]
pub use filter::{bytes_of_chunk, stream_of_chunk}; // for the command

/// The filter's id in HDF5: the number that `H5Pset_filter` takes and that files carry.
pub const FILTER_ID: i32 = 47474; // from the range that HDF5 leaves to private use

static CLASS: abi::FilterClass = abi::FilterClass {
    version: abi::CLASS_VERSION,
    id: FILTER_ID,
    encoder_present: 1,
    decoder_present: 1,
    name: c"SLEEK".as_ptr(),
    // Zero would be ignored for an optional filter, and drop a mandatory one without a word: set_local refuses instead.
    can_apply: None,
    set_local: Some(resolve::set_local),
    filter: Some(resolve::filter),
};

/// The filter's H5Z_class2_t, for H5Zregister() and h5py's register_filter(). `sleek_hdf5.h` has more for HDF5.
#[unsafe(no_mangle)]
pub extern "C" fn sleek_h5_class() -> *const c_void {
    (&raw const CLASS).cast()
}

/// The two functions by which HDF5 knows a plugin.
#[cfg(feature = "plugin")]
mod plugin {
    use super::{abi, c_void, sleek_h5_class};

    #[unsafe(no_mangle)]
    extern "C" fn H5PLget_plugin_type() -> std::ffi::c_int {
        abi::PLUGIN_TYPE_FILTER
    }

    #[unsafe(no_mangle)]
    extern "C" fn H5PLget_plugin_info() -> *const c_void {
        sleek_h5_class()
    }
}
