//! Streams of every codec: what encoders write, what decoders make of it, and what damage does. One program, since each
//! takes its time to link.

#[path = "../common/mod.rs"]
mod common;
#[path = "../vectors/forms.rs"]
mod forms;
#[path = "../vectors/manifest.rs"]
mod manifest;
#[path = "../reference/mod.rs"]
mod reference;
#[path = "../vectors/mod.rs"]
mod vectors;

mod bound;
mod container;
mod corruption;
mod differential;
mod golden;
mod interp_page;
mod limits;
mod lossless;
mod missing;
mod small;
mod zfp;
