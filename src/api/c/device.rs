//! The part of the C interface that is about GPUs.

use std::ffi::{c_char, c_void};

use super::memory;
use super::types::sleek_params;
use crate::error::{Result, fail};
use crate::host::guard::status;
use crate::host::memory::{expect_room, reserve};
use crate::params::Device;
use crate::route::{self, batch};

/// What the text on a device takes on its way.
const TEXT_BYTES: usize = 16 << 10;

/// What an asynchronous call leaves in GPU memory when the stream has passed it.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct sleek_result {
    /// Bytes of the stream or of the whole array; 0 after an error.
    pub bytes: u64,
    /// SLEEK_OK or SLEEK_E_....
    pub status: i32,
    /// 0.
    pub reserved: i32,
}

/// Where sleek_compress() would run for these pointers, and why, as a sentence ("cuda device 0 (NVIDIA H200, ...): the
/// source is in GPU memory", "cpu: the data is in host memory", "none: ..." with the reason). On a GPU the sentence
/// goes on with the codecs that have no kernels, or none that compress, if there are some: the CPU does the rest.
///
/// - device: what is asked for, one of sleek_device.
/// - src, dst: may be NULL, which counts as host memory; nothing is read or written.
/// - text: receives at most capacity bytes, the terminating 0 included.
///
/// The function loads no driver and creates no context unless the GPU is asked for.
///
/// Returns SLEEK_OK or: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (device); SLEEK_E_BUFFER_TOO_SMALL;
/// SLEEK_E_OUT_OF_MEMORY; SLEEK_E_INTERNAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_device_info(
    device: i32,
    src: *const c_void,
    dst: *const c_void,
    text: *mut c_char,
    capacity: usize,
) -> i32 {
    status(|| {
        memory::not_null("text", text)?;
        expect_room(TEXT_BYTES)?;
        let said = route::describe(Device::from_code(u32::try_from(device).unwrap_or(u32::MAX))?, src, dst);
        if capacity <= said.len() {
            return fail!(BufferTooSmall, "{capacity} bytes; the text takes {}", said.len() + 1);
        }
        // SAFETY: writable for `capacity` by the contract, which the text and its terminator do not exceed.
        unsafe {
            text.cast::<u8>().copy_from_nonoverlapping(said.as_ptr(), said.len());
            text.add(said.len()).write(0);
        }
        Ok(())
    })
}

/// Bytes of GPU memory that an asynchronous call needs as workspace, aligned to 16. The workspace belongs to one call
/// until the stream has passed it.
///
/// Never 0.
#[unsafe(no_mangle)]
pub extern "C" fn sleek_workspace_bytes() -> usize {
    route::WORKSPACE_BYTES
}

/// Loads what asynchronous calls with the codec and the dtype of params need on the GPU with this number. Call it
/// before a stream is captured into a graph, since loading cannot be captured. Call it before a measurement, too: the
/// driver may compile kernels for seconds.
///
/// Returns SLEEK_OK or: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT; SLEEK_E_UNSUPPORTED_TYPE (of elements that the
/// codec does not take); SLEEK_E_DEVICE (also of a codec that has no kernels); SLEEK_E_INTERNAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_device_prepare(params: *const sleek_params, ordinal: i32, stream: *mut c_void) -> i32 {
    status(|| {
        // SAFETY: the contract of this function.
        let params = unsafe { sleek_params::read(params) }?;
        route::prepare(&params, ordinal, stream)
    })
}

/// sleek_compress() for pipelines on the GPU: enqueues the work on stream and returns at once. It does not wait, and
/// can be captured into a CUDA graph (see sleek_device_prepare()). It allocates nothing, but for codec interp.
///
/// - src: count elements in GPU memory; faster if aligned to 16.
/// - dst: dst_capacity bytes of GPU memory, aligned to 16.
/// - result: GPU memory, aligned to 8, that receives what sleek_compress() would return.
/// - workspace: at least sleek_workspace_bytes() of GPU memory, aligned to 16.
///
/// All memory must stay valid until the stream has passed the work. Codec interp takes memory from the device's pool,
/// allocated and freed in the order of the stream.
///
/// Returns SLEEK_OK if the work was enqueued, or an error as of sleek_compress(). SLEEK_E_DEVICE also means that the
/// codec has no kernels for the request; the CPU cannot do it here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_compress_async(
    params: *const sleek_params,
    src: *const c_void,
    count: usize,
    dst: *mut c_void,
    dst_capacity: usize,
    result: *mut sleek_result,
    workspace: *mut c_void,
    workspace_bytes: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        let params = sleek_params::read(params)?;
        enough(workspace_bytes, route::WORKSPACE_BYTES)?;
        memory::apart(src, count.saturating_mul(params.dtype.size()), dst, dst_capacity)?;
        let (src, dst, workspace) = (src.cast(), dst.cast(), workspace.cast());
        route::compress_async(&params, src, count, dst, dst_capacity, result.cast(), workspace, stream)
    })
}

