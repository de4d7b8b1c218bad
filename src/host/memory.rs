//! Memory that grows with the data: where `vec!` would abort the host process, these answer with an error.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Result, fail};

/// `n` times `value`.
pub fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut v = Vec::new();
    reserve(&mut v, n)?;
    v.resize(n, value);
    Ok(v)
}

/// Room for `n` more elements in `v`.
pub fn reserve<T>(v: &mut Vec<T>, n: usize) -> Result<()> {
    match v.try_reserve_exact(n) {
        Ok(()) => Ok(()),
        Err(_) => fail!(OutOfMemory, "{} bytes could not be allocated", n.saturating_mul(size_of::<T>())),
    }
}

/// Gives `work` `n` bytes that this thread keeps from call to call; what they hold is of no meaning.
pub fn with_scratch<R>(n: usize, work: impl FnOnce(&mut [u8]) -> R) -> Result<R> {
    thread_local! {
        static KEPT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut scratch = KEPT.try_with(Cell::take).unwrap_or_default();
    if scratch.len() < n {
        scratch = filled(n, 0)?;
    }
    let result = work(&mut scratch[..n]);
    // A thread that ends keeps nothing more.
    let _ = KEPT.try_with(|kept| kept.set(scratch));
    Ok(result)
}

/// The largest block that glibc ever takes from its heap, less what it adds to a block.
const LARGEST_IN_HEAP: usize = (32 << 20) - (64 << 10);

/// Has glibc take blocks of `bytes` bytes from its heap, and keep the heap when they are freed.
///
/// At first it maps every block above 128 KiB anew and unmaps it when freed, so that the kernel clears each page of each HDF5
/// chunk, which takes as long as the codec. It learns from a block that it unmaps: blocks up to that size come from the heap
/// from then on, and the heap shrinks only when twice as much is free. So one block is shown to it, of some times the size,
/// since HDF5 holds several. Where the host has set the limits itself they stay; other allocators take no notice.
pub fn keep_in_heap(bytes: usize) {
    static SHOWN: AtomicUsize = AtomicUsize::new(0);
    if bytes > LARGEST_IN_HEAP || SHOWN.fetch_max(bytes, Ordering::Relaxed) >= bytes {
        return;
    }
    let block = bytes.saturating_mul(4).min(LARGEST_IN_HEAP);
    // SAFETY: nobody else has the block. It is not touched, so it costs no memory; the compiler must not leave it out.
    unsafe { libc::free(std::hint::black_box(libc::malloc(block))) };
}
