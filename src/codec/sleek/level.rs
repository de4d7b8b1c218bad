//! Dispatch: element type × SIMD level to one monomorphic chunk coder, chosen once per chunk.

use std::marker::PhantomData;

use super::buffers::Buffers;
use super::decode::Spare;
use super::encode::Verdict;
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
use crate::primitives::quantize::{BF16, Element, F16, F32, F64, Int};
use crate::primitives::stream::StreamingStores;
use crate::runtime::cpu::Data;
use crate::simd::{self, Compiled, Level, Scalar};

/// Evaluates an expression for the element type of a plan and the words of its subchunks. Integers go as floats of
/// their size do whose bits are to be kept, so that no code is made for them alone: it would be a tenth of the library.
macro_rules! by_dtype {
    ($plan:expr, $e:ident, $s:ident => $body:expr) => {{
        macro_rules! of {
            ($element:ty, $words:literal) => {{
                type $e = $element;
                const $s: usize = $words;
                $body
            }};
        }
        match $plan.dtype {
            DType::F32 | DType::I32 | DType::U32 => of!(F32, 128),
            DType::F64 | DType::I64 | DType::U64 => of!(F64, 64),
            DType::F16 => of!(F16, 256),
            DType::BF16 | DType::I16 | DType::U16 => of!(BF16, 256),
            DType::I8 | DType::U8 => of!(Int<u8>, 512),
        }
    }};
}

/// Encodes a chunk; see `ChunkCodec::encode`.
struct Encode<'a, E, const S: usize> {
    plan: &'a Plan,
    buffers: &'a mut Buffers,
    data: Data<'a>,
    stores: StreamingStores<'a>,
    out: &'a mut [u8],
    element: PhantomData<E>,
}

impl<E: Element, const S: usize, P: Simd<E::Word, S> + Simd<u16, S>> Compiled<P> for Encode<'_, E, S> {
    type Done = (Kind, usize, Verdict);

    #[inline(always)]
    fn run(self, p: P) -> Self::Done {
        encode::chunk::<E, S, P>(p, self.plan, self.buffers, self.data, self.stores, self.out)
    }
}

/// Decodes a chunk; see `ChunkCodec::decode`.
struct Decode<'a, E, const S: usize, const PAST_CACHES: bool> {
    plan: &'a Plan,
    kind: Kind,
    body: Body<'a>,
    ahead: &'a [u8],
    spare: &'a mut Spare,
    out: &'a mut [u8],
    element: PhantomData<E>,
}

impl<E: Element, const S: usize, P: Simd<E::Word, S> + Simd<u16, S> + Simd<u8, S>, const PAST_CACHES: bool> Compiled<P>
    for Decode<'_, E, S, PAST_CACHES>
{
    type Done = Result<()>;

    #[inline(always)]
    fn run(self, p: P) -> Result<()> {
        let Decode { plan, kind, body, ahead, spare, out, .. } = self;
        decode::chunk::<E, S, P, PAST_CACHES>(p, plan, kind, body, ahead, spare, out)
    }
}

/// See `Encode`.
pub fn encode(
    isa: Isa,
    plan: &Plan,
    buffers: &mut Buffers,
    data: Data,
    stores: StreamingStores,
    out: &mut [u8],
) -> (Kind, usize, Verdict) {
    by_dtype!(plan, E, S => {
        let task = Encode::<E, S> { plan, buffers, data, stores, out, element: PhantomData };
        simd::run_by_vectors(isa, task).unwrap_or_else(|task| Scalar.run(task))
    })
}

/// See `Decode`.
pub fn decode<const PAST_CACHES: bool>(
    isa: Isa,
    plan: &Plan,
    kind: Kind,
    body: Body,
    ahead: &[u8],
    spare: &mut Spare,
    out: &mut [u8],
) -> Result<()> {
    by_dtype!(plan, E, S => {
        let task = Decode::<E, S, PAST_CACHES> { plan, kind, body, ahead, spare, out, element: PhantomData };
        // One form of the scalar code is enough: few processors are without a level of their own.
        simd::run_by_vectors(isa, task).unwrap_or_else(|Decode { spare, out, .. }| {
            Scalar.run(Decode::<E, S, false> { plan, kind, body, ahead, spare, out, element: PhantomData })
        })
    })
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
