//! The C interface of `include/sleek.h`, which cbindgen writes from this folder.
//!
//! Nothing is computed here: pointers become slices, structs become [`Params`](crate::Params), every entry is inside
//! the guard, and the rest of the library does the work.

mod advice;
mod array;
mod device;
mod h5d;
mod memory;
mod structs;
mod types;

use std::ffi::{CStr, c_char, c_void};
use std::mem::offset_of;

use crate::container::{Geometry, Header, Index, MAX_RANK};
use crate::dtype::DType;
use crate::error::{Kind, Result, fail};
use crate::host::guard::{self, guard, status};
use crate::host::memory::Heap;
use crate::params::{Bound, Device, Params};
use crate::route::{self, ranges::ChunkRange};
use structs::{struct_size, write_struct};
use types::{sleek_chunk_range, sleek_info, sleek_params};

/// Sets every field of params to its default: mode lossless, codec and profile default, device and threads automatic,
/// no range, no fill value. dtype stays 0, which is no element type: the caller sets it.
///
/// In all releases of this ABI the function writes the 128 bytes of the struct's first version. So it is safe for a
/// program that was compiled with an older header.
///
/// Errors: SLEEK_E_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_params_init(params: *mut sleek_params) -> i32 {
    status(|| {
        memory::not_null("params", params)?;
        // SAFETY: not null, and writable by the contract; the address may be unaligned.
        unsafe { params.write_unaligned(sleek_params::DEFAULT) };
        Ok(())
    })
}

/// Sets mode, bound, range, fill value and profile of params to what a text asks for: "abs=1e-3", "noa=1e-4",
/// "noa=1e-4,range=50,fill=-9999", "rel=1e-2,profile=fast", "lossless". Those that the text does not name become the
/// default. It sets codec where it has codec=, find_fill where it has no-fill, and missing where it has the bits of a
/// value, fill=0x7fc00000, or a second number, of which it takes the element of dtype. All other fields stay as they
/// are. Numbers have a decimal point whatever the locale.
///
/// - params: set up by sleek_params_init(); unchanged after an error.
/// - text: ends with 0. Exactly one of abs=, noa=, rel=, rate=, precision= and lossless must be in it.
///
/// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT; SLEEK_E_INVALID_BOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_params_parse(params: *mut sleek_params, text: *const c_char) -> i32 {
    status(|| {
        memory::not_null("text", text)?;
        // SAFETY: the contract of this function: a C string, and a struct that was set up.
        unsafe {
            let text = CStr::from_ptr(text).to_string_lossy();
            sleek_params::change(params, |own| own.request(&crate::text::parse(&text)?))
        }
    })
}

/// Sets bound and range of params for one chunk of an array that is kept in chunks which are restored, changed and
/// compressed anew, as Zarr keeps them: SLEEK_NOA without a range takes the range of this chunk, in which neither
/// missing values count, named or found, nor zeros, nor what the last element is equal to, which may be the rim that
/// was filled; and a step of a power of two, with which the bound holds however often that happens. Other requests stay
/// as they are.
///
/// - params: set up by sleek_params_init(); unchanged after an error.
/// - src: count elements of params->dtype in host memory.
///
/// Errors: SLEEK_E_NULL_POINTER; what is wrong with params.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_params_of_chunk(params: *mut sleek_params, src: *const c_void, count: usize) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        let asked = sleek_params::read(params)?;
        let chunk = advice::elements(&asked, src, count)?;
        asked.check()?;
        let found = route::recompression::of_chunk(asked, chunk)?;
        sleek_params::change(params, |own| {
            if let Bound::Noa { share, range: Some(range) } = found.bound {
                (own.bound, own.range, own.rewritten) = (share, range, found.rewritten.into());
            }
            Ok(())
        })
    })
}

/// The most bytes that a stream of count elements of params->dtype can take, whatever the data: a dst_capacity with
/// which sleek_compress cannot run out of room. With codec SLEEK it exceeds the size of the array by less than 128
/// bytes and 1/7000. Dimensions, missing values and those that may be found add up to 304 bytes.
///
/// Returns 0 on failure, never otherwise; the reason is in sleek_last_error().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_compress_bound(params: *const sleek_params, count: usize) -> usize {
    // SAFETY: the contract of this function.
    guard(0, || route::cpu::compress_bound(&unsafe { sleek_params::read(params) }?, count))
}

