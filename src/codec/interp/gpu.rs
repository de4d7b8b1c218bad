//! Codec interp on GPUs: which of `kernels/interp` does what is asked for, and with which arguments.

use super::Interp;
use super::format::{CODEC_INTERP, GROUP, TILE_LOG2};
use super::plan::Plan;
use super::rules::MOST_TRIALS;
use crate::codec::shared::gpu_codec::{GpuCodec, Numbers, padded};
use crate::codec::shared::promise;
use crate::container::{GRID_AXES, Geometry, Header, Layout, Wanted};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::params::{Bound, Params};
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::{Buffer, Session};
use crate::runtime::cuda::launch::*;
use crate::runtime::cuda::module::{Kernel, Loaded, Warps, need};

/// Bytes that a block shares.
const SHARED_BYTES: usize = INTERP_NUMBER_BYTES + INTERP_TOGETHER * INTERP_WARP_BYTES;

const _: () = assert!(INTERP_NUMBER_BYTES == 4 << TILE_LOG2);

/// The kernels for an element type in a context.
#[derive(Clone, Copy)]
struct Base {
    decompress: Kernel,
    list: Kernel,
    /// In two stages, where there are such for the type and the device.
    stages: Option<Stages>,
}

/// The kernels of two stages: words to codes, and codes to elements, in blocks that share little and in such that share
/// much.
#[derive(Clone, Copy)]
struct Stages {
    decode: Warps,
    restore: [Kernel; 2],
    /// The same of a level's nodes.
    decode_nodes: Warps,
    restore_nodes: Warps,
}

impl Base {
    fn load(session: &Session, dtype: DType) -> Result<Base> {
        static LOADED: Loaded<Base> = Loaded::none();
        LOADED.get(session, need(CODEC_INTERP, dtype, "base")?, |module| {
            let decompress = module.kernel_sharing("decompress", SHARED_BYTES)?;
            let decode = |role| match module.has(role) {
                true => module.warps_sharing(role, DECODE_TABLE_BYTES, DECODE_WARP_BYTES),
                false => Ok(None),
            };
            let stages = |(decode, decode_nodes)| -> Result<Stages> {
                // The last one says how much its blocks may share.
                let narrow = module.kernel_sharing("restore", RESTORE_BYTES)?;
                let restore = [narrow, module.kernel_sharing("restore", RESTORE_WIDE_BYTES)?];
                let restore_nodes = module.warps_of(module.kernel_sharing("restore_nodes", NODES_BYTES)?)?;
                Ok(Stages { decode, restore, decode_nodes, restore_nodes })
            };
            let stages = decode("decode")?.zip(decode("decode_nodes")?).map(stages).transpose()?;
            Ok(Base { decompress, list: module.kernel("list")?, stages })
        })
    }
}

/// The kernels that compress elements of a type.
#[derive(Clone, Copy)]
struct Encoder {
    begin: Kernel,
    try_tiles: Kernel,
    /// Tiles of any form, or those that are left.
    compress: Kernel,
    place: Kernel,
    /// Of floats: the value range.
    range: Option<Kernel>,
    /// Of whole tiles, where there are such for the type and the device.
    whole: Option<WholeEncoder>,
}

/// The kernels of whole tiles: elements to codes of 8 and of 16 bits, and codes to words.
#[derive(Clone, Copy)]
struct WholeEncoder {
    predict: [Kernel; 2],
    entropy: Warps,
}

