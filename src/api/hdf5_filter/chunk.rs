//! One chunk: what the codec is to do to it, what is refused, and what HDF5 may store plain.

use std::ffi::c_uint;
use std::ops::RangeInclusive;

use super::abi::{Functions, H5Z_FLAG_OPTIONAL};
use super::caller::Caller;
use super::cd_values::{CdValues, lossless};
use super::resolve::Hdf5;
use crate::container::{Dims, Header, Layout, MAX_RANK};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::exec::ExecOptions;
use crate::host::memory::Heap;
use crate::params::{Bound, Params, Profile};
use crate::route::cpu::Request;
use crate::route::{self, Codec, recompression};

/// A chunk's least length, and whether there are more.
fn told(right: &RangeInclusive<u64>) -> (u64, &'static str) {
    (*right.start(), if right.start() == right.end() { "" } else { " or more" })
}

/// Refuses a stream that holds something else than a chunk, as far as the words tell: HDF5 itself takes what comes for
/// elements of the dataset. A stream of u8 is plain bytes, which may be elements of any type, and any stream may be
/// those of a dataset without numbers.
pub fn expect(values: &CdValues, header: &Header) -> Result<()> {
    let (right, Layout { raw_bytes, dtype, .. }) = (values.chunk_bytes(), header.layout);
    if !right.contains(&raw_bytes) {
        let (least, more) = told(&right);
        return fail!(Corrupt, "the stream holds {raw_bytes} bytes; a chunk of the dataset has {least}{more}");
    }
    let Some(element) = &values.element else { return Ok(()) };
    let is_plain = element.dtype == DType::U8 && element.bytes != 1;
    let is_right = dtype == element.dtype && (header.big_endian == element.big_endian || dtype.size() == 1);
    if dtype == DType::U8 || is_plain || is_right {
        return Ok(());
    }
    let (stored, right) = (dtype.in_order(header.big_endian), element.dtype.in_order(element.big_endian));
    fail!(Corrupt, "the stream holds {stored}; elements of the dataset are {right}")
}

/// What is to be done to chunks of `bytes`, and the codec that does it. Where nobody can tell the element type, or the
/// bytes are no whole elements, that is to keep every bit: then every bound is kept too.
pub fn params(values: &CdValues, bytes: usize) -> Result<(Params, &'static dyn Codec)> {
    let right = values.chunk_bytes();
    if !right.contains(&(bytes as u64)) {
        let (least, more) = told(&right);
        return fail!(InvalidArgument, "a chunk of {bytes} bytes; cd_values are those of chunks of {least}{more}");
    }
    let params = match values.params()? {
        Some(params) if bytes.is_multiple_of(params.dtype.size()) => params,
        _ => {
            values.check()?;
            lossless(Params { dtype: DType::U8, ..values.request.clone() })
        }
    };
    let size = bytes_of(values);
    let params = match params.profile {
        Profile::Adaptive if params.codec == 0 && size > 1 => in_parts(params, size, bytes),
        _ => params,
    };
    let codec = route::chosen(&params)?;
    let dims = match codec.capabilities().rank {
        1 => Dims::NONE,
        _ => dims(values, bytes, bytes / params.dtype.size()),
    };
    Ok((Params { dims, ..params }, codec))
}

/// Bytes of what HDF5 stores for a text or a sequence of any length: its length, and where it lies.
const VARIABLE_BYTES: usize = 16;
/// Of fewer elements each part would cost more by itself than among the others.
const FEWEST_ALONE: usize = 256;

/// Bytes of an element that is no number, as far as they are known, else 0. Most are texts, parts of several types, or
/// addresses and lengths of what lies elsewhere: bytes that repeat, of which the other profile saves none.
fn bytes_of(values: &CdValues) -> usize {
    match &values.element {
        None => VARIABLE_BYTES,
        Some(element) if element.dtype == DType::U8 => element.bytes as usize,
        Some(_) => 0,
    }
}

/// The request for elements of `size` bytes as words of a width that most parts of them have, each part for itself.
fn in_parts(params: Params, size: usize, bytes: usize) -> Params {
    let dtype = match size {
        _ if !bytes.is_multiple_of(size) => DType::U8,
        8.. if size.is_multiple_of(4) => DType::U32,
        _ if size > 2 && size.is_multiple_of(2) => DType::U16,
        _ => DType::U8,
    };
    Params { profile: Profile::Small, dtype, parts: bytes / size >= FEWEST_ALONE, ..params }
}

