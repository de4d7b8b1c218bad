//! The part of the C interface for compressed arrays.

use std::alloc::{Layout, alloc};
use std::ffi::c_void;
use std::slice::from_raw_parts_mut;

use super::memory;
use super::types::sleek_params;
use crate::container::MAX_RANK;
use crate::error::{Result, fail};
use crate::host::guard::{guard, status};
use crate::route;
use crate::route::array::CompressedArray;

/// An array in memory that is kept compressed: each block of 4^d elements takes the same number of bytes, and any
/// element is read and written by itself. Opaque.
#[allow(non_camel_case_types)]
pub struct sleek_array(CompressedArray);

/// Makes an array of zeros.
///
/// - params: dtype SLEEK_F32, SLEEK_F64, SLEEK_I32 or SLEEK_I64; codec SLEEK_CODEC_ZFP; mode SLEEK_RATE, bound the
///   bits of each value; dims and rank, 1 to 4. The rate is rounded up so that a block of 4^rank values takes a
///   multiple of 64 bits.
/// - cache_bytes: room for decoded blocks; 0 for as many as the square root of the number of all blocks.
/// - array: receives the array, NULL after an error; for sleek_array_free().
///
/// A rate promises a size, not a bound: what is read is not exactly what was written, and what is read and written
/// again changes again.
///
/// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT; SLEEK_E_INVALID_BOUND; SLEEK_E_UNSUPPORTED_TYPE;
/// SLEEK_E_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_array_create(
    params: *const sleek_params,
    cache_bytes: usize,
    array: *mut *mut sleek_array,
) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        let array = memory::answer(array, std::ptr::null_mut()).needed("array")?;
        let made = sleek_array(CompressedArray::new(&sleek_params::read(params)?, cache_bytes)?);
        // A box frees it as it is allocated here; one that is made at once would end the process where memory is short.
        let place = alloc(Layout::new::<sleek_array>()).cast::<sleek_array>();
        if place.is_null() {
            return fail!(OutOfMemory, "{} bytes for an array", size_of::<sleek_array>());
        }
        place.write(made);
        array.set(place);
        Ok(())
    })
}

/// Reads a box: along each dimension k the count[k] elements from start[k] on.
///
/// - start, count: a number for each dimension of the array, slowest first.
/// - dst: receives the box without gaps, its last dimension fastest, in the byte order of the machine; dst_capacity
///   bytes.
///
/// Any number of threads may read and write one array; they take turns. A forked child may use it too, unless another
/// thread was inside it at the fork: then every use but sleek_array_free() is SLEEK_E_INVALID_ARGUMENT.
///
/// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_OUT_OF_RANGE; SLEEK_E_BUFFER_TOO_SMALL; SLEEK_E_INVALID_ARGUMENT;
/// SLEEK_E_INTERNAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_array_read(
    array: *mut sleek_array,
    start: *const u64,
    count: *const u64,
    dst: *mut c_void,
    dst_capacity: usize,
) -> i32 {
    // SAFETY: the contract of this function; the room is only written.
    status(|| unsafe {
        let (array, [start, count]) = opened(array, start, count)?;
        let rank = array.rank();
        let read = |_, (to, bytes)| {
            let room: &mut [u8] = if bytes == 0 { &mut [] } else { from_raw_parts_mut(to, bytes) };
            array.read(&start[..rank], &count[..rank], room)
        };
        memory::restored((std::ptr::null(), 0), (dst, dst_capacity), read).map(|_| ())
    })
}

/// Writes such a box from src_bytes bytes at src. Floats must be finite. Elements are encoded when their block leaves
/// the cache, or by sleek_array_flush().
///
/// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_OUT_OF_RANGE; SLEEK_E_BUFFER_TOO_SMALL (src_bytes are less than the box has);
/// SLEEK_E_INVALID_ARGUMENT (a float that is not finite); SLEEK_E_INTERNAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_array_write(
    array: *mut sleek_array,
    start: *const u64,
    count: *const u64,
    src: *const c_void,
    src_bytes: usize,
) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        let (array, [start, count]) = opened(array, start, count)?;
        let rank = array.rank();
        array.write(&start[..rank], &count[..rank], memory::source("src", src, src_bytes)?)
    })
}

