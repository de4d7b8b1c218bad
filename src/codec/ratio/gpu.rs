//! Codec ratio on GPUs: which of `kernels/ratio` does what is asked for, and with which arguments.

use super::Ratio;
use super::format::{CODEC_RATIO, Grid, TILE_LOG2};
use super::plan::Plan;
use crate::bound;
use crate::codec::gpu::{GpuCodec, Part};
use crate::container::missing::{MAX_MISSING, max_plane_bytes};
use crate::container::{Geometry, Header, Layout, MAX_RANK};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::params::{Mode, Params};
use crate::primitives::quantize::mantissa_and_bias;
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::Session;
use crate::runtime::cuda::launch::*;
use crate::runtime::cuda::module::{Kernel, Loaded, Warps, need};

const _: () = assert!(max_plane_bytes(1 << TILE_LOG2, MAX_MISSING) <= MAX_TILE_PLANE_BYTES);

/// Places for the words of tiles that are not restored in registers.
const PLACES: u64 = 1024;

/// The kernels for an element type in a context.
#[derive(Clone, Copy)]
struct Base {
    decompress: Warps,
    begin_compress: Kernel,
    list: Kernel,
    /// Where there is a float of this width.
    range: Option<Kernel>,
}

impl Base {
    fn load(session: &Session, dtype: DType) -> Result<Base> {
        static LOADED: Loaded<Base> = Loaded::none();
        LOADED.get(session, need(CODEC_RATIO, dtype, "base")?, |module| {
            Ok(Base {
                decompress: module.warps("decompress", TILE_BLOCK_BYTES as u32, TILE_WARP_BYTES as u32)?,
                begin_compress: module.kernel("begin_compress")?,
                list: module.kernel("list")?,
                range: if module.has("range") { Some(module.kernel("range")?) } else { None },
            })
        })
    }
}

/// The kernel that compresses.
fn encoder(session: &Session, dtype: DType) -> Result<Warps> {
    static LOADED: Loaded<Warps> = Loaded::none();
    let block = TILE_SYMBOL_BYTES + TILE_COST_BYTES;
    LOADED.get(session, need(CODEC_RATIO, dtype, "encoder")?, |module| {
        module.warps("compress", block as u32, TILE_ENCODE_WARP_BYTES as u32)
    })
}

/// Tiles of an array of which `count` elements are known, at least.
fn tiles(count: u64) -> u64 {
    count.div_ceil(1 << TILE_LOG2)
}

impl GpuCodec for Ratio {
    fn prepare(&self, session: &Session, params: &Params) -> Result<()> {
        Base::load(session, params.dtype)?;
        encoder(session, params.dtype).map(|_| ())
    }

    /// There is a kernel for whatever the codec takes.
    fn refuses(&self, _: &Params, _: &Layout) -> Option<String> {
        None
    }

    fn refuses_to_restore(&self, header: &Header, _: &Part) -> Option<String> {
        Grid::new(&header.layout).and(Plan::for_decoding(header)).err().map(|e| e.message)
    }

