//! The container: its constants, and the only reader and writer of headers and index. `docs/format.md` says the same in prose.

pub mod checksum;
pub mod constants;
mod container;

pub use container::{Body, Header, Index, IndexMut, Kind, Layout};