/// Compresses an array into a stream that can be decoded without knowing params.
///
/// - params: what to do; only read.
/// - src: count elements of params->dtype, contiguous, in host, GPU or managed memory, of any alignment; NULL only if
///   count is 0. An array of several dimensions is passed as the one-dimensional sequence that it is in memory;
///   params->dims says how long they are.
/// - dst: where the stream goes: dst_capacity bytes of host, GPU or managed memory, of any alignment, not overlapping
///   src. With at least sleek_compress_bound() bytes the call cannot run out of room; fewer are enough if the data
///   compresses well. The memory need not be initialised. After an error its contents are undefined.
/// - dst_bytes: receives the bytes of the stream, 0 after an error. Not NULL.
/// - stream: the CUDA stream to work on if src or dst is GPU memory (NULL: the default stream); else NULL.
///
/// The bytes of the stream depend on the data and on params, but not on the number of threads or the machine. The call
/// returns when all work is done, allocates nothing that the caller has to free, and keeps no pointer.
///
/// Returns SLEEK_OK or: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (a field of params, dimensions that do not make
/// up count, overlap, count too large, a stream); SLEEK_E_INVALID_BOUND; SLEEK_E_UNSUPPORTED_TYPE (a lossy mode on
/// integers); SLEEK_E_BUFFER_TOO_SMALL; SLEEK_E_DEVICE; SLEEK_E_OUT_OF_MEMORY; SLEEK_E_INTERNAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_compress(
    params: *const sleek_params,
    src: *const c_void,
    count: usize,
    dst: *mut c_void,
    dst_capacity: usize,
    dst_bytes: *mut usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function; the codec writes every byte of the stream before it reads it.
    status(|| unsafe {
        let dst_bytes = memory::answer(dst_bytes, 0).needed("dst_bytes")?;
        // On the heap, as all of the way there: the caller's stack may be small.
        let params = &*asked(params)?;
        memory::apart(src, params.dtype.bytes_of(count)?, dst, dst_capacity)?;
        dst_bytes.set(route::compress(params, src.cast(), count, dst.cast(), dst_capacity, stream)?);
        Ok(())
    })
}

#[inline(never)]
unsafe fn asked(params: *const sleek_params) -> Result<Heap<Params>> {
    // SAFETY: that of `sleek_params::read`.
    Heap::new(unsafe { sleek_params::read(params) }?)
}

/// Restores the whole array from a stream.
///
/// - src: the stream, exactly src_bytes bytes of host, GPU or managed memory, of any alignment.
/// - dst: receives the array: dst_capacity bytes of host, GPU or managed memory, of any alignment, not overlapping src;
///   at least raw_bytes of sleek_inspect(). NULL only if the array is empty. Elements come back in the byte order that
///   they had. After an error the contents are undefined.
/// - dst_bytes: receives the bytes of the array, 0 after an error. May be NULL.
/// - stream: as for sleek_compress().
///
/// Every checksum is verified. The CPU does that before it decodes the bytes that it covers. A GPU does it before the
/// call returns: damage is an error, but dst has been written. No input, however damaged, makes the function read or
/// write outside the two buffers.
///
/// Returns SLEEK_OK or: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (overlap, a stream);
/// SLEEK_E_BUFFER_TOO_SMALL; SLEEK_E_NOT_SLEEK; SLEEK_E_UNSUPPORTED_FORMAT; SLEEK_E_TRUNCATED;
/// SLEEK_E_CORRUPT; SLEEK_E_OUT_OF_MEMORY; SLEEK_E_INTERNAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_decompress(
    src: *const c_void,
    src_bytes: usize,
    dst: *mut c_void,
    dst_capacity: usize,
    dst_bytes: *mut usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function; the decoder only writes to `dst`.
    status(|| unsafe {
        let dst_bytes = memory::answer(dst_bytes, 0);
        memory::not_null("src", src)?;
        dst_bytes.set(memory::restored((src, src_bytes), (dst, dst_capacity), |from, to| {
            route::decompress(Device::Auto, from.0, from.1, None, to.0, to.1, stream)
        })?);
        Ok(())
    })
}

