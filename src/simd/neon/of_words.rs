//! Words as vectors of NEON.

use std::arch::aarch64::*;

use crate::exec::Neon;
use crate::simd::words::WordVectors;

/// Words of one width. Names of instructions are put together from those of the width.
macro_rules! words {
    ($w:ty, $vector:ty, $n:literal, $load:ident, $store:ident, $dup:ident, $add:ident, $sub:ident, $or:ident,
     $xor:ident,
     $and:ident, $shr:ident, $neg:ident, $signed:ident, $unsigned:ident, $ext:ident, [$($step:literal),*],
     $last:ident, $max:expr) => {
        impl WordVectors<$w> for Neon {
            const N: usize = $n;
            type V = $vector;

            instructions! {
                fn splat(word: $w) -> $vector { $dup(word) }
                fn add(a: $vector, b: $vector) -> $vector { $add(a, b) }
                fn sub(a: $vector, b: $vector) -> $vector { $sub(a, b) }
                fn or(a: $vector, b: $vector) -> $vector { $or(a, b) }
                fn unzigzag(v: $vector) -> $vector {
                    $xor($shr::<1>(v), $unsigned($neg($signed($and(v, $dup(1))))))
                }
                fn any_negative(v: $vector) -> bool { $max(v) >> (<$w>::BITS - 1) != 0 }
            }

            #[inline(always)]
            fn any(self, v: $vector) -> $w {
                let mut words: [$w; $n] = [0; $n];
                self.store(v, &mut words);
                words.iter().fold(0, |a, b| a | b)
            }

            #[inline(always)]
            fn load(self, from: &[$w]) -> $vector {
                assert!(from.len() >= $n);
                // SAFETY: every processor of this architecture has NEON; there are as many words.
                unsafe { $load(from.as_ptr()) }
            }

            #[inline(always)]
            fn store(self, v: $vector, to: &mut [$w]) {
                assert!(to.len() >= $n);
                // SAFETY: as above.
                unsafe { $store(to.as_mut_ptr(), v) }
            }

            // The carry waits for one addition a vector, not for the vector's own sums.
            #[inline(always)]
            fn running_sums(self, mut v: $vector, carry: &mut $vector) -> $vector {
                // SAFETY: every processor of this architecture has NEON.
                unsafe {
                    let zero = $dup(0);
                    $(v = $add(v, $ext::<$step>(zero, v));)*
                    let sums = $add(v, *carry);
                    *carry = $add(*carry, $last::<{ $n - 1 }>(v));
                    sums
                }
            }
        }
    };
}

words!(
    u16,
    uint16x8_t,
    8,
    vld1q_u16,
    vst1q_u16,
    vdupq_n_u16,
    vaddq_u16,
    vsubq_u16,
    vorrq_u16,
    veorq_u16,
    vandq_u16,
    vshrq_n_u16,
    vnegq_s16,
    vreinterpretq_s16_u16,
    vreinterpretq_u16_s16,
    vextq_u16,
    [7, 6, 4],
    vdupq_laneq_u16,
    vmaxvq_u16
);
words!(
    u32,
    uint32x4_t,
    4,
    vld1q_u32,
    vst1q_u32,
    vdupq_n_u32,
    vaddq_u32,
    vsubq_u32,
    vorrq_u32,
    veorq_u32,
    vandq_u32,
    vshrq_n_u32,
    vnegq_s32,
    vreinterpretq_s32_u32,
    vreinterpretq_u32_s32,
    vextq_u32,
    [3, 2],
    vdupq_laneq_u32,
    vmaxvq_u32
);
words!(
    u64,
    uint64x2_t,
    2,
    vld1q_u64,
    vst1q_u64,
    vdupq_n_u64,
    vaddq_u64,
    vsubq_u64,
    vorrq_u64,
    veorq_u64,
    vandq_u64,
    vshrq_n_u64,
    vnegq_s64,
    vreinterpretq_s64_u64,
    vreinterpretq_u64_s64,
    vextq_u64,
    [1],
    vdupq_laneq_u64,
    |v| vgetq_lane_u64::<0>(v) | vgetq_lane_u64::<1>(v)
);
