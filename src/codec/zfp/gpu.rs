//! Codec zfp on GPUs: which of `kernels/zfp` does what is asked for, and with which arguments.

use super::Zfp;
use super::format::{Axes, BLOCK_LOG2, CODEC_ZFP, MAX_AXES, TILE_LOG2};
use super::plan::Plan;
use crate::codec::shared::gpu_codec::{GpuCodec, arguments, padded};
use crate::container::{Geometry, Header, Layout, Wanted};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::params::Params;
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::Session;
use crate::runtime::cuda::launch::*;
use crate::runtime::cuda::module::{Kernel, Loaded, Warps, need};

/// The kernels for a width of elements in a context.
#[derive(Clone, Copy)]
struct Base {
    decompress: Warps,
    begin_compress: Kernel,
    list: Kernel,
}

impl Base {
    fn load(session: &Session, dtype: DType) -> Result<Base> {
        static LOADED: Loaded<Base> = Loaded::none();
        LOADED.get(session, need(CODEC_ZFP, dtype, "base")?, |module| {
            Ok(Base {
                decompress: module.warps("decompress")?,
                begin_compress: module.kernel("begin_compress")?,
                list: module.kernel("list")?,
            })
        })
    }
}

fn encoder(session: &Session, dtype: DType) -> Result<Warps> {
    static LOADED: Loaded<Warps> = Loaded::none();
    LOADED.get(session, need(CODEC_ZFP, dtype, "encoder")?, |module| module.warps("compress"))
}

/// Tiles of an array of which `count` elements are known, at least.
fn tiles(count: u64) -> u64 {
    count.div_ceil(1 << TILE_LOG2)
}

/// What kernels do not know of an array.
fn refused(layout: &Layout) -> Option<String> {
    let missing = layout.shape.missing.len();
    if missing > 0 {
        return Some(format!("codec zfp has no kernels for {missing} missing values"));
    }
    match Axes::new(layout) {
        Ok(_) => None,
        Err(e) => Some(e.message),
    }
}

/// Bytes where the lanes of a warp stage the elements of their blocks, and put what comes back of them; blocks of four
/// axes are in shared memory.
fn staged_bytes(dtype: DType, axes: usize) -> usize {
    if axes == MAX_AXES { 0 } else { 2 * 32 * (dtype.size() << (BLOCK_LOG2 as usize * axes)) }
}

impl GpuCodec for Zfp {
    fn prepare(&self, session: &Session, params: &Params) -> Result<()> {
        Base::load(session, params.dtype)?;
        encoder(session, params.dtype).map(|_| ())
    }

    fn refuses(&self, _: &Params, layout: &Layout) -> Option<String> {
        refused(layout)
    }

    fn refuses_to_restore(&self, header: &Header, _: &Wanted) -> Option<String> {
        refused(&header.layout).or_else(|| Plan::for_decoding(header).err().map(|e| e.message))
    }

    unsafe fn compress(&self, arrays: &Arrays, params: &Params, layout: &Layout) -> Result<()> {
        let Geometry::Tile { sides_log2 } = layout.shape.geometry else {
            return fail!(Internal, "codec zfp is to compress an array in runs");
        };
        let (plan, header) = Plan::for_encoding(params, layout)?;
        let session = arrays.session;
        let base = Base::load(session, params.dtype)?;
        // Of an array alone all tiles are known, however the array's edges cut them.
        let tiles_of = |item: &Item| if arrays.is_batch() { tiles(item.count) } else { layout.chunks as u64 };
        let compress = encoder(session, params.dtype)?.kernel(arrays.items().iter().map(tiles_of).sum())?;
        let dims = layout.shape.dims.lens();
        let staged_bytes = staged_bytes(params.dtype, plan.axes.count());
        let room = staged_bytes + (params.dtype.size() << TILE_LOG2);
        // SAFETY: the contract of this function; the scratch memory is freed behind the kernels.
        unsafe {
            let blocks_of = |item: &Item| tiles_of(item).div_ceil(compress.warps().into());
            let batch = arrays.tell(base.list, Some(compress), blocks_of)?;
            let blocks = compress.blocks(batch.work_slots);
            let warps = u64::from(blocks) * u64::from(compress.warps());
            let scratch = session.allocate(warps as usize * room)?;
            let args = ZfpCompressArgs {
                batch,
                lens: padded(dims),
                sides_log2,
                stated: header.bound,
                scratch: scratch.start(),
                room: room as u64,
                staged_bytes: staged_bytes as u64,
                warps,
                rank: dims.len() as u32,
                dtype: params.dtype as u32,
                mode: params.bound.mode() as u32,
                coding: u32::from_le_bytes(header.word),
                big_endian: params.big_endian.into(),
                ..ZfpCompressArgs::ZERO
            };
            let begin = base.begin_compress;
            let index = (layout.bodies_at() as u64).div_ceil(PIECE_BYTES);
            begin.launch(session, begin.blocks_each(batch.count, index), &args)?;
            if batch.work_slots > 0 {
                compress.launch(session, blocks, &args)?;
            }
            Ok(())
        }
    }

    unsafe fn decompress(&self, streams: &Arrays, dtype: DType, wanted: &Wanted, _: Option<&Header>) -> Result<()> {
        let session = streams.session;
        let base = Base::load(session, dtype)?;
        let tiles_of = |item: &Item| tiles(item.count).max(1);
        let decompress = base.decompress.kernel(streams.items().iter().map(tiles_of).sum())?;
        // SAFETY: the contract of this function; slots are zeroed before the kernel uses them.
        unsafe {
            let blocks_of = |item: &Item| tiles_of(item).div_ceil(decompress.warps().into());
            let batch = streams.tell(base.list, Some(decompress), blocks_of)?;
            batch.clear_slots(session)?;
            decompress.launch(session, decompress.blocks(batch.work_slots), &arguments(batch, dtype, wanted))
        }
    }
}
