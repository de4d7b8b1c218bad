//! The stream's checksums: a keyed sum that any device computes in any order.
//!
//! h = Σ w_i · k_i modulo 2^64 over the little-endian 32-bit words w_i, with k_i = (2i + 1) · KEY32 modulo 2^32. Each k_i is
//! odd, so a change of one word always changes h; so does every pair of flipped bits (docs/format.md §6).

use crate::format::constants::{KEY32, KEY64};

/// The key of word i.
#[inline(always)]
fn key(i: usize) -> u32 {
    (2 * i as u32 + 1).wrapping_mul(KEY32)
}

/// Keyed sum of whole 32-bit words.
pub fn keyed_sum(bytes: &[u8]) -> u64 {
    debug_assert!(bytes.len().is_multiple_of(4));
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            return unsafe { x86::keyed_sum_avx512(bytes) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { x86::keyed_sum_avx2(bytes) };
        }
    }
    portable_sum(bytes)
}

/// The sum of words that begin with word `first`.
fn sum_from(first: usize, bytes: &[u8]) -> u64 {
    bytes.chunks_exact(4).zip(first..).fold(0, |sum, (w, i)| {
        let w = u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
        sum.wrapping_add(u64::from(w) * u64::from(key(i)))
    })
}

/// The sum with even and odd words apart, in 64-bit lanes that hold 32-bit numbers: one multiplication a word on every SIMD level.
fn portable_sum(bytes: &[u8]) -> u64 {
    const LOW: u64 = 0xffff_ffff;
    const LANES: usize = 16;
    let (mut even, mut odd) = ([0u64; LANES], [0u64; LANES]);
    let mut keys: [u64; LANES] = std::array::from_fn(|i| key(2 * i).into());
    let next = u64::from(KEY32.wrapping_mul(2));
    let advance = u64::from(KEY32.wrapping_mul(4 * LANES as u32));
    let steps = bytes.chunks_exact(8 * LANES);
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
    sum.wrapping_add(sum_from((bytes.len() - rest.len()) / 4, rest))
}

/// By hand: of the portable loop compilers make half as much again of what it needs.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{KEY32, key, sum_from};
    use std::arch::x86_64::*;

    /// Vectors summed in turn, so that no sum waits for the one before.
    const VECTORS: usize = 2;

    macro_rules! keyed_sum {
        ($name:ident, $feature:literal, $words:literal, $zero:ident, $load:ident, $store:ident, $set1:ident, $srli:ident, $shuffle:ident,
         $mul:ident, $add:ident, $add_keys:ident) => {
            #[target_feature(enable = $feature)]
            pub fn $name(bytes: &[u8]) -> u64 {
                const WORDS: usize = $words;
                let word_keys: [u32; VECTORS * WORDS] = std::array::from_fn(key);
                let advance = $set1(KEY32.wrapping_mul((2 * VECTORS * WORDS) as u32) as i32);
                let (mut even_keys, mut odd_keys) = ([$zero(); VECTORS], [$zero(); VECTORS]);
                for v in 0..VECTORS {
                    // SAFETY: a vector of words of the array.
                    even_keys[v] = unsafe { $load(word_keys[WORDS * v..][..WORDS].as_ptr().cast()) };
                    odd_keys[v] = $srli::<32>(even_keys[v]);
                }
                let (mut even, mut odd) = ([$zero(); VECTORS], [$zero(); VECTORS]);
                let steps = bytes.chunks_exact(4 * WORDS * VECTORS);
                let rest = steps.remainder();
                for step in steps {
                    for v in 0..VECTORS {
                        // SAFETY: vector v of the step.
                        let w = unsafe { $load(step[4 * WORDS * v..][..4 * WORDS].as_ptr().cast()) };
                        // A shuffle, since it runs on another port than multiplications do.
                        let high = $shuffle::<0b11_11_01_01>(w);
                        even[v] = $add(even[v], $mul(w, even_keys[v]));
                        odd[v] = $add(odd[v], $mul(high, odd_keys[v]));
                        even_keys[v] = $add_keys(even_keys[v], advance);
                        odd_keys[v] = $add_keys(odd_keys[v], advance);
                    }
                }
                let mut all = $zero();
                for v in 0..VECTORS {
                    all = $add(all, $add(even[v], odd[v]));
                }
                let mut lanes = [0u64; WORDS / 2];
                // SAFETY: the array is a vector long.
                unsafe { $store(lanes.as_mut_ptr().cast(), all) };
                let sum = lanes.iter().fold(0u64, |a, b| a.wrapping_add(*b));
                sum.wrapping_add(sum_from((bytes.len() - rest.len()) / 4, rest))
            }
        };
    }

    keyed_sum!(
        keyed_sum_avx512,
        "avx512f",
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
    keyed_sum!(
        keyed_sum_avx2,
        "avx2",
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

/// A bijection that spreads every bit (the finalizer of SplitMix64).
#[inline]
pub fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// What the body of a chunk adds to its group's checksum; `k` is the chunk's place in the group.
pub fn of_chunk(body: &[u8], k: usize) -> u64 {
    mix(keyed_sum(body).wrapping_add((k as u64 + 1).wrapping_mul(KEY64)))
}

/// Checksum of header and index, with the checksum field itself taken as zero.
pub fn of_index(head: &[u8]) -> u64 {
    let field = u64::from_le_bytes([head[56], head[57], head[58], head[59], head[60], head[61], head[62], head[63]]);
    // The field is words 14 and 15: taking their share off again avoids a copy of the index.
    let share = |w: u64, i: u32| (w & 0xffff_ffff) * u64::from((2 * i + 1).wrapping_mul(KEY32));
    let sum = keyed_sum(head).wrapping_sub(share(field, 14)).wrapping_sub(share(field >> 32, 15));
    mix(sum.wrapping_add(KEY64.wrapping_mul(head.len() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum as docs/format.md §6 has it.
    fn plain(bytes: &[u8]) -> u64 {
        bytes.chunks_exact(4).enumerate().fold(0, |sum, (i, w)| {
            let key = (2 * i as u32 + 1).wrapping_mul(0x9E37_79B1);
            sum.wrapping_add(u64::from(u32::from_le_bytes([w[0], w[1], w[2], w[3]])) * u64::from(key))
        })
    }

    #[test]
    fn every_level_sums_as_the_format_says() {
        let bytes: Vec<u8> = (0..20_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for len in (0..700).step_by(4).chain([4096, 16384, 20_000]) {
            assert_eq!(keyed_sum(&bytes[..len]), plain(&bytes[..len]), "{len}");
            assert_eq!(portable_sum(&bytes[..len]), plain(&bytes[..len]), "{len}");
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has it.
                assert_eq!(unsafe { x86::keyed_sum_avx2(&bytes[..len]) }, plain(&bytes[..len]), "{len}");
            }
        }
    }
}
