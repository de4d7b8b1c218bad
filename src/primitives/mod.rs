//! The transforms that codecs are made of, one file or folder each. They know no codec, no thread and no device.

pub mod lorenzo;
pub mod quantize;
pub mod range;
pub mod rans;
pub mod round;
