//! What stands where in a zfp stream's header and bodies (docs/reference/codecs/zfp.md).

use zfp_rs::{ZFP_MAX_BITS, ZFP_MAX_PREC, ZFP_MIN_BITS, ZFP_MIN_EXP, ZfpConfig};

use crate::container::{Geometry, Layout};
use crate::dtype::DType;
use crate::error::{Error, Kind, Result, fail};

/// The id in the stream header.
pub const CODEC_ZFP: u8 = 3;
/// Elements of a tile, at most, as a power of two.
pub const TILE_LOG2: u32 = 12;
/// The side of a block, as a power of two.
pub const BLOCK_LOG2: u32 = 2;
/// The most dimensions of a block.
pub const MAX_AXES: usize = 4;
/// Bytes of the parameters before a stream that has its own.
pub const OWN_BYTES: usize = 4;

/// How blocks are cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Not at all: every bit comes back.
    Reversible,
    /// Every block has so many bits.
    Rate(u16),
    /// Blocks keep so many bit planes.
    Precision(u16),
    /// Blocks keep the bit planes down to this exponent.
    Accuracy(i16),
}

impl Coding {
    /// Its four bytes.
    pub fn to_bytes(self) -> [u8; OWN_BYTES] {
        let (kind, parameter) = match self {
            Coding::Reversible => (0, [0; 2]),
            Coding::Rate(bits) => (1, bits.to_le_bytes()),
            Coding::Precision(planes) => (2, planes.to_le_bytes()),
            Coding::Accuracy(exponent) => (3, exponent.to_le_bytes()),
        };
        [kind, 0, parameter[0], parameter[1]]
    }

    /// Reads the four bytes for elements of `dtype`, and checks them.
    pub fn read(bytes: [u8; OWN_BYTES], dtype: DType) -> Result<Coding> {
        let [kind, zero, low, high] = bytes;
        let parameter = u16::from_le_bytes([low, high]);
        let coding = match kind {
            0 if parameter == 0 => Some(Coding::Reversible),
            1 if (header_bits(dtype)..=ZFP_MAX_BITS).contains(&parameter.into()) => Some(Coding::Rate(parameter)),
            2 if (1..=ZFP_MAX_PREC).contains(&parameter.into()) => Some(Coding::Precision(parameter)),
            3 if dtype.is_float() && (ZFP_MIN_EXP..=1023).contains(&(parameter as i16).into()) => {
                Some(Coding::Accuracy(parameter as i16))
            }
            _ => None,
        };
        match coding.filter(|_| zero == 0) {
            Some(coding) => Ok(coding),
            None => fail!(Corrupt, "zfp's parameters {bytes:02x?} are not legal for {}", dtype.name()),
        }
    }

    /// The four parameters of zfp.
    pub fn config(self) -> Result<ZfpConfig> {
        let of = match self {
            Coding::Reversible => Ok(ZfpConfig::reversible()),
            Coding::Rate(bits) => ZfpConfig::expert(bits.into(), bits.into(), ZFP_MAX_PREC, ZFP_MIN_EXP),
            Coding::Precision(planes) => ZfpConfig::expert(ZFP_MIN_BITS, ZFP_MAX_BITS, planes.into(), ZFP_MIN_EXP),
            Coding::Accuracy(exponent) => ZfpConfig::expert(ZFP_MIN_BITS, ZFP_MAX_BITS, ZFP_MAX_PREC, exponent.into()),
        };
        of.map_err(|e| Error::of(Kind::Internal, format_args!("zfp has no parameters for {self:?}: {e}")))
    }
}

/// The fewest bits of a block: those before its bit planes.
pub fn header_bits(dtype: DType) -> u32 {
    match dtype {
        DType::F32 => 1 + 8,
        DType::F64 => 1 + 11,
        _ => 1,
    }
}

/// The dimensions along which tiles have blocks.
#[derive(Clone, Copy, Debug)]
pub struct Axes {
    /// Them, the fastest first.
    axes: [usize; MAX_AXES],
    count: usize,
}

impl Axes {
    /// Of a layout; an error where the codec has no such streams.
    pub fn new(layout: &Layout) -> Result<Axes> {
        let Geometry::Tile { sides_log2 } = &layout.shape.geometry else {
            return fail!(Corrupt, "codec zfp has no streams in runs");
        };
        let sides_log2 = &sides_log2[..layout.shape.dims.rank()];
        let sum: u32 = sides_log2.iter().map(|s| u32::from(*s)).sum();
        let mut axes = Axes { axes: [0; MAX_AXES], count: 0 };
        for k in (0..sides_log2.len()).rev().filter(|k| sides_log2[*k] > 0) {
            if axes.count == MAX_AXES || u32::from(sides_log2[k]) < BLOCK_LOG2 {
                return fail!(Corrupt, "codec zfp has no tiles with sides of 2^{sides_log2:?}");
            }
            axes.axes[axes.count] = k;
            axes.count += 1;
        }
        if axes.count == 0 || sum > TILE_LOG2 {
            return fail!(Corrupt, "codec zfp has no tiles with sides of 2^{sides_log2:?}");
        }
        Ok(axes)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Lengths along them of a tile with these lengths, as zfp takes them.
    pub fn lens(&self, lens: &[u64]) -> [usize; MAX_AXES] {
        std::array::from_fn(|a| if a < self.count { lens[self.axes[a]] as usize } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_back_or_are_refused() {
        let legal = [
            Coding::Reversible,
            Coding::Rate(12),
            Coding::Rate(16384),
            Coding::Precision(1),
            Coding::Precision(64),
            Coding::Accuracy(-1074),
            Coding::Accuracy(1023),
        ];
        for coding in legal {
            assert_eq!(Coding::read(coding.to_bytes(), DType::F64).unwrap(), coding);
            assert_eq!(coding.config().unwrap().min_exp() < ZFP_MIN_EXP, coding == Coding::Reversible);
        }
        assert!(Coding::read(Coding::Accuracy(0).to_bytes(), DType::I32).is_err());
        assert!(Coding::read(Coding::Rate(1).to_bytes(), DType::I32).is_ok());
        for bytes in [[0, 0, 1, 0], [1, 0, 11, 0], [1, 0, 0, 0x80], [2, 0, 0, 0], [2, 0, 65, 0], [4, 0, 0, 0]] {
            assert!(Coding::read(bytes, DType::F64).is_err(), "{bytes:?}");
        }
        assert!(Coding::read([0, 1, 0, 0], DType::F64).is_err());
        assert!(Coding::read(Coding::Accuracy(-1075).to_bytes(), DType::F64).is_err());
    }
}
