//! Codec interp on GPUs: which of `kernels/interp` does what is asked for, and with which arguments.

use super::Interp;
use super::format::{CODEC_INTERP, GROUP, TILE_LOG2};
use super::plan::Plan;
use super::rules::MOST_TRIALS;
use crate::codec::shared::gpu_codec::{GpuCodec, arguments, padded};
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
            let decode = |role| module.warps_sharing(role, DECODE_TABLE_BYTES, DECODE_WARP_BYTES);
            let stages = |(decode, decode_nodes)| -> Result<Stages> {
                // The last one says how much its blocks may share.
                let narrow = module.kernel_sharing("restore", RESTORE_BYTES)?;
                let restore = [narrow, module.kernel_sharing("restore", RESTORE_WIDE_BYTES)?];
                let restore_nodes = Warps::of_kernel(module.kernel_sharing("restore_nodes", NODES_BYTES)?);
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
            let entropy = module.warps_sharing("entropy", ENTROPY_TABLE_BYTES, ENTROPY_WARP_BYTES)?;
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
                range: module.optional("range")?,
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

    /// There are kernels for all but what chunks with ranges of their own need of the lattice.
    fn refuses(&self, params: &Params, _: &Layout) -> Option<String> {
        let has_lattice = matches!(params.dtype, DType::F32 | DType::F64);
        (params.rewritten && has_lattice)
            .then(|| "codec interp has no kernels for chunks with ranges of their own".into())
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
            let batch = arrays.tell(list, None, tiles_of)?;
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
                room: wave,
                staged: whole.is_some().into(),
                rank,
                ..InterpCompressArgs::ZERO
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
        // SAFETY: the contract of this function; slots are zeroed before the kernel uses them, and the scratch memory
        // is freed behind it.
        unsafe {
            let batch = streams.tell(list, Some(decompress), |item| tiles(item.count))?;
            batch.clear_slots(session)?;
            let common = arguments(batch, dtype, wanted);
            let mut args = InterpDecompressArgs { common, end_tile: u64::MAX, ..InterpDecompressArgs::ZERO };
            let blocks = decompress.blocks(batch.work_slots);
            // Codes have at least 32 bits.
            let bytes = (blocks as usize * INTERP_TOGETHER * dtype.size().max(4)) << TILE_LOG2;
            let alone = stages.filter(|_| !streams.is_batch());
            let level = seen.and_then(|header| Level::of(header, wanted)).zip(alone);
            let scratch = session.allocate(level.as_ref().map_or(0, |(level, _)| level.bytes()).max(bytes))?;
            args.common.scratch = scratch.start();
            let left = match (level, alone) {
                (Some((level, stages)), _) => Some(level.restore(session, &stages, &mut args)?),
                (None, Some(stages)) if args.common.boxed == 0 && tiles(batch.only.count) >= STAGED_TILES => {
                    Some(restore_in_stages(session, &stages, &mut args)?)
                }
                _ => None,
            };
            let done = decompress.launch(session, blocks, &args);
            drop((left, scratch));
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
    // SAFETY: the contract of this function.
    unsafe {
        let memory = list(session, room(tiles), room(tiles), args)?;
        let decode = stages.decode.kernel(tiles)?;
        decode.launch(session, decode.blocks(tiles.div_ceil(decode.warps().into())), args)?;
        for (wide, restore) in stages.restore.iter().enumerate() {
            args.wide = wide as u32;
            restore.launch(session, restore.blocks(tiles), args)?;
        }
        Ok(memory)
    }
}

/// Memory for a list of so many tiles, and for what is known of so many, of which the arguments are told.
///
/// # Safety
/// That of [`restore_in_stages`].
unsafe fn list(session: &Session, room: u64, known: u64, args: &mut InterpDecompressArgs) -> Result<Buffer> {
    let bytes = INTERP_LIST_BYTES + (room as usize * size_of::<u32>()).next_multiple_of(16);
    let memory = session.allocate(bytes + known as usize * TILE_BYTES)?;
    (args.room, args.list, args.tiles) = (room, memory.start(), memory.start().wrapping_add(bytes));
    // SAFETY: memory of that length, freed behind the kernels.
    unsafe { session.clear(memory.start(), INTERP_LIST_BYTES) }?;
    Ok(memory)
}

/// How a level of an array alone is restored, wave by wave of its tiles.
struct Level {
    tiles: u64,
    wave: u64,
    /// Words of a tile's slot, for the codes of its nodes, or all its elements,
    slot: usize,
    /// and those of its nodes.
    nodes: usize,
    level: u32,
}

/// Tiles of a wave, at most: with fewer, warps wait more often for the one that has most to decode. Tests' builds have
/// several waves.
const LEVEL_TILES: u64 = if cfg!(feature = "test-codecs") { 24 } else { WAVE_TILES };

impl Level {
    /// If the kernels for this can restore what is wanted: floats with bins, whose tiles have no other axes than the
    /// grid.
    fn of(header: &Header, wanted: &Wanted) -> Option<Level> {
        let (shape, level) = (&header.layout.shape, wanted.on_level()?.1);
        let Geometry::Tile { sides_log2 } = shape.geometry else { return None };
        let rank = shape.dims.rank();
        let (outer, of_grid) = sides_log2[..rank].split_at(rank.saturating_sub(GRID_AXES));
        let has_bins = Plan::for_decoding(header).is_ok_and(|plan| plan.bins.is_some());
        let is_plain = has_bins && !header.big_endian && !shape.missing.has_next();
        let tiles = header.layout.chunks as u64;
        if level == 0 || !is_plain || tiles < STAGED_TILES || outer.iter().any(|side| *side > 0) {
            return None;
        }
        // Along a side of 2^s elements there are 2^(s - level) and the last one, or both ends.
        let along = |log2: &u8| if *log2 == 0 { 1 } else { (((1usize << log2) - 2) >> level.min(31)) + 2 };
        let nodes = of_grid.iter().map(along).product::<usize>().next_multiple_of(GROUP);
        let elements = (header.layout.dtype.size() << TILE_LOG2) / size_of::<u32>();
        Some(Level { tiles, wave: LEVEL_TILES.min(tiles), slot: nodes.max(elements), nodes, level })
    }

    /// Bytes of the slots of a wave.
    fn bytes(&self) -> usize {
        self.wave as usize * self.slot * size_of::<u32>()
    }

    /// Enqueues the stages. As [`restore_in_stages`]; scratch memory of these bytes is there.
    ///
    /// # Safety
    /// As for `restore_in_stages`.
    unsafe fn restore(&self, session: &Session, stages: &Stages, args: &mut InterpDecompressArgs) -> Result<Buffer> {
        // Warps have few nodes each, but on the finest level.
        let of_nodes = stages.restore_nodes.of(if self.level == 1 { 4 } else { 1 }, 9 * self.nodes)?;
        let in_slots = stages.restore[0];
        args.words = self.slot as u32;
        // SAFETY: the contract of this function.
        unsafe {
            let memory = list(session, self.tiles, self.wave, args)?;
            for first in (0..self.tiles).step_by(self.wave as usize) {
                (args.first_tile, args.end_tile) = (first, self.tiles.min(first + self.wave));
                let of_wave = args.end_tile - first;
                let decode = stages.decode_nodes.kernel(of_wave)?;
                decode.launch(session, decode.blocks(of_wave.div_ceil(decode.warps().into())), args)?;
                // To it a slot is a tile of the array.
                let common = DecompressArgs { boxed: 0, level: 0, ..args.common };
                let of_slots = InterpDecompressArgs { common, wide: IN_SLOT as u32, ..*args };
                in_slots.launch(session, in_slots.blocks(of_wave), &of_slots)?;
                of_nodes.launch(session, of_nodes.blocks(of_wave), args)?;
            }
            Ok(memory)
        }
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
            if x + y + z > TILE_LOG2 as usize || !interpolation::can_interpolate(sides) {
                continue;
            }
            // Of tiles in two axes y takes the place of z.
            most = most.max(errors(if z == 0 { [sides[0], 1, sides[1]] } else { sides }));
        }
        assert!(most > 8000 && most <= INTERP_ERRORS, "{most}");
    }
}
