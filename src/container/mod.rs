//! The container: its constants, and the only reader and writer of headers and index. `docs/reference/format.md` says
//! the same in prose.

pub mod checksum;
pub mod constants;
mod dims;
mod header;
mod index;
mod layout;

pub use dims::{Dims, GRID_AXES, MAX_RANK, Region};
pub use header::Header;
pub use index::{Body, CodedChunk, Index, IndexMut, Kind};
pub use layout::{EntryForm, Geometry, Layout, Piece, Shape, Wanted};
