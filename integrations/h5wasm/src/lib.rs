//! The filter as a side module of h5wasm, HDF5 compiled to WebAssembly. It reads; what writes datasets in a browser
//! gets HDF5's own word that the filter has no encoder.
//!
//! Memory and output are those of the main module, which exports what is imported here to every plugin. Nothing else is
//! imported: no system, no thread.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use sleek::hdf5::CdValues;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int;
    fn free(block: *mut c_void);
    fn iprintf(format: *const c_char, ...) -> c_int;
}

/// The main module's heap: the memory is its own to grow.
struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

// SAFETY: malloc and free of one heap, with the alignment that is asked for.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // malloc aligns to 8.
        if layout.align() <= 8 {
            // SAFETY: no layout has a size of 0.
            return unsafe { malloc(layout.size()) }.cast();
        }
        let mut block = std::ptr::null_mut();
        // SAFETY: a layout's alignment is a power of two, here a multiple of a pointer's.
        let failed = unsafe { posix_memalign(&raw mut block, layout.align(), layout.size()) };
        if failed == 0 { block.cast() } else { std::ptr::null_mut() }
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: it came from `alloc`.
        unsafe { free(block.cast()) }
    }
}

type Filter = unsafe extern "C" fn(c_uint, usize, *const c_uint, usize, *mut usize, *mut *mut c_void) -> usize;

/// H5Z_class2_t.
#[repr(C)]
pub struct FilterClass {
    version: c_int,
    id: c_int,
    encoder_present: c_uint,
    decoder_present: c_uint,
    name: *const c_char,
    can_apply: *const c_void,
    set_local: *const c_void,
    filter: Filter,
}

// SAFETY: its pointers lead to constants.
unsafe impl Sync for FilterClass {}

static CLASS: FilterClass = FilterClass {
    version: 1,
    id: 47474,
    encoder_present: 0,
    decoder_present: 1,
    name: c"SLEEK".as_ptr(),
    can_apply: std::ptr::null(),
    set_local: std::ptr::null(),
    filter,
};

/// H5PL_TYPE_FILTER: what HDF5 asks a plugin first.
#[unsafe(no_mangle)]
pub extern "C" fn H5PLget_plugin_type() -> c_int {
    0
}

/// The class that HDF5 asks it for.
#[unsafe(no_mangle)]
pub extern "C" fn H5PLget_plugin_info() -> *const FilterClass {
    &raw const CLASS
}

/// H5Z_FLAG_REVERSE.
const REVERSE: c_uint = 0x100;

/// # Safety
/// As HDF5 calls it: `nelmts` words, and a buffer of `*size` bytes from malloc, of which `bytes` are the chunk.
unsafe extern "C" fn filter(
    flags: c_uint,
    nelmts: usize,
    words: *const c_uint,
    bytes: usize,
    size: *mut usize,
    buf: *mut *mut c_void,
) -> usize {
    // SAFETY: the contract; null is no words.
    let words = if nelmts == 0 { &[] } else { unsafe { std::slice::from_raw_parts(words, nelmts) } };
    // SAFETY: the contract.
    let chunk = unsafe { std::slice::from_raw_parts((*buf).cast::<u8>(), bytes) };
    let restored = if flags & REVERSE == 0 {
        Err("in WebAssembly the filter reads only; write the file with HDF5's plugin".into())
    } else {
        restored(words, chunk)
    };
    match restored {
        Ok((block, len)) => {
            // SAFETY: HDF5's buffer is from malloc, as the one is that it gets.
            unsafe {
                free(*buf);
                *buf = block;
                *size = len;
            }
            len
        }
        Err(reason) => {
            report(&reason);
            0
        }
    }
}

/// The chunk's bytes in a block from malloc, and how many they are.
fn restored(words: &[c_uint], chunk: &[u8]) -> Result<(*mut c_void, usize), String> {
    let len = sleek::codec::raw_bytes(chunk).map_err(|e| e.to_string())?;
    // HDF5 takes a whole chunk from what a filter gives it, without a look at the length.
    let right = CdValues::decode(words).map_or(0..=u64::MAX, |values| values.chunk_bytes());
    if !right.contains(&(len as u64)) {
        return Err(format!("the stream holds {len} bytes; a chunk of the dataset has {}", right.end()));
    }
    // SAFETY: at least a byte, so that null is failure.
    let block = unsafe { malloc(len.max(1)) };
    if block.is_null() {
        return Err(format!("out of memory: {len} bytes for a chunk"));
    }
    // SAFETY: `len` bytes of our own. They are set before anything reads them.
    let bytes = unsafe {
        block.cast::<u8>().write_bytes(0, len);
        std::slice::from_raw_parts_mut(block.cast::<u8>(), len)
    };
    match sleek::decompress_into_with(chunk, bytes, 1) {
        Ok(_) => Ok((block, len)),
        Err(error) => {
            // SAFETY: nobody else has it.
            unsafe { free(block) };
            Err(error.to_string())
        }
    }
}

/// Prints the reason, in a browser onto its console: newer HDF5s let nothing onto their error stack while a filter
/// runs, and the functions by which it goes all the same are not exported.
fn report(reason: &str) {
    let Ok(text) = CString::new(reason) else { return };
    // SAFETY: printf without floating-point numbers, and a text that outlives the call.
    unsafe { iprintf(c"SLEEK: %s\n".as_ptr(), text.as_ptr()) };
}
