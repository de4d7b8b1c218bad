//! Unpacking for AVX-512: byte permutes gather what a lane needs, variable shifts align it. What is safe to call takes
//! the level's token, which makes its intrinsics sound.
//!
//! Unpacking a vector of L-bit lanes: lane i wants the bits from i·n on. One permute fetches its L/8 bytes from byte
//! ⌊i·n/8⌋ on, a second one the L/8 bytes behind, and a funnel shift by i·n mod 8 joins them.

use std::arch::x86_64::*;

use crate::codec::sleek::simd::room;
use crate::exec::Avx512;
use crate::simd::avx512::lanes::{Lanes, right32, right64};

/// Constants of unpacking n-bit values into lanes of `B` bytes.
#[derive(Clone, Copy)]
pub struct Unpack {
    pub low: Lanes<u8, 64>,
    pub high: Lanes<u8, 64>,
    pub shift: Lanes<u8, 64>,
}

pub const fn unpack_table<const ROWS: usize>(lane_bytes: usize) -> [Unpack; ROWS] {
    let mut table = [Unpack { low: Lanes([0; 64]), high: Lanes([0; 64]), shift: Lanes([0; 64]) }; ROWS];
    let mut n = 1;
    while n < ROWS {
        let mut i = 0;
        while i < 64 / lane_bytes {
            let bit = i * n;
            let mut k = 0;
            while k < lane_bytes {
                table[n].low.0[i * lane_bytes + k] = ((bit / 8 + k) & 63) as u8;
                table[n].high.0[i * lane_bytes + k] = ((bit / 8 + lane_bytes + k) & 63) as u8;
                k += 1;
            }
            table[n].shift.0[i * lane_bytes] = (bit & 7) as u8;
            i += 1;
        }
        n += 1;
    }
    table
}

static UNPACK32: [Unpack; 33] = unpack_table(4);
static UNPACK64: [Unpack; 65] = unpack_table(8);

/// The values of `n` bits that are packed at `packed`, as many as lanes.
///
/// # Safety
/// The processor has the level's features; 64 bytes at `packed` are readable.
#[inline(always)]
pub unsafe fn unpack32(packed: *const u8, n: u32) -> __m512i {
    let row = &UNPACK32[n as usize];
    // SAFETY: as the caller promises.
    unsafe {
        let x = _mm512_loadu_si512(packed.cast());
        let low = _mm512_permutexvar_epi8(row.low.load(), x);
        let high = _mm512_permutexvar_epi8(row.high.load(), x);
        let keep = _mm512_set1_epi32((u64::MAX >> (64 - n)) as i32);
        _mm512_and_si512(_mm512_shrdv_epi32(low, high, row.shift.load()), keep)
    }
}

/// The same for values that lie within as many bytes as a lane has, wherever they begin: n ≤ 25.
///
/// # Safety
/// As above.
#[inline(always)]
pub unsafe fn unpack32_within(packed: *const u8, n: u32) -> __m512i {
    let row = &UNPACK32[n as usize];
    // SAFETY: as the caller promises.
    unsafe {
        let low = _mm512_permutexvar_epi8(row.low.load(), _mm512_loadu_si512(packed.cast()));
        let keep = _mm512_set1_epi32((u64::MAX >> (64 - n)) as i32);
        _mm512_and_si512(right32(low, row.shift.load()), keep)
    }
}

/// The values of `n` bits that are packed at `packed`, as many as lanes.
///
/// # Safety
/// The processor has the level's features; 64 bytes at `packed` are readable.
#[inline(always)]
pub unsafe fn unpack64(packed: *const u8, n: u32) -> __m512i {
    let row = &UNPACK64[n as usize];
    // SAFETY: as the caller promises.
    unsafe {
        let x = _mm512_loadu_si512(packed.cast());
        let low = _mm512_permutexvar_epi8(row.low.load(), x);
        let high = _mm512_permutexvar_epi8(row.high.load(), x);
        let keep = _mm512_set1_epi64((u64::MAX >> (64 - n)) as i64);
        _mm512_and_si512(_mm512_shrdv_epi64(low, high, row.shift.load()), keep)
    }
}

/// The same for values that lie within as many bytes as a lane has, wherever they begin: n ≤ 57.
///
/// # Safety
/// As above.
#[inline(always)]
pub unsafe fn unpack64_within(packed: *const u8, n: u32) -> __m512i {
    let row = &UNPACK64[n as usize];
    // SAFETY: as the caller promises.
    unsafe {
        let low = _mm512_permutexvar_epi8(row.low.load(), _mm512_loadu_si512(packed.cast()));
        let keep = _mm512_set1_epi64((u64::MAX >> (64 - n)) as i64);
        _mm512_and_si512(right64(low, row.shift.load()), keep)
    }
}

/// See `Simd::unpack`.
#[inline(always)]
pub fn unpack_u32(_: Avx512, packed: &[u8], n: u32, codes: &mut [u32; 128]) {
    room(16 * n as usize, packed);
    // SAFETY: the processor has the level, as the token says; 64 bytes from 2n·i on are in `packed`.
    unsafe {
        if n <= 25 {
            for i in 0..8 {
                let v = unpack32_within(packed.as_ptr().add(2 * n as usize * i), n);
                _mm512_storeu_si512(codes.as_mut_ptr().add(16 * i).cast(), v);
            }
            return;
        }
        for i in 0..8 {
            let v = unpack32(packed.as_ptr().add(2 * n as usize * i), n);
            _mm512_storeu_si512(codes.as_mut_ptr().add(16 * i).cast(), v);
        }
    }
}

/// See `Simd::unpack`.
#[inline(always)]
pub fn unpack_u64(_: Avx512, packed: &[u8], n: u32, codes: &mut [u64; 64]) {
    room(8 * n as usize, packed);
    // SAFETY: the processor has the level, as the token says; 64 bytes from n·i on are in `packed`.
    unsafe {
        if n <= 57 {
            for i in 0..8 {
                let v = unpack64_within(packed.as_ptr().add(n as usize * i), n);
                _mm512_storeu_si512(codes.as_mut_ptr().add(8 * i).cast(), v);
            }
            return;
        }
        for i in 0..8 {
            let v = unpack64(packed.as_ptr().add(n as usize * i), n);
            _mm512_storeu_si512(codes.as_mut_ptr().add(8 * i).cast(), v);
        }
    }
}
