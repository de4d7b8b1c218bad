//! Pointers of the caller, checked as far as they can be, as slices.

use std::ffi::c_void;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use crate::error::{Result, fail};

/// Refuses NULL for the argument `name`.
pub fn not_null<T>(name: &str, pointer: *const T) -> Result<()> {
    if pointer.is_null() { fail!(NullPointer, "{name} is NULL") } else { Ok(()) }
}

/// Sets `*bytes` to 0 unless `bytes` is NULL.
///
/// # Safety
/// `bytes` is NULL or may be written.
pub unsafe fn clear(bytes: *mut usize) {
    if !bytes.is_null() {
        // SAFETY: writable by the contract; it may be unaligned.
        unsafe { bytes.write_unaligned(0) };
    }
}

/// Refuses a buffer that no program can have: NULL with a length, or reaching beyond the address space.
fn check(name: &str, pointer: *const c_void, bytes: usize) -> Result<()> {
    if pointer.is_null() && bytes > 0 {
        return fail!(NullPointer, "{name} is NULL, with a size of {bytes} bytes");
    }
    if bytes > isize::MAX as usize || (pointer as usize).checked_add(bytes).is_none() {
        return fail!(InvalidArgument, "{name} of {bytes} bytes does not fit in the address space");
    }
    Ok(())
}

/// The caller's `bytes` at `pointer`.
///
/// # Safety
/// They may be read, and nobody writes them, for as long as the slice is used.
pub unsafe fn source<'a>(name: &str, pointer: *const c_void, bytes: usize) -> Result<&'a [u8]> {
    check(name, pointer, bytes)?;
    if bytes == 0 {
        return Ok(&[]);
    }
    // SAFETY: not null, of a possible length; readable by the contract.
    Ok(unsafe { from_raw_parts(pointer.cast(), bytes) })
}

/// Source and destination of a call.
///
/// # Safety
/// `src_bytes` at `src` may be read and `dst_bytes` at `dst` written, by nobody else, for as long as the slices are
/// used. The destination may be uninitialised, so it may only be written, or read where it was written.
pub unsafe fn pair<'a>(
    src: *const c_void,
    src_bytes: usize,
    dst: *mut c_void,
    dst_bytes: usize,
) -> Result<(&'a [u8], &'a mut [u8])> {
    // SAFETY: the contract of this function.
    let source = unsafe { source("src", src, src_bytes) }?;
    check("dst", dst, dst_bytes)?;
    let (s, d) = (src as usize, dst as usize);
    if src_bytes > 0 && dst_bytes > 0 && s < d + dst_bytes && d < s + src_bytes {
        return fail!(
            InvalidArgument,
            "src ({src_bytes} bytes at {s:#x}) and dst ({dst_bytes} bytes at {d:#x}) overlap; \
             the work cannot be done in place"
        );
    }
    if dst_bytes == 0 {
        return Ok((source, &mut []));
    }
    // SAFETY: not null, of a possible length, apart from `source`, and ours alone by the contract. Its bytes may be
    // uninitialised: they come from foreign code, so to the compiler each has some value, and by the contract none is
    // read before it is written.
    Ok((source, unsafe { from_raw_parts_mut(dst.cast(), dst_bytes) }))
}
