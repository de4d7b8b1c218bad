//! What a codec's side for GPUs is.

use crate::container::{Header, Layout, MAX_RANK, Wanted};
use crate::dtype::DType;
use crate::error::Result;
use crate::params::Params;
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::Session;

/// A codec's side for GPUs. It enqueues work and never waits, unless the host has seen the header of what it restores.
/// What kernels share goes into the slots that the arrays come with, or into memory of [`Session::allocate`]. That is
/// freed in stream order when the buffer is dropped.
pub trait GpuCodec: Sync {
    /// Loads what asynchronous calls with `params` need on the session's GPU, so that they find it, in a stream capture
    /// too.
    fn prepare(&self, session: &Session, params: &Params) -> Result<()>;

    /// Why there are no kernels for what `params` ask for and an array of `layout`, if there are none: the CPU then
    /// compresses it.
    fn refuses(&self, params: &Params, layout: &Layout) -> Option<String>;

    /// Why there are no kernels to restore what is wanted of a stream with this header, of which nothing was verified,
    /// if there are none: the CPU then does it. Of a box on the grid it is picked from what those for runs restore.
    fn refuses_to_restore(&self, header: &Header, wanted: &Wanted) -> Option<String>;

    /// Enqueues the compression of `arrays`, of which the largest has `layout` and none is refused.
    ///
    /// # Safety
    /// Each item has `count` elements at `src` and `bytes`, at least as many as header and index take, at `dst`, which
    /// is aligned to 16.
    unsafe fn compress(&self, arrays: &Arrays, params: &Params, layout: &Layout) -> Result<()>;

    /// Enqueues the restoration of what is wanted of the streams of elements of `dtype`: of one that is alone, or all
    /// of each. The host has seen its header, or none, and verified nothing: kernels check every one.
    ///
    /// # Safety
    /// Each item has `bytes` at `src`, which is aligned to 16, and room for what is wanted at `dst`. It counts these
    /// elements, or all of the array where a box is wanted.
    unsafe fn decompress(&self, streams: &Arrays, dtype: DType, wanted: &Wanted, seen: Option<&Header>) -> Result<()>;
}

/// Numbers of the first dimensions; those of the others are 0.
pub fn padded(numbers: &[u64]) -> [u64; MAX_RANK] {
    std::array::from_fn(|k| numbers.get(k).copied().unwrap_or(0))
}

/// What is wanted, as kernels take it: 0 of what it is not.
pub struct Numbers {
    /// The first element of a run.
    pub first: u64,
    /// Where a box begins,
    pub start: [u64; MAX_RANK],
    /// and how long it is.
    pub lens: [u64; MAX_RANK],
    /// Whether it is one,
    pub boxed: u32,
    /// and of the grid of which level.
    pub level: u32,
}

impl From<&Wanted> for Numbers {
    fn from(wanted: &Wanted) -> Numbers {
        let first = if let Wanted::Range { first, .. } = wanted { *first } else { 0 };
        match wanted.on_level() {
            None => Numbers { first, start: [0; MAX_RANK], lens: [0; MAX_RANK], boxed: 0, level: 0 },
            Some((region, level)) => {
                Numbers { first, start: padded(region.start()), lens: padded(region.lens()), boxed: 1, level }
            }
        }
    }
}
