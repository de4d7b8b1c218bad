//! Packing for AVX-512, by byte permutes and variable shifts.
//!
//! Up to 16 bits: pairs become 2n bits in a 32-bit lane, pairs of pairs 4n bits in a 64-bit lane (ahead by four bits
//! where n and the lane are odd, so that every lane's string starts at a bit that is right within its byte), and two
//! permutes put the bytes of even and odd lanes in place. More bits: a word of the result, of 32 or 64 bits as the
//! values, is made of at most three of them.

use std::arch::x86_64::*;

use super::lanes::{Lanes, left32, left64, right32, right64};
use crate::exec::Avx512;
use crate::simd::bits::room;

/// Of two vectors the low halves of the 64-bit lanes.
const LOW_HALVES: Lanes<u32, 16> = Lanes([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]);

/// The widths that `pack_words` takes.
const NARROW: u32 = 16;

/// Constants of packing narrow values: 64-bit lanes of four values, eight of them one behind the other.
#[derive(Clone, Copy)]
struct PackNarrow {
    even: Lanes<u8, 64>,
    odd: Lanes<u8, 64>,
    ahead: Lanes<u64, 8>,
    even_mask: u64,
    odd_mask: u64,
}

/// Eight times four values lie in the 64-bit lanes in their order, or, if `interleaved`, 0 … 3 in the even lanes and 4
/// … 7 in the odd ones.
const fn pack_narrow_table(interleaved: bool) -> [PackNarrow; NARROW as usize + 1] {
    let mut table =
        [PackNarrow { even: Lanes([0; 64]), odd: Lanes([0; 64]), ahead: Lanes([0; 8]), even_mask: 0, odd_mask: 0 };
            NARROW as usize + 1];
    let mut n = 1;
    while n <= NARROW as usize {
        let row = &mut table[n];
        let mut k = 0;
        while k < 8 {
            let lane = if interleaved { 2 * (k % 4) + k / 4 } else { k };
            let ahead = 4 * n * k % 8;
            row.ahead.0[lane] = ahead as u64;
            let start = 4 * n * k / 8;
            let mut i = 0;
            while 8 * i < 4 * n + ahead {
                let from = (8 * lane + i) as u8;
                if k % 2 == 0 {
                    row.even.0[start + i] = from;
                    row.even_mask |= 1 << (start + i);
                } else {
                    row.odd.0[start + i] = from;
                    row.odd_mask |= 1 << (start + i);
                }
                i += 1;
            }
            k += 1;
        }
        n += 1;
    }
    table
}

/// For words that `_mm512_packus_epi32` made.
static PACK_NARROW: [PackNarrow; NARROW as usize + 1] = pack_narrow_table(true);
/// For words in their order.
static PACK_WORDS: [PackNarrow; NARROW as usize + 1] = pack_narrow_table(false);

/// Constants of packing the values of a vector: which of them a word of the result is made of, and how they are
/// shifted.
macro_rules! wide_table {
    ($row:ident, $table:ident, $made:ident, $w:ty, $lanes:literal) => {
        #[derive(Clone, Copy)]
        struct $row {
            first: Lanes<$w, $lanes>,
            right: Lanes<$w, $lanes>,
            left: Lanes<$w, $lanes>,
            left2: Lanes<$w, $lanes>,
        }

        const fn $made() -> [$row; <$w>::BITS as usize + 1] {
            let zero = Lanes([0; $lanes]);
            let bits = <$w>::BITS as usize;
            let mut table = [$row { first: zero, right: zero, left: zero, left2: zero }; <$w>::BITS as usize + 1];
            // Of fewer bits a word could be made of more than three values.
            let mut n = bits / 2 + 1;
            while n <= bits {
                let mut t = 0;
                while t < $lanes {
                    let first = bits * t / n;
                    let skip = bits * t - first * n;
                    table[n].first.0[t] = first as $w;
                    table[n].right.0[t] = skip as $w;
                    // Values beyond the last one do not exist; a shift by all bits leaves nothing of the lane that
                    // stands in for them.
                    table[n].left.0[t] = if first + 1 < $lanes { n - skip } else { bits } as $w;
                    table[n].left2.0[t] = if first + 2 < $lanes { 2 * n - skip } else { bits } as $w;
                    t += 1;
                }
                n += 1;
            }
            table
        }

        /// By the width, which is more than half of a word's.
        static $table: [$row; <$w>::BITS as usize + 1] = $made();
    };
}

