//! Lanes of AVX2: constants, and loads and stores from anywhere.

use std::arch::x86_64::*;

/// Vectors of constants.
#[repr(C, align(32))]
#[derive(Clone, Copy)]
pub struct Lanes<T, const N: usize>(pub [T; N]);

impl<T, const N: usize> Lanes<T, N> {
    /// Vector `i` of them.
    ///
    /// # Safety
    /// The processor has the level's features.
    #[inline(always)]
    pub unsafe fn load(&self, i: usize) -> __m256i {
        assert!(32 * (i + 1) <= size_of::<Self>());
        // SAFETY: as the caller promises; the 32 bytes are in `self`.
        unsafe { _mm256_load_si256(std::ptr::from_ref(self).cast::<__m256i>().add(i)) }
    }
}

/// 32 bytes from anywhere.
///
/// # Safety
/// The processor has the level's features; 32 bytes at `from` are readable.
#[inline(always)]
pub unsafe fn load<T>(from: *const T) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// 16 bytes from each of two places.
///
/// # Safety
/// The processor has the level's features; 16 bytes are readable at each.
#[inline(always)]
pub unsafe fn load_halves<T>(low: *const T, high: *const T) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(_mm_loadu_si128(low.cast())), _mm_loadu_si128(high.cast()))
    }
}

/// # Safety
/// The processor has the level's features; 32 bytes at `to` are writable.
#[inline(always)]
pub unsafe fn store<T>(to: *mut T, v: __m256i) {
    // SAFETY: as the caller promises.
    unsafe { _mm256_storeu_si256(to.cast(), v) }
}

/// The low 32 bits of the 64-bit lanes of two vectors, in each half those of `a` before those of `b`.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
pub unsafe fn low_halves(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe { _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b))) }
}
