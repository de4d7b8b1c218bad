//! NEON, which every AArch64 processor has: bytes move by table lookups, bits by variable shifts.
//!
//! Unpacking: eight values take n bytes; a lookup brings to each lane the bytes that its value begins in, a shift by
//! (position mod 8) aligns them. Where a value may reach into one byte more than a lane has, the same lookup of the
//! bytes one lane further on gives the rest.
//!
//! Packing: neighbours are joined to strings of at most 64 bits, and each string goes to memory from the byte that it
//! begins in, with the last bits of the string before it; what it leaves behind its end the next one overwrites.

use std::arch::aarch64::*;

use super::{HIGHS, MaskBytes, Masks, Simd, SimdLevel, Transposed, listed, room};
use crate::codec::sleek::constants::{MAX_EXCEPTIONS, SAMPLE, SUBCHUNKS};
use crate::exec::Neon;
use crate::simd::word::Word;
use crate::simd::words::{self, sums_before, undo_differences};

/// Constants of unpacking eight values of n bits, vector by vector (V of them with L lanes): where each vector's bytes
/// begin, the bytes that each lane takes of them, and minus the first bit there, which is a shift to the right.
#[derive(Clone, Copy)]
struct Unpack<S, const V: usize, const L: usize> {
    start: [usize; V],
    bytes: [[u8; 16]; V],
    shift: [[S; L]; V],
}

macro_rules! unpack_table {
    ($name:ident, $shift:ty, $vectors:literal, $lanes:literal, $rows:literal) => {
        static $name: [Unpack<$shift, $vectors, $lanes>; $rows] = {
            let row = Unpack { start: [0; $vectors], bytes: [[0; 16]; $vectors], shift: [[0; $lanes]; $vectors] };
            let mut table = [row; $rows];
            let mut n = 1;
            while n < $rows {
                let mut i = 0;
                while i < 8 {
                    let (v, lane) = (i / $lanes, i % $lanes);
                    let start = v * $lanes * n / 8;
                    table[n].start[v] = start;
                    table[n].shift[v][lane] = -((i * n % 8) as $shift);
                    let mut k = 0;
                    while k < 16 / $lanes {
                        table[n].bytes[v][16 / $lanes * lane + k] = (i * n / 8 - start + k) as u8;
                        k += 1;
                    }
                    i += 1;
                }
                n += 1;
            }
            table
        };
    };
}

unpack_table!(UNPACK16, i16, 1, 8, 17);
unpack_table!(UNPACK32, i32, 2, 4, 33);
unpack_table!(UNPACK64, i64, 4, 2, 65);

/// Of the eight values of `n` bits that are packed at `packed`, those of vector `v`; `WIDE` where one may reach into a
/// byte more than a lane has. Bytes that a lookup does not find are zero, and then shifted out.
macro_rules! unpack_vector {
    (
        $name:ident, $table:ident, $bits:literal, $lane:ty, $shl:ident, $dup:ident, $load:ident, $signed:ident,
        $from:ident, $add:ident, $and:ident, $or:ident, $vector:ty
    ) => {
        /// # Safety
        /// n + 24 bytes at `packed` are readable.
        #[inline(always)]
        unsafe fn $name<const WIDE: bool>(packed: *const u8, n: u32, v: usize) -> $vector {
            let row = &$table[n as usize];
            // SAFETY: as the caller promises: a vector starts before byte n.
            unsafe {
                let (packed, bytes) = (packed.add(row.start[v]), vld1q_u8(row.bytes[v].as_ptr()));
                let shift = $load(row.shift[v].as_ptr());
                let mut values = $shl($from(vqtbl1q_u8(vld1q_u8(packed), bytes)), shift);
                if WIDE {
                    let rest = $from(vqtbl1q_u8(vld1q_u8(packed.add($bits / 8)), bytes));
                    values = $or(values, $shl(rest, $add(shift, $signed($bits))));
                }
                $and(values, $dup(<$lane>::MAX >> ($bits - n)))
            }
        }
    };
}

