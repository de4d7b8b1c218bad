//! Codes by the vectors of a level.

pub mod encoding;
pub mod group;
mod groups;
pub mod lanes;
pub mod states;
pub mod tile;
mod wide;
