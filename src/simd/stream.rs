//! Copying past the caches: for results that are larger than any cache the processor need not read what it overwrites.

use std::iter::Zip;
use std::slice;

/// Copies `src` to `dst` of the same length without leaving `dst` in the caches. Call [`fence`] before others read it.
#[inline(always)]
pub fn copy(src: &[u8], dst: &mut [u8]) {
    copy_lines(src, dst, copy_line);
}

/// Copies a short row of elements: where it is made of whole lines, as rows of tiles mostly are, without a call.
#[inline(always)]
pub fn copy_row(src: &[u8], dst: &mut [u8]) {
    let ((from, rest), (to, behind)) = (src.as_chunks::<64>(), dst.as_chunks_mut::<64>());
    if !rest.is_empty() || from.len() > 16 {
        return dst.copy_from_slice(src);
    }
    assert!(behind.is_empty() && from.len() == to.len());
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// The same past the caches, if the row is whole lines of its place: memory of a line in parts is read first. Call
/// [`fence`] before others read it.
#[inline(always)]
pub fn copy_row_past(src: &[u8], dst: &mut [u8]) {
    // SAFETY: any bytes are lines.
    let (first, lines, last) = unsafe { dst.align_to_mut::<Line>() };
    if !first.is_empty() || !last.is_empty() {
        return copy_row(src, dst);
    }
    src.as_chunks().0.iter().zip(lines).for_each(|(from, to)| copy_line(from, to));
}

/// A cache line. Buffers are made of them: a vector that lies on two lines takes twice as long to read or write.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Line(pub [u8; 64]);

impl Line {
    /// All zeros.
    pub const ZERO: Line = Line([0; 64]);
}

/// The bytes of lines.
#[inline(always)]
pub fn bytes(lines: &[Line]) -> &[u8] {
    // SAFETY: lines are arrays of bytes without anything between them.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), size_of_val(lines)) }
}

/// The same, to be changed.
#[inline(always)]
pub fn bytes_of(lines: &mut [Line]) -> &mut [u8] {
    // SAFETY: lines are arrays of bytes without anything between them.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), size_of_val(lines)) }
}

/// Lines, and where they go.
type Lines<'a> = Zip<slice::Iter<'a, [u8; 64]>, slice::IterMut<'a, Line>>;

/// Less than a line, and where it goes.
type Piece<'a> = (&'a [u8], &'a mut [u8]);

/// The whole lines of `dst` with what `src` has for them, and what is before and behind them.
#[inline(always)]
fn cut<'a>(src: &'a [u8], dst: &'a mut [u8]) -> (Lines<'a>, [Piece<'a>; 2]) {
    let head = dst.as_ptr().align_offset(64).min(dst.len());
    let (first, dst) = dst.split_at_mut(head);
    let (src_first, src) = src.split_at(head);
    let whole = dst.len() / 64 * 64;
    let (dst, last) = dst.split_at_mut(whole);
    let (src, src_last) = src.split_at(whole);
    // SAFETY: aligned, since `head` bytes were cut off; any bytes are lines.
    let (_, lines, _) = unsafe { dst.align_to_mut::<Line>() };
    (src.as_chunks().0.iter().zip(lines), [(src_first, first), (src_last, last)])
}

/// Copies whole lines of `dst` by `line`, what is before and behind them 16 bytes at a time where these are aligned.
#[inline(always)]
pub fn copy_lines(src: &[u8], dst: &mut [u8], line: impl Fn(&[u8; 64], &mut Line)) {
    let (lines, [(src_first, first), (src_last, last)]) = cut(src, dst);
    copy_pieces(src_first, first);
    for (from, to) in lines {
        line(from, to);
    }
    copy_pieces(src_last, last);
}

/// Copies a line past the caches.
#[inline(always)]
fn copy_line(from: &[u8; 64], to: &mut Line) {
    for (from, to) in from.as_chunks().0.iter().zip(to.0.as_chunks_mut().0) {
        // SAFETY: a line is aligned, and so is each vector of it.
        unsafe { copy_vector(from, to) };
    }
}

/// Copies 16 bytes past the caches, where the processor can.
///
/// # Safety
/// `to` is aligned to 16 bytes.
#[inline(always)]
unsafe fn copy_vector(from: &[u8; 16], to: &mut [u8; 16]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64; 16 bytes each, and `to` is aligned.
    unsafe {
        use std::arch::x86_64::*;
        _mm_stream_si128(to.as_mut_ptr().cast(), _mm_loadu_si128(from.as_ptr().cast()));
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// Copies less than a line. Not inlined: where it is rare, what is computed for it alone would be computed always.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
pub fn copy_piece(src: &[u8], dst: &mut [u8]) {
    copy_pieces(src, dst);
}

/// The same as a part of `copy_lines`.
#[inline(always)]
fn copy_pieces(src: &[u8], dst: &mut [u8]) {
    let head = dst.as_ptr().align_offset(16).min(dst.len());
    let (first, dst) = dst.split_at_mut(head);
    let (src_first, src) = src.split_at(head);
    first.copy_from_slice(src_first);
    let (vectors, last) = dst.as_chunks_mut::<16>();
    let (sources, src_last) = src.as_chunks::<16>();
    for (to, from) in vectors.iter_mut().zip(sources) {
        // SAFETY: aligned, since `head` bytes were cut off.
        unsafe { copy_vector(from, to) };
    }
    last.copy_from_slice(src_last);
}

/// Copies lines to their place `at` in `chunk`, whatever its lines are; to be called for all of them in their order.
/// What they have of their last line waits in `last` for the next ones. `join` writes a line of `chunk`, which has the
/// end of one of them and the start of the next one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn joined<const N: usize>(
    staged: &[Line; N],
    chunk: &mut [u8],
    at: usize,
    last: &mut Line,
    join: impl Fn(&Line, &Line, &mut Line),
) {
    let (shared, end) = (chunk.as_ptr().addr() % 64, at + size_of_val(staged));
    assert!(at.is_multiple_of(64) && end <= chunk.len());
    if at == 0 && shared > 0 {
        copy_piece(&staged[0].0[..64 - shared], &mut chunk[..64 - shared]);
    }
    let mut before = &*last;
    for (k, line) in staged.iter().enumerate() {
        if at + 64 * k >= shared {
            // SAFETY: lines from the one on that is shared with those before, or else from the next one on, end before
            // `end`, and are aligned; any bytes are lines.
            join(before, line, unsafe { &mut *chunk.as_mut_ptr().add(at + 64 * k - shared).cast() });
        }
        before = line;
    }
    *last = staged[N - 1];
    if end == chunk.len() && shared > 0 {
        copy_piece(&last.0[64 - shared..], &mut chunk[end - shared..]);
    }
}

/// The prefetch queue: data that will be wanted soon, to be fetched a few lines at a time, since only so many requests
/// to memory can be on their way at once.
pub struct PrefetchQueue {
    at: *const u8,
    end: *const u8,
    /// From one line to the next; 0 where there is nothing to fetch, so that nobody has to ask.
    step: usize,
}

impl PrefetchQueue {
    /// The `lines` cache lines from the beginning of `data` on; none if it has fewer.
    #[inline(always)]
    pub fn new(data: &[u8], lines: usize) -> PrefetchQueue {
        let (at, enough) = (data.as_ptr(), data.len() >= 64 * lines);
        PrefetchQueue { at, end: at.wrapping_add(64 * lines), step: if enough { 64 } else { 0 } }
    }

    /// The lines that were not asked for yet.
    #[inline(always)]
    pub fn left(&self) -> usize {
        self.end.addr().saturating_sub(self.at.addr()) / 64
    }

    /// Asks the processor to fetch the next `lines` cache lines while it does something else.
    #[inline(always)]
    pub fn fetch(&mut self, lines: usize) {
        for _ in 0..lines {
            fetch(self.at);
            self.at = self.at.wrapping_add(self.step);
        }
    }
}

/// The queue of streaming stores: bytes that leave past the caches a few lines at a time, beside other work. Many at
/// once would have it wait until memory has taken them. What is left when the queue is dropped goes then, so that
/// nobody can lose it.
pub struct StreamingStores<'a>(Lines<'a>);

impl<'a> StreamingStores<'a> {
    /// None.
    pub fn none() -> StreamingStores<'a> {
        StreamingStores([].iter().zip(&mut []))
    }

    /// `src`, which goes to `dst` of the same length. What is no whole line of `dst` goes at once.
    pub fn new(src: &'a [u8], dst: &'a mut [u8]) -> StreamingStores<'a> {
        let (lines, pieces) = cut(src, dst);
        pieces.into_iter().for_each(|(src, dst)| copy_pieces(src, dst));
        StreamingStores(lines)
    }

    /// The lines that have not left yet.
    #[inline(always)]
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// Copies the next `lines` lines, as [`copy`] does, or as many as are left.
    #[inline(always)]
    pub fn put(&mut self, lines: usize) {
        for _ in 0..lines {
            let Some((from, to)) = self.0.next() else { return };
            copy_line(from, to);
        }
    }
}

