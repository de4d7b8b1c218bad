//! Codec interp on GPUs: which of `kernels/interp` does what is asked for, and with which arguments.

use super::Interp;
use super::format::{CODEC_INTERP, TILE_LOG2};
use super::plan::Plan;
use super::rules::MOST_TRIALS;
use crate::codec::promise;
use crate::codec::traits::gpu::{GpuCodec, Part, padded};
use crate::container::{Geometry, Header, Layout};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::params::Params;
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::{Buffer, Session};
use crate::runtime::cuda::launch::*;
use crate::runtime::cuda::module::{Kernel, Loaded, need};

/// Bytes that a block shares.
const SHARED_BYTES: usize = INTERP_NUMBER_BYTES + INTERP_TOGETHER * INTERP_WARP_BYTES;

const _: () = assert!(INTERP_NUMBER_BYTES == 4 << TILE_LOG2);

/// The kernels for an element type in a context.
#[derive(Clone, Copy)]
struct Base {
    decompress: Kernel,
    list: Kernel,
    /// Of whole tiles, where there are such for the type and the device.
    whole: Option<Whole>,
}

/// The kernels of whole tiles: words to codes, and codes of 8 and of 16 bits to elements.
#[derive(Clone, Copy)]
struct Whole {
    decode: Kernel,
    restore: [Kernel; 2],
}

impl Base {
    fn load(session: &Session, dtype: DType) -> Result<Base> {
        static LOADED: Loaded<Base> = Loaded::none();
        LOADED.get(session, need(CODEC_INTERP, dtype, "base")?, |module| {
            let decompress = module.kernel_sharing("decompress", SHARED_BYTES)?;
            let decode = match module.has("decode") {
                true => module.kernel_of_warps("decode", DECODE_TABLE_BYTES, DECODE_WARP_BYTES)?,
                false => None,
            };
            let whole = |decode| -> Result<Whole> {
                let narrow = module.kernel_sharing("restore", RESTORE_BYTES)?;
                Ok(Whole { decode, restore: [narrow, module.kernel_sharing("restore_wide", RESTORE_WIDE_BYTES)?] })
            };
            Ok(Base { decompress, list: module.kernel("list")?, whole: decode.map(whole).transpose()? })
        })
    }
}

/// The kernels that compress elements of a type.
#[derive(Clone, Copy)]
struct Encoder {
    compress: Kernel,
    try_tiles: Kernel,
    begin: Kernel,
    /// Of floats: the value range.
    range: Option<Kernel>,
}

impl Encoder {
    fn load(session: &Session, dtype: DType) -> Result<Encoder> {
        static LOADED: Loaded<Encoder> = Loaded::none();
        LOADED.get(session, need(CODEC_INTERP, dtype, "encoder")?, |module| {
            Ok(Encoder {
                compress: module.kernel_sharing("compress", SHARED_BYTES)?,
                try_tiles: module.kernel_sharing("try", SHARED_BYTES)?,
                begin: module.kernel("begin_compress")?,
                range: if module.has("range") { Some(module.kernel("range")?) } else { None },
            })
        })
    }
}

/// For so many tiles of an array there is room where whole ones are restored by themselves: edges cut more of them than
/// would hold it. Of an array of more none is.
fn room(tiles: u64) -> u64 {
    4 * tiles + 64
}

/// Tiles of an array of which `count` elements are known, at least.
fn tiles(count: u64) -> u64 {
    count.div_ceil(1 << TILE_LOG2).max(1)
}

