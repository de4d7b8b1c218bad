//! Chunks of HDF5's filter 32013, H5Z-ZFP: each is one stream without a header, which is in the dataset's `cd_values`.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

use zfp_rs::codec::block::decode_block;
use zfp_rs::{
    ZfpBitStream, ZfpBitStreamRef, ZfpConfig, ZfpDimensionality, ZfpField, ZfpFieldMetadata, ZfpFieldMut,
    ZfpHeaderMask, ZfpScalarType, ZfpStreamAlignment,
};

use super::element::{Element, all_within};
use super::format::{BLOCK_LOG2, CODEC_ZFP, Coding, MAX_AXES};
use super::plan::{Plan, scalar};
use super::{Coder, Tiles, shape, tile};
use crate::container::{CodedChunk, Dims, EntryForm, Geometry, Header, Kind, Layout, Shape};
use crate::dtype::DType;
use crate::error::{Error, Kind as ErrorKind, Result, fail};
use crate::exec::ExecOptions;
use crate::host::fpu;
use crate::host::memory::filled;
use crate::params::{Bound, Params};
use crate::runtime::cpu::{self, ChunkCodec, Data};
use crate::simd::stream::StreamingStores;

/// The filter's number.
pub const ID: u32 = 32013;
/// The first of its `cd_values`: zfp 1.0.1, version 5 of its streams, and the version of H5Z-ZFP whose `cd_values` ours
/// are like, 1.1.1.
const VERSIONS: u32 = 0x1010_5111;
/// The bits of a stream's header: signature, type and dimensions, and then the parameters in two forms.
const SHORT_BITS: usize = 96;
const LONG_BITS: usize = 148;
/// Parameters of the short form are below this.
const LONG_FROM: u64 = 0xfff;

/// Calls `$f::<Element>($args)` for an element type of zfp.
macro_rules! by_type {
    ($type:expr; $f:ident($($arg:expr),*)) => {
        match $type {
            ZfpScalarType::F32 => $f::<f32>($($arg),*),
            ZfpScalarType::F64 => $f::<f64>($($arg),*),
            ZfpScalarType::I32 => $f::<i32>($($arg),*),
            ZfpScalarType::I64 => $f::<i64>($($arg),*),
        }
    };
}

/// What is the same for all chunks of a dataset.
#[derive(Clone, Copy, Debug)]
pub struct Chunks {
    kind: ZfpScalarType,
    /// The lengths that are not 1, the fastest first; 0 for those that there are not.
    lens: [usize; MAX_AXES],
    config: ZfpConfig,
}

impl Chunks {
    /// From a dataset's `cd_values`.
    pub fn read(words: &[u32]) -> Result<Chunks> {
        let bytes: Vec<u8> = words.iter().skip(1).flat_map(|word| word.to_le_bytes()).collect();
        let header = ZfpBitStream::from_bytes(&bytes).ok().and_then(|mut s| s.read_header(ZfpHeaderMask::FULL).ok());
        // Behind the end it would read zeros.
        let header = header.filter(|header| header.bits_read <= 8 * bytes.len());
        match header.and_then(|header| header.metadata.zip(header.config)) {
            Some((of, config)) => Ok(Chunks { kind: of.scalar_type, lens: of.dims, config }),
            None => fail!(Corrupt, "cd_values {words:?} of filter {ID} hold no header of zfp 1.0"),
        }
    }

    /// For chunks with these lengths, slowest first, of what `params` ask for: an absolute bound, a rate, a precision,
    /// or every bit.
    pub fn new(params: &Params, chunk: &[u64]) -> Result<Chunks> {
        let Some(kind) = scalar(params.dtype).filter(|_| !params.big_endian) else {
            let order = if params.big_endian { "big-endian " } else { "" };
            return fail!(
                UnsupportedType,
                "filter H5Z-ZFP takes f32, f64, i32, i64, little-endian; these are {order}{}",
                params.dtype.name()
            );
        };
        let lens = axes(chunk)?;
        let blocks = match lens.iter().filter(|len| **len > 0).count() {
            1 => ZfpDimensionality::D1,
            2 => ZfpDimensionality::D2,
            3 => ZfpDimensionality::D3,
            _ => ZfpDimensionality::D4,
        };
        let config = match params.bound {
            Bound::Lossless | Bound::Abs(0.0) => Some(ZfpConfig::reversible()),
            Bound::Abs(bound) if params.dtype.is_float() => Some(ZfpConfig::fixed_accuracy(bound)),
            Bound::Rate(rate) => ZfpConfig::fixed_rate(rate, kind, blocks, ZfpStreamAlignment::Unaligned).ok(),
            Bound::Precision(bits) => Some(ZfpConfig::fixed_precision(bits)),
            _ => None,
        };
        match config {
            Some(config) => Ok(Chunks { kind, lens, config }),
            None => fail!(
                InvalidArgument,
                "filter H5Z-ZFP has no {} {} for {}",
                params.bound.mode().name(),
                params.bound.number(),
                params.dtype.name()
            ),
        }
    }