wide_table!(Pack32, PACK32, pack32_table, u32, 16);
wide_table!(Pack64, PACK64, pack64_table, u64, 8);

/// 64 bytes from anywhere.
///
/// # Safety
/// The processor has the level's features; 64 bytes at `from` are readable.
#[inline(always)]
unsafe fn load<T>(from: *const T) -> __m512i {
    // SAFETY: as the caller promises.
    unsafe { _mm512_loadu_si512(from.cast()) }
}

/// The low halves of 16 words.
///
/// # Safety
/// The processor has the level's features; 16 words at `from` are readable.
#[inline(always)]
unsafe fn load_low_halves(from: *const u64) -> __m512i {
    // SAFETY: as the caller promises.
    unsafe { _mm512_permutex2var_epi32(load(from), LOW_HALVES.load(), load(from.add(8))) }
}

/// Packs 16 values, of which `keep` are the bits that count, more than 16, into `out`.
///
/// # Safety
/// The processor has the level's features; 64 bytes at `out` are writable.
#[inline(always)]
unsafe fn pack_wide(v: __m512i, keep: __m512i, row: &Pack32, out: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        let v = _mm512_and_si512(v, keep);
        let (one, first) = (_mm512_set1_epi32(1), row.first.load());
        let second = _mm512_add_epi32(first, one);
        let third = _mm512_add_epi32(second, one);
        let a = right32(_mm512_permutexvar_epi32(first, v), row.right.load());
        let b = left32(_mm512_permutexvar_epi32(second, v), row.left.load());
        let c = left32(_mm512_permutexvar_epi32(third, v), row.left2.load());
        _mm512_storeu_si512(out.cast(), _mm512_ternarylogic_epi32::<0xFE>(a, b, c));
    }
}

/// Packs the 32 values in `low` and `high` of `n` ≤ `NARROW` bits into `out`.
///
/// # Safety
/// The processor has the level's features; 64 bytes at `out` are writable.
#[inline(always)]
unsafe fn pack_narrow(low: __m512i, high: __m512i, n: u32, row: &PackNarrow, out: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        let keep = _mm512_set1_epi32((1 << n) - 1);
        let words = _mm512_packus_epi32(_mm512_and_si512(low, keep), _mm512_and_si512(high, keep));
        pack_words(words, n, row, out);
    }
}

/// Packs 32 `words` of `n` ≤ `NARROW` bits and no more into `out`.
///
/// # Safety
/// The processor has the level's features; 64 bytes at `out` are writable.
#[inline(always)]
unsafe fn pack_words(words: __m512i, n: u32, row: &PackNarrow, out: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        // By a signed product, as far as that goes.
        let pairs = if n <= 14 {
            _mm512_madd_epi16(words, _mm512_set1_epi32(1 | 1 << (16 + n)))
        } else {
            let high = right32(words, _mm512_set1_epi32(16 - n as i32));
            // Bit by bit: the low word where the mask is set, the high one, moved down to n, elsewhere.
            _mm512_ternarylogic_epi32::<0xD8>(high, words, _mm512_set1_epi32((1 << n) - 1))
        };
        let shifted = right64(pairs, _mm512_set1_epi64(32 - 2 * i64::from(n)));
        // Bit by bit: the low pair where `keep` is set, the high one, moved down to 2n, elsewhere.
        let keep = _mm512_set1_epi64((1i64 << (2 * n)) - 1);
        let fours = left64(_mm512_ternarylogic_epi64::<0xD8>(shifted, pairs, keep), row.ahead.load());
        let bytes = _mm512_or_si512(
            _mm512_maskz_permutexvar_epi8(row.even_mask, row.even.load(), fours),
            _mm512_maskz_permutexvar_epi8(row.odd_mask, row.odd.load(), fours),
        );
        _mm512_storeu_si512(out.cast(), bytes);
    }
}

/// Packs the values of `n` ≤ 16 bits, a multiple of 32, at the start of `out`.
#[inline(always)]
pub fn pack16(_: Avx512, codes: &[u16], n: u32, out: &mut [u8]) {
    let vectors = codes.len() / 32;
    room(4 * vectors * n as usize, out);
    let row = &PACK_WORDS[n as usize];
    // SAFETY: the processor has the level, as the token says; 32 codes are read at a time, and 64 bytes from 4n·i on
    // are in `out`.
    unsafe {
        let keep = _mm512_set1_epi16(((1u32 << n) - 1) as i16);
        for i in 0..vectors {
            let words = _mm512_and_si512(load(codes.as_ptr().add(32 * i)), keep);
            pack_words(words, n, row, out.as_mut_ptr().add(4 * n as usize * i));
        }
    }
}

