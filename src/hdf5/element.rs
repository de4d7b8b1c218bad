//! What a dataset's elements are, as HDF5 tells it.

use std::ffi::c_int;

use super::abi::{self, Functions, Hid, class};
use crate::dtype::DType;
use crate::error::{Error, Kind, Result, fail};

/// How the bytes of a dataset are best read, and whether a bound makes sense for them.
#[derive(Debug, PartialEq)]
pub struct Stored {
    /// The codec's element type.
    pub dtype: DType,
    /// Byte order in the file.
    pub big_endian: bool,
    /// One element of HDF5 is one of the codec's.
    pub scalar: bool,
    /// In a person's words.
    pub what: String,
}

/// A datatype that is closed at the end.
struct Type<'a> {
    hdf5: &'a Functions,
    id: Hid,
    owned: bool,
}

impl Drop for Type<'_> {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: H5Tget_super gave us this id, and it is closed once.
            unsafe { (self.hdf5.H5Tclose)(self.id) };
        }
    }
}

impl Type<'_> {
    fn class(&self) -> c_int {
        // SAFETY: `id` is a datatype of this library, for this and all calls below.
        unsafe { (self.hdf5.H5Tget_class)(self.id) }
    }

    fn size(&self) -> usize {
        // SAFETY: as above.
        unsafe { (self.hdf5.H5Tget_size)(self.id) }
    }

    fn order(&self) -> c_int {
        // SAFETY: as above.
        unsafe { (self.hdf5.H5Tget_order)(self.id) }
    }

    fn signed(&self) -> bool {
        // SAFETY: as above.
        unsafe { (self.hdf5.H5Tget_sign)(self.id) == abi::SIGN_TWOS_COMPLEMENT }
    }

    /// The IEEE type (or bfloat16) of which this float has every field in its place.
    fn ieee(&self) -> Option<DType> {
        let (mut sign, mut exponent, mut exponent_bits, mut mantissa, mut mantissa_bits) = (0, 0, 0, 0, 0);
        // SAFETY: as above; five pointers to size_t.
        let (fields, bias, norm) = unsafe {
            (
                (self.hdf5.H5Tget_fields)(
                    self.id,
                    &mut sign,
                    &mut exponent,
                    &mut exponent_bits,
                    &mut mantissa,
                    &mut mantissa_bits,
                ),
                (self.hdf5.H5Tget_ebias)(self.id),
                (self.hdf5.H5Tget_norm)(self.id),
            )
        };
        let (dtype, e, m) = match (self.size(), exponent_bits) {
            (4, _) => (DType::F32, 8, 23),
            (8, _) => (DType::F64, 11, 52),
            (2, 8) => (DType::BF16, 8, 7),
            (2, _) => (DType::F16, 5, 10),
            _ => return None,
        };
        let in_place = (sign, exponent, exponent_bits, mantissa, mantissa_bits) == (e + m, m, e, 0, m);
        let usual = bias == (1 << (e - 1)) - 1 && norm == abi::NORM_IMPLIED;
        let ordered = matches!(self.order(), abi::ORDER_LE | abi::ORDER_BE);
        (fields >= 0 && in_place && usual && ordered).then_some(dtype)
    }
}

/// Looks into a datatype; arrays and complex numbers count as their parts.
///
/// # Safety
/// `id` is a datatype of the library of `hdf5`.
pub unsafe fn stored(hdf5: &Functions, id: Hid) -> Result<Stored> {
    let mut part = Type { hdf5, id, owned: false };
    while matches!(part.class(), class::ARRAY | class::COMPLEX) {
        // SAFETY: `part` is a datatype that has a base type.
        let id = unsafe { (hdf5.H5Tget_super)(part.id) };
        if id < 0 {
            return fail!(Hdf5, "H5Tget_super failed");
        }
        part = Type { hdf5, id, owned: true };
    }
    let ordinary = matches!(part.class(), class::INTEGER | class::ENUM | class::BITFIELD | class::FLOAT);
    let float = if part.class() == class::FLOAT { part.ieee() } else { None };
    let signed = part.class() == class::INTEGER && part.signed();
    let dtype = float.unwrap_or(match part.size() {
        2 if ordinary => [DType::U16, DType::I16][usize::from(signed)],
        4 if ordinary => [DType::U32, DType::I32][usize::from(signed)],
        8 if ordinary => [DType::U64, DType::I64][usize::from(signed)],
        1 if signed => DType::I8,
        _ => DType::U8,
    });
    Ok(Stored {
        dtype,
        big_endian: dtype.size() > 1 && part.order() == abi::ORDER_BE,
        scalar: part.id == id,
        what: what(&part, float),
    })
}

fn what(part: &Type, float: Option<DType>) -> String {
    let kind = match part.class() {
        class::INTEGER => "integers",
        class::FLOAT => "floating-point numbers of an unusual layout",
        class::STRING => "strings",
        class::BITFIELD => "bit fields",
        class::OPAQUE => "opaque bytes",
        class::COMPOUND => "compounds",
        class::REFERENCE => "references",
        class::ENUM => "enumerations",
        class::VLEN => "variable-length sequences",
        _ => "elements of an unknown class",
    };
    match float {
        Some(dtype) => dtype.name().to_string(),
        None => format!("{kind} of {} bytes", part.size()),
    }
}

/// The chunk's dimensions, slowest first.
///
/// # Safety
/// `dcpl` is a dataset creation property list of the library of `hdf5`.
pub unsafe fn chunk(hdf5: &Functions, dcpl: Hid) -> Result<Vec<u64>> {
    let mut dims = [0; abi::MAX_RANK];
    // SAFETY: the contract, and room for as many dimensions as there can be.
    let rank = unsafe { (hdf5.H5Pget_chunk)(dcpl, abi::MAX_RANK as c_int, dims.as_mut_ptr()) };
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
