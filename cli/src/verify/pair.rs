//! What is compared: an array and its compressed file, or two datasets, part by part.

use std::path::{Path, PathBuf};

use sleek::container::Header;
use sleek::hdf5::Stored;
use sleek::{DType, Dims, Mode};

use super::difference::{Difference, Rule, Valid};
use super::promise::Promise;
use super::stream;
use crate::frames::{self, FramePiece, FrameReader};
use crate::hdf5::dataset::{Block as Box_, Cut, Field, cut};
use crate::hdf5::parallel::{Reader, in_order};
use crate::io::{Block, Input};
use crate::npy;
use crate::progress::Progress;
use crate::quality::{Figure, Figures, Quality, Wanted};
use sleek::advise::elements;

/// Bytes of a part of a file of plain bytes.
const PART_BYTES: u64 = 1 << 20;
/// Bytes that are restored at once of a stream.
const PIECE_BYTES: usize = 4 << 20;
/// Chunks smaller than this are read several at once.
const FEW_BYTES: u64 = 16 << 10;
/// Elements of planes that are taken together.
const PART_ELEMENTS: u64 = 1 << 19;
/// Planes of more elements than this have no figures: both sides, as numbers and as waves, are in memory at once.
const PLANE_ELEMENTS: u64 = 13 << 19;

/// A field and its restored form.
pub struct Pair<'f> {
    /// Both files, for a person.
    pub name: String,
    pub dtype: DType,
    pub big_endian: bool,
    pub dims: Vec<u64>,
    pub mode: Mode,
    /// In words.
    pub promise: String,
    /// The bits of missing values: those of the restored form, and those that one of both declares.
    pub marks: Vec<u64>,
    valid: Option<Valid>,
    pub original_bytes: u64,
    pub stored_bytes: u64,
    source: Sides<'f>,
}

#[allow(clippy::large_enum_variant)] // one for each field
enum Sides<'f> {
    Datasets { old: &'f Field<'f>, new: &'f Field<'f>, promise: Promise },
    Stream { original: PathBuf, compressed: PathBuf, limit: f64 },
}

type Boxes = Box<dyn Iterator<Item = Box_>>;

/// A box of both.
pub struct PairPart<'a> {
    pub start: &'a [u64],
    pub count: &'a [u64],
    pub original: &'a [u8],
    pub restored: &'a [u8],
    /// What an error is held against; 0 where nothing may change or nothing is promised.
    pub limit: f64,
}

/// How a field is cut into parts.
#[derive(Clone, Copy, PartialEq)]
pub enum Parts {
    /// As its chunks are, or runs of elements, but for chunks that neither side has in its file.
    Stored,
    /// The same with these.
    All,
    /// Into whole planes of the two fastest dimensions.
    Planes,
}

/// Two types, with their byte orders where these alone differ.
pub fn types_in_words(both: [&Stored; 2]) -> [String; 2] {
    let differ_in_order = both[0].what == both[1].what && both[0].big_endian != both[1].big_endian;
    both.map(|Stored { what, big_endian, .. }| match (differ_in_order, big_endian) {
        (false, _) => what.clone(),
        (true, false) => format!("little-endian {what}"),
        (true, true) => format!("big-endian {what}"),
    })
}