impl Encoder {
    fn load(session: &Session, dtype: DType) -> Result<Encoder> {
        static LOADED: Loaded<Encoder> = Loaded::none();
        LOADED.get(session, need(CODEC_INTERP, dtype, "encoder")?, |module| {
            let entropy = match module.has("entropy") {
                true => module.warps_sharing("entropy", ENTROPY_TABLE_BYTES, ENTROPY_WARP_BYTES)?,
                false => None,
            };
            let whole = |entropy| -> Result<WholeEncoder> {
                let narrow = module.kernel_sharing("predict", INTERP_PREDICT_BYTES)?;
                let wide = module.kernel_sharing("predict_wide", INTERP_PREDICT_WIDE_BYTES)?;
                Ok(WholeEncoder { predict: [narrow, wide], entropy })
            };
            Ok(Encoder {
                begin: module.kernel("begin_compress")?,
                try_tiles: module.kernel_sharing("try", SHARED_BYTES)?,
                compress: module.kernel_sharing("compress", SHARED_BYTES)?,
                place: module.kernel("place")?,
                range: if module.has("range") { Some(module.kernel("range")?) } else { None },
                whole: entropy.map(whole).transpose()?,
            })
        })
    }
}

/// Tiles of a wave, at most: as many as there are warps on a large device.
const WAVE_TILES: u64 = 4224;

impl Encoder {
    /// Enqueues what brings the tiles of a wave from elements to their places in the stream.
    ///
    /// # Safety
    /// The arguments are those of the kernels.
    unsafe fn run_wave(
        &self,
        session: &Session,
        whole: Option<WholeEncoder>,
        blocks: u32,
        args: &InterpCompressArgs,
    ) -> Result<()> {
        let count = u64::from(args.count);
        // SAFETY: the contract of this function.
        unsafe {
            session.clear(args.stages, INTERP_LISTS_BYTES)?;
            if let Some(WholeEncoder { predict, entropy }) = whole {
                for kernel in predict {
                    kernel.launch(session, kernel.blocks(count), args)?;
                }
                let entropy = entropy.kernel(count)?;
                let of_warps = count.div_ceil(entropy.warps().into());
                entropy.launch(session, entropy.blocks(of_warps), args)?;
            }
            self.compress.launch(session, blocks, args)?;
            self.place.launch(session, count.div_ceil(PLACE_TILES as u64) as u32, args)
        }
    }
}

/// An array of fewer tiles is restored in one stage: three launches would take longer than they save. In tests' builds
/// the stages have arrays of any size.
const STAGED_TILES: u64 = if cfg!(feature = "test-codecs") { 1 } else { 1024 };

