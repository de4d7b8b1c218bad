//! Compressed arrays: an array in memory of which each block of 4^d elements takes the same number of words, so that
//! any of them is read and written by itself. Decoded blocks are kept in a cache; one that was changed is encoded again
//! when another one takes its place.

use std::fmt::Display;
use std::sync::MutexGuard;

use zfp_rs::bitstream::ZfpBitStreamRefMut;
use zfp_rs::{ZfpBitStreamRef, ZfpConfig, ZfpField, ZfpFieldMut, ZfpStreamAlignment};

use super::element::Element;
use super::format::{BLOCK_LOG2, CODEC_ZFP, MAX_AXES};
use super::plan::fixed_rate;
use crate::container::{Dims, Region};
use crate::dtype::DType;
use crate::error::{Error, Kind, Result, fail};
use crate::host::fork::Lock;
use crate::host::fpu;
use crate::host::memory::filled;
use crate::params::{Bound, Params};

/// The side of a block.
const SIDE: usize = 1 << BLOCK_LOG2;
/// Elements arrive and leave in the byte order of the host.
const BIG_ENDIAN: bool = cfg!(target_endian = "big");

/// An array of one to four dimensions. Any number of threads may use it; they take turns. In a forked child it can be
/// used unless another thread was inside it.
pub struct CompressedArray {
    dims: Dims,
    dtype: DType,
    blocks: Lock<Any>,
    /// Of the compressed blocks, and of the cache.
    bytes: [usize; 2],
}

/// Blocks of some element type, not in a box of their own: memory for one could be refused by no error.
enum Any {
    F32(Blocks<f32>),
    F64(Blocks<f64>),
    I32(Blocks<i32>),
    I64(Blocks<i64>),
}

impl Any {
    fn store(&mut self) -> &mut dyn Store {
        match self {
            Any::F32(blocks) => blocks,
            Any::F64(blocks) => blocks,
            Any::I32(blocks) => blocks,
            Any::I64(blocks) => blocks,
        }
    }
}

/// What a box of elements is to do.
enum Move<'a> {
    Read(&'a mut [u8]),
    Write(&'a [u8]),
}

/// The blocks of an array of some element type.
trait Store {
    /// Moves the elements of a box, the fastest dimension first.
    fn transfer(&mut self, start: [usize; MAX_AXES], lens: [usize; MAX_AXES], what: Move) -> Result<()>;
    /// Encodes what was changed.
    fn flush(&mut self) -> Result<()>;
    /// All blocks, of which some in the cache may be newer.
    fn words(&self) -> &[u64];
    /// Takes these blocks for all that there was, in the cache too.
    fn replace(&mut self, words: Vec<u64>);
    /// Bytes of all blocks, and of the cache.
    fn bytes(&self) -> [usize; 2];
}

impl CompressedArray {
    /// An array of zeros: its dimensions, element type and rate are those of `params`, and its rate is rounded up so
    /// that a block has whole words of 64 bits. The cache has `cache_bytes`, or, if that is 0, the square root of the
    /// number of blocks.
    pub fn new(params: &Params, cache_bytes: usize) -> Result<CompressedArray> {
        if params.codec != CODEC_ZFP || !matches!(params.bound, Bound::Rate(_)) {
            return fail!(InvalidArgument, "a compressed array needs mode rate of codec zfp");
        }
        if params.big_endian || !params.missing.is_empty() {
            return fail!(InvalidArgument, "a compressed array is of the host's byte order and has no missing values");
        }
        crate::codec::chosen(params)?;
        let (dims, dtype) = (params.dims, params.dtype);
        if dims.rank() == 0 || dims.rank() > MAX_AXES {
            return fail!(InvalidArgument, "{} dimensions; a compressed array has 1 to {MAX_AXES}", dims.rank());
        }
        let mut blocks = match dtype {
            DType::F32 => Any::F32(Blocks::new(params, cache_bytes)?),
            DType::F64 => Any::F64(Blocks::new(params, cache_bytes)?),
            DType::I32 => Any::I32(Blocks::new(params, cache_bytes)?),
            _ => Any::I64(Blocks::new(params, cache_bytes)?),
        };
        let bytes = blocks.store().bytes();
        Ok(CompressedArray { dims, dtype, blocks: Lock::new(blocks), bytes })
    }

    /// Reads the box of `lens` elements from `start` on, slowest dimension first; returns the bytes written.
    pub fn read(&self, start: &[u64], lens: &[u64], dst: &mut [u8]) -> Result<usize> {
        let (start, lens, bytes) = self.place(start, lens, dst.len())?;
        self.blocks()?.store().transfer(start, lens, Move::Read(&mut dst[..bytes]))?;
        Ok(bytes)
    }

    /// Writes such a box. Floats must be finite: a block has one exponent.
    pub fn write(&self, start: &[u64], lens: &[u64], src: &[u8]) -> Result<()> {
        let (start, lens, bytes) = self.place(start, lens, src.len())?;
        self.blocks()?.store().transfer(start, lens, Move::Write(&src[..bytes]))
    }

    /// Encodes every block that was changed.
    pub fn flush(&self) -> Result<()> {
        self.blocks()?.store().flush()
    }

    /// Shows all blocks, those that were changed encoded.
    pub fn blocks_as_they_are(&self, show: impl FnOnce(&[u64]) -> Result<()>) -> Result<()> {
        let mut blocks = self.blocks()?;
        blocks.store().flush()?;
        show(blocks.store().words())
    }

    /// Has all blocks, which take `bytes`, written anew. An error leaves the array as it was, so they are written
    /// aside.
    pub fn set_blocks(&self, bytes: usize, write: impl FnOnce(&mut [u64]) -> Result<()>) -> Result<()> {
        let own = self.bytes()[0];
        if bytes != own {
            return fail!(InvalidArgument, "{bytes} bytes; the blocks of this array take {own}");
        }
        let mut words = filled(own / size_of::<u64>(), 0)?;
        write(&mut words)?;
        self.blocks()?.store().replace(words);
        Ok(())
    }

    /// Its dimensions.
    pub fn rank(&self) -> usize {
        self.dims.rank()
    }

    /// Bytes of the compressed blocks, and of the cache.
    pub fn bytes(&self) -> [usize; 2] {
        self.bytes
    }

    fn blocks(&self) -> Result<MutexGuard<'_, Any>> {
        match self.blocks.lock() {
            Some(blocks) => Ok(blocks),
            None => fail!(
                InvalidArgument,
                "another thread was inside this array when the process was forked; make a new array in the child"
            ),
        }
    }

    /// A box, the fastest dimension first, and its bytes, for which there must be room.
    fn place(&self, start: &[u64], lens: &[u64], room: usize) -> Result<([usize; MAX_AXES], [usize; MAX_AXES], usize)> {
        let region = Region::new(&self.dims, start, lens)?;
        let bytes = region.count() as usize * self.dtype.size();
        if room < bytes {
            return fail!(BufferTooSmall, "{room} bytes; {} elements take {bytes}", region.count());
        }
        Ok((reversed(start, 0), reversed(lens, 1), bytes))
    }
}

