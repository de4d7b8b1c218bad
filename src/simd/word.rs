//! Machine words of an element's width, as the stages see values: bits to be moved, with wrapping arithmetic.

use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use crate::host::memory::Integer;

/// An unsigned integer of 8 to 64 bits.
pub trait Word:
    Copy
    + Debug
    + Default
    + Ord
    + Send
    + Sync
    + 'static
    + Integer
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Bits of the word.
    const BITS: u32;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The top bit alone.
    const SIGN: Self;

    /// The low bits of `x`.
    fn from_u64(x: u64) -> Self;
    /// Zero-extended.
    fn to_u64(self) -> u64;
    /// The signed number in 64 bits.
    fn extend(self) -> u64;
    /// The nearest signed number of 16 bits.
    fn saturate16(self) -> u16;
    /// Sum modulo 2^BITS.
    fn add(self, b: Self) -> Self;
    /// Difference modulo 2^BITS.
    fn sub(self, b: Self) -> Self;
    /// Shift right with copies of the sign bit.
    fn sar(self, n: u32) -> Self;
    /// Rotate left.
    fn rotl(self, n: u32) -> Self;
    /// Rotate right.
    fn rotr(self, n: u32) -> Self;
    /// The word from little-endian bytes.
    fn load(bytes: &[u8]) -> Self;
    /// Little-endian bytes of the word.
    fn store(self, bytes: &mut [u8]);
    /// Bytes in the other order.
    fn swap(self) -> Self;
    /// Zero bits above the highest one.
    fn leading_zeros(self) -> u32;
    /// Zero bits below the lowest one.
    fn trailing_zeros(self) -> u32;

    /// Words that have 16 bits, as such.
    #[inline(always)]
    fn short_mut(_words: &mut [Self]) -> Option<&mut [u16]> {
        None
    }

    /// Position of the highest one, counted from 1; 0 for 0.
    #[inline(always)]
    fn width(self) -> u32 {
        Self::BITS - self.leading_zeros()
    }

    /// Order of signed numbers as an order of unsigned ones.
    #[inline(always)]
    fn biased(self) -> Self {
        self ^ Self::SIGN
    }

    /// Distance from 0 as a signed number.
    #[inline(always)]
    fn magnitude(self) -> Self {
        let sign = self.sar(Self::BITS - 1);
        (self ^ sign).sub(sign)
    }

    /// 0, −1, 1, −2, … to 0, 1, 2, 3, ….
    #[inline(always)]
    fn zigzag(self) -> Self {
        (self << 1) ^ self.sar(Self::BITS - 1)
    }

    /// Inverse of `zigzag`.
    #[inline(always)]
    fn unzigzag(self) -> Self {
        (self >> 1) ^ Self::ZERO.sub(self & Self::ONE)
    }
}

/// Bytes as words, if they begin where a word may and are a whole number of them.
#[inline(always)]
pub fn words<W: Word>(bytes: &[u8]) -> Option<&[W]> {
    // SAFETY: any bytes are words.
    let ([], words, []) = (unsafe { bytes.align_to() }) else { return None };
    Some(words)
}

/// Calls a function for words of so many bytes: 2, 4 or 8.
macro_rules! by_size {
    ($size:expr, $($function:ident)::+($($arg:expr),*)) => {
        match $size {
            2 => $($function)::+::<u16>($($arg),*),
            4 => $($function)::+::<u32>($($arg),*),
            _ => $($function)::+::<u64>($($arg),*),
        }
    };
}

pub(crate) use by_size;

macro_rules! word {
    ($u:ty, $i:ty $(, $own:item)?) => {
        impl Word for $u {
            const BITS: u32 = <$u>::BITS;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const SIGN: Self = 1 << (<$u>::BITS - 1);

            $($own)?
            #[inline(always)]
            fn from_u64(x: u64) -> Self {
                x as $u
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn extend(self) -> u64 {
                self as $i as u64
            }
            #[inline(always)]
            fn saturate16(self) -> u16 {
                let limit = |x: i64| if <$u>::BITS > 16 { x as $i } else { (x >> 63) as $i ^ <$i>::MAX };
                (self as $i).clamp(limit(i16::MIN.into()), limit(i16::MAX.into())) as u16
            }
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                self.wrapping_add(b)
            }
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                self.wrapping_sub(b)
            }
            #[inline(always)]
            fn sar(self, n: u32) -> Self {
                ((self as $i) >> n) as $u
            }
            #[inline(always)]
            fn rotl(self, n: u32) -> Self {
                self.rotate_left(n)
            }
            #[inline(always)]
            fn rotr(self, n: u32) -> Self {
                self.rotate_right(n)
            }
            #[inline(always)]
            fn load(bytes: &[u8]) -> Self {
                let mut b = [0; size_of::<$u>()];
                b.copy_from_slice(&bytes[..size_of::<$u>()]);
                <$u>::from_le_bytes(b)
            }
            #[inline(always)]
            fn store(self, bytes: &mut [u8]) {
                bytes[..size_of::<$u>()].copy_from_slice(&self.to_le_bytes());
            }
            #[inline(always)]
            fn swap(self) -> Self {
                self.swap_bytes()
            }
            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                <$u>::leading_zeros(self)
            }
            #[inline(always)]
            fn trailing_zeros(self) -> u32 {
                <$u>::trailing_zeros(self)
            }
        }
    };
}

word!(u8, i8);
word!(
    u16,
    i16,
    #[inline(always)]
    fn short_mut(words: &mut [u16]) -> Option<&mut [u16]> {
        Some(words)
    }
);
word!(u32, i32);
word!(u64, i64);
