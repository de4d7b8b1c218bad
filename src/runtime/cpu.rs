//! The chunk pipeline on threads: cut, encode, place; and back. Bytes do not depend on the number of threads.

mod besides;
mod chunk;
mod parallel;
mod pieces;
mod serial;
mod watched;

use besides::Besides;
pub use chunk::raw;
use chunk::{ChunkDecoder, ChunkEncoder};
pub use watched::{Span, Verdict, Watched};

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::container::checksum::{GroupSum, TOGETHER};
use crate::container::constants::*;
use crate::container::missing::MAX_MISSING;
use crate::container::{Body, Header, Index, IndexMut, Kind, Layout, Missing, Wanted};
use crate::error::{Result, fail};
use crate::exec::{ExecOptions, Isa};
use crate::host::fpu;
use crate::host::memory::reserve;
use crate::host::pool;
use crate::params::Params;
use crate::primitives::marks::{self, Look};
use crate::primitives::range::{self, Watch};
use crate::primitives::stream::{self, StreamingStores};

/// Chunks that a thread takes at once. A group is a whole number of units.
const UNIT_CHUNKS: usize = 8;
/// Bytes of data per thread below which another thread does not pay when compressing.
const COMPRESSED_PER_THREAD: usize = 256 << 10;
/// The same when decompressing: most of the time goes into writing, and each line is taken from the cache that had it.
const DECOMPRESSED_PER_THREAD: usize = 2 << 20;
/// Room that an encoder may use behind the end of a body while it writes.
pub const SLACK: usize = 128;

const _: () = assert!(GROUP_CHUNKS.is_multiple_of(UNIT_CHUNKS));

/// A codec whose chunks are independent of each other.
pub trait ChunkCodec: Sync {
    /// What an encoding thread reuses from chunk to chunk.
    type Encoder;
    /// What a decoding thread reuses.
    type Decoder;
    /// A thread's encoder; fails when memory is short.
    fn encoder(&self) -> Result<Self::Encoder>;
    /// A thread's decoder; fails when memory is short.
    fn decoder(&self) -> Result<Self::Decoder>;
    /// Encodes a chunk into `out` (at least `SLACK` bytes more than a chunk has), and has the lines of `stores` leave
    /// meanwhile: what it leaves of them goes when they are dropped; returns its kind and the bytes of its body.
    fn encode(&self, encoder: &mut Self::Encoder, data: Data, stores: StreamingStores, out: &mut [u8])
    -> (Kind, usize);
    /// The smallest and the largest element of the chunk that an encoder encoded last, if they are known and all are
    /// finite; asked where the chunk's data were `watched`.
    fn span(&self, _: &Self::Encoder) -> Option<Span> {
        None
    }
    /// Whether elements may be restored as a missing value that they are within the bound of; the next larger number
    /// then takes its place, see [`Data::beside`].
    fn comes_beside(&self) -> bool {
        false
    }
    /// Whether a codec that finds that out for itself has an element of a chunk so far that is restored so.
    fn came_beside(&self, _: &Self::Encoder) -> bool {
        false
    }
    /// Decodes a verified body into `out`, the bytes of chunk `c`, and has what lies `ahead` fetched meanwhile. With
    /// `past_caches` they are written as `primitives::stream` does.
    #[allow(clippy::too_many_arguments)] // all that there is to say of a chunk
    fn decode(
        &self,
        decoder: &mut Self::Decoder,
        c: usize,
        kind: Kind,
        body: Body,
        ahead: &[u8],
        out: &mut [u8],
        past_caches: bool,
    ) -> Result<()>;
    /// The same of a chunk's number, kind and body where it is known which one comes `next`, whose body is verified
    /// too: some of that may be decoded meanwhile. What is wrong with it is told when its turn comes.
    fn decode_before(
        &self,
        decoder: &mut Self::Decoder,
        (c, kind, body): (usize, Kind, Body),
        _next: Option<(usize, Kind, Body)>,
        out: &mut [u8],
    ) -> Result<()> {
        self.decode(decoder, c, kind, body, &[], out, false)
    }
}

