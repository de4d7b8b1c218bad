//! The chunk pipeline on threads: cut, encode, place; and back. Bytes do not depend on the number of threads.

mod chunk;
mod codec;
mod job;
mod parallel;
mod pieces;
mod runs;
mod scan;
mod serial;
mod sums;
mod threads;

pub use chunk::raw;
pub use codec::{ChunkCodec, Data};
use job::Job;
pub use pieces::each as each_chunk;
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
    let layout = &header.layout;
    let collisions = if codec.comes_beside() {
        Collisions::of(layout.dtype, &layout.shape.missing, header.abs_bound)?
    } else {
        Collisions::default()
    };
    let job = Job { codec, layout: &header.layout, big_endian: header.big_endian, src, collisions: &collisions };
    let bodies_at = job.layout.bodies_at();
    let (head, bodies) = dst.split_at_mut(bodies_at);
    let (tasks, past_caches) =
        (tasks(options.threads, src.len(), COMPRESSED_PER_THREAD), options.past_caches(src.len()));
    let index = IndexMut::new(job.layout, head);
    let end = if tasks > 1 {
        parallel::compress(job, index, (tasks, past_caches), bodies)?
    } else {
        serial::compress(job, index, past_caches, bodies)?
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
    let layout = &header.layout;
    let collisions = if codec.comes_beside() {
        Collisions::of(layout.dtype, &layout.shape.missing, header.abs_bound)?
    } else {
        Collisions::default()
    };
    let mut encoder = chunk::ChunkEncoder::new(codec, &header.layout, header.big_endian, &collisions)?;
    let mut out = Scratch::new(2 * header.layout.chunk_bytes() + codec::SLACK)?;
    chunks.for_each(|c| _ = encoder.encode(src, c, &[], StreamingStores::none(), &mut out));
    Ok(())
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
    match wanted {
        Wanted::Range { first, .. } if index.header().layout.is_linear() => {
            runs::decompress(codec, index, *first, dst, options)
        }
        _ => pieces::decompress(codec, index, wanted, dst, options),
    }
}