    /// Their `cd_values`.
    pub fn words(&self) -> Result<Vec<u32>> {
        let header = |e: String| Error::new(ErrorKind::InvalidArgument, format!("filter H5Z-ZFP: {e}"));
        let mode = self.config.checked_mode_bits().map_err(|e| header(e.to_string()))?;
        let bits = if mode < LONG_FROM { SHORT_BITS } else { LONG_BITS };
        let metadata = ZfpFieldMetadata { scalar_type: self.kind, dims: self.lens };
        let mut stream = ZfpBitStream::new(LONG_BITS.div_ceil(8) + 8).map_err(|e| header(e.to_string()))?;
        stream.write_header(&self.config, &metadata, ZfpHeaderMask::FULL).map_err(|e| header(e.to_string()))?;
        stream.flush();
        let words = stream.as_words().iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        Ok(std::iter::once(VERSIONS).chain(words.take(bits.div_ceil(32))).collect())
    }

    /// The type of their elements.
    pub fn dtype(&self) -> DType {
        match self.kind {
            ZfpScalarType::F32 => DType::F32,
            ZfpScalarType::F64 => DType::F64,
            ZfpScalarType::I32 => DType::I32,
            ZfpScalarType::I64 => DType::I64,
        }
    }

    /// Whether chunks have these lengths, slowest first.
    pub fn are(&self, chunk: &[u64]) -> bool {
        axes(chunk).is_ok_and(|lens| lens == self.lens)
    }

    /// How our own streams have the same blocks, if they can.
    pub fn coding(&self) -> Option<Coding> {
        let (prec, exponent) = (self.config.max_prec(), self.config.min_exp());
        let (least, most) = (self.config.min_bits(), self.config.max_bits());
        let coding = if exponent < zfp_rs::ZFP_MIN_EXP {
            Coding::Reversible
        } else if least == most {
            Coding::Rate(most as u16)
        } else if prec < zfp_rs::ZFP_MAX_PREC {
            Coding::Precision(prec as u16)
        } else {
            Coding::Accuracy(exponent as i16)
        };
        // Those of an expert may be none of these, and those of integers have no accuracy.
        let config = coding.config().ok()?;
        let numbers = |c: &ZfpConfig| (c.min_bits(), c.max_bits(), c.max_prec(), c.min_exp());
        let is_same = numbers(&config) == numbers(&self.config);
        (is_same && Coding::read(coding.to_bytes(), self.dtype()).is_ok()).then_some(coding)
    }

    /// The little-endian elements of a chunk.
    pub fn decode(&self, chunk: &[u8]) -> Result<Vec<u8>> {
        let words = words_of(chunk)?;
        by_type!(self.kind; decode(self, &words))
    }

    /// The chunk of these elements. `None` where it would not keep what `params` promise: the bound, that NaN and
    /// infinities come back, and missing values too, of which a rate or a precision promises nothing.
    pub fn encode(&self, params: &Params, elements: &[u8]) -> Result<Option<Vec<u8>>> {
        by_type!(self.kind; encode(self, params, elements))
    }

    /// One of our streams, lossless, of the array that a chunk restores, with the chunk's own blocks in it. `elements`
    /// are those of [`Chunks::decode`], `dims` the chunk's lengths. Tiles of which the blocks cannot be had so, if
    /// there are any, are compressed anew.
    pub fn take_over(&self, dims: &Dims, chunk: &[u8], elements: &[u8], threads: u32) -> Result<Vec<u8>> {
        if !self.are(dims.lens()) || elements.len() as u64 != dims.count() * self.dtype().size() as u64 {
            return fail!(InvalidArgument, "a chunk of {dims} is none of {:?}, fastest first", self.lens);
        }
        let words = words_of(chunk)?;
        by_type!(self.kind; take_over(self, dims, &words, elements, threads))
    }

