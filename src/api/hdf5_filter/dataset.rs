//! What HDF5 tells of a dataset that is being made.

use std::ffi::c_int;

use super::abi::{self, Functions, Hid};
use super::cd_values::MAX_RANK;
use super::datatype::{self, Stored};
use crate::dtype::element_bits;
use crate::error::{Result, fail};
use crate::host::memory::filled;

/// What the elements are.
///
/// # Safety
/// `type_id` is a datatype of the library of `hdf5`.
pub unsafe fn stored(hdf5: &Functions, type_id: Hid) -> Result<Stored> {
    // SAFETY: the contract.
    datatype::parse(&unsafe { encoded(hdf5, type_id)? })
}

/// A datatype as `H5Tencode` writes it.
///
/// # Safety
/// `type_id` is a datatype of the library of `hdf5`.
pub unsafe fn encoded(hdf5: &Functions, type_id: Hid) -> Result<Vec<u8>> {
    let mut size = 0;
    // SAFETY: the contract; null asks for the size.
    if unsafe { (hdf5.H5Tencode)(type_id, std::ptr::null_mut(), &mut size) } < 0 {
        return fail!(Hdf5, "H5Tencode failed");
    }
    let mut encoded = vec![0u8; size];
    // SAFETY: the contract; the buffer has `size` bytes.
    if unsafe { (hdf5.H5Tencode)(type_id, encoded.as_mut_ptr().cast(), &mut size) } < 0 {
        return fail!(Hdf5, "H5Tencode failed");
    }
    Ok(encoded)
}

/// The chunk's dimensions, slowest first.
///
/// # Safety
/// `dcpl` is a dataset creation property list of the library of `hdf5`.
pub unsafe fn chunk(hdf5: &Functions, dcpl: Hid) -> Result<Vec<u64>> {
    let mut dims = [0; MAX_RANK];
    // SAFETY: the contract, and room for as many dimensions as there can be.
    let rank = unsafe { (hdf5.H5Pget_chunk)(dcpl, MAX_RANK as c_int, dims.as_mut_ptr()) };
    match usize::try_from(rank) {
        Ok(rank) if rank <= dims.len() => Ok(dims[..rank].to_vec()),
        _ => fail!(Hdf5, "H5Pget_chunk failed; filters need a chunked dataset"),
    }
}

/// The bits of the fill value that the dataset was given, for floats; of arrays and complex numbers those of every
/// part, each once. None where nobody has set one: HDF5 then fills with zeros, which mark nothing.
///
/// # Safety
/// `dcpl` and `type_id` are a dataset's creation properties and datatype, of the library of `hdf5`.
pub unsafe fn fills(hdf5: &Functions, dcpl: Hid, type_id: Hid, stored: &Stored) -> Result<Vec<u64>> {
    let mut status = abi::FILL_UNDEFINED;
    // SAFETY: the contract.
    if unsafe { (hdf5.H5Pfill_value_defined)(dcpl, &mut status) } < 0 {
        return fail!(Hdf5, "H5Pfill_value_defined failed");
    }
    if status != abi::FILL_USER_DEFINED || !stored.dtype.is_float() {
        return Ok(Vec::new());
    }
    let mut bytes = filled(stored.bytes as usize, 0u8)?;
    // SAFETY: the contract; there is room for an element, and its own type needs no conversion.
    if unsafe { (hdf5.H5Pget_fill_value)(dcpl, type_id, bytes.as_mut_ptr().cast()) } < 0 {
        return fail!(Hdf5, "H5Pget_fill_value failed");
    }
    let mut fills = Vec::new();
    for part in bytes.chunks_exact(stored.dtype.size()) {
        let bits = element_bits(part, stored.big_endian);
        if !fills.contains(&bits) {
            fills.push(bits);
        }
    }
    Ok(fills)
}
