//! The call-backs: `set_local` when a dataset is made, `filter` for each chunk.

use std::ffi::{c_uint, c_void};
use std::ptr::NonNull;

use super::abi::{FLAG_OPTIONAL, FLAG_REVERSE, Functions, Herr, Hid};
use super::cd_values::{CdValues, FILTER_ID, StoredElement};
use super::datatype::Stored;
use super::pipeline::{Other, Pipeline, pipeline};
#[cfg(feature = "cuda")]
use super::prepared::take as prepared;
use super::resolve::Hdf5;
use super::{chunk, dataset, neighbours, report};
use crate::codec::{self, Stream, rewritten};
use crate::container::missing::MAX_MISSING;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::exec::{self, ExecOptions};
use crate::host::memory;
use crate::params::{Bound, MissingValues, Params};
use crate::text;

/// Runs a call-back's work for the HDF5 with the code at `caller`: nothing unwinds into it, and errors are kept, logged
/// and pushed.
fn guard<T>(failed: T, caller: *const c_void, work: impl FnOnce() -> Result<T>) -> T {
    logged(failed, || work().inspect_err(|e| report::push(caller, e)))
}

/// The same without an HDF5 that has called.
pub fn logged<T>(failed: T, work: impl FnOnce() -> Result<T>) -> T {
    crate::host::guard::guard(failed, || work().inspect_err(|e| report::log(format_args!("error: {e}"))))
}

/// `H5Z_set_local_func_t` with the caller's return address: completes the `cd_values` with what the dataset holds.
///
/// It alone protects the data, since HDF5 ignores `can_apply` for an optional filter: what it refuses is not made.
///
/// # Safety
/// As HDF5 calls it.
pub unsafe extern "C" fn set_local(dcpl: Hid, type_id: Hid, _space: Hid, caller: *const c_void) -> Herr {
    guard(-1, caller, || {
        // Each chunk would fail on it, which HDF5 tells when the dataset is closed, if at all.
        exec::check_environment()?;
        match Hdf5::<Functions>::of_caller(caller)? {
            // SAFETY: the ids come from the library of `caller`.
            Some(hdf5) => unsafe { complete(&hdf5, dcpl, type_id)? },
            // The user's words stay as they are: with the long form a bound works, with any other chunks are lossless.
            None => report::log(format_args!(
                "the calling HDF5 hides its functions, and with them the element type; cd_values are taken as given, \
                and those \
                 without one store losslessly"
            )),
        }
        Ok(0)
    })
}

/// # Safety
/// The ids belong to the library of `hdf5`.
unsafe fn complete(hdf5: &Functions, dcpl: Hid, type_id: Hid) -> Result<()> {
    // SAFETY: the contract, for all calls below.
    let Pipeline { ours, filters, .. } = unsafe { pipeline(hdf5, dcpl)? };
    let Some(ours) = ours else {
        return fail!(Hdf5, "filter {FILTER_ID} is not in the pipeline of {filters} filters");
    };
    for behind in &ours.behind {
        neighbours::check_behind(behind.id, &behind.words)?;
    }
    // SAFETY: as above.
    let stored = unsafe { dataset::stored(hdf5, type_id)? };
    // SAFETY: as above.
    let (chunk, fills) = unsafe { (dataset::chunk(hdf5, dcpl)?, dataset::fills(hdf5, dcpl, type_id, &stored)?) };
    // Of bytes there are no numbers to be had without it, and it may help.
    let moved = ours.shuffle.as_ref().filter(|_| !ours.preceded && stored.dtype.size() > 1);
    // A shuffle behind us makes a buffer as large as it is told that ours is: of `may_refer` it must be told all.
    let shuffled = stored.dtype == DType::U8 && ours.behind.iter().any(|other| other.id == neighbours::SHUFFLE);
    let at = Place {
        preceded: ours.preceded || ours.shuffle.is_some() && moved.is_none(),
        resized: ours.resized || shuffled,
    };
    let words = completed(&ours.words, &stored, at, chunk, fills)?;
    // SAFETY: as above; `words` outlives the call.
    if unsafe { (hdf5.H5Pmodify_filter)(dcpl, FILTER_ID, ours.flags, words.len(), words.as_ptr()) } < 0 {
        return fail!(Hdf5, "H5Pmodify_filter failed");
    }
    // SAFETY: as above.
    moved.map_or(Ok(()), |shuffle| unsafe { move_shuffle(hdf5, dcpl, shuffle, &ours.behind) })
}

