//! Many arrays in one launch: each has work slots in proportion to its size, blocks take the slots.
//!
//! The host's description of the arrays travels in the arguments of small launches that write it to a table in the
//! workspace: nothing of the host has to outlive the call, and nothing is copied from memory that a driver would have
//! to wait for.

use std::ffi::c_void;

use super::driver::Session;
use super::launch::{Batch, LISTED, ListArgs, Slot};
use super::module::Module;
use super::{
    Layout, async_ordinal, compressor, demand_kernels, enqueue_compress, enqueue_decompress, is_aligned, module,
};
use crate::codec;
use crate::codec::sleek::constants::CODEC_SLEEK;
use crate::container::constants::ALIGN;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::host::memory::reserve;
use crate::params::Params;

pub use super::launch::Item;

/// Bytes of GPU memory, aligned to 16, that a call for so many arrays needs besides its data.
pub fn workspace_bytes(arrays: usize) -> usize {
    arrays.saturating_mul(size_of::<Item>() + size_of::<Slot>()).saturating_add(ALIGN)
}

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
    let Some(first) = items.first() else { return Ok(()) };
    let mut largest = codec::layout(params, 0)?;
    let mut chunks = Vec::new();
    reserve(&mut chunks, items.len())?;
    for (i, item) in items.iter().enumerate() {
        let layout = codec::layout(params, item.count)?;
        demand_kernels(&layout)?;
        if item.bytes < layout.bodies_at() as u64 {
            return fail!(
                BufferTooSmall,
                "{} bytes for array {i}; header and index take {}",
                item.bytes,
                layout.bodies_at()
            );
        }
        aligned("dst", i, item.dst)?;
        chunks.push(layout.chunks as u64);
        if layout.count > largest.count {
            largest = layout;
        }
    }
    let ordinal =
        async_ordinal(&[(first.dst, ALIGN, "dst"), (workspace, ALIGN, "workspace"), (outcomes, 8, "results")])?;
    let session = Session::enter(ordinal, stream)?;
    // SAFETY: the contract.
    unsafe {
        let kernels = module::load(&session, CODEC_SLEEK, params.dtype)?;
        let kernel = compressor(&session, &kernels, params, items.iter().all(|i| is_aligned(i.src)))?;
        let batch = list(&session, &kernels, items, kernel.work_slots(&chunks), outcomes, workspace)?;
        enqueue_compress(&session, params, batch, &largest, &kernels, kernel)
    }
}

/// Restores each item's stream, at the start of `bytes` bytes at `src`, to `dst`: a whole array of `count` elements of
/// `dtype`, else the item fails.
///
/// Enqueues the work and returns at once; outcomes as of [`compress_async`].
///
/// # Safety
/// As for [`compress_async`].
pub unsafe fn decompress_async(
    dtype: DType,
    items: &[Item],
    outcomes: *mut u8,
    workspace: *mut u8,
    stream: *mut c_void,
) -> Result<()> {
    let Some(first) = items.first() else { return Ok(()) };
    let mut chunks = Vec::new();
    reserve(&mut chunks, items.len())?;
    for (i, item) in items.iter().enumerate() {
        aligned("src", i, item.src.cast_mut())?;
        // An empty array has a header to be looked at.
        chunks.push(Layout::new(dtype, item.count)?.chunks.max(1) as u64);
    }
    let ordinal = async_ordinal(&[
        (first.src.cast_mut(), ALIGN, "src"),
        (workspace, ALIGN, "workspace"),
        (outcomes, 8, "results"),
    ])?;
    let session = Session::enter(ordinal, stream)?;
    // SAFETY: the contract.
    unsafe {
        let kernels = module::load(&session, CODEC_SLEEK, dtype)?;
        let batch = list(&session, &kernels, items, kernels.decompress.work_slots(&chunks), outcomes, workspace)?;
        enqueue_decompress(&session, dtype, batch, 0, &kernels)
    }
}

fn aligned(name: &str, i: usize, pointer: *mut u8) -> Result<()> {
    if is_aligned(pointer) {
        return Ok(());
    }
    fail!(InvalidArgument, "{name} of array {i} must be aligned to {ALIGN} bytes in an asynchronous call")
}

/// Writes the table of the items, which have so many `work_slots` each, into the workspace.
///
/// # Safety
/// The workspace holds [`workspace_bytes`] of device memory.
unsafe fn list(
    session: &Session,
    kernels: &Module,
    items: &[Item],
    work_slots: impl Iterator<Item = u64>,
    outcomes: *mut u8,
    workspace: *mut u8,
) -> Result<Batch> {
    let Some(count) = u32::try_from(items.len()).ok().filter(|n| *n < 1 << 24) else {
        return fail!(InvalidArgument, "{} arrays in a batch; fewer than {} are possible", items.len(), 1 << 24);
    };
    let table = workspace.cast::<Item>();
    let mut total = 0;
    let mut numbered = items.iter().zip(work_slots).map(|(item, slots)| {
        let first = total;
        total += slots;
        item.behind(first)
    });
    for at in (0..items.len()).step_by(LISTED) {
        let count = LISTED.min(items.len() - at);
        let filler = items[at];
        let part = std::array::from_fn(|i| if i < count { numbered.next().unwrap_or(filler) } else { filler });
        let args = ListArgs { table: table.wrapping_add(at), count: count as u64, items: part };
        // SAFETY: the workspace holds the table.
        unsafe { kernels.list.launch(session, 1, &args) }?;
    }
    drop(numbered);
    let slots = table.wrapping_add(items.len()).cast::<Slot>();
    Ok(Batch { only: items[0], items: table, slots, outcomes: outcomes.cast(), work_slots: total, count, zero: 0 })
}
