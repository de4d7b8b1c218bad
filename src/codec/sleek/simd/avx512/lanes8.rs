//! Lanes of 8 bits for AVX-512, for codes that are not wider. What is safe to call takes
//! the level's token, which makes its intrinsics sound.
//!
//! Running sums go by quads: an instruction multiplies the four bytes of each 32-bit lane with four others and adds the
//! products to the lane, so it gives all sums within a quad at once, behind the sum of the quads before.

use std::arch::x86_64::*;

use super::exceptions::ASCENDING;
use crate::codec::sleek::constants::MAX_EXCEPTIONS;
use crate::codec::sleek::simd::{Masks, count_of, portable, room};
use crate::exec::Avx512;
use crate::simd::avx512::lanes::Lanes;

const LANES: usize = 64;

/// Constants of unpacking n-bit values into bytes: for each 64-bit lane the bytes that hold its eight values, and the
/// bit at which each of these begins.
struct Unpack {
    bytes: Lanes<u8, 64>,
    first_bits: Lanes<u8, 64>,
}

static UNPACK8: [Unpack; 9] = {
    let mut table = [const { Unpack { bytes: Lanes([0; 64]), first_bits: Lanes([0; 64]) } }; 9];
    let mut n = 1;
    while n < 9 {
        let mut i = 0;
        while i < 64 {
            table[n].bytes.0[i] = (i / 8 * n + i % 8) as u8 & 63;
            table[n].first_bits.0[i] = (i % 8 * n) as u8;
            i += 1;
        }
        n += 1;
    }
    table
};

/// The 64 values of `n` bits, 1 ≤ n ≤ 8, that are packed at `packed`.
///
/// # Safety
/// The processor has the level's features; 64 bytes at `packed` are readable.
#[inline(always)]
unsafe fn unpack8(packed: *const u8, n: u32) -> __m512i {
    let row = &UNPACK8[n as usize];
    // SAFETY: as the caller promises.
    unsafe {
        let eights = _mm512_permutexvar_epi8(row.bytes.load(), _mm512_loadu_si512(packed.cast()));
        let keep = _mm512_set1_epi8((0xffu32 >> (8 - n)) as i8);
        _mm512_and_si512(_mm512_multishift_epi64_epi8(row.first_bits.load(), eights), keep)
    }
}

/// See `Simd::unpack`.
#[inline(always)]
pub fn unpack<const S: usize>(_: Avx512, packed: &[u8], n: u32, codes: &mut [u8; S]) {
    const { assert!(S.is_multiple_of(LANES)) };
    room(S / 8 * n as usize, packed);
    // SAFETY: the processor has the level, as the token says; 64 bytes from 8n·i on are in `packed`.
    unsafe {
        for i in 0..S / LANES {
            let v = unpack8(packed.as_ptr().add(8 * n as usize * i), n);
            _mm512_storeu_si512(codes.as_mut_ptr().add(LANES * i).cast(), v);
        }
    }
}

