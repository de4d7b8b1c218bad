//! Chunks on the CPU: threads compress or restore them, the calling thread alone talks to HDF5.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, TrySendError};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::dataset::{Dataset, Stored};
use super::plan::Direct;
use super::report::Done;
use crate::api::hdf5_filter::declined::stream;
use crate::api::hdf5_filter::filter::expected;
use crate::error::{Result, fail};
use crate::exec::ExecOptions;
use crate::host::memory::filled;
use crate::host::pool;
use crate::params::{Device, Params};
use crate::route::recompression;

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
    let compress = |n: usize| {
        let (i, threads) = (chunks[n], helpers(tasks, threads));
        match boxes.whole(i).filter(|_| *swap == 1) {
            // SAFETY: a whole chunk of the array, which nobody writes.
            Some(at) => stored(direct, unsafe { std::slice::from_raw_parts(array.start().add(at), bytes) }, threads),
            None => {
                let mut chunk = filled(bytes, 0u8)?;
                // SAFETY: the array holds the selection.
                unsafe { boxes.gather(i, array.start(), pad, *swap, &mut chunk) };
                stored(direct, &chunk, threads)
            }
        }
    };
    in_order(chunks.len(), tasks, &compress, |n, made| {
        let offset = boxes.offset(chunks[n]);
        done.chunks += 1;
        done.stored += made.as_ref().map_or(bytes, Vec::len) as u64;
        match made.filter(|_| !dataset.may_hold_plain(&offset, bytes)) {
            Some(stream) => dataset.write_chunk(&offset, &stream),
            None => {
                let mut chunk = filled(bytes, 0u8)?;
                // SAFETY: the array holds the selection.
                unsafe { boxes.gather(chunks[n], array.start(), pad, *swap, &mut chunk) };
                dataset.write_by_filter(&offset, &boxes.chunk, &chunk)
            }
        }
    })?;
    Ok(done)
}

