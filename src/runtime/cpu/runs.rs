//! Decompression of what lies together: arrays in runs. Chunks are decoded where they belong.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::chunk::ChunkDecoder;
use super::codec::ChunkCodec;
use super::threads::{self, DECOMPRESSED_PER_THREAD, Shared, UNIT_CHUNKS, tasks};
use crate::container::checksum::{GroupSum, TOGETHER};
use crate::container::constants::GROUP_CHUNKS;
use crate::container::{CodedChunk, Index, Layout, Wanted};
use crate::error::Result;
use crate::exec::ExecOptions;
use crate::host::memory::reserve;

/// Decodes elements from `first` on into `dst`.
pub fn decompress<C: ChunkCodec>(
    codec: &C,
    index: &Index,
    first: u64,
    dst: &mut [u8],
    options: ExecOptions,
) -> Result<()> {
    let layout = &index.header().layout;
    let first_byte = first as usize * layout.dtype.size();
    let bytes = first_byte..first_byte + dst.len();
    let group_bytes = GROUP_CHUNKS * layout.chunk_bytes();
    let groups = bytes.start / group_bytes..bytes.end.div_ceil(group_bytes);
    let tasks = tasks(options.threads, dst.len(), DECOMPRESSED_PER_THREAD);
    // With few groups a thread's share is less than one: verify here, then share out units.
    let mut verified = None;
    if groups.len() < 2 * tasks {
        let places = verified.insert(Vec::new());
        for g in groups.clone() {
            index.verify(g)?;
            reserve(places, layout.group_chunks(g).len())?;
            places.extend(index.chunks(g));
        }
    }
    let past_caches = options.past_caches(dst.len());
    let restoration = Restoration {
        index,
        layout,
        chunk_bytes: layout.chunk_bytes(),
        bytes,
        groups,
        dst: Shared::new(dst),
        past_caches,
        next: 0.into(),
    };
    threads::decode(codec, index.header(), (tasks, past_caches), &restoration.next, |decoder| match &verified {
        Some(chunks) => restoration.units(decoder, chunks),
        None => restoration.groups(decoder),
    })
}

/// What all threads that decompress see.
struct Restoration<'a> {
    index: &'a Index<'a>,
    layout: &'a Layout,
    chunk_bytes: usize,
    /// The bytes of the array that are wanted, for which `dst` has room.
    bytes: Range<usize>,
    /// The groups that they are in.
    groups: Range<usize>,
    dst: Shared,
    past_caches: bool,
    /// The next unit or group to take.
    next: AtomicUsize,
}

impl Restoration<'_> {
    fn take(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn take_group(&self) -> Option<usize> {
        self.groups.clone().nth(self.take())
    }

    /// Decodes units of `chunks`, which are verified, until none is left.
    #[expect(unsafe_code, reason = "threads share the result, each of a part of its own")]
    fn units<C: ChunkCodec>(&self, decoder: &mut ChunkDecoder<C>, chunks: &[CodedChunk]) -> Result<()> {
        while let Some(unit) = chunks.chunks(UNIT_CHUNKS).nth(self.take()) {
            // SAFETY: the chunks of a unit are the thread's that took it.
            unit.iter().try_for_each(|chunk| unsafe { self.chunk(decoder, *chunk, &[]) })?;
        }
        Ok(())
    }

    /// Verifies and decodes groups until none is left.
    #[expect(unsafe_code, reason = "threads share the result, each of a part of its own")]
    fn groups<C: ChunkCodec>(&self, decoder: &mut ChunkDecoder<C>) -> Result<()> {
        let Some(mut g) = self.take_group() else { return Ok(()) };
        self.index.verify(g)?;
        loop {
            // The bodies of the group to come are fetched while chunks of this one are decoded. Where they come from
            // memory each is summed soon, since by the end of the group many would have left the cache again.
            let then = self.take_group();
            let bodies = || then.into_iter().flat_map(|g| self.index.chunks(g)).map(|chunk| chunk.body.bytes());
            let (mut to_fetch, mut sum) = (bodies(), GroupSum::new(bodies()));
            for (k, chunk) in self.index.chunks(g).enumerate() {
                // SAFETY: the chunks of a group are the thread's that took it.
                unsafe { self.chunk(decoder, chunk, to_fetch.next().unwrap_or_default())? };
                if self.past_caches && (k + 1).is_multiple_of(TOGETHER) {
                    sum.add();
                }
            }
            let Some(then) = then else { return Ok(()) };
            self.index.compare(then, sum.finish())?;
            g = then;
        }
    }

    /// Decodes the part of a chunk that is wanted, and has what lies `ahead` fetched meanwhile.
    ///
    /// # Safety
    /// No other thread works on that chunk.
    #[expect(unsafe_code, reason = "threads share the result, each of a part of its own")]
    unsafe fn chunk<C: ChunkCodec>(
        &self,
        decoder: &mut ChunkDecoder<C>,
        chunk: CodedChunk,
        ahead: &[u8],
    ) -> Result<()> {
        let start = chunk.number * self.chunk_bytes;
        let whole = start..start + self.layout.chunk_raw_bytes(chunk.number);
        let wanted = whole.start.max(self.bytes.start)..whole.end.min(self.bytes.end);
        if wanted.is_empty() {
            return Ok(());
        }
        // SAFETY: within this chunk's bytes, which are this thread's alone; `dst` outlives the pool's scope.
        let out = unsafe { self.dst.part(wanted.start - self.bytes.start..wanted.end - self.bytes.start) };
        if wanted == whole {
            return decoder.decode(chunk, ahead, out, self.past_caches);
        }
        let size = self.layout.dtype.size();
        let part = Wanted::Range { first: (wanted.start / size) as u64, count: (wanted.len() / size) as u64 };
        decoder.decode_pieces(chunk, None, &part, |at: usize, bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes)
        })
    }
}
