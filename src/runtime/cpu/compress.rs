//! Compression. One thread encodes each body where it goes (`serial`). Of several each takes units of chunks, encodes
//! them into a buffer of its own, and copies them to the result once it is known where they go.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::chunk::{ChunkEncoder, Job};
use super::codec::{ChunkCodec, SLACK};
use super::serial;
use super::threads::{COMPRESSED_PER_THREAD, Shared, UNIT_CHUNKS, tasks};
use crate::container::checksum;
use crate::container::constants::*;
use crate::container::{Header, IndexMut, Kind};
use crate::error::{Result, fail};
use crate::exec::ExecOptions;
use crate::host::helpers;
use crate::host::memory::{Scratch, filled};
use crate::simd::stream;
use crate::simd::stream::StreamingStores;

/// Encodes every chunk of `src`, completes `header`, and writes it with the codec's `section`; returns the bytes of the
/// stream.
pub fn compress<C: ChunkCodec>(
    codec: &C,
    header: &mut Header,
    section: &[u8],
    options: ExecOptions,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize> {
    let job = &Job::new(codec, header, src)?;
    let bodies_at = job.layout.bodies_at();
    let (head, bodies) = dst.split_at_mut(bodies_at);
    let (index, past_caches, room) = (IndexMut::new(job.layout, head), options.past_caches(src.len()), bodies.len());
    let end = match tasks(options.threads, src.len(), COMPRESSED_PER_THREAD) {
        1 => serial::compress(job, index, past_caches, bodies)?,
        tasks => by_threads(job, index, (tasks, past_caches), bodies)?,
    };
    if end > room {
        let enough = job.layout.max_stream_bytes()?;
        return fail!(BufferTooSmall, "{} bytes; {enough} are always enough", bodies_at + room);
    }
    let missing = job.layout.shape.missing.with_next(job.collisions.were_met());
    header.stream_bytes = (bodies_at + end) as u64;
    header.layout.shape.missing = missing;
    header.write(section, dst);
    Ok(bodies_at + end)
}

/// Encodes some chunks of `src` for what the codec notes of them; their bodies are dropped.
pub fn encode_some<C: ChunkCodec>(
    codec: &C,
    header: &Header,
    src: &[u8],
    chunks: impl Iterator<Item = usize>,
) -> Result<()> {
    let job = &Job::new(codec, header, src)?;
    let mut encoder = ChunkEncoder::new(job)?;
    let mut out = Scratch::new(2 * job.layout.chunk_bytes() + SLACK)?;
    chunks.for_each(|c| _ = encoder.encode(c, job.layout.chunks, StreamingStores::none(), &mut out));
    Ok(())
}

/// Units that a thread keeps until those before them have come in. With one, threads would keep step, each as slow as
/// the slowest.
const UNITS_KEPT: usize = 4;

/// Encodes every chunk with up to `tasks` threads; returns the bytes of all bodies, which may be more than there is
/// room for.
fn by_threads<C: ChunkCodec>(
    job: &Job<C>,
    mut index: IndexMut,
    (tasks, past_caches): (usize, bool),
    bodies: &mut [u8],
) -> Result<usize> {
    let layout = job.layout;
    let n = layout.chunks.div_ceil(UNIT_CHUNKS);
    let mut work = Work {
        job,
        bodies: Shared::new(bodies),
        past_caches,
        next: AtomicUsize::new(0),
        units: Mutex::new(filled(n, None)?),
        placed: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
    };
    helpers::run(tasks, &|| {
        let _alarm = Alarm(&work.failed);
        // A thread that finds no memory leaves the work to the others.
        let room = UNITS_KEPT * UNIT_CHUNKS * layout.chunk_bytes() + SLACK;
        let (Ok(mut encoder), Ok(mut scratch)) = (ChunkEncoder::new(job), Scratch::new(room)) else { return };
        work.work(&mut encoder, &mut scratch);
        if work.past_caches {
            stream::fence();
        }
    });
    if *work.placed.get_mut() < n {
        return fail!(OutOfMemory, "none of {tasks} threads could allocate its buffers");
    }
    let units = work.units.get_mut().unwrap_or_else(PoisonError::into_inner);
    let end = units.iter().flatten().last().map_or(0, |unit| unit.end);
    enter(&mut index, units);
    Ok(end)
}

/// What a unit of chunks came to.
#[derive(Clone, Copy)]
struct Unit {
    chunks: [(Kind, u32); UNIT_CHUNKS],
    checksum: u64,
    bytes: usize,
    /// Where it ends in the bodies, once it is placed.
    end: usize,
}

/// What all threads see.
struct Work<'a, C> {
    job: &'a Job<'a, C>,
    bodies: Shared,
    past_caches: bool,
    /// The next unit to take.
    next: AtomicUsize,
    /// The units that have come in.
    units: Mutex<Vec<Option<Unit>>>,
    /// Units from the first on that have all come in, so that it is known where they go. Grows while `units` is locked.
    placed: AtomicUsize,
    failed: AtomicBool,
}

