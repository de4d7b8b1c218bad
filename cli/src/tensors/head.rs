//! The header of a safetensors file: which tensors there are, of what type and shape, and where their data is.

use serde_json::{Map, Value};
use sleek::{DType, Dims};

use crate::io::{Block, Input};

/// Bytes of the number that tells the length of the header.
pub const LENGTH_BYTES: usize = 8;
/// The longest header that a safetensors file may have, as its reference implementation has it.
const MAX_HEADER_BYTES: u64 = 100_000_000;
/// The key of what is said of the file itself.
const METADATA: &str = "__metadata__";

/// Types of tensors: the name in the file, bits of an element, and of which elements ours it is made, if of whole ones.
const KINDS: [(&str, u64, DType); 20] = [
    ("F64", 64, DType::F64),
    ("F32", 32, DType::F32),
    ("F16", 16, DType::F16),
    ("BF16", 16, DType::BF16),
    ("I64", 64, DType::I64),
    ("I32", 32, DType::I32),
    ("I16", 16, DType::I16),
    ("I8", 8, DType::I8),
    ("U64", 64, DType::U64),
    ("U32", 32, DType::U32),
    ("U16", 16, DType::U16),
    ("U8", 8, DType::U8),
    ("BOOL", 8, DType::U8),
    ("F8_E4M3", 8, DType::U8),
    ("F8_E5M2", 8, DType::U8),
    ("F8_E8M0", 8, DType::U8),
    ("C64", 64, DType::F32),
    ("F6_E2M3", 6, DType::U8),
    ("F6_E3M2", 6, DType::U8),
    ("F4", 4, DType::U8),
];

/// A tensor of a safetensors file.
#[derive(Debug, PartialEq)]
pub struct Tensor {
    pub name: String,
    /// Its type, as the file calls it.
    pub kind: String,
    pub shape: Vec<u64>,
    /// Where its data begins behind the header, and where it ends.
    begin: u64,
    end: u64,
    /// The elements that it is compressed as.
    pub dtype: DType,
}

impl Tensor {
    /// Bytes of its data.
    pub fn bytes(&self) -> u64 {
        self.end - self.begin
    }

    /// Elements of `dtype` that its data is.
    pub fn count(&self) -> u64 {
        self.bytes() / self.dtype.size() as u64
    }

    /// Whether it can have a bound: a float, of which each is a number by itself.
    pub fn is_float(&self) -> bool {
        self.dtype.is_float() && self.kind != "C64"
    }

    /// Whether its elements are numbers of ours, rather than bytes of something else.
    pub fn is_number(&self) -> bool {
        let own = KINDS.iter().find(|(name, ..)| *name == self.kind);
        own.is_some_and(|(name, ..)| name.eq_ignore_ascii_case(self.dtype.name()))
    }

    /// Its dimensions as elements of `dtype`; those of a line where they are none of ours.
    pub fn dims(&self) -> Dims {
        let mut lens = self.shape.clone();
        if self.kind == "C64" {
            lens.push(2);
        }
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
    pub metadata: Option<Value>,
}

/// Whether a file that begins so may be a safetensors file.
pub fn may_be_safetensors(first: &[u8]) -> bool {
    header_bytes(first).is_some_and(|n| (2..=MAX_HEADER_BYTES).contains(&n)) && first.get(LENGTH_BYTES) == Some(&b'{')
}

/// The length that a file says its header has.
fn header_bytes(first: &[u8]) -> Option<u64> {
    first.first_chunk::<LENGTH_BYTES>().map(|bytes| u64::from_le_bytes(*bytes))
}

impl Head {
    /// Reads the header of a file, which stands behind it then.
    pub fn read(input: &mut Input) -> Result<Head, String> {
        let blame = |name: &str, e: String| format!("{name}: {e}");
        let (mut block, name) = (Block::default(), input.name.clone());
        input.fill(&mut block, LENGTH_BYTES)?;
        let stated = header_bytes(block.data()).ok_or_else(|| {
            let have = block.data().len();
            blame(&name, format!("{have} bytes; a safetensors file begins with the length of its header, 8 bytes"))
        })?;
        check_length(stated).map_err(|e| blame(&name, e))?;
        input.append(&mut block, stated)?;
        let have = (block.data().len() - LENGTH_BYTES) as u64;
        if have < stated {
            return Err(blame(&name, format!("its header should have {stated} bytes, and {have} are there")));
        }
        let head = Head::parse(block.data()).map_err(|e| blame(&name, e))?;
        let whole = input.bytes.map(|n| n.saturating_sub(head.bytes.len() as u64));
        match whole {
            Some(data) => head.check_data(data).map_err(|e| blame(&name, e)).map(|()| head),
            None => Ok(head),
        }
    }

