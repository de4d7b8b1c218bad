//! What packs and unpacks strings of bits: tables, and stores of strings one behind the other.

use std::arch::x86_64::*;

use crate::simd::avx2::lanes::Lanes;

/// Constants of unpacking eight n-bit values: the bytes that each begins in, counted from those of its half's first
/// value, and its first bit there.
#[derive(Clone, Copy)]
pub struct Unpack<const BYTES: usize> {
    pub bytes: Lanes<u8, BYTES>,
    pub shift: Lanes<u8, BYTES>,
}

const fn unpack_table<const BYTES: usize, const ROWS: usize>() -> [Unpack<BYTES>; ROWS] {
    let lane_bytes = BYTES / 8;
    let mut table = [Unpack { bytes: Lanes([0; BYTES]), shift: Lanes([0; BYTES]) }; ROWS];
    let mut n = 1;
    while n < ROWS {
        let mut i = 0;
        while i < 8 {
            let first = i - i % (16 / lane_bytes);
            let mut k = 0;
            while k < lane_bytes {
                table[n].bytes.0[i * lane_bytes + k] = (i * n / 8 - first * n / 8 + k) as u8;
                k += 1;
            }
            table[n].shift.0[i * lane_bytes] = (i * n % 8) as u8;
            i += 1;
        }
        n += 1;
    }
    table
}

pub static UNPACK32: [Unpack<32>; 33] = unpack_table();
pub static UNPACK64: [Unpack<64>; 65] = unpack_table();

/// The widths that `pack_narrow` takes: two values fit a signed product of 16-bit words.
pub const NARROW: u32 = 14;

/// For `pack_narrow`: brings the second four values of each half behind the first.
const fn second_fours() -> [Lanes<u8, 32>; NARROW as usize + 1] {
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
}

static SECOND_FOURS: [Lanes<u8, 32>; NARROW as usize + 1] = second_fours();

/// Of pairs of values of `n` bits, each in a lane of 32, the pairs of pairs, in 64-bit lanes, each second one from bit
/// `ahead` on.
///
/// # Safety
/// The processor has the level's features; `ahead` ≤ 32 − 2n.
#[inline(always)]
pub unsafe fn fours(pairs: __m256i, n: u32, ahead: i64) -> __m256i {
    let gap = i64::from(32 - 2 * n);
    // SAFETY: as the caller promises.
    unsafe {
        // The gap goes below the first pair, and then away.
        let together = _mm256_sllv_epi32(pairs, _mm256_set1_epi64x(gap));
        _mm256_srlv_epi64(together, _mm256_set_epi64x(gap - ahead, gap, gap - ahead, gap))
    }
}

/// Packs the 16 values of `n` ≤ `NARROW` bits in `words` into `out`.
///
/// # Safety
/// The processor has the level's features; n + 16 bytes at `out` are writable.
#[inline(always)]
pub unsafe fn pack_narrow(words: __m256i, n: u32, out: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        let pairs = _mm256_madd_epi16(words, _mm256_set1_epi32(1 | 1 << (16 + n)));
        // Second fours begin in the middle of a byte where n is odd.
        let fours = fours(pairs, n, i64::from(n % 2 * 4));
        let behind = _mm256_shuffle_epi8(fours, SECOND_FOURS[n as usize].load(0));
        let bytes = _mm256_or_si256(_mm256_and_si256(fours, _mm256_set_epi64x(0, -1, 0, -1)), behind);
        _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(bytes));
        _mm_storeu_si128(out.add(n as usize).cast(), _mm256_extracti128_si256::<1>(bytes));
    }
}

/// For `put_strings`: the first bits of strings 0 … 3 of `n` bits in their bytes.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
pub unsafe fn string_shift(n: u32) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe { UNPACK64[n as usize].shift.load(0) }
}

/// Stores four strings of `n` ≥ 8 bits, numbers `FIRST` … `FIRST` + 3 of those that begin in the byte at `out`;
/// `before` are the strings before them, `shift` the bits of these in the first byte of each.
///
/// # Safety
/// The processor has the level's features; what the strings take, and 8 bytes more, are writable.
#[inline(always)]
pub unsafe fn put_strings<const FIRST: usize>(v: __m256i, before: __m256i, shift: __m256i, n: u32, out: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
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
