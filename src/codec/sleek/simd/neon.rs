//! What NEON has of its own for codec sleek.

use std::arch::aarch64::*;

use super::{Simd, SimdLevel, Transposed};
use crate::codec::sleek::constants::{SAMPLE, SUBCHUNKS};
use crate::exec::Neon;
use crate::simd::Scalar;
use crate::simd::bits::{LISTED, PLACES};

/// The bytes of eight that a row of a table tells.
#[inline(always)]
fn shuffled(bytes: u64, row: u64) -> u64 {
    // SAFETY: every processor of this architecture has NEON.
    unsafe { vget_lane_u64::<0>(vreinterpret_u64_u8(vtbl1_u8(vcreate_u8(bytes), vcreate_u8(row)))) }
}

impl SimdLevel for Neon {
    const PREFERS_SMALL: bool = true;

    #[inline(always)]
    fn listed(self, bytes: u64, set: u8) -> u64 {
        shuffled(bytes, LISTED[set as usize])
    }

    #[inline(always)]
    fn placed(self, list: u64, set: u8) -> u64 {
        shuffled(list, PLACES[set as usize])
    }

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
}

macro_rules! simd {
    ($($w:ty, $vectors:ident);*) => {$(
        impl<const S: usize> Simd<$w, S> for Neon {
            type Words = $vectors;
            type Bits = $vectors;
            type Columns = Scalar;
        }
    )*};
}

simd!(u8, Scalar; u16, Neon; u32, Neon; u64, Neon);