/// The data of a chunk.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    /// The number of the chunk.
    pub chunk: usize,
    /// They and what is before them in their array.
    and_before: &'a [u8],
    len: usize,
    /// What will probably be encoded next, which may be fetched meanwhile.
    pub ahead: &'a [u8],
    /// A bit for each element whose place another one holds, as it is missing; nothing where none is.
    pub missing: &'a [u64],
    /// Whether elements may be restored as a missing value: each that is within the bound of one is within that of the
    /// next larger number, too.
    pub beside: bool,
    /// Whether it will be asked between which numbers they lie.
    pub watched: bool,
}

impl<'a> Data<'a> {
    /// Those of chunk `chunk`, `len` bytes from `at` on in `array`.
    fn new(array: &'a [u8], chunk: usize, at: usize, len: usize, ahead: &'a [u8]) -> Data<'a> {
        Data { chunk, and_before: &array[..at + len], len, ahead, missing: &[], beside: false, watched: false }
    }

    /// The data alone.
    #[inline(always)]
    pub fn bytes(self) -> &'a [u8] {
        &self.and_before[self.and_before.len() - self.len..]
    }

    /// The same behind `bytes` more, if as many are before them.
    #[inline(always)]
    pub fn behind(self, bytes: usize) -> Option<&'a [u8]> {
        self.and_before.get(self.and_before.len().checked_sub(self.len + bytes)?..)
    }
}

/// Threads that pay for `bytes` of data at so many `per_thread`.
fn tasks(requested: u32, bytes: usize, per_thread: usize) -> usize {
    pool::threads(requested).min(bytes / per_thread).max(1)
}

/// How an array is encoded.
#[derive(Clone, Copy)]
pub struct Encoding<'a> {
    /// Where, and for whom.
    pub options: ExecOptions,
    /// Sees all data but the missing values.
    pub watch: Option<&'a Mutex<Watched>>,
}

impl From<ExecOptions> for Encoding<'_> {
    fn from(options: ExecOptions) -> Self {
        Encoding { options, watch: None }
    }
}

/// What is said of an array piece by piece, each thread taking some of them; nothing of it depends on their order.
fn of_pieces<T: Clone + Send + Sync>(
    threads: u32,
    src: &[u8],
    nothing: T,
    add: impl Fn(&mut T, &[u8]) + Sync,
    join: impl Fn(&mut T, &T) + Sync,
) -> T {
    const PIECE: usize = 128 << 10;
    // It takes a tenth of the time of coding, so threads pay later.
    let tasks = tasks(threads, src.len() / 10, COMPRESSED_PER_THREAD);
    let mut all = nothing.clone();
    if tasks == 1 {
        add(&mut all, src);
        return all;
    }
    let (next, whole) = (AtomicUsize::new(0), Mutex::new(all));
    pool::run(tasks, &|| {
        let _fpu = fpu::Guard::standard();
        let mut own = nothing.clone();
        while let Some(piece) = src.chunks(PIECE).nth(next.fetch_add(1, Ordering::Relaxed)) {
            add(&mut own, piece);
        }
        join(&mut whole.lock().unwrap_or_else(|e| e.into_inner()), &own);
    });
    whole.into_inner().unwrap_or_else(|e| e.into_inner())
}

/// The value range of an array beside up to four numbers.
pub fn value_range(params: &Params, fills: &[f64], src: &[u8]) -> Option<(f64, f64)> {
    let of = |piece: &[u8]| range::value_range(params.dtype, params.big_endian, fills, piece);
    let add = |own: &mut Option<_>, piece: &[u8]| *own = range::join(*own, of(piece));
    of_pieces(params.threads, src, None, add, |whole, own| *whole = range::join(*whole, *own))
}

/// The same beside missing values.
pub fn range_without(params: &Params, missing: &Missing, src: &[u8]) -> Option<(f64, f64)> {
    let mut fills = [0.0; MAX_MISSING];
    fills.iter_mut().zip(missing.bits()).for_each(|(fill, bits)| *fill = params.dtype.number(*bits));
    value_range(params, &fills[..missing.len()], src)
}

