//! Codec predict on GPUs: which of `kernels/predict` does what is asked for, and with which arguments.

use super::Predict;
use super::format::{CODEC_PREDICT, TILE_LOG2};
use crate::codec::interp::plan::Plan;
use crate::codec::promise;
use crate::codec::traits::gpu::{GpuCodec, Part, padded};
use crate::container::{Geometry, Header, Layout};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::params::{Bound, Params};
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::{Buffer, Session};
use crate::runtime::cuda::launch::*;
use crate::runtime::cuda::module::{Kernel, Loaded, need};

/// Bytes that a block shares.
const SHARED_BYTES: usize = PREDICT_NUMBER_BYTES + PREDICT_TOGETHER * PREDICT_WARP_BYTES;

/// Tiles that warps may leave, for each whole one that an array has: edges cut more of them. Of an array of more tiles
/// than that warps restore none.
const LIST_ROOM: u64 = 16;

const _: () = assert!(PREDICT_NUMBER_BYTES == 4 << TILE_LOG2 && PREDICT_EXACT_BYTES < SHARED_BYTES);

/// The kernels for an element type in a context.
#[derive(Clone, Copy)]
struct Base {
    decompress: Kernel,
    /// Of tiles that a warp restores, where there is one for the type and the device.
    restore: Option<Kernel>,
    list: Kernel,
}

impl Base {
    fn load(session: &Session, dtype: DType) -> Result<Base> {
        static LOADED: Loaded<Base> = Loaded::none();
        LOADED.get(session, need(CODEC_PREDICT, dtype, "base")?, |module| {
            let restore = match module.has("restore") {
                true => module.kernel_of_warps("restore", BY_WARP_TABLES, BY_WARP_BYTES)?,
                false => None,
            };
            let decompress = module.kernel_sharing("decompress", SHARED_BYTES)?;
            Ok(Base { decompress, restore, list: module.kernel("list")? })
        })
    }
}

/// The kernels that compress elements of a type.
#[derive(Clone, Copy)]
struct Encoder {
    compress: Kernel,
    /// The same of lossless arrays, in smaller blocks.
    exact: Kernel,
    begin: Kernel,
    /// Of floats: the value range.
    range: Option<Kernel>,
}

impl Encoder {
    fn load(session: &Session, dtype: DType) -> Result<Encoder> {
        static LOADED: Loaded<Encoder> = Loaded::none();
        LOADED.get(session, need(CODEC_PREDICT, dtype, "encoder")?, |module| {
            let compress = module.kernel_sharing("compress", SHARED_BYTES)?;
            Ok(Encoder {
                compress,
                exact: compress.in_blocks_of(session, PREDICT_EXACT_THREADS, PREDICT_EXACT_BYTES)?,
                begin: module.kernel("begin_compress")?,
                range: if module.has("range") { Some(module.kernel("range")?) } else { None },
            })
        })
    }
}

/// Tiles of an array of which `count` elements are known, at least.
fn tiles(count: u64) -> u64 {
    count.div_ceil(1 << TILE_LOG2).max(1)
}

impl GpuCodec for Predict {
    fn prepare(&self, session: &Session, params: &Params) -> Result<()> {
        Encoder::load(session, params.dtype)?;
        Base::load(session, params.dtype).map(|_| ())
    }

    /// There are kernels for all that the codec has.
    fn refuses(&self, _: &Params, _: &Layout) -> Option<String> {
        None
    }

    fn refuses_to_restore(&self, header: &Header, _: &Part) -> Option<String> {
        Plan::for_decoding(header).err().map(|e| e.message)
    }

