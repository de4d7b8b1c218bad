//! SLEEK (Akathoott, Rodriguez, Burtscher, IPDPS'26): quantize with a bound that holds by construction, turn values
//! into small integers, and pack each 512-byte subchunk with the fewest bits.

mod choose;
pub mod constants;
mod decode;
mod encode;
pub mod exponent_map;
pub mod format;
mod level;
mod parts;
mod plan;
pub mod simd;

pub use plan::Plan;

use std::cell::Cell;

use super::{Codec, Info};
use crate::codec::sleek::format::{Special, SubMode};
use crate::container::{Body, Header, Index, Kind, Layout};
use crate::error::Result;
use crate::exec::{ExecOptions, Isa};
use crate::host::fpu;
use crate::params::Params;
use crate::primitives::stream::StreamingStores;
use crate::runtime::cpu::{self, ChunkCodec, Data};
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

    fn compress(
        &self,
        params: &Params,
        layout: Layout,
        src: &[u8],
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<usize> {
        let (plan, header) = Plan::for_encoding(params, layout, src);
        cpu::compress(&Chunks { plan, isa: Isa::best() }, header, options, src, dst)
    }

    fn decompress(
        &self,
        header: &Header,
        index: &Index,
        first: u64,
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<()> {
        let chunks = Chunks { plan: Plan::for_decoding(header)?, isa: Isa::best() };
        cpu::decompress(&chunks, header, index, first, dst, options)
    }

    fn inspect(&self, header: &Header, index: &Index, info: &mut Info) -> Result<()> {
        let plan = Plan::for_decoding(header)?;
        for g in 0..header.layout.groups {
            for (c, body) in index.bodies(g) {
                if index.kind(c) == Kind::Packed {
                    count_modes(&plan, body.bytes(), info)?;
                }
            }
        }
        Ok(())
    }
}

/// The chunk coder of one stream with the instructions of one level.
struct Chunks {
    plan: Plan,
    isa: Isa,
}

/// What an encoding thread keeps from chunk to chunk, and its buffers from array to array.
struct Encoder {
    _fpu: fpu::Guard,
    buffers: encode::Buffers,
}

thread_local! {
    static KEPT: Cell<Option<encode::Buffers>> = const { Cell::new(None) };
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // A thread that ends keeps nothing more.
        let _ = KEPT.try_with(|kept| kept.set(Some(std::mem::take(&mut self.buffers))));
    }
}

/// What a decoding thread keeps.
struct Decoder {
    _fpu: fpu::Guard,
    spare: decode::Spare,
}

impl ChunkCodec for Chunks {
    type Encoder = Encoder;
    type Decoder = Decoder;

    fn encoder(&self) -> Result<Encoder> {
        let buffers = match KEPT.try_with(Cell::take).ok().flatten() {
            Some(buffers) => buffers,
            None => encode::Buffers::new()?,
        };
        Ok(Encoder { _fpu: fpu::Guard::standard(), buffers })
    }

    fn decoder(&self) -> Decoder {
        Decoder { _fpu: fpu::Guard::standard(), spare: decode::Spare::new() }
    }

    fn encode(&self, encoder: &mut Encoder, data: Data, stores: StreamingStores, out: &mut [u8]) -> (Kind, usize) {
        level::encode(self.isa, &self.plan, &mut encoder.buffers, data, stores, out)
    }

    fn decode(
        &self,
        decoder: &mut Decoder,
        kind: Kind,
        body: Body,
        ahead: &[u8],
        out: &mut [u8],
        past_caches: bool,
    ) -> Result<()> {
        let decode = if past_caches { level::decode::<true> } else { level::decode::<false> };
        decode(self.isa, &self.plan, kind, body, ahead, &mut decoder.spare, out)
    }
}

/// Adds the subchunks of a packed chunk to the counts by mode.
fn count_modes(plan: &Plan, body: &[u8], info: &mut Info) -> Result<()> {
    let (header, descriptors) = level::describe(plan, body)?;
    for (s, d) in descriptors.iter().enumerate() {
        let place = match (header.active >> s & 1, SubMode::of(*d), header.special) {
            (0, ..) => 5,
            (_, SubMode::Special, Special::Delta2) => 4,
            (_, mode, _) => mode as usize,
        };
        info.subchunks[place] += 1;
    }
    info.patched += u64::from(header.patched.count_ones());
    Ok(())
}
