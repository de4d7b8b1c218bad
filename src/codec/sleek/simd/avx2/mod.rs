//! AVX2 with BMI and LZCNT: bytes move by shuffles within 128 bits, bits by variable shifts.
//!
//! Unpacking: each half of a vector comes from an address of its own, so that the values it wants begin in its first
//! byte; a shuffle brings to each lane the bytes that its value begins in, a shift by (position mod 8) aligns them.
//! Where a value may reach into one byte more than a lane has, the same shuffle of the bytes one lane further on gives
//! the rest.
//!
//! Packing narrow values: pairs by a product, pairs of pairs by a shift, and two of these, eight values and so whole
//! bytes, by a shuffle. Packing others: strings (64-bit values, or pairs of 32-bit ones) go to memory one by one, each
//! from the byte that it begins in, with the last bits of the string before it; what a string leaves behind its end the
//! next one overwrites.

pub(super) mod choose;
mod ends;
mod lanes16;
mod vec;
mod warp_tile;

use std::arch::asm;
use std::arch::x86_64::*;

use super::{HIGHS, MaskBytes, Masks, Simd, SimdLevel, Staged, Transposed, count_of, portable, room};
use crate::codec::sleek::constants::{MAX_EXCEPTIONS, SUBCHUNK_BYTES, SUBCHUNKS, WARP_TILE};
use crate::codec::sleek::ends::Ends;
use crate::exec::Avx2;
use crate::primitives::quantize::Arithmetic;
use crate::primitives::stream::{self, Line, bytes};
use choose::{LISTED, NO_PLACE, PLACES, PLACES_HALVES, lanes32, lanes64, transpose, wider};
use vec::{NARROW, UNPACK32, UNPACK64, load, load_halves, low_halves, pack_narrow, put_strings, store, string_shift};

/// Packs the values in `first` (0 … 3 and 8 … 11) and `second` (4 … 7 and 12 … 15), of which the low `n` bits count.
///
/// # Safety
/// As for `pack_narrow`.
#[inline(always)]
unsafe fn pack_halves(first: __m256i, second: __m256i, n: u32, out: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        let keep = _mm256_set1_epi32((1 << n) - 1);
        pack_narrow(_mm256_packus_epi32(_mm256_and_si256(first, keep), _mm256_and_si256(second, keep)), n, out);
    }
}

/// Packs `VALUES` (a multiple of 16) values of `n` ≤ 32 bits, the first of `codes`, at the start of `out`.
#[inline(always)]
fn pack_u32<const VALUES: usize>(_: Avx2, codes: &[u32], n: u32, out: &mut [u8]) {
    assert!(codes.len() >= VALUES);
    room(VALUES * n as usize / 8, out);
    let (codes, out) = (codes.as_ptr(), out.as_mut_ptr());
    // SAFETY: the processor has the level, as the token says; 16 or 8 codes are read at a time, and what is written
    // behind the packed bytes is less than the slack.
    unsafe {
        if n <= NARROW {
            for i in 0..VALUES / 16 {
                let at = codes.add(16 * i);
                let (first, second) = (load_halves(at, at.add(8)), load_halves(at.add(4), at.add(12)));
                pack_halves(first, second, n, out.add(2 * n as usize * i));
            }
            return;
        }
        let low = _mm256_set1_epi32((u32::MAX >> (32 - n)) as i32);
        let gap = 32 - n as i32;
        let (above, shift) = (_mm256_set1_epi64x(gap.into()), string_shift(2 * n));
        for i in 0..VALUES / 8 {
            let v = _mm256_and_si256(load(codes.add(8 * i)), low);
            // The gap goes below the first value, and then away.
            let pairs = _mm256_srl_epi64(_mm256_sllv_epi32(v, above), _mm_cvtsi32_si128(gap));
            // The first pair begins with a byte; whatever stands before it is shifted out.
            let before = _mm256_permute4x64_epi64::<0b10_01_00_00>(pairs);
            put_strings::<0>(pairs, before, shift, 2 * n, out.add(n as usize * i));
        }
    }
}