/// Encodes all that was written and is in the cache still. What is read afterwards of a block that had left the cache
/// is the same as before.
///
/// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_INTERNAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_array_flush(array: *mut sleek_array) -> i32 {
    status(|| {
        memory::not_null("array", array)?;
        // SAFETY: the contract of this function.
        unsafe { &*array }.0.flush()
    })
}

/// Copies the compressed blocks, those that were changed encoded, to dst, which may be memory of the host or of a GPU:
/// for kernels that use sleek_array.cuh. A call waits for its copy.
///
/// - dst_capacity: sleek_array_bytes() at least.
/// - stream: a CUstream (cudaStream_t) that the copy goes behind; NULL for the default one. Of no matter in host
///   memory.
///
/// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_BUFFER_TOO_SMALL; SLEEK_E_DEVICE; SLEEK_E_INVALID_ARGUMENT; SLEEK_E_INTERNAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_array_blocks(
    array: *mut sleek_array,
    dst: *mut c_void,
    dst_capacity: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function: so many bytes of the array, and `dst`, which is nothing of ours.
    status(|| unsafe {
        memory::not_null("array", array)?;
        memory::apart(std::ptr::null(), 0, dst, dst_capacity)?;
        let array = &(*array).0;
        array.blocks_as_they_are(|words| {
            let bytes = size_of_val(words);
            if dst_capacity < bytes {
                return fail!(BufferTooSmall, "{dst_capacity} bytes; the blocks take {bytes}");
            }
            route::copy(dst.cast(), words.as_ptr().cast(), bytes, stream)
        })
    })
}

/// Copies compressed blocks, such as a kernel has written, into an array of the same dimensions, type and rate. src
/// lies in memory of the host or of a GPU. The array's former content and cache are gone. An error leaves the array as
/// it was; for that the call needs memory for as many blocks again.
///
/// - src_bytes: sleek_array_bytes().
/// - stream: as for sleek_array_blocks().
///
/// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (src_bytes are not what the blocks take);
/// SLEEK_E_OUT_OF_MEMORY; SLEEK_E_DEVICE; SLEEK_E_INTERNAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_array_set_blocks(
    array: *mut sleek_array,
    src: *const c_void,
    src_bytes: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function; so many bytes of words.
    status(|| unsafe {
        memory::not_null("array", array)?;
        memory::apart(src, src_bytes, std::ptr::null(), 0)?;
        let copy = |words: &mut [u64]| route::copy(words.as_mut_ptr().cast(), src.cast(), src_bytes, stream);
        let array = &(*array).0;
        array.set_blocks(src_bytes, copy)
    })
}

/// The bytes that the compressed blocks take, and, in cache_bytes unless that is NULL, those of the cache. 0 if array
/// is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_array_bytes(array: *const sleek_array, cache_bytes: *mut usize) -> usize {
    // SAFETY: the contract of this function.
    guard(0, || unsafe {
        memory::not_null("array", array)?;
        let array = &(*array).0;
        let [blocks, cache] = array.bytes();
        memory::answer(cache_bytes, cache);
        Ok(blocks)
    })
}

/// Frees an array, which nobody may use any more; NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_array_free(array: *mut sleek_array) {
    guard((), || {
        if !array.is_null() {
            // SAFETY: made by `sleek_array_create`, and freed once by the contract.
            drop(unsafe { Box::from_raw(array) });
        }
        Ok(())
    })
}

/// An array, and a box of it.
///
/// # Safety
/// `array` is null or of `sleek_array_create`; the numbers are null or as many as it has dimensions.
unsafe fn opened<'a>(
    array: *mut sleek_array,
    start: *const u64,
    count: *const u64,
) -> Result<(&'a CompressedArray, [[u64; MAX_RANK]; 2])> {
    memory::not_null("array", array)?;
    // SAFETY: the contract.
    unsafe {
        let array = &(*array).0;
        let rank = array.rank() as i32;
        Ok((array, [memory::numbers("start", start, rank)?, memory::numbers("count", count, rank)?]))
    }
}
