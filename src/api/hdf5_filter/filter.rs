//! The call-back `filter`, which HDF5 calls for each chunk.

use std::ffi::{c_uint, c_void};

use super::abi::{H5Z_FLAG_OPTIONAL, H5Z_FLAG_REVERSE};
use super::buffer::Buffer;
use super::caller::Caller;
use super::cd_values::CdValues;
use super::chunk::{self, may_decline, refuse_unmet};
#[cfg(feature = "cuda")]
use super::prepared::take as prepared;
use super::report::guard;
use super::resolve::Hdf5;
use crate::dtype::DType;
use crate::error::{Kind, Result, fail};
use crate::exec::ExecOptions;
use crate::host::memory;
use crate::params::Params;
use crate::route::Codec;
use crate::route::cpu::{Request, Stream};

/// `H5Z_func_t`. Uses nothing of HDF5 but to say why it failed; then the caller's buffer is as it was.
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
) -> usize {
    let place = 0;
    // SAFETY: the contract.
    unsafe { filter_of(Caller::of(&place), flags, (cd_values, cd_nelmts), nbytes, buf_size, buf) }
}

/// The same for a caller.
///
/// # Safety
/// As of `filter`.
pub unsafe fn filter_of(
    caller: Caller,
    flags: c_uint,
    (cd_values, cd_nelmts): (*const c_uint, usize),
    nbytes: usize,
    buf_size: *mut usize,
    buf: *mut *mut c_void,
) -> usize {
    guard(0, caller, || {
        // SAFETY: HDF5 gives `cd_nelmts` words at `cd_values` and `nbytes` bytes at `*buf`, and says how large that is.
        let (words, src, room) =
            unsafe { (slice(cd_values, cd_nelmts), slice((*buf).cast_const().cast::<u8>(), nbytes), *buf_size) };
        // When HDF5 copies objects it takes our buffer for as large as the one that it gave.
        let room = room.max(nbytes);
        let made = match prepared(src) {
            _ if flags & H5Z_FLAG_REVERSE != 0 => Some(decode(words, src, room)?),
            Some(stream) => Some(Buffer::of(&stream, room)?),
            None => encode(flags, words, src, room, caller)?,
        };
        // HDF5 stores the chunk without the filter then, and marks it so.
        let Some((out, len)) = made else { return Ok(0) };
        let told = if len > room && may_refer(words)? && is_before_2_2(caller)? { room } else { len.max(room) };
        // SAFETY: HDF5 hands its buffer over, to be freed, and takes ours in its place.
        unsafe {
            libc::free(*buf);
            *buf_size = told;
            *buf = out.release();
        }
        Ok(len)
    })
}

/// Whether elements may refer to others, as strings of any length do, of which `set_local` is not told. Where HDF5
/// before 2.2 copies such, it clears a buffer of its own as far as it was told of ours. So it is told no more than it
/// gave, as its own deflate does.
fn may_refer(words: &[u32]) -> Result<bool> {
    match CdValues::decode(words) {
        Err(e) if e.kind == Kind::OutOfMemory => Err(e),
        Ok(CdValues { element: Some(element), .. }) => Ok(element.dtype == DType::U8 && element.bytes > 1),
        _ => Ok(true),
    }
}

/// Whether the HDF5 that calls must be told no more. From 2.2 on it must be told all, else the chunk is lost. One that
/// hides its functions may be older.
#[inline(never)]
fn is_before_2_2(caller: Caller) -> Result<bool> {
    Ok(Hdf5::at(caller.address())?.is_none_or(|hdf5| hdf5.version() < (2, 2, 0)))
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

/// The stream of the chunk `src` in a buffer of at least `room` bytes, and its length; `None` as of `chunk::stream`.
#[inline(never)]
fn encode(flags: c_uint, words: &[u32], src: &[u8], room: usize, caller: Caller) -> Result<Option<(Buffer, usize)>> {
    let options = options(src.len(), BYTES_FOR_THREADS.0);
    let mut is_completed = false;
    let (params, codec) = &*asked(words, src.len(), options.threads, |values| {
        is_completed = values.element.is_some();
        refuse_unmet(flags, values, caller)
    })?;
    // Where it may harm, `set_local` makes ours mandatory; for strings of any length HDF5 does not call that.
    let is_optional = is_completed && flags & H5Z_FLAG_OPTIONAL != 0;
    let may_decline = || Ok(is_optional && may_decline(flags, Hdf5::at(caller.address())?.as_deref()));
    chunk::stream(Request { params, codec: *codec }, src, options, may_decline, |bytes| Buffer::new(bytes.max(room)))
}

/// What is to be done to a chunk of so many `bytes` by the words of its dataset, unless `refuse` has something against
/// it, and the codec that does it. A program that writes through HDF5 may not know of us, so undeclared fill values are
/// searched for unless the words forbid it. Never inlined, so that nothing of it stays on the stack.
#[inline(never)]
fn asked(
    words: &[u32],
    bytes: usize,
    threads: u32,
    refuse: impl FnOnce(&CdValues) -> Result<()>,
) -> Result<memory::Heap<(Params, &'static dyn Codec)>> {
    let values = CdValues::read(words)?;
    refuse(&values)?;
    let (params, codec) = chunk::params(&values, bytes)?;
    let find_fill = params.find_fill.or(Some(true));
    memory::Heap::new((Params { threads, find_fill, ..params }, codec))
}

/// The chunk of the stream `src` in a buffer of at least `room` bytes, and its length. Needs no words. But where they
/// tell what a chunk must be, any other is refused.
#[inline(never)]
fn decode(words: &[u32], src: &[u8], room: usize) -> Result<(Buffer, usize)> {
    let stream = expected(words, src)?;
    let bytes = stream.raw_bytes();
    if bytes == 0 {
        return fail!(Corrupt, "the stream holds no elements; a chunk has some");
    }
    let mut out = Buffer::new(bytes.max(room))?;
    stream.decompress_into(&mut out.bytes()[..bytes], options(bytes, BYTES_FOR_THREADS.1))?;
    Ok((out, bytes))
}

/// The stream `src`, which holds a chunk; an error if `words`, the `cd_values` of its dataset, tell of another. Never
/// inlined, as `asked`.
#[inline(never)]
pub fn expected<'a>(words: &[u32], src: &'a [u8]) -> Result<Stream<'a>> {
    let stream = Stream::open(src)?;
    CdValues::decode(words).map_or(Ok(()), |values| chunk::expect(&values, stream.header()))?;
    Ok(stream)
}