/// Sees all of an array but the numbers `fills`.
#[inline(never)]
pub fn survey(params: &Params, fills: &[f64], src: &[u8]) -> Watch {
    let watch = Watch::new(Isa::best(), params.dtype, params.big_endian, fills);
    of_pieces(params.threads, src, watch, |own, piece| own.see_far(piece), |whole, own| whole.join(own))
}

/// What a part of an array has beside `fills`, as far as it takes to tell that the ends, which are the last two, are no
/// marks.
pub fn sample_without(params: &Params, fills: &[f64], src: &[u8]) -> Option<(f64, f64)> {
    const PART: usize = 2 << 10;
    const PARTS: usize = 128;
    let ends = [fills[fills.len() - 2], fills[fills.len() - 1]];
    let mut others = None;
    for part in src.chunks((src.len() / PARTS).next_multiple_of(PART).max(4 * PART)) {
        let part = &part[..part.len().min(PART)];
        others = range::join(others, range::value_range(params.dtype, params.big_endian, fills, part));
        if others.is_some_and(|others| marks::are_none(params.dtype, ends, others)) {
            return others;
        }
    }
    others
}

/// See [`Look::at`], of an array.
#[inline(never)]
pub fn look(params: &Params, fills: &[f64], src: &[u8]) -> Look {
    let ends = [fills[fills.len() - 2], fills[fills.len() - 1]];
    let some = sample_without(params, fills, src);
    if some.is_some_and(|some| marks::are_none(params.dtype, ends, some)) {
        return Look { others: some, repeats: [true; 2] };
    }
    let of = |piece: &[u8]| Look::counts(params.dtype, params.big_endian, ends, piece);
    let sum = |a: &mut [usize; 2], b: [usize; 2]| (0..2).for_each(|end| a[end] += b[end]);
    let counts =
        of_pieces(params.threads, src, [0; 2], |own, piece| sum(own, of(piece)), |whole, own| sum(whole, *own));
    Look { others: value_range(params, fills, src), repeats: counts.map(|count| count > 1) }
}

/// A buffer of which disjoint parts are written by several threads.
struct Shared {
    start: *mut u8,
    len: usize,
}

// SAFETY: `part` hands out disjoint ranges only (its contract), so threads never share a byte.
unsafe impl Sync for Shared {}

impl Shared {
    fn new(buffer: &mut [u8]) -> Shared {
        Shared { start: buffer.as_mut_ptr(), len: buffer.len() }
    }

    /// # Safety
    /// Ranges that are alive at the same time must be disjoint, and the buffer must outlive them.
    #[allow(clippy::mut_from_ref)]
    unsafe fn part(&self, range: Range<usize>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: in range by the assertion; exclusive by the contract.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

/// Encodes every chunk of `src`, completes `header`, and writes it with the codec's `section`; returns the bytes of the
/// stream.
pub fn compress<C: ChunkCodec>(
    codec: &C,
    header: &mut Header,
    section: &[u8],
    encoding: Encoding,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize> {
    let Encoding { options, watch } = encoding;
    let besides =
        if codec.comes_beside() { Besides::of(&header.layout, header.abs_bound)? } else { Besides::default() };
    let job = Job { codec, layout: &header.layout, big_endian: header.big_endian, src, watch, besides: &besides };
    let bodies_at = job.layout.bodies_at();
    let (head, bodies) = dst.split_at_mut(bodies_at);
    let (tasks, past_caches) =
        (tasks(options.threads, src.len(), COMPRESSED_PER_THREAD), options.past_caches(src.len()));
    let index = IndexMut::new(job.layout, head);
    let end = if tasks > 1 {
        parallel::compress(job, index, (tasks, past_caches), bodies)?
    } else {
        serial::compress(job, index, past_caches, bodies)?
    };
    header.stream_bytes = (bodies_at + end) as u64;
    header.layout.shape.missing = header.layout.shape.missing.with_next(besides.were_met());
    header.write(section, dst);
    Ok(bodies_at + end)
}

/// What is to be compressed, and how.
struct Job<'a, C> {
    codec: &'a C,
    layout: &'a Layout,
    big_endian: bool,
    src: &'a [u8],
    watch: Option<&'a Mutex<Watched>>,
    besides: &'a Besides,
}

impl<C> Clone for Job<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Job<'_, C> {}

impl<'a, C: ChunkCodec> Job<'a, C> {
    fn encoder(&self) -> Result<ChunkEncoder<'a, C>> {
        ChunkEncoder::new(self.codec, self.layout, self.big_endian, self.watch, self.besides)
    }

    /// The data from chunk `c` on, to be fetched ahead; nothing where they do not lie together.
    fn ahead(&self, c: usize) -> &'a [u8] {
        if self.layout.is_linear() { self.src.get(c * self.layout.chunk_bytes()..).unwrap_or_default() } else { &[] }
    }
}

