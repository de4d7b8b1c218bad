//! Exceptions for AVX-512: high parts put where they belong. What is safe to call takes
//! the level's token, which makes its intrinsics sound.

use std::arch::x86_64::*;

use super::unpack::{unpack32, unpack64};
use crate::codec::sleek::constants::MAX_EXCEPTIONS;
use crate::codec::sleek::simd::{Masks, count_of, portable, room};
use crate::exec::Avx512;
use crate::simd::avx512::lanes::{left32, left64};

/// Numbers from 0 on, of which 64 from any exception on are looked up.
pub static ASCENDING: [u8; 64 + MAX_EXCEPTIONS] = {
    let mut numbers = [0; 64 + MAX_EXCEPTIONS];
    let mut i = 0;
    while i < numbers.len() {
        numbers[i] = i as u8;
        i += 1;
    }
    numbers
};

/// A byte for each code.
#[repr(C, align(64))]
struct Numbers<const S: usize>([u8; S]);

/// For each code that is an exception how many come before it, at most `MAX_EXCEPTIONS` of each 64.
#[inline(always)]
fn numbers_of<const S: usize>(_: Avx512, masks: &Masks) -> Numbers<S> {
    const { assert!(S.is_multiple_of(64)) };
    let (mut numbers, mut before) = (Numbers([0; S]), 0);
    for (i, mask) in masks[..S / 64].iter().enumerate() {
        assert!(before <= MAX_EXCEPTIONS);
        // SAFETY: the processor has the level, as the token says; 64 bytes from `before` on are in `ASCENDING`, and 64
        // numbers are stored.
        unsafe {
            let own = _mm512_maskz_expand_epi8(*mask, _mm512_loadu_si512(ASCENDING.as_ptr().add(before).cast()));
            _mm512_store_si512(numbers.0.as_mut_ptr().add(64 * i).cast(), own);
        }
        before += mask.count_ones() as usize;
    }
    numbers
}

/// See `Simd::apply_exceptions`.
#[inline(always)]
pub fn apply_exceptions32(
    level: Avx512,
    codes: &mut [u32; 128],
    width: u32,
    masks: &Masks,
    highs: &[u8],
    high_width: u32,
) {
    // Two vectors hold the high parts; more are rare.
    if count_of::<128>(masks) > 32 {
        return portable::apply_exceptions(codes, width, masks, highs, high_width);
    }
    room(2 * 64, highs);
    let numbers = numbers_of::<128>(level, masks);
    // SAFETY: the processor has the level, as the token says; 64 bytes from 2 · high_width ≤ 64 on are in `highs`;
    // codes are accessed 16 at a time, and so are numbers.
    unsafe {
        let width = _mm512_set1_epi32(width as i32);
        let first = left32(unpack32(highs.as_ptr(), high_width), width);
        let second = left32(unpack32(highs.as_ptr().add(2 * high_width as usize), high_width), width);
        for i in 0..8 {
            let mask = (masks[i / 4] >> (i % 4 * 16)) as __mmask16;
            let number = _mm512_cvtepu8_epi32(_mm_load_si128(numbers.0.as_ptr().add(16 * i).cast()));
            let part = _mm512_maskz_permutex2var_epi32(mask, first, number, second);
            let at = codes.as_mut_ptr().add(16 * i).cast();
            _mm512_storeu_si512(at, _mm512_or_si512(_mm512_loadu_si512(at), part));
        }
    }
}

/// Eight high parts above `width` bits.
///
/// # Safety
/// The processor has the level's features; 64 bytes at `highs` are readable.
#[inline(always)]
unsafe fn parts64(highs: *const u8, high_width: u32, width: u32) -> __m512i {
    // SAFETY: as the caller promises.
    unsafe { left64(unpack64(highs, high_width), _mm512_set1_epi64(width.into())) }
}

/// See `Simd::apply_exceptions`.
#[inline(always)]
pub fn apply_exceptions64(
    level: Avx512,
    codes: &mut [u64; 64],
    width: u32,
    masks: &Masks,
    highs: &[u8],
    high_width: u32,
) {
    // Four vectors hold the high parts; more are rare.
    let count = count_of::<64>(masks);
    if count > 32 {
        return portable::apply_exceptions(codes, width, masks, highs, high_width);
    }
    let few = count <= 16;
    room(if few { 1 } else { 3 } * high_width as usize, highs);
    let numbers = numbers_of::<64>(level, masks);
    // SAFETY: the processor has the level, as the token says; 64 bytes from high_width, or three times that, on are in
    // `highs`; codes are accessed 8 at a time, and so are numbers.
    unsafe {
        let at = |i: usize| highs.as_ptr().add(high_width as usize * i);
        let (first, second) = (parts64(at(0), high_width, width), parts64(at(1), high_width, width));
        let (mut third, mut fourth) = (first, second);
        if !few {
            third = parts64(at(2), high_width, width);
            fourth = parts64(at(3), high_width, width);
        }
        for i in 0..8 {
            let mask = (masks[0] >> (8 * i)) as __mmask8;
            let number = _mm512_cvtepu8_epi64(_mm_loadl_epi64(numbers.0.as_ptr().add(8 * i).cast()));
            let mut part = _mm512_maskz_permutex2var_epi64(mask, first, number, second);
            if !few {
                let beyond = _mm512_test_epi64_mask(number, _mm512_set1_epi64(16));
                let other = _mm512_permutex2var_epi64(third, number, fourth);
                part = _mm512_mask_mov_epi64(part, mask & beyond, other);
            }
            let at = codes.as_mut_ptr().add(8 * i).cast();
            _mm512_storeu_si512(at, _mm512_or_si512(_mm512_loadu_si512(at), part));
        }
    }
}