/// Takes a shuffle that comes before us out of the pipeline. HDF5 goes through that meanwhile, by the number of filters
/// that it had: so where others follow, the shuffle gets the place right behind us, and each of them keeps its own.
///
/// # Safety
/// `dcpl` is a dataset creation property list of the library of `hdf5`.
unsafe fn move_shuffle(hdf5: &Functions, dcpl: Hid, shuffle: &Other, behind: &[Other]) -> Result<()> {
    let (Some(remove), Some(set)) = (hdf5.H5Premove_filter, hdf5.H5Pset_filter) else {
        return fail!(InvalidArgument, "a shuffle before SLEEK, and an HDF5 that lets none be taken out");
    };
    let after: &[&Other] = if behind.is_empty() { &[] } else { &[shuffle] };
    for other in [shuffle].into_iter().chain(behind) {
        // SAFETY: the contract.
        if unsafe { remove(dcpl, other.id) } < 0 {
            return fail!(Hdf5, "H5Premove_filter failed for filter {}", other.id);
        }
    }
    for other in after.iter().copied().chain(behind) {
        // SAFETY: the contract; HDF5 copies the words.
        if unsafe { set(dcpl, other.id, other.flags, other.words.len(), other.words.as_ptr()) } < 0 {
            return fail!(Hdf5, "H5Pset_filter failed for filter {}", other.id);
        }
    }
    let how = if behind.is_empty() { "is taken out" } else { "is put behind it" };
    report::log(format_args!("shuffle comes before SLEEK, which needs the numbers: it {how}"));
    Ok(())
}

/// Where in a pipeline the filter is.
#[derive(Clone, Copy)]
pub struct Place {
    /// Another filter comes before.
    pub preceded: bool,
    /// The length of an element is not to be told: one that gives chunks of another length than it gets comes before,
    /// or a shuffle behind bytes that are no numbers.
    pub resized: bool,
}

/// The words of a request with what a dataset is added: what its elements are, the lengths of its chunks, and its fill
/// values.
pub fn completed(words: &[u32], stored: &Stored, at: Place, chunk: Vec<u64>, fills: Vec<u64>) -> Result<Vec<u32>> {
    let asked = CdValues::decode(words)?.request;
    refuse_half_a_number(words, &asked)?;
    // A bound in the environment is meant for the fields that have one, not for the coordinates beside them.
    let mut request = if words.is_empty() || asked.bound != Bound::Lossless {
        text::of_environment()?.unwrap_or(asked)
    } else {
        asked
    };
    let lossy = request.bound != Bound::Lossless;
    if lossy && at.preceded && stored.dtype.is_float() {
        return fail!(
            InvalidArgument,
            "mode {} after another filter: SLEEK must come first, before checksums and compressors",
            request.bound.mode().name()
        );
    }
    // Behind another filter the bytes are no elements any more.
    let dtype = if at.preceded { DType::U8 } else { stored.dtype };
    let known = together(&mut request, dtype, fills)?;
    // Integers have no bound; some codecs have a rate for them. It must be meant for them: a request for a whole tree
    // meets indices and flags too.
    let of_integers =
        || request.integers && stored.integers && codec::chosen(&Params { dtype, ..request.clone() }).is_ok();
    let suits = stored.dtype.is_float() || of_integers();
    let element = StoredElement {
        dtype,
        big_endian: stored.big_endian && !at.preceded,
        bytes: if at.resized { 0 } else { stored.bytes },
        lossless: lossy && (!suits || known.is_none()),
        fills: known.unwrap_or_default(),
        chunk,
    };
    report::log(format_args!(
        "dataset of {} in chunks of {:?}: {}{}",
        stored.what,
        element.chunk,
        text::format(&request),
        remark(&request, &element, stored)
    ));
    let values = CdValues { request, element: Some(element) };
    // A codec that cannot do what is asked for would fail on every chunk.
    values.params()?.map_or(Ok(()), |params| codec::chosen(&params).map(|_| ()))?;
    Ok(values.encode())
}

