//! Datatypes as `H5Tencode` writes them: the datatype message of the HDF5 file format, section IV.A.2.d. One call thus
//! tells everything, which matters in a program that holds but the parts of HDF5 that it uses.

use crate::dtype::DType;
use crate::error::{Error, Kind, Result};

/// What `H5Tencode` puts before the message: the message's number and the encoding's version.
const PREFIX: [u8; 2] = [3, 0];

/// How the bytes of a dataset are best read.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The codec's element type; a float type only if sign, exponent and mantissa are where IEEE (or bfloat16) has
    /// them.
    pub dtype: DType,
    /// Byte order in the file.
    pub big_endian: bool,
    /// An element of the dataset is one of the codec's, not an array of them or a complex number.
    pub scalar: bool,
    /// An element is made of numbers: integers, floats, bit fields, enumerations, arrays of them, and complex numbers.
    pub numbers: bool,
    /// An element is an integer by its class, or an array of these; enumerations, bit fields and floats that are read
    /// as integers are not.
    pub integers: bool,
    /// Bytes of an element of the dataset.
    pub bytes: u32,
    /// In a person's words.
    pub what: String,
}

/// Reads what `H5Tencode` wrote.
pub fn parse(encoded: &[u8]) -> Result<Stored> {
    let message = encoded.strip_prefix(&PREFIX);
    let whole = message.and_then(|m| Some(Stored { bytes: u32_at(m, 4)?, ..stored(m, true)? }));
    whole.ok_or_else(|| {
        let seen = &encoded[..encoded.len().min(16)];
        Error::new(Kind::Hdf5, format!("H5Tencode gave {seen:02x?}…, which is no datatype that we can read"))
    })
}

/// Whether two encoded types are the same integer or float but for the byte order, which HDF5 then converts by turning
/// bytes round.
pub fn differ_in_order_only(a: &[u8], b: &[u8]) -> bool {
    let ordered = |t: &[u8]| {
        let mut message = t.strip_prefix(&PREFIX)?.to_vec();
        let (class, size) = (*message.first()? & 15, u32_at(&message, 4)?);
        let vax = class == 1 && message[1] & 0x40 != 0;
        let whole = match class {
            // Numbers with padding are converted to zeros there.
            0 => message.get(8..12)? == [0, 0, (8 * size) as u8, 0],
            1 => float(&message, u32_at(&message, 0)? >> 8, size).is_some(),
            _ => false,
        };
        // Version and byte order are left out.
        message[0] = class;
        message[1] &= !1;
        (whole && !vax && matches!(size, 2 | 4 | 8)).then_some(message)
    };
    ordered(a).is_some_and(|a| Some(a) == ordered(b))
}

fn stored(message: &[u8], scalar: bool) -> Option<Stored> {
    let size = u32_at(message, 4)?;
    let (class, version, bits) = (message[0] & 15, message[0] >> 4, u32_at(message, 0)? >> 8);
    let ordered = |dtype: DType| (dtype, dtype.size() > 1 && bits & 1 == 1);
    let bytes = (DType::U8, false);
    let ((dtype, big_endian), name) = match class {
        0 => (integer(size, bits & 8 != 0).map_or(bytes, ordered), "integers"),
        1 => match float(message, bits, size) {
            Some(dtype) => {
                let (big_endian, what) = (bits & 1 == 1, dtype.name().into());
                return Some(Stored { dtype, big_endian, scalar, numbers: true, integers: false, bytes: size, what });
            }
            None => (integer(size, false).map_or(bytes, ordered), "floating-point numbers of an unusual layout"),
        },
        4 => (integer(size, false).map_or(bytes, ordered), "bit fields"),
        8 => {
            let base = stored(message.get(8..)?, scalar)?;
            ((base.dtype, base.big_endian), "enumerations")
        }
        // An array counts as its elements, a complex number as its parts.
        10 => return stored(message.get(array_base_at(message, version)?..)?, false),
        11 => return Some(complex(stored(message.get(8..)?, false)?)),
        3 => (bytes, "strings"),
        5 => (bytes, "opaque bytes"),
        6 => match complex_part(message) {
            Some(part) => return Some(complex(part)),
            None => (bytes, "compounds"),
        },
        7 => (bytes, "references"),
        9 if bits & 15 == 1 => (bytes, "variable-length strings"),
        9 => (bytes, "variable-length sequences"),
        _ => (bytes, "elements of an unknown class"),
    };
    let numbers = matches!(class, 0 | 1 | 4 | 8);
    let integers = class == 0;
    Some(Stored { dtype, big_endian, scalar, numbers, integers, bytes: size, what: format!("{name} of {size} bytes") })
}

