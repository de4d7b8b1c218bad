//! Decompression of what does not lie together: tiles, and boxes. Each chunk that is touched is decoded apart, and its
//! elements go where they belong.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::chunk::{ChunkDecoder, PieceSink};
use super::codec::ChunkCodec;
use super::threads::{self, DECOMPRESSED_PER_THREAD, Shared, tasks};
use crate::container::constants::GROUP_CHUNKS;
use crate::container::{CodedChunk, Index, Layout, Wanted};
use crate::error::Result;
use crate::exec::ExecOptions;
use crate::simd::stream;

/// Decodes what is `wanted` into `dst`. Groups that have nothing of it are not looked at.
pub fn decompress<C: ChunkCodec>(
    codec: &C,
    index: &Index,
    wanted: &Wanted,
    dst: &mut [u8],
    options: ExecOptions,
) -> Result<()> {
    let layout = &index.header().layout;
    // Of a grid more is decoded than comes out.
    let work = match wanted {
        Wanted::Grid { level, .. } => dst.len().saturating_mul(1 << (2 * level).min(32)).min(layout.raw_bytes as usize),
        _ => dst.len(),
    };
    let tasks = tasks(options.threads, work, DECOMPRESSED_PER_THREAD);
    let (past_caches, dst) = (options.past_caches(dst.len()), Shared::new(dst));
    let chunks = layout.chunks_of(wanted);
    let groups = chunks.start / GROUP_CHUNKS..chunks.end.div_ceil(GROUP_CHUNKS);
    by_group(codec, index, groups, (tasks, past_caches), |decoder, g| {
        group(decoder, index, wanted, g, (&dst, past_caches))
    })
}

/// Decodes whole chunks: of each the number, and that of its first element in `dst`. Other groups are not looked at.
#[expect(unsafe_code, reason = "threads share the result, each of a part of its own")]
pub fn whole<C: ChunkCodec>(
    codec: &C,
    index: &Index,
    starts: &[(usize, u64)],
    dst: &mut [u8],
    options: ExecOptions,
) -> Result<()> {
    let layout = &index.header().layout;
    let tasks = tasks(options.threads, dst.len(), DECOMPRESSED_PER_THREAD);
    let group = |chunk: Option<&(usize, u64)>| chunk.map_or(0, |(c, _)| c / GROUP_CHUNKS);
    let (groups, dst) = (group(starts.first())..group(starts.last()) + 1, Shared::new(dst));
    by_group(codec, index, groups, (tasks, false), |decoder, g| {
        let from = |g: usize| starts.partition_point(|(c, _)| *c < g * GROUP_CHUNKS);
        let mut starts = starts[from(g)..from(g + 1)].iter().peekable();
        if starts.peek().is_none() {
            return Ok(());
        }
        index.verify(g)?;
        let mut found = |chunk: &CodedChunk| starts.next_if(|(c, _)| *c == chunk.number);
        let mut chunks = index.chunks(g).filter_map(|chunk| Some((chunk, found(&chunk)?.1))).peekable();
        while let Some((chunk, start)) = chunks.next() {
            let (at, next) = (start as usize * layout.dtype.size(), chunks.peek().map(|(next, _)| *next));
            let bytes = at..at + layout.chunk_raw_bytes(chunk.number);
            // SAFETY: chunks have parts of their own, and each group is one thread's; `dst` outlives the pool's scope.
            decoder.decode_before(chunk, next, unsafe { dst.part(bytes) })?;
        }
        Ok(())
    })
}

/// Shows the bytes of each chunk, in whatever order and from several threads.
pub fn each<C: ChunkCodec>(
    codec: &C,
    index: &Index,
    options: ExecOptions,
    show: &(dyn Fn(usize, &[u8]) + Sync),
) -> Result<()> {
    let tasks = tasks(options.threads, index.header().layout.raw_bytes as usize, DECOMPRESSED_PER_THREAD);
    by_group(codec, index, 0..index.header().layout.groups, (tasks, false), |decoder, g| {
        index.verify(g)?;
        let mut chunks = index.chunks(g).peekable();
        while let Some(chunk) = chunks.next() {
            decoder.decode_apart(chunk, chunks.peek().copied(), |bytes| show(chunk.number, bytes))?;
        }
        Ok(())
    })
}

/// Has threads work on groups, one after the other, each with a decoder of its own.
fn by_group<C: ChunkCodec>(
    codec: &C,
    index: &Index,
    groups: Range<usize>,
    how: (usize, bool),
    work: impl Fn(&mut ChunkDecoder<C>, usize) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(groups.start);
    threads::decode(codec, index.header(), how, &next, |decoder| {
        loop {
            let g = next.fetch_add(1, Ordering::Relaxed);
            if g >= groups.end {
                return Ok(());
            }
            work(decoder, g)?;
        }
    })
}

/// What is wanted.
struct SharedPieces<'a> {
    dst: &'a Shared,
    past_caches: bool,
}

impl PieceSink for SharedPieces<'_> {
    #[inline(always)]
    #[expect(unsafe_code, reason = "threads share the result, each of a part of its own")]
    fn put(&mut self, at: usize, bytes: &[u8]) {
        // SAFETY: each wanted element is in one chunk, and each group is one thread's; `dst` outlives the pool's scope.
        let place = unsafe { self.dst.part(at..at + bytes.len()) };
        if self.past_caches { stream::copy_row_past(bytes, place) } else { stream::copy_row(bytes, place) }
    }

    #[inline(always)]
    fn fetch(&self, at: usize, len: usize) {
        // What goes past the caches is not read.
        if !self.past_caches || !self.dst.is_lines(at, len) {
            (0..len.div_ceil(64) + 1).for_each(|line| stream::fetch(self.dst.at(at + line * 64)));
        }
    }
}

/// Verifies group `g` and decodes the chunks of it that are touched, if any is.
#[expect(unsafe_code, reason = "threads share the result, each of a part of its own")]
fn group<C: ChunkCodec>(
    decoder: &mut ChunkDecoder<C>,
    index: &Index,
    wanted: &Wanted,
    g: usize,
    (dst, past_caches): (&Shared, bool),
) -> Result<()> {
    let layout = &index.header().layout;
    let is_touched = |c: usize| layout.touches(c, wanted);
    if !layout.group_chunks(g).any(is_touched) {
        return Ok(());
    }
    index.verify(g)?;
    let mut chunks = index.chunks(g).filter(|chunk| is_touched(chunk.number)).peekable();
    while let Some(chunk) = chunks.next() {
        let next = chunks.peek().copied();
        if let Some(bytes) = place(layout, chunk.number, wanted) {
            // SAFETY: each wanted element is in one chunk, and each group is one thread's; `dst` outlives the pool's
            // scope.
            decoder.decode_before(chunk, next, unsafe { dst.part(bytes) })?;
            continue;
        }
        let target = SharedPieces { dst, past_caches };
        match wanted {
            Wanted::Grid { region, level } => decoder.decode_combs(chunk, next, (region, *level), target)?,
            _ => decoder.decode_pieces(chunk, next, wanted, target)?,
        }
    }
    Ok(())
}

/// The bytes of chunk `c` among those that are `wanted`, if all are and they follow each other.
fn place(layout: &Layout, c: usize, wanted: &Wanted) -> Option<Range<usize>> {
    let Wanted::Range { first, count } = wanted else { return None };
    let bytes = layout.chunk_raw_bytes(c);
    let size = layout.dtype.size();
    let at = layout.run_of(c)?.checked_sub(*first)?;
    (at + (bytes / size) as u64 <= *count).then(|| at as usize * size..at as usize * size + bytes)
}
