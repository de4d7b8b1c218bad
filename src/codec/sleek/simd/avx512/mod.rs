//! AVX-512 with VBMI, VBMI2, VNNI and GFNI: what its parts, the files of that name, share.

mod choose;
mod exceptions;
mod lanes16;
mod lanes8;
mod pack;
mod unpack;
mod warp_tile;

use std::arch::x86_64::*;

use super::avx2::choose::{transpose, wider};
use super::avx2::stream::prefetchw;
use super::{HIGHS, MaskBytes, Masks, Simd, SimdLevel, Staged, Transposed, room};
use crate::codec::sleek::constants::{MAX_EXCEPTIONS, SUBCHUNK_BYTES, SUBCHUNKS, WARP_TILE};
use crate::exec::Avx512;
use crate::simd::stream::{self, Line, bytes};
use crate::simd::words::{self, sums_before, undo_differences};
use choose::{lanes32, lanes64};
use pack::{pack_u8, pack_u16, pack_u32, pack_u64};
use unpack::{unpack_u32, unpack_u64, unpack32, unpack64};

/// `SimdLevel::stream` of a whole subchunk, whose first line begins `shared` bytes before it, a multiple of 4; `last`
/// are the last 64 bytes of the one before.
#[inline(always)]
fn stream_lines(_: Avx512, staged: &Staged, chunk: &mut [u8], at: usize, shared: usize, last: &mut Line) {
    static LANES: [u32; 32] = {
        let mut lanes = [0; 32];
        let mut i = 0;
        while i < 32 {
            lanes[i] = i as u32;
            i += 1;
        }
        lanes
    };
    assert!(shared < 64 && at.is_multiple_of(64) && at + SUBCHUNK_BYTES <= chunk.len());
    if at == 0 && shared > 0 {
        stream::copy_piece(&staged[0].0[..64 - shared], &mut chunk[..64 - shared]);
    }
    // SAFETY: the processor has the level, as the token says. Lines from the one that the subchunk shares with the one
    // before on, if there is one, else from the next one on, end before the subchunk does, and are aligned; lanes from
    // 16 − shared / 4 ≥ 1 on are 16 of 32.
    unsafe {
        let lanes = _mm512_loadu_si512(LANES.as_ptr().add(16 - shared / 4).cast());
        let mut before = _mm512_load_si512(last.0.as_ptr().cast());
        for (k, line) in staged.iter().enumerate() {
            let this = _mm512_load_si512(line.0.as_ptr().cast());
            if at + 64 * k >= shared {
                let to = chunk.as_mut_ptr().add(at + 64 * k - shared);
                _mm512_stream_si512(to.cast(), _mm512_permutex2var_epi32(before, lanes, this));
            }
            before = this;
        }
        _mm512_store_si512(last.0.as_mut_ptr().cast(), before);
    }
    let end = at + SUBCHUNK_BYTES;
    if end == chunk.len() {
        stream::copy_piece(&last.0[64 - shared..], &mut chunk[end - shared..]);
    }
}

/// The same where no element of 32 bits may begin. Not inlined: what is computed for it alone would be computed always.
#[cold]
#[inline(never)]
fn stream_apart(staged: &Staged, out: &mut [u8]) {
    stream::copy(bytes(staged), out);
}

impl SimdLevel for Avx512 {
    const PREFERS_SMALL: bool = true;
    const PREFERS_BYTES: bool = true;
    const JOINS_LINES: bool = true;

    #[inline(always)]
    fn zigzag_delta_decode_bytes<const S: usize>(
        self,
        start: u32,
        second_difference: bool,
        codes: &[u8; S],
        sums: &mut [u32; S],
    ) {
        lanes8::zigzag_delta_decode(self, start, second_difference, codes, sums);
    }

    #[inline(always)]
    fn transpose<const S: usize>(self, widths: &[[u8; S]; SUBCHUNKS], rows: &mut Transposed<S>) {
        transpose(self.avx2(), widths, rows);
    }

    #[inline(always)]
    fn wider<const S: usize>(self, rows: &Transposed<S>, limits: &[u8; SUBCHUNKS]) -> [u8; SUBCHUNKS] {
        wider(self.avx2(), rows, limits)
    }

    #[inline(always)]
    fn expand(self, of: u32, list: &[u8]) -> [u8; SUBCHUNKS] {
        const { assert!(SUBCHUNKS == 32) };
        let count = of.count_ones();
        assert!(list.len() >= count as usize);
        let mut all = [0; SUBCHUNKS];
        // SAFETY: the processor has the level, as the token says; the masked load touches what is asserted, and as many
        // bytes as `all` has are stored.
        unsafe {
            let list = _mm256_maskz_loadu_epi8(_bzhi_u32(u32::MAX, count), list.as_ptr().cast());
            _mm256_storeu_si256(all.as_mut_ptr().cast(), _mm256_maskz_expand_epi8(of, list));
        }
        all
    }

    #[inline(always)]
    fn running_sums(self, numbers: &[u16; SUBCHUNKS], start: u16) -> [u16; SUBCHUNKS] {
        sums_before(self, numbers, start)
    }

