//! Lanes of 16 bits for AVX2, of which there are second_difference as many as of 32. What is safe to call takes
//! the level's token, which makes its intrinsics sound.
//!
//! There is no variable shift of such lanes, but there are products: the low half of one by 2^k is a shift to the left,
//! the high half of one by 2^(16 − k) a shift to the right.

use std::arch::x86_64::*;

use super::choose::{LISTED, PLACES};
use super::strings::{NARROW, fours, pack_narrow, put_strings, string_shift};
use crate::codec::sleek::constants::{MAX_EXCEPTIONS, SAMPLE};
use crate::codec::sleek::simd::{HIGHS, Masks, count_of, portable, room};
use crate::exec::Avx2;
use crate::simd::avx2::lanes::{Lanes, load, load_halves, store};

const LANES: usize = 16;

/// Values of up to so many bits lie in the two bytes from that on in which they begin.
const TWO_BYTES: u32 = 10;

/// Constants of unpacking eight values of n bits, which lie in n bytes: in each half of a vector the same.
#[derive(Clone, Copy)]
struct Unpack {
    /// The first byte of each value, in the high half of its lane.
    first: Lanes<u8, 32>,
    /// The two bytes that each value is in, or the two behind the first.
    bytes: Lanes<u8, 32>,
    /// What shifts a value to the top of its lane, or by what is left of its first byte.
    factor: Lanes<u16, 16>,
}

static UNPACK: [Unpack; 17] = {
    let mut table = [Unpack { first: Lanes([0x80; 32]), bytes: Lanes([0; 32]), factor: Lanes([0; 16]) }; 17];
    let mut n = 1;
    while n <= 16 {
        let mut i = 0;
        while i < LANES {
            let (byte, shift) = (i % 8 * n / 8, i % 8 * n % 8);
            let wide = n > TWO_BYTES as usize;
            table[n].first.0[2 * i + 1] = byte as u8;
            table[n].bytes.0[2 * i] = (byte + wide as usize) as u8;
            table[n].bytes.0[2 * i + 1] = (byte + 1 + wide as usize) as u8;
            table[n].factor.0[i] = 1 << (if wide { 8 } else { 16 - n } - shift);
            i += 1;
        }
        n += 1;
    }
    table
};

/// The 16 values of `n` bits that are packed at `packed`; `WIDE` where n > `TWO_BYTES`.
///
/// # Safety
/// n + 16 bytes at `packed` are readable.
#[inline(always)]
pub unsafe fn unpack16<const WIDE: bool>(packed: *const u8, n: u32) -> __m256i {
    let row = &UNPACK[n as usize];
    // SAFETY: as the caller promises.
    unsafe {
        let x = load_halves(packed, packed.add(n as usize));
        let (bytes, factor) = (_mm256_shuffle_epi8(x, row.bytes.load(0)), row.factor.load(0));
        let shifted = _mm256_mullo_epi16(bytes, factor);
        if !WIDE {
            return _mm256_srl_epi16(shifted, _mm_cvtsi32_si128(16 - n as i32));
        }
        let first = _mm256_mulhi_epu16(_mm256_shuffle_epi8(x, row.first.load(0)), factor);
        _mm256_and_si256(_mm256_or_si256(shifted, first), _mm256_set1_epi16((u32::MAX >> (32 - n)) as i16))
    }
}

/// See `Simd::unpack`.
#[inline(always)]
pub fn unpack<const S: usize>(_: Avx2, packed: &[u8], n: u32, codes: &mut [u16; S]) {
    const { assert!(S.is_multiple_of(LANES)) };
    room(S / 8 * n as usize, packed);
    let (from, to) = (packed.as_ptr(), codes.as_mut_ptr());
    // SAFETY: the processor has the level, as the token says; n + 16 bytes from 2n·i on are in `packed`.
    unsafe {
        if n <= TWO_BYTES {
            for i in 0..S / LANES {
                store(to.add(LANES * i), unpack16::<false>(from.add(2 * n as usize * i), n));
            }
        } else {
            for i in 0..S / LANES {
                store(to.add(LANES * i), unpack16::<true>(from.add(2 * n as usize * i), n));
            }
        }
    }
}

