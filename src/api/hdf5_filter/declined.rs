//! Chunks that the filter declines, which HDF5 then stores plain, and bounds that it refuses.

use std::ffi::c_uint;

use super::abi::{Functions, H5Z_FLAG_OPTIONAL};
use super::caller::Caller;
use super::cd_values::CdValues;
use super::resolve::Hdf5;
use crate::error::{Result, fail};
use crate::exec::ExecOptions;
use crate::host::memory::Heap;
use crate::params::{Bound, Params};
use crate::route::{self, Codec, cpu};

/// Refuses a bound that must be and cannot: the HDF5 that calls hides its functions, so that `set_local` learned no
/// element type. (Where it hides none, HDF5 did not call that, since elements of variable length have no bound.)
pub fn refuse_unmet(flags: c_uint, values: &CdValues, caller: Caller) -> Result<()> {
    let is_optional = flags & H5Z_FLAG_OPTIONAL != 0;
    if is_optional || values.element.is_some() || values.request.bound == Bound::Lossless {
        return Ok(());
    }
    match Hdf5::at(caller.address())? {
        Some(_) => Ok(()),
        None => fail!(
            InvalidArgument,
            "mode {} is mandatory, and the calling HDF5 hides its functions, and with them the element type: give the \
            long form of cd_values (sleek h5args --type …), or make the filter optional, which is lossless",
            values.request.bound.mode().name()
        ),
    }
}

/// Whether HDF5 may store a chunk itself that the filter declines. Nobody can rely on it where an HDF5 opens files of
/// MPI ranks, since it may forget there which chunks it stored plain (1.10 does), and one that hides its functions may
/// be such.
pub fn may_decline(flags: c_uint, hdf5: Option<&Functions>) -> bool {
    flags & H5Z_FLAG_OPTIONAL != 0 && hdf5.is_some_and(|hdf5| hdf5.H5Pset_fapl_mpio.is_none())
}

/// The stream that a chunk is stored as, in what `allocate` gives for so many bytes, and its length; `None` where HDF5
/// may store the chunk itself, and the stream is no shorter. The codec was chosen for `params`.
#[inline(never)]
pub fn stream<B: AsMut<[u8]>>(
    codec: &dyn Codec,
    params: &Params,
    src: &[u8],
    options: ExecOptions,
    may_decline: impl FnOnce() -> Result<bool>,
    allocate: impl Fn(usize) -> Result<B>,
) -> Result<Option<(B, usize)>> {
    let made = cpu::compress_to(codec, params, src, options, &allocate)?;
    if made.1 < src.len() {
        return Ok(Some(made));
    }
    if may_decline()? {
        return Ok(None);
    }
    let plain = &*plain(params)?;
    match made.1 <= cpu::compress_bound(plain, src.len() / params.dtype.size())? {
        true => Ok(Some(made)),
        false => cpu::compress_to(route::chosen(plain)?, plain, src, options, allocate).map(Some),
    }
}

/// The longest stream that a chunk of `bytes` is stored as: where HDF5 may store the chunk itself one that is shorter,
/// else that of plain elements, of which few take less than what codecs say of them.
pub fn longest(may_decline: bool, params: &Params, bytes: usize) -> Result<usize> {
    match may_decline {
        true => Ok(bytes.saturating_sub(1)),
        false => cpu::compress_bound(&*plain(params)?, bytes / params.dtype.size()),
    }
}

/// The request for plain elements.
fn plain(params: &Params) -> Result<Heap<Params>> {
    let Params { dtype, big_endian, threads, .. } = *params;
    Heap::new(Params { big_endian, threads, find_fill: Some(false), ..Params::new(dtype) })
}