/// See `Simd::apply_exceptions`.
#[inline(always)]
pub fn apply_exceptions<const S: usize>(
    _: Avx512,
    codes: &mut [u8; S],
    width: u32,
    masks: &Masks,
    highs: &[u8],
    high_width: u32,
) {
    if count_of::<S>(masks) > MAX_EXCEPTIONS {
        return portable::apply_exceptions(codes, width, masks, highs, high_width);
    }
    room(64, highs);
    let mut before = 0;
    // SAFETY: the processor has the level, as the token says; 64 bytes are in `highs`, and from `before` on in
    // `ASCENDING`; 64 codes are accessed at a time.
    unsafe {
        // High part and width are a byte at most, so nothing is shifted into the next one.
        let all = _mm512_sll_epi16(unpack8(highs.as_ptr(), high_width), _mm_cvtsi32_si128(width as i32));
        for (i, mask) in masks[..S / LANES].iter().enumerate() {
            assert!(before <= MAX_EXCEPTIONS);
            let rest = _mm512_permutexvar_epi8(_mm512_loadu_si512(ASCENDING.as_ptr().add(before).cast()), all);
            let at = codes.as_mut_ptr().add(LANES * i).cast();
            _mm512_storeu_si512(at, _mm512_or_si512(_mm512_loadu_si512(at), _mm512_maskz_expand_epi8(*mask, rest)));
            before += mask.count_ones() as usize;
        }
    }
}

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
/// that one as often as there are bytes from it to there if `second_difference`, else once. All lanes of a vector of
/// elements, four quads.
const fn within(second_difference: bool) -> Lanes<u8, 64> {
    let mut weights = [0; 64];
    let mut i = 0;
    while i < 64 {
        let (k, byte) = (i / 4 % 4, i % 4);
        if byte <= k {
            weights[i] = if second_difference { k - byte + 1 } else { 1 } as u8;
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

/// See `SimdLevel::zigzag_delta_decode_bytes`, for N · 64 codes.
///
/// With A the sum of the differences before a quad, and B that of each times its place i in the subchunk, second
/// differences come to Σ (4q − i) · c = 4q · A − B before quad q: both sums do not wait for each other.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn zigzag_delta_decode_vectors<const N: usize>(
    start: u32,
    second_difference: bool,
    codes: [__m512i; N],
    sums: &mut [[__m512i; 4]; N],
) {
    // SAFETY: as the caller promises.
    unsafe {
        let zero = _mm512_setzero_si512();
        let (mut of_quads, mut by_place) = ([zero; N], [zero; N]);
        for i in 0..N {
            of_quads[i] = _mm512_dpbusd_epi32(zero, _mm512_set1_epi8(1), codes[i]);
            by_place[i] = _mm512_dpbusd_epi32(zero, POSITIONS_OF[i].load(), codes[i]);
        }
        let slopes = before(of_quads);
        let mut starts = slopes;
        if second_difference {
            let by_place = before(by_place);
            for i in 0..N {
                starts[i] = _mm512_sub_epi32(_mm512_madd_epi16(slopes[i], STARTS[i].load()), by_place[i]);
            }
        }
        for first in &mut starts {
            *first = _mm512_add_epi32(*first, _mm512_set1_epi32(start as i32));
        }
        for i in 0..N {
            for (sum, quads) in sums[i].iter_mut().zip(&QUADS) {
                let quads = quads.load();
                let start = _mm512_permutexvar_epi32(quads, starts[i]);
                let codes = _mm512_permutexvar_epi32(quads, codes[i]);
                *sum = if second_difference {
                    let slope = _mm512_permutexvar_epi32(quads, slopes[i]);
                    _mm512_dpbusd_epi32(_mm512_dpwssd_epi32(start, PLACES.load(), slope), TWICE.load(), codes)
                } else {
                    _mm512_dpbusd_epi32(start, ONCE.load(), codes)
                };
            }
        }
    }
}

/// See `SimdLevel::zigzag_delta_decode_bytes`.
#[inline(always)]
pub fn zigzag_delta_decode<const S: usize>(
    _: Avx512,
    start: u32,
    second_difference: bool,
    codes: &[u8; S],
    sums: &mut [u32; S],
) {
    // SAFETY: the processor has the level, as the token says; each access is to 64 codes or 16 sums.
    unsafe {
        let first: *const __m512i = codes.as_ptr().cast();
        match S {
            64 => {
                let mut v = [[_mm512_setzero_si512(); 4]; 1];
                zigzag_delta_decode_vectors(start, second_difference, [unzigzag8(_mm512_loadu_si512(first))], &mut v);
                store(&v, sums);
            }
            128 => {
                let mut v = [[_mm512_setzero_si512(); 4]; 2];
                let (head, tail) = (_mm512_loadu_si512(first), _mm512_loadu_si512(first.add(1)));
                zigzag_delta_decode_vectors(start, second_difference, [unzigzag8(head), unzigzag8(tail)], &mut v);
                store(&v, sums);
            }
            _ => portable::zigzag_delta_decode_bytes(start, second_difference, codes, sums),
        }
    }
}

/// Stores as many vectors as there are sums.
///
/// # Safety
/// The processor has the level's features.
#[inline(always)]
unsafe fn store<const N: usize, const S: usize>(v: &[[__m512i; 4]; N], sums: &mut [u32; S]) {
    assert!(S == N * LANES);
    for (i, v) in v.as_flattened().iter().enumerate() {
        // SAFETY: as the caller promises; 16 sums each.
        unsafe { _mm512_storeu_si512(sums.as_mut_ptr().add(16 * i).cast(), *v) };
    }
}
