//! Memory that grows with the data: where `vec!` would abort the host process, these answer with an error.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::LocalKey;

use crate::error::{Result, fail};

/// `n` times `value`.
pub fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut v = Vec::new();
    reserve(&mut v, n)?;
    v.resize(n, value);
    Ok(v)
}

/// Integers: any bytes make one.
///
/// # Safety
/// They lie in memory without anything between them, and all of their bits count.
pub unsafe trait Integer: Copy + 'static {}
// SAFETY: integers are so.
unsafe impl Integer for u8 {}
// SAFETY: as above.
unsafe impl Integer for u16 {}
// SAFETY: as above.
unsafe impl Integer for u32 {}
// SAFETY: as above.
unsafe impl Integer for u64 {}

/// Numbers that begin where a cache line does: a vector that lies on two lines takes twice as long to read or write.
pub struct Aligned<T> {
    lines: Vec<Line>,
    len: usize,
    of: PhantomData<T>,
}

impl<T: Integer> Aligned<T> {
    /// `n` zeros.
    pub fn zeros(n: usize) -> Result<Aligned<T>> {
        let count = (n * size_of::<T>()).div_ceil(size_of::<Line>());
        Ok(Aligned { lines: filled(count, Line([0; 64]))?, len: n, of: PhantomData })
    }
}

/// None of them.
impl<T> Default for Aligned<T> {
    fn default() -> Self {
        Aligned { lines: Vec::new(), len: 0, of: PhantomData }
    }
}

impl<T: Integer> std::ops::Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: lines begin where any number may, and their bytes make numbers, as `Integer` says; there was room for
        // them when it was made, and lines stay as many.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Integer> std::ops::DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

/// N times `value`, which the stack never holds.
pub fn boxed<T: Clone, const N: usize>(value: T) -> Result<Box<[T; N]>> {
    match filled(N, value)?.into_boxed_slice().try_into() {
        Ok(array) => Ok(array),
        Err(_) => fail!(Internal, "an array of {N} has another length"),
    }
}

/// A value where it takes nothing of the caller's stack.
pub struct Heap<T>(Box<[T]>);

impl<T> Heap<T> {
    /// Moves a value there.
    pub fn new(value: T) -> Result<Heap<T>> {
        let mut one = Vec::new();
        reserve(&mut one, 1)?;
        one.push(value);
        Ok(Heap(one.into_boxed_slice()))
    }

    /// The same as a box of one.
    pub fn into_array(self) -> Result<Box<[T; 1]>> {
        match self.0.try_into() {
            Ok(array) => Ok(array),
            Err(_) => fail!(Internal, "a value was taken out"),
        }
    }
}

/// What stands where one was taken out: it has no value.
impl<T> Default for Heap<T> {
    fn default() -> Self {
        Heap(Box::default())
    }
}

impl<T> std::ops::Deref for Heap<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0[0]
    }
}

impl<T> std::ops::DerefMut for Heap<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0[0]
    }
}

/// What an iterator gives that knows how much that is at most.
pub fn gathered<T>(items: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    reserve(&mut all, items.size_hint().1.unwrap_or_default())?;
    all.extend(items);
    Ok(all)
}

/// Room for `n` more elements in `v`.
pub fn reserve<T>(v: &mut Vec<T>, n: usize) -> Result<()> {
    match v.try_reserve_exact(n) {
        Ok(()) => Ok(()),
        Err(_) => fail!(OutOfMemory, "{} bytes could not be allocated", n.saturating_mul(size_of::<T>())),
    }
}

/// Whether `n` bytes can be had: they are asked for and given back, so that small requests behind find them in the
/// heap. For code of others that would end the process where memory is short.
pub fn is_there(n: usize) -> bool {
    let mut block = Vec::<u8>::new();
    let found = block.try_reserve_exact(n).is_ok();
    // The compiler must not leave the block out.
    std::hint::black_box(&block);
    found
}

/// Whether `n` bytes beside the heap can be had, such as threads have stacks in: as above.
#[cfg(unix)]
pub fn is_mapped(n: usize) -> bool {
    use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE};
    // SAFETY: new pages, which nobody else has and nobody touches.
    unsafe {
        let pages = libc::mmap(std::ptr::null_mut(), n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pages != MAP_FAILED && libc::munmap(pages, n) == 0
    }
}