/// Refuses a bound that came as one word where two make a number, or as an integer. Nothing could be as near as
/// that, and every bit would be kept without a word.
fn refuse_half_a_number(words: &[u32], asked: &Params) -> Result<()> {
    let number = asked.bound.number();
    let is_bound = asked.bound.mode().has_bound();
    if !(CdValues::is_short(words) && is_bound && number < f64::MIN_POSITIVE) {
        return Ok(());
    }
    fail!(
        InvalidBound,
        "the bound of mode {} in cd_values is {number:e}; a number takes two words, low one first: for nccopy write \
        0.001d, not 0.001, and to keep every bit no words at all",
        asked.bound.mode().name()
    )
}

/// The dataset's fill values that the user has not named, where there is room for all in a stream. Of the user's stay
/// those that elements of `dtype` can have.
fn together(request: &mut Params, dtype: DType, fills: Vec<u64>) -> Result<Option<Vec<u64>>> {
    if !dtype.is_float() {
        return Ok(Some(Vec::new()));
    }
    let named: Vec<_> = request.missing.iter().filter(|value| value.bits(dtype).is_ok()).collect();
    request.missing = MissingValues::of(&named)?;
    let own: Vec<u64> = request.missing.of_type(dtype)?.bits().to_vec();
    let fills: Vec<u64> = fills.into_iter().filter(|bits| !own.contains(bits)).collect();
    Ok((named.len() + fills.len() <= MAX_MISSING).then_some(fills))
}

/// What a person should know of a dataset besides the request.
fn remark(request: &Params, element: &StoredElement, stored: &Stored) -> &'static str {
    match () {
        () if element.lossless && !stored.dtype.is_float() => {
            "; its elements can have no bound and are kept losslessly"
        }
        () if element.lossless => "; its fill value has too many parts to be kept exactly, so all is kept losslessly",
        () if request.bound.measures() => {
            "; each chunk takes its own range, and up to two bits for each value more than a given range, so that it \
            can be \
             written again"
        }
        () => "",
    }
}

/// `H5Z_func_t` with the caller's return address. Uses nothing of HDF5 but to say why it failed; then the caller's
/// buffer is as it was.
///
/// # Safety
/// As HDF5 calls it: `*buf` holds `nbytes` bytes and comes from `malloc`.
pub unsafe extern "C" fn filter(
    flags: c_uint,
    cd_nelmts: usize,
    cd_values: *const c_uint,
    nbytes: usize,
    buf_size: *mut usize,
    buf: *mut *mut c_void,
    caller: *const c_void,
) -> usize {
    guard(0, caller, || {
        // SAFETY: HDF5 gives `cd_nelmts` words at `cd_values` and `nbytes` bytes at `*buf`, and says how large that is.
        let (words, src, room) =
            unsafe { (slice(cd_values, cd_nelmts), slice((*buf).cast_const().cast::<u8>(), nbytes), *buf_size) };
        // When HDF5 copies objects it takes our buffer for as large as the one that it gave.
        let room = room.max(nbytes);
        let made = match prepared(src) {
            _ if flags & FLAG_REVERSE != 0 => Some(decode(words, src, room)?),
            Some(stream) => Some(Buffer::of(&stream, room)?),
            None => encode(flags, words, src, room, caller)?,
        };
        // HDF5 stores the chunk without the filter then, and marks it so.
        let Some((out, len)) = made else { return Ok(0) };
        // SAFETY: HDF5 hands its buffer over, to be freed, and takes ours in its place.
        unsafe {
            libc::free(*buf);
            *buf_size = if len > room && may_refer(words) { room } else { len.max(room) };
            *buf = out.release();
        }
        Ok(len)
    })
}

/// Whether elements may refer to others, as strings of any length do, of which `set_local` is not told. Where HDF5
/// copies such, it clears a buffer of its own as far as it was told of ours: so it is told no more than it gave, as its
/// own deflate does.
fn may_refer(words: &[u32]) -> bool {
    let element = CdValues::decode(words).ok().and_then(|values| values.element);
    element.is_none_or(|element| element.dtype == DType::U8 && element.bytes > 1)
}

/// Nobody makes streams before HDF5 asks for them without the feature.
#[cfg(not(feature = "cuda"))]
fn prepared(_chunk: &[u8]) -> Option<Vec<u8>> {
    None
}

