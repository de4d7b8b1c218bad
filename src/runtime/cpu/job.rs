//! What is to be compressed.

use crate::container::{Header, Layout};
use crate::error::{Result, fail};
use crate::missing::collisions::Collisions;

/// What is to be compressed, and how.
pub struct Job<'a, C> {
    pub codec: &'a C,
    pub layout: &'a Layout,
    pub big_endian: bool,
    pub src: &'a [u8],
    pub collisions: &'a Collisions,
}

impl<C> Clone for Job<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Job<'_, C> {}

impl<'a, C> Job<'a, C> {
    /// The array `src` into a stream with this header.
    pub fn new(codec: &'a C, header: &'a Header, src: &'a [u8], collisions: &'a Collisions) -> Self {
        Job { codec, layout: &header.layout, big_endian: header.big_endian, src, collisions }
    }

    /// The data from chunk `c` on, which may be fetched ahead; nothing where they do not lie together.
    pub fn ahead(&self, c: usize) -> &'a [u8] {
        if self.layout.is_linear() { self.src.get(c * self.layout.chunk_bytes()..).unwrap_or_default() } else { &[] }
    }
}

/// The error where bodies take more than there is room for.
pub fn too_small<T>(layout: &Layout, have: usize) -> Result<T> {
    fail!(BufferTooSmall, "{} bytes; {} are always enough", layout.bodies_at() + have, layout.max_stream_bytes()?)
}
