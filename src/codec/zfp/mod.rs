//! ZFP: blocks of 4^d values, a near-orthogonal transform, and bit planes that are cut off by a rate, a precision, an
//! accuracy, or not at all. Each tile is a headerless stream of zfp 1.0.1 (docs/reference/codecs/zfp.md).

pub mod array;
mod element;
pub mod format;
#[allow(unsafe_code)] // launches of kernels
#[cfg(feature = "cuda")]
mod gpu;
mod plan;
mod shape;
mod tile;

use std::marker::PhantomData;

use super::shared::{Capabilities, Codec, CpuCodec, Info, ShowChunk};
use crate::container::{CodedChunk, EntryForm, Geometry, Header, Index, Kind, Layout, MAX_RANK, Shape, Wanted};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::exec::ExecOptions;
use crate::host::fpu;
use crate::host::memory::Heap;
use crate::params::{Mode, Params};
use crate::runtime::cpu::{self, ChunkCodec, Data};
use crate::simd::stream::StreamingStores;
use element::Element;
use format::CODEC_ZFP;
use plan::Plan;

/// The codec of this module.
pub struct Zfp;

impl Codec for Zfp {
    fn id(&self) -> u8 {
        CODEC_ZFP
    }

    fn name(&self) -> &'static str {
        "zfp"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            dtypes: &[DType::F32, DType::F64, DType::I32, DType::I64],
            modes: &[Mode::Lossless, Mode::Abs, Mode::Rate, Mode::Precision],
            rank: MAX_RANK,
        }
    }

    fn shape(&self, _: &Params, shape: Shape) -> Result<Shape> {
        let geometry = Geometry::Tile { sides_log2: shape::sides_log2(&shape.dims) };
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

/// Calls `$f::<Element>($args)` for an element type.
macro_rules! by_dtype {
    ($dtype:expr; $f:ident($($arg:expr),*)) => {
        match $dtype {
            DType::F32 => $f::<f32>($($arg),*),
            DType::F64 => $f::<f64>($($arg),*),
            DType::I32 => $f::<i32>($($arg),*),
            DType::I64 => $f::<i64>($($arg),*),
            other => fail!(Internal, "codec zfp was given {}", other.name()),
        }
    };
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
    let tiles = Tiles::<E> { plan: *plan, element: PhantomData };
    cpu::compress(&tiles, header, &[], options, src, dst)
}

/// Restores elements of one type.
#[inline(never)]
fn decompress<E: Element>(
    plan: &Plan,
    index: &Index,
    wanted: &Wanted,
    dst: &mut [u8],
    options: ExecOptions,
) -> Result<()> {
    let tiles = Tiles::<E> { plan: *plan, element: PhantomData };
    cpu::decompress(&tiles, index, wanted, dst, options)
}

/// Shows chunks of elements of one type.
#[inline(never)]
fn each_chunk<E: Element>(plan: &Plan, index: &Index, options: ExecOptions, show: ShowChunk) -> Result<()> {
    let tiles = Tiles::<E> { plan: *plan, element: PhantomData };
    cpu::each_chunk(&tiles, index, options, show)
}

/// The plan and the header of a stream. Never inlined, so that nothing of it stays on the stack.
#[inline(never)]
fn planned(params: &Params, layout: &Layout) -> Result<Heap<(Plan, Header)>> {
    Heap::new(Plan::for_encoding(params, layout)?)
}

impl CpuCodec for Zfp {
    fn compress(
        &self,
        params: &Params,
        layout: &Layout,
        src: &[u8],
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<usize> {
        let (plan, header) = &mut *planned(params, layout)?;
        by_dtype!(layout.dtype; compress(plan, header, options, src, dst))
    }

    fn decompress(&self, index: &Index, wanted: &Wanted, dst: &mut [u8], options: ExecOptions) -> Result<()> {
        let plan = &Plan::for_decoding(index.header())?;
        by_dtype!(plan.layout.dtype; decompress(plan, index, wanted, dst, options))
    }

    fn each_chunk(&self, index: &Index, options: ExecOptions, show: ShowChunk) -> Result<()> {
        let plan = &Plan::for_decoding(index.header())?;
        by_dtype!(plan.layout.dtype; each_chunk(plan, index, options, show))
    }

    fn inspect(&self, index: &Index, _: &mut Info) -> Result<()> {
        Plan::for_decoding(index.header()).map(|_| ())
    }
}

/// The coder of the tiles of one stream.
struct Tiles<E> {
    plan: Plan,
    element: PhantomData<fn() -> E>,
}

/// What a thread keeps.
struct Coder<E> {
    _fpu: fpu::Guard,
    buffers: tile::Buffers<E>,
}

impl<E: Element> Coder<E> {
    fn new() -> Result<Coder<E>> {
        Ok(Coder { _fpu: fpu::Guard::standard(), buffers: tile::Buffers::new()? })
    }
}

impl<E: Element> ChunkCodec for Tiles<E> {
    type Encoder = Coder<E>;
    type Decoder = Coder<E>;

    fn encoder(&self) -> Result<Coder<E>> {
        Coder::new()
    }

    fn decoder(&self) -> Result<Coder<E>> {
        Coder::new()
    }

    fn encode(&self, coder: &mut Coder<E>, data: Data, _: StreamingStores, out: &mut [u8]) -> (Kind, usize) {
        let lens = self.plan.axes.lens(self.plan.layout.tile(data.chunk).lens());
        tile::encode(&self.plan, lens, &mut coder.buffers, data.bytes(), out)
    }

    fn decode(&self, coder: &mut Coder<E>, chunk: CodedChunk, _: &[u8], out: &mut [u8], _: bool) -> Result<()> {
        let lens = self.plan.axes.lens(self.plan.layout.tile(chunk.number).lens());
        tile::decode(&self.plan, lens, &mut coder.buffers, chunk.kind, chunk.body.bytes(), out)
    }
}
