//! The smallest file at a guaranteed bound: exact bins in independent tiles of up to three axes, differences along the
//! axes where they pay (Lorenzo), and range asymmetric numeral systems with static tables, of which each group of
//! residuals names one (docs/reference/codecs/predict.md).

mod body;
mod code;
pub mod format;
#[allow(unsafe_code)] // launches of kernels
#[cfg(feature = "cuda")]
mod gpu;
mod predict;
mod rules;
mod short;

use super::interp::plan::Plan;
use super::interp::predict::interpolation;
use super::interp::quantize::lattice::{self, Multiple};
use super::interp::quantize::{decimals, ranks};
use super::interp::tile_shape;
use super::traits::{Capabilities, Codec, CpuCodec, Info};
use crate::container::{CodedChunk, EntryForm, Geometry, Header, Index, Kind, Layout, MAX_RANK, Shape, Wanted};
use crate::dtype::DType;
use crate::error::Result;
#[cfg(target_arch = "aarch64")]
use crate::exec::Neon;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Avx2, Avx512};
use crate::exec::{ExecOptions, Isa};
use crate::host::memory::Heap;
use crate::params::{Mode, Params, Profile};
use crate::primitives::lorenzo::AXES;
use crate::primitives::quantize::{BF16, F16, F32, F64, Int};
use crate::runtime::cpu::{self, ChunkCodec, Data};
use crate::simd::Scalar;
use crate::simd::stream::StreamingStores;
use body::kept::{ByWord, Decoder, Encoder};
use body::{decode, encode, patches};
pub use code::tables;
use code::{own_table, sparse, token_costs::TOKEN_COSTS};
use format::CODEC_PREDICT;
use predict::lags;

/// The codec of this module.
pub struct Predict;

impl Codec for Predict {
    fn id(&self) -> u8 {
        CODEC_PREDICT
    }

    fn name(&self) -> &'static str {
        "predict"
    }

    fn profiles(&self) -> &'static [Profile] {
        &[Profile::Small]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { dtypes: &DType::ALL, modes: &[Mode::Lossless, Mode::Abs, Mode::Noa, Mode::Rel], rank: MAX_RANK }
    }

    fn shape(&self, _: &Params, shape: Shape) -> Result<Shape> {
        let geometry = Geometry::Tile { sides_log2: tile_shape::sides_log2(&shape.dims) };
        Ok(Shape { geometry, entries: EntryForm::Wide, ..shape })
    }

    fn cpu(&self) -> &dyn CpuCodec {
        self
    }

    #[cfg(feature = "cuda")]
    fn gpu(&self) -> Option<&dyn super::traits::gpu::GpuCodec> {
        Some(self)
    }
}

