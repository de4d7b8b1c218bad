//! Calls on arrays and streams in host memory, whatever their codec.

use super::limits;
use crate::codec::{self, Codec, Info, ShowChunk};
use crate::container::{Header, Index, Layout, MAX_RANK, Region, Wanted};
use crate::dtype::DType;
use crate::error::{Kind, Result, fail};
use crate::exec::{self, ExecOptions};
use crate::host::memory::{Heap, filled};
use crate::missing::Missing;
use crate::missing::sentinel::{self, ElementSample};
use crate::params::Params;

/// The layout with as many missing values as may be found.
fn largest_layout(params: &Params, count: u64) -> Result<Layout> {
    match sentinel::is_wanted(params)? || params.limits.is_some() {
        true => codec::layout_with(codec::chosen(params)?, params, Missing::most(), count),
        false => codec::layout(params, count),
    }
}

/// The layout of the stream of `src`. Takes nothing of the caller's stack; never inlined, so that nothing of the way
/// there stays either.
#[inline(never)]
fn layout_of(codec: &dyn Codec, params: &Params, src: &[u8]) -> Result<Heap<Layout>> {
    let size = params.dtype.size();
    if !src.len().is_multiple_of(size) {
        let (bytes, name) = (src.len(), params.dtype.name());
        return fail!(InvalidArgument, "{bytes} bytes are not a whole number of {name} elements");
    }
    Heap::new(codec::layout_with(codec, params, params.missing.of_type(params.dtype)?, (src.len() / size) as u64)?)
}

/// See [`crate::compress_bound`].
pub fn compress_bound(params: &Params, count: usize) -> Result<usize> {
    largest_layout(params, count as u64)?.max_stream_bytes()
}

/// See [`crate::compress_into`]; of `params` and `options` only the latter counts for threads.
pub fn compress_into(params: &Params, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
    exec::check_environment()?;
    if !sentinel::is_wanted(params)? {
        return encode(params, src, dst, options);
    }
    match if params.bound.measures() { None } else { sample(params, src)? } {
        Some((codec, sample)) => encode_searched(codec, params, &sample, src, dst, options),
        None => encode(&*declared(params, src, true)?, src, dst, options),
    }
}

/// The stream of `src` in what `allocate` gives for so many bytes, and its own bytes.
pub fn compress_to<B: AsMut<[u8]>>(
    params: &Params,
    src: &[u8],
    options: ExecOptions,
    allocate: impl FnOnce(usize) -> Result<B>,
) -> Result<(B, usize)> {
    let mut dst = allocate(compress_bound(params, src.len() / params.dtype.size())?)?;
    let n = compress_into(params, src, dst.as_mut(), options)?;
    Ok((dst, n))
}

/// A sample of an array where the codec tells what the whole lies between, and the sample has no sign of a mark. Never
/// inlined, so that nothing of it stays on the stack.
#[inline(never)]
pub fn sample(params: &Params, src: &[u8]) -> Result<Option<(&'static dyn Codec, ElementSample)>> {
    let codec = codec::chosen(params)?;
    let tells = params.limits.is_none() && codec.cpu().tells_ends(params);
    match tells && src.len().is_multiple_of(params.dtype.size()) {
        true => Ok(ElementSample::of(params, src)?.map(|sample| (codec, sample))),
        false => Ok(None),
    }
}

/// Encodes an array as if there were nothing to be found. Only where the ends that the codec tells leave a doubt is the
/// array searched, and encoded once more if there is something.
fn encode_searched(
    codec: &dyn Codec,
    params: &Params,
    sample: &ElementSample,
    src: &[u8],
    dst: &mut [u8],
    options: ExecOptions,
) -> Result<usize> {
    let layout = &*layout_of(codec, params, src)?;
    check_room(params, layout, dst.len())?;
    let told = match codec.cpu().compress_told(params, layout, src, dst, options) {
        Err(e) if e.kind == Kind::BufferTooSmall => Err(e), // masks may make it shorter
        told => Ok(told?),
    };
    if let Ok((n, ends)) = told
        && sample.clears(params, ends, src)?
    {
        return Ok(n);
    }
    let are_numbers = told.as_ref().is_ok_and(|(_, ends)| ends.are_numbers());
    let found = &*declared(params, src, !are_numbers)?;
    let is_something = found.exact || found.missing.iter().count() > params.missing.iter().count();
    if is_something { encode_once(found, src, dst, options) } else { Ok(told?.0) }
}