/// Bytes of the chunk that the stream `src` holds; an error if `words`, the `cd_values` of its dataset, tell of
/// another.
pub fn bytes_of_chunk(words: &[u32], src: &[u8]) -> Result<usize> {
    expected(words, src).map(|stream| stream.raw_bytes())
}

/// What the mandatory filter makes of the chunk `src`, by the `cd_values` of its dataset: for a program that writes
/// chunks itself. 0 `threads` lets the library choose how many.
pub fn stream_of_chunk(words: &[u32], src: &[u8], threads: u32) -> Result<Vec<u8>> {
    let (params, codec) = &*asked(words, src.len(), threads, |_| Ok(()))?;
    let (request, options) = (Request { params, codec: *codec }, ExecOptions::threads(threads));
    let made = chunk::stream(request, src, options, || Ok(false), |bytes| memory::filled(bytes, 0u8))?;
    let (mut stream, len) = made.unwrap_or_default();
    stream.truncate(len);
    stream.shrink_to_fit();
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::hdf5_filter::cd_values::StoredElement;
    use crate::api::hdf5_filter::cd_values_of;
    use crate::params::{Bound, Mode};

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
            let len = unsafe { filter(flags, words.len(), words.as_ptr(), self.len, &mut self.room, &mut self.buf) };
            if self.buf == buf {
                assert_eq!((len, self.room), (0, room), "a failure leaves the buffer as it was");
                return 0;
            }
            let room = room.max(self.len);
            assert!(self.room == len.max(room) || self.room == room && may_refer(words).unwrap());
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
        let element = Some(StoredElement::of(DType::F32, true, 4, &chunk));
        CdValues { request: Params::new(DType::F32).with_bound(bound), element }.encode()
    }

    /// HDF5 takes 0 bytes for a failure, after which its buffer must be as it was.
    #[test]
    fn an_empty_stream_is_no_chunk() {
        let mut chunk = Chunk::new(&crate::compress(&Params::new(DType::F32), &[]).unwrap());
        let before = chunk.buf;
        assert_eq!((chunk.run(H5Z_FLAG_REVERSE, &[]), chunk.buf), (0, before));
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
            assert!(chunk.run(H5Z_FLAG_OPTIONAL, words) > 0);
            assert_eq!(crate::inspect(chunk.bytes()).unwrap().mode, Mode::Lossless);
            assert_eq!((chunk.run(H5Z_FLAG_REVERSE, words), chunk.bytes()), (len, &raw[..len]));
        }
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
                assert_eq!((chunk.run(H5Z_FLAG_REVERSE, &[]), chunk.room), (raw.len(), room));
            }
        }
        // Noise is longer than it came, which HDF5 is told unless elements may refer to others.
        let noise = noise(raw.len());
        for (dtype, bytes, is_told) in [(DType::U8, 4, false), (DType::U8, 0, true), (DType::F32, 4, true)] {
            let element = Some(StoredElement::of(dtype, false, bytes, &[50, 100]));
            let words = CdValues { request: Params::new(DType::F32), element }.encode();
            let mut chunk = Chunk::new(&noise);
            let len = chunk.run(0, &words);
            assert!(len > noise.len() && chunk.room == if is_told { len } else { noise.len() });
            assert!(chunk.run(H5Z_FLAG_REVERSE, &words) == noise.len() && chunk.bytes() == noise);
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
            assert_eq!(chunk.run(H5Z_FLAG_REVERSE, &words), raw.len());
        };
        round();
        let before = page_faults();
        (0..8).for_each(|_| round());
        let faults = page_faults() - before;
        // A round touches three times 1024 pages.
        assert!(faults < 8 * 512, "{faults} page faults");
    }
}
