//! Chunks on the CPU: threads compress or restore them, the calling thread alone talks to HDF5.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError, mpsc};

use super::dataset::{Dataset, Stored};
use super::plan::{Direct, Done};
use crate::api::hdf5_filter::chunk::stream;
use crate::api::hdf5_filter::filter::expected;
use crate::error::{Result, fail};
use crate::exec::ExecOptions;
use crate::host::memory::filled;
use crate::host::pool;
use crate::params::{Device, Params};

/// Chunks that may be under way for each thread.
const AHEAD: usize = 2;

/// An array that threads share, each using other chunks of it.
#[derive(Clone, Copy)]
struct Array(*mut u8);

// SAFETY: only `Boxes` follows the pointer, to the elements of one chunk at a time, and no chunk is given to two
// threads.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

impl Array {
    fn start(&self) -> *mut u8 {
        self.0
    }
}

/// Threads for the chunks, and threads for the work on one.
fn shares(chunks: usize) -> (usize, u32) {
    let threads = pool::threads(0);
    let tasks = threads.min(chunks).max(1);
    (tasks, threads.div_ceil(tasks) as u32)
}

/// Threads for the chunk that this thread works on. Only threads of the pool share a chunk with others: the thread that
/// talks to HDF5 would have to wait for them, while they wait for it.
fn helpers(tasks: usize, threads: u32) -> u32 {
    if tasks < 2 || rayon::current_thread_index().is_some() { threads } else { 1 }
}

/// Compresses and writes these chunks.
///
/// # Safety
/// `src` holds the selection in host memory.
pub unsafe fn write(dataset: &Dataset, direct: &Direct, src: *const u8, chunks: &[usize]) -> Result<Done> {
    let Direct { boxes, swap, pad, .. } = direct;
    let (bytes, mut done) = (boxes.chunk_bytes(), Done::default());
    let (tasks, threads) = shares(chunks.len());
    let array = Array(src.cast_mut());
    let chunk = |i: usize| match boxes.whole(i).filter(|_| *swap == 1) {
        // SAFETY: a whole chunk of the array, which nobody writes.
        Some(at) => Ok(Cow::Borrowed(unsafe { std::slice::from_raw_parts(array.start().add(at), bytes) })),
        None => {
            let mut chunk = filled(bytes, 0u8)?;
            // SAFETY: the array holds the selection.
            unsafe { boxes.gather(i, array.start(), pad, *swap, &mut chunk) };
            Ok(Cow::Owned(chunk))
        }
    };
    let compress = |n: usize, ()| stored(direct, &chunk(chunks[n])?, helpers(tasks, threads));
    in_order(
        chunks.len(),
        tasks,
        |_| Ok(()),
        &compress,
        |n, made| {
            let offset = boxes.offset(chunks[n]);
            done.chunks += 1;
            done.stored += made.as_ref().map_or(bytes, Vec::len) as u64;
            match made.filter(|_| !dataset.may_hold_plain(&offset, bytes)) {
                Some(stream) => dataset.write_chunk(&offset, &stream),
                None => dataset.write_by_filter(&offset, &boxes.chunk, &chunk(chunks[n])?),
            }
        },
    )?;
    Ok(done)
}

/// What the filter would make of a chunk, unless that is the chunk itself.
fn stored(direct: &Direct, chunk: &[u8], threads: u32) -> Result<Option<Vec<u8>>> {
    let params = Params { device: Device::Cpu, threads, ..direct.params.clone() };
    let (request, options) = (direct.request().with(&params), ExecOptions { threads, read_at_once: true });
    let made = stream(request, chunk, options, || Ok(direct.may_decline), |bytes| filled(bytes, 0u8))?;
    Ok(made.map(|(mut stream, len)| {
        stream.truncate(len);
        stream
    }))
}

