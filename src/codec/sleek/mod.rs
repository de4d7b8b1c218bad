//! SLEEK (Akathoott, Rodriguez, Burtscher, IPDPS'26): quantize with a bound that holds by construction, turn values
//! into small integers, and pack each 512-byte subchunk with the fewest bits.

mod buffers;
mod choose;
mod collide;
pub mod constants;
mod countdown;
mod decode;
mod encode;
pub mod exponent_map;
pub mod format;
#[allow(unsafe_code)] // launches of kernels
#[cfg(feature = "cuda")]
pub mod gpu;
mod integers;
mod level;
mod pack;
mod parts;
mod plan;
pub mod simd;

pub use plan::Plan;

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use super::shared::{Capabilities, Codec, CpuCodec, Detail, Info, ShowChunk};
use crate::codec::sleek::format::SubMode;
use crate::container::{CodedChunk, Index, Kind, Layout, Wanted};
use crate::dtype::DType;
use crate::error::Result;
use crate::exec::{ExecOptions, Isa};
use crate::host::fpu;
use crate::host::memory::{Kept, filled, reserve};
use crate::params::{Mode, Params, Profile};
use crate::primitives::range::Ends;
use crate::runtime::cpu::{self, ChunkCodec, Data};
use crate::simd::stream::StreamingStores;
use buffers::Buffers;
use constants::CODEC_SLEEK;

/// The codec of this module.
pub struct Sleek;

impl Codec for Sleek {
    fn id(&self) -> u8 {
        CODEC_SLEEK
    }

    fn name(&self) -> &'static str {
        "sleek"
    }

    fn profiles(&self) -> &'static [Profile] {
        &[Profile::Adaptive, Profile::Fast]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { dtypes: &DType::ALL, modes: &[Mode::Lossless, Mode::Abs, Mode::Noa, Mode::Rel], rank: 1 }
    }

    fn cpu(&self) -> &dyn CpuCodec {
        self
    }

    #[cfg(feature = "cuda")]
    fn gpu(&self) -> Option<&dyn super::shared::gpu_codec::GpuCodec> {
        Some(self)
    }
}

