//! What HDF5 gets: the filter's class, whose functions say where they were called from, and the plugin's two functions.

use std::ffi::{c_int, c_uint, c_void};

use super::abi::{self, Hid};
use super::caller::with_return_address;
use super::cd_values::FILTER_ID;
use super::report;
use super::report::logged;
use super::resolve::Library;
use super::{filter, set_local};
use crate::error::{Kind, fail};

static CLASS: abi::FilterClass = abi::FilterClass {
    version: abi::CLASS_VERSION,
    id: FILTER_ID,
    encoder_present: 1,
    decoder_present: 1,
    name: c"SLEEK".as_ptr(),
    // Zero would be ignored for an optional filter, and drop a mandatory one without a word: set_local refuses instead.
    can_apply: None,
    set_local: Some(set_local),
    filter: Some(filter),
};

/// The filter's H5Z_class2_t, for H5Zregister() and h5py's register_filter(). `sleek_hdf5.h` has more for HDF5.
#[unsafe(no_mangle)]
pub extern "C" fn sleek_h5_class() -> *const c_void {
    report::forget();
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

with_return_address! {
    /// `H5Z_set_local_func_t`. A fourth argument goes into a register that the caller leaves free.
    pub fn set_local(dcpl: Hid, type_id: Hid, space: Hid) -> i32
        => set_local::set_local, "mov rcx, [rsp]\njmp {to}", "mov x3, x30\nb {to}"
}

with_return_address! {
    /// `H5Z_func_t`. A seventh argument goes onto the stack of x86.
    pub fn filter(
        flags: c_uint, cd_nelmts: usize, cd_values: *const c_uint, nbytes: usize, buf_size: *mut usize,
        buf: *mut *mut c_void
    ) -> usize => filter::filter, "push [rsp]\ncall {to}\nadd rsp, 8\nret", "mov x6, x30\nb {to}"
}

with_return_address! {
    /// Registers the filter with the HDF5 that the calling program or library is linked to, as
    /// `H5Zregister(sleek_h5_class())` would: 0, or `SLEEK_ERR_HDF5` if no HDF5 can be found or it refuses. Needed
    /// before writing to an existing dataset, where HDF5 loads no plugins, and where no plugin path is set. May be
    /// called many times.
    #[unsafe(no_mangle)]
    pub fn sleek_h5_register() -> i32 => register, "mov rdi, [rsp]\njmp {to}", "mov x0, x30\nb {to}"
}

/// The work of `sleek_h5_register`, with the caller's return address.
///
/// # Safety
/// `caller` is an address in a loaded object, or null.
unsafe extern "C" fn register(caller: *const c_void) -> c_int {
    logged(Kind::Hdf5.code(), || {
        let hdf5 = Library::of_user(caller)?;
        // SAFETY: CLASS lives for ever.
        let status = unsafe { (hdf5.data.H5Zregister)((&raw const CLASS).cast()) };
        if status < 0 { fail!(Hdf5, "H5Zregister refused filter {FILTER_ID}") } else { Ok(0) }
    })
}
