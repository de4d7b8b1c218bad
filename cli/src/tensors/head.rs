//! The header of a safetensors file: which tensors there are, of what type and shape, and where their data is.

use std::collections::BTreeMap;

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use sleek::{DType, Dims};

use crate::io::{Block, Input};

/// Bytes of the number that tells the length of the header.
pub const LENGTH_BYTES: usize = 8;
/// The longest header that a safetensors file may have, as its reference implementation has it.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// A tensor of a safetensors file.
#[derive(Debug)]
pub struct Tensor {
    pub name: String,
    /// Its type, as the file calls it.
    pub kind: String,
    pub shape: Vec<u64>,
    /// Where its data begins behind the header, and where it ends.
    place: (usize, usize),
    /// The elements that it is compressed as.
    pub dtype: DType,
}

impl Tensor {
    fn new(name: String, info: &TensorInfo) -> Tensor {
        let dtype = match info.dtype {
            Dtype::C64 => DType::F32,
            kind => {
                DType::ALL.into_iter().find(|d| kind.to_string().eq_ignore_ascii_case(d.name())).unwrap_or(DType::U8)
            }
        };
        let shape = info.shape.iter().map(|len| *len as u64).collect();
        Tensor { name, kind: info.dtype.to_string(), shape, place: info.data_offsets, dtype }
    }

    /// Bytes of its data.
    pub fn bytes(&self) -> u64 {
        (self.place.1 - self.place.0) as u64
    }

    /// Elements of `dtype` that its data is.
    pub fn count(&self) -> u64 {
        self.bytes() / self.dtype.size() as u64
    }

    /// Whether it can have a bound: a float, of which each is a number by itself.
    pub fn is_float(&self) -> bool {
        self.dtype.is_float() && self.is_number()
    }

    /// Whether its elements are numbers of ours, rather than bytes of something else.
    pub fn is_number(&self) -> bool {
        self.kind.eq_ignore_ascii_case(self.dtype.name())
    }

    /// Its dimensions as elements of `dtype`; those of a line where they are none of ours.
    pub fn dims(&self) -> Dims {
        let parts = (self.kind == "C64").then_some(2);
        let lens: Vec<u64> = self.shape.iter().copied().chain(parts).collect();
        match Dims::new(&lens) {
            Ok(dims) if dims.rank() > 1 && dims.count() == self.count() => dims,
            _ => Dims::NONE,
        }
    }

    /// Its shape, for a person.
    pub fn shape_text(&self) -> String {
        let lens: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        if lens.is_empty() { "scalar".into() } else { lens.join("x") }
    }
}

/// What stands before the data of a safetensors file.
pub struct Head {
    /// All of its bytes, from the number that tells its length on.
    pub bytes: Vec<u8>,
    /// In the order of their data.
    pub tensors: Vec<Tensor>,
    /// What the file says of itself.
    pub metadata: Option<BTreeMap<String, String>>,
}

/// Whether a file that begins so may be a safetensors file.
pub fn may_be_safetensors(first: &[u8]) -> bool {
    header_bytes(first).is_ok_and(|n| n >= 2) && first.get(LENGTH_BYTES) == Some(&b'{')
}

/// The length that a file says its header has.
fn header_bytes(first: &[u8]) -> Result<u64, String> {
    match first.first_chunk::<LENGTH_BYTES>().map(|bytes| u64::from_le_bytes(*bytes)) {
        Some(stated) if stated <= MAX_HEADER_BYTES => Ok(stated),
        Some(stated) => Err(format!("its header should have {stated} bytes; {MAX_HEADER_BYTES} are possible")),
        None => Err(format!("{} bytes; a safetensors file begins with the length of its header, 8 bytes", first.len())),
    }
}

impl Head {
    /// Reads the header of a file, which stands behind it then.
    pub fn read(input: &mut Input) -> Result<Head, String> {
        let name = input.name.clone();
        let blame = |e: String| format!("{name}: {e}");
        let mut block = Block::default();
        input.fill(&mut block, LENGTH_BYTES)?;
        let stated = header_bytes(block.data()).map_err(blame)?;
        input.append(&mut block, stated)?;
        let head = Head::parse(block.data()).map_err(blame)?;
        let (takes, have) = (head.data_bytes(), input.bytes.map(|n| n.saturating_sub(head.bytes.len() as u64)));
        match have {
            Some(have) if have != takes => {
                Err(blame(format!("its tensors take {takes} bytes behind the header, and {have} are there")))
            }
            _ => Ok(head),
        }
    }

