//! Memory whose size a file says: where it cannot be had that is an error, and no end of the process.

use std::alloc::{Layout, alloc_zeroed};

/// How an error begins that says so.
const OUT_OF_MEMORY: &str = "out of memory";

/// Whether an error, HDF5's too, says that memory was short.
pub fn is_out_of_memory(why: &str) -> bool {
    [OUT_OF_MEMORY, "no memory for", "memory allocation failed", "H5MM_realloc"].iter().any(|short| why.contains(short))
}

/// Bytes to be written over.
pub fn zeroed(n: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    reserve(&mut bytes, n)?;
    bytes.resize(n, 0);
    Ok(bytes)
}

/// Zeroed by the system, page by page where they are used: a small file takes little of a large room.
pub fn zeroed_by_system(n: usize) -> Result<Vec<u8>, String> {
    let layout = Layout::array::<u8>(n).ok().filter(|layout| layout.size() > 0);
    let made = layout.and_then(|layout| {
        // SAFETY: the layout is not empty; what is allocated so is a vector of `n` bytes, all of which are there.
        unsafe {
            let start = alloc_zeroed(layout);
            (!start.is_null()).then(|| Vec::from_raw_parts(start, n, n))
        }
    });
    made.map_or_else(|| zeroed(n), Ok)
}

/// Room for `n` more elements.
pub fn reserve<T>(v: &mut Vec<T>, n: usize) -> Result<(), String> {
    let bytes = n.saturating_mul(size_of::<T>());
    v.try_reserve_exact(n).map_err(|_| format!("{OUT_OF_MEMORY}: {bytes} bytes could not be had"))
}

/// Whether `n` bytes can be had in small pieces, which fail less gently.
pub fn is_there(n: usize) -> bool {
    let mut block = Vec::<u8>::new();
    let found = block.try_reserve_exact(n).is_ok();
    // The compiler must not leave the block out.
    std::hint::black_box(&block);
    found
}
