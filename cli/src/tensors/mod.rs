//! Safetensors files and the compressed files of them: a file of streams for each tensor (docs/guide/archives.md).

mod compress;
mod decompress;
mod head;
mod packed;

pub use compress::{Wish, compress};
pub use decompress::decompress;
pub use head::{Tensor, may_be_safetensors};
pub use packed::{Reader, is_packed};

/// Bytes of a file's beginning by which these files are known.
pub const FIRST_BYTES: usize = head::LENGTH_BYTES + 1;
