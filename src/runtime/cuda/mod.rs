//! The GPU path: the same bytes as the CPU, for arrays and streams in device memory.
//!
//! Host code here only moves pointers: every decision on the data, the bound's resolution and all checks of a stream
//! included, is made by the kernels (folder `kernels/`), so a call needs no round trip before its last one.

pub mod archive;
pub mod batch;
pub(crate) mod driver;
pub(crate) mod hyperslab;
pub mod launch;
pub(crate) mod module;

use std::ffi::c_void;

use crate::bound;
use crate::codec;
use crate::codec::sleek::constants::CODEC_SLEEK;
use crate::container::constants::*;
use crate::container::{Header, Layout, Region, Shape};
use crate::dtype::DType;
use crate::error::{Error, Kind, Result, fail};
use crate::exec::MemorySpace;
use crate::host::memory::filled;
use crate::params::{Mode, Params, Profile};
use crate::primitives::quantize::mantissa_and_bias;
use driver::{Buffer, Scratch, Session};
use launch::{Batch, CompressArgs, DecompressArgs, Item, Outcome, PIECE_BYTES, Slot};
use module::{Kernel, Module};

pub use driver::{default_ordinal, describe, place, usable};

pub use crate::route::WORKSPACE_BYTES;
const _: () = assert!(size_of::<Slot>() + size_of::<Outcome>() <= WORKSPACE_BYTES);

/// Blocks of the kernel before compression, at most, that start the first part of an array alone on its way to the
/// second-level cache: 4 MiB. With more, compression waits for them.
const AHEAD_BLOCKS: u64 = 128;

/// Loads the kernels of an element type, so that later calls find them; needed before a stream capture.
pub fn prepare(dtype: DType, ordinal: i32, stream: *mut c_void) -> Result<()> {
    let session = Session::enter(ordinal, stream)?;
    module::load(&session, CODEC_SLEEK, dtype)?;
    module::load_general(&session, CODEC_SLEEK, dtype)?;
    module::load_adaptive(&session, CODEC_SLEEK, dtype).map(|_| ())
}

/// A batch of one array of so many chunks, whose slot begins the workspace; the outcome lies behind the slot where no
/// place for it is given.
fn alone(item: Item, chunks: u64, kernel: Kernel, workspace: *mut u8, outcome: Option<*mut Outcome>) -> Batch {
    let slots = workspace.cast::<Slot>();
    let outcomes = outcome.unwrap_or(outcome_in(workspace));
    let work_slots = kernel.work_slots_alone(chunks);
    Batch { only: item, items: std::ptr::null(), slots, outcomes, work_slots, count: 1, zero: 0 }
}

fn is_aligned(pointer: *const u8) -> bool {
    (pointer as usize).is_multiple_of(ALIGN)
}

/// Where a synchronous call has its outcome.
fn outcome_in(workspace: *mut u8) -> *mut Outcome {
    workspace.wrapping_add(size_of::<Slot>()).cast()
}

/// What mode rel rounds off.
fn mantissa_bits_to_drop(params: &Params) -> u32 {
    let mantissa = mantissa_and_bias(params.dtype).0;
    match params.mode {
        Mode::Rel => mantissa - bound::rel_mantissa_bits(params.bound, mantissa),
        _ => 0,
    }
}

/// The kernel that compresses, where all sources are `aligned` to 16 or some are not.
fn compressor(session: &Session, kernels: &Module, params: &Params, aligned: bool) -> Result<Kernel> {
    let plain = aligned && mantissa_bits_to_drop(params) == 0 && !params.big_endian;
    let special = match params.profile {
        Profile::Adaptive if plain => module::load_adaptive(session, CODEC_SLEEK, params.dtype)?,
        Profile::Fast if plain && params.dtype.is_float() => kernels.compress_fast,
        _ => None,
    };
    special.map_or_else(|| module::load_general(session, CODEC_SLEEK, params.dtype), Ok)
}

