//! The scalar backend: arrays in place of vectors, for words of every width. It is the portable code, and what the
//! other levels are judged by.

use super::Scalar;
use super::bits::{BitVectors, InMemory, MASKED, MOST, bits_at, put_each};
use super::columns::{Columns, ROWS, SAMPLED};
use super::word::Word;
use super::words::WordVectors;

/// Words of an array.
const N: usize = 8;

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
