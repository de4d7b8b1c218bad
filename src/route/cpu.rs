//! Calls on arrays and streams in host memory, whatever their codec.

use super::limits::{Inside, Put, ROUNDS};
use crate::codec::{self, Codec, Info, ShowChunk};
use crate::container::{Header, Index, Layout, MAX_RANK, Region, Wanted};
use crate::dtype::DType;
use crate::error::{Kind, Result, fail};
use crate::exec::{self, ExecOptions};
use crate::host::memory::{Heap, filled, reserve};
use crate::missing::Missing;
use crate::missing::sentinel::{self, ElementSample};
use crate::params::{Bound, Params};

/// The most bytes that a stream of `count` elements can take, with as many missing values as may be found.
fn most_bytes(codec: &dyn Codec, params: &Params, count: u64) -> Result<usize> {
    let missing = match sentinel::is_wanted(params)? || params.limits.is_some() {
        true => Missing::most(),
        false => params.missing.of_type(params.dtype)?,
    };
    codec::layout_with(codec, params, missing, count)?.max_stream_bytes()
}

/// The layout of the stream of `src`; refuses less room than header and index take. Takes nothing of the caller's
/// stack; never inlined, so that nothing of the way there stays either.
#[inline(never)]
fn layout_of(codec: &dyn Codec, params: &Params, src: &[u8], room: usize) -> Result<Heap<Layout>> {
    let size = params.dtype.size();
    if !src.len().is_multiple_of(size) {
        let (bytes, name) = (src.len(), params.dtype.name());
        return fail!(InvalidArgument, "{bytes} bytes are not a whole number of {name} elements");
    }
    let missing = params.missing.of_type(params.dtype)?;
    let layout = Heap::new(codec::layout_with(codec, params, missing, (src.len() / size) as u64)?)?;
    if room >= layout.bodies_at() {
        return Ok(layout);
    }
    let enough = most_bytes(codec, params, layout.count)?;
    fail!(BufferTooSmall, "{room} bytes; header and index take {}, {enough} are always enough", layout.bodies_at())
}

/// The most bytes a stream of `count` elements can take.
pub fn compress_bound(params: &Params, count: usize) -> Result<usize> {
    most_bytes(codec::chosen(params)?, params, count as u64)
}

/// See [`crate::compress_into`]; of `params` and `options` only the latter counts for threads.
pub fn compress_into(params: &Params, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
    compress_by(codec::chosen(params)?, params, src, dst, options)
}

/// The stream of `src` in what `allocate` gives for so many bytes, and its own bytes. The codec was chosen for
/// `params`, which are checked then.
pub fn compress_to<B: AsMut<[u8]>>(
    codec: &dyn Codec,
    params: &Params,
    src: &[u8],
    options: ExecOptions,
    allocate: impl FnOnce(usize) -> Result<B>,
) -> Result<(B, usize)> {
    let mut dst = allocate(most_bytes(codec, params, (src.len() / params.dtype.size()) as u64)?)?;
    let n = compress_by(codec, params, src, dst.as_mut(), options)?;
    Ok((dst, n))
}

/// [`compress_into`] by the codec that was chosen for `params`.
///
/// Undeclared fill values are searched for before the array is encoded; where a sample has no sign of any, only if the
/// ends that the codec tells leave a doubt. The array is encoded once more then if there is something.
fn compress_by(codec: &dyn Codec, params: &Params, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
    exec::check_environment()?;
    if !sentinel::is_wanted(params)? {
        return encode(codec, params, src, dst, options);
    }
    let Some(sample) = (if params.bound.measures() { None } else { sample(codec, params, src)? }) else {
        return encode(codec, &*declared(params, src, true)?, src, dst, options);
    };
    let layout = &*layout_of(codec, params, src, dst.len())?;
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
    if is_something { encode(codec, found, src, dst, options) } else { Ok(told?.0) }
}

/// A sample of an array where the codec tells what the whole lies between, and the sample has no sign of a mark. Never
/// inlined, so that nothing of it stays on the stack.
#[inline(never)]
pub fn sample(codec: &dyn Codec, params: &Params, src: &[u8]) -> Result<Option<ElementSample>> {
    let tells = params.limits.is_none() && codec.cpu().tells_ends(params);
    match tells && src.len().is_multiple_of(params.dtype.size()) {
        true => ElementSample::of(params, src),
        false => Ok(None),
    }
}

/// The request with what the search finds; there may be none but numbers. Takes nothing of the caller's stack; never
/// inlined, as `layout_of`.
#[inline(never)]
fn declared(params: &Params, src: &[u8], may_have_specials: bool) -> Result<Heap<Params>> {
    Heap::new(match may_have_specials {
        true => sentinel::declared(params.clone(), src)?,
        false => sentinel::declared_but_specials(params.clone(), src)?.0,
    })
}

/// Encodes an array for which all is declared. Where it has limits, what leaves them is put at them and the array is
/// encoded anew, round after round as others leave then.
fn encode(codec: &dyn Codec, params: &Params, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
    let mut n = encode_once(codec, params, src, dst, options)?;
    let Some(limits) = params.limits.filter(|_| params.bound.mode().has_bound()) else { return Ok(n) };
    let Some(mut inside) = Inside::new(params, limits, &Header::read(&dst[..n])?, src)? else { return Ok(n) };
    for _ in 0..ROUNDS {
        Stream::open(&dst[..n])?.decompress_into(&mut inside.back, options)?;
        match inside.put(src)? {
            Put::Nothing => return Ok(n),
            Put::All => n = encode_once(codec, &inside.params, &inside.array, dst, options)?,
            Put::NoRoom => break,
        }
    }
    // There is no room for the limits, or always another one that leaves.
    inside.params.bound = Bound::Lossless;
    encode_once(codec, &inside.params, src, dst, options)
}

