//! What an encoder or decoder needs to know of a whole stream.

use zfp_rs::{ZfpConfig, ZfpDimensionality, ZfpScalarType, ZfpStreamAlignment};

use super::format::{Axes, CODEC_ZFP, Coding};
use crate::codec::shared::promise;
use crate::container::{Header, Layout};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::params::{Bound, Params};

/// Parameters of every tile of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Where the tiles are.
    pub layout: Layout,
    /// Along which dimensions they have blocks.
    pub axes: Axes,
    /// Source and restored elements are big-endian.
    pub big_endian: bool,
    /// How the blocks of tiles without parameters of their own are cut off.
    pub coding: Coding,
    /// The bound of mode abs.
    pub bound: f64,
}

impl Plan {
    /// From what the user asks for (checked). The header lacks its length.
    pub fn for_encoding(params: &Params, layout: &Layout) -> Result<(Plan, Header)> {
        let axes = Axes::new(layout)?;
        let coding = match params.bound {
            _ if params.exact => Coding::Reversible,
            Bound::Abs(abs) if abs > 0.0 => Coding::Accuracy(ZfpConfig::fixed_accuracy(abs).min_exp() as i16),
            Bound::Rate(rate) => Coding::Rate(block_bits(params.dtype, rate, &axes)?),
            Bound::Precision(bits) => Coding::Precision(bits as u16),
            _ => Coding::Reversible,
        };
        let abs_bound = if matches!(coding, Coding::Accuracy(_)) { params.bound.number() } else { 0.0 };
        let header = Header { word: coding.to_bytes(), abs_bound, ..promise::header(params, layout, CODEC_ZFP) };
        Ok((
            Plan { layout: *layout, axes, big_endian: params.big_endian, coding, bound: params.bound.number() },
            header,
        ))
    }

    /// From a stream's verified header.
    pub fn for_decoding(header: &Header) -> Result<Plan> {
        let layout = header.layout;
        if scalar(layout.dtype).is_none() || layout.unit() != 4 || layout.shape.section_bytes != 0 {
            return fail!(
                Corrupt,
                "codec zfp has no streams of {} with units of {} and a section of {} bytes",
                layout.dtype.name(),
                layout.unit(),
                layout.shape.section_bytes
            );
        }
        let coding = Coding::read(header.word, layout.dtype)?;
        Ok(Plan { layout, axes: Axes::new(&layout)?, big_endian: header.big_endian, coding, bound: 0.0 })
    }
}

/// The bits of a block at a fixed rate, as the C library rounds them.
fn block_bits(dtype: DType, rate: f64, axes: &Axes) -> Result<u16> {
    Ok(fixed_rate(dtype, rate, axes.count(), ZfpStreamAlignment::Unaligned)?.max_bits() as u16)
}

/// The parameters of blocks of so many axes at a fixed rate.
pub fn fixed_rate(dtype: DType, rate: f64, axes: usize, alignment: ZfpStreamAlignment) -> Result<ZfpConfig> {
    let dims = match axes {
        1 => ZfpDimensionality::D1,
        2 => ZfpDimensionality::D2,
        3 => ZfpDimensionality::D3,
        _ => ZfpDimensionality::D4,
    };
    match scalar(dtype).and_then(|scalar| ZfpConfig::fixed_rate(rate, scalar, dims, alignment).ok()) {
        Some(config) => Ok(config),
        None => fail!(InvalidBound, "rate {rate} leaves a block of 4^{axes} elements no bit"),
    }
}

/// The type as zfp knows it.
pub fn scalar(dtype: DType) -> Option<ZfpScalarType> {
    match dtype {
        DType::F32 => Some(ZfpScalarType::F32),
        DType::F64 => Some(ZfpScalarType::F64),
        DType::I32 => Some(ZfpScalarType::I32),
        DType::I64 => Some(ZfpScalarType::I64),
        _ => None,
    }
}
