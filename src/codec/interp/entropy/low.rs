//! Low bits of codes, side by side at the end of a body.

use crate::codec::interp::format::GROUP;
use crate::simd::bits::bits_at;
use crate::simd::numbers::{CodeVectors, LANES, LONGEST};

/// Words that have the bits of the lanes of a vector, less than 64 each.
const WORDS: usize = 2 * LONGEST;
/// Each lane's own number.
static LANE_NUMBERS: [u32; LONGEST] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// Bits that are read one behind the other.
pub struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    /// Of these bytes.
    pub fn new(bytes: &'a [u8]) -> Bits<'a> {
        Bits { bytes, at: 0 }
    }

    /// The next `count` < 64 bits; zeros behind the end.
    pub fn take(&mut self, count: u32) -> u64 {
        self.at += count as usize;
        bits_at(self.bytes, self.at - count as usize, count)
    }

    /// Appends the next `count` < 64 bits each to the first `n` codes of a group, those behind are 0: to their lower 32
    /// bits, and with HIGH to the upper ones.
    #[inline(always)]
    pub fn append<P: CodeVectors<M>, const M: usize, const HIGH: bool>(
        &mut self,
        p: P,
        count: u32,
        n: usize,
        [low, high]: [&mut [u32; GROUP]; 2],
    ) {
        if n < GROUP {
            for i in 0..n {
                let code = u64::from(low[i]) << count | u64::from(high[i]) << 32 << count | self.take(count);
                (low[i], high[i]) = (code as u32, (code >> 32) as u32);
            }
            return;
        }
        let (count_v, over, most) = (p.splat(count), p.splat(count.saturating_sub(32)), count.min(32));
        for at in (0..GROUP).step_by(LANES / M) {
            let words = self.words();
            let first = p.add(p.mul(p.load(&LANE_NUMBERS), count_v), p.splat((self.at % 8) as u32));
            let (code, above) = (p.load(&low[at..]), p.load(&high[at..]));
            let own = bits_of(p, &words, first, most);
            p.store(p.or(p.left_by(code, count_v), own), &mut low[at..]);
            if HIGH {
                let carried = match count {
                    ..32 => p.right_by(code, p.splat(32 - count)),
                    _ => p.left_by(code, over),
                };
                let own = bits_of(p, &words, p.add(first, p.splat(32)), count - most);
                p.store(p.or(p.or(p.left_by(above, count_v), carried), own), &mut high[at..]);
            }
            self.at += (LANES / M) * count as usize;
        }
    }

    /// The bytes from the next bit on, as words, which are those of as many lanes as the longest vector has; zeros
    /// behind the end.
    #[inline(always)]
    fn words(&self) -> [u32; WORDS] {
        let there = self.bytes.get(self.at / 8..).unwrap_or(&[]);
        let mut room = [0; 4 * WORDS];
        match there.first_chunk() {
            Some(all) => room = *all,
            None => room[..there.len()].copy_from_slice(there),
        }
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(room.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        words
    }

    /// Whether all bits behind those that were taken are zero.
    pub fn end_in_zeros(&mut self) -> bool {
        let mut is_zero = true;
        while self.at < 8 * self.bytes.len() {
            let count = (8 - self.at % 8) as u32;
            is_zero &= self.take(count) == 0;
        }
        is_zero
    }
}

/// Of words so many bits, 32 at most, from these on.
#[inline(always)]
fn bits_of<P: CodeVectors<M>, const M: usize>(p: P, words: &[u32; WORDS], first: P::V, count: u32) -> P::V {
    let (index, shift) = (p.right::<5>(first), p.and(first, p.splat(31)));
    let next = p.add(index, p.splat(1));
    // What is behind the last word counts for nothing.
    let [low, high] = match P::FEW as usize >= WORDS {
        true => [p.look_up_few(words, index), p.look_up_few(words, next)],
        false => [p.look_up(words, index), p.look_up(words, next)],
    };
    let bits = p.or(p.right_by(low, shift), p.left_by(high, p.sub(p.splat(32), shift)));
    p.and(bits, p.splat(((1u64 << count) - 1) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::bits::BitWriter;
    use crate::simd::{Level, Task, each_level};

    struct Append<'a>(&'a [u8], u32, &'a [u64]);

    impl Task for Append<'_> {
        type Done = ();

        fn run<P: CodeVectors<M>, const M: usize>(self, p: P) {
            let Append(bytes, count, numbers) = self;
            let mut bits = Bits::new(bytes);
            for part in numbers.chunks(GROUP) {
                let (mut low, mut high) = ([1; GROUP], [0; GROUP]);
                bits.append::<P, M, true>(p, count, part.len(), [&mut low, &mut high]);
                for (i, number) in part.iter().enumerate() {
                    let code = u64::from(low[i]) | u64::from(high[i]) << 32;
                    assert_eq!(code, 1 << count | number & ((1 << count) - 1), "{count} {i}");
                }
            }
            assert!(bits.end_in_zeros());
        }
    }

    /// A group at a time or code by code: the same bits.
    #[test]
    fn groups_take_what_codes_do() {
        for count in 1..64 {
            let mut bytes = [0; 2400];
            let mut writer = BitWriter::new(&mut bytes);
            let numbers: Vec<u64> = (0..300u64).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            numbers.iter().for_each(|bits| writer.push(bits & ((1 << count) - 1), count));
            let len = writer.finish();
            let bytes = &bytes[..len];
            each_level!(p => p.run(Append(bytes, count, &numbers)));
        }
    }
}