/// How the words for complex numbers begin.
const COMPLEX: &str = "complex numbers of ";

impl Stored {
    /// Whether an element is a complex number, of two parts.
    pub fn is_complex(&self) -> bool {
        self.what.starts_with(COMPLEX)
    }
}

/// Complex numbers with such parts.
fn complex(part: Stored) -> Stored {
    Stored { scalar: false, what: format!("{COMPLEX}{}", part.what), ..part }
}

/// What programs call the parts of a complex number that they store as a compound.
const PARTS: [[&[u8]; 2]; 4] = [[b"r", b"i"], [b"re", b"im"], [b"real", b"imag"], [b"real", b"imaginary"]];
/// Bytes of the message of a float.
const FLOAT_BYTES: usize = 20;

/// The parts of a complex number, if this is a compound of two floats of one type with nothing between and behind them,
/// with the names of such parts.
fn complex_part(message: &[u8]) -> Option<Stored> {
    let (version, members, size) = (message[0] >> 4, u32_at(message, 0)? >> 8 & 0xffff, u32_at(message, 4)?);
    if members != 2 {
        return None;
    }
    let (first, behind) = member(version, size, message.get(8..)?)?;
    let (second, _) = member(version, size, behind)?;
    let part = stored(first.kind, false)?;
    let named =
        |names: &[&[u8]; 2]| names[0].eq_ignore_ascii_case(first.name) && names[1].eq_ignore_ascii_case(second.name);
    let alike = first.kind == second.kind && part.dtype.is_float() && PARTS.iter().any(named);
    (alike && [first.offset, second.offset, size] == [0, part.bytes, 2 * part.bytes]).then_some(part)
}

/// A member of a compound that is a float.
struct Member<'a> {
    name: &'a [u8],
    offset: u32,
    kind: &'a [u8],
}

/// A member of a compound of `size` bytes, and what follows it.
fn member(version: u8, size: u32, bytes: &[u8]) -> Option<(Member<'_>, &[u8])> {
    let length = bytes.iter().position(|byte| *byte == 0)?;
    let name = &bytes[..length];
    // Before version 3 names are padded, and offsets have four bytes; in version 1 dimensions follow.
    let rest = bytes.get(if version < 3 { (length + 1).next_multiple_of(8) } else { length + 1 }..)?;
    let (offset, rest) = match version {
        1 | 2 => (u32_at(rest, 0)?, rest.get(4..)?),
        _ if size < 256 => (u32::from(*rest.first()?), rest.get(1..)?),
        _ => return None,
    };
    let rest = match version {
        1 if rest.first()? != &0 => return None, // an array
        1 => rest.get(28..)?,
        _ => rest,
    };
    let is_float = rest.first()? & 15 == 1;
    let (kind, behind) = rest.split_at_checked(FLOAT_BYTES)?;
    is_float.then_some((Member { name, offset, kind }, behind))
}

fn integer(size: u32, signed: bool) -> Option<DType> {
    Some(match (size, signed) {
        (1, false) => DType::U8,
        (2, false) => DType::U16,
        (4, false) => DType::U32,
        (8, false) => DType::U64,
        (1, true) => DType::I8,
        (2, true) => DType::I16,
        (4, true) => DType::I32,
        (8, true) => DType::I64,
        _ => return None,
    })
}

