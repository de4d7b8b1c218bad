//! The C interface: programs that call it, the header, and the symbols; and the sources of kernels that are made from
//! Rust, as the header is.

#[path = "../common/mod.rs"]
mod common;

#[cfg(target_os = "linux")]
mod abi;
mod calls;
mod header;
#[cfg(feature = "cuda")]
mod kernels;
