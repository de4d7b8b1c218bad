//! A tile to its body and back (docs/reference/codecs/interp.md §3, §7, §8).

pub mod decode;
pub mod encode;
pub mod form;
pub mod patches;
