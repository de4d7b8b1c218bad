//! Decompression: threads take groups of chunks or, of few groups, units of them, and decode what is wanted of each
//! chunk to where it belongs.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::chunk::{ChunkDecoder, Target};
use super::codec::ChunkCodec;
use super::threads::{DECOMPRESSED_PER_THREAD, Shared, UNIT_CHUNKS, tasks};
use crate::container::checksum::{GroupSum, TOGETHER};
use crate::container::constants::GROUP_CHUNKS;
use crate::container::{CodedChunk, Index, Layout, Wanted};
use crate::error::Result;
use crate::exec::ExecOptions;
use crate::host::helpers;
use crate::host::memory::reserve;
use crate::simd::stream;

/// Decodes what is `wanted` into `dst`, in its order. Each group is verified before any of its chunks is decoded; those
/// that have nothing of it are not looked at.
#[expect(unsafe_code, reason = "threads share the result, each of a part of its own")]
pub fn decompress<C: ChunkCodec>(
    codec: &C,
    index: &Index,
    wanted: &Wanted,
    dst: &mut [u8],
    options: ExecOptions,
) -> Result<()> {
    if dst.is_empty() {
        return Ok(());
    }
    let layout = &index.header().layout;
    // Of a grid more is decoded than comes out.
    let level = wanted.on_level().map_or(0, |(_, level)| level);
    let work = dst.len().saturating_mul(1 << (2 * level).min(32)).min(layout.raw_bytes as usize);
    let (past_caches, dst) = (options.past_caches(dst.len()), Shared::new(dst));
    let work = Work {
        index,
        chunks: layout.chunks_of(wanted),
        is_touched: |c| layout.touches(c, wanted),
        tasks: tasks(options.threads, work, DECOMPRESSED_PER_THREAD),
        past_caches,
        next: 0.into(),
    };
    work.run(codec, |decoder, chunk, next, ahead| match place(layout, chunk.number, wanted) {
        Some(bytes) => {
            // SAFETY: each wanted element is in one chunk, and each chunk is one thread's; `dst` outlives the pool's
            // scope.
            let out = unsafe { dst.part(bytes) };
            decoder.decode(chunk, next, ahead, out, past_caches && layout.is_linear())
        }
        None => decoder.decode_pieces(chunk, next, wanted, &Target { dst: &dst, past_caches }),
    })
}

/// Shows the bytes of each chunk, in whatever order and from several threads.
pub fn each<C: ChunkCodec>(
    codec: &C,
    index: &Index,
    options: ExecOptions,
    show: &(dyn Fn(usize, &[u8]) + Sync),
) -> Result<()> {
    let layout = &index.header().layout;
    let tasks = tasks(options.threads, layout.raw_bytes as usize, DECOMPRESSED_PER_THREAD);
    let (chunks, is_touched) = (0..layout.chunks, |_| true);
    let work = Work { index, chunks, is_touched, tasks, past_caches: false, next: 0.into() };
    work.run(codec, |decoder, chunk, next, _| decoder.decode_apart(chunk, next, |bytes| show(chunk.number, bytes)))
}

/// The bytes of chunk `c` among those that are `wanted`, if all are and they follow each other.
fn place(layout: &Layout, c: usize, wanted: &Wanted) -> Option<Range<usize>> {
    let (size, bytes) = (layout.dtype.size(), layout.chunk_raw_bytes(c));
    let at = match wanted {
        Wanted::Range { first, count } => {
            let at = layout.run_of(c)?.checked_sub(*first)?;
            (at + (bytes / size) as u64 <= *count).then_some(at)
        }
        Wanted::Chunks { starts, .. } => starts.binary_search_by_key(&c, |(c, _)| *c).ok().map(|k| starts[k].1),
        Wanted::Box { .. } => None,
    }? as usize;
    Some(at * size..at * size + bytes)
}

