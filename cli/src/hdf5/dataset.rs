//! A dataset of numbers, read and written block by block as the bytes that the file's type has.

use std::ffi::c_int;

use sleek::DType;
use sleek::hdf5::{Stored, datatype};

use super::abi;
use super::filters::lacks;
use super::object::{Object, each_type, is_variable_text, open_object};
use super::stored::check_room;
use super::{Id, h5, h5_id};
use crate::io::zeroed;

/// Bytes that are read or written at once, as far as whole chunks allow.
const BLOCK_BYTES: u64 = 4 << 20;
/// Chunks of this size at most are made for a dataset that has none: HDF5's cache for chunks takes that much.
pub const CHUNK_BYTES: u64 = 1 << 20;

/// Classes of types of which the bytes of an element are all there is: integers, floats, bit fields, opaque bytes,
/// enumerations.
const PLAIN: [c_int; 5] = [0, 1, 4, 5, 8];

/// A dataset of plain numbers (or arrays of them) that can be read.
pub struct Field<'a> {
    pub dataset: Id<'a>,
    pub file_type: Id<'a>,
    pub properties: Id<'a>,
    pub name: String,
    pub stored: Stored,
    pub dims: Vec<u64>,
    /// The chunk that it has, or would get.
    pub chunk: Vec<u64>,
    pub is_chunked: bool,
    /// Bytes of an element of the dataset: an array of numbers counts as one.
    pub size: u64,
}

/// A part of a dataset: where it starts and how long it is, in each dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub start: Vec<u64>,
    pub count: Vec<u64>,
}

impl Block {
    fn ends(&self) -> impl Iterator<Item = u64> {
        self.start.iter().zip(&self.count).map(|(at, len)| at + len)
    }

    /// What two blocks have in common.
    pub fn common(&self, other: &Block) -> Block {
        let start: Vec<u64> = self.start.iter().zip(&other.start).map(|(a, b)| *a.max(b)).collect();
        let ends = self.ends().zip(other.ends()).map(|(a, b)| a.min(b));
        let count = ends.zip(&start).map(|(end, start)| end.saturating_sub(*start)).collect();
        Block { start, count }
    }

    /// Where it begins in a block that has it.
    pub fn place_in(&self, whole: &Block) -> Vec<u64> {
        self.start.iter().zip(&whole.start).map(|(at, first)| at - first).collect()
    }
}

