//! The stream's checksums: a keyed sum that any device computes in any order.
//!
//! h = Σ w_i · k_i modulo 2^64 over the little-endian 32-bit words w_i, with k_i = (2i + 1) · KEY32 modulo 2^32. Each
//! k_i is odd, so a change of one word always changes h; so does every pair of flipped bits (docs/reference/format.md
//! §7).

use crate::container::constants::{KEY32, KEY64};
#[cfg(target_arch = "x86_64")]
use crate::exec::{Isa, Level};

/// The key of word i.
#[inline(always)]
fn key(i: usize) -> u32 {
    (2 * i as u32 + 1).wrapping_mul(KEY32)
}

/// Bodies that are summed at once: they share the keys, which are a third of the work.
pub const TOGETHER: usize = 4;
/// Vectors of a single body that are summed in turn, so that no sum waits for the one before.
const ALONE: usize = 2;

/// Keyed sum of whole 32-bit words.
pub fn keyed_sum(bytes: &[u8]) -> u64 {
    keyed_sums::<1, ALONE>([bytes])[0]
}

/// The keyed sum of each of `bodies`, which are whole 32-bit words; by `V` vectors of each in turn.
fn keyed_sums<const N: usize, const V: usize>(bodies: [&[u8]; N]) -> [u64; N] {
    debug_assert!(bodies.iter().all(|b| b.len().is_multiple_of(4)));
    #[cfg(target_arch = "x86_64")]
    match Isa::best().level() {
        // SAFETY: the processor has the level, as the consent says.
        Level::Avx512 => return unsafe { x86::keyed_sums_avx512::<N, V>(0, bodies) },
        // SAFETY: as above.
        Level::Avx2 => return unsafe { x86::keyed_sums_avx2::<N, V>(0, bodies) },
        _ => (),
    }
    bodies.map(portable_sum)
}

/// The sum of words that begin with word `first`.
fn sum_from(first: usize, bytes: &[u8]) -> u64 {
    bytes.chunks_exact(4).zip(first..).fold(0, |sum, (w, i)| {
        let w = u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
        sum.wrapping_add(u64::from(w) * u64::from(key(i)))
    })
}