/// sleek_decompress_range() for pipelines on the GPU, on the terms of sleek_compress_async().
///
/// - params: only its codec (0: by its profile) and its dtype count. In result a stream of another codec is
///   SLEEK_E_UNSUPPORTED_FORMAT, one of other elements SLEEK_E_INVALID_ARGUMENT.
/// - src: a stream in GPU memory, aligned to 16. src_bytes may be more than it takes, such as the capacity that was
///   given for compressing it.
/// - dst: receives elements first ... first + count - 1.
///
/// No stream, however damaged, makes the work read or write outside these ranges.
///
/// Returns SLEEK_OK if the work was enqueued, or an error as of sleek_decompress().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_decompress_async(
    params: *const sleek_params,
    src: *const c_void,
    src_bytes: usize,
    first: u64,
    count: usize,
    dst: *mut c_void,
    dst_capacity: usize,
    result: *mut sleek_result,
    workspace: *mut c_void,
    workspace_bytes: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        let params = sleek_params::read(params)?;
        enough(workspace_bytes, route::WORKSPACE_BYTES)?;
        memory::apart(src, src_bytes, dst, dst_capacity)?;
        let need = count.saturating_mul(params.dtype.size());
        if dst_capacity < need {
            return fail!(BufferTooSmall, "{dst_capacity} bytes; {count} elements take {need}");
        }
        let (src, dst, workspace, elements) = (src.cast(), dst.cast(), workspace.cast(), (first, count as u64));
        route::decompress_async(&params, src, src_bytes, dst, elements, result.cast(), workspace, stream)
    })
}

/// Bytes of GPU memory that a batched call for so many arrays needs as workspace, aligned to 16. The workspace belongs
/// to one call until the stream has passed it.
///
/// Never 0.
#[unsafe(no_mangle)]
pub extern "C" fn sleek_batch_workspace_bytes(arrays: usize) -> usize {
    batch::workspace_bytes(arrays)
}

/// sleek_compress_async() for many arrays at once, such as the chunks of a dataset: one call takes little longer than
/// one for a single array of their total size. The streams are those of single calls.
///
/// - params: for all arrays. With mode noa and no range given, each array's own range counts.
/// - src, counts, dst, dst_capacities: for each array what sleek_compress_async() takes as src, count, dst and
///   dst_capacity. These lists are in host memory and may go away when the function returns.
/// - results: GPU memory, aligned to 8, that receives one sleek_result for each array; an array that fails does not
///   touch the others.
/// - workspace: at least sleek_batch_workspace_bytes(arrays) of GPU memory, aligned to 16.
///
/// Returns SLEEK_OK if the work was enqueued, or an error as of sleek_compress(); then nothing was enqueued for any
/// array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_compress_batch_async(
    params: *const sleek_params,
    arrays: usize,
    src: *const *const c_void,
    counts: *const usize,
    dst: *const *mut c_void,
    dst_capacities: *const usize,
    results: *mut sleek_result,
    workspace: *mut c_void,
    workspace_bytes: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        let params = sleek_params::read(params)?;
        enough(workspace_bytes, batch::workspace_bytes(arrays))?;
        let taken = |count: usize, bytes| (count.saturating_mul(params.dtype.size()), bytes);
        let items = items(arrays, (src, dst), counts, ("dst_capacities", dst_capacities), taken)?;
        batch::compress_async(&params, &items, results.cast(), workspace.cast(), stream)
    })
}

/// sleek_decompress_async() for many streams at once, on the terms of sleek_compress_batch_async().
///
/// - params: only its codec and its dtype count, for all streams.
/// - src, src_bytes: of each stream, as sleek_decompress_async() takes them.
/// - dst, counts: where each array goes, and its elements. Whole arrays are restored: a stream of another number of
///   elements is refused with SLEEK_E_OUT_OF_RANGE in its result.
///
/// Returns SLEEK_OK if the work was enqueued, or an error as of sleek_decompress(); then nothing was enqueued for any
/// stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_decompress_batch_async(
    params: *const sleek_params,
    arrays: usize,
    src: *const *const c_void,
    src_bytes: *const usize,
    dst: *const *mut c_void,
    counts: *const usize,
    results: *mut sleek_result,
    workspace: *mut c_void,
    workspace_bytes: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        let params = sleek_params::read(params)?;
        enough(workspace_bytes, batch::workspace_bytes(arrays))?;
        let taken = |count: usize, bytes| (bytes, count.saturating_mul(params.dtype.size()));
        let items = items(arrays, (src, dst), counts, ("src_bytes", src_bytes), taken)?;
        batch::decompress_async(&params, &items, results.cast(), workspace.cast(), stream)
    })
}

/// The arrays of a batch, of which lists tell the elements and the bytes of their streams; `taken` says how many bytes
/// of both buffers that are.
///
/// # Safety
/// The pointers are NULL or lists of so many `arrays`, which nobody writes during the call.
unsafe fn items(
    arrays: usize,
    (src, dst): (*const *const c_void, *const *mut c_void),
    counts: *const usize,
    (name, bytes): (&str, *const usize),
    taken: impl Fn(usize, usize) -> (usize, usize),
) -> Result<Vec<batch::Item>> {
    // SAFETY: the contract.
    let (src, dst) = unsafe { (memory::list("src", src, arrays)?, memory::list("dst", dst, arrays)?) };
    // SAFETY: as above.
    let (counts, bytes) = unsafe { (memory::list("counts", counts, arrays)?, memory::list(name, bytes, arrays)?) };
    let mut items = Vec::new();
    reserve(&mut items, arrays)?;
    for i in 0..arrays {
        let (of_src, of_dst) = taken(counts[i], bytes[i]);
        memory::apart(src[i], of_src, dst[i], of_dst)?;
        items.push(batch::Item::new(src[i].cast(), dst[i].cast(), counts[i] as u64, bytes[i] as u64));
    }
    Ok(items)
}

/// Refuses a workspace that is too small.
fn enough(workspace_bytes: usize, need: usize) -> Result<()> {
    if workspace_bytes < need {
        return fail!(BufferTooSmall, "a workspace of {workspace_bytes} bytes; {need} are needed");
    }
    Ok(())
}