/// Enqueues compression by one of the kernels; `layout` is that of the largest array.
///
/// # Safety
/// Every item has `count` elements at `src` and `bytes` at `dst`, which is aligned to 16; there is a slot and an
/// outcome for each. All is device memory that stays valid until the stream has passed.
unsafe fn enqueue_compress(
    session: &Session,
    params: &Params,
    batch: Batch,
    layout: &Layout,
    kernels: &Module,
    compress: Kernel,
) -> Result<()> {
    let drop = mantissa_bits_to_drop(params);
    let args = CompressArgs {
        batch,
        bound: params.bound,
        range: params.range.unwrap_or(0.0),
        fill: params.fill_number().unwrap_or(0.0),
        dtype: params.dtype as u32,
        mode: params.mode as u32,
        fast: (params.profile == Profile::Fast).into(),
        big_endian: params.big_endian.into(),
        has_range: params.range.is_some().into(),
        has_fill: params.fill_number().is_some().into(),
        rounded: (drop > 0).into(),
        drop,
    };
    // SAFETY: the contract of this function; what kernels add up in the slots is zeroed before.
    unsafe {
        if let (Mode::Noa, None, Some(range)) = (params.mode, params.range, kernels.range) {
            session.clear(batch.slots.cast(), batch.count as usize * size_of::<Slot>())?;
            let pieces = layout.raw_bytes.div_ceil(PIECE_BYTES);
            range.launch(session, range.blocks_each(batch.count, pieces), &args)?;
        }
        let begin = kernels.begin_compress;
        let index = (layout.bodies_at() as u64).div_ceil(PIECE_BYTES);
        let ahead = layout.raw_bytes.div_ceil(PIECE_BYTES).min(AHEAD_BLOCKS);
        let pieces = if batch.items.is_null() { index.max(ahead) } else { index };
        begin.launch(session, begin.blocks_each(batch.count, pieces), &args)?;
        if batch.work_slots > 0 {
            compress.launch(session, compress.blocks(batch.work_slots), &args)?;
        }
        Ok(())
    }
}

/// Enqueues decompression from element `first` on: of the whole arrays in a batch of several.
///
/// # Safety
/// Every item has `bytes` at `src`, which is aligned to 16, and room for `count` elements at `dst`; the rest as for
/// `enqueue_compress`.
unsafe fn enqueue_decompress(
    session: &Session,
    dtype: DType,
    batch: Batch,
    first: u64,
    kernels: &Module,
) -> Result<()> {
    let args = DecompressArgs { batch, first, dtype: dtype as u32, zero: 0 };
    // SAFETY: the contract of this function; the slots are zeroed before the kernel uses them.
    unsafe {
        session.clear(batch.slots.cast(), batch.count as usize * size_of::<Slot>())?;
        kernels.decompress.launch(session, kernels.decompress.blocks(batch.work_slots), &args)
    }
}

/// Chunks to look at for `count` elements anywhere in an array: theirs, and the rest of the groups at both ends.
fn chunks_of_range(dtype: DType, count: u64) -> u64 {
    (count * dtype.size() as u64).div_ceil(CHUNK_BYTES as u64) + 2 * GROUP_CHUNKS as u64
}

/// Memory of the caller as a kernel can use it: in place, or a copy on the device.
struct Operand {
    copy: Option<Buffer>,
    pointer: *mut u8,
}

impl Operand {
    /// # Safety
    /// `pointer` is valid for `bytes`, and stays so until the stream has passed; it is only read if `read`.
    unsafe fn new(session: &Session, pointer: *mut u8, bytes: usize, read: bool, align: usize) -> Result<Operand> {
        let reachable = match place(pointer.cast()) {
            MemorySpace::Device(d) | MemorySpace::Managed(d) => d == session.ordinal,
            MemorySpace::Host => false,
        };
        if reachable && (pointer as usize).is_multiple_of(align) {
            return Ok(Operand { copy: None, pointer });
        }
        let buffer = session.allocate(bytes)?;
        if read {
            // SAFETY: the contract; the buffer holds `bytes`.
            unsafe { session.copy(buffer.start(), pointer, bytes) }?;
        }
        let pointer = buffer.start();
        Ok(Operand { copy: Some(buffer), pointer })
    }
}

/// The device's result of a call, after everything before it.
fn outcome(session: &Session, workspace: &mut Scratch) -> Result<Outcome> {
    let mut result = Outcome { bytes: 0, status: 0, zero: 0 };
    let at = outcome_in(workspace.start());
    // SAFETY: the workspace is alive, the local too until the wait is over.
    unsafe { session.copy((&raw mut result).cast(), at.cast(), size_of::<Outcome>()) }?;
    session.wait()?;
    workspace.done();
    Ok(result)
}

