//! Streaming stores of AVX2 where lines of what is written are not those of memory.

use std::arch::asm;
use std::arch::x86_64::*;

use super::lanes::{load, store};
use crate::exec::Avx2;
use crate::simd::stream::{self, Line, bytes};

/// Asks the processor for the cache lines of so many `BYTES` from `at` on, which will be written soon: a store that
/// finds its line waits for nothing. All processors with AVX2 know the instruction.
#[inline(always)]
pub fn prefetchw<const BYTES: usize>(_: Avx2, at: *const u8) {
    for line in (0..BYTES).step_by(64) {
        // SAFETY: a prefetch accesses nothing, wherever it points.
        unsafe {
            asm!("prefetchw [{0}]", in(reg) at.wrapping_add(line), options(readonly, nostack, preserves_flags));
        }
    }
}

/// Copies lines to their place `at` in `chunk`, which begins `SHARED` bytes behind a line of memory: what they have of
/// their last line waits in `last` for the next ones. Vectors are loaded as they were stored: a load of parts of two
/// that were just stored waits until both are in the cache.
#[inline(always)]
fn stream<const SHARED: usize>(staged: &[Line], chunk: &mut [u8], at: usize, last: &mut Line) {
    let end = at + size_of_val(staged);
    assert!(at.is_multiple_of(64) && end <= chunk.len());
    if at == 0 && SHARED > 0 {
        stream::copy_piece(&staged[0].0[..64 - SHARED], &mut chunk[..64 - SHARED]);
    }
    // SAFETY: the processor has the level, as the caller's token says. Lines from the one that is shared with those
    // before on, if there is one, else from the next one on, end before `end`, and are aligned.
    unsafe {
        let halves = |line: &Line| [load(line.0.as_ptr()), load(line.0.as_ptr().add(32))];
        let behind = |a, b| _mm256_permute2x128_si256::<0x21>(a, b);
        let mut before = halves(last);
        for (k, line) in staged.iter().enumerate() {
            let this = halves(line);
            let [low, high] = match SHARED {
                0 => this,
                16 => [behind(before[1], this[0]), behind(this[0], this[1])],
                32 => [before[1], this[0]],
                _ => [behind(before[0], before[1]), behind(before[1], this[0])],
            };
            if at + 64 * k >= SHARED {
                let to: *mut __m256i = chunk.as_mut_ptr().add(at + 64 * k - SHARED).cast();
                _mm256_stream_si256(to, low);
                _mm256_stream_si256(to.add(1), high);
            }
            before = this;
        }
        store(last.0.as_mut_ptr(), before[0]);
        store(last.0.as_mut_ptr().add(32), before[1]);
    }
    if end == chunk.len() && SHARED > 0 {
        stream::copy_piece(&last.0[64 - SHARED..], &mut chunk[end - SHARED..]);
    }
}

given! { Avx2,
    /// Copies whole lines to their place `at` in `chunk`; to be called for all of them in their order.
    pub fn stream_lines(_p: Avx2, staged: &[Line], chunk: &mut [u8], at: usize, last: &mut Line) {
        match chunk.as_ptr().addr() % 64 {
            0 => stream::<0>(staged, chunk, at, last),
            16 => stream::<16>(staged, chunk, at, last),
            32 => stream::<32>(staged, chunk, at, last),
            48 => stream::<48>(staged, chunk, at, last),
            _ => stream::copy(bytes(staged), &mut chunk[at..at + size_of_val(staged)]),
        }
    }
}