impl GpuCodec for Interp {
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
            return fail!(Internal, "codec interp is to compress an array in runs");
        };
        let session = arrays.session;
        let Encoder { compress, try_tiles, begin, range } = Encoder::load(session, params.dtype)?;
        let list = Base::load(session, params.dtype)?.list;
        let dims = layout.shape.dims.lens();
        // Of an array alone all tiles are known, however the array's edges cut them.
        let tiles_of = |item: &Item| if arrays.is_batch() { tiles(item.count) } else { layout.chunks as u64 };
        // SAFETY: the contract of this function; the scratch memory is freed behind the kernels.
        unsafe {
            let batch = arrays.tell(list, compress, tiles_of)?;
            let blocks = compress.blocks(batch.work_slots);
            let tries = try_tiles.blocks(u64::from(batch.count) * MOST_TRIALS as u64);
            // Words have at least 32 bits.
            let word = params.dtype.size().max(4);
            let desk = ((INTERP_DESK_WORDS * word) << TILE_LOG2) + INTERP_DESK_BYTES;
            let scratch = session.allocate(blocks.max(tries) as usize * desk)?;
            let trials = session.allocate(batch.count as usize * INTERP_TRIALS_BYTES)?;
            let common = CompressArgs { fast: 0, ..promise::arguments(batch, params, layout) };
            let (lens, rank) = (padded(dims), dims.len() as u32);
            let args = InterpCompressArgs {
                common,
                lens,
                sides_log2,
                scratch: scratch.start(),
                trials: trials.start(),
                rank,
                zero: 0,
            };
            if let Some(range) = range.filter(|_| params.bound.measures()) {
                batch.clear_slots(session)?;
                let pieces = layout.raw_bytes.div_ceil(PIECE_BYTES);
                range.launch(session, range.blocks_each(batch.count, pieces), &args)?;
            }
            let index = (layout.bodies_at() as u64).div_ceil(PIECE_BYTES);
            begin.launch(session, begin.blocks_each(batch.count, index), &args)?;
            if batch.work_slots > 0 {
                try_tiles.launch(session, tries, &args)?;
                compress.launch(session, blocks, &args)?;
            }
            Ok(())
        }
    }

    unsafe fn decompress(&self, streams: &Arrays, dtype: DType, part: &Part) -> Result<()> {
        let session = streams.session;
        let Base { decompress, list, whole } = Base::load(session, dtype)?;
        let (first, start, lens) = part.numbers();
        // SAFETY: the contract of this function; slots are zeroed before the kernel uses them, and the scratch memory
        // is freed behind it.
        unsafe {
            let batch = streams.tell(list, decompress, |item| tiles(item.count))?;
            let common = DecompressArgs { batch, first, dtype: dtype as u32, zero: 0 };
            batch.clear_slots(session)?;
            let mut args = InterpDecompressArgs {
                common,
                start,
                lens,
                scratch: std::ptr::null_mut(),
                list: std::ptr::null_mut(),
                tiles: std::ptr::null_mut(),
                room: 0,
                boxed: part.is_box().into(),
                zero: 0,
            };
            let whole = whole.filter(|_| !streams.is_batch() && !part.is_box());
            let left = whole.map(|whole| restore_whole_tiles(session, &whole, &mut args)).transpose()?;
            let blocks = decompress.blocks(batch.work_slots);
            // Codes have at least 32 bits.
            let word = dtype.size().max(4);
            let scratch = session.allocate((blocks as usize * INTERP_TOGETHER * word) << TILE_LOG2)?;
            args.scratch = scratch.start();
            let done = decompress.launch(session, blocks, &args);
            drop(left);
            done
        }
    }
}

/// Enqueues what whole tiles of an array alone take, and notes in the arguments where the list of all others is: the
/// memory that comes back.
///
/// # Safety
/// The arguments are those of the kernels of an array alone, whose slot is zero.
unsafe fn restore_whole_tiles(session: &Session, whole: &Whole, args: &mut InterpDecompressArgs) -> Result<Buffer> {
    let tiles = tiles(args.common.batch.only.count);
    args.room = room(tiles);
    let list = INTERP_LIST_BYTES + (args.room as usize * size_of::<u32>()).next_multiple_of(16);
    // SAFETY: memory of that length, freed behind the kernels; the rest is the contract of this function.
    unsafe {
        let memory = session.allocate(list + args.room as usize * TILE_BYTES)?;
        args.list = memory.start();
        args.tiles = memory.start().wrapping_add(list);
        session.clear(memory.start(), INTERP_LIST_BYTES)?;
        let of_warps = tiles.div_ceil(whole.decode.warps().into());
        whole.decode.launch(session, whole.decode.blocks(of_warps), args)?;
        for restore in whole.restore {
            restore.launch(session, restore.blocks(tiles), args)?;
        }
        Ok(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::interp::predict::interpolation;

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
            if x + y + z > TILE_LOG2 as usize || !interpolation::is_for(sides) {
                continue;
            }
            // Of tiles in two axes y takes the place of z.
            most = most.max(errors(if z == 0 { [sides[0], 1, sides[1]] } else { sides }));
        }
        assert!(most > 8000 && most <= INTERP_ERRORS, "{most}");
    }
}
