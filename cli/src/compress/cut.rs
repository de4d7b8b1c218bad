//! How the input of `sleek compress` is cut into frames.

use sleek::Dims;

use super::request::Args;
use crate::npy::Array;
use crate::progress::bytes;

/// How the input is cut into frames.
pub struct Cut {
    pub frame_bytes: usize,
    /// The dimensions that are given, and the axis along which frames follow each other: the first that is longer than
    /// 1.
    dims: Option<(Dims, usize)>,
}

impl Cut {
    pub fn new(args: &Args, array: &Array) -> Result<Cut, String> {
        let (n, size) = (args.frame_bytes, array.dtype.size());
        if n == 0 || n % size != 0 {
            return Err(format!("--frame-bytes {n}: a multiple of the {size} bytes of an element is needed"));
        }
        let Some(dims) = array.dims.filter(|dims| dims.count() > 0) else {
            return Ok(Cut { frame_bytes: n, dims: array.dims.map(|dims| (dims, 0)) });
        };
        let axis = dims.lens().iter().position(|len| *len > 1).unwrap_or(0);
        let slab = dims.lens()[axis + 1..].iter().product::<u64>().saturating_mul(size as u64);
        // Two at least, for then the first frame shows which axis it is.
        let slabs = (n as u64 / slab).max(2).min(dims.lens()[axis]);
        let frame_bytes = usize::try_from(slab.saturating_mul(slabs)).unwrap_or(usize::MAX);
        // No page of this is touched.
        if Vec::<u8>::new().try_reserve_exact(frame_bytes).is_err() {
            let bytes = bytes(frame_bytes as u64);
            return Err(format!("dimensions {dims}: there is no memory for the {bytes} that are needed at once"));
        }
        Ok(Cut { frame_bytes, dims: Some((dims, axis)) })
    }

    /// Bytes that can be taken alone: a slab of the array, or an element where its dimensions are not known.
    pub fn slab_bytes(&self, size: usize) -> usize {
        let Some((dims, axis)) = &self.dims else { return size };
        let slab = dims.lens().iter().skip(axis + 1).product::<u64>();
        usize::try_from(slab).unwrap_or(usize::MAX).saturating_mul(size).max(size)
    }

    /// The dimensions of a frame of `count` elements: all of the array's, but along the axis only as many as it has.
    /// None where it has a part of one, which the size of the whole input will tell better.
    pub fn dims(&self, count: u64) -> Result<Dims, String> {
        let Some((dims, axis)) = &self.dims else { return Ok(Dims::NONE) };
        let mut lens = dims.lens().to_vec();
        let slab: u64 = lens[axis + 1..].iter().product();
        if dims.count() > 0 {
            lens[*axis] = count / slab;
        }
        let dims = Dims::new(&lens).map_err(|e| e.message)?;
        Ok(if dims.count() == count { dims } else { Dims::NONE })
    }
}