impl Outcome {
    /// The error that it tells of, if it does.
    pub(crate) fn check(&self) -> Result<()> {
        if self.status == 0 { Ok(()) } else { failed(*self) }
    }
}

fn failed<T>(outcome: Outcome) -> Result<T> {
    let kind = Kind::ALL.into_iter().find(|k| k.code() == outcome.status as i32).unwrap_or(Kind::Internal);
    let message = match kind {
        Kind::BufferTooSmall => "the stream does not fit the destination",
        Kind::Corrupt => "a checksum or a check of the stream's structure failed on the GPU",
        Kind::Truncated => "the stream ends before its stated length",
        Kind::UnsupportedFormat => "the stream's version, codec or flags are not known to this library",
        Kind::NotSleek => "the first bytes are not those of a SLEEK stream",
        Kind::OutOfRange => "the array does not have these elements",
        _ => "the GPU reported an unknown state",
    };
    Err(Error::new(kind, message))
}

/// Compresses on the GPU, wherever the two buffers are; returns the bytes of the stream.
///
/// # Safety
/// `src` holds `count` elements and `dst` `capacity` bytes, in host, device or managed memory; `stream` is null or a stream.
pub unsafe fn compress(
    params: &Params,
    src: *const u8,
    count: usize,
    dst: *mut u8,
    capacity: usize,
    ordinal: i32,
    stream: *mut c_void,
) -> Result<usize> {
    let layout = codec::layout(params, count as u64)?;
    if capacity < layout.bodies_at() {
        return fail!(
            BufferTooSmall,
            "{capacity} bytes; header and index take {}, {} are always enough",
            layout.bodies_at(),
            layout.max_stream_bytes()?
        );
    }
    let room = capacity.min(layout.max_stream_bytes()?);
    let session = Session::enter(ordinal, stream)?;
    if !has_kernels(&layout) {
        // SAFETY: the contract of this function.
        return unsafe { compress_on_host(&session, params, &layout, src, dst, room) };
    }
    // SAFETY: the contract of this function; copies and workspace live until the wait in `outcome` is over.
    unsafe {
        let mut workspace = Scratch::take(&session, WORKSPACE_BYTES)?;
        let from = Operand::new(&session, src.cast_mut(), layout.raw_bytes as usize, true, 1)?;
        let to = Operand::new(&session, dst, room, false, ALIGN)?;
        let item = Item::new(from.pointer, to.pointer, layout.count, room as u64);
        let kernels = module::load(&session, CODEC_SLEEK, params.dtype)?;
        let kernel = compressor(&session, &kernels, params, is_aligned(from.pointer))?;
        let batch = alone(item, layout.chunks as u64, kernel, workspace.start(), None);
        enqueue_compress(&session, params, batch, &layout, &kernels, kernel)?;
        let result = outcome(&session, &mut workspace)?;
        if result.status != 0 {
            return failed(result);
        }
        if to.copy.is_some() {
            session.copy(dst, to.pointer, result.bytes as usize)?;
            session.wait()?;
        }
        Ok(result.bytes as usize)
    }
}

/// Restores the whole array, or elements `range` of it, on the GPU; returns the bytes written.
///
/// # Safety
/// `src` holds `src_bytes` and `dst` `capacity` bytes, in host, device or managed memory; `stream` is null or a stream.
pub unsafe fn decompress(
    src: *const u8,
    src_bytes: usize,
    range: Option<(u64, usize)>,
    dst: *mut u8,
    capacity: usize,
    ordinal: i32,
    stream: *mut c_void,
) -> Result<usize> {
    let session = Session::enter(ordinal, stream)?;
    // SAFETY: the contract of this function; copies and workspace live until the wait in `outcome` is over.
    unsafe {
        let layout = read_layout(&session, src, src_bytes)?;
        if !has_decoder(&layout) {
            return decompress_on_host(&session, src, src_bytes, range, dst, capacity);
        }
        let size = layout.dtype.size();
        let (first, count) = match range {
            None => (0, layout.count),
            Some((first, count)) => {
                if first.checked_add(count as u64).is_none_or(|end| end > layout.count) {
                    return fail!(OutOfRange, "{count} elements from {first} on; the array has {}", layout.count);
                }
                (first, count as u64)
            }
        };
        let bytes = count as usize * size;
        if capacity < bytes {
            return fail!(BufferTooSmall, "{capacity} bytes; {count} elements take {bytes}");
        }
        let mut workspace = Scratch::take(&session, WORKSPACE_BYTES)?;
        let from = Operand::new(&session, src.cast_mut(), src_bytes, true, ALIGN)?;
        let to = Operand::new(&session, dst, bytes, false, 1)?;
        let item = Item::new(from.pointer, to.pointer, count, src_bytes as u64);
        let kernels = module::load(&session, CODEC_SLEEK, layout.dtype)?;
        let chunks = chunks_of_range(layout.dtype, count);
        let batch = alone(item, chunks, kernels.decompress, workspace.start(), None);
        enqueue_decompress(&session, layout.dtype, batch, first, &kernels)?;
        let result = outcome(&session, &mut workspace)?;
        if result.status != 0 {
            return failed(result);
        }
        if to.copy.is_some() {
            session.copy(dst, to.pointer, bytes)?;
            session.wait()?;
        }
        Ok(bytes)
    }
}

