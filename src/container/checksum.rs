//! The stream's checksums: a keyed sum that any device computes in any order.
//!
//! h = Σ w_i · k_i modulo 2^64 over the little-endian 32-bit words w_i, with k_i = (2i + 1) · KEY32 modulo 2^32. Each
//! k_i is odd, so a change of one word always changes h; so does every pair of flipped bits (docs/reference/format.md
//! §7).

use crate::container::constants::{KEY32, KEY64};
use crate::exec::Isa;
use crate::simd::keyed::{self, ALONE};

/// Bodies that are summed at once: they share the keys, which are a third of the work.
pub const TOGETHER: usize = 4;
/// Keyed sum of whole 32-bit words.
pub fn keyed_sum(bytes: &[u8]) -> u64 {
    keyed_sums::<1, ALONE>([bytes])[0]
}

/// The keyed sum of each of `bodies`, which are whole 32-bit words; by `V` vectors of each in turn.
fn keyed_sums<const N: usize, const V: usize>(bodies: [&[u8]; N]) -> [u64; N] {
    keyed::sums::<KEY32, N, V>(Isa::best(), bodies)
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