/// A slice of what C may give as null when it is empty.
///
/// # Safety
/// `len` values at `start`.
unsafe fn slice<'a, T>(start: *const T, len: usize) -> &'a [T] {
    // SAFETY: the contract.
    if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start, len) } }
}

/// Chunks from these sizes on are compressed and decompressed by several threads. Those fall asleep while HDF5 copies
/// and writes, and waking them for a smaller one lasts longer than they save; what they decompress HDF5 then fetches
/// from their caches (docs/internals/design.md).
const BYTES_FOR_THREADS: (usize, usize) = (2 << 20, 8 << 20);

/// HDF5 reads the result at once: it writes what was compressed, and copies what was decompressed.
fn options(bytes: usize, for_threads: usize) -> ExecOptions {
    ExecOptions { threads: if bytes < for_threads { 1 } else { 0 }, read_at_once: true }
}

/// What is to be done to the chunk `src`. Never inlined, so that nothing of it stays on the stack.
#[inline(never)]
fn asked(words: &[u32], src: &[u8], options: ExecOptions) -> Result<memory::Heap<Params>> {
    memory::Heap::new(measured(words, src, options.threads)?)
}

/// Refuses a bound that must be and cannot: the HDF5 that calls hides its functions, so that `set_local` learned no
/// element type. (Where it hides none, HDF5 did not call that, since elements of variable length have no bound.)
fn refuse_unmet(flags: c_uint, words: &[u32], caller: *const c_void) -> Result<()> {
    let values = CdValues::decode(words)?;
    let is_optional = flags & FLAG_OPTIONAL != 0;
    if is_optional || values.element.is_some() || values.request.bound == Bound::Lossless {
        return Ok(());
    }
    match Hdf5::<Functions>::of_caller(caller)? {
        Some(_) => Ok(()),
        None => fail!(
            InvalidArgument,
            "mode {} is mandatory, and the calling HDF5 hides its functions, and with them the element type: give the \
            long form of cd_values (sleek h5args --type …), or make the filter optional, which is lossless",
            values.request.bound.mode().name()
        ),
    }
}

/// The stream of the chunk `src` in a buffer of at least `room` bytes, and its length; `None` as of `stream`.
#[inline(never)]
fn encode(
    flags: c_uint,
    words: &[u32],
    src: &[u8],
    room: usize,
    caller: *const c_void,
) -> Result<Option<(Buffer, usize)>> {
    refuse_unmet(flags, words, caller)?;
    let options = options(src.len(), BYTES_FOR_THREADS.0);
    let params = &*asked(words, src, options)?;
    let stored = |flags| stream(flags, params, src, options, |bytes| Buffer::new(bytes.max(room)));
    match stored(flags)? {
        None if heeded(flags, Hdf5::of_caller(caller)?.as_deref()) != flags => stored(0),
        made => Ok(made),
    }
}

/// The flags without that of an optional filter where nobody can rely on it: an HDF5 that opens files of MPI ranks may
/// forget there which chunks it stored plain (1.10 does), and one that hides its functions may be such.
pub fn heeded(flags: c_uint, hdf5: Option<&Functions>) -> c_uint {
    match hdf5 {
        Some(hdf5) if hdf5.H5Pset_fapl_mpio.is_none() => flags,
        _ => flags & !FLAG_OPTIONAL,
    }
}

/// What the mandatory filter makes of the chunk `src`, by the `cd_values` of its dataset: for a program that writes
/// chunks itself. 0 `threads` lets the library choose how many.
pub fn stream_of_chunk(words: &[u32], src: &[u8], threads: u32) -> Result<Vec<u8>> {
    let (params, options) = (measured(words, src, threads)?, ExecOptions::threads(threads));
    let made = stream(0, &params, src, options, |bytes| memory::filled(bytes, 0u8))?;
    let (mut stream, len) = made.unwrap_or_default();
    stream.truncate(len);
    stream.shrink_to_fit();
    Ok(stream)
}

