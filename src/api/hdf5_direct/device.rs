//! Chunks on the GPU that has the data. Batches of them are gathered, compressed and packed by a few launches on the
//! caller's stream; the host copies what is left of one batch and hands it to HDF5 while the GPU works on the next.
//! Reading goes the other way.

use std::ffi::c_void;
use std::ops::Range;

use super::dataset::{Dataset, Stored};
use super::host::{expect, raw_chunk};
use super::plan::{Direct, Done};
use crate::api::hdf5_filter::{bytes_of_chunk, cd_values::CdValues};
use crate::container::Header;
use crate::container::constants::ALIGN;
use crate::error::Result;
use crate::host::memory::{gathered, reserve};
use crate::route::batch::{self, Item};
use crate::route::{cpu, device};
use crate::runtime::cuda::driver::{Buffer, Pinned, Session};
use crate::runtime::cuda::hyperslab::{Hyperslabs, SlabArgs};
use crate::runtime::cuda::launch::{MAX_DIMS, Outcome};

/// Data of a batch; enough to fill a GPU, and little enough to keep two of them in pinned memory.
const BATCH_BYTES: usize = 128 << 20;
const BATCH_CHUNKS: usize = 1024;

/// Why the GPU's kernels do not take these chunks, if they do not.
pub fn refuses(direct: &Direct, array: *const u8) -> Option<String> {
    let boxes = &direct.boxes;
    // Of elements that nobody told the filter takes words of another width.
    let is_told = CdValues::decode(&direct.words).is_ok_and(|values| values.element.is_some());
    let why = if !is_told || boxes.element != direct.params.dtype.size() {
        "chunks of arrays or odd numbers".into()
    } else if boxes.tile.len() > MAX_DIMS {
        format!("chunks of {} dimensions, more than {MAX_DIMS}", boxes.tile.len())
    } else if !(array as usize).is_multiple_of(boxes.element) {
        "chunks of numbers at odd addresses".into()
    } else {
        device::lacks(&direct.params)?
    };
    Some(format!("{why}, copied to or from the host"))
}

/// The same for writing.
pub fn refuses_to_write(direct: &Direct, array: *const u8) -> Result<Option<String>> {
    if direct.params.bound.measures() {
        return Ok(Some("chunks whose range is measured, copied from the host".into()));
    }
    if let Some(why) = refuses(direct, array) {
        return Ok(Some(why));
    }
    let why = device::refuses(direct.request(), elements(direct) as usize)?;
    Ok(why.map(|why| format!("{why}: chunks copied from the host")))
}

/// Elements of a chunk.
fn elements(direct: &Direct) -> u64 {
    (direct.boxes.chunk_bytes() / direct.boxes.element) as u64
}

/// Waits for the stream when dropped: pinned memory goes back only when no copy uses it.
struct Settled<'a>(&'a Session);

impl Drop for Settled<'_> {
    fn drop(&mut self) {
        // What is left after an error is of no use.
        let _ = self.0.wait();
    }
}

/// What a transfer has on the GPU.
struct Work<'a> {
    session: &'a Session,
    kernels: Hyperslabs,
    direct: &'a Direct,
    args: SlabArgs,
    /// Chunks of a batch.
    batch: usize,
    /// Bytes from one chunk or stream to the next.
    stride: usize,
    /// Chunks as they are in the dataset; when they are compressed, the packed streams.
    chunks: Buffer,
    outcomes: Buffer,
    workspace: Buffer,
}

