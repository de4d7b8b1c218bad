//! The GPU path: the same bytes as the CPU, for arrays and streams in device memory. A codec's side says which kernels
//! do what is asked for; the calls here are those of every codec.
//!
//! Host code only moves pointers: every decision on the data, the bound's resolution and all checks of a stream
//! included, is made by the kernels (folder `kernels/`), so a call needs no round trip before its last one.

use std::ffi::c_void;

use super::cpu::{Request, Stream};
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
use crate::runtime::cuda::driver::{self, DeviceScratch, Session};
use crate::runtime::cuda::launch::{Item, Outcome};
use crate::runtime::cuda::memory::{Operand, host_copy};
use crate::runtime::cuda::module;

pub use crate::runtime::cuda::driver::place;
pub use crate::runtime::cuda::memory::download;

/// The kernels' side of a codec; or why there is none for what is asked, which the CPU does then.
pub type Kernels = std::result::Result<&'static dyn GpuCodec, String>;

/// The kernels of `codec`, unless they have a reason to refuse.
fn kernels(codec: &'static dyn Codec, refuses: impl FnOnce(&dyn GpuCodec) -> Option<String>) -> Kernels {
    let gpu = codec.gpu().ok_or_else(|| format!("codec {} has no kernels", codec.name()))?;
    refuses(gpu).map_or(Ok(gpu), Err)
}

/// Those that compress an array of `layout`.
pub fn compressor(Request { params, codec }: Request, layout: &Layout) -> Kernels {
    let inside = params.limits.map(|_| "values that are to stay inside of limits are looked at by the CPU".into());
    kernels(codec, |gpu| inside.or_else(|| gpu.refuses(params, layout)))
}

/// Those that restore what is wanted of a stream.
fn decompressor(header: &Header, wanted: &Wanted) -> Result<Kernels> {
    Ok(kernels(codec::by_id(header.codec)?, |gpu| gpu.refuses_to_restore(header, wanted)))
}

/// Why no kernels restore streams of the codec that `params` name, if none do.
pub fn lacks(params: &Params) -> Option<String> {
    codec::named(params).map_or_else(|e| Some(e.message), |codec| kernels(codec, |_| None).err())
}

/// Why no kernels compress arrays of `count` elements, if none do.
pub fn refuses(request: Request, count: usize) -> Result<Option<String>> {
    Ok(compressor(request, &request.layout(count)?).err())
}

/// Whether a whole stream with this header can be restored by asynchronous calls with `params`.
pub fn takes(params: &Params, header: &Header) -> bool {
    let is_own = codec::named(params).is_ok_and(|codec| codec.id() == header.codec);
    let has_kernels = || decompressor(header, &header.layout.all()).is_ok_and(|kernels| kernels.is_ok());
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
    needed(kernels(codec, |_| None))
}

/// Of a call that cannot go by the CPU.
pub fn needed(kernels: Kernels) -> Result<&'static dyn GpuCodec> {
    match kernels {
        Ok(gpu) => Ok(gpu),
        Err(why) => fail!(Device, "{why}; a synchronous call goes by the CPU"),
    }
}

/// Loads the kernels that calls with `params` need, so that later calls find them; needed before a stream capture.
pub fn prepare(params: &Params, ordinal: i32, stream: *mut c_void) -> Result<()> {
    let session = Session::enter(ordinal, stream)?;
    session.pool()?;
    named_side(params)?.prepare(&session, params)
}

