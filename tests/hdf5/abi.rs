//! The library's hand-written HDF5 interface against the headers.

use std::ffi::{c_char, c_void};
use std::mem::{offset_of, size_of};

use hdf5_sys::{h5, h5d, h5e, h5f, h5fd, h5i, h5p, h5pl, h5s, h5t, h5z};
use sleek::api::hdf5_filter::abi::{self, DatasetFunctions, FilterClass, Functions, Hid};

#[test]
fn the_filter_class_has_hdf5s_layout() {
    type Theirs = h5z::H5Z_class2_t;
    assert_eq!(size_of::<FilterClass>(), size_of::<Theirs>());
    macro_rules! same_offset { ($($field:ident),*) => { $(
        assert_eq!(offset_of!(FilterClass, $field), offset_of!(Theirs, $field), stringify!($field));
    )* } }
    same_offset!(version, id, encoder_present, decoder_present, name, can_apply, set_local, filter);
}

#[test]
fn types_and_constants_are_hdf5s() {
    let _: Hid = 0 as h5i::hid_t;
    let _: abi::Herr = 0 as h5::herr_t;
    let _: u64 = 0 as h5::hsize_t;
    assert_eq!(abi::H5Z_CLASS_T_VERS as u32, h5z::H5Z_CLASS_T_VERS);
    assert_eq!(abi::H5Z_FLAG_REVERSE, h5z::H5Z_FLAG_REVERSE);
    assert_eq!(abi::H5Z_FLAG_OPTIONAL, h5z::H5Z_FLAG_OPTIONAL);
    assert_eq!(abi::H5PL_TYPE_FILTER, h5pl::H5PL_type_t::H5PL_TYPE_FILTER as i32);
    assert_eq!(abi::H5D_FILL_VALUE_UNDEFINED, h5d::H5D_fill_value_t::H5D_FILL_VALUE_UNDEFINED as i32);
    assert_eq!(abi::H5D_FILL_VALUE_USER_DEFINED, h5d::H5D_fill_value_t::H5D_FILL_VALUE_USER_DEFINED as i32);
    // The most dimensions that cd_values have room for.
    assert_eq!(h5s::H5S_MAX_RANK, 32);
}

