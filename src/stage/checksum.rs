//! The stream's checksums: a keyed sum that any device computes in any order.
//!
//! h = Σ w_i · k_i modulo 2^64 over the little-endian 32-bit words w_i, with k_i = (2i + 1) · KEY32 modulo 2^32. Each k_i is
//! odd, so a change of one word always changes h; so does every pair of flipped bits (docs/format.md §6).

use crate::format::constants::{KEY32, KEY64};

/// Keyed sum of whole 32-bit words.
pub fn keyed_sum(bytes: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            return unsafe { keyed_sum_avx512(bytes) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { keyed_sum_avx2(bytes) };
        }
    }
    portable_sum(bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn keyed_sum_avx512(bytes: &[u8]) -> u64 {
    portable_sum(bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn keyed_sum_avx2(bytes: &[u8]) -> u64 {
    portable_sum(bytes)
}

/// The sum as the compiler vectorises it for the function that it is inlined into.
#[inline(always)]
fn portable_sum(bytes: &[u8]) -> u64 {
    debug_assert!(bytes.len().is_multiple_of(4));
    const LOW: u64 = 0xffff_ffff;
    // Even and odd words apart, in 64-bit lanes that hold 32-bit numbers: one multiplication a word on every SIMD level.
    const LANES: usize = 16;
    let (mut even, mut odd) = ([0u64; LANES], [0u64; LANES]);
    let mut key = [0u64; LANES];
    for (i, k) in key.iter_mut().enumerate() {
        *k = u64::from((4 * i as u32 + 1).wrapping_mul(KEY32));
    }
    let next = u64::from(KEY32.wrapping_mul(2));
    let advance = u64::from(KEY32.wrapping_mul(4 * LANES as u32));
    let mut steps = bytes.chunks_exact(8 * LANES);
    for step in &mut steps {
        for i in 0..LANES {
            let w = &step[8 * i..8 * i + 8];
            let w = u64::from_le_bytes([w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]]);
            even[i] = even[i].wrapping_add((w & LOW) * (key[i] & LOW));
            odd[i] = odd[i].wrapping_add((w >> 32) * (key[i].wrapping_add(next) & LOW));
            key[i] = key[i].wrapping_add(advance);
        }
    }
    let mut sum = even.iter().chain(&odd).fold(0u64, |a, b| a.wrapping_add(*b));
    let mut key = key[0] as u32;
    for w in steps.remainder().chunks_exact(4) {
        sum = sum.wrapping_add(u64::from(u32::from_le_bytes([w[0], w[1], w[2], w[3]])) * u64::from(key));
        key = key.wrapping_add(KEY32.wrapping_mul(2));
    }
    sum
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
        }
    }
}
