//! AVX2 with BMI and LZCNT: bytes move by shuffles within 128 bits, bits by variable shifts (`pack`, `unpack`).

pub(super) mod choose;
mod lanes16;
mod pack;
pub(super) mod stream;
mod strings;
mod unpack;
mod warp_tile;

use std::arch::x86_64::*;

use super::{HIGHS, MaskBytes, Masks, Simd, SimdLevel, Staged, Transposed, count_of, portable, room};
use crate::codec::sleek::constants::{MAX_EXCEPTIONS, SUBCHUNKS, WARP_TILE};
use crate::exec::Avx2;
use crate::simd::avx2::lanes::{load, low_halves, store};
use crate::simd::stream::Line;
use crate::simd::words::{self, sums_before, undo_differences};
use choose::{LISTED, NO_PLACE, PLACES, PLACES_HALVES, lanes32, lanes64, transpose, wider};
use pack::{pack_u32, pack_u64};
use stream::{prefetchw, stream_subchunk};
use unpack::{unpack32, unpack64};

/// Adds parts to the codes of a vector at `to`: to each lane of 32 bits that of the vector at `parts` that `places`
/// tells, or nothing.
///
/// # Safety
/// The processor has the level's features; 32 bytes at `to` and `parts` are readable, at `to` writable too.
#[inline(always)]
unsafe fn add_parts<T>(to: *mut T, parts: *const T, places: &[u8; 8]) {
    // SAFETY: as the caller promises.
    unsafe {
        let places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(places.as_ptr().cast()));
        let next = _mm256_permutevar8x32_epi32(load(parts), places);
        let next = _mm256_andnot_si256(_mm256_cmpeq_epi32(places, _mm256_set1_epi32(NO_PLACE.into())), next);
        store(to, _mm256_or_si256(load(to), next));
    }
}

/// Eight bytes 8.
const UPPER: i64 = 0x0808_0808_0808_0808;

impl SimdLevel for Avx2 {
    const PREFERS_SMALL: bool = true;
    const JOINS_LINES: bool = true;

    #[inline(always)]
    fn transpose<const S: usize>(self, widths: &[[u8; S]; SUBCHUNKS], rows: &mut Transposed<S>) {
        transpose(self, widths, rows);
    }

    #[inline(always)]
    fn wider<const S: usize>(self, rows: &Transposed<S>, limits: &[u8; SUBCHUNKS]) -> [u8; SUBCHUNKS] {
        wider(self, rows, limits)
    }

    // pdep and pext, made for this and for `compress`, are microcode on AMD's Zen 1 and 2, of up to 19 cycles and more.
    #[inline(always)]
    fn expand(self, of: u32, list: &[u8]) -> [u8; SUBCHUNKS] {
        const { assert!(SUBCHUNKS == 32) };
        let (mut all, mut rest) = ([0; SUBCHUNKS], list);
        // A loop, since the compiler leaves `map` as a function of its own here.
        let mut lists = [0; 4];
        for (list, of) in lists.iter_mut().zip(of.to_le_bytes()) {
            let listed = match rest.first_chunk() {
                Some(listed) => u64::from_le_bytes(*listed),
                None => rest.iter().rev().fold(0, |all, n| all << 8 | u64::from(*n)),
            };
            rest = &rest[of.count_ones() as usize..];
            *list = listed as i64;
        }
        // SAFETY: the processor has the level, as the token says; 32 bytes are stored.
        unsafe {
            let own = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
            let eights = _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
            let of = _mm256_shuffle_epi8(_mm256_set1_epi32(of as i32), eights);
            let there = _mm256_cmpeq_epi8(_mm256_and_si256(of, own), own);
            // Minus how many there are in an eight, up to each.
            let mut count = _mm256_add_epi8(there, _mm256_slli_epi64::<8>(there));
            count = _mm256_add_epi8(count, _mm256_slli_epi64::<16>(count));
            count = _mm256_add_epi8(count, _mm256_slli_epi64::<32>(count));
            // There, this is how many come before; every second eight takes from the upper half of two lists.
            let place = _mm256_or_si256(_mm256_sub_epi8(there, count), _mm256_set_epi64x(UPPER, 0, UPPER, 0));
            let [a, b, c, d] = lists;
            let found = _mm256_shuffle_epi8(_mm256_set_epi64x(d, c, b, a), place);
            store(all.as_mut_ptr(), _mm256_and_si256(found, there));
        }
        all
    }

    #[inline(always)]
    fn running_sums(self, numbers: &[u16; SUBCHUNKS], start: u16) -> [u16; SUBCHUNKS] {
        sums_before(self, numbers, start)
    }

    #[inline(always)]
    fn masks<const S: usize>(self, flags: u32, list: &[u8]) -> Masks {
        let (mut masks, mut rest): (Masks, _) = ([0; _], list);
        for (mask, flags) in masks.iter_mut().take(S / 64).zip(flags.to_le_bytes()) {
            let listed = u64::from_le_bytes(*rest.first_chunk().expect("more is readable"));
            // SAFETY: the processor has the level, as the token says; 8 bytes of a table are loaded.
            *mask = unsafe {
                let places = _mm_loadl_epi64(PLACES.0[flags as usize].as_ptr().cast());
                _mm_cvtsi128_si64(_mm_shuffle_epi8(_mm_cvtsi64_si128(listed as i64), places)) as u64
            };
            rest = &rest[flags.count_ones() as usize..];
        }
        masks
    }