/// The sum with even and odd words apart, in 64-bit lanes that hold 32-bit numbers: one multiplication a word on every
/// SIMD level.
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
    use super::{ALONE, KEY32, key, sum_from};
    use std::arch::x86_64::*;

    macro_rules! keyed_sums {
        ($name:ident, $feature:literal, $words:literal, $zero:ident, $load:ident, $store:ident, $set1:ident,
         $srli:ident, $shuffle:ident,
         $mul:ident, $add:ident, $add_keys:ident) => {
            /// The sums of `bodies`, which begin with word `first`, by V vectors of each in turn: as far as all go
            /// together, then each alone.
            #[target_feature(enable = $feature)]
            pub fn $name<const N: usize, const V: usize>(first: usize, bodies: [&[u8]; N]) -> [u64; N] {
                const WORDS: usize = $words;
                let step = 4 * WORDS * V;
                let together = bodies.iter().map(|b| b.len()).min().unwrap_or(0) / step * step;
                let advance = $set1(KEY32.wrapping_mul((2 * V * WORDS) as u32) as i32);
                let (mut even_keys, mut odd_keys) = ([$zero(); V], [$zero(); V]);
                for v in 0..V {
                    let keys: [u32; WORDS] = std::array::from_fn(|i| key(first + WORDS * v + i));
                    // SAFETY: the array is a vector long.
                    even_keys[v] = unsafe { $load(keys.as_ptr().cast()) };
                    odd_keys[v] = $srli::<32>(even_keys[v]);
                }
                let (mut even, mut odd) = ([[$zero(); V]; N], [[$zero(); V]; N]);
                for at in (0..together).step_by(step) {
                    for v in 0..V {
                        for b in 0..N {
                            // SAFETY: vector v of a step, of which each body has `together / step`.
                            let w = unsafe { $load(bodies[b].as_ptr().add(at + 4 * WORDS * v).cast()) };
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
                    let (word, rest) = (first + together / 4, &bodies[b][together..]);
                    let rest = if N > 1 { $name::<1, ALONE>(word, [rest])[0] } else { sum_from(word, rest) };
                    sums[b] = lanes.iter().fold(rest, |a, b| a.wrapping_add(*b));
                }
                sums
            }
        };
    }

    keyed_sums!(
        keyed_sums_avx512,
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
    keyed_sums!(
        keyed_sums_avx2,
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
    of_sum(keyed_sum(body), k)
}

/// The checksum of a group, a few bodies at a time.
pub struct GroupSum<I> {
    bodies: std::iter::Enumerate<I>,
    sum: u64,
}

impl<'a, I: Iterator<Item = &'a [u8]>> GroupSum<I> {
    /// Of the bodies of the group's chunks.
    pub fn new(bodies: I) -> Self {
        GroupSum { bodies: bodies.enumerate(), sum: 0 }
    }

    /// Adds the next [`TOGETHER`] bodies; whether there were any.
    pub fn add(&mut self) -> bool {
        let some: [Option<(usize, &[u8])>; TOGETHER] = std::array::from_fn(|_| self.bodies.next());
        let sums = keyed_sums::<_, 1>(some.map(|body| body.map_or(&[][..], |(_, body)| body)));
        for ((k, _), sum) in some.iter().flatten().zip(sums) {
            self.sum = self.sum.wrapping_add(of_sum(sum, *k));
        }
        some[0].is_some()
    }

    /// The checksum, with all that were not added yet.
    pub fn finish(mut self) -> u64 {
        while self.add() {}
        self.sum
    }
}

fn of_sum(sum: u64, k: usize) -> u64 {
    mix(sum.wrapping_add((k as u64 + 1).wrapping_mul(KEY64)))
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

    /// The sum as docs/reference/format.md §7 has it.
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
            if Level::Avx2.is_available() {
                // SAFETY: the processor has it.
                let [sum] = unsafe { x86::keyed_sums_avx2::<1, ALONE>(0, [&bytes[..len]]) };
                assert_eq!(sum, plain(&bytes[..len]), "{len}");
            }
        }
    }

    /// Lengths in every order, some of them zero, so that each body in turn goes on alone.
    #[test]
    fn bodies_summed_together_are_summed_as_if_alone() {
        let bytes: Vec<u8> = (0..70_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
        for lens in [[16_384, 16_384, 16_384, 16_384], [4096, 4112, 16, 8000], [0, 500, 1000, 0], [1600, 64, 128, 132]]
        {
            for turn in 0..TOGETHER {
                let bodies: [&[u8]; TOGETHER] =
                    std::array::from_fn(|b| &bytes[16_400 * b..][..lens[(b + turn) % TOGETHER]]);
                let sums = bodies.map(plain);
                assert_eq!(keyed_sums::<_, 1>(bodies), sums, "{lens:?} {turn}");
                #[cfg(target_arch = "x86_64")]
                if Level::Avx2.is_available() {
                    // SAFETY: the processor has it.
                    assert_eq!(unsafe { x86::keyed_sums_avx2::<_, 1>(0, bodies) }, sums, "{lens:?} {turn}");
                }
            }
        }
    }

    #[test]
    fn a_group_is_the_sum_of_its_chunks() {
        let bytes: Vec<u8> = (0..9000u32).map(|i| (i.wrapping_mul(2_246_822_519) >> 9) as u8).collect();
        for count in 0..=11 {
            let body = |k: usize| &bytes[100 * k..][..16 * (3 + k * 7 % 5)];
            let each = (0..count).fold(0u64, |sum, k| sum.wrapping_add(of_chunk(body(k), k)));
            assert_eq!(GroupSum::new((0..count).map(body)).finish(), each, "{count}");
        }
    }
}