unpack_vector!(
    unpack16,
    UNPACK16,
    16,
    u16,
    vshlq_u16,
    vdupq_n_u16,
    vld1q_s16,
    vdupq_n_s16,
    vreinterpretq_u16_u8,
    vaddq_s16,
    vandq_u16,
    vorrq_u16,
    uint16x8_t
);
unpack_vector!(
    unpack32,
    UNPACK32,
    32,
    u32,
    vshlq_u32,
    vdupq_n_u32,
    vld1q_s32,
    vdupq_n_s32,
    vreinterpretq_u32_u8,
    vaddq_s32,
    vandq_u32,
    vorrq_u32,
    uint32x4_t
);
unpack_vector!(
    unpack64,
    UNPACK64,
    64,
    u64,
    vshlq_u64,
    vdupq_n_u64,
    vld1q_s64,
    vdupq_n_s64,
    vreinterpretq_u64_u8,
    vaddq_s64,
    vandq_u64,
    vorrq_u64,
    uint64x2_t
);

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

/// Packs the low `n` bits of 64 values at the start of `out`, behind which eight bytes more are writable.
#[inline(always)]
fn pack64<W: Word>(codes: &[W; 64], n: u32, out: &mut [u8]) {
    let low = u64::MAX >> (64 - n);
    let all: [u64; 64] = std::array::from_fn(|i| codes[i].to_u64() & low);
    if n > 32 {
        return put_strings(&all, n, out);
    }
    let pairs: [u64; 32] = join(&all, n);
    if n > 16 {
        return put_strings(&pairs, 2 * n, out);
    }
    let fours: [u64; 16] = join(&pairs, 2 * n);
    if n > 8 {
        return put_strings(&fours, 4 * n, out);
    }
    let eights: [u64; 8] = join(&fours, 4 * n);
    for (i, eight) in eights.iter().enumerate() {
        out[n as usize * i..n as usize * i + 8].copy_from_slice(&eight.to_le_bytes());
    }
}

/// See `Simd::pack`.
#[inline(always)]
fn pack<W: Word, const S: usize>(codes: &[W; S], n: u32, out: &mut [u8]) {
    const { assert!(S.is_multiple_of(64)) };
    room(S / 8 * n as usize, out);
    for (i, codes) in codes.as_chunks::<64>().0.iter().enumerate() {
        pack64(codes, n, &mut out[8 * n as usize * i..]);
    }
}

