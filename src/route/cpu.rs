//! Calls on arrays and streams in host memory, whatever their codec.

use std::ops::ControlFlow;

use super::limits::{Inside, Put, ROUNDS};
use crate::codec::{self, Codec, Info, ShowChunk};
use crate::container::{Header, Index, Layout, MAX_RANK, Region, Wanted};
use crate::error::{Kind, Result, fail};
use crate::exec::{self, ExecOptions};
use crate::host::fpu;
use crate::host::memory::{Heap, filled, gathered, reserve};
use crate::missing::Missing;
use crate::missing::sentinel::{self, ElementSample};
use crate::params::{Bound, Params};

/// A request that was checked, and the codec that does it.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// What is asked for.
    pub params: &'a Params,
    /// Chosen for it.
    pub codec: &'static dyn Codec,
}

impl<'a> Request<'a> {
    /// Checks `params`, once for all that is done with them.
    pub fn new(params: &'a Params) -> Result<Request<'a>> {
        Ok(Request { params, codec: codec::chosen(params)? })
    }

    /// The same with what was found in an array.
    pub fn with(self, params: &Params) -> Request<'_> {
        Request { params, ..self }
    }

    /// The layout of the stream of `count` elements.
    pub fn layout(&self, count: usize) -> Result<Layout> {
        codec::layout_with(self.codec, self.params, self.params.missing.of_type(self.params.dtype)?, count as u64)
    }

    /// The most bytes that the stream of `count` elements can take, with as many missing values as may be found.
    pub fn most_bytes(&self, count: usize) -> Result<usize> {
        let missing = match sentinel::is_wanted(self.params)? || self.params.limits.is_some() {
            true => Missing::most(),
            false => self.params.missing.of_type(self.params.dtype)?,
        };
        codec::layout_with(self.codec, self.params, missing, count as u64)?.max_stream_bytes()
    }

    /// The stream of `src` in what `allocate` gives for so many bytes, and its own bytes.
    pub fn compress_to<B: AsMut<[u8]>>(
        &self,
        src: &[u8],
        options: ExecOptions,
        allocate: impl FnOnce(usize) -> Result<B>,
    ) -> Result<(B, usize)> {
        let mut dst = allocate(self.most_bytes(src.len() / self.params.dtype.size())?)?;
        let n = self.compress(src, dst.as_mut(), options)?;
        Ok((dst, n))
    }

    /// See [`crate::compress_into`]; of the request and `options` only the latter counts for threads.
    pub fn compress(&self, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
        let _fpu = fpu::Guard::standard();
        exec::check_environment()?;
        if !sentinel::is_wanted(self.params)? {
            return self.encode(src, dst, options);
        }
        match self.searched(src, dst, options)? {
            ControlFlow::Break(n) => Ok(n),
            ControlFlow::Continue(found) => self.with(&found).encode(src, dst, options),
        }
    }