/// For so many tiles of an array there is room where they are restored in stages: edges cut more of them than would
/// hold it. Of an array of more none is.
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

    fn refuses_to_restore(&self, header: &Header, _: &Wanted) -> Option<String> {
        Plan::for_decoding(header).err().map(|e| e.message)
    }

    unsafe fn compress(&self, arrays: &Arrays, params: &Params, layout: &Layout) -> Result<()> {
        let Geometry::Tile { sides_log2 } = layout.shape.geometry else {
            return fail!(Internal, "codec interp is to compress an array in runs");
        };
        let session = arrays.session;
        let encoder = Encoder::load(session, params.dtype)?;
        let list = Base::load(session, params.dtype)?.list;
        let dims = layout.shape.dims.lens();
        let tiles_of =
            |item: &Item| if dims.len() == 1 { item.count.div_ceil(1 << TILE_LOG2) } else { layout.chunks as u64 };
        // SAFETY: the contract of this function; the scratch memory is freed behind the kernels.
        unsafe {
            let batch = arrays.tell_chunks(list, tiles_of)?;
            let tiles = batch.work_slots;
            let whole = encoder.whole.filter(|_| matches!(params.bound, Bound::Abs(_) | Bound::Noa { .. }));
            let wave = WAVE_TILES.min(tiles).next_multiple_of(16).max(16);
            let blocks = encoder.compress.blocks(wave);
            let tries = encoder.try_tiles.blocks(u64::from(batch.count) * MOST_TRIALS as u64);
            // Words have at least 32 bits.
            let word = params.dtype.size().max(4);
            let desk = ((INTERP_DESK_WORDS * word) << TILE_LOG2) + INTERP_DESK_BYTES;
            let scratch = session.allocate(blocks.max(tries) as usize * desk)?;
            let trials = session.allocate(batch.count as usize * INTERP_TRIALS_BYTES)?;
            let slot = params.dtype.size() << TILE_LOG2;
            let of_tile = 2 * size_of::<u32>() + INTERP_STAGE_TILE_BYTES + slot;
            let stages = session.allocate(INTERP_LISTS_BYTES + INTERP_WEIGHTS_BYTES + wave as usize * of_tile)?;
            let common = CompressArgs { fast: 0, ..promise::arguments(batch, params, layout) };
            let (lens, rank) = (padded(dims), dims.len() as u32);
            let mut args = InterpCompressArgs {
                common,
                lens,
                sides_log2,
                scratch: scratch.start(),
                trials: trials.start(),
                stages: stages.start(),
                first: 0,
                room: wave,
                count: 0,
                wave: 0,
                staged: whole.is_some().into(),
                trying: 0,
                rank,
                zero: 0,
            };
            if let Some(range) = encoder.range.filter(|_| params.bound.measures()) {
                batch.clear_slots(session)?;
                let pieces = layout.raw_bytes.div_ceil(PIECE_BYTES);
                range.launch(session, range.blocks_each(batch.count, pieces), &args)?;
            }
            let index = (layout.bodies_at() as u64).div_ceil(PIECE_BYTES);
            encoder.begin.launch(session, encoder.begin.blocks_each(batch.count, index), &args)?;
            if tiles > 0 {
                if let Some(WholeEncoder { predict: [_, wide], .. }) = whole {
                    let parts = u64::from(batch.count) * (MOST_TRIALS * INTERP_TRIAL_PARTS) as u64;
                    wide.launch(session, wide.blocks(parts), &InterpCompressArgs { trying: 1, ..args })?;
                }
                encoder.try_tiles.launch(session, tries, &args)?;
            }
            while args.first < tiles {
                args.count = wave.min(tiles - args.first) as u32;
                encoder.run_wave(session, whole, blocks, &args)?;
                args.first += wave;
                args.wave += 1;
            }
            Ok(())
        }
    }

    unsafe fn decompress(&self, streams: &Arrays, dtype: DType, wanted: &Wanted, seen: Option<&Header>) -> Result<()> {
        let session = streams.session;
        let Base { decompress, list, stages } = Base::load(session, dtype)?;
        let Numbers { first, start, lens, boxed, level } = wanted.into();
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
                first_tile: 0,
                end_tile: 0,
                boxed,
                level,
                wide: 0,
                words: 0,
            };
            let is_aligned = (batch.only.dst as usize).is_multiple_of(dtype.size());
            let of_nodes = seen.filter(|header| level > 0 && is_aligned && has_nodes(header)).zip(stages);
            let stages =
                stages.filter(|_| !streams.is_batch() && boxed == 0 && tiles(common.batch.only.count) >= STAGED_TILES);
            let left = stages.map(|stages| restore_in_stages(session, &stages, &mut args)).transpose()?;
            let nodes = of_nodes.map(|(header, stages)| restore_nodes(session, &stages, &mut args, &header.layout));
            let nodes = nodes.transpose()?.flatten();
            // Behind these kernels a block for each tile that is left: memory for more takes longer than few tiles do.
            let left_slots = nodes.as_ref().map_or(u64::MAX, |(_, left)| *left);
            let blocks = decompress.blocks(batch.work_slots.min(left_slots));
            // Codes have at least 32 bits.
            let word = dtype.size().max(4);
            let scratch = session.allocate((blocks as usize * INTERP_TOGETHER * word) << TILE_LOG2)?;
            args.scratch = scratch.start();
            let done = decompress.launch(session, blocks, &args);
            drop((left, nodes));
            done
        }
    }
}