fn too_small<T>(layout: &Layout, have: usize) -> Result<T> {
    fail!(BufferTooSmall, "{} bytes; {} are always enough", layout.bodies_at() + have, layout.max_stream_bytes()?)
}

/// Decodes what is `wanted` into `dst`, in its order. Each group is verified before any of its chunks is decoded.
pub fn decompress<C: ChunkCodec>(
    codec: &C,
    header: &Header,
    index: &Index,
    wanted: &Wanted,
    dst: &mut [u8],
    options: ExecOptions,
) -> Result<()> {
    if dst.is_empty() {
        return Ok(());
    }
    let layout = &header.layout;
    match wanted {
        Wanted::Range { first, .. } if layout.is_linear() => run(codec, header, index, *first, dst, options),
        _ => pieces::decompress(codec, header, index, wanted, dst, options),
    }
}

/// The same for elements from `first` on of an array in runs: chunks are decoded where they belong.
fn run<C: ChunkCodec>(
    codec: &C,
    header: &Header,
    index: &Index,
    first: u64,
    dst: &mut [u8],
    options: ExecOptions,
) -> Result<()> {
    let layout = &header.layout;
    let first_byte = first as usize * layout.dtype.size();
    let bytes = first_byte..first_byte + dst.len();
    let group_bytes = GROUP_CHUNKS * layout.chunk_bytes();
    let groups = bytes.start / group_bytes..bytes.end.div_ceil(group_bytes);
    let tasks = tasks(options.threads, dst.len(), DECOMPRESSED_PER_THREAD);
    // With few groups a thread's share is less than one: verify here, then share out units.
    let mut verified = None;
    if groups.len() < 2 * tasks {
        let places = verified.insert(Vec::new());
        for g in groups.clone() {
            verify(index, g)?;
            reserve(places, layout.group_chunks(g).len())?;
            places.extend(index.bodies(g));
        }
    }
    let past_caches = options.past_caches(dst.len());
    let restoration = Restoration {
        index,
        layout,
        chunk_bytes: layout.chunk_bytes(),
        bytes,
        groups,
        dst: Shared::new(dst),
        past_caches,
        next: 0.into(),
    };
    let failure = Mutex::new(None);
    pool::run(tasks, &|| {
        let done = ChunkDecoder::new(codec, layout, header.big_endian).and_then(|mut decoder| match &verified {
            Some(chunks) => restoration.units(&mut decoder, chunks),
            None => restoration.groups(&mut decoder),
        });
        if let Err(e) = done {
            restoration.stop();
            failure.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(e);
        }
        // After an error too: a copy still under way must not land on what the caller writes next.
        if past_caches {
            stream::fence();
        }
    });
    failure.into_inner().unwrap_or_else(|e| e.into_inner()).map_or(Ok(()), Err)
}

/// What all threads that decompress see.
struct Restoration<'a> {
    index: &'a Index<'a>,
    layout: &'a Layout,
    chunk_bytes: usize,
    /// The bytes of the array that are wanted, for which `dst` has room.
    bytes: Range<usize>,
    /// The groups that they are in.
    groups: Range<usize>,
    dst: Shared,
    past_caches: bool,
    /// The next unit or group to take.
    next: AtomicUsize,
}

