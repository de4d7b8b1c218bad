//! Packing, by byte permutes and variable shifts. Only code compiled for `Level::Avx512` may call any of it: that makes the intrinsics
//! sound.
//!
//! Packing 32-bit lanes: pairs become 2n bits in a 64-bit lane, pairs of pairs 4n bits in a 128-bit lane (pre-shifted by four bits
//! where n is odd and the lane odd, so that every lane's string starts at a bit that is right within its byte), and two permutes
//! put the bytes of even and odd lanes in place. 64-bit lanes of more than 32 bits: output word t is made of at most three values.

use std::arch::x86_64::*;

use super::avx512::{Lanes, left64, right64, room};

/// Of two vectors the low halves of the 64-bit lanes.
const LOW_HALVES: Lanes<u32, 16> = Lanes([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]);

/// Constants of packing 32-bit lanes.
#[derive(Clone, Copy)]
pub struct Pack32 {
    even: Lanes<u8, 64>,
    odd: Lanes<u8, 64>,
    own_left: Lanes<u64, 8>,
    swapped_left: Lanes<u64, 8>,
    own_right: Lanes<u64, 8>,
    swapped_right: Lanes<u64, 8>,
    even_mask: u64,
    odd_mask: u64,
}

const fn pack32_table() -> [Pack32; 33] {
    let off = Lanes([64; 8]);
    let mut table = [Pack32 {
        even: Lanes([0; 64]),
        odd: Lanes([0; 64]),
        own_left: Lanes([0; 8]),
        swapped_left: off,
        own_right: off,
        swapped_right: off,
        even_mask: 0,
        odd_mask: 0,
    }; 33];
    let mut n = 1;
    while n <= 32 {
        let row = &mut table[n];
        let pair = 2 * n as u64;
        let mut lane = 0;
        while lane < 4 {
            let ahead = if lane % 2 == 1 && n % 2 == 1 { 4 } else { 0 };
            // Low word: own pair ahead by 0 or 4 bits, the other pair behind it; high word: what is left of both.
            row.own_left.0[2 * lane] = ahead;
            row.own_left.0[2 * lane + 1] = 64;
            row.swapped_left.0[2 * lane] = pair + ahead;
            if pair + ahead <= 64 {
                row.own_right.0[2 * lane + 1] = 64 - pair - ahead;
            } else {
                row.own_left.0[2 * lane + 1] = pair + ahead - 64;
            }
            row.swapped_right.0[2 * lane + 1] = 64 - ahead;
            let start = 4 * n * lane / 8;
            let len = (4 * n + ahead as usize).div_ceil(8);
            let mut k = 0;
            while k < len && start + k < 64 {
                let from = (16 * lane + k) as u8;
                if lane % 2 == 0 {
                    row.even.0[start + k] = from;
                    row.even_mask |= 1 << (start + k);
                } else {
                    row.odd.0[start + k] = from;
                    row.odd_mask |= 1 << (start + k);
                }
                k += 1;
            }
            lane += 1;
        }
        n += 1;
    }
    table
}

/// By the width.
pub static PACK32: [Pack32; 33] = pack32_table();

/// The widths that `pack_narrow` takes: two values fit a signed product of 16-bit words.
const NARROW: u32 = 14;

/// Constants of packing narrow values: 64-bit lanes of four values, eight of them one behind the other.
#[derive(Clone, Copy)]
struct PackNarrow {
    even: Lanes<u8, 64>,
    odd: Lanes<u8, 64>,
    ahead: Lanes<u64, 8>,
    even_mask: u64,
    odd_mask: u64,
}

/// Eight times four values lie in the 64-bit lanes in their order, or, if `interleaved`, 0 … 3 in the even lanes and 4 … 7 in the odd ones.
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

/// Constants of packing 64-bit lanes of 33 to 64 bits: which values word t is made of, and how they are shifted.
#[derive(Clone, Copy)]
struct Pack64 {
    first: Lanes<u64, 8>,
    right: Lanes<u64, 8>,
    left: Lanes<u64, 8>,
    left2: Lanes<u64, 8>,
}

const fn pack64_table() -> [Pack64; 65] {
    let zero = Lanes([0; 8]);
    let mut table = [Pack64 { first: zero, right: zero, left: zero, left2: zero }; 65];
    let mut n = 33;
    while n <= 64 {
        let mut t = 0;
        while t < 8 {
            let first = (64 * t / n) as u64;
            let skip = 64 * t as u64 - first * n as u64;
            table[n].first.0[t] = first;
            table[n].right.0[t] = skip;
            // Values beyond the eighth do not exist; a shift by 64 leaves nothing of the lane that stands in for them.
            table[n].left.0[t] = if first + 1 < 8 { n as u64 - skip } else { 64 };
            table[n].left2.0[t] = if first + 2 < 8 { 2 * n as u64 - skip } else { 64 };
            t += 1;
        }
        n += 1;
    }
    table
}

static PACK64: [Pack64; 65] = pack64_table();

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