    /// Whether the place of each block is known without the ones before it.
    pub fn has_places(&self) -> bool {
        matches!(self.coding(), Some(Coding::Rate(_)))
    }

    /// The same as [`Chunks::take_over`] without knowing the elements, for what is to be restored at once; `None` where
    /// blocks have no known places, or no room.
    pub fn in_tiles(&self, dims: &Dims, chunk: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.has_places() || !self.are(dims.lens()) {
            return Ok(None);
        }
        let blocks: usize = self.blocks().iter().product();
        let words = words_of(chunk)?;
        if (64 * words.len() as u64) < blocks as u64 * u64::from(self.config.max_bits()) {
            return fail!(Corrupt, "a chunk of {} bytes is said to have {blocks} blocks at a fixed rate", chunk.len());
        }
        let zeros = filled(dims.count() as usize * self.dtype().size(), 0u8)?;
        by_type!(self.kind; in_tiles(self, dims, &words, &zeros))
    }

    /// Elements.
    fn count(&self) -> Option<usize> {
        self.lens.iter().filter(|len| **len > 0).try_fold(1usize, |n, len| n.checked_mul(*len))
    }

    /// Blocks along each dimension; 1 along those that there are not.
    fn blocks(&self) -> [usize; MAX_AXES] {
        self.lens.map(|len| len.div_ceil(1 << BLOCK_LOG2).max(1))
    }
}

/// Lengths as zfp has them: those that are not 1, the fastest first.
fn axes(chunk: &[u64]) -> Result<[usize; MAX_AXES]> {
    let long = || chunk.iter().rev().filter(|len| **len > 1);
    if !(1..=MAX_AXES).contains(&long().count()) {
        return fail!(InvalidArgument, "filter H5Z-ZFP takes chunks with one to four lengths above 1, not {chunk:?}");
    }
    let mut lens = [0; MAX_AXES];
    lens.iter_mut().zip(long()).for_each(|(len, of)| *len = *of as usize);
    Ok(lens)
}

/// The words of a stream, whose last bytes may be less than one.
fn words_of(chunk: &[u8]) -> Result<Vec<u64>> {
    let mut words = filled(chunk.len().div_ceil(8), 0)?;
    for (word, bytes) in words.iter_mut().zip(chunk.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(whole);
    }
    Ok(words)
}

fn decode<E: Element>(chunks: &Chunks, words: &[u64]) -> Result<Vec<u8>> {
    let axes = chunks.lens.iter().filter(|len| **len > 0).count();
    // A block takes a bit at least, so the stream tells how many elements there can be.
    let most = (64 * words.len()).checked_shl(BLOCK_LOG2 * axes as u32);
    let Some(count) = chunks.count().filter(|count| most.is_some_and(|most| *count <= most)) else {
        return fail!(Corrupt, "a chunk of {} bytes is said to have lengths {:?}", 8 * words.len(), chunks.lens);
    };
    let _fpu = fpu::Guard::standard();
    let mut elements = filled(count, E::default())?;
    ZfpFieldMut::new(&mut elements, chunks.lens)
        .map_err(|e| e.to_string())
        .and_then(|mut field| {
            ZfpBitStreamRef::from_words(words).decompress(&chunks.config, &mut field).map_err(|e| e.to_string())
        })
        .map_err(|e| Error::new(ErrorKind::Corrupt, format!("a chunk of filter {ID}: {e}")))?;
    let mut bytes = filled(count * size_of::<E>(), 0)?;
    elements.iter().zip(bytes.chunks_exact_mut(size_of::<E>())).for_each(|(e, bytes)| e.store(false, bytes));
    Ok(bytes)
}

