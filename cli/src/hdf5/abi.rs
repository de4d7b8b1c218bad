//! The functions of libhdf5 that the command calls, and where its structures have what is read from them. One table is
//! for every version from 1.10.5 to 2.x: the few functions that changed their names are looked up apart.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// `hid_t`; 32 bits before 1.10.
pub type Hid = i64;
/// `herr_t`: negative is failure.
pub type Herr = c_int;

/// `H5P_DEFAULT`.
pub const DEFAULT: Hid = 0;
/// `H5S_ALL`.
pub const ALL: Hid = 0;
/// `H5F_ACC_TRUNC`.
pub const TRUNCATE: c_uint = 2;
/// `H5P_CRT_ORDER_TRACKED`.
pub const ORDER_TRACKED: c_uint = 1;
/// `H5_ITER_NATIVE`.
pub const NATIVE_ORDER: c_int = 2;
/// `H5Z_FILTER_ALL`.
pub const EVERY_FILTER: c_int = 0;

/// `H5D_FILL_VALUE_UNDEFINED` and `H5D_FILL_VALUE_USER_DEFINED`.
pub const FILL_UNDEFINED: c_int = 0;
pub const FILL_USER_DEFINED: c_int = 2;

/// Object types of `H5O_type_t`.
pub const GROUP: c_int = 0;
pub const DATASET: c_int = 1;
pub const NAMED_TYPE: c_int = 2;

/// Link types of `H5L_type_t`.
pub const HARD: c_int = 0;
pub const SOFT: c_int = 1;

/// Classes of `H5T_class_t`.
pub const STRING: c_int = 3;
pub const COMPOUND: c_int = 6;
pub const REFERENCE: c_int = 7;
pub const VARIABLE: c_int = 9;
pub const ARRAY: c_int = 10;

/// Layouts of `H5D_layout_t`.
pub const CHUNKED: c_int = 2;
pub const VIRTUAL: c_int = 3;

/// Character sets of `H5T_cset_t`.
pub const ASCII: c_int = 0;
pub const UTF8: c_int = 1;

/// `H5S_SCALAR` and `H5S_SIMPLE`.
pub const SCALAR_SPACE: c_int = 0;
pub const SIMPLE_SPACE: c_int = 1;

/// `H5D_SPACE_STATUS_NOT_ALLOCATED` and `H5D_SPACE_STATUS_ALLOCATED`; 1 is in part.
pub const NOT_STORED: c_int = 0;
pub const WHOLLY_STORED: c_int = 2;

/// `H5O_COPY_WITHOUT_ATTR_FLAG` and `H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG`.
pub const WITHOUT_ATTRIBUTES: c_uint = 0x10;
pub const MERGE_NAMED_TYPES: c_uint = 0x40;

/// `H5R_OBJECT` and `H5R_DATASET_REGION`.
pub const TO_OBJECT: c_int = 0;
pub const TO_REGION: c_int = 1;

/// `H5E_error2_t`.
#[repr(C)]
pub struct ErrorRecord {
    class: Hid,
    major: Hid,
    minor: Hid,
    line: c_uint,
    function: *const c_char,
    file: *const c_char,
    pub sentence: *const c_char,
}

/// `H5E_walk2_t`.
pub type ErrorWalk = unsafe extern "C" fn(c_uint, *const ErrorRecord, *mut c_void) -> Herr;
/// `H5L_iterate_t` and `H5A_operator2_t`: location, name, information, our data.
pub type NameVisit = unsafe extern "C" fn(Hid, *const c_char, *const c_void, *mut c_void) -> Herr;

/// An element of a variable-length sequence, `hvl_t`.
#[repr(C)]
pub struct Sequence {
    pub len: usize,
    pub start: *mut c_void,
}

/// Declares a table of functions and how to look them up.
macro_rules! functions {
    ($($name:ident: fn($($arg:ty),*) -> $ret:ty;)*) => {
        /// HDF5's functions by their names.
        #[allow(non_snake_case)]
        pub struct Functions { $(pub $name: unsafe extern "C" fn($($arg),*) -> $ret,)* }

        impl Functions {
            /// # Safety
            /// `find` gives the addresses of HDF5's functions.
            pub unsafe fn load(find: impl Fn(&CStr) -> Result<*mut c_void, String>) -> Result<Functions, String> {
                Ok(Functions { $($name: {
                    let name = concat!(stringify!($name), "\0").as_bytes();
                    let address = find(CStr::from_bytes_with_nul(name).map_err(|e| e.to_string())?)?;
                    // SAFETY: the function of this name has this type in every version from 1.10.5 on.
                    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> $ret>(address) }
                },)* })
            }
        }
    };
}

