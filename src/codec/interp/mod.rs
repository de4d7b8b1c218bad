//! The smallest file at a guaranteed bound: numbers in independent tiles are interpolated, or differ along axes, and
//! range asymmetric numeral systems with static tables code the rest (docs/reference/codecs/interp.md).

// Iterators and closures may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

mod body;
mod choose;
mod encoder;
pub(super) mod entropy;
pub mod format;
#[allow(unsafe_code)] // launches of kernels
#[cfg(feature = "cuda")]
mod gpu;
pub(super) mod lattice;
pub(super) mod plan;
pub(super) mod predict;
pub(super) mod quantize;
pub(super) mod rules;
mod scratch;
pub(super) mod tile_shape;

use std::sync::{Mutex, PoisonError};

use super::shared::{Capabilities, Codec, CpuCodec, Info, ShowChunk};
use crate::container::{
    CodedChunk, EntryForm, GRID_AXES, Geometry, Header, Index, Kind, Layout, MAX_RANK, Shape, Wanted,
};
use crate::dtype::DType;
use crate::error::Result;
use crate::exec::ExecOptions;
use crate::host::memory::{Heap, reserve};
use crate::params::{Mode, Params, Profile};
use crate::primitives::lorenzo::AXES;
use crate::primitives::rans;
use crate::runtime::cpu::{self, ChunkCodec, Data};
use crate::simd::stream::StreamingStores;
use body::decode::{Body, Out};
use choose::Choice;
use encoder::Tile;
use format::CODEC_INTERP;
use plan::Plan;
use scratch::{Decoder, Encoder, Tiles, decoder, encoder};

#[doc(hidden)]
pub use entropy::tables;
#[doc(hidden)]
pub use rules::{LIMITS, MEANS};

/// The codec of this module.
pub struct Interp;

impl Codec for Interp {
    fn id(&self) -> u8 {
        CODEC_INTERP
    }

    fn name(&self) -> &'static str {
        "interp"
    }

    fn profiles(&self) -> &'static [Profile] {
        &[Profile::Small]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { dtypes: &DType::ALL, modes: &[Mode::Lossless, Mode::Abs, Mode::Noa, Mode::Rel], rank: MAX_RANK }
    }

    fn shape(&self, params: &Params, shape: Shape) -> Result<Shape> {
        let dims = if params.parts { shape.dims.without_last() } else { shape.dims };
        let geometry = Geometry::Tile { sides_log2: tile_shape::sides_log2(&dims) };
        Ok(Shape { geometry, entries: EntryForm::Wide, ..shape })
    }

    fn cpu(&self) -> &dyn CpuCodec {
        self
    }

    #[cfg(feature = "cuda")]
    fn gpu(&self) -> Option<&dyn super::shared::gpu_codec::GpuCodec> {
        Some(self)
    }
}

/// Numbers of the format and of this codec's rules that kernels have, too, by their names there.
#[doc(hidden)]
pub fn gpu_numbers() -> Vec<(&'static str, u64)> {
    use body::patches;
    use entropy::own_table::SYMBOLS;
    use predict::interpolation;
    use quantize::{decimals, ranks};
    macro_rules! own {
        ($($module:ident: $($name:ident)+;)+) => { vec![$($((stringify!($name), $module::$name as u64)),+),+] };
    }
    let mut numbers = own! {
        format: CODEC_INTERP TILE_LOG2 GROUP QUAD CLASSES_OF_LANE NEVER LENGTH_BITS DIRECT HEAD_BYTES LEAST_ABOVE_LOW
            LATTICE_STEP;
        rans: LOW STATE_BITS RAW_BITS TABLE_BITS;
        tables: CLASSES TABLES TOKENS OWN WIDE PLAIN FIRST;
        lattice: BORDER_F32 BORDER_F64;
        patches: NO_CORRECTION KIND_BITS ALL_SAME;
        interpolation: SHORTEST_ROW FEW WEIGHT_BITS DIFFERENCE_LEVELS;
        rules: BIT FEWEST MANY_MULTIPLES CORRECTION_COST STATES_COST SPARSE_NONZERO WORTH LIMIT_WORTH FREE LITTLE
            MOST_MAGNITUDE WHOLE_TRIALS MOST_TRIALS PIECE EVERY COUNTED_EVERY MANY_GROUPS TABLE_WORTH SYMBOL_COST
            FEWEST_LOW LOW_WORTH KEPT_BITS LIMIT_OF_BITS MOST_NUMBER BORDER_WIDTH ONE_EXCEPTION_OF SAMPLE_ALIKE;
    };
    numbers.extend([
        ("LEAST_MULTIPLIER", (*lattice::MULTIPLIERS.start()).into()),
        ("MOST_MULTIPLIER", (*lattice::MULTIPLIERS.end()).into()),
        ("SETS", predict::sample::SETS as u64),
        ("SYMBOLS", SYMBOLS as u64),
        ("MOST_SYMBOLS", SYMBOLS as u64),
        ("MOST_RANKS", ranks::MOST as u64),
        ("MOST_ODD", decimals::ODD as u64),
        ("MOST_DIGITS", decimals::POWERS.len() as u64 - 1),
    ]);
    numbers
}

/// The plan and the header of a stream. Never inlined, so that nothing of it stays on the stack.
#[inline(never)]
fn planned(params: &Params, layout: &Layout, src: &[u8]) -> Result<Heap<(Plan, Header)>> {
    Heap::new(Plan::for_encoding(params, layout, src)?)
}