/// The stream that a chunk is stored as, in what `allocate` gives for so many bytes, and its length; `None` where HDF5
/// may store the chunk itself, and the stream is no shorter.
#[inline(never)]
pub fn stream<B: AsMut<[u8]>>(
    flags: c_uint,
    params: &Params,
    src: &[u8],
    options: ExecOptions,
    allocate: impl Fn(usize) -> Result<B>,
) -> Result<Option<(B, usize)>> {
    let made = codec::compress_to(params, src, options, &allocate)?;
    if made.1 <= longest(flags, params, src.len())? {
        return Ok(Some(made));
    }
    let is_mandatory = flags & FLAG_OPTIONAL == 0;
    is_mandatory.then(|| codec::compress_to(&*plain(params)?, src, options, allocate)).transpose()
}

/// The longest stream that a chunk of `bytes` is stored as: where HDF5 may store the chunk itself one that is shorter,
/// else that of plain elements, of which few take less than what codecs say of them.
pub fn longest(flags: c_uint, params: &Params, bytes: usize) -> Result<usize> {
    match flags & FLAG_OPTIONAL {
        0 => codec::compress_bound(&*plain(params)?, bytes / params.dtype.size()),
        _ => Ok(bytes.saturating_sub(1)),
    }
}

/// The request for plain elements.
fn plain(params: &Params) -> Result<memory::Heap<Params>> {
    let Params { dtype, big_endian, threads, .. } = *params;
    memory::Heap::new(Params { big_endian, threads, find_fill: Some(false), ..Params::new(dtype) })
}

/// What is to be done to the chunk `src`. A program that writes through HDF5 may not know of us, so undeclared fill
/// values are searched for unless the words forbid it.
fn measured(words: &[u32], src: &[u8], threads: u32) -> Result<Params> {
    let params = chunk::params(&CdValues::decode(words)?, src.len())?;
    let find_fill = params.find_fill.or(Some(true));
    rewritten::measured(Params { threads, find_fill, ..params }, src)
}

/// The chunk of the stream `src` in a buffer of at least `room` bytes, and its length. Needs no words. But where they
/// tell what a chunk must be, any other is refused.
#[inline(never)]
fn decode(words: &[u32], src: &[u8], room: usize) -> Result<(Buffer, usize)> {
    let stream = expected(words, src)?;
    let bytes = stream.held().bytes;
    let mut out = Buffer::new(bytes.max(room))?;
    stream.decompress_into(&mut out.bytes()[..bytes], options(bytes, BYTES_FOR_THREADS.1))?;
    Ok((out, bytes))
}

/// The stream `src`, which holds a chunk; an error if `words`, the `cd_values` of its dataset, tell of another. Never
/// inlined, as `asked`.
#[inline(never)]
pub fn expected<'a>(words: &[u32], src: &'a [u8]) -> Result<Stream<'a>> {
    let stream = Stream::open(src)?;
    CdValues::decode(words).map_or(Ok(()), |values| chunk::expect(&values, &stream.held()))?;
    Ok(stream)
}

/// Bytes of the chunk that the stream `src` holds; an error if `words`, the `cd_values` of its dataset, tell of
/// another.
pub fn bytes_of_chunk(words: &[u32], src: &[u8]) -> Result<usize> {
    Ok(expected(words, src)?.held().bytes)
}

/// Memory from `malloc`, which HDF5 will free. Its bytes are not set: they are written before anyone reads them.
struct Buffer {
    start: NonNull<c_void>,
    len: usize,
}

impl Buffer {
    fn new(len: usize) -> Result<Buffer> {
        memory::keep_in_heap(len);
        // SAFETY: malloc of at least a byte, so that null is failure.
        match NonNull::new(unsafe { libc::malloc(len.max(1)) }) {
            Some(start) => Ok(Buffer { start, len }),
            None => fail!(OutOfMemory, "{len} bytes for a chunk"),
        }
    }

    /// At least `room` bytes, the first of which are these.
    fn of(bytes: &[u8], room: usize) -> Result<(Buffer, usize)> {
        let mut copy = Buffer::new(bytes.len().max(room))?;
        copy.bytes()[..bytes.len()].copy_from_slice(bytes);
        Ok((copy, bytes.len()))
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes are ours. The codec only writes here before it knows what it wrote.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.len) }
    }

    fn release(self) -> *mut c_void {
        std::mem::ManuallyDrop::new(self).start.as_ptr()
    }
}