/// The shape of a chunk of `count` words; of arrays and complex numbers the parts are the fastest dimension, and of
/// what nobody told those of an element.
fn dims(values: &CdValues, bytes: usize, count: usize) -> Dims {
    let untold = [(bytes / VARIABLE_BYTES) as u64];
    let chunk = values.element.as_ref().map_or(&untold[..], |element| &element.chunk);
    let of_chunk = chunk.iter().fold(1u64, |n, d| n.saturating_mul(*d)).max(1);
    let has_parts = count as u64 != of_chunk;
    let rank = chunk.len() + usize::from(has_parts);
    // No room of the heap: it may have none.
    let mut lens = [count as u64 / of_chunk; MAX_RANK];
    if rank > MAX_RANK {
        return Dims::NONE;
    }
    lens[..chunk.len()].copy_from_slice(chunk);
    Dims::new(&lens[..rank]).ok().filter(|dims| dims.count() == count as u64).unwrap_or(Dims::NONE)
}

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
            long form of cd_values (docs/reference/api.md), or make the filter optional, which is lossless",
            values.request.bound.mode().name()
        ),
    }
}

/// Whether HDF5 may store a chunk itself that the filter declines. Not where an HDF5 opens files of MPI ranks: there it
/// may forget which chunks it stored plain (1.10 does). One that hides its functions may be such.
pub fn may_decline(flags: c_uint, hdf5: Option<&Functions>) -> bool {
    flags & H5Z_FLAG_OPTIONAL != 0 && hdf5.is_some_and(|hdf5| hdf5.H5Pset_fapl_mpio.is_none())
}

/// The stream that a chunk is stored as, in what `allocate` gives for so many bytes, and its length; `None` where HDF5
/// may store the chunk itself, and the stream is no shorter.
#[inline(never)]
pub fn stream<B: AsMut<[u8]>>(
    request: Request,
    src: &[u8],
    options: ExecOptions,
    may_decline: impl FnOnce() -> Result<bool>,
    allocate: impl Fn(usize) -> Result<B>,
) -> Result<Option<(B, usize)>> {
    let measured = recompression::measured(request, src)?;
    let request = measured.as_ref().map_or(request, |params| request.with(params));
    let made = request.compress_to(src, options, &allocate)?;
    if made.1 < src.len() {
        return Ok(Some(made));
    }
    if may_decline()? {
        return Ok(None);
    }
    let plain = &*plain(request.params)?;
    let plain = Request::new(plain)?;
    match made.1 <= plain.most_bytes(src.len() / plain.params.dtype.size())? {
        true => Ok(Some(made)),
        false => plain.compress_to(src, options, allocate).map(Some),
    }
}

/// The longest stream that a chunk of `bytes` is stored as. Where HDF5 may store the chunk itself, it is a shorter one;
/// else it is that of plain elements, of which few take less than what codecs say of them.
pub fn longest(may_decline: bool, params: &Params, bytes: usize) -> Result<usize> {
    match may_decline {
        true => Ok(bytes.saturating_sub(1)),
        false => Request::new(&*plain(params)?)?.most_bytes(bytes / params.dtype.size()),
    }
}

/// The request for plain elements.
fn plain(params: &Params) -> Result<Heap<Params>> {
    let Params { dtype, big_endian, threads, .. } = *params;
    Heap::new(Params { big_endian, threads, find_fill: Some(false), ..Params::new(dtype) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the dataset cannot tell is kept bit for bit; dimensions go to codecs that use them, of any kind of element.
    #[test]
    fn chunks_of_unknown_elements_are_lossless() {
        let request = Params::new(DType::F32).with_bound(Bound::noa(1e-3));
        let values = CdValues { request, element: None };
        let (found, _) = params(&values, 100).unwrap();
        assert_eq!((found.bound, found.dtype, found.profile), (Bound::Lossless, DType::U8, Profile::Small));
        let shape = |chunk: &[u64], count: usize| {
            let element = super::super::cd_values::StoredElement::of(DType::F32, false, 0, chunk);
            dims(&CdValues { element: Some(element), ..values.clone() }, 4 * count, count).lens().to_vec()
        };
        assert_eq!((shape(&[4, 5], 20), shape(&[4, 5], 60)), (vec![4, 5], vec![4, 5, 3]));
        assert_eq!((shape(&[4, 5], 21), shape(&[], 7)), (vec![], vec![7]));
        assert_eq!((dims(&values, 48, 48).lens(), dims(&values, 47, 47)), (&[3, 16][..], Dims::NONE));
    }
}
