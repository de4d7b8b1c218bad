//! Zigzag and differences of bytes undone, for AVX-512: no other level has its product.
//!
//! Running sums go by quads. An instruction multiplies the four bytes of each 32-bit lane with four others and adds the
//! products to the lane. So it gives all sums within a quad at once, behind the sum of the quads before.

use std::arch::x86_64::*;

use super::lanes::Lanes;
use crate::exec::Avx512;

/// Zigzag undone: what it does to a byte is linear in the byte's bits.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn unzigzag8(v: __m512i) -> __m512i {
    // Bit i of a byte becomes the sum of the bits of it that byte 7 − i of the matrix tells: bits i + 1 and 0.
    const MATRIX: u64 = 0x0305_0911_2141_8101;
    // SAFETY: as the caller promises.
    unsafe { _mm512_gf2p8affine_epi64_epi8::<0>(v, _mm512_set1_epi64(MATRIX as i64)) }
}

/// For quads of bytes, one in each 32-bit lane: what the lane of its k-th byte adds up of the quad, each byte up to
/// that one as often as there are bytes from it to there if `twice`, else once. All lanes of a vector of
/// elements, four quads.
const fn within(twice: bool) -> Lanes<u8, 64> {
    let mut weights = [0; 64];
    let mut i = 0;
    while i < 64 {
        let (k, byte) = (i / 4 % 4, i % 4);
        if byte <= k {
            weights[i] = if twice { k - byte + 1 } else { 1 } as u8;
        }
        i += 1;
    }
    Lanes(weights)
}

static ONCE: Lanes<u8, 64> = within(false);
static TWICE: Lanes<u8, 64> = within(true);

/// `first + step · (i / repeat)` for lane i.
const fn ascending(first: u32, step: u32, repeat: u32) -> Lanes<u32, 16> {
    let mut lanes = [0; 16];
    let mut i = 0;
    while i < 16 {
        lanes[i] = first + step * (i as u32 / repeat);
        i += 1;
    }
    Lanes(lanes)
}

/// The quads that each lane of four vectors of elements belongs to.
static QUADS: [Lanes<u32, 16>; 4] = [ascending(0, 1, 4), ascending(4, 1, 4), ascending(8, 1, 4), ascending(12, 1, 4)];
/// Where in a subchunk each quad of two vectors begins.
static STARTS: [Lanes<u32, 16>; 2] = [ascending(0, 4, 1), ascending(64, 4, 1)];
/// Places in a quad, counted from 1.
static PLACES: Lanes<u32, 16> = Lanes([1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]);
/// Where in a subchunk each byte of two vectors is.
static POSITIONS_OF: [Lanes<u8, 64>; 2] = {
    let mut positions = [Lanes([0; 64]); 2];
    let mut i = 0;
    while i < 128 {
        positions[i / 64].0[i % 64] = i as u8;
        i += 1;
    }
    positions
};
/// The last quads of the up to eight 128-bit lanes of two vectors, each one lane further.
static LAST_QUADS: Lanes<u32, 16> = Lanes([0, 3, 7, 11, 15, 19, 23, 27, 31, 0, 0, 0, 0, 0, 0, 0]);
const EIGHT_LANES: __mmask16 = 0x1fe;

/// For each lane the sum of those before it, in up to two vectors.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn before<const N: usize>(x: [__m512i; N]) -> [__m512i; N] {
    // SAFETY: as the caller promises.
    unsafe {
        let mut sums = x;
        for (sum, x) in sums.iter_mut().zip(x) {
            let v = _mm512_add_epi32(x, _mm512_bslli_epi128::<4>(x));
            *sum = _mm512_add_epi32(v, _mm512_bslli_epi128::<8>(v));
        }
        // Totals of 128 bits each, then of all 128 bits before.
        let zero = _mm512_setzero_si512();
        let v = _mm512_maskz_permutex2var_epi32(EIGHT_LANES, sums[0], LAST_QUADS.load(), sums[N - 1]);
        let v = _mm512_add_epi32(v, _mm512_alignr_epi32::<15>(v, zero));
        let v = _mm512_add_epi32(v, _mm512_alignr_epi32::<14>(v, zero));
        let v = _mm512_add_epi32(v, _mm512_alignr_epi32::<12>(v, zero));
        for i in 0..N {
            let rest = _mm512_permutexvar_epi32(QUADS[i].load(), v);
            sums[i] = _mm512_add_epi32(_mm512_sub_epi32(sums[i], x[i]), rest);
        }
        sums
    }
}

/// Undoes zigzag and differences of N · 64 codes: for each the sum of `start` and what the codes up to it stand for;
/// `twice`, of these sums (from 0 on) once more.
///
/// A is the sum of the differences before a quad, B that of each times its place i in the subchunk. Before quad q
/// second differences come to Σ (4q − i) · c = 4q · A − B. The two sums do not wait for each other.
#[inline(always)]
pub fn undo_differences<const N: usize>(_: Avx512, start: u32, twice: bool, bytes: &[u8], to: &mut [u32]) {
    assert!(bytes.len() >= 64 * N && to.len() >= 64 * N);
    // SAFETY: the processor has the level, as the token says; each access is to 64 codes or 16 sums.
    unsafe {
        let mut codes = [_mm512_setzero_si512(); N];
        for (i, codes) in codes.iter_mut().enumerate() {
            *codes = unzigzag8(_mm512_loadu_si512(bytes.as_ptr().add(64 * i).cast()));
        }
        let zero = _mm512_setzero_si512();
        let (mut of_quads, mut by_place) = ([zero; N], [zero; N]);
        for i in 0..N {
            of_quads[i] = _mm512_dpbusd_epi32(zero, _mm512_set1_epi8(1), codes[i]);
            by_place[i] = _mm512_dpbusd_epi32(zero, POSITIONS_OF[i].load(), codes[i]);
        }
        let slopes = before(of_quads);
        let mut starts = slopes;
        if twice {
            let by_place = before(by_place);
            for i in 0..N {
                starts[i] = _mm512_sub_epi32(_mm512_madd_epi16(slopes[i], STARTS[i].load()), by_place[i]);
            }
        }
        for first in &mut starts {
            *first = _mm512_add_epi32(*first, _mm512_set1_epi32(start as i32));
        }
        for i in 0..N {
            for (k, quads) in QUADS.iter().enumerate() {
                let quads = quads.load();
                let start = _mm512_permutexvar_epi32(quads, starts[i]);
                let codes = _mm512_permutexvar_epi32(quads, codes[i]);
                let sum = if twice {
                    let slope = _mm512_permutexvar_epi32(quads, slopes[i]);
                    _mm512_dpbusd_epi32(_mm512_dpwssd_epi32(start, PLACES.load(), slope), TWICE.load(), codes)
                } else {
                    _mm512_dpbusd_epi32(start, ONCE.load(), codes)
                };
                _mm512_storeu_si512(to.as_mut_ptr().add(64 * i + 16 * k).cast(), sum);
            }
        }
    }
}