impl<'a> Field<'a> {
    /// Opens an object that is a dataset; in its place the reason if it is no field, in words that follow "kept: ".
    pub fn open(file: &Id<'a>, object: &Object) -> Result<Result<Field<'a>, String>, String> {
        let opened = Field::open_anywhere(file, object)?;
        let elsewhere = opened.as_ref().map_or(Ok(None), |field| place_elsewhere(&field.properties))?;
        Ok(elsewhere.map_or(opened, |place| Err(place.into())))
    }

    /// The same, where its values may also be in other datasets or files.
    pub fn open_anywhere(file: &Id<'a>, object: &Object) -> Result<Result<Field<'a>, String>, String> {
        let hdf5 = file.hdf5;
        let dataset = open_object(file, &object.path)?;
        let file_type = h5_id!(hdf5, H5Dget_type(dataset.id))?;
        let properties = h5_id!(hdf5, H5Dget_create_plist(dataset.id))?;
        let space = h5_id!(hdf5, H5Dget_space(dataset.id))?;
        let unfit = |why: String| Ok(Err(why));
        let stored = match datatype(&encoded(&file_type)?) {
            Ok(stored) => stored,
            Err(e) => return unfit(e.message),
        };
        let class = h5!(hdf5, H5Tget_class(file_type.id))?;
        // Compounds without references are their bytes, as long as nothing of them lies elsewhere.
        let is_plain = match class {
            abi::COMPOUND => {
                h5!(hdf5, H5Tdetect_class(file_type.id, abi::REFERENCE))? == 0
                    && h5!(hdf5, H5Tdetect_class(file_type.id, abi::VARIABLE))? == 0
                    && h5!(hdf5, H5Tdetect_class(file_type.id, abi::STRING))? == 0
            }
            class => PLAIN.contains(&class),
        };
        if !stored.dtype.is_float() && !is_plain {
            let text = class == abi::STRING && h5!(hdf5, H5Tis_variable_str(file_type.id))? > 0;
            return unfit(if text { "strings of variable length".into() } else { stored.what });
        }
        match h5!(hdf5, H5Sget_simple_extent_type(space.id))? {
            abi::SIMPLE_SPACE => {}
            abi::SCALAR_SPACE => return unfit("a single value".into()),
            _ => return unfit("without values".into()),
        }
        if let Some(why) = lacks(hdf5, &properties)? {
            return unfit(why);
        }
        let dims = lengths(&space)?;
        let size = size_of_type(&file_type)? as u64;
        let is_chunked = h5!(hdf5, H5Pget_layout(properties.id))? == abi::CHUNKED;
        let chunk = if is_chunked { stored_chunk(&properties, dims.len())? } else { good_chunk(&dims, size) };
        let name = object.name();
        Ok(Ok(Field { dataset, file_type, properties, name, stored, dims, chunk, is_chunked, size }))
    }

    /// Opens a dataset of any type for its chunks as they are stored, if it has chunks; nothing else of it is told.
    pub fn of_chunks(file: &Id<'a>, object: &Object) -> Result<Option<Field<'a>>, String> {
        Field::of_any(file, object).map(|field| Some(field).filter(|field| field.is_chunked))
    }

    /// Opens a dataset of any type for the blocks that are in the file.
    pub fn of_any(file: &Id<'a>, object: &Object) -> Result<Field<'a>, String> {
        let hdf5 = file.hdf5;
        let dataset = open_object(file, &object.path)?;
        let file_type = h5_id!(hdf5, H5Dget_type(dataset.id))?;
        let properties = h5_id!(hdf5, H5Dget_create_plist(dataset.id))?;
        let space = h5_id!(hdf5, H5Dget_space(dataset.id))?;
        let (dims, size) = (lengths(&space)?, size_of_type(&file_type)? as u64);
        let is_chunked = h5!(hdf5, H5Pget_layout(properties.id))? == abi::CHUNKED;
        let stored = Stored {
            dtype: DType::U8,
            big_endian: false,
            scalar: false,
            numbers: false,
            integers: false,
            bytes: 0,
            what: String::new(),
        };
        let chunk = if is_chunked { stored_chunk(&properties, dims.len())? } else { good_chunk(&dims, size) };
        let name = object.name();
        Ok(Field { dataset, file_type, properties, name, stored, dims, chunk, is_chunked, size })
    }

    /// Whether each element is a number, rather than several of them, or some bytes.
    pub fn is_of_numbers(&self) -> bool {
        self.stored.scalar && self.size == self.stored.dtype.size() as u64
    }

    pub fn bytes(&self) -> u64 {
        self.dims.iter().fold(self.size, |n, len| n.saturating_mul(*len))
    }

    pub fn stored_bytes(&self) -> u64 {
        self.dataset.storage_size()
    }

    /// The whole of it in blocks of whole chunks, in the order of the elements as far as that allows. Where chunks were
    /// never written, each block is one chunk and those are left out.
    pub fn blocks(&self) -> Result<Vec<Block>, String> {
        self.written(self.all_blocks())
    }

    /// The same in single chunks.
    pub fn blocks_in_chunks(&self) -> Result<Vec<Block>, String> {
        self.written(self.blocks_of_all_chunks())
    }

    /// All of these, or the chunks that were written where those are fewer.
    fn written(&self, all: Cut) -> Result<Vec<Block>, String> {
        self.some_chunks()?.map_or_else(|| all.listed(), Ok)
    }

    /// The same with what was never written.
    pub fn all_blocks(&self) -> Cut {
        cut(&self.dims, &enlarged(&self.dims, &self.chunk, self.size))
    }

    /// All chunks, written or not.
    pub fn blocks_of_all_chunks(&self) -> Cut {
        cut(&self.dims, &self.chunk)
    }

    /// Where the chunks begin that a part has something of.
    pub fn starts_over(&self, part: &Block) -> impl Iterator<Item = Vec<u64>> + use<> {
        let first: Vec<u64> = part.start.iter().zip(&self.chunk).map(|(at, side)| at / side * side).collect();
        let covered: Vec<u64> = part.ends().zip(&first).map(|(end, first)| end - first).collect();
        cut(&covered, &self.chunk).map(move |chunk| chunk.start.iter().zip(&first).map(|(a, b)| a + b).collect())
    }

    pub fn block_bytes(&self, block: &Block) -> usize {
        let bytes = block.count.iter().fold(self.size, |n, len| n.saturating_mul(*len));
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Bytes of a whole chunk in the file, unless its elements refer to what lies elsewhere: those are as long as in
    /// memory.
    pub fn chunk_bytes(&self) -> Result<Option<usize>, String> {
        let mut refers = false;
        each_type(&self.file_type, &mut |part| {
            let class = h5!(part.hdf5, H5Tget_class(part.id))?;
            refers |= [abi::VARIABLE, abi::REFERENCE].contains(&class) || is_variable_text(part)?;
            Ok(())
        })?;
        let bytes = self.chunk.iter().fold(self.size, |n, len| n.saturating_mul(*len));
        Ok((!refers).then_some(usize::try_from(bytes).unwrap_or(usize::MAX)))
    }

    /// A block as HDF5 reads it, which does not look at the lengths of chunks that passed filters.
    pub(super) fn bytes_of(&self, block: &Block) -> Result<Vec<u8>, String> {
        let mut bytes = zeroed(self.block_bytes(block))?;
        let (memory, file) = self.spaces(block)?;
        let (dataset, file_type, out) = (self.dataset.id, self.file_type.id, bytes.as_mut_ptr().cast());
        h5!(self.dataset.hdf5, H5Dread(dataset, file_type, memory.id, file.id, abi::DEFAULT, out))?;
        Ok(bytes)
    }

    /// Writes a block to a dataset of the same type and shape.
    pub fn write_to(&self, other: &Id, block: &Block, bytes: &[u8]) -> Result<(), String> {
        assert_eq!(bytes.len(), self.block_bytes(block));
        let (memory, file) = self.spaces(block)?;
        let data = bytes.as_ptr().cast();
        h5!(self.dataset.hdf5, H5Dwrite(other.id, self.file_type.id, memory.id, file.id, abi::DEFAULT, data))
            .map(drop)
            .map_err(|e| format!("{}: {e}", self.name))
    }

    /// The block in memory and in the dataset; all of one that has no dimensions.
    pub fn spaces(&self, block: &Block) -> Result<(Id<'a>, Id<'a>), String> {
        let hdf5 = self.dataset.hdf5;
        let (none, file) = (std::ptr::null(), h5_id!(hdf5, H5Dget_space(self.dataset.id))?);
        if self.dims.is_empty() {
            return Ok((h5_id!(hdf5, H5Dget_space(self.dataset.id))?, file));
        }
        let memory = h5_id!(hdf5, H5Screate_simple(block.count.len() as c_int, block.count.as_ptr(), none))?;
        let (start, count) = (block.start.as_ptr(), block.count.as_ptr());
        h5!(hdf5, H5Sselect_hyperslab(file.id, 0, start, none, count, none))?;
        Ok((memory, file))
    }
}

/// Said of a dataset whose values are those of others.
pub const VIEW: &str = "a view of other datasets";

/// Where else the values of a dataset of these properties are, if they are not in it.
pub fn place_elsewhere(properties: &Id) -> Result<Option<&'static str>, String> {
    let hdf5 = properties.hdf5;
    if h5!(hdf5, H5Pget_layout(properties.id))? == abi::VIRTUAL {
        return Ok(Some(VIEW));
    }
    Ok((h5!(hdf5, H5Pget_external_count(properties.id))? > 0).then_some("stored in another file"))
}

/// The datatype as HDF5 writes it.
pub fn encoded(kind: &Id) -> Result<Vec<u8>, String> {
    let mut size = 0;
    h5!(kind.hdf5, H5Tencode(kind.id, std::ptr::null_mut(), &raw mut size))?;
    let mut bytes = vec![0u8; size];
    h5!(kind.hdf5, H5Tencode(kind.id, bytes.as_mut_ptr().cast(), &raw mut size))?;
    Ok(bytes)
}

pub fn size_of_type(kind: &Id) -> Result<usize, String> {
    // SAFETY: the id is alive.
    match unsafe { (kind.hdf5.call.H5Tget_size)(kind.id) } {
        0 => Err(kind.hdf5.complaint("H5Tget_size")),
        size => Ok(size),
    }
}

/// The lengths of a simple space.
pub fn lengths(space: &Id) -> Result<Vec<u64>, String> {
    let rank = h5!(space.hdf5, H5Sget_simple_extent_ndims(space.id))?;
    let mut dims = vec![0; rank as usize];
    h5!(space.hdf5, H5Sget_simple_extent_dims(space.id, dims.as_mut_ptr(), std::ptr::null_mut()))?;
    Ok(dims)
}

fn stored_chunk(properties: &Id, rank: usize) -> Result<Vec<u64>, String> {
    let mut chunk = vec![0; rank];
    h5!(properties.hdf5, H5Pget_chunk(properties.id, rank as c_int, chunk.as_mut_ptr()))?;
    Ok(chunk)
}

/// A chunk for a dataset that has none: whole rows of the fastest dimensions, cut along the slowest.
pub fn good_chunk(dims: &[u64], size: u64) -> Vec<u64> {
    let mut chunk: Vec<u64> = dims.iter().map(|d| (*d).max(1)).collect();
    for i in 0..chunk.len() {
        let rest: u64 = chunk.iter().skip(i + 1).fold(size, |n, len| n.saturating_mul(*len));
        let fits = (CHUNK_BYTES / rest.max(1)).max(1);
        // As many chunks as there must be, and these of one size.
        chunk[i] = chunk[i].div_ceil(chunk[i].div_ceil(fits));
        if chunk[i] > 1 {
            break;
        }
    }
    chunk
}

/// Blocks of whole chunks: as many along the fastest dimensions as there are, if the block stays small.
fn enlarged(dims: &[u64], chunk: &[u64], size: u64) -> Vec<u64> {
    let mut block = chunk.to_vec();
    for i in (0..dims.len()).rev() {
        let bytes = block.iter().fold(size, |n, len| n.saturating_mul(*len)).max(1);
        let chunks = dims[i].div_ceil(chunk[i]).max(1);
        let times = (BLOCK_BYTES / bytes).clamp(1, chunks);
        block[i] = chunk[i] * times;
        if times < chunks {
            break;
        }
    }
    block
}

/// Cuts a dataset into blocks of a shape, those at the rim smaller.
pub fn cut(dims: &[u64], shape: &[u64]) -> Cut {
    let counts: Vec<u64> = dims.iter().zip(shape).map(|(d, s)| d.div_ceil(*s)).collect();
    let total = counts.iter().fold(1u64, |n, count| n.saturating_mul(*count));
    Cut { dims: dims.to_vec(), shape: shape.to_vec(), counts, next: 0, total }
}

/// The blocks of a dataset, one after the other: there may be more than memory has room for.
#[derive(Clone)]
pub struct Cut {
    dims: Vec<u64>,
    shape: Vec<u64>,
    /// Blocks along each dimension.
    counts: Vec<u64>,
    next: u64,
    total: u64,
}

impl Cut {
    pub fn total(&self) -> u64 {
        self.total
    }

    /// All of them at once.
    pub fn listed(self) -> Result<Vec<Block>, String> {
        check_room(self.total, self.dims.len())?;
        Ok(self.collect())
    }
}

impl Iterator for Cut {
    type Item = Block;

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.total - self.next).unwrap_or(usize::MAX);
        (left, Some(left))
    }

    fn next(&mut self) -> Option<Block> {
        if self.next == self.total {
            return None;
        }
        let mut rest = self.next;
        self.next += 1;
        let mut start = vec![0; self.dims.len()];
        for i in (0..self.dims.len()).rev() {
            start[i] = rest % self.counts[i] * self.shape[i];
            rest /= self.counts[i];
        }
        let count = start.iter().zip(&self.dims).zip(&self.shape).map(|((at, d), s)| (*s).min(d - at)).collect();
        Some(Block { start, count })
    }
}

/// Sets the chunk of a property list.
pub fn set_chunk(properties: &Id, chunk: &[u64]) -> Result<(), String> {
    h5!(properties.hdf5, H5Pset_chunk(properties.id, chunk.len() as c_int, chunk.as_ptr())).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_for_what_has_none() {
        assert_eq!(good_chunk(&[100, 200], 4), [100, 200]);
        assert_eq!(good_chunk(&[1000, 1000], 4), [250, 1000]);
        assert_eq!(good_chunk(&[10, 3000, 1000], 8), [1, 131, 1000]);
        assert_eq!(good_chunk(&[1 << 40], 4), [1 << 18]);
        assert_eq!(good_chunk(&[7, 0, 3], 4), [7, 1, 3]);
    }

    #[test]
    fn blocks_cover_everything_once() {
        let dims = [5, 7, 11];
        for shape in [[2, 3, 4], [5, 7, 11], [1, 1, 1]] {
            let blocks: Vec<Block> = cut(&dims, &shape).collect();
            let covered: u64 = blocks.iter().map(|b| b.count.iter().product::<u64>()).sum();
            assert_eq!(covered, 5 * 7 * 11, "{shape:?}");
            assert!(blocks.iter().all(|b| (0..3).all(|i| b.count[i] > 0 && b.start[i] % shape[i] == 0)));
        }
        assert_eq!(cut(&[0, 4], &[1, 4]).count(), 0);
        // Not listed, and no overflow.
        let huge = cut(&[u64::MAX, u64::MAX], &[1, 1]);
        assert!(huge.clone().nth(1).is_some_and(|b| b.start == [0, 1]) && huge.listed().is_err());
        assert_eq!(enlarged(&[100, 1000, 1000], &[1, 100, 1000], 4), [1, 1000, 1000]);
        assert_eq!(enlarged(&[100, 10, 10], &[1, 10, 10], 4), [100, 10, 10]);
    }
}
