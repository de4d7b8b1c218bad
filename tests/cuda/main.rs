//! The GPU path without a GPU: tests/gpu/driver.cpp stands in for the CUDA driver and runs the library's own kernels on
//! the CPU, so that host code and kernels are tested together, bit for bit against the CPU path.
// Every one calls the stand-in driver, or reads its memory, which is the host's.
#![allow(clippy::undocumented_unsafe_blocks)]
// Without compiled kernels there is nothing to load; `tests/capi/kernels.rs` says so, and fails in CI.
#![cfg(all(feature = "cuda", target_os = "linux", kernels_are_built))]

mod both;
mod bytes;
mod calls;
mod capi;
#[path = "../matrix/cases.rs"]
mod cases;
mod codecs;
#[path = "../common/mod.rs"]
mod common;
mod faults;
#[path = "../vectors/forms.rs"]
mod forms;
mod interp;
mod matrix;
mod missing;
#[path = "../reference/mod.rs"]
mod reference;
#[path = "../gpu/shim.rs"]
mod shim;
#[path = "../vectors/mod.rs"]
mod vectors;
mod zfp;