/// A bit for each of 64 bytes: whether it is all ones; the others are zero.
#[inline(always)]
fn mask_of(bytes: [uint8x16_t; 4]) -> u64 {
    // SAFETY: every processor of this architecture has NEON.
    unsafe {
        let bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
        let [a, b, c, d] = bytes.map(|v| vandq_u8(v, bit));
        let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
    }
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

macro_rules! extract_exceptions {
    ($name:ident, $w:ty, $wide:ident) => {
        /// See `Simd::extract_exceptions`.
        #[inline(always)]
        fn $name<const S: usize>(codes: &[$w; S], width: u32, highs: &mut [$w; HIGHS]) -> Masks {
            const { assert!(S.is_multiple_of(64) && HIGHS >= MAX_EXCEPTIONS) };
            let mut masks: Masks = [0; _];
            for (mask, codes) in masks.iter_mut().zip(codes.as_chunks::<64>().0) {
                // SAFETY: four times 16 of the 64 codes.
                *mask = mask_of(std::array::from_fn(|i| unsafe { $wide(codes.as_ptr().add(16 * i), width) }));
            }
            // A loop, since the compiler leaves `portable::positions` as functions of their own here.
            let mut count = 0;
            for (k, mask) in masks[..S / 64].iter().enumerate() {
                let mut rest = *mask;
                while rest != 0 && count < HIGHS {
                    highs[count] = codes[64 * k + rest.trailing_zeros() as usize] >> width;
                    count += 1;
                    rest &= rest - 1;
                }
            }
            masks
        }
    };
}

extract_exceptions!(exceptions16, u16, wide16);
extract_exceptions!(exceptions32, u32, wide32);
extract_exceptions!(exceptions64, u64, wide64);

impl SimdLevel for Neon {
    const PREFERS_SMALL: bool = true;

    /// Blocks of 16 × 16 numbers: a row of pairs of lines that are half of the block apart; four times that, and every
    /// line is where it belongs.
    #[inline(always)]
    fn transpose<const S: usize>(self, widths: &[[u8; S]; SUBCHUNKS], rows: &mut Transposed<S>) {
        const { assert!((S / SAMPLE).is_multiple_of(16) && SUBCHUNKS.is_multiple_of(16)) };
        for (first, block) in (0..SUBCHUNKS).step_by(16).flat_map(|s| (0..S / SAMPLE / 16).map(move |b| (s, 16 * b))) {
            // SAFETY: every processor of this architecture has NEON; 16 of a subchunk's S numbers are read at a time,
            // and half a row is stored.
            unsafe {
                let mut lines: [uint8x16_t; 16] =
                    std::array::from_fn(|s| vld1q_u8(widths[first + s][block..].as_ptr()));
                for _ in 0..4 {
                    let from = lines;
                    for i in 0..8 {
                        lines[2 * i] = vzip1q_u8(from[i], from[i + 8]);
                        lines[2 * i + 1] = vzip2q_u8(from[i], from[i + 8]);
                    }
                }
                for (row, line) in rows[block..].iter_mut().zip(lines) {
                    vst1q_u8(row[first..].as_mut_ptr(), line);
                }
            }
        }
    }

    #[inline(always)]
    fn expand(self, of: u32, list: &[u8]) -> [u8; SUBCHUNKS] {
        let (mut all, mut rest) = ([0; SUBCHUNKS], list);
        for (k, sixteen) in all.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let [low, high] = [(of >> (16 * k)) as u8, (of >> (16 * k + 8)) as u8];
            let first = next_eight(rest);
            rest = &rest[low.count_ones() as usize..];
            let second = next_eight(rest);
            rest = &rest[high.count_ones() as usize..];
            // SAFETY: every processor of this architecture has NEON; constants and a vector of 16 bytes.
            unsafe {
                let there = vtstq_u8(vcombine_u8(vdup_n_u8(low), vdup_n_u8(high)), vld1q_u8(OWN.as_ptr()));
                // Minus how many there are in an eight, up to each.
                let eights = vreinterpretq_u64_u8;
                let mut count = vaddq_u8(there, vreinterpretq_u8_u64(vshlq_n_u64::<8>(eights(there))));
                count = vaddq_u8(count, vreinterpretq_u8_u64(vshlq_n_u64::<16>(eights(count))));
                count = vaddq_u8(count, vreinterpretq_u8_u64(vshlq_n_u64::<32>(eights(count))));
                let place = vorrq_u8(vsubq_u8(there, count), vld1q_u8(UPPER.as_ptr()));
                let lists = vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(first), vcreate_u64(second)));
                vst1q_u8(sixteen.as_mut_ptr(), vandq_u8(vqtbl1q_u8(lists, place), there));
            }
        }
        all
    }

    #[inline(always)]
    fn running_sums(self, numbers: &[u16; SUBCHUNKS], start: u16) -> [u16; SUBCHUNKS] {
        sums_before(self, numbers, start)
    }

    #[inline(always)]
    fn flags(self, masks: &Masks) -> u32 {
        const { assert!(size_of::<Masks>() == 32) };
        // SAFETY: every processor of this architecture has NEON; the masks are two vectors.
        unsafe {
            let (own, masks) = (vld1q_u8(OWN.as_ptr()), masks.as_ptr().cast::<u8>());
            let bits = |at| {
                let bytes = vld1q_u8(masks.add(at));
                vandq_u8(vtstq_u8(bytes, bytes), own)
            };
            let pairs = vpaddq_u8(bits(0), bits(16));
            let fours = vpaddq_u8(pairs, pairs);
            vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vpaddq_u8(fours, fours)))
        }
    }

    #[inline(always)]
    fn compress<const S: usize>(self, masks: &Masks, flags: u32, out: &mut MaskBytes) {
        let mut at = 0;
        for (mask, flags) in masks.iter().take(S / 64).zip(flags.to_le_bytes()) {
            // SAFETY: every processor of this architecture has NEON; a row of a table is loaded.
            let bytes = unsafe {
                vget_lane_u64::<0>(vreinterpret_u64_u8(vtbl1_u8(
                    vcreate_u8(*mask),
                    vld1_u8(LISTED[flags as usize].as_ptr()),
                )))
            };
            out[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
            at += flags.count_ones() as usize;
        }
    }
}

/// See `listed`.
static LISTED: [[u8; 8]; 256] = listed();
/// The bit of each byte of two eights.
const OWN: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
/// Where a list begins whose bytes go to the second of two eights.
const UPPER: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8];

/// The next eight numbers of a list, fewer at its end.
#[inline(always)]
fn next_eight(list: &[u8]) -> u64 {
    match list.first_chunk() {
        Some(listed) => u64::from_le_bytes(*listed),
        None => list.iter().rev().fold(0, |all, n| all << 8 | u64::from(*n)),
    }
}

