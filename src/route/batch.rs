//! Asynchronous calls: of one array, or of many. They enqueue the work and return at once.

use std::ffi::c_void;

use super::cpu::Request;
use super::device::{compressor, named_side, needed, refuse_search};
use crate::container::constants::ALIGN;
use crate::container::{Layout, Wanted};
use crate::error::{Result, fail};
use crate::params::Params;
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::Session;
use crate::runtime::cuda::memory::{common_ordinal, is_aligned};

pub use crate::runtime::cuda::arrays::workspace_bytes;
pub use crate::runtime::cuda::launch::Item;

/// The arrays of a call, and where it leaves what: outcome i, {u64 bytes, i32 status, i32 0} in device memory, is what
/// a synchronous call would have returned for item i.
struct Call<'a> {
    items: &'a [Item],
    is_batch: bool,
    outcomes: *mut u8,
    workspace: *mut u8,
    stream: *mut c_void,
}

impl Call<'_> {
    /// What an error calls something of item `i`.
    fn name(&self, what: &str, i: usize) -> String {
        if self.is_batch { format!("{what} of array {i}") } else { what.into() }
    }

    /// Where the call runs. The `name`d pointer of each item is where a stream begins.
    fn enter(&self, name: &str, stream: impl Fn(&Item) -> *mut u8) -> Result<Session> {
        if let Some(i) = self.items.iter().position(|item| !is_aligned(stream(item))) {
            let name = self.name(name, i);
            return fail!(InvalidArgument, "{name} must be aligned to {ALIGN} bytes in an asynchronous call");
        }
        let results = if self.is_batch { "results" } else { "result" };
        let pointers =
            [(stream(&self.items[0]), ALIGN, name), (self.workspace, ALIGN, "workspace"), (self.outcomes, 8, results)];
        Session::enter(common_ordinal(&pointers)?, self.stream)
    }

    fn arrays<'a>(&'a self, session: &'a Session) -> Arrays<'a> {
        match self.is_batch {
            true => Arrays::batch(session, self.items, self.workspace, self.outcomes.cast()),
            false => Arrays::alone(session, &self.items[0], self.workspace, Some(self.outcomes.cast())),
        }
    }

    /// # Safety
    /// That of [`compress_async`].
    unsafe fn compress(&self, params: &Params) -> Result<()> {
        refuse_search(params)?;
        let request = Request::new(params)?;
        let Some(first) = self.items.first() else { return Ok(()) };
        let mut layout = request.layout(first.count as usize)?;
        let gpu = needed(compressor(request, &layout))?;
        let mut largest = layout;
        for (i, item) in self.items.iter().enumerate() {
            // A layout takes longer than a small array does on the GPU, and most batches have arrays of one size.
            if item.count != layout.count {
                layout = request.layout(item.count as usize)?;
                needed(gpu.refuses(params, &layout).map_or(Ok(gpu), |why| Err(format!("array {i}: {why}"))))?;
                if layout.count > largest.count {
                    largest = layout;
                }
            }
            let (bytes, least) = (item.bytes, layout.bodies_at());
            if bytes < least as u64 {
                let name = self.name("dst", i);
                return fail!(BufferTooSmall, "{name} has {bytes} bytes; header and index take {least}");
            }
        }
        let session = self.enter("dst", |item| item.dst)?;
        // SAFETY: the contract.
        unsafe { gpu.compress(&self.arrays(&session), params, &largest) }
    }

    /// Restores elements from `first` on.
    ///
    /// # Safety
    /// That of [`compress_async`].
    unsafe fn decompress(&self, params: &Params, first: u64) -> Result<()> {
        let gpu = named_side(params)?;
        let Some(Item { count, .. }) = self.items.first() else { return Ok(()) };
        for item in self.items.chunk_by(|a, b| a.count == b.count) {
            Layout::new(params.dtype, item[0].count)?;
        }
        let session = self.enter("src", |item| item.src.cast_mut())?;
        // SAFETY: the contract.
        unsafe { gpu.decompress(&self.arrays(&session), params.dtype, &Wanted::Range { first, count: *count }, None) }
    }
}

/// Compresses each item's `count` elements at `src` to `dst`, a stream of at most `bytes`; the bytes are those of
/// single calls.
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
    // SAFETY: the contract.
    unsafe { Call { items, is_batch: true, outcomes, workspace, stream }.compress(params) }
}

/// Restores each item's stream, at the start of `bytes` bytes at `src`, to `dst`: a whole array of `count` elements,
/// else the item fails. Of `params` codec and element type count.
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
    // SAFETY: the contract.
    unsafe { Call { items, is_batch: true, outcomes, workspace, stream }.decompress(params, 0) }
}

/// [`compress_async`] of one array into at most `capacity` bytes.
///
/// # Safety
/// As there, with a `workspace` of `WORKSPACE_BYTES`.
#[allow(clippy::too_many_arguments)] // those of the C function
pub unsafe fn compress_one(
    params: &Params,
    src: *const u8,
    count: usize,
    dst: *mut u8,
    capacity: usize,
    outcomes: *mut u8,
    workspace: *mut u8,
    stream: *mut c_void,
) -> Result<()> {
    let items = &[Item::new(src, dst, count as u64, capacity as u64)];
    // SAFETY: the contract.
    unsafe { Call { items, is_batch: false, outcomes, workspace, stream }.compress(params) }
}

/// [`decompress_async`] of elements `first .. first + count` of one stream.
///
/// # Safety
/// As for [`compress_one`].
#[allow(clippy::too_many_arguments)] // those of the C function
pub unsafe fn decompress_one(
    params: &Params,
    src: *const u8,
    src_bytes: usize,
    dst: *mut u8,
    (first, count): (u64, u64),
    outcomes: *mut u8,
    workspace: *mut u8,
    stream: *mut c_void,
) -> Result<()> {
    let items = &[Item::new(src, dst, count, src_bytes as u64)];
    // SAFETY: the contract.
    unsafe { Call { items, is_batch: false, outcomes, workspace, stream }.decompress(params, first) }
}