/// Restores the whole array from a stream that must be of this type and length. Use it where memory was made
/// beforehand: it is sleek_decompress() without a copy of the header from GPU memory.
///
/// - dtype, big_endian: the elements that dst is for, SLEEK_F32 ... SLEEK_U64, and 1 if they are big-endian, else 0.
/// - dst_bytes: bytes of dst, which the array has to fill.
/// - src, src_bytes, dst, stream: as for sleek_decompress().
///
/// Returns SLEEK_OK, SLEEK_E_INVALID_ARGUMENT if the stream is of another type, byte order or length, when dst was not
/// touched, or an error as of sleek_decompress().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_decompress_as(
    dtype: i32,
    big_endian: i32,
    src: *const c_void,
    src_bytes: usize,
    dst: *mut c_void,
    dst_bytes: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function; the decoder only writes to `dst`.
    status(|| unsafe {
        let dtype = DType::from_code(u32::try_from(dtype).unwrap_or(u32::MAX))?;
        if !matches!(big_endian, 0 | 1) {
            return fail!(InvalidArgument, "big_endian {big_endian}; 0 or 1");
        }
        memory::not_null("src", src)?;
        memory::apart(src, src_bytes, dst, dst_bytes)?;
        let (from, to) = ((src.cast(), src_bytes), (dst.cast(), dst_bytes));
        let done = route::restore(Device::Auto, from, to, stream, |header| {
            is_meant(header, dtype, big_endian == 1, dst_bytes)?;
            route::cpu::range(header, 0, header.layout.count)
        });
        if done.as_ref().is_err_and(|e| e.kind == Kind::InvalidArgument) {
            // Was it damage that made another type of it?
            with_head(src, src_bytes, |_, _| Ok(()))?;
        }
        done.map(|_| ())
    })
}

/// Refuses a stream that is not of these elements, or not of so many bytes.
fn is_meant(header: &Header, dtype: DType, big_endian: bool, bytes: usize) -> Result<()> {
    let layout = &header.layout;
    // Elements of one byte have no order.
    if layout.dtype != dtype || header.big_endian != big_endian && dtype.size() > 1 {
        let (is, meant) = (layout.dtype.in_order(header.big_endian), dtype.in_order(big_endian));
        return fail!(InvalidArgument, "the stream holds {is}; {meant} is expected");
    }
    if layout.raw_bytes != bytes as u64 {
        return fail!(InvalidArgument, "the stream holds {} bytes; {bytes} are expected", layout.raw_bytes);
    }
    Ok(())
}

/// Restores the elements first ... first + count - 1 from a stream, and decodes only the chunks (16 KiB of data each)
/// that hold them.
///
/// src, src_bytes, stream: as for sleek_decompress(). dst receives count times the element's size in bytes, at most
/// dst_capacity; it may be NULL if count is 0. The header, the index, and the groups of 64 chunks that are touched are
/// verified; damage elsewhere in the stream is not noticed.
///
/// Returns SLEEK_OK, SLEEK_E_OUT_OF_RANGE if the array does not have all these elements, or an error as of
/// sleek_decompress().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_decompress_range(
    src: *const c_void,
    src_bytes: usize,
    first: u64,
    count: usize,
    dst: *mut c_void,
    dst_capacity: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function; the decoder only writes to `dst`.
    status(|| unsafe {
        memory::not_null("src", src)?;
        let range = Some((first, count));
        let restored = memory::restored((src, src_bytes), (dst, dst_capacity), |from, to| {
            route::decompress(Device::Auto, from.0, from.1, range, to.0, to.1, stream)
        });
        restored.map(|_| ())
    })
}

