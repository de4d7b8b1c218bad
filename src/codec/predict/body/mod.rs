//! The three stages together: how a tile is encoded, what its body says of that, and how it is decoded.

mod choice;
#[cfg(test)]
mod choice_test;
mod closed_loop;
pub mod decode;
pub mod encode;
pub mod kept;
mod lossless;
pub mod patches;
mod prefix;
#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests;