/// Reads what is needed to launch, and refuses what the header alone shows; the kernel checks it all.
///
/// # Safety
/// `src` holds `bytes`, anywhere.
unsafe fn read_layout(session: &Session, src: *const u8, bytes: usize) -> Result<Layout> {
    // SAFETY: the contract of this function.
    let copy = |n| unsafe { host_copy(session, src, bytes.min(n)) };
    let mut head = copy(HEADER_BYTES + EXTENSION_BYTES)?;
    if Header::bytes_of(&head) > head.len() {
        head = copy(Header::bytes_of(&head))?;
    }
    let header = Header::peek(&head, bytes as u64)?;
    if bytes as u64 > header.stream_bytes {
        return fail!(Corrupt, "{} bytes follow the end of the stream", bytes as u64 - header.stream_bytes);
    }
    Ok(header.layout)
}

/// Whether the kernels restore streams of `layout`: whatever the dimensions and missing values.
fn has_decoder(layout: &Layout) -> bool {
    let line = Shape::line(layout.count);
    layout.shape == Shape { dims: layout.shape.dims, missing: layout.shape.missing, ..line }
}

/// Whether the kernels make streams of `layout`.
fn has_kernels(layout: &Layout) -> bool {
    layout.shape.is_plain()
}

/// The same, for calls that cannot go by the CPU.
fn demand_kernels(layout: &Layout) -> Result<()> {
    if has_kernels(layout) {
        return Ok(());
    }
    fail!(
        Device,
        "there are no kernels for dimensions {} with {} missing values; a synchronous call goes by the CPU",
        layout.shape.dims,
        layout.shape.missing.len()
    )
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
        let n = crate::compress_into(params, &array, &mut stream)?;
        session.copy(dst, stream.as_ptr(), n)?;
        session.wait()?;
        Ok(n)
    }
}

/// Restores on the CPU what may lie in device memory.
///
/// # Safety
/// `src` holds `src_bytes`, `dst` has `capacity` bytes, wherever they are.
unsafe fn decompress_on_host(
    session: &Session,
    src: *const u8,
    src_bytes: usize,
    range: Option<(u64, usize)>,
    dst: *mut u8,
    capacity: usize,
) -> Result<usize> {
    // SAFETY: the contract of this function; the buffers live until the waits are over.
    unsafe {
        let stream = host_copy(session, src, src_bytes)?;
        let layout = Header::read(&stream)?.layout;
        let count = range.map_or(layout.count as usize, |(_, count)| count);
        let mut array = filled(count.saturating_mul(layout.dtype.size()).min(capacity), 0u8)?;
        let n = match range {
            None => crate::decompress_into(&stream, &mut array)?,
            Some((first, count)) => codec::decompress_range_into(&stream, first, count, &mut array)?,
        };
        session.copy(dst, array.as_ptr(), n)?;
        session.wait()?;
        Ok(n)
    }
}

/// Restores the box of `lens` elements from `start` on, on the CPU; returns the bytes written.
///
/// # Safety
/// `src` holds `src_bytes`, `dst` has `capacity` bytes, wherever they are.
pub unsafe fn decompress_box(
    src: *const u8,
    src_bytes: usize,
    (start, lens): (&[u64], &[u64]),
    dst: *mut u8,
    capacity: usize,
    ordinal: i32,
    stream: *mut c_void,
) -> Result<usize> {
    let session = Session::enter(ordinal, stream)?;
    // SAFETY: the contract of this function; the buffers live until the waits are over.
    unsafe {
        let stream = host_copy(&session, src, src_bytes)?;
        let layout = Header::read(&stream)?.layout;
        let bytes = Region::new(&layout.shape.dims, start, lens)?.count() as usize * layout.dtype.size();
        let mut array = filled(bytes.min(capacity), 0u8)?;
        let n = codec::decompress_box_into(&stream, start, lens, &mut array)?;
        session.copy(dst, array.as_ptr(), n)?;
        session.wait()?;
        Ok(n)
    }
}

