//! The fuzz targets, with the layout of streams and the exact judge of the tests. `tests/streams/fuzz.rs` has the same
//! modules and runs the same targets on a stable compiler.

pub mod mutations;
#[path = "../../tests/reference/mod.rs"]
pub mod reference;
pub mod targets;
#[path = "../../tests/vectors/mod.rs"]
pub mod vectors;