    unsafe fn compress(&self, arrays: &Arrays, params: &Params, layout: &Layout) -> Result<()> {
        let Geometry::Tile { sides_log2 } = layout.shape.geometry else {
            return fail!(Internal, "codec predict is to compress an array in runs");
        };
        let session = arrays.session;
        let Encoder { compress, exact, begin, range } = Encoder::load(session, params.dtype)?;
        let (compress, words) = match params.bound {
            Bound::Lossless => (exact, PREDICT_EXACT_WORDS),
            _ => (compress, PREDICT_DESK_WORDS),
        };
        let list = Base::load(session, params.dtype)?.list;
        let dims = layout.shape.dims.lens();
        // Of an array alone all tiles are known, however the array's edges cut them.
        let tiles_of = |item: &Item| if arrays.is_batch() { tiles(item.count) } else { layout.chunks as u64 };
        // SAFETY: the contract of this function; the scratch memory is freed behind the kernels.
        unsafe {
            let batch = arrays.tell(list, compress, tiles_of)?;
            let blocks = compress.blocks(batch.work_slots);
            // Words have at least 32 bits.
            let word = params.dtype.size().max(4);
            let desk = ((words * word) << TILE_LOG2) + PREDICT_DESK_BYTES;
            let scratch = session.allocate(blocks as usize * desk)?;
            let common = CompressArgs { fast: 0, ..promise::arguments(batch, params, layout) };
            let (lens, rank) = (padded(dims), dims.len() as u32);
            let args = PredictCompressArgs { common, lens, sides_log2, scratch: scratch.start(), rank, zero: 0 };
            if let Some(range) = range.filter(|_| params.bound.measures()) {
                batch.clear_slots(session)?;
                let pieces = layout.raw_bytes.div_ceil(PIECE_BYTES);
                range.launch(session, range.blocks_each(batch.count, pieces), &args)?;
            }
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
        let Base { decompress, restore, list } = Base::load(session, dtype)?;
        let (first, start, lens) = part.numbers();
        // SAFETY: the contract of this function; slots are zeroed before the kernel uses them, and the scratch memory
        // is freed behind it.
        unsafe {
            let batch = streams.tell(list, decompress, |item| tiles(item.count))?;
            let common = DecompressArgs { batch, first, dtype: dtype as u32, zero: 0 };
            batch.clear_slots(session)?;
            let mut args = PredictDecompressArgs {
                common,
                start,
                lens,
                scratch: std::ptr::null_mut(),
                list: std::ptr::null_mut(),
                list_room: 0,
                boxed: part.is_box().into(),
                workers: 0,
            };
            let of_warps = restore.filter(|_| !streams.is_batch());
            let left = of_warps.map(|restore| restore_by_warps(session, restore, &mut args)).transpose()?;
            let blocks = decompress.blocks(batch.work_slots);
            // Codes have at least 32 bits.
            let word = dtype.size().max(4);
            let scratch = session.allocate((blocks as usize * PREDICT_TOGETHER * word) << TILE_LOG2)?;
            args.scratch = scratch.start();
            let done = decompress.launch(session, blocks, &args);
            drop(left);
            done
        }
    }
}

/// Enqueues what warps restore of an array alone, and notes in the arguments where the list of all other tiles is: the
/// memory that comes back.
///
/// # Safety
/// The arguments are those of the kernels of an array alone, whose slot is zero.
unsafe fn restore_by_warps(session: &Session, kernel: Kernel, args: &mut PredictDecompressArgs) -> Result<Buffer> {
    let tiles = tiles(args.common.batch.only.count);
    let blocks = kernel.blocks(tiles);
    args.workers = tiles.div_ceil(kernel.resident().into()).min(kernel.warps().into()) as u32;
    args.list_room = LIST_ROOM * tiles;
    // SAFETY: memory of that length, freed behind the kernels; the rest is the contract of this function.
    unsafe {
        let list = session.allocate(LIST_BYTES + args.list_room as usize * size_of::<u32>())?;
        args.list = list.start();
        session.clear(list.start(), LIST_BYTES)?;
        let scratch = session.allocate(blocks as usize * (BY_WARP_WEIGHTS + args.workers as usize * BY_WARP_CODES))?;
        args.scratch = scratch.start();
        kernel.launch(session, blocks, args)?;
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors that kernels keep of the finest level of a tile with these sides: those of classes Y, Z, XZ and YZ.
    /// Shorter sides have no more.
    fn errors([x, y, z]: [usize; 3]) -> usize {
        let coarse = |n: usize| if n == 1 { 1 } else { n / 2 + 1 };
        let [[cx, fx], [cy, fy], [cz, fz]] = [x, y, z].map(|n| [coarse(n), n - coarse(n)]);
        cx * fy * cz + cx * cy * fz + fx * cy * fz + cx * fy * fz
    }

    #[test]
    fn errors_of_nodes_have_room() {
        let mut most = 0;
        for [x, y, z] in (0..15usize.pow(3)).map(|n| [n % 15, n / 15 % 15, n / 225]) {
            let sides = [x, y, z].map(|side| 1 << side);
            if x + y + z > TILE_LOG2 as usize || !crate::codec::interp::predict::interpolation::is_for(sides) {
                continue;
            }
            // Of tiles in two axes y takes the place of z.
            most = most.max(errors(if z == 0 { [sides[0], 1, sides[1]] } else { sides }));
        }
        assert!(most > 8000 && most <= PREDICT_ERRORS, "{most}");
    }
}