fn encode<E: Element>(chunks: &Chunks, params: &Params, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let size = size_of::<E>();
    if chunks.count().is_none_or(|count| bytes.len() != count * size) {
        return fail!(InvalidArgument, "{} bytes are no chunk of {:?}, fastest first", bytes.len(), chunks.lens);
    }
    let _fpu = fpu::Guard::standard();
    let mut elements = filled(bytes.len() / size, E::default())?;
    elements.iter_mut().zip(bytes.chunks_exact(size)).for_each(|(e, bytes)| *e = E::load(bytes, false));
    let is_reversible = chunks.coding() == Some(Coding::Reversible);
    let missing = params.missing.of_type(params.dtype)?;
    let is_missing = |e: &E| missing.bits().contains(&e.bits());
    let bound = if let Bound::Abs(bound) = params.bound { Some(bound) } else { None };
    // A missing value spoils its block, as far as no bound says what the others may become.
    let spoils = |e: &E| !e.is_finite() || (bound.is_none() && is_missing(e));
    if !is_reversible && elements.iter().any(spoils) {
        return Ok(None);
    }
    let most = chunks.config.maximum_size(chunks.kind, chunks.lens);
    let Some(most) = most else { return fail!(InvalidArgument, "lengths {:?} are too large for zfp", chunks.lens) };
    let blame = |e: String| Error::new(ErrorKind::Internal, format!("zfp cannot encode {:?}: {e}", chunks.lens));
    let mut words = filled(most.div_ceil(8), 0u64)?;
    let taken = ZfpField::new(&elements, chunks.lens)
        .map_err(|e| e.to_string())
        .and_then(|field| {
            let mut stream = zfp_rs::bitstream::ZfpBitStreamRefMut::from_words(&mut words);
            stream.compress(&chunks.config, &field).map_err(|e| e.to_string())
        })
        .map_err(blame)?;
    words.truncate(taken.div_ceil(8));
    if let Some(bound) = bound.filter(|_| !is_reversible) {
        let mut back = filled(elements.len(), E::default())?;
        let restored = decode::<E>(chunks, &words)?;
        back.iter_mut().zip(restored.chunks_exact(size)).for_each(|(e, bytes)| *e = E::load(bytes, false));
        let keeps = |(v, r): (&E, &E)| v.bits() == r.bits() || !(is_missing(v) || is_missing(r));
        if !all_within(&elements, &back, bound) || !elements.iter().zip(&back).all(keeps) {
            return Ok(None);
        }
    }
    Ok(Some(words.iter().flat_map(|word| word.to_le_bytes()).collect()))
}

fn take_over<E: Element>(
    chunks: &Chunks,
    dims: &Dims,
    words: &[u64],
    elements: &[u8],
    threads: u32,
) -> Result<Vec<u8>> {
    let (taken, mut header) = Taken::<E>::new(chunks, dims, words, true)?;
    let mut stream = filled(header.layout.max_stream_bytes()?, 0)?;
    let bytes = cpu::compress(&taken, &mut header, &[], ExecOptions::threads(threads).into(), elements, &mut stream)?;
    stream.truncate(bytes);
    Ok(stream)
}

fn in_tiles<E: Element>(chunks: &Chunks, dims: &Dims, words: &[u64], zeros: &[u8]) -> Result<Option<Vec<u8>>> {
    let (taken, mut header) = Taken::<E>::new(chunks, dims, words, false)?;
    let mut stream = filled(header.layout.max_stream_bytes()?, 0)?;
    let bytes = cpu::compress(&taken, &mut header, &[], ExecOptions::threads(0).into(), zeros, &mut stream)?;
    stream.truncate(bytes);
    Ok((!taken.lacks_room.load(Ordering::Relaxed)).then_some(stream))
}

/// Where each block begins, and the last one ends.
fn starts<E: Element>(chunks: &Chunks, words: &[u64]) -> Result<Vec<u64>> {
    let count: usize = chunks.blocks().iter().product();
    let mut starts = filled(count + 1, 0u64)?;
    if let Some(Coding::Rate(bits)) = chunks.coding() {
        starts.iter_mut().enumerate().for_each(|(n, start)| *start = n as u64 * u64::from(bits));
        return Ok(starts);
    }
    let axes = chunks.lens.iter().filter(|len| **len > 0).count();
    let dims = match axes {
        1 => ZfpDimensionality::D1,
        2 => ZfpDimensionality::D2,
        3 => ZfpDimensionality::D3,
        _ => ZfpDimensionality::D4,
    };
    let _fpu = fpu::Guard::standard();
    let mut block = [E::default(); 1 << (BLOCK_LOG2 as usize * MAX_AXES)];
    let mut stream = ZfpBitStreamRef::from_words(words);
    for n in 0..count {
        let read = decode_block(&mut stream, &chunks.config, &mut block[..1 << (BLOCK_LOG2 as usize * axes)], dims);
        let bits = read.map_err(|e| Error::new(ErrorKind::Internal, format!("block {n}: {e}")))?;
        starts[n + 1] = starts[n] + bits as u64;
    }
    Ok(starts)
}

