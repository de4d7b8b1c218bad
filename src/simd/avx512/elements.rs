//! Elements with gaps as vectors of AVX-512. Each lane takes the lane that the highest bit among its own and those
//! below tells, which is a count of leading zeros; without a bit the number of zeros leads to the last lane of the
//! vector before.

use std::arch::x86_64::*;

use super::{load, opaque};
use crate::exec::Avx512;
use crate::simd::elements::ElementVectors;

/// For each of N lanes of 32 bits the bits up to that of its element: of `first`, and of every `step`-th behind it.
const fn up_to<const N: usize>(first: u32, step: u32) -> [u32; N] {
    let mut lanes = [0; N];
    let mut i = 0;
    while i < N {
        lanes[i] = (2u64.wrapping_shl(first + step * i as u32)).wrapping_sub(1) as u32;
        i += 1;
    }
    lanes
}

static UP_TO: [u32; 16] = up_to(0, 1);
static UP_TO_EVEN: [u32; 16] = up_to(0, 2);
static UP_TO_ODD: [u32; 16] = up_to(1, 2);
static UP_TO_WIDE: [u64; 8] = [1, 3, 7, 15, 31, 63, 127, 255];

/// Lanes of 16 bits: the zeros are counted for even and odd lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512cd,avx512bw")]
fn fill16(v: __m512i, gaps: u64, before: __m512i) -> __m512i {
    let gaps = opaque(_mm512_set1_epi32(gaps as i32));
    let low = _mm512_lzcnt_epi32(_mm512_andnot_si512(gaps, load(&UP_TO_EVEN)));
    let high = _mm512_lzcnt_epi32(_mm512_andnot_si512(gaps, load(&UP_TO_ODD)));
    let zeros = _mm512_or_si512(low, _mm512_slli_epi32::<16>(high));
    _mm512_permutex2var_epi16(v, _mm512_xor_si512(zeros, _mm512_set1_epi16(31)), before)
}

#[inline]
#[target_feature(enable = "avx512f,avx512cd")]
fn fill32(v: __m512i, gaps: u64, before: __m512i) -> __m512i {
    let gaps = opaque(_mm512_set1_epi32(gaps as i32));
    let zeros = _mm512_lzcnt_epi32(_mm512_andnot_si512(gaps, load(&UP_TO)));
    _mm512_permutex2var_epi32(v, _mm512_xor_si512(zeros, _mm512_set1_epi32(31)), before)
}

#[inline]
#[target_feature(enable = "avx512f,avx512cd")]
fn fill64(v: __m512i, gaps: u64, before: __m512i) -> __m512i {
    let gaps = opaque(_mm512_set1_epi64(gaps as i64));
    let zeros = _mm512_lzcnt_epi64(_mm512_andnot_si512(gaps, load(&UP_TO_WIDE)));
    _mm512_permutex2var_epi64(v, _mm512_xor_si512(zeros, _mm512_set1_epi64(63)), before)
}

/// Of the pairs of lanes of 16 bits, each with its lower neighbour's upper one.
#[inline]
#[target_feature(enable = "avx512f")]
fn shifted16(before: __m512i, v: __m512i) -> __m512i {
    let below = _mm512_alignr_epi32::<15>(v, before);
    _mm512_or_si512(_mm512_slli_epi32::<16>(v), _mm512_srli_epi32::<16>(below))
}

macro_rules! gaps {
    ($w:ty, $mask:ty, $set1:ident, $equal:ident, $select:ident, $shifted:expr, $fill:ident) => {
        impl ElementVectors<$w> for Avx512 {
            const N: usize = 64 / size_of::<$w>();
            const FEW: u32 = 0;
            type V = __m512i;
            type Mask = $mask;

            instructions! {
                fn splat(element: $w) -> __m512i { $set1(element as _) }
                fn equal(a: __m512i, b: __m512i) -> $mask { $equal(a, b) }
                fn select(mask: $mask, a: __m512i, b: __m512i) -> __m512i { $select(b, mask, a) }
                fn shifted_in(before: __m512i, v: __m512i) -> __m512i { $shifted(before, v) }
                fn fill(v: __m512i, gaps: u64, before: __m512i) -> __m512i { $fill(v, gaps, before) }
            }

            #[inline(always)]
            fn either(self, a: $mask, b: $mask) -> $mask {
                a | b
            }

            #[inline(always)]
            fn any(self, mask: $mask) -> bool {
                mask != 0
            }

            #[inline(always)]
            fn bits(self, mask: $mask) -> u64 {
                mask.into()
            }

            #[inline(always)]
            fn mask(self, bits: u64) -> $mask {
                bits as _
            }

            #[inline(always)]
            fn load(self, from: &[u8]) -> __m512i {
                assert!(from.len() >= 64);
                // SAFETY: the processor has the level, as the token says; there are 64 bytes.
                unsafe { opaque(_mm512_loadu_si512(from.as_ptr().cast())) }
            }

            #[inline(always)]
            fn store(self, v: __m512i, to: &mut [u8]) {
                assert!(to.len() >= 64);
                // SAFETY: as above.
                unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
            }
        }
    };
}

gaps!(u16, __mmask32, _mm512_set1_epi16, _mm512_cmpeq_epi16_mask, _mm512_mask_mov_epi16, shifted16, fill16);
gaps!(
    u32,
    __mmask16,
    _mm512_set1_epi32,
    _mm512_cmpeq_epi32_mask,
    _mm512_mask_mov_epi32,
    |before, v| _mm512_alignr_epi32::<15>(v, before),
    fill32
);
gaps!(
    u64,
    __mmask8,
    _mm512_set1_epi64,
    _mm512_cmpeq_epi64_mask,
    _mm512_mask_mov_epi64,
    |before, v| _mm512_alignr_epi64::<7>(v, before),
    fill64
);
