//! The part of HDF5's binary interface that the filter uses, declared by hand so that neither building nor loading the
//! library needs HDF5. It is the same from 1.10 to 2.x; `tests/hdf5/abi.rs` compares it with the headers.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::ptr::NonNull;

use crate::error::{Result, fail};

/// `hid_t`; 32 bits before 1.10.
pub type Hid = i64;
/// `herr_t`: negative is failure.
pub type Herr = c_int;

pub const H5Z_CLASS_T_VERS: c_int = 1;
pub const H5PL_TYPE_FILTER: c_int = 0;
/// A chunk that the filter refuses is stored without it.
pub const H5Z_FLAG_OPTIONAL: c_uint = 0x0001;
/// The chunk is being read.
pub const H5Z_FLAG_REVERSE: c_uint = 0x0100;

pub const H5D_FILL_VALUE_UNDEFINED: c_int = 0;
pub const H5D_FILL_VALUE_USER_DEFINED: c_int = 2;

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

pub const H5D_CHUNKED: c_int = 2;
pub const H5D_FILL_TIME_NEVER: c_int = 1;
/// `H5E_MAJOR` and `H5E_MINOR`.
pub const MESSAGE_KINDS: [c_int; 2] = [0, 1];
pub const H5S_SELECT_SET: c_int = 0;
/// Files of the driver are shared by the ranks of an MPI program.
pub const H5FD_FEAT_HAS_MPI: c_ulong = 0x100;
/// `H5P_DEFAULT`, `H5S_ALL` and `H5E_DEFAULT`.
pub const DEFAULT: Hid = 0;

/// `H5Epush2`: error stack, file, function, line, ids of class, major and minor error, format of the text, what it
/// prints.
pub type Push =
    unsafe extern "C" fn(Hid, *const c_char, *const c_char, c_uint, Hid, Hid, Hid, *const c_char, ...) -> Herr;