/// The same whatever the limits.
fn encode_once(codec: &dyn Codec, params: &Params, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
    let layout = &*layout_of(codec, params, src, dst.len())?;
    codec.cpu().compress(params, layout, src, dst, options)
}

/// [`crate::compress_into`] a new buffer of the right size.
pub fn compress(params: &Params, src: &[u8]) -> Result<Vec<u8>> {
    let options = ExecOptions::threads(params.threads);
    let (mut dst, n) = compress_to(codec::chosen(params)?, params, src, options, |bytes| filled(bytes, 0u8))?;
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
        self.restore(dst, options, |header| Ok(header.layout.all()))
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

    /// Restores what `wanted` says of the stream's header; returns the bytes written.
    pub fn restore(
        &self,
        dst: &mut [u8],
        options: ExecOptions,
        wanted: impl FnOnce(&Header) -> Result<Wanted>,
    ) -> Result<usize> {
        exec::check_environment()?;
        let (header, codec) = &*self.opened;
        let index = Index::again(header, self.bytes);
        let wanted = wanted(header)?;
        let bytes = wanted.count() as usize * header.layout.dtype.size();
        if dst.len() < bytes {
            return fail!(BufferTooSmall, "{} bytes; {} elements take {bytes}", dst.len(), wanted.count());
        }
        codec.cpu().decompress(&index, &wanted, &mut dst[..bytes], options)?;
        Ok(bytes)
    }
}

/// See [`crate::decompress_into`].
pub fn decompress_into(src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
    Stream::open(src)?.decompress_into(dst, options)
}

/// [`decompress_into`] a new buffer of the right size.
pub fn decompress(src: &[u8]) -> Result<Vec<u8>> {
    let stream = Stream::open(src)?;
    let mut dst = filled(stream.held().bytes, 0u8)?;
    stream.decompress_into(&mut dst, ExecOptions::threads(0))?;
    Ok(dst)
}

/// See [`crate::decompress_range_into`]; returns the bytes written.
pub fn decompress_range_into(src: &[u8], first: u64, count: usize, dst: &mut [u8]) -> Result<usize> {
    Stream::open(src)?.restore(dst, ExecOptions::threads(0), |header| range(header, first, count as u64))
}

/// Restores every 2^`level`-th element along each of the last three axes: those whose places are multiples of it. Of
/// `part`, where a box begins and its lengths, or of the whole array. They are those of [`decompress_into`]: for a box
/// from a to b along an axis the ceil(b / 2^level) − ceil(a / 2^level) of them, without gaps.
///
/// Codec interp decodes the leading levels of a tile alone; others decode chunk by chunk, and never hold the array.
pub fn decompress_coarse_into(src: &[u8], level: u32, part: Option<(&[u64], &[u64])>, dst: &mut [u8]) -> Result<usize> {
    Stream::open(src)?.restore(dst, ExecOptions::threads(0), |header| coarse(header, level, part))
}

/// Restores whole chunks, whose numbers rise, one behind the other; returns the bytes written. Only groups of 64 chunks
/// that have one of them are looked at. `container::Layout` tells which elements a chunk has, `chunk_ranges` what
/// they are.
pub fn decompress_chunks_into(src: &[u8], numbers: &[u64], dst: &mut [u8]) -> Result<usize> {
    Stream::open(src)?.restore(dst, ExecOptions::threads(0), |header| whole_chunks(&header.layout, numbers))
}

/// What of a stream's array, or of a box of it, is on the grid of a level.
pub fn coarse(header: &Header, level: u32, part: Option<(&[u64], &[u64])>) -> Result<Wanted> {
    let dims = &header.layout.shape.dims;
    if level == 0 && part.is_none() {
        return Ok(header.layout.all());
    }
    let (start, lens) = part.unwrap_or((&[0; MAX_RANK][..dims.rank()], dims.lens()));
    Wanted::on_grid(Region::new(dims, start, lens)?, level)
}

/// Elements `first .. first + count` of a stream's array.
pub fn range(header: &Header, first: u64, count: u64) -> Result<Wanted> {
    let all = header.layout.count;
    match first.checked_add(count).filter(|end| *end <= all) {
        Some(_) => Ok(Wanted::Range { first, count }),
        None => fail!(OutOfRange, "{count} elements from {first} on; the array has {all}"),
    }
}

/// Chunks of an array of `layout`.
fn whole_chunks(layout: &Layout, numbers: &[u64]) -> Result<Wanted> {
    let (mut starts, mut count) = (Vec::new(), 0);
    reserve(&mut starts, numbers.len())?;
    for number in numbers {
        let Some(c) = usize::try_from(*number).ok().filter(|c| *c < layout.chunks) else {
            return fail!(OutOfRange, "chunk {number}; the stream has {}", layout.chunks);
        };
        if let Some((before, _)) = starts.last().filter(|(before, _)| *before >= c) {
            return fail!(InvalidArgument, "chunk {c} behind chunk {before}; numbers must rise");
        }
        starts.push((c, count));
        count += (layout.chunk_raw_bytes(c) / layout.dtype.size()) as u64;
    }
    Ok(Wanted::Chunks { starts, count })
}

/// Reads a stream's header and index, after verifying their checksum. `src` may go on after the stream's end.
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
