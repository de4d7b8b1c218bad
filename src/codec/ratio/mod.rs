//! The smallest file at a guaranteed bound: exact bins in independent tiles of up to three axes, differences along the
//! axes where they pay (Lorenzo), and range asymmetric numeral systems with static tables, of which each group of
//! residuals names one (docs/codecs/ratio.md).

mod counts;
mod decode;
mod encode;
pub mod format;
#[cfg(feature = "cuda")]
mod gpu;
mod lossless;
mod own_table;
mod plan;
mod predict;
mod shape;
pub mod simd;
pub mod tables;

use std::marker::PhantomData;

use super::{Capabilities, Codec, CpuCodec, Info};
#[cfg(target_arch = "aarch64")]
use crate::codec::sleek::simd::neon::Neon;
#[cfg(target_arch = "x86_64")]
use crate::codec::sleek::simd::{avx2::Avx2, avx512::Avx512};
use crate::container::{Body, EntryForm, Geometry, Header, Index, Kind, Layout, MAX_RANK, Shape, Wanted};
use crate::dtype::DType;
use crate::error::Result;
use crate::exec::{ExecOptions, Isa};
use crate::host::fpu;
use crate::host::memory::on_heap;
use crate::params::{Mode, Params, Profile};
use crate::primitives::quantize::{BF16, Element, F16, F32, F64, Int};
use crate::primitives::stream::StreamingStores;
use crate::runtime::cpu::{self, ChunkCodec, Data};
use format::CODEC_RATIO;
use plan::Plan;
use simd::Scalar;

/// The codec of this module.
pub struct Ratio;

impl Codec for Ratio {
    fn id(&self) -> u8 {
        CODEC_RATIO
    }

    fn name(&self) -> &'static str {
        "ratio"
    }

    fn profiles(&self) -> &'static [Profile] {
        &[Profile::Ratio]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { dtypes: &DType::ALL, modes: &[Mode::Lossless, Mode::Abs, Mode::Noa, Mode::Rel], rank: MAX_RANK }
    }

    fn shape(&self, _: &Params, shape: Shape) -> Result<Shape> {
        let geometry = Geometry::Tile { sides_log2: shape::sides_log2(&shape.dims) };
        Ok(Shape { geometry, entries: EntryForm::Wide, ..shape })
    }

    fn cpu(&self) -> &dyn CpuCodec {
        self
    }

    #[cfg(feature = "cuda")]
    fn gpu(&self) -> Option<&dyn super::gpu::GpuCodec> {
        Some(self)
    }
}

