//! Packed words for NEON.
//!
//! Unpacking: eight values take n bytes; a lookup brings to each lane the bytes that its value begins in, a shift by
//! (position mod 8) aligns them. Where a value may reach into one byte more than a lane has, the same lookup of the
//! bytes one lane further on gives the rest.
//!
//! Packing: neighbours are joined to strings of at most 64 bits, and each string goes to memory from the byte that it
//! begins in, with the last bits of the string before it; what it leaves behind its end the next one overwrites.

use std::arch::aarch64::*;

use crate::exec::Neon;
use crate::simd::bits::{BitVectors, InMemory, MASKED, MOST, begins, put_each, room};
use crate::simd::word::Word;

/// Constants of unpacking eight values of n bits: the bytes that each lane takes of those of its vector, and minus the
/// first bit there, which is a shift to the right.
#[derive(Clone, Copy)]
struct Unpack<S, const BYTES: usize> {
    bytes: [u8; BYTES],
    shift: [S; 8],
}

/// Joins neighbours of `bits` bits.
#[inline(always)]
fn join<const N: usize, const HALF: usize>(x: &[u64; N], bits: u32) -> [u64; HALF] {
    const { assert!(N == 2 * HALF) };
    std::array::from_fn(|i| x[2 * i] | x[2 * i + 1] << bits)
}

/// Stores strings of 32 ≤ `bits` ≤ 64 bits, one behind the other.
#[inline(always)]
fn put_strings(strings: &[u64], bits: u32, out: &mut [u8]) {
    let mut before = 0;
    for (k, string) in strings.iter().enumerate() {
        let at = k * bits as usize;
        let shift = (at % 8) as u32;
        // Nothing is left of the string before it where this one begins with a byte.
        let word = string << shift | before >> (bits - shift - 1) >> 1;
        out[at / 8..at / 8 + 8].copy_from_slice(&word.to_le_bytes());
        before = *string;
    }
}

/// Packs the low `n` bits of 32 values at the start of `out`, behind which eight bytes more are writable.
#[inline(always)]
fn pack<W: Word>(codes: &[W; 32], n: u32, out: &mut [u8]) {
    let low = u64::MAX >> (64 - n);
    let all: [u64; 32] = std::array::from_fn(|i| codes[i].to_u64() & low);
    if n > 32 {
        return put_strings(&all, n, out);
    }
    let pairs: [u64; 16] = join(&all, n);
    if n > 16 {
        return put_strings(&pairs, 2 * n, out);
    }
    let fours: [u64; 8] = join(&pairs, 2 * n);
    if n > 8 {
        return put_strings(&fours, 4 * n, out);
    }
    let eights: [u64; 4] = join(&fours, 4 * n);
    for (i, eight) in eights.iter().enumerate() {
        out[n as usize * i..n as usize * i + 8].copy_from_slice(&eight.to_le_bytes());
    }
}

/// A bit for each of 64 bytes: whether it is all ones; the others are zero.
#[inline]
#[target_feature(enable = "neon")]
fn mask_of(bytes: [uint8x16_t; 4]) -> u64 {
    let bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
    let [a, b, c, d] = bytes.map(|v| vandq_u8(v, bit));
    let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
}

/// Which of the 16 codes have more than `width` bits, a byte of ones each.
///
/// # Safety
/// 16 codes are readable at `codes`.
#[inline(always)]
unsafe fn wide16(codes: *const u16, width: u32) -> uint8x16_t {
    // SAFETY: as the caller promises.
    unsafe {
        let (shift, of) = (vdupq_n_s16(-(width as i16)), |i: usize| vld1q_u16(codes.add(8 * i)));
        let wide = |i| {
            let high = vshlq_u16(of(i), shift);
            vreinterpretq_u8_u16(vtstq_u16(high, high))
        };
        vuzp1q_u8(wide(0), wide(1))
    }
}

/// The same of words of 32 bits.
///
/// # Safety
/// 16 codes are readable at `codes`.
#[inline(always)]
unsafe fn wide32(codes: *const u32, width: u32) -> uint8x16_t {
    // SAFETY: as the caller promises.
    unsafe {
        let shift = vdupq_n_s32(-(width as i32));
        let wide = |i: usize| {
            let high = vshlq_u32(vld1q_u32(codes.add(4 * i)), shift);
            vreinterpretq_u16_u32(vtstq_u32(high, high))
        };
        let eight = |i| vreinterpretq_u8_u16(vuzp1q_u16(wide(i), wide(i + 1)));
        vuzp1q_u8(eight(0), eight(2))
    }
}

/// The same of words of 64 bits.
///
/// # Safety
/// 16 codes are readable at `codes`.
#[inline(always)]
unsafe fn wide64(codes: *const u64, width: u32) -> uint8x16_t {
    // SAFETY: as the caller promises.
    unsafe {
        let shift = vdupq_n_s64(-i64::from(width));
        let wide = |i: usize| {
            let high = vshlq_u64(vld1q_u64(codes.add(2 * i)), shift);
            vreinterpretq_u32_u64(vtstq_u64(high, high))
        };
        let four = |i| vreinterpretq_u16_u32(vuzp1q_u32(wide(i), wide(i + 1)));
        let eight = |i| vreinterpretq_u8_u16(vuzp1q_u16(four(i), four(i + 2)));
        vuzp1q_u8(eight(0), eight(4))
    }
}

/// The widths of each fourth of 32 words.
#[inline]
#[target_feature(enable = "neon")]
fn widths16(words: &[u16; 32]) -> uint8x8_t {
    // SAFETY: they are 32.
    let sampled = unsafe { vld4q_u16(words.as_ptr()).3 };
    vmovn_u16(vsubq_u16(vdupq_n_u16(16), vclzq_u16(sampled)))
}

