//! What numbers are predicted by, so that codes are small (docs/reference/codecs/interp.md §6).

pub mod decode;
pub mod encode;
pub mod interpolation;
pub mod sample;
pub mod widths;