impl<'f> Pair<'f> {
    /// Two datasets of one shape and type.
    pub fn of_datasets(old: &'f Field<'f>, new: &'f Field<'f>) -> Result<Pair<'f>, String> {
        Pair::of_promise(old, new, Promise::since(old, new)?)
    }

    /// The same under this promise.
    pub fn of_promise(old: &'f Field<'f>, new: &'f Field<'f>, promise: Promise) -> Result<Pair<'f>, String> {
        let name = old.name.clone();
        if old.dims != new.dims || old.stored != new.stored {
            let [here, there] = types_in_words([&old.stored, &new.stored]);
            return Err(format!("{name}: {there} of shape {:?} there, here {here} of {:?}", new.dims, old.dims));
        }
        let (dtype, big_endian) = (old.stored.dtype, old.stored.big_endian);
        let marks = promise.marks(old, new)?;
        let mut dims = old.dims.clone();
        let inner = old.size / dtype.size() as u64;
        if inner > 1 {
            dims.push(inner); // an array of numbers in each element
        }
        Ok(Pair {
            name,
            dtype,
            big_endian,
            dims,
            mode: promise.bound.mode(),
            promise: promise.words(),
            marks,
            valid: promise.valid(old)?,
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
            dtype,
            big_endian: header.big_endian,
            dims,
            mode: header.mode,
            promise: stream::promise(&header),
            marks: header.layout.shape.missing.bits().to_vec(),
            valid: None,
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

    /// How both differ.
    pub fn difference(&self, progress: &mut Progress) -> Result<Difference, String> {
        let rule = self.rule();
        let mut all = Difference::default();
        let work = |part: &PairPart| {
            let of = Difference::of(&rule, part.limit, part.original, part.restored, &|n| part.index(n));
            (of, part.original.len())
        };
        let skipped = self.each(Parts::Stored, &|_, _| true, work, |(difference, bytes)| {
            progress.add(bytes as u64);
            all.join(&difference);
            Ok(())
        })?;
        if let (Some(skipped), Sides::Datasets { old, new, promise }) = (skipped, &self.source) {
            // Elements that nobody wrote are as the two fill values are.
            let limit = promise.limit(new, &skipped.first)?;
            let (old, new) = (old.fill_bytes(), new.fill_bytes());
            let of = Difference::of(&rule, limit, &old, &new, &|_| skipped.first.start.clone());
            all.join(&of.times(skipped.elements));
        }
        Ok(all)
    }

    /// The figures that are asked for, of which `difference` knows some.
    pub fn figures(&self, wanted: Wanted, difference: &Difference) -> Result<Figures, String> {
        let range = difference.range();
        let known = [
            (Figure::Max, difference.max_error),
            (Figure::Rms, difference.rms()),
            (Figure::Psnr, difference.psnr(range)),
        ];
        let others = wanted.without(known.map(|(figure, _)| figure));
        let mut quality = Quality::some(others, &self.dims, range);
        let (rule, empty, dims) = (&self.rule(), &quality.part(0), &self.dims);
        let of_parts = |part: &PairPart| {
            let values = part.values(rule);
            let mut quality = empty.part(0);
            quality.add(part.count, &values.original, &values.restored);
            quality
        };
        let of_planes = |part: &PairPart| {
            let values = part.values(rule);
            let mut quality = empty.part(first_plane(dims, part.start));
            quality.add_planes(part.count, &values.original, &values.restored);
            quality
        };
        let mut all: Vec<Quality> = Vec::new();
        let mut take = |part: Quality| {
            match all.first_mut() {
                Some(all) => all.join(&part),
                None => all.push(part),
            }
            Ok(())
        };
        if others.any_of_parts() {
            let parts = if self.fills_do_not_count() { Parts::Stored } else { Parts::All };
            self.each(parts, &|_, _| true, of_parts, &mut take)?;
        }
        if others.any_of_planes() && self.has_planes() {
            self.each(Parts::Planes, &|_, _| true, of_planes, &mut take)?;
        }
        all.iter().for_each(|part| quality.join(part));
        let mut figures = quality.figures();
        let are_known = difference.count > difference.special + difference.missing;
        known.into_iter().filter(|_| are_known).for_each(|(figure, value)| figures.put(figure, value));
        Ok(figures)
    }

    /// Shows every part that is `asked` for to `work`, which any thread does, and what comes of it to `take`, in order.
    /// What neither side has in its file is left out and told.
    pub fn each<T: Send>(
        &self,
        parts: Parts,
        asked: &(dyn Fn(&[u64], &[u64]) -> bool + Sync),
        work: impl Fn(&PairPart) -> T + Sync,
        mut take: impl FnMut(T) -> Result<(), String>,
    ) -> Result<Option<Skipped>, String> {
        match &self.source {
            Sides::Datasets { old, new, promise } => {
                let (readers, inner) = ([Reader::of(old)?, Reader::of(new)?], self.inner(old));
                let undo = [readers[0].undo(), readers[1].undo()];
                let (boxes, skipped) = self.boxes(parts, [old, new], promise)?;
                let names = [format!("{}: ", old.name), format!("{}: ", new.name)];
                let first = |e: String| format!("first file: {}", e.strip_prefix(&names[0]).unwrap_or(&e));
                let second = |e: String| format!("second file: {}", e.strip_prefix(&names[1]).unwrap_or(&e));
                in_order(
                    boxes.filter(|part| asked(&part.start, &part.count)),
                    |part| {
                        let both = [readers[0].read(part).map_err(first)?, readers[1].read(part).map_err(second)?];
                        let limit = if parts == Parts::Planes { 0.0 } else { promise.limit(new, part)? };
                        Ok((both, limit))
                    },
                    |part, ([a, b], limit)| {
                        let original = undo[0].bytes(part, a).map_err(first)?;
                        let restored = undo[1].bytes(part, b).map_err(second)?;
                        let (mut start, mut count) = (part.start.clone(), part.count.clone());
                        if let Some(inner) = inner {
                            start.push(0);
                            count.push(inner);
                        }
                        let (start, count) = (&start[..], &count[..]);
                        Ok(work(&PairPart { start, count, original: &original, restored: &restored, limit }))
                    },
                    |_, done| take(done?),
                )?;
                Ok(skipped)
            }
            Sides::Stream { original, compressed, limit } => {
                let mut input = open(original, &first_header(compressed)?, compressed)?;
                let mut restored = Restored::new(compressed)?;
                let bytes = |part: &Box_| part.count.iter().product::<u64>() as usize * self.dtype.size();
                let mut passed = 0;
                let asked_for = self.slabs(parts).filter_map(|part| match asked(&part.start, &part.count) {
                    true => Some((std::mem::take(&mut passed), part)),
                    false => {
                        passed += bytes(&part);
                        None
                    }
                });
                let read = |(passed, part): &(usize, Box_)| {
                    input.pass(*passed as u64)?;
                    restored.pass(*passed)?;
                    let (bytes, mut block) = (bytes(part), Block::default());
                    if input.fill(&mut block, bytes)? < bytes {
                        return Err(format!("{}: changed while it was read", input.name));
                    }
                    Ok((block, restored.take(bytes)?))
                };
                let shown = |(_, part): &(usize, Box_), (block, back): (Block, Vec<u8>)| {
                    let (start, count, limit) = (&part.start[..], &part.count[..], *limit);
                    Ok(work(&PairPart { start, count, original: block.data(), restored: &back, limit }))
                };
                in_order(asked_for, read, shown, |_, done| take(done?))?;
                if passed == 0 {
                    restored.expect_end()?;
                }
                Ok(None)
            }
        }
    }

    /// Numbers of an element, if it has several.
    fn inner(&self, field: &Field) -> Option<u64> {
        (self.dims.len() > field.dims.len()).then(|| self.dims[self.dims.len() - 1])
    }

    /// The boxes of two datasets, and what is left out of them.
    fn boxes(
        &self,
        parts: Parts,
        [old, new]: [&Field; 2],
        promise: &Promise,
    ) -> Result<(Boxes, Option<Skipped>), String> {
        if parts == Parts::Planes {
            return Ok((Box::new(self.boxes_of_planes(new)), None));
        }
        let (grid, other) = if new.is_chunked { (new, old) } else { (old, new) };
        if parts == Parts::Stored
            && let Some(stored) = grid.chunks_with(other)?
        {
            let skipped = Skipped::of(grid, &stored);
            return Ok((Box::new(stored.into_iter()), skipped));
        }
        let chunk = new.chunk.iter().product::<u64>().saturating_mul(new.size);
        let by_chunk = promise.is_by_chunk() || (new.is_chunked && chunk >= FEW_BYTES);
        Ok((Box::new(if by_chunk { new.blocks_of_all_chunks() } else { old.all_blocks() }), None))
    }

    /// Boxes of as many planes as chunks reach over, as far as these are not too many.
    fn boxes_of_planes(&self, field: &Field) -> Cut {
        let rank = field.dims.len();
        // An array in each element is a dimension of the pair, and none of the field.
        let outer = self.dims.len() - 2;
        let mut shape: Vec<u64> = (0..rank).map(|i| if i < outer { 1 } else { field.dims[i].max(1) }).collect();
        if outer > 0 {
            let elements: u64 = self.dims[outer..].iter().product();
            shape[outer - 1] = field.chunk[outer - 1].min(PART_ELEMENTS / elements.max(1)).max(1);
        }
        cut(&field.dims, &shape)
    }

    /// Boxes of an array of plain bytes: whole along all dimensions but the first that is longer than 1. Of planes each
    /// has a number, and begins with the first of its numbers.
    fn slabs(&self, parts: Parts) -> Cut {
        let size = self.dtype.size() as u64;
        if parts == Parts::Planes {
            let outer = self.dims.len() - 2;
            let [height, width] = [self.dims[outer], self.dims[outer + 1]];
            let planes = (PART_ELEMENTS / (height * width).max(1)).max(1);
            let all = self.dims[..outer].iter().product();
            return cut(&[all, height, width], &[planes, height.max(1), width.max(1)]);
        }
        let axis = self.dims.iter().position(|len| *len > 1).unwrap_or(0);
        let slab = (self.dims.iter().skip(axis + 1).product::<u64>() * size).max(1);
        // Whole windows of what is compared in windows.
        let slabs = match PART_BYTES / slab {
            n @ 64.. => n / 64 * 64,
            n @ 8.. => n / 8 * 8,
            n if 8 * slab <= 8 * PART_BYTES => n.max(8),
            n => n.max(1),
        };
        let mut shape: Vec<u64> = self.dims.iter().map(|len| (*len).max(1)).collect();
        if let Some(len) = shape.get_mut(axis) {
            *len = slabs.min(*len);
        }
        cut(&self.dims, &shape)
    }

    /// Whether it has planes that are small enough.
    fn has_planes(&self) -> bool {
        self.dims.len() > 1 && self.dims.iter().rev().take(2).product::<u64>() <= PLANE_ELEMENTS
    }

    /// Whether elements that nobody wrote differ in a bit.
    pub fn fills_differ(&self) -> bool {
        matches!(&self.source, Sides::Datasets { old, new, .. } if old.fill_bytes() != new.fill_bytes())
    }

    /// Whether what nobody wrote counts for no figure: it is missing, or no number.
    fn fills_do_not_count(&self) -> bool {
        let Sides::Datasets { old, new, .. } = &self.source else { return false };
        let mut do_not = true;
        elements::for_each_pair(self.dtype, self.big_endian, &old.fill_bytes(), &new.fill_bytes(), |v, r| {
            let is_none = |(bits, value): (u64, f64)| !value.is_finite() || self.marks.contains(&bits);
            do_not &= is_none(v) || is_none(r);
        });
        do_not
    }

    /// What elements are held to.
    pub fn rule(&self) -> Rule<'_> {
        Rule::new(self.dtype, self.big_endian, self.mode, &self.marks).with_valid(self.valid)
    }
}