    #[inline(always)]
    fn flags(self, masks: &Masks) -> u32 {
        // SAFETY: the processor has the level, as the token says; masks are 32 bytes.
        unsafe {
            let masks = _mm256_loadu_si256(masks.as_ptr().cast());
            _mm256_test_epi8_mask(masks, masks)
        }
    }

    #[inline(always)]
    fn compress<const S: usize>(self, masks: &Masks, flags: u32, out: &mut MaskBytes) {
        // SAFETY: the processor has the level, as the token says; masks are 32 bytes, and as many are stored.
        unsafe {
            let masks = _mm256_loadu_si256(masks.as_ptr().cast());
            _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_maskz_compress_epi8(flags, masks));
        }
    }

    // Lines of `chunk` are put together from vectors as they were stored: a load of parts of two of them would wait for
    // both to arrive in the cache, and so for all copies before them. What a subchunk has of its last line waits for
    // the next one.
    #[inline(always)]
    fn stream(self, staged: &Staged, chunk: &mut [u8], at: usize, last: &mut Line) {
        let shared = chunk.as_ptr().addr() % 64;
        if shared.is_multiple_of(4) {
            stream_lines(self, staged, chunk, at, shared, last);
        } else {
            stream_apart(staged, &mut chunk[at..at + SUBCHUNK_BYTES]);
        }
    }

    #[inline(always)]
    fn prefetchw(self, at: *const u8) {
        prefetchw(self.avx2(), at);
    }
}

impl Simd<u32, 128> for Avx512 {
    by_functions! { u32, 128;
        extremes = warp_tile::extremes32;
        totals = warp_tile::totals32;
        pack = pack_u32::<8>;
        unpack = unpack_u32;
        width = words::width;
        widths = lanes32::widths;
        extract_exceptions = lanes32::extract_exceptions;
        pack_highs = pack_u32::<{ MAX_EXCEPTIONS / 16 }>;
        apply_exceptions = exceptions::apply_exceptions32;
    }

    #[inline(always)]
    fn unpack_bases(self, packed: &[u8], n: u32, bases: &mut [u32; SUBCHUNKS]) {
        room(4 * n as usize, packed);
        for (i, sixteen) in bases.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            // SAFETY: the processor has the level, as the token says; 64 bytes from 2n·i on are in `packed`, and 16
            // values are stored.
            unsafe {
                let v = unpack32(packed.as_ptr().add(2 * n as usize * i), n);
                _mm512_storeu_si512(sixteen.as_mut_ptr().cast(), v);
            }
        }
    }

    #[inline(always)]
    fn zigzag_delta_decode(self, start: u32, second_difference: bool, codes: &mut [u32; 128]) {
        undo_differences::<u32, _, false>(self, start, second_difference, codes);
    }
}

impl Simd<u64, 64> for Avx512 {
    by_functions! { u64, 64;
        extremes = warp_tile::extremes64;
        totals = warp_tile::totals64;
        pack = pack_u64::<8>;
        unpack = unpack_u64;
        width = words::width;
        widths = lanes64::widths;
        extract_exceptions = lanes64::extract_exceptions;
        pack_highs = pack_u64::<{ MAX_EXCEPTIONS / 8 }>;
        apply_exceptions = exceptions::apply_exceptions64;
    }

    #[inline(always)]
    fn unpack_bases(self, packed: &[u8], n: u32, bases: &mut [u64; SUBCHUNKS]) {
        room(4 * n as usize, packed);
        for (i, eight) in bases.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            // SAFETY: the processor has the level, as the token says; 64 bytes from n·i on are in `packed`, and eight
            // values are stored.
            unsafe {
                let v = unpack64(packed.as_ptr().add(n as usize * i), n);
                _mm512_storeu_si512(eight.as_mut_ptr().cast(), v);
            }
        }
    }

    #[inline(always)]
    fn zigzag_delta_decode(self, start: u64, second_difference: bool, codes: &mut [u64; 64]) {
        undo_differences::<u64, _, false>(self, start, second_difference, codes);
    }
}

impl<const S: usize> Simd<u16, S> for Avx512 {
    by_functions! { u16, S;
        extremes = warp_tile::extremes16;
        totals = warp_tile::totals16;
        pack = pack_u16;
        unpack = lanes16::unpack;
        apply_exceptions = lanes16::apply_exceptions;
        width = words::width;
        widths = lanes16::widths;
        extract_exceptions = lanes16::extract_exceptions;
        pack_highs = pack_u16;
    }

    #[inline(always)]
    fn try_zigzag_delta_decode(self, second_difference: bool, codes: &mut [u16; S]) -> bool {
        undo_differences::<u16, _, true>(self, 0, second_difference, codes)
    }
}

impl<const S: usize> Simd<u8, S> for Avx512 {
    by_functions! { u8, S;
        pack = pack_u8;
        unpack = lanes8::unpack;
        apply_exceptions = lanes8::apply_exceptions;
    }
}
