//! What a request promises of elements, and what a header says of it.

use crate::bound::{self, Step};
use crate::container::{Header, Layout};
use crate::dtype::DType;
use crate::error::{Result, fail};
#[cfg(feature = "cuda")]
use crate::params::Profile;
use crate::params::{Bound, Params};
use crate::primitives::quantize::mantissa_and_bias;
use crate::runtime::cpu;
#[cfg(feature = "cuda")]
use crate::runtime::cuda::launch::{Batch, CompressArgs};

/// How far elements may be off: as bins of a quantizer, as mantissas of fewer bits, or not at all.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// The absolute bound, 0 without one.
    pub abs: f64,
    /// The value range that `Noa` took it of, else 0.
    range: f64,
    /// The quantizer's step; without one elements' bits are coded.
    pub step: Option<Step>,
    /// Mantissa bits to round to before (`Rel`).
    pub keep_bits: Option<u32>,
}

impl Promise {
    /// Of a checked request, and of the data where a range is to be measured.
    pub fn new(params: &Params, layout: &Layout, src: &[u8]) -> Promise {
        let measure = || cpu::range_without(params, &layout.shape.missing, src);
        let (abs, range) = match params.bound {
            _ if params.exact => (0.0, 0.0),
            Bound::Abs(abs) => (abs, 0.0),
            Bound::Noa { share, range } => bound::noa(share, range, measure),
            _ => (0.0, 0.0),
        };
        let step = Step::for_bound(params.dtype, abs, params.profile);
        let (mantissa, _) = mantissa_and_bias(params.dtype);
        let keep_bits = match params.bound {
            Bound::Rel(share) if !params.exact => Some(bound::rel_mantissa_bits(share, mantissa)),
            _ => None,
        };
        let keep_bits = keep_bits.filter(|keep| *keep < mantissa);
        Promise { abs, range, step, keep_bits }
    }

    /// The header of a stream that keeps it, without its length. The last byte of its word is the codec's own.
    pub fn header(&self, params: &Params, layout: &Layout, codec: u8, last: u8) -> Header {
        let word = self.step.map_or([0; 4], |step| {
            let [j0, j1] = step.j.to_le_bytes();
            [j0, j1, step.w, last]
        });
        let abs_bound = if self.step.is_some() { self.abs } else { 0.0 };
        Header { word, range: self.range, abs_bound, ..header(params, layout, codec) }
    }
}

/// The header of a stream, without what its codec promises and without its length.
pub fn header(params: &Params, layout: &Layout, codec: u8) -> Header {
    Header {
        layout: *layout,
        codec,
        mode: params.bound.mode(),
        profile: params.profile,
        big_endian: params.big_endian,
        more: false,
        word: [0; 4],
        bound: params.bound.number(),
        range: 0.0,
        abs_bound: 0.0,
        stream_bytes: 0,
    }
}

/// The step that the word of a header says, and the word's last byte.
pub fn step_of(word: [u8; 4], dtype: DType) -> Result<(Option<Step>, u8)> {
    let [j0, j1, w, last] = word;
    let step = Step { w, j: i16::from_le_bytes([j0, j1]) };
    let is_legal = match w {
        0 => step.j == 0,
        4..=7 => dtype.is_float() && bound::step_range(dtype).contains(&step.j),
        _ => false,
    };
    if !is_legal {
        return fail!(Corrupt, "quantizer step {} * 2^{} is not legal for {}", step.w, step.j, dtype.name());
    }
    Ok(((w != 0).then_some(step), last))
}

/// What kernels are told of a request for arrays of which the largest has `layout`, but for what codecs have apart.
#[cfg(feature = "cuda")]
pub fn arguments(batch: Batch, params: &Params, layout: &Layout) -> CompressArgs {
    let (missing, drop) = (layout.shape.missing.bits(), mantissa_bits_to_drop(params));
    CompressArgs {
        batch,
        bound: params.bound.number(),
        range: params.bound.range().unwrap_or(0.0),
        missing: std::array::from_fn(|k| missing.get(k).copied().unwrap_or(0)),
        dtype: params.dtype as u32,
        mode: params.bound.mode() as u32,
        fast: (params.profile == Profile::Fast).into(),
        big_endian: params.big_endian.into(),
        has_range: params.bound.range().is_some().into(),
        values: missing.len() as u32,
        rounded: (drop > 0).into(),
        drop,
        found: layout.shape.missing.found() as u32,
        exact: params.exact.into(),
        ..CompressArgs::ZERO
    }
}

/// Mantissa bits that `Rel` rounds off.
#[cfg(feature = "cuda")]
pub fn mantissa_bits_to_drop(params: &Params) -> u32 {
    let (mantissa, _) = mantissa_and_bias(params.dtype);
    match params.bound {
        Bound::Rel(share) => mantissa - bound::rel_mantissa_bits(share, mantissa),
        _ => 0,
    }
}