/// The number of the first plane of a box of planes, in a field of these dimensions.
fn first_plane(dims: &[u64], start: &[u64]) -> u64 {
    let outer = &start[..start.len() - 2];
    let lens = &dims[dims.len() - 2 - outer.len()..];
    outer.iter().zip(lens).fold(0, |n, (at, len)| n * len + at)
}

/// Elements of two datasets that neither has in its file.
pub struct Skipped {
    /// The first chunk of them.
    first: Box_,
    elements: u64,
}

impl Skipped {
    /// What is not among these chunks of a dataset, which are in their order.
    fn of(field: &Field, chunks: &[Box_]) -> Option<Skipped> {
        let all = field.dims.iter().fold(1, |n: u64, len| n.saturating_mul(*len));
        let elements = all - chunks.iter().map(|chunk| chunk.count.iter().product::<u64>()).sum::<u64>();
        let mut others = chunks.iter();
        let first = field.blocks_of_all_chunks().find(|chunk| others.next().is_none_or(|o| o.start != chunk.start))?;
        Some(Skipped { first, elements })
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
    /// A piece, of which the bytes from `at` on were not taken.
    piece: Block,
    at: usize,
}

impl Restored {
    fn new(path: &Path) -> Result<Restored, String> {
        let input = Input::open(path)?;
        let name = input.name.clone();
        let (reader, frame, piece) = (FrameReader::new(input), Block::default(), Block::default());
        Ok(Restored { name, reader, frame, pieces: Box::new(std::iter::empty()), piece, at: 0 })
    }

