//! Packing for AVX2. Narrow values: pairs by a product, pairs of pairs by a shift, and two of these, eight values and
//! so whole bytes, by a shuffle. Others: strings (64-bit values, pairs of 32-bit ones, fours of 16-bit ones) go to
//! memory one by one, each from the byte that it begins in, with the last bits of the string before it; what a string
//! leaves behind its end the next one overwrites.

use std::arch::x86_64::*;

use super::lanes::{Lanes, load, load_halves, low_halves};
use crate::exec::Avx2;
use crate::simd::bits::{begins, first_bits, room};

/// Constants of unpacking eight n-bit values: the bytes that each begins in, counted from those of its half's first
/// value, and its first bit there.
#[derive(Clone, Copy)]
pub struct Unpack<const BYTES: usize> {
    pub bytes: Lanes<u8, BYTES>,
    pub shift: Lanes<u8, BYTES>,
}

/// These constants of all widths.
pub const fn unpack_table<const BYTES: usize, const ROWS: usize>() -> [Unpack<BYTES>; ROWS] {
    let mut table = [Unpack { bytes: Lanes([0; BYTES]), shift: Lanes([0; BYTES]) }; ROWS];
    let mut n = 1;
    while n < ROWS {
        table[n].bytes = Lanes(begins(n, BYTES / 8, 16));
        table[n].shift = Lanes(first_bits(n, BYTES / 8));
        n += 1;
    }
    table
}

pub static UNPACK64: [Unpack<64>; 65] = unpack_table();

/// The widths that `pack_narrow` takes: two values fit a signed product of 16-bit words.
const NARROW: u32 = 14;

/// For `pack_narrow`: brings the second four values of each half behind the first.
static SECOND_FOURS: [Lanes<u8, 32>; NARROW as usize + 1] = {
    let mut table = [Lanes([0x80; 32]); NARROW as usize + 1];
    let mut n = 1;
    while n <= NARROW as usize {
        let mut k = 0;
        while k < 8 {
            table[n].0[n / 2 + k] = 8 + k as u8;
            table[n].0[16 + n / 2 + k] = 8 + k as u8;
            k += 1;
        }
        n += 1;
    }
    table
};

/// Of pairs of values of `n` bits, each in a lane of 32, the pairs of pairs, in 64-bit lanes, each second one from bit
/// `ahead` ≤ 32 − 2n on.
#[inline]
#[target_feature(enable = "avx2")]
fn fours(pairs: __m256i, n: u32, ahead: i64) -> __m256i {
    let gap = i64::from(32 - 2 * n);
    // The gap goes below the first pair, and then away.
    let together = _mm256_sllv_epi32(pairs, _mm256_set1_epi64x(gap));
    _mm256_srlv_epi64(together, _mm256_set_epi64x(gap - ahead, gap, gap - ahead, gap))
}

/// Packs the 16 values of `n` ≤ `NARROW` bits in `words` into `out`.
///
/// # Safety
/// n + 16 bytes at `out` are writable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn pack_narrow(words: __m256i, n: u32, out: *mut u8) {
    let pairs = _mm256_madd_epi16(words, _mm256_set1_epi32(1 | 1 << (16 + n)));
    // Second fours begin in the middle of a byte where n is odd.
    let fours = fours(pairs, n, i64::from(n % 2 * 4));
    // SAFETY: as the caller promises.
    unsafe {
        let behind = _mm256_shuffle_epi8(fours, SECOND_FOURS[n as usize].load(0));
        let bytes = _mm256_or_si256(_mm256_and_si256(fours, _mm256_set_epi64x(0, -1, 0, -1)), behind);
        _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(bytes));
        _mm_storeu_si128(out.add(n as usize).cast(), _mm256_extracti128_si256::<1>(bytes));
    }
}

/// Packs the values in `first` (0 … 3 and 8 … 11) and `second` (4 … 7 and 12 … 15), of which the low `n` bits count.
///
/// # Safety
/// As for `pack_narrow`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn pack_halves(first: __m256i, second: __m256i, n: u32, out: *mut u8) {
    let keep = _mm256_set1_epi32((1 << n) - 1);
    let words = _mm256_packus_epi32(_mm256_and_si256(first, keep), _mm256_and_si256(second, keep));
    // SAFETY: as the caller promises.
    unsafe { pack_narrow(words, n, out) }
}