    /// Takes the header apart.
    pub fn parse(bytes: &[u8]) -> Result<Head, String> {
        let stated = header_bytes(bytes).ok_or("the header of a safetensors file is cut off")?;
        check_length(stated)?;
        let json = &bytes[LENGTH_BYTES..];
        if json.len() as u64 != stated {
            return Err(format!("its header should have {stated} bytes, and has {}", json.len()));
        }
        let mut entries: Map<String, Value> =
            serde_json::from_slice(json).map_err(|e| format!("its header is no JSON object of tensors: {e}"))?;
        let metadata = entries.remove(METADATA);
        let tensors: Result<Vec<Tensor>, String> = entries
            .into_iter()
            .map(|(name, entry)| tensor(&name, &entry).map_err(|e| format!("tensor '{name}': {e}")))
            .collect();
        let mut tensors = tensors?;
        tensors.sort_by(|a, b| (a.begin, a.end, &a.name).cmp(&(b.begin, b.end, &b.name)));
        check_places(&tensors)?;
        Ok(Head { bytes: bytes.to_vec(), tensors, metadata })
    }

    /// Bytes of all tensors.
    pub fn data_bytes(&self) -> u64 {
        self.tensors.last().map_or(0, |t| t.end)
    }

    /// Refuses data of another length than the tensors have.
    fn check_data(&self, bytes: u64) -> Result<(), String> {
        match self.data_bytes() {
            n if n > bytes => Err(format!("its tensors take {n} bytes behind the header, and {bytes} are there")),
            n if n < bytes => Err(format!("its tensors take {n} bytes, and {} more follow", bytes - n)),
            _ => Ok(()),
        }
    }
}

fn check_length(stated: u64) -> Result<(), String> {
    match stated <= MAX_HEADER_BYTES {
        true => Ok(()),
        false => Err(format!(
            "its header should have {stated} bytes; a safetensors file has at most {MAX_HEADER_BYTES}, so this is none"
        )),
    }
}

/// A tensor by its entry in the header.
fn tensor(name: &str, entry: &Value) -> Result<Tensor, String> {
    let kind = entry["dtype"].as_str().ok_or("has no dtype")?;
    let numbers = |key: &str| -> Option<Vec<u64>> { entry[key].as_array()?.iter().map(Value::as_u64).collect() };
    let shape = numbers("shape").ok_or("its shape is not a list of lengths")?;
    let offsets = numbers("data_offsets").ok_or("its data_offsets are not two numbers")?;
    let [begin, end] = offsets[..] else {
        return Err(format!("its data_offsets are {} numbers, not two", offsets.len()));
    };
    if begin > end {
        return Err(format!("its data_offsets [{begin}, {end}] run backwards"));
    }
    let dtype = match KINDS.iter().find(|(known, ..)| *known == kind) {
        Some((_, bits, dtype)) => {
            let count = shape.iter().try_fold(1u64, |n, len| n.checked_mul(*len));
            let bytes = count.and_then(|n| n.checked_mul(*bits)).map(|bits| bits.div_ceil(8));
            if bytes != Some(end - begin) {
                let takes = bytes.map_or("more than 2^64 bits".into(), |n| format!("{n} bytes"));
                return Err(format!(
                    "{kind} of shape {shape:?} takes {takes}, its data_offsets [{begin}, {end}] have {}",
                    end - begin
                ));
            }
            *dtype
        }
        // A type of a later day: whatever it is, it has bytes.
        None => DType::U8,
    };
    Ok(Tensor { name: name.into(), kind: kind.into(), shape, begin, end, dtype })
}

/// Refuses tensors that share bytes, and bytes that are no tensor's: a file of them would not come back.
fn check_places(tensors: &[Tensor]) -> Result<(), String> {
    let mut before: Option<&Tensor> = None;
    for tensor in tensors {
        let end = before.map_or(0, |t| t.end);
        let (name, begin) = (&tensor.name, tensor.begin);
        match before {
            Some(other) if begin < end => {
                return Err(format!(
                    "tensor '{name}' begins at byte {begin} of the data, where tensor '{}' ends at {end}: they overlap",
                    other.name
                ));
            }
            _ if begin > end => {
                return Err(format!("bytes {end} to {begin} of the data, before tensor '{name}', belong to no tensor"));
            }
            _ => before = Some(tensor),
        }
    }
    Ok(())
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
                "d":{"dtype":"F4","shape":[5],"data_offsets":[40,43]},
                "e":{"dtype":"Q9","shape":[7],"data_offsets":[43,50]},
                "f":{"dtype":"I64","shape":[0,9],"data_offsets":[50,50]},
                "__metadata__":{"format":"pt"}}   "#,
        )
        .unwrap();
        let names: Vec<&str> = head.tensors.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "c", "d", "e", "f"]);
        let [b, a, c, d, e, f] = &head.tensors[..] else { panic!() };
        assert_eq!((b.dims(), b.count(), b.shape_text()), (Dims::NONE, 1, "scalar".into()));
        assert_eq!((a.dims().lens(), a.dtype, a.is_float()), (&[2, 3][..], DType::BF16, true));
        assert_eq!((c.dims().lens(), c.dtype, c.is_float()), (&[3, 2][..], DType::F32, false));
        assert_eq!((d.bytes(), d.dtype, d.dims()), (3, DType::U8, Dims::NONE));
        assert_eq!((e.bytes(), e.dtype, f.count()), (7, DType::U8, 0));
        assert_eq!((head.data_bytes(), head.metadata.is_some()), (50, true));
        assert!(head.check_data(50).is_ok() && head.check_data(49).is_err() && head.check_data(51).is_err());
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
        for (json, part) in [
            (one("F32", "[2,3]", "[0,20]"), "takes 24 bytes, its data_offsets [0, 20] have 20"),
            (one("F32", "[4294967296,4294967296]", "[0,0]"), "more than 2^64"),
            (one("F32", "[1]", "[4,0]"), "run backwards"),
            (one("F32", "[-1]", "[0,4]"), "its shape is not a list of lengths"),
            (one("F32", "[1]", "[0,4,8]"), "3 numbers"),
            (one("F32", "[1]", "[0,1e3]"), "not two numbers"),
            (one("F32", "[1]", "[8,12]"), "bytes 0 to 8 of the data, before tensor 't'"),
            (two("[0,4]", "[2,6]"), "they overlap"),
            (two("[0,4]", "[0,4]"), "they overlap"),
            (two("[0,4]", "[6,10]"), "bytes 4 to 6"),
            (r#"{"t":{"shape":[1],"data_offsets":[0,1]}}"#.into(), "has no dtype"),
            (r#"{"t":5}"#.into(), "has no dtype"),
            ("[]".into(), "no JSON object"),
            ("{".into(), "no JSON object"),
            ("[".repeat(100_000), "no JSON object"),
        ] {
            let message = parse(&json).err().unwrap_or_default();
            assert!(message.contains(part), "{json:.80}: {message}");
        }
        assert!(Head::parse(&(1u64 << 60).to_le_bytes()).err().unwrap().contains("1152921504606846976"));
        assert!(parse("{}").is_ok_and(|head| head.tensors.is_empty() && head.data_bytes() == 0));
    }
}
