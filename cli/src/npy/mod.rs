//! NumPy's files of one array: the header is read and written, the elements behind it are plain bytes.

mod kind;

use std::path::Path;

use serde_json::{Map, Value};
use sleek::container::Header;
use sleek::{DType, Dims};

use crate::io::{Block, Input};
use kind::ElementKind;

const MAGIC: &[u8] = b"\x93NUMPY";
/// The ending of a file's name that means one.
const ENDING: &str = "npy";
/// Headers longer than this are refused: a list of very many fields, or no header.
const MAX_HEADER_BYTES: usize = 1 << 20;
/// The elements begin at a multiple of this.
const ALIGNED: usize = 64;

/// An array, as its elements are taken.
#[derive(Debug)]
pub struct Array {
    pub dtype: DType,
    pub big_endian: bool,
    pub dims: Option<Dims>,
    /// The header that says it, if one does.
    pub head: Option<Head>,
}

impl Array {
    /// Refuses an input of `n` bytes that is not the array it is said to be.
    pub fn check_size(&self, name: &str, n: u64) -> Result<(), String> {
        if let Some(head) = &self.head {
            return head.check_bytes(n);
        }
        let (size, dtype) = (self.dtype.size() as u64, self.dtype.name());
        if !n.is_multiple_of(size) {
            return Err(format!("{name}: {n} bytes are not a whole number of {dtype} elements of {size} bytes"));
        }
        match &self.dims {
            Some(dims) if dims.count() != n / size => {
                let count = dims.count();
                Err(format!("{name}: holds {} {dtype} elements; --dims {dims} says {count}", n / size))
            }
            _ => Ok(()),
        }
    }
}

/// What arguments say of an array.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    pub dtype: Option<DType>,
    pub big_endian: bool,
    pub dims: Option<Dims>,
}

/// What the header of a file says.
#[derive(Debug)]
pub struct Head {
    /// The file, for a person.
    name: String,
    said: Said,
}