impl CpuCodec for Sleek {
    fn compress(
        &self,
        params: &Params,
        layout: &Layout,
        src: &[u8],
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<usize> {
        let (plan, mut header) = Plan::for_encoding(params, layout, src);
        cpu::compress(&Chunks { plan, isa: Isa::best(), ends: None }, &mut header, &[], options, src, dst)
    }

    fn tells_ends(&self, params: &Params) -> bool {
        matches!(params.bound.mode(), Mode::Abs | Mode::Noa)
    }

    fn compress_told(
        &self,
        params: &Params,
        layout: &Layout,
        src: &[u8],
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<(usize, Ends)> {
        let (plan, mut header) = Plan::for_encoding(params, layout, src);
        let ends = Mutex::new(Ends::NONE);
        let chunks = Chunks { plan, isa: Isa::best(), ends: Some(&ends) };
        let n = cpu::compress(&chunks, &mut header, &[], options, src, dst)?;
        Ok((n, ends.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    fn decompress(&self, index: &Index, wanted: &Wanted, dst: &mut [u8], options: ExecOptions) -> Result<()> {
        let chunks = Chunks { plan: Plan::for_decoding(index.header())?, isa: Isa::best(), ends: None };
        cpu::decompress(&chunks, index, wanted, dst, options)
    }

    fn each_chunk(&self, index: &Index, options: ExecOptions, show: ShowChunk) -> Result<()> {
        let chunks = Chunks { plan: Plan::for_decoding(index.header())?, isa: Isa::best(), ends: None };
        cpu::each_chunk(&chunks, index, options, show)
    }

    fn inspect(&self, index: &Index, info: &mut Info) -> Result<()> {
        let plan = Plan::for_decoding(index.header())?;
        info.step = plan.quantizer.as_ref().map_or(0.0, |q| q.step.value());
        let (mut modes, mut patched) = ([0; SUBCHUNK_MODES.len()], 0);
        let chunks = (0..index.header().layout.groups).flat_map(|g| index.chunks(g));
        for chunk in chunks.filter(|chunk| chunk.kind == Kind::Packed) {
            patched += count_modes(&plan, chunk.body.bytes(), &mut modes)?;
        }
        let detail = |name, counts: &[_]| -> Result<Detail> {
            let mut all = filled(counts.len(), ("", 0))?;
            all.copy_from_slice(counts);
            Ok(Detail { name, counts: all })
        };
        let modes: [_; SUBCHUNK_MODES.len()] = std::array::from_fn(|k| (SUBCHUNK_MODES[k], modes[k]));
        reserve(&mut info.details, 2)?;
        info.details.push(detail("subchunks", &modes)?);
        info.details.push(detail("patched", &[("with exceptions", patched)])?);
        Ok(())
    }
}

/// The chunk coder of one stream with the instructions of one level.
struct Chunks<'a> {
    plan: Plan,
    isa: Isa,
    /// Where it is told what all elements lie between, if somebody asks.
    ends: Option<&'a Mutex<Ends>>,
}

/// What an encoding thread keeps from chunk to chunk, and its buffers from array to array.
struct Encoder<'a> {
    _fpu: fpu::Guard,
    buffers: Buffers,
    ends: Option<&'a Mutex<Ends>>,
}

thread_local! {
    static USED: Cell<bool> = const { Cell::new(false) };
    static PLACE: Cell<Option<Buffers>> = const { Cell::new(None) };
}

const KEPT: Kept<Option<Buffers>> = Kept { used: &USED, place: &PLACE };

impl Drop for Encoder<'_> {
    fn drop(&mut self) {
        if let (Some(all), Some(own)) = (self.ends, self.buffers.ends) {
            all.lock().unwrap_or_else(PoisonError::into_inner).add(own.low, own.high);
        }
        KEPT.keep(Some(std::mem::take(&mut self.buffers)));
    }
}

/// What a decoding thread keeps.
struct Decoder {
    _fpu: fpu::Guard,
    spare: decode::Spare,
}

impl<'a> ChunkCodec for Chunks<'a> {
    type Encoder = Encoder<'a>;
    type Decoder = Decoder;

    fn encoder(&self) -> Result<Encoder<'a>> {
        let mut buffers = match KEPT.take() {
            Some(buffers) => buffers,
            None => Buffers::new()?,
        };
        buffers.beside = false;
        buffers.ends = self.ends.map(|_| Ends::NONE);
        Ok(Encoder { _fpu: fpu::Guard::standard(), buffers, ends: self.ends })
    }

    fn decoder(&self) -> Result<Decoder> {
        Ok(Decoder { _fpu: fpu::Guard::standard(), spare: decode::Spare::new()? })
    }

    fn came_beside(&self, encoder: &Encoder) -> bool {
        encoder.buffers.beside
    }

    fn encode(&self, encoder: &mut Encoder, data: Data, stores: StreamingStores, out: &mut [u8]) -> (Kind, usize) {
        match level::encode(self.isa, &self.plan, &mut encoder.buffers, data, stores, out) {
            (kind, bytes, false) => (kind, bytes),
            (_, _, true) => self.by_bits(encoder, data, out),
        }
    }

    fn decode(
        &self,
        decoder: &mut Decoder,
        chunk: CodedChunk,
        ahead: &[u8],
        out: &mut [u8],
        past_caches: bool,
    ) -> Result<()> {
        let decode = if past_caches { level::decode::<true> } else { level::decode::<false> };
        decode(self.isa, &self.plan, chunk.kind, chunk.body, ahead, &mut decoder.spare, out)
    }
}

impl Chunks<'_> {
    /// Encodes a chunk by its elements' bits, where an element would come back as a missing value.
    #[cold]
    fn by_bits(&self, encoder: &mut Encoder, data: Data, out: &mut [u8]) -> (Kind, usize) {
        let none = StreamingStores::none();
        let (kind, bytes, _) = level::encode(self.isa, &self.plan.of_bits(), &mut encoder.buffers, data, none, out);
        (kind, bytes)
    }
}

/// How subchunks of packed chunks may be coded.
const SUBCHUNK_MODES: [&str; 7] =
    ["offset", "zigzag", "delta", "exponent map", "second difference", "countdown", "constant"];

/// Adds the subchunks of a packed chunk to the counts by mode; how many have exceptions.
fn count_modes(plan: &Plan, body: &[u8], modes: &mut [u64; SUBCHUNK_MODES.len()]) -> Result<u64> {
    let (header, descriptors) = level::describe(plan, body)?;
    for (s, d) in descriptors.iter().enumerate() {
        let place = match (header.active >> s & 1, SubMode::of(*d), header.special) {
            (0, ..) => 6,
            (_, SubMode::Special, special) => SubMode::Special as usize + special as usize,
            (_, mode, _) => mode as usize,
        };
        modes[place] += 1;
    }
    Ok(header.patched.count_ones().into())
}
