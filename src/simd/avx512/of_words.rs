//! Words as vectors of AVX-512.

use std::arch::x86_64::*;

use super::{load, opaque};
use crate::exec::Avx512;
use crate::simd::words::WordVectors;

/// What is the same for words of every width but for the instructions' names.
macro_rules! words {
    ($w:ty, $set1:ident, $add:ident, $sub:ident, $ror:expr, $sra:ident, $any:expr, $negative:ident) => {
        const N: usize = 64 / size_of::<$w>();
        type V = __m512i;

        instructions! {
            fn splat(word: $w) -> __m512i { $set1(word as _) }
            fn add(a: __m512i, b: __m512i) -> __m512i { $add(a, b) }
            fn sub(a: __m512i, b: __m512i) -> __m512i { $sub(a, b) }
            fn or(a: __m512i, b: __m512i) -> __m512i { _mm512_or_si512(a, b) }
            fn unzigzag(v: __m512i) -> __m512i {{
                // The lowest bit becomes the sign; all others are turned where it is set. In bits: (copies and rest)
                // xor turned.
                let turned = opaque($ror(v));
                let rest = $set1((<$w>::MAX >> 1) as _);
                _mm512_ternarylogic_epi64::<0x6A>($sra::<{ <$w>::BITS - 1 }>(turned), rest, turned)
            }}
            fn any(v: __m512i) -> $w { $any(v) as $w }
            fn any_negative(v: __m512i) -> bool { $negative(v) != 0 }
            fn load(from: &[$w]) -> __m512i {{
                assert!(from.len() >= 64 / size_of::<$w>());
                _mm512_loadu_si512(from.as_ptr().cast())
            }}
            fn store(v: __m512i, to: &mut [$w]) {{
                assert!(to.len() >= 64 / size_of::<$w>());
                _mm512_storeu_si512(to.as_mut_ptr().cast(), v)
            }}
        }
    };
}

/// All bits of both halves.
#[inline(always)]
fn folded(both: u32) -> u16 {
    (both | both >> 16) as u16
}

/// For running sums of 16-bit lanes: the bytes of the last lane of each first half of `reach` lanes, for all lanes of
/// the second half.
const fn last_of_halves(reach: usize) -> [u8; 64] {
    let mut from = [0; 64];
    let mut lane = 0;
    while lane < 32 {
        let last = lane / reach * reach + reach / 2 - 1;
        from[2 * lane] = 2 * last as u8;
        from[2 * lane + 1] = 2 * last as u8 + 1;
        lane += 1;
    }
    from
}

/// `v` with the last lane of each first half of `REACH` lanes added to the lanes of the second half; `SECOND` are the
/// bytes of these.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn add_halves<const REACH: usize, const SECOND: u64>(v: __m512i) -> __m512i {
    // The compiler would make two instructions of the masked one if it knew the lanes.
    let from = opaque(load(const { &last_of_halves(REACH) }));
    _mm512_add_epi16(v, _mm512_maskz_permutexvar_epi8(SECOND, from, v))
}

impl WordVectors<u16> for Avx512 {
    words!(
        u16,
        _mm512_set1_epi16,
        _mm512_add_epi16,
        _mm512_sub_epi16,
        |v| _mm512_shrdi_epi16::<1>(v, v),
        _mm512_srai_epi16,
        |v| folded(_mm512_reduce_or_epi32(v) as u32),
        _mm512_movepi16_mask
    );

    #[inline(always)]
    fn running_sums(self, v: __m512i, carry: &mut __m512i) -> __m512i {
        // SAFETY: the processor has the level, as the token says.
        unsafe {
            let v = _mm512_add_epi16(v, _mm512_slli_epi32::<16>(v));
            let v = add_halves::<4, 0xf0f0_f0f0_f0f0_f0f0>(v);
            let v = add_halves::<8, 0xff00_ff00_ff00_ff00>(v);
            let v = add_halves::<16, 0xffff_0000_ffff_0000>(v);
            let v = add_halves::<32, 0xffff_ffff_0000_0000>(v);
            let sums = _mm512_add_epi16(v, *carry);
            *carry = _mm512_add_epi16(*carry, _mm512_permutexvar_epi8(load(const { &last_of_halves(64) }), v));
            sums
        }
    }
}

impl WordVectors<u32> for Avx512 {
    words!(
        u32,
        _mm512_set1_epi32,
        _mm512_add_epi32,
        _mm512_sub_epi32,
        |v| _mm512_ror_epi32::<1>(v),
        _mm512_srai_epi32,
        |v| _mm512_reduce_or_epi32(v),
        _mm512_movepi32_mask
    );

    #[inline(always)]
    fn running_sums(self, v: __m512i, carry: &mut __m512i) -> __m512i {
        // SAFETY: the processor has the level, as the token says.
        unsafe {
            let zero = _mm512_setzero_si512();
            let v = _mm512_add_epi32(v, _mm512_alignr_epi32::<15>(v, zero));
            let v = _mm512_add_epi32(v, _mm512_alignr_epi32::<14>(v, zero));
            let v = _mm512_add_epi32(v, _mm512_alignr_epi32::<12>(v, zero));
            let v = _mm512_add_epi32(v, _mm512_alignr_epi32::<8>(v, zero));
            let sums = _mm512_add_epi32(v, *carry);
            // The carry waits for one addition a vector, not for the vector's own sums.
            *carry = _mm512_add_epi32(*carry, _mm512_permutexvar_epi32(opaque(_mm512_set1_epi32(15)), v));
            sums
        }
    }
}

impl WordVectors<u64> for Avx512 {
    words!(
        u64,
        _mm512_set1_epi64,
        _mm512_add_epi64,
        _mm512_sub_epi64,
        |v| _mm512_ror_epi64::<1>(v),
        _mm512_srai_epi64,
        |v| _mm512_reduce_or_epi64(v),
        _mm512_movepi64_mask
    );

    #[inline(always)]
    fn running_sums(self, v: __m512i, carry: &mut __m512i) -> __m512i {
        // SAFETY: the processor has the level, as the token says.
        unsafe {
            let zero = _mm512_setzero_si512();
            let v = _mm512_add_epi64(v, _mm512_alignr_epi64::<7>(v, zero));
            let v = _mm512_add_epi64(v, _mm512_alignr_epi64::<6>(v, zero));
            let v = _mm512_add_epi64(v, _mm512_alignr_epi64::<4>(v, zero));
            let sums = _mm512_add_epi64(v, *carry);
            *carry = _mm512_add_epi64(*carry, _mm512_permutexvar_epi64(opaque(_mm512_set1_epi64(7)), v));
            sums
        }
    }
}
