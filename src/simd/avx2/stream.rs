//! Streaming stores of AVX2 where lines of what is written are not those of memory.

use std::arch::asm;
use std::arch::x86_64::*;

use super::lanes::load;
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

/// Has `to`, a line of memory that begins `SHARED` bytes before a line of what is written, take that and the end of the
/// one before. Vectors are loaded as they were stored: a load of parts of two that were just stored waits until both
/// are in the cache.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn join<const SHARED: usize>(before: &Line, this: &Line, to: &mut Line) {
    // SAFETY: as the caller promises; halves of lines are aligned.
    unsafe {
        let halves = |line: &Line| [load(line.0.as_ptr()), load(line.0.as_ptr().add(32))];
        let behind = |a, b| _mm256_permute2x128_si256::<0x21>(a, b);
        let (before, this) = (halves(before), halves(this));
        let [low, high] = match SHARED {
            0 => this,
            16 => [behind(before[1], this[0]), behind(this[0], this[1])],
            32 => [before[1], this[0]],
            _ => [behind(before[0], before[1]), behind(before[1], this[0])],
        };
        let to: *mut __m256i = to.0.as_mut_ptr().cast();
        _mm256_stream_si256(to, low);
        _mm256_stream_si256(to.add(1), high);
    }
}

given! { Avx2,
    /// Copies whole lines to their place `at` in `chunk`; to be called for all of them in their order.
    pub fn stream_lines[const N: usize][N](_p: Avx2, staged: &[Line; N], chunk: &mut [u8], at: usize, last: &mut Line) {
        // SAFETY: the processor has the level, as the token says.
        unsafe {
            match chunk.as_ptr().addr() % 64 {
                0 => stream::joined(staged, chunk, at, last, |a, b, to| join::<0>(a, b, to)),
                16 => stream::joined(staged, chunk, at, last, |a, b, to| join::<16>(a, b, to)),
                32 => stream::joined(staged, chunk, at, last, |a, b, to| join::<32>(a, b, to)),
                48 => stream::joined(staged, chunk, at, last, |a, b, to| join::<48>(a, b, to)),
                _ => stream::copy(bytes(staged), &mut chunk[at..at + size_of_val(staged)]),
            }
        }
    }
}
