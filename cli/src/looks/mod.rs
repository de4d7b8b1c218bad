//! Looking before reading: `sleek stats` and `sleek show`.

pub mod picture;
pub mod show;
pub mod stats;