impl AsMut<[u8]> for Buffer {
    fn as_mut(&mut self) -> &mut [u8] {
        self.bytes()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: ours, and freed once: `release` forgets the value.
        unsafe { libc::free(self.start.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::hdf5_filter::{cd_values_of, class};
    use crate::params::{Mode, Profile};

    /// A chunk as HDF5 holds it: `len` bytes in a buffer of `room`.
    struct Chunk {
        buf: *mut c_void,
        len: usize,
        room: usize,
    }

    impl Chunk {
        fn new(bytes: &[u8]) -> Chunk {
            Chunk::in_room(bytes, bytes.len())
        }

        fn in_room(bytes: &[u8], room: usize) -> Chunk {
            // SAFETY: room for the bytes, and they do not overlap.
            unsafe {
                let buf = libc::malloc(room.max(1));
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), buf.cast(), bytes.len());
                Chunk { buf, len: bytes.len(), room }
            }
        }

        /// HDF5 may take our buffer for as large as the one that it gave, and others for as large as it is told.
        fn run(&mut self, flags: c_uint, words: &[u32]) -> usize {
            let (buf, room) = (self.buf, self.room);
            // SAFETY: as HDF5 calls it.
            let len =
                unsafe { class::filter(flags, words.len(), words.as_ptr(), self.len, &mut self.room, &mut self.buf) };
            if self.buf == buf {
                assert_eq!((len, self.room), (0, room), "a failure leaves the buffer as it was");
                return 0;
            }
            let room = room.max(self.len);
            assert!(self.room == len.max(room) || self.room == room && may_refer(words));
            // SAFETY: from malloc; it is written and read as far as the filter says that it goes.
            unsafe {
                #[cfg(all(target_os = "linux", target_env = "gnu"))]
                assert!(libc::malloc_usable_size(self.buf) >= len.max(self.room));
                self.buf.cast::<u8>().add(len).write_bytes(0xa5, self.room.saturating_sub(len));
            }
            self.len = len;
            len
        }

        fn bytes(&self) -> &[u8] {
            // SAFETY: `len` bytes are there.
            unsafe { std::slice::from_raw_parts(self.buf.cast(), self.len) }
        }
    }

    impl Drop for Chunk {
        fn drop(&mut self) {
            // SAFETY: from malloc, of this test or of the filter.
            unsafe { libc::free(self.buf) };
        }
    }

    fn values() -> Vec<u8> {
        (0..5000).flat_map(|i| (280.0 + (i as f32 * 0.01).sin()).to_be_bytes()).collect()
    }

    /// Bytes of which nothing can be predicted.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1u64;
        let next = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..len).map(next).collect()
    }

    fn long_form(bound: Bound) -> Vec<u32> {
        long_form_of(bound, vec![50, 100])
    }

    fn long_form_of(bound: Bound, chunk: Vec<u64>) -> Vec<u32> {
        let element =
            StoredElement { dtype: DType::F32, big_endian: true, fills: vec![], bytes: 4, lossless: false, chunk };
        CdValues { request: Params::new(DType::F32).with_bound(bound), element: Some(element) }.encode()
    }

    /// Words that do not tell the length of an element, as those behind another filter.
    fn without_length() -> Vec<u32> {
        let element = StoredElement {
            dtype: DType::U8,
            big_endian: false,
            fills: vec![],
            bytes: 0,
            lossless: false,
            chunk: vec![50, 100],
        };
        CdValues { request: Params::new(DType::F32), element: Some(element) }.encode()
    }

    #[test]
    fn the_long_form_is_enough() {
        let raw = values();
        let mut chunk = Chunk::new(&raw);
        let n = chunk.run(0, &long_form(Bound::Abs(1e-3)));
        assert!(0 < n && n < raw.len() / 2);
        // Reading needs no words.
        assert_eq!(chunk.run(FLAG_REVERSE, &[]), raw.len());
        let float = |b: &[u8]| f64::from(f32::from_be_bytes([b[0], b[1], b[2], b[3]]));
        let pairs = raw.chunks_exact(4).zip(chunk.bytes().chunks_exact(4));
        let worst = pairs.map(|(a, b)| (float(a) - float(b)).abs()).fold(0.0, f64::max);
        assert!(0.0 < worst && worst <= 1e-3, "{worst}");
    }

    #[test]
    fn lossless_needs_no_words_and_takes_any_length() {
        let raw = [values(), vec![1, 2, 3]].concat();
        for (len, words) in [(0, vec![]), (1, vec![]), (4099, vec![]), (20_003, without_length())] {
            let mut chunk = Chunk::new(&raw[..len]);
            assert!(chunk.run(0, &words) > 0);
            assert_eq!(chunk.run(FLAG_REVERSE, &words), len);
            assert_eq!(chunk.bytes(), &raw[..len]);
        }
    }

    /// A bound that nobody can keep, for want of the element type, is kept by keeping every bit.
    #[test]
    fn the_short_form_alone_is_lossless() {
        let raw = [values(), vec![1, 2, 3]].concat();
        let abs = cd_values_of(&Params::new(DType::F32).with_bound(Bound::Abs(1e-3)));
        for (len, words) in [(4096, &abs[..]), (4099, &abs)] {
            let mut chunk = Chunk::new(&raw[..len]);
            // Here no HDF5 calls, as where one hides its functions.
            assert_eq!(chunk.run(0, words), 0);
            // SAFETY: a C string of this thread.
            let said = unsafe { std::ffi::CStr::from_ptr(crate::host::guard::last_error()) }.to_string_lossy();
            assert!(said.contains("is mandatory"), "{said}");
            assert!(chunk.run(FLAG_OPTIONAL, words) > 0);
            assert_eq!(crate::inspect(chunk.bytes()).unwrap().mode, Mode::Lossless);
            assert_eq!((chunk.run(FLAG_REVERSE, words), chunk.bytes()), (len, &raw[..len]));
        }
    }

    /// nccopy hands `0.001` on as the word 0, and `1e-3` as the word 1.
    #[test]
    fn half_a_number_is_no_bound() {
        let stored = crate::api::hdf5_filter::datatype::parse(&[
            3, 0, 0x11, 0x20, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0,
        ]);
        let (stored, at) = (stored.unwrap(), Place { preceded: false, resized: false });
        let of = |words: &[u32]| completed(words, &stored, at, vec![10], vec![]);
        for words in [&[1, 1, 0][..], &[1, 1, 1], &[1, 2, 0, 0, 0], &[1, 3, 7, 0, 2], &[1, 1, 0, 1]] {
            let error = of(words).unwrap_err().to_string();
            assert!(error.contains("write 0.001d"), "{words:?}: {error}");
        }
        for words in
            [&[][..], &[7], &[0, 0], &[1, 0], &cd_values_of(&Params::new(DType::F32).with_bound(Bound::Abs(1e-3)))]
        {
            of(words).unwrap();
        }
    }

    #[test]
    fn a_chunk_of_another_length_than_its_datasets_is_refused() {
        let (raw, words) = ([values(), vec![7; 4]].concat(), long_form(Bound::Lossless));
        for len in [64, 19_996, 20_004] {
            let mut chunk = Chunk::new(&raw[..len]);
            assert_eq!(chunk.run(0, &words), 0);
            assert!(chunk.run(0, &[]) > 0);
            assert_eq!(chunk.run(FLAG_REVERSE, &words), 0);
            assert_eq!(chunk.run(FLAG_REVERSE, &[]), len);
        }
    }

    /// Of few elements a stream takes more than they do: HDF5 stores them itself where it may, and else the shortest.
    #[test]
    fn chunks_that_do_not_shrink() {
        let noise = noise(20_000);
        for (len, chunk, shortest) in [(4, vec![1], 112), (12, vec![3, 1], 112), (20_000, vec![50, 100], 20_096)] {
            for profile in [Profile::Adaptive, Profile::Fast, Profile::Small] {
                let element = StoredElement {
                    dtype: DType::F32,
                    big_endian: true,
                    fills: vec![0],
                    bytes: 4,
                    lossless: false,
                    chunk: chunk.clone(),
                };
                let request = Params { profile, ..Params::new(DType::F32) };
                let words = CdValues { request, element: Some(element) }.encode();
                let params = measured(&words, &noise[..len], 1).unwrap();
                let made = |flags| stream(flags, &params, &noise[..len], ExecOptions::threads(1), Buffer::new).unwrap();
                assert!(made(FLAG_OPTIONAL).is_none() && made(0).is_some());
                // Here no HDF5 calls that would be known to remember what it stored plain.
                assert_eq!(Chunk::new(&noise[..len]).run(FLAG_OPTIONAL, &words), shortest);
                let mut chunk = Chunk::new(&noise[..len]);
                assert_eq!(chunk.run(0, &words), shortest, "{profile:?} {len}");
                assert_eq!(stream_of_chunk(&words, &noise[..len], 1).unwrap(), chunk.bytes());
                assert_eq!((chunk.run(FLAG_REVERSE, &words), chunk.bytes()), (len, &noise[..len]));
            }
        }
        let mut chunk = Chunk::new(&values());
        assert!(chunk.run(FLAG_OPTIONAL, &long_form(Bound::Lossless)) > 0);
    }

    /// HDF5 copies objects through one buffer, which may be longer than the chunk: nothing comes back in less.
    #[test]
    fn no_buffer_is_smaller_than_the_one_that_came() {
        let raw = values();
        for room in [raw.len(), raw.len() + 1, 3 * raw.len()] {
            for bound in [Bound::Lossless, Bound::Abs(1e-3), Bound::Rel(0.1)] {
                let mut chunk = Chunk::in_room(&raw, room);
                let len = chunk.run(0, &long_form(bound));
                assert!(0 < len && len < raw.len() && chunk.room == room);
                assert_eq!((chunk.run(FLAG_REVERSE, &[]), chunk.room), (raw.len(), room));
            }
        }
        // Noise is longer than it came, which HDF5 is told unless elements may refer to others.
        let noise = noise(raw.len());
        for (dtype, bytes, is_told) in [(DType::U8, 4, false), (DType::U8, 0, true), (DType::F32, 4, true)] {
            let element =
                StoredElement { dtype, bytes, big_endian: false, fills: vec![], lossless: false, chunk: vec![50, 100] };
            let words = CdValues { request: Params::new(DType::F32), element: Some(element) }.encode();
            let mut chunk = Chunk::new(&noise);
            let len = chunk.run(0, &words);
            assert!(len > noise.len() && chunk.room == if is_told { len } else { noise.len() });
            assert!(chunk.run(FLAG_REVERSE, &words) == noise.len() && chunk.bytes() == noise);
        }
        #[cfg(feature = "cuda")]
        {
            use crate::api::hdf5_filter::prepared::{MARK, Prepared};
            let prepared = Prepared::new();
            prepared.push(b"a stream").unwrap();
            let mut chunk = Chunk::new(&[&prepared.mark(0)[..], &raw].concat());
            assert_eq!(prepared.during(|| chunk.run(0, &[])), 8);
            assert!(chunk.bytes() == b"a stream" && chunk.room == MARK + raw.len());
        }
    }

    /// Pages that the kernel had to bring in for this thread so far.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn page_faults() -> i64 {
        // SAFETY: the struct is plain data, which the call fills in.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage.ru_minflt
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn chunk_after_chunk_in_the_same_pages() {
        let raw: Vec<u8> = values().into_iter().cycle().take(4 << 20).collect();
        let words = long_form_of(Bound::Abs(1e-3), vec![1024, 1024]);
        let round = || {
            let mut chunk = Chunk::new(&raw);
            assert!(chunk.run(0, &words) > 0);
            assert_eq!(chunk.run(FLAG_REVERSE, &words), raw.len());
        };
        round();
        let before = page_faults();
        (0..8).for_each(|_| round());
        let faults = page_faults() - before;
        // A round touches three times 1024 pages.
        assert!(faults < 8 * 512, "{faults} page faults");
    }

    #[test]
    fn a_failure_leaves_the_chunk_as_it_was() {
        let raw = values();
        let whole = long_form(Bound::Abs(1e-3));
        for (flags, len, words) in [
            (0, 4096, &whole[..]),          // less than a chunk
            (0, raw.len(), &[7, 7][..]),    // another layout
            (FLAG_REVERSE, raw.len(), &[]), // no stream
            (FLAG_REVERSE, 0, &[]),
        ] {
            let mut chunk = Chunk::new(&raw[..len]);
            let before = chunk.buf;
            assert_eq!(chunk.run(flags, words), 0);
            assert_eq!((chunk.buf, chunk.bytes()), (before, &raw[..len]));
        }
    }
}