impl<C: ChunkCodec> Work<'_, C> {
    fn units(&self) -> MutexGuard<'_, Vec<Option<Unit>>> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What each thread does.
    fn work(&self, encoder: &mut ChunkEncoder<C>, scratch: &mut [u8]) {
        let n = self.units().len();
        let (mut kept, mut count, mut used) = ([(0, 0); UNITS_KEPT], 0, 0);
        loop {
            // Nobody waits for a unit that nobody encodes: a thread has none while it waits or copies.
            let u = self.next.fetch_add(1, Ordering::Relaxed);
            if u < n {
                kept[count] = (u, used);
                used += self.encode_unit(encoder, u, &mut scratch[used..]);
                count += 1;
            }
            let Some(&(last, _)) = kept[..count].last() else { return };
            let must_wait = u >= n || count == UNITS_KEPT;
            if must_wait && !self.wait_for(last) {
                return;
            }
            if self.placed.load(Ordering::Acquire) > last {
                kept[..count].iter().for_each(|(u, start)| self.copy(*u, &scratch[*start..]));
                (count, used) = (0, 0);
            }
        }
    }

    /// Encodes unit `u` and enters it; returns its bytes.
    fn encode_unit(&self, encoder: &mut ChunkEncoder<C>, u: usize, scratch: &mut [u8]) -> usize {
        let mut unit = Unit { chunks: [(Kind::Packed, 0); UNIT_CHUNKS], checksum: 0, bytes: 0, end: 0 };
        let chunks = u * UNIT_CHUNKS..((u + 1) * UNIT_CHUNKS).min(self.job.layout.chunks);
        for c in chunks.clone() {
            // Behind the unit's last chunk comes what nobody has taken yet.
            let then = if c + 1 < chunks.end { c + 1 } else { self.next.load(Ordering::Relaxed) * UNIT_CHUNKS };
            let out = &mut scratch[unit.bytes..];
            let (kind, bytes) = encoder.encode(c, then, StreamingStores::none(), out);
            let sum = checksum::of_chunk(&out[..bytes], c % GROUP_CHUNKS);
            unit.checksum = unit.checksum.wrapping_add(sum);
            unit.chunks[c % UNIT_CHUNKS] = (kind, bytes as u32);
            unit.bytes += bytes;
        }
        self.enter(u, unit);
        unit.bytes
    }

    /// Enters unit `u`, and places all whose turn it is now.
    fn enter(&self, u: usize, unit: Unit) {
        let mut units = self.units();
        units[u] = Some(unit);
        let mut placed = self.placed.load(Ordering::Relaxed);
        let mut end = placed.checked_sub(1).and_then(|last| units[last]).map_or(0, |last| last.end);
        while let Some(Some(next)) = units.get_mut(placed) {
            end += next.bytes;
            next.end = end;
            placed += 1;
        }
        self.placed.store(placed, Ordering::Release);
    }

    /// Waits for the threads that have the units before `u`; they took them earlier, so they are at work. False if one
    /// failed.
    fn wait_for(&self, u: usize) -> bool {
        let mut turns = 0;
        while self.placed.load(Ordering::Acquire) <= u {
            if self.failed.load(Ordering::Relaxed) {
                return false;
            }
            turns += 1;
            if turns < 64 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        true
    }

    /// Copies the placed unit `u`, which begins `scratch`, to its place, if there is one.
    #[expect(unsafe_code, reason = "threads share the result, each of a part of its own")]
    fn copy(&self, u: usize, scratch: &[u8]) {
        let Some(Unit { bytes, end, .. }) = self.units()[u] else { return };
        if end <= self.bodies.len {
            // SAFETY: units take consecutive ranges, so no two overlap; the bodies outlive the pool's scope.
            let place = unsafe { self.bodies.part(end - bytes..end) };
            if self.past_caches {
                stream::copy(&scratch[..bytes], place)
            } else {
                place.copy_from_slice(&scratch[..bytes])
            }
        }
    }
}

/// Enters the units' chunks and groups into the index; all have come in.
fn enter(index: &mut IndexMut, units: &[Option<Unit>]) {
    let layout = index.layout();
    let mut start = 0;
    for (g, members) in units.chunks(GROUP_CHUNKS / UNIT_CHUNKS).enumerate() {
        let members = members.iter().flatten();
        let sum = members.clone().fold(0u64, |s, u| s.wrapping_add(u.checksum));
        index.set_group(g, (layout.bodies_at() + start) as u64, sum);
        let chunks = members.clone().flat_map(|u| u.chunks);
        for (c, (kind, bytes)) in layout.group_chunks(g).zip(chunks) {
            index.set_chunk(c, kind, bytes as usize);
        }
        start = members.last().map_or(start, |u| u.end);
    }
}

/// Tells the other threads when this one panics, so that none waits for it for ever.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
