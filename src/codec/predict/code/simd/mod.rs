//! Codes by the vectors of a level.

pub mod encoding;
pub mod group;
pub mod lanes;
pub mod states;
pub mod tile;
