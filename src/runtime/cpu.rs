//! The chunk pipeline on threads: cut, encode, place; and back. Bytes do not depend on the number of threads.

mod chunk;
mod codec;
mod compress;
mod restore;
mod scan;
mod serial;
mod threads;

pub use chunk::raw;
pub use codec::{ChunkCodec, Data};
pub use compress::{compress, encode_some};
pub use restore::{decompress, each as each_chunk};
pub use scan::{of_pieces, range_without, value_range};