/// What the filter would make of a chunk, unless that is the chunk itself.
fn stored(direct: &Direct, chunk: &[u8], threads: u32) -> Result<Option<Vec<u8>>> {
    let params = Params { device: Device::Cpu, threads, ..direct.params.clone() };
    let params = recompression::measured(direct.codec, params, chunk)?;
    let options = ExecOptions { threads, read_at_once: true };
    let may_decline = || Ok(direct.may_decline);
    let made = stream(direct.codec, &params, chunk, options, may_decline, |bytes| filled(bytes, 0u8))?;
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
                expect(stream.held().bytes, bytes, i)?;
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
    in_any_order(boxes.len(), tasks, fetch, &restore)?;
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes items `0 .. n` on the pool's threads, a few ahead, and hands them to `take` on this thread, in order.
fn in_order<T: Send>(
    n: usize,
    tasks: usize,
    make: &(dyn Fn(usize) -> Result<T> + Sync),
    mut take: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    if tasks < 2 {
        return (0..n).try_for_each(|i| take(i, make(i)?));
    }
    let window = AHEAD * tasks;
    let ((ask, asked), (give, made)) = (mpsc::channel(), mpsc::channel());
    (0..n.min(window)).for_each(|i| _ = ask.send(i));
    let asked = Mutex::new(asked);
    let work = || {
        while let Ok(i) = { lock(&asked).recv() } {
            // This thread waits for every item, so a panic is one, too.
            let item = catch_unwind(AssertUnwindSafe(|| make(i)));
            _ = give.send((i, item.unwrap_or_else(|_| fail!(Internal, "a thread panicked; please report it"))));
        }
    };
    pool::beside(tasks, &work, || {
        // Its end is that of the threads.
        let (ask, mut early) = (ask, BTreeMap::new());
        for i in 0..n {
            let item = loop {
                if let Some(item) = early.remove(&i) {
                    break item;
                }
                // Nobody may have come, or all be at work on others.
                let own = || asked.try_lock().ok().and_then(|asked| asked.try_recv().ok());
                let (k, item) = match made.try_recv() {
                    Ok(other) => other,
                    Err(_) => match own() {
                        Some(k) => (k, make(k)),
                        None => made.recv().expect("whoever took an item gives it"),
                    },
                };
                early.insert(k, item);
            };
            if i + window < n {
                _ = ask.send(i + window);
            }
            take(i, item?)?;
        }
        Ok(())
    })
}

/// Fetches items `0 .. n` on this thread, in order, and has the pool's threads use them as they come.
fn in_any_order<T: Send>(
    n: usize,
    tasks: usize,
    mut fetch: impl FnMut(usize) -> Result<T>,
    put: &(dyn Fn(usize, T) -> Result<()> + Sync),
) -> Result<()> {
    if tasks < 2 {
        return (0..n).try_for_each(|i| put(i, fetch(i)?));
    }
    let (give, fetched) = mpsc::sync_channel(AHEAD * tasks);
    let (fetched, failure) = (Mutex::new(fetched), Mutex::new(None));
    let use_up = |(i, item)| {
        if let Err(e) = put(i, item) {
            lock(&failure).get_or_insert(e);
        }
    };
    let work = || {
        while let Ok(item) = { lock(&fetched).recv() } {
            use_up(item);
        }
    };
    let done = pool::beside(tasks, &work, || {
        let give = give;
        for i in 0..n {
            if lock(&failure).is_some() {
                break;
            }
            // This thread helps when the others do not keep up.
            if let Err(TrySendError::Full(item) | TrySendError::Disconnected(item)) = give.try_send((i, fetch(i)?)) {
                use_up(item);
            }
        }
        drop(give);
        // What is left, should no thread have come.
        work();
        Ok(())
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(done, Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn items_come_in_order_and_all_of_them() {
        for (n, tasks) in [(0, 4), (1, 4), (5, 1), (300, 2), (300, 7)] {
            let mut seen = Vec::new();
            let make = |i: usize| Ok(i * i);
            in_order(n, tasks, &make, |i, v| {
                seen.push((i, v));
                Ok(())
            })
            .unwrap();
            assert_eq!(seen, (0..n).map(|i| (i, i * i)).collect::<Vec<_>>());
            let sum = AtomicU64::new(0);
            let put = |i: usize, v: usize| {
                assert_eq!(i * 2, v);
                sum.fetch_add(v as u64, Ordering::Relaxed);
                Ok(())
            };
            in_any_order(n, tasks, |i| Ok(i * 2), &put).unwrap();
            assert_eq!(sum.into_inner(), (0..n as u64).map(|i| i * 2).sum::<u64>());
        }
    }

    #[test]
    fn a_failure_ends_the_work() {
        for tasks in [1, 4] {
            let make = |i: usize| if i == 70 { fail!(Corrupt, "item {i}") } else { Ok(i) };
            let mut taken = 0;
            let failed = in_order(200, tasks, &make, |_, _| {
                taken += 1;
                Ok(())
            });
            assert_eq!((failed.unwrap_err().kind, taken), (Kind::Corrupt, 70));
            let failed = in_order(200, tasks, &|i| Ok(i), |i, _| if i == 9 { fail!(Hdf5, "full") } else { Ok(()) });
            assert_eq!(failed.unwrap_err().kind, Kind::Hdf5);
            let put = |i: usize, _: usize| if i == 5 { fail!(Corrupt, "item {i}") } else { Ok(()) };
            assert_eq!(in_any_order(200, tasks, Ok, &put).unwrap_err().kind, Kind::Corrupt);
            let fetch = |i: usize| if i == 50 { fail!(Hdf5, "gone") } else { Ok(i) };
            assert_eq!(in_any_order(200, tasks, fetch, &|_, _| Ok(())).unwrap_err().kind, Kind::Hdf5);
        }
    }
}