impl<'a> Work<'a> {
    fn new(session: &'a Session, direct: &'a Direct, array: *mut u8) -> Result<Work<'a>> {
        let boxes = &direct.boxes;
        let bytes = boxes.chunk_bytes();
        let stride = direct.request().most_bytes(bytes / boxes.element)?.next_multiple_of(256);
        let batch = (BATCH_BYTES / bytes).clamp(1, BATCH_CHUNKS).min(boxes.len());
        let mut pad = [0u8; 8];
        pad[..boxes.element].copy_from_slice(&direct.pad);
        Ok(Work {
            session,
            kernels: Hyperslabs::load(session, boxes.element)?,
            direct,
            args: SlabArgs::new(array, &boxes.array, &boxes.tile, u64::from_le_bytes(pad), direct.swap > 1),
            batch,
            stride,
            chunks: session.allocate(batch * stride)?,
            outcomes: session.allocate(batch * size_of::<Outcome>())?,
            workspace: session.allocate(batch::workspace_bytes(batch))?,
        })
    }

    fn batches(&self) -> usize {
        self.direct.boxes.len().div_ceil(self.batch)
    }

    /// The chunks of batch `b`.
    fn members(&self, b: usize) -> Range<usize> {
        b * self.batch..((b + 1) * self.batch).min(self.direct.boxes.len())
    }

    /// Where chunk `i` of a batch lies.
    fn chunk(&self, i: usize) -> *mut u8 {
        self.chunks.start().wrapping_add(i * self.stride)
    }

    /// Whether the bytes begin like a stream of a chunk; the GPU checks all of it.
    fn takes(&self, stream: &[u8]) -> bool {
        let params = &self.direct.params;
        let is_right = |h: &Header| h.layout.count == elements(self.direct) && h.big_endian == params.big_endian;
        let of_chunk = |h: Header| device::takes(params, &h) && is_right(&h);
        Header::peek(stream, stream.len() as u64).is_ok_and(of_chunk)
    }

    /// Enqueues the compression of batch `b`, and the copy of its outcomes to `outcomes`.
    ///
    /// # Safety
    /// The array and `slots`, room for a batch, are there until the stream has passed; so is `outcomes`.
    unsafe fn compress(&self, b: usize, slots: &Buffer, outcomes: &mut Pinned, stream: *mut c_void) -> Result<()> {
        let (members, stride) = (self.members(b), self.stride as u64);
        let n = members.len();
        let args =
            SlabArgs { chunks: self.chunks.start(), stride, first: members.start as u64, count: n as u64, ..self.args };
        let slot = |i: usize| slots.start().wrapping_add(i * self.stride);
        let items = gathered((0..n).map(|i| Item::new(self.chunk(i), slot(i), elements(self.direct), stride)))?;
        let left = self.outcomes.start();
        outcomes.reserve(n * size_of::<Outcome>())?;
        // SAFETY: the contract; the buffers were made for a batch. The packed streams take the place of the chunks when
        // those are compressed.
        unsafe {
            self.kernels.gather(self.session, &args)?;
            batch::compress_async(&self.direct.params, &items, left, self.workspace.start(), stream)?;
            self.kernels.pack(self.session, slots.start(), self.stride, left.cast(), self.chunks.start(), n)?;
            self.session.copy(outcomes.start(), left, n * size_of::<Outcome>())
        }
    }
}

/// What takes finished chunks, by the number of the chunk and its stream: whether it took one.
pub type Put<'a> = dyn FnMut(usize, &[u8]) -> Result<bool> + 'a;

/// Compresses every chunk of the array at `src`, and hands them to `put` in their order.
///
/// # Safety
/// `src` holds the selection in memory of the GPU `ordinal`, ready when `stream` gets to what is enqueued now.
pub unsafe fn write(direct: &Direct, src: *const u8, ordinal: i32, stream: *mut c_void, put: &mut Put) -> Result<Done> {
    let session = Session::enter(ordinal, stream)?;
    let work = Work::new(&session, direct, src.cast_mut())?;
    let slots = session.allocate(work.batch * work.stride)?;
    let (mut outcomes, mut halves) = (Pinned::none(), [Pinned::none(), Pinned::none()]);
    let _settled = Settled(&session);
    let (mut done, mut before): (Done, Option<Packed>) = (Done::default(), None);
    // SAFETY: the array is there by the contract, everything else until `_settled` is dropped.
    unsafe { work.compress(0, &slots, &mut outcomes, stream)? };
    for b in 0..work.batches() {
        // Now the streams of this batch are packed, and those of the one before in pinned memory.
        session.wait()?;
        let packed = Packed::new(work.members(b), outcomes.outcomes(work.members(b).len()))?;
        let half = &mut halves[b % 2];
        half.reserve(packed.bytes)?;
        // SAFETY: as above.
        unsafe {
            session.copy(half.start(), work.chunks.start(), packed.bytes)?;
            if b + 1 < work.batches() {
                work.compress(b + 1, &slots, &mut outcomes, stream)?;
            }
        }
        if let Some(packed) = before.replace(packed) {
            packed.give(&halves[(b + 1) % 2], &mut done, put)?;
        }
    }
    session.wait()?;
    if let Some(packed) = before {
        packed.give(&halves[(work.batches() + 1) % 2], &mut done, put)?;
    }
    Ok(done)
}

