//! Vectors of signed numbers of 32 bits modulo 2^32: what a predictor needs of a level, so that one source serves all.

use super::vec::{LANES, Simd};

/// Numbers of the longest vector.
pub const LONGEST: usize = 16;

/// From `LONGEST` − n on all bits of n numbers, and none behind.
pub static THERE: [u32; 2 * LONGEST] = {
    let mut there = [0; 2 * LONGEST];
    let mut i = 0;
    while i < LONGEST {
        there[i] = u32::MAX;
        i += 1;
    }
    there
};

/// Vectors of a level.
pub trait Lanes: Copy {
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
    fn select(self, mask: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// Shifted to the left.
    fn left<const BITS: u32>(self, v: Self::V) -> Self::V;
    /// Shifted to the right, with copies of the sign.
    fn right<const BITS: u32>(self, v: Self::V) -> Self::V;
    /// 0, −1, 1, −2, … to 0, 1, 2, 3, ….
    fn zigzag(self, v: Self::V) -> Self::V;
    /// The integer nearest to `v · factor`, of two such the even one, in the arithmetic of f32.
    fn nearest(self, v: Self::V, factor: f32) -> Self::V;
    /// All bits that any of the numbers has.
    fn any(self, v: Self::V) -> u32;
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
    /// Does what takes a level's own vectors; nothing where there are none.
    fn by_level<T: ByLevel>(self, task: T) -> Option<T::Done>;
}

/// What is done with a level's own vectors alone.
pub trait ByLevel {
    /// What comes of it.
    type Done;
    /// Does it with these vectors.
    fn run<P: Simd<M>, const M: usize>(self, p: P) -> Self::Done;
}

/// The vectors of a level with M of them for 32 lanes.
#[derive(Clone, Copy)]
pub struct By<P, const M: usize>(pub P);

/// Methods that a level's vectors have as they are.
macro_rules! forwarded {
    ($($name:ident($($arg:ident: $t:ty),*) -> $r:ty;)*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $t),*) -> $r {
            self.0.$name($($arg),*)
        }
    )*};
}

impl<P: Simd<M>, const M: usize> Lanes for By<P, M> {
    const N: usize = LANES / M;
    type V = P::V;

    forwarded! {
        load(from: &[u32]) -> P::V;
        store(v: P::V, to: &mut [u32]) -> ();
        splat(number: u32) -> P::V;
        add(a: P::V, b: P::V) -> P::V;
        sub(a: P::V, b: P::V) -> P::V;
        mul(a: P::V, b: P::V) -> P::V;
        and(a: P::V, b: P::V) -> P::V;
        or(a: P::V, b: P::V) -> P::V;
        xor(a: P::V, b: P::V) -> P::V;
        nearest(v: P::V, factor: f32) -> P::V;
        unzip(a: P::V, b: P::V) -> [P::V; 2];
        zip(even: P::V, odd: P::V) -> [P::V; 2];
        shifted_in(before: P::V, v: P::V) -> P::V;
        ahead(v: P::V, behind: P::V) -> P::V;
        two_ahead(v: P::V, behind: P::V) -> P::V;
        load_short(from: &[u16]) -> P::V;
    }

    #[inline(always)]
    fn select(self, mask: P::V, a: P::V, b: P::V) -> P::V {
        self.0.xor(b, self.0.and(mask, self.0.xor(a, b)))
    }
    #[inline(always)]
    fn left<const BITS: u32>(self, v: P::V) -> P::V {
        self.0.left::<BITS>(v)
    }
    #[inline(always)]
    fn right<const BITS: u32>(self, v: P::V) -> P::V {
        self.0.right_signed::<BITS>(v)
    }
    #[inline(always)]
    fn zigzag(self, v: P::V) -> P::V {
        self.0.xor(self.0.left::<1>(v), self.0.right_signed::<31>(v))
    }
    #[inline(always)]
    fn any(self, v: P::V) -> u32 {
        // All that the sum of bits needs is whether each is there, which the greatest ones tell one after the other.
        let mut numbers = [0; LONGEST];
        self.0.store(v, &mut numbers);
        numbers.iter().fold(0, |any, n| any | n)
    }
    #[inline(always)]
    fn by_level<T: ByLevel>(self, task: T) -> Option<T::Done> {
        Some(task.run::<P, M>(self.0))
    }
}

