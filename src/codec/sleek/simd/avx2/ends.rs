//! What AVX2 does for `Simd::ends`. What is safe to call takes the level's token, which makes its intrinsics sound.

use std::arch::x86_64::*;

use crate::codec::sleek::ends::Ends;
use crate::exec::Avx2;

/// Vectors of a line.
const HALVES: usize = 2;

/// See `Simd::ends`.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // three arrays have the index
pub fn ends32<const S: usize>(_: Avx2, words: &[u32; S], ends: &mut Ends<u32>) -> u32 {
    const { assert!(S.is_multiple_of(16)) };
    // SAFETY: the processor has the level, as the token says; lines are 64 bytes, aligned to 64, and each load is of 32
    // bytes of the words.
    unsafe {
        let lines = ends.lines().map(|line| line.0.as_mut_ptr().cast::<__m256i>());
        let mut lanes = lines.map(|line| [_mm256_load_si256(line), _mm256_load_si256(line.add(1))]);
        let load = |i: usize, half: usize| _mm256_loadu_si256(words.as_ptr().add(16 * i + 8 * half).cast());
        for i in 0..S / 16 {
            for half in 0..HALVES {
                let v = load(i, half);
                lanes[1][half] = _mm256_max_epu32(lanes[1][half], v);
                lanes[2][half] = _mm256_max_epi32(lanes[2][half], v);
            }
        }
        // The least as an unsigned number is an end where all numbers so far have one sign.
        let signs = |of: [__m256i; HALVES]| of.map(|v| _mm256_movemask_ps(_mm256_castsi256_ps(v)));
        if signs(lanes[1]) == [0; HALVES] || signs(lanes[2]) == [0xff; HALVES] {
            for i in 0..S / 16 {
                for half in 0..HALVES {
                    lanes[0][half] = _mm256_min_epu32(lanes[0][half], load(i, half));
                }
            }
        }
        for (line, [a, b]) in lines.into_iter().zip(lanes) {
            _mm256_store_si256(line, a);
            _mm256_store_si256(line.add(1), b);
        }
        let magnitude = _mm256_set1_epi32(i32::MAX);
        let [high, top] = [lanes[1], lanes[2]].map(|of| of.map(|v| _mm256_and_si256(v, magnitude)));
        let all = _mm256_max_epu32(_mm256_max_epu32(high[0], high[1]), _mm256_max_epu32(top[0], top[1]));
        let all = _mm_max_epu32(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all));
        let all = _mm_max_epu32(all, _mm_shuffle_epi32::<0x4E>(all));
        let all = _mm_max_epu32(all, _mm_shuffle_epi32::<0xB1>(all));
        _mm_cvtsi128_si32(all) as u32
    }
}

/// See `Simd::ends`. Words of 64 bits are compared as the floats that they are, which skips NaN: where one was, all
/// bits of the third line's lane are set.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // three arrays have the index
pub fn ends64<const S: usize>(_: Avx2, words: &[u64; S], ends: &mut Ends<u64>) -> u64 {
    const { assert!(S.is_multiple_of(8)) };
    // SAFETY: as above.
    unsafe {
        let lines = ends.lines().map(|line| line.0.as_mut_ptr().cast::<f64>());
        let mut lanes = lines.map(|line| [_mm256_load_pd(line), _mm256_load_pd(line.add(4))]);
        for i in 0..S / 8 {
            for half in 0..HALVES {
                let v = _mm256_loadu_pd(words.as_ptr().add(8 * i + 4 * half).cast());
                lanes[0][half] = _mm256_min_pd(v, lanes[0][half]);
                lanes[1][half] = _mm256_max_pd(v, lanes[1][half]);
                lanes[2][half] = _mm256_or_pd(lanes[2][half], _mm256_cmp_pd::<_CMP_UNORD_Q>(v, v));
            }
        }
        for (line, [a, b]) in lines.into_iter().zip(lanes) {
            _mm256_store_pd(line, a);
            _mm256_store_pd(line.add(4), b);
        }
        let is_nan = |v| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_UNORD_Q>(v, v)) != 0;
        if is_nan(_mm256_add_pd(lanes[2][0], lanes[2][1])) {
            return u64::MAX >> 1;
        }
        let sign = _mm256_set1_pd(-0.0);
        let [low, high] = [lanes[0], lanes[1]].map(|of| of.map(|v| _mm256_andnot_pd(sign, v)));
        let all = _mm256_max_pd(_mm256_max_pd(low[0], low[1]), _mm256_max_pd(high[0], high[1]));
        let all = _mm_max_pd(_mm256_castpd256_pd128(all), _mm256_extractf128_pd::<1>(all));
        let all = _mm_max_pd(all, _mm_unpackhi_pd(all, all));
        _mm_cvtsd_f64(all).to_bits()
    }
}
