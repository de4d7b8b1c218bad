//! The hand-written HDF5 interface against the headers' and the library's own.

use std::mem::{offset_of, size_of};

use hdf5_sys::{h5, h5d, h5e, h5f, h5i, h5l, h5o, h5p, h5pl, h5r, h5s, h5t, h5z};
use sleek::hdf5::abi::{self, FilterClass, Functions, Hid};

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
    assert_eq!(command::PARTLY_STORED, h5d::H5D_space_status_t::H5D_SPACE_STATUS_PART_ALLOCATED as i32);
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
    };
    let (mut major, mut minor, mut release) = (0, 0, 0);
    // SAFETY: three pointers to integers.
    assert!(unsafe { (functions.H5get_libversion)(&mut major, &mut minor, &mut release) } >= 0);
    assert!((major, minor) >= (1, 10));
}
