//! Chunks that the filter declines, which HDF5 then stores plain, and bounds that it refuses.

use std::ffi::{c_uint, c_void};

use super::abi::{FLAG_OPTIONAL, Functions};
use super::cd_values::CdValues;
use super::resolve::Hdf5;
use crate::error::{Result, fail};
use crate::exec::ExecOptions;
use crate::host::memory::Heap;
use crate::params::{Bound, Params};
use crate::route::cpu;

/// Refuses a bound that must be and cannot: the HDF5 that calls hides its functions, so that `set_local` learned no
/// element type. (Where it hides none, HDF5 did not call that, since elements of variable length have no bound.)
pub fn refuse_unmet(flags: c_uint, words: &[u32], caller: *const c_void) -> Result<()> {
    let values = CdValues::decode(words)?;
    let is_optional = flags & FLAG_OPTIONAL != 0;
    if is_optional || values.element.is_some() || values.request.bound == Bound::Lossless {
        return Ok(());
    }
    match Hdf5::of_caller(caller)? {
        Some(_) => Ok(()),
        None => fail!(
            InvalidArgument,
            "mode {} is mandatory, and the calling HDF5 hides its functions, and with them the element type: give the \
            long form of cd_values (sleek h5args --type …), or make the filter optional, which is lossless",
            values.request.bound.mode().name()
        ),
    }
}

/// The flags without that of an optional filter where nobody can rely on it: an HDF5 that opens files of MPI ranks may
/// forget there which chunks it stored plain (1.10 does), and one that hides its functions may be such.
pub fn heeded(flags: c_uint, hdf5: Option<&Functions>) -> c_uint {
    match hdf5 {
        Some(hdf5) if hdf5.H5Pset_fapl_mpio.is_none() => flags,
        _ => flags & !FLAG_OPTIONAL,
    }
}

/// The stream that a chunk is stored as, in what `allocate` gives for so many bytes, and its length; `None` where HDF5
/// may store the chunk itself, and the stream is no shorter.
#[inline(never)]
pub fn stream<B: AsMut<[u8]>>(
    flags: c_uint,
    params: &Params,
    src: &[u8],
    options: ExecOptions,
    allocate: impl Fn(usize) -> Result<B>,
) -> Result<Option<(B, usize)>> {
    let made = cpu::compress_to(params, src, options, &allocate)?;
    if made.1 <= longest(flags, params, src.len())? {
        return Ok(Some(made));
    }
    let is_mandatory = flags & FLAG_OPTIONAL == 0;
    is_mandatory.then(|| cpu::compress_to(&*plain(params)?, src, options, allocate)).transpose()
}

/// The longest stream that a chunk of `bytes` is stored as: where HDF5 may store the chunk itself one that is shorter,
/// else that of plain elements, of which few take less than what codecs say of them.
pub fn longest(flags: c_uint, params: &Params, bytes: usize) -> Result<usize> {
    match flags & FLAG_OPTIONAL {
        0 => cpu::compress_bound(&*plain(params)?, bytes / params.dtype.size()),
        _ => Ok(bytes.saturating_sub(1)),
    }
}

/// The request for plain elements.
fn plain(params: &Params) -> Result<Heap<Params>> {
    let Params { dtype, big_endian, threads, .. } = *params;
    Heap::new(Params { big_endian, threads, find_fill: Some(false), ..Params::new(dtype) })
}
