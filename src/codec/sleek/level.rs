//! Dispatch: element type × SIMD level to one monomorphic chunk coder, chosen once per chunk.

use super::plan::Plan;
use super::{decode, encode};
use crate::dtype::DType;
use crate::error::Result;
use crate::format::constants::SUBCHUNKS;
use crate::format::{ChunkHeader, Kind};
use crate::stage::bitpack::scalar::Scalar;
use crate::stage::quantize::{BF16, F16, F32, F64, Int};

/// What instructions a chunk coder may use. Every level gives the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every processor of the architecture has.
    Scalar,
}

impl Level {
    /// The best level of this processor.
    pub fn best() -> Level {
        Level::Scalar
    }
}

/// Calls `$f::<Element, S, Packer>($args)` for the plan's element type.
macro_rules! by_dtype {
    ($plan:expr, $packer:ty, $f:path, $($arg:expr),*) => {{
        use $f as f;
        match $plan.dtype {
            DType::F32 => f::<F32, 128, $packer>($($arg),*),
            DType::F64 => f::<F64, 64, $packer>($($arg),*),
            DType::F16 => f::<F16, 256, $packer>($($arg),*),
            DType::BF16 => f::<BF16, 256, $packer>($($arg),*),
            DType::I8 | DType::U8 => f::<Int<u8>, 512, $packer>($($arg),*),
            DType::I16 | DType::U16 => f::<Int<u16>, 256, $packer>($($arg),*),
            DType::I32 | DType::U32 => f::<Int<u32>, 128, $packer>($($arg),*),
            DType::I64 | DType::U64 => f::<Int<u64>, 64, $packer>($($arg),*),
        }
    }};
}

/// Encodes a chunk; see `ChunkCodec::encode`.
pub fn encode(level: Level, plan: &Plan, src: &[u8], out: &mut [u8]) -> (Kind, usize) {
    match level {
        Level::Scalar => by_dtype!(plan, Scalar, encode::chunk, plan, src, out),
    }
}

/// Decodes a chunk; see `ChunkCodec::decode`.
pub fn decode(level: Level, plan: &Plan, kind: Kind, body: &[u8], out: &mut [u8]) -> Result<()> {
    match level {
        Level::Scalar => by_dtype!(plan, Scalar, decode::chunk, plan, kind, body, out),
    }
}

/// Header and descriptors of a packed chunk.
pub fn describe(plan: &Plan, body: &[u8]) -> Result<(ChunkHeader, [u8; SUBCHUNKS])> {
    macro_rules! of {
        ($w:ty, $s:literal) => {
            decode::Parts::<$w>::read::<$s>(plan, body).map(|p| (p.header, p.descriptors))
        };
    }
    match plan.dtype.size() {
        1 => of!(u8, 512),
        2 => of!(u16, 256),
        4 => of!(u32, 128),
        _ => of!(u64, 64),
    }
}