    /// The next so many bytes.
    fn take(&mut self, bytes: usize) -> Result<Vec<u8>, String> {
        let mut taken = Vec::with_capacity(bytes);
        while taken.len() < bytes {
            let left = &self.piece.data()[self.at..];
            if left.is_empty() && !self.more()? {
                return Err(format!("{}: restores fewer bytes than the original has", self.name));
            }
            let left = &self.piece.data()[self.at..];
            let some = left.len().min(bytes - taken.len());
            taken.extend_from_slice(&left[..some]);
            self.at += some;
        }
        Ok(taken)
    }

    /// Passes the next so many bytes; pieces that lie among them are not restored.
    fn pass(&mut self, bytes: usize) -> Result<(), String> {
        let mut left = bytes;
        loop {
            let some = left.min(self.piece.data().len() - self.at);
            (self.at, left) = (self.at + some, left - some);
            if left == 0 {
                return Ok(());
            }
            match self.next_piece()? {
                Some(piece) if piece.bytes() <= left => left -= piece.bytes(),
                Some(piece) => self.restore(&piece)?,
                None => return Err(format!("{}: restores fewer bytes than the original has", self.name)),
            }
        }
    }

    /// Restores the next piece; false at the end.
    fn more(&mut self) -> Result<bool, String> {
        match self.next_piece()? {
            Some(piece) => self.restore(&piece).map(|()| true),
            None => Ok(false),
        }
    }

