//! Gaps, which a mask tells with a bit for each element: others put into them, and what was there put back. Elements
//! are words of 2, 4 or 8 bytes, as they lie in memory.

mod fill;
mod put;
mod take_out;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vectors;
mod words;

pub use fill::fill;
pub use put::put;
pub use take_out::{can_take_out, take_out};
