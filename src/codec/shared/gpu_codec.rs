//! What a codec's side for GPUs is.

use crate::container::{Header, Layout, MAX_RANK, Region};
use crate::dtype::DType;
use crate::error::Result;
use crate::params::Params;
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::Session;

/// A codec's side for GPUs. It enqueues work and never waits: what kernels share goes into the slots that the arrays
/// come with, or into memory of [`Session::allocate`], which is freed in stream order when the buffer is dropped.
pub trait GpuCodec: Sync {
    /// Loads what asynchronous calls with `params` need on the session's GPU, so that they find it, in a stream capture
    /// too.
    fn prepare(&self, session: &Session, params: &Params) -> Result<()>;

    /// Why there are no kernels for what `params` ask for and an array of `layout`, if there are none: the CPU then
    /// compresses it.
    fn refuses(&self, params: &Params, layout: &Layout) -> Option<String>;

    /// Why there are no kernels to restore `part` of a stream with this header, of which nothing was verified, if there
    /// are none: the CPU then does it.
    fn refuses_to_restore(&self, header: &Header, part: &Part) -> Option<String>;

    /// Enqueues the compression of `arrays`, of which the largest has `layout` and none is refused.
    ///
    /// # Safety
    /// Each item has `count` elements at `src` and `bytes`, at least as many as header and index take, at `dst`, which
    /// is aligned to 16.
    unsafe fn compress(&self, arrays: &Arrays, params: &Params, layout: &Layout) -> Result<()>;

    /// Enqueues the restoration of `part` of the streams of elements of `dtype`. The host may not have seen their
    /// headers: kernels check every one.
    ///
    /// # Safety
    /// Each item has `bytes` at `src`, which is aligned to 16, and room for `count` elements at `dst`.
    unsafe fn decompress(&self, streams: &Arrays, dtype: DType, part: &Part) -> Result<()>;
}

/// Numbers of the first dimensions; those of the others are 0.
pub fn padded(numbers: &[u64]) -> [u64; MAX_RANK] {
    std::array::from_fn(|k| numbers.get(k).copied().unwrap_or(0))
}

/// What of an array is to be restored.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// As many elements as the item counts, from this one on; in a batch from 0, and all of each array.
    From(u64),
    /// A box of the one array that there is.
    Box(&'a Region),
}

impl Part<'_> {
    /// The first element of a run, and where a box begins and how long it is, as kernels take it; 0 of what it is not.
    pub fn numbers(&self) -> (u64, [u64; MAX_RANK], [u64; MAX_RANK]) {
        match self {
            Part::From(first) => (*first, [0; MAX_RANK], [0; MAX_RANK]),
            Part::Box(region) => (0, padded(region.start()), padded(region.lens())),
        }
    }

    /// Whether it is a box.
    pub fn is_box(&self) -> bool {
        matches!(self, Part::Box(_))
    }
}
