//! Exceptions for AVX-512: high parts put where they belong. Only code compiled for `Level::Avx512` may call any of it: that makes the
//! intrinsics sound.

use std::arch::x86_64::*;

use super::avx512::{left32, left64};
use super::avx512_unpack::{unpack32, unpack64};
use super::{room, scalar};
use crate::format::constants::MAX_EXCEPTIONS;
use crate::stage::word::Word;

/// The sum of four products of 8 × 8 bits: of what `table` has for `bytes`, and of `low_bits`, which are transposed.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn bit_products(bytes: __m256i, table: __m256i, low_bits: __m256i) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        let h = _mm256_gf2p8affine_epi64_epi8::<0>(_mm256_set1_epi64x(DIAGONAL), _mm256_shuffle_epi8(table, bytes));
        let rows = _mm256_gf2p8affine_epi64_epi8::<0>(h, low_bits);
        let pairs = _mm_xor_si128(_mm256_castsi256_si128(rows), _mm256_extracti128_si256::<1>(rows));
        _mm_cvtsi128_si64(_mm_xor_si128(pairs, _mm_unpackhi_epi64(pairs, pairs))) as u64
    }
}

/// Bit m in byte m: a product with it turns bits into rows, bit j of them being row 7 - j before.
const DIAGONAL: i64 = 0x8040_2010_0804_0201_u64 as i64;

/// A word with bit p set for each position p in 0 … 63, and one for 64 … 127, if S is that many. At most `MAX_EXCEPTIONS` positions; always the work
/// for that many, since a loop whose length cannot be predicted costs more.
///
/// Position j is two bytes with one bit each: in h that of its byte in the word, in l that of its bit in the byte. Byte b of the word is the sum of h[j].b · l[j]
/// over j: a product of matrices of bits, which an instruction does for 8 positions. It wants both with j along the bits.
#[inline(always)]
pub fn position_masks<const S: usize>(positions: &[u8]) -> [u64; 2] {
    const { assert!(MAX_EXCEPTIONS == 32) };
    // One bit for each value of three bits; the last one's for 0 in `LOW_BITS`, as the product takes rows of one factor from the last on.
    const BYTES: i64 = DIAGONAL;
    const LOW_BITS: i64 = 0x0102_0408_1020_4080;
    // SAFETY: only code of this level calls this; the masked load touches the positions alone.
    unsafe {
        let present = (u64::MAX >> (64 - positions.len())) as __mmask32;
        // Behind the last position 0xff, for which a table gives 0.
        let all = _mm256_mask_loadu_epi8(_mm256_set1_epi8(-1), present, positions.as_ptr().cast());
        let bytes = _mm256_and_si256(_mm256_srli_epi16::<3>(all), _mm256_set1_epi8(0x0f));
        let low_bits = _mm256_gf2p8affine_epi64_epi8::<0>(
            _mm256_set1_epi64x(DIAGONAL),
            _mm256_shuffle_epi8(_mm256_set1_epi64x(LOW_BITS), all),
        );
        if S <= 64 {
            return [bit_products(bytes, _mm256_set1_epi64x(BYTES), low_bits), 0];
        }
        let low = bit_products(bytes, _mm256_set_epi64x(0, BYTES, 0, BYTES), low_bits);
        [low, bit_products(bytes, _mm256_set_epi64x(BYTES, 0, BYTES, 0), low_bits)]
    }
}

/// What a code without an exception has for a number in `numbers_of`: more than any width.
const NO_EXCEPTION: u8 = 0x80;

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

/// The numbers 0, 1, 2, … of the exceptions at `positions`, at most `MAX_EXCEPTIONS`, for each code; `NO_EXCEPTION` where there is none.
#[inline(always)]
fn numbers_of(positions: &[u8]) -> Numbers {
    let [low, high] = position_masks::<128>(positions);
    let before = low.count_ones() as usize;
    assert!(before <= MAX_EXCEPTIONS);
    let mut numbers = Numbers([0; 128]);
    // SAFETY: only code of this level calls this; 64 bytes from `before` on are in `ASCENDING`, and `numbers` are 128.
    unsafe {
        let none = _mm512_set1_epi8(NO_EXCEPTION as i8);
        let first = _mm512_mask_expand_epi8(none, low, _mm512_loadu_si512(ASCENDING.as_ptr().cast()));
        let second = _mm512_mask_expand_epi8(none, high, _mm512_loadu_si512(ASCENDING.as_ptr().add(before).cast()));
        _mm512_store_si512(numbers.0.as_mut_ptr().cast(), first);
        _mm512_store_si512(numbers.0.as_mut_ptr().add(64).cast(), second);
    }
    numbers
}