/// What is asked for with the undeclared fill values of an array, if the call is to search: where the array lies.
///
/// # Safety
/// Those of [`compress`].
unsafe fn declared(session: &Session, request: Request, src: *const u8, count: usize) -> Result<Option<Heap<Params>>> {
    let params = request.params;
    match (sentinel::is_wanted(params)?, place(src.cast())) {
        (false, _) => Ok(None),
        (_, MemorySpace::Host) => {
            let bytes = params.dtype.bytes_of(count)?;
            // SAFETY: the contract of this function; the null pointer of an array without elements is not looked at.
            let array = if bytes > 0 { unsafe { std::slice::from_raw_parts(src, bytes) } } else { &[] };
            request.declared(array, true).map(Some)
        }
        // SAFETY: as above.
        _ => Heap::new(unsafe { sentinel::gpu::declared(session, params.clone(), src, count) }?).map(Some),
    }
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
    let request = Request::new(params)?;
    let session = &Session::enter(ordinal, stream)?;
    // SAFETY: the contract of this function.
    let found = unsafe { declared(session, request, src, count) }?;
    let request = found.as_ref().map_or(request, |params| request.with(params));
    let params = request.params;
    let layout = request.layout(count)?;
    request.refuse_less(capacity, &layout)?;
    let room = capacity.min(request.most_bytes(count)?);
    let gpu = match compressor(request, &layout) {
        Ok(gpu) => gpu,
        Err(why) => {
            may_go_by_cpu(params.device, &why)?;
            let compress = |array: &[u8]| {
                let mut stream = filled(room, 0u8)?;
                let n = request.compress(array, &mut stream, ExecOptions::threads(params.threads))?;
                stream.truncate(n);
                Ok(stream)
            };
            // SAFETY: the contract of this function.
            return unsafe { on_host(session, (src, layout.raw_bytes as usize), dst, compress) };
        }
    };
    // SAFETY: the contract of this function; copies and workspace live until the wait for the outcome is over.
    unsafe {
        let mut workspace = DeviceScratch::take(session, WORKSPACE_BYTES)?;
        let from = Operand::input(session, src, layout.raw_bytes as usize, 1)?;
        let to = Operand::output(session, dst, room, ALIGN)?;
        let item = Item::new(from.pointer, to.pointer, layout.count, room as u64);
        gpu.compress(&Arrays::alone(session, &item, workspace.start(), None), params, &layout)?;
        let outcome = Outcome::wait(session, &mut workspace)?;
        outcome.check()?;
        to.put_back(session, dst, outcome.bytes as usize)?;
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
        Ok(Ok(gpu)) => gpu,
        other => {
            // Of a header that was not verified the CPU says whether it was written so or is damaged.
            other.map_or(Ok(()), |kernels| may_go_by_cpu(asked, &kernels.err().unwrap_or_default()))?;
            let restore = |stream: &[u8]| {
                let stream = Stream::open(stream)?;
                // As many as an unverified header says, but the index was looked at.
                let mut array = filled(bytes, 0u8)?;
                stream.restore(&mut array, ExecOptions::threads(0), |_| Ok(wanted.clone()))?;
                Ok(array)
            };
            // SAFETY: as above.
            return unsafe { on_host(session, (src, src_bytes), dst, restore) };
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

/// Does the work on the CPU, wherever both memories are; returns the bytes written.
///
/// # Safety
/// `src` and `dst` have so many bytes, and as many as come of the work.
unsafe fn on_host(
    session: &Session,
    (src, bytes): (*const u8, usize),
    dst: *mut u8,
    work: impl FnOnce(&[u8]) -> Result<Vec<u8>>,
) -> Result<usize> {
    // SAFETY: the contract of this function; the buffers live until the waits are over.
    unsafe {
        let done = work(&host_copy(session, src, bytes)?)?;
        session.copy(dst, done.as_ptr(), done.len())?;
        session.wait()?;
        Ok(done.len())
    }
}

/// The GPU to use where no pointer names one.
pub fn default_for(asked: Device) -> Result<i32> {
    match asked {
        Device::Cuda => driver::usable().map(|_| driver::default_ordinal()),
        _ => Ok(0),
    }
}

/// Copies bytes from or to memory of GPU `ordinal`, behind what is on the stream, and waits for it.
///
/// # Safety
/// Both ranges are valid, and do not overlap.
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize, ordinal: i32, stream: *mut c_void) -> Result<()> {
    let session = Session::enter(ordinal, stream)?;
    // SAFETY: the contract; what is copied is waited for.
    unsafe { session.copy(to, from, bytes) }?;
    session.wait()
}

/// What there is of GPUs: a line for each card, or one that says why there is none; and one if kernels are missing.
pub fn gpus() -> Vec<String> {
    let of_cards = driver::usable().and_then(|(version, count)| {
        let card = |ordinal| {
            let (name, major, minor) = driver::describe(ordinal)?;
            let (of, digit) = (version / 1000, version % 1000 / 10);
            Ok(format!("{name}, compute capability {major}.{minor}, driver for CUDA {of}.{digit}"))
        };
        (0..count).map(card).collect::<Result<Vec<_>>>()
    });
    let mut lines = of_cards.unwrap_or_else(|e| vec![e.message]);
    if !module::is_built() {
        lines.push("no kernels are in this build: make kernels, and build it again".into());
    }
    lines
}

/// A sentence on GPU `ordinal`, which was chosen for a reason.
pub fn describe(ordinal: i32, reason: &str) -> Result<String> {
    let (name, major, minor) = driver::describe(ordinal)?;
    let missing =
        codec::REGISTRY.iter().filter(|codec| codec.gpu().is_none()).map(|codec| codec.name()).collect::<Vec<_>>();
    let but = match missing.is_empty() {
        true => String::new(),
        false => format!("; no kernels of {}, whose work the CPU does", missing.join(", ")),
    };
    Ok(format!("cuda device {ordinal} ({name}, compute capability {major}.{minor}): {reason}{but}"))
}
