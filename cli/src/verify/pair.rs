//! What is compared: an array and its compressed file, or two datasets, part by part.

use std::path::{Path, PathBuf};

use sleek::container::Header;
use sleek::{DType, Dims, Mode};

use super::files::Promise;
use super::stream;
use crate::frames::{self, FramePiece, FrameReader};
use crate::hdf5::Id;
use crate::hdf5::about::{About, Along};
use crate::hdf5::dataset::{Block as Box_, Field};
use crate::hdf5::object::Contents;
use crate::io::{Block, Input};
use crate::npy;
use crate::quality::{Extent, Figures, Quality};
use sleek::advise::elements;

/// Bytes of a part of a file of plain bytes.
const PART_BYTES: u64 = 8 << 20;
/// Chunks smaller than this are read several at once.
const FEW_BYTES: u64 = 16 << 10;

/// A field and its restored form.
pub struct Pair<'a> {
    /// Both files, for a person.
    pub name: String,
    pub about: About,
    pub dtype: DType,
    pub big_endian: bool,
    pub dims: Vec<u64>,
    pub mode: Mode,
    /// In words.
    pub promise: String,
    /// The bits of missing values: those of the restored form, and those that one of both declares.
    pub marks: Vec<u64>,
    pub original_bytes: u64,
    pub stored_bytes: u64,
    source: Sides<'a>,
}

#[allow(clippy::large_enum_variant)] // one for each field
enum Sides<'a> {
    Datasets { old: Field<'a>, new: Field<'a>, promise: Promise },
    Stream { original: PathBuf, compressed: PathBuf, limit: f64 },
}

/// A box of both.
pub struct PairPart<'a> {
    pub start: Vec<u64>,
    pub count: Vec<u64>,
    pub original: &'a [u8],
    pub restored: &'a [u8],
    /// What an error is held against; 0 where nothing may change or nothing is promised.
    pub limit: f64,
}

