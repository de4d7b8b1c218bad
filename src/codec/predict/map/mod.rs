//! First stage: what elements become integers by, and integers elements (docs/reference/codecs/predict.md §1, §10).

pub mod decimals;
pub mod lattice;
pub mod load;
pub mod order;
pub mod plan;
pub mod ranks;
pub mod short;
pub mod survey;
