//! Keyed sums Σ w_i · k_i modulo 2^64 of little-endian 32-bit words, with k_i = (2i + 1) · KEY modulo 2^32.

use crate::exec::Isa;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Avx2, Avx512};

/// Vectors of a single run of words that are summed in turn, so that no sum waits for the one before.
pub const ALONE: usize = 2;

/// The sum of each of `runs`, by `V` vectors of each in turn. Runs that are summed together share the keys.
#[inline]
pub fn sums<const KEY: u32, const N: usize, const V: usize>(isa: Isa, runs: [&[u8]; N]) -> [u64; N] {
    debug_assert!(runs.iter().all(|run| run.len().is_multiple_of(4)));
    #[cfg(target_arch = "x86_64")]
    if let Some(p) = Avx512::of(isa) {
        return x86::avx512::<KEY, N, V>(p, 0, runs);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(p) = Avx2::of(isa) {
        return x86::avx2::<KEY, N, V>(p, 0, runs);
    }
    let _ = isa;
    runs.map(portable::<KEY>)
}

/// The key of word i.
#[inline(always)]
fn key<const KEY: u32>(i: usize) -> u32 {
    (2 * i as u32 + 1).wrapping_mul(KEY)
}

/// The sum of words that begin with word `first`.
fn sum_from<const KEY: u32>(first: usize, run: &[u8]) -> u64 {
    run.as_chunks()
        .0
        .iter()
        .zip(first..)
        .fold(0, |sum, (w, i)| sum.wrapping_add(u64::from(u32::from_le_bytes(*w)) * u64::from(key::<KEY>(i))))
}

/// The sum with even and odd words apart, in 64-bit lanes that hold 32-bit numbers: one multiplication a word on every
/// level.
fn portable<const KEY: u32>(run: &[u8]) -> u64 {
    const LOW: u64 = 0xffff_ffff;
    const LANES: usize = 16;
    let (mut even, mut odd) = ([0u64; LANES], [0u64; LANES]);
    let mut keys: [u64; LANES] = std::array::from_fn(|i| key::<KEY>(2 * i).into());
    let next = u64::from(KEY.wrapping_mul(2));
    let advance = u64::from(KEY.wrapping_mul(4 * LANES as u32));
    let steps = run.chunks_exact(8 * LANES);
    let rest = steps.remainder();
    for step in steps {
        for i in 0..LANES {
            let w = &step[8 * i..8 * i + 8];
            let w = u64::from_le_bytes([w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]]);
            even[i] = even[i].wrapping_add((w & LOW) * (keys[i] & LOW));
            odd[i] = odd[i].wrapping_add((w >> 32) * (keys[i].wrapping_add(next) & LOW));
            keys[i] = keys[i].wrapping_add(advance);
        }
    }
    let sum = even.iter().chain(&odd).fold(0u64, |a, b| a.wrapping_add(*b));
    sum.wrapping_add(sum_from::<KEY>((run.len() - rest.len()) / 4, rest))
}

/// By hand: of the portable loop compilers make half as much again of what it needs.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{ALONE, key, sum_from};
    use crate::exec::{Avx2, Avx512};
    use std::arch::x86_64::*;

    macro_rules! sums {
        ($name:ident, $level:tt, $words:literal, $zero:ident, $load:ident, $store:ident, $set1:ident, $srli:ident,
         $shuffle:ident, $mul:ident, $add:ident, $add_keys:ident) => {
            given! { $level,
                /// The sums of `runs`, which begin with word `first`, by V vectors of each in turn: as far as all go
                /// together, then each alone.
                pub fn $name[const KEY: u32, const N: usize, const V: usize][KEY, N, V](
                    p: $level, first: usize, runs: [&[u8]; N]
                ) -> [u64; N] {
                    const WORDS: usize = $words;
                    let step = 4 * WORDS * V;
                    let together = runs.iter().map(|run| run.len()).min().unwrap_or(0) / step * step;
                    let advance = $set1(KEY.wrapping_mul((2 * V * WORDS) as u32) as i32);
                    let (mut even_keys, mut odd_keys) = ([$zero(); V], [$zero(); V]);
                    for v in 0..V {
                        let keys: [u32; WORDS] = std::array::from_fn(|i| key::<KEY>(first + WORDS * v + i));
                        // SAFETY: the array is a vector long.
                        even_keys[v] = unsafe { $load(keys.as_ptr().cast()) };
                        odd_keys[v] = $srli::<32>(even_keys[v]);
                    }
                    let (mut even, mut odd) = ([[$zero(); V]; N], [[$zero(); V]; N]);
                    for at in (0..together).step_by(step) {
                        for v in 0..V {
                            for b in 0..N {
                                // SAFETY: vector v of a step, of which each run has `together / step`.
                                let w = unsafe { $load(runs[b].as_ptr().add(at + 4 * WORDS * v).cast()) };
                                // A shuffle, since it runs on another port than multiplications do.
                                let high = $shuffle::<0b11_11_01_01>(w);
                                even[b][v] = $add(even[b][v], $mul(w, even_keys[v]));
                                odd[b][v] = $add(odd[b][v], $mul(high, odd_keys[v]));
                            }
                            even_keys[v] = $add_keys(even_keys[v], advance);
                            odd_keys[v] = $add_keys(odd_keys[v], advance);
                        }
                    }
                    let mut sums = [0; N];
                    for b in 0..N {
                        let mut all = $zero();
                        for v in 0..V {
                            all = $add(all, $add(even[b][v], odd[b][v]));
                        }
                        let mut lanes = [0u64; WORDS / 2];
                        // SAFETY: the array is a vector long.
                        unsafe { $store(lanes.as_mut_ptr().cast(), all) };
                        let (word, rest) = (first + together / 4, &runs[b][together..]);
                        let rest = match N {
                            1 => sum_from::<KEY>(word, rest),
                            _ => $name::<KEY, 1, ALONE>(p, word, [rest])[0],
                        };
                        sums[b] = lanes.iter().fold(rest, |a, b| a.wrapping_add(*b));
                    }
                    sums
                }
            }
        };
    }

    sums!(
        avx512,
        Avx512,
        16,
        _mm512_setzero_si512,
        _mm512_loadu_si512,
        _mm512_storeu_si512,
        _mm512_set1_epi32,
        _mm512_srli_epi64,
        _mm512_shuffle_epi32,
        _mm512_mul_epu32,
        _mm512_add_epi64,
        _mm512_add_epi32
    );
    sums!(
        avx2,
        Avx2,
        8,
        _mm256_setzero_si256,
        _mm256_loadu_si256,
        _mm256_storeu_si256,
        _mm256_set1_epi32,
        _mm256_srli_epi64,
        _mm256_shuffle_epi32,
        _mm256_mul_epu32,
        _mm256_add_epi64,
        _mm256_add_epi32
    );
}
