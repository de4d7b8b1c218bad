//! Codes to words and back: classes of groups, tables, states, and low bits apart
//! (docs/reference/codecs/interp.md §4, §5, §9).

pub mod classes;
pub mod decode;
pub mod decode_groups;
pub mod encode;
mod encode_groups;
pub mod low;
pub mod own;
pub mod own_table;
pub mod sparse;
pub mod states;
pub mod sums;
pub mod symbol_costs;
pub mod tables;