/// Compiles only if HDF5's functions have the types of our table.
#[test]
fn functions_have_hdf5s_types() {
    type Select<T> = unsafe extern "C" fn(Hid, T, *const u64, *const u64, *const u64, *const u64) -> abi::Herr;
    type Layout<T> = unsafe extern "C" fn(Hid) -> T;
    type FillTime<T> = unsafe extern "C" fn(Hid, *mut T) -> abi::Herr;
    type GetAuto<T> = unsafe extern "C" fn(Hid, *mut T, *mut *mut c_void) -> abi::Herr;
    type SetAuto<T> = unsafe extern "C" fn(Hid, T, *mut c_void) -> abi::Herr;
    type CreateMessage<T> = unsafe extern "C" fn(Hid, T, *const c_char) -> Hid;
    type FillValueDefined<T> = unsafe extern "C" fn(Hid, *mut T) -> abi::Herr;
    let fill_value_defined: FillValueDefined<h5d::H5D_fill_value_t> = h5p::H5Pfill_value_defined;
    let functions = Functions {
        H5get_libversion: h5::H5get_libversion,
        H5Tencode: h5t::H5Tencode,
        H5Pget_nfilters: h5p::H5Pget_nfilters,
        H5Pget_filter2: h5p::H5Pget_filter2,
        H5Pmodify_filter: h5p::H5Pmodify_filter,
        H5Pget_chunk: h5p::H5Pget_chunk,
        // SAFETY: the C enumeration is an int (checked above), which this type says in Rust.
        H5Pfill_value_defined: unsafe {
            std::mem::transmute::<FillValueDefined<h5d::H5D_fill_value_t>, FillValueDefined<i32>>(fill_value_defined)
        },
        H5Pget_fill_value: h5p::H5Pget_fill_value,
        H5Premove_filter: Some(h5p::H5Premove_filter),
        H5Pset_filter: Some(h5p::H5Pset_filter),
        H5Pset_fapl_mpio: None,
        H5Ecreate_stack: Some(h5e::H5Ecreate_stack),
        H5Eset_current_stack: Some(h5e::H5Eset_current_stack),
        H5Eregister_class: Some(h5e::H5Eregister_class),
        H5Eunregister_class: Some(h5e::H5Eunregister_class),
        H5Eclose_msg: Some(h5e::H5Eclose_msg),
        // SAFETY: as above.
        H5Ecreate_msg: Some(unsafe {
            std::mem::transmute::<CreateMessage<h5e::H5E_type_t>, CreateMessage<i32>>(h5e::H5Ecreate_msg)
        }),
        H5Epush2: None,
        H5TSglobal_pool_create: None,
    };
    let _: abi::Push = h5e::H5Epush2;
    // SAFETY: enumerations of C are ints, and a function pointer or none is a pointer, as our types say.
    let _: DatasetFunctions = unsafe {
        use std::mem::transmute;
        DatasetFunctions {
            H5Dget_space: h5d::H5Dget_space,
            H5Dget_type: h5d::H5Dget_type,
            H5Dget_create_plist: h5d::H5Dget_create_plist,
            H5Dwrite: h5d::H5Dwrite,
            H5Dread: h5d::H5Dread,
            H5Tequal: h5t::H5Tequal,
            H5Tget_size: h5t::H5Tget_size,
            H5Tclose: h5t::H5Tclose,
            H5Sget_simple_extent_dims: h5s::H5Sget_simple_extent_dims,
            H5Sget_simple_extent_ndims: h5s::H5Sget_simple_extent_ndims,
            H5Screate_simple: h5s::H5Screate_simple,
            H5Sselect_hyperslab: transmute::<Select<h5s::H5S_seloper_t>, Select<i32>>(h5s::H5Sselect_hyperslab),
            H5Sselect_none: h5s::H5Sselect_none,
            H5Sclose: h5s::H5Sclose,
            H5Pget_layout: transmute::<Layout<h5d::H5D_layout_t>, Layout<i32>>(h5p::H5Pget_layout),
            H5Pget_fill_time: transmute::<FillTime<h5d::H5D_fill_time_t>, FillTime<i32>>(h5p::H5Pget_fill_time),
            H5Pclose: h5p::H5Pclose,
            H5Fget_access_plist: h5f::H5Fget_access_plist,
            H5Fclose: h5f::H5Fclose,
            H5Pget_driver: h5p::H5Pget_driver,
            H5Zfilter_avail: h5z::H5Zfilter_avail,
            H5Zregister: h5z::H5Zregister,
            H5Eget_auto2: transmute::<GetAuto<h5e::H5E_auto2_t>, GetAuto<*mut c_void>>(h5e::H5Eget_auto2),
            H5Eset_auto2: transmute::<SetAuto<h5e::H5E_auto2_t>, SetAuto<*mut c_void>>(h5e::H5Eset_auto2),
            H5Pget_data_transform: Some(h5p::H5Pget_data_transform),
            H5Iget_file_id: Some(h5i::H5Iget_file_id),
            H5Pset_fapl_mpio: None,
            H5FDdriver_query: Some(h5fd::H5FDdriver_query),
            H5Pget_chunk_opts: Some(h5p::H5Pget_chunk_opts),
            H5Dwrite_chunk: Some(h5d::H5Dwrite_chunk),
            // These are not bound for every version; direct.c calls them with the types of HDF5's headers.
            H5Dread_chunk: None,
            H5Dread_chunk2: None,
            H5Dget_chunk_storage_size: None,
            H5Dget_num_chunks: Some(h5d::H5Dget_num_chunks),
        }
    };
    assert_eq!(abi::H5D_CHUNKED, h5d::H5D_layout_t::H5D_CHUNKED as i32);
    assert_eq!(abi::H5D_FILL_TIME_NEVER, h5d::H5D_fill_time_t::H5D_FILL_TIME_NEVER as i32);
    assert_eq!(abi::MESSAGE_KINDS, [h5e::H5E_type_t::H5E_MAJOR as i32, h5e::H5E_type_t::H5E_MINOR as i32]);
    assert_eq!(abi::H5S_SELECT_SET, h5s::H5S_seloper_t::H5S_SELECT_SET as i32);
    let (mut major, mut minor, mut release) = (0, 0, 0);
    // SAFETY: three pointers to integers.
    assert!(unsafe { (functions.H5get_libversion)(&mut major, &mut minor, &mut release) } >= 0);
    assert!((major, minor) >= (1, 10) && functions.version() == (major, minor, release));
}