/// Stores four strings of `n` ≥ 8 bits, numbers `FIRST` … `FIRST` + 3 of those that begin in the byte at `out`;
/// `before` are the strings before them.
///
/// # Safety
/// What the strings take, and 8 bytes more, are writable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn put_strings<const FIRST: usize>(v: __m256i, before: __m256i, n: u32, out: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        // The first bits of the strings in their bytes.
        let shift = UNPACK64[n as usize].shift.load(FIRST / 4);
        let back = _mm256_sub_epi64(_mm256_set1_epi64x(n.into()), shift);
        let v = _mm256_or_si256(_mm256_sllv_epi64(v, shift), _mm256_srlv_epi64(before, back));
        let (low, high) = (_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
        let n = n as usize;
        _mm_storel_epi64(out.add(FIRST * n / 8).cast(), low);
        _mm_storeh_pd(out.add((FIRST + 1) * n / 8).cast(), _mm_castsi128_pd(low));
        _mm_storel_epi64(out.add((FIRST + 2) * n / 8).cast(), high);
        _mm_storeh_pd(out.add((FIRST + 3) * n / 8).cast(), _mm_castsi128_pd(high));
    }
}

/// Stores four strings of which the first begins with a byte: whatever stands before it is shifted out.
///
/// # Safety
/// As for `put_strings`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn put_four(v: __m256i, n: u32, out: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe { put_strings::<0>(v, _mm256_permute4x64_epi64::<0b10_01_00_00>(v), n, out) }
}

/// Packs the values of `n` ≤ 16 bits in `codes`, a multiple of 16 of them, at the start of `out`.
#[inline(always)]
pub fn pack16(_: Avx2, codes: &[u16], n: u32, out: &mut [u8]) {
    room(codes.len() * n as usize / 8, out);
    let out = out.as_mut_ptr();
    // SAFETY: the processor has the level, as the token says; what is written behind the packed bytes is less than the
    // slack.
    unsafe {
        let low = _mm256_set1_epi16((u32::MAX >> (32 - n)) as i16);
        if n <= NARROW {
            for (i, codes) in codes.as_chunks::<16>().0.iter().enumerate() {
                let words = _mm256_and_si256(load(codes.as_ptr()), low);
                pack_narrow(words, n, out.add(2 * n as usize * i));
            }
            return;
        }
        let keep = _mm256_set1_epi32((1 << n) - 1);
        for (i, codes) in codes.as_chunks::<16>().0.iter().enumerate() {
            let words = _mm256_and_si256(load(codes.as_ptr()), low);
            let shifted = _mm256_srl_epi32(words, _mm_cvtsi32_si128(16 - n as i32));
            let pairs = _mm256_or_si256(_mm256_and_si256(words, keep), _mm256_andnot_si256(keep, shifted));
            put_four(fours(pairs, n, 0), 4 * n, out.add(2 * n as usize * i));
        }
    }
}

/// The same for `n` ≤ 32.
#[inline(always)]
pub fn pack32(_: Avx2, codes: &[u32], n: u32, out: &mut [u8]) {
    room(codes.len() * n as usize / 8, out);
    let out = out.as_mut_ptr();
    // SAFETY: as for `pack16`.
    unsafe {
        if n <= NARROW {
            for (i, codes) in codes.as_chunks::<16>().0.iter().enumerate() {
                let at = codes.as_ptr();
                let (first, second) = (load_halves(at, at.add(8)), load_halves(at.add(4), at.add(12)));
                pack_halves(first, second, n, out.add(2 * n as usize * i));
            }
            return;
        }
        let low = _mm256_set1_epi32((u32::MAX >> (32 - n)) as i32);
        let gap = 32 - n as i32;
        let above = _mm256_set1_epi64x(gap.into());
        for (i, codes) in codes.as_chunks::<8>().0.iter().enumerate() {
            let v = _mm256_and_si256(load(codes.as_ptr()), low);
            // The gap goes below the first value, and then away.
            let pairs = _mm256_srl_epi64(_mm256_sllv_epi32(v, above), _mm_cvtsi32_si128(gap));
            put_four(pairs, 2 * n, out.add(n as usize * i));
        }
    }
}

/// The same for `n` ≤ 64.
#[inline(always)]
pub fn pack64(_: Avx2, codes: &[u64], n: u32, out: &mut [u8]) {
    room(codes.len() * n as usize / 8, out);
    let out = out.as_mut_ptr();
    // SAFETY: as for `pack16`.
    unsafe {
        if n <= NARROW {
            for (i, codes) in codes.as_chunks::<16>().0.iter().enumerate() {
                let at = codes.as_ptr();
                let first = low_halves(load_halves(at, at.add(8)), load_halves(at.add(2), at.add(10)));
                let second = low_halves(load_halves(at.add(4), at.add(12)), load_halves(at.add(6), at.add(14)));
                pack_halves(first, second, n, out.add(2 * n as usize * i));
            }
            return;
        }
        let low = _mm256_set1_epi64x((u64::MAX >> (64 - n)) as i64);
        for (i, codes) in codes.as_chunks::<8>().0.iter().enumerate() {
            let (at, out) = (codes.as_ptr(), out.add(n as usize * i));
            put_four(_mm256_and_si256(load(at), low), n, out);
            let second = _mm256_and_si256(load(at.add(4)), low);
            put_strings::<4>(second, _mm256_and_si256(load(at.add(3)), low), n, out);
        }
    }
}
