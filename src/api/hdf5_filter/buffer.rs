//! A chunk's buffer, which HDF5 frees.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::error::{Result, fail};
use crate::host::memory;

/// Memory from `malloc`, which HDF5 will free. Its bytes are not set: they are written before anyone reads them.
pub struct Buffer {
    start: NonNull<c_void>,
    len: usize,
}

impl Buffer {
    /// Of so many bytes.
    pub fn new(len: usize) -> Result<Buffer> {
        memory::keep_in_heap(len);
        // SAFETY: malloc of at least a byte, so that null is failure.
        match NonNull::new(unsafe { libc::malloc(len.max(1)) }) {
            Some(start) => Ok(Buffer { start, len }),
            None => fail!(OutOfMemory, "{len} bytes for a chunk"),
        }
    }

    /// At least `room` bytes, the first of which are these.
    pub fn of(bytes: &[u8], room: usize) -> Result<(Buffer, usize)> {
        let mut copy = Buffer::new(bytes.len().max(room))?;
        copy.bytes()[..bytes.len()].copy_from_slice(bytes);
        Ok((copy, bytes.len()))
    }

    /// All of it.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes are ours. The codec only writes here before it knows what it wrote.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.len) }
    }

    /// It, to be freed by whom it is given to.
    pub fn release(self) -> *mut c_void {
        std::mem::ManuallyDrop::new(self).start.as_ptr()
    }
}

impl AsMut<[u8]> for Buffer {
    fn as_mut(&mut self) -> &mut [u8] {
        self.bytes()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: ours, and freed once: `release` forgets the value.
        unsafe { libc::free(self.start.as_ptr()) };
    }
}