impl Drop for StreamingStores<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.put(usize::MAX);
    }
}

/// What is done beside an encoder's work, so that nothing waits for memory.
pub struct MemoryQueues<'a> {
    /// What will be encoded next is fetched.
    pub prefetch: PrefetchQueue,
    /// What was encoded before goes to its place: what is left of it, when these queues are dropped.
    pub stores: StreamingStores<'a>,
}

/// Asks the processor to fetch the cache line at `at`, which may be anywhere.
#[inline(always)]
pub fn fetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64, and a prefetch accesses nothing, wherever it points.
    unsafe {
        use std::arch::x86_64::*;
        _mm_prefetch::<_MM_HINT_T1>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Makes this thread's copies visible to others in the order that they expect.
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn copies_every_length_and_alignment() {
        let src: Vec<u8> = (0..=255).collect();
        for offset in 0..65 {
            for len in 0..190 {
                let mut dst = [0xaau8; 270];
                for copy in [super::copy, super::copy_row, super::copy_row_past] {
                    dst.fill(0xaa);
                    copy(&src[3..3 + len], &mut dst[offset..offset + len]);
                    super::fence();
                    assert_eq!(dst[offset..offset + len], src[3..3 + len]);
                    assert!(dst[..offset].iter().chain(&dst[offset + len..]).all(|b| *b == 0xaa));
                }
            }
        }
    }
}
