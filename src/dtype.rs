//! Element types.

use crate::error::{List, Result, enumeration, fail};

/// What `$body` gives for an element type: `$number` makes the number of an element, whose bits are a `$word`.
macro_rules! with_numbers {
    ($dtype:expr, |$number:ident: $word:ident| $body:expr) => {
        $crate::dtype::with_numbers!(@ $dtype, $number, $word, $body,
            F32 u32 |w: u32| f64::from(f32::from_bits(w));
            F64 u64 f64::from_bits;
            F16 u16 $crate::dtype::half;
            BF16 u16 |w: u16| f64::from(f32::from_bits(u32::from(w) << 16));
            I8 u8 |w: u8| f64::from(w as i8);
            I16 u16 |w: u16| f64::from(w as i16);
            I32 u32 |w: u32| f64::from(w as i32);
            I64 u64 |w: u64| w as i64 as f64;
            U8 u8 |w: u8| f64::from(w);
            U16 u16 |w: u16| f64::from(w);
            U32 u32 |w: u32| f64::from(w);
            U64 u64 |w: u64| w as f64;
        )
    };
    (@ $dtype:expr, $number:ident, $word:ident, $body:expr, $($case:ident $of:ident $made:expr;)+) => {
        match $dtype {
            $($crate::dtype::DType::$case => {
                type $word = $of;
                let $number = $made;
                $body
            })+
        }
    };
}
pub(crate) use with_numbers;

enumeration! {
    /// The type of an array's elements. The discriminants are the codes in the stream header and in C.
    #[derive(Hash)]
    #[allow(missing_docs)]
    pub enum DType: u8, name, "dtype code" {
        F32 = 1 "f32",
        F64 = 2 "f64",
        F16 = 3 "f16",
        BF16 = 4 "bf16",
        I8 = 5 "i8",
        I16 = 6 "i16",
        I32 = 7 "i32",
        I64 = 8 "i64",
        U8 = 9 "u8",
        U16 = 10 "u16",
        U32 = 11 "u32",
        U64 = 12 "u64",
    }
}

impl DType {
    /// The type of this name, as the command takes it (`f32`, `bf16`, `u8`, …).
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            DType::I8 | DType::U8 => 1,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F64 | DType::I64 | DType::U64 => 8,
        }
    }

    /// Bytes of so many elements; an error where no memory has room for them.
    pub(crate) fn bytes_of(self, count: usize) -> Result<usize> {
        match count.checked_mul(self.size()) {
            Some(bytes) => Ok(bytes),
            None => fail!(InvalidArgument, "{count} elements of {} bytes do not fit in memory", self.size()),
        }
    }

    /// The bits of the element nearest to `x`, ties to even; of a float type a NaN for a NaN, of an integer type the
    /// nearest integer that it has.
    pub fn nearest(self, x: f64) -> u64 {
        match self {
            DType::F32 if x.is_nan() => u64::from((x as f32).to_bits()),
            DType::F32 => narrowed(x, 8, 23),
            DType::F64 => x.to_bits(),
            DType::F16 => narrowed(x, 5, 10),
            // The upper half of an f32, but rounded once.
            DType::BF16 => narrowed(x, 8, 7),
            DType::I8 => x.round_ties_even() as i8 as u8 as u64,
            DType::I16 => x.round_ties_even() as i16 as u16 as u64,
            DType::I32 => x.round_ties_even() as i32 as u32 as u64,
            DType::I64 => x.round_ties_even() as i64 as u64,
            DType::U8 => x.round_ties_even() as u8 as u64,
            DType::U16 => x.round_ties_even() as u16 as u64,
            DType::U32 => x.round_ties_even() as u32 as u64,
            DType::U64 => x.round_ties_even() as u64,
        }
    }

    /// The number that an element's bits stand for, as near as f64 has it.
    pub fn number(self, bits: u64) -> f64 {
        with_numbers!(self, |number: W| number(bits as W))
    }

    /// It in words, with its byte order where numbers of more than a byte are not little-endian.
    pub fn in_order(self, big_endian: bool) -> impl std::fmt::Display {
        List([if big_endian && self.size() > 1 { "big-endian " } else { "" }, self.name()].into_iter(), "")
    }

    /// Whether lossy modes apply.
    pub fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64 | DType::F16 | DType::BF16)
    }
}

