//! The command's hand-written HDF5 interface against the headers.

use std::mem::{offset_of, size_of};

use hdf5_sys::{h5, h5d, h5e, h5f, h5i, h5l, h5o, h5p, h5r, h5s, h5t};

#[allow(dead_code)]
#[path = "../../src/hdf5/abi.rs"]
mod command;

#[test]
fn the_commands_constants_and_structures_are_hdf5s() {
    let _: command::Hid = 0 as h5i::hid_t;
    let _: command::Herr = 0 as h5::herr_t;
    use h5o::H5O_type_t::*;
    use h5t::H5T_class_t::*;
    assert_eq!([command::GROUP, command::DATASET], [H5O_TYPE_GROUP as i32, H5O_TYPE_DATASET as i32]);
    assert_eq!(command::NAMED_TYPE, H5O_TYPE_NAMED_DATATYPE as i32);
    assert_eq!(command::HARD, h5l::H5L_type_t::H5L_TYPE_HARD as i32);
    assert_eq!(command::SOFT, h5l::H5L_type_t::H5L_TYPE_SOFT as i32);
    assert_eq!(command::FILL_USER_DEFINED, h5d::H5D_fill_value_t::H5D_FILL_VALUE_USER_DEFINED as i32);
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
    assert_eq!(command::NATIVE_ORDER, h5::H5_iter_order_t::H5_ITER_NATIVE as i32);
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