/// Chunks that threads decode, of which a group is verified before any of them.
struct Work<'a, T> {
    index: &'a Index<'a>,
    /// Those that are touched are among these.
    chunks: Range<usize>,
    is_touched: T,
    tasks: usize,
    past_caches: bool,
    /// The next unit or group to take.
    next: AtomicUsize,
}

impl<T: Fn(usize) -> bool + Sync> Work<'_, T> {
    /// Has threads `decode` each chunk: with the one that comes next, if it is the thread's too, and bytes that are to
    /// be fetched meanwhile.
    fn run<C: ChunkCodec>(
        &self,
        codec: &C,
        decode: impl Fn(&mut ChunkDecoder<C>, CodedChunk, Option<CodedChunk>, &[u8]) -> Result<()> + Sync,
    ) -> Result<()> {
        let mut verified = None;
        if self.tasks > 1 && self.groups().len() < 2 * self.tasks {
            // A thread's share is less than two groups: verify here, then share out units.
            let places = verified.insert(Vec::new());
            for g in self.groups().filter(|g| self.touches(*g)) {
                self.index.verify(g)?;
                reserve(places, self.index.header().layout.group_chunks(g).len())?;
                places.extend(self.touched(g));
            }
        }
        let failure = Mutex::new(None);
        helpers::run(self.tasks, &|| {
            let done = ChunkDecoder::new(codec, self.index.header()).and_then(|mut decoder| {
                let Some(chunks) = &verified else { return self.by_group(&mut decoder, &decode) };
                while let Some(unit) = chunks.chunks(UNIT_CHUNKS).nth(self.take()) {
                    for (k, chunk) in unit.iter().enumerate() {
                        decode(&mut decoder, *chunk, unit.get(k + 1).copied(), &[])?;
                    }
                }
                Ok(())
            });
            // After an error too: a copy still under way must not land on what the caller writes next.
            if self.past_caches {
                stream::fence();
            }
            if let Err(e) = done {
                // The others find nothing more to take.
                self.next.store(usize::MAX / 2, Ordering::Relaxed);
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
            }
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn groups(&self) -> Range<usize> {
        self.chunks.start / GROUP_CHUNKS..self.chunks.end.div_ceil(GROUP_CHUNKS)
    }

    fn touches(&self, g: usize) -> bool {
        self.index.header().layout.group_chunks(g).any(&self.is_touched)
    }

    fn touched(&self, g: usize) -> impl Iterator<Item = CodedChunk<'_>> {
        self.index.chunks(g).filter(|chunk| (self.is_touched)(chunk.number))
    }

    fn take(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn take_group(&self) -> Option<usize> {
        std::iter::from_fn(|| self.groups().nth(self.take())).find(|g| self.touches(*g))
    }

    /// Verifies and decodes groups until none is left.
    fn by_group<C: ChunkCodec>(
        &self,
        decoder: &mut ChunkDecoder<C>,
        decode: impl Fn(&mut ChunkDecoder<C>, CodedChunk, Option<CodedChunk>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let Some(mut g) = self.take_group() else { return Ok(()) };
        self.index.verify(g)?;
        loop {
            // The bodies of the group to come are fetched while chunks of this one are decoded. Where they come from
            // memory each is summed soon, since by the end of the group many would have left the cache again.
            let then = self.take_group();
            let bodies = || then.into_iter().flat_map(|g| self.index.chunks(g)).map(|chunk| chunk.body.bytes());
            let (mut to_fetch, mut sum) = (bodies(), GroupSum::new(bodies()));
            let mut chunks = self.touched(g).enumerate().peekable();
            while let Some((k, chunk)) = chunks.next() {
                let next = chunks.peek().map(|(_, next)| *next);
                decode(decoder, chunk, next, to_fetch.next().unwrap_or_default())?;
                if self.past_caches && (k + 1).is_multiple_of(TOGETHER) {
                    sum.add();
                }
            }
            let Some(then) = then else { return Ok(()) };
            self.index.compare(then, sum.finish())?;
            g = then;
        }
    }
}
