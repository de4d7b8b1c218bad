//! The GPU path: the same bytes as the CPU, for arrays and streams in device memory. A codec's side says which kernels
//! do what is asked for; the calls here are those of every codec.
//!
//! Host code only moves pointers: every decision on the data, the bound's resolution and all checks of a stream
//! included, is made by the kernels (folder `kernels/`), so a call needs no round trip before its last one.

use std::ffi::c_void;

use super::cpu;
use crate::codec::shared::gpu_codec::GpuCodec;
use crate::codec::{self, Codec};
use crate::container::constants::ALIGN;
use crate::container::{Header, Layout, Wanted};
use crate::error::{Result, fail};
use crate::exec::{ExecOptions, MemorySpace, WORKSPACE_BYTES};
use crate::host::memory::{Heap, filled};
use crate::missing::sentinel;
use crate::params::{Device, Params};
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::{DeviceScratch, Session, place};
use crate::runtime::cuda::launch::{Item, Outcome};
use crate::runtime::cuda::memory::{Operand, common_ordinal, host_copy};

/// Who does what a call in GPU memory asks for.
pub enum Worker {
    /// The kernels of a codec.
    Kernels(&'static dyn GpuCodec),
    /// The CPU, since there are no kernels for it, for this reason.
    Cpu(String),
}

impl Worker {
    /// The kernels of `codec`, unless they have a reason to refuse.
    fn of(codec: &'static dyn Codec, refuses: impl FnOnce(&dyn GpuCodec) -> Option<String>) -> Worker {
        match codec.gpu() {
            None => Worker::Cpu(format!("codec {} has no kernels", codec.name())),
            Some(gpu) => refuses(gpu).map_or(Worker::Kernels(gpu), Worker::Cpu),
        }
    }

    /// Why there are no kernels.
    fn reason(self) -> Option<String> {
        match self {
            Worker::Kernels(_) => None,
            Worker::Cpu(why) => Some(why),
        }
    }

    /// The kernels, for calls that cannot go by the CPU.
    pub fn kernels(self) -> Result<&'static dyn GpuCodec> {
        match self {
            Worker::Kernels(gpu) => Ok(gpu),
            Worker::Cpu(why) => fail!(Device, "{why}; a synchronous call goes by the CPU"),
        }
    }
}

/// Who compresses an array of `layout`.
pub fn compressor(params: &Params, layout: &Layout) -> Result<Worker> {
    let inside = params.limits.map(|_| "values that are to stay inside of limits are looked at by the CPU".into());
    Ok(Worker::of(codec::chosen(params)?, |gpu| inside.or_else(|| gpu.refuses(params, layout))))
}

/// Who restores what is wanted of a stream.
fn decompressor(header: &Header, wanted: &Wanted) -> Result<Worker> {
    Ok(Worker::of(codec::by_id(header.codec)?, |gpu| gpu.refuses_to_restore(header, wanted)))
}

/// The names of the codecs without kernels.
pub fn without_kernels() -> Vec<&'static str> {
    codec::REGISTRY.iter().filter(|codec| codec.gpu().is_none()).map(|codec| codec.name()).collect()
}

/// Why no kernels restore streams of the codec that `params` name, if none do.
pub fn lacks(params: &Params) -> Option<String> {
    codec::named(params).map_or_else(|e| Some(e.message), |codec| Worker::of(codec, |_| None).reason())
}

/// Why no kernels compress arrays of `layout`, if none do.
pub fn refuses(params: &Params, layout: &Layout) -> Result<Option<String>> {
    Ok(compressor(params, layout)?.reason())
}

/// Whether a whole stream with this header can be restored by asynchronous calls with `params`.
pub fn takes(params: &Params, header: &Header) -> bool {
    let is_own = codec::named(params).is_ok_and(|codec| codec.id() == header.codec);
    let whole = Wanted::Range { first: 0, count: header.layout.count };
    let has_kernels = || decompressor(header, &whole).is_ok_and(|worker| worker.reason().is_none());
    is_own && header.layout.dtype == params.dtype && has_kernels()
}