/// The dictionary in it: a literal of Python, which is JSON but for a few signs.
#[derive(Debug)]
struct Said {
    /// The element type, such as `<f4`; None for what is no single one, as the fields of a structured array.
    descr: Option<String>,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Said {
    fn parse(text: &str) -> Result<Said, String> {
        let mut json: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        for (python, json_has) in
            [("'", "\""), ("(", "["), (")", "]"), (":True", ":true"), (":False", ":false"), (",]", "]"), (",}", "}")]
        {
            json = json.replace(python, json_has);
        }
        let said: Map<String, Value> = serde_json::from_str(&json).map_err(|e| format!("is no dictionary: {e}"))?;
        let of = |key: &str| said.get(key).ok_or_else(|| format!("it has no '{key}'"));
        let lens = of("shape")?.as_array().and_then(|lens| lens.iter().map(Value::as_u64).collect());
        Ok(Said {
            descr: of("descr")?.as_str().map(str::to_owned),
            fortran_order: of("fortran_order")?.as_bool().ok_or("fortran_order is neither True nor False")?,
            shape: lens
                .ok_or_else(|| format!("shape: {} is no list of lengths", of("shape").unwrap_or(&Value::Null)))?,
        })
    }
}

/// Whether a file is to be one, by its name.
pub fn is_name(file: &Path) -> bool {
    file.extension().is_some_and(|end| end.eq_ignore_ascii_case(ENDING))
}

/// Whether an input is one.
pub fn is_npy(input: &mut Input) -> Result<bool, String> {
    Ok(input.peek(MAGIC.len())? == MAGIC)
}

/// Reads the header of an NPY file, behind which the input begins then. None if it is none.
pub fn head(input: &mut Input) -> Result<Option<Head>, String> {
    if !is_npy(input)? {
        return Ok(None);
    }
    let name = input.name.clone();
    let mut block = Block::default();
    let said = read(input, &mut block).map_err(|e| format!("{name}: its NPY header: {e}"))?;
    input.begin_here(block.data().len() as u64);
    Ok(Some(Head { name, said }))
}

/// The array of an NPY file, of which the input has the elements then, the slowest dimension first. None if it is none.
/// What is given must agree with it.
pub fn array(input: &mut Input, given: &Given) -> Result<Option<Array>, String> {
    let Some(head) = head(input)? else { return Ok(None) };
    let (dtype, big_endian) = head.element(given.dtype)?;
    if given.big_endian && !big_endian && dtype.size() > 1 {
        let descr = head.said.descr.as_deref().unwrap_or_default();
        return Err(format!("--big-endian: {} has little-endian elements, {descr}", head.name));
    }
    let dims = head.dims(dtype, given.dims)?;
    head.place(input)?;
    Ok(Some(Array { dtype, big_endian, dims: Some(dims), head: Some(head) }))
}

/// Reads all before the elements into `block`.
fn read(input: &mut Input, block: &mut Block) -> Result<Said, String> {
    let start = MAGIC.len() + 2;
    input.fill(block, start)?;
    let length_bytes = match block.data().get(MAGIC.len()..start) {
        Some([1, 0]) => 2,
        Some([2 | 3, 0]) => 4,
        Some([major, minor]) => return Err(format!("version {major}.{minor}; 1.0, 2.0 and 3.0 are known")),
        _ => return Err("the file ends in it".into()),
    };
    input.append(block, length_bytes)?;
    let length = block.data()[start..].iter().rev().fold(0usize, |n, byte| n << 8 | usize::from(*byte));
    if block.data().len() < start + length_bytes as usize {
        return Err("the file ends in it".into());
    }
    if length > MAX_HEADER_BYTES {
        return Err(format!("should have {length} bytes; {MAX_HEADER_BYTES} are possible"));
    }
    let begin = block.data().len();
    input.append(block, length as u64)?;
    let text = &block.data()[begin..];
    if text.len() < length {
        return Err(format!("should have {length} bytes; the file ends after {} of them", text.len()));
    }
    // Before version 3.0 it is Latin-1, which matters in names of fields alone.
    Said::parse(&String::from_utf8_lossy(text))
}

impl Head {
    /// The element type and byte order; `asked` must agree, and says as what elements are taken for which there is no
    /// type.
    pub fn element(&self, asked: Option<DType>) -> Result<(DType, bool), String> {
        let name = &self.name;
        let Some(descr) = &self.said.descr else {
            return Err(format!("{name}: is a structured array; each of its fields is to be saved by itself"));
        };
        let what = kind::words(descr);
        let Some((kind, big_endian)) = kind::parse(descr) else {
            return Err(format!("{name}: has elements {descr}, {what}, which cannot be compressed"));
        };
        match (kind, asked) {
            (ElementKind::Number(dtype), None) => Ok((dtype, big_endian)),
            (ElementKind::Number(dtype), Some(asked)) if dtype == asked => Ok((dtype, big_endian)),
            (ElementKind::Number(dtype), Some(asked)) => {
                Err(format!("--dtype {}: {name} has elements {descr}, which is {}", asked.name(), dtype.name()))
            }
            (ElementKind::Complex(part), Some(asked)) if part == asked => Ok((part, big_endian)),
            (ElementKind::Complex(part), _) => Err(format!(
                "{name}: has complex numbers, {descr}; --dtype {} takes their real and imaginary parts, as a last \
                 dimension of 2",
                part.name()
            )),
            (ElementKind::Other(size), Some(asked)) if size == asked.size() as u64 => {
                Ok((asked, big_endian && size > 1))
            }
            (ElementKind::Other(size), _) => Err(format!("{name}: has elements {descr}, {what}{}", way_out(size))),
        }
    }

    /// Refuses an array whose compressed file has other elements: `found` is what its first stream says.
    pub fn check_elements(&self, found: &Header, file: &str) -> Result<(), String> {
        let found = (found.layout.dtype, found.big_endian);
        let takes = self.element(Some(found.0)).ok();
        if takes == Some(found) {
            return Ok(());
        }
        let descr = self.said.descr.as_deref().unwrap_or("of several fields");
        let order = if found.1 { ", big-endian" } else { "" };
        Err(format!("{}: has elements {descr}, and {file} those of {}{order}", self.name, found.0.name()))
    }

    fn size(&self) -> u64 {
        match self.said.descr.as_deref().and_then(kind::parse) {
            Some((ElementKind::Number(dtype), _)) => dtype.size() as u64,
            Some((ElementKind::Complex(part), _)) => 2 * part.size() as u64,
            Some((ElementKind::Other(size), _)) => size,
            None => 0,
        }
    }

    /// The lengths of the array in elements of `dtype`.
    fn lens(&self, dtype: DType) -> Vec<u64> {
        let parts = self.size() / dtype.size() as u64;
        self.said.shape.iter().copied().chain((parts > 1).then_some(parts)).collect()
    }

