//! Words as vectors of AVX2.

use std::arch::x86_64::*;

use super::load;
use crate::exec::Avx2;
use crate::simd::words::WordVectors;

/// What is the same for words of every width but for the instructions' names.
macro_rules! words {
    ($w:ty, $set1:ident, $add:ident, $sub:ident, $srl:ident, $negative:expr) => {
        const N: usize = 32 / size_of::<$w>();
        type V = __m256i;

        instructions! {
            fn splat(word: $w) -> __m256i { $set1(word as _) }
            fn add(a: __m256i, b: __m256i) -> __m256i { $add(a, b) }
            fn sub(a: __m256i, b: __m256i) -> __m256i { $sub(a, b) }
            fn or(a: __m256i, b: __m256i) -> __m256i { _mm256_or_si256(a, b) }
            fn unzigzag(v: __m256i) -> __m256i {
                _mm256_xor_si256($srl::<1>(v), $sub(_mm256_setzero_si256(), _mm256_and_si256(v, $set1(1))))
            }
            fn any_negative(v: __m256i) -> bool { $negative(v) != 0 }
            fn load(from: &[$w]) -> __m256i {{
                assert!(from.len() >= 32 / size_of::<$w>());
                _mm256_loadu_si256(from.as_ptr().cast())
            }}
            fn store(v: __m256i, to: &mut [$w]) {{
                assert!(to.len() >= 32 / size_of::<$w>());
                _mm256_storeu_si256(to.as_mut_ptr().cast(), v)
            }}
        }

        #[inline(always)]
        fn any(self, v: __m256i) -> $w {
            let mut words: [$w; 32 / size_of::<$w>()] = [0; _];
            self.store(v, &mut words);
            words.into_iter().fold(0, |a, b| a | b)
        }
    };
}

/// For a shuffle: in each half its `lane`th lane of 16 bits, counted from 1, for all lanes behind it, or for all if it
/// is the last; zeros for the others.
const fn last_of_half(lane: usize) -> [u8; 32] {
    let mut from = [0x80; 32];
    let mut i = 0;
    while i < 16 {
        if lane == 8 || i % 8 >= lane {
            from[2 * i] = 2 * (lane - 1) as u8;
            from[2 * i + 1] = 2 * (lane - 1) as u8 + 1;
        }
        i += 1;
    }
    from
}

impl WordVectors<u16> for Avx2 {
    words!(u16, _mm256_set1_epi16, _mm256_add_epi16, _mm256_sub_epi16, _mm256_srli_epi16, |v| _mm256_movemask_epi8(
        _mm256_srai_epi16::<15>(v)
    ));

    #[inline(always)]
    fn running_sums(self, v: __m256i, carry: &mut __m256i) -> __m256i {
        // SAFETY: the processor has the level, as the token says.
        unsafe {
            let v = _mm256_add_epi16(v, _mm256_slli_epi64::<16>(v));
            let v = _mm256_add_epi16(v, _mm256_slli_epi64::<32>(v));
            let v = _mm256_add_epi16(v, _mm256_shuffle_epi8(v, load(const { &last_of_half(4) })));
            // The sum of each half; that of the lower one belongs to the upper one as well.
            let own = _mm256_shuffle_epi8(v, load(const { &last_of_half(8) }));
            let other = _mm256_permute4x64_epi64::<0b01_00_11_10>(own);
            let before = _mm256_blend_epi32::<0b1111_0000>(*carry, _mm256_add_epi16(*carry, other));
            // The carry waits for one addition a vector, not for the vector's own sums.
            *carry = _mm256_add_epi16(*carry, _mm256_add_epi16(own, other));
            _mm256_add_epi16(v, before)
        }
    }
}

impl WordVectors<u32> for Avx2 {
    words!(u32, _mm256_set1_epi32, _mm256_add_epi32, _mm256_sub_epi32, _mm256_srli_epi32, |v| _mm256_movemask_ps(
        _mm256_castsi256_ps(v)
    ));

    #[inline(always)]
    fn running_sums(self, v: __m256i, carry: &mut __m256i) -> __m256i {
        // SAFETY: the processor has the level, as the token says.
        unsafe {
            let v = _mm256_add_epi32(v, _mm256_slli_si256::<4>(v));
            let v = _mm256_add_epi32(v, _mm256_slli_si256::<8>(v));
            // To the upper half the sum of the lower one.
            let lower = _mm256_shuffle_epi32::<0xff>(_mm256_permute2x128_si256::<0x08>(v, v));
            let v = _mm256_add_epi32(v, lower);
            let sums = _mm256_add_epi32(v, *carry);
            *carry = _mm256_add_epi32(*carry, _mm256_permutevar8x32_epi32(v, _mm256_set1_epi32(7)));
            sums
        }
    }
}

impl WordVectors<u64> for Avx2 {
    words!(u64, _mm256_set1_epi64x, _mm256_add_epi64, _mm256_sub_epi64, _mm256_srli_epi64, |v| _mm256_movemask_pd(
        _mm256_castsi256_pd(v)
    ));

    #[inline(always)]
    fn running_sums(self, v: __m256i, carry: &mut __m256i) -> __m256i {
        // SAFETY: the processor has the level, as the token says.
        unsafe {
            let v = _mm256_add_epi64(v, _mm256_slli_si256::<8>(v));
            let lower = _mm256_shuffle_epi32::<0b11_10_11_10>(_mm256_permute2x128_si256::<0x08>(v, v));
            let v = _mm256_add_epi64(v, lower);
            let sums = _mm256_add_epi64(v, *carry);
            *carry = _mm256_add_epi64(*carry, _mm256_permute4x64_epi64::<0xff>(v));
            sums
        }
    }
}
