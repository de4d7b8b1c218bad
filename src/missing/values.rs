//! Missing values: which bits mark them (docs/reference/format.md §5).

use crate::dtype::DType;
use crate::error::{Result, fail};

/// The most missing values that a stream can name.
pub const MAX_MISSING: usize = 4;

/// A missing value as a caller names it.
#[derive(Clone, Copy, Debug)]
pub enum MissingValue {
    /// A number, which means the element nearest to it.
    Number(f64),
    /// An element's bits.
    Bits(u64),
}

impl PartialEq for MissingValue {
    /// A NaN is the same as itself here.
    fn eq(&self, other: &MissingValue) -> bool {
        match (self, other) {
            (MissingValue::Number(a), MissingValue::Number(b)) => a.to_bits() == b.to_bits(),
            (MissingValue::Bits(a), MissingValue::Bits(b)) => a == b,
            _ => false,
        }
    }
}

impl MissingValue {
    /// The bits of an element of `dtype`; an error for bits that it does not have.
    pub fn bits(self, dtype: DType) -> Result<u64> {
        match self {
            MissingValue::Number(x) => Ok(dtype.nearest(x)),
            MissingValue::Bits(bits) if bits >> (8 * dtype.size() - 1) > 1 => {
                fail!(InvalidArgument, "missing value {bits:#x} has more bits than {}", dtype.name())
            }
            MissingValue::Bits(bits) => Ok(bits),
        }
    }
}

/// The missing values of a stream: bits of its element type, no two the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    count: u8,
    /// How many of them, the last ones, nobody named.
    found: u8,
    /// An element of a packed body that is restored as one is the next larger number instead.
    next: bool,
    bits: [u64; MAX_MISSING],
}

impl std::fmt::Debug for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_list().entries(self.bits().iter().map(|b| format!("{b:#x}"))).finish()
    }
}

impl Missing {
    /// None.
    pub const NONE: Missing = Missing { count: 0, found: 0, next: false, bits: [0; MAX_MISSING] };

    /// Those that a caller names, each once. A zero stands for both zeros as far as there is room: they are equal.
    pub fn named(dtype: DType, values: impl Iterator<Item = MissingValue>) -> Result<Missing> {
        Missing::NONE.and(dtype, values)
    }

    /// These, and others that the encoder found.
    pub fn and_found(self, dtype: DType, values: impl Iterator<Item = MissingValue>) -> Result<Missing> {
        let all = self.and(dtype, values)?;
        Ok(Missing { found: all.count - self.count, ..all })
    }

    fn and(self, dtype: DType, values: impl Iterator<Item = MissingValue>) -> Result<Missing> {
        let mut missing = self;
        for value in values {
            let bits = value.bits(dtype)?;
            if !missing.bits().contains(&bits) && !missing.push(bits) {
                return fail!(InvalidArgument, "more than {MAX_MISSING} missing values");
            }
        }
        let sign = 1u64 << (8 * dtype.size() - 1);
        if dtype.is_float() {
            for (zero, other) in [(0, sign), (sign, 0)] {
                if missing.bits().contains(&zero) && !missing.bits().contains(&other) {
                    missing.push(other);
                }
            }
        }
        Ok(missing)
    }

    /// As many as a stream can name, for the largest header.
    pub fn most() -> Missing {
        Missing { count: MAX_MISSING as u8, bits: [0, 1, 2, 3], ..Missing::NONE }
    }

    /// Missing values as a header has them, the last `found` of them found by the encoder; `None` if the format does
    /// not allow them.
    pub fn stored(dtype: DType, bits: &[u64], found: u8) -> Option<Missing> {
        let mut missing = Missing { found, ..Missing::NONE };
        let fits = |b: &u64| *b >> (8 * dtype.size() - 1) <= 1;
        let legal = bits.iter().all(|b| fits(b) && !missing.bits().contains(b) && missing.push(*b));
        let legal = legal && usize::from(found) <= bits.len();
        (legal && (bits.is_empty() || dtype.is_float())).then_some(missing)
    }

    fn push(&mut self, bits: u64) -> bool {
        let Some(place) = self.bits.get_mut(usize::from(self.count)) else { return false };
        *place = bits;
        self.count += 1;
        true
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The same where elements of packed bodies that are restored as one are the next larger numbers, or are not.
    pub fn with_next(self, next: bool) -> Missing {
        Missing { next: next && self.count > 0, ..self }
    }

    /// Whether they are.
    pub fn has_next(&self) -> bool {
        self.next
    }

    /// Their bits.
    pub fn bits(&self) -> &[u64] {
        &self.bits[..self.len()]
    }

    /// The bits of the declared ones, which somebody named.
    pub fn told(&self) -> &[u64] {
        &self.bits[..self.len() - self.found()]
    }

    /// How many of them, the last ones, nobody named: the encoder found them.
    pub fn found(&self) -> usize {
        self.found.into()
    }
}

/// The bits of the next larger number of a float type, of a finite one that is not its largest; a zero of either sign
/// is followed by the smallest positive number.
pub fn next_above(dtype: DType, bits: u64) -> Option<u64> {
    let sign = 1u64 << (8 * dtype.size() - 1);
    let next = match bits {
        _ if bits & !sign == 0 => 1,
        _ if bits & sign != 0 => bits - 1,
        _ => bits + 1,
    };
    [bits, next].iter().all(|bits| dtype.number(*bits).is_finite()).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_bits_of_the_element_type() {
        let bits = |dtype, x| MissingValue::Number(x).bits(dtype).unwrap();
        assert_eq!(bits(DType::F32, -9999.0), u64::from((-9999.0f32).to_bits()));
        assert_eq!(bits(DType::F16, -9999.0), 0xf0e2); // -10000, the nearest
        assert_eq!(bits(DType::BF16, -9999.0), 0xc61c); // -9984
        assert_eq!(bits(DType::F32, f64::NAN), 0x7fc0_0000);
        assert_eq!(bits(DType::F16, 1e20), 0x7c00);
        assert!(MissingValue::Bits(0x1_0000).bits(DType::F16).is_err());
        let named = Missing::named(DType::F32, [0.0, 1e20].into_iter().map(MissingValue::Number)).unwrap();
        assert_eq!(named.bits(), [0, u64::from(1e20f32.to_bits()), 0x8000_0000]);
        let five = (1..6).map(|i| MissingValue::Number(f64::from(i)));
        assert_eq!(Missing::named(DType::F64, five).unwrap_err().message, "more than 4 missing values");
        assert!(Missing::stored(DType::F16, &[1, 1], 0).is_none() && Missing::stored(DType::I16, &[1], 0).is_none());
    }
}
