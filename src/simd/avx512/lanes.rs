//! Lanes of AVX-512: constants, and shifts. The compiler knows a variable shift as a comparison of the count with
//! the lanes' width and a choice. It joins these with an OR behind them to a comparison and a masked OR. The
//! instruction for the shift alone had done it all, so what comes of a shift is opaque.

use std::arch::x86_64::*;

use super::opaque;

/// One 64-byte vector of constants.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Lanes<T, const N: usize>(pub [T; N]);

impl<T, const N: usize> Lanes<T, N> {
    /// The vector.
    ///
    /// # Safety
    /// The processor has the level's features.
    #[inline(always)]
    pub unsafe fn load(&self) -> __m512i {
        const { assert!(size_of::<Self>() == 64) };
        // SAFETY: as the caller promises; `self` is 64 bytes, aligned to 64.
        unsafe { _mm512_load_si512(std::ptr::from_ref(self).cast()) }
    }
}

/// 32-bit lanes shifted to the left by as many bits each; from 32 on nothing is left.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn left32(v: __m512i, bits: __m512i) -> __m512i {
    opaque(_mm512_sllv_epi32(v, bits))
}

/// 32-bit lanes shifted to the right by as many bits each; from 32 on nothing is left.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn right32(v: __m512i, bits: __m512i) -> __m512i {
    opaque(_mm512_srlv_epi32(v, bits))
}

/// 64-bit lanes shifted to the left by as many bits each; from 64 on nothing is left.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn left64(v: __m512i, bits: __m512i) -> __m512i {
    opaque(_mm512_sllv_epi64(v, bits))
}

/// 64-bit lanes shifted to the right by as many bits each; from 64 on nothing is left.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn right64(v: __m512i, bits: __m512i) -> __m512i {
    opaque(_mm512_srlv_epi64(v, bits))
}
