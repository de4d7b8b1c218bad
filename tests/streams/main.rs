//! Streams of every codec: what encoders write, what decoders make of it, and what damage does. One program, since each
//! takes its time to link.

#[path = "../matrix/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../vectors/forms.rs"]
mod forms;
#[path = "../vectors/manifest.rs"]
mod manifest;
#[path = "../../fuzz/src/mutations.rs"]
mod mutations;
#[path = "../reference/mod.rs"]
mod reference;
#[path = "../../fuzz/src/targets/mod.rs"]
mod targets;
#[path = "../vectors/mod.rs"]
mod vectors;

#[cfg(target_os = "linux")]
mod bombs;
mod bound;
mod container;
mod corruption;
mod device;
mod differential;
mod exhaustive;
mod fuzz;
mod golden;
mod interp;
mod limits;
mod lossless;
mod miri;
mod missing;
mod threads;
mod zfp;
