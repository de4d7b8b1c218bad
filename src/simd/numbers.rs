//! Vectors of 32-bit numbers: what predictors need of a level, and what coders need besides.

use super::arithmetic::Arithmetic;

/// Numbers side by side, in as many registers as have room for them.
pub const LANES: usize = 32;

/// Numbers of the longest vector.
pub const LONGEST: usize = 16;

/// Masks of the first n lanes: a load from `LONGEST` − n on has all bits set in n lanes, and none behind.
pub static LEADING_LANES: [u32; 2 * LONGEST] = {
    let mut there = [0; 2 * LONGEST];
    let mut i = 0;
    while i < LONGEST {
        there[i] = u32::MAX;
        i += 1;
    }
    there
};

/// Vectors of signed numbers modulo 2^32.
pub trait NumberVectors: Copy {
    /// Numbers of a vector.
    const N: usize;
    /// A vector.
    type V: Copy;

    /// The first numbers of a slice.
    fn load(self, from: &[u32]) -> Self::V;
    /// Stores them at the start of a slice.
    fn store(self, v: Self::V, to: &mut [u32]);
    /// The numbers of a slice from a place on.
    #[inline(always)]
    fn load_at(self, from: &[u32], at: usize) -> Self::V {
        assert!(from.len() >= Self::N && at <= from.len() - Self::N);
        // SAFETY: the slice has as many numbers from there on.
        self.load(unsafe { std::slice::from_raw_parts(from.as_ptr().add(at), Self::N) })
    }
    /// Stores them in a slice from a place on.
    #[inline(always)]
    fn store_at(self, v: Self::V, to: &mut [u32], at: usize) {
        assert!(to.len() >= Self::N && at <= to.len() - Self::N);
        // SAFETY: the slice has as many numbers from there on.
        self.store(v, unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().add(at), Self::N) });
    }
    /// The numbers of a slice from a place on.
    ///
    /// # Safety
    /// There are as many.
    #[inline(always)]
    unsafe fn load_in(self, from: &[u32], at: usize) -> Self::V {
        debug_assert!(at + Self::N <= from.len());
        // SAFETY: as the caller promises.
        self.load(unsafe { std::slice::from_raw_parts(from.as_ptr().add(at), Self::N) })
    }
    /// Stores them in a slice from a place on.
    ///
    /// # Safety
    /// There is room for them.
    #[inline(always)]
    unsafe fn store_in(self, v: Self::V, to: &mut [u32], at: usize) {
        debug_assert!(at + Self::N <= to.len());
        // SAFETY: as the caller promises.
        self.store(v, unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().add(at), Self::N) });
    }
    /// The same number everywhere.
    fn splat(self, number: u32) -> Self::V;
    /// Sum.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Difference.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// Product.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits that both have.
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits that one of them has.
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits that only one of them has.
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// The bits of a where the mask has them, of b elsewhere.
    #[inline(always)]
    fn blend(self, mask: Self::V, a: Self::V, b: Self::V) -> Self::V {
        self.xor(b, self.and(mask, self.xor(a, b)))
    }
    /// Shifted to the left.
    fn left<const BITS: u32>(self, v: Self::V) -> Self::V;
    /// Shifted to the right, with copies of the sign.
    fn right_signed<const BITS: u32>(self, v: Self::V) -> Self::V;
    /// 0, −1, 1, −2, … to 0, 1, 2, 3, ….
    #[inline(always)]
    fn zigzag(self, v: Self::V) -> Self::V {
        self.xor(self.left::<1>(v), self.right_signed::<31>(v))
    }
    /// The integer nearest to `v · factor`, of two such the even one, in the arithmetic of f32.
    fn nearest(self, v: Self::V, factor: f32) -> Self::V;
    /// All bits that any of the numbers has.
    #[inline(always)]
    fn any(self, v: Self::V) -> u32 {
        // All that the sum of bits needs is whether each is there, which the greatest ones tell one after the other.
        let mut numbers = [0; LONGEST];
        self.store(v, &mut numbers);
        numbers.iter().fold(0, |any, n| any | n)
    }
    /// Of two vectors the numbers at even places, and those at odd ones.
    fn unzip(self, a: Self::V, b: Self::V) -> [Self::V; 2];
    /// The inverse of `unzip`.
    fn zip(self, even: Self::V, odd: Self::V) -> [Self::V; 2];
    /// The numbers with the ones before them: the last of those before comes first.
    fn shifted_in(self, before: Self::V, v: Self::V) -> Self::V;
    /// The numbers one place on: the first of those behind comes last.
    fn ahead(self, v: Self::V, behind: Self::V) -> Self::V;
    /// The numbers two places on.
    fn two_ahead(self, v: Self::V, behind: Self::V) -> Self::V;
    /// As many signed numbers of 16 bits.
    fn load_short(self, from: &[u16]) -> Self::V;
}

