//! Dispatch: element type × SIMD level to one monomorphic chunk coder, chosen once per chunk.

use super::buffers::Buffers;
use super::decode::Spare;
use super::parts::Parts;
use super::plan::Plan;
use super::{decode, encode};
use crate::codec::sleek::constants::SUBCHUNKS;
use crate::codec::sleek::format::ChunkHeader;
use crate::codec::sleek::simd::Simd;
use crate::container::{Body, Kind};
use crate::dtype::DType;
use crate::error::Result;
use crate::exec::Isa;
#[cfg(target_arch = "aarch64")]
use crate::exec::Neon;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Avx2, Avx512};
use crate::primitives::quantize::{BF16, Element, F16, F32, F64, Int};
use crate::runtime::cpu::Data;
use crate::simd::stream::StreamingStores;
use crate::simd::{Scalar, by_level, given};

/// Calls `$f::<Element, S>($args)` for the plan's element type. Integers go as floats of their size do whose bits
/// are to be kept, so that no code is made for them alone: it would be a tenth of the library.
macro_rules! by_dtype {
    ($plan:expr $(, $past:ident)?; $f:path, $($arg:expr),*) => {{
        use $f as f;
        match $plan.dtype {
            DType::F32 | DType::I32 | DType::U32 => f::<F32, 128 $(, $past)?>($($arg),*),
            DType::F64 | DType::I64 | DType::U64 => f::<F64, 64 $(, $past)?>($($arg),*),
            DType::F16 => f::<F16, 256 $(, $past)?>($($arg),*),
            DType::BF16 | DType::I16 | DType::U16 => f::<BF16, 256 $(, $past)?>($($arg),*),
            DType::I8 | DType::U8 => f::<Int<u8>, 512 $(, $past)?>($($arg),*),
        }
    }};
}

/// The chunk coders compiled for a level: `inline(always)` brings the generic code into these functions, where the
/// compiler may use the level's instructions, and keeps each one's buffers off the stack of the others. They are no
/// tasks: of arguments the compiler knows that nothing else leads to their bytes, and of a task's fields it does not.
macro_rules! chunk_coders {
    ($name:ident, $level:tt, $past:expr) => {
        mod $name {
            use super::*;

            given! { $level,
                pub fn encode[E: Element, const S: usize][E, S](
                    p: $level,
                    plan: &Plan,
                    buffers: &mut Buffers,
                    data: Data,
                    stores: StreamingStores,
                    out: &mut [u8],
                ) -> (Kind, usize, bool) where [$level: Simd<E::Word, S> + Simd<u16, S>] {
                    encode::chunk::<E, S, $level>(p, plan, buffers, data, stores, out)
                }
            }

            given! { $level,
                pub fn decode[E: Element, const S: usize, const PAST_CACHES: bool][E, S, PAST_CACHES](
                    p: $level,
                    plan: &Plan,
                    kind: Kind,
                    body: Body,
                    ahead: &[u8],
                    spare: &mut Spare,
                    out: &mut [u8],
                ) -> Result<()> where [$level: Simd<E::Word, S> + Simd<u16, S> + Simd<u8, S>] {
                    decode::chunk::<E, S, $level, { $past }>(p, plan, kind, body, ahead, spare, out)
                }
            }
        }
    };
}

// Without a level's instructions nothing goes past the caches.
chunk_coders!(scalar, Scalar, false);
#[cfg(target_arch = "aarch64")]
chunk_coders!(neon, Neon, PAST_CACHES);
#[cfg(target_arch = "x86_64")]
chunk_coders!(avx2, Avx2, PAST_CACHES);
#[cfg(target_arch = "x86_64")]
chunk_coders!(avx512, Avx512, PAST_CACHES);

/// Encodes a chunk; see `ChunkCodec::encode`. And whether it collides, see `encode::chunk`.
pub fn encode(
    isa: Isa,
    plan: &Plan,
    buffers: &mut Buffers,
    data: Data,
    stores: StreamingStores,
    out: &mut [u8],
) -> (Kind, usize, bool) {
    by_level!(isa, p in level => by_dtype!(plan; level::encode, p, plan, buffers, data, stores, out))
}

/// Decodes a chunk; see `ChunkCodec::decode`.
pub fn decode<const PAST_CACHES: bool>(
    isa: Isa,
    plan: &Plan,
    kind: Kind,
    body: Body,
    ahead: &[u8],
    spare: &mut Spare,
    out: &mut [u8],
) -> Result<()> {
    by_level!(isa, p in level => by_dtype!(plan, PAST_CACHES; level::decode, p, plan, kind, body, ahead, spare, out))
}

/// Header and descriptors of a packed chunk.
pub fn describe(plan: &Plan, body: &[u8]) -> Result<(ChunkHeader, [u8; SUBCHUNKS])> {
    macro_rules! of {
        ($w:ty, $s:literal) => {{
            let mut parts = Parts::<$w>::new();
            parts.read::<$s, _>(Scalar, plan, body, body.len()).map(|()| (parts.header, parts.descriptors))
        }};
    }
    match plan.dtype.size() {
        1 => of!(u8, 512),
        2 => of!(u16, 256),
        4 => of!(u32, 128),
        _ => of!(u64, 64),
    }
}