/// Numbers of dimensions, the fastest first; `other` for those that there are not.
fn reversed(numbers: &[u64], other: usize) -> [usize; MAX_AXES] {
    std::array::from_fn(|a| if a < numbers.len() { numbers[numbers.len() - 1 - a] as usize } else { other })
}

/// Elements of one type in blocks, and the cache: line k has block k, or one that is a multiple of their number behind.
struct Blocks<E> {
    lens: [usize; MAX_AXES],
    rank: usize,
    /// Along each dimension.
    along: [usize; MAX_AXES],
    config: ZfpConfig,
    words: Vec<u64>,
    words_each: usize,
    /// The block that each line has, and whether it was changed.
    lines: Vec<(usize, bool)>,
    elements: Vec<E>,
}

/// A line without a block.
const NONE: usize = usize::MAX;

impl<E: Element> Blocks<E> {
    fn new(params: &Params, cache_bytes: usize) -> Result<Blocks<E>> {
        let (lens, rank) = (reversed(params.dims.lens(), 1), params.dims.rank());
        let config = fixed_rate(params.dtype, params.bound.number(), rank, ZfpStreamAlignment::WordAligned)?;
        let words_each = config.max_bits() as usize / 64;
        let along = lens.map(|len| len.div_ceil(SIDE));
        let count = along.iter().try_fold(1usize, |n, along| n.checked_mul(*along));
        let Some(words) = count.and_then(|n| n.checked_mul(words_each)) else {
            return fail!(OutOfMemory, "dimensions {} have more blocks than memory", params.dims);
        };
        let (count, each) = (words / words_each, SIDE.pow(rank as u32));
        let wanted = match cache_bytes {
            0 => count.isqrt(),
            bytes => bytes / (each * size_of::<E>()),
        };
        let lines = wanted.clamp(1, count.max(1)).next_power_of_two();
        Ok(Blocks {
            lens,
            rank,
            along,
            config,
            words: filled(words, 0)?,
            words_each,
            lines: filled(lines, (NONE, false))?,
            elements: filled(lines * each, E::default())?,
        })
    }

    /// Elements of a block in the cache.
    fn each(&self) -> usize {
        self.elements.len() / self.lines.len()
    }