/// Whether there is room for the few small blocks that the standard library and libc take when something of theirs is
/// used for the first time: both would end the process without.
pub fn has_room() -> bool {
    is_there(4 << 10)
}

/// What the description of a dataset, or of a transfer to one, takes at most.
pub const DESCRIPTION_BYTES: usize = 64 << 10;

/// An error unless there is room for code that takes up to `n` bytes, and would end the process without.
pub fn expect_room(n: usize) -> Result<()> {
    if is_there(n) { Ok(()) } else { fail!(OutOfMemory, "{n} bytes could not be allocated") }
}

/// What a thread keeps from one call to the next, and drops when it ends.
pub struct Kept<T: 'static> {
    /// Whether this thread has used it. libc notes down what is to be dropped, and ends the process where it has no
    /// memory for the note.
    pub used: &'static LocalKey<Cell<bool>>,
    /// What is kept.
    pub place: &'static LocalKey<Cell<T>>,
}

impl<T: Default> Kept<T> {
    /// Takes what is kept; nothing where there is no room to keep anything, or where the thread ends.
    pub fn take(&self) -> T {
        if !self.used.get() && !has_room() {
            return T::default();
        }
        self.used.set(true);
        self.place.try_with(Cell::take).unwrap_or_default()
    }

    /// Keeps `value` for the next call, if it can be kept.
    pub fn keep(&self, value: T) {
        if self.used.get() {
            let _ = self.place.try_with(|place| place.set(value));
        }
    }
}

/// A cache line of a buffer.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Buffers that a thread keeps, at most.
const KEPT_BUFFERS: usize = 8;

thread_local! {
    static USED: Cell<bool> = const { Cell::new(false) };
    static PLACE: Cell<Vec<Vec<Line>>> = const { Cell::new(Vec::new()) };
}

const KEPT: Kept<Vec<Vec<Line>>> = Kept { used: &USED, place: &PLACE };

/// A buffer that begins where a cache line does, of the thread that made it: when it ends the thread keeps it for the
/// next one. What is in it at first is of no meaning.
pub struct Scratch(Aligned<u8>);

impl Scratch {
    /// Of `n` bytes.
    pub fn new(n: usize) -> Result<Scratch> {
        let count = n.div_ceil(64);
        let mut kept = KEPT.take();
        let found = kept.iter().position(|lines| lines.len() >= count).map(|i| kept.swap_remove(i));
        KEPT.keep(kept);
        Ok(Scratch(match found {
            Some(lines) => Aligned { lines, len: n, of: PhantomData },
            None => Aligned::zeros(n)?,
        }))
    }
}

impl std::ops::Deref for Scratch {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl std::ops::DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.0.lines);
        let mut kept = KEPT.take();
        // Where there is no room, or no memory for it, the smallest goes.
        if kept.len() >= KEPT_BUFFERS {
            let smallest = (0..kept.len()).min_by_key(|i| kept[*i].len()).unwrap_or(0);
            kept.swap_remove(smallest);
        }
        if kept.try_reserve(1).is_ok() {
            kept.push(lines);
        }
        KEPT.keep(kept);
    }
}

/// The largest block that glibc ever takes from its heap, less what it adds to a block.
const LARGEST_IN_HEAP: usize = (32 << 20) - (64 << 10);

/// Has glibc take blocks of `bytes` bytes from its heap, and keep the heap when they are freed.
///
/// At first it maps every block above 128 KiB anew and unmaps it when freed, so that the kernel clears each page of
/// each HDF5 chunk, which takes as long as the codec. It learns from a block that it unmaps: blocks up to that size
/// come from the heap from then on, and the heap shrinks only when twice as much is free. So one block is shown to it,
/// of some times the size, since HDF5 holds several. Where the host has set the limits itself they stay; other
/// allocators take no notice.
#[cfg(unix)]
pub fn keep_in_heap(bytes: usize) {
    static SHOWN: AtomicUsize = AtomicUsize::new(0);
    if bytes > LARGEST_IN_HEAP || SHOWN.fetch_max(bytes, Ordering::Relaxed) >= bytes {
        return;
    }
    let block = bytes.saturating_mul(4).min(LARGEST_IN_HEAP);
    // SAFETY: nobody else has the block. It is not touched, so it costs no memory; the compiler must not leave it out.
    unsafe { libc::free(std::hint::black_box(libc::malloc(block))) };
}