    /// Takes the header apart. Tensors that overlap, leave gaps or have other bytes than their shapes are refused.
    pub fn parse(bytes: &[u8]) -> Result<Head, String> {
        let (stated, json) = (header_bytes(bytes)?, &bytes[LENGTH_BYTES..]);
        if json.len() as u64 != stated {
            return Err(format!("its header should have {stated} bytes, and {} are there", json.len()));
        }
        let said: Metadata =
            serde_json::from_slice(json).map_err(|e| format!("its header is none of safetensors: {e}"))?;
        let mut tensors: Vec<Tensor> = said.tensors().into_iter().map(|(name, info)| Tensor::new(name, info)).collect();
        tensors.sort_by(|a, b| (a.place, &a.name).cmp(&(b.place, &b.name)));
        let metadata = said.metadata().clone().map(|said| said.into_iter().collect());
        Ok(Head { bytes: bytes.to_vec(), tensors, metadata })
    }

    /// Bytes of all tensors.
    pub fn data_bytes(&self) -> u64 {
        self.tensors.last().map_or(0, |t| t.place.1 as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Head, String> {
        Head::parse(&[&(json.len() as u64).to_le_bytes()[..], json.as_bytes()].concat())
    }

    #[test]
    fn tensors_in_the_order_of_their_data() {
        let head = parse(
            r#"{"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},
                "b":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
                "c":{"dtype":"C64","shape":[3],"data_offsets":[16,40]},
                "d":{"dtype":"F4","shape":[6],"data_offsets":[40,43]},
                "f":{"dtype":"I64","shape":[0,9],"data_offsets":[43,43]},
                "__metadata__":{"format":"pt"}}   "#,
        )
        .unwrap();
        let names: Vec<&str> = head.tensors.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "c", "d", "f"]);
        let [b, a, c, d, f] = &head.tensors[..] else { panic!() };
        assert_eq!((b.dims(), b.count(), b.shape_text()), (Dims::NONE, 1, "scalar".into()));
        assert_eq!((a.dims().lens(), a.dtype, a.is_float()), (&[2, 3][..], DType::BF16, true));
        assert_eq!((c.dims().lens(), c.dtype, c.is_float()), (&[3, 2][..], DType::F32, false));
        assert_eq!((d.bytes(), d.dtype, d.dims(), f.count()), (3, DType::U8, Dims::NONE, 0));
        assert_eq!((head.data_bytes(), head.metadata.is_some()), (43, true));
    }

    #[test]
    fn headers_that_cannot_be() {
        let one = |dtype: &str, shape: &str, offsets: &str| {
            format!(r#"{{"t":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
        };
        let two = |a: &str, b: &str| {
            format!(
                r#"{{"t":{{"dtype":"U8","shape":[4],"data_offsets":{a}}},
                    "u":{{"dtype":"U8","shape":[4],"data_offsets":{b}}}}}"#
            )
        };
        for json in [
            one("F32", "[2,3]", "[0,20]"),
            one("F32", "[4294967296,4294967296]", "[0,0]"),
            one("F32", "[1]", "[4,0]"),
            one("F32", "[-1]", "[0,4]"),
            one("F32", "[1]", "[0,4,8]"),
            one("F32", "[1]", "[8,12]"),
            one("Q9", "[1]", "[0,1]"),
            two("[0,4]", "[2,6]"),
            two("[0,4]", "[0,4]"),
            two("[0,4]", "[6,10]"),
            r#"{"t":{"shape":[1],"data_offsets":[0,1]}}"#.into(),
            r#"{"t":5}"#.into(),
            "[]".into(),
            "{".into(),
            "[".repeat(100_000),
        ] {
            let message = parse(&json).err().unwrap_or_default();
            assert!(message.contains("its header is none of safetensors: "), "{json:.80}: {message}");
        }
        assert!(Head::parse(&(1u64 << 60).to_le_bytes()).err().unwrap().contains("1152921504606846976"));
        assert!(parse("{}").is_ok_and(|head| head.tensors.is_empty() && head.data_bytes() == 0));
    }
}