macro_rules! simd {
    (
        $w:ty, $s:tt, $bits:literal, $unpack:ident, $narrow:literal, $vectors:literal, $store:ident, $exceptions:ident
    ) => {
        #[inline(always)]
        fn pack(self, codes: &[$w; $s], n: u32, out: &mut [u8]) {
            pack(codes, n, out);
        }

        #[inline(always)]
        fn unpack(self, packed: &[u8], n: u32, codes: &mut [$w; $s]) {
            room($s / 8 * n as usize, packed);
            for (i, codes) in codes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                for (v, codes) in codes.as_chunks_mut::<{ 8 / $vectors }>().0.iter_mut().enumerate() {
                    // SAFETY: eight values from n·i bytes on are in `packed`, and the slack behind them.
                    unsafe {
                        let from = packed.as_ptr().add(n as usize * i);
                        let values =
                            if n <= $narrow { $unpack::<false>(from, n, v) } else { $unpack::<true>(from, n, v) };
                        $store(codes.as_mut_ptr(), values);
                    }
                }
            }
        }

        #[inline(always)]
        fn unpack_bases(self, packed: &[u8], n: u32, bases: &mut [$w; SUBCHUNKS]) {
            room(SUBCHUNKS / 8 * n as usize, packed);
            for (i, bases) in bases.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                for (v, bases) in bases.as_chunks_mut::<{ 8 / $vectors }>().0.iter_mut().enumerate() {
                    // SAFETY: eight values from n·i bytes on are in `packed`, and the slack behind them.
                    unsafe { $store(bases.as_mut_ptr(), $unpack::<true>(packed.as_ptr().add(n as usize * i), n, v)) };
                }
            }
        }

        #[inline(always)]
        fn zigzag_delta_decode(self, start: $w, second_difference: bool, codes: &mut [$w; $s]) {
            undo_differences::<$w, _, false>(self, start, second_difference, codes);
        }

        #[inline(always)]
        fn try_zigzag_delta_decode(self, second_difference: bool, codes: &mut [$w; $s]) -> bool {
            undo_differences::<$w, _, true>(self, 0, second_difference, codes)
        }

        #[inline(always)]
        fn width(self, codes: &[$w; $s]) -> u32 {
            words::width(self, codes)
        }

        #[inline(always)]
        fn extract_exceptions(self, codes: &[$w; $s], width: u32, highs: &mut [$w; HIGHS]) -> Masks {
            $exceptions(codes, width, highs)
        }
    };
}

impl<const S: usize> Simd<u16, S> for Neon {
    simd!(u16, S, 16, unpack16, 10, 1, vst1q_u16, exceptions16);

    #[inline(always)]
    fn widths(self, codes: &[u16; S], widths: &mut [u8; S]) {
        for (widths, codes) in widths.as_chunks_mut::<8>().0.iter_mut().zip(codes.as_chunks::<32>().0) {
            // SAFETY: 32 codes are read and eight widths stored.
            unsafe {
                let sampled = vld4q_u16(codes.as_ptr()).3;
                vst1_u8(widths.as_mut_ptr(), vmovn_u16(vsubq_u16(vdupq_n_u16(16), vclzq_u16(sampled))));
            }
        }
    }
}

impl Simd<u32, 128> for Neon {
    simd!(u32, 128, 32, unpack32, 25, 2, vst1q_u32, exceptions32);

    #[inline(always)]
    fn widths(self, codes: &[u32; 128], widths: &mut [u8; 128]) {
        for (widths, codes) in widths.as_chunks_mut::<8>().0.iter_mut().zip(codes.as_chunks::<32>().0) {
            // SAFETY: twice 16 codes are read and eight widths stored.
            unsafe {
                let width = |i: usize| {
                    let sampled = vld4q_u32(codes.as_ptr().add(16 * i)).3;
                    vmovn_u32(vsubq_u32(vdupq_n_u32(32), vclzq_u32(sampled)))
                };
                vst1_u8(widths.as_mut_ptr(), vmovn_u16(vcombine_u16(width(0), width(1))));
            }
        }
    }
}

impl Simd<u64, 64> for Neon {
    simd!(u64, 64, 64, unpack64, 57, 4, vst1q_u64, exceptions64);
}

impl<const S: usize> Simd<u8, S> for Neon {}