/// For a call that goes by the CPU: not where the GPU was demanded.
fn may_go_by_cpu(asked: Device, why: &str) -> Result<()> {
    match asked {
        Device::Cuda => fail!(Device, "device cuda was asked for: {why}; with device auto the CPU does it"),
        _ => Ok(()),
    }
}

/// The kernels' side of the codec that asynchronous calls to restore streams name.
pub fn named_side(params: &Params) -> Result<&'static dyn GpuCodec> {
    let codec = codec::named(params)?;
    codec::check_dtype(codec, params.dtype)?;
    Worker::of(codec, |_| None).kernels()
}

/// Loads the kernels that calls with `params` need, so that later calls find them; needed before a stream capture.
pub fn prepare(params: &Params, ordinal: i32, stream: *mut c_void) -> Result<()> {
    let session = Session::enter(ordinal, stream)?;
    session.pool()?;
    named_side(params)?.prepare(&session, params)
}

/// The request with the undeclared fill values of an array, if the call is to search: where the array lies.
///
/// # Safety
/// Those of [`compress`].
unsafe fn declared(
    params: &Params,
    src: *const u8,
    count: usize,
    ordinal: i32,
    stream: *mut c_void,
) -> Result<Heap<Params>> {
    if !sentinel::is_wanted(params)? {
        return Heap::new(params.clone());
    }
    codec::chosen(params)?;
    let session = Session::enter(ordinal, stream)?;
    if place(src.cast()) == MemorySpace::Host {
        let bytes = count.saturating_mul(params.dtype.size());
        // SAFETY: the contract of this function; the null pointer of an array without elements is not looked at.
        let array = if bytes > 0 { unsafe { std::slice::from_raw_parts(src, bytes) } } else { &[] };
        return Heap::new(sentinel::declared(params.clone(), array)?);
    }
    // SAFETY: the contract of this function.
    Heap::new(unsafe { sentinel::gpu::declared(&session, params.clone(), src, count) }?)
}

/// Refuses a call that cannot wait for what is found.
pub fn refuse_search(params: &Params) -> Result<()> {
    match sentinel::is_wanted(params)? {
        true => fail!(
            InvalidArgument,
            "find_fill in an asynchronous call or a batch; the host would have to wait for what is found: a \
            synchronous call of one array does"
        ),
        false => Ok(()),
    }
}

/// Compresses on the GPU, wherever the two buffers are; returns the bytes of the stream.
///
/// # Safety
/// `src` holds `count` elements and `dst` `capacity` bytes, in host, device or managed memory; `stream` is null or a
/// stream.
pub unsafe fn compress(
    params: &Params,
    src: *const u8,
    count: usize,
    dst: *mut u8,
    capacity: usize,
    ordinal: i32,
    stream: *mut c_void,
) -> Result<usize> {
    // SAFETY: the contract of this function.
    let params = &*unsafe { declared(params, src, count, ordinal, stream) }?;
    let layout = codec::layout(params, count as u64)?;
    let enough = cpu::compress_bound(params, count)?;
    if capacity < layout.bodies_at() {
        return fail!(
            BufferTooSmall,
            "{capacity} bytes; header and index take {}, {enough} are always enough",
            layout.bodies_at()
        );
    }
    let room = capacity.min(enough);
    let compressor = compressor(params, &layout)?;
    let session = Session::enter(ordinal, stream)?;
    let gpu = match compressor {
        Worker::Kernels(gpu) => gpu,
        Worker::Cpu(why) => {
            may_go_by_cpu(params.device, &why)?;
            // SAFETY: the contract of this function.
            return unsafe { compress_on_host(&session, params, &layout, src, dst, room) };
        }
    };
    // SAFETY: the contract of this function; copies and workspace live until the wait for the outcome is over.
    unsafe {
        let mut workspace = DeviceScratch::take(&session, WORKSPACE_BYTES)?;
        let from = Operand::input(&session, src, layout.raw_bytes as usize, 1)?;
        let to = Operand::output(&session, dst, room, ALIGN)?;
        let item = Item::new(from.pointer, to.pointer, layout.count, room as u64);
        gpu.compress(&Arrays::alone(&session, &item, workspace.start(), None), params, &layout)?;
        let outcome = Outcome::wait(&session, &mut workspace)?;
        outcome.check()?;
        to.put_back(&session, dst, outcome.bytes as usize)?;
        Ok(outcome.bytes as usize)
    }
}

