//! Second stage: what integers are predicted by, so that codes are small (docs/reference/codecs/predict.md §7).

pub mod axes;
pub mod costs_of_sets;
pub mod lags;
pub mod short;
