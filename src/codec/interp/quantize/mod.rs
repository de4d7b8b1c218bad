//! Elements to numbers (docs/reference/codecs/interp.md §1, §7, §8); numbers to elements are in `body/decode.rs`.

pub mod decimals;
pub mod encode;
pub mod load;
pub mod multiples;
pub mod ordered_bits;
pub mod ranks;
