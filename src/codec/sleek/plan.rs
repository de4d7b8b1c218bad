//! What an encoder or decoder needs to know of a whole stream.

use crate::error::Result;
use crate::format::constants::CODEC_SLEEK;
use crate::format::{Header, Layout};
use crate::params::Params;

/// Parameters of every chunk of a stream.
pub struct Plan {}

impl Plan {
    /// From what the user asks for, and the data where a range is measured.
    pub fn for_encoding(params: &Params, layout: Layout, _src: &[u8]) -> (Plan, Header) {
        let header = Header {
            layout,
            codec: CODEC_SLEEK,
            mode: params.mode,
            profile: params.profile,
            big_endian: params.big_endian,
            step_w: 0,
            step_j: 0,
            bound: params.bound,
            range: 0.0,
            abs_bound: 0.0,
            stream_bytes: 0,
        };
        (Plan {}, header)
    }

    /// From a stream's header.
    pub fn for_decoding(_header: &Header) -> Result<Plan> {
        Ok(Plan {})
    }
}
