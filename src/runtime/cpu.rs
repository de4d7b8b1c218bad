//! The chunk pipeline on threads: cut, encode, place; and back. Bytes do not depend on the number of threads.

mod chunk;
mod codec;
mod job;
mod parallel;
mod restore;
mod scan;
mod serial;
mod threads;

pub use chunk::raw;
pub use codec::{ChunkCodec, Data};
use job::Job;
pub use restore::each as each_chunk;
pub use scan::{of_pieces, range_without, value_range};
use threads::{COMPRESSED_PER_THREAD, tasks};

use crate::container::{Header, Index, IndexMut, Wanted};
use crate::error::Result;
use crate::exec::ExecOptions;
use crate::host::memory::Scratch;
use crate::missing::collisions::Collisions;
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
    let collisions = collisions(codec, header)?;
    let job = Job::new(codec, header, src, &collisions);
    let bodies_at = job.layout.bodies_at();
    let (head, bodies) = dst.split_at_mut(bodies_at);
    let (index, past_caches) = (IndexMut::new(job.layout, head), options.past_caches(src.len()));
    let end = match tasks(options.threads, src.len(), COMPRESSED_PER_THREAD) {
        1 => serial::compress(job, index, past_caches, bodies)?,
        tasks => parallel::compress(job, index, (tasks, past_caches), bodies)?,
    };
    header.stream_bytes = (bodies_at + end) as u64;
    header.layout.shape.missing = header.layout.shape.missing.with_next(collisions.were_met());
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
    let collisions = collisions(codec, header)?;
    let mut encoder = chunk::ChunkEncoder::new(Job::new(codec, header, src, &collisions))?;
    let mut out = Scratch::new(2 * header.layout.chunk_bytes() + codec::SLACK)?;
    chunks.for_each(|c| _ = encoder.encode(c, header.layout.chunks, StreamingStores::none(), &mut out));
    Ok(())
}

/// The missing values that elements may come back as.
fn collisions<C: ChunkCodec>(codec: &C, Header { layout, abs_bound, .. }: &Header) -> Result<Collisions> {
    match codec.comes_beside() {
        true => Collisions::of(layout.dtype, &layout.shape.missing, *abs_bound),
        false => Ok(Collisions::default()),
    }
}

/// Decodes what is `wanted` into `dst`, in its order. Each group is verified before any of its chunks is decoded.
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
    restore::decompress(codec, index, wanted, dst, options)
}