/// Packs the values of `n` ≤ 16 bits in `codes`, a multiple of 16 of them, at the start of `out`.
#[inline(always)]
pub fn pack(_: Avx2, codes: &[u16], n: u32, out: &mut [u8]) {
    room(codes.len() * n as usize / 8, out);
    let out = out.as_mut_ptr();
    // SAFETY: the processor has the level, as the token says; what is written behind the packed bytes is less than the
    // slack.
    unsafe {
        let low = _mm256_set1_epi16((u32::MAX >> (32 - n)) as i16);
        if n <= NARROW {
            for (i, codes) in codes.as_chunks::<LANES>().0.iter().enumerate() {
                let words = _mm256_and_si256(load(codes.as_ptr()), low);
                pack_narrow(words, n, out.add(2 * n as usize * i));
            }
            return;
        }
        let keep = _mm256_set1_epi32((1 << n) - 1);
        for (i, codes) in codes.as_chunks::<LANES>().0.iter().enumerate() {
            let words = _mm256_and_si256(load(codes.as_ptr()), low);
            let shifted = _mm256_srl_epi32(words, _mm_cvtsi32_si128(16 - n as i32));
            let pairs = _mm256_or_si256(_mm256_and_si256(words, keep), _mm256_andnot_si256(keep, shifted));
            let strings = fours(pairs, n, 0);
            let before = _mm256_permute4x64_epi64::<0b10_01_00_00>(strings);
            put_strings::<0>(strings, before, string_shift(4 * n), 4 * n, out.add(2 * n as usize * i));
        }
    }
}

/// The widths of each fourth of 32 codes, in lanes of 32 bits: the exponents of their floating-point values.
///
/// # Safety
/// 32 codes are readable at `x`.
#[inline(always)]
unsafe fn sampled_widths(x: *const u16) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        // One vector's in the low halves of 64-bit lanes, the other's in the high halves.
        let (low, high) = (_mm256_srli_epi64::<48>(load(x)), _mm256_srli_epi64::<16>(load(x.add(LANES))));
        let sample = _mm256_blend_epi16::<0b0100_0100>(low, high);
        let float = _mm256_castps_si256(_mm256_cvtepi32_ps(sample));
        _mm256_subs_epu16(_mm256_srli_epi32::<23>(float), _mm256_set1_epi32(126))
    }
}

/// See `Simd::widths`.
#[inline(always)]
pub fn widths<const S: usize>(_: Avx2, codes: &[u16; S], widths: &mut [u8; S]) {
    const { assert!(SAMPLE == 4 && S.is_multiple_of(64)) };
    for i in 0..S / 64 {
        // SAFETY: the processor has the level, as the token says; 64 codes are read and 16 widths stored.
        unsafe {
            let of = |k: usize| sampled_widths(codes.as_ptr().add(64 * i + 32 * k));
            let words = _mm256_packus_epi32(of(0), of(1));
            let bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(widths.as_mut_ptr().add(16 * i).cast(), bytes);
        }
    }
}

/// For lanes of 16 bits, of which a half of a vector has eight, both bytes of each; of `NO_PLACE` such as find nothing.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn both_bytes(lanes: __m128i) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        let bytes = _mm256_mullo_epi16(_mm256_cvtepu8_epi16(lanes), _mm256_set1_epi16(0x0202));
        _mm256_add_epi16(bytes, _mm256_set1_epi16(0x0100))
    }
}

/// A bit for each of 32 codes: whether there is one in its part.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn nonzero(parts: [__m256i; 2]) -> u32 {
    // SAFETY: as the caller promises.
    unsafe {
        let zero = |i: usize| _mm256_cmpeq_epi16(parts[i], _mm256_setzero_si256());
        let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(zero(0), zero(1)));
        !_mm256_movemask_epi8(bytes) as u32
    }
}