/// Restores a box of elements from a stream: along each dimension k the count[k] elements from start[k] on, and decodes
/// only the chunks that hold them.
///
/// - src, src_bytes, stream: as for sleek_decompress().
/// - rank: the number of the array's dimensions, 1 ... 32, as sleek_inspect() tells it; 1 for an array that was
///   compressed without dimensions.
/// - start, count: rank numbers each in host memory, slowest dimension first, in elements; only read.
///   sleek_inspect_dims() tells what there is.
/// - dst: receives the box without gaps, its last dimension fastest: the product of all count[k] times the element's
///   size in bytes, at most dst_capacity. It may be NULL if the box is empty. After an error its contents are
///   undefined.
///
/// What is verified is as for sleek_decompress_range(). Any number of threads may read from one stream at once.
///
/// Returns SLEEK_OK, SLEEK_E_OUT_OF_RANGE if the box does not lie in the array, SLEEK_E_INVALID_ARGUMENT if the array
/// has another rank, or an error as of sleek_decompress().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_decompress_box(
    src: *const c_void,
    src_bytes: usize,
    rank: i32,
    start: *const u64,
    count: *const u64,
    dst: *mut c_void,
    dst_capacity: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function; the decoder only writes to `dst`.
    status(|| unsafe {
        memory::not_null("src", src)?;
        let (start, lens) = (memory::numbers("start", start, rank)?, memory::numbers("count", count, rank)?);
        let part = Some((&start[..rank as usize], &lens[..rank as usize]));
        let restore = |from, to| route::decompress_coarse(from, 0, part, to, stream);
        memory::restored((src, src_bytes), (dst, dst_capacity), restore).map(|_| ())
    })
}

/// Restores every 2^level-th element of a stream: those whose places along each of the last three dimensions are
/// multiples of 2^level. They are, bit for bit, those that sleek_decompress() puts there. Codec interp decodes the
/// leading levels of a tile alone, which takes a small part of the time; of other codecs one chunk after the other is
/// decoded and thinned. The array is never held.
///
/// - src, src_bytes, stream: as for sleek_decompress().
/// - level: 0 ... 63; 0 is every element.
/// - rank, start, count: a box, as for sleek_decompress_box(); or 0, NULL and NULL for the whole array.
/// - dst: receives the elements without gaps, the last dimension fastest: along each of the last three dimensions
///   ceil((start + count) / 2^level) - ceil(start / 2^level) of them, along others count. At most dst_capacity bytes;
///   it may be NULL if there are none. After an error its contents are undefined.
/// - dst_bytes: receives the bytes written, 0 after an error. May be NULL.
///
/// What is verified is as for sleek_decompress_range(). Of a body whose leading levels alone are decoded the rest is
/// compared with the checksum, and not looked at further.
///
/// Returns SLEEK_OK, SLEEK_E_OUT_OF_RANGE if the box does not lie in the array, SLEEK_E_INVALID_ARGUMENT if the array
/// has another rank or the level is greater, or an error as of sleek_decompress().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_decompress_coarse(
    src: *const c_void,
    src_bytes: usize,
    level: u32,
    rank: i32,
    start: *const u64,
    count: *const u64,
    dst: *mut c_void,
    dst_capacity: usize,
    dst_bytes: *mut usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function; the decoder only writes to `dst`.
    status(|| unsafe {
        let dst_bytes = memory::answer(dst_bytes, 0);
        memory::not_null("src", src)?;
        let part = match rank == 0 && start.is_null() && count.is_null() {
            true => None,
            false => Some((memory::numbers("start", start, rank)?, memory::numbers("count", count, rank)?)),
        };
        let part = part.as_ref().map(|(start, lens)| (&start[..rank as usize], &lens[..rank as usize]));
        let restore = |from, to| route::decompress_coarse(from, level, part, to, stream);
        dst_bytes.set(memory::restored((src, src_bytes), (dst, dst_capacity), restore)?);
        Ok(())
    })
}

