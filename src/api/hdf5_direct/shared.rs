//! Chunks of an array in GPU memory into a file that MPI ranks share. There HDF5 takes no finished chunks, only
//! `H5Dwrite` of all ranks at once with the filter. So it gets an array of the same shape that is blank but for a mark
//! in each chunk, and the filter answers a mark with the stream that the GPU has made of that chunk. Blank pages take
//! no memory: all of them are the kernel's page of zeros. Only the tables of pages do, a part in 512; they are kept for
//! the next call, since making them lasts as long as HDF5 copies what they show.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use super::dataset::{Dataset, Direction};
use super::device;
use super::plan::{Direct, Done, Plan};
use crate::api::hdf5_filter::prepared::{MARK, Prepared};
use crate::error::{Result, fail};
use crate::host::memory::keep_in_heap;

/// Why it goes this way.
pub const REASON: &str = "chunks of data in GPU memory, by H5Dwrite of all ranks";

/// Writes every chunk of the array at `src`; or says why HDF5 must write the array itself, which every rank but this
/// one may wait for.
///
/// # Safety
/// `src` holds the selection in memory of the GPU `ordinal`, ready when `stream` gets to what is enqueued now.
pub unsafe fn write(
    dataset: &Dataset,
    plan: &Plan,
    direct: &Direct,
    src: *const u8,
    ordinal: i32,
    stream: *mut c_void,
) -> Result<std::result::Result<Done, String>> {
    if let Some(why) = device::refuses_to_write(direct, src)?.or_else(|| refuses(direct)) {
        return Ok(Err(why));
    }
    let (prepared, mut are_stored) = (Prepared::new(), true);
    let mut put = |_, stream: &[u8]| {
        are_stored &= stream.len() <= direct.longest;
        prepared.push(stream).map(|()| true)
    };
    // SAFETY: the contract.
    let made = unsafe { device::write(direct, src, ordinal, stream, &mut put) };
    // The other ranks wait in H5Dwrite, so what fails here must not keep this one from it.
    let (done, blank) = match made.and_then(|done| Ok((done, Blank::of(plan.bytes)?))) {
        Ok(both) => both,
        Err(e) => return Ok(Err(format!("the GPU did not compress the chunks: {}", e.message))),
    };
    if !are_stored {
        return Ok(Err("some chunks do not get smaller".into()));
    }
    for i in 0..direct.boxes.len() {
        let at = direct.boxes.rows(i).next().map_or(0, |row| row.array);
        // SAFETY: the blank array has the bytes of the selection, and `refuses` has seen that its rows hold a mark.
        unsafe { ptr::copy_nonoverlapping(prepared.mark(i).as_ptr(), blank.start.add(at), MARK) };
    }
    dataset.make_filter_ours();
    // HDF5 takes memory for each chunk, to copy zeros to it: new pages would take longer than all the rest.
    keep_in_heap(direct.boxes.chunk_bytes());
    let part = (&plan.start[..], &plan.count[..]);
    // SAFETY: as large as the selection.
    prepared.during(|| unsafe { dataset.transfer(Direction::Write, plan.mem_type, part, true, blank.start) })?;
    blank.keep();
    // With a single rank HDF5 may leave chunks in its cache. The array itself takes their place.
    Ok(match prepared.left() {
        0 => Ok(done),
        left => Err(format!("HDF5 did not ask for {left} of {} chunks", done.chunks)),
    })
}

/// Why the chunks can have no mark, if they cannot: it must be in one piece in the array.
fn refuses(direct: &Direct) -> Option<String> {
    if direct.swap > 1 {
        return Some("numbers of another byte order than in the file".into());
    }
    let short = |i: usize| direct.boxes.rows(i).next().is_none_or(|row| row.len < MARK);
    (0..direct.boxes.len()).any(short).then(|| format!("chunks with rows of less than {MARK} bytes"))
}

/// Pages of zeros, but for the marks of calls before: each chunk begins with one of this call's, and what follows is of
/// no meaning.
struct Blank {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: nobody but the owner follows the pointer.
unsafe impl Send for Blank {}

/// The last one.
static KEPT: Mutex<Option<Blank>> = Mutex::new(None);

impl Blank {
    /// The one that is kept, if it is large enough.
    fn of(bytes: usize) -> Result<Blank> {
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.filter(|blank| blank.bytes >= bytes).map_or_else(|| Blank::new(bytes), Ok)
    }

    fn keep(self) {
        *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(self);
    }

    fn new(bytes: usize) -> Result<Blank> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever the kernel puts it.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind | libc::MAP_NORESERVE, -1, 0) };
        if start == libc::MAP_FAILED {
            return fail!(OutOfMemory, "{bytes} bytes of addresses could not be had");
        }
        // A mark would take a huge page; and pages that are read one by one take a fault each. Kernels before 5.14 do
        // not know the second, which does no harm.
        // SAFETY: our mapping; advice alone.
        #[cfg(target_os = "linux")]
        unsafe {
            libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE);
            libc::madvise(start, bytes, libc::MADV_POPULATE_READ);
        }
        Ok(Blank { start: start.cast(), bytes })
    }
}

impl Drop for Blank {
    fn drop(&mut self) {
        // SAFETY: ours, and nobody reads it any more.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
