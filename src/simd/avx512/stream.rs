//! Streaming stores of AVX-512 where lines of what is written are not those of memory: whole lines leave at once.

use std::arch::x86_64::*;

use crate::exec::Avx512;
use crate::simd::stream::{self, Line, bytes};

/// Numbers of lanes, 16 of which tell the end of a line and the start of the next one.
static LANES: [u32; 32] = {
    let mut lanes = [0; 32];
    let mut i = 0;
    while i < 32 {
        lanes[i] = i as u32;
        i += 1;
    }
    lanes
};

/// Copies whole lines to their place `at` in `chunk`; to be called for all of them in their order. Part of its caller,
/// whose vectors would leave their registers for a call.
#[inline(always)]
pub fn stream_lines<const N: usize>(_: Avx512, staged: &[Line; N], chunk: &mut [u8], at: usize, last: &mut Line) {
    let shared = chunk.as_ptr().addr() % 64;
    if !shared.is_multiple_of(4) {
        return stream_apart(bytes(staged), &mut chunk[at..at + size_of_val(staged)]);
    }
    let lanes = LANES[16 - shared / 4..].first_chunk::<16>().expect("16 of 32 lanes");
    stream::joined(staged, chunk, at, last, |before, this, to| {
        // SAFETY: the processor has the level, as the token says; lines are aligned.
        unsafe {
            let load = |line: &Line| _mm512_load_si512(line.0.as_ptr().cast());
            let lanes = _mm512_loadu_si512(lanes.as_ptr().cast());
            _mm512_stream_si512(to.0.as_mut_ptr().cast(), _mm512_permutex2var_epi32(load(before), lanes, load(this)));
        }
    });
}

/// Where no element of 32 bits may begin. Not inlined: what is computed for it alone would be computed always.
#[cold]
#[inline(never)]
fn stream_apart(staged: &[u8], out: &mut [u8]) {
    stream::copy(staged, out);
}
