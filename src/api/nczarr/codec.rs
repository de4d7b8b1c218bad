//! The call-backs of the table.

use std::ffi::{CStr, c_char, c_int, c_uint};

use super::json;
use super::variable::Variable;
use crate::api::hdf5_filter::buffer::Buffer;
use crate::api::hdf5_filter::caller::Caller;
use crate::api::hdf5_filter::cd_values::CdValues;
use crate::api::hdf5_filter::report::logged;
use crate::api::hdf5_filter::set_local::completed;
use crate::api::hdf5_filter::{cd_values_of, report};
use crate::error::{Error, Kind, Result, fail};
use crate::exec;

/// `NC_NOERR`, `NC_EFILTER` and `NC_ENOMEM`.
const DONE: c_int = 0;
const FAILED: c_int = -132;
const NO_MEMORY: c_int = -61;

/// netCDF's status of what `work` did. netCDF shows a status and no words: these are in the log.
fn status(work: impl FnOnce() -> Result<()>) -> c_int {
    logged(FAILED, || match work() {
        Err(Error { kind: Kind::OutOfMemory, .. }) => Ok(NO_MEMORY),
        done => done.map(|()| DONE),
    })
}

/// The words of the codec that stands in an array's metadata.
///
/// # Safety
/// As netCDF calls it: a C string, and places for what is given.
pub unsafe extern "C" fn to_words(codec: *const c_char, len: *mut usize, words: *mut *mut c_uint) -> c_int {
    status(|| {
        if codec.is_null() || len.is_null() || words.is_null() {
            return fail!(NullPointer, "codec, number of parameters or parameters");
        }
        // SAFETY: a C string; the contract.
        let text = unsafe { CStr::from_ptr(codec) }.to_string_lossy();
        // SAFETY: the places that netCDF gave.
        unsafe { give(&cd_values_of(&json::read(&text)?), len, words) }
    })
}

/// The codec for an array's metadata of words that a user or a file has.
///
/// # Safety
/// As netCDF calls it: `len` words, and a place for what is given.
pub unsafe extern "C" fn to_json(len: usize, words: *const c_uint, codec: *mut *mut c_char) -> c_int {
    status(|| {
        if codec.is_null() {
            return fail!(NullPointer, "the place for a codec");
        }
        // SAFETY: `len` words; the contract.
        let text = json::write(&CdValues::decode(unsafe { taken(words, len) })?.request) + "\0";
        // SAFETY: the place that netCDF gave, which frees what is there.
        unsafe { *codec = Buffer::of(text.as_bytes(), 0)?.0.release().cast() };
        Ok(())
    })
}

/// The words that the filter is run with, of those that a user or a file has.
///
/// # Safety
/// As netCDF calls it: a variable of its own, its words, and places for others.
pub unsafe extern "C" fn complete(
    ncid: c_int,
    varid: c_int,
    given_len: *mut usize,
    given: *mut *mut c_uint,
    len: *mut usize,
    words: *mut *mut c_uint,
) -> c_int {
    let place = 0;
    status(|| {
        exec::check_environment()?;
        if given_len.is_null() || given.is_null() || len.is_null() || words.is_null() {
            return fail!(NullPointer, "a place for parameters");
        }
        // SAFETY: the contract.
        let request = unsafe { taken(*given, *given_len) };
        // SAFETY: a variable of the library that has called.
        let made = match unsafe { Variable::of_caller(Caller::of(&place), ncid, varid) }? {
            Some(v) => completed(request, &v.stored, v.place, v.chunk, v.fills)?,
            // Chunks are then lossless.
            None => {
                report::log(format_args!(
                    "the calling netCDF hides its functions, and with them the element type: chunks are stored \
                    losslessly"
                ));
                request.to_vec()
            }
        };
        // SAFETY: the places that netCDF gave.
        unsafe { give(&made, len, words) }
    })
}

/// The words at `words`, which may be null if there are none.
///
/// # Safety
/// `len` words, which outlive what is returned.
unsafe fn taken<'a>(words: *const c_uint, len: usize) -> &'a [u32] {
    // SAFETY: the contract.
    if len == 0 || words.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(words, len) } }
}

/// Puts a copy of `words` into places of netCDF, which frees it.
///
/// # Safety
/// Both places may be written.
unsafe fn give(made: &[u32], len: *mut usize, words: *mut *mut c_uint) -> Result<()> {
    let bytes: Vec<u8> = made.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let (copy, _) = Buffer::of(&bytes, 0)?;
    // SAFETY: the contract.
    unsafe {
        *len = made.len();
        *words = copy.release().cast();
    }
    Ok(())
}