    /// What is asked for with the undeclared fill values of an array; or the bytes of its stream, if there are none.
    /// Where a sample has no sign of any, the array is encoded at once. It is searched then only if the ends that the
    /// codec tells leave a doubt.
    fn searched(&self, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<ControlFlow<usize, Heap<Params>>> {
        let mut told = None;
        if let Some(sample) = if self.params.bound.measures() { None } else { self.sample(src)? } {
            let layout = &*self.layout_of(src.len(), dst.len())?;
            told = Some(match self.codec.cpu().compress_told(self.params, layout, src, dst, options) {
                Err(e) if e.kind == Kind::BufferTooSmall => Err(e), // masks may make it shorter
                told => Ok(told?),
            });
            if let Some(Ok((n, ends))) = told
                && sample.clears(self.params, ends, src)?
            {
                return Ok(ControlFlow::Break(n));
            }
        }
        let are_numbers = matches!(told, Some(Ok((_, ends))) if ends.are_numbers());
        let found = self.declared(src, !are_numbers)?;
        let is_nothing = !found.exact && found.missing.iter().count() == self.params.missing.iter().count();
        match told {
            Some(told) if is_nothing => told.map(|(n, _)| ControlFlow::Break(n)),
            _ => Ok(ControlFlow::Continue(found)),
        }
    }

    /// A sample of an array where the codec tells what the whole lies between, and the sample has no sign of a mark.
    /// Never inlined, so that nothing of it stays on the stack.
    #[inline(never)]
    pub fn sample(&self, src: &[u8]) -> Result<Option<ElementSample>> {
        let tells = self.params.limits.is_none() && self.codec.cpu().tells_ends(self.params);
        match tells && src.len().is_multiple_of(self.params.dtype.size()) {
            true => ElementSample::of(self.params, src),
            false => Ok(None),
        }
    }

    /// What is asked for with what the search finds; there may be none but numbers. Takes nothing of the caller's
    /// stack; never inlined, as `layout_of`.
    #[inline(never)]
    pub fn declared(&self, src: &[u8], may_have_specials: bool) -> Result<Heap<Params>> {
        Heap::new(match may_have_specials {
            true => sentinel::declared(self.params.clone(), src)?,
            false => sentinel::declared_but_specials(self.params.clone(), src)?.0,
        })
    }

    /// Encodes an array for which all is declared. Where it has limits, what leaves them is put at them and the array
    /// is encoded anew, round after round as others leave then.
    fn encode(&self, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
        let mut n = self.encode_once(src, dst, options)?;
        let Some(inside) = &mut self.inside(src, &dst[..n])? else { return Ok(n) };
        for _ in 0..ROUNDS {
            Stream::open(&dst[..n])?.decompress_into(&mut inside.back, options)?;
            match inside.put(src)? {
                Put::Nothing => return Ok(n),
                Put::All => n = self.with(&inside.params).encode_once(&inside.array, dst, options)?,
                Put::NoRoom => break,
            }
        }
        // There is no room for the limits, or always another one that leaves.
        inside.params.bound = Bound::Lossless;
        self.with(&inside.params).encode_once(src, dst, options)
    }

    /// Encodes an array, whatever its limits.
    fn encode_once(&self, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
        let layout = &*self.layout_of(src.len(), dst.len())?;
        self.codec.cpu().compress(self.params, layout, src, dst, options)
    }

    /// An array of which the stream may have left limits. Takes nothing of the caller's stack; never inlined, as
    /// `layout_of`.
    #[inline(never)]
    fn inside(&self, src: &[u8], stream: &[u8]) -> Result<Option<Heap<Inside>>> {
        match &self.params.limits {
            Some(limits) if self.params.bound.mode().has_bound() => {
                Inside::new(self.params, self.codec, limits, &Header::read(stream)?, src)
            }
            _ => Ok(None),
        }
    }

    /// The layout of the stream of so many `bytes`; refuses less room than header and index take. Takes nothing of the
    /// caller's stack; never inlined, so that nothing of the way there stays either.
    #[inline(never)]
    fn layout_of(&self, bytes: usize, room: usize) -> Result<Heap<Layout>> {
        let dtype = self.params.dtype;
        if !bytes.is_multiple_of(dtype.size()) {
            return fail!(InvalidArgument, "{bytes} bytes are not a whole number of {} elements", dtype.name());
        }
        let layout = Heap::new(self.layout(bytes / dtype.size())?)?;
        self.refuse_less(room, &layout)?;
        Ok(layout)
    }

    /// Refuses less room than header and index take.
    pub fn refuse_less(&self, room: usize, layout: &Layout) -> Result<()> {
        let least = layout.bodies_at();
        if room >= least {
            return Ok(());
        }
        let enough = self.most_bytes(layout.count as usize)?;
        fail!(BufferTooSmall, "{room} bytes; header and index take {least}, {enough} are always enough")
    }
}

/// The most bytes a stream of `count` elements can take.
pub fn compress_bound(params: &Params, count: usize) -> Result<usize> {
    Request::new(params)?.most_bytes(count)
}

/// [`crate::compress_into`] a new buffer of the right size.
pub fn compress(params: &Params, src: &[u8]) -> Result<Vec<u8>> {
    let options = ExecOptions::threads(params.threads);
    let (dst, n) = Request::new(params)?.compress_to(src, options, |bytes| filled(bytes, 0u8))?;
    gathered(dst[..n].iter().copied())
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

    /// Bytes of the array, for which memory may be asked, whatever the header says: each chunk of the index has a body
    /// in the stream, so they are no more than so many bodies can restore.
    pub fn raw_bytes(&self) -> usize {
        self.header().layout.raw_bytes as usize
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
    let mut dst = filled(stream.raw_bytes(), 0u8)?;
    stream.decompress_into(&mut dst, ExecOptions::threads(0))?;
    Ok(dst)
}

/// Restores elements `first .. first + count` into `dst`, reading only the chunks that hold them.
pub fn decompress_range_into(src: &[u8], first: u64, count: usize, dst: &mut [u8]) -> Result<()> {
    let wanted = |header: &Header| range(header, first, count as u64);
    Stream::open(src)?.restore(dst, ExecOptions::threads(0), wanted).map(|_| ())
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