/// Vectors without a level's instructions.
#[derive(Clone, Copy)]
pub struct Portable;

/// Numbers of a portable vector.
const PORTABLE: usize = 8;

impl Lanes for Portable {
    const N: usize = PORTABLE;
    type V = [u32; PORTABLE];

    #[inline(always)]
    fn load(self, from: &[u32]) -> Self::V {
        *from.first_chunk().expect("as many numbers as a vector has")
    }
    #[inline(always)]
    fn store(self, v: Self::V, to: &mut [u32]) {
        to[..PORTABLE].copy_from_slice(&v);
    }
    #[inline(always)]
    fn splat(self, number: u32) -> Self::V {
        [number; PORTABLE]
    }
    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i].wrapping_add(b[i]))
    }
    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i].wrapping_sub(b[i]))
    }
    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i].wrapping_mul(b[i]))
    }
    #[inline(always)]
    fn and(self, a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] & b[i])
    }
    #[inline(always)]
    fn or(self, a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] | b[i])
    }
    #[inline(always)]
    fn xor(self, a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] ^ b[i])
    }
    #[inline(always)]
    fn select(self, mask: Self::V, a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| b[i] ^ mask[i] & (a[i] ^ b[i]))
    }
    #[inline(always)]
    fn left<const BITS: u32>(self, v: Self::V) -> Self::V {
        v.map(|n| n << BITS)
    }
    #[inline(always)]
    fn right<const BITS: u32>(self, v: Self::V) -> Self::V {
        v.map(|n| (n as i32 >> BITS) as u32)
    }
    #[inline(always)]
    fn zigzag(self, v: Self::V) -> Self::V {
        v.map(|n| n << 1 ^ (n as i32 >> 31) as u32)
    }
    #[inline(always)]
    fn nearest(self, v: Self::V, factor: f32) -> Self::V {
        v.map(|n| ((n as i32 as f32) * factor).round_ties_even() as i32 as u32)
    }
    #[inline(always)]
    fn any(self, v: Self::V) -> u32 {
        v.iter().fold(0, |any, n| any | n)
    }
    #[inline(always)]
    fn unzip(self, a: Self::V, b: Self::V) -> [Self::V; 2] {
        let both = |i: usize| if i < PORTABLE { a[i] } else { b[i - PORTABLE] };
        [0, 1].map(|odd| std::array::from_fn(|i| both(2 * i + odd)))
    }
    #[inline(always)]
    fn zip(self, even: Self::V, odd: Self::V) -> [Self::V; 2] {
        let of = |i: usize| if i.is_multiple_of(2) { even[i / 2] } else { odd[i / 2] };
        [0, PORTABLE].map(|first| std::array::from_fn(|i| of(first + i)))
    }
    #[inline(always)]
    fn shifted_in(self, before: Self::V, v: Self::V) -> Self::V {
        std::array::from_fn(|i| if i > 0 { v[i - 1] } else { before[PORTABLE - 1] })
    }
    #[inline(always)]
    fn ahead(self, v: Self::V, behind: Self::V) -> Self::V {
        std::array::from_fn(|i| if i + 1 < PORTABLE { v[i + 1] } else { behind[0] })
    }
    #[inline(always)]
    fn two_ahead(self, v: Self::V, behind: Self::V) -> Self::V {
        std::array::from_fn(|i| if i + 2 < PORTABLE { v[i + 2] } else { behind[i + 2 - PORTABLE] })
    }
    #[inline(always)]
    fn load_short(self, from: &[u16]) -> Self::V {
        let from: &[u16; PORTABLE] = from.first_chunk().expect("as many numbers as a vector has");
        from.map(|n| n as i16 as u32)
    }
    #[inline(always)]
    fn by_level<T: ByLevel>(self, _: T) -> Option<T::Done> {
        None
    }
}