    #[inline(always)]
    fn stream(self, staged: &Staged, chunk: &mut [u8], at: usize, last: &mut Line) {
        // SAFETY: the processor has the level, as the token says.
        unsafe { stream_subchunk(self, staged, chunk, at, last) };
    }

    #[inline(always)]
    fn flags(self, masks: &Masks) -> u32 {
        let [a, b, c, d] = masks.map(|mask| mask as i64);
        // SAFETY: the processor has the level, as the token says. Not a load: masks that were just stored word by word
        // would have to arrive in the cache first.
        unsafe {
            !_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_set_epi64x(d, c, b, a), _mm256_setzero_si256())) as u32
        }
    }

    #[inline(always)]
    fn compress<const S: usize>(self, masks: &Masks, flags: u32, out: &mut MaskBytes) {
        let mut at = 0;
        for (mask, flags) in masks.iter().take(S / 64).zip(flags.to_le_bytes()) {
            // SAFETY: the processor has the level, as the token says; 8 bytes of a table are loaded.
            let bytes = unsafe {
                let listed = _mm_loadl_epi64(LISTED.0[flags as usize].as_ptr().cast());
                _mm_cvtsi128_si64(_mm_shuffle_epi8(_mm_cvtsi64_si128(*mask as i64), listed))
            };
            out[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
            at += flags.count_ones() as usize;
        }
    }

    #[inline(always)]
    fn prefetchw(self, at: *const u8) {
        prefetchw(self, at);
    }
}

impl Simd<u32, 128> for Avx2 {
    by_functions! { u32, 128;
        pack = pack_u32::<128>;
        totals = warp_tile::totals32;
        width = words::width;
        extract_exceptions = lanes32::extract_exceptions;
        pack_highs = pack_u32::<MAX_EXCEPTIONS>;
    }

    #[inline(always)]
    fn unpack_bases(self, packed: &[u8], n: u32, bases: &mut [u32; SUBCHUNKS]) {
        room(4 * n as usize, packed);
        for (i, eight) in bases.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            // SAFETY: the processor has the level, as the token says; n + 24 bytes from n·i on are in `packed`.
            unsafe { store(eight.as_mut_ptr(), unpack32::<true>(packed.as_ptr().add(n as usize * i), n)) };
        }
    }

    #[inline(always)]
    fn unpack(self, packed: &[u8], n: u32, codes: &mut [u32; 128]) {
        room(16 * n as usize, packed);
        let (from, to) = (packed.as_ptr(), codes.as_mut_ptr());
        // SAFETY: the processor has the level, as the token says; n + 24 bytes from n·i on are in `packed`.
        unsafe {
            if n <= 25 {
                for i in 0..16 {
                    store(to.add(8 * i), unpack32::<false>(from.add(n as usize * i), n));
                }
            } else {
                for i in 0..16 {
                    store(to.add(8 * i), unpack32::<true>(from.add(n as usize * i), n));
                }
            }
        }
    }

    #[inline(always)]
    fn zigzag_delta_decode(self, start: u32, second_difference: bool, codes: &mut [u32; 128]) {
        undo_differences::<u32, _, false>(self, start, second_difference, codes);
    }

    #[inline(always)]
    fn widths(self, codes: &[u32; 128], widths: &mut [u8; 128]) {
        // SAFETY: the processor has the level, as the token says; 32 widths are stored.
        unsafe {
            let [a, b, c, d] = lanes32::sampled_widths(self, codes);
            let bytes = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
            store(widths.as_mut_ptr(), bytes);
        }
    }

    #[inline(always)]
    fn apply_exceptions(self, codes: &mut [u32; 128], width: u32, masks: &Masks, highs: &[u8], high_width: u32) {
        let count = count_of::<128>(masks);
        if count > MAX_EXCEPTIONS {
            return portable::apply_exceptions(codes, width, masks, highs, high_width);
        }
        let eights = if count > MAX_EXCEPTIONS / 2 { 4 } else { 2 };
        let mut parts = [0u32; MAX_EXCEPTIONS + 8];
        room(eights * high_width as usize, highs);
        // SAFETY: the processor has the level, as the token says; from high_width · i on high_width + 24 bytes are in
        // `highs`; codes are accessed 8 at a time; eight of `parts` are read from a place on that is no higher than
        // there are exceptions.
        unsafe {
            // No closure for it: where one is not inlined, every intrinsic in it is a call.
            for i in 0..eights {
                let v = unpack32::<true>(highs.as_ptr().add(high_width as usize * i), high_width);
                store(parts.as_mut_ptr().add(8 * i), _mm256_sll_epi32(v, _mm_cvtsi32_si128(width as i32)));
            }
            let mut at = 0;
            for i in 0..16 {
                let set = (masks[i / 8] >> (i % 8 * 8)) as u8;
                add_parts(codes.as_mut_ptr().add(8 * i), parts.as_ptr().add(at), &PLACES.0[set as usize]);
                at += set.count_ones() as usize;
            }
        }
    }
}