/// A coder of tiles that takes their blocks from a chunk.
struct Taken<'a, E> {
    tiles: Tiles<E>,
    chunks: &'a Chunks,
    coding: Option<Coding>,
    words: &'a [u64],
    starts: Vec<u64>,
    /// Whether the elements are known, and tiles are compared with them.
    is_known: bool,
    /// Whether there is a tile whose blocks take more than its elements.
    lacks_room: AtomicBool,
}

impl<'a, E: Element> Taken<'a, E> {
    fn new(chunks: &'a Chunks, dims: &Dims, words: &'a [u64], is_known: bool) -> Result<(Taken<'a, E>, Header)> {
        let params = Params { codec: CODEC_ZFP, dims: *dims, ..Params::new(chunks.dtype()) };
        let long: Vec<usize> = (0..dims.rank()).filter(|k| dims.lens()[*k] > 1).collect();
        let geometry = Geometry::Tile { sides_log2: shape::sides_along(dims, &long) };
        let shape = Shape { dims: *dims, geometry, entries: EntryForm::Wide, ..Shape::line(dims.count()) };
        let (plan, header) = Plan::for_encoding(&params, &Layout::with(params.dtype, shape)?)?;
        let coding = chunks.coding();
        let starts = match coding {
            Some(_) => starts::<E>(chunks, words)?,
            None => Vec::new(),
        };
        let tiles = Tiles { plan, element: PhantomData };
        Ok((Taken { tiles, chunks, coding, words, starts, is_known, lacks_room: AtomicBool::new(false) }, header))
    }

    /// The blocks of a tile, each by its first bit and its bits.
    fn blocks(&self, c: usize) -> impl Iterator<Item = (u64, u64)> {
        let layout = &self.tiles.plan.layout;
        let tile = layout.tile(c);
        let (mut first, mut here) = ([0; MAX_AXES], [1; MAX_AXES]);
        let long = (0..layout.shape.dims.rank()).rev().filter(|k| layout.shape.dims.lens()[*k] > 1);
        for (a, k) in long.enumerate() {
            first[a] = tile.start()[k] as usize >> BLOCK_LOG2;
            here[a] = (tile.lens()[k] as usize).div_ceil(1 << BLOCK_LOG2);
        }
        let along = self.chunks.blocks();
        (0..here.iter().product()).map(move |mut n: usize| {
            let (mut block, mut step) = (0, 1);
            for a in 0..MAX_AXES {
                block += (first[a] + n % here[a]) * step;
                step *= along[a];
                n /= here[a];
            }
            (self.starts[block], self.starts[block + 1] - self.starts[block])
        })
    }
}

