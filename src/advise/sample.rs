//! Pieces from all over an array.

use crate::container::{Dims, MAX_RANK};
use crate::error::Result;
use crate::host::memory::reserve;

/// Bytes of all pieces, and of one, about.
const ALL_BYTES: usize = 8 << 20;
const PIECE_BYTES: usize = 512 << 10;

/// A part of an array that is whole along all dimensions but one.
pub struct SamplePiece<'a> {
    /// Its dimensions.
    pub dims: Dims,
    /// Its elements.
    pub bytes: &'a [u8],
}

/// Pieces of an array of these dimensions, cut along the slowest one that is longer than 1; all of a small array.
pub fn pieces<'a>(dims: &Dims, size: usize, src: &'a [u8]) -> Result<Vec<SamplePiece<'a>>> {
    let lens = dims.lens();
    let axis = lens.iter().position(|len| *len > 1).unwrap_or(0);
    let inner: usize = lens.iter().skip(axis + 1).map(|len| *len as usize).product();
    let slab = (inner * size).max(1);
    let piece = (PIECE_BYTES / slab).max(1) * slab;
    let step = if src.len() <= ALL_BYTES { 1 } else { src.len() / ALL_BYTES };
    let mut all = Vec::new();
    reserve(&mut all, src.len() / piece / step + 1)?;
    for bytes in src.chunks(piece).skip(step / 2).step_by(step) {
        let mut own = [1; MAX_RANK];
        own[..lens.len()].copy_from_slice(lens);
        if let Some(len) = own.get_mut(axis) {
            *len = (bytes.len() / slab) as u64;
        }
        all.push(SamplePiece { dims: Dims::new(&own[..lens.len()])?, bytes });
    }
    Ok(all)
}