/// The streams of a batch, one behind the other, each at a multiple of 16.
struct Packed {
    members: Range<usize>,
    sizes: Vec<usize>,
    bytes: usize,
}

impl Packed {
    fn new(members: Range<usize>, outcomes: &[Outcome]) -> Result<Packed> {
        let mut sizes = Vec::new();
        reserve(&mut sizes, outcomes.len())?;
        for outcome in outcomes {
            outcome.check()?;
            sizes.push(outcome.bytes as usize);
        }
        let bytes = sizes.iter().map(|n| n.next_multiple_of(ALIGN)).sum();
        Ok(Packed { members, sizes, bytes })
    }

    fn give(&self, from: &Pinned, done: &mut Done, put: &mut Put) -> Result<()> {
        let mut at = 0;
        for (i, bytes) in self.members.clone().zip(&self.sizes) {
            if put(i, &from.bytes()[at..at + bytes])? {
                *done = done.with(Done { chunks: 1, stored: *bytes as u64 });
            }
            at += bytes.next_multiple_of(ALIGN);
        }
        Ok(())
    }
}

/// Reads and restores every chunk of the array at `dst`.
///
/// # Safety
/// `dst` has room for the selection in memory of the GPU `ordinal`, free when `stream` gets to what is enqueued now.
pub unsafe fn read(
    dataset: &Dataset,
    direct: &Direct,
    dst: *mut u8,
    ordinal: i32,
    stream: *mut c_void,
) -> Result<Done> {
    let session = Session::enter(ordinal, stream)?;
    let work = Work::new(&session, direct, dst)?;
    let blank = if direct.fills { direct.boxes.filled_with(&direct.pad)? } else { Vec::new() };
    let on_gpu = session.allocate(blank.len())?;
    let (mut outcomes, mut halves) = (Pinned::none(), [Pinned::none(), Pinned::none()]);
    let mut under_way: Option<Fetched> = None;
    let _settled = Settled(&session);
    let mut done = Done::default();
    // SAFETY: room for the chunk, which is there until `_settled` is dropped.
    unsafe { session.copy(on_gpu.start(), blank.as_ptr(), blank.len())? };
    let unwritten = if direct.fills { on_gpu.start() as u64 } else { 0 };
    for b in 0..work.batches() {
        // The host reads this batch while the GPU restores the one before.
        let fetched = Fetched::read(&work, dataset, b, &mut halves[b % 2], &mut done)?;
        if let Some(before) = under_way.take() {
            session.wait()?;
            before.check(&outcomes)?;
        }
        let fetched = under_way.insert(fetched);
        // SAFETY: room for the array by the contract; everything else, `fetched` too, is there until `_settled` is
        // dropped.
        unsafe { fetched.restore(&work, unwritten, &mut halves[b % 2], &mut outcomes, stream)? };
    }
    session.wait()?;
    under_way.map_or(Ok(()), |last| last.check(&outcomes))?;
    Ok(done)
}

/// Where the elements of a chunk come from.
enum Source {
    /// They were never written.
    Missing,
    /// Uncompressed bytes, at this place of the pinned memory.
    Raw(usize),
    /// A stream, at this place and of so many bytes.
    Stream(usize, usize),
    /// Bytes that the host restored: a stream of another element type than the dataset's.
    Restored(Vec<u8>),
}

/// The chunks of a batch as they are in the file. In pinned memory comes first a table of where the elements of each
/// lie.
struct Fetched {
    members: Range<usize>,
    sources: Vec<Source>,
    /// Bytes in pinned memory.
    bytes: usize,
    /// Streams for the GPU.
    streams: usize,
    /// Device memory of this batch alone.
    buffers: Vec<Buffer>,
}

