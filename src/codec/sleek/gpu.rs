//! SLEEK on GPUs: which of `kernels/sleek` does what is asked for, and with which arguments.

use super::Sleek;
use super::constants::{CODEC_SLEEK, FEW_MISSING};
use crate::codec::shared::gpu_codec::{GpuCodec, arguments};
use crate::codec::shared::promise::{self, mantissa_bits_to_drop};
use crate::container::constants::{CHUNK_BYTES, GROUP_CHUNKS, HEADER_BYTES};
use crate::container::{Header, Layout, Shape, Wanted};
use crate::dtype::DType;
use crate::error::Result;
use crate::params::{Params, Profile};
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::{Buffer, Session};
use crate::runtime::cuda::launch::{CompressArgs, EXTENSION_WORDS, Item, PIECE_BYTES};
use crate::runtime::cuda::memory::is_aligned;
use crate::runtime::cuda::module::{Kernel, KernelRow, Loaded, find, need};

/// Blocks of the kernel before compression, at most, that start the first part of an array alone on its way to the
/// second-level cache: 4 MiB. With more, compression waits for them.
const AHEAD_BLOCKS: u64 = 128;

/// Blocks on a multiprocessor, at most, that encode one array by profile `fast`: with more, what they read and write at
/// one time lies further apart in memory.
const FAST_BLOCKS: u32 = 5;

/// The kernels for an element type in a context, but for the long encoders, which are modules of their own.
#[derive(Clone, Copy)]
struct Base {
    decompress: Kernel,
    decompress_box: Kernel,
    begin_compress: Kernel,
    list: Kernel,
    /// Where there is a float of this width: profile `fast`, and the value range.
    compress_fast: Option<Kernel>,
    range: Option<Kernel>,
}

impl Base {
    fn load(session: &Session, dtype: DType) -> Result<Base> {
        static LOADED: Loaded<Base> = Loaded::none();
        LOADED.get(session, need(CODEC_SLEEK, dtype, "base")?, |module| {
            Ok(Base {
                decompress: module.kernel("decompress")?,
                decompress_box: module.kernel("decompress_box")?,
                begin_compress: module.kernel("begin_compress")?,
                list: module.kernel("list")?,
                compress_fast: module.optional("compress_fast")?.map(|kernel| kernel.at_most(FAST_BLOCKS)),
                range: module.optional("range")?,
            })
        })
    }
}

/// The encoder for everything, missing values too.
fn general(session: &Session, dtype: DType) -> Result<Kernel> {
    encoder(session, need(CODEC_SLEEK, dtype, "general")?)
}

/// The adaptive encoder of a type that has one of its own.
fn adaptive(session: &Session, dtype: DType) -> Result<Option<Kernel>> {
    find(CODEC_SLEEK, dtype, "adaptive").map(|row| encoder(session, row)).transpose()
}

/// The kernel of a module that has a long encoder alone.
fn encoder(session: &Session, row: &'static KernelRow) -> Result<Kernel> {
    static LOADED: Loaded<Kernel> = Loaded::none();
    LOADED.get(session, row, |module| module.kernel("compress"))
}

/// The encoder for a profile alone of streams with up to `FEW_MISSING` missing values, of a type that has one.
fn masking(session: &Session, dtype: DType, profile: Profile) -> Result<Option<Kernel>> {
    let part = match profile {
        Profile::Adaptive => "missing-adaptive",
        Profile::Fast => "missing-fast",
        _ => return Ok(None),
    };
    find(CODEC_SLEEK, dtype, part).map(|row| encoder(session, row)).transpose()
}

/// The kernel that compresses, where all sources are aligned to 16 or some are not.
fn compressor(arrays: &Arrays, base: &Base, params: &Params, layout: &Layout) -> Result<Kernel> {
    let (session, dtype) = (arrays.session, params.dtype);
    let aligned = arrays.items().iter().all(|item| is_aligned(item.src));
    let missing = layout.shape.missing.bits().len();
    let is_plain = mantissa_bits_to_drop(params) == 0 && !params.big_endian && missing <= FEW_MISSING;
    let special = match params.profile {
        _ if !aligned || !is_plain => None,
        profile if missing > 0 => masking(session, dtype, profile)?,
        Profile::Adaptive => adaptive(session, dtype)?,
        Profile::Fast if dtype.is_float() => base.compress_fast,
        _ => None,
    };
    special.map_or_else(|| general(session, dtype), Ok)
}