impl<E: Element> ChunkCodec for Taken<'_, E> {
    type Encoder = Coder<E>;
    type Decoder = Coder<E>;

    fn encoder(&self) -> Result<Coder<E>> {
        Coder::new()
    }

    fn decoder(&self) -> Result<Coder<E>> {
        Coder::new()
    }

    fn encode(&self, coder: &mut Coder<E>, data: Data, stores: StreamingStores, out: &mut [u8]) -> (Kind, usize) {
        let (c, bytes) = (data.chunk, data.bytes());
        let first = &bytes[..size_of::<E>()];
        let is_constant = self.is_known && bytes.chunks_exact(size_of::<E>()).all(|e| e == first);
        if let (Some(coding), false) = (self.coding, is_constant) {
            let plan = &self.tiles.plan;
            let lens = plan.axes.lens(plan.layout.tile(c).lens());
            let (blocks, known) = (self.blocks(c), self.is_known.then_some(bytes));
            let buffers = &mut coder.buffers;
            let made = tile::taken((plan, coding), lens, buffers, (bytes.len(), known), self.words, blocks, out);
            if let Some(n) = made {
                return (Kind::Packed, n);
            }
            self.lacks_room.fetch_or(true, Ordering::Relaxed);
        }
        self.tiles.encode(coder, data, stores, out)
    }

    fn decode(
        &self,
        coder: &mut Coder<E>,
        chunk: CodedChunk,
        ahead: &[u8],
        out: &mut [u8],
        past_caches: bool,
    ) -> Result<()> {
        self.tiles.decode(coder, chunk, ahead, out, past_caches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Mode;

    fn params(dtype: DType, bound: Bound) -> Params {
        Params { codec: CODEC_ZFP, ..Params::new(dtype).with_bound(bound) }
    }

    fn numbers(dtype: DType, count: usize) -> Vec<u8> {
        let wave = |i: usize| (i as f64 * 0.1).sin() * 1e4 + (i % 7) as f64;
        let bytes = |i| match dtype {
            DType::F32 => (wave(i) as f32).to_le_bytes().to_vec(),
            DType::F64 => wave(i).to_le_bytes().to_vec(),
            DType::I32 => (wave(i) as i32).to_le_bytes().to_vec(),
            _ => (wave(i) as i64).to_le_bytes().to_vec(),
        };
        (0..count).flat_map(bytes).collect()
    }

    const TYPES: [DType; 4] = [DType::F32, DType::F64, DType::I32, DType::I64];

    /// In every mode and of every rank: a chunk comes back by its `cd_values` alone, and what is taken over restores
    /// the same bits, with its blocks in tiles where they have room.
    #[test]
    fn chunks_are_read_and_taken_over() {
        let shapes: [&[u64]; 8] = [
            &[5000],
            &[1, 35, 3],
            &[130, 70],
            &[2, 3],
            &[30, 1, 20, 17],
            &[9, 10, 11, 12],
            &[40, 1, 1],
            &[4, 2, 1, 5, 6],
        ];
        for (n, (dtype, lens)) in TYPES.iter().flat_map(|t| shapes.iter().map(move |lens| (*t, *lens))).enumerate() {
            let data = numbers(dtype, lens.iter().product::<u64>() as usize);
            for bound in [Bound::Lossless, Bound::Rate(7.0), Bound::Rate(16.0), Bound::Precision(19), Bound::Abs(0.3)] {
                if bound.mode() == Mode::Abs && !dtype.is_float() {
                    continue;
                }
                let p = params(dtype, bound);
                let chunks = Chunks::new(&p, lens).unwrap();
                let again = Chunks::read(&chunks.words().unwrap()).unwrap();
                assert_eq!((again.coding(), again.lens, again.dtype()), (chunks.coding(), chunks.lens, dtype));
                let chunk = chunks.encode(&p, &data).unwrap().unwrap();
                let back = again.decode(&chunk).unwrap();
                assert!(bound != Bound::Lossless || back == data, "{n}");
                let dims = Dims::new(lens).unwrap();
                let stream = again.take_over(&dims, &chunk, &back, 1 + n as u32 % 2).unwrap();
                assert!(crate::decompress(&stream).unwrap() == back, "{dtype:?} {lens:?} {bound:?}");
                let tiles = again.in_tiles(&dims, &chunk).unwrap();
                assert!(tiles.is_none() || bound.mode() == Mode::Rate);
                assert!(tiles.is_none_or(|stream| crate::decompress(&stream).unwrap() == back), "{dtype:?} {lens:?}");
                // Reversible tiles of these integers and floats are larger than what was taken.
                if bound == Bound::Rate(7.0) && lens.len() == 2 && lens[0] == 130 {
                    assert!(again.in_tiles(&dims, &chunk).unwrap().is_some());
                    assert!(again.in_tiles(&dims, &chunk[..chunk.len() / 2]).is_err());
                    assert!(stream.len() < chunk.len() + chunk.len() / 5 + 400, "{} {}", stream.len(), chunk.len());
                }
            }
        }
    }

    #[test]
    fn what_a_chunk_cannot_keep_is_not_written() {
        let lens = [8u64, 8];
        let mut values = vec![1.5f32; 64];
        values[3] = -9999.0;
        let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let p = params(DType::F32, Bound::Precision(8));
        let chunks = Chunks::new(&p, &lens).unwrap();
        assert!(chunks.encode(&p, &bytes(&values)).unwrap().is_some());
        let missing = crate::MissingValues::of(&[crate::MissingValue::Number(-9999.0)]).unwrap();
        assert!(chunks.encode(&Params { missing, ..p }, &bytes(&values)).unwrap().is_none());
        let p = params(DType::F32, Bound::Abs(1e-3));
        values[3] = 1e30;
        assert!(Chunks::new(&p, &lens).unwrap().encode(&p, &bytes(&values)).unwrap().is_none());
        values[3] = f32::NAN;
        assert!(Chunks::new(&p, &lens).unwrap().encode(&p, &bytes(&values)).unwrap().is_none());
        let p = params(DType::F32, Bound::Lossless);
        let chunk = Chunks::new(&p, &lens).unwrap().encode(&p, &bytes(&values)).unwrap().unwrap();
        assert!(Chunks::new(&p, &lens).unwrap().decode(&chunk).unwrap() == bytes(&values));
        for (p, lens) in [
            (params(DType::F32, Bound::Rel(0.1)), &lens[..]),
            (params(DType::U8, Bound::Lossless), &lens),
            (p, &[1, 1]),
        ] {
            assert!(Chunks::new(&p, lens).is_err(), "{lens:?}");
        }
    }

    /// Whatever is damaged is refused, or restored the same way by both.
    #[test]
    fn damaged_chunks_and_headers() {
        let lens = [9u64, 10, 11];
        let (dims, mut state) = (Dims::new(&lens).unwrap(), 7u64);
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        let (mut read, mut restored) = (0, 0);
        for round in 0..if cfg!(miri) { 4 } else { 2000 } {
            let dtype = TYPES[round % 4];
            let bounds = [Bound::Lossless, Bound::Rate(9.0), Bound::Precision(11), Bound::Rate(3.5)];
            let p = params(dtype, bounds[round / 4 % 4]);
            let chunks = Chunks::new(&p, &lens).unwrap();
            let mut words = chunks.words().unwrap();
            let mut chunk = chunks.encode(&p, &numbers(dtype, 990)).unwrap().unwrap();
            match round % 3 {
                0 => {
                    let k = 1 + random(words.len() - 1);
                    words[k] ^= 1 << random(32);
                }
                1 => chunk.truncate(random(chunk.len())),
                _ => (0..3).for_each(|_| {
                    let k = random(chunk.len());
                    chunk[k] ^= 1 << random(8);
                }),
            }
            let Ok(chunks) = Chunks::read(&words) else { continue };
            read += 1;
            let Ok(elements) = chunks.decode(&chunk) else { continue };
            let tiles = chunks.in_tiles(&dims, &chunk);
            if !chunks.are(&lens) {
                continue;
            }
            restored += 1;
            let stream = chunks.take_over(&dims, &chunk, &elements, 1).unwrap();
            assert!(crate::decompress(&stream).unwrap() == elements, "{round}");
            if let Ok(Some(stream)) = tiles {
                assert!(crate::decompress(&stream).unwrap() == elements, "{round}");
            }
        }
        assert!(cfg!(miri) || (read > 1000 && restored > 500), "{read} {restored}");
    }

    #[test]
    fn cd_values_that_are_none() {
        for words in [&[][..], &[VERSIONS], &[VERSIONS, 1, 2, 3], &[VERSIONS, 91252346]] {
            assert_eq!(Chunks::read(words).unwrap_err().kind, ErrorKind::Corrupt, "{words:?}");
        }
        // Those of hdf5plugin: a precision, or whatever it has without one; and an accuracy.
        let expert = Chunks::read(&[269504785, 91252346, 15728890, 4293918960, 3767042048, 493487]).unwrap();
        assert_eq!(expert.words().unwrap(), [269504785, 91252346, 15728890, 4293918960, 3767042048, 493487]);
        let accuracy = Chunks::read(&[269504785, 91252346, 15728891, 3398434928]).unwrap();
        assert!(matches!(accuracy.coding(), Some(Coding::Accuracy(_))) && accuracy.dtype() == DType::F64);
        assert_eq!(accuracy.words().unwrap(), [269504785, 91252346, 15728891, 3398434928]);
        // A chunk that has less than its header says.
        assert!(accuracy.decode(&[255; 8]).is_err());
    }
}