/// Reads and restores every chunk.
///
/// # Safety
/// `dst` has room for the selection in host memory.
pub unsafe fn read(dataset: &Dataset, direct: &Direct, dst: *mut u8) -> Result<Done> {
    let Direct { boxes, swap, pad, fills, .. } = direct;
    let (bytes, mut done) = (boxes.chunk_bytes(), Done::default());
    let (tasks, threads) = shares(boxes.len());
    let array = Array(dst);
    let restore = |i: usize, (state, data): (Stored, Vec<u8>)| {
        let scatter = |chunk: &[u8]| {
            // SAFETY: room for the selection, and the elements of chunk `i` are this call's alone.
            unsafe { boxes.scatter(i, chunk, *swap, array.start()) };
            Ok(())
        };
        match state {
            Stored::Missing if *fills => scatter(&boxes.filled_with(pad)?),
            Stored::Missing => Ok(()),
            Stored::Bytes(mask) if mask & 1 == 1 => scatter(raw_chunk(&data, bytes, i)?),
            Stored::Bytes(_) => {
                let stream = expected(&direct.words, &data)?;
                expect(stream.raw_bytes(), bytes, i)?;
                let threads = helpers(tasks, threads);
                match boxes.whole(i).filter(|_| *swap == 1) {
                    Some(at) => {
                        // SAFETY: as in `scatter`.
                        let to = unsafe { std::slice::from_raw_parts_mut(array.start().add(at), bytes) };
                        stream.decompress_into(to, ExecOptions::threads(threads)).map(|_| ())
                    }
                    None => {
                        let mut chunk = filled(bytes, 0u8)?;
                        stream.decompress_into(&mut chunk, ExecOptions { threads, read_at_once: true })?;
                        scatter(&chunk)
                    }
                }
            }
        }
    };
    let fetch = |i: usize| {
        let offset = boxes.offset(i);
        let mut data = filled(dataset.chunk_size(&offset)?, 0u8)?;
        done.chunks += 1;
        done.stored += data.len() as u64;
        let state = dataset.read_chunk(&offset, &mut data)?;
        Ok((state, data))
    };
    in_order(boxes.len(), tasks, fetch, &restore, |_, ()| Ok(()))?;
    Ok(done)
}

/// The bytes of a chunk to which the filter was not applied.
pub fn raw_chunk(data: &[u8], bytes: usize, i: usize) -> Result<&[u8]> {
    expect(data.len(), bytes, i)?;
    Ok(data)
}

/// Refuses a chunk that does not restore to the bytes of a chunk.
pub fn expect(found: usize, bytes: usize, i: usize) -> Result<()> {
    if found != bytes {
        return fail!(Corrupt, "chunk {i} of the selection holds {found} bytes; chunks of this dataset have {bytes}");
    }
    Ok(())
}

/// Fetches items `0 .. n` on this thread, in order, makes something of each on the pool's threads, and hands that to
/// `take` on this thread, in order; a few are under way at once.
fn in_order<I: Send, T: Send>(
    n: usize,
    tasks: usize,
    mut fetch: impl FnMut(usize) -> Result<I>,
    make: &(dyn Fn(usize, I) -> Result<T> + Sync),
    mut take: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    if tasks < 2 {
        return (0..n).try_for_each(|i| take(i, make(i, fetch(i)?)?));
    }
    let window = AHEAD * tasks;
    let ((ask, asked), (give, made)) = (mpsc::channel(), mpsc::channel());
    let asked = Mutex::new(asked);
    let work = || {
        while let Ok((i, item)) = { asked.lock().unwrap_or_else(PoisonError::into_inner).recv() } {
            // The calling thread waits for every item, so a panic is one, too.
            let item = catch_unwind(AssertUnwindSafe(|| make(i, item)));
            _ = give.send((i, item.unwrap_or_else(|_| fail!(Internal, "a thread panicked; please report it"))));
        }
    };
    pool::beside(tasks, &work, || {
        // Its end is that of the threads.
        let (ask, mut early) = (ask, BTreeMap::new());
        for next in 0..n + window {
            if next < n {
                _ = ask.send((next, fetch(next)?));
            }
            let Some(i) = next.checked_sub(window).filter(|i| *i < n) else { continue };
            let item = loop {
                if let Some(item) = early.remove(&i) {
                    break item;
                }
                // No thread may have come, or all be at work on others.
                let own = || asked.try_lock().ok().and_then(|asked| asked.try_recv().ok());
                let (k, item) = match made.try_recv() {
                    Ok(other) => other,
                    Err(_) => match own() {
                        Some((k, item)) => (k, make(k, item)),
                        None => made.recv().expect("whoever took an item gives it"),
                    },
                };
                early.insert(k, item);
            };
            take(i, item?)?;
        }
        Ok(())
    })
}