/// Calls `$f::<Element>($args)` for an element type.
macro_rules! by_dtype {
    ($dtype:expr; $f:ident($($arg:expr),*)) => {
        match $dtype {
            DType::F32 => $f::<F32>($($arg),*),
            DType::F64 => $f::<F64>($($arg),*),
            DType::F16 => $f::<F16>($($arg),*),
            DType::BF16 => $f::<BF16>($($arg),*),
            DType::I8 | DType::U8 => $f::<Int<u8>>($($arg),*),
            DType::I16 | DType::U16 => $f::<Int<u16>>($($arg),*),
            DType::I32 | DType::U32 => $f::<Int<u32>>($($arg),*),
            DType::I64 | DType::U64 => $f::<Int<u64>>($($arg),*),
        }
    };
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

/// Compresses elements of one type. Never inlined, so that the stack holds one type's buffers.
#[inline(never)]
fn compress<E: Element>(
    plan: &Plan,
    header: &mut Header,
    options: ExecOptions,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize> {
    let tiles = Tiles::<E> { plan, isa: Isa::best(), element: PhantomData };
    cpu::compress(&tiles, header, &[], options, src, dst)
}

/// Restores elements of one type.
#[inline(never)]
fn decompress<E: Element>(
    plan: &Plan,
    header: &Header,
    index: &Index,
    wanted: &Wanted,
    dst: &mut [u8],
    options: ExecOptions,
) -> Result<()> {
    let tiles = Tiles::<E> { plan, isa: Isa::best(), element: PhantomData };
    cpu::decompress(&tiles, header, index, wanted, dst, options)
}

/// The plan and the header of a stream. Never inlined, so that nothing of it stays on the stack.
#[inline(never)]
fn planned(params: &Params, layout: &Layout, src: &[u8]) -> Result<Box<[(Plan, Header)]>> {
    on_heap(Plan::for_encoding(params, layout, src)?)
}

impl CpuCodec for Ratio {
    fn compress(
        &self,
        params: &Params,
        layout: &Layout,
        src: &[u8],
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<usize> {
        let (plan, header) = &mut planned(params, layout, src)?[0];
        by_dtype!(layout.dtype; compress(plan, header, options, src, dst))
    }

    fn decompress(
        &self,
        header: &Header,
        index: &Index,
        wanted: &Wanted,
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<()> {
        let plan = &Plan::for_decoding(header)?;
        by_dtype!(header.layout.dtype; decompress(plan, header, index, wanted, dst, options))
    }

    fn inspect(&self, header: &Header, _: &Index, info: &mut Info) -> Result<()> {
        info.step = Plan::for_decoding(header)?.quantizer.map_or(0.0, |q| q.step.value());
        Ok(())
    }
}

/// The coder of the tiles of one stream.
struct Tiles<'a, E> {
    plan: &'a Plan,
    isa: Isa,
    element: PhantomData<E>,
}

/// What an encoding thread keeps.
struct Encoder<E: Element> {
    _fpu: fpu::Guard,
    /// One, on the heap.
    buffers: Box<[encode::Buffers<E::Word>]>,
}

/// What a decoding thread keeps.
struct Decoder<E: Element> {
    _fpu: fpu::Guard,
    /// One, on the heap.
    buffers: Box<[decode::Buffers<E::Word>]>,
}

impl<E: Element> ChunkCodec for Tiles<'_, E> {
    type Encoder = Encoder<E>;
    type Decoder = Decoder<E>;

    #[inline(never)]
    fn encoder(&self) -> Result<Encoder<E>> {
        Ok(Encoder { _fpu: fpu::Guard::standard(), buffers: on_heap(encode::Buffers::new(self.plan)?)? })
    }

    #[inline(never)]
    fn decoder(&self) -> Result<Decoder<E>> {
        Ok(Decoder { _fpu: fpu::Guard::standard(), buffers: on_heap(decode::Buffers::new(&self.plan.grid)?)? })
    }

    fn encode(&self, encoder: &mut Encoder<E>, data: Data, _: StreamingStores, out: &mut [u8]) -> (Kind, usize) {
        let lens = self.plan.grid.lens(self.plan.layout.tile(data.chunk).lens());
        by_level!(self.isa, p => encode::tile::<E>(p, self.plan, lens, &mut encoder.buffers[0], data.bytes(), out))
    }

    fn decode(
        &self,
        decoder: &mut Decoder<E>,
        c: usize,
        kind: Kind,
        body: Body,
        _: &[u8],
        out: &mut [u8],
        _: bool,
    ) -> Result<()> {
        self.decode_before(decoder, (c, kind, body), None, out)
    }

    fn decode_before(
        &self,
        decoder: &mut Decoder<E>,
        chunk: (usize, Kind, Body),
        next: Option<(usize, Kind, Body)>,
        out: &mut [u8],
    ) -> Result<()> {
        let (tile, next) = (self.tile(chunk), next.map(|next| self.tile(next)));
        by_level!(self.isa, p => decode::tile::<E>(p, self.plan, &mut decoder.buffers[0], tile, next, out))
    }
}

impl<E: Element> Tiles<'_, E> {
    fn tile<'a>(&self, (number, kind, body): (usize, Kind, Body<'a>)) -> decode::Tile<'a> {
        let lens = self.plan.grid.lens(self.plan.layout.tile(number).lens());
        decode::Tile { number, lens, kind, body: body.bytes() }
    }
}
