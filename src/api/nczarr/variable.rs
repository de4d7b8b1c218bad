//! What netCDF tells of a variable.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::api::hdf5_filter::FILTER_ID;
use crate::api::hdf5_filter::abi::table;
use crate::api::hdf5_filter::caller::Caller;
use crate::api::hdf5_filter::datatype::Stored;
use crate::api::hdf5_filter::loaded::Object;
use crate::api::hdf5_filter::neighbours;
use crate::api::hdf5_filter::set_local::Place;
use crate::dtype::DType;
use crate::dtype::element_bits;
use crate::error::{Result, fail};
use crate::host::memory::filled;

/// A variable as the filter must know it.
pub struct Variable {
    pub stored: Stored,
    pub place: Place,
    pub chunk: Vec<u64>,
    pub fills: Vec<u64>,
}

/// netCDF's numbers of its types, from NC_BYTE (1) on.
const TYPES: [DType; 11] = [
    DType::I8,
    DType::U8, // NC_CHAR
    DType::I16,
    DType::I32,
    DType::F32,
    DType::F64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::I64,
    DType::U64,
];
const CHAR: c_int = 2;
/// `NC_ENDIAN_BIG`.
const BIG: c_int = 2;

table! {
    /// What netCDF is asked (netcdf.h, netcdf_filter.h): of its id and a variable, and where the answer goes.
    Functions,
    nc_inq_vartype: fn(c_int, c_int, *mut c_int) -> c_int;
    nc_inq_varndims: fn(c_int, c_int, *mut c_int) -> c_int;
    nc_inq_var_endian: fn(c_int, c_int, *mut c_int) -> c_int;
    /// The storage, and the lengths.
    nc_inq_var_chunking: fn(c_int, c_int, *mut c_int, *mut usize) -> c_int;
    /// Whether there is none, and the value.
    nc_inq_var_fill: fn(c_int, c_int, *mut c_int, *mut c_void) -> c_int;
    /// How many, and the ids.
    nc_inq_var_filter_ids: fn(c_int, c_int, *mut usize, *mut c_uint) -> c_int;
    nc_inq_libvers: fn() -> *const c_char;
}

/// Those of the netCDF that has called, which stays loaded as long as the object.
fn of_caller(caller: Caller) -> Option<(Functions, Object)> {
    let object = Object::at(caller.address())?;
    // SAFETY: netCDF's functions of these names have these types.
    Some((unsafe { Functions::load(&|name| object.find(name)) }?, object))
}

/// The version, major and minor, of the netCDF that has called.
pub fn version(caller: Caller) -> Option<(u32, u32)> {
    let (netcdf, _object) = of_caller(caller)?;
    // SAFETY: it gives a constant text.
    numbers(unsafe { CStr::from_ptr((netcdf.nc_inq_libvers)()) }.to_str().ok()?)
}

/// The first two numbers of `4.10.1 of Mar 12 2026`.
fn numbers(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// A variable of a netCDF, which is asked of it.
struct Inquiry {
    netcdf: Functions,
    ncid: c_int,
    varid: c_int,
}

impl Variable {
    /// `None` if the netCDF that calls hides its functions.
    ///
    /// # Safety
    /// `varid` is a variable of `ncid`, of the netCDF that has called.
    pub unsafe fn of_caller(caller: Caller, ncid: c_int, varid: c_int) -> Result<Option<Variable>> {
        let Some((netcdf, _object)) = of_caller(caller) else { return Ok(None) };
        let of = Inquiry { netcdf, ncid, varid };
        let stored = of.stored()?;
        Ok(Some(Variable { place: of.place()?, chunk: of.chunk()?, fills: of.fills(&stored)?, stored }))
    }
}

/// Asks netCDF of a variable: an error unless the answers, which go to these places, come.
macro_rules! ask {
    ($of:ident.$function:ident, $($place:expr),+) => {
        // SAFETY: the contract of `Variable::of_caller`, and room for each answer.
        match unsafe { ($of.netcdf.$function)($of.ncid, $of.varid, $($place),+) } {
            0 => (),
            status => {
                return fail!(InvalidArgument, "netCDF's {} failed with status {status}", stringify!($function));
            }
        }
    };
}

impl Inquiry {
    fn stored(&self) -> Result<Stored> {
        let (mut kind, mut order) = (0, 0);
        ask!(self.nc_inq_vartype, &mut kind);
        ask!(self.nc_inq_var_endian, &mut order);
        // Strings have a length that is not asked for.
        let known = usize::try_from(kind - 1).ok().and_then(|k| TYPES.get(k)).copied();
        let dtype = known.unwrap_or(DType::U8);
        let numbers = known.is_some() && kind != CHAR;
        Ok(Stored {
            dtype,
            big_endian: order == BIG || order == 0 && cfg!(target_endian = "big"),
            scalar: numbers,
            numbers,
            integers: numbers && !dtype.is_float(),
            bytes: known.map_or(0, |dtype| dtype.size() as u32),
            what: known.map_or_else(|| format!("netCDF's type {kind}"), |dtype| dtype.name().to_string()),
        })
    }

    fn place(&self) -> Result<Place> {
        let mut count = 0;
        ask!(self.nc_inq_var_filter_ids, &mut count, std::ptr::null_mut()); // how many
        let mut ids = filled(count, 0)?;
        if count > 0 {
            ask!(self.nc_inq_var_filter_ids, &mut count, ids.as_mut_ptr());
        }
        // Newer netCDF asks before the filter is in the list: then it comes last.
        let at = ids.iter().position(|id| *id == FILTER_ID as c_uint).unwrap_or(ids.len());
        for id in ids.iter().skip(at + 1) {
            neighbours::check_behind(*id as c_int, &[])?;
        }
        let resized = ids[..at].iter().any(|id| *id as c_int != neighbours::SHUFFLE);
        Ok(Place { preceded: at > 0, resized })
    }

    fn chunk(&self) -> Result<Vec<u64>> {
        let (mut rank, mut storage) = (0, 0);
        ask!(self.nc_inq_varndims, &mut rank);
        let mut lengths = filled(usize::try_from(rank).unwrap_or(0), 0usize)?;
        ask!(self.nc_inq_var_chunking, &mut storage, lengths.as_mut_ptr());
        Ok(lengths.into_iter().map(|len| len as u64).collect())
    }

    /// The bits of the fill value of a variable of floats, which is netCDF's own if it was given none. 0 marks nothing.
    fn fills(&self, stored: &Stored) -> Result<Vec<u64>> {
        if !stored.dtype.is_float() {
            return Ok(Vec::new());
        }
        let (mut none, mut value) = (0, [0u8; 8]); // room for the longest number
        ask!(self.nc_inq_var_fill, &mut none, value.as_mut_ptr().cast());
        let bits = element_bits(&value[..stored.dtype.size()], cfg!(target_endian = "big"));
        Ok(if none != 0 || stored.dtype.number(bits) == 0.0 { Vec::new() } else { vec![bits] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_netcdf() {
        assert_eq!(numbers("4.10.1 of Mar 12 2026 10:00:00 $"), Some((4, 10)));
        assert_eq!(numbers("4.9.0"), Some((4, 9)));
        assert_eq!((numbers(""), numbers("four"), numbers("4")), (None, None, None));
        assert_eq!(version(Caller::of(&0)), None);
    }
}