functions! {
    H5Eset_auto2: fn(Hid, *const c_void, *mut c_void) -> Herr;
    H5Ewalk2: fn(Hid, c_int, ErrorWalk, *mut c_void) -> Herr;
    H5Idec_ref: fn(Hid) -> c_int;

    H5Fopen: fn(*const c_char, c_uint, Hid) -> Hid;
    H5Fcreate: fn(*const c_char, c_uint, Hid, Hid) -> Hid;
    H5Fget_create_plist: fn(Hid) -> Hid;

    H5Gcreate2: fn(Hid, *const c_char, Hid, Hid, Hid) -> Hid;
    H5Gget_create_plist: fn(Hid) -> Hid;

    H5Lcreate_hard: fn(Hid, *const c_char, Hid, *const c_char, Hid, Hid) -> Herr;
    H5Lcreate_soft: fn(*const c_char, Hid, *const c_char, Hid, Hid) -> Herr;
    H5Lcreate_ud: fn(Hid, *const c_char, c_int, *const c_void, usize, Hid, Hid) -> Herr;
    H5Lget_val: fn(Hid, *const c_char, *mut c_void, usize, Hid) -> Herr;
    H5Ldelete: fn(Hid, *const c_char, Hid) -> Herr;

    H5Oopen: fn(Hid, *const c_char, Hid) -> Hid;
    H5Ocopy: fn(Hid, *const c_char, Hid, *const c_char, Hid, Hid) -> Herr;
    H5Oget_comment: fn(Hid, *mut c_char, usize) -> isize;
    H5Oset_comment: fn(Hid, *const c_char) -> Herr;

    H5Aiterate2: fn(Hid, c_int, c_int, *mut u64, NameVisit, *mut c_void) -> Herr;
    H5Aexists: fn(Hid, *const c_char) -> c_int;
    H5Aopen: fn(Hid, *const c_char, Hid) -> Hid;
    H5Acreate2: fn(Hid, *const c_char, Hid, Hid, Hid, Hid) -> Hid;
    H5Aget_type: fn(Hid) -> Hid;
    H5Aget_space: fn(Hid) -> Hid;
    H5Aget_create_plist: fn(Hid) -> Hid;
    H5Aget_storage_size: fn(Hid) -> u64;
    H5Adelete: fn(Hid, *const c_char) -> Herr;
    H5Aread: fn(Hid, Hid, *mut c_void) -> Herr;
    H5Awrite: fn(Hid, Hid, *const c_void) -> Herr;

    H5Dcreate2: fn(Hid, *const c_char, Hid, Hid, Hid, Hid, Hid) -> Hid;
    H5Dget_type: fn(Hid) -> Hid;
    H5Dget_space: fn(Hid) -> Hid;
    H5Dget_create_plist: fn(Hid) -> Hid;
    H5Dget_storage_size: fn(Hid) -> u64;
    H5Dget_chunk_index_type: fn(Hid, *mut c_int) -> Herr;
    H5Dget_num_chunks: fn(Hid, Hid, *mut u64) -> Herr;
    H5Dget_chunk_info: fn(Hid, Hid, u64, *mut u64, *mut c_uint, *mut u64, *mut u64) -> Herr;
    H5Dget_chunk_storage_size: fn(Hid, *const u64, *mut u64) -> Herr;
    H5Dget_space_status: fn(Hid, *mut c_int) -> Herr;
    H5Dread: fn(Hid, Hid, Hid, Hid, Hid, *mut c_void) -> Herr;
    H5Dwrite_chunk: fn(Hid, Hid, u32, *const u64, usize, *const c_void) -> Herr;
    H5Dwrite: fn(Hid, Hid, Hid, Hid, Hid, *const c_void) -> Herr;
    H5Dvlen_reclaim: fn(Hid, Hid, Hid, *mut c_void) -> Herr;

    H5Screate: fn(c_int) -> Hid;
    H5Screate_simple: fn(c_int, *const u64, *const u64) -> Hid;
    H5Sget_simple_extent_type: fn(Hid) -> c_int;
    H5Sget_simple_extent_ndims: fn(Hid) -> c_int;
    H5Sget_simple_extent_dims: fn(Hid, *mut u64, *mut u64) -> c_int;
    H5Sget_simple_extent_npoints: fn(Hid) -> i64;
    H5Sselect_hyperslab: fn(Hid, c_int, *const u64, *const u64, *const u64, *const u64) -> Herr;

    H5Tcopy: fn(Hid) -> Hid;
    H5Tcommit2: fn(Hid, *const c_char, Hid, Hid, Hid, Hid) -> Herr;
    H5Tcommitted: fn(Hid) -> c_int;
    H5Tdetect_class: fn(Hid, c_int) -> c_int;
    H5Tencode: fn(Hid, *mut c_void, *mut usize) -> Herr;
    H5Tequal: fn(Hid, Hid) -> c_int;
    H5Tget_class: fn(Hid) -> c_int;
    H5Tget_cset: fn(Hid) -> c_int;
    H5Tget_create_plist: fn(Hid) -> Hid;
    H5Tget_member_offset: fn(Hid, c_uint) -> usize;
    H5Tget_member_type: fn(Hid, c_uint) -> Hid;
    H5Tget_nmembers: fn(Hid) -> c_int;
    H5Tget_size: fn(Hid) -> usize;
    H5Tget_super: fn(Hid) -> Hid;
    H5Tis_variable_str: fn(Hid) -> c_int;
    H5Tset_cset: fn(Hid, c_int) -> Herr;
    H5Tset_size: fn(Hid, usize) -> Herr;

    H5Pcreate: fn(Hid) -> Hid;
    H5Padd_merge_committed_dtype_path: fn(Hid, *const c_char) -> Herr;
    H5Pfill_value_defined: fn(Hid, *mut c_int) -> Herr;
    H5Pget_attr_creation_order: fn(Hid, *mut c_uint) -> Herr;
    H5Pget_attr_phase_change: fn(Hid, *mut c_uint, *mut c_uint) -> Herr;
    H5Pget_chunk: fn(Hid, c_int, *mut u64) -> c_int;
    H5Pget_external_count: fn(Hid) -> c_int;
    H5Pget_fill_value: fn(Hid, Hid, *mut c_void) -> Herr;
    H5Pget_filter2: fn(Hid, c_uint, *mut c_uint, *mut usize, *mut c_uint, usize, *mut c_char, *mut c_uint) -> c_int;
    H5Pget_layout: fn(Hid) -> c_int;
    H5Pget_libver_bounds: fn(Hid, *mut c_int, *mut c_int) -> Herr;
    H5Pget_link_creation_order: fn(Hid, *mut c_uint) -> Herr;
    H5Pget_link_phase_change: fn(Hid, *mut c_uint, *mut c_uint) -> Herr;
    H5Pget_nfilters: fn(Hid) -> c_int;
    H5Pget_chunk_opts: fn(Hid, *mut c_uint) -> Herr;
    H5Pget_userblock: fn(Hid, *mut u64) -> Herr;
    H5Pget_virtual_count: fn(Hid, *mut usize) -> Herr;
    H5Pget_virtual_filename: fn(Hid, usize, *mut c_char, usize) -> isize;
    H5Premove_filter: fn(Hid, c_int) -> Herr;
    H5Pset_alloc_time: fn(Hid, c_int) -> Herr;
    H5Pset_attr_creation_order: fn(Hid, c_uint) -> Herr;
    H5Pset_attr_phase_change: fn(Hid, c_uint, c_uint) -> Herr;
    H5Pset_char_encoding: fn(Hid, c_int) -> Herr;
    H5Pset_fapl_core: fn(Hid, usize, c_int) -> Herr;
    H5Pset_chunk: fn(Hid, c_int, *const u64) -> Herr;
    H5Pset_copy_object: fn(Hid, c_uint) -> Herr;
    H5Pset_filter: fn(Hid, c_int, c_uint, usize, *const c_uint) -> Herr;
    H5Pset_libver_bounds: fn(Hid, c_int, c_int) -> Herr;
    H5Pset_link_creation_order: fn(Hid, c_uint) -> Herr;
    H5Pset_link_phase_change: fn(Hid, c_uint, c_uint) -> Herr;

    H5Rcreate: fn(*mut c_void, Hid, *const c_char, c_int, Hid) -> Herr;
    H5Rdereference2: fn(Hid, Hid, c_int, *const c_void) -> Hid;
    H5Rget_region: fn(Hid, c_int, *const c_void) -> Hid;

    H5Zfilter_avail: fn(c_int) -> c_int;
    H5PLget: fn(c_uint, *mut c_char, usize) -> isize;
    H5PLsize: fn(*mut c_uint) -> Herr;
    H5Zregister: fn(*const c_void) -> Herr;
}