/// The vectors of a level: M of them have a number for each of LANES, the first one those of the first lanes.
/// Numbers are unsigned unless something else is said; those that are compared are below 2^31.
pub trait CodeVectors<const M: usize>: Arithmetic + NumberVectors {
    /// For each number whether something is so.
    type Mask: Copy;

    /// The upper 32 bits of the product.
    fn mul_high(self, a: Self::V, b: Self::V) -> Self::V;
    /// The greater one.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// The smaller one.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// Shifted to the right.
    fn right<const N: u32>(self, v: Self::V) -> Self::V;
    /// Shifted to the left by as many bits each, below 128; from 32 on nothing is left.
    fn left_by(self, v: Self::V, bits: Self::V) -> Self::V;
    /// Shifted to the right by as many bits each, below 128; from 32 on nothing is left.
    fn right_by(self, v: Self::V, bits: Self::V) -> Self::V;
    /// Position of the highest bit of each number; all are 1 … 2^31 − 1.
    fn octave(self, v: Self::V) -> Self::V;
    /// Whether a < b.
    fn less(self, a: Self::V, b: Self::V) -> Self::Mask;
    /// Both.
    fn both(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// The lowest bits, one for each number.
    fn mask(self, bits: u32) -> Self::Mask;
    /// A bit for each number.
    fn bits(self, mask: Self::Mask) -> u32;
    /// Of a where the mask says so, of b elsewhere.
    fn select(self, mask: Self::Mask, a: Self::V, b: Self::V) -> Self::V;
    /// The entries of a table at these places modulo L, a power of two.
    fn look_up<const L: usize>(self, table: &[u32; L], index: Self::V) -> Self::V;
    /// Tokens below this are looked up by `look_up_few`.
    const FEW: u32;
    /// `look_up` where all indices are below `FEW`.
    fn look_up_few<const L: usize>(self, table: &[u32; L], index: Self::V) -> Self::V;
    /// The sum of all numbers.
    fn total(self, v: Self::V) -> u32;
    /// The largest one.
    fn largest(self, v: Self::V) -> u32;

    /// Four times as many numbers below 2^8 as bytes, four neighbours to each number of a vector.
    fn pack_bytes(self, from: &[u32]) -> Self::V;
    /// How many bytes are equal to this one.
    fn occurrences(self, bytes: Self::V, byte: u8) -> u32;
    /// Adds to the counts of 64 tokens, from 64 · `range` on, those of a group, four bytes for each lane; `false` if
    /// they are better counted one by one.
    #[inline(always)]
    fn count_range(self, _tokens: &[u32; LANES], _range: u32, _counts: &mut [u16; 64]) -> bool {
        false
    }
    /// Signed bytes as four times as many numbers of 16 bits.
    fn unpack_short(self, bytes: Self::V, to: &mut [u16]);
    /// Four times as many numbers: of each four neighbours the first ones, the second ones and so on.
    fn load_quads(self, from: &[u32]) -> [Self::V; 4];
    /// The inverse of `load_quads`.
    fn store_quads(self, v: [Self::V; 4], to: &mut [u32]);

    /// Takes 16 bits from each of the states that a mask tells, and puts them in front of the words that begin at
    /// `at`, in the order of the lanes.
    fn put(self, states: &mut [Self::V; M], masks: [Self::Mask; M], words: &mut [u16], at: &mut usize);
    /// Gives the states that a mask tells 16 bits each of the words from `at` on, in the order of the lanes; at least
    /// 32 words are there.
    fn refill(self, states: &mut [Self::V; M], masks: [Self::Mask; M], words: &[[u8; 2]], at: &mut usize);

    /// `look_up` where all indices are below 64.
    #[inline(always)]
    fn look_up_direct<const L: usize>(self, table: &[u32; L], index: Self::V) -> Self::V {
        self.look_up(table, index)
    }
}