    /// The lengths of a block: at the edges there are less than four elements.
    fn lens_of(&self, mut block: usize) -> [usize; MAX_AXES] {
        let mut own = [0; MAX_AXES];
        for (own, (len, along)) in own.iter_mut().zip(self.lens.iter().zip(self.along)).take(self.rank) {
            *own = SIDE.min(len - block % along * SIDE);
            block /= along;
        }
        own
    }

    /// The line that has a block; what it had before is encoded if it was changed. The block is not decoded where all
    /// of it is going to be `replaced`.
    fn line(&mut self, block: usize, replaced: bool) -> Result<usize> {
        let line = block & (self.lines.len() - 1);
        if self.lines[line].0 == block {
            return Ok(line);
        }
        self.put_back(line)?;
        self.lines[line] = (NONE, false);
        if replaced {
            self.lines[line].0 = block;
            return Ok(line);
        }
        let (lens, each, words_each) = (self.lens_of(block), self.each(), self.words_each);
        let count = lens.iter().filter(|n| **n > 0).product();
        let words = &self.words[block * words_each..][..words_each];
        let blame = |e: &dyn Display| Error::of(Kind::Internal, format_args!("block {block} cannot be decoded: {e}"));
        let mut field = ZfpFieldMut::new(&mut self.elements[line * each..][..count], lens).map_err(|e| blame(&e))?;
        ZfpBitStreamRef::from_words(words).decompress(&self.config, &mut field).map_err(|e| blame(&e))?;
        self.lines[line] = (block, false);
        Ok(line)
    }

    /// Encodes the block of a line, if it was changed.
    fn put_back(&mut self, line: usize) -> Result<()> {
        let (block, changed) = self.lines[line];
        if !changed {
            return Ok(());
        }
        let (lens, each, words_each) = (self.lens_of(block), self.each(), self.words_each);
        let count = lens.iter().filter(|n| **n > 0).product();
        let words = &mut self.words[block * words_each..][..words_each];
        let blame = |e: &dyn Display| Error::of(Kind::Internal, format_args!("block {block} cannot be encoded: {e}"));
        let field = ZfpField::new(&self.elements[line * each..][..count], lens).map_err(|e| blame(&e))?;
        ZfpBitStreamRefMut::from_words(words).compress(&self.config, &field).map_err(|e| blame(&e))?;
        self.lines[line].1 = false;
        Ok(())
    }
}

