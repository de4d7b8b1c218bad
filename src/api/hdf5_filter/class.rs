//! What HDF5 gets: the filter's class, and the plugin's two functions.

use std::ffi::{c_int, c_void};

use super::abi;
use super::caller::Caller;
use super::cd_values::FILTER_ID;
use super::report::logged;
use super::resolve::Library;
use super::{filter, set_local};
use crate::error::{Kind, fail};

static CLASS: abi::FilterClass = abi::FilterClass {
    version: abi::H5Z_CLASS_T_VERS,
    id: FILTER_ID,
    encoder_present: 1,
    decoder_present: 1,
    name: c"SLEEK".as_ptr(),
    // Zero would be ignored for an optional filter, and drop a mandatory one without a word: set_local refuses instead.
    can_apply: None,
    set_local: Some(set_local::set_local),
    filter: Some(filter::filter),
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
        abi::H5PL_TYPE_FILTER
    }

    #[unsafe(no_mangle)]
    extern "C" fn H5PLget_plugin_info() -> *const c_void {
        sleek_h5_class()
    }
}

/// Registers the filter with the HDF5 that the calling program or library is linked to, as
/// `H5Zregister(sleek_h5_class())` would: 0, or `SLEEK_ERR_HDF5` if no HDF5 can be found or it refuses. Needed before
/// writing to an existing dataset, where HDF5 loads no plugins, and where no plugin path is set. May be called many
/// times.
#[unsafe(no_mangle)]
pub extern "C" fn sleek_h5_register() -> c_int {
    let place = 0;
    logged(Kind::Hdf5.code(), || {
        let hdf5 = Library::of_user(Caller::of(&place).address())?;
        // SAFETY: CLASS lives for ever.
        let status = unsafe { (hdf5.data.H5Zregister)((&raw const CLASS).cast()) };
        if status < 0 { fail!(Hdf5, "H5Zregister refused filter {FILTER_ID}") } else { Ok(0) }
    })
}