#[inline]
#[target_feature(enable = "neon")]
fn widths32(words: &[u32; 32]) -> uint8x8_t {
    let width = |i: usize| {
        // SAFETY: twice 16 of 32.
        let sampled = unsafe { vld4q_u32(words.as_ptr().add(16 * i)).3 };
        vmovn_u32(vsubq_u32(vdupq_n_u32(32), vclzq_u32(sampled)))
    };
    vmovn_u16(vcombine_u16(width(0), width(1)))
}

#[inline]
#[target_feature(enable = "neon")]
fn widths64(words: &[u64; 32]) -> uint8x8_t {
    let widths: [u8; 8] = std::array::from_fn(|i| words[4 * i + 3].width() as u8);
    // SAFETY: eight bytes.
    unsafe { vld1_u8(widths.as_ptr()) }
}

macro_rules! bits {
    ($w:ty, $signed:ty, $table:ident, $within:literal, $lanes:literal, $wide:ident, $widths:ident,
     $load_signed:ident, $dup_signed:ident, $add_signed:ident, $shl:ident, $dup:ident, $from:ident, $and:ident,
     $or:ident, $store:ident) => {
        static $table: [Unpack<$signed, { <$w>::BITS as usize }>; <$w>::BITS as usize + 1] = {
            let mut table = [Unpack { bytes: [0; _], shift: [0; 8] }; <$w>::BITS as usize + 1];
            let mut n = 1;
            while n < table.len() {
                table[n].bytes = begins(n, size_of::<$w>(), 16);
                let mut i = 0;
                while i < 8 {
                    table[n].shift[i] = -((i * n % 8) as $signed);
                    i += 1;
                }
                n += 1;
            }
            table
        };

        impl BitVectors<$w> for Neon {
            const UNPACKED: usize = 8;
            const WITHIN: u32 = $within;
            type Parts = InMemory<$w, MOST>;

            #[inline(always)]
            fn unpack_parts(self, packed: &[u8], count: usize, n: u32, width: u32, parts: &mut Self::Parts) {
                parts.unpack_each(packed, count, n, width);
            }

            #[inline(always)]
            fn put(self, words: &mut [$w; MASKED], set: u64, parts: &InMemory<$w, MOST>, at: usize) {
                put_each(words, set, parts, at);
            }

            // Bytes that a lookup does not find are zero, and then shifted out.
            #[inline(always)]
            unsafe fn unpack<const WITHIN: bool>(self, packed: &[u8], at: usize, n: u32, to: *mut $w) {
                const BITS: u32 = <$w>::BITS;
                let row = &$table[n as usize];
                for v in (0..8).step_by($lanes) {
                    // SAFETY: n + 24 bytes from byte `at` and eight words; a vector starts before byte n.
                    unsafe {
                        let packed = packed.as_ptr().add(at + v * n as usize / 8);
                        let bytes = vld1q_u8(row.bytes.as_ptr().add(v * size_of::<$w>()));
                        let shift = $load_signed(row.shift.as_ptr().add(v));
                        let mut values = $shl($from(vqtbl1q_u8(vld1q_u8(packed), bytes)), shift);
                        if !WITHIN {
                            let rest = $from(vqtbl1q_u8(vld1q_u8(packed.add(size_of::<$w>())), bytes));
                            values = $or(values, $shl(rest, $add_signed(shift, $dup_signed(BITS as $signed))));
                        }
                        $store(to.add(v), $and(values, $dup(<$w>::MAX >> (BITS - n))));
                    }
                }
            }

            #[inline(always)]
            fn pack(self, words: &[$w], n: u32, out: &mut [u8]) {
                room(words.len() * n as usize / 8, out);
                for (i, words) in words.as_chunks::<32>().0.iter().enumerate() {
                    pack(words, n, &mut out[4 * n as usize * i..]);
                }
            }

            #[inline(always)]
            fn wider(self, words: &[$w; MASKED], width: u32) -> u64 {
                // SAFETY: every processor of this architecture has NEON; four times 16 of 64 words.
                unsafe { mask_of(std::array::from_fn(|i| $wide(words.as_ptr().add(16 * i), width))) }
            }

            #[inline(always)]
            fn sampled_widths(self, words: &[$w], widths: &mut [u8]) {
                for (widths, words) in widths.as_chunks_mut::<8>().0.iter_mut().zip(words.as_chunks::<32>().0) {
                    // SAFETY: every processor of this architecture has NEON; eight widths are stored.
                    unsafe { vst1_u8(widths.as_mut_ptr(), $widths(words)) };
                }
            }
        }
    };
}

bits!(
    u16,
    i16,
    UNPACK16,
    10,
    8,
    wide16,
    widths16,
    vld1q_s16,
    vdupq_n_s16,
    vaddq_s16,
    vshlq_u16,
    vdupq_n_u16,
    vreinterpretq_u16_u8,
    vandq_u16,
    vorrq_u16,
    vst1q_u16
);
bits!(
    u32,
    i32,
    UNPACK32,
    25,
    4,
    wide32,
    widths32,
    vld1q_s32,
    vdupq_n_s32,
    vaddq_s32,
    vshlq_u32,
    vdupq_n_u32,
    vreinterpretq_u32_u8,
    vandq_u32,
    vorrq_u32,
    vst1q_u32
);
bits!(
    u64,
    i64,
    UNPACK64,
    57,
    2,
    wide64,
    widths64,
    vld1q_s64,
    vdupq_n_s64,
    vaddq_s64,
    vshlq_u64,
    vdupq_n_u64,
    vreinterpretq_u64_u8,
    vandq_u64,
    vorrq_u64,
    vst1q_u64
);