/// See `Simd::extract_exceptions`.
#[inline(always)]
pub fn extract_exceptions<const S: usize>(_: Avx2, codes: &[u16; S], width: u32, highs: &mut [u16; HIGHS]) -> Masks {
    const { assert!(S.is_multiple_of(32) && HIGHS >= MAX_EXCEPTIONS + 8) };
    let mut masks: Masks = [0; _];
    // SAFETY: the processor has the level, as the token says; `LANES` codes are read at a time; eight places from `at`
    // ≤ count ≤ `MAX_EXCEPTIONS` on are in `highs`.
    unsafe {
        let shift = _mm_cvtsi32_si128(width as i32);
        let parts = |i: usize| _mm256_srl_epi16(load(codes.as_ptr().add(i * LANES)), shift);
        for i in 0..S / 32 {
            masks[i / 2] |= u64::from(nonzero([parts(2 * i), parts(2 * i + 1)])) << (i % 2 * 32);
        }
        if count_of::<S>(&masks) > MAX_EXCEPTIONS {
            return masks;
        }
        let mut at = 0;
        for i in 0..S / LANES {
            let sets = masks[i / 4] >> (i % 4 * LANES);
            let (low, high) = (sets as u8, (sets >> 8) as u8);
            let lanes = |set: u8| _mm_loadl_epi64(LISTED.0[set as usize].as_ptr().cast());
            let lanes = _mm_unpacklo_epi64(lanes(low), lanes(high));
            let bytes = both_bytes(lanes);
            let parts = _mm256_shuffle_epi8(parts(i), bytes);
            let middle = at + low.count_ones() as usize;
            _mm_storeu_si128(highs.as_mut_ptr().add(at).cast(), _mm256_castsi256_si128(parts));
            _mm_storeu_si128(highs.as_mut_ptr().add(middle).cast(), _mm256_extracti128_si256::<1>(parts));
            at = middle + high.count_ones() as usize;
        }
        // Zeros behind the last: packed, they complete its byte.
        _mm_storeu_si128(highs.as_mut_ptr().add(at).cast(), _mm_setzero_si128());
        masks
    }
}

/// See `Simd::apply_exceptions`.
#[inline(always)]
pub fn apply_exceptions<const S: usize>(
    _: Avx2,
    codes: &mut [u16; S],
    width: u32,
    masks: &Masks,
    highs: &[u8],
    high_width: u32,
) {
    // Two vectors hold the high parts; more are rare.
    if count_of::<S>(masks) > MAX_EXCEPTIONS {
        return portable::apply_exceptions(codes, width, masks, highs, high_width);
    }
    const { assert!(MAX_EXCEPTIONS == 2 * LANES) };
    let mut parts = [0u16; MAX_EXCEPTIONS + 8];
    room(2 * high_width as usize, highs);
    // SAFETY: the processor has the level, as the token says; from 2 · high_width · i on high_width + 16 bytes are in
    // `highs`; codes are accessed `LANES` at a time; eight of `parts` are read from a place on that is no higher than
    // there are exceptions.
    unsafe {
        let (from, second) = (highs.as_ptr(), 2 * high_width as usize);
        let of_each = match high_width {
            ..=TWO_BYTES => [unpack16::<false>(from, high_width), unpack16::<false>(from.add(second), high_width)],
            _ => [unpack16::<true>(from, high_width), unpack16::<true>(from.add(second), high_width)],
        };
        for (i, part) in of_each.into_iter().enumerate() {
            let v = _mm256_sll_epi16(part, _mm_cvtsi32_si128(width as i32));
            store(parts.as_mut_ptr().add(LANES * i), v);
        }
        let mut at = 0;
        for i in 0..S / LANES {
            let sets = masks[i / 4] >> (i % 4 * LANES);
            let (low, high) = (sets as u8, (sets >> 8) as u8);
            let places = |set: u8| _mm_loadl_epi64(PLACES.0[set as usize].as_ptr().cast());
            let places = both_bytes(_mm_unpacklo_epi64(places(low), places(high)));
            let middle = at + low.count_ones() as usize;
            let next = load_halves(parts.as_ptr().add(at), parts.as_ptr().add(middle));
            let to = codes.as_mut_ptr().add(LANES * i);
            store(to, _mm256_or_si256(load(to), _mm256_shuffle_epi8(next, places)));
            at = middle + high.count_ones() as usize;
        }
    }
}
