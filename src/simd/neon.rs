//! NEON: eight registers have a number for each lane. Words go to states and come from them by a lookup of bytes for
//! each set of eight states, whose masks are narrowed to one register.

mod bits;
mod of_words;

use std::arch::aarch64::*;

use super::numbers::{CodeVectors, NumberVectors};
use crate::exec::Neon;

/// Registers that have the numbers of all lanes.
pub const REGISTERS: usize = 8;

/// For each set of eight states how many they are, and a lookup of 16 bytes.
#[repr(C, align(16))]
struct Sets {
    bytes: [[u8; 16]; 256],
    counts: [u8; 256],
}

/// For each state of a set the bytes of its word among those that follow; nothing for the others.
static EXPAND: Sets = sets(true);
/// The lower halves of the states of a set as words at the end.
static COMPRESS: Sets = sets(false);

const fn sets(expand: bool) -> Sets {
    // What a lookup does not find is zero.
    let mut all = Sets { bytes: [[255; 16]; 256], counts: [0; 256] };
    let mut set = 0usize;
    while set < 256 {
        let count = set.count_ones() as usize;
        all.counts[set] = count as u8;
        let (mut lane, mut at) = (0, if expand { 0 } else { 8 - count });
        while lane < 8 {
            if set >> lane & 1 == 1 {
                let (to, from) = if expand { (2 * lane, 2 * at) } else { (2 * at, 4 * lane) };
                all.bytes[set][to] = from as u8;
                all.bytes[set][to + 1] = from as u8 + 1;
                at += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    all
}

/// The states of two registers that masks tell: a bit each.
///
/// # Safety
/// None that an AArch64 processor does not meet.
#[inline(always)]
unsafe fn set_of(low: uint32x4_t, high: uint32x4_t) -> usize {
    static BITS: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: every processor of this architecture has NEON; eight numbers are loaded.
    unsafe {
        let both = vuzp1q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high));
        // Below 256 as it is; the compiler is to know too.
        vaddvq_u16(vandq_u16(both, vld1q_u16(BITS.as_ptr()))) as usize & 255
    }
}

impl NumberVectors for Neon {
    const N: usize = 4;
    type V = uint32x4_t;

    instructions! {
        fn splat(number: u32) -> uint32x4_t { vdupq_n_u32(number) }
        fn add(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vaddq_u32(a, b) }
        fn sub(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vsubq_u32(a, b) }
        fn mul(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vmulq_u32(a, b) }
        fn and(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vandq_u32(a, b) }
        fn or(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vorrq_u32(a, b) }
        fn xor(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { veorq_u32(a, b) }
        fn nearest(v: uint32x4_t, factor: f32) -> uint32x4_t {{
            let numbers = vcvtq_f32_s32(vreinterpretq_s32_u32(v));
            vreinterpretq_u32_s32(vcvtnq_s32_f32(vmulq_f32(numbers, vdupq_n_f32(factor))))
        }}
        fn unzip(a: uint32x4_t, b: uint32x4_t) -> [uint32x4_t; 2] { [vuzp1q_u32(a, b), vuzp2q_u32(a, b)] }
        fn zip(even: uint32x4_t, odd: uint32x4_t) -> [uint32x4_t; 2] { [vzip1q_u32(even, odd), vzip2q_u32(even, odd)] }
        fn shifted_in(before: uint32x4_t, v: uint32x4_t) -> uint32x4_t { vextq_u32::<3>(before, v) }
        fn ahead(v: uint32x4_t, behind: uint32x4_t) -> uint32x4_t { vextq_u32::<1>(v, behind) }
        fn two_ahead(v: uint32x4_t, behind: uint32x4_t) -> uint32x4_t { vextq_u32::<2>(v, behind) }
        fn load(from: &[u32]) -> uint32x4_t {{
            assert!(from.len() >= 4);
            vld1q_u32(from.as_ptr())
        }}
        fn store(v: uint32x4_t, to: &mut [u32]) {{
            assert!(to.len() >= 4);
            vst1q_u32(to.as_mut_ptr(), v)
        }}
        fn load_short(from: &[u16]) -> uint32x4_t {{
            assert!(from.len() >= 4);
            vreinterpretq_u32_s32(vmovl_s16(vld1_s16(from.as_ptr().cast())))
        }}
        // Counts of immediate shifts are signed here; a constant count becomes the same instruction.
        fn left<const N: u32>(v: uint32x4_t) -> uint32x4_t { vshlq_u32(v, vdupq_n_s32(N as i32)) }
        fn right_signed<const N: u32>(v: uint32x4_t) -> uint32x4_t {
            vreinterpretq_u32_s32(vshlq_s32(vreinterpretq_s32_u32(v), vdupq_n_s32(-(N as i32))))
        }
    }
}

impl CodeVectors<REGISTERS> for Neon {
    type Mask = uint32x4_t;

    instructions! {
        fn mul_high(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {{
            let low = vmull_u32(vget_low_u32(a), vget_low_u32(b));
            vuzp2q_u32(vreinterpretq_u32_u64(low), vreinterpretq_u32_u64(vmull_high_u32(a, b)))
        }}
        fn max(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vmaxq_u32(a, b) }
        fn min(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vminq_u32(a, b) }
        fn left_by(v: uint32x4_t, bits: uint32x4_t) -> uint32x4_t { vshlq_u32(v, vreinterpretq_s32_u32(bits)) }
        fn right_by(v: uint32x4_t, bits: uint32x4_t) -> uint32x4_t {
            vshlq_u32(v, vnegq_s32(vreinterpretq_s32_u32(bits)))
        }
        fn octave(v: uint32x4_t) -> uint32x4_t { vsubq_u32(vdupq_n_u32(31), vclzq_u32(v)) }
        fn less(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vcltq_u32(a, b) }
        fn both(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vandq_u32(a, b) }
        fn mask(bits: u32) -> uint32x4_t { vtstq_u32(vdupq_n_u32(bits), vld1q_u32([1, 2, 4, 8].as_ptr())) }
        fn bits(mask: uint32x4_t) -> u32 { vaddvq_u32(vandq_u32(mask, vld1q_u32([1, 2, 4, 8].as_ptr()))) }
        fn select(mask: uint32x4_t, a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vbslq_u32(mask, a, b) }
        fn total(v: uint32x4_t) -> u32 { vaddvq_u32(v) }
        fn largest(v: uint32x4_t) -> u32 { vmaxvq_u32(v) }
        fn occurrences(bytes: uint32x4_t, byte: u8) -> u32 {
            vaddvq_u8(vshrq_n_u8::<7>(vceqq_u8(vreinterpretq_u8_u32(bytes), vdupq_n_u8(byte)))).into()
        }
    }

    #[inline(always)]
    fn right<const N: u32>(self, v: uint32x4_t) -> uint32x4_t {
        // SAFETY: as above.
        unsafe { vshlq_u32(v, vdupq_n_s32(-(N as i32))) }
    }

    #[inline(always)]
    fn look_up<const L: usize>(self, table: &[u32; L], index: uint32x4_t) -> uint32x4_t {
        const { assert!(L.is_power_of_two()) };
        // SAFETY: every processor of this architecture has NEON; indices are below L.
        unsafe {
            let index = vreinterpretq_u64_u32(vandq_u32(index, vdupq_n_u32(L as u32 - 1)));
            let (low, high) = (vgetq_lane_u64::<0>(index), vgetq_lane_u64::<1>(index));
            let at = table.as_ptr();
            let v = vld1q_lane_u32::<0>(at.add(low as u32 as usize), vdupq_n_u32(0));
            let v = vld1q_lane_u32::<1>(at.add((low >> 32) as usize), v);
            let v = vld1q_lane_u32::<2>(at.add(high as u32 as usize), v);
            vld1q_lane_u32::<3>(at.add((high >> 32) as usize), v)
        }
    }

    #[inline(always)]
    fn pack_bytes(self, from: &[u32]) -> uint32x4_t {
        let v: [uint32x4_t; 4] =
            [self.load(from), self.load(&from[4..]), self.load(&from[8..]), self.load(&from[12..])];
        // SAFETY: every processor of this architecture has NEON.
        unsafe {
            let [a, b, c, d] = v.map(|v| vreinterpretq_u16_u32(v));
            let (low, high) = (vreinterpretq_u8_u16(vuzp1q_u16(a, b)), vreinterpretq_u8_u16(vuzp1q_u16(c, d)));
            vreinterpretq_u32_u8(vuzp1q_u8(low, high))
        }
    }

    #[inline(always)]
    fn unpack_short(self, bytes: uint32x4_t, to: &mut [u16]) {
        assert!(to.len() >= 16);
        // SAFETY: as above; there are 16 numbers.
        unsafe {
            let bytes = vreinterpretq_s8_u32(bytes);
            vst1q_s16(to.as_mut_ptr().cast(), vmovl_s8(vget_low_s8(bytes)));
            vst1q_s16(to.as_mut_ptr().add(8).cast(), vmovl_high_s8(bytes));
        }
    }

    #[inline(always)]
    fn load_quads(self, from: &[u32]) -> [uint32x4_t; 4] {
        assert!(from.len() >= 16);
        // SAFETY: every processor of this architecture has NEON; there are 16 numbers.
        let quads = unsafe { vld4q_u32(from.as_ptr()) };
        [quads.0, quads.1, quads.2, quads.3]
    }

    #[inline(always)]
    fn store_quads(self, v: [uint32x4_t; 4], to: &mut [u32]) {
        assert!(to.len() >= 16);
        // SAFETY: as above.
        unsafe { vst4q_u32(to.as_mut_ptr(), uint32x4x4_t(v[0], v[1], v[2], v[3])) }
    }

    #[inline(always)]
    fn put(self, states: &mut [uint32x4_t; 8], masks: [uint32x4_t; 8], words: &mut [u16], at: &mut usize) {
        for k in (0..8).step_by(2).rev() {
            // The last of the eight words are those that count; what lies before them is written over by the next.
            let place = &mut words[*at - 8..*at];
            // SAFETY: every processor of this architecture has NEON; there is place for eight words.
            unsafe {
                let set = set_of(masks[k], masks[k + 1]);
                *at -= usize::from(COMPRESS.counts[set]);
                let both = uint8x16x2_t(vreinterpretq_u8_u32(states[k]), vreinterpretq_u8_u32(states[k + 1]));
                let taken = vqtbl2q_u8(both, vld1q_u8(COMPRESS.bytes[set].as_ptr()));
                vst1q_u8(place.as_mut_ptr().cast(), taken);
            }
        }
        for k in 0..8 {
            states[k] = self.select(masks[k], self.right::<16>(states[k]), states[k]);
        }
    }

    #[inline(always)]
    fn refill(self, states: &mut [uint32x4_t; 8], masks: [uint32x4_t; 8], words: &[[u8; 2]], at: &mut usize) {
        for k in (0..8).step_by(2) {
            let next = &words[*at..*at + 8];
            // SAFETY: every processor of this architecture has NEON; 16 bytes are loaded of eight words.
            unsafe {
                let set = set_of(masks[k], masks[k + 1]);
                *at += usize::from(EXPAND.counts[set]);
                let taken = vqtbl1q_u8(vld1q_u8(next.as_ptr().cast()), vld1q_u8(EXPAND.bytes[set].as_ptr()));
                let taken = vreinterpretq_u16_u8(taken);
                let longer = [vmovl_u16(vget_low_u16(taken)), vmovl_high_u16(taken)];
                for i in 0..2 {
                    // Behind the words of others there is nothing, and what is there is not taken.
                    let longer = vsliq_n_u32::<16>(longer[i], states[k + i]);
                    states[k + i] = vbslq_u32(masks[k + i], longer, states[k + i]);
                }
            }
        }
    }

    const FEW: u32 = 16;

    #[inline(always)]
    fn look_up_few<const L: usize>(self, table: &[u32; L], index: uint32x4_t) -> uint32x4_t {
        self.look_up(table, index)
    }
}