/// Chunks of an array of `count` elements.
fn chunks(dtype: DType, count: u64) -> u64 {
    (count * dtype.size() as u64).div_ceil(CHUNK_BYTES as u64)
}

/// The extension of the header of a stream, and its bytes: arrays of a batch that have dimensions or missing values
/// have the same.
fn extension_of(layout: &Layout) -> ([u64; EXTENSION_WORDS], u32) {
    let bytes = layout.header_bytes - HEADER_BYTES;
    let mut whole = [0; 8 * EXTENSION_WORDS];
    if bytes > 0 {
        layout.shape.write_extension(&[], &mut whole[..bytes]);
    }
    let words = whole.as_chunks::<8>().0;
    (std::array::from_fn(|i| u64::from_le_bytes(words[i])), bytes as u32)
}

impl GpuCodec for Sleek {
    fn prepare(&self, session: &Session, params: &Params) -> Result<()> {
        Base::load(session, params.dtype)?;
        general(session, params.dtype)?;
        if !params.missing.of_type(params.dtype)?.is_empty() {
            masking(session, params.dtype, params.profile)?;
        }
        adaptive(session, params.dtype).map(|_| ())
    }

    /// Dimensions and missing values are no matter.
    fn refuses(&self, _: &Params, _: &Layout) -> Option<String> {
        None
    }

    /// Dimensions and missing values are no matter.
    fn refuses_to_restore(&self, header: &Header, _: &Wanted) -> Option<String> {
        let shape = &header.layout.shape;
        let known = Shape { dims: shape.dims, missing: shape.missing, ..Shape::line(header.layout.count) };
        (*shape != known).then(|| format!("codec sleek has no kernels for {:?}", shape.geometry))
    }

    unsafe fn compress(&self, arrays: &Arrays, params: &Params, layout: &Layout) -> Result<()> {
        let session = arrays.session;
        let base = Base::load(session, params.dtype)?;
        let (extension, extension_bytes) = extension_of(layout);
        let compress = compressor(arrays, &base, params, layout)?;
        // SAFETY: the contract of this function; what kernels add up in the slots is zeroed before.
        unsafe {
            let batch = arrays.tell(base.list, Some(compress), |item| chunks(params.dtype, item.count))?;
            let args = CompressArgs { extension, extension_bytes, ..promise::arguments(batch, params, layout) };
            let all = layout.raw_bytes.div_ceil(PIECE_BYTES);
            if let Some(range) = base.range.filter(|_| params.bound.measures()) {
                batch.clear_slots(session)?;
                range.launch(session, range.blocks_each(batch.count, all), &args)?;
            }
            let begin = base.begin_compress;
            let index = (layout.bodies_at() as u64).div_ceil(PIECE_BYTES);
            let pieces = if batch.items.is_null() { index.max(all.min(AHEAD_BLOCKS)) } else { index };
            begin.launch(session, begin.blocks_each(batch.count, pieces), &args)?;
            if batch.work_slots > 0 {
                compress.launch(session, compress.blocks(batch.work_slots), &args)?;
            }
            Ok(())
        }
    }

    unsafe fn decompress(&self, streams: &Arrays, dtype: DType, wanted: &Wanted, _: Option<&Header>) -> Result<()> {
        let session = streams.session;
        let base = Base::load(session, dtype)?;
        // Of an array alone their chunks, and the rest of the groups at both ends. An empty one has a header to be
        // looked at.
        let chunks = |item: &Item| match streams.is_batch() {
            true => chunks(dtype, item.count).max(1),
            false => chunks(dtype, item.count) + 2 * GROUP_CHUNKS as u64,
        };
        // SAFETY: the contract of this function; slots are zeroed before the kernel uses them, and the scratch memory
        // is freed behind it.
        unsafe {
            let kernel = if wanted.on_level().is_some() { base.decompress_box } else { base.decompress };
            let batch = streams.tell(base.list, Some(kernel), chunks)?;
            batch.clear_slots(session)?;
            let blocks = kernel.blocks(batch.work_slots);
            let mut args = arguments(batch, dtype, wanted);
            // Of a box each block picks elements from its chunks, which the second-level cache keeps.
            let chunks = if args.boxed > 0 { Some(session.allocate(blocks as usize * CHUNK_BYTES)?) } else { None };
            args.scratch = chunks.as_ref().map_or(args.scratch, Buffer::start);
            let done = kernel.launch(session, blocks, &args);
            drop(chunks);
            done
        }
    }
}
