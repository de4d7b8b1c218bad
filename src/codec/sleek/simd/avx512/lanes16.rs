//! Lanes of 16 bits for AVX-512, of which there are second_difference as many as of 32. What is safe to call takes
//! the level's token, which makes its intrinsics sound.

use std::arch::x86_64::*;

use super::unpack::{Unpack, unpack_table};
use crate::codec::sleek::constants::{MAX_EXCEPTIONS, SAMPLE};
use crate::codec::sleek::simd::{HIGHS, Masks, count_of, portable, room};
use crate::exec::Avx512;
use crate::simd::avx512::opaque;

const LANES: usize = 32;

static UNPACK16: [Unpack; 17] = unpack_table(2);

/// The values of `n` bits that are packed at `packed`, as many as lanes.
///
/// # Safety
/// The processor has the level's features; 64 bytes at `packed` are readable.
#[inline(always)]
pub unsafe fn unpack16(packed: *const u8, n: u32) -> __m512i {
    let row = &UNPACK16[n as usize];
    // SAFETY: as the caller promises.
    unsafe {
        let x = _mm512_loadu_si512(packed.cast());
        let low = _mm512_permutexvar_epi8(row.low.load(), x);
        let high = _mm512_permutexvar_epi8(row.high.load(), x);
        let keep = _mm512_set1_epi16((u32::MAX >> (32 - n)) as i16);
        _mm512_and_si512(_mm512_shrdv_epi16(low, high, row.shift.load()), keep)
    }
}

/// See `Simd::unpack`.
#[inline(always)]
pub fn unpack<const S: usize>(_: Avx512, packed: &[u8], n: u32, codes: &mut [u16; S]) {
    const { assert!(S.is_multiple_of(LANES)) };
    room(S / 8 * n as usize, packed);
    // SAFETY: the processor has the level, as the token says; 64 bytes from 4n·i on are in `packed`.
    unsafe {
        for i in 0..S / LANES {
            let v = unpack16(packed.as_ptr().add(4 * n as usize * i), n);
            _mm512_storeu_si512(codes.as_mut_ptr().add(LANES * i).cast(), v);
        }
    }
}

/// See `Simd::widths`.
#[inline(always)]
pub fn widths<const S: usize>(_: Avx512, codes: &[u16; S], widths: &mut [u8; S]) {
    const { assert!(SAMPLE == 4 && S.is_multiple_of(2 * LANES)) };
    // SAFETY: the processor has the level, as the token says; `LANES` codes are read at a time, 16 widths stored.
    unsafe {
        let high = _mm512_set1_epi64(0xffff << 32);
        for i in 0..S / (2 * LANES) {
            let v = |k: usize| _mm512_loadu_si512(codes.as_ptr().add((2 * i + k) * LANES).cast());
            // Each fourth of the first vector in the low halves of 64-bit lanes, of the second one in the high halves.
            let sample =
                _mm512_ternarylogic_epi64::<0xF8>(_mm512_srli_epi64::<48>(v(0)), _mm512_srli_epi64::<16>(v(1)), high);
            let w = _mm512_cvtepi32_epi8(_mm512_sub_epi32(_mm512_set1_epi32(32), _mm512_lzcnt_epi32(sample)));
            _mm_storeu_si128(widths.as_mut_ptr().add(16 * i).cast(), w);
        }
    }
}

/// See `Simd::extract_exceptions`.
#[inline(always)]
pub fn extract_exceptions<const S: usize>(_: Avx512, codes: &[u16; S], width: u32, highs: &mut [u16; HIGHS]) -> Masks {
    const { assert!(S.is_multiple_of(2 * LANES) && HIGHS >= MAX_EXCEPTIONS + LANES) };
    let mut masks: Masks = [0; _];
    // SAFETY: the processor has the level, as the token says; `LANES` codes are read at a time; `LANES` places from
    // `at` ≤ count ≤ `MAX_EXCEPTIONS` on are in `highs`.
    unsafe {
        let limit = _mm512_set1_epi16(((1u32 << width) - 1) as i16);
        let v = |i: usize| _mm512_loadu_si512(codes.as_ptr().add(i * LANES).cast());
        for i in 0..S / LANES {
            masks[i / 2] |= u64::from(_mm512_cmpgt_epu16_mask(v(i), limit)) << (i % 2 * LANES);
        }
        if count_of::<S>(&masks) > MAX_EXCEPTIONS {
            return masks;
        }
        let shift = _mm512_set1_epi16(width as i16);
        let mut at = 0;
        // Each store leaves zeros behind the parts that it brings, the last one behind all of them.
        for i in 0..S / LANES {
            let wide = (masks[i / 2] >> (i % 2 * LANES)) as u32;
            let parts = _mm512_maskz_compress_epi16(wide, opaque(_mm512_srlv_epi16(v(i), shift)));
            _mm512_storeu_si512(highs.as_mut_ptr().add(at).cast(), parts);
            at += wide.count_ones() as usize;
        }
        _mm512_storeu_si512(highs.as_mut_ptr().add(at).cast(), _mm512_setzero_si512());
        masks
    }
}

/// The numbers 0, 1, 2, …, of which `LANES` from any exception on are looked up.
static ASCENDING: [u16; MAX_EXCEPTIONS + LANES] = {
    let mut numbers = [0; MAX_EXCEPTIONS + LANES];
    let mut i = 0;
    while i < numbers.len() {
        numbers[i] = i as u16;
        i += 1;
    }
    numbers
};

/// See `Simd::apply_exceptions`.
#[inline(always)]
pub fn apply_exceptions<const S: usize>(
    _: Avx512,
    codes: &mut [u16; S],
    width: u32,
    masks: &Masks,
    highs: &[u8],
    high_width: u32,
) {
    // One vector holds the high parts; more are rare.
    if count_of::<S>(masks) > LANES {
        return portable::apply_exceptions(codes, width, masks, highs, high_width);
    }
    room(64, highs);
    let mut before = 0;
    // SAFETY: the processor has the level, as the token says; 64 bytes are in `highs`, and from `before` on in
    // `ASCENDING`; codes are accessed 32 at a time.
    unsafe {
        let parts = _mm512_sllv_epi16(unpack16(highs.as_ptr(), high_width), _mm512_set1_epi16(width as i16));
        for i in 0..S / LANES {
            assert!(before <= MAX_EXCEPTIONS);
            let mask = (masks[i / 2] >> (i % 2 * LANES)) as __mmask32;
            let rest = _mm512_permutexvar_epi16(_mm512_loadu_si512(ASCENDING.as_ptr().add(before).cast()), parts);
            let at = codes.as_mut_ptr().add(LANES * i).cast();
            _mm512_storeu_si512(at, _mm512_or_si512(_mm512_loadu_si512(at), _mm512_maskz_expand_epi16(mask, rest)));
            before += mask.count_ones() as usize;
        }
    }
}