    unsafe fn compress(&self, arrays: &Arrays, params: &Params, layout: &Layout) -> Result<()> {
        let Geometry::Tile { sides_log2 } = layout.shape.geometry else {
            return fail!(Internal, "codec ratio is to compress an array in runs");
        };
        let session = arrays.session;
        let base = Base::load(session, params.dtype)?;
        let all: u64 = arrays.items().iter().map(|item| tiles(item.count).max(1)).sum();
        // Of an array alone all tiles are known, however the array's edges cut them.
        let pieces = if arrays.is_batch() { all } else { layout.chunks as u64 };
        let compress = encoder(session, params.dtype)?.kernel(pieces)?;
        let mantissa = mantissa_and_bias(params.dtype).0;
        let drop = match params.mode {
            Mode::Rel => mantissa - bound::rel_mantissa_bits(params.bound, mantissa).min(mantissa),
            _ => 0,
        };
        let blocks_of = |tiles: u64| tiles.div_ceil(compress.warps().into());
        let mut tiling = Tiling { lens: [0; MAX_RANK], sides_log2, rank: layout.shape.dims.rank() as u32, zero: 0 };
        tiling.lens[..layout.shape.dims.rank()].copy_from_slice(layout.shape.dims.lens());
        // SAFETY: the contract of this function; what kernels add up in the slots is zeroed before.
        unsafe {
            let batch = arrays.tell(base.list, compress, |item| match arrays.is_batch() {
                true => blocks_of(tiles(item.count)),
                false => blocks_of(layout.chunks as u64),
            })?;
            let blocks = compress.blocks(batch.work_slots);
            let warps = u64::from(blocks) * u64::from(compress.warps());
            let missing = layout.shape.missing.bits();
            let copy = if missing.is_empty() { 0 } else { (params.dtype.size() << TILE_LOG2) + MAX_TILE_PLANE_BYTES };
            let of_words = params.dtype.size().max(4) << TILE_LOG2;
            // Elements and codes are kept beside words, where every form is tried.
            let words = 3 * of_words + TILE_LISTED_BYTES + copy;
            let waiting = layout.chunk_bytes() / 2 + (16 << 10);
            let room = (words + layout.chunk_bytes() + waiting + 2 * TILE_BODY_SLACK).next_multiple_of(16) as u64;
            let bodies = session.allocate((warps * room) as usize)?;
            let common = CompressArgs {
                batch,
                bound: params.bound,
                range: params.range.unwrap_or(0.0),
                missing: std::array::from_fn(|k| missing.get(k).copied().unwrap_or(0)),
                extension: [0; EXTENSION_WORDS],
                dtype: params.dtype as u32,
                mode: params.mode as u32,
                fast: 0,
                big_endian: params.big_endian.into(),
                has_range: params.range.is_some().into(),
                values: missing.len() as u32,
                rounded: (drop > 0).into(),
                drop,
                extension_bytes: 0,
                zero: 0,
            };
            if let (Mode::Noa, None, Some(range)) = (params.mode, params.range, base.range) {
                batch.clear_slots(session)?;
                let pieces = layout.raw_bytes.div_ceil(PIECE_BYTES);
                range.launch(session, range.blocks_each(batch.count, pieces), &common)?;
            }
            let args = TileCompressArgs { common, tiling, bodies: bodies.start(), room, words: words as u64, warps };
            let begin = base.begin_compress;
            let index = (layout.bodies_at() as u64).div_ceil(PIECE_BYTES);
            begin.launch(session, begin.blocks_each(batch.count, index), &args)?;
            if batch.work_slots > 0 {
                compress.launch(session, blocks, &args)?;
            }
            Ok(())
        }
    }

    unsafe fn decompress(&self, streams: &Arrays, dtype: DType, part: &Part) -> Result<()> {
        let session = streams.session;
        let base = Base::load(session, dtype)?;
        let all: u64 = streams.items().iter().map(|item| tiles(item.count).max(1)).sum();
        let decompress = base.decompress.kernel(all)?;
        let blocks_of =
            |item: &crate::runtime::cuda::launch::Item| tiles(item.count).max(1).div_ceil(decompress.warps().into());
        let (mut start, mut lens) = ([0; MAX_RANK], [0; MAX_RANK]);
        let (first, boxed) = match part {
            Part::From(first) => (*first, 0),
            Part::Box(region) => {
                start[..region.start().len()].copy_from_slice(region.start());
                lens[..region.lens().len()].copy_from_slice(region.lens());
                (0, 1)
            }
        };
        let places = all.clamp(1, PLACES) as u32;
        let busy = (places as usize * 4).next_multiple_of(16);
        let scratch = session.allocate(busy + places as usize * TILE_PLACE_BYTES)?;
        // SAFETY: the contract of this function; slots and what tells of the scratch memory are zeroed before the
        // kernel uses them.
        unsafe {
            let batch = streams.tell(base.list, decompress, blocks_of)?;
            let common = DecompressArgs { batch, first, dtype: dtype as u32, zero: 0 };
            batch.clear_slots(session)?;
            session.clear(scratch.start(), busy)?;
            let args = TileDecompressArgs { common, start, lens, boxed, places, scratch: scratch.start() };
            decompress.launch(session, decompress.blocks(batch.work_slots), &args)
        }
    }
}