/// Enqueues the stages of an array alone. Notes in the arguments where the list of the tiles is that they leave: the
/// memory that comes back.
///
/// # Safety
/// The arguments are those of the kernels of an array alone, whose slot is zero.
unsafe fn restore_in_stages(session: &Session, stages: &Stages, args: &mut InterpDecompressArgs) -> Result<Buffer> {
    let tiles = tiles(args.common.batch.only.count);
    args.room = room(tiles);
    let list = INTERP_LIST_BYTES + (args.room as usize * size_of::<u32>()).next_multiple_of(16);
    // SAFETY: memory of that length, freed behind the kernels; the rest is the contract of this function.
    unsafe {
        let memory = session.allocate(list + args.room as usize * TILE_BYTES)?;
        args.list = memory.start();
        args.tiles = memory.start().wrapping_add(list);
        session.clear(memory.start(), INTERP_LIST_BYTES)?;
        let decode = stages.decode.kernel(tiles)?;
        decode.launch(session, decode.blocks(tiles.div_ceil(decode.warps().into())), args)?;
        for (wide, restore) in stages.restore.iter().enumerate() {
            args.wide = wide as u32;
            restore.launch(session, restore.blocks(tiles), args)?;
        }
        Ok(memory)
    }
}

/// Whether tiles of a stream can have nodes that are restored alone, by the kernels for these: floats with bins.
fn has_nodes(header: &Header) -> bool {
    let (shape, has_bins) = (&header.layout.shape, Plan::for_decoding(header).is_ok_and(|plan| plan.bins.is_some()));
    has_bins && !header.big_endian && !shape.missing.has_next()
}

/// Bytes of codes of a wave of tiles whose nodes are restored: as many as the second-level cache of a large device.
const WAVE_BYTES: u64 = 48 << 20;

/// Enqueues the stages of a level's nodes of an array alone, wave by wave, and waits for how many tiles they leave. As
/// `restore_in_stages`; nothing is done where tiles have other axes than the grid.
///
/// # Safety
/// As for `restore_in_stages`.
unsafe fn restore_nodes(
    session: &Session,
    stages: &Stages,
    args: &mut InterpDecompressArgs,
    layout: &Layout,
) -> Result<Option<(Buffer, u64)>> {
    let Geometry::Tile { sides_log2 } = layout.shape.geometry else { return Ok(None) };
    let (outer, of_grid) =
        sides_log2[..layout.shape.dims.rank()].split_at(layout.shape.dims.rank().saturating_sub(GRID_AXES));
    if outer.iter().any(|side| *side > 0) || layout.chunks == 0 {
        return Ok(None);
    }
    // Along a side of 2^s elements there are 2^(s - level) and the last one, or both ends.
    let nodes = |log2: &u8| if *log2 == 0 { 1 } else { (((1usize << log2) - 2) >> args.level.min(31)) + 2 };
    let words = of_grid.iter().map(nodes).product::<usize>().next_multiple_of(GROUP);
    let (tiles, slot) = (layout.chunks as u64, words * size_of::<u32>());
    let wave = (WAVE_BYTES / slot as u64).min(tiles);
    let list = INTERP_LIST_BYTES + (layout.chunks * size_of::<u32>()).next_multiple_of(16);
    let own = wave as usize * TILE_BYTES;
    // Warps have few nodes each, but on the finest level.
    let restore = stages.restore_nodes.of(if args.level == 1 { 4 } else { 1 }, 9 * words)?;
    // SAFETY: memory of that length, freed behind the kernels; the rest is the contract of this function.
    unsafe {
        let memory = session.allocate(list + own + wave as usize * slot)?;
        (args.room, args.words) = (tiles, words as u32);
        args.list = memory.start();
        args.tiles = args.list.wrapping_add(list);
        args.scratch = args.tiles.wrapping_add(own);
        session.clear(args.list, INTERP_LIST_BYTES)?;
        for first in (0..tiles).step_by(wave as usize) {
            (args.first_tile, args.end_tile) = (first, tiles.min(first + wave));
            let of_wave = args.end_tile - first;
            let decode = stages.decode_nodes.kernel(of_wave)?;
            decode.launch(session, decode.blocks(of_wave.div_ceil(decode.warps().into())), args)?;
            restore.launch(session, restore.blocks(of_wave), args)?;
        }
        let mut left = 0u64;
        session.copy((&raw mut left).cast(), args.list.wrapping_add(size_of::<u64>()), size_of::<u64>())?;
        session.wait()?;
        Ok(Some((memory, left)))
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
