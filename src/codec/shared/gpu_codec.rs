//! What a codec's side for GPUs is.

use crate::container::{Header, Layout, MAX_RANK, Wanted};
use crate::dtype::DType;
use crate::error::Result;
use crate::params::Params;
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::Session;
use crate::runtime::cuda::launch::{Batch, DecompressArgs};

/// A codec's side for GPUs. It enqueues work and never waits: what kernels share goes into the slots that the arrays
/// come with, or into memory of [`Session::allocate`], which is freed in stream order when the buffer is dropped.
pub trait GpuCodec: Sync {
    /// Loads what asynchronous calls with `params` need on the session's GPU, so that they find it, in a stream capture
    /// too.
    fn prepare(&self, session: &Session, params: &Params) -> Result<()>;

    /// Why there are no kernels for what `params` ask for and an array of `layout`, if there are none: the CPU then
    /// compresses it.
    fn refuses(&self, params: &Params, layout: &Layout) -> Option<String>;

    /// Why there are no kernels to restore what is wanted of a stream with this header, of which nothing was verified,
    /// if there are none: the CPU then does it.
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

/// What kernels are told of `batch`, whose elements of `dtype` are wanted so: 0 of what is not.
pub fn arguments(batch: Batch, dtype: DType, wanted: &Wanted) -> DecompressArgs {
    let first = if let Wanted::Range { first, .. } = wanted { *first } else { 0 };
    let (start, lens, level) =
        wanted.on_level().map_or((&[][..], &[][..], 0), |(region, level)| (region.start(), region.lens(), level));
    let boxed = wanted.on_level().is_some().into();
    let (start, lens, dtype) = (padded(start), padded(lens), dtype as u32);
    DecompressArgs { batch, first, start, lens, dtype, boxed, level, ..DecompressArgs::ZERO }
}