/// Restores on the GPU what `wanted` says of the stream's header; returns the bytes written.
///
/// # Safety
/// `src` holds `src_bytes` and `dst` `capacity` bytes, in host, device or managed memory; `stream` is null or a stream.
pub unsafe fn decompress(
    asked: Device,
    (src, src_bytes): (*const u8, usize),
    wanted: impl FnOnce(&Header) -> Result<Wanted>,
    (dst, capacity): (*mut u8, usize),
    (ordinal, stream): (i32, *mut c_void),
) -> Result<usize> {
    let session = &Session::enter(ordinal, stream)?;
    // SAFETY: the contract of this function, here and below.
    let header = &unsafe { read_header(session, src, src_bytes) }?;
    let wanted = &wanted(header)?;
    let (count, size) = (wanted.count(), header.layout.dtype.size());
    let bytes = (count as usize).saturating_mul(size);
    if capacity < bytes {
        return fail!(BufferTooSmall, "{capacity} bytes; {count} elements take {bytes}");
    }
    let gpu = match decompressor(header, wanted) {
        Ok(Worker::Kernels(gpu)) => gpu,
        other => {
            // Of a header that was not verified the CPU says whether it was written so or is damaged.
            other.map_or(Ok(()), |worker| may_go_by_cpu(asked, &worker.reason().unwrap_or_default()))?;
            // SAFETY: as above.
            return unsafe { decompress_on_host(session, (src, src_bytes), (dst, bytes), wanted.clone()) };
        }
    };
    // Elements of a box are stored one by one.
    let (count, align) = if wanted.on_level().is_some() { (header.layout.count, size) } else { (count, 1) };
    // SAFETY: as above; copies and workspace live until the wait for the outcome is over.
    unsafe {
        let mut workspace = DeviceScratch::take(session, WORKSPACE_BYTES)?;
        let from = Operand::input(session, src, src_bytes, ALIGN)?;
        let to = Operand::output(session, dst, bytes, align)?;
        let item = Item::new(from.pointer, to.pointer, count, src_bytes as u64);
        let arrays = Arrays::alone(session, &item, workspace.start(), None);
        gpu.decompress(&arrays, header.layout.dtype, wanted, Some(header))?;
        Outcome::wait(session, &mut workspace)?.check()?;
        to.put_back(session, dst, bytes)?;
        Ok(bytes)
    }
}

/// Reads what is needed to launch, and refuses what the header alone shows; the kernel checks it all.
///
/// # Safety
/// `src` holds `bytes`, anywhere.
unsafe fn read_header(session: &Session, src: *const u8, bytes: usize) -> Result<Header> {
    // SAFETY: the contract of this function.
    let header = Header::fetch(bytes, |n| unsafe { host_copy(session, src, n) })?;
    if bytes as u64 > header.stream_bytes {
        return fail!(Corrupt, "{} bytes follow the end of the stream", bytes as u64 - header.stream_bytes);
    }
    Ok(header)
}

