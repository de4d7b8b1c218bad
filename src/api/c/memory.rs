//! Pointers of the caller, checked as far as they can be, as slices.

use std::ffi::c_void;
use std::slice::from_raw_parts;

use crate::container::MAX_RANK;
use crate::error::{Kind, Result, fail};

/// Refuses NULL for the argument `name`.
pub fn not_null<T>(name: &str, pointer: *const T) -> Result<()> {
    if pointer.is_null() { fail!(NullPointer, "{name} is NULL") } else { Ok(()) }
}

/// Where the caller gets an answer; nowhere if it is NULL.
pub struct Answer<T>(*mut T);

/// The caller's place for an answer, which holds `nothing` at first.
///
/// # Safety
/// `place` is NULL or may be written as long as the value lives; the address may be unaligned.
pub unsafe fn answer<T>(place: *mut T, nothing: T) -> Answer<T> {
    let answer = Answer(place);
    answer.set(nothing);
    answer
}

impl<T> Answer<T> {
    /// It, if it is not NULL.
    pub fn needed(self, name: &str) -> Result<Answer<T>> {
        not_null(name, self.0).map(|()| self)
    }

    /// Gives it.
    pub fn set(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the contract of `answer`.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

/// Gives the caller a list where there is `room` for `room` of them; `what` they are.
///
/// # Safety
/// `place` is NULL or may be written for `room` of them; the address may be unaligned.
pub unsafe fn give_list<T: Copy>(what: &str, place: *mut T, room: usize, list: &[T]) -> Result<()> {
    if room < list.len() {
        return fail!(BufferTooSmall, "room for {room} {what}; there are {}", list.len());
    }
    if !list.is_empty() {
        not_null(what, place)?;
    }
    for (k, value) in list.iter().enumerate() {
        // SAFETY: within the caller's room.
        unsafe { place.add(k).write_unaligned(*value) };
    }
    Ok(())
}

/// Refuses a buffer that no program can have: NULL with a length, or reaching beyond the address space.
fn check(name: &str, pointer: *const c_void, bytes: usize) -> Result<()> {
    if pointer.is_null() && bytes > 0 {
        return fail!(NullPointer, "{name} is NULL, with a size of {bytes} bytes");
    }
    if bytes > isize::MAX as usize || (pointer as usize).checked_add(bytes).is_none() {
        return fail!(InvalidArgument, "{name} of {bytes} bytes does not fit in the address space");
    }
    Ok(())
}

/// The caller's `bytes` at `pointer`.
///
/// # Safety
/// They may be read, and nobody writes them, for as long as the slice is used.
pub unsafe fn source<'a>(name: &str, pointer: *const c_void, bytes: usize) -> Result<&'a [u8]> {
    check(name, pointer, bytes)?;
    if bytes == 0 {
        return Ok(&[]);
    }
    // SAFETY: not null, of a possible length; readable by the contract.
    Ok(unsafe { from_raw_parts(pointer.cast(), bytes) })
}

/// The caller's list of `n` values.
///
/// # Safety
/// `pointer` is NULL or holds `n` of them, which nobody writes during the call.
pub unsafe fn list<'a, T>(name: &str, pointer: *const T, n: usize) -> Result<&'a [T]> {
    if n == 0 {
        return Ok(&[]);
    }
    not_null(name, pointer)?;
    if !pointer.is_aligned() || n > isize::MAX as usize / size_of::<T>() {
        return fail!(InvalidArgument, "{name} at {pointer:p} cannot be a list of {n} entries");
    }
    // SAFETY: not null, aligned, of a possible length; the rest is the contract.
    Ok(unsafe { from_raw_parts(pointer, n) })
}

/// The caller's `rank` numbers, one for each dimension; zeros behind them.
///
/// # Safety
/// `pointer` is NULL or leads to as many of them; the address may be unaligned.
pub unsafe fn numbers(name: &str, pointer: *const u64, rank: i32) -> Result<[u64; MAX_RANK]> {
    let Some(count) = usize::try_from(rank).ok().filter(|rank| (1..=MAX_RANK).contains(rank)) else {
        return fail!(InvalidArgument, "rank {rank}; 1 to {MAX_RANK} dimensions are possible");
    };
    not_null(name, pointer)?;
    let mut numbers = [0; MAX_RANK];
    for (k, number) in numbers[..count].iter_mut().enumerate() {
        // SAFETY: the contract.
        *number = unsafe { pointer.add(k).read_unaligned() };
    }
    Ok(numbers)
}

/// What `restore` does to the caller's room for what it restores. At NULL there is none, whatever its size is said to
/// be: nothing but an empty result goes there.
pub fn restored(
    (src, src_bytes): (*const c_void, usize),
    (dst, capacity): (*mut c_void, usize),
    restore: impl FnOnce((*const u8, usize), (*mut u8, usize)) -> Result<usize>,
) -> Result<usize> {
    let room = if dst.is_null() { 0 } else { capacity };
    apart(src, src_bytes, dst, room)?;
    match restore((src.cast(), src_bytes), (dst.cast(), room)) {
        Err(e) if room < capacity && e.kind == Kind::BufferTooSmall => check("dst", dst, capacity).map(|()| 0),
        done => done,
    }
}

/// Refuses a source and a destination that no program can have, and ones that overlap.
pub fn apart(src: *const c_void, src_bytes: usize, dst: *const c_void, dst_bytes: usize) -> Result<()> {
    check("src", src, src_bytes)?;
    check("dst", dst, dst_bytes)?;
    let (s, d) = (src as usize, dst as usize);
    if src_bytes > 0 && dst_bytes > 0 && s < d + dst_bytes && d < s + src_bytes {
        return fail!(
            InvalidArgument,
            "src ({src_bytes} bytes at {s:#x}) and dst ({dst_bytes} bytes at {d:#x}) overlap; \
             the work cannot be done in place"
        );
    }
    Ok(())
}
