//! Unpacking: each half of a vector comes from an address of its own, so that the values it wants begin in its first
//! byte; a shuffle brings to each lane the bytes that its value begins in, a shift by (position mod 8) aligns them.
//! Where a value may reach into one byte more than a lane has, the same shuffle of the bytes one lane further on gives
//! the rest.

use std::arch::x86_64::*;

use super::strings::{UNPACK32, UNPACK64};
use crate::simd::avx2::lanes::load_halves;

/// The eight values of `n` bits that are packed at `packed`; `WIDE` where n > 25.
///
/// # Safety
/// The processor has the level's features; n + 24 bytes at `packed` are readable.
#[inline(always)]
pub unsafe fn unpack32<const WIDE: bool>(packed: *const u8, n: u32) -> __m256i {
    let row = &UNPACK32[n as usize];
    // SAFETY: as the caller promises.
    unsafe {
        let (bytes, shift) = (row.bytes.load(0), row.shift.load(0));
        let (low, high) = (packed, packed.add(n as usize / 2));
        let mut v = _mm256_srlv_epi32(_mm256_shuffle_epi8(load_halves(low, high), bytes), shift);
        if WIDE {
            let rest = _mm256_shuffle_epi8(load_halves(low.add(4), high.add(4)), bytes);
            v = _mm256_or_si256(v, _mm256_sllv_epi32(rest, _mm256_sub_epi32(_mm256_set1_epi32(32), shift)));
        }
        _mm256_and_si256(v, _mm256_set1_epi32((u32::MAX >> (32 - n)) as i32))
    }
}

/// Of the eight values of `n` bits that are packed at `packed` the first (0) or second (1) four; `WIDE` where n > 57.
///
/// # Safety
/// The processor has the level's features; n + 24 bytes at `packed` are readable.
#[inline(always)]
pub unsafe fn unpack64<const WIDE: bool>(packed: *const u8, n: u32, half: usize) -> __m256i {
    let row = &UNPACK64[n as usize];
    // SAFETY: as the caller promises.
    unsafe {
        let (bytes, shift) = (row.bytes.load(half), row.shift.load(half));
        let (low, high) = (packed.add(half * n as usize / 2), packed.add((2 * half + 1) * n as usize / 4));
        let mut v = _mm256_srlv_epi64(_mm256_shuffle_epi8(load_halves(low, high), bytes), shift);
        if WIDE {
            let rest = _mm256_shuffle_epi8(load_halves(low.add(8), high.add(8)), bytes);
            v = _mm256_or_si256(v, _mm256_sllv_epi64(rest, _mm256_sub_epi64(_mm256_set1_epi64x(64), shift)));
        }
        _mm256_and_si256(v, _mm256_set1_epi64x((u64::MAX >> (64 - n)) as i64))
    }
}
