//! Third stage: codes as words, in few bits (docs/reference/codecs/predict.md §2–6).

pub mod costs;
pub mod counts;
pub mod decode;
pub mod encode;
pub mod group;
pub mod level;
pub mod low;
pub mod own_table;
pub mod sparse;
pub mod states;
pub mod tables;
pub mod token_costs;
pub mod vectors;
