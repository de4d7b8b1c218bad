//! Packing narrow values: pairs by a product, pairs of pairs by a shift, and two of these, eight values and so whole
//! bytes, by a shuffle. Packing others: strings (64-bit values, or pairs of 32-bit ones) go to memory one by one, each
//! from the byte that it begins in, with the last bits of the string before it; what a string leaves behind its end the
//! next one overwrites.

use std::arch::x86_64::*;

use super::strings::{NARROW, UNPACK64, pack_narrow, put_strings, string_shift};
use crate::codec::sleek::simd::room;
use crate::exec::Avx2;
use crate::simd::avx2::lanes::{load, load_halves, low_halves};

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
pub fn pack_u32<const VALUES: usize>(_: Avx2, codes: &[u32], n: u32, out: &mut [u8]) {
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
pub fn pack_u64<const VALUES: usize>(_: Avx2, codes: &[u64], n: u32, out: &mut [u8]) {
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