impl Fetched {
    fn read(work: &Work, dataset: &Dataset, b: usize, to: &mut Pinned, done: &mut Done) -> Result<Fetched> {
        let (members, boxes) = (work.members(b), &work.direct.boxes);
        let offsets: Vec<Vec<u64>> = gathered(members.clone().map(|i| boxes.offset(i)))?;
        let sizes: Vec<usize> = offsets.iter().map(|o| dataset.chunk_size(o)).collect::<Result<_>>()?;
        let table = (members.len() * size_of::<u64>()).next_multiple_of(ALIGN);
        let bytes = sizes.iter().fold(table, |n, size| n + size.next_multiple_of(ALIGN));
        to.reserve(bytes)?;
        let (mut at, mut streams, mut sources) = (table, 0, Vec::new());
        reserve(&mut sources, members.len())?;
        for ((i, offset), size) in members.clone().zip(&offsets).zip(sizes) {
            let data = &mut to.bytes_mut()[at..at + size];
            let source = match dataset.read_chunk(offset, data)? {
                Stored::Missing => Source::Missing,
                Stored::Bytes(mask) if mask & 1 == 1 => {
                    raw_chunk(data, boxes.chunk_bytes(), i)?;
                    Source::Raw(at)
                }
                Stored::Bytes(_) if work.takes(data) => Source::Stream(at, size),
                Stored::Bytes(_) => {
                    expect(bytes_of_chunk(&work.direct.words, data)?, boxes.chunk_bytes(), i)?;
                    Source::Restored(cpu::decompress(data)?)
                }
            };
            streams += usize::from(matches!(source, Source::Stream(..)));
            sources.push(source);
            at += size.next_multiple_of(ALIGN);
            done.chunks += 1;
            done.stored += size as u64;
        }
        Ok(Fetched { members, sources, bytes, streams, buffers: Vec::new() })
    }

    /// Enqueues everything from the copy to the GPU to the array, and the copy of the outcomes to `outcomes`. A chunk
    /// that was never written is like that at `unwritten`; none is, if that is 0, and such chunks are left alone.
    ///
    /// # Safety
    /// The array and all of this are there until the stream has passed.
    unsafe fn restore(
        &mut self,
        work: &Work,
        unwritten: u64,
        pinned: &mut Pinned,
        outcomes: &mut Pinned,
        stream: *mut c_void,
    ) -> Result<()> {
        let session = work.session;
        let buffer = session.allocate(self.bytes)?;
        let packed = buffer.start();
        self.buffers.push(buffer);
        let (mut items, mut places) = (Vec::new(), Vec::new());
        reserve(&mut items, self.streams)?;
        reserve(&mut places, self.sources.len())?;
        for (i, source) in self.sources.iter().enumerate() {
            places.push(match source {
                Source::Missing => unwritten,
                Source::Raw(at) => packed.wrapping_add(*at) as u64,
                Source::Stream(at, size) => {
                    items.push(Item::new(packed.wrapping_add(*at), work.chunk(i), elements(work.direct), *size as u64));
                    work.chunk(i) as u64
                }
                Source::Restored(bytes) => {
                    let buffer = session.allocate(bytes.len())?;
                    // SAFETY: room for the bytes, which live as long as this value.
                    unsafe { session.copy(buffer.start(), bytes.as_ptr(), bytes.len())? };
                    let at = buffer.start() as u64;
                    self.buffers.push(buffer);
                    at
                }
            });
        }
        for (to, place) in pinned.bytes_mut().chunks_exact_mut(size_of::<u64>()).zip(&places) {
            to.copy_from_slice(&place.to_ne_bytes());
        }
        outcomes.reserve(items.len() * size_of::<Outcome>())?;
        let args = SlabArgs {
            sources: packed.cast(),
            first: self.members.start as u64,
            count: self.members.len() as u64,
            ..work.args
        };
        let left = work.outcomes.start();
        // SAFETY: the contract; the buffers were made for a batch.
        unsafe {
            session.copy(packed, pinned.start(), self.bytes)?;
            batch::decompress_async(&work.direct.params, &items, left, work.workspace.start(), stream)?;
            work.kernels.scatter(session, &args)?;
            session.copy(outcomes.start(), left, items.len() * size_of::<Outcome>())
        }
    }

    /// What came of it, when the stream has passed.
    fn check(&self, outcomes: &Pinned) -> Result<()> {
        outcomes.outcomes(self.streams).iter().try_for_each(Outcome::check)
    }
}