/// Compresses on the CPU what may lie in device memory.
///
/// # Safety
/// `src` holds an array of `layout`, `dst` has `room` bytes, wherever they are.
unsafe fn compress_on_host(
    session: &Session,
    params: &Params,
    layout: &Layout,
    src: *const u8,
    dst: *mut u8,
    room: usize,
) -> Result<usize> {
    let mut stream = filled(room, 0u8)?;
    // SAFETY: the contract of this function; the buffers live until the waits are over.
    unsafe {
        let array = host_copy(session, src, layout.raw_bytes as usize)?;
        let n = cpu::compress_into(params, &array, &mut stream, ExecOptions::threads(params.threads))?;
        session.copy(dst, stream.as_ptr(), n)?;
        session.wait()?;
        Ok(n)
    }
}

/// Restores on the CPU what may lie in device memory. Its bytes are what an unverified header says, so they are
/// allocated only after the index was looked at.
///
/// # Safety
/// `src` and `dst` have so many bytes, wherever they are.
unsafe fn decompress_on_host(
    session: &Session,
    (src, src_bytes): (*const u8, usize),
    (dst, bytes): (*mut u8, usize),
    wanted: Wanted,
) -> Result<usize> {
    // SAFETY: the contract of this function; the buffers live until the waits are over.
    unsafe {
        let stream = host_copy(session, src, src_bytes)?;
        let stream = cpu::Stream::open(&stream)?;
        let mut array = filled(bytes, 0u8)?;
        let n = stream.restore(&mut array, ExecOptions::threads(0), |_| Ok(wanted))?;
        session.copy(dst, array.as_ptr(), n)?;
        session.wait()?;
        Ok(n)
    }
}

/// Enqueues a compression and returns at once; `outcome` in device memory receives {u64 bytes, u32 status, u32 0}.
///
/// # Safety
/// Every pointer is device memory that stays valid until the stream has passed, `workspace` of `WORKSPACE_BYTES`.
#[allow(clippy::too_many_arguments)] // those of the C function
pub unsafe fn compress_async(
    params: &Params,
    src: *const u8,
    count: usize,
    dst: *mut u8,
    capacity: usize,
    outcome: *mut u8,
    workspace: *mut u8,
    stream: *mut c_void,
) -> Result<()> {
    refuse_search(params)?;
    let layout = codec::layout(params, count as u64)?;
    let gpu = compressor(params, &layout)?.kernels()?;
    let ordinal = common_ordinal(&[(dst, ALIGN, "dst"), (workspace, ALIGN, "workspace"), (outcome, 8, "result")])?;
    if capacity < layout.bodies_at() {
        return fail!(BufferTooSmall, "{capacity} bytes; header and index take {}", layout.bodies_at());
    }
    let session = Session::enter(ordinal, stream)?;
    let item = Item::new(src, dst, layout.count, capacity as u64);
    // SAFETY: the contract.
    unsafe { gpu.compress(&Arrays::alone(&session, &item, workspace, Some(outcome.cast())), params, &layout) }
}

/// Enqueues a decompression of elements `first .. first + count` and returns at once; `outcome` as for
/// `compress_async`. Of `params` codec and element type count.
///
/// # Safety
/// As for `compress_async`.
#[allow(clippy::too_many_arguments)] // those of the C function
pub unsafe fn decompress_async(
    params: &Params,
    src: *const u8,
    src_bytes: usize,
    dst: *mut u8,
    (first, count): (u64, u64),
    outcome: *mut u8,
    workspace: *mut u8,
    stream: *mut c_void,
) -> Result<()> {
    Layout::new(params.dtype, count)?;
    let gpu = named_side(params)?;
    let ordinal =
        common_ordinal(&[(src.cast_mut(), ALIGN, "src"), (workspace, ALIGN, "workspace"), (outcome, 8, "result")])?;
    let session = Session::enter(ordinal, stream)?;
    let item = Item::new(src, dst, count, src_bytes as u64);
    let streams = Arrays::alone(&session, &item, workspace, Some(outcome.cast()));
    // SAFETY: the contract.
    unsafe { gpu.decompress(&streams, params.dtype, &Wanted::Range { first, count }, None) }
}