impl<E: Element> Store for Blocks<E> {
    fn transfer(&mut self, start: [usize; MAX_AXES], lens: [usize; MAX_AXES], mut what: Move) -> Result<()> {
        if lens.contains(&0) {
            return Ok(());
        }
        let size = size_of::<E>();
        if let Move::Write(src) = &what
            && let Some(at) = src.chunks_exact(size).position(|bytes| !E::load(bytes, BIG_ENDIAN).is_finite())
        {
            return fail!(InvalidArgument, "element {at} is not finite; a compressed array has finite numbers alone");
        }
        let _fpu = fpu::Guard::standard();
        let end: [usize; MAX_AXES] = std::array::from_fn(|a| start[a] + lens[a]);
        let first = start.map(|at| at / SIDE);
        let blocks: [usize; MAX_AXES] = std::array::from_fn(|a| end[a].div_ceil(SIDE) - first[a]);
        for n in 0..blocks.iter().product() {
            let place = unravelled(n, blocks, first);
            let number = (0..self.rank).rev().fold(0, |number, a| number * self.along[a] + place[a]);
            let own = self.lens_of(number).map(|len| len.max(1));
            // What of the block is in the box, counted in the block.
            let from: [usize; MAX_AXES] = std::array::from_fn(|a| start[a].saturating_sub(place[a] * SIDE));
            let to: [usize; MAX_AXES] = std::array::from_fn(|a| (end[a] - place[a] * SIDE).min(own[a]));
            let replaced = matches!(what, Move::Write(_)) && from == [0; MAX_AXES] && to == own;
            let (line, each) = (self.line(number, replaced)?, self.each());
            let rows: [usize; MAX_AXES] = std::array::from_fn(|a| if a == 0 { 1 } else { to[a] - from[a] });
            let elements = &mut self.elements[line * each..][..each];
            for row in 0..rows.iter().product() {
                let at = unravelled(row, rows, from);
                let in_block = (1..MAX_AXES).rev().fold(0, |sum, a| (sum + at[a]) * own[a - 1]) + from[0];
                let in_box =
                    (1..MAX_AXES).rev().fold(0, |sum, a| (sum + place[a] * SIDE + at[a] - start[a]) * lens[a - 1])
                        + place[0] * SIDE
                        + from[0]
                        - start[0];
                let count = to[0] - from[0];
                let row = elements[in_block..][..count].iter_mut();
                let bytes = in_box * size..(in_box + count) * size;
                match &mut what {
                    Move::Read(dst) => {
                        row.zip(dst[bytes].chunks_exact_mut(size)).for_each(|(e, bytes)| e.store(BIG_ENDIAN, bytes));
                    }
                    Move::Write(src) => {
                        row.zip(src[bytes].chunks_exact(size)).for_each(|(e, bytes)| *e = E::load(bytes, BIG_ENDIAN));
                    }
                }
            }
            self.lines[line].1 |= matches!(what, Move::Write(_));
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let _fpu = fpu::Guard::standard();
        (0..self.lines.len()).try_for_each(|line| self.put_back(line))
    }

    fn words(&self) -> &[u64] {
        &self.words
    }

    fn replace(&mut self, words: Vec<u64>) {
        self.lines.fill((NONE, false));
        self.words = words;
    }

    fn bytes(&self) -> [usize; 2] {
        [size_of_val(&self.words[..]), size_of_val(&self.elements[..]) + size_of_val(&self.lines[..])]
    }
}

/// Place n of a box of these lengths that begins at `from`.
fn unravelled(mut n: usize, lens: [usize; MAX_AXES], from: [usize; MAX_AXES]) -> [usize; MAX_AXES] {
    std::array::from_fn(|a| {
        let at = from[a] + n % lens[a];
        n /= lens[a];
        at
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(dtype: DType, rate: f64, lens: &[u64], cache: usize) -> CompressedArray {
        let params = Params { codec: CODEC_ZFP, dims: Dims::new(lens).unwrap(), ..Params::new(dtype) };
        CompressedArray::new(&params.with_bound(Bound::Rate(rate)), cache).unwrap()
    }

    /// Boxes that are written and read in any order give what an array of numbers gives, at a rate that loses little.
    #[test]
    fn boxes_are_those_of_an_array() {
        for (lens, cache) in [(&[37u64][..], 0), (&[9, 14], 1), (&[6, 5, 11], 3000), (&[5, 4, 3, 7], 0)] {
            let array = array(DType::F64, 64.0, lens, cache);
            let count: u64 = lens.iter().product();
            let mut plain = vec![0f64; count as usize];
            let mut state = 9u64;
            let mut random = |below: u64| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) % below
            };
            for round in 0..200 {
                let start: Vec<u64> = lens.iter().map(|len| random(*len)).collect();
                let counts: Vec<u64> = lens.iter().zip(&start).map(|(len, s)| random(len - s + 1)).collect();
                let n = counts.iter().product::<u64>() as usize;
                let index = |mut k: u64| {
                    let mut at = vec![0; lens.len()];
                    for a in (0..lens.len()).rev() {
                        at[a] = start[a] + k % counts[a];
                        k /= counts[a];
                    }
                    at.iter().zip(lens).fold(0, |sum, (at, len)| sum * len + at) as usize
                };
                if round % 2 == 0 {
                    let values: Vec<f64> = (0..n).map(|k| (round * 7 + k) as f64 * 0.25).collect();
                    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
                    array.write(&start, &counts, &bytes).unwrap();
                    (0..n).for_each(|k| plain[index(k as u64)] = values[k]);
                }
                let mut back = vec![0; n * 8];
                assert_eq!(array.read(&start, &counts, &mut back).unwrap(), n * 8);
                for (k, bytes) in back.as_chunks::<8>().0.iter().enumerate() {
                    let (is, was) = (f64::from_ne_bytes(*bytes), plain[index(k as u64)]);
                    assert!((is - was).abs() < 1e-9, "{lens:?} round {round}: {is} {was}");
                }
            }
            array.flush().unwrap();
        }
    }

    #[test]
    fn a_rate_is_a_size_and_what_cannot_be_is_refused() {
        let [words, cache] = array(DType::F32, 8.0, &[64, 64, 64], 0).bytes();
        assert_eq!(words, 64 * 64 * 64);
        // 4096 blocks: 64 of them.
        assert!((64 * 256..64 * 300).contains(&cache), "{cache}");
        let plain = Params { codec: CODEC_ZFP, dims: Dims::new(&[8, 8]).unwrap(), ..Params::new(DType::F32) };
        assert!(CompressedArray::new(&plain, 0).is_err());
        let array = array(DType::F32, 8.0, &[8, 8], 0);
        let error = array.write(&[0, 0], &[1, 1], &f32::NAN.to_ne_bytes()).unwrap_err();
        assert_eq!(error.kind, Kind::InvalidArgument);
        assert_eq!(array.read(&[0, 8], &[1, 1], &mut [0; 4]).unwrap_err().kind, Kind::OutOfRange);
        assert_eq!(array.read(&[0, 0], &[2, 1], &mut [0; 4]).unwrap_err().kind, Kind::BufferTooSmall);
    }
}