/// The same for `n` ≤ 64.
#[inline(always)]
fn pack_u64<const VALUES: usize>(_: Avx2, codes: &[u64], n: u32, out: &mut [u8]) {
    assert!(codes.len() >= VALUES);
    room(VALUES * n as usize / 8, out);
    let (codes, out) = (codes.as_ptr(), out.as_mut_ptr());
    // SAFETY: as for `pack_u32`.
    unsafe {
        if n <= NARROW {
            for i in 0..VALUES / 16 {
                let at = codes.add(16 * i);
                let first = low_halves(load_halves(at, at.add(8)), load_halves(at.add(2), at.add(10)));
                let second = low_halves(load_halves(at.add(4), at.add(12)), load_halves(at.add(6), at.add(14)));
                pack_halves(first, second, n, out.add(2 * n as usize * i));
            }
            return;
        }
        let low = _mm256_set1_epi64x((u64::MAX >> (64 - n)) as i64);
        let shift = &UNPACK64[n as usize].shift;
        for i in 0..VALUES / 8 {
            let (at, out) = (codes.add(8 * i), out.add(n as usize * i));
            let first = _mm256_and_si256(load(at), low);
            let before = _mm256_permute4x64_epi64::<0b10_01_00_00>(first);
            put_strings::<0>(first, before, shift.load(0), n, out);
            let second = _mm256_and_si256(load(at.add(4)), low);
            let before = _mm256_and_si256(load(at.add(3)), low);
            put_strings::<4>(second, before, shift.load(1), n, out);
        }
    }
}

/// The eight values of `n` bits that are packed at `packed`; `WIDE` where n > 25.
///
/// # Safety
/// The processor has the level's features; n + 24 bytes at `packed` are readable.
#[inline(always)]
unsafe fn unpack32<const WIDE: bool>(packed: *const u8, n: u32) -> __m256i {
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
unsafe fn unpack64<const WIDE: bool>(packed: *const u8, n: u32, half: usize) -> __m256i {
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

/// Running sums of the lanes, behind `carry`, which becomes the sum of all.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn sums32(v: __m256i, carry: &mut __m256i) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        let v = _mm256_add_epi32(v, _mm256_slli_si256::<4>(v));
        let v = _mm256_add_epi32(v, _mm256_slli_si256::<8>(v));
        // To the upper half the sum of the lower one.
        let lower = _mm256_shuffle_epi32::<0xff>(_mm256_permute2x128_si256::<0x08>(v, v));
        let v = _mm256_add_epi32(v, lower);
        let sums = _mm256_add_epi32(v, *carry);
        // The carry waits for one addition a vector, not for the vector's own sums.
        *carry = _mm256_add_epi32(*carry, _mm256_permutevar8x32_epi32(v, _mm256_set1_epi32(7)));
        sums
    }
}

/// The same for lanes of 64 bits.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn sums64(v: __m256i, carry: &mut __m256i) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        let v = _mm256_add_epi64(v, _mm256_slli_si256::<8>(v));
        let lower = _mm256_shuffle_epi32::<0b11_10_11_10>(_mm256_permute2x128_si256::<0x08>(v, v));
        let v = _mm256_add_epi64(v, lower);
        let sums = _mm256_add_epi64(v, *carry);
        *carry = _mm256_add_epi64(*carry, _mm256_permute4x64_epi64::<0xff>(v));
        sums
    }
}

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
fn stream_subchunk(level: Avx2, staged: &Staged, chunk: &mut [u8], at: usize, last: &mut Line) {
    match chunk.as_ptr().addr() % 64 {
        0 => stream_lines::<0>(level, staged, chunk, at, last),
        16 => stream_lines::<16>(level, staged, chunk, at, last),
        32 => stream_lines::<32>(level, staged, chunk, at, last),
        48 => stream_lines::<48>(level, staged, chunk, at, last),
        _ => stream::copy(bytes(staged), &mut chunk[at..at + SUBCHUNK_BYTES]),
    }
}

/// Eight bytes 8.
const UPPER: i64 = 0x0808_0808_0808_0808;