/// The IEEE type (or bfloat16) of which this float has every field in its place.
fn float(message: &[u8], bits: u32, size: u32) -> Option<DType> {
    let exponent_bits = *message.get(13)?;
    let (dtype, e, m) = match (size, exponent_bits) {
        (2, 5) => (DType::F16, 5, 10),
        (2, 8) => (DType::BF16, 8, 7),
        (4, 8) => (DType::F32, 8, 23),
        (8, 11) => (DType::F64, 11, 52),
        _ => return None,
    };
    let width = e + m + 1;
    // Bit offset 0 and precision; places and sizes of exponent and mantissa; bias.
    let properties = [0, 0, width, 0, m, e, 0, m];
    // Bit 6 with bit 0 is VAX order; bits 4 and 5 are 2 if the leading bit is implied; then comes the place of the
    // sign.
    let plain = bits & 0x40 == 0 && bits >> 4 & 3 == 2 && (bits >> 8) as u8 == width - 1;
    let bias = (1 << (e - 1)) - 1;
    (plain && message.get(8..16)? == properties && u32_at(message, 16)? == bias).then_some(dtype)
}

/// Where an array's message has its elements' type.
fn array_base_at(message: &[u8], version: u8) -> Option<usize> {
    let rank = usize::from(*message.get(8)?);
    // Before version 3: three reserved bytes, and a permutation after the dimensions.
    Some(if version < 3 { 8 + 4 + 8 * rank } else { 8 + 1 + 4 * rank })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(order: u8, size: u8, precision: u8, e: u8, m: u8, bias: u32) -> Vec<u8> {
        let mut message =
            vec![3, 0, 0x11, 0x20 | order, precision - 1, 0, size, 0, 0, 0, 0, 0, precision, 0, m, e, 0, m];
        message.extend(bias.to_le_bytes());
        message
    }

    fn integer(class: u8, order: u8, size: u8) -> Vec<u8> {
        vec![3, 0, 0x10 | class, 8 | order, 0, 0, size, 0, 0, 0, 0, 0, 8 * size, 0]
    }

    fn seen(encoded: &[u8]) -> (DType, bool, bool) {
        let s = parse(encoded).unwrap();
        (s.dtype, s.big_endian, s.scalar)
    }

    #[test]
    fn integers_and_parts() {
        assert_eq!(seen(&integer(0, 1, 4)), (DType::I32, true, true));
        assert_eq!(seen(&integer(0, 1, 1)), (DType::I8, false, true));
        assert_eq!(seen(&integer(0, 0, 3)), (DType::U8, false, true));
        assert_eq!(seen(&integer(4, 1, 8)), (DType::U64, true, true));
        let is_integer = |encoded: &[u8]| parse(encoded).unwrap().integers;
        let enumeration = [&[3, 0, 0x38, 0, 0, 0, 4, 0, 0, 0][..], &integer(0, 0, 4)[2..]].concat();
        assert_eq!(seen(&enumeration), (DType::I32, false, true));
        assert!(is_integer(&integer(0, 0, 4)) && !is_integer(&enumeration) && !is_integer(&integer(4, 0, 4)));
        let element = float(1, 4, 32, 8, 23, 127).split_off(2);
        let old = [&[3, 0, 0x2a, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0][..], &element].concat();
        let new = [&[3, 0, 0x3a, 0, 0, 0, 12, 0, 0, 0, 1, 3, 0, 0, 0][..], &element].concat();
        let complex = [&[3, 0, 0x5b, 0, 0, 0, 8, 0, 0, 0][..], &element].concat();
        for encoded in [old, new, complex] {
            assert_eq!(seen(&encoded), (DType::F32, true, false));
            assert_eq!(parse(&encoded).unwrap().bytes, u32::from(encoded[6]));
        }
    }

    /// A compound of floats as HDF5 writes it in one of its versions.
    fn compound(version: u8, size: u8, members: &[(&str, u8, Vec<u8>)]) -> Vec<u8> {
        let mut message = vec![3, 0, version << 4 | 6, members.len() as u8, 0, 0, size, 0, 0, 0];
        for (name, offset, kind) in members {
            let padding = if version < 3 { (name.len() + 1).next_multiple_of(8) - name.len() } else { 1 };
            message.extend(name.bytes().chain(std::iter::repeat_n(0, padding)));
            message.push(*offset);
            message.extend(std::iter::repeat_n(0, [0, 31, 3, 0][usize::from(version)]));
            message.extend(&kind[2..]);
        }
        message
    }

    #[test]
    fn complex_numbers_of_two_floats() {
        let (single, double) = (|| float(0, 4, 32, 8, 23, 127), || float(1, 8, 64, 11, 52, 1023));
        for version in 1..=3 {
            let complex = compound(version, 8, &[("r", 0, single()), ("i", 4, single())]);
            assert_eq!(seen(&complex), (DType::F32, false, false), "version {version}");
            let stored = parse(&complex).unwrap();
            assert_eq!((stored.bytes, stored.what.as_str(), stored.numbers), (8, "complex numbers of f32", true));
            assert!(stored.is_complex());
            let complex = compound(version, 16, &[("Re", 0, double()), ("Im", 8, double())]);
            assert_eq!((seen(&complex), parse(&complex).unwrap().bytes), ((DType::F64, true, false), 16));
            for other in [
                compound(version, 8, &[("x", 0, single()), ("y", 4, single())]),
                compound(version, 8, &[("i", 0, single()), ("r", 4, single())]),
                compound(version, 8, &[("r", 4, single()), ("i", 0, single())]),
                compound(version, 12, &[("r", 0, single()), ("i", 4, single())]),
                compound(version, 12, &[("r", 0, single()), ("i", 8, single())]),
                compound(version, 12, &[("r", 0, single()), ("i", 4, double())]),
                compound(version, 12, &[("r", 0, single()), ("i", 4, single()), ("j", 8, single())]),
                compound(version, 8, &[("r", 0, float(0, 4, 32, 8, 23, 126)), ("i", 4, float(0, 4, 32, 8, 23, 126))]),
                compound(version, 8, &[("r", 0, integer(0, 0, 4)), ("i", 4, integer(0, 0, 4))]),
                complex[..40].to_vec(),
            ] {
                let stored = parse(&other).unwrap();
                assert_eq!(
                    (stored.dtype, stored.numbers, stored.is_complex()),
                    (DType::U8, false, false),
                    "version {version}: {other:02x?}"
                );
            }
        }
    }

    #[test]
    fn types_of_two_orders() {
        let same = differ_in_order_only;
        assert!(same(&float(0, 4, 32, 8, 23, 127), &float(1, 4, 32, 8, 23, 127)));
        assert!(same(&integer(0, 0, 8), &integer(0, 1, 8)));
        let mut newer = float(1, 8, 64, 11, 52, 1023);
        newer[2] = 0x31;
        assert!(same(&float(0, 8, 64, 11, 52, 1023), &newer));
        assert!(!same(&float(0, 4, 32, 8, 23, 127), &float(1, 8, 64, 11, 52, 1023)));
        assert!(!same(&float(0, 4, 32, 8, 23, 127), &float(1, 4, 32, 8, 23, 126)));
        assert!(!same(&integer(0, 0, 4), &float(1, 4, 32, 8, 23, 127)));
        assert!(!same(&integer(4, 0, 4), &integer(4, 1, 4)));
        let mut narrow = integer(0, 0, 4);
        narrow[12] = 12;
        assert!(!same(&narrow, &narrow) && !same(&[], &[]) && !same(&[3, 0], &[3, 0]));
    }

    #[test]
    fn nonsense_is_refused() {
        let array = [3, 0, 0x3a, 0, 0, 0, 12, 0, 0, 0, 200, 3, 0, 0, 0];
        for encoded in [&[][..], &[3, 0], &[3, 1, 0x10, 0, 0, 0, 4, 0, 0, 0], &[3, 0, 0x10, 0, 0, 0, 4, 0, 0], &array] {
            assert!(parse(encoded).is_err(), "{encoded:02x?}");
        }
    }
}
