//! Running sums of NEON vectors.

use std::arch::aarch64::*;

/// Running sums of lanes behind `carry`, which becomes the sum of all: it waits for one addition a vector only.
macro_rules! sums {
    ($name:ident, $vector:ty, $dup:ident, $ext:ident, $add:ident, $last:ident, $steps:tt) => {
        /// Sums of what comes before each lane and itself.
        #[inline(always)]
        pub fn $name(mut v: $vector, carry: &mut $vector) -> $vector {
            // SAFETY: every processor of this architecture has NEON.
            unsafe {
                let zero = $dup(0);
                sums!(@ v, zero, $ext, $add, $steps);
                let sums = $add(v, *carry);
                *carry = $add(*carry, $last(v));
                sums
            }
        }
    };
    (@ $v:ident, $zero:ident, $ext:ident, $add:ident, [$($by:literal),*]) => {
        $($v = $add($v, $ext::<$by>($zero, $v));)*
    };
}

sums!(sums16, uint16x8_t, vdupq_n_u16, vextq_u16, vaddq_u16, last16, [7, 6, 4]);
sums!(sums32, uint32x4_t, vdupq_n_u32, vextq_u32, vaddq_u32, last32, [3, 2]);
sums!(sums64, uint64x2_t, vdupq_n_u64, vextq_u64, vaddq_u64, last64, [1]);

#[inline(always)]
unsafe fn last16(v: uint16x8_t) -> uint16x8_t {
    // SAFETY: every processor of this architecture has NEON.
    unsafe { vdupq_laneq_u16::<7>(v) }
}

#[inline(always)]
unsafe fn last32(v: uint32x4_t) -> uint32x4_t {
    // SAFETY: as above.
    unsafe { vdupq_laneq_u32::<3>(v) }
}

#[inline(always)]
unsafe fn last64(v: uint64x2_t) -> uint64x2_t {
    // SAFETY: as above.
    unsafe { vdupq_laneq_u64::<1>(v) }
}
