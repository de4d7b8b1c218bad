//! Looking before reading: `sleek stats` and `sleek show`.

#[cfg(unix)]
pub mod picture;
#[cfg(unix)]
pub mod show;
pub mod stats;
