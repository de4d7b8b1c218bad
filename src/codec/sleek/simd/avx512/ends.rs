//! What AVX-512 does for `Simd::ends`. What is safe to call takes the level's token, which makes its intrinsics sound.

use std::arch::x86_64::*;

use crate::codec::sleek::ends::Ends;
use crate::exec::Avx512;

macro_rules! ends {
    ($name:ident, $word:ty, $set1:ident, $min:ident, $max:ident, $max_signed:ident, $signs:ident, $largest:expr) => {
        /// See `Simd::ends`.
        #[inline(always)]
        pub fn $name<const S: usize>(_: Avx512, words: &[$word; S], ends: &mut Ends<$word>) -> $word {
            const LANES: usize = 64 / size_of::<$word>();
            const { assert!(S.is_multiple_of(LANES)) };
            // SAFETY: the processor has the level, as the token says; lines are 64 bytes, aligned to 64, and each load
            // is of 64 bytes of the words.
            unsafe {
                let [least, most, most_signed] = ends.lines().map(|line| line.0.as_mut_ptr());
                let mut high = _mm512_load_si512(most.cast());
                let mut top = _mm512_load_si512(most_signed.cast());
                for i in 0..S / LANES {
                    let v = _mm512_loadu_si512(words.as_ptr().add(LANES * i).cast());
                    high = $max(high, v);
                    top = $max_signed(top, v);
                }
                _mm512_store_si512(most.cast(), high);
                _mm512_store_si512(most_signed.cast(), top);
                // The least as an unsigned number is an end where all numbers so far have one sign.
                if $signs(high) == 0 || $signs(top) == !0 {
                    let mut low = _mm512_load_si512(least.cast());
                    for i in 0..S / LANES {
                        low = $min(low, _mm512_loadu_si512(words.as_ptr().add(LANES * i).cast()));
                    }
                    _mm512_store_si512(least.cast(), low);
                }
                let magnitude = $set1(<$word>::MAX.wrapping_shr(1) as _);
                $largest($max(_mm512_and_si512(high, magnitude), _mm512_and_si512(top, magnitude)))
            }
        }
    };
}

/// The largest of 32 words of 16 bits.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn largest16(v: __m512i) -> u16 {
    // SAFETY: as the caller promises.
    unsafe {
        let odd = _mm512_srli_epi32::<16>(v);
        _mm512_reduce_max_epu32(_mm512_max_epu32(_mm512_and_si512(v, _mm512_set1_epi32(0xffff)), odd)) as u16
    }
}

ends!(
    ends16,
    u16,
    _mm512_set1_epi16,
    _mm512_min_epu16,
    _mm512_max_epu16,
    _mm512_max_epi16,
    _mm512_movepi16_mask,
    largest16
);
ends!(
    ends32,
    u32,
    _mm512_set1_epi32,
    _mm512_min_epu32,
    _mm512_max_epu32,
    _mm512_max_epi32,
    _mm512_movepi32_mask,
    _mm512_reduce_max_epu32
);
ends!(
    ends64,
    u64,
    _mm512_set1_epi64,
    _mm512_min_epu64,
    _mm512_max_epu64,
    _mm512_max_epi64,
    _mm512_movepi64_mask,
    _mm512_reduce_max_epu64
);