/// What trials of some tiles say of all. Never inlined, as above.
#[inline(never)]
fn chosen(tiles: Tiles, header: &Header, src: &[u8]) -> Result<Choice> {
    let mut trials = Vec::new();
    reserve(&mut trials, 2 * rules::MOST_TRIALS)?;
    let trials = Mutex::new(trials);
    cpu::encode_some(&Tiles { trials: Some(&trials), ..tiles }, header, src, rules::trials(tiles.plan.layout.chunks))?;
    Ok(Choice::of(&trials.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

impl CpuCodec for Interp {
    fn compress(
        &self,
        params: &Params,
        layout: &Layout,
        src: &[u8],
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<usize> {
        let (plan, header) = &mut *planned(params, layout, src)?;
        let mut tiles = Tiles::of(plan);
        tiles.choice = chosen(tiles, header, src)?;
        cpu::compress(&tiles, header, &[], options, src, dst)
    }

    fn restores(&self, header: &Header, bits: u64) -> Result<bool> {
        Ok(Plan::for_decoding(header)?.restores(bits))
    }

    fn decompress(&self, index: &Index, wanted: &Wanted, dst: &mut [u8], options: ExecOptions) -> Result<()> {
        let plan = &Plan::for_decoding(index.header())?;
        cpu::decompress(&Tiles::of(plan), index, wanted, dst, options)
    }

    fn each_chunk(&self, index: &Index, options: ExecOptions, show: ShowChunk) -> Result<()> {
        let plan = &Plan::for_decoding(index.header())?;
        cpu::each_chunk(&Tiles::of(plan), index, options, show)
    }

    fn inspect(&self, index: &Index, info: &mut Info) -> Result<()> {
        info.step = Plan::for_decoding(index.header())?.bins.map_or(0.0, |bins| bins.step());
        Ok(())
    }
}

impl ChunkCodec for Tiles<'_> {
    type Encoder = Encoder;
    type Decoder = Decoder;

    fn comes_beside(&self) -> bool {
        self.plan.bins.is_some()
    }

    fn came_beside(&self, encoder: &Encoder) -> bool {
        encoder.came_beside()
    }

    fn encoder(&self) -> Result<Encoder> {
        encoder(self.plan)
    }

    fn decoder(&self) -> Result<Decoder> {
        decoder(self.plan)
    }

    fn encode(&self, encoder: &mut Encoder, data: Data, _: StreamingStores, out: &mut [u8]) -> (Kind, usize) {
        let Data { missing, beside, .. } = data;
        let tile = Tile { lens: self.lens(data.chunk), data: data.bytes(), missing, beside };
        let Ok(encoder) = encoder.get() else { return (Kind::Raw, 0) };
        if let Some(trials) = self.trials {
            let trial = encoder.attempt(self, tile);
            trials.lock().unwrap_or_else(PoisonError::into_inner).extend(trial);
            return (Kind::Raw, 0);
        }
        encoder.encode(self, tile, out)
    }

    fn decode(&self, decoder: &mut Decoder, chunk: CodedChunk, _: &[u8], out: &mut [u8], _: bool) -> Result<()> {
        self.decode_to(decoder, chunk, None, Out { bytes: out, show: None })
    }

    fn decode_before(
        &self,
        decoder: &mut Decoder,
        chunk: CodedChunk,
        next: Option<CodedChunk>,
        out: &mut [u8],
    ) -> Result<()> {
        self.decode_to(decoder, chunk, next, Out { bytes: out, show: None })
    }

    fn decode_on_grid(
        &self,
        decoder: &mut Decoder,
        chunk: CodedChunk,
        next: Option<CodedChunk>,
        level: u32,
        out: &mut [u8],
    ) -> Result<bool> {
        // Levels are of all axes of a tile.
        let outer = self.plan.layout.shape.dims.rank().saturating_sub(GRID_AXES);
        let is_for = |chunk: &CodedChunk| {
            outer == 0 || self.plan.layout.tile(chunk.number).lens()[..outer].iter().all(|len| *len == 1)
        };
        if !is_for(&chunk) {
            return Ok(false);
        }
        let next = next.filter(is_for).map(|next| self.body(next));
        decoder.get()?.on_grid(self, (self.body(chunk), next), level, out)
    }

    fn show(
        &self,
        decoder: &mut Decoder,
        chunk: CodedChunk,
        next: Option<CodedChunk>,
        out: &mut [u8],
        show: &mut dyn FnMut(usize, &mut [u8]),
    ) -> Result<()> {
        self.decode_to(decoder, chunk, next, Out { bytes: out, show: Some(show) })
    }
}

impl Tiles<'_> {
    fn decode_to(&self, decoder: &mut Decoder, chunk: CodedChunk, next: Option<CodedChunk>, out: Out) -> Result<()> {
        decoder.get()?.decode(self, self.body(chunk), next.map(|next| self.body(next)), out)
    }

    fn body<'a>(&self, CodedChunk { number, kind, body }: CodedChunk<'a>) -> Body<'a> {
        Body { number, lens: self.lens(number), kind, bytes: body.bytes() }
    }

    fn lens(&self, tile: usize) -> [usize; AXES] {
        self.plan.grid.lens(self.plan.layout.tile(tile).lens())
    }
}
