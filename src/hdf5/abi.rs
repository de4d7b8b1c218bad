//! The part of HDF5's binary interface that the filter uses, declared by hand so that neither building nor loading the library
//! needs HDF5. It is the same from 1.10 to 2.x; `tests/hdf5_abi.rs` compares it with the headers.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `hid_t`; 32 bits before 1.10.
pub type Hid = i64;
/// `herr_t`: negative is failure.
pub type Herr = c_int;

/// `H5Z_CLASS_T_VERS`.
pub const CLASS_VERSION: c_int = 1;
/// `H5PL_TYPE_FILTER`.
pub const PLUGIN_TYPE_FILTER: c_int = 0;
/// `H5Z_FLAG_REVERSE`: the chunk is being read.
pub const FLAG_REVERSE: c_uint = 0x0100;

/// `H5D_FILL_VALUE_UNDEFINED`.
pub const FILL_UNDEFINED: c_int = 0;
/// `H5D_FILL_VALUE_USER_DEFINED`.
pub const FILL_USER_DEFINED: c_int = 2;

/// `H5Z_func_t`.
pub type FilterFn = unsafe extern "C" fn(c_uint, usize, *const c_uint, usize, *mut usize, *mut *mut c_void) -> usize;
/// `H5Z_can_apply_func_t` and `H5Z_set_local_func_t`.
pub type PreludeFn = unsafe extern "C" fn(Hid, Hid, Hid) -> Herr;

/// `H5Z_class2_t`.
#[repr(C)]
#[allow(missing_docs)]
pub struct FilterClass {
    pub version: c_int,
    pub id: c_int,
    pub encoder_present: c_uint,
    pub decoder_present: c_uint,
    pub name: *const c_char,
    pub can_apply: Option<PreludeFn>,
    pub set_local: Option<PreludeFn>,
    pub filter: Option<FilterFn>,
}

// SAFETY: the one pointer, `name`, leads to a constant string.
unsafe impl Sync for FilterClass {}

/// Declares a table of HDF5 functions and how to look them all up.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident: fn($($arg:ty),*) -> $ret:ty;)*) => {
        /// HDF5's functions, found at run time. All exist under these names from 1.10 to 2.x.
        #[allow(non_snake_case, missing_docs)]
        #[derive(Clone, Copy)]
        pub struct Functions { $($(#[$doc])* pub $name: unsafe extern "C" fn($($arg),*) -> $ret,)* }

        impl Functions {
            /// Every name, for tests.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Looks up every function; the name of the first that is missing as error.
            ///
            /// # Safety
            /// `find` returns addresses of HDF5's functions of these names, version 1.10 or newer.
            pub unsafe fn load(
                mut find: impl FnMut(&std::ffi::CStr) -> Option<std::ptr::NonNull<c_void>>,
            ) -> Result<Functions, &'static str> {
                Ok(Functions { $($name: {
                    let name = concat!(stringify!($name), "\0");
                    let address = std::ffi::CStr::from_bytes_with_nul(name.as_bytes())
                        .ok()
                        .and_then(&mut find)
                        .ok_or(stringify!($name))?;
                    // SAFETY: the function of this name has this type (the contract, and tests/hdf5_abi.rs).
                    unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> $ret>(address.as_ptr())
                    }
                },)* })
            }
        }
    };
}

functions! {
    H5get_libversion: fn(*mut c_uint, *mut c_uint, *mut c_uint) -> Herr;
    /// Datatype, buffer or null, its size.
    H5Tencode: fn(Hid, *mut c_void, *mut usize) -> Herr;
    H5Pget_nfilters: fn(Hid) -> c_int;
    /// Property list, index, flags, number of words, words, length of name, name, configuration.
    H5Pget_filter2: fn(Hid, c_uint, *mut c_uint, *mut usize, *mut c_uint, usize, *mut c_char, *mut c_uint) -> c_int;
    H5Pmodify_filter: fn(Hid, c_int, c_uint, usize, *const c_uint) -> Herr;
    H5Pget_chunk: fn(Hid, c_int, *mut u64) -> c_int;
    H5Pfill_value_defined: fn(Hid, *mut c_int) -> Herr;
    H5Pget_fill_value: fn(Hid, Hid, *mut c_void) -> Herr;
}
