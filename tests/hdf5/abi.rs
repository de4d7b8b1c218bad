//! The hand-written HDF5 interface against the headers' and the library's own.

use std::ffi::c_void;
use std::mem::{offset_of, size_of};

use hdf5_sys::{h5, h5d, h5e, h5f, h5fd, h5i, h5l, h5o, h5p, h5pl, h5r, h5s, h5t, h5z};
use sleek::api::hdf5_filter::abi::{self, DatasetFunctions, FilterClass, Functions, Hid};

/// What the command declares for itself.
#[allow(dead_code)]
#[path = "../../src/bin/sleek/hdf5/abi.rs"]
mod command;

#[test]
fn the_commands_constants_and_structures_are_hdf5s() {
    use h5o::H5O_type_t::*;
    use h5t::H5T_class_t::*;
    assert_eq!([command::GROUP, command::DATASET], [H5O_TYPE_GROUP as i32, H5O_TYPE_DATASET as i32]);
    assert_eq!(command::NAMED_TYPE, H5O_TYPE_NAMED_DATATYPE as i32);
    assert_eq!(command::HARD, h5l::H5L_type_t::H5L_TYPE_HARD as i32);
    assert_eq!(command::SOFT, h5l::H5L_type_t::H5L_TYPE_SOFT as i32);
    assert_eq!([command::STRING, command::COMPOUND], [H5T_STRING as i32, H5T_COMPOUND as i32]);
    assert_eq!([command::REFERENCE, command::VARIABLE], [H5T_REFERENCE as i32, H5T_VLEN as i32]);
    assert_eq!(command::ARRAY, H5T_ARRAY as i32);
    assert_eq!(command::CHUNKED, h5d::H5D_layout_t::H5D_CHUNKED as i32);
    assert_eq!(command::VIRTUAL, h5d::H5D_layout_t::H5D_VIRTUAL as i32);
    assert_eq!(command::SCALAR_SPACE, h5s::H5S_class_t::H5S_SCALAR as i32);
    assert_eq!(command::SIMPLE_SPACE, h5s::H5S_class_t::H5S_SIMPLE as i32);
    assert_eq!(command::NOT_STORED, h5d::H5D_space_status_t::H5D_SPACE_STATUS_NOT_ALLOCATED as i32);
    assert_eq!(command::WHOLLY_STORED, h5d::H5D_space_status_t::H5D_SPACE_STATUS_ALLOCATED as i32);
    assert_eq!(command::TO_OBJECT, h5r::H5R_type_t::H5R_OBJECT as i32);
    assert_eq!(command::TO_REGION, h5r::H5R_type_t::H5R_DATASET_REGION as i32);
    assert_eq!(command::TRUNCATE, h5f::H5F_ACC_TRUNC);
    assert_eq!(command::ORDER_TRACKED, h5p::H5P_CRT_ORDER_TRACKED);
    assert_eq!(command::WITHOUT_ATTRIBUTES, h5o::H5O_COPY_WITHOUT_ATTR_FLAG);
    assert_eq!(command::MERGE_NAMED_TYPES, h5o::H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG);

    assert_eq!(offset_of!(command::ErrorRecord, sentence), offset_of!(h5e::H5E_error2_t, desc));
    assert_eq!(size_of::<command::Sequence>(), size_of::<h5t::hvl_t>());
    assert_eq!(offset_of!(command::Sequence, start), offset_of!(h5t::hvl_t, p));
    // What `object.rs` reads of two structures that it does not declare, in words of 8 bytes.
    assert_eq!([offset_of!(h5o::H5O_info1_t, addr), offset_of!(h5o::H5O_info1_t, type_)], [8, 16]);
    assert!(size_of::<h5o::H5O_info1_t>() <= 512);
    let link =
        [offset_of!(h5l::H5L_info1_t, type_), offset_of!(h5l::H5L_info1_t, cset), offset_of!(h5l::H5L_info1_t, u)];
    assert_eq!(link, [0, 16, 24]);
    assert!(size_of::<h5l::H5L_info1_t>() <= 64);
}

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
    assert_eq!(abi::CLASS_VERSION as u32, h5z::H5Z_CLASS_T_VERS);
    assert_eq!(abi::FLAG_REVERSE, h5z::H5Z_FLAG_REVERSE);
    assert_eq!(abi::PLUGIN_TYPE_FILTER, h5pl::H5PL_type_t::H5PL_TYPE_FILTER as i32);
    assert_eq!(abi::FILL_UNDEFINED, h5d::H5D_fill_value_t::H5D_FILL_VALUE_UNDEFINED as i32);
    assert_eq!(abi::FILL_USER_DEFINED, h5d::H5D_fill_value_t::H5D_FILL_VALUE_USER_DEFINED as i32);
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
        H5Ecreate_stack: Some(h5e::H5Ecreate_stack),
        H5Eset_current_stack: Some(h5e::H5Eset_current_stack),
        H5Epush2: None,
        H5E_ERR_CLS_g: None,
        H5E_PLINE_g: None,
        H5E_CANTFILTER_g: None,
        H5TSglobal_pool_create: None,
    };
    let _: abi::Push = h5e::H5Epush2;
    // SAFETY: enumerations of C are ints, and a function pointer or none is a pointer, as our types say.
    let dataset = unsafe {
        use std::mem::transmute;
        DatasetFunctions {
            H5get_libversion: h5::H5get_libversion,
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
            H5Dget_chunk_info_by_coord: Some(h5d::H5Dget_chunk_info_by_coord),
        }
    };
    assert_eq!(abi::LAYOUT_CHUNKED, h5d::H5D_layout_t::H5D_CHUNKED as i32);
    assert_eq!(abi::FILL_TIME_NEVER, h5d::H5D_fill_time_t::H5D_FILL_TIME_NEVER as i32);
    assert_eq!(abi::SELECT_SET, h5s::H5S_seloper_t::H5S_SELECT_SET as i32);
    assert_eq!(abi::Table::version(&dataset), abi::Table::version(&functions));
    let (mut major, mut minor, mut release) = (0, 0, 0);
    // SAFETY: three pointers to integers.
    assert!(unsafe { (functions.H5get_libversion)(&mut major, &mut minor, &mut release) } >= 0);
    assert!((major, minor) >= (1, 10));
}
