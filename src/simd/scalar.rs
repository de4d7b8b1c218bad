//! The scalar backend: arrays in place of vectors, for words of every width. It is the portable code, and what the
//! other levels are judged by.

use super::arithmetic::Arithmetic;
use super::bits::{BitVectors, InMemory, MASKED, MOST, bits_at, put_each};
use super::columns::{Columns, ROWS, SAMPLED};
use super::numbers::{CodeVectors, LANES, NumberVectors};
use super::word::Word;
use super::words::WordVectors;

/// The token of the scalar level, which needs no instructions beyond the portable ones.
#[derive(Clone, Copy)]
pub struct Scalar;

impl Arithmetic for Scalar {}

/// Words of an array.
const N: usize = 8;
/// Arrays that have a number for each lane.
pub const REGISTERS: usize = LANES / N;

/// Where a level has no vectors for words of some width.
macro_rules! instead_of {
    ($($level:ident)*) => {$(
        impl From<crate::exec::$level> for Scalar {
            #[inline(always)]
            fn from(_: crate::exec::$level) -> Scalar {
                Scalar
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
instead_of!(Avx2 Avx512);
#[cfg(target_arch = "aarch64")]
instead_of!(Neon);

/// Methods that do the same with each number.
macro_rules! each {
    ($(fn $name:ident($($v:ident),* $(; $arg:ident: $t:ty)?) -> $body:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, $($v: [u32; N],)* $($arg: $t)?) -> [u32; N] {
            std::array::from_fn(|i| {
                $(let $v = $v[i];)*
                $body
            })
        }
    )*};
}

impl NumberVectors for Scalar {
    const N: usize = N;
    type V = [u32; N];

    each! {
        fn add(a, b) -> a.wrapping_add(b);
        fn sub(a, b) -> a.wrapping_sub(b);
        fn mul(a, b) -> a.wrapping_mul(b);
        fn and(a, b) -> a & b;
        fn or(a, b) -> a | b;
        fn xor(a, b) -> a ^ b;
        fn nearest(v; factor: f32) -> ((v as i32 as f32) * factor).round_ties_even() as i32 as u32;
    }

    #[inline(always)]
    fn load(self, from: &[u32]) -> [u32; N] {
        *from.first_chunk().expect("as many numbers as a vector has")
    }
    #[inline(always)]
    fn store(self, v: [u32; N], to: &mut [u32]) {
        to[..N].copy_from_slice(&v);
    }
    #[inline(always)]
    fn load_short(self, from: &[u16]) -> [u32; N] {
        let from: &[u16; N] = from.first_chunk().expect("as many numbers as a vector has");
        from.map(|n| n as i16 as u32)
    }
    #[inline(always)]
    fn splat(self, number: u32) -> [u32; N] {
        [number; N]
    }
    #[inline(always)]
    fn left<const BITS: u32>(self, v: [u32; N]) -> [u32; N] {
        v.map(|n| n << BITS)
    }
    #[inline(always)]
    fn right_signed<const BITS: u32>(self, v: [u32; N]) -> [u32; N] {
        v.map(|n| (n as i32 >> BITS) as u32)
    }
    #[inline(always)]
    fn unzip(self, a: [u32; N], b: [u32; N]) -> [[u32; N]; 2] {
        let both = |i: usize| if i < N { a[i] } else { b[i - N] };
        [0, 1].map(|odd| std::array::from_fn(|i| both(2 * i + odd)))
    }
    #[inline(always)]
    fn zip(self, even: [u32; N], odd: [u32; N]) -> [[u32; N]; 2] {
        let of = |i: usize| if i.is_multiple_of(2) { even[i / 2] } else { odd[i / 2] };
        [0, N].map(|first| std::array::from_fn(|i| of(first + i)))
    }
    #[inline(always)]
    fn shifted_in(self, before: [u32; N], v: [u32; N]) -> [u32; N] {
        std::array::from_fn(|i| if i > 0 { v[i - 1] } else { before[N - 1] })
    }
    #[inline(always)]
    fn ahead(self, v: [u32; N], behind: [u32; N]) -> [u32; N] {
        std::array::from_fn(|i| if i + 1 < N { v[i + 1] } else { behind[0] })
    }
    #[inline(always)]
    fn two_ahead(self, v: [u32; N], behind: [u32; N]) -> [u32; N] {
        std::array::from_fn(|i| if i + 2 < N { v[i + 2] } else { behind[i + 2 - N] })
    }
}

/// A mask lane: all bits set, or none.
fn all_bits(is_so: bool) -> u32 {
    0u32.wrapping_sub(is_so.into())
}

impl CodeVectors<REGISTERS> for Scalar {
    type Mask = [u32; N];
    const FEW: u32 = 1;

    each! {
        fn mul_high(a, b) -> ((u64::from(a) * u64::from(b)) >> 32) as u32;
        fn max(a, b) -> a.max(b);
        fn min(a, b) -> a.min(b);
        fn left_by(v, bits) -> v.checked_shl(bits).unwrap_or(0);
        fn right_by(v, bits) -> v.checked_shr(bits).unwrap_or(0);
        fn octave(v) -> 31 - v.leading_zeros();
        fn less(a, b) -> all_bits(a < b);
        fn both(a, b) -> a & b;
        fn select(mask, a, b) -> b ^ mask & (a ^ b);
    }

    #[inline(always)]
    fn right<const BITS: u32>(self, v: [u32; N]) -> [u32; N] {
        v.map(|n| n >> BITS)
    }
    #[inline(always)]
    fn mask(self, bits: u32) -> [u32; N] {
        std::array::from_fn(|i| all_bits(bits >> i & 1 == 1))
    }
    #[inline(always)]
    fn bits(self, mask: [u32; N]) -> u32 {
        mask.iter().enumerate().fold(0, |bits, (i, mask)| bits | (mask & 1) << i)
    }
    #[inline(always)]
    fn look_up<const L: usize>(self, table: &[u32; L], index: [u32; N]) -> [u32; N] {
        index.map(|i| table[i as usize % L])
    }
    #[inline(always)]
    fn look_up_few<const L: usize>(self, table: &[u32; L], index: [u32; N]) -> [u32; N] {
        self.look_up(table, index)
    }
    #[inline(always)]
    fn total(self, v: [u32; N]) -> u32 {
        v.iter().fold(0, |sum, n| sum.wrapping_add(*n))
    }
    #[inline(always)]
    fn largest(self, v: [u32; N]) -> u32 {
        v.into_iter().fold(0, u32::max)
    }
    #[inline(always)]
    fn pack_bytes(self, from: &[u32]) -> [u32; N] {
        let quads = from.as_chunks::<4>().0;
        std::array::from_fn(|i| u32::from_le_bytes(quads[i].map(|n| n as u8)))
    }
    #[inline(always)]
    fn occurrences(self, bytes: [u32; N], byte: u8) -> u32 {
        bytes.iter().flat_map(|n| n.to_le_bytes()).filter(|own| *own == byte).count() as u32
    }
    #[inline(always)]
    fn unpack_short(self, bytes: [u32; N], to: &mut [u16]) {
        let quads = to[..4 * N].as_chunks_mut::<4>().0;
        quads.iter_mut().zip(bytes).for_each(|(quad, n)| *quad = n.to_le_bytes().map(|byte| byte as i8 as u16));
    }
    #[inline(always)]
    fn load_quads(self, from: &[u32]) -> [[u32; N]; 4] {
        let quads = from[..4 * N].as_chunks::<4>().0;
        std::array::from_fn(|j| std::array::from_fn(|i| quads[i][j]))
    }
    #[inline(always)]
    fn store_quads(self, v: [[u32; N]; 4], to: &mut [u32]) {
        let quads = to[..4 * N].as_chunks_mut::<4>().0;
        quads.iter_mut().enumerate().for_each(|(i, quad)| *quad = std::array::from_fn(|j| v[j][i]));
    }
    #[inline(always)]
    fn put(self, states: &mut [[u32; N]; REGISTERS], full: [[u32; N]; REGISTERS], words: &mut [u16], at: &mut usize) {
        let states = states.as_flattened_mut().iter_mut().zip(full.as_flattened());
        for (state, _) in states.rev().filter(|(_, full)| **full != 0) {
            *at -= 1;
            words[*at] = *state as u16;
            *state >>= 16;
        }
    }
    #[inline(always)]
    fn refill(
        self,
        states: &mut [[u32; N]; REGISTERS],
        takes: [[u32; N]; REGISTERS],
        words: &[[u8; 2]],
        at: &mut usize,
    ) {
        let states = states.as_flattened_mut().iter_mut().zip(takes.as_flattened());
        for (state, _) in states.filter(|(_, takes)| **takes != 0) {
            *state = *state << 16 | u32::from(u16::from_le_bytes(words[*at]));
            *at += 1;
        }
    }
}

impl<W: Word> WordVectors<W> for Scalar {
    const N: usize = N;
    type V = [W; N];

    #[inline(always)]
    fn load(self, from: &[W]) -> [W; N] {
        *from.first_chunk().expect("as many words as a vector has")
    }
    #[inline(always)]
    fn store(self, v: [W; N], to: &mut [W]) {
        to[..N].copy_from_slice(&v);
    }
    #[inline(always)]
    fn splat(self, word: W) -> [W; N] {
        [word; N]
    }
    #[inline(always)]
    fn add(self, a: [W; N], b: [W; N]) -> [W; N] {
        std::array::from_fn(|i| a[i].add(b[i]))
    }
    #[inline(always)]
    fn sub(self, a: [W; N], b: [W; N]) -> [W; N] {
        std::array::from_fn(|i| a[i].sub(b[i]))
    }
    #[inline(always)]
    fn or(self, a: [W; N], b: [W; N]) -> [W; N] {
        std::array::from_fn(|i| a[i] | b[i])
    }
    #[inline(always)]
    fn unzigzag(self, v: [W; N]) -> [W; N] {
        v.map(W::unzigzag)
    }
    #[inline(always)]
    fn running_sums(self, mut v: [W; N], carry: &mut [W; N]) -> [W; N] {
        let mut sum = carry[0];
        for word in &mut v {
            sum = sum.add(*word);
            *word = sum;
        }
        *carry = [sum; N];
        v
    }
    #[inline(always)]
    fn any(self, v: [W; N]) -> W {
        v.iter().fold(W::ZERO, |any, word| any | *word)
    }
    #[inline(always)]
    fn any_negative(self, v: [W; N]) -> bool {
        WordVectors::<W>::any(self, v) & W::SIGN != W::ZERO
    }
}

impl<W: Word> BitVectors<W> for Scalar {
    const UNPACKED: usize = N;
    const WITHIN: u32 = 0;
    const TOUCHED: usize = 0;
    type Parts = InMemory<W, MOST>;

    #[inline(always)]
    fn unpack_parts(self, packed: &[u8], count: usize, n: u32, width: u32, parts: &mut Self::Parts) {
        parts.unpack_each(packed, count, n, width);
    }

    #[inline(always)]
    fn put(self, words: &mut [W; MASKED], set: u64, parts: &InMemory<W, MOST>, at: usize) {
        put_each(words, set, parts, at);
    }

    #[inline(always)]
    unsafe fn unpack<const WITHIN: bool>(self, packed: &[u8], at: usize, n: u32, to: *mut W) {
        for i in 0..N {
            // SAFETY: there is room for as many, as the caller promises.
            unsafe { *to.add(i) = W::from_u64(bits_at(packed, 8 * at + i * n as usize, n)) };
        }
    }

    // Packing goes through 64-bit words, of which the last one is full: 32 words of n bits are a multiple of 32.
    #[inline(always)]
    fn pack(self, codes: &[W], n: u32, out: &mut [u8]) {
        let mut words = out.chunks_exact_mut(8);
        let (mut acc, mut fill) = (0u64, 0);
        let low = u64::MAX >> (64 - n);
        for c in codes {
            let c = c.to_u64() & low;
            acc |= c << fill;
            fill += n;
            if fill >= 64 {
                if let Some(w) = words.next() {
                    w.copy_from_slice(&acc.to_le_bytes());
                }
                fill -= 64;
                acc = if fill == 0 { 0 } else { c >> (n - fill) };
            }
        }
        if fill > 0
            && let Some(w) = words.next()
        {
            w.copy_from_slice(&acc.to_le_bytes());
        }
    }
}

impl<W: Word> Columns<W> for Scalar {
    type V = [W; ROWS];
    const N: usize = ROWS;

    #[inline(always)]
    fn each(self, of: &[W; ROWS], _: usize) -> [W; ROWS] {
        *of
    }
    #[inline(always)]
    fn samples<const S: usize>(self, x: &[[W; S]; ROWS], _: usize, at: usize) -> [[W; ROWS]; 3] {
        let mut samples = [[W::ZERO; ROWS]; 3];
        for s in 0..ROWS {
            let last = at + SAMPLED - 1 - s * (SAMPLED / ROWS);
            for (back, samples) in samples.iter_mut().enumerate() {
                samples[s] = x[s][last - back];
            }
        }
        samples
    }
    #[inline(always)]
    fn add(self, a: [W; ROWS], b: [W; ROWS]) -> [W; ROWS] {
        std::array::from_fn(|s| a[s].add(b[s]))
    }
    #[inline(always)]
    fn sub(self, a: [W; ROWS], b: [W; ROWS]) -> [W; ROWS] {
        std::array::from_fn(|s| a[s].sub(b[s]))
    }
    #[inline(always)]
    fn magnitude(self, v: [W; ROWS]) -> [W; ROWS] {
        v.map(W::magnitude)
    }
    #[inline(always)]
    fn half_code(self, word: [W; ROWS], top: [W; ROWS]) -> [W; ROWS] {
        std::array::from_fn(|s| match word[s] << 1 {
            word if word == W::ZERO => word,
            _ => top[s].sub(word[s].rotl(1)).magnitude() >> 1,
        })
    }
    #[inline(always)]
    fn width(self, v: [W; ROWS]) -> [W; ROWS] {
        v.map(|word| W::from_u64(word.width().into()))
    }
    #[inline(always)]
    fn sums(self, of: [[W; ROWS]; 4]) -> [u32; 4] {
        of.map(|widths| widths.iter().map(|width| width.to_u64() as u32).sum())
    }
}
