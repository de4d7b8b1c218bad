//! Many arrays in one call.

use std::ffi::c_void;

use super::device::{compressor, named_side, refuse_search};
use crate::codec;
use crate::container::constants::ALIGN;
use crate::container::{Layout, Wanted};
use crate::error::{Result, fail};
use crate::params::Params;
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::Session;
use crate::runtime::cuda::memory::{common_ordinal, is_aligned};

pub use crate::runtime::cuda::arrays::workspace_bytes;
pub use crate::runtime::cuda::launch::Item;

/// Compresses each item's `count` elements at `src` to `dst`, a stream of at most `bytes`; the bytes are those of
/// single calls. Outcome i, {u64 bytes, i32 status, i32 0} in device memory, is what a single call would have returned
/// for item i.
///
/// Enqueues the work and returns at once.
///
/// # Safety
/// What items, `outcomes` (16 bytes for each item, aligned to 8) and `workspace` (as [`workspace_bytes`] tells) point
/// to is device memory of one device that stays valid until the stream has passed. No `dst` overlaps anything else.
pub unsafe fn compress_async(
    params: &Params,
    items: &[Item],
    outcomes: *mut u8,
    workspace: *mut u8,
    stream: *mut c_void,
) -> Result<()> {
    params.check()?;
    refuse_search(params)?;
    let Some(first) = items.first() else { return Ok(()) };
    let mut layout = codec::layout(params, first.count)?;
    let gpu = compressor(params, &layout)?.kernels()?;
    let mut largest = layout;
    for (i, item) in items.iter().enumerate() {
        // A layout takes longer than a small array does on the GPU, and most batches have arrays of one size.
        if i == 0 || item.count != layout.count {
            layout = codec::layout(params, item.count)?;
            if let Some(why) = gpu.refuses(params, &layout) {
                return fail!(Device, "array {i}: {why}; a synchronous call goes by the CPU");
            }
            if layout.count > largest.count {
                largest = layout;
            }
        }
        if item.bytes < layout.bodies_at() as u64 {
            return fail!(
                BufferTooSmall,
                "{} bytes for array {i}; header and index take {}",
                item.bytes,
                layout.bodies_at()
            );
        }
        aligned("dst", i, item.dst)?;
    }
    let ordinal =
        common_ordinal(&[(first.dst, ALIGN, "dst"), (workspace, ALIGN, "workspace"), (outcomes, 8, "results")])?;
    let session = Session::enter(ordinal, stream)?;
    // SAFETY: the contract.
    unsafe { gpu.compress(&Arrays::batch(&session, items, workspace, outcomes.cast()), params, &largest) }
}

/// Restores each item's stream, at the start of `bytes` bytes at `src`, to `dst`: a whole array of `count` elements,
/// else the item fails. Of `params` codec and element type count.
///
/// Enqueues the work and returns at once; outcomes as of [`compress_async`].
///
/// # Safety
/// As for [`compress_async`].
pub unsafe fn decompress_async(
    params: &Params,
    items: &[Item],
    outcomes: *mut u8,
    workspace: *mut u8,
    stream: *mut c_void,
) -> Result<()> {
    let gpu = named_side(params)?;
    let Some(first) = items.first() else { return Ok(()) };
    let mut possible = None;
    for (i, item) in items.iter().enumerate() {
        aligned("src", i, item.src.cast_mut())?;
        if possible != Some(item.count) {
            possible = Some(Layout::new(params.dtype, item.count)?.count);
        }
    }
    let ordinal = common_ordinal(&[
        (first.src.cast_mut(), ALIGN, "src"),
        (workspace, ALIGN, "workspace"),
        (outcomes, 8, "results"),
    ])?;
    let session = Session::enter(ordinal, stream)?;
    let streams = Arrays::batch(&session, items, workspace, outcomes.cast());
    // SAFETY: the contract.
    unsafe { gpu.decompress(&streams, params.dtype, &Wanted::Range { first: 0, count: first.count }, None) }
}

fn aligned(name: &str, i: usize, pointer: *mut u8) -> Result<()> {
    if is_aligned(pointer) {
        return Ok(());
    }
    fail!(InvalidArgument, "{name} of array {i} must be aligned to {ALIGN} bytes in an asynchronous call")
}