/// The request with what the search finds; there may be none but numbers. Takes nothing of the caller's stack; never
/// inlined, as `layout_on_heap`.
#[inline(never)]
fn declared(params: &Params, src: &[u8], may_have_specials: bool) -> Result<Heap<Params>> {
    codec::chosen(params)?;
    Heap::new(match may_have_specials {
        true => sentinel::declared(params.clone(), src)?,
        false => sentinel::declared_but_specials(params.clone(), src)?.0,
    })
}

/// Encodes an array for which all is declared.
fn encode(params: &Params, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
    let Some(limits) = params.limits else { return encode_once(params, src, dst, options) };
    let encode = |params: &Params, src: &[u8], dst: &mut [u8]| encode_once(params, src, dst, options);
    let restore = |stream: &[u8], dst: &mut [u8]| Stream::open(stream)?.decompress_into(dst, options).map(|_| ());
    limits::compress_into(params, limits, src, dst, encode, restore)
}

/// The same whatever the limits.
fn encode_once(params: &Params, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
    let codec = codec::chosen(params)?;
    let layout = &*layout_of(codec, params, src)?;
    check_room(params, layout, dst.len())?;
    codec.cpu().compress(params, layout, src, dst, options)
}

/// Refuses less room than header and index take.
fn check_room(params: &Params, layout: &Layout, have: usize) -> Result<()> {
    if have >= layout.bodies_at() {
        return Ok(());
    }
    let enough = largest_layout(params, layout.count)?.max_stream_bytes()?;
    fail!(BufferTooSmall, "{have} bytes; header and index take {}, {enough} are always enough", layout.bodies_at())
}

/// See [`crate::compress`].
pub fn compress(params: &Params, src: &[u8]) -> Result<Vec<u8>> {
    let options = ExecOptions::threads(params.threads);
    let (mut dst, n) = compress_to(params, src, options, |bytes| filled(bytes, 0u8))?;
    dst.truncate(n);
    dst.shrink_to_fit();
    Ok(dst)
}

/// The header of a stream, and its codec.
type Opened = (Header, &'static dyn Codec);

/// The verified header of a stream that ends where `src` does, and its codec.
fn open(src: &[u8]) -> Result<Opened> {
    let header = Header::read(src)?;
    let codec = codec::by_id(header.codec)?;
    if (src.len() as u64) > header.stream_bytes {
        return fail!(Corrupt, "{} bytes follow the end of the stream", src.len() as u64 - header.stream_bytes);
    }
    Ok((header, codec))
}

/// What a stream restores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Bytes of the array.
    pub bytes: usize,
    /// The type of its elements.
    pub dtype: DType,
    /// Their byte order.
    pub big_endian: bool,
}

/// A stream whose header and index were read and verified, once for all that is asked of it.
pub struct Stream<'a> {
    opened: Heap<Opened>,
    bytes: &'a [u8],
}

