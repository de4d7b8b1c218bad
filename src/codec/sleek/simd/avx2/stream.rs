//! What AVX2 does for `SimdLevel::stream` and `SimdLevel::prefetchw`.

use std::arch::asm;
use std::arch::x86_64::*;

use crate::codec::sleek::constants::SUBCHUNK_BYTES;
use crate::codec::sleek::simd::Staged;
use crate::exec::Avx2;
use crate::simd::avx2::lanes::{load, store};
use crate::simd::stream::{self, Line, bytes};

/// Asks the processor for the cache lines of a subchunk from `at` on, which will be written soon: a store that finds
/// its line waits for nothing. All processors with AVX2 know the instruction.
#[inline(always)]
pub fn prefetchw(_: Avx2, at: *const u8) {
    for line in (0..SUBCHUNK_BYTES).step_by(64) {
        // SAFETY: a prefetch accesses nothing, wherever it points.
        unsafe {
            asm!("prefetchw [{0}]", in(reg) at.wrapping_add(line), options(readonly, nostack, preserves_flags));
        }
    }
}

/// See `SimdLevel::stream`, where a chunk begins `SHARED` bytes behind a line: what a subchunk has of its last line
/// waits for the next one. Vectors are loaded as they were stored: a load of parts of two that were just stored waits
/// until both are in the cache.
#[inline(always)]
fn stream_lines<const SHARED: usize>(_: Avx2, staged: &Staged, chunk: &mut [u8], at: usize, last: &mut Line) {
    assert!(at.is_multiple_of(64) && at + SUBCHUNK_BYTES <= chunk.len());
    if at == 0 && SHARED > 0 {
        stream::copy_piece(&staged[0].0[..64 - SHARED], &mut chunk[..64 - SHARED]);
    }
    // SAFETY: the processor has the level, as the token says. Lines from the one that the subchunk shares with the one
    // before on, if there is one, else from the next one on, end before the subchunk does, and are aligned.
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
    let end = at + SUBCHUNK_BYTES;
    if end == chunk.len() && SHARED > 0 {
        stream::copy_piece(&last.0[64 - SHARED..], &mut chunk[end - SHARED..]);
    }
}

/// See `SimdLevel::stream`. A function of its own: in each loop that restores chunks it would take 3 KB.
#[target_feature(enable = "avx2")]
#[inline(never)]
pub fn stream_subchunk(level: Avx2, staged: &Staged, chunk: &mut [u8], at: usize, last: &mut Line) {
    match chunk.as_ptr().addr() % 64 {
        0 => stream_lines::<0>(level, staged, chunk, at, last),
        16 => stream_lines::<16>(level, staged, chunk, at, last),
        32 => stream_lines::<32>(level, staged, chunk, at, last),
        48 => stream_lines::<48>(level, staged, chunk, at, last),
        _ => stream::copy(bytes(staged), &mut chunk[at..at + SUBCHUNK_BYTES]),
    }
}