/// A number of binary16; no arithmetic that a host's floating-point environment could flush.
pub(crate) fn half(bits: u16) -> f64 {
    let (mantissa, sign) = (u64::from(bits & 0x7fff) << 42, u64::from(bits >> 15) << 63);
    let magnitude = match bits & 0x7c00 {
        0 => (f64::from(bits & 0x3ff) * power(-24)).to_bits(),
        0x7c00 => mantissa | 0x7ff << 52,
        _ => mantissa + (1008 << 52),
    };
    f64::from_bits(magnitude | sign)
}

/// 2^e, of a normal f64.
fn power(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// The bits of the float with so many exponent and mantissa bits that is nearest to `x`, ties to even.
fn narrowed(x: f64, exponent: u32, mantissa: u32) -> u64 {
    let sign = (x.to_bits() >> 63) << (exponent + mantissa);
    let (bias, infinity) = ((1i32 << (exponent - 1)) - 1, ((1u64 << exponent) - 1) << mantissa);
    let a = x.abs();
    if a.is_nan() {
        return sign | infinity | 1 << (mantissa - 1);
    }
    if a.is_infinite() {
        return sign | infinity;
    }
    // Units in the last place are those of the least normal number or of x's own binade; the quotient is exact.
    let e = ((a.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    let units = (a * power((mantissa as i32 - e).min(1000))).round_ties_even() as u64;
    // A mantissa that is rounded up to the next binade carries into the exponent, as it should; beyond the last lies
    // infinity.
    let bits = (((e + bias - 1) as u64) << mantissa) + units;
    sign | bits.min(infinity)
}

/// The bits of an element in a byte order.
pub fn element_bits(bytes: &[u8], big_endian: bool) -> u64 {
    let add = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
    if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rfold(0, add) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_both_orders() {
        assert_eq!(element_bits(&[1, 2, 3, 4], true), 0x0102_0304);
        assert_eq!(element_bits(&[1, 2, 3, 4], false), 0x0403_0201);
        assert_eq!(element_bits(&(-9999f64).to_be_bytes(), true), (-9999f64).to_bits());
    }

    /// Every f16 and bf16 is the nearest to itself, and to all numbers up to half of the way to its neighbours.
    #[test]
    fn numbers_round_to_the_nearest_element() {
        for dtype in [DType::F16, DType::BF16] {
            let largest = if dtype == DType::F16 { 0x7bff } else { 0x7f7f };
            for bits in 0..=largest {
                let x = dtype.number(bits);
                assert_eq!(dtype.nearest(x), bits);
                assert_eq!(dtype.nearest(-x), bits | 0x8000);
                if bits < largest {
                    let middle = (x + dtype.number(bits + 1)) / 2.0;
                    assert_eq!(dtype.nearest(middle), bits + (bits & 1), "{bits:x}");
                    assert_eq!(dtype.nearest(middle.next_down()), bits);
                    assert_eq!(dtype.nearest(middle.next_up()), bits + 1);
                }
            }
            assert_eq!(dtype.nearest(1e300), largest + 1);
            assert!(dtype.number(dtype.nearest(f64::NAN)).is_nan());
            assert_eq!(dtype.number(dtype.nearest(f64::NEG_INFINITY)), f64::NEG_INFINITY);
        }
        assert_eq!(DType::F16.number(1), 2f64.powi(-24));
        assert_eq!(DType::I8.nearest(-1000.0), 0x80);
        assert_eq!((DType::I16.nearest(-2.5), DType::U64.nearest(1e30)), (0xfffe, u64::MAX));
        assert_eq!((DType::I32.number(0xffff_fffe), DType::U32.number(0xffff_fffe)), (-2.0, 4_294_967_294.0));
    }
}
