//! The transforms that codecs are made of, one file each.

pub mod checksum;
pub mod exponent;
pub mod fpu;
pub mod quantize;
pub mod range;
pub mod round;
pub mod simd;
pub mod stream;
pub mod word;
