//! What the codec is to do to one chunk.

use std::ops::RangeInclusive;

use super::cd_values::{CdValues, lossless};
use crate::container::{Dims, MAX_RANK};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::params::{Params, Profile};
use crate::route::cpu::Held;
use crate::route::{self, Codec};

/// A chunk's length in words.
pub fn told(right: &RangeInclusive<u64>) -> String {
    if right.start() == right.end() { format!("{}", right.end()) } else { format!("{} or more", right.start()) }
}

/// Refuses a stream that holds something else than a chunk, as far as the words tell: HDF5 itself takes what comes for
/// elements of the dataset. A stream of u8 is plain bytes, which may be elements of any type, and any stream may be
/// those of a dataset without numbers.
pub fn expect(values: &CdValues, held: &Held) -> Result<()> {
    let right = values.chunk_bytes();
    if !right.contains(&(held.bytes as u64)) {
        return fail!(Corrupt, "the stream holds {} bytes; a chunk of the dataset has {}", held.bytes, told(&right));
    }
    let Some(element) = &values.element else { return Ok(()) };
    let is_plain = element.dtype == DType::U8 && element.bytes != 1;
    let is_right = held.dtype == element.dtype && (held.big_endian == element.big_endian || held.dtype.size() == 1);
    if held.dtype == DType::U8 || is_plain || is_right {
        return Ok(());
    }
    let (stored, right) = (held.dtype.in_order(held.big_endian), element.dtype.in_order(element.big_endian));
    fail!(Corrupt, "the stream holds {stored}; elements of the dataset are {right}")
}

/// What is to be done to chunks of `bytes`, and the codec that does it. Where nobody can tell the element type, or the
/// bytes are no whole elements, that is to keep every bit: then every bound is kept too.
pub fn params(values: &CdValues, bytes: usize) -> Result<(Params, &'static dyn Codec)> {
    let right = values.chunk_bytes();
    if !right.contains(&(bytes as u64)) {
        return fail!(InvalidArgument, "a chunk of {bytes} bytes; cd_values are those of chunks of {}", told(&right));
    }
    let params = match values.params()? {
        Some(params) if bytes.is_multiple_of(params.dtype.size()) => params,
        _ => lossless(Params { dtype: DType::U8, ..values.request.clone() }),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Bound;

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
