//! The hand-written HDF5 interface against the headers' and the library's own.

use std::mem::{offset_of, size_of};

use hdf5_sys::{h5, h5d, h5i, h5p, h5pl, h5s, h5t, h5z};
use sleek::hdf5::abi::{self, FilterClass, Functions, Hid};

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