/// A byte for each code.
#[repr(C, align(64))]
struct Numbers([u8; 128]);

/// High parts where they belong in their codes.
#[repr(C, align(64))]
pub struct Parts<T>(pub T);

/// Merges exceptions one by one, which takes less time than doing it for all codes at once if there are few.
#[inline(always)]
pub fn merge_few<W: Word, const S: usize, const N: usize>(codes: &mut [W; S], positions: &[u8], parts: &[W; N]) {
    for (position, part) in positions.iter().zip(parts) {
        let code = &mut codes[usize::from(*position) % S];
        *code = *code | *part;
    }
}

/// See `Simd::merge`.
#[inline(always)]
pub fn merge32(codes: &mut [u32; 128], width: u32, positions: &[u8], highs: &[u8], high_width: u32) {
    // Two vectors hold the high parts; more are rare.
    if positions.len() > 32 {
        return scalar::merge(codes, width, positions, highs, high_width);
    }
    room(2 * 64, highs);
    if positions.len() <= 16 {
        let mut parts = Parts([0; 16]);
        // SAFETY: only code of this level calls this; 64 bytes are in `highs`.
        unsafe {
            let v = left32(unpack32(highs.as_ptr(), high_width), _mm512_set1_epi32(width as i32));
            _mm512_store_si512(parts.0.as_mut_ptr().cast(), v);
        }
        return merge_few(codes, positions, &parts.0);
    }
    let numbers = numbers_of(positions);
    // SAFETY: only code of this level calls this; 64 bytes from 2 · high_width ≤ 64 on are in `highs`; codes are accessed
    // 16 at a time, and so are numbers.
    unsafe {
        let first = unpack32(highs.as_ptr(), high_width);
        let second = unpack32(highs.as_ptr().add(2 * high_width as usize), high_width);
        let (none, width) = (_mm512_set1_epi32(NO_EXCEPTION.into()), _mm512_set1_epi32(width as i32));
        for i in 0..8 {
            let number = _mm512_cvtepu8_epi32(_mm_load_si128(numbers.0.as_ptr().add(16 * i).cast()));
            let part = _mm512_permutex2var_epi32(first, number, second);
            // A shift by `NO_EXCEPTION` and more leaves nothing. In bits: (number and none) or width.
            let part = left32(part, _mm512_ternarylogic_epi32::<0xEA>(number, none, width));
            let at = codes.as_mut_ptr().add(16 * i).cast();
            _mm512_storeu_si512(at, _mm512_or_si512(_mm512_loadu_si512(at), part));
        }
    }
}

/// See `Simd::merge`.
#[inline(always)]
pub fn merge64(codes: &mut [u64; 64], width: u32, positions: &[u8], highs: &[u8], high_width: u32) {
    if positions.len() > MAX_EXCEPTIONS {
        return scalar::merge(codes, width, positions, highs, high_width);
    }
    room((positions.len() * high_width as usize).div_ceil(8), highs);
    let mut parts = Parts([0; MAX_EXCEPTIONS]);
    for (i, parts) in parts.0.chunks_mut(8).take(positions.len().div_ceil(8)).enumerate() {
        // SAFETY: only code of this level calls this; 64 bytes are in `highs` from high_width · i on, where a high part begins.
        unsafe {
            let v = unpack64(highs.as_ptr().add(high_width as usize * i), high_width);
            _mm512_store_si512(parts.as_mut_ptr().cast(), left64(v, _mm512_set1_epi64(width.into())));
        }
    }
    merge_few(codes, positions, &parts.0);
}