/// Tells what a stream holds without decoding it.
///
/// - src: a stream, at the start of src_bytes bytes of host, device or managed memory; more may follow it,
///   info->stream_bytes says where. Of one in device memory header and index alone are copied to the host.
/// - info: the caller sets info->struct_size = sizeof *info; all other fields are written. Fields that this library
///   does not know are set to 0. After an error only struct_size is defined.
///
/// Header and index are verified by their checksum; the data is not looked at.
///
/// Returns SLEEK_OK or: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (struct_size); SLEEK_E_NOT_SLEEK;
/// SLEEK_E_UNSUPPORTED_FORMAT; SLEEK_E_TRUNCATED; SLEEK_E_CORRUPT; SLEEK_E_DEVICE; SLEEK_E_OUT_OF_MEMORY;
/// SLEEK_E_INTERNAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_inspect(src: *const c_void, src_bytes: usize, info: *mut sleek_info) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        memory::not_null("src", src)?;
        memory::not_null("info", info)?;
        let size = struct_size("sleek_info", info, offset_of!(sleek_info, bound))?;
        let known = with_head(src, src_bytes, |header, src| Ok(sleek_info::new(&Index::new(header, src)?, size)))?;
        write_struct(&known, info, size);
        Ok(())
    })
}

/// Tells the lengths of the dimensions of a stream's array, slowest first; their product is the number of elements.
///
/// - src, src_bytes: as for sleek_inspect().
/// - dims: receives a number for each dimension; room for dims_capacity of them in host memory. 32 are always enough.
///   May be NULL if dims_capacity is 0.
/// - rank: receives the number of dimensions, also if dims has too little room; 0 after any other error. Not NULL.
///
/// An array that was compressed without dimensions has one.
///
/// Returns SLEEK_OK, SLEEK_E_BUFFER_TOO_SMALL, or an error as of sleek_inspect().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_inspect_dims(
    src: *const c_void,
    src_bytes: usize,
    dims: *mut u64,
    dims_capacity: usize,
    rank: *mut i32,
) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        let rank = memory::answer(rank, 0).needed("rank")?;
        memory::not_null("src", src)?;
        let known = with_head(src, src_bytes, |header, _| Ok(header.layout.shape.dims))?;
        rank.set(known.rank() as i32);
        memory::give_list("dims", dims, dims_capacity, known.lens())
    })
}

/// Tells the sides of a stream's chunks, which sleek_chunk_ranges() and readers of boxes go by.
///
/// - src, src_bytes: as for sleek_inspect().
/// - sides: receives a number for each dimension, room for sides_capacity of them in host memory; 32 are always enough.
///   Chunks are boxes with these sides, those at the end of a dimension shorter, the last dimension's first.
/// - rank: receives the number of dimensions; or 0 if chunks are runs of elements, whatever the dimensions: then
///   sides[0] is the length of a run, of which the last one may be shorter. 0 after an error. Not NULL.
///
/// Returns SLEEK_OK, SLEEK_E_BUFFER_TOO_SMALL, or an error as of sleek_inspect().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_chunk_sides(
    src: *const c_void,
    src_bytes: usize,
    sides: *mut u64,
    sides_capacity: usize,
    rank: *mut i32,
) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        let rank = memory::answer(rank, 0).needed("rank")?;
        memory::not_null("src", src)?;
        let layout = with_head(src, src_bytes, |header, _| Ok(header.layout))?;
        let (mut all, mut len) = ([0; MAX_RANK], layout.shape.dims.rank());
        match &layout.shape.geometry {
            Geometry::Linear { chunk_log2 } => (all[0], len) = ((1 << chunk_log2) / layout.dtype.size() as u64, 0),
            Geometry::Tile { sides_log2 } => all.iter_mut().zip(sides_log2).for_each(|(side, s)| *side = 1 << s),
        }
        memory::give_list("sides", sides, sides_capacity, &all[..len.max(1)])?;
        rank.set(len as i32);
        Ok(())
    })
}

