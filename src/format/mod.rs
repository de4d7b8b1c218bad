//! The container: its constants, and the only reader and writer of headers and index. `docs/format.md` says the same in prose.

mod chunk;
pub mod constants;
mod container;

pub use chunk::{ChunkHeader, Special, SubMode, Subchunks};
pub use container::{Body, Header, Index, IndexMut, Kind, Layout};