impl Simd<u64, 64> for Avx2 {
    by_functions! { u64, 64;
        pack = pack_u64::<64>;
        totals = warp_tile::totals64;
        width = words::width;
        extract_exceptions = lanes64::extract_exceptions;
        pack_highs = pack_u64::<MAX_EXCEPTIONS>;
    }

    #[inline(always)]
    fn unpack_bases(self, packed: &[u8], n: u32, bases: &mut [u64; SUBCHUNKS]) {
        room(4 * n as usize, packed);
        for (i, eight) in bases.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            // SAFETY: the processor has the level, as the token says; n + 24 bytes from n·i on are in `packed`.
            unsafe {
                let from = packed.as_ptr().add(n as usize * i);
                store(eight.as_mut_ptr(), unpack64::<true>(from, n, 0));
                store(eight.as_mut_ptr().add(4), unpack64::<true>(from, n, 1));
            }
        }
    }

    #[inline(always)]
    fn unpack(self, packed: &[u8], n: u32, codes: &mut [u64; 64]) {
        room(8 * n as usize, packed);
        let (from, to) = (packed.as_ptr(), codes.as_mut_ptr());
        // SAFETY: the processor has the level, as the token says; n + 24 bytes from n·i on are in `packed`.
        unsafe {
            if n <= 57 {
                for i in 0..8 {
                    let from = from.add(n as usize * i);
                    store(to.add(8 * i), unpack64::<false>(from, n, 0));
                    store(to.add(8 * i + 4), unpack64::<false>(from, n, 1));
                }
            } else {
                for i in 0..8 {
                    let from = from.add(n as usize * i);
                    store(to.add(8 * i), unpack64::<true>(from, n, 0));
                    store(to.add(8 * i + 4), unpack64::<true>(from, n, 1));
                }
            }
        }
    }

    #[inline(always)]
    fn zigzag_delta_decode(self, start: u64, second_difference: bool, codes: &mut [u64; 64]) {
        undo_differences::<u64, _, false>(self, start, second_difference, codes);
    }

    #[inline(always)]
    fn widths(self, codes: &[u64; 64], widths: &mut [u8; 64]) {
        // SAFETY: the processor has the level, as the token says; 16 widths are stored.
        unsafe {
            let [a, b, c, d] = lanes64::sampled_widths(self, codes);
            let words = _mm256_packus_epi32(low_halves(a, b), low_halves(c, d));
            let bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(widths.as_mut_ptr().cast(), bytes);
        }
    }

    #[inline(always)]
    fn apply_exceptions(self, codes: &mut [u64; 64], width: u32, masks: &Masks, highs: &[u8], high_width: u32) {
        let count = count_of::<64>(masks);
        if count > MAX_EXCEPTIONS {
            return portable::apply_exceptions(codes, width, masks, highs, high_width);
        }
        let eights = if count > MAX_EXCEPTIONS / 2 { 4 } else { 2 };
        let mut parts = [0u64; MAX_EXCEPTIONS + 4];
        room(eights * high_width as usize, highs);
        // SAFETY: the processor has the level, as the token says; from high_width · i on high_width + 24 bytes are in
        // `highs`; codes are accessed 4 at a time; four of `parts` are read from a place on that is no higher than
        // there are exceptions.
        unsafe {
            for i in 0..2 * eights {
                let v = unpack64::<true>(highs.as_ptr().add(high_width as usize * (i / 2)), high_width, i % 2);
                store(parts.as_mut_ptr().add(4 * i), _mm256_sll_epi64(v, _mm_cvtsi32_si128(width as i32)));
            }
            let mut at = 0;
            for i in 0..16 {
                let set = masks[0] >> (4 * i) & 15;
                add_parts(codes.as_mut_ptr().add(4 * i), parts.as_ptr().add(at), &PLACES_HALVES.0[set as usize]);
                at += set.count_ones() as usize;
            }
        }
    }
}

impl<const S: usize> Simd<u16, S> for Avx2 {
    by_functions! { u16, S;
        pack = lanes16::pack;
        unpack = lanes16::unpack;
        totals = warp_tile::totals16;
        width = words::width;
        widths = lanes16::widths;
        extract_exceptions = lanes16::extract_exceptions;
        pack_highs = lanes16::pack;
        apply_exceptions = lanes16::apply_exceptions;
    }

    #[inline(always)]
    fn zigzag_delta_decode(self, start: u16, second_difference: bool, codes: &mut [u16; S]) {
        undo_differences::<u16, _, false>(self, start, second_difference, codes);
    }

    #[inline(always)]
    fn try_zigzag_delta_decode(self, second_difference: bool, codes: &mut [u16; S]) -> bool {
        undo_differences::<u16, _, true>(self, 0, second_difference, codes)
    }
}

impl<const S: usize> Simd<u8, S> for Avx2 {}