/// Packs bytes of `n` ≤ 8 bits, a multiple of 32, at the start of `out`.
#[inline(always)]
pub fn pack8(_: Avx512, codes: &[u8], n: u32, out: &mut [u8]) {
    let vectors = codes.len() / 32;
    room(4 * vectors * n as usize, out);
    let row = &PACK_WORDS[n as usize];
    // SAFETY: the processor has the level, as the token says; 32 bytes are read and widened at a time.
    unsafe {
        let keep = _mm512_set1_epi16((1 << n) - 1);
        for i in 0..vectors {
            let words = _mm512_cvtepu8_epi16(_mm256_loadu_si256(codes.as_ptr().add(32 * i).cast()));
            pack_words(_mm512_and_si512(words, keep), n, row, out.as_mut_ptr().add(4 * n as usize * i));
        }
    }
}

/// Packs values of `n` ≤ 32 bits, a multiple of 32, at the start of `out`.
#[inline(always)]
pub fn pack32(_: Avx512, codes: &[u32], n: u32, out: &mut [u8]) {
    let vectors = codes.len() / 16;
    room(2 * vectors * n as usize, out);
    let (codes, out) = (codes.as_ptr(), out.as_mut_ptr());
    // SAFETY: the processor has the level, as the token says; 16 codes are read at a time, and 64 bytes from 2n·i on
    // are in `out`.
    unsafe {
        if n <= NARROW {
            let row = &PACK_NARROW[n as usize];
            for i in 0..vectors / 2 {
                let at = codes.add(32 * i);
                pack_narrow(load(at), load(at.add(16)), n, row, out.add(4 * n as usize * i));
            }
            return;
        }
        let (row, keep) = (&PACK32[n as usize], _mm512_set1_epi32((u32::MAX >> (32 - n)) as i32));
        for i in 0..vectors {
            pack_wide(load(codes.add(16 * i)), keep, row, out.add(2 * n as usize * i));
        }
    }
}

/// Packs values of `n` ≤ 64 bits, a multiple of 32, at the start of `out`.
#[inline(always)]
pub fn pack64(_: Avx512, codes: &[u64], n: u32, out: &mut [u8]) {
    let vectors = codes.len() / 8;
    room(vectors * n as usize, out);
    let codes = codes.as_ptr();
    if n <= 32 {
        // SAFETY: the processor has the level, as the token says; 16 codes are read, and their low halves brought
        // together, at a time; 64 bytes from 2n·i on are in `out`.
        unsafe {
            let out = out.as_mut_ptr();
            if n <= NARROW {
                let row = &PACK_NARROW[n as usize];
                for i in 0..vectors / 4 {
                    let at = codes.add(32 * i);
                    pack_narrow(load_low_halves(at), load_low_halves(at.add(16)), n, row, out.add(4 * n as usize * i));
                }
                return;
            }
            let (row, keep) = (&PACK32[n as usize], _mm512_set1_epi32((u32::MAX >> (32 - n)) as i32));
            for i in 0..vectors / 2 {
                pack_wide(load_low_halves(codes.add(16 * i)), keep, row, out.add(2 * n as usize * i));
            }
        }
        return;
    }
    let row = &PACK64[n as usize];
    // SAFETY: the processor has the level, as the token says; eight values are read, and 64 bytes from n·i on are in
    // `out`.
    unsafe {
        let one = _mm512_set1_epi64(1);
        let low = _mm512_set1_epi64((u64::MAX >> (64 - n)) as i64);
        let first = row.first.load();
        let second = _mm512_add_epi64(first, one);
        let third = _mm512_add_epi64(second, one);
        for i in 0..vectors {
            let v = _mm512_and_si512(_mm512_loadu_si512(codes.add(8 * i).cast()), low);
            let a = right64(_mm512_permutexvar_epi64(first, v), row.right.load());
            let b = left64(_mm512_permutexvar_epi64(second, v), row.left.load());
            let c = left64(_mm512_permutexvar_epi64(third, v), row.left2.load());
            let words = _mm512_or_si512(_mm512_or_si512(a, b), c);
            _mm512_storeu_si512(out.as_mut_ptr().add(n as usize * i).cast(), words);
        }
    }
}