/// Numbers of these modules that kernels have, too, by their names there.
#[doc(hidden)]
pub fn gpu_limits() -> [(&'static str, u32); 12] {
    [
        ("OWN", own_table::OWN as u32),
        ("MOST_SPARSE_GROUPS", sparse::MOST_GROUPS as u32),
        ("MOST_CORRECTIONS", patches::MOST_CORRECTIONS as u32),
        ("MOST_EXCEPTIONS", patches::MOST_EXCEPTIONS as u32),
        ("MOST_CORRECTION", patches::MOST_CORRECTION.into()),
        ("BORDER_F32", lattice::BORDER_F32),
        ("BORDER_F64", lattice::BORDER_F64),
        ("LATTICE_STEP", format::LATTICE_STEP),
        ("LEAST_MULTIPLIER", (*lattice::MULTIPLIERS.start()).into()),
        ("MOST_MULTIPLIER", (*lattice::MULTIPLIERS.end()).into()),
        ("SHORTEST_ROW", interpolation::SHORTEST_ROW as u32),
        ("FEW", interpolation::FEW as u32),
    ]
}

/// The rules by which an encoder chooses, by their names in kernels.
#[doc(hidden)]
pub fn gpu_rules() -> Vec<(&'static str, u64)> {
    let others = [
        ("WEIGHT_BITS", interpolation::WEIGHT_BITS as u64),
        ("DIFFERENCE_LEVELS", interpolation::DIFFERENCE_LEVELS as u64),
        ("SYMBOLS", own_table::SYMBOLS as u64),
        ("MOST_SYMBOLS", own_table::SYMBOLS as u64),
        ("MOST_RANKS", ranks::MOST as u64),
        ("MOST_ODD", decimals::ODD as u64),
        ("SEGMENT", lags::SEGMENT as u64),
        ("SETS", predict::costs_of_sets::SETS as u64),
        ("MOST_DIGITS", decimals::POWERS.len() as u64 - 1),
    ];
    rules::ALL.iter().copied().chain(others).collect()
}

/// What tokens cost in the tables that are always there, as kernels have it: those of all tables, one behind the other.
#[doc(hidden)]
pub fn token_costs() -> Vec<u16> {
    let costs = TOKEN_COSTS.iter().zip(tables::FREQUENCIES);
    costs.flat_map(|(costs, frequencies)| &costs[..frequencies.len()]).copied().collect()
}

/// Evaluates an expression for the token of a level.
macro_rules! by_level {
    ($isa:expr, $p:ident => $body:expr) => {{
        #[cfg(target_arch = "x86_64")]
        if let Some($p) = Avx512::of($isa) {
            return $body;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some($p) = Avx2::of($isa) {
            return $body;
        }
        #[cfg(target_arch = "aarch64")]
        if let Some($p) = Neon::of($isa) {
            return $body;
        }
        let $p = Scalar;
        $body
    }};
}

/// The plan and the header of a stream. Never inlined, so that nothing of it stays on the stack.
#[inline(never)]
fn planned(params: &Params, layout: &Layout, src: &[u8]) -> Result<Heap<(Plan, Header)>> {
    let (plan, mut header) = Plan::for_encoding(params, layout, src)?;
    header.codec = CODEC_PREDICT;
    Heap::new((plan, header))
}

impl CpuCodec for Predict {
    fn compress(
        &self,
        params: &Params,
        layout: &Layout,
        src: &[u8],
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<usize> {
        let (plan, header) = &mut *planned(params, layout, src)?;
        let beside = &*beside_missing(plan)?;
        cpu::compress(&Tiles { plan, beside, isa: Isa::best() }, header, &[], options, src, dst)
    }

    fn decompress(&self, index: &Index, wanted: &Wanted, dst: &mut [u8], options: ExecOptions) -> Result<()> {
        let plan = &Plan::for_decoding(index.header())?;
        cpu::decompress(&Tiles { plan, beside: plan, isa: Isa::best() }, index, wanted, dst, options)
    }

    fn inspect(&self, index: &Index, info: &mut Info) -> Result<()> {
        info.step = Plan::for_decoding(index.header())?.bins.map_or(0.0, |bins| bins.step());
        Ok(())
    }
}

/// The plan of tiles whose elements may be restored as a missing value. Never inlined, as above.
#[inline(never)]
fn beside_missing(plan: &Plan) -> Result<Heap<Plan>> {
    Heap::new(plan.beside_missing())
}

/// The coder of the tiles of one stream.
struct Tiles<'a> {
    plan: &'a Plan,
    /// The same for tiles whose elements may be restored as a missing value.
    beside: &'a Plan,
    isa: Isa,
}

/// Calls `$f::<Element>($before, buffers, $behind)` for an element type, with the buffers for its words.
macro_rules! by_dtype {
    ($dtype:expr, $buffers:expr; $f:ident($($before:expr),*; $($behind:expr),*)) => {
        match ($dtype, &mut $buffers) {
            (DType::F32, ByWord::U32(one)) => $f::<F32>($($before,)* one, $($behind),*),
            (DType::F64, ByWord::U64(one)) => $f::<F64>($($before,)* one, $($behind),*),
            (DType::F16, ByWord::U16(one)) => $f::<F16>($($before,)* one, $($behind),*),
            (DType::BF16, ByWord::U16(one)) => $f::<BF16>($($before,)* one, $($behind),*),
            (_, ByWord::U8(one)) => $f::<Int<u8>>($($before,)* one, $($behind),*),
            (_, ByWord::U16(one)) => $f::<Int<u16>>($($before,)* one, $($behind),*),
            (_, ByWord::U32(one)) => $f::<Int<u32>>($($before,)* one, $($behind),*),
            (_, ByWord::U64(one)) => $f::<Int<u64>>($($before,)* one, $($behind),*),
        }
    };
}

/// Encodes a tile of elements of one type. Never inlined, so that the stack holds what one type needs.
#[inline(never)]
fn encode_tile<E: Multiple>(
    isa: Isa,
    plan: &Plan,
    lens: [usize; AXES],
    buffers: &mut encode::Buffers<E::Word>,
    data: (&[u8], &[u64]),
    out: &mut [u8],
) -> (Kind, usize) {
    by_level!(isa, p => encode::tile::<E>(p, plan, lens, buffers, data, out))
}

/// Decodes one, and if it is known which one comes `next` maybe something of that.
#[inline(never)]
fn decode_tile<E: Multiple>(
    isa: Isa,
    plan: &Plan,
    buffers: &mut decode::Buffers<E::Word>,
    tile: decode::Tile,
    next: Option<decode::Tile>,
    out: &mut [u8],
) -> Result<()> {
    by_level!(isa, p => decode::tile::<E>(p, plan, buffers, tile, next, out))
}

impl ChunkCodec for Tiles<'_> {
    type Encoder = Encoder;
    type Decoder = Decoder;

    fn comes_beside(&self) -> bool {
        self.plan.bins.is_some()
    }

    fn came_beside(&self, encoder: &Encoder) -> bool {
        match &encoder.buffers {
            ByWord::U8(_) => false,
            ByWord::U16(one) => one.came_beside,
            ByWord::U32(one) => one.came_beside,
            ByWord::U64(one) => one.came_beside,
        }
    }

    fn encoder(&self) -> Result<Encoder> {
        Encoder::new(self.plan, self.isa)
    }

    fn decoder(&self) -> Result<Decoder> {
        Decoder::new(self.plan, self.isa)
    }

    fn encode(&self, encoder: &mut Encoder, data: Data, _: StreamingStores, out: &mut [u8]) -> (Kind, usize) {
        let Tiles { plan, beside, isa } = *self;
        let plan = if data.beside { beside } else { plan };
        let lens = plan.grid.lens(plan.layout.tile(data.chunk).lens());
        by_dtype!(plan.layout.dtype, encoder.buffers; encode_tile(isa, plan, lens; (data.bytes(), data.missing), out))
    }

    fn decode(&self, decoder: &mut Decoder, chunk: CodedChunk, _: &[u8], out: &mut [u8], _: bool) -> Result<()> {
        self.decode_before(decoder, chunk, None, out)
    }

    fn decode_before(
        &self,
        decoder: &mut Decoder,
        chunk: CodedChunk,
        next: Option<CodedChunk>,
        out: &mut [u8],
    ) -> Result<()> {
        let (tile, next) = (self.tile(chunk), next.map(|next| self.tile(next)));
        by_dtype!(self.plan.layout.dtype, decoder.buffers; decode_tile(self.isa, self.plan; tile, next, out))
    }
}

/// Shows the codes of each packed tile: `benches/tables` trains the static tables on them.
#[doc(hidden)]
pub fn codes(stream: &[u8], show: &mut dyn FnMut(&[u64])) -> Result<()> {
    let header = &Header::read(stream)?;
    let index = Index::new(header, stream)?;
    let plan = &Plan::for_decoding(header)?;
    let tiles = Tiles { plan, beside: plan, isa: Isa::best() };
    for chunk in (0..header.layout.groups).flat_map(|g| index.chunks(g)) {
        let tile = tiles.tile(chunk);
        match (tile.kind, header.layout.dtype) {
            (Kind::Packed, DType::F32) => decode::codes::<F32>(tiles.plan, tile, show)?,
            (Kind::Packed, DType::F64) => decode::codes::<F64>(tiles.plan, tile, show)?,
            _ => {} // Raw, constant, with missing values, or of a type that no table is trained on.
        }
    }
    Ok(())
}

impl Tiles<'_> {
    fn tile<'a>(&self, CodedChunk { number, kind, body }: CodedChunk<'a>) -> decode::Tile<'a> {
        let lens = self.plan.grid.lens(self.plan.layout.tile(number).lens());
        decode::Tile { number, lens, kind, body: body.bytes() }
    }
}