impl Restoration<'_> {
    fn take(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn take_group(&self) -> Option<usize> {
        self.groups.clone().nth(self.take())
    }

    /// Leaves nothing to take.
    fn stop(&self) {
        self.next.store(usize::MAX / 2, Ordering::Relaxed);
    }

    /// Decodes units of `chunks`, which are verified, until none is left.
    fn units<C: ChunkCodec>(&self, decoder: &mut ChunkDecoder<C>, chunks: &[(usize, Body)]) -> Result<()> {
        while let Some(unit) = chunks.chunks(UNIT_CHUNKS).nth(self.take()) {
            // SAFETY: the chunks of a unit are the thread's that took it.
            unit.iter().try_for_each(|(c, body)| unsafe { self.chunk(decoder, *c, *body, &[]) })?;
        }
        Ok(())
    }

    /// Verifies and decodes groups until none is left.
    fn groups<C: ChunkCodec>(&self, decoder: &mut ChunkDecoder<C>) -> Result<()> {
        let Some(mut g) = self.take_group() else { return Ok(()) };
        verify(self.index, g)?;
        loop {
            // The bodies of the group to come are fetched while chunks of this one are decoded. Where they come from
            // memory each is summed soon, since by the end of the group many would have left the cache again.
            let then = self.take_group();
            let bodies = || then.into_iter().flat_map(|g| self.index.bodies(g)).map(|(_, body)| body.bytes());
            let (mut to_fetch, mut sum) = (bodies(), GroupSum::new(bodies()));
            for (k, (c, body)) in self.index.bodies(g).enumerate() {
                // SAFETY: the chunks of a group are the thread's that took it.
                unsafe { self.chunk(decoder, c, body, to_fetch.next().unwrap_or_default())? };
                if self.past_caches && (k + 1).is_multiple_of(TOGETHER) {
                    sum.add();
                }
            }
            let Some(then) = then else { return Ok(()) };
            compare(self.index, then, sum.finish())?;
            g = then;
        }
    }

    /// Decodes the part of chunk `c` that is wanted, and has what lies `ahead` fetched meanwhile.
    ///
    /// # Safety
    /// No other thread works on chunk `c`.
    unsafe fn chunk<C: ChunkCodec>(
        &self,
        decoder: &mut ChunkDecoder<C>,
        c: usize,
        body: Body,
        ahead: &[u8],
    ) -> Result<()> {
        let start = c * self.chunk_bytes;
        let chunk = start..start + self.layout.chunk_raw_bytes(c);
        let wanted = chunk.start.max(self.bytes.start)..chunk.end.min(self.bytes.end);
        if wanted.is_empty() {
            return Ok(());
        }
        // SAFETY: within this chunk's bytes, which are this thread's alone; `dst` outlives the pool's scope.
        let out = unsafe { self.dst.part(wanted.start - self.bytes.start..wanted.end - self.bytes.start) };
        let kind = self.index.kind(c);
        if wanted == chunk {
            return decoder.decode(c, kind, body, ahead, out, self.past_caches);
        }
        let size = self.layout.dtype.size();
        let part = Wanted::Range { first: (wanted.start / size) as u64, count: (wanted.len() / size) as u64 };
        decoder
            .decode_pieces((c, kind, body), None, &part, |at, bytes| out[at..at + bytes.len()].copy_from_slice(bytes))
    }
}

/// Compares the bodies of group `g` with their checksum.
fn verify(index: &Index, g: usize) -> Result<()> {
    compare(index, g, GroupSum::new(index.bodies(g).map(|(_, body)| body.bytes())).finish())
}

/// Compares the checksum of the bodies of group `g` with the index.
fn compare(index: &Index, g: usize, sum: u64) -> Result<()> {
    if sum != index.group_checksum(g) {
        return fail!(
            Corrupt,
            "checksum of chunk group {g} is {sum:016x}, the index says {:016x}",
            index.group_checksum(g)
        );
    }
    Ok(())
}
