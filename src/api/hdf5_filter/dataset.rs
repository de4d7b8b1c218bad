//! What HDF5 tells of a dataset that is being made.

use std::ffi::c_int;

use super::abi::{self, Functions, Hid};
use super::cd_values::MAX_RANK;
use super::datatype::{self, Stored};
use crate::dtype::DType;
use crate::error::{Error, Kind, Result, fail};

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

/// The value that fills unwritten elements and the rim of partial chunks, of scalar floats.
///
/// # Safety
/// `dcpl` and `type_id` are a dataset's creation properties and datatype, of the library of `hdf5`.
pub unsafe fn fill_value(hdf5: &Functions, dcpl: Hid, type_id: Hid, stored: &Stored) -> Result<Option<f64>> {
    let mut status = abi::FILL_UNDEFINED;
    // SAFETY: the contract.
    if unsafe { (hdf5.H5Pfill_value_defined)(dcpl, &mut status) } < 0 {
        return fail!(Hdf5, "H5Pfill_value_defined failed");
    }
    if status != abi::FILL_USER_DEFINED {
        // HDF5 then fills with zero bytes.
        return Ok(Some(0.0));
    }
    if !stored.scalar {
        return Ok(None);
    }
    let mut bytes = [0u8; 8];
    // SAFETY: the contract; a scalar float takes at most 8 bytes, and its own type needs no conversion.
    if unsafe { (hdf5.H5Pget_fill_value)(dcpl, type_id, bytes.as_mut_ptr().cast()) } < 0 {
        return fail!(Hdf5, "H5Pget_fill_value failed");
    }
    let size = stored.dtype.size();
    if stored.big_endian {
        bytes[..size].reverse();
    }
    to_f64(stored.dtype, u64::from_le_bytes(bytes)).map(Some)
}

/// The number with these bits; exact.
fn to_f64(dtype: DType, bits: u64) -> Result<f64> {
    match dtype {
        DType::F64 => Ok(f64::from_bits(bits)),
        DType::F32 => Ok(f32::from_bits(bits as u32).into()),
        DType::BF16 => Ok(f32::from_bits((bits as u32) << 16).into()),
        DType::F16 => Ok(f16_to_f64(bits as u16)),
        _ => Err(Error::new(Kind::Internal, format!("fill value of {} elements", dtype.name()))),
    }
}

fn f16_to_f64(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + mantissa) * 2f64.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_values_of_every_float_type() {
        assert_eq!(to_f64(DType::F64, (-9999f64).to_bits()).unwrap(), -9999.0);
        assert_eq!(to_f64(DType::F32, 1e20f32.to_bits().into()).unwrap(), f64::from(1e20f32));
        assert_eq!(to_f64(DType::BF16, 0xc2f7).unwrap(), -123.5);
        for (bits, value) in [(0x3c00, 1.0), (0xc500, -5.0), (0x0001, 2f64.powi(-24)), (0x7bff, 65504.0)] {
            assert_eq!(f16_to_f64(bits), value);
        }
        assert_eq!((f16_to_f64(0xfc00), f16_to_f64(0x7e00).is_nan()), (f64::NEG_INFINITY, true));
    }
}