/// Declares a table of a library's functions, which are found at run time. Those behind `[optional]` do not exist in
/// every version or build; the first name that does counts.
macro_rules! table {
    ($(#[$about:meta])* $table:ident,
     $($(#[$doc:meta])* $name:ident: fn($($arg:ty),*) -> $ret:ty;)*
     $([optional] $(#[$odoc:meta])* $oname:ident $(or $other:ident)*: fn($($oarg:ty),*) -> $oret:ty;)*) => {
        $(#[$about])*
        #[allow(non_snake_case, missing_docs)]
        #[derive(Clone, Copy)]
        pub struct $table {
            $($(#[$doc])* pub $name: unsafe extern "C" fn($($arg),*) -> $ret,)*
            $($(#[$odoc])* pub $oname: Option<unsafe extern "C" fn($($oarg),*) -> $oret>,)*
        }

        impl $table {
            /// Looks up every function; `None` if one is missing.
            ///
            /// # Safety
            /// `find` returns addresses of the library's functions of these names, which have these types.
            pub unsafe fn load(find: $crate::api::hdf5_filter::abi::Find) -> Option<Self> {
                use $crate::api::hdf5_filter::abi::{function, name};
                // SAFETY: the contract.
                Some(unsafe {
                    $table {
                        $($name: function(find(name(concat!(stringify!($name), "\0")))?),)*
                        $($oname: {
                            let names = [concat!(stringify!($oname), "\0") $(, concat!(stringify!($other), "\0"))*];
                            names.into_iter().find_map(|n| find(name(n))).map(|address| function(address))
                        },)*
                    }
                })
            }
        }
    };
}

#[cfg(feature = "plugin")]
pub(crate) use table;

/// The function at `address`.
///
/// # Safety
/// `F` is the type of a function, which is that of the one at `address`.
pub unsafe fn function<F: Copy>(address: NonNull<c_void>) -> F {
    // SAFETY: the contract.
    unsafe { std::mem::transmute_copy(&address) }
}

/// What tells where a function is.
pub type Find<'a> = &'a dyn Fn(&CStr) -> Option<NonNull<c_void>>;

/// What is found of one HDF5.
#[derive(Clone, Copy)]
pub struct Tables {
    /// What the filter uses.
    pub filter: Functions,
    /// The others; a program that holds HDF5 may lack some.
    pub data: Option<DatasetFunctions>,
}

impl Tables {
    /// Looks them up.
    ///
    /// # Safety
    /// `find` returns addresses of functions of HDF5, version 1.10 or newer.
    pub unsafe fn load(find: Find) -> Option<Tables> {
        // SAFETY: the contract, and tests/hdf5/abi.rs.
        unsafe { Some(Tables { filter: Functions::load(find)?, data: DatasetFunctions::load(find) }) }
    }
}

impl Functions {
    /// The version of the library.
    pub fn version(&self) -> (c_uint, c_uint, c_uint) {
        let (mut major, mut minor, mut release) = (0, 0, 0);
        // SAFETY: three pointers to integers, as the function wants.
        unsafe { (self.H5get_libversion)(&mut major, &mut minor, &mut release) };
        (major, minor, release)
    }
}

/// An error where HDF5 says that a call failed.
pub fn check(status: impl Into<i64>, call: &str) -> Result<()> {
    if status.into() < 0 { fail!(Hdf5, "{call} failed") } else { Ok(()) }
}

/// A C string of a literal that ends in NUL.
pub fn name(literal: &'static str) -> &'static CStr {
    CStr::from_bytes_with_nul(literal.as_bytes()).unwrap_or_default()
}

table! {
    /// What the filter uses. All exist under these names from 1.10 to 2.x.
    Functions,
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
    [optional]
    /// Property list, filter.
    H5Premove_filter: fn(Hid, c_int) -> Herr;
    [optional]
    /// Property list, filter, flags, number of words, words.
    H5Pset_filter: fn(Hid, c_int, c_uint, usize, *const c_uint) -> Herr;
    [optional]
    /// Only looked for: an HDF5 without it opens no files of MPI ranks.
    H5Pset_fapl_mpio: fn() -> Herr;
    [optional]
    H5Ecreate_stack: fn() -> Hid;
    [optional]
    /// Takes the place of this thread's error stack, and closes the id.
    H5Eset_current_stack: fn(Hid) -> Herr;
    [optional]
    /// Names of the class, the library and its version.
    H5Eregister_class: fn(*const c_char, *const c_char, *const c_char) -> Hid;
    [optional] H5Eunregister_class: fn(Hid) -> Herr;
    [optional]
    /// Class, kind of message, message.
    H5Ecreate_msg: fn(Hid, c_int, *const c_char) -> Hid;
    [optional] H5Eclose_msg: fn(Hid) -> Herr;
    [optional]
    /// A `Push`, which a table cannot say.
    H5Epush2: fn() -> Herr;
    [optional]
    /// Only looked for: an HDF5 with it calls filters from several threads at once.
    H5TSglobal_pool_create: fn() -> Herr;
}

table! {
    /// What reading and writing whole datasets takes besides.
    DatasetFunctions,
    H5Dget_space: fn(Hid) -> Hid;
    H5Dget_type: fn(Hid) -> Hid;
    H5Dget_create_plist: fn(Hid) -> Hid;
    /// Dataset, memory type, memory space, file space, transfer properties, buffer.
    H5Dwrite: fn(Hid, Hid, Hid, Hid, Hid, *const c_void) -> Herr;
    H5Dread: fn(Hid, Hid, Hid, Hid, Hid, *mut c_void) -> Herr;
    H5Tequal: fn(Hid, Hid) -> c_int;
    H5Tget_size: fn(Hid) -> usize;
    H5Tclose: fn(Hid) -> Herr;
    H5Sget_simple_extent_dims: fn(Hid, *mut u64, *mut u64) -> c_int;
    H5Sget_simple_extent_ndims: fn(Hid) -> c_int;
    /// Rank, dimensions, maximal dimensions or null.
    H5Screate_simple: fn(c_int, *const u64, *const u64) -> Hid;
    /// Space, operation, start, stride or null, count, block or null.
    H5Sselect_hyperslab: fn(Hid, c_int, *const u64, *const u64, *const u64, *const u64) -> Herr;
    H5Sselect_none: fn(Hid) -> Herr;
    H5Sclose: fn(Hid) -> Herr;
    H5Pget_layout: fn(Hid) -> c_int;
    H5Pget_fill_time: fn(Hid, *mut c_int) -> Herr;
    H5Pclose: fn(Hid) -> Herr;
    H5Fget_access_plist: fn(Hid) -> Hid;
    H5Fclose: fn(Hid) -> Herr;
    H5Pget_driver: fn(Hid) -> Hid;
    H5Zfilter_avail: fn(c_int) -> c_int;
    H5Zregister: fn(*const c_void) -> Herr;
    /// Error stack, function, its data; what `H5Eset_auto2` takes.
    H5Eget_auto2: fn(Hid, *mut *mut c_void, *mut *mut c_void) -> Herr;
    H5Eset_auto2: fn(Hid, *mut c_void, *mut c_void) -> Herr;
    [optional]
    /// Property list, room or null for the expression, its bytes; the expression's bytes. Where it is missing nothing
    /// can be set.
    H5Pget_data_transform: fn(Hid, *mut c_char, usize) -> isize;
    [optional]
    /// A program that holds HDF5 may lack it.
    H5Iget_file_id: fn(Hid) -> Hid;
    [optional]
    /// Only looked for: an HDF5 without it opens no files of MPI ranks.
    H5Pset_fapl_mpio: fn() -> Herr;
    [optional] H5FDdriver_query: fn(Hid, *mut c_ulong) -> Herr;
    [optional] H5Pget_chunk_opts: fn(Hid, *mut c_uint) -> Herr;
    [optional]
    /// Dataset, transfer properties, filters not applied, first element, bytes, data. Since 1.10.2; before in
    /// libhdf5_hl.
    H5Dwrite_chunk or H5DOwrite_chunk: fn(Hid, Hid, u32, *const u64, usize, *const c_void) -> Herr;
    [optional]
    /// Dataset, transfer properties, first element, filters not applied, room for the data.
    H5Dread_chunk or H5Dread_chunk1: fn(Hid, Hid, *const u64, *mut u32, *mut c_void) -> Herr;
    [optional]
    /// The same, and the room in bytes. Since 2.0.
    H5Dread_chunk2: fn(Hid, Hid, *const u64, *mut u32, *mut c_void, *mut usize) -> Herr;
    [optional] H5Dget_chunk_storage_size: fn(Hid, *const u64, *mut u64) -> Herr;
    [optional]
    /// Dataset, its space, number of chunks. Since 1.10.5.
    H5Dget_num_chunks: fn(Hid, Hid, *mut u64) -> Herr;
}