/// Tells what each chunk of a stream holds: exactly the ends of the values that come back, and how many are numbers,
/// missing values and NaN. Their sum is rounded in f64 on the way. Chunk after chunk is decoded by several threads, and
/// the array is never held. Whoever asks often keeps what this tells, and decodes only the chunks that may answer.
///
/// - src, src_bytes: the stream, exactly src_bytes bytes of host, GPU or managed memory.
/// - ranges: receives one for each chunk, in their order; room for capacity of them in host memory. May be NULL if
///   capacity is 0.
/// - count: receives the number of chunks, also if ranges has too little room; 0 after any other error. Not NULL.
///
/// Returns SLEEK_OK, SLEEK_E_BUFFER_TOO_SMALL, or an error as of sleek_decompress().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_chunk_ranges(
    src: *const c_void,
    src_bytes: usize,
    ranges: *mut sleek_chunk_range,
    capacity: usize,
    count: *mut usize,
) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        let count = memory::answer(count, 0).needed("count")?;
        memory::not_null("src", src)?;
        let chunks = with_head(src, src_bytes, |header, _| Ok(header.layout.chunks))?;
        if capacity < chunks {
            count.set(chunks);
            return fail!(BufferTooSmall, "room for {capacity} chunks; there are {chunks}");
        }
        let found = route::chunk_ranges(src.cast(), src_bytes)?;
        if !found.is_empty() {
            memory::not_null("ranges", ranges)?;
        }
        for (k, ChunkRange { least, most, sum, count, missing, nan }) in found.iter().copied().enumerate() {
            let range = sleek_chunk_range { least, most, sum, count, missing, nan, reserved: [0; 2] };
            ranges.add(k).write_unaligned(range);
        }
        count.set(found.len());
        Ok(())
    })
}

/// Restores whole chunks of a stream, one behind the other: those that may answer a question, by what
/// sleek_chunk_ranges() told of them.
///
/// - src, src_bytes: as for sleek_chunk_ranges().
/// - chunks, count: the numbers of that many chunks, each greater than the one before, in host memory. chunks may be
///   NULL if count is 0.
/// - dst: receives the elements, those of a chunk in the order of its box, at most dst_capacity bytes of host memory.
///   It may be NULL if there are none. After an error its contents are undefined.
///
/// What is verified is as for sleek_decompress_range().
///
/// Returns SLEEK_OK, SLEEK_E_OUT_OF_RANGE if there is no such chunk, or an error as of sleek_decompress().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_decompress_chunks(
    src: *const c_void,
    src_bytes: usize,
    chunks: *const u64,
    count: usize,
    dst: *mut c_void,
    dst_capacity: usize,
) -> i32 {
    // SAFETY: the contract of this function; the decoder only writes to `dst`.
    status(|| unsafe {
        memory::not_null("src", src)?;
        let numbers = memory::list("chunks", chunks, count)?;
        let restore = |from, to| route::decompress_chunks(from, numbers, to);
        memory::restored((src, src_bytes), (dst, dst_capacity), restore).map(|_| ())
    })
}

/// What `tell` makes of the verified header of a stream, wherever it is, and of header and index.
///
/// # Safety
/// `src` is readable for `src_bytes` where it lies.
unsafe fn with_head<T>(
    src: *const c_void,
    src_bytes: usize,
    tell: impl FnOnce(&Header, &[u8]) -> Result<T>,
) -> Result<T> {
    // SAFETY: the contract.
    let copy = unsafe { route::head_copy(src.cast(), src_bytes) }?;
    let src = match &copy {
        Some(bytes) => &bytes[..],
        // SAFETY: as above, and host memory.
        None => unsafe { memory::source("src", src, src_bytes) }?,
    };
    tell(&Header::read_part(src, src_bytes as u64)?, src)
}

/// The text of the last error of a SLEEK function on the calling thread, in English and UTF-8. It names the wrong value
/// and the right ones. It is empty if there was no error. A call that succeeds leaves the text as it is.
///
/// The pointer is never NULL and belongs to the library. It is valid until the thread ends; the text changes with the
/// next error on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn sleek_last_error() -> *const c_char {
    guard::last_error()
}

/// A fixed English text for a status code (SLEEK_OK and SLEEK_E_...; any other number is said to be unknown). Never
/// NULL; belongs to the library and stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn sleek_strerror(code: i32) -> *const c_char {
    let none = if code == 0 { c"no error" } else { c"unknown status code" };
    Kind::ALL.into_iter().find(|kind| kind.code() == code).map_or(none, Kind::for_c).as_ptr()
}

/// The version of the library that is loaded, "major.minor.patch"; compare with SLEEK_VERSION, that of the header.
/// Never NULL; belongs to the library and stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn sleek_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
