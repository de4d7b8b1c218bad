//! What netCDF tells of a variable.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::api::hdf5_filter::FILTER_ID;
use crate::api::hdf5_filter::abi::table;
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

/// Those of the netCDF whose code is at `caller`, which stays loaded as long as the object.
fn of_caller(caller: *const c_void) -> Option<(Functions, Object)> {
    let object = Object::of_caller(caller, c"nc_inq_vartype")?;
    // SAFETY: netCDF's functions of these names have these types.
    Some((unsafe { Functions::load(&|name| object.find(name)) }?, object))
}

/// The version, major and minor, of the netCDF with the code at `caller`, or of the only one there is if that is null.
pub fn version(caller: *const c_void) -> Option<(u32, u32)> {
    let (netcdf, _object) = of_caller(caller)?;
    // SAFETY: it gives a constant text.
    numbers(unsafe { CStr::from_ptr((netcdf.nc_inq_libvers)()) }.to_str().ok()?)
}

/// The first two numbers of `4.10.1 of Mar 12 2026`.
fn numbers(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

impl Variable {
    /// `None` if the netCDF that calls hides its functions.
    ///
    /// # Safety
    /// `varid` is a variable of `ncid`, of the netCDF with the code at `caller`.
    pub unsafe fn of_caller(caller: *const c_void, ncid: c_int, varid: c_int) -> Result<Option<Variable>> {
        let Some((netcdf, _object)) = of_caller(caller) else { return Ok(None) };
        // SAFETY: the contract.
        unsafe {
            let stored = stored(&netcdf, ncid, varid)?;
            let (place, chunk) = (place(&netcdf, ncid, varid)?, chunk(&netcdf, ncid, varid)?);
            let fills = fills(&netcdf, ncid, varid, &stored)?;
            Ok(Some(Variable { stored, place, chunk, fills }))
        }
    }
}

/// An error of netCDF's, if it is one.
fn check(status: c_int, name: &str) -> Result<()> {
    if status == 0 { Ok(()) } else { fail!(InvalidArgument, "netCDF's {name} failed with status {status}") }
}

/// # Safety
/// As of `Variable::of_caller`, for this and those that follow.
unsafe fn stored(netcdf: &Functions, ncid: c_int, varid: c_int) -> Result<Stored> {
    let (mut kind, mut order) = (0, 0);
    // SAFETY: the contract, and places for the answers.
    unsafe {
        check((netcdf.nc_inq_vartype)(ncid, varid, &mut kind), "nc_inq_vartype")?;
        check((netcdf.nc_inq_var_endian)(ncid, varid, &mut order), "nc_inq_var_endian")?;
    }
    // Strings have a length that is not asked for.
    let known = usize::try_from(kind - 1).ok().and_then(|k| TYPES.get(k)).copied();
    let dtype = known.unwrap_or(DType::U8);
    Ok(Stored {
        dtype,
        big_endian: order == BIG || order == 0 && cfg!(target_endian = "big"),
        scalar: known.is_some() && kind != CHAR,
        numbers: known.is_some() && kind != CHAR,
        integers: known.is_some_and(|dtype| !dtype.is_float()) && kind != CHAR,
        bytes: known.map_or(0, |dtype| dtype.size() as u32),
        what: known.map_or_else(|| format!("netCDF's type {kind}"), |dtype| dtype.name().to_string()),
    })
}

/// # Safety
/// See `stored`.
unsafe fn place(netcdf: &Functions, ncid: c_int, varid: c_int) -> Result<Place> {
    let mut count = 0;
    check(
        // SAFETY: the contract, and a place for the answer; null asks for the number.
        unsafe { (netcdf.nc_inq_var_filter_ids)(ncid, varid, &mut count, std::ptr::null_mut()) },
        "nc_inq_var_filter_ids",
    )?;
    let mut ids = filled(count, 0)?;
    if count > 0 {
        check(
            // SAFETY: the contract, and as many places.
            unsafe { (netcdf.nc_inq_var_filter_ids)(ncid, varid, &mut count, ids.as_mut_ptr()) },
            "nc_inq_var_filter_ids",
        )?;
    }
    let ours = |id: &c_uint| *id == FILTER_ID as c_uint;
    // Newer netCDF asks before the filter is in the list: then it comes last.
    let at = ids.iter().position(ours).unwrap_or(ids.len());
    for id in ids.iter().skip(at + 1) {
        neighbours::check_behind(*id as c_int, &[])?;
    }
    let resized = ids[..at].iter().any(|id| *id as c_int != neighbours::SHUFFLE);
    Ok(Place { preceded: at > 0, resized })
}

/// # Safety
/// See `stored`.
unsafe fn chunk(netcdf: &Functions, ncid: c_int, varid: c_int) -> Result<Vec<u64>> {
    let (mut rank, mut storage) = (0, 0);
    // SAFETY: the contract, and a place for the answer.
    check(unsafe { (netcdf.nc_inq_varndims)(ncid, varid, &mut rank) }, "nc_inq_varndims")?;
    let mut lengths = filled(usize::try_from(rank).unwrap_or(0), 0usize)?;
    check(
        // SAFETY: the contract, and a place for each dimension.
        unsafe { (netcdf.nc_inq_var_chunking)(ncid, varid, &mut storage, lengths.as_mut_ptr()) },
        "nc_inq_var_chunking",
    )?;
    Ok(lengths.into_iter().map(|len| len as u64).collect())
}

/// The bits of the fill value of a variable of floats, which is netCDF's own if it was given none. 0 marks nothing.
///
/// # Safety
/// See `stored`.
unsafe fn fills(netcdf: &Functions, ncid: c_int, varid: c_int, stored: &Stored) -> Result<Vec<u64>> {
    if !stored.dtype.is_float() {
        return Ok(Vec::new());
    }
    let (mut none, mut value) = (0, [0u8; 8]);
    // SAFETY: the contract, and room for the longest number.
    check(unsafe { (netcdf.nc_inq_var_fill)(ncid, varid, &mut none, value.as_mut_ptr().cast()) }, "nc_inq_var_fill")?;
    let bits = element_bits(&value[..stored.dtype.size()], cfg!(target_endian = "big"));
    Ok(if none != 0 || stored.dtype.number(bits) == 0.0 { Vec::new() } else { vec![bits] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_netcdf() {
        assert_eq!(numbers("4.10.1 of Mar 12 2026 10:00:00 $"), Some((4, 10)));
        assert_eq!(numbers("4.9.0"), Some((4, 9)));
        assert_eq!((numbers(""), numbers("four"), numbers("4")), (None, None, None));
        assert_eq!(version(versions_of_netcdf as *const c_void), None);
    }
}