impl Arithmetic for Avx2 {
    const HAS_FMA: bool = true;
    // There is no least or largest of 64-bit words.
    const CLAMPS_F64: bool = true;
}

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
    #[inline(always)]
    fn ends(self, words: &[u32; 128], ends: &mut Ends<u32>) -> u32 {
        ends::ends32(self, words, ends)
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
    fn pack(self, codes: &[u32; 128], n: u32, out: &mut [u8]) {
        pack_u32::<128>(self, codes, n, out);
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
        // SAFETY: the processor has the level, as the token says; each access is to 8 of the codes.
        unsafe {
            let (zero, one) = (_mm256_setzero_si256(), _mm256_set1_epi32(1));
            let (mut slope, mut carry) = (zero, _mm256_set1_epi32(start as i32));
            for i in 0..16 {
                let at = codes.as_mut_ptr().add(8 * i);
                let v = load(at);
                let sign = _mm256_sub_epi32(zero, _mm256_and_si256(v, one));
                let mut v = _mm256_xor_si256(_mm256_srli_epi32::<1>(v), sign);
                if second_difference {
                    v = sums32(v, &mut slope);
                }
                store(at, sums32(v, &mut carry));
            }
        }
    }

    #[inline(always)]
    fn totals(self, x: &[[u32; 128]; WARP_TILE], least: &[u32; WARP_TILE], exponent_bits: Option<u32>) -> [u32; 4] {
        warp_tile::totals32(self, x, least, exponent_bits)
    }

    #[inline(always)]
    fn width(self, codes: &[u32; 128]) -> u32 {
        lanes32::width(self, codes)
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
    fn extract_exceptions(self, codes: &[u32; 128], width: u32, highs: &mut [u32; HIGHS]) -> Masks {
        lanes32::extract_exceptions(self, codes, width, highs)
    }

    #[inline(always)]
    fn pack_highs(self, highs: &[u32; HIGHS], count: usize, n: u32, out: &mut [u8]) -> usize {
        pack_u32::<MAX_EXCEPTIONS>(self, highs, n, out);
        (count * n as usize).div_ceil(8)
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
    #[inline(always)]
    fn ends(self, words: &[u64; 64], ends: &mut Ends<u64>) -> u64 {
        ends::ends64(self, words, ends)
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
    fn pack(self, codes: &[u64; 64], n: u32, out: &mut [u8]) {
        pack_u64::<64>(self, codes, n, out);
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
        // SAFETY: the processor has the level, as the token says; each access is to 4 of the codes.
        unsafe {
            let (zero, one) = (_mm256_setzero_si256(), _mm256_set1_epi64x(1));
            let (mut slope, mut carry) = (zero, _mm256_set1_epi64x(start as i64));
            for i in 0..16 {
                let at = codes.as_mut_ptr().add(4 * i);
                let v = load(at);
                let sign = _mm256_sub_epi64(zero, _mm256_and_si256(v, one));
                let mut v = _mm256_xor_si256(_mm256_srli_epi64::<1>(v), sign);
                if second_difference {
                    v = sums64(v, &mut slope);
                }
                store(at, sums64(v, &mut carry));
            }
        }
    }

    #[inline(always)]
    fn totals(self, x: &[[u64; 64]; WARP_TILE], least: &[u64; WARP_TILE], exponent_bits: Option<u32>) -> [u32; 4] {
        warp_tile::totals64(self, x, least, exponent_bits)
    }

    #[inline(always)]
    fn width(self, codes: &[u64; 64]) -> u32 {
        lanes64::width(self, codes)
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
    fn extract_exceptions(self, codes: &[u64; 64], width: u32, highs: &mut [u64; HIGHS]) -> Masks {
        lanes64::extract_exceptions(self, codes, width, highs)
    }

    #[inline(always)]
    fn pack_highs(self, highs: &[u64; HIGHS], count: usize, n: u32, out: &mut [u8]) -> usize {
        pack_u64::<MAX_EXCEPTIONS>(self, highs, n, out);
        (count * n as usize).div_ceil(8)
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
    #[inline(always)]
    fn pack(self, codes: &[u16; S], n: u32, out: &mut [u8]) {
        lanes16::pack(self, codes, n, out);
    }

    #[inline(always)]
    fn unpack(self, packed: &[u8], n: u32, codes: &mut [u16; S]) {
        lanes16::unpack(self, packed, n, codes);
    }

    #[inline(always)]
    fn zigzag_delta_decode(self, start: u16, second_difference: bool, codes: &mut [u16; S]) {
        lanes16::zigzag_delta_decode(self, start, second_difference, codes);
    }

    #[inline(always)]
    fn try_zigzag_delta_decode(self, second_difference: bool, codes: &mut [u16; S]) -> bool {
        lanes16::zigzag_delta_decode(self, 0, second_difference, codes)
    }

    #[inline(always)]
    fn totals(self, x: &[[u16; S]; WARP_TILE], least: &[u16; WARP_TILE], exponent_bits: Option<u32>) -> [u32; 4] {
        warp_tile::totals16(self, x, least, exponent_bits)
    }

    #[inline(always)]
    fn width(self, codes: &[u16; S]) -> u32 {
        lanes16::width(self, codes)
    }

    #[inline(always)]
    fn widths(self, codes: &[u16; S], widths: &mut [u8; S]) {
        lanes16::widths(self, codes, widths);
    }

    #[inline(always)]
    fn extract_exceptions(self, codes: &[u16; S], width: u32, highs: &mut [u16; HIGHS]) -> Masks {
        lanes16::extract_exceptions(self, codes, width, highs)
    }

    #[inline(always)]
    fn pack_highs(self, highs: &[u16; HIGHS], count: usize, n: u32, out: &mut [u8]) -> usize {
        lanes16::pack(self, &highs[..MAX_EXCEPTIONS], n, out);
        (count * n as usize).div_ceil(8)
    }

    #[inline(always)]
    fn apply_exceptions(self, codes: &mut [u16; S], width: u32, masks: &Masks, highs: &[u8], high_width: u32) {
        lanes16::apply_exceptions(self, codes, width, masks, highs, high_width);
    }
}

impl<const S: usize> Simd<u8, S> for Avx2 {}