impl<'a> Stream<'a> {
    /// The stream that `src` is. Takes nothing of the caller's stack; never inlined, as `layout_on_heap`.
    #[inline(never)]
    pub fn open(src: &'a [u8]) -> Result<Stream<'a>> {
        let stream = Stream { opened: Heap::new(open(src)?)?, bytes: src };
        Index::new(&stream.opened.0, src)?;
        Ok(stream)
    }

    /// What it restores. Each chunk of the index has a body in the stream, so this cannot be more than what so many
    /// bodies can restore, whatever the header says: memory for it may be asked for.
    pub fn held(&self) -> Held {
        let header = &self.opened.0;
        let Layout { dtype, raw_bytes, .. } = header.layout;
        Held { bytes: raw_bytes as usize, dtype, big_endian: header.big_endian }
    }

    /// See [`crate::decompress_into`].
    pub fn decompress_into(&self, dst: &mut [u8], options: ExecOptions) -> Result<usize> {
        self.restore(dst, options, |layout| Ok(Wanted::Range { first: 0, count: layout.count }))
    }

    /// Its header.
    pub fn header(&self) -> &Header {
        &self.opened.0
    }

    /// Shows the bytes of each chunk, by its number, in whatever order and from several threads.
    pub fn each_chunk(&self, options: ExecOptions, show: ShowChunk) -> Result<()> {
        exec::check_environment()?;
        let (header, codec) = &*self.opened;
        codec.cpu().each_chunk(&Index::again(header, self.bytes), options, show)
    }

    /// Restores what `wanted` says of the stream's layout; returns the bytes written.
    pub fn restore(
        &self,
        dst: &mut [u8],
        options: ExecOptions,
        wanted: impl FnOnce(&Layout) -> Result<Wanted>,
    ) -> Result<usize> {
        exec::check_environment()?;
        let (header, codec) = &*self.opened;
        let index = Index::again(header, self.bytes);
        let wanted = wanted(&header.layout)?;
        let bytes = wanted.count() as usize * header.layout.dtype.size();
        if dst.len() < bytes {
            return fail!(BufferTooSmall, "{} bytes; {} elements take {bytes}", dst.len(), wanted.count());
        }
        codec.cpu().decompress(&index, &wanted, &mut dst[..bytes], options)?;
        Ok(bytes)
    }
}

/// Bytes of the array, for one who is about to allocate them.
pub fn raw_bytes(src: &[u8]) -> Result<usize> {
    Ok(Stream::open(src)?.held().bytes)
}

/// See [`crate::decompress_into`].
pub fn decompress_into(src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
    Stream::open(src)?.decompress_into(dst, options)
}

/// See [`crate::decompress`].
pub fn decompress(src: &[u8]) -> Result<Vec<u8>> {
    let stream = Stream::open(src)?;
    let mut dst = filled(stream.held().bytes, 0u8)?;
    stream.decompress_into(&mut dst, ExecOptions::threads(0))?;
    Ok(dst)
}

/// See [`crate::decompress_range_into`]; returns the bytes written.
pub fn decompress_range_into(src: &[u8], first: u64, count: usize, dst: &mut [u8]) -> Result<usize> {
    Stream::open(src)?.restore(dst, ExecOptions::threads(0), |layout| range(layout, first, count as u64))
}

/// See [`crate::decompress_box_into`]; returns the bytes written.
pub fn decompress_box_into(src: &[u8], start: &[u64], lens: &[u64], dst: &mut [u8]) -> Result<usize> {
    decompress_coarse_into(src, 0, Some((start, lens)), dst)
}

/// See [`crate::decompress_coarse_into`]; returns the bytes written.
pub fn decompress_coarse_into(src: &[u8], level: u32, part: Option<(&[u64], &[u64])>, dst: &mut [u8]) -> Result<usize> {
    let coarse = |layout: &Layout| coarse(layout, level, part);
    Stream::open(src)?.restore(dst, ExecOptions::threads(0), coarse)
}

/// What of an array of `layout`, or of a box of it, is on the grid of a level.
pub fn coarse(layout: &Layout, level: u32, part: Option<(&[u64], &[u64])>) -> Result<Wanted> {
    let dims = &layout.shape.dims;
    if level == 0 && part.is_none() {
        return range(layout, 0, layout.count);
    }
    let (start, lens) = part.unwrap_or((&[0; MAX_RANK][..dims.rank()], dims.lens()));
    Wanted::on_grid(Region::new(dims, start, lens)?, level)
}

/// Elements `first .. first + count` of an array of `layout`.
pub fn range(layout: &Layout, first: u64, count: u64) -> Result<Wanted> {
    match first.checked_add(count).filter(|end| *end <= layout.count) {
        Some(_) => Ok(Wanted::Range { first, count }),
        None => fail!(OutOfRange, "{count} elements from {first} on; the array has {}", layout.count),
    }
}

/// See [`crate::inspect`].
pub fn inspect(src: &[u8]) -> Result<Info> {
    let header = Header::read(src)?;
    let index = Index::new(&header, src)?;
    let layout = &header.layout;
    let mut info = Info {
        version: crate::container::constants::VERSION,
        codec: header.codec,
        dtype: layout.dtype,
        mode: header.mode,
        profile: codec::profile_of(&header),
        big_endian: header.big_endian,
        count: layout.count,
        raw_bytes: layout.raw_bytes,
        stream_bytes: header.stream_bytes,
        bound: header.bound,
        range: header.range,
        abs_bound: header.abs_bound,
        dims: layout.shape.dims,
        missing: layout.shape.missing,
        step: 0.0,
        chunks: index.kinds(),
        details: Vec::new(),
    };
    codec::by_id(header.codec)?.cpu().inspect(&index, &mut info)?;
    Ok(info)
}