/// A copy in host memory.
///
/// # Safety
/// `src` holds `bytes`, wherever it is.
unsafe fn host_copy(session: &Session, src: *const u8, bytes: usize) -> Result<Vec<u8>> {
    let mut host = filled(bytes, 0u8)?;
    // SAFETY: the contract; the vector lives until the wait is over.
    unsafe { session.copy(host.as_mut_ptr(), src, bytes) }?;
    session.wait()?;
    Ok(host)
}

/// The bytes of a stream in device memory, as host memory.
///
/// # Safety
/// `src` holds `bytes` of device memory.
pub unsafe fn download(src: *const u8, bytes: usize, ordinal: i32, stream: *mut c_void) -> Result<Vec<u8>> {
    let session = Session::enter(ordinal, stream)?;
    // SAFETY: the contract.
    unsafe { host_copy(&session, src, bytes) }
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
    let layout = codec::layout(params, count as u64)?;
    demand_kernels(&layout)?;
    let ordinal = async_ordinal(&[(dst, ALIGN, "dst"), (workspace, ALIGN, "workspace"), (outcome, 8, "result")])?;
    if capacity < layout.bodies_at() {
        return fail!(BufferTooSmall, "{capacity} bytes; header and index take {}", layout.bodies_at());
    }
    let session = Session::enter(ordinal, stream)?;
    let item = Item::new(src, dst, layout.count, capacity as u64);
    let kernels = module::load(&session, CODEC_SLEEK, params.dtype)?;
    let kernel = compressor(&session, &kernels, params, is_aligned(src))?;
    let batch = alone(item, layout.chunks as u64, kernel, workspace, Some(outcome.cast()));
    // SAFETY: the contract.
    unsafe { enqueue_compress(&session, params, batch, &layout, &kernels, kernel) }
}

/// Enqueues a decompression of elements `first .. first + count` and returns at once; `outcome` as for
/// `compress_async`.
///
/// # Safety
/// As for `compress_async`.
#[allow(clippy::too_many_arguments)] // those of the C function
pub unsafe fn decompress_async(
    dtype: DType,
    src: *const u8,
    src_bytes: usize,
    dst: *mut u8,
    elements: (u64, u64),
    outcome: *mut u8,
    workspace: *mut u8,
    stream: *mut c_void,
) -> Result<()> {
    Layout::new(dtype, elements.1)?;
    let ordinal =
        async_ordinal(&[(src.cast_mut(), ALIGN, "src"), (workspace, ALIGN, "workspace"), (outcome, 8, "result")])?;
    let session = Session::enter(ordinal, stream)?;
    let (first, count) = elements;
    let item = Item::new(src, dst, count, src_bytes as u64);
    let kernels = module::load(&session, CODEC_SLEEK, dtype)?;
    let batch = alone(item, chunks_of_range(dtype, count), kernels.decompress, workspace, Some(outcome.cast()));
    // SAFETY: the contract.
    unsafe { enqueue_decompress(&session, dtype, batch, first, &kernels) }
}

/// The device that all pointers of an asynchronous call lie on.
fn async_ordinal(pointers: &[(*mut u8, usize, &str)]) -> Result<i32> {
    let mut found = None;
    for (pointer, align, name) in pointers {
        if !(*pointer as usize).is_multiple_of(*align) {
            return fail!(InvalidArgument, "{name} must be aligned to {align} bytes in an asynchronous call");
        }
        match place(pointer.cast_const().cast()) {
            MemorySpace::Device(d) | MemorySpace::Managed(d) if found.is_none_or(|f| f == d) => found = Some(d),
            MemorySpace::Host => return fail!(InvalidArgument, "{name} must be device memory in an asynchronous call"),
            _ => return fail!(InvalidArgument, "{name} lies on another device than the other pointers"),
        }
    }
    found.map_or_else(|| fail!(Internal, "no pointer was given"), Ok)
}