    /// The dimensions of the array in elements of `dtype`; those that are given must agree, and take the place of such
    /// as cannot be.
    fn dims(&self, dtype: DType, given: Option<Dims>) -> Result<Dims, String> {
        let (name, shape, lens) = (&self.name, self.shape_text(), self.lens(dtype));
        let count = self.count()? * (self.size() / dtype.size() as u64);
        match (Dims::new(&lens), given) {
            (Ok(dims), None) => Ok(dims),
            (Ok(dims), Some(given)) if dims == given => Ok(dims),
            (Ok(dims), Some(given)) => Err(format!("--dims {given}: {name} has shape {shape}, which is {dims}")),
            (Err(_), Some(given)) if given.count() == count => Ok(given),
            (Err(_), Some(given)) => Err(format!("--dims {given}: {name} has shape {shape}, of {count} elements")),
            (Err(_), None) if lens.is_empty() => {
                Err(format!("{name}: has one element and no dimension; --dims 1 takes it as an array of one"))
            }
            (Err(e), None) => Err(format!(
                "{name}: has shape {shape}: {}; --dims with as many elements takes it in other dimensions",
                e.message
            )),
        }
    }

    /// The shape as NumPy writes it.
    fn shape_text(&self) -> String {
        shape_text(&self.said.shape)
    }

    /// Elements, as NumPy counts them.
    fn count(&self) -> Result<u64, String> {
        // A length of 0 must not hide that the others are beyond everything.
        let beyond = || format!("{}: has shape {}, which is more than any file holds", self.name, self.shape_text());
        let of_others = self.said.shape.iter().try_fold(1u64, |n, len| n.checked_mul((*len).max(1)));
        let bytes = of_others.and_then(|n| n.checked_mul(self.size())).filter(|n| *n <= i64::MAX as u64);
        bytes.ok_or_else(beyond).map(|_| self.said.shape.iter().product())
    }

    pub fn bytes(&self) -> Result<u64, String> {
        Ok(self.count()? * self.size())
    }

    /// Lets the input have the elements of this array, the slowest dimension first, and nothing else.
    pub fn place(&self, input: &mut Input) -> Result<(), String> {
        let bytes = self.bytes()?;
        if let Some(have) = input.bytes {
            self.check_bytes(have)?;
        }
        let longer: Vec<u64> = self.said.shape.iter().copied().filter(|len| *len > 1).collect();
        match self.said.fortran_order && longer.len() > 1 && bytes > 0 {
            true => {
                let have = input.turn(self.size() as usize, &longer, bytes)?;
                self.check_bytes(have)
            }
            false => Ok(()),
        }
    }

    /// Refuses a file that has another number of bytes behind its header.
    pub fn check_bytes(&self, have: u64) -> Result<(), String> {
        let (name, shape, bytes) = (&self.name, self.shape_text(), self.bytes()?);
        let descr = self.said.descr.as_deref().unwrap_or_default();
        match have {
            n if n < bytes => Err(format!("{name}: is cut off: {n} of the {bytes} bytes of {shape} elements {descr}")),
            n if n > bytes => Err(format!("{name}: {} bytes follow its array of {shape} elements {descr}", n - bytes)),
            _ => Ok(()),
        }
    }
}

/// What can be done about elements of so many bytes that have no type.
fn way_out(size: u64) -> String {
    let dtypes = DType::ALL.into_iter().filter(|dtype| dtype.size() as u64 == size);
    let names: Vec<&str> = dtypes.map(DType::name).collect();
    match names.is_empty() {
        true => ", which cannot be compressed".into(),
        false => {
            format!("; --dtype {} compresses them as such numbers", names.join(" or "))
        }
    }
}

/// A shape as NumPy writes it.
fn shape_text(lens: &[u64]) -> String {
    let shown: Vec<String> = lens.iter().map(u64::to_string).collect();
    match &shown[..] {
        [one] => format!("({one},)"),
        _ => format!("({})", shown.join(", ")),
    }
}

/// The header of a file with such an array.
pub fn header(dtype: DType, big_endian: bool, lens: &[u64]) -> Vec<u8> {
    let (descr, shape) = (kind::name(dtype, big_endian), shape_text(lens));
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let before = MAGIC.len() + 4;
    let length = (before + text.len() + 1).next_multiple_of(ALIGNED) - before;
    let mut bytes = [MAGIC, &[1, 0], &(length as u16).to_le_bytes(), text.as_bytes()].concat();
    bytes.resize(before + length - 1, b' ');
    bytes.push(b'\n');
    bytes
}
