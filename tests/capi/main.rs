//! The C interface: programs that call it, the header, and the symbols.

#[path = "../common/mod.rs"]
mod common;

#[cfg(target_os = "linux")]
mod abi;
mod calls;
mod header;