    fn restore(&mut self, piece: &FramePiece) -> Result<(), String> {
        piece.restore(&self.frame, &mut self.piece).map_err(|e| format!("{}: {e}", self.name))?;
        self.at = 0;
        Ok(())
    }

    fn next_piece(&mut self) -> Result<Option<FramePiece>, String> {
        loop {
            if let Some(piece) = self.pieces.next() {
                return Ok(Some(piece));
            }
            if !self.reader.next(&mut self.frame)? {
                return Ok(None);
            }
            self.pieces = Box::new(frames::pieces_of(&frames::header(&self.frame)?, PIECE_BYTES));
        }
    }

    fn expect_end(&mut self) -> Result<(), String> {
        match self.at < self.piece.data().len() || self.more()? {
            false => Ok(()),
            true => Err(format!("{}: restores more bytes than the original has", self.name)),
        }
    }
}

impl PairPart<'_> {
    /// The indices of the `n`th element.
    pub fn index(&self, mut n: u64) -> Vec<u64> {
        let mut index = self.start.to_vec();
        for (at, len) in index.iter_mut().zip(self.count).rev() {
            *at += n % len;
            n /= len;
        }
        index
    }

    /// The values of both sides; what does not count is NaN on both.
    pub fn values(&self, rule: &Rule) -> Values {
        let (original, restored) = rule.values(self.original, self.restored);
        Values { start: self.start.to_vec(), count: self.count.to_vec(), original, restored, limit: self.limit }
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
