//! How work is shared out among threads.

use std::ops::Range;

use crate::container::constants::GROUP_CHUNKS;
use crate::host::pool;

/// Chunks that a thread takes at once. A group is a whole number of units.
pub const UNIT_CHUNKS: usize = 8;
/// Bytes of data per thread below which another thread does not pay when compressing.
pub const COMPRESSED_PER_THREAD: usize = 256 << 10;
/// The same when decompressing: most of the time goes into writing, and each line is taken from the cache that had it.
pub const DECOMPRESSED_PER_THREAD: usize = 2 << 20;

const _: () = assert!(GROUP_CHUNKS.is_multiple_of(UNIT_CHUNKS));

/// Threads that pay for `bytes` of data at so many `per_thread`.
pub fn tasks(requested: u32, bytes: usize, per_thread: usize) -> usize {
    pool::threads(requested).min(bytes / per_thread).max(1)
}

/// A buffer of which disjoint parts are written by several threads.
pub struct Shared {
    start: *mut u8,
    /// Its bytes.
    pub len: usize,
}

// SAFETY: `part` hands out disjoint ranges only (its contract), so threads never share a byte.
#[expect(unsafe_code, reason = "threads share the result, each of a part of its own")]
unsafe impl Sync for Shared {}

impl Shared {
    /// Of a buffer, which it must not outlive.
    pub fn new(buffer: &mut [u8]) -> Shared {
        Shared { start: buffer.as_mut_ptr(), len: buffer.len() }
    }

    /// Where a byte is, that may be behind the end.
    pub fn at(&self, at: usize) -> *const u8 {
        self.start.wrapping_add(at)
    }

    /// Whether so many bytes are whole lines of the cache.
    pub fn is_lines(&self, at: usize, len: usize) -> bool {
        (self.at(at).addr() | len).is_multiple_of(64)
    }

    /// The bytes of a range.
    ///
    /// # Safety
    /// Ranges that are alive at the same time must be disjoint, and the buffer must outlive them.
    #[allow(clippy::mut_from_ref)]
    #[expect(unsafe_code, reason = "threads share the result, each of a part of its own")]
    pub unsafe fn part(&self, range: Range<usize>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: in range by the assertion; exclusive by the contract.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}