impl<'a> Pair<'a> {
    /// Two datasets, which must be of floats and of one shape.
    pub fn of_datasets(files: [(&Id<'a>, &Contents); 2], old: Field<'a>, new: Field<'a>) -> Result<Pair<'a>, String> {
        let name = old.name.clone();
        if old.dims != new.dims || old.stored != new.stored {
            return Err(format!(
                "{name}: {} of shape {:?} there, here {} of {:?}",
                new.stored.what, new.dims, old.stored.what, old.dims
            ));
        }
        let promise = Promise::of(&new)?;
        let mut about = old.about(files[0].0, files[0].1);
        let (dtype, big_endian) = (old.stored.dtype, old.stored.big_endian);
        let marks = promise.marks(&old, &new)?;
        let mut dims = old.dims.clone();
        let inner = old.size / dtype.size() as u64;
        if inner > 1 {
            dims.push(inner); // an array of numbers in each element
            about.along.push(Along::default());
        }
        Ok(Pair {
            name,
            about,
            dtype,
            big_endian,
            dims,
            mode: promise.bound.mode(),
            promise: promise.words(),
            marks,
            original_bytes: old.bytes(),
            stored_bytes: new.stored_bytes(),
            source: Sides::Datasets { old, new, promise },
        })
    }

    /// An array of plain bytes and its compressed file. `dims` go before those in the file.
    pub fn of_stream(original: &Path, compressed: &Path, dims: Option<Dims>) -> Result<Pair<'static>, String> {
        let header = first_header(compressed)?;
        let (dtype, size) = (header.layout.dtype, header.layout.dtype.size() as u64);
        let (input, packed) = (open(original, &header, compressed)?, Input::open(compressed)?);
        let (Some(original_bytes), Some(stored_bytes)) = (input.bytes, packed.bytes) else {
            return Err("both files are read twice; regular files are needed".into());
        };
        if !original_bytes.is_multiple_of(size) {
            return Err(format!(
                "{}: {original_bytes} bytes are not a whole number of {} elements",
                input.name,
                dtype.name()
            ));
        }
        let count = original_bytes / size;
        let dims = match dims {
            Some(dims) if dims.count() != count => {
                let (name, said) = (&input.name, dims.count());
                return Err(format!("{name}: holds {count} {} elements; --dims {dims} says {said}", dtype.name()));
            }
            Some(dims) => dims.lens().to_vec(),
            None => dims_of(&header, count),
        };
        Ok(Pair {
            name: format!("{}, {}", original.display(), compressed.display()),
            about: About { along: vec![Along::default(); dims.len()], ..About::default() },
            dtype,
            big_endian: header.big_endian,
            dims,
            mode: header.mode,
            promise: stream::promise(&header),
            marks: header.layout.shape.missing.bits().to_vec(),
            original_bytes,
            stored_bytes,
            source: Sides::Stream {
                original: original.to_path_buf(),
                compressed: compressed.to_path_buf(),
                limit: stream::limit(&header),
            },
        })
    }

    /// Elements.
    pub fn count(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Shows every part of both.
    pub fn walk(&self, each: &mut dyn FnMut(&PairPart) -> Result<(), String>) -> Result<(), String> {
        match &self.source {
            Sides::Datasets { old, new, promise } => self.walk_datasets(old, new, promise, each),
            Sides::Stream { original, compressed, limit } => self.walk_stream(original, compressed, *limit, each),
        }
    }

    fn walk_datasets(
        &self,
        old: &Field,
        new: &Field,
        promise: &Promise,
        each: &mut dyn FnMut(&PairPart) -> Result<(), String>,
    ) -> Result<(), String> {
        let chunk = new.chunk.iter().product::<u64>() * new.size;
        let by_chunk = promise.is_by_chunk() || (new.is_chunked && chunk >= FEW_BYTES);
        let blocks = if by_chunk { new.blocks_of_all_chunks() } else { old.all_blocks() };
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        for block in blocks {
            old.read_into(&block, &mut expected)?;
            new.read_into(&block, &mut found)?;
            let limit = promise.limit(new, &block)?;
            let Box_ { mut start, mut count } = block;
            if self.dims.len() > start.len() {
                start.push(0);
                count.push(self.dims[self.dims.len() - 1]);
            }
            each(&PairPart { start, count, original: &expected, restored: &found, limit })?;
        }
        Ok(())
    }

    /// The figures of both, looked at twice: the second look needs the range.
    pub fn quality(&self) -> Result<Figures, String> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        self.walk(&mut |part| {
            part.values(self).original.iter().for_each(|v| (low, high) = (low.min(*v), high.max(*v)));
            Ok(())
        })?;
        let mut quality = Quality::new(&self.dims, if high > low { high - low } else { 0.0 });
        self.walk(&mut |part| {
            let values = part.values(self);
            let place = Extent { start: &values.start, count: &values.count };
            quality.add(place, &values.original, &values.restored);
            Ok(())
        })?;
        Ok(quality.figures())
    }

    /// In slabs: whole along all dimensions but the first that is longer than 1.
    fn walk_stream(
        &self,
        original: &Path,
        compressed: &Path,
        limit: f64,
        each: &mut dyn FnMut(&PairPart) -> Result<(), String>,
    ) -> Result<(), String> {
        let axis = self.dims.iter().position(|len| *len > 1).unwrap_or(0);
        let slab = self.dims.iter().skip(axis + 1).product::<u64>() * self.dtype.size() as u64;
        let slabs = (PART_BYTES / slab.max(1)).max(1);
        // Whole windows of what is compared in windows.
        let slabs = if slabs > 64 { slabs / 64 * 64 } else { slabs };
        let (mut input, mut restored) =
            (open(original, &first_header(compressed)?, compressed)?, Restored::new(compressed)?);
        let mut block = Block::default();
        let total = self.dims.get(axis).copied().unwrap_or(0);
        for at in (0..total).step_by(slabs as usize) {
            let here = slabs.min(total - at);
            let bytes = (here * slab) as usize;
            if input.fill(&mut block, bytes)? < bytes {
                return Err(format!("{}: changed while it was read", input.name));
            }
            let back = restored.take(bytes)?;
            let (mut start, mut count) = (vec![0; self.dims.len()], self.dims.clone());
            (start[axis], count[axis]) = (at, here);
            each(&PairPart { start, count, original: block.data(), restored: &back, limit })?;
        }
        restored.expect_end()
    }
}

/// The original, which may be an NPY file.
fn open(original: &Path, first: &Header, compressed: &Path) -> Result<Input, String> {
    let mut input = Input::open(original)?;
    if let Some(head) = npy::head(&mut input)? {
        head.check_elements(first, &compressed.display().to_string())?;
        head.place(&mut input)?;
    }
    Ok(input)
}

fn first_header(compressed: &Path) -> Result<Header, String> {
    let mut frame = Block::default();
    FrameReader::new(Input::open(compressed)?).next(&mut frame)?;
    frames::header(&frame)
}

/// The dimensions of a file of streams: those of the first, with the length along which they follow each other.
fn dims_of(first: &Header, count: u64) -> Vec<u64> {
    let mut lens = first.layout.shape.dims.lens().to_vec();
    let axis = frames::axis_of(first);
    lens[axis] = 1;
    let others: u64 = lens.iter().product();
    match others > 0 && count.is_multiple_of(others) {
        true => lens[axis] = count / others,
        false => lens = vec![count],
    }
    lens
}

/// What a compressed file restores, as a run of bytes.
struct Restored {
    name: String,
    reader: FrameReader,
    frame: Block,
    pieces: Box<dyn Iterator<Item = FramePiece>>,
    waiting: Vec<u8>,
}

impl Restored {
    fn new(path: &Path) -> Result<Restored, String> {
        let input = Input::open(path)?;
        let name = input.name.clone();
        let (reader, frame) = (FrameReader::new(input), Block::default());
        Ok(Restored { name, reader, frame, pieces: Box::new(std::iter::empty()), waiting: Vec::new() })
    }

    /// The next so many bytes.
    fn take(&mut self, bytes: usize) -> Result<Vec<u8>, String> {
        while self.waiting.len() < bytes {
            if !self.more()? {
                return Err(format!("{}: restores fewer bytes than the original has", self.name));
            }
        }
        let rest = self.waiting.split_off(bytes);
        Ok(std::mem::replace(&mut self.waiting, rest))
    }

    fn more(&mut self) -> Result<bool, String> {
        let mut block = Block::default();
        if let Some(piece) = self.pieces.next() {
            piece.restore(&self.frame, &mut block).map_err(|e| format!("{}: {e}", self.name))?;
            self.waiting.extend_from_slice(block.data());
            return Ok(true);
        }
        if !self.reader.next(&mut self.frame)? {
            return Ok(false);
        }
        self.pieces = Box::new(frames::pieces(&frames::header(&self.frame)?));
        Ok(true)
    }

    fn expect_end(&mut self) -> Result<(), String> {
        while self.waiting.is_empty() {
            if !self.more()? {
                return Ok(());
            }
        }
        Err(format!("{}: restores more bytes than the original has", self.name))
    }
}

impl PairPart<'_> {
    /// The values of both sides; what does not count is NaN on both.
    pub fn values(&self, pair: &Pair) -> Values {
        let room = self.original.len() / pair.dtype.size();
        let (mut original, mut restored) = (Vec::with_capacity(room), Vec::with_capacity(room));
        elements::for_each_pair(pair.dtype, pair.big_endian, self.original, self.restored, |v, r| {
            let counts = v.1.is_finite() && r.1.is_finite() && !pair.marks.contains(&v.0);
            original.push(if counts { v.1 } else { f64::NAN });
            restored.push(if counts { r.1 } else { f64::NAN });
        });
        let (start, count) = (self.start.clone(), self.count.clone());
        Values { start, count, original, restored, limit: self.limit }
    }
}

/// The values of a part.
pub struct Values {
    pub start: Vec<u64>,
    pub count: Vec<u64>,
    pub original: Vec<f64>,
    pub restored: Vec<f64>,
    pub limit: f64,
}