/// Packs 16 values of `n` ≤ 32 bits a call into `out`.
///
/// # Safety
/// The processor has the level's features; 64 bytes at `out` are writable.
#[inline(always)]
pub unsafe fn pack32(v: __m512i, n: u32, row: &Pack32, out: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        let v = _mm512_and_si512(v, _mm512_set1_epi32((u32::MAX >> (32 - n)) as i32));
        let keep = _mm512_set1_epi64(((1u64 << n) - 1) as i64);
        let shifted = _mm512_srl_epi64(v, _mm_cvtsi32_si128(32 - n as i32));
        // Bit by bit: the low value where `keep` is set, the high one, moved down to n, elsewhere.
        let pairs = _mm512_ternarylogic_epi64::<0xD8>(shifted, v, keep);
        let swapped = _mm512_permutex_epi64::<0b10_11_00_01>(pairs);
        let left = _mm512_or_si512(left64(pairs, row.own_left.load()), left64(swapped, row.swapped_left.load()));
        let right = _mm512_or_si512(right64(pairs, row.own_right.load()), right64(swapped, row.swapped_right.load()));
        let strings = _mm512_or_si512(left, right);
        let bytes = _mm512_or_si512(
            _mm512_maskz_permutexvar_epi8(row.even_mask, row.even.load(), strings),
            _mm512_maskz_permutexvar_epi8(row.odd_mask, row.odd.load(), strings),
        );
        _mm512_storeu_si512(out.cast(), bytes);
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

/// Packs 32 `words` of `n` ≤ `NARROW` bits and no more into `out`: pairs by a product, pairs of pairs by a shift, and these by bytes.
///
/// # Safety
/// The processor has the level's features; 64 bytes at `out` are writable.
#[inline(always)]
unsafe fn pack_words(words: __m512i, n: u32, row: &PackNarrow, out: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        let pairs = _mm512_madd_epi16(words, _mm512_set1_epi32(1 | 1 << (16 + n)));
        let shifted = _mm512_srl_epi64(pairs, _mm_cvtsi32_si128(32 - 2 * n as i32));
        // Bit by bit: the low pair where `keep` is set, the high one, moved down to 2n, elsewhere.
        let keep = _mm512_set1_epi64((1 << (2 * n)) - 1);
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
pub fn pack32s(codes: &[u16], n: u32, out: &mut [u8]) {
    let vectors = codes.len() / 32;
    room(4 * vectors * n as usize, out);
    let (codes, out) = (codes.as_ptr(), out.as_mut_ptr());
    // SAFETY: only code of this level calls this; 32 codes are read, or 16 and widened, and 64 bytes from 2n·i on are in `out`.
    unsafe {
        if n <= NARROW {
            let row = &PACK_WORDS[n as usize];
            let keep = _mm512_set1_epi16((1 << n) - 1);
            for i in 0..vectors {
                pack_words(_mm512_and_si512(load(codes.add(32 * i)), keep), n, row, out.add(4 * n as usize * i));
            }
            return;
        }
        let row = &PACK32[n as usize];
        for i in 0..2 * vectors {
            let v = _mm512_cvtepu16_epi32(_mm256_loadu_si256(codes.add(16 * i).cast()));
            pack32(v, n, row, out.add(2 * n as usize * i));
        }
    }
}

/// Packs `VECTORS` (an even number) times 16 values of `n` ≤ 32 bits, the first of `codes`, at the start of `out`.
#[inline(always)]
pub fn pack16s<const VECTORS: usize>(codes: &[u32], n: u32, out: &mut [u8]) {
    assert!(codes.len() >= 16 * VECTORS);
    room(2 * VECTORS * n as usize, out);
    let (codes, out) = (codes.as_ptr(), out.as_mut_ptr());
    // SAFETY: only code of this level calls this; 16 codes are read at a time, and 64 bytes from 2n·i on are in `out`.
    unsafe {
        if n <= NARROW {
            let row = &PACK_NARROW[n as usize];
            for i in 0..VECTORS / 2 {
                let at = codes.add(32 * i);
                pack_narrow(load(at), load(at.add(16)), n, row, out.add(4 * n as usize * i));
            }
            return;
        }
        let row = &PACK32[n as usize];
        for i in 0..VECTORS {
            pack32(load(codes.add(16 * i)), n, row, out.add(2 * n as usize * i));
        }
    }
}

/// Packs `VECTORS` (a multiple of four) times eight values of `n` ≤ 64 bits, the first of `codes`, at the start of `out`.
#[inline(always)]
pub fn pack64<const VECTORS: usize>(codes: &[u64], n: u32, out: &mut [u8]) {
    assert!(codes.len() >= 8 * VECTORS);
    room(VECTORS * n as usize, out);
    let codes = codes.as_ptr();
    if n <= 32 {
        // SAFETY: only code of this level calls this; 16 codes are read, and their low halves brought together, at a time; 64 bytes from
        // 2n·i on are in `out`.
        unsafe {
            let out = out.as_mut_ptr();
            if n <= NARROW {
                let row = &PACK_NARROW[n as usize];
                for i in 0..VECTORS / 4 {
                    let at = codes.add(32 * i);
                    pack_narrow(load_low_halves(at), load_low_halves(at.add(16)), n, row, out.add(4 * n as usize * i));
                }
                return;
            }
            let row = &PACK32[n as usize];
            for i in 0..VECTORS / 2 {
                pack32(load_low_halves(codes.add(16 * i)), n, row, out.add(2 * n as usize * i));
            }
        }
        return;
    }
    let row = &PACK64[n as usize];
    // SAFETY: as above; eight values are read, and 64 bytes from n·i on are in `out`.
    unsafe {
        let one = _mm512_set1_epi64(1);
        let low = _mm512_set1_epi64((u64::MAX >> (64 - n)) as i64);
        let first = row.first.load();
        let second = _mm512_add_epi64(first, one);
        let third = _mm512_add_epi64(second, one);
        for i in 0..VECTORS {
            let v = _mm512_and_si512(_mm512_loadu_si512(codes.add(8 * i).cast()), low);
            let a = right64(_mm512_permutexvar_epi64(first, v), row.right.load());
            let b = left64(_mm512_permutexvar_epi64(second, v), row.left.load());
            let c = left64(_mm512_permutexvar_epi64(third, v), row.left2.load());
            let words = _mm512_or_si512(_mm512_or_si512(a, b), c);
            _mm512_storeu_si512(out.as_mut_ptr().add(n as usize * i).cast(), words);
        }
    }
}
